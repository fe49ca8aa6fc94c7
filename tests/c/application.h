/* The application of a scenario: its state, which actors on several threads share, and its JSON. */

#include <agent.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define IS(word) (strcmp(name, word) == 0)
#define EACH(i, json) (size_t i = 0; i < agent_json_count(json); i++)
#define AT(json, pointer) agent_json_get(json, pointer, AGENT_NTS)
#define MEMBER(json, key) agent_json_member(json, key, AGENT_NTS)
#define KEY(json, i) agent_json_key(json, i, NULL)
#define TEXT(json) agent_json_text(json, NULL)
/* What is freed at the end of its block. */
#define OWNED __attribute__((cleanup(free_json))) agent_json_t *
#define OWNED_MESSAGES __attribute__((cleanup(free_messages))) agent_messages_t *

/* A tool's function, its prepare_arguments, a hook, a middleware or a listener. */
typedef struct {
    const agent_json_t *given; /* behaviours; of a listener its fields */
    const char *name;          /* of a tool, a hook or a listener */
    int64_t count;             /* of the calls or events that it got */
    agent_json_t *calls;       /* their ids */
    uint64_t subscription;     /* of a listener */
    bool is_subscribed;
} actor_t;

/* A call to answer: of a tool or middleware, or of a hook. */
typedef struct {
    agent_tool_call_t *tool;
    agent_hook_call_t *hook;
} call_t;

/* The application of one scenario, under the mutex; `changed` wakes who waits for another actor. */
static struct {
    agent_runtime_t *runtime;
    agent_t *agent;
    agent_session_t *session; /* of the agent, with the variable SESSIONS */
    agent_open_session_t *opened;
    actor_t actors[64];
    size_t actor_count, active; /* active: those that the library may still call */
    agent_json_t *result;       /* as in expected.json */
    agent_json_t *seen;         /* the open "gates"; the calls that "started", their "tools", and those that "ended" */
    agent_json_t *hold;         /* the behaviours of the hook that holds a stateless run */
    bool over;
} app;
static pthread_mutex_t mutex = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static agent_error_t *error;

static void lock(void) { pthread_mutex_lock(&mutex); }

static void unlock(void)
{
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&mutex);
}

/* A call without which the scenario cannot be played. */
static void must(agent_status_t rc, const char *what)
{
    if (rc >= 0)
        return;
    fprintf(stderr, "    %s: %s\n", what, error ? agent_error_message(error, NULL) : agent_status_name(rc));
    exit(1);
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

static void free_json(agent_json_t **json) { agent_json_free(*json); }
static void free_messages(agent_messages_t **messages) { agent_messages_free(*messages); }

static agent_json_t *parse(const char *text)
{
    agent_json_t *json = NULL;
    must(agent_json_parse(text, AGENT_NTS, &json, &error), text);
    return json;
}

static agent_json_t *copy(const agent_json_t *json) { return parse(TEXT(json)); }

static void put(agent_json_t *json, const char *pointer, const agent_json_t *value)
{
    lock();
    must(agent_json_set(json, pointer, AGENT_NTS, value, &error), pointer);
    unlock();
}

static agent_status_t put_text(agent_json_t *json, const char *pointer, const char *text)
{
    lock();
    must(agent_json_set_string(json, pointer, AGENT_NTS, text, AGENT_NTS, &error), pointer);
    unlock();
    return AGENT_OK;
}

static void put_member(agent_json_t *json, const char *key, const agent_json_t *value)
{
    char pointer[100];
    snprintf(pointer, sizeof pointer, "/%s", key);
    put(json, pointer, value);
}

static agent_status_t log_line(const char *format, ...)
{
    char line[4000];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    return put_text(app.result, "/log/-", line);
}

static const char *string_of(const agent_json_t *json)
{
    const char *text = NULL;
    agent_json_get_string(json, "", 0, &text, NULL, NULL);
    return text;
}

static int64_t number_of(const agent_json_t *json)
{
    int64_t number = 0;
    must(agent_json_get_integer(json, "", 0, &number, &error), "a number");
    return number;
}

/* Whether a value contains another: objects may have more members, all else is equal, and null is in everything. */
static bool contains(const agent_json_t *value, const agent_json_t *wanted)
{
    if (agent_json_type(wanted) != AGENT_JSON_OBJECT)
        return agent_json_type(wanted) <= AGENT_JSON_NULL || agent_json_equals(value, wanted);
    for EACH(i, wanted) {
        const agent_json_t *found = MEMBER(value, KEY(wanted, i));
        if (!found || !contains(found, agent_json_at(wanted, i)))
            return false;
    }
    return true;
}

static bool has(const agent_json_t *list, const char *name)
{
    for EACH(i, list)
        if (IS(string_of(agent_json_at(list, i))))
            return true;
    return false;
}

/* Waits in real time for another actor. */
static agent_status_t wait_for(const agent_json_t *json, const char *list, const char *text)
{
    lock();
    while (!app.over && !has(AT(json, list), text))
        pthread_cond_wait(&changed, &mutex);
    unlock();
    return AGENT_OK;
}
