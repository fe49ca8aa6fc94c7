//! How the tools of servers are called.

use std::collections::BTreeSet;

/// The longest name of a tool that all providers take.
const LONGEST: usize = 64;

/// A name that all providers take: what they refuse becomes `_`, and what is too long is cut.
pub(super) fn valid(name: &str) -> String {
    let fits = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    let name: String = name.chars().map(fits).take(LONGEST).collect();
    if name.is_empty() { "_".to_owned() } else { name }
}

/// The name of a tool among those that are taken: its own; else after its server's name; else with a number. Takes it.
pub(super) fn free(name: &str, server: &str, taken: &mut BTreeSet<String>) -> String {
    let prefixed = valid(&format!("{server}_{name}"));
    let numbered = (2u64..).map(|number| {
        let end = format!("_{number}");
        let kept: String = prefixed.chars().take(LONGEST - end.len()).collect();
        kept + &end
    });
    let mut candidates = [valid(name), prefixed.clone()].into_iter().chain(numbered);
    let found = candidates.find(|name| !taken.contains(name)).unwrap_or(prefixed.clone());
    taken.insert(found.clone());
    found
}
