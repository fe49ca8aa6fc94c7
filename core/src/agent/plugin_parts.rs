//! What plugins have added to an agent: beside what it was given itself, so that replacing its tools does not take theirs away.

use std::collections::BTreeMap;
use std::sync::Arc;

#[cfg(feature = "__bindings")]
use crate::error::{Error, ErrorKind};
use crate::hook::{HookKind, Hooks};
use crate::model::custom::ProviderFn;
use crate::tool::ToolSet;
use crate::tool::middleware::Middleware;

/// Tools, hooks and middleware of plugins. Their providers are among the models.
#[derive(Clone, Default)]
pub(super) struct PluginParts {
    pub(super) tools: ToolSet,
    pub(super) hooks: Arc<Hooks>,
    pub(super) middleware: Arc<Vec<Middleware>>,
}

impl PluginParts {
    /// These and those of one more plugin.
    ///
    /// # Errors
    /// `invalid_argument` for a tool of a name that is taken; `invalid_state` for a hook that another plugin has.
    #[cfg(feature = "__bindings")]
    pub(super) fn with(&self, more: PluginParts) -> Result<PluginParts, Error> {
        let mut all = self.clone();
        more.tools.iter().try_for_each(|tool| all.tools.add(Arc::clone(tool)))?;
        for kind in HookKind::ALL.iter().copied() {
            let Some(hook) = more.hooks.of(kind) else { continue };
            if all.hooks.kinds().has(kind) {
                return Err(taken_hook(kind, "another plugin"));
            }
            Arc::make_mut(&mut all.hooks).set(hook);
        }
        Arc::make_mut(&mut all.middleware).extend(more.middleware.iter().cloned());
        Ok(all)
    }

    /// The agent's own tools, and those of these whose names they do not have.
    pub(super) fn tools_with(&self, own: &ToolSet) -> ToolSet {
        let mut all = own.clone();
        for tool in self.tools.iter() {
            // One that the agent was given later takes the place of a plugin's.
            let _ = all.add(Arc::clone(tool));
        }
        all
    }

    /// The agent's own hooks, and those of these that it does not have.
    pub(super) fn hooks_with(&self, own: &Arc<Hooks>) -> Arc<Hooks> {
        let mut all = Arc::clone(own);
        for kind in HookKind::ALL.iter().copied() {
            if let (None, Some(hook)) = (own.get(kind), self.hooks.of(kind)) {
                Arc::make_mut(&mut all).set(hook);
            }
        }
        all
    }

    /// The agent's own middleware, and inside of it that of these.
    pub(super) fn middleware_with(&self, own: &Arc<Vec<Middleware>>) -> Arc<Vec<Middleware>> {
        if self.middleware.is_empty() {
            return Arc::clone(own);
        }
        Arc::new(own.iter().chain(self.middleware.iter()).cloned().collect())
    }
}

/// The error of a plugin's hook that the agent has already: which of both was to run is not ours to guess.
#[cfg(feature = "__bindings")]
pub(super) fn taken_hook(kind: HookKind, whose: &str) -> Error {
    let text = format!("it has the hook {}, which {whose} has set already; an agent has one of each kind", kind.as_str());
    Error::new(ErrorKind::InvalidState, text)
}

/// The providers of plugins, by their names.
pub(super) type PluginProviders = BTreeMap<String, ProviderFn>;
