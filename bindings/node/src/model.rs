//! Models that are known; and a provider of the application's own: requests on their way to JavaScript, and its answers piece by piece.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use agent_loop::{CancellationToken, Error, ErrorKind, ModelCall, ProviderFn};
use napi_derive::napi;

use crate::bridge::{Callback, Link, Waiting};
use crate::call::watch;
use crate::error::{Result, thrown};
use crate::{camel_case, message, runtime};

/// The models that are known, a JSON array.
#[napi(catch_unwind)]
pub fn models() -> String {
    camel_case::to_json(&agent_loop::models())
}

/// A provider that asks JavaScript.
pub(crate) fn of_callback(callback: Callback) -> ProviderFn {
    Arc::new(move |call| callback.model(call))
}

/// A request that is being answered. When JavaScript lets go of it before the end, the answer fails.
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
        let number = link.keep(Waiting::Model(Arc::new(call)));
        Answer { link: Arc::clone(link), number, request, cancel, over: CancellationToken::new() }
    }

    /// The call, to be ended.
    fn last(&self) -> Option<Arc<ModelCall>> {
        self.over.cancel();
        match self.link.answered(self.number) {
            Some(Waiting::Model(call)) => Some(call),
            _ => None,
        }
    }
}

#[napi]
impl Answer {
    /// What is asked, as JSON.
    #[napi(getter, catch_unwind)]
    pub fn request(&self) -> &str {
        &self.request
    }

    /// Whether the answer is no longer wanted.
    #[napi(getter, catch_unwind)]
    pub fn is_cancelled(&self) -> bool {
        self.cancel.is_cancelled()
    }

    /// Gives a piece, in JSON. True when there is room for more, false when the answer is no longer wanted, nothing when the
    /// provider is to wait for `ready`.
    #[napi(catch_unwind)]
    pub fn push(&self, piece: String) -> Result<Option<bool>> {
        let Some(call) = self.link.model(self.number) else {
            return Ok(Some(false));
        };
        let piece = message::read("piece", &piece).map_err(|e| thrown(&e))?;
        call.push(&piece).map_err(|e| thrown(&e))?;
        let ready = pin!(call.ready());
        Ok(match ready.poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(wanted) => Some(wanted),
            Poll::Pending => None,
        })
    }

    /// Settles the ticket when there is room for more, with `true`, or with `false` when the answer is no longer wanted.
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

    /// Settles the ticket when the answer is no longer wanted; not after its end.
    #[napi(catch_unwind)]
    pub fn watch(&self, ticket: u32) -> Result<()> {
        watch(&self.link, &self.cancel, &self.over, ticket)
    }

    /// The answer is complete.
    #[napi(catch_unwind)]
    pub fn finish(&self) {
        if let Some(call) = self.last() {
            call.finish();
        }
    }

    /// The answer failed with an error in JSON.
    #[napi(catch_unwind)]
    pub fn fail(&self, error: String) {
        if let Some(call) = self.last() {
            let unread = |why: String| {
                Error::new(ErrorKind::Provider, format!("the provider failed with something that is no error: {why}"))
            };
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
