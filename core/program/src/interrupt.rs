//! Ctrl-C: the first one aborts the run, the second one leaves. Other signals that end a program leave at once.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agent_loop::Agent;
#[cfg(unix)]
use tokio::signal::unix::{Signal, SignalKind, signal};
#[cfg(windows)]
use tokio::signal::windows::CtrlC;

use crate::exit;
use crate::terminal;

/// What an interrupt aborts, while a run is active.
#[derive(Clone, Default)]
pub(crate) struct Interrupt(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    running: Option<Agent>,
    /// Whether one came since the run began.
    came: bool,
}

/// A run is active as long as this is kept.
pub(crate) struct Running(Interrupt);

impl Interrupt {
    /// Begins to listen; Ctrl-C is heard as soon as this returns. To be called inside of the runtime.
    pub(crate) fn listen() -> Interrupt {
        terminal::remember();
        let interrupt = Interrupt::default();
        let state = interrupt.clone();
        // Where the system gives no signals, Ctrl-C ends the program as it always does.
        if let Ok(mut signals) = ctrl_c() {
            tokio::spawn(async move {
                while signals.recv().await.is_some() {
                    state.came();
                }
            });
        }
        #[cfg(unix)]
        leave_on_signals();
        interrupt
    }

    /// A run of this agent is active.
    pub(crate) fn running(&self, agent: &Agent) -> Running {
        *self.state() = State { running: Some(agent.clone()), came: false };
        Running(self.clone())
    }

    fn came(&self) {
        let aborted = {
            let mut state = self.state();
            let is_second = std::mem::replace(&mut state.came, true);
            state.running.clone().filter(|_| !is_second)
        };
        match aborted {
            Some(agent) => agent.abort(),
            None => terminal::exit(exit::ABORTED),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.state().running = None;
    }
}

/// Ctrl-C, heard from now on. What `tokio::signal::ctrl_c` gives hears it only once it is awaited. By then the line editor may
/// have begun a line: at its end it puts back the handler that it had found, and Ctrl-C would end the program in the middle of
/// a run.
#[cfg(unix)]
pub(crate) fn ctrl_c() -> io::Result<Signal> {
    signal(SignalKind::interrupt())
}

#[cfg(windows)]
pub(crate) fn ctrl_c() -> io::Result<CtrlC> {
    tokio::signal::windows::ctrl_c()
}

/// A session has all that was said; what a command has started, its supervisor ends.
#[cfg(unix)]
fn leave_on_signals() {
    for (kind, code) in [(SignalKind::terminate(), exit::TERMINATED), (SignalKind::hangup(), exit::HUNG_UP)] {
        if let Ok(mut signals) = signal(kind) {
            tokio::spawn(async move {
                if signals.recv().await.is_some() {
                    terminal::exit(code);
                }
            });
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    /// Whether the process has a handler for Ctrl-C, by what the kernel says.
    fn hears_ctrl_c() -> bool {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap();
        let interrupt = u64::try_from(SignalKind::interrupt().as_raw_value()).unwrap();
        u64::from_str_radix(caught.trim(), 16).unwrap() & (1 << (interrupt - 1)) != 0
    }

    /// On one thread, so that no task has run yet.
    #[tokio::test]
    async fn ctrl_c_is_heard_before_a_line_can_be_asked_for() {
        assert!(!hears_ctrl_c());
        Interrupt::listen();
        assert!(hears_ctrl_c());
    }
}
