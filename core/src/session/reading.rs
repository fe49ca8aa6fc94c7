//! Reads a session's records from its store.

use agent_loop_proto::session::{Entry, JournalReader, Unreadable};

use super::backend::{StoreBackend, StoredLine};
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
    let text = format!(
        "the session {id:?} in {store} is damaged: it has {last} records, and had {known} before; salvage gives those that are \
         there"
    );
    Error::new(ErrorKind::Damaged, text)
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
    let page = backend.read(id.to_owned(), after, limit).await?;
    let read = |line: &StoredLine| {
        let expected = reader.last().saturating_add(1);
        read_line(&mut reader, line).map_err(|why| unreadable(id, &backend.name(), expected, &why))
    };
    page.lines.iter().map(read).collect()
}

/// All lines of a session, page by page, with what they hold; ends with the session or with the first error.
pub(super) async fn each(
    backend: &dyn StoreBackend,
    id: &str,
    mut work: impl FnMut(StoredLine, Entry) -> Result<(), Error>,
) -> Result<u64, Error> {
    let mut reader = JournalReader::new();
    loop {
        let page = backend.read(id.to_owned(), reader.last(), PAGE).await?;
        let is_last = page.lines.len() < PAGE;
        for line in page.lines {
            let expected = reader.last().saturating_add(1);
            let entry = read_line(&mut reader, &line).map_err(|why| unreadable(id, &backend.name(), expected, &why))?;
            work(line, entry)?;
        }
        if is_last {
            return Ok(reader.last());
        }
    }
}
