//! Where runs are read from: a session of the agent's store, or a file.

use std::path::{Path, PathBuf};

use agent_loop::session::{ListQuery, Session};
use serde_json::{Value, json};

use super::builder::Builder;
use super::run::Document;
use super::{events, journal, page, recording};
use crate::failure::Failure;
use crate::history::messages_of;
use crate::settings::Settings;

/// How many records of a session are read at a time.
const PAGE: usize = 1_000;

/// A source that may grow.
pub(super) enum Source {
    Session { session: Session, records: Vec<Value>, last: u64, was_running: Option<bool> },
    File { path: PathBuf, read: Option<(u64, std::time::SystemTime)> },
}

impl Source {
    /// What is named: the path of a file, the id of a session, or the last session where nothing is.
    pub(super) async fn of(settings: &Settings, name: Option<&str>) -> Result<Source, Failure> {
        if let Some(path) = name.map(Path::new).filter(|path| path.is_file()) {
            return Ok(Source::File { path: path.to_owned(), read: None });
        }
        let store = settings.store()?;
        let session = match name {
            Some(name) => {
                let found = store.session(name);
                let is_known = match &found {
                    Ok(session) => session.info().await?.is_some(),
                    Err(_) => false,
                };
                match found {
                    Ok(session) if is_known => session,
                    _ if Path::new(name).exists() => {
                        return Err(Failure::usage(format!("{name} is no plain file; name one, or a session")));
                    }
                    Ok(_) => {
                        let agent = settings.spec.name();
                        let text = format!(
                            "there is no file {name:?}, and no session of the agent {agent}; the command sessions lists them. \
                             Those of an agent in a file are seen with --spec FILE"
                        );
                        return Err(Failure::usage(text));
                    }
                    Err(error) => return Err(error.into()),
                }
            }
            None => match store.list(ListQuery::default().limit(1)).await?.sessions.first() {
                Some(info) => store.session(&info.id)?,
                None => return Err(Failure::usage("there is no session yet; name a file, such as one of --record")),
            },
        };
        Ok(Source::Session { session, records: Vec::new(), last: 0, was_running: None })
    }

    /// What is there, if that is new.
    ///
    /// # Errors
    /// It cannot be read, or has no runs.
    pub(super) async fn read(&mut self) -> Result<Option<Vec<Value>>, Failure> {
        match self {
            Source::Session { session, records, last, was_running } => {
                let count = records.len();
                loop {
                    let more = session.records(*last, PAGE).await?;
                    let Some(end) = more.last().map(|entry| entry.seq) else { break };
                    *last = end;
                    records.extend(more.iter().map(|entry| json!(entry)));
                }
                let is_running = Some(session.info().await?.is_some_and(|info| info.holder.is_some()));
                if records.len() == count && is_running == *was_running {
                    return Ok(None);
                }
                *was_running = is_running;
                let (name, title, runs) = journal::read(records);
                Ok(Some(vec![json!(Document { source: "session", name, title, is_running, runs })]))
            }
            Source::File { path, read } => {
                let unreadable = |why: std::io::Error| Failure::usage(format!("{} cannot be read: {why}", path.display()));
                let about = std::fs::metadata(&*path).map_err(unreadable)?;
                let now = (about.len(), about.modified().map_err(unreadable)?);
                if *read == Some(now) {
                    return Ok(None);
                }
                // It may end within a character that is being written.
                let bytes = std::fs::read(&*path).map_err(unreadable)?;
                let documents = documents(&String::from_utf8_lossy(&bytes), path)?;
                *read = Some(now);
                Ok(Some(documents))
            }
        }
    }
}

/// What a file has. One that was exported may have two.
fn documents(text: &str, path: &Path) -> Result<Vec<Value>, Failure> {
    if text.trim_start().starts_with("<!doctype html>") {
        let found = page::data_of(text);
        return found.ok_or_else(|| Failure::usage(format!("{} is no page that --export wrote", path.display())));
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    if path.extension().is_some_and(|extension| extension == "toml") {
        return Err(Failure::usage(format!("{name} has no runs: to see those of the agent in it, put --spec before its path")));
    }
    let mut document = Document { name, ..Document::default() };
    let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let has = |key: &str| serde_json::from_str::<Value>(first).is_ok_and(|line| line.get(key).is_some());
    if has("agent_loop_recording") {
        (document.source, document.runs) = ("recording", recording::runs(&lines(text, path)?));
    } else if has("run_id") && has("type") {
        (document.source, document.runs) = ("events", events::runs(&lines(text, path)?));
    } else if has("kind") && has("seq") {
        let (_, title, runs) = journal::read(&lines(text, path)?);
        (document.source, document.title, document.runs) = ("session", title, runs);
    } else {
        let mut builder = Builder::default();
        for message in messages_of(text, &path.display().to_string())? {
            let message = json!(message);
            builder.message(message.get("timestamp").and_then(Value::as_u64).unwrap_or_default(), &message, None);
        }
        (document.source, document.runs) = ("messages", builder.finish());
    }
    if document.runs.is_empty() {
        let text = "has no run: give a recording (--record), events (--json), a session's export or messages, a line each";
        return Err(Failure::usage(format!("{} {text}", path.display())));
    }
    Ok(vec![json!(document)])
}

/// The lines of a file. A last one that is being written is left out.
fn lines(text: &str, path: &Path) -> Result<Vec<Value>, Failure> {
    let mut lines = Vec::new();
    for (at, line) in text.split_inclusive('\n').enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        match serde_json::from_str(line) {
            Ok(value) => lines.push(value),
            Err(_) if !line.ends_with('\n') => {}
            Err(why) => return Err(Failure::usage(format!("{}: line {}: no JSON: {why}", path.display(), at + 1))),
        }
    }
    Ok(lines)
}
