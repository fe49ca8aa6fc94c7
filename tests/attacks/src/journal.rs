//! Stores of sessions whose files were cut, changed or partly overwritten, while they were closed or as a killed process leaves
//! them. Whatever is still read of a session is what was written, in order and from its beginning; all else is an error with a
//! text. In a file with a line for each record, that is all that stands before the damage. A session that can be opened goes on.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use agent_loop::message::{ContentBlock, Message};
use agent_loop::session::{Entry, Info, JournalRecord, ListQuery, Queued, Session, Store, SyncMode, ToolAnswer, ToolStart};
use agent_loop::tool::ToolOutput;
use agent_loop::{Error, ErrorKind};
use serde_json::{Value, json};

use crate::check::error_text;
use crate::random::Random;

/// How many copies of a store a case plays whose journal is cut or has a changed bit,
const CUT_OR_CHANGED: u64 = 20;
/// and how many with any damage to any of its files.
const OTHERWISE: u64 = 5;

/// The sessions of a store.
const SESSIONS: [&str; 2] = ["first", "second"];

/// What a store has.
struct Written {
    folder: Folder,
    /// Behind `sqlite:` or `jsonl:`, from a folder on.
    scheme: &'static str,
    /// Whether it was closed, and not left by a killed process.
    is_closed: bool,
    /// The records of the sessions.
    entries: Vec<Vec<Entry>>,
}

/// Damages of one SQLite file.
pub(crate) fn sqlite(random: &mut Random) -> Result<u64, String> {
    play("sqlite", random)
}

/// Damages of one folder with files.
pub(crate) fn jsonl(random: &mut Random) -> Result<u64, String> {
    play("jsonl", random)
}

/// Damages of one store.
fn play(scheme: &'static str, random: &mut Random) -> Result<u64, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|error| error.to_string())?;
    runtime.block_on(async {
        let written = write(scheme, random).await.map_err(|error| format!("a store is not written: {error}"))?;
        for at in 0..CUT_OR_CHANGED + OTHERWISE {
            let copy = Folder::new();
            written.folder.copy_to(&copy.0);
            let damage = Damage::make(&copy.0, at < CUT_OR_CHANGED, random);
            let is_closed = written.is_closed;
            let checked = check(&written, &copy.0, &damage).await;
            checked.map_err(|why| format!("{scheme} ({}, closed: {is_closed}): {why}", damage.what))?;
        }
        // Those that the number of cases counts.
        Ok(CUT_OR_CHANGED)
    })
}

fn opened(scheme: &str, folder: &Path) -> Result<Store, Error> {
    let address = match scheme {
        "sqlite" => format!("sqlite:{}", folder.join("agents.db").display()),
        _ => format!("jsonl:{}", folder.display()),
    };
    // No machine loses its power here.
    Store::builder(address).sync(SyncMode::Off).open()
}

/// A store with some sessions.
async fn write(scheme: &'static str, random: &mut Random) -> Result<Written, Error> {
    let (is_closed, work) = (random.one_in(2), Folder::new());
    let store = opened(scheme, &work.0)?;
    let (mut open, mut entries) = (Vec::new(), Vec::new());
    for id in SESSIONS {
        let session = store.session(id)?.open().await?;
        if random.one_in(2) {
            kept(session.set_info(Info::default().title("A title").metadata(random.object())).await)?;
        }
        open.push(session);
    }
    for _ in 0..1 + random.below(30) {
        let records = (0..1 + random.below(4)).map(|_| record(random)).collect();
        kept(random.pick(&open).append(records).await.map(drop))?;
    }
    let folder = Folder::new();
    if !is_closed {
        work.copy_to(&folder.0);
    }
    for session in open {
        entries.push(store.session(session.id())?.records(0, usize::MAX).await?);
        session.close().await?;
    }
    drop(store);
    if is_closed {
        // A thread may still copy what was written into the file; SQLite then removes what it was copied from.
        while paths(&work.0).iter().any(|path| path.to_string_lossy().ends_with("-wal")) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        work.copy_to(&folder.0);
    }
    Ok(Written { folder, scheme, is_closed, entries })
}

/// What nests too deep is refused, and the session goes on.
fn kept(appended: Result<(), Error>) -> Result<(), Error> {
    appended.or_else(|error| match error.kind() {
        ErrorKind::InvalidArgument if error.message().contains("nests deeper") => Ok(()),
        _ => Err(error),
    })
}

fn record(random: &mut Random) -> JournalRecord {
    let text = random.text().repeat(random.place(200));
    match random.below(4) {
        0 => JournalRecord::ToolStart(ToolStart::new("c", "t", Arc::new(random.object()), text)),
        1 => JournalRecord::ToolAnswer(ToolAnswer::new("c", ToolOutput::new(vec![ContentBlock::text(text)]), random.one_in(2))),
        2 => JournalRecord::Queued(Queued::new(agent_loop::machine::Queue::Steering, random.below(9), Message::user(text, 1))),
        _ => JournalRecord::message(Message::user(text, random.below(1 << 40))),
    }
}

/// What was done to one of the files.
struct Damage {
    what: String,
    /// Of a session in a file of its own: its file, and how many of its lines stand before the damage.
    before: Option<(PathBuf, usize)>,
}

impl Damage {
    /// Does something to one of the files, the larger ones more often; `is_journal`: cuts one that has records, or changes a bit
    /// of it.
    fn make(folder: &Path, is_journal: bool, random: &mut Random) -> Damage {
        let ends: &[&str] = if is_journal { &[".jsonl", ".db", "-wal"] } else { &[""] };
        let mut files: Vec<(PathBuf, Vec<u8>)> = paths(folder).into_iter().map(|path| (path.clone(), read(&path))).collect();
        files.retain(|(path, bytes)| !bytes.is_empty() && ends.iter().any(|end| path.to_string_lossy().ends_with(end)));
        let mut place = random.place(files.iter().map(|(_, bytes)| bytes.len()).sum());
        let mut at = 0;
        while place >= files[at].1.len() {
            place -= files[at].1.len();
            at += 1;
        }
        let (path, mut bytes) = files.swap_remove(at);
        let lines = |before: &[u8]| before.iter().filter(|byte| **byte == b'\n').count();
        let mut before = lines(&bytes[..place]);
        let what = match random.below(if is_journal { 6 } else { 8 }) {
            0..3 => {
                bytes.truncate(place);
                format!("cut at {place}")
            }
            3..6 => {
                let bit = random.below(8);
                bytes[place] ^= 1 << bit;
                format!("bit {bit} of byte {place}")
            }
            6 => {
                let (from, to) = (place & !511, ((place & !511) + 512).min(bytes.len()));
                before = lines(&bytes[..from]);
                bytes[from..to].fill(0);
                format!("zeros from {from} to {to}")
            }
            _ => {
                let count = 1 + random.place(64);
                before = lines(&bytes);
                bytes.extend((0..count).map(|_| u8::try_from(random.below(256)).unwrap_or_default()));
                format!("{count} bytes more")
            }
        };
        std::fs::write(&path, bytes).expect("a file");
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Damage { what: format!("{what} of {name}"), before: name.ends_with(".jsonl").then_some((path, before)) }
    }

    /// How many of a session's records have to be there still, as far as that is known.
    fn before(&self, id: &str) -> usize {
        let is_of = |path: &Path| path.file_stem().is_some_and(|stem| stem == id);
        self.before.as_ref().filter(|(path, _)| is_of(path)).map_or(0, |(_, before)| *before)
    }
}

async fn check(written: &Written, folder: &Path, damage: &Damage) -> Result<(), String> {
    let store = match opened(written.scheme, folder) {
        Ok(store) => store,
        Err(error) => return refused(&error),
    };
    if let Err(error) = store.list(ListQuery::default()).await {
        refused(&error)?;
    }
    for (id, entries) in SESSIONS.into_iter().zip(&written.entries) {
        let session = store.session(id).map_err(|error| error.to_string())?;
        look(&session, entries, damage.before(id)).await.map_err(|why| format!("session {id}: {why}"))?;
        go_on(&session, entries, written.is_closed).await.map_err(|why| format!("session {id}: {why}"))?;
    }
    Ok(())
}

/// All that reads a session without opening it.
async fn look(session: &Session, entries: &[Entry], before: usize) -> Result<(), String> {
    if let Some(read) = tried(session.records(0, usize::MAX).await)? {
        begins(entries, &read, "records")?;
    }
    tried(session.info().await)?;
    let salvaged = tried(session.salvage().await)?;
    let found = salvaged.as_ref().map_or(0, |salvaged| salvaged.entries.len());
    if found < before {
        return Err(format!("{found} of the {before} records before the damage were salvaged"));
    }
    if let Some(salvaged) = salvaged {
        begins(entries, &salvaged.entries, "salvage")?;
        if let Some(why) = &salvaged.damage {
            error_text(why)?;
        }
        // What was salvaged is a session.
        if !salvaged.entries.is_empty() {
            let elsewhere = Store::open("memory:").and_then(|store| Ok((store.session("s")?, store)));
            let (_, store) = elsewhere.map_err(|error| error.to_string())?;
            let imported = store.import(&salvaged.text, Some("s")).await.map_err(|error| format!("salvaged text: {error}"))?;
            let again = imported.records(1, usize::MAX).await.map_err(|error| format!("salvaged text: {error}"))?;
            if again != salvaged.entries[1..] {
                return Err("the salvaged text has other records".to_owned());
            }
        }
    }
    if let Some(text) = tried(session.export().await)? {
        let read = agent_loop::session::read_text(text.as_bytes());
        begins(entries, &read.entries, "export")?;
        if read.damage.is_some() || read.torn > 0 {
            return Err("an export is damaged".to_owned());
        }
    }
    Ok(())
}

/// Opens a session, writes to it, and reads it again.
async fn go_on(session: &Session, entries: &[Entry], is_closed: bool) -> Result<(), String> {
    let Some(open) = tried(session.open().await)? else { return Ok(()) };
    let last = open.last();
    let record = JournalRecord::message(Message::user("And then?", 2));
    let appended = tried(open.append(vec![record.clone()]).await)?;
    if tried(open.close().await)?.is_none() || appended.is_none() {
        return Ok(());
    }
    let read = session.records(0, usize::MAX).await.map_err(|error| format!("after it was opened: {error}"))?;
    let Some((added, before)) = read.split_last() else { return Err("it is empty after an append".to_owned()) };
    if (added.seq, &added.record) != (last + 1, &record) {
        return Err(format!("record {} was appended and reads {added:?}", last + 1));
    }
    // One that is not found is begun anew.
    let is_new = before.len() == 1 && before.first() != entries.first();
    if !is_new {
        begins(entries, before, "after it was opened")?;
    }
    if is_closed && before.len() < entries.len() && !is_new {
        return Err(format!("{} of {} records were lost without a word", entries.len() - before.len(), entries.len()));
    }
    Ok(())
}

/// What was read, or nothing after an error that says what is wrong.
fn tried<T>(result: Result<T, Error>) -> Result<Option<T>, String> {
    result.map(Some).or_else(|error| refused(&error).map(|()| None))
}

fn refused(error: &Error) -> Result<(), String> {
    error_text(error.message())?;
    match error.kind() {
        // A changed lease may be one of somebody else's; a changed list, one without the session.
        ErrorKind::Damaged | ErrorKind::NewerVersion | ErrorKind::Io | ErrorKind::Busy | ErrorKind::NotFound => Ok(()),
        other => Err(format!("an error of the kind {}: {error}", other.as_str())),
    }
}

/// Whether the records are the first ones of those that were written.
fn begins(written: &[Entry], read: &[Entry], what: &str) -> Result<(), String> {
    match written.starts_with(read) {
        true => Ok(()),
        false => {
            let at = written.iter().zip(read).position(|(written, read)| written != read).unwrap_or(written.len());
            Err(format!("{what}: record {} is not as it was written: {:?}", at + 1, read.get(at)))
        }
    }
}

/// A folder of its own, which is removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Folder {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("agent-loop-journal-{}-{number}", std::process::id()));
        std::fs::create_dir(&path).expect("a folder");
        Folder(path)
    }

    /// The log of a database comes before what is copied from it, so that nothing is missing in both.
    fn copy_to(&self, other: &Path) {
        for path in paths(&self.0).into_iter().rev() {
            std::fs::copy(&path, other.join(path.file_name().unwrap_or_default())).expect("a file");
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The files of a folder, in an order of their own.
fn paths(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()).collect();
    // The name of a lock is another one each time.
    paths.sort_by_key(|path| (path.to_string_lossy().contains("open-"), path.clone()));
    paths
}

fn read(path: &Path) -> Vec<u8> {
    std::fs::read(path).expect("a file")
}

trait Objects {
    fn object(&mut self) -> serde_json::Map<String, Value>;
}

impl Objects for Random {
    fn object(&mut self) -> serde_json::Map<String, Value> {
        json!({ "user": self.below(9), "of": self.json(2) }).as_object().cloned().unwrap_or_default()
    }
}
