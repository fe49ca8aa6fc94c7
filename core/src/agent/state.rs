//! An agent's state, as it is behind its lock.

use std::sync::Arc;

use agent_loop_proto::machine::{Config, RequestCaches, Tools};

use super::host_side::HostSide;
use crate::clock::Clock;
use crate::error::Error;
use crate::hook::Hooks;
use crate::message::Message;
use crate::model::custom::{CustomModel, ProviderFn};
use crate::model::source::{ModelSource, Source};
use crate::model::table::{ResolvedModel, add_model};
use crate::model::{self, Model};
use crate::partial::Partial;
use crate::queues::Queues;
use crate::run::shared::RunShared;
use crate::runtime::Runtime;
use crate::settings::Settings;
use crate::tool::ToolSet;
use crate::tool::middleware::Middleware;

pub(super) struct State {
    pub(super) runtime: Option<Runtime>,
    pub(super) model: Source,
    /// A provider of the host's own, which wins over the known ones.
    pub(super) provider: Option<ProviderFn>,
    pub(super) base_url: Option<String>,
    pub(super) api_key: Option<String>,
    /// The provider that the key and the headers were given for.
    pub(super) keys_for: String,
    /// The model behind `model` and `base_url`, made at the first run after either changed.
    pub(super) resolved: Option<Arc<dyn Model>>,
    /// Models tried in this order when the model fails before it said anything; made at the first run after a change.
    pub(super) fallbacks: Vec<Fallback>,
    pub(super) settings: Settings,
    pub(super) tools: ToolSet,
    /// The specs of `tools`, made when first needed after they changed.
    pub(super) specs: Option<Tools>,
    pub(super) hooks: Arc<Hooks>,
    pub(super) middleware: Arc<Vec<Middleware>>,
    pub(super) messages: Arc<Vec<Arc<Message>>>,
    /// The queues while no run is active; a run has them itself.
    pub(super) queues: Queues,
    /// What was repaired and encoded of the transcript, while no run is active.
    pub(super) caches: RequestCaches,
    /// Of a stateless run, once its queues' rest was given back.
    pub(super) closed: bool,
    pub(super) active: Option<Arc<RunShared>>,
    pub(super) streaming_message: Option<Partial>,
    pub(super) pending_tool_calls: Vec<Arc<str>>,
    pub(super) error: Option<Error>,
}

/// A model to fall back on.
#[derive(Clone)]
pub(super) struct Fallback {
    pub(super) source: Source,
    pub(super) resolved: Option<Arc<dyn Model>>,
}

impl Fallback {
    /// # Errors
    /// `invalid_argument`: says which of them cannot be read, and why.
    pub(super) fn all(models: Vec<ModelSource>) -> Result<Vec<Fallback>, Error> {
        let parse = |(i, model): (usize, ModelSource)| match model.parse() {
            Ok(source) => Ok(Fallback { source, resolved: None }),
            Err(error) => Err(of_fallback(i, &error)),
        };
        models.into_iter().enumerate().map(parse).collect()
    }
}

impl State {
    pub(super) fn configuration(
        &mut self,
        revision: u64,
        is_stateless: bool,
        clock: &Clock,
        models: &mut Vec<ResolvedModel>,
    ) -> (Config, HostSide) {
        let model = self.resolve();
        if let Ok(model) = &model {
            self.resolved = Some(Arc::clone(model));
        }
        let takes_keys = self.keys_are_for_model();
        let model = model.map(|model| add_model(models, ResolvedModel { model, takes_keys }));
        let fallbacks = (0..self.fallbacks.len()).filter_map(|number| self.fallback(number)).collect::<Vec<_>>();
        let fallbacks = fallbacks.into_iter().map(|(name, model)| (name, model.map(|model| add_model(models, model))));
        let State { tools, specs, .. } = self;
        let tools = specs.get_or_insert_with(|| tools.specs().into()).clone();
        let mut config = Config::new(self.model.name(), model);
        config.settings = self.settings.engine.clone();
        config.fallbacks = fallbacks.collect();
        config.tools = tools;
        config.hooks = self.hooks.kinds();
        config.is_stateless = is_stateless;
        config.has_jitter = !clock.is_simulated();
        let host = HostSide {
            revision,
            tools: self.tools.clone(),
            hooks: Arc::clone(&self.hooks),
            middleware: Arc::clone(&self.middleware),
            api_key: self.api_key.clone(),
            keys_for: self.keys_for.clone(),
            headers: self.settings.headers.clone(),
            network: Arc::clone(&self.settings.network),
            connect_timeout_ms: self.settings.limits.connect_timeout_ms,
        };
        (config, host)
    }

    /// The name of the model to fall back on of this number, from 0, and the model; `None` when there are no more.
    fn fallback(&mut self, number: usize) -> Option<(String, Result<ResolvedModel, Error>)> {
        let Fallback { source, resolved } = self.fallbacks.get(number)?;
        let (name, takes_keys) = (source.name(), self.is_at_same_address(source));
        let model = match resolved {
            Some(model) => Ok(Arc::clone(model)),
            None => self.make(source, self.address_for(source)),
        };
        if let (Ok(model), Some(fallback)) = (&model, self.fallbacks.get_mut(number)) {
            fallback.resolved = Some(Arc::clone(model));
        }
        Some((name, model.map(|model| ResolvedModel { model, takes_keys })))
    }

    /// Another transcript.
    pub(super) fn set_messages(&mut self, messages: Arc<Vec<Arc<Message>>>) {
        self.messages = messages;
        self.caches = RequestCaches::default();
    }

    /// The model has to be made anew for another address; one that plays a script has none, and goes on with its script.
    pub(super) fn forget_address(&mut self) {
        self.forget_fallbacks();
        if !matches!(&self.model, Source::Spec(spec) if spec.provider == "scripted") {
            self.resolved = None;
        }
    }

    /// Where runs live: here, when nothing else was said.
    pub(super) fn runtime_here(&mut self) -> Result<Runtime, Error> {
        match &self.runtime {
            Some(runtime) => Ok(runtime.clone()),
            None => Ok(self.runtime.insert(Runtime::current()?).clone()),
        }
    }

    pub(super) fn resolve(&self) -> Result<Arc<dyn Model>, Error> {
        match &self.resolved {
            Some(model) => Ok(Arc::clone(model)),
            None => self.make(&self.model, self.base_url.as_deref()),
        }
    }

    /// The model; it and the fallbacks are kept, once there is a runtime whose connections they share.
    ///
    /// # Errors
    /// `invalid_argument`: says which of them cannot be used, and why.
    pub(super) fn resolve_all(&mut self) -> Result<Arc<dyn Model>, Error> {
        let model = self.resolve()?;
        let made = |(i, Fallback { source, resolved }): (usize, &Fallback)| {
            let make = || self.make(source, self.address_for(source)).map_err(|e| of_fallback(i, &e));
            resolved.as_ref().map_or_else(make, |model| Ok(Arc::clone(model)))
        };
        let fallbacks: Vec<_> = self.fallbacks.iter().enumerate().map(made).collect::<Result<_, _>>()?;
        if self.runtime.is_some() {
            self.resolved = Some(Arc::clone(&model));
            self.fallbacks.iter_mut().zip(fallbacks).for_each(|(fallback, made)| fallback.resolved = Some(made));
        }
        Ok(model)
    }

    /// Makes a change of models, provider, address or keys. If a fallback, or the model where it is checked, cannot be used
    /// after it, it is refused and nothing changes. An environment variable that is missing is no reason: it may be set until a
    /// run starts.
    ///
    /// # Errors
    /// `invalid_argument`: says which of them cannot be used, and why.
    pub(super) fn change_models(&mut self, check_model: bool, change: impl FnOnce(&mut State)) -> Result<(), Error> {
        let State { model, resolved, provider, base_url, fallbacks, api_key, keys_for, .. } = self;
        let models = (model.clone(), resolved.clone(), provider.clone(), fallbacks.clone());
        let served = (base_url.clone(), api_key.clone(), keys_for.clone());
        change(self);
        let checked = self.check_models(check_model);
        if checked.is_err() {
            (self.model, self.resolved, self.provider, self.fallbacks) = models;
            (self.base_url, self.api_key, self.keys_for) = served;
        }
        checked
    }

    pub(super) fn check_models(&self, check_model: bool) -> Result<(), Error> {
        if self.provider.is_some() {
            // It answers for any model.
            return Ok(());
        }
        if let (true, Source::Spec(spec)) = (check_model, &self.model) {
            model::resolve::check(spec, self.base_url.as_deref())?;
        }
        let check = |(i, fallback): (usize, &Fallback)| match &fallback.source {
            Source::Spec(spec) => model::resolve::check(spec, self.address_for(&fallback.source)).map_err(|e| of_fallback(i, &e)),
            Source::Custom(_) => Ok(()),
        };
        self.fallbacks.iter().enumerate().try_for_each(check)
    }

    /// Replaces the model. What was made for the one before is made anew.
    pub(super) fn take_model(&mut self, model: Source) {
        self.model = model;
        self.resolved = None;
        self.forget_fallbacks();
    }

    /// Replaces the custom provider. Models that answer by themselves keep what they have.
    pub(super) fn take_provider(&mut self, provider: Option<ProviderFn>) {
        self.provider = provider;
        self.resolved = None;
        self.forget_fallbacks();
    }

    /// Replaces the address.
    pub(super) fn take_base_url(&mut self, url: Option<String>) {
        self.base_url = url;
        self.forget_address();
    }

    /// The key and the headers are for the model there is now.
    pub(super) fn keys_are_given(&mut self) {
        self.model.provider().clone_into(&mut self.keys_for);
    }

    /// Whether the agent's key is for its own model: it stays with its provider, or with the agent's address, whoever answers
    /// there.
    fn keys_are_for_model(&self) -> bool {
        self.base_url.is_some() || self.keys_for == self.model.provider()
    }

    pub(super) fn forget_fallbacks(&mut self) {
        self.fallbacks.iter_mut().for_each(|fallback| fallback.resolved = None);
    }

    /// The address given for the agent's own model.
    fn model_address(&self) -> Option<&str> {
        self.base_url.as_deref().or(self.model.base_url())
    }

    /// Whether another model is served where the agent's own is: by the same provider, at no other address.
    fn is_at_same_address(&self, other: &Source) -> bool {
        self.keys_are_for_model()
            && self.model.provider() == other.provider()
            && (other.base_url().is_none() || other.base_url() == self.model_address())
    }

    /// The agent's address, where it is another model's, too.
    fn address_for(&self, other: &Source) -> Option<&str> {
        self.model_address().filter(|_| self.is_at_same_address(other))
    }

    /// Another model than the agent's own.
    pub(super) fn resolve_other(&self, other: &Source) -> Result<ResolvedModel, Error> {
        Ok(ResolvedModel { model: self.make(other, self.address_for(other))?, takes_keys: self.is_at_same_address(other) })
    }

    fn make(&self, source: &Source, base_url: Option<&str>) -> Result<Arc<dyn Model>, Error> {
        let spec = match source {
            Source::Custom(model) => return Ok(Arc::clone(model)),
            Source::Spec(spec) => spec,
        };
        if let Some(function) = &self.provider {
            return Ok(Arc::new(CustomModel { spec: (**spec).clone(), function: Arc::clone(function) }));
        }
        let connections = self.runtime.as_ref().map(|runtime| Arc::clone(runtime.connections())).unwrap_or_default();
        model::resolve::resolve(spec, base_url, &connections)
    }

    /// An agent that has nothing but its model.
    pub(super) fn new(model: Source) -> State {
        State {
            runtime: None,
            keys_for: model.provider().to_owned(),
            model,
            provider: None,
            base_url: None,
            api_key: None,
            resolved: None,
            fallbacks: Vec::new(),
            settings: Settings::default(),
            tools: ToolSet::default(),
            specs: None,
            hooks: Arc::default(),
            middleware: Arc::default(),
            messages: Arc::default(),
            queues: Queues::default(),
            caches: RequestCaches::default(),
            closed: false,
            active: None,
            streaming_message: None,
            pending_tool_calls: Vec::new(),
            error: None,
        }
    }
}

fn of_fallback(number: usize, error: &Error) -> Error {
    error.clone().reworded(|why| format!("option \"fallbacks\": [{number}]: {why}"))
}
