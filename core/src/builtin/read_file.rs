//! `read_file`: the lines of a text file, or an image.
//!
//! Lines have no numbers: models copy what they read into the old text of an edit. `search_text` has them.

use std::io::{self, BufRead, BufReader, Read};
use std::sync::Arc;

use agent_loop_proto::media::{Media, mime_type_of};
use agent_loop_proto::message::ContentBlock;
use cap_std::fs::File;
use serde_json::{Value, json};

use super::file_tool::{FileCall, FileTool, MAX_TEXT, schema, text_result};
use super::path;
use super::root::because;
use super::shared::{IMAGES, MadeTool, Shared};

/// How many lines a result has at most.
const MAX_LINES: usize = 2000;

/// How many bytes an image has at most: what vendors take.
const MAX_IMAGE: u64 = 5_000_000;

pub(super) fn make(shared: &Arc<Shared>) -> MadeTool {
    let properties = json!({
        "path": { "type": "string", "description": "The file, relative to the root." },
        "offset": { "type": "integer", "minimum": 1, "description": "The first line to read, from 1." },
        "limit": { "type": "integer", "minimum": 1, "description": "How many lines to read." },
    });
    let description = format!(
        "Reads a text file, or looks at an image (PNG, JPEG, GIF, WebP). A result has at most {MAX_LINES} lines and {MAX_TEXT} \
         bytes; of a longer file, it ends with the offset to read on with."
    );
    FileTool::reading("read_file", &description, schema(&properties, &["path"]), shared, run)?.made()
}

fn run(call: &FileCall<'_>) -> Result<Value, String> {
    let path = call.path()?;
    let (file, found) = call.root.file(&path)?;
    let failed = |error: io::Error| because(&path, &error);
    let mut reader = BufReader::with_capacity(1 << 16, file);
    let start = reader.fill_buf().map_err(failed)?;
    let kind = mime_type_of(None, start);
    if let Some(kind) = kind.filter(|kind| IMAGES.contains(kind)) {
        return image(reader, kind, &path, found.len());
    }
    if start.contains(&0) {
        let kind = kind.map_or_else(String::new, |kind| format!(" ({kind})"));
        return Err(format!("the file {path:?} is binary{kind}: read_file reads text and images"));
    }
    let (first, limit) = (call.number("offset").unwrap_or(1), call.number("limit").unwrap_or(MAX_LINES).min(MAX_LINES));
    let mut lines = Lines { reader, number: 0 };
    while lines.number + 1 < first {
        if lines.number.is_multiple_of(1024) {
            call.check_wanted()?;
        }
        if !lines.skip().map_err(failed)? {
            let count = lines.number;
            return Err(format!("the file {path:?} has {count} lines: there is none at the offset {first}"));
        }
    }
    let (mut text, mut note) = (String::new(), None);
    while note.is_none() {
        if lines.number + 1 - first == limit {
            if lines.is_more().map_err(failed)? {
                note = Some(format!("read on with the offset {}", lines.number + 1));
            }
            break;
        }
        let Some(line) = lines.next(MAX_TEXT).map_err(failed)? else { break };
        let number = lines.number;
        let Some(shown) = line.text() else {
            return Err(format!("the file {path:?} is not UTF-8 text (line {number}): read_file reads text and images"));
        };
        if text.len() + shown.len() > MAX_TEXT && !text.is_empty() {
            note = Some(format!("read on with the offset {number}"));
        } else {
            text.push_str(shown);
            text.push('\n');
            if line.is_cut {
                note = Some(format!("line {number} is longer, and cut here; the next one is at the offset {}", number + 1));
            }
        }
    }
    if text.is_empty() && first == 1 {
        return Ok(text_result("(The file is empty.)"));
    }
    if text.is_empty() {
        return Err(format!("the file {path:?} has {} lines: there is none at the offset {first}", lines.number));
    }
    if let Some(note) = note {
        text.push_str(&format!("\n({} has {} bytes: {note}.)", path::shown(&path), found.len()));
    }
    Ok(text_result(text))
}

fn image(reader: impl Read, kind: &str, path: &str, size: u64) -> Result<Value, String> {
    if size > MAX_IMAGE {
        return Err(format!("the image {path:?} has {size} bytes: read_file shows images of at most {MAX_IMAGE} bytes"));
    }
    let mut bytes = Vec::new();
    reader.take(MAX_IMAGE).read_to_end(&mut bytes).map_err(|error| because(path, &error))?;
    Ok(json!({ "content": [ContentBlock::Image(Media::bytes(&bytes, kind))] }))
}

/// The lines of a file, none of which is held as a whole if it is long.
struct Lines {
    reader: BufReader<File>,
    /// How many have been read.
    number: usize,
}

struct Line {
    bytes: Vec<u8>,
    is_cut: bool,
}

impl Lines {
    /// Whether there is another line.
    fn is_more(&mut self) -> io::Result<bool> {
        Ok(!self.reader.fill_buf()?.is_empty())
    }

    /// Passes over a line; false if there is none.
    fn skip(&mut self) -> io::Result<bool> {
        let is_there = self.reader.skip_until(b'\n')? > 0;
        self.number += usize::from(is_there);
        Ok(is_there)
    }

    /// The next line, of which so many bytes are kept.
    fn next(&mut self, most: usize) -> io::Result<Option<Line>> {
        let mut bytes = Vec::new();
        let room = u64::try_from(most).unwrap_or(u64::MAX);
        if self.reader.by_ref().take(room).read_until(b'\n', &mut bytes)? == 0 {
            return Ok(None);
        }
        self.number += 1;
        let is_cut = !bytes.ends_with(b"\n") && self.is_more()?;
        if is_cut {
            self.reader.skip_until(b'\n')?;
        }
        Ok(Some(Line { bytes, is_cut }))
    }
}

impl Line {
    /// Without its end; `None` if it is not UTF-8.
    fn text(&self) -> Option<&str> {
        let text = match std::str::from_utf8(&self.bytes) {
            Ok(text) => text,
            // Cut within a character.
            Err(error) if self.is_cut && error.error_len().is_none() => {
                std::str::from_utf8(self.bytes.get(..error.valid_up_to())?).ok()?
            }
            Err(_) => return None,
        };
        let text = text.strip_suffix('\n').unwrap_or(text);
        Some(text.strip_suffix('\r').unwrap_or(text))
    }
}
