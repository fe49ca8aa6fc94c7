/* Stores that are functions of the program: calls, answers, failures. */

#include "stores.h"

static void a_custom_store_is_called_for_all(void)
{
    custom_t custom = CUSTOM;
    agent_store_t *store = custom_store(&custom, NULL);
    agent_session_t *session = session_of(store, "user-7");
    agent_open_session_t *opened = NULL;
    agent_messages_t *messages = NULL;
    agent_text_t *text = NULL;

    CHECK_TEXT(agent_store_name(store, NULL), "the test's store");
    add(session, "[" USER("Rain in Oslo?") "]");
    CHECK_OK(agent_session_open(session, &opened, &error));
    CHECK_OK(agent_open_session_messages(opened, &messages, &error));
    CHECK(agent_messages_count(messages) == 1);
    CHECK_TEXT(agent_messages_text(messages, 0, NULL), "Rain in Oslo?");
    agent_messages_free(messages);
    CHECK_OK(agent_open_session_set_info(opened, "{\"title\": \"Rain\"}", AGENT_NTS, &error));
    CHECK_OK(agent_open_session_close(opened, &error));
    agent_open_session_free(opened);

    CHECK_OK(agent_session_info(session, &text, &error));
    CHECK_CONTAINS(agent_text_data(text, NULL), "{\"id\":\"user-7\",\"title\":\"Rain\"");
    agent_text_free(text);
    CHECK_OK(agent_store_list(store, "{\"limit\": 5}", AGENT_NTS, &text, &error));
    CHECK_CONTAINS(agent_text_data(text, NULL), "{\"sessions\":[{\"id\":\"user-7\"");
    agent_text_free(text);
    CHECK_OK(agent_session_delete(session, &error));
    CHECK_FAILS(agent_session_info(session, &text, &error), AGENT_NOT_FOUND,
                "there is no session \"user-7\" in this store; agent_session_open() creates it");
    agent_session_free(session);
    agent_store_free(store);
    gate_wait(&custom.destroyed, 1);
    CHECK(custom.calls[AGENT_STORE_ACQUIRE] == 3 && custom.calls[AGENT_STORE_RELEASE] == 2);
    CHECK(custom.calls[AGENT_STORE_APPEND] == 3 && custom.calls[AGENT_STORE_SET_INFO] == 1);
    CHECK(custom.calls[AGENT_STORE_LIST] == 1 && custom.calls[AGENT_STORE_DELETE] == 1);
    CHECK(custom.calls[0] == 0);
    custom_free(&custom);
}

static void a_custom_store_answers_from_another_thread(void)
{
    custom_t custom = CUSTOM;
    agent_store_t *store;
    agent_session_t *session;

    custom.later = true;
    store = custom_store(&custom, NULL);
    session = session_of(store, "user-7");
    add(session, "[" USER("Rain in Oslo?") "]");
    agent_session_free(session);
    agent_store_free(store);
    gate_wait(&custom.destroyed, 1);
    custom_free(&custom);
}

static void what_a_custom_store_does_wrong_is_an_error(void)
{
    custom_t custom = CUSTOM;
    agent_store_t *store = custom_store(&custom, NULL);
    agent_session_t *session = session_of(store, "user-7");
    agent_open_session_t *opened = NULL;
    agent_text_t *text = NULL;

    custom.fails = AGENT_STORE_ACQUIRE;
    custom.status = AGENT_BUSY;
    CHECK_FAILS(agent_session_open(session, &opened, &error), AGENT_BUSY, "another one has it");
    custom.status = 0;
    CHECK_FAILS(agent_session_open(session, &opened, &error), AGENT_IO,
                "the test's store: acquire: its call was freed without an answer");
    custom.answer = "{\"tokens\": 7}";
    CHECK_FAILS_WITH(agent_session_open(session, &opened, &error), AGENT_IO,
                     "the test's store: acquire: its answer cannot be used: token is missing");
    custom.answer = "[7]";
    CHECK_FAILS(agent_session_open(session, &opened, &error), AGENT_IO,
                "the test's store: acquire: its answer cannot be used: expected an object, got an array (in [7])");
    custom.answer = "null";
    CHECK_FAILS(agent_session_open(session, &opened, &error), AGENT_IO,
                "the test's store: acquire: its answer cannot be used: expected an object, got null (in null)");
    CHECK(opened == NULL);

    custom.fails = AGENT_STORE_READ;
    custom.answer = "{\"lines\": [], \"last\": 3}";
    CHECK_FAILS_WITH(agent_session_records(session, 0, 10, &text, &error), AGENT_DAMAGED,
                     "its records from 1 on are missing, of 3 that it had");

    custom.fails = 0;
    custom.answer = NULL;
    CHECK_OK(agent_session_open(session, &opened, &error));
    custom.fails = AGENT_STORE_APPEND;
    custom.answer = NULL;
    custom.status = AGENT_IO;
    CHECK_FAILS(agent_open_session_append(opened, "[" USER("Hello.") "]", AGENT_NTS, NULL, &error), AGENT_IO,
                "another one has it");
    custom.fails = 0;
    /* what would be appended now would stand behind a gap */
    CHECK_FAILS(agent_open_session_append(opened, "[" USER("Hello.") "]", AGENT_NTS, NULL, &error), AGENT_IO,
                "another one has it");
    CHECK(agent_open_session_flush(opened, NULL) == AGENT_IO);
    CHECK(agent_open_session_close(opened, NULL) == AGENT_IO);
    agent_open_session_free(opened);
    CHECK_OK(agent_session_records(session, 0, 10, &text, &error));
    agent_text_free(text);
    agent_session_free(session);
    agent_store_free(store);
    gate_wait(&custom.destroyed, 1);
    custom_free(&custom);
}

static void who_reads_a_run_writes_to_a_session(void)
{
    custom_t custom = CUSTOM;
    agent_store_t *store = custom_store(&custom, NULL);
    agent_session_t *session = session_of(store, "user-7");
    agent_open_session_t *opened = NULL;
    agent_t *agent = scripted(SCRIPTED(SAYS("Done.")));
    agent_run_t *run = NULL;
    const agent_event_t *event;
    uint64_t events = 0;

    CHECK_OK(agent_session_open(session, &opened, &error));
    CHECK_OK(agent_prompt(agent, "Go.", AGENT_NTS, &run, &error));
    for (; agent_run_next(run, -1, &event, &error) == AGENT_OK; events++)
        CHECK_OK(agent_open_session_append(opened, "[" USER("Noted.") "]", AGENT_NTS, NULL, &error));
    CHECK(events > 5 && agent_open_session_last(opened) == events + 1);
    CHECK_OK(agent_open_session_close(opened, &error));
    agent_run_free(run);
    agent_free(agent);
    agent_open_session_free(opened);
    agent_session_free(session);
    agent_store_free(store);
    gate_wait(&custom.destroyed, 1);
    custom_free(&custom);
}

static void a_custom_store_cannot_wait_for_itself(void)
{
    custom_t custom = CUSTOM;
    agent_store_t *store = custom_store(&custom, NULL);
    agent_text_t *page = NULL;

    custom.nested = store;
    CHECK_OK(agent_store_list(store, NULL, 0, &page, &error));
    agent_text_free(page);
    CHECK(custom.nested_status == AGENT_INVALID_STATE);
    CHECK_TEXT(custom.nested_message,
               "agent_store_list inside a callback of the same store would deadlock; do it after the callback");
    agent_store_free(store);
    gate_wait(&custom.destroyed, 1);
    custom_free(&custom);
}

static void destroy_is_called_once_if_there_is_no_store(void)
{
    gate_t destroyed = GATE;
    agent_store_t *store = NULL;

    CHECK_NULL(agent_store_new_custom(NULL, "n", 1, NULL, 0, answer_custom, &destroyed, gate_raise, &store, &error), "runtime");
    CHECK(gate_count(&destroyed) == 1);
    CHECK_NULL(agent_store_new_custom(runtime, NULL, 0, NULL, 0, answer_custom, &destroyed, gate_raise, &store, &error), "name");
    CHECK(gate_count(&destroyed) == 2);
    CHECK_NULL(agent_store_new_custom(runtime, "n", 1, NULL, 0, NULL, &destroyed, gate_raise, &store, &error), "function");
    CHECK(gate_count(&destroyed) == 3);
    CHECK_NULL(agent_store_new_custom(runtime, "n", 1, NULL, 0, answer_custom, &destroyed, gate_raise, NULL, &error), "store");
    CHECK(gate_count(&destroyed) == 4);
    CHECK_FAILS(agent_store_new_custom(runtime, "n", 1, "{\"changed\": 1}", AGENT_NTS, answer_custom, &destroyed, gate_raise,
                                       &store, &error),
                AGENT_INVALID_ARGUMENT, "options: changed: expected true or false, got 1");
    CHECK(gate_count(&destroyed) == 5);
    CHECK_FAILS(agent_store_new_custom(runtime, "n", 1, "{\"lease_ms\": 1}", AGENT_NTS, answer_custom, &destroyed, gate_raise,
                                       &store, &error),
                AGENT_INVALID_ARGUMENT, "store: lease_ms: at least 100 ms, got 1");
    CHECK(gate_count(&destroyed) == 6);
}

static void calls_are_answered_once(void)
{
    custom_t custom = CUSTOM;
    agent_store_t *store = custom_store(&custom, NULL);
    agent_text_t *page = NULL;

    custom.twice = true;
    CHECK_OK(agent_store_list(store, NULL, 0, &page, &error));
    agent_text_free(page);
    agent_store_free(store);
    gate_wait(&custom.destroyed, 1);
    custom_free(&custom);
    CHECK(agent_store_call_method(NULL) == 0);
    CHECK(agent_store_call_input(NULL, NULL) == NULL);
    CHECK_NULL(agent_store_call_respond_json(NULL, "null", AGENT_NTS, &error), "call");
    CHECK_NULL(agent_store_call_fail(NULL, AGENT_IO, "no", AGENT_NTS, &error), "call");
    agent_store_call_free(NULL);
    CHECK_TEXT(agent_store_method_name(AGENT_STORE_SET_INFO), "set_info");
    CHECK(agent_store_method_name(99) == NULL);
}

int main(void)
{
    begin();
    RUN(a_custom_store_is_called_for_all);
    RUN(a_custom_store_answers_from_another_thread);
    RUN(what_a_custom_store_does_wrong_is_an_error);
    RUN(who_reads_a_run_writes_to_a_session);
    RUN(a_custom_store_cannot_wait_for_itself);
    RUN(destroy_is_called_once_if_there_is_no_store);
    RUN(calls_are_answered_once);
    return end();
}
