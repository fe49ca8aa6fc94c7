//! What a conversation remembers of decisions, from run to run.

use super::{ActiveRun, Conversation};
use crate::error::Error;
use crate::gate::{Remembered, Rule};
use crate::session::JournalRecord;

impl<R: ActiveRun> Conversation<R> {
    /// What was decided for always. During a run, it is as it was at the end of the last turn.
    pub fn remembered(&self) -> &Remembered {
        &self.remembered
    }

    /// Forgets what was decided for always about this rule; `None`: all of it.
    ///
    /// # Errors
    /// `busy` while a run is active.
    pub fn forget(&mut self, rule: Option<&Rule>) -> Result<(), Error> {
        self.check_idle("its decisions cannot be forgotten")?;
        let mut remembered = self.remembered.clone();
        match rule {
            Some(rule) => remembered.forget(rule),
            None => remembered = Remembered::default(),
        }
        self.set_remembered(remembered);
        Ok(())
    }

    /// Takes the place of what is remembered.
    pub(super) fn set_remembered(&mut self, remembered: Remembered) {
        if remembered != self.remembered {
            self.record_change(|| JournalRecord::Remembered(remembered.clone()));
            self.remembered = remembered;
        }
    }

    /// What the active run has added: it has recorded that itself.
    pub(super) fn take_remembered(&mut self) {
        if let Some(active) = &mut self.active {
            self.remembered.clone_from(active.machine().remembered());
        }
    }
}
