/*
 * A plugin: a provider whose models answer with what they are asked.
 *
 *     cc -shared -fPIC -I../../include echo.c -o echo.so
 *     agent --plugin ./echo.so --model echo/loud "Hello?"
 */

#include <agent_plugin.h>
#include <stdio.h>

AGENT_PLUGIN

/* Called on a thread of its own, for each request. The request is JSON: agent_set_model_callback() of agent.h. */
static void answer(void *userdata, agent_model_call_t *call)
{
    agent_json_t *request = NULL;
    const char *asked = "", *text;
    size_t length = 0, count;
    char place[64];

    (void)userdata;
    text = agent_model_call_request(call, &length);
    agent_json_parse(text, length, &request, NULL);
    length = 0;
    count = agent_json_count(agent_json_get(request, "/messages", AGENT_NTS));
    if (count > 0) {
        /* The last message, and its first block. */
        snprintf(place, sizeof place, "/messages/%lu/content/0/text", (unsigned long)(count - 1));
        agent_json_get_string(request, place, AGENT_NTS, &asked, &length, NULL);
    }
    agent_model_call_push_text(call, asked, length, NULL);
    agent_model_call_finish(call, NULL, 0, NULL);
    agent_json_free(request);
    agent_model_call_free(call);
}

agent_status_t agent_plugin_register(const agent_plugin_host_t *host, agent_t *agent, agent_error_t **error)
{
    agent_plugin_host = host;
    return agent_set_provider(agent, "echo", AGENT_NTS, answer, NULL, NULL, error);
}
