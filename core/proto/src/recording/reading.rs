//! The lines of a file back to the runs that were recorded in it.

use std::borrow::Cow;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::line::{Check, HEAD, Head, Line, RECORDING_VERSION};
use crate::error::{Error, ErrorKind, shortened};
use crate::json_reader::from_text;
use crate::machine::{Config, EndCause, Input, Start};
use crate::message::Message;

/// A run as it was recorded.
#[derive(Debug, Clone)]
pub struct RecordedRun {
    /// What errors say of its file: `the recording runs.jsonl: `. Empty after [`read`], which does not know it.
    pub file: Arc<str>,
    /// Which run of its file it is: 1, 2, 3 …
    pub number: usize,
    /// The line of its head.
    pub line: usize,
    /// That of its end.
    pub(super) end: usize,
    /// What its loop began with.
    pub config: Config,
    /// What its loop began with.
    pub start: Start,
    pub(super) entries: Vec<Entry>,
}

/// A line of a run.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    /// The number of the line in the file.
    pub(super) line: usize,
    pub(super) what: Recorded,
}

/// What a line says.
#[derive(Debug, Clone)]
pub(super) enum Recorded {
    Poll {
        at: u64,
        times: u64,
    },
    Time {
        at: u64,
        check: Check,
    },
    Input(Box<Input>),
    ForceEnd(EndCause),
    /// What the loop gave, with its name.
    Output(&'static str, Value),
}

impl RecordedRun {
    /// When its loop was polled first, in milliseconds since the epoch.
    pub fn started_ms(&self) -> u64 {
        let polled = |entry: &Entry| if let Recorded::Poll { at, .. } = entry.what { Some(at) } else { None };
        self.entries.iter().find_map(polled).unwrap_or_default()
    }

    /// Whether it began with this model and these prompts, or as one model call over this transcript. The times of messages do
    /// not count.
    pub fn began_with(&self, model: &str, prompts: Option<&Vec<Message>>, one_call: Option<&Vec<Arc<Message>>>) -> bool {
        let Start { prompts: recorded, one_call: is_one_call, transcript, .. } = &self.start;
        self.config.model_name == model
            && recorded.as_ref().map(untimed) == prompts.map(untimed)
            && one_call.is_some() == *is_one_call
            && one_call.is_none_or(|given| untimed(given) == untimed(transcript))
    }
}

/// Messages without their times.
fn untimed<M: Serialize>(messages: &Vec<M>) -> Value {
    let mut value = json!(messages);
    for message in value.as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut) {
        message.shift_remove("timestamp");
    }
    value
}

/// The runs of a recording. Messages of errors begin with the line.
///
/// # Errors
/// `damaged`: it is no recording, or a line is not as it was written, or the last run has no end; `newer_version`: a newer
/// version of this library has written it.
pub fn read(text: &[u8]) -> Result<Vec<RecordedRun>, Error> {
    let mut runs = Vec::new();
    // The run that is being read, and how many of its lines were.
    let mut open: Option<(RecordedRun, usize)> = None;
    for (number, line) in (1..).zip(text.split(|byte| *byte == b'\n')) {
        if line.trim_ascii().is_empty() {
            continue;
        }
        if line.starts_with(HEAD.as_bytes()) {
            if let Some((run, _)) = &open {
                return Err(unfinished(run, number));
            }
            open = Some((head(line, number, runs.len() + 1)?, 1));
            continue;
        }
        let Some((mut run, count)) = open.take() else {
            let text = match runs.is_empty() {
                true => "this is no recording: a recording begins with \"agent_loop_recording\"; the option record makes one",
                false => "a run begins with \"agent_loop_recording\", and this line stands behind the end of another one",
            };
            return Err(damaged(number, text));
        };
        let what = match parsed(line, number)? {
            Line::Poll { at, times } => Recorded::Poll { at, times },
            Line::Time { at, check } => Recorded::Time { at, check },
            Line::Input(input) => Recorded::Input(Box::new(input)),
            Line::ForceEnd(cause) => Recorded::ForceEnd(cause),
            Line::Request(value) => Recorded::Output("request", value),
            Line::ToolCall(value) => Recorded::Output("tool_call", value),
            Line::Question(value) => Recorded::Output("question", value),
            Line::Event(value) => Recorded::Output("event", value),
            Line::Frame { .. } => {
                open = Some((run, count + 1));
                continue;
            }
            Line::End { lines } if lines == count => {
                run.end = number;
                runs.push(run);
                continue;
            }
            Line::End { lines } => {
                let text = format!("the run {} has {count} lines here, and was recorded with {lines}", run.number);
                return Err(damaged(number, &text));
            }
        };
        run.entries.push(Entry { line: number, what });
        open = Some((run, count + 1));
    }
    match (open, runs.is_empty()) {
        (Some((run, count)), _) => Err(unfinished(&run, run.line + count)),
        (None, true) => Err(damaged(1, "the recording is empty: no run was recorded in it")),
        (None, false) => Ok(runs),
    }
}

fn head(line: &[u8], number: usize, run: usize) -> Result<RecordedRun, Error> {
    #[derive(Deserialize)]
    struct Version {
        agent_loop_recording: u32,
    }
    // The version comes first: in another one, anything may be different.
    let Version { agent_loop_recording: version } = parsed(line, number)?;
    if version > RECORDING_VERSION {
        let text = format!(
            "line {number}: the run has version {version}, of a newer agent-loop; this one reads recordings up to version \
             {RECORDING_VERSION}: update agent-loop"
        );
        return Err(Error::new(ErrorKind::NewerVersion, text));
    }
    let Head { config, start, .. } = parsed(line, number)?;
    let (config, start) = (Cow::into_owned(config), Cow::into_owned(start));
    Ok(RecordedRun { file: Arc::default(), number: run, line: number, end: number, config, start, entries: Vec::new() })
}

fn parsed<T: DeserializeOwned>(line: &[u8], number: usize) -> Result<T, Error> {
    from_text(line).map_err(|error| {
        let begins = shortened(&String::from_utf8_lossy(line), 40);
        let what = match error.is_eof() {
            true => "it ends too early".to_owned(),
            false => error.to_string(),
        };
        damaged(number, &format!("it cannot be read ({what}); it begins with {begins:?}")).with_source(error)
    })
}

fn damaged(line: usize, why: &str) -> Error {
    Error::new(ErrorKind::Damaged, format!("line {line}: {why}"))
}

/// The error of a run that has no end before this line.
fn unfinished(run: &RecordedRun, line: usize) -> Error {
    let text = format!("the run {} begins in line {} and has no end: the file was cut; record it anew", run.number, run.line);
    damaged(line, &text)
}
