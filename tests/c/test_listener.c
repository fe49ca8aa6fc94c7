/* Listeners that do not return: the run goes on without them. */

#include "support.h"

#define THREE SCRIPTED(SAYS("Hello.") ", " SAYS("Again.") ", " SAYS("Once more."))

/* A listener that does not return from the start of a turn until its gate is raised twice, once by itself. */
typedef struct {
    gate_t gate;
    int heard, destroyed;
} silent_t;

static void fall_silent(void *userdata, const agent_event_t *event)
{
    silent_t *silent = userdata;

    __atomic_add_fetch(&silent->heard, 1, __ATOMIC_SEQ_CST);
    if (agent_event_kind(event) == AGENT_EVENT_TURN_START && gate_count(&silent->gate) == 0) {
        gate_raise(&silent->gate);
        gate_wait(&silent->gate, 2);
    }
}

static void count_destroyed(void *userdata)
{
    ((silent_t *)userdata)->destroyed++;
}

/* Prompts and reads to the end. Returns the number of the events, and the data of the diagnostic with this code, or NULL. */
static int play_and_find(agent_t *agent, const char *code, char **data)
{
    const agent_event_t *event;
    agent_run_t *run = NULL;
    int events = 0;

    *data = NULL;
    EXPECT_OK(agent_prompt(agent, "Go.", AGENT_NTS, &run, &error));
    for (; agent_run_next(run, -1, &event, &error) == AGENT_OK; events++) {
        const char *json = agent_event_json(event, NULL);

        if (agent_event_kind(event) == AGENT_EVENT_DIAGNOSTIC && strstr(json, code))
            *data = strdup(strstr(json, "\"data\":"));
    }
    EXPECT(agent_run_outcome(run) == AGENT_OUTCOME_COMPLETED);
    agent_run_free(run);
    return events;
}

static void found_e4_a_listener_that_blocks_is_left(void)
{
    silent_t silent = {.gate = GATE};
    agent_t *agent = scripted(THREE);
    uint64_t subscription = 0;
    char expected[200], *data;
    int emitted, missed = 0;

    CHECK_OK(agent_set_json(agent, "{\"listener_timeout_ms\": 50}", AGENT_NTS, &error));
    CHECK_OK(agent_subscribe(agent, fall_silent, &silent, count_destroyed, &subscription, &error));
    CHECK(subscription == 1);
    emitted = play_and_find(agent, "\"listener_left\"", &data);
    CHECK_TEXT(data, "\"data\":{\"listener\":1,\"event\":\"turn_start\",\"limit\":\"listener_timeout_ms\",\"limit_ms\":50}}");
    free(data);
    CHECK(gate_count(&silent.gate) == 1);
    emitted += play_and_find(agent, "\"listener_left\"", &data);
    CHECK(data == NULL);
    CHECK(silent.heard == 2);

    gate_raise(&silent.gate);
    do { /* until it has returned */
        CHECK_OK(agent_set_model(agent, THREE, AGENT_NTS, &error));
        emitted += play_and_find(agent, "\"listener_back\"", &data);
    } while (!data);
    CHECK(sscanf(data, "\"data\":{\"listener\":1,\"missed\":%d}}", &missed) == 1);
    free(data);
    snprintf(expected, sizeof expected, "%d heard, %d missed", emitted - missed, missed);
    snprintf(expected + 100, sizeof expected - 100, "%d heard, %d missed", silent.heard, missed);
    CHECK_TEXT(expected + 100, expected);
    agent_free(agent);
}

/* The runtime can be shut down and freed while a listener blocks its thread. */
static void found_e4_a_listener_that_blocks_holds_up_no_shutdown(void)
{
    static silent_t silent = {.gate = GATE}; /* its thread outlives the test */
    agent_t *agent = scripted(THREE);

    CHECK_OK(agent_set_json(agent, "{\"abort_grace_ms\": 50, \"listener_timeout_ms\": 0}", AGENT_NTS, &error));
    CHECK_OK(agent_subscribe(agent, fall_silent, &silent, count_destroyed, NULL, &error));
    CHECK_OK(agent_prompt(agent, "Go.", AGENT_NTS, NULL, &error));
    gate_wait(&silent.gate, 1);
    agent_free(agent);
    CHECK_OK(agent_runtime_shutdown(runtime, 30000, &error));
    agent_runtime_free(runtime);
    CHECK(silent.destroyed == 0);
    gate_raise(&silent.gate);
    begin();
}

static void after_run(void *userdata, agent_hook_call_t *call)
{
    *(agent_hook_call_t **)userdata = call; /* not answered */
}

static void found_a3_an_after_run_without_answer_holds_up_nothing(void)
{
    agent_hook_call_t *call = NULL;
    agent_t *agent = scripted(THREE);

    CHECK_OK(agent_set_json(agent, "{\"listener_timeout_ms\": 50}", AGENT_NTS, &error));
    CHECK_OK(agent_set_hook(agent, AGENT_HOOK_AFTER_RUN, after_run, &call, NULL, &error));
    agent_run_free(play(agent));
    CHECK_OK(agent_wait_for_idle(agent, -1, &error));
    CHECK(call != NULL);
    CHECK(!agent_hook_call_is_cancelled(call));
    agent_hook_call_free(call);
    agent_free(agent);
}

int main(void)
{
    begin();
    RUN(found_e4_a_listener_that_blocks_is_left);
    RUN(found_e4_a_listener_that_blocks_holds_up_no_shutdown);
    RUN(found_a3_an_after_run_without_answer_holds_up_nothing);
    return end();
}
