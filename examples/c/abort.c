/* Aborts a run in the middle, after ten deltas of text. abort [MODEL [BASE_URL]] */

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
    int pieces = 0, failed = 1;

    if (agent_runtime_new(NULL, 0, &runtime, &error) < 0
        || agent_new(runtime, model, AGENT_NTS, &agent, &error) < 0
        || agent_set_base_url(agent, base_url, AGENT_NTS, &error) < 0
        || agent_prompt(agent, "Count from 1 to 1000.", AGENT_NTS, &run, &error) < 0)
        goto done;

    while (agent_run_next(run, -1, &event, &error) == AGENT_OK) {
        if (agent_event_kind(event) == AGENT_EVENT_TEXT_DELTA) {
            fputs(agent_event_text(event, NULL), stdout);
            if (++pieces == 10)
                agent_run_abort(run, NULL);
        }
    }
    if (agent_run_outcome(run) == AGENT_OUTCOME_ERROR) {
        fprintf(stderr, "%s\n", agent_error_message(agent_run_error(run), NULL));
    } else if (!error) {
        /* The text so far is kept, in the run and in the transcript. */
        size_t length;
        agent_run_text(run, &length);
        printf("\n[%s] after %zu bytes\n", agent_outcome_name(agent_run_outcome(run)), length);
        failed = 0;
    }

done:
    if (error)
        fprintf(stderr, "%s\n", agent_error_message(error, NULL));
    agent_error_free(error);
    agent_run_free(run);
    agent_free(agent);
    agent_runtime_shutdown(runtime, 5000, NULL);
    agent_runtime_free(runtime);
    return failed;
}
