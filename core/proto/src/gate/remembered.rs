//! What a conversation remembers of decisions.

use serde::{Deserialize, Serialize};

use super::rule::Rule;
use crate::suspension::Decision;

/// The rules that a conversation remembers, as somebody has decided "always". Canonical JSON: `{allow, deny}`. An agent's own
/// `deny` comes before them; they come before its `ask` and `allow`.
///
/// ```
/// # mod agent_loop { pub use agent_loop_proto::error::*; pub use agent_loop_proto::gate; }
/// use agent_loop::gate::{Remembered, Rule};
///
/// let mut remembered = Remembered::default();
/// remembered.allow(Rule::new("run_command(git push)")?);
/// remembered.deny(Rule::new("run_command(git push)")?);
/// assert_eq!((remembered.allow.len(), remembered.deny.len()), (0, 1));
/// # Ok::<(), agent_loop::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub struct Remembered {
    /// Calls that run without a question.
    pub allow: Vec<Rule>,
    /// Calls that do not run.
    pub deny: Vec<Rule>,
}

impl Remembered {
    /// Whether nothing is remembered.
    pub fn is_empty(&self) -> bool {
        self.allow.is_empty() && self.deny.is_empty()
    }

    /// From now on these calls run. The last decision about a rule counts.
    pub fn allow(&mut self, rule: Rule) {
        self.forget(&rule);
        self.allow.push(rule);
    }

    /// From now on these calls do not run.
    pub fn deny(&mut self, rule: Rule) {
        self.forget(&rule);
        self.deny.push(rule);
    }

    /// Takes in what was decided about a call with this rule. Says whether that is for always.
    pub(crate) fn decide(&mut self, rule: Rule, decision: &Decision) -> bool {
        match decision {
            Decision::ApproveAlways => self.allow(rule),
            Decision::DenyAlways { .. } => self.deny(rule),
            Decision::Approve | Decision::Deny { .. } | Decision::Arguments { .. } | Decision::Result { .. } => return false,
        }
        true
    }

    /// Adds what was decided later.
    pub(crate) fn add(&mut self, later: Remembered) {
        later.allow.into_iter().for_each(|rule| self.allow(rule));
        later.deny.into_iter().for_each(|rule| self.deny(rule));
    }

    /// Nothing is decided about these calls.
    pub fn forget(&mut self, rule: &Rule) {
        self.allow.retain(|own| own != rule);
        self.deny.retain(|own| own != rule);
    }
}
