//! A program with a tool. `weather MODEL [BASE_URL]`

use std::process::ExitCode;

use agent_loop::{Agent, Error, EventData, FnTool, MessageUpdate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Deserialize, JsonSchema)]
struct City {
    /// Its name, for example Oslo.
    city: String,
}

#[derive(Serialize)]
struct Weather {
    city: String,
    sky: &'static str,
    celsius: i32,
}

async fn ask() -> Result<(), Error> {
    let weather = FnTool::typed("weather", "The weather in a city.", |arguments: City, _context| async move {
        Ok::<_, Error>(Weather { city: arguments.city, sky: "rain", celsius: 7 })
    })?;

    let mut arguments = std::env::args().skip(1);
    let model = arguments.next().unwrap_or_else(|| "anthropic/claude-sonnet-4-5".to_owned());
    let mut agent = Agent::builder(model).system_prompt("Be brief.").tool(weather);
    if let Some(url) = arguments.next() {
        agent = agent.base_url(&url);
    }

    let mut run = agent.build()?.stream("Rain in Oslo?")?;
    while let Some(event) = run.next().await {
        match &event.data {
            EventData::MessageUpdate(MessageUpdate::TextDelta { delta, .. }) => print!("{delta}"),
            EventData::ToolExecutionStart { tool_name, .. } => println!("[{tool_name}]"),
            _ => {}
        }
    }
    println!("\n{} tokens", run.result().await?.usage.total);
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
