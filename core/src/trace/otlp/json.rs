//! OTLP's messages in JSON: ids in hexadecimal, 64-bit numbers as texts.

use agent_loop_proto::trace::{Attribute, Attributes, SCHEMA_URL, SCOPE, SpanEnd, SpanStart};
use serde_json::{Value, json};

/// What a span is called in its trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ids {
    pub(super) trace: u128,
    pub(super) span: u64,
    /// Whether the caller of the run records the trace: else it is not recorded here either.
    pub(super) is_sampled: bool,
}

pub(super) fn attributes_json(attributes: &Attributes) -> Value {
    attributes.iter().map(|(name, value)| json!({ "key": name, "value": value_json(value) })).collect()
}

fn value_json(value: &Attribute) -> Value {
    match value {
        Attribute::Text(text) => json!({ "stringValue": &**text }),
        Attribute::Whole(number) => json!({ "intValue": number.to_string() }),
        Attribute::Number(number) => json!({ "doubleValue": number }),
        Attribute::Texts(texts) => {
            let values: Vec<Value> = texts.iter().map(|text| json!({ "stringValue": text })).collect();
            json!({ "arrayValue": { "values": values } })
        }
        #[cfg(not(feature = "__bindings"))]
        _ => Value::Null,
    }
}

/// The same for the same attributes.
pub(super) fn key_of(attributes: &Attributes) -> String {
    serde_json::to_string(attributes).unwrap_or_default()
}

fn span_id(id: u64) -> String {
    format!("{id:016x}")
}

fn trace_id(id: u128) -> String {
    format!("{id:032x}")
}

/// A span that has ended.
pub(super) fn span(start: SpanStart, ids: Ids, parent: Option<u64>, link: Option<Ids>, end: SpanEnd) -> Value {
    let mut attributes = start.attributes;
    attributes.extend(end.attributes);
    let mut span = json!({
        "traceId": trace_id(ids.trace),
        "spanId": span_id(ids.span),
        "name": &*start.name,
        // INTERNAL and CLIENT.
        "kind": if start.is_client { 3 } else { 1 },
        "startTimeUnixNano": start.time_ns.to_string(),
        "endTimeUnixNano": end.time_ns.to_string(),
        "attributes": attributes_json(&attributes),
        // That it is recorded.
        "flags": 1,
    });
    if let Some(fields) = span.as_object_mut() {
        if let Some(parent) = parent {
            fields.insert("parentSpanId".into(), span_id(parent).into());
        }
        if let Some(link) = link {
            fields.insert("links".into(), json!([{ "traceId": trace_id(link.trace), "spanId": span_id(link.span) }]));
        }
        if let Some((_, text)) = end.error {
            fields.insert("status".into(), json!({ "code": 2, "message": text }));
        }
    }
    span
}

fn resource(attributes: &[(String, String)]) -> Value {
    let attributes = attributes.iter().map(|(name, value)| json!({ "key": name, "value": { "stringValue": value } }));
    json!({ "attributes": attributes.collect::<Value>() })
}

fn scope() -> Value {
    json!({ "name": SCOPE, "version": env!("CARGO_PKG_VERSION") })
}

/// The body of a request with spans.
pub(super) fn traces(of: &[(String, String)], spans: Vec<Value>) -> String {
    let scopes = json!([{ "scope": scope(), "spans": spans, "schemaUrl": SCHEMA_URL }]);
    json!({ "resourceSpans": [{ "resource": resource(of), "scopeSpans": scopes }] }).to_string()
}

/// The body of a request with metrics.
pub(super) fn metrics(of: &[(String, String)], metrics: Vec<Value>) -> String {
    let scopes = json!([{ "scope": scope(), "metrics": metrics, "schemaUrl": SCHEMA_URL }]);
    json!({ "resourceMetrics": [{ "resource": resource(of), "scopeMetrics": scopes }] }).to_string()
}
