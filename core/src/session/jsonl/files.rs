//! Where the files of a session are, and what is read of them.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind as IoErrorKind, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::UNIX_EPOCH;

use agent_loop_proto::session::{Info, JournalRecord, decode, without_end};
use serde::Deserialize;

use super::access::refused;
use super::lease::read_unlocked;
use super::names::{earlier_name, file_name, id_of_file};
use crate::error::{Error, ErrorKind};
use crate::session::backend::{Holding, StoredLine};

/// How many places in files are remembered.
const REMEMBERED: usize = 64;
/// A first record is shorter.
const FIRST_RECORD: u64 = 1 << 16;

/// Where the files of a session are.
#[derive(Debug, Clone)]
pub(super) struct Files {
    pub(super) id: String,
    pub(super) journal: PathBuf,
    pub(super) lease: PathBuf,
    pub(super) info: PathBuf,
}

/// The places at which readers have stopped, for those that go on there.
#[derive(Debug, Default)]
pub(super) struct Places(Mutex<VecDeque<Place>>);

/// Where a line ends in a file.
#[derive(Debug)]
struct Place {
    journal: PathBuf,
    seq: u64,
    end: u64,
}

impl Places {
    /// Where the line of this number ends.
    fn find(&self, journal: &Path, seq: u64) -> Option<u64> {
        let places = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        places.iter().find(|place| place.seq == seq && place.journal == journal).map(|place| place.end)
    }

    fn remember(&self, journal: &Path, seq: u64, end: u64) {
        let mut places = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        places.retain(|place| place.seq != seq || place.journal != journal);
        if places.len() == REMEMBERED {
            places.pop_front();
        }
        places.push_back(Place { journal: journal.to_owned(), seq, end });
    }
}

impl Files {
    /// Those of the session of this id: as an earlier version has named them, if that has made them.
    pub(super) fn of(folder: &Path, id: &str) -> Result<Files, Error> {
        let files = Files::named(folder, &file_name(id), id);
        let Some(earlier) = earlier_name(id).map(|name| Files::named(folder, &name, id)) else { return Ok(files) };
        let exists = |files: &Files| files.length().map(|length| length.is_some_and(|length| length > 0));
        // Where upper and lower case are the same, the file may be that of another session.
        let is_other = |files: &Files| files.first_id().is_some_and(|first| first != id);
        Ok(if !exists(&files)? && exists(&earlier)? && !is_other(&earlier) { earlier } else { files })
    }

    /// Those with the journal of this file name; none if it is no session's.
    pub(super) fn of_file(folder: &Path, name: &str) -> Option<Files> {
        let name = name.strip_suffix(".jsonl")?;
        let files = |id: &str| Files::named(folder, name, id);
        let id = id_of_file(name).or_else(|| files("").first_id().filter(|id| file_name(id) == name))?;
        Some(files(&id))
    }

    fn named(folder: &Path, name: &str, id: &str) -> Files {
        let file = |end: &str| folder.join(format!("{name}.{end}"));
        Files { id: id.to_owned(), journal: file("jsonl"), lease: file("lease"), info: file("info") }
    }

    /// The id in the first record, also if that is damaged elsewhere.
    fn first_id(&self) -> Option<String> {
        #[derive(Deserialize)]
        struct First {
            id: String,
        }
        let mut line = Vec::new();
        let opened = File::open(&self.journal).ok()?.take(FIRST_RECORD);
        BufReader::new(opened).read_until(b'\n', &mut line).ok()?;
        serde_json::from_slice::<First>(&line).ok().map(|first| first.id)
    }

    /// Refuses to make a journal anew that was removed.
    pub(super) fn check_known(&self) -> Result<(), Error> {
        let had = self.lease()?.last;
        if had > 0 && self.length()?.is_none() { Err(self.removed(had)) } else { Ok(()) }
    }

    /// The lease, without a lock.
    pub(super) fn lease(&self) -> Result<Holding, Error> {
        read_unlocked(&self.lease)
    }

    /// Why there is no journal: the error for one that was there.
    pub(super) fn check_removed(&self) -> Result<(), Error> {
        let lease = self.lease()?;
        if lease.last > 0 || lease.left_ms() > 0 { Err(self.removed(lease.last)) } else { Ok(()) }
    }

    /// The error for a journal that is not there any more.
    fn removed(&self, had: u64) -> Error {
        let (id, journal, lease) = (&self.id, self.journal.display(), self.lease.display());
        let records = if had > 0 { format!("; it had {had} records") } else { String::new() };
        let text = format!(
            "the session {id:?} is damaged: its file {journal} was removed{records}. Put it back; or remove {lease}, too, to \
             begin the session anew"
        );
        Error::new(ErrorKind::Damaged, text)
    }

    /// Title and metadata.
    pub(super) fn info(&self) -> Result<Info, Error> {
        match std::fs::read(&self.info) {
            Ok(text) => serde_json::from_slice(&text).or_else(|_| self.info_of_journal()),
            Err(error) if error.kind() == IoErrorKind::NotFound => Ok(Info::default()),
            Err(error) => Err(refused("reading it", &self.info)(error)),
        }
    }

    /// Title and metadata, as the journal has them, too.
    fn info_of_journal(&self) -> Result<Info, Error> {
        let mut info = Info::default();
        for line in self.read(&Places::default(), 0, usize::MAX)?.unwrap_or_default() {
            match decode(&line.text).map(|entry| entry.record) {
                Ok(JournalRecord::Info(changed)) => info.merge(changed),
                Ok(_) => {}
                Err(_) => break,
            }
        }
        Ok(info)
    }

    /// When the session was created, and when it was changed; none if there is no such session.
    pub(super) fn times(&self) -> Result<Option<(u64, u64)>, Error> {
        let opened = match File::open(&self.journal) {
            Err(error) if error.kind() == IoErrorKind::NotFound => return Ok(None),
            other => other.map_err(refused("reading it", &self.journal))?,
        };
        let meta = opened.metadata().map_err(refused("reading it", &self.journal))?;
        let changed = meta.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok()).unwrap_or_default();
        let changed = u64::try_from(changed.as_millis()).unwrap_or_default();
        let mut first = Vec::new();
        let line = BufReader::new(opened).read_until(b'\n', &mut first);
        line.map_err(refused("reading it", &self.journal))?;
        let created = decode(without_end(&first)).map_or(changed, |entry| entry.at);
        Ok(Some((created, changed)))
    }

    /// How long the journal is; none without one.
    pub(super) fn length(&self) -> Result<Option<u64>, Error> {
        match std::fs::metadata(&self.journal) {
            Ok(meta) => Ok(Some(meta.len())),
            // An earlier version had names that are too long: there is no such file.
            Err(error) if matches!(error.kind(), IoErrorKind::NotFound | IoErrorKind::InvalidFilename) => Ok(None),
            Err(error) => Err(refused("reading it", &self.journal)(error)),
        }
    }

    /// Lines behind a number, without an end that is torn or is being written; none if there is no such session.
    pub(super) fn read(&self, places: &Places, after: u64, limit: usize) -> Result<Option<Vec<StoredLine>>, Error> {
        let refused = refused("reading it", &self.journal);
        let opened = match File::open(&self.journal) {
            Err(error) if error.kind() == IoErrorKind::NotFound => return Ok(None),
            other => other.map_err(&refused)?,
        };
        let mut reader = BufReader::with_capacity(1 << 16, opened);
        let (mut seq, mut end) = (0, 0);
        if let Some(known) = places.find(&self.journal, after) {
            reader.seek(SeekFrom::Start(known)).map_err(&refused)?;
            let expected = format!("{{\"seq\":{},", after.saturating_add(1));
            // Not if another session has been written there meanwhile, under the same id.
            match reader.fill_buf().map_err(&refused)?.starts_with(expected.as_bytes()) {
                true => (seq, end) = (after, known),
                false => reader.rewind().map_err(&refused)?,
            }
        }
        let mut lines = Vec::new();
        while lines.len() < limit {
            let mut text = Vec::new();
            let read = reader.read_until(b'\n', &mut text).map_err(&refused)?;
            if text.last() != Some(&b'\n') {
                break;
            }
            end = end.saturating_add(read as u64);
            text.truncate(without_end(&text).len());
            // As an editor leaves it.
            if text.is_empty() {
                continue;
            }
            seq = seq.saturating_add(1);
            if seq > after {
                lines.push(StoredLine { seq, text });
            }
        }
        places.remember(&self.journal, seq, end);
        Ok(Some(lines))
    }
}
