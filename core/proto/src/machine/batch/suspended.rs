//! The calls of a batch that wait for a decision. They have no result when the batch ends, unless the run ends for another
//! reason.

use std::sync::Arc;

use super::super::requested_call::ABORTED;
use super::super::run_state::RunState;
use super::{Batch, BatchCall, Waiting};
use crate::suspension::{StoredCall, SuspendedCall};

const RUN_FAILED: &str = "not decided, as the run has failed; make the call again";
const BEHIND: &str = "it comes after a call that waits for a decision";

impl Batch {
    /// A call waits for a decision.
    pub(super) fn suspend_call(&mut self, run: &mut RunState, index: usize, waiting: Waiting) {
        let Some(BatchCall { requested, suspended, .. }) = self.calls.get_mut(index) else {
            return;
        };
        run.emitter.emit(requested.suspended_event(Arc::clone(&waiting.arguments), waiting.reason.clone()));
        *suspended = Some(waiting);
    }

    /// Why calls that wait get an error result: the run ends for another reason, which comes first.
    pub(super) fn why_not_suspended(run: &RunState) -> Option<&'static str> {
        if run.is_interrupted() { Some(ABORTED) } else { run.turn.failure().map(|_| RUN_FAILED) }
    }

    /// A call that waited when the results joined the transcript, and now needs its own: something else ends the run since.
    pub(super) fn next_without_result(&self, run: &RunState) -> Option<usize> {
        Batch::why_not_suspended(run)?;
        self.calls.iter().position(|call| call.suspended.is_some() && call.result.is_none())
    }

    /// The calls that wait. In a sequential batch those behind the first one of them have not been started.
    pub(super) fn suspended_calls(&self, run: &RunState) -> Vec<StoredCall> {
        let waits = self.calls.iter().filter(|call| call.result.is_none());
        let describe = |BatchCall { requested, suspended, .. }: &BatchCall| {
            let behind = || Waiting { reason: BEHIND.to_owned(), arguments: Arc::clone(&requested.arguments), is_checked: false };
            let Waiting { reason, arguments, is_checked } = suspended.clone().unwrap_or_else(behind);
            let rule = run.config().rule_of(&requested.name, &arguments);
            StoredCall {
                call: SuspendedCall {
                    rule: rule.map(|rule| rule.to_string()).unwrap_or_default(),
                    tool_call_id: Arc::clone(&requested.id),
                    tool_name: Arc::clone(&requested.name),
                    arguments,
                    reason,
                    idempotency_key: requested.idempotency_key(run, self.message_index),
                },
                is_checked,
            }
        };
        waits.map(describe).collect()
    }
}
