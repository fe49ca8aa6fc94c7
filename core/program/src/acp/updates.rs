//! The events of a run as updates of an editor.

use std::collections::HashMap;
use std::sync::Arc;

use agent_client_protocol::Client;
use agent_client_protocol::v1::ConnectionTo;
use agent_client_protocol::v1::schema::{
    ContentBlock as Shown, ContentChunk, Cost, SessionUpdate, ToolCall, ToolCallStatus, ToolCallUpdate, ToolCallUpdateFields,
    UsageUpdate,
};
use agent_loop::message::{ContentBlock, Message};
use agent_loop::{Event, EventData, MessageUpdate, Outcome, Usage};
use serde_json::{Map, Value};

use super::calls::{Calls, plan_of};
use super::config;
use super::session::Session;

/// Shows a run. It lives as long as a turn: calls that wait go on in another run.
pub(super) struct Updates<'a> {
    session: &'a Session,
    connection: &'a ConnectionTo<Client>,
    calls: Calls,
    /// Calls that the editor shows as not done, with their arguments as far as they are known.
    open: HashMap<String, Arc<Map<String, Value>>>,
}

impl<'a> Updates<'a> {
    pub(super) fn new(session: &'a Session, connection: &'a ConnectionTo<Client>) -> Updates<'a> {
        Updates { session, connection, calls: Calls::of(&session.agent), open: HashMap::new() }
    }

    fn send(&self, update: SessionUpdate) {
        self.session.show(self.connection, update);
    }

    fn change(&self, id: &str, fields: ToolCallUpdateFields) {
        self.send(SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(id.to_owned(), fields)));
    }

    /// A text of the agent's.
    pub(super) fn say(&self, text: &str) {
        self.send(SessionUpdate::AgentMessageChunk(ContentChunk::new(text.into())));
    }

    pub(super) fn user(&self, block: Shown) {
        self.send(SessionUpdate::UserMessageChunk(ContentChunk::new(block)));
    }

    pub(super) fn think(&self, text: &str) {
        self.send(SessionUpdate::AgentThoughtChunk(ContentChunk::new(text.into())));
    }

    pub(super) async fn event(&mut self, event: &Event) {
        match &event.data {
            EventData::MessageUpdate(update) => self.part(update),
            EventData::MessageEnd { message } => self.message(message),
            // Middleware, or another agent, may have changed what there is.
            EventData::TurnStart => self.calls = Calls::of(&self.session.agent),
            EventData::ToolExecutionStart { tool_call_id, tool_name, arguments } if !self.calls.is_plan(tool_name) => {
                self.began(tool_call_id, tool_name, arguments);
                self.change(tool_call_id, ToolCallUpdateFields::new().status(ToolCallStatus::InProgress));
            }
            EventData::ToolExecutionUpdate { tool_call_id, tool_name, partial_result, .. } if !self.calls.is_plan(tool_name) => {
                let content = self.calls.content(tool_name, &partial_result.content, false);
                self.change(tool_call_id, ToolCallUpdateFields::new().content(content));
            }
            EventData::ToolCallSuspended { tool_call_id, tool_name, arguments, .. } => {
                self.began(tool_call_id, tool_name, arguments);
                self.open.insert(tool_call_id.to_string(), Arc::clone(arguments));
                self.change(tool_call_id, self.calls.fields(tool_name, arguments).status(ToolCallStatus::Pending));
            }
            EventData::ToolExecutionEnd { tool_call_id, tool_name, result, is_error, .. } => {
                self.ended(tool_call_id, tool_name, &result.content, &result.details, *is_error).await;
            }
            EventData::AgentEnd { outcome, .. } if *outcome != Outcome::Suspended => self.fail_open(|_| true),
            _ => {}
        }
    }

    fn part(&mut self, update: &MessageUpdate) {
        match update {
            MessageUpdate::TextDelta { delta, .. } if !delta.is_empty() => self.say(delta),
            MessageUpdate::ThinkingDelta { delta, .. } if !delta.is_empty() => self.think(delta),
            MessageUpdate::ToolCallStart { id, name, .. } if !self.calls.is_plan(name) => {
                let call = ToolCall::new(id.clone(), name).kind(self.calls.kind(name)).status(ToolCallStatus::Pending);
                self.open.insert(id.clone(), Arc::default());
                self.send(SessionUpdate::ToolCall(call));
            }
            MessageUpdate::ToolCallEnd { block, .. } => {
                if let ContentBlock::ToolCall(call) = &**block
                    && self.open.contains_key(&call.id)
                {
                    self.open.insert(call.id.clone(), Arc::clone(&call.arguments));
                    self.change(&call.id, self.calls.fields(&call.name, &call.arguments));
                }
            }
            _ => {}
        }
    }

    /// A message is complete.
    fn message(&mut self, message: &Message) {
        let Some(answer) = message.as_assistant() else { return };
        if answer.has_failed() {
            // Its calls are not made; a retry has others.
            self.fail_open(|_| true);
        }
        self.usage();
    }

    /// Shows a call that the editor does not know: one of a stored conversation, or of a message that did not come as a stream.
    fn began(&mut self, id: &str, tool: &str, arguments: &Arc<Map<String, Value>>) {
        if !self.open.contains_key(id) {
            self.call(id, tool, arguments);
        }
    }

    /// Shows a call.
    pub(super) fn call(&mut self, id: &str, tool: &str, arguments: &Arc<Map<String, Value>>) {
        if self.calls.is_plan(tool) {
            return;
        }
        self.open.insert(id.to_owned(), Arc::clone(arguments));
        let call = ToolCall::new(id.to_owned(), tool).status(ToolCallStatus::Pending);
        let mut call = call.kind(self.calls.kind(tool));
        call.update(self.calls.fields(tool, arguments));
        self.send(SessionUpdate::ToolCall(call));
    }

    /// Shows what came of a call.
    pub(super) async fn ended(&mut self, id: &str, tool: &str, content: &[ContentBlock], details: &Value, is_error: bool) {
        let arguments = self.open.remove(id).unwrap_or_default();
        if self.calls.is_plan(tool) {
            if let Some(plan) = plan_of(details) {
                self.send(SessionUpdate::Plan(plan));
            }
            return;
        }
        let shown = self.calls.result(tool, &arguments, content, details, is_error).await;
        let status = if is_error { ToolCallStatus::Failed } else { ToolCallStatus::Completed };
        let mut fields = ToolCallUpdateFields::new().status(status).content(shown);
        // What a write keeps is for taking it back.
        if !details.is_null() && details.get("write").is_none() {
            fields = fields.raw_output(details.clone());
        }
        self.change(id, fields);
    }

    /// Calls of which nothing comes any more.
    pub(super) fn fail_open(&mut self, is_gone: impl Fn(&str) -> bool) {
        let gone: Vec<String> = self.open.keys().filter(|id| is_gone(id)).cloned().collect();
        for id in gone {
            self.open.remove(&id);
            self.change(&id, ToolCallUpdateFields::new().status(ToolCallStatus::Failed));
        }
    }

    /// What of the model's context is used, and what the conversation has cost.
    pub(super) fn usage(&self) {
        let Some(size) = config::context_window(self.session) else { return };
        let messages = self.session.agent.messages();
        let parts: Vec<&Usage> = messages.iter().filter_map(|message| Some(&message.as_assistant()?.usage)).collect();
        let Some(used) = parts.last().map(|usage| usage.total).filter(|total| *total > 0) else { return };
        let cost = Usage::sum(parts).cost.map(|cost| Cost::new(cost.total, "USD"));
        self.send(SessionUpdate::UsageUpdate(UsageUpdate::new(used, size).cost(cost)));
    }
}
