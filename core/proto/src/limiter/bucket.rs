//! The calls of one key: who may begin, and when. Without a clock and without threads: the time comes in, and what may begin
//! goes out.
//!
//! Requests begin in the order in which they were asked for. Three limits hold together, and what the service itself says:
//!
//! - requests per minute: evenly, at most those of one second at once. Services enforce it so:
//!   "60 requests per minute may be enforced as 1 request per second" (<https://docs.anthropic.com/en/api/rate-limits>);
//! - tokens per minute: those of a minute may be used at once. A request counts as it is estimated, and its answer puts that
//!   right;
//! - calls under way;
//! - the service's headers: how much is left of its own limits, of each model. A model with nothing left lets others pass.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use super::CallLimits;
use super::headers::{Left, ServiceLimits};

/// The longest that a service's word is taken for: a wrong clock must not stop a run for a day.
const LONGEST_PAUSE_MS: u64 = 600_000;

/// Why calls wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitReason {
    /// `requests_per_minute`.
    Requests,
    /// `tokens_per_minute`.
    Tokens,
    /// `max_concurrent`.
    Concurrent,
    /// The service's own limit.
    Service,
}

impl WaitReason {
    /// Its word.
    pub fn as_str(self) -> &'static str {
        match self {
            WaitReason::Requests => "requests_per_minute",
            WaitReason::Tokens => "tokens_per_minute",
            WaitReason::Concurrent => "max_concurrent",
            WaitReason::Service => "service",
        }
    }
}

/// A call that waits.
#[derive(Debug)]
struct Waiting {
    id: u64,
    model: Arc<str>,
    tokens: u64,
}

/// A call that may begin, or has begun.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Begun {
    /// As it was asked for.
    pub id: u64,
    model: Arc<str>,
    /// How many tokens it was counted with.
    tokens: u64,
    /// Its place among the calls of the model.
    number: u64,
}

/// What fills up by the minute.
#[derive(Debug, Clone, Copy)]
struct Level {
    per_minute: f64,
    most: f64,
    level: f64,
    at_ms: u64,
}

/// What the service has left for a model.
#[derive(Debug, Default)]
struct OfModel {
    /// How many of its calls have begun, and with how many tokens in all.
    begun: u64,
    tokens_begun: u64,
    requests: Option<Known>,
    tokens: Option<Known>,
    paused_until_ms: u64,
}

/// What a service had left, and when that is over.
#[derive(Debug, Clone, Copy)]
struct Known {
    remaining: u64,
    until_ms: u64,
}

/// The calls of one key.
#[derive(Debug)]
pub struct Bucket {
    max_concurrent: u64,
    requests: Option<Level>,
    tokens: Option<Level>,
    models: BTreeMap<Arc<str>, OfModel>,
    waiting: VecDeque<Waiting>,
    running: u64,
}

impl Bucket {
    /// A key with these limits, of which nothing is used yet.
    pub fn new(limits: CallLimits, now_ms: u64) -> Bucket {
        let level = |per_minute: u64, most: f64| {
            #[allow(clippy::cast_precision_loss)] // No limit is above 2^53.
            let per_minute = per_minute as f64;
            let most = (per_minute / most).max(1.0);
            Level { per_minute, most, level: most, at_ms: now_ms }
        };
        Bucket {
            max_concurrent: limits.max_concurrent.unwrap_or(u64::MAX),
            requests: limits.requests_per_minute.map(|requests| level(requests, 60.0)),
            tokens: limits.tokens_per_minute.map(|tokens| level(tokens, 1.0)),
            models: BTreeMap::new(),
            waiting: VecDeque::new(),
            running: 0,
        }
    }

    /// A call is to begin as soon as it may: `tokens` are about as many as it will use.
    pub fn ask(&mut self, id: u64, model: &Arc<str>, tokens: u64) {
        self.waiting.push_back(Waiting { id, model: Arc::clone(model), tokens });
    }

    /// It is no longer wanted.
    pub fn forget(&mut self, id: u64) {
        self.waiting.retain(|waiting| waiting.id != id);
    }

    /// How many calls wait before this one.
    pub fn ahead_of(&self, id: u64) -> usize {
        self.waiting.iter().position(|waiting| waiting.id == id).unwrap_or(self.waiting.len())
    }

    /// The next call in the queue.
    pub fn first(&self) -> Option<u64> {
        self.waiting.front().map(|waiting| waiting.id)
    }

    /// Whether it is as a new one would be: nothing waits, nothing is under way, and nothing that was used counts any more.
    pub fn is_unused(&mut self, now_ms: u64) -> bool {
        let is_full = |level: &mut Option<Level>| {
            level.as_mut().is_none_or(|level| {
                level.fill(now_ms);
                level.level >= level.most
            })
        };
        let is_free = |model: &OfModel| {
            let known = [model.requests, model.tokens].into_iter().flatten().map(|known| known.until_ms);
            known.chain([model.paused_until_ms]).all(|until_ms| until_ms <= now_ms)
        };
        let is_quiet = self.waiting.is_empty() && self.running == 0;
        is_quiet && is_full(&mut self.requests) && is_full(&mut self.tokens) && self.models.values().all(is_free)
    }

    /// The next call that may begin now. If none may: why the first one waits, and when to ask again, unless a call has to end
    /// before.
    pub fn next(&mut self, now_ms: u64) -> Result<Begun, Option<(WaitReason, Option<u64>)>> {
        let mut why = None;
        for place in 0..self.waiting.len() {
            let Some(waiting) = self.waiting.get(place) else { break };
            if let Some(until_ms) = self.models.get(&waiting.model).and_then(|model| model.blocked_until(waiting.tokens, now_ms))
            {
                // Others may have more left.
                note(&mut why, WaitReason::Service, Some(until_ms));
                continue;
            }
            if self.running >= self.max_concurrent {
                note(&mut why, WaitReason::Concurrent, None);
                break;
            }
            if let Some(at_ms) = self.requests.as_mut().and_then(|requests| requests.wait(1, now_ms)) {
                note(&mut why, WaitReason::Requests, Some(at_ms));
                break;
            }
            if let Some(at_ms) = self.tokens.as_mut().and_then(|tokens| tokens.wait(waiting.tokens, now_ms)) {
                note(&mut why, WaitReason::Tokens, Some(at_ms));
                break;
            }
            let Some(waiting) = self.waiting.remove(place) else { break };
            return Ok(self.begin(waiting));
        }
        Err(why)
    }

    fn begin(&mut self, Waiting { id, model, tokens }: Waiting) -> Begun {
        self.running += 1;
        if let Some(requests) = &mut self.requests {
            requests.use_up(1);
        }
        if let Some(level) = &mut self.tokens {
            level.use_up(tokens);
        }
        let of_model = self.models.entry(Arc::clone(&model)).or_default();
        of_model.begun += 1;
        of_model.tokens_begun += tokens;
        for (known, used) in [(&mut of_model.requests, 1), (&mut of_model.tokens, tokens)] {
            if let Some(known) = known {
                known.remaining = known.remaining.saturating_sub(used);
            }
        }
        Begun { id, number: of_model.begun, model, tokens }
    }

    /// A call has ended: it has used so many tokens, where that is known.
    pub fn end(&mut self, call: &Begun, used: Option<u64>) {
        self.running = self.running.saturating_sub(1);
        if let (Some(level), Some(used)) = (&mut self.tokens, used) {
            level.use_up(used);
            level.give_back(call.tokens);
        }
    }

    /// What the service says in its answer to a call.
    pub fn answered(&mut self, call: &Begun, limits: &ServiceLimits, now_ms: u64) {
        let Some(model) = self.models.get_mut(&call.model) else { return };
        let until = |ms: u64| now_ms.saturating_add(ms.min(LONGEST_PAUSE_MS));
        // Those that began after it may not be in what it says.
        let later = model.begun.saturating_sub(call.number);
        let known =
            |left: Left, later: u64| Known { remaining: left.remaining.saturating_sub(later), until_ms: until(left.reset_ms) };
        if let Some(left) = limits.requests {
            model.requests = Some(known(left, later));
        }
        if let Some(left) = limits.tokens {
            // Each of those about as large as this one.
            model.tokens = Some(known(left, later.saturating_mul(call.tokens)));
        }
        if let Some(ms) = limits.pause_ms {
            model.paused_until_ms = model.paused_until_ms.max(until(ms));
        }
    }
}

/// The reason of the first one counts, and the earliest time.
fn note(why: &mut Option<(WaitReason, Option<u64>)>, reason: WaitReason, at_ms: Option<u64>) {
    let (first, earlier) = why.unwrap_or((reason, None));
    *why = Some((first, earlier.into_iter().chain(at_ms).min()));
}

impl OfModel {
    /// Until when no call of so many tokens may begin, by what the service has said.
    fn blocked_until(&self, tokens: u64, now_ms: u64) -> Option<u64> {
        let spent = |known: Option<Known>, wanted: u64| {
            let known = known.filter(|known| known.remaining < wanted)?;
            Some(known.until_ms)
        };
        // A request may be larger than what the service ever has: it is to say so itself, once all is there again.
        let until = [Some(self.paused_until_ms), spent(self.requests, 1), spent(self.tokens, tokens)];
        until.into_iter().flatten().max().filter(|until_ms| *until_ms > now_ms)
    }
}

impl Level {
    fn fill(&mut self, now_ms: u64) {
        #[allow(clippy::cast_precision_loss)] // Milliseconds of some thousand years.
        let passed = now_ms.saturating_sub(self.at_ms) as f64;
        self.level = (self.level + passed * self.per_minute / 60_000.0).min(self.most);
        self.at_ms = self.at_ms.max(now_ms);
    }

    /// When there is enough; `None`: now. What is more than ever fits waits for all that fits.
    fn wait(&mut self, wanted: u64, now_ms: u64) -> Option<u64> {
        self.fill(now_ms);
        #[allow(clippy::cast_precision_loss)]
        let missing = (wanted as f64).min(self.most) - self.level;
        // Sums of fractions are not exact.
        if missing < 1e-6 {
            return None;
        }
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // It is above 0, and below some hours.
        let ms = (missing * 60_000.0 / self.per_minute).ceil() as u64;
        Some(now_ms.saturating_add(ms.max(1)))
    }

    #[allow(clippy::cast_precision_loss)]
    fn use_up(&mut self, count: u64) {
        self.level -= count as f64;
    }

    #[allow(clippy::cast_precision_loss)]
    fn give_back(&mut self, count: u64) {
        self.level = (self.level + count as f64).min(self.most);
    }
}
