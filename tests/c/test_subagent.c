/* Agents as tools of other agents, as C has them; the rules are in the scenarios. */

#include "support.h"

#define RESEARCH "{\"name\": \"research\", \"description\": \"Finds out.\"}"

static agent_tool_t *made(const agent_t *agent, const char *json)
{
    agent_tool_t *tool = NULL;

    EXPECT_OK(agent_as_tool(agent, json, AGENT_NTS, &tool, &error));
    return tool;
}

static void events_of_a_subagent_are_events_with_a_path(void)
{
    agent_t *inner = scripted(SCRIPTED(SAYS("It rains.")));
    agent_t *agent = scripted(SCRIPTED(CALLS("research", "{\"prompt\": \"Rain?\"}") ", " SAYS("Yes.")));
    agent_tool_t *tool = made(inner, RESEARCH);
    const agent_event_t *event;
    agent_event_t *kept = NULL;
    agent_run_t *run = NULL;
    size_t seen = 0, length = 0;

    /* The tool keeps the agent, and the agent the tool. */
    agent_free(inner);
    CHECK_OK(agent_add_tool(agent, tool, &error));
    agent_tool_free(tool);
    CHECK_OK(agent_prompt(agent, "Go.", AGENT_NTS, &run, &error));
    while (agent_run_next(run, -1, &event, &error) == AGENT_OK) {
        const agent_event_t *nested = agent_event_subagent(event);

        CHECK((nested != NULL) == (agent_event_kind(event) == AGENT_EVENT_SUBAGENT_EVENT));
        CHECK((nested != NULL) == (agent_event_path(event, &length) != NULL));
        if (!nested)
            continue;
        CHECK(agent_event_subagent(event) == nested && agent_event_subagent(nested) == NULL);
        CHECK_TEXT(agent_event_tool_name(event, NULL), "research");
        CHECK_CONTAINS(agent_event_path(event, NULL), agent_event_tool_call_id(event, NULL));
        if (agent_event_kind(nested) == AGENT_EVENT_TEXT_DELTA) {
            CHECK_TEXT(agent_event_text(nested, NULL), "It rains.");
            kept = agent_event_clone(nested);
            seen++;
        }
    }
    CHECK(seen == 1);
    CHECK_TEXT(agent_event_text(kept, NULL), "It rains.");
    CHECK(agent_event_subagent(NULL) == NULL && agent_event_path(NULL, &length) == NULL && length == 0);
    CHECK_TEXT(agent_run_text(run, NULL), "Yes.");
    agent_event_free(kept);
    agent_run_free(run);
    agent_free(agent);
}

static void arguments_of_ones_own_are_given_in_json(void)
{
    agent_t *inner = scripted(SCRIPTED(SAYS("Yes.")));
    agent_t *agent = scripted(SCRIPTED(CALLS("rain", "{\"city\": \"Oslo\"}") ", " SAYS("Yes.")));
    agent_tool_t *tool = made(inner, "{\"name\": \"rain\", \"keep_conversation\": true, \"events\": \"none\", \"parameters\":"
                                     " {\"type\": \"object\", \"properties\": {\"city\": {\"type\": \"string\"}}}}");
    agent_messages_t *messages = NULL;

    CHECK_OK(agent_add_tool(agent, tool, &error));
    agent_run_free(play(agent));
    CHECK_OK(agent_messages(inner, &messages, &error));
    CHECK_TEXT(agent_messages_text(messages, 0, NULL), "{\"city\":\"Oslo\"}");
    agent_messages_free(messages);
    agent_tool_free(tool);
    agent_free(agent);
    agent_free(inner);
}

static void another_agent_goes_on_after_a_handoff(void)
{
    agent_t *other = scripted(SCRIPTED(SAYS("I am the other.")));
    agent_t *agent = scripted(SCRIPTED(CALLS("to_other", "{}") ", " SAYS("Mine again.")));
    agent_tool_t *tool = NULL;
    agent_run_t *run;

    CHECK_OK(agent_as_handoff(other, "{\"name\": \"to_other\"}", AGENT_NTS, &tool, &error));
    CHECK_OK(agent_add_tool(agent, tool, &error));
    agent_tool_free(tool);
    agent_free(other);
    run = play(agent);
    CHECK_TEXT(agent_run_text(run, NULL), "I am the other.");
    agent_run_free(run);
    run = play(agent);
    CHECK_TEXT(agent_run_text(run, NULL), "Mine again.");
    agent_run_free(run);
    CHECK_FAILS_WITH(agent_as_handoff(agent, "{\"name\": \"a b\"}", AGENT_NTS, &tool, &error), AGENT_INVALID_ARGUMENT,
                     "tool name");
    CHECK_NULL(agent_as_handoff(NULL, "{\"name\": \"a\"}", AGENT_NTS, &tool, &error), "agent");
    agent_free(agent);
}

static void what_is_wrong_is_said(void)
{
    agent_t *agent = scripted(SCRIPTED(SAYS("Yes.")));
    agent_tool_t *tool = NULL;

    CHECK_FAILS_WITH(agent_as_tool(agent, "{\"name\": \"a\", \"events\": \"some\"}", AGENT_NTS, &tool, &error),
                     AGENT_INVALID_ARGUMENT, "events");
    CHECK_FAILS_WITH(agent_as_tool(agent, "{\"name\": \"a\", \"keep_conversation\": 1}", AGENT_NTS, &tool, &error),
                     AGENT_INVALID_ARGUMENT, "keep_conversation");
    CHECK_FAILS_WITH(agent_as_tool(agent, "{\"name\": \"a\", \"event\": \"all\"}", AGENT_NTS, &tool, &error),
                     AGENT_INVALID_ARGUMENT, "did you mean \"events\"?");
    CHECK_NULL(agent_as_tool(NULL, RESEARCH, AGENT_NTS, &tool, &error), "agent");
    CHECK_NULL(agent_as_tool(agent, NULL, AGENT_NTS, &tool, &error), "json");
    CHECK_NULL(agent_as_tool(agent, RESEARCH, AGENT_NTS, NULL, &error), "tool");
    CHECK(tool == NULL);
    tool = made(agent, RESEARCH);
    CHECK_FAILS_WITH(agent_tool_set_json(tool, "{\"name\": \"b\"}", AGENT_NTS, &error), AGENT_INVALID_ARGUMENT,
                     "agent_as_tool");
    agent_tool_free(tool);
    agent_free(agent);
}

int main(void)
{
    begin();
    RUN(events_of_a_subagent_are_events_with_a_path);
    RUN(arguments_of_ones_own_are_given_in_json);
    RUN(another_agent_goes_on_after_a_handoff);
    RUN(what_is_wrong_is_said);
    return end();
}
