/* Agents: creation, settings, prompts, listeners, state. */

#include "support.h"

static void never(void *userdata, agent_tool_call_t *call)
{
    (void)userdata;
    agent_tool_call_free(call);
}

/* ---- model and options ------------------------------------------------------------------------------------------- */

static void bad_models_are_refused(void)
{
    agent_t *agent = NULL;

#define CHECK_REFUSED(model, text) CHECK_FAILS(agent_new(runtime, model, AGENT_NTS, &agent, &error), AGENT_INVALID_ARGUMENT, text)
    CHECK_REFUSED("", "model \"\": expected \"provider/id\", for example \"anthropic/claude-sonnet-4-5\" or \"openai/gpt-5\"");
    CHECK_REFUSED("{\"provider\": \"openai\"", "model is not JSON: it ends in the middle of an object (line 1, column 21)");
    CHECK_REFUSED("{\"provider\": \"openai\", \"model\": \"x\"}",
                  "unknown model field \"model\"; known are provider, id, label, base_model, protocol, base_url, headers, "
                  "project, location, api_version, context_window, max_output_tokens, input, thinking, cost, quirks, script");
    CHECK_REFUSED("{\"provider\": \"openai\", \"id\": \"x\", \"base_uri\": \"y\"}",
                  "unknown model field \"base_uri\"; did you mean \"base_url\"?");
    CHECK_REFUSED("\xfe", "model is not UTF-8: invalid byte at offset 0");
    CHECK(agent == NULL);
}

static void a_model_that_cannot_be_used_is_refused_when_it_is_set(void)
{
    agent_t *agent = NULL;
    agent_run_t *run = NULL;

    CHECK_OK(agent_new(runtime, "opnai/x", AGENT_NTS, &agent, &error));
    CHECK_FAILS(agent_prompt(agent, "Go.", AGENT_NTS, &run, &error), AGENT_INVALID_ARGUMENT,
                "model \"opnai/x\": unknown provider \"opnai\"; did you mean \"openai\"? For another server give base_url");
    CHECK_OK(agent_set_model(agent, "openai/x", AGENT_NTS, &error));
    CHECK_FAILS(agent_set_base_url(agent, "localhost", AGENT_NTS, &error), AGENT_INVALID_ARGUMENT,
                "base_url \"localhost\": it does not begin with http:// or https://; give an address such as "
                "\"http://127.0.0.1:8080/v1\"");
    CHECK_FAILS(agent_set_json(agent, "{\"base_url\": \"localhost\", \"temperature\": 0}", AGENT_NTS, &error),
                AGENT_INVALID_ARGUMENT,
                "base_url \"localhost\": it does not begin with http:// or https://; give an address such as "
                "\"http://127.0.0.1:8080/v1\"");
    CHECK_FAILS(agent_set_json(agent, "{\"fallbacks\": [\"opnai/x\"]}", AGENT_NTS, &error), AGENT_INVALID_ARGUMENT,
                "option \"fallbacks\": [0]: model \"opnai/x\": unknown provider \"opnai\"; did you mean \"openai\"? For another "
                "server give base_url");
    CHECK_FAILS(agent_set_model(agent, SCRIPTED("[{\"dleta\": \"x\"}]"), AGENT_NTS, &error), AGENT_INVALID_ARGUMENT,
                "model \"scripted/test\": script[0][0]: unknown step \"dleta\"; did you mean \"delta\"?");
    CHECK(run == NULL);
    agent_free(agent);
}

static void found_e18_a_refused_change_changes_nothing(void)
{
    agent_t *agent = scripted(SCRIPTED(SAYS("Hello.")));
    agent_text_t *state = NULL;

    CHECK_FAILS(agent_set_model(agent, "opnai/x", AGENT_NTS, &error), AGENT_INVALID_ARGUMENT,
                "model \"opnai/x\": unknown provider \"opnai\"; did you mean \"openai\"? For another server give base_url");
    CHECK_FAILS(agent_set_json(agent, "{\"model\": \"opnai/x\", \"system_prompt\": \"New.\"}", AGENT_NTS, &error),
                AGENT_INVALID_ARGUMENT,
                "model \"opnai/x\": unknown provider \"opnai\"; did you mean \"openai\"? For another server give base_url");
    CHECK_OK(agent_state_json(agent, &state, &error));
    CHECK_CONTAINS(agent_text_data(state, NULL), "{\"system_prompt\":\"\",\"model\":\"scripted/test\",");
    agent_text_free(state);
    agent_free(agent);
}

static void bad_options_are_refused_and_change_nothing(void)
{
    agent_t *agent = scripted(SCRIPTED(SAYS("Hello.")));
    agent_text_t *state = NULL;

#define CHECK_OPTION(json, text) CHECK_FAILS(agent_set_json(agent, json, AGENT_NTS, &error), AGENT_INVALID_ARGUMENT, text)
    CHECK_OPTION("{\"temprature\": 0}", "unknown option \"temprature\"; did you mean \"temperature\"?");
    /* found: names that others use */
    CHECK_OPTION("{\"system\": \"x\"}", "unknown option \"system\"; did you mean \"system_prompt\"?");
    CHECK_OPTION("{\"timeout\": 5}", "unknown option \"timeout\"; did you mean \"request_timeout_ms\" or \"run_timeout_ms\"?");
    CHECK_OPTION("{\"maxTurns\": 3}", "unknown option \"maxTurns\"; did you mean \"max_turns\"?");
    CHECK_OPTION("{\"temperature\": \"hot\"}", "option \"temperature\": expected a number, got \"hot\"");
    CHECK_OPTION("{\"max_turns\": -1}", "option \"max_turns\": expected a whole number of turns (0 for no limit), got -1");
    CHECK_OPTION("{\"tool_execution\": \"serial\"}",
                 "option \"tool_execution\": expected \"parallel\" or \"sequential\", got \"serial\"");
    CHECK_OPTION("{\"cache_retention\": \"ever\"}",
                 "option \"cache_retention\": expected \"short\", \"long\" or \"none\", got \"ever\"");
    CHECK_OPTION("{\"api_key\": 5}", "option \"api_key\": expected text");
    CHECK_OPTION("{\"headers\": {\"x\": 1}}", "option \"headers\": \"x\": expected text");
    CHECK_OPTION("{\"extra_body\": {\"stream\": false}}",
                 "option \"extra_body\": the engine writes \"stream\" itself; each answer is streamed; leave it out");
    CHECK_OPTION("{\"system_prompt\": \"new\", \"messages\": [{}]}",
                 "option \"messages\": [0]: role is missing; it is \"user\", \"assistant\", \"tool_result\" or a custom one");
    CHECK_OPTION("{\"fallbacks\": \"openai/gpt-5\"}", "option \"fallbacks\": expected a list of models, got \"openai/gpt-5\"");
    CHECK_OPTION("{\"fallbacks\": [\"openai/gpt-5\", {\"provider\": \"groq\", \"id\": \"m\", \"qirks\": {}}]}",
                 "option \"fallbacks\": [1]: unknown model field \"qirks\"; did you mean \"quirks\"?");
    CHECK_OPTION("[]", "json: expected a JSON object, got []");
    CHECK_OPTION("nonsense", "json is not JSON: expected true, false or null (line 1, column 2)");
    CHECK_OK(agent_state_json(agent, &state, &error));
    CHECK_CONTAINS(agent_text_data(state, NULL), "{\"system_prompt\":\"\",");
    agent_text_free(state);
    agent_free(agent);
}

static void settings_are_in_the_state(void)
{
    agent_t *agent = scripted(SCRIPTED(SAYS("Hello.")));
    agent_tool_t *tool = NULL;
    agent_text_t *state = NULL;
    size_t length = 0;

    CHECK_OK(agent_set_system_prompt(agent, "Be brief, please", 8, &error));
    CHECK_OK(agent_set_json(agent, "{\"temperature\": 0, \"messages\": [{\"role\": \"user\", \"content\": \"Hi.\", "
                            "\"timestamp\": 5}]}",
                            AGENT_NTS, &error));
    CHECK_OK(agent_tool_new("{\"name\": \"tool\"}", AGENT_NTS, never, NULL, NULL, &tool, &error));
    CHECK_OK(agent_add_tool(agent, tool, &error));
    CHECK_FAILS(agent_add_tool(agent, tool, &error), AGENT_INVALID_ARGUMENT,
                "there are two tools named \"tool\"; give each its own name");
    agent_tool_free(tool);
    CHECK_OK(agent_state_json(agent, &state, &error));
    CHECK_TEXT(agent_text_data(state, &length),
               "{\"system_prompt\":\"Be brief\",\"model\":\"scripted/test\",\"thinking_level\":\"off\",\"tools\":[\"tool\"],"
               "\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"Hi.\"}],\"timestamp\":5}],"
               "\"is_streaming\":false,\"streaming_message\":null,\"pending_tool_calls\":[],\"error\":null,"
               "\"listener_errors\":0}");
    CHECK(length == strlen(agent_text_data(state, NULL)));
    agent_text_free(state);

    CHECK_OK(agent_remove_tool(agent, "tool", AGENT_NTS, &error));
    CHECK_FAILS(agent_remove_tool(agent, "tool", AGENT_NTS, &error), AGENT_NOT_FOUND, "the agent has no tool named \"tool\"");
    agent_free(agent);
}

/* ---- prompts ----------------------------------------------------------------------------------------------------- */

static void messages_are_prompted(void)
{
    agent_t *agent = scripted(SCRIPTED(SAYS("A cat.") "," SAYS("A dog.")));
    agent_messages_t *messages = NULL;
    agent_run_t *run = NULL;

    CHECK_OK(agent_messages_new(&messages, &error));
    CHECK_FAILS(agent_prompt_messages(agent, messages, &run, &error), AGENT_INVALID_ARGUMENT,
                "prompt: the list is empty; give at least one message");
    CHECK_OK(agent_messages_add_user(messages, "What are these?", AGENT_NTS, &error));
    CHECK_OK(agent_messages_add_json(messages,
                                     "{\"role\": \"user\", \"content\": [{\"type\": \"image\", \"data\": \"aGk=\", "
                                     "\"mime_type\": \"image/png\"}]}",
                                     AGENT_NTS, &error));
    CHECK_OK(agent_prompt_messages(agent, messages, &run, &error));
    /* the list may be freed */
    agent_messages_free(messages);
    CHECK_OK(agent_run_wait(run, -1, &error));
    CHECK_TEXT(agent_run_text(run, NULL), "A cat.");
    agent_run_free(run);
    messages = NULL;
    CHECK_OK(agent_messages(agent, &messages, &error));
    CHECK(agent_messages_count(messages) == 3);
    CHECK_CONTAINS(agent_messages_json_at(messages, 1, NULL), "\"data\":\"aGk=\"");

    /* a list that was returned does not change */
    agent_run_free(play(agent));
    CHECK(agent_messages_count(messages) == 3);
    agent_messages_free(messages);
    agent_free(agent);
}

static void holding(void *userdata, agent_tool_call_t *call)
{
    gate_raise(userdata);
    gate_wait(userdata, 2);
    agent_tool_call_respond(call, "go on", AGENT_NTS, NULL);
    agent_tool_call_free(call);
}

static void one_run_at_a_time(void)
{
    gate_t gate = GATE;
    agent_t *agent = with_tool(SCRIPTED(CALLS("tool", "{}") "," SAYS("Done.")), holding, &gate);
    agent_run_t *run = NULL, *other = NULL;
    agent_text_t *state = NULL;

    CHECK_OK(agent_prompt(agent, "Go.", AGENT_NTS, &run, &error));
    gate_wait(&gate, 1);
    CHECK_FAILS(agent_prompt(agent, "And?", AGENT_NTS, &other, &error), AGENT_BUSY,
                "a run is active on this agent, and another cannot be started: use steer or follow_up to reach it, or "
                "wait_for_idle to wait for its end");
    CHECK_FAILS(agent_set_json(agent, "{\"messages\": []}", AGENT_NTS, &error), AGENT_BUSY,
                "a run is active on this agent, and the transcript cannot be replaced: use steer or follow_up to reach it, or "
                "wait_for_idle to wait for its end");
    CHECK_OK(agent_state_json(agent, &state, &error));
    CHECK_CONTAINS(agent_text_data(state, NULL), "\"is_streaming\":true");
    CHECK_CONTAINS(agent_text_data(state, NULL), "\"pending_tool_calls\":[\"call_1\"]");
    agent_text_free(state);
    CHECK(agent_wait_for_idle(agent, 0, &error) == AGENT_PENDING);
    CHECK(agent_wait_for_idle(agent, 5, &error) == AGENT_PENDING);
    CHECK(agent_run_wait(run, 5, &error) == AGENT_PENDING);
    gate_raise(&gate);
    CHECK_OK(agent_wait_for_idle(agent, -1, &error));
    CHECK(agent_run_outcome(run) == AGENT_OUTCOME_COMPLETED);
    agent_run_free(run);
    agent_free(agent);
}

/* ---- listeners --------------------------------------------------------------------------------------------------- */

typedef struct {
    agent_t *agent;
    uint64_t subscription;
    char reported[400];
    int destroyed;
} listener_t;

static void note(void *userdata, const agent_event_t *event)
{
    listener_t *listener = userdata;

    snprintf(listener->reported + strlen(listener->reported), sizeof listener->reported - strlen(listener->reported), "%s ",
             agent_event_kind_name(agent_event_kind(event)));
}

static void count_destroyed(void *userdata)
{
    ((listener_t *)userdata)->destroyed++;
}

static void a_run_for_listeners_alone(void)
{
    listener_t listener = {0};
    agent_t *agent = scripted(SCRIPTED(SAYS("Hello.")));

    CHECK_OK(agent_subscribe(agent, note, &listener, count_destroyed, NULL, &error));
    CHECK_OK(agent_prompt(agent, "Go.", AGENT_NTS, NULL, &error));
    CHECK_OK(agent_wait_for_idle(agent, -1, &error));
    CHECK_TEXT(listener.reported, "agent_start turn_start message_start message_end message_start text_start text_delta text_end "
                              "message_end turn_end agent_end ");
    CHECK(listener.destroyed == 0);
    agent_free(agent);
    /* the last reference may have been the run's, on another thread */
    CHECK_OK(agent_runtime_shutdown(runtime, -1, &error));
    CHECK(listener.destroyed == 1);
    agent_runtime_free(runtime);
    begin();
}

static void leave(void *userdata, const agent_event_t *event)
{
    listener_t *listener = userdata;

    note(userdata, event);
    if (agent_event_kind(event) == AGENT_EVENT_TURN_START)
        EXPECT_OK(agent_unsubscribe(listener->agent, listener->subscription, &error));
}

static void a_listener_may_remove_itself(void)
{
    listener_t first = {0}, second = {0};
    agent_t *agent = scripted(SCRIPTED(SAYS("Hello.")));

    first.agent = agent;
    CHECK_OK(agent_subscribe(agent, leave, &first, count_destroyed, &first.subscription, &error));
    CHECK_OK(agent_subscribe(agent, note, &second, count_destroyed, &second.subscription, &error));
    CHECK(first.subscription != second.subscription);
    agent_run_free(play(agent));
    CHECK_TEXT(first.reported, "agent_start turn_start ");
    CHECK(first.destroyed == 1);
    CHECK_CONTAINS(second.reported, " agent_end ");
    CHECK_OK(agent_unsubscribe(agent, second.subscription, &error));
    CHECK(second.destroyed == 1);
    CHECK(agent_unsubscribe(agent, second.subscription, &error) == AGENT_NOT_FOUND);
    CHECK_CONTAINS(agent_error_message(error, NULL), "the agent has no subscription ");
    agent_error_free(error);
    error = NULL;
    agent_free(agent);
}

static void destroy_comes_once_when_subscribing_fails(void)
{
    listener_t listener = {0};
    agent_t *agent = scripted(SCRIPTED(SAYS("Hello.")));

    CHECK_NULL(agent_subscribe(NULL, note, &listener, count_destroyed, NULL, &error), "agent");
    CHECK(listener.destroyed == 1);
    CHECK_NULL(agent_subscribe(agent, NULL, &listener, count_destroyed, NULL, &error), "function");
    CHECK(listener.destroyed == 2);
    agent_free(agent);
}

static void waiting_inside(void *userdata, const agent_event_t *event)
{
    listener_t *listener = userdata;
    agent_run_t *run = NULL;

#define EXPECT_INSIDE(call, what) \
    EXPECT(fails((call), AGENT_INVALID_STATE, \
                 what " inside a listener, hook or tool of the same agent would deadlock; do it after the run", \
                 __FILE__, __LINE__))
    EXPECT_INSIDE(agent_prompt(listener->agent, "And?", AGENT_NTS, &run, &error), "starting a run");
    EXPECT_INSIDE(agent_wait_for_idle(listener->agent, -1, &error), "wait_for_idle");
    /* but this is allowed */
    EXPECT_OK(agent_set_system_prompt(listener->agent, "Be kind.", AGENT_NTS, &error));
    note(userdata, event);
}

static void calls_that_would_deadlock_are_refused(void)
{
    listener_t listener = {0};
    agent_t *agent = scripted(SCRIPTED(SAYS("Hello.")));

    listener.agent = agent;
    CHECK_OK(agent_subscribe(agent, waiting_inside, &listener, NULL, NULL, &error));
    agent_run_free(play(agent));
    CHECK_CONTAINS(listener.reported, " agent_end ");
    agent_free(agent);
}

static void abort_inside(void *userdata, const agent_event_t *event)
{
    if (agent_event_kind(event) == AGENT_EVENT_TEXT_DELTA) {
        EXPECT_OK(agent_abort(((listener_t *)userdata)->agent, &error));
        EXPECT_OK(agent_abort(((listener_t *)userdata)->agent, &error));
    }
}

static void an_abort_may_come_from_a_listener(void)
{
    listener_t listener = {0};
    agent_t *agent = scripted(SCRIPTED("[{\"delta\": \"one\"}, {\"delta\": \"two\"}, {\"end\": \"stop\"}]"));
    agent_run_t *run;

    CHECK_OK(agent_abort(agent, &error));
    listener.agent = agent;
    CHECK_OK(agent_subscribe(agent, abort_inside, &listener, NULL, NULL, &error));
    run = play(agent);
    CHECK(agent_run_outcome(run) == AGENT_OUTCOME_ABORTED);
    CHECK_TEXT(agent_run_text(run, NULL), "one");
    CHECK(agent_error_status(agent_run_error(run)) == AGENT_ABORTED);
    agent_run_free(run);
    agent_free(agent);
}

static void listeners_and_tools_outlive_the_handle(void)
{
    gate_t gate = GATE;
    listener_t listener = {0};
    agent_t *agent = with_tool(SCRIPTED(CALLS("tool", "{}") "," SAYS("Done.")), holding, &gate);
    agent_run_t *run = NULL;

    CHECK_OK(agent_subscribe(agent, note, &listener, count_destroyed, NULL, &error));
    CHECK_OK(agent_prompt(agent, "Go.", AGENT_NTS, &run, &error));
    gate_wait(&gate, 1);
    agent_free(agent);
    gate_raise(&gate);
    CHECK_OK(agent_run_wait(run, -1, &error));
    CHECK_TEXT(agent_run_text(run, NULL), "Done.");
    CHECK_CONTAINS(listener.reported, " agent_end ");
    agent_run_free(run);
    CHECK_OK(agent_runtime_shutdown(runtime, -1, &error));
    CHECK(listener.destroyed == 1);
    agent_runtime_free(runtime);
    begin();
}

typedef struct {
    agent_t *agent;
    agent_run_t *run;
    gate_t ready, destroyed;
} owner_t;

static void free_inside(void *userdata, const agent_event_t *event)
{
    owner_t *owner = userdata;

    gate_wait(&owner->ready, 1);
    if (agent_event_kind(event) == AGENT_EVENT_TURN_START) {
        agent_run_free(owner->run);
        agent_free(owner->agent);
        /* the event is still valid */
        EXPECT(agent_event_turn(event) == 1);
    }
}

static void owner_destroyed(void *userdata)
{
    gate_raise(&((owner_t *)userdata)->destroyed);
}

static void handles_may_be_freed_inside_a_callback(void)
{
    owner_t owner = {NULL, NULL, GATE, GATE};

    owner.agent = scripted(SCRIPTED(SAYS("Hello.")));
    CHECK_OK(agent_subscribe(owner.agent, free_inside, &owner, owner_destroyed, NULL, &error));
    CHECK_OK(agent_prompt(owner.agent, "Go.", AGENT_NTS, &owner.run, &error));
    gate_raise(&owner.ready);
    gate_wait(&owner.destroyed, 1);
}

/* ---- null -------------------------------------------------------------------------------------------------------- */

static void null_is_refused(void)
{
    agent_t *agent = NULL;
    agent_run_t *run = NULL;
    agent_text_t *state = NULL;
    agent_messages_t *messages = NULL;

    CHECK_NULL(agent_new(NULL, "openai/x", AGENT_NTS, &agent, &error), "runtime");
    CHECK_NULL(agent_new(runtime, NULL, 0, &agent, &error), "model");
    CHECK_NULL(agent_new(runtime, "openai/x", AGENT_NTS, NULL, &error), "agent");
    CHECK_NULL(agent_set_model(NULL, "openai/x", AGENT_NTS, &error), "agent");
    CHECK_NULL(agent_set_system_prompt(NULL, "x", AGENT_NTS, &error), "agent");
    CHECK_NULL(agent_set_api_key(NULL, "x", AGENT_NTS, &error), "agent");
    CHECK_NULL(agent_set_base_url(NULL, "x", AGENT_NTS, &error), "agent");
    CHECK_NULL(agent_set_json(NULL, "{}", AGENT_NTS, &error), "agent");
    CHECK_NULL(agent_add_tool(NULL, NULL, &error), "agent");
    CHECK_NULL(agent_remove_tool(NULL, "x", AGENT_NTS, &error), "agent");
    CHECK_NULL(agent_prompt(NULL, "x", AGENT_NTS, &run, &error), "agent");
    CHECK_NULL(agent_prompt_messages(NULL, NULL, &run, &error), "agent");
    CHECK_NULL(agent_abort(NULL, &error), "agent");
    CHECK_NULL(agent_wait_for_idle(NULL, 0, &error), "agent");
    CHECK_NULL(agent_unsubscribe(NULL, 0, &error), "agent");
    CHECK_NULL(agent_state_json(NULL, &state, &error), "agent");
    CHECK_NULL(agent_messages(NULL, &messages, &error), "agent");
    agent_free(NULL);

    agent = scripted(SCRIPTED(SAYS("Hello.")));
    CHECK_NULL(agent_set_model(agent, NULL, 0, &error), "model");
    CHECK_NULL(agent_set_system_prompt(agent, NULL, 0, &error), "text");
    CHECK_NULL(agent_set_json(agent, NULL, 0, &error), "json");
    CHECK_NULL(agent_add_tool(agent, NULL, &error), "tool");
    CHECK_NULL(agent_remove_tool(agent, NULL, 0, &error), "name");
    CHECK_NULL(agent_prompt(agent, NULL, 0, &run, &error), "text");
    CHECK_NULL(agent_prompt_messages(agent, NULL, &run, &error), "messages");
    CHECK_NULL(agent_state_json(agent, NULL, &error), "state");
    CHECK_NULL(agent_messages(agent, NULL, &error), "messages");
    /* where NULL has a meaning it is accepted */
    CHECK_OK(agent_set_api_key(agent, NULL, 0, &error));
    CHECK_OK(agent_set_base_url(agent, NULL, 0, &error));
    agent_free(agent);
}

int main(void)
{
    begin();
    RUN(bad_models_are_refused);
    RUN(a_model_that_cannot_be_used_is_refused_when_it_is_set);
    RUN(found_e18_a_refused_change_changes_nothing);
    RUN(bad_options_are_refused_and_change_nothing);
    RUN(settings_are_in_the_state);
    RUN(messages_are_prompted);
    RUN(one_run_at_a_time);
    RUN(a_run_for_listeners_alone);
    RUN(a_listener_may_remove_itself);
    RUN(destroy_comes_once_when_subscribing_fails);
    RUN(calls_that_would_deadlock_are_refused);
    RUN(an_abort_may_come_from_a_listener);
    RUN(listeners_and_tools_outlive_the_handle);
    RUN(handles_may_be_freed_inside_a_callback);
    RUN(null_is_refused);
    return end();
}
