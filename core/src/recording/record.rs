//! The option `record`, and the recording of one run.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use agent_loop_proto::recording::Recorder;
use serde_json::Value;

use super::file;
use crate::did_you_mean::{Spelling, canonical_names};
use crate::error::Error;

/// Where the runs of an agent are recorded; the option `record`. JSON: a path, or `{path, frames}`.
///
/// Each run is appended to the file when it ends. No key and no header is in it. A run does not start if the file cannot be
/// written. If it cannot when the run ends, the run's result stays as it is, there is a log record (`record_error`), and the next
/// run does not start: its error says why.
///
/// ```
/// use agent_loop::{Agent, Record};
///
/// let plain = Agent::builder("anthropic/claude-sonnet-4-5").record("runs.jsonl").build()?;
/// let with_frames = Agent::builder("anthropic/claude-sonnet-4-5").record(Record::to("runs.jsonl").frames(true)).build()?;
/// # Ok::<(), agent_loop::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Record {
    path: Option<Arc<Path>>,
    frames: bool,
    /// Why the last run was not recorded. Clones share it.
    failed: Arc<Mutex<Option<Error>>>,
}

impl Record {
    /// To this file.
    pub fn to(path: impl Into<PathBuf>) -> Record {
        Record { path: Some(path.into().into()), ..Record::default() }
    }

    /// Whether the frames of the models' answers are recorded as the providers sent them, for who reads the file.
    #[must_use]
    pub fn frames(mut self, frames: bool) -> Record {
        self.frames = frames;
        self
    }

    /// Reads the option as a host has given it. `spelled` is its name.
    ///
    /// # Errors
    /// `invalid_argument`: it is neither a path nor an object with one.
    pub(crate) fn from_json(value: &Value, spelled: &str, spelling: Spelling) -> Result<Record, Error> {
        let (path, frames) = match value {
            Value::Null => return Ok(Record::default()),
            Value::String(path) => (Some(path.clone()), None),
            Value::Object(map) => {
                let what = format!("field of {spelled}");
                let map = canonical_names(&what, map.clone(), &["path", "frames"], spelling)?;
                (map.get("path").and_then(Value::as_str).map(str::to_owned), map.get("frames").cloned())
            }
            _ => (None, None),
        };
        let frames = match frames {
            None | Some(Value::Null) => Some(false),
            Some(frames) => frames.as_bool(),
        };
        match (path.filter(|path| !path.is_empty()), frames) {
            (Some(path), Some(frames)) => Ok(Record::to(path).frames(frames)),
            _ => Err(Error::invalid_argument(format!(
                "option {spelled:?}: expected the path of a file, or an object such as {{\"path\": \"runs.jsonl\", \"frames\": \
                 true}}"
            ))),
        }
    }

    /// The file; `None` when nothing is recorded.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Why the last run was not recorded, of the agents that share this value or a clone of it; `None` when it was. The next run
    /// fails with that error, and does not start.
    pub fn failure(&self) -> Option<Error> {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Begins to record a run, where that is asked for.
    ///
    /// # Errors
    /// As [`file::open`], and that of the last run's recording.
    pub(crate) fn begin(&self) -> Result<Option<RunRecording>, Error> {
        let Some(path) = &self.path else {
            return Ok(None);
        };
        if let Some(failed) = self.failed.lock().unwrap_or_else(PoisonError::into_inner).take() {
            return Err(failed.reworded(|why| format!("record: the run before this one is not recorded: {why}")));
        }
        let file = file::open(path).map_err(|error| error.reworded(|why| format!("record: {why}")))?;
        Ok(Some(RunRecording { recorder: Recorder::new(self.frames), record: self.clone(), file: Arc::new(file) }))
    }
}

impl<P: Into<PathBuf>> From<P> for Record {
    fn from(path: P) -> Record {
        Record::to(path)
    }
}

/// The recording of a run. Clones are the same.
#[derive(Debug, Clone)]
pub(crate) struct RunRecording {
    pub(crate) recorder: Recorder,
    record: Record,
    file: Arc<File>,
}

impl RunRecording {
    /// Whether nothing of it is left to be written.
    pub(crate) fn is_written(&self) -> bool {
        self.recorder.is_empty()
    }

    /// Appends the run to its file. Blocks until it is written.
    ///
    /// # Errors
    /// As [`file::append`]. The next run then has this error.
    pub(crate) fn write(&self) -> Result<(), Error> {
        let text = self.recorder.take_text();
        let Some(path) = self.record.path.as_deref().filter(|_| !text.is_empty()) else {
            return Ok(());
        };
        file::append(&self.file, path, &text).inspect_err(|error| {
            *self.record.failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(error.clone());
        })
    }
}
