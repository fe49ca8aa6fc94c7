/* An agent that is served, for the clients of ../serving.py. */

#include <agent.h>
#include <stdio.h>
#include <stdlib.h>

#define ANSWER "[{\"delta\": \"It rains.\"}, {\"end\": \"stop\"}]"
#define FIVE ANSWER "," ANSWER "," ANSWER "," ANSWER "," ANSWER
#define MODEL "{\"provider\": \"scripted\", \"id\": \"s\", \"script\": [" FIVE "," FIVE "," FIVE "," FIVE "]}"
#define WEATHER                                                                                                                \
    "{\"name\": \"weather\", \"description\": \"The weather of a city.\", \"parameters\": {\"type\": \"object\","         \
    " \"properties\": {\"city\": {\"type\": \"string\"}}, \"required\": [\"city\"]}}"
#define WAIT                                                                                                                   \
    "{\"name\": \"wait\", \"description\": \"Waits until it is cancelled.\", \"parameters\": {\"type\": \"object\"}}"
#define OPTIONS "{\"name\": \"desk\", \"description\": \"Knows the weather.\", \"server_name\": \"tests\", \"tools\": true}"

static void weather(void *userdata, agent_tool_call_t *call)
{
    const char *city = "";
    char text[100];

    (void)userdata;
    agent_tool_call_get_string(call, "city", AGENT_NTS, &city, NULL, NULL);
    snprintf(text, sizeof text, "rain in %s", city);
    agent_tool_call_respond(call, text, AGENT_NTS, NULL);
    agent_tool_call_free(call);
}

/* On a thread of its own, which it blocks. */
static void wait_until_cancelled(void *userdata, agent_tool_call_t *call)
{
    FILE *notes;

    (void)userdata;
    agent_tool_call_update(call, "it waits", AGENT_NTS, NULL);
    agent_tool_call_sleep(call, 600000, NULL);
    notes = fopen(getenv("NOTES"), "a");
    if (notes) {
        fputs("cancelled\n", notes);
        fclose(notes);
    }
    agent_tool_call_respond(call, "it was cancelled", AGENT_NTS, NULL);
    agent_tool_call_free(call);
}

int main(void)
{
    agent_runtime_t *runtime = NULL;
    agent_t *agent = NULL;
    agent_tool_t *tools[2] = {NULL, NULL};
    agent_error_t *error = NULL;
    int failed = 0;

    if (agent_runtime_new(NULL, 0, &runtime, &error) == AGENT_OK
        && agent_new(runtime, MODEL, AGENT_NTS, &agent, &error) == AGENT_OK
        && agent_tool_new(WEATHER, AGENT_NTS, weather, NULL, NULL, &tools[0], &error) == AGENT_OK
        && agent_tool_new(WAIT, AGENT_NTS, wait_until_cancelled, NULL, NULL, &tools[1], &error) == AGENT_OK
        && agent_add_tool(agent, tools[0], &error) == AGENT_OK && agent_add_tool(agent, tools[1], &error) == AGENT_OK)
        agent_serve_mcp(agent, OPTIONS, AGENT_NTS, &error);
    if (error) {
        fprintf(stderr, "%s\n", agent_error_message(error, NULL));
        failed = 1;
    }
    agent_tool_free(tools[0]);
    agent_tool_free(tools[1]);
    agent_free(agent);
    agent_runtime_shutdown(runtime, 5000, NULL);
    agent_runtime_free(runtime);
    agent_error_free(error);
    return failed;
}
