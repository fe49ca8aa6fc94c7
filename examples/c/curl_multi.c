/*
 * Two runs in the program's own event loop, with libcurl's multi interface for the HTTP: no thread and no runtime of the
 * library. curl_multi [MODEL [BASE_URL]]
 *
 *     cc curl_multi.c $(pkg-config --cflags --libs libagent libcurl)
 */

#define _POSIX_C_SOURCE 200112L /* clock_gettime */

#include <agent.h>
#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define RUNS 2
#define FORMAT "{\"prompt\": \"Rain in Oslo?\", \"system_prompt\": \"Be brief.\", \"tools\": [{\"name\": \"weather\"," \
    " \"description\": \"The weather in a city.\", \"parameters\": {\"type\": \"object\"," \
    " \"properties\": {\"city\": {\"type\": \"string\"}}, \"required\": [\"city\"]}}]}"

/* A run, and what it has asked for. It has one model call at a time. */
typedef struct {
    int number;
    agent_loop_t *loop;
    int64_t timer_ms; /* -1 for none */
    bool is_over;

    CURL *request; /* NULL while no model is called */
    uint32_t call;
    char *body;
    struct curl_slist *headers;
    agent_json_t *head; /* the head of the response, until it was handed in */
} run_t;

static CURLM *multi;
static agent_error_t *error;

/* Ends the program if a call failed. */
static void check(agent_status_t status)
{
    if (status >= 0)
        return;
    fprintf(stderr, "%s\n", agent_error_message(error, NULL));
    exit(1);
}

static const char *string_at(const agent_json_t *json, const char *pointer)
{
    const char *text = "";

    agent_json_get_string(json, pointer, AGENT_NTS, &text, NULL, NULL);
    return text;
}

static int64_t integer_at(const agent_json_t *json, const char *pointer, int64_t otherwise)
{
    agent_json_get_integer(json, pointer, AGENT_NTS, &otherwise, NULL);
    return otherwise;
}

static int64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* An input of this type, about this call. */
static agent_json_t *new_input(const char *type, int64_t call)
{
    agent_json_t *input;

    check(agent_json_parse("{}", AGENT_NTS, &input, &error));
    check(agent_json_set_string(input, "/type", AGENT_NTS, type, AGENT_NTS, &error));
    check(agent_json_set_integer(input, "/call", AGENT_NTS, call, &error));
    return input;
}

/* Hands an input in, and releases it. */
static void hand_in(run_t *run, agent_json_t *input)
{
    size_t length;
    const char *text = agent_json_text(input, &length);

    check(agent_loop_handle(run->loop, text, length, &error));
    agent_json_free(input);
}

/* ---- a model call over HTTP --------------------------------------------------------------------------------------- */

/* Takes in a line of the response's head. */
static size_t on_header(char *line, size_t one, size_t length, void *userdata)
{
    run_t *run = (run_t *)userdata;
    char *colon = (char *)memchr(line, ':', length), pointer[256];
    size_t end = length, name;

    (void)one;
    while (end > 0 && (line[end - 1] == '\r' || line[end - 1] == '\n'))
        end--;
    name = colon ? (size_t)(colon - line) : 0;
    if (name > 0 && name + sizeof "/headers/" < sizeof pointer && !memchr(line, '/', name)) {
        size_t start = name + 1;

        while (start < end && line[start] == ' ')
            start++;
        sprintf(pointer, "/headers/%.*s", (int)name, line);
        check(agent_json_set_string(run->head, pointer, AGENT_NTS, line + start, end - start, &error));
    }
    return length;
}

/* The head is complete: with the first byte of the body, or at its end. */
static void hand_in_head(run_t *run)
{
    long status = 0;

    if (!run->head)
        return;
    curl_easy_getinfo(run->request, CURLINFO_RESPONSE_CODE, &status);
    check(agent_json_set_integer(run->head, "/status", AGENT_NTS, status, &error));
    hand_in(run, run->head);
    run->head = NULL;
}

/* Takes in bytes of the response's body. */
static size_t on_bytes(char *bytes, size_t one, size_t length, void *userdata)
{
    run_t *run = (run_t *)userdata;

    (void)one;
    hand_in_head(run);
    check(agent_loop_model_bytes(run->loop, run->call, bytes, length, &error));
    return length;
}

static void add_header(run_t *run, const char *name, const char *prefix, const char *value)
{
    char *line = (char *)malloc(strlen(name) + strlen(prefix) + strlen(value) + 3);

    if (!line)
        abort();
    sprintf(line, "%s: %s%s", name, prefix, value);
    run->headers = curl_slist_append(run->headers, line);
    free(line);
}

/* Begins to send a request. libcurl follows no redirects unless that is set, and asks for no compression. */
static void send_request(run_t *run, const agent_json_t *action)
{
    const agent_json_t *headers = agent_json_get(action, "/headers", AGENT_NTS);
    const agent_json_t *variables = agent_json_get(action, "/auth/variables", AGENT_NTS);
    size_t i;

    run->call = (uint32_t)integer_at(action, "/call", 0);
    run->head = new_input("model_response", run->call);
    check(agent_json_set_json(run->head, "/headers", AGENT_NTS, "{}", AGENT_NTS, &error));
    for (i = 0; i < agent_json_count(headers); i++)
        add_header(run, agent_json_key(headers, i, NULL), "", string_at(agent_json_at(headers, i), ""));
    for (i = 0; i < agent_json_count(variables); i++) {
        const char *key = getenv(string_at(agent_json_at(variables, i), ""));

        if (key && key[0]) {
            add_header(run, string_at(action, "/auth/header"), string_at(action, "/auth/prefix"), key);
            break;
        }
    }
    run->body = strcpy((char *)malloc(strlen(string_at(action, "/body")) + 1), string_at(action, "/body"));
    run->request = curl_easy_init();
    curl_easy_setopt(run->request, CURLOPT_URL, string_at(action, "/url"));
    curl_easy_setopt(run->request, CURLOPT_HTTPHEADER, run->headers);
    curl_easy_setopt(run->request, CURLOPT_POSTFIELDS, run->body);
    curl_easy_setopt(run->request, CURLOPT_CONNECTTIMEOUT_MS, (long)integer_at(action, "/connect_timeout_ms", 0));
    curl_easy_setopt(run->request, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(run->request, CURLOPT_HEADERDATA, run);
    curl_easy_setopt(run->request, CURLOPT_WRITEFUNCTION, on_bytes);
    curl_easy_setopt(run->request, CURLOPT_WRITEDATA, run);
    curl_easy_setopt(run->request, CURLOPT_PRIVATE, run);
    curl_multi_add_handle(multi, run->request);
}

/* The request is over, or no longer wanted. */
static void close_request(run_t *run)
{
    if (!run->request)
        return;
    curl_multi_remove_handle(multi, run->request);
    curl_easy_cleanup(run->request);
    curl_slist_free_all(run->headers);
    free(run->body);
    agent_json_free(run->head);
    run->request = NULL;
    run->headers = NULL;
    run->body = NULL;
    run->head = NULL;
}

/* The response has ended, or broke. */
static void on_end(run_t *run, CURLcode code)
{
    agent_json_t *end = new_input("model_end", run->call);

    if (code == CURLE_OK)
        hand_in_head(run);
    else {
        const char *kind = run->head ? "connection" : "stream_truncated";

        check(agent_json_set_json(end, "/error", AGENT_NTS, "{}", AGENT_NTS, &error));
        check(agent_json_set_string(end, "/error/kind", AGENT_NTS, kind, AGENT_NTS, &error));
        check(agent_json_set_string(end, "/error/message", AGENT_NTS, curl_easy_strerror(code), AGENT_NTS, &error));
    }
    close_request(run);
    hand_in(run, end);
}

/* ---- the runs ----------------------------------------------------------------------------------------------------- */

/* The tool answers at once. */
static void weather(run_t *run, const agent_json_t *action)
{
    agent_json_t *done = new_input("tool_done", integer_at(action, "/call", 0));
    const agent_json_t *arguments = agent_json_get(action, "/arguments", AGENT_NTS);

    check(agent_json_set(done, "/result", AGENT_NTS, arguments, &error));
    check(agent_json_set_string(done, "/result/sky", AGENT_NTS, "rain", AGENT_NTS, &error));
    hand_in(run, done);
}

static void carry_out(run_t *run, const agent_json_t *action)
{
    const char *type = string_at(action, "/type");

    if (strcmp(type, "call_model") == 0)
        send_request(run, action);
    else if (strcmp(type, "cancel_model") == 0)
        close_request(run);
    else if (strcmp(type, "call_tool") == 0)
        weather(run, action);
    else if (strcmp(type, "set_timer") == 0)
        run->timer_ms = integer_at(action, "/at_ms", -1);
    else if (strcmp(type, "done") == 0) {
        const agent_json_t *result = agent_json_get(action, "/result", AGENT_NTS);

        run->is_over = true;
        printf("run %d: %s%s (%s)\n", run->number, string_at(result, "/text"), string_at(result, "/error/message"),
               string_at(result, "/outcome"));
    }
}

/* Lets a run go on until it waits for something. */
static void step(run_t *run)
{
    const agent_json_t *action;
    agent_status_t rc;

    while ((rc = agent_loop_poll(run->loop, (uint64_t)now_ms(), &action, &error)) == AGENT_OK)
        carry_out(run, action);
    check(rc);
}

static void begin(run_t *run, int number, const char *model, const char *base_url)
{
    agent_json_t *options;

    memset(run, 0, sizeof *run);
    run->number = number;
    run->timer_ms = -1;
    check(agent_json_parse(FORMAT, AGENT_NTS, &options, &error));
    check(agent_json_set_string(options, "/model", AGENT_NTS, model, AGENT_NTS, &error));
    if (base_url)
        check(agent_json_set_string(options, "/base_url", AGENT_NTS, base_url, AGENT_NTS, &error));
    check(agent_loop_new(agent_json_text(options, NULL), AGENT_NTS, &run->loop, &error));
    agent_json_free(options);
}

int main(int argc, char **argv)
{
    run_t runs[RUNS];
    int i, active = RUNS, transfers, left;
    CURLMsg *message;

    curl_global_init(CURL_GLOBAL_DEFAULT);
    multi = curl_multi_init();
    for (i = 0; i < RUNS; i++)
        begin(&runs[i], i + 1, argc > 1 ? argv[1] : "anthropic/claude-sonnet-4-5", argc > 2 ? argv[2] : NULL);
    while (active > 0) {
        int64_t wait_ms = 60000;

        /* Whatever came for a run may let it go on, and so may its timer. */
        for (i = active = 0; i < RUNS; i++) {
            step(&runs[i]);
            active += !runs[i].is_over;
            if (!runs[i].is_over && runs[i].timer_ms >= 0 && runs[i].timer_ms - now_ms() < wait_ms)
                wait_ms = runs[i].timer_ms > now_ms() ? runs[i].timer_ms - now_ms() : 0;
        }
        if (active == 0)
            break;
        curl_multi_perform(multi, &transfers);
        while ((message = curl_multi_info_read(multi, &left)) != NULL) {
            char *run;

            curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &run);
            on_end((run_t *)run, message->data.result);
            wait_ms = 0;
        }
        curl_multi_poll(multi, NULL, 0, (int)wait_ms, NULL);
    }
    for (i = 0; i < RUNS; i++) {
        close_request(&runs[i]);
        agent_loop_free(runs[i].loop);
    }
    curl_multi_cleanup(multi);
    curl_global_cleanup();
    agent_error_free(error);
    return 0;
}
