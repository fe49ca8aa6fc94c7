//! The repair itself, message by message.

use std::sync::Arc;

use super::blocks::Blocks;
use super::constraints::Constraints;
use super::ids::Ids;
use super::log::{Log, Repair};
use super::results::{Calls, shortened};
use crate::message::{AssistantMessage, Message, ToolResultMessage, UserMessage};
use crate::message_reader::{foreign_role, similar_role, unknown_fields};
use crate::table::codes;

/// A transcript that fits, and what was done to it.
#[derive(Debug, Clone, PartialEq)]
pub struct Repaired {
    /// The messages; those that needed no repair are shared.
    pub messages: Vec<Arc<Message>>,
    /// In the order of the transcript.
    pub repairs: Vec<Repair>,
}

/// Repairs a transcript message by message. Results may come for any call that has none yet.
#[derive(Debug, Clone)]
pub(super) struct Repairer {
    pub(super) fit: Constraints,
    /// How many messages were added.
    count: usize,
    /// The repaired messages, with a slot for the result of each call right behind the message that made it.
    messages: Vec<Arc<Message>>,
    calls: Calls,
    ids: Ids,
    log: Log,
}

impl Repairer {
    pub(super) fn new(fit: Constraints) -> Repairer {
        let ids = Ids::new(fit.call_ids);
        Repairer { fit, count: 0, messages: Vec::new(), calls: Calls::default(), ids, log: Log::default() }
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
            Message::User(user) => self.messages.extend(fitted_user(message, user, at, fit, log)),
            Message::Assistant(assistant) if assistant.has_failed() => {
                self.calls.add_failed(at, assistant);
                log.note(codes::FAILED_MESSAGE, at, None, || "the message failed or was aborted; it was left out".to_owned());
            }
            Message::Assistant(assistant) => {
                if let Some(fitted) = fitted_assistant(message, assistant, at, fit, &mut self.ids, log) {
                    self.messages.push(Arc::clone(&fitted));
                    let slot = self.messages.len();
                    let calls = fitted.as_assistant().map_or(0, |fitted| self.calls.add(at, assistant, fitted, slot));
                    // Whatever stands there is replaced by the result, or by the error for a missing one.
                    self.messages.extend(std::iter::repeat_n(fitted, calls));
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
                let taken = self.calls.take(&result.tool_call_id, &result.tool_name, |id, name| {
                    shortened(fitted_result(message, at, id, name, fit, log), fit, &result.tool_call_id)
                });
                let slot = taken.and_then(|(slot, result)| self.messages.get_mut(slot).map(|slot| *slot = result));
                if slot.is_none() {
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
        let Log(mut repairs) = self.log.clone();
        self.calls.fill_slots(&self.fit, &mut self.messages, &mut repairs);
        Repaired { messages: self.messages.clone(), repairs }
    }
}

fn fitted_user(message: &Arc<Message>, user: &UserMessage, at: usize, fit: &Constraints, log: &mut Log) -> Option<Arc<Message>> {
    let blocks = Blocks { fit, at, log };
    match blocks.of_user_or_tool(&user.content, false) {
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
    let content = blocks.of_user_or_tool(&result.content, true).filter(|content| *content != result.content);
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
