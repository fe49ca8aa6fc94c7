/*
 * Calls that wait for approval, from one process to the next:
 *
 *     approvals [--events] [--store] MODEL STATE PROMPT
 *     approvals [--events] [--store] MODEL STATE --decide DECISIONS
 *
 * STATE is a file with the conversation, which the programs of all languages read and write; with the variable
 * AGENT_STATE_KEY it is signed. With --store, STATE is a store, such as agents.db, which has it in the session
 * "approvals". DECISIONS is JSON, such as {"call_1": "approve"}. --events prints each event's JSON instead of the
 * transcript.
 */

#include <agent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define USAGE "usage: approvals [--events] [--store] MODEL STATE (PROMPT | --decide DECISIONS)\n"

static void print_error(const agent_error_t *error)
{
    fprintf(stderr, "%s: %s\n", agent_status_name(agent_error_status(error)), agent_error_message(error, NULL));
}

/* ---- the tools ----------------------------------------------------------------------------------------------- */

typedef struct {
    const char *json;     /* the tool's description */
    const char *argument; /* the argument that its answer has */
    const char *answer;   /* with %s for the argument */
    bool is_slow;
} answer_t;

static const answer_t TOOLS[] = {
    {"{\"name\": \"price\", \"description\": \"The price of an item.\","
     " \"parameters\": {\"type\": \"object\", \"properties\": {\"item\": {\"type\": \"string\"}},"
     "   \"required\": [\"item\"]}}",
     "item", "%s: 12.50", false},
    {"{\"name\": \"order\", \"description\": \"Orders an item, or several.\", \"needs_approval\": true,"
     " \"parameters\": {\"type\": \"object\", \"properties\": {\"item\": {\"type\": \"string\"},"
     "   \"count\": {\"type\": \"integer\"}, \"options\": {\"type\": \"object\"}}, \"required\": [\"item\"]}}",
     "item", "ordered: %s", true},
    {"{\"name\": \"pay\", \"description\": \"Pays an amount, one payment at a time.\","
     " \"needs_approval\": true, \"execution_mode\": \"sequential\","
     " \"parameters\": {\"type\": \"object\", \"properties\": {\"to\": {\"type\": \"string\"},"
     "   \"amount\": {\"type\": \"number\"}}, \"required\": [\"to\", \"amount\"]}}",
     "to", "paid to %s", false},
};

/* Called for each call of a tool, on its own thread. We own the call: respond and free it. */
static void respond(void *userdata, agent_tool_call_t *call)
{
    const answer_t *tool = (const answer_t *)userdata;
    const char *argument;
    size_t length;
    double count;
    char *text = NULL;
    agent_error_t *error = NULL;

    if (agent_tool_call_get_string(call, tool->argument, AGENT_NTS, &argument, &length, &error) < 0)
        agent_tool_call_fail(call, agent_error_message(error, NULL), AGENT_NTS, NULL);
    else if ((text = (char *)malloc(length + strlen(tool->answer) + 1)) == NULL)
        agent_tool_call_fail(call, "out of memory", AGENT_NTS, NULL);
    else {
        if (agent_tool_call_get_number(call, "count", AGENT_NTS, &count, NULL) < 0)
            count = 1;
        if (tool->is_slow)
            agent_tool_call_sleep(call, (uint64_t)(10 * count), NULL);
        strcpy(text, tool->answer);
        strcpy(strstr(text, "%s"), argument);
        strcat(text, strstr(tool->answer, "%s") + 2);
        agent_tool_call_respond(call, text, AGENT_NTS, NULL);
    }
    free(text);
    agent_error_free(error);
    agent_tool_call_free(call);
}

static agent_status_t add_tools(agent_t *agent, agent_error_t **error)
{
    agent_status_t rc = AGENT_OK;
    size_t i;

    for (i = 0; rc == AGENT_OK && i < sizeof TOOLS / sizeof *TOOLS; i++) {
        agent_tool_t *tool = NULL;

        rc = agent_tool_new(TOOLS[i].json, AGENT_NTS, respond, (void *)&TOOLS[i], NULL, &tool, error);
        if (rc == AGENT_OK)
            rc = agent_add_tool(agent, tool, error);
        agent_tool_free(tool);
    }
    return rc;
}

/* ---- the state ----------------------------------------------------------------------------------------------- */

/* Reads a whole file. Returns NULL if there is none. */
static char *read_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    size_t size = 0, read;
    char *text = NULL, *more;

    if (!file)
        return NULL;
    while ((more = (char *)realloc(text, size + 4097)) != NULL) {
        text = more;
        read = fread(text + size, 1, 4096, file);
        text[size += read] = '\0';
        if (read == 0)
            break;
    }
    fclose(file);
    return text;
}

static bool write_file(const char *path, const char *text, size_t length)
{
    FILE *file = fopen(path, "wb");
    bool written = file && fwrite(text, 1, length, file) == length;

    if ((file && fclose(file) != 0) || !written) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        return false;
    }
    return true;
}

/* Goes on with the conversation of a file, if there is one. */
static agent_status_t load(agent_t *agent, const char *path, const char *key, agent_error_t **error)
{
    char *text = read_file(path);
    agent_status_t rc = text ? agent_from_export(agent, text, AGENT_NTS, key, AGENT_NTS, error) : AGENT_OK;

    free(text);
    return rc;
}

/* Writes the conversation to a file. */
static bool save(const agent_t *agent, const char *path, const char *key)
{
    agent_error_t *error = NULL;
    agent_text_t *kept = NULL;
    bool ok = false;

    if (agent_export(agent, key, AGENT_NTS, &kept, &error) < 0) {
        print_error(error);
    } else {
        size_t length;
        const char *text = agent_text_data(kept, &length);

        ok = write_file(path, text, length);
    }
    agent_error_free(error);
    agent_text_free(kept);
    return ok;
}

/* Lets the agent keep its conversation in a store. */
static agent_status_t keep(agent_runtime_t *runtime, agent_t *agent, const char *address,
                           agent_open_session_t **opened, agent_error_t **error)
{
    agent_store_t *store = NULL;
    agent_session_t *session = NULL;
    agent_status_t rc = agent_store_open(runtime, address, AGENT_NTS, NULL, 0, &store, error);

    if (rc == AGENT_OK)
        rc = agent_store_session(store, "approvals", AGENT_NTS, &session, error);
    if (rc == AGENT_OK)
        rc = agent_session_open(session, opened, error);
    if (rc == AGENT_OK)
        rc = agent_set_session(agent, *opened, error);
    agent_session_free(session);
    agent_store_free(store);
    return rc;
}

/* ---- the run ------------------------------------------------------------------------------------------------- */

static void show(const agent_event_t *event)
{
    if (agent_event_kind(event) == AGENT_EVENT_TEXT_DELTA)
        fputs(agent_event_text(event, NULL), stdout);
    else if (agent_event_kind(event) == AGENT_EVENT_TOOL_EXECUTION_END)
        printf("[%s -> %s]\n", agent_event_tool_name(event, NULL), agent_event_text(event, NULL));
}

/* Prints the calls that wait, and how the run ended. */
static void show_end(const agent_run_t *run)
{
    agent_json_t *result = NULL;
    const agent_json_t *call;
    size_t i;

    printf("\n[%s]\n", agent_outcome_name(agent_run_outcome(run)));
    if (agent_json_parse(agent_run_json(run, NULL), AGENT_NTS, &result, NULL) < 0)
        return;
    for (i = 0; (call = agent_json_at(agent_json_get(result, "/pending", AGENT_NTS), i)) != NULL; i++) {
        const char *id = "", *name = "", *reason = "";

        agent_json_get_string(call, "/tool_call_id", AGENT_NTS, &id, NULL, NULL);
        agent_json_get_string(call, "/tool_name", AGENT_NTS, &name, NULL, NULL);
        agent_json_get_string(call, "/reason", AGENT_NTS, &reason, NULL, NULL);
        printf("%s %s %s: %s\n", id, name, agent_json_text(agent_json_get(call, "/arguments", AGENT_NTS), NULL), reason);
    }
    agent_json_free(result);
}

/* Reads a run to its end. Returns false if it failed. */
static bool read_run(agent_run_t *run, bool as_events)
{
    agent_error_t *error = NULL;
    const agent_event_t *event;
    bool failed;

    while (agent_run_next(run, -1, &event, &error) == AGENT_OK) {
        if (as_events)
            puts(agent_event_json(event, NULL));
        else
            show(event);
    }
    failed = error || agent_run_outcome(run) == AGENT_OUTCOME_ERROR;
    if (failed)
        print_error(error ? error : agent_run_error(run));
    else if (!as_events)
        show_end(run);
    agent_error_free(error);
    return !failed;
}

/* Takes a flag that stands first. */
static bool takes(int *count, char ***given, const char *flag)
{
    bool is_there = *count > 0 && strcmp(**given, flag) == 0;

    *count -= is_there;
    *given += is_there;
    return is_there;
}

int main(int argc, char **argv)
{
    char **given = argv + 1;
    int count = argc - 1;
    bool as_events = takes(&count, &given, "--events"), in_store = takes(&count, &given, "--store");
    bool decides = count == 4 && strcmp(given[2], "--decide") == 0;
    const char *key = getenv("AGENT_STATE_KEY"); /* NULL: not signed */
    agent_runtime_t *runtime = NULL;
    agent_t *agent = NULL;
    agent_open_session_t *opened = NULL;
    agent_run_t *run = NULL;
    agent_error_t *error = NULL;
    bool ok = false;

    if (count != 3 && !decides) {
        fputs(USAGE, stderr);
        return 2;
    }
    if (agent_runtime_new(NULL, 0, &runtime, &error) < 0
        || agent_new(runtime, given[0], AGENT_NTS, &agent, &error) < 0
        || add_tools(agent, &error) < 0
        || (in_store ? keep(runtime, agent, given[1], &opened, &error) : load(agent, given[1], key, &error)) < 0
        || (decides ? agent_resume_decided(agent, given[3], AGENT_NTS, &run, &error)
                    : agent_prompt(agent, given[2], AGENT_NTS, &run, &error)) < 0)
        print_error(error);
    else
        ok = read_run(run, as_events) && (in_store || save(agent, given[1], key));
    agent_error_free(error);
    error = NULL;
    if (opened && agent_open_session_close(opened, &error) < 0) {
        print_error(error);
        ok = false;
    }

    agent_error_free(error);
    agent_run_free(run);
    agent_open_session_free(opened);
    agent_free(agent);
    agent_runtime_shutdown(runtime, 5000, NULL);
    agent_runtime_free(runtime);
    return ok ? 0 : 1;
}
