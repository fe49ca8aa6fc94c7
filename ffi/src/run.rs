//! Runs: pulling their events, learning that there are some, and their results.

pub mod result;

use std::ffi::{c_char, c_int, c_void};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, TryLockError};
use std::task::{Wake, Waker};

use agent_loop::{Error, ErrorKind, Event, Run, RunResult};

use crate::block_on::block_on;
use crate::error::{AGENT_DONE, AGENT_OK, AGENT_PENDING, agent_error_t, agent_status_t};
use crate::event::agent_event_t;
use crate::guard::{self, guard};
use crate::handle::{Callback, agent_destroy_fn_t, borrow, output, take_back};
use crate::readable_fd::ReadableFd;
use crate::runtime::limit;
use crate::stack;
use crate::text::{Text, borrowed};
use result::BorrowedResult;

/// Called when a run becomes readable.
pub type agent_wakeup_fn_t = Option<unsafe extern "C" fn(userdata: *mut c_void)>;
type WakeupFunction = unsafe extern "C" fn(userdata: *mut c_void);

impl Wake for Callback<WakeupFunction> {
    fn wake(self: Arc<Self>) {
        // SAFETY: the function and its userdata came together.
        unsafe { (self.function)(self.userdata()) };
    }
}

/// One run of an agent.
pub struct agent_run_t {
    pub(crate) run: Run,
    id: Text,
    reader: Mutex<Reader>,
    borrowed_result: OnceLock<BorrowedResult>,
}

/// The reader's side: a batch of events, taken under one lock, is handed out one by one.
#[derive(Default)]
struct Reader {
    batch: std::vec::IntoIter<Event>,
    /// The event that C borrows.
    current: Option<agent_event_t>,
    over: bool,
    wakeup: Option<Waker>,
    readable_fd: Option<Arc<ReadableFd>>,
}

impl Reader {
    /// Takes all events of the run's queue. If there are none, the queue will call the wakeup.
    fn refill(&mut self, run: &Run) {
        // Before the queue reports that it is empty: its events are still unread.
        self.signal_batch(true);
        match run.drain(usize::MAX, self.wakeup.as_ref()) {
            Some(events) => self.batch = events.into_iter(),
            None => self.over = true,
        }
        self.signal_batch(self.batch.len() > 0);
    }

    fn next(&mut self) -> Option<*const agent_event_t> {
        let event = self.batch.next()?;
        if self.batch.len() == 0 {
            self.signal_batch(false);
        }
        let current = match &mut self.current {
            Some(current) => {
                current.replace(event);
                current
            }
            none => none.insert(agent_event_t::new(event)),
        };
        Some(std::ptr::from_ref(current))
    }

    fn discard(&mut self) {
        self.batch = Vec::new().into_iter();
        self.signal_batch(false);
    }

    fn is_readable(&self) -> bool {
        self.over || self.batch.len() > 0
    }

    fn signal_batch(&self, ready: bool) {
        if let Some(readable_fd) = &self.readable_fd {
            readable_fd.set_batch(ready);
        }
    }
}

impl agent_run_t {
    pub(crate) fn new(run: Run) -> agent_run_t {
        let id = Text::new(run.id());
        agent_run_t { run, id, reader: Mutex::default(), borrowed_result: OnceLock::new() }
    }

    /// The run's result, once it is over.
    fn result(&self) -> Option<&RunResult> {
        self.run.finished()
    }

    /// The result as C borrows it.
    fn borrowed_result(&self) -> Option<&BorrowedResult> {
        let result = self.result()?;
        Some(self.borrowed_result.get_or_init(|| BorrowedResult::new(result)))
    }

    fn reader(&self) -> Result<MutexGuard<'_, Reader>, Error> {
        match self.reader.try_lock() {
            Ok(reader) => Ok(reader),
            Err(TryLockError::Poisoned(poisoned)) => Ok(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) if self.run.is_in_parent() => {
                let text = "another thread was pulling this run when the process forked; it has ended here";
                Err(Error::new(ErrorKind::InvalidState, text))
            }
            Err(TryLockError::WouldBlock) => {
                let text = "another thread is pulling this run; pull from one thread at a time";
                Err(Error::new(ErrorKind::InvalidState, text))
            }
        }
    }

    /// Writes the next event, if there is one now or in time.
    ///
    /// # Safety
    /// `out` may be written.
    unsafe fn next(&self, timeout_ms: i64, out: *mut *const agent_event_t) -> Result<agent_status_t, Error> {
        self.run.agent().check_outside("agent_run_next")?;
        let mut reader = match self.reader() {
            // What that thread has taken cannot be reached; the run has ended here, and its outcome says why.
            Err(_) if self.run.is_in_parent() => return Ok(AGENT_DONE),
            reader => reader?,
        };
        loop {
            if let Some(event) = reader.next() {
                // SAFETY: the caller's promise.
                unsafe { out.write(event) };
                return Ok(AGENT_OK);
            }
            if reader.over {
                return Ok(AGENT_DONE);
            }
            reader.refill(&self.run);
            if !reader.is_readable() && (timeout_ms == 0 || !self.run.wait_readable(limit(timeout_ms), stack::is_large_enough()))
            {
                return Ok(AGENT_PENDING);
            }
        }
    }
}

impl Drop for agent_run_t {
    fn drop(&mut self) {
        let reader = self.reader.get_mut().unwrap_or_else(PoisonError::into_inner);
        if reader.wakeup.take().is_some() {
            // The queue drops the wakeup, so that its destroy is called now and not at the end of the run.
            drop(self.run.drain(usize::MAX, None));
        }
    }
}

/// The run's id.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_run_id(run: *const agent_run_t, length: *mut usize) -> *const c_char {
    // SAFETY: a run or NULL, and a length to write or NULL.
    unsafe { borrowed(length, || Some(&run.as_ref()?.id)) }
}

/// The next event.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_run_next(
    run: *mut agent_run_t,
    timeout_ms: i64,
    event: *mut *const agent_event_t,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: a run or NULL, and outputs to write or NULL.
    unsafe {
        guard(error, || {
            let run = borrow(run, "run")?;
            run.next(timeout_ms, output(event, "event")?)
        })
    }
}

/// Blocks until the run is over.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_run_wait(
    run: *mut agent_run_t,
    timeout_ms: i64,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: a run or NULL, and an error to write or NULL.
    unsafe {
        guard(error, || {
            let run = borrow(run, "run")?;
            run.run.agent().check_outside("agent_run_wait")?;
            match run.reader() {
                Err(_) if run.run.is_in_parent() => {}
                reader => reader?.discard(),
            }
            block_on(run.run.ended(), limit(timeout_ms)).map_or(Ok(AGENT_PENDING), |ended| ended.map(|_| AGENT_OK))
        })
    }
}

/// Sets the function that is called when the run becomes readable.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_run_set_wakeup(
    run: *mut agent_run_t,
    function: agent_wakeup_fn_t,
    userdata: *mut c_void,
    destroy: agent_destroy_fn_t,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    let callback = Callback::new(function, userdata, destroy);
    // SAFETY: a run or NULL, and an error to write or NULL.
    unsafe {
        guard(error, || {
            let run = borrow(run, "run")?;
            let wakeup = callback.optional().map(|callback| Waker::from(Arc::new(callback)));
            let mut reader = run.reader()?;
            let before = std::mem::replace(&mut reader.wakeup, wakeup.clone());
            if !reader.is_readable() {
                reader.refill(&run.run);
            }
            let now = reader.is_readable();
            // Not under the lock: the functions that are called, wakeup and destroy, may pull.
            drop(reader);
            drop(before);
            if let (Some(wakeup), true) = (wakeup, now) {
                wakeup.wake();
            }
            Ok(AGENT_OK)
        })
    }
}

/// A descriptor to poll.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_run_fd(run: *mut agent_run_t, fd: *mut c_int, error: *mut *mut agent_error_t) -> agent_status_t {
    // SAFETY: a run or NULL, and outputs to write or NULL.
    unsafe {
        guard(error, || {
            let run = borrow(run, "run")?;
            let out = output(fd, "fd")?;
            let mut reader = run.reader()?;
            if reader.readable_fd.is_none() {
                let readable_fd = ReadableFd::new()
                    .map_err(|e| Error::new(ErrorKind::Io, format!("cannot create a descriptor for the run: {e}")))?;
                let of_queue = Arc::clone(&readable_fd);
                run.run.set_ready_callback(Some(Box::new(move |ready| of_queue.set_queue(ready))));
                reader.readable_fd = Some(readable_fd);
                reader.signal_batch(reader.batch.len() > 0);
            }
            out.write(reader.readable_fd.as_ref().map_or(-1, |readable_fd| readable_fd.fd()));
            Ok(AGENT_OK)
        })
    }
}

/// Ends the run after its current turn.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_run_stop_after_turn(run: *mut agent_run_t, error: *mut *mut agent_error_t) -> agent_status_t {
    // SAFETY: a run or NULL, and an error to write or NULL.
    unsafe {
        guard(error, || {
            borrow(run, "run")?.run.stop_after_turn();
            Ok(AGENT_OK)
        })
    }
}

/// Aborts the run.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_run_abort(run: *mut agent_run_t, error: *mut *mut agent_error_t) -> agent_status_t {
    // SAFETY: a run or NULL, and an error to write or NULL.
    unsafe {
        guard(error, || {
            borrow(run, "run")?.run.abort();
            Ok(AGENT_OK)
        })
    }
}

/// Releases a run; an active one is aborted.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_run_free(run: *mut agent_run_t) {
    // SAFETY: ours, and not used again.
    guard::release(|| drop(unsafe { take_back(run) }));
}
