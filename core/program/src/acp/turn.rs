//! What a prompt does: runs, until nothing waits for the user, and how that ends.
//!
//! A session answers one prompt at a time. One that comes meanwhile steers the run, and both end with it.

use std::sync::Arc;

use agent_client_protocol::v1::ConnectionTo;
use agent_client_protocol::v1::schema::{
    ContentBlock as Given, PromptResponse, SessionInfoUpdate, SessionUpdate, StopReason as Stop,
};
use agent_client_protocol::{Client, Error};
use agent_loop::message::ContentBlock;
use agent_loop::{CancelToken, Outcome, PendingRun, RunResult, StopReason};
use serde_json::Value;
use tokio::sync::watch;

use super::session::{COMPACT, Session};
use super::state::{Active, Ended};
use super::updates::Updates;
use super::{errors, permission, prompt};
use crate::compaction;
use crate::show::shortened;

/// A prompt that was taken.
pub(super) enum Begun {
    /// Its turn begins.
    Turn(Box<Turn>),
    /// It steers a run.
    Joined(watch::Receiver<Option<Ended>>),
    /// It needs no model.
    Answered(Arc<Session>, &'static str),
}

pub(super) struct Turn {
    session: Arc<Session>,
    prompt: Vec<ContentBlock>,
    compacts: bool,
    cancel: CancelToken,
    ended: watch::Sender<Option<Ended>>,
}

impl Session {
    /// Takes a prompt. It is the session's from now on: a cancellation is about it.
    pub(super) fn begin(self: &Arc<Self>, mut given: Vec<Given>) -> Result<Begun, Error> {
        let mut state = self.state();
        if state.is_closed {
            return Err(errors::unknown_session(&self.id));
        }
        let compacts = takes_command(&mut given);
        if compacts && given.is_empty() {
            state.compacts = true;
            return Ok(Begun::Answered(Arc::clone(self), "The next prompt is answered from a summary of the conversation."));
        }
        let prompt = prompt::blocks(given)?;
        if let Some(turn) = &state.turn {
            if compacts {
                return Err(errors::not_now(
                    "/compact cannot be a part of a prompt that joins a run: send it when the run has ended",
                ));
            }
            if turn.cancel.is_cancelled() {
                return Err(errors::not_now("the prompt before is being cancelled: send this one when that one is answered"));
            }
            self.agent.steer(prompt).map_err(|error| errors::of(&error))?;
            return Ok(Begun::Joined(turn.ended.clone()));
        }
        let cancel = CancelToken::new();
        let (ended, receiver) = watch::channel(None);
        state.turn = Some(Active { cancel: cancel.clone(), ended: receiver });
        let compacts = std::mem::take(&mut state.compacts) || compacts;
        Ok(Begun::Turn(Box::new(Turn { session: Arc::clone(self), prompt, compacts, cancel, ended })))
    }

    /// Aborts the run, and denies calls that wait.
    pub(super) fn cancel(&self) {
        self.state().cancel();
    }
}

/// Whether the prompt is the command that sums up. What follows it stays.
fn takes_command(given: &mut Vec<Given>) -> bool {
    let Some(Given::Text(first)) = given.first_mut() else { return false };
    let Some(rest) = first.text.trim_start().strip_prefix('/').and_then(|text| text.strip_prefix(COMPACT)) else { return false };
    if !rest.is_empty() && !rest.starts_with(char::is_whitespace) {
        return false;
    }
    first.text = rest.trim_start().to_owned();
    if first.text.is_empty() {
        given.remove(0);
    }
    true
}

impl Begun {
    /// Does what it says, and answers when that is done.
    pub(super) async fn end(self, connection: ConnectionTo<Client>) -> Result<PromptResponse, Error> {
        let ended = match self {
            Begun::Turn(turn) => turn.run(&connection).await,
            Begun::Joined(mut ended) => match ended.wait_for(Option::is_some).await {
                Ok(ended) => ended.clone().unwrap_or(Ok(Stop::Cancelled)),
                Err(_) => Ok(Stop::Cancelled),
            },
            Begun::Answered(session, text) => {
                Updates::new(&session, &connection).say(text);
                Ok(Stop::EndTurn)
            }
        };
        ended.map(PromptResponse::new)
    }
}

impl Turn {
    async fn run(mut self, connection: &ConnectionTo<Client>) -> Ended {
        let mut prompt = Some(std::mem::take(&mut self.prompt));
        let before = if self.compacts { self.compact() } else { Ok(None) };
        let ended = match before {
            Err(error) => Err(error),
            Ok(mut before) => loop {
                let played = self.play(prompt.take(), &mut before, connection).await;
                if let Some(before) = before.take() {
                    let _ = self.session.agent.set_json(&before);
                }
                let played = if self.cancel.is_cancelled() { Ok(Stop::Cancelled) } else { played };
                if let Some(ended) = self.over(played) {
                    break ended;
                }
            },
        };
        self.ended.send_replace(Some(ended.clone()));
        ended
    }

    /// Has the next request begin with a summary. Gives the option as it was.
    fn compact(&self) -> Result<Option<Value>, Error> {
        let before = compaction::begin(&self.session.agent, &self.session.settings.options);
        match before {
            Ok(before) => Ok(Some(before)),
            Err(failure) => {
                self.session.state().turn = None;
                Err(errors::failed(&failure))
            }
        }
    }

    /// How the turn has ended, and the session is free for the next one; `None` if a prompt has come that no run has taken up.
    fn over(&self, played: Ended) -> Option<Ended> {
        let mut state = self.session.state();
        let agent = &self.session.agent;
        if agent.has_queued_messages() {
            if played.is_ok() && !self.cancel.is_cancelled() && !state.is_closed {
                return None;
            }
            agent.clear_all_queues();
        }
        state.turn = None;
        Some(played)
    }

    /// `before`: an option that is set again when the model has answered.
    async fn play(
        &self,
        mut prompt: Option<Vec<ContentBlock>>,
        before: &mut Option<Value>,
        connection: &ConnectionTo<Client>,
    ) -> Ended {
        let session = &*self.session;
        let agent = &session.agent;
        if let Some(prompt) = &prompt {
            self.entitle(prompt, connection).await?;
        }
        let mut updates = Updates::new(session, connection);
        loop {
            let pending = agent.pending();
            let run = if !pending.is_empty() {
                let decisions = permission::decide(session, connection, &self.cancel, &pending).await?;
                if session.state().is_closed {
                    return Ok(Stop::Cancelled);
                }
                agent.resume().decisions(decisions)
            } else if let Some(prompt) = prompt.take() {
                agent.prompt(prompt)
            } else if let Some(run) = agent.resume_if_queued() {
                run
            } else {
                return Ok(Stop::EndTurn);
            };
            let result = self.show(run, before, &mut updates).await?;
            match result.outcome {
                Outcome::Suspended => {}
                // Calls of a stored conversation are done, and what was asked comes now.
                Outcome::Completed | Outcome::Stopped if prompt.is_some() => {}
                _ => return self.stop(&result),
            }
        }
    }

    /// Shows a run while it goes on.
    async fn show(&self, run: PendingRun, before: &mut Option<Value>, updates: &mut Updates<'_>) -> Result<RunResult, Error> {
        let mut run = run.abort_on(self.cancel.clone()).stream().map_err(|error| errors::of(&error))?;
        while let Some(event) = run.next().await {
            if compaction::is_over(&event)
                && let Some(before) = before.take()
            {
                self.session.agent.set_json(&before).map_err(|error| errors::of(&error))?;
            }
            updates.event(&event).await;
        }
        run.ended().await.map_err(|error| errors::of(&error))
    }

    fn stop(&self, result: &RunResult) -> Ended {
        match (&result.error, result.outcome) {
            (_, Outcome::Aborted) => Ok(Stop::Cancelled),
            (Some(error), _) => Err(errors::of(error)),
            (None, Outcome::MaxTurns | Outcome::Budget) => Ok(Stop::MaxTurnRequests),
            // As what the program exits with: a limit, or an end that is as good as any.
            (None, Outcome::Stopped) if self.session.agent.max_repeated_calls() > 0 => Ok(Stop::MaxTurnRequests),
            (None, _) => Ok(match result.stop_reason {
                Some(StopReason::Length) => Stop::MaxTokens,
                Some(StopReason::Refusal) => Stop::Refusal,
                _ => Stop::EndTurn,
            }),
        }
    }

    /// A conversation is called as its first prompt.
    async fn entitle(&self, prompt: &[ContentBlock], connection: &ConnectionTo<Client>) -> Result<(), Error> {
        if !self.session.agent.messages().is_empty() {
            return Ok(());
        }
        let text = prompt.iter().find_map(|block| match block {
            ContentBlock::Text { text, .. } if !text.trim().is_empty() => Some(shortened(text.trim())),
            _ => None,
        });
        let Some(title) = text else { return Ok(()) };
        self.session.set_title(&title).await?;
        self.session.show(connection, SessionUpdate::SessionInfoUpdate(SessionInfoUpdate::new().title(title)));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_a_word_of_its_own() {
        let rest = |text: &str| {
            let mut given = vec![Given::from(text)];
            takes_command(&mut given).then_some(given)
        };
        assert_eq!(rest("/compact"), Some(Vec::new()));
        assert_eq!(rest(" /compact and go on"), Some(vec![Given::from("and go on")]));
        assert_eq!([rest("/compacted"), rest("compact"), rest("")], [None, None, None]);
    }
}
