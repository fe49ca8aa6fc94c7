//! Chunks to deltas.
//!
//! Text, thinking and calls may interleave in one chunk; each kind has a block of its own, which goes on until another kind
//! begins (calls stay open: their arguments are done only when the stream is). The closing event is a `finish_reason` or
//! `[DONE]`: one of them may be missing. Usage may come after the reason, so reading goes on until `[DONE]` or the end.
//!
//! A thinking block's signature says how it goes back: the name of the field it came in, or OpenRouter's details as a list.
//! Details that name a call are, as a list too, that call's signature; so is the `extra_content` of Google's servers, as an
//! object.

use serde_json::Value;
use serde_json::value::RawValue;

use super::calls::{self, Call};
use super::details::Details;
use super::wire::{self, ChatDelta, Choice, Chunk, Content, Known, Piece, ToolDelta, arguments_text, general, list};
use crate::delta::{BlockStart, Delta};
use crate::error::{Error, ErrorKind};
use crate::protocol::fit::fit;
use crate::protocol::format::{
    Decoder, citations, is_end_mark, is_something, opaque_block, trimmed, truncated, unknown_stop, unreadable,
};
use crate::protocol::stop_words;
use crate::provider_error;
use crate::sse::Frame;
use crate::surrogate;
use crate::usage::{StopReason, Usage, count_at, reported_cost};

pub(super) struct Reader {
    provider: String,
    next_key: u32,
    /// The text or thinking block that is being written.
    open: Option<(Speech, u32)>,
    details: Details,
    calls: Vec<Call>,
    known: Known,
    finish: Option<String>,
    /// The sources that the text names, as they came.
    annotations: Vec<Value>,
    /// What the answer rests on, where it stands beside it: the last of each chunk that has any.
    sources: Option<String>,
    refused: bool,
}

#[derive(Clone, Copy)]
enum Speech {
    Text,
    /// With the field it came in.
    Thinking(&'static str),
}

impl Reader {
    pub(super) fn new(provider: &str) -> Reader {
        Reader {
            provider: provider.to_owned(),
            next_key: 0,
            open: None,
            details: Details::default(),
            calls: Vec::new(),
            known: Known::default(),
            finish: None,
            annotations: Vec::new(),
            sources: None,
            refused: false,
        }
    }

    fn key(&mut self) -> u32 {
        self.next_key += 1;
        self.next_key - 1
    }

    fn say(&mut self, speech: Speech, text: String, out: &mut Vec<Delta>) {
        let key = match (self.open, speech) {
            (Some((Speech::Text, key)), Speech::Text) | (Some((Speech::Thinking(_), key)), Speech::Thinking(_)) => key,
            _ => {
                match (speech, self.open.take()) {
                    // Details that came with it, or before, are of this thinking.
                    (Speech::Thinking(_), open) => out.extend(open.map(|(_, key)| Delta::End { key })),
                    (Speech::Text, open) => {
                        self.open = open;
                        self.close(out);
                    }
                }
                let key = self.key();
                let block = match speech {
                    Speech::Text => BlockStart::Text,
                    Speech::Thinking(_) => BlockStart::Thinking { redacted: false },
                };
                out.push(Delta::Start { key, block });
                self.open = Some((speech, key));
                key
            }
        };
        out.push(Delta::Append { key, text });
    }

    /// Ends the open block. Details that came without a text are a thinking block without text.
    fn close(&mut self, out: &mut Vec<Delta>) {
        let details = match self.open {
            Some((Speech::Text, _)) => None,
            _ => self.details.take_list(),
        };
        match (self.open.take(), details) {
            (Some((Speech::Thinking(field), key)), details) => {
                let signature = details.unwrap_or_else(|| field.to_owned());
                out.extend([Delta::Signature { key, signature }, Delta::End { key }]);
            }
            (Some((Speech::Text, key)), _) => out.push(Delta::End { key }),
            (None, Some(signature)) => {
                let key = self.key();
                let start = Delta::Start { key, block: BlockStart::Thinking { redacted: false } };
                out.extend([start, Delta::Signature { key, signature }, Delta::End { key }]);
            }
            (None, None) => {}
        }
    }

    fn delta(&mut self, delta: ChatDelta<'_>, out: &mut Vec<Delta>) {
        let detailed = delta.reasoning_details.and_then(|raw| {
            let text = self.details.add(raw);
            self.calls.iter_mut().for_each(|call| self.details.give(&call.id, &mut call.details));
            text
        });
        // One server sends the same reasoning under two names: the first that has any counts.
        let named = |field, content: Content| content.text().map(|text| (field, text));
        let thinking = named("reasoning_content", delta.reasoning_content)
            .or_else(|| named("reasoning", delta.reasoning))
            .or_else(|| named("reasoning_text", delta.reasoning_text))
            .or_else(|| detailed.map(|text| ("reasoning_details", text)));
        if let Some((field, text)) = thinking {
            self.say(Speech::Thinking(field), text, out);
        }
        match delta.content {
            Content::Parts(parts) => parts.iter().for_each(|part| self.part(part, out)),
            content => content.text().into_iter().for_each(|text| self.say(Speech::Text, text, out)),
        }
        if let Some(text) = delta.refusal.text() {
            self.refused = true;
            self.say(Speech::Text, text, out);
        }
        delta.images.into_iter().flat_map(list).for_each(|image| self.image(image, out));
        let annotations = delta.annotations.into_iter().flat_map(list);
        for annotation in annotations {
            // Some servers repeat them.
            if !self.annotations.contains(&annotation) {
                self.annotations.push(annotation);
            }
        }
        let pieces = delta.tool_calls.unwrap_or_default();
        let mut nameless = pieces.iter().filter(|piece| piece.is_nameless()).count();
        for piece in pieces {
            let place = nameless;
            nameless -= usize::from(piece.is_nameless());
            self.call(piece, place, out);
        }
    }

    /// An image that the model drew is kept and goes back as it came.
    fn image(&mut self, image: Value, out: &mut Vec<Delta>) {
        if !image.is_object() {
            return;
        }
        self.close(out);
        let key = self.key();
        let kind = image.get("type").and_then(Value::as_str).unwrap_or("image_url").to_owned();
        out.push(Delta::Start { key, block: BlockStart::Opaque { protocol: "openai_chat".into(), data: Box::new(image) } });
        out.push(opaque_block("a block", &kind));
        out.push(Delta::End { key });
    }

    /// A part of listed content: `{type: text, text}`, `{type: thinking, thinking: [{text}]}` or `{type: image_url, image_url}`.
    fn part(&mut self, part: &Value, out: &mut Vec<Delta>) {
        if part.get("image_url").is_some() {
            return self.image(part.clone(), out);
        }
        let text = |value: &Value| value.get("text").and_then(Value::as_str).unwrap_or_default().to_owned();
        let (speech, text) = match part.get("thinking") {
            Some(Value::Array(pieces)) => (Speech::Thinking("content"), pieces.iter().map(text).collect()),
            Some(Value::String(thinking)) => (Speech::Thinking("content"), thinking.clone()),
            _ => (Speech::Text, text(part)),
        };
        if !text.is_empty() {
            self.say(speech, text, out);
        }
    }

    fn call(&mut self, piece: ToolDelta<'_>, place: usize, out: &mut Vec<Delta>) {
        // Mistral writes the word where it has none.
        let id = piece.id.text().filter(|id| id != "null").unwrap_or_default();
        let (name, arguments) = match piece.function {
            Some(function) => (function.name.text().unwrap_or_default(), function.arguments.and_then(arguments_text)),
            None => (String::new(), None),
        };
        let at = match calls::find(&self.calls, piece.index, &id, &name, place) {
            Some(at) => at,
            None => self.new_call(piece.index, &id),
        };
        if let Some(call) = self.calls.get_mut(at) {
            if call.id.is_empty() {
                call.id = id;
            }
            if call.key.is_none() {
                call.name.push_str(&name);
            }
            if let Some(extra) = piece.extra_content.map(RawValue::get).filter(|extra| extra.starts_with('{')) {
                call.extra = Some(format!("{{\"extra_content\":{extra}}}"));
            }
        }
        self.go_on(at, arguments, out);
    }

    fn new_call(&mut self, index: Option<i64>, id: &str) -> usize {
        let mut call = Call { index, ..Call::default() };
        self.details.give(id, &mut call.details);
        self.calls.push(call);
        self.calls.len() - 1
    }

    fn go_on(&mut self, at: usize, arguments: Option<String>, out: &mut Vec<Delta>) {
        self.close(out);
        let Some(call) = self.calls.get_mut(at) else {
            return;
        };
        call.arguments.extend(arguments.as_deref());
        match call.key {
            Some(key) => out.extend(arguments.map(|text| Delta::Append { key, text })),
            None if call.name.is_empty() || call.id.is_empty() && call.arguments.is_empty() => {}
            None => {
                call.start(&mut self.next_key, out);
            }
        }
    }

    fn piece(&mut self, piece: Piece<'_>, out: &mut Vec<Delta>) {
        match piece {
            Piece::Text(text) => self.say(Speech::Text, text.into_owned(), out),
            Piece::Thinking(field, text) => self.say(Speech::Thinking(field), text.into_owned(), out),
            Piece::Arguments(index, text) => {
                let at = calls::find(&self.calls, Some(index), "", "", 0).unwrap_or_else(|| self.new_call(Some(index), ""));
                self.go_on(at, Some(text.into_owned()), out);
            }
        }
    }

    fn choice(&mut self, choice: Choice<'_>, out: &mut Vec<Delta>) -> Result<(), Error> {
        if let Some(delta) = choice.delta {
            self.delta(delta, out);
        }
        if let Some(error) = choice.error.filter(|raw| is_something(raw)) {
            return Err(self.failure(&format!("{{\"error\":{}}}", error.get())));
        }
        // DashScope writes the word where it has none.
        let reason = choice.finish_reason.text().filter(|reason| reason != "null");
        self.finish = reason.or(self.finish.take());
        Ok(())
    }

    fn chunk(&mut self, data: &str, out: &mut Vec<Delta>) -> serde_json::Result<Result<(), Error>> {
        let chunk: Chunk<'_> = serde_json::from_str(data)?;
        let is_error = chunk.object.is_some_and(|object| object.get() == "\"error\"");
        if is_error || chunk.error.is_some_and(is_something) || chunk.is_bare() && provider_error::is_error(&general(data)) {
            return Ok(Err(self.failure(data)));
        }
        if !self.known.id
            && let Some(id) = chunk.id.and_then(|raw| serde_json::from_str::<String>(raw.get()).ok()).filter(|id| !id.is_empty())
        {
            self.known.id = true;
            out.push(Delta::ResponseId(id));
        }
        // What was found says more than where.
        let mut sources = [chunk.search_results, chunk.citations].into_iter().flatten().map(RawValue::get);
        if let Some(sources) = sources.find(|raw| raw.starts_with('[') && *raw != "[]") {
            self.sources = Some(sources.to_owned());
        }
        if !self.known.model
            && let Some(name) =
                chunk.model.and_then(|raw| serde_json::from_str::<String>(raw.get()).ok()).filter(|m| !m.is_empty())
        {
            self.known.model = true;
            out.push(Delta::ResponseModel(name));
        }
        let mut used = chunk.usage.and_then(usage);
        let choices = chunk.choices.unwrap_or_default();
        let place = |choice: &Choice<'_>| choice.index.unwrap_or_default().max(0);
        self.known.choice = self.known.choice.or(choices.iter().map(place).min());
        let read = self.known.choice;
        for choice in choices.into_iter().filter(|choice| Some(place(choice)) == read) {
            used = used.or(choice.usage.and_then(usage));
            if let Err(error) = self.choice(choice, out) {
                return Ok(Err(error));
            }
        }
        used = used.or_else(|| usage(groqs_usage(chunk.x_groq?)?));
        out.extend(used.map(|used| Delta::Usage(Box::new(used))));
        Ok(Ok(()))
    }

    fn failure(&self, data: &str) -> Error {
        provider_error::from_stream(&self.provider, &general(data))
    }

    /// The end of the answer, once: at `[DONE]` or at the end of the body.
    fn finish(&mut self, is_done: bool, out: &mut Vec<Delta>) -> Result<(), Error> {
        self.close(out);
        // What came late, behind text.
        self.close(out);
        let raw = self.finish.take();
        if raw.is_none() && !is_done {
            return Err(truncated(&self.provider, "a finish_reason"));
        }
        for call in &mut self.calls {
            let key = match call.key {
                Some(key) => key,
                None if call.name.is_empty() => continue,
                None => call.start(&mut self.next_key, out),
            };
            let signature = call.details.take_list().or(call.extra.take());
            out.extend(signature.map(|signature| Delta::Signature { key, signature }));
            out.push(Delta::End { key });
        }
        if self.annotations.is_empty()
            && let Some(Value::Array(sources)) = self.sources.take().map(|raw| general(&raw))
        {
            self.annotations = sources;
        }
        if !self.annotations.is_empty() {
            out.push(citations(std::mem::take(&mut self.annotations)));
        }
        match self.stop_reason(raw.as_deref())? {
            Some(reason) => out.push(Delta::Stop { reason, raw }),
            None => out.extend(unknown_stop(&self.provider, raw, self.calls.iter().any(Call::is_whole))),
        }
        Ok(())
    }

    /// Our word for the server's; none when it is not known.
    fn stop_reason(&self, raw: Option<&str>) -> Result<Option<StopReason>, Error> {
        let raw = raw.unwrap_or_default();
        let word = raw.replace('-', "_");
        if let Some((_, kind)) = BROKE_OFF.iter().find(|(known, _)| word.eq_ignore_ascii_case(known)) {
            let text = format!("{} broke the answer off itself (finish_reason {raw:?})", self.provider);
            return Err(Error::new(*kind, text).with_provider(&self.provider));
        }
        Ok(match stop_words::known(raw) {
            None | Some(StopReason::Stop) if self.refused => Some(StopReason::Refusal),
            known => known,
        })
    }
}

/// The reasons of answers that failed.
const BROKE_OFF: &[(&str, ErrorKind)] = &[
    ("network_error", ErrorKind::Server),
    ("error", ErrorKind::Server),
    ("abort", ErrorKind::Server),
    // DeepSeek's.
    ("insufficient_system_resource", ErrorKind::Overloaded),
];

/// Prompt tokens include the cached ones, completion tokens the reasoning. Cached: `prompt_tokens_details.cached_tokens`, of
/// DeepSeek `prompt_cache_hit_tokens`; written (OpenRouter): `prompt_tokens_details.cache_write_tokens`.
fn usage(raw: &RawValue) -> Option<Usage> {
    let value: Value = raw.get().parse().ok().filter(Value::is_object)?;
    let count = |name: &str| count_at(&value, name);
    let cache_read = count("prompt_tokens_details/cached_tokens")
        .or(count("cached_tokens"))
        .or(count("prompt_cache_hit_tokens"))
        .unwrap_or_default();
    let cache_write = count("prompt_tokens_details/cache_write_tokens").unwrap_or_default();
    let prompt = count("prompt_tokens").unwrap_or_default();
    let output = count("completion_tokens").unwrap_or_default();
    if prompt == 0 && output == 0 {
        // A placeholder: it must not replace what is known.
        return None;
    }
    let reasoning = count("completion_tokens_details/reasoning_tokens").unwrap_or_default().min(output);
    let input = prompt.saturating_sub(cache_read).saturating_sub(cache_write);
    Some(Usage { input, output, cache_read, cache_write, reasoning, cost: reported_cost(&value), ..Usage::default() })
}

/// `x_groq.usage`: <https://console.groq.com/docs/api-reference#chat-create>.
fn groqs_usage(x_groq: &RawValue) -> Option<&RawValue> {
    #[derive(serde::Deserialize)]
    struct Groq<'a> {
        #[serde(borrow, default)]
        usage: Option<&'a RawValue>,
    }
    serde_json::from_str::<Groq<'_>>(x_groq.get()).ok()?.usage
}

impl Decoder for Reader {
    fn protocol(&self) -> &'static str {
        "openai_chat"
    }

    fn frame(&mut self, frame: &Frame<'_>, out: &mut Vec<Delta>) -> Result<bool, Error> {
        let data = trimmed(&frame.data);
        if is_end_mark(data) {
            self.finish(true, out)?;
            return Ok(false);
        }
        if matches!(data, "" | "null") {
            return Ok(true);
        }
        if let Some(piece) = wire::piece(data, &self.known) {
            self.known.choice = Some(0);
            self.piece(piece, out);
            return Ok(true);
        }
        match surrogate::read(data, |data| self.chunk(data, out)) {
            Ok(read) => read?,
            Err(error) => {
                // JSON, perhaps, with a field of another type.
                let mut value = general(data);
                if value.is_null() || !fit(&mut value, &wire::CHUNK) {
                    return Err(unreadable(&self.provider, data, error));
                }
                self.chunk(&value.to_string(), out).map_err(|error| unreadable(&self.provider, data, error))??;
            }
        }
        Ok(true)
    }

    fn end(&mut self, out: &mut Vec<Delta>) -> Result<(), Error> {
        self.finish(false, out)
    }
}
