//! Other agents in a run. One that goes on with it. And subagents, which its tools run: what they have in common, a budget, and
//! how deep they may nest. A subagent is a run of its own: its host brings its events and what it has used to the runs around it,
//! and what these leave of their budgets to it.

use std::sync::Arc;

use serde_json::json;

use super::config::Config;
use super::run_loop::Loop;
use super::run_state::RunState;
use crate::budget::{BudgetLeft, Used};
use crate::table::codes;

impl RunState {
    /// Another agent goes on from the next turn.
    pub(super) fn hand_off(&mut self, tool_call_id: &str, tool_name: &str, config: Arc<Config>) {
        let data = json!({ "tool_call_id": tool_call_id, "tool_name": tool_name, "model": config.model_name });
        let message = format!("another agent goes on with the conversation ({tool_name}), from the next turn");
        self.setup.hand_off(config);
        self.emitter.diagnostic(codes::HANDOFF, message, data);
    }
}

impl Loop {
    /// How many levels of subagents may be below one that a tool of this run is about to run.
    ///
    /// # Errors
    /// There may be none: the text for the model.
    pub fn subagent_depth(&self) -> Result<u32, String> {
        let most = self.run.settings().max_subagent_depth;
        let depth = self.run.subagent_depth.map_or(most, |left| left.min(most));
        // Without the name of the option, which each language spells its way: the model reads it.
        let refused = "no subagent is run here: there are as many levels of them as there may be; do without this tool";
        depth.checked_sub(1).ok_or_else(|| refused.to_owned())
    }

    /// What the run itself has used since this was last asked; `None`: nothing.
    pub fn take_used(&mut self) -> Option<Used> {
        self.run.spent.take_unreported()
    }

    /// What it leaves of its budget to subagents, now.
    pub fn budget_left(&self, now_ms: u64) -> BudgetLeft {
        let run = &self.run;
        run.spent.left(&run.settings().budget, run.clock.ran_until_ms(now_ms))
    }
}
