//! What a program sees of runs through `tracing`: the spans and where they stand in each other, the records; and what the
//! functions of hosts get of these.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Arc, LazyLock, Mutex};

use agent_loop::event::Listener;
use agent_loop::gate::Gate;
use agent_loop::hook::HookKind;
use agent_loop::host::{HostCall, LogLevel, LogRecord, Spelling};
use agent_loop::output::OutputSpec;
use agent_loop::tool::OnInterrupted;
use agent_loop::{CancelToken, Runtime};
use serde_json::json;
use tracing::Instrument as _;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::DefaultGuard;
use tracing::{Dispatch, Event, Metadata, Subscriber};
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

/// What one thread has: the spans, by the numbers of their ids from 1, the logged messages with the span they were logged in.
#[derive(Default)]
struct Seen {
    spans: Vec<Span>,
    entered: Vec<usize>,
    logged: Vec<(String, Option<&'static str>)>,
    /// The same messages with level and fields.
    records: Vec<BTreeMap<&'static str, String>>,
}

#[derive(Default, Clone)]
struct Spans(Arc<Mutex<Seen>>);

struct Fields<'a>(&'a mut BTreeMap<&'static str, String>);

impl Visit for Fields<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.insert(field.name(), format!("{value:?}").trim_matches('"').to_owned());
    }
}

/// Lets a watcher watch this thread.
fn watch(spans: &Spans) -> DefaultGuard {
    // While there is only one watcher, `tracing` asks no one about a record that a thread without it writes first, and never
    // again.
    static OTHER: LazyLock<Dispatch> = LazyLock::new(|| Dispatch::new(Spans::default()));
    LazyLock::force(&OTHER);
    tracing::subscriber::set_default(spans.clone())
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
        fields.insert("level", event.metadata().level().to_string());
        seen.records.push(fields.clone());
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
    let _guard = watch(&spans);
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
    assert!(seen.logged.contains(&("from the tool".to_owned(), Some("tool_call"))), "{:?}", seen.logged);
    assert_eq!(seen.logged.last(), Some(&("the run ended".to_owned(), inside)));
}

#[tokio::test]
async fn found_e16_the_span_of_a_middleware_is_around_the_tool() {
    let spans = Spans::default();
    let _guard = watch(&spans);
    let logs = tool("logs", |_, _| async {
        tokio::task::yield_now().await;
        tracing::info!("from the tool");
        Ok(json!("done"))
    });
    let script = json!([[call("c1", "logs", json!({})), end("tool_use")], says("Done.")]);
    let agent = builder(script)
        .tool(logs)
        .middleware(|call| {
            let rest = call.next(call.arguments().clone());
            rest.instrument(tracing::info_span!("middleware"))
        })
        .build()
        .unwrap();
    play(&agent).await;
    let seen = spans.0.lock().unwrap();
    assert!(seen.logged.contains(&("from the tool".to_owned(), Some("middleware"))), "{:?}", seen.logged);
    let middleware = seen.spans.iter().find(|span| span.name == "middleware").unwrap();
    assert_eq!(middleware.parent, Some("tool_call"));
}

#[tokio::test]
async fn a_run_that_fails_logs_it() {
    let spans = Spans::default();
    let _guard = watch(&spans);
    play(&scripted(json!([[{ "error": { "kind": "authentication", "message": "no key" } }]]))).await;
    let seen = spans.0.lock().unwrap();
    assert_eq!(seen.spans[0].fields["outcome"], "error");
    assert_eq!(seen.logged.last(), Some(&("the run failed".to_owned(), Some("agent_run"))));
}

/// An agent of which much fails in one run: a listener at each turn, a model call, a tool, `after_run`.
fn troubled() -> AgentBuilder {
    let fails = tool("forecast", |_, _| async { Err("it rains".to_owned()) });
    let busy = json!([{ "error": { "kind": "overloaded", "message": "busy" } }]);
    let script = json!([busy, [call("c1", "forecast", json!({})), end("tool_use")], says("Done.")]);
    builder(script).tool(fails).after_run(|_, _| async { Err::<(), _>("no disk") })
}

fn failing_listener() -> Listener {
    Listener::Future(Arc::new(|event: agent_loop::Event| {
        Box::pin(async move { if event.kind() == "turn_start" { Err("no screen".to_owned()) } else { Ok(()) } })
    }))
}

#[tokio::test]
async fn found_e15_log_records_of_what_fails_go_to_tracing() {
    let spans = Spans::default();
    let _guard = watch(&spans);
    let agent = troubled().build().unwrap();
    agent.add_listener(failing_listener()).detach();
    let (events, result) = play(&agent).await;
    assert_eq!(result.outcome.as_str(), "completed");

    let seen = spans.0.lock().unwrap();
    let run_id: &str = &events[0].run_id;
    let record_of = |turn, level, code, message, fields: &[(&'static str, &str)]| {
        let ids = [("run_id", run_id), ("conversation_id", run_id), ("turn", turn)];
        let all = [&[("level", level), ("code", code), ("message", message)][..], &ids].concat();
        all.iter().chain(fields).map(|(name, value)| (*name, (*value).to_owned())).collect::<BTreeMap<_, _>>()
    };
    let of_callback = |error| [("kind", "callback"), ("error", error)];
    let record = |level, code, message, fields: &[(&'static str, &str)]| record_of("1", level, code, message, fields);
    let tokens = [("latency_ms", "0"), ("input_tokens", "0"), ("output_tokens", "0")];
    let called = |turn, outcome| {
        let fields = [&[("model", "scripted/s"), ("outcome", outcome)][..], &tokens].concat();
        record_of(turn, "DEBUG", "model_call", "a model call ended", &fields)
    };
    let listener = |turn| {
        let fields = [&of_callback("no screen")[..], &[("event", "turn_start"), ("listener", "1")]].concat();
        record_of(turn, "WARN", "listener_error", "a listener failed", &fields)
    };
    let retry = [("kind", "overloaded"), ("error", "busy"), ("attempt", "1"), ("delay_ms", "500")];
    let tool = [&of_callback("it rains")[..], &[("tool_call_id", "c1"), ("tool_name", "forecast")]].concat();
    let ended = [("tool_call_id", "c1"), ("tool_name", "forecast"), ("outcome", "error"), ("latency_ms", "0")];
    let end = [("outcome", "completed"), ("turns", "2"), ("latency_ms", "500"), ("input_tokens", "0"), ("output_tokens", "0")];
    let hook = [&of_callback("no disk")[..], &[("hook", "after_run")]].concat();
    assert_eq!(
        seen.records,
        [
            listener("1"),
            record("WARN", "retry", "a model call failed and is retried", &retry),
            called("1", "tool_use"),
            record("WARN", "tool_error", "the tool forecast failed", &tool),
            record("DEBUG", "tool_call", "a tool call ended", &ended),
            listener("2"),
            called("2", "stop"),
            record_of("2", "WARN", "hook_error", "the hook after_run failed", &hook),
            record_of("2", "DEBUG", "run_end", "the run ended", &end),
        ]
    );
}

#[tokio::test]
async fn found_e15_log_records_of_what_does_not_return_go_to_tracing() {
    let spans = Spans::default();
    let _guard = watch(&spans);
    let (release, returned) = (CancelToken::new(), CancelToken::new());
    let (released, late) = (release.clone(), returned.clone());
    let agent = builder(serde_json::Value::Array(vec![says("Done."); 1000]));
    let agent = agent.after_run(move |_, _| {
        let (released, returned) = (released.clone(), returned.clone());
        async move {
            released.cancelled().await;
            returned.cancel();
            Err::<(), _>("too late")
        }
    });
    let agent = agent.build().unwrap();
    agent.set_options(json!({ "listener_timeout_ms": 50 }).as_object().unwrap(), Spelling::Snake, &[]).unwrap();
    let released = release.clone();
    let listener = Listener::Future(Arc::new(move |_: agent_loop::Event| {
        let released = released.clone();
        Box::pin(async move {
            released.cancelled().await;
            Ok(())
        })
    }));
    agent.add_listener(listener).detach();
    play(&agent).await;
    release.cancel();
    late.cancelled().await;
    let codes = || -> Vec<String> { spans.0.lock().unwrap().records.iter().map(|record| record["code"].clone()).collect() };
    while !codes().contains(&"listener_back".to_owned()) {
        play(&agent).await;
    }
    assert_eq!(codes()[..4], ["listener_left", "model_call", "hook_left", "run_end"]);
    assert!(codes().contains(&"hook_error".to_owned()), "the hook failed when the run was over: {:?}", codes());
    let seen = spans.0.lock().unwrap();
    let back = seen.records.iter().find(|record| record["code"] == "listener_back").unwrap();
    assert_eq!((&*back["level"], &*back["listener"]), ("INFO", "1"));
    assert!(back["missed"].parse::<u64>().unwrap() > 0);
}

/// The function of a host that keeps records.
fn keeper() -> (Arc<Mutex<Vec<LogRecord>>>, impl Fn(LogRecord) + Send + Sync) {
    let kept = Arc::<Mutex<Vec<LogRecord>>>::default();
    let keeps = Arc::clone(&kept);
    (kept, move |record| keeps.lock().unwrap().push(record))
}

fn codes(records: &Mutex<Vec<LogRecord>>) -> Vec<&'static str> {
    records.lock().unwrap().iter().map(LogRecord::code).collect()
}

#[test]
fn found_c7_the_function_of_a_runtime_gets_the_records() {
    let runtime = Runtime::new().unwrap();
    let (records, keep) = keeper();
    runtime.set_log(LogLevel::Warn, Some(Arc::new(keep)));
    let agent = troubled().runtime(&runtime).build().unwrap();
    agent.add_listener(failing_listener()).detach();
    let run_id = runtime.block_on(async {
        let (events, _) = play(&agent).await;
        events[0].run_id.to_string()
    });
    runtime.shutdown(std::time::Duration::from_secs(30));
    assert_eq!(codes(&records), ["listener_error", "retry", "tool_error", "listener_error", "hook_error"]);
    let records = records.lock().unwrap();
    let error = json!({ "kind": "callback", "message": "it rains", "retryable": false });
    let expected = json!({
        "level": "warn", "code": "tool_error", "message": "the tool forecast failed: it rains", "run_id": run_id,
        "conversation_id": run_id, "turn": 1, "data": { "tool_call_id": "c1", "tool_name": "forecast" }, "error": error,
    });
    assert_eq!(json!(records[2]), expected);
}

#[test]
fn found_c7_the_function_of_a_run_gets_its_records_before_the_runtime() {
    let runtime = Runtime::new().unwrap();
    let ((of_runtime, keep), (of_run, keep_of_run)) = (keeper(), keeper());
    runtime.set_log(LogLevel::Warn, Some(Arc::new(keep)));
    let agent = troubled().runtime(&runtime).build().unwrap();
    let pending = agent.prompt("go").log_to(
        LogLevel::Debug,
        Arc::new(move |record: LogRecord| {
            assert_ne!(record.code(), "retry", "a panic in it does not count");
            if record.code() == "tool_error" {
                return Some(record);
            }
            keep_of_run(record);
            None
        }),
    );
    runtime.block_on(pending).unwrap();
    runtime.shutdown(std::time::Duration::from_secs(30));
    assert_eq!(codes(&of_run), ["model_call", "tool_call", "model_call", "hook_error", "run_end"]);
    assert_eq!(codes(&of_runtime), ["tool_error"]);
}

#[test]
fn found_e15_log_records_of_each_failing_hook() {
    let runtime = Runtime::new().unwrap();
    // A script has no head of a response, and no server that asks: `mcp::tests` has one.
    let unasked = [HookKind::OnResponse, HookKind::OnMcpSampling, HookKind::OnMcpElicitation, HookKind::OnMcpSignIn];
    for kind in HookKind::ALL.iter().copied().filter(|kind| !unasked.contains(kind)) {
        let ((records, keep), (dropped, is_dropped)) = (keeper(), std::sync::mpsc::channel::<()>());
        let keep = move |record| {
            let _ = &dropped;
            keep(record);
        };
        runtime.set_log(LogLevel::Warn, Some(Arc::new(keep)));
        let t = tool("t", |_, _| async { Ok(json!("ran")) }).on_interrupted(OnInterrupted::Ask);
        let refused = json!([{ "error": { "kind": "authentication", "message": "no key" } }]);
        let last = if kind == HookKind::OnError { refused } else { says("Done.") };
        let calls = json!([call("c1", "t", json!({})), end("tool_use")]);
        // The hook is about a call that another process has left.
        let is_interrupted = kind == HookKind::OnInterruptedCall;
        let script = if is_interrupted { json!([last]) } else { json!([calls, last]) };
        let agent = builder(script).tool(t).runtime(&runtime).build().unwrap();
        if kind == HookKind::CheckOutput {
            // The text of the last turn is the answer.
            agent.set_output(Some(OutputSpec::new(json!({})).unwrap().or_text()));
        }
        if kind == HookKind::OnApproval {
            agent.set_gate(Some(Gate::new().ask(["t"]).unwrap()));
        }
        agent.set_host_hook(kind, Some(Arc::new(|call: HostCall| drop(call.fail("it broke")))));
        if is_interrupted {
            let call = json!({ "type": "tool_call", "id": "c1", "name": "t", "arguments": {} });
            let left = json!({ "role": "assistant", "content": [call], "stop_reason": "tool_use" });
            agent.append_message(Message::given(left).unwrap()).unwrap();
            runtime.block_on(agent.resume()).unwrap();
        } else {
            runtime.block_on(async { play(&agent).await });
        }
        runtime.set_log(LogLevel::Warn, None);
        // A function that is removed has had all records when it is dropped.
        is_dropped.recv().unwrap_err();
        let hooks: Vec<_> = records.lock().unwrap().iter().filter_map(|record| record.data.get("hook").cloned()).collect();
        assert_eq!(hooks.first(), Some(&json!(kind.as_str())), "{:?}", codes(&records));
    }
}
