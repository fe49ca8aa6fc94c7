//! The blocks of a message, each kept, replaced or dropped.

use super::constraints::Constraints;
use super::ids::{self, Ids};
use super::log::Log;
use crate::media::Media;
use crate::message::{ContentBlock, ToolCall};
use crate::quirks::ThinkingReplay;
use crate::table::codes;

/// What becomes of a block.
enum Fate {
    Kept,
    Replaced(ContentBlock),
    Dropped,
}

/// The blocks of one message.
pub(super) struct Blocks<'a> {
    pub(super) fit: &'a Constraints,
    /// Which message.
    pub(super) at: usize,
    pub(super) log: &'a mut Log,
}

impl Blocks<'_> {
    fn note(&mut self, code: &'static str, index: usize, text: &str) -> Fate {
        self.log.note(code, self.at, Some(index), || text.to_owned());
        Fate::Dropped
    }

    /// Texts and files of a user or a tool; `None` when all of it fits.
    pub(super) fn of_user_or_tool(mut self, content: &[ContentBlock], of_tool: bool) -> Option<Vec<ContentBlock>> {
        let mut in_unread = false;
        apply(content, |index, block| {
            let unread = matches!(block, ContentBlock::Image(media) if !self.fit.reads_image_type(media));
            let begins = unread && !std::mem::replace(&mut in_unread, unread);
            in_unread = unread;
            match block {
                // Tool results are often empty; a placeholder stands for that.
                ContentBlock::Text { text, .. } if text.trim().is_empty() && of_tool => Fate::Dropped,
                ContentBlock::Text { text, .. } if text.trim().is_empty() => {
                    self.note(codes::EMPTY_BLOCK, index, "the text is empty; it was dropped")
                }
                ContentBlock::Text { text, signature: Some(_) } => Fate::Replaced(ContentBlock::text(text)),
                ContentBlock::Text { .. } => Fate::Kept,
                // Services refuse it.
                ContentBlock::Image(media) if media.is_empty() => {
                    self.note(codes::EMPTY_BLOCK, index, "the image is empty; it was dropped")
                }
                ContentBlock::Image(_) if unread => {
                    let (why, line) = if self.fit.images { UNREAD } else { NO_IMAGES };
                    self.note(codes::IMAGE_REPLACED, index, &format!("{why}; a line of text says that one was here"));
                    if begins { Fate::Replaced(ContentBlock::text(line)) } else { Fate::Dropped }
                }
                ContentBlock::Image(media) | ContentBlock::Document(media) | ContentBlock::Audio(media) => {
                    self.file(index, block, media, of_tool)
                }
                ContentBlock::Thinking { .. } | ContentBlock::ToolCall(_) | ContentBlock::Opaque { .. } => self.note(
                    codes::MISPLACED_BLOCK,
                    index,
                    "only text and files can stand in this message; the block was dropped",
                ),
            }
        })
    }

    /// A file that the model takes, or what stands for it. Where texts are no documents of the format, they are texts; so are
    /// those of results, which are cut where they are long.
    fn file(&mut self, index: usize, block: &ContentBlock, media: &Media, of_tool: bool) -> Fate {
        if matches!(block, ContentBlock::Document(_)) && media.text().is_some_and(|text| text.trim().is_empty()) {
            return self.note(codes::EMPTY_BLOCK, index, "the document is empty; it was dropped");
        }
        if let ContentBlock::Document(_) = block
            && (of_tool || !self.fit.files.text_documents)
            && let Some(text) = block.as_text()
        {
            return Fate::Replaced(ContentBlock::text(text));
        }
        if let Some(why) = self.fit.refuses(block, media) {
            self.note(codes::FILE_REPLACED, index, &format!("{why}; a line of text says that a file was here"));
            return Fate::Replaced(ContentBlock::text(stand_in(block, media, why)));
        }
        let kind = media.kind();
        if media.mime_type.is_empty() || kind == media.mime_type {
            return Fate::Kept;
        }
        let media = Media { mime_type: kind.to_owned(), ..media.clone() };
        Fate::Replaced(match block {
            ContentBlock::Image(_) => ContentBlock::Image(media),
            ContentBlock::Audio(_) => ContentBlock::Audio(media),
            _ => ContentBlock::Document(media),
        })
    }

    /// The blocks of a model's message; `own`: the target made it. `None` when all of it fits.
    pub(super) fn of_assistant(mut self, content: &[ContentBlock], own: bool, ids: &mut Ids) -> Option<Vec<ContentBlock>> {
        ids.next_message();
        apply(content, |index, block| match block {
            _ if is_blank(block) => self.note(codes::EMPTY_BLOCK, index, "the text is empty; it was dropped"),
            ContentBlock::Text { text, signature: Some(_) } if !own && text.trim().is_empty() => Fate::Dropped,
            ContentBlock::Text { text, signature: Some(_) } if !own => Fate::Replaced(ContentBlock::text(text)),
            ContentBlock::Text { .. } => Fate::Kept,
            ContentBlock::Thinking { thinking, signature, redacted } => {
                self.thought(index, thinking, signature.as_deref(), *redacted, own)
            }
            ContentBlock::ToolCall(call) => self.call(index, call, own, ids),
            ContentBlock::Opaque { protocol, .. } if own && *protocol == self.fit.protocol => Fate::Kept,
            ContentBlock::Opaque { protocol, .. } => {
                let text = format!("only the model that made it understands this {protocol} block; it was dropped");
                self.note(codes::OPAQUE_DROPPED, index, &text)
            }
            ContentBlock::Image(_) => {
                self.note(codes::IMAGE_DROPPED, index, "no model takes its own images back; the block was dropped")
            }
            ContentBlock::Document(_) | ContentBlock::Audio(_) => {
                self.note(codes::MISPLACED_BLOCK, index, "a model's message has no files; the block was dropped")
            }
        })
    }

    fn thought(&mut self, index: usize, thinking: &str, signature: Option<&str>, redacted: bool, own: bool) -> Fate {
        let signed = signature.is_some_and(|signature| !signature.is_empty());
        let blank = thinking.trim().is_empty();
        match (own, self.fit.thinking) {
            (true, ThinkingReplay::Dropped) => Fate::Dropped,
            (true, _) if signed => Fate::Kept,
            (true, ThinkingReplay::Kept) if !blank && !redacted => Fate::Kept,
            (true, ThinkingReplay::SignedOrDropped) => {
                self.note(codes::THINKING_DROPPED, index, "the thinking is incomplete: what proves it is missing; it was dropped")
            }
            _ if redacted || blank => self.note(
                codes::THINKING_DROPPED,
                index,
                "the thinking is hidden or empty, and of no use to this model; it was dropped",
            ),
            (own, _) => {
                let why = if own { "it has no signature" } else { "another model wrote it" };
                self.note(codes::THINKING_TO_TEXT, index, &format!("the thinking became text, as {why}"));
                Fate::Replaced(ContentBlock::text(thinking))
            }
        }
    }

    fn call(&mut self, index: usize, call: &ToolCall, own: bool, ids: &mut Ids) -> Fate {
        let (id, name) = (ids.give(&call.id, (self.at, index)), ids::name(&call.name));
        if id != call.id {
            self.note(codes::CALL_ID, index, &format!("the call id {:?} became {id:?}", call.id));
        }
        if name != call.name {
            self.note(codes::CALL_NAME, index, &format!("the tool's name {:?} became {name:?}", call.name));
        }
        let signature = call.signature.clone().filter(|_| own);
        if (&id, &name, &signature) == (&call.id, &call.name, &call.signature) {
            return Fate::Kept;
        }
        Fate::Replaced(ContentBlock::ToolCall(ToolCall { id, name, signature, ..call.clone() }))
    }
}

/// Why an image is replaced, and what stands for it: one line for each row of them.
const NO_IMAGES: (&str, &str) = ("the model reads no images", "(an image was here; this model cannot read images)");
const UNREAD: (&str, &str) =
    ("the model reads no images of this kind", "(an image was here, of a kind that this model cannot read)");

/// The line that stands for a file that the model does not take: what it is, its name, type and address, and why.
fn stand_in(block: &ContentBlock, media: &Media, why: &str) -> String {
    let what = match block {
        ContentBlock::Image(_) => "an image",
        ContentBlock::Audio(_) => "audio",
        _ => "a document",
    };
    let name = media.short_name().map(|name| format!("{:?}", &*name));
    let about = [name, Some(media.kind().to_owned()), media.as_url().map(str::to_owned)];
    let about: Vec<String> = about.into_iter().flatten().filter(|text| !text.is_empty()).collect();
    format!("({what} was here: {}; {why})", about.join(", "))
}

/// The blocks after each has met its fate; `None` when all are kept.
fn apply(content: &[ContentBlock], mut fate: impl FnMut(usize, &ContentBlock) -> Fate) -> Option<Vec<ContentBlock>> {
    let mut changed: Option<Vec<ContentBlock>> = None;
    for (index, block) in content.iter().enumerate() {
        let new = match fate(index, block) {
            Fate::Kept => match &mut changed {
                Some(blocks) => {
                    blocks.push(block.clone());
                    continue;
                }
                None => continue,
            },
            Fate::Replaced(new) => Some(new),
            Fate::Dropped => None,
        };
        changed.get_or_insert_with(|| content.iter().take(index).cloned().collect()).extend(new);
    }
    // A message that never had any.
    if content.is_empty() { Some(Vec::new()) } else { changed }
}

/// Whether a block is an empty text without a signature.
fn is_blank(block: &ContentBlock) -> bool {
    matches!(
        block, ContentBlock::Text { text, signature } if text.trim().is_empty() && signature.as_deref().is_none_or(str::is_empty),
    )
}
