//! The catalogue of known models, and custom providers: requests to JavaScript, and their answers chunk by chunk.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use agent_loop::{CancellationToken, Error, ErrorKind, ModelCall, ProviderFn};
use napi_derive::napi;

use crate::bridge::{Callback, Link, Waiter};
use crate::call::watch;
use crate::error::{Result, thrown};
use crate::{camel_case, message, runtime};

/// The known models, as a JSON array.
#[napi(catch_unwind)]
pub fn models() -> String {
    camel_case::to_json(&agent_loop::models())
}

/// A custom provider that calls JavaScript.
pub(crate) fn of_callback(callback: Callback) -> ProviderFn {
    Arc::new(move |call| callback.model(call))
}

/// A request that is being answered. If JavaScript drops it before the end, the answer fails.
#[napi]
pub struct Answer {
    link: Arc<Link>,
    number: u32,
    request: String,
    cancel: CancellationToken,
    over: CancellationToken,
}

impl Answer {
    pub(crate) fn new(link: &Arc<Link>, call: ModelCall) -> Answer {
        let request = camel_case::to_json(call.request());
        let cancel = call.cancel_token().clone();
        let number = link.keep(Waiter::Model(Arc::new(call)));
        Answer { link: Arc::clone(link), number, request, cancel, over: CancellationToken::new() }
    }

    /// Removes and returns the call, to be ended.
    fn last(&self) -> Option<Arc<ModelCall>> {
        self.over.cancel();
        match self.link.answered(self.number) {
            Some(Waiter::Model(call)) => Some(call),
            _ => None,
        }
    }
}

#[napi]
impl Answer {
    /// The request, as JSON.
    #[napi(getter, catch_unwind)]
    pub fn request(&self) -> &str {
        &self.request
    }

    /// Whether the answer is no longer needed.
    #[napi(getter, catch_unwind)]
    pub fn is_cancelled(&self) -> bool {
        self.cancel.is_cancelled()
    }

    /// Adds a chunk, in JSON. Returns true if the next one can follow, false if the answer is no longer needed, nothing if the
    /// provider has to wait for `ready`.
    #[napi(catch_unwind)]
    pub fn push(&self, chunk: String) -> Result<Option<bool>> {
        let Some(call) = self.link.model(self.number) else {
            return Ok(Some(false));
        };
        let chunk = message::read("chunk", &chunk).map_err(|e| thrown(&e))?;
        call.push(&chunk).map_err(|e| thrown(&e))?;
        let ready = pin!(call.ready());
        Ok(match ready.poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(wanted) => Some(wanted),
            Poll::Pending => None,
        })
    }

    /// Settles the ticket with `true` when the next chunk can follow, or with `false` when the answer is no longer needed.
    #[napi(catch_unwind)]
    pub fn ready(&self, ticket: u32) -> Result<()> {
        let (link, call) = (Arc::clone(&self.link), self.link.model(self.number));
        let ready = async move {
            let wanted = match call {
                Some(call) => call.ready().await,
                None => false,
            };
            link.settle(ticket, Some(wanted.to_string()));
        };
        runtime::runtime().map_err(|e| thrown(&e))?.spawn(ready);
        Ok(())
    }

    /// Settles the ticket when the answer is no longer needed; not after its end.
    #[napi(catch_unwind)]
    pub fn watch(&self, ticket: u32) -> Result<()> {
        watch(&self.link, &self.cancel, &self.over, ticket)
    }

    /// Completes the answer.
    #[napi(catch_unwind)]
    pub fn finish(&self) {
        if let Some(call) = self.last() {
            call.finish();
        }
    }

    /// Fails the answer with an error in JSON.
    #[napi(catch_unwind)]
    pub fn fail(&self, error: String) {
        if let Some(call) = self.last() {
            let unread = |why: String| Error::new(ErrorKind::Provider, format!("the provider's error is invalid: {why}"));
            let read = message::read("error", &error).map_err(|e| e.to_string());
            let read = read.and_then(|value| serde_json::from_value(value).map_err(|e| e.to_string()));
            call.fail(read.unwrap_or_else(unread));
        }
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        drop(self.last());
    }
}
