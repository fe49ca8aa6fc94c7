//! The exceptions that callbacks raise, kept until the error that they lead to is raised, which has them as its `__cause__`.
//!
//! The engine's errors pass through threads without Python, and lie in transcripts and results for long. They have a number only.
//! The exceptions belong to the Python object of their run: the garbage collector sees them there, and they go with it. Each has
//! its traceback, and so the variables of all functions that it came through.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use agent_loop::Error;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;

use crate::host::lock_for_traverse;

/// The exceptions of one run.
#[derive(Default)]
pub(crate) struct Causes(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    /// By number.
    exceptions: BTreeMap<u64, Py<PyAny>>,
    next: u64,
    /// The run's object is gone.
    is_closed: bool,
}

impl Causes {
    /// Must not be held while Python code may run.
    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps an exception as long as the error has it as its source.
    pub(crate) fn keep(self: &Arc<Causes>, exception: &Bound<'_, PyAny>, text: &str) -> Raised {
        let mut kept = self.lock();
        let number = kept.next;
        kept.next += 1;
        let exception = exception.clone().unbind();
        let refused = if kept.is_closed { Some(exception) } else { kept.exceptions.insert(number, exception) };
        drop(kept);
        drop(refused);
        Raised { causes: Arc::downgrade(self), number, text: text.to_owned() }
    }

    /// Drops all exceptions, also those to come.
    pub(crate) fn close(&self) {
        let mut kept = self.lock();
        kept.is_closed = true;
        let exceptions = std::mem::take(&mut kept.exceptions);
        drop(kept);
        drop(exceptions);
    }

    /// Of the one Python object that owns them.
    pub(crate) fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        let Some(kept) = lock_for_traverse(&self.0) else {
            return Ok(());
        };
        kept.exceptions.values().try_for_each(|exception| visit.call(exception))
    }
}

/// The source of an error that a Python exception has led to. Its clones share it.
pub(crate) struct Raised {
    causes: Weak<Causes>,
    number: u64,
    text: String,
}

impl Drop for Raised {
    fn drop(&mut self) {
        if let Some(causes) = self.causes.upgrade() {
            let exception = causes.lock().exceptions.remove(&self.number);
            drop(exception);
        }
    }
}

impl fmt::Debug for Raised {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Raised").field(&self.text).finish()
    }
}

impl fmt::Display for Raised {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Raised {}

/// The exception that an error comes from, while its run has it.
pub(crate) fn exception<'py>(py: Python<'py>, error: &Error) -> Option<Bound<'py, PyAny>> {
    let raised = std::error::Error::source(error)?.downcast_ref::<Raised>()?;
    let causes = raised.causes.upgrade()?;
    causes.lock().exceptions.get(&raised.number).map(|exception| exception.bind(py).clone())
}
