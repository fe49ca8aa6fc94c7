//! An agent's state, as it is behind its lock.

use std::sync::Arc;

use agent_loop_proto::conversation::Conversation;
use agent_loop_proto::machine::{Config, Tools};

use super::host_side::HostSide;
use super::models::Models;
use super::plugin_parts::PluginParts;
use super::session::AgentSession;
use crate::clock::Clock;
use crate::error::Error;
use crate::hook::Hooks;
use crate::model::Model;
use crate::model::source::Source;
use crate::model::table::{ResolvedModel, add_model};
use crate::run::shared::SharedRun;
use crate::runtime::Runtime;
use crate::tool::ToolSet;
use crate::tool::middleware::Middleware;
use crate::trace::run_trace::Suspended;
use agent_loop_proto::settings::Settings;

pub(super) struct State {
    pub(super) runtime: Option<Runtime>,
    pub(super) models: Models,
    pub(super) settings: Settings,
    pub(super) tools: ToolSet,
    /// The specs of `tools`, made when first needed after they changed.
    pub(super) specs: Option<Tools>,
    /// `tools` and those of MCP servers, as long as the version of what these offer is the same.
    #[cfg(feature = "mcp")]
    pub(super) with_servers: Option<(u64, ToolSet)>,
    pub(super) hooks: Arc<Hooks>,
    pub(super) middleware: Arc<Vec<Middleware>>,
    /// What plugins have added beside these.
    pub(super) plugins: PluginParts,
    pub(super) conversation: Conversation<SharedRun>,
    pub(super) session: AgentSession,
    /// The span that the next run goes on with.
    pub(super) suspended: Suspended,
}

impl State {
    /// An agent that has nothing but its models.
    pub(super) fn new(models: Models) -> State {
        State {
            runtime: None,
            models,
            settings: Settings::default(),
            tools: ToolSet::default(),
            specs: None,
            #[cfg(feature = "mcp")]
            with_servers: None,
            hooks: Arc::default(),
            middleware: Arc::default(),
            plugins: PluginParts::default(),
            conversation: Conversation::default(),
            session: AgentSession::default(),
            suspended: Suspended::default(),
        }
    }

    /// Another agent of the same configuration, without a conversation. What was made for the models is shared.
    pub(super) fn fork(&self) -> State {
        State {
            runtime: self.runtime.clone(),
            settings: self.settings.clone(),
            tools: self.tools.clone(),
            specs: self.specs.clone(),
            hooks: Arc::clone(&self.hooks),
            middleware: Arc::clone(&self.middleware),
            plugins: self.plugins.clone(),
            ..State::new(self.models.clone())
        }
    }

    /// What a loop runs with from its next turn on, and the host's side of it. Models get their keys in the table.
    pub(super) fn configuration(
        &mut self,
        revision: u64,
        is_stateless: bool,
        clock: &Clock,
        table: &mut Vec<ResolvedModel>,
    ) -> (Config, HostSide) {
        let all_tools = self.all_tools();
        let (hooks, middleware) = (self.all_hooks(), self.plugins.middleware_with(&self.middleware));
        let State { runtime, models, specs, .. } = self;
        let primary = models.resolve_primary(runtime.as_ref()).map(|model| add_model(table, model));
        let fallbacks = models.resolve_fallbacks(runtime.as_ref()).into_iter();
        let fallbacks = fallbacks.map(|(name, model)| (name, model.map(|model| add_model(table, model)))).collect();
        let summary_model = self.settings.context.as_ref().and_then(|policy| policy.summary_model.clone());
        let summarizer = summary_model.map(|name| {
            let model = models.resolve_summarizer(&name, runtime.as_ref());
            (name, model.map(|model| add_model(table, model)))
        });
        let tools = specs.get_or_insert_with(|| all_tools.specs().into()).clone();
        let mut config = Config::new(models.name(), primary);
        config.settings = self.settings.clone();
        config.fallbacks = fallbacks;
        config.summarizer = summarizer;
        config.tools = tools;
        config.hooks = hooks.kinds();
        config.is_stateless = is_stateless;
        config.has_jitter = !clock.is_simulated();
        let host = HostSide {
            revision,
            tools: all_tools,
            hooks,
            middleware,
            api_key: self.models.api_key.clone(),
            keys_for: self.models.keys_for.clone(),
            connection: self.models.connection.clone(),
            connect_timeout_ms: self.settings.limits.connect_timeout_ms,
        };
        (config, host)
    }

    /// The agent's own tools, the built-in ones, and those of its MCP servers.
    #[cfg(feature = "mcp")]
    pub(super) fn all_tools(&mut self) -> ToolSet {
        let servers = &self.models.connection.mcp;
        if servers.is_empty() {
            self.with_servers = None;
            return self.tools_here();
        }
        // Before the tools: a change that comes in between is noticed by the next turn.
        let version = servers.version();
        match &self.with_servers {
            Some((known, tools)) if *known == version && self.specs.is_some() => tools.clone(),
            _ => {
                self.specs = None;
                let tools = servers.with_tools_of(&self.tools_here());
                self.with_servers = Some((version, tools.clone()));
                tools
            }
        }
    }

    #[cfg(not(feature = "mcp"))]
    pub(super) fn all_tools(&mut self) -> ToolSet {
        self.tools_here()
    }

    /// The agent's own hooks, and those of plugins.
    pub(super) fn all_hooks(&self) -> Arc<Hooks> {
        self.plugins.hooks_with(&self.hooks)
    }

    /// The agent's own tools, those of plugins, and the built-in ones.
    pub(super) fn tools_here(&self) -> ToolSet {
        self.models.connection.builtin_tools.with_own(&self.plugins.tools_with(&self.tools))
    }

    /// Where runs live: the tokio runtime of the caller, if none was set.
    pub(super) fn runtime_here(&mut self) -> Result<Runtime, Error> {
        let runtime = match &self.runtime {
            Some(runtime) => runtime.clone(),
            None => self.runtime.insert(Runtime::current()?).clone(),
        };
        #[cfg(feature = "mcp")]
        if let Some(servers) = self.models.connection.mcp.shared_in(runtime.servers()) {
            (self.models.connection.mcp, self.specs) = (Arc::new(servers), None);
        }
        Ok(runtime)
    }

    /// The primary model, after all were resolved.
    ///
    /// # Errors
    /// As [`Models::resolve_all`].
    pub(super) fn resolve_all(&mut self) -> Result<Arc<dyn Model>, Error> {
        self.models.resolve_all(self.runtime.as_ref())
    }

    /// A model that a hook names.
    pub(super) fn resolve_other(&self, other: &Source) -> Result<ResolvedModel, Error> {
        self.models.resolve_other(other, self.runtime.as_ref())
    }
}
