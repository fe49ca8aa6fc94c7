use serde_json::{Value, json};

use super::{Folder, agent, play};
use crate::Message;
use crate::builtin::BuiltinTools;

/// What each of these calls was about to change, and what it has changed.
async fn changes(folder: &Folder, calls: &[(&str, Value)]) -> Vec<Option<(Option<String>, String)>> {
    let tools = folder.tools();
    let agent = agent(tools.clone(), calls);
    let texts = |change: Option<super::super::FileChange>| change.map(|change| (change.before, change.after));
    play(&agent).await;
    let messages = agent.messages();
    let results = messages.iter().filter_map(|message| match &**message {
        Message::ToolResult(result) => Some(result),
        _ => None,
    });
    let made = |(result, (name, arguments)): (_, &(&str, Value))| {
        let result: &crate::message::ToolResultMessage = result;
        texts(tools.made_change(name, arguments.as_object().unwrap(), &result.details))
    };
    results.zip(calls).map(made).collect()
}

fn planned(tools: &BuiltinTools, name: &str, arguments: &Value) -> Option<(Option<String>, String)> {
    let change = tools.planned_change(name, arguments.as_object().unwrap())?;
    assert!(change.path.is_absolute());
    Some((change.before, change.after))
}

fn texts(before: Option<&str>, after: &str) -> Option<(Option<String>, String)> {
    Some((before.map(str::to_owned), after.to_owned()))
}

#[tokio::test]
async fn what_is_planned_is_what_is_made() {
    let calls = [
        ("write_file", json!({ "path": "a/new", "content": "1\n" }), texts(None, "1\n")),
        ("write_file", json!({ "path": "old", "content": "other\n" }), texts(Some("one two\n"), "other\n")),
        ("edit_file", json!({ "path": "edited", "old_text": "ö", "new_text": "oe" }), texts(Some("hör\n"), "hoer\n")),
    ];
    let folder = Folder::new(&[("old", "one two\n"), ("edited", "hör\n")]);
    for (name, arguments, expected) in &calls {
        assert_eq!(planned(&folder.tools(), name, arguments), *expected, "{arguments}");
    }
    let given: Vec<(&str, Value)> = calls.iter().map(|(name, arguments, _)| (*name, arguments.clone())).collect();
    let expected: Vec<_> = calls.into_iter().map(|(_, _, expected)| expected).collect();
    assert_eq!(changes(&folder, &given).await, expected);
}

#[tokio::test]
async fn what_cannot_be_shown_is_not() {
    let folder = Folder::new(&[("old", "one two\n"), ("large", &"x".repeat(1024 * 1024 + 1))]);
    let tools = folder.tools();
    for (name, arguments) in [
        ("read_file", json!({ "path": "old" })),
        ("write_file", json!({ "path": "../other", "content": "" })),
        ("write_file", json!({ "path": "large", "content": "" })),
        ("write_file", json!({ "path": "new", "content": "x".repeat(1024 * 1024 + 1) })),
        ("edit_file", json!({ "path": "old", "old_text": "three", "new_text": "" })),
        ("edit_file", json!({ "path": "none", "old_text": "one", "new_text": "" })),
        ("write_file", json!({ "path": 1 })),
    ] {
        assert_eq!(tools.planned_change(name, arguments.as_object().unwrap()), None, "{name} {arguments:.80}");
    }
    assert_eq!(BuiltinTools::default().absolute_path("a"), None);
}

#[tokio::test]
async fn an_edit_whose_file_was_changed_since_is_not_shown() {
    let folder = Folder::new(&[("old", "one two\n")]);
    let call = ("edit_file", json!({ "path": "old", "old_text": "one", "new_text": "1" }));
    let agent = agent(folder.tools(), std::slice::from_ref(&call));
    play(&agent).await;
    let messages = agent.messages();
    let details = messages.iter().find_map(|message| match &**message {
        Message::ToolResult(result) => Some(result.details.clone()),
        _ => None,
    });
    let (tools, details) = (folder.tools(), details.unwrap());
    let made = || tools.made_change(call.0, call.1.as_object().unwrap(), &details).map(|change| change.after);
    assert_eq!(made().as_deref(), Some("1 two\n"));
    folder.write("old", "1 two three\n");
    assert_eq!(made(), None);
}
