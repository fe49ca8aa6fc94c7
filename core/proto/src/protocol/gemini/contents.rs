//! The messages of a request.

use serde::Serialize;
use serde_json::{Map, Value};

use crate::media::Media;
use crate::message::{AssistantMessage, ContentBlock, Message, ToolCall, ToolResultMessage};
use crate::protocol::format::{GO_ON, follows, see};
use crate::protocol::incremental::{MessageWriter, Style};
use crate::protocol::json;
use crate::quirks::{CallIds, Quirks};

/// What stands for a signature where the model demands one and there is none, for example after a change of models:
/// <https://ai.google.dev/gemini-api/docs/thought-signatures>.
const NO_SIGNATURE: &str = "skip_thought_signature_validator";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    User,
    Model,
}

/// The contents, of which the last is open. Neighbours of one role are one content; the first is the user's, so that calls follow
/// what the user or a tool said. All results of a turn stand in one content, in the order of the calls.
#[derive(Debug, Default)]
pub(super) struct Contents {
    /// Whose the last content is.
    last: Option<Role>,
    /// Files that their results may not hold, as parts: a content behind all results.
    files: Vec<u8>,
}

impl MessageWriter for Contents {
    fn add(&mut self, _index: usize, message: &Message, style: Style, out: &mut Vec<u8>) {
        let quirks = &style.quirks;
        if !matches!(message, Message::ToolResult(_)) && !self.files.is_empty() {
            self.begin(Role::User, out);
            out.append(&mut self.files);
        }
        match message {
            Message::User(user) => self.add_parts(Role::User, user.content.iter().filter_map(user_part), out),
            Message::Assistant(assistant) => self.add_parts(Role::Model, model_parts(assistant, quirks), out),
            Message::ToolResult(result) => {
                let part = result_part(result, quirks, &mut self.files);
                self.add_parts(Role::User, [part], out);
            }
            Message::Custom(_) => {}
        }
    }
}

impl Contents {
    /// Ends the contents: with pending files, and with a first content where there is none.
    pub(super) fn write_end(&self, out: &mut Vec<u8>) {
        let mut last = Contents { last: self.last, files: Vec::new() };
        if !self.files.is_empty() {
            last.begin(Role::User, out);
            out.extend_from_slice(&self.files);
        }
        if last.last.is_none() {
            last.add_parts(Role::User, [text(GO_ON)], out);
        }
        out.extend_from_slice(b"]}");
    }

    fn add_parts<'a>(&mut self, role: Role, parts: impl IntoIterator<Item = Part<'a>>, out: &mut Vec<u8>) {
        for part in parts {
            if self.last.is_none() && role != Role::User {
                self.add_parts(Role::User, [text(GO_ON)], out);
            }
            if self.last != Some(role) {
                self.begin(role, out);
            }
            json::item(out, part);
        }
    }

    /// Begins a content, the one before ends.
    fn begin(&mut self, role: Role, out: &mut Vec<u8>) {
        if self.last.is_some() {
            out.extend_from_slice(b"]},");
        }
        out.extend_from_slice(match role {
            Role::User => b"{\"role\":\"user\",\"parts\":[",
            Role::Model => b"{\"role\":\"model\",\"parts\":[",
        });
        self.last = Some(role);
    }
}

/// A part as it is written. Each block is a part of its own, with its signature in place: parts are not merged.
#[derive(Serialize)]
#[serde(untagged)]
enum Part<'a> {
    #[serde(rename_all = "camelCase")]
    Text {
        text: &'a str,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        thought: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        thought_signature: Option<&'a str>,
    },
    #[serde(rename_all = "camelCase")]
    Data {
        inline_data: InlineData<'a>,
    },
    #[serde(rename_all = "camelCase")]
    File {
        file_data: FileData<'a>,
    },
    #[serde(rename_all = "camelCase")]
    Call {
        function_call: Call<'a>,
        #[serde(skip_serializing_if = "Option::is_none")]
        thought_signature: Option<&'a str>,
    },
    #[serde(rename_all = "camelCase")]
    Result {
        function_response: Response<'a>,
    },
    Opaque(&'a Value),
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct InlineData<'a> {
    mime_type: &'a str,
    data: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FileData<'a> {
    #[serde(skip_serializing_if = "str::is_empty")]
    mime_type: &'a str,
    file_uri: &'a str,
}

#[derive(Serialize)]
struct Call<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    name: &'a str,
    args: &'a Map<String, Value>,
}

#[derive(Serialize)]
struct Response<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    name: &'a str,
    response: Answer,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    parts: Vec<Part<'a>>,
}

/// The response must be an object: <https://ai.google.dev/api/caching#FunctionResponse>.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum Answer {
    Output(String),
    Error(String),
}

fn text(text: &str) -> Part<'_> {
    Part::Text { text, thought: false, thought_signature: None }
}

fn user_part(block: &ContentBlock) -> Option<Part<'_>> {
    match block {
        ContentBlock::Text { text: own, .. } => Some(text(own)),
        ContentBlock::Image(media) | ContentBlock::Document(media) | ContentBlock::Audio(media) => Some(file(media)),
        ContentBlock::Thinking { .. } | ContentBlock::ToolCall(_) | ContentBlock::Opaque { .. } => None,
    }
}

fn file(media: &Media) -> Part<'_> {
    match media.as_data() {
        Some((data, mime_type)) => Part::Data { inline_data: InlineData { mime_type, data } },
        None => Part::File { file_data: FileData { mime_type: media.kind(), file_uri: media.as_url().unwrap_or_default() } },
    }
}

fn model_parts<'a>(message: &'a AssistantMessage, quirks: &Quirks) -> impl Iterator<Item = Part<'a>> {
    // Of parallel calls only the first has a signature.
    let mut first_call = true;
    message.content.iter().filter_map(move |block| match block {
        ContentBlock::Text { text, signature } => Some(Part::Text { text, thought: false, thought_signature: valid(signature) }),
        ContentBlock::Thinking { thinking, signature, .. } => {
            Some(Part::Text { text: thinking, thought: true, thought_signature: valid(signature) })
        }
        ContentBlock::ToolCall(call) => {
            let demanded = std::mem::take(&mut first_call) && quirks.signed_calls;
            let signature = valid(&call.signature).or(demanded.then_some(NO_SIGNATURE));
            Some(Part::Call { function_call: call_part(call, quirks), thought_signature: signature })
        }
        ContentBlock::Opaque { data, .. } => Some(Part::Opaque(data)),
        ContentBlock::Image(_) | ContentBlock::Document(_) | ContentBlock::Audio(_) => None,
    })
}

/// The signature, if it is base64, of either alphabet: the API refuses the whole request for another.
fn valid(signature: &Option<String>) -> Option<&str> {
    let is_base64 = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'-' | b'_' | b'=');
    signature.as_deref().filter(|text| !text.is_empty() && text.bytes().all(is_base64))
}

fn call_part<'a>(call: &'a ToolCall, quirks: &Quirks) -> Call<'a> {
    Call { id: sent(&call.id, quirks), name: &call.name, args: &call.arguments }
}

/// Ids pair a result with its call where the server takes them; elsewhere the order does.
fn sent<'a>(id: &'a str, quirks: &Quirks) -> Option<&'a str> {
    (quirks.call_ids != CallIds::Omitted).then_some(id)
}

/// Files stand in the response, or, where the model does not take them there, in `files`, a content behind all results.
fn result_part<'a>(result: &'a ToolResultMessage, quirks: &Quirks, files: &mut Vec<u8>) -> Part<'a> {
    // Audio and addresses are taken nowhere in a response: https://ai.google.dev/api/caching#FunctionResponsePart.
    let may_stand = |block: &&ContentBlock| {
        let is_data = block.as_media().is_some_and(|media| media.as_data().is_some());
        quirks.result_images && is_data && !matches!(block, ContentBlock::Audio(_))
    };
    let (inside, behind): (Vec<_>, Vec<_>) = result.content.iter().filter(|block| block.is_media()).partition(may_stand);
    behind.into_iter().filter_map(user_part).for_each(|part| json::item(files, part));
    let parts: Vec<Part<'a>> = inside.into_iter().filter_map(user_part).collect();
    let text = match result.model_text() {
        text if !text.is_empty() => text,
        _ if !parts.is_empty() => see(&result.content).to_owned(),
        _ => follows(&result.content).to_owned(),
    };
    let response = if result.is_error { Answer::Error(text) } else { Answer::Output(text) };
    Part::Result {
        function_response: Response { id: sent(&result.tool_call_id, quirks), name: &result.tool_name, response, parts },
    }
}

/// A part of a user's or a tool's content; for conversions of transcripts.
pub(crate) fn user_json(block: &ContentBlock) -> Option<Value> {
    user_part(block).map(json::value)
}

/// A part of a model's content, likewise.
pub(crate) fn model_json(block: &ContentBlock) -> Option<Value> {
    let message = AssistantMessage::new(vec![block.clone()]);
    model_parts(&message, &Quirks::PLAIN).next().map(json::value)
}
