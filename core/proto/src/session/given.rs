//! Records that an application gives as JSON.

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::kinds::{Fields, KINDS, record_of};
use super::record::JournalRecord;
use crate::did_you_mean::{Spelling, unknown_name};
use crate::json_error::{Unread, read_value, shown};

/// What each record that was read from a journal has beside its fields; it gets others where it is appended.
const OF_EACH: [&str; 3] = ["kind", "seq", "at"];

/// For errors.
const EXAMPLE: &str = r#"{"kind": "message", "message": {…}}"#;

impl JournalRecord {
    /// A record in the JSON of the journal: `{kind, …}`. `seq` and `at`, which a record from a journal has, do not count.
    ///
    /// # Errors
    /// Where the value is wrong, and how; also for a field that the kind does not have.
    pub fn given(value: Value) -> Result<JournalRecord, Unread> {
        let Value::Object(map) = &value else {
            return Err(format!("expected a record such as {EXAMPLE}, got {}", shown(&value)).into());
        };
        let kind = match map.get("kind") {
            Some(Value::String(kind)) => kind.clone(),
            Some(other) => return Err(format!("kind: expected text, got {}", shown(other)).into()),
            None => return Err(format!("kind is missing; a record is {EXAMPLE}, for example").into()),
        };
        let unknown = |what, name: &str, known: &[&str]| {
            Unread::from(unknown_name(what, name, known.iter().copied(), Spelling::Snake).message().to_owned())
        };
        let Some((_, fields)) = KINDS.iter().find(|(word, _)| *word == kind) else {
            let words: Vec<&str> = KINDS.iter().map(|(word, _)| *word).collect();
            return Err(unknown("kind", &kind, &words));
        };
        if let Some(name) = map.keys().find(|name| !fields.iter().chain(&OF_EACH).any(|known| known == name)) {
            return Err(unknown("field", name, fields).at(&kind));
        }
        // Each of the words has a type.
        let read = record_of(&kind, &Given(&value)).unwrap_or_else(|| Err(kind.clone().into()));
        read.map_err(|unread| unread.at(&kind))
    }
}

struct Given<'a>(&'a Value);

impl Fields for Given<'_> {
    type Error = Unread;

    fn read<T: DeserializeOwned>(&self) -> Result<T, Unread> {
        read_value(self.0)
    }
}
