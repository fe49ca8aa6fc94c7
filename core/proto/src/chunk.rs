//! Chunks of an answer in JSON, as scripts contain them and custom providers push them, read into deltas.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::delta::{BlockStart, Delta};
use crate::did_you_mean::{Spelling, check_names, unknown_name};
use crate::error::Error;
use crate::json_error::{read_value, shown};
use crate::usage::{StopReason, Usage};

/// What an object may have; with a type, it is in the form of an event.
const KNOWN: &str = "text, thinking, tool_call, type, end, error, usage, diagnostic";

const CALL: &[&str] = &["id", "name", "arguments"];
/// Of all steps of a block, as events have them.
const STEP: &[&str] = &["type", "content_index"];
/// What events have besides; a chunk may be an event of another run.
const OF_EVENTS: &[&str] = &["run_id", "seq", "turn", "block"];
const ERROR: &[&str] = &["kind", "message", "provider", "http_status", "request_id", "retryable", "retry_after_ms"];
const USAGE: &[&str] = &["input", "output", "cache_read", "cache_write", "reasoning", "total", "cost"];

/// Refuses a field that says nothing to the reader: what is meant by it would be lost.
fn check_fields(value: &Value, known: &[&str]) -> Result<(), String> {
    value.as_object().map_or(Ok(()), |map| check_names("field", map, known)).map_err(|e| e.message().to_owned())
}

/// Refuses a field that neither a step has nor, of what events have besides, any of them.
fn check_step(kind: &str, chunk: &Value, fields: &[&str]) -> Result<(), String> {
    let is_known = |name: &str| [STEP, fields, OF_EVENTS].iter().any(|known| known.contains(&name));
    match chunk.as_object().and_then(|map| map.keys().find(|name| !is_known(name))) {
        None => Ok(()),
        Some(name) => {
            let known = STEP.iter().chain(fields).copied();
            Err(format!("{kind}: {}", unknown_name("field", name, known, Spelling::Snake).message()))
        }
    }
}

fn unknown_type(kind: &str) -> String {
    format!("unknown type {kind:?}; known are text_…, thinking_… and tool_call_… with start, delta or end")
}

/// A chunk that was read.
#[derive(Debug, Clone)]
pub enum Chunk {
    /// More of the message.
    Deltas(Vec<Delta>),
    /// The last of it: the answer is complete.
    End(Vec<Delta>),
    /// The answer failed.
    Fail(Error),
}

/// Reads the chunks of one answer, in order.
pub struct ChunkReader {
    /// The provider of errors that name none.
    provider: String,
    next_key: u32,
    /// The block that a chunk without a `content_index` goes on with.
    open: Option<(Kind, u32)>,
    /// Each block's kind, and whether more may come of it.
    started: BTreeMap<u32, (Kind, bool)>,
    /// Those of them that began with nothing: what starts them is still to come.
    silent: Vec<u32>,
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

impl ChunkReader {
    /// A reader for one answer of this provider.
    pub fn new(provider: &str) -> ChunkReader {
        ChunkReader {
            provider: provider.to_owned(),
            next_key: 0,
            open: None,
            started: BTreeMap::new(),
            silent: Vec::new(),
            any_call: false,
        }
    }

    /// Reads a chunk: more of the message (see [`ChunkReader::delta`]), `{"end": …}`, `{"error": …}`,
    /// `{"usage": …}` (the tokens used so far) or `{"diagnostic": …}`.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn read(&mut self, chunk: &Value) -> Result<Chunk, String> {
        let only = chunk.as_object().filter(|map| map.len() == 1).and_then(|map| map.iter().next());
        match only.map(|(name, value)| (name.as_str(), value)) {
            Some(("end", value)) => self.end(value).map(Chunk::End).map_err(|why| format!("end: {why}")),
            Some(("error", value)) => check_fields(value, ERROR)
                .and_then(|()| read_value::<Error>(value).map_err(|e| e.to_string()))
                .map(|error| Chunk::Fail(if error.provider().is_none() { error.with_provider(&self.provider) } else { error }))
                .map_err(|e| format!("error: {e}")),
            Some(("usage", value)) => check_fields(value, USAGE)
                .and_then(|()| read_value::<Usage>(value).map_err(|e| e.to_string()))
                .map(|used| Chunk::Deltas(vec![Delta::Usage(Box::new(used))]))
                .map_err(|e| format!("usage: {e}")),
            Some(("diagnostic", value)) => {
                diagnostic(value).map(|delta| Chunk::Deltas(vec![delta])).map_err(|why| format!("diagnostic: {why}"))
            }
            _ => self.delta(chunk).map(Chunk::Deltas),
        }
    }

    /// The end of an answer that simply ends.
    pub fn natural_end(&self) -> Vec<Delta> {
        self.end(&Value::Object(Map::new())).unwrap_or_default()
    }

    fn end(&self, value: &Value) -> Result<Vec<Delta>, String> {
        #[derive(Deserialize)]
        #[serde(rename = "strict", deny_unknown_fields)]
        struct End {
            #[serde(default)]
            stop_reason: Option<StopReason>,
            #[serde(default)]
            raw_stop_reason: Option<String>,
            #[serde(default)]
            response_id: Option<String>,
            #[serde(default)]
            response_model: Option<String>,
            #[serde(default)]
            usage: Option<Usage>,
        }
        let end: End = match value {
            Value::String(_) => read_value(&serde_json::json!({ "stop_reason": value })),
            _ => read_value(value),
        }?;
        if let Some(usage) = value.get("usage") {
            check_fields(usage, USAGE).map_err(|why| format!("usage: {why}"))?;
        }
        if end.stop_reason.is_some_and(StopReason::is_failure) {
            return Err(
                "a stop_reason of \"error\" or \"aborted\" cannot be given; fail the answer with an error, or abort the run"
                    .into(),
            );
        }
        let natural = if self.any_call { StopReason::ToolUse } else { StopReason::Stop };
        let mut deltas: Vec<Delta> = end.usage.map(|used| Delta::Usage(Box::new(used))).into_iter().collect();
        deltas.extend(end.response_id.map(Delta::ResponseId));
        deltas.extend(end.response_model.map(Delta::ResponseModel));
        deltas.push(Delta::Stop { reason: end.stop_reason.unwrap_or(natural), raw: end.raw_stop_reason });
        Ok(deltas)
    }

    /// Reads a chunk of the message. As text, `"Hello"`. Short: `{"text": "Hello"}`, `{"thinking": "Hm"}` or `{"tool_call":
    /// {"id", "name", "arguments"}}` (arguments as an object or as text). In chunks, as events have it: `{"type": "text_start" |
    /// "text_delta" | "text_end" | "thinking_…" | "tool_call_…", "content_index"?, …}` with `delta`, `id` and `name` where the
    /// event has them; a `…_end` may have a `signature`. Blocks start by themselves when left out. What is empty says nothing,
    /// and starts none.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn delta(&mut self, value: &Value) -> Result<Vec<Delta>, String> {
        let mut out = Vec::new();
        match value {
            Value::String(text) => self.append(Kind::Text, None, text, &mut out)?,
            Value::Object(map) if map.contains_key("type") => self.event(value, &mut out)?,
            Value::Object(map) => {
                let (name, value) = map
                    .iter()
                    .next()
                    .filter(|_| map.len() == 1)
                    .ok_or_else(|| format!("expected an object with one of {KNOWN}, got {}", shown(value)))?;
                let text = || value.as_str().ok_or_else(|| format!("{name}: expected text, got {}", shown(value)));
                match name.as_str() {
                    "text" => self.append(Kind::Text, None, text()?, &mut out)?,
                    "thinking" => self.append(Kind::Thinking, None, text()?, &mut out)?,
                    "tool_call" => {
                        let block = call(value)?;
                        check_fields(value, CALL).map_err(|why| format!("tool_call: {why}"))?;
                        self.close(&mut out);
                        let key = self.start(None, block, &mut out)?;
                        match value.get("arguments") {
                            None | Some(Value::Null) => {}
                            Some(Value::String(text)) if text.is_empty() => {}
                            Some(Value::String(text)) => out.push(Delta::Append { key, text: text.clone() }),
                            Some(other) => out.push(Delta::Append { key, text: other.to_string() }),
                        }
                        out.push(Delta::End { key });
                    }
                    _ => {
                        return Err(format!("unknown field {name:?}; known are {KNOWN}"));
                    }
                }
            }
            other => return Err(format!("expected text or an object, got {}", shown(other))),
        }
        Ok(out)
    }

    /// Reads a chunk in the form of an event.
    fn event(&mut self, chunk: &Value, out: &mut Vec<Delta>) -> Result<(), String> {
        let text = |name: &str| chunk.get(name).and_then(Value::as_str);
        let kind = text("type").unwrap_or_default();
        let given = match chunk.get("content_index") {
            None => None,
            Some(index) => Some(
                index
                    .as_u64()
                    .and_then(|i| u32::try_from(i).ok())
                    .ok_or_else(|| format!("content_index: expected a whole number of at least 0, got {}", shown(index)))?,
            ),
        };
        let (family, step) = match kind.rsplit_once('_') {
            Some(("text", step)) => (Kind::Text, step),
            Some(("thinking", step)) => (Kind::Thinking, step),
            Some(("tool_call", step)) => (Kind::ToolCall, step),
            _ => {
                return Err(unknown_type(kind));
            }
        };
        match step {
            "start" => {
                check_step(kind, chunk, if family == Kind::ToolCall { &["id", "name"] } else { &[] })?;
                let block = match family.block() {
                    Some(block) => block,
                    None => call(chunk)?,
                };
                if given.is_none() {
                    self.close(out);
                }
                let key = self.start(given, block, out)?;
                self.open = Some((family, key));
            }
            "delta" => {
                check_step(kind, chunk, &["delta"])?;
                let delta = text("delta").ok_or_else(|| match chunk.get("delta") {
                    None => format!("{kind}: delta is missing"),
                    Some(other) => format!("{kind}: delta: expected text, got {}", shown(other)),
                })?;
                self.append(family, given, delta, out)?;
            }
            "end" => {
                check_step(kind, chunk, &["signature"])?;
                let key = given.or(self.open.filter(|(open, _)| *open == family).map(|(_, key)| key));
                let key = key.filter(|key| self.started.get(key) == Some(&(family, true)));
                let key = key.ok_or_else(|| format!("{kind}: its block was not started, or has ended"))?;
                if let Some(signature) = text("signature").filter(|signature| !signature.is_empty()) {
                    self.speak(family, key, out);
                    out.push(Delta::Signature { key, signature: signature.to_owned() });
                }
                self.end_block(key, out);
                if self.open.is_some_and(|(_, open)| open == key) {
                    self.open = None;
                }
            }
            _ => return Err(unknown_type(kind)),
        }
        Ok(())
    }

    fn append(&mut self, kind: Kind, given: Option<u32>, text: &str, out: &mut Vec<Delta>) -> Result<(), String> {
        let going_on = match given {
            Some(key) => match self.started.get(&key) {
                Some((started, true)) if *started == kind => Some(key),
                Some(_) => return Err(format!("content_index {key}: its block is of another type, or has ended")),
                None => None,
            },
            None => self.open.filter(|(open, _)| *open == kind).map(|(_, key)| key),
        };
        let key = match going_on {
            Some(key) => key,
            None => {
                let block = kind.block().ok_or("a tool call begins with tool_call_start, which has its id and name")?;
                if given.is_none() {
                    self.close(out);
                }
                let key = self.start(given, block, out)?;
                if text.is_empty() {
                    out.pop();
                    self.silent.push(key);
                }
                self.open = Some((kind, key));
                key
            }
        };
        if !text.is_empty() {
            self.speak(kind, key, out);
            out.push(Delta::Append { key, text: text.to_owned() });
        }
        Ok(())
    }

    /// Starts the block, if it began with nothing.
    fn speak(&mut self, kind: Kind, key: u32, out: &mut Vec<Delta>) {
        if let Some(at) = self.silent.iter().position(|silent| *silent == key) {
            self.silent.swap_remove(at);
            out.extend(kind.block().map(|block| Delta::Start { key, block }));
        }
    }

    fn start(&mut self, given: Option<u32>, block: BlockStart, out: &mut Vec<Delta>) -> Result<u32, String> {
        let key = given.unwrap_or(self.next_key);
        if self.started.contains_key(&key) {
            return Err(format!("content_index {key} is used twice"));
        }
        let kind = match &block {
            BlockStart::Thinking { .. } => Kind::Thinking,
            BlockStart::ToolCall { .. } => Kind::ToolCall,
            BlockStart::Text | BlockStart::Opaque { .. } => Kind::Text,
        };
        self.any_call |= kind == Kind::ToolCall;
        self.next_key = self.next_key.max(key.saturating_add(1));
        self.started.insert(key, (kind, true));
        out.push(Delta::Start { key, block });
        Ok(key)
    }

    fn end_block(&mut self, key: u32, out: &mut Vec<Delta>) {
        if let Some((_, open)) = self.started.get_mut(&key) {
            *open = false;
        }
        if !self.silent.contains(&key) {
            out.push(Delta::End { key });
        }
    }

    fn close(&mut self, out: &mut Vec<Delta>) {
        if let Some((_, key)) = self.open.take() {
            self.end_block(key, out);
        }
    }
}

fn call(value: &Value) -> Result<BlockStart, String> {
    let text = |name: &str| match value.get(name) {
        Some(Value::String(text)) => Ok(text.clone()),
        None if name == "id" => Ok(String::new()),
        None => Err(format!("tool call: {name} is missing")),
        Some(other) => Err(format!("{name}: expected text, got {}", shown(other))),
    };
    Ok(BlockStart::ToolCall { id: text("id")?, name: text("name")? })
}

fn diagnostic(value: &Value) -> Result<Delta, String> {
    #[derive(Deserialize)]
    #[serde(rename = "strict", deny_unknown_fields)]
    struct Odd {
        code: String,
        #[serde(default)]
        message: String,
        #[serde(default)]
        data: Value,
    }
    let Odd { code, message, data } = read_value(value)?;
    Ok(Delta::Diagnostic { code: code.into(), message, data: Box::new(data) })
}

#[cfg(test)]
mod tests;
