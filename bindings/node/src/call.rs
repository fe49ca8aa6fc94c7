//! Calls of tools, hooks, middleware and custom providers: to JavaScript and back.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use agent_loop::host::{HookInput, HostAnswer, HostCall, HostKind, Question, read_json, read_value};
use agent_loop::model::ModelCall;
use agent_loop::{CancelToken, ContentBlock, Error, ErrorKind, ToolContext};
use napi_derive::napi;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::bridge::Link;
use crate::error::{self, Result, Thrown, invalid_argument, thrown};
use crate::pieces::Pieces;
use crate::{camel_case, message, pieces, runtime};

/// The error of a middleware's `next`.
const TOO_LONG: &str = "the result has more characters than a JavaScript string can";

/// The result of a middleware's `next`: `{result}` or `{error}`.
#[derive(Serialize)]
#[serde(untagged)]
enum Next {
    /// A full result, with the contract's names.
    Full { result: FullResult },
    /// The text of the error.
    Failed { error: String },
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FullResult {
    content: Vec<ContentBlock>,
    #[serde(default)]
    details: Value,
    #[serde(default)]
    is_error: bool,
    #[serde(default)]
    terminate: bool,
}

impl From<Value> for Next {
    fn from(result: Value) -> Next {
        match FullResult::deserialize(&result) {
            Ok(result) => Next::Full { result },
            Err(error) => Next::Failed { error: error.to_string() },
        }
    }
}

/// A call that awaits its answer. If JavaScript drops it unanswered, the call fails.
#[napi]
pub struct Call {
    link: Arc<Link>,
    agent: u32,
    call: HostCall,
    input: String,
    /// The error of the input, so that what was thrown is kept until JavaScript has found it.
    error: Option<Error>,
    /// The id of the tool call that a hook is about.
    of_tool_call: String,
    /// The number of its message.
    batch: f64,
    /// Cancelled with the answer.
    over: CancelToken,
}

impl Call {
    pub(crate) fn new(link: &Arc<Link>, agent: u32, call: HostCall) -> Call {
        let (mut error, mut of_tool_call, mut batch) = (None, String::new(), 0.0);
        let input = match (call.arguments(), call.model_call()) {
            // Serializing a JSON object cannot fail.
            (Some(arguments), _) => serde_json::to_string(arguments).unwrap_or_default(),
            (None, Some(call)) => camel_case::to_json(call.request()),
            (None, None) => match (call.take_input(), call.take_store_arguments()) {
                (Some(input), _) => {
                    error = error_of(&input).cloned();
                    of_tool_call = tool_call_id(&input).to_owned();
                    batch = input.batch() as f64;
                    camel_case::to_json(&input)
                }
                (None, Some(arguments)) => Value::Array(arguments).to_string(),
                (None, None) => String::new(),
            },
        };
        let input = pieces::fitting(input).unwrap_or_else(|| {
            // Answered now: what JavaScript does with the empty input has no effect.
            let _ = call.fail("its input has more characters than a JavaScript string can; shorten the conversation");
            String::new()
        });
        Call { link: Arc::clone(link), agent, call, input, error, of_tool_call, batch, over: CancelToken::new() }
    }

    /// The context of a tool's call.
    pub(crate) fn tool_context(&self) -> Option<&ToolContext> {
        self.call.tool_context()
    }

    fn answer(&self, answer: std::result::Result<HostAnswer, String>) {
        self.over.cancel();
        // Only the first answer counts.
        let _ = match answer {
            Ok(answer) => self.call.respond(answer),
            Err(message) => self.call.fail(message),
        };
    }

    /// Settles the ticket with the outcome of a future.
    fn settle<T: ToString>(&self, ticket: u32, future: impl Future<Output = T> + Send + 'static) -> Result<()> {
        let link = Arc::clone(&self.link);
        let settle = async move { link.settle(ticket, Some(future.await.to_string())) };
        runtime::runtime().map_err(|e| thrown(&e))?.spawn(settle);
        Ok(())
    }
}

#[napi]
impl Call {
    /// The id of the tool call, also of one that a hook is about; empty for others.
    #[napi(getter, catch_unwind)]
    pub fn id(&self) -> &str {
        self.call.tool_context().map_or(&self.of_tool_call, ToolContext::id)
    }

    /// The number of the span of a tool's call; 0 for others.
    #[napi(getter, catch_unwind)]
    pub fn span(&self) -> f64 {
        #[allow(clippy::cast_precision_loss)] // spans are numbered from 1, far below 2^53
        let number = self.call.tool_context().map_or(0, ToolContext::span) as f64;
        number
    }

    /// The number of the message that made the call which `beforeToolCall` is asked about, in its run; 0 for others.
    #[napi(getter, catch_unwind)]
    pub fn batch(&self) -> f64 {
        self.batch
    }

    /// The number of the context in which the middleware around this call has called `next`.
    #[napi(getter, catch_unwind)]
    pub fn within(&self) -> Option<u32> {
        self.call.carried()?.downcast_ref().copied()
    }

    /// The tool's name; empty for others.
    #[napi(getter, catch_unwind)]
    pub fn name(&self) -> &str {
        self.call.tool_context().map(ToolContext::name).unwrap_or_default()
    }

    /// The method of a store that is called, in canonical spelling; empty for others.
    #[napi(getter, catch_unwind)]
    pub fn store_method(&self) -> &str {
        match self.call.kind() {
            HostKind::Store(method) => method,
            _ => "",
        }
    }

    /// The tool's arguments, the hook's input, the provider's request or the arguments of a store's method, as JSON.
    #[napi(getter, catch_unwind)]
    pub fn input(&self) -> &str {
        &self.input
    }

    /// Whether the answer is no longer needed.
    #[napi(getter, catch_unwind)]
    pub fn is_cancelled(&self) -> bool {
        self.call.is_cancelled()
    }

    /// Responds with a value in JSON.
    #[napi(catch_unwind)]
    pub fn respond(&self, value: String) {
        let value = read_json(&value).map_err(|error| format!("the answer is {}", error.message()));
        self.answer(value.map(HostAnswer::Json));
    }

    /// The number of what was thrown, if the input has an error that it has led to.
    #[napi(getter, catch_unwind)]
    pub fn cause(&self) -> Option<u32> {
        self.error.as_ref().and_then(error::cause)
    }

    /// Fails the call, with the number of what was thrown.
    #[napi(catch_unwind)]
    pub fn fail(&self, message: String, cause: Option<u32>) {
        let Some(cause) = cause else {
            return self.answer(Err(message));
        };
        self.over.cancel();
        let source = Thrown::new(&self.link, self.agent, cause, &message);
        // Only the first answer counts.
        let _ = self.call.fail_from(message, source);
    }

    /// Answers a tool's call with the reason why its result comes later.
    #[napi(catch_unwind)]
    pub fn suspend(&self, reason: String) {
        self.over.cancel();
        // Only the first answer counts.
        let _ = self.call.suspend(reason);
    }

    /// The call's idempotency key; empty for others.
    #[napi(getter, catch_unwind)]
    pub fn idempotency_key(&self) -> &str {
        self.call.tool_context().map(ToolContext::idempotency_key).unwrap_or_default()
    }

    /// Reports the tool's progress, in JSON.
    #[napi(catch_unwind)]
    pub fn update(&self, value: String) {
        if let Some(context) = self.call.tool_context() {
            context.update(read_json(&value).unwrap_or(Value::String(value)));
        }
    }

    /// Runs the rest of the chain after a middleware, with the arguments in JSON or else with the call's, in the context of this
    /// number, then settles the ticket with `{result}` or `{error}`.
    #[napi(catch_unwind)]
    pub fn next(&self, arguments: Option<String>, ticket: u32, within: u32) -> Result<()> {
        let Some(call) = self.call.middleware_call() else {
            return Err(invalid_argument("next: only the call of a middleware has one"));
        };
        let arguments = match arguments.map(|text| (read_json(&text), text)) {
            Some((Ok(Value::Object(arguments)), _)) => arguments,
            Some((_, text)) => return Err(invalid_argument(format!("next: expected an object of arguments, got {text}"))),
            None => call.arguments().clone(),
        };
        let (link, next) = (Arc::clone(&self.link), call.next_carrying(arguments, Arc::new(within)));
        let over = call.context().over_token().clone();
        let rest = async move {
            let result = tokio::select! {
                result = next => result,
                // A tool that ignores the abort: the code after `next` still runs.
                () = over.cancelled() => Err(Error::callback("aborted")),
                () = link.closing().cancelled() => return,
            };
            let (next, failure) = match result {
                Ok(value) => (Next::from(value), None),
                Err(error) => (Next::Failed { error: error.message().to_owned() }, Some(error)),
            };
            let text = pieces::fitting(camel_case::to_json(&next));
            let text = text.unwrap_or_else(|| camel_case::to_json(&Next::Failed { error: TOO_LONG.to_owned() }));
            link.settle_with(ticket, Pieces::of(text), failure.as_ref());
        };
        runtime::runtime().map_err(|e| thrown(&e))?.spawn(rest);
        Ok(())
    }

    /// Settles the ticket when the call is cancelled; not after it was answered.
    #[napi(catch_unwind)]
    pub fn watch(&self, ticket: u32) -> Result<()> {
        let cancelled = self.call.cancel_token().cloned().unwrap_or_default();
        let (link, over) = (Arc::clone(&self.link), self.over.clone());
        let watch = async move {
            tokio::select! {
                biased;
                () = cancelled.cancelled() => link.settle(ticket, None),
                () = over.cancelled() => {}
            }
        };
        runtime::runtime().map_err(|e| thrown(&e))?.spawn(watch);
        Ok(())
    }

    /// Waits on the run's clock, then settles the ticket with `true`; with `false` as soon as the call is cancelled.
    #[napi(catch_unwind)]
    pub fn sleep(&self, ms: f64, ticket: u32) -> Result<()> {
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // saturates, as intended
        let ms = ms as u64;
        self.settle(ticket, self.call.sleep(ms))
    }

    /// Adds a chunk to a provider's answer, in JSON. Returns true if the next one can follow, false if the answer is no longer
    /// needed, nothing if the provider has to wait for `ready`.
    #[napi(catch_unwind)]
    pub fn push(&self, chunk: String) -> Result<Option<bool>> {
        let Some(call) = self.call.model_call().filter(|_| !self.call.is_answered()) else {
            return Ok(Some(false));
        };
        let chunk = message::read("chunk", &chunk).map_err(|e| thrown(&e))?;
        call.push(&chunk).map_err(|e| thrown(&e))?;
        Ok(match pin!(call.ready()).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(wanted) => Some(wanted),
            Poll::Pending => None,
        })
    }

    /// Settles the ticket with `true` when the next chunk can follow, or with `false` when the answer is no longer needed.
    #[napi(catch_unwind)]
    pub fn ready(&self, ticket: u32) -> Result<()> {
        let ready = self.call.model_call().filter(|_| !self.call.is_answered()).map(ModelCall::ready);
        self.settle(ticket, async move {
            match ready {
                Some(ready) => ready.await,
                None => false,
            }
        })
    }

    /// Completes a provider's answer.
    #[napi(catch_unwind)]
    pub fn finish(&self) {
        self.answer(Ok(HostAnswer::Nothing));
    }

    /// Fails the answer of a provider or a store with an error in JSON, and the number of what was thrown.
    #[napi(catch_unwind)]
    pub fn fail_with(&self, error: String, cause: u32) {
        let unread = |why: String| Error::new(ErrorKind::Provider, format!("the provider's error is invalid: {why}"));
        let read = message::read("error", &error).map_err(|e| e.to_string());
        let read = read.and_then(|value| read_value(&value).map_err(String::from));
        self.over.cancel();
        let error = read.unwrap_or_else(unread);
        let source = Thrown::new(&self.link, self.agent, cause, error.message());
        let _ = self.call.fail_with(error.with_source(source));
    }
}

/// The id of the tool call that a hook is about.
fn tool_call_id(input: &HookInput) -> &str {
    match &input.0 {
        Question::BeforeToolCall(call) => &call.tool_call_id,
        Question::AfterToolCall(call) => &call.tool_call_id,
        _ => "",
    }
}

/// The error that a hook is called with.
fn error_of(input: &HookInput) -> Option<&Error> {
    match &input.0 {
        Question::OnError(failure) => Some(&failure.error),
        Question::AfterRun(result) => result.error.as_ref(),
        _ => None,
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        self.over.cancel();
    }
}
