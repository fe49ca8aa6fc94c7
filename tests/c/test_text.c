/* Texts and their lengths: what is wrong with one that includes the NUL at the end, as sizeof "a literal" does. */

#include "support.h"

#define COUNTED "does its length include the NUL that ends a C string? Give the length without it (strlen), or AGENT_NTS"
#define HAS_NUL(name, at) name " has a NUL byte at offset " at "; " COUNTED
/* A literal with its NUL. */
#define WHOLE(literal) literal, sizeof literal

static const char *HELLO = SCRIPTED(SAYS("Hello."));

static void names_keys_and_addresses(void)
{
    agent_t *agent = NULL;
    agent_t *other = NULL;
    agent_messages_t *messages = NULL, *repaired = NULL;

    CHECK_FAILS(agent_new(runtime, WHOLE("openai/gpt-5"), &other, &error), AGENT_INVALID_ARGUMENT, HAS_NUL("model", "12"));
    CHECK(!other);
    CHECK_OK(agent_new(runtime, HELLO, AGENT_NTS, &agent, &error));
    CHECK_FAILS(agent_set_model(agent, WHOLE("openai/gpt-5"), &error), AGENT_INVALID_ARGUMENT, HAS_NUL("model", "12"));
    CHECK_FAILS(agent_set_model(agent, "openai/gpt-5\n", AGENT_NTS, &error), AGENT_INVALID_ARGUMENT,
                "model has the control character U+000A at byte 12; leave it out");
    CHECK_FAILS(agent_set_api_key(agent, WHOLE("sk-1"), &error), AGENT_INVALID_ARGUMENT, HAS_NUL("key", "4"));
    CHECK_FAILS(agent_set_api_key(agent, "sk-1\tsk-2", AGENT_NTS, &error), AGENT_INVALID_ARGUMENT,
                "key has the control character U+0009 at byte 4; leave it out");
    CHECK_OK(agent_set_api_key(agent, "sk-1\n", AGENT_NTS, &error)); /* as a file has it */
    CHECK_FAILS(agent_set_base_url(agent, WHOLE("http://h"), &error), AGENT_INVALID_ARGUMENT, HAS_NUL("url", "8"));
    CHECK_FAILS(agent_remove_tool(agent, WHOLE("weather"), &error), AGENT_INVALID_ARGUMENT, HAS_NUL("name", "7"));
    CHECK_FAILS(agent_set_provider(agent, WHOLE("acme"), NULL, NULL, NULL, &error), AGENT_INVALID_ARGUMENT,
                HAS_NUL("name", "4"));
    CHECK_OK(agent_messages_new(&messages, &error));
    CHECK_FAILS(agent_messages_repair(messages, WHOLE("openai/gpt-5"), &repaired, NULL, &error), AGENT_INVALID_ARGUMENT,
                HAS_NUL("model", "12"));
    agent_messages_free(messages);
    agent_free(agent);
}

static void prompts(void)
{
    agent_t *agent = scripted(HELLO);
    agent_messages_t *messages = NULL;
    agent_run_t *run = NULL;

    CHECK_FAILS(agent_prompt(agent, WHOLE("Hello!"), &run, &error), AGENT_INVALID_ARGUMENT, HAS_NUL("text", "6"));
    CHECK_FAILS(agent_prompt(agent, "Hello!\0\0", 8, &run, &error), AGENT_INVALID_ARGUMENT, HAS_NUL("text", "6"));
    CHECK(!run);
    CHECK_FAILS(agent_set_system_prompt(agent, WHOLE("Be brief."), &error), AGENT_INVALID_ARGUMENT, HAS_NUL("text", "9"));
    CHECK_FAILS(agent_steer(agent, WHOLE("Stop."), &error), AGENT_INVALID_ARGUMENT, HAS_NUL("text", "5"));
    CHECK_FAILS(agent_follow_up(agent, WHOLE("And?"), &error), AGENT_INVALID_ARGUMENT, HAS_NUL("text", "4"));
    CHECK(!agent_has_queued_messages(agent));
    CHECK_OK(agent_messages_new(&messages, &error));
    CHECK_FAILS(agent_messages_add_user(messages, WHOLE("Hi."), &error), AGENT_INVALID_ARGUMENT, HAS_NUL("text", "3"));
    CHECK(agent_messages_count(messages) == 0);
    agent_messages_free(messages);

    /* A NUL in the middle is a character like others. */
    CHECK_OK(agent_prompt(agent, "a\0b", 3, &run, &error));
    read_out(run);
    agent_run_free(run);
    agent_free(agent);
}

/* Answers with a text that ends with a NUL. */
static void data(void *userdata, agent_tool_call_t *call)
{
    (void)userdata;
    EXPECT(agent_tool_call_respond(call, WHOLE("data"), NULL) == AGENT_OK);
    agent_tool_call_free(call);
}

static void json_with_a_nul(void)
{
    agent_json_t *json = NULL;
    agent_t *agent = NULL;
    agent_tool_t *tool = NULL;
    agent_runtime_t *other = NULL;
    char buffer[16] = "{\"a\": 1}";

    CHECK_FAILS(agent_json_parse(WHOLE("{}"), &json, &error), AGENT_INVALID_ARGUMENT, HAS_NUL("text", "2"));
    CHECK_FAILS(agent_json_parse(buffer, sizeof buffer, &json, &error), AGENT_INVALID_ARGUMENT, HAS_NUL("text", "8"));
    CHECK_FAILS(agent_json_parse("{\"a\": \"b\0c\"}", 11, &json, &error), AGENT_INVALID_ARGUMENT,
                "text has a NUL byte at offset 8, in the middle of the JSON; in a string it is written \\u0000");
    CHECK_FAILS(agent_json_parse(WHOLE("{\"a\": }"), &json, &error), AGENT_INVALID_ARGUMENT,
                "text is not JSON: expected a value: text in double quotes, a number, true, false, null, an array or an object "
                "(line 1, column 7)");
    CHECK_FAILS(agent_runtime_new(WHOLE("{\"threads\": 1}"), &other, &error), AGENT_INVALID_ARGUMENT, HAS_NUL("options", "14"));
    CHECK_FAILS(agent_new(runtime, WHOLE("{\"provider\": \"openai\", \"id\": \"x\"}"), &agent, &error), AGENT_INVALID_ARGUMENT,
                HAS_NUL("model", "33"));
    CHECK_FAILS(agent_tool_new(WHOLE("{\"name\": \"t\"}"), data, NULL, NULL, &tool, &error),
                AGENT_INVALID_ARGUMENT, HAS_NUL("json", "13"));
    CHECK_FAILS(agent_check_events(WHOLE("[]"), &error), AGENT_INVALID_ARGUMENT, HAS_NUL("events", "2"));
    CHECK(!json && !agent && !tool && !other);
}

static void json_pointers(void)
{
    agent_json_t *json = NULL;
    double number = 0;

    CHECK_OK(agent_json_parse("{\"a\": 1, \"b\\u0000\": 2}", AGENT_NTS, &json, &error));
    CHECK_FAILS(agent_json_get_number(json, WHOLE("/a"), &number, &error), AGENT_NOT_FOUND,
                "there is no \"/a\\0\": the value is an object with a, b\\0; " COUNTED);
    CHECK_FAILS(agent_json_set_number(json, WHOLE("/a"), 3, &error), AGENT_INVALID_ARGUMENT,
                "pointer \"/a\\0\" ends with a NUL byte; " COUNTED);
    CHECK_FAILS(agent_json_set_number(json, WHOLE("/new/c"), 3, &error), AGENT_INVALID_ARGUMENT,
                "pointer \"/new/c\\0\" ends with a NUL byte; " COUNTED);
    CHECK_TEXT(agent_json_text(json, NULL), "{\"a\":1,\"b\\u0000\":2}");
    /* A key may end with one, as any text of a model. */
    CHECK_OK(agent_json_get_number(json, WHOLE("/b"), &number, &error));
    CHECK(number == 2);
    CHECK_OK(agent_json_set_number(json, WHOLE("/b"), 4, &error));
    CHECK_OK(agent_json_set_string(json, "/a", AGENT_NTS, WHOLE("x"), &error));
    CHECK_TEXT(agent_json_text(json, NULL), "{\"a\":\"x\\u0000\",\"b\\u0000\":4}");
    agent_json_free(json);
}

/* Answers with the argument of a name that includes its NUL, or why there is none. */
static void bad_name(void *userdata, agent_tool_call_t *call)
{
    const char *city;
    agent_error_t *why = NULL;

    (void)userdata;
    EXPECT(agent_tool_call_get_string(call, WHOLE("city"), &city, NULL, &why) == AGENT_INVALID_ARGUMENT);
    agent_tool_call_fail(call, agent_error_message(why, NULL), AGENT_NTS, NULL);
    agent_error_free(why);
    agent_tool_call_free(call);
}

static void names_of_arguments(void)
{
    bool is_error = false;
    agent_t *agent = with_tool(SCRIPTED(CALLS("tool", "{\"city\": \"Oslo\"}") ", " SAYS("Yes.")), bad_name, NULL);
    char *result = tool_result(agent, &is_error);

    EXPECT_TEXT(result, HAS_NUL("name", "4"));
    EXPECT(is_error);
    free(result);
    agent_free(agent);
}

static void what_a_tool_answers_is_data(void)
{
    agent_t *agent = with_tool(SCRIPTED(CALLS("tool", "{}") ", " SAYS("Yes.")), data, NULL);
    agent_run_t *run = play(agent);
    size_t length = 0;

    EXPECT_TEXT(agent_messages_text(agent_run_messages(run), 2, &length), "data");
    EXPECT(length == sizeof "data");
    agent_run_free(run);
    agent_free(agent);
}

/* No text at all, which is not a text that ends with a NUL. */
static void length_0_is_the_empty_text(void)
{
    agent_t *agent = NULL;
    agent_json_t *json = NULL;

    CHECK_FAILS(agent_new(runtime, HELLO, 0, &agent, &error), AGENT_INVALID_ARGUMENT,
                "model \"\": expected \"provider/id\", for example \"anthropic/claude-sonnet-4-5\" or \"openai/gpt-5\"");
    CHECK_FAILS(agent_json_parse("{}", 0, &json, &error), AGENT_INVALID_ARGUMENT, "text is not JSON: it is empty");
    CHECK_OK(agent_json_parse("{}", AGENT_NTS, &json, &error));
    CHECK_OK(agent_json_set_string(json, "/a", AGENT_NTS, "ignored", 0, &error));
    CHECK_TEXT(agent_json_text(json, NULL), "{\"a\":\"\"}");
    agent_json_free(json);
}

int main(void)
{
    begin();
    RUN(names_keys_and_addresses);
    RUN(prompts);
    RUN(json_with_a_nul);
    RUN(json_pointers);
    RUN(names_of_arguments);
    RUN(what_a_tool_answers_is_data);
    RUN(length_0_is_the_empty_text);
    return end();
}
