//! The start of a block: how many there may be, and the ids of calls.

use serde_json::json;

use super::{BlockStart, DeltaEvents, Kind, MADE_ID, MessageBuilder, Open, cut_off};
use crate::depth;
use crate::error::{Error, ErrorKind};
use crate::event::{EventData, MessageUpdate};
use crate::partial::BlockKind;
use crate::table::codes;

/// The most blocks of a message, and the most calls among them: each costs memory and an event, however small it is.
const MAX_BLOCKS: usize = 10_000;
const MAX_CALLS: usize = 1_000;

impl MessageBuilder {
    fn next_index(&self) -> usize {
        self.blocks.len()
    }

    pub(super) fn start(
        &mut self,
        key: u32,
        block: BlockStart,
        is_taken: &mut dyn FnMut(&str) -> bool,
    ) -> Result<DeltaEvents, Error> {
        if self.blocks.contains_key(&key) || self.is_waiting(key) {
            return Err(Error::new(ErrorKind::Protocol, format!("the model's stream starts block {key} twice")));
        }
        if self.blocks.len() + self.waiting.len() >= MAX_BLOCKS {
            return Err(cut_off(&format!("has more than {MAX_BLOCKS} blocks")));
        }
        if matches!(block, BlockStart::ToolCall { .. }) {
            self.calls += 1;
            if self.calls > MAX_CALLS {
                return Err(cut_off(&format!("has more than {MAX_CALLS} tool calls")));
            }
        }
        let mut odd = None;
        let content_index = u32::try_from(self.next_index()).unwrap_or(u32::MAX);
        let (kind, block, update) = match block {
            BlockStart::Text => {
                self.waiting.push(key);
                return Ok((None, None));
            }
            BlockStart::Thinking { redacted } => {
                (Kind::Thinking, BlockKind::Thinking { redacted }, Some(MessageUpdate::ThinkingStart { content_index }))
            }
            BlockStart::ToolCall { id: given, name } => {
                self.grow(given.len() + name.len())?;
                let mut id = given.clone();
                if id.is_empty() || self.ids.contains(&id) {
                    id = self.made_id(content_index, is_taken);
                    let what = if given.is_empty() { "has no id" } else { "repeats an id" };
                    odd = Some(EventData::Diagnostic {
                        code: codes::TOOL_CALL_ID.into(),
                        message: format!("a call of {name} {what}; it is called {id}"),
                        data: Box::new(json!({ "content_index": content_index, "given": given, "id": id })),
                    });
                }
                self.ids.insert(id.clone());
                let update = MessageUpdate::ToolCallStart { content_index, id: id.clone(), name: name.clone() };
                (Kind::ToolCall, BlockKind::ToolCall { id, name }, Some(update))
            }
            BlockStart::Opaque { protocol, data } => {
                depth::check("a block of the model's answer", &data).map_err(|why| Error::new(ErrorKind::Limit, why))?;
                self.grow(data.to_string().len())?;
                (Kind::Opaque, BlockKind::Opaque { protocol, data: *data }, None)
            }
        };
        self.has_content |= !matches!(block, BlockKind::Thinking { redacted: false });
        self.add(key, kind, block);
        Ok((odd, update.map(EventData::MessageUpdate)))
    }

    /// An id for a call that has none of its own. Models number their calls themselves, and every run counts its turns from 1:
    /// the id may be there already.
    fn made_id(&self, content_index: u32, is_taken: &mut dyn FnMut(&str) -> bool) -> String {
        let made = format!("{MADE_ID}{}_{content_index}", self.turn);
        let numbered = (2_u64..).map(|number| format!("{made}_{number}"));
        let mut ids = std::iter::once(made.clone()).chain(numbered);
        ids.find(|id| !self.ids.contains(id) && !is_taken(id)).unwrap_or(made)
    }

    /// Adds a block; gives its index.
    pub(super) fn add(&mut self, key: u32, kind: Kind, block: BlockKind) -> u32 {
        let index = self.log.start(block);
        self.marks += 1;
        let open = Open { index, kind };
        self.blocks.insert(key, open);
        self.order.insert(index, key);
        self.last = Some((key, open));
        index
    }
}
