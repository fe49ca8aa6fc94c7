/* Connections to MCP servers. Calls of their tools: tests/mcp/everything_c.py. */

#include "support.h"

static void a_server_that_cannot_be_started_is_an_error(void)
{
    agent_t *agent = scripted(SCRIPTED(SAYS("Hello.")));

    CHECK_OK(agent_set_json(agent, "{\"mcp\": [{\"command\": \"no-such-program\"}]}", AGENT_NTS, &error));
    CHECK_FAILS_WITH(agent_connect_mcp(agent, &error), AGENT_IO, "the MCP server no-such-program: the program");
    CHECK_OK(agent_close_mcp(agent, &error));
    CHECK_OK(agent_set_json(agent, "{\"mcp\": [{\"command\": \"no-such-program\", \"optional\": true}]}", AGENT_NTS, &error));
    CHECK_OK(agent_connect_mcp(agent, &error));
    agent_free(agent);
}

static void an_agent_without_servers_has_nothing_to_connect_to(void)
{
    agent_t *agent = scripted(SCRIPTED(SAYS("Hello.")));

    agent_text_t *tools = NULL;

    CHECK_OK(agent_connect_mcp(agent, &error));
    CHECK_OK(agent_mcp_tools(agent, &tools, &error));
    CHECK(strcmp(agent_text_data(tools, NULL), "[]") == 0);
    agent_text_free(tools);
    CHECK_OK(agent_close_mcp(agent, &error));
    agent_free(agent);
}

static void what_is_wrong_is_refused(void)
{
    agent_t *agent = scripted(SCRIPTED(SAYS("Hello.")));

    CHECK_FAILS_WITH(agent_set_json(agent, "{\"mcp\": [{\"comand\": \"x\"}]}", AGENT_NTS, &error), AGENT_INVALID_ARGUMENT,
                     "did you mean \"command\"?");
    CHECK_FAILS_WITH(agent_connect_mcp(NULL, &error), AGENT_INVALID_ARGUMENT, "agent");
    CHECK_FAILS_WITH(agent_close_mcp(NULL, &error), AGENT_INVALID_ARGUMENT, "agent");
    CHECK_FAILS_WITH(agent_mcp_tools(NULL, NULL, &error), AGENT_INVALID_ARGUMENT, "agent");
    CHECK_FAILS_WITH(agent_mcp_tools(agent, NULL, &error), AGENT_INVALID_ARGUMENT, "tools");
    CHECK_FAILS_WITH(agent_serve_mcp(NULL, NULL, 0, &error), AGENT_INVALID_ARGUMENT, "agent");
    CHECK_FAILS_WITH(agent_serve_mcp(agent, "{\"nam\": 1}", AGENT_NTS, &error), AGENT_INVALID_ARGUMENT,
                     "did you mean \"name\"?");
    CHECK_FAILS_WITH(agent_serve_mcp(agent, "{\"tools\": 1}", AGENT_NTS, &error), AGENT_INVALID_ARGUMENT,
                     "expected true or false");
    agent_free(agent);
}

int main(void)
{
    begin();
    RUN(a_server_that_cannot_be_started_is_an_error);
    RUN(an_agent_without_servers_has_nothing_to_connect_to);
    RUN(what_is_wrong_is_refused);
    return end();
}
