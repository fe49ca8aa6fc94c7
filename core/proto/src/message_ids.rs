//! The ids of messages that a conversation is given: each is there once in its transcript.

use std::borrow::Borrow;
use std::collections::HashSet;

use crate::error::Error;
use crate::message::Message;
use crate::message_reader::{foreign_role, foreign_role_error};

/// The ids of new messages.
#[derive(Debug, Default)]
pub(crate) struct NewIds<'a>(HashSet<&'a str>);

impl<'a> NewIds<'a> {
    /// Of these messages.
    ///
    /// # Errors
    /// `invalid_argument`: an id that is empty or there twice, a role of another format, or JSON that is too deep.
    pub(crate) fn of<M: Borrow<Message>>(messages: &'a [M]) -> Result<NewIds<'a>, Error> {
        let mut ids = HashSet::new();
        for (i, message) in messages.iter().map(Borrow::borrow).enumerate() {
            let wrong = |why: String| -> Error {
                let place = if messages.len() == 1 { String::new() } else { format!("[{i}]: ") };
                Error::invalid_argument(format!("{place}{why}"))
            };
            if let (Message::Custom(_), Some(advice)) = (message, foreign_role(message.role())) {
                return Err(wrong(foreign_role_error(message.role(), advice)));
            }
            message.check_depth().map_err(wrong)?;
            let Some(id) = message.id() else { continue };
            if id.is_empty() {
                return Err(wrong("the id of the message is empty; leave it out or give one".to_owned()));
            }
            if !ids.insert(id) {
                return Err(wrong(format!("the id {id:?} is given to two messages; an id is there once in a transcript")));
            }
        }
        Ok(NewIds(ids))
    }

    /// Refuses an id that one of these messages has. They are not looked at where no new message has one.
    ///
    /// # Errors
    /// `invalid_argument`: names the id.
    pub(crate) fn check_against<'m>(&self, messages: impl IntoIterator<Item = &'m Message>) -> Result<(), Error> {
        if self.0.is_empty() {
            return Ok(());
        }
        for message in messages {
            if let Some(id) = message.id().filter(|id| self.0.contains(id)) {
                let text = format!("the id {id:?} is another message's already; give the new one an id of its own, or none");
                return Err(Error::invalid_argument(text));
            }
        }
        Ok(())
    }
}
