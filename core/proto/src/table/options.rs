//! The options of agents and of stateless runs, one row each.
//!
//! `options_of!(block, callback prefix)` calls a macro with the rows of a block, preceded by the prefix. The blocks are the
//! structs that have the options as fields; `connection` has those of the requests, which the loop does not know, and `agent`
//! those that the agent reads itself. A row is
//!
//! ```text
//! /// What it is, in a sentence: for rustdoc, the header, the stubs, the types and docs/options.md.
//! name: Type = default, words "the default in words", at_least 1, fn set_name(Argument), Kind, Group, "since";
//! ```
//!
//! `words` is for defaults that are no plain value, `at_least` for numbers with a minimum. `set_name` is the setter of the Rust
//! API and `Argument` what it takes: the type, or `&str` for text. An `Option<T>` has `fn set_name[T]`: the agent's setter takes
//! an `Option<T>`, the builder's a `T`. [`Type`] and [`Group`] have the kinds and the groups.
//!
//! A row of `connection` is
//!
//! ```text
//! /// What it is.
//! name: Type, words "the default in words", fn set_name, Kind, Group, "since";
//! ```
//!
//! The default is that of the type, which also reads the JSON. Without `fn set_name`, setters and getter are written by hand.

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::error::Error;
use crate::json_error::{shown, words};
use crate::json_reader::from_value;

pub use super::option_types::*;

/// The rows of a block, given to a macro.
#[macro_export]
macro_rules! options_of {
    (agent, $callback:ident $($prefix:tt)*) => {
        $callback! {
            $($prefix)*
            /// The model: `provider/id`, or an object where that is not enough.
            model: "required", MODEL, Model, "0.1.0";
            /// The conversation so far. Not during a run.
            messages: "none", MESSAGES, Conversation, "0.1.0";
            /// The server's address, with or without `/v1`. With one, a key is optional.
            base_url: "the provider's", Text, Model, "0.1.0";
            /// The API key; `"keyring"` for what `agent auth login` has stored for the provider.
            api_key: "the provider's environment variable", Text, Model, "0.1.0";
            /// Models that are called in this order when the model fails before its first content and no retry is left. One of
            /// the same provider uses the agent's address and key, another one its own.
            fallbacks: "none", MODELS, Model, "0.1.0";
        }
    };
    (connection, $callback:ident $($prefix:tt)*) => {
        $callback! {
            $($prefix)*
            /// Headers of each request, beside those that are sent anyway, or in their place.
            headers: Map<String, Value>, words "none", HEADERS, Model, "0.1.0";
            /// Proxy, certificates and name resolution.
            network: Network, words "the environment's proxy variables and the system's certificates", fn set_network, NETWORK,
                Model, "0.1.0";
            /// Limits that the model calls of several agents have in common: those of one runtime share a limiter of the same
            /// value.
            limiter: Option<Limiter>, words "none", fn set_limiter, LIMITER, Limits, "0.1.0";
            /// The file to which each run is appended, for `replay`.
            record: Record, words "none", fn set_record, RECORD, Conversation, "0.1.0";
            /// The recording from which models answer, instead of their servers: for tests.
            replay: Replay, words "none", fn set_replay, REPLAY, Conversation, "0.1.0";
            /// Built-in tools for files, commands and notes, by their names.
            builtin_tools: BuiltinTools, words "none", BUILTIN_TOOLS, Loop, "0.1.0";
            /// Servers of the Model Context Protocol, whose tools are the agent's.
            mcp: McpServers, words "none", MCP, Loop, "0.1.0";
            /// Whether runs, model calls and tool calls are spans and measurements of OpenTelemetry.
            traces: Traces, words "none", fn set_traces, TRACES, Conversation, "0.1.0";
            /// Whether spans also have the texts of messages, arguments and results.
            trace_content: Option<bool>, words "what `OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT` says, or else `false`",
                fn set_trace_content, Flag, Conversation, "0.1.0";
            /// The value of a `traceparent` header, as W3C has it: the caller's trace, which the spans of runs join.
            traceparent: String, words "the trace of the code that starts the run", fn set_traceparent, Text,
                Conversation, "0.1.0";
            /// The agent's name, in its spans.
            agent_name: String, words "of a subagent, the name of its tool; else none", fn set_agent_name, Text,
                Conversation, "0.1.0";
        }
    };
    (settings, $callback:ident $($prefix:tt)*) => {
        $callback! {
            $($prefix)*
            /// The text that precedes the messages: instructions for the model.
            system_prompt: String = String::new(), words "none", fn set_system_prompt(&str), SYSTEM_PROMPT, Conversation,
                "0.1.0";
            /// What the idempotency keys of the conversation's tool calls begin with. Give it to stateless runs that go on with
            /// one conversation, and each conversation its own.
            #[serde(default, skip_serializing_if = "String::is_empty")]
            origin: String = String::new(), words "the id of the conversation's first run", fn set_origin(&str), Text,
                Conversation, "0.1.0";
            /// How much thinking to ask for.
            thinking_level: ThinkingLevel = ThinkingLevel::Off, words "`off`", fn set_thinking_level(ThinkingLevel),
                Words(THINKING_LEVELS), Model, "0.1.0";
            /// Whether each frame is also emitted as the provider sent it, as a `raw` event.
            raw_events: bool = false, fn set_raw_events(bool), Flag, Model, "0.1.0";
            /// The most turns of one run; 0 for no limit.
            max_turns: u32 = 10, fn set_max_turns(u32), Whole("a whole number of turns (0 for no limit)"), Loop, "0.1.0";
            /// How many identical tool calls in a row, of name and arguments, end the run with outcome `stopped`; 0 for no limit.
            /// The calls run; polling a state is such a row, too.
            #[serde(default, skip_serializing_if = "is_zero")]
            max_repeated_calls: u32 = 0, fn set_max_repeated_calls(u32), Whole("a whole number of calls (0 for no limit)"), Loop,
                "0.1.0";
            /// How many levels of subagents may be below a run; 0: its tools that run an agent give an error result.
            #[serde(default = "max_subagent_depth", skip_serializing_if = "is_max_subagent_depth")]
            max_subagent_depth: u32 = 4, fn set_max_subagent_depth(u32), Whole("a whole number of levels"), Loop, "0.1.0";
            /// How many messages one poll takes from the steering queue: the oldest one, or all.
            steering_mode: QueueMode = QueueMode::OneAtATime, words "`one_at_a_time`", fn set_steering_mode(QueueMode),
                Words(&["one_at_a_time", "all"]), Loop, "0.1.0";
            /// How many messages one poll takes from the follow-up queue: the oldest one, or all.
            follow_up_mode: QueueMode = QueueMode::OneAtATime, words "`one_at_a_time`", fn set_follow_up_mode(QueueMode),
                Words(&["one_at_a_time", "all"]), Loop, "0.1.0";
            /// Which tool calls run, which wait for a decision, and which are refused: rules such as `run_command(git push *)`.
            /// What no rule is about is as the tool's `needs_approval` says.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            gate: Option<Gate> = None, words "none", fn set_gate[Gate], GATE, Loop, "0.1.0";
            /// What steering does to tool calls that have not started: they are skipped, or run first.
            steering_policy: SteeringPolicy = SteeringPolicy::SkipRemaining, words "`skip_remaining`",
                fn set_steering_policy(SteeringPolicy), Words(&["skip_remaining", "after_batch"]), Loop, "0.1.0";
            /// Whether the tool calls of a message run concurrently or sequentially.
            tool_execution: ExecutionMode = ExecutionMode::Parallel, words "`parallel`", fn set_tool_execution(ExecutionMode),
                Words(&["parallel", "sequential"]), Loop, "0.1.0";
            /// The most tool calls that run concurrently.
            max_parallel_tools: usize = 8, at_least 1, fn set_max_parallel_tools(usize),
                Whole("a whole number of at least 1"), Loop, "0.1.0";
            /// How tool arguments are validated: `coerce` also converts texts to what the schema asks for ("5" to 5), `strict`
            /// does not, `off` checks nothing.
            validation: Validation = Validation::Coerce, words "`coerce`", fn set_validation(Validation),
                Words(&["coerce", "strict", "off"]), Loop, "0.1.0";
            /// The most bytes of a tool result's text that the model receives; a longer text is shortened.
            max_result_bytes: usize = 50_000, fn set_max_result_bytes(usize), Whole("a whole number of bytes"), Loop, "0.1.0";
            /// The most bytes of a model's message; one that grows larger is cut off with an error.
            max_message_bytes: usize = 67_108_864, at_least 1, fn set_max_message_bytes(usize),
                Whole("a whole number of at least 1"), Limits, "0.1.0";
            /// The most bytes of a tool's result that are kept, its details included; a larger one becomes an error result.
            max_result_bytes_kept: usize = 16_777_216, at_least 1, fn set_max_result_bytes_kept(usize),
                Whole("a whole number of at least 1"), Limits, "0.1.0";
            /// The most bytes of the transcript, as JSON, that a model is called with; 0 for no limit.
            max_transcript_bytes: usize = 0, fn set_max_transcript_bytes(usize),
                Whole("a whole number of bytes (0 for no limit)"), Limits, "0.1.0";
            /// Keeps each request within a number of tokens: of a long conversation the oldest exchanges are left out of it. The
            /// transcript keeps them.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            context: Option<ContextPolicy> = None, words "none: a request has all messages", fn set_context[ContextPolicy],
                CONTEXT, Loop, "0.1.0";
            /// The type of a run's final answer: a JSON Schema, or an object where that is not enough. The result has it as
            /// `output`.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            output: Option<OutputSpec> = None, words "none: the answer is text", fn set_output[OutputSpec], OUTPUT, Loop, "0.1.0";
            /// How often the model may correct a final answer that does not fit `output`.
            #[serde(default = "output_retries", skip_serializing_if = "is_output_retries")]
            output_retries: u32 = 2, fn set_output_retries(u32), Whole("a whole number of corrections"), Loop, "0.1.0";
            /// How long an aborted run waits for its tools, and for each listener, in milliseconds.
            abort_grace_ms: u64 = 1000, fn set_abort_grace_ms(u64), Milliseconds, Limits, "0.1.0";
        }
    };
    (model, $callback:ident $($prefix:tt)*) => {
        $callback! {
            $($prefix)*
            /// The token budget of each level, for models whose thinking has one. Levels that are left out keep their default.
            #[serde(skip_serializing_if = "ThinkingBudgets::is_default")]
            thinking_budgets: ThinkingBudgets = ThinkingBudgets::default(),
                words "1,024, 2,048, 8,192, 16,384 and 32,768 tokens from `minimal` to `xhigh`",
                fn set_thinking_budgets(ThinkingBudgets), BUDGETS, Model, "0.1.0";
            /// The sampling temperature; 0 is sent as 0.
            #[serde(skip_serializing_if = "Option::is_none")]
            temperature: Option<f64> = None, words "the provider's", fn set_temperature[f64], Number, Model, "0.1.0";
            /// Nucleus sampling: tokens are chosen from the most probable ones that together have this probability, from 0 to 1.
            #[serde(skip_serializing_if = "Option::is_none")]
            top_p: Option<f64> = None, words "the provider's", fn set_top_p[f64], Number, Model, "0.1.0";
            /// Tokens are chosen from so many of the most probable ones.
            #[serde(skip_serializing_if = "Option::is_none")]
            top_k: Option<u64> = None, words "the provider's", fn set_top_k[u64], Whole("a whole number of tokens"), Model,
                "0.1.0";
            /// The same request with the same seed gets the same answer, as far as the provider can.
            #[serde(skip_serializing_if = "Option::is_none")]
            seed: Option<i64> = None, words "none", fn set_seed[i64], Whole("a whole number"), Model, "0.1.0";
            /// How much less probable a token becomes each time it is written, from -2 to 2.
            #[serde(skip_serializing_if = "Option::is_none")]
            frequency_penalty: Option<f64> = None, words "the provider's", fn set_frequency_penalty[f64], Number, Model,
                "0.1.0";
            /// How much less probable a token becomes once it has been written, from -2 to 2.
            #[serde(skip_serializing_if = "Option::is_none")]
            presence_penalty: Option<f64> = None, words "the provider's", fn set_presence_penalty[f64], Number, Model,
                "0.1.0";
            /// The most tokens of a message, of thinking and answer together. Raised where a thinking budget would leave none
            /// for the answer.
            #[serde(skip_serializing_if = "Option::is_none")]
            max_tokens: Option<u64> = None, words "the provider's", fn set_max_tokens[u64],
                Whole("a whole number of tokens"), Model, "0.1.0";
            /// Texts that end the answer when the model writes them.
            #[serde(skip_serializing_if = "Vec::is_empty")]
            stop_sequences: Vec<String> = Vec::new(), words "none", fn set_stop_sequences(Vec<String>), Texts, Model,
                "0.1.0";
            /// Whether the model may, must or must not call tools, or the one that it must call: `"auto"`, `"required"`,
            /// `"none"` or `{"tool": name}`. What it must call is asked for until the first such call of a run.
            #[serde(skip_serializing_if = "Option::is_none")]
            tool_choice: Option<ToolChoice> = None, words "the provider's", fn set_tool_choice[ToolChoice], TOOL_CHOICE, Model,
                "0.1.0";
            /// Identifies the conversation to providers that cache or route by it.
            #[serde(skip_serializing_if = "Option::is_none")]
            session_id: Option<String> = None, words "none", fn set_session_id[&str], Text, Conversation, "0.1.0";
            /// How long the provider is asked to cache the prompt.
            #[serde(skip_serializing_if = "CacheRetention::is_default")]
            cache_retention: CacheRetention = CacheRetention::Short, words "`short`", fn set_cache_retention(CacheRetention),
                Words(&["short", "long", "none"]), Model, "0.1.0";
            /// Fields of the body of each request, for what no option is there: `{"service_tier": "flex"}`. An object is merged
            /// into the one that is sent, null removes a field, and all else replaces it. Not the fields that the engine decides,
            /// such as `messages`, `tools` and `stream`.
            #[serde(skip_serializing_if = "Map::is_empty")]
            extra_body: Map<String, Value> = Map::new(), words "none", fn set_extra_body(Map<String, Value>), EXTRA_BODY, Model,
                "0.1.0";
            /// Tools that the provider runs itself, each as the provider describes it: `{"type": "web_search"}`,
            /// `{"google_search": {}}`. One in the words of another wire format is left out of a request.
            #[serde(skip_serializing_if = "Vec::is_empty")]
            hosted_tools: Vec<Value> = Vec::new(), words "none", fn set_hosted_tools(Vec<Value>), HOSTED_TOOLS, Model, "0.1.0";
        }
    };
    (limits, $callback:ident $($prefix:tt)*) => {
        $callback! {
            $($prefix)*
            /// The time limit for opening a connection, in milliseconds; 0 for none.
            connect_timeout_ms: u64 = 10_000, fn set_connect_timeout_ms(u64), TimeLimit, Limits, "0.1.0";
            /// The time limit until the first byte of a model's response, in milliseconds; 0 for none.
            first_byte_timeout_ms: u64 = 120_000, fn set_first_byte_timeout_ms(u64), TimeLimit, Limits, "0.1.0";
            /// The time limit between two bytes of a model's response, in milliseconds; 0 for none.
            idle_timeout_ms: u64 = 120_000, fn set_idle_timeout_ms(u64), TimeLimit, Limits, "0.1.0";
            /// The time limit of one attempt of a model call, in milliseconds; 0 for none.
            request_timeout_ms: u64 = 600_000, fn set_request_timeout_ms(u64), TimeLimit, Limits, "0.1.0";
            /// The time limit of a tool call, in milliseconds; 0 for none.
            tool_timeout_ms: u64 = 0, fn set_tool_timeout_ms(u64), TimeLimit, Limits, "0.1.0";
            /// The time limit of a run, in milliseconds; 0 for none.
            run_timeout_ms: u64 = 0, fn set_run_timeout_ms(u64), TimeLimit, Limits, "0.1.0";
            /// How long a run waits for a listener, and for `after_run`, in milliseconds; 0 for no limit.
            listener_timeout_ms: u64 = 30_000, fn set_listener_timeout_ms(u64), TimeLimit, Limits, "0.1.0";
        }
    };
    (budget, $callback:ident $($prefix:tt)*) => {
        $callback! {
            $($prefix)*
            /// How many US dollars a run may use before it makes no further model call. Its models need prices.
            #[serde(skip_serializing_if = "Option::is_none")]
            max_cost: Option<f64> = None, words "no limit", fn set_max_cost[f64], Number, Limits, "0.1.0";
            /// How many tokens a run may use, of prompts and answers, before it makes no further model call.
            #[serde(skip_serializing_if = "Option::is_none")]
            max_total_tokens: Option<u64> = None, words "no limit", fn set_max_total_tokens[u64],
                Whole("a whole number of tokens"), Limits, "0.1.0";
            /// How many tokens a run may use for answers, thinking included, before it makes no further model call.
            #[serde(skip_serializing_if = "Option::is_none")]
            max_output_tokens_total: Option<u64> = None, words "no limit", fn set_max_output_tokens_total[u64],
                Whole("a whole number of tokens"), Limits, "0.1.0";
            /// The most tool calls of a run: those over it get an error result, and no further model call is made.
            #[serde(skip_serializing_if = "Option::is_none")]
            max_tool_calls: Option<u64> = None, words "no limit", fn set_max_tool_calls[u64], Whole("a whole number of calls"),
                Limits, "0.1.0";
            /// After how many milliseconds a run makes no further model call. What is under way goes on.
            #[serde(skip_serializing_if = "Option::is_none")]
            max_run_ms: Option<u64> = None, words "no limit", fn set_max_run_ms[u64], Milliseconds, Limits, "0.1.0";
        }
    };
    (retry, $callback:ident $($prefix:tt)*) => {
        $callback! {
            $($prefix)*
            /// The most retries of a failed model call.
            max_retries: u32 = 2, fn set_max_retries(u32), Whole("a whole number"), Limits, "0.1.0";
            /// The upper bound of the first backoff, in milliseconds; it doubles with each retry.
            retry_base_ms: u64 = 500, fn set_retry_base_ms(u64), Milliseconds, Limits, "0.1.0";
            /// The longest backoff, in milliseconds; a call whose provider demands a longer one fails.
            max_retry_delay_ms: u64 = 60_000, fn set_max_retry_delay_ms(u64), Milliseconds, Limits, "0.1.0";
        }
    };
}

/// Makes the struct of a block, with the defaults, and `set`, which reads one option. The given fields come after those of the
/// rows; the options in them are read, too.
macro_rules! option_struct {
    (
        [$(#[$struct_attribute:meta])*] $Struct:ident { $($(#[$inner_attribute:meta])* $inner:ident: $Inner:ty,)* }
        $(
            $(#[doc = $doc:literal])* $(#[serde($($serde:tt)*)])*
            $name:ident: $field:ty = $default:expr, $(words $words:literal,)? $(at_least $least:literal,)?
            fn $set:ident $(($argument:ty))? $([$optional:ty])?,
            $kind:expr, $group:ident, $since:literal;
        )+
    ) => {
        $(#[$struct_attribute])*
        #[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
        pub struct $Struct {
            $($(#[doc = $doc])* $(#[serde($($serde)*)])* pub $name: $field,)+
            $($(#[$inner_attribute])* pub $inner: $Inner,)*
        }

        impl Default for $Struct {
            fn default() -> $Struct {
                $Struct { $($name: $default,)+ $($inner: <$Inner>::default(),)* }
            }
        }

        impl $Struct {
            /// Reads an option by its canonical name; null sets the default. Returns false if it is none of these. Errors name it
            /// as the host spelled it.
            ///
            /// # Errors
            /// `invalid_argument`: the value is wrong.
            #[allow(unused_imports)] // The glob: blocks use some of the kinds.
            pub fn set_option(
                &mut self,
                name: &str,
                value: &serde_json::Value,
                spelled: &str,
            ) -> Result<bool, crate::error::Error> {
                use crate::table::options::{Type::*, *};
                match name {
                    $(stringify!($name) => {
                        let given: $field = read(value, spelled, $kind, || $default)?;
                        $(if given < $least {
                            return Err(wrong(value, spelled, $kind));
                        })?
                        self.$name = given;
                    })+
                    _ => {
                        $(if self.$inner.set_option(name, value, spelled)? {
                            return Ok(true);
                        })*
                        return Ok(false);
                    }
                }
                Ok(true)
            }
        }
    };
}

pub(crate) use option_struct;

/// What an option is about: the order of the documentation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Group {
    /// The conversation.
    Conversation,
    /// Model, server and request.
    Model,
    /// The loop and its tools.
    Loop,
    /// Limits and retries.
    Limits,
}

/// A row of the table.
#[derive(Debug, Clone, Copy)]
pub struct OptionRow {
    /// The canonical name.
    pub name: &'static str,
    /// What it is, in Markdown; the lines of its comment.
    pub doc: &'static [&'static str],
    /// What its value is.
    pub kind: Type,
    /// The default as Rust has it, or in words.
    pub default: &'static str,
    /// What it is about.
    pub group: Group,
    /// The version in which it appeared.
    pub since: &'static str,
}

macro_rules! rows {
    ($rows:ident: $($(#[doc = $doc:literal])* $name:ident: $default:literal, $kind:expr, $group:ident, $since:literal;)+) => {
        const $rows: &[OptionRow] = &[$(OptionRow {
            name: stringify!($name),
            doc: &[$($doc),*],
            kind: { #[allow(unused_imports)] use Type::*; $kind },
            default: $default,
            group: Group::$group,
            since: $since,
        },)+];
    };
    ($rows:ident: $(
        $(#[doc = $doc:literal])* $name:ident: $type:ty, words $words:literal, $(fn $set:ident,)? $kind:expr, $group:ident,
        $since:literal;
    )+) => {
        rows! { $rows: $($(#[doc = $doc])* $name: $words, $kind, $group, $since;)+ }
    };
    (
        $rows:ident:
        $(
            $(#[doc = $doc:literal])* $(#[serde($($serde:tt)*)])*
            $name:ident: $field:ty = $default:expr, $(words $words:literal,)? $(at_least $least:literal,)?
            fn $set:ident $(($argument:ty))? $([$optional:ty])?,
            $kind:expr, $group:ident, $since:literal;
        )+
    ) => {
        const $rows: &[OptionRow] = &[$(OptionRow {
            name: stringify!($name),
            doc: &[$($doc),*],
            kind: { #[allow(unused_imports)] use Type::*; $kind },
            default: first(&[$($words,)? stringify!($default)]),
            group: Group::$group,
            since: $since,
        },)+];
    };
}

const fn first(texts: &[&'static str]) -> &'static str {
    match texts {
        [first, ..] => first,
        [] => "",
    }
}

options_of!(agent, rows AGENT:);
options_of!(connection, rows CONNECTION:);
options_of!(settings, rows SETTINGS:);
options_of!(model, rows MODEL_OPTIONS:);
options_of!(limits, rows LIMITS:);
options_of!(retry, rows RETRY:);
options_of!(budget, rows BUDGET:);

/// All options.
pub fn all() -> impl Iterator<Item = &'static OptionRow> + Clone {
    [AGENT, CONNECTION, MODEL_OPTIONS, SETTINGS, LIMITS, BUDGET, RETRY].into_iter().flatten()
}

/// The options that one model call has no use for: it has no further turn, no queue, and executes no tool.
pub const OF_THE_LOOP: &[&str] = &[
    "origin",
    "max_turns",
    "max_repeated_calls",
    "steering_mode",
    "follow_up_mode",
    "steering_policy",
    "tool_execution",
    "max_parallel_tools",
    "max_subagent_depth",
    "builtin_tools",
    "mcp",
    "validation",
    "gate",
    "max_result_bytes_kept",
    "context",
    "output",
    "output_retries",
    "tool_timeout_ms",
    "max_cost",
    "max_total_tokens",
    "max_output_tokens_total",
    "max_tool_calls",
    "max_run_ms",
];

/// The names of all options.
pub fn names() -> impl Iterator<Item = &'static str> + Clone {
    all().map(|row| row.name)
}

/// A value of the wanted type; null is the default.
///
/// # Errors
/// `invalid_argument`: it is of another type.
pub fn read<T: DeserializeOwned>(value: &Value, spelled: &str, kind: Type, default: impl FnOnce() -> T) -> Result<T, Error> {
    if value.is_null() {
        return Ok(default());
    }
    from_value(value).map_err(|error| match [OUTPUT, CONTEXT, GATE].contains(&kind) && value.is_object() {
        true => Error::invalid_argument(format!("option {spelled:?}: {}", words(&error).trim_start_matches("output: "))),
        false => wrong(value, spelled, kind),
    })
}

/// The error for a value of the wrong type.
pub fn wrong(value: &Value, spelled: &str, kind: Type) -> Error {
    Error::invalid_argument(format!("option {spelled:?}: expected {}, got {}", kind.expected(), shown(value)))
}

#[cfg(test)]
mod tests;
