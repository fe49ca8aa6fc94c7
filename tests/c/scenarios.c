/*
 * Plays every scenario of a folder and compares the result with its expected.json: scenarios FOLDER [SCENARIO]...
 * docs/scenarios.md describes scenarios; actors.h has their actions, json.h parses and compares.
 */

#include <dirent.h>

#include "actors.h"

/* ---- the agent --------------------------------------------------------------------------------------------------- */

static actor_t *actor(const char *name, const value_t *behaviours)
{
    actor_t *made = allocate(sizeof *made);

    *made = (actor_t){.behaviours = behaviours, .name = name, .is_recorded = name && behaviours};
    return made;
}

static void add_tool(const value_t *fields)
{
    const value_t *prepare = member(fields, "prepare");
    text_t spec = {NULL, 0, 0};
    agent_tool_t *tool = NULL;

    print_without(&spec, fields, "calls", "prepare");
    must(agent_tool_new(spec.data, spec.length, on_tool_call, actor(string_of(member(fields, "name")), member(fields, "calls")),
                        NULL, &tool, &error), "tool");
    if (prepare)
        must(agent_tool_set_prepare_arguments(tool, on_hook_call, actor(NULL, prepare), NULL, &error), "prepare");
    must(agent_add_tool(app.agent, tool, &error), "tool");
    agent_tool_free(tool);
}

static const char *const hook_names[] = {
    /* <generated: hooks> */
    [AGENT_HOOK_TRANSFORM_CONTEXT] = "transform_context",
    [AGENT_HOOK_CONVERT_TO_LLM] = "convert_to_llm",
    [AGENT_HOOK_GET_API_KEY] = "get_api_key",
    [AGENT_HOOK_BEFORE_TOOL_CALL] = "before_tool_call",
    [AGENT_HOOK_AFTER_TOOL_CALL] = "after_tool_call",
    [AGENT_HOOK_PREPARE_NEXT_TURN] = "prepare_next_turn",
    [AGENT_HOOK_SHOULD_STOP_AFTER_TURN] = "should_stop_after_turn",
    [AGENT_HOOK_GET_STEERING_MESSAGES] = "get_steering_messages",
    [AGENT_HOOK_GET_FOLLOW_UP_MESSAGES] = "get_follow_up_messages",
    [AGENT_HOOK_ON_PAYLOAD] = "on_payload",
    [AGENT_HOOK_ON_RESPONSE] = "on_response",
    [AGENT_HOOK_ON_ERROR] = "on_error",
    [AGENT_HOOK_BEFORE_RUN] = "before_run",
    [AGENT_HOOK_AFTER_RUN] = "after_run",
    /* </generated> */
};

static const value_t *first_of(const value_t *value, const char *name)
{
    return member(value, name) ? member(value, name)->first : NULL;
}

static void make_agent(const value_t *scenario)
{
    const value_t *each, *hooks = member(scenario, "hooks"), *options = member(scenario, "options");
    text_t model = {NULL, 0, 0};
    size_t found = 0;

    print(&model, "{\"provider\":\"scripted\",\"id\":\"scenario\",\"script\":");
    print_value(&model, member(scenario, "model"), "[]");
    for (each = first_of(scenario, "spec"); each; each = each->next) {
        print(&model, ",\"%s\":", each->name);
        print_value(&model, each, "");
    }
    print(&model, "}");
    must(agent_runtime_new(NULL, 0, &app.runtime, &error), "runtime");
    must(agent_new(app.runtime, model.data, model.length, &app.agent, &error), "model");
    for (each = first_of(scenario, "tools"); each; each = each->next)
        add_tool(each);
    if (options)
        must(agent_set_json(app.agent, options->text, options->text_length, &error), "options");
    for (int32_t kind = 1; kind < (int32_t)(sizeof hook_names / sizeof *hook_names); kind++) {
        const value_t *behaviours = member(hooks, hook_names[kind]);

        found += behaviours != NULL;
        if (behaviours || kind == AGENT_HOOK_ON_PAYLOAD)
            must(agent_set_hook(app.agent, kind, on_hook_call, actor(hook_names[kind], behaviours), NULL, &error), "hook");
    }
    if (found != count_of(hooks))
        stop("an unknown hook", hooks->text);
    for (each = first_of(scenario, "middleware"); each; each = each->next)
        must(agent_add_middleware(app.agent, on_tool_call, actor(NULL, each), NULL, &error), "middleware");
    must(agent_subscribe(app.agent, watch_calls, NULL, NULL, NULL, &error), "listener");
    for (each = first_of(scenario, "listeners"); each; each = each->next) {
        listener_t *listener = &app.listeners[app.listener_count++];

        *listener = (listener_t){.fields = each, .is_subscribed = !member(each, "later")};
        if (listener->is_subscribed)
            must(agent_subscribe(app.agent, listen, listener, NULL, &listener->subscription, &error), "listener");
    }
}

/* ---- the steps --------------------------------------------------------------------------------------------------- */

/* Reads a run to its end and records it. Returns its outcome. */
static const char *finish_run(agent_run_t *run)
{
    text_t events = {NULL, 0, 0};
    const agent_event_t *event;
    const char *text;
    size_t length;
    agent_status_t rc;

    print(&events, "[");
    while ((rc = agent_run_next(run, -1, &event, &error)) == AGENT_OK) {
        append(&events, ",", events.length > 1 ? 1 : 0);
        text = agent_event_json(event, &length);
        append(&events, text, length);
    }
    must(rc, "agent_run_next");
    print(&events, "]");
    must(agent_check_events(events.data, events.length, &error), "the events do not keep the grammar");
    print(&app.runs, "%s{\"events\":[", app.run_count++ ? "," : "");
    for (const value_t *each = parse(events.data, events.length)->first; each; each = each->next) {
        const value_t *id = member(each, "run_id"); /* different each time */

        append(&app.runs, each->text, (size_t)(id->text - each->text));
        print(&app.runs, "\"run\"");
        append(&app.runs, id->text + id->text_length, (size_t)(each->text + each->text_length - id->text) - id->text_length);
        append(&app.runs, ",", each->next ? 1 : 0);
    }
    print(&app.runs, "],\"result\":");
    text = agent_run_json(run, &length);
    print_without(&app.runs, parse_copy(text, length), "messages", NULL);
    print(&app.runs, "}");
    return agent_outcome_name(agent_run_outcome(run));
}

static agent_status_t start_stateless(const value_t *given, agent_run_t **run)
{
    const value_t *prompt = member(given, "prompt"), *queue = member(given, "queue");
    text_t context = {NULL, 0, 0};
    agent_messages_t *messages;
    agent_status_t rc;

    print(&context, "{\"system_prompt\":");
    print_value(&context, member(given, "system_prompt"), "\"\"");
    print(&context, ",\"messages\":");
    print_value(&context, member(given, "messages"), "[]");
    print(&context, "}");
    if (!prompt)
        return agent_loop_resume(app.agent, context.data, context.length, run, NULL);
    if (queue)
        must(agent_set_hook(app.agent, AGENT_HOOK_BEFORE_RUN, on_before_run, NULL, NULL, &error), "hook");
    messages = messages_of(prompt);
    rc = agent_loop_run(app.agent, context.data, context.length, messages, run, NULL);
    agent_messages_free(messages);
    for (const value_t *each = queue && rc == AGENT_OK ? queue->first : NULL; each; each = each->next) {
        bool steers = strcmp(each->name, "steer") == 0;

        messages = messages_of(each);
        must((steers ? agent_run_steer_messages : agent_run_follow_up_messages)(*run, messages, &error), each->name);
        agent_messages_free(messages);
    }
    add_locked(&app.gates, QUEUE_IS_FILLED);
    return rc;
}

static void print_state(text_t *out)
{
    agent_text_t *state = NULL;
    size_t length;
    const char *text;

    must(agent_state_json(app.agent, &state, &error), "agent_state_json");
    text = agent_text_data(state, &length);
    append(out, text, length);
    agent_text_free(state);
}

/* Takes a step and writes its record. */
static void take_step(const char *name, const value_t *given, agent_run_t **background, text_t *out)
{
    agent_run_t *run = NULL;
    agent_status_t rc = AGENT_OK;

    if (IS("prompt") || IS("resume")) {
        rc = start(IS("prompt") ? given : NULL, &run);
    } else if (IS("run") || IS("resume_context")) {
        rc = start_stateless(given, &run);
    } else if (IS("finish")) {
        run = *background;
    } else if (IS("start")) {
        rc = start(given, background);
    } else if (!IS("has_queued_messages") && !IS("state")) {
        rc = act(name, given);
    }
    if (rc < 0) {
        print(out, "{\"error\":\"%s\"}", agent_status_name(rc));
    } else if (run) {
        print(out, "{\"outcome\":\"%s\"}", finish_run(run));
    } else if (IS("has_queued_messages")) {
        print(out, "{\"%s\":%s}", name, agent_has_queued_messages(app.agent) ? "true" : "false");
    } else if (IS("state")) {
        print(out, "{\"state\":");
        print_state(out);
        print(out, "}");
    } else {
        print(out, "{\"%s\":\"ok\"}", name);
    }
    agent_run_free(run);
}

/* Plays a scenario; returns the result in the form of expected.json. */
static value_t *play(const value_t *scenario)
{
    text_t out = {NULL, 0, 0};
    agent_run_t *background = NULL;

    make_agent(scenario);
    print(&out, "{\"steps\":[");
    for (const value_t *step = first_of(scenario, "steps"); step; step = step->next) {
        take_step(step->first->name, step->first, &background, &out);
        append(&out, ",", step->next ? 1 : 0);
    }
    lock();
    print(&out, "],\"runs\":[");
    append(&out, app.runs.data, app.runs.length);
    print(&out, "],\"requests\":[");
    append(&out, app.requests.data, app.requests.length);
    print(&out, "],\"hooks\":[");
    append(&out, app.hooks.data, app.hooks.length);
    print(&out, "],\"log\":[");
    for (size_t i = 0; i < app.log.count; i++) {
        append(&out, ",", i ? 1 : 0);
        print_string(&out, app.log.items[i], strlen(app.log.items[i]));
    }
    unlock();
    print(&out, "],\"state\":");
    print_state(&out);
    print(&out, "}");
    return parse(out.data, out.length);
}

static void free_unanswered(void)
{
    while (app.unanswered_count) {
        call_t call = app.unanswered[--app.unanswered_count];

        agent_tool_call_free(call.tool);
        agent_hook_call_free(call.hook);
    }
}

static void clear(void)
{
    lock();
    app.over = true;
    unlock();
    free_unanswered();
    agent_free(app.agent);
    agent_runtime_shutdown(app.runtime, 10000, NULL); /* cancels what still sleeps */
    agent_runtime_free(app.runtime);
    lock();
    while (app.working)
        pthread_cond_wait(&changed, &mutex);
    unlock();
    free_unanswered(); /* of callbacks that began only when the run was over */
    memset(&app, 0, sizeof app);
    free_all();
}

static value_t *read_json(const char *folder, const char *scenario, const char *name)
{
    char path[1000];

    snprintf(path, sizeof path, "%s/%s/%s", folder, scenario, name);
    return parse_file(path);
}

static int by_name(const struct dirent **a, const struct dirent **b) { return strcmp((*a)->d_name, (*b)->d_name); }

int main(int argc, char **argv)
{
    struct dirent **entries;
    int count = argc > 1 ? scandir(argv[1], &entries, NULL, by_name) : -1, passed = 0, failed = 0, skipped = 0;

    if (count < 0) {
        fprintf(stderr, "usage: scenarios FOLDER [SCENARIO]...\n");
        return 2;
    }
    for (int i = 0; i < count; i++) {
        const char *name = entries[i]->d_name, *reason;
        const value_t *scenario = read_json(argv[1], name, "scenario.json");
        bool wanted = argc < 3;
        text_t why = {NULL, 0, 0};

        for (int j = 2; j < argc; j++)
            wanted |= IS(argv[j]);
        reason = string_of(member(member(scenario, "skip"), "c"));
        if (scenario && wanted && reason) {
            printf("  skipped: %s: %s\n", name, reason);
            skipped++;
        } else if (scenario && wanted) {
            value_t *result = play(scenario), *expected = read_json(argv[1], name, "expected.json");

            fill_in(expected, "", read_json(argv[1], ".", "defaults.json"));
            if (difference(&why, "", result, expected))
                failed++;
            else
                passed++;
            printf("  %s %s\n%s%s", why.length ? "FAILED" : "ok    ", name, why.length ? why.data : "", why.length ? "\n" : "");
            clear();
        }
        fflush(stdout);
        free(entries[i]);
    }
    free(entries);
    printf("%d passed, %d failed, %d skipped\n", passed, failed, skipped);
    return failed ? 1 : 0;
}
