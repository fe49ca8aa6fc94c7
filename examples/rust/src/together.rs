//! Several agents concurrently; each has a minute, and when one fails the others are aborted: `together [MODEL [BASE_URL]]`

use std::process::ExitCode;
use std::time::Duration;

use agent_loop::{Agent, CancelToken, Error, Runtime};
use tokio::task::JoinSet;

const QUESTIONS: [&str; 3] = ["Why is the sky blue?", "Why is the sea salty?", "Why do cats purr?"];

async fn ask() -> Result<(), Error> {
    let mut arguments = std::env::args().skip(1);
    let model = arguments.next().unwrap_or_else(|| "anthropic/claude-sonnet-4-5".to_owned());
    // The agents share the runtime's connections.
    let mut builder = Agent::builder(model).system_prompt("Answer in one sentence.").runtime(&Runtime::current()?);
    if let Some(url) = arguments.next() {
        builder = builder.base_url(&url);
    }

    let stop = CancelToken::new();
    let mut runs = JoinSet::new();
    for question in QUESTIONS {
        let run = builder.clone().build()?.prompt(question);
        runs.spawn(run.abort_on(&stop).abort_on(tokio::time::sleep(Duration::from_secs(60))));
    }
    while let Some(result) = runs.join_next().await {
        match result.expect("a run does not panic") {
            Ok(result) => println!("[{}] {}", result.outcome.as_str(), result.text),
            Err(error) => {
                eprintln!("{error}");
                stop.cancel();
            }
        }
    }
    Ok(())
}

#[tokio::main]
async fn main() -> ExitCode {
    match ask().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
