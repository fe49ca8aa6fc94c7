//! One answer: the first is delivered, later ones are not.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use tokio::sync::oneshot;

use crate::error::{Error, ErrorKind};
use crate::message::Message;

/// What a host answers a call with.
#[derive(Debug)]
pub enum HostAnswer {
    /// Nothing but that the call is over: of listeners and models.
    Nothing,
    /// A value.
    Json(Value),
    /// Of hooks that may replace messages: the new ones; `None` for no change.
    Messages(Option<Vec<Arc<Message>>>),
}

pub(crate) type HostResult = Result<HostAnswer, Error>;

type Delivery = Box<dyn FnOnce(HostResult) + Send>;

/// Where the answer of a call is delivered.
pub(crate) struct Answer {
    deliver: Mutex<Option<Delivery>>,
    /// The kind of the error of a call that failed with a text.
    failure: ErrorKind,
}

impl Answer {
    pub(crate) fn new(failure: ErrorKind, deliver: impl FnOnce(HostResult) + Send + 'static) -> Arc<Answer> {
        Arc::new(Answer { deliver: Mutex::new(Some(Box::new(deliver))), failure })
    }

    /// An answer that a future waits for.
    pub(crate) fn awaited() -> (Arc<Answer>, oneshot::Receiver<HostResult>) {
        let (sender, receiver) = oneshot::channel();
        // The receiver is gone when the run no longer needs the answer.
        (Answer::new(ErrorKind::Callback, move |result| drop(sender.send(result))), receiver)
    }

    /// Delivers an answer. False: there was one before.
    pub(crate) fn deliver(&self, result: HostResult) -> bool {
        let deliver = self.lock().take();
        // Not under the lock: whoever gets the answer may use the call.
        deliver.map(|deliver| deliver(result)).is_some()
    }

    /// Fails the call with a text. False: it was answered before.
    pub(crate) fn fail(&self, text: impl Into<String>) -> bool {
        self.deliver(Err(Error::new(self.failure, text)))
    }

    /// Fails the call with a text and what it comes from. False: it was answered before.
    #[cfg(feature = "__bindings")]
    pub(crate) fn fail_from(&self, text: String, source: impl std::error::Error + Send + Sync + 'static) -> bool {
        self.deliver(Err(Error::new(self.failure, text).with_source(source)))
    }

    /// Does something that must not come after the answer. `None`: the call is answered.
    pub(crate) fn if_unanswered<T>(&self, function: impl FnOnce() -> T) -> Option<T> {
        let waiting = self.lock();
        waiting.is_some().then(function)
    }

    fn lock(&self) -> MutexGuard<'_, Option<Delivery>> {
        self.deliver.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Answer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Answer").field("is_delivered", &self.lock().is_none()).finish()
    }
}

/// An answer as JSON, or its failure, of which the message counts.
pub(crate) fn json(result: HostResult) -> Result<Value, Error> {
    match result {
        Ok(HostAnswer::Json(value)) => Ok(value),
        Ok(HostAnswer::Nothing) => Ok(Value::Null),
        Ok(HostAnswer::Messages(_)) => Err(Error::new(ErrorKind::Callback, "the answer is not JSON")),
        Err(error) => Err(error),
    }
}
