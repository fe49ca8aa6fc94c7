//! The calls of an answer, and which of them a piece belongs to.

use super::details::Details;
use crate::delta::{BlockStart, Delta};
use crate::partial::parse_arguments;

/// A call that is being written. It starts once its name and id are known; as there are servers that give no ids, at the latest
/// with its arguments or its end.
#[derive(Default)]
pub(super) struct Call {
    pub(super) index: Option<i64>,
    pub(super) id: String,
    pub(super) name: String,
    pub(super) key: Option<u32>,
    /// What has come of its arguments.
    pub(super) arguments: String,
    pub(super) details: Details,
    pub(super) extra: Option<String>,
}

impl Call {
    /// Announces the call, with what has come of its arguments; gives its key.
    pub(super) fn start(&mut self, next_key: &mut u32, out: &mut Vec<Delta>) -> u32 {
        let key = *next_key;
        *next_key += 1;
        self.key = Some(key);
        out.push(Delta::Start { key, block: BlockStart::ToolCall { id: self.id.clone(), name: self.name.clone() } });
        if !self.arguments.is_empty() {
            out.push(Delta::Append { key, text: self.arguments.clone() });
        }
        key
    }

    /// Whether it was announced and its arguments have come to their end. None at all are an empty object.
    pub(super) fn is_whole(&self) -> bool {
        self.key.is_some() && matches!(parse_arguments(&self.arguments), (_, None))
    }
}

/// Which call a piece belongs to, as servers really number them: the same index is the same call unless it comes with a
/// new id and a new name; without an index the id decides, else the place: of a list of such pieces, `place` is how many are
/// left, and the last calls go on in their order. Calls that began without an index have their place as one.
pub(super) fn find(calls: &[Call], index: Option<i64>, id: &str, name: &str, place: usize) -> Option<usize> {
    match index {
        Some(index) => {
            let known = calls
                .iter()
                .rposition(|call| call.index == Some(index))
                .filter(|at| calls.get(*at).is_some_and(|c| id.is_empty() || c.id == id || c.id.is_empty() || name.is_empty()));
            let by_place = usize::try_from(index)
                .ok()
                .filter(|at| id.is_empty() && name.is_empty() && calls.get(*at).is_some_and(|call| call.index.is_none()));
            known.or(by_place)
        }
        None if !id.is_empty() => calls.iter().position(|call| call.id == id),
        None if name.is_empty() => calls.len().checked_sub(place.max(1)).or(calls.len().checked_sub(1)),
        None => None,
    }
}
