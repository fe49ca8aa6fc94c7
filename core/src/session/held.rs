//! A lease that was acquired, until there is an open session that gives it back.

use std::future::Future;
use std::sync::Arc;

use tokio::runtime::Handle;

use super::backend::{Acquire, HeldLease, Lease};
use super::closing::ToTheEnd;
use super::errors::forked;
use super::shared::SharedStore;
use crate::error::Error;

/// A lease that is given back when this is dropped.
pub(super) struct Held {
    shared: Arc<SharedStore>,
    runtime: Handle,
    lease: HeldLease,
    /// It has no record: it is removed when the lease is given back. What is left would look like a session.
    is_empty: bool,
    is_armed: bool,
}

impl Held {
    /// Waits until a lease may be acquired: for a close of the session that is under way here.
    ///
    /// # Errors
    /// `invalid_state` in a child of a fork; why a lease that was to be given back could not be.
    pub(super) async fn ready(shared: &Arc<SharedStore>, id: &str, runtime: &Handle) -> Result<(), Error> {
        if shared.is_forked() {
            // First: the parent's threads may have the locks.
            return Err(forked(&shared.backend.name()));
        }
        shared.closed(id).await;
        shared.release_kept(id, runtime).await
    }

    /// Acquires a lease.
    pub(super) async fn acquire(shared: &Arc<SharedStore>, id: &str, runtime: &Handle) -> Result<(Held, Lease), Error> {
        let (held, of_runtime) = (Arc::clone(shared), runtime.clone());
        let (holder, lease_ms) = (shared.options.holder.clone(), shared.options.lease_ms);
        let request = Acquire { id: id.to_owned(), holder, lease_ms };
        // A store may give the lease also if it is not waited for.
        let acquire = async move {
            let lease = held.backend.acquire(request.clone()).await?;
            let of_session = HeldLease { id: request.id, token: lease.token };
            let is_empty = lease.is_new;
            Ok((Held { shared: held, runtime: of_runtime, lease: of_session, is_empty, is_armed: true }, lease))
        };
        ToTheEnd::new(&shared.closings, id, runtime, acquire).await
    }

    /// The session has no record.
    pub(super) fn set_empty(&mut self) {
        self.is_empty = true;
    }

    pub(super) fn lease(&self) -> &HeldLease {
        &self.lease
    }

    /// Somebody else gives it back.
    pub(super) fn keep(mut self) -> HeldLease {
        self.is_armed = false;
        self.lease.clone()
    }

    /// Gives it back now.
    pub(super) async fn release(mut self) {
        self.is_armed = false;
        let _ = ToTheEnd::new(&self.shared.closings, &self.lease.id, &self.runtime, self.given_back()).await;
    }

    fn given_back(&self) -> impl Future<Output = Result<(), Error>> + Send + use<> {
        let (shared, lease, is_empty) = (Arc::clone(&self.shared), self.lease.clone(), self.is_empty);
        async move { if is_empty { shared.delete(lease).await } else { shared.release(lease).await } }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if self.is_armed {
            let given_back = self.given_back();
            self.shared.closings.in_background(&self.lease.id, &self.runtime, async move { drop(given_back.await) });
        }
    }
}
