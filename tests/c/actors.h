/* The application of a scenario: actions, listeners, tools, middleware and hooks. docs/scenarios.md describes them. */

#include <agent.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define IS(word) (strcmp(name, word) == 0)
#define EACH(i, json) (size_t i = 0; i < agent_json_count(json); i++)
#define AT(json, pointer) agent_json_get(json, pointer, AGENT_NTS)
#define TEXT(json) agent_json_text(json, NULL)
/* What is freed at the end of its block. */
#define OWNED __attribute__((cleanup(free_json))) agent_json_t *
#define OWNED_MESSAGES __attribute__((cleanup(free_messages))) agent_messages_t *
/* The text that the arguments after `format` make. */
#define FORMATTED(text, size, format)            \
    char text[size];                             \
    va_list arguments;                           \
    va_start(arguments, format);                 \
    vsnprintf(text, size, format, arguments);    \
    va_end(arguments)

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

static void must(agent_status_t rc, const char *what)
{
    if (rc >= 0)
        return;
    printf("    the scenario cannot be played: %s: %s\n", what,
           error ? agent_error_message(error, NULL) : agent_status_name(rc));
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

/* Sets what is at a pointer, which is a format. */
static void put(agent_json_t *json, const agent_json_t *value, const char *format, ...)
{
    FORMATTED(pointer, 100, format);
    lock();
    must(agent_json_set(json, pointer, AGENT_NTS, value, &error), pointer);
    unlock();
}

static agent_status_t put_text(agent_json_t *json, const char *text, const char *pointer)
{
    lock();
    must(agent_json_set_string(json, pointer, AGENT_NTS, text, AGENT_NTS, &error), pointer);
    unlock();
    return AGENT_OK;
}

static agent_status_t log_line(const char *format, ...)
{
    FORMATTED(line, 4000, format);
    return put_text(app.result, line, "/log/-");
}

static const char *string_at(const agent_json_t *json, const char *pointer)
{
    const char *text = NULL;
    agent_json_get_string(json, pointer, AGENT_NTS, &text, NULL, NULL);
    return text;
}

static int64_t number_of(const agent_json_t *json)
{
    int64_t number = 0;
    must(agent_json_get_integer(json, "", 0, &number, &error), "a number");
    return number;
}

/* A member by its key. */
static const agent_json_t *member(const agent_json_t *json, const char *name)
{
    for EACH(i, json)
        if (agent_json_key(json, i, NULL) && IS(agent_json_key(json, i, NULL)))
            return agent_json_at(json, i);
    return NULL;
}

/* Whether a value contains another: objects may have more members, all else is equal, and null is in everything. */
static bool contains(const agent_json_t *value, const agent_json_t *wanted)
{
    if (agent_json_type(wanted) != AGENT_JSON_OBJECT)
        return agent_json_type(wanted) <= AGENT_JSON_NULL || agent_json_equals(value, wanted);
    for EACH(i, wanted) {
        const agent_json_t *found = member(value, agent_json_key(wanted, i, NULL));
        if (!found || !contains(found, agent_json_at(wanted, i)))
            return false;
    }
    return true;
}

static bool has(const agent_json_t *list, const char *name)
{
    for EACH(i, list)
        if (IS(string_at(agent_json_at(list, i), "")))
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

/* ---- actions of every actor -------------------------------------------------------------------------------------- */

/* A prompt as messages: a text, blocks, a message, or a list of messages. */
static agent_messages_t *messages_of(const agent_json_t *prompt)
{
    agent_messages_t *messages = NULL;
    OWNED list = parse("[]");
    bool is_list = agent_json_type(prompt) == AGENT_JSON_ARRAY && (!agent_json_at(prompt, 0) || AT(prompt, "/0/role"));

    put(list, prompt, is_list ? "" : AT(prompt, "/role") ? "/-" : "/-/content");
    if (!is_list && !AT(prompt, "/role"))
        put_text(list, "user", "/0/role");
    must(agent_messages_from_json(TEXT(list), AGENT_NTS, &messages, &error), "a prompt");
    return messages;
}

static agent_status_t start(const agent_json_t *prompt, agent_run_t **run)
{
    OWNED_MESSAGES messages = prompt ? messages_of(prompt) : NULL;
    return prompt ? agent_prompt_messages(app.agent, messages, run, NULL) : agent_resume(app.agent, run, NULL);
}

typedef agent_status_t (*method_t)(agent_t *, const agent_messages_t *, agent_error_t **);

static agent_status_t give(const agent_json_t *prompt, method_t method)
{
    OWNED_MESSAGES messages = messages_of(prompt);
    return method(app.agent, messages, NULL);
}

static agent_json_t *state(void)
{
    agent_text_t *text = NULL;
    must(agent_state_json(app.agent, &text, &error), "agent_state_json");
    agent_json_t *fields = parse(agent_text_data(text, NULL));
    agent_text_free(text);
    return fields;
}

static agent_status_t log_state(void)
{
    OWNED now = state();
    const char *content = TEXT(AT(now, "/streaming_message/content")), *kind = TEXT(AT(now, "/error/kind"));

    return log_line("%zu messages, %s, %s, %s, %s", agent_json_count(AT(now, "/messages")), TEXT(AT(now, "/is_streaming")),
                    content ? content : "null", TEXT(AT(now, "/pending_tool_calls")), kind ? kind : "null");
}

static void listen(void *userdata, const agent_event_t *event);

static agent_status_t subscribe(actor_t *listener, bool wanted)
{
    listener->is_subscribed = wanted;
    listener->count = 0;
    return wanted ? agent_subscribe(app.agent, listen, listener, NULL, &listener->subscription, NULL)
                  : agent_unsubscribe(app.agent, listener->subscription, NULL);
}

static agent_status_t change_subscription(const char *name, bool wanted)
{
    for (actor_t *each = app.actors; each < app.actors + app.actor_count; each++)
        if (AT(each->given, "/do") && each->name && IS(each->name) && each->is_subscribed != wanted)
            return subscribe(each, wanted);
    return AGENT_NOT_FOUND;
}

static agent_status_t act(const char *name, const agent_json_t *given)
{
    const char *text = string_at(given, "");

    if (IS("steer")) return give(given, agent_steer_messages);
    if (IS("follow_up")) return give(given, agent_follow_up_messages);
    if (IS("append_message")) return give(given, agent_append_messages);
    if (IS("replace_messages")) return give(given, agent_set_messages);
    if (IS("abort")) return agent_abort(app.agent, NULL);
    if (IS("reset")) return agent_reset(app.agent, NULL);
    if (IS("clear_messages")) return agent_clear_messages(app.agent, NULL);
    if (IS("clear_steering_queue")) return agent_clear_steering_queue(app.agent, NULL);
    if (IS("clear_follow_up_queue")) return agent_clear_follow_up_queue(app.agent, NULL);
    if (IS("clear_all_queues")) return agent_clear_all_queues(app.agent, NULL);
    if (IS("set")) return agent_set_json(app.agent, TEXT(given), AGENT_NTS, NULL);
    if (IS("wait_for_idle")) return agent_wait_for_idle(app.agent, -1, NULL);
    if (IS("prompt")) return start(given, NULL);
    if (IS("resume")) return start(NULL, NULL);
    if (IS("subscribe") || IS("unsubscribe")) return change_subscription(text, IS("subscribe"));
    if (IS("log")) return log_line("%s", text);
    if (IS("log_state")) return log_state();
    if (IS("log_queued")) return log_line("queued: %s", agent_has_queued_messages(app.agent) ? "true" : "false");
    if (IS("open")) return put_text(app.seen, text, "/gates/-");
    if (IS("wait_log")) return wait_for(app.result, "/log", text);
    return AGENT_INVALID_ARGUMENT; /* not an action */
}

/* An action in a behaviour: a refusal is logged. */
static void act_and_log(const agent_json_t *action)
{
    const char *name = agent_json_key(action, 0, NULL);
    agent_status_t rc = act(name, agent_json_at(action, 0));

    if (rc < 0)
        log_line("%s: %s", name, agent_status_name(rc));
}

/* ---- listeners --------------------------------------------------------------------------------------------------- */

static void listen(void *userdata, const agent_event_t *event)
{
    actor_t *listener = userdata;
    const agent_json_t *nth = AT(listener->given, "/nth"), *actions = AT(listener->given, "/do");
    OWNED fields = parse(agent_event_json(event, NULL));

    if (!contains(fields, AT(listener->given, "/on")))
        return;
    listener->count++;
    if (nth && number_of(nth) != listener->count)
        return;
    for EACH(i, actions) {
        const char *log = string_at(agent_json_at(actions, i), "/log"), *type = log ? strstr(log, "$type") : NULL;

        if (type)
            log_line("%.*s%s%s", (int)(type - log), log, agent_event_kind_name(agent_event_kind(event)), type + 5);
        else
            act_and_log(agent_json_at(actions, i));
    }
}

/* The player's own listener: which calls have started and ended. */
static void watch_calls(void *userdata, const agent_event_t *event)
{
    (void)userdata;
    lock();
    if (agent_event_kind(event) == AGENT_EVENT_TOOL_EXECUTION_START) {
        put_text(app.seen, agent_event_tool_call_id(event, NULL), "/started/-");
        put_text(app.seen, agent_event_tool_name(event, NULL), "/tools/-");
    }
    if (agent_event_kind(event) == AGENT_EVENT_TOOL_EXECUTION_END)
        put_text(app.seen, agent_event_tool_call_id(event, NULL), "/ended/-");
    unlock();
}

/* ---- behaviours -------------------------------------------------------------------------------------------------- */

/* Whether a call that started before this one is still to come to this actor. */
static bool is_early(const actor_t *actor, const char *id)
{
    for EACH(i, AT(app.seen, "/started")) {
        const char *other = string_at(agent_json_at(AT(app.seen, "/started"), i), "");
        const char *tool = string_at(agent_json_at(AT(app.seen, "/tools"), i), "");

        if (strcmp(other, id) == 0)
            return false;
        if (!has(AT(app.seen, "/ended"), other) && !has(actor->calls, other) && (!actor->name || strcmp(actor->name, tool) == 0))
            return true;
    }
    return false;
}

/*
 * The behaviour of the next call; the last one holds for all further calls. Calls of one message come concurrently, each on its
 * thread; they are counted in the order of their start.
 */
static const agent_json_t *next_behaviour(actor_t *actor, const char *id)
{
    size_t last = agent_json_count(actor->given), count;

    lock();
    while (id && !app.over && is_early(actor, id))
        pthread_cond_wait(&changed, &mutex);
    if (id)
        put_text(actor->calls, id, "/-");
    count = (size_t)actor->count++;
    unlock();
    return last ? agent_json_at(actor->given, count < last ? count : last - 1) : NULL;
}

static void next_ended(void *next, bool is_error, const char *text, size_t length)
{
    lock();
    must((is_error ? agent_json_set_string : agent_json_set_json)(next, "/answer", AGENT_NTS, text, length, &error), "next");
    must(agent_json_set_bool(next, "/failed", AGENT_NTS, is_error, &error), "next");
    unlock();
}

/* Runs the rest of the chain, whose result becomes the answer. Returns whether it failed. */
static bool run_next(agent_tool_call_t *call, const agent_json_t *arguments, agent_json_t *answer)
{
    OWNED next = parse("{}");
    bool failed = false;

    must(agent_tool_call_next(call, TEXT(arguments), AGENT_NTS, next_ended, next, NULL, &error), "next");
    lock();
    while (agent_json_get_bool(next, "/failed", AGENT_NTS, &failed, NULL) < 0)
        pthread_cond_wait(&changed, &mutex);
    unlock();
    put(answer, AT(next, "/answer"), "");
    return failed;
}

/* Changes the list of messages that a hook returns. */
static void change_messages(agent_json_t *list, const char *name, const agent_json_t *given)
{
    while (IS("keep_last") && (int64_t)agent_json_count(list) > number_of(given))
        must(agent_json_remove(list, "/0", AGENT_NTS, &error), "keep_last");
    for (size_t i = 0; IS("append") && i < agent_json_count(given); i++)
        put(list, agent_json_at(given, i), "/-");
    for (size_t i = 0; IS("roles") && i < agent_json_count(list); i++) {
        const agent_json_t *message = agent_json_at(list, i), *role = member(given, string_at(message, "/role"));
        OWNED standard = parse("{\"content\": [{\"type\": \"text\"}], \"timestamp\": 0}");

        if (!role)
            continue;
        put(standard, role, "/role");
        put(standard, AT(message, "/text"), "/content/0/text");
        put(list, standard, "/%zu", i);
    }
}

/* Takes the actions in order and answers the call: with `answer`, which is freed, as the actions changed it. */
static void behave(const agent_json_t *behaviour, agent_json_t *given_answer, call_t call)
{
    OWNED answer = given_answer;
    bool failed = false, answers = true, ended = false;
    const char *text;

    for (size_t i = 0; i < agent_json_count(behaviour) && !ended; i++) {
        const agent_json_t *action = agent_json_at(behaviour, i), *given = agent_json_at(action, 0);
        const char *name = agent_json_key(action, 0, NULL);

        if (IS("return") || IS("throw")) {
            put(answer, given, "");
            failed = IS("throw");
            ended = true;
        } else if (IS("never")) {
            wait_for(app.seen, "/gates", "which no action opens");
            answers = false;
            ended = true;
        } else if (IS("sleep_ms") && call.tool) {
            agent_tool_call_sleep(call.tool, (uint64_t)number_of(given), NULL);
        } else if (IS("sleep_ms")) {
            agent_hook_call_sleep(call.hook, (uint64_t)number_of(given), NULL);
        } else if (IS("update")) {
            agent_tool_call_update_json(call.tool, TEXT(given), AGENT_NTS, NULL);
        } else if (IS("gate")) {
            wait_for(app.seen, "/gates", string_at(given, ""));
        } else if (IS("next")) {
            failed = ended = run_next(call.tool, AT(given, "/arguments"), answer);
        } else if (IS("keep_last") || IS("append") || IS("roles")) {
            change_messages(answer, name, given);
        } else {
            act_and_log(action);
        }
    }
    text = failed ? string_at(answer, "") : TEXT(answer);
    if (answers && call.tool)
        (failed ? agent_tool_call_fail : agent_tool_call_respond_json)(call.tool, text, AGENT_NTS, NULL);
    else if (answers)
        (failed ? agent_hook_call_fail : agent_hook_call_respond_json)(call.hook, text, AGENT_NTS, NULL);
    agent_tool_call_free(call.tool);
    agent_hook_call_free(call.hook);
}

static void on_tool_call(void *actor, agent_tool_call_t *call)
{
    behave(next_behaviour(actor, agent_tool_call_id(call, NULL)), parse("null"), (call_t){.tool = call});
}

/* A hook of an agent, which also records its input and the requests; or a tool's prepare_arguments, which has no name. */
static void on_hook_call(void *userdata, agent_hook_call_t *call)
{
    actor_t *actor = userdata;
    const char *name = actor->name ? actor->name : "";
    const agent_json_t *behaviour;
    OWNED input = parse(agent_hook_call_input(call, NULL));
    OWNED hook = parse("{}");
    agent_json_t *answer = parse("null");

    if (!actor->name || IS("transform_context") || IS("convert_to_llm"))
        put(answer, actor->name ? AT(input, "/messages") : input, "");
    if (IS("on_payload"))
        put(app.result, AT(input, "/payload"), "/requests/-");
    agent_json_remove(input, "/payload", AGENT_NTS, NULL);
    if (IS("after_run"))
        agent_json_remove(input, "/messages", AGENT_NTS, NULL);
    put_text(hook, name, "/hook");
    put(hook, input, "/input");
    lock(); /* recorded in the order of the behaviours */
    if (actor->name && actor->given)
        put(app.result, hook, "/hooks/-");
    behaviour = next_behaviour(actor, NULL);
    unlock();
    behave(behaviour, answer, (call_t){.hook = call});
}

/* What the library calls when it will not call an actor again. */
static void dismiss(void *actor)
{
    (void)actor;
    lock();
    app.active--;
    unlock();
}
