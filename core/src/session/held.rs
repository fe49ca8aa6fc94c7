//! A lease that was acquired, until there is an open session that gives it back.

use std::sync::Arc;

use tokio::runtime::Handle;

use super::backend::{Acquire, HeldLease, Lease};
use super::closing::ToTheEnd;
use super::shared::SharedStore;
use crate::error::Error;

/// A lease that is given back when this is dropped.
pub(super) struct Held {
    shared: Arc<SharedStore>,
    runtime: Handle,
    lease: HeldLease,
    is_armed: bool,
}

impl Held {
    /// Acquires a lease. A close of the session that is under way here is waited for.
    pub(super) async fn acquire(shared: &Arc<SharedStore>, id: &str, runtime: &Handle) -> Result<(Held, Lease), Error> {
        shared.closed(id).await;
        shared.release_kept(id, runtime).await?;
        let (held, of_runtime) = (Arc::clone(shared), runtime.clone());
        let (holder, lease_ms) = (shared.options.holder.clone(), shared.options.lease_ms);
        let request = Acquire { id: id.to_owned(), holder, lease_ms };
        // A store may give the lease also if it is not waited for.
        let acquire = async move {
            let lease = held.backend.acquire(request.clone()).await?;
            let of_session = HeldLease { id: request.id, token: lease.token };
            Ok((Held { shared: held, runtime: of_runtime, lease: of_session, is_armed: true }, lease))
        };
        ToTheEnd::new(&shared.closings, id, runtime, acquire).await
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
        let (shared, lease) = (Arc::clone(&self.shared), self.lease.clone());
        let release = async move { shared.release(lease).await };
        let _ = ToTheEnd::new(&self.shared.closings, &self.lease.id, &self.runtime, release).await;
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if self.is_armed {
            let (shared, lease) = (Arc::clone(&self.shared), self.lease.clone());
            let release = async move { drop(shared.release(lease).await) };
            self.shared.closings.in_background(&self.lease.id, &self.runtime, release);
        }
    }
}
