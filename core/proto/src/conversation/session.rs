//! The conversation of a session: it goes on from what comes of the journal, and its changes between runs are records.
//!
//! A run asks for its own records ([`Action::Record`](crate::machine::Action::Record)). What is changed between runs is taken out
//! with [`Conversation::take_records`], under the lock that the host has for the conversation: then the records have the order of
//! the changes.

use std::sync::Arc;

use super::journal::{InterruptedPhase, InterruptedRun, SessionJournal};
use super::origin::Origin;
use super::{ActiveRun, Conversation};
use crate::error::{Error, ErrorKind};
use crate::machine::{Start, is_resumable};
use crate::message::Message;
use crate::queues::{Queue, Queues};
use crate::session::{Appended, Interrupted, JournalRecord, OpenCall, QueueCleared, Queued, Rebuilt, Replaced, Reset, Suspended};
use crate::suspension::StoredCall;

impl<R: ActiveRun> Conversation<R> {
    /// The conversation of a session, as its journal has it.
    pub fn of_session(id: impl Into<String>, rebuilt: &Rebuilt) -> Conversation<R> {
        let mut queues = Queues::default();
        for (queue, waiting) in [(Queue::Steering, &rebuilt.steering), (Queue::FollowUp, &rebuilt.follow_up)] {
            waiting.iter().for_each(|waiting| queues.restore(queue, waiting.number, Arc::clone(&waiting.message)));
        }
        queues.count_from(rebuilt.last_queued);
        let (left, interrupted) = (rebuilt.open_calls.clone(), rebuilt.interrupted.clone());
        let error = rebuilt.last_run.as_ref().filter(|_| interrupted.is_none()).and_then(|run| run.error.clone());
        Conversation {
            messages: Arc::new(rebuilt.messages.clone()),
            replaced: rebuilt.replaced,
            queues,
            suspended: rebuilt.suspended.clone(),
            remembered: rebuilt.remembered.clone(),
            origin: Origin::of_session(id),
            error,
            journal: Some(Box::new(SessionJournal { unwritten: Vec::new(), left, interrupted })),
            ..Conversation::default()
        }
    }

    /// What is to be appended to the session's journal now: the changes since this was called last that no run asks for.
    pub fn take_records(&mut self) -> Vec<JournalRecord> {
        self.journal.as_mut().map(|journal| std::mem::take(&mut journal.unwritten)).unwrap_or_default()
    }

    /// The run that a process has left when it ended, if there is something that a resume goes on with; until a run begins.
    pub fn interrupted(&self) -> Option<InterruptedRun> {
        let journal = self.journal.as_ref()?;
        let Interrupted { run_id, of } = journal.interrupted.clone()?;
        let goes_on = self.active.is_none() && self.suspended.is_empty() && is_resumable(&self.messages, &self.queues);
        let phase = if journal.left.is_empty() { InterruptedPhase::Model } else { InterruptedPhase::Tools };
        goes_on.then(|| InterruptedRun { run_id, of, phase, calls: journal.left.clone() })
    }

    pub(super) fn has_session(&self) -> bool {
        self.journal.is_some()
    }

    /// The record of a change between runs.
    pub(super) fn record_change(&mut self, record: impl FnOnce() -> JournalRecord) {
        if let Some(journal) = &mut self.journal {
            journal.unwritten.push(record());
        }
    }

    pub(super) fn record_appended(&mut self, messages: &[Arc<Message>]) {
        if !messages.is_empty() {
            self.record_change(|| JournalRecord::Appended(Appended::new(messages.to_vec())));
        }
    }

    /// The transcript is another one: what was interrupted is given up.
    pub(super) fn record_replaced(&mut self, messages: &[Arc<Message>]) {
        self.forget_left();
        self.record_change(|| JournalRecord::Replaced(Replaced::new(messages.to_vec())));
    }

    pub(super) fn record_reset(&mut self) {
        self.forget_left();
        self.record_change(|| JournalRecord::Reset(Reset {}));
    }

    pub(super) fn record_suspended(&mut self, calls: &[StoredCall]) {
        if !calls.is_empty() {
            self.record_change(|| JournalRecord::Suspended(Suspended::new(calls.to_vec())));
        }
    }

    fn forget_left(&mut self) {
        self.forget_left_calls();
        if let Some(journal) = &mut self.journal {
            journal.interrupted = None;
        }
    }

    /// There is another answer, whose calls may have the same ids.
    pub(super) fn forget_left_calls(&mut self) {
        if let Some(journal) = &mut self.journal {
            journal.left.clear();
        }
    }

    /// Messages join a queue while no run is active.
    pub(super) fn push_queued(&mut self, which: Queue, messages: Vec<Message>) {
        let before = self.queues.last_number();
        self.queues.push(which, messages);
        if let Some(journal) = &mut self.journal {
            let new = self.queues.since(which, before);
            let records = new.map(|(number, message)| JournalRecord::Queued(Queued::new(which, number, Arc::clone(message))));
            journal.unwritten.extend(records);
        }
    }

    /// A queue is cleared while no run is active.
    pub(super) fn clear_queued(&mut self, which: Queue) {
        let numbers = if self.has_session() { self.queues.clearable(which) } else { Vec::new() };
        self.queues.clear(which);
        if !numbers.is_empty() {
            self.record_change(|| JournalRecord::QueueCleared(QueueCleared::new(which, numbers)));
        }
    }

    /// What the journal knows of the calls without a result.
    pub(super) fn left(&self) -> &[OpenCall] {
        self.journal.as_ref().map(|journal| &*journal.left).unwrap_or_default()
    }

    /// A decision is accepted once: after that, a resume goes on with it.
    pub(super) fn check_undecided(&self, start: &Start) -> Result<(), Error> {
        let is_decided = |id: &str| self.left().iter().any(|call| *call.tool_call_id == *id && call.decision.is_some());
        match start.decisions.iter().find(|(id, _)| self.suspended.is_empty() && is_decided(id)) {
            None => Ok(()),
            Some((id, _)) => {
                let text = format!("decisions: the call {id} was decided before; resume without decisions goes on with that");
                Err(Error::new(ErrorKind::InvalidState, text))
            }
        }
    }

    /// A run has begun.
    pub(super) fn run_begun(&mut self, goes_on_with_calls: bool) {
        if let Some(journal) = &mut self.journal {
            journal.interrupted = None;
        }
        if goes_on_with_calls {
            self.forget_left_calls();
        }
    }

    /// A run has ended: changes of its queues that it did not ask for, as it was over.
    pub(super) fn run_ended(&mut self, changes: Vec<JournalRecord>) {
        if let Some(journal) = &mut self.journal {
            journal.unwritten.extend(changes);
        }
    }
}
