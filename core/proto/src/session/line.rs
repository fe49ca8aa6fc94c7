//! A record as a line of JSON: `{"seq":7,"at":1767225600000,"kind":"message",…,"crc":"0badf00d"}`. The checksum is the CRC-32 of
//! what stands before it.
//!
//! A line is read only as it was written: its beginning and its end have this form, to the byte.

use std::fmt::{self, Display, Formatter};
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::kinds::{Fields, record_of};
use super::record::{JOURNAL_VERSION, JournalRecord};
use crate::depth;
use crate::error::{Error, ErrorKind};
use crate::json_reader::from_text;
use crate::message::Message;

/// What stands before a line's checksum, and behind it.
const BEFORE_CRC: &[u8] = b",\"crc\":\"";
const AFTER_CRC: &[u8] = b"\"}";
const CRC_DIGITS: usize = 8;

/// A line of a journal. Canonical JSON: `{seq, at, kind, …}`, as the line has it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Entry {
    /// Its place in the journal: 1, 2, 3 …
    pub seq: u64,
    /// When it was written, in milliseconds since the epoch.
    pub at: u64,
    /// What it holds.
    #[serde(flatten)]
    pub record: JournalRecord,
}

/// Why a line cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unreadable {
    /// It is not as it was written.
    Damaged(String),
    /// A newer version of the library has written it, and this is what is not known of it. It is whole: its checksum matches.
    Newer(String),
}

impl Unreadable {
    pub(super) fn damaged(what: impl Into<String>) -> Unreadable {
        Unreadable::Damaged(what.into())
    }
}

impl Display for Unreadable {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Unreadable::Damaged(what) => f.write_str(what),
            Unreadable::Newer(what) => write!(
                f,
                "a newer version of agent-loop has written it ({what}); this one reads journals of versions up to \
                 {JOURNAL_VERSION}: update agent-loop"
            ),
        }
    }
}

/// The line of a record, without a line end. `at` is in milliseconds since the epoch.
///
/// # Errors
/// `invalid_argument` for a record whose JSON nests too deep to be read again; there is none among those that the loop makes.
pub fn encode(seq: u64, at: u64, record: &JournalRecord) -> Result<String, Error> {
    check_depth(record).map_err(|why| Error::invalid_argument(format!("the record cannot be kept: {why}")))?;
    let mut line = format!("{{\"seq\":{seq},\"at\":{at}").into_bytes();
    let head = line.len();
    let refused =
        |error: serde_json::Error| Error::invalid_argument(format!("the record is no JSON: {error}")).with_source(error);
    serde_json::to_writer(&mut line, record).map_err(refused)?;
    // The record's fields go on in the line's object.
    if let Some(brace) = line.get_mut(head) {
        *brace = b',';
    }
    line.pop();
    let crc = crc32fast::hash(&line);
    line.extend_from_slice(BEFORE_CRC);
    line.extend_from_slice(format!("{crc:08x}").as_bytes());
    line.extend_from_slice(AFTER_CRC);
    String::from_utf8(line).map_err(|error| Error::new(ErrorKind::InvalidArgument, error.to_string()))
}

/// Refuses JSON that a reader might refuse.
fn check_depth(record: &JournalRecord) -> Result<(), String> {
    let messages = |messages: &[Arc<Message>]| messages.iter().try_for_each(|message| message.check_depth());
    match record {
        JournalRecord::Message(record) => record.message.check_depth(),
        JournalRecord::Queued(queued) => queued.message.check_depth(),
        JournalRecord::Appended(appended) => messages(&appended.messages),
        JournalRecord::Replaced(replaced) => messages(&replaced.messages),
        JournalRecord::ToolStart(start) => depth::check_map("arguments", &start.arguments),
        JournalRecord::ToolAnswer(answer) => depth::check("details", &answer.result.details),
        JournalRecord::Suspended(suspended) => {
            suspended.calls.iter().try_for_each(|call| depth::check_map("arguments", &call.call.arguments))
        }
        // What is in them is bounded by itself.
        JournalRecord::HookDecision(decision) => depth::check_emitted("answer", &decision.answer),
        JournalRecord::Decisions(decided) => {
            decided.decisions.values().try_for_each(|decision| depth::check_emitted("decision", decision))
        }
        JournalRecord::Info(info) => info.metadata.as_ref().map_or(Ok(()), |metadata| depth::check_map("metadata", metadata)),
        JournalRecord::Session(_)
        | JournalRecord::RunStart(_)
        | JournalRecord::QueueCleared(_)
        | JournalRecord::Remembered(_)
        | JournalRecord::RunEnd(_)
        | JournalRecord::Reset(_) => Ok(()),
    }
}

/// What a line holds.
///
/// # Errors
/// What is wrong with it.
pub fn decode(line: &[u8]) -> Result<Entry, Unreadable> {
    check(line)?;
    let head = |rest| {
        let (seq, rest) = number(rest, b"{\"seq\":")?;
        let (at, rest) = number(rest, b",\"at\":")?;
        let rest = rest.strip_prefix(b",\"kind\":\"")?;
        let end = memchr::memchr(b'"', rest)?;
        Some((seq, at, rest.get(..end)?))
    };
    let Some((seq, at, kind)) = head(line) else {
        return Err(Unreadable::damaged("it does not begin as a record does"));
    };
    Ok(Entry { seq, at, record: record(kind, line)? })
}

/// Compares the checksum.
fn check(line: &[u8]) -> Result<(), Unreadable> {
    let parts = || {
        let rest = line.strip_suffix(AFTER_CRC)?;
        let (rest, digits) = rest.split_at_checked(rest.len().checked_sub(CRC_DIGITS)?)?;
        Some((rest.strip_suffix(BEFORE_CRC)?, digits))
    };
    let Some((body, digits)) = parts() else {
        return Err(Unreadable::damaged("it does not end with a checksum"));
    };
    if format!("{:08x}", crc32fast::hash(body)).as_bytes() != digits {
        return Err(Unreadable::damaged("its checksum does not match"));
    }
    Ok(())
}

/// A number as we write it, and what stands behind it.
fn number<'a>(text: &'a [u8], before: &[u8]) -> Option<(u64, &'a [u8])> {
    let text = text.strip_prefix(before)?;
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (number, rest) = text.split_at_checked(digits)?;
    Some((std::str::from_utf8(number).ok()?.parse().ok()?, rest))
}

/// The record of this kind. The line is as it was written, so that what is not known of it is newer. The fields are read from the
/// whole line: a message is parsed once.
fn record(kind: &[u8], line: &[u8]) -> Result<JournalRecord, Unreadable> {
    /// All that is known of a version that is not.
    #[derive(Deserialize)]
    struct Version {
        version: u32,
    }
    let kind = String::from_utf8_lossy(kind);
    let line = Line { kind: &kind, line };
    if kind == "session" {
        let Version { version } = line.read()?;
        if version > JOURNAL_VERSION {
            return Err(Unreadable::Newer(format!("as a journal of version {version}")));
        }
    }
    record_of(&kind, &line).unwrap_or_else(|| Err(Unreadable::Newer(format!("the kind {kind:?} is not known"))))
}

/// A line whose checksum matches.
struct Line<'a> {
    kind: &'a str,
    line: &'a [u8],
}

impl Fields for Line<'_> {
    type Error = Unreadable;

    fn read<T: DeserializeOwned>(&self) -> Result<T, Unreadable> {
        let kind = self.kind;
        let wrong = |error| Unreadable::Newer(format!("the kind {kind:?} has other fields than those that are known: {error}"));
        from_text(self.line).map_err(wrong)
    }
}
