/* Runs for a browser: the frames of their events, and the browser's requests. */

#include "support.h"

#define BODY "{\"id\": \"chat\", \"messageId\": \"u\", \"messages\": " \
             "[{\"id\": \"u\", \"role\": \"user\", \"parts\": [{\"type\": \"text\", \"text\": \"Hi\"}]}]}"

/* Appends the frames of all events of the run to a text. */
static void send_all(agent_run_t *run, agent_ui_stream_t *stream, char *sent, size_t size)
{
    const agent_event_t *event;
    const char *frames;
    size_t length;

    while (agent_run_next(run, -1, &event, &error) == AGENT_OK) {
        CHECK_OK(agent_ui_stream_push(stream, event, &frames, &length, &error));
        CHECK(strlen(frames) == length && strlen(sent) + length < size);
        strcat(sent, frames);
    }
}

static void a_request_is_answered(void)
{
    agent_t *agent = scripted(SCRIPTED(SAYS("Hello.")));
    const char *end = "\n\ndata: [DONE]\n\n";
    agent_ui_request_t *request = NULL;
    agent_ui_stream_t *stream = NULL;
    agent_messages_t *history = NULL;
    agent_run_t *run = NULL;
    char sent[4096] = "";

    CHECK_OK(agent_ui_request_new("ai_sdk", AGENT_NTS, BODY, AGENT_NTS, NULL, 0, &request, &error));
    CHECK_TEXT(agent_ui_request_id(request, NULL), "chat");
    CHECK_TEXT(agent_ui_request_message_id(request, NULL), "u");
    CHECK_TEXT(agent_ui_request_run_id(request, NULL), "");
    CHECK_OK(agent_ui_request_history(request, &history, &error));
    CHECK(agent_messages_count(history) == 0);
    agent_messages_free(history);
    CHECK_OK(agent_ui_stream_new("ai_sdk", AGENT_NTS, "{\"message_id\": \"m\"}", AGENT_NTS, request, &stream, &error));
    CHECK_OK(agent_ui_request_start(request, agent, &run, &error));
    agent_ui_request_free(request);
    CHECK_CONTAINS(agent_ui_stream_headers(stream, NULL), "content-type: text/event-stream\r\n");
    send_all(run, stream, sent, sizeof sent);
    CHECK_CONTAINS(sent, "data: {\"type\":\"start\",\"messageId\":\"m\"}\n\n");
    CHECK_CONTAINS(sent, "data: {\"type\":\"text-delta\",\"id\":\"1-0\",\"delta\":\"Hello.\"}\n\n");
    CHECK_TEXT(sent + strlen(sent) - strlen(end), end);
    agent_ui_stream_free(stream);
    agent_run_free(run);
    agent_free(agent);
}

static void never(void *userdata, agent_tool_call_t *call)
{
    (void)userdata;
    EXPECT(!"a tool that the page runs");
    agent_tool_call_free(call);
}

/* Starts the run of an output that the page has sent for the call that waits. */
static agent_status_t start_with_output(agent_t *agent, const char *options, agent_run_t **run)
{
    const char *body = "{\"id\": \"chat\", \"messages\": [{\"id\": \"a\", \"role\": \"assistant\", \"parts\": ["
                       "{\"type\": \"tool-locate\", \"toolCallId\": \"call_1\", \"state\": \"output-available\", \"input\": {},"
                       " \"output\": \"Oslo\"}]}]}";
    agent_ui_request_t *request = NULL;
    agent_status_t status;

    EXPECT_OK(agent_ui_request_new("ai_sdk", AGENT_NTS, body, AGENT_NTS, options, AGENT_NTS, &request, &error));
    status = agent_ui_request_start(request, agent, run, &error);
    agent_ui_request_free(request);
    return status;
}

static void only_a_client_tool_takes_a_result_of_the_browser(void)
{
    const char *json = "{\"name\": \"locate\", \"needs_approval\": true}";
    agent_t *agent = scripted(SCRIPTED(CALLS("locate", "{}") ", " SAYS("In Oslo.")));
    agent_tool_t *tool = NULL;
    agent_run_t *run = NULL;

    CHECK_OK(agent_tool_new(json, AGENT_NTS, never, NULL, NULL, &tool, &error));
    CHECK_OK(agent_add_tool(agent, tool, &error));
    agent_tool_free(tool);
    CHECK_OK(agent_prompt(agent, "Where am I?", AGENT_NTS, &run, &error));
    CHECK_OK(agent_run_wait(run, -1, &error));
    agent_run_free(run);
    CHECK_FAILS_WITH(start_with_output(agent, NULL, &run), AGENT_INVALID_ARGUMENT, "none of client_tools");
    CHECK_OK(start_with_output(agent, "{\"client_tools\": [\"locate\"]}", &run));
    CHECK_OK(agent_run_wait(run, -1, &error));
    CHECK_TEXT(agent_run_text(run, NULL), "In Oslo.");
    agent_run_free(run);
    agent_free(agent);
}

static void what_is_wrong_is_refused(void)
{
    agent_ui_request_t *request = NULL;
    agent_ui_stream_t *stream = NULL;

    CHECK_FAILS_WITH(agent_ui_request_new("ai-sdk", AGENT_NTS, BODY, AGENT_NTS, NULL, 0, &request, &error),
                 AGENT_INVALID_ARGUMENT, "known are ai_sdk, ag_ui");
    CHECK_FAILS_WITH(agent_ui_request_new("ag_ui", AGENT_NTS, "[]", AGENT_NTS, NULL, 0, &request, &error), AGENT_INVALID_ARGUMENT,
                 "expected an object");
    CHECK_FAILS_WITH(agent_ui_stream_new("ag_ui", AGENT_NTS, "{\"message_ids\": 1}", AGENT_NTS, NULL, &stream, &error),
                 AGENT_INVALID_ARGUMENT, "did you mean \"message_id\"?");
    CHECK(agent_ui_stream_headers(NULL, NULL) == NULL);
    CHECK(agent_ui_request_id(NULL, NULL) == NULL);
    CHECK(agent_ui_request_run_id(NULL, NULL) == NULL);
    CHECK(agent_ui_request_message_id(NULL, NULL) == NULL);
    agent_ui_stream_free(NULL);
    agent_ui_request_free(NULL);
}

int main(void)
{
    begin();
    RUN(a_request_is_answered);
    RUN(only_a_client_tool_takes_a_result_of_the_browser);
    RUN(what_is_wrong_is_refused);
    return end();
}
