//! Where two values differ first.

use std::fmt::{self, Display, Formatter};

use serde_json::Value;

use crate::error::shortened;

/// The most characters of a value in a text.
const MOST_SHOWN: usize = 160;
/// How many characters of what is equal stand before the place where two texts differ.
const SHOWN_BEFORE: usize = 40;

/// The first place where two values differ.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    /// The place in the value: `messages[2].content`. Empty for the whole.
    pub path: String,
    /// What stands there now; `None` if nothing does.
    pub now: Option<String>,
    /// What was recorded there; `None` if nothing was.
    pub recorded: Option<String>,
}

/// Where the two values differ first, in the order of the recorded one. The order of an object's keys does not count.
pub fn difference(now: &Value, recorded: &Value) -> Option<Difference> {
    difference_at(String::new(), now, recorded)
}

fn difference_at(path: String, now: &Value, recorded: &Value) -> Option<Difference> {
    match (now, recorded) {
        (Value::Object(new), Value::Object(old)) => {
            let of_recorded = old.iter().find_map(|(key, old)| {
                let path = joined(&path, key);
                match new.get(key) {
                    Some(new) => difference_at(path, new, old),
                    None => Some(Difference { path, now: None, recorded: Some(shown(old)) }),
                }
            });
            of_recorded.or_else(|| {
                let (key, new) = new.iter().find(|(key, _)| !old.contains_key(*key))?;
                Some(Difference { path: joined(&path, key), now: Some(shown(new)), recorded: None })
            })
        }
        (Value::Array(new), Value::Array(old)) => (0..new.len().max(old.len())).find_map(|at| {
            let path = format!("{path}[{at}]");
            match (new.get(at), old.get(at)) {
                (Some(new), Some(old)) => difference_at(path, new, old),
                (new, old) => Some(Difference { path, now: new.map(shown), recorded: old.map(shown) }),
            }
        }),
        (Value::String(new), Value::String(old)) if new != old => {
            let equal = new.chars().zip(old.chars()).take_while(|(new, old)| new == old).count();
            let (now, recorded) = (text_from(new, equal), text_from(old, equal));
            Some(Difference { path, now: Some(now), recorded: Some(recorded) })
        }
        (now, recorded) => (now != recorded).then(|| Difference { path, now: Some(shown(now)), recorded: Some(shown(recorded)) }),
    }
}

fn joined(path: &str, key: &str) -> String {
    let is_name = !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-');
    match (path.is_empty(), is_name) {
        (_, false) => format!("{path}[{key:?}]"),
        (true, true) => key.to_owned(),
        (false, true) => format!("{path}.{key}"),
    }
}

fn shown(value: &Value) -> String {
    shortened(&value.to_string(), MOST_SHOWN)
}

/// A text from shortly before the place where it differs from another.
fn text_from(text: &str, equal: usize) -> String {
    let skipped = equal.saturating_sub(SHOWN_BEFORE);
    let rest: String = text.chars().skip(skipped).collect();
    let rest = if skipped > 0 { format!("…{rest}") } else { rest };
    shortened(&Value::String(rest).to_string(), MOST_SHOWN)
}

impl Display for Difference {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let place = if self.path.is_empty() { "it" } else { &self.path };
        match (&self.now, &self.recorded) {
            (Some(now), Some(recorded)) => write!(f, "{place} is {now}, and was recorded as {recorded}"),
            (Some(now), None) => write!(f, "{place} is {now}, and was not there in the recording"),
            (None, Some(recorded)) => write!(f, "{place} is not there, and was recorded as {recorded}"),
            (None, None) => write!(f, "{place} differs"),
        }
    }
}
