//! Ctrl-Z, where keys are read as they come: whoever reads them puts the terminal back, stops the process, and changes the
//! terminal again once the process goes on.
//!
//! If another thread may take the signal, `kill` returns before the process stops. The terminal would be changed too early, and
//! the shell would get it so. Hence the signal is kept from all threads but the one that reads. (In a program of Python or Node
//! the host has further ones.)

#[cfg(unix)]
use nix::sys::signal::{SigSet, SigmaskHow, Signal, kill};
#[cfg(unix)]
use nix::unistd::Pid;

/// Changes whether this thread, and those that it starts, may take the signal. Until it is dropped, on this thread.
struct Taken {
    #[cfg(unix)]
    before: Option<SigSet>,
}

impl Taken {
    fn change(is_taken: bool) -> Taken {
        #[cfg(not(unix))]
        let _ = is_taken;
        Taken {
            #[cfg(unix)]
            before: {
                let how = if is_taken { SigmaskHow::SIG_UNBLOCK } else { SigmaskHow::SIG_BLOCK };
                SigSet::from(Signal::SIGTSTP).thread_swap_mask(how).ok()
            },
        }
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        #[cfg(unix)]
        if let Some(before) = &self.before {
            let _ = before.thread_set_mask();
        }
    }
}

/// Keeps the signal from this thread and those that it starts, until what this gives is dropped.
pub(super) fn keep() -> impl Drop {
    Taken::change(false)
}

/// Does what may stop the process on this thread.
pub(super) fn allow<T>(work: impl FnOnce() -> T) -> T {
    let _taken = Taken::change(true);
    work()
}

/// Stops all that the shell takes for this program, as the terminal does. Returns when it goes on.
#[cfg(unix)]
pub(super) fn now() {
    let _ = allow(|| kill(Pid::from_raw(0), Signal::SIGTSTP));
}
