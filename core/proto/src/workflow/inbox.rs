//! What reaches a run while it is active: steering, follow-ups, aborts and decisions.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::room::Room;
use crate::error::{Error, ErrorKind};
use crate::machine::Input;
use crate::prompt::{Prompt, check_says_something};
use crate::size;

/// The state of a session's inbox. Its default is a new one.
///
/// A handler that runs a prompt keeps all others of its key out. So an inbox has a key of its own, whose handlers are short: each
/// reads the state, calls a method, carries out what that returns, and stores the state. What is sent to the active run gets a
/// number, so that the run takes all of it, once and in this order.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Inbox {
    /// The invocation that runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    invocation: Option<String>,
    /// The inputs of the active run.
    sent: Vec<InboxInput>,
    /// How many of them are in the stored conversation.
    saved: usize,
    /// Inputs without a run.
    waiting: Vec<InboxInput>,
    #[serde(skip_serializing_if = "Option::is_none")]
    suspended: Option<Suspended>,
}

/// What reaches a run while it is active. JSON: `{"type": "steer", "message": …}`, as a stepped loop takes it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum InboxInput {
    /// Steers the active run.
    Steer {
        /// A text, a message or a list of messages, in JSON.
        message: Value,
    },
    /// Is for the end of the active run.
    FollowUp {
        /// A text, a message or a list of messages, in JSON.
        message: Value,
    },
    /// Ends the active run.
    Abort,
}

/// Calls that wait for decisions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Suspended {
    /// What the run awaits, by its id; the decisions resolve it.
    pub awakeable: String,
    /// The ids of the calls.
    pub ids: Vec<String>,
}

/// An input on its way to the active run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Signal {
    /// The invocation that runs.
    pub invocation: String,
    /// Its place among the inputs of the run; the first one has 0.
    pub number: usize,
    /// The input.
    pub input: InboxInput,
}

/// What others see of an inbox.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InboxState {
    /// Whether a run is active.
    pub is_running: bool,
    /// The inputs for the next run.
    pub waiting: Vec<InboxInput>,
    /// The ids of the calls that wait for a decision.
    pub suspended: Vec<String>,
}

impl InboxInput {
    /// The input as a loop takes it.
    ///
    /// # Errors
    /// `invalid_argument`: it has no message.
    pub fn to_input(&self) -> Result<Input, Error> {
        let read = |message: &Value| Ok(Prompt::from_json_of("message", message.clone())?.0);
        Ok(match self {
            InboxInput::Steer { message } => Input::Steer(read(message)?),
            InboxInput::FollowUp { message } => Input::FollowUp(read(message)?),
            InboxInput::Abort => Input::Abort,
        })
    }

    fn bytes(&self) -> usize {
        match self {
            InboxInput::Steer { message } | InboxInput::FollowUp { message } => size::of_json(message),
            InboxInput::Abort => 0,
        }
    }
}

/// Refuses what is no message, or says nothing.
pub(super) fn check_message(message: &Value) -> Result<(), Error> {
    let read = Prompt::from_json_of("message", message.clone())?.0;
    check_says_something(&read).map_err(|error| error.reworded(|why| format!("message: {why}")))
}

impl Inbox {
    /// A run begins, in this invocation. Returns its first inputs: those that arrived without a run, and those that the last run
    /// has not kept, as one that was killed.
    pub fn open(&mut self, invocation: String) -> Vec<InboxInput> {
        let sent = self.unread();
        *self = Inbox { invocation: Some(invocation), sent: sent.clone(), ..Inbox::default() };
        sent
    }

    /// Takes an input: for the active run, to which the host sends the signal, or without one for the next run. An abort without
    /// a run has no effect. `room` is for a message, and what else the inbox has.
    ///
    /// # Errors
    /// `invalid_argument` for what is no message; `limit` for one that the conversation has no room for. Nothing changes then.
    pub fn put(&mut self, input: InboxInput, room: Option<Room>) -> Result<Option<Signal>, Error> {
        if let InboxInput::Steer { message } | InboxInput::FollowUp { message } = &input {
            check_message(message)?;
            if let Some(room) = room {
                room.check(input.bytes(), self.unread().iter().map(InboxInput::bytes).sum())?;
            }
        }
        let Some(invocation) = self.invocation.clone() else {
            if input != InboxInput::Abort {
                let waiting = self.unread().into_iter().chain([input]).collect();
                *self = Inbox { waiting, ..Inbox::default() };
            }
            return Ok(None);
        };
        if input == InboxInput::Abort {
            // It denies the calls that wait: later decisions are refused.
            self.suspended = None;
        }
        self.sent.push(input.clone());
        Ok(Some(Signal { invocation, number: self.sent.len() - 1, input }))
    }

    /// The active run waits for decisions. So many of its inputs are in the stored conversation.
    pub fn suspend(&mut self, suspended: Suspended, saved: usize) {
        (self.suspended, self.saved) = (Some(suspended), saved);
    }

    /// Takes the decisions about the calls that wait; the first ones count. Returns the awakeable that they resolve.
    ///
    /// # Errors
    /// `invalid_state` when no call waits, or others wait than those that are decided. Nothing changes then.
    pub fn decide(&mut self, decisions: &Map<String, Value>) -> Result<String, Error> {
        let Some(Suspended { awakeable, ids }) = &self.suspended else {
            let text = "no call of this session waits for a decision; it may have been decided meanwhile";
            return Err(Error::new(ErrorKind::InvalidState, text));
        };
        if ids.len() != decisions.len() || !ids.iter().all(|id| decisions.contains_key(id)) {
            let text = format!("other calls wait for a decision meanwhile: {}", ids.join(", "));
            return Err(Error::new(ErrorKind::InvalidState, text));
        }
        let awakeable = awakeable.clone();
        self.suspended = None;
        Ok(awakeable)
    }

    /// The run is over. So many of its inputs are in the stored conversation, or gone with one that was too large to be stored;
    /// the others wait for the next run.
    pub fn close(&mut self, saved: usize) {
        self.saved = saved;
        *self = Inbox { waiting: self.unread(), ..Inbox::default() };
    }

    /// What others see of it.
    pub fn now(&self) -> InboxState {
        let suspended = self.suspended.as_ref().map_or_else(Vec::new, |suspended| suspended.ids.clone());
        InboxState { is_running: self.invocation.is_some(), waiting: self.waiting.clone(), suspended }
    }

    /// The inputs that are in no stored conversation.
    fn unread(&self) -> Vec<InboxInput> {
        let inputs = self.sent.iter().skip(self.saved).chain(&self.waiting);
        inputs.filter(|input| **input != InboxInput::Abort).cloned().collect()
    }
}
