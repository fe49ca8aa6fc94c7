//! A request's body.

use serde::Serialize;
use serde_json::Value;

use crate::message::{AssistantMessage, ContentBlock, Message, ToolResultMessage, UserMessage};
use crate::protocol::format::{self, Encoded, Target};
use crate::protocol::incremental::{MessageWriter, Messages, Style, Text, Tools};
use crate::protocol::json::{self, Object};
use crate::request::{ModelOptions, Request, ThinkingLevel};

#[derive(Debug, Default)]
pub(super) struct Encoder {
    system: Text,
    messages: Messages<Writer>,
    tools: Tools,
}

#[derive(Serialize)]
struct Model<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    provider: Option<&'a str>,
    id: &'a str,
}

#[derive(Serialize)]
struct Options<'a> {
    #[serde(flatten)]
    options: &'a ModelOptions,
    thinking_level: ThinkingLevel,
}

impl format::Encoder for Encoder {
    fn encode(&mut self, request: &Request, target: Target<'_>) -> Encoded {
        self.messages.update(&request.messages, Style { quirks: *target.quirks, thinks: false });
        let mut out = Vec::with_capacity(self.messages.json.len() + request.system_prompt.len() + 4096);
        let mut body = Object::begin(&mut out);
        let model = match target.spec.id.split_once('/') {
            Some((provider, id)) => Model { provider: Some(provider), id },
            None => Model { provider: None, id: &target.spec.id },
        };
        body.field("model", model);
        let mut context = Object::begin(body.value_of("context"));
        context.json("system_prompt", self.system.written(&request.system_prompt));
        json::list(context.value_of("messages"), [self.messages.json.as_slice()]);
        let tools = self.tools.written(&request.tools, target.quirks, |tool, _, out| json::write(out, tool));
        json::list(context.value_of("tools"), tools.iter().map(Vec::as_slice));
        context.end();
        body.field("options", Options { options: &request.options, thinking_level: request.thinking_level });
        body.end();
        Encoded { body: out, ignored: Vec::new() }
    }
}

/// The messages in canonical JSON, without what is only for the application.
#[derive(Debug, Default)]
pub(super) struct Writer;

/// A result without its details, id and metadata.
#[derive(Serialize)]
struct ToolResult<'a> {
    role: &'static str,
    tool_call_id: &'a str,
    tool_name: &'a str,
    content: &'a [ContentBlock],
    details: (),
    is_error: bool,
    timestamp: u64,
}

impl MessageWriter for Writer {
    fn add(&mut self, _index: usize, message: &Message, _style: Style, out: &mut Vec<u8>) {
        match message {
            Message::User(user) if message.is_labelled() => {
                json::item(out, Message::User(UserMessage { id: None, metadata: None, ..user.clone() }));
            }
            Message::Assistant(assistant) if message.is_labelled() => {
                json::item(out, Message::Assistant(AssistantMessage { id: None, metadata: None, ..assistant.clone() }));
            }
            Message::User(_) | Message::Assistant(_) => json::item(out, message),
            Message::ToolResult(ToolResultMessage { tool_call_id, tool_name, content, is_error, timestamp, .. }) => {
                let (is_error, timestamp) = (*is_error, *timestamp);
                json::item(
                    out,
                    ToolResult { role: "tool_result", tool_call_id, tool_name, content, details: (), is_error, timestamp },
                );
            }
            Message::Custom(map) => {
                let mut map = map.clone();
                if let Some(details) = map.get_mut("details") {
                    *details = Value::Null;
                }
                json::item(out, map);
            }
        }
    }
}
