//! The fallbacks of a turn: which model is called when one has failed.

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::run_state::RunState;
use crate::error::{Error, ErrorKind, shortened};
use crate::model_entry::ModelEntry;
use crate::table::codes;

/// The fallbacks of a turn.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Fallbacks {
    /// How many of them were tried.
    tried: usize,
    /// Which model failed first, and with what: it was meant to answer.
    first_failure: Option<String>,
}

impl Fallbacks {
    pub(super) fn begin_turn(&mut self) {
        *self = Fallbacks::default();
    }

    /// Takes the next model for the rest of the turn, if there is one that may help. Not after content, which was emitted.
    pub(super) fn switch_model(&mut self, run: &mut RunState, error: &Error, has_content: bool) -> bool {
        // When a hook has failed, it would fail with every model.
        if error.kind() == ErrorKind::Callback || run.is_interrupted() || has_content {
            return false;
        }
        let config = run.config();
        let Some((to, model)) = config.fallbacks.get(self.tried).cloned() else {
            return false;
        };
        self.tried = self.tried.saturating_add(1);
        let from = config.model.as_ref().map_or_else(|_| config.model_name.clone(), ModelEntry::name);
        let message = format!("{from} failed ({error}); {to} is asked instead");
        run.emitter.diagnostic(codes::FALLBACK, message, json!({ "from": from, "to": to, "error": error }));
        let failed = || format!("before that, {from} failed: {}", shortened(error.message(), 200));
        self.first_failure.get_or_insert_with(failed);
        run.turn.set_refused_limit(None);
        run.setup.set_model(model);
        true
    }

    /// The error of the last model, and with it which model failed first.
    pub(super) fn explain(&self, error: Error) -> Error {
        self.first_failure.iter().fold(error, |error, first| error.and(first))
    }
}
