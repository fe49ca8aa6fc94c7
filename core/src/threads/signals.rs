//! Signals belong to the host: its handlers run on its own threads.
//!
//! The library's threads block every signal that is not raised by what a thread does itself. A thread of the host that does the
//! work of one of them keeps its signals, but for SIGPIPE: the network code writes several buffers at once with `writev`, which
//! has no flag against that signal, and with its default disposition it would end the process.
//!
//! A program that is started has the mask of the thread that starts it: with the library's it could be ended by nothing but
//! SIGKILL, and so could all that it starts.

// The masks of threads can only be read and changed by calls of C.
#![allow(unsafe_code)]

#[cfg(all(unix, any(feature = "mcp", all(feature = "tools", not(target_os = "linux")), test)))]
pub(crate) use unix::unblock_in;
#[cfg(all(unix, any(feature = "__bindings", feature = "mcp", test)))]
pub(crate) use unix::without_sigpipe;
#[cfg(unix)]
pub(crate) use unix::{Mask, block, blocked};

#[cfg(all(not(unix), any(feature = "__bindings", feature = "mcp")))]
pub(crate) use other::without_sigpipe;
#[cfg(not(unix))]
pub(crate) use other::{Mask, block, blocked};

#[cfg(unix)]
#[cfg_attr(not(feature = "__bindings"), allow(dead_code))] // Threads of a host do the work of those of bindings alone.
mod unix {
    use std::mem::MaybeUninit;
    use std::os::unix::process::CommandExt;
    use std::process::Command;
    use std::ptr::null_mut;

    /// Raised by the instruction that a thread executes. Blocked, they would end the process without a handler's last words.
    const OF_FAULTS: [libc::c_int; 6] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGTRAP, libc::SIGSYS];

    /// The signals that a thread blocks.
    #[derive(Clone, Copy)]
    pub(crate) struct Mask(libc::sigset_t);

    impl Mask {
        /// That of this thread.
        pub(crate) fn current() -> Mask {
            change(libc::SIG_BLOCK, None)
        }

        /// Runs a function under this mask.
        #[cfg_attr(not(feature = "__bindings"), allow(dead_code))] // For hosts whose runtime takes signals on any thread.
        pub(crate) fn run<T>(self, function: impl FnOnce() -> T) -> T {
            let _restore = Restore(change(libc::SIG_SETMASK, Some(&self)));
            function()
        }

        fn of(signals: impl FnOnce(*mut libc::sigset_t)) -> Mask {
            let mut set = MaybeUninit::uninit();
            // SAFETY: `sigemptyset` initializes the set.
            Mask(unsafe {
                libc::sigemptyset(set.as_mut_ptr());
                signals(set.as_mut_ptr());
                set.assume_init()
            })
        }

        /// All but those of faults.
        fn all() -> Mask {
            Mask::of(|set| {
                // SAFETY: the set is initialized.
                unsafe {
                    libc::sigfillset(set);
                    for signal in OF_FAULTS {
                        libc::sigdelset(set, signal);
                    }
                }
            })
        }

        fn sigpipe() -> Mask {
            // SAFETY: the set is initialized.
            Mask::of(|set| unsafe {
                libc::sigaddset(set, libc::SIGPIPE);
            })
        }
    }

    impl std::fmt::Debug for Mask {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.debug_struct("Mask").finish_non_exhaustive()
        }
    }

    /// Changes this thread's mask and returns what it was.
    fn change(how: libc::c_int, mask: Option<&Mask>) -> Mask {
        Mask::of(|before| {
            let mask = mask.map_or(std::ptr::null(), |mask| &raw const mask.0);
            // SAFETY: both sets are valid for the call. It fails only for a `how` that does not exist.
            unsafe { libc::pthread_sigmask(how, mask, before) };
        })
    }

    struct Restore(Mask);

    impl Drop for Restore {
        fn drop(&mut self) {
            change(libc::SIG_SETMASK, Some(&self.0));
        }
    }

    /// Blocks the host's signals on this thread, which is one of the library's.
    pub(crate) fn block() {
        change(libc::SIG_SETMASK, Some(&Mask::all()));
    }

    /// Has a program start with no signal blocked.
    #[cfg_attr(not(feature = "mcp"), allow(dead_code))] // On Linux the supervisor of commands does so itself.
    pub(crate) fn unblock_in(command: &mut Command) {
        let unblock = || {
            change(libc::SIG_SETMASK, Some(&Mask::of(|_| {})));
            Ok(())
        };
        // SAFETY: the function makes system calls only, as one has to in the copy of a process with threads.
        unsafe { command.pre_exec(unblock) };
    }

    /// Runs a function with the host's signals blocked: threads that it starts have them blocked from their first instruction on.
    pub(crate) fn blocked<T>(function: impl FnOnce() -> T) -> T {
        Mask::all().run_also(function)
    }

    impl Mask {
        /// Runs a function with these signals blocked beside those that are.
        fn run_also<T>(&self, function: impl FnOnce() -> T) -> T {
            let _restore = Restore(change(libc::SIG_BLOCK, Some(self)));
            function()
        }
    }

    /// Runs a function that writes to connections on a thread of the host, which does not get the SIGPIPE of that.
    pub(crate) fn without_sigpipe<T>(function: impl FnOnce() -> T) -> T {
        // Sockets of Apple's systems have an option against it, which is set where they are made.
        if cfg!(target_vendor = "apple") {
            return function();
        }
        let sigpipe = Mask::sigpipe();
        let before = change(libc::SIG_BLOCK, Some(&sigpipe));
        // SAFETY: the set is initialized.
        if unsafe { libc::sigismember(&raw const before.0, libc::SIGPIPE) } == 1 {
            return function();
        }
        let _restore = Restore(before);
        let _taken = Taken(sigpipe);
        function()
    }

    /// Takes the signal that waits for the thread, before it is let through again.
    struct Taken(Mask);

    impl Drop for Taken {
        fn drop(&mut self) {
            #[cfg(not(any(target_vendor = "apple", target_os = "openbsd")))]
            {
                let at_once = libc::timespec { tv_sec: 0, tv_nsec: 0 };
                // SAFETY: set and time are valid for the call.
                unsafe { libc::sigtimedwait(&raw const self.0.0, null_mut(), &raw const at_once) };
            }
            #[cfg(target_os = "openbsd")]
            {
                let pending = Mask::of(|set| {
                    // SAFETY: the set is initialized.
                    unsafe { libc::sigpending(set) };
                });
                let mut taken = 0;
                // SAFETY: the sets are initialized. The signal waits, so the second call does not.
                unsafe {
                    if libc::sigismember(&raw const pending.0, libc::SIGPIPE) == 1 {
                        libc::sigwait(&raw const self.0.0, &raw mut taken);
                    }
                }
            }
        }
    }
}

#[cfg(not(unix))]
#[cfg_attr(not(feature = "__bindings"), allow(dead_code))]
mod other {
    /// There are no signals of this kind here.
    #[derive(Debug, Clone, Copy)]
    pub(crate) struct Mask;

    impl Mask {
        pub(crate) fn current() -> Mask {
            Mask
        }

        #[cfg_attr(not(feature = "__bindings"), allow(dead_code))]
        pub(crate) fn run<T>(self, function: impl FnOnce() -> T) -> T {
            function()
        }
    }

    pub(crate) fn block() {}

    pub(crate) fn blocked<T>(function: impl FnOnce() -> T) -> T {
        function()
    }

    pub(crate) fn without_sigpipe<T>(function: impl FnOnce() -> T) -> T {
        function()
    }
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use super::*;

    fn blocks(signal: libc::c_int) -> bool {
        // SAFETY: both sets are valid for the calls, and the first is initialized by them.
        unsafe {
            let mut set = std::mem::zeroed();
            libc::pthread_sigmask(libc::SIG_BLOCK, std::ptr::null(), &raw mut set);
            libc::sigismember(&raw const set, signal) == 1
        }
    }

    #[test]
    fn found_e22_a_thread_that_is_started_blocked_has_the_signals_of_faults_only() {
        let thread = blocked(|| std::thread::spawn(|| [libc::SIGTERM, libc::SIGPIPE, libc::SIGSEGV].map(blocks)));
        assert_eq!(thread.join().unwrap(), [true, true, false]);
        assert!(!blocks(libc::SIGTERM));
    }

    /// Which signals a program blocks that is started here, as the kernel writes them.
    #[cfg(target_os = "linux")]
    fn blocked_in_program(prepare: impl FnOnce(&mut std::process::Command)) -> String {
        let mut command = std::process::Command::new("grep");
        prepare(command.args(["SigBlk", "/proc/self/status"]));
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_program_does_not_have_the_mask_of_the_thread_that_starts_it() {
        let none = "SigBlk:\t0000000000000000\n";
        let thread = blocked(|| std::thread::spawn(|| [blocked_in_program(|_| {}), blocked_in_program(unblock_in)]));
        let [inherited, unblocked] = thread.join().unwrap();
        assert_ne!(inherited, none, "there is nothing to unblock");
        assert_eq!(unblocked, none);
    }

    #[test]
    fn a_mask_holds_while_a_function_runs() {
        std::thread::spawn(|| {
            let of_host = Mask::current();
            block();
            assert!(blocks(libc::SIGUSR1));
            assert!(!of_host.run(|| blocks(libc::SIGUSR1)));
            assert!(blocks(libc::SIGUSR1));
        })
        .join()
        .unwrap();
    }

    #[test]
    fn found_e23_a_sigpipe_of_the_function_is_taken() {
        std::thread::spawn(|| {
            let pending = || {
                // SAFETY: the set is valid for the call, which initializes it.
                unsafe {
                    let mut set = std::mem::zeroed();
                    libc::sigpending(&raw mut set);
                    libc::sigismember(&raw const set, libc::SIGPIPE) == 1
                }
            };
            without_sigpipe(|| {
                assert!(blocks(libc::SIGPIPE));
                // SAFETY: the signal is blocked.
                unsafe { libc::pthread_kill(libc::pthread_self(), libc::SIGPIPE) };
                assert!(cfg!(target_vendor = "apple") || pending());
            });
            assert!(!pending() && !blocks(libc::SIGPIPE));
        })
        .join()
        .unwrap();
    }
}
