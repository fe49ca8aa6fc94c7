/* Shared by the tests: a runtime, agents with scripts, expected errors, gates between threads. */

#ifndef SUPPORT_H
#define SUPPORT_H

#include <agent.h>
#include <pthread.h>
#include <stdlib.h>

#include "check.h"

/* ---- errors ------------------------------------------------------------------------------------------------------ */

/* Each thread has its own: listeners and tools check errors, too. */
static _Thread_local agent_error_t *error;

/* A call that fails with this status and this text. */
static inline bool fails(agent_status_t rc, agent_status_t status, const char *text, const char *file, int line)
{
    bool ok = check_true(rc == status, "the call fails with this status", file, line)
        & check_true(agent_error_status(error) == status, "the error has the same status", file, line)
        & check_text(agent_error_message(error, NULL), text, "the error's text", file, line);

    agent_error_free(error);
    error = NULL;
    return ok;
}

#define CHECK_FAILS(call, status, text)                          \
    do {                                                         \
        if (!fails((call), (status), (text), __FILE__, __LINE__)) \
            return;                                              \
    } while (0)

/* A call that fails with this status and a text that contains this one. */
#define CHECK_FAILS_WITH(call, status, part)                      \
    do {                                                          \
        CHECK((call) == (status));                                \
        CHECK_CONTAINS(agent_error_message(error, NULL), (part)); \
        agent_error_free(error);                                  \
        error = NULL;                                             \
    } while (0)

/* A call with a NULL argument of this name. */
#define CHECK_NULL(call, name) CHECK_FAILS(call, AGENT_INVALID_ARGUMENT, name " is NULL")

/* A call that succeeds; its error, if any, is printed. */
static inline bool works(agent_status_t rc, const char *file, int line)
{
    bool ok = check_true(rc == AGENT_OK, "the call works", file, line);

    if (error)
        printf("      %s\n", agent_error_message(error, NULL));
    agent_error_free(error);
    error = NULL;
    return ok;
}

#define CHECK_OK(call) do { if (!works((call), __FILE__, __LINE__)) return; } while (0)
#define EXPECT_OK(call) works((call), __FILE__, __LINE__)

/* ---- agents with scripts ----------------------------------------------------------------------------------------- */

static agent_runtime_t *runtime;

#define SCRIPTED(answers) "{\"provider\": \"scripted\", \"id\": \"test\", \"script\": [" answers "]}"
#define SAYS(text) "[{\"delta\": \"" text "\"}, {\"end\": \"stop\"}]"
#define CALL(id, name, arguments) "{\"delta\": {\"tool_call\": {\"id\": \"" id "\", \"name\": \"" name "\", " \
    "\"arguments\": " arguments "}}}"
#define CALLS(name, arguments) "[" CALL("call_1", name, arguments) ", {\"end\": \"tool_use\"}]"

static inline agent_t *scripted(const char *model)
{
    agent_t *agent = NULL;

    EXPECT_OK(agent_new(runtime, model, AGENT_NTS, &agent, &error));
    return agent;
}

/* An agent with one tool, which is called "tool" and has these properties. */
static inline agent_t *with_tool(const char *model, agent_tool_fn_t function, void *userdata)
{
    agent_t *agent = scripted(model);
    agent_tool_t *tool = NULL;

    EXPECT_OK(agent_tool_new("{\"name\": \"tool\"}", AGENT_NTS, function, userdata, NULL, &tool, &error));
    EXPECT_OK(agent_add_tool(agent, tool, &error));
    agent_tool_free(tool);
    return agent;
}

/* Reads a run to its end, and checks the grammar of its events. */
static inline void read_out(agent_run_t *run)
{
    const agent_event_t *event;
    agent_status_t rc;
    char *reported = NULL;
    size_t size = 0, length;
    const char *json;

    while ((rc = agent_run_next(run, -1, &event, &error)) == AGENT_OK) {
        json = agent_event_json(event, &length);
        reported = realloc(reported, size + length + 1);
        memcpy(reported + size, json, length);
        size += length;
        reported[size++] = '\n';
    }
    EXPECT(rc == AGENT_DONE);
    EXPECT_OK(agent_check_events(reported, size, &error));
    free(reported);
}

/* Prompts and reads to the end; returns the run for its result. */
static inline agent_run_t *play(agent_t *agent)
{
    agent_run_t *run = NULL;

    EXPECT_OK(agent_prompt(agent, "Go.", AGENT_NTS, &run, &error));
    read_out(run);
    return run;
}

/* The texts of the messages that a run added, with the first letter of their roles: "u Go.; a Hello.; ". The caller frees it. */
static inline char *messages_text(const agent_run_t *run)
{
    const agent_messages_t *messages = agent_run_messages(run);
    char *reported = strdup("");
    size_t i;

    for (i = 0; i < agent_messages_count(messages); i++) {
        const char *text = agent_messages_text(messages, i, NULL);

        reported = realloc(reported, strlen(reported) + strlen(text) + 5);
        sprintf(reported + strlen(reported), "%c %s; ", agent_messages_role(messages, i, NULL)[0], text);
    }
    return reported;
}

#define CHECK_MESSAGES(run, text)                  \
    do {                                       \
        char *reported = messages_text(run);             \
        bool same = EXPECT_TEXT(reported, (text)); \
        free(reported);                            \
        if (!same)                             \
            return;                            \
    } while (0)

/* Prompts, and returns the text of the first tool_execution_end; the caller frees it. */
static inline char *tool_result(agent_t *agent, bool *is_error)
{
    agent_run_t *run = NULL;
    const agent_event_t *event;
    char *result = NULL;

    EXPECT_OK(agent_prompt(agent, "Go.", AGENT_NTS, &run, &error));
    while (agent_run_next(run, -1, &event, &error) == AGENT_OK) {
        if (agent_event_kind(event) == AGENT_EVENT_TOOL_EXECUTION_END && !result) {
            result = strdup(agent_event_text(event, NULL));
            *is_error = agent_event_is_error(event);
        }
    }
    EXPECT(agent_run_outcome(run) == AGENT_OUTCOME_COMPLETED);
    agent_run_free(run);
    return result;
}

/* ---- between threads --------------------------------------------------------------------------------------------- */

/* A counter that threads raise and wait for. */
typedef struct {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    int count;
} gate_t;

#define GATE {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0}

static inline void gate_raise(void *gate)
{
    gate_t *g = gate;

    pthread_mutex_lock(&g->mutex);
    g->count++;
    pthread_cond_broadcast(&g->changed);
    pthread_mutex_unlock(&g->mutex);
}

static inline void gate_wait(gate_t *g, int count)
{
    pthread_mutex_lock(&g->mutex);
    while (g->count < count)
        pthread_cond_wait(&g->changed, &g->mutex);
    pthread_mutex_unlock(&g->mutex);
}

static inline int gate_count(gate_t *g)
{
    int count;

    pthread_mutex_lock(&g->mutex);
    count = g->count;
    pthread_mutex_unlock(&g->mutex);
    return count;
}

/* ---- the frame --------------------------------------------------------------------------------------------------- */

static inline void begin(void)
{
    if (agent_runtime_new(NULL, 0, &runtime, &error) < 0) {
        printf("no runtime: %s\n", agent_error_message(error, NULL));
        exit(1);
    }
}

static inline int end(void)
{
    check_ok = true;
    if (runtime && !EXPECT(agent_runtime_shutdown(runtime, 10000, NULL) == AGENT_OK))
        check_failed++;
    agent_runtime_free(runtime);
    return finish();
}

#endif /* SUPPORT_H */
