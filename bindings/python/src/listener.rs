//! Listeners: Python functions that are called with each event, on the event loop that started the run.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use agent_loop::{Event, Listener};
use pyo3::prelude::*;
use tokio::sync::oneshot;

use crate::event::event;
use crate::host::{AGENT_GONE, Host, Shared};
use crate::job_queue::{CLOSED, DROPPED, Job};
use crate::json::Text;

/// The engine's side of a Python function.
pub(crate) fn listener(host: &Arc<Host>, function: &Shared) -> Listener {
    let (host, function) = (Arc::downgrade(host), Arc::clone(function));
    Listener::Future(Arc::new(move |event| {
        let done = send(&host, &function, event);
        Box::pin(async move { done?.await.unwrap_or_else(|_| Err(DROPPED.to_owned())) })
    }))
}

/// Queues the event for the run's loop; the receiver gets the listener's outcome.
fn send(host: &Weak<Host>, function: &Shared, event: Event) -> Result<oneshot::Receiver<Result<(), String>>, String> {
    let caller = host.upgrade().and_then(|host| host.caller()).ok_or(AGENT_GONE)?;
    let (done, outcome) = oneshot::channel();
    let (function, vars) = (Arc::clone(function), caller.vars);
    caller.jobs.send(Job::Listener(ListenerJob { function, vars, event: Mutex::new(Some(event)), done: Mutex::new(Some(done)) }));
    Ok(outcome)
}

/// A call of a listener with an event.
#[pyclass(frozen, module = "agent_loop._native")]
pub(crate) struct ListenerJob {
    function: Shared,
    vars: Shared,
    event: Mutex<Option<Event>>,
    done: Mutex<Option<oneshot::Sender<Result<(), String>>>>,
}

#[pymethods]
impl ListenerJob {
    /// The listener.
    #[getter]
    fn function(&self, py: Python<'_>) -> Py<PyAny> {
        self.function.clone_ref(py)
    }

    /// The `contextvars.Context` of the run's caller.
    #[getter]
    fn vars(&self, py: Python<'_>) -> Py<PyAny> {
        self.vars.clone_ref(py)
    }

    /// The event; once.
    fn take_event(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        let core = self.event.lock().unwrap_or_else(PoisonError::into_inner).take();
        core.map(|core| event(py, core)).transpose()
    }

    /// Fails the listener: its event loop no longer runs.
    pub(crate) fn refuse(&self) {
        self.done(Some(Text(CLOSED.to_owned())));
    }

    /// Lets the run continue; with an error, the listener failed.
    #[pyo3(signature = (error=None))]
    fn done(&self, error: Option<Text>) {
        let done = self.done.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(done) = done {
            // The receiver is dropped when the runtime was shut down.
            let _ = done.send(error.map_or(Ok(()), |error| Err(error.0)));
        }
    }
}

/// A registered listener; `unsubscribe()` removes it.
#[pyclass(frozen, module = "agent_loop")]
pub(crate) struct Subscription {
    host: Weak<Host>,
    number: u64,
}

impl Subscription {
    pub(crate) fn new(host: &Arc<Host>, number: u64) -> Subscription {
        Subscription { host: Arc::downgrade(host), number }
    }
}

#[pymethods]
impl Subscription {
    fn unsubscribe(&self) {
        if let Some(host) = self.host.upgrade() {
            let listener = host.lock().listeners.remove(&self.number);
            drop(listener);
        }
    }

    fn __enter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, _exception: &Bound<'_, pyo3::types::PyTuple>) {
        self.unsubscribe();
    }
}
