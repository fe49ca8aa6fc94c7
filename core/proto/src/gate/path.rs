//! Paths: compared as they are spelled shortest, without asking any file system.

use super::glob::{Glob, Style};

/// A path in its shortest spelling: no `.`, no `//`, no `..` that could be resolved. That of the folder itself is empty.
pub(super) fn shortest(path: &str) -> String {
    joined(&parts_of(path, |_| true))
}

/// Whether a rule that grants something grants this. Its wildcards do not lead out of the folder: neither with `..`, nor by a
/// path that begins at a root.
pub(super) fn grants(pattern: &str, path: &str) -> bool {
    // In Windows it separates, elsewhere it is part of a name: in doubt, both have to be granted.
    let is_itself = Glob::new(pattern, Style::Folders).literal().is_some_and(|own| own == path);
    is_itself || is_granted(pattern, path) && (!path.contains('\\') || is_granted(pattern, &shortest(&path.replace('\\', "/"))))
}

fn is_granted(pattern: &str, path: &str) -> bool {
    let pattern = pattern_parts(pattern);
    let parts = parts_of(path, |_| true);
    let (out, inside) = parts.split_at(leads_out(&parts));
    let (pattern_out, pattern_inside) = pattern.split_at(leads_out(&pattern));
    out == pattern_out && Glob::new(&joined(pattern_inside), Style::Folders).is_match(&joined(inside))
}

/// Whether a rule that forbids something is about this: under any spelling that a file system may take for the same.
pub(super) fn covers(pattern: &str, path: &str) -> bool {
    let glob = Glob::new(&joined(&pattern_parts(&pattern.to_lowercase())), Style::Folders);
    let path = path.to_lowercase();
    glob.is_match(&path) || glob.is_match(&shortest(&without_tricks(&path)))
}

/// As Windows reads it: with either separator, without dots and spaces at the end of a name, and without a stream of a file.
fn without_tricks(path: &str) -> String {
    let path = path.replace('\\', "/");
    let parts = path.split('/').enumerate().map(|(i, part)| {
        let name = if i == 0 && is_drive(part) { part } else { part.split(':').next().unwrap_or_default() };
        let trimmed = name.trim_end_matches(['.', ' ']);
        if trimmed.is_empty() { name } else { trimmed }
    });
    parts.collect::<Vec<_>>().join("/")
}

/// The parts of a pattern. `src/` is all that is in the folder.
fn pattern_parts(pattern: &str) -> Vec<&str> {
    let mut parts = parts_of(pattern, |part| !part.contains('*'));
    if pattern.ends_with('/') && pattern != "/" {
        parts.push("**");
    }
    parts
}

/// The parts of the shortest spelling. The first one is empty for a path that begins at the root. `resolves`: whether `..` takes
/// such a part away.
fn parts_of(path: &str, resolves: impl Fn(&str) -> bool) -> Vec<&str> {
    let mut parts: Vec<&str> = Vec::new();
    for (i, part) in path.split('/').enumerate() {
        match part {
            "" if i == 0 && path.starts_with('/') => parts.push(part),
            "" | "." => {}
            ".." => match parts.last() {
                Some(&"") => {}
                Some(last) if *last != ".." && !is_drive(last) && resolves(last) => drop(parts.pop()),
                _ => parts.push(part),
            },
            _ => parts.push(part),
        }
    }
    parts
}

fn joined(parts: &[&str]) -> String {
    if parts == [""] { "/".to_owned() } else { parts.join("/") }
}

/// How many of the first parts lead out of the folder.
fn leads_out(parts: &[&str]) -> usize {
    match parts.first() {
        Some(first) if first.is_empty() || is_drive(first) => 1,
        _ => parts.iter().take_while(|part| **part == "..").count(),
    }
}

/// `C:`, perhaps with something behind it.
fn is_drive(part: &str) -> bool {
    let mut chars = part.chars();
    chars.next().is_some_and(|c| c.is_ascii_alphabetic()) && chars.next() == Some(':')
}
