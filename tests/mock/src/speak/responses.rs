//! A message as OpenAI's Responses streams it: items, their parts, deltas, and everything again when it is done.

use serde_json::{Value, json};

use super::{Asked, SIGNATURE};
use crate::answer::Frame;
use crate::refusal::Complaint;
use crate::speech::{Call, Said, Speech, Stop};

pub(super) fn frames(speech: &Speech, asked: &Asked) -> Vec<Frame> {
    let mut stream = Stream { speech, asked, frames: Vec::new(), output: Vec::new() };
    for kind in ["response.created", "response.in_progress"] {
        stream.event(kind, json!({"response": stream.response("in_progress")}));
    }
    for said in &speech.said {
        match said {
            Said::Text { text } => stream.message(text),
            Said::Thinking { thinking, signature } => stream.reasoning(thinking, signature.as_deref().unwrap_or(SIGNATURE)),
            Said::RedactedThinking { data } => stream.reasoning("", data),
            Said::ToolCall(call) => stream.call(call),
        }
    }
    let status = if speech.stop_reason() == Stop::Length { "incomplete" } else { "completed" };
    stream.event(&format!("response.{status}"), json!({"response": stream.response(status)}));
    stream.frames
}

struct Stream<'a> {
    speech: &'a Speech,
    asked: &'a Asked,
    frames: Vec<Frame>,
    /// The items that are done.
    output: Vec<Value>,
}

impl Stream<'_> {
    fn event(&mut self, kind: &str, fields: Value) {
        let mut data = json!({"type": kind, "sequence_number": self.frames.len()});
        if let (Some(data), Value::Object(fields)) = (data.as_object_mut(), fields) {
            data.extend(fields);
        }
        self.frames.push(Frame::event(kind, data));
    }

    fn response(&self, status: &str) -> Value {
        let usage = (status != "in_progress").then(|| usage(self.speech));
        let incomplete = (status == "incomplete").then(|| json!({"reason": "max_output_tokens"}));
        json!({
            "id": format!("resp_{}", self.asked.serial()), "object": "response", "created_at": 1_760_000_000, "status": status,
            "background": false, "error": null, "incomplete_details": incomplete, "instructions": null,
            "max_output_tokens": null, "model": self.speech.model, "output": self.output, "parallel_tool_calls": true,
            "previous_response_id": null, "store": false, "temperature": 1.0, "tool_choice": "auto", "tools": [], "top_p": 1.0,
            "truncation": "disabled", "usage": usage, "metadata": {},
        })
    }

    fn id(&self, prefix: &str) -> String {
        format!("{prefix}_{}{:02}", self.asked.serial(), self.output.len())
    }

    /// The last item of a message that was cut is unfinished.
    fn status(&self) -> &'static str {
        let last = self.output.len() + 1 == self.speech.said.len();
        if last && self.speech.stop_reason() == Stop::Length { "incomplete" } else { "completed" }
    }

    fn added(&mut self, item: Value) {
        self.event("response.output_item.added", json!({"output_index": self.output.len(), "item": item}));
    }

    fn done(&mut self, item: Value) {
        self.event("response.output_item.done", json!({"output_index": self.output.len(), "item": item}));
        self.output.push(item);
    }

    /// One delta for each piece, then the whole text.
    fn text(&mut self, kind: &str, place: &Value, name: &str, text: &str) {
        let with = |key: &str, value: &str| {
            let mut fields = place.clone();
            fields[key] = value.into();
            fields
        };
        for piece in self.speech.pieces(text) {
            self.event(&format!("{kind}.delta"), with("delta", piece));
        }
        self.event(&format!("{kind}.done"), with(name, text));
    }

    fn message(&mut self, text: &str) {
        let refused = self.speech.stop_reason() == Stop::Refusal;
        let part = |text: &str| match refused {
            true => json!({"type": "refusal", "refusal": text}),
            false => json!({"type": "output_text", "annotations": [], "logprobs": [], "text": text}),
        };
        let (id, status) = (self.id("msg"), self.status());
        let item =
            |status, content| json!({"id": id, "type": "message", "status": status, "role": "assistant", "content": content});
        let place = json!({"item_id": id, "output_index": self.output.len(), "content_index": 0});
        let with_part = |text| {
            let mut fields = place.clone();
            fields["part"] = part(text);
            fields
        };
        self.added(item("in_progress", json!([])));
        self.event("response.content_part.added", with_part(""));
        let (kind, name) = if refused { ("response.refusal", "refusal") } else { ("response.output_text", "text") };
        self.text(kind, &place, name, text);
        self.event("response.content_part.done", with_part(text));
        self.done(item(status, json!([part(text)])));
    }

    fn reasoning(&mut self, thinking: &str, encrypted: &str) {
        let id = self.id("rs");
        self.added(json!({"id": id, "type": "reasoning", "summary": []}));
        let mut summary = json!([]);
        if !thinking.is_empty() {
            let place = json!({"item_id": id, "output_index": self.output.len(), "summary_index": 0});
            let part = |text: &str| {
                let mut fields = place.clone();
                fields["part"] = json!({"type": "summary_text", "text": text});
                fields
            };
            self.event("response.reasoning_summary_part.added", part(""));
            self.text("response.reasoning_summary_text", &place, "text", thinking);
            self.event("response.reasoning_summary_part.done", part(thinking));
            summary = json!([{"type": "summary_text", "text": thinking}]);
        }
        self.done(json!({"id": id, "type": "reasoning", "summary": summary, "encrypted_content": encrypted}));
    }

    fn call(&mut self, call: &Call) {
        let (id, status, arguments) = (self.id("fc"), self.status(), call.arguments_text());
        let call_id = call.id(self.asked.serial, self.output.len());
        let item = |status: &str, arguments: &str| {
            json!({
                "id": id, "type": "function_call", "status": status, "arguments": arguments, "call_id": call_id,
                "name": call.name,
            })
        };
        self.added(item("in_progress", ""));
        let place = json!({"item_id": id, "output_index": self.output.len()});
        self.text("response.function_call_arguments", &place, "arguments", &arguments);
        self.done(item(status, &arguments));
    }
}

/// Input tokens contain the cached ones.
fn usage(speech: &Speech) -> Value {
    let tokens = speech.usage;
    let input = tokens.input + tokens.cache_read + tokens.cache_write;
    json!({
        "input_tokens": input,
        "input_tokens_details": {"cached_tokens": tokens.cache_read},
        "output_tokens": tokens.output,
        "output_tokens_details": {"reasoning_tokens": tokens.reasoning},
        "total_tokens": input + tokens.output,
    })
}

/// The error event (its fields under `error`, unlike the documentation), then the response that failed.
pub(super) fn error(complaint: &Complaint, speech: &Speech, asked: &Asked, sent: usize) -> Vec<Frame> {
    let mut stream = Stream { speech, asked, frames: Vec::new(), output: Vec::new() };
    let mut failed = stream.response("failed");
    failed["usage"] = Value::Null;
    failed["error"] = json!({"code": complaint.code, "message": complaint.message});
    let error = json!({"type": complaint.openai_kind(), "code": complaint.code, "message": complaint.message, "param": null});
    stream.event("error", json!({"error": error, "sequence_number": sent}));
    stream.event("response.failed", json!({"response": failed, "sequence_number": sent + 1}));
    stream.frames
}
