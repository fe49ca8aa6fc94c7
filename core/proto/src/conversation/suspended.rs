//! What a conversation does about calls without a result: a resumed run begins with them, and other changes are refused while
//! they wait for a decision.

use super::{ActiveRun, Conversation};
use crate::error::{Error, ErrorKind};
use crate::machine::{Config, Start, decide, interrupted, resumable, resumable_if_queued};
use crate::suspension::{StoredCall, named};

impl<R: ActiveRun> Conversation<R> {
    /// What a run without prompts begins with: calls without a result, or queued messages.
    pub(super) fn find_input(&mut self, config: &Config, start: &mut Start) -> Result<(), Error> {
        self.check_undecided(start)?;
        let left = self.left().to_vec();
        let (messages, queues, settings) = (&self.messages, &mut self.queues, &config.settings);
        if !(self.suspended.is_empty() && start.decisions.is_empty()) {
            let decisions = std::mem::take(&mut start.decisions);
            start.decided = decide(messages, &self.suspended, decisions, config)?;
        } else if start.if_queued && queues.is_empty() {
            start.queued = resumable_if_queued(messages, queues, settings)?;
        } else if let Some(calls) = interrupted(messages, &left) {
            start.decided = Some(calls);
        } else if start.if_queued {
            start.queued = resumable_if_queued(messages, queues, settings)?;
        } else {
            start.queued = resumable(messages, queues, settings, config.is_stateless)?;
        }
        Ok(())
    }

    /// Refuses what cannot be done while calls wait for a decision.
    pub(super) fn check_not_suspended(&self) -> Result<(), Error> {
        if self.suspended.is_empty() {
            return Ok(());
        }
        let (count, names) = (self.suspended.len(), self.suspended.iter().map(|StoredCall { call, .. }| call));
        let names = named(names.map(|call| (&*call.tool_call_id, &*call.tool_name)));
        let calls = if count == 1 { "a call waits".to_owned() } else { format!("{count} calls wait") };
        let text = format!(
            "the agent is suspended: {calls} for a decision: {names}; go on with resume and a decision for each, or discard them \
             with reset, clear_messages or replace_messages"
        );
        Err(Error::new(ErrorKind::InvalidState, text))
    }

    /// The calls that wait for a decision, in their order; none while a run is active.
    pub fn suspended(&self) -> &[StoredCall] {
        &self.suspended
    }
}
