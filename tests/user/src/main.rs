//! An agent with a tool: what features cost is measured on this program.

#[cfg(feature = "schema")]
mod typed;
mod values;

use agent_loop::{Agent, EventData, FnTool, MessageUpdate};
use serde_json::json;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let model = std::env::args().nth(1).unwrap_or_else(|| "anthropic/claude-sonnet-4-5".to_owned());
    #[cfg(feature = "schema")]
    typed::agent(model.clone())?;
    let parameters = json!({ "type": "object", "properties": { "n": { "type": "number" } }, "required": ["n"] });
    let double = FnTool::new("double", "Doubles a number.", parameters, |arguments, _call| async move {
        let n = arguments["n"].as_f64().ok_or("n is not a number")?;
        Ok::<_, &str>(json!({ "result": n * 2.0 }))
    })?;
    let agent = Agent::builder(model).tool(double).build()?;
    let mut run = agent.stream("What is 21 doubled?")?;
    while let Some(event) = run.next().await {
        if let EventData::MessageUpdate(MessageUpdate::TextDelta { delta, .. }) = &event.data {
            print!("{delta}");
        }
    }
    println!("\n{:?}", run.result().await?.usage);
    Ok(())
}
