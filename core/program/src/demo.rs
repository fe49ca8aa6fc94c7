//! `--demo`: a conversation of the built-in model `scripted`, without a server and without a key.

use agent_loop::FnTool;
use serde_json::{Value, json};

use crate::spec::AgentSpec;

/// What the user of the demo asks.
pub(crate) const PROMPT: &str = "What is 23 times 19, plus 5?";

/// The agent of the demo: its model answers from a script, its tool calculates.
pub(crate) fn spec() -> AgentSpec {
    let call = |id: &str, name: &str, a: u32, b: u32| {
        let arguments = json!({ "a": a, "b": b });
        json!({ "delta": { "tool_call": { "id": id, "name": name, "arguments": arguments } } })
    };
    let model = json!({ "provider": "scripted", "id": "demo", "script": [
        [{ "delta": "I multiply first." }, call("1", "multiply", 23, 19), { "end": "tool_use" }],
        [call("2", "add", 437, 5), { "end": "tool_use" }],
        [{ "delta": "23 × 19 + 5 = " }, { "delta": "442." }, { "end": "stop" }],
    ] });
    let spec = AgentSpec::new("demo").option("model", model);
    [calculation("multiply", |a, b| a * b), calculation("add", |a, b| a + b)].into_iter().flatten().fold(spec, AgentSpec::tool)
}

fn calculation(name: &str, calculate: fn(f64, f64) -> f64) -> Option<FnTool> {
    let number = json!({ "type": "number" });
    let parameters = json!({ "type": "object", "properties": { "a": number, "b": number }, "required": ["a", "b"] });
    let run = move |arguments: Value, _| async move {
        let number = |name: &str| arguments.get(name).and_then(Value::as_f64).unwrap_or_default();
        Ok::<_, String>(json!(calculate(number("a"), number("b"))))
    };
    FnTool::new(name, "Calculates with two numbers.", parameters, run).ok()
}
