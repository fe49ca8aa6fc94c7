//! Following a session: its records one by one, those that are there and those to come, and the events of its run.

use std::ffi::{c_char, c_void};
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::task::{Context, Poll, Waker};

use agent_loop::session::hosting::Follower;
use agent_loop::session::{Followed, Session};
use agent_loop::{Error, ErrorKind};

use crate::error::{AGENT_DONE, AGENT_OK, AGENT_PENDING, agent_error_t, agent_status_t};
use crate::guard::{self, guard};
use crate::handle::{Callback, agent_destroy_fn_t, borrow, output, take_back};
use crate::run::agent_wakeup_fn_t;
use crate::runtime::limit;
use crate::store::owner::Owner;
use crate::text::Text;

type Record = Result<Followed, Error>;

/// A follower of a session.
pub struct agent_follow_t {
    reader: Mutex<Reader>,
}

struct Reader {
    follower: Follower,
    owner: Owner,
    /// Reads the next record.
    next: Option<Pin<Box<dyn Future<Output = Record> + Send>>>,
    /// A record that was read and not handed out yet.
    ready: Option<Record>,
    /// The record that C borrows.
    current: Text,
    /// An error was handed out: there is nothing behind it.
    is_over: bool,
    wakeup: Option<Waker>,
}

impl agent_follow_t {
    pub(super) fn new(session: &Session, after: u64, live: bool, owner: &Owner) -> agent_follow_t {
        let (follower, owner) = (Follower::new(session, after, live), owner.clone());
        let (next, ready, current, wakeup) = (None, None, Text::new(""), None);
        agent_follow_t { reader: Mutex::new(Reader { follower, owner, next, ready, current, is_over: false, wakeup }) }
    }

    fn reader(&self) -> Result<MutexGuard<'_, Reader>, Error> {
        match self.reader.try_lock() {
            Ok(reader) => Ok(reader),
            Err(TryLockError::Poisoned(poisoned)) => Ok(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => {
                let text = "another thread is reading this follower; read from one thread at a time";
                Err(Error::new(ErrorKind::InvalidState, text))
            }
        }
    }
}

impl Reader {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Record> {
        let (follower, runtime) = (&self.follower, self.owner.runtime());
        let next = self.next.get_or_insert_with(|| Box::pin(follower.next(runtime)));
        let record = std::task::ready!(next.as_mut().poll(cx));
        self.next = None;
        Poll::Ready(record)
    }

    /// Takes the record that is there now. If there is none, the wakeup is called as soon as there is.
    fn take_ready(&mut self) {
        let waker = self.wakeup.clone().unwrap_or_else(|| Waker::noop().clone());
        if self.ready.is_none()
            && !self.is_over
            && let Poll::Ready(record) = self.poll(&mut Context::from_waker(&waker))
        {
            self.ready = Some(record);
        }
    }

    /// The next record. `None` if there is none in time.
    fn next(&mut self, timeout_ms: i64) -> Option<Record> {
        self.take_ready();
        if self.ready.is_none() && timeout_ms != 0 {
            let owner = self.owner.clone();
            self.ready = owner.block_on(poll_fn(|cx| self.poll(cx)), limit(timeout_ms));
            // The wakeup was replaced meanwhile.
            self.take_ready();
        }
        self.ready.take()
    }

    /// Ends reading, without waiting for the read that goes on.
    fn close(self) {
        let Reader { follower, owner, mut next, wakeup, .. } = self;
        if let (Some(_), Some(next)) = (&wakeup, &mut next) {
            // It drops the wakeup, so that its destroy is called now and not when the read has ended.
            let _ = next.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        }
        owner.release((follower, next));
    }
}

/// The next record.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_follow_next(
    follow: *mut agent_follow_t,
    timeout_ms: i64,
    record: *mut *const c_char,
    length: *mut usize,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: a follower or NULL, and outputs to write or NULL.
    unsafe {
        guard(error, || {
            let (follow, out) = (borrow(follow, "follow")?, output(record, "record")?);
            let mut reader = follow.reader()?;
            reader.owner.check("agent_follow_next")?;
            if reader.is_over {
                return Ok(AGENT_DONE);
            }
            match reader.next(timeout_ms) {
                None => Ok(AGENT_PENDING),
                Some(Ok(next)) => {
                    reader.current = Text::json(&next);
                    out.write(reader.current.as_ptr(length));
                    Ok(AGENT_OK)
                }
                Some(Err(failure)) => {
                    reader.is_over = true;
                    Err(failure)
                }
            }
        })
    }
}

/// Sets the function that is called when there is something to read.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_follow_set_wakeup(
    follow: *mut agent_follow_t,
    function: agent_wakeup_fn_t,
    userdata: *mut c_void,
    destroy: agent_destroy_fn_t,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    let callback = Callback::new(function, userdata, destroy);
    // SAFETY: a follower or NULL, and an error to write or NULL.
    unsafe {
        guard(error, || {
            let follow = borrow(follow, "follow")?;
            let wakeup = callback.optional().map(|callback| Waker::from(Arc::new(callback)));
            let mut reader = follow.reader()?;
            let before = std::mem::replace(&mut reader.wakeup, wakeup.clone());
            reader.take_ready();
            let now = reader.ready.is_some() || reader.is_over;
            // Not under the lock: the functions that are called, wakeup and destroy, may read.
            drop(reader);
            drop(before);
            if let (Some(wakeup), true) = (wakeup, now) {
                wakeup.wake();
            }
            Ok(AGENT_OK)
        })
    }
}

/// Releases a follower.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_follow_free(follow: *mut agent_follow_t) {
    guard::release(|| {
        // SAFETY: ours, and not used again.
        if let Some(follow) = unsafe { take_back(follow) } {
            follow.reader.into_inner().unwrap_or_else(PoisonError::into_inner).close();
        }
    });
}
