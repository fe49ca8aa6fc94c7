//! From the runtime's threads to an event loop of Python: what is to be done there waits in a mailbox, and the loop is woken
//! once for all that came since it looked last.
//!
//! The wakeup is a byte in a pipe that the loop watches, so that the runtime's threads need nothing of Python. Event loops
//! that cannot watch a pipe are woken by a call into Python.

use std::io::{PipeReader, PipeWriter, Read, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Wake, Waker};

use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::hook::Asking;
use crate::host::Shared;
use crate::listener::Telling;
use crate::middleware::Passing;
use crate::model::ModelCall;
use crate::runtime;
use crate::tool::Call;

/// What a loop that runs no more answers.
pub(crate) const CLOSED: &str = "the event loop that started the run is closed";

/// What is to be done on the loop.
pub(crate) enum Job {
    /// Whoever waits with this number may look again.
    Wake(u64),
    /// A tool is called.
    Call(Call),
    /// A hook, or a tool's `prepare_arguments`, is asked.
    Ask(Asking),
    /// A call passes a middleware.
    Pass(Passing),
    /// A provider of one's own is asked.
    Model(ModelCall),
    /// A listener is told an event.
    Tell(Telling),
}

impl Job {
    /// Answers for a loop that does not run any more.
    fn refuse(self) {
        match self {
            Job::Wake(_) => {}
            Job::Call(call) => call.refuse(),
            Job::Ask(asking) => asking.refuse(),
            Job::Pass(passing) => passing.refuse(),
            Job::Model(call) => call.refuse(),
            Job::Tell(telling) => telling.refuse(),
        }
    }
}

/// The mailbox of one event loop.
#[pyclass(frozen, module = "agent_loop._native")]
pub(crate) struct Mailbox(Arc<Post>);

/// The side of a mailbox that any thread may hold.
pub(crate) struct Post {
    state: Mutex<State>,
    bell: Bell,
}

#[derive(std::default::Default)]
struct State {
    jobs: Vec<Job>,
    /// The loop knows that there is something, but has not looked yet.
    rung: bool,
    closed: bool,
}

enum Bell {
    Pipe(PipeReader, PipeWriter),
    /// The function holds the loop, and the loop us; closing lets go of it.
    Call(Mutex<Option<Shared>>),
}

impl Post {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Leaves a job for the loop, or refuses it when the loop is closed.
    pub(crate) fn leave(&self, job: Job) {
        let mut state = self.lock();
        if state.closed {
            drop(state);
            return job.refuse();
        }
        state.jobs.push(job);
        let rung = std::mem::replace(&mut state.rung, true);
        drop(state);
        if !rung {
            self.ring();
        }
    }

    fn ring(&self) {
        match &self.bell {
            // At most one byte is ever in the pipe, so this does not block; it fails only when the loop's side is gone.
            Bell::Pipe(_, writer) => drop((&mut &*writer).write(&[0])),
            Bell::Call(function) => {
                let function = function.lock().unwrap_or_else(PoisonError::into_inner).clone();
                let called = runtime::attached(|py| function.as_ref().is_some_and(|function| function.call0(py).is_ok()));
                if called != Some(true) {
                    self.close();
                }
            }
        }
    }

    fn take(&self) -> Vec<Job> {
        if !self.lock().rung {
            return Vec::new();
        }
        if let Bell::Pipe(reader, _) = &self.bell {
            // The byte is there, or on its way from a thread that rings.
            let _ = (&mut &*reader).read(&mut [0]);
        }
        let mut state = self.lock();
        state.rung = false;
        std::mem::take(&mut state.jobs)
    }

    fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        let jobs = std::mem::take(&mut state.jobs);
        drop(state);
        if let Bell::Call(function) = &self.bell {
            let function = function.lock().unwrap_or_else(PoisonError::into_inner).take();
            drop(function);
        }
        jobs.into_iter().for_each(Job::refuse);
    }
}

impl Mailbox {
    pub(crate) fn post(&self) -> &Arc<Post> {
        &self.0
    }

    /// Wakes whoever waits with this number.
    pub(crate) fn waker(&self, token: u64) -> Waker {
        struct Waiting {
            post: Arc<Post>,
            token: u64,
        }
        impl Wake for Waiting {
            fn wake(self: Arc<Self>) {
                self.post.leave(Job::Wake(self.token));
            }
        }
        Waker::from(Arc::new(Waiting { post: Arc::clone(&self.0), token }))
    }
}

impl Drop for Mailbox {
    fn drop(&mut self) {
        // Its loop is gone, perhaps without a word.
        self.0.close();
    }
}

#[pymethods]
impl Mailbox {
    /// With a function, the loop is woken by calling it from any thread; without, by a pipe.
    #[new]
    #[pyo3(signature = (wake=None))]
    fn new(wake: Option<Py<PyAny>>) -> PyResult<Mailbox> {
        let bell = match wake {
            Some(function) => Bell::Call(Mutex::new(Some(Arc::new(function)))),
            None => {
                let (reader, writer) = std::io::pipe()?;
                Bell::Pipe(reader, writer)
            }
        };
        Ok(Mailbox(Arc::new(Post { state: Mutex::default(), bell })))
    }

    /// What the loop watches; None where there is no such thing.
    fn fileno(&self) -> Option<i32> {
        match &self.0.bell {
            #[cfg(unix)]
            Bell::Pipe(reader, _) => Some(std::os::fd::AsRawFd::as_raw_fd(reader)),
            #[cfg(not(unix))]
            Bell::Pipe(..) => None,
            Bell::Call(_) => None,
        }
    }

    /// All jobs that wait: a number to be woken, or an object that asks for something.
    fn take<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let made = |job| match job {
            Job::Wake(token) => token.into_bound_py_any(py),
            Job::Call(call) => call.into_bound_py_any(py),
            Job::Ask(asking) => asking.into_bound_py_any(py),
            Job::Pass(passing) => passing.into_bound_py_any(py),
            Job::Model(call) => call.into_bound_py_any(py),
            Job::Tell(telling) => telling.into_bound_py_any(py),
        };
        PyList::new(py, self.0.take().into_iter().map(made).collect::<PyResult<Vec<_>>>()?)
    }

    /// The loop runs no more: refuses what waits and what comes.
    fn close(&self) {
        self.0.close();
    }
}
