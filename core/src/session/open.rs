//! A session that is open: the one that may append to it.

use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agent_loop_proto::session::{Entry, Fold, ForkedFrom, Info, JournalRecord, Rebuilt, SessionStart};
use agent_loop_proto::table::codes::JOURNAL_TORN;
use serde::Serialize;
use serde_json::{Value, json};
use tokio::runtime::Handle;

use super::backend::Lease;
use super::clock::now_ms;
use super::closing::{Closing, ToTheEnd};
use super::held::Held;
use super::live::Live;
use super::reading::{cut, each};
use super::shared::SharedStore;
use super::writer::{Taken, Writer};
use crate::error::{Error, ErrorKind};

/// A session with the right to append to it. Cheap to clone.
///
/// Its lease is renewed until it is closed: with [`close`](OpenSession::close), or when the last clone is dropped.
///
/// ```
/// # let runtime = agent_loop::Runtime::new()?;
/// # runtime.block_on(async {
/// use agent_loop::message::Message;
/// use agent_loop::session::{JournalRecord, Store};
///
/// let store = Store::open("memory:")?;
/// let session = store.session("user-7")?.open().await?;
/// // The future may be dropped,
/// drop(session.append(vec![JournalRecord::message(Message::user("Hello", 0))]));
/// // until it matters.
/// session.flush().await?;
/// # agent_loop::session::Result::Ok(())
/// # })?;
/// # Ok::<(), agent_loop::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct OpenSession(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    shared: Arc<SharedStore>,
    writer: Arc<Writer>,
    rebuilt: Mutex<Arc<Rebuilt>>,
    diagnostics: Vec<Diagnostic>,
    /// Whether an agent has the conversation, or records were appended that `rebuilt` does not have: only one of both may be.
    used_by: Mutex<Option<UsedBy>>,
    is_closed: AtomicBool,
    /// It was closed as the store does not answer.
    is_given_up: AtomicBool,
    /// Held while title and metadata are changed, which takes more than one step.
    info: tokio::sync::Mutex<()>,
}

/// Who has changed the conversation since it was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum UsedBy {
    Agent,
    Application,
}

/// Something about a session that is unusual and no error. Canonical JSON: `{code, message, data}`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub struct Diagnostic {
    /// One of [`DIAGNOSTICS`](agent_loop_proto::table::codes::DIAGNOSTICS): `journal_torn`.
    pub code: &'static str,
    /// In a sentence.
    pub message: String,
    /// More, for programs: of `journal_torn`, `session` and `bytes`.
    pub data: Value,
}

impl OpenSession {
    /// Opens a session, and creates it if there is none.
    pub(super) async fn open(shared: &Arc<SharedStore>, id: &str) -> Result<OpenSession, Error> {
        let runtime = current_runtime()?;
        Held::ready(shared, id, &runtime).await?;
        OpenSession::begin(shared, id, &runtime, |created_ms| SessionStart::new(id, created_ms)).await
    }

    /// The same when it is ready, with the first record of a session that is new.
    async fn begin(
        shared: &Arc<SharedStore>,
        id: &str,
        runtime: &Handle,
        start: impl FnOnce(u64) -> SessionStart,
    ) -> Result<OpenSession, Error> {
        let (mut held, lease) = Held::acquire(shared, id, runtime).await?;
        let begun = OpenSession::rebuild(shared, &mut held, &lease, runtime, start).await;
        match &begun {
            Ok(_) => drop(held.keep()),
            // Before the error is known: who tries again finds it free.
            Err(_) => held.release().await,
        }
        let (writer, rebuilt) = begun?;
        shared.renewals.add(&writer, shared.options.lease_ms);
        let diagnostics = Some(lease.torn).filter(|torn| *torn > 0).map(|bytes| Diagnostic {
            code: JOURNAL_TORN,
            message: format!(
                "the journal of the session {id:?} ended with {bytes} bytes of a record that was not written to its end; they \
                 were removed"
            ),
            data: json!({ "session": id, "bytes": bytes }),
        });
        let diagnostics = diagnostics.into_iter().collect();
        let (is_closed, is_given_up) = (AtomicBool::new(false), AtomicBool::new(false));
        let (rebuilt, info) = (Mutex::new(Arc::new(rebuilt)), tokio::sync::Mutex::default());
        let (shared, used_by) = (Arc::clone(shared), Mutex::new(None));
        Ok(OpenSession(Arc::new(Inner { shared, writer, rebuilt, diagnostics, used_by, is_closed, is_given_up, info })))
    }

    /// Reads the journal, or begins it.
    async fn rebuild(
        shared: &SharedStore,
        held: &mut Held,
        lease: &Lease,
        runtime: &Handle,
        start: impl FnOnce(u64) -> SessionStart,
    ) -> Result<(Arc<Writer>, Rebuilt), Error> {
        let (backend, of_writer) = (&shared.backend, held.lease().clone());
        let id = &*of_writer.id;
        let mut fold = Fold::new();
        let push = |_, entry: Entry| {
            fold.push(entry.record);
            Ok(())
        };
        let last = if lease.is_new { 0 } else { each(&**backend, id, push).await? };
        if last < lease.last {
            return Err(cut(id, &backend.name(), last, lease.last));
        }
        let writer = Writer::new(Arc::clone(backend), of_writer.clone(), shared.feeds.of(id), runtime.clone(), last);
        if last == 0 {
            held.set_empty();
            let start = JournalRecord::Session(start(now_ms()));
            writer.append(std::slice::from_ref(&start)).await?;
            fold.push(start);
        }
        let rebuilt = fold.finish();
        match rebuilt.start.as_ref().filter(|start| *start.id != *id) {
            Some(start) => {
                let text = format!(
                    "the session {id:?} in {} has another one's journal, that of {:?}; export it and import the text under the \
                     id that it is to have",
                    backend.name(),
                    start.id
                );
                Err(Error::new(ErrorKind::Damaged, text))
            }
            None => Ok((writer, rebuilt)),
        }
    }

    /// The session's id.
    pub fn id(&self) -> &str {
        &self.0.writer.lease().id
    }

    /// What the session was when it was opened. Empty once an agent has got it: the agent has it then.
    pub fn rebuilt(&self) -> Arc<Rebuilt> {
        Arc::clone(&self.lock_rebuilt())
    }

    /// The same; it is not kept any longer. After that, [`rebuilt`](OpenSession::rebuilt) is empty.
    pub fn take_rebuilt(&self) -> Arc<Rebuilt> {
        std::mem::take(&mut *self.lock_rebuilt())
    }

    /// The same, for the one agent that goes on with it.
    pub(crate) fn attach(&self) -> Result<Arc<Rebuilt>, Error> {
        self.check()?;
        let mut used_by = self.used_by();
        let id = self.id();
        let text = match *used_by {
            Some(UsedBy::Application) => format!(
                "session: records were appended to this open session {id:?}, which an agent would not have: close it, and open \
                 it again for the agent"
            ),
            None if self.rebuilt().start.is_some() => {
                *used_by = Some(UsedBy::Agent);
                return Ok(self.take_rebuilt());
            }
            None | Some(UsedBy::Agent) => format!(
                "session: an agent has, or had, the conversation of this open session {id:?}: close it, and open it again for \
                 another agent"
            ),
        };
        Err(Error::new(ErrorKind::InvalidState, text))
    }

    /// Numbers records of the application, which the session's agent must not miss in its conversation.
    fn take(&self, records: &[JournalRecord]) -> Result<Taken, Error> {
        self.0.writer.check_process()?;
        let changes = records.iter().any(|record| !matches!(record, JournalRecord::Info(_)));
        let mut used_by = self.used_by();
        if changes && *used_by == Some(UsedBy::Agent) {
            let text = format!(
                "append: the open session {:?} has an agent, whose conversation this would not reach: append messages with the \
                 agent's append_messages, or close the session and open it again",
                self.id()
            );
            return Err(Error::new(ErrorKind::InvalidState, text));
        }
        let taken = self.0.writer.take(records)?;
        if changes {
            // Not for records that were refused.
            *used_by = Some(UsedBy::Application);
        }
        Ok(taken)
    }

    fn used_by(&self) -> MutexGuard<'_, Option<UsedBy>> {
        self.0.used_by.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The events of its run, for those who follow it in this process.
    pub(crate) fn live(&self) -> &Live {
        self.0.writer.feed().live()
    }

    /// While this is kept, who opens the session waits. There is none in a child of a fork: the session is the parent's.
    pub(crate) fn ending(&self) -> Option<Closing> {
        (!self.0.shared.is_forked()).then(|| self.0.shared.closings.begin(self.id()))
    }

    /// Why nothing can be appended any more, if that is so.
    pub(crate) fn check(&self) -> Result<(), Error> {
        self.0.writer.check()
    }

    /// The store does not answer: nothing more is written, and the lease is given back when it answers again. The error for who
    /// has waited.
    pub(crate) fn give_up(&self, waited_ms: u64) -> Error {
        let (id, store) = (self.id(), self.0.shared.backend.name());
        let text = format!(
            "{store} has not answered within abort_grace_ms ({waited_ms}) after the run was aborted; the session {id:?} was \
             given up: open it again when the store answers"
        );
        let error = Error::new(ErrorKind::Io, text);
        self.0.is_given_up.store(true, Ordering::Release);
        self.0.writer.fail(&error);
        if !self.0.is_closed.swap(true, Ordering::AcqRel) {
            let (shared, lease) = (Arc::clone(&self.0.shared), self.0.writer.lease().clone());
            self.0.shared.closings.in_background(self.id(), self.0.writer.runtime(), async move {
                let _ = shared.release(lease).await;
            });
        }
        error
    }

    #[cfg(feature = "__bindings")]
    pub(super) fn shared(&self) -> &Arc<SharedStore> {
        &self.0.shared
    }

    /// Does something to its end, also if the future is dropped.
    fn to_the_end<T: Send + 'static>(&self, work: impl Future<Output = Result<T, Error>> + Send + 'static) -> ToTheEnd<T> {
        ToTheEnd::new(&self.0.shared.closings, self.id(), self.0.writer.runtime(), work)
    }

    fn lock_rebuilt(&self) -> MutexGuard<'_, Arc<Rebuilt>> {
        self.0.rebuilt.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What was unusual when it was opened.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.0.diagnostics
    }

    /// The number of the last record that was appended, whether it is written or not.
    pub fn last(&self) -> u64 {
        self.0.writer.last()
    }

    /// Appends records, in the order of the calls. They have their numbers when this returns, so that who appends under the lock
    /// of what has changed keeps the order of the changes. The future ends when the store has them, with the number of the last
    /// one, and may be dropped. After an error nothing more is written, and each further call returns it: what would be appended
    /// then would stand behind a gap.
    ///
    /// # Errors
    /// `busy` with the new holder's name, if the lease was lost; `io` for what the store's disk or server refuses;
    /// `damaged` for a store whose file is; `invalid_state` after `close`. `invalid_argument` for JSON that nests deeper than 64
    /// levels, and for the first record of another session; `invalid_state` for records that an agent would not know of, which
    /// has, or had, the conversation, so for others than `info`: nothing of that call is appended, and others go on.
    pub fn append(&self, records: Vec<JournalRecord>) -> impl Future<Output = Result<u64, Error>> + Send + use<> {
        self.0.writer.write(self.take(&records))
    }

    /// The same, for the agent that has the conversation.
    pub(crate) fn append_of_agent(&self, records: Vec<JournalRecord>) -> impl Future<Output = Result<u64, Error>> + Send + use<> {
        self.0.writer.append(&records)
    }

    /// The same for a task that awaits the future at once, and nothing else meanwhile that could hold it up.
    pub(crate) fn append_awaited(&self, records: &[JournalRecord]) -> impl Future<Output = Result<u64, Error>> + Send + use<> {
        self.0.writer.append_awaited(records)
    }

    /// Sets title, metadata or both.
    ///
    /// # Errors
    /// As [`OpenSession::append`].
    pub async fn set_info(&self, info: Info) -> Result<(), Error> {
        self.0.writer.check_process()?;
        let this = self.clone();
        // Else the journal would say what the list does not.
        self.to_the_end(async move { this.change_info(info).await }).await
    }

    async fn change_info(&self, info: Info) -> Result<(), Error> {
        let _changes = self.0.info.lock().await;
        self.append(vec![JournalRecord::Info(info.clone())]).await?;
        let lease = self.0.writer.lease().clone();
        let mut merged = Info::default();
        if let Some(known) = self.0.shared.backend.info(lease.id.clone()).await? {
            (merged.title, merged.metadata) = (known.title, known.metadata);
        }
        merged.merge(info);
        self.0.shared.backend.set_info(lease, merged).await
    }

    /// Waits until the store has all records.
    ///
    /// # Errors
    /// As [`OpenSession::append`].
    pub async fn flush(&self) -> Result<(), Error> {
        self.0.writer.flush().await
    }

    /// Writes what waits, and gives the lease back. It begins with this call, and is done to its end also if the future is
    /// dropped. A second call waits for the first one.
    ///
    /// # Errors
    /// As [`OpenSession::append`], for records that could not be written.
    pub fn close(&self) -> impl Future<Output = Result<(), Error>> + Send + use<> {
        let is_first = || !self.0.is_closed.swap(true, Ordering::AcqRel);
        let begun = self.0.writer.check_process().map(|()| is_first().then(|| self.begin_to_close()));
        let this = self.clone();
        async move {
            match begun? {
                Some(closed) => closed.await,
                None if this.0.is_given_up.load(Ordering::Acquire) => Ok(()),
                None => {
                    this.0.shared.closed(this.id()).await;
                    Ok(())
                }
            }
        }
    }

    fn begin_to_close(&self) -> ToTheEnd<()> {
        let (id, shared, lease) = (self.id(), Arc::clone(&self.0.shared), self.0.writer.lease().clone());
        let closing = shared.closings.begin(id);
        // First: what is appended behind it is refused, and not lost.
        self.0.writer.close(Error::new(ErrorKind::InvalidState, format!("the session {id:?} was closed; open it again")));
        let flushed = self.0.writer.flush();
        self.to_the_end(async move {
            let flushed = flushed.await;
            let released = shared.release(lease).await;
            drop(closing);
            flushed.and(released)
        })
    }

    /// Makes a session of lines, which are those behind its first, with title and metadata as they say, and closes it. If that
    /// fails, there is no session. Returns whether there was none of this id before.
    pub(super) async fn create(
        shared: &Arc<SharedStore>,
        id: &str,
        forked_from: Option<ForkedFrom>,
        lines: Vec<Vec<u8>>,
        info: Info,
    ) -> Result<bool, Error> {
        let runtime = current_runtime()?;
        Held::ready(shared, id, &runtime).await?;
        let (of_work, id_of_work, in_work) = (Arc::clone(shared), id.to_owned(), runtime.clone());
        let work = async move {
            let mut is_new = false;
            let start = |created_ms| {
                is_new = true;
                let mut start = SessionStart::new(&*id_of_work, created_ms);
                start.forked_from = forked_from;
                start
            };
            let open = OpenSession::begin(&of_work, &id_of_work, &in_work, start).await?;
            let copied = if is_new { open.copy(lines, info).await } else { Ok(()) };
            if copied.is_err() {
                open.0.is_closed.store(true, Ordering::Release);
                let _ = open.flush().await;
                let _ = of_work.delete(open.0.writer.lease().clone()).await;
                return copied.map(|()| is_new);
            }
            open.close().await.map(|()| is_new)
        };
        // Half of it would look like all of it.
        ToTheEnd::new(&shared.closings, id, &runtime, work).await
    }

    async fn copy(&self, lines: Vec<Vec<u8>>, info: Info) -> Result<(), Error> {
        self.0.writer.copy(lines).await?;
        if info != Info::default() {
            self.0.shared.backend.set_info(self.0.writer.lease().clone(), info).await?;
        }
        Ok(())
    }

    /// Removes a session without reading it.
    pub(super) async fn remove(shared: &Arc<SharedStore>, id: &str) -> Result<(), Error> {
        let runtime = current_runtime()?;
        Held::ready(shared, id, &runtime).await?;
        let (held, _) = Held::acquire(shared, id, &runtime).await?;
        let (lease, of_delete) = (held.keep(), Arc::clone(shared));
        ToTheEnd::new(&shared.closings, id, &runtime, async move { of_delete.delete(lease).await }).await
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // In a child of a fork, the lease is the parent's.
        if !*self.is_closed.get_mut() && !self.shared.is_forked() {
            let (flushed, shared, lease) = (self.writer.flush(), Arc::clone(&self.shared), self.writer.lease().clone());
            let release = async move {
                let _ = flushed.await;
                let _ = shared.release(lease).await;
            };
            self.shared.closings.in_background(&self.writer.lease().id, self.writer.runtime(), release);
        }
    }
}

fn current_runtime() -> Result<Handle, Error> {
    Handle::try_current().map_err(|_| {
        let text = "there is no tokio runtime here; open a session from async code, or in the block_on of a Runtime";
        Error::new(ErrorKind::InvalidState, text)
    })
}
