/* A program with the tools of a server of the Model Context Protocol.
 *
 *   mcp MODEL PROMPT URL            mcp MODEL PROMPT PROGRAM [ARGUMENT...]
 *   mcp anthropic/claude-sonnet-4-5 "What is 2 + 3?" npx -y @modelcontextprotocol/server-everything */

#include <agent.h>
#include <stdio.h>
#include <string.h>

/* The option "mcp", with one server. */
static agent_status_t describe(agent_json_t *options, int count, char **server, agent_error_t **error)
{
    int is_address = strncmp(server[0], "http://", 7) == 0 || strncmp(server[0], "https://", 8) == 0;
    agent_status_t rc =
        agent_json_set_string(options, is_address ? "/mcp/0/url" : "/mcp/0/command", AGENT_NTS, server[0], AGENT_NTS, error);
    int i;

    for (i = 1; rc >= 0 && i < count; i++)
        rc = agent_json_set_string(options, "/mcp/0/args/-", AGENT_NTS, server[i], AGENT_NTS, error);
    return rc;
}

int main(int argc, char **argv)
{
    agent_runtime_t *runtime = NULL;
    agent_t *agent = NULL;
    agent_json_t *options = NULL;
    agent_run_t *run = NULL;
    agent_error_t *error = NULL;
    const agent_event_t *event;
    agent_status_t rc;
    int failed = 1;

    if (argc < 4) {
        fprintf(stderr, "mcp MODEL PROMPT (URL | PROGRAM [ARGUMENT...])\n");
        return 2;
    }
    if (agent_runtime_new(NULL, 0, &runtime, &error) < 0
        || agent_new(runtime, argv[1], AGENT_NTS, &agent, &error) < 0
        || agent_json_parse("{\"max_turns\": 0, \"mcp\": [{\"args\": []}]}", AGENT_NTS, &options, &error) < 0
        || describe(options, argc - 3, argv + 3, &error) < 0
        || agent_set_json(agent, agent_json_text(options, NULL), AGENT_NTS, &error) < 0
        || agent_prompt(agent, argv[2], AGENT_NTS, &run, &error) < 0)
        goto done;

    while ((rc = agent_run_next(run, -1, &event, &error)) == AGENT_OK) {
        switch (agent_event_kind(event)) {
        case AGENT_EVENT_TEXT_DELTA:
            fputs(agent_event_text(event, NULL), stdout);
            break;
        case AGENT_EVENT_TOOL_EXECUTION_END:
            printf("[%s%s] %s\n", agent_event_tool_name(event, NULL), agent_event_is_error(event) ? " failed" : "",
                   agent_event_text(event, NULL));
            break;
        }
    }
    if (rc == AGENT_DONE && agent_run_outcome(run) == AGENT_OUTCOME_ERROR)
        fprintf(stderr, "%s\n", agent_error_message(agent_run_error(run), NULL)); /* the run failed */
    else if (rc == AGENT_DONE) {
        printf("\n");
        failed = agent_close_mcp(agent, &error) < 0; /* waits for the server's end */
    }

done:
    if (error) /* a call failed */
        fprintf(stderr, "%s\n", agent_error_message(error, NULL));
    agent_error_free(error);
    agent_run_free(run);
    agent_json_free(options);
    agent_free(agent);
    agent_runtime_shutdown(runtime, 5000, NULL);
    agent_runtime_free(runtime);
    return failed;
}
