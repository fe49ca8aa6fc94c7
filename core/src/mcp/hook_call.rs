//! Calls a hook for a server: outside of the loop, which neither asks it nor reports its failure.

use agent_loop_proto::hook::{HookAnswer, HookKind, Question};
use agent_loop_proto::table::logs::LogCode;

use crate::error::{Error, ErrorKind, panic_message};
use crate::future::{BoxFuture, catch_panic};
use crate::hook::{HookContext, HookFunction};
use crate::host::work::HostWork;
use crate::log::LogRecord;
use crate::scope::Scope;

/// A call of a hook, which is cancelled when it is dropped.
struct Call(HostWork);

impl Drop for Call {
    fn drop(&mut self) {
        self.0.cancel_token().cancel();
        self.0.finish();
    }
}

/// Calls a hook inside of these callbacks. Dropping the future cancels the call.
///
/// # Errors
/// `callback`: the hook failed, or panicked.
pub(super) async fn call(
    hook: HookFunction,
    question: Question,
    work: HostWork,
    scope: Option<Scope>,
) -> Result<HookAnswer, Error> {
    let _call = Call(work.clone());
    // Called when it is polled: inside the scope, where its panic is caught.
    let called = catch_panic(async move { hook(question, HookContext(work)).await });
    let called: BoxFuture<'_, _> = match scope {
        Some(scope) => Box::pin(scope.enter(called)),
        None => Box::pin(called),
    };
    let panicked = |text| Error::new(ErrorKind::Callback, format!("it panicked: {text}"));
    called.await.unwrap_or_else(|payload| Err(panicked(panic_message(&*payload))))
}

/// The log record of a hook that failed, of the code `hook_error`.
pub(super) fn failure(kind: HookKind, why: Error) -> impl FnOnce(LogCode) -> LogRecord {
    move |code| LogRecord::new(code, format!("the hook {kind} failed")).with("hook", kind.as_str()).because(why)
}
