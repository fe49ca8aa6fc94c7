//! What a conversation has of its session, and what it knows of a run that was interrupted.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::session::{Interrupted, JournalRecord, OpenCall, RunOf};

/// What a conversation has of its session.
#[derive(Debug)]
pub(super) struct SessionJournal {
    pub(super) unwritten: Vec<JournalRecord>,
    /// The calls without results that were there when it was opened, until a run goes on with them.
    pub(super) left: Vec<OpenCall>,
    /// The run that had not ended then, until another one begins.
    pub(super) interrupted: Option<Interrupted>,
}

/// A run that did not end, as its process has ended. Canonical JSON: `{run_id, of, phase, calls}`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub struct InterruptedRun {
    /// The run's id.
    pub run_id: Arc<str>,
    /// What it was begun with.
    pub of: RunOf,
    /// How far it was.
    pub phase: InterruptedPhase,
    /// The calls of the last answer that have no result, in the order in which the model made them. Of those that had
    /// [started](crate::session::CallProgress::Started), it is not known what they did.
    pub calls: Vec<OpenCall>,
}

/// How far a run was when its process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub enum InterruptedPhase {
    /// The model was to answer, or was answering.
    Model,
    /// Calls of the last answer were under way.
    Tools,
}
