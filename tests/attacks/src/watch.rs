//! What watches all attacks: panics wherever they happen, secrets in the log, memory, and cases that do not end.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::RefCell;
use std::fmt::{Debug, Write as _};
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use crate::check::SECRET;

/// What a callback panics with that is meant to.
pub(crate) const ON_PURPOSE: &str = "on purpose";

/// The longest a case may take: far more than any takes on a busy machine.
const LONGEST: Duration = Duration::from_secs(180);

/// What was seen beside a case's own result.
static SEEN: Mutex<Vec<String>> = Mutex::new(Vec::new());

fn see(what: String) {
    let mut seen = SEEN.lock().unwrap_or_else(PoisonError::into_inner);
    if seen.len() < 20 {
        seen.push(what);
    }
}

/// What was seen since the last call.
pub(crate) fn take_seen() -> Vec<String> {
    std::mem::take(&mut *SEEN.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Begins to watch.
pub(crate) fn start() {
    std::panic::set_hook(Box::new(|panic| {
        let payload = panic.payload();
        let owned = payload.downcast_ref::<String>().map(String::as_str);
        let text = payload.downcast_ref::<&str>().copied().or(owned).unwrap_or("not a text");
        if !text.contains(ON_PURPOSE) {
            let place = panic.location().map(ToString::to_string).unwrap_or_default();
            see(format!("a panic at {place}: {text}"));
        }
    }));
    tracing::subscriber::set_global_default(Log::default()).expect("no other subscriber");
    std::thread::spawn(|| {
        let mut last = (0, String::new());
        let mut waited = Duration::ZERO;
        loop {
            std::thread::sleep(Duration::from_secs(1));
            let now = CASE.lock().unwrap_or_else(PoisonError::into_inner).clone();
            waited = if now == last { waited + Duration::from_secs(1) } else { Duration::ZERO };
            last = now;
            if waited >= LONGEST {
                println!("FAILED {} does not end: {:?}", last.1, take_seen());
                println!("0 passed, 1 failed, 0 skipped");
                std::process::exit(1);
            }
        }
    });
}

/// The case that is played, by its number.
static CASE: Mutex<(u64, String)> = Mutex::new((0, String::new()));

/// A case begins.
pub(crate) fn begin(name: String) {
    let mut case = CASE.lock().unwrap_or_else(PoisonError::into_inner);
    *case = (case.0 + 1, name);
}

/// A long case goes on.
pub(crate) fn alive() {
    CASE.lock().unwrap_or_else(PoisonError::into_inner).0 += 1;
}

/// Reads every line of the log, at every level.
#[derive(Default)]
struct Log(AtomicU64);

struct Text(String);

impl Visit for Text {
    fn record_debug(&mut self, _: &Field, value: &dyn Debug) {
        let _ = write!(self.0, "{value:?} ");
    }
}

impl Text {
    fn check(self) {
        if self.0.contains(SECRET) {
            see(format!("a secret in the log: {}", self.0));
        }
    }
}

impl Subscriber for Log {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("agent_loop")
    }

    fn new_span(&self, attributes: &Attributes<'_>) -> Id {
        let mut text = Text(String::new());
        attributes.record(&mut text);
        text.check();
        // Odd numbers are those of runs.
        let is_run = attributes.metadata().name() == "agent_run";
        Id::from_u64((self.0.fetch_add(1, Ordering::Relaxed) + 1) * 2 + u64::from(is_run))
    }

    fn record(&self, _: &Id, values: &Record<'_>) {
        let mut text = Text(String::new());
        values.record(&mut text);
        text.check();
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut text = Text(String::new());
        event.record(&mut text);
        text.check();
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, id: &Id) {
        if id.into_u64() % 2 == 1 {
            // Not while it is called: what it does may poll a run.
            let called = AFTER_POLL.take();
            if let Some(mut function) = called {
                function();
                AFTER_POLL.set(Some(function));
            }
        }
    }
}

thread_local! {
    static AFTER_POLL: RefCell<Option<Box<dyn FnMut()>>> = const { RefCell::new(None) };
}

/// Calls this after each poll of a run on this thread, as long as what it gives lives.
pub(crate) fn after_polls(function: impl FnMut() + 'static) -> AfterPolls {
    AFTER_POLL.set(Some(Box::new(function)));
    AfterPolls
}

pub(crate) struct AfterPolls;

impl Drop for AfterPolls {
    fn drop(&mut self) {
        drop(AFTER_POLL.take());
    }
}

/// The system's allocator, which counts.
struct Counting;

static BYTES: AtomicI64 = AtomicI64::new(0);
static MOST: AtomicI64 = AtomicI64::new(0);

fn count(more: usize, less: usize) {
    let by = more.cast_signed() as i64 - less.cast_signed() as i64;
    let now = BYTES.fetch_add(by, Ordering::Relaxed) + by;
    if by > 0 {
        MOST.fetch_max(now, Ordering::Relaxed);
    }
}

// SAFETY: every call goes on to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size(), 0);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        count(0, layout.size());
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size, layout.size());
        // SAFETY: the caller's promise.
        unsafe { System.realloc(at, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// How many bytes are allocated.
pub(crate) fn bytes() -> i64 {
    BYTES.load(Ordering::Relaxed)
}

/// The most bytes that were allocated since the last call.
pub(crate) fn take_peak() -> i64 {
    MOST.swap(bytes(), Ordering::Relaxed)
}
