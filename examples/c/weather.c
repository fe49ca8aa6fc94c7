/* A program with a tool. weather [MODEL [BASE_URL]] */

#include <agent.h>
#include <stdio.h>

static const char WEATHER[] =
    "{\"name\": \"weather\", \"description\": \"The weather in a city.\","
    " \"parameters\": {\"type\": \"object\", \"properties\": {\"city\": {\"type\": \"string\"}}, \"required\": [\"city\"]}}";

/* Called on its own thread. It may respond now, or later from any thread. */
static void weather(void *userdata, agent_tool_call_t *call)
{
    agent_json_t *answer = NULL;
    agent_error_t *error = NULL;
    const char *city;
    size_t length;

    (void)userdata;
    if (agent_tool_call_get_string(call, "city", AGENT_NTS, &city, &length, &error) < 0
        || agent_json_parse("{\"city\": null, \"sky\": \"rain\", \"celsius\": 7}", AGENT_NTS, &answer, &error) < 0
        || agent_json_set_string(answer, "/city", AGENT_NTS, city, length, &error) < 0) /* escapes quotes and the like */
        agent_tool_call_fail(call, agent_error_message(error, NULL), AGENT_NTS, NULL);
    else
        agent_tool_call_respond_json(call, agent_json_text(answer, NULL), AGENT_NTS, NULL);
    agent_error_free(error);
    agent_json_free(answer);
    agent_tool_call_free(call);
}

int main(int argc, char **argv)
{
    const char *model = argc > 1 ? argv[1] : "anthropic/claude-sonnet-4-5";
    const char *base_url = argc > 2 ? argv[2] : NULL; /* NULL: the provider's address */
    agent_runtime_t *runtime = NULL;
    agent_t *agent = NULL;
    agent_tool_t *tool = NULL;
    agent_run_t *run = NULL;
    agent_error_t *error = NULL;
    const agent_event_t *event;
    agent_status_t rc;
    int failed = 1;

    if (agent_runtime_new(NULL, 0, &runtime, &error) < 0
        || agent_new(runtime, model, AGENT_NTS, &agent, &error) < 0
        || agent_set_base_url(agent, base_url, AGENT_NTS, &error) < 0
        || agent_set_system_prompt(agent, "Be brief.", AGENT_NTS, &error) < 0
        || agent_tool_new(WEATHER, AGENT_NTS, weather, NULL, NULL, &tool, &error) < 0
        || agent_add_tool(agent, tool, &error) < 0
        || agent_prompt(agent, "Rain in Oslo?", AGENT_NTS, &run, &error) < 0)
        goto done;

    while ((rc = agent_run_next(run, -1, &event, &error)) == AGENT_OK) {
        switch (agent_event_kind(event)) {
        case AGENT_EVENT_TEXT_DELTA:
            fputs(agent_event_text(event, NULL), stdout);
            break;
        case AGENT_EVENT_TOOL_EXECUTION_START:
            printf("[%s]\n", agent_event_tool_name(event, NULL));
            break;
        }
    }
    if (rc == AGENT_DONE && agent_run_outcome(run) == AGENT_OUTCOME_ERROR)
        fprintf(stderr, "%s\n", agent_error_message(agent_run_error(run), NULL)); /* the run failed */
    else if (rc == AGENT_DONE) {
        printf("\n%llu tokens\n", (unsigned long long)agent_run_usage(run, AGENT_USAGE_TOTAL));
        failed = 0;
    }

done:
    if (error) /* a call failed */
        fprintf(stderr, "%s\n", agent_error_message(error, NULL));
    agent_error_free(error);
    agent_run_free(run);
    agent_tool_free(tool);
    agent_free(agent);
    agent_runtime_shutdown(runtime, 5000, NULL);
    agent_runtime_free(runtime);
    return failed;
}
