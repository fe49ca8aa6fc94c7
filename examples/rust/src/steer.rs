//! Steers a run while its tools are running. `steer [MODEL [BASE_URL]]`

use std::process::ExitCode;

use agent_loop::tool::ExecutionMode;
use agent_loop::{Agent, Error, EventData, FnTool, Message, MessageUpdate, ToolSpec};
use serde_json::json;

async fn ask() -> Result<(), Error> {
    // A slow tool. An abort would end its sleep.
    let mut spec = ToolSpec::from_json(json!({
        "name": "weather", "description": "The weather in a city.",
        "parameters": { "type": "object", "properties": { "city": { "type": "string" } }, "required": ["city"] },
    }))?;
    spec.execution_mode = Some(ExecutionMode::Sequential);
    let weather = FnTool::with_spec(spec, |_, call| async move {
        call.sleep(1000).await;
        Ok::<_, String>(json!("rain, 7 degrees"))
    });

    let mut arguments = std::env::args().skip(1);
    let model = arguments.next().unwrap_or_else(|| "anthropic/claude-sonnet-4-5".to_owned());
    let agent = Agent::new(&model)?;
    agent.set_base_url(arguments.next().as_deref())?;
    let agent = agent.tool(weather)?;

    let steering = agent.clone();
    let steered = std::sync::Once::new();
    let _subscription = agent.subscribe(move |event| {
        // The user steers when the first tool starts.
        if let EventData::ToolExecutionStart { .. } = event.data {
            steered.call_once(|| steering.steer("Never mind the others."));
        }
    });

    let mut run = agent.stream("Rain in Oslo, Bergen, Tromso?")?;
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
