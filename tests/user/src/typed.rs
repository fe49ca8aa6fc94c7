//! A typed tool: what the feature `schema` gives a program, run as a user's.

use agent_loop::{Agent, Error, EventData, FnTool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Double {
    /// The number to double.
    n: f64,
}

#[derive(Serialize)]
struct Doubled {
    result: f64,
}

/// An agent whose tool takes a type.
pub fn agent(model: String) -> Result<Agent, Error> {
    let double = FnTool::typed("double", "Doubles a number.", |arguments: Double, _call| async move {
        Ok::<_, String>(Doubled { result: arguments.n * 2.0 })
    })?;
    Agent::builder(model).tool(double).build()
}

/// What the model reads of a call that fits the type, and of one that does not.
#[tokio::test]
async fn a_typed_tool_is_called() -> Result<(), Error> {
    let model = r#"{"provider": "scripted", "id": "s", "script": [
        [{"delta": {"tool_call": {"id": "1", "name": "double", "arguments": {"n": 21}}}},
         {"delta": {"tool_call": {"id": "2", "name": "double", "arguments": {"m": "x"}}}}, {"end": {}}],
        [{"delta": "42"}, {"end": {}}]]}"#;
    let mut run = agent(model.to_owned())?.stream("What is 21 doubled?")?;
    let mut results = Vec::new();
    while let Some(event) = run.next().await {
        if let EventData::ToolExecutionEnd { tool_call_id, result, is_error, .. } = &event.data {
            results.push((tool_call_id.to_string(), result.text(), *is_error));
        }
    }
    results.sort();
    let wrong = "the arguments of double do not fit its schema:\n/m: is not a parameter\n/n: is required";
    assert_eq!(results, [("1".into(), r#"{"result":42.0}"#.into(), false), ("2".into(), wrong.into(), true)]);
    assert_eq!(run.result().await?.text, "42");
    Ok(())
}
