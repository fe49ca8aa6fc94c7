//! The host's side of an agent: tools that other families need.

use agent_loop::{FnTool, Tool, ToolContext};
use serde_json::{Value, json};

/// A tool that takes anything and returns it.
pub(crate) fn echo(name: &str) -> impl Tool + use<> {
    let echo = |arguments: Value, _: ToolContext| async { Ok::<Value, String>(arguments) };
    FnTool::new(name, "A tool.", json!({ "type": "object" }), echo).expect("a tool")
}
