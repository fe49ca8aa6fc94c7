/* The thread that blocks in agent_run_next() does the work of the runtime's: nothing may wait for it when it is elsewhere. */

#include <limits.h>
#include <unistd.h>

#include "support.h"

#define TWO_CALLS SCRIPTED(CALLS("tool", "{}") ", " CALLS("tool", "{}") ", " SAYS("Done."))
#define ONE_CALL SCRIPTED(CALLS("tool", "{}") ", " SAYS("Done."))

/* Answers when the reader of its run has begun to wait, or nearly so: one that begins later finds the answer. */
static void slow(void *userdata, agent_tool_call_t *call)
{
    usleep(20000);
    gate_raise(userdata);
    agent_tool_call_respond(call, "ok", AGENT_NTS, NULL);
    agent_tool_call_free(call);
}

/* Answers when the second gate is raised by someone else. Raises the first when it begins, and when it is done with both. */
static void held(void *userdata, agent_tool_call_t *call)
{
    gate_t *gates = userdata;

    gate_raise(&gates[0]);
    gate_wait(&gates[1], 1);
    agent_tool_call_respond(call, "ok", AGENT_NTS, NULL);
    agent_tool_call_free(call);
    gate_raise(&gates[0]);
}

static bool pull_until(agent_run_t *run, int32_t kind)
{
    const agent_event_t *event;

    while (agent_run_next(run, -1, &event, &error) == AGENT_OK)
        if (agent_event_kind(event) == kind)
            return true;
    return false;
}

static void *pull_to_the_end(void *run)
{
    const agent_event_t *event;

    while (agent_run_next(run, -1, &event, NULL) == AGENT_OK)
        ;
    return NULL;
}

static void a_run_goes_on_when_its_reader_stays_away(void)
{
    static gate_t gate = GATE;
    agent_t *agent = with_tool(TWO_CALLS, slow, &gate);
    agent_run_t *run = NULL;

    CHECK_OK(agent_prompt(agent, "Go.", AGENT_NTS, &run, &error));
    /* it waits for the first call's end, and from then on does something else */
    CHECK(pull_until(run, AGENT_EVENT_TOOL_EXECUTION_END));
    gate_wait(&gate, 2);
    pull_to_the_end(run);
    CHECK_TEXT(agent_run_text(run, NULL), "Done.");
    agent_run_free(run);
    agent_free(agent);
}

static void another_run_does_not_wait_for_a_reader(void)
{
    static gate_t gate = GATE, gates[2] = {GATE, GATE};
    agent_t *agent = with_tool(TWO_CALLS, slow, &gate), *another = with_tool(ONE_CALL, held, gates);
    agent_run_t *run = NULL, *of_another = NULL;

    CHECK_OK(agent_prompt(agent, "Go.", AGENT_NTS, &run, &error));
    CHECK(pull_until(run, AGENT_EVENT_TOOL_EXECUTION_END));
    CHECK_OK(agent_prompt(another, "Go.", AGENT_NTS, &of_another, &error));
    /* no thread pulls */
    gate_wait(&gates[0], 1);
    gate_wait(&gate, 2);
    gate_raise(&gates[1]);
    CHECK_OK(agent_run_wait(of_another, -1, &error));
    CHECK_TEXT(agent_run_text(of_another, NULL), "Done.");
    pull_to_the_end(run);
    CHECK_TEXT(agent_run_text(run, NULL), "Done.");
    agent_run_free(of_another);
    agent_run_free(run);
    agent_free(another);
    agent_free(agent);
}

static void a_run_that_begins_while_a_reader_waits_is_played(void)
{
    static gate_t gates[2] = {GATE, GATE};
    agent_t *agent = with_tool(ONE_CALL, held, gates), *another = scripted(SCRIPTED(SAYS("Hello.") ", " SAYS("Again.")));
    agent_run_t *run = NULL, *of_another;
    pthread_t thread;

    CHECK_OK(agent_prompt(agent, "Go.", AGENT_NTS, &run, &error));
    CHECK(pthread_create(&thread, NULL, pull_to_the_end, run) == 0);
    gate_wait(&gates[0], 1);
    /* both before and after that thread waits, which cannot be seen from here */
    of_another = play(another);
    agent_run_free(of_another);
    usleep(20000);
    of_another = play(another);
    EXPECT_TEXT(agent_run_text(of_another, NULL), "Again.");
    agent_run_free(of_another);
    gate_raise(&gates[1]);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(agent_run_outcome(run) == AGENT_OUTCOME_COMPLETED);
    agent_run_free(run);
    agent_free(another);
    agent_free(agent);
}

static void wait_for_gates(void *userdata, const agent_event_t *event)
{
    gate_t *gates = userdata;

    (void)event;
    gate_raise(&gates[0]);
    gate_wait(&gates[1], 1);
}

static void a_listener_that_blocks_holds_up_its_run_alone(void)
{
    static gate_t gates[2] = {GATE, GATE};
    agent_t *agent = scripted(SCRIPTED(SAYS("Hello."))), *another = scripted(SCRIPTED(SAYS("Hello.")));
    agent_run_t *run = NULL, *of_another;
    const agent_event_t *event;

    CHECK_OK(agent_subscribe(agent, wait_for_gates, gates, NULL, NULL, &error));
    CHECK_OK(agent_prompt(agent, "Go.", AGENT_NTS, &run, &error));
    gate_wait(&gates[0], 1);
    /* also where this thread does the work, as its run is the only one */
    CHECK(agent_run_next(run, 20, &event, &error) == AGENT_PENDING);
    of_another = play(another);
    CHECK_TEXT(agent_run_text(of_another, NULL), "Hello.");
    gate_raise(&gates[1]);
    read_out(run);
    CHECK(agent_run_outcome(run) == AGENT_OUTCOME_COMPLETED);
    agent_run_free(of_another);
    agent_run_free(run);
    agent_free(another);
    agent_free(agent);
}

static void a_thread_with_a_small_stack_pulls(void)
{
    static gate_t gate = GATE;
    agent_t *agent = with_tool(TWO_CALLS, slow, &gate);
    agent_run_t *run = NULL;
    pthread_attr_t attributes;
    pthread_t thread;

    CHECK_OK(agent_prompt(agent, "Go.", AGENT_NTS, &run, &error));
    CHECK(pthread_attr_init(&attributes) == 0);
    CHECK(pthread_attr_setstacksize(&attributes, PTHREAD_STACK_MIN + (64 << 10)) == 0);
    CHECK(pthread_create(&thread, &attributes, pull_to_the_end, run) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(agent_run_outcome(run) == AGENT_OUTCOME_COMPLETED);
    pthread_attr_destroy(&attributes);
    agent_run_free(run);
    agent_free(agent);
}

static void an_abort_reaches_a_waiting_reader(void)
{
    static gate_t gates[2] = {GATE, GATE};
    agent_t *agent = with_tool(ONE_CALL, held, gates);
    agent_run_t *run = NULL;
    pthread_t thread;

    CHECK_OK(agent_set_json(agent, "{\"abort_grace_ms\": 0}", AGENT_NTS, &error));
    CHECK_OK(agent_prompt(agent, "Go.", AGENT_NTS, &run, &error));
    CHECK(pthread_create(&thread, NULL, pull_to_the_end, run) == 0);
    gate_wait(&gates[0], 1);
    usleep(20000);
    agent_abort(agent, NULL);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(agent_run_outcome(run) == AGENT_OUTCOME_ABORTED);
    gate_raise(&gates[1]);
    gate_wait(&gates[0], 2);
    agent_run_free(run);
    agent_free(agent);
}

static void a_shutdown_reaches_a_waiting_reader(void)
{
    static gate_t gates[2] = {GATE, GATE};
    agent_runtime_t *kept = runtime;
    agent_t *agent;
    agent_run_t *run = NULL;
    pthread_t thread;

    CHECK_OK(agent_runtime_new(NULL, 0, &runtime, &error));
    agent = with_tool(ONE_CALL, held, gates);
    CHECK_OK(agent_set_json(agent, "{\"abort_grace_ms\": 3600000}", AGENT_NTS, &error));
    CHECK_OK(agent_prompt(agent, "Go.", AGENT_NTS, &run, &error));
    CHECK(pthread_create(&thread, NULL, pull_to_the_end, run) == 0);
    gate_wait(&gates[0], 1);
    usleep(20000);
    CHECK(agent_runtime_shutdown(runtime, 20, &error) == AGENT_PENDING);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(agent_run_outcome(run) == AGENT_OUTCOME_ABORTED);
    gate_raise(&gates[1]);
    gate_wait(&gates[0], 2);
    agent_run_free(run);
    agent_free(agent);
    agent_runtime_free(runtime);
    runtime = kept;
}

/* As many as need a second thread. */
#define RUNS 20

static void many_runs_are_played_at_the_same_time(void)
{
    static gate_t gates[2] = {GATE, GATE};
    agent_t *agents[RUNS];
    agent_run_t *runs[RUNS];
    int i;

    for (i = 0; i < RUNS; i++) {
        agents[i] = with_tool(ONE_CALL, held, gates);
        CHECK_OK(agent_prompt(agents[i], "Go.", AGENT_NTS, &runs[i], &error));
    }
    gate_wait(&gates[0], RUNS);
    gate_raise(&gates[1]);
    for (i = 0; i < RUNS; i++) {
        read_out(runs[i]);
        CHECK_TEXT(agent_run_text(runs[i], NULL), "Done.");
        agent_run_free(runs[i]);
        agent_free(agents[i]);
    }
}

int main(void)
{
    begin();
    RUN(a_run_goes_on_when_its_reader_stays_away);
    RUN(another_run_does_not_wait_for_a_reader);
    RUN(a_run_that_begins_while_a_reader_waits_is_played);
    RUN(a_listener_that_blocks_holds_up_its_run_alone);
    RUN(a_thread_with_a_small_stack_pulls);
    RUN(an_abort_reaches_a_waiting_reader);
    RUN(a_shutdown_reaches_a_waiting_reader);
    RUN(many_runs_are_played_at_the_same_time);
    return end();
}
