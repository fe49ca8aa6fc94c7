//! A descriptor that is readable while a run is, for event loops that poll.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What makes the descriptor readable: the run's queue, which reports under its lock, or events that were taken from it in a
/// batch.
#[derive(Default)]
struct State {
    queue: bool,
    batch: bool,
}

/// The descriptor, and the state that it reflects.
pub(crate) struct ReadableFd {
    state: Mutex<State>,
    pair: Pair,
    /// Whose descriptor it is: a forked child shares it, and may not change what its parent sees.
    pid: u32,
}

impl ReadableFd {
    /// A descriptor that is not readable yet.
    pub(crate) fn new() -> io::Result<Arc<ReadableFd>> {
        Ok(Arc::new(ReadableFd { state: Mutex::default(), pair: Pair::new()?, pid: std::process::id() }))
    }

    /// Whether the queue has events or is closed.
    pub(crate) fn set_queue(&self, ready: bool) {
        self.change(|state| state.queue = ready);
    }

    /// Whether the batch has events left.
    pub(crate) fn set_batch(&self, ready: bool) {
        self.change(|state| state.batch = ready);
    }

    pub(crate) fn fd(&self) -> std::ffi::c_int {
        self.pair.fd()
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        let mut state = self.lock();
        let before = state.queue || state.batch;
        change(&mut state);
        let after = state.queue || state.batch;
        if before != after && self.pid == std::process::id() {
            // Under the lock: descriptor and state always agree.
            self.pair.set(after);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Two ends of a socket: a byte in it makes the reading end readable.
#[cfg(unix)]
struct Pair {
    read: std::os::unix::net::UnixStream,
    write: std::os::unix::net::UnixStream,
}

#[cfg(unix)]
impl Pair {
    fn new() -> io::Result<Pair> {
        let (read, write) = std::os::unix::net::UnixStream::pair()?;
        // Whatever a host does with its end, this library does not block on it.
        read.set_nonblocking(true)?;
        write.set_nonblocking(true)?;
        Ok(Pair { read, write })
    }

    fn set(&self, readable: bool) {
        use std::io::{Read as _, Write as _};
        // A failure cannot be handled here, and is not expected: at most one byte is in the socket.
        let _ = if readable { (&self.write).write(&[1]) } else { (&self.read).read(&mut [0; 8]) };
    }

    fn fd(&self) -> std::ffi::c_int {
        std::os::fd::AsRawFd::as_raw_fd(&self.read)
    }
}

#[cfg(not(unix))]
struct Pair;

#[cfg(not(unix))]
impl Pair {
    fn new() -> io::Result<Pair> {
        Err(io::Error::new(io::ErrorKind::Unsupported, "this system has no descriptors to poll"))
    }

    fn set(&self, _readable: bool) {}

    fn fd(&self) -> std::ffi::c_int {
        -1
    }
}
