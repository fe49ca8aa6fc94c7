//! The run that a call is of, as what works for the call sees it.

use std::sync::{Arc, MutexGuard};

use agent_loop_proto::machine::{Input, Loop};

/// The run of a call.
pub(crate) trait RunOfCall: Send + Sync {
    /// Its state machine, locked.
    fn machine(&self) -> MutexGuard<'_, Loop>;

    /// Reports to it from another thread than its driver's.
    fn report(&self, input: Input);

    /// The run around it, where it is a subagent's.
    fn around(&self) -> Option<Arc<dyn RunOfCall>>;
}
