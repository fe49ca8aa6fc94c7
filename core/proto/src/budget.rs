//! What a run may use, and what it has used. The options and their defaults are declared in [`crate::table::options`].

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::error::Error;
use crate::model_entry::ModelEntry;
use crate::table::options::option_struct;
use crate::usage::Usage;

crate::options_of!(budget, option_struct
    [
        /// What a run may use. The methods of `AgentBuilder` of these names say what each limit is.
        #[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
        #[serde(rename = "strict", deny_unknown_fields)]
    ]
    Budget {}
);

impl Budget {
    pub(crate) fn is_unlimited(&self) -> bool {
        *self == Budget::default()
    }

    /// Refuses a limit of costs for a model without prices: the run would end with its first answer.
    ///
    /// # Errors
    /// `invalid_argument`: names the model.
    pub(crate) fn check_prices<'a>(&self, models: impl IntoIterator<Item = &'a ModelEntry>) -> Result<(), Error> {
        match models.into_iter().find(|model| self.max_cost.is_some() && model.prices.is_none()) {
            None => Ok(()),
            Some(model) => Err(Error::invalid_argument(format!(
                "max_cost: the prices of {} are not known, as it is in no list, or its base_url is not its provider's own; give \
                 the model its \"cost\", or leave max_cost out",
                model.name()
            ))),
        }
    }
}

/// What was used so far: by a run, or by all that share a budget.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Spent {
    /// By all model calls, failed attempts included; `None` when nothing is known of any.
    usage: Option<Usage>,
    /// How many tool calls models have made, those over the budget included.
    tool_calls: u64,
    /// What the runs around this one do not know of yet.
    #[serde(skip)]
    unreported: Used,
    /// What they leave to it.
    #[serde(default)]
    left: BudgetLeft,
}

/// What a run has used: for the runs that it is a part of.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Used {
    usage: Option<Usage>,
    tool_calls: u64,
}

/// What a run leaves of its budget to the subagents that its tools run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct BudgetLeft {
    /// The limit of which nothing is left.
    used_up: Option<UsedUp>,
    /// How many tool calls are.
    tool_calls: Option<u64>,
}

impl BudgetLeft {
    /// What two runs leave to one that is a part of both.
    #[must_use]
    pub fn and(self, other: BudgetLeft) -> BudgetLeft {
        let tool_calls = self.tool_calls.into_iter().chain(other.tool_calls).min();
        BudgetLeft { used_up: self.used_up.or(other.used_up), tool_calls }
    }

    /// Whether it is news. What is used up stays so.
    pub fn differs(&self, before: &BudgetLeft) -> bool {
        self.tool_calls != before.tool_calls || (self.used_up.is_some() && before.used_up.is_none())
    }
}

impl Spent {
    /// The tokens that were used.
    pub(crate) fn usage(&self) -> Usage {
        self.usage.clone().unwrap_or_default()
    }

    /// An attempt of a model call is over. One of which nothing came is left out, but for the counts that it reported: mostly it
    /// cost nothing. Of an answer without counts the cost is not known, and so that of the run is not.
    pub(crate) fn count_usage(&mut self, usage: &Usage, is_answer: bool) {
        if is_answer || usage.is_known() {
            self.usage = Some(Usage::sum(self.usage.iter().chain([usage])));
            self.unreported.usage = Some(Usage::sum(self.unreported.usage.iter().chain([usage])));
        }
    }

    /// A subagent has used so much.
    pub(crate) fn count_subagent(&mut self, used: &Used) {
        if let Some(usage) = &used.usage {
            self.usage = Some(Usage::sum(self.usage.iter().chain([usage])));
        }
        self.tool_calls = self.tool_calls.saturating_add(used.tool_calls);
    }

    /// What was used since this was last asked, without that of subagents; `None`: nothing.
    pub(crate) fn take_unreported(&mut self) -> Option<Used> {
        let used = std::mem::take(&mut self.unreported);
        (used != Used::default()).then_some(used)
    }

    /// What the runs around this one leave to it.
    pub(crate) fn set_left(&mut self, left: BudgetLeft) {
        self.left = left;
    }

    /// What is left to subagents of a run that began so long ago.
    pub(crate) fn left(&self, budget: &Budget, ran_ms: u64) -> BudgetLeft {
        let tool_calls = budget.max_tool_calls.map(|most| most.saturating_sub(self.tool_calls));
        BudgetLeft { used_up: self.used_up(budget, ran_ms), tool_calls }
    }

    /// A model has made a tool call.
    ///
    /// # Errors
    /// It may not run; says which limit it is over.
    pub(crate) fn count_tool_call(&mut self, budget: &Budget) -> Result<(), String> {
        self.tool_calls = self.tool_calls.saturating_add(1);
        self.unreported.tool_calls = self.unreported.tool_calls.saturating_add(1);
        let left = self.left.tool_calls;
        self.left.tool_calls = left.map(|left| left.saturating_sub(1));
        match budget.max_tool_calls {
            Some(most) if self.tool_calls > most => Err(format!("max_tool_calls is {most}")),
            _ if left == Some(0) => Err("max_tool_calls of the run that this is a subagent of are used up".to_owned()),
            _ => Ok(()),
        }
    }

    /// Whether nothing limits a model call.
    pub(crate) fn is_unlimited(&self, budget: &Budget) -> bool {
        budget.is_unlimited() && self.left == BudgetLeft::default()
    }

    /// What leaves nothing for a further model call, after so many milliseconds. Of tool calls one has to be over the limit: the
    /// results of those that are not are for the model.
    pub(crate) fn used_up(&self, budget: &Budget, ran_ms: u64) -> Option<UsedUp> {
        self.own_used_up(budget, ran_ms).or_else(|| self.left.used_up.clone())
    }

    fn own_used_up(&self, budget: &Budget, ran_ms: u64) -> Option<UsedUp> {
        let usage = self.usage.as_ref();
        if let Some(most) = budget.max_cost {
            let used = usage.map_or(Some(0.0), |usage| usage.cost.as_ref().map(|cost| cost.total));
            // What is not a number is no limit that could be kept.
            if !used.is_some_and(|used| used < most) {
                return Some(UsedUp { option: "max_cost".into(), limit: dollars(most), used: used.map_or(Value::Null, dollars) });
            }
        }
        let (total, output) = usage.map_or((0, 0), |usage| (usage.total, usage.output));
        [
            ("max_total_tokens", budget.max_total_tokens, total, 0),
            ("max_output_tokens_total", budget.max_output_tokens_total, output, 0),
            ("max_tool_calls", budget.max_tool_calls, self.tool_calls, 1),
            ("max_run_ms", budget.max_run_ms, ran_ms, 0),
        ]
        .into_iter()
        .find(|(_, most, used, over)| most.is_some_and(|most| *used >= most.saturating_add(*over)))
        .map(|(option, most, used, _)| UsedUp { option: option.into(), limit: most.into(), used: used.into() })
    }
}

/// The number as every language writes it: 5, not 5.0.
fn dollars(number: f64) -> Value {
    number.to_string().parse().unwrap_or_default()
}

/// A limit of a budget of which nothing is left.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct UsedUp {
    option: String,
    limit: Value,
    /// Null when a cost is not known.
    used: Value,
}

impl UsedUp {
    /// For the data of a diagnostic.
    pub(crate) fn to_json(&self) -> Value {
        json!({ "option": self.option, "limit": self.limit, "used": self.used })
    }
}

/// Why there is no further model call; a sentence.
impl fmt::Display for UsedUp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let UsedUp { option, limit, used } = self;
        match used {
            Value::Null => write!(f, "the cost of a model call is not known, so that {option} ({limit}) cannot be kept"),
            used => write!(f, "{option} is at {used} of {limit}"),
        }
    }
}

#[cfg(test)]
mod tests;
