//! What an agent is set to: plain setters for changes later on, which take effect at a run's next turn; the transcript, which can
//! be changed between runs; and options by name for hosts of other languages.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;

use agent_loop_proto::message_reader::given_messages;
use agent_loop_proto::model_spec::check_plain;
use agent_loop_proto::protocol::check_option;
use agent_loop_proto::table::options::{self, Type};
use serde_json::{Map, Value};

use super::handle::Agent;
use super::models::{ConfiguredModel, Models};
use crate::did_you_mean::Spelling;
use crate::error::{BoxError, Error, ErrorKind};
use crate::gate::Rule;
use crate::message::Message;
use crate::model::custom::ProviderFn;
use crate::model::source::{ModelSource, Source};
use crate::option_names;
use crate::provider::ModelSpec;
use crate::runtime::Runtime;
use crate::tool::middleware::{Middleware, MiddlewareCall, middleware};
use crate::tool::{Tool, ToolSet};
use crate::transport::header::check_header;

impl Agent {
    /// Adds a tool.
    ///
    /// # Errors
    /// `invalid_argument` when there is one of that name.
    pub fn add_tool(&self, tool: impl Tool) -> Result<(), Error> {
        let mut state = self.change();
        let tool: Arc<dyn Tool> = Arc::new(tool);
        // Nor one of a plugin.
        state.plugins.tools_with(&state.tools).add(Arc::clone(&tool))?;
        state.tools.add(tool)?;
        state.specs = None;
        Ok(())
    }

    /// Takes a tool out; says whether there was one.
    pub fn remove_tool(&self, name: &str) -> bool {
        let removed = {
            let mut state = self.change();
            state.specs = None;
            state.tools.remove(name).or_else(|| state.plugins.tools.remove(name))
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
    pub fn add_middleware<F, Fut, E>(&self, link: F)
    where
        F: Fn(MiddlewareCall) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Value, E>> + Send + 'static,
        E: Into<BoxError> + Send + 'static,
    {
        self.add_link(middleware(link));
    }

    pub(crate) fn add_link(&self, link: Middleware) {
        Arc::make_mut(&mut self.change().middleware).push(link);
    }

    /// Replaces the runtime in which the next runs live.
    pub fn set_runtime(&self, runtime: &Runtime) {
        let before = {
            let mut state = self.change();
            let models = state.models.clone();
            state.models.forget_resolved();
            (state.runtime.replace(runtime.clone()), models)
        };
        // Not under the lock: a runtime that goes waits for its threads, and what a model owns may call this agent.
        drop(before);
    }

    /// Sets a custom provider, which answers for the agent's own model, whatever its name, or removes it with `None`. It also
    /// answers for other models (fallbacks, those that a hook names) of the same provider, and of unknown providers; a
    /// fallback of a known provider, or with an address, is asked there.
    ///
    /// # Errors
    /// `invalid_argument` when the model or a fallback cannot be used without it; nothing changes then.
    pub fn set_provider(&self, provider: Option<ProviderFn>) -> Result<(), Error> {
        self.replace_provider(None, provider)
    }

    /// Sets a custom provider by its name, in place of one of the same name, or removes it with `None`. It answers for all models
    /// `name/…`: the agent's own, fallbacks, and those that a hook names. A known provider of that name is not asked then.
    ///
    /// # Errors
    /// `invalid_argument` for a name that is empty or has a slash, and when the model or a fallback cannot be used without it;
    /// nothing changes then.
    pub fn set_custom_provider(&self, name: &str, provider: Option<ProviderFn>) -> Result<(), Error> {
        check_provider_name(name)?;
        self.replace_provider(Some(name), provider)
    }

    fn replace_provider(&self, name: Option<&str>, provider: Option<ProviderFn>) -> Result<(), Error> {
        let mut state = self.change();
        let before = state.models.provider(name).cloned();
        if provider.is_none() && before.is_none() {
            return Ok(());
        }
        // With one more function no model can be used less.
        let (changed, unused) = match provider {
            Some(_) => {
                let unused = state.models.clone();
                state.models.set_provider(name, provider);
                (Ok(()), unused)
            }
            None => state.models.change(true, |models| models.set_provider(name, None)),
        };
        // Not under the lock: what a provider owns may call this agent when it goes.
        drop(state);
        drop((before, unused));
        changed
    }

    /// Removes tools, hooks and provider, whatever of the agent can then still be used: breaks the circles that a host's garbage
    /// collector has found.
    #[doc(hidden)]
    pub fn release_host(&self) {
        let before = {
            let mut state = self.change();
            let models = state.models.clone();
            state.specs = None;
            state.models.forget_resolved();
            (state.models.provider, state.models.providers) = (None, BTreeMap::new());
            state.models.of_plugins = BTreeMap::new();
            let plugins = std::mem::take(&mut state.plugins);
            (std::mem::take(&mut state.tools), std::mem::take(&mut state.hooks), plugins, models)
        };
        drop(before);
    }

    /// Replaces the headers of each request.
    ///
    /// # Errors
    /// `invalid_argument` for a name or value that HTTP does not allow; nothing changes then.
    pub fn set_headers<N: Into<String>, V: Into<String>>(&self, headers: impl IntoIterator<Item = (N, V)>) -> Result<(), Error> {
        let mut checked = Map::new();
        for (name, value) in headers {
            let (name, value) = (name.into(), value.into());
            check_header(&name, &value)?;
            checked.insert(name, value.into());
        }
        let mut state = self.change();
        state.models.connection.headers = Arc::new(checked);
        state.models.set_keys_for_primary();
        Ok(())
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
    /// `busy` during a run; `invalid_state` while calls wait for a decision.
    pub fn append_messages(&self, messages: impl IntoIterator<Item = impl Into<Arc<Message>>>) -> Result<(), Error> {
        let messages: Vec<Arc<Message>> = messages.into_iter().map(Into::into).collect();
        self.change_conversation(|state| state.conversation.append(messages))
    }

    /// Replaces the transcript.
    ///
    /// # Errors
    /// `busy` during a run.
    pub fn replace_messages(&self, messages: impl IntoIterator<Item = impl Into<Arc<Message>>>) -> Result<(), Error> {
        let messages: Vec<Arc<Message>> = messages.into_iter().map(Into::into).collect();
        self.change_conversation(|state| state.conversation.replace(messages))
    }

    /// Empties the transcript.
    ///
    /// # Errors
    /// `busy` during a run.
    pub fn clear_messages(&self) -> Result<(), Error> {
        self.replace_messages(Vec::<Message>::new())
    }

    /// Empties the transcript and both queues, and forgets the last error and what was decided for always.
    ///
    /// # Errors
    /// `busy` during a run.
    pub fn reset(&self) -> Result<(), Error> {
        self.change_conversation(|state| state.conversation.reset())
    }

    /// Forgets what was decided for always about a rule of [`Agent::remembered`]; `None`: all of it.
    ///
    /// # Errors
    /// `busy` during a run; `invalid_argument` for what is no rule.
    pub fn forget(&self, rule: Option<&str>) -> Result<(), Error> {
        let rule = rule.map(Rule::new).transpose()?;
        self.change_conversation(|state| state.conversation.forget(rule.as_ref()))
    }

    /// Replaces the model. A key and headers that were given for another provider are not for it, unless the agent has an
    /// address.
    ///
    /// # Errors
    /// `invalid_argument` for a model that cannot be used, or with which a fallback cannot; nothing changes then.
    pub fn set_model(&self, model: impl Into<ModelSource>) -> Result<(), Error> {
        let model = model.into().parse()?;
        self.change_models(true, |models| models.set_primary(model))
    }

    /// Replaces the address; `None` for the provider's own.
    ///
    /// # Errors
    /// `invalid_argument` for an address that cannot be used, or without which the model cannot; nothing changes then.
    pub fn set_base_url(&self, url: Option<&str>) -> Result<(), Error> {
        self.change_models(true, |models| models.set_base_url(url.map(str::to_owned)))
    }

    /// Replaces the models that are tried, in this order, when the model fails before its first content and no retry is left. One
    /// of the same provider has the agent's address and key, another one its own; the transcript is made to fit it, and the hooks
    /// of a request run again. The next turn begins with the agent's own model.
    ///
    /// # Errors
    /// `invalid_argument` when one of them cannot be used; nothing changes then.
    pub fn set_fallbacks<M: Into<ModelSource>>(&self, models: impl IntoIterator<Item = M>) -> Result<(), Error> {
        let fallbacks = ConfiguredModel::fallbacks(models.into_iter().map(Into::into).collect())?;
        self.change_models(false, |models| models.fallbacks = fallbacks)
    }

    /// # Errors
    /// As [`Models::change`].
    fn change_models(&self, check_primary: bool, change: impl FnOnce(&mut Models)) -> Result<(), Error> {
        let (changed, unused) = self.change().models.change(check_primary, change);
        // The lock is free again.
        drop(unused);
        changed
    }

    /// Replaces the key; `None` for the provider's environment variable.
    pub fn set_api_key(&self, key: Option<&str>) {
        let mut state = self.change();
        state.models.api_key = key.map(str::to_owned);
        state.models.set_keys_for_primary();
    }

    /// Sets options by their names, as a file of settings has them: all of them, or on an error none. `docs/options.md` lists
    /// them; null sets an option's default.
    ///
    /// ```
    /// use agent_loop::Agent;
    /// use serde_json::json;
    ///
    /// let agent = Agent::new("anthropic/claude-sonnet-4-5")?;
    /// agent.set_json(&json!({ "max_turns": 3, "temperature": 0 }))?;
    /// assert_eq!((agent.max_turns(), agent.temperature()), (3, Some(0.0)));
    /// # Ok::<(), agent_loop::Error>(())
    /// ```
    ///
    /// # Errors
    /// `invalid_argument`: no object, an unknown name (with the nearest right one), a wrong value, or a model, address or
    /// fallback that cannot be used; `busy` for `messages` during a run.
    pub fn set_json(&self, options: &Value) -> Result<(), Error> {
        let options = options.as_object().ok_or_else(|| Error::invalid_argument("options: expected an object"))?;
        self.set_options(options, Spelling::Snake, &[])
    }

    /// Sets options by name, as hosts of other languages have them: all of them, or on an error none. `own` are names that
    /// the host handles itself; they appear in the hint for a name that is not known.
    ///
    /// # Errors
    /// `invalid_argument`: an unknown name (with the nearest right one), a wrong value, or a model, address or fallback that
    /// cannot be used; `busy` for `messages` during a run.
    #[doc(hidden)]
    pub fn set_options(&self, given: &Map<String, Value>, spelling: Spelling, own: &[&'static str]) -> Result<(), Error> {
        let named = option_names::canonical_names(given, spelling, own)?;
        let mut state = self.change();
        let mut new = state.settings.clone();
        let mut connection = state.models.connection.clone();
        let (mut model, mut base_url, mut api_key, mut messages, mut fallbacks) = (None, None, None, None, None);
        for (name, spelled, value) in named {
            let text = || options::read(value, spelled, Type::Text, || None::<String>);
            match name {
                "model" => model = Some(Source::Spec(Box::new(ModelSpec::from_json_spelled(value.clone(), spelling)?))),
                "fallbacks" => fallbacks = Some(ConfiguredModel::fallbacks(read_models(value, spelled, spelling)?)?),
                "base_url" => base_url = Some(text()?),
                // Not through the error of `read`: that would show the key.
                "api_key" if !value.is_string() && !value.is_null() => {
                    return Err(Error::invalid_argument(format!("option {spelled:?}: expected text")));
                }
                "api_key" => api_key = Some(value.as_str().map(str::to_owned)),
                "messages" => messages = Some((spelled, read_messages(value, spelled)?)),
                _ => {
                    let is_known = connection.set_option(name, value, spelled, spelling)?;
                    if !is_known {
                        new.set_option(name, value, spelled)?;
                    }
                    check_option(name, &new.model, spelled)?;
                }
            }
        }
        if let Some((spelled, messages)) = &messages {
            state.session.check()?;
            state.conversation.check_replacement(messages).map_err(|e| match e.kind() {
                ErrorKind::Busy => e,
                _ => e.reworded(|why| format!("option {spelled:?}: {why}")),
            })?;
        }
        let check_primary = model.is_some() || base_url.is_some();
        let has_new_keys = api_key.is_some() || connection.headers != state.models.connection.headers;
        let (changed, unused) = state.models.change(check_primary, |models| {
            model.into_iter().for_each(|model| models.set_primary(model));
            base_url.into_iter().for_each(|url| models.set_base_url(url));
            fallbacks.into_iter().for_each(|fallbacks| models.fallbacks = fallbacks);
            if has_new_keys {
                models.set_keys_for_primary();
            }
            api_key.into_iter().for_each(|key| models.api_key = key);
            models.connection = connection;
        });
        let changed = changed.and_then(|()| {
            messages.map_or(Ok(()), |(_, messages)| state.conversation.replace(messages))?;
            state.keep_changes()?;
            // Those that the connection brings may be others.
            state.specs = None;
            state.settings = new;
            Ok(())
        });
        // Not under the lock: what a model owns may call this agent when it goes.
        drop(state);
        drop(unused);
        changed
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

/// The name of a custom provider, as a model's name begins.
pub(super) fn check_provider_name(name: &str) -> Result<(), Error> {
    if name.is_empty() || name.contains('/') {
        let text = format!("provider {name:?}: expected a name without a slash, as models of it have it: \"name/id\"");
        return Err(Error::invalid_argument(text));
    }
    check_plain(&format!("provider {name:?}"), name)
}

fn read_models(value: &Value, spelled: &str, spelling: Spelling) -> Result<Vec<ModelSource>, Error> {
    if value.is_null() {
        return Ok(Vec::new());
    }
    let list = value.as_array().ok_or_else(|| options::wrong(value, spelled, options::MODELS))?;
    let read = |(i, model): (usize, &Value)| {
        ModelSpec::from_json_spelled(model.clone(), spelling)
            .map(ModelSource::from)
            .map_err(|e| e.reworded(|why| format!("option {spelled:?}: [{i}]: {why}")))
    };
    list.iter().enumerate().map(read).collect()
}

fn read_messages(value: &Value, spelled: &str) -> Result<Vec<Arc<Message>>, Error> {
    if value.is_null() {
        return Ok(Vec::new());
    }
    given_messages(value.clone()).map_err(|unread| unread.at(format_args!("option {spelled:?}")).invalid_argument())
}
