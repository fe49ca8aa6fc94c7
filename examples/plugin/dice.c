/*
 * A plugin: a tool that rolls dice, and a hook that refuses rolls of too many.
 *
 *     cc -shared -fPIC -I../../include dice.c -o dice.so
 *     agent --plugin ./dice.so "Roll three dice."
 */

#include <agent_plugin.h>
#include <stdio.h>
#include <string.h>

#define MOST_DICE 100

AGENT_PLUGIN

static const char TOOL[] = "{\"name\": \"roll_dice\", \"description\": \"Rolls dice and gives their sum.\","
                           " \"parameters\": {\"type\": \"object\", \"properties\": {"
                           "\"dice\": {\"type\": \"integer\", \"minimum\": 1}, \"seed\": {\"type\": \"integer\"}},"
                           " \"required\": [\"dice\"]}}";

/* Called on a thread of its own, of several calls at once. */
static void roll_dice(void *userdata, agent_tool_call_t *call)
{
    double dice = 0, seed = 1;
    unsigned state;
    int i, sum = 0;
    char text[64];

    (void)userdata;
    /* The arguments were validated: dice is there, seed may be. */
    agent_tool_call_get_number(call, "dice", AGENT_NTS, &dice, NULL);
    agent_tool_call_get_number(call, "seed", AGENT_NTS, &seed, NULL);
    state = (unsigned)(long long)seed;
    for (i = 0; i < (int)dice && i < MOST_DICE; i++) {
        state = state * 1103515245u + 12345u;
        sum += (int)((state >> 16) % 6u) + 1;
    }
    snprintf(text, sizeof text, "%d dice: %d", i, sum);
    agent_tool_call_respond(call, text, AGENT_NTS, NULL);
    agent_tool_call_free(call);
}

/* The hook before_tool_call: its input and its answer are JSON. */
static void limit_dice(void *userdata, agent_hook_call_t *call)
{
    agent_json_t *input = NULL;
    const char *name = "";
    double dice = 0;
    size_t length;
    const char *text = agent_hook_call_input(call, &length);

    (void)userdata;
    agent_json_parse(text, length, &input, NULL);
    agent_json_get_string(input, "/tool_name", AGENT_NTS, &name, &length, NULL);
    agent_json_get_number(input, "/arguments/dice", AGENT_NTS, &dice, NULL);
    if (strcmp(name, "roll_dice") == 0 && dice > MOST_DICE)
        agent_hook_call_respond_json(call, "{\"block\": true, \"reason\": \"at most 100 dice\"}", AGENT_NTS, NULL);
    else
        agent_hook_call_respond_json(call, "null", AGENT_NTS, NULL);
    agent_json_free(input);
    agent_hook_call_free(call);
}

agent_status_t agent_plugin_register(const agent_plugin_host_t *host, agent_t *agent, agent_error_t **error)
{
    agent_tool_t *tool = NULL;
    agent_status_t rc;

    agent_plugin_host = host;
    rc = agent_tool_new(TOOL, AGENT_NTS, roll_dice, NULL, NULL, &tool, error);
    if (rc == AGENT_OK)
        rc = agent_add_tool(agent, tool, error);
    if (rc == AGENT_OK)
        rc = agent_set_hook(agent, AGENT_HOOK_BEFORE_TOOL_CALL, limit_dice, NULL, NULL, error);
    agent_tool_free(tool);
    return rc;
}
