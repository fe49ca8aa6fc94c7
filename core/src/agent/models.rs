//! The models of an agent: the primary one and those to fall back on, where they are served, and who gets the keys.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::plugin_parts::PluginProviders;
use crate::connection::Connection;
use crate::error::Error;
use crate::model::custom::{CustomModel, ProviderFn};
use crate::model::source::{ModelSource, Source};
use crate::model::table::ResolvedModel;
use crate::model::{self, Model};
use crate::provider::{self, ModelSpec};
use crate::runtime::Runtime;

/// A model as it was described, and once it is resolved the model itself.
#[derive(Clone)]
pub(super) struct ConfiguredModel {
    pub(super) source: Source,
    /// Made at the first run after a change.
    resolved: Option<Arc<dyn Model>>,
}

impl ConfiguredModel {
    fn new(source: Source) -> ConfiguredModel {
        ConfiguredModel { source, resolved: None }
    }

    /// # Errors
    /// `invalid_argument`: says which of the fallbacks cannot be read, and why.
    pub(super) fn fallbacks(models: Vec<ModelSource>) -> Result<Vec<ConfiguredModel>, Error> {
        let parse = |(i, model): (usize, ModelSource)| match model.parse() {
            Ok(source) => Ok(ConfiguredModel::new(source)),
            Err(error) => Err(of_fallback(i, &error)),
        };
        models.into_iter().enumerate().map(parse).collect()
    }
}

/// An agent's models and what reaches them. A change during a run takes effect at its next turn.
#[derive(Clone)]
pub(super) struct Models {
    pub(super) primary: ConfiguredModel,
    /// Tried in this order when the primary model fails before its first content.
    pub(super) fallbacks: Vec<ConfiguredModel>,
    /// Writes summaries, as the option `context` names it.
    summarizer: Option<ConfiguredModel>,
    /// The host's own provider, which takes precedence over the known ones for the primary model.
    pub(super) provider: Option<ProviderFn>,
    /// The host's own providers by their names, which take precedence over the known ones for all models.
    pub(super) providers: BTreeMap<String, ProviderFn>,
    /// Those of plugins, after these.
    pub(super) of_plugins: PluginProviders,
    /// The address of the primary model.
    pub(super) base_url: Option<String>,
    pub(super) api_key: Option<String>,
    /// The provider that the key and the headers were given for.
    pub(super) keys_for: String,
    pub(super) connection: Connection,
}

impl Models {
    /// A model at its provider's address.
    pub(super) fn new(primary: Source) -> Models {
        Models {
            keys_for: primary.provider().to_owned(),
            primary: ConfiguredModel::new(primary),
            fallbacks: Vec::new(),
            summarizer: None,
            provider: None,
            providers: BTreeMap::new(),
            of_plugins: PluginProviders::new(),
            base_url: None,
            api_key: None,
            connection: Connection::default(),
        }
    }

    /// `provider/id` of the primary model.
    pub(super) fn name(&self) -> String {
        self.primary.source.name()
    }

    // ---- changes ----

    /// Makes a change. If a fallback, or the primary model where it is checked, cannot be used after it, it is refused and
    /// nothing changes. An environment variable that is missing is no reason: it may be set until a run starts.
    ///
    /// Also returns the models that are not the agent's any more: the earlier ones, or on an error the refused ones. What they
    /// own may call the agent when it is dropped, so they are kept until its lock is free.
    ///
    /// # Errors
    /// `invalid_argument`: says which of them cannot be used, and why.
    pub(super) fn change(&mut self, check_primary: bool, change: impl FnOnce(&mut Models)) -> (Result<(), Error>, Models) {
        let mut other = self.clone();
        change(&mut other);
        let checked = other.check(check_primary);
        if checked.is_ok() {
            std::mem::swap(self, &mut other);
        }
        (checked, other)
    }

    pub(super) fn check(&self, check_primary: bool) -> Result<(), Error> {
        if let (true, Source::Spec(spec)) = (check_primary, &self.primary.source)
            && self.function_for(spec, true).is_none()
        {
            model::resolve::check(spec, self.base_url.as_deref())?;
        }
        let check = |(i, fallback): (usize, &ConfiguredModel)| match &fallback.source {
            Source::Spec(spec) if self.function_for(spec, false).is_none() => {
                model::resolve::check(spec, self.address_for(&fallback.source)).map_err(|e| of_fallback(i, &e))
            }
            Source::Spec(_) | Source::Custom(_) => Ok(()),
        };
        self.fallbacks.iter().enumerate().try_for_each(check)
    }

    /// The host's function that answers for a model. The one without a name answers for the primary model, whatever it is called;
    /// of other models for those of the same provider, and those that are served nowhere else.
    fn function_for(&self, spec: &ModelSpec, is_primary: bool) -> Option<&ProviderFn> {
        let is_served = || spec.base_url.is_some() || provider::is_known(&spec.provider);
        let answers = || is_primary || spec.provider == self.primary.source.provider() || !is_served();
        let named = self.providers.get(&spec.provider).or_else(|| self.of_plugins.get(&spec.provider));
        named.or_else(|| self.provider.as_ref().filter(|_| answers()))
    }

    /// The function of that name; of none, the one that has no name.
    pub(super) fn provider(&self, name: Option<&str>) -> Option<&ProviderFn> {
        match name {
            Some(name) => self.providers.get(name),
            None => self.provider.as_ref(),
        }
    }

    pub(super) fn set_primary(&mut self, model: Source) {
        self.primary = ConfiguredModel::new(model);
        self.forget_fallbacks();
    }

    pub(super) fn set_provider(&mut self, name: Option<&str>, provider: Option<ProviderFn>) {
        match (name, provider) {
            (None, provider) => self.provider = provider,
            (Some(name), Some(provider)) => drop(self.providers.insert(name.to_owned(), provider)),
            (Some(name), None) => drop(self.providers.remove(name)),
        }
        self.forget_resolved();
    }

    /// Adds the providers of a plugin, which live as long as the agent.
    #[cfg(feature = "__bindings")]
    pub(super) fn add_of_plugin(&mut self, providers: PluginProviders) {
        self.of_plugins.extend(providers);
        self.forget_resolved();
    }

    /// Another host's functions answer from now on.
    #[cfg(feature = "__bindings")]
    pub(super) fn forget_providers(&mut self) {
        if self.provider.take().is_some() || !std::mem::take(&mut self.providers).is_empty() {
            self.forget_resolved();
        }
    }

    /// A model that plays a script has no address, and goes on with its script.
    pub(super) fn set_base_url(&mut self, url: Option<String>) {
        self.base_url = url;
        self.forget_fallbacks();
        if !matches!(&self.primary.source, Source::Spec(spec) if spec.provider == "scripted") {
            self.primary.resolved = None;
        }
    }

    /// The key and the headers are for the primary model as it is now.
    pub(super) fn set_keys_for_primary(&mut self) {
        self.primary.source.provider().clone_into(&mut self.keys_for);
    }

    /// All models are made anew when they are needed.
    pub(super) fn forget_resolved(&mut self) {
        self.primary.resolved = None;
        self.forget_fallbacks();
    }

    fn forget_fallbacks(&mut self) {
        self.summarizer = None;
        self.fallbacks.iter_mut().for_each(|fallback| fallback.resolved = None);
    }

    // ---- addresses and keys ----

    /// Whether the agent's key is for the primary model: it stays with its provider, or with the agent's address, whoever answers
    /// there.
    fn keys_are_for_primary(&self) -> bool {
        self.base_url.is_some() || self.keys_for == self.primary.source.provider()
    }

    /// The address given for the primary model.
    fn primary_address(&self) -> Option<&str> {
        self.base_url.as_deref().or(self.primary.source.base_url())
    }

    /// Whether another model is served where the primary one is: by the same provider, at no other address.
    fn is_at_same_address(&self, other: &Source) -> bool {
        self.keys_are_for_primary()
            && self.primary.source.provider() == other.provider()
            && (other.base_url().is_none() || other.base_url() == self.primary_address())
    }

    /// The agent's address, where it is another model's, too.
    pub(super) fn address_for(&self, other: &Source) -> Option<&str> {
        self.primary_address().filter(|_| self.is_at_same_address(other))
    }

    // ---- resolving: from a description to a model that can be called, with the connections of the runtime ----

    /// The primary model.
    pub(super) fn resolve_primary(&mut self, runtime: Option<&Runtime>) -> Result<ResolvedModel, Error> {
        let model = self.make_primary(runtime)?;
        self.primary.resolved = Some(Arc::clone(&model));
        Ok(ResolvedModel { model, takes_keys: self.keys_are_for_primary() })
    }

    /// The names of the models to fall back on, and the models.
    pub(super) fn resolve_fallbacks(&mut self, runtime: Option<&Runtime>) -> Vec<(String, Result<ResolvedModel, Error>)> {
        let resolve = |fallback: &ConfiguredModel| {
            let takes_keys = self.is_at_same_address(&fallback.source);
            let model = self.make_fallback(fallback, runtime);
            (fallback.source.name(), model.map(|model| ResolvedModel { model, takes_keys }))
        };
        let fallbacks: Vec<_> = self.fallbacks.iter().map(resolve).collect();
        for (fallback, (_, model)) in self.fallbacks.iter_mut().zip(&fallbacks) {
            fallback.resolved = model.as_ref().ok().map(|resolved| Arc::clone(&resolved.model));
        }
        fallbacks
    }

    /// The model of that name, for summaries.
    pub(super) fn resolve_summarizer(&mut self, name: &str, runtime: Option<&Runtime>) -> Result<ResolvedModel, Error> {
        let known = self.summarizer.take().filter(|known| known.source.name() == name);
        let mut summarizer = match known {
            Some(known) => known,
            None => ConfiguredModel::new(ModelSource::from(name).parse()?),
        };
        let takes_keys = self.is_at_same_address(&summarizer.source);
        let model = self.make_fallback(&summarizer, runtime)?;
        summarizer.resolved = Some(Arc::clone(&model));
        self.summarizer = Some(summarizer);
        Ok(ResolvedModel { model, takes_keys })
    }

    /// A model that a hook names.
    pub(super) fn resolve_other(&self, other: &Source, runtime: Option<&Runtime>) -> Result<ResolvedModel, Error> {
        let model = self.make(other, false, self.address_for(other), runtime)?;
        Ok(ResolvedModel { model, takes_keys: self.is_at_same_address(other) })
    }

    /// The primary model, after all were resolved. They are kept, once there is a runtime whose connections they share.
    ///
    /// # Errors
    /// `invalid_argument`: says which of them cannot be used, and why.
    pub(super) fn resolve_all(&mut self, runtime: Option<&Runtime>) -> Result<Arc<dyn Model>, Error> {
        let primary = self.make_primary(runtime)?;
        let made = |(i, fallback): (usize, &ConfiguredModel)| {
            self.make_fallback(fallback, runtime).map_err(|error| of_fallback(i, &error))
        };
        let fallbacks: Vec<_> = self.fallbacks.iter().enumerate().map(made).collect::<Result<_, _>>()?;
        if runtime.is_some() {
            self.primary.resolved = Some(Arc::clone(&primary));
            self.fallbacks.iter_mut().zip(fallbacks).for_each(|(fallback, made)| fallback.resolved = Some(made));
        }
        Ok(primary)
    }

    fn make_primary(&self, runtime: Option<&Runtime>) -> Result<Arc<dyn Model>, Error> {
        match &self.primary.resolved {
            Some(model) => Ok(Arc::clone(model)),
            None => self.make(&self.primary.source, true, self.base_url.as_deref(), runtime),
        }
    }

    fn make_fallback(&self, fallback: &ConfiguredModel, runtime: Option<&Runtime>) -> Result<Arc<dyn Model>, Error> {
        match &fallback.resolved {
            Some(model) => Ok(Arc::clone(model)),
            None => self.make(&fallback.source, false, self.address_for(&fallback.source), runtime),
        }
    }

    fn make(
        &self,
        source: &Source,
        is_primary: bool,
        base_url: Option<&str>,
        runtime: Option<&Runtime>,
    ) -> Result<Arc<dyn Model>, Error> {
        let spec = match source {
            Source::Custom(model) => return Ok(Arc::clone(model)),
            Source::Spec(spec) => spec,
        };
        if let Some(function) = self.function_for(spec, is_primary) {
            return Ok(Arc::new(CustomModel { spec: (**spec).clone(), function: Arc::clone(function) }));
        }
        let connections = runtime.map(|runtime| Arc::clone(runtime.connections())).unwrap_or_default();
        model::resolve::resolve(spec, base_url, &connections)
    }
}

fn of_fallback(number: usize, error: &Error) -> Error {
    error.clone().reworded(|why| format!("option \"fallbacks\": [{number}]: {why}"))
}
