//! Agents that make one call, of a tool that is called from elsewhere: by a client of MCP.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::handle::Agent;
use crate::did_you_mean::Spelling;
use crate::error::Error;
use crate::model::ModelCall;
use crate::runtime::Runtime;
use agent_loop_proto::hook::HookKind;
use agent_loop_proto::table::hooks::Effect;

/// The provider of the model that makes the call.
const CALLER: &str = "served";

impl Agent {
    /// The runtime of its runs.
    ///
    /// # Errors
    /// `invalid_state` without one.
    pub(crate) fn runtime_here(&self) -> Result<Runtime, Error> {
        self.state().runtime_here()
    }

    /// Another agent with these tools, and all that stands around their calls. Its model makes this one call in place of an
    /// answer, and its run ends with the turn.
    ///
    /// # Errors
    /// As [`Agent::fork`].
    pub(crate) fn for_one_call(&self, name: &str, arguments: Map<String, Value>) -> Result<Agent, Error> {
        let agent = self.fork(Arc::default())?;
        let options = json!({
            "max_turns": 1, "output": null, "context": null, "fallbacks": [], "mcp": null, "limiter": null, "record": null,
            "replay": null, "tool_choice": null, "extra_body": null, "hosted_tools": null,
        });
        let stays = |kind: &HookKind| kind.effect() == Effect::Call || kind.effect().is_of_servers();
        for kind in HookKind::ALL.iter().copied().filter(|kind| !stays(kind)) {
            agent.remove_hook(kind);
        }
        let call = json!({ "tool_call": { "id": "call", "name": name, "arguments": arguments } });
        let provider = move |model_call: ModelCall| match model_call.push(&call) {
            Ok(()) => model_call.finish(),
            Err(error) => model_call.fail(error),
        };
        agent.set_custom_provider(CALLER, Some(Arc::new(provider)))?;
        agent.set_model(format!("{CALLER}/call").as_str())?;
        agent.set_options(options.as_object().unwrap_or(&Map::new()), Spelling::Snake, &[])?;
        Ok(agent)
    }
}
