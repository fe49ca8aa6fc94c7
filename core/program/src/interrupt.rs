//! Ctrl-C: the first one aborts the run, the second one leaves.

use std::sync::{Arc, Mutex, PoisonError};

use agent_loop::Agent;

use crate::exit;

/// What an interrupt aborts, while a run is active.
#[derive(Clone, Default)]
pub(crate) struct Interrupt(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    running: Option<Agent>,
    /// Whether one came since the run began.
    came: bool,
}

impl Interrupt {
    /// Begins to listen. To be called inside of the runtime.
    pub(crate) fn listen() -> Interrupt {
        let interrupt = Interrupt::default();
        let state = interrupt.clone();
        tokio::spawn(async move {
            // Where the system gives no signals, Ctrl-C ends the program as it always does.
            while tokio::signal::ctrl_c().await.is_ok() {
                state.came();
            }
        });
        interrupt
    }

    /// A run of this agent is active, until `done`.
    pub(crate) fn running(&self, agent: &Agent) {
        *self.state() = State { running: Some(agent.clone()), came: false };
    }

    /// It is over.
    pub(crate) fn done(&self) {
        self.state().running = None;
    }

    fn came(&self) {
        let aborted = {
            let mut state = self.state();
            let is_second = std::mem::replace(&mut state.came, true);
            state.running.clone().filter(|_| !is_second)
        };
        match aborted {
            Some(agent) => agent.abort(),
            None => std::process::exit(exit::ABORTED.into()),
        }
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
