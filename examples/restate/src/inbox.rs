//! What reaches a run while it is active. A handler that runs a prompt keeps all others of its key out, except for shared ones,
//! which cannot write. So each session has this second object, whose handlers are short: they know which invocation runs, and
//! send it numbered signals. Without a run, inputs wait here for the next one.

use agent_loop::machine::Input;
use restate_sdk::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::steps::now_ms;

#[derive(Debug, Default, Serialize, Deserialize)]
struct State {
    /// The invocation that runs.
    invocation: Option<String>,
    /// The inputs of the active run, and how many of them are in the stored conversation.
    sent: Vec<Input>,
    saved: usize,
    /// Inputs without a run.
    waiting: Vec<Input>,
    suspended: Option<Suspended>,
}

impl State {
    /// The inputs for the next run. A run that was killed leaves what is not in the stored conversation.
    fn unread(self) -> Vec<Input> {
        let sent = self.sent.into_iter().skip(self.saved).chain(self.waiting);
        sent.filter(|input| !matches!(input, Input::Abort)).collect()
    }
}

/// Calls that wait for decisions, which resolve the awakeable.
#[derive(Debug, Serialize, Deserialize)]
pub struct Suspended {
    pub awakeable: String,
    pub ids: Vec<String>,
    /// How many inputs of the run are in the stored conversation.
    pub saved: usize,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct Opened {
    pub waiting: Vec<Input>,
    pub at_ms: u64,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct Now {
    pub is_running: bool,
    pub waiting: Vec<Input>,
    /// The ids of the calls that wait.
    pub suspended: Vec<String>,
}

pub fn signal_name(number: usize) -> String {
    format!("input-{number}")
}

fn conflict(text: &str) -> TerminalError {
    TerminalError::new_with_code(409, text)
}

async fn stored(ctx: &ObjectContext<'_>) -> Result<State, TerminalError> {
    Ok(ctx.get::<Json<State>>("state").await?.unwrap_or_default().into_inner())
}

pub struct AssistantInbox;

#[restate_sdk::object(name = "assistant_inbox")]
impl AssistantInbox {
    /// A run begins; returns its first inputs, and the time.
    #[handler]
    async fn open(&self, ctx: ObjectContext<'_>, invocation: String) -> Result<Json<Opened>, TerminalError> {
        let waiting = stored(&ctx).await?.unread();
        let sent = waiting.clone();
        ctx.set("state", Json(State { invocation: Some(invocation), sent, ..State::default() }));
        Ok(Json(Opened { waiting, at_ms: now_ms() }))
    }

    /// Sends an input to the active run, or keeps it for the next one.
    #[handler]
    async fn put(&self, ctx: ObjectContext<'_>, input: Json<Input>) -> Result<Json<String>, TerminalError> {
        let input = input.into_inner();
        let mut state = stored(&ctx).await?;
        let Some(invocation) = &state.invocation else {
            if !matches!(input, Input::Abort) {
                let mut waiting = state.unread();
                waiting.push(input);
                ctx.set("state", Json(State { waiting, ..State::default() }));
            }
            return Ok(Json("queued".to_owned()));
        };
        let signal = ctx.invocation_handle(invocation.clone()).signal(signal_name(state.sent.len()));
        signal.resolve(Json(input.clone()));
        if matches!(input, Input::Abort) {
            // It denies the calls that wait: later decisions are refused.
            state.suspended = None;
        }
        state.sent.push(input);
        ctx.set("state", Json(state));
        Ok(Json("joined".to_owned()))
    }

    /// The active run waits for decisions.
    #[handler]
    async fn suspend(&self, ctx: ObjectContext<'_>, suspended: Json<Suspended>) -> Result<(), TerminalError> {
        let suspended = suspended.into_inner();
        let state = stored(&ctx).await?;
        ctx.set("state", Json(State { saved: suspended.saved, suspended: Some(suspended), ..state }));
        Ok(())
    }

    /// The first decision about the calls counts.
    #[handler]
    async fn decide(&self, ctx: ObjectContext<'_>, decisions: Json<Value>) -> Result<(), TerminalError> {
        let mut state = stored(&ctx).await?;
        let Some(Suspended { awakeable, .. }) = state.suspended.take() else {
            return Err(conflict("no call of this session waits for a decision; it may have been decided meanwhile"));
        };
        ctx.resolve_awakeable(&awakeable, decisions);
        ctx.set("state", Json(state));
        Ok(())
    }

    /// The run is over. This many of its inputs are in the stored conversation.
    #[handler]
    async fn close(&self, ctx: ObjectContext<'_>, saved: u64) -> Result<(), TerminalError> {
        let mut state = stored(&ctx).await?;
        state.saved = usize::try_from(saved).unwrap_or(usize::MAX);
        ctx.set("state", Json(State { waiting: state.unread(), ..State::default() }));
        Ok(())
    }

    /// Whether a run is active, the inputs for the next one, and the calls that wait for a decision.
    #[handler]
    async fn state(&self, ctx: SharedObjectContext<'_>) -> Result<Json<Now>, TerminalError> {
        let stored = ctx.get::<Json<State>>("state").await?.unwrap_or_default();
        let State { invocation, waiting, suspended, .. } = stored.into_inner();
        let suspended = suspended.map_or_else(Vec::new, |suspended| suspended.ids);
        Ok(Json(Now { is_running: invocation.is_some(), waiting, suspended }))
    }
}
