//! The request of a browser: what its user asks for, and what the browser says the conversation is.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::options::{UiOptions, UiRequestOptions};
use crate::conversion::{Loss, UNNAMED};
use crate::error::{Error, ErrorKind};
use crate::message::{ContentBlock, Message, OUTPUT_RETRY, ToolCall};
use crate::suspension::{Decision, SuspendedCall};
use crate::table::codes;

/// The request of a browser. What is in it may be anything that somebody has sent: see [`UiRequest::start`].
#[derive(Debug, Clone, Default)]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub struct UiRequest {
    /// The conversation: `id` of the AI SDK, `threadId` of AG-UI.
    pub id: Option<String>,
    /// The id of the run (AG-UI).
    pub run_id: Option<String>,
    /// The message that is to be answered anew, or that was edited (AI SDK).
    pub message_id: Option<String>,
    /// Whether the last answer is to be made anew.
    pub is_regenerate: bool,
    /// The conversation before the prompt, as the browser has it. Without its system prompt: that is the server's business.
    pub history: Vec<Arc<Message>>,
    /// What the user has sent, if that is what the request is about.
    pub prompt: Option<Arc<Message>>,
    /// What of the messages was not carried over.
    pub losses: Vec<Loss>,
    /// Whether the prompt takes the place of an earlier message of the user.
    pub(super) is_edit: bool,
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
    /// The same, after these messages alone: replace the agent's messages, and begin. An earlier message was edited.
    Edit(Vec<Arc<Message>>, Arc<Message>),
    /// A run over this transcript, which ends with the message to answer: replace the agent's messages, and resume.
    Regenerate(Vec<Arc<Message>>),
    /// The run goes on with these decisions, by the ids of the calls.
    Resume(Vec<(String, Decision)>),
}

impl UiOptions {
    /// These options for the run of a request: what the request says wherever they leave it open.
    #[must_use]
    pub fn of(mut self, request: &UiRequest) -> UiOptions {
        self.thread_id = self.thread_id.or_else(|| request.id.clone());
        self.run_id = self.run_id.or_else(|| request.run_id.clone());
        self.client_tools.extend(request.options.client_tools.iter().cloned());
        self.edit_arguments |= request.options.edit_arguments;
        self.continues |= request.continues();
        self.denied.extend(request.denied().map(str::to_owned));
        self
    }
}

impl UiRequest {
    /// The same, with these options.
    #[must_use]
    pub fn with_options(mut self, options: UiRequestOptions) -> UiRequest {
        self.options = options;
        self
    }

    /// What to begin with an agent that has these messages and calls that wait. Of the request it takes the prompt, and answers
    /// to calls that wait there: approvals, and results of client tools; and where the user has edited a message, or wants
    /// another answer, the place where the conversation is cut. All else in it is what a browser says, and decides nothing.
    /// (An agent that was made with `history` has the browser's word for all that was said before, and for which calls wait with
    /// which arguments.)
    ///
    /// # Errors
    /// `invalid_state`: the request answers calls, but none waits; `invalid_argument`: there is nothing to answer, or an answer
    /// is one that only the server may give.
    pub fn start(&self, messages: &[Arc<Message>], pending: &[SuspendedCall]) -> Result<UiStart, Error> {
        if let Some(cut) = self.cut(messages)? {
            return Ok(cut);
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

    /// What to begin if the conversation is cut. A message that is not here is no place to cut it: the server has never had it,
    /// as when the first request with it has failed.
    fn cut(&self, messages: &[Arc<Message>]) -> Result<Option<UiStart>, Error> {
        if !self.is_regenerate && !self.is_edit {
            return Ok(None);
        }
        // Only pages of the AI SDK have names from us. Another client's `message-1` is its own.
        let by_place = self.is_regenerate || self.message_id.is_some();
        let named = self.prompt.as_ref().and_then(|prompt| place(messages, prompt.id()?, "user", by_place));
        let start = match (named, &self.prompt) {
            (Some(at), Some(prompt)) if self.is_edit => {
                if !has_content(prompt) {
                    return Err(Error::invalid_argument("the request: the edited message has neither text nor a file"));
                }
                UiStart::Edit(before(messages, at), named_as(prompt, messages.get(at)))
            }
            (Some(at), _) => UiStart::Regenerate(before(messages, at + 1)),
            (None, Some(_)) => return Ok(None),
            (None, None) => {
                // The browser's last message is an answer, too: what follows it is to be answered anew.
                let id = self.message_id.as_deref().unwrap_or_default();
                let kept = place(messages, id, "assistant", true).map(|at| before(messages, at));
                match kept.filter(|kept| kept.last().is_some_and(|last| last.role() != "assistant")) {
                    Some(kept) => UiStart::Regenerate(kept),
                    None => {
                        let text = format!("the request: the message {id:?} cannot be answered anew: no such answer is here");
                        return Err(Error::new(ErrorKind::InvalidState, text));
                    }
                }
            }
        };
        if self.options.keep_messages {
            return Err(Error::invalid_argument("the request: it edits a message or repeats an answer; the server keeps them"));
        }
        Ok(Some(start))
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
            let Some(Message::User(user)) = self.prompt.as_mut().map(Arc::make_mut) else { return };
            // What the engine marks is no word of a browser.
            if let Some(metadata) = user.metadata.as_mut().and_then(Value::as_object_mut) {
                metadata.shift_remove(OUTPUT_RETRY);
            }
            // A provider reads other addresses, such as `gs://`, with the rights of the server's account.
            let count = user.content.len();
            user.content.retain(|block| block.as_media().and_then(|media| media.as_url()).is_none_or(is_public));
            if user.content.len() < count {
                let message = "a file whose address does not begin with https:// was left out".to_owned();
                self.losses.push(Loss { index: self.history.len(), code: codes::LOST_FILE, message });
            }
        }
    }
}

fn is_public(url: &str) -> bool {
    url.starts_with("https://") || url.starts_with("http://")
}

impl UiStart {
    /// How many messages there are before the first answer of the run, with an agent that has so many: a page that follows the
    /// run from its beginning has these from elsewhere.
    pub fn messages_before(&self, now: usize) -> usize {
        match self {
            UiStart::Prompt(_) => now + 1,
            UiStart::Edit(messages, _) => messages.len() + 1,
            UiStart::Regenerate(messages) => messages.len(),
            UiStart::Resume(_) => now,
        }
    }

    /// In JSON, for hosts: what to `replace` the messages with, if they are; then the `prompt`, or else the decisions that
    /// `resume` takes, if there are any.
    pub fn to_json(&self) -> Value {
        let (name, value) = match self {
            UiStart::Prompt(message) => ("prompt", serde_json::to_value(message).unwrap_or_default()),
            UiStart::Edit(messages, message) => return json!({ "replace": messages, "prompt": message }),
            UiStart::Regenerate(messages) => ("replace", serde_json::to_value(messages).unwrap_or_default()),
            UiStart::Resume(decisions) => {
                ("resume", decisions.iter().map(|(id, decision)| (id.clone(), decision.to_json())).collect())
            }
        };
        Value::Object(Map::from_iter([(name.to_owned(), value)]))
    }
}

/// Where the message of a role stands that a browser knows by this id. One without an id may be named by its place.
fn place(messages: &[Arc<Message>], id: &str, role: &str, by_place: bool) -> Option<usize> {
    let named = messages.iter().rposition(|message| message.id() == Some(id));
    let numbered = || {
        let at: usize = id.strip_prefix(UNNAMED)?.parse().ok()?;
        messages.get(at).filter(|message| message.id().is_none()).map(|_| at)
    };
    named.or_else(|| numbered().filter(|_| by_place)).filter(|at| messages.get(*at).is_some_and(|message| message.role() == role))
}

fn before(messages: &[Arc<Message>], end: usize) -> Vec<Arc<Message>> {
    messages.iter().take(end).cloned().collect()
}

/// An edited message, without an id if the one in whose place it comes has none: its place is no name to keep.
fn named_as(prompt: &Arc<Message>, old: Option<&Arc<Message>>) -> Arc<Message> {
    let mut prompt = Arc::clone(prompt);
    if let (Message::User(user), None) = (Arc::make_mut(&mut prompt), old.and_then(|old| old.id())) {
        user.id = None;
    }
    prompt
}

fn has_content(message: &Message) -> bool {
    let Message::User(user) = message else { return true };
    user.content.iter().any(|block| !matches!(block, ContentBlock::Text { text, .. } if text.trim().is_empty()))
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
