//! Ctrl-Z, where keys are read as they come: whoever reads them puts the terminal back, stops the process, and changes the
//! terminal again once the process goes on.
//!
//! If the kernel may deliver SIGTSTP to another thread, `kill` returns before the process stops. The terminal would be changed
//! too early, and the shell would get it in that mode. So all threads block the signal but the one that reads. (In a program of
//! Python or Node the host has further threads, which do not.)

#[cfg(unix)]
use nix::sys::signal::{SigSet, SigmaskHow, Signal, kill};
#[cfg(unix)]
use nix::unistd::Pid;

/// Puts back the signal mask of this thread when it is dropped.
struct Restore {
    #[cfg(unix)]
    before: Option<SigSet>,
}

impl Restore {
    /// Blocks or unblocks the signal.
    fn change(is_blocked: bool) -> Restore {
        #[cfg(not(unix))]
        let _ = is_blocked;
        Restore {
            #[cfg(unix)]
            before: {
                let how = if is_blocked { SigmaskHow::SIG_BLOCK } else { SigmaskHow::SIG_UNBLOCK };
                SigSet::from(Signal::SIGTSTP).thread_swap_mask(how).ok()
            },
        }
    }
}

impl Drop for Restore {
    fn drop(&mut self) {
        #[cfg(unix)]
        if let Some(before) = &self.before {
            let _ = before.thread_set_mask();
        }
    }
}

/// Blocks the signal on this thread and on those that it starts, until what this gives is dropped.
pub(super) fn block() -> impl Drop {
    Restore::change(true)
}

/// Runs a function with the signal unblocked on this thread.
pub(super) fn unblocked<T>(work: impl FnOnce() -> T) -> T {
    let _restore = Restore::change(false);
    work()
}

/// Stops the process group, as the terminal does at Ctrl-Z. Returns when the process goes on.
#[cfg(unix)]
pub(super) fn now() {
    let _ = unblocked(|| kill(Pid::from_raw(0), Signal::SIGTSTP));
}
