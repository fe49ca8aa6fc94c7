//! The UI message stream of the AI SDK. Its message has all that a run answers, in steps: each turn is one.

use std::collections::HashMap;
use std::sync::Arc;

use serde::Serialize;
use serde_json::{Map, Value};

use super::blocks::{Blocks, Kind};
use super::frame::frame;
use super::options::UiOptions;
use super::subagents::subagent;
use crate::conversion::{ui_metadata, ui_output};
use crate::error::Error;
use crate::event::{Event, EventData, MessageUpdate};
use crate::message::{AssistantMessage, ContentBlock, Message, joined_text};
use crate::tool::ToolOutput;
use crate::usage::{Outcome, StopReason, Usage};

#[derive(Debug)]
pub(super) struct AiSdkStream {
    options: UiOptions,
    /// How many assistant messages have begun; ids of blocks are made of it.
    messages: u32,
    is_in_step: bool,
    /// The wire format of the message, which its signatures are of.
    protocol: String,
    stop_reason: Option<StopReason>,
    blocks: Blocks,
    /// The calls that the browser has from this stream, and their arguments.
    calls: HashMap<String, Option<Arc<Map<String, Value>>>>,
}

/// The data of `finish`, for the message in the browser.
#[derive(Serialize)]
struct Metadata<'a> {
    outcome: Outcome,
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<Tokens>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<&'a Value>,
}

/// Tokens as the AI SDK counts them: what was read from a cache is part of the input.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Tokens {
    input_tokens: u64,
    output_tokens: u64,
    total_tokens: u64,
    reasoning_tokens: u64,
    cached_input_tokens: u64,
}

impl Tokens {
    pub(super) fn of(usage: &Usage) -> Tokens {
        // JavaScript has no larger whole numbers.
        let count = |tokens: u64| tokens.min((1 << 53) - 1);
        Tokens {
            input_tokens: count(usage.input.saturating_add(usage.cache_read).saturating_add(usage.cache_write)),
            output_tokens: count(usage.output),
            total_tokens: count(usage.total),
            reasoning_tokens: count(usage.reasoning),
            cached_input_tokens: count(usage.cache_read),
        }
    }
}

impl AiSdkStream {
    pub(super) fn new(options: UiOptions) -> AiSdkStream {
        AiSdkStream {
            options,
            messages: 0,
            is_in_step: false,
            protocol: String::new(),
            stop_reason: None,
            blocks: Blocks::default(),
            calls: HashMap::new(),
        }
    }

    pub(super) fn options(&self) -> &UiOptions {
        &self.options
    }

    pub(super) fn push(&mut self, event: &Event, out: &mut String) {
        match &event.data {
            EventData::MessageUpdate(update) => self.update(update, out),
            EventData::AgentStart => frame(out, "start").maybe("messageId", self.options.message_id.as_ref()).end(),
            EventData::MessageStart { message } => match &**message {
                Message::Assistant(assistant) => self.begin(assistant, out),
                // The browser has what the user has sent before the first answer.
                Message::User(user) if self.messages > 0 && !message.is_correction() => {
                    self.end_step(out);
                    let value = Map::from_iter([("content".to_owned(), ui_blocks(&user.content))]);
                    frame(out, "data-user-message").maybe("id", user.id.as_ref()).field("data", &value).end();
                }
                _ => {}
            },
            EventData::MessageEnd { message } => {
                if let Some(assistant) = message.as_assistant() {
                    self.stop_reason = assistant.stop_reason;
                    self.close_blocks(out);
                }
            }
            EventData::ToolExecutionStart { tool_call_id, tool_name, arguments } => {
                self.introduce(tool_call_id, tool_name, arguments, out);
            }
            EventData::ToolExecutionUpdate { tool_call_id, partial_result, .. } => {
                let output = ui_output(&partial_result.content);
                frame(out, "tool-output-available")
                    .field("toolCallId", tool_call_id)
                    .field("output", &output)
                    .field("preliminary", &true)
                    .end();
            }
            EventData::ToolExecutionEnd { tool_call_id, result, is_error, .. } => {
                self.answer(tool_call_id, result, *is_error, out);
            }
            EventData::ToolCallSuspended { tool_call_id, tool_name, arguments, reason } => {
                // Whoever approves sees what will run, which need not be what the model has asked for.
                if self.calls.get(&**tool_call_id).and_then(Option::as_deref) != Some(arguments) {
                    input(tool_call_id, tool_name, arguments, out);
                }
                if !self.options.is_client_tool(tool_name) {
                    frame(out, "tool-approval-request")
                        .field("approvalId", tool_call_id)
                        .field("toolCallId", tool_call_id)
                        .field("reason", reason)
                        .end();
                }
            }
            EventData::TurnEnd { .. } => self.end_step(out),
            EventData::AgentEnd { outcome, error, usage, output, .. } => {
                self.end_step(out);
                let metadata = Metadata {
                    outcome: *outcome,
                    usage: self.options.usage.then(|| Tokens::of(usage)),
                    output: output.as_deref(),
                };
                self.finish(&metadata, error.as_ref(), out);
            }
            EventData::SubagentEvent { tool_call_id, path, event, .. } => {
                if let Some(data) = subagent(tool_call_id, path, event, &self.options) {
                    frame(out, "data-subagent").field("data", &data).field("transient", &true).end();
                }
            }
            EventData::TurnStart | EventData::Retry { .. } | EventData::Diagnostic { .. } | EventData::Raw { .. } => {}
        }
    }

    fn begin(&mut self, message: &AssistantMessage, out: &mut String) {
        self.messages += 1;
        self.protocol.clone_from(&message.protocol);
        self.end_step(out);
        self.is_in_step = true;
        frame(out, "start-step").end();
    }

    fn end_step(&mut self, out: &mut String) {
        if std::mem::take(&mut self.is_in_step) {
            frame(out, "finish-step").end();
        }
    }

    fn update(&mut self, update: &MessageUpdate, out: &mut String) {
        match update {
            MessageUpdate::TextDelta { content_index, delta } | MessageUpdate::ThinkingDelta { content_index, delta } => {
                if let Some(block) = self.blocks.get(*content_index) {
                    let kind = if block.kind == Kind::Text { "text-delta" } else { "reasoning-delta" };
                    frame(out, kind).field("id", &block.id).field("delta", delta).end();
                }
            }
            MessageUpdate::ToolCallDelta { content_index, delta } => {
                if let Some(block) = self.blocks.get(*content_index) {
                    frame(out, "tool-input-delta").field("toolCallId", &block.id).field("inputTextDelta", delta).end();
                }
            }
            MessageUpdate::TextStart { content_index } => self.start(*content_index, Kind::Text, out),
            MessageUpdate::ThinkingStart { content_index } => {
                if self.options.reasoning {
                    self.start(*content_index, Kind::Thinking, out);
                }
            }
            MessageUpdate::ToolCallStart { content_index, id, name } => {
                self.blocks.begin(*content_index, Kind::Call, id.clone());
                self.calls.insert(id.clone(), None);
                frame(out, "tool-input-start").field("toolCallId", id).field("toolName", name).end();
            }
            MessageUpdate::TextEnd { content_index, block }
            | MessageUpdate::ThinkingEnd { content_index, block }
            | MessageUpdate::ToolCallEnd { content_index, block } => self.end(*content_index, block, out),
        }
    }

    fn start(&mut self, index: u32, kind: Kind, out: &mut String) {
        let id = format!("{}-{index}", self.messages);
        frame(out, if kind == Kind::Text { "text-start" } else { "reasoning-start" }).field("id", &id).end();
        self.blocks.begin(index, kind, id);
    }

    fn end(&mut self, index: u32, block: &ContentBlock, out: &mut String) {
        let Some(begun) = self.blocks.end(index) else { return };
        let metadata = if self.options.signatures { ui_metadata(&self.protocol, block) } else { None };
        let metadata = metadata.as_ref();
        match block {
            ContentBlock::ToolCall(call) => match &call.raw_arguments {
                None => {
                    self.calls.insert(call.id.clone(), Some(Arc::clone(&call.arguments)));
                    frame(out, "tool-input-available")
                        .field("toolCallId", &call.id)
                        .field("toolName", &call.name)
                        .field("input", &*call.arguments)
                        .maybe("providerMetadata", metadata)
                        .end();
                }
                Some(raw) => frame(out, "tool-input-error")
                    .field("toolCallId", &call.id)
                    .field("toolName", &call.name)
                    .field("input", raw)
                    .field("errorText", "The arguments are not valid JSON.")
                    .maybe("providerMetadata", metadata)
                    .end(),
            },
            _ => {
                let kind = if begun.kind == Kind::Text { "text-end" } else { "reasoning-end" };
                frame(out, kind).field("id", &begun.id).maybe("providerMetadata", metadata).end();
            }
        }
    }

    /// Ends what a failed or aborted message has left open. A call stays as it is: it has no result.
    fn close_blocks(&mut self, out: &mut String) {
        for block in self.blocks.end_all() {
            match block.kind {
                Kind::Text => frame(out, "text-end").field("id", &block.id).end(),
                Kind::Thinking => frame(out, "reasoning-end").field("id", &block.id).end(),
                Kind::Call => {}
            }
        }
    }

    /// Makes a call known that an earlier run has left, unless the browser has it: outputs of unknown calls are errors there.
    fn introduce(&mut self, id: &Arc<str>, name: &Arc<str>, arguments: &Map<String, Value>, out: &mut String) {
        if !self.options.continues && !self.calls.contains_key(&**id) {
            self.calls.insert(id.to_string(), None);
            input(id, name, arguments, out);
        }
    }

    fn answer(&self, id: &str, result: &ToolOutput, is_error: bool, out: &mut String) {
        if !is_error {
            let output = ui_output(&result.content);
            frame(out, "tool-output-available").field("toolCallId", id).field("output", &output).end();
        } else if self.options.denied.iter().any(|denied| denied == id) {
            frame(out, "tool-output-denied").field("toolCallId", id).end();
        } else {
            let text = joined_text(&result.content);
            frame(out, "tool-output-error").field("toolCallId", id).field("errorText", self.options.shown(&text)).end();
        }
    }

    fn finish(&self, metadata: &Metadata<'_>, error: Option<&Error>, out: &mut String) {
        let reason = match (metadata.outcome, self.stop_reason) {
            (Outcome::Error, _) => "error",
            (Outcome::Suspended, _) | (_, Some(StopReason::ToolUse)) => "tool-calls",
            (_, Some(StopReason::Stop)) => "stop",
            (_, Some(StopReason::Length)) => "length",
            (_, Some(StopReason::Refusal)) => "content-filter",
            (_, Some(StopReason::Error | StopReason::Aborted) | None) => "other",
        };
        match (metadata.outcome, error) {
            (Outcome::Aborted, _) => {
                // The browser reads no metadata of what it has aborted itself.
                frame(out, "message-metadata").field("messageMetadata", metadata).end();
                frame(out, "abort").end();
            }
            (Outcome::Error, Some(error)) => {
                // It stops at the error.
                frame(out, "message-metadata").field("messageMetadata", metadata).end();
                frame(out, "error").field("errorText", self.options.shown(error.message())).end();
                frame(out, "finish").field("finishReason", reason).end();
            }
            _ => frame(out, "finish").field("finishReason", reason).field("messageMetadata", metadata).end(),
        }
        out.push_str("data: [DONE]\n\n");
    }
}

/// Texts and images as they are; the browser has no other blocks of a user.
fn ui_blocks(content: &[ContentBlock]) -> Value {
    serde_json::to_value(content).unwrap_or_default()
}

fn input(id: &str, name: &str, arguments: &Map<String, Value>, out: &mut String) {
    frame(out, "tool-input-available").field("toolCallId", id).field("toolName", name).field("input", arguments).end();
}
