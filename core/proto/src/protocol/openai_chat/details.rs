//! OpenRouter's `reasoning_details`: <https://openrouter.ai/docs/use-cases/reasoning-tokens>. A list of items that come in
//! pieces and go back whole: texts and summaries, each perhaps with the provider's signature, and encrypted items, which may
//! name the call they belong to, before or after it comes.

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::surrogate;

/// The items that have not gone into a block yet.
#[derive(Default)]
pub(super) struct Details(Vec<Map<String, Value>>);

impl Details {
    /// Takes the items of a chunk in; gives their text.
    pub(super) fn add(&mut self, raw: &RawValue) -> Option<String> {
        if matches!(raw.get(), "[]" | "null") {
            return None;
        }
        let items: Vec<Map<String, Value>> = surrogate::read(raw.get(), |text| serde_json::from_str(text)).ok()?;
        let mut text = String::new();
        for item in items {
            text.extend(["text", "summary"].into_iter().filter_map(|name| item.get(name)?.as_str()));
            self.merge(item);
        }
        Some(text).filter(|text| !text.is_empty())
    }

    /// A text goes on where the last of its kind and index was; all else stands for itself.
    fn merge(&mut self, item: Map<String, Value>) {
        let place = |item: &Map<String, Value>| (item.get("type").cloned(), item.get("index").cloned());
        let is_new = item.contains_key("data") || !self.0.last().is_some_and(|last| place(last) == place(&item));
        let Some(last) = self.0.last_mut().filter(|_| !is_new) else {
            self.0.push(item);
            return;
        };
        for (name, value) in item {
            match (last.get_mut(&name), value) {
                (Some(Value::String(known)), Value::String(more)) if matches!(name.as_str(), "text" | "summary") => {
                    known.push_str(&more);
                }
                // What only repeats or is empty says nothing new.
                (Some(Value::String(known)), Value::String(new)) if new.is_empty() || *known == new => {}
                (Some(_), Value::Null) => {}
                (Some(known), new) => *known = new,
                (None, new) => {
                    last.insert(name, new);
                }
            }
        }
    }

    /// Moves the items that name this call to where the call keeps them.
    pub(super) fn give(&mut self, id: &str, to: &mut Details) {
        if !self.0.is_empty() && !id.is_empty() {
            to.0.extend(self.0.extract_if(.., |item| item.get("id").is_some_and(|named| named == id)));
        }
    }

    /// All items as a list in JSON, and none are left.
    pub(super) fn take_list(&mut self) -> Option<String> {
        let items = std::mem::take(&mut self.0);
        (!items.is_empty()).then(|| Value::Array(items.into_iter().map(Value::Object).collect()).to_string())
    }
}
