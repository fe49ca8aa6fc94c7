//! What a schema's patterns cost. Most are matched in a time that grows with the text alone. Those that look ahead or behind, or
//! refer back, are tried in all ways that there are, and for some texts there are too many.

use std::collections::HashMap;

use fancy_regex::{Regex, RegexBuilder};
use serde_json::Value;

/// The most that all patterns of a schema may grow to: about the states of the machines that match them.
const MAX_SIZE: u64 = 50_000;

/// The most steps back of one match.
const MAX_STEPS_BACK: usize = 20_000;

/// The patterns of a schema.
#[derive(Debug, Default)]
pub(super) struct Patterns {
    sizes: HashMap<String, u64>,
    /// Those that step back.
    stepping: HashMap<String, Regex>,
}

impl Patterns {
    /// All patterns of a schema.
    ///
    /// # Errors
    /// They are too large.
    pub(super) fn of(schema: &Value) -> Result<Patterns, String> {
        let mut patterns = Patterns::default();
        let mut parts = vec![schema];
        while let Some(part) = parts.pop() {
            match part {
                Value::Object(map) => {
                    map.get("pattern").and_then(Value::as_str).into_iter().for_each(|pattern| patterns.add(pattern));
                    let names = map.get("patternProperties").and_then(Value::as_object).into_iter().flatten();
                    names.for_each(|(pattern, _)| patterns.add(pattern));
                    parts.extend(map.values());
                }
                Value::Array(items) => parts.extend(items),
                _ => {}
            }
        }
        let size = patterns.sizes.values().fold(0_u64, |sum, size| sum.saturating_add(*size));
        if size > MAX_SIZE {
            return Err("its patterns are too large: repeat less in them".to_owned());
        }
        for pattern in patterns.sizes.keys().filter(|pattern| may_step_back(pattern)) {
            // What cannot be read is refused by the validator, which says why.
            if let Ok(regex) = RegexBuilder::new(pattern).backtrack_limit(MAX_STEPS_BACK).build() {
                patterns.stepping.insert(pattern.clone(), regex);
            }
        }
        Ok(patterns)
    }

    fn add(&mut self, pattern: &str) {
        if !self.sizes.contains_key(pattern) {
            self.sizes.insert(pattern.to_owned(), size(pattern));
        }
    }

    /// The steps of a match; `None` for too many.
    pub(super) fn steps(&self, pattern: &str, text: &str) -> Option<u64> {
        if let Some(regex) = self.stepping.get(pattern)
            && regex.is_match(text).is_err()
        {
            return None;
        }
        let size = self.sizes.get(pattern).copied().unwrap_or(1);
        Some(1 + size.saturating_mul(text.len() as u64) / 200)
    }
}

/// Whether the pattern has what only a search that steps back can match.
fn may_step_back(pattern: &str) -> bool {
    let refers_back = pattern.as_bytes().windows(2).any(|pair| matches!(pair, [b'\\', b'1'..=b'9' | b'k']));
    refers_back || ["(?=", "(?!", "(?<=", "(?<!", "(?>"].iter().any(|group| pattern.contains(group))
}

/// About how large the machine of a pattern is: its length, where a class counts more and what is repeated counts as often.
fn size(pattern: &str) -> u64 {
    // The size of each open group, and of its last part.
    let mut groups = vec![(0_u64, 0_u64)];
    let mut chars = pattern.chars().peekable();
    while let Some(c) = chars.next() {
        let mut part = 1;
        match c {
            '(' => {
                groups.push((0, 0));
                continue;
            }
            ')' => {
                let (done, last) = if groups.len() > 1 { groups.pop().unwrap_or_default() } else { (0, 0) };
                part = done.saturating_add(last).max(1);
            }
            '\\' => {
                let class = chars.next().is_some_and(|c| matches!(c, 'w' | 'W' | 'd' | 'D' | 's' | 'S' | 'p' | 'P'));
                part = if class { 30 } else { 1 };
            }
            '.' | '[' => part = 10,
            '{' => {
                let times: String = std::iter::from_fn(|| chars.next_if(|c| *c != '}')).collect();
                chars.next();
                let most = times.split(',').filter_map(|number| number.trim().parse::<u64>().ok()).max().unwrap_or(1);
                if let Some((_, last)) = groups.last_mut() {
                    *last = last.saturating_mul(most.max(1));
                }
                continue;
            }
            _ => {}
        }
        if let Some((done, last)) = groups.last_mut() {
            *done = done.saturating_add(*last);
            *last = part;
        }
    }
    groups.into_iter().fold(0, |sum, (done, last)| sum.saturating_add(done).saturating_add(last))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn found_a15_a_pattern_is_as_large_as_what_it_repeats() {
        assert_eq!([size("abc"), size("(ab){10}"), size("((a{10}){10}b){10}"), size(r"\w{3}")], [3, 20, 1010, 90]);
        assert!(size(&format!("{}a{}", "(".repeat(20), "{99}){99}".repeat(10))) > MAX_SIZE);
        assert!(Patterns::of(&json!({ "pattern": "((a{100}){100}){100}" })).is_err());
    }

    #[test]
    fn found_a15_a_match_that_steps_back_too_often_is_found_out() {
        let schema = json!({ "patternProperties": { r"^(a|a)*\1b$": {} }, "properties": { "x": { "pattern": "^(?!a)b+$" } } });
        let patterns = Patterns::of(&schema).unwrap();
        assert_eq!(patterns.steps(r"^(a|a)*\1b$", &"a".repeat(60)), None);
        assert!(patterns.steps("^(?!a)b+$", &"b".repeat(1000)).is_some_and(|steps| steps < 1000));
    }
}
