/*
 * The application of a scenario: the actions of steps, listeners, tools, middleware and hooks. docs/scenarios.md describes them.
 */

#ifndef ACTORS_H
#define ACTORS_H

#include <agent.h>

#include "json.h"

#define IS(word) (strcmp(name, word) == 0)
#define QUEUE_IS_FILLED "the queue is filled"

typedef struct {
    const char *items[256];
    size_t count;
} list_t;

typedef struct {
    const value_t *fields;
    uint64_t subscription;
    bool is_subscribed;
    int seen;
} listener_t;

/* A tool's function, its prepare_arguments, a hook or a middleware, with its behaviours. */
typedef struct {
    const value_t *behaviours;
    const char *name;   /* of a tool or a hook */
    bool is_recorded;   /* a hook of the scenario */
    int count;
    list_t calls;       /* the ids of the calls it got */
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
    listener_t listeners[16];
    size_t listener_count, unanswered_count, run_count;
    call_t unanswered[16];
    list_t log, gates, started, started_tools, ended;
    text_t runs, requests, hooks;
    int working; /* callbacks */
    bool over;
} app;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static agent_error_t *error;

static void stop(const char *what, const char *text)
{
    printf("    the scenario cannot be played: %s: %s\n", what, text);
    exit(1);
}

static void must(agent_status_t rc, const char *what)
{
    if (rc < 0)
        stop(what, agent_error_message(error, NULL));
}

static void lock(void) { pthread_mutex_lock(&mutex); }

static void unlock(void)
{
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&mutex);
}

static value_t *parse_copy(const char *text, size_t length)
{
    return parse(memcpy(allocate(length + 1), text, length), length);
}

static bool has(const list_t *list, const char *text)
{
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->items[i], text) == 0)
            return true;
    return false;
}

/* With the mutex held. */
static void add(list_t *list, const char *text)
{
    if (list->count == sizeof list->items / sizeof *list->items)
        stop("too many", text);
    list->items[list->count++] = strcpy(allocate(strlen(text) + 1), text);
}

static void add_locked(list_t *list, const char *text)
{
    lock();
    add(list, text);
    unlock();
}

/* Waits in real time for another actor. */
static void wait_for(const list_t *list, const char *text)
{
    lock();
    while (!app.over && !has(list, text))
        pthread_cond_wait(&changed, &mutex);
    unlock();
}

/* ---- actions of every actor -------------------------------------------------------------------------------------- */

/* A prompt as messages: a text, blocks, a message, or a list of messages. */
static agent_messages_t *messages_of(const value_t *prompt)
{
    agent_messages_t *messages = NULL;
    bool is_message = prompt->type == OBJECT;
    bool is_list = prompt->type == ARRAY && (!prompt->first || member(prompt->first, "role"));
    text_t list = {NULL, 0, 0};

    print(&list, is_list ? "" : is_message ? "[" : "[{\"role\":\"user\",\"content\":");
    append(&list, prompt->text, prompt->text_length);
    print(&list, is_list ? "" : is_message ? "]" : "}]");
    must(agent_messages_from_json(list.data, list.length, &messages, &error), "a prompt");
    return messages;
}

static void log_state(void)
{
    static const char *const names[] = {"is_streaming", "streaming_message", "pending_tool_calls", "error"};
    agent_text_t *state = NULL;
    text_t line = {NULL, 0, 0};
    const char *text;
    size_t length;
    value_t *fields;

    must(agent_state_json(app.agent, &state, &error), "agent_state_json");
    text = agent_text_data(state, &length);
    fields = parse_copy(text, length);
    agent_text_free(state);
    print(&line, "%zu messages", count_of(member(fields, "messages")));
    for (size_t i = 0; i < 4; i++) {
        const value_t *field = member(fields, names[i]);

        print(&line, ", ");
        print_value(&line, field->type != OBJECT ? field : member(field, member(field, "kind") ? "kind" : "content"), "null");
    }
    add_locked(&app.log, line.data);
}

static void listen(void *userdata, const agent_event_t *event);

static agent_status_t change_subscription(const char *name, bool wanted)
{
    for (listener_t *each = app.listeners; each < app.listeners + app.listener_count; each++) {
        if (!is_string(member(each->fields, "name"), name) || each->is_subscribed == wanted)
            continue;
        each->is_subscribed = wanted;
        each->seen = 0;
        return wanted ? agent_subscribe(app.agent, listen, each, NULL, &each->subscription, NULL)
                      : agent_unsubscribe(app.agent, each->subscription, NULL);
    }
    stop("there is no such listener", name);
    return AGENT_NOT_FOUND;
}

static agent_status_t start(const value_t *prompt, agent_run_t **run)
{
    agent_messages_t *messages = prompt ? messages_of(prompt) : NULL;
    agent_status_t rc = prompt ? agent_prompt_messages(app.agent, messages, run, NULL) : agent_resume(app.agent, run, NULL);

    agent_messages_free(messages);
    return rc;
}

static agent_status_t act(const char *name, const value_t *given)
{
    static const struct {
        const char *name;
        agent_status_t (*function)(agent_t *, agent_error_t **);
    } plain[] = {
        {"abort", agent_abort}, {"reset", agent_reset}, {"clear_messages", agent_clear_messages},
        {"clear_steering_queue", agent_clear_steering_queue}, {"clear_follow_up_queue", agent_clear_follow_up_queue},
        {"clear_all_queues", agent_clear_all_queues},
    };
    static const struct {
        const char *name;
        agent_status_t (*function)(agent_t *, const agent_messages_t *, agent_error_t **);
    } with_messages[] = {
        {"steer", agent_steer_messages}, {"follow_up", agent_follow_up_messages}, {"append_message", agent_append_messages},
        {"replace_messages", agent_set_messages},
    };
    agent_run_t *run = NULL;
    agent_status_t rc = AGENT_OK;

    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (IS(plain[i].name))
            return plain[i].function(app.agent, NULL);
    for (size_t i = 0; i < sizeof with_messages / sizeof *with_messages; i++) {
        if (IS(with_messages[i].name)) {
            agent_messages_t *messages = messages_of(given);

            rc = with_messages[i].function(app.agent, messages, NULL);
            agent_messages_free(messages);
            return rc;
        }
    }
    if (IS("set"))
        return agent_set_json(app.agent, given->text, given->text_length, NULL);
    if (IS("wait_for_idle"))
        return agent_wait_for_idle(app.agent, -1, NULL);
    if (IS("subscribe") || IS("unsubscribe"))
        return change_subscription(given->string, IS("subscribe"));
    if (IS("log_state"))
        log_state();
    else if (IS("log_queued"))
        add_locked(&app.log, agent_has_queued_messages(app.agent) ? "queued: true" : "queued: false");
    else if (IS("open"))
        add_locked(&app.gates, given->string);
    else if (IS("wait_log"))
        wait_for(&app.log, given->string);
    else if (IS("prompt") || IS("resume"))
        rc = start(IS("prompt") ? given : NULL, &run);
    else
        stop("unknown action", name);
    agent_run_free(run);
    return rc;
}

/* An action in a behaviour: a refusal is logged. */
static void act_and_log(const char *name, const value_t *given)
{
    char line[100];
    agent_status_t rc = IS("log") ? AGENT_OK : act(name, given);

    snprintf(line, sizeof line, "%s: %s", name, rc < 0 ? agent_status_name(rc) : "");
    if (rc < 0 || IS("log"))
        add_locked(&app.log, rc < 0 ? line : given->string);
}

/* ---- listeners --------------------------------------------------------------------------------------------------- */

static void listen(void *userdata, const agent_event_t *event)
{
    listener_t *listener = userdata;
    const value_t *nth = member(listener->fields, "nth");
    size_t length;
    const char *text = agent_event_json(event, &length), *at;
    char line[100];

    if (!contains(parse_copy(text, length), member(listener->fields, "on")))
        return;
    listener->seen++;
    if (nth && nth->number != listener->seen)
        return;
    for (const value_t *action = member(listener->fields, "do")->first; action; action = action->next) {
        const value_t *given = action->first;

        if (strcmp(given->name, "log") == 0 && (at = strstr(given->string, "$type"))) {
            snprintf(line, sizeof line, "%.*s%s%s", (int)(at - given->string), given->string,
                     agent_event_kind_name(agent_event_kind(event)), at + 5);
            add_locked(&app.log, line);
        } else {
            act_and_log(given->name, given);
        }
    }
}

/* The player's own listener: which calls have started and ended. */
static void watch_calls(void *userdata, const agent_event_t *event)
{
    (void)userdata;
    lock();
    if (agent_event_kind(event) == AGENT_EVENT_TOOL_EXECUTION_START) {
        add(&app.started, agent_event_tool_call_id(event, NULL));
        add(&app.started_tools, agent_event_tool_name(event, NULL));
    }
    if (agent_event_kind(event) == AGENT_EVENT_TOOL_EXECUTION_END)
        add(&app.ended, agent_event_tool_call_id(event, NULL));
    unlock();
}

/* ---- behaviours -------------------------------------------------------------------------------------------------- */

/* Whether a call that started before this one is still to come to this actor. */
static bool is_early(const actor_t *actor, const char *id)
{
    for (size_t i = 0; i < app.started.count && strcmp(app.started.items[i], id) != 0; i++)
        if (!has(&app.ended, app.started.items[i]) && !has(&actor->calls, app.started.items[i])
            && (!actor->name || strcmp(actor->name, app.started_tools.items[i]) == 0))
            return true;
    return false;
}

/*
 * The behaviour of the next call; the last one holds for all further calls. Calls of one message come concurrently, each on its
 * thread; they are counted in the order of their start. With the mutex held.
 */
static const value_t *next_behaviour(actor_t *actor, const char *id)
{
    const value_t *behaviour = actor->behaviours ? actor->behaviours->first : NULL;

    while (id && !app.over && is_early(actor, id))
        pthread_cond_wait(&changed, &mutex);
    if (id)
        add(&actor->calls, id);
    for (int i = actor->count++; i > 0 && behaviour && behaviour->next; i--)
        behaviour = behaviour->next;
    return behaviour;
}

typedef struct {
    bool is_there, is_error;
    const char *text;
    size_t length;
} next_t;

static void next_ended(void *userdata, bool is_error, const char *text, size_t length)
{
    lock();
    *(next_t *)userdata = (next_t){true, is_error, memcpy(allocate(length + 1), text, length), length};
    unlock();
}

/* Runs the rest of the chain. On the heap: an abandoned call may get its result later. */
static const next_t *run_next(agent_tool_call_t *call, const value_t *arguments)
{
    next_t *next = allocate(sizeof *next);

    must(agent_tool_call_next(call, arguments ? arguments->text : NULL, arguments ? arguments->text_length : 0,
                              next_ended, next, NULL, &error), "next");
    lock();
    while (!next->is_there)
        pthread_cond_wait(&changed, &mutex);
    unlock();
    return next;
}

/* The list of messages that a hook returns. */
static value_t *changed_messages(const value_t *list, const char *name, const value_t *given)
{
    size_t left = count_of(list), kept = IS("keep_last") ? (size_t)given->number : left;
    text_t out = {NULL, 0, 0};

    print(&out, "[");
    for (const value_t *each = list->first; each; each = each->next) {
        const char *role = string_of(member(each, "role"));
        const value_t *standard = IS("roles") && role ? member(given, role) : NULL;

        if (left-- > kept)
            continue;
        append(&out, ",", out.length > 1 ? 1 : 0);
        if (standard) {
            print(&out, "{\"role\":\"%s\",\"content\":[{\"type\":\"text\",\"text\":", standard->string);
            print_value(&out, member(each, "text"), "null");
            print(&out, "}],\"timestamp\":0}");
        } else {
            print_value(&out, each, "");
        }
    }
    for (const value_t *each = IS("append") ? given->first : NULL; each; each = each->next) {
        append(&out, ",", out.length > 1 ? 1 : 0);
        print_value(&out, each, "");
    }
    print(&out, "]");
    return parse(out.data, out.length);
}

/* Takes the actions in order and answers the call: with `value` unless an action returns another. */
static void behave(const value_t *behaviour, const value_t *value, call_t call)
{
    const char *failure = NULL;
    size_t length = 0;

    for (const value_t *action = behaviour ? behaviour->first : NULL; action && !failure; action = action->next) {
        const value_t *given = action->first;
        const char *name = given->name;

        if (IS("return")) {
            value = given;
            break;
        } else if (IS("throw")) {
            failure = given->string;
            length = given->length;
        } else if (IS("never")) {
            lock();
            app.unanswered[app.unanswered_count++] = call;
            unlock();
            return;
        } else if (IS("sleep_ms") && call.tool) {
            agent_tool_call_sleep(call.tool, (uint64_t)given->number, NULL);
        } else if (IS("sleep_ms")) {
            agent_hook_call_sleep(call.hook, (uint64_t)given->number, NULL);
        } else if (IS("update")) {
            agent_tool_call_update_json(call.tool, given->text, given->text_length, NULL);
        } else if (IS("gate")) {
            wait_for(&app.gates, given->string);
        } else if (IS("next")) {
            const next_t *next = run_next(call.tool, member(given, "arguments"));

            length = next->length;
            if (next->is_error)
                failure = next->text;
            else
                value = parse(next->text, next->length);
        } else if (IS("keep_last") || IS("append") || IS("roles")) {
            value = changed_messages(value, name, given);
        } else {
            act_and_log(name, given);
        }
    }
    if (failure && call.tool)
        agent_tool_call_fail(call.tool, failure, length, NULL);
    else if (failure)
        agent_hook_call_fail(call.hook, failure, length, NULL);
    else if (call.tool)
        agent_tool_call_respond_json(call.tool, value->text, value->text_length, NULL);
    else
        agent_hook_call_respond_json(call.hook, value->text, value->text_length, NULL);
    agent_tool_call_free(call.tool);
    agent_hook_call_free(call.hook);
}

static const value_t null = {.text = "null", .text_length = 4};

static void work(int change)
{
    lock();
    app.working += change;
    unlock();
}

static void on_tool_call(void *actor, agent_tool_call_t *call)
{
    const value_t *behaviour;

    work(1);
    lock();
    behaviour = next_behaviour(actor, agent_tool_call_id(call, NULL));
    unlock();
    behave(behaviour, &null, (call_t){.tool = call});
    work(-1);
}

/* A hook of an agent, which also records its input and the requests; or a tool's prepare_arguments, which has no name. */
static void on_hook_call(void *userdata, agent_hook_call_t *call)
{
    actor_t *actor = userdata;
    const char *name = actor->name ? actor->name : "";
    const value_t *input, *value = &null, *behaviour;
    size_t length;
    const char *text = agent_hook_call_input(call, &length);

    work(1);
    input = parse_copy(text, length);
    lock();
    if (IS("on_payload")) {
        append(&app.requests, ",", app.requests.length ? 1 : 0);
        print_value(&app.requests, member(input, "payload"), "null");
    }
    if (actor->is_recorded) {
        print(&app.hooks, "%s{\"hook\":\"%s\",\"input\":", app.hooks.length ? "," : "", name);
        print_without(&app.hooks, input, "payload", member(input, "outcome") ? "messages" : NULL);
        print(&app.hooks, "}");
    }
    behaviour = next_behaviour(actor, NULL);
    unlock();
    if (!actor->name)
        value = input;
    if (IS("transform_context") || IS("convert_to_llm"))
        value = member(input, "messages");
    behave(behaviour, value, (call_t){.hook = call});
    work(-1);
}

/* Lets a stateless run begin when its queue is filled. */
static void on_before_run(void *userdata, agent_hook_call_t *call)
{
    (void)userdata;
    work(1);
    wait_for(&app.gates, QUEUE_IS_FILLED);
    behave(NULL, &null, (call_t){.hook = call});
    work(-1);
}

#endif /* ACTORS_H */
