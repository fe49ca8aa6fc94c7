//! Asking the host's hooks, and the queues together with the hooks that add to them. An abort ends a hook at once.

use std::sync::Arc;

use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::driver::Driver;
use crate::error::{Error, ErrorKind, panic_message};
use crate::event::EventData;
use crate::hook::{Failure, Hook, HookContext, HookKind, TurnChange, TurnSummary};
use crate::host::HostWork;
use crate::message::Message;
use crate::model::BoxFuture;
use crate::queues::Queue;
use crate::result::RunResult;
use crate::tool::catch_panic;

/// A hook that changes what the model sees.
type MessagesHook = Hook<Vec<Arc<Message>>, Option<Vec<Arc<Message>>>>;

/// A hook's answer to come.
type Asked<'a, O> = BoxFuture<'a, Result<O, Unanswered>>;

/// Why a hook gave no answer.
#[derive(Debug)]
pub(super) enum Unanswered {
    /// The run was aborted.
    Aborted,
    /// The hook failed.
    Failed(Error),
}

/// How long a hook is waited for after an abort.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Patience {
    None,
    Grace,
    Unlimited,
}

impl Driver {
    /// Asks a hook. Boxed: most runs have no hooks, and should not be larger for them.
    pub(super) fn ask<'a, I, O>(&'a mut self, kind: HookKind, hook: &'a Hook<I, O>, input: I) -> Asked<'a, O>
    where
        I: Send + 'a,
        O: Send + 'a,
    {
        Box::pin(self.ask_patiently(kind, hook, input, Patience::None))
    }

    async fn ask_patiently<I, O>(
        &mut self,
        kind: HookKind,
        hook: &Hook<I, O>,
        input: I,
        patience: Patience,
    ) -> Result<O, Unanswered> {
        if self.is_aborted() && patience != Patience::Unlimited {
            return Err(Unanswered::Aborted);
        }
        // A reader is to have seen what led here.
        self.flush().await;
        // One that is waited for without limit is not cancelled either.
        let cancel = if patience == Patience::Unlimited { CancellationToken::new() } else { self.run.abort.child_token() };
        let work = HostWork::new(cancel, self.clock.clone());
        let (hook, context) = (Arc::clone(hook), HookContext(work.clone()));
        let answer = self.scope.clone().enter(catch_panic(async move { hook(input, context).await }));
        let (abort, grace_ms) = (self.run.abort.clone(), self.offered.settings.abort_grace_ms);
        let clock = self.clock.clone();
        let given_up = async {
            abort.cancelled().await;
            match patience {
                Patience::None => {}
                Patience::Grace => {
                    work.rouse();
                    clock.limit(grace_ms).await;
                }
                Patience::Unlimited => std::future::pending().await,
            }
        };
        let answer = tokio::select! {
            biased;
            // Before the answer: one that the hook's own abort has overtaken does not count.
            () = given_up => None,
            answer = answer => Some(answer),
        };
        work.finish();
        let failed =
            |why: &str| Err(Unanswered::Failed(Error::new(ErrorKind::Callback, format!("the hook {kind} failed: {why}"))));
        match answer {
            Some(Ok(Ok(answer))) => Ok(answer),
            None => Err(Unanswered::Aborted),
            Some(Ok(Err(why))) => failed(&why),
            Some(Err(payload)) => failed(&format!("it panicked: {}", panic_message(&*payload))),
        }
    }

    /// Asks a hook that only looks on: its failure is told and changes nothing.
    pub(super) async fn inform<I: Send>(&mut self, kind: HookKind, hook: &Hook<I, ()>, input: I) {
        if let Err(Unanswered::Failed(error)) = self.ask(kind, hook, input).await {
            let data = Box::new(json!({ "hook": kind.as_str(), "error": error }));
            let message = error.message().to_owned();
            self.emit(EventData::Diagnostic { code: "hook_error".into(), message, data }).await;
        }
    }

    /// Tells `on_error`.
    pub(super) async fn tell_error(&mut self, error: &Error, attempt: u32, will_retry: bool) {
        if let Some(hook) = self.offered.hooks.on_error.clone() {
            let failure = Failure { error: error.clone(), attempt, will_retry };
            self.inform(HookKind::OnError, &hook, failure).await;
        }
    }

    /// After the run's last event.
    pub(super) async fn tell_end(&mut self, result: &RunResult) {
        if let Some(hook) = self.offered.hooks.after_run.clone()
            && let Err(Unanswered::Failed(error)) =
                Box::pin(self.ask_patiently(HookKind::AfterRun, &hook, result.clone(), Patience::Unlimited)).await
        {
            tracing::warn!(%error, "a hook failed");
        }
    }

    /// Looks for messages in a queue and with its hook, and marks them for the next turn. Says whether there are any.
    pub(super) async fn poll(&mut self, which: Queue) -> Result<bool, Unanswered> {
        let settings = &self.offered.settings;
        let (mode, kind, hook) = match which {
            Queue::Steering => {
                (settings.steering_mode, HookKind::GetSteeringMessages, self.offered.hooks.get_steering_messages.clone())
            }
            Queue::FollowUp => {
                (settings.follow_up_mode, HookKind::GetFollowUpMessages, self.offered.hooks.get_follow_up_messages.clone())
            }
        };
        let mut found = self.agent.inbox(|inbox| inbox.mark(which, mode));
        if let Some(hook) = hook {
            let messages = match Box::pin(self.ask_patiently(kind, &hook, (), Patience::Grace)).await {
                Ok(messages) => messages,
                Err(unanswered) => {
                    self.agent.inbox(crate::queues::Queues::unmark);
                    return Err(unanswered);
                }
            };
            found |= !messages.is_empty();
            self.agent.inbox(|inbox| inbox.insert_marked(which, messages));
        }
        Ok(found)
    }

    /// Looks for steering while tools are at work; a failure ends the run after the turn.
    pub(super) async fn poll_in_batch(&mut self) {
        if self.is_aborted() || self.failure.is_some() || self.steered {
            return;
        }
        match self.poll(Queue::Steering).await {
            Ok(found) => self.steered = found,
            Err(Unanswered::Failed(error)) => self.failure = Some(error),
            Err(Unanswered::Aborted) => {}
        }
    }

    /// What is to be different for the rest of the run.
    pub(super) async fn prepare_next_turn(&mut self, turn: TurnSummary) -> Result<(), Unanswered> {
        let Some(hook) = self.agent.hooks().prepare_next_turn.clone() else {
            return Ok(());
        };
        let TurnChange { system_prompt, messages, tools, model, thinking_level } =
            self.ask(HookKind::PrepareNextTurn, &hook, turn).await?;
        let failed = |error: Error| {
            let text = format!("the hook {} failed: {}", HookKind::PrepareNextTurn, error.message());
            Unanswered::Failed(Error::new(ErrorKind::Callback, text))
        };
        if let Some(spec) = model {
            self.changes.model = Some(self.agent.resolve_other(&spec).map_err(failed)?);
        }
        if let Some(names) = &tools {
            let known = self.agent.tools();
            if let Some(name) = names.iter().find(|name| known.get(name).is_none()) {
                let text = format!("context: tools: there is no tool named {name:?}; the tools are: {}", known.names());
                return Err(failed(Error::invalid_argument(text)));
            }
        }
        let changes = &mut self.changes;
        changes.system_prompt = system_prompt.or(changes.system_prompt.take());
        changes.messages = messages.or(changes.messages.take());
        changes.tools = tools.or(changes.tools.take());
        changes.thinking_level = thinking_level.or(changes.thinking_level);
        Ok(())
    }

    /// Whether the run shall end here.
    pub(super) async fn should_stop(&mut self, turn: TurnSummary) -> Result<bool, Unanswered> {
        match self.agent.hooks().should_stop_after_turn.clone() {
            Some(hook) => self.ask(HookKind::ShouldStopAfterTurn, &hook, turn).await,
            None => Ok(false),
        }
    }

    /// The messages of a hook that changes them, or the same.
    pub(super) async fn change_messages(
        &mut self,
        kind: HookKind,
        hook: Option<MessagesHook>,
        messages: Vec<Arc<Message>>,
    ) -> Result<Vec<Arc<Message>>, Unanswered> {
        match hook {
            None => Ok(messages),
            Some(hook) => Ok(self.ask(kind, &hook, messages.clone()).await?.unwrap_or(messages)),
        }
    }
}
