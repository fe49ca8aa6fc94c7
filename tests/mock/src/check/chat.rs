//! OpenAI Chat Completions, Azure's, and what Mistral and DeepSeek want otherwise:
//! <https://platform.openai.com/docs/api-reference/chat/create>.

mod flavours;
mod messages;

use serde_json::Value;

use self::messages::Message;
use super::place::{Checked, Object, Place, Wrong, said};
use super::{Flavour, Strict, output, tools};
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

pub(super) const EFFORTS: &[&str] = &["none", "minimal", "low", "medium", "high", "xhigh", "max"];

pub(super) fn check(strict: &Strict, route: &Route, body: &Value) -> Checked {
    let place = Place::body(body);
    let flavour = strict.flavour;
    let body = match flavour {
        Flavour::OpenAi => place.object(FIELDS)?,
        Flavour::Mistral => flavours::mistral_fields(&place)?,
        Flavour::DeepSeek | Flavour::Compatible => place.open_object()?,
    };
    let model = match route.host {
        Host::Azure => body.get("model").map(|model| model.string()).transpose()?.unwrap_or_default(),
        _ => body.require("model")?.short_string(256)?,
    };
    options(flavour, &body, model)?;
    offered(flavour, &body)?;
    let place = body.require("messages")?;
    let list = place.filled_array()?.iter().map(|it| Message::read(flavour, it)).collect::<Checked<Vec<_>>>()?;
    messages::pairs(flavour, &list)?;
    match flavour {
        Flavour::Mistral => flavours::mistral_order(&list),
        Flavour::DeepSeek => flavours::deepseek_reasoning(&body, model, &list),
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
    for name in ["frequency_penalty", "presence_penalty"] {
        if let Some(penalty) = body.get(name) {
            penalty.number(-2.0, 2.0)?;
        }
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
        let format = format.open_object()?;
        if format.require("type")?.one_of(&["text", "json_object", "json_schema"])? == "json_schema" {
            output::openai(&format.require("json_schema")?, &["name", "description", "strict", "schema"])?;
        }
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
            // Servers offer built-in tools under their own names.
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
