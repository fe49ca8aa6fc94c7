//! Ctrl-Z, where keys are read as they come: whoever reads them puts the terminal back, stops the process, and changes the
//! terminal again once the process goes on.
//!
//! A signal that another thread may take has not come yet when `kill` returns: the terminal would be changed again before the
//! process stops, and the shell would have it so. Hence a single thread at a time may take it.

#[cfg(unix)]
use nix::sys::signal::{SigSet, Signal, kill};
#[cfg(unix)]
use nix::unistd::Pid;

/// Keeps the signal from this thread, and from those that it starts.
pub(super) fn keep() {
    // There is such a signal: it does not fail.
    #[cfg(unix)]
    let _ = SigSet::from(Signal::SIGTSTP).thread_block();
}

/// Does what may stop the process on this thread.
pub(super) fn allow<T>(work: impl FnOnce() -> T) -> T {
    #[cfg(unix)]
    let _ = SigSet::from(Signal::SIGTSTP).thread_unblock();
    let done = work();
    keep();
    done
}

/// Stops all that the shell takes for this program, as the terminal does. Returns when it goes on.
#[cfg(unix)]
pub(super) fn now() {
    let _ = allow(|| kill(Pid::from_raw(0), Signal::SIGTSTP));
}
