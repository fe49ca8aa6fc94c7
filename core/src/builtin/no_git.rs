//! The commits of `git` where the tool does not exist: only transcripts of other systems have some.

use std::sync::Arc;

use serde_json::Value;

use super::shared::Shared;

pub(super) struct Commit(());

impl Commit {
    pub(super) fn of_details(details: &Value) -> Option<(&str, Commit)> {
        let is_one = details.get("action")? == "commit";
        Some((details.get("commit")?.as_str().filter(|_| is_one)?, Commit(())))
    }

    pub(super) fn undo(&self, _: &Arc<Shared>) -> Result<(), String> {
        Err("the tool git does not exist on this system".to_owned())
    }
}
