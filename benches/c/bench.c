/* bench-c: the engine through its C API. The command line is that of benches/README.md. */

#include <agent.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static const char CALCULATOR[] =
    "{\"name\":\"calculator\",\"description\":\"Perform basic arithmetic operations.\",\"parameters\":{\"type\":\"object\","
    "\"properties\":{\"operation\":{\"type\":\"string\"},\"a\":{\"type\":\"number\"},\"b\":{\"type\":\"number\"}},"
    "\"required\":[\"operation\",\"a\",\"b\"]}}";
static const char ECHO[] =
    "{\"name\":\"echo\",\"description\":\"Says how long a text is.\",\"parameters\":{\"type\":\"object\","
    "\"properties\":{\"text\":{\"type\":\"string\"}},\"required\":[\"text\"]}}";
static const char PROMPT[] = "What is 15 multiplied by 23?";
static const char ANSWER[] = "15 multiplied by 23 equals 345.";

static agent_runtime_t *runtime;
static agent_tool_t *tools[2];
static const char *url;
/* The model as a text or as JSON, around its id. */
static const char *before_id, *behind_id;
/* Messages from which a run resumes, or NULL. */
static agent_messages_t *history;

static void die(const char *what, agent_error_t *error)
{
    fprintf(stderr, "%s: %s\n", what, error ? agent_error_message(error, NULL) : "failed");
    exit(1);
}

static void calculate(void *userdata, agent_tool_call_t *call)
{
    double a = 0, b = 0;
    char json[64];
    (void)userdata;
    if (agent_tool_call_get_number(call, "a", AGENT_NTS, &a, NULL) == AGENT_OK
        && agent_tool_call_get_number(call, "b", AGENT_NTS, &b, NULL) == AGENT_OK) {
        snprintf(json, sizeof json, "{\"result\":%.0f}", a * b);
        agent_tool_call_respond_json(call, json, AGENT_NTS, NULL);
    }
    agent_tool_call_free(call);
}

static void echo(void *userdata, agent_tool_call_t *call)
{
    const char *text;
    size_t length = 0;
    char answer[64];
    (void)userdata;
    if (agent_tool_call_get_string(call, "text", AGENT_NTS, &text, &length, NULL) == AGENT_OK) {
        snprintf(answer, sizeof answer, "%zu bytes", length);
        agent_tool_call_respond(call, answer, AGENT_NTS, NULL);
    }
    agent_tool_call_free(call);
}

/* A run under way, with an agent of its own. */
typedef struct {
    agent_t *agent;
    agent_run_t *run;
} job_t;

static uint64_t cpu_us(void)
{
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return (uint64_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000
        + (uint64_t)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

/* CPU time at the first delta, and at the end of each turn of the run that finish() took last. */
static uint64_t first_us, turn_us[4096];
static int turns;

static job_t start(const char *model)
{
    char name[128];
    job_t job = {0};
    agent_error_t *error = NULL;
    snprintf(name, sizeof name, "%s%s%s", before_id, model, behind_id);
    if (agent_new(runtime, name, AGENT_NTS, &job.agent, &error) < 0
        || agent_set_base_url(job.agent, url, AGENT_NTS, &error) < 0
        || agent_set_json(job.agent, "{\"max_turns\":0}", AGENT_NTS, &error) < 0
        || agent_add_tool(job.agent, tools[0], &error) < 0 || agent_add_tool(job.agent, tools[1], &error) < 0
        || (history ? agent_set_messages(job.agent, history, &error) < 0 || agent_resume(job.agent, &job.run, &error) < 0
                    : agent_prompt(job.agent, PROMPT, AGENT_NTS, &job.run, &error) < 0))
        die("start", error);
    return job;
}

/* Takes events until the run is over (AGENT_DONE), or until there is none within the time (AGENT_PENDING). */
static agent_status_t pull(job_t job, int64_t timeout_ms, uint64_t *deltas, uint64_t *bytes)
{
    const agent_event_t *event;
    agent_error_t *error = NULL;
    agent_status_t rc;
    while ((rc = agent_run_next(job.run, timeout_ms, &event, &error)) == AGENT_OK) {
        int32_t kind = agent_event_kind(event);
        if (kind == AGENT_EVENT_TURN_END && turns < (int)(sizeof turn_us / sizeof *turn_us))
            turn_us[turns++] = cpu_us();
        if (kind == AGENT_EVENT_TEXT_DELTA || kind == AGENT_EVENT_TOOL_CALL_DELTA) {
            size_t length;
            if (!first_us)
                first_us = cpu_us();
            agent_event_text(event, &length);
            *deltas += 1;
            *bytes += length;
        }
    }
    if (rc < 0)
        die("agent_run_next", error);
    return rc;
}

/* Frees a run that is over; 0 when it completed with the right text. */
static int end(job_t job, const char *model)
{
    int wrong = agent_run_outcome(job.run) != AGENT_OUTCOME_COMPLETED;
    if (wrong && agent_run_error(job.run))
        fprintf(stderr, "%s\n", agent_error_message(agent_run_error(job.run), NULL));
    if ((strncmp(model, "calc", 4) == 0 || strncmp(model, "turns", 5) == 0) && strcmp(agent_run_text(job.run, NULL), ANSWER) != 0)
        wrong = 1;
    agent_run_free(job.run);
    agent_free(job.agent);
    return wrong;
}

/* Takes all events; 0 when the run completed with the right text. */
static int finish(job_t job, const char *model, uint64_t *deltas, uint64_t *bytes)
{
    turns = 0;
    pull(job, -1, deltas, bytes);
    return end(job, model);
}

static long status_kb(const char *name)
{
    char line[256];
    long kb = -1;
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, name, strlen(name)) == 0)
            kb = strtol(line + strlen(name), NULL, 10);
    if (file)
        fclose(file);
    return kb;
}

static void stream(const char *model, int repeats)
{
    uint64_t deltas = 0, bytes = 0, last = 0;
    int i;
    if (finish(start(model), model, &deltas, &bytes))
        die("the warm-up", NULL);
    printf("{\"cpu_us\":[");
    for (i = 0; i < repeats; i++) {
        uint64_t before = cpu_us();
        deltas = bytes = 0;
        if (finish(start(model), model, &deltas, &bytes))
            die("a run", NULL);
        printf("%s%" PRIu64, i ? "," : "", cpu_us() - before);
        last = before;
    }
    printf("],\"turn_us\":[");
    for (i = 0; i < turns; last = turn_us[i++])
        printf("%s%" PRIu64, i ? "," : "", turn_us[i] - last);
    printf("],\"deltas\":%" PRIu64 ",\"bytes\":%" PRIu64 "}\n", deltas, bytes);
}

static void first(const char *model)
{
    uint64_t deltas = 0, bytes = 0;
    if (finish(start(model), model, &deltas, &bytes))
        die("the run", NULL);
    printf("{\"first_us\":%" PRIu64 "}\n", first_us);
}

/* The concurrent runs that have become readable: a ring, in which each run is at most once. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t some = PTHREAD_COND_INITIALIZER;
static job_t **readable;
static int capacity, first_readable, waiting, sleeping;

static void on_readable(void *userdata)
{
    int wake;
    pthread_mutex_lock(&lock);
    readable[(first_readable + waiting++) % capacity] = userdata;
    wake = sleeping;
    sleeping = 0;
    pthread_mutex_unlock(&lock);
    /* Once for each sleep, and not under the lock, which the woken thread takes. */
    if (wake)
        pthread_cond_signal(&some);
}

static job_t *next_readable(void)
{
    job_t *job;
    pthread_mutex_lock(&lock);
    while (waiting == 0) {
        sleeping = 1;
        pthread_cond_wait(&some, &lock);
    }
    sleeping = 0;
    job = readable[first_readable];
    first_readable = (first_readable + 1) % capacity;
    waiting--;
    pthread_mutex_unlock(&lock);
    return job;
}

static void concurrent(const char *name, int runs)
{
    job_t *jobs = calloc((size_t)runs, sizeof *jobs);
    agent_error_t *error = NULL;
    uint64_t deltas = 0, bytes = 0, before;
    char model[128];
    int i, active, failures = 0;
    long idle;
    FILE *clear;
    readable = calloc((size_t)runs, sizeof *readable);
    capacity = runs;
    if (!jobs || !readable || finish(start(name), name, &deltas, &bytes))
        die("the warm-up", NULL);
    idle = status_kb("VmRSS:");
    if ((clear = fopen("/proc/self/clear_refs", "w"))) {
        fputs("5", clear);
        fclose(clear);
    }
    snprintf(model, sizeof model, "%s-%d", name, runs);
    before = cpu_us();
    for (i = 0; i < runs; i++) {
        jobs[i] = start(model);
        if (agent_run_set_wakeup(jobs[i].run, on_readable, &jobs[i], NULL, &error) < 0)
            die("agent_run_set_wakeup", error);
    }
    /* As they come: a run whose events nobody takes keeps them in memory. */
    for (active = runs; active > 0;) {
        job_t *job = next_readable();
        if (pull(*job, 0, &deltas, &bytes) == AGENT_DONE) {
            failures += end(*job, model);
            active--;
        }
    }
    free(jobs);
    free(readable);
    printf("{\"cpu_us\":%" PRIu64 ",\"idle_kb\":%ld,\"peak_kb\":%ld,\"runs\":%d,\"failures\":%d}\n", cpu_us() - before, idle,
        status_kb("VmHWM:"), runs, failures);
}

static agent_messages_t *messages_of(const char *path)
{
    agent_messages_t *messages = NULL;
    agent_error_t *error = NULL;
    char *json = malloc(1 << 24);
    size_t length;
    FILE *file = fopen(path, "rb");
    if (!json || !file)
        die(path, NULL);
    length = fread(json, 1, 1 << 24, file);
    fclose(file);
    if (agent_messages_from_json(json, length, &messages, &error) < 0)
        die(path, error);
    free(json);
    return messages;
}

int main(int argc, char **argv)
{
    const char *model = NULL, *format = "", *past = NULL;
    agent_error_t *error = NULL;
    int repeats = 0, runs = 0, i;
    for (i = 2; i + 1 < argc; i += 2) {
        if (!strcmp(argv[i], "--url")) url = argv[i + 1];
        else if (!strcmp(argv[i], "--format")) format = argv[i + 1];
        else if (!strcmp(argv[i], "--model")) model = argv[i + 1];
        else if (!strcmp(argv[i], "--history")) past = argv[i + 1];
        else if (!strcmp(argv[i], "--repeats")) repeats = atoi(argv[i + 1]);
        else if (!strcmp(argv[i], "--runs")) runs = atoi(argv[i + 1]);
    }
    behind_id = "";
    if (!strcmp(format, "anthropic")) before_id = "anthropic/";
    else if (!strcmp(format, "chat")) before_id = "openai/";
    else if (!strcmp(format, "gemini")) before_id = "google/";
    else if (!strcmp(format, "responses")) {
        /* At another address than its own, openai is Chat. */
        before_id = "{\"provider\":\"openai\",\"protocol\":\"openai_responses\",\"id\":\"";
        behind_id = "\"}";
    }
    if (argc < 2 || !url || !before_id) {
        fprintf(stderr, "usage: bench-c stream|concurrent|start --url URL --format FORMAT …; see benches/README.md\n");
        return 1;
    }
    if (agent_runtime_new(NULL, 0, &runtime, &error) < 0
        || agent_tool_new(CALCULATOR, AGENT_NTS, calculate, NULL, NULL, &tools[0], &error) < 0
        || agent_tool_new(ECHO, AGENT_NTS, echo, NULL, NULL, &tools[1], &error) < 0)
        die("set-up", error);
    if (past)
        history = messages_of(past);
    if (!strcmp(argv[1], "stream") && model && repeats > 0)
        stream(model, repeats);
    else if (!strcmp(argv[1], "concurrent") && runs > 0)
        concurrent(model ? model : "calc", runs);
    else if (!strcmp(argv[1], "start") && model)
        first(model);
    else
        die(argv[1], NULL);
    agent_messages_free(history);
    agent_tool_free(tools[0]);
    agent_tool_free(tools[1]);
    agent_runtime_shutdown(runtime, 5000, NULL);
    agent_runtime_free(runtime);
    return 0;
}
