//! The request of a browser: what its user asks for, and what the browser says the conversation is.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::options::UiRequestOptions;
use crate::conversion::Loss;
use crate::error::{Error, ErrorKind};
use crate::message::{Message, ToolCall};
use crate::suspension::{Decision, SuspendedCall};

/// The request of a browser. What is in it may be anything that somebody has sent: see [`UiRequest::start`].
#[derive(Debug, Clone, Default)]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub struct UiRequest {
    /// The conversation: `id` of the AI SDK, `threadId` of AG-UI.
    pub id: Option<String>,
    /// The id of the run (AG-UI).
    pub run_id: Option<String>,
    /// The message that is to be answered anew (AI SDK).
    pub message_id: Option<String>,
    /// Whether the last answer is to be made anew.
    pub is_regenerate: bool,
    /// The conversation before the prompt, as the browser has it. Without its system prompt: that is the server's business.
    pub history: Vec<Arc<Message>>,
    /// What the user has sent, if that is what the request is about.
    pub prompt: Option<Arc<Message>>,
    /// What of the messages was not carried over.
    pub losses: Vec<Loss>,
    /// What the server lets the browser decide; not of the body.
    pub options: UiRequestOptions,
    /// What the user has decided, and what tools in the browser have returned, by the ids of the calls.
    pub(super) answers: Vec<(String, Decision)>,
}

/// What to begin for a request.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub enum UiStart {
    /// A run with this message.
    Prompt(Arc<Message>),
    /// A run over this transcript, which ends with the message to answer: replace the agent's messages, and resume.
    Regenerate(Vec<Arc<Message>>),
    /// The run goes on with these decisions, by the ids of the calls.
    Resume(Vec<(String, Decision)>),
}

impl UiRequest {
    /// The same, with these options.
    #[must_use]
    pub fn with_options(mut self, options: UiRequestOptions) -> UiRequest {
        self.options = options;
        self
    }

    /// What to begin with an agent that has these messages and calls that wait. Of the request it takes the prompt, and answers
    /// to calls that wait there: approvals, and results of client tools. All else in it is what a browser says, and decides
    /// nothing. (An agent that was made with `history` has the browser's word for all that was said before, and for which calls
    /// wait with which arguments.)
    ///
    /// # Errors
    /// `invalid_state`: the request answers calls, but none waits; `invalid_argument`: there is nothing to answer, or an answer
    /// is one that only the server may give.
    pub fn start(&self, messages: &[Arc<Message>], pending: &[SuspendedCall]) -> Result<UiStart, Error> {
        if self.is_regenerate
            && let Some(id) = self.prompt.as_ref().and_then(|prompt| prompt.id())
            && let Some(asked) = messages.iter().rposition(|message| message.role() == "user" && message.id() == Some(id))
        {
            return Ok(UiStart::Regenerate(messages.iter().take(asked + 1).cloned().collect()));
        }
        if let Some(prompt) = &self.prompt {
            return Ok(UiStart::Prompt(Arc::clone(prompt)));
        }
        if self.history.is_empty() && self.answers.is_empty() {
            return Err(Error::invalid_argument("the request: there is no message to answer"));
        }
        let decisions = self.decisions(messages, pending)?;
        // A tool in the browser may have returned what its history has already.
        let is_answered = messages.last().is_some_and(|message| message.role() == "tool_result");
        if pending.is_empty() && decisions.is_empty() && !is_answered {
            return Err(Error::new(
                ErrorKind::InvalidState,
                "the request: it answers calls, but none waits; perhaps it came twice",
            ));
        }
        Ok(UiStart::Resume(decisions))
    }

    /// The answers to calls that wait or are open. Others are none: browsers send their whole history.
    fn decisions(&self, messages: &[Arc<Message>], pending: &[SuspendedCall]) -> Result<Vec<(String, Decision)>, Error> {
        let open = if pending.is_empty() { open_calls(messages) } else { Vec::new() };
        let mut decisions = Vec::new();
        for (id, decision) in &self.answers {
            let asked = pending.iter().find(|call| *call.tool_call_id == **id).map(|call| &*call.tool_name);
            let Some(name) = asked.or_else(|| Some(&*open.iter().find(|call| call.id == *id)?.name)) else { continue };
            self.check(id, name, decision, asked.is_some())?;
            decisions.push((id.clone(), decision.clone()));
        }
        Ok(decisions)
    }

    /// Refuses an answer that only the server may give.
    fn check(&self, id: &str, name: &str, decision: &Decision, is_pending: bool) -> Result<(), Error> {
        let why = match (decision, self.options.client_tools.iter().any(|tool| tool == name)) {
            (Decision::Result { .. }, true) => return Ok(()),
            (Decision::Result { .. }, false) => "the browser has sent its result, but it is none of client_tools",
            (Decision::Approve | Decision::Arguments { .. }, true) => "the browser runs it: it takes a result, no approval",
            (Decision::Arguments { .. }, false) if !self.options.edit_arguments => {
                "it is approved with other arguments, which edit_arguments would have to allow"
            }
            _ if !is_pending && !self.options.open_calls => {
                "it does not wait for approval; for messages that came without the calls that wait, set open_calls"
            }
            _ => return Ok(()),
        };
        Err(Error::invalid_argument(format!("the request: the call {id:?} of the tool {name:?}: {why}")))
    }

    /// Whether the answer goes on with the last message that the browser has.
    pub(super) fn continues(&self) -> bool {
        self.prompt.is_none()
    }

    /// The calls that were denied.
    pub(super) fn denied(&self) -> impl Iterator<Item = &str> {
        self.answers.iter().filter(|(_, decision)| matches!(decision, Decision::Deny { .. })).map(|(id, _)| id.as_str())
    }

    /// Takes the last message as the prompt, if it is a user's.
    pub(super) fn take_prompt(&mut self) {
        if self.history.last().is_some_and(|message| message.role() == "user") {
            self.prompt = self.history.pop();
        }
    }
}

impl UiStart {
    /// In JSON, for hosts: `{"prompt": message}`, `{"regenerate": [messages]}` or `{"resume": {id: decision}}`.
    pub fn to_json(&self) -> Value {
        let (name, value) = match self {
            UiStart::Prompt(message) => ("prompt", serde_json::to_value(message).unwrap_or_default()),
            UiStart::Regenerate(messages) => ("regenerate", serde_json::to_value(messages).unwrap_or_default()),
            UiStart::Resume(decisions) => {
                ("resume", decisions.iter().map(|(id, decision)| (id.clone(), decision.to_json())).collect())
            }
        };
        Value::Object(Map::from_iter([(name.to_owned(), value)]))
    }
}

/// The calls of the last answer that have no result.
fn open_calls(messages: &[Arc<Message>]) -> Vec<&ToolCall> {
    let Some(last) = messages.iter().rposition(|message| message.as_assistant().is_some()) else {
        return Vec::new();
    };
    let after = messages.get(last..).unwrap_or_default();
    let has_result = |id: &str| after.iter().any(|m| matches!(&**m, Message::ToolResult(result) if result.tool_call_id == id));
    let calls = after.first().and_then(|message| message.as_assistant()).into_iter().flat_map(|message| message.tool_calls());
    calls.filter(|call| !has_result(&call.id)).collect()
}

/// A field that is a text, if it is there.
pub(super) fn text(map: &Map<String, Value>, name: &str) -> Result<Option<String>, Error> {
    match map.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(Error::invalid_argument(format!("the request: /{name}: expected text"))),
    }
}

/// A tool's result that is an error.
pub(super) fn failed(text: &str) -> Value {
    json!({ "content": [{ "type": "text", "text": text }], "is_error": true })
}
