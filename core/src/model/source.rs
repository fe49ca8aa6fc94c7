//! What an agent's model is made from.

use std::fmt;
use std::sync::Arc;

use super::interface::Model;
use crate::error::Error;
use crate::provider::ModelSpec;

/// A model as it is given to an agent: its name `provider/id`, a [`ModelSpec`], or a [`Model`] that you have written.
///
/// ```
/// use agent_loop::{Agent, ModelSpec};
///
/// let by_name = Agent::builder("anthropic/claude-sonnet-4-5").build()?;
/// let mut spec = ModelSpec::parse("openai/gpt-5")?;
/// spec.max_output_tokens = Some(4096);
/// by_name.set_model(spec)?;
/// assert_eq!(by_name.model(), "openai/gpt-5");
/// # Ok::<(), agent_loop::Error>(())
/// ```
#[derive(Clone)]
pub struct ModelSource(Given);

#[derive(Clone)]
enum Given {
    /// To be parsed.
    Text(String),
    Source(Source),
}

/// A model that was parsed.
#[derive(Clone)]
pub(crate) enum Source {
    Spec(Box<ModelSpec>),
    Custom(Arc<dyn Model>),
}

impl ModelSource {
    /// # Errors
    /// As [`ModelSpec::parse`].
    pub(crate) fn parse(self) -> Result<Source, Error> {
        match self.0 {
            Given::Text(text) => Ok(Source::Spec(Box::new(ModelSpec::parse(&text)?))),
            Given::Source(source) => Ok(source),
        }
    }
}

impl From<&str> for ModelSource {
    fn from(name: &str) -> ModelSource {
        ModelSource(Given::Text(name.to_owned()))
    }
}

impl From<String> for ModelSource {
    fn from(name: String) -> ModelSource {
        ModelSource(Given::Text(name))
    }
}

impl From<&String> for ModelSource {
    fn from(name: &String) -> ModelSource {
        name.as_str().into()
    }
}

impl From<ModelSpec> for ModelSource {
    fn from(spec: ModelSpec) -> ModelSource {
        ModelSource(Given::Source(Source::Spec(Box::new(spec))))
    }
}

impl From<Arc<dyn Model>> for ModelSource {
    fn from(model: Arc<dyn Model>) -> ModelSource {
        ModelSource(Given::Source(Source::Custom(model)))
    }
}

impl<M: Model> From<M> for ModelSource {
    fn from(model: M) -> ModelSource {
        let model: Arc<dyn Model> = Arc::new(model);
        model.into()
    }
}

impl fmt::Debug for ModelSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            // An object in JSON may have headers with a key.
            Given::Text(text) if text.trim_start().starts_with('{') => f.write_str("ModelSource({…})"),
            Given::Text(text) => f.debug_tuple("ModelSource").field(text).finish(),
            Given::Source(source) => f.debug_tuple("ModelSource").field(&source.name()).finish(),
        }
    }
}

impl Source {
    pub(crate) fn provider(&self) -> &str {
        match self {
            Source::Spec(spec) => &spec.provider,
            Source::Custom(model) => model.info().provider,
        }
    }

    /// `provider/id`.
    pub(crate) fn name(&self) -> String {
        match self {
            Source::Spec(spec) => spec.name(),
            Source::Custom(model) => format!("{}/{}", model.info().provider, model.info().id),
        }
    }

    /// The address that it was given with.
    pub(crate) fn base_url(&self) -> Option<&str> {
        match self {
            Source::Spec(spec) => spec.base_url.as_deref(),
            Source::Custom(_) => None,
        }
    }
}
