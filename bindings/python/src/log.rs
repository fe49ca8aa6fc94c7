//! Log records on their way to Python's `logging`: on the event loop of their run, in the context variables of its caller;
//! without one on a thread of the runtime.

use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::task::Poll;

use agent_loop::host::{LogLevel, LogRecord as CoreRecord, RunLogFunction};
use pyo3::prelude::*;

use crate::host::Host;
use crate::job_queue::Job;
use crate::{error, json, runtime};

/// A log record.
#[pyclass(frozen, module = "agent_loop._native")]
pub(crate) struct LogRecord {
    core: CoreRecord,
    /// The agent, and the number of its run's caller. Not the caller's context itself: the garbage collector sees that only
    /// through the agent, and empties it with the agent.
    of: Option<(Weak<Host>, u64)>,
}

#[pymethods]
impl LogRecord {
    #[getter]
    fn level(&self) -> &'static str {
        self.core.level().as_str()
    }

    #[getter]
    fn message(&self) -> String {
        self.core.message()
    }

    /// The context variables that it is logged in, while the agent and the run have them.
    #[getter]
    fn vars(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        let (host, marker) = self.of.as_ref()?;
        let caller = host.upgrade()?.caller().filter(|caller| caller.marker == *marker)?;
        Some(caller.vars.clone_ref(py))
    }

    /// `code`, `run_id`, `conversation_id`, `turn`, `data` and `error`.
    fn fields<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let fields = pyo3::types::PyDict::new(py);
        fields.set_item("code", self.core.code())?;
        fields.set_item("run_id", self.core.run_id.as_deref())?;
        fields.set_item("conversation_id", self.core.conversation_id.as_deref())?;
        fields.set_item("turn", self.core.turn)?;
        fields.set_item("data", json::map_to_py(py, &self.core.data)?)?;
        fields.set_item("error", self.core.error.as_ref().map(|error| error::object(py, error)).transpose()?)?;
        Ok(fields.into_any())
    }
}

/// Where the records of an agent's run go. `has_logged` is set with the first.
pub(crate) fn of_run(host: Weak<Host>, has_logged: Arc<AtomicBool>) -> RunLogFunction {
    Arc::new(move |core| {
        has_logged.store(true, Ordering::Release);
        // The caller of a run that is over is dropped.
        let Some(caller) = host.upgrade().and_then(|host| host.caller()) else {
            return Some(core);
        };
        let record = LogRecord { core, of: Some((Weak::clone(&host), caller.marker)) };
        match caller.jobs.try_push(Job::Log(record)) {
            Ok(()) => None,
            Err(Job::Log(refused)) => Some(refused.core),
            Err(_) => None,
        }
    })
}

/// Ready when the event loop that awaits this has taken the jobs that were there before: the records of a run come before its
/// result.
pub(crate) async fn after_records(has_logged: &AtomicBool) {
    let mut is_woken = !has_logged.load(Ordering::Acquire);
    poll_fn(|cx| {
        if std::mem::replace(&mut is_woken, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// Logs a record, on a thread of the runtime. At interpreter exit it is dropped.
pub(crate) fn write(core: CoreRecord) {
    runtime::attached(|py| {
        let record = LogRecord { core, of: None };
        let written = py.import("agent_loop.logs").and_then(|module| module.call_method1("write", (record,)));
        if let Err(error) = written {
            error.write_unraisable(py, None);
        }
    });
}

/// The last level of which records leave the engine: those for debugging only if someone wants them.
pub(crate) fn level(is_debugged: bool) -> LogLevel {
    if is_debugged { LogLevel::Debug } else { LogLevel::Info }
}
