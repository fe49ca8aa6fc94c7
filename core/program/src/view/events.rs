//! Events as JSON lines, as the flag `--json` writes them.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::builder::Builder;
use super::run::{Run, text};

/// The runs of these events. Those of a replay have no times: the messages' are taken then, and the durations of tools.
pub(super) fn runs(events: &[Value]) -> Vec<Run> {
    let mut builder = Builder::default();
    let (mut at, mut started) = (0, HashMap::new());
    for event in events {
        let message = event.get("message").unwrap_or(&Value::Null);
        at = event["time"].as_u64().or_else(|| message["timestamp"].as_u64().map(|then| then.max(at))).unwrap_or(at);
        if event.get("time").is_none() {
            let call = text(event, "tool_call_id");
            match text(event, "type") {
                "tool_execution_start" => drop(started.insert(call, at)),
                "tool_execution_end" => {
                    let ended =
                        started.get(call).zip(event["duration_ms"].as_u64()).map(|(start, took)| start.saturating_add(took));
                    at = ended.map_or(at, |ended| ended.max(at));
                }
                _ => {}
            }
        }
        apply(&mut builder, at, event);
    }
    builder.finish()
}

/// What is the same in events and in recordings.
pub(super) fn apply(builder: &mut Builder, at: u64, event: &Value) {
    let id = text(event, "tool_call_id");
    match text(event, "type") {
        "agent_start" => builder.begin(at, text(event, "run_id"), ""),
        "turn_start" => builder.turn(at, event["turn"].as_u64().unwrap_or_default()),
        "message_start" if event.pointer("/message/role").is_some_and(|role| role == "assistant") => {
            builder.first(at, event.pointer("/message/timestamp").and_then(Value::as_u64));
        }
        "message_end" => builder.message(at, &event["message"], None),
        "tool_execution_start" => builder.tool_start(at, id, text(event, "tool_name"), &event["arguments"]),
        "tool_execution_end" => builder.tool_end(at, id, event["is_error"] == true),
        "tool_call_suspended" => builder.suspended(at, &json!([event])),
        "retry" => builder.retry(at, &event["attempt"], event["delay_ms"].as_u64().unwrap_or_default(), &event["error"]),
        "diagnostic" => builder.note(at, text(event, "code"), text(event, "message")),
        "agent_end" => builder.end(at, event),
        _ => {}
    }
}
