//! The files of blocks: which block a file makes, and what of a block is a file.

#[cfg(test)]
mod tests;

use std::borrow::Cow;

use crate::error::Error;
use crate::media::{Media, document_text, mime_type_of};
use crate::message::ContentBlock;

impl ContentBlock {
    /// A file as the block of its type: an image, audio, or else a document, which keeps the name.
    pub fn file(media: Media) -> ContentBlock {
        match media.kind().split_once('/') {
            Some(("image", _)) => ContentBlock::Image(Media { name: None, ..media }),
            Some(("audio", _)) => ContentBlock::Audio(Media { name: None, ..media }),
            _ => ContentBlock::Document(media),
        }
    }

    /// The bytes of a file as the block of its type. A type that is not given is recognised by the bytes, or by the end of the
    /// name.
    ///
    /// # Errors
    /// `invalid_argument` when the type is not recognised, or when there are no bytes.
    pub fn from_bytes(bytes: &[u8], mime_type: Option<&str>, name: Option<&str>) -> Result<ContentBlock, Error> {
        let of = || name.map(|name| format!(" {name:?}")).unwrap_or_default();
        if bytes.is_empty() {
            return Err(Error::invalid_argument(format!("the file{} is empty", of())));
        }
        let Some(mime_type) = mime_type.filter(|given| !given.is_empty()).or_else(|| mime_type_of(name, bytes)) else {
            return Err(Error::invalid_argument(format!("the type of the file{} is not recognised; give its mime_type", of())));
        };
        Ok(ContentBlock::file(Media { name: name.map(str::to_owned), ..Media::bytes(bytes, mime_type) }))
    }

    /// The file, of a block that has one.
    pub fn as_media(&self) -> Option<&Media> {
        match self {
            ContentBlock::Image(media) | ContentBlock::Document(media) | ContentBlock::Audio(media) => Some(media),
            ContentBlock::Text { .. }
            | ContentBlock::Thinking { .. }
            | ContentBlock::ToolCall(_)
            | ContentBlock::Opaque { .. } => None,
        }
    }

    /// Whether it has a file.
    pub(crate) fn is_media(&self) -> bool {
        self.as_media().is_some()
    }

    /// Whether it has a file that is more than a text.
    pub(crate) fn is_file(&self) -> bool {
        self.is_media() && self.as_text().is_none()
    }

    /// A text, or a document that is one, as a text.
    pub(crate) fn as_text(&self) -> Option<Cow<'_, str>> {
        match self {
            ContentBlock::Text { text, .. } => Some(text.into()),
            ContentBlock::Document(media) => media.text().map(|text| document_text(media.short_name().as_deref(), &text).into()),
            _ => None,
        }
    }
}
