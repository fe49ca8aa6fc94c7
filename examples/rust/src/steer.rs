//! Steers a run while its tools are running. `steer [MODEL [BASE_URL]]`

use std::process::ExitCode;

use agent_loop::tool::ExecutionMode;
use agent_loop::{Agent, Error, EventData, FnTool, Message, MessageUpdate, Run};
use serde_json::json;

async fn ask() -> Result<(), Error> {
    // A slow tool. An abort would end its sleep.
    let parameters = json!({ "type": "object", "properties": { "city": { "type": "string" } }, "required": ["city"] });
    let weather = FnTool::new("weather", "The weather in a city.", parameters, |_, context| async move {
        context.sleep(1000).await;
        Ok::<_, Error>(json!("rain, 7 degrees"))
    })?;

    let mut arguments = std::env::args().skip(1);
    let model = arguments.next().unwrap_or_else(|| "anthropic/claude-sonnet-4-5".to_owned());
    let mut agent = Agent::builder(model).tool(weather.execution_mode(ExecutionMode::Sequential));
    if let Some(url) = arguments.next() {
        agent = agent.base_url(&url);
    }
    let agent = agent.build()?;

    let steering = agent.clone();
    let steered = std::sync::Once::new();
    let _subscription = agent.subscribe(move |event| {
        // The user steers when the first tool starts.
        if let EventData::ToolExecutionStart { .. } = event.data {
            steered.call_once(|| {
                // It has no id, so that none can be there already.
                let _ = steering.steer("Never mind the others.");
            });
        }
    });

    show(agent.stream("Rain in Oslo, Bergen, Tromso?")?).await?;
    // What was steered when the run had just ended (`Delivery::Queued`) waits for another one.
    while let Some(next) = agent.resume_if_queued() {
        show(next.stream()?).await?;
    }
    Ok(())
}

async fn show(mut run: Run) -> Result<(), Error> {
    while let Some(event) = run.next().await {
        match &event.data {
            EventData::MessageStart { message } if matches!(**message, Message::User(_)) => println!("User: {}", message.text()),
            EventData::MessageUpdate(MessageUpdate::TextDelta { delta, .. }) => print!("{delta}"),
            // Also of skipped calls.
            EventData::ToolExecutionEnd { tool_name, result, .. } => println!("[{tool_name} -> {}]", result.text()),
            _ => {}
        }
    }
    println!("\n[{}]", run.result().await?.outcome.as_str());
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
