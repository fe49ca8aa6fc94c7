//! The flag `--history`: a conversation in a file, a message a line.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::Arc;

use agent_loop::{Message, transcript};
use serde_json::Value;

use crate::failure::Failure;

/// The messages of a file, which need not exist.
pub(crate) fn read(path: &Path) -> Result<Vec<Arc<Message>>, Failure> {
    // What has no end, such as /dev/zero, would be read for ever.
    if path.exists() && !path.is_file() && path != Path::new("/dev/null") {
        return Err(Failure::usage(format!("{} is no plain file, to which a conversation can be added", path.display())));
    }
    match std::fs::read_to_string(path) {
        Ok(text) if text.trim_start().starts_with('[') => {
            let text = "is a JSON list, to which no line can be added; give a file with a message a line";
            Err(Failure::usage(format!("{} {text}", path.display())))
        }
        Ok(text) => messages_of(&text, &path.display().to_string()),
        Err(why) if why.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(why) => Err(Failure::usage(format!("{} cannot be read: {why}", path.display()))),
    }
}

/// The messages of a text: a JSON list of them, or one a line. `what` is what errors call it.
pub(crate) fn messages_of(text: &str, what: &str) -> Result<Vec<Arc<Message>>, Failure> {
    let wrong = |why: String| Failure::usage(format!("{what}: {why}"));
    let list = if text.trim_start().starts_with('[') {
        serde_json::from_str(text).map_err(|why| wrong(format!("no JSON list: {why}")))?
    } else {
        let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
        let read = lines.map(|(at, line)| {
            serde_json::from_str::<Value>(line).map_err(|why| wrong(format!("line {}: no JSON: {why}", at + 1)))
        });
        Value::Array(read.collect::<Result<_, _>>()?)
    };
    let read = transcript::read_history(list).map_err(|error| wrong(error.message().to_owned()))?;
    Ok(read.into_iter().map(Arc::new).collect())
}

/// A file to which the messages of runs are appended.
pub(crate) struct Appended(File);

impl Appended {
    /// Opens the file, before anything is asked that could not be kept.
    pub(crate) fn open(path: &Path) -> Result<Appended, Failure> {
        let opened = OpenOptions::new().create(true).read(true).append(true).open(path).and_then(|mut file| {
            // A last line without its end would go on with the first message.
            let mut last = [0];
            let is_open = file.seek(SeekFrom::End(-1)).is_ok() && file.read(&mut last)? == 1 && last != *b"\n";
            if is_open {
                file.write_all(b"\n")?;
            }
            Ok(file)
        });
        opened.map(Appended).map_err(|why| Failure::usage(format!("{} cannot be written: {why}", path.display())))
    }

    /// Appends messages, a line each.
    pub(crate) fn append(&mut self, messages: &[Arc<Message>]) -> Result<(), Failure> {
        let mut lines = String::new();
        for message in messages {
            lines.push_str(&serde_json::to_string(message).unwrap_or_default());
            lines.push('\n');
        }
        self.0.write_all(lines.as_bytes()).map_err(|why| Failure::error(format!("the history cannot be written: {why}")))
    }
}
