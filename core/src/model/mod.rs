//! Models: what a run asks, and how the answer comes in.
//!
//! A model pushes [`Delta`]s into a [`DeltaSink`] while its future runs; the run takes out all that are there each time the
//! future waits, so that a burst from the network costs one wakeup.

mod delta;
pub(crate) mod http;
pub(crate) mod scripted;

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;

use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};

pub(crate) use delta::MessageBuilder;
pub use delta::{BlockStart, Delta};

use crate::clock::Clock;
use crate::error::Error;
use crate::message::Message;
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

/// What is passed on to the model with each request.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ModelOptions {
    /// 0 is a value and is sent; `None` is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// The most tokens to write.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// Headers for each request; they win over the model's and the protocol's own.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub headers: Map<String, Value>,
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

/// What a run asks a model. Canonical JSON: `{model, system_prompt, messages, tools, thinking_level, options}`; the key is not
/// part of it.
#[derive(Clone)]
pub struct ModelRequest {
    /// `provider/id`.
    pub model: String,
    /// Empty for none.
    pub system_prompt: String,
    /// What of the transcript the model is to see.
    pub messages: Vec<Arc<Message>>,
    /// The tools it may call.
    pub tools: Arc<Vec<ToolDescription>>,
    /// Temperature and the like.
    pub options: ModelOptions,
    /// The configured key.
    pub api_key: Option<String>,
    /// Whether each frame is wanted as it came ([`Delta::Raw`]).
    pub raw_events: bool,
}

impl Serialize for ModelRequest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("model", &self.model)?;
        map.serialize_entry("system_prompt", &self.system_prompt)?;
        map.serialize_entry("messages", &self.messages)?;
        map.serialize_entry("tools", &*self.tools)?;
        map.serialize_entry("thinking_level", "off")?;
        map.serialize_entry("options", &self.options)?;
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
pub struct DeltaSink(Arc<Mutex<Vec<Delta>>>);

/// How many deltas may wait before [`DeltaSink::ready`] makes the model wait.
const SINK_BOUND: usize = 256;

impl DeltaSink {
    /// Pushes a delta. Does not wait: a fast model calls [`DeltaSink::ready`] now and then.
    pub fn push(&self, delta: Delta) {
        self.lock().push(delta);
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

    pub(crate) fn lock(&self) -> MutexGuard<'_, Vec<Delta>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
