//! Adding what a plugin has registered.

use std::sync::Arc;

use super::handle::Agent;
use super::plugin_parts::{PluginParts, taken_hook};
use crate::error::{Error, ErrorKind};
use crate::hook::HookKind;

impl Agent {
    /// Adds the tools, hooks, middleware and named providers of another agent, which a plugin was given to register them with:
    /// all of them, or on an error none. They stay when the agent's own tools are replaced, and agents that are made of this one
    /// have them, too.
    ///
    /// # Errors
    /// `invalid_argument` for a tool of a name that is taken; `invalid_state` for a hook or a provider that the agent has.
    pub fn add_parts_of(&self, registered: &Agent) -> Result<(), Error> {
        let (more, providers) = {
            let made = registered.state();
            let (tools, hooks, middleware) = (made.tools.clone(), Arc::clone(&made.hooks), Arc::clone(&made.middleware));
            (PluginParts { tools, hooks, middleware }, made.models.providers.clone())
        };
        let mut state = self.change();
        if let Some(kind) =
            HookKind::ALL.iter().copied().find(|kind| more.hooks.get(*kind).is_some() && state.hooks.get(*kind).is_some())
        {
            return Err(taken_hook(kind, "the agent"));
        }
        // Its own tools, too, have their names.
        let mut taken = state.tools.clone();
        more.tools.iter().try_for_each(|tool| taken.add(Arc::clone(tool)))?;
        let is_taken = |name: &&String| state.models.providers.contains_key(*name) || state.models.of_plugins.contains_key(*name);
        if let Some(name) = providers.keys().find(is_taken) {
            let text = format!("it has the provider {name:?}, of which name the agent has one already");
            return Err(Error::new(ErrorKind::InvalidState, text));
        }
        state.plugins = state.plugins.with(more)?;
        state.models.add_of_plugin(providers);
        state.specs = None;
        Ok(())
    }
}
