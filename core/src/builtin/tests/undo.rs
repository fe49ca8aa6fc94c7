use serde_json::{Value, json};

use super::{Folder, agent, model, play};
use crate::builtin::UndoneWrites;
use crate::{Agent, ErrorKind, Message};

fn write(path: &str, content: &str) -> (&'static str, Value) {
    ("write_file", json!({ "path": path, "content": content }))
}

fn edit(path: &str, old: &str, new: &str) -> (&'static str, Value) {
    ("edit_file", json!({ "path": path, "old_text": old, "new_text": new, "replace_all": true }))
}

async fn after(folder: &Folder, calls: &[(&str, Value)]) -> Agent {
    let agent = agent(folder.tools(), calls);
    play(&agent).await;
    agent
}

fn shown(undone: &UndoneWrites) -> Vec<String> {
    undone.undone.iter().map(|write| format!("{} {}", write.action, write.path)).collect()
}

#[tokio::test]
async fn writes_are_taken_back_newest_first() {
    let folder = Folder::new(&[("old", "héllo wörld\n")]);
    let calls = [write("a/b/new", "1"), edit("old", "ö", "oe"), write("old", "all new"), edit("a/b/new", "1", "22")];
    let agent = after(&folder, &calls).await;
    assert_eq!(shown(&agent.undo_writes(1).unwrap()), ["restored a/b/new"]);
    assert_eq!((folder.read("a/b/new"), folder.read("old")), ("1".to_owned(), "all new".to_owned()));
    let undone = agent.undo_writes(2).unwrap();
    assert_eq!(shown(&undone), ["restored old", "restored old"]);
    assert_eq!(undone.undone[0].tool_call_id, "c2");
    assert_eq!(folder.read("old"), "héllo wörld\n");
    assert_eq!(shown(&agent.undo_writes(9).unwrap()), ["removed a/b/new"]);
    assert_eq!(folder.names("."), ["old"]);
    assert_eq!(agent.undo_writes(1).unwrap(), UndoneWrites::default());
}

#[tokio::test]
async fn a_folder_that_has_something_else_stays() {
    let folder = Folder::new(&[]);
    let agent = after(&folder, &[write("a/b/new", "1")]).await;
    folder.write("a/other", "");
    agent.undo_writes(1).unwrap();
    assert_eq!(folder.names("a"), ["other"]);
}

#[tokio::test]
async fn what_was_undone_is_known_in_another_process() {
    let folder = Folder::new(&[("f", "0")]);
    let first = after(&folder, &[write("f", "1"), write("f", "2"), write("f", "3")]).await;
    first.undo_writes(1).unwrap();
    let stored = serde_json::to_string(&**first.messages()).unwrap();
    let messages: Vec<Message> = serde_json::from_str(&stored).unwrap();
    assert_eq!(messages.last().unwrap().role(), "undo_writes");
    let second = Agent::builder(model(&[]).as_str()).builtin_tools(folder.tools()).build().unwrap();
    second.replace_messages(messages).unwrap();
    assert_eq!(shown(&second.undo_writes(1).unwrap()), ["restored f"]);
    assert_eq!(folder.read("f"), "1");
    // The message is none for the model.
    assert_eq!(second.prompt("Go on.").await.unwrap().text, "Done.");
}

#[cfg(feature = "store")]
#[tokio::test]
async fn a_session_keeps_what_was_written_and_undone() {
    let (folder, stores) = (Folder::new(&[("f", "0")]), Folder::new(&[]));
    let store = || crate::session::Store::open(stores.at("agents.db").to_str().unwrap()).unwrap();
    let first = store().session("s").unwrap().open().await.unwrap();
    let calls = [write("f", "1"), write("f", "2"), ("scratch_pad", json!({ "action": "write", "text": "kept" }))];
    let names = super::ALL.into_iter().chain(["scratch_pad"]);
    let tools = crate::builtin::BuiltinTools::new(folder.at("."), names).unwrap();
    let builder = Agent::builder(model(&calls).as_str()).builtin_tools(tools.clone());
    let agent = builder.session(first.clone()).build().unwrap();
    play(&agent).await;
    agent.undo_writes(1).unwrap();
    agent.flush().await.unwrap();
    drop(agent);
    first.close().await.unwrap();

    let again = store().session("s").unwrap().open().await.unwrap();
    let builder = Agent::builder(model(&[("scratch_pad", json!({ "action": "read" }))]).as_str());
    let agent = builder.builtin_tools(tools).session(again).build().unwrap();
    assert_eq!(shown(&agent.undo_writes(5).unwrap()), ["restored f"]);
    assert_eq!(folder.read("f"), "0");
    play(&agent).await;
    assert_eq!(super::results_of(&agent).last().unwrap().0, "kept");
}

#[tokio::test]
async fn it_stops_at_a_file_that_was_changed_since() {
    let folder = Folder::new(&[("a", "0"), ("b", "0")]);
    let agent = after(&folder, &[write("a", "1"), write("b", "1"), write("a", "2")]).await;
    folder.write("b", "mine");
    let undone = agent.undo_writes(3).unwrap();
    assert_eq!(shown(&undone), ["restored a"]);
    let refused = undone.refused.unwrap();
    assert_eq!((&*refused.path, &*refused.reason), ("b", "it was changed since"));
    assert_eq!((folder.read("a"), folder.read("b")), ("1".to_owned(), "mine".to_owned()));
    std::fs::remove_file(folder.at("b")).unwrap();
    assert_eq!(agent.undo_writes(1).unwrap().refused.unwrap().reason, "it was removed since");
}

#[tokio::test]
async fn what_is_not_text_comes_back_too() {
    let folder = Folder::new(&[]);
    folder.write("f", b"\xff\0same\xfe");
    let agent = after(&folder, &[write("f", "same")]).await;
    agent.undo_writes(1).unwrap();
    assert_eq!(std::fs::read(folder.at("f")).unwrap(), b"\xff\0same\xfe");
}

#[tokio::test]
async fn a_write_that_replaces_too_much_says_so() {
    let folder = Folder::new(&[("f", &"x".repeat(300_000))]);
    let agent = after(&folder, &[write("f", "y")]).await;
    let details = agent.messages().iter().find_map(|message| match &**message {
        Message::ToolResult(result) => Some(result.details.clone()),
        _ => None,
    });
    let why = "it has replaced too much of a file that had 300000 bytes: at most 262144 bytes are kept, of files of at most \
        16777216 bytes";
    assert_eq!(details.unwrap()["write"]["no_undo"], why);
    assert_eq!(agent.undo_writes(1).unwrap().refused.unwrap().reason, why);
    assert_eq!(folder.read("f"), "y");
    // A small change of a large file is kept.
    let folder = Folder::new(&[("f", &format!("{}a", "x".repeat(300_000)))]);
    let agent = after(&folder, &[edit("f", "a", "b")]).await;
    assert_eq!(shown(&agent.undo_writes(1).unwrap()), ["restored f"]);
}

#[tokio::test]
async fn it_is_refused_without_the_option_and_during_a_run() {
    let without = Agent::builder(model(&[]).as_str()).build().unwrap();
    assert_eq!(without.undo_writes(1).unwrap_err().kind(), ErrorKind::InvalidState);
    let folder = Folder::new(&[]);
    let agent = agent(folder.tools(), &[]);
    let run = agent.stream("Go.").unwrap();
    assert_eq!(agent.undo_writes(1).unwrap_err().kind(), ErrorKind::Busy);
    run.result().await.unwrap();
    let waiting = super::agent(folder.tools(), &[write("f", "1")]);
    waiting.prompt("Go.").await.unwrap();
    assert_eq!(waiting.undo_writes(1).unwrap_err().kind(), ErrorKind::InvalidState);
}

#[tokio::test]
async fn only_writes_of_the_tools_in_this_root_are_taken_back() {
    let folder = Folder::new(&[("one/f", "1"), ("other/f", "1")]);
    let tools = |root: &str| crate::builtin::BuiltinTools::new(folder.at(root), super::ALL).unwrap();
    let agent = super::agent(tools("one"), &[write("f", "2")]);
    super::play(&agent).await;
    folder.write("other/f", "2");
    let elsewhere = Agent::builder(model(&[]).as_str()).builtin_tools(tools("other")).build().unwrap();
    for message in agent.messages().iter() {
        elsewhere.append_message((**message).clone()).unwrap();
    }
    let reason = elsewhere.undo_writes(1).unwrap().refused.unwrap().reason;
    let one = folder.at("one").canonicalize().unwrap();
    assert_eq!(reason, format!("it was written in another root, {}", one.display()));
    assert_eq!((folder.read("one/f"), folder.read("other/f")), ("2".to_owned(), "2".to_owned()));
    // Another tool's details say what they like.
    let details = json!({ "write": { "id": "x", "path": "f", "action": "created", "hash": crate::builtin::change::hash(b"2") } });
    let message = json!({ "role": "tool_result", "tool_call_id": "c", "tool_name": "other", "content": "", "details": details });
    let agent = Agent::builder(model(&[]).as_str()).builtin_tools(tools("one")).build().unwrap();
    agent.append_message(serde_json::from_value(message).unwrap()).unwrap();
    assert_eq!(agent.undo_writes(1).unwrap(), crate::builtin::UndoneWrites::default());
    assert_eq!(folder.read("one/f"), "2");
}

#[test]
fn what_somebody_else_has_written_meanwhile_is_kept() {
    use crate::builtin::write::Target;
    let folder = Folder::new(&[("f", "1")]);
    let root = crate::builtin::root::Root::open(folder.0.path()).unwrap();
    let open = |name: &str| Target::open(root.folder(".").unwrap(), name).unwrap();
    let (changed, created, removed) = (open("f"), open("new"), open("f"));
    folder.write("f", "theirs");
    folder.write("new", "theirs");
    for (target, name) in [(changed, "f"), (created, "new")] {
        let error = target.write(b"ours").unwrap_err();
        assert_eq!(error.to_string(), "was changed by somebody else meanwhile, and was left so; read it again");
        assert_eq!(folder.read(name), "theirs");
    }
    std::fs::remove_file(folder.at("f")).unwrap();
    assert!(removed.write(b"ours").is_err());
    assert_eq!(folder.names("."), ["new"]);
    assert!(open("new").write(b"ours").is_ok() && folder.read("new") == "ours");
}

#[tokio::test]
async fn a_transcript_from_elsewhere_does_not_lead_out_of_the_root() {
    let folder = Folder::new(&[("root/f", ""), ("outside", "1")]);
    let tools = crate::builtin::BuiltinTools::new(folder.at("root"), super::ALL).unwrap();
    let agent = Agent::builder(model(&[]).as_str()).builtin_tools(tools).build().unwrap();
    let hash = crate::builtin::change::hash(b"1");
    for path in ["../outside", "/etc/hostname", folder.at("outside").to_str().unwrap()] {
        let details = json!({ "write": { "id": path, "path": path, "action": "created", "hash": hash } });
        let message =
            json!({ "role": "tool_result", "tool_call_id": "c", "tool_name": "write_file", "content": "", "details": details });
        agent.append_message(serde_json::from_value(message).unwrap()).unwrap();
        assert!(agent.undo_writes(1).unwrap().refused.unwrap().reason.contains("the root"));
    }
    assert_eq!(folder.read("outside"), "1");
}
