//! What of a call the patterns of rules are compared with.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::address::Address;
use super::glob::{Glob, Style, escape};
use super::{command, path};
use crate::did_you_mean::{Spelling, canonical_names};
use crate::json_error::shown;
use crate::json_reader::from_value;

/// What of a tool's calls the patterns of rules are compared with: one of the arguments. Canonical JSON: `{argument, kind}`. A
/// tool without one has the compact JSON of all of its arguments.
///
/// ```
/// # mod agent_loop { pub use agent_loop_proto::error::*; pub use agent_loop_proto::{gate, tool}; }
/// use agent_loop::gate::{Subject, SubjectKind};
/// use agent_loop::tool::ToolSpec;
/// use serde_json::json;
///
/// let parameters = json!({ "type": "object", "properties": { "file": { "type": "string" } }, "required": ["file"] });
/// let spec = ToolSpec::new("print", "Prints a file.", parameters)?.with_subject(Subject::new("file", SubjectKind::Path))?;
/// # Ok::<(), agent_loop::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub struct Subject {
    /// The name of the argument.
    pub argument: String,
    /// How it is compared.
    pub kind: SubjectKind,
}

/// How a pattern is compared with what it is about.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub enum SubjectKind {
    /// As a text: `*` stands for anything.
    #[default]
    Text,
    /// As a path, however it is spelled: `*` does not cross a `/`, `**` does.
    Path,
    /// As a command of a shell.
    Command,
    /// As a URL: `*` does not cross a `/`, `**` does.
    Url,
}

impl Subject {
    /// This argument, compared in this way.
    pub fn new(argument: impl Into<String>, kind: SubjectKind) -> Subject {
        Subject { argument: argument.into(), kind }
    }

    /// Reads the JSON of a tool's description, with names as the host's language spells them.
    pub(crate) fn from_json(value: &Value, spelling: Spelling) -> Result<Subject, String> {
        let expected = r#"expected {"argument": …, "kind": …}, got "#;
        let Value::Object(map) = value else {
            return Err(format!("{expected}{}", shown(value)));
        };
        let map = canonical_names("field", map.clone(), &["argument", "kind"], spelling).map_err(|e| e.message().to_owned())?;
        let Some(argument) = map.get("argument").and_then(Value::as_str) else {
            return Err(format!("{expected}{}", shown(value)));
        };
        let kind = map.get("kind").filter(|kind| !kind.is_null()).map(|kind| {
            let words = "\"text\", \"path\", \"command\" or \"url\"";
            from_value(kind).map_err(|_| format!("kind: expected {words}, got {}", shown(kind)))
        });
        Ok(Subject::new(argument, kind.transpose()?.unwrap_or_default()))
    }
}

/// Whether a rule grants something, or is there so that it does not just happen: in doubt the one does not match, the other does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    Grant,
    Restrict,
}

/// What of a call is compared.
#[derive(Debug)]
pub(super) enum Compared {
    Text(String),
    Path(String),
    Command(String),
    Url(Address),
    /// It is not what its kind says, such as a list of paths.
    Unreadable(String),
}

impl Compared {
    pub(super) fn of(subject: Option<&Subject>, arguments: &Map<String, Value>) -> Compared {
        // All keys are texts.
        let Some(Subject { argument, kind }) = subject else {
            return Compared::Text(serde_json::to_string(arguments).unwrap_or_default());
        };
        let text = match arguments.get(argument) {
            None | Some(Value::Null) => String::new(),
            Some(Value::String(text)) => text.clone(),
            Some(other) if *kind == SubjectKind::Text => return Compared::Text(other.to_string()),
            Some(other) => return Compared::Unreadable(other.to_string()),
        };
        match kind {
            SubjectKind::Text => Compared::Text(text),
            SubjectKind::Path => Compared::Path(path::shortest(&text)),
            SubjectKind::Command => Compared::Command(text.trim().to_owned()),
            SubjectKind::Url => Address::read(&text).map_or(Compared::Unreadable(text), Compared::Url),
        }
    }

    pub(super) fn is_matched(&self, pattern: &str, effect: Effect) -> bool {
        match (self, effect) {
            (Compared::Text(text), _) => Glob::new(pattern, Style::Plain).is_match(text),
            (Compared::Path(path), Effect::Grant) => path::grants(pattern, path),
            (Compared::Path(path), Effect::Restrict) => path::covers(pattern, path),
            (Compared::Command(command), Effect::Grant) => command::grants(pattern, command),
            (Compared::Command(command), Effect::Restrict) => command::covers(pattern, command),
            (Compared::Url(address), Effect::Grant) => address.grants(pattern),
            (Compared::Url(address), Effect::Restrict) => address.covers(pattern),
            (Compared::Unreadable(text), Effect::Grant) => Glob::new(pattern, Style::Plain).literal().as_ref() == Some(text),
            (Compared::Unreadable(_), Effect::Restrict) => true,
        }
    }

    /// The pattern that, in a rule that grants something, matches only this.
    pub(super) fn exact(&self) -> String {
        match self {
            Compared::Path(path) if path.is_empty() => ".".to_owned(),
            Compared::Url(address) => escape(address.text()),
            Compared::Text(text) | Compared::Path(text) | Compared::Command(text) | Compared::Unreadable(text) => escape(text),
        }
    }
}
