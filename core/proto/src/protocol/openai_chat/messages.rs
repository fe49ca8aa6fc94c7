//! The messages of a request.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::{Map, Value};

use super::reasoning::{self, Reasoning};
use crate::message::{AssistantMessage, ContentBlock, Message, ToolCall, ToolResultMessage, UserMessage};
use crate::protocol::format::{GO_ON, follows};
use crate::protocol::incremental::{MessageWriter, Style};
use crate::protocol::json::{self, Object};
use crate::quirks::{Quirks, ReasoningField, SystemRole};

pub(super) fn role_of_system(quirks: &Quirks) -> &'static str {
    match quirks.system_role {
        SystemRole::System => "system",
        SystemRole::Developer => "developer",
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Role {
    User,
    Assistant,
    Tool,
}

/// The messages but for the system prompt. Results are messages of their own right behind the call; files in them that they may
/// not hold follow in a user message behind all results.
#[derive(Debug, Clone, Default)]
pub(super) struct Writer {
    /// Whose the last message is.
    last: Option<Role>,
    files: Vec<u8>,
    texts: Texts,
}

impl MessageWriter for Writer {
    fn add(&mut self, _index: usize, message: &Message, style: Style, out: &mut Vec<u8>) {
        let quirks = &style.quirks;
        if !matches!(message, Message::ToolResult(_)) {
            self.add_files(quirks, out);
        }
        match message {
            Message::User(user) => self.add_user(&user_content(user, quirks), quirks, out),
            Message::Assistant(assistant) => self.add_assistant(assistant, style, out),
            Message::ToolResult(result) => {
                let content = result_content(result, &mut self.files, quirks);
                json::separate(out);
                let mut message = Object::begin(out);
                message.field("role", Role::Tool);
                message.field("tool_call_id", &result.tool_call_id);
                message.some("name", quirks.result_names.then_some(&result.tool_name));
                self.end_with(Role::Tool, message, &content);
            }
            Message::Custom(_) => {}
        }
    }
}

impl Writer {
    /// Adds what only stands at the end of a request: pending files, and a user's message where one must be the last.
    pub(super) fn end(&mut self, quirks: &Quirks, out: &mut Vec<u8>) {
        self.add_files(quirks, out);
        // A conversation without a message is refused; by some servers also one that ends with the model's.
        if self.last.is_none() || (!quirks.any_order && self.last == Some(Role::Assistant)) {
            self.add_user(&text_content(GO_ON, quirks), quirks, out);
        }
    }

    /// Where the texts end that get a marker of Anthropic's, for a router that passes them on: the last text addressed to the
    /// model, and the last before its last answer, where the request before this one ended.
    pub(super) fn marked(&self) -> impl Iterator<Item = usize> {
        self.texts.ends.into_iter().flatten()
    }

    fn add_files(&mut self, quirks: &Quirks, out: &mut Vec<u8>) {
        if !self.files.is_empty() {
            let mut json = vec![b'['];
            json.append(&mut self.files);
            json.push(b']');
            self.add_user(&Content { json, text_end: None }, quirks, out);
        }
    }

    fn add_user(&mut self, content: &Content, quirks: &Quirks, out: &mut Vec<u8>) {
        if !quirks.any_order && self.last == Some(Role::Tool) {
            json::separate(out);
            out.extend_from_slice(b"{\"role\":\"assistant\",\"content\":\"Understood.\"}");
            self.texts.answered();
        }
        json::separate(out);
        let mut message = Object::begin(out);
        message.field("role", Role::User);
        self.end_with(Role::User, message, content);
    }

    fn end_with(&mut self, role: Role, mut message: Object<'_>, content: &Content) {
        let out = message.value_of("content");
        if let Some(end) = content.text_end {
            self.texts.add(out.len() + end);
        }
        out.extend_from_slice(&content.json);
        message.end();
        self.last = Some(role);
    }

    /// Content is one string, null beside calls; a message with neither is left out.
    fn add_assistant(&mut self, message: &AssistantMessage, style: Style, out: &mut Vec<u8>) {
        let quirks = &style.quirks;
        let (text, has_calls) = (message.text(), message.tool_calls().next().is_some());
        let images: Vec<&Value> = message.content.iter().filter_map(own_image).collect();
        if text.is_empty() && !has_calls && images.is_empty() {
            return;
        }
        if !quirks.any_order && !matches!(self.last, Some(Role::User | Role::Tool)) {
            self.add_user(&text_content(GO_ON, quirks), quirks, out);
        }
        let reasoning = Reasoning::of(message, style);
        json::separate(out);
        let mut object = Object::begin(out);
        object.field("role", Role::Assistant);
        match &reasoning.content {
            Some(thinking) => {
                let thinking = Part::Thinking { thinking: [ThinkingText { kind: "text", text: thinking }] };
                let text = (!text.is_empty()).then_some(Part::Text { text: &text });
                object.json("content", &parts([thinking].into_iter().chain(text)).json);
            }
            None if !text.is_empty() => object.json("content", &text_content(&text, quirks).json),
            None if quirks.null_content => object.field("content", ()),
            None => object.field("content", ""),
        }
        reasoning.write(&mut object);
        object.some("images", Some(&images).filter(|images| !images.is_empty()));
        if has_calls {
            let out = object.value_of("tool_calls");
            out.push(b'[');
            message.tool_calls().for_each(|call| json::item(out, Call::of(call)));
            out.push(b']');
        }
        object.end();
        self.last = Some(Role::Assistant);
        self.texts.answered();
    }
}

/// The places where the texts end that get markers.
#[derive(Debug, Clone, Default)]
struct Texts {
    /// Of the last two answers' questions, the last text of each.
    ends: [Option<usize>; 2],
    /// Whether the last of them stands between two answers of the model already.
    is_answered: bool,
}

impl Texts {
    fn add(&mut self, end: usize) {
        let [before, last] = self.ends;
        self.ends = [if std::mem::take(&mut self.is_answered) { last } else { before }, Some(end)];
    }

    fn answered(&mut self) {
        self.is_answered = true;
    }
}

/// A message's content in JSON.
struct Content {
    json: Vec<u8>,
    /// Where the last part that is a text ends.
    text_end: Option<usize>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Part<'a> {
    Text {
        text: &'a str,
    },
    ImageUrl {
        image_url: Url<'a>,
    },
    /// OpenAI takes data, a router addresses, too: <https://openrouter.ai/docs/guides/overview/multimodal/pdfs>.
    File {
        file: File<'a>,
    },
    InputAudio {
        input_audio: Audio<'a>,
    },
    /// Mistral: <https://docs.mistral.ai/capabilities/reasoning>.
    Thinking {
        thinking: [ThinkingText<'a>; 1],
    },
}

#[derive(Serialize)]
struct Url<'a> {
    url: Cow<'a, str>,
}

#[derive(Serialize)]
struct File<'a> {
    filename: Cow<'a, str>,
    file_data: Cow<'a, str>,
}

#[derive(Serialize)]
struct Audio<'a> {
    data: &'a str,
    format: &'a str,
}

#[derive(Serialize)]
struct ThinkingText<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    text: &'a str,
}

/// Plain text where parts are not needed for a marker: not every server takes parts, and some models copy the form.
fn text_content(text: &str, quirks: &Quirks) -> Content {
    if quirks.cache_markers {
        return parts([Part::Text { text }]);
    }
    let mut json = Vec::new();
    json::write(&mut json, text);
    Content { json, text_end: None }
}

fn parts<'a>(all: impl IntoIterator<Item = Part<'a>>) -> Content {
    let mut content = Content { json: vec![b'['], text_end: None };
    for part in all {
        json::item(&mut content.json, &part);
        if matches!(part, Part::Text { .. }) {
            content.text_end = Some(content.json.len());
        }
    }
    content.json.push(b']');
    content
}

/// What the model drew, as it came; only the server that sent it in such a field gets it back.
fn own_image(block: &ContentBlock) -> Option<&Value> {
    match block {
        ContentBlock::Opaque { data, .. } => data.get("image_url").map(|_| data),
        _ => None,
    }
}

fn part(block: &ContentBlock) -> Option<Part<'_>> {
    match block {
        ContentBlock::Text { text, .. } if text.is_empty() => None,
        ContentBlock::Text { text, .. } => Some(Part::Text { text }),
        ContentBlock::Image(media) => Some(Part::ImageUrl { image_url: Url { url: media.to_url() } }),
        ContentBlock::Document(media) => {
            Some(Part::File { file: File { filename: media.file_name(), file_data: media.to_url() } })
        }
        ContentBlock::Audio(media) => {
            let (data, kind) = media.as_data()?;
            // What else there is has no word of OpenAI's, but those of servers that take it.
            let format = if kind == "audio/mpeg" { "mp3" } else { kind.split_once('/')?.1 };
            Some(Part::InputAudio { input_audio: Audio { data, format } })
        }
        ContentBlock::Thinking { .. } | ContentBlock::ToolCall(_) | ContentBlock::Opaque { .. } => None,
    }
}

fn user_content(user: &UserMessage, quirks: &Quirks) -> Content {
    if user.content.iter().any(ContentBlock::is_media) {
        return parts(user.content.iter().filter_map(part));
    }
    let texts = user.content.iter().filter_map(|block| match block {
        ContentBlock::Text { text, .. } => Some(text.as_str()),
        _ => None,
    });
    text_content(&texts.collect::<Vec<_>>().join("\n"), quirks)
}

/// Files that the result may not hold are added to `files`.
fn result_content(result: &ToolResultMessage, files: &mut Vec<u8>, quirks: &Quirks) -> Content {
    let has_files = result.content.iter().any(ContentBlock::is_media);
    if quirks.result_images && has_files {
        return parts(result.content.iter().filter_map(part));
    }
    for file in result.content.iter().filter(|block| block.is_media()).filter_map(part) {
        json::item(files, file);
    }
    let text = result.model_text();
    text_content(if text.is_empty() { follows(&result.content) } else { &text }, quirks)
}

#[derive(Serialize)]
struct Call<'a> {
    id: &'a str,
    #[serde(rename = "type")]
    kind: &'static str,
    function: Function<'a>,
    /// See [`reasoning::extra_content`].
    #[serde(skip_serializing_if = "Option::is_none")]
    extra_content: Option<Value>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    arguments: String,
}

impl Call<'_> {
    fn of(call: &ToolCall) -> Call<'_> {
        Call {
            id: &call.id,
            kind: "function",
            function: Function { name: &call.name, arguments: call.arguments_text() },
            extra_content: reasoning::extra_content(call),
        }
    }
}

/// Text or a file as a part of the content; for conversions of transcripts.
pub(crate) fn part_json(block: &ContentBlock) -> Option<Value> {
    part(block).map(json::value)
}

/// A call, likewise.
pub(crate) fn call_json(call: &ToolCall) -> Value {
    json::value(Call::of(call))
}

/// What stands beside the content of an assistant message, likewise: thinking in the fields that it came in (in `content`, its
/// text alone), and images.
pub(crate) fn beside_json(message: &AssistantMessage) -> Map<String, Value> {
    let quirks = Quirks { reasoning_field: Some(ReasoningField::ReasoningDetails), ..Quirks::PLAIN };
    let reasoning = Reasoning::of(message, Style { quirks, thinks: false });
    let mut out = Vec::new();
    let mut object = Object::begin(&mut out);
    object.some("content", reasoning.content.as_ref());
    reasoning.write(&mut object);
    let images: Vec<&Value> = message.content.iter().filter_map(own_image).collect();
    object.some("images", Some(&images).filter(|images| !images.is_empty()));
    object.end();
    serde_json::from_slice(&out).unwrap_or_default()
}
