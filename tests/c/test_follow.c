/* Following a session: what other threads and stores write, the events of a run, wakeups, failures. */

#include "stores.h"

typedef struct {
    agent_session_t *session;
    int messages;
} writer_t;

static void *write_messages(void *userdata)
{
    writer_t *writer = userdata;
    agent_open_session_t *opened = NULL;
    int i;

    EXPECT(agent_session_open(writer->session, &opened, NULL) == AGENT_OK);
    for (i = 0; i < writer->messages; i++)
        EXPECT(agent_open_session_append(opened, "[" USER("Hello.") "]", AGENT_NTS, NULL, NULL) == AGENT_OK);
    EXPECT(agent_open_session_close(opened, NULL) == AGENT_OK);
    agent_open_session_free(opened);
    return NULL;
}

/* Follows what another thread writes; the store that writes is another one if its address is given. */
static void follows(agent_store_t *store, agent_store_t *written)
{
    agent_session_t *session = session_of(store, "user-7"), *to = session_of(written, "user-7");
    agent_follow_t *follow = NULL;
    writer_t writer = {to, 20};
    const char *record;
    pthread_t thread;
    size_t length;
    int i;

    add(to, "[]");
    CHECK_OK(agent_session_follow(session, 0, &follow, &error));
    CHECK_OK(agent_follow_next(follow, -1, &record, &length, &error));
    CHECK_CONTAINS(record, "{\"seq\":1,\"at\":");
    CHECK(length == strlen(record));
    CHECK(agent_follow_next(follow, 0, &record, NULL, &error) == AGENT_PENDING);
    CHECK(agent_follow_next(follow, 1, &record, NULL, &error) == AGENT_PENDING);
    CHECK(pthread_create(&thread, NULL, write_messages, &writer) == 0);
    for (i = 2; i <= 21; i++) {
        char start[50];

        CHECK_OK(agent_follow_next(follow, -1, &record, NULL, &error));
        snprintf(start, sizeof start, "{\"seq\":%d,\"at\":", i);
        CHECK(strncmp(record, start, strlen(start)) == 0);
    }
    pthread_join(thread, NULL);
    agent_follow_free(follow);

    CHECK_OK(agent_session_follow(session, 20, &follow, &error));
    CHECK_OK(agent_follow_next(follow, -1, &record, NULL, &error));
    CHECK_CONTAINS(record, "{\"seq\":21,");
    agent_follow_free(follow);
    agent_session_free(session);
    agent_session_free(to);
}

static void another_thread_is_followed(void)
{
    agent_store_t *store = opened_store("memory:", NULL);

    follows(store, store);
    agent_store_free(store);
}

static void another_store_is_followed(void)
{
    agent_store_t *store = opened_store(path("%s/followed.db"), NULL), *written = opened_store(path("%s/followed.db"), NULL);

    follows(store, written);
    agent_store_free(store);
    agent_store_free(written);
}

static void a_custom_store_is_followed(void)
{
    custom_t with = CUSTOM, without = CUSTOM;
    agent_store_t *store = custom_store(&with, "{\"changed\": true}");

    follows(store, store);
    agent_store_free(store);
    gate_wait(&with.destroyed, 1);
    CHECK(with.calls[AGENT_STORE_CHANGED] > 0);
    custom_free(&with);

    store = custom_store(&without, "{\"changed\": false}");
    follows(store, store);
    agent_store_free(store);
    gate_wait(&without.destroyed, 1);
    CHECK(without.calls[AGENT_STORE_CHANGED] == 0);
    custom_free(&without);
}

static void a_wakeup_says_that_there_is_something(void)
{
    agent_store_t *store = opened_store("memory:", NULL);
    agent_session_t *session = session_of(store, "user-7");
    agent_follow_t *follow = NULL;
    gate_t woken = GATE, destroyed = GATE;
    const char *record = NULL;
    int seen = 0;

    add(session, "[" USER("One.") "]");
    CHECK_OK(agent_session_follow(session, 0, &follow, &error));
    CHECK_OK(agent_follow_set_wakeup(follow, gate_raise, &woken, NULL, &error));
    gate_wait(&woken, 1);
    while (seen < 2) {
        CHECK(agent_follow_next(follow, 0, &record, NULL, &error) >= 0);
        seen = record && strstr(record, "{\"seq\":2,") ? 2 : seen;
    }
    CHECK(agent_follow_next(follow, 0, &record, NULL, &error) == AGENT_PENDING);
    seen = gate_count(&woken);
    add(session, "[" USER("Two.") "]");
    gate_wait(&woken, seen + 1);
    CHECK_OK(agent_follow_next(follow, 0, &record, NULL, &error));
    CHECK_CONTAINS(record, "{\"seq\":3,");

    /* replaced, removed, freed: destroy each time, before the call returns */
    CHECK_OK(agent_follow_set_wakeup(follow, gate_raise, &destroyed, gate_raise, &error));
    seen = gate_count(&destroyed);
    CHECK_OK(agent_follow_set_wakeup(follow, NULL, NULL, NULL, &error));
    CHECK(gate_count(&destroyed) == seen + 1);
    CHECK_OK(agent_follow_set_wakeup(follow, gate_raise, &destroyed, gate_raise, &error));
    agent_follow_free(follow);
    CHECK(gate_count(&destroyed) == seen + 2);
    CHECK_NULL(agent_follow_set_wakeup(NULL, gate_raise, &destroyed, gate_raise, &error), "follow");
    CHECK(gate_count(&destroyed) == seen + 3);
    agent_session_free(session);
    agent_store_free(store);
}

static void a_follower_ends_with_a_failure(void)
{
    agent_store_t *store = opened_store("memory:", NULL);
    agent_session_t *session = session_of(store, "user-7");
    agent_follow_t *follow = NULL;
    const char *record = NULL;

    /* a session that does not exist yet is awaited, but not behind a record */
    CHECK_OK(agent_session_follow(session, 0, &follow, &error));
    CHECK(agent_follow_next(follow, 0, &record, NULL, &error) == AGENT_PENDING);
    agent_follow_free(follow);
    CHECK_OK(agent_session_follow(session, 5, &follow, &error));
    CHECK_FAILS_WITH(agent_follow_next(follow, -1, &record, NULL, &error), AGENT_NOT_FOUND, "there is no session \"user-7\"");
    CHECK(agent_follow_next(follow, -1, &record, NULL, &error) == AGENT_DONE);
    CHECK(agent_follow_next(follow, 0, &record, NULL, &error) == AGENT_DONE);
    CHECK(record == NULL);
    agent_follow_free(follow);
    agent_session_free(session);
    agent_store_free(store);
}

/* A model call that the test answers. */
typedef struct {
    agent_model_call_t *call;
    gate_t called;
} by_hand_t;

static void answered_by_hand(void *userdata, agent_model_call_t *call)
{
    by_hand_t *model = userdata;

    model->call = call;
    gate_raise(&model->called);
}

/* Reads until a record or event with this part, which stays borrowed. */
static const char *until(agent_follow_t *follow, const char *part)
{
    const char *record = NULL;

    do {
        if (!EXPECT_OK(agent_follow_next(follow, -1, &record, NULL, &error)))
            return "";
    } while (!strstr(record, part));
    return record;
}

static void a_run_is_followed_delta_by_delta(void)
{
    by_hand_t model = {NULL, GATE};
    agent_store_t *store = opened_store("memory:", NULL);
    agent_session_t *session = session_of(store, "user-7");
    agent_open_session_t *opened = NULL;
    agent_follow_t *first = NULL, *second = NULL;
    agent_t *agent = scripted("own/model");
    agent_run_t *run = NULL;
    const char *record = NULL;

    CHECK_OK(agent_session_open(session, &opened, &error));
    CHECK_OK(agent_set_session(agent, opened, &error));
    CHECK_OK(agent_set_model_callback(agent, answered_by_hand, &model, NULL, &error));
    CHECK_OK(agent_session_follow_live(session, 0, &first, &error));
    CHECK_OK(agent_prompt(agent, "Rain?", AGENT_NTS, &run, &error));
    gate_wait(&model.called, 1);
    CHECK_CONTAINS(until(first, "{\"seq\":3,"), "Rain?");
    CHECK_OK(agent_model_call_push_text(model.call, "It is ", AGENT_NTS, &error));
    CHECK_CONTAINS(until(first, "message_start"), "{\"after\":3,\"event\":{\"type\":\"message_start\",\"run_id\":");
    CHECK_CONTAINS(until(first, "text_delta"), "\"delta\":\"It is \"");

    /* joins in the middle of the answer: the records, then the message so far */
    CHECK_OK(agent_session_follow_live(session, 1, &second, &error));
    CHECK_CONTAINS(until(second, ""), "{\"seq\":2,");
    CHECK_CONTAINS(until(second, ""), "{\"seq\":3,");
    CHECK_CONTAINS(until(second, ""), "\"content\":[{\"type\":\"text\",\"text\":\"It is \"}]");
    CHECK_OK(agent_model_call_push_text(model.call, "raining.", AGENT_NTS, &error));
    CHECK_OK(agent_model_call_finish(model.call, NULL, 0, &error));
    agent_model_call_free(model.call);
    CHECK_CONTAINS(until(first, "text_delta"), "\"delta\":\"raining.\"");
    CHECK_CONTAINS(until(second, ""), "\"delta\":\"raining.\"");
    CHECK_CONTAINS(until(second, "{\"seq\":4,"), "\"text\":\"It is raining.\"");
    CHECK_CONTAINS(until(second, ""), "\"kind\":\"run_end\"");
    CHECK_CONTAINS(until(first, "run_end"), "{\"seq\":5,");
    CHECK(agent_follow_next(second, 0, &record, NULL, &error) == AGENT_PENDING);

    CHECK_NULL(agent_session_follow_live(NULL, 0, &first, &error), "session");
    CHECK_NULL(agent_session_follow_live(session, 0, NULL, &error), "follow");
    agent_follow_free(first);
    agent_follow_free(second);
    read_out(run);
    agent_run_free(run);
    CHECK_OK(agent_open_session_close(opened, &error));
    agent_open_session_free(opened);
    agent_free(agent);
    agent_session_free(session);
    agent_store_free(store);
}

int main(void)
{
    begin();
    make_folder();
    RUN(another_thread_is_followed);
    RUN(another_store_is_followed);
    RUN(a_custom_store_is_followed);
    RUN(a_wakeup_says_that_there_is_something);
    RUN(a_follower_ends_with_a_failure);
    RUN(a_run_is_followed_delta_by_delta);
    return end_with_folder();
}
