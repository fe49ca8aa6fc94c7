//! Plays a recorded run again and prints its events, one a line. `replay FILE [RUN]`

use std::process::ExitCode;

use agent_loop::{Error, Replay, replay};

async fn play(recording: &str, run: usize) -> Result<(), Error> {
    let mut played = replay(Replay::of(recording).run(run)).stream()?;
    while let Some(event) = played.next().await {
        println!("{}", event.to_json());
    }
    played.result().await.map(drop)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let recording = arguments.next().unwrap_or_default();
    let run = arguments.next().and_then(|run| run.parse().ok()).unwrap_or(1);
    match play(&recording, run).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{}: {}", error.kind(), error.message());
            ExitCode::FAILURE
        }
    }
}
