//! The smallest program: one prompt, the answer as it comes. `hello provider/id [BASE_URL]`

use std::process::ExitCode;

use agent_loop::{Agent, Error, EventData, MessageUpdate};

async fn hello() -> Result<(), Error> {
    let mut arguments = std::env::args().skip(1);
    let mut agent = Agent::builder(arguments.next().unwrap_or_else(|| "anthropic/claude-sonnet-4-5".to_owned()));
    if let Some(url) = arguments.next() {
        agent = agent.base_url(&url);
    }
    let mut run = agent.build()?.stream("Say hello.")?;
    while let Some(event) = run.next().await {
        if let EventData::MessageUpdate(MessageUpdate::TextDelta { delta, .. }) = &event.data {
            print!("{delta}");
        }
    }
    println!();
    run.result().await?;
    Ok(())
}

#[tokio::main]
async fn main() -> ExitCode {
    match hello().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
