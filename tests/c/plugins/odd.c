/* Plugins that are odd in one way each: compiled with -DODD_<WAY>. */

#define AGENT_PLUGIN_PLAIN
#include <agent_plugin.h>

#if defined(ODD_NEWER_ABI)
#define INFO {AGENT_ABI_VERSION + 7, sizeof(agent_plugin_host_t)}
#elif defined(ODD_LARGER_TABLE)
#define INFO {AGENT_ABI_VERSION, sizeof(agent_plugin_host_t) + 8}
#else
#define INFO {AGENT_ABI_VERSION, sizeof(agent_plugin_host_t)}
#endif

#ifndef ODD_NO_INFO
const agent_plugin_info_t agent_plugin_info = INFO;
#endif

#if defined(ODD_UNLINKED)
extern void agent_missing_everywhere(void);
#endif

static const agent_plugin_host_t *table;

static void tool(void *userdata, agent_tool_call_t *call)
{
    table->tool_call_respond(call, userdata ? userdata : "done", AGENT_NTS, NULL);
    table->tool_call_free(call);
}

static void hook(void *userdata, agent_hook_call_t *call)
{
    (void)userdata;
    table->hook_call_respond_json(call, "null", AGENT_NTS, NULL);
    table->hook_call_free(call);
}

#ifndef ODD_NO_REGISTER
agent_status_t agent_plugin_register(const agent_plugin_host_t *host, agent_t *agent, agent_error_t **error)
{
    agent_tool_t *made = NULL;
    agent_status_t rc;

    table = host;
    (void)hook;
#if defined(ODD_UNLINKED)
    agent_missing_everywhere();
#elif defined(ODD_SILENT)
    return AGENT_IO;
#endif
    rc = host->tool_new("{\"name\": \"odd\"}", AGENT_NTS, tool, NULL, NULL, &made, error);
    if (rc == AGENT_OK)
        rc = host->add_tool(agent, made, error);
#if defined(ODD_TWICE)
    /* The second is refused, and the plugin with it. */
    if (rc == AGENT_OK)
        rc = host->add_tool(agent, made, error);
#elif defined(ODD_FAILS)
    /* After it has registered something. */
    if (rc == AGENT_OK)
        rc = host->plugin_fail("there is no licence for it", AGENT_NTS, error);
#elif defined(ODD_HOOKED)
    if (rc == AGENT_OK)
        rc = host->set_hook(agent, AGENT_HOOK_BEFORE_TOOL_CALL, hook, NULL, NULL, error);
#endif
    host->tool_free(made);
    return rc;
}
#else
/* Exported, so that nothing above is unused. */
AGENT_PLUGIN_EXPORT void odd_calls(agent_tool_call_t *one, agent_hook_call_t *other)
{
    tool(NULL, one);
    hook(NULL, other);
}
#endif
