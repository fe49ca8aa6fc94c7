//! That each field which a decoder reads is in a stream that is played: its source names them.

use std::collections::BTreeSet;

use serde_json::Value;

use super::stream::Frame;

/// The names in a decoder's source: texts like names, those on the way to a count (`a/b`), and the fields of its structs.
fn names(source: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    // Nothing of tests, nor of comments.
    let source = source.split("#[cfg(test)]").next().unwrap();
    for line in source.lines().map(|line| line.trim().split("//").next().unwrap()) {
        // A text with white space or marks is no name.
        for text in line.split('"').skip(1).step_by(2) {
            let is_name = |name: &str| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
            if text.split(['/', '.']).all(is_name) && !text.starts_with(|c: char| c.is_ascii_digit()) {
                found.extend(text.split('/').map(str::to_owned));
            }
        }
        // `pub(super) thought_signature: Option<String>`
        if let Some((name, _)) = line.strip_prefix("pub(super) ").and_then(|field| field.split_once(": "))
            && name.chars().all(|c| c.is_ascii_lowercase() || c == '_')
        {
            found.insert(name.to_owned());
        }
    }
    found
}

fn camel_case(name: &str) -> String {
    let mut parts = name.split('_');
    let first = parts.next().unwrap_or_default().to_owned();
    let upper = |part: &str| part.chars().take(1).flat_map(char::to_uppercase).chain(part.chars().skip(1)).collect::<String>();
    parts.fold(first, |name, part| name + &upper(part))
}

/// The names of fields in a frame, and its words.
fn there(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(map) => map.iter().for_each(|(name, value)| {
            found.insert(name.clone());
            there(value, found);
        }),
        Value::Array(list) => list.iter().for_each(|value| there(value, found)),
        Value::String(word) => drop(found.insert(word.clone())),
        _ => {}
    }
}

/// The names that the sources have and no stream has.
pub(super) fn not_played(sources: &[&str], streams: &[Vec<Frame>], others: &[&str]) -> Vec<String> {
    let mut played: BTreeSet<String> = others.iter().map(|name| (*name).to_owned()).collect();
    streams.iter().flatten().for_each(|frame| there(frame.json(), &mut played));
    let read = sources.iter().flat_map(|source| names(source));
    let is_played = |name: &str| {
        played.contains(name)
            || played.contains(&camel_case(name))
            || played.iter().any(|word| word.ends_with(&format!(".{name}")))
    };
    let missing: BTreeSet<String> = read.filter(|name| !is_played(name)).collect();
    missing.into_iter().collect()
}
