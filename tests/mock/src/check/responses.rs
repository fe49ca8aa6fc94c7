//! OpenAI Responses, and Azure's: <https://platform.openai.com/docs/api-reference/responses/create>.

use serde_json::Value;

use super::file;
use super::image::is_image_url;
use super::place::{Checked, Object, Place, Wrong, said, wrong_at};
use super::tools::is_id_character;
use super::{Flavour, Strict, chat, output, tools};

const FIELDS: &[&str] = &[
    "background",
    "context_management",
    "conversation",
    "include",
    "input",
    "instructions",
    "max_output_tokens",
    "max_tool_calls",
    "metadata",
    "model",
    "moderation",
    "parallel_tool_calls",
    "previous_response_id",
    "prompt",
    "prompt_cache_key",
    "prompt_cache_retention",
    "reasoning",
    "safety_identifier",
    "service_tier",
    "store",
    "stream",
    "stream_options",
    "temperature",
    "text",
    "tool_choice",
    "tools",
    "top_logprobs",
    "top_p",
    "truncation",
    "user",
];

const INCLUDE: &[&str] = &[
    "web_search_call.action.sources",
    "web_search_call.results",
    "code_interpreter_call.outputs",
    "computer_call_output.output.image_url",
    "file_search_call.results",
    "message.input_image.image_url",
    "message.output_text.logprobs",
    "reasoning.encrypted_content",
];

pub(super) fn check(strict: &Strict, body: &Value) -> Checked {
    let place = Place::body(body);
    let own = strict.flavour == Flavour::OpenAi;
    let body = if own { place.object(FIELDS)? } else { place.open_object()? };
    body.require("model")?.short_string(256)?;
    options(&body, own)?;
    offered(&body, own)?;
    let input = body.require("input")?;
    if input.value.is_string() {
        return Ok(());
    }
    if !input.value.is_array() {
        return input.not("one of a string or array of input items");
    }
    let stored = body.get("store").is_none_or(|it| it.value != false);
    let items = input.filled_array()?.iter().map(|item| Item::read(item, own, stored)).collect::<Checked<Vec<_>>>()?;
    let elsewhere = body.has("previous_response_id") || body.has("conversation");
    ids(&items, own)?;
    pairs(&items, elsewhere)?;
    followers(&items, own)
}

fn options(body: &Object<'_>, own: bool) -> Checked {
    body.booleans(&["stream", "store", "background", "parallel_tool_calls"])?;
    body.strings(&["instructions", "previous_response_id", "user"])?;
    if let Some(temperature) = body.get("temperature") {
        temperature.number(0.0, 2.0)?;
    }
    if let Some(top_p) = body.get("top_p") {
        top_p.number(0.0, 1.0)?;
    }
    if let Some(most) = body.get("max_output_tokens") {
        most.integer(if own { 16 } else { 1 })?;
    }
    if let Some(key) = body.get("prompt_cache_key") {
        key.short_string(64)?;
    }
    for value in body.get("include").map(|it| it.array()).transpose()?.unwrap_or_default() {
        value.one_of(INCLUDE)?;
    }
    if let Some(reasoning) = body.get("reasoning") {
        let known = ["effort", "summary", "generate_summary", "context", "mode"];
        let reasoning = if own { reasoning.object(&known)? } else { reasoning.open_object()? };
        if let Some(effort) = reasoning.get("effort") {
            effort.one_of(chat::EFFORTS)?;
        }
        if let Some(summary) = reasoning.get("summary") {
            summary.one_of(&["auto", "concise", "detailed"])?;
        }
    }
    let text = body.get("text").map(|text| text.object(&["format", "verbosity"])).transpose()?;
    if let Some(format) = text.and_then(|text| text.get("format")) {
        let kind = format.open_object()?.require("type")?.one_of(&["text", "json_object", "json_schema"])?;
        if kind == "json_schema" {
            output::openai(&format, &["type", "name", "description", "strict", "schema"])?;
        }
    }
    if body.has("stream_options") && body.get("stream").is_none_or(|it| it.value == false) {
        return said("The 'stream_options' parameter is only allowed when 'stream' is enabled.");
    }
    Ok(())
}

fn offered(body: &Object<'_>, own: bool) -> Checked {
    let mut names = Vec::new();
    for tool in body.get("tools").map(|tools| tools.array()).transpose()?.unwrap_or_default() {
        let open = tool.open_object()?;
        // The server's own tools; each has its own fields.
        if open.require("type")?.string()? != "function" {
            continue;
        }
        let known = ["type", "name", "description", "parameters", "strict", "defer_loading", "output_schema", "allowed_callers"];
        let tool = if own { tool.object(&known)? } else { open };
        let name = tools::name(&tool.require("name")?)?;
        names.push(name);
        tool.strings(&["description"])?;
        tool.booleans(&["strict"])?;
        let strict = tool.get("strict").is_some_and(|it| it.value == true) && own;
        if let Some(parameters) = tool.get("parameters") {
            tools::openai_parameters(name, &parameters, strict)?;
        }
    }
    if let Some(name) = tools::repeated(&names) {
        return said(format!("Invalid 'tools': the function name '{name}' is used more than once."));
    }
    let Some(choice) = body.get("tool_choice") else { return Ok(()) };
    if choice.value.is_string() {
        return choice.one_of(&["none", "auto", "required"]).map(drop);
    }
    let named = choice.open_object()?;
    if named.require("type")?.string()? == "function" {
        let name = named.require("name")?.string()?;
        if !names.contains(&name) {
            return said(format!("Tool choice '{name}' not found in 'tools' parameter."));
        }
    }
    Ok(())
}

/// What an item is, as far as the order of items depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind<'a> {
    /// Of the user, the system or the developer.
    Said,
    Answered,
    Reasoning,
    Call(&'a str),
    Output(&'a str),
    /// Made by the server: searches and the like.
    ServerItem,
}

struct Item<'a> {
    kind: Kind<'a>,
    id: Option<&'a str>,
    path: String,
}

/// Kinds that are taken as they are.
const OTHERS: &[&str] = &[
    "item_reference",
    "file_search_call",
    "web_search_call",
    "computer_call",
    "computer_call_output",
    "code_interpreter_call",
    "image_generation_call",
    "local_shell_call",
    "local_shell_call_output",
    "shell_call",
    "shell_call_output",
    "apply_patch_call",
    "apply_patch_call_output",
    "mcp_list_tools",
    "mcp_call",
    "mcp_approval_request",
    "mcp_approval_response",
    "custom_tool_call",
    "custom_tool_call_output",
    "tool_search_call",
    "tool_search_output",
    "compaction",
    "compaction_trigger",
];

impl<'a> Item<'a> {
    fn read(place: &Place<'a>, own: bool, stored: bool) -> Checked<Item<'a>> {
        let open = place.open_object()?;
        let fields = |known: &[&str]| if own { place.object(known) } else { place.open_object() };
        let id = open.get("id").map(|id| id.string()).transpose()?;
        let kind = match open.get("type").map(|kind| kind.string()).transpose()? {
            None | Some("message") => return Ok(Item { kind: message(&fields(MESSAGE)?, own)?, id, path: place.path.clone() }),
            Some(kind) => kind,
        };
        let kind = match kind {
            "function_call" => {
                let call = fields(&["type", "id", "call_id", "name", "arguments", "status", "namespace", "caller"])?;
                item_id(&call, "fc", own)?;
                let name = call.require("name")?;
                if own {
                    tools::name(&name).map(drop)?
                } else {
                    name.filled_string().map(drop)?
                }
                let arguments = call.require("arguments")?;
                if !matches!(serde_json::from_str(arguments.string()?), Ok(Value::Object(_))) {
                    return arguments.wrong("expected the JSON text of an object.");
                }
                Kind::Call(call.require("call_id")?.short_string(64)?)
            }
            "function_call_output" => {
                let result = fields(&["type", "id", "call_id", "output", "status", "caller"])?;
                let output = result.require("output")?;
                if !output.value.is_string() {
                    parts(&output, &["input_text", "input_image", "input_file"])?;
                }
                Kind::Output(result.require("call_id")?.short_string(64)?)
            }
            "reasoning" => {
                let reasoning = fields(&["type", "id", "summary", "content", "encrypted_content", "status"])?;
                item_id(&reasoning, "rs", own)?;
                for part in reasoning.require("summary")?.array()? {
                    part.object(&["type", "text"])?.require("type")?.one_of(&["summary_text"])?;
                }
                if !stored && own && reasoning.get("encrypted_content").is_none_or(|it| it.value == "") {
                    let id = id.unwrap_or_default();
                    return Err(Wrong::Coded {
                        status: 404,
                        code: "invalid_request_error",
                        path: Some("input".into()),
                        message: format!(
                            "Item with id '{id}' not found. Items are not persisted when `store` is set to false. Try again with \
                             `store` set to true, or remove this item from your input."
                        ),
                    });
                }
                Kind::Reasoning
            }
            kind if OTHERS.contains(&kind) || !own => Kind::ServerItem,
            _ => {
                open.require("type")?.one_of(&["message", "function_call", "function_call_output", "reasoning"])?;
                Kind::ServerItem
            }
        };
        Ok(Item { kind, id, path: place.path.clone() })
    }
}

const MESSAGE: &[&str] = &["type", "role", "content", "id", "status", "phase"];

fn message<'a>(message: &Object<'a>, own: bool) -> Checked<Kind<'a>> {
    let role = message.require("role")?.one_of(&["user", "assistant", "system", "developer"])?;
    item_id(message, "msg", own)?;
    let content = message.require("content")?;
    let said = if role == "assistant" { Kind::Answered } else { Kind::Said };
    if content.value.is_string() {
        return Ok(said);
    }
    let kinds: &'static [&'static str] =
        if role == "assistant" { &["output_text", "refusal"] } else { &["input_text", "input_image", "input_file"] };
    parts(&content, kinds).map(|()| said)
}

/// `fc_…`, `msg_…`, `rs_…`: at most 64 letters, digits, underscores and hyphens.
fn item_id(item: &Object<'_>, prefix: &str, own: bool) -> Checked {
    let Some(id) = item.get("id").filter(|_| own) else { return Ok(()) };
    let text = id.short_string(64)?;
    if !text.starts_with(prefix) {
        return id.wrong(format!("'{text}'. Expected an ID that begins with '{prefix}'."));
    }
    if !text.chars().all(is_id_character) {
        return id.wrong(format!(
            "'{text}'. Expected an ID that contains letters, numbers, underscores, or dashes, but this value contained \
             additional characters."
        ));
    }
    Ok(())
}

fn parts(place: &Place<'_>, kinds: &'static [&'static str]) -> Checked {
    for part in place.array()? {
        let open = part.open_object()?;
        match open.require("type")?.one_of(kinds)? {
            "output_text" => part.object(&["type", "text", "annotations", "logprobs"])?.require("text")?.string().map(drop)?,
            "input_text" => part.object(&["type", "text"])?.require("text")?.string().map(drop)?,
            "refusal" => part.object(&["type", "refusal"])?.require("refusal")?.string().map(drop)?,
            "input_image" => {
                let image = part.object(&["type", "image_url", "file_id", "detail"])?;
                if image.has("file_id") {
                    continue;
                }
                let url = image.require("image_url")?;
                if !is_image_url(url.string()?) {
                    return url
                        .wrong("expected a valid URL or a base64 encoded image of a supported type (png, jpeg, gif, webp).");
                }
            }
            "input_file" => file::responses_file(&part)?,
            _ => {}
        }
    }
    Ok(())
}

fn ids(items: &[Item<'_>], own: bool) -> Checked {
    let ids: Vec<&str> = items.iter().filter_map(|item| item.id).collect();
    match tools::repeated(&ids).filter(|_| own) {
        Some(id) => said(format!("Duplicate item found with id {id}. Remove duplicate items from your input and try again.")),
        None => Ok(()),
    }
}

/// Each call has one output behind it, and each output its call, unless the call is in a stored response.
fn pairs(items: &[Item<'_>], elsewhere: bool) -> Checked {
    let mut open: Vec<&str> = Vec::new();
    for item in items {
        match item.kind {
            Kind::Call(id) if open.contains(&id) => {
                return wrong_at(&item.path, format!("the call_id '{id}' is used twice."));
            }
            Kind::Call(id) => open.push(id),
            Kind::Output(id) if !open.contains(&id) && !elsewhere => {
                return Err(Wrong::Coded {
                    status: 400,
                    code: "invalid_request_error",
                    path: Some("input".into()),
                    message: format!("No tool call found for function call output with call_id {id}."),
                });
            }
            Kind::Output(id) => open.retain(|it| *it != id),
            _ => {}
        }
    }
    match open.first() {
        Some(id) => Err(Wrong::Coded {
            status: 400,
            code: "invalid_request_error",
            path: Some("input".into()),
            message: format!("No tool output found for function call {id}."),
        }),
        None => Ok(()),
    }
}

/// Reasoning goes back only together with what it led to.
fn followers(items: &[Item<'_>], own: bool) -> Checked {
    let led_to = |kind: Kind<'_>| matches!(kind, Kind::Answered | Kind::Call(_) | Kind::ServerItem);
    for (index, item) in items.iter().enumerate().filter(|(_, item)| item.kind == Kind::Reasoning) {
        let next = items[index + 1..].iter().find(|item| item.kind != Kind::Reasoning);
        if own && !next.is_some_and(|next| led_to(next.kind)) {
            let id = item.id.unwrap_or_default();
            return Err(Wrong::Coded {
                status: 400,
                code: "invalid_request_error",
                path: Some("input".into()),
                message: format!("Item '{id}' of type 'reasoning' was provided without its required following item."),
            });
        }
    }
    Ok(())
}
