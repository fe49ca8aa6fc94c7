//! What a model takes of a transcript, as data.

use super::tokens;
use crate::media::{Media, is_text};
use crate::message::{AssistantMessage, ContentBlock};
use crate::model_spec::ModelSpec;
use crate::protocol::FileTypes;
use crate::quirks::{CallIds, FileInput, ThinkingReplay};

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
    /// Whether it takes images by their address.
    pub image_urls: bool,
    /// Which documents it reads, beside texts.
    pub documents: FileInput,
    /// Which audio it hears.
    pub audio: FileInput,
    /// The media types of files that its format carries.
    pub files: FileTypes,
    /// The most bytes of a result's text that go to the model whole.
    pub max_result_bytes: usize,
    /// The most tokens of a result's text, about, that go to the model at once; 0 for no limit.
    pub max_result_tokens: u64,
    /// Whether the model has a tool to read on in a result that was cut.
    pub reads_on: bool,
}

impl Constraints {
    /// For a model that takes messages unchanged, except files that its spec does not list as input.
    pub fn of_spec(spec: &ModelSpec, protocol: &str) -> Constraints {
        let reads = |kind: &str| spec.input.as_ref().is_none_or(|kinds| kinds.iter().any(|known| known == kind));
        let files = |kind: &str| if reads(kind) { FileInput::DataOrUrl } else { FileInput::No };
        let (images, documents, audio) = (reads("image"), files("document"), files("audio"));
        Constraints { images, documents, audio, ..Constraints::new(&spec.provider, protocol, &spec.id) }
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
            image_urls: true,
            documents: FileInput::DataOrUrl,
            audio: FileInput::DataOrUrl,
            files: FileTypes::ALL,
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

    /// Whether the model reads images of this one's type; one whose type is not known may be.
    pub(super) fn reads_image_type(&self, image: &Media) -> bool {
        self.images && (image.kind().is_empty() || carries(self.files.images, image))
    }

    /// Why the model does not get this file, if it does not. The type of an image was looked at before.
    pub(super) fn refuses(&self, block: &ContentBlock, media: &Media) -> Option<&'static str> {
        let by_address = media.as_url().is_some();
        if media.as_url().is_some_and(|url| !self.files.any_scheme && !url.starts_with("https://") && !url.starts_with("http://"))
        {
            return Some("this model reads no addresses of this kind");
        }
        let (input, types, none, of_type, of_address) = match block {
            ContentBlock::Image(_) => {
                return (by_address && !self.image_urls).then_some("this model reads images only by their data");
            }
            ContentBlock::Audio(_) => (
                self.audio,
                self.files.audio,
                "this model hears no audio",
                "this model hears no audio of this type",
                "this model hears audio only by its data",
            ),
            _ => (
                self.documents,
                self.files.documents,
                "this model reads no documents of this type",
                "this model reads no documents of this type",
                "this model reads documents only by their data",
            ),
        };
        let is_document = matches!(block, ContentBlock::Document(_));
        let text = media.text();
        match input {
            _ if is_document && text.is_some() && self.files.text_documents => None,
            _ if is_document && text.is_none() && !by_address && is_text(media.kind()) => Some("its data is not a text in UTF-8"),
            FileInput::No => Some(none),
            // Of an address the type may not be known; the server knows.
            _ if !(carries(types, media) || by_address && media.kind().is_empty()) => Some(of_type),
            FileInput::Data if by_address => Some(of_address),
            FileInput::Data | FileInput::DataOrUrl => None,
        }
    }

    /// Whether the message was made by this very model.
    pub(super) fn made(&self, message: &AssistantMessage) -> bool {
        message.protocol == self.protocol && message.provider == self.provider && message.model == self.model
    }
}

fn carries(types: Option<&'static [&'static str]>, media: &Media) -> bool {
    types.is_none_or(|types| types.contains(&media.kind()))
}
