//! Models: what a run asks, and how the answer comes in.
//!
//! A model pushes [`Delta`]s into a [`DeltaSink`] while its future runs; the run takes out all that are there each time the
//! future waits, so that a burst from the network costs one wakeup.

mod delta;
pub(crate) mod http;
pub(crate) mod own;
mod pieces;
mod reading;
pub(crate) mod scripted;

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;

use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

pub(crate) use delta::MessageBuilder;
pub use delta::{BlockStart, Delta};
pub use own::{ModelCall, ProviderFn};

use crate::clock::Clock;
use crate::doctor::Fit;
use crate::error::Error;
use crate::message::Message;
use crate::transport::network::Network;
use crate::usage::Prices;

/// A future that the caller owns.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Something that answers.
pub trait Model: Send + Sync + 'static {
    /// Who it is.
    fn info(&self) -> ModelInfo<'_>;

    /// Answers a request: pushes deltas, a closing [`Delta::Stop`] among them, and returns. Dropping the future is the abort.
    ///
    /// # Errors
    /// Whatever kept the answer from being complete.
    fn stream<'a>(&'a self, request: &'a ModelRequest, sink: &'a DeltaSink) -> BoxFuture<'a, Result<(), Error>>;

    /// The request's body as it will be sent; `None` where there is no such thing.
    ///
    /// # Errors
    /// What keeps the request from being written.
    fn payload(&self, request: &ModelRequest) -> Result<Option<Map<String, Value>>, Error> {
        let _ = request;
        Ok(None)
    }

    /// The options of a request that do not reach the model, because it or its wire format does not take them; a run tells each
    /// once.
    fn ignored(&self, request: &ModelRequest) -> Vec<IgnoredOption> {
        let _ = request;
        Vec::new()
    }

    /// What a transcript has to fit before this model is asked.
    fn fit(&self) -> Fit {
        let ModelInfo { provider, protocol, id, .. } = self.info();
        Fit::named(provider, protocol, id)
    }

    /// The time that runs with this model live in.
    fn clock(&self) -> Clock {
        Clock::real()
    }
}

/// What stands in a message's `provider`, `protocol` and `model`, and the model's prices where they are known.
#[derive(Debug, Clone, Copy)]
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

/// An option that does not reach a model as it was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IgnoredOption {
    /// Its canonical name, for example `stop_sequences`.
    pub option: &'static str,
    /// Why, and what to do.
    pub why: String,
}

/// What is passed on to the model with each request. What a model does not take, it is asked without, which a `diagnostic` with
/// the code `option_ignored` tells.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ModelOptions {
    /// 0 is a value and is sent; `None` is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// The most tokens to write, of thinking and answer together. Raised where a budget of thinking would leave no answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// Texts that end the answer when the model writes them. `openai_responses` has no field for them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stop_sequences: Vec<String>,
    /// Whether the model may, must or must not call tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_choice: Option<ToolChoice>,
    /// Names the conversation to providers that keep caches or routes by it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// How long the provider is asked to keep what it has read of the conversation.
    #[serde(skip_serializing_if = "CacheRetention::is_default")]
    pub cache_retention: CacheRetention,
    /// How many tokens of thinking a level stands for, where the provider counts them.
    #[serde(skip_serializing_if = "ThinkingBudgets::is_default")]
    pub thinking_budgets: ThinkingBudgets,
    /// Headers for each request; they win over the model's and the protocol's own.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub headers: Map<String, Value>,
}

/// How much thinking to ask for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ThinkingLevel {
    /// None.
    #[default]
    Off,
    /// As little as there is.
    Minimal,
    /// A little.
    Low,
    /// Some.
    Medium,
    /// Much.
    High,
    /// As much as there is.
    Xhigh,
}

impl ThinkingLevel {
    pub(crate) const WANTED: &'static str = "\"off\", \"minimal\", \"low\", \"medium\", \"high\" or \"xhigh\"";

    /// The canonical word, for example `medium`.
    pub fn as_str(self) -> &'static str {
        match self {
            ThinkingLevel::Off => "off",
            ThinkingLevel::Minimal => "minimal",
            ThinkingLevel::Low => "low",
            ThinkingLevel::Medium => "medium",
            ThinkingLevel::High => "high",
            ThinkingLevel::Xhigh => "xhigh",
        }
    }
}

/// Tokens of thinking by level. Canonical JSON: `{minimal, low, medium, high, xhigh}`, each optional.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ThinkingBudgets {
    /// For `minimal`.
    pub minimal: u64,
    /// For `low`.
    pub low: u64,
    /// For `medium`.
    pub medium: u64,
    /// For `high`.
    pub high: u64,
    /// For `xhigh`.
    pub xhigh: u64,
}

impl Default for ThinkingBudgets {
    fn default() -> ThinkingBudgets {
        ThinkingBudgets { minimal: 1024, low: 2048, medium: 8192, high: 16_384, xhigh: 32_768 }
    }
}

impl ThinkingBudgets {
    /// The tokens of a level; 0 for `off`.
    pub fn tokens(&self, level: ThinkingLevel) -> u64 {
        match level {
            ThinkingLevel::Off => 0,
            ThinkingLevel::Minimal => self.minimal,
            ThinkingLevel::Low => self.low,
            ThinkingLevel::Medium => self.medium,
            ThinkingLevel::High => self.high,
            ThinkingLevel::Xhigh => self.xhigh,
        }
    }

    fn is_default(&self) -> bool {
        *self == ThinkingBudgets::default()
    }
}

/// Whether the model may call tools. Canonical JSON: `"auto"`, `"none"`, `"required"` or `{"tool": name}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolChoice {
    /// As it likes.
    Auto,
    /// Not.
    None,
    /// At least one.
    Required,
    /// This one.
    Tool(String),
}

/// How long a provider is asked to keep what it has read, so that the next turn costs less.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CacheRetention {
    /// Not: nothing is marked, no cache is named.
    None,
    /// As long as it does by itself (Anthropic: five minutes).
    #[default]
    Short,
    /// Longer, where the server can be asked (Anthropic: an hour, and writing costs more; OpenAI: a day).
    Long,
}

impl CacheRetention {
    fn is_default(&self) -> bool {
        *self == CacheRetention::default()
    }
}

impl std::fmt::Debug for ModelOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Not the headers: they may have a key.
        f.debug_struct("ModelOptions")
            .field("temperature", &self.temperature)
            .field("max_tokens", &self.max_tokens)
            .finish_non_exhaustive()
    }
}

/// A tool as the model is told of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ToolDescription {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// The JSON Schema of its arguments.
    pub parameters: Value,
}

/// What a run asks a model. Canonical JSON: `{model, system_prompt, messages, tools, thinking_level, options,
/// payload?}`; the key is not part of it.
#[derive(Clone, Default)]
pub struct ModelRequest {
    /// `provider/id`.
    pub model: String,
    /// Empty for none.
    pub system_prompt: String,
    /// What of the transcript the model is to see.
    pub messages: Vec<Arc<Message>>,
    /// The tools it may call.
    pub tools: Arc<Vec<ToolDescription>>,
    /// How much thinking to ask for.
    pub thinking_level: ThinkingLevel,
    /// Temperature and the like.
    pub options: ModelOptions,
    /// The configured key.
    pub api_key: Option<String>,
    /// Whom the agent's own key is for, where there is one and this model does not get it: a provider, for errors.
    pub withheld_key: Option<String>,
    /// Whether each frame is wanted as it came ([`Delta::Raw`]).
    pub raw_events: bool,
    /// Whether the head of an HTTP answer is wanted ([`Delta::Response`]).
    pub wants_response: bool,
    /// The longest that setting up a connection may take, in milliseconds; 0 for no limit.
    pub connect_timeout_ms: u64,
    /// Proxies, certificate authorities and the like.
    pub network: Arc<Network>,
    /// The request's body in JSON, as [`Model::payload`] or a hook made it: to be sent as it is, with each try.
    pub payload: Option<Arc<[u8]>>,
}

impl Serialize for ModelRequest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("model", &self.model)?;
        map.serialize_entry("system_prompt", &self.system_prompt)?;
        map.serialize_entry("messages", &self.messages)?;
        map.serialize_entry("tools", &*self.tools)?;
        map.serialize_entry("thinking_level", &self.thinking_level)?;
        map.serialize_entry("options", &self.options)?;
        // Of a model without a request of its own: there when a hook has replaced what is asked.
        if let Some(payload) = self.payload.as_deref().and_then(|payload| serde_json::from_slice::<&RawValue>(payload).ok()) {
            map.serialize_entry("payload", payload)?;
        }
        map.end()
    }
}

impl std::fmt::Debug for ModelRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Not the key, and not the headers, which may have one.
        f.debug_struct("ModelRequest").field("model", &self.model).field("messages", &self.messages.len()).finish_non_exhaustive()
    }
}

/// Where a model's deltas go.
#[derive(Debug, Clone, Default)]
pub struct DeltaSink(Arc<Sink>);

#[derive(Debug, Default)]
struct Sink {
    deltas: Mutex<Vec<Delta>>,
    /// How many times something came that is no delta.
    signs: AtomicU64,
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
        self.0.signs.fetch_add(1, Ordering::Relaxed);
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

    pub(crate) fn signs(&self) -> u64 {
        self.0.signs.load(Ordering::Relaxed)
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Vec<Delta>> {
        self.0.deltas.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
