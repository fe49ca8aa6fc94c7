//! What a run with a session has to write, and whether it still can.

use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::session::JournalRecord;

/// Whether a run has a session, and what was not asked to be written yet.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Journal {
    is_on: bool,
    /// Changes of the queues from outside: they are written before anything else.
    changes: Vec<JournalRecord>,
    /// Whether the host writes what it was given last. The next poll says that it is written.
    #[serde(skip)]
    is_writing: bool,
    /// Why nothing can be written.
    failure: Option<Error>,
}

impl Journal {
    pub(super) fn new(is_on: bool) -> Journal {
        Journal { is_on, ..Journal::default() }
    }

    pub(super) fn is_on(&self) -> bool {
        self.is_on
    }

    pub(super) fn failure(&self) -> Option<&Error> {
        self.failure.as_ref()
    }

    /// The changes that are to be written first. What was given before is written.
    pub(super) fn next_changes(&mut self) -> Option<Vec<JournalRecord>> {
        self.is_writing = !self.changes.is_empty();
        self.is_writing.then(|| std::mem::take(&mut self.changes))
    }

    pub(super) fn begin_writing(&mut self) {
        self.is_writing = true;
    }

    /// What was given to the host is handed over.
    pub(super) fn end_writing(&mut self) {
        self.is_writing = false;
    }

    /// Whether something is to be written that the host has not handed over.
    pub(super) fn is_waiting(&self) -> bool {
        self.is_writing || !self.changes.is_empty()
    }

    /// Changes of the queues from outside.
    pub(super) fn add_changes(&mut self, changes: impl IntoIterator<Item = JournalRecord>) {
        self.changes.extend(changes);
    }

    pub(super) fn take_changes(&mut self) -> Vec<JournalRecord> {
        std::mem::take(&mut self.changes)
    }

    /// Nothing more can be written.
    pub(super) fn fail(&mut self, error: Error) {
        *self = Journal { failure: Some(error), ..Journal::default() };
    }
}
