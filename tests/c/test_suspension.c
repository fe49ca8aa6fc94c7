/* Calls that wait for a decision, as C has them; the rules are in the scenarios. */

#include "support.h"

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
    RUN(stateless_runs_with_an_origin_have_the_same_keys);
    return end();
}
