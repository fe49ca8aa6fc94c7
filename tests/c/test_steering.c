/* Messages for an active run, resume, and the transcript between runs. */

#include "support.h"

/* ---- queues ------------------------------------------------------------------------------------------------------ */

/* A tool during which the user steers. */
static void interrupted(void *agent, agent_tool_call_t *call)
{
    EXPECT_OK(agent_steer(agent, "Stop that, and more", 10, &error));
    agent_tool_call_respond(call, "done", AGENT_NTS, NULL);
    agent_tool_call_free(call);
}

#define TWO_CALLS "[" CALL("one", "tool", "{}") "," CALL("two", "tool", "{}") ", {\"end\": \"tool_use\"}]"

static agent_t *interruptible(const char *options)
{
    agent_t *agent = scripted(SCRIPTED(TWO_CALLS "," SAYS("Done.")));
    agent_tool_t *tool = NULL;

    EXPECT_OK(agent_tool_new("{\"name\": \"tool\", \"execution_mode\": \"sequential\"}", AGENT_NTS, interrupted, agent,
                             NULL, &tool, &error));
    EXPECT_OK(agent_add_tool(agent, tool, &error));
    agent_tool_free(tool);
    EXPECT_OK(agent_set_json(agent, options, AGENT_NTS, &error));
    return agent;
}

static void steering_skips_calls_that_have_not_started(void)
{
    agent_t *agent = interruptible("{}");
    agent_run_t *run = play(agent);

    CHECK_MESSAGES(run, "u Go.; a ; t done; t skipped because of a queued user message, which comes next; "
                   "u Stop that,; a Done.; ");
    CHECK(!agent_has_queued_messages(agent));
    agent_run_free(run);
    agent_free(agent);

    agent = interruptible("{\"steering_policy\": \"after_batch\", \"steering_mode\": \"all\"}");
    run = play(agent);
    CHECK_MESSAGES(run, "u Go.; a ; t done; t done; u Stop that,; u Stop that,; a Done.; ");
    agent_run_free(run);
    agent_free(agent);
}

static void follow_ups_come_sequentially(void)
{
    agent_t *agent = scripted(SCRIPTED(SAYS("One.") "," SAYS("Two.") "," SAYS("Three.")));
    agent_messages_t *messages = NULL;
    agent_run_t *run;

    CHECK_OK(agent_messages_new(&messages, &error));
    CHECK_OK(agent_messages_add_user(messages, "Second?", AGENT_NTS, &error));
    CHECK_OK(agent_messages_add_user(messages, "Third?", AGENT_NTS, &error));
    CHECK(agent_follow_up_messages(agent, messages, &error) == AGENT_QUEUED);
    CHECK(agent_steer(agent, "Now.", AGENT_NTS, &error) == AGENT_QUEUED);
    CHECK(agent_has_queued_messages(agent));
    run = play(agent);
    CHECK_MESSAGES(run, "u Go.; u Now.; a One.; u Second?; a Two.; u Third?; a Three.; ");
    CHECK(agent_messages_count(messages) == 2);
    agent_messages_free(messages);
    agent_run_free(run);
    agent_free(agent);
}

static void queues_are_cleared(void)
{
    agent_t *agent = scripted(SCRIPTED(SAYS("Hello.")));
    agent_messages_t *messages = NULL;

    CHECK_OK(agent_messages_new(&messages, &error));
    CHECK_OK(agent_messages_add_user(messages, "A.", AGENT_NTS, &error));
    CHECK(agent_steer_messages(agent, messages, &error) == AGENT_QUEUED);
    agent_messages_free(messages);
    CHECK_OK(agent_clear_follow_up_queue(agent, &error));
    CHECK(agent_has_queued_messages(agent));
    CHECK_OK(agent_clear_steering_queue(agent, &error));
    CHECK(!agent_has_queued_messages(agent));
    CHECK(agent_follow_up(agent, "B.", AGENT_NTS, &error) == AGENT_QUEUED);
    CHECK_OK(agent_clear_steering_queue(agent, &error));
    CHECK(agent_has_queued_messages(agent));
    CHECK(agent_steer(agent, "C.", AGENT_NTS, &error) == AGENT_QUEUED);
    CHECK_OK(agent_clear_all_queues(agent, &error));
    CHECK(!agent_has_queued_messages(agent));
    agent_free(agent);
}

static void steering(void *userdata, const agent_event_t *event)
{
    agent_run_t *const *run = userdata;

    if (agent_event_kind(event) == AGENT_EVENT_MESSAGE_END && agent_event_turn(event) == 1
        && strcmp(agent_event_role(event, NULL), "assistant") == 0) {
        EXPECT_OK(agent_run_steer(*run, "Once more.", AGENT_NTS, &error));
        EXPECT_OK(agent_run_follow_up(*run, "At the end.", AGENT_NTS, &error));
    }
}

static void opening(void *gate, agent_hook_call_t *call)
{
    gate_wait(gate, 1);
    agent_hook_call_respond_json(call, "null", AGENT_NTS, NULL);
    agent_hook_call_free(call);
}

static void a_run_is_steered(void)
{
    gate_t gate = GATE;
    agent_t *agent = scripted(SCRIPTED(SAYS("One.") "," SAYS("Two.") "," SAYS("Three.") "," SAYS("Four.")));
    agent_messages_t *messages = NULL;
    agent_run_t *run = NULL;
    uint64_t subscription;

    /* the run begins when the listener has it */
    CHECK_OK(agent_set_hook(agent, AGENT_HOOK_BEFORE_RUN, opening, &gate, NULL, &error));
    CHECK_OK(agent_subscribe(agent, steering, &run, NULL, &subscription, &error));
    CHECK_OK(agent_prompt(agent, "Go.", AGENT_NTS, &run, &error));
    gate_raise(&gate);
    read_out(run);
    CHECK_MESSAGES(run, "u Go.; a One.; u Once more.; a Two.; u At the end.; a Three.; ");

    CHECK_OK(agent_unsubscribe(agent, subscription, &error));

    /* after the end, messages wait for the next run */
    CHECK_OK(agent_messages_new(&messages, &error));
    CHECK_OK(agent_messages_add_user(messages, "Later.", AGENT_NTS, &error));
    CHECK(agent_run_steer_messages(run, messages, &error) == AGENT_QUEUED);
    CHECK(agent_run_follow_up_messages(run, messages, &error) == AGENT_QUEUED);
    agent_messages_free(messages);
    agent_run_free(run);
    CHECK_OK(agent_clear_follow_up_queue(agent, &error));
    CHECK_OK(agent_resume(agent, &run, &error));
    read_out(run);
    CHECK_MESSAGES(run, "u Later.; a Four.; ");
    agent_run_free(run);
    agent_free(agent);
}

/* ---- resume ------------------------------------------------------------------------------------------------------ */

static void resuming_nothing_is_refused(void)
{
    agent_t *agent = scripted(SCRIPTED(SAYS("Hello.")));
    agent_run_t *run = NULL;

    CHECK_FAILS(agent_resume(agent, &run, &error), AGENT_INVALID_STATE,
                "there is nothing to resume: the transcript is empty; use prompt");
    agent_run_free(play(agent));
    CHECK_FAILS(agent_resume(agent, &run, &error), AGENT_INVALID_STATE,
                "there is nothing to resume: the last message is the model's answer, and no message is queued; use prompt, or "
                "queue one with steer or follow_up");
    CHECK(run == NULL);
    agent_free(agent);
}

static void a_failed_run_is_resumed(void)
{
    agent_t *agent = scripted(SCRIPTED("[{\"error\": {\"kind\": \"quota\", \"message\": \"no money\"}}]," SAYS("Paid.")));
    agent_run_t *run = play(agent);

    CHECK(agent_run_outcome(run) == AGENT_OUTCOME_ERROR);
    agent_run_free(run);
    CHECK_OK(agent_resume(agent, &run, &error));
    read_out(run);
    CHECK_MESSAGES(run, "a Paid.; ");
    agent_run_free(run);

    /* for listeners alone */
    CHECK(agent_follow_up(agent, "And?", AGENT_NTS, &error) == AGENT_QUEUED);
    CHECK_OK(agent_set_model(agent, SCRIPTED(SAYS("So.")), AGENT_NTS, &error));
    CHECK_OK(agent_resume(agent, NULL, &error));
    CHECK_OK(agent_wait_for_idle(agent, -1, &error));
    CHECK(!agent_has_queued_messages(agent));
    agent_free(agent);
}

static void found_e14_messages_wait_when_no_run_is_active(void)
{
    agent_t *agent = scripted(SCRIPTED(SAYS("One.") "," SAYS("Two.") "," SAYS("Three.")));
    agent_run_t *run = NULL;

    CHECK_TEXT(agent_status_name(AGENT_QUEUED), "queued");
    CHECK(agent_resume_if_queued(agent, &run, &error) == AGENT_DONE);
    CHECK(run == NULL);
    CHECK(agent_steer(agent, "Hello.", AGENT_NTS, &error) == AGENT_QUEUED);
    CHECK_OK(agent_resume_if_queued(agent, &run, &error));
    read_out(run);
    CHECK_MESSAGES(run, "u Hello.; a One.; ");

    /* through the handle of a run that is over */
    CHECK(agent_run_steer(run, "And?", AGENT_NTS, &error) == AGENT_QUEUED);
    CHECK(agent_run_follow_up(run, "Then?", AGENT_NTS, &error) == AGENT_QUEUED);
    agent_run_free(run);
    CHECK_OK(agent_resume_if_queued(agent, &run, &error));
    read_out(run);
    CHECK_MESSAGES(run, "u And?; a Two.; u Then?; a Three.; ");
    agent_run_free(run);

    CHECK(agent_resume_if_queued(agent, NULL, &error) == AGENT_DONE);
    CHECK_NULL(agent_resume_if_queued(NULL, &run, &error), "agent");
    agent_free(agent);
}

/* ---- the transcript ---------------------------------------------------------------------------------------------- */

static char *transcript(agent_t *agent)
{
    agent_messages_t *messages = NULL;
    char *reported = calloc(1, 200);
    size_t i;

    EXPECT_OK(agent_messages(agent, &messages, &error));
    for (i = 0; i < agent_messages_count(messages); i++)
        strcat(strcat(reported, agent_messages_text(messages, i, NULL)), ";");
    agent_messages_free(messages);
    return reported;
}

#define CHECK_TRANSCRIPT(agent, text)                     \
    do {                                                  \
        char *reported = transcript(agent);                   \
        bool same = EXPECT_TEXT(reported, (text));            \
        free(reported);                                       \
        if (!same)                                        \
            return;                                       \
    } while (0)

static void the_transcript_is_changed_between_runs(void)
{
    agent_t *agent = scripted(SCRIPTED(SAYS("Hello.")));
    agent_messages_t *messages = NULL;

    CHECK_OK(agent_messages_from_json("[{\"role\": \"user\", \"content\": \"A\"}, {\"role\": \"user\", \"content\": "
                                      "\"B\"}]", AGENT_NTS,
                                      &messages, &error));
    CHECK_OK(agent_append_messages(agent, messages, &error));
    CHECK_OK(agent_append_messages(agent, messages, &error));
    CHECK_TRANSCRIPT(agent, "A;B;A;B;");
    CHECK_OK(agent_set_messages(agent, messages, &error));
    CHECK_TRANSCRIPT(agent, "A;B;");
    agent_run_free(play(agent));
    CHECK_TRANSCRIPT(agent, "A;B;Go.;Hello.;");
    CHECK_OK(agent_clear_messages(agent, &error));
    CHECK_TRANSCRIPT(agent, "");
    agent_messages_free(messages);
    agent_free(agent);
}

static void a_reset_forgets_everything_but_the_settings(void)
{
    agent_t *agent = scripted(SCRIPTED("[{\"error\": {\"kind\": \"quota\", \"message\": \"no money\"}}]"));
    agent_text_t *state = NULL;

    CHECK_OK(agent_set_json(agent, "{\"system_prompt\": \"Be brief.\", \"thinking_level\": \"xhigh\"}", AGENT_NTS, &error));
    agent_run_free(play(agent));
    CHECK(agent_steer(agent, "Unheard.", AGENT_NTS, &error) == AGENT_QUEUED);
    CHECK(agent_follow_up(agent, "Unheard.", AGENT_NTS, &error) == AGENT_QUEUED);
    CHECK_OK(agent_reset(agent, &error));
    CHECK(!agent_has_queued_messages(agent));
    CHECK_OK(agent_state_json(agent, &state, &error));
    CHECK_TEXT(agent_text_data(state, NULL),
               "{\"system_prompt\":\"Be brief.\",\"model\":\"scripted/test\",\"thinking_level\":\"xhigh\",\"tools\":[],"
               "\"messages\":[],"
               "\"is_streaming\":false,\"streaming_message\":null,\"pending_tool_calls\":[],\"error\":null,"
               "\"listener_errors\":0}");
    agent_text_free(state);
    agent_free(agent);
}

/* A tool that tries to change the transcript. */
static void busy(void *agent, agent_tool_call_t *call)
{
    agent_messages_t *messages = NULL;

    EXPECT_OK(agent_messages_new(&messages, &error));
    EXPECT(agent_set_messages(agent, messages, NULL) == AGENT_BUSY);
    EXPECT(agent_append_messages(agent, messages, NULL) == AGENT_BUSY);
    EXPECT(agent_clear_messages(agent, NULL) == AGENT_BUSY);
    EXPECT(fails(agent_reset(agent, &error), AGENT_BUSY,
                 "a run is active on this agent, and it cannot be reset: use steer or follow_up to reach it, or "
                 "wait_for_idle to wait for its end",
                 __FILE__, __LINE__));
    agent_messages_free(messages);
    agent_tool_call_respond(call, "busy", AGENT_NTS, NULL);
    agent_tool_call_free(call);
}

static void the_transcript_cannot_be_changed_during_a_run(void)
{
    agent_t *agent = scripted(SCRIPTED(CALLS("tool", "{}") "," SAYS("Done.")));
    agent_tool_t *tool = NULL;
    agent_run_t *run;

    CHECK_OK(agent_tool_new("{\"name\": \"tool\"}", AGENT_NTS, busy, agent, NULL, &tool, &error));
    CHECK_OK(agent_add_tool(agent, tool, &error));
    agent_tool_free(tool);
    run = play(agent);
    CHECK_MESSAGES(run, "u Go.; a ; t busy; a Done.; ");
    agent_run_free(run);
    agent_free(agent);
}

/* ---- null -------------------------------------------------------------------------------------------------------- */

static void null_is_refused(void)
{
    agent_t *agent = scripted(SCRIPTED(SAYS("Hello.")));
    agent_messages_t *messages = NULL;
    agent_run_t *run = NULL;

    CHECK_OK(agent_messages_new(&messages, &error));
    CHECK_NULL(agent_resume(NULL, &run, &error), "agent");
    CHECK_NULL(agent_steer(NULL, "x", AGENT_NTS, &error), "agent");
    CHECK_NULL(agent_steer(agent, NULL, 0, &error), "text");
    CHECK_NULL(agent_steer_messages(NULL, messages, &error), "agent");
    CHECK_NULL(agent_steer_messages(agent, NULL, &error), "messages");
    CHECK_NULL(agent_follow_up(NULL, "x", AGENT_NTS, &error), "agent");
    CHECK_NULL(agent_follow_up(agent, NULL, 0, &error), "text");
    CHECK_NULL(agent_follow_up_messages(NULL, messages, &error), "agent");
    CHECK_NULL(agent_follow_up_messages(agent, NULL, &error), "messages");
    CHECK_NULL(agent_run_steer(NULL, "x", AGENT_NTS, &error), "run");
    CHECK_NULL(agent_run_steer_messages(NULL, messages, &error), "run");
    CHECK_NULL(agent_run_follow_up(NULL, "x", AGENT_NTS, &error), "run");
    CHECK_NULL(agent_run_follow_up_messages(NULL, messages, &error), "run");
    CHECK_NULL(agent_clear_steering_queue(NULL, &error), "agent");
    CHECK_NULL(agent_clear_follow_up_queue(NULL, &error), "agent");
    CHECK_NULL(agent_clear_all_queues(NULL, &error), "agent");
    CHECK(!agent_has_queued_messages(NULL));
    CHECK_NULL(agent_set_messages(NULL, messages, &error), "agent");
    CHECK_NULL(agent_set_messages(agent, NULL, &error), "messages");
    CHECK_NULL(agent_append_messages(NULL, messages, &error), "agent");
    CHECK_NULL(agent_append_messages(agent, NULL, &error), "messages");
    CHECK_NULL(agent_clear_messages(NULL, &error), "agent");
    CHECK_NULL(agent_reset(NULL, &error), "agent");
    agent_messages_free(messages);
    agent_free(agent);
}

int main(void)
{
    begin();
    RUN(steering_skips_calls_that_have_not_started);
    RUN(follow_ups_come_sequentially);
    RUN(queues_are_cleared);
    RUN(a_run_is_steered);
    RUN(resuming_nothing_is_refused);
    RUN(a_failed_run_is_resumed);
    RUN(found_e14_messages_wait_when_no_run_is_active);
    RUN(the_transcript_is_changed_between_runs);
    RUN(a_reset_forgets_everything_but_the_settings);
    RUN(the_transcript_cannot_be_changed_during_a_run);
    RUN(null_is_refused);
    return end();
}
