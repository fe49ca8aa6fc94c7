//! `oracle`, and what the other model gets to see.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use super::{call, play, results_of};
use crate::builtin::{BuiltinOptions, BuiltinTools};
use crate::{Agent, EventData};

fn tools(oracle: Option<&Value>) -> BuiltinTools {
    let options =
        BuiltinOptions { tools: vec!["oracle".to_owned()], oracle: oracle.map(Value::to_string), ..BuiltinOptions::default() };
    BuiltinTools::with_options(options).expect("tools")
}

/// A model that plays this script.
fn scripted(id: &str, script: &Value) -> Value {
    json!({ "provider": "scripted", "id": id, "script": script })
}

fn says(text: &str) -> Value {
    json!([{ "delta": text }, { "usage": { "input": 7, "output": 3 } }, { "end": "stop" }])
}

fn asks() -> Value {
    json!([call("c1", "oracle", &json!({ "question": "Tabs or spaces?" })), { "end": "tool_use" }])
}

#[tokio::test]
async fn another_model_answers() {
    let oracle = scripted("wise", &json!([says("Spaces.")]));
    let model = scripted("s", &json!([asks(), says("Done.")])).to_string();
    let agent = Agent::builder(model.as_str()).system_prompt("Be brief.").builtin_tools(tools(Some(&oracle))).build().unwrap();
    let result = agent.prompt("Go.").await.unwrap();
    assert_eq!(results_of(&agent), [("Spaces.".to_owned(), false)]);
    assert_eq!((result.usage.input, result.usage.output), (14, 6), "what it uses counts");
}

#[tokio::test]
async fn it_knows_nothing_of_the_conversation_and_has_no_tools() {
    // Its own model plays one script: the second turn of it is the oracle's.
    let model = scripted("s", &json!([asks(), says("Spaces."), says("Done.")])).to_string();
    let calls = Arc::new(AtomicUsize::new(0));
    let of_hook = Arc::clone(&calls);
    let builder = Agent::builder(model.as_str()).system_prompt("Be brief.").builtin_tools(tools(None));
    let builder = builder.transform_context(move |_, _| {
        of_hook.fetch_add(1, Ordering::Relaxed);
        async { Ok::<_, String>(None) }
    });
    let agent = builder.build().unwrap();
    let mut run = agent.stream("Go.").unwrap();
    let mut seen = Vec::new();
    while let Some(event) = run.next().await {
        if let EventData::SubagentEvent { event, .. } = &event.data {
            if let EventData::MessageEnd { message, .. } = &event.data {
                seen.push(format!("{}: {}", message.role(), message.text()));
            }
            assert!(!matches!(event.data, EventData::Diagnostic { .. }), "{event:?}");
        }
    }
    assert_eq!(seen, ["user: Tabs or spaces?", "assistant: Spaces."]);
    assert_eq!(results_of(&agent), [("Spaces.".to_owned(), false)]);
    assert_eq!(calls.load(Ordering::Relaxed), 2, "the hook is about the messages of the agent's own model calls");
}

#[tokio::test]
async fn a_failure_is_an_error_result() {
    let oracle = scripted("wise", &json!([[{ "error": { "kind": "authentication", "message": "the key is wrong" } }]]));
    let model = scripted("s", &json!([asks(), says("Done.")])).to_string();
    let agent = Agent::builder(model.as_str()).builtin_tools(tools(Some(&oracle))).build().unwrap();
    play(&agent).await;
    let (text, is_error) = results_of(&agent).remove(0);
    assert!(is_error && text.contains("the key is wrong"), "{text}");
}

#[test]
fn what_is_no_model_is_refused() {
    let read = |oracle: Value| BuiltinTools::from_json(&json!({ "tools": ["oracle"], "oracle": oracle })).map(drop);
    let text = |oracle: Value| read(oracle).unwrap_err().message().to_owned();
    assert!(text(json!("wise")).starts_with("oracle: "), "{}", text(json!("wise")));
    assert!(text(json!(1)).contains("oracle: expected a model, provider/id"), "{}", text(json!(1)));
    assert!(read(json!("anthropic/claude-opus-4-5")).is_ok());
}
