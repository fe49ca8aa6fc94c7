/*
 * Plays every story of a folder and compares what happened with what its expected.json says: scenarios FOLDER [STORY]...
 *
 * docs/scenarios.md describes stories; json.h reads them, stage.h and roles.h have the actors.
 */

#include <dirent.h>

#include "roles.h"

static agent_runtime_t *runtime;
static text_t runs;
static int run_count;

static agent_error_t *error;

/* What has to work in every story. */
static void must(agent_status_t rc, const char *what)
{
    if (rc < 0)
        stage_fails(what, agent_error_message(error, NULL));
}

/* ---- the cast ---------------------------------------------------------------------------------------------------- */

static role_t *role(const char *name, const value_t *behaviours)
{
    role_t *role = take(sizeof *role);

    role->name = name;
    role->behaviours = behaviours;
    return role;
}

static void make_agent(const value_t *story)
{
    text_t model = {NULL, 0, 0};
    const value_t *script = member(story, "model"), *each;

    say(&model, "{\"provider\":\"scripted\",\"id\":\"story\",\"script\":");
    append(&model, script->text, script->text_length);
    for (each = member(story, "spec") ? member(story, "spec")->first : NULL; each; each = each->next) {
        say(&model, ",\"%s\":", each->name);
        append(&model, each->text, each->text_length);
    }
    say(&model, "}");
    must(agent_new(runtime, model.data, model.length, &stage.agent, &error), "model");
}

static void add_tools(const value_t *tools)
{
    for (const value_t *each = tools ? tools->first : NULL; each; each = each->next) {
        const value_t *prepared = member(each, "prepare");
        text_t description = {NULL, 0, 0};
        agent_tool_t *tool = NULL;
    
        write_without(&description, each, "calls", "prepare");
        must(agent_tool_new(description.data, description.length, called, role(string_of(member(each, "name")), member(each, "calls")), NULL,
                            &tool, &error), "tool");
        if (prepared)
            must(agent_tool_set_prepare_arguments(tool, prepare, role(NULL, prepared), NULL, &error), "prepare");
        must(agent_add_tool(stage.agent, tool, &error), "tool");
        agent_tool_free(tool);
    }
}

static const char *const hook_names[] = {
    [AGENT_HOOK_TRANSFORM_CONTEXT] = "transform_context", [AGENT_HOOK_CONVERT_TO_LLM] = "convert_to_llm",
    [AGENT_HOOK_GET_API_KEY] = "get_api_key", [AGENT_HOOK_BEFORE_TOOL_CALL] = "before_tool_call",
    [AGENT_HOOK_AFTER_TOOL_CALL] = "after_tool_call", [AGENT_HOOK_PREPARE_NEXT_TURN] = "prepare_next_turn",
    [AGENT_HOOK_SHOULD_STOP_AFTER_TURN] = "should_stop_after_turn", [AGENT_HOOK_GET_STEERING_MESSAGES] = "get_steering_messages",
    [AGENT_HOOK_GET_FOLLOW_UP_MESSAGES] = "get_follow_up_messages", [AGENT_HOOK_ON_PAYLOAD] = "on_payload",
    [AGENT_HOOK_ON_RESPONSE] = "on_response", [AGENT_HOOK_ON_ERROR] = "on_error", [AGENT_HOOK_BEFORE_RUN] = "before_run",
    [AGENT_HOOK_AFTER_RUN] = "after_run",
};

static void set_hooks(const value_t *hooks)
{
    size_t found = 0;

    for (int32_t kind = 1; kind <= AGENT_HOOK_AFTER_RUN; kind++) {
        const value_t *behaviours = member(hooks, hook_names[kind]);
        role_t *asks = role(hook_names[kind], behaviours);
    
        asks->is_recorded = behaviours != NULL;
        found += asks->is_recorded;
        /* the requests are recorded in every story */
        if (behaviours || kind == AGENT_HOOK_ON_PAYLOAD)
            must(agent_set_hook(stage.agent, kind, asked, asks, NULL, &error), "hook");
    }
    if (found != count_of(hooks))
        stage_fails("a hook that there is not", hooks->text);
}

static void add_listeners(const value_t *listeners)
{

    must(agent_subscribe(stage.agent, watch, NULL, NULL, NULL, &error), "listener");
    for (const value_t *each = listeners ? listeners->first : NULL; each; each = each->next) {
        listener_t *listener = &stage.listeners[stage.listener_count++];
        const value_t *later = member(each, "later");

        *listener = (listener_t){.story = each};
        if (later && later->number)
            continue;
        listener->is_subscribed = true;
        must(agent_subscribe(stage.agent, listen, listener, NULL, &listener->subscription, &error), "listener");
    }
}

static void set_stage(const value_t *story)
{
    const value_t *options = member(story, "options"), *links = member(story, "middleware");

    make_agent(story);
    add_tools(member(story, "tools"));
    if (options)
        must(agent_set_json(stage.agent, options->text, options->text_length, &error), "options");
    set_hooks(member(story, "hooks"));
    for (const value_t *link = links ? links->first : NULL; link; link = link->next)
        must(agent_add_middleware(stage.agent, called, role(NULL, link), NULL, &error), "middleware");
    add_listeners(member(story, "listeners"));
}

/* ---- the steps --------------------------------------------------------------------------------------------------- */

/* Reads a run to its end and writes down what it told and what it came to. Gives its outcome. */
static const char *finish_run(agent_run_t *run)
{
    text_t events = {NULL, 0, 0};
    const agent_event_t *event;
    const char *text;
    size_t length;
    agent_status_t rc;

    say(&events, "[");
    while ((rc = agent_run_next(run, -1, &event, &error)) == AGENT_OK) {
        append(&events, ",", events.length > 1 ? 1 : 0);
        text = agent_event_json(event, &length);
        append(&events, text, length);
    }
    must(rc, "agent_run_next");
    say(&events, "]");
    must(agent_check_events(events.data, events.length, &error), "the events do not keep the grammar");
    text = agent_run_json(run, &length);

    append(&runs, ",", run_count++ ? 1 : 0);
    say(&runs, "{\"events\":[");
    for (const value_t *each = parse(events.data, events.length)->first; each; each = each->next) {
        /* the run's id is different each time */
        const value_t *id = member(each, "run_id");

        append(&runs, each->text, (size_t)(id->text - each->text));
        say(&runs, "\"run\"");
        append(&runs, id->text + id->text_length, (size_t)(each->text + each->text_length - id->text) - id->text_length);
        append(&runs, ",", each->next ? 1 : 0);
    }
    say(&runs, "],\"result\":");
    write_without(&runs, parsed(text, length), "messages", NULL);
    say(&runs, "}");
    return agent_outcome_name(agent_run_outcome(run));
}

static agent_status_t start(const value_t *prompt, agent_run_t **run)
{
    agent_messages_t *messages;
    agent_status_t rc;

    if (!prompt)
        return agent_resume(stage.agent, run, NULL);
    messages = prompt_of(prompt);
    rc = agent_prompt_messages(stage.agent, messages, run, NULL);
    agent_messages_free(messages);
    return rc;
}

/* Lets a run without an agent begin only when its queues are filled. */
static void wait_for_queues(void *userdata, agent_hook_call_t *call)
{
    (void)userdata;
    begin_work();
    wait_until_listed(stage.gates, &stage.gate_count, "the queues are filled");
    agent_hook_call_respond_json(call, "null", AGENT_NTS, NULL);
    agent_hook_call_free(call);
    end_work();
}

static agent_status_t start_alone(const value_t *given, agent_run_t **run)
{
    static const value_t open = {.type = STRING, .string = "the queues are filled"};
    const value_t *system_prompt = member(given, "system_prompt"), *list = member(given, "messages"), *queue = member(given, "queue");
    text_t context = {NULL, 0, 0};
    agent_messages_t *messages;
    agent_status_t rc;

    say(&context, "{\"system_prompt\":");
    append(&context, system_prompt ? system_prompt->text : "\"\"", system_prompt ? system_prompt->text_length : 2);
    say(&context, ",\"messages\":");
    append(&context, list ? list->text : "[]", list ? list->text_length : 2);
    say(&context, "}");
    if (!member(given, "prompt"))
        return agent_loop_resume(stage.agent, context.data, context.length, run, NULL);
    if (queue)
        must(agent_set_hook(stage.agent, AGENT_HOOK_BEFORE_RUN, wait_for_queues, NULL, NULL, &error), "a hook");
    messages = prompt_of(member(given, "prompt"));
    rc = agent_loop_run(stage.agent, context.data, context.length, messages, run, NULL);
    agent_messages_free(messages);
    for (const value_t *each = queue && rc == AGENT_OK ? queue->first : NULL; each; each = each->next) {
        messages = prompt_of(each);
        if (strcmp(each->name, "steer") == 0)
            must(agent_run_steer_messages(*run, messages, &error), "steer");
        else
            must(agent_run_follow_up_messages(*run, messages, &error), "follow_up");
        agent_messages_free(messages);
    }
    act("open", &open);
    return rc;
}

static void write_state(text_t *out)
{
    agent_text_t *state = NULL;
    size_t length;
    const char *text;

    must(agent_state_json(stage.agent, &state, &error), "agent_state_json");
    text = agent_text_data(state, &length);
    append(out, text, length);
    agent_text_free(state);
}

/* Does a step and writes its record. */
static void take_step(const char *name, const value_t *given, agent_run_t **background, text_t *out)
{
    agent_run_t *run = NULL;
    agent_status_t rc = AGENT_OK;
    bool reads = true;

    if (IS("prompt") || IS("resume")) {
        rc = start(IS("prompt") ? given : NULL, &run);
    } else if (IS("run") || IS("resume_context")) {
        rc = start_alone(given, &run);
    } else if (IS("finish")) {
        run = *background;
        *background = NULL;
    } else {
        reads = false;
        if (IS("start"))
            rc = start(given, background);
        else if (!IS("has_queued_messages") && !IS("state"))
            rc = act(name, given);
    }
    if (rc < 0) {
        say(out, "{\"error\":\"%s\"}", agent_status_name(rc));
    } else if (reads) {
        say(out, "{\"outcome\":\"%s\"}", finish_run(run));
    } else if (IS("has_queued_messages")) {
        say(out, "{\"has_queued_messages\":%s}", agent_has_queued_messages(stage.agent) ? "true" : "false");
    } else if (IS("state")) {
        say(out, "{\"state\":");
        write_state(out);
        say(out, "}");
    } else {
        say(out, "{\"%s\":\"ok\"}", name);
    }
    agent_run_free(run);
}

/* ---- a story ----------------------------------------------------------------------------------------------------- */

static void clear_stage(void)
{
    lock();
    stage.over = true;
    pthread_cond_broadcast(&stage.changed);
    unlock();
    while (stage.kept_call_count)
        agent_tool_call_free(stage.kept_calls[--stage.kept_call_count]);
    while (stage.kept_hook_count)
        agent_hook_call_free(stage.kept_hooks[--stage.kept_hook_count]);
    agent_free(stage.agent);
    /* whatever still sleeps is cancelled with the runtime */
    agent_runtime_shutdown(runtime, 10000, NULL);
    agent_runtime_free(runtime);
    lock();
    while (stage.at_work)
        pthread_cond_wait(&stage.changed, &stage.mutex);
    stage.agent = NULL;
    stage.listener_count = stage.log_count = stage.gate_count = stage.started_count = 0;
    stage.requests = stage.told = runs = (text_t){NULL, 0, 0};
    stage.over = false;
    run_count = 0;
    unlock();
}

/* Everything that happened, in the form of expected.json. */
static value_t *play(const value_t *story)
{
    text_t out = {NULL, 0, 0};
    agent_run_t *background = NULL;

    must(agent_runtime_new(NULL, 0, &runtime, &error), "runtime");
    set_stage(story);
    say(&out, "{\"steps\":[");
    for (const value_t *step = member(story, "steps")->first; step; step = step->next) {
        take_step(step->first->name, step->first, &background, &out);
        append(&out, ",", step->next ? 1 : 0);
    }
    agent_run_free(background);
    say(&out, "],\"runs\":[");
    append(&out, runs.length ? runs.data : "", runs.length);
    lock();
    say(&out, "],\"requests\":[");
    append(&out, stage.requests.length ? stage.requests.data : "", stage.requests.length);
    say(&out, "],\"hooks\":[");
    append(&out, stage.told.length ? stage.told.data : "", stage.told.length);
    say(&out, "],\"log\":[");
    for (size_t i = 0; i < stage.log_count; i++) {
        append(&out, ",", i ? 1 : 0);
        quote(&out, stage.log[i], strlen(stage.log[i]));
    }
    unlock();
    say(&out, "],\"state\":");
    write_state(&out);
    say(&out, "}");
    return parse(out.data, out.length);
}

static value_t *read_file(const char *folder, const char *story, const char *name)
{
    char path[1000], buffer[4096];
    text_t text = {NULL, 0, 0};
    size_t length;
    FILE *file;

    snprintf(path, sizeof path, "%s/%s/%s", folder, story, name);
    file = fopen(path, "rb");
    if (!file)
        return NULL;
    while ((length = fread(buffer, 1, sizeof buffer, file)) > 0)
        append(&text, buffer, length);
    fclose(file);
    return parse(text.data, text.length);
}

static int by_name(const struct dirent **a, const struct dirent **b) { return strcmp((*a)->d_name, (*b)->d_name); }

int main(int argc, char **argv)
{
    struct dirent **stories;
    int count = argc > 1 ? scandir(argv[1], &stories, NULL, by_name) : -1;
    int passed = 0, failed = 0, skipped = 0;

    if (count < 0) {
        fprintf(stderr, "usage: scenarios FOLDER [STORY]...\n");
        return 2;
    }
    for (int i = 0; i < count; i++) {
        const char *name = stories[i]->d_name;
        const value_t *story = NULL, *expected, *reason;
        text_t why = {NULL, 0, 0};

        if (argc < 3 || listed((const char *const *)argv + 2, (size_t)argc - 2, name))
            story = read_file(argv[1], name, "scenario.json");
        if (!story) {
            free(stories[i]);
            continue;
        }
        reason = member(member(story, "skip"), "c");
        expected = read_file(argv[1], name, "expected.json");
        if (reason) {
            printf("  skipped: %s: %s\n", name, string_of(reason));
            skipped++;
        } else if (difference(&why, "", play(story), expected)) {
            printf("  FAILED %s\n    %s\n", name, why.data);
            failed++;
        } else {
            printf("  ok     %s\n", name);
            passed++;
        }
        fflush(stdout);
        if (!reason)
            clear_stage();
        empty_pool();
        free(stories[i]);
    }
    free(stories);
    printf("%d passed, %d failed, %d skipped\n", passed, failed, skipped);
    return failed ? 1 : 0;
}
