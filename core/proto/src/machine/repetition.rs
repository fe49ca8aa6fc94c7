//! The same tool call again and again.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// How many times in a row the model has made the same call.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Repetition {
    count: u32,
    name: Arc<str>,
    arguments: Arc<Map<String, Value>>,
    raw_arguments: Option<String>,
}

impl Repetition {
    /// Counts a call: how many times in a row it has been made.
    pub(super) fn count(&mut self, name: &Arc<str>, arguments: &Arc<Map<String, Value>>, raw: Option<&String>) -> u32 {
        if self.count == 0 || self.name != *name || self.arguments != *arguments || self.raw_arguments.as_ref() != raw {
            let (name, arguments) = (Arc::clone(name), Arc::clone(arguments));
            *self = Repetition { count: 0, name, arguments, raw_arguments: raw.cloned() };
        }
        self.count = self.count.saturating_add(1);
        self.count
    }

    /// Whether it is reported: the third one in a row, then whenever their number has doubled, and the one that ends the run.
    pub(super) fn is_reported(&self, most: u32) -> bool {
        self.count == most || (self.count.is_multiple_of(3) && (self.count / 3).is_power_of_two())
    }

    /// Whether the model has made the last call as often as that, which 0 allows.
    pub(super) fn is_at(&self, most: u32) -> bool {
        most != 0 && self.count >= most
    }

    /// The row is over: the model has answered without a call.
    pub(super) fn end(&mut self) {
        self.count = 0;
    }
}
