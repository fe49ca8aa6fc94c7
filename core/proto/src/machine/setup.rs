//! What the turns run with: the latest configuration, this turn's, and what a hook has changed for the rest of the run.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::config::{Config, Tools};
use crate::error::Error;
use crate::hook::TurnChange;
use crate::model_entry::ModelEntry;
use crate::request::ThinkingLevel;
use crate::run_options::RunOptions;

/// The configuration of a run.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Setup {
    /// For the next turn.
    latest: Arc<Config>,
    /// This turn's.
    current: Arc<Config>,
    changes: Changes,
    /// Options of the run, in place of those of each configuration.
    #[serde(default)]
    options: RunOptions,
    /// After a handoff: the configuration before it, of which some is the run's and not the agent's.
    #[serde(default)]
    of_run: Option<Arc<Config>>,
}

/// What a hook changes: `prepare_request` of one turn, `prepare_next_turn` of the rest of the run.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Changes {
    system_prompt: Option<String>,
    tools: Option<Vec<String>>,
    model: Option<ModelEntry>,
    thinking_level: Option<ThinkingLevel>,
}

impl Setup {
    pub(super) fn new(mut config: Config, options: RunOptions) -> Setup {
        options.apply(&mut config.settings);
        let config = Arc::new(config);
        Setup { latest: Arc::clone(&config), current: config, changes: Changes::default(), options, of_run: None }
    }

    pub(super) fn configure(&mut self, mut config: Arc<Config>) {
        if let Some(of_run) = &self.of_run {
            keep_of_run(Arc::make_mut(&mut config), of_run);
        }
        if !self.options.is_empty() {
            self.options.apply(&mut Arc::make_mut(&mut config).settings);
        }
        self.latest = config;
    }

    /// Another agent goes on: what a hook has changed for the rest of the run was for the agent before.
    pub(super) fn hand_off(&mut self, config: Arc<Config>) {
        self.of_run.get_or_insert_with(|| Arc::clone(&self.latest));
        // Those options of the run that stay are in its configuration; the others were of the agent before, too.
        (self.changes, self.options) = (Changes::default(), RunOptions::default());
        self.configure(config);
    }

    /// This configuration of another agent, as the run would have it.
    pub(super) fn after_hand_off(&self, config: &Config) -> Config {
        let mut config = config.clone();
        keep_of_run(&mut config, self.of_run.as_ref().unwrap_or(&self.latest));
        config
    }

    pub(super) fn latest(&self) -> &Arc<Config> {
        &self.latest
    }

    /// This turn's configuration.
    pub(super) fn current(&self) -> &Arc<Config> {
        &self.current
    }

    /// From now on the turn is the next one: it runs with the latest configuration and what a hook has changed.
    pub(super) fn begin_turn(&mut self) {
        self.current = Arc::clone(&self.latest);
        self.changes.apply(&mut self.current, &self.latest.tools);
    }

    /// Changes this turn, but for its messages.
    pub(super) fn change_turn(&mut self, change: TurnChange, model: Option<ModelEntry>) -> Result<(), String> {
        Changes::new(change, model, &self.latest.tools)?.apply(&mut self.current, &self.latest.tools);
        Ok(())
    }

    /// Takes in a hook's change for the rest of the run, but for its messages.
    pub(super) fn change(&mut self, change: TurnChange, model: Option<ModelEntry>) -> Result<(), String> {
        let Changes { system_prompt, tools, model, thinking_level } = Changes::new(change, model, &self.latest.tools)?;
        let changes = &mut self.changes;
        changes.model = model.or(changes.model.take());
        changes.system_prompt = system_prompt.or(changes.system_prompt.take());
        changes.tools = tools.or(changes.tools.take());
        changes.thinking_level = thinking_level.or(changes.thinking_level);
        Ok(())
    }

    /// Another model for the rest of the turn.
    pub(super) fn set_model(&mut self, model: Result<ModelEntry, Error>) {
        Arc::make_mut(&mut self.current).model = model;
    }
}

impl Changes {
    /// What a hook has answered, without the messages. `known` are the agent's tools.
    fn new(change: TurnChange, model: Option<ModelEntry>, known: &Tools) -> Result<Changes, String> {
        let TurnChange { system_prompt, messages: _, tools, model: _, thinking_level } = change;
        if let Some(name) = tools.iter().flatten().find(|name| known.get(name).is_none()) {
            return Err(format!("context: tools: there is no tool named {name:?}; the tools are: {}", known.names()));
        }
        Ok(Changes { system_prompt, tools, model, thinking_level })
    }

    /// Changes a turn's configuration.
    fn apply(&self, config: &mut Arc<Config>, known: &Tools) {
        let Changes { system_prompt, tools, model, thinking_level } = self;
        if system_prompt.is_none() && tools.is_none() && model.is_none() && thinking_level.is_none() {
            return;
        }
        let config = Arc::make_mut(config);
        if let Some(text) = system_prompt {
            config.settings.system_prompt.clone_from(text);
        }
        if let Some(names) = tools {
            config.tools = known.only(names);
        }
        if let Some(model) = model {
            config.model = Ok(model.clone());
        }
        if let Some(level) = thinking_level {
            config.settings.thinking_level = *level;
        }
    }
}

/// What a run keeps when another agent goes on with it: its limits, its typed answer, and what it is.
fn keep_of_run(config: &mut Config, of_run: &Config) {
    let (settings, kept) = (&mut config.settings, &of_run.settings);
    (settings.max_turns, settings.max_repeated_calls) = (kept.max_turns, kept.max_repeated_calls);
    (settings.budget, settings.max_subagent_depth) = (kept.budget, kept.max_subagent_depth);
    (settings.output, settings.output_retries) = (kept.output.clone(), kept.output_retries);
    settings.origin.clone_from(&kept.origin);
    (config.is_stateless, config.journals, config.has_jitter) = (of_run.is_stateless, of_run.journals, of_run.has_jitter);
}
