//! The conversation of a run that was saved and loaded.

use std::sync::Arc;

use super::origin::Origin;
use super::{ActiveRun, Conversation};

impl<R: ActiveRun> Conversation<R> {
    /// The conversation of a run that was loaded, up to the last event that it has emitted.
    pub fn of_run(mut run: R) -> Conversation<R> {
        let mut origin = Origin::default();
        origin.import(run.machine().origin().to_owned());
        let messages = Arc::new(run.machine().transcript().to_vec());
        let remembered = run.machine().remembered().clone();
        Conversation { messages, origin, remembered, active: Some(run), ..Conversation::default() }
    }
}
