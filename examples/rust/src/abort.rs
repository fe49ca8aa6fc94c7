//! Aborts a run in the middle, after ten deltas of text. `abort provider/id [BASE_URL]`

use std::process::ExitCode;

use agent_loop::{Agent, Error, EventData, MessageUpdate};

async fn count() -> Result<(), Error> {
    let mut arguments = std::env::args().skip(1);
    let mut agent = Agent::builder(arguments.next().unwrap_or_else(|| "anthropic/claude-sonnet-4-5".to_owned()));
    if let Some(url) = arguments.next() {
        agent = agent.base_url(&url);
    }
    let mut run = agent.build()?.stream("Count from 1 to 1000.")?;
    let mut pieces = 0;
    while let Some(event) = run.next().await {
        if let EventData::MessageUpdate(MessageUpdate::TextDelta { delta, .. }) = &event.data {
            print!("{delta}");
            pieces += 1;
            if pieces == 10 {
                run.abort();
            }
        }
    }
    // The text so far is kept, in the result and in the transcript.
    let result = run.result().await?;
    println!("\n[{}] after {} characters", result.outcome.as_str(), result.text.chars().count());
    Ok(())
}

#[tokio::main]
async fn main() -> ExitCode {
    match count().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
