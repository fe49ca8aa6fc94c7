//! A rule: a tool, and perhaps a pattern of what the call is about.

use std::fmt;
use std::sync::Arc;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use super::glob::{Glob, Style};
use super::subject::{Compared, Effect, Subject};
use crate::error::Error;
use crate::json_error::shown;

/// A rule of a gate, a text: `tool` or `tool(pattern)`. `*` stands for anything, in the name of the tool, too; `\*` for a star
/// and `\\` for a backslash.
///
/// ```
/// # mod agent_loop { pub use agent_loop_proto::error::*; pub use agent_loop_proto::gate; }
/// use agent_loop::gate::Rule;
///
/// assert_eq!(Rule::new("run_command(git status)")?.as_str(), "run_command(git status)");
/// assert!(Rule::new("run_command(git status").is_err());
/// # Ok::<(), agent_loop::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Rule(Arc<str>);

impl Rule {
    /// Reads a rule.
    ///
    /// # Errors
    /// `invalid_argument`: the text is no rule; it says what is wrong.
    pub fn new(text: &str) -> Result<Rule, Error> {
        let wrong = |why: String| Err(Error::invalid_argument(format!("the rule {text:?} {why}")));
        let (tool, pattern) = parts_of(text);
        let is_of_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '*');
        if tool.is_empty() {
            return wrong("names no tool; a rule is \"tool\" or \"tool(pattern)\", and \"*\" is any tool".to_owned());
        }
        if !tool.chars().all(is_of_name) {
            let why =
                "has a name that no tool has; before the parenthesis stand letters, digits, '_' and '-', and '*' for anything";
            return wrong(why.to_owned());
        }
        if pattern.is_some_and(|pattern| !pattern.ends_with(')')) {
            return wrong(format!("does not end with its parenthesis; write {:?}", format!("{text})")));
        }
        Ok(Rule(text.into()))
    }

    /// The rule that, where it grants something, is about this call alone; `None` for a name that no tool has.
    pub(crate) fn exact(tool: &str, subject: Option<&Subject>, arguments: &Map<String, Value>) -> Option<Rule> {
        let is_name = !tool.is_empty() && tool.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));
        is_name.then(|| Rule(format!("{tool}({})", Compared::of(subject, arguments).exact()).into()))
    }

    /// Its text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub(super) fn is_of_tool(&self, name: &str) -> bool {
        Glob::new(parts_of(&self.0).0, Style::Plain).is_match(name)
    }

    pub(super) fn matches(&self, compared: &Compared, effect: Effect) -> bool {
        let pattern = parts_of(&self.0).1;
        pattern.is_none_or(|pattern| compared.is_matched(pattern.strip_suffix(')').unwrap_or(pattern), effect))
    }
}

/// The tool, and what stands behind the parenthesis.
fn parts_of(text: &str) -> (&str, Option<&str>) {
    text.split_once('(').map_or((text, None), |(tool, pattern)| (tool, Some(pattern)))
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Rule {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Rule, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::String(text) => Rule::new(&text).map_err(|error| D::Error::custom(error.message())),
            other => Err(D::Error::custom(format!("expected a rule such as \"run_command(git status)\", got {}", shown(&other)))),
        }
    }
}
