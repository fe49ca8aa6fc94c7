//! The run that a call is of, as what works for the call sees it.

use std::any::Any;
use std::sync::{Arc, MutexGuard};

use agent_loop_proto::machine::{Input, Loop};

use crate::trace::sink::Sink;

/// The run of a call.
pub(crate) trait RunOfCall: Send + Sync {
    /// Its id.
    fn id(&self) -> &str;

    /// Its state machine, locked.
    fn machine(&self) -> MutexGuard<'_, Loop>;

    /// Reports to it from another thread than its driver's.
    fn report(&self, input: Input);

    /// Another agent is to go on with it.
    fn hand_off(&self, to: HandOff);

    /// Where its spans go, if it has any.
    fn trace(&self) -> Option<Sink>;

    /// What answers its built-in tool `oracle`: a [`crate::builtin`] type, which this layer does not know.
    #[cfg_attr(not(feature = "tools"), allow(dead_code))]
    fn oracle(&self) -> Option<Arc<dyn Any + Send + Sync>>;

    /// The run around it, where it is a subagent's.
    fn around(&self) -> Option<Arc<dyn RunOfCall>>;
}

/// The agent that is to go on with a run.
pub(crate) struct HandOff {
    /// An [`Agent`](crate::Agent), which this layer does not know.
    pub(crate) agent: Arc<dyn Any + Send + Sync>,
    /// What the host has to keep for as long as the run.
    #[allow(dead_code)] // Held, not read.
    pub(crate) kept: Arc<dyn Any + Send + Sync>,
    /// The call that asks for it, and its tool.
    pub(crate) tool_call_id: Arc<str>,
    pub(crate) tool_name: Arc<str>,
}

impl std::fmt::Debug for HandOff {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HandOff").field("tool_name", &self.tool_name).finish_non_exhaustive()
    }
}
