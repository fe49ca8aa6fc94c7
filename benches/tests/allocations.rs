//! The allocations of a delta between the socket and user code: its text. A reader that falls back to the general one, or to a
//! JSON tree (ten or more allocations for the smallest frame), fails here, on any machine.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::hint::black_box;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use agent_loop::model::{BlockStart, Delta, DeltaSink, Model, ModelInfo, ModelRequest};
use agent_loop::{Agent, Error, EventData, FnTool, MessageUpdate, ModelSpec, Outcome, Runtime, StopReason};
use agent_loop_benches::answers::Format;
use serde_json::{Value, json};

/// The system's allocator, which counts by thread: a run and its connection are on the test's own.
struct Counting;

thread_local! {
    static COUNT: Cell<u64> = const { Cell::new(0) };
    /// The bytes that are allocated, and the most that were.
    static BYTES: Cell<(isize, isize)> = const { Cell::new((0, 0)) };
}

fn count() {
    // Not available while the thread ends.
    let _ = COUNT.try_with(|count| count.set(count.get() + 1));
}

fn count_bytes(more: usize, less: usize) {
    let _ = BYTES.try_with(|bytes| {
        let (now, most) = bytes.get();
        // While it moves, an allocation is there twice.
        let (peak, now) = (now + more.cast_signed(), now + more.cast_signed() - less.cast_signed());
        bytes.set((now, most.max(peak)));
    });
}

// SAFETY: every call goes on to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        count_bytes(layout.size(), 0);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        count_bytes(0, layout.size());
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        count_bytes(size, layout.size());
        // SAFETY: the caller's promise.
        unsafe { System.realloc(at, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The benchmark's server, as long as this lives.
struct Server {
    process: Child,
    url: String,
}

impl Server {
    fn start() -> Server {
        let mut process = Command::new(env!("CARGO_BIN_EXE_bench-server"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("bench-server starts");
        let mut url = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut url).unwrap();
        Server { process, url: url.trim().to_owned() }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The allocations of one run, and the deltas that came.
async fn run(runtime: &Runtime, url: &str, format: Format, model: &str) -> (u64, u64) {
    let (provider, protocol) = match format {
        Format::Anthropic => ("anthropic", "anthropic"),
        Format::Chat => ("openai", "openai_chat"),
        Format::Responses => ("openai", "openai_responses"),
        Format::Gemini => ("google", "gemini"),
    };
    let spec = ModelSpec::from_json(json!({ "provider": provider, "id": model, "protocol": protocol })).unwrap();
    let agent = Agent::builder(spec).runtime(runtime).base_url(url).build().unwrap();
    let parameters = json!({ "type": "object", "properties": { "text": { "type": "string" } } });
    let echo = FnTool::new("echo", "Says nothing.", parameters, |_: Value, _call| async move { Ok::<_, &str>(json!("heard")) });
    agent.add_tool(Arc::new(echo.unwrap())).unwrap();

    let before = COUNT.get();
    let mut run = agent.stream("Go.").unwrap();
    let mut deltas = 0;
    while let Some(event) = run.next().await {
        if let EventData::MessageUpdate(MessageUpdate::TextDelta { delta, .. } | MessageUpdate::ToolCallDelta { delta, .. }) =
            &event.data
        {
            deltas += u64::from(!black_box(delta).is_empty());
        }
    }
    let result = run.result().await.unwrap();
    assert_eq!(result.outcome, Outcome::Completed, "{format:?} {model}: {:?}", result.error);
    (COUNT.get() - before, deltas)
}

/// Allocations for one more chunk of text or arguments: what 4,000 chunks need beyond 2,000.
fn per_piece(url: &str, format: Format, kind: &str) -> f64 {
    let tokio = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    tokio.block_on(async {
        let runtime = Runtime::current().unwrap();
        // Connects, and allocates what is allocated once.
        run(&runtime, url, format, &format!("{kind}-10")).await;
        let (few, fewer) = run(&runtime, url, format, &format!("{kind}-2000")).await;
        let (many, more) = run(&runtime, url, format, &format!("{kind}-4000")).await;
        if kind == "text" || format != Format::Gemini {
            assert_eq!(more - fewer, 2000, "{format:?} {kind}");
        }
        (many as f64 - few as f64) / 2000.0
    })
}

#[test]
fn found_e2_no_json_tree_is_built_for_a_piece_of_text_or_of_arguments() {
    let server = Server::start();
    let mut wrong = Vec::new();
    // The text, and sometimes a growing list; in Gemini also the token counts and the steps of a path.
    let limits =
        [(Format::Anthropic, 1.5, 1.5), (Format::Chat, 1.5, 1.5), (Format::Responses, 1.5, 1.5), (Format::Gemini, 2.5, 5.5)];
    for (format, text, arguments) in limits {
        for (kind, limit) in [("text", text), ("tool", arguments)] {
            let each = per_piece(&server.url, format, kind);
            println!("{}, {kind}: {each:.2} allocations a piece, at most {limit}", format.name());
            if each > limit {
                wrong.push(format!("{} {kind}: {each:.2}, more than {limit}", format.name()));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Answers with a text in so many pieces of this size.
struct Writes {
    pieces: usize,
    size: usize,
}

impl Model for Writes {
    fn info(&self) -> ModelInfo<'_> {
        ModelInfo { provider: "own", protocol: "own", id: "w", prices: None }
    }

    fn stream<'a>(
        &'a self,
        _: &'a ModelRequest,
        sink: &'a DeltaSink,
    ) -> std::pin::Pin<Box<dyn Future<Output = Result<(), Error>> + Send + 'a>> {
        Box::pin(async move {
            sink.push(Delta::Start { key: 0, block: BlockStart::Text });
            for _ in 0..self.pieces {
                sink.push(Delta::Append { key: 0, text: "x".repeat(self.size) });
                sink.ready().await;
            }
            sink.push(Delta::Stop { reason: StopReason::Stop, raw: None });
            Ok(())
        })
    }
}

#[test]
fn found_a8_a_message_takes_at_most_four_times_its_size() {
    let tokio = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    // The second is all deltas: each costs 16 bytes of the message's size.
    for (pieces, size) in [(3000, 16 << 10), (500_000, 4)] {
        let counted = pieces * (size + 16);
        tokio.block_on(async {
            let agent = Agent::builder(Writes { pieces, size }).build().unwrap();
            let (before, _) = BYTES.get();
            BYTES.set((before, before));
            let mut run = agent.stream("Go.").unwrap();
            while let Some(event) = run.next().await {
                black_box(event);
            }
            assert_eq!(run.result().await.unwrap().text.len(), pieces * size);
            let times = (BYTES.get().1 - before) as f64 / counted as f64;
            println!("{pieces} pieces of {size} bytes: {times:.2} times the message's size");
            assert!(times <= 4.0, "{pieces} pieces of {size} bytes: {times:.2} times");
        });
    }
}
