/* Plays a recorded run again and prints its events, one a line. replay FILE [RUN] */

#include <agent.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    const char *recording = argc > 1 ? argv[1] : "";
    size_t number = argc > 2 ? strtoul(argv[2], NULL, 10) : 1;
    agent_runtime_t *runtime = NULL;
    agent_run_t *run = NULL;
    agent_error_t *error = NULL;
    const agent_error_t *failed = NULL;
    const agent_event_t *event;
    agent_status_t rc;

    if ((rc = agent_runtime_new(NULL, 0, &runtime, &error)) < 0
        || (rc = agent_replay(runtime, recording, AGENT_NTS, number, &run, &error)) < 0)
        goto done;
    while ((rc = agent_run_next(run, -1, &event, &error)) == AGENT_OK) {
        size_t length;
        const char *json = agent_event_json(event, &length);

        fwrite(json, 1, length, stdout);
        putchar('\n');
    }
    if (rc == AGENT_DONE && agent_run_outcome(run) == AGENT_OUTCOME_ERROR)
        failed = agent_run_error(run);

done:
    if (error) /* a call failed */
        failed = error;
    if (failed)
        fprintf(stderr, "%s: %s\n", agent_status_name(agent_error_status(failed)), agent_error_message(failed, NULL));
    rc = failed != NULL;
    agent_error_free(error);
    agent_run_free(run);
    agent_runtime_shutdown(runtime, 5000, NULL);
    agent_runtime_free(runtime);
    return rc;
}
