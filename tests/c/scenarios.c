/*
 * Plays scenarios and compares each result with its expected.json: scenarios FOLDER...
 * docs/scenarios.md describes scenarios; actors.h has their actions.
 */

#include "actors.h"

/* ---- the agent --------------------------------------------------------------------------------------------------- */

static actor_t *new_actor(const char *name, const agent_json_t *given)
{
    must(app.actor_count == sizeof app.actors / sizeof *app.actors ? AGENT_LIMIT : AGENT_OK, "too many actors");
    app.actors[app.actor_count] = (actor_t){.given = given, .name = name, .calls = parse("[]")};
    return &app.actors[app.actor_count++];
}

/* An actor that the library dismisses. */
static actor_t *engaged(const char *name, const agent_json_t *given)
{
    app.active++;
    return new_actor(name, given);
}

static void add_tool(const agent_json_t *fields)
{
    const agent_json_t *prepare = AT(fields, "/prepare");
    actor_t *actor = engaged(string_at(fields, "/name"), AT(fields, "/calls"));
    OWNED description = copy(fields);
    agent_tool_t *tool = NULL;

    agent_json_remove(description, "/calls", AGENT_NTS, NULL);
    agent_json_remove(description, "/prepare", AGENT_NTS, NULL);
    must(agent_tool_new(TEXT(description), AGENT_NTS, on_tool_call, actor, dismiss, &tool, &error), "tool");
    if (prepare)
        must(agent_tool_set_prepare_arguments(tool, on_hook_call, engaged(NULL, prepare), dismiss, &error), "prepare");
    must(agent_add_tool(app.agent, tool, &error), "tool");
    agent_tool_free(tool);
}

static const char *const hook_names[] = {
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
};

static void make_agent(const agent_json_t *scenario)
{
    const agent_json_t *spec = AT(scenario, "/spec"), *tools = AT(scenario, "/tools"), *options = AT(scenario, "/options");
    const agent_json_t *middleware = AT(scenario, "/middleware"), *listeners = AT(scenario, "/listeners");
    OWNED model = parse("{\"provider\": \"scripted\", \"id\": \"scenario\"}");
    size_t found = 0;

    put(model, AT(scenario, "/model"), "/script");
    for EACH(i, spec)
        put(model, agent_json_at(spec, i), "/%s", agent_json_key(spec, i, NULL));
    must(agent_runtime_new(NULL, 0, &app.runtime, &error), "runtime");
    must(agent_new(app.runtime, TEXT(model), AGENT_NTS, &app.agent, &error), "model");
    for EACH(i, tools)
        add_tool(agent_json_at(tools, i));
    if (options)
        must(agent_set_json(app.agent, TEXT(options), AGENT_NTS, &error), "options");
    for (int32_t kind = 1; kind < (int32_t)(sizeof hook_names / sizeof *hook_names); kind++) {
        const agent_json_t *given = member(AT(scenario, "/hooks"), hook_names[kind]);

        found += given != NULL;
        if (given || kind == AGENT_HOOK_ON_PAYLOAD)
            must(agent_set_hook(app.agent, kind, on_hook_call, engaged(hook_names[kind], given), dismiss, &error), "hook");
    }
    must(found == agent_json_count(AT(scenario, "/hooks")) ? AGENT_OK : AGENT_NOT_FOUND, "an unknown hook");
    for EACH(i, middleware) {
        actor_t *actor = engaged(NULL, agent_json_at(middleware, i));
        must(agent_add_middleware(app.agent, on_tool_call, actor, dismiss, &error), "middleware");
    }
    must(agent_subscribe(app.agent, watch_calls, NULL, NULL, NULL, &error), "listener");
    for EACH(i, listeners) {
        const agent_json_t *fields = agent_json_at(listeners, i);
        actor_t *listener = new_actor(string_at(fields, "/name"), fields);

        if (!AT(fields, "/later"))
            must(subscribe(listener, true), "listener");
    }
}

/* ---- the steps --------------------------------------------------------------------------------------------------- */

/* Reads a run to its end and records it. */
static void finish_run(agent_run_t *run)
{
    OWNED played = parse("{\"events\": []}");
    OWNED id = parse("\"run\"");
    const agent_event_t *event;
    agent_status_t rc;

    while ((rc = agent_run_next(run, -1, &event, &error)) == AGENT_OK) {
        OWNED fields = parse(agent_event_json(event, NULL));
        put(played, fields, "/events/-");
    }
    must(rc, "agent_run_next");
    must(agent_check_events(TEXT(AT(played, "/events")), AGENT_NTS, &error), "the events do not keep the grammar");
    for (size_t i = 0, count = agent_json_count(AT(played, "/events")); i < count; i++)
        put(played, id, "/events/%zu/run_id", i); /* different each time */
    OWNED result = parse(agent_run_json(run, NULL));
    put(played, result, "/result");
    must(agent_json_remove(played, "/result/messages", AGENT_NTS, &error), "the result's messages");
    put(app.result, played, "/runs/-");
}

/* Starts a run over a context, held by a hook until its queue is filled. */
static agent_status_t start_stateless(const agent_json_t *given, agent_run_t **run)
{
    const agent_json_t *prompt = AT(given, "/prompt"), *queue = AT(given, "/queue");
    OWNED_MESSAGES messages = prompt ? messages_of(prompt) : NULL;
    OWNED context = copy(given);
    agent_status_t rc;

    agent_json_remove(context, "/prompt", AGENT_NTS, NULL);
    agent_json_remove(context, "/queue", AGENT_NTS, NULL);
    if (queue && !app.hold)
        app.hold = parse("[[{\"gate\": \"the queue is filled\"}]]");
    if (queue)
        must(agent_set_hook(app.agent, AGENT_HOOK_BEFORE_RUN, on_hook_call, engaged(NULL, app.hold), dismiss, &error), "hook");
    rc = prompt ? agent_loop_run(app.agent, TEXT(context), AGENT_NTS, messages, run, NULL)
                : agent_loop_resume(app.agent, TEXT(context), AGENT_NTS, run, NULL);
    for (size_t i = 0; rc == AGENT_OK && i < agent_json_count(queue); i++) {
        bool steers = strcmp(agent_json_key(queue, i, NULL), "steer") == 0;
        OWNED_MESSAGES queued = messages_of(agent_json_at(queue, i));

        must((steers ? agent_run_steer_messages : agent_run_follow_up_messages)(*run, queued, &error), "queue");
    }
    put_text(app.seen, "the queue is filled", "/gates/-");
    return rc;
}

/* Takes a step and records it. */
static void take_step(const char *name, const agent_json_t *given, agent_run_t **background)
{
    OWNED step = parse("{}");
    OWNED value = IS("state") ? state() : parse("\"ok\"");
    agent_run_t *run = NULL;
    agent_status_t rc = AGENT_OK;

    if (IS("prompt") || IS("resume"))
        rc = start(IS("prompt") ? given : NULL, &run);
    else if (IS("run") || IS("resume_context"))
        rc = start_stateless(given, &run);
    else if (IS("start"))
        rc = start(given, background);
    else if (IS("finish"))
        run = *background;
    else if (IS("has_queued_messages"))
        must(agent_json_set_bool(value, "", 0, agent_has_queued_messages(app.agent), &error), name);
    else if (!IS("state"))
        rc = act(name, given);
    if (run)
        finish_run(run);
    if (run || rc < 0)
        put_text(value, run ? agent_outcome_name(agent_run_outcome(run)) : agent_status_name(rc), "");
    put(step, value, "/%s", run ? "outcome" : rc < 0 ? "error" : name);
    put(app.result, step, "/steps/-");
    agent_run_free(run);
}

/* Plays a scenario; returns the result in the form of expected.json. */
static agent_json_t *play(const agent_json_t *scenario)
{
    agent_run_t *background = NULL;
    agent_json_t *result;

    app.result = parse("{\"steps\": [], \"runs\": [], \"requests\": [], \"hooks\": [], \"log\": []}");
    app.seen = parse("{\"gates\": [], \"started\": [], \"tools\": [], \"ended\": []}");
    make_agent(scenario);
    for EACH(i, AT(scenario, "/steps")) {
        const agent_json_t *step = agent_json_at(AT(scenario, "/steps"), i);
        take_step(agent_json_key(step, 0, NULL), agent_json_at(step, 0), &background);
    }
    OWNED last = state();
    put(app.result, last, "/state");
    lock();
    result = copy(app.result);
    app.over = true;
    unlock();
    agent_free(app.agent);
    agent_runtime_shutdown(app.runtime, 10000, NULL); /* cancels what still sleeps */
    agent_runtime_free(app.runtime);
    lock();
    while (app.active)
        pthread_cond_wait(&changed, &mutex);
    unlock();
    while (app.actor_count)
        agent_json_free(app.actors[--app.actor_count].calls);
    agent_json_free(app.result);
    agent_json_free(app.seen);
    agent_json_free(app.hold);
    memset(&app, 0, sizeof app);
    return result;
}

/* ---- the comparison ---------------------------------------------------------------------------------------------- */

/* Adds the members that were left out of an expected object, which is called `name`, as defaults.json has them. */
static void fill_in(agent_json_t *object, const char *name, const agent_json_t *defaults)
{
    for EACH(i, defaults) {
        const agent_json_t *rule = agent_json_at(defaults, i), *fields = AT(rule, "/fields");
        const char *place = string_at(rule, "/in");

        if ((place && !IS(place)) || !contains(object, AT(rule, "/with")))
            continue;
        for EACH(j, fields)
            if (!member(object, agent_json_key(fields, j, NULL)))
                put(object, agent_json_at(fields, j), "/%s", agent_json_key(fields, j, NULL));
    }
}

/* Prints the first place where two values differ. False if there is none. */
static bool differ(const char *path, const char *name, const agent_json_t *got, const agent_json_t *expected,
                   const agent_json_t *defaults)
{
    int32_t type = agent_json_type(expected);
    bool found = false, is_object = type == AGENT_JSON_OBJECT;
    char below[1000];

    if (type != agent_json_type(got) || (type != AGENT_JSON_ARRAY && !is_object)) {
        found = !agent_json_equals(got, expected);
        if (found)
            printf("    %s: got %s, expected %s\n", path, got ? TEXT(got) : "nothing", expected ? TEXT(expected) : "nothing");
        return found;
    }
    OWNED whole = copy(expected);
    if (is_object)
        fill_in(whole, name, defaults);
    /* What is expected, and then what is there although it is not expected. */
    for (size_t i = 0, count = agent_json_count(whole); i < count + agent_json_count(got) && !found; i++) {
        size_t place = i < count ? i : i - count;
        const char *key = is_object ? agent_json_key(i < count ? whole : got, place, NULL) : name;
        const agent_json_t *there = is_object ? member(got, key) : agent_json_at(got, place);
        const agent_json_t *wanted = is_object ? member(whole, key) : agent_json_at(whole, place);

        if (is_object)
            snprintf(below, sizeof below, "%s/%s", path, key);
        else
            snprintf(below, sizeof below, "%s/%zu", path, place);
        found = (i < count || !wanted) && differ(below, key, there, wanted, defaults);
    }
    return found;
}

/* Reads a file. NULL if there is none. */
static agent_json_t *read_json(const char *folder, const char *name)
{
    static char text[1 << 20];
    char path[1000];

    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    if (!file)
        return NULL;
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    fclose(file);
    return parse(text);
}

int main(int argc, char **argv)
{
    int passed = 0, failed = 0, skipped = 0;

    for (int i = 1; i < argc; i++) {
        OWNED scenario = read_json(argv[i], "scenario.json");
        OWNED expected = read_json(argv[i], "expected.json");
        OWNED defaults = read_json(argv[i], "../defaults.json");
        const char *reason = string_at(scenario, "/skip/c");

        if (!scenario)
            continue; /* a folder with a model for the examples */
        if (reason) {
            printf("  skipped: %s: %s\n", argv[i], reason);
            skipped++;
            continue;
        }
        OWNED result = play(scenario);
        bool is_wrong = differ("", "", result, expected, defaults);
        printf("  %s %s\n", is_wrong ? "FAILED" : "ok    ", argv[i]);
        *(is_wrong ? &failed : &passed) += 1;
        fflush(stdout);
    }
    printf("%d passed, %d failed, %d skipped\n", passed, failed, skipped);
    return failed || !passed;
}
