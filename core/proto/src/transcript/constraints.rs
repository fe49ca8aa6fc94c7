//! What a model takes of a transcript, as data.

use super::tokens;
use crate::message::AssistantMessage;
use crate::model_spec::ModelSpec;
use crate::quirks::{CallIds, ThinkingReplay};

/// What a model takes of a transcript.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub struct Constraints {
    /// The name of the provider, as messages have it.
    pub provider: String,
    /// The wire format.
    pub protocol: String,
    /// The model's id.
    pub model: String,
    /// Which ids of tool calls are taken.
    pub call_ids: CallIds,
    /// What happens to the model's own thinking when it is sent back.
    pub thinking: ThinkingReplay,
    /// Whether the model reads images.
    pub images: bool,
    /// The media types of images that its server takes; all when it is not known.
    pub image_types: Option<&'static [&'static str]>,
    /// The most bytes of a result's text that go to the model whole.
    pub max_result_bytes: usize,
    /// The most tokens of a result's text, about, that go to the model at once; 0 for no limit.
    pub max_result_tokens: u64,
    /// Whether the model has a tool to read on in a result that was cut.
    pub reads_on: bool,
}

impl Constraints {
    /// For a model that takes messages unchanged, except images that its spec does not list as input.
    pub fn of_spec(spec: &ModelSpec, protocol: &str) -> Constraints {
        let images = spec.input.as_ref().is_none_or(|kinds| kinds.iter().any(|kind| kind == "image"));
        Constraints { images, ..Constraints::new(&spec.provider, protocol, &spec.id) }
    }

    /// For a model that takes messages unchanged.
    pub fn new(provider: &str, protocol: &str, model: &str) -> Constraints {
        Constraints {
            provider: provider.to_owned(),
            protocol: protocol.to_owned(),
            model: model.to_owned(),
            call_ids: CallIds::Any,
            thinking: ThinkingReplay::Kept,
            images: true,
            image_types: None,
            max_result_bytes: usize::MAX,
            max_result_tokens: 0,
            reads_on: false,
        }
    }

    /// The most bytes of this text that go to the model at once.
    pub(super) fn max_bytes_of(&self, text: &str) -> usize {
        let tokens = tokens::of_text(text);
        let most = self.max_result_bytes;
        if self.max_result_tokens == 0 || tokens <= self.max_result_tokens {
            return most;
        }
        let bytes = (text.len() as u128 * u128::from(self.max_result_tokens)).checked_div(u128::from(tokens));
        most.min(bytes.and_then(|bytes| usize::try_from(bytes).ok()).unwrap_or(usize::MAX))
    }

    /// `provider/model`.
    pub fn name(&self) -> String {
        format!("{}/{}", self.provider, self.model)
    }

    /// Whether the model reads images of this kind.
    pub(super) fn reads(&self, mime_type: &str) -> bool {
        self.images && self.image_types.is_none_or(|types| types.contains(&mime_type))
    }

    /// Whether the message was made by this very model.
    pub(super) fn made(&self, message: &AssistantMessage) -> bool {
        message.protocol == self.protocol && message.provider == self.provider && message.model == self.model
    }
}
