//! An agent on Restate, as a virtual object keyed by session: `agent-loop-restate [MODEL [BASE_URL [ADDRESS]]]`
//!
//! Its conversations survive their process, on any number of machines: Restate keeps the model's answers and the tools' results,
//! and calls the handler again elsewhere when a process dies. docs/scale.md has the commands, and the same in Python and Node.
//!
//! - `assistant`: the handlers that clients call
//! - `session`: a prompt, from the conversation in Restate's state to the next one there
//! - `inbox`: steering, aborts and decisions on their way to the active run
//! - `steps`: model calls and tool calls

mod assistant;
mod inbox;
mod session;
mod steps;
#[cfg(test)]
mod tests;

use std::process::ExitCode;

use agent_loop::{Error, ModelSpec};
use restate_sdk::endpoint::{Endpoint, ServiceOptions};
use restate_sdk::http_server::HttpServer;
use restate_sdk::service::IntoServiceDefinition;
use tokio::net::TcpListener;

use crate::assistant::{Assistant, Definition};
use crate::inbox::AssistantInbox;
use crate::steps::AssistantSteps;

/// What Restate calls.
fn endpoint(model: ModelSpec, base_url: Option<&str>) -> Result<Endpoint, Error> {
    let steps = AssistantSteps::new(model.clone(), base_url)?;
    let assistant = Assistant::new(Definition::new(&model, base_url)?);
    let private = || ServiceOptions::new().ingress_private(true);
    let inbox = AssistantInbox.into_service_definition().options(private());
    let steps = steps.into_service_definition().options(private());
    Ok(Endpoint::builder().bind(assistant).bind(inbox).bind(steps).build())
}

async fn serve() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let argument = |place: usize| arguments.get(place).map(String::as_str);
    let model = ModelSpec::parse(argument(0).unwrap_or("anthropic/claude-sonnet-4-5"))?;
    let listener = TcpListener::bind(argument(2).unwrap_or("127.0.0.1:9080")).await?;
    let server = HttpServer::new(endpoint(model, argument(1))?);
    println!("http://{}", listener.local_addr()?);
    server.serve(listener).await;
    Ok(())
}

#[tokio::main]
async fn main() -> ExitCode {
    match serve().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
