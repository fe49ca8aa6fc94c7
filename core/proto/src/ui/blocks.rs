//! The blocks of the message that is being written, which both protocols name by ids of their own.

/// What a block is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Thinking,
    Call,
}

/// A block that has begun.
#[derive(Debug)]
pub(super) struct Block {
    index: u32,
    pub(super) kind: Kind,
    /// Its id in the protocol.
    pub(super) id: String,
    /// Whether it has any text yet.
    pub(super) is_empty: bool,
}

/// The blocks that have begun and not ended: mostly one.
#[derive(Debug, Default)]
pub(super) struct Blocks(Vec<Block>);

impl Blocks {
    pub(super) fn begin(&mut self, index: u32, kind: Kind, id: String) {
        self.0.push(Block { index, kind, id, is_empty: true });
    }

    pub(super) fn get(&mut self, index: u32) -> Option<&mut Block> {
        self.0.iter_mut().find(|block| block.index == index)
    }

    pub(super) fn end(&mut self, index: u32) -> Option<Block> {
        let at = self.0.iter().position(|block| block.index == index)?;
        Some(self.0.remove(at))
    }

    /// Takes all: the message was aborted or has failed.
    pub(super) fn end_all(&mut self) -> Vec<Block> {
        std::mem::take(&mut self.0)
    }
}
