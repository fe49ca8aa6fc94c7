/* What MCP's everything-server asks for during its calls, answered by hooks: asked PROGRAM ARGUMENT, which is the server.
 * everything_c.py builds and runs it. */

#include <agent.h>
#include <stdio.h>
#include <string.h>

#define MODEL                                                                                                                  \
    "{\"provider\": \"scripted\", \"id\": \"s\", \"script\": ["                                                                \
    "[{\"delta\": {\"tool_call\": {\"id\": \"a\", \"name\": \"trigger-sampling-request\","                                     \
    " \"arguments\": {\"prompt\": \"Which city?\", \"maxTokens\": 7}}}}, {\"end\": \"tool_use\"}],"                            \
    "[{\"delta\": {\"tool_call\": {\"id\": \"b\", \"name\": \"trigger-elicitation-request\", \"arguments\": {}}}},"            \
    " {\"end\": \"tool_use\"}],"                                                                                               \
    "[{\"delta\": \"done\"}, {\"end\": \"stop\"}]]}"
#define TOOLS "{\"mcp\": [{\"args\": [], \"include\": [\"trigger-sampling-request\", \"trigger-elicitation-request\"]}]}"

static int failures;

static void expect(int holds, const char *what, const char *got)
{
    if (!holds) {
        failures++;
        fprintf(stderr, "FAILED: %s: %s\n", what, got ? got : "nothing");
    }
}

/* Answers with the JSON that it is set with, after a look at what is asked. */
static void answer(void *userdata, agent_hook_call_t *call)
{
    const char *input = agent_hook_call_input(call, NULL);
    const char *answered = userdata;

    expect(strstr(input, answered[0] == '"' ? "Which city?\",\"system_prompt\":\"You are" : "\"required\":[\"name\"]") != NULL,
           "what is asked", input);
    agent_hook_call_respond_json(call, answered, AGENT_NTS, NULL);
    agent_hook_call_free(call);
}

int main(int argc, char **argv)
{
    agent_runtime_t *runtime = NULL;
    agent_t *agent = NULL;
    agent_json_t *options = NULL;
    agent_text_t *tools = NULL;
    agent_run_t *run = NULL;
    agent_error_t *error = NULL;
    const agent_event_t *event;
    int results = 0;

    if (argc < 3 || agent_runtime_new(NULL, 0, &runtime, &error) < 0
        || agent_new(runtime, MODEL, AGENT_NTS, &agent, &error) < 0
        || agent_json_parse(TOOLS, AGENT_NTS, &options, &error) < 0
        || agent_json_set_string(options, "/mcp/0/command", AGENT_NTS, argv[1], AGENT_NTS, &error) < 0
        || agent_json_set_string(options, "/mcp/0/args/-", AGENT_NTS, argv[2], AGENT_NTS, &error) < 0
        || agent_set_json(agent, agent_json_text(options, NULL), AGENT_NTS, &error) < 0
        || agent_set_hook(agent, AGENT_HOOK_ON_MCP_SAMPLING, answer, "\"Oslo\"", NULL, &error) < 0
        || agent_set_hook(agent, AGENT_HOOK_ON_MCP_ELICITATION, answer,
                          "{\"action\": \"accept\", \"content\": {\"name\": \"Ann\", \"integer\": 7}}", NULL, &error) < 0
        || agent_mcp_tools(agent, &tools, &error) < 0 || agent_prompt(agent, "Ask.", AGENT_NTS, &run, &error) < 0)
        goto done;

    expect(strstr(agent_text_data(tools, NULL), "\"server_tool\":\"trigger-sampling-request\"") != NULL, "the tools",
           agent_text_data(tools, NULL));
    while (agent_run_next(run, -1, &event, &error) == AGENT_OK) {
        if (agent_event_kind(event) != AGENT_EVENT_TOOL_EXECUTION_END) continue;
        expect(strstr(agent_event_text(event, NULL), results++ ? "- Favorite Integer: 7" : "\"text\": \"Oslo\"") != NULL,
               "a result", agent_event_text(event, NULL));
    }
    expect(results == 2, "two results", NULL);
    expect(agent_close_mcp(agent, &error) == AGENT_OK, "closing", NULL);

done:
    expect(error == NULL && run != NULL, "no error", agent_error_message(error, NULL));
    agent_error_free(error);
    agent_run_free(run);
    agent_text_free(tools);
    agent_json_free(options);
    agent_free(agent);
    agent_runtime_shutdown(runtime, 5000, NULL);
    agent_runtime_free(runtime);
    return failures != 0;
}
