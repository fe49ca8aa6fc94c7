//! An HTTP endpoint that streams runs as server-sent events: `agent-loop-axum [MODEL [BASE_URL]]`
//!
//! Try it: `curl -N -d 'Rain in Oslo?' http://127.0.0.1:3000/ask`. Each event of the run is an event of the response. When the
//! client leaves, its run is aborted.

use std::convert::Infallible;
use std::process::ExitCode;

use agent_loop::{Agent, AgentBuilder, Error, Runtime};
use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::routing::post;
use futures_util::{Stream, StreamExt};

/// Answers one prompt with an agent of its own.
async fn ask(
    State(builder): State<AgentBuilder>,
    prompt: String,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, (StatusCode, String)> {
    let run = builder.build().and_then(|agent| agent.stream(prompt));
    let run = run.map_err(|error| (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()))?;
    // The response owns the run: when the client leaves, both are dropped, and dropping a run aborts it.
    let events = run.map(|event| Ok(Event::default().event(event.kind()).data(event.to_json())));
    Ok(Sse::new(events).keep_alive(KeepAlive::default()))
}

fn app(builder: AgentBuilder) -> Router {
    Router::new().route("/ask", post(ask)).with_state(builder)
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
    println!("http://{}/ask", listener.local_addr()?);
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
    use agent_loop::{CancelToken, FnTool, ModelSpec};
    use serde_json::{Value, json};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::{TcpListener, TcpStream};

    use super::*;

    /// A client that has sent a prompt to a server with this agent.
    async fn client(builder: AgentBuilder) -> TcpStream {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move { axum::serve(listener, app(builder)).await });
        let mut client = TcpStream::connect(address).await.unwrap();
        let request = "POST /ask HTTP/1.1\r\nhost: test\r\nconnection: close\r\ncontent-length: 2\r\n\r\nHi";
        client.write_all(request.as_bytes()).await.unwrap();
        client
    }

    fn scripted(script: Value) -> AgentBuilder {
        Agent::builder(ModelSpec::from_json(json!({ "provider": "scripted", "id": "s", "script": script })).unwrap())
    }

    #[tokio::test]
    async fn events_are_streamed_to_the_end_of_the_run() {
        let mut client = client(scripted(json!([[{ "delta": "Hello." }, { "end": "stop" }]]))).await;
        let mut response = String::new();
        client.read_to_string(&mut response).await.unwrap();
        let events: Vec<&str> = response.lines().filter_map(|line| line.strip_prefix("event: ")).collect();
        assert!(response.starts_with("HTTP/1.1 200 OK\r\n"), "{response}");
        assert_eq!((events.first(), events.last()), (Some(&"agent_start"), Some(&"agent_end")));
        assert!(events.contains(&"text_delta") && response.contains("\"delta\":\"Hello.\""), "{response}");
    }

    #[tokio::test]
    async fn a_client_that_leaves_aborts_its_run() {
        let aborted = CancelToken::new();
        let seen = aborted.clone();
        let tool = FnTool::new("waits", "Waits for its abort.", json!({ "type": "object" }), move |_, context| {
            let seen = seen.clone();
            async move {
                context.cancel_token().cancelled().await;
                seen.cancel();
                Ok::<_, Error>(Value::Null)
            }
        });
        let call = json!({ "delta": { "tool_call": { "id": "c", "name": "waits", "arguments": {} } } });
        let mut client = client(scripted(json!([[call, { "end": "tool_use" }]])).tool(tool.unwrap())).await;
        let mut response = Vec::new();
        while !String::from_utf8_lossy(&response).contains("event: tool_execution_start") {
            assert_ne!(client.read_buf(&mut response).await.unwrap(), 0, "the response ended");
        }
        drop(client);
        aborted.cancelled().await;
    }
}
