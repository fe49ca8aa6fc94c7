/* Agents that keep their conversation in a session, as C has them; the rules are tested in Rust. */

#include <signal.h>
#include <sys/wait.h>

#include "stores.h"

static const char *program;

/* An open session with its handles freed: the agent keeps it. */
static agent_open_session_t *open_of(agent_store_t *store, const char *id)
{
    agent_session_t *session = session_of(store, id);
    agent_open_session_t *opened = NULL;

    EXPECT_OK(agent_session_open(session, &opened, &error));
    agent_session_free(session);
    return opened;
}

/* Gives an agent the session, and closes and frees both when the test is done with them. */
static void close_both(agent_t *agent, agent_open_session_t *opened)
{
    EXPECT_OK(agent_open_session_close(opened, &error));
    agent_open_session_free(opened);
    agent_free(agent);
}

/* The texts of the agent's messages; the caller frees it. */
static char *conversation(const agent_t *agent)
{
    agent_messages_t *messages = NULL;
    char *text = strdup("");
    size_t i;

    EXPECT_OK(agent_messages(agent, &messages, &error));
    for (i = 0; i < agent_messages_count(messages); i++) {
        const char *one = agent_messages_text(messages, i, NULL);

        text = realloc(text, strlen(text) + strlen(one) + 3);
        strcat(strcat(text, one), "; ");
    }
    agent_messages_free(messages);
    return text;
}

static bool has_conversation(const agent_t *agent, const char *wanted)
{
    char *text = conversation(agent);
    bool same = EXPECT_TEXT(text, wanted);

    free(text);
    return same;
}

/* ---- another agent goes on --------------------------------------------------------------------------------------- */

static void goes_on(agent_store_t *store)
{
    agent_t *agent = scripted(SCRIPTED(SAYS("Yes."))), *other = scripted(SCRIPTED(SAYS("Always.")));
    agent_open_session_t *opened = open_of(store, "user-7"), *second = NULL;
    agent_session_t *session = session_of(store, "user-7");
    agent_messages_t *messages = NULL;
    agent_text_t *text = NULL;
    agent_run_t *run = NULL;

    CHECK_OK(agent_set_session(agent, opened, &error));
    CHECK(agent_interrupted(agent, &text, &error) == AGENT_DONE && text == NULL);
    agent_run_free(play(agent));
    CHECK(agent_steer(agent, "And Bergen?", AGENT_NTS, &error) == AGENT_QUEUED);
    CHECK_OK(agent_flush(agent, &error));
    CHECK_OK(agent_open_session_close(opened, &error));
    CHECK_FAILS(agent_reset(agent, &error), AGENT_INVALID_STATE, "the session \"user-7\" was closed; open it again");
    agent_open_session_free(opened);
    agent_free(agent);

    CHECK_OK(agent_session_open(session, &second, &error));
    CHECK_OK(agent_open_session_messages(second, &messages, &error));
    CHECK(agent_messages_count(messages) == 2);
    agent_messages_free(messages);
    CHECK_OK(agent_set_session(other, second, &error));
    CHECK_OK(agent_open_session_messages(second, &messages, &error));
    CHECK(agent_messages_count(messages) == 0);
    agent_messages_free(messages);
    CHECK(has_conversation(other, "Go.; Yes.; ") && agent_has_queued_messages(other));
    CHECK_OK(agent_resume(other, &run, &error));
    read_out(run);
    agent_run_free(run);
    CHECK(has_conversation(other, "Go.; Yes.; And Bergen?; Always.; "));
    close_both(other, second);
    agent_session_free(session);
}

static void records_do_not_pass_the_agent_by(void)
{
    agent_store_t *store = opened_store("memory:", NULL);
    agent_t *agent = scripted(SCRIPTED(SAYS("Yes."))), *other = scripted(SCRIPTED(SAYS("Yes.")));
    agent_open_session_t *opened = open_of(store, "a"), *second;

    CHECK_OK(agent_set_session(agent, opened, &error));
    CHECK_FAILS(agent_open_session_append(opened, "[" USER("Past it.") "]", AGENT_NTS, NULL, &error), AGENT_INVALID_STATE,
                "append: the open session \"a\" has an agent, whose conversation this would not reach: append messages with "
                "the agent's append_messages, or close the session and open it again");
    CHECK_OK(agent_open_session_append(opened, "[{\"kind\": \"info\", \"title\": \"Weather\"}]", AGENT_NTS, NULL, &error));
    CHECK_OK(agent_open_session_set_info(opened, "{\"title\": \"Rain\"}", AGENT_NTS, &error));
    close_both(agent, opened);

    second = open_of(store, "a");
    CHECK_OK(agent_open_session_append(second, "[" USER("By hand.") "]", AGENT_NTS, NULL, &error));
    CHECK_FAILS(agent_set_session(other, second, &error), AGENT_INVALID_STATE,
                "session: records were appended to this open session \"a\", which an agent would not have: close it, and "
                "open it again for the agent");
    close_both(other, second);
    agent_store_free(store);
}

static void another_agent_goes_on_with_the_conversation(void)
{
    const char *addresses[] = {path("%s/on.db"), path("jsonl:%s/on"), "memory:"};
    size_t i;

    for (i = 0; i < 3; i++) {
        agent_store_t *store = opened_store(addresses[i], NULL);

        goes_on(store);
        agent_store_free(store);
    }
}

static void another_agent_goes_on_in_a_custom_store(void)
{
    custom_t custom = CUSTOM;
    agent_store_t *store = custom_store(&custom, NULL);

    custom.later = true;
    goes_on(store);
    agent_store_free(store);
    gate_wait(&custom.destroyed, 1);
    custom_free(&custom);
}

static void changes_between_runs_are_kept(void)
{
    agent_store_t *store = opened_store(path("%s/changes.db"), NULL);
    agent_t *agent = scripted(SCRIPTED("")), *again = scripted(SCRIPTED(""));
    agent_open_session_t *opened = open_of(store, "a");
    agent_messages_t *messages = NULL;

    CHECK_OK(agent_set_session(agent, opened, &error));
    CHECK_OK(agent_messages_new(&messages, &error));
    CHECK_OK(agent_messages_add_user(messages, "One.", AGENT_NTS, &error));
    CHECK_OK(agent_append_messages(agent, messages, &error));
    CHECK_OK(agent_messages_add_user(messages, "Two.", AGENT_NTS, &error));
    CHECK_OK(agent_set_messages(agent, messages, &error));
    agent_messages_free(messages);
    close_both(agent, opened);
    opened = open_of(store, "a");
    CHECK_OK(agent_set_session(again, opened, &error));
    CHECK(has_conversation(again, "One.; Two.; "));
    close_both(again, opened);
    agent_store_free(store);
}

static void freed_handles_give_the_session_back(void)
{
    agent_store_t *store = opened_store(path("%s/freed.db"), NULL);
    agent_t *agent = scripted(SCRIPTED(SAYS("Yes.")));
    agent_session_t *session = session_of(store, "a");
    agent_open_session_t *opened = NULL;
    agent_text_t *info = NULL;
    bool is_held = true;

    CHECK_OK(agent_session_open(session, &opened, &error));
    CHECK_OK(agent_set_session(agent, opened, &error));
    agent_open_session_free(opened);
    agent_run_free(play(agent));
    agent_free(agent);
    /* On a thread of the library. */
    while (is_held) {
        CHECK_OK(agent_session_info(session, &info, &error));
        is_held = strstr(agent_text_data(info, NULL), "\"holder\":null") == NULL;
        agent_text_free(info);
    }
    agent_session_free(session);
    agent_store_free(store);
}

/* ---- what is refused --------------------------------------------------------------------------------------------- */

static void an_agent_gets_one_session_and_first_of_all(void)
{
    agent_store_t *store = opened_store("memory:", NULL);
    agent_t *agent = scripted(SCRIPTED("")), *other = scripted(SCRIPTED(""));
    agent_open_session_t *a = open_of(store, "a"), *b = open_of(store, "b");
    agent_messages_t *messages = NULL;

    CHECK(agent_steer(other, "Hello.", AGENT_NTS, &error) == AGENT_QUEUED);
    CHECK_FAILS(agent_set_session(other, b, &error), AGENT_INVALID_STATE,
                "session: the agent has queued messages, which the session would not have: give the session first");
    CHECK_OK(agent_messages_new(&messages, &error));
    CHECK_OK(agent_messages_add_user(messages, "One.", AGENT_NTS, &error));
    CHECK_OK(agent_set_messages(other, messages, &error));
    agent_messages_free(messages);
    CHECK_FAILS(agent_set_session(other, b, &error), AGENT_INVALID_ARGUMENT,
                "messages: the session has the conversation; append to it with append_messages");
    CHECK_OK(agent_reset(other, &error));

    CHECK_OK(agent_set_session(agent, a, &error));
    CHECK_FAILS(agent_set_session(agent, b, &error), AGENT_INVALID_STATE,
                "session: the agent has one, \"a\": make another agent for \"b\"");
    CHECK_FAILS(agent_set_session(other, a, &error), AGENT_INVALID_STATE,
                "session: an agent has, or had, the conversation of this open session \"a\": close it, and open it again for "
                "another agent");
    CHECK_OK(agent_set_session(other, b, &error));
    close_both(agent, a);
    close_both(other, b);
    agent_store_free(store);
}

typedef struct {
    agent_t *agent;
    agent_open_session_t *opened;
    agent_status_t flushed, set;
} refused_t;

static void refuse_in_a_tool(void *userdata, agent_tool_call_t *call)
{
    refused_t *refused = userdata;

    refused->flushed = agent_flush(refused->agent, NULL);
    refused->set = agent_set_session(refused->agent, refused->opened, NULL);
    agent_tool_call_respond(call, "Done.", AGENT_NTS, NULL);
    agent_tool_call_free(call);
}

static void in_a_callback_of_the_agent_flush_is_refused(void)
{
    refused_t refused = {NULL, NULL, AGENT_OK, AGENT_OK};
    agent_store_t *store = opened_store("memory:", NULL);

    refused.agent = with_tool(SCRIPTED(CALLS("tool", "{}") ", " SAYS("Done.")), refuse_in_a_tool, &refused);
    refused.opened = open_of(store, "a");
    CHECK_OK(agent_set_session(refused.agent, refused.opened, &error));
    agent_run_free(play(refused.agent));
    CHECK(refused.flushed == AGENT_INVALID_STATE && refused.set == AGENT_BUSY);
    close_both(refused.agent, refused.opened);
    agent_store_free(store);
}

static void each_argument_may_be_null(void)
{
    agent_store_t *store = opened_store("memory:", NULL);
    agent_open_session_t *opened = open_of(store, "a");
    agent_t *agent = scripted(SCRIPTED(""));
    agent_text_t *text = NULL;

    CHECK_NULL(agent_set_session(NULL, opened, &error), "agent");
    CHECK_NULL(agent_set_session(agent, NULL, &error), "opened");
    CHECK_NULL(agent_interrupted(NULL, &text, &error), "agent");
    CHECK_NULL(agent_interrupted(agent, NULL, &error), "interrupted");
    CHECK_NULL(agent_flush(NULL, &error), "agent");
    CHECK_OK(agent_flush(agent, &error));
    close_both(agent, opened);
    agent_store_free(store);
}

/* ---- after a crash ----------------------------------------------------------------------------------------------- */

static void pay(void *userdata, agent_tool_call_t *call)
{
    double n = 0;

    (void)userdata;
    agent_tool_call_get_number(call, "n", AGENT_NTS, &n, NULL);
    if (n == 2)
        kill(getpid(), SIGKILL);
    agent_tool_call_respond(call, "paid", AGENT_NTS, NULL);
    agent_tool_call_free(call);
}

/* The process that is killed by its tool. */
static int child(const char *address)
{
    agent_t *agent;
    agent_store_t *store;
    agent_open_session_t *opened;

    begin();
    agent = with_tool(SCRIPTED("[" CALL("call_1", "tool", "{\"n\": 1}") ", " CALL("call_2", "tool", "{\"n\": 2}")
                               ", {\"end\": \"tool_use\"}]"), pay, NULL);
    store = opened_store(address, NULL);
    opened = open_of(store, "a");
    EXPECT_OK(agent_set_json(agent, "{\"tool_execution\": \"sequential\"}", AGENT_NTS, &error));
    EXPECT_OK(agent_set_session(agent, opened, &error));
    agent_run_free(play(agent));
    return end();
}

static void a_run_whose_process_was_killed_goes_on(void)
{
    const char *addresses[] = {path("%s/killed.db"), path("jsonl:%s/killed")};
    char command[500];
    size_t i;

    for (i = 0; i < 2; i++) {
        agent_t *agent = with_tool(SCRIPTED(SAYS("Done.")), pay, NULL);
        agent_store_t *store;
        agent_open_session_t *opened;
        agent_messages_t *messages = NULL;
        agent_text_t *text = NULL;
        agent_run_t *run = NULL;
        int status;

        snprintf(command, sizeof command, "exec '%s' '%s'", program, addresses[i]);
        status = system(command);
        CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);

        store = opened_store(addresses[i], NULL);
        opened = open_of(store, "a");
        CHECK_OK(agent_set_session(agent, opened, &error));
        CHECK_OK(agent_interrupted(agent, &text, &error));
        CHECK_CONTAINS(agent_text_data(text, NULL), "\"of\":\"prompt\",\"phase\":\"tools\",\"calls\":[{\"tool_call_id\":\"call_");
        CHECK_CONTAINS(agent_text_data(text, NULL), "\"idempotency_key\":\"a/1/call_2\",\"progress\":{\"state\":\"started\"}");
        agent_text_free(text);
        CHECK_OK(agent_resume(agent, &run, &error));
        read_out(run);
        CHECK(agent_run_outcome(run) == AGENT_OUTCOME_COMPLETED);
        agent_run_free(run);
        CHECK(agent_interrupted(agent, &text, &error) == AGENT_DONE);
        CHECK_OK(agent_messages(agent, &messages, &error));
        CHECK_CONTAINS(agent_messages_text(messages, 3, NULL), "not known");
        CHECK_TEXT(agent_messages_text(messages, 4, NULL), "Done.");
        agent_messages_free(messages);
        close_both(agent, opened);
        agent_store_free(store);
    }
}

static agent_t *with_approval(const char *model)
{
    agent_t *agent = scripted(model);
    agent_tool_t *tool = NULL;

    EXPECT_OK(agent_tool_new("{\"name\": \"tool\", \"needs_approval\": true}", AGENT_NTS, pay, NULL, NULL, &tool, &error));
    EXPECT_OK(agent_add_tool(agent, tool, &error));
    agent_tool_free(tool);
    return agent;
}

static void calls_that_wait_are_decided_by_another_agent(void)
{
    agent_store_t *store = opened_store(path("%s/waiting.db"), NULL);
    agent_t *agent = with_approval(SCRIPTED(CALLS("tool", "{}")));
    agent_open_session_t *opened = open_of(store, "a");
    agent_run_t *run = NULL;

    CHECK_OK(agent_set_session(agent, opened, &error));
    run = play(agent);
    CHECK(agent_run_outcome(run) == AGENT_OUTCOME_SUSPENDED);
    agent_run_free(run);
    close_both(agent, opened);

    agent = with_approval(SCRIPTED(SAYS("Done.")));
    opened = open_of(store, "a");
    CHECK_OK(agent_set_session(agent, opened, &error));
    CHECK_OK(agent_resume_decided(agent, "{\"call_1\": \"approve\"}", AGENT_NTS, &run, &error));
    read_out(run);
    CHECK_MESSAGES(run, "t paid; a Done.; ");
    agent_run_free(run);
    close_both(agent, opened);
    agent_store_free(store);
}

int main(int argc, char **argv)
{
    if (argc > 1)
        return child(argv[1]);
    program = argv[0];
    begin();
    make_folder();
    RUN(records_do_not_pass_the_agent_by);
    RUN(another_agent_goes_on_with_the_conversation);
    RUN(another_agent_goes_on_in_a_custom_store);
    RUN(changes_between_runs_are_kept);
    RUN(freed_handles_give_the_session_back);
    RUN(an_agent_gets_one_session_and_first_of_all);
    RUN(in_a_callback_of_the_agent_flush_is_refused);
    RUN(each_argument_may_be_null);
    RUN(a_run_whose_process_was_killed_goes_on);
    RUN(calls_that_wait_are_decided_by_another_agent);
    return end_with_folder();
}
