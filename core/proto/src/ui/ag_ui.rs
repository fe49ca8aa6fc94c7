//! The events of AG-UI. Its assistant message has one text and all calls; a further text is a message of its own.

use std::sync::Arc;

use serde_json::{Value, json};

use super::ai_sdk::Tokens;
use super::blocks::{Block, Blocks, Kind};
use super::frame::frame;
use super::options::UiOptions;
use super::subagents::subagent;
use crate::error::Error;
use crate::event::{Event, EventData, MessageUpdate};
use crate::message::{Message, joined_text};
use crate::suspension::SuspendedCall;
use crate::usage::{Outcome, Usage};

#[derive(Debug)]
pub(super) struct AgUiStream {
    options: UiOptions,
    /// Our id of the run, of which ids of messages are made.
    own_id: Arc<str>,
    /// How many messages have begun.
    messages: u32,
    /// The id of the assistant message, and whether a text has it.
    message_id: String,
    has_text: bool,
    blocks: Blocks,
}

impl AgUiStream {
    pub(super) fn new(options: UiOptions) -> AgUiStream {
        let (own_id, message_id, blocks) = (Arc::from(""), String::new(), Blocks::default());
        AgUiStream { options, own_id, messages: 0, message_id, has_text: false, blocks }
    }

    pub(super) fn options(&self) -> &UiOptions {
        &self.options
    }

    pub(super) fn push(&mut self, event: &Event, out: &mut String) {
        match &event.data {
            EventData::MessageUpdate(update) => self.update(update, out),
            EventData::AgentStart => {
                self.own_id = Arc::clone(&event.run_id);
                let (thread_id, run_id) = self.ids();
                frame(out, "RUN_STARTED").field("threadId", thread_id).field("runId", run_id).end();
            }
            EventData::MessageStart { message } => match &**message {
                Message::Assistant(_) => {
                    self.message_id = self.next_id();
                    self.has_text = false;
                }
                // The browser has what the user has sent before the first answer.
                Message::User(user) if self.messages > 0 && !message.is_correction() => {
                    let id = user.id.clone().unwrap_or_else(|| self.next_id());
                    frame(out, "TEXT_MESSAGE_START").field("messageId", &id).field("role", "user").end();
                    let text = joined_text(&user.content);
                    if !text.is_empty() {
                        frame(out, "TEXT_MESSAGE_CONTENT").field("messageId", &id).field("delta", &text).end();
                    }
                    frame(out, "TEXT_MESSAGE_END").field("messageId", &id).end();
                }
                _ => {}
            },
            // A message that was aborted or has failed leaves blocks open, which a run may not.
            EventData::MessageEnd { .. } => {
                for block in self.blocks.end_all() {
                    end(&block, out);
                }
            }
            EventData::ToolExecutionUpdate { tool_call_id, tool_name, partial_result, .. } => {
                let value = json!({
                    "toolCallId": &**tool_call_id,
                    "toolCallName": &**tool_name,
                    "content": partial_result.text(),
                });
                frame(out, "CUSTOM").field("name", "tool_execution_update").field("value", &value).end();
            }
            EventData::ToolExecutionEnd { tool_call_id, result, is_error, .. } => {
                let (id, text) = (self.next_id(), joined_text(&result.content));
                let text = if *is_error { self.options.shown(&text) } else { &text };
                frame(out, "TOOL_CALL_RESULT")
                    .field("messageId", &id)
                    .field("toolCallId", tool_call_id)
                    .field("content", text)
                    .field("role", "tool")
                    .end();
            }
            EventData::AgentEnd { outcome, error, usage, output, pending, .. } => match (outcome, error) {
                (Outcome::Error, Some(error)) => self.fail(error, usage, out),
                _ => self.finish(*outcome, output.as_deref(), pending.as_deref().unwrap_or_default(), usage, out),
            },
            EventData::SubagentEvent { tool_call_id, path, event, .. } => {
                if let Some(data) = subagent(tool_call_id, path, event, &self.options) {
                    frame(out, "CUSTOM").field("name", "subagent").field("value", &data).end();
                }
            }
            EventData::TurnStart
            | EventData::TurnEnd { .. }
            | EventData::ToolExecutionStart { .. }
            | EventData::ToolCallSuspended { .. }
            | EventData::Retry { .. }
            | EventData::Diagnostic { .. }
            | EventData::Raw { .. } => {}
        }
    }

    fn ids(&self) -> (&str, &str) {
        let run_id = self.options.run_id.as_deref().unwrap_or(&self.own_id);
        (self.options.thread_id.as_deref().unwrap_or(run_id), run_id)
    }

    fn next_id(&mut self) -> String {
        self.messages += 1;
        format!("{}-{}", self.own_id, self.messages)
    }

    fn update(&mut self, update: &MessageUpdate, out: &mut String) {
        match update {
            MessageUpdate::TextDelta { content_index, delta }
            | MessageUpdate::ThinkingDelta { content_index, delta }
            | MessageUpdate::ToolCallDelta { content_index, delta } => {
                let Some(block) = self.blocks.get(*content_index) else { return };
                block.is_empty = false;
                let (kind, name) = match block.kind {
                    Kind::Text => ("TEXT_MESSAGE_CONTENT", "messageId"),
                    Kind::Thinking => ("REASONING_MESSAGE_CONTENT", "messageId"),
                    Kind::Call => ("TOOL_CALL_ARGS", "toolCallId"),
                };
                frame(out, kind).field(name, &block.id).field("delta", delta).end();
            }
            MessageUpdate::TextStart { content_index } => {
                let is_first = !std::mem::replace(&mut self.has_text, true);
                let id = if is_first { self.message_id.clone() } else { format!("{}-{content_index}", self.message_id) };
                frame(out, "TEXT_MESSAGE_START").field("messageId", &id).field("role", "assistant").end();
                self.blocks.begin(*content_index, Kind::Text, id);
            }
            MessageUpdate::ThinkingStart { content_index } => {
                if self.options.reasoning {
                    let id = format!("{}-{content_index}", self.message_id);
                    frame(out, "REASONING_START").field("messageId", &id).end();
                    frame(out, "REASONING_MESSAGE_START").field("messageId", &id).field("role", "reasoning").end();
                    self.blocks.begin(*content_index, Kind::Thinking, id);
                }
            }
            MessageUpdate::ToolCallStart { content_index, id, name } => {
                frame(out, "TOOL_CALL_START")
                    .field("toolCallId", id)
                    .field("toolCallName", name)
                    .field("parentMessageId", &self.message_id)
                    .end();
                self.blocks.begin(*content_index, Kind::Call, id.clone());
            }
            MessageUpdate::TextEnd { content_index, .. }
            | MessageUpdate::ThinkingEnd { content_index, .. }
            | MessageUpdate::ToolCallEnd { content_index, .. } => {
                if let Some(block) = self.blocks.end(*content_index) {
                    if block.kind == Kind::Call && block.is_empty {
                        // Arguments that are no text are no JSON for a browser.
                        frame(out, "TOOL_CALL_ARGS").field("toolCallId", &block.id).field("delta", "{}").end();
                    }
                    end(&block, out);
                }
            }
        }
    }

    fn fail(&self, error: &Error, usage: &Usage, out: &mut String) {
        let usage = self.options.usage.then(|| [Tokens::of(usage)]);
        frame(out, "RUN_ERROR")
            .field("message", self.options.shown(error.message()))
            .field("code", error.kind().as_str())
            .maybe("usage", usage.as_ref())
            .end();
    }

    fn finish(&self, outcome: Outcome, output: Option<&Value>, pending: &[SuspendedCall], usage: &Usage, out: &mut String) {
        let (client, asked): (Vec<_>, Vec<_>) = pending.iter().partition(|call| self.options.is_client_tool(&call.tool_name));
        let outcome = if outcome == Outcome::Aborted {
            json!({ "type": "cancelled" })
        } else if !asked.is_empty() {
            json!({ "type": "interrupt", "interrupts": asked.into_iter().map(|call| self.interrupt(call)).collect::<Vec<_>>() })
        } else if !client.is_empty() {
            let ids: Vec<&str> = client.into_iter().map(|call| &*call.tool_call_id).collect();
            json!({ "type": "success", "pendingToolCallIds": ids })
        } else {
            json!({ "type": "success" })
        };
        let (thread_id, run_id) = self.ids();
        let usage = self.options.usage.then(|| [Tokens::of(usage)]);
        frame(out, "RUN_FINISHED")
            .field("threadId", thread_id)
            .field("runId", run_id)
            .maybe("result", output)
            .field("outcome", &outcome)
            .maybe("usage", usage.as_ref())
            .end();
    }

    /// A call that waits, with the answers that `UiRequest` takes.
    fn interrupt(&self, call: &SuspendedCall) -> Value {
        let mut properties = json!({ "approved": { "type": "boolean" }, "reason": { "type": "string" } });
        if let (true, Some(properties)) = (self.options.edit_arguments, properties.as_object_mut()) {
            properties.insert("editedArgs".to_owned(), json!({ "type": "object" }));
        }
        json!({
            "id": &*call.tool_call_id,
            "reason": "tool_call",
            "message": call.reason,
            "toolCallId": &*call.tool_call_id,
            "metadata": { "arguments": call.arguments },
            "responseSchema": { "type": "object", "properties": properties, "required": ["approved"] },
        })
    }
}

fn end(block: &Block, out: &mut String) {
    match block.kind {
        Kind::Text => frame(out, "TEXT_MESSAGE_END").field("messageId", &block.id).end(),
        Kind::Thinking => {
            frame(out, "REASONING_MESSAGE_END").field("messageId", &block.id).end();
            frame(out, "REASONING_END").field("messageId", &block.id).end();
        }
        Kind::Call => frame(out, "TOOL_CALL_END").field("toolCallId", &block.id).end(),
    }
}
