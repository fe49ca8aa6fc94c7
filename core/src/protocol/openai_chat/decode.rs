//! Chunks to deltas.
//!
//! Text, thinking and calls may interleave in one chunk; each kind has a block of its own, which goes on until another kind
//! begins (calls stay open: their arguments are done only when the stream is). The closing event is a `finish_reason`;
//! `[DONE]` may be missing, and usage may come after it, so reading goes on until `[DONE]` or the end.

use serde_json::Value;
use serde_json::value::RawValue;

use super::super::{Decoder, truncated, unreadable};
use super::wire::{ChatDelta, Chunk, Content, ToolDelta};
use crate::error::{Error, ErrorKind};
use crate::model::{BlockStart, Delta};
use crate::provider::failure;
use crate::transport::sse::Frame;
use crate::usage::{StopReason, Usage};

pub(super) struct Reader {
    provider: String,
    next_key: u32,
    /// The text or thinking block that is being written.
    open: Option<(Speech, u32)>,
    calls: Vec<Call>,
    id_known: bool,
    finish: Option<String>,
    refused: bool,
}

#[derive(Clone, Copy, PartialEq)]
enum Speech {
    Text,
    Thinking,
}

/// A call that is being written. It starts once its name is known.
struct Call {
    index: Option<u32>,
    id: String,
    name: String,
    key: Option<u32>,
    held: String,
}

impl Reader {
    pub(super) fn new(provider: &str) -> Reader {
        Reader {
            provider: provider.to_owned(),
            next_key: 0,
            open: None,
            calls: Vec::new(),
            id_known: false,
            finish: None,
            refused: false,
        }
    }

    fn key(&mut self) -> u32 {
        self.next_key += 1;
        self.next_key - 1
    }

    fn say(&mut self, speech: Speech, text: String, out: &mut Vec<Delta>) {
        let key = match self.open {
            Some((open, key)) if open == speech => key,
            _ => {
                self.close(out);
                let key = self.key();
                let block = match speech {
                    Speech::Text => BlockStart::Text,
                    Speech::Thinking => BlockStart::Thinking { redacted: false },
                };
                out.push(Delta::Start { key, block });
                self.open = Some((speech, key));
                key
            }
        };
        out.push(Delta::Append { key, text });
    }

    fn close(&mut self, out: &mut Vec<Delta>) {
        if let Some((_, key)) = self.open.take() {
            out.push(Delta::End { key });
        }
    }

    fn delta(&mut self, delta: ChatDelta<'_>, out: &mut Vec<Delta>) {
        // One server sends the same reasoning under two names: the first that has any counts.
        let thinking = delta.reasoning_content.text().or(delta.reasoning.text()).or(delta.reasoning_text.text());
        if let Some(text) = thinking {
            self.say(Speech::Thinking, text, out);
        }
        match delta.content {
            Content::Parts(parts) => parts.iter().for_each(|part| self.part(part, out)),
            content => content.text().into_iter().for_each(|text| self.say(Speech::Text, text, out)),
        }
        if let Some(text) = delta.refusal.text() {
            self.refused = true;
            self.say(Speech::Text, text, out);
        }
        for call in delta.tool_calls.into_iter().flatten() {
            self.call(call, out);
        }
    }

    /// A part of listed content: `{type: text, text}` or `{type: thinking, thinking: [{text}]}`.
    fn part(&mut self, part: &Value, out: &mut Vec<Delta>) {
        let text = |value: &Value| value.get("text").and_then(Value::as_str).unwrap_or_default().to_owned();
        let (speech, text) = match part.get("thinking") {
            Some(Value::Array(pieces)) => (Speech::Thinking, pieces.iter().map(text).collect()),
            Some(Value::String(thinking)) => (Speech::Thinking, thinking.clone()),
            _ => (Speech::Text, text(part)),
        };
        if !text.is_empty() {
            self.say(speech, text, out);
        }
    }

    /// Which call a piece belongs to, as servers really number them: the same index is the same call unless it comes with a
    /// new id and a new name; without an index the id decides, else the last call goes on.
    fn find(&self, index: Option<u32>, id: &str, name: &str) -> Option<usize> {
        match index {
            Some(index) => self.calls.iter().rposition(|call| call.index == Some(index)).filter(|at| {
                self.calls.get(*at).is_some_and(|c| id.is_empty() || c.id == id || c.id.is_empty() || name.is_empty())
            }),
            None if !id.is_empty() => self.calls.iter().position(|call| call.id == id),
            None if name.is_empty() => self.calls.len().checked_sub(1),
            None => None,
        }
    }

    fn call(&mut self, piece: ToolDelta<'_>, out: &mut Vec<Delta>) {
        self.close(out);
        let id = piece.id.text().unwrap_or_default();
        let (name, arguments) = match piece.function {
            Some(function) => (function.name.text().unwrap_or_default(), function.arguments.and_then(arguments_text)),
            None => (String::new(), None),
        };
        let at = match self.find(piece.index, &id, &name) {
            Some(at) => at,
            None => {
                let call = Call { index: piece.index, id: String::new(), name: String::new(), key: None, held: String::new() };
                self.calls.push(call);
                self.calls.len() - 1
            }
        };
        let next_key = self.next_key;
        let Some(call) = self.calls.get_mut(at) else {
            return;
        };
        if call.id.is_empty() {
            call.id = id;
        }
        if call.key.is_none() {
            call.name.push_str(&name);
        }
        match call.key {
            Some(key) => out.extend(arguments.map(|text| Delta::Append { key, text })),
            None => {
                call.held.extend(arguments);
                if !call.name.is_empty() {
                    call.key = Some(next_key);
                    self.next_key += 1;
                    let block = BlockStart::ToolCall { id: call.id.clone(), name: call.name.clone() };
                    out.push(Delta::Start { key: next_key, block });
                    if !call.held.is_empty() {
                        out.push(Delta::Append { key: next_key, text: std::mem::take(&mut call.held) });
                    }
                }
            }
        }
    }

    /// The end of the answer, once: at `[DONE]` or at the end of the body.
    fn finish(&mut self, out: &mut Vec<Delta>) -> Result<(), Error> {
        self.close(out);
        let Some(raw) = self.finish.take() else {
            return Err(truncated(&self.provider, "a finish_reason"));
        };
        for call in &self.calls {
            out.extend(call.key.map(|key| Delta::End { key }));
        }
        let reason = match raw.as_str() {
            "length" => StopReason::Length,
            "tool_calls" | "function_call" => StopReason::ToolUse,
            "content_filter" => StopReason::Refusal,
            "network_error" | "error" => {
                let text = format!("{} broke the answer off itself (finish_reason {raw:?})", self.provider);
                return Err(Error::new(ErrorKind::Server, text).with_provider(&self.provider));
            }
            _ if self.refused => StopReason::Refusal,
            _ => StopReason::Stop,
        };
        out.push(Delta::Stop { reason, raw: Some(raw) });
        Ok(())
    }
}

/// Arguments come as text; a server that sends calls whole may send the object itself.
fn arguments_text(raw: &RawValue) -> Option<String> {
    match serde_json::from_str::<Value>(raw.get()) {
        Ok(Value::String(text)) => Some(text).filter(|text| !text.is_empty()),
        Ok(Value::Null) | Err(_) => None,
        Ok(other) => Some(other.to_string()),
    }
}

/// Prompt tokens include the cached ones, completion tokens the reasoning. Cached: `prompt_tokens_details.cached_tokens`, of
/// DeepSeek `prompt_cache_hit_tokens`; written (OpenRouter): `prompt_tokens_details.cache_write_tokens`.
fn usage(raw: &RawValue) -> Option<Usage> {
    let value: Value = serde_json::from_str(raw.get()).ok().filter(Value::is_object)?;
    let count = |pointer: &str| value.pointer(pointer).and_then(Value::as_u64);
    let cache_read = count("/prompt_tokens_details/cached_tokens")
        .or(count("/cached_tokens"))
        .or(count("/prompt_cache_hit_tokens"))
        .unwrap_or_default();
    let cache_write = count("/prompt_tokens_details/cache_write_tokens").unwrap_or_default();
    let prompt = count("/prompt_tokens").unwrap_or_default();
    let output = count("/completion_tokens").unwrap_or_default();
    let reasoning = count("/completion_tokens_details/reasoning_tokens").unwrap_or_default().min(output);
    let input = prompt.saturating_sub(cache_read).saturating_sub(cache_write);
    Some(Usage { input, output, cache_read, cache_write, reasoning, ..Usage::default() })
}

impl Decoder for Reader {
    fn frame(&mut self, frame: &Frame<'_>, out: &mut Vec<Delta>) -> Result<bool, Error> {
        let data = frame.data.trim();
        if data == "[DONE]" {
            self.finish(out)?;
            return Ok(false);
        }
        if matches!(data, "" | "null") {
            return Ok(true);
        }
        let chunk: Chunk<'_> = serde_json::from_str(data).map_err(|error| unreadable(&self.provider, data, &error))?;
        if let Some(error) = chunk.error.filter(|raw| raw.get() != "null") {
            let error: Value = serde_json::from_str(error.get()).unwrap_or_default();
            return Err(failure::from_stream(&self.provider, &serde_json::json!({ "error": error })));
        }
        if !self.id_known
            && let Some(id) = chunk.id.and_then(|raw| serde_json::from_str::<String>(raw.get()).ok()).filter(|id| !id.is_empty())
        {
            self.id_known = true;
            out.push(Delta::ResponseId(id));
        }
        let mut used = chunk.usage.and_then(usage);
        // Only the first choice: we ask for one.
        for choice in chunk.choices.into_iter().flatten().filter(|choice| choice.index == 0) {
            if let Some(delta) = choice.delta {
                self.delta(delta, out);
            }
            if let Some(reason) = choice.finish_reason.filter(|reason| !reason.is_empty()) {
                self.finish = Some(reason);
            }
            used = used.or(choice.usage.and_then(usage));
        }
        out.extend(used.map(|used| Delta::Usage(Box::new(used))));
        Ok(true)
    }

    fn end(&mut self, out: &mut Vec<Delta>) -> Result<(), Error> {
        self.finish(out)
    }
}
