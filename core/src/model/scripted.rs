//! A model that plays a script: deterministic, in process, in virtual time. For tests and examples, in every language.
//!
//! A script is a list of answers, one per model call; an answer is a list of steps:
//!
//! - `{"delta": …}`: a chunk of the message, in any form that custom providers may push.
//! - `{"wait_ms": 100}`: the model is silent for a while.
//! - `{"error": {"kind", "message", …}}`: the call fails with this error.
//! - `{"usage": {"input", "output", …}}`: the tokens used so far.
//! - `{"diagnostic": {"code", "message"?, "data"?}}`: an event of that type, at this moment.
//! - `{"end": {"stop_reason", "usage"}}`: the answer is complete. Without it the stream is cut off.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use agent_loop_proto::chunk::{Chunk, ChunkReader};
use serde_json::Value;

use super::{DeltaSink, Model, ModelInfo, ModelRequest};
use crate::clock::Clock;
use crate::did_you_mean::check_names;
use crate::error::{Error, ErrorKind};
use crate::future::BoxFuture;
use crate::provider::ModelSpec;
use crate::usage::Prices;

/// The `scripted` model.
pub(crate) struct ScriptedModel {
    id: String,
    prices: Option<Prices>,
    clock: Clock,
    answers: Mutex<Answers>,
}

struct Answers {
    left: VecDeque<Vec<Step>>,
    given: usize,
}

#[derive(Debug, Clone)]
enum Step {
    Say(Chunk),
    Wait(u64),
}

impl ScriptedModel {
    /// Reads the spec's script.
    ///
    /// # Errors
    /// `invalid_argument`: says which step of which answer is wrong.
    pub(crate) fn new(spec: &ModelSpec) -> Result<ScriptedModel, Error> {
        let wrong = |what: String| Error::invalid_argument(format!("model {:?}: {what}", spec.name()));
        let answers = match &spec.script {
            Some(Value::Array(answers)) => answers,
            Some(other) => {
                return Err(wrong(format!("script: expected a list of answers, got {other}")));
            }
            None => {
                return Err(wrong("script is missing: a list of answers, each a list of steps".into()));
            }
        };
        let read = |(a, answer): (usize, &Value)| match answer {
            Value::Array(steps) => {
                let mut chunks = ChunkReader::new("scripted");
                let step = |(s, step)| read_step(&mut chunks, step).map_err(|why| wrong(format!("script[{a}][{s}]: {why}")));
                steps.iter().enumerate().map(step).collect::<Result<Vec<_>, _>>()
            }
            other => Err(wrong(format!("script[{a}]: expected a list of steps, got {other}"))),
        };
        let left = answers.iter().enumerate().map(read).collect::<Result<_, _>>()?;
        Ok(ScriptedModel {
            id: spec.id.clone(),
            prices: spec.cost,
            clock: Clock::simulated(),
            answers: Mutex::new(Answers { left, given: 0 }),
        })
    }

    fn next_answer(&self) -> Result<Vec<Step>, Error> {
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        answers.given += 1;
        let given = answers.given;
        answers.left.pop_front().ok_or_else(|| {
            let answers = if given == 2 { "1 answer".to_owned() } else { format!("{} answers", given - 1) };
            let text = format!("the script has {answers}, and this is model call {given}");
            Error::new(ErrorKind::Provider, text).with_provider("scripted")
        })
    }

    async fn play(&self, sink: &DeltaSink) -> Result<(), Error> {
        for step in self.next_answer()? {
            match step {
                Step::Say(Chunk::Deltas(deltas)) => deltas.into_iter().for_each(|delta| sink.push(delta)),
                Step::Wait(ms) => self.clock.sleep(ms).await,
                Step::Say(Chunk::Fail(error)) => return Err(error),
                Step::Say(Chunk::End(deltas)) => {
                    deltas.into_iter().for_each(|delta| sink.push(delta));
                    return Ok(());
                }
            }
            sink.ready().await;
        }
        let text = "the script's answer has no end step: the stream was cut off";
        Err(Error::new(ErrorKind::StreamTruncated, text).with_provider("scripted"))
    }
}

impl Model for ScriptedModel {
    fn info(&self) -> ModelInfo<'_> {
        ModelInfo { provider: "scripted", protocol: "scripted", id: &self.id, prices: self.prices }
    }

    fn stream<'a>(&'a self, _request: &'a ModelRequest, sink: &'a DeltaSink) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(self.play(sink))
    }

    fn clock(&self) -> Clock {
        self.clock.clone()
    }
}

fn read_step(chunks: &mut ChunkReader, step: &Value) -> Result<Step, String> {
    const STEPS: &[&str] = &["delta", "wait_ms", "error", "usage", "diagnostic", "end"];
    let map = step.as_object().filter(|map| map.len() == 1);
    let map = map.ok_or_else(|| format!("expected an object with one of {}, got {step}", STEPS.join(", ")))?;
    check_names("step", map, STEPS).map_err(|error| error.message().to_owned())?;
    let (name, value) = map.iter().next().ok_or("the step is empty")?;
    match name.as_str() {
        "wait_ms" => value.as_u64().map(Step::Wait).ok_or_else(|| format!("wait_ms: expected milliseconds, got {value}")),
        "delta" => chunks.delta(value).map(|deltas| Step::Say(Chunk::Deltas(deltas))).map_err(|why| format!("delta: {why}")),
        _ => chunks.read(step).map(Step::Say),
    }
}
