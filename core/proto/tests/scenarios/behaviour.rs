//! A running behaviour of a tool or a hook: it takes its actions until it sleeps, blocks on a gate or ends.

use agent_loop_proto::hook::HookKind;
use serde_json::Value;

/// Whose behaviour it is.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Owner {
    /// The number of the call, and which tool.
    Tool(u32, usize),
    /// The number of the question; `None` for a tool's `prepare_arguments`.
    Hook(u32, Option<HookKind>),
}

/// Why a task does not go on.
#[derive(Clone, PartialEq)]
pub(crate) enum Blocked {
    No,
    Until(u64),
    Gate(String),
    Never,
}

/// The behaviour of a function, or of middleware around it.
pub(crate) struct Frame {
    /// How many middleware functions are around it.
    pub(crate) depth: usize,
    pub(crate) actions: std::vec::IntoIter<Value>,
    /// What it returns without another end.
    pub(crate) value: Value,
    /// The arguments of the call.
    pub(crate) arguments: Value,
}

impl Frame {
    pub(crate) fn new(depth: usize, behaviour: Vec<Value>, value: Value, arguments: Value) -> Frame {
        Frame { depth, actions: behaviour.into_iter(), value, arguments }
    }
}

/// A function of the host that is at work.
pub(crate) struct Task {
    pub(crate) owner: Owner,
    /// The number of its run.
    pub(crate) run: usize,
    /// The innermost one is last.
    pub(crate) frames: Vec<Frame>,
    pub(crate) blocked: Blocked,
    /// Whether sleeps end early.
    /// Whether an abort cancels it.
    pub(crate) is_cancellable: bool,
    pub(crate) is_cancelled: bool,
}

impl Task {
    /// Whether it can go on, and since when.
    pub(crate) fn ready_since(&self, now_ms: u64, gates: &[String]) -> Option<u64> {
        match &self.blocked {
            Blocked::No => Some(0),
            Blocked::Until(_) if self.is_cancelled => Some(0),
            Blocked::Until(at_ms) => Some(*at_ms).filter(|at_ms| *at_ms <= now_ms),
            Blocked::Gate(name) => gates.contains(name).then_some(0),
            Blocked::Never => None,
        }
    }

    /// The innermost function has ended. Returns the result when that was the last one.
    pub(crate) fn end(&mut self, result: Result<Value, String>) -> Option<Result<Value, String>> {
        self.frames.pop();
        match (self.frames.last_mut(), result) {
            (None, result) => Some(result),
            (Some(outer), Ok(value)) => {
                outer.value = value;
                None
            }
            (Some(_), Err(why)) => self.end(Err(why)),
        }
    }
}
