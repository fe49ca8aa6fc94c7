//! Calls that wait for approval, from one process to the next:
//!
//! ```text
//! approvals [--events] [--store] MODEL STATE PROMPT
//! approvals [--events] [--store] MODEL STATE --decide DECISIONS
//! ```
//!
//! STATE is a file with the conversation, which the programs of all languages read and write; with the variable
//! AGENT_STATE_KEY it is signed. With `--store`, STATE is a store, such as `agents.db`, which has it in the session
//! `approvals`. DECISIONS is JSON, such as `{"call_1": "approve"}`. `--events` prints each event's JSON instead of the
//! transcript.

use std::error::Error;
use std::path::Path;
use std::process::ExitCode;

use agent_loop::session::Store;
use agent_loop::suspension::Decision;
use agent_loop::tool::ExecutionMode;
use agent_loop::{Agent, AgentBuilder, EventData, FnTool, MessageUpdate, Run};
use serde_json::{Value, json};

const USAGE: &str = "usage: approvals [--events] [--store] MODEL STATE (PROMPT | --decide DECISIONS)";

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

fn builder(model: &str) -> Result<AgentBuilder, agent_loop::Error> {
    Ok(tools()?.into_iter().fold(Agent::builder(model), |builder, tool| builder.tool(tool)))
}

/// What a program was called with.
struct Given<'a> {
    model: &'a str,
    state: &'a str,
    /// A prompt, or with `decides` decisions.
    input: &'a str,
    decides: bool,
    as_events: bool,
}

async fn play(agent: &Agent, given: &Given<'_>) -> Result<(), Box<dyn Error>> {
    let run = match given.decides {
        true => agent.resume().decisions(Decision::all_from_json(serde_json::from_str(given.input)?)?).stream()?,
        false => agent.stream(given.input)?,
    };
    Ok(show(run, given.as_events).await?)
}

async fn play_in_store(given: &Given<'_>) -> Result<(), Box<dyn Error>> {
    let session = Store::open(given.state)?.session("approvals")?.open().await?;
    let agent = builder(given.model)?.session(session.clone()).build()?;
    let played = play(&agent, given).await;
    session.close().await?;
    played
}

async fn play_in_file(given: &Given<'_>) -> Result<(), Box<dyn Error>> {
    let (state, key) = (Path::new(given.state), std::env::var("AGENT_STATE_KEY").ok());
    let key = key.as_deref().map(str::as_bytes);
    let agent = match state.exists() {
        true => Agent::from_export(builder(given.model)?, &std::fs::read_to_string(state)?, key)?,
        false => builder(given.model)?.build()?,
    };
    play(&agent, given).await?;
    std::fs::write(state, agent.export(key)?)?;
    Ok(())
}

#[tokio::main]
async fn main() -> ExitCode {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut has = |flag| {
        let is_there = arguments.first().is_some_and(|argument| argument == flag);
        arguments.drain(..usize::from(is_there));
        is_there
    };
    let (as_events, in_store) = (has("--events"), has("--store"));
    let given = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [model, state, "--decide", input] => Given { model, state, input, decides: true, as_events },
        [model, state, input] => Given { model, state, input, decides: false, as_events },
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    let played = if in_store { play_in_store(&given).await } else { play_in_file(&given).await };
    match played {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
