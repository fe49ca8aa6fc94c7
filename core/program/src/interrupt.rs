//! Ctrl-C: the first one aborts the run, the second one leaves. Other signals that end a program leave at once.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agent_loop::Agent;

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
    /// Begins to listen. To be called inside of the runtime.
    pub(crate) fn listen() -> Interrupt {
        terminal::remember();
        let interrupt = Interrupt::default();
        let state = interrupt.clone();
        tokio::spawn(async move {
            // Where the system gives no signals, Ctrl-C ends the program as it always does.
            while tokio::signal::ctrl_c().await.is_ok() {
                state.came();
            }
        });
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

/// A session has all that was said; what a command has started, its supervisor ends.
#[cfg(unix)]
fn leave_on_signals() {
    use tokio::signal::unix::{SignalKind, signal};

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
