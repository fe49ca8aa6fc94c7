/* One story's application: what its steps, tools, hooks, links and listeners can do. docs/scenarios.md says what each does. */

#ifndef STAGE_H
#define STAGE_H

#include <agent.h>
#include <time.h>

#include "json.h"

/* Whether an action has this name. */
#define IS(word) (strcmp(name, word) == 0)

/* ---- the stage --------------------------------------------------------------------------------------------------- */

typedef struct {
    const value_t *story;
    uint64_t subscription;
    bool is_subscribed;
    int seen;
} listener_t;

/* A call whose execution has begun, or has ended before it did. */
typedef struct {
    const char *id, *tool;
    bool ended;
} started_t;

/* Who acts in calls: a tool's function, its prepare_arguments, a hook or a link. */
typedef struct {
    const value_t *behaviours;
    const char *name;   /* of a tool or a hook */
    bool is_recorded;   /* a hook of the story's */
    int called;
    const char *begun[64]; /* the ids of the calls it was called with */
    int begun_count;
} role_t;

/* One story at a time. All of it is used under the mutex, and a change of it is told to those who wait. */
static struct {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    agent_t *agent;
    listener_t listeners[16];
    size_t listener_count;
    const char *log[256];
    size_t log_count;
    const char *gates[16];
    size_t gate_count;
    started_t started[256];
    size_t started_count;
    agent_tool_call_t *kept_calls[16]; /* never answered */
    size_t kept_call_count;
    agent_hook_call_t *kept_hooks[16];
    size_t kept_hook_count;
    text_t requests, told;
    int at_work; /* callbacks */
    bool over;
} stage = {.mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void stage_fails(const char *what, const char *text)
{
    printf("    the story cannot be played: %s: %s\n", what, text);
    exit(1);
}

static void lock(void) { pthread_mutex_lock(&stage.mutex); }
static void unlock(void) { pthread_mutex_unlock(&stage.mutex); }

static void changed_and_unlock(void)
{
    pthread_cond_broadcast(&stage.changed);
    unlock();
}

static char *copied(const char *text, size_t length)
{
    char *copy = take(length + 1);

    memcpy(copy, text, length);
    return copy;
}

static value_t *parsed(const char *text, size_t length) { return parse(copied(text, length), length); }

static bool listed(const char *const *list, size_t count, const char *text)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(list[i], text) == 0)
            return true;
    return false;
}

static void write_log(const char *line)
{
    lock();
    if (stage.log_count == sizeof stage.log / sizeof *stage.log)
        stage_fails("too long a log", line);
    stage.log[stage.log_count++] = copied(line, strlen(line));
    changed_and_unlock();
}

/* Waits in real time for another actor. */
static void wait_until_listed(const char *const *list, const size_t *count, const char *text)
{
    lock();
    while (!stage.over && !listed(list, *count, text))
        pthread_cond_wait(&stage.changed, &stage.mutex);
    unlock();
}

/* ---- what can be asked of an agent ------------------------------------------------------------------------------- */

/* A prompt as messages: a text, blocks, a message, or a list of messages. To be freed. */
static agent_messages_t *prompt_of(const value_t *prompt)
{
    agent_messages_t *messages = NULL;
    agent_error_t *error = NULL;
    text_t user = {NULL, 0, 0};
    agent_status_t rc;

    if (prompt->type == ARRAY && (!prompt->first || member(prompt->first, "role"))) {
        rc = agent_messages_from_json(prompt->text, prompt->text_length, &messages, &error);
    } else {
        rc = agent_messages_new(&messages, &error);
        if (rc == AGENT_OK && prompt->type == OBJECT)
            rc = agent_messages_add_json(messages, prompt->text, prompt->text_length, &error);
        else if (rc == AGENT_OK && prompt->type == STRING)
            rc = agent_messages_add_user(messages, prompt->string, prompt->length, &error);
        else if (rc == AGENT_OK) {
            say(&user, "{\"role\": \"user\", \"content\": ");
            append(&user, prompt->text, prompt->text_length);
            say(&user, "}");
            rc = agent_messages_add_json(messages, user.data, user.length, &error);
        }
    }
    if (rc < 0)
        stage_fails("a prompt", agent_error_message(error, NULL));
    return messages;
}

static agent_status_t with_messages(const value_t *given,
                                    agent_status_t (*function)(agent_t *, const agent_messages_t *, agent_error_t **))
{
    agent_messages_t *messages = prompt_of(given);
    agent_status_t rc = function(stage.agent, messages, NULL);

    agent_messages_free(messages);
    return rc;
}

/* The state's fields in a line. */
static agent_status_t log_state(void)
{
    static const char *const words[] = {"is_streaming", "streaming_message", "pending_tool_calls", "error"};
    agent_text_t *state = NULL;
    agent_status_t rc = agent_state_json(stage.agent, &state, NULL);
    text_t line = {NULL, 0, 0};
    const char *text;
    size_t length;
    value_t *fields;

    text = agent_text_data(state, &length);
    fields = parsed(text, length);
    agent_text_free(state);
    say(&line, "%zu messages", count_of(member(fields, "messages")));
    for (size_t i = 0; i < 4; i++) {
        const value_t *field = member(fields, words[i]);

        if (field->type == OBJECT)
            field = member(field, i == 1 ? "content" : "kind");
        say(&line, ", ");
        append(&line, field->text, field->text_length);
    }
    write_log(line.data);
    return rc;
}

static void listen(void *userdata, const agent_event_t *event);

static agent_status_t change_subscription(const char *name, bool wanted)
{
    for (size_t i = 0; i < stage.listener_count; i++) {
        listener_t *listener = &stage.listeners[i];

        if (!is_string(member(listener->story, "name"), name) || listener->is_subscribed == wanted)
            continue;
        listener->is_subscribed = wanted;
        if (!wanted)
            return agent_unsubscribe(stage.agent, listener->subscription, NULL);
        listener->seen = 0;
        return agent_subscribe(stage.agent, listen, listener, NULL, &listener->subscription, NULL);
    }
    stage_fails("there is no such listener to change", name);
    return AGENT_NOT_FOUND;
}

/* What every actor can do. */
static agent_status_t act(const char *name, const value_t *given)
{
    agent_t *agent = stage.agent;
    agent_run_t *run = NULL;
    agent_status_t rc;

    if (IS("steer"))
        return with_messages(given, agent_steer_messages);
    if (IS("follow_up"))
        return with_messages(given, agent_follow_up_messages);
    if (IS("append_message"))
        return with_messages(given, agent_append_messages);
    if (IS("replace_messages"))
        return with_messages(given, agent_set_messages);
    if (IS("abort"))
        return agent_abort(agent, NULL);
    if (IS("clear_steering_queue"))
        return agent_clear_steering_queue(agent, NULL);
    if (IS("clear_follow_up_queue"))
        return agent_clear_follow_up_queue(agent, NULL);
    if (IS("clear_all_queues"))
        return agent_clear_all_queues(agent, NULL);
    if (IS("clear_messages"))
        return agent_clear_messages(agent, NULL);
    if (IS("reset"))
        return agent_reset(agent, NULL);
    if (IS("set"))
        return agent_set_json(agent, given->text, given->text_length, NULL);
    if (IS("wait_for_idle"))
        return agent_wait_for_idle(agent, -1, NULL);
    if (IS("subscribe") || IS("unsubscribe"))
        return change_subscription(string_of(given), IS("subscribe"));
    if (IS("log_state"))
        return log_state();
    if (IS("log_queued")) {
        write_log(agent_has_queued_messages(agent) ? "queued: true" : "queued: false");
        return AGENT_OK;
    }
    if (IS("open")) {
        lock();
        stage.gates[stage.gate_count++] = string_of(given);
        changed_and_unlock();
        return AGENT_OK;
    }
    if (IS("wait_log")) {
        wait_until_listed(stage.log, &stage.log_count, string_of(given));
        return AGENT_OK;
    }
    if (IS("prompt")) {
        agent_messages_t *messages = prompt_of(given);

        rc = agent_prompt_messages(agent, messages, &run, NULL);
        agent_messages_free(messages);
    } else if (IS("resume")) {
        rc = agent_resume(agent, &run, NULL);
    } else {
        stage_fails("unknown action", name);
        return AGENT_NOT_FOUND;
    }
    agent_run_free(run);
    return rc;
}

/* One action of everybody's in a behaviour: what is refused is logged. */
static void act_and_log(const char *name, const value_t *given)
{
    char line[100];
    agent_status_t rc;

    if (IS("log")) {
        write_log(string_of(given));
    } else if ((rc = act(name, given)) < 0) {
        snprintf(line, sizeof line, "%s: %s", name, agent_status_name(rc));
        write_log(line);
    }
}

/* ---- listeners --------------------------------------------------------------------------------------------------- */

static value_t *event_value(const agent_event_t *event)
{
    size_t length;
    const char *text = agent_event_json(event, &length);

    return parsed(text, length);
}

static void listen(void *userdata, const agent_event_t *event)
{
    listener_t *listener = userdata;
    const value_t *nth = member(listener->story, "nth"), *action;

    if (!contains(event_value(event), member(listener->story, "on")))
        return;
    listener->seen++;
    if (nth && nth->type == NUMBER && nth->number != listener->seen)
        return;
    for (action = member(listener->story, "do")->first; action; action = action->next) {
        const value_t *given = action->first;
        char line[100];

        if (strcmp(given->name, "log") == 0 && strstr(given->string, "$type")) {
            const char *at = strstr(given->string, "$type");

            snprintf(line, sizeof line, "%.*s%s%s", (int)(at - given->string), given->string,
                     agent_event_kind_name(agent_event_kind(event)), at + 5);
            write_log(line);
        } else {
            act_and_log(given->name, given);
        }
    }
}

/* The runner's own: which calls have started, and which have ended. */
static void watch(void *userdata, const agent_event_t *event)
{
    const char *id = agent_event_tool_call_id(event, NULL), *tool = agent_event_tool_name(event, NULL);

    (void)userdata;
    lock();
    if (agent_event_kind(event) == AGENT_EVENT_TOOL_EXECUTION_START)
        stage.started[stage.started_count++ % 256] = (started_t){copied(id, strlen(id)), copied(tool, strlen(tool)), false};
    if (agent_event_kind(event) == AGENT_EVENT_TOOL_EXECUTION_END)
        for (size_t i = 0; i < stage.started_count; i++)
            if (strcmp(stage.started[i].id, id) == 0)
                stage.started[i].ended = true;
    changed_and_unlock();
}

/* ---- behaviours -------------------------------------------------------------------------------------------------- */

/* The behaviour of the next call; the last one holds for all further ones. */
static const value_t *next_behaviour(role_t *role)
{
    const value_t *behaviour = role->behaviours ? role->behaviours->first : NULL;

    for (int i = role->called++; i > 0 && behaviour && behaviour->next; i--)
        behaviour = behaviour->next;
    return behaviour;
}

/* Whether a call that started before this one is still to come to this role. */
static bool is_too_early(const role_t *role, const char *id)
{
    for (size_t i = 0; i < stage.started_count && strcmp(stage.started[i].id, id) != 0; i++) {
        const started_t *before = &stage.started[i];

        if (!before->ended && (!role->name || strcmp(role->name, before->tool) == 0)
            && !listed(role->begun, (size_t)role->begun_count, before->id))
            return true;
    }
    return false;
}

/*
 * The behaviour of a tool's or a link's next call. Calls of one answer come at the same time, each on a thread of its own; the
 * story counts them in the order of their start.
 */
static const value_t *next_in_order(role_t *role, const char *id)
{
    const value_t *behaviour;

    lock();
    while (!stage.over && is_too_early(role, id))
        pthread_cond_wait(&stage.changed, &stage.mutex);
    if (role->begun_count < 64)
        role->begun[role->begun_count++] = copied(id, strlen(id));
    behaviour = next_behaviour(role);
    changed_and_unlock();
    return behaviour;
}

static void begin_work(void)
{
    lock();
    stage.at_work++;
    unlock();
}

static void end_work(void)
{
    lock();
    stage.at_work--;
    changed_and_unlock();
}

#endif /* STAGE_H */
