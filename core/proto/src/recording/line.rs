//! The lines of a recording, as JSON.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::delta::Delta;
use crate::machine::{Config, EndCause, Input, Start, TimeCheck};
use crate::tool::ToolOutput;

/// The version of recordings. Older ones are read; a newer one is refused.
///
/// It is raised with a change after which a released version could not play what this one records.
pub const RECORDING_VERSION: u32 = 1;

/// What the first line of a run begins with, up to its version.
pub const HEAD: &str = "{\"agent_loop_recording\":";

/// What the last line of a run begins with.
pub const END: &str = "{\"end\":";

/// The first line of a run. A file has one for each of its runs.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Head<'a> {
    /// The version of the recording.
    pub(super) agent_loop_recording: u32,
    /// The library that has recorded it, for who reads the file.
    pub(super) library: String,
    /// What the loop began with. No key and no header is in it.
    pub(super) config: Cow<'a, Config>,
    pub(super) start: Cow<'a, Start>,
}

/// Any other line.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", rename = "strict", deny_unknown_fields)]
pub(super) enum Line {
    /// The loop was polled at this time, so many times in a row. What it gave follows.
    Poll {
        at: u64,
        times: u64,
    },
    /// The loop learned the time otherwise.
    Time {
        at: u64,
        check: Check,
    },
    /// An input.
    Input(Input),
    /// The host ended the run.
    ForceEnd(EndCause),
    /// What the loop gave, of each kind what is compared.
    Request(Value),
    ToolCall(Value),
    Question(Value),
    Event(Value),
    /// A frame of a model's answer as the provider sent it. Only for who reads the file.
    Frame {
        call: u32,
        data: Value,
    },
    /// The run is over, and so many of its lines stand before this one.
    End {
        lines: usize,
    },
}

/// [`TimeCheck`] as it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Check {
    Limits,
    ListenerLimit,
}

impl From<TimeCheck> for Check {
    fn from(check: TimeCheck) -> Check {
        match check {
            TimeCheck::Limits => Check::Limits,
            TimeCheck::ListenerLimit => Check::ListenerLimit,
        }
    }
}

/// The input as it can be read again: with the same effect, however deep its values are.
pub(super) fn storable(input: &Input) -> Cow<'_, Input> {
    match input {
        Input::ModelDeltas { call, deltas } if deltas.iter().any(|delta| matches!(delta.storable(), Cow::Owned(_))) => {
            let deltas = deltas.iter().map(Delta::storable).map(Cow::into_owned).collect();
            Cow::Owned(Input::ModelDeltas { call: *call, deltas })
        }
        // The loop does the same with them.
        Input::ToolUpdate { call, value } => match ToolOutput::check_depth(value) {
            Ok(()) => Cow::Borrowed(input),
            Err(why) => Cow::Owned(Input::ToolUpdate { call: *call, value: Value::String(why) }),
        },
        Input::ToolDone { call, result: Ok(value) } => match ToolOutput::check_depth(value) {
            Ok(()) => Cow::Borrowed(input),
            Err(why) => Cow::Owned(Input::ToolDone { call: *call, result: Err(why) }),
        },
        _ => Cow::Borrowed(input),
    }
}
