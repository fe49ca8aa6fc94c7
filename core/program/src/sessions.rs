//! `sessions`: the list of them, one of them shown, one deleted.

use std::io::Write;
use std::time::{SystemTime, UNIX_EPOCH};

use agent_loop::Message;
use agent_loop::session::{Fold, ListQuery, SessionInfo};
use clap::ArgMatches;
use serde_json::{Value, json};

use crate::arguments::text;
use crate::exit;
use crate::failure::Failure;
use crate::settings::Settings;
use crate::show::shortened;
use crate::terminal::plain;

/// How many sessions one page of the store has.
const PAGE: usize = 100;

/// The command `sessions`, with what follows it.
pub(crate) async fn command(settings: &Settings, matches: &ArgMatches, out: &mut dyn Write) -> Result<u8, Failure> {
    match matches.subcommand() {
        Some(("show", matches)) => show(settings, text(matches, "id").unwrap_or_default(), out).await,
        Some(("delete", matches)) => delete(settings, text(matches, "id").unwrap_or_default()).await,
        _ => list(settings, out).await,
    }
}

async fn list(settings: &Settings, out: &mut dyn Write) -> Result<u8, Failure> {
    let store = settings.store()?;
    let mut query = ListQuery::default().limit(PAGE);
    loop {
        let page = store.list(query).await?;
        for session in &page.sessions {
            match settings.as_json {
                true => writeln!(out, "{}", json!(session))?,
                false => writeln!(out, "{}", line(session))?,
            }
        }
        match page.next {
            Some(cursor) => query = ListQuery::default().limit(PAGE).after(cursor),
            None => return Ok(exit::COMPLETED),
        }
    }
}

/// Its id, when something was last said in it, and what it is about.
pub(crate) fn line(session: &SessionInfo) -> String {
    let title = shortened(session.title.as_deref().unwrap_or_default());
    format!("{:<24} {:>8}  {title}", session.id, ago(session.updated_ms)).trim_end().to_owned()
}

/// How long ago that was.
fn ago(ms: u64) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    match now.saturating_sub(ms / 1000) {
        seconds @ 0..60 => format!("{seconds} s"),
        seconds @ 60..3_600 => format!("{} min", seconds / 60),
        seconds @ 3_600..172_800 => format!("{} h", seconds / 3_600),
        seconds => format!("{} days", seconds / 86_400),
    }
}

async fn show(settings: &Settings, id: &str, out: &mut dyn Write) -> Result<u8, Failure> {
    let session = settings.store()?.session(id)?;
    if session.info().await?.is_none() {
        return Err(unknown(id));
    }
    // Only read: a run may go on in it.
    let (mut fold, mut last) = (Fold::default(), 0);
    loop {
        let entries = session.records(last, PAGE).await?;
        let Some(end) = entries.last().map(|entry| entry.seq) else { break };
        last = end;
        for entry in entries {
            fold.push(entry.record);
        }
    }
    for message in &fold.finish().messages {
        match settings.as_json {
            true => writeln!(out, "{}", json!(message))?,
            false => writeln!(out, "{}: {}", message.role(), plain(&in_short(message)))?,
        }
    }
    Ok(exit::COMPLETED)
}

/// What a message says, in lines: its text, and the calls of tools; of a message of a program, what it has.
fn in_short(message: &Message) -> String {
    if let Message::Custom(fields) = message {
        let mut fields = fields.clone();
        fields.shift_remove("role");
        return shortened(&Value::Object(fields).to_string());
    }
    let calls = message.as_assistant().into_iter().flat_map(|answer| answer.tool_calls());
    let calls = calls.map(|call| format!("[{} {}]", call.name, crate::show::brief(&call.arguments)));
    let text = Some(message.text()).filter(|text| !text.is_empty());
    text.into_iter().chain(calls).collect::<Vec<_>>().join("\n  ")
}

async fn delete(settings: &Settings, id: &str) -> Result<u8, Failure> {
    let session = settings.store()?.session(id)?;
    if session.info().await?.is_none() {
        return Err(unknown(id));
    }
    session.delete().await?;
    Ok(exit::COMPLETED)
}

fn unknown(id: &str) -> Failure {
    Failure::error(format!("there is no session {id:?}; the command sessions lists them"))
}
