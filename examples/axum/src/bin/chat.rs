//! A conversation with `useChat` of the AI SDK: `cargo run --bin chat [MODEL [BASE_URL]]`; `../chat` has a page for it.
//!
//! When the client leaves, its run is aborted.

use std::collections::HashMap;
use std::convert::Infallible;
use std::process::ExitCode;
use std::sync::{Arc, Mutex};

use agent_loop::ui::{UiOptions, UiProtocol, UiRequest};
use agent_loop::{Agent, AgentBuilder, Error, ErrorKind, Runtime};
use axum::Router;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use futures_util::StreamExt;

/// What the requests share.
#[derive(Clone)]
struct App {
    builder: AgentBuilder,
    /// The agents of the conversations; in a real application, sessions of a store.
    agents: Arc<Mutex<HashMap<String, Agent>>>,
}

impl App {
    /// The agent of a conversation. Check in your application whose it is.
    fn agent(&self, id: &str) -> Result<Agent, Error> {
        let mut agents = self.agents.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Some(agent) = agents.get(id) {
            return Ok(agent.clone());
        }
        let agent = self.builder.clone().build()?;
        agents.insert(id.to_owned(), agent.clone());
        Ok(agent)
    }
}

/// What a client gets of an error before the answer has begun.
fn refused(error: Error) -> (StatusCode, String) {
    let status = match error.kind() {
        ErrorKind::InvalidArgument => StatusCode::BAD_REQUEST,
        ErrorKind::Busy | ErrorKind::InvalidState => StatusCode::CONFLICT,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    };
    (status, error.message().to_owned())
}

/// Answers a request of `useChat`.
async fn chat(State(app): State<App>, body: String) -> Result<Response, (StatusCode, String)> {
    let asked = UiRequest::read_text(UiProtocol::AiSdk, &body).map_err(refused)?;
    let missing = || (StatusCode::BAD_REQUEST, "the request has no id of a conversation".to_owned());
    let agent = app.agent(asked.id.as_deref().ok_or_else(missing)?).map_err(refused)?;
    agent.wait_for_idle().await.map_err(refused)?; // the run that was stopped may still be ending
    let run = agent.stream_ui(&asked).map_err(refused)?;
    // The response owns the run: when the client leaves, both are dropped, and dropping a run aborts it.
    let stream = run.to_ui_message_stream(UiOptions::default().of(&asked));
    let headers = stream.headers();
    let mut response = Response::new(Body::from_stream(stream.map(Ok::<_, Infallible>)));
    for (name, value) in headers {
        response.headers_mut().insert(*name, header::HeaderValue::from_static(value));
    }
    Ok(response)
}

/// The conversation, for a page that is loaded again.
async fn messages(State(app): State<App>, Path(id): Path<String>) -> Result<Response, (StatusCode, String)> {
    let messages = app.agent(&id).map_err(refused)?.to_ui_messages(&UiOptions::default());
    Ok(([(header::CONTENT_TYPE, "application/json")], messages.to_string()).into_response())
}

fn app(builder: AgentBuilder) -> Router {
    let routes = Router::new().route("/api/chat", post(chat)).route("/api/chat/{id}", get(messages));
    routes.with_state(App { builder, agents: Arc::default() })
}

async fn serve() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let model = arguments.next().unwrap_or_else(|| "anthropic/claude-sonnet-4-5".to_owned());
    // All agents share the runtime and with it the connections to the model.
    let mut builder = Agent::builder(model).system_prompt("Be brief.").runtime(&Runtime::current()?);
    if let Some(url) = arguments.next() {
        builder = builder.base_url(&url);
    }
    // What is wrong with the model is found now, not by the first client.
    builder.clone().build()?;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:3000").await?;
    println!("http://{}/api/chat", listener.local_addr()?);
    Ok(axum::serve(listener, app(builder)).await?)
}

#[tokio::main]
async fn main() -> ExitCode {
    match serve().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{}", error.downcast_ref::<Error>().map_or_else(|| error.to_string(), ToString::to_string));
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use agent_loop::ModelSpec;
    use serde_json::json;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::{TcpListener, TcpStream};

    use super::*;

    async fn answer(address: SocketAddr, line: &str, body: &str) -> String {
        let mut client = TcpStream::connect(address).await.unwrap();
        let length = body.len();
        let request = format!("{line} HTTP/1.1\r\nhost: test\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}");
        client.write_all(request.as_bytes()).await.unwrap();
        let mut response = String::new();
        client.read_to_string(&mut response).await.unwrap();
        response
    }

    #[tokio::test]
    async fn a_chat_with_the_ai_sdk() {
        let model = json!({ "provider": "scripted", "id": "s", "script": [[{ "delta": "Hello." }, { "end": "stop" }]] });
        let builder = Agent::builder(ModelSpec::from_json(model).unwrap());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move { axum::serve(listener, app(builder)).await });
        let body = r#"{"id": "c", "messages": [{"id": "u", "role": "user", "parts": [{"type": "text", "text": "Hi"}]}]}"#;
        let response = answer(address, "POST /api/chat", body).await;
        assert!(response.contains("\r\nx-vercel-ai-ui-message-stream: v1\r\n"), "{response}");
        assert!(response.contains(r#"data: {"type":"text-delta","id":"1-0","delta":"Hello."}"#), "{response}");
        assert!(response.contains("data: [DONE]\n\n"), "{response}");
        let page = answer(address, "GET /api/chat/c", "").await;
        assert!(page.contains(r#""role":"assistant""#) && page.contains("Hello."), "{page}");
        let odd = answer(address, "POST /api/chat", r#"{"id": "c"}"#).await;
        assert!(odd.starts_with("HTTP/1.1 400 "), "{odd}");
    }
}
