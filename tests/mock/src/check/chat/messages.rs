//! The messages: roles, contents, and each call with its result.

use serde_json::Value;

use super::super::file;
use super::super::image::is_image_url;
use super::super::place::{Checked, Object, Place, Wrong};
use super::super::{Flavour, tools};
use super::coded;
use super::flavours::mistral;

pub(super) struct Message<'a> {
    place: Place<'a>,
    pub(super) fields: Object<'a>,
    pub(super) role: &'a str,
    pub(super) calls: Vec<&'a str>,
}

impl<'a> Message<'a> {
    pub(super) fn read(flavour: Flavour, place: &Place<'a>) -> Checked<Message<'a>> {
        let open = place.open_object()?;
        let role = open.require("role")?.one_of(&["system", "developer", "user", "assistant", "tool"])?;
        let known: &[&str] = match role {
            // OpenAI sends no thinking; this one does where a script has it, and takes it back.
            "assistant" => &[
                "role",
                "content",
                "name",
                "refusal",
                "audio",
                "annotations",
                "function_call",
                "tool_calls",
                "reasoning_content",
            ],
            "tool" => &["role", "content", "name", "tool_call_id"],
            _ => &["role", "content", "name"],
        };
        // OpenAI's successor of "system"; other services do not know it.
        if role == "developer" && matches!(flavour, Flavour::Mistral | Flavour::DeepSeek) {
            open.require("role")?.one_of(&["system", "user", "assistant", "tool"])?;
        }
        let fields = match flavour {
            Flavour::OpenAi => place.object(known)?,
            Flavour::Mistral if role == "assistant" => place.object(&["role", "content", "tool_calls", "prefix", "name"])?,
            Flavour::Mistral => place.object(known)?,
            Flavour::DeepSeek | Flavour::Compatible => open,
        };
        let mut message = Message { place: place.clone(), fields, role, calls: Vec::new() };
        let own = flavour == Flavour::OpenAi;
        match role {
            "assistant" => message.read_assistant(flavour)?,
            "tool" => {
                message.fields.require("tool_call_id")?.filled_string()?;
                let parts: &[&str] = if own { &["text"] } else { &["text", "image_url"] };
                content(&message.fields.require("content")?, parts, own)?;
            }
            "user" => content(&message.fields.require("content")?, &["text", "image_url", "input_audio", "file"], own)?,
            _ => content(&message.fields.require("content")?, &["text"], own)?,
        }
        Ok(message)
    }

    fn read_assistant(&mut self, flavour: Flavour) -> Checked {
        if let Some(calls) = self.fields.get("tool_calls") {
            // Some clients of other servers always send the list.
            let calls = if flavour == Flavour::Compatible { calls.array()? } else { calls.filled_array()? };
            self.calls = calls.iter().map(|call| called(flavour, call)).collect::<Checked<_>>()?;
        }
        if let Some(id) = tools::repeated(&self.calls) {
            return self.place.wrong(format!("the tool call id '{id}' is used more than once in one message."));
        }
        match self.fields.get("content") {
            Some(it) => {
                let kinds: &[&str] =
                    if flavour == Flavour::OpenAi { &["text", "refusal"] } else { &["text", "refusal", "thinking"] };
                content(&it, kinds, flavour == Flavour::OpenAi)?;
                if it.value == "" && self.calls.is_empty() && flavour == Flavour::Mistral {
                    return mistral(3240, "Assistant message must have either content or tool_calls, but not none.");
                }
            }
            None if !self.calls.is_empty() || self.fields.has("refusal") || self.fields.has("function_call") => {}
            None if flavour == Flavour::Mistral => {
                return mistral(3240, "Assistant message must have either content or tool_calls, but not none.");
            }
            None => {
                let path = format!("{}.content", self.place.path);
                return coded("invalid_type", &path, "Invalid value for 'content': expected a string, got null.");
            }
        }
        Ok(())
    }

    fn answers(&self) -> Option<&'a str> {
        self.fields.map.get("tool_call_id").and_then(Value::as_str).filter(|_| self.role == "tool")
    }
}

fn called<'a>(flavour: Flavour, place: &Place<'a>) -> Checked<&'a str> {
    let call = if flavour == Flavour::OpenAi { place.object(&["id", "type", "function"])? } else { place.open_object()? };
    let id = call.require("id")?;
    let text = match flavour {
        Flavour::OpenAi => id.short_string(40)?,
        _ => id.filled_string()?,
    };
    if flavour == Flavour::Mistral && !(text.len() == 9 && text.chars().all(|letter| letter.is_ascii_alphanumeric())) {
        return mistral(3280, &format!("Tool call id was {text} but must be a-z, A-Z, 0-9, with a length of 9."));
    }
    if flavour == Flavour::Compatible {
        call.strings(&["type"])?;
    } else {
        call.require("type")?.one_of(&["function"])?;
    }
    let function = call.require("function")?.object(&["name", "arguments"])?;
    match flavour {
        Flavour::OpenAi => tools::name(&function.require("name")?).map(drop)?,
        _ => function.require("name")?.filled_string().map(drop)?,
    }
    let arguments = function.require("arguments")?;
    if flavour == Flavour::Mistral && arguments.value.is_object() {
        return Ok(text);
    }
    match serde_json::from_str::<Value>(arguments.string()?) {
        Ok(Value::Object(_)) => Ok(text),
        _ => arguments.wrong("expected the JSON text of an object."),
    }
}

/// A string or a list of parts of these kinds.
fn content(place: &Place<'_>, kinds: &'static [&'static str], own: bool) -> Checked {
    if place.value.is_string() {
        return Ok(());
    }
    if !place.value.is_array() {
        return place.not("one of a string or array of objects");
    }
    for part in place.filled_array()? {
        let fields = part.open_object()?;
        match fields.require("type")?.one_of(kinds)? {
            "text" => fields.require("text")?.string().map(drop)?,
            "refusal" => fields.require("refusal")?.string().map(drop)?,
            "image_url" => {
                let image = fields.require("image_url")?;
                // Mistral takes the address alone, too.
                let url = if image.value.is_string() { image } else { image.object(&["url", "detail"])?.require("url")? };
                if !is_image_url(url.string()?) {
                    return url
                        .wrong("expected a valid URL or a base64 encoded image of a supported type (png, jpeg, gif, webp).");
                }
            }
            "file" => file::chat_file(&fields, own)?,
            "input_audio" => file::chat_audio(&fields)?,
            _ => {}
        }
    }
    Ok(())
}

/// Tool messages stand directly after their calls, one for each.
pub(super) fn pairs(flavour: Flavour, messages: &[Message<'_>]) -> Checked {
    let mut open: Vec<&str> = Vec::new();
    let mut given: Vec<&str> = Vec::new();
    let mut caller = None;
    for message in messages {
        if let Some(id) = message.answers() {
            if given.contains(&id) {
                return coded(
                    "invalid_value",
                    &message.place.path,
                    &format!("Duplicate value for 'tool_call_id' of '{id}' in message."),
                );
            }
            if !open.contains(&id) {
                if flavour == Flavour::Mistral {
                    return mistral(3230, "Unexpected tool call id in tool results");
                }
                return coded(
                    "invalid_value",
                    &format!("{}.role", message.place.path),
                    "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
                );
            }
            open.retain(|it| *it != id);
            given.push(id);
            continue;
        }
        unanswered(flavour, caller, &open)?;
        given.clear();
        open.clone_from(&message.calls);
        caller = Some(&message.place.path);
    }
    unanswered(flavour, caller, &open)
}

fn unanswered(flavour: Flavour, caller: Option<&String>, open: &[&str]) -> Checked {
    match caller {
        Some(_) if open.is_empty() => Ok(()),
        Some(_) if flavour == Flavour::Mistral => mistral(3230, "Not the same number of function calls and responses"),
        Some(path) => {
            let message = format!(
                "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The \
                 following tool_call_ids did not have response messages: {}",
                open.join(", ")
            );
            Err(Wrong::Coded { status: 400, code: "invalid_request_error", path: Some(path.clone()), message })
        }
        None => Ok(()),
    }
}
