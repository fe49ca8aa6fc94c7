#[cfg(unix)]
mod command;
mod fetch;
#[cfg(unix)]
mod git;
#[cfg(target_os = "linux")]
mod sandbox;

use serde_json::{Value, json};

use super::BuiltinTools;
use crate::suspension::Decision;
use crate::{Agent, Outcome};

/// A model that makes these calls, and then says that it is done.
fn model(calls: &[(&str, Value)]) -> String {
    let mut script = Vec::new();
    for (at, (name, arguments)) in calls.iter().enumerate() {
        let call = json!({ "id": format!("c{at}"), "name": name, "arguments": arguments });
        script.push(json!([{ "delta": { "tool_call": call } }, { "end": "tool_use" }]));
    }
    script.push(json!([{ "delta": "Done." }, { "end": "stop" }]));
    json!({ "provider": "scripted", "id": "s", "script": script }).to_string()
}

/// The results of these calls, all of them approved: each with its text, and whether it is an error.
async fn results(tools: BuiltinTools, calls: &[(&str, Value)]) -> Vec<(String, bool)> {
    let agent = Agent::builder(model(calls).as_str()).builtin_tools(tools).max_turns(0).build().expect("an agent");
    let mut result = agent.prompt("Go.").await.expect("a run");
    while result.outcome == Outcome::Suspended {
        let decisions: Vec<_> = result.pending.iter().map(|call| (call.tool_call_id.to_string(), Decision::Approve)).collect();
        result = agent.resume().decisions(decisions).await.expect("a run");
    }
    assert_eq!(result.outcome, Outcome::Completed);
    let messages = agent.messages();
    let results = messages.iter().filter_map(|message| match &**message {
        crate::Message::ToolResult(result) => Some((message.text(), result.is_error)),
        _ => None,
    });
    results.collect()
}

#[tokio::test]
async fn a_list_of_steps_is_shown() {
    let items = json!([{ "text": "Look", "state": "completed" }, { "text": "Act", "state": "in_progress" },
        { "text": "Rest", "state": "pending" }]);
    let tools = BuiltinTools::new(".", ["todo"]).expect("tools");
    let shown = results(tools, &[("todo", json!({ "items": items })), ("todo", json!({ "items": [] }))]).await;
    assert_eq!(shown[0], ("[x] Look\n[>] Act\n[ ] Rest".to_owned(), false));
    assert_eq!(shown[1].0, "The list is empty.");
}

#[test]
fn wrong_options_are_named() {
    let error = |json: Value| BuiltinTools::from_json(&json).unwrap_err().message().to_owned();
    assert!(error(json!(["tdo"])).contains("did you mean \"todo\""), "{}", error(json!(["tdo"])));
    assert!(error(json!(["todo", "todo"])).contains("two tools named \"todo\""));
    assert!(error(json!({ "tools": ["todo"], "root": "/no/such/folder" })).starts_with("root: \"/no/such/folder\": "));
    assert_eq!(error(json!({ "tools": "todo" })), "tools: expected a list of names of built-in tools, got a text");
    assert!(error(json!({ "tool": ["todo"] })).contains("unknown field of built-in tools \"tool\""));
    assert!(error(json!(7)).starts_with("expected a list of names"));
}
