/*
 * Plays scenarios and prints the result of each as a line of JSON, for tests/scenarios/expected.py: scenarios FOLDER...
 * With the variable SESSIONS, each agent has a session. docs/scenarios.md describes scenarios; actors.h has their actions.
 */

#include "actors.h"

#define SILENT "{\"provider\": \"scripted\", \"id\": \"silent\", \"script\": []}"

/* ---- its session -------------------------------------------------------------------------------------------------- */

static agent_session_t *session_in_memory(void)
{
    agent_store_t *store = NULL;
    agent_session_t *session = NULL;

    must(agent_store_open(app.runtime, "memory:", AGENT_NTS, NULL, 0, &store, &error), "store");
    must(agent_store_session(store, "run", AGENT_NTS, &session, &error), "session");
    agent_store_free(store);
    return session;
}

/* Gives the agent the conversation of a session. */
static agent_open_session_t *opened_for(agent_t *agent, agent_session_t *session)
{
    agent_open_session_t *opened = NULL;

    must(agent_session_open(session, &opened, &error), "open");
    must(agent_set_session(agent, opened, &error), "session");
    return opened;
}

static void close_session(agent_open_session_t *opened)
{
    must(agent_open_session_close(opened, &error), "close");
    agent_open_session_free(opened);
}

/* The session, opened again, has the agent's conversation. */
static void check_kept(void)
{
    agent_open_session_t *opened;
    agent_text_t *had = NULL, *kept = NULL;
    agent_t *other = NULL;

    must(agent_export(app.agent, NULL, 0, &had, &error), "export");
    close_session(app.opened);
    must(agent_new(app.runtime, SILENT, AGENT_NTS, &other, &error), "agent");
    opened = opened_for(other, app.session);
    must(agent_export(other, NULL, 0, &kept, &error), "export");
    if (strcmp(agent_text_data(had, NULL), agent_text_data(kept, NULL)) != 0) {
        fprintf(stderr, "    the session has %s\n    and not %s\n", agent_text_data(kept, NULL), agent_text_data(had, NULL));
        exit(1);
    }
    close_session(opened);
    agent_text_free(had);
    agent_text_free(kept);
    agent_free(other);
    agent_session_free(app.session);
}

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

static void add_tool(agent_t *agent, const agent_json_t *fields)
{
    const agent_json_t *prepare = AT(fields, "/prepare"), *approve = AT(fields, "/approve");
    actor_t *actor = engaged(string_of(AT(fields, "/name")), AT(fields, "/calls"));
    OWNED description = copy(fields);
    agent_tool_t *tool = NULL;

    agent_json_remove(description, "/calls", AGENT_NTS, NULL);
    agent_json_remove(description, "/prepare", AGENT_NTS, NULL);
    agent_json_remove(description, "/approve", AGENT_NTS, NULL);
    must(agent_tool_new(TEXT(description), AGENT_NTS, on_tool_call, actor, dismiss, &tool, &error), "tool");
    if (prepare)
        must(agent_tool_set_prepare_arguments(tool, on_prepare, engaged(NULL, prepare), dismiss, &error), "prepare");
    if (approve)
        must(agent_tool_set_needs_approval(tool, on_approve, engaged(NULL, approve), dismiss, &error), "approve");
    must(agent_add_tool(agent, tool, &error), "tool");
    agent_tool_free(tool);
}

/* The scripted model of an agent. */
static agent_json_t *model_of(const agent_json_t *given)
{
    const agent_json_t *spec = AT(given, "/spec");
    agent_json_t *model = parse("{\"provider\": \"scripted\", \"id\": \"scenario\"}");

    put(model, "/script", AT(given, "/model"));
    for EACH(i, spec)
        put_member(model, KEY(spec, i), agent_json_at(spec, i));
    return model;
}

/* The tools of an agent, those that run agents last. */
static void add_tools(agent_t *agent, const agent_json_t *given)
{
    static const char *const OWN[] = {"/model", "/spec", "/options", "/tools", "/subagents", "/handoff"};
    const agent_json_t *tools = AT(given, "/tools"), *subagents = AT(given, "/subagents");

    for EACH(i, tools)
        add_tool(agent, agent_json_at(tools, i));
    for EACH(i, subagents) {
        const agent_json_t *one = agent_json_at(subagents, i), *options = AT(one, "/options");
        OWNED model = model_of(one);
        OWNED fields = copy(one);
        agent_tool_t *tool = NULL;
        agent_t *made = NULL;

        must(agent_new(app.runtime, TEXT(model), AGENT_NTS, &made, &error), "model");
        if (options)
            must(agent_set_json(made, TEXT(options), AGENT_NTS, &error), "options");
        add_tools(made, one);
        for (size_t k = 0; k < sizeof OWN / sizeof *OWN; k++)
            agent_json_remove(fields, OWN[k], AGENT_NTS, NULL);
        if (AT(one, "/handoff"))
            must(agent_as_handoff(made, TEXT(fields), AGENT_NTS, &tool, &error), "handoff");
        else
            must(agent_as_tool(made, TEXT(fields), AGENT_NTS, &tool, &error), "subagent");
        must(agent_add_tool(agent, tool, &error), "tool");
        agent_tool_free(tool);
        agent_free(made);
    }
}

static void make_agent(const agent_json_t *scenario)
{
    const agent_json_t *options = AT(scenario, "/options");
    const agent_json_t *middleware = AT(scenario, "/middleware"), *listeners = AT(scenario, "/listeners");
    OWNED model = model_of(scenario);
    const char *name;
    size_t found = 0;

    must(agent_runtime_new(NULL, 0, &app.runtime, &error), "runtime");
    must(agent_new(app.runtime, TEXT(model), AGENT_NTS, &app.agent, &error), "model");
    if (getenv("SESSIONS"))
        app.opened = opened_for(app.agent, app.session = session_in_memory());
    add_tools(app.agent, scenario);
    if (options)
        must(agent_set_json(app.agent, TEXT(options), AGENT_NTS, &error), "options");
    for (int32_t kind = 1; (name = agent_hook_name(kind)); kind++) {
        const agent_json_t *given = MEMBER(AT(scenario, "/hooks"), name);

        found += given != NULL;
        if (given || kind == AGENT_HOOK_ON_PAYLOAD)
            must(agent_set_hook(app.agent, kind, on_hook_call, engaged(name, given), dismiss, &error), "hook");
    }
    must(found == agent_json_count(AT(scenario, "/hooks")) ? AGENT_OK : AGENT_NOT_FOUND, "an unknown hook");
    for EACH(i, middleware) {
        actor_t *actor = engaged(NULL, agent_json_at(middleware, i));
        must(agent_add_middleware(app.agent, on_tool_call, actor, dismiss, &error), "middleware");
    }
    for EACH(i, listeners) {
        const agent_json_t *fields = agent_json_at(listeners, i);
        actor_t *listener = new_actor(string_of(AT(fields, "/name")), fields);

        if (!AT(fields, "/later"))
            must(subscribe(listener, true), "listener");
    }
    /* Behind the scenario's own, which have the numbers that they have in each language. */
    must(agent_subscribe(app.agent, watch_calls, NULL, NULL, NULL, &error), "listener");
}

/* ---- the steps --------------------------------------------------------------------------------------------------- */

/* Reads a run to its end and records it. */
static void finish_run(agent_run_t *run)
{
    OWNED events = parse("[]");
    OWNED played = parse("{\"events\": []}");
    const agent_event_t *event;
    agent_status_t rc;

    while ((rc = agent_run_next(run, -1, &event, &error)) == AGENT_OK) {
        OWNED fields = parse(agent_event_json(event, NULL));
        put(events, "/-", fields);
        put_text(fields, "/run_id", "run"); /* different each time */
        if (agent_event_subagent(event))
            put_text(fields, "/event/run_id", "run");
        put(played, "/events/-", fields);
    }
    must(rc, "agent_run_next");
    must(agent_check_events(TEXT(events), AGENT_NTS, &error), "the events do not keep the grammar");
    OWNED result = parse(agent_run_json(run, NULL));
    must(agent_json_remove(result, "/messages", AGENT_NTS, &error), "the result's messages");
    put(played, "/result", result);
    put(app.result, "/runs/-", played);
}

/* Starts a run over a context, held by a hook until its queue is filled; or one model call, until it is aborted. */
static agent_status_t start_stateless(const char *name, const agent_json_t *given, agent_run_t **run)
{
    const agent_json_t *prompt = AT(given, "/prompt"), *queue = AT(given, "/queue"), *decisions = AT(given, "/decisions");
    bool aborts = AT(given, "/abort") != NULL;
    OWNED_MESSAGES messages = NULL;
    OWNED context = copy(given);
    agent_status_t rc = prompt ? messages_of(prompt, &messages) : AGENT_OK;

    if (rc < 0)
        return rc;

    agent_json_remove(context, "/prompt", AGENT_NTS, NULL);
    agent_json_remove(context, "/queue", AGENT_NTS, NULL);
    agent_json_remove(context, "/decisions", AGENT_NTS, NULL);
    agent_json_remove(context, "/abort", AGENT_NTS, NULL);
    if ((queue || aborts) && !app.hold)
        app.hold = parse("[[{\"gate\": \"the run may begin\"}]]");
    if (queue || aborts)
        must(agent_set_hook(app.agent, AGENT_HOOK_BEFORE_RUN, on_prepare, engaged(NULL, app.hold), dismiss, &error), "hook");
    if (IS("complete"))
        rc = agent_complete(app.agent, TEXT(context), AGENT_NTS, NULL, run, NULL);
    else if (decisions)
        rc = agent_loop_resume_decided(app.agent, TEXT(context), AGENT_NTS, TEXT(decisions), AGENT_NTS, run, NULL);
    else if (prompt)
        rc = agent_loop_run(app.agent, TEXT(context), AGENT_NTS, messages, run, NULL);
    else
        rc = agent_loop_resume(app.agent, TEXT(context), AGENT_NTS, run, NULL);
    if (aborts)
        must(agent_run_abort(*run, &error), "abort");
    for (size_t i = 0; rc == AGENT_OK && i < agent_json_count(queue); i++) {
        bool steers = strcmp(KEY(queue, i), "steer") == 0;
        OWNED_MESSAGES queued = NULL;

        must(messages_of(agent_json_at(queue, i), &queued), "a queued message");
        must((steers ? agent_run_steer_messages : agent_run_follow_up_messages)(*run, queued, &error), "queue");
    }
    put_text(app.seen, "/gates/-", "the run may begin");
    return rc;
}

/* Takes a step and records it. */
static void take_step(const char *name, const agent_json_t *given, agent_run_t **background)
{
    OWNED step = parse("{}");
    OWNED value = IS("state") ? state() : parse("\"ok\"");
    agent_run_t *run = NULL;
    agent_status_t rc = AGENT_OK;

    if (IS("resume") && AT(given, "/decisions"))
        rc = agent_resume_decided(app.agent, TEXT(AT(given, "/decisions")), AGENT_NTS, &run, NULL);
    else if (IS("prompt") || IS("resume"))
        rc = start(IS("prompt") ? given : NULL, &run);
    else if (IS("resume_if_queued")) {
        rc = agent_resume_if_queued(app.agent, &run, NULL);
        if (rc == AGENT_DONE)
            must(agent_json_set_json(value, "", 0, "null", AGENT_NTS, &error), name);
    } else if (IS("run") || IS("resume_context") || IS("complete"))
        rc = start_stateless(name, given, &run);
    else if (IS("start"))
        rc = start(given, background);
    else if (IS("finish"))
        run = *background;
    else if (IS("export")) {
        agent_text_t *text = NULL;
        must(agent_export(app.agent, NULL, 0, &text, &error), name);
        must(agent_json_set_json(value, "", 0, agent_text_data(text, NULL), AGENT_NTS, &error), name);
        agent_text_free(text);
    } else if (IS("has_queued_messages"))
        must(agent_json_set_bool(value, "", 0, agent_has_queued_messages(app.agent), &error), name);
    else if (!IS("state"))
        rc = act(name, given);
    if (run)
        finish_run(run);
    if (run || rc < 0)
        put_text(value, "", run ? agent_outcome_name(agent_run_outcome(run)) : agent_status_name(rc));
    put_member(step, run ? "outcome" : rc < 0 ? "error" : name, value);
    put(app.result, "/steps/-", step);
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
        take_step(KEY(step, 0), agent_json_at(step, 0), &background);
    }
    OWNED last = state();
    put(app.result, "/state", last);
    if (app.opened)
        check_kept();
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

/* Reads the scenario of a folder. */
static agent_json_t *read_scenario(const char *folder)
{
    static char text[1 << 20];
    char path[1000];

    snprintf(path, sizeof path, "%s/scenario.json", folder);
    FILE *file = fopen(path, "rb");
    must(file ? AGENT_OK : AGENT_NOT_FOUND, path);
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    fclose(file);
    return parse(text);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        OWNED scenario = read_scenario(argv[i]);
        OWNED result = play(scenario);

        puts(TEXT(result));
        fflush(stdout);
    }
    return 0;
}
