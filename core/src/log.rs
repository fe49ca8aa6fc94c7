//! Log records, for whoever runs a program: what failed in a function of the application, what is retried, what no event can
//! report. Each goes to `tracing`, and to the function that a host of another language has set for a run or for the runtime.
//!
//! Their levels and codes are rows of [`agent_loop_proto::table::logs`]. `queue` hands records to the runtime's
//! function.

mod queue;
mod record;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use agent_loop_proto::table::logs::LogCode;
pub use agent_loop_proto::table::logs::LogLevel;
use tracing::level_filters::LevelFilter;

#[cfg(feature = "__bindings")]
use crate::threads::Pool;
#[cfg(feature = "__bindings")]
pub use queue::LogFunction;
use queue::LogQueue;
pub use record::LogRecord;

/// Takes the records of one run, or gives them back for the function of the runtime. It is called where something has happened,
/// outside of all locks, and must not block.
pub type RunLogFunction = Arc<dyn Fn(LogRecord) -> Option<LogRecord> + Send + Sync>;

/// Where the records of a runtime go, for all that belongs to it. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Inner>);

#[derive(Default)]
struct Inner {
    /// The last level that the function gets; 0 without one.
    level: AtomicU8,
    queue: Mutex<Option<Arc<LogQueue>>>,
}

impl Log {
    /// Sets or removes the function that gets the records up to a level, on threads of the pool.
    #[cfg(feature = "__bindings")]
    pub(crate) fn set(&self, level: LogLevel, function: Option<LogFunction>, pool: &Arc<Pool>) {
        let queue = function.map(|function| LogQueue::new(pool, function));
        let mut current = self.0.queue.lock().unwrap_or_else(PoisonError::into_inner);
        self.0.level.store(if queue.is_some() { level as u8 } else { 0 }, Ordering::Release);
        let before = std::mem::replace(&mut *current, queue);
        // Not under the lock: what the function owns may call back.
        drop(current);
        drop(before);
    }

    /// Waits until the function has had all records, at most so long.
    pub(crate) fn flush(&self, timeout: Duration) {
        if let Some(queue) = self.queue() {
            queue.flush(timeout);
        }
    }

    /// Writes a record that is about no run, or several.
    pub(crate) fn write(&self, code: LogCode, make: impl FnOnce(LogCode) -> LogRecord) {
        let (is_traced, is_wanted) = (is_traced(code), self.wants(code));
        if !is_traced && !is_wanted {
            return;
        }
        let record = make(code);
        if is_traced {
            record.trace();
        }
        if is_wanted {
            self.give(record);
        }
    }

    fn wants(&self, code: LogCode) -> bool {
        code.level as u8 <= self.0.level.load(Ordering::Acquire)
    }

    fn give(&self, record: LogRecord) {
        if let Some(queue) = self.queue() {
            queue.push(record);
        }
    }

    fn queue(&self) -> Option<Arc<LogQueue>> {
        self.0.queue.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl std::fmt::Debug for Log {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Log").field("level", &self.0.level).finish_non_exhaustive()
    }
}

/// Whether someone may listen to `tracing` at this level.
fn is_traced(code: LogCode) -> bool {
    let level = match code.level {
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        _ => LevelFilter::DEBUG,
    };
    level <= LevelFilter::current()
}

/// Where the records of one run go.
#[derive(Clone)]
pub(crate) struct RunLog {
    pub(crate) run_id: Arc<str>,
    pub(crate) runtime: Log,
    /// Before the runtime's.
    pub(crate) own: Option<(LogLevel, RunLogFunction)>,
}

impl RunLog {
    pub(crate) fn write(&self, code: LogCode, make: impl FnOnce(LogCode) -> LogRecord) {
        let own = self.own.as_ref().filter(|(level, _)| code.level <= *level).map(|(_, function)| function);
        let (is_traced, is_wanted) = (is_traced(code), self.runtime.wants(code));
        if !is_traced && !is_wanted && own.is_none() {
            return;
        }
        let mut record = make(code);
        record.run_id = Some(Arc::clone(&self.run_id));
        if is_traced {
            record.trace();
        }
        let left = match own {
            Some(function) => catch_unwind(AssertUnwindSafe(|| function(record))).unwrap_or_default(),
            None => Some(record),
        };
        if let Some(record) = left.filter(|_| is_wanted) {
            self.runtime.give(record);
        }
    }
}

impl std::fmt::Debug for RunLog {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RunLog").field("run_id", &self.run_id).finish_non_exhaustive()
    }
}
