/* An agent that is a server of the Model Context Protocol, to be given to a client as the command of a server.
 *
 *   mcp_server [MODEL] */

#include <agent.h>
#include <stdio.h>
#include <string.h>

#define WEATHER                                                                                              \
    "{\"name\": \"weather\", \"description\": \"The current weather in a city.\", \"parameters\": {"         \
    "\"type\": \"object\", \"properties\": {\"city\": {\"type\": \"string\"}}, \"required\": [\"city\"]}}"
#define SERVED                                                                                               \
    "{\"name\": \"weather_desk\", \"description\": \"Answers questions about the weather.\","                \
    " \"server_name\": \"weather\"}"

static void weather(void *userdata, agent_tool_call_t *call)
{
    const char *city = "";

    (void)userdata;
    if (agent_tool_call_get_string(call, "city", AGENT_NTS, &city, NULL, NULL) == AGENT_OK)
        agent_tool_call_respond(call, strcmp(city, "Oslo") == 0 ? "It rains." : "It is sunny.", AGENT_NTS, NULL);
    agent_tool_call_free(call); /* unanswered, it fails */
}

int main(int argc, char **argv)
{
    const char *model = argc > 1 ? argv[1] : "anthropic/claude-sonnet-4-5";
    agent_runtime_t *runtime = NULL;
    agent_t *agent = NULL;
    agent_tool_t *tool = NULL;
    agent_error_t *error = NULL;
    int failed = 0;

    if (agent_runtime_new(NULL, 0, &runtime, &error) < 0
        || agent_new(runtime, model, AGENT_NTS, &agent, &error) < 0
        || agent_set_system_prompt(agent, "You know the weather. Be brief.", AGENT_NTS, &error) < 0
        || agent_tool_new(WEATHER, AGENT_NTS, weather, NULL, NULL, &tool, &error) < 0
        || agent_add_tool(agent, tool, &error) < 0
        || agent_serve_mcp(agent, SERVED, AGENT_NTS, &error) < 0) { /* until the client closes it */
        fprintf(stderr, "%s\n", agent_error_message(error, NULL)); /* standard output is the protocol's */
        failed = 1;
    }
    agent_error_free(error);
    agent_tool_free(tool);
    agent_free(agent);
    agent_runtime_shutdown(runtime, 5000, NULL);
    agent_runtime_free(runtime);
    return failed;
}
