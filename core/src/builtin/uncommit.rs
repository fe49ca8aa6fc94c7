//! Takes back commits that the tool `git` has made.

use std::sync::Arc;
use std::time::Duration;

use super::commit::Commit;
use super::git::{Git, Head, Settings, words};
use super::shared::Shared;
use crate::cancel::CancelToken;
use crate::runtime::Runtime;

/// How long each call of git may take: the conversation is locked meanwhile.
const LIMIT: Duration = Duration::from_secs(10);

/// Takes back commits. Blocks.
pub(super) struct Uncommit {
    git: Arc<Git>,
    settings: Settings,
    runtime: Runtime,
}

impl Uncommit {
    /// # Errors
    /// The repository cannot be used.
    pub(super) fn new(shared: &Arc<Shared>) -> Result<Uncommit, String> {
        let message = |error: crate::error::Error| error.message().to_owned();
        let git = Git::new(shared).map_err(message)?;
        let git = Arc::new(git.at_most(LIMIT));
        let runtime = Runtime::new().map_err(message)?;
        let settings = block_on(&runtime, git.settings(&CancelToken::new()))?;
        Ok(Uncommit { git, settings, runtime })
    }

    /// Has the branch end before the commit again. Its changes stay in the files, and are staged.
    ///
    /// # Errors
    /// Why it cannot be.
    pub(super) fn undo(&self, commit: &Commit<'_>) -> Result<(), String> {
        block_on(&self.runtime, self.undo_checked(commit))
    }

    /// Each thing that the transcript has is compared with the repository: it may have been edited, or be another one's.
    async fn undo_checked(&self, asked: &Commit<'_>) -> Result<(), String> {
        let cancel = CancelToken::new();
        let Head { branch, commit, parents } = self.git.head(&self.settings, &cancel).await?;
        if commit != asked.id {
            return Err("it is not the last commit of what is checked out".to_owned());
        }
        let Some(of) = asked.branch else { return Err("it was made with a detached HEAD, on no branch".to_owned()) };
        let Some(branch) = branch.filter(|branch| branch == of) else {
            return Err(format!("it was committed to {of}, and that is not checked out"));
        };
        let undoing = match (&*parents, asked.parent) {
            ([parent], Some(given)) if parent == given => words(&["update-ref", "-m", "undo", "HEAD", given, asked.id]),
            ([], None) => words(&["update-ref", "-m", "undo", "-d", &branch, asked.id]),
            ([_, _, ..], _) => return Err("it is a merge, of which more than the changes would be lost".to_owned()),
            _ => return Err("the commit before it is another one than the transcript has".to_owned()),
        };
        // Fails if the branch has moved since.
        self.git.succeed(undoing, &self.settings, &cancel).await.map(drop)
    }
}

/// On a thread of its own: the caller may be in a runtime, which must not block on itself.
fn block_on<T: Send>(runtime: &Runtime, work: impl Future<Output = Result<T, String>> + Send) -> Result<T, String> {
    let done = std::thread::scope(|threads| threads.spawn(|| runtime.block_on(work)).join());
    done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}
