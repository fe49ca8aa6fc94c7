//! Starts an agent's runs.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use agent_loop_proto::machine::{Loop, Start};
use agent_loop_proto::recording::RecordedRun;
use agent_loop_proto::run_options::RunOptions;
use tracing::Instrument;
use tracing::field::Empty;

use super::handle::Agent;
use super::pending_run::RunInput;
use super::state::State;
use super::tracing_of_run::Tracing;
use crate::connection::check_headers_of_http;
use crate::error::Error;
use crate::future::BoxFuture;
use crate::log::{LogLevel, RunLogFunction};
use crate::recording::ReplayedRun;
use crate::run::Run;
use crate::run::driver::Driver;
use crate::run::parent::Parent;
use crate::run::shared::{RunShared, SharedRun};
use crate::trace::sink::Sink;

impl Agent {
    /// Starts a run, perhaps of a subagent. One that is `aborted` is so before it begins. It is aborted when one of the
    /// futures ends. `log` gets its log records before the function of the runtime.
    #[allow(clippy::too_many_arguments)] // What a pending run has.
    pub(super) fn start(
        &self,
        input: RunInput,
        options: RunOptions,
        with_queue: bool,
        aborted: bool,
        cancels: Vec<BoxFuture<'static, ()>>,
        log: Option<(LogLevel, RunLogFunction)>,
        trace: Option<Sink>,
        parent: Option<Parent>,
    ) -> Result<Run, Error> {
        self.check_outside("starting a run")?;
        let mut state = self.state();
        // Before anything that a model may be refused for.
        state.conversation.check_idle("another cannot be started")?;
        state.session.check()?;
        let runtime = state.runtime_here()?;
        runtime.check()?;
        let model = state.resolve_all()?;
        let replay = Arc::clone(&state.models.connection.replay);
        let recorded = state.recorded_run(&input)?;
        let replayed = replay.begin(recorded.as_ref());
        let recording = state.models.connection.record.begin()?;
        let clock = replayed.as_ref().map_or_else(|| model.clock(), ReplayedRun::clock);
        let clock = parent.as_ref().map_or(clock.clone(), |parent| parent.clock(clock));
        // Nothing is asked where a recording answers.
        let limiter = state.models.connection.limiter.as_ref().as_ref().filter(|_| replayed.is_none());
        let limiter = limiter.map(|limiter| limiter.shared(runtime.limiters()));
        let clock = limiter.as_ref().map_or(clock.clone(), |limiter| limiter.clock(clock)).steady();
        let (id, seed) = replayed.as_ref().and_then(ReplayedRun::id_and_seed).unwrap_or_else(run_id);
        let link = if matches!(input, RunInput::Resume(_)) { state.suspended.load(Ordering::Acquire) } else { 0 };
        let mut start = match input {
            RunInput::Prompt(prompt) => Start::new(&*id, seed, prompt.into_messages(clock.now_ms())),
            RunInput::Resume(decisions) => Start::decided(&*id, seed, decisions),
            RunInput::OneCall => Start::one_call(&*id, seed),
            RunInput::Queued => Start::resume_if_queued(&*id, seed),
        };
        let (headers, traceparent) = (options.headers().clone(), options.traceparent());
        (start.options, start.subagent_depth) = (options, parent.as_ref().map(|parent| parent.depth));
        let mut models = Vec::new();
        let (mut config, mut host) = state.configuration(self.revision(), self.is_stateless(), &clock, &mut models);
        check_headers_of_http(&headers)?;
        host.connection.add_headers(&headers);
        config.has_jitter = replayed.as_ref().map_or(config.has_jitter, ReplayedRun::has_jitter);
        if let Some(parent) = parent.as_ref().filter(|_| self.is_fork()) {
            // Keys of its calls are those of the call that it works for, however often that is executed.
            parent.idempotency_key().clone_into(&mut config.settings.origin);
        }
        let of_run = Tracing { options: &state.models.connection, suspended: &state.suspended, traceparent, link };
        let tracing = of_run.begin(trace, parent.as_ref(), &runtime, &clock, &*model)?;
        let model = config.model_name.clone();
        start.observed = match &replayed {
            Some(replayed) => Some(replayed.observed()),
            None => recording.as_ref().map(|recording| recording.recorder.observed()),
        };
        #[cfg(feature = "tools")]
        let asks = state.models.connection.builtin_tools.tools().get("oracle").is_some();
        let share = |machine: Loop| {
            let trace = tracing.map(|begin| begin(&id, machine.origin()));
            let mut shared = RunShared::new(id, with_queue, runtime.clone(), log, machine);
            shared.trace = trace;
            (shared.recording, shared.replayed, shared.parent) = (recording, replayed, parent);
            #[cfg(feature = "tools")]
            if asks {
                shared.oracle = Some(Arc::new(super::oracle::of(self)));
            }
            SharedRun(Arc::new(shared))
        };
        let begun = state.conversation.begin(config, start, share).map(|run| Arc::clone(&run.0));
        let run = begun.inspect_err(|_| recorded.into_iter().for_each(|recorded| replay.put_back(recorded)))?;
        if aborted {
            run.abort();
        }
        drop(state);
        let mut driver = Driver::new(self.clone(), Arc::clone(&run), clock, host, models, limiter);
        driver.headers = headers;
        if let Some(trace) = &run.trace {
            trace.flush();
        }
        // Inside of the span of whoever asks for the run. Not under the lock: what records spans is the application's. If it
        // panics, the driver ends the run.
        let agent_run = || tracing::info_span!("agent_run", run_id = %run.id, %model, outcome = Empty, turns = Empty);
        #[cfg(feature = "otel")]
        let span = run.trace.as_ref().and_then(|trace| trace.span(trace.run)).unwrap_or_else(agent_run);
        #[cfg(not(feature = "otel"))]
        let span = agent_run();
        runtime.spawn_run(driver.drive(cancels, None).instrument(span));
        Ok(Run::new(run, self.clone()))
    }
}

impl State {
    /// The recorded run that an agent's next run plays, where the option `replay` is set and one is left.
    fn recorded_run(&self, input: &RunInput) -> Result<Option<RecordedRun>, Error> {
        let connection = &self.models.connection;
        if connection.replay.path().is_some() && connection.record.path().is_some() {
            let text = "the options record and replay exclude each other: a run that is replayed was recorded; leave one out";
            return Err(Error::invalid_argument(text));
        }
        let prompts = if let RunInput::Prompt(prompt) = input { Some(&prompt.0) } else { None };
        // One model call has no prompts.
        let transcript = matches!(input, RunInput::OneCall).then(|| &**self.conversation.messages());
        let model = self.models.name();
        connection.replay.next(|recorded| recorded.began_with(&model, prompts, transcript))
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
