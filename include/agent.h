/*
 * agent.h - libagent: the LLM agent loop as a C library.
 *
 * An agent has a model, tools and a conversation. A prompt starts a run: the model is called, the
 * tools it asks for are executed, it is called again with their results, and so on until the work
 * is done. A run reports everything it does as a stream of events.
 *
 *     #include <agent.h>
 *     #include <stdio.h>
 *
 *     int main(void)
 *     {
 *         agent_runtime_t *runtime = NULL;
 *         agent_t *agent = NULL;
 *         agent_run_t *run = NULL;
 *         const agent_event_t *event;
 *         agent_error_t *error = NULL;
 *         agent_status_t rc;
 *         int failed = 1;
 *
 *         if (agent_runtime_new(NULL, 0, &runtime, &error) < 0
 *             || agent_new(runtime, "openai/gpt-5", AGENT_NTS, &agent, &error) < 0
 *             || agent_prompt(agent, "Hello!", AGENT_NTS, &run, &error) < 0) {
 *             fprintf(stderr, "%s\n", agent_error_message(error, NULL));
 *             return 1;
 *         }
 *         while ((rc = agent_run_next(run, -1, &event, &error)) == AGENT_OK)
 *             if (agent_event_kind(event) == AGENT_EVENT_TEXT_DELTA)
 *                 fputs(agent_event_text(event, NULL), stdout);
 *         if (rc < 0)
 *             fprintf(stderr, "%s\n", agent_error_message(error, NULL));
 *         else if (agent_run_outcome(run) == AGENT_OUTCOME_ERROR)
 *             fprintf(stderr, "%s\n", agent_error_message(agent_run_error(run), NULL));
 *         else
 *             failed = 0;
 *
 *         agent_run_free(run);
 *         agent_free(agent);
 *         agent_runtime_shutdown(runtime, 5000, NULL);
 *         agent_runtime_free(runtime);
 *         agent_error_free(error);
 *         return failed;
 *     }
 *
 *     cc hello.c $(pkg-config --cflags --libs libagent)
 *
 * The essays come first: EVENTS, THREADS, OWNERSHIP, RESULTS, TEXT, THE PROCESS, VERSIONS. Then come
 * the types, and a section for each noun: library, error, text, json, runtime, tool, agent, message,
 * run, stateless run, loop, event, hook, model, store, session, testing. docs/loop.md describes what a
 * run does and when.
 *
 *
 * EVENTS
 *
 * A run emits its events in this order:
 *
 *     agent_start
 *       turn_start                                a turn: one assistant message and its tool calls
 *         message_start message_end               the prompt; in later turns, steering
 *         message_start                           the assistant message begins
 *           text_start text_delta... text_end     a content block; also thinking_..., tool_call_...
 *         message_end                             the complete assistant message
 *         tool_execution_start ..._update ..._end the execution of each tool call
 *         message_start message_end               its result
 *       turn_end
 *       turn_start ...                            while there are tool results or queued messages
 *     agent_end                                   exactly once; no event follows it
 *
 * Events can be read in two ways, also both in one run:
 *
 *   pulled  agent_run_next() returns them one by one. To block in an event loop instead, poll the
 *           descriptor of agent_run_fd(), or have agent_run_set_wakeup() wake the loop. The queue is
 *           bounded: a run whose reader is slow blocks until there is room.
 *   pushed  agent_subscribe() adds a listener, which is called with each event, in order, one event
 *           at a time. The run blocks until the listener returns, or listener_timeout_ms has passed.
 *
 * An active run can be influenced: agent_steer() queues a message that joins it as soon as possible,
 * agent_follow_up() one that continues it when it would have ended, agent_abort() ends it. Hooks
 * (agent_set_hook()) are callbacks that a run calls at fixed points, and whose answers change what it
 * does.
 *
 * Runtime failures (a refused key, a lost connection, a failing tool) are reported through events and
 * the run's outcome. Usage errors (a NULL argument, invalid JSON, a second concurrent run) are
 * returned by the call. Both use the same error kinds, AGENT_AUTHENTICATION to AGENT_PANIC.
 *
 *
 * THREADS
 *
 * Threads and connections belong to a runtime that the program creates; the library has no global
 * state. Every handle may be used on any thread, not only on the one that created it. The entry of each
 * function says from where it may be called:
 *
 *   Threads: any              also while other threads use the same handle
 *   Threads: one at a time    any thread, but no other may use the same handle during the call
 *   Callbacks: all            also destroy and wakeup functions: the call does not block
 *   Callbacks: all but destroy and wakeup
 *                             the call may block
 *   Callbacks: not of the same agent
 *                             the call fails with AGENT_INVALID_STATE in a callback of that agent,
 *                             where it would wait for the run that waits for the callback
 *   Callbacks: not of the same store; not destroy and wakeup
 *                             the call may block; it fails with AGENT_INVALID_STATE in a callback of that
 *                             custom store, which it would wait for
 *
 * Callbacks run on threads of the library:
 *
 *   listener                  the events of one run, one at a time, in order; the run blocks meanwhile,
 *                             for listener_timeout_ms at most
 *   tool                      each call on its own thread, up to max_parallel_tools concurrently
 *   log                       the records of one runtime, one at a time, in order; nothing blocks meanwhile
 *   middleware, next, hook,   each call on its own thread
 *   custom model, custom store
 *   destroy, wakeup           any thread: one of the library's, or one that is inside a call of a
 *                             function of this header
 *
 * A callback may block as long as it likes, except for destroy and wakeup functions. These may run on a
 * worker thread, which they block: they must return quickly and must not call a function that may block.
 * The library holds no lock while it calls one of them.
 *
 * Whether a call is made in a callback is known per thread: a callback that waits for another thread
 * which waits for the same run is a deadlock. No C++ exception, longjmp() or thread exit may leave a
 * callback.
 *
 * The worker thread of a runtime that has one is replaced by the thread that blocks in agent_run_next()
 * while its run is the only active one: an event then needs no switch between threads. This thread needs
 * 1 MiB of stack that the system made, or the worker thread goes on. It does so, too, when no call
 * follows for some milliseconds. Do not cancel (pthread_cancel()) a thread inside the library.
 *
 * Threads of the library are named "agent-loop" and have a stack of 2 MiB, callbacks included; the
 * options "thread_name" and "stack_bytes" of agent_runtime_new() change both. A runtime has the worker
 * threads of its option "threads". For callbacks it creates more when they are needed, for tools up to
 * "max_tool_threads" (4096), which end after 10 seconds without work. If the system gives no thread, the
 * call fails: that of a tool with an error result, and the run goes on.
 *
 *
 * OWNERSHIP
 *
 * All types are opaque. A T * that a function returns, writes through a T **, or passes to a callback
 * is owned by the caller or the callback: release it once with its ..._free(), which accepts NULL, does
 * not block and does no IO. It must be the last call on the handle. A const T * and strings are
 * borrowed; each function states their lifetime.
 *
 * const on a handle means that the call changes nothing a caller can see, now or later. Functions that
 * change an object, start something in it or take something out of it have no const. A const handle may
 * be given to several threads.
 *
 * No call consumes a handle. What the program created may be freed as soon as the program itself no
 * longer needs it: an agent keeps its runtime and its tools, a run its agent. A handle may be freed
 * inside a callback.
 *
 * A callback is given as function, userdata and destroy. userdata is the first argument of each call.
 * destroy (NULL for none) is called with it exactly once, when the function will not be called again:
 * also if the call that received it failed. THREADS says what it may do.
 *
 *
 * RESULTS
 *
 * agent_status_t is AGENT_OK (0), a positive value for success of another kind (AGENT_DONE,
 * AGENT_PENDING, AGENT_QUEUED), or a negative value for a failure. The last parameter of a function that can fail is
 * where the error goes: NULL if it is not wanted; otherwise it receives an owned handle on failure, and
 * is not touched on success. What it held before is not freed: free one error before the variable is
 * passed again. Outputs are written only when the status is AGENT_OK. There is no "last
 * error" to fetch.
 *
 * Each such function lists under "Errors:" the statuses it fails with. AGENT_INVALID_ARGUMENT always
 * includes a required argument that is NULL and text that is not allowed (see TEXT); the entries name
 * further reasons. AGENT_PANIC, a caught bug in the library, is possible everywhere and never listed.
 *
 * Functions that only read have no status: given NULL, or asked for something that does not exist, they
 * return NULL, 0 or false.
 *
 *
 * TEXT
 *
 * Text in is UTF-8, given by pointer and length in bytes, or by AGENT_NTS as the length if it ends with
 * a NUL. The length does not count that NUL: it is strlen(text), or sizeof "literal" - 1. A length of 0 is
 * the empty text, of which no byte is read; it does not mean AGENT_NTS. Text in is copied.
 *
 * AGENT_INVALID_ARGUMENT says so if text in is not UTF-8, if a name, an address or a key contains a
 * control character, if a prompt or a system prompt ends with a NUL, and if JSON contains a NUL (in its
 * strings it is written \u0000). What tools and custom models answer may contain any character.
 *
 * Text out is UTF-8 with a NUL after it; its length, for which NULL may be passed, does not count the
 * NUL. A text of a model, a tool or a user may contain NULs itself: fputs() and printf() stop at the
 * first, fwrite() with the length does not. What decides by a text, such as an approval, takes the length
 * and compares all of it: strcmp() sees only what stands before the first NUL, but the tool gets the
 * whole. The getters of single strings refuse such a text if they are given no place for its length.
 *
 * JSON is text; docs/abi.md describes its objects and their fields. An unpaired surrogate in JSON that
 * the library reads (an escape such as \ud83d alone) becomes U+FFFD. The agent_json_... functions read,
 * build and change JSON, so that a program needs no other parser; no JSON should be searched or put
 * together as text.
 *
 * Times are in milliseconds. A timeout_ms below 0 is no limit, 0 does not block.
 *
 *
 * THE PROCESS
 *
 * Signals. The library installs no signal handlers, and starts no child processes but MCP servers (option
 * mcp). Its threads block all signals but those of faults (SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP,
 * SIGSYS), so a handler runs on the program's own threads. A write to a connection that the server has
 * closed raises no SIGPIPE, whatever its disposition, also where agent_run_next() does the work of a
 * worker thread. No function may be called in a signal handler: wake a thread instead, and have that call
 * agent_abort(). Blocking calls continue after a signal; they do not return early.
 *
 * A child process inherits the signal mask of the thread that starts it: one that is started in a
 * callback has all signals blocked, and neither Ctrl-C nor SIGTERM ends it. Empty the mask for it, with
 * POSIX_SPAWN_SETSIGMASK or with pthread_sigmask() after fork(). For popen() and system(), which have no
 * place for that, unblock the signals in the callback before; they are blocked again when it returns.
 *
 * Out of memory. If memory cannot be allocated, the process is aborted (SIGABRT) with a message on
 * standard error. There is no status for it.
 *
 * Panics. A bug in the library that is caught becomes AGENT_PANIC; its message also goes to standard
 * error. Otherwise the library writes to neither standard output nor standard error.
 *
 * Environment. API keys, proxies and the like are read from environment variables when a run starts or
 * needs them. Do not call setenv() while another thread is inside the library or a run is active.
 *
 * dlclose(). On Linux, Android and the BSDs the library stays loaded for the rest of the process
 * (-z nodelete), because its threads may still run. On other systems do not unload it.
 *
 * fork(). Threads are not copied, so a runtime does not work in a child process: starting a run there
 * fails with AGENT_INVALID_STATE, agent_runtime_shutdown() does nothing and returns AGENT_OK, handles
 * may be freed. An agent whose run was active is idle there, with an error that says so, and messages as
 * far as they were. The run has ended there: agent_run_next() returns AGENT_DONE, agent_run_wait() does not
 * wait, and the outcome is AGENT_OUTCOME_ABORTED; the descriptor of agent_run_fd() is the parent's. Create a
 * new runtime in the child, open stores again with it, and fork while no run is active: a lock that another
 * thread holds at that moment stays locked in the child. Descriptors of the library are closed by exec().
 *
 * exit(). The library registers nothing with atexit(). Threads and callbacks that are active continue
 * while exit() runs handlers and destroys static objects, so call agent_runtime_shutdown() before
 * returning from main().
 *
 *
 * VERSIONS
 *
 * AGENT_VERSION is the version of this header, agent_version() that of the loaded library. What must
 * agree is AGENT_ABI_VERSION, which is also part of the library's file name (libagent.so.0). Within one
 * ABI functions, constants and JSON fields are added, never changed or removed: skip event kinds and
 * statuses that are unknown. "Since" names the version in which a function appeared. docs/abi.md is the
 * complete promise.
 */

#ifndef AGENT_H
#define AGENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * How functions are imported. Define AGENT_STATIC on Windows to link libagent statically, AGENT_BUILD
 * to export the functions from a library that contains it. Elsewhere neither is needed.
 */
#ifndef AGENT_API
#if defined(_WIN32) && defined(AGENT_STATIC)
#define AGENT_API
#elif defined(_WIN32) && defined(AGENT_BUILD)
#define AGENT_API __declspec(dllexport)
#elif defined(_WIN32)
#define AGENT_API __declspec(dllimport)
#elif defined(__GNUC__)
#define AGENT_API __attribute__((visibility("default")))
#else
#define AGENT_API
#endif
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define AGENT_VERSION "0.1.0"
#define AGENT_VERSION_MAJOR 0
#define AGENT_VERSION_MINOR 1
#define AGENT_VERSION_PATCH 0

/** The ABI that a program and the library it loads must share; see docs/abi.md. */
#define AGENT_ABI_VERSION 0

/** As the length of a text: the text ends with a NUL. */
#define AGENT_NTS SIZE_MAX

/* ================================================================================ types ======== */

/** The result of a call: AGENT_OK, a positive AGENT_... or a negative one. See RESULTS. */
typedef int32_t agent_status_t;

enum {
    AGENT_OK = 0,
    /** The run is over and all its events have been read; no message waits for a run; a follower has ended. */
    AGENT_DONE = 1,
    /** Nothing happened within timeout_ms. */
    AGENT_PENDING = 2,
    /** The message was queued while no run was active: it waits for the next one. */
    AGENT_QUEUED = 3,

    /* <generated: error kinds> */

    /* Runtime failures: reported in events, messages and agent_run_error(). */

    /** No key, or the provider refused it (HTTP 401). */
    AGENT_AUTHENTICATION = -1,
    /** The key is valid but not allowed to do this (HTTP 403). */
    AGENT_PERMISSION = -2,
    /** The model or address does not exist (HTTP 404), or the session; in C also a tool, an argument or a listener. */
    AGENT_NOT_FOUND = -3,
    /** The provider rejects the request as malformed (HTTP 400, 409, 422, other 4xx). */
    AGENT_INVALID_REQUEST = -4,
    /** The conversation exceeds the model's context window (HTTP 413, some 400). */
    AGENT_CONTEXT_OVERFLOW = -5,
    /** Too many requests; the same request may succeed later (HTTP 429). */
    AGENT_RATE_LIMITED = -6,
    /** The account's credit or quota is used up (HTTP 402, some 429). */
    AGENT_QUOTA = -7,
    /** The provider has no capacity now (HTTP 503, 529). */
    AGENT_OVERLOADED = -8,
    /** The provider failed (other HTTP 5xx). */
    AGENT_SERVER = -9,
    /** A time limit passed, here or at a gateway (HTTP 408, 504, 524). */
    AGENT_TIMEOUT = -10,
    /** No connection, or it broke before the response began. */
    AGENT_CONNECTION = -11,
    /** The secure connection could not be set up. */
    AGENT_TLS = -12,
    /** The response ended before its protocol's closing event. */
    AGENT_STREAM_TRUNCATED = -13,
    /** The response violates its protocol. */
    AGENT_PROTOCOL = -14,
    /** A custom provider failed or panicked. */
    AGENT_PROVIDER = -15,
    /** A hook failed; the message names it. In middleware, the tool failed. */
    AGENT_CALLBACK = -16,
    /** A size limit was exceeded. */
    AGENT_LIMIT = -17,
    /** A run that is replayed does something else than its recording; the message names the place, and both. */
    AGENT_REPLAY = -26,

    /* Usage errors: returned by calls. */

    /** An argument is wrong; the message names it. */
    AGENT_INVALID_ARGUMENT = -18,
    /** The call is not possible in the present state, or in this callback. */
    AGENT_INVALID_STATE = -19,
    /** A run is active on this agent; or the session is open elsewhere, and the message names the holder. */
    AGENT_BUSY = -20,
    /** The run was aborted. */
    AGENT_ABORTED = -21,
    /** The operating system refused something, or the server of a store. */
    AGENT_IO = -22,
    /** What is stored is not as it was written; the message names the place. What stands before it can be salvaged. */
    AGENT_DAMAGED = -24,
    /** What is stored is of a newer version of this library: update it. */
    AGENT_NEWER_VERSION = -25,
    /** A panic was caught: a bug in this library. Panics of tools, hooks and providers count as their failures. */
    AGENT_PANIC = -23,

    /* </generated> */
};

/** The type of a JSON value; see agent_json_type(). */
enum {
    /** There is no value. */
    AGENT_JSON_NONE = 0,
    AGENT_JSON_NULL = 1,
    AGENT_JSON_BOOL = 2,
    AGENT_JSON_NUMBER = 3,
    AGENT_JSON_STRING = 4,
    AGENT_JSON_ARRAY = 5,
    AGENT_JSON_OBJECT = 6,
};

/** The kind of an event; see agent_event_kind(). */
enum {
    /* <generated: events> */
    /** The run begins. */
    AGENT_EVENT_AGENT_START = 1,
    /** A turn begins. */
    AGENT_EVENT_TURN_START = 2,
    /** A message begins. An assistant message is empty then, and has no stop reason yet. */
    AGENT_EVENT_MESSAGE_START = 3,
    /** A text block begins. */
    AGENT_EVENT_TEXT_START = 4,
    /** More text of a text block. */
    AGENT_EVENT_TEXT_DELTA = 5,
    /** A text block is complete. */
    AGENT_EVENT_TEXT_END = 6,
    /** A thinking block begins. */
    AGENT_EVENT_THINKING_START = 7,
    /** More text of a thinking block. */
    AGENT_EVENT_THINKING_DELTA = 8,
    /** A thinking block is complete. */
    AGENT_EVENT_THINKING_END = 9,
    /** A tool call of the model begins. */
    AGENT_EVENT_TOOL_CALL_START = 10,
    /** More of a tool call's arguments. */
    AGENT_EVENT_TOOL_CALL_DELTA = 11,
    /** A tool call of the model is complete. */
    AGENT_EVENT_TOOL_CALL_END = 12,
    /** A message is complete and in the transcript. */
    AGENT_EVENT_MESSAGE_END = 13,
    /** The execution of a tool call begins. */
    AGENT_EVENT_TOOL_EXECUTION_START = 14,
    /** A tool reports its progress. */
    AGENT_EVENT_TOOL_EXECUTION_UPDATE = 15,
    /** A tool call has its result. */
    AGENT_EVENT_TOOL_EXECUTION_END = 16,
    /** A turn is over. */
    AGENT_EVENT_TURN_END = 17,
    /** The run is over; no event follows. */
    AGENT_EVENT_AGENT_END = 18,
    /** The model call is retried after a backoff. */
    AGENT_EVENT_RETRY = 19,
    /** Something was repaired, dropped, late or unusual. */
    AGENT_EVENT_DIAGNOSTIC = 20,
    /** One frame as the provider sent it; with the option `raw_events`. */
    AGENT_EVENT_RAW = 21,
    /** A tool call waits for a decision, in place of its end: the run ends with the outcome
     *  `suspended`. */
    AGENT_EVENT_TOOL_CALL_SUSPENDED = 22,
    /** A subagent, an agent that a tool call runs, has emitted an event: between the start and
     *  the end of the call. */
    AGENT_EVENT_SUBAGENT_EVENT = 23,
    /* </generated> */
};

/** Why a run ended; see agent_run_outcome(). */
enum {
    /** It has not ended. */
    AGENT_OUTCOME_NONE = 0,
    /* <generated: outcomes> */
    /** The run was aborted: by a call of abort, by what else cancels it in the language, or by
     *  the end of its runtime. */
    AGENT_OUTCOME_ABORTED = 4,
    /** The model failed, a hook outside of tool calls failed, or `run_timeout_ms` elapsed. */
    AGENT_OUTCOME_ERROR = 5,
    /** Tool calls wait for a decision. */
    AGENT_OUTCOME_SUSPENDED = 6,
    /** `should_stop_after_turn`, `max_repeated_calls`, or results with `terminate` and no queued
     *  message ended it. */
    AGENT_OUTCOME_STOPPED = 2,
    /** A limit such as `max_cost` was used up, and tool results or queued messages were left. */
    AGENT_OUTCOME_BUDGET = 7,
    /** The last allowed turn left tool results or queued messages. */
    AGENT_OUTCOME_MAX_TURNS = 3,
    /** No work was left. */
    AGENT_OUTCOME_COMPLETED = 1,
    /* </generated> */
};

/** Which token count; see agent_run_usage(). */
enum {
    AGENT_USAGE_INPUT = 1,       /**< input tokens that were not cached */
    AGENT_USAGE_OUTPUT = 2,      /**< output tokens, including reasoning */
    AGENT_USAGE_CACHE_READ = 3,  /**< input tokens read from the provider's cache */
    AGENT_USAGE_CACHE_WRITE = 4, /**< input tokens written to the provider's cache */
    AGENT_USAGE_REASONING = 5,   /**< the part of the output that was reasoning */
    AGENT_USAGE_TOTAL = 6        /**< the sum of input, output, cache read and cache write */
};

/** Which hook; see agent_set_hook(), which documents inputs, answers and failures. */
enum {
    /* <generated: hooks> */
    /** Before each model call: may replace the messages that the model reads, for this call
     *  only. */
    AGENT_HOOK_TRANSFORM_CONTEXT = 1,
    /** Before each model call, after `transform_context`: converts all messages to the three
     *  standard roles. Without this hook, messages of other roles are left out. */
    AGENT_HOOK_CONVERT_TO_LLM = 2,
    /** Before each model call: the API key for a provider, instead of the configured one, or a
     *  token, or headers. */
    AGENT_HOOK_GET_API_KEY = 3,
    /** Before a tool runs: may block the call, with a reason for the model, replace its
     *  arguments, which are validated again, or suspend it until somebody decides. */
    AGENT_HOOK_BEFORE_TOOL_CALL = 4,
    /** After a tool ran, successfully or not: may replace parts of its result. */
    AGENT_HOOK_AFTER_TOOL_CALL = 5,
    /** After each turn that another may follow: may change context, model and thinking level for
     *  the rest of the run. */
    AGENT_HOOK_PREPARE_NEXT_TURN = 6,
    /** After each turn: whether the run ends here, with the outcome `stopped`. */
    AGENT_HOOK_SHOULD_STOP_AFTER_TURN = 7,
    /** With each poll of the steering queue: further steering messages. */
    AGENT_HOOK_GET_STEERING_MESSAGES = 8,
    /** With each poll of the follow-up queue: further follow-up messages. */
    AGENT_HOOK_GET_FOLLOW_UP_MESSAGES = 9,
    /** Before each model call: may replace the body of the request. */
    AGENT_HOOK_ON_PAYLOAD = 10,
    /** When the head of a response has arrived, for each attempt. */
    AGENT_HOOK_ON_RESPONSE = 11,
    /** When a model call fails, and when anything else ends the run with an error. */
    AGENT_HOOK_ON_ERROR = 12,
    /** Before a run, also before its `agent_start`. */
    AGENT_HOOK_BEFORE_RUN = 13,
    /** After a run's last event, before the agent is idle. */
    AGENT_HOOK_AFTER_RUN = 14,
    /** When `resume` finds a call without a result, of a tool whose `on_interrupted` is `ask`:
     *  whether the model reads that its outcome is not known, it runs again, or it has a result.
     *  Without this hook: `report`. */
    AGENT_HOOK_ON_INTERRUPTED_CALL = 15,
    /** When a final answer fits the option `output`: may refuse it, with a text for the model,
     *  which may correct it. */
    AGENT_HOOK_CHECK_OUTPUT = 16,
    /** Before the request of each turn, the first one included: may change context, model and
     *  thinking level for this request. A retry and a fallback keep what it has changed, but for
     *  the model. */
    AGENT_HOOK_PREPARE_REQUEST = 17,
    /** When a server of MCP asks, during one of its calls, for an answer of a model (sampling):
     *  may give one. Without this hook, the capability is not announced to servers. */
    AGENT_HOOK_ON_MCP_SAMPLING = 18,
    /** When a server of MCP asks, during one of its calls, for what the user knows
     *  (elicitation): may give it. Without this hook, the capability is not announced to
     *  servers. */
    AGENT_HOOK_ON_MCP_ELICITATION = 19,
    /** When a server of MCP with the field `oauth` wants a sign-in: shows the user the address,
     *  in a browser for example. */
    AGENT_HOOK_ON_MCP_SIGN_IN = 20,
    /** When a call needs approval, as its tool or the option `gate` says, before it waits: may
     *  decide at once. Without an answer, the call waits. */
    AGENT_HOOK_ON_APPROVAL = 21,
    /* </generated> */
};

/** How grave a log record is; see agent_runtime_set_log(). */
enum {
    /* <generated: log levels> */
    /** A run failed. */
    AGENT_LOG_ERROR = 1,
    /** A function of the application failed, or a model call is retried. */
    AGENT_LOG_WARN = 2,
    /** Something unusual that is no failure. */
    AGENT_LOG_INFO = 3,
    /** What happens in any case. */
    AGENT_LOG_DEBUG = 4,
    /* </generated> */
};

/** What a custom store has to do; see agent_store_new_custom(). */
enum {
    /** Gives the right to append to a session, which is created if there is none. */
    AGENT_STORE_ACQUIRE = 1,
    /** Prolongs leases. */
    AGENT_STORE_RENEW = 2,
    /** Gives a lease back. */
    AGENT_STORE_RELEASE = 3,
    /** Appends lines. */
    AGENT_STORE_APPEND = 4,
    /** Reads the lines behind a number. */
    AGENT_STORE_READ = 5,
    /** What is known of a session without reading it. */
    AGENT_STORE_INFO = 6,
    /** Sets title and metadata. */
    AGENT_STORE_SET_INFO = 7,
    /** Lists sessions. */
    AGENT_STORE_LIST = 8,
    /** Removes a session. */
    AGENT_STORE_DELETE = 9,
    /** Waits until there may be a line behind a number. */
    AGENT_STORE_CHANGED = 10,
};

/** Why a call or a run failed. Owned; release with agent_error_free(). Any thread may read it. */
typedef struct agent_error_t agent_error_t;

/** An owned text. Release with agent_text_free(). Any thread may read it. */
typedef struct agent_text_t agent_text_t;

/**
 * A JSON value, or a part of one. Owned; release with agent_json_free(). Parts are borrowed. Any thread
 * may read it, and all its parts, while no thread changes it.
 */
typedef struct agent_json_t agent_json_t;

/** Threads and connections. Owned; release with agent_runtime_free(). Any thread may use it. */
typedef struct agent_runtime_t agent_runtime_t;

/** A log record. Borrowed. Any thread may read it while it is valid. */
typedef struct agent_log_record_t agent_log_record_t;

/** A tool that a model can call. Owned; release with agent_tool_free(). Any thread may use it. */
typedef struct agent_tool_t agent_tool_t;

/**
 * One call of a tool. Owned; release with agent_tool_call_free(). Any thread may answer it.
 *
 * The run waits for a call until it is answered or freed. One that is neither, because a path of the tool
 * forgets it, holds the run until tool_timeout_ms, the tool's timeout_ms or run_timeout_ms ends the wait
 * (none of them has a limit by default), or an abort. The handle stays valid then, and must still be freed.
 */
typedef struct agent_tool_call_t agent_tool_call_t;

/**
 * One call of a hook. Owned; release with agent_hook_call_free(). Any thread may answer it. The run waits
 * until it is answered or freed: without either, until run_timeout_ms or an abort (AFTER_RUN: until
 * listener_timeout_ms).
 */
typedef struct agent_hook_call_t agent_hook_call_t;

/**
 * One request to a custom model. Owned; release with agent_model_call_free(). Any thread may answer
 * it, chunk by chunk; the order of chunks that several threads push concurrently is undefined. The run
 * waits until the response ends or the call is freed: without either, until a time limit (that of the first
 * chunk is first_byte_timeout_ms, that of the whole response request_timeout_ms) or an abort.
 */
typedef struct agent_model_call_t agent_model_call_t;

/** Model, tools and conversation. Owned; release with agent_free(). Any thread may use it. */
typedef struct agent_t agent_t;

/** A list of messages. Owned; release with agent_messages_free(). Add from one thread at a time. */
typedef struct agent_messages_t agent_messages_t;

/**
 * One run. Owned; release with agent_run_free(). Pull from one thread at a time; steer, follow_up and
 * abort from any.
 */
typedef struct agent_run_t agent_run_t;

/** A run that the program steps. Owned; release with agent_loop_free(). Use from one thread at a time. */
typedef struct agent_loop_t agent_loop_t;

/**
 * One event of a run. Borrowed; or, from agent_event_clone(), owned: release with agent_event_free().
 * Any thread may read it while it is valid.
 */
typedef struct agent_event_t agent_event_t;

/** Where sessions are kept. Owned; release with agent_store_free(). Any thread may use it. */
typedef struct agent_store_t agent_store_t;

/**
 * One call of a custom store. Owned; release with agent_store_call_free(). Any thread may answer it.
 * Whoever uses the store waits until it is answered or freed.
 */
typedef struct agent_store_call_t agent_store_call_t;

/**
 * A session of a store by its id, which need not exist. Owned; release with agent_session_free(). Any
 * thread may use it.
 */
typedef struct agent_session_t agent_session_t;

/**
 * A session with the right to append to it. Owned; release with agent_open_session_free(). Any thread may
 * use it.
 */
typedef struct agent_open_session_t agent_open_session_t;

/** Follows a session. Owned; release with agent_follow_free(). Read from one thread at a time. */
typedef struct agent_follow_t agent_follow_t;

/** Writes a run for a browser. Owned; release with agent_ui_stream_free(). One thread at a time. */
typedef struct agent_ui_stream_t agent_ui_stream_t;

/** A browser's request. Owned; release with agent_ui_request_free(). Any thread. */
typedef struct agent_ui_request_t agent_ui_request_t;

/**
 * Called once with the userdata of a callback that will not be called again. On any thread; must
 * return quickly. See THREADS.
 */
typedef void (*agent_destroy_fn_t)(void *userdata);

/**
 * A tool, or a middleware. The callback owns the call: it answers it now or later, and frees it. On a
 * thread where it may block; several calls may run concurrently.
 */
typedef void (*agent_tool_fn_t)(void *userdata, agent_tool_call_t *call);

/**
 * Receives the result of the rest of a middleware chain: text is the full result in JSON, {content,
 * details, is_error, terminate}, or, if is_error, the error message. It is borrowed until the function
 * returns, and NUL-terminated. On a thread where it may block.
 */
typedef void (*agent_tool_next_fn_t)(void *userdata, bool is_error, const char *text,
                                     size_t length);

/**
 * A hook. The callback owns the call: it answers it now or later, and frees it. On a thread where it
 * may block.
 */
typedef void (*agent_hook_fn_t)(void *userdata, agent_hook_call_t *call);

/**
 * A custom model. The callback owns the call: it answers it now or later, and frees it. On a thread
 * where it may block; requests of several runs may come concurrently.
 */
typedef void (*agent_model_fn_t)(void *userdata, agent_model_call_t *call);

/**
 * A custom store. The callback owns the call: it answers it now or later, and frees it. On a thread where
 * it may block; several calls may run concurrently.
 */
typedef void (*agent_store_fn_t)(void *userdata, agent_store_call_t *call);

/**
 * A listener. The event is borrowed until the function returns; agent_event_clone() keeps it. On a
 * thread where it may block; the run blocks meanwhile, for listener_timeout_ms at most.
 */
typedef void (*agent_event_fn_t)(void *userdata, const agent_event_t *event);

/**
 * Receives log records. The record is borrowed until the function returns. On a thread where it may
 * block; one record at a time, in order. No run blocks meanwhile.
 */
typedef void (*agent_log_fn_t)(void *userdata, const agent_log_record_t *record);

/** Called when a run or a follower becomes readable. On any thread; should only wake the thread that pulls. */
typedef void (*agent_wakeup_fn_t)(void *userdata);

/* ================================================================================ library ====== */

/**
 * Returns the version of the loaded library, for example "0.1.0". Static.
 *
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API const char *agent_version(void);

/**
 * Returns the ABI of the loaded library; compare it with AGENT_ABI_VERSION.
 *
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API uint32_t agent_abi_version(void);

/**
 * Returns a status as a word: "ok", "done", "pending", "queued", or the error kind, such as "rate_limited".
 * NULL for other values. Static.
 *
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API const char *agent_status_name(agent_status_t status);

/* ================================================================================ error ======== */

/**
 * Returns the error kind: one of the negative statuses. AGENT_OK for NULL.
 *
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API agent_status_t agent_error_status(const agent_error_t *error);

/**
 * Returns a message for users: what failed, where, and what to do. Borrowed until the error is freed.
 *
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API const char *agent_error_message(const agent_error_t *error, size_t *length);

/**
 * Returns the error as JSON: {kind, message, provider?, http_status?, request_id?, retryable,
 * retry_after_ms?}. Borrowed until the error is freed.
 *
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API const char *agent_error_json(const agent_error_t *error, size_t *length);

/**
 * Releases an error. Borrowed errors (const agent_error_t *) must not be freed.
 *
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API void agent_error_free(agent_error_t *error);

/* ================================================================================ text ========= */

/**
 * Returns the text. Borrowed until the handle is freed.
 *
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API const char *agent_text_data(const agent_text_t *text, size_t *length);

/**
 * Releases a text.
 *
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API void agent_text_free(agent_text_t *text);

/* ================================================================================ json ========= */

/*
 * A value is parsed once, from any JSON text: the arguments of a tool, the input of a hook, an event,
 * the state. Its parts are found by JSON pointer (RFC 6901): "" is the whole value, "/city" a member,
 * "/messages/0/role" a member of the first element. In a key, ~ is written as ~0 and / as ~1.
 *
 *     static void before_tool_call(void *userdata, agent_hook_call_t *call)
 *     {
 *         agent_json_t *input = NULL;
 *         agent_status_t rc = agent_json_parse(agent_hook_call_input(call, NULL), AGENT_NTS, &input, NULL);
 *         const char *path = "", *answer = "null";
 *
 *         (void)userdata;
 *         if (rc == AGENT_OK)
 *             rc = agent_json_get_string(input, "/arguments/path", AGENT_NTS, &path, NULL, NULL);
 *         if (rc != AGENT_NOT_FOUND && (rc != AGENT_OK || strcmp(path, "/etc/passwd") == 0))
 *             answer = "{\"block\": true}";
 *         agent_hook_call_respond_json(call, answer, AGENT_NTS, NULL);
 *         agent_json_free(input);
 *         agent_hook_call_free(call);
 *     }
 *
 * A path that cannot be read is blocked there, too: one with a NUL, of which strcmp() would not see all.
 *
 * A value is built from a text with what is constant, and setters for what is not, which escape it:
 *
 *     agent_json_t *answer = NULL;
 *
 *     if (agent_json_parse("{\"sky\": \"rain\"}", AGENT_NTS, &answer, &error) < 0
 *         || agent_json_set_string(answer, "/city", AGENT_NTS, city, AGENT_NTS, &error) < 0
 *         || agent_json_set_number(answer, "/celsius", AGENT_NTS, 7, &error) < 0)
 *         agent_tool_call_fail(call, agent_error_message(error, NULL), AGENT_NTS, NULL);
 *     else
 *         agent_tool_call_respond_json(call, agent_json_text(answer, NULL), AGENT_NTS, NULL);
 *     agent_json_free(answer);
 *
 * The order of members is kept; of members with the same key the last one counts. Whole numbers from
 * -2^63 to 2^64 - 1 are kept exactly, all others as doubles. Containers may be nested 127 deep. What is
 * borrowed from a value (strings, keys, parts, its text) is valid until the value is changed or freed.
 */

/**
 * Parses a text. json receives an owned value; "{}" and "[]" give an empty one to build on.
 *
 * Errors: AGENT_INVALID_ARGUMENT (also invalid JSON: names line and column; containers nested deeper than
 * 127; a number that a double cannot hold).
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API agent_status_t agent_json_parse(const char *text, size_t length, agent_json_t **json,
                                          agent_error_t **error);

/* ---- reading --------------------------------------------------------------------------------- */

/**
 * Returns the type of a value, AGENT_JSON_...: AGENT_JSON_NONE for NULL, and so also for what
 * agent_json_get() does not find.
 *
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API int32_t agent_json_type(const agent_json_t *json);

/**
 * Returns the part at a pointer; NULL if there is none, or the pointer is invalid. Borrowed until the
 * value is changed or freed. All functions that read a value accept a part.
 *
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API const agent_json_t *agent_json_get(const agent_json_t *json, const char *pointer,
                                             size_t length);

/**
 * Reads the string at a pointer: value receives the text, with a NUL after it, borrowed until the value
 * is changed or freed; value_length, unless NULL, its length in bytes.
 *
 * Errors: AGENT_NOT_FOUND (there is no such part, or it is null), AGENT_INVALID_ARGUMENT (it is not a
 * string; an invalid pointer; it contains a NUL, at which it would seem to end, and value_length is NULL).
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API agent_status_t agent_json_get_string(const agent_json_t *json, const char *pointer,
                                               size_t length, const char **value,
                                               size_t *value_length, agent_error_t **error);

/**
 * Reads the number at a pointer, rounded to the nearest double.
 *
 * Errors: AGENT_NOT_FOUND (there is no such part, or it is null), AGENT_INVALID_ARGUMENT (it is not a
 * number; an invalid pointer).
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API agent_status_t agent_json_get_number(const agent_json_t *json, const char *pointer,
                                               size_t length, double *value, agent_error_t **error);

/**
 * Reads the whole number at a pointer, exactly; 7.0 is 7. agent_json_text() of a part has a larger
 * number's digits.
 *
 * Errors: AGENT_NOT_FOUND (there is no such part, or it is null), AGENT_INVALID_ARGUMENT (it is not a
 * number, it has a fraction, it does not fit; an invalid pointer).
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API agent_status_t agent_json_get_integer(const agent_json_t *json, const char *pointer,
                                                size_t length, int64_t *value,
                                                agent_error_t **error);

/**
 * Reads true or false at a pointer.
 *
 * Errors: AGENT_NOT_FOUND (there is no such part, or it is null), AGENT_INVALID_ARGUMENT (it is neither;
 * an invalid pointer).
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API agent_status_t agent_json_get_bool(const agent_json_t *json, const char *pointer,
                                             size_t length, bool *value, agent_error_t **error);

/**
 * Returns the number of elements of an array or members of an object; 0 for other values.
 *
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API size_t agent_json_count(const agent_json_t *json);

/**
 * Returns an array's element, or the value of an object's member, at an index from 0; NULL beyond the
 * last. Borrowed until the value is changed or freed.
 *
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API const agent_json_t *agent_json_at(const agent_json_t *json, size_t index);

/**
 * Returns the key of an object's member at an index from 0; NULL beyond the last. Borrowed until the
 * value is changed or freed.
 *
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API const char *agent_json_key(const agent_json_t *json, size_t index, size_t *length);

/**
 * Returns the value of an object's member by its key as it is, without a pointer's escapes; NULL if there
 * is no such member, or the value is no object. Borrowed until the value is changed or freed.
 *
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API const agent_json_t *agent_json_member(const agent_json_t *json, const char *key,
                                                size_t length);

/**
 * Returns whether two values are the same: the order of members does not matter, and 1 equals 1.0.
 * false if one of them is NULL.
 *
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API bool agent_json_equals(const agent_json_t *json, const agent_json_t *other);

/**
 * Returns the value or part as JSON, on one line. It is written at the first call and kept. Borrowed
 * until the value is changed or freed.
 *
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API const char *agent_json_text(const agent_json_t *json, size_t *length);

/* ---- writing --------------------------------------------------------------------------------- */

/*
 * Setters replace the part at a pointer, or create it. In an array, the step "-" appends an element, as
 * does the index after the last. Missing containers are created, also in the place of null: an array
 * before a step "-", otherwise an object. On an error the value is unchanged.
 */

/**
 * Sets the part at a pointer to a copy of another value, which may be a part of the same one.
 *
 * Errors: AGENT_INVALID_ARGUMENT (also an invalid pointer, an index beyond the end, a step into a string,
 * number or boolean, containers nested deeper than 127).
 * Threads: one at a time. Callbacks: all. Since 0.1.
 */
AGENT_API agent_status_t agent_json_set(agent_json_t *json, const char *pointer, size_t length,
                                        const agent_json_t *value, agent_error_t **error);

/**
 * Sets the part at a pointer to a value that is given as JSON, such as "null", "[]" or an event's JSON.
 *
 * Errors: AGENT_INVALID_ARGUMENT (as agent_json_set(); also invalid JSON).
 * Threads: one at a time. Callbacks: all. Since 0.1.
 */
AGENT_API agent_status_t agent_json_set_json(agent_json_t *json, const char *pointer, size_t length,
                                             const char *value, size_t value_length,
                                             agent_error_t **error);

/**
 * Sets the part at a pointer to a string. The text is copied, and may contain any character.
 *
 * Errors: AGENT_INVALID_ARGUMENT (as agent_json_set()).
 * Threads: one at a time. Callbacks: all. Since 0.1.
 */
AGENT_API agent_status_t agent_json_set_string(agent_json_t *json, const char *pointer,
                                               size_t length, const char *value,
                                               size_t value_length, agent_error_t **error);

/**
 * Sets the part at a pointer to a number. A double without a fraction is written without one, as 7.
 *
 * Errors: AGENT_INVALID_ARGUMENT (as agent_json_set(); also NaN and infinity).
 * Threads: one at a time. Callbacks: all. Since 0.1.
 */
AGENT_API agent_status_t agent_json_set_number(agent_json_t *json, const char *pointer,
                                               size_t length, double value, agent_error_t **error);

/**
 * Sets the part at a pointer to a whole number.
 *
 * Errors: AGENT_INVALID_ARGUMENT (as agent_json_set()).
 * Threads: one at a time. Callbacks: all. Since 0.1.
 */
AGENT_API agent_status_t agent_json_set_integer(agent_json_t *json, const char *pointer,
                                                size_t length, int64_t value,
                                                agent_error_t **error);

/**
 * Sets the part at a pointer to true or false.
 *
 * Errors: AGENT_INVALID_ARGUMENT (as agent_json_set()).
 * Threads: one at a time. Callbacks: all. Since 0.1.
 */
AGENT_API agent_status_t agent_json_set_bool(agent_json_t *json, const char *pointer, size_t length,
                                             bool value, agent_error_t **error);

/**
 * Removes a member of an object, or an element of an array; later elements move up.
 *
 * Errors: AGENT_NOT_FOUND (there is no such part), AGENT_INVALID_ARGUMENT (also an invalid pointer, and
 * "", the whole value).
 * Threads: one at a time. Callbacks: all. Since 0.1.
 */
AGENT_API agent_status_t agent_json_remove(agent_json_t *json, const char *pointer, size_t length,
                                           agent_error_t **error);

/**
 * Releases a value. Borrowed parts (const agent_json_t *) must not be freed.
 *
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API void agent_json_free(agent_json_t *json);

/* ================================================================================ runtime ====== */

/**
 * Creates a runtime and starts its worker threads. One runtime serves any number of agents and
 * thousands of runs.
 *
 * options is NULL or a JSON object such as {"threads": 2, "max_tool_threads": 64}:
 *
 *   threads           1           worker threads, which runs and connections share, at most 1024. One
 *                                 suits up to some thousand concurrent runs; callbacks have further ones
 *   max_tool_threads  4096        tools that run at the same time. A further call waits until another one
 *                                 has returned from its function; its time limit runs meanwhile. A tool
 *                                 that waits for another agent's tools may wait for itself if these are
 *                                 too few
 *   stack_bytes       2097152     the stack of each thread, those of callbacks included, at least 1 MiB.
 *                                 The system counts it as memory only as far as it is used
 *   thread_name       agent-loop  what the system shows as the threads' name, at most 15 bytes
 *
 * Errors: AGENT_INVALID_ARGUMENT (options is not a JSON object, an unknown option, a value of the wrong
 * type or out of bounds), AGENT_IO (the operating system refuses the threads or descriptors).
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API agent_status_t agent_runtime_new(const char *options, size_t length,
                                           agent_runtime_t **runtime, agent_error_t **error);

/**
 * Aborts all runs, blocks until they have ended, and stops the threads.
 *
 * Log records that wait for the function of agent_runtime_set_log() are handed on within the timeout.
 * Returns AGENT_OK when everything has ended, AGENT_PENDING when timeout_ms (below 0: no limit) passed
 * first, for example because a tool does not return: its thread is then left running. Agents of the
 * runtime remain readable but start no more runs. Further calls only wait for runs that are still
 * active. In a forked child a call does nothing and returns AGENT_OK.
 *
 * Errors: AGENT_INVALID_ARGUMENT, AGENT_INVALID_STATE (in a callback of any agent of this runtime).
 * Threads: any. Callbacks: none of this runtime; not destroy and wakeup. Since 0.1.
 */
AGENT_API agent_status_t agent_runtime_shutdown(agent_runtime_t *runtime, int64_t timeout_ms,
                                                agent_error_t **error);

/**
 * Releases a runtime. Its agents and stores keep the threads and connections; when the last of these, of
 * runs and of sessions are gone too, the threads end by themselves. To be sure that they have ended, call
 * agent_runtime_shutdown() first.
 *
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API void agent_runtime_free(agent_runtime_t *runtime);

/**
 * Sets the function that receives the log records of a runtime, of all its agents and runs, up to a
 * level, AGENT_LOG_...; AGENT_LOG_DEBUG is all of them. NULL removes it, and the level does not count.
 *
 * Records say what no event can report, such as a failing after_run, and what whoever runs a program
 * looks for: failing tools, hooks and listeners, retries, failed runs. docs/logs.md lists their codes.
 * They never contain API keys.
 *
 *     static void write_record(void *userdata, const agent_log_record_t *record)
 *     {
 *         fprintf((FILE *)userdata, "%s %s\n", agent_log_level_name(agent_log_record_level(record)),
 *                 agent_log_record_message(record, NULL));
 *     }
 *
 *     agent_runtime_set_log(runtime, AGENT_LOG_INFO, write_record, stderr, NULL, &error);
 *
 * The function is called on a thread of the library, soon after what a record is about: no run waits
 * for it. If it is too slow and 1024 records wait, further ones are dropped, and one with the code
 * "records_dropped" says how many. A function that is replaced or removed still receives the records
 * that were written before; its destroy tells when it has had the last one. agent_runtime_shutdown()
 * waits, within its timeout, until all have been received.
 *
 * Errors: AGENT_INVALID_ARGUMENT (also an unknown level).
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API agent_status_t agent_runtime_set_log(agent_runtime_t *runtime, int32_t level,
                                               agent_log_fn_t function, void *userdata,
                                               agent_destroy_fn_t destroy, agent_error_t **error);

/**
 * Returns the level of a record, AGENT_LOG_...; 0 for NULL.
 *
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API int32_t agent_log_record_level(const agent_log_record_t *record);

/**
 * Returns a level as a word: "error", "warn", "info", "debug". NULL for other values. Static.
 *
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API const char *agent_log_level_name(int32_t level);

/**
 * Returns the word for what a record is about, such as "hook_error". Borrowed until the function that
 * received the record returns.
 *
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API const char *agent_log_record_code(const agent_log_record_t *record, size_t *length);

/**
 * Returns what has happened, with the message of the error that is the cause. Borrowed until the
 * function that received the record returns.
 *
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API const char *agent_log_record_message(const agent_log_record_t *record, size_t *length);

/**
 * Returns the record as JSON: {level, code, message, run_id?, data, error?}. level is a word, data has
 * the fields of the code, error is as from agent_error_json(). Borrowed until the function that
 * received the record returns.
 *
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API const char *agent_log_record_json(const agent_log_record_t *record, size_t *length);

/* ================================================================================ tool ========= */

/**
 * Creates a tool from its description in JSON and a function.
 *
 *     {
 *       "name": "weather",                          1 to 64 letters, digits, _ and -
 *       "description": "The weather of a place.",   for the model, which chooses by it; default: none
 *       "parameters": {                             JSON Schema of the arguments; default: no arguments
 *         "type": "object",
 *         "properties": { "place": { "type": "string" } },
 *         "required": ["place"]
 *       },
 *       "label": "Weather",                         optional: for users
 *       "execution_mode": "sequential",             optional: never concurrently with another tool
 *       "timeout_ms": 5000,                         optional: the time limit of a call; 0 for none
 *       "subject": { "argument": "place", "kind": "text" }
 *                                                   optional: what the rules of the option "gate" are about;
 *                                                   kinds are "text", "path", "command" and "url"
 *     }
 *
 * The function is called with arguments that match the schema, on a thread where it may block. The
 * calls of one assistant message run concurrently, unless the agent or one of the called tools is
 * "sequential".
 *
 * Errors: AGENT_INVALID_ARGUMENT (function or tool is NULL; json is not an object; a field is missing,
 * unknown or of the wrong type; an invalid name; parameters is not a JSON Schema of an object, or one
 * that has properties in place of keywords or requires one that it does not describe).
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API agent_status_t agent_tool_new(const char *json, size_t length, agent_tool_fn_t function,
                                        void *userdata, agent_destroy_fn_t destroy,
                                        agent_tool_t **tool, agent_error_t **error);

/**
 * Creates a tool that runs an agent, as a subagent of the agent that the tool is added to.
 *
 *     {
 *       "name": "research",                         1 to 64 letters, digits, _ and -
 *       "description": "Finds something out.",      for the model; default: none
 *       "events": "messages",                       optional: which events of the subagent come in the run
 *                                                   that calls it, as subagent_event: "all" (default),
 *                                                   "messages" (all but the pieces of messages), "none"
 *       "keep_conversation": true                   optional: calls go on with the agent's own conversation,
 *                                                   one at a time
 *     }
 *
 * The other fields are those of agent_tool_new(). The model gives the "prompt", a text; with
 * "parameters" of yours, the agent gets the arguments in JSON.
 *
 * Each call has an agent of its own, with the configuration of this one as it is then, and begins with
 * the messages that this one has now; several calls may run at once. Its tools, hooks and custom models
 * are this agent's functions. The result of a call is the agent's typed answer or its text; if the run
 * ends otherwise, an error that says so. An abort of the run that calls it aborts it, and what it uses
 * counts in that run, too. The tool keeps the agent: it may be freed.
 *
 * Errors: AGENT_INVALID_ARGUMENT (agent or tool is NULL; json is not an object, or a field is unknown or
 * wrong).
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API agent_status_t agent_as_tool(const agent_t *agent, const char *json, size_t length,
                                       agent_tool_t **tool, agent_error_t **error);

/**
 * Creates a tool that hands the conversation to an agent, for the rest of the run that calls it: from the
 * next turn on, the run has the agent's system prompt, model, tools, hooks and options, and the transcript
 * so far. The limits of the run, its typed answer, its session and its listeners stay. A diagnostic
 * ("handoff") says so. json has the fields of agent_tool_new(); without "parameters" it has none.
 *
 * Errors: AGENT_INVALID_ARGUMENT (agent or tool is NULL; json is not an object, or a field is unknown or
 * wrong).
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API agent_status_t agent_as_handoff(const agent_t *agent, const char *json, size_t length,
                                          agent_tool_t **tool, agent_error_t **error);

/**
 * Replaces fields of the description; fields that json does not have stay. Agents to which the tool was
 * added before keep it unchanged.
 *
 * Errors: AGENT_INVALID_ARGUMENT (as agent_tool_new(); the tool is then unchanged).
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API agent_status_t agent_tool_set_json(agent_tool_t *tool, const char *json, size_t length,
                                             agent_error_t **error);

/**
 * Sets a function that corrects the model's arguments before they are validated, for models that get a
 * format wrong. NULL removes it. Agents to which the tool was added before keep it unchanged.
 *
 * The function is called like a hook (see agent_set_hook()). Its input is the arguments, a JSON object;
 * its answer the corrected arguments, or null for no change. If it fails, the tool call fails.
 *
 * Errors: AGENT_INVALID_ARGUMENT.
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API agent_status_t agent_tool_set_prepare_arguments(agent_tool_t *tool,
                                                          agent_hook_fn_t function, void *userdata,
                                                          agent_destroy_fn_t destroy,
                                                          agent_error_t **error);

/**
 * Sets a function that decides which calls of the tool wait for a decision before they run. NULL removes
 * it: then no call waits, unless the description has "needs_approval": true. Agents to which the tool was
 * added before keep it unchanged.
 *
 * The function is called like a hook (see agent_set_hook()). Its input is the validated arguments, a JSON
 * object; its answer true, false, or the reason, a string for the person who decides. If it fails, the
 * tool call fails. agent_resume_decided() says what becomes of a call that waits.
 *
 * Errors: AGENT_INVALID_ARGUMENT.
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API agent_status_t agent_tool_set_needs_approval(agent_tool_t *tool, agent_hook_fn_t function,
                                                       void *userdata, agent_destroy_fn_t destroy,
                                                       agent_error_t **error);

/**
 * Releases a tool. Agents that have it keep it.
 *
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API void agent_tool_free(agent_tool_t *tool);

/* ---- tool calls: answered once, from any thread ---------------------------------------------- */

/**
 * Returns the call's id. Borrowed until the call is freed.
 *
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API const char *agent_tool_call_id(const agent_tool_call_t *call, size_t *length);

/**
 * Returns the tool's name. Borrowed until the call is freed.
 *
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API const char *agent_tool_call_name(const agent_tool_call_t *call, size_t *length);

/**
 * Returns a text that is the same however often this call is executed, in this run or in one that
 * continues elsewhere, and different for each other call: for a service that does the same thing once.
 * Borrowed until the call is freed.
 *
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API const char *agent_tool_call_idempotency_key(const agent_tool_call_t *call, size_t *length);

/**
 * Returns the arguments, a JSON object. Borrowed until the call is freed.
 *
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API const char *agent_tool_call_arguments(const agent_tool_call_t *call, size_t *length);

/**
 * Reads an argument that is a string: value receives the text, borrowed until the call is freed, and
 * value_length, unless NULL, its length in bytes.
 *
 * Errors: AGENT_NOT_FOUND (there is no such argument, or it is null), AGENT_INVALID_ARGUMENT (it is not
 * a string; it contains a NUL, at which it would seem to end, and value_length is NULL).
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API agent_status_t agent_tool_call_get_string(const agent_tool_call_t *call, const char *name,
                                                    size_t length, const char **value,
                                                    size_t *value_length, agent_error_t **error);

/**
 * Reads an argument that is a number.
 *
 * Errors: AGENT_NOT_FOUND (there is no such argument, or it is null), AGENT_INVALID_ARGUMENT (it is not
 * a number).
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API agent_status_t agent_tool_call_get_number(const agent_tool_call_t *call, const char *name,
                                                    size_t length, double *value,
                                                    agent_error_t **error);

/**
 * Reads an argument that is true or false.
 *
 * Errors: AGENT_NOT_FOUND (there is no such argument, or it is null), AGENT_INVALID_ARGUMENT (it is not
 * a boolean).
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API agent_status_t agent_tool_call_get_bool(const agent_tool_call_t *call, const char *name,
                                                  size_t length, bool *value, agent_error_t **error);

/**
 * Returns whether the call is cancelled: the run was aborted, or a time limit passed. Long-running
 * tools should poll this and return early.
 *
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API bool agent_tool_call_is_cancelled(const agent_tool_call_t *call);

/**
 * Blocks for ms milliseconds of the run's clock, which is virtual with a scripted model. Returns
 * AGENT_OK when all of the time has passed.
 *
 * Errors: AGENT_INVALID_ARGUMENT, AGENT_ABORTED (the call is or becomes cancelled; returns immediately).
 * Threads: any. Callbacks: all but destroy and wakeup. Since 0.1.
 */
AGENT_API agent_status_t agent_tool_call_sleep(const agent_tool_call_t *call, uint64_t ms,
                                               agent_error_t **error);

/**
 * Reports progress with a text: the run emits tool_execution_update. Does not wait: at most 64 updates
 * of a call wait to be emitted. Then the newest takes the place of the one before it, which a
 * diagnostic (updates_replaced) counts at the end of the call. After an abort no update is emitted.
 *
 * Errors: AGENT_INVALID_ARGUMENT, AGENT_INVALID_STATE (the call was already answered).
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API agent_status_t agent_tool_call_update(agent_tool_call_t *call, const char *text,
                                                size_t length, agent_error_t **error);

/**
 * Reports progress with JSON, which is read as by agent_tool_call_respond_json(); else as
 * agent_tool_call_update().
 *
 * Errors: AGENT_INVALID_ARGUMENT (also invalid JSON, or a full result with a wrong field),
 * AGENT_INVALID_STATE (the call was already answered).
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API agent_status_t agent_tool_call_update_json(agent_tool_call_t *call, const char *json,
                                                     size_t length, agent_error_t **error);

/**
 * Answers the call with a text. The handle stays valid until it is freed.
 *
 * AGENT_OK says that this is the call's one answer, not that it has an effect: after a time limit, and
 * once the grace of an abort is over, the run does not wait for it, and drops it. So it is with the
 * other functions that answer. agent_tool_call_is_cancelled() says whether that may be so.
 *
 * Errors: AGENT_INVALID_ARGUMENT, AGENT_INVALID_STATE (the call was already answered).
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API agent_status_t agent_tool_call_respond(agent_tool_call_t *call, const char *text,
                                                 size_t length, agent_error_t **error);

/**
 * Answers the call with JSON. {"content": [blocks], "details"?, "is_error"?, "terminate"?} is a full
 * result. Anything else is the text for the model: a string as it is, null as empty text, other JSON
 * serialized. What is meant as a full result and is none is refused: {"is_error": "yes"},
 * {"content": "text", "terminate": true}. A middleware may not answer null.
 *
 * Errors: AGENT_INVALID_ARGUMENT (also invalid JSON, or a full result with a wrong field, which the
 * message names; the call remains unanswered), AGENT_INVALID_STATE (the call was already answered).
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API agent_status_t agent_tool_call_respond_json(agent_tool_call_t *call, const char *json,
                                                      size_t length, agent_error_t **error);

/**
 * Answers that the result comes from elsewhere, later: the call waits for a decision, and the run ends
 * with AGENT_OUTCOME_SUSPENDED. reason is for the person who decides. An approved call is executed again,
 * from its start; see agent_resume_decided().
 *
 * Errors: AGENT_INVALID_ARGUMENT, AGENT_INVALID_STATE (the call was already answered).
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API agent_status_t agent_tool_call_suspend(agent_tool_call_t *call, const char *reason,
                                                 size_t length, agent_error_t **error);

/**
 * Answers the call with a failure. The model receives the message, and the run continues.
 *
 * Errors: AGENT_INVALID_ARGUMENT, AGENT_INVALID_STATE (the call was already answered).
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API agent_status_t agent_tool_call_fail(agent_tool_call_t *call, const char *message,
                                              size_t length, agent_error_t **error);

/**
 * For a call that a middleware received: runs the rest of the chain, which ends with the tool, and
 * passes the result to a function. Returns immediately.
 *
 * arguments is a JSON object that replaces the call's arguments and is not validated again, or NULL to
 * keep them. The function is called once, on a thread where it may block; if the run gives the call up,
 * it receives the error "aborted". Only when the runtime is shut down meanwhile it is dropped without
 * being called, so release what belongs to userdata in destroy:
 *
 *     static void after(void *userdata, bool is_error, const char *text, size_t length)
 *     {
 *         agent_tool_call_t *call = (agent_tool_call_t *)userdata;
 *
 *         if (is_error)
 *             agent_tool_call_fail(call, text, length, NULL);
 *         else
 *             agent_tool_call_respond_json(call, text, length, NULL);
 *     }
 *
 *     static void done(void *userdata) { agent_tool_call_free((agent_tool_call_t *)userdata); }
 *
 *     static void middleware(void *userdata, agent_tool_call_t *call)
 *     {
 *         agent_tool_call_next(call, NULL, 0, after, call, done, NULL);
 *     }
 *
 * May be called several times, for example to retry.
 *
 * Errors: AGENT_INVALID_ARGUMENT (also arguments that are not a JSON object), AGENT_INVALID_STATE (the
 * call was already answered, or it is a tool's call and not a middleware's).
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API agent_status_t agent_tool_call_next(agent_tool_call_t *call, const char *arguments,
                                              size_t length, agent_tool_next_fn_t function,
                                              void *userdata, agent_destroy_fn_t destroy,
                                              agent_error_t **error);

/**
 * Releases a call. If it was not answered, it fails: the model reads that it was dropped.
 *
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API void agent_tool_call_free(agent_tool_call_t *call);

/* ================================================================================ agent ======== */

/**
 * Creates an agent, which keeps the runtime.
 *
 * model is "provider/id" ("anthropic/claude-sonnet-4-5", "openai/gpt-5") or a JSON object:
 *
 *     provider, id         as in the name; all other fields are optional
 *     protocol             the wire format, if not the provider's default: "anthropic",
 *                            "openai_responses", "openai_chat", "gemini",
 *                            "bedrock_converse" or "relay"
 *     base_url, headers    the server's address, and headers of each request to it
 *     project, location    on Vertex AI, instead of GOOGLE_CLOUD_PROJECT and GOOGLE_CLOUD_LOCATION;
 *                            location on Bedrock, instead of AWS_REGION
 *     api_version          on Azure, instead of AZURE_OPENAI_API_VERSION
 *     base_model           the entry of agent_models_json() that applies if id is a custom name (a
 *                            deployment on Azure, an alias): "openai/gpt-5"
 *     label, context_window, max_output_tokens, input, cost
 *                          properties of the model, as in agent_models_json()
 *     thinking             whether it supports thinking: true, false, or a value of the quirk thinking
 *     quirks               deviations of its server, by name
 *
 * docs/providers.md lists the providers, their keys, the quirks and their values. The provider
 * "scripted" plays a script, for tests:
 * {"provider": "scripted", "id": "any", "script": [[{"delta": "Hello"}, {"end": "stop"}]]}.
 *
 * Whether the provider, address and key can be used is checked when a run starts.
 *
 * Errors: AGENT_INVALID_ARGUMENT (model is neither "provider/id" nor a JSON object of these fields).
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API agent_status_t agent_new(agent_runtime_t *runtime, const char *model, size_t length,
                                   agent_t **agent, agent_error_t **error);

/* Settings. A change during a run takes effect at its next turn. */

/**
 * Replaces the model; see agent_new(). A key and headers that were set while the agent had a model of
 * another provider are not sent to the new one, unless the agent has a base_url.
 *
 * Errors: AGENT_INVALID_ARGUMENT (as agent_new(), or a model that cannot be used: nothing changes).
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API agent_status_t agent_set_model(agent_t *agent, const char *model, size_t length,
                                         agent_error_t **error);

/**
 * Replaces the system prompt.
 *
 * Errors: AGENT_INVALID_ARGUMENT.
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API agent_status_t agent_set_system_prompt(agent_t *agent, const char *text, size_t length,
                                                 agent_error_t **error);

/**
 * Replaces the API key. NULL for the provider's environment variable, such as OPENAI_API_KEY.
 *
 * Errors: AGENT_INVALID_ARGUMENT.
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API agent_status_t agent_set_api_key(agent_t *agent, const char *key, size_t length,
                                           agent_error_t **error);

/**
 * Replaces the server's address, with or without /v1; a key is then optional. NULL for the provider's
 * own address.
 *
 * Errors: AGENT_INVALID_ARGUMENT (also an address that cannot be used: nothing changes).
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API agent_status_t agent_set_base_url(agent_t *agent, const char *url, size_t length,
                                            agent_error_t **error);

/**
 * Sets options by name, from a JSON object: all of them or, on an error, none. null sets the default.
 *
 * <generated: options>
 *
 *   the conversation
 *     messages               The conversation so far. Not during a run. Default: none.
 *     record                 The file to which each run is appended, for "replay". Default: none.
 *     replay                 The recording from which models answer, instead of their servers: for
 *                            tests. Default: none.
 *     traces                 Whether runs, model calls and tool calls are spans and measurements of
 *                            OpenTelemetry. Default: none.
 *     trace_content          Whether spans also have the texts of messages, arguments and results.
 *                            Default: what "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
 *                            says, or else "false".
 *     traceparent            The value of a "traceparent" header, as W3C has it: the caller's
 *                            trace, which the spans of runs join. Default: the trace of the code
 *                            that starts the run.
 *     agent_name             The agent's name, in its spans. Default: of a subagent, the name of
 *                            its tool; else none.
 *     session_id             Identifies the conversation to providers that cache or route by it.
 *                            Default: none.
 *     system_prompt          The text that precedes the messages: instructions for the model.
 *                            Default: none.
 *     origin                 What the idempotency keys of the conversation's tool calls begin with.
 *                            Give it to stateless runs that go on with one conversation, and each
 *                            conversation its own. Default: the id of the conversation's first run.
 *
 *   the model and its requests
 *     model                  The model: "provider/id", or an object where that is not enough.
 *     base_url               The server's address, with or without "/v1". With one, a key is
 *                            optional. Default: the provider's.
 *     api_key                The API key; "keyring" for what "agent auth login" has stored for the
 *                            provider. Default: the provider's environment variable.
 *     fallbacks              Models that are called in this order when the model fails before its
 *                            first content and no retry is left. One of the same provider uses the
 *                            agent's address and key, another one its own. Default: none.
 *     headers                Headers of each request, beside those that are sent anyway, or in
 *                            their place. Default: none.
 *     network                Proxy, certificates and name resolution. Default: the environment's
 *                            proxy variables and the system's certificates.
 *     thinking_budgets       The token budget of each level, for models whose thinking has one.
 *                            Levels that are left out keep their default. Default: 1,024, 2,048,
 *                            8,192, 16,384 and 32,768 tokens from "minimal" to "xhigh".
 *     temperature            The sampling temperature; 0 is sent as 0. Default: the provider's.
 *     top_p                  Nucleus sampling: tokens are chosen from the most probable ones that
 *                            together have this probability, from 0 to 1. Default: the provider's.
 *     top_k                  Tokens are chosen from so many of the most probable ones. Default: the
 *                            provider's.
 *     seed                   The same request with the same seed gets the same answer, as far as
 *                            the provider can. Default: none.
 *     frequency_penalty      How much less probable a token becomes each time it is written, from
 *                            -2 to 2. Default: the provider's.
 *     presence_penalty       How much less probable a token becomes once it has been written, from
 *                            -2 to 2. Default: the provider's.
 *     max_tokens             The most tokens of a message, of thinking and answer together. Raised
 *                            where a thinking budget would leave none for the answer. Default: the
 *                            provider's.
 *     stop_sequences         Texts that end the answer when the model writes them. Default: none.
 *     tool_choice            Whether the model may, must or must not call tools, or the one that it
 *                            must call: "auto", "required", "none" or {"tool": name}. What it must
 *                            call is asked for until the first such call of a run. Default: the
 *                            provider's.
 *     cache_retention        How long the provider is asked to cache the prompt. One of "short",
 *                            "long", "none". Default: "short".
 *     extra_body             Fields of the body of each request, for what no option is there:
 *                            {"service_tier": "flex"}. An object is merged into the one that is
 *                            sent, null removes a field, and all else replaces it. Not the fields
 *                            that the engine decides, such as "messages", "tools" and "stream".
 *                            Default: none.
 *     hosted_tools           Tools that the provider runs itself, each as the provider describes
 *                            it: {"type": "web_search"}, {"google_search": {}}. One in the words of
 *                            another wire format is left out of a request. Default: none.
 *     thinking_level         How much thinking to ask for. One of "off", "minimal", "low",
 *                            "medium", "high", "xhigh". Default: "off".
 *     raw_events             Whether each frame is also emitted as the provider sent it, as a "raw"
 *                            event. Default: false.
 *
 *   the loop and its tools
 *     builtin_tools          Built-in tools for files, commands and notes, by their names. Default:
 *                            none.
 *     mcp                    Servers of the Model Context Protocol, whose tools are the agent's.
 *                            Default: none.
 *     max_turns              The most turns of one run; 0 for no limit. Default: 10.
 *     max_repeated_calls     How many identical tool calls in a row, of name and arguments, end the
 *                            run with outcome "stopped"; 0 for no limit. The calls run; polling a
 *                            state is such a row, too. Default: 0.
 *     max_subagent_depth     How many levels of subagents may be below a run; 0: its tools that run
 *                            an agent give an error result. Default: 4.
 *     steering_mode          How many messages one poll takes from the steering queue: the oldest
 *                            one, or all. One of "one_at_a_time", "all". Default: "one_at_a_time".
 *     follow_up_mode         How many messages one poll takes from the follow-up queue: the oldest
 *                            one, or all. One of "one_at_a_time", "all". Default: "one_at_a_time".
 *     gate                   Which tool calls run, which wait for a decision, and which are
 *                            refused: rules such as "run_command(git push *)". What no rule is
 *                            about is as the tool's "needs_approval" says. Default: none.
 *     steering_policy        What steering does to tool calls that have not started: they are
 *                            skipped, or run first. One of "skip_remaining", "after_batch".
 *                            Default: "skip_remaining".
 *     tool_execution         Whether the tool calls of a message run concurrently or sequentially.
 *                            One of "parallel", "sequential". Default: "parallel".
 *     max_parallel_tools     The most tool calls that run concurrently. Default: 8.
 *     validation             How tool arguments are validated: "coerce" also converts texts to what
 *                            the schema asks for ("5" to 5), "strict" does not, "off" checks
 *                            nothing. One of "coerce", "strict", "off". Default: "coerce".
 *     max_result_bytes       The most bytes of a tool result's text that the model receives; a
 *                            longer text is shortened. Default: 50,000.
 *     context                Keeps each request within a number of tokens: of a long conversation
 *                            the oldest exchanges are left out of it. The transcript keeps them.
 *                            Default: none: a request has all messages.
 *     output                 The type of a run's final answer: a JSON Schema, or an object where
 *                            that is not enough. The result has it as "output". Default: none: the
 *                            answer is text.
 *     output_retries         How often the model may correct a final answer that does not fit
 *                            "output". Default: 2.
 *
 *   limits and retries
 *     limiter                Limits that the model calls of several agents have in common: those of
 *                            one runtime share a limiter of the same value. Default: none.
 *     max_message_bytes      The most bytes of a model's message; one that grows larger is cut off
 *                            with an error. Default: 67,108,864.
 *     max_result_bytes_kept  The most bytes of a tool's result that are kept, its details included;
 *                            a larger one becomes an error result. Default: 16,777,216.
 *     max_transcript_bytes   The most bytes of the transcript, as JSON, that a model is called
 *                            with; 0 for no limit. Default: 0.
 *     abort_grace_ms         How long an aborted run waits for its tools, and for each listener, in
 *                            milliseconds. Default: 1,000.
 *     connect_timeout_ms     The time limit for opening a connection, in milliseconds; 0 for none.
 *                            Default: 10,000.
 *     first_byte_timeout_ms  The time limit until the first byte of a model's response, in
 *                            milliseconds; 0 for none. Default: 120,000.
 *     idle_timeout_ms        The time limit between two bytes of a model's response, in
 *                            milliseconds; 0 for none. Default: 120,000.
 *     request_timeout_ms     The time limit of one attempt of a model call, in milliseconds; 0 for
 *                            none. Default: 600,000.
 *     tool_timeout_ms        The time limit of a tool call, in milliseconds; 0 for none. Default:
 *                            0.
 *     run_timeout_ms         The time limit of a run, in milliseconds; 0 for none. Default: 0.
 *     listener_timeout_ms    How long a run waits for a listener, and for "after_run", in
 *                            milliseconds; 0 for no limit. Default: 30,000.
 *     max_cost               How many US dollars a run may use before it makes no further model
 *                            call. Its models need prices. Default: no limit.
 *     max_total_tokens       How many tokens a run may use, of prompts and answers, before it makes
 *                            no further model call. Default: no limit.
 *     max_output_tokens_total How many tokens a run may use for answers, thinking included, before
 *                            it makes no further model call. Default: no limit.
 *     max_tool_calls         The most tool calls of a run: those over it get an error result, and
 *                            no further model call is made. Default: no limit.
 *     max_run_ms             After how many milliseconds a run makes no further model call. What is
 *                            under way goes on. Default: no limit.
 *     max_retries            The most retries of a failed model call. Default: 2.
 *     retry_base_ms          The upper bound of the first backoff, in milliseconds; it doubles with
 *                            each retry. Default: 500.
 *     max_retry_delay_ms     The longest backoff, in milliseconds; a call whose provider demands a
 *                            longer one fails. Default: 60,000.
 *
 * </generated>
 *
 * An option that the model does not support is omitted from the request and reported once per run by an
 * AGENT_EVENT_DIAGNOSTIC with the code "option_ignored". Unusable fallbacks are refused, like the model.
 * network is an object with any of {"proxy": address or false, "no_proxy": hosts,
 * "ca_file": path, "client_certificate": path, "client_key": path, "roots": "system", "bundled" or "both",
 * "resolve": {host: address}}; see docs/network.md. mcp is a list of objects {"command": program, "args": […]}
 * or {"url": address, "headers": {…}}; see docs/mcp.md.
 *
 * Errors: AGENT_INVALID_ARGUMENT (json is not an object, an unknown option, a wrong value), AGENT_BUSY
 * (messages, while a run is active).
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API agent_status_t agent_set_json(agent_t *agent, const char *json, size_t length,
                                        agent_error_t **error);

/**
 * Adds a tool. The agent keeps it as it is now; later changes of the handle do not affect the agent.
 *
 * Errors: AGENT_INVALID_ARGUMENT (also if the agent has a tool of the same name).
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API agent_status_t agent_add_tool(agent_t *agent, const agent_tool_t *tool,
                                        agent_error_t **error);

/**
 * Removes the tool of this name. Calls of it that are active continue.
 *
 * Errors: AGENT_INVALID_ARGUMENT, AGENT_NOT_FOUND (the agent has no such tool).
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API agent_status_t agent_remove_tool(agent_t *agent, const char *name, size_t length,
                                           agent_error_t **error);

/**
 * Loads a plugin and adds what it has to an agent: its tools, hooks, middleware and providers, all of
 * them, or on an error nothing. agent_plugin.h is for who writes one; docs/plugins.md is the guide.
 *
 * path is that of a shared library, with a folder: plugins are not searched for. The library is loaded into
 * this process and may do what the process may, so it must be trusted as one that is linked. It stays
 * loaded until the process ends. Add it to several agents by calling this for each.
 *
 * What the agent has from plugins stays when its own tools are replaced; a hook that is set later takes the
 * place of a plugin's. Effective from the next turn on.
 *
 * Errors: AGENT_NOT_FOUND: there is no such file. AGENT_INVALID_ARGUMENT: no plugin, one of an older ABI or
 * for another processor, or a tool of a name that is taken. AGENT_NEWER_VERSION: the plugin needs a newer
 * version of the library. AGENT_INVALID_STATE: a hook or a provider that the agent already has. AGENT_IO:
 * the system's loader refused it. And what agent_plugin_register() of the plugin fails with. A library that was
 * built without the feature "plugins" does not have this function.
 * Threads: any. Callbacks: all but destroy and wakeup. Since 0.1.
 */
AGENT_API agent_status_t agent_add_plugin(agent_t *agent, const char *path, size_t length,
                                          agent_error_t **error);

/**
 * Adds a middleware to the chain around tool execution, inside those added before. It cannot be removed.
 *
 * The function is called instead of the tool, with a call like a tool's, on a thread where it may
 * block. It may run the rest of the chain, with agent_tool_call_next(), and answers the call: with the
 * result it received, with another one, or without having run the tool.
 *
 * Errors: AGENT_INVALID_ARGUMENT.
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API agent_status_t agent_add_middleware(agent_t *agent, agent_tool_fn_t function,
                                              void *userdata, agent_destroy_fn_t destroy,
                                              agent_error_t **error);

/* ---- runs ------------------------------------------------------------------------------------ */

/**
 * Starts a run with a user message. run receives an owned handle; if run is NULL, the run continues
 * without one, for listeners alone.
 *
 * Errors: AGENT_INVALID_ARGUMENT (also a text of nothing but white space; a model or fallback that cannot
 * be used: an unknown provider without an address, an unknown protocol or quirk, an invalid address or
 * script; a tool_choice of a tool that the agent does not have), AGENT_BUSY (a run is active),
 * AGENT_INVALID_STATE (in a callback of the same agent, after the shutdown of the runtime, in a forked
 * child).
 * Threads: any. Callbacks: not of the same agent. Since 0.1.
 */
AGENT_API agent_status_t agent_prompt(agent_t *agent, const char *text, size_t length,
                                      agent_run_t **run, agent_error_t **error);

/**
 * Starts a run with messages, for example with files. The list is copied.
 *
 * Errors: as agent_prompt(): AGENT_INVALID_ARGUMENT (also an empty list, and a user message without an
 * image and without text), AGENT_BUSY, AGENT_INVALID_STATE.
 * Threads: any. Callbacks: not of the same agent. Since 0.1.
 */
AGENT_API agent_status_t agent_prompt_messages(agent_t *agent, const agent_messages_t *messages,
                                               agent_run_t **run, agent_error_t **error);

/**
 * Starts a run with messages and with options of its own: a JSON object of options as agent_set_json() takes
 * them, in place of those of the agent, which stay as they are: {"temperature": 0, "output": {...}}. Headers
 * are sent beside the agent's. Options of the model's server and of the conversation (model, base_url,
 * api_key, fallbacks, network, messages, record, replay, origin) are the agent's alone.
 *
 * Errors: as agent_prompt_messages(): AGENT_INVALID_ARGUMENT (also an unknown or wrong option, and one that
 * is the agent's alone), AGENT_BUSY, AGENT_INVALID_STATE.
 * Threads: any. Callbacks: not of the same agent. Since 0.1.
 */
AGENT_API agent_status_t agent_prompt_options(agent_t *agent, const agent_messages_t *messages,
                                              const char *options, size_t length,
                                              agent_run_t **run, agent_error_t **error);

/**
 * Starts a run from the current transcript, adding no message. After a failed run this retries it. If
 * the transcript ends with an assistant message, the run begins with messages of the steering queue,
 * else of the follow-up queue. Failed messages and custom roles at the end are ignored.
 *
 * Errors: as agent_prompt(): AGENT_INVALID_ARGUMENT, AGENT_BUSY, AGENT_INVALID_STATE (also if the
 * transcript is empty, or ends with an assistant message while both queues are empty).
 * Threads: any. Callbacks: not of the same agent. Since 0.1.
 */
AGENT_API agent_status_t agent_resume(agent_t *agent, agent_run_t **run, agent_error_t **error);

/**
 * Starts a run that continues with the calls that wait for a decision: those of the outcome
 * AGENT_OUTCOME_SUSPENDED, "pending" in agent_run_json() and agent_state_json(). decisions is a JSON
 * object with a decision for each, by its "tool_call_id":
 *
 *     "approve"               it runs with the arguments that it waits with
 *     "approve_always"        the same, and calls like it (its "rule") run without a question from now on
 *     "deny"                  it does not run; its result is an error
 *     {"deny": "reason"}      the same, with a reason for the model
 *     "deny_always", {"deny_always": "reason"}
 *                             the same, and calls like it do not run from now on
 *     {"arguments": {...}}    it runs with these arguments, which are validated
 *     {"result": ...}         it does not run; this is its result, as a tool returns it
 *
 * All of them are decided, or nothing runs. Otherwise as agent_resume(). While calls wait, agent_prompt()
 * and agent_append_messages() are AGENT_INVALID_STATE; agent_reset(), agent_clear_messages() and
 * agent_set_messages() discard them.
 *
 * Errors: as agent_prompt(): AGENT_INVALID_ARGUMENT (also a decision for a call that does not wait, none
 * for one that waits, arguments that do not fit), AGENT_BUSY, AGENT_INVALID_STATE.
 * Threads: any. Callbacks: not of the same agent. Since 0.1.
 */
AGENT_API agent_status_t agent_resume_decided(agent_t *agent, const char *decisions, size_t length,
                                              agent_run_t **run, agent_error_t **error);

/**
 * Starts a run as agent_resume(), or with decisions as agent_resume_decided(), with options of its own: a JSON
 * object, as agent_prompt_options() takes it. A run has none of the options of the run before. decisions may be
 * NULL.
 *
 * Errors: as agent_resume_decided(): AGENT_INVALID_ARGUMENT (also as agent_prompt_options()), AGENT_BUSY,
 * AGENT_INVALID_STATE.
 * Threads: any. Callbacks: not of the same agent. Since 0.1.
 */
AGENT_API agent_status_t agent_resume_options(agent_t *agent, const char *decisions, size_t decisions_length,
                                              const char *options, size_t length,
                                              agent_run_t **run, agent_error_t **error);

/**
 * Starts a run if a message waits in a queue, as agent_resume(); the messages may also begin a
 * conversation. Returns AGENT_DONE, and leaves run as it is, if none waits. For messages that were
 * queued when no run was active any more (AGENT_QUEUED), or were left by one ("queued" of agent_end).
 *
 * Errors: as agent_prompt(): AGENT_INVALID_ARGUMENT, AGENT_BUSY, AGENT_INVALID_STATE.
 * Threads: any. Callbacks: not of the same agent. Since 0.1.
 */
AGENT_API agent_status_t agent_resume_if_queued(agent_t *agent, agent_run_t **run,
                                                agent_error_t **error);

/**
 * Ends the active run, if there is one, after its current turn: see agent_run_stop_after_turn().
 *
 * Errors: AGENT_INVALID_ARGUMENT.
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API agent_status_t agent_stop_after_turn(agent_t *agent, agent_error_t **error);

/**
 * Aborts the active run, if there is one. Returns immediately; the run ends with its usual events.
 *
 * Errors: AGENT_INVALID_ARGUMENT.
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API agent_status_t agent_abort(agent_t *agent, agent_error_t **error);

/**
 * Blocks until no run is active and all listeners have returned, and returns AGENT_OK then; immediately
 * if no run was active. Returns AGENT_PENDING when timeout_ms (below 0: no limit) passed first.
 *
 * Errors: AGENT_INVALID_ARGUMENT, AGENT_INVALID_STATE (in a callback of the same agent).
 * Threads: any. Callbacks: not of the same agent; not destroy and wakeup. Since 0.1.
 */
AGENT_API agent_status_t agent_wait_for_idle(const agent_t *agent, int64_t timeout_ms,
                                             agent_error_t **error);

/**
 * Blocks until the agent's servers of the Model Context Protocol (the option "mcp") are connected to, which
 * otherwise the first run does: agent_state_json() then has their tools. A library that was built without the
 * feature "mcp" has neither this function nor the next ones.
 *
 * Errors: AGENT_INVALID_ARGUMENT, AGENT_IO, AGENT_CONNECTION, AGENT_TIMEOUT, AGENT_AUTHENTICATION (a server that
 * cannot be reached and is not optional), AGENT_INVALID_STATE, AGENT_ABORTED (the runtime was shut down).
 * Threads: any. Callbacks: none of this runtime; not destroy and wakeup. Since 0.1.
 */
AGENT_API agent_status_t agent_connect_mcp(agent_t *agent, agent_error_t **error);

/**
 * The tools that the agent's servers give it, in the order in which the model has them, as a JSON array of objects
 * {"name": by which the model calls it, "server", "server_tool": the name that the server has for it, or null for
 * one that stands for its resources or prompts, "description", "input_schema", "annotations": an object or null,
 * "needs_approval"}. Connects to the servers if need be, and blocks as long; of an optional one that cannot be
 * reached there are none. Release *tools with agent_text_free().
 *
 * Errors: AGENT_INVALID_ARGUMENT, AGENT_IO, AGENT_CONNECTION, AGENT_TIMEOUT, AGENT_AUTHENTICATION (a server that
 * cannot be reached and is not optional), AGENT_INVALID_STATE, AGENT_ABORTED (the runtime was shut down).
 * Threads: any. Callbacks: none of this runtime; not destroy and wakeup. Since 0.1.
 */
AGENT_API agent_status_t agent_mcp_tools(agent_t *agent, agent_text_t **tools, agent_error_t **error);

/**
 * Serves the agent as a server of the Model Context Protocol over the process's standard input and output, and
 * blocks until the input ends: to a client the agent is a tool, whose call is a run. Its runs are aborted then.
 * Standard output is the protocol's alone meanwhile: print to standard error. options is NULL, or a JSON object
 * {"name": of the tool, "ask" by default, "description", "server_name", "tools": whether the agent's own tools are
 * there, too, "keep_conversation": whether calls go on with the agent's conversation}; see docs/mcp.md.
 *
 * Errors: AGENT_INVALID_ARGUMENT (an unknown or wrong option, a name that one of the agent's tools has),
 * AGENT_INVALID_STATE (standard input is served already), AGENT_IO (the system gives no thread), AGENT_ABORTED
 * (the runtime was shut down). Threads: any. Callbacks: none of this runtime; not destroy and wakeup. Since 0.1.
 */
AGENT_API agent_status_t agent_serve_mcp(agent_t *agent, const char *options, size_t length,
                                         agent_error_t **error);

/**
 * Closes the connections to the agent's servers, and blocks until their processes have ended. The next run
 * connects again. When the last agent is freed that has a server, its connection is closed without waiting.
 *
 * Errors: AGENT_INVALID_ARGUMENT, AGENT_INVALID_STATE, AGENT_ABORTED (the runtime was shut down).
 * Threads: any. Callbacks: none of this runtime; not destroy and wakeup. Since 0.1.
 */
AGENT_API agent_status_t agent_close_mcp(agent_t *agent, agent_error_t **error);

/* ---- queued messages ------------------------------------------------------------------------- */

/**
 * Queues a user message as steering for the active run, or the next one. It is appended as soon as
 * possible: before the first model call, after a turn, or between the tool calls of a turn, of which
 * those not yet started are skipped (option steering_policy). Nothing is lost: what a run has not
 * appended stays queued for the next.
 *
 * Returns AGENT_OK if a run is active: it takes the message up, or counts it in "queued" of its
 * agent_end. Returns AGENT_QUEUED if none is: agent_resume_if_queued() starts one for the message.
 *
 * Errors: AGENT_INVALID_ARGUMENT (also a text of nothing but white space).
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API agent_status_t agent_steer(agent_t *agent, const char *text, size_t length,
                                     agent_error_t **error);

/**
 * Queues messages as steering, like agent_steer(). The list is copied.
 *
 * Errors: AGENT_INVALID_ARGUMENT.
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API agent_status_t agent_steer_messages(agent_t *agent, const agent_messages_t *messages,
                                              agent_error_t **error);

/**
 * Queues a user message as follow-up: it starts another turn when the run would have ended. Returns
 * AGENT_OK or AGENT_QUEUED, as agent_steer().
 *
 * Errors: AGENT_INVALID_ARGUMENT.
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API agent_status_t agent_follow_up(agent_t *agent, const char *text, size_t length,
                                         agent_error_t **error);

/**
 * Queues messages as follow-up, like agent_follow_up(). The list is copied.
 *
 * Errors: AGENT_INVALID_ARGUMENT.
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API agent_status_t agent_follow_up_messages(agent_t *agent, const agent_messages_t *messages,
                                                  agent_error_t **error);

/**
 * Removes from the steering queue all messages that are not part of a turn yet.
 *
 * Errors: AGENT_INVALID_ARGUMENT.
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API agent_status_t agent_clear_steering_queue(agent_t *agent, agent_error_t **error);

/**
 * Removes from the follow-up queue all messages that are not part of a turn yet.
 *
 * Errors: AGENT_INVALID_ARGUMENT.
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API agent_status_t agent_clear_follow_up_queue(agent_t *agent, agent_error_t **error);

/**
 * Clears both queues, as agent_clear_steering_queue() and agent_clear_follow_up_queue().
 *
 * Errors: AGENT_INVALID_ARGUMENT.
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API agent_status_t agent_clear_all_queues(agent_t *agent, agent_error_t **error);

/**
 * Returns whether a message is in either queue and not yet appended to the transcript.
 *
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API bool agent_has_queued_messages(const agent_t *agent);

/* ---- listeners ------------------------------------------------------------------------------- */

/**
 * Adds a listener: a function that is called with each event of this agent's runs, which block until it
 * returns. Listeners are called in the order in which they were added.
 *
 * A listener that has not returned after listener_timeout_ms (after an abort: abort_grace_ms) is left:
 * the run continues, a diagnostic "listener_left" has the listener's number, and the listener is called
 * with no event until it returns. Then "listener_back" says how many events it has missed.
 *
 * A listener stays until agent_unsubscribe() or the end of the agent, which after agent_free() is the
 * end of its active run. subscription receives its number, for agent_unsubscribe() and as diagnostics
 * have it: 1 for the first one. It may be NULL.
 *
 * Errors: AGENT_INVALID_ARGUMENT.
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API agent_status_t agent_subscribe(agent_t *agent, agent_event_fn_t function, void *userdata,
                                         agent_destroy_fn_t destroy, uint64_t *subscription,
                                         agent_error_t **error);

/**
 * Removes a listener. It is not called again, but a call may still be in progress on another thread.
 *
 * Errors: AGENT_INVALID_ARGUMENT, AGENT_NOT_FOUND (the agent has no such subscription).
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API agent_status_t agent_unsubscribe(agent_t *agent, uint64_t subscription,
                                           agent_error_t **error);

/* ---- the conversation ------------------------------------------------------------------------ */

/**
 * Returns a snapshot of the state in JSON: {system_prompt, model, thinking_level, tools, messages,
 * is_streaming, streaming_message, pending_tool_calls, pending?, error, listener_errors}. state receives an
 * owned text. Does not wait for an active run.
 *
 * Errors: AGENT_INVALID_ARGUMENT.
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API agent_status_t agent_state_json(const agent_t *agent, agent_text_t **state,
                                          agent_error_t **error);

/**
 * Returns the conversation as one JSON text, to continue it in another process or language: messages,
 * queues, and calls that wait for a decision. It has no settings, no tools and no keys. text receives an
 * owned text.
 *
 * key is key_length bytes of the host's (AGENT_NTS: up to the NUL), at least 32 random ones, or NULL. With
 * a key the text has a signature (HMAC-SHA256), and agent_from_export() refuses what was changed. A
 * signature stops changes, not reuse: an older text of the same conversation has a valid one, too.
 *
 * Errors: AGENT_INVALID_ARGUMENT (also a key of less than 32 bytes), AGENT_BUSY (a run is active).
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API agent_status_t agent_export(const agent_t *agent, const char *key, size_t key_length,
                                      agent_text_t **text, agent_error_t **error);

/**
 * Replaces the agent's conversation by one that agent_export() returned, in any language.
 *
 * Errors: AGENT_INVALID_ARGUMENT (no export; with a key: not signed, signed with another key, or changed;
 * without one: signed), AGENT_NEWER_VERSION (of a newer version of this library), AGENT_BUSY (a run is
 * active).
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API agent_status_t agent_from_export(agent_t *agent, const char *text, size_t length,
                                           const char *key, size_t key_length, agent_error_t **error);

/**
 * Returns a snapshot of the transcript: the messages of all message_end events so far. messages
 * receives an owned list, to which later messages are not added.
 *
 * Errors: AGENT_INVALID_ARGUMENT.
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API agent_status_t agent_messages(const agent_t *agent, agent_messages_t **messages,
                                        agent_error_t **error);

/**
 * Replaces the transcript. The list is copied.
 *
 * Errors: AGENT_INVALID_ARGUMENT, AGENT_BUSY (a run is active).
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API agent_status_t agent_set_messages(agent_t *agent, const agent_messages_t *messages,
                                            agent_error_t **error);

/**
 * Appends messages to the transcript. The list is copied.
 *
 * Errors: AGENT_INVALID_ARGUMENT, AGENT_BUSY (a run is active).
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API agent_status_t agent_append_messages(agent_t *agent, const agent_messages_t *messages,
                                               agent_error_t **error);

/**
 * Takes back the newest writes of the built-in tools write_file and edit_file, and commits of git, in this
 * conversation (the option "builtin_tools") that were not taken back: count of them, or all if there are fewer, the
 * newest first. It stops at a file that was changed since, and at a commit that others followed. What was taken back
 * is appended to the transcript as a message of the role "undo_writes". Blocks while it writes. undone receives a
 * JSON object {"undone": [{"path", "action": "removed", "restored" or "uncommitted", "tool_call_id"}], "refused":
 * null, or {"path", "reason"} of the write at which it has stopped}; path is of a commit its id.
 * Release *undone with agent_text_free(). A library that was built without the feature "tools" does not have this
 * function. See docs/builtin-tools.md.
 *
 * Errors: AGENT_INVALID_ARGUMENT, AGENT_BUSY (a run is active), AGENT_INVALID_STATE (the agent has no built-in
 * tools; calls wait for a decision).
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API agent_status_t agent_undo_writes(agent_t *agent, size_t count, agent_text_t **undone,
                                           agent_error_t **error);

/**
 * Removes all messages from the transcript.
 *
 * Errors: AGENT_INVALID_ARGUMENT, AGENT_BUSY (a run is active).
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API agent_status_t agent_clear_messages(agent_t *agent, agent_error_t **error);

/**
 * Clears the transcript, both queues, the last error, and what was decided for always. Settings, tools and
 * listeners stay.
 *
 * Errors: AGENT_INVALID_ARGUMENT, AGENT_BUSY (a run is active).
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API agent_status_t agent_reset(agent_t *agent, agent_error_t **error);

/**
 * Forgets what was decided for always about a rule of "remembered" in agent_state_json(); NULL: all of it.
 * A rule that is not remembered is none to forget.
 *
 * Errors: AGENT_INVALID_ARGUMENT (also a text that is no rule), AGENT_BUSY (a run is active).
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API agent_status_t agent_forget(agent_t *agent, const char *rule, size_t length, agent_error_t **error);

/**
 * Releases an agent. An active run continues, with its listeners, tools and hooks.
 *
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API void agent_free(agent_t *agent);

/* ================================================================================ message ====== */

/**
 * Creates an empty list. messages receives an owned handle.
 *
 * Errors: AGENT_INVALID_ARGUMENT.
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API agent_status_t agent_messages_new(agent_messages_t **messages, agent_error_t **error);

/**
 * Creates a list from a JSON array of messages, as agent_messages_json() writes it. messages receives
 * an owned handle. A message may have an "id", a string that no other message of its transcript has, and
 * "metadata", any JSON: both are kept, and never sent to a model.
 *
 * Errors: AGENT_INVALID_ARGUMENT (also invalid JSON, not an array, an invalid message, a field or a role
 * of another format: names its index).
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API agent_status_t agent_messages_from_json(const char *json, size_t length,
                                                  agent_messages_t **messages,
                                                  agent_error_t **error);

/**
 * Creates a list from a stored history: as agent_messages_from_json(), but fields that no message has are
 * moved to the message's "metadata": {"unknown": {...}}, and so is an "id" that is not a string or is
 * there twice. agent_messages_check() and each run report such messages (unknown_field).
 *
 * Errors: AGENT_INVALID_ARGUMENT (also invalid JSON, not an array, a message without role or content:
 * names its index).
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API agent_status_t agent_messages_from_history(const char *json, size_t length,
                                                     agent_messages_t **messages,
                                                     agent_error_t **error);

/**
 * Appends a user message to the list.
 *
 * Errors: AGENT_INVALID_ARGUMENT.
 * Threads: one at a time. Callbacks: all. Since 0.1.
 */
AGENT_API agent_status_t agent_messages_add_user(agent_messages_t *messages, const char *text,
                                                 size_t length, agent_error_t **error);

/**
 * Reads a file and appends it to the last message of the list, if it is a user message, and else as a new
 * one: an image, audio, or else a document with the file's name. mime_type may be NULL: the type is
 * recognised by the file's first bytes or by the end of its name. For a file at an address use
 * agent_messages_add_json(). What a model cannot take becomes a line of text for it (docs/input.md). The
 * call blocks while the file is read.
 *
 * Errors: AGENT_INVALID_ARGUMENT (also an empty file, or one of a type that is not recognised), AGENT_IO.
 * Threads: one at a time. Callbacks: all. Since 0.1.
 */
AGENT_API agent_status_t agent_messages_add_file(agent_messages_t *messages, const char *path,
                                                 size_t path_length, const char *mime_type,
                                                 size_t mime_type_length, agent_error_t **error);

/**
 * Appends a message in JSON: {"role": "user" | "assistant" | "tool_result" | a custom role, "content",
 * ...}, for example {"role": "user", "content": [{"type": "text", "text": "What is this?"},
 * {"type": "image", "url": "https://..."}]}. A file is a block of the type "image", "document" (which may
 * have a "name") or "audio", with "data" (base64) and "mime_type", or with a "url". A string or an array of blocks is a user
 * message with this content, and an array of messages is appended as a whole.
 *
 * Errors: AGENT_INVALID_ARGUMENT (also invalid JSON, an invalid message or an empty array). Nothing is
 * appended then.
 * Threads: one at a time. Callbacks: all. Since 0.1.
 */
AGENT_API agent_status_t agent_messages_add_json(agent_messages_t *messages, const char *json,
                                                 size_t length, agent_error_t **error);

/* Functions that read a list may be called on any thread while no thread appends to it. */

/**
 * Returns the number of messages.
 *
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API size_t agent_messages_count(const agent_messages_t *messages);

/**
 * Returns the role of the message at an index from 0: "user", "assistant", "tool_result" or a custom
 * role. NULL beyond the last. Borrowed until the list is freed.
 *
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API const char *agent_messages_role(const agent_messages_t *messages, size_t index,
                                          size_t *length);

/**
 * Returns the text of the message at an index from 0: its text blocks, concatenated. NULL beyond the
 * last. Borrowed until the list is freed.
 *
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API const char *agent_messages_text(const agent_messages_t *messages, size_t index,
                                          size_t *length);

/**
 * Returns the message at an index from 0 as JSON. NULL beyond the last. Borrowed until the list is
 * freed.
 *
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API const char *agent_messages_json_at(const agent_messages_t *messages, size_t index,
                                             size_t *length);

/**
 * Returns all messages as a JSON array, which agent_messages_from_json() reads. Borrowed until a message
 * is appended or the list is freed.
 *
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API const char *agent_messages_json(const agent_messages_t *messages, size_t *length);

/**
 * Makes a transcript valid for a model, as every request does by itself: for conversations from
 * elsewhere, or to inspect one before it is used. model is as in agent_new().
 *
 * repaired receives an owned list. repairs, unless NULL, receives an owned text: a JSON array of {code,
 * message_index, content_index?, text}, in the order of the messages; "[]" if nothing was repaired.
 * docs/transcript.md lists the codes. messages is not changed.
 *
 * Failed messages are omitted, together with the results of their calls; each call gets one result,
 * directly after its message; ids, thinking, signatures and images are converted to what the model
 * accepts. Messages of custom roles are omitted.
 *
 * Errors: AGENT_INVALID_ARGUMENT (also a model that cannot be used, as agent_prompt() refuses it).
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API agent_status_t agent_messages_repair(const agent_messages_t *messages, const char *model,
                                               size_t length, agent_messages_t **repaired,
                                               agent_text_t **repairs, agent_error_t **error);

/**
 * Reports what agent_messages_repair() would do. repairs receives an owned text: "[]" if the transcript
 * is valid for the model.
 *
 * Errors: AGENT_INVALID_ARGUMENT (also a model that cannot be used, as agent_prompt() refuses it).
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API agent_status_t agent_messages_check(const agent_messages_t *messages, const char *model,
                                              size_t length, agent_text_t **repairs,
                                              agent_error_t **error);

/**
 * Reads messages of another program. format is one of
 *
 *     openai_chat        the messages of OpenAI's Chat Completions and compatible servers
 *     openai_responses   the items of OpenAI's Responses: an input, a response's output
 *     anthropic          the messages of Anthropic's API
 *     gemini             the contents of Gemini
 *     ai_sdk             UIMessages of the AI SDK, versions 5 to 7
 *     pi                 a session of pi: the lines of its file, or its entries or messages in an array
 *
 * json is the array. model, unless NULL, is as in agent_new(): who wrote what the model said, where the
 * messages do not say it, so that its signatures go back to that model.
 *
 * messages receives an owned list. system_prompt, unless NULL, receives an owned text: what system and
 * developer messages said, "" without any. losses, unless NULL, receives an owned text: a JSON array of
 * {index, code, message} for what was not carried over; index is that of the message given, and
 * docs/transcripts.md lists the codes.
 *
 * Errors: AGENT_INVALID_ARGUMENT (with the JSON pointer of what is wrong; also a model that cannot be used).
 * A library that was built without the feature "transcripts" has neither this function nor the next one.
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API agent_status_t agent_messages_import(const char *format, size_t format_length, const char *json,
                                               size_t json_length, const char *model, size_t model_length,
                                               agent_messages_t **messages, agent_text_t **system_prompt,
                                               agent_text_t **losses, agent_error_t **error);

/**
 * Writes messages for another program. format is as in agent_messages_import(). system_prompt, which may
 * be NULL, becomes the first message where the format has a place for it; else it is among the losses.
 *
 * json receives an owned text: an array in the format's own JSON; of pi, the lines of a session's file.
 * losses, unless NULL, is as in agent_messages_import(); index is that of the message in messages, which is
 * not changed.
 *
 * Errors: AGENT_INVALID_ARGUMENT.
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API agent_status_t agent_messages_export(const agent_messages_t *messages, const char *format,
                                               size_t format_length, const char *system_prompt,
                                               size_t system_prompt_length, agent_text_t **json,
                                               agent_text_t **losses, agent_error_t **error);

/**
 * Returns how many tokens the messages have for a model, about: by their characters, and 1,500 for an image.
 *
 * Returns 0 for NULL.
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API uint64_t agent_messages_estimate_tokens(const agent_messages_t *messages);

/**
 * Gives the last messages of a transcript, for AGENT_HOOK_TRANSFORM_CONTEXT, where what is left out stays in
 * the transcript.
 *
 * recent receives an owned list of at most count messages, which begins with a user's message, so that no
 * result is cut from its call. If the last user's message is farther back: all that follows it. Without any:
 * all. The messages are shared, not copied.
 *
 * Errors: AGENT_INVALID_ARGUMENT.
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API agent_status_t agent_messages_recent(const agent_messages_t *messages, size_t count,
                                               agent_messages_t **recent, agent_error_t **error);

/**
 * Releases a list. Borrowed lists (const agent_messages_t *) must not be freed.
 *
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API void agent_messages_free(agent_messages_t *messages);

/* ================================================================================ run ========== */

/**
 * Returns the run's id, which all its events have. Borrowed until the run is freed.
 *
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API const char *agent_run_id(const agent_run_t *run, size_t *length);

/**
 * Returns the next event, and blocks for at most timeout_ms (below 0: no limit; 0: does not block) if
 * none is queued. event is borrowed until the next call or until the run is freed.
 *
 * Returns AGENT_OK with an event, and AGENT_PENDING when none came in time. Returns AGENT_DONE after the
 * last event, when the run is over and the agent idle, at each further call, and after agent_run_wait():
 * agent_run_outcome() and the functions after it then have the result. It does so, too, if the run has
 * failed or was aborted: a negative status is an error of this call, agent_run_error() that of the run.
 *
 * Errors: AGENT_INVALID_ARGUMENT, AGENT_INVALID_STATE (in a callback of the same agent; another thread
 * is pulling this run).
 * Threads: one at a time. Callbacks: not of the same agent; destroy and wakeup only with timeout_ms 0.
 * Since 0.1.
 */
AGENT_API agent_status_t agent_run_next(agent_run_t *run, int64_t timeout_ms,
                                        const agent_event_t **event, agent_error_t **error);

/**
 * Blocks until the run is over, and discards its unread events. Returns AGENT_OK then, however the run
 * has ended; see agent_run_outcome(). Returns AGENT_PENDING when timeout_ms (below 0: no limit) passed
 * first; events that come later are discarded, too, and agent_run_next() only waits for the end.
 *
 * Errors: AGENT_INVALID_ARGUMENT, AGENT_INVALID_STATE (in a callback of the same agent; another thread
 * is pulling this run).
 * Threads: any. Callbacks: not of the same agent; not destroy and wakeup. Since 0.1.
 */
AGENT_API agent_status_t agent_run_wait(agent_run_t *run, int64_t timeout_ms,
                                        agent_error_t **error);

/**
 * Sets a function that is called whenever the run becomes readable: an event is queued or the run has
 * ended. If it is readable now, it is called before this returns. Replaces the function set before; NULL
 * removes it.
 *
 * The function runs on any thread and should only wake an event loop, which then pulls with a timeout
 * of 0 until AGENT_PENDING or AGENT_DONE.
 *
 * Errors: AGENT_INVALID_ARGUMENT, AGENT_INVALID_STATE (another thread is pulling this run).
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API agent_status_t agent_run_set_wakeup(agent_run_t *run, agent_wakeup_fn_t function,
                                              void *userdata, agent_destroy_fn_t destroy,
                                              agent_error_t **error);

/**
 * Returns a file descriptor for poll() and the like: it is readable (level-triggered) while events are
 * queued or the run is over. Neither read from it nor close it. Valid until the run is freed; further
 * calls return the same one. Only on Unix.
 *
 * Errors: AGENT_INVALID_ARGUMENT, AGENT_INVALID_STATE (another thread is pulling this run), AGENT_IO
 * (the process has no descriptor left; not a Unix system).
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API agent_status_t agent_run_fd(agent_run_t *run, int *fd, agent_error_t **error);

/**
 * Queues a user message as steering, like agent_steer(), and returns the same. After the end of the run
 * it goes to the agent's queue.
 *
 * Errors: AGENT_INVALID_ARGUMENT, AGENT_INVALID_STATE (a stateless run that is over has no queue).
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API agent_status_t agent_run_steer(agent_run_t *run, const char *text, size_t length,
                                         agent_error_t **error);

/**
 * Queues messages as steering, like agent_run_steer(). The list is copied.
 *
 * Errors: AGENT_INVALID_ARGUMENT, AGENT_INVALID_STATE (a stateless run that is over has no queue).
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API agent_status_t agent_run_steer_messages(agent_run_t *run,
                                                  const agent_messages_t *messages,
                                                  agent_error_t **error);

/**
 * Queues a user message as follow-up, like agent_follow_up(), and returns the same. After the end of the
 * run it goes to the agent's queue.
 *
 * Errors: AGENT_INVALID_ARGUMENT, AGENT_INVALID_STATE (a stateless run that is over has no queue).
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API agent_status_t agent_run_follow_up(agent_run_t *run, const char *text, size_t length,
                                             agent_error_t **error);

/**
 * Queues messages as follow-up, like agent_run_follow_up(). The list is copied.
 *
 * Errors: AGENT_INVALID_ARGUMENT, AGENT_INVALID_STATE (a stateless run that is over has no queue).
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API agent_status_t agent_run_follow_up_messages(agent_run_t *run,
                                                      const agent_messages_t *messages,
                                                      agent_error_t **error);

/**
 * Ends the run after its current turn, as AGENT_HOOK_SHOULD_STOP_AFTER_TURN does: the calls of the turn run,
 * no queue is polled, and the outcome is AGENT_OUTCOME_STOPPED. agent_resume() continues. Has no effect on a
 * run that is over.
 *
 * Errors: AGENT_INVALID_ARGUMENT.
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API agent_status_t agent_run_stop_after_turn(agent_run_t *run, agent_error_t **error);

/**
 * Aborts the run. Returns immediately; the run ends with its usual events. May be called several times;
 * has no effect on a run that is over.
 *
 * Errors: AGENT_INVALID_ARGUMENT.
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API agent_status_t agent_run_abort(agent_run_t *run, agent_error_t **error);

/* The result of a run. These functions return NULL or 0 until the run is over. */

/**
 * Returns why the run ended: AGENT_OUTCOME_...
 *
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API int32_t agent_run_outcome(const agent_run_t *run);

/**
 * Returns an outcome as a word, such as "completed"; NULL for AGENT_OUTCOME_NONE and unknown values.
 * Static.
 *
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API const char *agent_outcome_name(int32_t outcome);

/**
 * Returns the text of the last assistant message; empty if it has none, or there is no such message.
 * Borrowed until the run is freed.
 *
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API const char *agent_run_text(const agent_run_t *run, size_t *length);

/**
 * Returns the typed final answer that the option output asked for, in JSON. NULL if the run has none: it
 * was not asked for, the model refused, or the run ended before it was given. Borrowed until the run is
 * freed. agent_json_parse() makes it a handle, of which agent_json_get_string() and its kin read the values.
 *
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API const char *agent_run_output(const agent_run_t *run, size_t *length);

/**
 * Returns why the model stopped, of the last assistant message: a word as of agent_event_stop_reason(). A
 * run is completed, too, if its answer was cut ("length") or refused ("refusal"), perhaps without a text.
 * NULL without an assistant message. Borrowed until the run is freed.
 *
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API const char *agent_run_stop_reason(const agent_run_t *run, size_t *length);

/**
 * Returns the tokens of all model calls of the run: which is AGENT_USAGE_...
 *
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API uint64_t agent_run_usage(const agent_run_t *run, int32_t which);

/**
 * Returns whether the cost of these tokens is known, and writes it to dollars (unless NULL), in US dollars,
 * 0 if it is not known. It is known if that of each call is. which as in agent_event_cost().
 *
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API bool agent_run_cost(const agent_run_t *run, int32_t which, double *dollars);

/**
 * Returns the number of turns that began.
 *
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API uint32_t agent_run_turns(const agent_run_t *run);

/**
 * Returns the messages that the run appended to the transcript. Borrowed until the run is freed.
 *
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API const agent_messages_t *agent_run_messages(const agent_run_t *run);

/**
 * Returns why the run failed: not NULL exactly if the outcome is AGENT_OUTCOME_ERROR or
 * AGENT_OUTCOME_ABORTED. Borrowed until the run is freed.
 *
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API const agent_error_t *agent_run_error(const agent_run_t *run);

/**
 * Returns the whole result as JSON: {outcome, text, message, stop_reason, messages, usage, turns, output?,
 * error?, pending?, undelivered?}. stop_reason is that of message, the last assistant message: a run is completed, too, if
 * its answer was cut ("length") or refused, perhaps without a text. A stateless run has undelivered:
 * {steering, follow_up}, the queued messages that it did not append. Borrowed until the run is freed.
 *
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API const char *agent_run_json(const agent_run_t *run, size_t *length);

/**
 * Releases a run. If it is active, it is aborted. Does not wait for its end.
 *
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API void agent_run_free(agent_run_t *run);

/* ================================================================================ stateless run */

/*
 * A run without an agent, over a conversation that the program keeps and that the run does not change; one
 * model call over it, agent_complete(); or a recorded run, agent_replay().
 *
 * settings is an agent that is only read: its model, key, address, tools, hooks, middleware, limits and
 * other options apply to the run. Its conversation, queues and listeners do not, and it may have runs of
 * its own at the same time. Any number of runs may share it.
 *
 * context is a JSON object {"system_prompt"?: text, "messages"?: [the conversation so far], "tools"?:
 * [names of tools of the settings]}, or NULL for an empty one. A missing system_prompt or tools means
 * those of the settings. agent_run_messages() has the messages that the run appended.
 */

/**
 * Starts a run with prompts over a context. run, which is required, receives an owned handle. The list
 * is copied.
 *
 * Errors: AGENT_INVALID_ARGUMENT (also an invalid context, a tool that the settings do not have, an empty
 * list of prompts, or a model or fallback that cannot be used), AGENT_INVALID_STATE (after the shutdown
 * of the runtime, in a forked child).
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API agent_status_t agent_loop_run(const agent_t *settings, const char *context, size_t length,
                                        const agent_messages_t *prompts, agent_run_t **run,
                                        agent_error_t **error);

/**
 * Starts a run from a context, adding no message. run, which is required, receives an owned handle.
 *
 * Errors: as agent_loop_run(): AGENT_INVALID_ARGUMENT, AGENT_INVALID_STATE (also if the context has no
 * message, or ends with an assistant message).
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API agent_status_t agent_loop_resume(const agent_t *settings, const char *context,
                                           size_t length, agent_run_t **run, agent_error_t **error);

/**
 * Starts a run from a context with the calls of its last assistant message that have no result, as it is
 * decided about each: see agent_resume_decided(). run, which is required, receives an owned handle.
 *
 * Errors: as agent_loop_resume(): AGENT_INVALID_ARGUMENT (also decisions that do not fit the calls),
 * AGENT_INVALID_STATE.
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API agent_status_t agent_loop_resume_decided(const agent_t *settings, const char *context,
                                                   size_t length, const char *decisions,
                                                   size_t decisions_length, agent_run_t **run,
                                                   agent_error_t **error);

/**
 * Starts one call of a model, without a loop: for routers, summarizers and workflow engines. settings and
 * context are those of a stateless run. messages, which come after those of the context and are copied,
 * may be NULL if the context has some. run, which is required, receives an owned handle: a run of one turn
 * without input, with the events, retries, fallbacks, limits and hooks of a model call.
 * agent_run_messages() has the answer alone, agent_run_text() its text.
 *
 * The tool calls of the answer stay in it, for the program: no tool is executed, no queue is polled, and
 * the outcome is AGENT_OUTCOME_COMPLETED. Options of the loop, such as max_turns, have no effect.
 * agent_run_steer() and agent_run_follow_up() fail with AGENT_INVALID_STATE.
 *
 * Errors: as agent_loop_run(): AGENT_INVALID_ARGUMENT (also if the messages leave nothing to answer: none
 * at all, an empty one, or an answer as the last one), AGENT_INVALID_STATE.
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API agent_status_t agent_complete(const agent_t *settings, const char *context, size_t length,
                                        const agent_messages_t *messages, agent_run_t **run,
                                        agent_error_t **error);

/**
 * Starts a recorded run, which is played again: run, which is required, receives an owned handle. It emits
 * the events that it emitted when it was recorded, byte for byte, as fast as they are read: without a
 * network, a key, tools or hooks, whatever language it was recorded in. recording is the path of a file that
 * the option "record" of an agent has made; number says which of its runs, from 1 on.
 *
 * agent_run_steer() and agent_run_follow_up() fail with AGENT_INVALID_STATE. Where this version of the
 * library does something else than the one that recorded the run, the outcome is AGENT_OUTCOME_ERROR, and the
 * error of the run, of the kind AGENT_REPLAY, says where. To test an agent with its own tools and recorded
 * answers of its model, give it the option "replay".
 *
 * Errors: AGENT_INVALID_ARGUMENT (also for a number that the recording does not have), AGENT_IO,
 * AGENT_DAMAGED and AGENT_NEWER_VERSION (both name the line), AGENT_INVALID_STATE (as agent_loop_run()).
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API agent_status_t agent_replay(const agent_runtime_t *runtime, const char *recording, size_t length,
                                      size_t number, agent_run_t **run, agent_error_t **error);

/* ================================================================================ loop ========= */

/*
 * A run that the program steps, in its own event loop: it does the HTTP, the timers and the tools itself.
 * agent_loop_poll() returns what is to be done, agent_loop_handle() takes in the result. The library does
 * no IO for it, and needs no runtime and no thread.
 *
 * Call agent_loop_poll() and carry out each action, until it returns AGENT_PENDING: then wait for a
 * response, a tool, or the timer, and hand in what has happened.
 *
 * Actions and inputs are JSON objects with a "type", the same in every language. docs/stepping.md has
 * their fields and examples. Actions:
 *
 * <generated: actions>
 *
 *   event                  {event} The run emits an event: hand it to listeners and readers.
 *   call_model             {call, method, url, headers, auth, body, connect_timeout_ms} Send this
 *                          request with the key that auth describes, and report the answer with
 *                          model_response, its bytes as they come, and model_end.
 *   call_custom_model      {call, provider, request} Answer for a model of a custom provider: report
 *                          its parts with model_chunk, and model_end.
 *   cancel_model           {call} The answer of this model call is no longer wanted: close its
 *                          connection.
 *   call_tool              {call, tool_call_id, tool_name, arguments, idempotency_key} Run a tool, and
 *                          report with tool_update, and tool_done or tool_suspended.
 *   cancel_tool            {call, abandoned} Cancel a running tool. What it returns within the grace
 *                          time of an abort still counts, unless it is abandoned.
 *   ask_hook               {question_id, hook, input} Call a hook, and report its answer with
 *                          hook_answer.
 *   cancel_hook            {question_id} The answer of this hook is no longer wanted: cancel what it
 *                          does.
 *   leave_hook             {question_id} The run no longer waits for this hook, which may go on.
 *   set_timer              {at_ms} Poll again at this time at the latest. It replaces the timer before
 *                          it.
 *   done                   {result} The run is over. Nothing follows.
 *
 * </generated>
 *
 * Inputs; a field with ? may be left out:
 *
 * <generated: inputs>
 *
 *   model_response         {call, status, headers} The head of the response to a call_model has
 *                          arrived.
 *   model_chunk            {call, chunk} A part of the answer to a call_custom_model.
 *   model_end              {call, error?} The answer of a model is over: its body has ended, or what
 *                          kept it from ending.
 *   tool_update            {call, partial_result} A running tool reports progress.
 *   tool_done              {call, result?, error?} A tool has answered, or failed: give one of result
 *                          and error.
 *   tool_suspended         {call, reason} A running tool waits for a decision: its answer comes from
 *                          elsewhere, later. The run ends with it in pending.
 *   hook_answer            {question_id, answer?, error?} A hook has answered, or failed: give one of
 *                          answer and error, or neither for no change.
 *   listener_failed        {event, error} A listener failed with the event that came last: a diagnostic
 *                          reports it.
 *   steer                  {message} Queue steering messages, which join the run as soon as they can.
 *   follow_up              {message} Queue messages for when the run would end.
 *   clear_steering_queue   Remove the steering messages that no turn has begun with.
 *   clear_follow_up_queue  Remove the follow-up messages that no turn has begun with.
 *   stop_after_turn        End the run after this turn, as if should_stop_after_turn asked for it: its
 *                          outcome is stopped.
 *   abort                  Abort the run.
 *   configure              {options} Change options from the next turn on: all, or on an error none.
 *
 * </generated>
 *
 * A loop has no API key. The program adds its own to each request, in the header auth.header, after
 * auth.prefix; auth.variables are the environment variables in which an agent would look for it.
 *
 * Each function of a loop may be called from any thread, by one at a time.
 */

/**
 * Creates a loop from a JSON object: the options of an agent (see agent_set_json()) and
 *
 *   model         "provider/id" or an object, as agent_new() takes it
 *   prompt        text, a message, or a list of messages; without one the run resumes
 *   decisions     what is decided about calls that wait, as agent_resume_decided() takes it
 *   export        the conversation so far, as agent_loop_export() or agent_export() returned it, in place
 *                 of messages
 *   tools         descriptions, as agent_tool_set_json() takes them, with a name. "prepare_arguments":
 *                 true asks prepare_arguments before arguments are validated, "needs_approval": "ask"
 *                 asks needs_approval for each call
 *   hooks         the names of the hooks that the loop asks, for example "before_tool_call"
 *   providers     the names of custom providers, for whose models the program answers itself
 *   run_id        the id of the run; by default a new one
 *   run_seed      a whole number, from which the jitter of the backoff and made ids come; by default a
 *                 random one
 *
 * api_key and network are refused, and headers that may have a key. loop receives an owned handle.
 *
 * Errors: AGENT_INVALID_ARGUMENT (an unknown option, a wrong value, a model that cannot be used),
 * AGENT_INVALID_STATE (there is nothing to resume).
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API agent_status_t agent_loop_new(const char *options, size_t length, agent_loop_t **loop,
                                        agent_error_t **error);

/**
 * Returns the next thing to do. action receives an object that is borrowed until the next call of
 * agent_loop_poll() with this loop. now_ms is milliseconds since the epoch; it must not go back. Each
 * action is returned once.
 *
 * Returns AGENT_OK; AGENT_PENDING (nothing until there is another input, or the time of the last
 * set_timer); AGENT_DONE (nothing ever: the action done was returned).
 * Errors: AGENT_INVALID_ARGUMENT.
 * Threads: one at a time. Callbacks: all. Since 0.1.
 */
AGENT_API agent_status_t agent_loop_poll(agent_loop_t *loop, uint64_t now_ms,
                                         const agent_json_t **action, agent_error_t **error);

/**
 * Takes in what happened, a JSON object. It does not act on it: poll again. What belongs to a call that
 * is over is ignored.
 *
 * Errors: AGENT_INVALID_ARGUMENT (an unknown input, or a field that is wrong, which the message names),
 * AGENT_INVALID_STATE (it comes too early).
 * Threads: one at a time. Callbacks: all. Since 0.1.
 */
AGENT_API agent_status_t agent_loop_handle(agent_loop_t *loop, const char *input, size_t length,
                                           agent_error_t **error);

/**
 * Takes in bytes of the response to a call_model, as they come, cut anywhere, and not compressed. call is
 * the number of the call. They are copied. Bytes of a call that is over are ignored.
 *
 * Errors: AGENT_INVALID_ARGUMENT, AGENT_INVALID_STATE (before the call's model_response).
 * Threads: one at a time. Callbacks: all. Since 0.1.
 */
AGENT_API agent_status_t agent_loop_model_bytes(agent_loop_t *loop, uint32_t call, const void *bytes,
                                                size_t length, agent_error_t **error);

/**
 * Returns what is under way, an array: the actions call_model, call_custom_model, call_tool and ask_hook
 * whose end was not handed in, and the last set_timer. For a program that has loaded a loop. actions
 * receives an owned handle.
 *
 * Of a model call that was open, hand in the rest of its bytes, or model_end with an error. A tool may
 * have run already; its idempotency_key is the same.
 *
 * Errors: AGENT_INVALID_ARGUMENT.
 * Threads: one at a time. Callbacks: all. Since 0.1.
 */
AGENT_API agent_status_t agent_loop_open_actions(const agent_loop_t *loop, agent_json_t **actions,
                                                 agent_error_t **error);

/**
 * Returns the whole state as one text, for agent_loop_load(): between any two calls, also in the middle
 * of a model's answer. It has the conversation and the options, and no API key. text receives an owned
 * text.
 *
 * Errors: AGENT_INVALID_ARGUMENT.
 * Threads: one at a time. Callbacks: all. Since 0.1.
 */
AGENT_API agent_status_t agent_loop_save(const agent_loop_t *loop, agent_text_t **text,
                                         agent_error_t **error);

/**
 * Creates a loop from what agent_loop_save() returned, in this or in another language. The same inputs
 * lead to the same actions as those of the saved one; agent_loop_open_actions() has what was under way.
 * loop receives an owned handle.
 *
 * Errors: AGENT_INVALID_ARGUMENT (no saved loop, or one of an older version), AGENT_NEWER_VERSION.
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API agent_status_t agent_loop_load(const char *text, size_t length, agent_loop_t **loop,
                                         agent_error_t **error);

/**
 * Returns the conversation that the run has left, as agent_export() does without a key: for the option
 * export of another loop, or agent_from_export(). text receives an owned text.
 *
 * Errors: AGENT_INVALID_ARGUMENT, AGENT_BUSY (before the end of the run).
 * Threads: one at a time. Callbacks: all. Since 0.1.
 */
AGENT_API agent_status_t agent_loop_export(const agent_loop_t *loop, agent_text_t **text,
                                           agent_error_t **error);

/**
 * Releases a loop. NULL is allowed.
 *
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API void agent_loop_free(agent_loop_t *loop);

/* ================================================================================ event ======== */

/*
 * What is borrowed from an event is valid as long as the event. Any thread may read an event while it is
 * valid.
 */

/**
 * Returns the kind: AGENT_EVENT_...
 *
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API int32_t agent_event_kind(const agent_event_t *event);

/**
 * Returns a kind as a word, such as "text_delta"; NULL for unknown values. Static.
 *
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API const char *agent_event_kind_name(int32_t kind);

/**
 * Returns whether the event is part of an assistant message: AGENT_EVENT_TEXT_START to
 * AGENT_EVENT_TOOL_CALL_END.
 *
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API bool agent_event_is_message_update(const agent_event_t *event);

/**
 * Returns the run's id. Borrowed from the event.
 *
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API const char *agent_event_run_id(const agent_event_t *event, size_t *length);

/**
 * Returns the event's number in the run: 0, 1, 2 and so on without gaps.
 *
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API uint64_t agent_event_seq(const agent_event_t *event);

/**
 * Returns the number of the turn, from 1; 0 for agent_start.
 *
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API uint32_t agent_event_turn(const agent_event_t *event);

/**
 * For message updates: returns the index of the content block in the message, from 0.
 *
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API uint32_t agent_event_content_index(const agent_event_t *event);

/**
 * Returns the event's text. Borrowed from the event. Its meaning depends on the kind:
 *
 *     text_delta, thinking_delta                 the delta
 *     tool_call_delta                            the delta of the arguments' JSON
 *     text_end, thinking_end                     the whole block
 *     message_start, message_end, turn_end       the text of the message
 *     tool_execution_update, tool_execution_end  the text of the tool's result
 *     retry                                      the message of the error
 *     diagnostic                                 the message, for users
 *     others                                     NULL
 *
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API const char *agent_event_text(const agent_event_t *event, size_t *length);

/**
 * For message_start and message_end: returns the message's role. Borrowed from the event.
 *
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API const char *agent_event_role(const agent_event_t *event, size_t *length);

/**
 * For message_start, message_end and turn_end: returns the message in JSON, of any role. Borrowed from the
 * event.
 *
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API const char *agent_event_message(const agent_event_t *event, size_t *length);

/**
 * For message_end of an assistant message and turn_end: returns why the model stopped: "stop", "length",
 * "tool_use", "refusal", "error" or "aborted". Borrowed from the event.
 *
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API const char *agent_event_stop_reason(const agent_event_t *event, size_t *length);

/**
 * Returns a token count, AGENT_USAGE_...: for message_end of an assistant message and turn_end of that
 * message, for agent_end of the run. Otherwise 0.
 *
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API uint64_t agent_event_usage(const agent_event_t *event, int32_t which);

/**
 * Returns whether the cost of the tokens of agent_event_usage() is known, and writes it to dollars (unless
 * NULL), in US dollars, 0 if it is not known. It is not if the price or a token count is not. which is
 * AGENT_USAGE_..., except REASONING, which is part of the output.
 *
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API bool agent_event_cost(const agent_event_t *event, int32_t which, double *dollars);

/**
 * For tool_execution_end: returns how long the call took; for retry: how long the pause is that begins. In
 * milliseconds. Otherwise 0.
 *
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API uint64_t agent_event_duration_ms(const agent_event_t *event);

/**
 * For tool_call_end, tool_execution_start and tool_execution_update: returns the arguments, a JSON
 * object. Borrowed from the event.
 *
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API const char *agent_event_arguments(const agent_event_t *event, size_t *length);

/**
 * For tool_execution_end, and for message_start and message_end of a tool result: returns whether the
 * tool failed.
 *
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API bool agent_event_is_error(const agent_event_t *event);

/**
 * For events about a tool call (tool_call_start, tool_call_end, tool_execution_..., subagent_event, and
 * message_start and message_end of a tool result): returns the call's id. Borrowed from the event.
 *
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API const char *agent_event_tool_call_id(const agent_event_t *event, size_t *length);

/**
 * For the same events as agent_event_tool_call_id(): returns the tool's name. Borrowed from the event.
 *
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API const char *agent_event_tool_name(const agent_event_t *event, size_t *length);

/**
 * For agent_end: returns why the run ended, AGENT_OUTCOME_... Otherwise AGENT_OUTCOME_NONE.
 *
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API int32_t agent_event_outcome(const agent_event_t *event);

/**
 * For agent_end, message_end, turn_end and retry: returns the error, if there is one. Borrowed from the
 * event.
 *
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API const agent_error_t *agent_event_error(const agent_event_t *event);

/**
 * From an assistant message's message_start to its message_end: returns the message as it is after this
 * event, in JSON. Borrowed from the event. NULL for others; agent_event_message() has the whole messages of
 * all roles.
 *
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API const char *agent_event_partial(const agent_event_t *event, size_t *length);

/**
 * From an assistant message's message_start to the end of its blocks: returns the typed final answer (option
 * output) as far as it is written, in JSON: what is not whole is left out, but for texts. It is computed
 * when it is asked for. Borrowed from the event. NULL while there is nothing of it, and for others.
 *
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API const char *agent_event_partial_output(const agent_event_t *event, size_t *length);

/**
 * For subagent_event: returns the event of the subagent, with the run id, number and turn of its own run.
 * Borrowed from the event. NULL for other events.
 *
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API const agent_event_t *agent_event_subagent(const agent_event_t *event);

/**
 * For subagent_event: returns the ids of the calls that lead to the subagent, the one of this run first,
 * as a JSON array of texts. Borrowed from the event. NULL for other events.
 *
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API const char *agent_event_path(const agent_event_t *event, size_t *length);

/**
 * Returns the event as JSON, on one line: {type, run_id, seq, turn, ...}. Borrowed from the event.
 *
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API const char *agent_event_json(const agent_event_t *event, size_t *length);

/**
 * Returns an owned copy of an event, which stays valid until agent_event_free(). NULL only for NULL.
 *
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API agent_event_t *agent_event_clone(const agent_event_t *event);

/**
 * Releases a clone. Borrowed events (const agent_event_t *) must not be freed.
 *
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API void agent_event_free(agent_event_t *event);

/* ================================================================================ hook ========= */

/**
 * Sets a hook: a function that each run calls at a fixed point, hook being AGENT_HOOK_... Replaces the
 * one set before; NULL removes it. A change during a run takes effect at its next turn.
 *
 * The run blocks until the hook answers its call. An abort ends the wait: immediately; for
 * GET_STEERING_MESSAGES and GET_FOLLOW_UP_MESSAGES after abort_grace_ms; for AFTER_RUN not at all. Input
 * and answer are JSON. null as the answer changes nothing.
 * <generated: inputs and answers of hooks>
 *
 *     hook                     input; answer
 *     TRANSFORM_CONTEXT        {messages}; an array of messages
 *     CONVERT_TO_LLM           {messages}; an array of messages
 *     GET_API_KEY              {provider}; a text, {bearer} or {headers}; of what is empty, the
 *                                configured key
 *     BEFORE_TOOL_CALL         {tool_call_id, tool_name, arguments, message}; {block: true, reason?,
 *                                terminate?}, {arguments} or {suspend: reason}
 *     AFTER_TOOL_CALL          {tool_call_id, tool_name, arguments, result, is_error}; any of {content,
 *                                details, is_error, terminate}; content is text or blocks
 *     PREPARE_NEXT_TURN        {turn, message, tool_results}; any of {context, model, thinking_level};
 *                                context is any of {system_prompt, messages, tools}, with the tools by
 *                                name
 *     SHOULD_STOP_AFTER_TURN   {turn, message, tool_results}; true or false
 *     GET_STEERING_MESSAGES    nothing; a text, a message, or an array of texts or of messages
 *     GET_FOLLOW_UP_MESSAGES   nothing; a text, a message, or an array of texts or of messages
 *     ON_PAYLOAD               {provider, model, payload}; the new body
 *     ON_RESPONSE              {provider, status, headers}; ignored
 *     ON_ERROR                 {error, attempt, will_retry}; ignored
 *     BEFORE_RUN               {prompts}; ignored
 *     AFTER_RUN                the run's result; ignored
 *     ON_INTERRUPTED_CALL      {tool_call_id, tool_name, arguments, idempotency_key}; report, retry or
 *                                {result}
 *     CHECK_OUTPUT             {output}; null, or a text: what is wrong with it
 *     PREPARE_REQUEST          {turn, model, system_prompt, tools, thinking_level}; as
 *                                prepare_next_turn
 *     ON_MCP_SAMPLING          {server, prompt, system_prompt, max_tokens, request}; a text, or the
 *                                result as MCP has it; null refuses
 *     ON_MCP_ELICITATION       {server, message, requested_schema}; {action: "accept", content},
 *                                {action: "decline"}, {action: "cancel"}; null declines
 *     ON_MCP_SIGN_IN           {server, url, redirect_uri}; null, or the address that the browser was
 *                                sent to, where that is received elsewhere
 *     ON_APPROVAL              {tool_call_id, tool_name, arguments, reason, rule, idempotency_key};
 *                                null, or a decision as resume takes it: approve, approve_always, deny,
 *                                {deny: reason}, deny_always, {deny_always: reason}, {arguments} or
 *                                {result}
 *
 * </generated>
 *
 * A hook fails by agent_hook_call_fail(), by an answer of another shape, or if its call is freed without
 * an answer:
 * <generated: failures of hooks>
 *
 *     hook                     effect of failure
 *     TRANSFORM_CONTEXT        the assistant message fails with AGENT_CALLBACK, without retry or
 *                                fallback; so does the run
 *     CONVERT_TO_LLM           the assistant message fails with AGENT_CALLBACK, without retry or
 *                                fallback; so does the run
 *     GET_API_KEY              the assistant message fails with AGENT_CALLBACK, without retry or
 *                                fallback; so does the run
 *     BEFORE_TOOL_CALL         the tool call gets an error result; the run continues
 *     AFTER_TOOL_CALL          the tool call gets an error result; the run continues
 *     PREPARE_NEXT_TURN        the run fails with AGENT_CALLBACK, after turn_end
 *     SHOULD_STOP_AFTER_TURN   the run fails with AGENT_CALLBACK, after turn_end
 *     GET_STEERING_MESSAGES    before the first model call: the assistant message fails with
 *                                AGENT_CALLBACK; later: the run fails so, after turn_end
 *     GET_FOLLOW_UP_MESSAGES   the run fails with AGENT_CALLBACK, after turn_end
 *     ON_PAYLOAD               the assistant message fails with AGENT_CALLBACK, without retry or
 *                                fallback; so does the run
 *     ON_RESPONSE              an AGENT_EVENT_DIAGNOSTIC with the code "hook_error"
 *     ON_ERROR                 an AGENT_EVENT_DIAGNOSTIC with the code "hook_error"
 *     BEFORE_RUN               the assistant message fails with AGENT_CALLBACK, without retry or
 *                                fallback; so does the run
 *     AFTER_RUN                none; a log record with the code "hook_error"
 *     ON_INTERRUPTED_CALL      the tool call waits for a decision: the run ends suspended
 *     CHECK_OUTPUT             the run fails with AGENT_CALLBACK, after turn_end
 *     PREPARE_REQUEST          the assistant message fails with AGENT_CALLBACK, without retry or
 *                                fallback; so does the run
 *     ON_MCP_SAMPLING          the server gets an error; a log record with the code "hook_error"
 *     ON_MCP_ELICITATION       the server gets an error; a log record with the code "hook_error"
 *     ON_MCP_SIGN_IN           the server counts as one that cannot be reached
 *     ON_APPROVAL              the tool call waits for a decision: the run ends suspended
 *
 * </generated>
 *
 * Errors: AGENT_INVALID_ARGUMENT (also an unknown hook).
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API agent_status_t agent_set_hook(agent_t *agent, int32_t hook, agent_hook_fn_t function,
                                        void *userdata, agent_destroy_fn_t destroy,
                                        agent_error_t **error);

/**
 * Returns a hook as a word, such as "before_tool_call"; NULL for unknown values. Static.
 *
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API const char *agent_hook_name(int32_t hook);

/* ---- hook calls: answered once, from any thread ---------------------------------------------- */

/**
 * Returns the input of the hook, as JSON. Borrowed until the call is freed.
 *
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API const char *agent_hook_call_input(const agent_hook_call_t *call, size_t *length);

/**
 * Returns whether the call is cancelled: the run was aborted, or its time limit passed.
 *
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API bool agent_hook_call_is_cancelled(const agent_hook_call_t *call);

/**
 * Blocks for ms milliseconds of the run's clock, like agent_tool_call_sleep(). Returns AGENT_OK when all
 * of the time has passed.
 *
 * Errors: AGENT_INVALID_ARGUMENT, AGENT_ABORTED (the call is or becomes cancelled; returns immediately).
 * Threads: any. Callbacks: all but destroy and wakeup. Since 0.1.
 */
AGENT_API agent_status_t agent_hook_call_sleep(const agent_hook_call_t *call, uint64_t ms,
                                               agent_error_t **error);

/**
 * Answers the call with JSON; "null" for no change. JSON of a shape that the hook does not have is
 * accepted here and is then a failure of the hook.
 *
 * Errors: AGENT_INVALID_ARGUMENT (also invalid JSON; the call remains unanswered), AGENT_INVALID_STATE
 * (the call was already answered).
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API agent_status_t agent_hook_call_respond_json(agent_hook_call_t *call, const char *json,
                                                      size_t length, agent_error_t **error);

/**
 * Answers the call with a failure of the hook; see agent_set_hook() for its effect.
 *
 * Errors: AGENT_INVALID_ARGUMENT, AGENT_INVALID_STATE (the call was already answered).
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API agent_status_t agent_hook_call_fail(agent_hook_call_t *call, const char *message,
                                              size_t length, agent_error_t **error);

/**
 * Releases a call. If it was not answered, the hook fails.
 *
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API void agent_hook_call_free(agent_hook_call_t *call);

/* ================================================================================ model ======== */

/**
 * Returns the known models, by provider and id. models receives an owned text: a JSON array of
 * {provider, id, label, context_window, max_output_tokens, input, thinking, cost?, quirks?}, each of
 * which agent_new() accepts. cost is {input, output, cache_read, cache_write, tiers?} in US dollars per
 * million tokens, and missing if unknown. tiers is an array of {above, input?, output?, cache_read?,
 * cache_write?}: if a prompt has more than above tokens, cached ones included, these prices apply to the
 * whole request; a price that is omitted stays. The fields that a model's name or object omits are taken from this
 * list. A model that is not in it works, with an unknown cost.
 *
 * Errors: AGENT_INVALID_ARGUMENT.
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API agent_status_t agent_models_json(agent_text_t **models, agent_error_t **error);

/**
 * Sets a custom model: a function that answers requests instead of a provider, for the agent's own model,
 * whatever its name ("acme/my-model"), also of a known provider. It also answers for fallbacks of the
 * same provider and of unknown ones; a fallback of another known provider, or with an address, is asked
 * there. NULL removes it. A change during a run takes effect at its next turn.
 *
 * The function is called with each request, on a thread where it may block, and answers it in chunks:
 *
 *     static void parrot(void *userdata, agent_model_call_t *call)
 *     {
 *         (void)userdata;
 *         if (agent_model_call_push_text(call, "Polly ", AGENT_NTS, NULL) == AGENT_OK
 *             && agent_model_call_push_text(call, "wants a cracker.", AGENT_NTS, NULL) == AGENT_OK)
 *             agent_model_call_finish(call, NULL, 0, NULL);
 *         agent_model_call_free(call);
 *     }
 *
 * Errors: AGENT_INVALID_ARGUMENT, also for NULL when the agent cannot use its model or a fallback without the
 * function; nothing changes then.
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API agent_status_t agent_set_model_callback(agent_t *agent, agent_model_fn_t function,
                                                  void *userdata, agent_destroy_fn_t destroy,
                                                  agent_error_t **error);

/**
 * Sets a custom provider by its name: a function that answers requests for all models "name/...", of the
 * agent and of its fallbacks, beside other custom providers and the known ones. It replaces one of the
 * same name, and takes precedence over a known provider of that name. NULL removes it. A change during a
 * run takes effect at its next turn. The function is as that of agent_set_model_callback().
 *
 *     agent_set_provider(agent, "acme", AGENT_NTS, parrot, NULL, NULL, &error);
 *     agent_set_json(agent, "{\"fallbacks\": [\"acme/parrot\"]}", AGENT_NTS, &error);
 *
 * Errors: AGENT_INVALID_ARGUMENT (name is empty or has a slash), also for NULL when the agent cannot use
 * its model or a fallback without the function; nothing changes then.
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API agent_status_t agent_set_provider(agent_t *agent, const char *name, size_t length,
                                            agent_model_fn_t function, void *userdata,
                                            agent_destroy_fn_t destroy, agent_error_t **error);

/* ---- requests to a custom model: answered once, from any thread ------------------------------ */

/**
 * Returns the request as JSON: {model, system_prompt, messages, tools, thinking_level, options}.
 * Borrowed until the call is freed.
 *
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API const char *agent_model_call_request(const agent_model_call_t *call, size_t *length);

/**
 * Returns whether the request is cancelled: the run was aborted, or a time limit passed.
 *
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API bool agent_model_call_is_cancelled(const agent_model_call_t *call);

/**
 * Appends a chunk to the response, in JSON, and blocks while the run is 256 chunks behind. A chunk is
 * one of
 *
 *     "text"   {"text": "..."}   {"thinking": "..."}   {"tool_call": {"id", "name", "arguments"}}
 *     {"type": "text_start" | "text_delta" | "text_end" | "thinking_..." | "tool_call_...", ...}, with
 *         the fields of these events (docs/abi.md); content_index is optional
 *     {"end": {"stop_reason"?, ...}}: the end of the response, as agent_model_call_finish()
 *     {"error": {"kind": "rate_limited", "message", "retryable"?, ...}}: a failure of any kind, which
 *         ends the response
 *     {"usage": {"input", "output", ...}}: the tokens used so far
 *     {"diagnostic": {"code", "message", "data"}}: an AGENT_EVENT_DIAGNOSTIC
 *
 * Do not call this in a callback for which the same run waits (a listener, a hook): it may have to wait
 * for the run.
 *
 * Errors: AGENT_INVALID_ARGUMENT (also invalid JSON and an invalid chunk; the response continues),
 * AGENT_INVALID_STATE (the response has ended), AGENT_ABORTED (the request is or becomes cancelled: free
 * the call).
 * Threads: any. Callbacks: all but destroy and wakeup. Since 0.1.
 */
AGENT_API agent_status_t agent_model_call_push(agent_model_call_t *call, const char *json,
                                               size_t length, agent_error_t **error);

/**
 * Appends a chunk of text to the response, like agent_model_call_push() with a JSON string.
 *
 * Errors: as agent_model_call_push(): AGENT_INVALID_ARGUMENT, AGENT_INVALID_STATE, AGENT_ABORTED.
 * Threads: any. Callbacks: all but destroy and wakeup. Since 0.1.
 */
AGENT_API agent_status_t agent_model_call_push_text(agent_model_call_t *call, const char *text,
                                                    size_t length, agent_error_t **error);

/**
 * Ends the response. end is NULL, or a JSON object {"stop_reason"?, "raw_stop_reason"?, "response_id"?,
 * "response_model"?, "usage"?}. The default of stop_reason is "tool_use" if there are tool calls, otherwise "stop".
 *
 * Errors: AGENT_INVALID_ARGUMENT (also invalid JSON or fields; the response continues),
 * AGENT_INVALID_STATE (the response has ended).
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API agent_status_t agent_model_call_finish(agent_model_call_t *call, const char *end,
                                                 size_t length, agent_error_t **error);

/**
 * Ends the response with a failure: AGENT_PROVIDER with this message.
 *
 * Errors: AGENT_INVALID_ARGUMENT, AGENT_INVALID_STATE (the response has ended).
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API agent_status_t agent_model_call_fail(agent_model_call_t *call, const char *message,
                                               size_t length, agent_error_t **error);

/**
 * Releases a call. If its response has not ended, it fails.
 *
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API void agent_model_call_free(agent_model_call_t *call);

/* ================================================================================ store ======== */

/*
 * A session is a conversation that outlives its process. A store keeps sessions by their ids: in an SQLite
 * file, in a folder, in Postgres, or wherever a custom store puts them. docs/sessions.md describes what is
 * kept when, docs/journal.md what is written.
 *
 *     agent_store_t *store = NULL;
 *     agent_session_t *session = NULL;
 *     agent_open_session_t *opened = NULL;
 *     agent_error_t *error = NULL;
 *
 *     if (agent_store_open(runtime, "agents.db", AGENT_NTS, NULL, 0, &store, &error) < 0
 *         || agent_store_session(store, "user-7", AGENT_NTS, &session, &error) < 0
 *         || agent_session_open(session, &opened, &error) < 0
 *         || agent_set_session(agent, opened, &error) < 0
 *         || agent_prompt(agent, "Rain in Oslo?", AGENT_NTS, NULL, &error) < 0
 *         || agent_wait_for_idle(agent, -1, &error) < 0
 *         || agent_open_session_close(opened, &error) < 0)
 *         fprintf(stderr, "%s\n", agent_error_message(error, NULL));
 *     agent_open_session_free(opened);
 *     agent_session_free(session);
 *     agent_store_free(store);
 *     agent_error_free(error);
 *
 * Functions that read or write a store block until that is done. They may be called in callbacks of
 * agents, but not in those of the same custom store; when one of its calls fails with another status than
 * those listed here, they return that. Close sessions before agent_runtime_shutdown(): nothing is written
 * after it. A library that was built without the feature "store" has none of the functions of
 * this section and the next one.
 */

/**
 * Opens a store. address is one of
 *
 *   agents.db, sqlite:PATH    an SQLite file, which is created if there is none
 *   jsonl:FOLDER              a folder, which is created if there is none, with a readable file for each
 *                             session
 *   postgres://USER:PASSWORD@HOST:PORT/DATABASE
 *                             a Postgres database, if the library was built with the feature "postgres"
 *   memory:                   the memory of this process, for tests
 *
 * options is NULL or a JSON object such as {"sync": "full", "holder": "worker-1"}:
 *
 *   sync      "normal"  what a record survives that was appended: "normal" and "off" the end of the process,
 *                       "full" also a loss of power. After one, the last records may be missing with
 *                       "normal", and the store may be damaged with "off"
 *   lease_ms  30000     how long others wait for a session whose holder does not answer any more, at
 *                       least 100
 *   holder              what others read who want to open a session that is open here, 1 to 200 bytes; the
 *                       process and its machine unless set
 *   network             of a Postgres server, and only with the feature "postgres": certificates, in an
 *                       object as in the option network of agents
 *
 * Errors: AGENT_INVALID_ARGUMENT (also an unknown address or option, a value of the wrong type or out of
 * bounds, a file of network that cannot be used), AGENT_IO (the operating system refuses something),
 * AGENT_DAMAGED (the file is no store),
 * AGENT_NEWER_VERSION (the store is of a newer version), AGENT_INVALID_STATE (the runtime was shut down).
 * Threads: any. Callbacks: all but destroy and wakeup. Since 0.1.
 */
AGENT_API agent_status_t agent_store_open(agent_runtime_t *runtime, const char *address, size_t length,
                                          const char *options, size_t options_length,
                                          agent_store_t **store, agent_error_t **error);

/**
 * Creates a store of the program's own, in a database that it has already, for example: a function that is
 * called for all that is read and written, on a thread where it may block. name is what errors call the
 * store. options is as in agent_store_open(); sync has no effect, and there is one more:
 *
 *   changed   false     whether the function answers AGENT_STORE_CHANGED. Otherwise a session that is
 *                       followed is read every 50 ms
 *
 * A session is a list of lines, numbered 1, 2, 3 ... without gaps, with a lease that says who may append.
 * Lines are opaque: texts without a line end. lease is {id, token}. The call has its input as JSON, and is
 * answered with JSON:
 *
 *     method     input; answer
 *     ACQUIRE    {request: {id, holder, lease_ms}}; {token, torn?, last?}. token is larger than all that
 *                  the session had before. torn: how many bytes of a torn end were removed. last: the
 *                  number of the last line that the session is known to have had
 *     RENEW      {leases, lease_ms}; an array of the ids of those that another holder has taken, or null
 *     RELEASE    {lease}; null. A lease that was lost is left as it is
 *     APPEND     {lease, seq, lines}; null, when all lines are stored. The first one has the number seq
 *     READ       {id, after, limit}; an array of {seq, text}: the lines behind the number after, in order,
 *                  at most limit. Or {lines, last?}: lines is that array, last as in ACQUIRE, read before
 *                  the lines
 *     INFO       {id}; null, or {id, title, metadata, created_ms, updated_ms, holder}
 *     SET_INFO   {lease, info: {title, metadata}}; null. A part that is null is taken away
 *     LIST       {query: {updated_from, updated_before, metadata, limit, cursor}}; {sessions, next}:
 *                  sessions as in INFO, the one that was changed last first, and the cursor of the next
 *                  page or null
 *     DELETE     {lease}; null
 *     CHANGED    {id, after}; null, when there may be a line behind the number after, or before that
 *
 * A call fails by agent_store_call_fail(), by an answer of another shape (AGENT_IO), or if it is freed
 * without an answer (AGENT_IO). ACQUIRE fails with AGENT_BUSY and the holder's name while another has a lease
 * that has not ended; APPEND, SET_INFO and DELETE if the lease was taken by another holder, and nothing is
 * changed then; READ with AGENT_NOT_FOUND if there is no such session.
 *
 * Errors: AGENT_INVALID_ARGUMENT (also an unknown option, a value of the wrong type or out of bounds),
 * AGENT_INVALID_STATE (the runtime was shut down).
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API agent_status_t agent_store_new_custom(agent_runtime_t *runtime, const char *name, size_t length,
                                                const char *options, size_t options_length,
                                                agent_store_fn_t function, void *userdata,
                                                agent_destroy_fn_t destroy, agent_store_t **store,
                                                agent_error_t **error);

/**
 * Returns what errors call the store: "the SQLite store agents.db", for example, or the name that a custom
 * store was given. Borrowed until the store is freed.
 *
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API const char *agent_store_name(const agent_store_t *store, size_t *length);

/**
 * Lists sessions, the one that was changed last first. query is NULL or a JSON object; all that it has must
 * hold:
 *
 *   updated_from    those that were changed at or after this time, in milliseconds since the epoch
 *   updated_before  those that were changed before this time
 *   metadata        those whose metadata have these fields with these values
 *   limit           at most so many, 1 or more; 100 unless set
 *   cursor          those behind a page: its next
 *
 * page receives an owned text: {sessions, next}. sessions is an array of {id, title, metadata, created_ms,
 * updated_ms, holder}, and next is the cursor of the next page, or null. holder is who has it open, or null.
 * Blocks until the store has answered.
 *
 * Errors: AGENT_INVALID_ARGUMENT (also an unknown field, a value of the wrong type, a cursor of no page),
 * AGENT_DAMAGED (the store is), AGENT_NEWER_VERSION (the store is of a newer version, which a database says
 * when it is first used), AGENT_IO (the store's disk or server refuses something), AGENT_INVALID_STATE (in
 * a callback of the same store; the runtime was shut down).
 * Threads: any. Callbacks: not of the same store; not destroy and wakeup. Since 0.1.
 */
AGENT_API agent_status_t agent_store_list(const agent_store_t *store, const char *query, size_t length,
                                          agent_text_t **page, agent_error_t **error);

/**
 * Returns the session of this id, which need not exist: nothing is read or written.
 *
 * Errors: AGENT_INVALID_ARGUMENT (also an id that is empty or longer than 200 bytes).
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API agent_status_t agent_store_session(const agent_store_t *store, const char *id, size_t length,
                                             agent_session_t **session, agent_error_t **error);

/**
 * Creates a session of JSON lines, as agent_session_export() and agent_session_salvage() return them, in
 * any language: with this id or, with NULL, its own. session receives it. Blocks until it is stored.
 *
 * Errors: AGENT_INVALID_ARGUMENT (also a text that is no whole session, with the line; there is a session
 * of that id), AGENT_NEWER_VERSION (a newer version has written the text, or the store), AGENT_BUSY
 * (another one creates it now), AGENT_DAMAGED (the store is), AGENT_LIMIT (an SQLite store takes
 * 4,294,967,295 records of a session), AGENT_IO (the store's disk or server refuses something),
 * AGENT_INVALID_STATE (in a callback of the same store; the runtime was shut down).
 * Threads: any. Callbacks: not of the same store; not destroy and wakeup. Since 0.1.
 */
AGENT_API agent_status_t agent_store_import(agent_store_t *store, const char *text, size_t length,
                                            const char *id, size_t id_length, agent_session_t **session,
                                            agent_error_t **error);

/**
 * Releases a store. Its sessions keep it open; when the last one is gone too, it is closed on a thread of
 * the library.
 *
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API void agent_store_free(agent_store_t *store);

/* ---- calls of a custom store: answered once, from any thread --------------------------------- */

/**
 * Returns what the store has to do: AGENT_STORE_... 0 for NULL.
 *
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API int32_t agent_store_call_method(const agent_store_call_t *call);

/**
 * Returns a method as a word, such as "append"; NULL for unknown values. Static.
 *
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API const char *agent_store_method_name(int32_t method);

/**
 * Returns the input of the method, a JSON object. Borrowed until the call is freed.
 *
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API const char *agent_store_call_input(const agent_store_call_t *call, size_t *length);

/**
 * Answers the call with JSON. JSON of a shape that the method does not have is accepted here and is then
 * a failure of the store.
 *
 * Errors: AGENT_INVALID_ARGUMENT (also invalid JSON; the call remains unanswered), AGENT_INVALID_STATE
 * (the call was already answered).
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API agent_status_t agent_store_call_respond_json(agent_store_call_t *call, const char *json,
                                                       size_t length, agent_error_t **error);

/**
 * Answers the call with a failure: whoever uses the store gets this status, one of the negative ones, and
 * this message. It should say what was wrong, and in which session.
 *
 * Errors: AGENT_INVALID_ARGUMENT (also a status that is no failure; the call remains unanswered),
 * AGENT_INVALID_STATE (the call was already answered).
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API agent_status_t agent_store_call_fail(agent_store_call_t *call, agent_status_t status,
                                               const char *message, size_t length,
                                               agent_error_t **error);

/**
 * Releases a call. If it was not answered, it fails.
 *
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API void agent_store_call_free(agent_store_call_t *call);

/* ================================================================================ session ====== */

/**
 * Returns the session's id. Borrowed until the session is freed.
 *
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API const char *agent_session_id(const agent_session_t *session, size_t *length);

/**
 * Returns what the store knows of the session without reading it. info receives an owned text: {id, title,
 * metadata, created_ms, updated_ms, holder}, in which title, metadata and holder may be null. holder is who
 * has it open. Blocks until the store has answered.
 *
 * Errors: AGENT_INVALID_ARGUMENT, AGENT_NOT_FOUND (there is no such session), AGENT_DAMAGED,
 * AGENT_NEWER_VERSION, AGENT_IO, AGENT_INVALID_STATE (as agent_store_list()).
 * Threads: any. Callbacks: not of the same store; not destroy and wakeup. Since 0.1.
 */
AGENT_API agent_status_t agent_session_info(const agent_session_t *session, agent_text_t **info,
                                            agent_error_t **error);

/**
 * Returns the records behind the number after, at most limit (1 or more), also while the session is open
 * elsewhere.
 * records receives an owned text: an array of {seq, at, kind, ...}; docs/journal.md has the fields of each
 * kind. Blocks until they are read.
 *
 * Errors: AGENT_INVALID_ARGUMENT, AGENT_NOT_FOUND (there is no such session), AGENT_DAMAGED,
 * AGENT_NEWER_VERSION, AGENT_IO, AGENT_INVALID_STATE (as agent_session_open()).
 * Threads: any. Callbacks: not of the same store; not destroy and wakeup. Since 0.1.
 */
AGENT_API agent_status_t agent_session_records(const agent_session_t *session, uint64_t after,
                                               size_t limit, agent_text_t **records,
                                               agent_error_t **error);

/**
 * Sets title, metadata or both of a session that is not open: info is a JSON object with title and
 * metadata, of which one that is missing or null stays, and an empty one is taken away. A session that is
 * open here has agent_open_session_set_info(). Creates the session if there is none. Blocks until that is
 * stored.
 *
 * Errors: AGENT_INVALID_ARGUMENT (also an unknown field, a value of the wrong type), AGENT_BUSY,
 * AGENT_DAMAGED, AGENT_NEWER_VERSION, AGENT_IO, AGENT_INVALID_STATE (as agent_session_open()).
 * Threads: any. Callbacks: not of the same store; not destroy and wakeup. Since 0.1.
 */
AGENT_API agent_status_t agent_session_set_info(agent_session_t *session, const char *info,
                                                size_t length, agent_error_t **error);

/**
 * Creates another session, of this id, of the records up to the number at, which this one keeps; 0 for all
 * of them. Title and metadata are those that this one has now. forked receives it. Blocks until it is stored.
 *
 * Errors: AGENT_INVALID_ARGUMENT (also a number that this session has no record of; there is a session of
 * that id), AGENT_NOT_FOUND (there is no such session to fork), AGENT_BUSY, AGENT_DAMAGED,
 * AGENT_NEWER_VERSION, AGENT_IO, AGENT_INVALID_STATE (as agent_session_open()).
 * Threads: any. Callbacks: not of the same store; not destroy and wakeup. Since 0.1.
 */
AGENT_API agent_status_t agent_session_fork(const agent_session_t *session, uint64_t at, const char *id,
                                            size_t length, agent_session_t **forked,
                                            agent_error_t **error);

/**
 * Deletes the session. The handle stays valid; opening it creates a new session. Blocks until that is
 * done.
 *
 * Errors: AGENT_INVALID_ARGUMENT, AGENT_NOT_FOUND (there is no such session), AGENT_BUSY (it is open; the
 * message names the holder), AGENT_DAMAGED, AGENT_NEWER_VERSION, AGENT_IO, AGENT_INVALID_STATE (as
 * agent_store_list()).
 * Threads: any. Callbacks: not of the same store; not destroy and wakeup. Since 0.1.
 */
AGENT_API agent_status_t agent_session_delete(agent_session_t *session, agent_error_t **error);

/**
 * Returns all of the session as JSON lines, which agent_store_import() takes, here or in another language.
 * text receives an owned text. Blocks until it is read.
 *
 * Errors: AGENT_INVALID_ARGUMENT, AGENT_NOT_FOUND (there is no such session), AGENT_DAMAGED,
 * AGENT_NEWER_VERSION, AGENT_IO, AGENT_INVALID_STATE (as agent_session_open()).
 * Threads: any. Callbacks: not of the same store; not destroy and wakeup. Since 0.1.
 */
AGENT_API agent_status_t agent_session_export(const agent_session_t *session, agent_text_t **text,
                                              agent_error_t **error);

/**
 * Returns what can be read of a damaged session, which stays as it is. salvaged receives an owned text:
 * {records, text, damage}. records are those before the first that cannot be read, text is the same as JSON
 * lines, and damage says what is wrong behind them, or is null. To go on from there, give the text to
 * agent_store_import() with another id. Blocks until it is read.
 *
 * Errors: AGENT_INVALID_ARGUMENT, AGENT_NOT_FOUND (there is no such session), AGENT_DAMAGED, AGENT_IO
 * (nothing can be read), AGENT_NEWER_VERSION, AGENT_INVALID_STATE (as agent_store_list()).
 * Threads: any. Callbacks: not of the same store; not destroy and wakeup. Since 0.1.
 */
AGENT_API agent_status_t agent_session_salvage(const agent_session_t *session, agent_text_t **salvaged,
                                               agent_error_t **error);

/**
 * Releases a session. Nothing happens to what is stored.
 *
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API void agent_session_free(agent_session_t *session);

/* ---- open sessions: one writer --------------------------------------------------------------- */

/**
 * Opens the session to write, and creates it if there is none. A session has one writer at a time: opened
 * has the right to append, which is renewed until it is closed. Blocks until the session is read.
 *
 * Errors: AGENT_INVALID_ARGUMENT, AGENT_BUSY (it is open elsewhere; the message names the holder),
 * AGENT_DAMAGED (the message names the place; agent_session_salvage() reads what stands before it),
 * AGENT_NEWER_VERSION (a newer version of this library has written it, or the store), AGENT_IO (the
 * store's disk or server refuses something), AGENT_INVALID_STATE (in a callback of the same store; the
 * runtime was shut down).
 * Threads: any. Callbacks: not of the same store; not destroy and wakeup. Since 0.1.
 */
AGENT_API agent_status_t agent_session_open(agent_session_t *session, agent_open_session_t **opened,
                                            agent_error_t **error);

/**
 * Returns the session's id. Borrowed until the open session is freed.
 *
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API const char *agent_open_session_id(const agent_open_session_t *opened, size_t *length);

/**
 * Returns the transcript as it was when the session was opened. messages receives an owned list, which is
 * empty once an agent has got the session: agent_messages() has it then.
 *
 * Errors: AGENT_INVALID_ARGUMENT.
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API agent_status_t agent_open_session_messages(const agent_open_session_t *opened,
                                                     agent_messages_t **messages,
                                                     agent_error_t **error);

/**
 * Returns all that the session was when it was opened. rebuilt receives an owned text: {start, messages,
 * steering, follow_up, last_queued, suspended, open_calls, interrupted, last_run, info}. docs/abi.md
 * describes them. Nothing is left of it once an agent has got the session.
 *
 * Errors: AGENT_INVALID_ARGUMENT.
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API agent_status_t agent_open_session_rebuilt(const agent_open_session_t *opened,
                                                    agent_text_t **rebuilt, agent_error_t **error);

/**
 * Returns what was unusual when the session was opened: a JSON array of {code, message, data}. Borrowed
 * until the open session is freed.
 *
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API const char *agent_open_session_diagnostics(const agent_open_session_t *opened,
                                                     size_t *length);

/**
 * Returns the number of the last record that was appended; 0 for NULL.
 *
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API uint64_t agent_open_session_last(const agent_open_session_t *opened);

/**
 * Appends records: a JSON array of {kind, ...}, of which docs/journal.md has the kinds and their fields.
 * Those of one call are stored all or not at all, in order, and get their numbers and the time. last (unless
 * NULL) receives the number of the last one. Blocks until the store has them.
 *
 * Once an agent has the session (agent_set_session()), only records of the kind "info" are appended: others
 * would not reach the agent, which has agent_append_messages().
 *
 * After AGENT_BUSY, AGENT_DAMAGED and AGENT_IO nothing more is written, and each further call returns the
 * same: open the session again.
 *
 * Errors: AGENT_INVALID_ARGUMENT (also what is no record, with its place; JSON that nests deeper than 64
 * levels; nothing is appended then), AGENT_BUSY (the lease was lost; the message names the new holder),
 * AGENT_DAMAGED (the store is), AGENT_LIMIT (as agent_store_import()), AGENT_IO (the store's disk or server
 * refuses something), AGENT_INVALID_STATE (an agent has the session; it was closed; in a callback of the same
 * store; the runtime was shut down; the process has forked).
 * Threads: any. Callbacks: not of the same store; not destroy and wakeup. Since 0.1.
 */
AGENT_API agent_status_t agent_open_session_append(agent_open_session_t *opened, const char *records,
                                                   size_t length, uint64_t *last,
                                                   agent_error_t **error);

/**
 * Sets title, metadata or both, like agent_session_set_info().
 *
 * Errors: AGENT_INVALID_ARGUMENT (also an unknown field, a value of the wrong type), AGENT_BUSY,
 * AGENT_DAMAGED, AGENT_LIMIT, AGENT_IO, AGENT_INVALID_STATE (as agent_open_session_append()).
 * Threads: any. Callbacks: not of the same store; not destroy and wakeup. Since 0.1.
 */
AGENT_API agent_status_t agent_open_session_set_info(agent_open_session_t *opened, const char *info,
                                                     size_t length, agent_error_t **error);

/**
 * Blocks until the store has all records, those that other threads append included.
 *
 * Errors: AGENT_INVALID_ARGUMENT, AGENT_BUSY, AGENT_DAMAGED, AGENT_LIMIT, AGENT_IO, AGENT_INVALID_STATE (as
 * agent_open_session_append()).
 * Threads: any. Callbacks: not of the same store; not destroy and wakeup. Since 0.1.
 */
AGENT_API agent_status_t agent_open_session_flush(agent_open_session_t *opened, agent_error_t **error);

/**
 * Writes what waits and gives the right to append back: the session can be opened elsewhere then. Blocks
 * until that is done. A further call waits for the first one.
 *
 * Errors: AGENT_INVALID_ARGUMENT, AGENT_BUSY, AGENT_DAMAGED, AGENT_LIMIT, AGENT_IO (records could not be
 * written), AGENT_INVALID_STATE (in a callback of the same store; the runtime was shut down; the process
 * has forked).
 * Threads: any. Callbacks: not of the same store; not destroy and wakeup. Since 0.1.
 */
AGENT_API agent_status_t agent_open_session_close(agent_open_session_t *opened, agent_error_t **error);

/**
 * Releases an open session. One that was not closed is closed soon, on a thread of the library, and the
 * caller does not learn whether that failed. After agent_runtime_shutdown() that is not possible any more:
 * then others can open the session when the process has ended, or its lease.
 *
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API void agent_open_session_free(agent_open_session_t *opened);

/* ---- agents: a conversation that is kept ------------------------------------------------------ */

/**
 * Lets an agent keep its conversation in the session: it goes on with the messages, the queues and the
 * calls that the session has, and from now on each change is written before it has an effect. For a new
 * agent: one without messages, and an open session that no agent has had. The agent keeps the session open
 * until both handles are freed, or agent_open_session_close() is called: then the agent takes no more
 * changes, and others can open the session.
 *
 * Errors: AGENT_INVALID_ARGUMENT (also an agent that has messages), AGENT_INVALID_STATE (the agent has a
 * session or queued messages; another agent has had the session; records were appended to it; it was
 * closed), AGENT_BUSY (a run is active), AGENT_IO, AGENT_DAMAGED (what the store's last append has failed
 * with).
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API agent_status_t agent_set_session(agent_t *agent, agent_open_session_t *opened,
                                           agent_error_t **error);

/**
 * Returns the run that was interrupted when the process that had the session ended: interrupted receives an
 * owned text, {run_id, of, phase, calls}. of is what it was begun with, "prompt", "resume", "queued" or
 * "decisions"; phase "model" (it was to answer) or "tools"; calls are those of the last answer that have no
 * result, {tool_call_id, tool_name, arguments, idempotency_key?, progress, decision?, is_checked}, with the
 * progress {"state": "waiting"}, {"state": "started"} or {"state": "answered", result, is_error}; docs/abi.md
 * describes them. agent_resume() goes on with it. Returns AGENT_DONE, and no text, when another run has
 * begun, or there is nothing left to go on with.
 *
 * Errors: AGENT_INVALID_ARGUMENT.
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API agent_status_t agent_interrupted(const agent_t *agent, agent_text_t **interrupted,
                                           agent_error_t **error);

/**
 * Blocks until the session's store has all changes of the agent that were made before. Returns immediately
 * without a session.
 *
 * Errors: AGENT_INVALID_ARGUMENT, AGENT_BUSY, AGENT_DAMAGED, AGENT_IO (as agent_open_session_append(), also
 * for what was changed before), AGENT_INVALID_STATE (the session was closed; in a callback of the same agent
 * or store; the runtime was shut down).
 * Threads: any. Callbacks: not of the same agent or store; not destroy and wakeup. Since 0.1.
 */
AGENT_API agent_status_t agent_flush(agent_t *agent, agent_error_t **error);

/* ---- following: records as they are written, by whoever has the session open, and live events -- */

/**
 * Follows the session: follow has its records behind the number after, those that are there and those to
 * come. The session need not exist yet: its first record is awaited. Whoever stops may go on later after the
 * number of the last record that was read: nothing is lost or repeated.
 *
 * Errors: AGENT_INVALID_ARGUMENT, AGENT_INVALID_STATE (in a callback of the same store; the runtime was shut
 * down).
 * Threads: any. Callbacks: not of the same store. Since 0.1.
 */
AGENT_API agent_status_t agent_session_follow(const agent_session_t *session, uint64_t after,
                                              agent_follow_t **follow, agent_error_t **error);

/**
 * Follows the session as agent_session_follow() does, and between the records the events of the run that goes
 * on, delta by delta: those that say what no record says. Whoever joins in the middle of an answer begins with
 * its message_start, which has the content so far; the whole message comes as a record. There are events only
 * of runs in this process whose session belongs to the same store.
 *
 * Errors: AGENT_INVALID_ARGUMENT, AGENT_INVALID_STATE (in a callback of the same store; the runtime was shut
 * down).
 * Threads: any. Callbacks: not of the same store. Since 0.1.
 */
AGENT_API agent_status_t agent_session_follow_live(const agent_session_t *session, uint64_t after,
                                                   agent_follow_t **follow, agent_error_t **error);

/**
 * Returns the next record or event, and blocks for at most timeout_ms (below 0: no limit; 0: does not block)
 * if there is none yet. record receives a JSON object, {seq, at, kind, ...} or {after, event}, and length
 * (unless NULL) its length. after is the number of the record before. The object is borrowed until the next
 * call or until follow is freed.
 *
 * Returns AGENT_OK with a record, AGENT_PENDING when none came in time. A session has no end; after a failure
 * of the store nothing follows, and each further call returns AGENT_DONE.
 *
 * Errors: AGENT_INVALID_ARGUMENT, AGENT_NOT_FOUND (behind a record: the session was deleted), AGENT_DAMAGED,
 * AGENT_NEWER_VERSION, AGENT_IO (as agent_session_open()), AGENT_INVALID_STATE (in a callback of the same
 * store; another thread is reading; the runtime was shut down).
 * Threads: one at a time. Callbacks: not of the same store; destroy and wakeup only with timeout_ms 0.
 * Since 0.1.
 */
AGENT_API agent_status_t agent_follow_next(agent_follow_t *follow, int64_t timeout_ms,
                                           const char **record, size_t *length, agent_error_t **error);

/**
 * Sets a function that is called whenever there is something to read. If there is now, it is called before
 * this returns. Replaces the function set before; NULL removes it.
 *
 * The function runs on any thread and should only wake an event loop, which then reads with a timeout of 0
 * until AGENT_PENDING or a failure.
 *
 * Errors: AGENT_INVALID_ARGUMENT, AGENT_INVALID_STATE (another thread is reading).
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API agent_status_t agent_follow_set_wakeup(agent_follow_t *follow, agent_wakeup_fn_t function,
                                                 void *userdata, agent_destroy_fn_t destroy,
                                                 agent_error_t **error);

/**
 * Releases a follower.
 *
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API void agent_follow_free(agent_follow_t *follow);

/* ================================================================================ ui =========== */

/**
 * Makes a writer of one run for a browser. protocol is one of
 *
 *     ai_sdk   the UI message stream of the AI SDK, versions 6 and 7, which useChat and assistant-ui read
 *     ag_ui    AG-UI
 *
 * options, unless NULL, is a JSON object; docs/ui.md lists the options. request, unless NULL, is the one that
 * is answered; it may be freed afterwards. Make the stream before the run is started: options that are wrong
 * leave no run behind then.
 *
 * Errors: AGENT_INVALID_ARGUMENT.
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API agent_status_t agent_ui_stream_new(const char *protocol, size_t protocol_length,
                                             const char *options, size_t options_length,
                                             const agent_ui_request_t *request, agent_ui_stream_t **stream,
                                             agent_error_t **error);

/**
 * Returns the headers of the response, "name: value\r\n" each. The text is borrowed until stream is freed.
 *
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API const char *agent_ui_stream_headers(const agent_ui_stream_t *stream, size_t *length);

/**
 * Writes what a browser gets of an event, for the body of the response: server-sent events, or "" for the many
 * events that it gets nothing of. Give it all events of a run, from AGENT_EVENT_AGENT_START on; with
 * AGENT_EVENT_AGENT_END the body is complete. If the client leaves before, call agent_run_abort(). Where nothing
 * comes for long (AGENT_PENDING of agent_run_next()), send the comment ":\n\n": proxies close idle connections.
 *
 * frames receives the text, borrowed until the next call or until stream is freed, and length (unless NULL) its
 * length.
 *
 * Errors: AGENT_INVALID_ARGUMENT.
 * Threads: one at a time. Callbacks: all. Since 0.1.
 */
AGENT_API agent_status_t agent_ui_stream_push(agent_ui_stream_t *stream, const agent_event_t *event,
                                              const char **frames, size_t *length, agent_error_t **error);

/**
 * Releases a stream.
 *
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API void agent_ui_stream_free(agent_ui_stream_t *stream);

/**
 * Reads the body of a browser's request: of ai_sdk, what useChat sends; of ag_ui, a RunAgentInput. What is in
 * it may be anything that somebody has sent. options, unless NULL, is a JSON object that says what the browser
 * may decide:
 *
 *     client_tools     names of tools that the browser runs: a call of any other tool takes no result of it
 *     edit_arguments   whether a call may be approved with other arguments (ag_ui); default false
 *     open_calls       whether calls may be approved that have no result and do not wait; default false
 *     keep_messages    whether no message is edited, and no answer made anew; default false
 *
 * Errors: AGENT_INVALID_ARGUMENT.
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API agent_status_t agent_ui_request_new(const char *protocol, size_t protocol_length, const char *body,
                                              size_t body_length, const char *options, size_t options_length,
                                              agent_ui_request_t **request, agent_error_t **error);

/**
 * Returns the id of the conversation, "" without one. The text is borrowed until request is freed. Check in
 * your application whose conversation it is.
 *
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API const char *agent_ui_request_id(const agent_ui_request_t *request, size_t *length);

/**
 * Returns the id of the run (ag_ui), "" without one. The text is borrowed until request is freed.
 *
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API const char *agent_ui_request_run_id(const agent_ui_request_t *request, size_t *length);

/**
 * Returns the id of the message that is to be answered anew, or that was edited (ai_sdk), "" without one. The
 * text is borrowed until request is freed.
 *
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API const char *agent_ui_request_message_id(const agent_ui_request_t *request, size_t *length);

/**
 * Gives the conversation before the prompt as the browser has it, without a system prompt. messages receives
 * an owned list, for agent_set_messages() where the browser keeps the conversation: it may have written all of
 * it, what tools have returned, and which calls wait with which arguments.
 *
 * Errors: AGENT_INVALID_ARGUMENT.
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API agent_status_t agent_ui_request_history(const agent_ui_request_t *request,
                                                  agent_messages_t **messages, agent_error_t **error);

/**
 * Starts the run that a request asks for: with the message that the user has sent; with what the user has
 * decided about the calls that wait, and nothing else of the request (an answer that the options of the request
 * do not allow is refused: AGENT_INVALID_ARGUMENT, and the calls go on waiting); or over an earlier message of
 * the user anew, as it was or edited, and then what follows it is removed from the transcript. run is as in agent_prompt().
 *
 * Errors: as agent_prompt() and agent_resume_decided(): AGENT_INVALID_ARGUMENT, AGENT_BUSY,
 * AGENT_INVALID_STATE (also for decisions when no call waits, as when a request comes twice).
 * Threads: any. Callbacks: not of the same agent. Since 0.1.
 */
AGENT_API agent_status_t agent_ui_request_start(const agent_ui_request_t *request, agent_t *agent,
                                                agent_run_t **run, agent_error_t **error);

/**
 * Writes the conversation as useChat has it, for a page that is loaded again. json receives an owned text: an
 * array of UI messages of the AI SDK, in which the calls that wait may be approved. options is as in
 * agent_ui_stream_new().
 *
 * Errors: AGENT_INVALID_ARGUMENT.
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API agent_status_t agent_to_ui_messages(const agent_t *agent, const char *options, size_t length,
                                              agent_text_t **json, agent_error_t **error);

/**
 * Releases a request.
 *
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API void agent_ui_request_free(agent_ui_request_t *request);

/* ================================================================================ testing ====== */

/**
 * Checks that events are those of one complete run, in order: for tests of custom models and of user
 * interfaces. events is a JSON array, or a sequence of JSON objects as agent_event_json() writes them.
 *
 * Errors: AGENT_INVALID_ARGUMENT (also invalid JSON; names the first event that violates the grammar,
 * and why). A library that was built without the feature "testing" does not have this function.
 * Threads: any. Callbacks: all. Since 0.1.
 */
AGENT_API agent_status_t agent_check_events(const char *events, size_t length,
                                            agent_error_t **error);

#ifdef __cplusplus
}
#endif

#endif /* AGENT_H */
