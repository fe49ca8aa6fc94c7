//! The agent my-agent: its prompt and its tools. `cargo run -- --help` shows what else it can do.

use std::process::ExitCode;

use agent_loop::FnTool;
use agent_loop_program::{AgentSpec, agent_main};
use serde_json::json;

fn main() -> ExitCode {
    let parameters = json!({ "type": "object", "properties": { "text": { "type": "string" } }, "required": ["text"] });
    let word_count = FnTool::new("word_count", "Counts the words of a text.", parameters, |arguments, _| async move {
        let words = arguments["text"].as_str().unwrap_or_default().split_whitespace().count();
        Ok::<_, String>(json!(words))
    });
    let spec = AgentSpec::new("my-agent")
        .description("Answers questions about texts.")
        .system_prompt("You answer questions about texts. Count with your tool.")
        .tool(word_count.expect("its name and its parameters fit"));
    agent_main(spec)
}
