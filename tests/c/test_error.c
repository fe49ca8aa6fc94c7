/* Statuses, errors, texts, and the functions of the library itself. */

#include "support.h"

static void the_library_has_a_version(void)
{
    CHECK_TEXT(agent_version(), AGENT_VERSION);
    CHECK(agent_abi_version() == AGENT_ABI_VERSION);
}

static void statuses_have_names(void)
{
    CHECK_TEXT(agent_status_name(AGENT_OK), "ok");
    CHECK_TEXT(agent_status_name(AGENT_DONE), "done");
    CHECK_TEXT(agent_status_name(AGENT_PENDING), "pending");
    CHECK_TEXT(agent_status_name(AGENT_AUTHENTICATION), "authentication");
    CHECK_TEXT(agent_status_name(AGENT_STREAM_TRUNCATED), "stream_truncated");
    CHECK_TEXT(agent_status_name(AGENT_PANIC), "panic");
}

static void found_c5_an_unknown_number_has_no_name(void)
{
    CHECK(agent_status_name(-99) == NULL);
    CHECK(agent_status_name(99) == NULL);
    CHECK(agent_event_kind_name(99) == NULL);
    CHECK(agent_hook_name(99) == NULL);
}

static void an_error_names_the_cause_and_a_remedy(void)
{
    agent_t *agent = NULL;
    size_t length = 0;

    CHECK(agent_new(runtime, "gpt-5", AGENT_NTS, &agent, &error) == AGENT_INVALID_ARGUMENT);
    CHECK(agent == NULL);
    CHECK(agent_error_status(error) == AGENT_INVALID_ARGUMENT);
    CHECK_TEXT(agent_error_message(error, &length),
               "model \"gpt-5\": expected \"provider/id\", for example \"anthropic/claude-sonnet-4-5\" or \"openai/gpt-5\"");
    CHECK(length == strlen(agent_error_message(error, NULL)));
    CHECK(agent_error_message(error, NULL) == agent_error_message(error, NULL));
    CHECK_CONTAINS(agent_error_json(error, &length), "{\"kind\":\"invalid_argument\",\"message\":\"model \\\"gpt-5\\\"");
    CHECK_CONTAINS(agent_error_json(error, NULL), "\"retryable\":false}");
    CHECK(length == strlen(agent_error_json(error, NULL)));
    agent_error_free(error);
    error = NULL;
}

static void the_error_parameter_may_be_null(void)
{
    agent_t *agent = NULL;

    CHECK(agent_new(runtime, "gpt-5", AGENT_NTS, &agent, NULL) == AGENT_INVALID_ARGUMENT);
    CHECK(agent == NULL);
}

static void a_call_that_succeeds_does_not_touch_the_error(void)
{
    agent_messages_t *messages = NULL;
    agent_error_t *mark = (agent_error_t *)&messages;

    CHECK(agent_messages_new(&messages, &mark) == AGENT_OK);
    CHECK(mark == (agent_error_t *)&messages);
    agent_messages_free(messages);
}

static void text_is_checked(void)
{
    agent_messages_t *messages = NULL;

    CHECK_OK(agent_messages_new(&messages, &error));
    CHECK_FAILS(agent_messages_add_user(messages, "ab\xff", AGENT_NTS, &error), AGENT_INVALID_ARGUMENT,
                "text is not UTF-8: invalid byte at offset 2");
    CHECK_FAILS(agent_messages_add_user(messages, "ab", SIZE_MAX - 1, &error), AGENT_INVALID_ARGUMENT,
                "text: a length of 18446744073709551614 bytes is not possible");
    /* the length ends the text, wherever the NUL is */
    CHECK_OK(agent_messages_add_user(messages, "abcdef", 3, &error));
    CHECK_TEXT(agent_messages_text(messages, 0, NULL), "abc");
    CHECK_OK(agent_messages_add_user(messages, "", 0, &error));
    CHECK_TEXT(agent_messages_text(messages, 1, NULL), "");
    CHECK(agent_messages_count(messages) == 2);
    agent_messages_free(messages);
}

static void accessors_accept_null(void)
{
    size_t length = 7;

    CHECK(agent_error_status(NULL) == AGENT_OK);
    CHECK(agent_error_message(NULL, &length) == NULL && length == 0);
    length = 7;
    CHECK(agent_error_json(NULL, &length) == NULL && length == 0);
    length = 7;
    CHECK(agent_text_data(NULL, &length) == NULL && length == 0);
    CHECK(agent_error_message(NULL, NULL) == NULL);
    agent_error_free(NULL);
    agent_text_free(NULL);
}

int main(void)
{
    begin();
    RUN(the_library_has_a_version);
    RUN(statuses_have_names);
    RUN(found_c5_an_unknown_number_has_no_name);
    RUN(an_error_names_the_cause_and_a_remedy);
    RUN(the_error_parameter_may_be_null);
    RUN(a_call_that_succeeds_does_not_touch_the_error);
    RUN(text_is_checked);
    RUN(accessors_accept_null);
    return end();
}
