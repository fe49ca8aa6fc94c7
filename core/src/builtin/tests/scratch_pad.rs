use serde_json::{Value, json};

use super::{agent, call, model, play, results_of};
use crate::Agent;
use crate::builtin::BuiltinTools;

fn tools() -> BuiltinTools {
    BuiltinTools::new(".", ["scratch_pad"]).unwrap()
}

fn pad(action: &str, text: &str) -> (&'static str, Value) {
    ("scratch_pad", json!({ "action": action, "text": text }))
}

#[tokio::test]
async fn notes_are_kept_and_read() {
    let calls =
        [pad("read", ""), pad("append", "one"), pad("append", "two"), pad("read", ""), pad("write", "three"), pad("read", "")];
    let agent = agent(tools(), &[&calls[..], &[pad("clear", ""), pad("read", "")]].concat());
    play(&agent).await;
    let texts: Vec<String> = results_of(&agent).into_iter().map(|(text, _)| text).collect();
    assert_eq!(texts[..4], ["There are no notes.", "Noted: 3 bytes in all.", "Noted: 7 bytes in all.", "one\ntwo"]);
    assert_eq!(texts[4..], ["Noted: 5 bytes in all.", "three", "The notes are cleared.", "There are no notes."]);
}

#[tokio::test]
async fn calls_of_one_message_go_on_from_each_other() {
    let call = |id: &str, text: &str| call(id, "scratch_pad", &json!({ "action": "append", "text": text }));
    let script = json!([[call("1", "one"), call("2", "two"), { "end": "tool_use" }], [{ "delta": "Done." }, { "end": "stop" }]]);
    let model = json!({ "provider": "scripted", "id": "s", "script": script }).to_string();
    let agent = Agent::builder(model.as_str()).builtin_tools(tools()).build().unwrap();
    play(&agent).await;
    assert_eq!(results_of(&agent)[1].0, "Noted: 7 bytes in all.");
}

#[tokio::test]
async fn notes_go_with_the_transcript() {
    let first = agent(tools(), &[pad("write", "kept")]);
    play(&first).await;
    let stored = serde_json::to_string(&**first.messages()).unwrap();
    let messages: Vec<crate::Message> = serde_json::from_str(&stored).unwrap();
    let second = Agent::builder(model(&[pad("read", "")]).as_str()).builtin_tools(tools()).build().unwrap();
    second.replace_messages(messages).unwrap();
    play(&second).await;
    assert_eq!(results_of(&second)[1], ("kept".to_owned(), false));
}

#[tokio::test]
async fn too_many_notes_are_refused() {
    let agent = agent(
        tools(),
        &[pad("write", "x"), pad("append", &"y".repeat(30_000)), pad("read", ""), ("scratch_pad", json!({ "action": "write" }))],
    );
    play(&agent).await;
    let results = results_of(&agent);
    assert!(results[1].1 && results[1].0.contains("would have 30002 bytes, of at most 30000"), "{:?}", results[1]);
    assert_eq!(results[2].0, "x");
    assert_eq!(results[3], ("text: is required for the action \"write\"".to_owned(), true));
}
