//! Middleware: Python functions around the execution of tools, called on the event loop of the run.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use agent_loop::{Agent as CoreAgent, MiddlewareCall};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::Value;
use tokio::sync::oneshot;

use crate::cancel_watch::CancelWatch;
use crate::future::{NativeFuture, Output};
use crate::host::{AGENT_GONE, Host, Shared};
use crate::job_queue::{CLOSED, DROPPED, Job, JobQueue};
use crate::tool::CallContext;
use crate::{error, json};

/// Adds a function to the chain, inside of those that are in it.
pub(crate) fn add(agent: &CoreAgent, host: &Arc<Host>, function: Py<PyAny>) {
    let function: Shared = Arc::new(function);
    // The engine keeps its middleware as long as the agent. Only the host holds the function, so that the garbage collector can
    // free it.
    let (weak, host_of) = (Arc::downgrade(&function), Arc::downgrade(host));
    host.lock().middleware.push(function);
    agent.add_middleware(Arc::new(move |call| {
        let answer = send(&host_of, &weak, call);
        Box::pin(async move { answer?.await.unwrap_or_else(|_| Err(DROPPED.to_owned())) })
    }));
}

type Answer = Result<Value, String>;

/// Queues the call for the run's loop; the receiver gets the answer.
fn send(host: &Weak<Host>, function: &Weak<Py<PyAny>>, call: MiddlewareCall) -> Result<oneshot::Receiver<Answer>, String> {
    let caller = host.upgrade().and_then(|host| host.caller()).ok_or(AGENT_GONE)?;
    let function = function.upgrade().ok_or(AGENT_GONE)?;
    let (sender, answer) = oneshot::channel();
    caller.jobs.send(Job::Middleware(MiddlewareJob {
        function,
        vars: caller.vars,
        call,
        reply: Mutex::new(Some(sender)),
        watch: CancelWatch::default(),
    }));
    Ok(answer)
}

/// A tool call at one middleware of the chain.
#[pyclass(frozen, module = "agent_loop._native")]
pub(crate) struct MiddlewareJob {
    function: Shared,
    vars: Shared,
    call: MiddlewareCall,
    reply: Mutex<Option<oneshot::Sender<Answer>>>,
    watch: CancelWatch,
}

impl MiddlewareJob {
    fn answer(&self, answer: Answer) {
        self.watch.end();
        let sender = self.reply.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(sender) = sender {
            // The receiver is dropped when the run was aborted or the runtime was shut down.
            let _ = sender.send(answer);
        }
    }
}

#[pymethods]
impl MiddlewareJob {
    /// The function to call with this job.
    #[getter]
    fn function(&self, py: Python<'_>) -> Py<PyAny> {
        self.function.clone_ref(py)
    }

    /// The `contextvars.Context` of the run's caller.
    #[getter]
    fn vars(&self, py: Python<'_>) -> Py<PyAny> {
        self.vars.clone_ref(py)
    }

    /// Whether the answer is no longer needed.
    #[getter]
    fn is_over(&self) -> bool {
        self.call.context().over_token().is_cancelled()
    }

    #[getter]
    fn context(&self) -> CallContext {
        CallContext(self.call.context().clone())
    }

    fn arguments<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        json::map_to_py(py, self.call.arguments())
    }

    /// Runs the rest of the chain, with these arguments or the call's own.
    #[pyo3(signature = (arguments=None))]
    fn next(&self, arguments: Option<&Bound<'_, PyDict>>) -> PyResult<NativeFuture> {
        let arguments = match arguments.map(|arguments| json::from_py(arguments, "arguments")).transpose()? {
            Some(Value::Object(arguments)) => arguments,
            _ => self.call.arguments().clone(),
        };
        let result = self.call.next(arguments);
        Ok(NativeFuture::new(None, async move {
            let failed = |text: String| agent_loop::Error::new(agent_loop::ErrorKind::Callback, text);
            result.await.map(Output::Json).map_err(failed)
        }))
    }

    fn respond(&self, py: Python<'_>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        match json::from_py(value, "the answer") {
            Ok(answer) => self.answer(Ok(answer)),
            Err(error) => self.answer(Err(error::text(py, &error)?)),
        }
        Ok(())
    }

    fn fail(&self, message: json::Text) {
        self.answer(Err(message.0));
    }

    /// Fails the call: its event loop no longer runs.
    pub(crate) fn refuse(&self) {
        self.answer(Err(CLOSED.to_owned()));
    }

    /// Wakes the number in the queue when the run no longer needs the answer; returns true when it already does not.
    fn watch(&self, queue: &Bound<'_, JobQueue>, number: u64) -> bool {
        self.watch.begin(self.call.context().over_token(), queue, number)
    }
}
