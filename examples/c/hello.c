/* The smallest program: one prompt, the answer as it comes. hello [MODEL [BASE_URL]] */

#include <agent.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    const char *model = argc > 1 ? argv[1] : "anthropic/claude-sonnet-4-5";
    const char *base_url = argc > 2 ? argv[2] : NULL; /* NULL: the provider's address */
    agent_runtime_t *runtime = NULL;
    agent_t *agent = NULL;
    agent_run_t *run = NULL;
    agent_error_t *error = NULL;
    const agent_event_t *event;
    agent_status_t rc;
    int failed = 1;

    if (agent_runtime_new(NULL, 0, &runtime, &error) < 0
        || agent_new(runtime, model, AGENT_NTS, &agent, &error) < 0
        || agent_set_base_url(agent, base_url, AGENT_NTS, &error) < 0
        || agent_prompt(agent, "Say hello.", AGENT_NTS, &run, &error) < 0)
        goto done;

    while ((rc = agent_run_next(run, -1, &event, &error)) == AGENT_OK) {
        if (agent_event_kind(event) == AGENT_EVENT_TEXT_DELTA) {
            fputs(agent_event_text(event, NULL), stdout);
            fflush(stdout);
        }
    }
    putchar('\n');
    if (rc == AGENT_DONE && agent_run_outcome(run) == AGENT_OUTCOME_ERROR)
        fprintf(stderr, "%s\n", agent_error_message(agent_run_error(run), NULL)); /* the run failed */
    else
        failed = rc < 0;

done:
    if (error) /* a call failed */
        fprintf(stderr, "%s\n", agent_error_message(error, NULL));
    agent_error_free(error);
    agent_run_free(run);
    agent_free(agent);
    agent_runtime_shutdown(runtime, 5000, NULL);
    agent_runtime_free(runtime);
    return failed;
}
