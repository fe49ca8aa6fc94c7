//! What a run without prompts begins with: a `resume`, or one model call.

use std::sync::Arc;

use super::decided::interrupted;
use crate::error::{Error, ErrorKind};
use crate::message::Message;
use crate::prompt::check_says_something;
use crate::queues::{Queue, Queues};
use crate::settings::Settings;

/// The queued messages that a `resume` begins with, marked in their queue; none when the transcript itself asks for an answer.
/// Failed and custom-role messages are ignored when finding the last message.
///
/// # Errors
/// `invalid_state` when there is nothing to answer.
pub fn resumable(
    transcript: &[Arc<Message>],
    queues: &mut Queues,
    settings: &Settings,
    is_stateless: bool,
) -> Result<Vec<(u64, Arc<Message>)>, Error> {
    let invalid = |text: &str| Err(Error::new(ErrorKind::InvalidState, text));
    match last(transcript).map(|message| message.as_assistant()) {
        None => invalid("there is nothing to resume: the transcript is empty; use prompt"),
        Some(None) => Ok(Vec::new()),
        Some(Some(_)) if is_stateless => {
            invalid("there is nothing to resume: the last message is the model's answer; run with a prompt")
        }
        Some(Some(_)) => {
            let queued = queued_input(queues, settings);
            if queued.is_empty() {
                return invalid(
                    "there is nothing to resume: the last message is the model's answer, and no message is queued; use prompt, \
                     or queue one with steer or follow_up",
                );
            }
            Ok(queued)
        }
    }
}

/// Whether a `resume` has something to go on with: calls without a result, a message to answer, or one that is queued.
pub(crate) fn is_resumable(transcript: &[Arc<Message>], queues: &Queues) -> bool {
    match last(transcript).map(|message| message.as_assistant()) {
        None => false,
        Some(None) => true,
        Some(Some(_)) => !queues.is_empty() || interrupted(transcript, &[]).is_some(),
    }
}

/// The message that is to be answered: the last one but for those that failed, and custom roles.
fn last(transcript: &[Arc<Message>]) -> Option<&Arc<Message>> {
    let counts = |message: &&Arc<Message>| match &***message {
        Message::Assistant(message) => !message.has_failed(),
        Message::Custom(_) => false,
        Message::User(_) | Message::ToolResult(_) => true,
    };
    transcript.iter().rev().find(counts)
}

/// Whether a model can be called once over these messages.
///
/// # Errors
/// `invalid_argument` when there is nothing to answer.
pub(crate) fn check_answerable(transcript: &[Arc<Message>]) -> Result<(), Error> {
    let invalid = |text: &str| Err(Error::invalid_argument(format!("messages: {text}")));
    match last(transcript) {
        None => invalid("there is nothing to answer; give at least one message of a user"),
        Some(message) if message.as_assistant().is_some() => invalid(
            "the last one is the model's answer; append what the model is to answer, such as the results of its tool calls",
        ),
        Some(message) => {
            check_says_something(std::slice::from_ref(message)).map_err(|e| e.reworded(|why| format!("messages: {why}")))
        }
    }
}

/// What a run begins with that is there for its queued messages: as [`resumable`], but they may also begin a conversation.
///
/// # Errors
/// As [`resumable`], when nothing is queued.
pub(crate) fn resumable_if_queued(
    transcript: &[Arc<Message>],
    queues: &mut Queues,
    settings: &Settings,
) -> Result<Vec<(u64, Arc<Message>)>, Error> {
    let queued = |queues: &mut Queues| Some(queued_input(queues, settings)).filter(|queued| !queued.is_empty());
    match resumable(transcript, queues, settings, false) {
        Err(nothing) => queued(queues).ok_or(nothing),
        found => found,
    }
}

/// Takes what waits by the mode of its queue: steering, or else follow-ups.
fn queued_input(queues: &mut Queues, settings: &Settings) -> Vec<(u64, Arc<Message>)> {
    if !queues.mark(Queue::Steering, settings.steering_mode) {
        queues.mark(Queue::FollowUp, settings.follow_up_mode);
    }
    queues.commit_marked()
}
