/* Shared by the tests of stores and sessions: stores in a folder, and a custom store in memory. */

#ifndef STORES_H
#define STORES_H

#include <stdint.h>

#include "folder.h"
#include "support.h"

/* ---- stores and sessions ----------------------------------------------------------------------------------------- */

#define USER(text) "{\"kind\": \"message\", \"message\": {\"role\": \"user\", \"content\": \"" text "\", \"timestamp\": 0}}"

static inline agent_store_t *opened_store(const char *address, const char *options)
{
    agent_store_t *store = NULL;

    EXPECT_OK(agent_store_open(runtime, address, AGENT_NTS, options, AGENT_NTS, &store, &error));
    return store;
}

static inline agent_session_t *session_of(agent_store_t *store, const char *id)
{
    agent_session_t *session = NULL;

    EXPECT_OK(agent_store_session(store, id, AGENT_NTS, &session, &error));
    return session;
}

/* Opens a session, appends records and closes it. */
static inline void add(agent_session_t *session, const char *records)
{
    agent_open_session_t *opened = NULL;

    if (!EXPECT_OK(agent_session_open(session, &opened, &error)))
        return;
    EXPECT_OK(agent_open_session_append(opened, records, AGENT_NTS, NULL, &error));
    EXPECT_OK(agent_open_session_close(opened, &error));
    agent_open_session_free(opened);
}

/* How often a part stands in a text. */
static inline int count_of(const char *text, const char *part)
{
    int count = 0;

    while (text && (text = strstr(text, part))) {
        count++;
        text += strlen(part);
    }
    return count;
}

/* ---- a custom store ---------------------------------------------------------------------------------------------- */

typedef struct {
    pthread_mutex_t mutex;
    agent_json_t *sessions;       /* by id: {lines, token, holder, title, metadata} */
    agent_store_call_t *watching; /* the last CHANGED */
    int calls[11];                /* by method */
    int fails;                    /* the method that fails: with the status, with the answer, or unanswered */
    agent_status_t status;
    const char *answer;
    bool later; /* from another thread */
    bool twice;
    agent_store_t *nested; /* listed inside a call */
    agent_status_t nested_status;
    char nested_message[200];
    gate_t destroyed;
} custom_t;

#define CUSTOM {.mutex = PTHREAD_MUTEX_INITIALIZER, .destroyed = GATE}

static inline const char *json_text(const agent_json_t *json, const char *pointer)
{
    const char *text = "";

    agent_json_get_string(json, pointer, AGENT_NTS, &text, NULL, NULL);
    return text;
}

static inline int64_t json_integer(const agent_json_t *json, const char *pointer)
{
    int64_t number = 0;

    agent_json_get_integer(json, pointer, AGENT_NTS, &number, NULL);
    return number;
}

/* Sets the part at a pointer to {id, title, metadata, created_ms, updated_ms, holder} of a session. */
static inline void set_info_of(agent_json_t *answer, const char *at, const char *id, const agent_json_t *session)
{
    const char *fields[][2] = {{"title", "/title"}, {"metadata", "/metadata"}, {"holder", "/holder"}};
    agent_json_t *info = NULL;
    size_t i;

    agent_json_parse("{\"title\": null, \"metadata\": null, \"created_ms\": 1, \"updated_ms\": 2, \"holder\": null}", AGENT_NTS,
                     &info, NULL);
    agent_json_set_string(info, "/id", AGENT_NTS, id, AGENT_NTS, NULL);
    for (i = 0; i < 3; i++)
        if (agent_json_member(session, fields[i][0], AGENT_NTS))
            agent_json_set(info, fields[i][1], AGENT_NTS, agent_json_member(session, fields[i][0], AGENT_NTS), NULL);
    agent_json_set(answer, at, AGENT_NTS, info, NULL);
    agent_json_free(info);
}

/* Does what a call asks for; the answer is at /answer. */
static inline agent_json_t *custom_answer(custom_t *custom, int method, const agent_json_t *input)
{
    const char *id = json_text(input, method == AGENT_STORE_ACQUIRE ? "/request/id" : "/id");
    const agent_json_t *session, *lines;
    agent_json_t *reply = NULL;
    char at[100], pointer[120];
    size_t i;

    if (!*id)
        id = json_text(input, "/lease/id");
    snprintf(at, sizeof at, "/%s", id);
    session = agent_json_get(custom->sessions, at, AGENT_NTS);
    agent_json_parse("{\"answer\": null}", AGENT_NTS, &reply, NULL);
    switch (method) {
    case AGENT_STORE_ACQUIRE:
        snprintf(pointer, sizeof pointer, "%s/token", at);
        agent_json_set_integer(reply, "/answer/token", AGENT_NTS, json_integer(custom->sessions, pointer) + 1, NULL);
        agent_json_set_integer(custom->sessions, pointer, AGENT_NTS, json_integer(reply, "/answer/token"), NULL);
        snprintf(pointer, sizeof pointer, "%s/holder", at);
        agent_json_set_string(custom->sessions, pointer, AGENT_NTS, json_text(input, "/request/holder"), AGENT_NTS, NULL);
        break;
    case AGENT_STORE_RELEASE:
        snprintf(pointer, sizeof pointer, "%s/holder", at);
        agent_json_remove(custom->sessions, pointer, AGENT_NTS, NULL);
        break;
    case AGENT_STORE_APPEND:
        lines = agent_json_member(input, "lines", AGENT_NTS);
        snprintf(pointer, sizeof pointer, "%s/lines", at);
        if (!agent_json_get(custom->sessions, pointer, AGENT_NTS))
            agent_json_set_json(custom->sessions, pointer, AGENT_NTS, "[]", AGENT_NTS, NULL);
        strcat(pointer, "/-");
        for (i = 0; i < agent_json_count(lines); i++)
            agent_json_set(custom->sessions, pointer, AGENT_NTS, agent_json_at(lines, i), NULL);
        break;
    case AGENT_STORE_READ:
        lines = agent_json_member(session, "lines", AGENT_NTS);
        agent_json_set_json(reply, "/answer", AGENT_NTS, "[]", AGENT_NTS, NULL);
        for (i = (size_t)json_integer(input, "/after"); i < agent_json_count(lines); i++) {
            size_t n = agent_json_count(agent_json_member(reply, "answer", AGENT_NTS));

            if ((int64_t)n == json_integer(input, "/limit"))
                break;
            agent_json_set_json(reply, "/answer/-", AGENT_NTS, "{}", AGENT_NTS, NULL);
            snprintf(pointer, sizeof pointer, "/answer/%zu/seq", n);
            agent_json_set_integer(reply, pointer, AGENT_NTS, (int64_t)i + 1, NULL);
            snprintf(pointer, sizeof pointer, "/answer/%zu/text", n);
            agent_json_set(reply, pointer, AGENT_NTS, agent_json_at(lines, i), NULL);
        }
        break;
    case AGENT_STORE_INFO:
        if (session)
            set_info_of(reply, "/answer", id, session);
        break;
    case AGENT_STORE_SET_INFO:
        snprintf(pointer, sizeof pointer, "%s/title", at);
        agent_json_set(custom->sessions, pointer, AGENT_NTS, agent_json_get(input, "/info/title", AGENT_NTS), NULL);
        snprintf(pointer, sizeof pointer, "%s/metadata", at);
        agent_json_set(custom->sessions, pointer, AGENT_NTS, agent_json_get(input, "/info/metadata", AGENT_NTS), NULL);
        break;
    case AGENT_STORE_LIST:
        agent_json_set_json(reply, "/answer", AGENT_NTS, "{\"sessions\": [], \"next\": null}", AGENT_NTS, NULL);
        for (i = 0; i < agent_json_count(custom->sessions); i++) {
            const char *key = agent_json_key(custom->sessions, i, NULL);

            set_info_of(reply, "/answer/sessions/-", key, agent_json_at(custom->sessions, i));
        }
        break;
    case AGENT_STORE_DELETE:
        agent_json_remove(custom->sessions, at, AGENT_NTS, NULL);
        break;
    }
    return reply;
}

typedef struct {
    custom_t *custom;
    agent_store_call_t *call;
} answering_t;

static inline void *answer_now(void *userdata)
{
    answering_t *answering = userdata;
    custom_t *custom = answering->custom;
    agent_store_call_t *call = answering->call;
    int method = agent_store_call_method(call);
    agent_json_t *input = NULL, *reply;

    free(answering);
    EXPECT(agent_json_parse(agent_store_call_input(call, NULL), AGENT_NTS, &input, NULL) == AGENT_OK);
    pthread_mutex_lock(&custom->mutex);
    custom->calls[method]++;
    if (method == AGENT_STORE_CHANGED) {
        agent_store_call_free(custom->watching);
        custom->watching = call;
    } else if (method == custom->fails) {
        if (custom->status)
            EXPECT(agent_store_call_fail(call, custom->status, "another one has it", AGENT_NTS, NULL) == AGENT_OK);
        else if (custom->answer)
            EXPECT(agent_store_call_respond_json(call, custom->answer, AGENT_NTS, NULL) == AGENT_OK);
        agent_store_call_free(call);
    } else {
        reply = custom_answer(custom, method, input);
        EXPECT(agent_store_call_respond_json(call, agent_json_text(agent_json_member(reply, "answer", AGENT_NTS), NULL),
                                             AGENT_NTS, NULL) == AGENT_OK);
        if (custom->twice) {
            EXPECT(agent_store_call_respond_json(call, "null", AGENT_NTS, NULL) == AGENT_INVALID_STATE);
            EXPECT(agent_store_call_fail(call, AGENT_IO, "no", AGENT_NTS, NULL) == AGENT_INVALID_STATE);
        }
        agent_json_free(reply);
        agent_store_call_free(call);
        if (method == AGENT_STORE_APPEND && custom->watching) {
            agent_store_call_respond_json(custom->watching, "null", AGENT_NTS, NULL);
            agent_store_call_free(custom->watching);
            custom->watching = NULL;
        }
    }
    pthread_mutex_unlock(&custom->mutex);
    agent_json_free(input);
    return NULL;
}

static inline void answer_custom(void *userdata, agent_store_call_t *call)
{
    custom_t *custom = userdata;
    answering_t *answering = malloc(sizeof *answering);
    pthread_t thread;

    answering->custom = custom;
    answering->call = call;
    if (custom->nested) {
        agent_error_t *refused = NULL;
        agent_text_t *page = NULL;

        custom->nested_status = agent_store_list(custom->nested, NULL, 0, &page, &refused);
        snprintf(custom->nested_message, sizeof custom->nested_message, "%s", agent_error_message(refused, NULL));
        agent_error_free(refused);
    }
    if (custom->later && pthread_create(&thread, NULL, answer_now, answering) == 0)
        pthread_detach(thread);
    else
        answer_now(answering);
}

static inline void custom_destroyed(void *userdata)
{
    gate_raise(&((custom_t *)userdata)->destroyed);
}

static inline agent_store_t *custom_store(custom_t *custom, const char *options)
{
    agent_store_t *store = NULL;

    EXPECT_OK(agent_json_parse("{}", AGENT_NTS, &custom->sessions, &error));
    EXPECT_OK(agent_store_new_custom(runtime, "the test's store", AGENT_NTS, options, AGENT_NTS, answer_custom, custom,
                                     custom_destroyed, &store, &error));
    return store;
}

/* After its destroy function was called. */
static inline void custom_free(custom_t *custom)
{
    pthread_mutex_lock(&custom->mutex);
    agent_store_call_free(custom->watching);
    agent_json_free(custom->sessions);
    pthread_mutex_unlock(&custom->mutex);
    EXPECT(gate_count(&custom->destroyed) == 1);
}

#endif /* STORES_H */
