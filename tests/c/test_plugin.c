/* Plugins: those of examples/plugin, and odd ones (plugins/odd.c), all in the folder that PLUGINS names. */

#include "support.h"

/* The path of a plugin; until the next call on this thread. */
static const char *plugin(const char *name)
{
    static _Thread_local char path[4096];

    snprintf(path, sizeof path, "%s/%s.so", getenv("PLUGINS"), name);
    return path;
}

static agent_status_t add(agent_t *agent, const char *name)
{
    return agent_add_plugin(agent, plugin(name), AGENT_NTS, &error);
}

/* The transcript of a run, and its end. */
static bool says_in_transcript(agent_t *agent, const char *text)
{
    agent_text_t *state = NULL;
    bool found;

    EXPECT_OK(agent_state_json(agent, &state, &error));
    found = strstr(agent_text_data(state, NULL), text);
    agent_text_free(state);
    return found;
}

static void tools_and_hooks_of_a_plugin_work(void)
{
    agent_t *agent = scripted(SCRIPTED(CALLS("roll_dice", "{\"dice\": 2, \"seed\": 4}") ", "
                                       CALLS("roll_dice", "{\"dice\": 200}") ", " SAYS("Done.")));

    CHECK_OK(add(agent, "dice"));
    agent_run_free(play(agent));
    CHECK(says_in_transcript(agent, "2 dice: "));
    CHECK(says_in_transcript(agent, "at most 100 dice"));
    agent_free(agent);
}

static void a_provider_of_a_plugin_answers(void)
{
    agent_t *agent = scripted("echo/any");
    agent_run_t *run;

    CHECK_OK(add(agent, "echo"));
    run = play(agent);
    CHECK(strcmp(agent_run_text(run, NULL), "Go.") == 0);
    agent_run_free(run);
    CHECK_FAILS_WITH(add(agent, "echo"), AGENT_INVALID_STATE, "provider \"echo\"");
    agent_free(agent);
}

static void a_plugin_in_zig_works(void)
{
    agent_t *agent = scripted(SCRIPTED(CALLS("shout", "{\"text\": \"plug in\"}") ", " SAYS("Done.")));
    FILE *file = fopen(plugin("shout"), "rb");

    if (file) { /* built where there is Zig: run.sh */
        fclose(file);
        CHECK_OK(add(agent, "shout"));
        agent_run_free(play(agent));
        CHECK(says_in_transcript(agent, "PLUG IN"));
    }
    agent_free(agent);
}

static void several_agents_have_one_plugin(void)
{
    agent_t *one = scripted(SCRIPTED(CALLS("odd", "{}") ", " SAYS("Done.")));
    agent_t *other = scripted(SCRIPTED(CALLS("odd", "{}") ", " SAYS("Done.")));

    CHECK_OK(add(one, "good"));
    CHECK_OK(add(other, "good"));
    agent_free(one);
    agent_run_free(play(other));
    CHECK(says_in_transcript(other, "\"done\""));
    agent_free(other);
}

static void a_plugins_tool_can_be_removed(void)
{
    agent_t *agent = scripted(SCRIPTED(SAYS("Hello.")));

    CHECK_OK(add(agent, "good"));
    CHECK_OK(agent_remove_tool(agent, "odd", AGENT_NTS, &error));
    CHECK_FAILS_WITH(agent_remove_tool(agent, "odd", AGENT_NTS, &error), AGENT_NOT_FOUND, "no tool named \"odd\"");
    CHECK_OK(add(agent, "good"));
    agent_free(agent);
}

static void what_is_no_plugin_is_refused(void)
{
    static const struct {
        const char *name;
        agent_status_t status;
        const char *why;
    } refused[] = {
        {"newer_abi", AGENT_NEWER_VERSION, "it was built for ABI 7, and agent-loop " AGENT_VERSION " has ABI 0; update"},
        {"larger_table", AGENT_NEWER_VERSION, "it was built with the header of a newer version: it needs a table of "},
        {"no_info", AGENT_INVALID_ARGUMENT, "no plugin: it does not export agent_plugin_info"},
        {"no_register", AGENT_INVALID_ARGUMENT, "no plugin: it does not export agent_plugin_register"},
        {"unlinked", AGENT_IO, "undefined symbol: agent_missing_everywhere; a plugin links nothing"},
        {"silent", AGENT_CALLBACK, "its agent_plugin_register failed with -22 (io) and no error"},
        {"fails", AGENT_CALLBACK, "its agent_plugin_register failed: there is no licence for it"},
        {"twice", AGENT_INVALID_ARGUMENT, "its agent_plugin_register failed: there are two tools named \"odd\""},
        {"text", AGENT_INVALID_ARGUMENT, "it is no shared library"},
        {"cut", AGENT_INVALID_ARGUMENT, "the file is cut off: it has "},
        {"none", AGENT_NOT_FOUND, "there is no such file"},
    };
    agent_t *agent = scripted(SCRIPTED(SAYS("Hello.")));
    size_t i;

    for (i = 0; i < sizeof refused / sizeof *refused; i++) {
        CHECK(add(agent, refused[i].name) == refused[i].status);
        CHECK_CONTAINS(agent_error_message(error, NULL), refused[i].why);
        CHECK_CONTAINS(agent_error_message(error, NULL), plugin(refused[i].name));
        agent_error_free(error);
        error = NULL;
    }
    /* Nothing of a plugin that failed is there. */
    CHECK_FAILS_WITH(agent_remove_tool(agent, "odd", AGENT_NTS, &error), AGENT_NOT_FOUND, "odd");
    CHECK_FAILS_WITH(agent_add_plugin(agent, "good.so", AGENT_NTS, &error), AGENT_INVALID_ARGUMENT,
                     "plugin good.so: a path with a folder is needed, such as ./plugin.so");
    CHECK_FAILS_WITH(agent_add_plugin(agent, "/tmp", AGENT_NTS, &error), AGENT_INVALID_ARGUMENT, "it is no file");
    CHECK_NULL(agent_add_plugin(NULL, "./x.so", AGENT_NTS, &error), "agent");
    CHECK_NULL(agent_add_plugin(agent, NULL, 0, &error), "path");
    agent_free(agent);
}

static void hook(void *userdata, agent_hook_call_t *call)
{
    (void)userdata;
    agent_hook_call_respond_json(call, "null", AGENT_NTS, NULL);
    agent_hook_call_free(call);
}

static void unused_tool(void *userdata, agent_tool_call_t *call)
{
    (void)userdata;
    agent_tool_call_free(call);
}

static void what_the_agent_has_is_not_replaced(void)
{
    agent_t *agent = scripted(SCRIPTED(SAYS("Hello.")));
    agent_tool_t *tool = NULL;

    CHECK_OK(agent_set_hook(agent, AGENT_HOOK_BEFORE_TOOL_CALL, hook, NULL, NULL, &error));
    CHECK_FAILS_WITH(add(agent, "hooked"), AGENT_INVALID_STATE,
                     "it has the hook before_tool_call, which the agent has set already");
    CHECK_OK(agent_set_hook(agent, AGENT_HOOK_BEFORE_TOOL_CALL, NULL, NULL, NULL, &error));
    CHECK_OK(add(agent, "dice"));
    CHECK_FAILS_WITH(add(agent, "hooked"), AGENT_INVALID_STATE,
                     "it has the hook before_tool_call, which another plugin has set already");
    CHECK_OK(add(agent, "good"));
    CHECK_FAILS_WITH(add(agent, "good"), AGENT_INVALID_ARGUMENT, "good.so: there are two tools named \"odd\"");
    CHECK_OK(agent_tool_new("{\"name\": \"odd\"}", AGENT_NTS, unused_tool, NULL, NULL, &tool, &error));
    CHECK_FAILS_WITH(agent_add_tool(agent, tool, &error), AGENT_INVALID_ARGUMENT, "two tools named \"odd\"");
    agent_tool_free(tool);
    agent_free(agent);
}

int main(void)
{
    begin();
    RUN(tools_and_hooks_of_a_plugin_work);
    RUN(a_provider_of_a_plugin_answers);
    RUN(a_plugin_in_zig_works);
    RUN(several_agents_have_one_plugin);
    RUN(a_plugins_tool_can_be_removed);
    RUN(what_is_no_plugin_is_refused);
    RUN(what_the_agent_has_is_not_replaced);
    return end();
}
