//! Log records, for whoever runs a program: what failed in a function of the application, what is retried, what no event can
//! report. Each goes to `tracing`, and to the function that a host of another language has set for a run or for the runtime.
//!
//! Their levels and codes are rows of [`agent_loop_proto::table::logs`]. `queue` hands records to the runtime's
//! function.

mod queue;
mod record;

use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};
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
    /// The last level that is written to standard error; 0 for none.
    on_stderr: u8,
    queue: Mutex<Option<Arc<LogQueue>>>,
}

/// The variable that has the last level of the records that are written to standard error.
const VARIABLE: &str = "AGENT_LOOP_LOG";

impl Log {
    /// A log that also writes to standard error, if the environment says so.
    pub(crate) fn of_environment() -> Log {
        let word = std::env::var(VARIABLE).unwrap_or_default();
        let level = LogLevel::ALL.iter().copied().find(|level| level.as_str().eq_ignore_ascii_case(word.trim()));
        if level.is_none() && !word.trim().is_empty() {
            let known: Vec<_> = LogLevel::ALL.iter().map(|level| level.as_str()).collect();
            to_stderr(&format!("agent-loop: the variable {VARIABLE} is {word:?}, and no level; known are {}", known.join(", ")));
        }
        Log(Arc::new(Inner { on_stderr: level.map_or(0, |level| level as u8), ..Inner::default() }))
    }

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
        let (is_traced, is_wanted, is_shown) = (is_traced(code), self.wants(code), self.shows(code));
        if !is_traced && !is_wanted && !is_shown {
            return;
        }
        let record = make(code);
        if is_traced {
            record.trace();
        }
        if is_shown {
            to_stderr(&record.line());
        }
        if is_wanted {
            self.give(record);
        }
    }

    fn wants(&self, code: LogCode) -> bool {
        code.level as u8 <= self.0.level.load(Ordering::Acquire)
    }

    fn shows(&self, code: LogCode) -> bool {
        code.level as u8 <= self.0.on_stderr
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

/// Writes a line where whoever runs the program looks. That it cannot be written is nothing that could be reported.
fn to_stderr(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
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
    pub(crate) conversation_id: Arc<str>,
    /// The turn that the run is in; 0 before the first.
    pub(crate) turn: Arc<AtomicU32>,
    pub(crate) runtime: Log,
    /// Before the runtime's.
    pub(crate) own: Option<(LogLevel, RunLogFunction)>,
}

impl RunLog {
    pub(crate) fn write(&self, code: LogCode, make: impl FnOnce(LogCode) -> LogRecord) {
        let own = self.own.as_ref().filter(|(level, _)| code.level <= *level).map(|(_, function)| function);
        let (is_traced, is_wanted, is_shown) = (is_traced(code), self.runtime.wants(code), self.runtime.shows(code));
        if !is_traced && !is_wanted && !is_shown && own.is_none() {
            return;
        }
        let mut record = make(code);
        record.run_id = Some(Arc::clone(&self.run_id));
        record.conversation_id = Some(Arc::clone(&self.conversation_id));
        record.turn = Some(self.turn.load(Ordering::Relaxed)).filter(|turn| *turn > 0);
        if is_traced {
            record.trace();
        }
        if is_shown {
            to_stderr(&record.line());
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
