//! A hook that is asked: the host's function, its answer to come and its cancel token.

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use crate::cancel::CancelToken;
use agent_loop_proto::hook::{HookAnswer, HookKind, Question};
use agent_loop_proto::table::logs;

use crate::agent::host_side::HostSide;
use crate::clock::Clock;
use crate::error::{BoxError, Error, ErrorKind, panic_message};
use crate::future::{BoxFuture, catch_panic};
use crate::hook::HookContext;
use crate::host::work::HostWork;
use crate::log::{LogRecord, RunLog};
use crate::scope::Scope;
use crate::tool::Tool;

type HookFuture = BoxFuture<'static, Result<HookAnswer, Error>>;

/// A hook that is asked.
pub(super) struct HookCall {
    pub(super) question_id: u32,
    /// The hook's name; of a tool's own functions also the tool's.
    name: (&'static str, Option<Arc<str>>),
    work: HostWork,
    #[allow(clippy::type_complexity)] // a caught panic, a failure, an answer
    answer: BoxFuture<'static, Result<Result<HookAnswer, Error>, Box<dyn Any + Send>>>,
}

impl HookCall {
    /// Asks the hook; `None` when there is no function to ask.
    pub(super) fn ask(
        question_id: u32,
        question: Question,
        host: &HostSide,
        cancel: CancelToken,
        clock: &Clock,
        scope: &Scope,
    ) -> Option<HookCall> {
        let kind = question.kind();
        let name = match (&question, kind) {
            (Question::PrepareArguments { tool, .. }, _) => ("prepare_arguments", Some(tool.clone())),
            (Question::NeedsApproval { tool, .. }, _) => ("needs_approval", Some(tool.clone())),
            (_, kind) => (kind.map_or("", HookKind::as_str), None),
        };
        let work = HostWork::new(cancel, clock.clone());
        let context = HookContext(work.clone());
        let answer = match question {
            Question::PrepareArguments { tool, arguments } => {
                ask_tool(&tool, host, scope, |tool| tool.prepare_arguments(&arguments, &context), HookAnswer::PrepareArguments)
            }
            Question::NeedsApproval { tool, arguments } => {
                ask_tool(&tool, host, scope, |tool| tool.approval_reason(&arguments, &context), HookAnswer::NeedsApproval)
            }
            question => kind.and_then(|kind| host.hooks.get(kind)).cloned().map(|hook| -> HookFuture {
                // Called when it is polled: inside the scope, where its panic is caught.
                Box::pin(async move { hook(question, context).await })
            }),
        };
        let Some(answer) = answer else {
            work.finish();
            return None;
        };
        let answer = Box::pin(scope.clone().enter(catch_panic(answer)));
        Some(HookCall { question_id, name, work, answer })
    }

    /// The answer, or the failure.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<HookAnswer, Error>> {
        let answer = ready!(self.answer.as_mut().poll(cx));
        self.work.finish();
        Poll::Ready(answer.unwrap_or_else(|payload| Err(panicked(&*payload))))
    }

    /// The run was aborted: a hook that sleeps in the engine's time counts as working again.
    pub(super) fn mark_working(&self) {
        self.work.mark_working();
    }

    /// The run does not wait for it any longer, but it may go on.
    pub(super) fn leave(mut self, log: RunLog) {
        log.write(logs::HOOK_LEFT, |code| {
            let what = format!("the hook {} has not answered in time; the run is over without it", self.name.0);
            LogRecord::new(code, what).with("hook", self.name.0)
        });
        tokio::spawn(async move {
            if let Err(why) = std::future::poll_fn(|cx| self.poll(cx)).await {
                self.log_failure(&log, &why);
            }
        });
    }

    /// Logs that it has failed.
    pub(super) fn log_failure(&self, log: &RunLog, why: &Error) {
        log.write(logs::HOOK_ERROR, |code| {
            let (hook, tool) = &self.name;
            let record = match tool {
                Some(tool) => LogRecord::new(code, format!("{hook} of the tool {tool} failed")).with("tool_name", &**tool),
                None => LogRecord::new(code, format!("the hook {hook} failed")),
            };
            record.with("hook", *hook).because(why.clone())
        });
    }

    /// The answer is no longer wanted.
    pub(super) fn finish(self) {
        self.work.finish();
    }
}

/// Calls a function of a tool immediately; its future is the answer, which `to_answer` wraps.
fn ask_tool<A: Send + 'static>(
    tool: &str,
    host: &HostSide,
    scope: &Scope,
    call: impl FnOnce(&dyn Tool) -> Option<BoxFuture<'static, Result<A, BoxError>>>,
    to_answer: fn(A) -> HookAnswer,
) -> Option<HookFuture> {
    let tool = Arc::clone(host.tools.get(tool)?);
    match std::panic::catch_unwind(AssertUnwindSafe(|| scope.run(|| call(&*tool)))) {
        Ok(answer) => {
            let answer = answer?;
            Some(Box::pin(async move { answer.await.map(to_answer).map_err(Error::callback) }))
        }
        Err(payload) => Some(Box::pin(std::future::ready(Err(panicked(&*payload))))),
    }
}

fn panicked(payload: &(dyn Any + Send)) -> Error {
    Error::new(ErrorKind::Callback, format!("it panicked: {}", panic_message(payload)))
}
