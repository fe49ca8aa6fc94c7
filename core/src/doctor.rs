//! Makes a transcript fit a model: any transcript, for any model, at the level of canonical messages. It runs before every request;
//! in public it is there for transcripts from elsewhere, and to look at one before it is used.
//!
//! Messages that failed are left out, with the results of their calls. Each call has one result, right behind the message that made
//! it and in the order of the calls; a missing one is an error result that says so, and results without a call are left out. Thinking
//! goes only to the model that wrote it (else it becomes text, or is dropped when hidden or empty), and so do signatures and opaque
//! blocks. Ids of calls are made valid for the model, the same way in calls and results, and depending only on what stands before
//! them, so that what a provider has cached stays valid; names of tools that no server takes are made valid, too. Images become a line
//! of text for a model that reads none, or none of their kind. Empty blocks and messages are dropped.
//!
//! Not done here, as it needs the wire format: merging neighbours of one role, and images in results where only text is taken.
//!
//! ```
//! use agent_loop::{Message, ModelSpec, doctor};
//! let transcript: Vec<Message> = serde_json::from_str(r#"[{"role": "user", "content": "hi"},
//!     {"role": "assistant", "content": [{"type": "tool_call", "id": "a b", "name": "t"}]}]"#).unwrap();
//! let transcript: Vec<_> = transcript.into_iter().map(std::sync::Arc::new).collect();
//! let fit = doctor::Fit::of(&ModelSpec::parse("anthropic/claude-sonnet-4-5").unwrap()).unwrap();
//! let repaired = doctor::repair(&transcript, &fit);
//! assert_eq!(repaired.messages.len(), 3);
//! assert_eq!(repaired.repairs[0].text, "the call id \"a b\" became \"a_b\"");
//! ```

mod blocks;
mod ids;
mod results;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use serde::Serialize;

use self::blocks::Blocks;
use self::ids::Ids;
use self::results::Results;
use crate::error::Error;
use crate::message::{AssistantMessage, ContentBlock, Message, ToolCall, ToolResultMessage, UserMessage};
use crate::protocol::OwnThinking;
use crate::provider::quirks::CallIds;
use crate::provider::{self, ModelSpec, Served};

/// What a transcript is to fit.
#[derive(Debug, Clone, PartialEq)]
pub struct Fit {
    pub(crate) provider: String,
    pub(crate) protocol: String,
    pub(crate) model: String,
    pub(crate) call_ids: CallIds,
    pub(crate) thinking: OwnThinking,
    /// Whether the model reads images.
    pub(crate) images: bool,
    /// The media types of images that its server takes; all when it is not known.
    pub(crate) image_types: Option<&'static [&'static str]>,
    /// The most bytes of a result's text that go to the model whole.
    pub(crate) max_result_bytes: usize,
}

impl Fit {
    /// What this model takes.
    ///
    /// # Errors
    /// As setting the model would: an unknown provider without an address, an unknown protocol or quirk.
    pub fn of(spec: &ModelSpec) -> Result<Fit, Error> {
        if spec.provider == "scripted" {
            return Ok(Fit::plain(spec, "scripted"));
        }
        let (spec, served) = provider::served(spec, None)?;
        Ok(Fit::served(&spec, &served))
    }

    /// Of a model that takes messages as they are.
    pub(crate) fn plain(spec: &ModelSpec, protocol: &str) -> Fit {
        let images = spec.input.as_ref().is_none_or(|kinds| kinds.iter().any(|kind| kind == "image"));
        Fit { images, ..Fit::named(&spec.provider, protocol, &spec.id) }
    }

    pub(crate) fn named(provider: &str, protocol: &str, model: &str) -> Fit {
        Fit {
            provider: provider.to_owned(),
            protocol: protocol.to_owned(),
            model: model.to_owned(),
            call_ids: CallIds::Any,
            thinking: OwnThinking::Kept,
            images: true,
            image_types: None,
            max_result_bytes: usize::MAX,
        }
    }

    pub(crate) fn served(spec: &ModelSpec, served: &Served) -> Fit {
        let (protocol, quirks) = (served.protocol, &served.quirks);
        let (thinking, image_types) = (protocol.own_thinking(quirks), protocol.image_types());
        Fit { call_ids: quirks.call_ids, thinking, image_types, ..Fit::plain(spec, protocol.name()) }
    }

    /// `provider/model`.
    pub(crate) fn name(&self) -> String {
        format!("{}/{}", self.provider, self.model)
    }

    /// Whether the model reads images of this kind.
    fn reads(&self, mime_type: &str) -> bool {
        self.images && self.image_types.is_none_or(|types| types.contains(&mime_type))
    }

    /// Whether the message was made by this very model.
    fn made(&self, message: &AssistantMessage) -> bool {
        message.protocol == self.protocol && message.provider == self.provider && message.model == self.model
    }
}

/// What was done. Canonical JSON: the fields in this order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Repair {
    /// A short word for programs: `failed_message`, `empty_message`, `empty_block`, `missing_result`, `stray_result`,
    /// `call_id`, `call_name`, `thinking_to_text`, `thinking_dropped`, `opaque_dropped`, `image_replaced`, `image_dropped`,
    /// `misplaced_block`, `foreign_role`.
    pub code: &'static str,
    /// Which message of the transcript, from 0.
    pub message_index: usize,
    /// Which of its blocks, from 0, where it was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content_index: Option<usize>,
    /// A sentence for people.
    pub text: String,
}

/// A transcript that fits, and what was done to it.
#[derive(Debug, Clone, PartialEq)]
pub struct Repaired {
    /// The messages; those that needed no repair are shared.
    pub messages: Vec<Arc<Message>>,
    /// In the order of the transcript.
    pub repairs: Vec<Repair>,
}

/// What would have to be done to the transcript so that it fits: nothing when it does.
pub fn check(transcript: &[Arc<Message>], fit: &Fit) -> Vec<Repair> {
    repair(transcript, fit).repairs
}

/// The transcript made to fit. Messages of an application's own roles are left out without a word, as a model never sees them; of
/// the roles `system`, `developer`, `tool`, `function` and `model`, which come from another format, that is told.
pub fn repair(transcript: &[Arc<Message>], fit: &Fit) -> Repaired {
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
            // Taken up by the message that made the call; what is left is told below.
            Message::ToolResult(_) => {}
        }
    }
    results.tell_strays(&mut log);
    log.0.sort_by_key(|repair| repair.message_index);
    Repaired { messages: out, repairs: log.0 }
}

/// What is meant by a role of the formats on the wire, which an application is not likely to have as its own.
fn foreign_role(role: &str) -> Option<&'static str> {
    Some(match role {
        "system" | "developer" => "what the model is told first is the system prompt",
        "tool" | "function" => "a tool's result has the role \"tool_result\", with tool_call_id and tool_name",
        "model" => "what the model said has the role \"assistant\"",
        _ => return None,
    })
}

fn failed(assistant: &AssistantMessage) -> bool {
    assistant.stop_reason.is_some_and(|reason| reason.is_failure())
}

fn fitted_user(message: &Arc<Message>, user: &UserMessage, at: usize, fit: &Fit, log: &mut Log) -> Option<Arc<Message>> {
    let blocks = Blocks { fit, at, log };
    match blocks.said(&user.content, true) {
        None => Some(Arc::clone(message)),
        Some(content) if content.is_empty() => empty_message(at, log),
        Some(content) => Some(Arc::new(Message::User(UserMessage { content, timestamp: user.timestamp }))),
    }
}

fn fitted_assistant(
    message: &Arc<Message>,
    assistant: &AssistantMessage,
    at: usize,
    fit: &Fit,
    ids: &mut Ids,
    log: &mut Log,
) -> Option<Arc<Message>> {
    let blocks = Blocks { fit, at, log };
    match blocks.answered(&assistant.content, fit.made(assistant), ids) {
        None => Some(Arc::clone(message)),
        Some(content) if content.is_empty() => empty_message(at, log),
        Some(content) => Some(Arc::new(Message::Assistant(AssistantMessage { content, ..assistant.clone() }))),
    }
}

fn fitted_result(message: &Arc<Message>, at: usize, id: &str, name: &str, fit: &Fit, log: &mut Log) -> Arc<Message> {
    let Message::ToolResult(result) = &**message else {
        return Arc::clone(message);
    };
    let blocks = Blocks { fit, at, log };
    // An empty result is one, too: it says that there was no output.
    let content = blocks.said(&result.content, false).filter(|content| *content != result.content);
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

/// What was done so far.
#[derive(Default)]
struct Log(Vec<Repair>);

impl Log {
    fn note(&mut self, code: &'static str, message_index: usize, content_index: Option<usize>, text: impl FnOnce() -> String) {
        self.0.push(Repair { code, message_index, content_index, text: text() });
    }
}

/// Whether a block says nothing to anybody.
fn is_blank(block: &ContentBlock) -> bool {
    matches!(block, ContentBlock::Text { text, signature } if text.trim().is_empty() && signature.as_deref().is_none_or(str::is_empty))
}
