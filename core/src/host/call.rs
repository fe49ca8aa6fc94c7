//! One call of a host's callback.

use std::any::Any;
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};

use crate::cancel::CancelToken;
use serde_json::{Map, Value};
use tokio_util::sync::DropGuard;

use super::answer::{Answer, HostAnswer, HostResult};
use super::work::HostWork;
use crate::error::{Error, ErrorKind};
use crate::event::Event;
use crate::hook::{HookContext, HookInput, HookKind};
use crate::model::custom::ModelCall;
use crate::tool::middleware::MiddlewareCall;
use crate::tool::{PendingCall, ToolContext};

/// What is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostKind {
    /// A tool, to be answered with its result.
    Tool,
    /// A tool's `prepare_arguments`, to be answered with arguments.
    PrepareArguments,
    /// A tool's `needs_approval`, to be answered with true or false, or the reason.
    NeedsApproval,
    /// A hook.
    Hook(HookKind),
    /// A middleware, to be answered as a tool.
    Middleware,
    /// A listener, to be answered when the run may go on.
    Listener,
    /// A custom model, which answers chunk by chunk.
    Model,
    /// A method of a custom store, to be answered with what that returns.
    Store(&'static str),
}

/// A call of a host's callback: its kind, its input and its context. It is answered exactly once, now or later, from any thread;
/// dropping it unanswered fails it.
#[derive(Debug)]
pub struct HostCall {
    work: Work,
    answer: Arc<Answer>,
    /// The error of a call that is dropped, where its kind does not have one of its own.
    dropped: Option<&'static str>,
}

#[derive(Debug)]
#[cfg_attr(not(feature = "store"), allow(dead_code))] // Without stores, none calls a host.
enum Work {
    Tool(PendingCall),
    Prepare { arguments: Map<String, Value>, context: HookContext, over: CancelToken },
    Approve { arguments: Map<String, Value>, context: HookContext, over: CancelToken },
    Hook { kind: HookKind, input: Mutex<Option<Box<HookInput>>>, context: HookContext, over: CancelToken },
    Middleware(MiddlewareCall),
    Listener(Mutex<Option<Event>>),
    Model(ModelCall),
    Store { method: &'static str, arguments: Mutex<Option<Vec<Value>>> },
}

impl HostCall {
    pub(super) fn tool(call: PendingCall) -> HostCall {
        let answer = call.answer();
        HostCall { work: Work::Tool(call), answer, dropped: None }
    }

    pub(super) fn model(call: ModelCall) -> HostCall {
        let answer = call.answer();
        HostCall { work: Work::Model(call), answer, dropped: None }
    }

    /// Calls a tool's `prepare_arguments`; the future is its answer.
    pub(super) fn prepare(
        arguments: Map<String, Value>,
        context: HookContext,
        function: &(dyn Fn(HostCall) + Send + Sync),
    ) -> impl Future<Output = HostResult> + Send + 'static + use<> {
        let over = CancelToken::new();
        ask(Work::Prepare { arguments, context, over: over.clone() }, Some(over.drop_guard()), function)
    }

    /// Calls a tool's `needs_approval`; the future is its answer.
    pub(super) fn approve(
        arguments: Map<String, Value>,
        context: HookContext,
        function: &(dyn Fn(HostCall) + Send + Sync),
    ) -> impl Future<Output = HostResult> + Send + 'static + use<> {
        let over = CancelToken::new();
        ask(Work::Approve { arguments, context, over: over.clone() }, Some(over.drop_guard()), function)
    }

    /// Calls a hook; the future is its answer.
    pub(super) fn hook(
        kind: HookKind,
        input: HookInput,
        context: HookContext,
        function: &(dyn Fn(HostCall) + Send + Sync),
    ) -> impl Future<Output = HostResult> + Send + 'static + use<> {
        let over = CancelToken::new();
        let work = Work::Hook { kind, input: Mutex::new(Some(Box::new(input))), context, over: over.clone() };
        ask(work, Some(over.drop_guard()), function)
    }

    /// Calls a middleware; the future is its answer.
    pub(super) fn middleware(
        call: MiddlewareCall,
        function: &(dyn Fn(HostCall) + Send + Sync),
    ) -> impl Future<Output = HostResult> + Send + 'static + use<> {
        ask(Work::Middleware(call), None, function)
    }

    /// Calls a listener; the future is its answer.
    pub(super) fn listener(
        event: Event,
        function: &(dyn Fn(HostCall) + Send + Sync),
    ) -> impl Future<Output = HostResult> + Send + 'static + use<> {
        ask(Work::Listener(Mutex::new(Some(event))), None, function)
    }

    /// Calls a method of a store; the future is its answer.
    #[cfg(feature = "store")]
    pub(crate) fn store(
        method: &'static str,
        arguments: Vec<Value>,
        function: &(dyn Fn(HostCall) + '_),
    ) -> impl Future<Output = HostResult> + Send + 'static + use<> {
        ask(Work::Store { method, arguments: Mutex::new(Some(arguments)) }, None, function)
    }

    /// The error of this call if it is dropped without an answer. Tools and models have texts of their own.
    #[must_use]
    pub fn failing_with(mut self, dropped: &'static str) -> HostCall {
        self.dropped = Some(dropped);
        self
    }

    /// What is called.
    pub fn kind(&self) -> HostKind {
        match &self.work {
            Work::Tool(_) => HostKind::Tool,
            Work::Prepare { .. } => HostKind::PrepareArguments,
            Work::Approve { .. } => HostKind::NeedsApproval,
            Work::Hook { kind, .. } => HostKind::Hook(*kind),
            Work::Middleware(_) => HostKind::Middleware,
            Work::Listener(_) => HostKind::Listener,
            Work::Model(_) => HostKind::Model,
            Work::Store { method, .. } => HostKind::Store(method),
        }
    }

    /// The arguments of a tool's call.
    pub fn arguments(&self) -> Option<&Map<String, Value>> {
        match &self.work {
            Work::Tool(call) => Some(call.arguments()),
            Work::Prepare { arguments, .. } | Work::Approve { arguments, .. } => Some(arguments),
            Work::Middleware(call) => Some(call.arguments()),
            Work::Hook { .. } | Work::Listener(_) | Work::Model(_) | Work::Store { .. } => None,
        }
    }

    /// The arguments of a store's method; once.
    pub fn take_store_arguments(&self) -> Option<Vec<Value>> {
        match &self.work {
            Work::Store { arguments, .. } => arguments.lock().unwrap_or_else(PoisonError::into_inner).take(),
            _ => None,
        }
    }

    /// The input of a hook; once.
    pub fn take_input(&self) -> Option<HookInput> {
        match &self.work {
            Work::Hook { input, .. } => input.lock().unwrap_or_else(PoisonError::into_inner).take().map(|input| *input),
            _ => None,
        }
    }

    /// The event of a listener; once.
    pub fn take_event(&self) -> Option<Event> {
        match &self.work {
            Work::Listener(event) => event.lock().unwrap_or_else(PoisonError::into_inner).take(),
            _ => None,
        }
    }

    /// The context of a tool's call, also for a middleware.
    pub fn tool_context(&self) -> Option<&ToolContext> {
        match &self.work {
            Work::Tool(call) => Some(call.context()),
            Work::Middleware(call) => Some(call.context()),
            _ => None,
        }
    }

    /// What the middleware around this call has given it with [`MiddlewareCall::next_carrying`].
    pub fn carried(&self) -> Option<&Arc<dyn Any + Send + Sync>> {
        match &self.work {
            Work::Tool(call) => call.carried(),
            Work::Middleware(call) => call.carried(),
            _ => None,
        }
    }

    /// A middleware's call, which can run the rest of the chain.
    pub fn middleware_call(&self) -> Option<&MiddlewareCall> {
        match &self.work {
            Work::Middleware(call) => Some(call),
            _ => None,
        }
    }

    /// A model's call, to which chunks are pushed.
    pub fn model_call(&self) -> Option<&ModelCall> {
        match &self.work {
            Work::Model(call) => Some(call),
            _ => None,
        }
    }

    /// Cancelled when the run is aborted or a time limit passes. Listeners and stores are not cancelled.
    pub fn cancel_token(&self) -> Option<&CancelToken> {
        match &self.work {
            Work::Prepare { context, .. } | Work::Approve { context, .. } | Work::Hook { context, .. } => {
                Some(context.cancel_token())
            }
            Work::Model(call) => Some(call.cancel_token()),
            Work::Tool(_) | Work::Middleware(_) => self.tool_context().map(ToolContext::cancel_token),
            Work::Listener(_) | Work::Store { .. } => None,
        }
    }

    /// Whether the answer is no longer needed.
    pub fn is_cancelled(&self) -> bool {
        self.cancel_token().is_some_and(CancelToken::is_cancelled)
    }

    /// Cancelled when the run no longer waits for the answer: it has it, or gave the call up.
    pub fn over_token(&self) -> Option<&CancelToken> {
        match &self.work {
            Work::Prepare { over, .. } | Work::Approve { over, .. } | Work::Hook { over, .. } => Some(over),
            Work::Model(call) => Some(call.cancel_token()),
            Work::Tool(_) | Work::Middleware(_) => self.tool_context().map(ToolContext::over_token),
            Work::Listener(_) | Work::Store { .. } => None,
        }
    }

    /// Waits in the engine's time; ends early when the call is cancelled. True when the whole time passed.
    pub fn sleep(&self, ms: u64) -> impl Future<Output = bool> + Send + 'static {
        let work = self.host_work().cloned();
        async move {
            match work {
                Some(work) => work.sleep(ms).await,
                None => false,
            }
        }
    }

    /// The same for a thread that may block: not one that runs async code.
    pub fn sleep_blocking(&self, ms: u64) -> bool {
        self.host_work().is_some_and(|work| work.sleep_blocking(ms))
    }

    fn host_work(&self) -> Option<&HostWork> {
        match &self.work {
            Work::Prepare { context, .. } | Work::Approve { context, .. } | Work::Hook { context, .. } => Some(&context.0),
            Work::Tool(_) | Work::Middleware(_) => self.tool_context().map(ToolContext::work),
            Work::Listener(_) | Work::Model(_) | Work::Store { .. } => None,
        }
    }

    /// Reports a tool's progress.
    ///
    /// # Errors
    /// `invalid_state` after the answer.
    pub fn update(&self, partial: Value) -> Result<(), Error> {
        let update = || self.tool_context().map(|context| context.update(partial));
        self.answer.if_unanswered(update).map(drop).ok_or_else(|| self.answered())
    }

    /// Answers the call. A model's response is complete with any answer.
    ///
    /// # Errors
    /// `invalid_state` when it was answered before.
    pub fn respond(&self, answer: HostAnswer) -> Result<(), Error> {
        self.respond_with(Ok(answer))
    }

    /// Fails the call with a text.
    ///
    /// # Errors
    /// As [`HostCall::respond`].
    pub fn fail(&self, text: impl Into<String>) -> Result<(), Error> {
        if self.answer.fail(text) { Ok(()) } else { Err(self.answered()) }
    }

    /// Fails the call with a text and what it comes from: the source of the error that middleware around a tool gets, and of the
    /// one that the run ends with, if it does.
    ///
    /// # Errors
    /// As [`HostCall::respond`].
    pub fn fail_from(
        &self,
        text: impl Into<String>,
        source: impl std::error::Error + Send + Sync + 'static,
    ) -> Result<(), Error> {
        if self.answer.fail_from(text.into(), source) { Ok(()) } else { Err(self.answered()) }
    }

    /// Fails the call; where it is no model's, the error's message and source alone count.
    ///
    /// # Errors
    /// As [`HostCall::respond`].
    pub fn fail_with(&self, error: Error) -> Result<(), Error> {
        self.respond_with(Err(error))
    }

    /// Answers a tool's call, also from a middleware, with the reason why it waits for a decision: its result comes later.
    ///
    /// # Errors
    /// As [`HostCall::respond`]; `invalid_state` for a call that is no tool's.
    pub fn suspend(&self, reason: impl Into<String>) -> Result<(), Error> {
        let Some(context) = self.tool_context() else {
            return Err(Error::new(ErrorKind::InvalidState, "only a tool's call can be suspended"));
        };
        self.respond_with(Err(Error::callback(context.suspend(reason))))
    }

    /// Whether the call was answered.
    pub fn is_answered(&self) -> bool {
        self.answer.if_unanswered(|| ()).is_none()
    }

    /// # Errors
    /// `invalid_state` when the call was answered.
    pub fn check_unanswered(&self) -> Result<(), Error> {
        if self.is_answered() { Err(self.answered()) } else { Ok(()) }
    }

    pub(super) fn answer(&self) -> &Arc<Answer> {
        &self.answer
    }

    fn respond_with(&self, result: HostResult) -> Result<(), Error> {
        if self.answer.deliver(result) { Ok(()) } else { Err(self.answered()) }
    }

    fn answered(&self) -> Error {
        let text = match (self.kind(), self.tool_context()) {
            (HostKind::Model, _) => "the response of this request has already ended; end it once".to_owned(),
            (_, Some(context)) => format!("this call of {} was already answered; answer a call once", context.name()),
            (HostKind::Listener, _) => "this event was already acknowledged; do that once".to_owned(),
            (HostKind::NeedsApproval, _) => {
                "whether this call needs approval was already answered; answer a call once".to_owned()
            }
            (HostKind::PrepareArguments, _) => "these arguments were already prepared; answer a call once".to_owned(),
            (HostKind::Store(method), _) => format!("this call of {method} was already answered; answer a call once"),
            _ => "this hook call was already answered; answer a call once".to_owned(),
        };
        Error::new(ErrorKind::InvalidState, text)
    }
}

impl Drop for HostCall {
    fn drop(&mut self) {
        match (&self.work, self.dropped) {
            // They fail themselves.
            (Work::Tool(_) | Work::Model(_), _) => {}
            (_, Some(dropped)) => drop(self.answer.fail(dropped)),
            (Work::Middleware(call), None) => {
                self.answer.fail(format!("a middleware dropped the call of {} without an answer", call.name()));
            }
            (_, None) => drop(self.answer.fail("its call was freed without an answer")),
        }
    }
}

fn ask(
    work: Work,
    over: Option<DropGuard>,
    function: &(dyn Fn(HostCall) + '_),
) -> impl Future<Output = HostResult> + Send + 'static + use<> {
    let (answer, receiver) = Answer::awaited();
    function(HostCall { work, answer, dropped: None });
    async move {
        let _over = over;
        // A call gives an answer even if it is dropped.
        receiver.await.unwrap_or_else(|_| Ok(HostAnswer::Nothing))
    }
}
