//! Events to deltas.

use serde_json::{Value, json};

use super::wire::{Event, Proof};
use crate::delta::{BlockStart, Delta};
use crate::error::{Error, ErrorKind};
use crate::json_reader::from_value;
use crate::protocol::format::{Decoder, is_end_mark, read, trimmed, truncated};
use crate::provider_error;
use crate::sse::Frame;
use crate::usage::{StopReason, Usage};

pub(super) struct Reader {
    provider: String,
    /// Thinking that has begun and has no text yet: only its end says whether it is redacted.
    silent: Vec<u32>,
}

impl Reader {
    pub(super) fn new(provider: &str) -> Reader {
        Reader { provider: provider.to_owned(), silent: Vec::new() }
    }

    /// Begins the block, if it is thinking that has not begun yet.
    fn begin(&mut self, key: u32, redacted: bool, out: &mut Vec<Delta>) {
        if let Some(at) = self.silent.iter().position(|silent| *silent == key) {
            self.silent.swap_remove(at);
            out.push(Delta::Start { key, block: BlockStart::Thinking { redacted } });
        }
    }

    fn done(&self, event: Event) -> Result<Delta, Error> {
        let word = event.stop_reason.unwrap_or_default();
        let reason = match word.as_str() {
            "stop" => StopReason::Stop,
            "length" => StopReason::Length,
            "tool_use" | "toolUse" => StopReason::ToolUse,
            "refusal" => StopReason::Refusal,
            _ => {
                let text = format!(
                    "{}'s done event has the stop_reason {word:?}; expected stop, length, tool_use or refusal",
                    self.provider
                );
                return Err(Error::new(ErrorKind::Protocol, text).with_provider(&self.provider));
            }
        };
        Ok(Delta::Stop { reason, raw: event.raw_stop_reason })
    }

    /// The server's error: an object as in messages, or only a text.
    fn error(&self, given: Option<&Value>, text: Option<String>) -> Error {
        let read = given.and_then(|error| from_value::<Error>(error).ok());
        read.unwrap_or_else(|| {
            let said = text.map(Value::String).or_else(|| given.cloned()).unwrap_or_default();
            provider_error::from_stream(&self.provider, &json!({ "error": said }))
        })
    }
}

impl Decoder for Reader {
    fn protocol(&self) -> &'static str {
        "relay"
    }

    fn frame(&mut self, frame: &Frame<'_>, out: &mut Vec<Delta>) -> Result<bool, Error> {
        let data = trimmed(&frame.data);
        if data.is_empty() || is_end_mark(data) {
            return Ok(true);
        }
        let mut event: Event = read(&self.provider, &frame.data)?;
        let key = event.content_index;
        let start = match event.kind.as_str() {
            "text_delta" | "thinking_delta" | "tool_call_delta" | "toolcall_delta" => {
                if !event.delta.is_empty() {
                    self.begin(key, false, out);
                    out.push(Delta::Append { key, text: event.delta });
                }
                return Ok(true);
            }
            "text_start" => Some(BlockStart::Text),
            "thinking_start" => {
                self.silent.push(key);
                None
            }
            "tool_call_start" | "toolcall_start" => Some(BlockStart::ToolCall { id: event.id, name: event.name }),
            "text_end" | "thinking_end" | "tool_call_end" | "toolcall_end" => {
                let Proof { signature, redacted } = event.block.unwrap_or(event.proof);
                self.begin(key, redacted, out);
                out.extend(signature.map(|signature| Delta::Signature { key, signature }));
                out.push(Delta::End { key });
                return Ok(true);
            }
            "done" | "error" => {
                let usage = event.usage.take().and_then(|usage| from_value::<Usage>(&usage).ok());
                out.extend(usage.map(|usage| Delta::Usage(Box::new(usage))));
                out.extend(event.response_id.take().map(Delta::ResponseId));
                out.extend(event.response_model.take().map(Delta::ResponseModel));
                if event.kind == "error" {
                    return Err(self.error(event.error.as_ref(), event.error_message));
                }
                out.push(self.done(event)?);
                return Ok(false);
            }
            _ => None,
        };
        out.extend(start.map(|block| Delta::Start { key, block }));
        Ok(true)
    }

    fn end(&mut self, _out: &mut Vec<Delta>) -> Result<(), Error> {
        Err(truncated(&self.provider, "a done or error event"))
    }
}
