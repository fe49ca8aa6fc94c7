//! `find_files`: files by a glob, the newest first.

use std::sync::Arc;
use std::time::SystemTime;

use serde_json::{Value, json};

use super::file_tool::{FileCall, FileTool, MAX_TEXT, schema, text_result};
use super::path;
use super::shared::{MadeTool, Shared};
use super::walk::{Go, Walk, beneath, glob};

/// How many files a result names unless the call says how many, and at most.
const DEFAULT_RESULTS: usize = 200;
const MAX_RESULTS: usize = 1000;

/// How many files are looked at for the newest.
const MAX_FOUND: usize = 100_000;

pub(super) fn make(shared: &Arc<Shared>) -> MadeTool {
    let properties = json!({
        "pattern": { "type": "string", "description": "A glob: *.rs (in any folder) or src/**/*.rs." },
        "path": { "type": "string", "description": "The folder to look in. Default: the root." },
        "hidden": { "type": "boolean", "description": "Also files and folders whose names begin with a dot." },
        "ignored": { "type": "boolean", "description": "Also what .gitignore and .ignore leave out." },
        "max_results": { "type": "integer", "minimum": 1, "maximum": MAX_RESULTS, "description": "Default: 200." },
    });
    let description = "Finds files by a glob, the newest first. Hidden and ignored files are left out unless asked for, and \
        links are not followed.";
    FileTool::reading("find_files", description, schema(&properties, &["pattern"]), shared, run)?.made()
}

fn run(call: &FileCall<'_>) -> Result<Value, String> {
    let start = call.path()?;
    let matcher = glob(call.text("pattern").unwrap_or_default(), "pattern")?;
    let most = call.number("max_results").unwrap_or(DEFAULT_RESULTS).min(MAX_RESULTS);
    let mut found: Vec<(SystemTime, String)> = Vec::new();
    let mut walk = Walk::new(call);
    walk.files(&start, &mut |file| {
        if matcher.is_match(beneath(file.path, &start)) {
            let changed = file.folder.symlink_metadata(file.name).and_then(|found| found.modified());
            let changed = changed.map_or(SystemTime::UNIX_EPOCH, cap_std::time::SystemTime::into_std);
            found.push((changed, file.path.to_owned()));
        }
        Ok(if found.len() < MAX_FOUND { Go::On } else { Go::Stop })
    })?;
    // Those of one time by their names.
    found.sort_by(|(one, _), (other, _)| other.cmp(one));
    let (mut text, mut shown) = (String::new(), 0);
    for (_, file) in found.iter().take(most) {
        let line = path::shown(file);
        if text.len() + line.len() >= MAX_TEXT {
            break;
        }
        text.push_str(&line);
        text.push('\n');
        shown += 1;
    }
    if found.is_empty() {
        let but_hidden = if call.flag("hidden") && call.flag("ignored") { "" } else { " (hidden and ignored ones are left out)" };
        text = format!("No files match{but_hidden}.");
    } else if shown < found.len() {
        let at_least = if found.len() == MAX_FOUND { "at least " } else { "" };
        text.push_str(&format!("\n({shown} of {at_least}{} files: a narrower pattern or path shows others.)", found.len()));
    }
    if walk.unread > 0 {
        text.push_str(&format!("\n(Folders that could not be read: {}.)", walk.unread));
    }
    Ok(text_result(text))
}
