//! What an agent is set to: plain setters for changes later on, which take effect at a run's next turn; the transcript, which can
//! be changed between runs; and options by name for hosts of other languages.

use std::sync::{Arc, MutexGuard};

use agent_loop_proto::model_spec::check_headers;
use agent_loop_proto::table::options::{self, Type};
use serde_json::{Map, Value};

use super::handle::{Agent, busy};
use super::state::{Fallback, Source, State};
use crate::did_you_mean::Spelling;
use crate::error::Error;
use crate::hook::{HookKind, Hooks, JsonHook};
use crate::message::Message;
use crate::model::ThinkingLevel;
use crate::model::custom::ProviderFn;
use crate::provider::ModelSpec;
use crate::settings;
use crate::tool::middleware::Middleware;
use crate::tool::{Tool, ToolSet};
use crate::transport::network::Network;

impl Agent {
    /// Adds a tool.
    ///
    /// # Errors
    /// `invalid_argument` when there is one of that name.
    pub fn add_tool(&self, tool: Arc<dyn Tool>) -> Result<(), Error> {
        let mut state = self.change();
        state.specs = None;
        state.tools.add(tool)
    }

    /// Takes a tool out; says whether there was one.
    pub fn remove_tool(&self, name: &str) -> bool {
        let removed = {
            let mut state = self.change();
            state.specs = None;
            state.tools.remove(name)
        };
        // Dropped only now: what a tool owns may call this agent when it goes.
        removed.is_some()
    }

    /// Replaces all tools.
    pub fn set_tools(&self, tools: ToolSet) {
        let before = {
            let mut state = self.change();
            state.specs = None;
            std::mem::replace(&mut state.tools, tools)
        };
        // Not under the lock: what a tool owns may call this agent when it goes.
        drop(before);
    }

    /// Adds a link to the chain around tool execution, inside of those added before.
    pub fn add_middleware(&self, link: Middleware) {
        Arc::make_mut(&mut self.change().middleware).push(link);
    }

    /// Sets or, with `None`, takes out a hook of a host of another language.
    pub fn set_json_hook(&self, kind: HookKind, hook: Option<JsonHook>) {
        self.change_hooks(|hooks| hooks.set_json(kind, hook));
    }

    pub(crate) fn change_hooks(&self, change: impl FnOnce(&mut Hooks)) {
        let before = {
            let mut state = self.change();
            let before = Arc::clone(&state.hooks);
            change(Arc::make_mut(&mut state.hooks));
            before
        };
        // Not under the lock: what a hook owns may call this agent when it goes.
        drop(before);
    }

    /// Sets a custom provider, or removes it with `None`. It answers for any model's name.
    pub fn set_provider(&self, provider: Option<ProviderFn>) {
        let before = {
            let mut state = self.change();
            if matches!(state.model, Source::Spec(_)) {
                state.resolved = None;
            }
            state.forget_fallbacks();
            std::mem::replace(&mut state.provider, provider)
        };
        drop(before);
    }

    /// Replaces how much thinking is asked for.
    pub fn set_thinking_level(&self, level: ThinkingLevel) {
        self.change().settings.thinking_level = level;
    }

    /// Appends a message to the transcript.
    ///
    /// # Errors
    /// `busy` during a run.
    pub fn append_message(&self, message: Message) -> Result<(), Error> {
        self.append_messages(vec![message])
    }

    /// Appends messages to the transcript.
    ///
    /// # Errors
    /// `busy` during a run.
    pub fn append_messages(&self, messages: Vec<Message>) -> Result<(), Error> {
        let mut state = self.idle_state("the transcript cannot be changed")?;
        Arc::make_mut(&mut state.messages).extend(messages.into_iter().map(Arc::new));
        Ok(())
    }

    /// Replaces the transcript.
    ///
    /// # Errors
    /// `busy` during a run.
    pub fn replace_messages(&self, messages: Vec<Message>) -> Result<(), Error> {
        let messages = Arc::new(messages.into_iter().map(Arc::new).collect());
        self.idle_state("the transcript cannot be replaced")?.set_messages(messages);
        Ok(())
    }

    /// Empties the transcript.
    ///
    /// # Errors
    /// `busy` during a run.
    pub fn clear_messages(&self) -> Result<(), Error> {
        self.replace_messages(Vec::new())
    }

    /// Empties the transcript and both queues, and forgets the last error.
    ///
    /// # Errors
    /// `busy` during a run.
    pub fn reset(&self) -> Result<(), Error> {
        let mut state = self.idle_state("it cannot be reset")?;
        let queues = std::mem::take(&mut state.queues);
        state.set_messages(Arc::default());
        state.error = None;
        drop(state);
        drop(queues);
        Ok(())
    }

    fn idle_state(&self, what: &str) -> Result<MutexGuard<'_, State>, Error> {
        let state = self.state();
        if state.active.is_some() { Err(busy(what)) } else { Ok(state) }
    }

    /// Replaces the system prompt.
    pub fn set_system_prompt(&self, text: &str) {
        text.clone_into(&mut self.change().settings.system_prompt);
    }

    /// Replaces the model. A key and headers that were given for another provider are not for it, unless the agent has an
    /// address.
    ///
    /// # Errors
    /// `invalid_argument` for a model that cannot be used, or with which a fallback cannot; nothing changes then.
    pub fn set_model(&self, spec: ModelSpec) -> Result<(), Error> {
        self.change().change_models(true, |state| state.take_model(spec))
    }

    /// Replaces the address; `None` for the provider's own.
    ///
    /// # Errors
    /// `invalid_argument` for an address that cannot be used, or without which the model cannot; nothing changes then.
    pub fn set_base_url(&self, url: Option<&str>) -> Result<(), Error> {
        self.change().change_models(true, |state| state.take_base_url(url.map(str::to_owned)))
    }

    /// Replaces the models that are tried, in this order, when the model fails before it said anything and no retry is left. One
    /// of the same provider has the agent's address and key, another one its own; the transcript is made to fit it, and the hooks
    /// of a request run again. The next turn begins with the agent's own model.
    ///
    /// # Errors
    /// `invalid_argument` when one of them cannot be used; nothing changes then.
    pub fn set_fallbacks(&self, specs: Vec<ModelSpec>) -> Result<(), Error> {
        self.change().change_models(false, |state| state.fallbacks = Fallback::all(specs))
    }

    /// Replaces the key; `None` for the provider's environment variable.
    pub fn set_api_key(&self, key: Option<&str>) {
        let mut state = self.change();
        state.api_key = key.map(str::to_owned);
        state.keys_are_given();
    }

    /// Sets options by name, as hosts of other languages have them: all of them, or on an error none. `own` are names that
    /// the host handles itself; they appear in the hint for a name that is not known.
    ///
    /// # Errors
    /// `invalid_argument`: an unknown name (with the nearest right one), a wrong value, or a model, address or fallback that
    /// cannot be used; `busy` for `messages` during a run.
    pub fn set_options(&self, given: &Map<String, Value>, spelling: Spelling, own: &[&'static str]) -> Result<(), Error> {
        let named = settings::named(given, spelling, own)?;
        let mut state = self.change();
        let mut new = state.settings.clone();
        let (mut model, mut base_url, mut api_key, mut messages, mut fallbacks) = (None, None, None, None, None);
        for (name, spelled, value) in named {
            let text = || options::read(value, spelled, Type::Text, || None::<String>);
            match name {
                "model" => model = Some(ModelSpec::from_json_spelled(value.clone(), spelling)?),
                "fallbacks" => fallbacks = Some(read_models(value, spelled, spelling)?),
                "base_url" => base_url = Some(text()?),
                // Not through the error of `read`: that would show the key.
                "api_key" if !value.is_string() && !value.is_null() => {
                    return Err(Error::invalid_argument(format!("option {spelled:?}: expected text")));
                }
                "api_key" => api_key = Some(value.as_str().map(str::to_owned)),
                "messages" => messages = Some(read_messages(value, spelled)?),
                "network" => new.network = Arc::new(Network::from_json_spelled(value.clone(), spelling)?),
                "headers" => {
                    check_headers(&format!("option {spelled:?}"), Some(value))?;
                    new.headers = options::read(value, spelled, options::HEADERS, Map::new)?;
                }
                _ => {
                    new.set_option(name, value, spelled)?;
                }
            }
        }
        if messages.is_some() && state.active.is_some() {
            return Err(busy("the transcript cannot be replaced"));
        }
        let (check_model, keys) =
            (model.is_some() || base_url.is_some(), api_key.is_some() || new.headers != state.settings.headers);
        state.change_models(check_model, |state| {
            model.into_iter().for_each(|spec| state.take_model(spec));
            base_url.into_iter().for_each(|url| state.take_base_url(url));
            fallbacks.into_iter().for_each(|specs| state.fallbacks = Fallback::all(specs));
            if keys {
                state.keys_are_given();
            }
            api_key.into_iter().for_each(|key| state.api_key = key);
        })?;
        if let Some(messages) = messages {
            state.set_messages(Arc::new(messages));
        }
        state.settings = new;
        Ok(())
    }

    /// Finds out now whether the model and the fallbacks can be used: provider, protocol, address, script. Starting a run does
    /// this by itself.
    ///
    /// # Errors
    /// `invalid_argument`: says what is wrong.
    pub fn check(&self) -> Result<(), Error> {
        self.state().resolve_all().map(drop)
    }
}

fn read_models(value: &Value, spelled: &str, spelling: Spelling) -> Result<Vec<ModelSpec>, Error> {
    if value.is_null() {
        return Ok(Vec::new());
    }
    let list = value.as_array().ok_or_else(|| options::wrong(value, spelled, options::MODELS))?;
    let read = |(i, model): (usize, &Value)| {
        ModelSpec::from_json_spelled(model.clone(), spelling)
            .map_err(|e| Error::invalid_argument(format!("option {spelled:?}: [{i}]: {}", e.message())))
    };
    list.iter().enumerate().map(read).collect()
}

fn read_messages(value: &Value, spelled: &str) -> Result<Vec<Arc<Message>>, Error> {
    if value.is_null() {
        return Ok(Vec::new());
    }
    let list = value.as_array().ok_or_else(|| options::wrong(value, spelled, options::MESSAGES))?;
    let read = |(i, message): (usize, &Value)| {
        serde_json::from_value(message.clone())
            .map(Arc::new)
            .map_err(|e| Error::invalid_argument(format!("option {spelled:?}: [{i}]: {e}")))
    };
    list.iter().enumerate().map(read).collect()
}
