/*
 * Drives a run by hand: the program's own HTTP, timers and tool. step [MODEL [BASE_URL]]
 *
 * Its HTTP is the simplest there is: one request after another, over sockets and without TLS, so the address begins with http://.
 * curl_multi.c has two runs at a time, with libcurl.
 */

#define _POSIX_C_SOURCE 200112L /* getaddrinfo, nanosleep */

#include <agent.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static agent_loop_t *loop;
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

static int64_t integer_at(const agent_json_t *json, const char *pointer)
{
    int64_t number = -1;

    agent_json_get_integer(json, pointer, AGENT_NTS, &number, NULL);
    return number;
}

static agent_json_t *parse(const char *text)
{
    agent_json_t *json;

    check(agent_json_parse(text, AGENT_NTS, &json, &error));
    return json;
}

static int64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void sleep_until(int64_t at_ms)
{
    int64_t ms = at_ms - now_ms();
    struct timespec pause;

    pause.tv_sec = ms > 0 ? (time_t)(ms / 1000) : 0;
    pause.tv_nsec = ms > 0 ? (long)(ms % 1000) * 1000000 : 0;
    nanosleep(&pause, NULL);
}

/* Hands in an input of this type about a call, and releases it. */
static void hand_in(agent_json_t *input, const char *type, int64_t call)
{
    check(agent_json_set_string(input, "/type", AGENT_NTS, type, AGENT_NTS, &error));
    check(agent_json_set_integer(input, "/call", AGENT_NTS, call, &error));
    check(agent_loop_handle(loop, agent_json_text(input, NULL), AGENT_NTS, &error));
    agent_json_free(input);
}

/* ---- HTTP --------------------------------------------------------------------------------------------------------- */

/* Connects to the host of an address; `*path` is where its path begins. NULL if that fails. */
static FILE *connect_to(const char *url, char *authority, size_t room, const char **path)
{
    struct addrinfo wanted, *found = NULL;
    char host[256], *port;
    size_t length;
    int descriptor;

    if (strncmp(url, "http://", 7) != 0)
        return NULL;
    length = strcspn(url + 7, "/");
    *path = url + 7 + length;
    if (length >= room || length >= sizeof host)
        return NULL;
    sprintf(authority, "%.*s", (int)length, url + 7);
    strcpy(host, authority);
    port = strrchr(host, ':');
    if (port)
        *port++ = '\0';
    memset(&wanted, 0, sizeof wanted);
    wanted.ai_socktype = SOCK_STREAM;
    if (getaddrinfo(host, port ? port : "80", &wanted, &found) != 0)
        return NULL;
    descriptor = socket(found->ai_family, found->ai_socktype, found->ai_protocol);
    if (descriptor >= 0 && connect(descriptor, found->ai_addr, found->ai_addrlen) != 0) {
        close(descriptor);
        descriptor = -1;
    }
    freeaddrinfo(found);
    return descriptor >= 0 ? fdopen(descriptor, "r+") : NULL;
}

static void write_request(FILE *server, const agent_json_t *action, const char *authority, const char *path)
{
    const agent_json_t *headers = agent_json_get(action, "/headers", AGENT_NTS);
    const agent_json_t *variables = agent_json_get(action, "/auth/variables", AGENT_NTS);
    const char *body, *key = NULL;
    size_t length = 0, i;

    check(agent_json_get_string(action, "/body", AGENT_NTS, &body, &length, &error));
    for (i = 0; i < agent_json_count(variables) && !(key && key[0]); i++)
        key = getenv(string_at(agent_json_at(variables, i), ""));
    /* The body of an answer to HTTP/1.0 ends with its connection. */
    fprintf(server, "%s %s HTTP/1.0\r\nhost: %s\r\ncontent-length: %lu\r\n", string_at(action, "/method"), path, authority,
            (unsigned long)length);
    for (i = 0; i < agent_json_count(headers); i++)
        fprintf(server, "%s: %s\r\n", agent_json_key(headers, i, NULL), string_at(agent_json_at(headers, i), ""));
    if (key && key[0])
        fprintf(server, "%s: %s%s\r\n", string_at(action, "/auth/header"), string_at(action, "/auth/prefix"), key);
    fputs("\r\n", server);
    fwrite(body, 1, length, server);
    fflush(server);
}

/* Reads the head of a response; false if there is none. */
static bool read_head(FILE *server, agent_json_t *head)
{
    char line[4096], pointer[256];
    int status;

    check(agent_json_set_json(head, "/headers", AGENT_NTS, "{}", AGENT_NTS, &error));
    if (!fgets(line, sizeof line, server) || sscanf(line, "HTTP/%*s %d", &status) != 1)
        return false;
    check(agent_json_set_integer(head, "/status", AGENT_NTS, status, &error));
    while (fgets(line, sizeof line, server) && line[0] != '\r' && line[0] != '\n') {
        char *value = strchr(line, ':');
        size_t name = value ? (size_t)(value - line) : 0;

        if (name == 0 || name + sizeof "/headers/" > sizeof pointer)
            continue;
        value += 1 + strspn(value + 1, " ");
        value[strcspn(value, "\r\n")] = '\0';
        sprintf(pointer, "/headers/%.*s", (int)name, line);
        check(agent_json_set_string(head, pointer, AGENT_NTS, value, AGENT_NTS, &error));
    }
    return true;
}

/* Sends a request of the loop, and hands in the response as it comes. */
static void send_request(const agent_json_t *action)
{
    int64_t call = integer_at(action, "/call");
    agent_json_t *head = parse("{}");
    char bytes[4096], authority[256];
    const char *path;
    FILE *server = connect_to(string_at(action, "/url"), authority, sizeof authority, &path);
    size_t length;

    if (server)
        write_request(server, action, authority, path);
    if (server && read_head(server, head)) {
        hand_in(head, "model_response", call);
        while ((length = fread(bytes, 1, sizeof bytes, server)) > 0)
            check(agent_loop_model_bytes(loop, (uint32_t)call, bytes, length, &error));
        hand_in(parse("{}"), "model_end", call);
    } else {
        agent_json_free(head);
        hand_in(parse("{\"error\": {\"kind\": \"connection\", \"message\": \"the server is not reached\"}}"), "model_end", call);
    }
    if (server)
        fclose(server);
}

/* ---- the run ------------------------------------------------------------------------------------------------------ */

/* The tool; before it runs, the process could end, and another one load the text and go on. */
static void weather(const agent_json_t *action)
{
    int64_t call = integer_at(action, "/call");
    agent_json_t *done = parse("{\"result\": {\"city\": null, \"sky\": \"rain\", \"celsius\": 7}}");
    const agent_json_t *city = agent_json_get(action, "/arguments/city", AGENT_NTS);
    agent_text_t *saved;
    size_t length;

    printf("[%s]\n", string_at(action, "/tool_name"));
    check(agent_json_set(done, "/result/city", AGENT_NTS, city, &error));
    check(agent_loop_save(loop, &saved, &error));
    agent_loop_free(loop);
    agent_text_data(saved, &length);
    check(agent_loop_load(agent_text_data(saved, NULL), length, &loop, &error));
    agent_text_free(saved);
    hand_in(done, "tool_done", call);
}

int main(int argc, char **argv)
{
    agent_json_t *options = parse(
        "{\"prompt\": \"Rain in Oslo?\", \"system_prompt\": \"Be brief.\", \"tools\": [{\"name\": \"weather\","
        " \"description\": \"The weather in a city.\", \"parameters\": {\"type\": \"object\","
        " \"properties\": {\"city\": {\"type\": \"string\"}}, \"required\": [\"city\"]}}]}");
    const agent_json_t *action;
    agent_status_t rc;
    int64_t timer_ms = 0;
    int failed = 0;

    check(agent_json_set_string(options, "/model", AGENT_NTS, argc > 1 ? argv[1] : "anthropic/claude-sonnet-4-5", AGENT_NTS,
                                &error));
    if (argc > 2)
        check(agent_json_set_string(options, "/base_url", AGENT_NTS, argv[2], AGENT_NTS, &error));
    check(agent_loop_new(agent_json_text(options, NULL), AGENT_NTS, &loop, &error));
    agent_json_free(options);
    while ((rc = agent_loop_poll(loop, (uint64_t)now_ms(), &action, &error)) != AGENT_DONE) {
        const char *type;

        check(rc);
        if (rc == AGENT_PENDING) {
            sleep_until(timer_ms); /* before a retry: requests and the tool are done where they are asked for */
            continue;
        }
        type = string_at(action, "/type");
        if (strcmp(type, "call_model") == 0)
            send_request(action);
        else if (strcmp(type, "call_tool") == 0)
            weather(action);
        else if (strcmp(type, "event") == 0 && strcmp(string_at(action, "/event/type"), "text_delta") == 0)
            fputs(string_at(action, "/event/delta"), stdout);
        else if (strcmp(type, "set_timer") == 0)
            timer_ms = integer_at(action, "/at_ms");
        else if (strcmp(type, "done") == 0 && agent_json_get(action, "/result/error", AGENT_NTS)) {
            fprintf(stderr, "%s\n", string_at(action, "/result/error/message"));
            failed = 1;
        } else if (strcmp(type, "done") == 0)
            printf("\n%ld tokens\n", (long)integer_at(action, "/result/usage/total"));
    }
    agent_loop_free(loop);
    agent_error_free(error);
    return failed;
}
