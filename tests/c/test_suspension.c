/* Calls that wait for a decision, as C has them; the rules are in the scenarios. */

#include "support.h"

#define KEY "a key of thirty-two random bytes"
#define HAS_DONE SCRIPTED(SAYS("Done."))

/* Keeps the last idempotency key. */
static void pay(void *key, agent_tool_call_t *call)
{
    snprintf(key, 100, "%s", agent_tool_call_idempotency_key(call, NULL));
    agent_tool_call_respond(call, "paid", AGENT_NTS, NULL);
    agent_tool_call_free(call);
}

/* An agent with a tool that needs approval. */
static agent_t *payer(const char *model, char *key)
{
    agent_t *agent = scripted(model);
    agent_tool_t *tool = NULL;

    EXPECT_OK(agent_tool_new("{\"name\": \"pay\", \"needs_approval\": true}", AGENT_NTS, pay, key, NULL, &tool, &error));
    EXPECT_OK(agent_add_tool(agent, tool, &error));
    agent_tool_free(tool);
    return agent;
}

static void an_export_goes_on_and_a_forged_one_does_not(void)
{
    char key[100] = "", *forged;
    agent_t *agent = payer(SCRIPTED(CALLS("pay", "{\"n\": 5}")), key), *again = payer(HAS_DONE, key);
    agent_text_t *text = NULL, *signed_text = NULL;
    agent_run_t *run = play(agent);

    CHECK(agent_run_outcome(run) == AGENT_OUTCOME_SUSPENDED);
    agent_run_free(run);
    CHECK_OK(agent_export(agent, NULL, 0, &text, &error));
    CHECK_OK(agent_export(agent, KEY, AGENT_NTS, &signed_text, &error));

    forged = strdup(agent_text_data(signed_text, NULL));
    memcpy(strstr(forged, "\"n\":5"), "\"n\":9", 5);
    CHECK_FAILS(agent_from_export(again, forged, AGENT_NTS, KEY, AGENT_NTS, &error), AGENT_INVALID_ARGUMENT,
                "the export cannot be read: it was changed, or signed with another key");
    free(forged);
    CHECK_FAILS(agent_from_export(again, agent_text_data(signed_text, NULL), AGENT_NTS,
                                  "another key of thirty-two bytes.", AGENT_NTS, &error),
                AGENT_INVALID_ARGUMENT, "the export cannot be read: it was changed, or signed with another key");
    CHECK_FAILS(agent_export(agent, "short", AGENT_NTS, &text, &error), AGENT_INVALID_ARGUMENT,
                "the key of the export has 5 bytes; give at least 32 random ones");
    CHECK_FAILS(agent_from_export(again, agent_text_data(text, NULL), AGENT_NTS, KEY, AGENT_NTS, &error),
                AGENT_INVALID_ARGUMENT,
                "the export cannot be read: it is not signed, and a key is given: it may come from anybody");
    CHECK_FAILS(agent_from_export(again, "{\"version\": 2}", AGENT_NTS, NULL, 0, &error), AGENT_NEWER_VERSION,
                "the export has version 2; this library reads versions up to 1: update it");

    CHECK_OK(agent_from_export(again, agent_text_data(signed_text, NULL), AGENT_NTS, KEY, AGENT_NTS, &error));
    CHECK_FAILS(agent_resume_options(again, "{\"call_1\": \"approve\"}", AGENT_NTS, "{\"max_turn\": 1}", AGENT_NTS, &run, &error),
                AGENT_INVALID_ARGUMENT, "unknown option \"max_turn\"; did you mean \"max_turns\"?");
    CHECK_OK(agent_resume_options(again, "{\"call_1\": \"approve\"}", AGENT_NTS, "{\"max_turns\": 5}", AGENT_NTS, &run, &error));
    read_out(run);
    CHECK_MESSAGES(run, "t paid; a Done.; ");
    agent_run_free(run);
    agent_text_free(text);
    agent_text_free(signed_text);
    agent_free(agent);
    agent_free(again);
}

static void approve_always(void *userdata, agent_hook_call_t *call)
{
    (void)userdata;
    agent_hook_call_respond_json(call, "\"approve_always\"", AGENT_NTS, NULL);
    agent_hook_call_free(call);
}

static void what_is_decided_for_always_is_remembered_until_it_is_forgotten(void)
{
    char key[100] = "";
    agent_t *agent = payer(SCRIPTED(CALLS("pay", "{\"n\": 5}") ", " SAYS("Done.")), key);
    agent_text_t *text = NULL;
    agent_run_t *run;

    CHECK_FAILS(agent_set_json(agent, "{\"gate\": {\"ask\": [\"(pay\"]}}", AGENT_NTS, &error), AGENT_INVALID_ARGUMENT,
                "option \"gate\": ask: the rule \"(pay\" names no tool; a rule is \"tool\" or \"tool(pattern)\", and \"*\" is "
                "any tool");
    CHECK_OK(agent_set_hook(agent, AGENT_HOOK_ON_APPROVAL, approve_always, NULL, NULL, &error));
    run = play(agent);
    CHECK(agent_run_outcome(run) == AGENT_OUTCOME_COMPLETED);
    agent_run_free(run);
    CHECK_OK(agent_state_json(agent, &text, &error));
    CHECK(strstr(agent_text_data(text, NULL), "\"remembered\":{\"allow\":[\"pay({\\\"n\\\":5})\"],\"deny\":[]}"));
    agent_text_free(text);

    CHECK_NULL(agent_forget(NULL, NULL, 0, &error), "agent");
    CHECK_FAILS(agent_forget(agent, "pay(", AGENT_NTS, &error), AGENT_INVALID_ARGUMENT,
                "the rule \"pay(\" does not end with its parenthesis; write \"pay()\"");
    CHECK_OK(agent_forget(agent, "another", AGENT_NTS, &error));
    CHECK_OK(agent_forget(agent, NULL, 0, &error));
    CHECK_OK(agent_state_json(agent, &text, &error));
    CHECK(!strstr(agent_text_data(text, NULL), "remembered"));
    agent_text_free(text);
    agent_free(agent);
}

static void stateless_runs_with_an_origin_have_the_same_keys(void)
{
    static const char context[] = "{\"messages\": [{\"role\": \"user\", \"content\": \"Go.\"}, {\"role\": \"assistant\","
        " \"content\": [{\"type\": \"tool_call\", \"id\": \"a\", \"name\": \"pay\", \"arguments\": {}}]}]}";
    char keys[2][100] = {"", ""};
    size_t i;

    for (i = 0; i < 2; i++) {
        agent_t *settings = payer(HAS_DONE, keys[i]);
        agent_run_t *run = NULL;

        CHECK_OK(agent_set_json(settings, "{\"origin\": \"invoice 7\"}", AGENT_NTS, &error));
        CHECK_OK(agent_loop_resume_decided(settings, context, AGENT_NTS, "{\"a\": \"approve\"}", AGENT_NTS, &run, &error));
        read_out(run);
        agent_run_free(run);
        agent_free(settings);
        CHECK_TEXT(keys[i], "invoice 7/1/a");
    }
}

int main(void)
{
    begin();
    RUN(an_export_goes_on_and_a_forged_one_does_not);
    RUN(what_is_decided_for_always_is_remembered_until_it_is_forgotten);
    RUN(stateless_runs_with_an_origin_have_the_same_keys);
    return end();
}
