//! The items of a request's input.
//!
//! Items have the shape that the strictest of the compatible servers want (llama.cpp: `type` and a list of parts in what the
//! model said; vLLM: `annotations`, `status` and an image's `detail`). The system prompt is the first item, not `instructions`,
//! so that a quirk can say its role.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;

use crate::message::{AssistantMessage, ContentBlock, Message, ToolCall, ToolResultMessage};
use crate::protocol::format::{GO_ON, follows};
use crate::protocol::incremental::{MessageWriter, Style};
use crate::protocol::json;
use crate::quirks::{Quirks, SystemRole};

/// The longest id of an item that is taken, in characters.
const LONGEST_ID: usize = 64;

pub(super) fn role_of_system(quirks: &Quirks) -> &'static str {
    match quirks.system_role {
        SystemRole::System => "system",
        SystemRole::Developer => "developer",
    }
}

/// The items but for the system prompt.
#[derive(Debug, Default)]
pub(super) struct Items {
    /// Files of results that may hold none, as parts.
    files: Vec<u8>,
    sent: Sent,
}

/// What of the whole conversation the items of one message depend on.
#[derive(Debug, Default)]
struct Sent {
    /// The `call_id`s that outputs among the opaque items answer.
    answered: HashSet<String>,
    /// The `call_id`s of items that were left out, as they have no output.
    unanswered: HashSet<String>,
    /// The ids of the items so far.
    ids: HashSet<String>,
}

/// An item as it is written.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Item<'a> {
    #[serde(rename = "message")]
    User {
        role: &'static str,
        content: Vec<Part<'a>>,
    },
    Message {
        role: &'static str,
        status: &'static str,
        content: [OutputText<'a>; 1],
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        phase: Option<String>,
    },
    FunctionCall {
        call_id: &'a str,
        name: &'a str,
        arguments: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<&'a str>,
    },
    FunctionCallOutput {
        call_id: &'a str,
        output: Output<'a>,
    },
    #[serde(untagged)]
    Reasoning(Value),
    #[serde(untagged)]
    Opaque(&'a Value),
}

#[derive(Serialize)]
#[serde(tag = "type", rename = "output_text")]
struct OutputText<'a> {
    text: &'a str,
    annotations: [(); 0],
}

#[derive(Serialize)]
#[serde(tag = "type")]
enum Part<'a> {
    #[serde(rename = "input_text")]
    Text { text: &'a str },
    #[serde(rename = "input_image")]
    Image { image_url: Cow<'a, str>, detail: &'static str },
    #[serde(rename = "input_file")]
    File(File<'a>),
}

#[derive(Serialize)]
#[serde(untagged)]
enum File<'a> {
    Data { filename: Cow<'a, str>, file_data: Cow<'a, str> },
    Url { file_url: &'a str },
}

/// A result is text, or a list of parts when it has files.
#[derive(Serialize)]
#[serde(untagged)]
enum Output<'a> {
    Text(&'a str),
    Parts(Vec<Part<'a>>),
}

impl MessageWriter for Items {
    fn expect(&mut self, messages: &[Arc<Message>]) -> bool {
        let assistants = messages.iter().filter_map(|message| message.as_assistant());
        let outputs = assistants.flat_map(|message| &message.content).filter_map(|block| match block {
            ContentBlock::Opaque { data, .. } if kind(data).ends_with("_output") => data.get("call_id").and_then(Value::as_str),
            _ => None,
        });
        let Sent { answered, unanswered, .. } = &mut self.sent;
        let mut is_known = false;
        for id in outputs {
            is_known |= unanswered.contains(id);
            answered.insert(id.to_owned());
        }
        !is_known
    }

    fn add(&mut self, _index: usize, message: &Message, style: Style, out: &mut Vec<u8>) {
        if !matches!(message, Message::ToolResult(_)) {
            write_files(out, &self.files);
            self.files.clear();
        }
        match message {
            Message::User(user) => json::item(out, user_item(user.content.iter().filter_map(part).collect())),
            Message::Assistant(assistant) => {
                let items = assistant_items(assistant, &mut self.sent, &style.quirks);
                items.iter().for_each(|item| json::item(out, item));
            }
            Message::ToolResult(result) => self.add_output(result, &style.quirks, out),
            Message::Custom(_) => {}
        }
    }
}

impl Items {
    /// Appends what only stands at the end of a request: pending files; an empty input is refused.
    pub(super) fn write_end(&self, out: &mut Vec<u8>, is_empty: bool) {
        write_files(out, &self.files);
        if is_empty && self.files.is_empty() {
            json::item(out, user_item(vec![Part::Text { text: GO_ON }]));
        }
    }

    /// Files are in the output, or follow behind all outputs where these may hold none.
    fn add_output(&mut self, result: &ToolResultMessage, quirks: &Quirks, out: &mut Vec<u8>) {
        let text = result.model_text();
        let files: Vec<Part<'_>> = result.content.iter().filter(|block| block.is_media()).filter_map(part).collect();
        let output = if files.is_empty() {
            Output::Text(&text)
        } else if quirks.result_images {
            let text = (!text.is_empty()).then_some(Part::Text { text: &text });
            Output::Parts(text.into_iter().chain(files).collect())
        } else {
            files.iter().for_each(|file| json::item(&mut self.files, file));
            Output::Text(if text.is_empty() { follows(&result.content) } else { &text })
        };
        json::item(out, Item::FunctionCallOutput { call_id: &result.tool_call_id, output });
    }
}

fn write_files(out: &mut Vec<u8>, files: &[u8]) {
    if !files.is_empty() {
        json::separate(out);
        out.extend_from_slice(b"{\"type\":\"message\",\"role\":\"user\",\"content\":[");
        out.extend_from_slice(files);
        out.extend_from_slice(b"]}");
    }
}

fn user_item(content: Vec<Part<'_>>) -> Item<'_> {
    Item::User { role: "user", content }
}

fn part(block: &ContentBlock) -> Option<Part<'_>> {
    match block {
        ContentBlock::Text { text, .. } => Some(Part::Text { text }),
        ContentBlock::Image(media) => Some(Part::Image { image_url: media.to_url(), detail: "auto" }),
        ContentBlock::Document(media) => Some(Part::File(match media.as_url() {
            Some(file_url) => File::Url { file_url },
            None => File::Data { filename: media.file_name(), file_data: media.to_url() },
        })),
        ContentBlock::Audio(_) | ContentBlock::Thinking { .. } | ContentBlock::ToolCall(_) | ContentBlock::Opaque { .. } => None,
    }
}

impl Sent {
    /// Whether the item's id, if it has one, was not sent before.
    fn is_new(&mut self, item: &Value) -> bool {
        item.get("id").and_then(Value::as_str).is_none_or(|id| self.ids.insert(id.to_owned()))
    }

    /// Whether an opaque item is a call that the client was to run (a custom tool, a shell) and has no output: the API refuses
    /// the whole request for it. Calls that the server runs have no `call_id`, or an output of the server's.
    fn is_unanswered(&mut self, data: &Value) -> bool {
        let call_id = data.get("call_id").and_then(Value::as_str).filter(|_| kind(data).ends_with("_call"));
        let open = call_id.filter(|id| !self.answered.contains(*id));
        self.unanswered.extend(open.map(str::to_owned));
        open.is_some()
    }
}

impl Item<'_> {
    fn is_reasoning(&self) -> bool {
        match self {
            Item::Reasoning(item) => kind(item) == "reasoning",
            Item::Opaque(item) => kind(item) == "reasoning",
            _ => false,
        }
    }
}

/// What the model said, as the items it came in.
///
/// The API checks how items hang together: reasoning must be followed by the item it led to, and an item that is named by its id
/// must have its reasoning before it. So reasoning that has lost its follower is left out, and behind reasoning that was left
/// out, items go without their ids. Two items of one id are refused, too: where a part of the conversation stands there twice,
/// only its first items have theirs.
fn assistant_items<'a>(message: &'a AssistantMessage, sent: &mut Sent, quirks: &Quirks) -> Vec<Item<'a>> {
    let mut items: Vec<Item<'a>> = Vec::new();
    let mut named = true;
    let mut follower_lost = false;
    for block in &message.content {
        let item = match block {
            ContentBlock::Text { text, signature } => Some(message_item(text, signature.as_deref().filter(|_| named), sent)),
            ContentBlock::ToolCall(call) => Some(call_item(call, named, sent)),
            ContentBlock::Opaque { data, .. } => {
                let is_sent = !sent.is_unanswered(data) && sent.is_new(data);
                is_sent.then_some(Item::Opaque(data))
            }
            ContentBlock::Thinking { signature, .. } => {
                match signature.as_deref().and_then(|item| reasoning_item(item, quirks)).filter(|item| sent.is_new(item)) {
                    Some(item) => {
                        if follower_lost {
                            drop_reasoning(&mut items);
                        }
                        Some(Item::Reasoning(item))
                    }
                    None => {
                        named = false;
                        continue;
                    }
                }
            }
            ContentBlock::Image(_) | ContentBlock::Document(_) | ContentBlock::Audio(_) => None,
        };
        follower_lost = item.is_none();
        items.extend(item);
    }
    drop_reasoning(&mut items);
    items
}

fn drop_reasoning(items: &mut Vec<Item<'_>>) {
    while items.last().is_some_and(Item::is_reasoning) {
        items.pop();
    }
}

/// The item as it came, if the server can make anything of it: what it remembers by the id alone, it has not stored. Servers of
/// open models give the reasoning itself.
fn reasoning_item(item: &str, quirks: &Quirks) -> Option<Value> {
    let item: Value = item.parse().ok()?;
    let encrypted = item.get("encrypted_content").and_then(Value::as_str).is_some_and(|text| !text.is_empty());
    let open = item.get("content").and_then(Value::as_array).is_some_and(|parts| !parts.is_empty());
    (open || encrypted && quirks.encrypted_reasoning).then_some(item)
}

/// `signature` is the item's id and phase in JSON.
fn message_item<'a>(text: &'a str, signature: Option<&str>, sent: &mut Sent) -> Item<'a> {
    let known: Value = signature.and_then(|known| known.parse().ok()).unwrap_or_default();
    let text_of = |name: &str| known.get(name).and_then(Value::as_str).map(str::to_owned);
    Item::Message {
        role: "assistant",
        status: "completed",
        content: [OutputText { text, annotations: [] }],
        id: text_of("id").filter(|id| is_item_id(id, "msg_") && sent.ids.insert(id.clone())),
        phase: text_of("phase"),
    }
}

/// A call has two ids: the one that its result names, and the item's own, which is its signature.
fn call_item<'a>(call: &'a ToolCall, named: bool, sent: &mut Sent) -> Item<'a> {
    let id = call.signature.as_deref().filter(|id| named && is_item_id(id, "fc_") && sent.ids.insert((*id).to_owned()));
    Item::FunctionCall { call_id: &call.id, name: &call.name, arguments: call.arguments_text(), id }
}

/// Compatible servers make up ids that OpenAI refuses, and that some of them refuse themselves.
fn is_item_id(id: &str, prefix: &str) -> bool {
    id.starts_with(prefix) && id.len() <= LONGEST_ID && id.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'))
}

fn kind(item: &Value) -> &str {
    item.get("type").and_then(Value::as_str).unwrap_or_default()
}

/// Text or a file as a part of an input; for conversions of transcripts.
pub(crate) fn part_json(block: &ContentBlock) -> Option<Value> {
    part(block).map(json::value)
}

/// What a model said as an item, likewise. Thinking is one only if its signature is.
pub(crate) fn item_json(block: &ContentBlock) -> Option<Value> {
    let mut sent = Sent::default();
    Some(match block {
        ContentBlock::Text { text, signature } => json::value(message_item(text, signature.as_deref(), &mut sent)),
        ContentBlock::ToolCall(call) => json::value(call_item(call, true, &mut sent)),
        ContentBlock::Thinking { signature, .. } => signature.as_deref()?.parse().ok().filter(Value::is_object)?,
        ContentBlock::Opaque { data, .. } => data.clone(),
        ContentBlock::Image(_) | ContentBlock::Document(_) | ContentBlock::Audio(_) => return None,
    })
}
