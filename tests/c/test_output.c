/* The typed final answer, and options of one run, as C has them; the rules are in the scenarios. */

#include "support.h"

#define CITY "{\"type\": \"object\", \"properties\": {\"city\": {\"type\": \"string\"}}, \"required\": [\"city\"]}"
#define ANSWERS CALLS("final_answer", "{\"city\": \"Oslo\"}")

/* Starts a run of its own options; returns it, or NULL. */
static agent_run_t *prompt_with(agent_t *agent, const char *options)
{
    agent_messages_t *messages = NULL;
    agent_run_t *run = NULL;

    EXPECT_OK(agent_messages_new(&messages, &error));
    EXPECT_OK(agent_messages_add_user(messages, "Go.", AGENT_NTS, &error));
    EXPECT_OK(agent_prompt_options(agent, messages, options, AGENT_NTS, &run, &error));
    agent_messages_free(messages);
    return run;
}

static void a_run_has_its_answer(void)
{
    agent_t *agent = scripted(SCRIPTED(ANSWERS ", " SAYS("Hello.")));
    agent_json_t *output = NULL;
    const char *city;
    agent_run_t *run;
    size_t length = 0;

    CHECK_OK(agent_set_json(agent, "{\"output\": " CITY "}", AGENT_NTS, &error));
    run = play(agent);
    CHECK(agent_run_outcome(run) == AGENT_OUTCOME_COMPLETED);
    CHECK_TEXT(agent_run_output(run, &length), "{\"city\":\"Oslo\"}");
    CHECK(length == strlen("{\"city\":\"Oslo\"}"));
    CHECK_TEXT(agent_run_text(run, NULL), "");
    CHECK_OK(agent_json_parse(agent_run_output(run, NULL), AGENT_NTS, &output, &error));
    CHECK_OK(agent_json_get_string(output, "/city", AGENT_NTS, &city, NULL, &error));
    CHECK_TEXT(city, "Oslo");
    agent_json_free(output);
    agent_run_free(run);

    CHECK_OK(agent_set_json(agent, "{\"output\": null}", AGENT_NTS, &error));
    run = play(agent);
    CHECK_TEXT(agent_run_text(run, NULL), "Hello.");
    CHECK(agent_run_output(run, &length) == NULL && length == 0);
    CHECK(agent_run_output(NULL, &length) == NULL && length == 0);
    agent_run_free(run);
    agent_free(agent);
}

static void the_answer_is_read_while_it_is_written(void)
{
    agent_t *agent = scripted(SCRIPTED("[{\"delta\": \"{\\\"city\\\": \\\"Os\"}, {\"delta\": \"lo\\\"}\"},"
                                       " {\"end\": \"stop\"}]"));
    agent_run_t *run = prompt_with(agent, "{\"output\": {\"schema\": " CITY ", \"mode\": \"native\"}}");
    const char *parts[] = {"{\"city\":\"Os\"}", "{\"city\":\"Oslo\"}"};
    const agent_event_t *event;
    size_t seen = 0;

    while (agent_run_next(run, -1, &event, &error) == AGENT_OK) {
        if (agent_event_kind(event) == AGENT_EVENT_TEXT_DELTA) {
            CHECK(seen < 2);
            CHECK_TEXT(agent_event_partial_output(event, NULL), parts[seen++]);
        } else if (agent_event_kind(event) == AGENT_EVENT_AGENT_END) {
            CHECK(agent_event_partial_output(event, NULL) == NULL);
            CHECK_CONTAINS(agent_event_json(event, NULL), "\"output\":{\"city\":\"Oslo\"}");
        }
    }
    CHECK(seen == 2);
    CHECK(agent_event_partial_output(NULL, NULL) == NULL);
    CHECK_TEXT(agent_run_output(run, NULL), "{\"city\":\"Oslo\"}");
    agent_run_free(run);
    agent_free(agent);
}

static void refuse(void *calls, agent_hook_call_t *call)
{
    CHECK_TEXT(agent_hook_call_input(call, NULL), "{\"output\":{\"city\":\"Oslo\"}}");
    agent_hook_call_respond_json(call, ++*(int *)calls == 1 ? "\"not there\"" : "null", AGENT_NTS, NULL);
    agent_hook_call_free(call);
}

static void a_hook_may_refuse_it(void)
{
    agent_t *agent = scripted(SCRIPTED(ANSWERS ", " ANSWERS));
    int calls = 0;
    agent_run_t *run;

    CHECK_OK(agent_set_json(agent, "{\"output\": " CITY "}", AGENT_NTS, &error));
    CHECK_OK(agent_set_hook(agent, AGENT_HOOK_CHECK_OUTPUT, refuse, &calls, NULL, &error));
    run = play(agent);
    CHECK(calls == 2 && agent_run_turns(run) == 2);
    CHECK_TEXT(agent_run_output(run, NULL), "{\"city\":\"Oslo\"}");
    agent_run_free(run);
    agent_free(agent);
}

static void options_of_a_run_are_its_own(void)
{
    agent_t *agent = scripted(SCRIPTED(SAYS("Hello.")));
    agent_messages_t *messages = NULL;
    agent_run_t *run = NULL;

    CHECK_OK(agent_messages_new(&messages, &error));
    CHECK_OK(agent_messages_add_user(messages, "Go.", AGENT_NTS, &error));
    CHECK_FAILS(agent_prompt_options(agent, messages, "{\"max_turn\": 1}", AGENT_NTS, &run, &error), AGENT_INVALID_ARGUMENT,
                "unknown option \"max_turn\"; did you mean \"max_turns\"?");
    CHECK_FAILS(agent_prompt_options(agent, messages, "{\"model\": \"x/y\"}", AGENT_NTS, &run, &error),
                AGENT_INVALID_ARGUMENT,
                "option \"model\": it is the agent's, and the same for all of its runs; give it to the agent");
    CHECK_FAILS(agent_prompt_options(agent, messages, "{\"headers\": {\"x-a\": 1}}", AGENT_NTS, &run, &error),
                AGENT_INVALID_ARGUMENT, "option \"headers\": \"x-a\": expected text");
    CHECK_FAILS_WITH(agent_prompt_options(agent, messages, "[]", AGENT_NTS, &run, &error), AGENT_INVALID_ARGUMENT, "options");
    CHECK_NULL(agent_prompt_options(NULL, messages, "{}", AGENT_NTS, &run, &error), "agent");
    CHECK_NULL(agent_prompt_options(agent, NULL, "{}", AGENT_NTS, &run, &error), "messages");
    CHECK_NULL(agent_prompt_options(agent, messages, NULL, AGENT_NTS, &run, &error), "options");
    agent_messages_free(messages);
    run = prompt_with(agent, "{\"system_prompt\": \"Be brief.\"}");
    read_out(run);
    CHECK_TEXT(agent_run_text(run, NULL), "Hello.");
    agent_run_free(run);
    agent_free(agent);
}

int main(void)
{
    begin();
    RUN(a_run_has_its_answer);
    RUN(the_answer_is_read_while_it_is_written);
    RUN(a_hook_may_refuse_it);
    RUN(options_of_a_run_are_its_own);
    return end();
}
