/* Steers a run while its tools are running. steer [MODEL [BASE_URL]] */

#include <agent.h>
#include <stdbool.h>
#include <stdio.h>

static const char WEATHER[] =
    "{\"name\": \"weather\", \"description\": \"The weather in a city.\", \"execution_mode\": \"sequential\","
    " \"parameters\": {\"type\": \"object\", \"properties\": {\"city\": {\"type\": \"string\"}}, \"required\": [\"city\"]}}";

/* A slow tool. An abort would end its sleep. */
static void weather(void *userdata, agent_tool_call_t *call)
{
    (void)userdata;
    if (agent_tool_call_sleep(call, 1000, NULL) == AGENT_OK)
        agent_tool_call_respond(call, "rain, 7 degrees", AGENT_NTS, NULL);
    agent_tool_call_free(call);
}

/* The listener's state. */
typedef struct {
    agent_t *agent;
    bool steered;
} listener_t;

/* Called with each event, on a thread of the library. The user steers when the first tool starts. */
static void listen(void *userdata, const agent_event_t *event)
{
    listener_t *listener = (listener_t *)userdata;

    if (agent_event_kind(event) != AGENT_EVENT_TOOL_EXECUTION_START || listener->steered)
        return;
    listener->steered = true;
    agent_steer(listener->agent, "Never mind the others.", AGENT_NTS, NULL);
}

static void show(const agent_event_t *event)
{
    const char *text = agent_event_text(event, NULL), *role = agent_event_role(event, NULL);

    switch (agent_event_kind(event)) {
    case AGENT_EVENT_MESSAGE_START:
        if (role[0] == 'u')
            printf("User: %s\n", text);
        break;
    case AGENT_EVENT_TEXT_DELTA:
        fputs(text, stdout);
        break;
    case AGENT_EVENT_TOOL_EXECUTION_END: /* also of skipped calls */
        printf("[%s -> %s]\n", agent_event_tool_name(event, NULL), text);
        break;
    }
}

/* Reads a run to its end. Returns whether it has failed. */
static bool read_run(agent_run_t *run)
{
    const agent_event_t *event;
    agent_error_t *error = NULL;
    bool failed;

    while (agent_run_next(run, -1, &event, &error) == AGENT_OK)
        show(event);
    failed = error || agent_run_outcome(run) == AGENT_OUTCOME_ERROR;
    if (failed)
        fprintf(stderr, "%s\n", agent_error_message(error ? error : agent_run_error(run), NULL));
    else
        printf("\n[%s]\n", agent_outcome_name(agent_run_outcome(run)));
    agent_error_free(error);
    return failed;
}

int main(int argc, char **argv)
{
    const char *model = argc > 1 ? argv[1] : "anthropic/claude-sonnet-4-5";
    const char *base_url = argc > 2 ? argv[2] : NULL; /* NULL: the provider's address */
    agent_runtime_t *runtime = NULL;
    listener_t listener = {NULL, false};
    agent_tool_t *tool = NULL;
    agent_run_t *run = NULL;
    agent_error_t *error = NULL;
    int failed = 1;

    if (agent_runtime_new(NULL, 0, &runtime, &error) < 0
        || agent_new(runtime, model, AGENT_NTS, &listener.agent, &error) < 0
        || agent_set_base_url(listener.agent, base_url, AGENT_NTS, &error) < 0
        || agent_tool_new(WEATHER, AGENT_NTS, weather, NULL, NULL, &tool, &error) < 0
        || agent_add_tool(listener.agent, tool, &error) < 0
        || agent_subscribe(listener.agent, listen, &listener, NULL, NULL, &error) < 0
        || agent_prompt(listener.agent, "Rain in Oslo, Bergen, Tromso?", AGENT_NTS, &run, &error) < 0)
        goto done;

    failed = read_run(run);
    /* What was steered when the run had just ended (AGENT_QUEUED) waits for another one. */
    agent_run_free(run);
    run = NULL;
    while (!failed && agent_resume_if_queued(listener.agent, &run, &error) == AGENT_OK) {
        failed = read_run(run);
        agent_run_free(run);
        run = NULL;
    }
    failed |= error != NULL;

done:
    if (error)
        fprintf(stderr, "%s\n", agent_error_message(error, NULL));
    agent_error_free(error);
    agent_run_free(run);
    agent_runtime_shutdown(runtime, 5000, NULL); /* no listener is called after this, so the agent may be freed */
    agent_tool_free(tool);
    agent_free(listener.agent);
    agent_runtime_free(runtime);
    return failed;
}
