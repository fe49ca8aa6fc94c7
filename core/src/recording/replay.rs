//! The option `replay`: which recording is played.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use agent_loop_proto::recording::{self, RecordedRun};
use serde_json::Value;

use super::file;
use super::replayed::ReplayedRun;
use crate::did_you_mean::{Spelling, canonical_names};
use crate::error::Error;

/// A recording that is played: the option `replay`, and what [`replay`](crate::replay) takes. JSON: a path, or `{path, run}`.
///
/// As an option, the answers of the agent's models come from the file: there is no network and no key. Its tools, hooks and
/// prompts run for real, and each request is compared with the recorded one. The n-th run plays the n-th of the file; where runs
/// are concurrent or several agents share a recording, the prompt decides.
///
/// ```
/// use agent_loop::{Agent, Replay};
///
/// let agent = Agent::builder("anthropic/claude-sonnet-4-5").replay("runs.jsonl").build()?;
/// let from_the_second = Agent::builder("anthropic/claude-sonnet-4-5").replay(Replay::of("runs.jsonl").run(2)).build()?;
/// # Ok::<(), agent_loop::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Replay {
    path: Option<Arc<Path>>,
    run: usize,
    /// The runs that were not played yet, once the file was read. Clones share them.
    left: Arc<Mutex<Option<Vec<RecordedRun>>>>,
}

impl Default for Replay {
    /// No recording.
    fn default() -> Replay {
        Replay { path: None, run: 1, left: Arc::default() }
    }
}

impl Replay {
    /// The recording in this file, from its first run on.
    pub fn of(path: impl Into<PathBuf>) -> Replay {
        Replay { path: Some(path.into().into()), ..Replay::default() }
    }

    /// Which run of the file is played, or is the first one to be played: 1, 2, 3 …
    #[must_use]
    pub fn run(mut self, run: usize) -> Replay {
        self.run = run;
        self
    }

    /// Reads the option as a host has given it. `spelled` is its name.
    ///
    /// # Errors
    /// `invalid_argument`: it is neither a path nor an object with one.
    pub(crate) fn from_json(value: &Value, spelled: &str, spelling: Spelling) -> Result<Replay, Error> {
        let (path, run) = match value {
            Value::Null => return Ok(Replay::default()),
            Value::String(path) => (Some(path.clone()), None),
            Value::Object(map) => {
                let what = format!("field of {spelled}");
                let map = canonical_names(&what, map.clone(), &["path", "run"], spelling)?;
                (map.get("path").and_then(Value::as_str).map(str::to_owned), map.get("run").cloned())
            }
            _ => (None, None),
        };
        let run = match run {
            None | Some(Value::Null) => Some(1),
            Some(run) => run.as_u64().and_then(|run| usize::try_from(run).ok()).filter(|run| *run > 0),
        };
        match (path.filter(|path| !path.is_empty()), run) {
            (Some(path), Some(run)) => Ok(Replay::of(path).run(run)),
            _ => Err(Error::invalid_argument(format!(
                "option {spelled:?}: expected the path of a recording, or an object such as {{\"path\": \"runs.jsonl\", \"run\": \
                 2}}"
            ))),
        }
    }

    /// The file; `None` when nothing is played.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Reads the run.
    ///
    /// # Errors
    /// `io`: the file cannot be read; `damaged`, `newer_version`: as [`recording::read`]; `invalid_argument`: it has no such run.
    pub(crate) fn recorded(&self) -> Result<RecordedRun, Error> {
        let mut runs = self.read().map_err(|error| error.reworded(|why| format!("replay: {why}")))?;
        Ok(runs.remove(0))
    }

    /// Takes the run to be played next, by an agent's run that begins as `begins_so` says. None is left when all were played.
    ///
    /// # Errors
    /// As [`Replay::recorded`].
    pub(crate) fn next(&self, begins_so: impl Fn(&RecordedRun) -> bool) -> Result<Option<RecordedRun>, Error> {
        if self.path.is_none() {
            return Ok(None);
        }
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        let left = match &mut *left {
            Some(left) => left,
            unread => unread.insert(self.read().map_err(|error| error.reworded(|why| format!("option \"replay\": {why}")))?),
        };
        let place = left.iter().position(begins_so).unwrap_or_default();
        Ok((!left.is_empty()).then(|| left.remove(place)))
    }

    /// The run was not played: its agent's run did not begin.
    pub(crate) fn put_back(&self, recorded: RecordedRun) {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        let left = left.get_or_insert_default();
        let place = left.iter().position(|other| other.number > recorded.number).unwrap_or(left.len());
        left.insert(place, recorded);
    }

    /// What a run's models answer from; `None` where no recording is played. Where no run is left in it, no request is answered.
    pub(crate) fn begin(&self, recorded: Option<&RecordedRun>) -> Option<ReplayedRun> {
        let path = self.path()?;
        Some(recorded.map_or_else(|| ReplayedRun::of_none(named(path)), ReplayedRun::new))
    }

    /// The runs from the first one to be played on: at least that one.
    fn read(&self) -> Result<Vec<RecordedRun>, Error> {
        let path = self.path().filter(|path| !path.as_os_str().is_empty());
        let path = path.ok_or_else(|| Error::invalid_argument("expected the path of a recording, got an empty one"))?;
        let file = named(path);
        let runs = recording::read(&file::read(path)?).map_err(|error| error.reworded(|why| format!("{file}{why}")))?;
        let (count, first) = (runs.len(), self.run);
        if first == 0 || first > count {
            let runs = if count == 1 { "1 run".to_owned() } else { format!("{count} runs, 1 to {count}") };
            let text = format!("the recording {} has {runs}, and run {first} is asked for", path.display());
            return Err(Error::invalid_argument(text));
        }
        let mut runs: Vec<RecordedRun> = runs.into_iter().skip(first - 1).collect();
        runs.iter_mut().for_each(|run| run.file = Arc::clone(&file));
        Ok(runs)
    }
}

/// What errors say of a file, before its line.
fn named(path: &Path) -> Arc<str> {
    format!("the recording {}: ", path.display()).into()
}

impl<P: Into<PathBuf>> From<P> for Replay {
    fn from(path: P) -> Replay {
        Replay::of(path)
    }
}
