//! Hands log records to a function that may block, one at a time and in order, on a thread of the runtime's pool. Whoever writes
//! a record never waits for the function; where it is too slow, records are dropped and counted.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agent_loop_proto::table::logs;

use super::record::LogRecord;
use crate::threads::Pool;

/// Takes the records of a runtime, one at a time and in order, on a thread where it may block. Nothing waits for it.
pub type LogFunction = Arc<dyn Fn(LogRecord) + Send + Sync>;

/// The most records that wait.
const MOST: usize = 1024;

/// Records on their way to a function.
pub(crate) struct LogQueue {
    pool: Arc<Pool>,
    function: LogFunction,
    state: Mutex<State>,
    has_emptied: Condvar,
}

#[derive(Default)]
struct State {
    records: VecDeque<LogRecord>,
    dropped: u64,
    /// Whether a thread hands records on.
    is_active: bool,
}

impl LogQueue {
    pub(crate) fn new(pool: &Arc<Pool>, function: LogFunction) -> Arc<LogQueue> {
        let (state, has_emptied) = (Mutex::default(), Condvar::new());
        Arc::new(LogQueue { pool: Arc::clone(pool), function, state, has_emptied })
    }

    pub(crate) fn push(self: &Arc<Self>, record: LogRecord) {
        let mut state = self.lock();
        if state.records.len() < MOST {
            state.records.push_back(record);
        } else {
            state.dropped += 1;
        }
        if std::mem::replace(&mut state.is_active, true) {
            return;
        }
        drop(state);
        let mut work = Work(Some(Arc::clone(self)));
        // Without a thread the records wait for the next one.
        let _ = self.pool.spawn(move || {
            if let Some(queue) = work.0.take() {
                queue.run();
            }
        });
    }

    /// Waits until all records have been handed on, at most so long.
    pub(crate) fn flush(&self, timeout: Duration) {
        let is_busy = |state: &mut State| state.is_active;
        drop(self.has_emptied.wait_timeout_while(self.lock(), timeout, is_busy));
    }

    fn run(&self) {
        while let Some(record) = self.next() {
            // What it does is the application's.
            let _ = catch_unwind(AssertUnwindSafe(|| (self.function)(record)));
        }
    }

    /// The next record; without one, no thread hands records on any more.
    fn next(&self) -> Option<LogRecord> {
        let mut state = self.lock();
        let next = state.records.pop_front().or_else(|| {
            let count = std::mem::take(&mut state.dropped);
            let text = format!("{count} log records were dropped: the log function is too slow, and {MOST} were waiting for it");
            (count > 0).then(|| LogRecord::new(logs::RECORDS_DROPPED, text).with("count", count))
        });
        if next.is_none() {
            state.is_active = false;
            self.has_emptied.notify_all();
        }
        next
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The work of a thread. It is dropped without being done where there is no thread.
struct Work(Option<Arc<LogQueue>>);

impl Drop for Work {
    fn drop(&mut self) {
        if let Some(queue) = &self.0 {
            queue.lock().is_active = false;
            queue.has_emptied.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use agent_loop_proto::table::logs::RUN_END;

    use super::*;
    use crate::threads::ThreadOptions;

    const LONG: Duration = Duration::from_secs(60);

    fn record(number: u64) -> LogRecord {
        LogRecord::new(RUN_END, "").with("number", number)
    }

    #[test]
    fn found_c7_records_come_in_order_and_a_panic_loses_none() {
        let pool = Pool::new(ThreadOptions::default());
        let (send, receive) = channel();
        let queue = LogQueue::new(
            &pool,
            Arc::new(move |record| {
                let number = record.data.get("number").and_then(serde_json::Value::as_u64).unwrap();
                send.send(number).unwrap();
                assert_ne!(number % 10, 3, "a number that I do not like");
            }),
        );
        for number in 0..500 {
            queue.push(record(number));
        }
        queue.flush(LONG);
        assert_eq!(receive.try_iter().collect::<Vec<_>>(), (0..500).collect::<Vec<_>>());
        queue.push(record(500));
        queue.flush(LONG);
        assert_eq!(receive.try_recv(), Ok(500));
        pool.close(LONG);
    }

    #[test]
    fn found_c7_what_a_slow_function_cannot_take_is_counted() {
        let pool = Pool::new(ThreadOptions::default());
        let ((send, receive), (go, gate)) = (channel(), channel::<()>());
        let gate = Mutex::new(gate);
        let queue = LogQueue::new(
            &pool,
            Arc::new(move |record| {
                send.send(record).unwrap();
                // Until the other end is dropped.
                let _ = gate.lock().unwrap().recv();
            }),
        );
        queue.push(record(0));
        // It has that one, and takes no other now.
        assert_eq!(receive.recv().unwrap().code(), "run_end");
        for number in 1..=MOST as u64 + 7 {
            queue.push(record(number));
        }
        queue.flush(Duration::ZERO);
        drop(go);
        queue.flush(LONG);
        let records: Vec<LogRecord> = receive.try_iter().collect();
        assert_eq!(records.len(), MOST + 1);
        let last = records.last().unwrap();
        assert_eq!((last.code(), last.data["count"].as_u64()), ("records_dropped", Some(7)));
        pool.close(LONG);
    }

    #[test]
    fn found_c7_without_a_thread_records_wait_for_one() {
        // No address space has this much left.
        let pool = Pool::new(ThreadOptions { stack_bytes: 1 << 46, ..ThreadOptions::default() });
        let queue = LogQueue::new(&pool, Arc::new(|_| {}));
        queue.push(record(0));
        queue.push(record(1));
        queue.flush(LONG);
        assert_eq!(queue.lock().records.len(), 2);
        pool.close(LONG);
        queue.push(record(2));
        queue.flush(LONG);
    }
}
