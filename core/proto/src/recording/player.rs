//! Plays a recorded run through a loop, as fast as it is read.

use std::collections::VecDeque;
use std::sync::Arc;

use serde_json::Value;

use super::difference::difference;
use super::line::Check;
use super::output::output;
use super::reading::{Entry, Recorded, RecordedRun};
use crate::error::{Error, ErrorKind};
use crate::event::Event;
use crate::hook::HookAnswer;
use crate::machine::{Action, EndCause, Input, Loop, Timer};
use crate::result::RunResult;

/// Plays a recorded run. It compares what the loop gives with the recording: the two differ where the library or the file has
/// changed.
#[derive(Debug)]
pub struct Player {
    /// As in [`RecordedRun::file`], and which run of it, for errors.
    file: Arc<str>,
    number: usize,
    /// The line of the run's end.
    end: usize,
    entries: VecDeque<Entry>,
    /// The polls of the line that is being played: the time, and how many are left.
    polls: (u64, u64),
    /// After a forced end: the events that are left, and the result.
    forced: Option<(VecDeque<Event>, RunResult)>,
    /// Whether the run was aborted while it was played: then nothing more of the recording counts.
    is_aborted: bool,
    timer: Option<Timer>,
}

/// A step of a run that is played.
#[derive(Debug)]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub enum Played {
    /// The next event.
    Event(Event),
    /// The run is over.
    Done(Box<RunResult>),
}

impl Player {
    /// The loop that the run began with, and its player.
    pub fn new(recorded: RecordedRun) -> (Loop, Player) {
        let RecordedRun { file, number, end, config, start, entries, .. } = recorded;
        let player =
            Player { file, number, end, entries: entries.into(), polls: (0, 0), forced: None, is_aborted: false, timer: None };
        (Loop::new(config, start), player)
    }

    /// The next event, or the result.
    ///
    /// # Errors
    /// `replay`: the loop does something else than was recorded; says where, and both. The run cannot go on then.
    pub fn next(&mut self, run: &mut Loop) -> Result<Played, Error> {
        if self.is_aborted {
            return Ok(self.next_of_aborted(run));
        }
        loop {
            if let Some((events, result)) = &mut self.forced {
                return Ok(match events.pop_front() {
                    Some(event) => Played::Event(event),
                    None => Played::Done(Box::new(result.clone())),
                });
            }
            if self.polls.1 > 0 {
                self.polls.1 -= 1;
                if let Some(played) = self.poll(run)? {
                    return Ok(played);
                }
                continue;
            }
            let Some(Entry { line, what }) = self.entries.pop_front() else {
                return Err(self.differs(self.end, "the recording is over, and the run is not"));
            };
            match what {
                Recorded::Poll { at, times } => self.polls = (at, times),
                Recorded::Time { at, check: Check::Limits } => drop(run.check_limits(at)),
                Recorded::Time { at, check: Check::ListenerLimit } => drop(run.listener_limit(at, at)),
                Recorded::Input(input) => run.handle(*input),
                Recorded::ForceEnd(cause) => {
                    let (events, result) = run.force_end(cause);
                    self.forced = Some((events.into(), result));
                }
                Recorded::Output(name, value) => {
                    return Err(self.differs(line, &format!("the run has no {}", shown(name, &value))));
                }
            }
        }
    }

    /// Aborts the run: what follows is not the recording's any more.
    pub fn abort(&mut self, run: &mut Loop) {
        if !self.is_aborted {
            self.is_aborted = true;
            run.handle(Input::Abort);
        }
    }

    fn poll(&mut self, run: &mut Loop) -> Result<Option<Played>, Error> {
        let Some(action) = run.poll(self.polls.0) else {
            return Ok(None);
        };
        self.compare(&action)?;
        match action {
            Action::Emit(event) => Ok(Some(Played::Event(event))),
            Action::Done(result) => match self.entries.iter().find_map(Entry::output) {
                None => Ok(Some(Played::Done(result))),
                Some((line, name, value)) => {
                    Err(self.differs(line, &format!("the run is over, and was recorded with {}", shown(name, value))))
                }
            },
            Action::SetTimer(timer) => {
                self.timer = timer;
                Ok(None)
            }
            _ => Ok(None),
        }
    }

    /// Compares what the loop gives with what it gave.
    fn compare(&mut self, action: &Action) -> Result<(), Error> {
        let Some((name, value)) = output(action) else {
            return Ok(());
        };
        let Some((line, recorded_name, recorded)) = self.entries.front().and_then(Entry::output) else {
            let line = self.entries.front().map_or(self.end, |entry| entry.line);
            return Err(self.differs(line, &format!("the run has {}, which was not recorded", shown(name, &value))));
        };
        if name != recorded_name {
            let (now, before) = (shown(name, &value), shown(recorded_name, recorded));
            return Err(self.differs(line, &format!("the run has {now} where {before} was recorded")));
        }
        if let Some(difference) = difference(&value, recorded) {
            return Err(self.differs(line, &format!("{}: {difference}", shown(name, recorded))));
        }
        self.entries.pop_front();
        Ok(())
    }

    /// The error of a run that is not played as it was recorded.
    fn differs(&self, line: usize, what: &str) -> Error {
        let Player { file, number, .. } = self;
        let text = format!(
            "{file}line {line}, in run {number}: {what}. Another version of agent-loop recorded it, or its file was changed: \
             record it anew"
        );
        Error::new(ErrorKind::Replay, text)
    }

    /// The end of a run that was aborted, without a host: hooks change nothing, and all else is silent until time passes.
    fn next_of_aborted(&mut self, run: &mut Loop) -> Played {
        loop {
            match run.poll(self.polls.0) {
                Some(Action::Emit(event)) => return Played::Event(event),
                Some(Action::Done(result)) => return Played::Done(result),
                Some(Action::SetTimer(timer)) => self.timer = timer,
                Some(Action::AskHook { question_id, .. }) => {
                    run.handle(Input::HookAnswer { question_id, answer: Ok(HookAnswer::Nothing.into()) });
                }
                Some(_) => {}
                None => match (self.timer.take(), &mut self.forced) {
                    (Some(timer), None) => self.polls.0 = self.polls.0.max(timer.at_ms),
                    (None, None) => {
                        let (events, result) = run.force_end(EndCause::ShutDown);
                        self.forced = Some((events.into(), result));
                    }
                    (_, Some((events, result))) => {
                        return match events.pop_front() {
                            Some(event) => Played::Event(event),
                            None => Played::Done(Box::new(result.clone())),
                        };
                    }
                },
            }
        }
    }
}

impl Entry {
    /// What the loop gave, if the line is that.
    pub(super) fn output(&self) -> Option<(usize, &'static str, &Value)> {
        match &self.what {
            Recorded::Output(name, value) => Some((self.line, name, value)),
            _ => None,
        }
    }
}

/// What the loop gives, in words.
fn shown(name: &str, value: &Value) -> String {
    let text = |key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default();
    match name {
        "request" => format!("a request to {}", text("model")),
        "tool_call" => format!("a call of the tool {}", text("name")),
        "question" => format!("a question to the hook {}", text("hook")),
        _ => format!("the event {} (seq {})", text("type"), value.get("seq").unwrap_or(&Value::Null)),
    }
}
