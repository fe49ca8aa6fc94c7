/* Runs for a browser: the frames of their events, and the browser's requests. */

#include "support.h"

#define BODY "{\"id\": \"chat\", \"messages\": " \
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

    CHECK_OK(agent_ui_request_new("ai_sdk", AGENT_NTS, BODY, AGENT_NTS, &request, &error));
    CHECK_TEXT(agent_ui_request_id(request, NULL), "chat");
    CHECK_OK(agent_ui_request_history(request, &history, &error));
    CHECK(agent_messages_count(history) == 0);
    agent_messages_free(history);
    CHECK_OK(agent_ui_request_start(request, agent, &run, &error));
    CHECK_OK(agent_ui_stream_new("ai_sdk", AGENT_NTS, "{\"message_id\": \"m\"}", AGENT_NTS, request, &stream, &error));
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

static void what_is_wrong_is_refused(void)
{
    agent_ui_request_t *request = NULL;
    agent_ui_stream_t *stream = NULL;

    CHECK_FAILS_WITH(agent_ui_request_new("ai-sdk", AGENT_NTS, BODY, AGENT_NTS, &request, &error), AGENT_INVALID_ARGUMENT,
                 "known are ai_sdk, ag_ui");
    CHECK_FAILS_WITH(agent_ui_request_new("ag_ui", AGENT_NTS, "[]", AGENT_NTS, &request, &error), AGENT_INVALID_ARGUMENT,
                 "expected an object");
    CHECK_FAILS_WITH(agent_ui_stream_new("ag_ui", AGENT_NTS, "{\"message_ids\": 1}", AGENT_NTS, NULL, &stream, &error),
                 AGENT_INVALID_ARGUMENT, "did you mean \"message_id\"?");
    CHECK(agent_ui_stream_headers(NULL, NULL) == NULL);
    CHECK(agent_ui_request_id(NULL, NULL) == NULL);
    agent_ui_stream_free(NULL);
    agent_ui_request_free(NULL);
}

int main(void)
{
    begin();
    RUN(a_request_is_answered);
    RUN(what_is_wrong_is_refused);
    return end();
}
