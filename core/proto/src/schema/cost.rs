//! What checking a value against a schema costs at most, found out before it is done: schemas may come from elsewhere, and one of
//! a kilobyte can ask for more steps than a machine has, or for more stack.
//!
//! The steps are those of collecting all errors, where no schema of `anyOf` ends the search. They are counted without being
//! taken: what a part of the schema costs at a part of the value is computed once, and a reference adds it again.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::patterns::Patterns;

/// The most steps of a check.
const MAX_STEPS: u64 = 10_000_000;

/// The most steps of a check that finds the errors: each may be kept for a while.
const MAX_STEPS_OF_ERRORS: u64 = 30_000;

/// The most steps inside of each other: each takes some of the stack.
const MAX_NESTING: u32 = 300;

/// The most parts of the schema at parts of the value that are looked at.
const MAX_KNOWN: usize = 1_000_000;

/// What a check costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cost {
    steps: u64,
    nesting: u32,
}

impl Cost {
    const ONE: Cost = Cost { steps: 1, nesting: 1 };
    const ENDLESS: Cost = Cost { steps: u64::MAX, nesting: u32::MAX };

    /// The cost of checking this value.
    pub(super) fn of(schema: &Value, patterns: &Patterns, value: &Value) -> Cost {
        Counter::new(schema, patterns).of(schema, value)
    }

    /// At least the cost of checking this value against a plain schema of so many parts, which refers to nothing: each part is
    /// checked once at most at each part of the value. How deep a schema is has a limit that is far lower than ours.
    pub(super) fn at_most(parts: u64, value: &Value) -> Cost {
        Cost { steps: parts.saturating_mul(count(value)), nesting: Cost::ONE.nesting }
    }

    /// The highest cost of a part of the schema, whatever the value: high where it leads back to itself and not into the value.
    pub(super) fn of_any(schema: &Value, patterns: &Patterns) -> Cost {
        let counter = &mut Counter::new(schema, patterns);
        let mut highest = Cost::ONE;
        let mut parts = vec![schema];
        while let Some(part) = parts.pop() {
            if part.is_object() {
                highest.and(counter.of(part, &Value::Null));
            }
            match part {
                Value::Object(map) => parts.extend(map.values()),
                Value::Array(items) => parts.extend(items),
                _ => {}
            }
        }
        highest
    }

    fn and(&mut self, inner: Cost) {
        self.steps = self.steps.saturating_add(inner.steps);
        self.nesting = self.nesting.max(inner.nesting.saturating_add(1));
    }

    /// Whether such a check is refused.
    pub(super) fn is_too_high(self) -> bool {
        self.steps > MAX_STEPS || self.nesting > MAX_NESTING
    }

    /// Whether its errors are not looked for.
    pub(super) fn is_too_high_for_errors(self) -> bool {
        self.steps > MAX_STEPS_OF_ERRORS
    }
}

/// How many values a value consists of.
pub(super) fn count(value: &Value) -> u64 {
    match value {
        Value::Array(items) => 1 + items.iter().map(count).sum::<u64>(),
        Value::Object(map) => 1 + map.values().map(count).sum::<u64>(),
        _ => 1,
    }
}

struct Counter<'a> {
    root: &'a Value,
    patterns: &'a Patterns,
    /// Parts of the schema that references lead to by a name: `$id`, `$anchor`, `$dynamicAnchor`.
    named: Vec<&'a Value>,
    /// By the addresses of the parts of schema and value; `None` while it is computed.
    known: HashMap<(*const Value, *const Value), Option<Cost>>,
    depth: u32,
}

impl<'a> Counter<'a> {
    fn new(root: &'a Value, patterns: &'a Patterns) -> Counter<'a> {
        let (mut named, mut parts) = (Vec::new(), vec![root]);
        while let Some(part) = parts.pop() {
            match part {
                Value::Object(map) => {
                    if ["$id", "id", "$anchor", "$dynamicAnchor", "$recursiveAnchor"].iter().any(|name| map.contains_key(*name)) {
                        named.push(part);
                    }
                    parts.extend(map.values());
                }
                Value::Array(items) => parts.extend(items),
                _ => {}
            }
        }
        Counter { root, patterns, named, known: HashMap::new(), depth: 0 }
    }

    fn of(&mut self, schema: &'a Value, value: &Value) -> Cost {
        let Value::Object(keywords) = schema else {
            return Cost::ONE;
        };
        let key = (std::ptr::from_ref(schema), std::ptr::from_ref(value));
        match self.known.get(&key) {
            Some(Some(cost)) => return *cost,
            // It comes back to itself at the same place of the value.
            Some(None) => return Cost::ENDLESS,
            None => {}
        }
        if self.depth > MAX_NESTING || self.known.len() > MAX_KNOWN {
            return Cost::ENDLESS;
        }
        self.known.insert(key, None);
        self.depth += 1;
        let cost = self.of_keywords(keywords, value);
        self.depth -= 1;
        self.known.insert(key, Some(cost));
        cost
    }

    fn of_keywords(&mut self, keywords: &'a Map<String, Value>, value: &Value) -> Cost {
        let mut cost = Cost::ONE;
        for (keyword, part) in keywords {
            match keyword.as_str() {
                "$ref" | "$dynamicRef" | "$recursiveRef" => {
                    for target in self.targets(part) {
                        cost.and(self.of(target, value));
                    }
                }
                "allOf" | "anyOf" | "oneOf" => {
                    for schema in part.as_array().into_iter().flatten() {
                        cost.and(self.of(schema, value));
                    }
                }
                "not" | "if" | "then" | "else" => cost.and(self.of(part, value)),
                "dependentSchemas" | "dependencies" => {
                    for schema in part.as_object().into_iter().flat_map(Map::values) {
                        cost.and(self.of(schema, value));
                    }
                }
                "properties" => {
                    for (name, schema) in part.as_object().into_iter().flatten() {
                        if let Some(inner) = value.get(name) {
                            cost.and(self.of(schema, inner));
                        }
                    }
                }
                "patternProperties" => {
                    for (pattern, schema) in part.as_object().into_iter().flatten() {
                        for name in value.as_object().into_iter().flat_map(Map::keys) {
                            cost.and(self.of_match(pattern, name));
                        }
                        self.of_each(schema, value, &mut cost);
                    }
                }
                "additionalProperties" | "unevaluatedProperties" | "additionalItems" | "unevaluatedItems" | "contains" => {
                    self.of_each(part, value, &mut cost);
                }
                "items" | "prefixItems" => match part {
                    Value::Array(schemas) => {
                        for (schema, inner) in schemas.iter().zip(value.as_array().into_iter().flatten()) {
                            cost.and(self.of(schema, inner));
                        }
                    }
                    schema if value.is_array() => self.of_each(schema, value, &mut cost),
                    _ => {}
                },
                "propertyNames" => {
                    for name in value.as_object().into_iter().flat_map(Map::keys) {
                        // Another value each time, which nothing is known of.
                        let name = Value::String(name.clone());
                        let of_name = Counter { known: HashMap::new(), named: self.named.clone(), ..*self }.of(part, &name);
                        cost.and(of_name);
                    }
                }
                "enum" => cost.steps = cost.steps.saturating_add(part.as_array().map_or(0, Vec::len) as u64 / 16),
                "pattern" => {
                    if let (Some(pattern), Some(text)) = (part.as_str(), value.as_str()) {
                        cost.and(self.of_match(pattern, text));
                    }
                }
                // Each pair may be compared.
                "uniqueItems" => {
                    let items = value.as_array().map_or(0, Vec::len) as u64;
                    cost.steps = cost.steps.saturating_add(items.saturating_mul(items) / 16);
                }
                _ => {}
            }
        }
        // Whether a part was looked at is asked of all the rest, part by part.
        if keywords.contains_key("unevaluatedProperties") || keywords.contains_key("unevaluatedItems") {
            let parts = value.as_object().map(Map::len).or(value.as_array().map(Vec::len)).unwrap_or_default() as u64;
            cost.steps = cost.steps.saturating_mul(parts.max(1) + 1);
        }
        cost
    }

    fn of_match(&self, pattern: &str, text: &str) -> Cost {
        self.patterns.steps(pattern, text).map_or(Cost::ENDLESS, |steps| Cost { steps, nesting: 1 })
    }

    fn of_each(&mut self, schema: &'a Value, value: &Value, cost: &mut Cost) {
        match value {
            Value::Array(items) => items.iter().for_each(|inner| cost.and(self.of(schema, inner))),
            Value::Object(map) => map.values().for_each(|inner| cost.and(self.of(schema, inner))),
            _ => {}
        }
    }

    /// Where a reference may lead. Several places where names are used more than once: each of them counts.
    fn targets(&self, reference: &Value) -> Vec<&'a Value> {
        let text = reference.as_str().unwrap_or_default();
        let (address, fragment) = text.split_once('#').unwrap_or((text, ""));
        let bases: Vec<&'a Value> = match address.rsplit('/').next() {
            None | Some("") => self.named.iter().copied().filter(|part| part.get("$id").is_some()).chain([self.root]).collect(),
            Some(name) => self.named.iter().copied().filter(|part| is_called(part, name)).collect(),
        };
        let found: Vec<&'a Value> = if fragment.is_empty() && !address.is_empty() {
            bases
        } else if fragment.is_empty() || fragment.starts_with('/') {
            // Beside the root, only what is a document of its own begins a pointer.
            let pointer = unescaped(fragment);
            let bases = bases.into_iter().filter(|base| fragment.starts_with('/') || std::ptr::eq(*base, self.root));
            bases.filter_map(|base| base.pointer(&pointer)).collect()
        } else {
            self.named.iter().copied().filter(|part| has_anchor(part, fragment)).collect()
        };
        let mut different: Vec<&'a Value> = Vec::new();
        for target in found {
            if !different.iter().any(|known| std::ptr::eq(*known, target)) {
                different.push(target);
            }
        }
        different
    }
}

/// Whether the address of a part of the schema ends in this name.
fn is_called(part: &Value, name: &str) -> bool {
    let id = part.get("$id").or(part.get("id")).and_then(Value::as_str).unwrap_or_default();
    id.trim_end_matches('#').rsplit('/').next() == Some(name)
}

/// Whether a part of the schema has this anchor, as any draft writes it.
fn has_anchor(part: &Value, anchor: &str) -> bool {
    let is_it = |name: &str| part.get(name).and_then(Value::as_str) == Some(anchor);
    let is_id = |name: &str| part.get(name).and_then(Value::as_str).and_then(|id| id.strip_prefix('#')) == Some(anchor);
    is_it("$anchor") || is_it("$dynamicAnchor") || is_id("$id") || is_id("id")
}

/// The pointer of a URI's fragment, with its percent-encoded bytes decoded.
fn unescaped(fragment: &str) -> String {
    let mut parts = fragment.split('%');
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        match (part.get(..2).and_then(|hex| u8::from_str_radix(hex, 16).ok()), part.get(2..)) {
            (Some(byte), Some(rest)) => {
                bytes.push(byte);
                bytes.extend_from_slice(rest.as_bytes());
            }
            _ => {
                bytes.push(b'%');
                bytes.extend_from_slice(part.as_bytes());
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::schema::plain::is_plain;

    #[test]
    fn a_plain_schema_costs_at_most_its_parts_times_those_of_the_value() {
        let number = json!({ "type": "number", "minimum": 0, "enum": (0..100).collect::<Vec<_>>() });
        let either = json!({ "anyOf": [number, { "type": "array", "items": number }, { "additionalProperties": number }, true] });
        let list = json!({ "items": { "items": either }, "additionalProperties": { "anyOf": [either, either] } });
        let schema =
            json!({ "properties": { "n": number, "l": list, "e": either }, "additionalProperties": list, "anyOf": [list] });
        let numbers: Vec<u32> = (0..20).collect();
        for value in [
            json!({}),
            json!({ "n": 1, "l": [numbers, [numbers, numbers]], "e": { "a": numbers, "b": { "n": numbers } } }),
            json!({ "a": { "b": { "c": [numbers] } }, "l": { "l": [[{ "x": numbers }]] }, "e": numbers }),
        ] {
            for schema in [&number, &either, &list, &schema] {
                assert!(is_plain(schema), "{schema}");
                let cost = Cost::of(schema, &Patterns::default(), &value);
                let most = Cost::at_most(count(schema), &value);
                assert!(cost.steps <= most.steps, "{} steps, at most {}: {schema} with {value}", cost.steps, most.steps);
            }
        }
    }
}
