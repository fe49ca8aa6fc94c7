//! A conversation over several prompts: `multi_turn MODEL [BASE_URL [MODEL]...]`
//!
//! Each prompt continues the conversation. With several models, each prompt uses the next one: the conversation continues with
//! all of its messages. A MODEL is `provider/id`, or a JSON object; with an empty BASE_URL each is called at its own address.

use std::process::ExitCode;

use agent_loop::{Agent, Error};

const PROMPTS: [&str; 3] = ["My name is Ada. Remember it.", "What is my name?", "Spell it backwards."];

async fn converse(model: &str, base_url: Option<&String>, more_models: &[String]) -> Result<(), Error> {
    let mut agent = Agent::builder(model).system_prompt("Be brief.");
    if let Some(url) = base_url.filter(|url| !url.is_empty()) {
        agent = agent.base_url(url);
    }
    let agent = agent.build()?;
    let mut more_models = more_models.iter();
    for (number, prompt) in PROMPTS.iter().enumerate() {
        if number > 0
            && let Some(model) = more_models.next()
        {
            agent.set_model(model)?;
        }
        println!("User: {prompt}");
        let result = agent.prompt(*prompt).await?;
        println!("{}: {}", agent.model(), result.text);
    }
    println!("[{} messages]", agent.messages().len());
    Ok(())
}

#[tokio::main]
async fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some(model) = arguments.first() else {
        eprintln!("usage: multi_turn MODEL [BASE_URL [MODEL]...]");
        return ExitCode::from(2);
    };
    match converse(model, arguments.get(1), arguments.get(2..).unwrap_or_default()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
