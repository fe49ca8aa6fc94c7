//! Transcript repair: makes any transcript fit any model, at the level of canonical messages. It runs before every request; it is
//! public for transcripts from elsewhere, and to check one before it is used.
//!
//! Messages that failed are left out, with the results of their calls. Each call has one result, right behind the message that
//! made it and in the order of the calls; a missing one is replaced by an error result, and results without a call are left out.
//! Thinking goes only to the model that wrote it (else it becomes text, or is dropped when hidden or empty), and so do signatures
//! and opaque blocks. Ids of calls are made valid for the model, the same way in calls and results, and depending only on what
//! stands before them, so that what a provider has cached stays valid; names of tools that no server takes are made valid, too.
//! Images become a line of text for a model that reads none, or none of their kind. Empty blocks and messages are dropped.
//!
//! Not done here, as it needs the wire format: merging neighbours of one role, and images in results where only text is taken.
//!
//! ```
//! use agent_loop_proto::message::Message;
//! use agent_loop_proto::model_spec::ModelSpec;
//! use agent_loop_proto::provider::Served;
//! use agent_loop_proto::transcript;
//! let transcript: Vec<Message> = serde_json::from_str(r#"[{"role": "user", "content": "hi"},
//!     {"role": "assistant", "content": [{"type": "tool_call", "id": "a b", "name": "t"}]}]"#).unwrap();
//! let transcript: Vec<_> = transcript.into_iter().map(std::sync::Arc::new).collect();
//! let model = ModelSpec::parse("anthropic/claude-sonnet-4-5").unwrap();
//! let constraints = Served::of(&model, None, &|_| None).unwrap().constraints(&model);
//! let repaired = transcript::repair(&transcript, &constraints);
//! assert_eq!(repaired.messages.len(), 3);
//! assert_eq!(repaired.repairs[0].text, "the call id \"a b\" became \"a_b\"");
//! ```

mod blocks;
mod constraints;
mod ids;
mod log;
mod results;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use self::blocks::Blocks;
pub use self::constraints::Constraints;
use self::ids::Ids;
use self::log::Log;
pub use self::log::Repair;
use self::results::{Results, failed};
use crate::message::{AssistantMessage, ContentBlock, Message, ToolCall, ToolResultMessage, UserMessage};

/// A transcript that fits, and what was done to it.
#[derive(Debug, Clone, PartialEq)]
pub struct Repaired {
    /// The messages; those that needed no repair are shared.
    pub messages: Vec<Arc<Message>>,
    /// In the order of the transcript.
    pub repairs: Vec<Repair>,
}

/// The repairs that the transcript needs to fit; none when it fits.
pub fn check(transcript: &[Arc<Message>], fit: &Constraints) -> Vec<Repair> {
    repair(transcript, fit).repairs
}

/// The transcript made to fit. Messages of custom roles are left out without a report, as a model never sees them; the
/// roles `system`, `developer`, `tool`, `function` and `model`, which come from another format, are reported.
pub fn repair(transcript: &[Arc<Message>], fit: &Constraints) -> Repaired {
    let mut out = Vec::with_capacity(transcript.len());
    let mut log = Log::default();
    let mut ids = Ids::new(fit.call_ids);
    let mut results = Results::of(transcript);
    for (at, message) in transcript.iter().enumerate() {
        match &**message {
            Message::User(user) => out.extend(fitted_user(message, user, at, fit, &mut log)),
            Message::Assistant(assistant) if failed(assistant) => {
                log.note("failed_message", at, None, || "the message failed or was aborted; it was left out".to_owned());
            }
            Message::Assistant(assistant) => {
                let Some(fitted) = fitted_assistant(message, assistant, at, fit, &mut ids, &mut log) else {
                    continue;
                };
                out.push(Arc::clone(&fitted));
                // Results are looked for by the ids as they were, and stand under those they have now.
                let now = fitted.as_assistant().into_iter().flat_map(AssistantMessage::tool_calls);
                let called = assistant.content.iter().enumerate().filter_map(|(block, content)| match content {
                    ContentBlock::ToolCall(call) => Some((block, call)),
                    _ => None,
                });
                for ((block, call), ToolCall { id, name, .. }) in called.zip(now) {
                    let result = match results.take(at, &call.id) {
                        Some((place, result)) => fitted_result(result, place, id, name, fit, &mut log),
                        None => {
                            let text =
                                || format!("the call {:?} of {} has no result; an error result says so", call.id, call.name);
                            log.note("missing_result", at, Some(block), text);
                            Arc::new(Message::ToolResult(results::missing(id, name, assistant.timestamp)))
                        }
                    };
                    out.push(results::shortened(result, fit.max_result_bytes));
                }
            }
            Message::Custom(_) => {
                if let Some(advice) = foreign_role(message.role()) {
                    let text =
                        || format!("the role {:?} is another format's; the message was left out; {advice}", message.role());
                    log.note("foreign_role", at, None, text);
                }
            }
            // Moved behind the message that made the call; the others are reported below.
            Message::ToolResult(_) => {}
        }
    }
    results.report_strays(&mut log);
    log.0.sort_by_key(|repair| repair.message_index);
    Repaired { messages: out, repairs: log.0 }
}

/// The advice for a role of the wire formats, which is unlikely to be a custom role.
fn foreign_role(role: &str) -> Option<&'static str> {
    Some(match role {
        "system" | "developer" => "use the system prompt for instructions",
        "tool" | "function" => "a tool's result has the role \"tool_result\", with tool_call_id and tool_name",
        "model" => "what the model said has the role \"assistant\"",
        _ => return None,
    })
}

fn fitted_user(message: &Arc<Message>, user: &UserMessage, at: usize, fit: &Constraints, log: &mut Log) -> Option<Arc<Message>> {
    let blocks = Blocks { fit, at, log };
    match blocks.of_user_or_tool(&user.content, true) {
        None => Some(Arc::clone(message)),
        Some(content) if content.is_empty() => empty_message(at, log),
        Some(content) => Some(Arc::new(Message::User(UserMessage { content, timestamp: user.timestamp }))),
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
    log.note("empty_message", at, None, || "nothing of the message is left for the model; it was left out".to_owned());
    None
}
