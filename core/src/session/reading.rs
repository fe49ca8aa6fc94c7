//! Reads a session's records from its store.

use agent_loop_proto::session::{Entry, JournalReader, Unreadable};

use super::backend::{Page, StoreBackend, StoredLine};
use crate::error::{Error, ErrorKind};

/// How many lines are read at a time.
pub(super) const PAGE: usize = 2_048;

/// The error for a record that cannot be read.
pub(super) fn unreadable(id: &str, store: &str, seq: u64, why: &Unreadable) -> Error {
    match why {
        Unreadable::Newer(_) => {
            Error::new(ErrorKind::NewerVersion, format!("the session {id:?} in {store} cannot be read: {why}"))
        }
        Unreadable::Damaged(what) => {
            let before = seq.saturating_sub(1);
            let text = format!(
                "the session {id:?} in {store} is damaged at record {seq}: {what}; salvage gives the {before} records before it"
            );
            Error::new(ErrorKind::Damaged, text)
        }
    }
}

/// The error for a session that has fewer records than it had.
pub(super) fn cut(id: &str, store: &str, last: u64, known: u64) -> Error {
    let missing = missing_end(last, known);
    let text = format!("the session {id:?} in {store} is damaged: {missing}; salvage gives the records before that");
    Error::new(ErrorKind::Damaged, text)
}

/// What is wrong with a session that has fewer records than it had.
pub(super) fn missing_end(last: u64, known: u64) -> String {
    format!("its records from {} on are missing, of {known} that it had", last.saturating_add(1))
}

/// How many records a session had of which a reader has found no more than these; none if it has found them all, or is not at the
/// end.
pub(super) fn had_more(reader: &JournalReader, count: usize, limit: usize, last: u64) -> Option<u64> {
    Some(last).filter(|last| count < limit && *last > reader.last())
}

/// Reads a line where it should stand.
pub(super) fn read_line(reader: &mut JournalReader, line: &StoredLine) -> Result<Entry, Unreadable> {
    let expected = reader.last().saturating_add(1);
    if line.seq != expected {
        return Err(Unreadable::Damaged(format!("record {expected} is missing, and record {} follows", line.seq)));
    }
    reader.read(&line.text)
}

/// The records behind a number, at most `limit`.
pub(super) async fn entries(backend: &dyn StoreBackend, id: &str, after: u64, limit: usize) -> Result<Vec<Entry>, Error> {
    let mut reader = JournalReader::after(after);
    let Page { lines, last } = backend.read(id.to_owned(), after, limit).await?;
    let read = |line: &StoredLine| {
        let expected = reader.last().saturating_add(1);
        read_line(&mut reader, line).map_err(|why| unreadable(id, &backend.name(), expected, &why))
    };
    let entries = lines.iter().map(read).collect::<Result<_, _>>()?;
    match had_more(&reader, lines.len(), limit, last) {
        Some(known) => Err(cut(id, &backend.name(), reader.last(), known)),
        None => Ok(entries),
    }
}

/// All lines of a session, page by page, with what they hold; ends with the session or with the first error.
pub(super) async fn each(
    backend: &dyn StoreBackend,
    id: &str,
    mut work: impl FnMut(StoredLine, Entry) -> Result<(), Error>,
) -> Result<u64, Error> {
    let mut reader = JournalReader::new();
    loop {
        let Page { lines, last } = backend.read(id.to_owned(), reader.last(), PAGE).await?;
        let count = lines.len();
        for line in lines {
            let expected = reader.last().saturating_add(1);
            let entry = read_line(&mut reader, &line).map_err(|why| unreadable(id, &backend.name(), expected, &why))?;
            work(line, entry)?;
        }
        if let Some(known) = had_more(&reader, count, PAGE, last) {
            return Err(cut(id, &backend.name(), reader.last(), known));
        }
        if count < PAGE {
            return Ok(reader.last());
        }
    }
}
