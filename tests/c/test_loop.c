/* A loop that the program steps. */

#include "support.h"

#define NTS(text) (text), AGENT_NTS
#define MINE(more) "{\"model\": \"mine/parrot\", \"prompt\": \"Hi\", \"providers\": [\"mine\"]" more "}"

static agent_loop_t *new_loop(const char *options)
{
    agent_loop_t *loop = NULL;

    EXPECT_OK(agent_loop_new(NTS(options), &loop, &error));
    return loop;
}

static void hand_in(agent_loop_t *loop, const char *input)
{
    EXPECT_OK(agent_loop_handle(loop, NTS(input), &error));
}

static const char *string_at(const agent_json_t *json, const char *pointer)
{
    const char *text = "";

    agent_json_get_string(json, NTS(pointer), &text, NULL, NULL);
    return text;
}

/* Polls until there is an action of this type, and returns it as text; NULL if there is none. Release it with free(). */
static char *next_of(agent_loop_t *loop, const char *type)
{
    const agent_json_t *action;

    while (agent_loop_poll(loop, 0, &action, &error) == AGENT_OK)
        if (strcmp(string_at(action, "/type"), type) == 0)
            return strdup(agent_json_text(action, NULL));
    return NULL;
}

/* The same loop, saved and loaded. */
static agent_loop_t *again(agent_loop_t *loop)
{
    agent_text_t *saved = NULL;
    agent_loop_t *loaded = NULL;
    size_t length;

    EXPECT_OK(agent_loop_save(loop, &saved, &error));
    agent_loop_free(loop);
    agent_text_data(saved, &length);
    EXPECT_OK(agent_loop_load(agent_text_data(saved, NULL), length, &loaded, &error));
    agent_text_free(saved);
    return loaded;
}

static void a_run_in_steps_with_a_tool(void)
{
    agent_loop_t *loop = new_loop(MINE(", \"tools\": [{\"name\": \"weather\"}]"));
    const agent_json_t *action;
    agent_json_t *open = NULL;
    agent_text_t *export = NULL;
    agent_status_t rc;
    char *text;

    text = next_of(loop, "call_custom_model");
    CHECK(text != NULL);
    CHECK(strstr(text, "\"provider\":\"mine\"") != NULL);
    CHECK(agent_loop_poll(loop, 0, &action, &error) == AGENT_OK);
    CHECK_TEXT(string_at(action, "/type"), "set_timer");
    CHECK(agent_loop_poll(loop, 0, &action, &error) == AGENT_PENDING);
    loop = again(loop);
    CHECK_OK(agent_loop_open_actions(loop, &open, &error));
    CHECK(agent_json_count(open) == 2);
    CHECK_TEXT(agent_json_text(agent_json_at(open, 0), NULL), text);
    agent_json_free(open);
    free(text);
    hand_in(loop, "{\"type\": \"model_chunk\", \"call\": 0, \"chunk\":"
                  " {\"tool_call\": {\"id\": \"a\", \"name\": \"weather\", \"arguments\": {\"city\": \"Oslo\"}}}}");
    hand_in(loop, "{\"type\": \"model_end\", \"call\": 0}");
    text = next_of(loop, "call_tool");
    CHECK(text != NULL);
    CHECK(strstr(text, "\"tool_call_id\":\"a\",\"tool_name\":\"weather\",\"arguments\":{\"city\":\"Oslo\"}") != NULL);
    free(text);
    loop = again(loop);
    CHECK(agent_loop_export(loop, &export, &error) == AGENT_BUSY);
    agent_error_free(error);
    error = NULL;
    hand_in(loop, "{\"type\": \"tool_done\", \"call\": 0, \"result\": \"rain\"}");
    free(next_of(loop, "call_custom_model"));
    hand_in(loop, "{\"type\": \"model_chunk\", \"call\": 1, \"chunk\": \"It rains.\"}");
    hand_in(loop, "{\"type\": \"model_end\", \"call\": 1}");
    text = next_of(loop, "done");
    CHECK(text != NULL);
    CHECK(strstr(text, "\"outcome\":\"completed\",\"text\":\"It rains.\"") != NULL);
    free(text);
    CHECK(agent_loop_poll(loop, 0, &action, &error) == AGENT_DONE);
    loop = again(loop);
    rc = agent_loop_poll(loop, 0, &action, &error);
    CHECK(rc == AGENT_DONE);
    CHECK_OK(agent_loop_export(loop, &export, &error));
    CHECK(strstr(agent_text_data(export, NULL), "It rains.") != NULL);
    agent_text_free(export);
    agent_loop_free(loop);
}

static void bytes_of_a_response_are_read(void)
{
    static const char body[] =
        "data: {\"choices\": [{\"index\": 0, \"delta\": {\"content\": \"Hello.\"}, \"finish_reason\": \"stop\"}]}\n\n"
        "data: [DONE]\n\n";
    agent_loop_t *loop = new_loop("{\"model\": {\"provider\": \"openai\", \"id\": \"gpt-4o\", \"protocol\": \"openai_chat\"},"
                                  " \"prompt\": \"Hi\"}");
    char *text = next_of(loop, "call_model");
    size_t i;

    CHECK(text != NULL);
    CHECK(strstr(text, "\"auth\":{\"header\":\"authorization\",\"prefix\":\"Bearer \",\"variables\":[") != NULL);
    free(text);
    CHECK_FAILS(agent_loop_model_bytes(loop, 0, "x", 1, &error), AGENT_INVALID_STATE,
                "model_bytes: model call 0 has no response yet: hand in model_response before its bytes");
    hand_in(loop, "{\"type\": \"model_response\", \"call\": 0, \"status\": 200,"
                  " \"headers\": {\"Content-Type\": \"text/event-stream\"}}");
    for (i = 0; i < strlen(body); i++) {
        CHECK_OK(agent_loop_model_bytes(loop, 0, body + i, 1, &error));
        if (i % 9 == 0)
            loop = again(loop);
    }
    CHECK_OK(agent_loop_model_bytes(loop, 0, NULL, 0, &error));
    hand_in(loop, "{\"type\": \"model_end\", \"call\": 0}");
    text = next_of(loop, "done");
    CHECK(text != NULL);
    CHECK(strstr(text, "\"text\":\"Hello.\"") != NULL);
    free(text);
    agent_loop_free(loop);
}

static void wrong_arguments_are_named(void)
{
    agent_loop_t *loop = new_loop(MINE("")), *other = NULL;
    const agent_json_t *action = NULL;
    agent_json_t *open = NULL;
    agent_text_t *text = NULL;

    CHECK_NULL(agent_loop_new(NULL, 0, &other, &error), "options");
    CHECK_NULL(agent_loop_new(NTS("{}"), NULL, &error), "loop");
    CHECK_NULL(agent_loop_poll(NULL, 0, &action, &error), "loop");
    CHECK_NULL(agent_loop_poll(loop, 0, NULL, &error), "action");
    CHECK_NULL(agent_loop_handle(NULL, NTS("{}"), &error), "loop");
    CHECK_NULL(agent_loop_handle(loop, NULL, 0, &error), "input");
    CHECK_NULL(agent_loop_model_bytes(NULL, 0, "", 0, &error), "loop");
    CHECK_NULL(agent_loop_model_bytes(loop, 0, NULL, 1, &error), "bytes");
    CHECK_NULL(agent_loop_open_actions(NULL, &open, &error), "loop");
    CHECK_NULL(agent_loop_open_actions(loop, NULL, &error), "actions");
    CHECK_NULL(agent_loop_save(NULL, &text, &error), "loop");
    CHECK_NULL(agent_loop_save(loop, NULL, &error), "text");
    CHECK_NULL(agent_loop_load(NULL, 0, &other, &error), "text");
    CHECK_NULL(agent_loop_load(NTS("{}"), NULL, &error), "loop");
    CHECK_NULL(agent_loop_export(NULL, &text, &error), "loop");
    CHECK_NULL(agent_loop_export(loop, NULL, &error), "text");
    agent_loop_free(NULL);
    CHECK_FAILS(agent_loop_new(NTS("{\"model\": \"openai/gpt-4o\", \"promt\": \"Hi\"}"), &other, &error), AGENT_INVALID_ARGUMENT,
                "unknown option \"promt\"; did you mean \"prompt\"?");
    CHECK_FAILS(agent_loop_new(NTS("{\"model\": \"openai/gpt-4o\"}"), &other, &error), AGENT_INVALID_STATE,
                "there is nothing to resume: the transcript is empty; use prompt");
    CHECK_FAILS(agent_loop_handle(loop, NTS("{\"type\": \"tool_done\"}"), &error), AGENT_INVALID_ARGUMENT,
                "tool_done: call is missing");
    CHECK_FAILS(agent_loop_handle(loop, NTS("{\"type\": \"tool_done\", \"call\": 0}"), &error), AGENT_INVALID_ARGUMENT,
                "tool_done: give result, what the tool has returned (null for nothing), or error, the text of its failure");
    CHECK_FAILS(agent_loop_load(NTS(""), &other, &error), AGENT_INVALID_ARGUMENT, "the saved loop cannot be loaded: it is empty");
    CHECK(action == NULL && open == NULL && text == NULL && other == NULL);
    agent_loop_free(loop);
}

/* ---- the tapes of the scenarios: docs/scenarios.md -------------------------------------------------------------------- */

typedef struct {
    agent_loop_t *loop;
    bool saves, is_over, is_stuck;
    uint64_t now_ms;
    int64_t timer_ms; /* -1 for none */
    size_t actions, events;
    char *log; /* each action on a line */
    size_t length, room;
} stepper_t;

static void note(stepper_t *stepper, const char *text, size_t length)
{
    if (stepper->room - stepper->length < length + 2) {
        stepper->room = 2 * (stepper->room + length + 2);
        stepper->log = (char *)realloc(stepper->log, stepper->room);
    }
    memcpy(stepper->log + stepper->length, text, length);
    stepper->length += length;
    stepper->log[stepper->length++] = '\n';
    stepper->log[stepper->length] = '\0';
}

static bool poll_once(stepper_t *stepper)
{
    const agent_json_t *action;
    const char *type, *text;
    size_t length;

    if (agent_loop_poll(stepper->loop, stepper->now_ms, &action, &error) != AGENT_OK)
        return false;
    type = string_at(action, "/type");
    stepper->events += strcmp(type, "event") == 0;
    stepper->is_over |= strcmp(type, "done") == 0;
    if (strcmp(type, "set_timer") == 0 && agent_json_get_integer(action, NTS("/at_ms"), &stepper->timer_ms, NULL) != AGENT_OK)
        stepper->timer_ms = -1;
    text = agent_json_text(action, &length);
    note(stepper, text, length);
    if (stepper->saves && stepper->actions++ % 7 == 0)
        stepper->loop = again(stepper->loop);
    return true;
}

/* Lets the loop go on until this time, or without one until its end; or until so many events came, if that is not negative. */
static void poll_until(stepper_t *stepper, int64_t at_ms, int64_t events)
{
    while (events < 0 ? !stepper->is_over || at_ms >= 0 : stepper->events != (size_t)events) {
        bool has_timer;

        if (poll_once(stepper))
            continue;
        if (at_ms >= 0 && stepper->now_ms == (uint64_t)at_ms)
            return;
        has_timer = stepper->timer_ms > (int64_t)stepper->now_ms && (at_ms < 0 || stepper->timer_ms < at_ms);
        if (!has_timer && at_ms < 0) {
            stepper->is_stuck = true;
            return;
        }
        stepper->now_ms = (uint64_t)(has_timer ? stepper->timer_ms : at_ms);
    }
}

static stepper_t play_tape(const agent_json_t *run, bool saves)
{
    stepper_t stepper = {NULL, saves, false, false, 0, -1, 0, 0, NULL, 0, 0};
    const agent_json_t *inputs = agent_json_get(run, NTS("/inputs"));
    int64_t at_ms = 0, events = 0;
    bool at_once;
    size_t i;

    agent_json_get_integer(run, NTS("/at_ms"), &at_ms, NULL);
    stepper.now_ms = (uint64_t)at_ms;
    stepper.loop = new_loop(agent_json_text(agent_json_get(run, NTS("/options")), NULL));
    for (i = 0; i < agent_json_count(inputs); i++) {
        const agent_json_t *entry = agent_json_at(inputs, i);

        at_once = false;
        agent_json_get_integer(entry, NTS("/at_ms"), &at_ms, NULL);
        agent_json_get_integer(entry, NTS("/events"), &events, NULL);
        agent_json_get_bool(entry, NTS("/at_once"), &at_once, NULL);
        poll_until(&stepper, at_ms, at_once ? events : -1);
        EXPECT(stepper.events == (size_t)events);
        hand_in(stepper.loop, agent_json_text(agent_json_get(entry, NTS("/input")), NULL));
    }
    poll_until(&stepper, -1, -1);
    EXPECT(!stepper.is_stuck);
    agent_loop_free(stepper.loop);
    return stepper;
}

/* Rust, Python and Node compare the events with those of the scenarios. */
static void tapes_are_the_same_saved_and_loaded(void)
{
    FILE *file = fopen(getenv("STEPS"), "rb");
    size_t room = 0, i, played = 0;
    char *line = NULL;

    CHECK(file != NULL);
    while (getline(&line, &room, file) > 0) {
        agent_json_t *tape = NULL;
        const agent_json_t *runs;

        CHECK_OK(agent_json_parse(NTS(line), &tape, &error));
        runs = agent_json_get(tape, NTS("/runs"));
        for (i = 0; i < agent_json_count(runs); i++) {
            stepper_t plain = play_tape(agent_json_at(runs, i), false), saved = play_tape(agent_json_at(runs, i), true);

            if (!EXPECT_TEXT(saved.log, plain.log))
                printf("    %s\n", string_at(tape, "/scenario"));
            free(plain.log);
            free(saved.log);
            played++;
        }
        agent_json_free(tape);
    }
    free(line);
    fclose(file);
    CHECK(played > 200);
}

int main(void)
{
    RUN(a_run_in_steps_with_a_tool);
    RUN(bytes_of_a_response_are_read);
    RUN(wrong_arguments_are_named);
    if (getenv("STEPS"))
        RUN(tapes_are_the_same_saved_and_loaded);
    return finish();
}
