//! The agent as a virtual object: the handlers that clients call.

use std::sync::Arc;

use agent_loop::machine::wire::Served;
use agent_loop::machine::workflow::{InboxInput, Room, StoredConversation, http_status};
use agent_loop::machine::{Config, Conversation, Loop, ModelEntry, Start, Tools};
use agent_loop::suspension::{Decision, SuspendedCall};
use agent_loop::{Error, ModelSpec};
use restate_sdk::prelude::*;
use serde_json::{Map, Value, json};

use crate::inbox::AssistantInboxClient;
use crate::session::Session;
use crate::steps;

/// Reads the conversation of a session; with it the room that it has for messages.
pub fn read(json: Option<Vec<u8>>) -> Result<(StoredConversation, Room), TerminalError> {
    let Some(json) = json else { return Ok((StoredConversation::default(), Room { stored_bytes: 0, max_bytes: None })) };
    let unread = |why| TerminalError::new(format!("the state of the session: {why}"));
    Ok((serde_json::from_slice(&json).map_err(unread)?, Room { stored_bytes: json.len(), max_bytes: None }))
}

/// The agent: its model, its instructions and its tools.
pub struct Definition(Config);

impl Definition {
    pub fn new(model: &ModelSpec, base_url: Option<&str>) -> Result<Definition, Error> {
        let served = Served::of(model, base_url, &|variable| std::env::var(variable).ok())?;
        let mut entry = ModelEntry::new(0, &model.provider, served.protocol.name(), &model.id);
        entry.constraints = served.constraints(model);
        let mut config = Config::new(entry.name(), Ok(entry));
        config.tools = Tools::from(steps::tools()?.into_iter().map(Arc::new).collect::<Vec<_>>());
        config.settings.system_prompt = "Be brief.".to_owned();
        // An answer comes in one piece, so only its whole time is limited here.
        (config.settings.limits.first_byte_timeout_ms, config.settings.limits.idle_timeout_ms) = (0, 0);
        Ok(Definition(config))
    }

    /// A conversation with its next run.
    pub fn begin(&self, export: Option<&Value>, start: Start) -> Result<Conversation<Loop>, Error> {
        let mut conversation = Conversation::default();
        if let Some(export) = export {
            let export = serde_json::from_value(export.clone());
            conversation.import(export.map_err(|why| Error::invalid_argument(format!("the state of the session: {why}")))?)?;
        }
        conversation.begin(self.0.clone(), start, |run| run)?;
        Ok(conversation)
    }
}

/// The error of a caller, as Restate reports it: it does not try again.
pub fn refused(error: Error) -> TerminalError {
    TerminalError::new_with_code(http_status(error.kind()), error.message().to_owned())
}

pub struct Assistant(Definition);

impl Assistant {
    pub fn new(definition: Definition) -> Assistant {
        Assistant(definition)
    }
}

#[restate_sdk::object(name = "assistant")]
impl Assistant {
    /// Prompts the agent; returns the result of the run.
    #[handler]
    async fn prompt(&self, ctx: ObjectContext<'_>, message: Json<String>) -> Result<Json<Value>, TerminalError> {
        Session::of(&ctx, &self.0).await?.run(Some(message.into_inner())).await.map(Json)
    }

    /// Goes on from the conversation, as after a failed run.
    #[handler]
    async fn resume(&self, ctx: ObjectContext<'_>) -> Result<Json<Value>, TerminalError> {
        Session::of(&ctx, &self.0).await?.run(None).await.map(Json)
    }

    /// Steers the active run; returns `joined` if there is one, else `queued`.
    #[handler]
    async fn steer(&self, ctx: SharedObjectContext<'_>, message: Json<String>) -> Result<Json<String>, TerminalError> {
        put(&ctx, InboxInput::Steer { message: message.into_inner().into() }).await
    }

    /// Queues a message for the end of the active run, or for the next run.
    #[handler]
    async fn follow_up(&self, ctx: SharedObjectContext<'_>, message: Json<String>) -> Result<Json<String>, TerminalError> {
        put(&ctx, InboxInput::FollowUp { message: message.into_inner().into() }).await
    }

    /// Aborts the active run; returns whether there is one.
    #[handler]
    async fn abort(&self, ctx: SharedObjectContext<'_>) -> Result<bool, TerminalError> {
        Ok(put(&ctx, InboxInput::Abort).await?.into_inner() == "joined")
    }

    /// Decides about the calls that wait: `{"call_1": "approve"}`.
    #[handler]
    async fn decide(&self, ctx: SharedObjectContext<'_>, decisions: Json<Map<String, Value>>) -> Result<(), TerminalError> {
        let (kept, _) = read(ctx.get("conversation").await?)?;
        let read = Decision::all_from_json(json!(decisions.0)).map_err(refused)?;
        self.0.begin(kept.export.as_ref(), Start::decided("", 0, read)).map_err(refused)?;
        ctx.object_client::<AssistantInboxClient>(ctx.key()).decide(decisions).call().await
    }

    /// The conversation as it was after the last run, or when calls began to wait.
    #[handler]
    async fn state(&self, ctx: SharedObjectContext<'_>) -> Result<Json<Value>, TerminalError> {
        let (kept, _) = read(ctx.get("conversation").await?)?;
        let now = ctx.object_client::<AssistantInboxClient>(ctx.key()).state().call().await?.into_inner();
        let is_waiting = |call: &&SuspendedCall| now.suspended.iter().any(|id| **id == *call.tool_call_id);
        let pending: Vec<&SuspendedCall> = kept.pending.iter().filter(is_waiting).collect();
        let messages = kept.export.as_ref().and_then(|export| export.get("messages")).cloned().unwrap_or_else(|| json!([]));
        Ok(Json(json!({ "messages": messages, "pending": pending, "is_running": now.is_running, "waiting": now.waiting })))
    }
}

async fn put(ctx: &SharedObjectContext<'_>, input: InboxInput) -> Result<Json<String>, TerminalError> {
    let (_, room) = read(ctx.get("conversation").await?)?;
    ctx.object_client::<AssistantInboxClient>(ctx.key()).put(Json((input, room))).call().await
}
