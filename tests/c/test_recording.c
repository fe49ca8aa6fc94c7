/* Recorded runs: played again, and with the recorded answers in place of the model's. */

#include "folder.h"
#include "support.h"

#define TWO_ANSWERS SCRIPTED(CALLS("tool", "{}") ", " SAYS("Done."))

/* What the tool answers, and how often it was called. */
typedef struct {
    const char *answer;
    int calls;
} tool_t;

static void answering(void *userdata, agent_tool_call_t *call)
{
    tool_t *tool = userdata;

    tool->calls++;
    EXPECT_OK(agent_tool_call_respond(call, tool->answer, AGENT_NTS, &error));
    agent_tool_call_free(call);
}

/* All events of a run as JSON, one a line; the caller frees it. */
static char *events_of(agent_run_t *run)
{
    size_t size = 0, length;
    char *all = NULL;
    FILE *lines = open_memstream(&all, &size);
    const agent_event_t *event = NULL;
    agent_status_t rc;

    while ((rc = agent_run_next(run, -1, &event, &error)) == AGENT_OK) {
        const char *json = agent_event_json(event, &length);

        fwrite(json, 1, length, lines);
        fputc('\n', lines);
    }
    fclose(lines);
    EXPECT(rc == AGENT_DONE);
    return all;
}

/* Prompts, and gives all events. */
static char *prompted(agent_t *agent)
{
    agent_run_t *run = NULL;
    char *events;

    EXPECT_OK(agent_prompt(agent, "Go.", AGENT_NTS, &run, &error));
    events = events_of(run);
    agent_run_free(run);
    return events;
}

/* An agent with the option "record" or "replay". */
static agent_t *agent_with(const char *model, tool_t *tool, const char *option, const char *file)
{
    agent_t *agent = with_tool(model, answering, tool);
    char options[300];

    snprintf(options, sizeof options, "{\"%s\": \"%s\"}", option, file);
    EXPECT_OK(agent_set_json(agent, options, AGENT_NTS, &error));
    return agent;
}

/* Records a run with a tool, and gives its events. */
static char *recorded(const char *file)
{
    tool_t tool = {"seen", 0};
    agent_t *agent = agent_with(TWO_ANSWERS, &tool, "record", file);
    char *events = prompted(agent);

    EXPECT(tool.calls == 1);
    agent_free(agent);
    return events;
}

static void a_recorded_run_is_played_again(void)
{
    const char *file = path("%s/again.jsonl");
    char *first = recorded(file), *second = recorded(file), *played;
    agent_run_t *run = NULL;

    CHECK(strcmp(first, second) != 0); /* their ids differ */
    CHECK_OK(agent_replay(runtime, file, AGENT_NTS, 1, &run, &error));
    CHECK_FAILS(agent_run_steer(run, "No.", AGENT_NTS, &error), AGENT_INVALID_STATE,
                "a run that is replayed takes no messages: it goes as it was recorded");
    played = events_of(run);
    CHECK_TEXT(played, first);
    CHECK_TEXT(agent_run_text(run, NULL), "Done.");
    agent_run_free(run);
    free(played);

    CHECK_OK(agent_replay(runtime, file, strlen(file), 2, &run, &error));
    played = events_of(run);
    CHECK_TEXT(played, second);
    agent_run_free(run);
    free(played);
    free(first);
    free(second);
}

/* More events than a run's queue holds: it is not over before they are read. */
#define DELTAS 3000

static void a_run_that_is_played_can_be_aborted(void)
{
    static const char begin[] = "{\"provider\": \"scripted\", \"id\": \"test\", \"script\": [[";
    static const char delta[] = "{\"delta\": \"x\"}, ";
    const char *file = path("%s/aborted.jsonl");
    char *model = malloc(sizeof begin + DELTAS * sizeof delta + 30), *at = model + sprintf(model, "%s", begin);
    tool_t tool = {"seen", 0};
    agent_t *agent;
    agent_run_t *run = NULL;
    int i;

    for (i = 0; i < DELTAS; i++)
        at += sprintf(at, "%s", delta);
    sprintf(at, "{\"end\": \"stop\"}]]}");
    agent = agent_with(model, &tool, "record", file);
    free(model);
    free(prompted(agent));
    agent_free(agent);

    CHECK_OK(agent_replay(runtime, file, AGENT_NTS, 1, &run, &error));
    CHECK_OK(agent_run_abort(run, &error));
    CHECK_OK(agent_run_wait(run, -1, &error));
    CHECK(agent_run_outcome(run) == AGENT_OUTCOME_ABORTED);
    agent_run_free(run);
}

static void the_model_answers_as_recorded(void)
{
    const char *file = path("%s/answers.jsonl");
    char *first = recorded(file), *again;
    tool_t tool = {"seen", 0};
    agent_t *agent = agent_with(SCRIPTED(""), &tool, "replay", file);

    again = prompted(agent);
    CHECK_TEXT(again, first);
    CHECK(tool.calls == 1);
    agent_free(agent);
    free(first);
    free(again);
}

/* ---- differences ------------------------------------------------------------------------------------------------- */

/* Prompts; the run ends with the error AGENT_REPLAY and this text. */
static void differs(agent_t *agent, const char *prompt, const char *part)
{
    agent_run_t *run = NULL;

    EXPECT_OK(agent_prompt(agent, prompt, AGENT_NTS, &run, &error));
    EXPECT_OK(agent_run_wait(run, -1, &error));
    EXPECT(agent_run_outcome(run) == AGENT_OUTCOME_ERROR);
    EXPECT(agent_error_status(agent_run_error(run)) == AGENT_REPLAY);
    EXPECT_CONTAINS(agent_error_message(agent_run_error(run), NULL), part);
    agent_run_free(run);
}

/* One message more, once. */
static void following_up(void *userdata, agent_hook_call_t *call)
{
    EXPECT_OK(agent_hook_call_respond_json(call, ++*(int *)userdata == 1 ? "\"More.\"" : "null", AGENT_NTS, &error));
    agent_hook_call_free(call);
}

static void the_first_difference_is_shown(void)
{
    const char *file = path("%s/differences.jsonl");
    tool_t tool = {"seen", 0}, changed = {"seen nothing", 0};
    int asked = 0;
    agent_t *agent;

    free(recorded(file));
    agent = agent_with(SCRIPTED(""), &tool, "replay", file);
    differs(agent, "Stop.", "request.messages[0].content[0].text is \"Stop.\", and was recorded as \"Go.\"");
    CHECK(tool.calls == 0);
    differs(agent, "Go.", "differences.jsonl: it has no further run");
    agent_free(agent);

    agent = agent_with(SCRIPTED(""), &changed, "replay", file);
    differs(agent, "Go.", "request.messages[2].content[0].text is \"seen nothing\", and was recorded as \"seen\"");
    agent_free(agent);

    /* Left over, and missing. */
    agent = agent_with(SCRIPTED(""), &tool, "replay", file);
    CHECK_OK(agent_set_json(agent, "{\"max_turns\": 1}", AGENT_NTS, &error));
    differs(agent, "Go.", "the run has ended, and request 2 of run 1 was recorded and not made");
    agent_free(agent);

    agent = agent_with(SCRIPTED(""), &tool, "replay", file);
    CHECK_OK(agent_set_hook(agent, AGENT_HOOK_GET_FOLLOW_UP_MESSAGES, following_up, &asked, NULL, &error));
    differs(agent, "Go.", "request 3 (to scripted/test) was not recorded: run 1 has 2 of them");
    agent_free(agent);
}

/* ---- what cannot be played --------------------------------------------------------------------------------------- */

/* All of a file; the caller frees it. */
static char *text_of(const char *file)
{
    FILE *from = fopen(file, "r");
    char *text = calloc(1, 1 << 20);

    EXPECT(from && fread(text, 1, (1 << 20) - 1, from) > 0 && feof(from));
    fclose(from);
    return text;
}

static void damage_and_newer_versions_name_the_line(void)
{
    const char *file = path("%s/damaged.jsonl");
    char *text, *cut;
    agent_run_t *run = NULL;

    free(recorded(file));
    text = text_of(file);
    cut = strdup(text);
    strstr(cut, "\n")[11] = 0;
    write_file(file, cut);
    CHECK_FAILS_WITH(agent_replay(runtime, file, AGENT_NTS, 1, &run, &error), AGENT_DAMAGED,
                     "damaged.jsonl: line 2: it cannot be read (it ends too early)");
    free(cut);

    cut = strdup(text);
    *strstr(cut, "{\"end\"") = 0;
    write_file(file, cut);
    CHECK_FAILS_WITH(agent_replay(runtime, file, AGENT_NTS, 1, &run, &error), AGENT_DAMAGED,
                     ": the run 1 begins in line 1 and has no end");
    free(cut);

    *strstr(text, "1") = '2';
    write_file(file, text);
    CHECK_FAILS_WITH(agent_replay(runtime, file, AGENT_NTS, 1, &run, &error), AGENT_NEWER_VERSION,
                     "damaged.jsonl: line 1: the run has version 2, of a newer agent-loop");
    free(text);
}

static void wrong_arguments(void)
{
    const char *file = path("%s/wrong.jsonl");
    agent_run_t *run = NULL;

    CHECK_FAILS_WITH(agent_replay(runtime, file, AGENT_NTS, 1, &run, &error), AGENT_IO,
                     "record it first, with the option record");
    free(recorded(file));
    CHECK_FAILS_WITH(agent_replay(runtime, file, AGENT_NTS, 0, &run, &error), AGENT_INVALID_ARGUMENT,
                     "has 1 run, and run 0 is asked for");
    CHECK_FAILS_WITH(agent_replay(runtime, "", AGENT_NTS, 1, &run, &error), AGENT_INVALID_ARGUMENT,
                     "expected the path of a recording, got an empty one");
    CHECK_NULL(agent_replay(NULL, file, AGENT_NTS, 1, &run, &error), "runtime");
    CHECK_NULL(agent_replay(runtime, NULL, 0, 1, &run, &error), "recording");
    CHECK_NULL(agent_replay(runtime, file, AGENT_NTS, 1, NULL, &error), "run");
}

int main(void)
{
    begin();
    make_folder();
    RUN(a_recorded_run_is_played_again);
    RUN(a_run_that_is_played_can_be_aborted);
    RUN(the_model_answers_as_recorded);
    RUN(the_first_difference_is_shown);
    RUN(damage_and_newer_versions_name_the_line);
    RUN(wrong_arguments);
    return end_with_folder();
}
