//! Starts an agent's runs.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use agent_loop_proto::machine::{Loop, Start, resumable};

use super::handle::{Agent, busy};
use super::state::State;
use crate::error::Error;
use crate::message::Prompt;
use crate::result::RunResult;
use crate::run::Run;
use crate::run::driver::Driver;
use crate::run::shared::RunShared;

impl Agent {
    /// Runs until the model is done and gives the result. Dropping the future aborts the run.
    ///
    /// # Errors
    /// `busy` while a run is active; `invalid_argument` for an unusable model or fallback; `invalid_state` inside a callback of
    /// this agent, without a runtime or after its shutdown; the run's own error (with the result inside) when its outcome is
    /// `error`.
    pub async fn prompt(&self, prompt: impl Into<Prompt>) -> Result<RunResult, Error> {
        self.start(Some(prompt.into()), false, false)?.result().await
    }

    /// Starts a run and gives its events as they come.
    ///
    /// # Errors
    /// As [`Agent::prompt`], but for the run's own.
    pub fn stream(&self, prompt: impl Into<Prompt>) -> Result<Run, Error> {
        self.start(Some(prompt.into()), true, false)
    }

    /// Starts a run without a queue of events, for listeners alone.
    ///
    /// # Errors
    /// As [`Agent::stream`].
    pub fn start_quiet(&self, prompt: impl Into<Prompt>) -> Result<Run, Error> {
        self.start(Some(prompt.into()), false, false)
    }

    /// Goes on from the transcript as it stands, adding no message; after an answer, with what waits in the steering queue, else
    /// in the follow-up queue. Messages that failed and application roles are looked through when the last message is judged.
    ///
    /// # Errors
    /// `invalid_state` when the transcript is empty, or ends with an answer while both queues are empty; else as
    /// [`Agent::prompt`].
    pub async fn resume(&self) -> Result<RunResult, Error> {
        self.start(None, false, false)?.result().await
    }

    /// As [`Agent::resume`], and gives the events as they come.
    ///
    /// # Errors
    /// As [`Agent::resume`], but for the run's own.
    pub fn stream_resume(&self) -> Result<Run, Error> {
        self.start(None, true, false)
    }

    /// As [`Agent::resume`], without a queue of events.
    ///
    /// # Errors
    /// As [`Agent::stream_resume`].
    pub fn resume_quiet(&self) -> Result<Run, Error> {
        self.start(None, false, false)
    }

    /// Starts a run (`resume` where there is no prompt) that was aborted before it began: it shows what it begins with, and ends.
    /// For hosts whose callers may cancel before they ask.
    ///
    /// # Errors
    /// As [`Agent::stream`] and [`Agent::stream_resume`].
    pub fn start_aborted(&self, prompt: Option<Prompt>, with_queue: bool) -> Result<Run, Error> {
        self.start(prompt, with_queue, true)
    }

    pub(super) fn start(&self, prompt: Option<Prompt>, with_queue: bool, aborted: bool) -> Result<Run, Error> {
        self.check_outside("starting a run")?;
        if prompt.as_ref().is_some_and(|prompt| prompt.0.is_empty()) {
            return Err(Error::invalid_argument("prompt: the list is empty; give at least one message"));
        }
        let mut state = self.state();
        if state.active.is_some() {
            return Err(busy("another cannot be started"));
        }
        let runtime = state.runtime_here()?;
        runtime.check()?;
        let clock = state.resolve_all()?.clock().steady();
        let State { messages, queues, settings, .. } = &mut *state;
        let queued = match prompt {
            Some(_) => Vec::new(),
            None => resumable(messages, queues, settings, self.is_stateless())?,
        };
        let prompts = prompt.map(|prompt| prompt.into_messages(clock.now_ms())).unwrap_or_default();
        let (id, seed) = run_id();
        let mut start = Start::new(&*id, seed, prompts);
        start.transcript = messages.to_vec();
        start.queues = std::mem::take(queues);
        start.queued = queued;
        let mut models = Vec::new();
        let (config, host) = state.configuration(self.revision(), self.is_stateless(), &clock, &mut models);
        let mut course = Loop::new(config, start);
        course.set_caches(std::mem::take(&mut state.caches));
        let run = Arc::new(RunShared::new(id, with_queue, runtime.token(), course));
        if aborted {
            run.abort();
        }
        state.active = Some(Arc::clone(&run));
        state.error = None;
        drop(state);
        let driver = Driver::new(self.clone(), Arc::clone(&run), clock, host, models);
        runtime.spawn_run(driver.drive());
        Ok(Run::new(run, self.clone()))
    }
}

/// A name for a run that no other run has, and a random number.
fn run_id() -> (Arc<str>, u64) {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    // The standard library seeds its hashers at random: enough for a name, and no dependency.
    let random = RandomState::new().hash_one((std::process::id(), number));
    (format!("run_{random:016x}").into(), RandomState::new().hash_one(random))
}
