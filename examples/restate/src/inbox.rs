//! What reaches a run while it is active. A handler that runs a prompt keeps all others of its key out, except for shared ones,
//! which cannot write. So each session has this second object, whose handlers are short: they know which invocation runs, and
//! send it numbered signals. Without a run, inputs wait here for the next one. Which does what, the engine's `Inbox` decides.

use agent_loop::machine::workflow::{Inbox, InboxInput, InboxState, Room, Suspended};
use restate_sdk::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::assistant::refused;
use crate::steps::now_ms;

#[derive(Debug, Serialize, Deserialize)]
pub struct Opened {
    pub waiting: Vec<InboxInput>,
    pub at_ms: u64,
}

pub fn signal_name(number: usize) -> String {
    format!("input-{number}")
}

async fn stored(ctx: &ObjectContext<'_>) -> Result<Inbox, TerminalError> {
    Ok(ctx.get::<Json<Inbox>>("state").await?.unwrap_or_default().into_inner())
}

pub struct AssistantInbox;

#[restate_sdk::object(name = "assistant_inbox")]
impl AssistantInbox {
    /// A run begins; returns its first inputs, and the time.
    #[handler]
    async fn open(&self, ctx: ObjectContext<'_>, invocation: String) -> Result<Json<Opened>, TerminalError> {
        let mut inbox = stored(&ctx).await?;
        let waiting = inbox.open(invocation);
        ctx.set("state", Json(inbox));
        Ok(Json(Opened { waiting, at_ms: now_ms() }))
    }

    /// Sends an input to the active run, or keeps it for the next one.
    #[handler]
    async fn put(&self, ctx: ObjectContext<'_>, put: Json<(InboxInput, Room)>) -> Result<Json<String>, TerminalError> {
        let ((input, room), mut inbox) = (put.into_inner(), stored(&ctx).await?);
        let signal = inbox.put(input, Some(room)).map_err(refused)?;
        let word = if signal.is_some() { "joined" } else { "queued" };
        if let Some(signal) = signal {
            ctx.invocation_handle(signal.invocation).signal(signal_name(signal.number)).resolve(Json(signal.input));
        }
        ctx.set("state", Json(inbox));
        Ok(Json(word.to_owned()))
    }

    /// The active run waits for decisions. So many of its inputs are in the stored conversation.
    #[handler]
    async fn suspend(&self, ctx: ObjectContext<'_>, given: Json<(Suspended, usize)>) -> Result<(), TerminalError> {
        let ((suspended, saved), mut inbox) = (given.into_inner(), stored(&ctx).await?);
        inbox.suspend(suspended, saved);
        ctx.set("state", Json(inbox));
        Ok(())
    }

    /// The first decision about the calls counts.
    #[handler]
    async fn decide(&self, ctx: ObjectContext<'_>, decisions: Json<Map<String, Value>>) -> Result<(), TerminalError> {
        let mut inbox = stored(&ctx).await?;
        let awakeable = inbox.decide(&decisions.0).map_err(refused)?;
        ctx.resolve_awakeable(&awakeable, decisions);
        ctx.set("state", Json(inbox));
        Ok(())
    }

    /// The run is over. So many of its inputs need not be read again.
    #[handler]
    async fn close(&self, ctx: ObjectContext<'_>, saved: u64) -> Result<(), TerminalError> {
        let mut inbox = stored(&ctx).await?;
        inbox.close(usize::try_from(saved).unwrap_or(usize::MAX));
        ctx.set("state", Json(inbox));
        Ok(())
    }

    /// Whether a run is active, the inputs for the next one, and the calls that wait for a decision.
    #[handler]
    async fn state(&self, ctx: SharedObjectContext<'_>) -> Result<Json<InboxState>, TerminalError> {
        Ok(Json(ctx.get::<Json<Inbox>>("state").await?.unwrap_or_default().into_inner().now()))
    }
}
