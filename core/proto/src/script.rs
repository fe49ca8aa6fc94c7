//! The script of the `scripted` model: deterministic answers for tests and examples, in every language. This module reads a
//! script and hands out its answers; who plays them brings the time.
//!
//! A script is a list of answers, one per model call; an answer is a list of steps:
//!
//! - `{"delta": …}`: a chunk of the message, in any form that custom providers may push.
//! - `{"wait_ms": 100}`: the model is silent for a while.
//! - `{"error": {"kind", "message", …}}`: the call fails with this error.
//! - `{"usage": {"input", "output", …}}`: the tokens used so far.
//! - `{"diagnostic": {"code", "message"?, "data"?}}`: an event of that type, at this moment.
//! - `{"end": "stop"}`, `{"end": {}}` or `{"end": {"stop_reason", "raw_stop_reason", "response_id", "response_model", "usage"}}`:
//!   the answer is complete; what is left out is as the answer is. Without an end the stream is cut off.

use std::collections::VecDeque;

use serde_json::Value;

use crate::chunk::{Chunk, ChunkReader};
use crate::did_you_mean::check_names;
use crate::error::{Error, ErrorKind};
use crate::json_error::shown;
use crate::machine::Input;
use crate::model_spec::ModelSpec;

/// The provider and the protocol of scripted models.
pub const SCRIPTED: &str = "scripted";

/// A script that is being played.
#[derive(Debug)]
pub struct Script {
    left: VecDeque<Vec<Step>>,
    given: usize,
}

/// A step of an answer.
#[derive(Debug, Clone)]
pub enum Step {
    /// A part of the answer, its failure or its end.
    Chunk(Chunk),
    /// Silence, in milliseconds.
    Wait(u64),
}

impl Script {
    /// Reads the spec's script.
    ///
    /// # Errors
    /// `invalid_argument`: says which step of which answer is wrong.
    pub fn of(spec: &ModelSpec) -> Result<Script, Error> {
        let wrong = |what: String| Error::invalid_argument(format!("model {:?}: {what}", spec.name()));
        let answers = match &spec.script {
            Some(Value::Array(answers)) => answers,
            Some(other) => return Err(wrong(format!("script: expected a list of answers, got {}", shown(other)))),
            None => return Err(wrong("script is missing: a list of answers, each a list of steps".into())),
        };
        let read = |(a, answer): (usize, &Value)| match answer {
            Value::Array(steps) => {
                let mut chunks = ChunkReader::new(SCRIPTED);
                let step = |(s, step)| read_step(&mut chunks, step).map_err(|why| wrong(format!("script[{a}][{s}]: {why}")));
                steps.iter().enumerate().map(step).collect::<Result<Vec<_>, _>>()
            }
            other => Err(wrong(format!("script[{a}]: expected a list of steps, got {}", shown(other)))),
        };
        Ok(Script { left: answers.iter().enumerate().map(read).collect::<Result<_, _>>()?, given: 0 })
    }

    /// The answer to the next model call.
    ///
    /// # Errors
    /// `provider`: all answers have been given.
    pub fn next_answer(&mut self) -> Result<Vec<Step>, Error> {
        self.given += 1;
        let given = self.given;
        self.left.pop_front().ok_or_else(|| {
            let answers = if given == 2 { "1 answer".to_owned() } else { format!("{} answers", given - 1) };
            let text = format!("the script has {answers}, and this is model call {given}");
            Error::new(ErrorKind::Provider, text).with_provider(SCRIPTED)
        })
    }

    /// The answer as inputs for the loop whose model call has this number, each with the time at which it comes. For hosts that
    /// drive a loop by hand.
    ///
    /// ```
    /// # mod agent_loop { pub use agent_loop_proto::{error::*, machine, model_spec::*, script as testing}; }
    /// use agent_loop::ModelSpec;
    /// use agent_loop::machine::Input;
    /// use agent_loop::testing::Script;
    /// use serde_json::json;
    ///
    /// let script = json!([[{ "delta": "Hello." }, { "wait_ms": 100 }, { "end": {} }]]);
    /// let spec = ModelSpec::from_json(json!({ "provider": "scripted", "id": "a", "script": script }))?;
    /// let inputs = Script::of(&spec)?.next_inputs(0, 5000);
    /// assert!(matches!(inputs[0], (5000, Input::ModelDeltas { call: 0, .. })));
    /// assert!(matches!(inputs[1], (5100, Input::ModelDeltas { call: 0, .. })));
    /// assert!(matches!(inputs[2], (5100, Input::ModelEnd { call: 0, result: Ok(()) })));
    /// # Ok::<(), agent_loop::Error>(())
    /// ```
    pub fn next_inputs(&mut self, call: u32, now_ms: u64) -> Vec<(u64, Input)> {
        let (mut inputs, mut at_ms, mut result) = (Vec::new(), now_ms, Err(Script::cut_off()));
        for step in self.next_answer().unwrap_or_else(|error| vec![Step::Chunk(Chunk::Fail(error))]) {
            match step {
                Step::Wait(ms) => at_ms = at_ms.saturating_add(ms),
                Step::Chunk(Chunk::Deltas(deltas)) => inputs.push((at_ms, Input::ModelDeltas { call, deltas })),
                Step::Chunk(Chunk::Fail(error)) => {
                    result = Err(error);
                    break;
                }
                Step::Chunk(Chunk::End(deltas)) => {
                    inputs.push((at_ms, Input::ModelDeltas { call, deltas }));
                    result = Ok(());
                    break;
                }
            }
        }
        inputs.push((at_ms, Input::ModelEnd { call, result }));
        inputs
    }

    /// The error of an answer without an end step.
    pub fn cut_off() -> Error {
        let text = "the script's answer has no end step: the stream was cut off";
        Error::new(ErrorKind::StreamTruncated, text).with_provider(SCRIPTED)
    }
}

fn read_step(chunks: &mut ChunkReader, step: &Value) -> Result<Step, String> {
    const STEPS: &[&str] = &["delta", "wait_ms", "error", "usage", "diagnostic", "end"];
    let map = step.as_object().filter(|map| map.len() == 1);
    let map = map.ok_or_else(|| format!("expected an object with one of {}, got {}", STEPS.join(", "), shown(step)))?;
    check_names("step", map, STEPS).map_err(|error| error.message().to_owned())?;
    let (name, value) = map.iter().next().ok_or("the step is empty")?;
    match name.as_str() {
        "wait_ms" => {
            value.as_u64().map(Step::Wait).ok_or_else(|| format!("wait_ms: expected milliseconds, got {}", shown(value)))
        }
        "delta" => chunks.delta(value).map(|deltas| Step::Chunk(Chunk::Deltas(deltas))).map_err(|why| format!("delta: {why}")),
        _ => chunks.read(step).map(Step::Chunk),
    }
}
