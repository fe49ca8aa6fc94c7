/* Log records: what is logged, at which level, on which thread, and until when. */

#include <unistd.h>

#include "support.h"

/* The records that came, a line each: the level, the code, the message. The last one as JSON, too. */
typedef struct {
    /* Raised by each record, and when the function is removed. */
    gate_t came, destroyed;
    char lines[4000];
    agent_json_t *last;
    pthread_t thread;
    int count;
} log_t;

static void collect(void *userdata, const agent_log_record_t *record)
{
    log_t *log = userdata;
    size_t used = strlen(log->lines), length = 0;
    const char *message = agent_log_record_message(record, &length);

    EXPECT(length == strlen(message));
    snprintf(log->lines + used, sizeof log->lines - used, "%s %s %s\n",
             agent_log_level_name(agent_log_record_level(record)), agent_log_record_code(record, NULL), message);
    agent_json_free(log->last);
    EXPECT_OK(agent_json_parse(agent_log_record_json(record, NULL), AGENT_NTS, &log->last, &error));
    log->thread = pthread_self();
    log->count++;
    gate_raise(&log->came);
}

static void destroy_log(void *userdata)
{
    gate_raise(&((log_t *)userdata)->destroyed);
}

static void begin_log(log_t *log, int32_t level)
{
    EXPECT_OK(agent_runtime_set_log(runtime, level, collect, log, destroy_log, &error));
}

/* Removes the function, and waits until it has had all records. */
static void end_log(log_t *log)
{
    EXPECT(gate_count(&log->destroyed) == 0);
    EXPECT_OK(agent_runtime_set_log(runtime, 0, NULL, NULL, NULL, &error));
    gate_wait(&log->destroyed, 1);
}

static const char *string_at(const log_t *log, const char *pointer)
{
    const char *text = NULL;

    EXPECT_OK(agent_json_get_string(log->last, pointer, AGENT_NTS, &text, NULL, &error));
    return text;
}

static void failing_hook(void *userdata, agent_hook_call_t *call)
{
    EXPECT_OK(agent_hook_call_fail(call, userdata, AGENT_NTS, &error));
    agent_hook_call_free(call);
}

static void failing_tool(void *userdata, agent_tool_call_t *call)
{
    EXPECT_OK(agent_tool_call_fail(call, userdata, AGENT_NTS, &error));
    agent_tool_call_free(call);
}

#define BUSY "[{\"error\": {\"kind\": \"overloaded\", \"message\": \"busy\"}}]"

/* A retry, a failing tool, a failing after_run. */
static agent_t *troubled(void)
{
    agent_t *agent = with_tool(SCRIPTED(BUSY ", " CALLS("tool", "{}") ", " SAYS("Done.")), failing_tool, "it rains");

    EXPECT_OK(agent_set_hook(agent, AGENT_HOOK_AFTER_RUN, failing_hook, "no disk", NULL, &error));
    return agent;
}

static void found_c7_what_fails_is_logged(void)
{
    log_t log = {.came = GATE, .destroyed = GATE};
    agent_t *agent = troubled();
    agent_run_t *run;

    begin_log(&log, AGENT_LOG_DEBUG);
    run = play(agent);
    end_log(&log);
    CHECK_TEXT(log.lines,
               "warn retry a model call failed and is retried: busy\n"
               "debug model_call a model call ended\n"
               "warn tool_error the tool tool failed: it rains\n"
               "debug tool_call a tool call ended\n"
               "debug model_call a model call ended\n"
               "warn hook_error the hook after_run failed: no disk\n"
               "debug run_end the run ended\n");
    CHECK_TEXT(string_at(&log, "/level"), "debug");
    CHECK_TEXT(string_at(&log, "/code"), "run_end");
    CHECK_TEXT(string_at(&log, "/message"), "the run ended");
    CHECK_TEXT(string_at(&log, "/data/outcome"), "completed");
    CHECK_CONTAINS(string_at(&log, "/run_id"), "run_");
    CHECK_TEXT(string_at(&log, "/conversation_id"), string_at(&log, "/run_id"));
    CHECK(!pthread_equal(log.thread, pthread_self()));
    agent_json_free(log.last);
    agent_run_free(run);
    agent_free(agent);
}

static void found_e15_log_of_a_failing_after_run(void)
{
    log_t log = {.came = GATE, .destroyed = GATE};
    agent_t *agent = scripted(SCRIPTED(SAYS("Hello.")));
    const agent_event_t *event;
    agent_run_t *run = NULL;
    char *run_id = NULL;

    CHECK_OK(agent_set_hook(agent, AGENT_HOOK_AFTER_RUN, failing_hook, "no disk", NULL, &error));
    begin_log(&log, AGENT_LOG_WARN);
    CHECK_OK(agent_prompt(agent, "Go.", AGENT_NTS, &run, &error));
    while (agent_run_next(run, -1, &event, &error) == AGENT_OK)
        if (agent_event_kind(event) == AGENT_EVENT_AGENT_START)
            run_id = strdup(agent_event_run_id(event, NULL));
    end_log(&log);
    CHECK(log.count == 1 && agent_run_outcome(run) == AGENT_OUTCOME_COMPLETED);
    CHECK_TEXT(string_at(&log, "/run_id"), run_id);
    CHECK_TEXT(string_at(&log, "/data/hook"), "after_run");
    CHECK_TEXT(string_at(&log, "/error/kind"), "callback");
    CHECK_TEXT(string_at(&log, "/error/message"), "no disk");
    free(run_id);
    agent_json_free(log.last);
    agent_run_free(run);
    agent_free(agent);
}

static void found_c7_a_failed_run_is_logged_at_any_level(void)
{
    static const struct {
        int32_t level;
        const char *lines;
    } cases[] = {
        {AGENT_LOG_ERROR, "error run_error the run failed: the hook transform_context failed: no memory\n"},
        {AGENT_LOG_INFO,
         "warn hook_error the hook transform_context failed: no memory\n"
         "error run_error the run failed: the hook transform_context failed: no memory\n"},
    };
    size_t i;

    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        log_t log = {.came = GATE, .destroyed = GATE};
        agent_t *agent = scripted(SCRIPTED(SAYS("Hello.")));

        CHECK_OK(agent_set_hook(agent, AGENT_HOOK_TRANSFORM_CONTEXT, failing_hook, "no memory", NULL, &error));
        begin_log(&log, cases[i].level);
        agent_run_free(play(agent));
        end_log(&log);
        CHECK_TEXT(log.lines, cases[i].lines);
        agent_json_free(log.last);
        agent_free(agent);
    }
}

/* Does not return from agent_start, and from after_run, until its gate is raised twice, once by itself. */
static void silent_listener(void *userdata, const agent_event_t *event)
{
    if (agent_event_kind(event) == AGENT_EVENT_AGENT_START && gate_count(userdata) == 0) {
        gate_raise(userdata);
        gate_wait(userdata, 2);
    }
}

static void silent_hook(void *userdata, agent_hook_call_t *call)
{
    gate_raise(userdata);
    gate_wait(userdata, 2);
    EXPECT_OK(agent_hook_call_fail(call, "too late", AGENT_NTS, &error));
    agent_hook_call_free(call);
}

static void found_e15_log_of_what_does_not_return(void)
{
    log_t log = {.came = GATE, .destroyed = GATE};
    gate_t listener = GATE, hook = GATE;
    agent_t *agent = scripted(SCRIPTED(SAYS("Hello.") ", " SAYS("Again.")));
    const char *left = "warn listener_left a listener has not returned; the run goes on without it\n"
                       "warn hook_left the hook after_run has not answered in time; the run is over without it\n";

    CHECK_OK(agent_set_json(agent, "{\"listener_timeout_ms\": 50}", AGENT_NTS, &error));
    CHECK_OK(agent_subscribe(agent, silent_listener, &listener, NULL, NULL, &error));
    CHECK_OK(agent_set_hook(agent, AGENT_HOOK_AFTER_RUN, silent_hook, &hook, NULL, &error));
    begin_log(&log, AGENT_LOG_INFO);
    agent_run_free(play(agent));
    CHECK(gate_count(&listener) == 1 && gate_count(&hook) == 1);
    gate_raise(&listener);
    gate_raise(&hook);
    CHECK_OK(agent_set_hook(agent, AGENT_HOOK_AFTER_RUN, NULL, NULL, NULL, &error));
    do { /* until both are back: the function stays, as a record that comes without one is lost */
        CHECK_OK(agent_set_model(agent, SCRIPTED(SAYS("Again.")), AGENT_NTS, &error));
        agent_run_free(play(agent));
        usleep(1000);
    } while (gate_count(&log.came) < 4);
    end_log(&log);
    CHECK(strncmp(log.lines, left, strlen(left)) == 0);
    CHECK_CONTAINS(log.lines, "\ninfo listener_back a listener has returned\n");
    CHECK_CONTAINS(log.lines, "\nwarn hook_error the hook after_run failed: too late\n");
    CHECK(log.count == 4);
    agent_json_free(log.last);
    agent_free(agent);
}

/* ---- the function ------------------------------------------------------------------------------------------------ */

static void block(void *userdata, const agent_log_record_t *record)
{
    (void)record;
    gate_raise(userdata);
    gate_wait(userdata, 2);
}

static void found_c7_a_function_that_blocks_holds_up_no_run(void)
{
    gate_t gate = GATE;
    agent_t *agent = troubled();
    agent_run_t *run;

    CHECK_OK(agent_runtime_set_log(runtime, AGENT_LOG_DEBUG, block, &gate, gate_raise, &error));
    run = play(agent);
    CHECK(agent_run_outcome(run) == AGENT_OUTCOME_COMPLETED);
    CHECK_OK(agent_runtime_set_log(runtime, AGENT_LOG_DEBUG, NULL, NULL, NULL, &error));
    gate_wait(&gate, 1);
    CHECK(gate_count(&gate) == 1);
    gate_raise(&gate);
    gate_wait(&gate, 9); /* by seven records, by the test, by destroy: the records that are left do not block */
    agent_run_free(run);
    agent_free(agent);
}

/* Uses the library as a program does: runs another agent, and removes itself. */
static void use_library(void *userdata, const agent_log_record_t *record)
{
    agent_t *agent = scripted(SCRIPTED(SAYS("From the log.")));
    agent_run_t *run = play(agent);

    EXPECT_TEXT(agent_log_record_code(record, NULL), "tool_error");
    EXPECT_TEXT(agent_run_text(run, NULL), "From the log.");
    EXPECT(agent_runtime_shutdown(runtime, 0, &error) == AGENT_INVALID_STATE);
    agent_error_free(error);
    error = NULL;
    EXPECT_OK(agent_runtime_set_log(runtime, 0, NULL, NULL, NULL, &error));
    agent_run_free(run);
    agent_free(agent);
    gate_raise(userdata);
}

static void found_c7_the_function_may_use_the_library(void)
{
    gate_t gate = GATE;
    agent_t *agent = with_tool(SCRIPTED(CALLS("tool", "{}") ", " SAYS("Done.")), failing_tool, "it rains");

    CHECK_OK(agent_runtime_set_log(runtime, AGENT_LOG_WARN, use_library, &gate, gate_raise, &error));
    agent_run_free(play(agent));
    gate_wait(&gate, 2);
    agent_free(agent);
}

static void slow(void *userdata, const agent_log_record_t *record)
{
    (void)record;
    usleep(20000);
    gate_raise(userdata);
}

static void found_c7_shutdown_waits_for_the_records(void)
{
    gate_t received = GATE;
    agent_runtime_t *shared = runtime;
    agent_t *agent;

    CHECK_OK(agent_runtime_new(NULL, 0, &runtime, &error));
    agent = troubled();
    CHECK_OK(agent_runtime_set_log(runtime, AGENT_LOG_DEBUG, slow, &received, NULL, &error));
    agent_run_free(play(agent));
    CHECK(agent_runtime_shutdown(runtime, 10000, &error) == AGENT_OK);
    CHECK(gate_count(&received) == 7);
    agent_free(agent);
    agent_runtime_free(runtime);
    runtime = shared;
}

static void found_c7_a_function_is_replaced_and_destroyed_once(void)
{
    log_t first = {.came = GATE, .destroyed = GATE}, second = {.came = GATE, .destroyed = GATE};
    agent_t *agent = scripted(SCRIPTED(SAYS("Hello.") ", " SAYS("Again.") ", " SAYS("Once more.")));

    begin_log(&first, AGENT_LOG_DEBUG);
    agent_run_free(play(agent));
    begin_log(&second, AGENT_LOG_DEBUG);
    gate_wait(&first.destroyed, 1);
    agent_run_free(play(agent));
    end_log(&second);
    agent_run_free(play(agent));
    /* Of the model call, and of the run. */
    CHECK(first.count == 2 && second.count == 2);
    CHECK(gate_count(&first.destroyed) == 1 && gate_count(&second.destroyed) == 1);
    agent_json_free(first.last);
    agent_json_free(second.last);
    agent_free(agent);
}

static void found_c7_wrong_arguments(void)
{
    log_t log = {.came = GATE, .destroyed = GATE};

    CHECK_NULL(agent_runtime_set_log(NULL, AGENT_LOG_WARN, collect, &log, destroy_log, &error), "runtime");
    CHECK_FAILS(agent_runtime_set_log(runtime, 5, collect, &log, destroy_log, &error), AGENT_INVALID_ARGUMENT,
                "level: there is no level 5; use a constant AGENT_LOG_...");
    CHECK(gate_count(&log.destroyed) == 2);
    CHECK(agent_log_record_level(NULL) == 0 && !agent_log_record_code(NULL, NULL));
    CHECK(!agent_log_record_message(NULL, NULL) && !agent_log_record_json(NULL, NULL));
    CHECK(!agent_log_level_name(0) && !agent_log_level_name(5));
}

int main(void)
{
    begin();
    RUN(found_c7_what_fails_is_logged);
    RUN(found_e15_log_of_a_failing_after_run);
    RUN(found_c7_a_failed_run_is_logged_at_any_level);
    RUN(found_e15_log_of_what_does_not_return);
    RUN(found_c7_a_function_that_blocks_holds_up_no_run);
    RUN(found_c7_the_function_may_use_the_library);
    RUN(found_c7_shutdown_waits_for_the_records);
    RUN(found_c7_a_function_is_replaced_and_destroyed_once);
    RUN(found_c7_wrong_arguments);
    return end();
}
