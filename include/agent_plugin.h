/*
 * agent_plugin.h - a plugin of agent-loop: a shared library that adds tools, hooks, middleware and
 * providers to an agent.
 *
 *     #include <agent_plugin.h>
 *
 *     AGENT_PLUGIN
 *
 *     static void roll(void *userdata, agent_tool_call_t *call)
 *     {
 *         (void)userdata;
 *         agent_tool_call_respond(call, "4", AGENT_NTS, NULL);
 *         agent_tool_call_free(call);
 *     }
 *
 *     agent_status_t agent_plugin_register(const agent_plugin_host_t *host, agent_t *agent,
 *                                          agent_error_t **error)
 *     {
 *         agent_tool_t *tool = NULL;
 *         agent_status_t rc;
 *
 *         agent_plugin_host = host;
 *         rc = agent_tool_new("{\"name\": \"roll\", \"description\": \"Rolls a die.\"}", AGENT_NTS,
 *                             roll, NULL, NULL, &tool, error);
 *         if (rc == AGENT_OK)
 *             rc = agent_add_tool(agent, tool, error);
 *         agent_tool_free(tool);
 *         return rc;
 *     }
 *
 *     cc -shared -fPIC dice.c -o dice.so
 *     agent --plugin ./dice.so "Roll a die."
 *
 * A plugin links nothing. It gets a table of functions, agent_plugin_host_t. The names of agent.h are
 * macros here, which call through the table: the same code works in a program that links libagent.
 * agent.h documents each function; ownership, threads and errors are as there. docs/plugins.md is the
 * guide.
 *
 * A plugin is loaded by agent_add_plugin() of agent.h, by the flag --plugin of the program `agent`, by the
 * key `plugins` of agent.toml, and by the functions of Python and Node of that name.
 */

#ifndef AGENT_PLUGIN_H
#define AGENT_PLUGIN_H

#include "agent.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Exports what the loader looks for. */
#if defined(_WIN32)
#define AGENT_PLUGIN_EXPORT __declspec(dllexport)
#elif defined(__GNUC__)
#define AGENT_PLUGIN_EXPORT __attribute__((visibility("default")))
#else
#define AGENT_PLUGIN_EXPORT
#endif

/**
 * The functions that a plugin may call, valid until the process ends. Each is the function of agent.h
 * with its name after agent_. Newer versions add fields at the end: size says how many there are.
 */
typedef struct agent_plugin_host_t {
    /** AGENT_ABI_VERSION of the library. */
    uint32_t abi_version;
    /** The bytes of its table. */
    uint32_t size;

    /**
     * Makes an error with a text for the user, for agent_plugin_register() to fail with; returns its
     * status, AGENT_CALLBACK. error may be NULL.
     */
    agent_status_t (*plugin_fail)(const char *message, size_t length, agent_error_t **error);

    /* library */
    const char *(*version)(void);
    const char *(*status_name)(agent_status_t status);
    const char *(*hook_name)(int32_t hook);
    /* error */
    agent_status_t (*error_status)(const agent_error_t *error);
    const char *(*error_message)(const agent_error_t *error, size_t *length);
    const char *(*error_json)(const agent_error_t *error, size_t *length);
    void (*error_free)(agent_error_t *error);
    /* text and JSON */
    const char *(*text_data)(const agent_text_t *text, size_t *length);
    void (*text_free)(agent_text_t *text);
        agent_status_t (*json_parse)(const char *text, size_t length, agent_json_t **json,
        agent_error_t **error);
    int32_t (*json_type)(const agent_json_t *json);
    const agent_json_t *(*json_get)(const agent_json_t *json, const char *pointer, size_t length);
        agent_status_t (*json_get_string)(const agent_json_t *json, const char *pointer, size_t
        length, const char **value, size_t *value_length, agent_error_t **error);
        agent_status_t (*json_get_number)(const agent_json_t *json, const char *pointer, size_t
        length, double *value, agent_error_t **error);
        agent_status_t (*json_get_integer)(const agent_json_t *json, const char *pointer, size_t
        length, int64_t *value, agent_error_t **error);
        agent_status_t (*json_get_bool)(const agent_json_t *json, const char *pointer, size_t
        length, bool *value, agent_error_t **error);
    size_t (*json_count)(const agent_json_t *json);
    const agent_json_t *(*json_at)(const agent_json_t *json, size_t index);
    const char *(*json_key)(const agent_json_t *json, size_t index, size_t *length);
    const agent_json_t *(*json_member)(const agent_json_t *json, const char *key, size_t length);
    bool (*json_equals)(const agent_json_t *json, const agent_json_t *other);
    const char *(*json_text)(const agent_json_t *json, size_t *length);
        agent_status_t (*json_set)(agent_json_t *json, const char *pointer, size_t length, const
        agent_json_t *value, agent_error_t **error);
        agent_status_t (*json_set_json)(agent_json_t *json, const char *pointer, size_t length,
        const char *value, size_t value_length, agent_error_t **error);
        agent_status_t (*json_set_string)(agent_json_t *json, const char *pointer, size_t length,
        const char *value, size_t value_length, agent_error_t **error);
        agent_status_t (*json_set_number)(agent_json_t *json, const char *pointer, size_t length,
        double value, agent_error_t **error);
        agent_status_t (*json_set_integer)(agent_json_t *json, const char *pointer, size_t length,
        int64_t value, agent_error_t **error);
        agent_status_t (*json_set_bool)(agent_json_t *json, const char *pointer, size_t length, bool
        value, agent_error_t **error);
        agent_status_t (*json_remove)(agent_json_t *json, const char *pointer, size_t length,
        agent_error_t **error);
    void (*json_free)(agent_json_t *json);
    /* what a plugin registers, with the agent that it got */
        agent_status_t (*tool_new)(const char *json, size_t length, agent_tool_fn_t function, void
        *userdata, agent_destroy_fn_t destroy, agent_tool_t **tool, agent_error_t **error);
        agent_status_t (*tool_set_json)(agent_tool_t *tool, const char *json, size_t length,
        agent_error_t **error);
        agent_status_t (*tool_set_prepare_arguments)(agent_tool_t *tool, agent_hook_fn_t function,
        void *userdata, agent_destroy_fn_t destroy, agent_error_t **error);
        agent_status_t (*tool_set_needs_approval)(agent_tool_t *tool, agent_hook_fn_t function, void
        *userdata, agent_destroy_fn_t destroy, agent_error_t **error);
    void (*tool_free)(agent_tool_t *tool);
    agent_status_t (*add_tool)(agent_t *agent, const agent_tool_t *tool, agent_error_t **error);
        agent_status_t (*add_middleware)(agent_t *agent, agent_tool_fn_t function, void *userdata,
        agent_destroy_fn_t destroy, agent_error_t **error);
        agent_status_t (*set_hook)(agent_t *agent, int32_t hook, agent_hook_fn_t function, void
        *userdata, agent_destroy_fn_t destroy, agent_error_t **error);
        agent_status_t (*set_provider)(agent_t *agent, const char *name, size_t length,
        agent_model_fn_t function, void *userdata, agent_destroy_fn_t destroy, agent_error_t
        **error);
    /* calls of tools and of middleware */
    const char *(*tool_call_id)(const agent_tool_call_t *call, size_t *length);
    const char *(*tool_call_name)(const agent_tool_call_t *call, size_t *length);
    const char *(*tool_call_idempotency_key)(const agent_tool_call_t *call, size_t *length);
    const char *(*tool_call_arguments)(const agent_tool_call_t *call, size_t *length);
        agent_status_t (*tool_call_get_string)(const agent_tool_call_t *call, const char *name,
        size_t length, const char **value, size_t *value_length, agent_error_t **error);
        agent_status_t (*tool_call_get_number)(const agent_tool_call_t *call, const char *name,
        size_t length, double *value, agent_error_t **error);
        agent_status_t (*tool_call_get_bool)(const agent_tool_call_t *call, const char *name, size_t
        length, bool *value, agent_error_t **error);
    bool (*tool_call_is_cancelled)(const agent_tool_call_t *call);
        agent_status_t (*tool_call_sleep)(const agent_tool_call_t *call, uint64_t ms, agent_error_t
        **error);
        agent_status_t (*tool_call_update)(agent_tool_call_t *call, const char *text, size_t length,
        agent_error_t **error);
        agent_status_t (*tool_call_update_json)(agent_tool_call_t *call, const char *json, size_t
        length, agent_error_t **error);
        agent_status_t (*tool_call_respond)(agent_tool_call_t *call, const char *text, size_t
        length, agent_error_t **error);
        agent_status_t (*tool_call_respond_json)(agent_tool_call_t *call, const char *json, size_t
        length, agent_error_t **error);
        agent_status_t (*tool_call_suspend)(agent_tool_call_t *call, const char *reason, size_t
        length, agent_error_t **error);
        agent_status_t (*tool_call_fail)(agent_tool_call_t *call, const char *message, size_t
        length, agent_error_t **error);
        agent_status_t (*tool_call_next)(agent_tool_call_t *call, const char *arguments, size_t
        length, agent_tool_next_fn_t function, void *userdata, agent_destroy_fn_t destroy,
        agent_error_t **error);
    void (*tool_call_free)(agent_tool_call_t *call);
    /* calls of hooks */
    const char *(*hook_call_input)(const agent_hook_call_t *call, size_t *length);
    bool (*hook_call_is_cancelled)(const agent_hook_call_t *call);
        agent_status_t (*hook_call_sleep)(const agent_hook_call_t *call, uint64_t ms, agent_error_t
        **error);
        agent_status_t (*hook_call_respond_json)(agent_hook_call_t *call, const char *json, size_t
        length, agent_error_t **error);
        agent_status_t (*hook_call_fail)(agent_hook_call_t *call, const char *message, size_t
        length, agent_error_t **error);
    void (*hook_call_free)(agent_hook_call_t *call);
    /* calls of providers */
    const char *(*model_call_request)(const agent_model_call_t *call, size_t *length);
    bool (*model_call_is_cancelled)(const agent_model_call_t *call);
        agent_status_t (*model_call_push)(agent_model_call_t *call, const char *json, size_t length,
        agent_error_t **error);
        agent_status_t (*model_call_push_text)(agent_model_call_t *call, const char *text, size_t
        length, agent_error_t **error);
        agent_status_t (*model_call_finish)(agent_model_call_t *call, const char *end, size_t
        length, agent_error_t **error);
        agent_status_t (*model_call_fail)(agent_model_call_t *call, const char *message, size_t
        length, agent_error_t **error);
    void (*model_call_free)(agent_model_call_t *call);
} agent_plugin_host_t;

/** What a plugin says of itself, which is read before its functions are called. */
typedef struct agent_plugin_info_t {
    /** AGENT_ABI_VERSION of the header that it was built with. */
    uint32_t abi_version;
    /** The bytes of the table that it needs: sizeof(agent_plugin_host_t) of that header. */
    uint32_t host_size;
} agent_plugin_info_t;

/** Exported by a plugin. AGENT_PLUGIN defines it. */
extern AGENT_PLUGIN_EXPORT const agent_plugin_info_t agent_plugin_info;

/**
 * Exported by a plugin, which defines it: adds what the plugin has to an agent, with agent_add_tool(),
 * agent_add_middleware(), agent_set_hook() and agent_set_provider(). It is called once for each agent
 * that the plugin is added to, perhaps on several threads.
 *
 * The agent is valid until the function returns, and has nothing yet. What it has then is added to the
 * agent that the plugin is for: all of it, or nothing. host is valid until the process ends; it is the
 * same each time.
 *
 * Returns AGENT_OK; or a failure, and an error if there is one: that of a function that failed, or one
 * of agent_plugin_fail(). The library owns it then.
 */
AGENT_PLUGIN_EXPORT agent_status_t agent_plugin_register(const agent_plugin_host_t *host,
                                                         agent_t *agent, agent_error_t **error);

/*
 * Define AGENT_PLUGIN_PLAIN to have the types alone, without the names of agent.h as macros: for other
 * languages.
 */
#ifndef AGENT_PLUGIN_PLAIN

/** The table, which agent_plugin_register() keeps here. */
extern const agent_plugin_host_t *agent_plugin_host;

/** Stands once in a plugin: defines the table's place, and what the plugin says of itself. */
#define AGENT_PLUGIN                                                                              \
    const agent_plugin_host_t *agent_plugin_host;                                                 \
    const agent_plugin_info_t agent_plugin_info = {AGENT_ABI_VERSION,                             \
                                                   (uint32_t)sizeof(agent_plugin_host_t)};

#define agent_plugin_fail (agent_plugin_host->plugin_fail)
#define agent_version (agent_plugin_host->version)
#define agent_status_name (agent_plugin_host->status_name)
#define agent_hook_name (agent_plugin_host->hook_name)
#define agent_error_status (agent_plugin_host->error_status)
#define agent_error_message (agent_plugin_host->error_message)
#define agent_error_json (agent_plugin_host->error_json)
#define agent_error_free (agent_plugin_host->error_free)
#define agent_text_data (agent_plugin_host->text_data)
#define agent_text_free (agent_plugin_host->text_free)
#define agent_json_parse (agent_plugin_host->json_parse)
#define agent_json_type (agent_plugin_host->json_type)
#define agent_json_get (agent_plugin_host->json_get)
#define agent_json_get_string (agent_plugin_host->json_get_string)
#define agent_json_get_number (agent_plugin_host->json_get_number)
#define agent_json_get_integer (agent_plugin_host->json_get_integer)
#define agent_json_get_bool (agent_plugin_host->json_get_bool)
#define agent_json_count (agent_plugin_host->json_count)
#define agent_json_at (agent_plugin_host->json_at)
#define agent_json_key (agent_plugin_host->json_key)
#define agent_json_member (agent_plugin_host->json_member)
#define agent_json_equals (agent_plugin_host->json_equals)
#define agent_json_text (agent_plugin_host->json_text)
#define agent_json_set (agent_plugin_host->json_set)
#define agent_json_set_json (agent_plugin_host->json_set_json)
#define agent_json_set_string (agent_plugin_host->json_set_string)
#define agent_json_set_number (agent_plugin_host->json_set_number)
#define agent_json_set_integer (agent_plugin_host->json_set_integer)
#define agent_json_set_bool (agent_plugin_host->json_set_bool)
#define agent_json_remove (agent_plugin_host->json_remove)
#define agent_json_free (agent_plugin_host->json_free)
#define agent_tool_new (agent_plugin_host->tool_new)
#define agent_tool_set_json (agent_plugin_host->tool_set_json)
#define agent_tool_set_prepare_arguments (agent_plugin_host->tool_set_prepare_arguments)
#define agent_tool_set_needs_approval (agent_plugin_host->tool_set_needs_approval)
#define agent_tool_free (agent_plugin_host->tool_free)
#define agent_add_tool (agent_plugin_host->add_tool)
#define agent_add_middleware (agent_plugin_host->add_middleware)
#define agent_set_hook (agent_plugin_host->set_hook)
#define agent_set_provider (agent_plugin_host->set_provider)
#define agent_tool_call_id (agent_plugin_host->tool_call_id)
#define agent_tool_call_name (agent_plugin_host->tool_call_name)
#define agent_tool_call_idempotency_key (agent_plugin_host->tool_call_idempotency_key)
#define agent_tool_call_arguments (agent_plugin_host->tool_call_arguments)
#define agent_tool_call_get_string (agent_plugin_host->tool_call_get_string)
#define agent_tool_call_get_number (agent_plugin_host->tool_call_get_number)
#define agent_tool_call_get_bool (agent_plugin_host->tool_call_get_bool)
#define agent_tool_call_is_cancelled (agent_plugin_host->tool_call_is_cancelled)
#define agent_tool_call_sleep (agent_plugin_host->tool_call_sleep)
#define agent_tool_call_update (agent_plugin_host->tool_call_update)
#define agent_tool_call_update_json (agent_plugin_host->tool_call_update_json)
#define agent_tool_call_respond (agent_plugin_host->tool_call_respond)
#define agent_tool_call_respond_json (agent_plugin_host->tool_call_respond_json)
#define agent_tool_call_suspend (agent_plugin_host->tool_call_suspend)
#define agent_tool_call_fail (agent_plugin_host->tool_call_fail)
#define agent_tool_call_next (agent_plugin_host->tool_call_next)
#define agent_tool_call_free (agent_plugin_host->tool_call_free)
#define agent_hook_call_input (agent_plugin_host->hook_call_input)
#define agent_hook_call_is_cancelled (agent_plugin_host->hook_call_is_cancelled)
#define agent_hook_call_sleep (agent_plugin_host->hook_call_sleep)
#define agent_hook_call_respond_json (agent_plugin_host->hook_call_respond_json)
#define agent_hook_call_fail (agent_plugin_host->hook_call_fail)
#define agent_hook_call_free (agent_plugin_host->hook_call_free)
#define agent_model_call_request (agent_plugin_host->model_call_request)
#define agent_model_call_is_cancelled (agent_plugin_host->model_call_is_cancelled)
#define agent_model_call_push (agent_plugin_host->model_call_push)
#define agent_model_call_push_text (agent_plugin_host->model_call_push_text)
#define agent_model_call_finish (agent_plugin_host->model_call_finish)
#define agent_model_call_fail (agent_plugin_host->model_call_fail)
#define agent_model_call_free (agent_plugin_host->model_call_free)

#endif /* AGENT_PLUGIN_PLAIN */

#ifdef __cplusplus
}
#endif

#endif /* AGENT_PLUGIN_H */
