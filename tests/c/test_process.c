/*
 * What the library does to the process that it is in: signals and threads.
 *
 * RESET_PORTS has the ports of reset_server.py, and RESET_CA its authority. Called with an argument, the program plays the part
 * of a process to which the system gives no threads.
 */

#include <dirent.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support.h"

/* ---- writes to connections that are reset ------------------------------------------------------------------------------- */

#define REQUEST_BYTES 5000000

static bool is_under_valgrind(void)
{
    const char *preloaded = getenv("LD_PRELOAD");

    return preloaded && strstr(preloaded, "vgpreload");
}

/* Prompts with a long text. The run fails; what counts is that this process goes on. */
static void prompt_and_be_reset(const char *url, const char *options, bool waits)
{
    agent_t *agent = NULL;
    agent_run_t *run = NULL;
    char *text = malloc(REQUEST_BYTES);

    memset(text, 'x', REQUEST_BYTES);
    EXPECT_OK(agent_new(runtime, url, AGENT_NTS, &agent, &error));
    EXPECT_OK(agent_set_json(agent, options, AGENT_NTS, &error));
    EXPECT_OK(agent_prompt(agent, text, REQUEST_BYTES, &run, &error));
    if (waits)
        EXPECT_OK(agent_run_wait(run, -1, &error));
    else
        read_out(run);
    EXPECT(agent_run_outcome(run) == AGENT_OUTCOME_ERROR);
    EXPECT(agent_error_status(agent_run_error(run)) == AGENT_CONNECTION);
    agent_run_free(run);
    agent_free(agent);
    free(text);
}

static void survive_resets(const char *scheme, int port)
{
    char model[256], options[512];
    int i, count = is_under_valgrind() ? 4 : 60;
    struct sigaction of_pipe;

    CHECK(sigaction(SIGPIPE, NULL, &of_pipe) == 0);
    CHECK(of_pipe.sa_handler == SIG_DFL);
    sprintf(model, "{\"provider\": \"openai\", \"id\": \"tiny\", \"base_url\": \"%s://localhost:%d\"}", scheme, port);
    sprintf(options, "{\"max_retries\": 0, \"api_key\": \"k\", \"network\": {\"proxy\": false, \"resolve\": "
                     "{\"localhost\": \"127.0.0.1\"}%s%s%s}}",
            port && strcmp(scheme, "https") == 0 ? ", \"ca_file\": \"" : "",
            strcmp(scheme, "https") == 0 ? getenv("RESET_CA") : "", strcmp(scheme, "https") == 0 ? "\"" : "");
    for (i = 0; i < count && check_ok; i++)
        /* the work is done by this thread, or by the library's */
        prompt_and_be_reset(model, options, i % 2);
}

static int reset_port(int place)
{
    const char *ports = getenv("RESET_PORTS");
    int plain = 0, tls = 0;

    if (!ports || sscanf(ports, "%d %d", &plain, &tls) != 2)
        return 0;
    return place ? tls : plain;
}

static void found_e23_a_reset_in_a_request_never_kills_the_process(void)
{
    survive_resets("http", reset_port(0));
}

static void found_e23_a_reset_in_a_request_over_tls_never_kills_the_process(void)
{
    survive_resets("https", reset_port(1));
}

/* ---- signals on the library's threads ----------------------------------------------------------------------------------- */

static pthread_t main_thread;
static volatile sig_atomic_t handled, handled_elsewhere;

static void count_signal(int signal)
{
    (void)signal;
    if (pthread_equal(pthread_self(), main_thread))
        handled++;
    else
        handled_elsewhere++;
}

/* Answers when the second gate is raised by someone else; raises the first when it begins. */
static void held(void *userdata, agent_tool_call_t *call)
{
    gate_t *gates = userdata;

    gate_raise(&gates[0]);
    gate_wait(&gates[1], 1);
    agent_tool_call_respond(call, "ok", AGENT_NTS, NULL);
    agent_tool_call_free(call);
}

#ifdef __linux__
/* The threads of this process, but for this one, that do not block a signal. */
static int threads_that_take(int signal)
{
    DIR *tasks = opendir("/proc/self/task");
    struct dirent *entry;
    int count = 0;

    while (tasks && (entry = readdir(tasks))) {
        char path[300], line[256];
        unsigned long long blocked = 0;
        FILE *status;

        if (atoi(entry->d_name) == 0 || atoi(entry->d_name) == (int)getpid())
            continue;
        sprintf(path, "/proc/self/task/%s/status", entry->d_name);
        status = fopen(path, "r");
        /* one that has ended meanwhile takes none */
        if (!status)
            continue;
        while (fgets(line, sizeof line, status))
            if (sscanf(line, "SigBlk: %llx", &blocked) == 1 && !(blocked >> (signal - 1) & 1))
                count++;
        fclose(status);
    }
    if (tasks)
        closedir(tasks);
    return count;
}
#endif

static void found_e22_signals_are_handled_on_the_programs_threads(void)
{
    agent_runtime_t *kept = runtime;
    struct sigaction action, before;
    sigset_t usr1, mask;
    int i, round;

    main_thread = pthread_self();
    memset(&action, 0, sizeof action);
    action.sa_handler = count_signal;
    CHECK(sigaction(SIGUSR1, &action, &before) == 0);
    sigemptyset(&usr1);
    sigaddset(&usr1, SIGUSR1);
    for (round = 0; round < 2; round++) {
        CHECK_OK(agent_runtime_new(round ? "{\"threads\": 2}" : NULL, AGENT_NTS, &runtime, &error));
        for (i = 0; i < 10; i++) {
            gate_t gates[2] = {GATE, GATE};
            agent_t *agent = with_tool(SCRIPTED(CALLS("tool", "{}") ", " SAYS("Done.")), held, gates);
            agent_run_t *run = NULL;

            CHECK_OK(agent_prompt(agent, "Go.", AGENT_NTS, &run, &error));
            gate_wait(&gates[0], 1);
#ifdef __linux__
            EXPECT(threads_that_take(SIGUSR1) == 0);
            EXPECT(threads_that_take(SIGTERM) == 0);
            EXPECT(threads_that_take(SIGPIPE) == 0);
            EXPECT(threads_that_take(SIGSEGV) > 0);
#endif
            /* only the library's threads could handle it now */
            CHECK(pthread_sigmask(SIG_BLOCK, &usr1, &mask) == 0);
            handled = handled_elsewhere = 0;
            CHECK(kill(getpid(), SIGUSR1) == 0);
            gate_raise(&gates[1]);
            read_out(run);
            EXPECT(handled == 0 && handled_elsewhere == 0);
            CHECK(pthread_sigmask(SIG_SETMASK, &mask, NULL) == 0);
            EXPECT(handled == 1 && handled_elsewhere == 0);
            agent_run_free(run);
            agent_free(agent);
        }
        CHECK_OK(agent_runtime_shutdown(runtime, 10000, &error));
        agent_runtime_free(runtime);
    }
    runtime = kept;
    CHECK(sigaction(SIGUSR1, &before, NULL) == 0);
}

/* ---- options of threads ------------------------------------------------------------------------------------------------- */

/* Notes its thread's name and stack, then goes on as `held`. */
static char thread_name[32];
static size_t stack_bytes;

static void look_and_hold(void *userdata, agent_tool_call_t *call)
{
#ifdef __linux__
    pthread_attr_t attributes;
    void *start;

    pthread_getname_np(pthread_self(), thread_name, sizeof thread_name);
    if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
        pthread_attr_getstack(&attributes, &start, &stack_bytes);
        pthread_attr_destroy(&attributes);
    }
#endif
    held(userdata, call);
}

#define CALL_OF(id) CALL(id, "tool", "{}")

static void found_c8_tools_wait_for_one_of_the_threads_that_there_may_be(void)
{
    static gate_t gates[2] = {GATE, GATE};
    agent_runtime_t *kept = runtime;
    agent_t *agent;
    agent_run_t *run = NULL;

    CHECK_OK(agent_runtime_new("{\"max_tool_threads\": 2, \"stack_bytes\": 3145728, \"thread_name\": \"mine\"}", AGENT_NTS,
                               &runtime, &error));
    agent = with_tool(SCRIPTED("[" CALL_OF("a") ", " CALL_OF("b") ", " CALL_OF("c") ", {\"end\": \"tool_use\"}], " SAYS("Done.")),
                      look_and_hold, gates);
    CHECK_OK(agent_prompt(agent, "Go.", AGENT_NTS, &run, &error));
    gate_wait(&gates[0], 2);
    usleep(50000);
    EXPECT(gate_count(&gates[0]) == 2);
    gate_raise(&gates[1]);
    read_out(run);
    EXPECT(gate_count(&gates[0]) == 3);
    EXPECT_TEXT(agent_run_text(run, NULL), "Done.");
#ifdef __linux__
    EXPECT_TEXT(thread_name, "mine");
    EXPECT(stack_bytes >= 3145728 && stack_bytes < 2 * 3145728);
#endif
    agent_run_free(run);
    agent_free(agent);
    CHECK_OK(agent_runtime_shutdown(runtime, 10000, &error));
    agent_runtime_free(runtime);
    runtime = kept;
}

/* ---- a fork while a run is active --------------------------------------------------------------------------------------- */

/* In the child, whether the run ends for who reads it and waits for it there, and says why. A child that waits is killed. */
static bool ends_in_child(agent_run_t *run)
{
    const agent_event_t *event = NULL;
    agent_status_t rc;

    alarm(60);
    do
        rc = agent_run_next(run, -1, &event, NULL);
    while (rc == AGENT_OK);
    return rc == AGENT_DONE && agent_run_next(run, 0, &event, NULL) == AGENT_DONE && agent_run_wait(run, -1, NULL) == AGENT_OK
        && agent_run_outcome(run) == AGENT_OUTCOME_ABORTED
        && strstr(agent_error_message(agent_run_error(run), NULL), "the process forked while it was active");
}

/* Forks, and says how the child has fared. */
static bool fork_and_end(agent_run_t *run)
{
    int status = 0;
    pid_t child = fork();

    if (child == 0) {
        const char *name = ends_in_child(run) ? "true" : "false";

        /* not exit(): the child must not release the parent's memory */
        execlp(name, name, (char *)NULL);
        _exit(2);
    }
    return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

typedef struct {
    /* the tool runs; it may end; the other thread pulls */
    gate_t gates[2], pulls;
    agent_run_t *run;
    bool forks, ended;
} forked_t;

static void held_or_forking(void *userdata, agent_tool_call_t *call)
{
    forked_t *forked = userdata;

    if (forked->forks) {
        gate_wait(&forked->pulls, 1);
        /* so that the other thread blocks; the child ends in any case */
        usleep(20000);
        forked->ended = fork_and_end(forked->run);
    }
    held(forked->gates, call);
}

static void *pull_all(void *userdata)
{
    forked_t *forked = userdata;

    gate_raise(&forked->pulls);
    read_out(forked->run);
    return NULL;
}

/* Forks while the run's tool is at work: here, before any event is read, after some are, or while another thread pulls. */
static void fork_beside_a_tool(int events, bool pulls_elsewhere)
{
    forked_t forked = {{GATE, GATE}, GATE, NULL, false, false};
    agent_t *agent = with_tool(SCRIPTED(CALLS("tool", "{}") ", " SAYS("Done.")), held_or_forking, &forked);
    const agent_event_t *event;
    pthread_t thread;

    CHECK_OK(agent_prompt(agent, "Go.", AGENT_NTS, &forked.run, &error));
    while (events-- > 0)
        CHECK_OK(agent_run_next(forked.run, -1, &event, &error));
    if (pulls_elsewhere) {
        CHECK(pthread_create(&thread, NULL, pull_all, &forked) == 0);
        gate_wait(&forked.pulls, 1);
    }
    gate_wait(&forked.gates[0], 1);
    /* so that the other thread blocks; the child ends in any case */
    usleep(20000);
    EXPECT(fork_and_end(forked.run));
    gate_raise(&forked.gates[1]);
    if (pulls_elsewhere)
        pthread_join(thread, NULL);
    else
        EXPECT_OK(agent_run_wait(forked.run, -1, &error));
    EXPECT_TEXT(agent_run_text(forked.run, NULL), "Done.");
    agent_run_free(forked.run);
    agent_free(agent);
}

static void found_a14_a_run_ends_for_who_reads_it_in_a_forked_child(void)
{
    fork_beside_a_tool(0, false);
    fork_beside_a_tool(5, false);
}

static void found_a14_a_run_that_another_thread_reads_ends_in_a_forked_child(void)
{
    fork_beside_a_tool(0, true);
}

static void found_a14_a_run_ends_in_a_child_that_its_tool_has_forked(void)
{
    forked_t forked = {{GATE, GATE}, GATE, NULL, true, false};
    agent_t *agent = with_tool(SCRIPTED(CALLS("tool", "{}") ", " SAYS("Done.")), held_or_forking, &forked);

    CHECK_OK(agent_prompt(agent, "Go.", AGENT_NTS, &forked.run, &error));
    gate_raise(&forked.gates[1]);
    pull_all(&forked);
    EXPECT(forked.ended);
    EXPECT_TEXT(agent_run_text(forked.run, NULL), "Done.");
    agent_run_free(forked.run);
    agent_free(agent);
}

/* ---- a process without threads ------------------------------------------------------------------------------------------ */

static const char *program;

static void respond_ok(void *userdata, agent_tool_call_t *call)
{
    (void)userdata;
    agent_tool_call_respond(call, "ok", AGENT_NTS, NULL);
    agent_tool_call_free(call);
}

static void *nothing(void *unused)
{
    return unused;
}

static bool limit_threads(rlim_t most)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NPROC, &limit) != 0)
        return false;
    limit.rlim_cur = most < limit.rlim_max ? most : limit.rlim_max;
    return setrlimit(RLIMIT_NPROC, &limit) == 0;
}

static void no_runtime_without_threads(const char *options)
{
    agent_runtime_t *one = NULL;

    EXPECT(agent_runtime_new(options, AGENT_NTS, &one, &error) == AGENT_IO);
    EXPECT(one == NULL);
    EXPECT_CONTAINS(agent_error_message(error, NULL), "the runtime's threads cannot be started: ");
    agent_error_free(error);
    error = NULL;
}

/* From here on the system gives no thread, if it limits this process. Needs a runtime that was made before. */
static bool take_threads_away(void)
{
    pthread_t thread;

    if (!limit_threads(1))
        return false;
    if (pthread_create(&thread, NULL, nothing, NULL) != 0)
        return true;
    pthread_join(thread, NULL);
    return false;
}

static void play_tool_without_threads(void)
{
    agent_t *agent = with_tool(SCRIPTED(CALLS("tool", "{}") ", " SAYS("Done.") ", " SAYS("Again.")), respond_ok, NULL);
    bool is_error = false;
    char *result = tool_result(agent, &is_error);

    EXPECT_CONTAINS(result, "tool could not be called: the system gives no thread: ");
    EXPECT(is_error);
    free(result);
    agent_run_free(play(agent));
    agent_free(agent);
    limit_threads(RLIM_INFINITY);
    agent = with_tool(SCRIPTED(CALLS("tool", "{}") ", " SAYS("Done.")), respond_ok, NULL);
    result = tool_result(agent, &is_error);
    EXPECT_TEXT(result, "ok");
    free(result);
    agent_free(agent);
}

static void play_runtimes_without_threads(void)
{
    agent_runtime_t *one = NULL;
    rlim_t most;

    no_runtime_without_threads(NULL);
    no_runtime_without_threads("{\"threads\": 8}");
    /* a few: an error or a runtime that works, and never a wait */
    for (most = 2; most < 16; most++) {
        limit_threads(most);
        if (agent_runtime_new("{\"threads\": 8}", AGENT_NTS, &one, &error) == AGENT_OK) {
            agent_runtime_shutdown(one, 10000, NULL);
            agent_runtime_free(one);
        } else {
            EXPECT(agent_error_status(error) == AGENT_IO);
            agent_error_free(error);
            error = NULL;
        }
    }
}

/* The part of the child process: its exit status is 0 if all held, 77 if the system does not limit it. */
static int play_without_threads(const char *part)
{
    /* the superuser has no limit; whoever has this number has no other process */
    if (geteuid() == 0 && setuid(54321) != 0)
        return 77;
    check_ok = true;
    if (agent_runtime_new(NULL, 0, &runtime, NULL) != AGENT_OK || !take_threads_away())
        return 77;
    if (strcmp(part, "tool") == 0)
        play_tool_without_threads();
    else
        play_runtimes_without_threads();
    agent_runtime_shutdown(runtime, 10000, NULL);
    agent_runtime_free(runtime);
    return check_ok ? 0 : 1;
}

static void play_in_child(const char *part)
{
    int status = 0;
    pid_t child = fork();

    if (child == 0) {
        execl(program, program, part, (char *)NULL);
        _exit(2);
    }
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77)
        printf("    not played: the system does not limit this process\n");
    else
        CHECK(WEXITSTATUS(status) == 0);
}

static void found_e3_a_call_fails_without_a_thread(void)
{
    play_in_child("tool");
}

static void found_a11_a_runtime_is_refused_without_threads(void)
{
    play_in_child("runtimes");
}

int main(int argc, char **argv)
{
    program = argv[0];
    if (argc > 1)
        return play_without_threads(argv[1]);
    begin();
    if (reset_port(0))
        RUN(found_e23_a_reset_in_a_request_never_kills_the_process);
    if (reset_port(1))
        RUN(found_e23_a_reset_in_a_request_over_tls_never_kills_the_process);
    RUN(found_e22_signals_are_handled_on_the_programs_threads);
    RUN(found_c8_tools_wait_for_one_of_the_threads_that_there_may_be);
    RUN(found_a14_a_run_ends_for_who_reads_it_in_a_forked_child);
    RUN(found_a14_a_run_that_another_thread_reads_ends_in_a_forked_child);
    RUN(found_a14_a_run_ends_in_a_child_that_its_tool_has_forked);
    RUN(found_e3_a_call_fails_without_a_thread);
    RUN(found_a11_a_runtime_is_refused_without_threads);
    return end();
}
