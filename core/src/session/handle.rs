//! A session by its id, whether it is open or not.

use std::sync::Arc;

use agent_loop_proto::session::{Entry, ForkedFrom, Info, JournalReader, JournalRecord, encode};

use super::backend::SessionInfo;
use super::clock::now_ms;
use super::errors::missing;
use super::follow::Follow;
use super::follow_live::FollowLive;
use super::ids::check_id;
use super::open::OpenSession;
use super::reading::{PAGE, each, entries, had_more, missing_end, read_line};
use super::shared::SharedStore;
use crate::error::{Error, ErrorKind};

/// A session of a store, which need not exist. Cheap to make and to clone: nothing is read or written before a function is
/// called.
#[derive(Debug, Clone)]
pub struct Session {
    shared: Arc<SharedStore>,
    id: String,
}

/// What can be read of a session that is damaged.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub struct SalvagedSession {
    /// The records before the damage.
    pub entries: Vec<Entry>,
    /// The same as JSON lines, as [`Store::import`](super::Store::import) takes them.
    pub text: String,
    /// What is wrong behind them; `None` for a session that is whole.
    pub damage: Option<String>,
}

impl Session {
    pub(super) fn new(shared: &Arc<SharedStore>, id: &str) -> Result<Session, Error> {
        check_id(id)?;
        Ok(Session { shared: Arc::clone(shared), id: id.to_owned() })
    }

    /// Its id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Opens it to write, and creates it if there is none of this id. In a tokio runtime, as runs are. A close of it that is
    /// under way through the same store is waited for, at most as long as a lease.
    ///
    /// # Errors
    /// `busy` with the holder's name, while it is open elsewhere; `damaged` with the place, for a session that
    /// [`salvage`](Session::salvage) reads in part; `newer_version` for one that a newer version of this library has written;
    /// `io` for what the store's disk or server refuses.
    pub async fn open(&self) -> Result<OpenSession, Error> {
        OpenSession::open(&self.shared, &self.id).await
    }

    /// What its store is called in errors.
    #[cfg(feature = "__bindings")]
    pub fn store_name(&self) -> String {
        self.shared.backend.name()
    }

    /// Whether its store reaches no further than files and memory, so that a thread may wait for it: neither a server, nor code
    /// of the program.
    #[cfg(feature = "__bindings")]
    pub fn is_embedded(&self) -> bool {
        self.shared.is_embedded
    }

    /// What the store knows of it without reading it; `None` if there is no such session.
    ///
    /// # Errors
    /// `io` for what the store's disk or server refuses.
    pub async fn info(&self) -> Result<Option<SessionInfo>, Error> {
        self.shared.backend.info(self.id.clone()).await
    }

    /// The records behind the number `after`, at most `limit`. Also while it is open elsewhere.
    ///
    /// # Errors
    /// `not_found` if there is no such session; `invalid_argument` for the limit 0; else as [`Session::open`] for what cannot be
    /// read.
    pub async fn records(&self, after: u64, limit: usize) -> Result<Vec<Entry>, Error> {
        if limit == 0 {
            return Err(Error::invalid_argument("records: limit: expected a whole number of at least 1, got 0"));
        }
        entries(&*self.shared.backend, &self.id, after, limit).await
    }

    /// Its records behind the number `after`: those that are there, and those to come. The session need not exist yet.
    pub fn follow(&self, after: u64) -> Follow {
        Follow::new(Arc::clone(&self.shared), &self.id, after)
    }

    /// The same, and between the records the events of the run that goes on in this process: delta by delta.
    pub fn follow_live(&self, after: u64) -> FollowLive {
        FollowLive::new(self.follow(after), after)
    }

    /// Sets title, metadata or both of a session that is not open. One that is has [`OpenSession::set_info`].
    ///
    /// # Errors
    /// As [`Session::open`].
    pub async fn set_info(&self, info: Info) -> Result<(), Error> {
        let open = self.open().await?;
        let set = open.set_info(info).await;
        set.and(open.close().await)
    }

    /// Makes another session of the records up to the number `at`, which this one keeps; `None` for all of them. Title and
    /// metadata are those that this one has now, wherever it is forked.
    ///
    /// # Errors
    /// `invalid_argument` if there is a session of that id, or if this one has no such record; else as [`Session::open`].
    pub async fn fork(&self, at: Option<u64>, id: &str) -> Result<Session, Error> {
        let mut lines = Vec::new();
        let (mut copied, mut now) = (Info::default(), Info::default());
        let until = at.unwrap_or(u64::MAX);
        let last = each(&*self.shared.backend, &self.id, |line, entry| {
            if let JournalRecord::Info(info) = entry.record {
                if entry.seq <= until {
                    copied.merge(info.clone());
                }
                now.merge(info);
            }
            if entry.seq <= until {
                lines.push(line.text);
            }
            Ok(())
        })
        .await?;
        if last == 0 {
            return Err(missing(&self.id, &self.shared.backend.name()));
        }
        if at.is_some_and(|at| at == 0 || at > last) {
            let text = format!("fork: at: the session {:?} has records 1 to {last}, and not {until}", self.id);
            return Err(Error::invalid_argument(text));
        }
        let from = ForkedFrom::new(self.id.as_str(), until.min(last));
        // Its first record is its own; the others have the same numbers.
        let mut lines = lines.split_off(1);
        if copied != now {
            let (title, metadata) = (now.title.clone().unwrap_or_default(), now.metadata.clone().unwrap_or_default());
            let record = JournalRecord::Info(Info::default().title(title).metadata(metadata));
            lines.push(encode(from.seq.saturating_add(1), now_ms(), &record)?.into_bytes());
        }
        Session::create(&self.shared, id, Some(from), lines, now).await
    }

    /// Makes a session of lines, which are those behind its first.
    pub(super) async fn create(
        shared: &Arc<SharedStore>,
        id: &str,
        forked_from: Option<ForkedFrom>,
        lines: Vec<Vec<u8>>,
        info: Info,
    ) -> Result<Session, Error> {
        let session = Session::new(shared, id)?;
        let exists = || Error::invalid_argument(format!("there is a session {id:?} already; give another id, or delete it"));
        // One that another process has begun to make, and no more, has no record.
        if session.info().await?.is_some() && session.has_records().await {
            return Err(exists());
        }
        let is_new = OpenSession::create(shared, id, forked_from, lines, info).await?;
        // Else another writer was faster.
        if is_new { Ok(session) } else { Err(exists()) }
    }

    /// Whether there is any record, as far as that can be read.
    async fn has_records(&self) -> bool {
        let read = self.shared.backend.read(self.id.clone(), 0, 1).await;
        read.map_or(true, |page| !page.lines.is_empty() || page.last > 0)
    }

    /// Deletes it.
    ///
    /// # Errors
    /// `not_found` if there is no such session; `busy` while it is open elsewhere; `io` for what the store's disk or server
    /// refuses.
    pub async fn delete(&self) -> Result<(), Error> {
        if self.info().await?.is_none() {
            return Err(missing(&self.id, &self.shared.backend.name()));
        }
        OpenSession::remove(&self.shared, &self.id).await
    }

    /// All of it as JSON lines, each with its line end: what [`Store::import`](super::Store::import) takes, here or elsewhere.
    ///
    /// # Errors
    /// As [`Session::records`].
    pub async fn export(&self) -> Result<String, Error> {
        let mut text = Vec::new();
        each(&*self.shared.backend, &self.id, |line, _| {
            text.extend_from_slice(&line.text);
            text.push(b'\n');
            Ok(())
        })
        .await?;
        // Each line was read as JSON.
        String::from_utf8(text)
            .map_err(|error| Error::new(ErrorKind::Damaged, format!("the session {:?} is no UTF-8: {error}", self.id)))
    }

    /// What can be read of a damaged session: the records before the first one that cannot, or that is missing. The session stays
    /// as it is. To go on from there, [import](super::Store::import) the text under another id.
    ///
    /// # Errors
    /// `not_found` if there is no such session; `io` if nothing can be read.
    pub async fn salvage(&self) -> Result<SalvagedSession, Error> {
        let mut salvaged = SalvagedSession { entries: Vec::new(), text: String::new(), damage: None };
        let mut reader = JournalReader::new();
        // Where a disk refuses a page, the lines of that page are read one by one.
        let mut limit = PAGE;
        loop {
            let page = match self.shared.backend.read(self.id.clone(), reader.last(), limit).await {
                Ok(page) => page,
                Err(_) if limit > 1 => {
                    limit = 1;
                    continue;
                }
                Err(error) if reader.last() == 0 => return Err(error),
                Err(error) => {
                    salvaged.damage = Some(error.message().to_owned());
                    return Ok(salvaged);
                }
            };
            let count = page.lines.len();
            for line in page.lines {
                match read_line(&mut reader, &line) {
                    Ok(entry) => {
                        salvaged.text.push_str(&String::from_utf8_lossy(&line.text));
                        salvaged.text.push('\n');
                        salvaged.entries.push(entry);
                    }
                    Err(why) => {
                        salvaged.damage = Some(format!("record {}: {why}", reader.last().saturating_add(1)));
                        return Ok(salvaged);
                    }
                }
            }
            if count < limit {
                let known = had_more(&reader, count, limit, page.last);
                salvaged.damage = known.map(|known| missing_end(reader.last(), known));
                return Ok(salvaged);
            }
        }
    }
}
