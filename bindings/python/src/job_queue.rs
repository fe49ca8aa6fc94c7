//! The way from the runtime's threads to an event loop of Python: jobs for the loop are put into its queue, and the loop is woken
//! once for all jobs that came since it last took them.
//!
//! The wakeup is a byte in a pipe that the loop watches, so that the runtime's threads need nothing of Python. Event loops
//! that cannot watch a pipe are woken by a call into Python.

use std::io::{PipeReader, PipeWriter, Read, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Wake, Waker};

use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::hook::HookJob;
use crate::host::Shared;
use crate::listener::ListenerJob;
use crate::middleware::MiddlewareJob;
use crate::model::ModelJob;
use crate::runtime;
use crate::tool::ToolJob;

/// The error of a job whose event loop no longer runs.
pub(crate) const CLOSED: &str = "the event loop that started the run is closed";

/// The error of a job that was dropped without an answer.
pub(crate) const DROPPED: &str = "the event loop dropped the call without an answer";

/// Work for the event loop.
pub(crate) enum Job {
    /// Wake the coroutine that awaits this number: it polls again.
    Wake(u64),
    /// Call a tool.
    Tool(ToolJob),
    /// Call a hook, or a tool's `prepare_arguments`.
    Hook(HookJob),
    /// Call a middleware.
    Middleware(MiddlewareJob),
    /// Call a custom provider.
    Model(ModelJob),
    /// Call a listener.
    Listener(ListenerJob),
}

impl Job {
    /// Fails the job: its loop no longer runs.
    fn refuse(self) {
        match self {
            Job::Wake(_) => {}
            Job::Tool(job) => job.refuse(),
            Job::Hook(job) => job.refuse(),
            Job::Middleware(job) => job.refuse(),
            Job::Model(job) => job.refuse(),
            Job::Listener(job) => job.refuse(),
        }
    }
}

/// The job queue of one event loop; the loop's side.
#[pyclass(frozen, module = "agent_loop._native")]
pub(crate) struct JobQueue(Arc<JobSender>);

/// The side of a job queue that any thread may hold.
pub(crate) struct JobSender {
    state: Mutex<State>,
    wakeup: Wakeup,
}

#[derive(std::default::Default)]
struct State {
    jobs: Vec<Job>,
    /// The loop was woken and has not taken the jobs yet.
    woken: bool,
    closed: bool,
}

enum Wakeup {
    Pipe(PipeReader, PipeWriter),
    /// A function to call. It holds the loop, and the loop holds this queue: closing drops it.
    Call(Mutex<Option<Shared>>),
}

impl JobSender {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues a job for the loop, or refuses it when the loop is closed.
    pub(crate) fn send(&self, job: Job) {
        let mut state = self.lock();
        if state.closed {
            drop(state);
            return job.refuse();
        }
        state.jobs.push(job);
        let woken = std::mem::replace(&mut state.woken, true);
        drop(state);
        if !woken {
            self.wake();
        }
    }

    fn wake(&self) {
        match &self.wakeup {
            // At most one byte is ever in the pipe, so this does not block; it fails only when the loop's side is gone.
            Wakeup::Pipe(_, writer) => drop((&mut &*writer).write(&[0])),
            Wakeup::Call(function) => {
                let function = function.lock().unwrap_or_else(PoisonError::into_inner).clone();
                let called = runtime::attached(|py| function.as_ref().is_some_and(|function| function.call0(py).is_ok()));
                if called != Some(true) {
                    self.close();
                }
            }
        }
    }

    fn take(&self) -> Vec<Job> {
        if !self.lock().woken {
            return Vec::new();
        }
        if let Wakeup::Pipe(reader, _) = &self.wakeup {
            // The byte is in the pipe, or on its way from the thread that set `woken`.
            let _ = (&mut &*reader).read(&mut [0]);
        }
        let mut state = self.lock();
        state.woken = false;
        std::mem::take(&mut state.jobs)
    }

    fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        let jobs = std::mem::take(&mut state.jobs);
        drop(state);
        if let Wakeup::Call(function) = &self.wakeup {
            let function = function.lock().unwrap_or_else(PoisonError::into_inner).take();
            drop(function);
        }
        jobs.into_iter().for_each(Job::refuse);
    }
}

impl JobQueue {
    pub(crate) fn sender(&self) -> &Arc<JobSender> {
        &self.0
    }

    /// Wakes the coroutine that awaits this number.
    pub(crate) fn waker(&self, number: u64) -> Waker {
        struct QueueWaker {
            jobs: Arc<JobSender>,
            number: u64,
        }
        impl Wake for QueueWaker {
            fn wake(self: Arc<Self>) {
                self.jobs.send(Job::Wake(self.number));
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
        Ok(JobQueue(Arc::new(JobSender { state: Mutex::default(), wakeup })))
    }

    /// The descriptor that the loop watches; None without a pipe.
    fn fileno(&self) -> Option<i32> {
        match &self.0.wakeup {
            #[cfg(unix)]
            Wakeup::Pipe(reader, _) => Some(std::os::fd::AsRawFd::as_raw_fd(reader)),
            #[cfg(not(unix))]
            Wakeup::Pipe(..) => None,
            Wakeup::Call(_) => None,
        }
    }

    /// All queued jobs, in order: a number to wake, or an object with a call to answer.
    fn take<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let object = |job| match job {
            Job::Wake(number) => number.into_bound_py_any(py),
            Job::Tool(job) => job.into_bound_py_any(py),
            Job::Hook(job) => job.into_bound_py_any(py),
            Job::Middleware(job) => job.into_bound_py_any(py),
            Job::Model(job) => job.into_bound_py_any(py),
            Job::Listener(job) => job.into_bound_py_any(py),
        };
        PyList::new(py, self.0.take().into_iter().map(object).collect::<PyResult<Vec<_>>>()?)
    }

    /// The loop no longer runs: refuses the queued jobs and all further ones.
    fn close(&self) {
        self.0.close();
    }
}
