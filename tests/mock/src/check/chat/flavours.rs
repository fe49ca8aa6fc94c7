//! What Mistral and DeepSeek want otherwise.

use serde_json::Value;

use super::super::place::{Checked, Object, Place, Wrong, said};
use super::messages::Message;

const MISTRAL_FIELDS: &[&str] = &[
    "messages",
    "model",
    "temperature",
    "top_p",
    "max_tokens",
    "stream",
    "stop",
    "random_seed",
    "metadata",
    "response_format",
    "tools",
    "tool_choice",
    "presence_penalty",
    "frequency_penalty",
    "n",
    "prediction",
    "parallel_tool_calls",
    "prompt_mode",
    "reasoning_effort",
    "safe_prompt",
    "guardrails",
    "prompt_cache_key",
];

pub(super) fn mistral<T>(code: u16, message: &str) -> Checked<T> {
    let code = match code {
        3240 => "3240",
        3280 => "3280",
        _ => "3230",
    };
    Err(Wrong::Coded { status: 400, code, path: None, message: message.into() })
}

/// An unknown field has its own status there.
pub(super) fn mistral_fields<'a>(place: &Place<'a>) -> Checked<Object<'a>> {
    place.object(MISTRAL_FIELDS).map_err(|wrong| match wrong {
        Wrong::Unknown { name, .. } => Wrong::Coded {
            status: 422,
            code: "extra_forbidden",
            message: format!("Extra inputs are not permitted: {name}"),
            path: Some(name),
        },
        wrong => wrong,
    })
}

pub(super) fn mistral_order(messages: &[Message<'_>]) -> Checked {
    for pair in messages.windows(2) {
        let (before, role) = (pair[0].role, pair[1].role);
        let refused = match role {
            "user" | "system" => before == "tool" || (role == "system" && before != "system"),
            "assistant" => before == "assistant",
            _ => false,
        };
        if refused {
            return mistral(3230, &format!("Unexpected role '{role}' after role '{before}'"));
        }
    }
    match messages.last() {
        Some(last) if !matches!(last.role, "user" | "tool") && last.fields.get("prefix").is_none_or(|it| it.value != true) => {
            mistral(
                3230,
                &format!("Expected last role User or Tool (or Assistant with prefix True) for serving but got {}", last.role),
            )
        }
        _ => Ok(()),
    }
}

/// Its newer models think by default, and then want the reasoning of their calls back (it may be empty).
pub(super) fn deepseek_reasoning(body: &Object<'_>, model: &str, messages: &[Message<'_>]) -> Checked {
    let switch = body.get("thinking").and_then(|it| it.value.get("type")).and_then(Value::as_str);
    let thinks = switch.map_or(model.contains("reasoner") || model.contains("v4"), |kind| kind == "enabled");
    let bare = |message: &Message<'_>| !message.calls.is_empty() && !message.fields.map.contains_key("reasoning_content");
    match messages.iter().position(bare) {
        Some(index) if thinks => {
            said(format!("Missing `reasoning_content` field in the assistant message at message index {index}."))
        }
        _ => Ok(()),
    }
}
