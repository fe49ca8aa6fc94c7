//! What a run asks of a model, and how the answer comes in.
//!
//! A model pushes [`Delta`]s into a [`DeltaSink`] while its future runs; the run takes out all that are there each time the
//! future waits, so that a burst from the network costs one wakeup.

use std::borrow::Cow;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::task::Poll;

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

pub use agent_loop_proto::delta::{BlockStart, Delta};
pub use agent_loop_proto::machine::Encoder;
pub use agent_loop_proto::request::{
    CacheRetention, IgnoredOption, ModelOptions, Request, ThinkingBudgets, ThinkingLevel, ToolChoice, ToolDescription,
};
use agent_loop_proto::transcript::Constraints;

use crate::clock::Clock;
use crate::error::Error;
use crate::future::BoxFuture;
use crate::limiter::Permit;
use crate::transport::network::Network;
use crate::usage::Prices;

/// Something that answers.
pub trait Model: Send + Sync + 'static {
    /// Who it is.
    fn info(&self) -> ModelInfo<'_>;

    /// Answers a request: pushes deltas, a closing [`Delta::Stop`] among them, and returns. Dropping the future is the abort.
    /// It runs on the run's tokio runtime and must not block its thread. A block begins with [`Delta::Start`]: text for one that
    /// has not begun is a `protocol` error. [`Delta::End`] may be left out. Without `Stop` the answer is `stream_truncated`,
    /// which is retried.
    ///
    /// # Errors
    /// Whatever kept the answer from being complete. One that may be retried ([`Error::is_retryable`]) is, before the first
    /// block.
    fn stream<'a>(&'a self, request: &'a ModelRequest, sink: &'a DeltaSink) -> BoxFuture<'a, Result<(), Error>>;

    /// How its requests are encoded; `None` for a model that gets the messages.
    fn encoder(&self) -> Option<Arc<Encoder>> {
        None
    }

    /// What the model takes of a transcript. By default all that there is.
    fn constraints(&self) -> Constraints {
        let ModelInfo { provider, protocol, id, .. } = self.info();
        Constraints::new(provider, protocol, id)
    }

    /// The host and the port of its server, for its spans; `None` for a model that is asked otherwise.
    fn server(&self) -> Option<(&str, u16)> {
        None
    }

    /// The time that runs with this model live in. By default the real one.
    fn clock(&self) -> Clock {
        Clock::real()
    }
}

/// What stands in a message's `provider`, `protocol` and `model`, and the model's prices where they are known.
///
/// ```
/// use agent_loop::model::{ModelInfo, Prices};
///
/// let mut info = ModelInfo::new("mine", "mine", "parrot");
/// info.prices = Some(Prices::new(0.0, 0.1));
/// ```
#[derive(Debug, Clone)]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub struct ModelInfo<'a> {
    /// Who serves it.
    pub provider: &'a str,
    /// In which wire format.
    pub protocol: &'a str,
    /// The configured model id.
    pub id: &'a str,
    /// US dollars per million tokens.
    pub prices: Option<Prices>,
}

impl<'a> ModelInfo<'a> {
    /// A model without known prices.
    pub fn new(provider: &'a str, protocol: &'a str, id: &'a str) -> ModelInfo<'a> {
        ModelInfo { provider, protocol, id, prices: None }
    }
}

/// What a run asks a model. Canonical JSON: `{model, system_prompt, messages, tools, thinking_level, options,
/// payload?}`, with the headers among the options; the key is not part of it.
#[derive(Clone, Default)]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub struct ModelRequest {
    /// The request itself, as far as it is data: what an encoder reads.
    pub request: Arc<Request>,
    /// Headers for the HTTP request; they win over the model's and the protocol's own.
    pub headers: Map<String, Value>,
    /// The configured key, or the key or token of the hook `get_api_key`.
    pub api_key: Option<String>,
    /// Whether that key is a token, which goes as `authorization: Bearer …` whatever the provider.
    pub is_bearer: bool,
    /// The headers of the hook `get_api_key`. They are sent in place of any key, and win over all others.
    pub auth_headers: Map<String, Value>,
    /// The provider that the agent's own key is for, where this model does not get it: for errors.
    pub withheld_key: Option<String>,
    /// Whether each frame is wanted unread ([`Delta::Raw`]).
    pub raw_events: bool,
    /// Whether the head of an HTTP answer is wanted ([`Delta::Response`]).
    pub wants_response: bool,
    /// The longest that setting up a connection may take, in milliseconds; 0 for no limit.
    pub connect_timeout_ms: u64,
    /// Proxies, certificate authorities and the like.
    pub network: Arc<Network>,
    /// Who is to know what the service says of its limits. The call's own: a host may keep the request for longer.
    pub(crate) permit: Weak<OnceLock<Permit>>,
    /// The request's body in JSON, encoded or as a hook has replaced it: sent unchanged with each attempt.
    pub payload: Option<Arc<[u8]>>,
}

impl ModelRequest {
    /// The headers with those of the hook.
    fn all_headers(&self) -> Cow<'_, Map<String, Value>> {
        if self.auth_headers.is_empty() {
            return Cow::Borrowed(&self.headers);
        }
        let mut all = self.headers.clone();
        all.extend(self.auth_headers.clone());
        Cow::Owned(all)
    }

    /// The options as custom providers receive them, headers included; to be serialized.
    pub fn options(&self) -> impl Serialize + '_ {
        Options { options: &self.request.options, headers: self.all_headers() }
    }
}

struct Options<'a> {
    options: &'a ModelOptions,
    headers: Cow<'a, Map<String, Value>>,
}

/// Not derived with `flatten`, which makes a map of fields.
impl Serialize for Options<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // The number of fields is a hint.
        let mut fields = serializer.serialize_struct("Options", 8)?;
        self.options.serialize_given(&mut fields)?;
        if !self.headers.is_empty() {
            fields.serialize_field("headers", &*self.headers)?;
        }
        fields.end()
    }
}

impl Serialize for ModelRequest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // There when a hook has replaced the request of a model that encodes none itself.
        let payload = self.payload.as_deref().and_then(|payload| serde_json::from_slice::<&RawValue>(payload).ok());
        let optional = usize::from(payload.is_some()) + usize::from(self.request.output.is_some());
        let mut fields = serializer.serialize_struct("ModelRequest", 6 + optional)?;
        self.request.serialize_head(&mut fields)?;
        fields.serialize_field("options", &self.options())?;
        if let Some(output) = &self.request.output {
            fields.serialize_field("output", output)?;
        }
        if let Some(payload) = payload {
            fields.serialize_field("payload", payload)?;
        }
        fields.end()
    }
}

impl std::fmt::Debug for ModelRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Not the key, and not the headers, which may have one.
        let Request { model, messages, .. } = &*self.request;
        f.debug_struct("ModelRequest").field("model", model).field("messages", &messages.len()).finish_non_exhaustive()
    }
}

/// Where a model's deltas go.
///
/// ```
/// use agent_loop::model::{BlockStart, Delta, DeltaSink};
/// use agent_loop::StopReason;
///
/// async fn say(text: &str, sink: &DeltaSink) {
///     sink.push(Delta::Start { key: 0, block: BlockStart::Text });
///     for word in text.split_inclusive(' ') {
///         sink.push(Delta::Append { key: 0, text: word.to_owned() });
///         sink.ready().await;
///     }
///     sink.push(Delta::Stop { reason: StopReason::Stop, raw: None });
/// }
/// ```
#[derive(Debug, Clone, Default)]
pub struct DeltaSink(Arc<Sink>);

#[derive(Debug, Default)]
struct Sink {
    deltas: Mutex<Vec<Delta>>,
    /// How many times something came that is no delta: its change is activity.
    activity_count: AtomicU64,
    /// The virtual time of the run, where that is not the model's own.
    clock: OnceLock<Clock>,
}

/// How many deltas may wait before [`DeltaSink::ready`] makes the model wait.
const SINK_BOUND: usize = 256;

impl DeltaSink {
    /// Pushes a delta. Does not wait: a fast model calls [`DeltaSink::ready`] now and then.
    pub fn push(&self, delta: Delta) {
        self.lock().push(delta);
    }

    /// Says that the model is alive though it has no delta: time limits begin anew.
    pub fn alive(&self) {
        self.0.activity_count.fetch_add(1, Ordering::Relaxed);
    }

    /// Waits until the run has taken up what was pushed, if that was much.
    pub async fn ready(&self) {
        std::future::poll_fn(|cx| {
            if self.lock().len() < SINK_BOUND {
                return Poll::Ready(());
            }
            // The run takes all deltas each time the model's future waits; ask to be polled again after that.
            cx.waker().wake_by_ref();
            Poll::Pending
        })
        .await;
    }

    pub(crate) fn set_clock(&self, clock: &Clock) {
        self.0.clock.get_or_init(|| clock.clone());
    }

    pub(crate) fn clock(&self) -> Option<&Clock> {
        self.0.clock.get()
    }

    pub(crate) fn activity_count(&self) -> u64 {
        self.0.activity_count.load(Ordering::Relaxed)
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Vec<Delta>> {
        self.0.deltas.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
