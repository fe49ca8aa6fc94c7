//! The hook that shows the user where to sign in.

use agent_loop_proto::hook::{HookAnswer, HookKind, McpSignIn, Question};
use agent_loop_proto::table::logs;

use super::hook_call;
use crate::cancel::CancelToken;
use crate::clock::Clock;
use crate::error::Error;
use crate::hook::{HookFunction, Hooks};
use crate::host::work::HostWork;
use crate::log::Log;
use crate::scope::Scope;

/// The hook of the agent that connects.
#[derive(Clone)]
pub(crate) struct SignInHook {
    hook: HookFunction,
    clock: Clock,
    /// The callbacks that it is one of.
    scope: Option<Scope>,
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
        let kind = HookKind::OnMcpSignIn;
        let work = HostWork::new(CancelToken::new(), self.clock.clone());
        match hook_call::call(self.hook.clone(), Question::OnMcpSignIn(sign_in), work, self.scope.clone()).await {
            Ok(HookAnswer::OnMcpSignIn(redirected)) => Ok(redirected),
            Ok(_) => Ok(None),
            Err(error) => {
                log.write(logs::HOOK_ERROR, hook_call::failure(kind, error.clone()));
                Err(error.reworded(|why| format!("the hook {kind} failed: {why}")))
            }
        }
    }
}
