//! OpenAI Chat Completions, Azure's, and what Mistral and DeepSeek want otherwise:
//! <https://platform.openai.com/docs/api-reference/chat/create>.

use serde_json::Value;

use super::image::is_image_url;
use super::place::{Checked, Object, Place, Wrong, said};
use super::{Flavour, Strict, tools};
use crate::route::{Host, Route};

const FIELDS: &[&str] = &[
    "messages",
    "model",
    "audio",
    "frequency_penalty",
    "function_call",
    "functions",
    "logit_bias",
    "logprobs",
    "max_completion_tokens",
    "max_tokens",
    "metadata",
    "modalities",
    "moderation",
    "n",
    "parallel_tool_calls",
    "prediction",
    "presence_penalty",
    "prompt_cache_key",
    "prompt_cache_retention",
    "reasoning_effort",
    "response_format",
    "safety_identifier",
    "seed",
    "service_tier",
    "stop",
    "store",
    "stream",
    "stream_options",
    "temperature",
    "tool_choice",
    "tools",
    "top_logprobs",
    "top_p",
    "user",
    "verbosity",
    "web_search_options",
];

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

pub(super) const EFFORTS: &[&str] = &["none", "minimal", "low", "medium", "high", "xhigh", "max"];

pub(super) fn check(strict: &Strict, route: &Route, body: &Value) -> Checked {
    let place = Place::body(body);
    let flavour = strict.flavour;
    let body = match flavour {
        Flavour::OpenAi => place.object(FIELDS)?,
        Flavour::Mistral => mistral_fields(&place)?,
        Flavour::DeepSeek | Flavour::Compatible => place.open_object()?,
    };
    let model = match route.host {
        Host::Azure => body.get("model").map(|model| model.string()).transpose()?.unwrap_or_default(),
        _ => body.require("model")?.short_string(256)?,
    };
    options(flavour, &body, model)?;
    offered(flavour, &body)?;
    let place = body.require("messages")?;
    let messages = place.filled_array()?.iter().map(|it| Message::read(flavour, it)).collect::<Checked<Vec<_>>>()?;
    pairs(flavour, &messages)?;
    match flavour {
        Flavour::Mistral => mistral_order(&messages),
        Flavour::DeepSeek => deepseek_reasoning(&body, model, &messages),
        Flavour::OpenAi | Flavour::Compatible => Ok(()),
    }
}

fn options(flavour: Flavour, body: &Object<'_>, model: &str) -> Checked {
    body.booleans(&["stream", "store", "logprobs", "parallel_tool_calls"])?;
    body.strings(&["user"])?;
    if let Some(temperature) = body.get("temperature") {
        temperature.number(0.0, if flavour == Flavour::Mistral { 1.5 } else { 2.0 })?;
    }
    if let Some(top_p) = body.get("top_p") {
        top_p.number(0.0, 1.0)?;
    }
    for name in ["max_tokens", "max_completion_tokens", "n"] {
        if let Some(number) = body.get(name) {
            number.integer(1)?;
        }
    }
    if body.has("max_tokens") && body.has("max_completion_tokens") {
        return said("Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.");
    }
    let reasons = ["o1", "o3", "o4", "gpt-5"].iter().any(|family| model.starts_with(family)) && !model.contains("chat");
    if flavour == Flavour::OpenAi && reasons && body.has("max_tokens") {
        return coded(
            "unsupported_parameter",
            "max_tokens",
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
        );
    }
    if let Some(stop) = body.get("stop") {
        if stop.value.is_string() {
            stop.filled_string()?;
        } else {
            let stops = stop.filled_array()?;
            if stops.len() > 4 && flavour == Flavour::OpenAi {
                return stop.wrong(format!(
                    "array too long. Expected an array with maximum length 4, but got an array with length {} instead.",
                    stops.len()
                ));
            }
            stops.iter().try_for_each(|stop| stop.filled_string().map(drop))?;
        }
    }
    if let Some(key) = body.get("prompt_cache_key") {
        key.short_string(64)?;
    }
    if let Some(effort) = body.get("reasoning_effort") {
        effort.one_of(EFFORTS)?;
    }
    if let Some(format) = body.get("response_format") {
        format.open_object()?.require("type")?.one_of(&["text", "json_object", "json_schema"])?;
    }
    if let Some(options) = body.get("stream_options") {
        if body.get("stream").is_none_or(|it| it.value == false) {
            return coded(
                "invalid_parameter",
                "stream_options",
                "The 'stream_options' parameter is only allowed when 'stream' is enabled.",
            );
        }
        options.object(&["include_usage", "include_obfuscation"])?.booleans(&["include_usage", "include_obfuscation"])?;
    }
    Ok(())
}

fn coded(code: &'static str, param: &str, message: &str) -> Checked {
    Err(Wrong::Coded { status: 400, code, path: Some(param.into()), message: message.into() })
}

fn offered(flavour: Flavour, body: &Object<'_>) -> Checked {
    let list = body.get("tools");
    let mut names = Vec::new();
    for tool in list.as_ref().map(|tools| tools.filled_array()).transpose()?.unwrap_or_default() {
        let open = tool.open_object()?;
        match open.require("type")?.string()? {
            "function" => {}
            "custom" if flavour == Flavour::OpenAi => continue,
            // Servers offer tools of their own under names of their own.
            _ if flavour == Flavour::Compatible => continue,
            _ => open.require("type")?.one_of(&["function", "custom"]).map(drop)?,
        }
        let tool = if flavour == Flavour::Compatible { open } else { tool.object(&["type", "function"])? };
        let function = tool.require("function")?.object(&["name", "description", "parameters", "strict"])?;
        let name = tools::name(&function.require("name")?)?;
        names.push(name);
        function.strings(&["description"])?;
        function.booleans(&["strict"])?;
        let strict = function.get("strict").is_some_and(|it| it.value == true) && flavour == Flavour::OpenAi;
        if let Some(parameters) = function.get("parameters") {
            tools::openai_parameters(name, &parameters, strict)?;
        }
    }
    if let Some(name) = tools::repeated(&names) {
        return coded("invalid_value", "tools", &format!("Invalid 'tools': the function name '{name}' is used more than once."));
    }
    for name in ["tool_choice", "parallel_tool_calls"] {
        if body.has(name) && list.is_none() {
            let message = format!("Invalid value for '{name}': '{name}' is only allowed when 'tools' are specified.");
            return coded("invalid_value", name, &message);
        }
    }
    let Some(choice) = body.get("tool_choice") else { return Ok(()) };
    if choice.value.is_string() {
        let words: &[&str] = match flavour {
            Flavour::Mistral | Flavour::Compatible => &["none", "auto", "required", "any"],
            Flavour::OpenAi | Flavour::DeepSeek => &["none", "auto", "required"],
        };
        choice.one_of(words)?;
        return Ok(());
    }
    let named = choice.open_object()?;
    if named.require("type")?.string()? == "function" {
        let name = named.require("function")?.object(&["name"])?.require("name")?.string()?;
        if !names.contains(&name) {
            return coded("invalid_value", "tool_choice", &format!("Tool choice '{name}' not found in 'tools' parameter."));
        }
    }
    Ok(())
}

struct Message<'a> {
    place: Place<'a>,
    fields: Object<'a>,
    role: &'a str,
    calls: Vec<&'a str>,
}

impl<'a> Message<'a> {
    fn read(flavour: Flavour, place: &Place<'a>) -> Checked<Message<'a>> {
        let open = place.open_object()?;
        let role = open.require("role")?.one_of(&["system", "developer", "user", "assistant", "tool"])?;
        let known: &[&str] = match role {
            "assistant" => &["role", "content", "name", "refusal", "audio", "annotations", "function_call", "tool_calls"],
            "tool" => &["role", "content", "name", "tool_call_id"],
            _ => &["role", "content", "name"],
        };
        // OpenAI's own word for its successor of "system"; nobody else knows it.
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
        match role {
            "assistant" => message.read_assistant(flavour)?,
            "tool" => {
                message.fields.require("tool_call_id")?.filled_string()?;
                let parts: &[&str] = if flavour == Flavour::OpenAi { &["text"] } else { &["text", "image_url"] };
                content(&message.fields.require("content")?, parts)?;
            }
            "user" => content(&message.fields.require("content")?, &["text", "image_url", "input_audio", "file"])?,
            _ => content(&message.fields.require("content")?, &["text"])?,
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
                content(&it, kinds)?;
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
fn content(place: &Place<'_>, kinds: &'static [&'static str]) -> Checked {
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
            _ => {}
        }
    }
    Ok(())
}

/// Tool messages stand directly after their calls, one for each.
fn pairs(flavour: Flavour, messages: &[Message<'_>]) -> Checked {
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

fn mistral<T>(code: u16, message: &str) -> Checked<T> {
    let code = match code {
        3240 => "3240",
        3280 => "3280",
        _ => "3230",
    };
    Err(Wrong::Coded { status: 400, code, path: None, message: message.into() })
}

/// An unknown field has a status of its own there.
fn mistral_fields<'a>(place: &Place<'a>) -> Checked<Object<'a>> {
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

fn mistral_order(messages: &[Message<'_>]) -> Checked {
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

/// Its newer models think unless told not to, and then want the reasoning of their calls back (it may be empty).
fn deepseek_reasoning(body: &Object<'_>, model: &str, messages: &[Message<'_>]) -> Checked {
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
