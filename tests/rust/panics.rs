//! A run ends whatever panics: its listeners and its reader get `agent_end`, and the messages so far are kept.

use std::fmt::Debug;
use std::sync::LazyLock;

use agent_loop::model::{BlockStart, BoxFuture, Delta, DeltaSink, Model, ModelInfo, ModelRequest, Prices};
use agent_loop::{Error, ErrorKind, Outcome, StopReason, Usage};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::DefaultGuard;
use tracing::{Dispatch, Event, Metadata, Subscriber};

use super::*;

/// Watches runs, and panics at one of its callbacks.
struct Panics(&'static str);

/// Finds a text among the fields of an event.
struct Finds(&'static str, bool);

impl Visit for Finds {
    fn record_debug(&mut self, _: &Field, value: &dyn Debug) {
        self.1 |= format!("{value:?}").contains(self.0);
    }
}

impl Subscriber for Panics {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("agent_loop")
    }

    fn new_span(&self, attributes: &Attributes<'_>) -> Id {
        assert_ne!(attributes.metadata().name(), self.0, "a span that I do not like");
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {
        assert_ne!(self.0, "record", "a value that I do not like");
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut finds = Finds(self.0, false);
        event.record(&mut finds);
        assert!(!finds.1, "an event that I do not like");
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// Lets a watcher that panics there watch this thread.
fn watch(place: &'static str) -> DefaultGuard {
    // While there is only one watcher, `tracing` asks no one about a span that a thread without it opens first, and never again.
    static OTHER: LazyLock<Dispatch> = LazyLock::new(|| Dispatch::new(Panics("nowhere")));
    LazyLock::force(&OTHER);
    tracing::subscriber::set_default(Panics(place))
}

#[tokio::test]
async fn found_a9_a_panic_in_a_run_ends_it_with_its_messages() {
    // In a call of the second turn, and where a retry is logged.
    for (place, kept) in [("tool_call", 2), ("is retried", 3)] {
        let _guard = watch(place);
        let t = tool("t", |_, _| async { Ok(json!("ran")) });
        let busy = json!([{ "error": { "kind": "overloaded", "message": "busy" } }]);
        let calls = json!([call("a", "t", json!({})), end("tool_use")]);
        let agent = builder(json!([calls, busy, says("Done.")])).tool(t).build().unwrap();
        let (events, result) = play(&agent).await;
        assert_eq!(events.last().unwrap().kind(), "agent_end");
        let kind = result.error.map(|error| error.kind());
        assert_eq!((result.outcome, kind), (Outcome::Error, Some(ErrorKind::Panic)), "{place}");
        let roles: Vec<&str> = result.messages.iter().map(|message| message.role()).collect();
        assert_eq!(roles, ["user", "assistant", "tool_result"][..kept], "{place}");
        assert_eq!(agent.messages().len(), roles.len());
        assert!(!agent.is_streaming());
    }
}

#[tokio::test]
async fn found_a9_a_panic_at_the_end_of_a_run_leaves_its_result() {
    for place in ["record", "the run ended"] {
        let _guard = watch(place);
        let agent = scripted(json!([says("Done.")]));
        let (events, result) = play(&agent).await;
        check(&agent, &events);
        assert_eq!((result.outcome, result.text.as_str()), (Outcome::Completed, "Done."), "{place}");
    }
}

#[tokio::test]
async fn found_a9_a_panic_before_a_run_leaves_the_agent_idle() {
    let agent = scripted(json!([says("Done.")]));
    {
        let _guard = watch("agent_run");
        let asked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| agent.stream("Hello.").map(drop)));
        assert!(asked.is_err(), "whoever asks sees the panic");
    }
    assert!(!agent.is_streaming());
    assert_eq!(agent.error().unwrap().kind(), ErrorKind::Panic);
    assert_eq!(agent.prompt("Hello.").await.unwrap().text, "Done.");
}

struct Counts;

impl Model for Counts {
    fn info(&self) -> ModelInfo<'_> {
        ModelInfo { prices: Some(Prices::new(1e300, 1e300)), ..ModelInfo::new("own", "own", "counts") }
    }

    fn stream<'a>(&'a self, request: &'a ModelRequest, sink: &'a DeltaSink) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move {
            let is_first = request.request.messages.len() == 1;
            let block = BlockStart::ToolCall { id: "a".into(), name: "t".into() };
            sink.push(Delta::Start { key: 0, block: if is_first { block } else { BlockStart::Text } });
            sink.push(Delta::Append { key: 0, text: (if is_first { "{}" } else { "Done." }).into() });
            sink.push(Delta::Usage(Box::new(Usage { input: u64::MAX, output: u64::MAX, ..Usage::default() })));
            sink.push(Delta::Stop { reason: StopReason::Stop, raw: None });
            Ok(())
        })
    }
}

#[tokio::test]
async fn found_a9_the_sum_of_a_run_saturates() {
    let t = tool("t", |_, _| async { Ok(json!("ran")) });
    let agent = Agent::builder(Counts).tool(t).build().unwrap();
    let (events, result) = play(&agent).await;
    check(&agent, &events);
    assert_eq!((result.outcome, result.turns), (Outcome::Completed, 2));
    assert_eq!((result.usage.input, result.usage.total), (u64::MAX, u64::MAX));
    let again: RunResult = serde_json::from_value(serde_json::to_value(&result).unwrap()).unwrap();
    assert_eq!(again.usage.total, u64::MAX);
}
