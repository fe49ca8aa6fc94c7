/* Stateless runs, one model call, and the checker of events. */

#include <unistd.h>

#include "support.h"

static void echo(void *userdata, agent_tool_call_t *call)
{
    (void)userdata;
    agent_tool_call_respond(call, agent_tool_call_name(call, NULL), AGENT_NTS, NULL);
    agent_tool_call_free(call);
}

static void add(agent_t *agent, const char *json)
{
    agent_tool_t *tool = NULL;

    EXPECT_OK(agent_tool_new(json, AGENT_NTS, echo, NULL, NULL, &tool, &error));
    EXPECT_OK(agent_add_tool(agent, tool, &error));
    agent_tool_free(tool);
}

static agent_messages_t *prompts(const char *text)
{
    agent_messages_t *messages = NULL;

    EXPECT_OK(agent_messages_new(&messages, &error));
    EXPECT_OK(agent_messages_add_user(messages, text, AGENT_NTS, &error));
    return messages;
}

/* A model that records the last request and answers yes. */
static void seeing(void *userdata, agent_model_call_t *call)
{
    if (userdata)
        snprintf(userdata, 4000, "%s", agent_model_call_request(call, NULL));
    agent_model_call_push_text(call, "Yes.", AGENT_NTS, NULL);
    agent_model_call_finish(call, NULL, 0, NULL);
    agent_model_call_free(call);
}

static agent_t *seen_by(char *request)
{
    agent_t *agent = scripted("acme/eyes");

    EXPECT_OK(agent_set_model_callback(agent, seeing, request, NULL, &error));
    return agent;
}

/* ---- runs -------------------------------------------------------------------------------------------------------- */

#define CONTEXT "{\"system_prompt\": \"Be kind.\", \"messages\": [{\"role\": \"user\", \"content\": \"Hi.\"}], " \
    "\"tools\": [\"b\"]}"

static void a_context_is_run_and_not_changed(void)
{
    char request[4000] = "";
    agent_t *settings = seen_by(request);
    agent_messages_t *go = prompts("Go.");
    agent_text_t *state = NULL;
    agent_run_t *run = NULL;

    add(settings, "{\"name\": \"a\"}");
    add(settings, "{\"name\": \"b\"}");
    CHECK_OK(agent_set_system_prompt(settings, "Be brief.", AGENT_NTS, &error));
    CHECK(agent_steer(settings, "Not for this run.", AGENT_NTS, &error) == AGENT_QUEUED);

    CHECK_OK(agent_loop_run(settings, CONTEXT, AGENT_NTS, go, &run, &error));
    read_out(run);
    CHECK_MESSAGES(run, "u Go.; a Yes.; ");
    CHECK_CONTAINS(request, "\"system_prompt\":\"Be kind.\",\"messages\":[{\"role\":\"user\","
                   "\"content\":[{\"type\":\"text\",\"text\":\"Hi.\"}]");
    CHECK_CONTAINS(request, "\"tools\":[{\"name\":\"b\",");
    CHECK_CONTAINS(agent_run_json(run, NULL), "\"undelivered\":{\"steering\":[],\"follow_up\":[]}}");
    agent_run_free(run);

    /* without a context, everything of the settings but the conversation */
    CHECK_OK(agent_loop_run(settings, NULL, 0, go, &run, &error));
    read_out(run);
    CHECK_CONTAINS(request, "\"system_prompt\":\"Be brief.\",\"messages\":[{\"role\":\"user\","
                   "\"content\":[{\"type\":\"text\",\"text\":\"Go.\"}]");
    CHECK_CONTAINS(request, "\"tools\":[{\"name\":\"a\",");
    CHECK(agent_run_error(run) == NULL);
    agent_run_free(run);

    CHECK_OK(agent_state_json(settings, &state, &error));
    CHECK_CONTAINS(agent_text_data(state, NULL), "\"messages\":[]");
    CHECK(agent_has_queued_messages(settings));
    agent_text_free(state);
    agent_messages_free(go);
    agent_free(settings);
}

static void a_context_is_resumed(void)
{
    agent_t *settings = seen_by(NULL);
    agent_run_t *run = NULL;

    CHECK_OK(agent_loop_resume(settings, "{\"messages\": [{\"role\": \"user\", \"content\": \"Hi.\"}]}", AGENT_NTS,
                               &run, &error));
    /* the run keeps what it needs */
    agent_free(settings);
    read_out(run);
    CHECK_MESSAGES(run, "a Yes.; ");
    CHECK_FAILS(agent_run_steer(run, "More.", AGENT_NTS, &error), AGENT_INVALID_STATE,
                "the run is over, and without an agent there is no queue to keep the message; begin another run with it");
    CHECK_FAILS(agent_run_follow_up(run, "More.", AGENT_NTS, &error), AGENT_INVALID_STATE,
                "the run is over, and without an agent there is no queue to keep the message; begin another run with it");
    agent_run_free(run);
}

/* A hook that queues messages for the run it is asked in, and ends it. */
static void ending(void *userdata, agent_hook_call_t *call)
{
    agent_run_t *const *run = userdata;
    const agent_event_t *event;

    EXPECT_OK(agent_run_steer(*run, "Too late.", AGENT_NTS, &error));
    EXPECT_OK(agent_run_follow_up(*run, "Much too late.", AGENT_NTS, &error));
    /* and does not wait for it */
    EXPECT(agent_run_wait(*run, -1, NULL) == AGENT_INVALID_STATE);
    EXPECT(agent_run_next(*run, -1, &event, NULL) == AGENT_INVALID_STATE);
    EXPECT_OK(agent_hook_call_respond_json(call, "true", AGENT_NTS, &error));
    agent_hook_call_free(call);
}

static void opening(void *gate, agent_hook_call_t *call)
{
    gate_wait(gate, 1);
    agent_hook_call_respond_json(call, "null", AGENT_NTS, NULL);
    agent_hook_call_free(call);
}

static void undelivered_messages_are_in_the_result(void)
{
    gate_t gate = GATE;
    agent_t *settings = seen_by(NULL);
    agent_messages_t *go = prompts("Go.");
    agent_run_t *run = NULL;

    CHECK_OK(agent_set_hook(settings, AGENT_HOOK_BEFORE_RUN, opening, &gate, NULL, &error));
    CHECK_OK(agent_set_hook(settings, AGENT_HOOK_SHOULD_STOP_AFTER_TURN, ending, &run, NULL, &error));
    CHECK_OK(agent_loop_run(settings, NULL, 0, go, &run, &error));
    gate_raise(&gate);
    read_out(run);
    CHECK(agent_run_outcome(run) == AGENT_OUTCOME_STOPPED);
    CHECK_CONTAINS(agent_run_json(run, NULL),
                   "\"undelivered\":{\"steering\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"Too late.\"}]");
    CHECK_CONTAINS(agent_run_json(run, NULL),
                   "\"follow_up\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"Much too late.\"}]");
    agent_run_free(run);
    agent_messages_free(go);
    agent_free(settings);
}

#define AT_ONCE 20

static void many_runs_share_their_settings(void)
{
    agent_t *settings = seen_by(NULL);
    agent_messages_t *go = prompts("Go.");
    agent_run_t *runs[AT_ONCE] = {NULL};
    int i;

    for (i = 0; i < AT_ONCE; i++)
        CHECK_OK(agent_loop_run(settings, NULL, 0, go, &runs[i], &error));
    CHECK_OK(agent_prompt(settings, "Go.", AGENT_NTS, NULL, &error));
    for (i = 0; i < AT_ONCE; i++) {
        read_out(runs[i]);
        CHECK_MESSAGES(runs[i], "u Go.; a Yes.; ");
        agent_run_free(runs[i]);
    }
    CHECK_OK(agent_wait_for_idle(settings, -1, &error));
    agent_messages_free(go);
    agent_free(settings);
}

static void until_cancelled(void *gate, agent_model_call_t *call)
{
    gate_raise(gate);
    while (!agent_model_call_is_cancelled(call))
        usleep(1000);
    agent_model_call_free(call);
    gate_raise(gate);
}

static void a_run_is_aborted(void)
{
    gate_t gate = GATE;
    agent_t *settings = scripted("acme/slow");
    agent_messages_t *go = prompts("Go.");
    agent_run_t *run = NULL;

    CHECK_OK(agent_set_model_callback(settings, until_cancelled, &gate, NULL, &error));
    CHECK_OK(agent_loop_run(settings, NULL, 0, go, &run, &error));
    gate_wait(&gate, 1);
    CHECK_OK(agent_run_abort(run, &error));
    CHECK_OK(agent_run_wait(run, -1, &error));
    CHECK(agent_run_outcome(run) == AGENT_OUTCOME_ABORTED);
    gate_wait(&gate, 2);
    agent_run_free(run);

    /* and by freeing it */
    CHECK_OK(agent_loop_run(settings, NULL, 0, go, &run, &error));
    gate_wait(&gate, 3);
    agent_run_free(run);
    gate_wait(&gate, 4);
    agent_messages_free(go);
    agent_free(settings);
}

/* ---- one model call ---------------------------------------------------------------------------------------------- */

static void a_model_is_called_once(void)
{
    char request[4000] = "";
    agent_t *settings = seen_by(request);
    agent_messages_t *go = prompts("Go.");
    agent_run_t *run = NULL;

    add(settings, "{\"name\": \"a\"}");
    add(settings, "{\"name\": \"b\"}");
    CHECK_OK(agent_set_system_prompt(settings, "Be brief.", AGENT_NTS, &error));
    CHECK_OK(agent_complete(settings, CONTEXT, AGENT_NTS, go, &run, &error));
    read_out(run);
    CHECK_MESSAGES(run, "a Yes.; ");
    CHECK_CONTAINS(request, "\"system_prompt\":\"Be kind.\",\"messages\":[{\"role\":\"user\","
                   "\"content\":[{\"type\":\"text\",\"text\":\"Hi.\"}]");
    CHECK_CONTAINS(request, "\"text\":\"Go.\"}]");
    CHECK_CONTAINS(request, "\"tools\":[{\"name\":\"b\",");
    agent_run_free(run);

    /* the text of the settings, and the messages alone; those of a context are enough, too */
    CHECK_OK(agent_complete(settings, NULL, 0, go, &run, &error));
    /* the call keeps what it needs */
    agent_messages_free(go);
    read_out(run);
    CHECK_CONTAINS(request, "\"system_prompt\":\"Be brief.\"");
    agent_run_free(run);
    CHECK_OK(agent_complete(settings, CONTEXT, AGENT_NTS, NULL, &run, &error));
    agent_free(settings);
    CHECK_OK(agent_run_wait(run, -1, &error));
    CHECK_TEXT(agent_run_text(run, NULL), "Yes.");
    agent_run_free(run);
}

static void its_tool_calls_are_the_programs(void)
{
    agent_t *settings = with_tool(SCRIPTED(CALLS("tool", "{\"n\": 1}")), echo, NULL);
    agent_messages_t *go = prompts("Go.");
    agent_run_t *run = NULL;

    CHECK_OK(agent_complete(settings, NULL, 0, go, &run, &error));
    CHECK_OK(agent_run_wait(run, -1, &error));
    CHECK(agent_run_outcome(run) == AGENT_OUTCOME_COMPLETED);
    CHECK(agent_messages_count(agent_run_messages(run)) == 1);
    CHECK_CONTAINS(agent_run_json(run, NULL),
                   "{\"type\":\"tool_call\",\"id\":\"call_1\",\"name\":\"tool\",\"arguments\":{\"n\":1}}");
    agent_run_free(run);
    agent_messages_free(go);
    agent_free(settings);
}

static void a_call_fails_and_is_aborted(void)
{
    gate_t gate = GATE;
    agent_t *broken = scripted(SCRIPTED("[{\"error\": {\"kind\": \"permission\", \"message\": \"no\"}}]"));
    agent_t *slow = scripted("acme/slow");
    agent_messages_t *go = prompts("Go."), *none = NULL;
    agent_run_t *run = NULL;

    CHECK_OK(agent_complete(broken, NULL, 0, go, &run, &error));
    CHECK_OK(agent_run_wait(run, -1, &error));
    CHECK(agent_run_outcome(run) == AGENT_OUTCOME_ERROR);
    CHECK(agent_error_status(agent_run_error(run)) == AGENT_PERMISSION);
    agent_run_free(run);

    CHECK_OK(agent_set_model_callback(slow, until_cancelled, &gate, NULL, &error));
    CHECK_OK(agent_complete(slow, NULL, 0, go, &run, &error));
    gate_wait(&gate, 1);
    CHECK_FAILS(agent_run_steer(run, "More.", AGENT_NTS, &error), AGENT_INVALID_STATE,
                "steer: one model call takes no further messages; make another call with them");
    CHECK_OK(agent_run_abort(run, &error));
    CHECK_OK(agent_run_wait(run, -1, &error));
    CHECK(agent_run_outcome(run) == AGENT_OUTCOME_ABORTED);
    gate_wait(&gate, 2);
    agent_run_free(run);
    run = NULL;

    CHECK_OK(agent_messages_new(&none, &error));
    CHECK_FAILS(agent_complete(broken, NULL, 0, none, &run, &error), AGENT_INVALID_ARGUMENT,
                "messages: there is nothing to answer; give at least one message of a user");
    CHECK_FAILS(agent_complete(broken, NULL, 0, NULL, &run, &error), AGENT_INVALID_ARGUMENT,
                "messages: there is nothing to answer; give at least one message of a user");
    CHECK_FAILS(agent_complete(broken, "{\"message\": []}", AGENT_NTS, go, &run, &error), AGENT_INVALID_ARGUMENT,
                "unknown context field \"message\"; did you mean \"messages\"?");
    CHECK_NULL(agent_complete(NULL, NULL, 0, go, &run, &error), "settings");
    CHECK_NULL(agent_complete(broken, NULL, 0, go, NULL, &error), "run");
    CHECK(run == NULL);
    agent_messages_free(none);
    agent_messages_free(go);
    agent_free(broken);
    agent_free(slow);
}

/* ---- errors ------------------------------------------------------------------------------------------------------ */

static void bad_contexts_are_refused(void)
{
    agent_t *settings = seen_by(NULL);
    agent_messages_t *go = prompts("Go."), *none = NULL;
    agent_run_t *run = NULL;

#define CHECK_CONTEXT(json, text) \
    CHECK_FAILS(agent_loop_run(settings, json, AGENT_NTS, go, &run, &error), AGENT_INVALID_ARGUMENT, text)
    CHECK_CONTEXT("[]", "context: expected a JSON object, got []");
    CHECK_CONTEXT("{", "context is not JSON: it ends in the middle of an object (line 1, column 1)");
    CHECK_CONTEXT("{\"message\": []}", "unknown context field \"message\"; did you mean \"messages\"?");
    CHECK_CONTEXT("{\"history\": []}", "unknown context field \"history\"; known are system_prompt, messages, tools");
    CHECK_CONTEXT("{\"system_prompt\": 5}", "context: system_prompt: expected text, got 5");
    CHECK_CONTEXT("{\"messages\": {}}", "context: messages: expected an array of messages, got {}");
    CHECK_CONTEXT("{\"messages\": [{}]}",
                  "context: messages: [0]: role is missing; it is \"user\", \"assistant\", \"tool_result\" or a custom one");
    CHECK_CONTEXT("{\"tools\": \"a\"}", "context: tools: expected an array of names, got \"a\"");
    CHECK_CONTEXT("{\"tools\": [\"a\"]}", "context: tools: the settings have no tool named \"a\"");
    CHECK_FAILS(agent_loop_resume(settings, NULL, 0, &run, &error), AGENT_INVALID_STATE,
                "there is nothing to resume: the transcript is empty; use prompt");
    CHECK_OK(agent_messages_new(&none, &error));
    CHECK_FAILS(agent_loop_run(settings, NULL, 0, none, &run, &error), AGENT_INVALID_ARGUMENT,
                "prompt: the list is empty; give at least one message");
    agent_messages_free(none);

    CHECK_NULL(agent_loop_run(NULL, NULL, 0, go, &run, &error), "settings");
    CHECK_NULL(agent_loop_run(settings, NULL, 0, NULL, &run, &error), "prompts");
    CHECK_NULL(agent_loop_run(settings, NULL, 0, go, NULL, &error), "run");
    CHECK_NULL(agent_loop_resume(NULL, NULL, 0, &run, &error), "settings");
    CHECK_NULL(agent_loop_resume(settings, NULL, 0, NULL, &error), "run");
    CHECK(run == NULL);
    agent_messages_free(go);
    agent_free(settings);
}

/* ---- the checker ------------------------------------------------------------------------------------------------- */

static void events_are_checked(void)
{
    agent_t *agent = scripted(SCRIPTED(SAYS("Hello.")));
    agent_run_t *run = NULL;
    const agent_event_t *event;
    char lines[20000] = "", list[20000] = "[", *last;

    CHECK_OK(agent_prompt(agent, "Go.", AGENT_NTS, &run, &error));
    while (agent_run_next(run, -1, &event, &error) == AGENT_OK) {
        strcat(strcat(lines, agent_event_json(event, NULL)), "\n");
        strcat(strcat(list, list[1] ? "," : ""), agent_event_json(event, NULL));
    }
    strcat(list, "]");
    CHECK_OK(agent_check_events(lines, AGENT_NTS, &error));
    CHECK_OK(agent_check_events(list, strlen(list), &error));

    last = strstr(lines, "{\"type\":\"agent_end\"");
    CHECK(last != NULL);
    CHECK(agent_check_events(lines, (size_t)(last - lines), &error) == AGENT_INVALID_ARGUMENT);
    CHECK_CONTAINS(agent_error_message(error, NULL), "agent_end");
    agent_error_free(error);
    error = NULL;
    CHECK(agent_check_events(last, AGENT_NTS, NULL) == AGENT_INVALID_ARGUMENT);
    CHECK(agent_check_events("", 0, NULL) == AGENT_INVALID_ARGUMENT);
    CHECK_FAILS(agent_check_events("[", AGENT_NTS, &error), AGENT_INVALID_ARGUMENT,
                "events is not JSON: it ends in the middle of an array (line 1, column 1)");
    CHECK_NULL(agent_check_events(NULL, 0, &error), "events");
    agent_run_free(run);
    agent_free(agent);
}

int main(void)
{
    begin();
    RUN(a_context_is_run_and_not_changed);
    RUN(a_context_is_resumed);
    RUN(undelivered_messages_are_in_the_result);
    RUN(many_runs_share_their_settings);
    RUN(a_run_is_aborted);
    RUN(a_model_is_called_once);
    RUN(its_tool_calls_are_the_programs);
    RUN(a_call_fails_and_is_aborted);
    RUN(bad_contexts_are_refused);
    RUN(events_are_checked);
    return end();
}
