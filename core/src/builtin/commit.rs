//! A commit of `git`, as a transcript has it.

use serde_json::Value;

/// A commit of a transcript.
pub(super) struct Commit<'a> {
    pub(super) id: &'a str,
    /// `None`: it was the first one.
    pub(super) parent: Option<&'a str>,
    /// `None`: HEAD was detached.
    pub(super) branch: Option<&'a str>,
    pub(super) root: &'a str,
}

impl Commit<'_> {
    /// As the details of a result have it; `None` where they are of another action.
    pub(super) fn of_details(details: &Value) -> Option<Commit<'_>> {
        let text = |field: &str| details.get(field).and_then(Value::as_str);
        let is_id = |text: &&str| text.len() >= 40 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let parent = match details.get("parent")? {
            Value::Null => None,
            _ => Some(text("parent").filter(is_id)?),
        };
        let id = text("commit").filter(|_| text("action") == Some("commit")).filter(is_id)?;
        Some(Commit { id, parent, branch: text("branch"), root: text("root")? })
    }
}
