//! Middleware: Python functions around the execution of tools, called on the event loop of the run.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use agent_loop::{Agent as CoreAgent, MiddlewareCall};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::Value;
use tokio::sync::oneshot;

use crate::host::{Host, Shared};
use crate::mailbox::{CLOSED, Job, Mailbox};
use crate::pending::{Output, Pending};
use crate::tool::CallContext;
use crate::watch::Watch;
use crate::{error, json};

/// Adds a link to the chain.
pub(crate) fn add(agent: &CoreAgent, host: &Arc<Host>, function: Py<PyAny>) {
    let function: Shared = Arc::new(function);
    // The engine keeps its links as long as the agent: only the host holds the function, so that the collector can free it.
    let (weak, host_of) = (Arc::downgrade(&function), Arc::downgrade(host));
    host.lock().middleware.push(function);
    agent.add_middleware(Arc::new(move |call| {
        let answer = pass(&host_of, &weak, call);
        Box::pin(async move { answer?.await.unwrap_or_else(|_| Err("its event loop forgot it".to_owned())) })
    }));
}

type Answer = Result<Value, String>;

/// Leaves the call with the run's loop; gives what will have the answer.
fn pass(host: &Weak<Host>, function: &Weak<Py<PyAny>>, call: MiddlewareCall) -> Result<oneshot::Receiver<Answer>, String> {
    let caller = host.upgrade().and_then(|host| host.caller()).ok_or("the agent is gone")?;
    let function = function.upgrade().ok_or("the agent is gone")?;
    let (sender, answer) = oneshot::channel();
    let answering = Mutex::new(Some(sender));
    caller.post.leave(Job::Pass(Passing { function, vars: caller.vars, call, answering, watch: Watch::default() }));
    Ok(answer)
}

/// A call at one link of the chain.
#[pyclass(frozen, module = "agent_loop._native")]
pub(crate) struct Passing {
    function: Shared,
    vars: Shared,
    call: MiddlewareCall,
    answering: Mutex<Option<oneshot::Sender<Answer>>>,
    watch: Watch,
}

impl Passing {
    fn answer(&self, answer: Answer) {
        self.watch.end();
        let sender = self.answering.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(sender) = sender {
            // Nobody waits any more when the runtime is gone.
            let _ = sender.send(answer);
        }
    }
}

#[pymethods]
impl Passing {
    /// What is called with the job.
    #[getter]
    fn function(&self, py: Python<'_>) -> Py<PyAny> {
        self.function.clone_ref(py)
    }

    /// The `contextvars.Context` of the run's caller.
    #[getter]
    fn vars(&self, py: Python<'_>) -> Py<PyAny> {
        self.vars.clone_ref(py)
    }

    /// Whether nobody waits for the answer any more.
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

    /// The rest of the chain, with these arguments or the same.
    #[pyo3(signature = (arguments=None))]
    fn next(&self, arguments: Option<&Bound<'_, PyDict>>) -> PyResult<Pending> {
        let arguments = match arguments.map(|arguments| json::from_py(arguments, "arguments")).transpose()? {
            Some(Value::Object(arguments)) => arguments,
            _ => self.call.arguments().clone(),
        };
        let result = self.call.next(arguments);
        Ok(Pending::new(None, async move {
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

    /// Answers for a loop that runs no more.
    pub(crate) fn refuse(&self) {
        self.answer(Err(CLOSED.to_owned()));
    }

    /// Has the mailbox get the number when the run no longer waits for the call; true when that is so already.
    fn watch(&self, mailbox: &Bound<'_, Mailbox>, number: u64) -> bool {
        self.watch.begin(self.call.context().over_token(), mailbox, number)
    }
}
