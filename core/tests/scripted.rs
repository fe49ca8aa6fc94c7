//! The loop as a user sees it, played by the scripted model.

use agent_loop::{Agent, FnTool, ModelSpec, Outcome};
use serde_json::{Value, json};

fn scripted(script: Value) -> Agent {
    Agent::with_spec(ModelSpec::from_json(json!({ "provider": "scripted", "id": "s", "script": script })).unwrap())
}

fn calculator() -> impl agent_loop::Tool {
    let parameters = json!({
        "type": "object",
        "properties": { "operation": { "type": "string" }, "a": { "type": "number" }, "b": { "type": "number" } },
        "required": ["operation", "a", "b"],
    });
    FnTool::new("calculator", "Perform basic arithmetic operations.", parameters, |arguments, _call| async move {
        let (a, b) = (arguments["a"].as_f64().unwrap(), arguments["b"].as_f64().unwrap());
        Ok::<_, String>(json!({ "result": a * b }))
    })
    .unwrap()
}

#[tokio::test]
async fn a_tool_call_and_an_answer() {
    let agent = scripted(json!([
        [
            { "delta": { "tool_call": { "id": "c1", "name": "calculator", "arguments": { "operation": "multiply", "a": 15, "b": "23" } } } },
            { "end": { "stop_reason": "tool_use" } },
        ],
        [{ "delta": "15 times " }, { "wait_ms": 1000 }, { "delta": "23 is 345" }, { "end": { "usage": { "input": 5, "output": 7 } } }],
    ]))
    .tool(calculator())
    .unwrap();
    let mut run = agent.stream("What is 15 times 23?").unwrap();
    let mut kinds = Vec::new();
    while let Some(event) = run.next().await {
        println!("{}", event.to_json());
        kinds.push(event.kind());
    }
    let result = run.result().await.unwrap();
    assert_eq!(result.outcome, Outcome::Completed);
    assert_eq!(result.text, "15 times 23 is 345");
    assert_eq!(result.usage.total, 12);
}
