//! The process that stands between this one and a command, on Linux: all that the command starts are its descendants, and it ends
//! them, whatever session, group or parent they have chosen.
//!
//! It is this process, forked and not replaced by a program: of a process with several threads, such a copy may only make system
//! calls. It allocates nothing, takes no lock and touches no memory but its stack.

// Forking, and what follows in the copy, are calls of C.
#![allow(unsafe_code)]

use std::io::Error;
use std::os::fd::RawFd;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::ptr::null_mut;

use libc::{c_int, pid_t};

use crate::builtin::sandbox::Jail;

/// How long a command that is to end has to do so by itself, in milliseconds.
const GRACE_MS: i64 = 500;

/// What the supervisor reports at the end: the status as `wait` gives it, and how many processes it had to end.
pub(super) const REPORT_BYTES: usize = 8;

/// Puts a supervisor around the command. It holds `control`, a socket: the end of what comes in says that the command is to end,
/// and the report goes out.
pub(super) fn supervise(command: &mut Command, control: RawFd, jail: Option<Jail>) {
    // SAFETY: the function makes system calls only, as one has to in the copy of a process with threads.
    unsafe {
        command.pre_exec(move || fork(control, jail.as_ref()));
    }
}

/// In the copy of this process: forks again. The copy's copy returns, and becomes the command.
fn fork(control: RawFd, jail: Option<&Jail>) -> Result<(), Error> {
    // SAFETY: system calls with valid arguments. `clone` is called directly: `fork` of the C library runs functions that others
    // have registered. With these flags its other arguments do not count.
    unsafe {
        let host = libc::getppid();
        check(libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))?;
        libc::setsid();
        let mut all = std::mem::zeroed();
        libc::sigfillset(&raw mut all);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const all, null_mut());
        libc::signal(libc::SIGCHLD, libc::SIG_DFL);
        let first = libc::syscall(libc::SYS_clone, libc::SIGCHLD, 0, 0, 0, 0) as pid_t;
        match check(first)? {
            0 => become_command(jail),
            first => Supervisor { first, control, host, children: -1, status: None, killed: 0 }.run(),
        }
    }
}

fn become_command(jail: Option<&Jail>) -> Result<(), Error> {
    // SAFETY: system calls with valid arguments.
    unsafe {
        libc::setsid();
        // What this process has open is none of the command's business, also where it was opened to be inherited.
        if libc::syscall(libc::SYS_close_range, 3, u32::MAX, libc::CLOSE_RANGE_CLOEXEC) != 0 {
            for descriptor in 3..65_536 {
                libc::fcntl(descriptor, libc::F_SETFD, libc::FD_CLOEXEC);
            }
        }
        // A program of another user (setuid) could not be ended.
        check(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))?;
        jail.map_or(Ok(()), Jail::enter)?;
        check(libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0))?;
        let mut none = std::mem::zeroed();
        libc::sigemptyset(&raw mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, null_mut());
    }
    Ok(())
}

fn check(result: c_int) -> Result<c_int, Error> {
    if result < 0 { Err(Error::last_os_error()) } else { Ok(result) }
}

struct Supervisor {
    /// The command's first process, the leader of its session.
    first: pid_t,
    control: RawFd,
    host: pid_t,
    /// The kernel's list of the children; negative where there is none.
    children: RawFd,
    /// How the first process has ended.
    status: Option<c_int>,
    /// How many others were killed.
    killed: u32,
}

impl Supervisor {
    fn run(mut self) -> ! {
        let signals = self.keep_only_control();
        while self.reap() && self.status.is_none() {
            self.wait(signals, 1000);
            if self.is_to_end() {
                // SAFETY: a system call. The first process is not reaped, so the group is its own.
                unsafe { libc::kill(-self.first, libc::SIGTERM) };
                let end = now_ms() + GRACE_MS;
                while self.reap() && now_ms() < end {
                    self.wait_for_child(signals, end - now_ms());
                }
                break;
            }
        }
        while self.reap() {
            if !self.kill_children() && self.status.is_some() {
                // Nothing says which are left.
                break;
            }
            // Those of the killed ones are children of this process then.
            self.wait_for_child(signals, 10);
        }
        self.report()
    }

    /// Closes everything else: what reads the command's output waits until no process can write any more, and the thread that
    /// starts the command until the other copy has become it. Gives the descriptor that says that a child has ended.
    fn keep_only_control(&mut self) -> RawFd {
        // SAFETY: system calls with valid arguments; this copy uses no other descriptor.
        unsafe {
            libc::dup2(self.control, 0);
            self.control = 0;
            if libc::syscall(libc::SYS_close_range, 1, u32::MAX, 0) != 0 {
                for descriptor in 1..65_536 {
                    libc::close(descriptor);
                }
            }
            // Now: a command may take away the right to open files.
            self.children = libc::open(c"/proc/thread-self/children".as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
            let mut child = std::mem::zeroed();
            libc::sigemptyset(&raw mut child);
            libc::sigaddset(&raw mut child, libc::SIGCHLD);
            libc::signalfd(-1, &raw const child, libc::SFD_NONBLOCK)
        }
    }

    /// Takes the status of those that have ended. Whether any are left.
    fn reap(&mut self) -> bool {
        loop {
            let mut status = 0;
            // SAFETY: the status is valid for the call.
            let pid = unsafe { libc::waitpid(-1, &raw mut status, libc::WNOHANG) };
            match pid {
                0 => return true,
                pid if pid < 0 => return false,
                pid if pid == self.first => self.status = Some(status),
                _ if libc::WIFSIGNALED(status) && libc::WTERMSIG(status) == libc::SIGKILL => self.killed += 1,
                _ => {}
            }
        }
    }

    /// Waits until the host says something, or a child has ended.
    fn wait(&self, signals: RawFd, ms: c_int) {
        let mut both = [self.control, signals].map(|fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 });
        // SAFETY: the descriptors are valid for the call.
        let polled = unsafe { libc::poll(both.as_mut_ptr(), 2, ms) };
        pause_after_failure(polled);
        drain(signals);
    }

    fn wait_for_child(&self, signals: RawFd, ms: i64) {
        let mut ended = libc::pollfd { fd: signals, events: libc::POLLIN, revents: 0 };
        // SAFETY: the descriptor is valid for the call.
        let polled = unsafe { libc::poll(&raw mut ended, 1, ms.clamp(0, 1000) as c_int) };
        pause_after_failure(polled);
        drain(signals);
    }

    /// Whether the host has asked for it, or is gone. Its end closes the socket; but a copy of the host, forked just now by
    /// another library, would hold that open.
    fn is_to_end(&self) -> bool {
        let mut byte = 0_u8;
        // SAFETY: the byte is valid for the call.
        let read = unsafe { libc::recv(self.control, (&raw mut byte).cast(), 1, libc::MSG_DONTWAIT) };
        // SAFETY: a system call.
        read >= 0 || unsafe { libc::getppid() } != self.host
    }

    /// Kills all children, as the kernel lists them. None of the numbers is of another process: only this one reaps them. Whether
    /// there is a list.
    fn kill_children(&self) -> bool {
        // SAFETY: system calls with valid arguments.
        unsafe {
            if libc::lseek(self.children, 0, libc::SEEK_SET) != 0 {
                // Without the list, those that have stayed in the group.
                if self.status.is_none() {
                    libc::kill(-self.first, libc::SIGKILL);
                }
                return false;
            }
            let (mut piece, mut pid) = ([0_u8; 512], 0);
            loop {
                let read = libc::read(self.children, piece.as_mut_ptr().cast(), piece.len());
                if read <= 0 {
                    break;
                }
                for byte in piece.iter().take(read as usize) {
                    match byte {
                        b'0'..=b'9' => pid = pid * 10 + pid_t::from(byte - b'0'),
                        _ if pid > 0 => {
                            libc::kill(pid, libc::SIGKILL);
                            pid = 0;
                        }
                        _ => {}
                    }
                }
            }
        }
        true
    }

    fn report(&self) -> ! {
        let mut report = [0_u8; REPORT_BYTES];
        let words = self.status.unwrap_or_default().to_ne_bytes().into_iter().chain(self.killed.to_ne_bytes());
        report.iter_mut().zip(words).for_each(|(to, from)| *to = from);
        // SAFETY: the report is valid for the call. `_exit` runs nothing of the host.
        unsafe {
            libc::send(self.control, report.as_ptr().cast(), REPORT_BYTES, libc::MSG_NOSIGNAL);
            libc::_exit(0)
        }
    }
}

/// Where waiting fails, as with a limit of no descriptors that the command has set, the processor has a rest.
fn pause_after_failure(polled: c_int) {
    if polled < 0 {
        let rest = libc::timespec { tv_sec: 0, tv_nsec: 10_000_000 };
        // SAFETY: the time is valid for the call.
        unsafe { libc::nanosleep(&raw const rest, null_mut()) };
    }
}

/// Takes what says that children have ended.
fn drain(signals: RawFd) {
    let mut taken = [0_u8; 128];
    // SAFETY: the buffer is valid for the call, and has room for one signal: further ones of the same number are none.
    unsafe { libc::read(signals, taken.as_mut_ptr().cast(), taken.len()) };
}

fn now_ms() -> i64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the time is valid for the call.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
    now.tv_sec * 1000 + now.tv_nsec / 1_000_000
}
