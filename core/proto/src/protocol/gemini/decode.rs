//! Chunks to deltas.
//!
//! Text and thinking come in parts that go on with the one before. A part with a signature is a block of its own, with nothing
//! added: it has to go back exactly so (<https://ai.google.dev/gemini-api/docs/thought-signatures>), if its text is empty, too.
//! There is no end marker: a chunk with a `finishReason` closes the answer, more usage may follow, and the reason may be repeated
//! (older models send it with every chunk), so reading goes on to the end of the body and the last reason stands.

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::arguments::Arguments;
use super::wire::{self, Candidate, Chunk, Counts, FunctionCall, Known, Part, PartialArg, Piece, Said};
use crate::delta::{BlockStart, Delta};
use crate::error::{Error, ErrorKind};
use crate::protocol::fit::fit;
use crate::protocol::format::{
    Decoder, is_end_mark, is_something, opaque_block, refused, trimmed, truncated, unknown_stop, unreadable,
};
use crate::protocol::stop_words;
use crate::provider_error;
use crate::sse::Frame;
use crate::surrogate;
use crate::table::codes;
use crate::usage::{StopReason, Usage};

pub(super) struct Reader {
    provider: String,
    next_key: u32,
    known: Known,
    /// The unsigned text or thinking that is being written.
    open: Option<(Speech, u32)>,
    /// The call whose arguments are being streamed.
    call: Option<Call>,
    any_call: bool,
    counts: Counts,
    /// What the answer rests on (grounding, citations), by the field's name: the last of each.
    sources: Map<String, Value>,
    finish: Option<Finish>,
}

#[derive(Clone, Copy, PartialEq)]
enum Speech {
    Text,
    Thinking,
}

/// A call that is being written.
struct Call {
    key: u32,
    id: String,
    name: String,
    arguments: Arguments,
    signature: Option<String>,
}

struct Finish {
    /// The vendor's word.
    raw: String,
    message: Option<String>,
    /// Whether the prompt was refused, whatever the word.
    blocked: bool,
}

impl Reader {
    pub(super) fn new(provider: &str) -> Reader {
        Reader {
            provider: provider.to_owned(),
            next_key: 0,
            known: Known::default(),
            open: None,
            call: None,
            any_call: false,
            counts: Counts::default(),
            sources: Map::new(),
            finish: None,
        }
    }

    fn start(&mut self, block: BlockStart, out: &mut Vec<Delta>) -> u32 {
        let key = self.next_key;
        self.next_key += 1;
        out.push(Delta::Start { key, block });
        key
    }

    fn close(&mut self, out: &mut Vec<Delta>) {
        if let Some((_, key)) = self.open.take() {
            out.push(Delta::End { key });
        }
    }

    fn say(&mut self, speech: Speech, text: String, signature: Option<String>, out: &mut Vec<Delta>) {
        let signature = signature.filter(|signature| !signature.is_empty());
        if text.is_empty() && signature.is_none() {
            return;
        }
        let key = match self.open {
            Some((open, key)) if open == speech && signature.is_none() => key,
            _ => {
                self.close(out);
                let block = match speech {
                    Speech::Text => BlockStart::Text,
                    Speech::Thinking => BlockStart::Thinking { redacted: false },
                };
                let key = self.start(block, out);
                self.open = Some((speech, key));
                key
            }
        };
        if !text.is_empty() {
            out.push(Delta::Append { key, text });
        }
        if let Some(signature) = signature {
            out.push(Delta::Signature { key, signature });
            self.close(out);
        }
    }

    fn raw_part(&mut self, raw: &RawValue, out: &mut Vec<Delta>) -> Result<(), Error> {
        match serde_json::from_str::<Part<'_>>(raw.get()) {
            Ok(part) if part.text.is_some() || part.function_call.is_some() => return self.part(part, out),
            Ok(_) => {}
            // A field beside the text or the call is of another type.
            Err(_) => {
                let read = raw.get().parse::<Value>();
                let mut value = read.map_err(|error| unreadable(&self.provider, raw.get(), error))?;
                let has_call = value.get("functionCall").is_some_and(Value::is_object);
                if (has_call || value.get("text").is_some_and(Value::is_string)) && fit(&mut value, &wire::PART) {
                    let text = value.to_string();
                    if let Ok(part) = serde_json::from_str::<Part<'_>>(&text) {
                        return self.part(part, out);
                    }
                }
            }
        }
        self.other(raw, out);
        Ok(())
    }

    fn part(&mut self, part: Part<'_>, out: &mut Vec<Delta>) -> Result<(), Error> {
        match part {
            Part { function_call: Some(call), thought_signature, .. } => self.call(call, thought_signature, out),
            Part { text, thought, thought_signature, .. } => {
                let speech = if thought == Some(true) { Speech::Thinking } else { Speech::Text };
                self.say(speech, text.unwrap_or_default(), thought_signature, out);
                Ok(())
            }
        }
    }

    fn piece(&mut self, piece: Piece<'_>, out: &mut Vec<Delta>) -> Result<(), Error> {
        if let Some(counts) = piece.counts {
            self.usage(counts, out);
        }
        match piece.said {
            Said::Text(text) => self.say(Speech::Text, text.into_owned(), None, out),
            Said::Thinking(text) => self.say(Speech::Thinking, text.into_owned(), None, out),
            Said::Argument(path, text) => {
                self.close(out);
                if let Some(call) = &mut self.call {
                    put(&self.provider, call, PartialArg::text(path.into_owned(), text.into_owned()))?;
                }
            }
        }
        Ok(())
    }

    /// A part of another kind: images, files, what the server's own tools did. It is kept and goes back where it stood.
    fn other(&mut self, raw: &RawValue, out: &mut Vec<Delta>) {
        const BESIDE: &[&str] = &["thought", "thoughtSignature", "partMetadata", "videoMetadata"];
        let Ok(Value::Object(part)) = raw.get().parse() else {
            return;
        };
        let Some(kind) = part.keys().find(|name| !BESIDE.contains(&name.as_str())).cloned() else {
            // Only a signature: the same as with an empty text.
            let signature = part.get("thoughtSignature").and_then(Value::as_str).map(str::to_owned);
            let thought = part.get("thought") == Some(&Value::Bool(true));
            return self.say(if thought { Speech::Thinking } else { Speech::Text }, String::new(), signature, out);
        };
        self.close(out);
        let block = BlockStart::Opaque { protocol: "gemini".into(), data: Box::new(Value::Object(part)) };
        let key = self.start(block, out);
        out.push(opaque_block("a block", &kind));
        out.push(Delta::End { key });
    }

    /// A whole call, the beginning of one, or more of the last: that has no name, or its id again.
    fn call(&mut self, piece: FunctionCall<'_>, signature: Option<String>, out: &mut Vec<Delta>) -> Result<(), Error> {
        self.close(out);
        let name = piece.name.unwrap_or_default();
        let id = piece.id.unwrap_or_default();
        let goes_on = name.is_empty() || self.call.as_ref().is_some_and(|open| !id.is_empty() && open.id == id);
        let signature = signature.filter(|signature| !signature.is_empty());
        if !goes_on {
            if let Some(open) = self.call.take() {
                return Err(self.unfinished(&open));
            }
            self.any_call = true;
            let key = self.start(BlockStart::ToolCall { id: id.clone(), name: name.clone() }, out);
            if piece.partial_args.is_none() && piece.will_continue != Some(true) {
                // Nearly every call: its arguments stay the text they are. There may be none.
                out.extend(signature.map(|signature| Delta::Signature { key, signature }));
                let given = piece.args.filter(|args| !matches!(args.get(), "null" | "[]"));
                out.extend(given.map(|args| Delta::Append { key, text: args.get().to_owned() }));
                out.push(Delta::End { key });
                return Ok(());
            }
            let given = piece.args.and_then(|args| args.get().parse().ok()).unwrap_or_default();
            self.call = Some(Call { key, id, name, arguments: Arguments::new(given), signature: None });
        }
        let Some(mut call) = self.call.take() else {
            return Ok(());
        };
        call.signature = signature.or(call.signature);
        for piece in piece.partial_args.into_iter().flatten() {
            put(&self.provider, &mut call, piece)?;
        }
        if piece.will_continue == Some(true) {
            self.call = Some(call);
        } else {
            let text = call.arguments.text();
            end_call(call, text, out);
        }
        Ok(())
    }

    fn unfinished(&self, call: &Call) -> Error {
        truncated(&self.provider, &format!("the arguments of its call of {} were complete", call.name))
    }

    /// Takes a chunk in.
    fn chunk(&mut self, chunk: Chunk<'_>, out: &mut Vec<Delta>) -> Result<(), Error> {
        if !self.known.id
            && let Some(id) = chunk.response_id.and_then(|raw| serde_json::from_str::<String>(raw.get()).ok())
        {
            self.known.id = true;
            out.push(Delta::ResponseId(id));
        }
        if !self.known.model
            && let Some(model) = chunk.model_version.and_then(|raw| serde_json::from_str::<String>(raw.get()).ok())
        {
            self.known.model = true;
            out.push(Delta::ResponseModel(model));
        }
        if let Some(counts) = chunk.usage_metadata {
            self.raw_usage(counts, out);
        }
        let candidates = chunk.candidates.unwrap_or_default();
        let place = |candidate: &Candidate<'_>| candidate.index.unwrap_or_default().max(0);
        self.known.candidate = self.known.candidate.or(candidates.iter().map(place).min());
        let first = candidates.into_iter().find(|candidate| Some(place(candidate)) == self.known.candidate);
        if let Some(mut first) = first {
            for piece in first.content.take().and_then(|content| content.parts).into_iter().flatten() {
                self.raw_part(piece, out)?;
            }
            self.beside(first);
        }
        if let Some(feedback) = chunk.prompt_feedback
            && let Some(raw) = feedback.block_reason
        {
            self.finish = Some(Finish { raw, message: feedback.block_reason_message, blocked: true });
        }
        Ok(())
    }

    /// What stands beside the parts.
    fn beside(&mut self, candidate: Candidate<'_>) {
        for (name, raw) in [
            ("groundingMetadata", candidate.grounding_metadata),
            ("citationMetadata", candidate.citation_metadata),
            ("urlContextMetadata", candidate.url_context_metadata),
        ] {
            let value = raw.and_then(|raw| surrogate::read(raw.get(), str::parse::<Map<String, Value>>).ok());
            if let Some(value) = value.filter(|value| !value.is_empty()) {
                self.sources.insert(name.to_owned(), Value::Object(value));
            }
        }
        let reason = candidate
            .finish_reason
            .filter(|reason| !reason.is_empty() && !reason.eq_ignore_ascii_case("FINISH_REASON_UNSPECIFIED"));
        if let Some(raw) = reason {
            self.finish = Some(Finish { raw, message: candidate.finish_message, blocked: false });
        }
    }

    fn raw_usage(&mut self, raw: &RawValue, out: &mut Vec<Delta>) {
        let fitted = || {
            let mut value: Value = raw.get().parse()?;
            fit(&mut value, &wire::COUNTS);
            Counts::deserialize(value)
        };
        if let Ok(counts) = serde_json::from_str(raw.get()).or_else(|_| fitted()) {
            self.usage(counts, out);
        }
    }

    /// Prompt tokens include the cached ones, candidates' tokens not the thoughts. What the server's own tools gave the model to
    /// read (`toolUsePromptTokenCount`) stands apart and is left out: it is not what was sent, and no tool of ours makes any.
    /// <https://ai.google.dev/api/generate-content#UsageMetadata>.
    fn usage(&mut self, given: Counts, out: &mut Vec<Delta>) {
        let known = &self.counts;
        let counts = Counts {
            prompt_token_count: given.prompt_token_count.or(known.prompt_token_count),
            cached_content_token_count: given.cached_content_token_count.or(known.cached_content_token_count),
            candidates_token_count: given.candidates_token_count.or(known.candidates_token_count),
            thoughts_token_count: given.thoughts_token_count.or(known.thoughts_token_count),
        };
        if counts == *known {
            return;
        }
        let count = Option::unwrap_or_default;
        let (read, cache_read) = (count(counts.prompt_token_count), count(counts.cached_content_token_count));
        let reasoning = count(counts.thoughts_token_count);
        out.push(Delta::Usage(Box::new(Usage {
            input: read.saturating_sub(cache_read),
            output: count(counts.candidates_token_count).saturating_add(reasoning),
            cache_read,
            reasoning,
            ..Usage::default()
        })));
        self.counts = counts;
    }
}

/// Takes a piece of a call's arguments in.
fn put(provider: &str, call: &mut Call, piece: PartialArg) -> Result<(), Error> {
    call.arguments.put(piece).map_err(|why| {
        let text = format!("{provider} sent arguments of a call of {} that cannot be put together: {why}", call.name);
        Error::new(ErrorKind::Protocol, text).with_provider(provider)
    })
}

fn end_call(call: Call, text: String, out: &mut Vec<Delta>) {
    let key = call.key;
    out.extend(call.signature.map(|signature| Delta::Signature { key, signature }));
    out.push(Delta::Append { key, text });
    out.push(Delta::End { key });
}

/// Our word for the vendor's, where it is known. `STOP` is the same word with calls and without.
fn stop_reason(raw: &str, any_call: bool) -> Option<StopReason> {
    match stop_words::known(raw) {
        Some(StopReason::Stop) if any_call => Some(StopReason::ToolUse),
        Some(StopReason::ToolUse) if !any_call => None,
        known => known,
    }
}

/// The error for an answer that failed by its own word. Asked again, the model may well write a call that can be read.
fn failed(provider: &str, finish: &Finish) -> Option<Error> {
    let (kind, what, retryable) = match finish.raw.to_ascii_uppercase().as_str() {
        "MALFORMED_FUNCTION_CALL" => (ErrorKind::Protocol, "the model wrote a call that cannot be read", true),
        "MALFORMED_RESPONSE" => (ErrorKind::Protocol, "the model wrote what cannot be read", true),
        "UNEXPECTED_TOOL_CALL" => (ErrorKind::Protocol, "the model called a tool where none may be called", true),
        "TOO_MANY_TOOL_CALLS" => (ErrorKind::Protocol, "the model made too many calls in a row", true),
        "MISSING_THOUGHT_SIGNATURE" => (ErrorKind::InvalidRequest, "a call in the history lacks its signature", false),
        _ => return None,
    };
    let said = finish.message.as_deref().map(|said| format!(": {said}")).unwrap_or_default();
    let text = format!("{provider} broke the answer off, {what} (finishReason {:?}){said}", finish.raw);
    Some(Error::new(kind, text).with_provider(provider).with_retryable(retryable))
}

impl Decoder for Reader {
    fn protocol(&self) -> &'static str {
        "gemini"
    }

    fn frame(&mut self, frame: &Frame<'_>, out: &mut Vec<Delta>) -> Result<bool, Error> {
        let data = trimmed(&frame.data);
        // An empty frame, or a gateway's own closing word.
        if matches!(data, "" | "null") || is_end_mark(data) {
            return Ok(true);
        }
        if let Some(piece) = wire::piece(data, &self.known) {
            self.known.candidate = Some(0);
            self.piece(piece, out)?;
            return Ok(true);
        }
        // Before it is read, as parts are read later: half of a character, escaped, is no JSON.
        let sanitized = surrogate::sanitized(data);
        let data = sanitized.as_deref().unwrap_or(data);
        let mut fitted = String::new();
        let chunk: Chunk<'_> = match serde_json::from_str(data) {
            Ok(chunk) => chunk,
            Err(error) => {
                // JSON, perhaps, with a field of another type, or an error in a list.
                if let Ok(mut value) = data.parse::<Value>() {
                    if fit(&mut value, &wire::CHUNK) {
                        fitted = value.to_string();
                    } else if provider_error::is_error(&value) {
                        return Err(provider_error::from_stream(&self.provider, &value));
                    }
                }
                serde_json::from_str(&fitted).map_err(|_| unreadable(&self.provider, data, error))?
            }
        };
        let is_error = chunk.error.is_some_and(is_something);
        if (is_error || chunk.is_bare())
            && let Some(value) = data.parse::<Value>().ok().filter(|value| is_error || provider_error::is_error(value))
        {
            return Err(provider_error::from_stream(&self.provider, &value));
        }
        self.chunk(chunk, out)?;
        Ok(true)
    }

    fn end(&mut self, out: &mut Vec<Delta>) -> Result<(), Error> {
        self.close(out);
        let Some(finish) = self.finish.take() else {
            return Err(truncated(&self.provider, "a finishReason"));
        };
        let reason = if finish.blocked { Some(StopReason::Refusal) } else { stop_reason(&finish.raw, self.any_call) };
        if let Some(call) = self.call.take() {
            if matches!(reason, Some(StopReason::Stop | StopReason::ToolUse)) {
                return Err(self.unfinished(&call));
            }
            // Cut: what there was, left open, so that it is not taken for whole.
            let mut text = call.arguments.text();
            text.pop();
            end_call(call, text, out);
        }
        if let (Some(StopReason::Refusal), Some(why)) = (reason, finish.message.clone()) {
            out.push(refused(&self.provider, &why));
            self.close(out);
        }
        if !self.sources.is_empty() {
            out.push(Delta::Diagnostic {
                code: codes::CITATIONS.into(),
                message: "the answer names its sources".into(),
                data: Box::new(Value::Object(std::mem::take(&mut self.sources))),
            });
        }
        let failure = if reason.is_none() { failed(&self.provider, &finish) } else { None };
        match (reason, failure) {
            (Some(reason), _) => out.push(Delta::Stop { reason, raw: Some(finish.raw) }),
            // `OTHER`, or a word that is newer than this.
            (None, None) => out.extend(unknown_stop(&self.provider, Some(finish.raw), self.any_call)),
            (None, Some(error)) => {
                // Of a failed answer, too, the vendor's word is kept.
                out.push(Delta::Stop { reason: StopReason::Stop, raw: Some(finish.raw) });
                return Err(error);
            }
        }
        Ok(())
    }
}
