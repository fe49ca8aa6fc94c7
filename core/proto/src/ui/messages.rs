//! A conversation as `useChat` has it, for a page that is loaded again.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::options::UiOptions;
use crate::conversion::{Format, export};
use crate::message::{Message, OUTPUT_RETRY};
use crate::suspension::SuspendedCall;

/// The messages as UI messages of the AI SDK, with what the options say: an array. Calls that wait may be approved there.
pub fn to_ui_messages(messages: &[Arc<Message>], pending: &[SuspendedCall], options: &UiOptions) -> Value {
    let mut all = export(Format::AiSdk, messages, "").messages;
    // By their metadata, as places name messages.
    if let Some(all) = all.as_array_mut() {
        all.retain(|message| message.get("metadata").and_then(|metadata| metadata.get(OUTPUT_RETRY)).is_none());
    }
    for message in all.as_array_mut().into_iter().flatten() {
        let Some(parts) = message.get_mut("parts").and_then(Value::as_array_mut) else { continue };
        parts.retain(|part| options.reasoning || part.get("type").is_none_or(|kind| kind != "reasoning"));
        for part in parts.iter_mut().filter_map(Value::as_object_mut) {
            if !options.signatures {
                part.shift_remove("providerMetadata");
                part.shift_remove("callProviderMetadata");
            }
            finish(part, pending, options);
        }
    }
    all
}

/// Hides the text of an error, and asks for the approval of a call that waits.
fn finish(part: &mut Map<String, Value>, pending: &[SuspendedCall], options: &UiOptions) {
    if let Some(Value::String(text)) = part.get_mut("errorText") {
        *text = options.shown(text).to_owned();
    }
    let id = part.get("toolCallId").and_then(Value::as_str);
    let Some(call) = pending.iter().find(|call| id == Some(&*call.tool_call_id)) else { return };
    if !options.is_client_tool(&call.tool_name) && part.get("state").is_some_and(|state| state == "input-available") {
        part.insert("input".into(), Value::Object((*call.arguments).clone()));
        part.insert("state".into(), "approval-requested".into());
        part.insert("approval".into(), json!({ "id": &*call.tool_call_id }));
    }
}
