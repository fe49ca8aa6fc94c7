//! Repair that goes on from where the last one ended.

use std::sync::Arc;

use super::constraints::Constraints;
use super::repairer::Repairer;
use crate::message::Message;

/// What was repaired for the request before, so that the next one repairs only what the transcript gained. One per run and
/// model; it notices by itself when the transcript was changed or other constraints hold.
#[derive(Debug, Clone, Default)]
pub struct RepairCache {
    repairer: Option<Repairer>,
    /// The messages that it was given.
    transcript: Vec<Arc<Message>>,
}

impl RepairCache {
    /// Who repairs this transcript, and the messages that it has not had yet.
    pub(super) fn repairer_for<'a>(
        &mut self,
        transcript: &'a [Arc<Message>],
        fit: &Constraints,
    ) -> (&mut Repairer, &'a [Arc<Message>]) {
        let known = &self.transcript;
        let grew = transcript.len() >= known.len() && known.iter().zip(transcript).all(|(a, b)| Arc::ptr_eq(a, b));
        let kept = self.repairer.take().filter(|repairer| grew && repairer.fit == *fit);
        if kept.is_none() {
            self.transcript.clear();
        }
        let rest = transcript.get(self.transcript.len()..).unwrap_or_default();
        self.transcript.extend_from_slice(rest);
        (self.repairer.insert(kept.unwrap_or_else(|| Repairer::new(fit.clone()))), rest)
    }
}
