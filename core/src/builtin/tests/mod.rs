#[cfg(unix)]
mod command;
mod edit_file;
#[cfg(unix)]
mod escapes;
mod fetch;
mod file_change;
mod find_files;
#[cfg(unix)]
mod git;
mod list_directory;
mod oracle;
mod path;
#[cfg(unix)]
mod races;
mod read_file;
#[cfg(target_os = "linux")]
mod sandbox;
mod scratch_pad;
mod search_text;
mod undo;
mod write_file;

use std::path::PathBuf;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::BuiltinTools;
use crate::suspension::Decision;
use crate::{Agent, Message, Outcome};

/// The tools for files.
const ALL: [&str; 6] = ["read_file", "write_file", "edit_file", "list_directory", "find_files", "search_text"];

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

/// A call of a message of the model.
fn call(id: &str, name: &str, arguments: &Value) -> Value {
    json!({ "delta": { "tool_call": { "id": id, "name": name, "arguments": arguments } } })
}

/// An agent with these tools, which makes these calls.
fn agent(tools: BuiltinTools, calls: &[(&str, Value)]) -> Agent {
    Agent::builder(model(calls).as_str()).builtin_tools(tools).max_turns(0).build().expect("an agent")
}

/// The results of these calls, all of which are approved: each with its text, and whether it is an error.
async fn results(tools: BuiltinTools, calls: &[(&str, Value)]) -> Vec<(String, bool)> {
    let agent = agent(tools, calls);
    play(&agent).await;
    results_of(&agent)
}

/// Runs until nothing waits for a decision.
async fn play(agent: &Agent) {
    let mut result = agent.prompt("Go.").await.expect("a run");
    while result.outcome == Outcome::Suspended {
        let decisions: Vec<_> = result.pending.iter().map(|call| (call.tool_call_id.to_string(), Decision::Approve)).collect();
        result = agent.resume().decisions(decisions).await.expect("a run");
    }
    assert_eq!(result.outcome, Outcome::Completed);
}

fn results_of(agent: &Agent) -> Vec<(String, bool)> {
    let messages = agent.messages();
    let results = messages.iter().filter_map(|message| match &**message {
        Message::ToolResult(result) => Some((message.text(), result.is_error)),
        _ => None,
    });
    results.collect()
}

/// A folder with all tools in it.
struct Folder(TempDir);

impl Folder {
    fn new(files: &[(&str, &str)]) -> Folder {
        let folder = Folder(tempfile::tempdir().expect("a folder"));
        for (path, content) in files {
            folder.write(path, content);
        }
        folder
    }

    fn at(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.at(path);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
        std::fs::write(path, content).expect("a file");
    }

    fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.at(path)).expect("a file")
    }

    /// The names in a folder.
    fn names(&self, path: &str) -> Vec<String> {
        let entries = std::fs::read_dir(self.at(path)).expect("a folder");
        let mut names: Vec<_> = entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8")).collect();
        names.sort();
        names
    }

    fn tools(&self) -> BuiltinTools {
        BuiltinTools::new(self.0.path(), ALL).expect("tools")
    }

    async fn calls(&self, calls: &[(&str, Value)]) -> Vec<(String, bool)> {
        results(self.tools(), calls).await
    }

    /// The text of a call that succeeds.
    async fn text(&self, tool: &str, arguments: Value) -> String {
        let (text, is_error) = self.calls(&[(tool, arguments)]).await.remove(0);
        assert!(!is_error, "{text}");
        text
    }

    /// The text of a call that fails.
    async fn error(&self, tool: &str, arguments: Value) -> String {
        let (text, is_error) = self.calls(&[(tool, arguments)]).await.remove(0);
        assert!(is_error, "{text}");
        text
    }
}

/// What the gate says of these calls: each result, or that it waits.
#[tokio::test]
async fn the_gate_knows_what_calls_are_about() {
    let folder = Folder::new(&[("a.txt", "old"), (".env", "key"), ("src/b.txt", "old")]);
    let calls = [
        ("write_file", json!({ "path": "src/./c.txt", "content": "new" })),
        ("read_file", json!({ "path": "src/../.env" })),
        ("write_file", json!({ "path": "a.txt", "content": "new" })),
    ];
    let agent = agent(folder.tools(), &calls);
    agent.set_json(&json!({ "gate": { "allow": ["write_file(src/**)"], "deny": ["read_file(.env)"] } })).expect("a gate");
    let result = agent.prompt("Go.").await.expect("a run");
    assert_eq!(result.outcome, Outcome::Suspended);
    let results = results_of(&agent);
    assert_eq!(folder.read("src/c.txt"), "new", "{results:?}");
    assert!(results[1].1 && results[1].0.contains("read_file(.env)"), "{results:?}");
    assert_eq!((&*result.pending[0].tool_name, folder.read("a.txt").as_str()), ("write_file", "old"));
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
