//! Threads on which code of the host may block: tools that are plain functions, callbacks of C, files, names of hosts.
//!
//! Not tokio's, which panics or waits for ever when the system gives no thread, and is started with the host's signals. A thread
//! is started when none is idle, and ends after some seconds without work.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::runtime::Handle;

use super::signals::{self, Mask};
use super::thread_options::ThreadOptions;

/// How long a thread stays without work.
const LINGER: Duration = Duration::from_secs(10);

type Job = Box<dyn FnOnce() + Send>;

thread_local! {
    /// The pool of the runtime whose work this thread does.
    pub(super) static CURRENT: RefCell<Option<Arc<Pool>>> = const { RefCell::new(None) };
}

/// Says that this thread belongs to a pool's runtime from now on.
pub(crate) fn enter_pool(pool: &Arc<Pool>) {
    CURRENT.set(Some(Arc::clone(pool)));
}

/// The threads of one runtime on which code may block.
#[derive(Debug)]
pub(crate) struct Pool {
    state: Mutex<State>,
    /// Wakes idle threads.
    has_work: Condvar,
    /// Wakes who waits for the last thread.
    has_ended: Condvar,
    options: ThreadOptions,
    /// What code on these threads finds as its tokio runtime.
    handle: OnceLock<Handle>,
    /// The signals that were blocked where the runtime was made.
    of_host: Mask,
}

#[derive(Default)]
struct State {
    jobs: VecDeque<Job>,
    idle: usize,
    threads: usize,
    /// Tools that run, or are about to.
    tools: usize,
    /// Tools above the most that may run.
    waiting_tools: VecDeque<Job>,
    is_closed: bool,
    /// Of threads that have not ended by themselves, by their number.
    handles: Vec<(u64, JoinHandle<()>)>,
    next: u64,
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("State").field("threads", &self.threads).finish_non_exhaustive()
    }
}

impl Pool {
    /// A pool without threads.
    pub(crate) fn new(options: ThreadOptions) -> Arc<Pool> {
        Arc::new(Pool {
            state: Mutex::default(),
            has_work: Condvar::new(),
            has_ended: Condvar::new(),
            options,
            handle: OnceLock::new(),
            of_host: Mask::current(),
        })
    }

    /// Says what the tokio runtime of these threads is.
    pub(crate) fn belongs_to(&self, handle: Handle) {
        let _ = self.handle.set(handle);
    }

    pub(crate) fn options(&self) -> &ThreadOptions {
        &self.options
    }

    #[cfg_attr(not(feature = "__bindings"), allow(dead_code))]
    pub(super) fn host_mask(&self) -> Mask {
        self.of_host
    }

    /// Runs a job on a thread of its own. After the end of the runtime it is dropped.
    ///
    /// # Errors
    /// When the system gives no thread; the job is dropped.
    pub(crate) fn spawn(self: &Arc<Self>, job: impl FnOnce() + Send + 'static) -> io::Result<()> {
        self.start(self.lock(), Box::new(job))
    }

    /// The same for a tool, of which there are at most as many as the runtime allows: a further one waits until one has ended.
    ///
    /// # Errors
    /// As [`Pool::spawn`].
    pub(crate) fn spawn_tool(self: &Arc<Self>, job: impl FnOnce() + Send + 'static) -> io::Result<()> {
        let mut state = self.lock();
        if state.tools >= self.options.max_tool_threads {
            if !state.is_closed {
                state.waiting_tools.push_back(Box::new(job));
            }
            return Ok(());
        }
        state.tools += 1;
        let pool = Arc::clone(self);
        let started = self.start(state, Box::new(move || pool.run_tools(Box::new(job))));
        if started.is_err() {
            // One that came meanwhile waits for no other.
            self.next_tool();
        }
        started
    }

    /// Runs a tool, and those that wait.
    fn run_tools(self: &Arc<Self>, first: Job) {
        let mut job = Some(first);
        while let Some(tool) = job {
            run(tool);
            job = self.next_tool_here();
        }
    }

    /// The tool to be run in the place of one that has ended.
    fn next_tool_here(&self) -> Option<Job> {
        let mut state = self.lock();
        let next = state.waiting_tools.pop_front();
        if next.is_none() {
            state.tools -= 1;
        }
        next
    }

    /// Gives up the place of a tool that could not be started.
    fn next_tool(self: &Arc<Self>) {
        let mut state = self.lock();
        state.tools -= 1;
        let none_runs = state.tools == 0;
        let stranded = if none_runs { std::mem::take(&mut state.waiting_tools) } else { VecDeque::new() };
        drop(state);
        // Without a thread they would wait for ever. Dropped, their calls fail.
        drop(stranded);
    }

    fn start(self: &Arc<Self>, mut state: MutexGuard<'_, State>, job: Job) -> io::Result<()> {
        if state.is_closed {
            drop(state);
            // Not under the lock: what a job owns may call back.
            drop(job);
            return Ok(());
        }
        if state.idle > state.jobs.len() {
            state.jobs.push_back(job);
            drop(state);
            self.has_work.notify_one();
            return Ok(());
        }
        let number = state.next;
        state.next += 1;
        let (pool, job) = (Arc::clone(self), Arc::new(Mutex::new(Some(job))));
        let of_thread = Arc::clone(&job);
        // Under the lock, so that the thread's handle is there when it ends. A thread starts within microseconds.
        let started = signals::blocked(|| {
            let builder = std::thread::Builder::new().name(self.options.thread_name.clone());
            builder.stack_size(self.options.stack_bytes).spawn(move || pool.work(number, take(&of_thread)))
        });
        match started {
            Ok(handle) => {
                state.threads += 1;
                state.handles.push((number, handle));
                Ok(())
            }
            Err(error) => {
                drop(state);
                // Neither is this dropped under the lock.
                drop(take(&job));
                Err(error)
            }
        }
    }

    /// A thread.
    fn work(self: Arc<Self>, number: u64, first: Option<Job>) {
        let _context = self.handle.get().map(Handle::enter);
        enter_pool(&self);
        let mut job = first;
        loop {
            while let Some(next) = job {
                // The code before may have changed them.
                signals::block();
                run(next);
                job = self.lock().jobs.pop_front();
            }
            let mut state = self.lock();
            if state.is_closed {
                state.threads -= 1;
                drop(state);
                self.has_ended.notify_all();
                return;
            }
            state.idle += 1;
            let (mut state, waited) = self.has_work.wait_timeout(state, LINGER).unwrap_or_else(PoisonError::into_inner);
            state.idle -= 1;
            job = state.jobs.pop_front();
            if job.is_none() && waited.timed_out() {
                state.threads -= 1;
                let of_this = state.handles.iter().position(|(of, _)| *of == number);
                let handle = of_this.map(|place| state.handles.swap_remove(place));
                drop(state);
                drop(handle);
                self.has_ended.notify_all();
                return;
            }
        }
    }

    /// Ends the threads: idle ones at once, others with their work, for which it waits so long. Jobs that wait are dropped.
    pub(crate) fn close(&self, timeout: Duration) {
        let mut state = self.lock();
        state.is_closed = true;
        let jobs = (std::mem::take(&mut state.jobs), std::mem::take(&mut state.waiting_tools));
        drop(state);
        drop(jobs);
        self.has_work.notify_all();
        let wait = self.has_ended.wait_timeout_while(self.lock(), timeout, |state| state.threads > 0);
        let mut state = wait.unwrap_or_else(PoisonError::into_inner).0;
        let handles = std::mem::take(&mut state.handles);
        let have_ended = state.threads == 0;
        drop(state);
        for (_, handle) in handles {
            if have_ended && handle.thread().id() != std::thread::current().id() {
                // It has nothing left to do but to end.
                let _ = handle.join();
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn take(job: &Mutex<Option<Job>>) -> Option<Job> {
    job.lock().unwrap_or_else(PoisonError::into_inner).take()
}

/// A job that panics has failed whoever waits for it; the thread goes on.
fn run(job: Job) {
    let _ = catch_unwind(AssertUnwindSafe(job));
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    fn pool(most: usize) -> Arc<Pool> {
        Pool::new(ThreadOptions { max_tool_threads: most, ..ThreadOptions::default() })
    }

    /// Threads and tools.
    fn counts(pool: &Pool) -> (usize, usize) {
        let state = pool.lock();
        (state.threads, state.tools)
    }

    #[test]
    fn found_c8_tools_above_the_most_wait_for_one_that_ends() {
        let pool = pool(2);
        let (started, starts) = channel();
        let (go, gates): (Vec<_>, Vec<_>) = (0..3).map(|_| channel::<()>()).unzip();
        for (number, gate) in gates.into_iter().enumerate() {
            let started = started.clone();
            pool.spawn_tool(move || {
                started.send(number).unwrap();
                let _ = gate.recv();
            })
            .unwrap();
        }
        let mut first = [starts.recv().unwrap(), starts.recv().unwrap()];
        first.sort_unstable();
        assert_eq!(first, [0, 1]);
        assert_eq!(pool.lock().threads, 2);
        // Another job than a tool has a thread in any case.
        let (done, is_done) = channel();
        pool.spawn(move || done.send(()).unwrap()).unwrap();
        is_done.recv().unwrap();
        assert!(starts.try_recv().is_err());
        drop(go);
        assert_eq!(starts.recv().unwrap(), 2);
        pool.close(Duration::from_secs(60));
        assert_eq!(counts(&pool), (0, 0));
    }

    #[test]
    fn a_thread_is_used_again_and_outlives_a_panic() {
        let pool = pool(8);
        let (send, receive) = channel();
        for _ in 0..20 {
            let send = send.clone();
            pool.spawn(move || {
                let _last = std::panic::catch_unwind(|| std::panic::resume_unwind(Box::new("no")));
                send.send(()).unwrap();
                std::panic::resume_unwind(Box::new("a job's own"));
            })
            .unwrap();
            receive.recv().unwrap();
            // Until it is idle: what a job sends comes before that.
            while pool.lock().idle == 0 {
                std::thread::yield_now();
            }
        }
        assert_eq!(pool.lock().threads, 1);
        pool.close(Duration::from_secs(60));
    }

    #[test]
    fn what_comes_after_the_end_is_dropped() {
        let pool = pool(8);
        pool.close(Duration::ZERO);
        let (send, receive) = channel();
        pool.spawn(move || send.send(()).unwrap()).unwrap();
        assert!(receive.recv().is_err());
    }

    #[test]
    fn found_e3_a_thread_that_cannot_be_started_is_an_error() {
        // No address space has this much left.
        let pool = Pool::new(ThreadOptions { stack_bytes: 1 << 46, ..ThreadOptions::default() });
        let (send, receive) = channel::<()>();
        let of_tool = send.clone();
        assert!(pool.spawn(move || drop(send)).is_err());
        assert!(pool.spawn_tool(move || drop(of_tool)).is_err());
        assert!(receive.recv().is_err());
        assert_eq!(counts(&pool), (0, 0));
    }
}
