/* Custom models: requests answered chunk by chunk. */

#include <stdatomic.h>
#include <unistd.h>

#include "support.h"

/* A model that pushes these chunks, up to a NULL, and then ends like this. */
typedef struct {
    const char *const *chunks;
    const char *end;     /* of finish */
    const char *failure; /* of fail */
    bool unfinished;
    char request[4000];
} model_t;

static void answering(void *userdata, agent_model_call_t *call)
{
    model_t *model = userdata;
    const char *const *chunk;
    size_t length = 0;

    snprintf(model->request, sizeof model->request, "%s", agent_model_call_request(call, &length));
    EXPECT(length == strlen(agent_model_call_request(call, NULL)));
    EXPECT(!agent_model_call_is_cancelled(call));
    for (chunk = model->chunks; *chunk; chunk++)
        EXPECT_OK(agent_model_call_push(call, *chunk, AGENT_NTS, &error));
    if (model->failure)
        EXPECT_OK(agent_model_call_fail(call, model->failure, AGENT_NTS, &error));
    else if (!model->unfinished)
        EXPECT_OK(agent_model_call_finish(call, model->end, AGENT_NTS, &error));
    agent_model_call_free(call);
}

static agent_t *own(agent_model_fn_t function, void *userdata)
{
    agent_t *agent = scripted("acme/own");

    EXPECT_OK(agent_set_model_callback(agent, function, userdata, NULL, &error));
    EXPECT_OK(agent_set_json(agent, "{\"max_retries\": 0}", AGENT_NTS, &error));
    return agent;
}

/* ---- responses --------------------------------------------------------------------------------------------------- */

static void chunks_become_a_message(void)
{
    model_t model = {.chunks = (const char *const[]){"{\"thinking\": \"Hm.\"}", "\"Hel\"", "{\"text\": \"lo.\"}", NULL},
                     .end = "{\"usage\": {\"input\": 3, \"output\": 2, \"total\": 5}, \"raw_stop_reason\": \"eos\"}"};
    agent_t *agent = own(answering, &model);
    agent_run_t *run;
    const char *json;

    CHECK_OK(agent_set_system_prompt(agent, "Be brief.", AGENT_NTS, &error));
    CHECK_OK(agent_set_json(agent, "{\"thinking_level\": \"low\", \"temperature\": 0}", AGENT_NTS, &error));
    run = play(agent);
    CHECK_CONTAINS(model.request, "{\"model\":\"acme/own\",\"system_prompt\":\"Be brief.\",\"messages\":[{\"role\":\"user\"");
    CHECK_CONTAINS(model.request, "\"tools\":[],\"thinking_level\":\"low\",\"options\":{\"temperature\":0.0}}");
    CHECK(agent_run_outcome(run) == AGENT_OUTCOME_COMPLETED);
    CHECK_TEXT(agent_run_text(run, NULL), "Hello.");
    CHECK(agent_run_usage(run, AGENT_USAGE_TOTAL) == 5);
    json = agent_messages_json_at(agent_run_messages(run), 1, NULL);
    CHECK_CONTAINS(json, "{\"type\":\"thinking\",\"thinking\":\"Hm.\"},{\"type\":\"text\",\"text\":\"Hello.\"}");
    CHECK_CONTAINS(json, "\"provider\":\"acme\",\"protocol\":\"acme\",\"model\":\"own\"");
    CHECK_CONTAINS(json, "\"stop_reason\":\"stop\",\"raw_stop_reason\":\"eos\"");
    agent_run_free(run);
    agent_free(agent);
}

static void calling(void *userdata, agent_model_call_t *call)
{
    int *requests = userdata;

    if ((*requests)++ == 0) {
        EXPECT_OK(agent_model_call_push(call, "{\"tool_call\": {\"id\": \"a\", \"name\": \"tool\", \"arguments\": {}}}",
                                        AGENT_NTS, &error));
    } else {
        EXPECT_CONTAINS(agent_model_call_request(call, NULL), "\"role\":\"tool_result\"");
        EXPECT_OK(agent_model_call_push_text(call, "It \"said\" so, and more", 13, &error));
    }
    EXPECT_OK(agent_model_call_finish(call, NULL, 0, &error));
    agent_model_call_free(call);
}

static void saying(void *userdata, agent_tool_call_t *call)
{
    (void)userdata;
    agent_tool_call_respond(call, "so", AGENT_NTS, NULL);
    agent_tool_call_free(call);
}

static void a_model_calls_tools(void)
{
    int requests = 0;
    agent_t *agent = with_tool("acme/own", saying, NULL);
    agent_run_t *run;

    CHECK_OK(agent_set_model_callback(agent, calling, &requests, NULL, &error));
    run = play(agent);
    CHECK_MESSAGES(run, "u Go.; a ; t so; a It \"said\" so,; ");
    agent_run_free(run);
    agent_free(agent);
}

static void it_replaces_known_providers(void)
{
    model_t model = {.chunks = (const char *const[]){"\"Mine.\"", NULL}};
    agent_t *agent = own(answering, &model);
    agent_run_t *run;

    CHECK_OK(agent_set_model(agent, "anthropic/claude-sonnet-4-5", AGENT_NTS, &error));
    run = play(agent);
    CHECK_TEXT(agent_run_text(run, NULL), "Mine.");
    agent_run_free(run);

    CHECK_OK(agent_set_model_callback(agent, NULL, NULL, NULL, &error));
    CHECK_OK(agent_set_model(agent, SCRIPTED(SAYS("The script's.")), AGENT_NTS, &error));
    run = play(agent);
    CHECK_TEXT(agent_run_text(run, NULL), "The script's.");
    agent_run_free(run);
    agent_free(agent);
}

/* ---- failures ---------------------------------------------------------------------------------------------------- */

static void failures_keep_their_kind(void)
{
    static const char *const said[] = {"\"So \"", NULL};
    static const char *const refused[] = {"{\"error\": {\"kind\": \"rate_limited\", \"message\": \"slow down\"}}", NULL};
    /* A run may be over before the model's function has returned. */
    static model_t model = {.chunks = said, .failure = "out of ideas"};
    agent_t *agent = own(answering, &model);
    agent_run_t *run;

#define CHECK_FAILED(kind, message)                                                   \
    do {                                                                              \
        run = play(agent);                                                            \
        CHECK(agent_run_outcome(run) == AGENT_OUTCOME_ERROR);                         \
        CHECK(agent_error_status(agent_run_error(run)) == (kind));                    \
        CHECK_TEXT(agent_error_message(agent_run_error(run), NULL), (message));       \
        agent_run_free(run);                                                          \
    } while (0)
    CHECK_FAILED(AGENT_PROVIDER, "out of ideas");
    model.failure = NULL;
    model.unfinished = true;
    CHECK_FAILED(AGENT_PROVIDER, "the provider acme dropped the request without ending its answer");
    model.chunks = refused;
    CHECK_FAILED(AGENT_RATE_LIMITED, "slow down");
    agent_free(agent);
}

static void careless(void *userdata, agent_model_call_t *call)
{
    static const char over[] = "the response of this request has already ended; end it once";

    (void)userdata;
    EXPECT(fails(agent_model_call_push(call, "{", AGENT_NTS, &error), AGENT_INVALID_ARGUMENT,
                 "json is not JSON: it ends in the middle of an object (line 1, column 1)", __FILE__, __LINE__));
    EXPECT(fails(agent_model_call_push(call, "{\"txt\": \"x\"}", AGENT_NTS, &error), AGENT_INVALID_ARGUMENT,
                 "chunk: unknown field \"txt\"; known are text, thinking, tool_call, type, end, error, usage, diagnostic",
                 __FILE__, __LINE__));
    EXPECT(fails(agent_model_call_push(call, "{\"tool_call\": {\"name\": \"t\", \"args\": {}}}", AGENT_NTS, &error),
                 AGENT_INVALID_ARGUMENT, "chunk: tool_call: unknown field \"args\"; known are id, name, arguments", __FILE__,
                 __LINE__));
    EXPECT(fails(agent_model_call_push(call, NULL, 0, &error), AGENT_INVALID_ARGUMENT, "json is NULL", __FILE__, __LINE__));
    EXPECT(fails(agent_model_call_push_text(call, NULL, 0, &error), AGENT_INVALID_ARGUMENT, "text is NULL", __FILE__, __LINE__));
    EXPECT(fails(agent_model_call_fail(call, NULL, 0, &error), AGENT_INVALID_ARGUMENT, "message is NULL", __FILE__, __LINE__));
    EXPECT(fails(agent_model_call_finish(call, "{\"stop_reason\": \"error\"}", AGENT_NTS, &error), AGENT_INVALID_ARGUMENT,
                 "chunk: end: a stop_reason of \"error\" or \"aborted\" cannot be given; fail the answer with an "
                 "error, or abort the run",
                 __FILE__, __LINE__));
    /* none of these was part of the response */
    EXPECT_OK(agent_model_call_push_text(call, "Right.", AGENT_NTS, &error));
    EXPECT_OK(agent_model_call_finish(call, "\"length\"", AGENT_NTS, &error));
    EXPECT(fails(agent_model_call_push_text(call, "More.", AGENT_NTS, &error), AGENT_INVALID_STATE, over, __FILE__, __LINE__));
    EXPECT(fails(agent_model_call_finish(call, NULL, 0, &error), AGENT_INVALID_STATE, over, __FILE__, __LINE__));
    EXPECT(fails(agent_model_call_fail(call, "late", AGENT_NTS, &error), AGENT_INVALID_STATE, over, __FILE__, __LINE__));
    agent_model_call_free(call);
}

static void invalid_chunks_are_refused(void)
{
    agent_t *agent = own(careless, NULL);
    agent_run_t *run = play(agent);

    CHECK_TEXT(agent_run_text(run, NULL), "Right.");
    CHECK_CONTAINS(agent_messages_json_at(agent_run_messages(run), 1, NULL), "\"stop_reason\":\"length\"");
    agent_run_free(run);
    agent_free(agent);
}

/* ---- later, aborted, too fast ------------------------------------------------------------------------------------ */

static void *answer_elsewhere(void *call)
{
    usleep(1000);
    EXPECT_OK(agent_model_call_push_text(call, "From another thread.", AGENT_NTS, &error));
    EXPECT_OK(agent_model_call_finish(call, NULL, 0, &error));
    agent_model_call_free(call);
    return NULL;
}

static void handing_over(void *userdata, agent_model_call_t *call)
{
    EXPECT(pthread_create(userdata, NULL, answer_elsewhere, call) == 0);
}

static void a_model_answers_later_from_another_thread(void)
{
    pthread_t thread;
    agent_t *agent = own(handing_over, &thread);
    agent_run_t *run = play(agent);

    CHECK(pthread_join(thread, NULL) == 0);
    CHECK_TEXT(agent_run_text(run, NULL), "From another thread.");
    agent_run_free(run);
    agent_free(agent);
}

static void until_cancelled(void *userdata, agent_model_call_t *call)
{
    /* The reader may have aborted before this returns; then it fails. */
    agent_status_t status = agent_model_call_push_text(call, "Never-ending", AGENT_NTS, NULL);
    EXPECT(status == AGENT_OK || status == AGENT_ABORTED);
    gate_raise(userdata);
    while (!agent_model_call_is_cancelled(call))
        usleep(1000);
    EXPECT(fails(agent_model_call_push_text(call, " text", AGENT_NTS, &error), AGENT_ABORTED,
                 "the request was cancelled: its run was aborted or a time limit passed", __FILE__, __LINE__));
    EXPECT_OK(agent_model_call_finish(call, NULL, 0, &error));
    agent_model_call_free(call);
    gate_raise(userdata);
}

static void an_abort_reaches_a_model(void)
{
    gate_t gate = GATE;
    agent_t *agent = own(until_cancelled, &gate);
    agent_run_t *run = NULL;
    const agent_event_t *event;

    CHECK_OK(agent_prompt(agent, "Go.", AGENT_NTS, &run, &error));
    while (agent_run_next(run, -1, &event, &error) == AGENT_OK)
        if (agent_event_kind(event) == AGENT_EVENT_TEXT_DELTA)
            CHECK_OK(agent_run_abort(run, &error));
    CHECK(agent_run_outcome(run) == AGENT_OUTCOME_ABORTED);
    CHECK_TEXT(agent_run_text(run, NULL), "Never-ending");
    gate_wait(&gate, 2);
    agent_run_free(run);
    agent_free(agent);
}

#define MANY 20000
static atomic_int pushed;

static void fast(void *userdata, agent_model_call_t *call)
{
    (void)userdata;
    while (pushed < MANY) {
        EXPECT_OK(agent_model_call_push_text(call, "x", 1, &error));
        pushed++;
    }
    agent_model_call_finish(call, NULL, 0, NULL);
    agent_model_call_free(call);
}

static void a_fast_model_waits_for_a_slow_reader(void)
{
    agent_t *agent = own(fast, NULL);
    agent_run_t *run = NULL;
    const agent_event_t *event;
    int read = 0, ahead = 0;

    pushed = 0;
    CHECK_OK(agent_prompt(agent, "Go.", AGENT_NTS, &run, &error));
    while (pushed < 1000)
        usleep(1000);
    while (agent_run_next(run, -1, &event, &error) == AGENT_OK) {
        if (agent_event_kind(event) != AGENT_EVENT_TEXT_DELTA)
            continue;
        if (pushed - read > ahead)
            ahead = pushed - read;
        if (++read % 100 == 0)
            usleep(100);
    }
    CHECK(read == MANY);
    /* the run's queue, what is on its way there, and a batch that the reader has taken */
    CHECK(ahead < 8000);
    agent_run_free(run);
    agent_free(agent);
}

static void trying(void *agent, agent_model_call_t *call)
{
    EXPECT(agent_prompt(agent, "Go.", AGENT_NTS, NULL, NULL) == AGENT_INVALID_STATE);
    EXPECT(agent_wait_for_idle(agent, -1, NULL) == AGENT_INVALID_STATE);
    agent_model_call_push_text(call, "Tried.", AGENT_NTS, NULL);
    agent_model_call_finish(call, NULL, 0, NULL);
    agent_model_call_free(call);
}

static void a_model_cannot_wait_for_its_run(void)
{
    agent_t *agent = scripted("acme/own");
    agent_run_t *run;

    CHECK_OK(agent_set_model_callback(agent, trying, agent, NULL, &error));
    run = play(agent);
    CHECK_TEXT(agent_run_text(run, NULL), "Tried.");
    agent_run_free(run);
    agent_free(agent);
}

/* ---- destroy, null ----------------------------------------------------------------------------------------------- */

static void destroy_comes_once_whatever_happens(void)
{
    gate_t destroyed = GATE;
    agent_t *agent = scripted("acme/own");

    CHECK_NULL(agent_set_model_callback(NULL, trying, &destroyed, gate_raise, &error), "agent");
    CHECK(gate_count(&destroyed) == 1);
    CHECK_OK(agent_set_model_callback(agent, NULL, &destroyed, gate_raise, &error));
    CHECK(gate_count(&destroyed) == 2);
    CHECK_OK(agent_set_model_callback(agent, trying, &destroyed, gate_raise, &error));
    CHECK(gate_count(&destroyed) == 2);
    CHECK_OK(agent_set_model_callback(agent, trying, &destroyed, gate_raise, &error));
    CHECK(gate_count(&destroyed) == 3);
    agent_free(agent);
    CHECK(gate_count(&destroyed) == 4);
}

static void null_is_refused(void)
{
    CHECK(agent_model_call_request(NULL, NULL) == NULL);
    CHECK(!agent_model_call_is_cancelled(NULL));
    CHECK_NULL(agent_model_call_push(NULL, "\"x\"", AGENT_NTS, &error), "call");
    CHECK_NULL(agent_model_call_push_text(NULL, "x", AGENT_NTS, &error), "call");
    CHECK_NULL(agent_model_call_finish(NULL, NULL, 0, &error), "call");
    CHECK_NULL(agent_model_call_fail(NULL, "x", AGENT_NTS, &error), "call");
    agent_model_call_free(NULL);
}

static void named(void *userdata, agent_model_call_t *call)
{
    if (agent_model_call_push_text(call, userdata, AGENT_NTS, NULL) == AGENT_OK)
        agent_model_call_finish(call, NULL, 0, NULL);
    agent_model_call_free(call);
}

static void tired(void *userdata, agent_model_call_t *call)
{
    (void)userdata;
    agent_model_call_fail(call, "no more", AGENT_NTS, NULL);
    agent_model_call_free(call);
}

static void found_e10_custom_providers_and_known_ones_are_mixed(void)
{
    agent_t *agent = scripted(SCRIPTED("[{\"error\": {\"kind\": \"quota\", \"message\": \"pay first\"}}]"));
    agent_run_t *run;
    gate_t destroyed = GATE;

    CHECK_OK(agent_set_provider(agent, "opnai", AGENT_NTS, tired, NULL, NULL, &error));
    CHECK_OK(agent_set_provider(agent, "mine", AGENT_NTS, named, "Mine.", NULL, &error));
    CHECK_OK(agent_set_json(agent, "{\"fallbacks\": [\"opnai/a\", \"mine/b\"]}", AGENT_NTS, &error));
    run = play(agent);
    CHECK_TEXT(agent_run_text(run, NULL), "Mine.");
    agent_run_free(run);
    /* the other way round */
    CHECK_OK(agent_set_model(agent, "opnai/a", AGENT_NTS, &error));
    CHECK_OK(agent_set_json(agent, "{\"fallbacks\": [{\"provider\": \"scripted\", \"id\": \"s\", \"script\": "
                                   "[[{\"delta\": \"From a script.\"}, {\"end\": {}}]]}]}", AGENT_NTS, &error));
    run = play(agent);
    CHECK_TEXT(agent_run_text(run, NULL), "From a script.");
    agent_run_free(run);
    /* what is needed stays, what is refused is destroyed */
    CHECK_FAILS(agent_set_provider(agent, "opnai", AGENT_NTS, NULL, NULL, NULL, &error), AGENT_INVALID_ARGUMENT,
                "model \"opnai/a\": unknown provider \"opnai\"; did you mean \"openai\"? For another server give base_url");
    CHECK_FAILS(agent_set_provider(agent, "a/b", AGENT_NTS, named, &destroyed, gate_raise, &error), AGENT_INVALID_ARGUMENT,
                "provider \"a/b\": expected a name without a slash, as models of it have it: \"name/id\"");
    gate_wait(&destroyed, 1);
    CHECK_NULL(agent_set_provider(NULL, "a", 1, named, &destroyed, gate_raise, &error), "agent");
    CHECK_NULL(agent_set_provider(agent, NULL, 0, named, &destroyed, gate_raise, &error), "name");
    gate_wait(&destroyed, 3);
    agent_free(agent);
}

int main(void)
{
    begin();
    RUN(found_e10_custom_providers_and_known_ones_are_mixed);
    RUN(chunks_become_a_message);
    RUN(a_model_calls_tools);
    RUN(it_replaces_known_providers);
    RUN(failures_keep_their_kind);
    RUN(invalid_chunks_are_refused);
    RUN(a_model_answers_later_from_another_thread);
    RUN(an_abort_reaches_a_model);
    RUN(a_fast_model_waits_for_a_slow_reader);
    RUN(a_model_cannot_wait_for_its_run);
    RUN(destroy_comes_once_whatever_happens);
    RUN(null_is_refused);
    return end();
}
