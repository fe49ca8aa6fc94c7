//! A model call that is running: its deltas on their way to the loop.

use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use agent_loop_proto::machine::{Input, ModelCall};

use serde_json::{Map, json};
use tracing::Instrument;

use super::queue::BATCH;
use super::shared::RunShared;
use crate::agent::host_side::HostSide;
use crate::clock::{Busy, Clock};
use crate::credentials::STORED;
use crate::error::{Error, ErrorKind, panic_message};
use crate::future::{BoxFuture, catch_panic};
use crate::hook::ApiKey;
use crate::limiter::{Permit, SharedLimiter, Turn};
use crate::model::table::ResolvedModel;
use crate::model::{Delta, DeltaSink, ModelRequest};
use crate::provider::headers_for;
use crate::scope::Scope;

/// How many times in a row the model may have nothing new before its deltas are handed on. HTTP chunks come through hyper one
/// at a time, each on a wakeup of its own: looking once or twice more gathers what is there already, and costs no time when
/// nothing is.
const EMPTY_POLLS: u32 = 2;

/// A call and what has come of it.
pub(super) struct Streaming {
    call: u32,
    sink: DeltaSink,
    activity_count: u64,
    held: Vec<Delta>,
    empty_polls_left: u32,
    /// Whether the run emits the frames that are recorded.
    emits_frames: bool,
    /// Its turn, where a limiter says when that is, and whether it was reported that it waits.
    turn: Option<(Turn, bool)>,
    permit: Option<Arc<OnceLock<Permit>>>,
    #[allow(clippy::type_complexity)] // a caught panic, a failure
    future: BoxFuture<'static, Result<Result<(), Error>, Box<dyn std::any::Any + Send>>>,
    /// A model of real time that joins a run in virtual time holds that up, as a callback does.
    _busy: Option<Busy>,
}

impl Streaming {
    #[allow(clippy::too_many_arguments)] // What the driver has of it.
    pub(super) fn new(
        call: &ModelCall,
        ResolvedModel { model, takes_keys }: ResolvedModel,
        host: &HostSide,
        key: Option<ApiKey>,
        clock: &Clock,
        scope: Scope,
        frames: bool,
        limiter: Option<&SharedLimiter>,
    ) -> Streaming {
        let provider = model.info().provider.to_owned();
        // The agent's key, and headers that may hold one, are for the server of its own model.
        let agent_key = host.api_key.clone();
        let withheld_key = agent_key.as_ref().filter(|_| !takes_keys).map(|_| match host.keys_for == provider {
            true => format!("{provider} at another address"),
            false => host.keys_for.clone(),
        });
        let (api_key, is_bearer, auth_headers) = match key {
            Some(ApiKey::Key(key)) => (Some(key), false, Map::new()),
            Some(ApiKey::Bearer(token)) => (Some(token), true, Map::new()),
            Some(ApiKey::Headers(headers)) => {
                (None, false, headers.into_iter().map(|(name, value)| (name, value.into())).collect())
            }
            // Both crates have one version: there is no other kind of key.
            #[cfg(not(feature = "__bindings"))]
            Some(_) => (None, false, Map::new()),
            None => {
                // A key that was read from a file ends with a line break. What is stored is each provider's own.
                let key = agent_key.map(|key| key.trim().to_owned());
                let is_own = |key: &String| takes_keys || (key == STORED && host.keys_for != provider);
                (key.filter(is_own), false, Map::new())
            }
        };
        let permit: Option<Arc<OnceLock<Permit>>> = limiter.map(|_| Arc::default());
        let request = ModelRequest {
            request: Arc::clone(&call.request),
            headers: headers_for(takes_keys, &host.connection.headers),
            api_key,
            is_bearer,
            auth_headers,
            withheld_key,
            raw_events: call.raw_events || frames,
            wants_response: call.wants_response,
            connect_timeout_ms: host.connect_timeout_ms,
            network: Arc::clone(&host.connection.network),
            permit: permit.as_ref().map(Arc::downgrade).unwrap_or_default(),
            payload: call.body.clone(),
        };
        let turn = limiter.map(|limiter| {
            let key = (&request.api_key, json!(request.auth_headers).to_string());
            (limiter.wait(&provider, &key, model.info().id, call.estimated_tokens(), clock), false)
        });
        let sink = DeltaSink::default();
        let span = tracing::debug_span!("model_call", provider, model = model.info().id, call = call.call);
        let busy = (clock.is_simulated() && !model.clock().is_simulated()).then(|| clock.busy());
        // A custom model is one more callback of the host; one that has an encoder is ours.
        let is_callback = model.encoder().is_none();
        let mut future: BoxFuture<'static, _> = {
            let sink = sink.clone();
            Box::pin(catch_panic(async move { model.stream(&request, &sink).await }))
        };
        // Each costs something for each delta.
        if is_callback {
            future = Box::pin(scope.enter(future));
        }
        if !span.is_disabled() {
            future = Box::pin(future.instrument(span));
        }
        let (activity_count, held, empty_polls_left) = (0, Vec::new(), EMPTY_POLLS);
        let emits_frames = call.raw_events;
        let call = call.call;
        Streaming { call, sink, activity_count, held, empty_polls_left, emits_frames, turn, permit, future, _busy: busy }
    }

    /// A model with virtual time of its own waits in this one: before it is polled first.
    pub(super) fn share_time(&self, clock: &Clock) {
        if clock.is_simulated() {
            self.sink.set_clock(clock);
        }
    }

    /// Ready when the loop has got something; whether the call is over.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>, run: &RunShared) -> Poll<bool> {
        if let Some((turn, is_reported)) = &mut self.turn {
            match turn.poll(cx) {
                Poll::Pending if *is_reported => return Poll::Pending,
                Poll::Pending => {
                    *is_reported = true;
                    run.machine().handle(Input::ModelWaits { call: self.call, wait: turn.reason() });
                    return Poll::Ready(false);
                }
                Poll::Ready(permit) => {
                    // The first one: there was none before.
                    let _ = self.permit.as_ref().map(|known| known.set(permit));
                    if *is_reported {
                        run.machine().handle(Input::ModelBegins { call: self.call });
                    }
                    self.turn = None;
                }
            }
        }
        let ended = match self.future.as_mut().poll(cx) {
            Poll::Ready(ended) => Some(ended),
            Poll::Pending => None,
        };
        let before = self.held.len();
        if self.held.is_empty() {
            // With its buffer: a call that waits holds no memory for deltas.
            self.held = std::mem::take(&mut *self.sink.lock());
        } else {
            self.held.append(&mut *self.sink.lock());
        }
        let has_new = self.held.len() > before;
        self.empty_polls_left = if has_new { EMPTY_POLLS } else { self.empty_polls_left.saturating_sub(1) };
        if has_new {
            self.record_frames(before, run);
        }
        if ended.is_none() && self.held.len() < BATCH {
            if self.held.is_empty() {
                return self.report_activity(run);
            }
            if self.empty_polls_left > 0 {
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
        }
        self.empty_polls_left = EMPTY_POLLS;
        self.activity_count = self.sink.activity_count();
        if let Some(permit) = self.permit.as_ref().and_then(|permit| permit.get()) {
            let total = |delta: &Delta| if let Delta::Usage(usage) = delta { Some(usage.clone().totalled().total) } else { None };
            if let Some(total) = self.held.iter().rev().find_map(total) {
                permit.set_used(total);
            }
        }
        let mut machine = run.machine();
        if !self.held.is_empty() {
            machine.handle(Input::ModelDeltas { call: self.call, deltas: std::mem::take(&mut self.held) });
        }
        let Some(ended) = ended else {
            return Poll::Ready(false);
        };
        let result = ended.unwrap_or_else(|payload| {
            Err(Error::new(ErrorKind::Provider, format!("the model panicked: {}", panic_message(&*payload))))
        });
        if let Some(trace) = &run.trace {
            trace.model_ended(result.as_ref().err());
        }
        machine.handle(Input::ModelEnd { call: self.call, result });
        Poll::Ready(true)
    }

    /// The number of a call that is sent already, so that its server may be silent.
    pub(super) fn call_under_way(&self) -> Option<u32> {
        self.turn.is_none().then_some(self.call)
    }

    /// Takes the frames of the deltas from this one on that are for the recording alone.
    fn record_frames(&mut self, from: usize, run: &RunShared) {
        let Some(recording) = run.recording.as_ref().filter(|recording| recording.recorder.has_frames()) else {
            return;
        };
        let mut new = self.held.split_off(from);
        new.retain(|delta| match delta {
            Delta::Raw(data) => {
                recording.recorder.frame(self.call, data);
                self.emits_frames
            }
            _ => true,
        });
        if new.is_empty() {
            self.sink.alive();
        }
        self.held.append(&mut new);
    }

    /// Bytes came that are no delta (yet).
    fn report_activity(&mut self, run: &RunShared) -> Poll<bool> {
        let activity = self.sink.activity_count();
        if activity == self.activity_count {
            return Poll::Pending;
        }
        self.activity_count = activity;
        run.machine().handle(Input::ModelActivity { call: self.call });
        Poll::Ready(false)
    }
}
