//! What a `resume` begins with.

use std::sync::Arc;

use crate::error::{Error, ErrorKind};
use crate::message::Message;
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
    let ignored = |message: &&Arc<Message>| match &***message {
        Message::Assistant(message) => message.has_failed(),
        Message::Custom(_) => true,
        Message::User(_) | Message::ToolResult(_) => false,
    };
    let invalid = |text: &str| Err(Error::new(ErrorKind::InvalidState, text));
    match transcript.iter().rev().find(|message| !ignored(message)).map(|message| message.as_assistant()) {
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
