//! Agents as programs: the command line, on a thread of its own.

use std::sync::Arc;

use agent_loop_program::{AgentSpec, agent_main_on_thread};
use napi_derive::napi;

use crate::agent::Agent;
use crate::bridge::{Bridge, Link};
use crate::error::Result;
use crate::store::settle;

/// What an agent is, for its program.
#[napi]
pub struct ProgramSpec {
    spec: AgentSpec,
    link: Arc<Link>,
}

#[napi]
impl ProgramSpec {
    /// That of the program `agent`.
    #[napi(factory, catch_unwind)]
    pub fn agent(bridge: &Bridge) -> ProgramSpec {
        ProgramSpec { spec: AgentSpec::agent().plugin_loader(agent_loop_plugins::add), link: Arc::clone(&bridge.link) }
    }

    /// That of an agent. Without `has_model`, its model stands for none.
    #[napi(factory, catch_unwind)]
    pub fn of(bridge: &Bridge, agent: &Agent, has_model: bool, name: String, description: String) -> ProgramSpec {
        let spec = AgentSpec::new(name).description(description).like(&agent.agent);
        let spec = spec.plugin_loader(agent_loop_plugins::add);
        let spec = if has_model { spec } else { spec.without_model() };
        ProgramSpec { spec, link: Arc::clone(&bridge.link) }
    }

    /// Sets what `--version` prints.
    #[napi(catch_unwind)]
    pub fn set_version(&mut self, version: String) {
        self.spec = self.spec.clone().version(version);
    }

    /// Adds an agent that the model may call.
    #[napi(catch_unwind)]
    pub fn add(&mut self, subagent: &ProgramSpec) {
        self.spec = self.spec.clone().subagent(subagent.spec.clone());
    }

    /// Runs the program with this command line, of which the first part is its name, then settles the ticket with the exit code.
    #[napi(catch_unwind)]
    pub fn run(&self, arguments: Vec<String>, ticket: u32) -> Result<()> {
        let spec = self.spec.clone();
        settle(&self.link, ticket, async move {
            let code = agent_main_on_thread(spec, arguments.into_iter().map(Into::into)).await?;
            Ok(code.to_string())
        })
    }
}
