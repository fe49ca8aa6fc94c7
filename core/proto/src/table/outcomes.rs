//! Why runs and messages end: two closed lists, one row each.
//!
//! ```text
//! /// When it is the one, in a sentence.
//! Variant = "word", value in C, "since";       an outcome of a run; the first one that applies wins
//! Variant = "word", "since";                   a stop reason of a message
//! ```

use serde::{Deserialize, Serialize};

macro_rules! outcomes {
    ($($(#[doc = $doc:literal])* $variant:ident = $word:literal, $value:literal, $since:literal;)+) => {
        /// Why a run ended.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
        pub enum Outcome { $($(#[doc = $doc])* #[serde(rename = $word)] $variant,)+ }

        impl Outcome {
            /// All outcomes: of several that apply, the first one is the run's.
            pub const ALL: &'static [Outcome] = &[$(Outcome::$variant,)+];

            /// The canonical word, for example `max_turns`.
            pub fn as_str(self) -> &'static str {
                match self { $(Outcome::$variant => $word,)+ }
            }
        }

        /// The rows of the outcomes.
        pub const OUTCOMES: &[OutcomeRow] = &[$(OutcomeRow {
            outcome: Outcome::$variant,
            variant: stringify!($variant),
            doc: &[$($doc),*],
            value: $value,
            since: $since,
        },)+];
    };
}

macro_rules! stop_reasons {
    ($($(#[doc = $doc:literal])* $variant:ident = $word:literal, $since:literal;)+) => {
        /// Why a message ended.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
        pub enum StopReason { $($(#[doc = $doc])* #[serde(rename = $word)] $variant,)+ }

        impl StopReason {
            /// The canonical word, for example `tool_use`.
            pub fn as_str(self) -> &'static str {
                match self { $(StopReason::$variant => $word,)+ }
            }
        }

        /// The rows of the stop reasons.
        pub const STOP_REASONS: &[StopReasonRow] = &[$(StopReasonRow {
            reason: StopReason::$variant,
            doc: &[$($doc),*],
            since: $since,
        },)+];
    };
}

outcomes! {
    /// The run was aborted: by a call of abort, by what else cancels it in the language, or by the end of its runtime.
    Aborted = "aborted", 4, "0.1.0";
    /// The model failed, a hook outside of tool calls failed, or `run_timeout_ms` elapsed.
    Error = "error", 5, "0.1.0";
    /// Tool calls wait for a decision.
    Suspended = "suspended", 6, "0.1.0";
    /// `should_stop_after_turn`, `max_repeated_calls`, or results with `terminate` and no queued message ended it.
    Stopped = "stopped", 2, "0.1.0";
    /// A limit such as `max_cost` was used up, and tool results or queued messages were left.
    Budget = "budget", 7, "0.1.0";
    /// The last allowed turn left tool results or queued messages.
    MaxTurns = "max_turns", 3, "0.1.0";
    /// No work was left.
    Completed = "completed", 1, "0.1.0";
}

stop_reasons! {
    /// The model finished.
    Stop = "stop", "0.1.0";
    /// The answer was cut at a token limit.
    Length = "length", "0.1.0";
    /// The model called tools.
    ToolUse = "tool_use", "0.1.0";
    /// The model refused, or a filter applied.
    Refusal = "refusal", "0.1.0";
    /// The model call failed; the message has an `error`.
    Error = "error", "0.1.0";
    /// The run was aborted; the message has an `error`.
    Aborted = "aborted", "0.1.0";
}

impl StopReason {
    /// Whether the message failed (`error` or `aborted`): it then has an error and no tool calls, and is never sent again.
    pub fn is_failure(self) -> bool {
        matches!(self, StopReason::Error | StopReason::Aborted)
    }
}

/// The row of an outcome.
#[derive(Debug, Clone, Copy)]
pub struct OutcomeRow {
    /// The outcome.
    pub outcome: Outcome,
    /// Its name in Rust.
    pub variant: &'static str,
    /// When it is the run's; the lines of its comment.
    pub doc: &'static [&'static str],
    /// Its value in C, which is never used for another one; 0 is for a run that has not ended.
    pub value: i32,
    /// The version in which it appeared.
    pub since: &'static str,
}

/// The row of a stop reason.
#[derive(Debug, Clone, Copy)]
pub struct StopReasonRow {
    /// The stop reason.
    pub reason: StopReason,
    /// When it is the message's; the lines of its comment.
    pub doc: &'static [&'static str],
    /// The version in which it appeared.
    pub since: &'static str,
}
