//! Log records: their levels and codes, one row each, preceded by what it means.
//!
//! ```text
//! Variant = "word", value in C, "since";
//! CODE = "word", Level, data "its fields", "since";
//! ```
//!
//! The loop writes none: records are of what no event can report, or what whoever runs a program looks for in its log.

macro_rules! levels {
    ($($(#[doc = $doc:literal])* $variant:ident = $word:literal, $number:literal, $since:literal;)+) => {
        /// How grave a log record is. The gravest is the least.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        #[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
        pub enum LogLevel { $($(#[doc = $doc])* $variant = $number,)+ }

        impl LogLevel {
            /// All levels, the gravest first.
            pub const ALL: &'static [LogLevel] = &[$(LogLevel::$variant,)+];

            /// The canonical word, for example `warn`.
            pub fn as_str(self) -> &'static str {
                match self { $(LogLevel::$variant => $word,)+ }
            }
        }

        /// The rows of the levels.
        pub const LOG_LEVELS: &[LogLevelRow] = &[$(LogLevelRow {
            level: LogLevel::$variant,
            variant: stringify!($variant),
            doc: &[$($doc),*],
            since: $since,
        },)+];
    };
}

macro_rules! codes {
    ($($(#[doc = $doc:literal])* $code:ident = $word:literal, $level:ident, data $data:literal, $since:literal;)+) => {
        $($(#[doc = $doc])* pub const $code: LogCode = LogCode { word: $word, level: LogLevel::$level };)+

        /// The rows of the codes.
        pub const LOG_CODES: &[LogCodeRow] = &[$(LogCodeRow {
            code: $code,
            doc: &[$($doc),*],
            data: $data,
            since: $since,
        },)+];
    };
}

levels! {
    /// A run failed.
    Error = "error", 1, "0.1.0";
    /// A function of the application failed, or a model call is retried.
    Warn = "warn", 2, "0.1.0";
    /// Something unusual that is no failure.
    Info = "info", 3, "0.1.0";
    /// What happens in any case.
    Debug = "debug", 4, "0.1.0";
}

codes! {
    /// A run ended with the outcome `error`.
    RUN_ERROR = "run_error", Error, data "`turns`, `latency_ms`, `input_tokens`, `output_tokens`, `cost?`", "0.1.0";
    /// A run ended otherwise.
    RUN_END = "run_end", Debug, data "`outcome`, `turns`, `latency_ms`, `input_tokens`, `output_tokens`, `cost?`", "0.1.0";
    /// A model call ended.
    MODEL_CALL = "model_call", Debug, data "`model`, `outcome`, `latency_ms`, `input_tokens`, `output_tokens`, `cost?`", "0.1.0";
    /// A tool call has its result.
    TOOL_CALL = "tool_call", Debug, data "`tool_call_id`, `tool_name`, `outcome`, `latency_ms`", "0.1.0";
    /// A model call failed and is retried.
    RETRY = "retry", Warn, data "`attempt`, `delay_ms`", "0.1.0";
    /// A tool or its middleware failed, and did not return an error result.
    TOOL_ERROR = "tool_error", Warn, data "`tool_call_id`, `tool_name`", "0.1.0";
    /// A hook or a tool's `prepare_arguments` failed.
    HOOK_ERROR = "hook_error", Warn, data "`hook`, `tool_name?`", "0.1.0";
    /// `after_run` did not return in time; the run ended without it.
    HOOK_LEFT = "hook_left", Warn, data "`hook`", "0.1.0";
    /// A listener failed. Without `event`, it had been left.
    LISTENER_ERROR = "listener_error", Warn, data "`listener`, `event?`", "0.1.0";
    /// A listener did not return in time; it gets no event until it does.
    LISTENER_LEFT = "listener_left", Warn, data "`listener`, `event`", "0.1.0";
    /// A listener that was left has returned.
    LISTENER_BACK = "listener_back", Info, data "`listener`, `missed`", "0.1.0";
    /// A run could not be recorded. The next run of the agent fails at its start.
    RECORD_ERROR = "record_error", Error, data "", "0.1.0";
    /// An access token could not be replaced; the old one is used while it is valid.
    TOKEN_KEPT = "token_kept", Warn, data "", "0.1.0";
    /// The system has no certificate authorities; the bundled ones are used.
    BUNDLED_ROOTS = "bundled_roots", Info, data "", "0.1.0";
    /// An optional MCP server cannot be reached; the run goes on without its tools.
    MCP_UNREACHABLE = "mcp_unreachable", Warn, data "", "0.1.0";
    /// A tool of an MCP server is left out: it cannot be offered to models.
    MCP_TOOL_LEFT_OUT = "mcp_tool_left_out", Warn, data "`server`, `tool_name`", "0.1.0";
    /// Spans or measurements did not reach the collector that the option `traces` names.
    TRACES_LOST = "traces_lost", Warn, data "`count`", "0.1.0";
    /// The function for records was too slow, and so many were dropped.
    RECORDS_DROPPED = "records_dropped", Warn, data "`count`", "0.1.0";
}

/// What a record is about, with its level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogCode {
    /// The canonical word.
    pub word: &'static str,
    /// The level of all its records.
    pub level: LogLevel,
}

/// The row of a level.
#[derive(Debug, Clone, Copy)]
pub struct LogLevelRow {
    /// The level.
    pub level: LogLevel,
    /// Its name in Rust.
    pub variant: &'static str,
    /// What it is for; the lines of its comment.
    pub doc: &'static [&'static str],
    /// The version in which it appeared.
    pub since: &'static str,
}

/// The row of a code.
#[derive(Debug, Clone, Copy)]
pub struct LogCodeRow {
    /// The code.
    pub code: LogCode,
    /// What it reports; the lines of its comment.
    pub doc: &'static [&'static str],
    /// The fields of the record's `data`, in Markdown.
    pub data: &'static str,
    /// The version in which it appeared.
    pub since: &'static str,
}
