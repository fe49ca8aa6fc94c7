//! Takes back what `write_file` and `edit_file` have written in a conversation, and the commits of `git`.
//!
//! The transcript says all of it: the details of results have what was there before, and a message of the role `undo_writes`
//! which writes were taken back. So it does not matter in which process they were made.

use std::collections::HashSet;
use std::sync::Arc;

use agent_loop_proto::message::Message;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::commit::Commit;
use super::root::{Root, because};
use super::shared::Shared;
use super::uncommit::Uncommit;
use super::write::{self, Target};
use super::{atomic, change, path};

/// The role of the message that says what was taken back. No model reads it.
const ROLE: &str = "undo_writes";

/// The tool whose commits are taken back.
const GIT: &str = "git";

/// What [`Agent::undo_writes`](crate::Agent::undo_writes) has done.
///
/// As JSON: `{"undone": [{"path", "action", "tool_call_id"}], "refused": {"path", "reason"} or null}`.
///
/// ```no_run
/// # fn example(agent: agent_loop::Agent) -> Result<(), agent_loop::Error> {
/// let undone = agent.undo_writes(1)?;
/// for write in &undone.undone {
///     println!("{}: {}", write.path, write.action);
/// }
/// if let Some(refused) = undone.refused {
///     println!("{}: {}", refused.path, refused.reason);
/// }
/// # Ok(()) }
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub struct UndoneWrites {
    /// The writes that were taken back, the newest first.
    pub undone: Vec<UndoneWrite>,
    /// The write at which it has stopped, as that one cannot be taken back.
    pub refused: Option<RefusedUndo>,
}

/// A write that was taken back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub struct UndoneWrite {
    /// The file, relative to the root; of a commit its id.
    pub path: String,
    /// `removed` (the write had created it), `restored`, or `uncommitted`: the changes of a commit are staged again.
    pub action: String,
    /// The call that had written it.
    pub tool_call_id: String,
}

/// A write that cannot be taken back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub struct RefusedUndo {
    /// The file, relative to the root; of a commit its id.
    pub path: String,
    /// Why.
    pub reason: String,
}

/// A write of a transcript.
struct Write<'a> {
    id: &'a str,
    path: &'a str,
    tool_call_id: &'a str,
    of: Written<'a>,
}

enum Written<'a> {
    /// A file: what its details say.
    File(&'a Map<String, Value>),
    Commit(Commit<'a>),
}

/// Takes back the newest writes of a conversation, and gives the message that says so, if there were any.
pub(crate) fn undo(shared: &Arc<Shared>, messages: &[Arc<Message>], count: usize) -> (UndoneWrites, Option<Message>) {
    let (mut done, mut ids) = (UndoneWrites::default(), Vec::new());
    let _writing = shared.root.writing();
    let has_git = shared.options.tools.iter().any(|tool| tool == GIT);
    let mut uncommit = None;
    for write in writes(messages, has_git).into_iter().rev().take(count) {
        let (path, tool_call_id) = (write.path.to_owned(), write.tool_call_id.to_owned());
        let undone = match &write.of {
            Written::File(fields) => undo_file(&shared.root, write.path, fields),
            Written::Commit(commit) if commit.root != shared.root.shown() => {
                Err(format!("it was made in another root, {}", commit.root))
            }
            Written::Commit(commit) => {
                let uncommit = uncommit.get_or_insert_with(|| Uncommit::new(shared));
                uncommit.as_ref().map_err(String::clone).and_then(|uncommit| uncommit.undo(commit)).map(|()| "uncommitted")
            }
        };
        match undone {
            Ok(action) => {
                ids.push(write.id);
                done.undone.push(UndoneWrite { path, action: action.to_owned(), tool_call_id });
            }
            Err(reason) => {
                done.refused = Some(RefusedUndo { path, reason });
                break;
            }
        }
    }
    let message = json!({ "role": ROLE, "writes": ids, "undone": done.undone });
    let message = message.as_object().filter(|_| !ids.is_empty()).map(|message| Message::Custom(message.clone()));
    (done, message)
}

/// Those that were not taken back, the oldest first. `has_git`: also commits.
fn writes(messages: &[Arc<Message>], has_git: bool) -> Vec<Write<'_>> {
    let undone: HashSet<&str> = messages.iter().flat_map(|message| undone_ids(message)).collect();
    let writes = messages.iter().filter_map(|message| match &**message {
        // Another tool may have a field of that name.
        Message::ToolResult(result) if matches!(&*result.tool_name, "write_file" | "edit_file") => {
            let fields = result.details.get(change::WRITE)?.as_object()?;
            let text = |field: &str| fields.get(field).and_then(Value::as_str);
            let of = Written::File(fields);
            Some(Write { id: text("id")?, path: text("path")?, tool_call_id: &result.tool_call_id, of })
        }
        // Without the tool, one of that name is the application's.
        Message::ToolResult(result) if has_git && &*result.tool_name == GIT => {
            let commit = Commit::of_details(&result.details)?;
            let id = commit.id;
            Some(Write { id, path: id, tool_call_id: &result.tool_call_id, of: Written::Commit(commit) })
        }
        _ => None,
    });
    writes.filter(|write| !undone.contains(write.id)).collect()
}

fn undone_ids(message: &Message) -> impl Iterator<Item = &str> {
    let ids = match message {
        Message::Custom(fields) if message.role() == ROLE => fields.get("writes").and_then(Value::as_array),
        _ => None,
    };
    ids.into_iter().flatten().filter_map(Value::as_str)
}

/// Says what has become of the file.
fn undo_file(root: &Root, path: &str, fields: &Map<String, Value>) -> Result<&'static str, String> {
    let text = |field: &str| fields.get(field).and_then(Value::as_str);
    if let Some(reason) = text("no_undo") {
        return Err(reason.to_owned());
    }
    if let Some(other) = text("root").filter(|other| *other != root.shown()) {
        return Err(format!("it was written in another root, {other}"));
    }
    let path = root.normal(path)?;
    let Some((folder, name)) = path::split(&path) else { return Err("it is the root".to_owned()) };
    let failed = |error| because(&path, &error);
    let target = root.folder(folder).and_then(|folder| Target::open(folder, name)).map_err(failed)?;
    let Some(now) = &target.before else { return Err("it was removed since".to_owned()) };
    let now = now.content.as_deref().filter(|now| text("hash") == Some(&change::hash(now)));
    let Some(now) = now else { return Err("it was changed since".to_owned()) };
    if text("action") == Some("created") {
        target.folder.remove_file(name).map_err(failed)?;
        atomic::sync(&target.folder);
        let made = fields.get("folders").and_then(Value::as_array).into_iter().flatten();
        let made: Vec<String> = made.filter_map(Value::as_str).filter_map(|made| root.normal(made).ok()).collect();
        write::remove_folders(root, &made);
        return Ok("removed");
    }
    let before = fields.get("before").and_then(|kept| change::restored(now, kept));
    let Some(before) = before else { return Err("the transcript does not have what was there before".to_owned()) };
    target.write(&before).map_err(failed)?;
    Ok("restored")
}
