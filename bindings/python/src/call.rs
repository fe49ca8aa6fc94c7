//! Calls of Python functions by the engine: tools, hooks, middleware, listeners and custom providers.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Context;

use agent_loop::host::{HostAnswer, HostCall as CoreCall, HostFunction, HostKind, Question};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use serde_json::Value;

use crate::cause::Causes;
use crate::error::from_fields;
use crate::event::event;
use crate::future::{NativeFuture, Output};
use crate::hook_input;
use crate::host::{Host, Shared};
use crate::job_queue::{Job, JobQueue, Jobs};
use crate::model::ModelRequest;
use crate::suspension::reason_of;
use crate::tool::{CallContext, millis};
use crate::{error, json, message, runtime};

/// The error of a call that was dropped without an answer.
const DROPPED: &str = "the event loop dropped the call without an answer";

/// A Python object that the engine calls.
#[derive(Clone)]
pub(crate) struct Target {
    pub(crate) object: Shared,
    /// The method of the object to call; `None` to call the object itself.
    pub(crate) method: Option<&'static str>,
    /// Whether it is called on the thread that the engine calls it on, a thread of its own which it may block, and not on the
    /// event loop.
    pub(crate) blocking: bool,
    /// Whether its task is cancelled as soon as the call is, and not first when the run no longer waits for its answer.
    pub(crate) cancels_task: bool,
}

impl Target {
    /// An object that is called on the event loop.
    pub(crate) fn new(object: Shared) -> Target {
        Target { object, method: None, blocking: false, cancels_task: false }
    }

    /// The engine's side. The agent must not keep itself alive through its callbacks.
    pub(crate) fn function(self, host: &Arc<Host>) -> HostFunction {
        let host = Arc::downgrade(host);
        Arc::new(move |core| {
            if let Some(host) = host.upgrade() {
                self.clone().call(&host, core);
            } else {
                fail_without_agent(&core);
            }
        })
    }

    /// Calls the object on the event loop of the active run, or here.
    pub(crate) fn call(self, host: &Host, core: CoreCall) {
        let Some(caller) = host.caller() else {
            return fail_without_agent(&core);
        };
        self.call_in(&caller.jobs, caller.vars, caller.causes, core);
    }

    /// Calls the object on the event loop of a job queue, or here.
    pub(crate) fn call_in(self, jobs: &Jobs, vars: Shared, causes: Arc<Causes>, core: CoreCall) {
        if self.blocking {
            return self.call_here(vars, causes, core);
        }
        jobs.call(core.failing_with(DROPPED), |core| Job::Call(self.of(core, vars, causes)));
    }

    /// Calls the object on this thread, which it may block.
    pub(crate) fn call_here(self, vars: Shared, causes: Arc<Causes>, core: CoreCall) {
        // At interpreter exit the call is dropped, which fails it.
        let call = self.of(core.failing_with(DROPPED), vars, causes);
        runtime::attached(|py| {
            // While Python was busy the run may have ended, and its agent been collected.
            if call.is_over() {
                return;
            }
            let called = call.function(py).and_then(|function| function.call1((call,)));
            if let Err(error) = called {
                error.write_unraisable(py, None);
            }
        });
    }

    fn of(self, core: CoreCall, vars: Shared, causes: Arc<Causes>) -> HostCall {
        let Target { object, method, cancels_task, .. } = self;
        let input = Mutex::new(core.take_input());
        let within = core.carried().and_then(|vars| Arc::clone(vars).downcast::<Py<PyAny>>().ok());
        HostCall { core, object, method, cancels_task, vars, within, causes, input, watch: Mutex::default() }
    }
}

/// Fails a call whose agent was dropped; a model's fails by being dropped.
pub(crate) fn fail_without_agent(call: &CoreCall) {
    if call.kind() != HostKind::Model {
        // Nothing has answered it.
        let _ = call.fail("the agent no longer exists");
    }
}

/// A call of a Python function, to be answered once.
#[pyclass(frozen, module = "agent_loop._native")]
pub(crate) struct HostCall {
    core: CoreCall,
    object: Shared,
    method: Option<&'static str>,
    cancels_task: bool,
    vars: Shared,
    /// Those in which a middleware has called `next`.
    within: Option<Shared>,
    /// Of its run.
    causes: Arc<Causes>,
    input: Mutex<Option<agent_loop::host::HookInput>>,
    /// Until the answer: wakes the event loop when its task is to be cancelled.
    watch: Mutex<Option<Pin<Box<dyn Future<Output = ()> + Send>>>>,
}

impl HostCall {
    fn end_watch(&self) {
        let watch = self.watch.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(watch);
    }

    fn fail_from(&self, text: String, exception: &Bound<'_, PyAny>) -> Result<(), agent_loop::Error> {
        let source = self.causes.keep(exception, &text);
        self.core.fail_from(text, source)
    }

    fn read(&self, value: &Bound<'_, PyAny>) -> PyResult<HostAnswer> {
        use agent_loop::hook::HookKind::{ConvertToLlm, TransformContext};
        match self.core.kind() {
            HostKind::Listener | HostKind::Model => Ok(HostAnswer::Nothing),
            // Transcripts may be long, so messages are passed without a conversion to JSON.
            HostKind::Hook(TransformContext | ConvertToLlm) if value.is_none() => Ok(HostAnswer::Messages(None)),
            HostKind::Hook(TransformContext | ConvertToLlm) => {
                message::from_py(value, "the answer").map(|list| HostAnswer::Messages(Some(list)))
            }
            HostKind::Tool | HostKind::Middleware => json::result_from_py(value, "the tool's result").map(HostAnswer::Json),
            HostKind::PrepareArguments | HostKind::NeedsApproval | HostKind::Hook(_) | HostKind::Store(_) => {
                json::from_py(value, "the answer").map(HostAnswer::Json)
            }
        }
    }
}

#[pymethods]
impl HostCall {
    /// `tool`, `hook` (also for a tool's `prepare_arguments`), `middleware`, `listener`, `model` or `store`.
    #[getter]
    fn kind(&self) -> &'static str {
        match self.core.kind() {
            HostKind::Tool => "tool",
            HostKind::PrepareArguments | HostKind::NeedsApproval | HostKind::Hook(_) => "hook",
            HostKind::Middleware => "middleware",
            HostKind::Listener => "listener",
            HostKind::Model => "model",
            HostKind::Store(_) => "store",
        }
    }

    /// The function to call with this call; a listener's is called with the event.
    #[getter]
    fn function<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let object = self.object.bind(py);
        self.method.map_or_else(|| Ok(object.clone()), |method| object.getattr(method))
    }

    /// The `contextvars.Context` of the run's caller.
    #[getter]
    fn vars(&self, py: Python<'_>) -> Py<PyAny> {
        self.vars.clone_ref(py)
    }

    /// The `contextvars.Context` in which the middleware around this call has called `next`; None without one.
    #[getter]
    fn within(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        self.within.as_ref().map(|vars| vars.clone_ref(py))
    }

    /// The name of a store's method; None of another call.
    #[getter]
    fn store_method(&self) -> Option<&'static str> {
        match self.core.kind() {
            HostKind::Store(method) => Some(method),
            _ => None,
        }
    }

    /// The name of a hook; None also for a tool's `prepare_arguments`.
    #[getter]
    fn hook(&self) -> Option<&'static str> {
        match self.core.kind() {
            HostKind::Hook(kind) => Some(kind.as_str()),
            _ => None,
        }
    }

    /// The id of the tool call that this is about, if it is about one.
    #[getter]
    fn tool_call_id(&self) -> Option<String> {
        if let Some(context) = self.core.tool_context() {
            return Some(context.id().to_owned());
        }
        match &self.input.lock().unwrap_or_else(PoisonError::into_inner).as_ref()?.0 {
            Question::BeforeToolCall(call) => Some(call.tool_call_id.clone()),
            Question::AfterToolCall(call) => Some(call.tool_call_id.clone()),
            _ => None,
        }
    }

    /// The number of the message that made the call which `before_tool_call` is asked about, in its run.
    #[getter]
    fn batch(&self) -> Option<usize> {
        self.input.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(agent_loop::host::HookInput::batch)
    }

    /// The number of the span of a tool's call; 0 for none.
    #[getter]
    fn span(&self) -> u64 {
        self.core.tool_context().map_or(0, agent_loop::ToolContext::span)
    }

    /// The context of a tool's call.
    #[getter]
    fn context(&self) -> Option<CallContext> {
        self.core.tool_context().cloned().map(CallContext)
    }

    /// The validated arguments of a tool's call.
    fn arguments<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.core.arguments().map_or_else(|| Ok(PyDict::new(py)), |arguments| json::map_to_py(py, arguments))
    }

    /// The arguments for a hook, a listener or a store's method. Can be taken once.
    fn take_input<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        if let Some(core) = self.core.take_event() {
            return PyTuple::new(py, [event(py, core)?]);
        }
        if let Some(arguments) = self.core.take_store_arguments() {
            return PyTuple::new(py, arguments.iter().map(|one| json::to_py(py, one)).collect::<PyResult<Vec<_>>>()?);
        }
        if let (HostKind::PrepareArguments | HostKind::NeedsApproval, Some(arguments)) = (self.core.kind(), self.core.arguments())
        {
            return PyTuple::new(py, [json::map_to_py(py, arguments)?]);
        }
        let input = self.input.lock().unwrap_or_else(PoisonError::into_inner).take();
        input.map_or_else(|| Ok(PyTuple::empty(py)), |input| hook_input::arguments(py, input))
    }

    /// The request to a provider.
    fn request(&self) -> Option<ModelRequest> {
        self.core.model_call().map(|call| ModelRequest(call.request().clone()))
    }

    #[getter]
    fn is_cancelled(&self) -> bool {
        self.core.is_cancelled()
    }

    /// Whether the run no longer waits for the answer.
    #[getter]
    fn is_over(&self) -> bool {
        self.core.over_token().is_some_and(agent_loop::CancelToken::is_cancelled)
    }

    fn sleep(&self, ms: &Bound<'_, PyAny>) -> PyResult<NativeFuture> {
        let sleep = self.core.sleep(millis(ms, "ms")?);
        Ok(NativeFuture::new(None, async move { Ok(Output::Flag(sleep.await)) }))
    }

    /// Runs the rest of the chain after a middleware, with these arguments or the call's own, in these context variables.
    fn next(&self, arguments: Option<&Bound<'_, PyDict>>, vars: Py<PyAny>) -> PyResult<NativeFuture> {
        let arguments = arguments.map(|arguments| json::from_py(arguments, "arguments")).transpose()?;
        let rest = self.core.middleware_call().map(|call| match arguments {
            Some(Value::Object(arguments)) => call.next_carrying(arguments, Arc::new(vars)),
            _ => call.next_carrying(call.arguments().clone(), Arc::new(vars)),
        });
        Ok(NativeFuture::new(None, async move {
            let result = match rest {
                Some(rest) => rest.await,
                None => Err(agent_loop::Error::callback("next: only the call of a middleware has one")),
            };
            result.map(Output::Json)
        }))
    }

    /// Adds a chunk to a model's answer.
    fn push(&self, py: Python<'_>, chunk: &Bound<'_, PyAny>) -> PyResult<()> {
        let chunk = json::from_py(chunk, "chunk")?;
        match self.core.model_call() {
            Some(call) if !self.core.is_answered() => call.push(&chunk).map_err(|error| error::unchanged(py, &error)),
            _ => Ok(()),
        }
    }

    /// Ready when the run can take the next chunk; false when the call was cancelled.
    fn ready(&self) -> NativeFuture {
        let ready = self.core.model_call().map(agent_loop::model::ModelCall::ready);
        NativeFuture::new(None, async move {
            let ready = match ready {
                Some(ready) => ready.await,
                None => false,
            };
            Ok(Output::Flag(ready))
        })
    }

    /// Same as `ready`, for a thread that may block.
    fn ready_sync(&self, py: Python<'_>) -> bool {
        py.detach(|| self.core.model_call().is_some_and(agent_loop::model::ModelCall::ready_blocking))
    }

    /// Answers the call, unless it was answered; a wrong value fails it. Of a listener and a provider the value does not count.
    #[pyo3(signature = (value=None))]
    fn respond(&self, py: Python<'_>, value: Option<&Bound<'_, PyAny>>) {
        let none = py.None().into_bound(py);
        let answer = match self.read(value.unwrap_or(&none)) {
            Ok(HostAnswer::Json(Value::Null)) if self.core.kind() == HostKind::PrepareArguments => {
                Err(("expected a dict of arguments, got None".to_owned(), None))
            }
            Ok(answer) => Ok(answer),
            Err(error) => Err((error::text(py, &error), Some(error))),
        };
        self.end_watch();
        // Only the first answer counts.
        let _ = match answer {
            Ok(answer) => self.core.respond(answer),
            Err((text, None)) => self.core.fail(text),
            Err((text, Some(error))) => self.fail_from(text, error.value(py)),
        };
    }

    /// Fails the call, unless it was answered, with a text that says what exception this was.
    fn fail(&self, message: json::Text, exception: &Bound<'_, PyAny>) {
        self.end_watch();
        if self.core.tool_context().is_some()
            && let Some(reason) = reason_of(exception)
        {
            // Only the first answer counts.
            let _ = self.core.suspend(reason);
            return;
        }
        let _ = self.fail_from(message.0, exception);
    }

    /// Fails the call of a model or a store; `error` is an `AgentError` as its `to_dict` returns it, made of the exception.
    fn fail_with(&self, error: &Bound<'_, PyAny>, exception: &Bound<'_, PyAny>) -> PyResult<()> {
        let error = from_fields(&json::from_py(error, "error")?);
        let source = self.causes.keep(exception, error.message());
        self.end_watch();
        let _ = self.core.fail_with(error.with_source(source));
        Ok(())
    }

    /// Wakes the number in the queue when the call's task is to be cancelled; returns true when it already is. That is when the
    /// run no longer needs the answer, and for a task that is to hear of it, `once_more` aside, already when the call is
    /// cancelled, which may be before its task was there: on its way to the event loop.
    #[pyo3(signature = (queue, number, once_more=false))]
    fn watch(&self, queue: &Bound<'_, JobQueue>, number: u64, once_more: bool) -> bool {
        let first = self.core.cancel_token().filter(|_| self.cancels_task && !once_more);
        let Some(over) = first.or_else(|| self.core.over_token()) else {
            return false;
        };
        let mut over = Box::pin(over.cancelled());
        let waker = queue.get().waker(number);
        let is_over = over.as_mut().poll(&mut Context::from_waker(&waker)).is_ready();
        if !is_over {
            *self.watch.lock().unwrap_or_else(PoisonError::into_inner) = Some(over);
        }
        is_over
    }
}
