use std::time::Duration;

use agent_loop_proto::trace::{Attribute, Instrument, Measured};
use serde_json::{Value, json};

use super::histogram::Histograms;
use super::target::{Target, decoded};

fn variables(name: &str) -> Option<String> {
    let value = match name {
        "OTEL_EXPORTER_OTLP_ENDPOINT" => "https://collector.example/base/",
        "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT" => "https://metrics.example/all",
        "OTEL_EXPORTER_OTLP_HEADERS" => "x-key=a%20b, x-other = 1",
        "OTEL_SERVICE_NAME" => "orders",
        "OTEL_RESOURCE_ATTRIBUTES" => "service.name=other,deployment.environment.name=test",
        "OTEL_BSP_SCHEDULE_DELAY" => "250",
        _ => return None,
    };
    Some(value.to_owned())
}

#[test]
fn the_standard_variables_say_where_a_collector_is() {
    let found = Target::default().resolved(&variables).unwrap();
    assert_eq!(found.traces.as_str(), "https://collector.example/base/v1/traces");
    assert_eq!(found.metrics.as_str(), "https://metrics.example/all");
    assert_eq!((found.headers["x-key"].to_str().unwrap(), found.headers["x-other"].to_str().unwrap()), ("a b", "1"));
    let resource: Vec<&str> = found.resource.iter().take(2).map(|(_, value)| value.as_str()).collect();
    assert_eq!((resource, found.delay), (vec!["test", "orders"], Duration::from_millis(250)));
    let found = Target::default().resolved(&|_| None).unwrap();
    assert_eq!((found.traces.as_str(), &*found.resource[0].1), ("http://localhost:4318/v1/traces", "unknown_service"));
}

#[test]
fn what_the_option_says_precedes_them() {
    let given = json!({ "endpoint": "http://localhost:1", "headers": { "x-key": "c" }, "service_name": "mine" });
    let found = Target::from_json(&given).unwrap().resolved(&variables).unwrap();
    assert_eq!(
        (found.traces.as_str(), found.metrics.as_str()),
        ("http://localhost:1/v1/traces", "http://localhost:1/v1/metrics")
    );
    assert_eq!((found.headers["x-key"].to_str().unwrap(), found.headers["x-other"].to_str().unwrap()), ("c", "1"));
    assert!(found.resource.contains(&("service.name".to_owned(), "mine".to_owned())));
    for (wrong, text) in [
        (json!("localhost"), "\"localhost\" is no address of a collector"),
        (json!({ "endpoint": 1 }), "\"endpoint\": expected text, got 1"),
        (json!({ "url": "" }), "unknown field \"url\"; expected a collector's address, or"),
        (json!({ "headers": { "a b": "" } }), "header \"a b\": the name has characters"),
    ] {
        let error = Target::from_json(&wrong).unwrap_err();
        assert!(error.message().starts_with(text), "{}", error.message());
    }
    assert_eq!(decoded("%41%zz%"), "A%zz%");
}

#[test]
fn histograms_count_by_bucket_and_attributes() {
    let mut histograms = Histograms::default();
    let mut add = |value, kind: &'static str| {
        let attributes = vec![("gen_ai.token.type", Attribute::from(kind))];
        histograms.add(Measured { instrument: Instrument::TokenUsage, value, attributes });
    };
    add(4.0, "input");
    add(5.0, "input");
    add(1.0, "output");
    let metrics = histograms.metrics(1, 2);
    assert_eq!(
        (metrics.len(), &metrics[0]["name"], &metrics[0]["unit"]),
        (1, &json!("gen_ai.client.token.usage"), &json!("{token}"))
    );
    let points = metrics[0]["histogram"]["dataPoints"].as_array().unwrap();
    let of =
        |point: &Value| (point["count"].clone(), point["sum"].clone(), point["bucketCounts"].as_array().unwrap()[..3].to_vec());
    assert_eq!(of(&points[0]), (json!("2"), json!(9.0), vec![json!("0"), json!("1"), json!("1")]));
    assert_eq!(of(&points[1]), (json!("1"), json!(1.0), vec![json!("1"), json!("0"), json!("0")]));
}

/// Answers one request after the other with these statuses; gives the bodies.
fn collector(statuses: &'static [u16]) -> (String, std::thread::JoinHandle<Vec<String>>) {
    use std::io::{BufRead, BufReader, Read, Write};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let answered = std::thread::spawn(move || {
        let answer = |status: &u16| {
            let mut stream = listener.accept().unwrap().0;
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let (mut line, mut length) = (String::from("-"), 0);
            while !line.trim().is_empty() {
                line.clear();
                reader.read_line(&mut line).unwrap();
                if let Some(text) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                    length = text.trim().parse().unwrap();
                }
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body).unwrap();
            let head = format!("HTTP/1.1 {status} X\r\nretry-after: 0\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
            stream.write_all(head.as_bytes()).unwrap();
            String::from_utf8(body).unwrap()
        };
        statuses.iter().map(answer).collect()
    });
    (address, answered)
}

#[test]
fn what_a_collector_has_no_time_for_is_sent_again_unchanged() {
    use agent_loop_proto::trace::{RunSpan, Spans};
    let (address, answered) = collector(&[503, 429, 200]);
    let runtime = crate::Runtime::new().unwrap();
    let sink = runtime.exporter(&Target::at(address)).unwrap();
    let mut spans = Spans::begin(&RunSpan { run_id: "r", conversation_id: "c", ..RunSpan::default() }, 1);
    let id = spans.run();
    sink.record(spans.take());
    let end = agent_loop_proto::trace::SpanEnd { id, time_ns: 2, attributes: Vec::new(), error: None, is_suspended: false };
    sink.record(vec![agent_loop_proto::trace::TraceRecord::End(end)]);
    runtime.flush_traces(Duration::from_secs(60));
    let bodies = answered.join().unwrap();
    assert!(bodies[0].contains(r#""name":"invoke_agent""#), "{}", bodies[0]);
    assert!(bodies.iter().all(|body| *body == bodies[0]));
    runtime.shutdown(Duration::ZERO);
}
