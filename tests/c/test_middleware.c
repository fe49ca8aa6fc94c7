/* Middleware around tool execution, and the correction of arguments before it. */

#include <unistd.h>

#include "support.h"

#define ONE_CALL SCRIPTED(CALLS("tool", "{\"n\": 1}") "," SAYS("Done."))

static void echo(void *userdata, agent_tool_call_t *call)
{
    if (userdata)
        gate_raise(userdata);
    agent_tool_call_respond(call, agent_tool_call_arguments(call, NULL), AGENT_NTS, NULL);
    agent_tool_call_free(call);
}

static void failing(void *userdata, agent_tool_call_t *call)
{
    gate_raise(userdata);
    agent_tool_call_fail(call, "no luck", AGENT_NTS, NULL);
    agent_tool_call_free(call);
}

/* What a middleware does with its call once the rest of the chain has run. */
static void passing_on(void *call, bool is_error, const char *text, size_t length)
{
    EXPECT(strlen(text) == length);
    if (is_error)
        EXPECT_OK(agent_tool_call_fail(call, text, length, &error));
    else
        EXPECT_OK(agent_tool_call_respond_json(call, text, length, &error));
}

static void done(void *call) { agent_tool_call_free(call); }

static void link_to(agent_t *agent, agent_tool_fn_t function, void *userdata)
{
    EXPECT_OK(agent_add_middleware(agent, function, userdata, NULL, &error));
}

/* The text that the model receives for the only call. */
#define CHECK_RESULT(agent, error_expected, text) \
    do {                                          \
        bool is_error = !(error_expected);        \
        char *result = tool_result((agent), &is_error); \
        bool same = EXPECT_TEXT(result, (text));  \
        free(result);                             \
        if (!same || !EXPECT(is_error == (error_expected))) \
            return;                               \
    } while (0)

/* ---- chains ------------------------------------------------------------------------------------------------------ */

typedef struct {
    const char *name;
    char *order;
    agent_tool_call_t *call;
} link_t;

static void reporting_after(void *userdata, bool is_error, const char *text, size_t length)
{
    link_t *link = userdata;

    strcat(strcat(link->order, link->name), "> ");
    passing_on(link->call, is_error, text, length);
}

static void link_done(void *userdata) { agent_tool_call_free(((link_t *)userdata)->call); }

static void telling(void *userdata, agent_tool_call_t *call)
{
    link_t *link = userdata;

    strcat(strcat(strcat(link->order, "<"), link->name), " ");
    link->call = call;
    EXPECT_TEXT(agent_tool_call_id(call, NULL), "call_1");
    EXPECT_TEXT(agent_tool_call_name(call, NULL), "tool");
    EXPECT_TEXT(agent_tool_call_arguments(call, NULL), "{\"n\":1}");
    EXPECT_OK(agent_tool_call_next(call, NULL, 0, reporting_after, link, link_done, &error));
}

static void middleware_is_nested(void)
{
    /* Static: the chain's answer, with which the run may end, comes before the destroy function of its userdata. */
    static char order[100];
    static link_t outer = {"outer", order, NULL}, inner = {"inner", order, NULL};
    agent_t *agent = with_tool(ONE_CALL, echo, NULL);

    link_to(agent, telling, &outer);
    link_to(agent, telling, &inner);
    CHECK_RESULT(agent, false, "{\"n\":1}");
    CHECK_TEXT(order, "<outer <inner inner> outer> ");
    agent_free(agent);
}

static void short_cut(void *userdata, agent_tool_call_t *call)
{
    (void)userdata;
    EXPECT_OK(agent_tool_call_update(call, "looking it up", AGENT_NTS, &error));
    EXPECT_OK(agent_tool_call_respond(call, "from the cache", AGENT_NTS, &error));
    EXPECT(agent_tool_call_next(call, NULL, 0, passing_on, NULL, NULL, NULL) == AGENT_INVALID_STATE);
    agent_tool_call_free(call);
}

static void a_middleware_answers_without_the_tool(void)
{
    gate_t ran = GATE;
    agent_t *agent = with_tool(ONE_CALL, echo, &ran);

    link_to(agent, short_cut, NULL);
    CHECK_RESULT(agent, false, "from the cache");
    CHECK(gate_count(&ran) == 0);
    agent_free(agent);
}

static void other_arguments(void *userdata, agent_tool_call_t *call)
{
    (void)userdata;
    EXPECT_OK(agent_tool_call_next(call, "{\"n\": 2} ignored", 8, passing_on, call, done, &error));
}

static void a_middleware_changes_the_arguments(void)
{
    agent_t *agent = with_tool(ONE_CALL, echo, NULL);

    link_to(agent, other_arguments, NULL);
    CHECK_RESULT(agent, false, "{\"n\":2}");
    agent_free(agent);
}

static void again(void *call, bool is_error, const char *text, size_t length)
{
    EXPECT(is_error && length == 7);
    EXPECT_TEXT(text, "no luck");
    EXPECT_OK(agent_tool_call_next(call, NULL, 0, passing_on, call, done, &error));
}

static void trying_twice(void *userdata, agent_tool_call_t *call)
{
    (void)userdata;
    EXPECT_OK(agent_tool_call_next(call, NULL, 0, again, call, NULL, &error));
}

static void a_middleware_retries(void)
{
    gate_t ran = GATE;
    agent_t *agent = with_tool(ONE_CALL, failing, &ran);

    link_to(agent, trying_twice, NULL);
    CHECK_RESULT(agent, true, "no luck");
    CHECK(gate_count(&ran) == 2);
    agent_free(agent);
}

static void seeing(void *call, bool is_error, const char *text, size_t length)
{
    EXPECT(!is_error);
    EXPECT_TEXT(text, "{\"content\":[{\"type\":\"text\",\"text\":\"{\\\"n\\\":1}\"}],\"details\":null,"
                "\"is_error\":false,\"terminate\":false}");
    EXPECT_OK(agent_tool_call_respond_json(call, text, length, &error));
}

static void seen(void *userdata, agent_tool_call_t *call)
{
    (void)userdata;
    EXPECT_OK(agent_tool_call_next(call, NULL, 0, seeing, call, done, &error));
}

static void a_middleware_receives_the_full_result(void)
{
    agent_t *agent = with_tool(ONE_CALL, echo, NULL);

    link_to(agent, seen, NULL);
    CHECK_RESULT(agent, false, "{\"n\":1}");
    agent_free(agent);
}

static void dropping(void *userdata, agent_tool_call_t *call)
{
    (void)userdata;
    agent_tool_call_free(call);
}

static void a_middleware_that_drops_its_call_fails_it(void)
{
    agent_t *agent = with_tool(ONE_CALL, echo, NULL);

    link_to(agent, dropping, NULL);
    CHECK_RESULT(agent, true, "a middleware dropped the call of tool without an answer");
    agent_free(agent);
}

/* ---- abort, errors, null ----------------------------------------------------------------------------------------- */

static void silent(void *userdata, agent_tool_call_t *call)
{
    gate_t *gate = userdata;

    gate_raise(gate);
    gate_wait(gate, 3);
    agent_tool_call_free(call);
    gate_raise(gate);
}

static gate_t *aborted_gate;

static void after_the_abort(void *userdata, bool is_error, const char *text, size_t length)
{
    (void)userdata;
    EXPECT(is_error && length == 7);
    EXPECT_TEXT(text, "aborted");
    gate_raise(aborted_gate);
}

static void waiting(void *userdata, agent_tool_call_t *call)
{
    aborted_gate = userdata;
    EXPECT_OK(agent_tool_call_next(call, NULL, 0, after_the_abort, call, done, &error));
}

static void a_call_that_is_given_up_is_reported(void)
{
    gate_t gate = GATE;
    agent_t *agent = with_tool(ONE_CALL, silent, &gate);
    agent_run_t *run = NULL;

    link_to(agent, waiting, &gate);
    CHECK_OK(agent_set_json(agent, "{\"abort_grace_ms\": 0}", AGENT_NTS, &error));
    CHECK_OK(agent_prompt(agent, "Go.", AGENT_NTS, &run, &error));
    gate_wait(&gate, 1);
    CHECK_OK(agent_run_abort(run, &error));
    read_out(run);
    CHECK(agent_run_outcome(run) == AGENT_OUTCOME_ABORTED);
    gate_wait(&gate, 2); /* the middleware has its result */
    gate_raise(&gate);
    gate_wait(&gate, 4); /* the tool has ended */
    agent_run_free(run);
    agent_free(agent);
}

static void no_link(void *userdata, agent_tool_call_t *call)
{
    gate_t *destroyed = userdata;

    EXPECT(fails(agent_tool_call_next(call, NULL, 0, passing_on, destroyed, gate_raise, &error), AGENT_INVALID_STATE,
                 "this call of tool is for the tool itself; only the call of a middleware has a next", __FILE__, __LINE__));
    EXPECT(gate_count(destroyed) == 1);
    EXPECT(fails(agent_tool_call_next(call, NULL, 0, NULL, destroyed, gate_raise, &error), AGENT_INVALID_ARGUMENT,
                 "function is NULL",
                 __FILE__, __LINE__));
    EXPECT(gate_count(destroyed) == 2);
    EXPECT(fails(agent_tool_call_next(call, "[]", AGENT_NTS, passing_on, destroyed, gate_raise, &error), AGENT_INVALID_ARGUMENT,
                 "arguments: expected a JSON object, got []", __FILE__, __LINE__));
    EXPECT(gate_count(destroyed) == 3);
    agent_tool_call_respond(call, "alone", AGENT_NTS, NULL);
    agent_tool_call_free(call);
}

static void only_middleware_has_a_next(void)
{
    gate_t destroyed = GATE;
    agent_t *agent = with_tool(ONE_CALL, no_link, &destroyed);

    CHECK_RESULT(agent, false, "alone");
    CHECK_NULL(agent_tool_call_next(NULL, NULL, 0, passing_on, &destroyed, gate_raise, &error), "call");
    CHECK(gate_count(&destroyed) == 4);
    agent_free(agent);
}

static void trying(void *agent, agent_tool_call_t *call)
{
    EXPECT(agent_prompt(agent, "Go.", AGENT_NTS, NULL, NULL) == AGENT_INVALID_STATE);
    EXPECT(agent_wait_for_idle(agent, -1, NULL) == AGENT_INVALID_STATE);
    EXPECT_OK(agent_tool_call_next(call, NULL, 0, passing_on, call, done, &error));
}

static void a_middleware_cannot_wait_for_its_run(void)
{
    agent_t *agent = with_tool(ONE_CALL, echo, NULL);

    link_to(agent, trying, agent);
    CHECK_RESULT(agent, false, "{\"n\":1}");
    agent_free(agent);
}

static void destroy_comes_once_whatever_happens(void)
{
    gate_t destroyed = GATE;
    agent_t *agent = scripted(SCRIPTED(SAYS("Hello.")));

    CHECK_NULL(agent_add_middleware(NULL, seen, &destroyed, gate_raise, &error), "agent");
    CHECK(gate_count(&destroyed) == 1);
    CHECK_NULL(agent_add_middleware(agent, NULL, &destroyed, gate_raise, &error), "function");
    CHECK(gate_count(&destroyed) == 2);
    CHECK_OK(agent_add_middleware(agent, seen, &destroyed, gate_raise, &error));
    CHECK(gate_count(&destroyed) == 2);
    agent_free(agent);
    CHECK(gate_count(&destroyed) == 3);
}

/* ---- corrected arguments ----------------------------------------------------------------------------------------- */

#define NUMBER "{\"name\": \"tool\", \"parameters\": {\"type\": \"object\", \"properties\": {\"n\": {\"type\": " \
    "\"number\"}}, \"required\": [\"n\"]}}"

typedef struct {
    const char *answer; /* NULL: it fails */
} prepare_t;

static void preparing(void *userdata, agent_hook_call_t *call)
{
    const prepare_t *prepare = userdata;

    EXPECT_TEXT(agent_hook_call_input(call, NULL), "{\"value\":1}");
    if (prepare->answer)
        EXPECT_OK(agent_hook_call_respond_json(call, prepare->answer, AGENT_NTS, &error));
    else
        EXPECT_OK(agent_hook_call_fail(call, "what is that?", AGENT_NTS, &error));
    agent_hook_call_free(call);
}

static agent_t *prepared(prepare_t *prepare)
{
    agent_t *agent = scripted(SCRIPTED(CALLS("tool", "{\"value\": 1}") "," SAYS("Done.")));
    agent_tool_t *tool = NULL;

    EXPECT_OK(agent_tool_new(NUMBER, AGENT_NTS, echo, NULL, NULL, &tool, &error));
    EXPECT_OK(agent_tool_set_prepare_arguments(tool, preparing, prepare, NULL, &error));
    EXPECT_OK(agent_tool_set_json(tool, "{\"label\": \"still prepared\"}", AGENT_NTS, &error));
    EXPECT_OK(agent_add_tool(agent, tool, &error));
    agent_tool_free(tool);
    return agent;
}

static void arguments_are_corrected(void)
{
    static const struct { const char *answer; bool is_error; const char *text; } cases[] = {
        {"{\"n\": 1}", false, "{\"n\":1}"},
        {"null", true, "the arguments of tool do not fit its schema:\n/n: is required"},
        {"5", true, "prepare_arguments of tool failed: expected an object of arguments or null, got 5"},
        {NULL, true, "prepare_arguments of tool failed: what is that?"},
    };
    size_t i;

    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        prepare_t prepare = {cases[i].answer};
        agent_t *agent = prepared(&prepare);

        CHECK_RESULT(agent, cases[i].is_error, cases[i].text);
        agent_free(agent);
    }
}

static agent_tool_t *renamed;

/* A destroy function may use the tool. */
static void renaming(void *destroyed)
{
    EXPECT_OK(agent_tool_set_json(renamed, "{\"name\": \"other\"}", AGENT_NTS, &error));
    gate_raise(destroyed);
}

static void destroy_of_prepare_arguments_comes_once(void)
{
    gate_t destroyed = GATE;

    CHECK_NULL(agent_tool_set_prepare_arguments(NULL, preparing, &destroyed, gate_raise, &error), "tool");
    CHECK(gate_count(&destroyed) == 1);
    CHECK_OK(agent_tool_new(NUMBER, AGENT_NTS, echo, NULL, NULL, &renamed, &error));
    CHECK_OK(agent_tool_set_prepare_arguments(renamed, preparing, &destroyed, renaming, &error));
    CHECK(gate_count(&destroyed) == 1);
    CHECK_OK(agent_tool_set_prepare_arguments(renamed, NULL, &destroyed, gate_raise, &error));
    CHECK(gate_count(&destroyed) == 3);
    CHECK_OK(agent_tool_set_prepare_arguments(renamed, preparing, &destroyed, gate_raise, &error));
    agent_tool_free(renamed);
    CHECK(gate_count(&destroyed) == 4);
}

int main(void)
{
    begin();
    RUN(middleware_is_nested);
    RUN(a_middleware_answers_without_the_tool);
    RUN(a_middleware_changes_the_arguments);
    RUN(a_middleware_retries);
    RUN(a_middleware_receives_the_full_result);
    RUN(a_middleware_that_drops_its_call_fails_it);
    RUN(a_call_that_is_given_up_is_reported);
    RUN(only_middleware_has_a_next);
    RUN(a_middleware_cannot_wait_for_its_run);
    RUN(destroy_comes_once_whatever_happens);
    RUN(arguments_are_corrected);
    RUN(destroy_of_prepare_arguments_comes_once);
    return end();
}
