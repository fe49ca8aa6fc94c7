//! The requests of `useChat`: `{id, messages, trigger, messageId}`. An approval is a state of its call in the last message, as is
//! the output of a tool that the page has run.

use serde_json::{Map, Value};

use super::request::{UiRequest, failed, text};
use crate::conversion::{Format, import};
use crate::error::Error;
use crate::suspension::Decision;

pub(super) fn read(body: &Map<String, Value>) -> Result<UiRequest, Error> {
    let messages = body.get("messages").unwrap_or(&Value::Null);
    let imported = import(Format::AiSdk, messages, None)?;
    let is_regenerate = text(body, "trigger")?.as_deref() == Some("regenerate-message");
    let mut request = UiRequest {
        id: text(body, "id")?,
        message_id: text(body, "messageId")?,
        is_regenerate,
        history: imported.messages,
        losses: imported.losses,
        ..UiRequest::default()
    };
    request.take_prompt();
    let id = request.prompt.as_ref().and_then(|prompt| prompt.id());
    request.is_edit = !is_regenerate && id.is_some() && id == request.message_id.as_deref();
    if let Some(last) = messages.as_array().and_then(|messages| messages.last()) {
        let parts = last.get("parts").and_then(Value::as_array).into_iter().flatten();
        request.answers = parts.filter_map(answer).collect();
    }
    Ok(request)
}

/// What a part of the last message decides about its call.
fn answer(part: &Value) -> Option<(String, Decision)> {
    let word = |value: &Value, name: &str| Some(value.get(name)?.as_str()?.to_owned());
    let id = word(part, "toolCallId")?;
    let approval = part.get("approval");
    let decision = match part.get("state")?.as_str()? {
        "approval-responded" => {
            let approval = approval?;
            match (approval.get("approved")?.as_bool()?, word(approval, "reason")) {
                (true, _) => Decision::Approve,
                (false, Some(reason)) if !reason.trim().is_empty() => Decision::Deny { reason },
                (false, _) => Decision::denied(),
            }
        }
        "output-available" if part.get("preliminary") != Some(&Value::Bool(true)) => {
            Decision::result(part.get("output")?.clone())
        }
        "output-error" => Decision::result(failed(&word(part, "errorText")?)),
        _ => return None,
    };
    Some((id, decision))
}
