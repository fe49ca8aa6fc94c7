//! What an agent's tools, hooks and listeners need of Python: the event loop and the context of the run they work for.
//!
//! The Python objects behind them are held in `Arc`s, each of which owns one reference: threads of the runtime
//! can pass them on without Python, and the garbage collector sees each reference once, through the agent.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

use agent_loop::Subscription;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;

use crate::mailbox::{Mailbox, Post};

/// A Python object that threads without Python may pass on.
pub(crate) type Shared = Arc<Py<PyAny>>;

/// Who starts a run: its event loop, its context variables, the number that marks code inside the run, and the markers of the
/// code that asks.
#[pyclass(frozen, module = "agent_loop._native")]
#[derive(Clone)]
pub(crate) struct Caller {
    pub(crate) post: Arc<Post>,
    pub(crate) vars: Shared,
    pub(crate) marker: u64,
    pub(crate) inside: Arc<[u64]>,
}

#[pymethods]
impl Caller {
    #[new]
    fn new(mailbox: &Bound<'_, Mailbox>, vars: Py<PyAny>, marker: u64, inside: Vec<u64>) -> Caller {
        Caller { post: Arc::clone(mailbox.get().post()), vars: Arc::new(vars), marker, inside: inside.into() }
    }
}

/// The Python side of one agent.
#[derive(Default)]
pub(crate) struct Host(Mutex<State>);

#[derive(Default)]
pub(crate) struct State {
    pub(crate) caller: Option<Caller>,
    pub(crate) tools: Vec<Shared>,
    /// By their canonical words.
    pub(crate) hooks: BTreeMap<&'static str, Shared>,
    pub(crate) middleware: Vec<Shared>,
    pub(crate) provider: Option<Shared>,
    /// In this order: the engine lets go of a function first, under a lock of its own, and we as the last.
    pub(crate) listeners: BTreeMap<u64, (Subscription, Shared)>,
    pub(crate) next_listener: u64,
}

impl Host {
    /// Not to be held while Python code may run: another thread could wait for it with Python in its hands.
    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn caller(&self) -> Option<Caller> {
        self.lock().caller.clone()
    }

    /// Forgets the caller of a run that is over, whose context may hold much.
    pub(crate) fn forget(&self, marker: u64) {
        let mut state = self.lock();
        let caller = state.caller.take_if(|caller| caller.marker == marker);
        drop(state);
        drop(caller);
    }

    /// Whether code with these markers is inside the latest run.
    pub(crate) fn is_inside(&self, markers: &[u64]) -> bool {
        self.lock().caller.as_ref().is_some_and(|caller| markers.contains(&caller.marker))
    }

    pub(crate) fn traverse(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        let state = match self.0.try_lock() {
            Ok(state) => state,
            Err(TryLockError::Poisoned(state)) => state.into_inner(),
            // Somebody is at work with it, so it is not garbage.
            Err(TryLockError::WouldBlock) => return Ok(()),
        };
        let listeners = state.listeners.values().map(|(_, function)| function);
        let vars = state.caller.iter().map(|caller| &caller.vars);
        let callbacks = state.hooks.values().chain(&state.middleware).chain(&state.provider);
        state.tools.iter().chain(callbacks).chain(listeners).chain(vars).try_for_each(|object| visit.call(&**object))
    }

    /// Lets go of everything.
    pub(crate) fn clear(&self) {
        let state = std::mem::take(&mut *self.lock());
        drop(state);
    }
}
