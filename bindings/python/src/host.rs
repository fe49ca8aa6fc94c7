//! The Python side of an agent: its callbacks, and the event loop and context variables of the run they are called for.
//!
//! The Python objects behind them are held in `Arc`s, each of which owns one reference: threads of the runtime
//! can pass them on without Python, and the garbage collector sees each reference once, through the agent.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use agent_loop::Subscription;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;

use crate::cause::Causes;
use crate::job_queue::{JobQueue, Jobs};
use crate::traces::Traces;

/// How long the garbage collector waits for another thread that holds an agent's callbacks.
const TRAVERSE_WAIT: Duration = Duration::from_millis(500);

/// A Python object that threads without Python may pass on.
pub(crate) type Shared = Arc<Py<PyAny>>;

/// The code that starts a run: the job queue of its event loop, its context variables, the number that marks code inside the
/// run, and the numbers of the runs that the caller is inside of.
#[pyclass(frozen, module = "agent_loop._native")]
#[derive(Clone)]
pub(crate) struct Caller {
    pub(crate) jobs: Arc<Jobs>,
    pub(crate) vars: Shared,
    pub(crate) marker: u64,
    pub(crate) inside: Arc<[u64]>,
    /// What the callbacks of the run raise. It belongs to the run's object, which alone shows it to the garbage collector.
    pub(crate) causes: Arc<Causes>,
    /// Whether log records for debugging are wanted.
    pub(crate) is_debugged: bool,
    /// Whether the run has a log record.
    pub(crate) has_logged: Arc<AtomicBool>,
    /// What its spans go to.
    pub(crate) traces: Option<Traces>,
}

#[pymethods]
impl Caller {
    #[new]
    #[pyo3(signature = (queue, vars, marker, inside, is_debugged, traces=None))]
    fn new(
        queue: &Bound<'_, JobQueue>,
        vars: Py<PyAny>,
        marker: u64,
        inside: Vec<u64>,
        is_debugged: bool,
        traces: Option<Bound<'_, Traces>>,
    ) -> Caller {
        Caller {
            jobs: Arc::clone(queue.get().jobs()),
            vars: Arc::new(vars),
            marker,
            inside: inside.into(),
            causes: Arc::default(),
            is_debugged,
            has_logged: Arc::default(),
            traces: traces.map(|traces| traces.get().clone()),
        }
    }
}

/// The collector asks more than once, and takes for garbage what it is shown only the first time. So another thread, which holds
/// the lock for moments and without Python, is waited for. A thread that holds it itself always gets `None`.
pub(crate) fn lock_for_traverse<T>(mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    let start = Instant::now();
    loop {
        match mutex.try_lock() {
            Ok(state) => return Some(state),
            Err(TryLockError::Poisoned(state)) => return Some(state.into_inner()),
            Err(TryLockError::WouldBlock) if start.elapsed() > TRAVERSE_WAIT => return None,
            Err(TryLockError::WouldBlock) => std::thread::yield_now(),
        }
    }
}

/// The Python side of one agent.
#[derive(Default)]
pub(crate) struct Host(Mutex<State>);

#[derive(Default)]
pub(crate) struct State {
    pub(crate) caller: Option<Caller>,
    /// Who serves the agent, or connects its servers: the first one is the caller of what no run has called.
    pub(crate) servers: Vec<Caller>,
    /// Who makes its spans, if it was given one.
    pub(crate) tracer_provider: Option<Shared>,
    pub(crate) tools: Vec<Shared>,
    /// By canonical name.
    pub(crate) hooks: BTreeMap<&'static str, Shared>,
    pub(crate) middleware: Vec<Shared>,
    /// By name; that of any name under "". With whether it is called on a thread of its own.
    pub(crate) providers: BTreeMap<String, (Shared, bool)>,
    /// The subscription first, so that the engine drops the function, under its own lock, before the host does.
    pub(crate) listeners: BTreeMap<u64, (Subscription, Shared)>,
    pub(crate) next_listener: u64,
}

impl Host {
    /// Must not be held while Python code may run: another thread could block on it while it holds the GIL.
    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn caller(&self) -> Option<Caller> {
        let state = self.lock();
        state.caller.as_ref().or(state.servers.first()).cloned()
    }

    /// Drops the caller of a run that is over, whose context may hold much memory.
    pub(crate) fn forget(&self, marker: u64) {
        let mut state = self.lock();
        let caller = state.caller.take_if(|caller| caller.marker == marker);
        drop(state);
        drop(caller);
    }

    /// Whether code inside the runs of these numbers is inside the latest run.
    pub(crate) fn is_inside(&self, markers: &[u64]) -> bool {
        let state = self.lock();
        state.caller.iter().chain(&state.servers).any(|caller| markers.contains(&caller.marker))
    }

    pub(crate) fn traverse(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        let Some(state) = lock_for_traverse(&self.0) else {
            return Ok(());
        };
        let listeners = state.listeners.values().map(|(_, function)| function);
        // A call that has the context, too, is seen by no collector, which would then empty the context under the call.
        let vars =
            state.caller.iter().chain(&state.servers).map(|caller| &caller.vars).filter(|vars| Arc::strong_count(vars) == 1);
        let providers = state.providers.values().map(|(function, _)| function);
        let callbacks = state.hooks.values().chain(&state.middleware).chain(providers).chain(&state.tracer_provider);
        state.tools.iter().chain(callbacks).chain(listeners).chain(vars).try_for_each(|object| visit.call(&**object))
    }

    /// Drops all callbacks.
    pub(crate) fn clear(&self) {
        let state = std::mem::take(&mut *self.lock());
        drop(state);
    }
}
