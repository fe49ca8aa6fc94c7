/* Who acts in calls: the story's tools and the links around them, hooks and prepare_arguments. */

#ifndef ROLES_H
#define ROLES_H

#include "stage.h"

/* ---- tools and links --------------------------------------------------------------------------------------------- */

/* What the rest of a chain came to, for the link that waits for it. */
typedef struct {
    bool is_there, is_error;
    const char *text;
    size_t length;
} rest_t;

static void told_the_rest(void *userdata, bool is_error, const char *text, size_t length)
{
    rest_t *rest = userdata;

    lock();
    *rest = (rest_t){true, is_error, copied(text, length), length};
    changed_and_unlock();
}

static void run_the_rest(agent_tool_call_t *call, const value_t *given, rest_t *rest)
{
    const value_t *arguments = member(given, "arguments");

    rest->is_there = false;
    if (agent_tool_call_next(call, arguments ? arguments->text : NULL, arguments ? arguments->text_length : 0, told_the_rest, rest, NULL,
                             NULL) < 0)
        stage_fails("next", given->text);
    lock();
    while (!rest->is_there)
        pthread_cond_wait(&stage.changed, &stage.mutex);
    unlock();
}

/* Does one thing after the other, and answers. A link that says nothing answers what the rest of its chain did. */
static void behave(const value_t *behaviour, agent_tool_call_t *call)
{
    /* Not on the stack: an abandoned call may be told later. */
    rest_t *rest = take(sizeof *rest);
    const value_t *action;

    for (action = behaviour ? behaviour->first : NULL; action; action = action->next) {
        const value_t *given = action->first;
        const char *name = given->name;

        if (IS("return")) {
            agent_tool_call_respond_json(call, given->text, given->text_length, NULL);
        } else if (IS("throw")) {
            agent_tool_call_fail(call, given->string, given->length, NULL);
        } else if (IS("never")) {
            lock();
            stage.kept_calls[stage.kept_call_count++] = call;
            unlock();
            return;
        } else if (IS("sleep_ms")) {
            agent_tool_call_sleep(call, (uint64_t)given->number, NULL);
        } else if (IS("update")) {
            agent_tool_call_update_json(call, given->text, given->text_length, NULL);
        } else if (IS("gate")) {
            wait_until_listed(stage.gates, &stage.gate_count, given->string);
        } else if (IS("next")) {
            run_the_rest(call, given, rest);
            if (rest->is_error)
                agent_tool_call_fail(call, rest->text, rest->length, NULL);
        } else {
            act_and_log(name, given);
        }
        if (IS("return") || IS("throw") || (IS("next") && rest->is_error)) {
            agent_tool_call_free(call);
            return;
        }
    }
    agent_tool_call_respond_json(call, rest->is_there ? rest->text : "null", rest->is_there ? rest->length : 4, NULL);
    agent_tool_call_free(call);
}

static void called(void *role, agent_tool_call_t *call)
{
    begin_work();
    behave(next_in_order(role, agent_tool_call_id(call, NULL)), call);
    end_work();
}

/* ---- hooks ------------------------------------------------------------------------------------------------------- */

/* Writes a list of messages, changed as an action says. */
static void change(text_t *out, const value_t *list, const char *name, const value_t *given)
{
    size_t left = count_of(list), kept = IS("keep_last") ? (size_t)given->number : left, written = 0;
    const value_t *each;

    say(out, "[");
    for (each = list->first; each; each = each->next, left--) {
        const char *role = string_of(member(each, "role"));
        const value_t *standard = IS("roles") && role ? member(given, role) : NULL;

        if (left > kept)
            continue;
        append(out, ",", written++ ? 1 : 0);
        if (standard) {
            say(out, "{\"role\":");
            append(out, standard->text, standard->text_length);
            say(out, ",\"content\":[{\"type\":\"text\",\"text\":");
            append(out, member(each, "text")->text, member(each, "text")->text_length);
            say(out, "}],\"timestamp\":0}");
        } else {
            append(out, each->text, each->text_length);
        }
    }
    for (each = IS("append") ? given->first : NULL; each; each = each->next) {
        append(out, ",", written++ ? 1 : 0);
        append(out, each->text, each->text_length);
    }
    say(out, "]");
}

/* Does one thing after the other, and answers, if nothing else then with the value as it stands. */
static void answer(const value_t *behaviour, const value_t *value, agent_hook_call_t *call)
{
    const value_t *action;

    for (action = behaviour ? behaviour->first : NULL; action; action = action->next) {
        const value_t *given = action->first;
        const char *name = given->name;

        if (IS("return")) {
            value = given;
            break;
        } else if (IS("throw")) {
            agent_hook_call_fail(call, given->string, given->length, NULL);
            agent_hook_call_free(call);
            return;
        } else if (IS("never")) {
            lock();
            stage.kept_hooks[stage.kept_hook_count++] = call;
            unlock();
            return;
        } else if (IS("sleep_ms")) {
            agent_hook_call_sleep(call, (uint64_t)given->number, NULL);
        } else if (IS("gate")) {
            wait_until_listed(stage.gates, &stage.gate_count, given->string);
        } else if (IS("keep_last") || IS("append") || IS("roles")) {
            text_t list = {NULL, 0, 0};

            change(&list, value, name, given);
            value = parse(list.data, list.length);
        } else {
            act_and_log(name, given);
        }
    }
    agent_hook_call_respond_json(call, value->text, value->text_length, NULL);
    agent_hook_call_free(call);
}

static void prepare(void *userdata, agent_hook_call_t *call)
{
    role_t *role = userdata;
    const value_t *behaviour;
    const char *input;
    size_t length;

    begin_work();
    input = agent_hook_call_input(call, &length);
    lock();
    behaviour = next_behaviour(role);
    unlock();
    answer(behaviour, parsed(input, length), call);
    end_work();
}

/* Writes an object without one or two of its members. */
static void write_without(text_t *out, const value_t *object, const char *one, const char *other)
{
    size_t written = 0;

    say(out, "{");
    for (const value_t *each = object->first; each; each = each->next) {
        if ((one && strcmp(each->name, one) == 0) || (other && strcmp(each->name, other) == 0))
            continue;
        append(out, ",", written++ ? 1 : 0);
        quote(out, each->name, strlen(each->name));
        say(out, ":");
        append(out, each->text, each->text_length);
    }
    say(out, "}");
}

static void asked(void *userdata, agent_hook_call_t *call)
{
    static const value_t null = {.text = "null", .text_length = 4};
    role_t *role = userdata;
    const value_t *input, *value = &null, *behaviour;
    const char *text;
    size_t length;

    begin_work();
    text = agent_hook_call_input(call, &length);
    input = parsed(text, length);
    lock();
    if (strcmp(role->name, "on_payload") == 0) {
        append(&stage.requests, ",", stage.requests.length ? 1 : 0);
        append(&stage.requests, member(input, "payload")->text, member(input, "payload")->text_length);
    }
    if (role->is_recorded) {
        append(&stage.told, ",", stage.told.length ? 1 : 0);
        say(&stage.told, "{\"hook\":\"%s\",\"input\":", role->name);
        write_without(&stage.told, input, "payload", member(input, "outcome") ? "messages" : NULL);
        append(&stage.told, "}", 1);
    }
    behaviour = next_behaviour(role);
    unlock();
    if (strcmp(role->name, "transform_context") == 0 || strcmp(role->name, "convert_to_llm") == 0)
        value = member(input, "messages");
    answer(behaviour, value, call);
    end_work();
}

#endif /* ROLES_H */
