/*
 * Models over HTTP: runtime failures of a run. Needs agent-mock with server.json at $AGENT_MOCK_URL.
 */

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "support.h"

static agent_t *at(const char *model, const char *path)
{
    char url[200];
    agent_t *agent = scripted(model);

    snprintf(url, sizeof url, "%s/%s", getenv("AGENT_MOCK_URL"), path);
    EXPECT_OK(agent_set_base_url(agent, url, AGENT_NTS, &error));
    return agent;
}

/* A port without a listener. */
static int closed_port(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    EXPECT(bind(fd, (struct sockaddr *)&address, size) == 0);
    EXPECT(getsockname(fd, (struct sockaddr *)&address, &size) == 0);
    close(fd);
    return ntohs(address.sin_port);
}

static void both_formats_answer(void)
{
    static const char *const models[] = {"anthropic/tiny", "openai/tiny"};
    agent_t *agent;
    agent_run_t *run;
    size_t i;

    for (i = 0; i < 2; i++) {
        agent = at(models[i], "hello");
        run = play(agent);
        CHECK(agent_run_outcome(run) == AGENT_OUTCOME_COMPLETED);
        CHECK_TEXT(agent_run_text(run, NULL), "Hello! I am a very small model \xf0\x9f\x99\x82");
        CHECK(agent_run_usage(run, AGENT_USAGE_OUTPUT) > 0);
        agent_run_free(run);
        agent_free(agent);
    }
}

#define CHECK_FAILED(run, kind, text)                                         \
    do {                                                                      \
        CHECK(agent_run_outcome(run) == AGENT_OUTCOME_ERROR);                 \
        CHECK(agent_error_status(agent_run_error(run)) == (kind));            \
        CHECK_TEXT(agent_error_message(agent_run_error(run), NULL), (text)); \
    } while (0)

/* The mock's name in errors, and its message. */
static const char *answered(const char *provider, const char *said)
{
    static char text[300];

    snprintf(text, sizeof text, "%s at %s answered %s", provider, strstr(getenv("AGENT_MOCK_URL"), "://") + 3, said);
    return text;
}

static void a_missing_key_is_named(void)
{
    agent_t *agent = scripted("anthropic/claude-sonnet-4-5");
    agent_run_t *run;

    unsetenv("ANTHROPIC_API_KEY");
    run = play(agent);
    CHECK_FAILED(run, AGENT_AUTHENTICATION,
                 "no API key for anthropic: set the environment variable ANTHROPIC_API_KEY, or give api_key");
    CHECK_CONTAINS(agent_messages_json_at(agent_run_messages(run), 1, NULL), "\"content\":[],\"provider\":\"anthropic\"");
    agent_run_free(run);
    agent_free(agent);
}

static void a_refused_connection_is_reported(void)
{
    char url[64], expected[200];
    agent_t *agent = scripted("openai/tiny");
    agent_run_t *run;

    snprintf(url, sizeof url, "http://127.0.0.1:%d/v1", closed_port());
    CHECK_OK(agent_set_base_url(agent, url, AGENT_NTS, &error));
    run = play(agent);
    snprintf(expected, sizeof expected, "%.*s", (int)(strlen(url) - 3), url);
    CHECK(agent_run_outcome(run) == AGENT_OUTCOME_ERROR);
    CHECK(agent_error_status(agent_run_error(run)) == AGENT_CONNECTION);
    CHECK_CONTAINS(agent_error_message(agent_run_error(run), NULL), expected);
    CHECK_CONTAINS(agent_error_message(agent_run_error(run), NULL), "refused");
    CHECK_CONTAINS(agent_error_json(agent_run_error(run), NULL), "\"retryable\":true");
    agent_run_free(run);
    agent_free(agent);
}

static void a_401_keeps_the_providers_words(void)
{
    agent_t *agent = at("anthropic/tiny", "refused");
    agent_run_t *run;

    CHECK_OK(agent_set_api_key(agent, "sk-secret", AGENT_NTS, &error));
    run = play(agent);
    CHECK_FAILED(run, AGENT_AUTHENTICATION, answered("anthropic", "401: invalid x-api-key"));
    CHECK_CONTAINS(agent_error_json(agent_run_error(run), NULL),
                   "\"provider\":\"anthropic\",\"http_status\":401,\"request_id\":\"req_1\"");
    CHECK(!strstr(agent_run_json(run, NULL), "sk-secret"));
    agent_run_free(run);
    agent_free(agent);

    unsetenv("OPENAI_API_KEY");
    agent = at("openai/tiny", "refused");
    run = play(agent);
    CHECK_FAILED(run, AGENT_AUTHENTICATION,
                 answered("openai", "401: Incorrect API key provided: sk-12*45. No key was sent: set the environment variable "
                                    "OPENAI_API_KEY, or give api_key"));
    agent_run_free(run);
    agent_free(agent);
}

static void a_truncated_stream_keeps_its_deltas(void)
{
    static const char *const models[] = {"anthropic/tiny", "openai/tiny"};
    agent_t *agent;
    agent_run_t *run;
    const char *text;
    size_t i;

    for (i = 0; i < 2; i++) {
        agent = at(models[i], "cut");
        run = play(agent);
        CHECK(agent_run_outcome(run) == AGENT_OUTCOME_ERROR);
        CHECK(agent_error_status(agent_run_error(run)) == AGENT_STREAM_TRUNCATED);
        CHECK_CONTAINS(agent_error_message(agent_run_error(run), NULL), "broke in the middle of the answer");
        text = agent_run_text(run, NULL);
        CHECK(*text && strncmp("Hello! I am a very small model \xf0\x9f\x99\x82", text, strlen(text)) == 0);
        agent_run_free(run);
        agent_free(agent);
    }
}

static void an_abort_closes_a_stalled_connection(void)
{
    agent_t *agent = at("anthropic/tiny", "stalls");
    agent_run_t *run = NULL;
    const agent_event_t *event;

    CHECK_OK(agent_prompt(agent, "Go.", AGENT_NTS, &run, &error));
    while (agent_run_next(run, -1, &event, &error) == AGENT_OK)
        if (agent_event_kind(event) == AGENT_EVENT_TEXT_DELTA)
            CHECK_OK(agent_run_abort(run, &error));
    CHECK(agent_run_outcome(run) == AGENT_OUTCOME_ABORTED);
    agent_run_free(run);
    agent_free(agent);
}

static void sleeping(void *userdata, agent_tool_call_t *call)
{
    gate_raise(userdata);
    /* an hour of real time, unless it is woken */
    EXPECT(agent_tool_call_sleep(call, 3600000, NULL) == AGENT_ABORTED);
    agent_tool_call_free(call);
    gate_raise(userdata);
}

static void an_abort_wakes_a_tool_that_sleeps(void)
{
    gate_t gate = GATE;
    agent_t *agent = at("anthropic/tiny", "calls");
    agent_tool_t *tool = NULL;
    agent_run_t *run = NULL;

    CHECK_OK(agent_tool_new("{\"name\": \"calculator\"}", AGENT_NTS, sleeping, &gate, NULL, &tool, &error));
    CHECK_OK(agent_add_tool(agent, tool, &error));
    agent_tool_free(tool);
    CHECK_OK(agent_prompt(agent, "Go.", AGENT_NTS, &run, &error));
    gate_wait(&gate, 1);
    CHECK_OK(agent_run_abort(run, &error));
    gate_wait(&gate, 2);
    CHECK_OK(agent_run_wait(run, -1, &error));
    CHECK(agent_run_outcome(run) == AGENT_OUTCOME_ABORTED);
    agent_run_free(run);
    agent_free(agent);
}

static void the_known_models_are_listed(void)
{
    agent_text_t *models = NULL;
    size_t length = 0;
    const char *json;

    CHECK_OK(agent_models_json(&models, &error));
    json = agent_text_data(models, &length);
    CHECK(length == strlen(json) && length > 100000);
    CHECK(json[0] == '[' && json[length - 1] == ']');
    CHECK_CONTAINS(json, "{\"provider\":\"openai\",\"id\":\"gpt-5\",\"label\":\"GPT-5\",\"context_window\":");
    agent_text_free(models);
    CHECK_NULL(agent_models_json(NULL, &error), "models");
}

int main(void)
{
    if (!getenv("AGENT_MOCK_URL")) {
        fprintf(stderr, "test_model: start agent-mock with server.json and put its address in AGENT_MOCK_URL\n");
        return 2;
    }
    begin();
    RUN(the_known_models_are_listed);
    RUN(both_formats_answer);
    RUN(a_missing_key_is_named);
    RUN(a_refused_connection_is_reported);
    RUN(a_401_keeps_the_providers_words);
    RUN(a_truncated_stream_keeps_its_deltas);
    RUN(an_abort_closes_a_stalled_connection);
    RUN(an_abort_wakes_a_tool_that_sleeps);
    return end();
}
