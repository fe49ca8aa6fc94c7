/* The actors of a scenario: actions, listeners, tools, middleware and hooks. docs/scenarios.md describes them. */

#include "application.h"

/* ---- actions of every actor -------------------------------------------------------------------------------------- */

static agent_status_t messages_of(const agent_json_t *prompt, agent_messages_t **messages)
{
    must(agent_messages_new(messages, &error), "messages");
    if (agent_json_type(prompt) == AGENT_JSON_ARRAY && !agent_json_count(prompt))
        return AGENT_OK; /* it replaces the transcript */
    return agent_messages_add_json(*messages, TEXT(prompt), AGENT_NTS, NULL);
}

static agent_status_t start(const agent_json_t *prompt, agent_run_t **run)
{
    OWNED_MESSAGES messages = NULL;
    agent_status_t rc = prompt ? messages_of(prompt, &messages) : AGENT_OK;

    if (rc < 0)
        return rc;
    return prompt ? agent_prompt_messages(app.agent, messages, run, NULL) : agent_resume(app.agent, run, NULL);
}

typedef agent_status_t (*method_t)(agent_t *, const agent_messages_t *, agent_error_t **);

static agent_status_t give(const agent_json_t *prompt, method_t method)
{
    OWNED_MESSAGES messages = NULL;
    agent_status_t rc = messages_of(prompt, &messages);

    return rc < 0 ? rc : method(app.agent, messages, NULL);
}

/* Queues a message, and logs whether a run takes it up. */
static agent_status_t give_and_log(const agent_json_t *prompt, const char *name, method_t method)
{
    agent_status_t rc = give(prompt, method);

    return rc < 0 ? rc : log_line("%s: %s", name, rc == AGENT_QUEUED ? "queued" : "joined");
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
    if (IS("steer")) return give(given, agent_steer_messages);
    if (IS("follow_up")) return give(given, agent_follow_up_messages);
    if (IS("log_steer")) return give_and_log(given, "steer", agent_steer_messages);
    if (IS("log_follow_up")) return give_and_log(given, "follow_up", agent_follow_up_messages);
    if (IS("append_message")) return give(given, agent_append_messages);
    if (IS("replace_messages")) return give(given, agent_set_messages);
    if (IS("from_export")) return agent_from_export(app.agent, TEXT(given), AGENT_NTS, NULL, 0, NULL);
    if (IS("abort")) return agent_abort(app.agent, NULL);
    if (IS("stop_after_turn")) return agent_stop_after_turn(app.agent, NULL);
    if (IS("reset")) return agent_reset(app.agent, NULL);
    if (IS("forget")) return agent_forget(app.agent, string_of(given), AGENT_NTS, NULL);
    if (IS("clear_messages")) return agent_clear_messages(app.agent, NULL);
    if (IS("clear_steering_queue")) return agent_clear_steering_queue(app.agent, NULL);
    if (IS("clear_follow_up_queue")) return agent_clear_follow_up_queue(app.agent, NULL);
    if (IS("clear_all_queues")) return agent_clear_all_queues(app.agent, NULL);
    if (IS("set")) return agent_set_json(app.agent, TEXT(given), AGENT_NTS, NULL);
    if (IS("wait_for_idle")) return agent_wait_for_idle(app.agent, -1, NULL);
    if (IS("prompt")) return start(given, NULL);
    if (IS("resume")) return start(NULL, NULL);
    if (IS("resume_if_queued")) return agent_resume_if_queued(app.agent, NULL, NULL);
    if (IS("subscribe") || IS("unsubscribe")) return change_subscription(string_of(given), IS("subscribe"));
    if (IS("log")) return put_text(app.result, "/log/-", string_of(given));
    if (IS("log_state")) return log_state();
    if (IS("log_queued")) return log_line("queued: %s", agent_has_queued_messages(app.agent) ? "true" : "false");
    if (IS("open")) return put_text(app.seen, "/gates/-", string_of(given));
    if (IS("wait_log")) return wait_for(app.result, "/log", string_of(given));
    return AGENT_INVALID_ARGUMENT; /* not an action */
}

/* An action in a behaviour: a refusal is logged. */
static void act_and_log(const char *name, const agent_json_t *given)
{
    agent_status_t rc = act(name, given);

    if (rc < 0)
        log_line("%s: %s", name, agent_status_name(rc));
}

/* ---- listeners --------------------------------------------------------------------------------------------------- */

static void listen(void *userdata, const agent_event_t *event)
{
    actor_t *listener = userdata;
    const agent_json_t *nth = AT(listener->given, "/nth"), *actions = AT(listener->given, "/do");
    OWNED fields = parse(agent_event_json(event, NULL));

    if (!contains(fields, AT(listener->given, "/on")) || (++listener->count, nth && number_of(nth) != listener->count))
        return;
    for EACH(i, actions) {
        const agent_json_t *action = agent_json_at(actions, i);
        const char *log = string_of(AT(action, "/log")), *type = log ? strstr(log, "$type") : NULL;

        const char *name = KEY(action, 0);

        if (type)
            log_line("%.*s%s%s", (int)(type - log), log, agent_event_kind_name(agent_event_kind(event)), type + 5);
        else if (IS("never"))
            wait_for(app.seen, "/gates", "which no action opens");
        else
            act_and_log(name, agent_json_at(action, 0));
    }
}

/* The player's own listener: which calls have started and ended. */
static void watch_calls(void *userdata, const agent_event_t *event)
{
    int32_t kind = agent_event_kind(event);

    (void)userdata;
    lock();
    if (kind == AGENT_EVENT_TOOL_EXECUTION_START) {
        put_text(app.seen, "/started/-", agent_event_tool_call_id(event, NULL));
        put_text(app.seen, "/tools/-", agent_event_tool_name(event, NULL));
    }
    if (kind == AGENT_EVENT_TOOL_EXECUTION_END || kind == AGENT_EVENT_TOOL_CALL_SUSPENDED)
        put_text(app.seen, "/ended/-", agent_event_tool_call_id(event, NULL));
    unlock();
}

/* ---- behaviours -------------------------------------------------------------------------------------------------- */

/* Whether a call that started before this one is still to come to this actor. */
static bool is_early(const actor_t *actor, const char *id)
{
    for EACH(i, AT(app.seen, "/started")) {
        const char *other = string_of(agent_json_at(AT(app.seen, "/started"), i));
        const char *name = string_of(agent_json_at(AT(app.seen, "/tools"), i));

        if (strcmp(other, id) == 0)
            return false;
        if (!has(AT(app.seen, "/ended"), other) && !has(actor->calls, other) && (!actor->name || IS(actor->name)))
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
        put_text(actor->calls, "/-", id);
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
    put(answer, "", AT(next, "/answer"));
    return failed;
}

/* The lists of messages that a hook may return. */
static void keep_last(agent_json_t *list, const agent_json_t *count)
{
    while ((int64_t)agent_json_count(list) > number_of(count))
        must(agent_json_remove(list, "/0", AGENT_NTS, &error), "keep_last");
}

static void append(agent_json_t *list, const agent_json_t *messages)
{
    for EACH(i, messages)
        put(list, "/-", agent_json_at(messages, i));
}

static void convert(agent_json_t *list, const agent_json_t *roles)
{
    OWNED converted = parse("[]");

    for EACH(i, list) {
        const agent_json_t *message = agent_json_at(list, i), *role = MEMBER(roles, string_of(AT(message, "/role")));
        OWNED standard = parse("{\"content\": [{\"type\": \"text\"}], \"timestamp\": 0}");

        if (role) {
            put(standard, "/role", role);
            put(standard, "/content/0/text", AT(message, "/text"));
        }
        put(converted, "/-", role ? standard : message);
    }
    put(list, "", converted);
}

/* Takes the actions in order and answers the call: with `answer`, which is freed, as the actions changed it. */
static void behave(const agent_json_t *behaviour, agent_json_t *given_answer, call_t call)
{
    OWNED answer = given_answer;
    bool failed = false, answers = true, ended = false;

    for (size_t i = 0; i < agent_json_count(behaviour) && !ended; i++) {
        const agent_json_t *given = agent_json_at(agent_json_at(behaviour, i), 0);
        const char *name = KEY(agent_json_at(behaviour, i), 0);

        if (IS("return") || IS("throw")) {
            put(answer, "", given);
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
        } else if (IS("suspend")) {
            agent_tool_call_suspend(call.tool, string_of(given), AGENT_NTS, NULL);
            answers = false;
            ended = true;
        } else if (IS("log_key")) {
            const char *key = agent_tool_call_idempotency_key(call.tool, NULL);
            log_line("run%s", strchr(key, '/')); /* the id of the run is different each time */
        } else if (IS("gate")) {
            wait_for(app.seen, "/gates", string_of(given));
        } else if (IS("next")) {
            failed = ended = run_next(call.tool, AT(given, "/arguments"), answer);
        } else if (IS("keep_last") || IS("append") || IS("roles")) {
            (IS("append") ? append : IS("roles") ? convert : keep_last)(answer, given);
        } else {
            act_and_log(name, given);
        }
    }
    const char *text = failed ? string_of(answer) : TEXT(answer);
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

/* A tool's prepare_arguments, or the hook that holds a stateless run. */
static void on_prepare(void *actor, agent_hook_call_t *call)
{
    behave(next_behaviour(actor, NULL), parse(agent_hook_call_input(call, NULL)), (call_t){.hook = call});
}

/* A tool's needs_approval. */
static void on_approve(void *actor, agent_hook_call_t *call)
{
    behave(next_behaviour(actor, NULL), parse("null"), (call_t){.hook = call});
}

/* A hook of an agent, which also records its input and the requests. */
static void on_hook_call(void *userdata, agent_hook_call_t *call)
{
    actor_t *actor = userdata;
    const char *name = actor->name;
    const agent_json_t *behaviour;
    OWNED input = parse(agent_hook_call_input(call, NULL));
    OWNED hook = parse("{}");
    agent_json_t *answer = IS("transform_context") || IS("convert_to_llm") ? copy(AT(input, "/messages")) : parse("null");

    if (IS("on_payload"))
        put(app.result, "/requests/-", AT(input, "/payload"));
    agent_json_remove(input, "/payload", AGENT_NTS, NULL);
    if (IS("after_run"))
        agent_json_remove(input, "/messages", AGENT_NTS, NULL);
    put_text(hook, "/hook", name);
    put(hook, "/input", input);
    lock(); /* recorded in the order of the behaviours */
    if (actor->given)
        put(app.result, "/hooks/-", hook);
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
