//! A whole journal as text: its lines in order, an end that was torn off, and damage.

use super::line::{Entry, Unreadable, decode};
use super::record::JournalRecord;

/// Reads the lines of a journal in order, and holds their numbers to it.
#[derive(Debug, Clone, Default)]
pub struct JournalReader {
    last: u64,
}

impl JournalReader {
    /// From the first line on.
    pub fn new() -> JournalReader {
        JournalReader::default()
    }

    /// From behind this line on.
    pub fn after(seq: u64) -> JournalReader {
        JournalReader { last: seq }
    }

    /// The number of the last line that was read; 0 before the first.
    pub fn last(&self) -> u64 {
        self.last
    }

    /// Reads the next line. After an error, the reader is where it was.
    ///
    /// # Errors
    /// What is wrong with the line, or with its place.
    pub fn read(&mut self, line: &[u8]) -> Result<Entry, Unreadable> {
        let entry = decode(line)?;
        let expected = self.last.saturating_add(1);
        if entry.seq != expected {
            return Err(Unreadable::damaged(format!("record {expected} should stand here, and record {} does", entry.seq)));
        }
        if matches!(entry.record, JournalRecord::Session(_)) != (expected == 1) {
            let what = if expected == 1 { "the first record is not that of a session" } else { "another session begins here" };
            return Err(Unreadable::damaged(what));
        }
        self.last = entry.seq;
        Ok(entry)
    }
}

/// What can be read of a journal.
#[derive(Debug, Clone, PartialEq)]
pub struct Salvaged {
    /// The records that stand before whatever is wrong.
    pub entries: Vec<Entry>,
    /// How many bytes at the end are the beginning of a record: the process or the machine ended while it was written. Such an
    /// end is no damage.
    pub torn: usize,
    /// The line (from 1) that cannot be read, and why.
    pub damage: Option<(usize, Unreadable)>,
}

/// A line without its end: `\n` or `\r\n`.
pub fn without_end(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// Reads a journal that is text: a line for each record, each with a line end.
///
/// The last line may lack its end. If it is whole, it is a record like the others; if not, it is torn. Whatever else cannot be
/// read is damage: a line that has its end was written whole. Ends of other systems (`\r\n`) and empty lines, as editors and
/// version control make them, change no record.
pub fn read_text(text: &[u8]) -> Salvaged {
    let mut reader = JournalReader::new();
    let mut salvaged = Salvaged { entries: Vec::new(), torn: 0, damage: None };
    for (at, line) in text.split_inclusive(|byte| *byte == b'\n').enumerate() {
        let text = without_end(line);
        if text.is_empty() {
            continue;
        }
        match reader.read(text) {
            Ok(entry) => salvaged.entries.push(entry),
            Err(Unreadable::Damaged(_)) if !line.ends_with(b"\n") => salvaged.torn = line.len(),
            Err(why) => {
                salvaged.damage = Some((at.saturating_add(1), why));
                break;
            }
        }
    }
    salvaged
}
