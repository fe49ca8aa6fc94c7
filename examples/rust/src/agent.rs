//! A complete agent, with flags, a chat and sessions: `cargo run --bin calculator_agent -- --help`.

use std::process::ExitCode;

use agent_loop::FnTool;
use agent_loop_program::{AgentSpec, agent_main};
use schemars::JsonSchema;
use serde::Deserialize;

/// The arguments of the tool.
#[derive(Deserialize, JsonSchema)]
struct Calculation {
    operation: String,
    a: f64,
    b: f64,
}

fn main() -> ExitCode {
    let calculator = FnTool::typed("calculator", "Calculates.", |given: Calculation, _| async move {
        match given.operation.as_str() {
            "add" => Ok(given.a + given.b),
            "multiply" => Ok(given.a * given.b),
            other => Err(format!("there is no operation {other}")),
        }
    });
    let calculator = calculator.expect("its arguments are an object");
    agent_main(AgentSpec::new("calculator").system_prompt("Calculate with the tool.").tool(calculator))
}
