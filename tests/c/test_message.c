/* Lists of messages. */

#include "folder.h"

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

    /* what was borrowed stays valid as the list grows */
    first = agent_messages_text(messages, 0, NULL);
    for (i = 0; i < 100; i++)
        CHECK_OK(agent_messages_add_user(messages, "more", AGENT_NTS, &error));
    CHECK(first == agent_messages_text(messages, 0, NULL));
    CHECK_TEXT(first, "What is this?");

    /* a list is read as it was written */
    json = agent_messages_json(messages, &length);
    CHECK(length == strlen(json));
    CHECK_OK(agent_messages_from_json(json, length, &again, &error));
    CHECK(agent_messages_count(again) == 103);
    CHECK_TEXT(agent_messages_json(again, NULL), json);
    agent_messages_free(again);
    agent_messages_free(messages);
}

static void a_file_is_added_to_the_last_message_of_the_user(void)
{
    agent_messages_t *messages = NULL;
    const char *before;

    write_file(path("%s/notes.txt"), "hi");
    CHECK_OK(agent_messages_new(&messages, &error));
    CHECK_OK(agent_messages_add_user(messages, "Read.", AGENT_NTS, &error));
    before = agent_messages_json_at(messages, 0, NULL);
    CHECK_OK(agent_messages_add_file(messages, path("%s/notes.txt"), AGENT_NTS, NULL, 0, &error));
    CHECK(agent_messages_count(messages) == 1);
    CHECK_TEXT(before, "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"Read.\"}],\"timestamp\":0}");
    CHECK_CONTAINS(agent_messages_json_at(messages, 0, NULL),
                   "[{\"type\":\"text\",\"text\":\"Read.\"},"
                   "{\"type\":\"document\",\"data\":\"aGk=\",\"mime_type\":\"text/plain\",\"name\":\"notes.txt\"}]");

    /* behind another message, a new one begins; a type that is given counts */
    CHECK_OK(agent_messages_add_json(messages, "{\"role\": \"assistant\", \"content\": \"Done.\"}", AGENT_NTS, &error));
    CHECK_OK(agent_messages_add_file(messages, path("%s/notes.txt"), AGENT_NTS, "audio/wav", AGENT_NTS, &error));
    CHECK(agent_messages_count(messages) == 3);
    CHECK_CONTAINS(agent_messages_json_at(messages, 2, NULL),
                   "[{\"type\":\"audio\",\"data\":\"aGk=\",\"mime_type\":\"audio/wav\"}]");

    write_file(path("%s/a.xyz"), "?");
    CHECK_FAILS(agent_messages_add_file(messages, path("%s/a.xyz"), AGENT_NTS, NULL, 0, &error), AGENT_INVALID_ARGUMENT,
                "the type of the file \"a.xyz\" is not recognised; give its mime_type");
    CHECK_FAILS_WITH(agent_messages_add_file(messages, path("%s/none.png"), AGENT_NTS, NULL, 0, &error), AGENT_IO,
                     "none.png\" cannot be read: ");
    CHECK_NULL(agent_messages_add_file(NULL, "x", AGENT_NTS, NULL, 0, &error), "messages");
    CHECK_NULL(agent_messages_add_file(messages, NULL, 0, NULL, 0, &error), "path");
    CHECK(agent_messages_count(messages) == 3);
    agent_messages_free(messages);
}

static void an_index_beyond_the_last_gives_null(void)
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

static void found_p6_bad_messages_are_refused(void)
{
    agent_messages_t *messages = NULL;

    CHECK_OK(agent_messages_new(&messages, &error));
    CHECK_FAILS(agent_messages_add_json(messages, "{\"role\":", AGENT_NTS, &error), AGENT_INVALID_ARGUMENT,
                "json is not JSON: it ends where a value is expected (line 1, column 8)");
    CHECK_FAILS(agent_messages_add_json(messages, "{\"content\": \"x\"}", AGENT_NTS, &error), AGENT_INVALID_ARGUMENT,
                "message: role is missing; it is \"user\", \"assistant\", \"tool_result\" or a custom one");
    CHECK_FAILS(agent_messages_add_json(messages, "{\"role\": \"user\", \"content\": [{\"type\": \"txt\"}]}", AGENT_NTS, &error),
                AGENT_INVALID_ARGUMENT,
                "message: user message: content[0]: unknown type \"txt\"; did you mean \"text\"?");
    CHECK_FAILS(agent_messages_add_json(messages, "[]", AGENT_NTS, &error), AGENT_INVALID_ARGUMENT,
                "json: the list is empty; give at least one message");
    CHECK_FAILS(agent_messages_add_json(messages, "[{\"role\": \"user\", \"content\": \"x\"}, {\"role\": \"user\"}]", AGENT_NTS,
                                        &error),
                AGENT_INVALID_ARGUMENT, "json[1]: user message: content is missing");
    CHECK(agent_messages_count(messages) == 0);
    agent_messages_free(messages);
    messages = NULL;
    CHECK_FAILS(agent_messages_from_json("{\"role\": \"user\", \"content\": \"x\"}", AGENT_NTS, &messages, &error),
                AGENT_INVALID_ARGUMENT,
                "json: expected an array of messages, got {\"role\":\"user\",\"content\":\"x\"}; "
                "put a single message into an array");
    CHECK_FAILS(agent_messages_from_json("{\"messages\":[]}", AGENT_NTS, &messages, &error), AGENT_INVALID_ARGUMENT,
                "json: expected an array of messages, got {\"messages\":[]}; give its \"messages\" alone");
    CHECK_FAILS(agent_messages_from_json("[{\"role\": \"user\", \"content\": 5}]", AGENT_NTS, &messages, &error),
                AGENT_INVALID_ARGUMENT, "json: [0]: user message: content: expected an array of blocks or text, got 5");
    CHECK(messages == NULL);
}

static void an_unpaired_surrogate_becomes_the_replacement_character(void)
{
    agent_messages_t *messages = NULL;

    CHECK_OK(agent_messages_from_json("[{\"role\": \"user\", \"content\": \"cut \\ud83d, whole \\ud83d\\ude00\"}]",
                                      AGENT_NTS, &messages, &error));
    CHECK_TEXT(agent_messages_text(messages, 0, NULL), "cut \xEF\xBF\xBD, whole \xF0\x9F\x98\x80");
    CHECK_OK(agent_messages_add_json(messages, "{\"role\": \"note\", \"\\udc00\": 1}", AGENT_NTS, &error));
    CHECK_TEXT(agent_messages_json_at(messages, 1, NULL), "{\"role\":\"note\",\"\xEF\xBF\xBD\":1}");
    agent_messages_free(messages);
}

static void what_a_prompt_can_be_is_added(void)
{
    agent_messages_t *messages = NULL;

    CHECK_OK(agent_messages_new(&messages, &error));
    CHECK_OK(agent_messages_add_json(messages, "\"one\"", AGENT_NTS, &error));
    CHECK_OK(agent_messages_add_json(messages, "[{\"type\": \"text\", \"text\": \"two\"}]", AGENT_NTS, &error));
    CHECK_OK(agent_messages_add_json(messages, "[{\"role\": \"note\"}, {\"role\": \"user\", \"content\": \"four\"}]", AGENT_NTS,
                                     &error));
    CHECK(agent_messages_count(messages) == 4);
    CHECK_TEXT(agent_messages_role(messages, 0, NULL), "user");
    CHECK_TEXT(agent_messages_text(messages, 0, NULL), "one");
    CHECK_TEXT(agent_messages_text(messages, 1, NULL), "two");
    CHECK_TEXT(agent_messages_role(messages, 2, NULL), "note");
    CHECK_TEXT(agent_messages_text(messages, 3, NULL), "four");
    agent_messages_free(messages);
}

static void found_d1_a_call_is_never_cut_from_its_result(void)
{
    static const char text[] =
        "[{\"role\": \"user\", \"content\": \"first\"}, {\"role\": \"assistant\", \"content\": \"one\"},"
        " {\"role\": \"user\", \"content\": \"second\"},"
        " {\"role\": \"assistant\", \"content\": [{\"type\": \"tool_call\", \"id\": \"a\", \"name\": \"t\"}]},"
        " {\"role\": \"tool_result\", \"tool_call_id\": \"a\", \"tool_name\": \"t\", \"content\": \"result\"}]";
    agent_messages_t *messages = NULL, *recent = NULL;
    size_t count;

    CHECK_OK(agent_messages_from_json(text, AGENT_NTS, &messages, &error));
    for (count = 0; count < 7; count++) {
        CHECK_OK(agent_messages_recent(messages, count, &recent, &error));
        EXPECT(agent_messages_count(recent) == (count < 5 ? 3 : 5));
        EXPECT_TEXT(agent_messages_text(recent, 0, NULL), count < 5 ? "second" : "first");
        agent_messages_free(recent);
    }
    CHECK_NULL(agent_messages_recent(NULL, 1, &recent, &error), "messages");
    CHECK_NULL(agent_messages_recent(messages, 1, NULL, &error), "recent");
    agent_messages_free(messages);
}

/* ---- repair ------------------------------------------------------------------------------------------------------ */

/* A failed message with a call and its result, an orphan, a foreign id, and a call without a result. */
#define SICK                                                                                          \
    "[{\"role\": \"user\", \"content\": \"hi\"},"                                                     \
    "{\"role\": \"assistant\", \"stop_reason\": \"error\","                                           \
    " \"content\": [{\"type\": \"tool_call\", \"id\": \"f\", \"name\": \"t\"}]},"                      \
    "{\"role\": \"tool_result\", \"tool_call_id\": \"f\", \"tool_name\": \"t\", \"content\": \"without a call\"}," \
    "{\"role\": \"assistant\", \"content\": [{\"type\": \"tool_call\", \"id\": \"a b\", \"name\": \"t\"}]}]"

static void a_transcript_is_repaired_for_a_model(void)
{
    agent_messages_t *messages = NULL, *repaired = NULL;
    agent_text_t *repairs = NULL, *expected = NULL;

    CHECK_OK(agent_messages_from_json(SICK, AGENT_NTS, &messages, &error));
    CHECK_OK(agent_messages_repair(messages, "anthropic/claude-sonnet-4-5", AGENT_NTS, &repaired, &repairs, &error));
    CHECK(agent_messages_count(messages) == 4);
    CHECK(agent_messages_count(repaired) == 3);
    CHECK_CONTAINS(agent_messages_json_at(repaired, 1, NULL), "\"id\":\"a_b\"");
    CHECK_CONTAINS(agent_messages_json_at(repaired, 2, NULL), "\"tool_call_id\":\"a_b\"");
    CHECK_TEXT(agent_messages_text(repaired, 2, NULL), "no result was recorded for this call");
    CHECK_TEXT(agent_text_data(repairs, NULL),
               "[{\"code\":\"failed_message\",\"message_index\":1,"
               "\"text\":\"the message failed or was aborted; it was left out\"},"
               "{\"code\":\"stray_result\",\"message_index\":2,"
               "\"text\":\"the result answers no call \\\"f\\\" that is still open; it was left out\"},"
               "{\"code\":\"call_id\",\"message_index\":3,\"content_index\":0,"
               "\"text\":\"the call id \\\"a b\\\" became \\\"a_b\\\"\"},"
               "{\"code\":\"missing_result\",\"message_index\":3,\"content_index\":0,"
               "\"text\":\"the call \\\"a b\\\" of t has no result; an error result says so\"}]");

    /* a check reports the same; a repaired list is valid; the list of repairs is optional */
    CHECK_OK(agent_messages_check(messages, "{\"provider\": \"anthropic\", \"id\": \"any\"}", AGENT_NTS, &expected, &error));
    CHECK_TEXT(agent_text_data(expected, NULL), agent_text_data(repairs, NULL));
    agent_text_free(expected);
    CHECK_OK(agent_messages_check(repaired, "anthropic/claude-sonnet-4-5", AGENT_NTS, &expected, &error));
    CHECK_TEXT(agent_text_data(expected, NULL), "[]");
    agent_text_free(expected);
    agent_text_free(repairs);
    agent_messages_free(repaired);
    CHECK_OK(agent_messages_repair(messages, "groq/any", AGENT_NTS, &repaired, NULL, &error));
    agent_messages_free(repaired);
    agent_messages_free(messages);
}

static void a_repair_refuses_unknown_models(void)
{
    agent_messages_t *messages = NULL, *repaired = NULL;
    agent_text_t *repairs = NULL;

    CHECK_OK(agent_messages_new(&messages, &error));
    CHECK_FAILS(agent_messages_repair(messages, "gpt", AGENT_NTS, &repaired, &repairs, &error), AGENT_INVALID_ARGUMENT,
                "model \"gpt\": expected \"provider/id\", for example \"anthropic/claude-sonnet-4-5\" or \"openai/gpt-5\"");
    CHECK_FAILS(agent_messages_check(messages, "antropic/x", AGENT_NTS, &repairs, &error), AGENT_INVALID_ARGUMENT,
                "model \"antropic/x\": unknown provider \"antropic\"; did you mean \"anthropic\"? For another server "
                "give base_url");
    CHECK(repaired == NULL && repairs == NULL);
    CHECK_NULL(agent_messages_repair(NULL, "groq/m", AGENT_NTS, &repaired, &repairs, &error), "messages");
    CHECK_NULL(agent_messages_repair(messages, NULL, 0, &repaired, &repairs, &error), "model");
    CHECK_NULL(agent_messages_repair(messages, "groq/m", AGENT_NTS, NULL, &repairs, &error), "repaired");
    CHECK_NULL(agent_messages_check(messages, "groq/m", AGENT_NTS, NULL, &error), "repairs");
    CHECK(repairs == NULL);
    agent_messages_free(messages);
}

static void null_is_refused(void)
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

static void found_e13_a_stored_history_keeps_what_is_unknown(void)
{
    static const char stored[] =
        "[{\"role\": \"assistant\", \"content\": [], \"tool_calls\": [{\"id\": \"c\"}], \"metadata\": {\"k\": 1}},"
        " {\"role\": \"user\", \"content\": \"x\", \"id\": \"m\", \"metadata\": [null]}]";
    agent_messages_t *messages = NULL;

    CHECK_FAILS(agent_messages_from_json(stored, AGENT_NTS, &messages, &error), AGENT_INVALID_ARGUMENT,
                "json: [0]: assistant message: unknown field \"tool_calls\"; a model's calls are blocks "
                "{\"type\": \"tool_call\", \"id\", \"name\", \"arguments\"} in the content of an assistant message; "
                "transcript import reads such messages (format \"openai_chat\")");
    CHECK_OK(agent_messages_from_history(stored, AGENT_NTS, &messages, &error));
    CHECK(strstr(agent_messages_json_at(messages, 0, NULL),
                 "\"metadata\":{\"k\":1,\"unknown\":{\"tool_calls\":[{\"id\":\"c\"}]}}}") != NULL);
    CHECK_TEXT(agent_messages_json_at(messages, 1, NULL),
               "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"x\"}],\"timestamp\":0,\"id\":\"m\","
               "\"metadata\":[null]}");
    agent_messages_free(messages);
    CHECK_FAILS(agent_messages_from_history("{}", AGENT_NTS, &messages, &error), AGENT_INVALID_ARGUMENT,
                "json: expected an array of messages, got {}");
}

static void messages_of_other_programs_come_in_and_go_out(void)
{
    static const char theirs[] = "[{\"role\":\"system\",\"content\":\"Be brief.\"},{\"role\":\"user\",\"content\":\"hi\"},"
                                 "{\"role\":\"assistant\",\"content\":\"Hello.\"}]";
    static const char *const formats[] = {"openai_chat", "openai_responses", "anthropic", "gemini", "ai_sdk", "pi"};
    agent_messages_t *messages = NULL, *again = NULL;
    agent_text_t *prompt = NULL, *losses = NULL, *written = NULL;
    size_t i, length;

    CHECK_OK(agent_messages_import("openai_chat", AGENT_NTS, theirs, AGENT_NTS, "openai/gpt-5", AGENT_NTS, &messages, &prompt,
                                   &losses, &error));
    CHECK(agent_messages_count(messages) == 2);
    CHECK_TEXT(agent_text_data(prompt, NULL), "Be brief.");
    CHECK_TEXT(agent_text_data(losses, NULL), "[]");
    CHECK_CONTAINS(agent_messages_json_at(messages, 1, NULL), "\"provider\":\"openai\"");
    agent_text_free(losses);
    CHECK_OK(agent_messages_export(messages, "openai_chat", AGENT_NTS, "Be brief.", AGENT_NTS, &written, &losses, &error));
    CHECK_TEXT(agent_text_data(written, NULL), theirs);
    CHECK_TEXT(agent_text_data(losses, NULL), "[]");
    agent_text_free(losses);
    agent_text_free(written);
    for (i = 0; i < sizeof formats / sizeof *formats; i++) {
        CHECK_OK(agent_messages_export(messages, formats[i], AGENT_NTS, NULL, 0, &written, NULL, &error));
        const char *json = agent_text_data(written, &length);
        CHECK_OK(agent_messages_import(formats[i], AGENT_NTS, json, length, NULL, 0, &again, NULL, NULL, &error));
        EXPECT(agent_messages_count(again) == 2);
        EXPECT_TEXT(agent_messages_text(again, 1, NULL), "Hello.");
        agent_messages_free(again);
        agent_text_free(written);
    }
    CHECK_OK(agent_messages_export(messages, "gemini", AGENT_NTS, "Be brief.", AGENT_NTS, &written, &losses, &error));
    CHECK_CONTAINS(agent_text_data(losses, NULL), "[{\"index\":0,\"code\":\"system_prompt\",\"message\":\"");
    agent_text_free(losses);
    agent_text_free(written);
    agent_text_free(prompt);
    again = NULL;
    CHECK_FAILS(agent_messages_import("antropic", AGENT_NTS, "[]", AGENT_NTS, NULL, 0, &again, NULL, NULL, &error),
                AGENT_INVALID_ARGUMENT, "format: unknown format \"antropic\"; did you mean \"anthropic\"?");
    CHECK_FAILS(agent_messages_import("openai_chat", AGENT_NTS, "[{\"content\": \"x\"}]", AGENT_NTS, NULL, 0, &again, NULL, NULL,
                                      &error),
                AGENT_INVALID_ARGUMENT, "messages: /0: role is missing");
    CHECK_NULL(agent_messages_import(NULL, 0, "[]", AGENT_NTS, NULL, 0, &again, NULL, NULL, &error), "format");
    CHECK_NULL(agent_messages_import("pi", AGENT_NTS, NULL, 0, NULL, 0, &again, NULL, NULL, &error), "json");
    CHECK_NULL(agent_messages_export(NULL, "pi", AGENT_NTS, NULL, 0, &written, NULL, &error), "messages");
    CHECK_NULL(agent_messages_export(messages, "pi", AGENT_NTS, NULL, 0, NULL, NULL, &error), "json");
    CHECK(again == NULL);
    agent_messages_free(messages);
}

int main(void)
{
    make_folder();
    RUN(a_list_is_written_and_read);
    RUN(a_file_is_added_to_the_last_message_of_the_user);
    RUN(what_a_prompt_can_be_is_added);
    RUN(an_index_beyond_the_last_gives_null);
    RUN(a_text_may_have_a_nul_inside);
    RUN(found_p6_bad_messages_are_refused);
    RUN(an_unpaired_surrogate_becomes_the_replacement_character);
    RUN(found_d1_a_call_is_never_cut_from_its_result);
    RUN(found_e13_a_stored_history_keeps_what_is_unknown);
    RUN(messages_of_other_programs_come_in_and_go_out);
    RUN(a_transcript_is_repaired_for_a_model);
    RUN(a_repair_refuses_unknown_models);
    RUN(null_is_refused);
    return end_with_folder();
}
