//! Takes back a commit that the tool has made.

use std::sync::Arc;

use serde_json::Value;

use super::Git;
use super::arguments::words;
use crate::builtin::shared::Shared;
use crate::cancel::CancelToken;
use crate::runtime::Runtime;

/// A commit of a transcript.
pub(in crate::builtin) struct Commit {
    id: String,
    /// `None`: it was the first one.
    parent: Option<String>,
    root: String,
}

impl Commit {
    /// As the details of a result have it, with its id; `None` where they are of another action.
    pub(in crate::builtin) fn of_details(details: &Value) -> Option<(&str, Commit)> {
        let text = |field: &str| details.get(field).and_then(Value::as_str);
        let is_id = |text: &&str| text.len() >= 40 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let id = text("commit").filter(|_| text("action") == Some("commit")).filter(is_id)?;
        let parent = match details.get("parent")? {
            Value::Null => None,
            _ => Some(text("parent").filter(is_id)?.to_owned()),
        };
        Some((id, Commit { id: id.to_owned(), parent, root: text("root")?.to_owned() }))
    }

    /// Has the branch end before the commit again. Its changes stay in the files, and are staged.
    ///
    /// # Errors
    /// Why it cannot be.
    pub(in crate::builtin) fn undo(&self, shared: &Arc<Shared>) -> Result<(), String> {
        if self.root != shared.root.shown() {
            return Err(format!("it was made in another root, {}", self.root));
        }
        let git = Git::new(shared).map_err(|error| error.message().to_owned())?;
        // On a thread and a runtime of its own: the caller may be in a runtime, which must not wait for itself.
        let undone = std::thread::scope(|threads| {
            let undo = || Runtime::new().map_err(|error| error.message().to_owned())?.block_on(self.undo_with(&git));
            threads.spawn(undo).join()
        });
        undone.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }

    async fn undo_with(&self, git: &Arc<Git>) -> Result<(), String> {
        let cancel = CancelToken::new();
        let settings = git.settings(&cancel).await?;
        let is_last = git.head(&settings, &cancel).await.is_ok_and(|head| head == self.id);
        if !is_last {
            return Err("it is not the last commit of what is checked out".to_owned());
        }
        if git.succeed(words(&["rev-parse", "--verify", "--quiet", "HEAD^2"]), &settings, &cancel).await.is_ok() {
            return Err("it is a merge, of which more than the changes would be lost".to_owned());
        }
        let undoing: &[&str] = match &self.parent {
            Some(parent) => &["reset", "--soft", "--quiet", parent, "--"],
            None => &["update-ref", "-d", "HEAD", &self.id],
        };
        git.succeed(words(undoing), &settings, &cancel).await.map(drop)
    }
}
