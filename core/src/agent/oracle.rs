//! What answers the built-in tool `oracle`: an agent without tools, which has this one's models and keys.

use std::sync::Arc;

use agent_loop_proto::hook::HookKind;

use super::handle::Agent;
use super::models::Models;
use crate::builtin::Oracle;
use crate::error::Error;
use crate::hook::Hooks;
use crate::model::source::Source;
use crate::provider::ModelSpec;
use crate::tool::subagent_events::SubagentEvents;

/// Its system prompt.
const PROMPT: &str = "You are asked by another model, which works on something and wants your opinion. Think it through. Answer \
    with what it shall do or what is the case, then why, in few words. Say what you are not sure of, and what you would need to \
    know.";

/// The hooks of requests: they have the keys, and see what is sent. The others are about the run of the call.
const KEPT_HOOKS: [HookKind; 4] = [HookKind::GetApiKey, HookKind::OnPayload, HookKind::OnResponse, HookKind::OnError];

/// That of an agent's run.
pub(super) fn of(agent: &Agent) -> Oracle {
    let agent = agent.clone();
    Oracle(Box::new(move |asked| {
        let oracle = like(&agent, asked.model.as_ref());
        Box::pin(async move {
            let run = oracle?.prompt(asked.question).within_showing(&asked.context, SubagentEvents::All).start()?;
            Ok(run.ended().await?.to_tool_result())
        })
    }))
}

/// An agent with this one's models, or that one in their place.
fn like(agent: &Agent, model: Option<&ModelSpec>) -> Result<Agent, Error> {
    let oracle = agent.fork(Arc::default())?;
    let mut state = oracle.change();
    if let Some(model) = model {
        state.models.ask(Source::Spec(Box::new(model.clone())));
    }
    state.models.connection.builtin_tools = Arc::default();
    #[cfg(feature = "mcp")]
    {
        state.models.connection.mcp = Arc::default();
    }
    let before = std::mem::take(&mut state.settings);
    let settings = &mut state.settings;
    (settings.system_prompt, settings.thinking_level) = (PROMPT.to_owned(), before.thinking_level);
    (settings.limits, settings.retry) = (before.limits, before.retry);
    let mut hooks = Hooks::clone(&state.all_hooks());
    for kind in HookKind::ALL.iter().filter(|kind| !KEPT_HOOKS.contains(kind)) {
        hooks.remove(*kind);
    }
    let all_hooks = std::mem::replace(&mut state.hooks, Arc::new(hooks));
    let plugins = std::mem::take(&mut state.plugins);
    let forgotten =
        (std::mem::take(&mut state.tools), std::mem::take(&mut state.middleware), state.specs.take(), plugins, all_hooks);
    drop(state);
    // Not under the lock: they are the host's.
    drop(forgotten);
    Ok(oracle)
}

impl Models {
    /// Has another model answer in place of all of these, at their address if it is served there.
    fn ask(&mut self, other: Source) {
        self.base_url = self.address_for(&other).map(str::to_owned);
        self.fallbacks.clear();
        self.set_primary(other);
    }
}
