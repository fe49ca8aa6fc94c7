//! The program `agent`: all it does is in `agent_loop_program`.

use std::process::ExitCode;

use agent_loop_program::{AgentSpec, agent_main};

fn main() -> ExitCode {
    agent_main(AgentSpec::agent().plugin_loader(agent_loop_plugins::add))
}
