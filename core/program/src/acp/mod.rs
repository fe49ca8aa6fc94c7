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
//! - `stdio`: messages as lines of standard input and output
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
mod stdio;
mod turn;
mod updates;

use std::sync::Arc;

use agent_client_protocol::schema::ProtocolVersion;
use agent_client_protocol::v1::schema::{
    AgentCapabilities, CancelNotification, ClientRequest, Implementation, InitializeResponse, McpCapabilities,
    PromptCapabilities, SessionCapabilities, SessionCloseCapabilities, SessionDeleteCapabilities, SessionListCapabilities,
    SessionResumeCapabilities,
};
use agent_client_protocol::v1::{ConnectionTo, Responder};
use agent_client_protocol::{Agent, Client, Error, JsonRpcResponse, on_receive_notification, on_receive_request};
use clap::ArgMatches;
use serde_json::Value;

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

/// The handlers are called sequentially, and hold up each other: what takes time is done in tasks.
async fn serve(sessions: &Arc<Sessions>) -> Result<(), Error> {
    let (of_requests, of_notices) = (Arc::clone(sessions), Arc::clone(sessions));
    Agent
        .v1()
        .name(sessions.settings().spec.name())
        .on_receive_request(
            async move |request: ClientRequest, responder, connection: ConnectionTo<Client>| {
                take(&of_requests, request, responder, connection)
            },
            on_receive_request!(),
        )
        .on_receive_notification(
            async move |given: CancelNotification, _: ConnectionTo<Client>| {
                if let Ok(session) = of_notices.get(&given.session_id) {
                    session.cancel();
                }
                Ok(())
            },
            on_receive_notification!(),
        )
        .connect_to(stdio::lines())
        .await
}

/// One function for all requests: a handler for each makes the crate's code for messages as often, which is a megabyte.
fn take(
    sessions: &Arc<Sessions>,
    request: ClientRequest,
    responder: Responder<Value>,
    connection: ConnectionTo<Client>,
) -> Result<(), Error> {
    let here = Arc::clone(sessions);
    match request {
        ClientRequest::InitializeRequest(_) => responder.cast().respond(initialized(sessions.settings())),
        ClientRequest::NewSessionRequest(request) => {
            tokio::spawn(async move {
                let made = here.create(request).await;
                let id = made.as_ref().ok().map(|made| made.session_id.clone());
                let _ = responder.cast().respond_with_result(made);
                // It is known by its id from now on.
                if let Some(session) = id.and_then(|id| here.get(&id).ok()) {
                    session.greet(&connection);
                }
            });
            Ok(())
        }
        ClientRequest::LoadSessionRequest(request) => answer(responder, async move { here.load(request, &connection).await }),
        ClientRequest::ResumeSessionRequest(request) => answer(responder, async move { here.resume(request, &connection).await }),
        ClientRequest::ListSessionsRequest(request) => answer(responder, async move { list::page(&here, request).await }),
        ClientRequest::CloseSessionRequest(request) => answer(responder, async move { here.close(&request.session_id).await }),
        ClientRequest::DeleteSessionRequest(request) => answer(responder, async move { here.delete(&request.session_id).await }),
        ClientRequest::SetSessionConfigOptionRequest(request) => {
            answer(responder, async move { config::set(&*here.get(&request.session_id)?, request).await })
        }
        // Begun here, and not in the task: a cancellation that follows is about it.
        ClientRequest::PromptRequest(request) => {
            match here.get(&request.session_id).and_then(|session| session.begin(request.prompt)) {
                Ok(begun) => answer(responder, begun.end(connection)),
                Err(error) => responder.respond_with_error(error),
            }
        }
        _ => responder.respond_with_error(Error::method_not_found()),
    }
}

/// Answers when the work is done.
fn answer<T>(responder: Responder<Value>, work: impl Future<Output = Result<T, Error>> + Send + 'static) -> Result<(), Error>
where
    T: JsonRpcResponse + Send + 'static,
{
    tokio::spawn(async move {
        let result = work.await;
        // The editor may have gone.
        let _ = responder.cast().respond_with_result(result);
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
