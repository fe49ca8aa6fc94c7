//! `list_directory`: what one folder has.

use std::sync::Arc;

use serde_json::{Value, json};

use super::file_tool::{FileCall, FileTool, MAX_TEXT, schema, text_result};
use super::path;
use super::root::because;
use super::shared::{MadeTool, Shared};

/// How many entries a result names at most.
const MAX_ENTRIES: usize = 1000;

pub(super) fn make(shared: &Arc<Shared>) -> MadeTool {
    let properties =
        json!({ "path": { "type": "string", "description": "The folder, relative to the root. Default: the root." } });
    let description = "Lists what is in a folder, hidden files too, by name: folders end with /, files have their size in bytes, \
        and links show where they lead.";
    FileTool::reading("list_directory", description, schema(&properties, &[]), shared, run)?.made()
}

fn run(call: &FileCall<'_>) -> Result<Value, String> {
    let path = call.path()?;
    let failed = |error: std::io::Error| because(&path, &error);
    let folder = call.root.folder(&path).map_err(failed)?;
    let mut entries = Vec::new();
    for entry in folder.entries().map_err(failed)? {
        call.check_wanted()?;
        // One that goes meanwhile is not there.
        let Ok(entry) = entry else { continue };
        let Ok(kind) = entry.file_type() else { continue };
        let name = entry.file_name();
        let shown = path::shown(&name.to_string_lossy());
        let line = if kind.is_dir() {
            format!("{shown}/")
        } else if kind.is_symlink() {
            let target = folder.read_link_contents(&name).unwrap_or_default();
            format!("{shown} -> {}", path::shown(&target.to_string_lossy()))
        } else if kind.is_file() {
            format!("{shown} ({})", entry.metadata().map_or(0, |found| found.len()))
        } else {
            format!("{shown} (no plain file)")
        };
        entries.push((name, line));
    }
    entries.sort();
    let (mut text, mut shown) = (String::new(), 0);
    for (_, line) in entries.iter().take(MAX_ENTRIES) {
        if text.len() + line.len() >= MAX_TEXT {
            break;
        }
        text.push_str(line);
        text.push('\n');
        shown += 1;
    }
    if entries.is_empty() {
        text.push_str("(The folder is empty.)");
    } else if shown < entries.len() {
        text.push_str(&format!("\n({shown} of {} entries: find_files finds others by a pattern.)", entries.len()));
    }
    Ok(text_result(text))
}
