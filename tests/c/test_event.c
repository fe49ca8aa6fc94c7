/* Events: every kind by every accessor, pushed and pulled. */

#include "support.h"

#define ANSWER                                                                                                   \
    "[{\"delta\": {\"thinking\": \"Hm.\"}}, {\"delta\": {\"type\": \"thinking_end\", \"signature\": \"c2ln\"}},"        \
    " {\"delta\": \"One \"}, {\"delta\": \"moment.\"},"                                                           \
    " {\"delta\": {\"type\": \"tool_call_start\", \"id\": \"call_1\", \"name\": \"tool\"}},"                           \
    " {\"delta\": {\"type\": \"tool_call_delta\", \"delta\": \"{\\\"a\\\":\"}}, {\"delta\": {\"type\": " \
    "\"tool_call_delta\", \"delta\": \"1}\"}}," \
    " {\"end\": \"tool_use\"}]"

static void failing(void *userdata, agent_tool_call_t *call)
{
    (void)userdata;
    agent_tool_call_update(call, "half", AGENT_NTS, NULL);
    agent_tool_call_fail(call, "broken", AGENT_NTS, NULL);
    agent_tool_call_free(call);
}

static void sleeping(void *userdata, agent_tool_call_t *call)
{
    (void)userdata;
    agent_tool_call_sleep(call, 250, NULL);
    agent_tool_call_respond(call, "slept", AGENT_NTS, NULL);
    agent_tool_call_free(call);
}

/* Everything that the accessors return for an event, except its JSON, on one line. */
static void describe(const agent_event_t *event, char *line, size_t size)
{
    size_t length = 0;
    const char *text = agent_event_text(event, &length);
    const char *role = agent_event_role(event, NULL), *arguments = agent_event_arguments(event, NULL);
    const char *call = agent_event_tool_call_id(event, NULL), *tool = agent_event_tool_name(event, NULL);
    const agent_error_t *failure = agent_event_error(event);

    EXPECT(length == (text ? strlen(text) : 0));
    snprintf(line, size, "%d %s%s%s%s%s%s%s%s%s%s%s%s%s%s%s%s", (int)agent_event_turn(event),
             agent_event_kind_name(agent_event_kind(event)), role ? " " : "", role ? role : "", text ? " '" : "",
             text ? text : "",
             text ? "'" : "", call ? " " : "", call ? call : "", tool ? " " : "", tool ? tool : "", arguments ? " " : "",
             arguments ? arguments : "", agent_event_is_error(event) ? " failed" : "",
             agent_event_outcome(event) ? " " : "",
             agent_event_outcome(event) ? agent_outcome_name(agent_event_outcome(event)) : "",
             failure ? " with an error" : "");
}

static void every_kind_has_its_fields(void)
{
    static const char *const expected[] = {
        "0 agent_start",
        "1 turn_start",
        "1 message_start user 'Go.'",
        "1 message_end user 'Go.'",
        "1 message_start assistant ''",
        "1 thinking_start",
        "1 thinking_delta 'Hm.'",
        "1 thinking_end 'Hm.'",
        "1 text_start",
        "1 text_delta 'One '",
        "1 text_delta 'moment.'",
        "1 text_end 'One moment.'",
        "1 tool_call_start call_1 tool",
        "1 tool_call_delta '{\"a\":'",
        "1 tool_call_delta '1}'",
        "1 tool_call_end call_1 tool {\"a\":1}",
        "1 message_end assistant 'One moment.'",
        "1 tool_execution_start call_1 tool {\"a\":1}",
        "1 tool_execution_update 'half' call_1 tool {\"a\":1}",
        "1 tool_execution_end 'broken' call_1 tool failed",
        "1 message_start tool_result 'broken' call_1 tool failed",
        "1 message_end tool_result 'broken' call_1 tool failed",
        "1 turn_end 'One moment.'",
        "2 turn_start",
        "2 message_start assistant ''",
        "2 text_start",
        "2 text_delta 'Well'",
        "2 message_end assistant 'Well' with an error",
        "2 turn_end 'Well' with an error",
        "2 agent_end error with an error",
    };
    agent_t *agent = with_tool(
        SCRIPTED(ANSWER ", [{\"delta\": \"Well\"}, {\"error\": {\"kind\": \"overloaded\", \"message\": \"too "
                 "many\"}}]"), failing, NULL);
    agent_run_t *run = NULL;
    const agent_event_t *event;
    char line[200], type[64];
    size_t i = 0;

    CHECK_OK(agent_prompt(agent, "Go.", AGENT_NTS, &run, &error));
    while (agent_run_next(run, -1, &event, &error) == AGENT_OK) {
        describe(event, line, sizeof line);
        CHECK(i < sizeof expected / sizeof *expected);
        CHECK_TEXT(line, expected[i]);
        i++;
        /* number and word agree with the JSON */
        snprintf(type, sizeof type, "{\"type\":\"%s\",\"run_id\":\"", agent_event_kind_name(agent_event_kind(event)));
        CHECK(strncmp(agent_event_json(event, NULL), type, strlen(type)) == 0);
        CHECK(agent_event_is_message_update(event)
              == (agent_event_kind(event) >= AGENT_EVENT_TEXT_START && agent_event_kind(event) <= AGENT_EVENT_TOOL_CALL_END));
        if (agent_event_kind(event) == AGENT_EVENT_TOOL_CALL_DELTA)
            CHECK(agent_event_content_index(event) == 2);
        if (agent_event_error(event)) {
            CHECK(agent_error_status(agent_event_error(event)) == AGENT_OVERLOADED);
            CHECK_TEXT(agent_error_message(agent_event_error(event), NULL), "too many");
        }
    }
    CHECK(i == sizeof expected / sizeof *expected);
    agent_run_free(run);
    agent_free(agent);
}

static void the_partial_message_is_available(void)
{
    agent_t *agent = scripted(SCRIPTED("[{\"delta\": \"a\"}, {\"delta\": \"b\"}, {\"end\": \"stop\"}]"));
    agent_run_t *run = NULL;
    const agent_event_t *event;
    agent_event_t *kept = NULL;
    size_t length;

    CHECK_OK(agent_prompt(agent, "Go.", AGENT_NTS, &run, &error));
    while (agent_run_next(run, -1, &event, &error) == AGENT_OK) {
        if (agent_event_kind(event) == AGENT_EVENT_TEXT_DELTA && !kept) {
            CHECK_CONTAINS(agent_event_partial(event, &length),
                           "{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"a\"}]");
            CHECK(length == strlen(agent_event_partial(event, NULL)));
            kept = agent_event_clone(event);
        } else if (agent_event_kind(event) == AGENT_EVENT_MESSAGE_END && agent_event_partial(event, NULL)) {
            CHECK_CONTAINS(agent_event_partial(event, NULL), "\"text\":\"ab\"");
        } else if (agent_event_kind(event) == AGENT_EVENT_TURN_START) {
            CHECK(agent_event_partial(event, &length) == NULL && length == 0);
        }
    }
    agent_run_free(run);
    agent_free(agent);
    /* a clone does not change */
    CHECK(kept != NULL);
    CHECK_TEXT(agent_event_text(kept, NULL), "a");
    CHECK_CONTAINS(agent_event_partial(kept, NULL), "\"text\":\"a\"}]");
    CHECK_CONTAINS(agent_event_json(kept, NULL), "\"delta\":\"a\"}");
    agent_event_free(kept);
}

static void found_c6_messages_usage_cost_and_durations_have_getters(void)
{
    static const char *const stop_reasons[] = {"tool_use", "stop"};
    agent_t *agent = with_tool(
        "{\"provider\": \"scripted\", \"id\": \"test\", \"cost\": {\"input\": 2, \"output\": 8}, \"script\": ["
        "[" CALL("call_1", "tool", "{}") ","
        " {\"end\": {\"stop_reason\": \"tool_use\", \"usage\": {\"input\": 1000, \"output\": 500}}}],"
        "[{\"delta\": \"Done.\"}, {\"end\": {\"stop_reason\": \"stop\", \"usage\": {\"input\": 2000}}}]]}",
        sleeping, NULL);
    agent_run_t *run = NULL;
    const agent_event_t *event;
    double dollars;
    int answers = 0;

    CHECK_OK(agent_prompt(agent, "Go.", AGENT_NTS, &run, &error));
    while (agent_run_next(run, -1, &event, &error) == AGENT_OK) {
        int32_t kind = agent_event_kind(event);
        const char *role = agent_event_role(event, NULL);

        if (kind == AGENT_EVENT_MESSAGE_END && strcmp(role, "assistant") == 0) {
            CHECK_CONTAINS(agent_event_message(event, NULL), "{\"role\":\"assistant\",");
            CHECK_TEXT(agent_event_stop_reason(event, NULL), stop_reasons[answers]);
            CHECK(agent_event_usage(event, AGENT_USAGE_INPUT) == (answers ? 2000 : 1000));
            CHECK(agent_event_cost(event, AGENT_USAGE_TOTAL, &dollars) && dollars > 0.0039 && dollars < 0.0061);
            answers++;
        } else if (kind == AGENT_EVENT_MESSAGE_END) {
            CHECK_CONTAINS(agent_event_message(event, NULL), role);
            CHECK(agent_event_partial(event, NULL) == NULL && agent_event_stop_reason(event, NULL) == NULL);
            CHECK(!agent_event_cost(event, AGENT_USAGE_TOTAL, &dollars) && dollars == 0);
        } else if (kind == AGENT_EVENT_TURN_END) {
            CHECK_CONTAINS(agent_event_message(event, NULL), "{\"role\":\"assistant\",");
        } else if (kind == AGENT_EVENT_TOOL_EXECUTION_END) {
            CHECK(agent_event_duration_ms(event) == 250);
        } else if (kind == AGENT_EVENT_AGENT_END) {
            CHECK(agent_event_usage(event, AGENT_USAGE_INPUT) == 3000);
            CHECK(agent_event_cost(event, AGENT_USAGE_OUTPUT, &dollars) && dollars > 0.00399 && dollars < 0.00401);
            CHECK(!agent_event_cost(event, AGENT_USAGE_REASONING, &dollars) && !agent_event_cost(event, 99, NULL));
        } else {
            CHECK(agent_event_message(event, NULL) == NULL || kind == AGENT_EVENT_MESSAGE_START);
            CHECK(agent_event_duration_ms(event) == 0 && agent_event_usage(event, AGENT_USAGE_TOTAL) == 0);
        }
    }
    CHECK(answers == 2);
    CHECK(agent_run_cost(run, AGENT_USAGE_INPUT, &dollars) && dollars > 0.0059 && dollars < 0.0061);
    CHECK(!agent_run_cost(NULL, AGENT_USAGE_INPUT, &dollars) && !agent_event_cost(NULL, AGENT_USAGE_INPUT, NULL));
    agent_run_free(run);
    agent_free(agent);
}

typedef struct {
    agent_event_t *events[64];
    size_t count;
} kept_t;

static void keep(void *userdata, const agent_event_t *event)
{
    kept_t *kept = userdata;

    if (EXPECT(kept->count < 64))
        kept->events[kept->count++] = agent_event_clone(event);
}

static void pushed_and_pulled_are_the_same(void)
{
    agent_t *agent = with_tool(SCRIPTED(ANSWER "," SAYS("Done.")), failing, NULL);
    agent_run_t *run = NULL;
    const agent_event_t *event;
    kept_t kept = {{NULL}, 0};
    size_t i = 0;

    CHECK_OK(agent_subscribe(agent, keep, &kept, NULL, NULL, &error));
    CHECK_OK(agent_prompt(agent, "Go.", AGENT_NTS, &run, &error));
    while (agent_run_next(run, -1, &event, &error) == AGENT_OK) {
        CHECK(i < kept.count);
        CHECK_TEXT(agent_event_json(kept.events[i], NULL), agent_event_json(event, NULL));
        agent_event_free(kept.events[i++]);
    }
    CHECK(i == kept.count);
    agent_run_free(run);
    agent_free(agent);
}

static void accessors_accept_null(void)
{
    size_t length = 7;

    CHECK(agent_event_kind(NULL) == 0);
    CHECK(agent_event_kind_name(0) == NULL && agent_event_kind_name(1000) == NULL);
    CHECK(!agent_event_is_message_update(NULL));
    CHECK(agent_event_run_id(NULL, &length) == NULL && length == 0);
    CHECK(agent_event_seq(NULL) == 0 && agent_event_turn(NULL) == 0 && agent_event_content_index(NULL) == 0);
    CHECK(agent_event_text(NULL, NULL) == NULL);
    CHECK(agent_event_role(NULL, NULL) == NULL);
    CHECK(agent_event_arguments(NULL, NULL) == NULL);
    CHECK(!agent_event_is_error(NULL));
    CHECK(agent_event_tool_call_id(NULL, NULL) == NULL);
    CHECK(agent_event_tool_name(NULL, NULL) == NULL);
    CHECK(agent_event_outcome(NULL) == AGENT_OUTCOME_NONE);
    CHECK(agent_event_error(NULL) == NULL);
    CHECK(agent_event_partial(NULL, NULL) == NULL);
    CHECK(agent_event_json(NULL, NULL) == NULL);
    CHECK(agent_event_clone(NULL) == NULL);
    agent_event_free(NULL);
}

int main(void)
{
    begin();
    RUN(every_kind_has_its_fields);
    RUN(the_partial_message_is_available);
    RUN(found_c6_messages_usage_cost_and_durations_have_getters);
    RUN(pushed_and_pulled_are_the_same);
    RUN(accessors_accept_null);
    return end();
}
