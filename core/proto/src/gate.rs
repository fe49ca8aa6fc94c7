//! The gate: which tool calls run, which wait for a decision, and which are refused. Rules say so, and what was decided before.
//!
//! Here is decided what the rules say of a call; what follows from it, in the loop (`machine`). Nothing here looks at files,
//! shells or hosts: a rule compares texts. Where a comparison is in doubt, a rule that grants something does not match, and one
//! that restricts something does.
//!
//! - `rule`: a tool and a pattern. `subject`: what of a call the pattern is compared with.
//! - `glob`: patterns. `path`, `command`, `address`: how each kind of text is compared.
//! - `remembered`: the rules of decisions.
//!
//! ```
//! # mod agent_loop { pub use agent_loop_proto::error::*; pub use agent_loop_proto::gate; }
//! use agent_loop::gate::Gate;
//!
//! let gate = Gate::new()
//!     .allow(["read_file(src/**)", "run_command(git status)"])?
//!     .ask(["run_command(git push *)", "mcp_*"])?
//!     .deny(["*_file(**/.env)"])?;
//! assert_eq!(gate.ask.len(), 2);
//! # Ok::<(), agent_loop::Error>(())
//! ```

mod address;
mod command;
mod glob;
mod path;
mod remembered;
mod rule;
mod subject;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use self::remembered::Remembered;
pub use self::rule::Rule;
use self::subject::{Compared, Effect};
pub use self::subject::{Subject, SubjectKind};
use crate::did_you_mean::check_names;
use crate::error::Error;
use crate::json_error::shown;
use crate::json_reader::from_value;

const FIELDS: [&str; 3] = ["allow", "ask", "deny"];

/// The rules about tool calls. Canonical JSON: `{allow, ask, deny}`, lists of rules. See the [module](self).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Value")]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub struct Gate {
    /// These calls run, whatever their tool's `needs_approval` says.
    pub allow: Vec<Rule>,
    /// These calls wait for a decision.
    pub ask: Vec<Rule>,
    /// These calls do not run: the model reads which rule denies them.
    pub deny: Vec<Rule>,
}

impl Gate {
    /// Without a rule: what tools say of themselves counts.
    pub fn new() -> Gate {
        Gate::default()
    }

    /// These calls run, whatever their tool's `needs_approval` says.
    ///
    /// # Errors
    /// `invalid_argument` for what is no rule.
    pub fn allow<T: AsRef<str>>(mut self, rules: impl IntoIterator<Item = T>) -> Result<Gate, Error> {
        self.allow.extend(read(rules)?);
        Ok(self)
    }

    /// These calls wait for a decision.
    ///
    /// # Errors
    /// As [`Gate::allow`].
    pub fn ask<T: AsRef<str>>(mut self, rules: impl IntoIterator<Item = T>) -> Result<Gate, Error> {
        self.ask.extend(read(rules)?);
        Ok(self)
    }

    /// These calls do not run.
    ///
    /// # Errors
    /// As [`Gate::allow`].
    pub fn deny<T: AsRef<str>>(mut self, rules: impl IntoIterator<Item = T>) -> Result<Gate, Error> {
        self.deny.extend(read(rules)?);
        Ok(self)
    }

    /// What the rules say of a call, with those that are remembered. A person who was asked has answered what `ask` asks.
    pub(crate) fn judge<'a>(
        &'a self,
        remembered: &'a Remembered,
        tool: &str,
        subject: Option<&Subject>,
        arguments: &Map<String, Value>,
    ) -> Verdict<'a> {
        let lists: [(&'a [Rule], Says<'a>, Effect); 5] = [
            (&self.deny, Verdict::Denied, Effect::Restrict),
            (&remembered.deny, Verdict::Denied, Effect::Restrict),
            (&remembered.allow, Verdict::Allowed, Effect::Grant),
            (&self.ask, Verdict::Asked, Effect::Restrict),
            (&self.allow, Verdict::Allowed, Effect::Grant),
        ];
        // Made only for a tool that a rule is about: arguments may be long.
        let mut compared = None;
        for (rules, says, effect) in lists {
            for rule in rules.iter().filter(|rule| rule.is_of_tool(tool)) {
                if rule.matches(compared.get_or_insert_with(|| Compared::of(subject, arguments)), effect) {
                    return says(rule);
                }
            }
        }
        Verdict::Unsaid
    }

    fn from_json(value: Value) -> Result<Gate, String> {
        let Value::Object(mut map) = value else {
            return Err(format!("expected an object with lists of rules, {}, got {}", FIELDS.join(", "), shown(&value)));
        };
        check_names("field", &map, &FIELDS).map_err(|error| error.message().to_owned())?;
        let mut rules = |name: &str| match map.remove(name) {
            None | Some(Value::Null) => Ok(Vec::new()),
            Some(Value::Array(list)) => {
                let rules = list.iter().map(|rule| from_value(rule).map_err(|error| format!("{name}: {error}")));
                rules.collect::<Result<Vec<Rule>, String>>()
            }
            Some(other) => Err(format!("{name}: expected a list of rules, got {}", shown(&other))),
        };
        Ok(Gate { allow: rules("allow")?, ask: rules("ask")?, deny: rules("deny")? })
    }
}

fn read<T: AsRef<str>>(rules: impl IntoIterator<Item = T>) -> Result<Vec<Rule>, Error> {
    rules.into_iter().map(|rule| Rule::new(rule.as_ref())).collect()
}

impl TryFrom<Value> for Gate {
    /// The text alone: it stands in the error of what has the gate.
    type Error = String;

    fn try_from(value: Value) -> Result<Gate, String> {
        Gate::from_json(value)
    }
}

/// What the rules say of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict<'a> {
    /// It does not run, by this rule.
    Denied(&'a Rule),
    /// It waits for a decision, by this rule.
    Asked(&'a Rule),
    /// It runs, by this rule.
    Allowed(&'a Rule),
    /// No rule is about it.
    Unsaid,
}

type Says<'a> = fn(&'a Rule) -> Verdict<'a>;
