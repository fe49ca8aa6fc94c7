//! `write_file`: a whole file.

use std::sync::Arc;

use serde_json::{Value, json};

use super::file_tool::{FileCall, FileTool, schema};
use super::path;
use super::root::because;
use super::shared::{MadeTool, Shared};
use super::write::{self, Target};

pub(super) fn make(shared: &Arc<Shared>) -> MadeTool {
    let properties = json!({
        "path": { "type": "string", "description": "The file, relative to the root." },
        "content": { "type": "string", "description": "All of the new content." },
    });
    let description = "Writes a whole file: creates it, with the folders around it, or replaces all of its content. To change a \
        part of a file, edit_file is better.";
    FileTool::reading("write_file", description, schema(&properties, &["path", "content"]), shared, run)?.that_writes().made()
}

fn run(call: &FileCall<'_>) -> Result<Value, String> {
    let (path, content) = (call.path()?, call.text("content").unwrap_or_default());
    let Some((folder, name)) = path::split(&path) else { return Err("the path is the root, which is a folder".to_owned()) };
    let _writing = call.root.writing();
    call.check_wanted()?;
    let mut made = Vec::new();
    let written = call.root.make_folder(folder, &mut made).and_then(|folder| Target::open(folder, name));
    let written = written.map_err(|error| because(&path, &error));
    let written = written.and_then(|target| write::write(call, &path, &target, content.as_bytes()));
    let mut written = match written {
        Ok(Some(written)) => written,
        Ok(None) => return Ok(write::result(format!("{} has this content already.", path::shown(&path)), None)),
        Err(text) => {
            write::remove_folders(call.root, &made);
            return Err(text);
        }
    };
    let action = written.get("action").and_then(Value::as_str).unwrap_or_default();
    let text = format!("{}: {action}, {} bytes.", path::shown(&path), content.len());
    if let (false, Some(fields)) = (made.is_empty(), written.as_object_mut()) {
        fields.insert("folders".to_owned(), json!(made));
    }
    Ok(write::result(text, Some(written)))
}
