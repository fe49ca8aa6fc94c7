//! The records of a session.

use serde_json::Value;

use super::builder::Builder;
use super::run::{Run, text};

/// The session's id and title, and its runs.
pub(super) fn read(records: &[Value]) -> (String, Option<String>, Vec<Run>) {
    let (mut id, mut title, mut builder) = (String::new(), None, Builder::default());
    for record in records {
        let at = record["at"].as_u64().unwrap_or_default();
        let call = text(record, "tool_call_id");
        match text(record, "kind") {
            "session" => text(record, "id").clone_into(&mut id),
            "info" => title = record["title"].as_str().filter(|title| !title.is_empty()).map(str::to_owned).or(title),
            "run_start" => builder.begin(at, text(record, "run_id"), text(record, "of")),
            "message" => message(&mut builder, at, record),
            "queued" => builder.queued(at, text(record, "queue"), &record["message"]),
            "queue_cleared" => builder.note(at, "queue_cleared", &format!("The {} queue was cleared.", text(record, "queue"))),
            "tool_start" => builder.tool_start(at, call, text(record, "tool_name"), &record["arguments"]),
            "tool_answer" => builder.tool_end(at, call, record["is_error"] == true),
            "hook_decision" => {
                let of = if call.is_empty() { String::new() } else { format!(" about {call}") };
                builder.note(at, "hook_decision", &format!("The hook {} decided{of}.", text(record, "hook")));
            }
            "suspended" => builder.suspended(at, &record["calls"]),
            "decisions" => builder.decisions(at, &record["decisions"]),
            "run_end" => builder.end(at, record),
            kind @ ("appended" | "replaced") => {
                builder.begin(at, "", kind);
                for message in record["messages"].as_array().into_iter().flatten() {
                    builder.message(at, message, None);
                }
            }
            "reset" => {
                builder.begin(at, "", "reset");
                builder.note(at, "reset", "The transcript was emptied.");
            }
            _ => {}
        }
    }
    (id, title, builder.finish())
}

/// A message joins the transcript. An answer's record has what failed before it came, and when it began to come.
fn message(builder: &mut Builder, at: u64, record: &Value) {
    builder.failed_before(record["retries"].as_array().into_iter().flatten());
    if let Some(first) = record["first_token_at"].as_u64() {
        builder.first(first, record.pointer("/message/timestamp").and_then(Value::as_u64));
    }
    builder.message(at, &record["message"], record.pointer("/queue/queue").and_then(Value::as_str));
}
