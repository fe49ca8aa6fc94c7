//! `acp`: the agent speaks the [Agent Client Protocol](https://agentclientprotocol.com) over standard input and output, so that
//! an editor can use it.
//!
//! Here is the translation alone: what the agent does, it does as in the terminal. Nothing but the protocol goes to standard
//! output. When standard input is closed, the runs are aborted and the program ends.
//!
//! - `sessions`: those that are open, and how they are opened and closed; `list`: those that are stored
//! - `session`: one of them; `state`: the prompt that it answers; `turn`: what a prompt does; `permission`: calls that wait for
//!   approval
//! - `prompt`: the editor's content as ours; `updates`: events as the editor shows them; `calls`: tool calls in them; `replay`: a
//!   stored conversation
//! - `config`: model and thinking, which the editor may change; `errors`: what an editor reads of a failure
//! - this file: which message goes where

mod calls;
mod config;
mod errors;
mod list;
mod permission;
mod prompt;
mod replay;
mod session;
mod sessions;
mod state;
mod turn;
mod updates;

use std::sync::Arc;

use agent_client_protocol::schema::ProtocolVersion;
use agent_client_protocol::v1::schema::{
    AgentCapabilities, CancelNotification, CloseSessionRequest, DeleteSessionRequest, Implementation, InitializeRequest,
    InitializeResponse, ListSessionsRequest, LoadSessionRequest, McpCapabilities, NewSessionRequest, PromptCapabilities,
    PromptRequest, ResumeSessionRequest, SessionCapabilities, SessionCloseCapabilities, SessionDeleteCapabilities,
    SessionListCapabilities, SessionResumeCapabilities, SetSessionConfigOptionRequest,
};
use agent_client_protocol::v1::{ConnectionTo, Responder};
use agent_client_protocol::{Agent, Client, Error, JsonRpcResponse, Stdio, on_receive_notification, on_receive_request};
use clap::ArgMatches;

use self::sessions::Sessions;
use crate::exit;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::settings::Settings;

/// Serves an editor until it closes standard input.
pub(crate) async fn run(settings: Settings, matches: &ArgMatches) -> Result<u8, Failure> {
    let _interrupt = Interrupt::listen();
    let sessions = Arc::new(Sessions::new(settings, matches));
    let served = serve(&sessions).await;
    sessions.end().await;
    served.map_err(|error| Failure::error(format!("the connection to the editor has failed: {}", error.message)))?;
    Ok(exit::COMPLETED)
}

/// Handlers are called one after the other, and hold up each other: what takes time is done in tasks.
async fn serve(sessions: &Arc<Sessions>) -> Result<(), Error> {
    let here = || Arc::clone(sessions);
    let (new, load, resume, list) = (here(), here(), here(), here());
    let (close, delete, config, prompt, cancel) = (here(), here(), here(), here(), here());
    let about = initialized(sessions.settings());
    Agent
        .v1()
        .name(sessions.settings().spec.name())
        .on_receive_request(
            async move |_: InitializeRequest, responder: Responder<InitializeResponse>, _: ConnectionTo<Client>| {
                responder.respond(about.clone())
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request: NewSessionRequest, responder, connection: ConnectionTo<Client>| {
                let sessions = Arc::clone(&new);
                tokio::spawn(async move {
                    let made = sessions.create(request).await;
                    let id = made.as_ref().ok().map(|made| made.session_id.clone());
                    let _ = responder.respond_with_result(made);
                    // It is known by its id from now on.
                    if let Some(session) = id.and_then(|id| sessions.get(&id).ok()) {
                        session.greet(&connection);
                    }
                });
                Ok(())
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request: LoadSessionRequest, responder, connection: ConnectionTo<Client>| {
                let sessions = Arc::clone(&load);
                answer(responder, async move { sessions.load(request, &connection).await })
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request: ResumeSessionRequest, responder, connection: ConnectionTo<Client>| {
                let sessions = Arc::clone(&resume);
                answer(responder, async move { sessions.resume(request, &connection).await })
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request: ListSessionsRequest, responder, _: ConnectionTo<Client>| {
                let sessions = Arc::clone(&list);
                answer(responder, async move { list::page(&sessions, request).await })
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request: CloseSessionRequest, responder, _: ConnectionTo<Client>| {
                let sessions = Arc::clone(&close);
                answer(responder, async move { sessions.close(&request.session_id).await })
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request: DeleteSessionRequest, responder, _: ConnectionTo<Client>| {
                let sessions = Arc::clone(&delete);
                answer(responder, async move { sessions.delete(&request.session_id).await })
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request: SetSessionConfigOptionRequest, responder, _: ConnectionTo<Client>| {
                let sessions = Arc::clone(&config);
                answer(responder, async move { config::set(&*sessions.get(&request.session_id)?, request).await })
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request: PromptRequest, responder, connection: ConnectionTo<Client>| {
                // Here, and not in the task: a cancellation that follows is about it.
                match prompt.get(&request.session_id).and_then(|session| session.begin(request.prompt)) {
                    Ok(begun) => answer(responder, begun.end(connection)),
                    Err(error) => responder.respond_with_error(error),
                }
            },
            on_receive_request!(),
        )
        .on_receive_notification(
            async move |given: CancelNotification, _: ConnectionTo<Client>| {
                if let Ok(session) = cancel.get(&given.session_id) {
                    session.cancel();
                }
                Ok(())
            },
            on_receive_notification!(),
        )
        .connect_to(Stdio::new())
        .await
}

/// Answers when the work is done.
fn answer<T>(responder: Responder<T>, work: impl Future<Output = Result<T, Error>> + Send + 'static) -> Result<(), Error>
where
    T: JsonRpcResponse + Send + 'static,
{
    tokio::spawn(async move {
        let result = work.await;
        // The editor may have gone.
        let _ = responder.respond_with_result(result);
    });
    Ok(())
}

/// What we are, and what we can do.
fn initialized(settings: &Settings) -> InitializeResponse {
    let sessions = SessionCapabilities::new()
        .list(SessionListCapabilities::new())
        .resume(SessionResumeCapabilities::new())
        .close(SessionCloseCapabilities::new())
        .delete(SessionDeleteCapabilities::new());
    let capabilities = AgentCapabilities::new()
        .load_session(true)
        .prompt_capabilities(PromptCapabilities::new().image(true).embedded_context(true))
        .mcp_capabilities(McpCapabilities::new().http(true))
        .session_capabilities(sessions);
    let about = Implementation::new(settings.spec.name(), settings.spec.own_version());
    InitializeResponse::new(ProtocolVersion::V1).agent_capabilities(capabilities).agent_info(about)
}
