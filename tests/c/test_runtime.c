/* Runtimes: options, shutdown in every situation, freeing in any order, fork. */

#include <sys/wait.h>
#include <unistd.h>

#include "support.h"

static gate_t started = GATE, released = GATE;

/* A tool that never looks at its cancel token. */
static void deaf(void *userdata, agent_tool_call_t *call)
{
    (void)userdata;
    gate_raise(&started);
    gate_wait(&released, 1);
    agent_tool_call_respond(call, "too late", AGENT_NTS, NULL);
    agent_tool_call_free(call);
    gate_raise(&started);
}

/* A tool that waits for its cancel token. */
static void waiting(void *userdata, agent_tool_call_t *call)
{
    gate_raise(userdata);
    while (!agent_tool_call_is_cancelled(call))
        usleep(1000);
    agent_tool_call_fail(call, "stopped", AGENT_NTS, NULL);
    agent_tool_call_free(call);
}

static void options_are_read(void)
{
    agent_runtime_t *one = NULL;

    CHECK_OK(agent_runtime_new("{\"threads\": 1}", AGENT_NTS, &one, &error));
    CHECK_OK(agent_runtime_shutdown(one, 1000, &error));
    agent_runtime_free(one);
    CHECK_OK(agent_runtime_new("{}", AGENT_NTS, &one, &error));
    agent_runtime_free(one);
}

static void bad_options_are_refused(void)
{
    agent_runtime_t *one = NULL;

    CHECK_FAILS(agent_runtime_new("{\"thread\": 2}", AGENT_NTS, &one, &error), AGENT_INVALID_ARGUMENT,
                "unknown option \"thread\"; did you mean \"threads\"?");
    CHECK_FAILS(agent_runtime_new("{\"colour\": 2}", AGENT_NTS, &one, &error), AGENT_INVALID_ARGUMENT,
                "unknown option \"colour\"; known are threads, max_tool_threads, stack_bytes, thread_name");
    CHECK_FAILS(agent_runtime_new("{\"threads\": \"two\"}", AGENT_NTS, &one, &error), AGENT_INVALID_ARGUMENT,
                "option \"threads\": expected a whole number of threads, got \"two\"");
    CHECK_FAILS(agent_runtime_new("{\"threads\": 0}", AGENT_NTS, &one, &error), AGENT_INVALID_ARGUMENT,
                "threads: a runtime needs at least 1");
    CHECK_FAILS(agent_runtime_new("{\"threads\": 100000}", AGENT_NTS, &one, &error), AGENT_INVALID_ARGUMENT,
                "threads: at most 1024, got 100000; tools that block have further ones");
    CHECK_FAILS(agent_runtime_new("{\"max_tool_threads\": 0}", AGENT_NTS, &one, &error), AGENT_INVALID_ARGUMENT,
                "max_tool_threads: tools that block need at least 1");
    CHECK_FAILS(agent_runtime_new("{\"stack_bytes\": 4096}", AGENT_NTS, &one, &error), AGENT_INVALID_ARGUMENT,
                "stack_bytes: a thread needs at least 1048576 bytes of stack, got 4096");
    CHECK_FAILS(agent_runtime_new("{\"thread_name\": 7}", AGENT_NTS, &one, &error), AGENT_INVALID_ARGUMENT,
                "option \"thread_name\": expected text, got 7");
    CHECK_FAILS(agent_runtime_new("[]", AGENT_NTS, &one, &error), AGENT_INVALID_ARGUMENT,
                "options: expected a JSON object, got []");
    CHECK_FAILS(agent_runtime_new("threads", AGENT_NTS, &one, &error), AGENT_INVALID_ARGUMENT,
                "options is not JSON: expected true, false or null (line 1, column 2)");
    CHECK_FAILS(agent_runtime_new("\xc3", 1, &one, &error), AGENT_INVALID_ARGUMENT,
                "options is not UTF-8: invalid byte at offset 0");
    CHECK(one == NULL);
}

static void null_is_refused(void)
{
    CHECK_NULL(agent_runtime_new(NULL, 0, NULL, &error), "runtime");
    CHECK_NULL(agent_runtime_shutdown(NULL, 0, &error), "runtime");
    agent_runtime_free(NULL);
}

static void after_shutdown_agents_can_be_read_but_not_run(void)
{
    agent_runtime_t *kept = runtime;
    agent_t *agent;
    agent_messages_t *messages = NULL;
    agent_run_t *run = NULL;

    CHECK_OK(agent_runtime_new(NULL, 0, &runtime, &error));
    agent = scripted(SCRIPTED(SAYS("Hello.")));
    run = play(agent);
    CHECK_OK(agent_runtime_shutdown(runtime, 1000, &error));
    CHECK_OK(agent_runtime_shutdown(runtime, 1000, &error));
    CHECK_TEXT(agent_run_text(run, NULL), "Hello.");
    agent_run_free(run);
    run = NULL;
    CHECK_FAILS(agent_prompt(agent, "Go.", AGENT_NTS, &run, &error), AGENT_INVALID_STATE,
                "the runtime was shut down and starts no more runs; make a new one with new agents, or shut it down later");
    CHECK_OK(agent_messages(agent, &messages, &error));
    CHECK(agent_messages_count(messages) == 2);
    agent_messages_free(messages);
    CHECK_OK(agent_wait_for_idle(agent, -1, &error));
    agent_free(agent);
    agent_runtime_free(runtime);
    runtime = kept;
}

static void shutdown_ends_active_runs(void)
{
    agent_runtime_t *kept = runtime;
    gate_t running = GATE;
    agent_t *agent;
    agent_run_t *run = NULL;

    CHECK_OK(agent_runtime_new(NULL, 0, &runtime, &error));
    agent = with_tool(SCRIPTED(CALLS("tool", "{}")), waiting, &running);
    CHECK_OK(agent_prompt(agent, "Go.", AGENT_NTS, &run, &error));
    gate_wait(&running, 1);
    CHECK_OK(agent_runtime_shutdown(runtime, -1, &error));
    CHECK(agent_run_outcome(run) == AGENT_OUTCOME_ABORTED);
    CHECK_TEXT(agent_error_message(agent_run_error(run), NULL), "the run was aborted");
    agent_run_free(run);
    agent_free(agent);
    agent_runtime_free(runtime);
    runtime = kept;
}

static void shutdown_leaves_stuck_callbacks_running(void)
{
    agent_runtime_t *kept = runtime;
    agent_t *agent;
    agent_run_t *run = NULL;
    const agent_event_t *event;
    int32_t last = 0;
    agent_status_t rc;

    CHECK_OK(agent_runtime_new(NULL, 0, &runtime, &error));
    agent = with_tool(SCRIPTED(CALLS("tool", "{}")), deaf, NULL);
    /* its run would wait longer than the shutdown */
    CHECK_OK(agent_set_json(agent, "{\"abort_grace_ms\": 3600000}", AGENT_NTS, &error));
    CHECK_OK(agent_prompt(agent, "Go.", AGENT_NTS, &run, &error));
    gate_wait(&started, 1);
    CHECK(agent_runtime_shutdown(runtime, 20, &error) == AGENT_PENDING);

    /* a wait for the run ends */
    while ((rc = agent_run_next(run, -1, &event, &error)) == AGENT_OK)
        last = agent_event_kind(event);
    CHECK(rc == AGENT_DONE);
    CHECK(last == AGENT_EVENT_AGENT_END);
    CHECK(agent_run_outcome(run) == AGENT_OUTCOME_ABORTED);
    CHECK_TEXT(agent_error_message(agent_run_error(run), NULL), "the runtime was shut down before the run had ended");
    CHECK_OK(agent_wait_for_idle(agent, -1, &error));
    agent_run_free(run);
    agent_free(agent);
    agent_runtime_free(runtime);
    runtime = kept;

    /* its answer is dropped, and no memory leaks */
    gate_raise(&released);
    gate_wait(&started, 2);
}

static void shut_down_inside(void *userdata, const agent_event_t *event)
{
    (void)event;
    EXPECT(fails(agent_runtime_shutdown(runtime, 0, &error), AGENT_INVALID_STATE,
                 "agent_runtime_shutdown inside a callback of the runtime would deadlock; call it on another thread", __FILE__,
                 __LINE__));
    gate_raise(userdata);
}

static void shutdown_inside_a_callback_is_refused(void)
{
    gate_t called = GATE;
    agent_t *agent = scripted(SCRIPTED(SAYS("Hello.")));

    CHECK_OK(agent_subscribe(agent, shut_down_inside, &called, NULL, NULL, &error));
    agent_run_free(play(agent));
    CHECK(gate_count(&called) > 0);
    agent_free(agent);
}

/* Frees a runtime, an agent, its tool and a run that waits for the tool, in this order. */
static void free_in_order(const char *order)
{
    agent_runtime_t *own = NULL;
    agent_t *agent = NULL;
    agent_tool_t *tool = NULL;
    agent_run_t *run = NULL;
    gate_t running = GATE, destroyed = GATE;

    CHECK_OK(agent_runtime_new(NULL, 0, &own, &error));
    CHECK_OK(agent_new(own, SCRIPTED(CALLS("tool", "{}")), AGENT_NTS, &agent, &error));
    CHECK_OK(agent_tool_new("{\"name\": \"tool\"}", AGENT_NTS, waiting, &running, NULL, &tool, &error));
    CHECK_OK(agent_add_tool(agent, tool, &error));
    agent_tool_free(tool);
    CHECK_OK(agent_tool_new("{\"name\": \"other\"}", AGENT_NTS, deaf, &destroyed, gate_raise, &tool, &error));
    CHECK_OK(agent_add_tool(agent, tool, &error));
    CHECK_OK(agent_prompt(agent, "Go.", AGENT_NTS, &run, &error));
    gate_wait(&running, 1);
    for (; *order; order++) {
        switch (*order) {
        case 'r': agent_runtime_free(own); break;
        case 'a': agent_free(agent); break;
        case 't': agent_tool_free(tool); break;
        case 'R': agent_run_free(run); break;
        }
    }
    /* everything is released, wherever the last reference was */
    gate_wait(&destroyed, 1);
}

static void handles_are_freed_in_any_order(void)
{
    static const char *const orders[] = {"ratR", "Rtar", "tRra", "aRtr", "rRat", "atrR"};
    size_t i;

    for (i = 0; i < sizeof orders / sizeof *orders; i++)
        free_in_order(orders[i]);
}

static void a_forked_child_is_refused(void)
{
    agent_t *agent = scripted(SCRIPTED(SAYS("Hello.")));
    agent_run_t *run = NULL;
    int status = 0;
    pid_t child = fork();

    if (child == 0) {
        bool reported = agent_prompt(agent, "Go.", AGENT_NTS, &run, &error) == AGENT_INVALID_STATE
            && strstr(agent_error_message(error, NULL), "made before the process forked");
        reported = reported && agent_runtime_shutdown(runtime, -1, NULL) == AGENT_OK;
        /* not exit(): the child must not release the parent's memory */
        execlp(reported ? "true" : "false", reported ? "true" : "false", (char *)NULL);
        _exit(2);
    }
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    run = play(agent);
    CHECK_TEXT(agent_run_text(run, NULL), "Hello.");
    agent_run_free(run);
    agent_free(agent);
}

/* Whether this agent, whose run goes on in the parent, is idle here and says why. */
static bool is_idle_in_child(agent_t *agent)
{
    agent_run_t *run = NULL;
    agent_text_t *text = NULL;
    const char *state;

    if (agent_state_json(agent, &text, NULL) != AGENT_OK)
        return false;
    state = agent_text_data(text, NULL);
    return strstr(state, "\"is_streaming\":false") && strstr(state, "\"pending_tool_calls\":[]")
        && strstr(state, "the process forked while it was active")
        && agent_wait_for_idle(agent, -1, NULL) == AGENT_OK
        /* not busy: what is missing is a runtime of this process */
        && agent_prompt(agent, "Go.", AGENT_NTS, &run, &error) == AGENT_INVALID_STATE
        && strstr(agent_error_message(error, NULL), "made before the process forked");
}

static void found_a14_an_agent_with_a_run_is_idle_in_a_forked_child(void)
{
    gate_t running = GATE;
    agent_t *agent = with_tool(SCRIPTED(CALLS("tool", "{}")), waiting, &running);
    agent_run_t *run = NULL;
    int status = 0;
    pid_t child;

    CHECK_OK(agent_prompt(agent, "Go.", AGENT_NTS, &run, &error));
    gate_wait(&running, 1);
    child = fork();
    if (child == 0) {
        const char *program = is_idle_in_child(agent) ? "true" : "false";

        /* not exit(): the child must not release the parent's memory */
        execlp(program, program, (char *)NULL);
        _exit(2);
    }
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    agent_abort(agent, NULL);
    read_out(run);
    CHECK(agent_run_outcome(run) == AGENT_OUTCOME_ABORTED);
    agent_run_free(run);
    agent_free(agent);
}

int main(void)
{
    begin();
    RUN(options_are_read);
    RUN(bad_options_are_refused);
    RUN(null_is_refused);
    RUN(after_shutdown_agents_can_be_read_but_not_run);
    RUN(shutdown_ends_active_runs);
    RUN(shutdown_leaves_stuck_callbacks_running);
    RUN(shutdown_inside_a_callback_is_refused);
    RUN(handles_are_freed_in_any_order);
    RUN(a_forked_child_is_refused);
    RUN(found_a14_an_agent_with_a_run_is_idle_in_a_forked_child);
    return end();
}
