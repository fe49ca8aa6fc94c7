//! A conversation with a tool: `calculator [--events] MODEL [BASE_URL [SECOND_MODEL]]`
//!
//! A model is `provider/id`, or a JSON object. SECOND_MODEL takes over for the second prompt. `--events` prints each event's JSON
//! instead of the transcript.

use std::io::Write;
use std::process::ExitCode;

use agent_loop::{Agent, Error, EventData, FnTool, Message, MessageUpdate, Tool};
use serde_json::{Value, json};

const USAGE: &str = "usage: calculator [--events] MODEL [BASE_URL [SECOND_MODEL]]";

/// The tool: arithmetic on two numbers.
async fn calculate(arguments: Value) -> Result<Value, String> {
    let number = |name: &str| arguments[name].as_f64().ok_or(format!("{name} is not a number"));
    let (a, b) = (number("a")?, number("b")?);
    let result = match arguments["operation"].as_str() {
        Some("add") => a + b,
        Some("subtract") => a - b,
        Some("multiply") => a * b,
        Some("divide") if b == 0.0 => return Err("division by zero".into()),
        Some("divide") => a / b,
        _ => return Err(format!("unknown operation {}", arguments["operation"])),
    };
    // 345.0 prints as 345.
    let whole = result as i64;
    Ok(if whole as f64 == result { json!({ "result": whole }) } else { json!({ "result": result }) })
}

fn calculator() -> Result<impl Tool, Error> {
    let parameters = json!({
        "type": "object",
        "properties": {
            "operation": { "type": "string", "enum": ["add", "subtract", "multiply", "divide"] },
            "a": { "type": "number" },
            "b": { "type": "number" },
        },
        "required": ["operation", "a", "b"],
    });
    FnTool::new("calculator", "Perform basic arithmetic operations.", parameters, |arguments, _call| calculate(arguments))
}

/// Runs one prompt and prints its events.
async fn ask(agent: &Agent, prompt: &str, as_events: bool) -> Result<(), Error> {
    let mut run = agent.stream(prompt)?;
    if !as_events {
        println!("User: {prompt}");
    }
    while let Some(event) = run.next().await {
        if as_events {
            println!("{}", event.to_json());
            continue;
        }
        match &event.data {
            EventData::TurnStart => println!("[turn {}]", event.turn),
            EventData::MessageUpdate(MessageUpdate::TextDelta { delta, .. }) => {
                print!("{delta}");
                std::io::stdout().flush().ok();
            }
            EventData::MessageUpdate(MessageUpdate::TextEnd { .. }) => println!(),
            EventData::ToolExecutionStart { tool_name, arguments, .. } => {
                println!("[calling {tool_name} {}]", Value::Object((**arguments).clone()));
            }
            EventData::MessageEnd { message } => {
                if let Message::ToolResult(result) = &**message {
                    println!("[{} -> {}]", result.tool_name, message.text());
                }
            }
            EventData::AgentEnd { outcome, .. } => println!("[{}]", outcome.as_str()),
            _ => {}
        }
    }
    run.result().await.map(drop)
}

async fn converse(as_events: bool, model: &str, rest: &[String]) -> Result<(), Error> {
    let mut agent = Agent::builder(model).tool(calculator()?);
    if let Some(url) = rest.first() {
        agent = agent.base_url(url).temperature(0.0);
    }
    let agent = agent.build()?;
    ask(&agent, "What is 15 multiplied by 23?", as_events).await?;
    if let Some(model) = rest.get(1) {
        agent.set_model(model)?;
    }
    ask(&agent, "Now divide that by 5", as_events).await?;
    if !as_events {
        let roles: Vec<_> = agent.messages().iter().map(|message| message.role().to_owned()).collect();
        println!("Conversation: {}", roles.join(", "));
    }
    Ok(())
}

#[tokio::main]
async fn main() -> ExitCode {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let as_events = arguments.first().is_some_and(|first| first == "--events");
    if as_events {
        arguments.remove(0);
    }
    let (model, rest) = match arguments.as_slice() {
        [help, ..] if help == "--help" => {
            println!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        [model, rest @ ..] if !model.starts_with('-') => (model, rest),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match converse(as_events, model, rest).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
