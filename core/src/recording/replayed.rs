//! A run whose models answer from a recording.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agent_loop_proto::machine::{Action, EndCause, Input, ModelCall, Observed, Observer, TimeCheck};
use agent_loop_proto::recording::{Answers, RecordedAnswer, RecordedRun, changed};
use tokio::sync::Notify;

use crate::clock::Clock;
use crate::error::Error;

/// How long a replayed answer waits, in real time, for what came from outside while it was recorded.
const PATIENCE: Duration = Duration::from_secs(5);

/// A run whose models answer from a recording. Clones are the same.
#[derive(Debug, Clone)]
pub(crate) struct ReplayedRun(Arc<Replayed>);

#[derive(Debug)]
struct Replayed {
    recorded: Option<RecordedStart>,
    clock: Clock,
    answers: Mutex<Answers>,
    /// How many messages and aborts came from outside.
    interventions: AtomicUsize,
    intervened: Notify,
}

/// What a run begins with as the recorded one did.
#[derive(Debug)]
struct RecordedStart {
    run_id: Arc<str>,
    seed: u64,
    has_jitter: bool,
}

impl ReplayedRun {
    pub(crate) fn new(recorded: &RecordedRun) -> ReplayedRun {
        let start = RecordedStart {
            run_id: recorded.start.run_id.as_str().into(),
            seed: recorded.start.seed,
            has_jitter: recorded.config.has_jitter,
        };
        ReplayedRun(Arc::new(Replayed {
            recorded: Some(start),
            clock: Clock::simulated_at(recorded.started_ms()),
            answers: Mutex::new(Answers::of(recorded)),
            interventions: AtomicUsize::new(0),
            intervened: Notify::new(),
        }))
    }

    /// A run beyond those that were recorded. `file`: as in [`RecordedRun::file`].
    pub(super) fn of_none(file: Arc<str>) -> ReplayedRun {
        ReplayedRun(Arc::new(Replayed {
            recorded: None,
            clock: Clock::simulated_at(Clock::real().now_ms()),
            answers: Mutex::new(Answers::none(file, "it has no further run")),
            interventions: AtomicUsize::new(0),
            intervened: Notify::new(),
        }))
    }

    /// The id and the seed of the run.
    pub(crate) fn id_and_seed(&self) -> Option<(Arc<str>, u64)> {
        self.0.recorded.as_ref().map(|recorded| (Arc::clone(&recorded.run_id), recorded.seed))
    }

    pub(crate) fn has_jitter(&self) -> bool {
        self.0.recorded.as_ref().is_some_and(|recorded| recorded.has_jitter)
    }

    /// The virtual time that the run lives in: waits are skipped.
    pub(crate) fn clock(&self) -> Clock {
        self.0.clock.clone()
    }

    /// What observes the run's loop: it must make all recorded requests.
    pub(crate) fn observed(&self) -> Observed {
        let replayed = self.clone();
        Observed::by(move |_, _| Box::new(replayed.clone()))
    }

    /// The answer to a call, if it is the recorded one.
    ///
    /// # Errors
    /// As [`Answers::next`].
    pub(super) fn answer(&self, call: &ModelCall) -> Result<RecordedAnswer, Error> {
        self.answers().next(call)
    }

    /// Waits until so many messages and aborts came from outside as had when the run was recorded. `answer`: where the one stands
    /// that they came into.
    ///
    /// # Errors
    /// `replay`: they do not come.
    pub(super) async fn intervened(&self, count: usize, answer: &str) -> Result<(), Error> {
        // Time stands still meanwhile: nothing else can happen first.
        let _busy = self.0.clock.busy();
        let awaited = async {
            loop {
                let intervened = self.0.intervened.notified();
                let mut intervened = std::pin::pin!(intervened);
                intervened.as_mut().enable();
                if self.0.interventions.load(Ordering::Acquire) >= count {
                    return;
                }
                intervened.await;
            }
        };
        tokio::time::timeout(PATIENCE, awaited).await.map_err(|_| {
            changed(&format!("{answer}: a message was queued or the run aborted when its answer was recorded, and now it is not"))
        })
    }

    fn answers(&self) -> MutexGuard<'_, Answers> {
        self.0.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observer for ReplayedRun {
    fn input(&mut self, input: &Input) {
        if matches!(input, Input::Steer(_) | Input::FollowUp(_) | Input::Abort) {
            self.0.interventions.fetch_add(1, Ordering::AcqRel);
            self.0.intervened.notify_waiters();
        }
    }

    fn polled(&mut self, _now_ms: u64, _action: Option<&Action>) {}

    fn checked(&mut self, _check: TimeCheck, _now_ms: u64) {}

    fn forced(&mut self, _cause: &EndCause) {}

    fn objection(&mut self) -> Option<Error> {
        self.answers().left_over()
    }
}
