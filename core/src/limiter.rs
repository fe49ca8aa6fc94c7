//! Limits that the model calls of several agents have in common: the option `limiter`.
//!
//! Agents with clones of one [`Limiter`] share its limits; each provider's keys have them for themselves. A call that would be
//! over a limit waits for its turn, in the order of arrival, and a `diagnostic` (`limiter_wait`) says so. What services say of
//! their own limits in the headers of their answers holds as well.
//!
//! ```no_run
//! use agent_loop::Agent;
//! use agent_loop::limiter::Limiter;
//!
//! # fn example() -> Result<(), agent_loop::Error> {
//! let limiter = Limiter::new().requests_per_minute(600).tokens_per_minute(2_000_000);
//! let agents = (0..1_000).map(|_| Agent::builder("anthropic/claude-haiku-4-5").limiter(limiter.clone()).build());
//! let agents = agents.collect::<Result<Vec<_>, _>>()?;
//! # drop(agents);
//! # Ok(()) }
//! ```

use std::collections::HashMap;
use std::future::Future;
use std::hash::BuildHasher;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::{Context, Poll, Waker};

use agent_loop_proto::limiter::bucket::{Begun, Bucket, WaitReason};
use agent_loop_proto::limiter::headers::ServiceLimits;
use agent_loop_proto::machine::ModelWait;

pub use agent_loop_proto::limiter::CallLimits;
use agent_loop_proto::limiter::LimiterSpec;
use serde_json::Value;

use crate::clock::{Clock, Sleep};
use crate::error::Error;

#[cfg(test)]
mod tests;

/// Limits that the model calls of several agents have in common. Clones are the same limiter, and share what is used of it.
///
/// ```
/// use agent_loop::limiter::Limiter;
///
/// let limiter = Limiter::new().requests_per_minute(600).for_provider("openai", Limiter::new().max_concurrent(50));
/// assert_eq!(limiter.limits_of("openai").max_concurrent, Some(50));
/// assert_eq!(limiter.limits_of("anthropic").requests_per_minute, Some(600));
/// ```
#[derive(Debug, Clone)]
pub struct Limiter {
    spec: LimiterSpec,
    /// None of one that a host has described: those of one runtime with the same description are the same.
    shared: Option<Arc<SharedLimiter>>,
}

impl Limiter {
    /// Only what the services themselves say.
    #[allow(clippy::new_without_default)] // Each is another one, which a default would hide.
    pub fn new() -> Limiter {
        Limiter::of(LimiterSpec::default())
    }

    /// How many requests may begin in a minute; at least 1. Those of a second may begin at once.
    #[must_use]
    pub fn requests_per_minute(mut self, requests: u64) -> Limiter {
        self.spec.limits.requests_per_minute = Some(requests.max(1));
        Limiter::of(self.spec)
    }

    /// How many tokens requests and answers may have in a minute; at least 1.
    #[must_use]
    pub fn tokens_per_minute(mut self, tokens: u64) -> Limiter {
        self.spec.limits.tokens_per_minute = Some(tokens.max(1));
        Limiter::of(self.spec)
    }

    /// How many calls may be under way; at least 1.
    #[must_use]
    pub fn max_concurrent(mut self, calls: u64) -> Limiter {
        self.spec.limits.max_concurrent = Some(calls.max(1));
        Limiter::of(self.spec)
    }

    /// What holds for a provider, in place of the rest: the limits of another limiter.
    #[must_use]
    pub fn for_provider(mut self, provider: impl Into<String>, limits: Limiter) -> Limiter {
        self.spec.providers.insert(provider.into(), limits.spec.limits);
        Limiter::of(self.spec)
    }

    /// The limits of a provider's keys.
    pub fn limits_of(&self, provider: &str) -> CallLimits {
        self.spec.limits_of(provider)
    }

    fn of(spec: LimiterSpec) -> Limiter {
        let shared = Some(Arc::new(SharedLimiter { spec: spec.clone(), ..SharedLimiter::default() }));
        Limiter { spec, shared }
    }

    /// As a host describes it.
    ///
    /// # Errors
    /// As [`LimiterSpec::from_json`].
    pub(crate) fn from_json(value: &Value) -> Result<Limiter, Error> {
        Ok(Limiter { spec: LimiterSpec::from_json(value)?, shared: None })
    }

    /// What is used of it.
    pub(crate) fn shared(&self, described: &Limiters) -> Arc<SharedLimiter> {
        self.shared.clone().unwrap_or_else(|| described.shared(&self.spec))
    }
}

/// The limiters of a runtime that hosts have described.
#[derive(Debug, Default)]
pub(crate) struct Limiters(Mutex<HashMap<LimiterSpec, Arc<SharedLimiter>>>);

impl Limiters {
    /// The one of this description.
    fn shared(&self, spec: &LimiterSpec) -> Arc<SharedLimiter> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let new = || Arc::new(SharedLimiter { spec: spec.clone(), ..SharedLimiter::default() });
        Arc::clone(known.entry(spec.clone()).or_insert_with(new))
    }
}

/// A limiter and what is used of it.
#[derive(Debug, Default)]
pub(crate) struct SharedLimiter {
    spec: LimiterSpec,
    /// The time of all runs with virtual time.
    virtual_clock: OnceLock<Clock>,
    keys: Mutex<HashMap<KeyName, Arc<Key>>>,
    hasher: std::hash::RandomState,
}

/// Which key of which provider, in which time.
#[derive(Debug, PartialEq, Eq, Hash)]
struct KeyName {
    provider: Arc<str>,
    /// No key itself is kept here.
    hash: u64,
    is_virtual: bool,
}

impl SharedLimiter {
    /// The clock of a run: virtual time is the same for all that wait for each other.
    pub(crate) fn clock(&self, own: Clock) -> Clock {
        if own.is_simulated() { self.virtual_clock.get_or_init(|| own).clone() } else { own }
    }

    /// A call with a key waits for its turn. `tokens` are about as many as it will use.
    pub(crate) fn wait(&self, provider: &str, key: &impl std::hash::Hash, model: &str, tokens: u64, clock: &Clock) -> Turn {
        let name = KeyName { provider: provider.into(), hash: self.hasher.hash_one(key), is_virtual: clock.is_simulated() };
        let mut keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        // Keys change, and those of yesterday are not asked for again.
        if !keys.contains_key(&name) {
            keys.retain(|_, key| Arc::strong_count(key) > 1 || !key.lock().bucket.is_unused(key.clock.now_ms()));
        }
        let new = || {
            let bucket = Bucket::new(self.spec.limits_of(provider), clock.now_ms());
            let state = KeyState { bucket, calls: HashMap::new(), next: 0, why: None };
            Arc::new(Key { clock: clock.clone(), state: Mutex::new(state) })
        };
        let key = Arc::clone(keys.entry(name).or_insert_with(new));
        drop(keys);
        let mut state = key.lock();
        let id = state.next;
        state.next += 1;
        state.bucket.ask(id, &model.into(), tokens);
        state.calls.insert(id, Call::Waiting(None));
        drop(state);
        Turn { key, id, sleep: None, is_over: false }
    }
}

/// The calls of a key.
#[derive(Debug)]
struct Key {
    clock: Clock,
    state: Mutex<KeyState>,
}

#[derive(Debug)]
struct KeyState {
    bucket: Bucket,
    /// Those that wait, or may begin and have not noticed yet.
    calls: HashMap<u64, Call>,
    next: u64,
    /// Why the first one waits, and until when.
    why: Option<(WaitReason, Option<u64>)>,
}

#[derive(Debug)]
enum Call {
    Waiting(Option<Waker>),
    MayBegin(Begun),
}

impl Key {
    fn lock(&self) -> MutexGuard<'_, KeyState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets calls begin that may, after one is over or no longer waits.
    fn advance(&self, mut state: MutexGuard<'_, KeyState>) {
        let mut woken = state.advance(self.clock.now_ms());
        woken.extend(state.first_waker());
        drop(state);
        woken.into_iter().for_each(Waker::wake);
    }
}

impl KeyState {
    /// Lets calls begin that may. Returns whom to wake: those, and then the one that is now the first.
    fn advance(&mut self, now_ms: u64) -> Vec<Waker> {
        let mut woken = Vec::new();
        let first = self.bucket.first();
        loop {
            match self.bucket.next(now_ms) {
                Ok(begun) => {
                    if let Some(Call::Waiting(Some(waker))) = self.calls.insert(begun.id, Call::MayBegin(begun)) {
                        woken.push(waker);
                    }
                }
                Err(why) => {
                    self.why = why;
                    break;
                }
            }
        }
        if self.bucket.first() != first {
            woken.extend(self.first_waker());
        }
        woken
    }

    /// That of the first one that waits, which looks at the clock for all.
    fn first_waker(&mut self) -> Option<Waker> {
        match self.calls.get_mut(&self.bucket.first()?)? {
            Call::Waiting(waker) => waker.take(),
            Call::MayBegin(_) => None,
        }
    }
}

/// A call that waits for its turn. Dropped, it no longer does.
#[derive(Debug)]
pub(crate) struct Turn {
    key: Arc<Key>,
    id: u64,
    /// The first one's: until when.
    sleep: Option<(u64, Sleep)>,
    is_over: bool,
}

impl Turn {
    /// What is reported about it.
    pub(crate) fn reason(&self) -> ModelWait {
        let state = self.key.lock();
        let reason = state.why.map_or(WaitReason::Concurrent, |(reason, _)| reason);
        ModelWait::new(reason.as_str(), state.bucket.ahead_of(self.id))
    }

    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Permit> {
        loop {
            let mut state = self.key.lock();
            let now_ms = self.key.clock.now_ms();
            let woken = state.advance(now_ms);
            let polled = match state.calls.get_mut(&self.id) {
                Some(Call::Waiting(waker)) => {
                    *waker = Some(cx.waker().clone());
                    None
                }
                // There is no other: it is kept until it is taken here.
                Some(Call::MayBegin(_)) | None => state.calls.remove(&self.id),
            };
            let at_ms = if state.bucket.first() == Some(self.id) { state.why.and_then(|(_, at_ms)| at_ms) } else { None };
            drop(state);
            woken.into_iter().for_each(Waker::wake);
            if let Some(Call::MayBegin(begun)) = polled {
                self.is_over = true;
                return Poll::Ready(Permit { key: Arc::clone(&self.key), begun, used: Mutex::default() });
            }
            let Some(at_ms) = at_ms else {
                self.sleep = None;
                return Poll::Pending;
            };
            if self.sleep.as_ref().is_none_or(|(until_ms, _)| *until_ms != at_ms) {
                self.sleep = Some((at_ms, self.key.clock.sleep(at_ms.saturating_sub(now_ms))));
            }
            if self.sleep.as_mut().is_some_and(|(_, sleep)| Pin::new(sleep).poll(cx).is_pending()) {
                return Poll::Pending;
            }
            self.sleep = None;
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        let mut state = self.key.lock();
        state.bucket.forget(self.id);
        if let Some(Call::MayBegin(begun)) = state.calls.remove(&self.id) {
            // It has not begun.
            state.bucket.end(&begun, Some(0));
        }
        self.key.advance(state);
    }
}

/// A call whose turn it is. Dropped, it is over.
#[derive(Debug)]
pub(crate) struct Permit {
    key: Arc<Key>,
    begun: Begun,
    used: Mutex<Option<u64>>,
}

impl Permit {
    /// What the service says in its answer.
    pub(crate) fn answered(&self, header: &dyn Fn(&str) -> Option<String>, status: u16) {
        let limits = ServiceLimits::read(header, status, Clock::real().now_ms());
        let mut state = self.key.lock();
        state.bucket.answered(&self.begun, &limits, self.key.clock.now_ms());
    }

    /// How many tokens it has used so far.
    pub(crate) fn set_used(&self, tokens: u64) {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner) = Some(tokens);
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let used = self.used.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        let mut state = self.key.lock();
        state.bucket.end(&self.begun, used);
        self.key.advance(state);
    }
}
