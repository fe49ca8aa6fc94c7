//! The messages that a conversation has queued: where they go, and what is refused.

use super::{ActiveRun, Conversation};
use crate::error::{Error, ErrorKind};
use crate::machine::Input;
use crate::message::Message;
use crate::prompt::check_says_something;
use crate::queues::{Delivery, Queue};

impl<R: ActiveRun> Conversation<R> {
    /// Queues messages: for the active run, or for the next one.
    ///
    /// # Errors
    /// `invalid_state` after the end of a stateless run, and during one model call; `invalid_argument` for an empty list, a
    /// user's message that says nothing, an id that another message has, and a role of another format.
    pub fn queue(&mut self, which: Queue, messages: Vec<Message>) -> Result<Delivery, Error> {
        let call = match which {
            Queue::Steering => "steer",
            Queue::FollowUp => "follow_up",
        };
        if messages.is_empty() {
            return Err(Error::invalid_argument(format!("{call}: the list is empty; give at least one message")));
        }
        check_says_something(&messages)
            .map_err(|e| e.reworded(|why| format!("{call}: {why}; leave the call out where there is nothing to say")))?;
        self.check_new(&messages)?;
        match self.hand_to_run(call, which, messages)? {
            Ok(delivery) => Ok(delivery),
            Err(messages) => {
                self.push_queued(which, messages);
                Ok(Delivery::Queued)
            }
        }
    }

    /// Gives messages to the active run, under one lock: what has joined it is in its queue before it can end. Gives them back
    /// when no run is active.
    fn hand_to_run(&mut self, call: &str, which: Queue, messages: Vec<Message>) -> Result<Result<Delivery, Vec<Message>>, Error> {
        let is_closed = self.is_closed;
        let active = self.active.as_mut().map(R::machine);
        if is_closed || active.as_ref().is_some_and(|machine| machine.is_closed()) {
            let text = "the run is over, and without an agent there is no queue to keep the message; begin another run with it";
            return Err(Error::new(ErrorKind::InvalidState, text));
        }
        if active.as_ref().is_some_and(|machine| machine.is_one_call()) {
            let text = format!("{call}: one model call takes no further messages; make another call with them");
            return Err(Error::new(ErrorKind::InvalidState, text));
        }
        Ok(match active {
            None => Err(messages),
            Some(mut machine) => {
                let takes = !machine.has_ended();
                machine.handle(match which {
                    Queue::Steering => Input::Steer(messages),
                    Queue::FollowUp => Input::FollowUp(messages),
                });
                Ok(if takes { Delivery::Joined } else { Delivery::Queued })
            }
        })
    }

    /// Removes all messages of a queue that no turn has begun with.
    pub fn clear_queue(&mut self, which: Queue) {
        match &mut self.active {
            None => self.clear_queued(which),
            Some(active) => active.machine().handle(match which {
                Queue::Steering => Input::ClearSteering,
                Queue::FollowUp => Input::ClearFollowUp,
            }),
        }
    }

    /// Whether a message waits in either queue, or is about to join the transcript.
    pub fn has_queued(&mut self) -> bool {
        match &mut self.active {
            None => !self.queues.is_empty(),
            Some(active) => !active.machine().queues().is_empty(),
        }
    }
}
