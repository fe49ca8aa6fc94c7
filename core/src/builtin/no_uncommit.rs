//! The commits of `git` where the tool does not exist: only transcripts of other systems have some.

use std::sync::Arc;

use super::commit::Commit;
use super::shared::Shared;

pub(super) enum Uncommit {}

impl Uncommit {
    pub(super) fn new(_: &Arc<Shared>) -> Result<Uncommit, String> {
        Err("the tool git does not exist on this system".to_owned())
    }

    pub(super) fn undo(&self, _: &Commit<'_>) -> Result<(), String> {
        match *self {}
    }
}
