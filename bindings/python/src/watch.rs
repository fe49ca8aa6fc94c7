//! Telling a mailbox when the run no longer waits for what it asked for.

use std::pin::Pin;
use std::sync::{Mutex, PoisonError};
use std::task::Context;

use agent_loop::CancellationToken;
use pyo3::prelude::*;

use crate::mailbox::Mailbox;

/// A wait for a token to be cancelled, which a mailbox is told of.
#[derive(Default)]
pub(crate) struct Watch(Mutex<Option<Pin<Box<dyn Future<Output = ()> + Send>>>>);

impl Watch {
    /// Has the mailbox get the number when the token is cancelled; true when that is so already.
    pub(crate) fn begin(&self, token: &CancellationToken, mailbox: &Bound<'_, Mailbox>, number: u64) -> bool {
        let mut over = Box::pin(token.clone().cancelled_owned());
        let waker = mailbox.get().waker(number);
        let polled = over.as_mut().poll(&mut Context::from_waker(&waker));
        if polled.is_pending() {
            *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(over);
        }
        polled.is_ready()
    }

    /// Nobody needs to know any more.
    pub(crate) fn end(&self) {
        let over = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(over);
    }
}
