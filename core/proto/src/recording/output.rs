//! What a loop gives, as far as a recording has it: what is compared when it is played.

use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::event::{Event, EventData};
use crate::machine::{Action, ModelCall};

/// What a recording has of an action, under its name there; `None` for what follows from the rest.
pub(super) fn output(action: &Action) -> Option<(&'static str, Value)> {
    match action {
        Action::Emit(event) => Some(("event", kept(event)?)),
        Action::CallTool { call, id, name, arguments, .. } => {
            Some(("tool_call", json!({ "call": call, "id": id, "name": name, "arguments": arguments })))
        }
        Action::AskHook { question_id, question, .. } => {
            let hook = question.kind().map_or("of_tool", |kind| kind.as_str());
            Some(("question", json!({ "question_id": question_id, "hook": hook })))
        }
        Action::CallModel(call) => Some(("request", json!(RequestLine::of(call)))),
        _ => None,
    }
}

/// A request as a recording has it.
#[derive(Serialize)]
pub(super) struct RequestLine<'a> {
    call: u32,
    model: &'a str,
    /// The body as it was sent, or what a custom model got.
    #[serde(skip_serializing_if = "Option::is_none")]
    body: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    request: Option<&'a crate::request::Request>,
}

impl RequestLine<'_> {
    pub(super) fn of(call: &ModelCall) -> RequestLine<'_> {
        let body = call.body.as_deref().and_then(|body| serde_json::from_slice(body).ok());
        let request = body.is_none().then_some(&*call.request);
        RequestLine { call: call.call, model: &call.request.model, body, request }
    }
}

/// An event without what other lines have: pieces of messages, and the messages again at the end of a turn and of the run.
fn kept(event: &Event) -> Option<Value> {
    match &event.data {
        EventData::MessageUpdate(_)
        | EventData::MessageStart { .. }
        | EventData::ToolExecutionStart { .. }
        | EventData::ToolExecutionUpdate { .. }
        | EventData::SubagentEvent { .. }
        | EventData::TurnEnd { .. }
        | EventData::Raw { .. } => None,
        EventData::AgentEnd { .. } => {
            let mut end = json!(event);
            end.as_object_mut().and_then(|end| end.shift_remove("messages"));
            Some(end)
        }
        _ => Some(json!(event)),
    }
}
