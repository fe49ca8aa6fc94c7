/*
 * A conversation with a tool: calculator [--events] MODEL [BASE_URL [SECOND_MODEL]]
 *
 * A model is provider/id, or a JSON object. SECOND_MODEL takes over for the second prompt. --events prints each
 * event's JSON instead of the transcript.
 */

#include <agent.h>
#include <stdio.h>
#include <string.h>

static const char CALCULATOR[] =
    "{\"name\": \"calculator\","
    " \"description\": \"Perform basic arithmetic operations\","
    " \"parameters\": {"
    "   \"type\": \"object\","
    "   \"properties\": {"
    "     \"operation\": {\"type\": \"string\", \"enum\": [\"add\", \"subtract\", \"multiply\", \"divide\"]},"
    "     \"a\": {\"type\": \"number\"},"
    "     \"b\": {\"type\": \"number\"}"
    "   },"
    "   \"required\": [\"operation\", \"a\", \"b\"]"
    " }}";

/* The tool: arithmetic on two numbers. Returns NULL or an error text. */
static const char *compute(const char *operation, double a, double b, double *result)
{
    if (strcmp(operation, "add") == 0)
        *result = a + b;
    else if (strcmp(operation, "subtract") == 0)
        *result = a - b;
    else if (strcmp(operation, "multiply") == 0)
        *result = a * b;
    else if (strcmp(operation, "divide") != 0)
        return "unknown operation";
    else if (b == 0)
        return "division by zero";
    else
        *result = a / b;
    return NULL;
}

/* Called for each call of the tool, on its own thread. We own the call: respond and free it. */
static void calculate(void *userdata, agent_tool_call_t *call)
{
    const char *operation, *problem;
    double a, b, result = 0;
    agent_json_t *answer = NULL;
    agent_error_t *error = NULL;

    (void)userdata;
    if (agent_tool_call_get_string(call, "operation", AGENT_NTS, &operation, NULL, &error) < 0
        || agent_tool_call_get_number(call, "a", AGENT_NTS, &a, &error) < 0
        || agent_tool_call_get_number(call, "b", AGENT_NTS, &b, &error) < 0) {
        agent_tool_call_fail(call, agent_error_message(error, NULL), AGENT_NTS, NULL);
    } else if ((problem = compute(operation, a, b, &result)) != NULL) {
        agent_tool_call_fail(call, problem, AGENT_NTS, NULL);
    } else if (agent_json_parse("{}", AGENT_NTS, &answer, &error) < 0
               || agent_json_set_number(answer, "/result", AGENT_NTS, result, &error) < 0) { /* JSON has no infinity */
        agent_tool_call_fail(call, agent_error_message(error, NULL), AGENT_NTS, NULL);
    } else {
        agent_tool_call_respond_json(call, agent_json_text(answer, NULL), AGENT_NTS, NULL);
    }
    agent_error_free(error);
    agent_json_free(answer);
    agent_tool_call_free(call);
}

static void show(const agent_event_t *event)
{
    switch (agent_event_kind(event)) {
    case AGENT_EVENT_TURN_START:
        printf("[turn %u]\n", (unsigned)agent_event_turn(event));
        break;
    case AGENT_EVENT_TEXT_DELTA:
        fputs(agent_event_text(event, NULL), stdout);
        fflush(stdout);
        break;
    case AGENT_EVENT_TEXT_END:
        putchar('\n');
        break;
    case AGENT_EVENT_TOOL_EXECUTION_START:
        printf("[calling %s %s]\n", agent_event_tool_name(event, NULL), agent_event_arguments(event, NULL));
        break;
    case AGENT_EVENT_TOOL_EXECUTION_END:
        printf("[%s -> %s]\n", agent_event_tool_name(event, NULL), agent_event_text(event, NULL));
        break;
    case AGENT_EVENT_AGENT_END:
        printf("[%s]\n", agent_outcome_name(agent_event_outcome(event)));
        break;
    }
}

static void print_error(const agent_error_t *error)
{
    fprintf(stderr, "%s: %s\n", agent_status_name(agent_error_status(error)), agent_error_message(error, NULL));
}

/* Runs one prompt and prints its events. Returns false if the run failed. */
static bool ask(agent_t *agent, const char *prompt, bool as_events)
{
    agent_run_t *run = NULL;
    agent_error_t *error = NULL;
    const agent_event_t *event;
    bool failed;

    if (agent_prompt(agent, prompt, AGENT_NTS, &run, &error) < 0) {
        print_error(error);
        agent_error_free(error);
        return false;
    }
    if (!as_events)
        printf("User: %s\n", prompt);
    while (agent_run_next(run, -1, &event, &error) == AGENT_OK) {
        if (as_events)
            puts(agent_event_json(event, NULL));
        else
            show(event);
    }
    failed = error || agent_run_outcome(run) == AGENT_OUTCOME_ERROR;
    if (failed)
        print_error(error ? error : agent_run_error(run));
    agent_error_free(error);
    agent_run_free(run);
    return !failed;
}

static void print_roles(agent_t *agent)
{
    agent_messages_t *messages = NULL;
    size_t i;

    if (agent_messages(agent, &messages, NULL) < 0)
        return;
    fputs("Conversation:", stdout);
    for (i = 0; i < agent_messages_count(messages); i++)
        printf("%s %s", i ? "," : "", agent_messages_role(messages, i, NULL));
    putchar('\n');
    agent_messages_free(messages);
}

int main(int argc, char **argv)
{
    bool as_events = argc > 1 && strcmp(argv[1], "--events") == 0;
    int first = as_events ? 2 : 1;
    const char *model = argv[first], *base_url = model ? argv[first + 1] : NULL;
    const char *second_model = base_url ? argv[first + 2] : NULL;
    agent_runtime_t *runtime = NULL;
    agent_tool_t *tool = NULL;
    agent_t *agent = NULL;
    agent_error_t *error = NULL;
    bool ok = false;

    if (!model || model[0] == '-') {
        bool help = model && strcmp(model, "--help") == 0;
        fputs("usage: calculator [--events] MODEL [BASE_URL [SECOND_MODEL]]\n", help ? stdout : stderr);
        return help ? 0 : 2;
    }
    if (agent_runtime_new(NULL, 0, &runtime, &error) < 0
        || agent_new(runtime, model, AGENT_NTS, &agent, &error) < 0
        || agent_tool_new(CALCULATOR, AGENT_NTS, calculate, NULL, NULL, &tool, &error) < 0
        || agent_add_tool(agent, tool, &error) < 0
        || (base_url && agent_set_base_url(agent, base_url, AGENT_NTS, &error) < 0)
        || (base_url && agent_set_json(agent, "{\"temperature\": 0}", AGENT_NTS, &error) < 0))
        print_error(error);
    else
        ok = ask(agent, "What is 15 multiplied by 23?", as_events);
    if (ok && second_model && agent_set_model(agent, second_model, AGENT_NTS, &error) < 0) {
        print_error(error);
        ok = false;
    }
    ok = ok && ask(agent, "Now divide that by 5", as_events);
    if (ok && !as_events)
        print_roles(agent);

    agent_error_free(error);
    agent_tool_free(tool);
    agent_free(agent);
    agent_runtime_shutdown(runtime, 5000, NULL);
    agent_runtime_free(runtime);
    return ok ? 0 : 1;
}
