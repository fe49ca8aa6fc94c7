/* Hooks: calls, answers, failures. */

#include <unistd.h>

#include "support.h"

/* A hook that gives one answer, and records its last input. */
typedef struct {
    const char *answer;  /* NULL: not this */
    const char *failure; /* NULL: not this either, so that the call is freed unanswered */
    char input[4000];
    int asked;
} hook_t;

static void answering(void *userdata, agent_hook_call_t *call)
{
    hook_t *hook = userdata;
    size_t length = 0;

    hook->asked++;
    snprintf(hook->input, sizeof hook->input, "%s", agent_hook_call_input(call, &length));
    EXPECT(length == strlen(agent_hook_call_input(call, NULL)));
    EXPECT(!agent_hook_call_is_cancelled(call));
    if (hook->answer)
        EXPECT_OK(agent_hook_call_respond_json(call, hook->answer, AGENT_NTS, &error));
    else if (hook->failure)
        EXPECT_OK(agent_hook_call_fail(call, hook->failure, AGENT_NTS, &error));
    agent_hook_call_free(call);
}

/* Only the first time. */
static void answering_once(void *userdata, agent_hook_call_t *call)
{
    hook_t *hook = userdata;

    EXPECT_OK(agent_hook_call_respond_json(call, hook->asked++ ? "null" : hook->answer, AGENT_NTS, &error));
    agent_hook_call_free(call);
}

static void echo(void *userdata, agent_tool_call_t *call)
{
    (void)userdata;
    agent_tool_call_respond(call, agent_tool_call_arguments(call, NULL), AGENT_NTS, NULL);
    agent_tool_call_free(call);
}

/* A model that records the last request and answers yes. */
static void seeing(void *userdata, agent_model_call_t *call)
{
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

#define SET(agent, kind, function, hook) CHECK_OK(agent_set_hook(agent, kind, function, hook, NULL, &error))

/* ---- each hook --------------------------------------------------------------------------------------------------- */

static void the_messages_for_the_model_are_changed(void)
{
    hook_t transform = {.answer = "[{\"role\": \"note\", \"text\": \"keep\"}, {\"role\": \"user\", \"content\": \"Instead.\"}]"};
    hook_t convert = {.answer = "[{\"role\": \"user\", \"content\": \"Converted.\"}]"};
    char request[4000] = "";
    agent_t *agent = seen_by(request);
    agent_run_t *run;

    SET(agent, AGENT_HOOK_TRANSFORM_CONTEXT, answering, &transform);
    run = play(agent);
    CHECK_CONTAINS(transform.input, "{\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"Go.\"}]");
    CHECK_CONTAINS(request, "\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"Instead.\"}]");
    CHECK_MESSAGES(run, "u Go.; a Yes.; ");
    agent_run_free(run);

    SET(agent, AGENT_HOOK_CONVERT_TO_LLM, answering, &convert);
    agent_run_free(play(agent));
    CHECK_CONTAINS(convert.input, "{\"messages\":[{\"role\":\"note\"");
    CHECK_CONTAINS(request, "\"text\":\"Converted.\"");
    CHECK(transform.asked == 2 && convert.asked == 1);

    /* removed again */
    CHECK_OK(agent_set_hook(agent, AGENT_HOOK_TRANSFORM_CONTEXT, NULL, NULL, NULL, &error));
    CHECK_OK(agent_set_hook(agent, AGENT_HOOK_CONVERT_TO_LLM, NULL, NULL, NULL, &error));
    agent_run_free(play(agent));
    CHECK_CONTAINS(request, "\"text\":\"Go.\"");
    CHECK(transform.asked == 2 && convert.asked == 1);
    agent_free(agent);
}

static void a_key_is_fetched(void)
{
    hook_t hook = {.answer = "\"secret\""};
    char request[4000] = "";
    agent_t *agent = seen_by(request);

    SET(agent, AGENT_HOOK_GET_API_KEY, answering, &hook);
    agent_run_free(play(agent));
    CHECK_TEXT(hook.input, "{\"provider\":\"acme\"}");
    CHECK(strstr(request, "secret") == NULL);
    agent_free(agent);
}

/* A key that cannot be sent shows in the error which one would have been, and none is shown. */
static int key_error(const char *answer, const char *text)
{
    hook_t hook = {.answer = answer};
    agent_t *agent = scripted("company/m");
    agent_run_t *run;
    int found;

    EXPECT_OK(agent_set_base_url(agent, "http://127.0.0.1:1", AGENT_NTS, &error));
    /* agent_set_api_key() refuses it */
    EXPECT_OK(agent_set_json(agent, "{\"api_key\": \"sk-configured\\nsk-two\"}", AGENT_NTS, &error));
    EXPECT_OK(agent_set_hook(agent, AGENT_HOOK_GET_API_KEY, answering, &hook, NULL, &error));
    run = play(agent);
    found = EXPECT(agent_error_status(agent_run_error(run)) == AGENT_INVALID_ARGUMENT) &&
            EXPECT_CONTAINS(agent_error_message(agent_run_error(run), NULL), text) &&
            EXPECT(strstr(agent_run_json(run, NULL), "sk-") == NULL);
    agent_run_free(run);
    agent_free(agent);
    return found;
}

static void found_e9_an_empty_key_is_no_answer(void)
{
    const char *answers[] = {"\"\"", "\" \\n\\t\"", "null", "{}", "{\"bearer\": \"\"}", "{\"headers\": {}}"};
    size_t i;

    for (i = 0; i < sizeof answers / sizeof *answers; i++)
        CHECK(key_error(answers[i], "the API key for company, from api_key or get_api_key, has a line break"));
}

static void found_w13_a_token_or_headers(void)
{
    CHECK(key_error("{\"bearer\": \"sk-one\\nsk-two\"}",
                    "the API key for company, from api_key or get_api_key, has a line break"));
    CHECK(key_error("{\"headers\": {\"x-company\": \"sk-one\\nsk-two\"}}", "header \"x-company\": the value has characters"));
}

#define ONE_CALL SCRIPTED(CALLS("tool", "{\"n\": 1}") "," SAYS("Done."))

static void a_call_is_blocked_or_changed(void)
{
    hook_t hook = {.answer = "{\"block\": true, \"reason\": \"not today\"}"};
    agent_t *agent = with_tool(ONE_CALL, echo, NULL);
    agent_run_t *run;

    SET(agent, AGENT_HOOK_BEFORE_TOOL_CALL, answering, &hook);
    run = play(agent);
    CHECK_MESSAGES(run, "u Go.; a ; t not today; a Done.; ");
    CHECK_CONTAINS(hook.input, "{\"tool_call_id\":\"call_1\",\"tool_name\":\"tool\",\"arguments\":{\"n\":1},"
                   "\"message\":{\"role\":\"assistant\"");
    agent_run_free(run);

    CHECK_OK(agent_set_model(agent, ONE_CALL, AGENT_NTS, &error));
    hook.answer = "{\"arguments\": {\"n\": 2}}";
    run = play(agent);
    CHECK_MESSAGES(run, "u Go.; a ; t {\"n\":2}; a Done.; ");
    agent_run_free(run);
    agent_free(agent);
}

static void a_result_is_changed(void)
{
    hook_t hook = {.answer = "{\"content\": \"better\", \"is_error\": true}"};
    agent_t *agent = with_tool(ONE_CALL, echo, NULL);
    agent_run_t *run;

    SET(agent, AGENT_HOOK_AFTER_TOOL_CALL, answering, &hook);
    run = play(agent);
    CHECK_MESSAGES(run, "u Go.; a ; t better; a Done.; ");
    CHECK_TEXT(hook.input, "{\"tool_call_id\":\"call_1\",\"tool_name\":\"tool\",\"arguments\":{\"n\":1},"
               "\"result\":{\"content\":[{\"type\":\"text\","
                           "\"text\":\"{\\\"n\\\":1}\"}],\"details\":null,\"terminate\":false},\"is_error\":false}");
    agent_run_free(run);
    agent_free(agent);
}

static void turns_are_prepared_and_the_run_is_stopped(void)
{
    hook_t prepare = {.answer = "{\"thinking_level\": \"high\", \"context\": {\"system_prompt\": \"Hurry.\"}}"};
    hook_t stop = {.answer = "true"};
    char request[4000] = "";
    agent_t *agent = seen_by(request);
    agent_run_t *run;

    SET(agent, AGENT_HOOK_PREPARE_NEXT_TURN, answering, &prepare);
    CHECK(agent_follow_up(agent, "And then?", AGENT_NTS, &error) == AGENT_QUEUED);
    run = play(agent);
    CHECK_CONTAINS(prepare.input, "{\"turn\":2,\"message\":{\"role\":\"assistant\"");
    CHECK_CONTAINS(request, "\"system_prompt\":\"Hurry.\"");
    CHECK_CONTAINS(request, "\"thinking_level\":\"high\"");
    CHECK(agent_run_outcome(run) == AGENT_OUTCOME_COMPLETED);
    agent_run_free(run);

    SET(agent, AGENT_HOOK_SHOULD_STOP_AFTER_TURN, answering, &stop);
    CHECK(agent_follow_up(agent, "Unheard.", AGENT_NTS, &error) == AGENT_QUEUED);
    run = play(agent);
    CHECK_CONTAINS(stop.input, "{\"turn\":1,\"message\":{\"role\":\"assistant\"");
    CHECK(agent_run_outcome(run) == AGENT_OUTCOME_STOPPED);
    CHECK(agent_has_queued_messages(agent));
    agent_run_free(run);
    agent_free(agent);
}

static void messages_come_from_hooks(void)
{
    hook_t steering = {.answer = "\"Faster.\""}, follow_up = {.answer = "[\"One more.\", \"And one.\"]"};
    char request[4000] = "";
    agent_t *agent = seen_by(request);
    agent_run_t *run;

    SET(agent, AGENT_HOOK_GET_STEERING_MESSAGES, answering_once, &steering);
    SET(agent, AGENT_HOOK_GET_FOLLOW_UP_MESSAGES, answering_once, &follow_up);
    run = play(agent);
    CHECK_MESSAGES(run, "u Go.; u Faster.; a Yes.; u One more.; u And one.; a Yes.; ");
    CHECK(steering.asked > 1 && follow_up.asked == 2);
    agent_run_free(run);
    agent_free(agent);
}

static void a_request_and_its_response_are_observed(void)
{
    hook_t payload = {.answer = "null"}, response = {.answer = "null"};
    char url[200];
    agent_t *agent = scripted("openai/tiny");

    snprintf(url, sizeof url, "%s/hello", getenv("AGENT_MOCK_URL"));
    CHECK_OK(agent_set_base_url(agent, url, AGENT_NTS, &error));
    SET(agent, AGENT_HOOK_ON_PAYLOAD, answering, &payload);
    SET(agent, AGENT_HOOK_ON_RESPONSE, answering, &response);
    agent_run_free(play(agent));
    CHECK_CONTAINS(payload.input, "{\"provider\":\"openai\",\"model\":\"tiny\",\"payload\":{");
    CHECK_CONTAINS(response.input, "{\"provider\":\"openai\",\"status\":200,\"headers\":{");
    agent_free(agent);
}

static void a_run_and_its_failures_are_observed(void)
{
    hook_t before = {.answer = "null"}, after = {.answer = "null"}, failure = {.answer = "null"};
    agent_t *agent = scripted(SCRIPTED("[{\"error\": {\"kind\": \"quota\", \"message\": \"no money\"}}]"));
    agent_run_t *run;

    SET(agent, AGENT_HOOK_BEFORE_RUN, answering, &before);
    SET(agent, AGENT_HOOK_AFTER_RUN, answering, &after);
    SET(agent, AGENT_HOOK_ON_ERROR, answering, &failure);
    run = play(agent);
    CHECK(agent_run_outcome(run) == AGENT_OUTCOME_ERROR);
    CHECK_CONTAINS(before.input, "{\"prompts\":[{\"role\":\"user\"");
    CHECK_CONTAINS(after.input, "{\"outcome\":\"error\",\"text\":\"\"");
    CHECK_CONTAINS(failure.input, "{\"error\":{\"kind\":\"quota\",\"message\":\"no money\"");
    CHECK_CONTAINS(failure.input, "\"attempt\":1,\"will_retry\":false}");
    agent_run_free(run);
    agent_free(agent);
}

/* ---- failures ---------------------------------------------------------------------------------------------------- */

static void a_failing_hook_fails_the_message(void)
{
    hook_t hook = {.failure = "no idea"};
    agent_t *agent = scripted(SCRIPTED(SAYS("Unsaid.")));
    agent_run_t *run;

#define CHECK_FAILED(text)                                                          \
    do {                                                                            \
        run = play(agent);                                                          \
        CHECK(agent_run_outcome(run) == AGENT_OUTCOME_ERROR);                       \
        CHECK(agent_error_status(agent_run_error(run)) == AGENT_CALLBACK);          \
        CHECK_TEXT(agent_error_message(agent_run_error(run), NULL), (text));        \
        agent_run_free(run);                                                        \
    } while (0)
    SET(agent, AGENT_HOOK_TRANSFORM_CONTEXT, answering, &hook);
    CHECK_FAILED("the hook transform_context failed: no idea");
    hook.failure = NULL;
    CHECK_FAILED("the hook transform_context failed: its call was freed without an answer");
    hook.answer = "5";
    CHECK_FAILED("the hook transform_context failed: its answer cannot be used: expected an array of messages or null, got 5");
    agent_free(agent);
}

static void careless(void *userdata, agent_hook_call_t *call)
{
    static const char again[] = "this hook call was already answered; answer a call once";

    (void)userdata;
    EXPECT(fails(agent_hook_call_respond_json(call, "{", AGENT_NTS, &error), AGENT_INVALID_ARGUMENT,
                 "json is not JSON: it ends in the middle of an object (line 1, column 1)", __FILE__, __LINE__));
    EXPECT(fails(agent_hook_call_respond_json(call, NULL, 0, &error), AGENT_INVALID_ARGUMENT, "json is NULL", __FILE__,
                 __LINE__));
    EXPECT(fails(agent_hook_call_fail(call, NULL, 0, &error), AGENT_INVALID_ARGUMENT, "message is NULL", __FILE__, __LINE__));
    /* none of these answered the call */
    EXPECT_OK(agent_hook_call_respond_json(call, "{\"block\": true, \"reason\": \"first\"} ignored", 34, &error));
    EXPECT(fails(agent_hook_call_respond_json(call, "null", AGENT_NTS, &error), AGENT_INVALID_STATE, again, __FILE__, __LINE__));
    EXPECT(fails(agent_hook_call_fail(call, "late", AGENT_NTS, &error), AGENT_INVALID_STATE, again, __FILE__, __LINE__));
    agent_hook_call_free(call);
}

static void only_the_first_answer_counts(void)
{
    agent_t *agent = with_tool(ONE_CALL, echo, NULL);
    agent_run_t *run;

    SET(agent, AGENT_HOOK_BEFORE_TOOL_CALL, careless, NULL);
    run = play(agent);
    CHECK_MESSAGES(run, "u Go.; a ; t first; a Done.; ");
    agent_run_free(run);
    agent_free(agent);
}

/* ---- later, elsewhere, aborted ----------------------------------------------------------------------------------- */

static void *answer_elsewhere(void *call)
{
    usleep(1000);
    EXPECT_OK(agent_hook_call_respond_json(call, "{\"block\": true, \"reason\": \"from another thread\"}", AGENT_NTS, &error));
    agent_hook_call_free(call);
    return NULL;
}

static void handing_over(void *userdata, agent_hook_call_t *call)
{
    EXPECT(pthread_create(userdata, NULL, answer_elsewhere, call) == 0);
}

static void a_hook_answers_later_from_another_thread(void)
{
    pthread_t thread;
    agent_t *agent = with_tool(ONE_CALL, echo, NULL);
    agent_run_t *run;

    SET(agent, AGENT_HOOK_BEFORE_TOOL_CALL, handing_over, &thread);
    run = play(agent);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK_MESSAGES(run, "u Go.; a ; t from another thread; a Done.; ");
    agent_run_free(run);
    agent_free(agent);
}

static void sleeping(void *userdata, agent_hook_call_t *call)
{
    (void)userdata;
    /* a year of virtual time */
    EXPECT_OK(agent_hook_call_sleep(call, 31536000000u, &error));
    agent_hook_call_respond_json(call, "null", AGENT_NTS, NULL);
    agent_hook_call_free(call);
}

static void a_hook_sleeps_in_virtual_time(void)
{
    agent_t *agent = scripted(SCRIPTED(SAYS("Hello.")));
    agent_run_t *run;

    SET(agent, AGENT_HOOK_TRANSFORM_CONTEXT, sleeping, NULL);
    run = play(agent);
    CHECK_CONTAINS(agent_messages_json_at(agent_run_messages(run), 1, NULL), "\"timestamp\":31536000000}");
    agent_run_free(run);
    agent_free(agent);
}

static void waiting_for_the_abort(void *userdata, agent_hook_call_t *call)
{
    gate_raise(userdata);
    while (!agent_hook_call_is_cancelled(call))
        usleep(1000);
    EXPECT(fails(agent_hook_call_sleep(call, 1000000, &error), AGENT_ABORTED, "the hook call was cancelled: its run was aborted",
                 __FILE__, __LINE__));
    /* an answer after the abort is not a failure */
    EXPECT_OK(agent_hook_call_respond_json(call, "null", AGENT_NTS, &error));
    agent_hook_call_free(call);
    gate_raise(userdata);
}

static void an_abort_does_not_wait_for_a_hook(void)
{
    gate_t gate = GATE;
    agent_t *agent = scripted(SCRIPTED(SAYS("Unsaid.")));
    agent_run_t *run = NULL;

    SET(agent, AGENT_HOOK_TRANSFORM_CONTEXT, waiting_for_the_abort, &gate);
    CHECK_OK(agent_prompt(agent, "Go.", AGENT_NTS, &run, &error));
    gate_wait(&gate, 1);
    CHECK_OK(agent_run_abort(run, &error));
    read_out(run);
    CHECK(agent_run_outcome(run) == AGENT_OUTCOME_ABORTED);
    gate_wait(&gate, 2);
    agent_run_free(run);
    agent_free(agent);
}

/* What a hook may call, and what not. */
static void trying(void *agent, agent_hook_call_t *call)
{
    agent_run_t *run = NULL;

    EXPECT(agent_prompt(agent, "Go.", AGENT_NTS, &run, NULL) == AGENT_INVALID_STATE);
    EXPECT(agent_resume(agent, &run, NULL) == AGENT_INVALID_STATE);
    EXPECT(agent_wait_for_idle(agent, -1, NULL) == AGENT_INVALID_STATE);
    EXPECT(agent_runtime_shutdown(runtime, -1, NULL) == AGENT_INVALID_STATE);
    EXPECT(agent_reset(agent, NULL) == AGENT_BUSY);
    EXPECT_OK(agent_set_hook(agent, AGENT_HOOK_BEFORE_RUN, NULL, NULL, NULL, &error));
    EXPECT_OK(agent_follow_up(agent, "More.", AGENT_NTS, &error));
    agent_hook_call_respond_json(call, "null", AGENT_NTS, NULL);
    agent_hook_call_free(call);
}

static void a_hook_cannot_wait_for_its_run(void)
{
    agent_t *agent = scripted(SCRIPTED(SAYS("One.") "," SAYS("Two.")));
    agent_run_t *run;

    /* which removes itself */
    SET(agent, AGENT_HOOK_BEFORE_RUN, trying, agent);
    run = play(agent);
    CHECK_MESSAGES(run, "u Go.; a One.; u More.; a Two.; ");
    agent_run_free(run);
    agent_free(agent);
}

/* ---- destroy, null ----------------------------------------------------------------------------------------------- */

static void destroy_comes_once_whatever_happens(void)
{
    gate_t destroyed = GATE;
    agent_t *agent = scripted(SCRIPTED(SAYS("Hello.")));

    CHECK_NULL(agent_set_hook(NULL, AGENT_HOOK_ON_ERROR, answering, &destroyed, gate_raise, &error), "agent");
    CHECK(gate_count(&destroyed) == 1);
    CHECK_FAILS(agent_set_hook(agent, 99, answering, &destroyed, gate_raise, &error), AGENT_INVALID_ARGUMENT,
                "hook: there is no hook 99; use a constant AGENT_HOOK_...");
    CHECK(gate_count(&destroyed) == 2);
    CHECK_OK(agent_set_hook(agent, AGENT_HOOK_ON_ERROR, NULL, &destroyed, gate_raise, &error));
    CHECK(gate_count(&destroyed) == 3);
    CHECK_OK(agent_set_hook(agent, AGENT_HOOK_ON_ERROR, answering, &destroyed, gate_raise, &error));
    CHECK(gate_count(&destroyed) == 3);
    CHECK_OK(agent_set_hook(agent, AGENT_HOOK_ON_ERROR, answering, &destroyed, gate_raise, &error));
    CHECK(gate_count(&destroyed) == 4);
    CHECK_OK(agent_set_hook(agent, AGENT_HOOK_ON_RESPONSE, answering, &destroyed, gate_raise, &error));
    CHECK_OK(agent_set_hook(agent, AGENT_HOOK_ON_ERROR, NULL, NULL, NULL, &error));
    CHECK(gate_count(&destroyed) == 5);
    agent_free(agent);
    CHECK(gate_count(&destroyed) == 6);
}

/* A destroy function may use the agent. */
static void clearing(void *agent) { EXPECT_OK(agent_clear_all_queues(agent, &error)); }

static void destroy_may_use_the_agent(void)
{
    agent_t *agent = scripted(SCRIPTED(SAYS("Hello.")));

    CHECK(agent_steer(agent, "Wait.", AGENT_NTS, &error) == AGENT_QUEUED);
    CHECK_OK(agent_set_hook(agent, AGENT_HOOK_ON_ERROR, answering, agent, clearing, &error));
    CHECK_OK(agent_set_hook(agent, AGENT_HOOK_ON_ERROR, NULL, NULL, NULL, &error));
    CHECK(!agent_has_queued_messages(agent));
    agent_free(agent);
}

static void each_hook_has_a_name(void)
{
    CHECK_TEXT(agent_hook_name(AGENT_HOOK_TRANSFORM_CONTEXT), "transform_context");
    CHECK_TEXT(agent_hook_name(AGENT_HOOK_AFTER_RUN), "after_run");
    CHECK(agent_hook_name(0) == NULL && agent_hook_name(1000) == NULL);
}

static void null_is_refused(void)
{
    CHECK(agent_hook_call_input(NULL, NULL) == NULL);
    CHECK(!agent_hook_call_is_cancelled(NULL));
    CHECK_NULL(agent_hook_call_sleep(NULL, 1, &error), "call");
    CHECK_NULL(agent_hook_call_respond_json(NULL, "null", AGENT_NTS, &error), "call");
    CHECK_NULL(agent_hook_call_fail(NULL, "x", AGENT_NTS, &error), "call");
    agent_hook_call_free(NULL);
}

/* Gives a part of the input back as it came. */
static void handing_back(void *userdata, agent_hook_call_t *call)
{
    agent_json_t *input = NULL;

    EXPECT_OK(agent_json_parse(agent_hook_call_input(call, NULL), AGENT_NTS, &input, &error));
    EXPECT_OK(agent_hook_call_respond_json(call, agent_json_text(agent_json_get(input, userdata, AGENT_NTS), NULL), AGENT_NTS,
                                           &error));
    agent_json_free(input);
    agent_hook_call_free(call);
}

static void found_a6_the_deepest_values_pass_through_hooks(void)
{
    char inner[64 * 6 + 4] = "", model[1000], prompt[1000];
    agent_t *agent;
    agent_messages_t *messages = NULL, *again = NULL;
    agent_run_t *run;
    int i;

    for (i = 0; i < 63; i++)
        strcat(inner, "[");
    strcat(inner, "1");
    for (i = 0; i < 63; i++)
        strcat(inner, "]");
    snprintf(model, sizeof model, SCRIPTED(CALLS("tool", "{\"a\": %s}") ", " SAYS("Done.")), inner);
    agent = with_tool(model, echo, NULL);
    SET(agent, AGENT_HOOK_TRANSFORM_CONTEXT, handing_back, "/messages");
    SET(agent, AGENT_HOOK_ON_PAYLOAD, handing_back, "/payload");
    snprintf(prompt, sizeof prompt, "{\"role\": \"user\", \"content\": \"Go.\", \"metadata\": [%s]}", inner);
    CHECK_OK(agent_messages_new(&messages, &error));
    CHECK_OK(agent_messages_add_json(messages, prompt, AGENT_NTS, &error));
    CHECK_OK(agent_prompt_messages(agent, messages, &run, &error));
    read_out(run);
    CHECK(agent_run_outcome(run) == AGENT_OUTCOME_COMPLETED);
    agent_run_free(run);
    agent_messages_free(messages);
    CHECK_OK(agent_messages(agent, &messages, &error));
    CHECK_OK(agent_messages_from_json(agent_messages_json(messages, NULL), AGENT_NTS, &again, &error));
    CHECK_CONTAINS(agent_messages_json_at(again, 1, NULL), inner);
    agent_messages_free(again);
    snprintf(prompt, sizeof prompt, "{\"role\": \"user\", \"content\": \"Go.\", \"metadata\": [[%s]]}", inner);
    CHECK(agent_messages_add_json(messages, prompt, AGENT_NTS, NULL) == AGENT_INVALID_ARGUMENT);
    agent_messages_free(messages);
    agent_free(agent);
}

int main(void)
{
    begin();
    RUN(the_messages_for_the_model_are_changed);
    RUN(a_key_is_fetched);
    RUN(found_e9_an_empty_key_is_no_answer);
    RUN(found_w13_a_token_or_headers);
    RUN(a_call_is_blocked_or_changed);
    RUN(a_result_is_changed);
    RUN(turns_are_prepared_and_the_run_is_stopped);
    RUN(messages_come_from_hooks);
    RUN(a_request_and_its_response_are_observed);
    RUN(a_run_and_its_failures_are_observed);
    RUN(a_failing_hook_fails_the_message);
    RUN(only_the_first_answer_counts);
    RUN(a_hook_answers_later_from_another_thread);
    RUN(a_hook_sleeps_in_virtual_time);
    RUN(an_abort_does_not_wait_for_a_hook);
    RUN(a_hook_cannot_wait_for_its_run);
    RUN(destroy_comes_once_whatever_happens);
    RUN(destroy_may_use_the_agent);
    RUN(each_hook_has_a_name);
    RUN(found_a6_the_deepest_values_pass_through_hooks);
    RUN(null_is_refused);
    return end();
}
