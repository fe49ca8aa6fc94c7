//! A model call that is running: its deltas on their way to the loop.

use std::sync::Arc;
use std::task::{Context, Poll};

use agent_loop_proto::machine::{Input, ModelCall};

use serde_json::Map;
use tracing::Instrument;

use super::queue::BATCH;
use super::shared::RunShared;
use crate::agent::host_side::HostSide;
use crate::clock::{Busy, Clock};
use crate::error::{Error, ErrorKind, panic_message};
use crate::future::{BoxFuture, catch_panic};
use crate::hook::ApiKey;
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
    #[allow(clippy::type_complexity)] // a caught panic, a failure
    future: BoxFuture<'static, Result<Result<(), Error>, Box<dyn std::any::Any + Send>>>,
    /// A model of real time that joins a run in virtual time holds that up, as a callback does.
    _busy: Option<Busy>,
}

impl Streaming {
    pub(super) fn new(
        call: &ModelCall,
        ResolvedModel { model, takes_keys }: ResolvedModel,
        host: &HostSide,
        key: Option<ApiKey>,
        clock: &Clock,
        scope: Scope,
        frames: bool,
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
            // A key that was read from a file ends with a line break.
            None => (agent_key.filter(|_| takes_keys).map(|key| key.trim().to_owned()), false, Map::new()),
        };
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
            payload: call.body.clone(),
        };
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
        Streaming { call: call.call, sink, activity_count, held, empty_polls_left, emits_frames, future, _busy: busy }
    }

    /// A model with virtual time of its own waits in this one: before it is polled first.
    pub(super) fn share_time(&self, clock: &Clock) {
        if clock.is_simulated() {
            self.sink.set_clock(clock);
        }
    }

    /// The number of the call.
    pub(super) fn call(&self) -> u32 {
        self.call
    }

    /// Ready when the loop has got something; whether the call is over.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>, run: &RunShared) -> Poll<bool> {
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
        machine.handle(Input::ModelEnd { call: self.call, result });
        Poll::Ready(true)
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
