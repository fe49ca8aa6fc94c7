//! Listeners: Python functions that are told events on the event loop that started the run.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use agent_loop::{Event, Listener};
use pyo3::prelude::*;
use tokio::sync::oneshot;

use crate::event::event;
use crate::host::{Host, Shared};
use crate::json::Text;
use crate::mailbox::{CLOSED, Job};

/// The engine's side of a Python function.
pub(crate) fn listener(host: &Arc<Host>, function: &Shared) -> Listener {
    let (host, function) = (Arc::downgrade(host), Arc::clone(function));
    Listener::Future(Arc::new(move |event| {
        let told = tell(&host, &function, event);
        Box::pin(async move { told?.await.unwrap_or_else(|_| Err("its event loop forgot it".to_owned())) })
    }))
}

/// Leaves the event with the run's loop; gives what will say how it went.
fn tell(host: &Weak<Host>, function: &Shared, event: Event) -> Result<oneshot::Receiver<Result<(), String>>, String> {
    let caller = host.upgrade().and_then(|host| host.caller()).ok_or("the agent is gone")?;
    let (done, heard) = oneshot::channel();
    let (function, vars) = (Arc::clone(function), caller.vars);
    caller.post.leave(Job::Tell(Telling { function, vars, event: Mutex::new(Some(event)), done: Mutex::new(Some(done)) }));
    Ok(heard)
}

/// An event on its way to a listener.
#[pyclass(frozen, module = "agent_loop._native")]
pub(crate) struct Telling {
    function: Shared,
    vars: Shared,
    event: Mutex<Option<Event>>,
    done: Mutex<Option<oneshot::Sender<Result<(), String>>>>,
}

#[pymethods]
impl Telling {
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

    /// Answers for a loop that runs no more.
    pub(crate) fn refuse(&self) {
        self.done(Some(Text(CLOSED.to_owned())));
    }

    /// Lets the run go on; `error` says why the listener failed.
    #[pyo3(signature = (error=None))]
    fn done(&self, error: Option<Text>) {
        let done = self.done.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(done) = done {
            // Nobody waits any more when the runtime is gone.
            let _ = done.send(error.map_or(Ok(()), |error| Err(error.0)));
        }
    }
}

/// A listener's place; `unsubscribe()` gives it up.
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
