//! The time limit of a tool call that runs: the smaller of the tool's own and that of the settings.

use serde::{Deserialize, Serialize};

use super::run_state::RunState;

/// The time limit of a call.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct ToolTimeout {
    /// Whether it is the tool's own `timeout_ms`, and not `tool_timeout_ms`.
    is_of_tool: bool,
    ms: u64,
    pub(super) deadline_ms: u64,
}

impl ToolTimeout {
    /// The limit of a call of this tool that begins now; `None` without one.
    pub(super) fn begin(run: &RunState, tool: &str) -> Option<ToolTimeout> {
        let tool_ms = run.config().tools.get(tool).map_or(0, |tool| tool.timeout_ms());
        let ms = [run.settings().limits.tool_timeout_ms, tool_ms].into_iter().filter(|ms| *ms > 0).min()?;
        Some(ToolTimeout { is_of_tool: ms == tool_ms, ms, deadline_ms: run.now_ms().saturating_add(ms) })
    }

    /// What the model reads when it has passed.
    pub(super) fn error(self, tool: &str) -> String {
        let name = if self.is_of_tool { "its timeout_ms" } else { "tool_timeout_ms" };
        format!("the tool {tool} did not answer within {name} ({}); the call was cancelled", self.ms)
    }
}
