//! `edit_file`: exact replacements, all of them or none.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::file_tool::{FileCall, FileTool, schema};
use super::root::because;
use super::shared::{MadeTool, Shared};
use super::write::{self, Target};
use super::{change, path};

/// How many places are named where a text is found more than once.
const MAX_PLACES: usize = 10;

pub(super) fn make(shared: &Arc<Shared>) -> MadeTool {
    let edit = json!({
        "type": "object",
        "properties": {
            "old_text": { "type": "string", "description": "The text that is there now, exactly, with its white space." },
            "new_text": { "type": "string", "description": "What takes its place." },
            "replace_all": { "type": "boolean", "description": "Replaces it wherever it is. Otherwise it has to be there once." },
        },
        "required": ["old_text", "new_text"],
    });
    let properties = json!({
        "path": { "type": "string", "description": "The file, relative to the root." },
        "edits": { "type": "array", "minItems": 1, "items": edit, "description": "Made in this order, all or none." },
    });
    let description = "Changes parts of a text file by exact replacement. Each old_text has to be in the file exactly once: give \
        lines around it until it is, or set replace_all. If one of the edits cannot be made, none is.";
    let tool = FileTool::reading("edit_file", description, schema(&properties, &["path", "edits"]), shared, run)?;
    tool.reshaping(with_list).that_writes().made()
}

/// Models give a single edit without the list, or the list as a text.
fn with_list(arguments: &mut Map<String, Value>) {
    if let Some(Value::String(text)) = arguments.get("edits")
        && let Ok(list @ Value::Array(_)) = serde_json::from_str(text)
    {
        arguments.insert("edits".to_owned(), list);
    }
    if !arguments.contains_key("edits") && arguments.contains_key("old_text") {
        let fields = ["old_text", "new_text", "replace_all"];
        let edit: Map<String, Value> = fields.iter().filter_map(|field| arguments.remove_entry(*field)).collect();
        arguments.insert("edits".to_owned(), json!([edit]));
    }
}

fn run(call: &FileCall<'_>) -> Result<Value, String> {
    let path = call.path()?;
    let Some((folder, name)) = path::split(&path) else { return Err("the path is the root, which is a folder".to_owned()) };
    let _writing = call.root.writing();
    let target = call.root.folder(folder).and_then(|folder| Target::open(folder, name));
    let target = target.map_err(|error| because(&path, &error))?;
    let Some(before) = &target.before else {
        return Err(format!("the path {path:?} does not exist; write_file creates a file"));
    };
    let Some(content) = &before.content else {
        return Err(format!("the file {path:?} is too large: edit_file takes files of at most {} bytes", change::MAX_COMPARED));
    };
    let content = std::str::from_utf8(content);
    let content = content.map_err(|_| format!("the file {path:?} is not UTF-8 text, which is all that edit_file can change"))?;
    let edits = call.list("edits");
    let (mut text, mut places) = (content.to_owned(), Vec::new());
    for (at, edit) in edits.iter().enumerate() {
        let which = if edits.len() == 1 { String::new() } else { format!("edit {} of {}: ", at + 1, edits.len()) };
        call.check_wanted()?;
        let made = Edit::read(edit, &text).and_then(|edit| edit.make(&text));
        let made = made.map_err(|why| format!("{which}{why}; nothing was changed in {path:?}"))?;
        places.extend(made.lines);
        text = made.text;
    }
    let written = write::write(call, &path, &target, text.as_bytes())?;
    if written.is_none() {
        return Ok(write::result(format!("The edits of {} cancel each other: it is as it was.", path::shown(&path)), None));
    }
    let count = if places.len() == 1 { "1 place".to_owned() } else { format!("{} places", places.len()) };
    Ok(write::result(format!("{}: replaced {count}, at {}.", path::shown(&path), lines_of(&places)), written))
}

/// The text after the edits of these arguments; `None` if one of them cannot be made.
pub(super) fn edited(text: &str, arguments: &Map<String, Value>) -> Option<String> {
    let mut arguments = arguments.clone();
    with_list(&mut arguments);
    let edits = arguments.get("edits")?.as_array()?;
    let make = |text: String, edit: &Value| Edit::read(edit, &text).and_then(|edit| edit.make(&text)).ok().map(|made| made.text);
    edits.iter().try_fold(text.to_owned(), make)
}

/// One replacement.
struct Edit {
    old: String,
    new: String,
    is_everywhere: bool,
}

struct Made {
    text: String,
    /// The lines where it was made, from 1.
    lines: Vec<usize>,
}

impl Edit {
    /// Reads an edit of this text, in its line endings.
    fn read(edit: &Value, text: &str) -> Result<Edit, String> {
        let field = |name: &str| edit.get(name).and_then(Value::as_str).unwrap_or_default();
        let (mut old, mut new) = (field("old_text").to_owned(), field("new_text").to_owned());
        if old.is_empty() {
            return Err("old_text is empty; to write a whole file, use write_file".to_owned());
        }
        // read_file shows lines without CR, and models write them so.
        let crlf = text.matches("\r\n").count();
        let is_crlf = crlf > 0 && crlf == text.matches('\n').count();
        if is_crlf || (crlf > 0 && !text.contains(&old)) {
            (old, new) = (with_crlf(&old), with_crlf(&new));
        }
        if old == new {
            return Err("old_text and new_text are the same".to_owned());
        }
        Ok(Edit { old, new, is_everywhere: edit.get("replace_all").and_then(Value::as_bool).unwrap_or_default() })
    }

    fn make(&self, text: &str) -> Result<Made, String> {
        let starts: Vec<usize> = text.match_indices(&self.old).map(|(at, _)| at).collect();
        let (mut line, mut from) = (1, 0);
        let lines = starts.iter().map(|at| {
            line += text.get(from..*at).unwrap_or_default().matches('\n').count();
            from = *at;
            line
        });
        let places: Vec<usize> = lines.collect();
        match places.len() {
            0 => Err(self.missing(text)),
            1 => Ok(Made { text: text.replacen(&self.old, &self.new, 1), lines: places }),
            _ if self.is_everywhere => Ok(Made { text: text.replace(&self.old, &self.new), lines: places }),
            count => Err(format!(
                "old_text is there {count} times, at {}: give more of the text around it, or set replace_all",
                lines_of(&places)
            )),
        }
    }

    /// Says what is nearly it.
    fn missing(&self, text: &str) -> String {
        let first = self.old.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
        let similar: Vec<usize> = text
            .lines()
            .enumerate()
            .filter(|(_, line)| !first.is_empty() && line.trim() == first)
            .map(|(at, _)| at + 1)
            .collect();
        let hint = if similar.is_empty() {
            "read the file again, and give the text exactly as it is there".to_owned()
        } else {
            format!("its first line is like that at {}: compare white space, and the lines that follow", lines_of(&similar))
        };
        format!("old_text is not in the file; {hint}")
    }
}

fn with_crlf(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\n', "\r\n")
}

fn lines_of(places: &[usize]) -> String {
    let mut shown: Vec<String> = places.iter().take(MAX_PLACES).map(ToString::to_string).collect();
    if places.len() > MAX_PLACES {
        shown.push("…".to_owned());
    }
    format!("{} {}", if places.len() == 1 { "line" } else { "lines" }, shown.join(", "))
}
