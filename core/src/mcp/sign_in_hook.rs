//! The hook that shows the user where to sign in.

use agent_loop_proto::hook::{HookAnswer, HookKind, McpSignIn, Question};
use agent_loop_proto::table::logs;

use crate::cancel::CancelToken;
use crate::clock::Clock;
use crate::error::{Error, ErrorKind, panic_message};
use crate::future::{BoxFuture, catch_panic};
use crate::hook::{HookContext, HookFunction, Hooks};
use crate::host::work::HostWork;
use crate::log::{Log, LogRecord};
use crate::scope::Scope;

/// The hook of the agent that connects.
#[derive(Clone)]
pub(crate) struct SignInHook {
    hook: HookFunction,
    clock: Clock,
    /// The callbacks that it is one of.
    scope: Option<Scope>,
}

/// A call of it, which is cancelled when it is no longer waited for.
struct Call(HostWork);

impl Drop for Call {
    fn drop(&mut self) {
        self.0.cancel_token().cancel();
        self.0.finish();
    }
}

impl SignInHook {
    pub(crate) fn of(hooks: &Hooks, clock: &Clock, scope: Option<Scope>) -> Option<SignInHook> {
        let hook = hooks.get(HookKind::OnMcpSignIn)?.clone();
        Some(SignInHook { hook, clock: clock.clone(), scope })
    }

    /// The address that the browser was sent to; `None`: it is sent to where we listen.
    ///
    /// # Errors
    /// `callback`: it failed.
    pub(crate) async fn ask(&self, sign_in: McpSignIn, log: &Log) -> Result<Option<String>, Error> {
        let work = HostWork::new(CancelToken::new(), self.clock.clone());
        let call = Call(work.clone());
        let hook = self.hook.clone();
        // Called when it is polled: inside the scope, where its panic is caught.
        let called = catch_panic(async move { hook(Question::OnMcpSignIn(sign_in), HookContext(work)).await });
        let called: BoxFuture<'_, _> = match self.scope.clone() {
            Some(scope) => Box::pin(scope.enter(called)),
            None => Box::pin(called),
        };
        let answer = called.await;
        drop(call);
        let panicked = |text| Error::new(ErrorKind::Callback, format!("it panicked: {text}"));
        let answer = answer.unwrap_or_else(|payload| Err(panicked(panic_message(&*payload))));
        match answer {
            Ok(HookAnswer::OnMcpSignIn(redirected)) => Ok(redirected),
            Ok(_) => Ok(None),
            Err(error) => {
                let (kind, why) = (HookKind::OnMcpSignIn, error.clone());
                log.write(logs::HOOK_ERROR, |code| {
                    LogRecord::new(code, format!("the hook {kind} failed")).with("hook", kind.as_str()).because(why)
                });
                Err(error.reworded(|why| format!("the hook {kind} failed: {why}")))
            }
        }
    }
}
