//! Custom providers: a host's function that answers requests chunk by chunk, now or later, from any thread.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::cancel::CancelToken;
use agent_loop_proto::chunk::{Chunk, ChunkReader};
use agent_loop_proto::transcript::Constraints;
use serde_json::Value;
use tokio::runtime::Handle;
use tokio::sync::{Notify, mpsc};
use tokio_util::sync::DropGuard;

use super::interface::{DeltaSink, Model, ModelInfo, ModelRequest};
use crate::error::{Error, ErrorKind, panic_message};
use crate::future::BoxFuture;
use crate::host::answer::{Answer, HostAnswer};
use crate::provider::ModelSpec;

/// Receives a model call and answers it through its [`ModelCall`]. It must not block its thread: the answer may
/// come later, from a task or another thread.
pub type ProviderFn = Arc<dyn Fn(ModelCall) + Send + Sync>;

/// How many chunks may wait before [`ModelCall::ready`] makes the provider wait.
const BOUND: usize = 256;

struct Shared {
    request: ModelRequest,
    provider: String,
    cancel: CancelToken,
    chunks: Mutex<ChunkReader>,
    sender: mpsc::UnboundedSender<Chunk>,
    waiting: AtomicUsize,
    taken: Notify,
    engine: Option<Handle>,
}

/// A request that waits for its answer. Dropping it before [`ModelCall::finish`] fails it.
///
/// ```
/// use agent_loop::Agent;
/// use agent_loop::model::ModelCall;
/// use serde_json::json;
///
/// /// Answers from a thread of its own.
/// fn parrot(call: ModelCall) {
///     std::thread::spawn(move || {
///         let pushed = call.push(&json!({ "text": "Hello." }));
///         match pushed.and_then(|()| call.push(&json!({ "end": { "stop_reason": "stop" } }))) {
///             Ok(()) => call.finish(),
///             Err(error) => call.fail(error),
///         }
///     });
/// }
///
/// // Any name will do: the function answers for all of them.
/// let agent = Agent::builder("mine/parrot").provider(parrot).build()?;
/// # Ok::<(), agent_loop::Error>(())
/// ```
pub struct ModelCall {
    shared: Arc<Shared>,
    answer: Arc<Answer>,
}

impl Shared {
    async fn ready(&self) -> bool {
        loop {
            let taken = self.taken.notified();
            let mut taken = std::pin::pin!(taken);
            taken.as_mut().enable();
            if self.cancel.is_cancelled() || self.waiting.load(Ordering::Acquire) < BOUND {
                return !self.cancel.is_cancelled();
            }
            tokio::select! {
                () = taken => {}
                () = self.cancel.wait() => return false,
            }
        }
    }

    fn end(&self, result: Result<HostAnswer, Error>) {
        let end = match result {
            Ok(_) => Chunk::End(self.chunks.lock().unwrap_or_else(PoisonError::into_inner).natural_end()),
            Err(error) => Chunk::Fail(error),
        };
        // The receiver is gone after an end.
        let _ = self.sender.send(end);
    }
}

impl ModelCall {
    fn new(shared: &Arc<Shared>) -> ModelCall {
        let ended = Arc::clone(shared);
        ModelCall { shared: Arc::clone(shared), answer: Answer::new(ErrorKind::Provider, move |result| ended.end(result)) }
    }

    #[cfg(feature = "__bindings")]
    pub(crate) fn answer(&self) -> Arc<Answer> {
        Arc::clone(&self.answer)
    }

    /// What is asked.
    pub fn request(&self) -> &ModelRequest {
        &self.shared.request
    }

    /// Cancelled when the answer is no longer wanted.
    pub fn cancel_token(&self) -> &CancelToken {
        &self.shared.cancel
    }

    /// Whether the answer is no longer wanted.
    pub fn is_cancelled(&self) -> bool {
        self.shared.cancel.is_cancelled()
    }

    /// Gives a chunk of the answer: text, `{"text"}`, `{"thinking"}`, `{"tool_call": {id, name, arguments}}`, or `{"type", …}` as
    /// message updates have it; `{"end": {stop_reason, usage}}`, after which nothing may follow; `{"error": {kind, message}}`,
    /// `{"usage": {input, output, …}}`.
    /// Does not wait: a fast provider calls [`ModelCall::ready`] after each.
    ///
    /// # Errors
    /// `invalid_argument`: says what is wrong with the chunk. The answer goes on.
    pub fn push(&self, chunk: &Value) -> Result<(), Error> {
        let mut chunks = self.shared.chunks.lock().unwrap_or_else(PoisonError::into_inner);
        let chunk = chunks.read(chunk).map_err(|why| Error::invalid_argument(format!("chunk: {why}")))?;
        self.shared.waiting.fetch_add(1, Ordering::AcqRel);
        // Sent under the lock: chunks of one answer keep their order.
        let _ = self.shared.sender.send(chunk);
        Ok(())
    }

    /// Waits until the run has taken up most of what was given. False when the answer is no longer wanted.
    pub fn ready(&self) -> impl Future<Output = bool> + Send + 'static {
        let shared = Arc::clone(&self.shared);
        async move { shared.ready().await }
    }

    /// The same for a thread that may block: not one that runs async code.
    pub fn ready_blocking(&self) -> bool {
        match &self.shared.engine {
            Some(engine) => engine.block_on(self.ready()),
            None => false,
        }
    }

    /// The answer is complete, if it was not ended before; chunks after it are ignored. Its `stop_reason` is `tool_use` where
    /// there are calls, else `stop`.
    pub fn finish(&self) {
        self.answer.deliver(Ok(HostAnswer::Nothing));
    }

    /// The answer failed. `provider` is the error's kind where nothing says better.
    pub fn fail(&self, error: Error) {
        self.answer.deliver(Err(error));
    }
}

impl Drop for ModelCall {
    fn drop(&mut self) {
        let text = format!("the provider {} dropped the request without ending its answer", self.shared.provider);
        self.answer.fail(text);
    }
}

impl std::fmt::Debug for ModelCall {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ModelCall").field("request", &self.shared.request).finish_non_exhaustive()
    }
}

/// The model behind a function.
pub(crate) struct CustomModel {
    pub(crate) spec: ModelSpec,
    pub(crate) function: ProviderFn,
}

impl CustomModel {
    async fn run(&self, request: &ModelRequest, sink: &DeltaSink) -> Result<(), Error> {
        let (sender, mut chunks) = mpsc::unbounded_channel();
        let cancel = CancelToken::new();
        // However this ends, the provider's request is cancelled.
        let _cancel: DropGuard = cancel.clone().drop_guard();
        let shared = Arc::new(Shared {
            request: request.clone(),
            provider: self.spec.provider.clone(),
            cancel,
            chunks: Mutex::new(ChunkReader::new(&self.spec.provider)),
            sender,
            waiting: AtomicUsize::new(0),
            taken: Notify::new(),
            engine: Handle::try_current().ok(),
        });
        let call = ModelCall::new(&shared);
        let started = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| (self.function)(call)));
        if let Err(payload) = started {
            let text = format!("the provider {} panicked: {}", self.spec.provider, panic_message(&*payload));
            return Err(Error::new(ErrorKind::Provider, text).with_provider(&self.spec.provider));
        }
        while let Some(chunk) = chunks.recv().await {
            shared.waiting.fetch_sub(1, Ordering::AcqRel);
            shared.taken.notify_waiters();
            match chunk {
                Chunk::Deltas(deltas) => deltas.into_iter().for_each(|delta| sink.push(delta)),
                Chunk::End(deltas) => {
                    deltas.into_iter().for_each(|delta| sink.push(delta));
                    return Ok(());
                }
                Chunk::Fail(error) => return Err(failure(error, &self.spec.provider)),
            }
            sink.ready().await;
        }
        Ok(())
    }
}

/// What a custom provider failed with: it names the provider, and has a text.
pub(crate) fn failure(error: Error, provider: &str) -> Error {
    let error = if error.provider().is_none() { error.with_provider(provider) } else { error };
    if !error.message().trim().is_empty() {
        return error;
    }
    error.reworded(|_| format!("the provider {provider} failed without saying why"))
}

impl Model for CustomModel {
    fn info(&self) -> ModelInfo<'_> {
        let protocol = self.spec.protocol.as_deref().unwrap_or(&self.spec.provider);
        ModelInfo { provider: &self.spec.provider, protocol, id: &self.spec.id, prices: self.spec.cost.clone() }
    }

    fn constraints(&self) -> Constraints {
        Constraints::of_spec(&self.spec, self.info().protocol)
    }

    fn stream<'a>(&'a self, request: &'a ModelRequest, sink: &'a DeltaSink) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(self.run(request, sink))
    }
}
