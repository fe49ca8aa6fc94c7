/*
 * agent.h - libagent: the LLM agent loop as a C library.
 *
 * An agent has a model, tools and a conversation. A prompt starts a run: the model is asked, the
 * tools it calls are executed, it is asked again with their results, and so on until the work is
 * done. All of it is told as events while it happens.
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
 *
 *         agent_run_free(run);
 *         agent_free(agent);
 *         agent_runtime_shutdown(runtime, 5000, NULL);
 *         agent_runtime_free(runtime);
 *         agent_error_free(error);
 *         return 0;
 *     }
 *
 *     cc hello.c $(pkg-config --cflags --libs libagent)
 *
 *
 * EVENTS
 *
 * A run tells everything it does, in this order:
 *
 *     agent_start
 *       turn_start                                a turn: one answer of the model, and its tools
 *         message_start message_end               the prompt; later, what was steered
 *         message_start                           the answer begins
 *           text_start text_delta... text_end     a piece of it; also thinking_..., tool_call_...
 *         message_end                             the answer, whole
 *         tool_execution_start ..._update ..._end a tool at work, for each call
 *         message_start message_end               its result
 *       turn_end
 *       turn_start ...                            as long as there are results to answer, or messages
 *     agent_end                                   exactly once, and nothing after it
 *
 * They come either way, and both at once if you like:
 *
 *   pulled  agent_run_next() gives one after the other. To wait in an event loop of your own, have it
 *           poll the descriptor of agent_run_fd(), or be woken by agent_run_set_wakeup(). A run whose
 *           reader is slow waits for it.
 *   pushed  agent_subscribe() has a function of yours called with each event, in order, one at a
 *           time. The run waits for it.
 *
 * You can reach into a run while it goes on: agent_steer() queues a message that joins it as soon as
 * it can, agent_follow_up() one for when it would have ended, agent_abort() ends it. Hooks
 * (agent_set_hook()) are functions of yours that it asks on its way and waits for.
 *
 * What the world does (a refused key, a cut connection, a broken tool) is told in events and in the
 * run's outcome. What the caller does wrong (a NULL, bad JSON, a second run at the same time) is
 * returned by the call. The kinds of failure are the same in both: AGENT_AUTHENTICATION to AGENT_PANIC.
 *
 *
 * THREADS
 *
 * Threads and connections belong to a runtime that you make; nothing here is global. Everything on an
 * agent_t, and steering or aborting a run, may be done from any thread at any time. Pulling the events
 * of one run, and using the event that it lends, is for one thread at a time. Every handle may be used
 * on another thread than the one that made it.
 *
 * Callbacks come on threads of the library: the events of one run one at a time, its tools side by
 * side, and tools, middleware, hooks and models each on a thread where it may block as long as it
 * likes. Inside a callback you may call any function but those that would wait for what is waiting for
 * you: agent_prompt(), agent_resume(), agent_run_next(), agent_run_wait() and agent_wait_for_idle() of
 * the same agent, and agent_runtime_shutdown(), give AGENT_INVALID_STATE there. No C++ exception may
 * leave a callback.
 *
 * A destroy function may come on any thread: on yours, inside the call that lets go of the callback,
 * or on one that runs go on, which stand still meanwhile. So it may call whatever returns at once
 * (every ..._free(), what sets, steers, aborts, answers) but nothing that waits: no agent_run_next()
 * with a time, no agent_run_wait(), agent_wait_for_idle(), ..._sleep(), agent_model_call_push() or
 * agent_runtime_shutdown(). No lock of the library is held while it is called.
 *
 * After fork() a runtime is of no use in the child; make a new one there.
 *
 *
 * OWNERSHIP
 *
 * All types are opaque. What you get through a T ** or as a T * is yours, and you release it once with
 * its ..._free(), which accepts NULL, does not wait and does no IO. What you get as a const T * (or
 * as text) is lent; the function says until when.
 *
 * const on a handle means that the call changes nothing a caller can see, now or later.
 *
 * No call takes a handle away from you, and you may free what you made as soon as you do not need
 * it yourself: an agent keeps its tools, a run its agent. Freeing a handle inside a callback is fine.
 *
 * A callback is given as function, userdata and destroy. userdata is the first argument of each call.
 * destroy (NULL if there is nothing to do) is called with it exactly once, when the function will not
 * be called any more: also if the call that was given it failed. THREADS says what it may do.
 *
 *
 * RESULTS
 *
 * agent_status_t is AGENT_OK (0), a positive value that is fine but different (AGENT_DONE,
 * AGENT_PENDING), or negative for a failure. The last parameter is where the error goes: NULL if you
 * do not want it; else, on failure, it is given a handle to free, and otherwise not touched. Outputs
 * are written only when the status is AGENT_OK. Functions that only read have no status: given NULL,
 * or asked for what is not there, they give NULL, 0 or false.
 *
 *
 * TEXT
 *
 * Text in is UTF-8, given by pointer and length in bytes, or by AGENT_NTS as the length when it ends
 * with a NUL. It is copied. Text out is UTF-8 with a NUL behind it; its length, for which you may
 * pass NULL, does not count that. JSON is text like any other; the objects and their fields are
 * described in docs/abi.md. Half a character in JSON that you give (an escape such as \ud83d alone)
 * becomes U+FFFD.
 *
 *
 * VERSIONS
 *
 * AGENT_VERSION is the library this header came with, agent_version() the one that is loaded. What
 * must agree is AGENT_ABI_VERSION, which the library's file name has too (libagent.so.0). Within one
 * ABI functions, constants and JSON fields are added, never changed or removed: skip event kinds and
 * statuses that you do not know. docs/abi.md is the whole promise.
 */

#ifndef AGENT_H
#define AGENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define AGENT_VERSION "0.1.0"
#define AGENT_VERSION_MAJOR 0
#define AGENT_VERSION_MINOR 1
#define AGENT_VERSION_PATCH 0

/** The promise that a program and the library it loads must share; see docs/abi.md. */
#define AGENT_ABI_VERSION 0

/** As the length of a text: it ends with a NUL. */
#define AGENT_NTS SIZE_MAX

/* ================================================================================ types ======== */

/** How a call went: AGENT_OK, a positive AGENT_... or a negative one. */
typedef int32_t agent_status_t;

enum {
    AGENT_OK = 0,
    /** The run is over and all its events have been read. */
    AGENT_DONE = 1,
    /** Nothing within the time given. */
    AGENT_PENDING = 2,

    /* From the world: found in events, messages and agent_run_error(). */
    AGENT_AUTHENTICATION = -1,   /**< no key, or the provider refused it (HTTP 401) */
    AGENT_PERMISSION = -2,       /**< the key is good but may not do this (403) */
    AGENT_NOT_FOUND = -3,        /**< the model or address (404); a tool, an argument, a listener */
    AGENT_INVALID_REQUEST = -4,  /**< the provider finds the request malformed (400, 409, 422) */
    AGENT_CONTEXT_OVERFLOW = -5, /**< the conversation is longer than the model can take */
    AGENT_RATE_LIMITED = -6,     /**< too many requests; the same may work later (429) */
    AGENT_QUOTA = -7,            /**< the account's money or allowance is used up (402, some 429) */
    AGENT_OVERLOADED = -8,       /**< the provider has no capacity now (503, 529) */
    AGENT_SERVER = -9,           /**< the provider failed (other 5xx) */
    AGENT_TIMEOUT = -10,         /**< a time limit passed, here or at a gateway */
    AGENT_CONNECTION = -11,      /**< no connection, or it broke before the answer began */
    AGENT_TLS = -12,             /**< the secure connection could not be set up */
    AGENT_STREAM_TRUNCATED = -13, /**< the answer ended before its closing event */
    AGENT_PROTOCOL = -14,        /**< the answer is not what its protocol allows */
    AGENT_PROVIDER = -15,        /**< a model of one's own failed */
    AGENT_CALLBACK = -16,        /**< a hook failed; the message names it */
    AGENT_LIMIT = -17,           /**< a size bound was passed */

    /* From the caller. */
    AGENT_INVALID_ARGUMENT = -18, /**< an argument is wrong; the message names it */
    AGENT_INVALID_STATE = -19,    /**< the call does not fit the present state */
    AGENT_BUSY = -20,             /**< a run is active on this agent */
    AGENT_ABORTED = -21,          /**< it was aborted */
    AGENT_IO = -22,               /**< the operating system refused something */
    AGENT_PANIC = -23             /**< a bug in the library was caught */
};

/** What happened; see agent_event_kind(). */
enum {
    AGENT_EVENT_AGENT_START = 1,
    AGENT_EVENT_TURN_START = 2,
    AGENT_EVENT_MESSAGE_START = 3,
    AGENT_EVENT_TEXT_START = 4, /* 4 to 12 are the message updates */
    AGENT_EVENT_TEXT_DELTA = 5,
    AGENT_EVENT_TEXT_END = 6,
    AGENT_EVENT_THINKING_START = 7,
    AGENT_EVENT_THINKING_DELTA = 8,
    AGENT_EVENT_THINKING_END = 9,
    AGENT_EVENT_TOOL_CALL_START = 10,
    AGENT_EVENT_TOOL_CALL_DELTA = 11,
    AGENT_EVENT_TOOL_CALL_END = 12,
    AGENT_EVENT_MESSAGE_END = 13,
    AGENT_EVENT_TOOL_EXECUTION_START = 14,
    AGENT_EVENT_TOOL_EXECUTION_UPDATE = 15,
    AGENT_EVENT_TOOL_EXECUTION_END = 16,
    AGENT_EVENT_TURN_END = 17,
    AGENT_EVENT_AGENT_END = 18,
    AGENT_EVENT_RETRY = 19,      /**< the model call is tried again after a pause */
    AGENT_EVENT_DIAGNOSTIC = 20, /**< something was repaired, dropped, late or odd */
    AGENT_EVENT_RAW = 21         /**< a frame as the provider sent it; option raw_events */
};

/** Why a run ended; see agent_run_outcome(). */
enum {
    AGENT_OUTCOME_NONE = 0,      /**< it has not ended */
    AGENT_OUTCOME_COMPLETED = 1, /**< the model had nothing more to do */
    AGENT_OUTCOME_STOPPED = 2,   /**< the tools or a hook asked for the end */
    AGENT_OUTCOME_MAX_TURNS = 3, /**< the last allowed turn left work to do */
    AGENT_OUTCOME_ABORTED = 4,
    AGENT_OUTCOME_ERROR = 5
};

/** What is counted; see agent_run_usage(). */
enum {
    AGENT_USAGE_INPUT = 1,       /**< tokens read that were not in a cache */
    AGENT_USAGE_OUTPUT = 2,      /**< tokens written, thinking included */
    AGENT_USAGE_CACHE_READ = 3,  /**< tokens read from the provider's cache */
    AGENT_USAGE_CACHE_WRITE = 4, /**< tokens written to it */
    AGENT_USAGE_REASONING = 5,   /**< the part of the output that was thinking */
    AGENT_USAGE_TOTAL = 6
};

/** Which hook; see agent_set_hook(), which has their inputs and answers. */
enum {
    AGENT_HOOK_TRANSFORM_CONTEXT = 1,     /**< before a model call: the messages it is to see */
    AGENT_HOOK_CONVERT_TO_LLM = 2,        /**< then: messages of roles that models know */
    AGENT_HOOK_GET_API_KEY = 3,           /**< then: the key */
    AGENT_HOOK_BEFORE_TOOL_CALL = 4,      /**< allow a call, block it, or replace its arguments */
    AGENT_HOOK_AFTER_TOOL_CALL = 5,       /**< change what a tool answered */
    AGENT_HOOK_PREPARE_NEXT_TURN = 6,     /**< other context, model or thinking for the next turns */
    AGENT_HOOK_SHOULD_STOP_AFTER_TURN = 7, /**< whether the run shall end here */
    AGENT_HOOK_GET_STEERING_MESSAGES = 8, /**< with each look into the steering queue: more */
    AGENT_HOOK_GET_FOLLOW_UP_MESSAGES = 9, /**< with each look into the follow-up queue: more */
    AGENT_HOOK_ON_PAYLOAD = 10,           /**< see or replace a request's body */
    AGENT_HOOK_ON_RESPONSE = 11,          /**< see an answer's status and headers */
    AGENT_HOOK_ON_ERROR = 12,             /**< see what failed */
    AGENT_HOOK_BEFORE_RUN = 13,           /**< see what a run begins with */
    AGENT_HOOK_AFTER_RUN = 14             /**< see what it came to */
};

/** Why a call failed. Owned; release with agent_error_free(). Any thread may read it. */
typedef struct agent_error_t agent_error_t;

/** A text of its own. Owned; release with agent_text_free(). Any thread may read it. */
typedef struct agent_text_t agent_text_t;

/** Threads and connections. Owned; release with agent_runtime_free(). Any thread may use it. */
typedef struct agent_runtime_t agent_runtime_t;

/** What a model can call. Owned; release with agent_tool_free(). Any thread may use it. */
typedef struct agent_tool_t agent_tool_t;

/** One call of a tool. Owned; release with agent_tool_call_free(). Any thread may answer it. */
typedef struct agent_tool_call_t agent_tool_call_t;

/** One question to a hook. Owned; release with agent_hook_call_free(). Any thread may answer it. */
typedef struct agent_hook_call_t agent_hook_call_t;

/**
 * One request to a model of one's own. Owned; release with agent_model_call_free(). Any thread may
 * answer it, piece by piece; pieces pushed from several threads at once come in any order.
 */
typedef struct agent_model_call_t agent_model_call_t;

/** Model, tools, a conversation. Owned; release with agent_free(). Any thread may use it. */
typedef struct agent_t agent_t;

/** Messages. Owned; release with agent_messages_free(). Add from one thread, while none reads. */
typedef struct agent_messages_t agent_messages_t;

/**
 * One run. Owned; release with agent_run_free(). Pull from one thread at a time; steer, follow_up and
 * abort from any.
 */
typedef struct agent_run_t agent_run_t;

/**
 * One event of a run. Lent, or an owned clone: release that with agent_event_free(). Any thread may
 * read a clone.
 */
typedef struct agent_event_t agent_event_t;

/** Called once with the userdata of a callback that will not be called any more. */
typedef void (*agent_destroy_fn_t)(void *userdata);

/** A tool's function, or a middleware's. The call is yours: answer it now or later, and free it. */
typedef void (*agent_tool_fn_t)(void *userdata, agent_tool_call_t *call);

/**
 * Told what the rest of a chain of middleware came to: the text is the full result in JSON, {content,
 * details, is_error, terminate}, or, where is_error, why it failed. Lent until this returns, with a NUL
 * behind it.
 */
typedef void (*agent_tool_next_fn_t)(void *userdata, bool is_error, const char *text,
                                     size_t length);

/** A hook's function. The call is yours: answer it now or later, and free it. */
typedef void (*agent_hook_fn_t)(void *userdata, agent_hook_call_t *call);

/** A model's function. The call is yours: answer it now or later, and free it. */
typedef void (*agent_model_fn_t)(void *userdata, agent_model_call_t *call);

/** A listener. The event is lent until it returns; agent_event_clone() keeps it. */
typedef void (*agent_event_fn_t)(void *userdata, const agent_event_t *event);

/** Told that a run can be pulled. It should only wake the thread that does so. */
typedef void (*agent_wakeup_fn_t)(void *userdata);

/* ================================================================================ library ====== */

/** The version of the library that is loaded, for example "0.1.0". */
const char *agent_version(void);

/** Its ABI; compare with AGENT_ABI_VERSION. */
uint32_t agent_abi_version(void);

/** The status as a word: "ok", "done", "pending", or the kind of the error, such as "rate_limited". */
const char *agent_status_name(agent_status_t status);

/* ================================================================================ error ======== */

/** The kind of failure: one of the negative statuses. */
agent_status_t agent_error_status(const agent_error_t *error);

/** What was wrong, where, and what to do. Lent as long as the error. */
const char *agent_error_message(const agent_error_t *error, size_t *length);

/**
 * As JSON: {kind, message, provider?, http_status?, request_id?, retryable, retry_after_ms?}. Lent as
 * long as the error.
 */
const char *agent_error_json(const agent_error_t *error, size_t *length);

/** Releases an error. */
void agent_error_free(agent_error_t *error);

/* ================================================================================ text ========= */

/** The text. Lent as long as the handle. */
const char *agent_text_data(const agent_text_t *text, size_t *length);

/** Releases a text. */
void agent_text_free(agent_text_t *text);

/* ================================================================================ runtime ====== */

/**
 * Makes a runtime. One serves any number of agents and thousands of runs.
 *
 * options is NULL or a JSON object: {"threads": 2} for the number of threads that runs and connections
 * share. One, unless given, is right for up to some thousand runs at once; tools have further threads,
 * where they may block.
 */
agent_status_t agent_runtime_new(const char *options, size_t length, agent_runtime_t **runtime,
                                 agent_error_t **error);

/**
 * Aborts all runs, waits until they have ended (timeout_ms < 0: without limit) and stops the threads.
 *
 * AGENT_OK when all of it was done; AGENT_PENDING when the time was over first, for example because
 * a tool does not return: its thread is then left behind. A second call does nothing. Agents of the
 * runtime stay readable but start no more runs.
 */
agent_status_t agent_runtime_shutdown(agent_runtime_t *runtime, int64_t timeout_ms,
                                      agent_error_t **error);

/**
 * Releases a runtime. Its agents keep what is inside; when the last of them is gone too, the threads
 * end by themselves. To have them end before something else does, call agent_runtime_shutdown().
 */
void agent_runtime_free(agent_runtime_t *runtime);

/* ================================================================================ tool ========= */

/**
 * Makes a tool from its description in JSON and a function.
 *
 *     {
 *       "name": "weather",                          letters, digits, _ and -, at most 64
 *       "description": "The weather of a place.",   for the model
 *       "parameters": {                             the arguments' JSON Schema; none when left out
 *         "type": "object",
 *         "properties": { "place": { "type": "string" } },
 *         "required": ["place"]
 *       },
 *       "label": "Weather",                         optional: for people
 *       "execution_mode": "sequential",             optional: never beside another tool
 *       "timeout_ms": 5000                          optional: the longest a call may run
 *     }
 *
 * The function is called with arguments that fit the schema, each time on a thread where it may
 * block. Calls of one answer run side by side, unless the agent or one of the tools called says
 * "sequential".
 */
agent_status_t agent_tool_new(const char *json, size_t length, agent_tool_fn_t function,
                              void *userdata, agent_destroy_fn_t destroy, agent_tool_t **tool,
                              agent_error_t **error);

/**
 * Replaces fields of the description, as agent_tool_new() reads them. Agents that have the tool
 * already keep it as it was.
 */
agent_status_t agent_tool_set_json(agent_tool_t *tool, const char *json, size_t length,
                                   agent_error_t **error);

/**
 * Has a function put the model's arguments right before they are checked: for models that get a shape
 * wrong. NULL for none. Agents that have the tool already keep it as it was.
 *
 * The call's input is the arguments, a JSON object; the answer the arguments as they shall be, or null
 * for no change. If it fails, so does the tool's call. Called like a hook; see agent_set_hook().
 */
agent_status_t agent_tool_set_prepare_arguments(agent_tool_t *tool, agent_hook_fn_t function,
                                                void *userdata, agent_destroy_fn_t destroy,
                                                agent_error_t **error);

/** Releases a tool. */
void agent_tool_free(agent_tool_t *tool);

/* ---- a call of a tool: answered once, from any thread ----------------------------------------- */

/** The call's id. Lent as long as the call. */
const char *agent_tool_call_id(const agent_tool_call_t *call, size_t *length);

/** The tool's name. Lent as long as the call. */
const char *agent_tool_call_name(const agent_tool_call_t *call, size_t *length);

/** The arguments, a JSON object. Lent as long as the call. */
const char *agent_tool_call_arguments(const agent_tool_call_t *call, size_t *length);

/**
 * One argument, when it is a text. Lent as long as the call. value_length may be NULL.
 *
 * AGENT_NOT_FOUND when it was not given or is null; AGENT_INVALID_ARGUMENT when it is something else.
 */
agent_status_t agent_tool_call_get_string(const agent_tool_call_t *call, const char *name,
                                          size_t length, const char **value, size_t *value_length,
                                          agent_error_t **error);

/** One argument, when it is a number. Fails as agent_tool_call_get_string(). */
agent_status_t agent_tool_call_get_number(const agent_tool_call_t *call, const char *name,
                                          size_t length, double *value, agent_error_t **error);

/** One argument, when it is true or false. Fails as agent_tool_call_get_string(). */
agent_status_t agent_tool_call_get_bool(const agent_tool_call_t *call, const char *name,
                                        size_t length, bool *value, agent_error_t **error);

/**
 * Whether the answer is no longer wanted: the run was aborted, or a time limit passed. To be asked now
 * and then.
 */
bool agent_tool_call_is_cancelled(const agent_tool_call_t *call);

/**
 * Waits, in the engine's time (which a scripted model makes fly). AGENT_OK when all of the time has
 * passed, AGENT_ABORTED at once when the call is cancelled.
 */
agent_status_t agent_tool_call_sleep(const agent_tool_call_t *call, uint64_t ms,
                                     agent_error_t **error);

/** Tells how far the tool is (tool_execution_update), with a text. Not after the answer. */
agent_status_t agent_tool_call_update(agent_tool_call_t *call, const char *text, size_t length,
                                      agent_error_t **error);

/** The same with JSON, read as by agent_tool_call_respond_json(). */
agent_status_t agent_tool_call_update_json(agent_tool_call_t *call, const char *json, size_t length,
                                           agent_error_t **error);

/** Answers with a text. AGENT_INVALID_STATE when there was an answer already. */
agent_status_t agent_tool_call_respond(agent_tool_call_t *call, const char *text, size_t length,
                                       agent_error_t **error);

/**
 * Answers with JSON. {"content": [blocks], "details"?, "is_error"?, "terminate"?} is a full result;
 * anything else is what the model reads: a string as text, null as nothing, other JSON as it stands.
 */
agent_status_t agent_tool_call_respond_json(agent_tool_call_t *call, const char *json,
                                            size_t length, agent_error_t **error);

/** Answers that the call failed. The model reads the message, and the run goes on. */
agent_status_t agent_tool_call_fail(agent_tool_call_t *call, const char *message, size_t length,
                                    agent_error_t **error);

/**
 * Of a call that a middleware got: runs the rest of the chain, at its end the tool, and has a function
 * called with what that came to. Returns at once.
 *
 * With arguments, a JSON object, instead of the call's own (NULL); they are not checked again. The
 * function is called once, on a thread where it may block; when the run gives the call up, it is told
 * "aborted". Only a runtime that is shut down meanwhile lets go of it uncalled, so release what is
 * userdata's in destroy:
 *
 *     static void after(void *call, bool is_error, const char *text, size_t length)
 *     {
 *         if (is_error)
 *             agent_tool_call_fail(call, text, length, NULL);
 *         else
 *             agent_tool_call_respond_json(call, text, length, NULL);
 *     }
 *
 *     static void done(void *call) { agent_tool_call_free(call); }
 *
 *     static void middleware(void *userdata, agent_tool_call_t *call)
 *     {
 *         agent_tool_call_next(call, NULL, 0, after, call, done, NULL);
 *     }
 *
 * May be called again, to try again. AGENT_INVALID_STATE after the answer, and for a tool's own call.
 */
agent_status_t agent_tool_call_next(agent_tool_call_t *call, const char *arguments, size_t length,
                                    agent_tool_next_fn_t function, void *userdata,
                                    agent_destroy_fn_t destroy, agent_error_t **error);

/** Releases a call. One that has not been answered fails. */
void agent_tool_call_free(agent_tool_call_t *call);

/* ================================================================================ agent ======== */

/**
 * Makes an agent.
 *
 * model is "provider/id" ("anthropic/claude-sonnet-4-5", "openai/gpt-5") or a JSON object:
 *
 *     provider, id         as in the name; all others may be left out
 *     protocol             the wire format, where the provider's own is not meant: "anthropic",
 *                            "openai_responses", "openai_chat", "gemini" or "relay"
 *     base_url, headers    the server's address, and headers for each request to it
 *     project, location    on Vertex AI, instead of GOOGLE_CLOUD_PROJECT and GOOGLE_CLOUD_LOCATION
 *     api_version          on Azure, instead of AZURE_OPENAI_API_VERSION
 *     base_model           which of agent_models_json() it is, where id is a name of one's own (a
 *                            deployment on Azure, an alias): "openai/gpt-5"
 *     label, context_window, max_output_tokens, input, cost
 *                          what is known of it, as in agent_models_json()
 *     thinking             whether it thinks: true, false, or how, a word of the quirk thinking
 *     quirks               what its server does differently, by name
 *
 * docs/providers.md has the providers, their keys, the quirks and their words. The provider "scripted"
 * plays a script, for tests:
 * {"provider": "scripted", "id": "any", "script": [[{"delta": "Hello"}, {"end": "stop"}]]}.
 */
agent_status_t agent_new(agent_runtime_t *runtime, const char *model, size_t length,
                         agent_t **agent, agent_error_t **error);

/* What is set holds from the next turn on, also during a run. */

/** Replaces the model; see agent_new(). */
agent_status_t agent_set_model(agent_t *agent, const char *model, size_t length,
                               agent_error_t **error);

/** Replaces what the model is told first. */
agent_status_t agent_set_system_prompt(agent_t *agent, const char *text, size_t length,
                                       agent_error_t **error);

/** Replaces the API key. NULL: the provider's environment variable, such as OPENAI_API_KEY. */
agent_status_t agent_set_api_key(agent_t *agent, const char *key, size_t length,
                                 agent_error_t **error);

/**
 * Replaces the server's address, with or without /v1; a key is then optional. NULL: the provider's own.
 */
agent_status_t agent_set_base_url(agent_t *agent, const char *url, size_t length,
                                  agent_error_t **error);

/**
 * Sets options by name, from a JSON object: all of them, or after an error none. null is the default.
 *
 *     model, system_prompt, base_url, api_key     as above
 *     fallbacks            an array of models (names or objects), asked in this order when the model
 *                            fails before it said anything and no retry is left; one of the same provider
 *                            at the agent's address and with its key, another at its own and with its own;
 *                            one that cannot be used is refused by the next prompt, as a model is
 *     messages             the conversation so far; AGENT_BUSY during a run
 *
 *   for the model
 *     thinking_level       "off" (as without it), "minimal", "low", "medium", "high", "xhigh"
 *     thinking_budgets     tokens by level, {"low": 2048, ...}, where the provider counts them
 *     temperature          a number; 0 is sent as 0
 *     max_tokens           the most the model may write per message, its thinking included; raised where
 *                            a budget of thinking would leave no answer
 *     stop_sequences       texts that end the answer when the model writes them
 *     tool_choice          "auto", "none", "required" or {"tool": name}
 *     session_id           names the conversation to providers that keep caches or route by it
 *     cache_retention      "short" (as without it), "long" or "none": how long a provider is asked to
 *                            keep what it has read
 *     headers              an object of texts, for each request
 *     raw_events           true for AGENT_EVENT_RAW
 *
 *     What a model does not take, it is asked without; an AGENT_EVENT_DIAGNOSTIC ("option_ignored")
 *     tells which, once in a run.
 *
 *   for the loop
 *     max_turns            the most turns of one run (10; 0 for no limit)
 *     steering_mode        how many messages one look into the queue takes: "one_at_a_time" (as
 *     follow_up_mode         without it) or "all"
 *     steering_policy      what steering does to tool calls that do not run yet: "skip_remaining" (as
 *                            without it), or "after_batch", when they run first
 *
 *   for tools
 *     tool_execution       "parallel" (as without it) or "sequential"
 *     max_parallel_tools   how many tools run at once (8)
 *     validation           of arguments: "coerce" ("5" becomes 5 where the schema asks), "strict", "off"
 *     max_result_bytes     the most of a tool's text that the model reads (50000)
 *     abort_grace_ms       how long an aborted run waits for its tools (1000)
 *
 *   time limits in milliseconds, 0 for none; and retries of a model call
 *     connect_timeout_ms   setting up a connection (10000)
 *     first_byte_timeout_ms  until the answer begins (120000)
 *     idle_timeout_ms      between two signs of life (120000)
 *     request_timeout_ms   one try of a model call (600000)
 *     tool_timeout_ms      one tool call (0)
 *     run_timeout_ms       a run (0)
 *     max_retries          how often a failed call is tried again (2)
 *     retry_base_ms        the first pause at most; it doubles (500)
 *     max_retry_delay_ms   the longest pause, also of those a provider asks for (60000)
 *
 *   for the way to the model (docs/network.md); without it, the environment's proxy variables and the
 *   system's certificate authorities
 *     network              an object, of {"proxy": address or false, "no_proxy": hosts, "ca_file": path,
 *                            "client_certificate": path, "client_key": path, "roots": "system",
 *                            "bundled" or "both", "resolve": {host: address}} any
 */
agent_status_t agent_set_json(agent_t *agent, const char *json, size_t length,
                              agent_error_t **error);

/** Adds a tool. */
agent_status_t agent_add_tool(agent_t *agent, const agent_tool_t *tool, agent_error_t **error);

/** Takes out the tool of this name. AGENT_NOT_FOUND when there is none. */
agent_status_t agent_remove_tool(agent_t *agent, const char *name, size_t length,
                                 agent_error_t **error);

/**
 * Adds a link to the chain around tool execution, inside of those added before. It cannot be taken out.
 *
 * The function is called instead of the tool, with a call like a tool's and on a thread where it may
 * block. It may have the rest of the chain run, with agent_tool_call_next(), and answers the call: with
 * the result it was told, with another, or without having run the tool at all.
 */
agent_status_t agent_add_middleware(agent_t *agent, agent_tool_fn_t function, void *userdata,
                                    agent_destroy_fn_t destroy, agent_error_t **error);

/* ---- runs ------------------------------------------------------------------------------------- */

/**
 * Starts a run with a user message, and gives it.
 *
 * With NULL for run it goes on by itself, for listeners alone. AGENT_BUSY while another is active.
 */
agent_status_t agent_prompt(agent_t *agent, const char *text, size_t length, agent_run_t **run,
                            agent_error_t **error);

/** The same with messages, for example with images. The list stays yours, and unchanged. */
agent_status_t agent_prompt_messages(agent_t *agent, const agent_messages_t *messages,
                                     agent_run_t **run, agent_error_t **error);

/**
 * Goes on from the conversation as it stands, adding no message; where it ends with an answer, with
 * what waits in the steering queue, else in the follow-up queue. After a failed run this tries again.
 *
 * AGENT_INVALID_STATE when the conversation is empty, or ends with an answer while both queues are
 * empty. Else as agent_prompt().
 */
agent_status_t agent_resume(agent_t *agent, agent_run_t **run, agent_error_t **error);

/** Aborts the active run, if there is one. Returns at once; the run ends with its events as usual. */
agent_status_t agent_abort(agent_t *agent, agent_error_t **error);

/**
 * Waits until no run is active and all listeners have returned. AGENT_PENDING when that took longer
 * (timeout_ms < 0: without limit).
 */
agent_status_t agent_wait_for_idle(const agent_t *agent, int64_t timeout_ms, agent_error_t **error);

/* ---- messages for a run: from any thread and any callback ------------------------------------- */

/**
 * Queues what a user says, for the active run or the next one, as soon as it can be said: before the
 * first answer, after a turn, or among the tool calls of a turn, of which those that do not run yet are
 * skipped (option steering_policy). Nothing queued is lost: what a run did not show waits for the next.
 */
agent_status_t agent_steer(agent_t *agent, const char *text, size_t length, agent_error_t **error);

/** The same with messages. The list stays yours, and unchanged. */
agent_status_t agent_steer_messages(agent_t *agent, const agent_messages_t *messages,
                                    agent_error_t **error);

/** Queues what a user says, for when a run would have ended. */
agent_status_t agent_follow_up(agent_t *agent, const char *text, size_t length,
                               agent_error_t **error);

/** The same with messages. The list stays yours, and unchanged. */
agent_status_t agent_follow_up_messages(agent_t *agent, const agent_messages_t *messages,
                                        agent_error_t **error);

/** Takes out of the steering queue all that no turn has begun with. */
agent_status_t agent_clear_steering_queue(agent_t *agent, agent_error_t **error);

/** Takes out of the follow-up queue all that no turn has begun with. */
agent_status_t agent_clear_follow_up_queue(agent_t *agent, agent_error_t **error);

/** Both. */
agent_status_t agent_clear_all_queues(agent_t *agent, agent_error_t **error);

/** Whether a message waits in either queue, or is about to be shown. */
bool agent_has_queued_messages(const agent_t *agent);

/* ---- listeners -------------------------------------------------------------------------------- */

/**
 * Has a function called with each event of this agent's runs. They wait for it.
 *
 * Listeners are called in the order in which they subscribed, and stay as long as the agent, that is
 * also after agent_free() while a run goes on. The number for agent_unsubscribe() may be NULL.
 */
agent_status_t agent_subscribe(agent_t *agent, agent_event_fn_t function, void *userdata,
                               agent_destroy_fn_t destroy, uint64_t *subscription,
                               agent_error_t **error);

/** Removes a listener. It is not called again, though a call may still be under way on another thread. */
agent_status_t agent_unsubscribe(agent_t *agent, uint64_t subscription, agent_error_t **error);

/* ---- the conversation ------------------------------------------------------------------------- */

/**
 * The state in JSON: {system_prompt, model, thinking_level, tools, messages, is_streaming,
 * streaming_message, pending_tool_calls, error, listener_errors}. Does not wait for a run.
 */
agent_status_t agent_state_json(const agent_t *agent, agent_text_t **state, agent_error_t **error);

/** The conversation: what message_end events have shown. Later messages do not appear in the list. */
agent_status_t agent_messages(const agent_t *agent, agent_messages_t **messages,
                              agent_error_t **error);

/* The following are AGENT_BUSY during a run. */

/** Replaces the conversation. The list stays yours. */
agent_status_t agent_set_messages(agent_t *agent, const agent_messages_t *messages,
                                  agent_error_t **error);

/** Appends to the conversation. The list stays yours. */
agent_status_t agent_append_messages(agent_t *agent, const agent_messages_t *messages,
                                     agent_error_t **error);

/** Empties the conversation. */
agent_status_t agent_clear_messages(agent_t *agent, agent_error_t **error);

/** Empties the conversation and both queues, and forgets the last error. */
agent_status_t agent_reset(agent_t *agent, agent_error_t **error);

/** Releases an agent. A run that is active goes on. */
void agent_free(agent_t *agent);

/* ================================================================================ message ====== */

/** Makes an empty list. */
agent_status_t agent_messages_new(agent_messages_t **messages, agent_error_t **error);

/** Reads a list from a JSON array of messages, as agent_messages_json() writes it. */
agent_status_t agent_messages_from_json(const char *json, size_t length,
                                        agent_messages_t **messages, agent_error_t **error);

/** Appends what a user says. */
agent_status_t agent_messages_add_user(agent_messages_t *messages, const char *text, size_t length,
                                       agent_error_t **error);

/**
 * Appends a message in JSON: {"role": "user" | "assistant" | "tool_result" | your own, "content", ...},
 * for example {"role": "user", "content": [{"type": "text", "text": "What is this?"},
 * {"type": "image", "data": base64, "mime_type": "image/png"}]}.
 */
agent_status_t agent_messages_add_json(agent_messages_t *messages, const char *json, size_t length,
                                       agent_error_t **error);

/** How many there are. */
size_t agent_messages_count(const agent_messages_t *messages);

/* Of the message at an index from 0; NULL beyond the last. Lent as long as the list. */

/** "user", "assistant", "tool_result", or an application's own word. */
const char *agent_messages_role(const agent_messages_t *messages, size_t index, size_t *length);

/** All its text, joined. */
const char *agent_messages_text(const agent_messages_t *messages, size_t index, size_t *length);

/** The message in JSON. */
const char *agent_messages_json_at(const agent_messages_t *messages, size_t index, size_t *length);

/** All of them, a JSON array: what agent_messages_from_json() reads. Lent until a message is added. */
const char *agent_messages_json(const agent_messages_t *messages, size_t *length);

/**
 * Makes the messages fit a model, as every request does by itself: gives a new list, and (repairs may
 * be NULL) what was done, a JSON array of {code, message_index, content_index?, text}, in the order of
 * the messages; empty when they fitted. For conversations from elsewhere, or to look at one before it
 * is used. docs/abi.md has the codes.
 *
 * Failed messages are left out, with the results of their calls; each call has one result, right behind
 * its message; ids, thinking, signatures and images are such as the model takes. Messages of your own
 * roles are left out.
 *
 * model is as in agent_new(). AGENT_INVALID_ARGUMENT when it cannot be used.
 */
agent_status_t agent_messages_repair(const agent_messages_t *messages, const char *model,
                                     size_t length, agent_messages_t **repaired,
                                     agent_text_t **repairs, agent_error_t **error);

/** What agent_messages_repair() would do: "[]" when the messages fit. */
agent_status_t agent_messages_check(const agent_messages_t *messages, const char *model,
                                    size_t length, agent_text_t **repairs, agent_error_t **error);

/** Releases a list. */
void agent_messages_free(agent_messages_t *messages);

/* ================================================================================ run ========== */

/** The id that all its events have. Lent as long as the run. */
const char *agent_run_id(const agent_run_t *run, size_t *length);

/**
 * The next event, waited for at most timeout_ms (< 0: without limit; 0: not at all). Lent until the
 * next call, or until the run is freed.
 *
 * AGENT_PENDING when none came in time. AGENT_DONE after the last, when the run is over and the agent
 * idle: what it came to is then told by agent_run_outcome() and its neighbours.
 */
agent_status_t agent_run_next(agent_run_t *run, int64_t timeout_ms, const agent_event_t **event,
                              agent_error_t **error);

/**
 * Waits until the run is over. AGENT_PENDING when that took longer than timeout_ms (< 0: without
 * limit). Events that were not read are thrown away.
 */
agent_status_t agent_run_wait(agent_run_t *run, int64_t timeout_ms, agent_error_t **error);

/**
 * Has a function called, on any thread, each time there begins to be something to pull (the end of the
 * run counts). If there is something already, at once. Replaces the one set before; NULL for none.
 *
 * It should only wake your event loop, which then pulls with a timeout of 0 until AGENT_PENDING or
 * AGENT_DONE.
 */
agent_status_t agent_run_set_wakeup(agent_run_t *run, agent_wakeup_fn_t function, void *userdata,
                                    agent_destroy_fn_t destroy, agent_error_t **error);

/**
 * A descriptor that is readable as long as there is something to pull, or the run is over. For poll()
 * and the like: do not read from it or close it. Lent as long as the run. On Unix; elsewhere AGENT_IO.
 */
agent_status_t agent_run_fd(agent_run_t *run, int *fd, agent_error_t **error);

/**
 * Queues what a user says, as agent_steer(). After the run's end it waits in the agent's queue; after
 * the end of a run without an agent, AGENT_INVALID_STATE. From any thread and any callback.
 */
agent_status_t agent_run_steer(agent_run_t *run, const char *text, size_t length,
                               agent_error_t **error);

/** The same with messages. The list stays yours, and unchanged. */
agent_status_t agent_run_steer_messages(agent_run_t *run, const agent_messages_t *messages,
                                        agent_error_t **error);

/** Queues what a user says, as agent_follow_up(). Fails as agent_run_steer(). */
agent_status_t agent_run_follow_up(agent_run_t *run, const char *text, size_t length,
                                   agent_error_t **error);

/** The same with messages. The list stays yours, and unchanged. */
agent_status_t agent_run_follow_up_messages(agent_run_t *run,
                                            const agent_messages_t *messages,
                                            agent_error_t **error);

/** Aborts the run. From any thread, any number of times; returns at once. */
agent_status_t agent_run_abort(agent_run_t *run, agent_error_t **error);

/* What the run came to. NULL or 0 until it is over; then lent as long as the run. */

/** Why it ended: AGENT_OUTCOME_... */
int32_t agent_run_outcome(const agent_run_t *run);

/** The outcome as a word, such as "completed"; NULL for AGENT_OUTCOME_NONE and unknown values. */
const char *agent_outcome_name(int32_t outcome);

/** The text of its last answer. */
const char *agent_run_text(const agent_run_t *run, size_t *length);

/** The sum of its tokens: AGENT_USAGE_... The price, where known, is in agent_run_json(). */
uint64_t agent_run_usage(const agent_run_t *run, int32_t which);

/** How many turns began. */
uint32_t agent_run_turns(const agent_run_t *run);

/** The messages it added to the conversation. */
const agent_messages_t *agent_run_messages(const agent_run_t *run);

/** Why it failed: there exactly when the outcome is AGENT_OUTCOME_ERROR or AGENT_OUTCOME_ABORTED. */
const agent_error_t *agent_run_error(const agent_run_t *run);

/**
 * All of it in JSON: {outcome, text, message, messages, usage, turns, error?, undelivered?}. A run
 * without an agent has undelivered: {steering, follow_up}, the queued messages that it did not show.
 */
const char *agent_run_json(const agent_run_t *run, size_t *length);

/** Releases a run. One that is still active is aborted. */
void agent_run_free(agent_run_t *run);

/* ================================================================================ loop ========= */

/*
 * A run without an agent, over a conversation that you keep and that is never changed.
 *
 * settings is an agent that is only read: its model, key, address, tools, hooks, middleware, limits and
 * other options hold for the run; its conversation, queues and listeners have no part in it, and it may
 * have runs of its own meanwhile. Any number of runs may share it.
 *
 * context is a JSON object {"system_prompt"?: text, "messages"?: [the conversation so far], "tools"?:
 * [names of the settings' tools]}; NULL for an empty one. The settings' own prompt, and all their tools,
 * where it does not say. What the run adds is in agent_run_messages().
 */

/** Runs prompts over a context. Fails as agent_prompt(), but is never AGENT_BUSY. */
agent_status_t agent_loop_run(const agent_t *settings, const char *context, size_t length,
                              const agent_messages_t *prompts, agent_run_t **run,
                              agent_error_t **error);

/**
 * Goes on with a context as it stands, adding no message. AGENT_INVALID_STATE when it has none, or ends
 * with an answer.
 */
agent_status_t agent_loop_resume(const agent_t *settings, const char *context, size_t length,
                                 agent_run_t **run, agent_error_t **error);

/* ================================================================================ event ======== */

/** What happened: AGENT_EVENT_... */
int32_t agent_event_kind(const agent_event_t *event);

/** The kind as a word, such as "text_delta"; NULL for unknown values. */
const char *agent_event_kind_name(int32_t kind);

/** Whether it is a piece of an answer: AGENT_EVENT_TEXT_START to AGENT_EVENT_TOOL_CALL_END. */
bool agent_event_is_message_update(const agent_event_t *event);

/** The run's id. Lent as long as the event, like all text below. */
const char *agent_event_run_id(const agent_event_t *event, size_t *length);

/** Its number in the run: 0, 1, 2 and so on without gaps. */
uint64_t agent_event_seq(const agent_event_t *event);

/** The turn, from 1; 0 in agent_start. */
uint32_t agent_event_turn(const agent_event_t *event);

/** Of message updates: which block of the message, from 0. */
uint32_t agent_event_content_index(const agent_event_t *event);

/**
 * Of ..._delta the piece (of a tool call's, a piece of the arguments); of text_end and thinking_end the
 * whole block; of message_start, message_end and turn_end the message's text; of tool_execution_update
 * and tool_execution_end the tool's; of retry and diagnostic what a person should read. Else NULL.
 */
const char *agent_event_text(const agent_event_t *event, size_t *length);

/** Of message_start and message_end: the message's role. */
const char *agent_event_role(const agent_event_t *event, size_t *length);

/** Of tool_call_end, tool_execution_start and tool_execution_update: the arguments, a JSON object. */
const char *agent_event_arguments(const agent_event_t *event, size_t *length);

/** Of tool_execution_end, and message_start and message_end of its result: whether the tool failed. */
bool agent_event_is_error(const agent_event_t *event);

/** Of all events about one tool call, and messages with its result: the call's id. */
const char *agent_event_tool_call_id(const agent_event_t *event, size_t *length);

/** Of the same: the tool's name. */
const char *agent_event_tool_name(const agent_event_t *event, size_t *length);

/** Of agent_end: why the run ended, AGENT_OUTCOME_... Else AGENT_OUTCOME_NONE. */
int32_t agent_event_outcome(const agent_event_t *event);

/** Of agent_end, message_end, turn_end and retry: what failed, if something did. */
const agent_error_t *agent_event_error(const agent_event_t *event);

/** From an answer's message_start to its message_end: the message after this event, in JSON. */
const char *agent_event_partial(const agent_event_t *event, size_t *length);

/** The event in JSON, on one line: {type, run_id, seq, turn, ...}. */
const char *agent_event_json(const agent_event_t *event, size_t *length);

/** Keeps an event: a copy that is yours. NULL only for NULL. */
agent_event_t *agent_event_clone(const agent_event_t *event);

/** Releases a clone. Events that were only lent are not yours to free. */
void agent_event_free(agent_event_t *event);

/* ================================================================================ hook ========= */

/**
 * Sets the function that is asked at a point of each run; AGENT_HOOK_... says at which. It replaces the
 * one set before; NULL for none. Holds from the next turn on, also during a run.
 *
 * The function is called on a thread where it may block, inside the agent's callbacks (see THREADS),
 * and the run waits for its answer; an abort ends the wait. Input and answer are JSON, and null as the
 * answer changes nothing:
 *
 *     TRANSFORM_CONTEXT        {messages}; an array of messages, for this model call only
 *     CONVERT_TO_LLM           {messages}; an array of user, assistant and tool_result messages
 *     GET_API_KEY              {provider}; a text
 *     BEFORE_TOOL_CALL         {tool_call_id, tool_name, arguments, message}; {"block": true, "reason"}
 *                              or {"arguments"}, which are checked again
 *     AFTER_TOOL_CALL          {tool_call_id, tool_name, arguments, result {content, details,
 *                              terminate}, is_error}; any of {"content", "details", "is_error",
 *                              "terminate"}
 *     PREPARE_NEXT_TURN        {turn, message, tool_results}; any of {"context" {"system_prompt",
 *                              "messages", "tools" (names)}, "model", "thinking_level"}, for the rest of
 *                              the run
 *     SHOULD_STOP_AFTER_TURN   {turn, message, tool_results}; true or false
 *     GET_STEERING_MESSAGES    {}; a text, a message, or an array of them
 *     GET_FOLLOW_UP_MESSAGES   {}; a text, a message, or an array of them
 *     ON_PAYLOAD               {provider, model, payload}; the payload to be sent instead
 *     ON_RESPONSE              {provider, status, headers}
 *     ON_ERROR                 {error, attempt, will_retry}
 *     BEFORE_RUN               {prompts}
 *     AFTER_RUN                the run's result, as agent_run_json()
 *
 * A hook that fails: around a tool call, that call fails; before a model call, or BEFORE_RUN, the
 * answer fails with AGENT_CALLBACK; after a turn, the run does; ON_RESPONSE and ON_ERROR are told in a
 * diagnostic; AFTER_RUN is only logged.
 */
agent_status_t agent_set_hook(agent_t *agent, int32_t hook, agent_hook_fn_t function, void *userdata,
                              agent_destroy_fn_t destroy, agent_error_t **error);

/* ---- a question to a hook: answered once, from any thread ------------------------------------- */

/** What the hook is asked, in JSON. Lent as long as the call. */
const char *agent_hook_call_input(const agent_hook_call_t *call, size_t *length);

/** Whether the answer is no longer wanted: the run was aborted, or its time limit passed. */
bool agent_hook_call_is_cancelled(const agent_hook_call_t *call);

/**
 * Waits, in the engine's time. AGENT_OK when all of the time has passed, AGENT_ABORTED at once when the
 * answer is no longer wanted.
 */
agent_status_t agent_hook_call_sleep(const agent_hook_call_t *call, uint64_t ms,
                                     agent_error_t **error);

/**
 * Answers with JSON; "null" for no change. AGENT_INVALID_STATE when there was an answer already. An
 * answer that the hook cannot give is the hook's failure.
 */
agent_status_t agent_hook_call_respond_json(agent_hook_call_t *call, const char *json,
                                            size_t length, agent_error_t **error);

/** Answers that the hook failed. */
agent_status_t agent_hook_call_fail(agent_hook_call_t *call, const char *message, size_t length,
                                    agent_error_t **error);

/** Releases a call. One that has not been answered has failed. */
void agent_hook_call_free(agent_hook_call_t *call);

/* ================================================================================ model ======== */

/**
 * The models that are known, by provider and id, as a JSON array of {provider, id, label,
 * context_window, max_output_tokens, input, thinking, cost?, quirks?}; agent_new() takes each as it is.
 * cost is {input, output, cache_read, cache_write}, in US dollars per million tokens, and missing when
 * it is not known. What a model's name or object leaves open is taken from here. A model that is not
 * here works, with an unknown cost.
 */
agent_status_t agent_models_json(agent_text_t **models, agent_error_t **error);

/**
 * Has a function answer instead of a provider, for any model's name ("acme/my-model"). It wins over the
 * known providers; NULL to take it out. Holds from the next turn on, also during a run.
 *
 * The function is called for each request, on a thread where it may block, and gives the answer
 * through its call, piece by piece:
 *
 *     static void parrot(void *userdata, agent_model_call_t *call)
 *     {
 *         (void)userdata;
 *         if (agent_model_call_push_text(call, "Polly ", AGENT_NTS, NULL) == AGENT_OK
 *             && agent_model_call_push_text(call, "wants a cracker.", AGENT_NTS, NULL) == AGENT_OK)
 *             agent_model_call_finish(call, NULL, 0, NULL);
 *         agent_model_call_free(call);
 *     }
 */
agent_status_t agent_set_model_callback(agent_t *agent, agent_model_fn_t function, void *userdata,
                                        agent_destroy_fn_t destroy, agent_error_t **error);

/* ---- a request to a model of one's own -------------------------------------------------------- */

/**
 * What is asked, in JSON: {model, system_prompt, messages, tools, thinking_level, options}. Lent as long
 * as the call.
 */
const char *agent_model_call_request(const agent_model_call_t *call, size_t *length);

/** Whether the answer is no longer wanted: the run was aborted, or the request took too long. */
bool agent_model_call_is_cancelled(const agent_model_call_t *call);

/**
 * Gives a piece of the answer, in JSON, and waits while the run is behind. AGENT_ABORTED when the
 * answer is no longer wanted: free the call then. AGENT_INVALID_ARGUMENT for what is no piece; the
 * answer goes on. A piece is one of
 *
 *     "text"   {"text": "..."}   {"thinking": "..."}   {"tool_call": {"id", "name", "arguments"}}
 *     {"type": "text_start" | "text_delta" | "text_end" | "thinking_..." | "tool_call_...", ...}, with
 *         the fields of these events (docs/abi.md); content_index may be left out
 *     {"error": {"kind": "rate_limited", "message", "retryable"?, ...}}: a failure of any kind, which
 *         ends the answer
 *     {"usage": {"input", "output", ...}}: what it has cost so far
 *     {"diagnostic": {"code", "message", "data"}}
 */
agent_status_t agent_model_call_push(agent_model_call_t *call, const char *json, size_t length,
                                     agent_error_t **error);

/** The same with a piece of the answer's text. */
agent_status_t agent_model_call_push_text(agent_model_call_t *call, const char *text, size_t length,
                                          agent_error_t **error);

/**
 * Says that the answer is complete. end is NULL, or a JSON object {"stop_reason"?, "raw_stop_reason"?,
 * "response_id"?, "usage"?}; stop_reason is "tool_use" where there are calls, else "stop", unless
 * given. AGENT_INVALID_STATE when the answer has ended already.
 */
agent_status_t agent_model_call_finish(agent_model_call_t *call, const char *end, size_t length,
                                       agent_error_t **error);

/** Says that there will be no answer, or no more of it: AGENT_PROVIDER with this message. */
agent_status_t agent_model_call_fail(agent_model_call_t *call, const char *message, size_t length,
                                     agent_error_t **error);

/** Releases a call. An answer that has not ended fails. */
void agent_model_call_free(agent_model_call_t *call);

/* ================================================================================ testing ====== */

/**
 * Whether these are the events of one run, whole and in order: for tests of a model of your own, or of
 * what shows events. events is a JSON array of them, or one after the other as agent_event_json()
 * writes them. AGENT_INVALID_ARGUMENT names the first that does not fit, and says why.
 */
agent_status_t agent_check_events(const char *events, size_t length, agent_error_t **error);

#ifdef __cplusplus
}
#endif

#endif /* AGENT_H */
