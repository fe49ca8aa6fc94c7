//! Starts an agent's runs.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use agent_loop_proto::machine::Start;
use tracing::Instrument;
use tracing::field::Empty;

use super::handle::Agent;
use super::pending_run::RunInput;
use crate::error::Error;
use crate::future::BoxFuture;
use crate::log::{LogLevel, RunLogFunction};
use crate::run::Run;
use crate::run::driver::Driver;
use crate::run::shared::{RunShared, SharedRun};

impl Agent {
    /// Starts a run. One that is `aborted` is so before it begins. It is aborted when one of the
    /// futures ends. `log` gets its log records before the function of the runtime.
    pub(super) fn start(
        &self,
        input: RunInput,
        with_queue: bool,
        aborted: bool,
        cancels: Vec<BoxFuture<'static, ()>>,
        log: Option<(LogLevel, RunLogFunction)>,
    ) -> Result<Run, Error> {
        self.check_outside("starting a run")?;
        let mut state = self.state();
        // Before anything that a model may be refused for.
        state.conversation.check_idle("another cannot be started")?;
        state.session.check()?;
        let runtime = state.runtime_here()?;
        runtime.check()?;
        let clock = state.resolve_all()?.clock().steady();
        let (id, seed) = run_id();
        let start = match input {
            RunInput::Prompt(prompt) => Start::new(&*id, seed, prompt.into_messages(clock.now_ms())),
            RunInput::Resume(decisions) => Start::decided(&*id, seed, decisions),
            RunInput::OneCall => Start::one_call(&*id, seed),
            RunInput::Queued => Start::resume_if_queued(&*id, seed),
        };
        let mut models = Vec::new();
        let (config, host) = state.configuration(self.revision(), self.is_stateless(), &clock, &mut models);
        let model = config.model_name.clone();
        let share = |machine| SharedRun(Arc::new(RunShared::new(id, with_queue, runtime.clone(), log, machine)));
        let run = Arc::clone(&state.conversation.begin(config, start, share)?.0);
        if aborted {
            run.abort();
        }
        drop(state);
        let driver = Driver::new(self.clone(), Arc::clone(&run), clock, host, models);
        // Inside of the span of whoever asks for the run. Not under the lock: what records spans is the application's. If it
        // panics, the driver ends the run.
        let span = tracing::info_span!("agent_run", run_id = %run.id, %model, outcome = Empty, turns = Empty);
        runtime.spawn_run(driver.drive(cancels).instrument(span));
        Ok(Run::new(run, self.clone()))
    }
}

/// A name for a run that no other run has, and a random number.
pub(crate) fn run_id() -> (Arc<str>, u64) {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    // The standard library seeds its hashers at random: enough for a name, and no dependency.
    let random = RandomState::new().hash_one((std::process::id(), number));
    (format!("run_{random:016x}").into(), RandomState::new().hash_one(random))
}
