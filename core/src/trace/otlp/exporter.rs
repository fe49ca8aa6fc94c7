//! Gathers spans and measurements, and sends them in the background.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use agent_loop_proto::retry_after::of_headers;
use agent_loop_proto::table::logs;
use agent_loop_proto::trace::{SpanEnd, SpanStart, TraceRecord};
use bytes::Bytes;
use reqwest::Url;
use serde_json::Value;
use tokio::sync::Notify;

use super::histogram::Histograms;
use super::json::{self, Ids};
use super::target::{Resolved, Target};
use crate::cancel::CancelToken;
use crate::error::{Error, ErrorKind};
use crate::future::BoxFuture;
use crate::log::{Log, LogRecord};
use crate::model::http::Connections;
use crate::trace::sink::{Sink, TraceSink};
use crate::transport::network::Network;

/// As OpenTelemetry's SDKs have it: how many spans wait, and how many are sent at once.
const MOST_WAITING: usize = 2048;
const BATCH: usize = 512;
/// How often a request is sent again, and the first pause before that.
const RETRIES: u32 = 5;
const FIRST_PAUSE_MS: u64 = 1000;
/// What a collector may ask for: what waits meanwhile is bounded.
const LONGEST_PAUSE_MS: u64 = 60_000;
const CONNECT_TIMEOUT_MS: u64 = 10_000;
/// The longest that a collector takes.
const SEND_TIMEOUT: Duration = Duration::from_secs(10);

/// What an exporter needs of its runtime.
pub(crate) struct ExporterHost<'a> {
    pub(crate) connections: &'a Arc<Connections>,
    pub(crate) log: &'a Log,
    pub(crate) closing: &'a CancelToken,
    /// Runs a future on the runtime's threads.
    pub(crate) spawn: &'a dyn Fn(BoxFuture<'static, ()>),
}

/// The exporters of a runtime, one for each target.
#[derive(Debug, Default)]
pub(crate) struct Exporters(Mutex<HashMap<Target, Arc<Exporter>>>);

impl Exporters {
    /// # Errors
    /// `invalid_argument`: what the environment says cannot be used.
    pub(crate) fn sink(&self, target: &Target, host: &ExporterHost<'_>) -> Result<Sink, Error> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(exporter) = known.get(target) {
            return Ok(Arc::clone(exporter) as Sink);
        }
        let resolved = target.resolved(&|name| std::env::var(name).ok());
        let resolved = resolved.map_err(|error| error.reworded(|why| format!("option \"traces\": {why}")))?;
        let exporter = Exporter::start(resolved, host);
        known.insert(target.clone(), Arc::clone(&exporter));
        Ok(exporter as Sink)
    }

    /// Has all send what they have, and waits for that, at most so long.
    pub(crate) fn flush(&self, timeout: Duration) {
        let known: Vec<_> = self.0.lock().unwrap_or_else(PoisonError::into_inner).values().cloned().collect();
        let began = Instant::now();
        for exporter in known {
            exporter.flush(timeout.saturating_sub(began.elapsed()));
        }
    }
}

/// Sends to one collector.
#[derive(Debug)]
struct Exporter {
    target: Resolved,
    state: Mutex<State>,
    /// There is a batch, or the exporter is to send what it has.
    wanted: Notify,
    has_sent: Condvar,
    connections: Arc<Connections>,
    network: Arc<Network>,
    log: Log,
    closing: CancelToken,
    start_ns: u64,
    random: RandomState,
}

#[derive(Debug, Default)]
struct State {
    open: HashMap<u64, (SpanStart, Ids, Option<u64>)>,
    /// Runs that may be gone on with, the last ones.
    suspended: Vec<(u64, Ids)>,
    ended: Vec<Value>,
    dropped: u64,
    histograms: Histograms,
    /// Who waits for everything to be sent, and what was sent last for them.
    flushes: u64,
    flushed: u64,
    ids: u64,
}

/// How many suspended runs are remembered.
const MOST_SUSPENDED: usize = 1000;

fn now_ns() -> u64 {
    u64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos()).unwrap_or(u64::MAX)
}

impl Exporter {
    fn start(target: Resolved, host: &ExporterHost<'_>) -> Arc<Exporter> {
        let exporter = Arc::new(Exporter {
            target,
            state: Mutex::default(),
            wanted: Notify::new(),
            has_sent: Condvar::new(),
            connections: Arc::clone(host.connections),
            network: Arc::default(),
            log: host.log.clone(),
            closing: host.closing.child(),
            start_ns: now_ns(),
            random: RandomState::new(),
        });
        let weak = Arc::downgrade(&exporter);
        (host.spawn)(Box::pin(async move {
            while let Some(exporter) = weak.upgrade() {
                exporter.send_when_wanted().await;
            }
        }));
        exporter
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends everything, and waits for that.
    fn flush(&self, timeout: Duration) {
        let mut state = self.lock();
        state.flushes += 1;
        let mine = state.flushes;
        self.wanted.notify_one();
        drop(self.has_sent.wait_timeout_while(state, timeout, |state| state.flushed < mine));
    }

    async fn send_when_wanted(&self) {
        // Nothing is sent where nothing happens, and what has happened is not kept for long.
        let _ = tokio::time::timeout(self.target.delay, self.wanted.notified()).await;
        let flushes = self.lock().flushes;
        while let Some((spans, count)) = self.batch() {
            self.send(&self.target.traces, json::traces(&self.target.resource, spans), count).await;
        }
        if let Some(metrics) = self.metrics() {
            self.send(&self.target.metrics, json::metrics(&self.target.resource, metrics), 0).await;
        }
        self.lock().flushed = flushes;
        self.has_sent.notify_all();
    }

    /// The next spans to be sent, and how many.
    fn batch(&self) -> Option<(Vec<Value>, usize)> {
        let mut state = self.lock();
        let count = state.ended.len().min(BATCH);
        let spans: Vec<Value> = state.ended.drain(..count).collect();
        let dropped = std::mem::take(&mut state.dropped);
        drop(state);
        if dropped > 0 {
            let text = format!("{dropped} spans were dropped: the collector is too slow, and {MOST_WAITING} were waiting for it");
            self.log.write(logs::TRACES_LOST, |code| LogRecord::new(code, text).with("count", dropped));
        }
        (count > 0).then_some((spans, count))
    }

    /// The measurements, if there are new ones.
    fn metrics(&self) -> Option<Vec<Value>> {
        let mut state = self.lock();
        let is_new = std::mem::take(&mut state.histograms.is_new);
        is_new.then(|| state.histograms.metrics(self.start_ns, now_ns()))
    }

    /// Sends a request, again where OTLP says so.
    async fn send(&self, url: &Url, body: String, spans: usize) {
        let body = Bytes::from(body);
        let mut pause_ms = FIRST_PAUSE_MS;
        for attempt in 0.. {
            let (why, may_retry, demanded_ms) = match self.attempt(url, body.clone()).await {
                Ok(None) => return,
                Ok(Some((status, demanded_ms))) => {
                    let text = format!("the collector answered with the status {status}");
                    let error = Error::new(ErrorKind::from_http_status(status), text);
                    (error, matches!(status, 429 | 502..=504), demanded_ms)
                }
                Err(error) => (error, true, None),
            };
            // At shutdown nothing is waited for.
            if !may_retry || attempt >= RETRIES || self.closing.is_cancelled() {
                let text = "spans or measurements did not reach the collector";
                return self.log.write(logs::TRACES_LOST, |code| LogRecord::new(code, text).with("count", spans).because(why));
            }
            let jitter = self.random.hash_one((attempt, now_ns())) % (pause_ms / 2 + 1);
            let pause = Duration::from_millis(demanded_ms.unwrap_or(pause_ms / 2 + jitter).min(LONGEST_PAUSE_MS));
            pause_ms = pause_ms.saturating_mul(2);
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = self.closing.cancelled() => {}
            }
        }
    }

    /// The status of an answer that is no success, and how long the collector asks to wait.
    async fn attempt(&self, url: &Url, body: Bytes) -> Result<Option<(u16, Option<u64>)>, Error> {
        let sent = self.connections.client().post(url, self.target.headers.clone(), body, CONNECT_TIMEOUT_MS, &self.network);
        let answer = tokio::time::timeout(SEND_TIMEOUT, sent).await.map_err(|_| {
            Error::new(ErrorKind::Timeout, format!("the collector has not answered in {} s", SEND_TIMEOUT.as_secs()))
        })?;
        let mut answer = answer?;
        if (200..300).contains(&answer.status()) {
            // So that the connection can be used again.
            drop(answer.text(1 << 16).await);
            return Ok(None);
        }
        let header = |name: &str| answer.headers().get(name).and_then(|value| value.to_str().ok().map(str::to_owned));
        let demanded_ms = of_headers(&header, answer.status(), now_ns() / 1_000_000);
        Ok(Some((answer.status(), demanded_ms)))
    }

    /// A number that no other id has.
    fn random(&self, state: &mut State) -> u64 {
        state.ids += 1;
        self.random.hash_one((state.ids, self.start_ns)).max(1)
    }

    fn begin(&self, state: &mut State, start: SpanStart) {
        let span = self.random(state);
        let around = state.open.get(&start.parent).map(|(_, ids, _)| *ids);
        let (trace, parent, is_sampled) = match (around, start.remote) {
            (Some(around), _) => (around.trace, Some(around.span), around.is_sampled),
            (None, Some(remote)) => (remote.trace_id, Some(remote.span_id), remote.flags & 1 == 1),
            (None, None) => {
                let (high, low) = (self.random(state), self.random(state));
                (u128::from(high) << 64 | u128::from(low), None, true)
            }
        };
        state.open.insert(start.id, (start, Ids { trace, span, is_sampled }, parent));
    }

    fn end(&self, state: &mut State, end: SpanEnd) {
        let Some((start, ids, parent)) = state.open.remove(&end.id) else {
            return;
        };
        if end.is_suspended {
            state.suspended.push((end.id, ids));
            if state.suspended.len() > MOST_SUSPENDED {
                state.suspended.remove(0);
            }
        }
        if !ids.is_sampled {
            return;
        }
        if state.ended.len() >= MOST_WAITING {
            state.dropped += 1;
            return;
        }
        let link = state.suspended.iter().find(|(id, _)| *id == start.link && start.link != 0).map(|(_, ids)| *ids);
        state.ended.push(json::span(start, ids, parent, link, end));
        if state.ended.len() == BATCH {
            self.wanted.notify_one();
        }
    }
}

impl TraceSink for Exporter {
    fn record(&self, records: Vec<TraceRecord>) {
        let mut state = self.lock();
        for record in records {
            match record {
                TraceRecord::Start(start) => self.begin(&mut state, *start),
                TraceRecord::End(end) => self.end(&mut state, end),
                TraceRecord::Measured(measured) => state.histograms.add(measured),
                // Both crates have one version: there is no other record.
                #[cfg(not(feature = "__bindings"))]
                _ => {}
            }
        }
    }
}
