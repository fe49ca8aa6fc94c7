/* Runs: pull, wait, poll, wakeup, abort; and their results. */

#include <poll.h>
#include <unistd.h>

#include "support.h"

#define HELLO "[{\"delta\": \"Hel\"}, {\"delta\": \"lo.\"}, {\"end\": {\"stop_reason\": \"stop\", \"usage\": " \
    "{\"input\": 9, \"output\": 4, \"cache_read\": 2}}}]"

/* A tool that blocks its run: raises the gate, and waits until it has been raised once more. */
static void holding(void *userdata, agent_tool_call_t *call)
{
    gate_t *gate = userdata;

    gate_raise(gate);
    gate_wait(gate, 2);
    agent_tool_call_respond(call, "go on", AGENT_NTS, NULL);
    agent_tool_call_free(call);
}

#define HELD SCRIPTED(CALLS("tool", "{}") "," HELLO)

/* ---- pulling ----------------------------------------------------------------------------------------------------- */

static void events_are_pulled_one_by_one(void)
{
    agent_t *agent = scripted(SCRIPTED(HELLO));
    agent_run_t *run = NULL;
    const agent_event_t *event = NULL;
    uint64_t seq = 0;
    char text[20] = "";

    CHECK_OK(agent_prompt(agent, "Go.", AGENT_NTS, &run, &error));
    while (agent_run_next(run, -1, &event, &error) == AGENT_OK) {
        CHECK(agent_event_seq(event) == seq++);
        CHECK_TEXT(agent_event_run_id(event, NULL), agent_run_id(run, NULL));
        if (agent_event_kind(event) == AGENT_EVENT_TEXT_DELTA)
            strcat(text, agent_event_text(event, NULL));
    }
    CHECK_TEXT(text, "Hello.");
    CHECK(seq == 12);
    /* the end stays the end, and the last event stays valid */
    event = NULL;
    CHECK(agent_run_next(run, -1, &event, &error) == AGENT_DONE);
    CHECK(agent_run_next(run, 0, &event, &error) == AGENT_DONE);
    CHECK(event == NULL && error == NULL);
    agent_run_free(run);
    agent_free(agent);
}

static void a_run_has_a_result(void)
{
    agent_t *agent = scripted(SCRIPTED(HELLO));
    agent_run_t *run = play(agent);
    const agent_messages_t *messages = agent_run_messages(run);
    size_t length = 0;

    CHECK(agent_run_outcome(run) == AGENT_OUTCOME_COMPLETED);
    CHECK_TEXT(agent_outcome_name(agent_run_outcome(run)), "completed");
    CHECK_TEXT(agent_run_text(run, &length), "Hello.");
    CHECK(length == 6);
    CHECK(agent_run_turns(run) == 1);
    CHECK(agent_run_usage(run, AGENT_USAGE_INPUT) == 9);
    CHECK(agent_run_usage(run, AGENT_USAGE_OUTPUT) == 4);
    CHECK(agent_run_usage(run, AGENT_USAGE_CACHE_READ) == 2);
    CHECK(agent_run_usage(run, AGENT_USAGE_CACHE_WRITE) == 0);
    CHECK(agent_run_usage(run, AGENT_USAGE_REASONING) == 0);
    CHECK(agent_run_usage(run, AGENT_USAGE_TOTAL) == 15);
    CHECK(agent_run_usage(run, 99) == 0);
    CHECK(agent_run_error(run) == NULL);
    CHECK(agent_messages_count(messages) == 2);
    CHECK_TEXT(agent_messages_role(messages, 1, NULL), "assistant");
    CHECK_CONTAINS(agent_run_json(run, &length),
                   "{\"outcome\":\"completed\",\"text\":\"Hello.\",\"message\":{\"role\":\"assistant\"");
    CHECK(length == strlen(agent_run_json(run, NULL)));
    CHECK(agent_outcome_name(AGENT_OUTCOME_NONE) == NULL && agent_outcome_name(99) == NULL);
    agent_run_free(run);
    agent_free(agent);
}

static void found_e19_the_result_says_why_its_answer_ended(void)
{
    agent_t *agent = scripted(SCRIPTED("[{\"delta\": {\"thinking\": \"Hm, let me\"}}, {\"end\": \"length\"}]"));
    agent_run_t *run = play(agent);
    agent_json_t *result = NULL;
    const char *reason = NULL;
    size_t length = 0;

    CHECK(agent_run_outcome(run) == AGENT_OUTCOME_COMPLETED);
    CHECK_TEXT(agent_run_text(run, NULL), "");
    CHECK_TEXT(agent_run_stop_reason(run, &length), "length");
    CHECK(length == 6);
    CHECK_OK(agent_json_parse(agent_run_json(run, NULL), AGENT_NTS, &result, &error));
    CHECK_OK(agent_json_get_string(result, "/stop_reason", AGENT_NTS, &reason, NULL, &error));
    CHECK_TEXT(reason, "length");
    agent_json_free(result);
    agent_run_free(run);
    agent_free(agent);
}

static void an_active_run_has_no_result(void)
{
    gate_t gate = GATE;
    agent_t *agent = with_tool(HELD, holding, &gate);
    agent_run_t *run = NULL;
    const agent_event_t *event;
    size_t length = 7;

    CHECK_OK(agent_prompt(agent, "Go.", AGENT_NTS, &run, &error));
    gate_wait(&gate, 1);
    CHECK(agent_run_outcome(run) == AGENT_OUTCOME_NONE);
    CHECK(agent_run_text(run, &length) == NULL && length == 0);
    CHECK(agent_run_stop_reason(run, NULL) == NULL);
    CHECK(agent_run_turns(run) == 0 && agent_run_usage(run, AGENT_USAGE_TOTAL) == 0);
    CHECK(agent_run_messages(run) == NULL && agent_run_error(run) == NULL && agent_run_json(run, NULL) == NULL);
    while (agent_run_next(run, 0, &event, &error) == AGENT_OK)
        ;
    CHECK(agent_run_next(run, 0, &event, &error) == AGENT_PENDING);
    CHECK(agent_run_next(run, 5, &event, &error) == AGENT_PENDING);
    CHECK(agent_run_wait(run, 5, &error) == AGENT_PENDING);
    CHECK(error == NULL);
    gate_raise(&gate);
    /* unread events are discarded, also those that come after a wait that was too short */
    CHECK(agent_run_next(run, -1, &event, &error) == AGENT_DONE);
    CHECK_OK(agent_run_wait(run, -1, &error));
    CHECK_OK(agent_run_wait(run, 0, &error));
    CHECK(agent_run_next(run, -1, &event, &error) == AGENT_DONE);
    CHECK_TEXT(agent_run_text(run, NULL), "Hello.");
    agent_run_free(run);
    agent_free(agent);
}

static void *pull_forever(void *userdata)
{
    const agent_event_t *event;

    while (agent_run_next(userdata, -1, &event, NULL) == AGENT_OK)
        ;
    return NULL;
}

static void pulling_from_two_threads_is_refused(void)
{
    gate_t gate = GATE;
    agent_t *agent = with_tool(HELD, holding, &gate);
    agent_run_t *run = NULL;
    const agent_event_t *event;
    agent_status_t rc;
    pthread_t thread;

    CHECK_OK(agent_prompt(agent, "Go.", AGENT_NTS, &run, &error));
    gate_wait(&gate, 1);
    CHECK(pthread_create(&thread, NULL, pull_forever, run) == 0);
    /* the run is blocked, so the other thread soon has read all events, and waits */
    while ((rc = agent_run_next(run, 0, &event, NULL)) != AGENT_INVALID_STATE)
        usleep(1000);
    CHECK_FAILS(agent_run_next(run, 0, &event, &error), AGENT_INVALID_STATE,
                "another thread is pulling this run; pull from one thread at a time");
    gate_raise(&gate);
    CHECK(pthread_join(thread, NULL) == 0);
    agent_run_free(run);
    agent_free(agent);
}

/* ---- in an event loop -------------------------------------------------------------------------------------------- */

static bool readable(int fd, int timeout_ms)
{
    struct pollfd poll_fd = {fd, POLLIN, 0};

    return poll(&poll_fd, 1, timeout_ms) == 1 && (poll_fd.revents & POLLIN);
}

static void the_descriptor_is_readable_while_the_run_is(void)
{
    gate_t gate = GATE;
    agent_t *agent = with_tool(HELD, holding, &gate);
    agent_run_t *run = NULL;
    const agent_event_t *event;
    int fd = -1, again = -1, events = 0;
    agent_status_t rc;

    CHECK_OK(agent_prompt(agent, "Go.", AGENT_NTS, &run, &error));
    gate_wait(&gate, 1);
    CHECK_OK(agent_run_fd(run, &fd, &error));
    CHECK_OK(agent_run_fd(run, &again, &error));
    CHECK(fd >= 0 && fd == again);
    /* readable before each event, and no longer after the last */
    while (readable(fd, 0)) {
        CHECK(agent_run_next(run, 0, &event, &error) == AGENT_OK);
        events++;
    }
    CHECK(agent_event_kind(event) == AGENT_EVENT_TOOL_EXECUTION_START);
    CHECK(events == 10);
    CHECK(agent_run_next(run, 0, &event, &error) == AGENT_PENDING);
    CHECK(!readable(fd, 0));
    gate_raise(&gate);
    do {
        CHECK(readable(fd, -1));
        rc = agent_run_next(run, 0, &event, &error);
    } while (rc == AGENT_OK || rc == AGENT_PENDING);
    /* and the end of the run stays readable */
    CHECK(rc == AGENT_DONE);
    CHECK(readable(fd, 0));
    agent_run_free(run);
    agent_free(agent);
}

static void a_descriptor_of_a_run_that_is_over(void)
{
    agent_t *agent = scripted(SCRIPTED(HELLO));
    agent_run_t *run = play(agent);
    int fd = -1;
    char byte;

    CHECK_OK(agent_run_fd(run, &fd, &error));
    CHECK(readable(fd, 0));
    /* reading from it, which is not allowed, blocks no thread */
    CHECK(read(fd, &byte, 1) == 1);
    agent_run_free(run);
    agent_free(agent);
}

typedef struct {
    gate_t woken, destroyed;
} wakeup_t;

static void wake(void *userdata)
{
    gate_raise(&((wakeup_t *)userdata)->woken);
}

static void wakeup_destroyed(void *userdata)
{
    gate_raise(&((wakeup_t *)userdata)->destroyed);
}

static void a_wakeup_is_called_when_the_run_becomes_readable(void)
{
    gate_t gate = GATE;
    wakeup_t wakeup = {GATE, GATE}, other = {GATE, GATE};
    agent_t *agent = with_tool(HELD, holding, &gate);
    agent_run_t *run = NULL;
    const agent_event_t *event;
    agent_status_t rc;
    int wakes = 1;

    CHECK_OK(agent_prompt(agent, "Go.", AGENT_NTS, &run, &error));
    gate_wait(&gate, 1);
    /* immediately, as events are queued */
    CHECK_OK(agent_run_set_wakeup(run, wake, &wakeup, wakeup_destroyed, &error));
    CHECK(gate_count(&wakeup.woken) == 1);
    while (agent_run_next(run, 0, &event, &error) == AGENT_OK)
        ;
    CHECK(gate_count(&wakeup.woken) == 1);
    /* replaced by another */
    CHECK_OK(agent_run_set_wakeup(run, wake, &other, wakeup_destroyed, &error));
    CHECK(gate_count(&wakeup.destroyed) == 1);
    CHECK(gate_count(&other.woken) == 0);
    gate_raise(&gate);
    do {
        gate_wait(&other.woken, wakes++);
        while ((rc = agent_run_next(run, 0, &event, &error)) == AGENT_OK)
            ;
    } while (rc == AGENT_PENDING);
    CHECK(rc == AGENT_DONE);
    CHECK(gate_count(&wakeup.woken) == 1);
    CHECK(gate_count(&other.destroyed) == 0);
    agent_run_free(run);
    gate_wait(&other.destroyed, 1);
    agent_free(agent);
}

static void a_wakeup_is_destroyed_with_its_run(void)
{
    gate_t gate = GATE;
    wakeup_t wakeup = {GATE, GATE};
    agent_t *agent = with_tool(HELD, holding, &gate);
    agent_run_t *run = NULL;
    const agent_event_t *event;

    CHECK_NULL(agent_run_set_wakeup(NULL, wake, &wakeup, wakeup_destroyed, &error), "run");
    CHECK(gate_count(&wakeup.destroyed) == 1);
    CHECK_OK(agent_prompt(agent, "Go.", AGENT_NTS, &run, &error));
    gate_wait(&gate, 1);
    CHECK_OK(agent_run_set_wakeup(run, wake, &wakeup, wakeup_destroyed, &error));
    CHECK_OK(agent_run_set_wakeup(run, NULL, &wakeup, wakeup_destroyed, &error));
    CHECK(gate_count(&wakeup.destroyed) == 3);
    while (agent_run_next(run, 0, &event, &error) == AGENT_OK)
        ;
    CHECK_OK(agent_run_set_wakeup(run, wake, &wakeup, wakeup_destroyed, &error));
    agent_run_free(run);
    CHECK(gate_count(&wakeup.destroyed) == 4);
    gate_raise(&gate);
    CHECK_OK(agent_wait_for_idle(agent, -1, &error));
    CHECK(gate_count(&wakeup.woken) == 1);
    agent_free(agent);
}

/* ---- the end ----------------------------------------------------------------------------------------------------- */

static void an_abort_ends_the_run_as_usual(void)
{
    gate_t gate = GATE;
    agent_t *agent = with_tool(HELD, holding, &gate);
    agent_run_t *run = NULL;
    const agent_event_t *event;
    char reported[400] = "";

    CHECK_OK(agent_prompt(agent, "Go.", AGENT_NTS, &run, &error));
    gate_wait(&gate, 1);
    CHECK_OK(agent_run_abort(run, &error));
    CHECK_OK(agent_run_abort(run, &error));
    gate_raise(&gate);
    while (agent_run_next(run, -1, &event, &error) == AGENT_OK)
        if (agent_event_kind(event) >= AGENT_EVENT_TOOL_EXECUTION_END) {
            strcat(reported, agent_event_kind_name(agent_event_kind(event)));
            strcat(reported, " ");
        }
    CHECK_TEXT(reported, "tool_execution_end turn_end agent_end ");
    CHECK(agent_run_outcome(run) == AGENT_OUTCOME_ABORTED);
    CHECK_TEXT(agent_error_message(agent_run_error(run), NULL), "the run was aborted");
    CHECK(agent_run_error(run) == agent_run_error(run));
    CHECK_OK(agent_run_abort(run, &error));
    agent_run_free(run);
    agent_free(agent);
}

static void freeing_an_active_run_aborts_it(void)
{
    gate_t gate = GATE;
    agent_t *agent = with_tool(HELD, holding, &gate);
    agent_run_t *run = NULL;
    agent_text_t *state = NULL;

    CHECK_OK(agent_prompt(agent, "Go.", AGENT_NTS, &run, &error));
    gate_wait(&gate, 1);
    agent_run_free(run);
    gate_raise(&gate);
    CHECK_OK(agent_wait_for_idle(agent, -1, &error));
    CHECK_OK(agent_state_json(agent, &state, &error));
    CHECK_CONTAINS(agent_text_data(state, NULL), "\"error\":{\"kind\":\"aborted\"");
    agent_text_free(state);
    /* and the agent can be used again */
    run = play(agent);
    CHECK_TEXT(agent_run_text(run, NULL), "Hello.");
    agent_run_free(run);
    agent_free(agent);
}

static void freeing_an_unread_run_is_fine(void)
{
    agent_t *agent = scripted(SCRIPTED(HELLO));
    agent_run_t *run = NULL;
    const agent_event_t *event;

    CHECK_OK(agent_prompt(agent, "Go.", AGENT_NTS, &run, &error));
    CHECK(agent_run_next(run, -1, &event, &error) == AGENT_OK);
    CHECK_OK(agent_wait_for_idle(agent, -1, &error));
    agent_run_free(run);
    agent_free(agent);
}

static agent_run_t *of_listener;

static void pull_inside(void *userdata, const agent_event_t *event)
{
    const agent_event_t *another;

    /* the first waits until the test has the run */
    gate_wait(userdata, 1);
    if (agent_event_kind(event) != AGENT_EVENT_AGENT_START)
        return;
    EXPECT(fails(agent_run_next(of_listener, -1, &another, &error), AGENT_INVALID_STATE,
                 "agent_run_next inside a listener, hook or tool of the same agent would deadlock; do it after the run",
                 __FILE__, __LINE__));
    EXPECT(fails(agent_run_wait(of_listener, -1, &error), AGENT_INVALID_STATE,
                 "agent_run_wait inside a listener, hook or tool of the same agent would deadlock; do it after the run",
                 __FILE__, __LINE__));
}

static void pulling_inside_a_listener_is_refused(void)
{
    gate_t gate = GATE;
    agent_t *agent = scripted(SCRIPTED(HELLO));
    const agent_event_t *event;

    CHECK_OK(agent_subscribe(agent, pull_inside, &gate, NULL, NULL, &error));
    CHECK_OK(agent_prompt(agent, "Go.", AGENT_NTS, &of_listener, &error));
    gate_raise(&gate);
    while (agent_run_next(of_listener, -1, &event, NULL) == AGENT_OK)
        ;
    CHECK(agent_run_outcome(of_listener) == AGENT_OUTCOME_COMPLETED);
    agent_run_free(of_listener);
    agent_free(agent);
}

static void null_is_refused(void)
{
    agent_t *agent = scripted(SCRIPTED(HELLO));
    agent_run_t *run = play(agent);
    const agent_event_t *event;
    int fd;

    CHECK_NULL(agent_run_next(NULL, 0, &event, &error), "run");
    CHECK_NULL(agent_run_next(run, 0, NULL, &error), "event");
    CHECK_NULL(agent_run_wait(NULL, 0, &error), "run");
    CHECK_NULL(agent_run_fd(NULL, &fd, &error), "run");
    CHECK_NULL(agent_run_fd(run, NULL, &error), "fd");
    CHECK_NULL(agent_run_abort(NULL, &error), "run");
    CHECK(agent_run_id(NULL, NULL) == NULL);
    CHECK(agent_run_outcome(NULL) == AGENT_OUTCOME_NONE);
    CHECK(agent_run_text(NULL, NULL) == NULL);
    CHECK(agent_run_stop_reason(NULL, NULL) == NULL);
    CHECK(agent_run_usage(NULL, AGENT_USAGE_TOTAL) == 0);
    CHECK(agent_run_turns(NULL) == 0);
    CHECK(agent_run_messages(NULL) == NULL);
    CHECK(agent_run_error(NULL) == NULL);
    CHECK(agent_run_json(NULL, NULL) == NULL);
    agent_run_free(NULL);
    agent_run_free(run);
    agent_free(agent);
}

int main(void)
{
    begin();
    RUN(events_are_pulled_one_by_one);
    RUN(a_run_has_a_result);
    RUN(found_e19_the_result_says_why_its_answer_ended);
    RUN(an_active_run_has_no_result);
    RUN(pulling_from_two_threads_is_refused);
    RUN(the_descriptor_is_readable_while_the_run_is);
    RUN(a_descriptor_of_a_run_that_is_over);
    RUN(a_wakeup_is_called_when_the_run_becomes_readable);
    RUN(a_wakeup_is_destroyed_with_its_run);
    RUN(an_abort_ends_the_run_as_usual);
    RUN(freeing_an_active_run_aborts_it);
    RUN(freeing_an_unread_run_is_fine);
    RUN(pulling_inside_a_listener_is_refused);
    RUN(null_is_refused);
    return end();
}
