//! Writes the records of one session, in order.
//!
//! Records are numbered and handed over when they are appended; what waits is written together, as soon as what was handed over
//! before is written. A store that can write at once does so before `append` returns; otherwise a task goes on with it, or who
//! awaits it. Whoever appends need not wait.

#[cfg(test)]
mod tests;

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use agent_loop_proto::session::{JournalRecord, encode};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use super::backend::{HeldLease, StoreBackend};
use super::clock::now_ms;
use super::feed::Feed;
use crate::error::{Error, ErrorKind, panic_message};
use crate::future::{BoxFuture, catch_panic};

/// How many lines of another session are appended at a time.
const COPIED_AT_ONCE: usize = 1_000;

/// The one that may append to a session.
pub(super) struct Writer {
    backend: Arc<dyn StoreBackend>,
    lease: HeldLease,
    feed: Arc<Feed>,
    runtime: Handle,
    /// That of the process that has the lease.
    pid: u32,
    state: Mutex<State>,
}

struct State {
    /// The number of the next record.
    next: u64,
    /// Lines that are not handed over yet: the last ones before `next`.
    lines: Vec<String>,
    /// Whether a write is under way, which takes these too.
    is_written: bool,
    /// The number of the last record that the store has.
    durable: u64,
    /// Nothing is written any more.
    ended: Option<Error>,
    waiting: Vec<(u64, oneshot::Sender<Result<(), Error>>)>,
}

/// Records that have their numbers.
#[derive(Debug)]
#[must_use = "the first one is to write them"]
pub(super) struct Taken {
    /// The number of the last one.
    last: u64,
    /// Whether no write was under way.
    is_first: bool,
}

impl Writer {
    /// Writes behind the record `last`.
    pub(super) fn new(
        backend: Arc<dyn StoreBackend>,
        lease: HeldLease,
        feed: Arc<Feed>,
        runtime: Handle,
        last: u64,
    ) -> Arc<Writer> {
        feed.live().set_last(last);
        if last == 0 {
            feed.live().begin_session();
        }
        let state = State {
            next: last.saturating_add(1),
            lines: Vec::new(),
            is_written: false,
            durable: last,
            ended: None,
            waiting: Vec::new(),
        };
        Arc::new(Writer { backend, lease, feed, runtime, pid: std::process::id(), state: Mutex::new(state) })
    }

    pub(super) fn lease(&self) -> &HeldLease {
        &self.lease
    }

    pub(super) fn backend(&self) -> &Arc<dyn StoreBackend> {
        &self.backend
    }

    pub(super) fn feed(&self) -> &Feed {
        &self.feed
    }

    pub(super) fn runtime(&self) -> &Handle {
        &self.runtime
    }

    /// The number of the last record that was appended.
    pub(super) fn last(&self) -> u64 {
        self.state().next.saturating_sub(1)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Refuses what would be written by another process than the one that has the lease: a child of a fork has a copy of all that
    /// is here, but not of its threads.
    pub(super) fn check_process(&self) -> Result<(), Error> {
        if std::process::id() == self.pid {
            return Ok(());
        }
        let text = format!(
            "the session {:?} is open in the process that this one was forked from, and has one writer: close it there, or fork \
             before it is opened",
            self.lease.id
        );
        Err(Error::new(ErrorKind::InvalidState, text))
    }

    /// Why nothing is written any more, if that is so.
    pub(super) fn check(&self) -> Result<(), Error> {
        self.check_process()?;
        self.state().ended.clone().map_or(Ok(()), Err)
    }

    /// Appends records. The future ends when the store has them, and may be dropped.
    pub(super) fn append(
        self: &Arc<Writer>,
        records: &[JournalRecord],
    ) -> impl Future<Output = Result<u64, Error>> + Send + use<> {
        self.write(self.take(records))
    }

    /// Writes records that were numbered. The future ends when the store has them, and may be dropped.
    pub(super) fn write(
        self: &Arc<Writer>,
        taken: Result<Taken, Error>,
    ) -> impl Future<Output = Result<u64, Error>> + Send + use<> {
        if let Ok(Taken { is_first: true, .. }) = taken {
            self.begin();
        }
        let until = taken.map(|Taken { last, .. }| (last, self.when_written(last)));
        async move {
            let (last, written) = until?;
            written.await.map(|()| last)
        }
    }

    /// The same for a task that awaits it at once: it does the write that it begins itself, with no other task in between. If it
    /// no longer waits, a task goes on.
    pub(super) fn append_awaited(
        self: &Arc<Writer>,
        records: &[JournalRecord],
    ) -> impl Future<Output = Result<u64, Error>> + Send + use<> {
        let (writer, taken) = (Arc::clone(self), self.take(records));
        let mut write = matches!(taken, Ok(Taken { is_first: true, .. })).then(|| Write::new(self));
        async move {
            let last = taken?.last;
            let mut written = None;
            let until = std::future::poll_fn(|cx| {
                if let Some(write) = &mut write {
                    // What comes of it, the store's answer says.
                    let _ = write.poll(cx);
                }
                let written = match &mut written {
                    Some(written) => written,
                    None => match writer.receiver(last) {
                        Ok(Some(receiver)) => written.insert(receiver),
                        Ok(None) => return Poll::Ready(Ok(())),
                        Err(error) => return Poll::Ready(Err(error)),
                    },
                };
                Pin::new(written).poll(cx).map(|written| written.unwrap_or_else(|_| Err(given_up())))
            });
            until.await.map(|()| last)
        }
    }

    /// Appends lines that are numbered already. Nothing else is appended meanwhile.
    pub(super) async fn copy(&self, lines: Vec<Vec<u8>>) -> Result<(), Error> {
        // They were read as JSON before.
        let wrong = |error| Error::new(ErrorKind::Damaged, format!("the session {:?} is no UTF-8: {error}", self.lease.id));
        let lines = lines.into_iter().map(String::from_utf8).collect::<Result<Vec<_>, _>>();
        let mut lines = lines.map_err(wrong)?;
        while !lines.is_empty() {
            let rest = lines.split_off(lines.len().min(COPIED_AT_ONCE));
            let (first, count) = (self.state().next, lines.len() as u64);
            self.backend.append(self.lease.clone(), first, std::mem::replace(&mut lines, rest)).await?;
            let mut state = self.state();
            state.next = first.saturating_add(count);
            state.durable = state.next.saturating_sub(1);
        }
        Ok(())
    }

    /// Ends when the store has all that was appended.
    pub(super) fn flush(&self) -> impl Future<Output = Result<(), Error>> + Send + use<> {
        let written = self.check_process().map(|()| self.when_written(self.last()));
        async move { written?.await }
    }

    /// Whether it takes records, or has some that the store does not have yet.
    pub(super) fn is_open(&self) -> bool {
        let state = self.state();
        state.ended.is_none() || state.is_written
    }

    /// Takes no more records.
    pub(super) fn close(&self, why: Error) {
        self.state().ended.get_or_insert(why);
    }

    /// Numbers records, which are to be written then.
    pub(super) fn take(&self, records: &[JournalRecord]) -> Result<Taken, Error> {
        self.check_process()?;
        let mut state = self.state();
        if let Some(error) = &state.ended {
            return Err(error.clone());
        }
        let other = records.iter().find_map(|record| match record {
            JournalRecord::Session(start) if state.next > 1 => Some(start),
            _ => None,
        });
        if let Some(start) = other {
            let (id, of) = (&self.lease.id, &start.id);
            let text = format!(
                "the session {id:?} has its first record already, and that of {of:?} cannot follow it: append the records behind \
                 that, or import the whole text"
            );
            return Err(Error::invalid_argument(text));
        }
        let at = now_ms();
        let lines = (state.next..).zip(records).map(|(seq, record)| encode(seq, at, record));
        let lines: Vec<String> = lines.collect::<Result<_, _>>()?;
        state.next = state.next.saturating_add(lines.len() as u64);
        state.lines.extend(lines);
        let is_first = !state.lines.is_empty() && !std::mem::replace(&mut state.is_written, true);
        Ok(Taken { last: state.next.saturating_sub(1), is_first })
    }

    /// Writes what waits: here, as far as that does not wait, then in a task.
    fn begin(self: &Arc<Writer>) {
        let _ = Write::new(self).poll(&mut Context::from_waker(Waker::noop()));
    }

    fn when_written(&self, seq: u64) -> impl Future<Output = Result<(), Error>> + Send + use<> {
        let when = self.receiver(seq);
        async move {
            match when? {
                Some(receiver) => receiver.await.unwrap_or_else(|_| Err(given_up())),
                None => Ok(()),
            }
        }
    }

    /// Where it is reported that the store has all up to this record; `None` if it has.
    fn receiver(&self, seq: u64) -> Result<Option<oneshot::Receiver<Result<(), Error>>>, Error> {
        let mut state = self.state();
        if state.durable >= seq {
            return Ok(None);
        }
        if let (Some(error), false) = (&state.ended, state.is_written) {
            return Err(error.clone());
        }
        let (sender, receiver) = oneshot::channel();
        state.waiting.push((seq, sender));
        Ok(Some(receiver))
    }

    /// The store has all up to this record.
    fn written(&self, last: u64) {
        let mut state = self.state();
        state.durable = last;
        self.feed.live().set_last(last);
        let (done, waiting) = std::mem::take(&mut state.waiting).into_iter().partition(|(seq, _)| *seq <= last);
        state.waiting = waiting;
        drop(state);
        let done: Vec<(u64, oneshot::Sender<_>)> = done;
        for (_, sender) in done {
            let _ = sender.send(Ok(()));
        }
        self.feed.notify();
    }

    /// Nothing more is written, for this reason.
    pub(super) fn fail(&self, error: &Error) {
        let mut state = self.state();
        state.ended.get_or_insert_with(|| error.clone());
        state.lines.clear();
        state.is_written = false;
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        for (_, sender) in waiting {
            let _ = sender.send(Err(error.clone()));
        }
    }
}

fn given_up() -> Error {
    Error::new(ErrorKind::InvalidState, "the session's records were not written, as the runtime was shut down")
}

/// A write that was begun. If it is dropped before it is done, a task goes on with it.
struct Write {
    future: Option<BoxFuture<'static, ()>>,
    runtime: Handle,
}

impl Write {
    fn new(writer: &Arc<Writer>) -> Write {
        let slot = WriteSlot { writer: Arc::clone(writer), is_over: false };
        Write { future: Some(Box::pin(slot.write())), runtime: writer.runtime.clone() }
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Some(future) = &mut self.future else { return Poll::Ready(()) };
        let _runtime = self.runtime.enter();
        let polled = future.as_mut().poll(cx);
        if polled.is_ready() {
            self.future = None;
        }
        polled
    }
}

impl Drop for Write {
    fn drop(&mut self) {
        if let Some(future) = self.future.take() {
            drop(self.runtime.spawn(future));
        }
    }
}

/// The place of the one that writes: there is one at a time. Without its end, what waits would wait for ever.
struct WriteSlot {
    writer: Arc<Writer>,
    is_over: bool,
}

impl WriteSlot {
    async fn write(mut self) {
        let writer = Arc::clone(&self.writer);
        loop {
            let (first, last, lines) = {
                let mut state = writer.state();
                if state.lines.is_empty() {
                    state.is_written = false;
                    // From here on, another one may have it.
                    self.is_over = true;
                    return;
                }
                let lines = std::mem::take(&mut state.lines);
                (state.next.saturating_sub(lines.len() as u64), state.next.saturating_sub(1), lines)
            };
            // The store may be the application's.
            let appended = catch_panic(async { writer.backend.append(writer.lease.clone(), first, lines).await }).await;
            let appended = appended.unwrap_or_else(|payload| {
                let text = format!("{} panicked: {}", writer.backend.name(), panic_message(&*payload));
                Err(Error::new(ErrorKind::Io, text))
            });
            match appended {
                Ok(()) => writer.written(last),
                Err(error) => writer.fail(&error),
            }
        }
    }
}

impl Drop for WriteSlot {
    fn drop(&mut self) {
        if !self.is_over {
            self.writer.fail(&given_up());
        }
    }
}

impl std::fmt::Debug for Writer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Writer").field("lease", &self.lease).field("last", &self.last()).finish_non_exhaustive()
    }
}
