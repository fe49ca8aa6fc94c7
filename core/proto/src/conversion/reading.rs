//! What reading has in common in all formats.

use std::collections::{HashMap, HashSet};
use std::fmt::Display;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::format::Format;
use super::report::{Author, Imported, Loss};
use crate::error::Error;
use crate::json_error::shown;
use crate::media::Media;
use crate::message::{AssistantMessage, ContentBlock, Message, ToolCall, ToolResultMessage, UserMessage};
use crate::partial::parse_arguments;
use crate::table::codes;
use crate::usage::StopReason;

/// Why messages are refused.
pub(super) type Read<T> = Result<T, Error>;

/// A value, and where it stands: a JSON pointer.
#[derive(Clone)]
pub(super) struct At<'v> {
    pub(super) value: &'v Value,
    pointer: String,
}

impl<'v> At<'v> {
    pub(super) fn new(value: &'v Value, pointer: String) -> At<'v> {
        At { value, pointer }
    }

    /// The refusal of the value. It names the place in what was given.
    pub(super) fn refused(&self, why: impl Display) -> Error {
        let place = if self.pointer.is_empty() { String::new() } else { format!("{}: ", self.pointer) };
        Error::invalid_argument(format!("messages: {place}{why}"))
    }

    pub(super) fn expected<T>(&self, what: &str) -> Read<T> {
        Err(self.refused(format_args!("expected {what}, got {}", shown(self.value))))
    }

    pub(super) fn object(&self, what: &str) -> Read<&'v Map<String, Value>> {
        self.value.as_object().map_or_else(|| self.expected(what), Ok)
    }

    /// A field, null where it is missing.
    pub(super) fn field(&self, name: &str) -> At<'v> {
        At { value: self.value.get(name).unwrap_or(&Value::Null), pointer: format!("{}/{name}", self.pointer) }
    }

    /// The field of the first name that is there.
    pub(super) fn either(&self, names: [&str; 2]) -> At<'v> {
        let [first, second] = names.map(|name| self.field(name));
        if first.value.is_null() && !second.value.is_null() { second } else { first }
    }

    /// The content of a message, which may be null. It is missing only where one of these fields is there: messages of another
    /// format would be read as empty ones.
    pub(super) fn content(&self, in_its_place: &[&str]) -> Read<At<'v>> {
        let has = |name: &&str| self.value.get(name).is_some();
        if has(&"content") || in_its_place.iter().any(has) {
            return Ok(self.field("content"));
        }
        Err(self.refused(match has(&"parts") {
            true => {
                "it has parts and no content, as messages of the AI SDK (ai_sdk) and of Gemini (gemini) have: name that format"
            }
            false => "content is missing",
        }))
    }

    /// A field that is a text; empty where it is missing.
    pub(super) fn text(&self, name: &str) -> Read<&'v str> {
        let field = self.field(name);
        match field.value {
            Value::Null => Ok(""),
            Value::String(text) => Ok(text),
            _ => field.expected("text"),
        }
    }

    /// A field that must be a text that is not empty.
    pub(super) fn word(&self, name: &str) -> Read<&'v str> {
        match self.text(name)? {
            "" => Err(self.refused(format_args!("{name} is missing"))),
            text => Ok(text),
        }
    }

    /// The entries of a list; null has none.
    pub(super) fn items(&self, what: &str) -> Read<impl Iterator<Item = At<'v>> + use<'v>> {
        let list = match self.value {
            Value::Array(list) => list.as_slice(),
            Value::Null => &[],
            _ => return self.expected(what),
        };
        let pointer = self.pointer.clone();
        Ok(list.iter().enumerate().map(move |(i, value)| At { value, pointer: format!("{pointer}/{i}") }))
    }

    pub(super) fn is_null(&self) -> bool {
        self.value.is_null()
    }

    /// The last step of the pointer.
    fn name(&self) -> &str {
        self.pointer.rsplit_once('/').map_or("", |(_, name)| name)
    }
}

/// What has been read so far.
pub(super) struct Reading<'a> {
    pub(super) format: Format,
    author: Option<&'a Author>,
    messages: Vec<Message>,
    system: String,
    losses: Vec<Loss>,
    /// Which of the given is being read.
    pub(super) index: usize,
    /// The ids of messages, which are unique.
    ids: HashSet<String>,
    /// The names of the tools called, by the id of the call.
    names: HashMap<String, String>,
    /// The calls without a result, in order: id and name.
    open: Vec<(String, String)>,
}

impl<'a> Reading<'a> {
    pub(super) fn new(format: Format, author: Option<&'a Author>) -> Reading<'a> {
        Reading {
            format,
            author,
            messages: Vec::new(),
            system: String::new(),
            losses: Vec::new(),
            index: 0,
            ids: HashSet::new(),
            names: HashMap::new(),
            open: Vec::new(),
        }
    }

    pub(super) fn end(self) -> Imported {
        let messages = self.messages.into_iter().map(Arc::new).collect();
        Imported { messages, system_prompt: self.system, losses: self.losses }
    }

    pub(super) fn lose(&mut self, code: &'static str, message: impl Into<String>) {
        self.losses.push(Loss { index: self.index, code, message: message.into() });
    }

    /// A part that has no place here.
    pub(super) fn lose_part(&mut self, kind: &str) {
        let code = match kind {
            "file" | "input_file" | "document" | "input_audio" | "audio" | "video_url" | "fileData" | "inlineData" => {
                codes::LOST_FILE
            }
            _ => codes::LOST_PART,
        };
        self.lose(code, format!("a part of the type {kind:?} was left out"));
    }

    /// Reports the fields of a part that are not read. Where caches begin is a request's business.
    pub(super) fn known_fields(&mut self, part: &Map<String, Value>, known: &[&str]) {
        for name in rest(part, known).keys().filter(|name| *name != "cache_control") {
            let code =
                if matches!(name.as_str(), "citations" | "annotations") { codes::LOST_CITATIONS } else { codes::LOST_FIELD };
            self.lose(code, format!("the field {name:?} of a part was left out"));
        }
    }

    /// Instructions: they are no messages here.
    pub(super) fn system(&mut self, text: &str) {
        if !self.messages.is_empty() {
            self.lose(codes::SYSTEM_MOVED, "instructions in the middle of the conversation moved into the system prompt");
        }
        if !self.system.is_empty() && !text.is_empty() {
            self.system.push_str("\n\n");
        }
        self.system.push_str(text);
    }

    pub(super) fn user(&mut self, content: Vec<ContentBlock>, labels: Labels) -> Read<()> {
        let message = UserMessage { id: self.unique(labels.id), metadata: labels.metadata, ..UserMessage::new(content) };
        self.push(Message::User(UserMessage { timestamp: labels.timestamp, ..message }))
    }

    /// An assistant message; `fill` sets what more is known of it.
    pub(super) fn assistant(
        &mut self,
        content: Vec<ContentBlock>,
        labels: Labels,
        fill: impl FnOnce(&mut AssistantMessage),
    ) -> Read<()> {
        let Author { provider, protocol, model } = self.author.cloned().unwrap_or_default();
        let mut message = AssistantMessage::new(content);
        message.protocol = self.format.protocol().map_or(protocol, str::to_owned);
        (message.provider, message.model) = (provider, model);
        (message.id, message.metadata, message.timestamp) = (self.unique(labels.id), labels.metadata, labels.timestamp);
        if message.tool_calls().next().is_some() {
            message.stop_reason = Some(StopReason::ToolUse);
        }
        fill(&mut message);
        for call in message.tool_calls() {
            self.names.insert(call.id.clone(), call.name.clone());
            self.open.push((call.id.clone(), call.name.clone()));
        }
        self.push(Message::Assistant(message))
    }

    /// The result of a call. Without an id it answers the first open call of this name, else the first of all.
    pub(super) fn result(&mut self, given: Given<'_>, labels: Labels) -> Read<()> {
        let Given { id, name, content, details, is_error } = given;
        let at = match id {
            "" => self.open.iter().position(|(_, called)| called == name).or_else(|| (!self.open.is_empty()).then_some(0)),
            id => self.open.iter().position(|(open, _)| open == id),
        };
        let answered = at.map(|at| self.open.remove(at));
        let id = if id.is_empty() { answered.map(|(id, _)| id).unwrap_or_default() } else { id.to_owned() };
        let name = if name.is_empty() { self.names.get(&id).cloned().unwrap_or_default() } else { name.to_owned() };
        let mut message = ToolResultMessage::new(id, name, content);
        (message.details, message.is_error) = (details, is_error);
        (message.id, message.metadata, message.timestamp) = (self.unique(labels.id), labels.metadata, labels.timestamp);
        self.push(Message::ToolResult(message))
    }

    /// A message that only its application understands.
    pub(super) fn custom(&mut self, map: Map<String, Value>) -> Read<()> {
        self.push(Message::Custom(map))
    }

    fn push(&mut self, message: Message) -> Read<()> {
        message.check_depth().map_err(|why| Error::invalid_argument(format!("messages: /{}: {why}", self.index)))?;
        self.messages.push(message);
        Ok(())
    }

    fn unique(&mut self, id: Option<String>) -> Option<String> {
        let id = id.filter(|id| !id.is_empty())?;
        if self.ids.insert(id.clone()) {
            return Some(id);
        }
        self.lose(codes::LOST_ID, format!("the id {id:?} is another message's already and was left out"));
        None
    }

    /// The place of the next message, for ids that are made.
    pub(super) fn count(&self) -> usize {
        self.messages.len()
    }

    /// An image at an address, which may be a `data:` URL. The type may be empty.
    pub(super) fn image(&mut self, url: &str, mime_type: &str) -> Option<ContentBlock> {
        let found = self.media(url, mime_type, None, codes::LOST_IMAGE_URL);
        found.map(ContentBlock::Image)
    }

    /// A file at an address, likewise; without a type, it is the one of its data or of its path.
    pub(super) fn file(&mut self, url: &str, mime_type: &str, name: &str) -> Option<ContentBlock> {
        let media = self.media(url, mime_type, signature(name), codes::LOST_FILE)?;
        if media.kind().starts_with("video/") {
            self.lose(codes::LOST_FILE, "a video was left out");
            return None;
        }
        Some(ContentBlock::file(media))
    }

    fn media(&mut self, url: &str, mime_type: &str, name: Option<String>, code: &'static str) -> Option<Media> {
        // What says only that it is some image, or some file.
        let says_type = !mime_type.ends_with("/*") && mime_type != "application/octet-stream";
        let found = Media::at(url, says_type.then(|| mime_type.to_owned()), name).ok().filter(|media| !media.is_empty());
        if found.is_none() {
            let shown = crate::error::shortened(url, 80);
            self.lose(code, format!("the file at {shown:?} was left out; that is no address"));
        }
        found
    }

    /// Metadata of fields that have no place, under the word of the format.
    pub(super) fn kept(&self, rest: Map<String, Value>) -> Option<Value> {
        let kept = || Value::Object(Map::from_iter([(self.format.as_str().to_owned(), Value::Object(rest.clone()))]));
        (!rest.is_empty()).then(kept)
    }

    pub(super) fn labels(&self, map: &Map<String, Value>, known: &[&str]) -> Labels {
        Labels { metadata: self.kept(rest(map, known)), ..Labels::default() }
    }
}

/// What a message has beside its content.
#[derive(Default)]
pub(super) struct Labels {
    pub(super) id: Option<String>,
    pub(super) metadata: Option<Value>,
    pub(super) timestamp: u64,
}

/// A result as it is given.
#[derive(Default)]
pub(super) struct Given<'a> {
    pub(super) id: &'a str,
    pub(super) name: &'a str,
    pub(super) content: Vec<ContentBlock>,
    pub(super) details: Value,
    pub(super) is_error: bool,
}

/// The fields beside those that are known, without those that are null or empty lists.
pub(super) fn rest(map: &Map<String, Value>, known: &[&str]) -> Map<String, Value> {
    let says = |value: &Value| !value.is_null() && value.as_array().is_none_or(|list| !list.is_empty());
    let rest = map.iter().filter(|(name, value)| !known.contains(&name.as_str()) && says(value));
    rest.map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// A call whose arguments are a text.
pub(super) fn call_of_text(id: &str, name: &str, arguments: &str, signature: Option<String>) -> ContentBlock {
    let (arguments, raw_arguments) = parse_arguments(arguments);
    ContentBlock::ToolCall(ToolCall { id: id.to_owned(), name: name.to_owned(), arguments, raw_arguments, signature })
}

/// A call whose arguments are JSON; what is no object is kept as text.
pub(super) fn call_of_value(id: &str, name: &str, arguments: &Value, signature: Option<String>) -> ContentBlock {
    match arguments {
        Value::Object(map) => {
            let (id, name, arguments) = (id.to_owned(), name.to_owned(), Arc::new(map.clone()));
            ContentBlock::ToolCall(ToolCall { id, name, arguments, raw_arguments: None, signature })
        }
        Value::Null => call_of_text(id, name, "", signature),
        Value::String(text) => call_of_text(id, name, text, signature),
        other => call_of_text(id, name, &other.to_string(), signature),
    }
}

/// Content that is a text; an empty one is none.
pub(super) fn text_of(text: &str) -> Vec<ContentBlock> {
    if text.is_empty() { Vec::new() } else { vec![ContentBlock::text(text)] }
}

/// A signature, if there is one.
pub(super) fn signature(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

/// JSON as a tool's output: a text as it is.
pub(super) fn output_text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// The refusal of a role that is not known.
pub(super) fn unknown_role(message: &At<'_>, known: &str) -> Error {
    let role = message.field("role");
    role.refused(format_args!("unknown {} {}; known are {known}", role.name(), shown(role.value)))
}
