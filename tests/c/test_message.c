/* Lists of messages. */

#include "support.h"

static void a_list_is_written_and_read(void)
{
    agent_messages_t *messages = NULL, *again = NULL;
    const char *first, *json;
    size_t length;
    int i;

    CHECK_OK(agent_messages_new(&messages, &error));
    CHECK(agent_messages_count(messages) == 0);
    CHECK_TEXT(agent_messages_json(messages, NULL), "[]");
    CHECK_OK(agent_messages_add_user(messages, "What is this?", AGENT_NTS, &error));
    CHECK_OK(agent_messages_add_json(messages, "{\"role\": \"assistant\", \"content\": \"A cat.\"}", AGENT_NTS, &error));
    CHECK_OK(agent_messages_add_json(messages, "{\"role\": \"note\", \"by\": \"me\"}", AGENT_NTS, &error));
    CHECK(agent_messages_count(messages) == 3);
    CHECK_TEXT(agent_messages_role(messages, 0, NULL), "user");
    CHECK_TEXT(agent_messages_role(messages, 1, NULL), "assistant");
    CHECK_TEXT(agent_messages_role(messages, 2, &length), "note");
    CHECK(length == 4);
    CHECK_TEXT(agent_messages_text(messages, 0, NULL), "What is this?");
    CHECK_TEXT(agent_messages_text(messages, 1, NULL), "A cat.");
    CHECK_TEXT(agent_messages_text(messages, 2, NULL), "");
    CHECK_TEXT(agent_messages_json_at(messages, 0, NULL),
               "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"What is this?\"}],\"timestamp\":0}");
    CHECK_TEXT(agent_messages_json_at(messages, 2, NULL), "{\"role\":\"note\",\"by\":\"me\"}");

    /* what was lent stays as the list grows */
    first = agent_messages_text(messages, 0, NULL);
    for (i = 0; i < 100; i++)
        CHECK_OK(agent_messages_add_user(messages, "more", AGENT_NTS, &error));
    CHECK(first == agent_messages_text(messages, 0, NULL));
    CHECK_TEXT(first, "What is this?");

    /* and a list reads back as it was written */
    json = agent_messages_json(messages, &length);
    CHECK(length == strlen(json));
    CHECK_OK(agent_messages_from_json(json, length, &again, &error));
    CHECK(agent_messages_count(again) == 103);
    CHECK_TEXT(agent_messages_json(again, NULL), json);
    agent_messages_free(again);
    agent_messages_free(messages);
}

static void beyond_the_last_is_nothing(void)
{
    agent_messages_t *messages = NULL;
    size_t length = 7;

    CHECK_OK(agent_messages_new(&messages, &error));
    CHECK(agent_messages_role(messages, 0, &length) == NULL && length == 0);
    CHECK(agent_messages_text(messages, 0, NULL) == NULL);
    CHECK(agent_messages_json_at(messages, SIZE_MAX, NULL) == NULL);
    agent_messages_free(messages);
}

static void a_text_may_have_a_nul_inside(void)
{
    agent_messages_t *messages = NULL;
    size_t length = 0;

    CHECK_OK(agent_messages_new(&messages, &error));
    CHECK_OK(agent_messages_add_user(messages, "a\0b", 3, &error));
    CHECK(memcmp(agent_messages_text(messages, 0, &length), "a\0b", 4) == 0);
    CHECK(length == 3);
    CHECK_CONTAINS(agent_messages_json(messages, NULL), "\"a\\u0000b\"");
    agent_messages_free(messages);
}

static void bad_messages_are_refused(void)
{
    agent_messages_t *messages = NULL;

    CHECK_OK(agent_messages_new(&messages, &error));
    CHECK_FAILS(agent_messages_add_json(messages, "{\"role\":", AGENT_NTS, &error), AGENT_INVALID_ARGUMENT,
                "json is not JSON: EOF while parsing a value at line 1 column 8");
    CHECK_FAILS(agent_messages_add_json(messages, "{\"content\": \"x\"}", AGENT_NTS, &error), AGENT_INVALID_ARGUMENT,
                "message: role is missing: \"user\", \"assistant\", \"tool_result\" or a word of your own");
    CHECK_FAILS(agent_messages_add_json(messages, "{\"role\": \"user\", \"content\": [{\"type\": \"txt\"}]}", AGENT_NTS, &error),
                AGENT_INVALID_ARGUMENT,
                "message: user message: content[0]: unknown variant `txt`, expected one of `text`, `thinking`, `image`, "
                "`tool_call`, `opaque`");
    CHECK(agent_messages_count(messages) == 0);
    agent_messages_free(messages);
    messages = NULL;
    CHECK_FAILS(agent_messages_from_json("{\"role\": \"user\", \"content\": \"x\"}", AGENT_NTS, &messages, &error),
                AGENT_INVALID_ARGUMENT, "json: expected an array of messages; add a single one to a list");
    CHECK_FAILS(agent_messages_from_json("[{\"role\": \"user\", \"content\": 5}]", AGENT_NTS, &messages, &error),
                AGENT_INVALID_ARGUMENT, "json: [0]: user message: content: expected an array of blocks or a string, got 5");
    CHECK(messages == NULL);
}

static void null_is_told(void)
{
    agent_messages_t *messages = NULL;

    CHECK_NULL(agent_messages_new(NULL, &error), "messages");
    CHECK_NULL(agent_messages_from_json("[]", AGENT_NTS, NULL, &error), "messages");
    CHECK_NULL(agent_messages_from_json(NULL, 0, &messages, &error), "json");
    CHECK_NULL(agent_messages_add_user(NULL, "x", AGENT_NTS, &error), "messages");
    CHECK_NULL(agent_messages_add_json(NULL, "{}", AGENT_NTS, &error), "messages");
    CHECK_OK(agent_messages_new(&messages, &error));
    CHECK_NULL(agent_messages_add_user(messages, NULL, 3, &error), "text");
    CHECK_NULL(agent_messages_add_json(messages, NULL, AGENT_NTS, &error), "json");
    agent_messages_free(messages);

    CHECK(agent_messages_count(NULL) == 0);
    CHECK(agent_messages_role(NULL, 0, NULL) == NULL);
    CHECK(agent_messages_text(NULL, 0, NULL) == NULL);
    CHECK(agent_messages_json_at(NULL, 0, NULL) == NULL);
    CHECK(agent_messages_json(NULL, NULL) == NULL);
    agent_messages_free(NULL);
}

int main(void)
{
    RUN(a_list_is_written_and_read);
    RUN(beyond_the_last_is_nothing);
    RUN(a_text_may_have_a_nul_inside);
    RUN(bad_messages_are_refused);
    RUN(null_is_told);
    return end();
}
