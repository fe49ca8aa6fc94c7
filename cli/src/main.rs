//! The program `agent`: an agent that is nothing but what its flags say. All it does is in `agent_loop_program`.

use std::process::ExitCode;

use agent_loop_program::{AgentSpec, agent_main};

fn main() -> ExitCode {
    agent_main(AgentSpec::new("agent").description("Runs LLM agents: asks a model, lets it use tools, and shows what happens."))
}
