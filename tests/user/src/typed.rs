//! A typed tool: what the feature `schema` gives a program, compiled and called as a user's.

use agent_loop::{Agent, Error, FnTool};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
struct Double {
    /// The number to double.
    n: f64,
}

/// An agent whose tool takes a type.
pub fn agent(model: String) -> Result<Agent, Error> {
    let double = FnTool::typed("double", "Doubles a number.", |arguments: Double, _call| async move {
        Ok::<_, String>(arguments.n * 2.0)
    })?;
    Agent::builder(model).tool(double).build()
}
