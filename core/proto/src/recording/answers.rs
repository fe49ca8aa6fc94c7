//! The model's answers of a recorded run, given to another one whose requests are compared with the recorded ones.

use std::collections::VecDeque;
use std::sync::Arc;

use serde_json::{Value, json};

use super::difference::difference;
use super::output::RequestLine;
use super::reading::{Entry, Recorded, RecordedRun};
use crate::delta::Delta;
use crate::error::{Error, ErrorKind};
use crate::machine::{Input, ModelCall};

/// The requests and the model's answers of a recorded run, in order.
#[derive(Debug)]
pub struct Answers {
    file: Arc<str>,
    number: usize,
    /// The line of the run's end.
    end: usize,
    calls: VecDeque<Call>,
    /// How many requests were compared.
    asked: usize,
    /// The first difference: what follows it is none of its own.
    failed: Option<Error>,
}

/// A recorded request with its answer.
#[derive(Debug)]
struct Call {
    line: usize,
    request: Value,
    answer: RecordedAnswer,
}

/// A model's answer as it came.
#[derive(Debug, Default, Clone)]
pub struct RecordedAnswer {
    /// Where its request stands, for errors: `the recording runs.jsonl: line 6: request 1 of run 1`.
    pub place: String,
    /// Its parts. Each comes so many milliseconds after the request.
    pub parts: Vec<(u64, AnswerPart)>,
}

/// A part of a model's answer.
#[derive(Debug, Clone)]
pub enum AnswerPart {
    /// Pieces of the message.
    Deltas(Vec<Delta>),
    /// Bytes that were none yet.
    Activity,
    /// The end. An answer without one was not awaited: a time limit had passed.
    End(Result<(), Error>),
    /// A message was queued, or the run aborted.
    Intervention {
        /// How often that was in the run so far, with this time.
        count: usize,
    },
}

impl Answers {
    /// Those of this run.
    pub fn of(run: &RecordedRun) -> Answers {
        let mut calls: VecDeque<Call> = VecDeque::new();
        // The time of the last poll, and those of the open calls, with their numbers and places.
        let (mut now_ms, mut open) = (0, Vec::<(u64, u64, usize)>::new());
        let mut interventions = 0;
        for (at, Entry { line, what }) in run.entries.iter().enumerate() {
            match what {
                Recorded::Poll { at, .. } => now_ms = *at,
                Recorded::Output("request", request) => {
                    let call = request.get("call").and_then(Value::as_u64).unwrap_or_default();
                    open.push((call, now_ms, calls.len()));
                    calls.push_back(Call { line: *line, request: request.clone(), answer: RecordedAnswer::default() });
                }
                Recorded::Input(input) => {
                    let (of, part) = match &**input {
                        Input::ModelDeltas { call, deltas } => (Some(*call), AnswerPart::Deltas(deltas.clone())),
                        Input::ModelActivity { call } => (Some(*call), AnswerPart::Activity),
                        // It has waited for a limiter, which a replayed run has not: only now it was asked.
                        Input::ModelBegins { call } => {
                            let began_ms = next_poll(run, at).unwrap_or(now_ms);
                            for (_, asked_ms, place) in open.iter_mut().filter(|(of, ..)| *of == u64::from(*call)) {
                                *asked_ms = began_ms;
                                let parts = calls.get_mut(*place).into_iter().flat_map(|call| &mut call.answer.parts);
                                parts.for_each(|(after_ms, _)| *after_ms = 0);
                            }
                            continue;
                        }
                        Input::ModelEnd { call, result } => (Some(*call), AnswerPart::End(result.clone())),
                        Input::Steer(_) | Input::FollowUp(_) | Input::Abort => {
                            interventions += 1;
                            (None, AnswerPart::Intervention { count: interventions })
                        }
                        _ => continue,
                    };
                    let came_ms = next_poll(run, at).unwrap_or(now_ms);
                    for (_, asked_ms, place) in open.iter().filter(|(call, ..)| of.is_none_or(|of| u64::from(of) == *call)) {
                        if let Some(call) = calls.get_mut(*place) {
                            call.answer.parts.push((came_ms.saturating_sub(*asked_ms), part.clone()));
                        }
                    }
                    if let AnswerPart::End(_) = part {
                        open.retain(|(call, ..)| of.is_none_or(|of| u64::from(of) != *call));
                    }
                }
                _ => {}
            }
        }
        Answers { file: Arc::clone(&run.file), number: run.number, end: run.end, calls, asked: 0, failed: None }
    }

    /// None: each request is answered by the error `replay` with this text. `file`: as in [`RecordedRun::file`].
    pub fn none(file: Arc<str>, why: &str) -> Answers {
        let mut none = Answers { file, number: 0, end: 0, calls: VecDeque::new(), asked: 0, failed: None };
        none.fail(why);
        none
    }

    /// The answer to the next request, if it is the recorded one.
    ///
    /// # Errors
    /// `replay`: the request differs from the recorded one, or none is left. Says where it differs, and has both. Each later
    /// request is answered by the same error.
    pub fn next(&mut self, call: &ModelCall) -> Result<RecordedAnswer, Error> {
        if let Some(failed) = &self.failed {
            return Err(failed.clone());
        }
        self.asked += 1;
        let compared = self.compare(&json!(RequestLine::of(call)));
        compared.map_err(|why| self.fail(&why))
    }

    fn compare(&mut self, request: &Value) -> Result<RecordedAnswer, String> {
        let (asked, number) = (self.asked, self.number);
        let Some(call) = self.calls.pop_front() else {
            let (line, before) = (self.end, asked - 1);
            let model = request.get("model").and_then(Value::as_str).unwrap_or_default();
            return Err(format!("line {line}: request {asked} (to {model}) was not recorded: run {number} has {before} of them"));
        };
        let place = format!("line {}: request {asked} of run {number}", call.line);
        match difference(&comparable(request), &comparable(&call.request)) {
            None => Ok(RecordedAnswer { place: format!("{}{place}", self.file), ..call.answer }),
            Some(difference) => Err(format!("{place} is not the recorded one: {difference}")),
        }
    }

    /// The error of a run that ends now, if recorded requests are left.
    pub fn left_over(&mut self) -> Option<Error> {
        let next = self.calls.front().filter(|_| self.failed.is_none())?;
        let (line, next, number) = (next.line, self.asked + 1, self.number);
        Some(self.fail(&format!("line {line}: the run has ended, and request {next} of run {number} was recorded and not made")))
    }

    fn fail(&mut self, why: &str) -> Error {
        let error = changed(&format!("{}{why}", self.file));
        self.failed = Some(error.clone());
        error
    }
}

/// The error of a run that is not as it was recorded, where its program has changed.
pub fn changed(what: &str) -> Error {
    Error::new(ErrorKind::Replay, format!("{what}. If the change is meant, record it anew"))
}

/// When the loop was polled next, from the entry of that place on.
fn next_poll(run: &RecordedRun, place: usize) -> Option<u64> {
    let polled = |entry: &Entry| if let Recorded::Poll { at, .. } = entry.what { Some(at) } else { None };
    run.entries.iter().skip(place).find_map(polled)
}

/// A request without what is another one in each run: the number of the call, and the times of messages.
fn comparable(request: &Value) -> Value {
    let mut request = request.clone();
    let without = |value: Option<&mut Value>, key| value.and_then(Value::as_object_mut).and_then(|map| map.shift_remove(key));
    without(Some(&mut request), "call");
    let messages = request.pointer_mut("/request/messages").and_then(Value::as_array_mut);
    messages.into_iter().flatten().for_each(|message| drop(without(Some(message), "timestamp")));
    request
}
