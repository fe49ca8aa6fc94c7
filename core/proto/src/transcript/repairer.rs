//! The repair itself, message by message.

use crate::table::codes;
use std::sync::Arc;

use super::blocks::Blocks;
use super::constraints::Constraints;
use super::ids::Ids;
use super::log::{Log, Repair};
use super::results::{Calls, shortened};
use crate::message::{
    AssistantMessage, Message, ToolResultMessage, UserMessage, foreign_role, similar_role, unknown_fields,
};

/// A transcript that fits, and what was done to it.
#[derive(Debug, Clone, PartialEq)]
pub struct Repaired {
    /// The messages; those that needed no repair are shared.
    pub messages: Vec<Arc<Message>>,
    /// In the order of the transcript.
    pub repairs: Vec<Repair>,
}

/// Repairs a transcript message by message. What stands before the last message that called tools is final; results of its calls
/// may still come.
#[derive(Debug, Clone)]
pub(super) struct Repairer {
    pub(super) fit: Constraints,
    /// How many messages were added.
    count: usize,
    /// The repaired messages up to the calls that may still be answered, these included.
    done: Vec<Arc<Message>>,
    calls: Calls,
    /// The repaired messages behind the results of these calls.
    rest: Vec<Arc<Message>>,
    ids: Ids,
    log: Log,
}

impl Repairer {
    pub(super) fn new(fit: Constraints) -> Repairer {
        let ids = Ids::new(fit.call_ids);
        Repairer { fit, count: 0, done: Vec::new(), calls: Calls::default(), rest: Vec::new(), ids, log: Log::default() }
    }

    /// Takes the next message in.
    pub(super) fn add(&mut self, message: &Arc<Message>) {
        let at = self.count;
        self.count += 1;
        let Repairer { fit, log, .. } = self;
        if let Some(unknown) = unknown_fields(message) {
            let names: Vec<&str> = unknown.keys().map(String::as_str).collect();
            let text = || format!("{} is not known in a message; it is kept in metadata.unknown and not sent", names.join(", "));
            log.note(codes::UNKNOWN_FIELD, at, None, text);
        }
        match &**message {
            Message::User(user) => self.rest.extend(fitted_user(message, user, at, fit, log)),
            Message::Assistant(assistant) if assistant.has_failed() => {
                self.calls.add_failed(assistant);
                log.note(codes::FAILED_MESSAGE, at, None, || "the message failed or was aborted; it was left out".to_owned());
            }
            Message::Assistant(assistant) => {
                // Only the last message of the model can still be answered.
                std::mem::take(&mut self.calls).write(fit, log, &mut self.done);
                self.done.append(&mut self.rest);
                if let Some(fitted) = fitted_assistant(message, assistant, at, fit, &mut self.ids, log) {
                    self.calls = Calls::new(at, assistant, fitted.as_assistant());
                    self.done.push(fitted);
                }
            }
            Message::Custom(_) => {
                let role = message.role();
                if let Some(advice) = foreign_role(role) {
                    let text = || format!("the role {role:?} is another format's; the message was left out; {advice}");
                    log.note(codes::FOREIGN_ROLE, at, None, text);
                } else if let Some(meant) = similar_role(role) {
                    let text = || format!("the role {role:?} is a custom one; the message was left out; did you mean {meant:?}?");
                    log.note(codes::SIMILAR_ROLE, at, None, text);
                }
            }
            Message::ToolResult(result) => {
                let taken = self.calls.take(&result.tool_call_id, |id, name| {
                    shortened(fitted_result(message, at, id, name, fit, log), fit.max_result_bytes)
                });
                if !taken {
                    log.note(codes::STRAY_RESULT, at, None, || {
                        let id = &result.tool_call_id;
                        format!("the result answers no call {id:?} that is still open; it was left out")
                    });
                }
            }
        }
    }

    /// The messages so far, with an error result for each call that has none yet.
    pub(super) fn repaired(&mut self) -> Repaired {
        let mut messages = Vec::with_capacity(self.done.len() + self.calls.len() + self.rest.len());
        messages.extend_from_slice(&self.done);
        let mut log = self.log.clone();
        self.calls.write(&self.fit, &mut log, &mut messages);
        messages.extend_from_slice(&self.rest);
        Repaired { messages, repairs: log.0 }
    }
}

fn fitted_user(message: &Arc<Message>, user: &UserMessage, at: usize, fit: &Constraints, log: &mut Log) -> Option<Arc<Message>> {
    let blocks = Blocks { fit, at, log };
    match blocks.of_user_or_tool(&user.content, true) {
        None => Some(Arc::clone(message)),
        Some(content) if content.is_empty() => empty_message(at, log),
        Some(content) => Some(Arc::new(Message::User(UserMessage { content, ..user.clone() }))),
    }
}

fn fitted_assistant(
    message: &Arc<Message>,
    assistant: &AssistantMessage,
    at: usize,
    fit: &Constraints,
    ids: &mut Ids,
    log: &mut Log,
) -> Option<Arc<Message>> {
    let blocks = Blocks { fit, at, log };
    match blocks.of_assistant(&assistant.content, fit.made(assistant), ids) {
        None => Some(Arc::clone(message)),
        Some(content) if content.is_empty() => empty_message(at, log),
        Some(content) => Some(Arc::new(Message::Assistant(AssistantMessage { content, ..assistant.clone() }))),
    }
}

fn fitted_result(message: &Arc<Message>, at: usize, id: &str, name: &str, fit: &Constraints, log: &mut Log) -> Arc<Message> {
    let Message::ToolResult(result) = &**message else {
        return Arc::clone(message);
    };
    let blocks = Blocks { fit, at, log };
    // An empty result is one, too: it says that there was no output.
    let content = blocks.of_user_or_tool(&result.content, false).filter(|content| *content != result.content);
    if content.is_none() && result.tool_call_id == id && result.tool_name == name {
        return Arc::clone(message);
    }
    Arc::new(Message::ToolResult(ToolResultMessage {
        tool_call_id: id.to_owned(),
        tool_name: name.to_owned(),
        content: content.unwrap_or_else(|| result.content.clone()),
        ..result.clone()
    }))
}

fn empty_message(at: usize, log: &mut Log) -> Option<Arc<Message>> {
    log.note(codes::EMPTY_MESSAGE, at, None, || "nothing of the message is left for the model; it was left out".to_owned());
    None
}
