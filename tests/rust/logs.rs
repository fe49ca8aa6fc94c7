//! What a program sees of runs through `tracing`: the spans and where they stand in each other.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex};

use serde_json::json;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};
use tracing_core::span::Current;

use super::*;

/// A span as it was opened, with what was recorded since.
#[derive(Debug, Default, Clone)]
struct Span {
    name: &'static str,
    metadata: Option<&'static Metadata<'static>>,
    /// The span in which it was opened.
    parent: Option<&'static str>,
    fields: BTreeMap<&'static str, String>,
}

/// The spans of one thread, by the numbers of their ids from 1, and the logged messages with the span they were logged in.
#[derive(Default)]
struct Seen {
    spans: Vec<Span>,
    entered: Vec<usize>,
    logged: Vec<(String, Option<&'static str>)>,
}

#[derive(Default, Clone)]
struct Spans(Arc<Mutex<Seen>>);

struct Fields<'a>(&'a mut BTreeMap<&'static str, String>);

impl Visit for Fields<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.insert(field.name(), format!("{value:?}").trim_matches('"').to_owned());
    }
}

fn place(id: &Id) -> usize {
    usize::try_from(id.into_u64()).unwrap() - 1
}

impl Seen {
    fn current(&self) -> Option<&'static str> {
        self.entered.last().map(|at| self.spans[*at].name)
    }
}

impl Subscriber for Spans {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("agent_loop") || metadata.target() == module_path!()
    }

    fn new_span(&self, attributes: &Attributes<'_>) -> Id {
        let mut seen = self.0.lock().unwrap();
        let metadata = attributes.metadata();
        let mut span = Span { name: metadata.name(), metadata: Some(metadata), parent: seen.current(), ..Span::default() };
        attributes.record(&mut Fields(&mut span.fields));
        seen.spans.push(span);
        Id::from_u64(seen.spans.len() as u64)
    }

    fn record(&self, id: &Id, values: &Record<'_>) {
        values.record(&mut Fields(&mut self.0.lock().unwrap().spans[place(id)].fields));
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut fields = BTreeMap::new();
        event.record(&mut Fields(&mut fields));
        let mut seen = self.0.lock().unwrap();
        let logged = (fields.remove("message").unwrap_or_default(), seen.current());
        seen.logged.push(logged);
    }

    fn enter(&self, id: &Id) {
        self.0.lock().unwrap().entered.push(place(id));
    }

    fn current_span(&self) -> Current {
        let seen = self.0.lock().unwrap();
        let span = seen.entered.last().and_then(|at| Some((Id::from_u64(*at as u64 + 1), seen.spans[*at].metadata?)));
        span.map_or_else(Current::none, |(id, metadata)| Current::new(id, metadata))
    }

    fn exit(&self, id: &Id) {
        let mut seen = self.0.lock().unwrap();
        let at = seen.entered.iter().rposition(|entered| *entered == place(id)).unwrap();
        seen.entered.remove(at);
    }
}

#[tokio::test]
async fn a_run_its_model_calls_and_its_tool_calls_are_spans() {
    let spans = Spans::default();
    let _guard = tracing::subscriber::set_default(spans.clone());
    let logs = tool("logs", |_, _| async {
        tracing::info!("from the tool");
        Ok(json!("done"))
    });
    let script = json!([[call("c1", "logs", json!({})), end("tool_use")], says("Done.")]);
    let (events, _) = play(&builder(script).tool(logs).build().unwrap()).await;

    let seen = spans.0.lock().unwrap();
    let names: Vec<_> = seen.spans.iter().map(|span| (span.name, span.parent)).collect();
    let inside = Some("agent_run");
    assert_eq!(
        names,
        [("agent_run", None), ("model_call", inside), ("tool_call", inside), ("model_call", inside)],
        "each call is inside of its run"
    );
    let fields = |at: usize| seen.spans[at].fields.iter().map(|(name, value)| (*name, value.as_str())).collect::<Vec<_>>();
    let run_id: &str = &events[0].run_id;
    assert_eq!(fields(0), [("model", "scripted/s"), ("outcome", "completed"), ("run_id", run_id), ("turns", "2")]);
    assert_eq!(fields(1), [("call", "0"), ("model", "s"), ("provider", "scripted")]);
    assert_eq!(fields(2), [("tool_call_id", "c1"), ("tool_name", "logs")]);
    assert_eq!(fields(3)[0], ("call", "1"));
    assert_eq!(seen.logged[0], ("from the tool".to_owned(), Some("tool_call")));
    assert_eq!(seen.logged[1], ("the run ended".to_owned(), inside));
}

#[tokio::test]
async fn a_run_that_fails_logs_it() {
    let spans = Spans::default();
    let _guard = tracing::subscriber::set_default(spans.clone());
    play(&scripted(json!([[{ "error": { "kind": "authentication", "message": "no key" } }]]))).await;
    let seen = spans.0.lock().unwrap();
    assert_eq!(seen.spans[0].fields["outcome"], "error");
    assert_eq!(seen.logged, [("the run failed".to_owned(), Some("agent_run"))]);
}
