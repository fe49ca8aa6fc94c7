//! Spans and measurements as `tracing-opentelemetry` and the SDK of OpenTelemetry get them: those of scenarios are compared with
//! their spans.json.

#[path = "scenarios/player.rs"]
#[allow(dead_code)] // The scenarios use all of it.
mod player;
#[path = "scenarios/scenario.rs"]
#[allow(dead_code)]
mod scenario;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use agent_loop::{Agent, FnTool};
use opentelemetry::trace::{SpanId, SpanKind, Status, TracerProvider as _};
use opentelemetry_sdk::metrics::data::{AggregatedMetrics, MetricData};
use opentelemetry_sdk::metrics::{InMemoryMetricExporter, PeriodicReader, SdkMeterProvider};
use opentelemetry_sdk::trace::{InMemorySpanExporter, SdkTracerProvider, SpanData};
use serde_json::{Map, Value, json};
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::{Layer, SubscriberExt};

/// What is another value in each run, or another one in real time.
const UNSTABLE: [&str; 3] = ["gen_ai.conversation.id", "agent_loop.run.id", "gen_ai.response.time_to_first_chunk"];

struct Collected {
    spans: InMemorySpanExporter,
    metrics: InMemoryMetricExporter,
    tracer: SdkTracerProvider,
    meter: SdkMeterProvider,
}

/// A process has one subscriber.
static COLLECTED: LazyLock<Mutex<Collected>> = LazyLock::new(|| {
    let spans = InMemorySpanExporter::default();
    let tracer = SdkTracerProvider::builder().with_simple_exporter(spans.clone()).build();
    let metrics = InMemoryMetricExporter::default();
    let meter = SdkMeterProvider::builder().with_reader(PeriodicReader::builder(metrics.clone()).build()).build();
    let ours = Targets::new().with_target("agent_loop::trace", LevelFilter::INFO).with_target("traces", LevelFilter::INFO);
    let measured = Targets::new().with_target("agent_loop::metrics", LevelFilter::TRACE);
    let layer = tracing_opentelemetry::layer()
        .with_tracer(tracer.tracer("test"))
        // What `tracing` itself knows of a place is not what is compared.
        .with_location(false)
        .with_threads(false)
        .with_tracked_inactivity(false)
        .with_target(false);
    let subscriber = tracing_subscriber::registry()
        .with(layer.with_filter(ours))
        .with(tracing_opentelemetry::MetricsLayer::new(meter.clone()).with_filter(measured));
    tracing::subscriber::set_global_default(subscriber).expect("the first subscriber");
    Mutex::new(Collected { spans, metrics, tracer, meter })
});

/// Nobody else's spans come in between.
fn collected() -> MutexGuard<'static, Collected> {
    let collected = COLLECTED.lock().unwrap_or_else(PoisonError::into_inner);
    collected.spans.reset();
    collected
}

impl Collected {
    fn finished(&self) -> Vec<SpanData> {
        self.tracer.force_flush().expect("flushed");
        self.spans.get_finished_spans().expect("spans")
    }
}

fn run_async<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime").block_on(future)
}

fn in_order(mut nodes: Vec<Value>) -> Vec<Value> {
    nodes.sort_by_cached_key(Value::to_string);
    nodes
}

/// Spans as spans.json has them: by their parents, in any order.
fn tree(spans: &[SpanData]) -> Vec<Value> {
    let is_there = |id: SpanId| spans.iter().any(|span| span.span_context.span_id() == id);
    let roots = spans.iter().filter(|span| !is_there(span.parent_span_id));
    in_order(roots.map(|span| node(span, spans)).collect())
}

fn node(span: &SpanData, spans: &[SpanData]) -> Value {
    let attributes = span.attributes.iter().map(|attribute| (attribute.key.to_string(), value(&attribute.value)));
    // `tracing` has its own names for two of them.
    let attributes =
        attributes.filter(|(name, _)| !UNSTABLE.contains(&name.as_str()) && !["outcome", "turns"].contains(&name.as_str()));
    let attributes: BTreeMap<String, Value> = attributes.collect();
    let kind = if span.span_kind == SpanKind::Client { "client" } else { "internal" };
    let mut found = Map::new();
    found.insert("name".into(), span.name.to_string().into());
    found.insert("kind".into(), kind.into());
    found.insert("attributes".into(), json!(attributes));
    if let Status::Error { description } = &span.status {
        found.insert("error".into(), description.to_string().into());
    }
    let inner = spans.iter().filter(|other| other.parent_span_id == span.span_context.span_id());
    let children: Vec<Value> = inner.map(|other| node(other, spans)).collect();
    if !children.is_empty() {
        found.insert("children".into(), in_order(children).into());
    }
    found.into()
}

fn value(value: &opentelemetry::Value) -> Value {
    match value {
        opentelemetry::Value::Bool(flag) => (*flag).into(),
        opentelemetry::Value::I64(number) => (*number).into(),
        opentelemetry::Value::F64(number) => (*number).into(),
        other => other.as_str().into(),
    }
}

/// With its fields in the order of `node`.
fn expected(of: &Value) -> Value {
    let mut found = Map::new();
    // A span of `tracing` that has ended cannot be linked.
    for name in ["name", "kind", "attributes", "error", "children"] {
        let Some(value) = of.get(name) else { continue };
        let value = match name {
            "attributes" => json!(value.as_object().unwrap().iter().collect::<BTreeMap<_, _>>()),
            "children" => in_order(value.as_array().unwrap().iter().map(expected).collect()).into(),
            _ => value.clone(),
        };
        found.insert(name.into(), value);
    }
    found.into()
}

#[test]
fn spans_of_scenarios() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/scenarios");
    let folders = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let folders: Vec<_> = folders.filter(|path| path.join("spans.json").exists()).collect();
    assert!(folders.len() >= 10);
    let collected = collected();
    for folder in folders {
        let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
        let mut scenario: scenario::Scenario = serde_json::from_str(&read("scenario.json")).unwrap();
        scenario.options.insert("traces".into(), true.into());
        run_async(player::play(scenario, |_| {})).unwrap();
        let expected: Vec<Value> =
            serde_json::from_str::<Vec<Value>>(&read("spans.json")).unwrap().iter().map(expected).collect();
        assert_eq!(tree(&collected.finished()), in_order(expected), "{}", folder.display());
        collected.spans.reset();
    }
}

const SCRIPT: &str = r#"{"provider": "scripted", "id": "s", "script": [
    [{"delta": {"tool_call": {"id": "c", "name": "look", "arguments": {}}}}, {"end": "tool_use"}],
    [{"delta": "Done."}, {"end": "stop"}]]}"#;

fn look() -> FnTool {
    let schema = json!({ "type": "object" });
    let tool = FnTool::new("look", "Looks.", schema, |_, _| async {
        tracing::info_span!(target: "traces", "inside").in_scope(|| {});
        Ok::<_, String>(json!("seen"))
    });
    tool.unwrap()
}

#[test]
fn spans_join_those_of_the_host_and_a_tool_runs_in_its_span() {
    let collected = collected();
    run_async(async {
        let agent = Agent::builder(SCRIPT).tool(look()).traces(true).agent_name("Looker").build().unwrap();
        let outside = tracing::info_span!(target: "traces", "outside");
        let run = outside.in_scope(|| agent.prompt("go").start().unwrap());
        run.result().await.unwrap();
    });
    let spans = collected.finished();
    let find = |name: &str| spans.iter().find(|span| span.name.starts_with(name)).unwrap_or_else(|| panic!("{name}"));
    let outside = find("outside");
    assert_eq!(find("invoke_agent Looker").parent_span_id, outside.span_context.span_id());
    assert_eq!(find("inside").parent_span_id, find("execute_tool look").span_context.span_id());
    assert!(spans.iter().all(|span| span.span_context.trace_id() == outside.span_context.trace_id()));
    collected.meter.force_flush().unwrap();
    let exported = collected.metrics.get_finished_metrics().unwrap();
    let metrics = exported.iter().flat_map(|of| of.scope_metrics()).flat_map(|of| of.metrics());
    let counts: BTreeMap<String, u64> = metrics
        .filter_map(|metric| match metric.data() {
            AggregatedMetrics::F64(MetricData::Histogram(histogram)) => {
                Some((metric.name().to_owned(), histogram.data_points().map(|point| point.count()).sum()))
            }
            _ => None,
        })
        .collect();
    assert!(counts["gen_ai.client.operation.duration"] >= 2, "{counts:?}");
    assert!(counts["gen_ai.execute_tool.duration"] >= 1, "{counts:?}");
}

#[test]
fn a_wrong_traceparent_is_the_run_s_error() {
    let agent = Agent::builder(SCRIPT).tool(look()).traces(true).build().unwrap();
    let error = run_async(async { agent.prompt("go").traceparent("00-1").await }).unwrap_err();
    assert!(error.message().starts_with("option \"traceparent\": expected"), "{}", error.message());
}
