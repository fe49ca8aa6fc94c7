//! Hooks: Python functions that a run calls on the event loop that started it. Their inputs are in [`crate::hook_input`]. Their
//! answers are converted to JSON or messages here; the engine reads the fields.

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::task::Context;

use agent_loop::{Agent as CoreAgent, HookContext, HookKind, Message as CoreMessage};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use serde_json::Value;
use tokio::sync::oneshot;

use crate::error::raised;
use crate::future::{NativeFuture, Output};
use crate::hook_input::HookInput;
use crate::host::{AGENT_GONE, Host, Shared};
use crate::job_queue::{CLOSED, DROPPED, Job, JobQueue};
use crate::tool::millis;
use crate::{error, json, message};

/// A hook's answer.
pub(crate) enum Answer {
    Json(Value),
    /// The same messages, or others.
    Messages(Option<Vec<Arc<CoreMessage>>>),
}

/// The form of an answer.
#[derive(Clone, Copy)]
enum Form {
    Json,
    Messages,
}

/// Sets a hook, or with `None` removes it.
pub(crate) fn set(agent: &CoreAgent, host: &Arc<Host>, kind: HookKind, function: Option<Py<PyAny>>) {
    let function: Option<Shared> = function.map(Arc::new);
    let before = match &function {
        Some(function) => host.lock().hooks.insert(kind.as_str(), Arc::clone(function)),
        None => host.lock().hooks.remove(kind.as_str()),
    };
    drop(before);
    let Some(function) = function else {
        return agent.set_json_hook(kind, None);
    };
    let hook = HookFunction { host: Arc::downgrade(host), function, method: None };
    // Transcripts may be long, so messages are passed without a conversion to JSON. So are results.
    let messages = move |hook: HookFunction| {
        move |list, context| {
            let answer = hook.call(HookInput::Messages(list), context, Form::Messages);
            async move {
                match answer.await? {
                    Answer::Messages(list) => Ok(list),
                    Answer::Json(_) => Err("the answer is not a list of messages".to_owned()),
                }
            }
        }
    };
    let agent = agent.clone();
    let _ = match kind {
        HookKind::TransformContext => agent.transform_context(messages(hook)),
        HookKind::ConvertToLlm => agent.convert_to_llm(messages(hook)),
        HookKind::AfterRun => agent.after_run(move |result, context| {
            let answer = hook.call(HookInput::Result(Box::new(result)), context, Form::Json);
            async move { answer.await.map(drop) }
        }),
        HookKind::GetApiKey
        | HookKind::BeforeToolCall
        | HookKind::AfterToolCall
        | HookKind::PrepareNextTurn
        | HookKind::ShouldStopAfterTurn
        | HookKind::GetSteeringMessages
        | HookKind::GetFollowUpMessages
        | HookKind::OnPayload
        | HookKind::OnResponse
        | HookKind::OnError
        | HookKind::BeforeRun => {
            let json_hook = move |input: agent_loop::HookInput, context| {
                let hook = hook.clone();
                let answer: agent_loop::BoxFuture<'static, _> =
                    Box::pin(async move { hook.call_json(HookInput::of(kind, input.to_value())?, context).await });
                answer
            };
            agent.set_json_hook(kind, Some(Arc::new(json_hook)));
            agent
        }
    };
}

/// The engine's side of a Python function that is called as a hook.
#[derive(Clone)]
pub(crate) struct HookFunction {
    pub(crate) host: Weak<Host>,
    pub(crate) function: Shared,
    /// The method of the object to call; `None` to call the object itself.
    pub(crate) method: Option<&'static str>,
}

impl HookFunction {
    /// Queues the call for the run's loop; the future is the answer.
    fn call(
        &self,
        input: HookInput,
        context: HookContext,
        form: Form,
    ) -> impl Future<Output = Result<Answer, String>> + Send + use<> {
        let HookFunction { host, function, method } = self.clone();
        async move {
            let caller = host.upgrade().and_then(|host| host.caller()).ok_or(AGENT_GONE)?;
            let (sender, answer) = oneshot::channel();
            let (input, reply) = (Mutex::new(Some(input)), Mutex::new(Some(sender)));
            caller.jobs.send(Job::Hook(HookJob { function, method, vars: caller.vars, input, form, context, reply }));
            answer.await.unwrap_or_else(|_| Err(DROPPED.to_owned()))
        }
    }

    /// The answer as JSON.
    pub(crate) async fn call_json(&self, input: HookInput, context: HookContext) -> Result<Value, String> {
        match self.call(input, context, Form::Json).await? {
            Answer::Json(value) => Ok(value),
            Answer::Messages(_) => Err("the answer is not JSON".to_owned()),
        }
    }
}

/// A hook call to be answered.
#[pyclass(frozen, module = "agent_loop._native")]
pub(crate) struct HookJob {
    function: Shared,
    method: Option<&'static str>,
    vars: Shared,
    input: Mutex<Option<HookInput>>,
    form: Form,
    context: HookContext,
    reply: Mutex<Option<oneshot::Sender<Result<Answer, String>>>>,
}

impl HookJob {
    fn answer(&self, answer: Result<Answer, String>) {
        let sender = self.reply.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(sender) = sender {
            // The receiver is dropped when the run was aborted.
            let _ = sender.send(answer);
        }
    }
}

#[pymethods]
impl HookJob {
    /// The function to call with this job.
    #[getter]
    fn function<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let function = self.function.bind(py);
        self.method.map_or_else(|| Ok(function.clone()), |method| function.getattr(method))
    }

    /// The `contextvars.Context` of the run's caller.
    #[getter]
    fn vars(&self, py: Python<'_>) -> Py<PyAny> {
        self.vars.clone_ref(py)
    }

    /// The arguments for the function: none, or the hook's input. Can be taken once.
    fn take_input<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let input = self.input.lock().unwrap_or_else(PoisonError::into_inner).take();
        input.unwrap_or(HookInput::Nothing).into_args(py)
    }

    #[getter]
    fn is_cancelled(&self) -> bool {
        self.context.is_cancelled()
    }

    /// Whether the answer is no longer needed.
    #[getter]
    fn is_over(&self) -> bool {
        self.reply.lock().unwrap_or_else(PoisonError::into_inner).as_ref().is_none_or(oneshot::Sender::is_closed)
    }

    fn sleep(&self, ms: f64) -> PyResult<NativeFuture> {
        let (context, ms) = (self.context.clone(), millis(ms)?);
        Ok(NativeFuture::new(None, async move { Ok(Output::Flag(context.sleep(ms).await)) }))
    }

    fn respond(&self, py: Python<'_>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let answer = match self.form {
            Form::Json => json::from_py(value, "the answer").map(Answer::Json),
            Form::Messages if value.is_none() => Ok(Answer::Messages(None)),
            Form::Messages => message::from_py(value, "the answer").map(|list| Answer::Messages(Some(list))),
        };
        match answer {
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

    /// Wakes the number in the queue when the answer is no longer needed; returns true when it already is not.
    fn watch(&self, queue: &Bound<'_, JobQueue>, number: u64) -> bool {
        let waker = queue.get().waker(number);
        let mut reply = self.reply.lock().unwrap_or_else(PoisonError::into_inner);
        reply.as_mut().is_none_or(|sender| sender.poll_closed(&mut Context::from_waker(&waker)).is_ready())
    }
}

/// The hook of that name.
///
/// # Errors
/// `invalid_argument` for an unknown name; the message has the nearest one.
pub(crate) fn kind(py: Python<'_>, name: &str) -> PyResult<HookKind> {
    HookKind::parse(name).ok_or_else(|| {
        let known = || HookKind::ALL.iter().map(|kind| kind.as_str());
        let hint = match agent_loop::nearest(name, known()) {
            Some(right) => format!("did you mean {right:?}?"),
            None => format!("known are {}", known().collect::<Vec<_>>().join(", ")),
        };
        raised(py, agent_loop::Error::invalid_argument(format!("unknown hook {name:?}; {hint}")))
    })
}
