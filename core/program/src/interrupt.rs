//! Ctrl-C: the first one aborts the run, the second one leaves. Other signals that end a program leave at once.

use std::future::pending;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agent_loop::Agent;
#[cfg(unix)]
use tokio::signal::unix::{Signal as Signals, SignalKind, signal};
#[cfg(windows)]
use tokio::signal::windows::CtrlC as Signals;

use crate::exit;
use crate::terminal;

/// Ctrl-C, as a signal.
pub(crate) struct CtrlC(Option<Signals>);

impl CtrlC {
    /// Listens from now on: `tokio::signal::ctrl_c` would only begin when it is first awaited. To be called inside of the
    /// runtime.
    pub(crate) fn listen() -> CtrlC {
        #[cfg(unix)]
        let signals = signal(SignalKind::interrupt());
        #[cfg(windows)]
        let signals = tokio::signal::windows::ctrl_c();
        CtrlC(signals.ok())
    }

    /// Waits for the next one. For ever where the system gives none: Ctrl-C ends the program there, as it always does.
    pub(crate) async fn next(&mut self) {
        let came = match &mut self.0 {
            Some(signals) => signals.recv().await,
            None => None,
        };
        if came.is_none() {
            pending().await
        }
    }
}

/// What an interrupt does.
#[derive(Clone, Default)]
pub(crate) struct Interrupt(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    running: Option<Agent>,
    /// Whether one between two runs is kept, rather than leaves.
    keeps: bool,
    /// Whether one came that has not been dealt with: the next one leaves.
    came: bool,
}

enum Does {
    Abort(Agent),
    /// Whoever asks next has it.
    Stay,
    Leave,
}

/// A run is active as long as this is kept.
pub(crate) struct Running(Interrupt);

impl Interrupt {
    /// Begins to listen. Without a run, the first one leaves. To be called inside of the runtime.
    pub(crate) fn listen() -> Interrupt {
        terminal::remember();
        let interrupt = Interrupt::default();
        let (state, mut ctrl_c) = (interrupt.clone(), CtrlC::listen());
        tokio::spawn(async move {
            loop {
                ctrl_c.next().await;
                state.handle();
            }
        });
        #[cfg(unix)]
        leave_on_signals();
        interrupt
    }

    /// Begins to listen for a conversation, in which one between two runs is for `take`.
    pub(crate) fn listen_between_runs() -> Interrupt {
        let interrupt = Interrupt::listen();
        interrupt.state().keeps = true;
        interrupt
    }

    /// A run of this agent is active. If one has come already, it is aborted.
    pub(crate) fn running(&self, agent: &Agent) -> Running {
        let came = {
            let mut state = self.state();
            state.running = Some(agent.clone());
            state.came
        };
        if came {
            agent.abort();
        }
        Running(self.clone())
    }

    /// One came, as a signal or as a key.
    pub(crate) fn handle(&self) {
        let does = self.state().decide();
        match does {
            Does::Abort(agent) => agent.abort(),
            Does::Stay => {}
            Does::Leave => terminal::exit(exit::ABORTED),
        }
    }

    /// Whether one came between two runs, since this was last asked.
    pub(crate) fn take(&self) -> bool {
        std::mem::take(&mut self.state().came)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn decide(&mut self) -> Does {
        let is_second = std::mem::replace(&mut self.came, true);
        match &self.running {
            Some(agent) if !is_second => Does::Abort(agent.clone()),
            None if !is_second && self.keeps => Does::Stay,
            _ => Does::Leave,
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let mut state = self.0.state();
        (state.running, state.came) = (None, false);
    }
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn agent() -> Agent {
        let model = json!({ "provider": "scripted", "id": "none", "script": [] });
        Agent::new(agent_loop::ModelSpec::from_json(model).unwrap()).unwrap()
    }

    /// What the next one does.
    fn next(interrupt: &Interrupt) -> &'static str {
        match interrupt.state().decide() {
            Does::Abort(_) => "abort",
            Does::Stay => "stay",
            Does::Leave => "leave",
        }
    }

    #[test]
    fn the_first_aborts_a_run_and_the_second_leaves() {
        let interrupt = Interrupt::default();
        let running = interrupt.running(&agent());
        assert_eq!([next(&interrupt), next(&interrupt)], ["abort", "leave"]);
        drop(running);
        assert_eq!(next(&interrupt), "leave");
    }

    #[test]
    fn in_a_conversation_the_first_between_two_runs_stays() {
        let interrupt = Interrupt::default();
        interrupt.state().keeps = true;
        assert_eq!([next(&interrupt), next(&interrupt)], ["stay", "leave"]);
        assert!(interrupt.take() && !interrupt.take());
        let running = interrupt.running(&agent());
        assert_eq!(next(&interrupt), "abort");
        drop(running);
        assert!(!interrupt.take(), "it was for the run");
        assert_eq!(next(&interrupt), "stay");
    }

    #[tokio::test]
    async fn one_before_a_run_aborts_it() {
        let interrupt = Interrupt::default();
        interrupt.state().keeps = true;
        interrupt.handle();
        let agent = agent();
        let run = agent.prompt("Hi").stream().unwrap();
        let _running = interrupt.running(&agent);
        assert_eq!(run.ended().await.unwrap().outcome, agent_loop::Outcome::Aborted);
        assert_eq!(next(&interrupt), "leave");
    }

    /// Whether the process has a handler for Ctrl-C, by what the kernel says.
    #[cfg(target_os = "linux")]
    fn hears_ctrl_c() -> bool {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap();
        let interrupt = u64::try_from(SignalKind::interrupt().as_raw_value()).unwrap();
        u64::from_str_radix(caught.trim(), 16).unwrap() & (1 << (interrupt - 1)) != 0
    }

    /// On one thread, so that no task has run yet. No other test listens.
    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn ctrl_c_is_heard_before_anything_else_happens() {
        assert!(!hears_ctrl_c());
        Interrupt::listen();
        assert!(hears_ctrl_c());
    }
}
