//! What all handles of a store have in common: where its work is done, and where a thread may wait for it.

use std::future::Future;
use std::pin::pin;
use std::time::Duration;

use agent_loop::host::Scope;
use agent_loop::session::hosting::on_runtime;
use agent_loop::{Error, ErrorKind, Runtime};

use crate::block_on::block_on;

/// Where the work of a store is done.
#[derive(Debug, Clone)]
pub(crate) struct Owner {
    runtime: Runtime,
    /// The callbacks of a custom store.
    scope: Option<Scope>,
}

impl Owner {
    pub(crate) fn new(runtime: &Runtime, scope: Option<Scope>) -> Owner {
        Owner { runtime: runtime.clone(), scope }
    }

    /// Fails where a thread cannot wait for the store. `function` begins the message.
    pub(crate) fn check(&self, function: &str) -> Result<(), Error> {
        if self.scope.as_ref().is_some_and(Scope::is_inside) {
            let text = format!("{function} inside a callback of the same store would deadlock; do it after the callback");
            return Err(Error::new(ErrorKind::InvalidState, text));
        }
        self.runtime.check()
    }

    /// Does work on the runtime's threads, and blocks this one meanwhile.
    pub(crate) fn wait<T: Send + 'static>(
        &self,
        function: &str,
        work: impl Future<Output = Result<T, Error>> + Send + 'static,
    ) -> Result<T, Error> {
        self.check(function)?;
        self.wait_for(on_runtime(&self.runtime, work))
    }

    /// The same for work that is begun on this thread, in `begin`, and that needs no runtime to be waited for.
    pub(crate) fn wait_here<T, F: Future<Output = Result<T, Error>>>(
        &self,
        function: &str,
        begin: impl FnOnce() -> F,
    ) -> Result<T, Error> {
        self.check(function)?;
        self.wait_for(self.runtime.run_here(begin))
    }

    fn wait_for<T>(&self, future: impl Future<Output = T>) -> T {
        let mut future = pin!(future);
        loop {
            // Without a limit, none is exceeded.
            if let Some(output) = self.block_on(future.as_mut(), None) {
                return output;
            }
        }
    }

    /// The output of the future; `None` if the time passed first.
    pub(crate) fn block_on<T>(&self, future: impl Future<Output = T>, limit: Option<Duration>) -> Option<T> {
        let mut future = pin!(future);
        let now = block_on(future.as_mut(), Some(Duration::ZERO));
        if now.is_some() {
            return now;
        }
        // This thread may have done the runtime's work until now, in agent_run_next.
        self.runtime.reclaim();
        block_on(future, limit)
    }

    pub(crate) fn runtime(&self) -> &Runtime {
        &self.runtime
    }

    /// Whether this is a child of a fork: what it has is the parent's, and so may be the locks.
    pub(crate) fn is_forked(&self) -> bool {
        self.runtime.is_forked()
    }

    /// Drops what may write to the store when it is dropped: not on this thread, which does not wait for it.
    pub(crate) fn release<T: Send + 'static>(&self, value: T) {
        if self.is_forked() {
            // What it would write belongs to the parent, and so do the threads.
            std::mem::forget(value);
        } else {
            self.runtime.spawn(async move { drop(value) });
        }
    }
}
