//! A custom provider: a model that repeats the question word by word. `custom_provider`

use std::process::ExitCode;

use agent_loop::model::ModelCall;
use agent_loop::{Agent, Error, EventData, Message, MessageUpdate};
use serde_json::json;

/// Answers a request, now or later, from any thread.
fn parrot(call: ModelCall) {
    tokio::spawn(async move {
        let question = call.request().request.messages.iter().rev().find(|message| matches!(&***message, Message::User(_)));
        let question = question.map(|message| message.text()).unwrap_or_default();
        for word in question.split_inclusive(' ') {
            // `ready` waits when the run is behind; false: the answer is no longer wanted.
            if call.push(&json!({ "text": word })).is_err() || !call.ready().await {
                return;
            }
        }
        call.finish();
    });
}

async fn speak() -> Result<String, Error> {
    let agent = Agent::builder("zoo/parrot").provider(parrot).build()?;
    let mut run = agent.stream("Polly wants a cracker.")?;
    while let Some(event) = run.next().await {
        if let EventData::MessageUpdate(MessageUpdate::TextDelta { delta, .. }) = &event.data {
            println!("{delta:?}");
        }
    }
    Ok(run.result().await?.text)
}

#[tokio::main]
async fn main() -> ExitCode {
    match speak().await {
        Ok(text) => {
            println!("{text}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    #[tokio::test]
    async fn the_answer_is_the_question() {
        assert_eq!(super::speak().await.unwrap(), "Polly wants a cracker.");
    }
}
