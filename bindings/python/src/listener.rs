//! Listeners: Python functions that are called with each event, on the event loop that started the run.

use std::sync::{Arc, Weak};

use pyo3::prelude::*;

use crate::host::Host;

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
