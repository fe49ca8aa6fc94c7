//! Calls of tools, hooks and middleware: to JavaScript and back.

use std::sync::Arc;

use agent_loop::{CancellationToken, ContentBlock, HookContext, MiddlewareCall, ToolContext, read_json};
use napi_derive::napi;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::bridge::{CallbackResult, Link, Waiter};
use crate::error::{Result, invalid_argument, thrown};
use crate::{camel_case, runtime};

/// The context of a call. Cheap to clone, except for a middleware's arguments.
#[derive(Clone)]
pub(crate) enum Work {
    /// A tool call.
    Tool(ToolContext),
    /// A tool call on its way through the middleware.
    Middleware(MiddlewareCall),
    /// A hook, or a tool's `prepareArguments`.
    Hook(HookContext),
}

impl Work {
    fn tool(&self) -> Option<&ToolContext> {
        match self {
            Work::Tool(context) => Some(context),
            Work::Middleware(call) => Some(call.context()),
            Work::Hook(_) => None,
        }
    }

    fn cancel_token(&self) -> &CancellationToken {
        match self {
            Work::Tool(context) => context.cancel_token(),
            Work::Middleware(call) => call.context().cancel_token(),
            Work::Hook(context) => context.cancel_token(),
        }
    }
}

/// The result of a middleware's `next`: `{result}` or `{error}`.
#[derive(Serialize)]
#[serde(untagged)]
enum Next {
    /// A full result, with the contract's names.
    Full { result: FullResult },
    /// Any other value that an inner middleware returned.
    Other { result: Value },
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

impl From<CallbackResult> for Next {
    fn from(result: CallbackResult) -> Next {
        match result.map(|value| (FullResult::deserialize(&value), value)) {
            Ok((Ok(result), _)) => Next::Full { result },
            Ok((Err(_), result)) => Next::Other { result },
            Err(error) => Next::Failed { error },
        }
    }
}

/// A call that awaits its answer. If JavaScript drops it unanswered, the call fails.
#[napi]
pub struct Call {
    link: Arc<Link>,
    number: u32,
    input: String,
    work: Work,
    /// Cancelled when the answer is no longer awaited.
    over: CancellationToken,
}

impl Call {
    pub(crate) fn new(link: &Arc<Link>, waiter: Waiter, work: Work, input: String) -> Call {
        let over = work.tool().map(|context| context.over_token().clone()).unwrap_or_default();
        let number = link.keep(waiter);
        Call { link: Arc::clone(link), number, input, work, over }
    }

    fn answer(&self, answer: impl FnOnce(Waiter)) {
        if let Some(waiter) = self.link.answered(self.number) {
            answer(waiter);
        }
        if let Work::Hook(_) = self.work {
            self.over.cancel();
        }
    }
}

#[napi]
impl Call {
    /// The id of the tool call; empty for a hook.
    #[napi(getter, catch_unwind)]
    pub fn id(&self) -> &str {
        self.work.tool().map(ToolContext::id).unwrap_or_default()
    }

    /// The tool's name; empty for a hook.
    #[napi(getter, catch_unwind)]
    pub fn name(&self) -> &str {
        self.work.tool().map(ToolContext::name).unwrap_or_default()
    }

    /// The tool's arguments, or the hook's input, as JSON.
    #[napi(getter, catch_unwind)]
    pub fn input(&self) -> &str {
        &self.input
    }

    /// Whether the answer is no longer needed.
    #[napi(getter, catch_unwind)]
    pub fn is_cancelled(&self) -> bool {
        self.work.cancel_token().is_cancelled()
    }

    /// Responds with a value in JSON.
    #[napi(catch_unwind)]
    pub fn respond(&self, value: String) {
        let result = read_json(&value).map_err(|error| format!("the answer is {}", error.message()));
        self.answer(|waiter| respond(waiter, result));
    }

    /// Fails the call.
    #[napi(catch_unwind)]
    pub fn fail(&self, message: String) {
        self.answer(|waiter| respond(waiter, Err(message)));
    }

    /// Reports the tool's progress, in JSON.
    #[napi(catch_unwind)]
    pub fn update(&self, value: String) {
        if let Some(context) = self.work.tool() {
            context.update(read_json(&value).unwrap_or(Value::String(value)));
        }
    }

    /// Runs the rest of the chain after a middleware, with the arguments in JSON or else with the call's, then settles the ticket
    /// with
    /// `{result}` or `{error}`.
    #[napi(catch_unwind)]
    pub fn next(&self, arguments: Option<String>, ticket: u32) -> Result<()> {
        let Work::Middleware(call) = &self.work else {
            return Err(invalid_argument("next is for middleware"));
        };
        let arguments = match arguments.map(|text| (read_json(&text), text)) {
            Some((Ok(Value::Object(arguments)), _)) => arguments,
            Some((_, text)) => return Err(invalid_argument(format!("next: expected an object of arguments, got {text}"))),
            None => call.arguments().clone(),
        };
        let (link, next) = (Arc::clone(&self.link), call.next(arguments));
        let over = call.context().over_token().clone();
        let rest = async move {
            let result = tokio::select! {
                result = next => result,
                // A tool that ignores the abort: the code after `next` still runs.
                () = over.cancelled() => Err("aborted".to_owned()),
                () = link.closing().cancelled() => return,
            };
            link.settle(ticket, Some(camel_case::to_json(&Next::from(result))));
        };
        runtime::runtime().map_err(|e| thrown(&e))?.spawn(rest);
        Ok(())
    }

    /// Settles the ticket when the call is cancelled; not after it was answered.
    #[napi(catch_unwind)]
    pub fn watch(&self, ticket: u32) -> Result<()> {
        watch(&self.link, self.work.cancel_token(), &self.over, ticket)
    }

    /// Waits on the run's clock, then settles the ticket with `true`; with `false` as soon as the call is cancelled.
    #[napi(catch_unwind)]
    pub fn sleep(&self, ms: f64, ticket: u32) -> Result<()> {
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // saturates, as intended
        let (link, work, ms) = (Arc::clone(&self.link), self.work.clone(), ms as u64);
        let sleep = async move {
            let passed = match work {
                Work::Tool(context) => context.sleep(ms).await,
                Work::Middleware(call) => call.context().sleep(ms).await,
                Work::Hook(context) => context.sleep(ms).await,
            };
            link.settle(ticket, Some(passed.to_string()));
        };
        runtime::runtime().map_err(|e| thrown(&e))?.spawn(sleep);
        Ok(())
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        self.answer(drop);
    }
}

fn respond(waiter: Waiter, result: CallbackResult) {
    match (waiter, result) {
        (Waiter::Tool(call), Ok(value)) => call.respond(value),
        (Waiter::Tool(call), Err(message)) => call.fail(message),
        // The receiver is gone if the run was given up.
        (Waiter::Answer(sender), result) => drop(sender.send(result)),
        // Model calls are answered through `Answer`.
        (Waiter::Model(_), _) => {}
    }
}

/// Settles the ticket when `cancelled` is cancelled before `over`.
pub(crate) fn watch(link: &Arc<Link>, cancelled: &CancellationToken, over: &CancellationToken, ticket: u32) -> Result<()> {
    let (link, cancelled, over) = (Arc::clone(link), cancelled.clone(), over.clone());
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
