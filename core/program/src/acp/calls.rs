//! Tool calls as an editor shows them: their kind, a title, the files they are about, and what came of them.

use std::sync::Arc;

use agent_client_protocol::v1::schema::{
    ContentBlock as Shown, Diff, ImageContent, Plan, PlanEntry, PlanEntryPriority, PlanEntryStatus, ToolCallContent,
    ToolCallLocation, ToolCallUpdateFields, ToolKind,
};
use agent_loop::builtin::{BuiltinTools, FileChange};
use agent_loop::message::ContentBlock;
use agent_loop::{Agent, ToolSet};
use serde_json::{Map, Value};

use crate::show::shortened;

/// A built-in tool: its name, what it does to the editor, a verb, and the argument that follows the verb.
type Known = (&'static str, ToolKind, &'static str, &'static str);

const KNOWN: &[Known] = &[
    ("read_file", ToolKind::Read, "Read", "path"),
    ("write_file", ToolKind::Edit, "Write", "path"),
    ("edit_file", ToolKind::Edit, "Edit", "path"),
    ("list_directory", ToolKind::Read, "List", "path"),
    ("find_files", ToolKind::Search, "Find", "pattern"),
    ("search_text", ToolKind::Search, "Search for", "pattern"),
    ("run_command", ToolKind::Execute, "Run", "command"),
    ("git", ToolKind::Execute, "git", "action"),
    ("fetch_url", ToolKind::Fetch, "Fetch", "url"),
    ("oracle", ToolKind::Think, "Ask", "question"),
    ("scratch_pad", ToolKind::Think, "Notes:", "action"),
    ("todo", ToolKind::Think, "Plan", ""),
];

/// What the editor shows as its plan, and not as a call.
const PLAN: &str = "todo";

/// Those whose results are prose already, and no code.
const PROSE: &[&str] = &["fetch_url", "oracle", "scratch_pad"];

/// The tools whose calls are shown.
pub(super) struct Calls {
    builtin: BuiltinTools,
    /// One of these takes the place of a built-in one of the same name.
    own: ToolSet,
}

impl Calls {
    pub(super) fn of(agent: &Agent) -> Calls {
        Calls { builtin: agent.builtin_tools(), own: agent.tools() }
    }

    fn is_builtin(&self, tool: &str) -> bool {
        self.builtin.tools().get(tool).is_some() && self.own.get(tool).is_none()
    }

    fn known(&self, tool: &str) -> Option<&'static Known> {
        KNOWN.iter().find(|(name, ..)| *name == tool).filter(|_| self.is_builtin(tool))
    }

    /// Whether a call is the plan, which has a place of its own in the editor.
    pub(super) fn is_plan(&self, tool: &str) -> bool {
        tool == PLAN && self.is_builtin(tool)
    }

    pub(super) fn kind(&self, tool: &str) -> ToolKind {
        self.known(tool).map_or(ToolKind::Other, |(_, kind, ..)| *kind)
    }

    /// What is known of a call before it runs.
    pub(super) fn fields(&self, tool: &str, arguments: &Arc<Map<String, Value>>) -> ToolCallUpdateFields {
        ToolCallUpdateFields::new()
            .kind(self.kind(tool))
            .title(self.title(tool, arguments))
            .locations(self.locations(tool, arguments))
            .raw_input(Value::Object(Map::clone(arguments)))
    }

    fn title(&self, tool: &str, arguments: &Map<String, Value>) -> String {
        let Some((_, _, verb, argument)) = self.known(tool) else { return tool.to_owned() };
        match arguments.get(*argument).and_then(Value::as_str) {
            Some(what) => format!("{verb} {}", shortened(what)),
            None => (*verb).to_owned(),
        }
    }

    /// The file that a call is about.
    fn locations(&self, tool: &str, arguments: &Map<String, Value>) -> Vec<ToolCallLocation> {
        let path = || self.builtin.absolute_path(arguments.get("path")?.as_str()?);
        let Some(path) = self.known(tool).and_then(|_| path()) else { return Vec::new() };
        let line = arguments.get("offset").and_then(Value::as_u64).and_then(|line| u32::try_from(line).ok());
        vec![ToolCallLocation::new(path).line(line.filter(|_| tool == "read_file"))]
    }

    /// What a call would change.
    pub(super) async fn planned(&self, tool: &str, arguments: &Arc<Map<String, Value>>) -> Option<ToolCallContent> {
        if !self.is_builtin(tool) {
            return None;
        }
        let (builtin, tool, arguments) = (self.builtin.clone(), tool.to_owned(), Arc::clone(arguments));
        let read = tokio::task::spawn_blocking(move || builtin.planned_change(&tool, &arguments));
        read.await.ok().flatten().map(diff)
    }

    /// What came of a call.
    pub(super) async fn result(
        &self,
        tool: &str,
        arguments: &Arc<Map<String, Value>>,
        content: &[ContentBlock],
        details: &Value,
        is_error: bool,
    ) -> Vec<ToolCallContent> {
        if !is_error && self.is_builtin(tool) {
            let (builtin, name, details) = (self.builtin.clone(), tool.to_owned(), details.clone());
            let given = Arc::clone(arguments);
            let read = tokio::task::spawn_blocking(move || builtin.made_change(&name, &given, &details));
            if let Some(change) = read.await.ok().flatten() {
                return vec![diff(change)];
            }
        }
        self.content(tool, content, is_error)
    }

    /// Blocks of a result, or of what a tool reports while it works.
    pub(super) fn content(&self, tool: &str, content: &[ContentBlock], is_error: bool) -> Vec<ToolCallContent> {
        let is_code = !is_error && self.known(tool).is_some() && !PROSE.contains(&tool);
        let shown = content.iter().filter_map(|block| match block {
            // Editors show Markdown.
            ContentBlock::Text { text, .. } if is_code => Some(fenced(text).into()),
            ContentBlock::Text { text, .. } => Some(text.as_str().into()),
            other => block_of(other),
        });
        shown.map(|shown: Shown| shown.into()).collect()
    }
}

/// A block of a message.
pub(super) fn block_of(block: &ContentBlock) -> Option<Shown> {
    match block {
        ContentBlock::Text { text, .. } => Some(text.as_str().into()),
        ContentBlock::Image(media) => match (media.as_base64(), media.as_url()) {
            (Some(data), _) => Some(Shown::Image(ImageContent::new(data, media.mime_type.as_str()))),
            (None, Some(url)) => Some(format!("![]({url})").into()),
            (None, None) => None,
        },
        ContentBlock::Document(media) => Some(format!("[{}]", media.name.as_deref().unwrap_or("document")).into()),
        _ => None,
    }
}

fn diff(change: FileChange) -> ToolCallContent {
    Diff::new(change.path, change.after).old_text(change.before).into()
}

/// A text as a block of code, whatever it has in it.
fn fenced(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(3.max(longest + 1));
    format!("{fence}\n{}\n{fence}", text.trim_end_matches('\n'))
}

/// The plan, as the details of a result of the tool `todo` have it.
pub(super) fn plan_of(details: &Value) -> Option<Plan> {
    let items = details.get("items")?.as_array()?;
    let entries = items.iter().filter_map(|item| {
        let status = match item.get("state")?.as_str()? {
            "completed" => PlanEntryStatus::Completed,
            "in_progress" => PlanEntryStatus::InProgress,
            _ => PlanEntryStatus::Pending,
        };
        Some(PlanEntry::new(item.get("text")?.as_str()?, PlanEntryPriority::Medium, status))
    });
    Some(Plan::new(entries.collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_tool_has_a_row() {
        for name in BuiltinTools::names() {
            assert!(KNOWN.iter().any(|(known, ..)| *known == name), "{name}");
        }
    }

    #[test]
    fn a_fence_is_longer_than_what_is_in_it() {
        assert_eq!(fenced("a\n"), "```\na\n```");
        assert_eq!(fenced("```\nb\n```"), "````\n```\nb\n```\n````");
    }
}
