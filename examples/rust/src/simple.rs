//! One prompt, the complete answer, and its cost: `simple MODEL [BASE_URL]`
//!
//! MODEL is any model: `anthropic/claude-sonnet-4-5`, `google/gemini-2.5-flash`, `google-vertex/gemini-2.5-flash` or
//! `google-vertex/claude-sonnet-4-5@20250929` (project and location from GOOGLE_CLOUD_PROJECT and GOOGLE_CLOUD_LOCATION).

use std::process::ExitCode;

use agent_loop::{Agent, Error};

async fn simple(model: &str, base_url: Option<&String>) -> Result<(), Error> {
    let mut agent = Agent::builder(model).system_prompt("Answer in one sentence.");
    if let Some(url) = base_url {
        agent = agent.base_url(url);
    }
    let result = agent.build()?.prompt("Why is the sky blue?").await?;
    println!("{}", result.text);
    match &result.usage.cost {
        Some(cost) => println!("[{} tokens, ${:.6}]", result.usage.total, cost.total),
        None => println!("[{} tokens]", result.usage.total),
    }
    Ok(())
}

#[tokio::main]
async fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some(model) = arguments.first() else {
        eprintln!("usage: simple MODEL [BASE_URL]");
        return ExitCode::from(2);
    };
    match simple(model, arguments.get(1)).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
