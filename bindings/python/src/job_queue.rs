//! The way from the runtime's threads to an event loop of Python: what wakes the loop, and what it takes from its job queue.
//!
//! The wakeup is a byte in a pipe that the loop watches, so that the runtime's threads need nothing of Python. Event loops
//! that cannot watch a pipe are woken by a call into Python.

use std::io::{PipeReader, PipeWriter, Read, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Wake, Waker};

use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::call::HostCall;
use crate::host::Shared;
use crate::log::LogRecord;
use crate::runtime;
use crate::traces::Traces;

/// The error of a call whose event loop no longer runs.
const CLOSED: &str = "the event loop that started the run is closed";

/// Work for the event loop.
#[allow(clippy::large_enum_variant)] // Jobs are moved once, into the object that Python gets.
pub(crate) enum Job {
    /// Wake the coroutine that awaits this number: it polls again.
    Wake(u64),
    /// Call a function.
    Call(HostCall),
    /// Log a record.
    Log(LogRecord),
    /// Take what is recorded for OpenTelemetry.
    Traces(Traces),
}

/// The side of a job queue that any thread may hold.
pub(crate) type Jobs = agent_loop::host::JobQueue<Job, Wakeup>;

/// The job queue of one event loop; the loop's side.
#[pyclass(frozen, module = "agent_loop._native")]
pub(crate) struct JobQueue(Arc<Jobs>);

pub(crate) enum Wakeup {
    Pipe(PipeReader, PipeWriter),
    /// A function to call. It holds the loop, and the loop holds this queue: closing drops it.
    Call(Mutex<Option<Shared>>),
}

impl agent_loop::host::Wakeup for Wakeup {
    fn wake(&self) -> bool {
        match self {
            // At most one byte is ever in the pipe, so this does not block; it fails only when the loop's side is gone.
            Wakeup::Pipe(_, writer) => {
                let _ = (&mut &*writer).write(&[0]);
                true
            }
            Wakeup::Call(function) => {
                let function = function.lock().unwrap_or_else(PoisonError::into_inner).clone();
                let called = runtime::attached(|py| function.as_ref().is_some_and(|function| function.call0(py).is_ok()));
                called == Some(true)
            }
        }
    }

    fn noticed(&self) {
        if let Wakeup::Pipe(reader, _) = self {
            // The byte is in the pipe, or on its way from the thread that wakes.
            let _ = (&mut &*reader).read(&mut [0]);
        }
    }

    fn closed(&self) {
        if let Wakeup::Call(function) = self {
            let function = function.lock().unwrap_or_else(PoisonError::into_inner).take();
            drop(function);
        }
    }
}

impl JobQueue {
    pub(crate) fn jobs(&self) -> &Arc<Jobs> {
        &self.0
    }

    /// Wakes the coroutine that awaits this number.
    pub(crate) fn waker(&self, number: u64) -> Waker {
        struct QueueWaker {
            jobs: Arc<Jobs>,
            number: u64,
        }
        impl Wake for QueueWaker {
            fn wake(self: Arc<Self>) {
                self.jobs.push(Job::Wake(self.number));
            }
        }
        Waker::from(Arc::new(QueueWaker { jobs: Arc::clone(&self.0), number }))
    }
}

impl Drop for JobQueue {
    fn drop(&mut self) {
        // The loop may have gone without closing the queue.
        self.0.close();
    }
}

#[pymethods]
impl JobQueue {
    /// With a function, the loop is woken by calling it from any thread; without one, through a pipe.
    #[new]
    #[pyo3(signature = (wake=None))]
    fn new(wake: Option<Py<PyAny>>) -> PyResult<JobQueue> {
        let wakeup = match wake {
            Some(function) => Wakeup::Call(Mutex::new(Some(Arc::new(function)))),
            None => {
                let (reader, writer) = std::io::pipe()?;
                Wakeup::Pipe(reader, writer)
            }
        };
        Ok(JobQueue(Arc::new(Jobs::new(wakeup, CLOSED))))
    }

    /// The descriptor that the loop watches; None without a pipe.
    fn fileno(&self) -> Option<i32> {
        match self.0.wakeup() {
            #[cfg(unix)]
            Wakeup::Pipe(reader, _) => Some(std::os::fd::AsRawFd::as_raw_fd(reader)),
            #[cfg(not(unix))]
            Wakeup::Pipe(..) => None,
            Wakeup::Call(_) => None,
        }
    }

    /// All queued jobs, in order: a number to wake, a call to answer, a log record, or what has traces to take.
    fn take<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let object = |job| match job {
            Job::Wake(number) => number.into_bound_py_any(py),
            Job::Call(call) => call.into_bound_py_any(py),
            Job::Log(record) => record.into_bound_py_any(py),
            Job::Traces(traces) => traces.into_bound_py_any(py),
        };
        PyList::new(py, self.0.take(usize::MAX).into_iter().map(object).collect::<PyResult<Vec<_>>>()?)
    }

    /// The loop no longer runs: fails its calls, also those to come.
    fn close(&self) {
        self.0.close();
    }
}
