//! Hooks: Python functions that a run asks on the event loop that started it. What each gets is in [`crate::input`]; what it
//! answers is read here only as far as Python is concerned, the engine does the rest.

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::task::Context;

use agent_loop::{Agent as CoreAgent, HookContext, HookKind, Message as CoreMessage};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use serde_json::Value;
use tokio::sync::oneshot;

use crate::error::raised;
use crate::host::{Host, Shared};
use crate::input::Input;
use crate::mailbox::{CLOSED, Job, Mailbox};
use crate::pending::{Output, Pending};
use crate::tool::millis;
use crate::{error, json, message};

/// What a hook answers.
pub(crate) enum Answer {
    Json(Value),
    /// The same messages, or others.
    Messages(Option<Vec<Arc<CoreMessage>>>),
}

/// In which form an answer is wanted.
#[derive(Clone, Copy)]
enum Wanted {
    Json,
    Messages,
}

/// Sets or takes out a hook.
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
    let asker = Asker { host: Arc::downgrade(host), function, method: None };
    // Transcripts may be long: they cross as they are. So do results.
    let messages = move |asker: Asker| {
        move |list, context| {
            let answer = asker.ask(Input::Messages(list), context, Wanted::Messages);
            async move {
                match answer.await? {
                    Answer::Messages(list) => Ok(list),
                    Answer::Json(_) => Err("the answer is no list of messages".to_owned()),
                }
            }
        }
    };
    let agent = agent.clone();
    let _ = match kind {
        HookKind::TransformContext => agent.transform_context(messages(asker)),
        HookKind::ConvertToLlm => agent.convert_to_llm(messages(asker)),
        HookKind::AfterRun => agent.after_run(move |result, context| {
            let answer = asker.ask(Input::Result(Box::new(result)), context, Wanted::Json);
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
            let hook = move |input: agent_loop::HookInput, context| {
                let asker = asker.clone();
                let answer: agent_loop::BoxFuture<'static, _> =
                    Box::pin(async move { asker.json(Input::of(kind, input.to_value())?, context).await });
                answer
            };
            agent.set_json_hook(kind, Some(Arc::new(hook)));
            agent
        }
    };
}

/// Asks a Python function.
#[derive(Clone)]
pub(crate) struct Asker {
    pub(crate) host: Weak<Host>,
    pub(crate) function: Shared,
    /// Of the object, the method to call, if it is not called itself.
    pub(crate) method: Option<&'static str>,
}

impl Asker {
    /// Leaves the question with the run's loop, and waits.
    fn ask(
        &self,
        input: Input,
        context: HookContext,
        wanted: Wanted,
    ) -> impl Future<Output = Result<Answer, String>> + Send + use<> {
        let Asker { host, function, method } = self.clone();
        async move {
            let caller = host.upgrade().and_then(|host| host.caller()).ok_or("the agent is gone")?;
            let (sender, answer) = oneshot::channel();
            let (input, answering) = (Mutex::new(Some(input)), Mutex::new(Some(sender)));
            caller.post.leave(Job::Ask(Asking { function, method, vars: caller.vars, input, wanted, context, answering }));
            answer.await.unwrap_or_else(|_| Err("its event loop forgot it".to_owned()))
        }
    }

    /// The answer as JSON.
    pub(crate) async fn json(&self, input: Input, context: HookContext) -> Result<Value, String> {
        match self.ask(input, context, Wanted::Json).await? {
            Answer::Json(value) => Ok(value),
            Answer::Messages(_) => Err("the answer is no JSON".to_owned()),
        }
    }
}

/// A question that waits for its answer.
#[pyclass(frozen, module = "agent_loop._native")]
pub(crate) struct Asking {
    function: Shared,
    method: Option<&'static str>,
    vars: Shared,
    input: Mutex<Option<Input>>,
    wanted: Wanted,
    context: HookContext,
    answering: Mutex<Option<oneshot::Sender<Result<Answer, String>>>>,
}

impl Asking {
    fn answer(&self, answer: Result<Answer, String>) {
        let sender = self.answering.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(sender) = sender {
            // Nobody waits any more when the run was aborted.
            let _ = sender.send(answer);
        }
    }
}

#[pymethods]
impl Asking {
    /// What is called with the job.
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

    /// What the function is called with, once: nothing or one value.
    fn take_input<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let input = self.input.lock().unwrap_or_else(PoisonError::into_inner).take();
        input.unwrap_or(Input::Nothing).into_args(py)
    }

    #[getter]
    fn is_cancelled(&self) -> bool {
        self.context.is_cancelled()
    }

    /// Whether nobody waits for the answer any more.
    #[getter]
    fn is_over(&self) -> bool {
        self.answering.lock().unwrap_or_else(PoisonError::into_inner).as_ref().is_none_or(oneshot::Sender::is_closed)
    }

    fn sleep(&self, ms: f64) -> PyResult<Pending> {
        let (context, ms) = (self.context.clone(), millis(ms)?);
        Ok(Pending::new(None, async move { Ok(Output::Flag(context.sleep(ms).await)) }))
    }

    fn respond(&self, py: Python<'_>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let answer = match self.wanted {
            Wanted::Json => json::from_py(value, "the answer").map(Answer::Json),
            Wanted::Messages if value.is_none() => Ok(Answer::Messages(None)),
            Wanted::Messages => message::from_py(value, "the answer").map(|list| Answer::Messages(Some(list))),
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

    /// Answers for a loop that runs no more.
    pub(crate) fn refuse(&self) {
        self.answer(Err(CLOSED.to_owned()));
    }

    /// Has the mailbox get the number when nobody waits for the answer any more; true when that is so already.
    fn watch(&self, mailbox: &Bound<'_, Mailbox>, number: u64) -> bool {
        let waker = mailbox.get().waker(number);
        let mut answering = self.answering.lock().unwrap_or_else(PoisonError::into_inner);
        answering.as_mut().is_none_or(|sender| sender.poll_closed(&mut Context::from_waker(&waker)).is_ready())
    }
}

/// The hook of that name.
///
/// # Errors
/// `invalid_argument`: names the nearest.
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
