//! Calls that wait for approval, from one process to the next:
//!
//! ```text
//! approvals [--events] MODEL STATE PROMPT
//! approvals [--events] MODEL STATE --decide DECISIONS
//! ```
//!
//! STATE is a file with the conversation, which the programs of all languages read and write; with the variable
//! AGENT_STATE_KEY it is signed. DECISIONS is JSON, such as `{"call_1": "approve"}`. `--events` prints each event's JSON
//! instead of the transcript.

use std::error::Error;
use std::path::Path;
use std::process::ExitCode;

use agent_loop::suspension::Decision;
use agent_loop::tool::ExecutionMode;
use agent_loop::{Agent, EventData, FnTool, MessageUpdate, Run};
use serde_json::{Value, json};

const USAGE: &str = "usage: approvals [--events] MODEL STATE (PROMPT | --decide DECISIONS)";

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn tools() -> Result<[FnTool; 3], agent_loop::Error> {
    let parameters = json!({ "type": "object", "properties": { "item": { "type": "string" } }, "required": ["item"] });
    let price = FnTool::new("price", "The price of an item.", parameters, |given, _call| async move {
        Ok::<_, agent_loop::Error>(json!(format!("{}: 12.50", text(&given["item"]))))
    })?;
    let parameters = json!({
        "type": "object",
        "properties": { "item": { "type": "string" }, "count": { "type": "integer" }, "options": { "type": "object" } },
        "required": ["item"],
    });
    let order = FnTool::new("order", "Orders an item, or several.", parameters, |given, call| async move {
        call.sleep(10 * given["count"].as_u64().unwrap_or(1)).await;
        Ok::<_, agent_loop::Error>(json!(format!("ordered: {}", text(&given["item"]))))
    })?;
    let parameters = json!({
        "type": "object",
        "properties": { "to": { "type": "string" }, "amount": { "type": "number" } },
        "required": ["to", "amount"],
    });
    let pay = FnTool::new("pay", "Pays an amount, one payment at a time.", parameters, |given, _call| async move {
        Ok::<_, agent_loop::Error>(json!(format!("paid to {}", text(&given["to"]))))
    })?;
    Ok([price, order.with_approval(), pay.with_approval().execution_mode(ExecutionMode::Sequential)])
}

async fn show(mut run: Run, as_events: bool) -> Result<(), agent_loop::Error> {
    while let Some(event) = run.next().await {
        match &event.data {
            _ if as_events => println!("{}", event.to_json()),
            EventData::MessageUpdate(MessageUpdate::TextDelta { delta, .. }) => print!("{delta}"),
            EventData::ToolExecutionEnd { tool_name, result, .. } => println!("[{tool_name} -> {}]", result.text()),
            _ => {}
        }
    }
    let result = run.result().await?;
    if !as_events {
        println!("\n[{}]", result.outcome.as_str());
        for call in &result.pending {
            println!("{} {} {}: {}", call.tool_call_id, call.tool_name, json!(call.arguments), call.reason);
        }
    }
    Ok(())
}

/// `decided`: whether the last argument has decisions; else it is a prompt.
async fn play(model: &str, state: &Path, given: &str, decided: bool, as_events: bool) -> Result<(), Box<dyn Error>> {
    let key = std::env::var("AGENT_STATE_KEY").ok();
    let key = key.as_deref().map(str::as_bytes);
    let builder = tools()?.into_iter().fold(Agent::builder(model), |builder, tool| builder.tool(tool));
    let agent = match state.exists() {
        true => Agent::from_export(builder, &std::fs::read_to_string(state)?, key)?,
        false => builder.build()?,
    };
    let run = match decided {
        true => agent.resume().decisions(Decision::all_from_json(serde_json::from_str(given)?)?).stream()?,
        false => agent.stream(given)?,
    };
    show(run, as_events).await?;
    std::fs::write(state, agent.export(key)?)?;
    Ok(())
}

#[tokio::main]
async fn main() -> ExitCode {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let as_events = arguments.first().is_some_and(|argument| argument == "--events");
    arguments.drain(..usize::from(as_events));
    let played = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [model, state, "--decide", decisions] => play(model, Path::new(state), decisions, true, as_events).await,
        [model, state, prompt] => play(model, Path::new(state), prompt, false, as_events).await,
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match played {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
