/* Tools and their calls. */

#include <unistd.h>

#include "support.h"

/* ---- creation ---------------------------------------------------------------------------------------------------- */

static void never(void *userdata, agent_tool_call_t *call)
{
    (void)userdata;
    EXPECT(!"a tool that is never called");
    agent_tool_call_free(call);
}

static void bad_descriptions_are_refused(void)
{
    agent_tool_t *tool = NULL;

#define CHECK_REFUSED(json, text) \
    CHECK_FAILS(agent_tool_new(json, AGENT_NTS, never, NULL, NULL, &tool, &error), AGENT_INVALID_ARGUMENT, text)
    CHECK_REFUSED("{\"name\": \"get weather\"}",
                  "tool name \"get weather\": use 1 to 64 letters, digits, '_' or '-' (what every provider takes)");
    CHECK_REFUSED("{\"name\": \"tool\", \"parameters\": {\"type\": \"objekt\"}}",
                  "tool \"tool\": parameters is not a JSON Schema: at \"/type\": arguments are an object, so this must be "
                  "\"object\", not \"objekt\"");
    CHECK_REFUSED("{\"name\": \"tool\", \"parameters\": 5}", "tool \"tool\": parameters is not a JSON "
                  "Schema: expected an object such as {\"type\": \"object\", "
                  "\"properties\": {\xe2\x80\xa6}}, got 5");
    CHECK_REFUSED("{\"description\": \"nameless\"}", "tool: name is missing");
    CHECK_REFUSED("{\"name\": \"tool\", \"parameter\": {}}",
                  "tool \"tool\": unknown field \"parameter\"; did you mean \"parameters\"?");
    CHECK_REFUSED("{\"name\": \"tool\", \"execution_mode\": \"serial\"}",
                  "tool \"tool\": execution_mode: expected \"parallel\" or \"sequential\", got \"serial\"");
    CHECK_REFUSED("{", "json is not JSON: it ends in the middle of an object (line 1, column 1)");
    CHECK_REFUSED("\"tool\"", "json: expected a JSON object, got \"tool\"");
    CHECK(tool == NULL);
}

static void found_r2_what_is_certainly_no_schema_is_refused(void)
{
    agent_tool_t *tool = NULL;

#define PARAMETERS(json) "{\"name\": \"tool\", \"parameters\": " json "}"
    CHECK_REFUSED(PARAMETERS("{\"city\": {\"type\": \"string\"}}"), "tool \"tool\": parameters has no JSON Schema keyword; did "
                  "you mean {\"type\": \"object\", \"properties\": {\"city\": \xe2\x80\xa6}}?");
    CHECK_REFUSED(PARAMETERS("{\"type\": \"object\", \"properties\": {\"city\": {}}, \"required\": [\"citty\"]}"),
                  "tool \"tool\": parameters is not a JSON Schema: at \"/required\": \"citty\" is not in \"properties\"; did you "
                  "mean \"city\"?");
    CHECK_REFUSED(PARAMETERS("{\"type\": \"object\", \"properties\": {\"n\": {\"type\": \"int\"}}}"), "tool \"tool\": parameters "
                  "is not a JSON Schema: at \"/properties/n/type\": unknown type \"int\"; did you mean \"integer\"?");
    CHECK(tool == NULL);
    /* which of its properties is described elsewhere is not known; a tool needs no description */
    CHECK_OK(agent_tool_new(PARAMETERS("{\"type\": \"object\", \"properties\": {}, \"required\": [\"a\"], \"allOf\": "
                                       "[{\"properties\": {\"a\": {}}}]}"), AGENT_NTS, never, NULL, NULL, &tool, &error));
    agent_tool_free(tool);
}

/* Writes a tool whose argument x is checked by `inner`, in so many schemas that begin and end like this. */
static void write_tool(char *json, int levels, const char *open, const char *inner, const char *close)
{
    int i;

    json += sprintf(json, "{\"name\": \"tool\", \"parameters\": {\"type\": \"object\", \"properties\": {\"x\": ");
    for (i = 0; i < levels; i++)
        json += sprintf(json, "%s", open);
    json += sprintf(json, "%s", inner);
    for (i = 0; i < levels; i++)
        json += sprintf(json, "%s", close);
    sprintf(json, "}}}");
}

static void found_a15_a_schema_without_bounds_is_refused(void)
{
    agent_tool_t *tool = NULL;
    gate_t destroyed = GATE;
    char *json = malloc(400000), *large = malloc(300100);
    size_t i;
    struct {
        int levels;
        const char *open, *inner, *close, *text;
    } schemas[] = {
        {70, "{\"items\": ", "{}", "}", "nests deeper than 64 levels"},
        {0, "", "{\"pattern\": \"((a{100}){100}){100}\"}", "", "patterns are too large"},
        {0, "", "{\"$ref\": \"#/properties/x\"}", "", "refers to itself"},
        {0, "", large, "", "at most 256 KiB"},
    };

    strcpy(large, "{\"enum\": [\"");
    memset(large + strlen(large), 'x', 300000);
    strcpy(large + 300000, "\"]}");
    for (i = 0; i < sizeof schemas / sizeof *schemas; i++) {
        write_tool(json, schemas[i].levels, schemas[i].open, schemas[i].inner, schemas[i].close);
        EXPECT(agent_tool_new(json, AGENT_NTS, never, &destroyed, gate_raise, &tool, &error) == AGENT_INVALID_ARGUMENT);
        EXPECT_CONTAINS(agent_error_message(error, NULL), "tool \"tool\": parameters is not a JSON Schema: ");
        EXPECT_CONTAINS(agent_error_message(error, NULL), schemas[i].text);
        EXPECT(tool == NULL && gate_count(&destroyed) == (int)i + 1);
        agent_error_free(error);
        error = NULL;
    }
    free(large);
    free(json);
}

static void destroy_comes_once_whatever_happens(void)
{
    gate_t destroyed = GATE;
    agent_tool_t *tool = NULL;
    agent_t *agent;

    /* calls that fail */
    CHECK_NULL(agent_tool_new("{\"name\": \"tool\"}", AGENT_NTS, NULL, &destroyed, gate_raise, &tool, &error), "function");
    CHECK(gate_count(&destroyed) == 1);
    CHECK_NULL(agent_tool_new("{\"name\": \"tool\"}", AGENT_NTS, never, &destroyed, gate_raise, NULL, &error), "tool");
    CHECK(gate_count(&destroyed) == 2);
    CHECK_NULL(agent_tool_new(NULL, 0, never, &destroyed, gate_raise, &tool, &error), "json");
    CHECK(gate_count(&destroyed) == 3);
    CHECK(agent_tool_new("{", AGENT_NTS, never, &destroyed, gate_raise, &tool, NULL) == AGENT_INVALID_ARGUMENT);
    CHECK(gate_count(&destroyed) == 4);

    /* a tool that no agent has */
    CHECK_OK(agent_tool_new("{\"name\": \"tool\"}", AGENT_NTS, never, &destroyed, gate_raise, &tool, &error));
    CHECK(gate_count(&destroyed) == 4);
    agent_tool_free(tool);
    CHECK(gate_count(&destroyed) == 5);

    /* one that an agent has */
    agent = scripted(SCRIPTED(SAYS("Hello.")));
    CHECK_OK(agent_tool_new("{\"name\": \"tool\"}", AGENT_NTS, never, &destroyed, gate_raise, &tool, &error));
    CHECK_OK(agent_add_tool(agent, tool, &error));
    CHECK_OK(agent_tool_set_json(tool, "{\"name\": \"other\"}", AGENT_NTS, &error));
    CHECK_OK(agent_add_tool(agent, tool, &error));
    agent_tool_free(tool);
    CHECK_OK(agent_remove_tool(agent, "tool", AGENT_NTS, &error));
    CHECK(gate_count(&destroyed) == 5);
    agent_free(agent);
    CHECK(gate_count(&destroyed) == 6);
}

static void a_changed_tool_does_not_affect_agents(void)
{
    agent_tool_t *tool = NULL;
    agent_t *agent = scripted(SCRIPTED(SAYS("Hello.")));
    agent_text_t *state = NULL;

    CHECK_OK(agent_tool_new("{\"name\": \"one\"}", AGENT_NTS, never, NULL, NULL, &tool, &error));
    CHECK_OK(agent_add_tool(agent, tool, &error));
    CHECK_FAILS(agent_tool_set_json(tool, "{\"name\": \"t w o\"}", AGENT_NTS, &error), AGENT_INVALID_ARGUMENT,
                "tool name \"t w o\": use 1 to 64 letters, digits, '_' or '-' (what every provider takes)");
    CHECK_OK(agent_tool_set_json(tool, "{\"name\": \"two\", \"label\": \"Two\", \"execution_mode\": \"sequential\"}",
                                 AGENT_NTS, &error));
    CHECK_OK(agent_add_tool(agent, tool, &error));
    CHECK_OK(agent_state_json(agent, &state, &error));
    CHECK_CONTAINS(agent_text_data(state, NULL), "\"tools\":[\"one\",\"two\"]");
    agent_text_free(state);
    agent_tool_free(tool);
    agent_free(agent);
}

/* ---- arguments --------------------------------------------------------------------------------------------------- */

#define ARGUMENTS "{\"text\": \"t\\u00e9xt\", \"number\": -1.5e3, \"yes\": true, \"nothing\": null, \"list\": [1, 2]}"

static void read_arguments(agent_tool_call_t *call)
{
    const char *text = NULL, *again = NULL;
    size_t length = 0;
    double number = 0;
    bool yes = false;

    CHECK_TEXT(agent_tool_call_id(call, &length), "call_1");
    CHECK(length == 6);
    CHECK_TEXT(agent_tool_call_name(call, NULL), "tool");
    CHECK_TEXT(agent_tool_call_arguments(call, &length),
               "{\"text\":\"t\xc3\xa9xt\",\"number\":-1500.0,\"yes\":true,\"nothing\":null,\"list\":[1,2]}");
    CHECK(length == strlen(agent_tool_call_arguments(call, NULL)));

    CHECK_OK(agent_tool_call_get_string(call, "text", AGENT_NTS, &text, &length, &error));
    CHECK_TEXT(text, "t\xc3\xa9xt");
    CHECK(length == 5);
    CHECK_OK(agent_tool_call_get_string(call, "text ignored", 4, &again, NULL, &error));
    CHECK(again == text);
    CHECK_OK(agent_tool_call_get_number(call, "number", AGENT_NTS, &number, &error));
    CHECK(number == -1500);
    CHECK_OK(agent_tool_call_get_bool(call, "yes", AGENT_NTS, &yes, &error));
    CHECK(yes);

    CHECK_FAILS(agent_tool_call_get_string(call, "absent", AGENT_NTS, &text, NULL, &error), AGENT_NOT_FOUND,
                "the call of tool has no argument \"absent\"; it has: text, number, yes, nothing, list");
    CHECK_FAILS(agent_tool_call_get_number(call, "nothing", AGENT_NTS, &number, &error), AGENT_NOT_FOUND,
                "the call of tool has no argument \"nothing\"; it has: text, number, yes, nothing, list");
    CHECK_FAILS(agent_tool_call_get_string(call, "number", AGENT_NTS, &text, NULL, &error), AGENT_INVALID_ARGUMENT,
                "argument \"number\" of tool is not a string: -1500.0");
    CHECK_FAILS(agent_tool_call_get_number(call, "text", AGENT_NTS, &number, &error), AGENT_INVALID_ARGUMENT,
                "argument \"text\" of tool is not a number: \"t\xc3\xa9xt\"");
    CHECK_FAILS(agent_tool_call_get_bool(call, "list", AGENT_NTS, &yes, &error), AGENT_INVALID_ARGUMENT,
                "argument \"list\" of tool is not true or false: [1,2]");
    CHECK_TEXT(text, "t\xc3\xa9xt");

    CHECK_NULL(agent_tool_call_get_string(NULL, "text", AGENT_NTS, &text, NULL, &error), "call");
    CHECK_NULL(agent_tool_call_get_string(call, NULL, 0, &text, NULL, &error), "name");
    CHECK_NULL(agent_tool_call_get_string(call, "text", AGENT_NTS, NULL, NULL, &error), "value");
    CHECK_NULL(agent_tool_call_get_number(NULL, "number", AGENT_NTS, &number, &error), "call");
    CHECK_NULL(agent_tool_call_get_number(call, NULL, 0, &number, &error), "name");
    CHECK_NULL(agent_tool_call_get_number(call, "number", AGENT_NTS, NULL, &error), "value");
    CHECK_NULL(agent_tool_call_get_bool(NULL, "yes", AGENT_NTS, &yes, &error), "call");
    CHECK_NULL(agent_tool_call_get_bool(call, NULL, 0, &yes, &error), "name");
    CHECK_NULL(agent_tool_call_get_bool(call, "yes", AGENT_NTS, NULL, &error), "value");
    CHECK(!agent_tool_call_is_cancelled(call));
}

static void reading(void *userdata, agent_tool_call_t *call)
{
    (void)userdata;
    read_arguments(call);
    agent_tool_call_respond(call, "read", AGENT_NTS, NULL);
    /* what was borrowed from a call stays valid after its answer */
    EXPECT_TEXT(agent_tool_call_id(call, NULL), "call_1");
    agent_tool_call_free(call);
}

static void arguments_are_read(void)
{
    bool is_error;
    agent_t *agent = with_tool(SCRIPTED(CALLS("tool", ARGUMENTS) "," SAYS("Done.")), reading, NULL);
    char *result = tool_result(agent, &is_error);

    CHECK_TEXT(result, "read");
    free(result);
    agent_free(agent);
}

/* ---- answers ----------------------------------------------------------------------------------------------------- */

/* What a test does with a call. */
typedef void (*act_t)(agent_tool_call_t *call);

static void acting(void *userdata, agent_tool_call_t *call)
{
    act_t *act = userdata;

    (*act)(call);
    agent_tool_call_free(call);
}

static char *result_of(act_t act, bool *is_error)
{
    agent_t *agent = with_tool(SCRIPTED(CALLS("tool", "{}") "," SAYS("Done.")), acting, &act);
    char *result = tool_result(agent, is_error);

    agent_free(agent);
    return result;
}

#define CHECK_RESULT(act, error_expected, text)    \
    do {                                           \
        bool is_error = !(error_expected);         \
        char *result = result_of((act), &is_error); \
        bool same = EXPECT_TEXT(result, (text));   \
        free(result);                              \
        if (!same || !EXPECT(is_error == (error_expected))) \
            return;                                \
    } while (0)

static void with_text(agent_tool_call_t *call)
{
    EXPECT_OK(agent_tool_call_respond(call, "50 %, said", 4, &error));
}

static void with_json(agent_tool_call_t *call)
{
    EXPECT_OK(agent_tool_call_respond_json(call, "{\"b\": 1, \"a\": [2]}", AGENT_NTS, &error));
}

static void with_string(agent_tool_call_t *call)
{
    EXPECT_OK(agent_tool_call_respond_json(call, "\"plain\"", AGENT_NTS, &error));
}

static void with_error(agent_tool_call_t *call)
{
    EXPECT_OK(agent_tool_call_fail(call, "no such city", AGENT_NTS, &error));
}

static void with_nothing(agent_tool_call_t *call) { (void)call; }

static void with_full_result(agent_tool_call_t *call)
{
    EXPECT_OK(agent_tool_call_respond_json(
        call, "{\"content\": [{\"type\": \"text\", \"text\": \"full\"}], \"details\": {\"x\": 1}, \"is_error\": true}", AGENT_NTS,
        &error));
}

static void with_two_answers(agent_tool_call_t *call)
{
    static const char again[] = "this call of tool was already answered; answer a call once";

    EXPECT_OK(agent_tool_call_respond(call, "first", AGENT_NTS, &error));
    EXPECT(fails(agent_tool_call_respond(call, "second", AGENT_NTS, &error), AGENT_INVALID_STATE, again, __FILE__, __LINE__));
    EXPECT(fails(agent_tool_call_respond_json(call, "2", AGENT_NTS, &error), AGENT_INVALID_STATE, again, __FILE__, __LINE__));
    EXPECT(fails(agent_tool_call_fail(call, "third", AGENT_NTS, &error), AGENT_INVALID_STATE, again, __FILE__, __LINE__));
    EXPECT(fails(agent_tool_call_update(call, "late", AGENT_NTS, &error), AGENT_INVALID_STATE, again, __FILE__, __LINE__));
}

static void with_bad_answers(agent_tool_call_t *call)
{
    EXPECT(fails(agent_tool_call_respond_json(call, "{\"result\": inf}", AGENT_NTS, &error), AGENT_INVALID_ARGUMENT,
                 "json is not JSON: expected a value: text in double quotes, a number, true, "
                 "false, null, an array or an object (line 1, column 12)", __FILE__, __LINE__));
    EXPECT(fails(agent_tool_call_respond(call, "\xff", 1, &error), AGENT_INVALID_ARGUMENT,
                 "text is not UTF-8: invalid byte at offset 0", __FILE__, __LINE__));
    EXPECT(fails(agent_tool_call_respond(call, NULL, 0, &error), AGENT_INVALID_ARGUMENT, "text is NULL", __FILE__, __LINE__));
    EXPECT(fails(agent_tool_call_respond_json(call, NULL, 0, &error), AGENT_INVALID_ARGUMENT, "json is NULL", __FILE__,
                 __LINE__));
    EXPECT(fails(agent_tool_call_fail(call, NULL, 0, &error), AGENT_INVALID_ARGUMENT, "message is NULL", __FILE__, __LINE__));
    EXPECT(fails(agent_tool_call_update(call, NULL, 0, &error), AGENT_INVALID_ARGUMENT, "text is NULL", __FILE__, __LINE__));
    EXPECT(fails(agent_tool_call_update_json(call, NULL, 0, &error), AGENT_INVALID_ARGUMENT, "json is NULL", __FILE__, __LINE__));
    /* none of these answered the call */
    EXPECT_OK(agent_tool_call_respond(call, "right", AGENT_NTS, &error));
}

static void with_wrong_full_results(agent_tool_call_t *call)
{
    static const struct { const char *json, *text; } wrong[] = {
        {"{\"is_error\": \"yes\"}", "json: content is missing; it is an array of blocks such as "
         "[{\"type\": \"text\", \"text\": \"\xe2\x80\xa6\"}]"},
        {"{\"content\": \"text\", \"terminate\": true}", "json: content: expected an array of blocks such as "
         "[{\"type\": \"text\", \"text\": \"\xe2\x80\xa6\"}], got \"text\""},
        {"{\"content\": [{\"typ\": \"text\"}]}", "json: content[0]: unknown field \"typ\"; did you mean \"type\"?"},
        {"{\"content\": [{\"type\": \"text\", \"text\": \"a\"}], \"isError\": 1}",
         "json: isError: expected true or false, got 1"},
        {"{\"content\": [{\"type\": \"text\", \"text\": \"a\"}], \"isErr\": true}",
         "json: unknown field \"isErr\"; did you mean \"isError\"?"},
    };
    char text[300];
    size_t i;

    for (i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        sprintf(text, "%s (return JSON that is no full result as text)", wrong[i].text);
        EXPECT(fails(agent_tool_call_respond_json(call, wrong[i].json, AGENT_NTS, &error), AGENT_INVALID_ARGUMENT, text, __FILE__,
                     __LINE__));
        EXPECT(fails(agent_tool_call_update_json(call, wrong[i].json, AGENT_NTS, &error), AGENT_INVALID_ARGUMENT, text, __FILE__,
                     __LINE__));
    }
    /* none of these answered the call */
    EXPECT_OK(agent_tool_call_respond_json(
        call, "{\"content\": [{\"type\": \"text\", \"text\": \"as MCP has it\"}], \"isError\": true}", AGENT_NTS, &error));
}

static void found_r1_a_full_result_with_a_wrong_field_is_refused(void)
{
    CHECK_RESULT(with_wrong_full_results, true, "as MCP has it");
}

static void every_form_of_answer_is_accepted(void)
{
    CHECK_RESULT(with_text, false, "50 %");
    CHECK_RESULT(with_json, false, "{\"b\":1,\"a\":[2]}");
    CHECK_RESULT(with_string, false, "plain");
    CHECK_RESULT(with_full_result, true, "full");
    CHECK_RESULT(with_error, true, "no such city");
    CHECK_RESULT(with_two_answers, false, "first");
    CHECK_RESULT(with_bad_answers, false, "right");
    CHECK_RESULT(with_nothing, true, "the tool tool dropped the call without an answer");
}

static void invalid_calls_are_returned_to_the_model(void)
{
    bool is_error = false;
    agent_t *agent = with_tool(SCRIPTED(CALLS("toool", "{}") "," SAYS("Done.")), never, NULL);
    agent_tool_t *tool = NULL;
    char *result = tool_result(agent, &is_error);

    CHECK_TEXT(result, "there is no tool named \"toool\"; the tools are: tool");
    CHECK(is_error);
    free(result);
    agent_free(agent);

    agent = scripted(SCRIPTED(CALLS("add", "{\"n\": \"many\"}") "," SAYS("Done.")));
    CHECK_OK(agent_tool_new("{\"name\": \"add\", \"parameters\": {\"type\": \"object\", \"properties\": {\"n\": "
                            "{\"type\": \"number\"}, \"m\": {}},"
                            " \"required\": [\"n\", \"m\"]}}",
                            AGENT_NTS, never, NULL, NULL, &tool, &error));
    CHECK_OK(agent_add_tool(agent, tool, &error));
    agent_tool_free(tool);
    result = tool_result(agent, &is_error);
    CHECK_TEXT(result, "the arguments of add do not fit its schema:\n/m: is required\n/n: \"many\" is not of type \"number\"");
    CHECK(is_error);
    free(result);
    agent_free(agent);
}

/* ---- later, on other threads, concurrently ----------------------------------------------------------------------- */

static void *answer_elsewhere(void *call)
{
    usleep(1000);
    EXPECT_OK(agent_tool_call_update(call, "still thinking", AGENT_NTS, NULL));
    EXPECT_OK(agent_tool_call_respond(call, "from another thread", AGENT_NTS, NULL));
    agent_tool_call_free(call);
    return NULL;
}

static void handing_over(void *userdata, agent_tool_call_t *call)
{
    EXPECT(pthread_create(userdata, NULL, answer_elsewhere, call) == 0);
}

static void a_call_is_answered_later_from_another_thread(void)
{
    pthread_t thread;
    bool is_error = true;
    agent_t *agent = with_tool(SCRIPTED(CALLS("tool", "{}") "," SAYS("Done.")), handing_over, &thread);
    char *result = tool_result(agent, &is_error);

    CHECK(pthread_join(thread, NULL) == 0);
    CHECK_TEXT(result, "from another thread");
    CHECK(!is_error);
    free(result);
    agent_free(agent);
}

static void meeting(void *userdata, agent_tool_call_t *call)
{
    gate_raise(userdata);
    gate_wait(userdata, 2);
    agent_tool_call_respond(call, agent_tool_call_id(call, NULL), AGENT_NTS, NULL);
    agent_tool_call_free(call);
}

static void calls_of_one_message_run_concurrently(void)
{
    gate_t met = GATE;
    agent_t *agent = with_tool(
        SCRIPTED("[" CALL("one", "tool", "{}") "," CALL("two", "tool", "{}") ", {\"end\": \"tool_use\"}]," SAYS("Done.")),
        meeting, &met);
    agent_run_t *run = play(agent);
    const agent_messages_t *messages = agent_run_messages(run);

    CHECK(agent_messages_count(messages) == 5);
    CHECK_TEXT(agent_messages_text(messages, 2, NULL), "one");
    CHECK_TEXT(agent_messages_text(messages, 3, NULL), "two");
    agent_run_free(run);
    agent_free(agent);
}

static void updating(void *userdata, agent_tool_call_t *call)
{
    (void)userdata;
    EXPECT_OK(agent_tool_call_update(call, "a third", AGENT_NTS, &error));
    EXPECT_OK(agent_tool_call_update_json(call, "{\"done\": 2, \"of\": 3}", AGENT_NTS, &error));
    EXPECT_OK(agent_tool_call_respond(call, "all", AGENT_NTS, &error));
    agent_tool_call_free(call);
}

static void updates_come_in_order(void)
{
    agent_t *agent = with_tool(SCRIPTED(CALLS("tool", "{}") "," SAYS("Done.")), updating, NULL);
    agent_run_t *run = NULL;
    const agent_event_t *event;
    char reported[200] = "";

    CHECK_OK(agent_prompt(agent, "Go.", AGENT_NTS, &run, &error));
    while (agent_run_next(run, -1, &event, &error) == AGENT_OK)
        if (agent_event_kind(event) == AGENT_EVENT_TOOL_EXECUTION_UPDATE) {
            strcat(reported, agent_event_text(event, NULL));
            strcat(reported, ";");
        }
    CHECK_TEXT(reported, "a third;{\"done\":2,\"of\":3};");
    agent_run_free(run);
    agent_free(agent);
}

/* ---- time and abort ---------------------------------------------------------------------------------------------- */

static void sleeping(void *userdata, agent_tool_call_t *call)
{
    (void)userdata;
    /* a year of virtual time */
    EXPECT_OK(agent_tool_call_sleep(call, 31536000000u, &error));
    agent_tool_call_respond(call, "slept", AGENT_NTS, NULL);
    agent_tool_call_free(call);
}

static void a_tool_sleeps_in_virtual_time(void)
{
    agent_t *agent = with_tool(SCRIPTED(CALLS("tool", "{}") "," SAYS("Done.")), sleeping, NULL);
    agent_run_t *run = NULL;
    const agent_event_t *event;

    CHECK_OK(agent_prompt(agent, "Go.", AGENT_NTS, &run, &error));
    while (agent_run_next(run, -1, &event, &error) == AGENT_OK)
        if (agent_event_kind(event) == AGENT_EVENT_TOOL_EXECUTION_END)
            CHECK_CONTAINS(agent_event_json(event, NULL), "\"duration_ms\":31536000000}");
    agent_run_free(run);
    agent_free(agent);
}

static void sleeping_till_cancelled(void *userdata, agent_tool_call_t *call)
{
    gate_raise(userdata);
    while (!agent_tool_call_is_cancelled(call))
        usleep(1000);
    EXPECT(fails(agent_tool_call_sleep(call, 1000000, &error), AGENT_ABORTED,
                 "the call of tool was cancelled: its run was aborted", __FILE__, __LINE__));
    agent_tool_call_fail(call, "gave up", AGENT_NTS, NULL);
    agent_tool_call_free(call);
    gate_raise(userdata);
}

static void an_abort_reaches_a_running_tool(void)
{
    gate_t gate = GATE;
    agent_t *agent = with_tool(SCRIPTED(CALLS("tool", "{}")), sleeping_till_cancelled, &gate);
    agent_run_t *run = NULL;
    const agent_event_t *event;
    char *result = NULL;

    CHECK_OK(agent_prompt(agent, "Go.", AGENT_NTS, &run, &error));
    gate_wait(&gate, 1);
    CHECK_OK(agent_abort(agent, &error));
    while (agent_run_next(run, -1, &event, &error) == AGENT_OK)
        if (agent_event_kind(event) == AGENT_EVENT_TOOL_EXECUTION_END)
            result = strdup(agent_event_text(event, NULL));
    CHECK(agent_run_outcome(run) == AGENT_OUTCOME_ABORTED);
    CHECK_TEXT(result, "aborted");
    gate_wait(&gate, 2);
    free(result);
    agent_run_free(run);
    agent_free(agent);
}

static void answering_late(void *userdata, agent_tool_call_t *call)
{
    gate_raise(userdata);
    gate_wait(userdata, 2);
    EXPECT(agent_tool_call_is_cancelled(call));
    EXPECT_OK(agent_tool_call_respond(call, "late", AGENT_NTS, &error));
    EXPECT(fails(agent_tool_call_respond(call, "again", AGENT_NTS, &error), AGENT_INVALID_STATE,
                 "this call of tool was already answered; answer a call once", __FILE__, __LINE__));
    agent_tool_call_free(call);
    gate_raise(userdata);
}

/* AGENT_OK says that the answer was taken, not that the run still waits for it. */
static void found_r4_an_answer_after_the_run_is_taken_and_dropped(void)
{
    gate_t gate = GATE;
    agent_t *agent = with_tool(SCRIPTED(CALLS("tool", "{}")), answering_late, &gate);
    agent_run_t *run = NULL;
    const agent_event_t *event;
    char *result = NULL;

    CHECK_OK(agent_prompt(agent, "Go.", AGENT_NTS, &run, &error));
    gate_wait(&gate, 1);
    CHECK_OK(agent_abort(agent, &error));
    while (agent_run_next(run, -1, &event, &error) == AGENT_OK)
        if (agent_event_kind(event) == AGENT_EVENT_TOOL_EXECUTION_END)
            result = strdup(agent_event_text(event, NULL));
    CHECK_TEXT(result, "aborted");
    gate_raise(&gate);
    gate_wait(&gate, 3);
    CHECK_TEXT(agent_messages_text(agent_run_messages(run), 2, NULL), "aborted");
    free(result);
    agent_run_free(run);
    agent_free(agent);
}

/* Forgets to answer the call and to free it. */
static void forgetting(void *forgotten, agent_tool_call_t *call) { *(agent_tool_call_t **)forgotten = call; }

static void a_call_that_is_forgotten_holds_the_run_until_a_limit(void)
{
    agent_tool_call_t *forgotten = NULL;
    agent_t *agent = with_tool(SCRIPTED(CALLS("tool", "{}") ", " SAYS("Yes.")), forgetting, &forgotten);
    bool is_error = false;
    char *result;

    CHECK_OK(agent_set_json(agent, "{\"tool_timeout_ms\": 50}", AGENT_NTS, &error));
    result = tool_result(agent, &is_error);
    CHECK(is_error);
    CHECK_TEXT(result, "the tool tool did not answer within tool_timeout_ms (50); the call was cancelled");
    free(result);

    /* The handle is still the tool's. What it answers has no effect. */
    CHECK_OK(agent_tool_call_respond(forgotten, "late", AGENT_NTS, &error));
    CHECK_TEXT(agent_tool_call_name(forgotten, NULL), "tool");
    CHECK(agent_tool_call_is_cancelled(forgotten));
    agent_tool_call_free(forgotten);
    agent_free(agent);
}

/* ---- null -------------------------------------------------------------------------------------------------------- */

static void null_is_refused(void)
{
    agent_tool_t *tool = NULL;

    CHECK_NULL(agent_tool_set_json(NULL, "{}", AGENT_NTS, &error), "tool");
    CHECK_OK(agent_tool_new("{\"name\": \"tool\"}", AGENT_NTS, never, NULL, NULL, &tool, &error));
    CHECK_NULL(agent_tool_set_json(tool, NULL, 0, &error), "json");
    agent_tool_free(tool);
    agent_tool_free(NULL);

    CHECK(agent_tool_call_id(NULL, NULL) == NULL);
    CHECK(agent_tool_call_name(NULL, NULL) == NULL);
    CHECK(agent_tool_call_arguments(NULL, NULL) == NULL);
    CHECK(!agent_tool_call_is_cancelled(NULL));
    CHECK_NULL(agent_tool_call_sleep(NULL, 1, &error), "call");
    CHECK_NULL(agent_tool_call_update(NULL, "x", AGENT_NTS, &error), "call");
    CHECK_NULL(agent_tool_call_update_json(NULL, "1", AGENT_NTS, &error), "call");
    CHECK_NULL(agent_tool_call_respond(NULL, "x", AGENT_NTS, &error), "call");
    CHECK_NULL(agent_tool_call_respond_json(NULL, "1", AGENT_NTS, &error), "call");
    CHECK_NULL(agent_tool_call_fail(NULL, "x", AGENT_NTS, &error), "call");
    agent_tool_call_free(NULL);
}

int main(void)
{
    begin();
    RUN(bad_descriptions_are_refused);
    RUN(found_r2_what_is_certainly_no_schema_is_refused);
    RUN(found_a15_a_schema_without_bounds_is_refused);
    RUN(destroy_comes_once_whatever_happens);
    RUN(a_changed_tool_does_not_affect_agents);
    RUN(arguments_are_read);
    RUN(every_form_of_answer_is_accepted);
    RUN(found_r1_a_full_result_with_a_wrong_field_is_refused);
    RUN(invalid_calls_are_returned_to_the_model);
    RUN(a_call_is_answered_later_from_another_thread);
    RUN(calls_of_one_message_run_concurrently);
    RUN(updates_come_in_order);
    RUN(a_tool_sleeps_in_virtual_time);
    RUN(an_abort_reaches_a_running_tool);
    RUN(found_r4_an_answer_after_the_run_is_taken_and_dropped);
    RUN(a_call_that_is_forgotten_holds_the_run_until_a_limit);
    RUN(null_is_refused);
    return end();
}
