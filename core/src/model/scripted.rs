//! A model that plays a script: deterministic, in process, in virtual time. For tests and examples, in every language.
//!
//! A script is a list of answers, one per model call; an answer is a list of steps:
//!
//! - `{"delta": …}`: a piece of the message. As text, `"Hello"`. Short: `{"text": "Hello"}`, `{"thinking": "Hm"}` or
//!   `{"tool_call": {"id", "name", "arguments"}}` (arguments as an object or as text). Piece by piece, as events have it:
//!   `{"type": "text_start" | "text_delta" | "text_end" | "thinking_…" | "tool_call_…", "content_index"?, …}` with `delta`,
//!   `id` and `name` where the event has them; a `…_end` may have a `signature`. Blocks start by themselves when left out.
//! - `{"wait_ms": 100}`: the model is silent for a while.
//! - `{"error": {"kind", "message", …}}`: the call fails with this error.
//! - `{"end": {"stop_reason", "usage"}}`: the answer is complete. Without it the stream is cut off.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use serde::Deserialize;
use serde_json::Value;

use super::{BlockStart, BoxFuture, Delta, DeltaSink, Model, ModelInfo, ModelRequest};
use crate::clock::Clock;
use crate::error::{Error, ErrorKind};
use crate::names::check_names;
use crate::provider::ModelSpec;
use crate::usage::{Prices, StopReason, Usage};

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
    Deltas(Vec<Delta>),
    Wait(u64),
    Fail(Error),
    End(Vec<Delta>),
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
                let mut blocks = Blocks::default();
                let step = |(s, step)| blocks.step(step).map_err(|why| wrong(format!("script[{a}][{s}]: {why}")));
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
            let text = format!("the script has {} answers, and this is model call {given}", given - 1);
            Error::new(ErrorKind::Provider, text).with_provider("scripted")
        })
    }

    async fn play(&self, sink: &DeltaSink) -> Result<(), Error> {
        for step in self.next_answer()? {
            match step {
                Step::Deltas(deltas) => deltas.into_iter().for_each(|delta| sink.push(delta)),
                Step::Wait(ms) => self.clock.sleep(ms).await,
                Step::Fail(error) => return Err(error),
                Step::End(deltas) => {
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

/// The blocks of an answer while its script is read.
#[derive(Default)]
struct Blocks {
    next_key: u32,
    /// The block that a piece without a `content_index` goes on with.
    open: Option<(Kind, u32)>,
    started: Vec<u32>,
    any_call: bool,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Text,
    Thinking,
    ToolCall,
}

impl Kind {
    fn block(self) -> Option<BlockStart> {
        match self {
            Kind::Text => Some(BlockStart::Text),
            Kind::Thinking => Some(BlockStart::Thinking { redacted: false }),
            Kind::ToolCall => None,
        }
    }
}

impl Blocks {
    fn step(&mut self, step: &Value) -> Result<Step, String> {
        let map = step
            .as_object()
            .filter(|map| map.len() == 1)
            .ok_or_else(|| format!("expected an object with one of \"delta\", \"wait_ms\", \"error\", \"end\", got {step}"))?;
        let (name, value) = map.iter().next().ok_or("the step is empty")?;
        match name.as_str() {
            "delta" => Ok(Step::Deltas(self.delta(value).map_err(|why| format!("delta: {why}"))?)),
            "wait_ms" => value.as_u64().map(Step::Wait).ok_or_else(|| format!("wait_ms: expected milliseconds, got {value}")),
            "error" => Error::deserialize(value)
                .map(|error| Step::Fail(if error.provider().is_none() { error.with_provider("scripted") } else { error }))
                .map_err(|e| format!("error: {e}")),
            "end" => self.end(value).map_err(|why| format!("end: {why}")),
            _ => Err(check_names("step", map, &["delta", "wait_ms", "error", "end"])
                .err()
                .map_or_else(String::new, |error| error.message().to_owned())),
        }
    }

    fn end(&self, value: &Value) -> Result<Step, String> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct End {
            #[serde(default)]
            stop_reason: Option<StopReason>,
            #[serde(default)]
            raw_stop_reason: Option<String>,
            #[serde(default)]
            usage: Option<Usage>,
        }
        let end: End = match value {
            Value::String(_) => serde_json::from_value(serde_json::json!({ "stop_reason": value })),
            _ => End::deserialize(value),
        }
        .map_err(|e| e.to_string())?;
        if end.stop_reason.is_some_and(StopReason::is_failure) {
            return Err(
                "a stop_reason of \"error\" or \"aborted\" cannot be scripted; use an error step, or abort the run".into()
            );
        }
        let natural = if self.any_call { StopReason::ToolUse } else { StopReason::Stop };
        let mut deltas: Vec<Delta> = end.usage.map(|used| Delta::Usage(Box::new(used))).into_iter().collect();
        deltas.push(Delta::Stop { reason: end.stop_reason.unwrap_or(natural), raw: end.raw_stop_reason });
        Ok(Step::End(deltas))
    }

    fn delta(&mut self, value: &Value) -> Result<Vec<Delta>, String> {
        let mut out = Vec::new();
        match value {
            Value::String(text) => self.append(Kind::Text, None, text, &mut out)?,
            Value::Object(map) if map.contains_key("type") => self.piece(value, &mut out)?,
            Value::Object(map) => {
                let (name, value) =
                    map.iter().next().filter(|_| map.len() == 1).ok_or("expected one of text, thinking, tool_call, type")?;
                let text = || value.as_str().ok_or_else(|| format!("{name}: expected text, got {value}"));
                match name.as_str() {
                    "text" => self.append(Kind::Text, None, text()?, &mut out)?,
                    "thinking" => self.append(Kind::Thinking, None, text()?, &mut out)?,
                    "tool_call" => {
                        self.close(&mut out);
                        let key = self.start(None, call(value)?, &mut out)?;
                        match value.get("arguments") {
                            None | Some(Value::Null) => {}
                            Some(Value::String(text)) if text.is_empty() => {}
                            Some(Value::String(text)) => out.push(Delta::Append { key, text: text.clone() }),
                            Some(other) => out.push(Delta::Append { key, text: other.to_string() }),
                        }
                        out.push(Delta::End { key });
                    }
                    _ => {
                        return Err(format!("unknown {name:?}; known are text, thinking, tool_call, type"));
                    }
                }
            }
            other => return Err(format!("expected text or an object, got {other}")),
        }
        Ok(out)
    }

    /// A piece in the form of an event.
    fn piece(&mut self, piece: &Value, out: &mut Vec<Delta>) -> Result<(), String> {
        let text = |name: &str| piece.get(name).and_then(Value::as_str);
        let kind = text("type").unwrap_or_default();
        let given = match piece.get("content_index") {
            None => None,
            Some(index) => Some(
                index
                    .as_u64()
                    .and_then(|i| u32::try_from(i).ok())
                    .ok_or_else(|| format!("content_index: expected a number, got {index}"))?,
            ),
        };
        let (family, step) = match kind.rsplit_once('_') {
            Some(("text", step)) => (Kind::Text, step),
            Some(("thinking", step)) => (Kind::Thinking, step),
            Some(("tool_call", step)) => (Kind::ToolCall, step),
            _ => {
                return Err(format!(
                    "unknown type {kind:?}; known are text_…, thinking_… and tool_call_… with start, delta or end"
                ));
            }
        };
        match step {
            "start" => {
                let block = match family.block() {
                    Some(block) => block,
                    None => call(piece)?,
                };
                if given.is_none() {
                    self.close(out);
                }
                let key = self.start(given, block, out)?;
                self.open = Some((family, key));
            }
            "delta" => {
                let delta = text("delta").ok_or_else(|| format!("{kind} has no delta (text)"))?;
                self.append(family, given, delta, out)?;
            }
            "end" => {
                let key = given.or(self.open.filter(|(open, _)| *open == family).map(|(_, key)| key));
                let key = key.ok_or_else(|| format!("{kind}: no such block is open"))?;
                if let Some(signature) = text("signature") {
                    out.push(Delta::Signature { key, signature: signature.to_owned() });
                }
                out.push(Delta::End { key });
                if self.open.is_some_and(|(_, open)| open == key) {
                    self.open = None;
                }
            }
            _ => {
                return Err(format!("unknown type {kind:?}; a piece is a start, a delta or an end"));
            }
        }
        Ok(())
    }

    fn append(&mut self, kind: Kind, given: Option<u32>, text: &str, out: &mut Vec<Delta>) -> Result<(), String> {
        let going_on = match given {
            Some(key) => self.started.contains(&key).then_some(key),
            None => self.open.filter(|(open, _)| *open == kind).map(|(_, key)| key),
        };
        let key = match going_on {
            Some(key) => key,
            None => {
                let block = kind.block().ok_or("a tool call begins with tool_call_start (id, name)")?;
                if given.is_none() {
                    self.close(out);
                }
                let key = self.start(given, block, out)?;
                self.open = Some((kind, key));
                key
            }
        };
        out.push(Delta::Append { key, text: text.to_owned() });
        Ok(())
    }

    fn start(&mut self, given: Option<u32>, block: BlockStart, out: &mut Vec<Delta>) -> Result<u32, String> {
        let key = given.unwrap_or(self.next_key);
        if self.started.contains(&key) {
            return Err(format!("content_index {key} is used twice"));
        }
        self.any_call |= matches!(block, BlockStart::ToolCall { .. });
        self.next_key = self.next_key.max(key + 1);
        self.started.push(key);
        out.push(Delta::Start { key, block });
        Ok(key)
    }

    fn close(&mut self, out: &mut Vec<Delta>) {
        if let Some((_, key)) = self.open.take() {
            out.push(Delta::End { key });
        }
    }
}

fn call(value: &Value) -> Result<BlockStart, String> {
    let text = |name: &str| match value.get(name) {
        Some(Value::String(text)) => Ok(text.clone()),
        None if name == "id" => Ok(String::new()),
        None => Err(format!("the tool call has no {name}")),
        Some(other) => Err(format!("{name}: expected text, got {other}")),
    };
    Ok(BlockStart::ToolCall { id: text("id")?, name: text("name")? })
}
