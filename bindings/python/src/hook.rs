//! Hooks: Python functions that a run calls on the event loop that started it. Their inputs are in [`crate::hook_input`].

use std::sync::Arc;

use agent_loop::Agent as CoreAgent;
use agent_loop::hook::HookKind;
use pyo3::prelude::*;

use crate::call::Target;
use crate::error::raised;
use crate::host::{Host, Shared};

/// Sets a hook, or with `None` removes it.
pub(crate) fn set(agent: &CoreAgent, host: &Arc<Host>, kind: HookKind, function: Option<Py<PyAny>>) {
    share(agent, host, kind, function.map(Arc::new));
}

/// The same of one that agents share.
pub(crate) fn share(agent: &CoreAgent, host: &Arc<Host>, kind: HookKind, function: Option<Shared>) {
    let before = match &function {
        Some(function) => host.lock().hooks.insert(kind.as_str(), Arc::clone(function)),
        None => host.lock().hooks.remove(kind.as_str()),
    };
    drop(before);
    agent.set_host_hook(kind, function.map(|function| Target::new(function).function(host)));
}

/// The hook of that name.
///
/// # Errors
/// `invalid_argument` for an unknown name; the message has the nearest one.
pub(crate) fn kind(py: Python<'_>, name: &str) -> PyResult<HookKind> {
    HookKind::parse(name).ok_or_else(|| {
        let known = || HookKind::ALL.iter().map(|kind| kind.as_str());
        let hint = match agent_loop::host::nearest(name, known()) {
            Some(right) => format!("did you mean {right:?}?"),
            None => format!("known are {}", known().collect::<Vec<_>>().join(", ")),
        };
        raised(py, agent_loop::Error::invalid_argument(format!("unknown hook {name:?}; {hint}")))
    })
}
