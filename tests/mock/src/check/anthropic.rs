//! Anthropic Messages, and the same behind Vertex: <https://docs.claude.com/en/api/messages>.

use std::collections::{BTreeMap, HashSet};

use serde_json::Value;

use super::Strict;
use super::image::{MEDIA_TYPES, is_base64};
use super::place::{Checked, Object, Place, said, wrong_at};
use super::tools::{self, is_id_character, repeated};
use crate::Flavour;
use crate::route::{Host, Route};

const FIELDS: &[&str] = &[
    "model",
    "messages",
    "max_tokens",
    "system",
    "metadata",
    "stop_sequences",
    "stream",
    "temperature",
    "top_p",
    "top_k",
    "tools",
    "tool_choice",
    "thinking",
    "service_tier",
    "container",
    "mcp_servers",
    "context_management",
    "output_config",
    "output_format",
    "inference_geo",
    "cache_control",
    "speed",
];

/// Vertex has the model in its path and the version in the body.
const VERTEX_FIELDS: &[&str] = &["anthropic_version", "anthropic_beta"];

pub(super) fn check(strict: &Strict, route: &Route, headers: Option<&BTreeMap<String, String>>, body: &Value) -> Checked {
    let place = Place::body(body);
    let vertex = route.host == Host::Vertex;
    let fields: Vec<&str> = match vertex {
        true => FIELDS.iter().filter(|name| **name != "model").chain(VERTEX_FIELDS).copied().collect(),
        false => FIELDS.to_vec(),
    };
    let body = if strict.flavour == Flavour::Compatible { place.open_object()? } else { place.object(&fields)? };
    if vertex {
        body.require("anthropic_version")?.one_of(&["vertex-2023-10-16"])?;
    } else {
        body.require("model")?.short_string(256)?;
    }
    let messages = body.require("messages")?.array()?;
    let max_tokens = body.require("max_tokens")?.integer(1)?;
    options(&body)?;
    let tools = offered(&body)?;
    choice(&body, &tools)?;
    let interleaved = headers.and_then(|it| it.get("anthropic-beta")).is_some_and(|it| it.contains("interleaved-thinking"));
    let thinking = Thinking::read(&body, max_tokens, interleaved)?;
    let mut markers = Markers::default();
    markers.look_at_list(body.get("tools"))?;
    if let Some(system) = body.get("system") {
        text_content(&system, "system")?;
        markers.look_at_list(Some(system))?;
    }
    let conversation = Conversation::read(strict, &messages, &mut markers)?;
    conversation.check_pairs()?;
    conversation.check_end(&thinking)?;
    markers.check(body.has("cache_control"))
}

fn options(body: &Object<'_>) -> Checked {
    body.booleans(&["stream"])?;
    if let Some(temperature) = body.get("temperature") {
        temperature.number(0.0, 1.0)?;
    }
    if let Some(top_p) = body.get("top_p") {
        top_p.number(0.0, 1.0)?;
    }
    if let Some(top_k) = body.get("top_k") {
        top_k.integer(0)?;
    }
    if let Some(stops) = body.get("stop_sequences") {
        for stop in stops.array()? {
            if stop.string()?.trim().is_empty() {
                return said("stop_sequences: each stop sequence must contain non-whitespace");
            }
        }
    }
    if let Some(metadata) = body.get("metadata") {
        metadata.object(&["user_id"])?.strings(&["user_id"])?;
    }
    if let Some(output) = body.get("output_config") {
        let output = output.object(&["effort", "format", "task_budget"])?;
        if let Some(effort) = output.get("effort") {
            effort.one_of(&["low", "medium", "high", "xhigh", "max"])?;
        }
    }
    Ok(())
}

/// The tools' names.
fn offered<'a>(body: &Object<'a>) -> Checked<Vec<&'a str>> {
    const FIELDS: &[&str] = &[
        "type",
        "name",
        "description",
        "input_schema",
        "cache_control",
        "strict",
        "defer_loading",
        "input_examples",
        "allowed_callers",
        "eager_input_streaming",
    ];
    let mut names = Vec::new();
    for tool in body.get("tools").map(|tools| tools.array()).transpose()?.unwrap_or_default() {
        let open = tool.open_object()?;
        match open.get("type").map(|kind| kind.string()).transpose()? {
            None | Some("custom") => {}
            // The server's own tools; each has fields of its own.
            Some(_) => {
                names.extend(open.get("name").map(|name| name.string()).transpose()?);
                continue;
            }
        }
        let tool = tool.tagged("custom").object(FIELDS)?;
        names.push(tools::name(&tool.require("name")?)?);
        tool.strings(&["description"])?;
        let schema = tool.require("input_schema")?.open_object()?;
        schema.require("type")?.one_of(&["object"])?;
    }
    match repeated(&names) {
        Some(_) => said("tools: Tool names must be unique."),
        None => Ok(names),
    }
}

fn choice(body: &Object<'_>, tools: &[&str]) -> Checked {
    let Some(choice) = body.get("tool_choice") else { return Ok(()) };
    if tools.is_empty() {
        return said("tool_choice may only be specified while providing tools.");
    }
    let choice = choice.object(&["type", "name", "disable_parallel_tool_use"])?;
    if choice.require("type")?.one_of(&["auto", "any", "tool", "none"])? == "tool" {
        let name = choice.require("name")?.string()?;
        if !tools.contains(&name) {
            return said(format!("Tool '{name}' not found in provided tools"));
        }
    }
    Ok(())
}

/// What was asked about thinking.
struct Thinking {
    /// With a budget. Adaptive thinking does not demand thinking blocks back.
    enabled: bool,
    on: bool,
}

impl Thinking {
    fn read(body: &Object<'_>, max_tokens: i64, interleaved: bool) -> Checked<Thinking> {
        let Some(place) = body.get("thinking") else { return Ok(Thinking { enabled: false, on: false }) };
        let kind = place.open_object()?.require("type")?.one_of(&["enabled", "disabled", "adaptive"])?;
        let thinking = place.tagged(kind).object(match kind {
            "enabled" => &["type", "budget_tokens", "display"],
            "adaptive" => &["type", "display"],
            _ => &["type"],
        })?;
        if kind == "enabled" {
            let budget = thinking.require("budget_tokens")?.integer(1024)?;
            if budget >= max_tokens && !interleaved {
                return said("`max_tokens` must be greater than `thinking.budget_tokens`.");
            }
        }
        if kind == "disabled" {
            return Ok(Thinking { enabled: false, on: false });
        }
        if body.get("temperature").is_some_and(|it| it.value.as_f64() != Some(1.0)) {
            return said("`temperature` may only be set to 1 when thinking is enabled or in adaptive mode.");
        }
        if body.has("top_k") {
            return said("`top_k` must be unset when thinking is enabled or in adaptive mode.");
        }
        if body.get("top_p").and_then(|it| it.value.as_f64()).is_some_and(|it| it < 0.95) {
            return said("`top_p` must be greater than or equal to 0.95 or unset when thinking is enabled or in adaptive mode.");
        }
        let choice = body.get("tool_choice").and_then(|it| it.value.get("type")).and_then(Value::as_str);
        if matches!(choice, Some("any" | "tool")) {
            return said("Thinking may not be enabled when tool_choice forces tool use.");
        }
        Ok(Thinking { enabled: kind == "enabled", on: true })
    }
}

/// Cache markers in the order in which the service goes through them.
#[derive(Default)]
struct Markers {
    count: usize,
    short: bool,
}

impl Markers {
    fn look_at_list(&mut self, list: Option<Place<'_>>) -> Checked {
        let Some(list) = list.filter(|it| it.value.is_array()) else { return Ok(()) };
        list.array()?.iter().try_for_each(|item| self.look_at(item))
    }

    fn look_at(&mut self, holder: &Place<'_>) -> Checked {
        let Some(marker) = holder.open_object()?.get("cache_control") else { return Ok(()) };
        let fields = marker.object(&["type", "ttl", "scope"])?;
        fields.require("type")?.one_of(&["ephemeral"])?;
        let ttl = fields.get("ttl").map(|ttl| ttl.one_of(&["5m", "1h"])).transpose()?.unwrap_or("5m");
        if holder.value.get("text").is_some_and(|text| text == "") {
            return holder.wrong("cache_control cannot be set for empty text blocks");
        }
        if ttl == "1h" && self.short {
            return holder.tagged("cache_control.ttl").wrong(
                "a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block. Note that blocks are processed \
                 in the following order: `tools`, `system`, `messages`.",
            );
        }
        self.short |= ttl == "5m";
        self.count += 1;
        Ok(())
    }

    fn check(&self, automatic: bool) -> Checked {
        let count = self.count + usize::from(automatic);
        if count > 4 {
            return said(format!("A maximum of 4 blocks with cache_control may be provided. Found {count}."));
        }
        Ok(())
    }
}

/// The messages, those of one role in a row joined as the service joins them.
struct Conversation<'a> {
    turns: Vec<Turn<'a>>,
}

struct Turn<'a> {
    user: bool,
    /// Of its first message.
    path: String,
    blocks: Vec<(Place<'a>, &'a str)>,
    /// Text that was given as a string: only its end matters.
    ends_with_text: Option<&'a str>,
}

impl<'a> Conversation<'a> {
    fn read(strict: &Strict, messages: &[Place<'a>], markers: &mut Markers) -> Checked<Conversation<'a>> {
        if messages.is_empty() {
            return said("messages: at least one message is required");
        }
        let mut turns: Vec<Turn<'a>> = Vec::new();
        for (index, place) in messages.iter().enumerate() {
            let message = place.object(&["role", "content"])?;
            let user = message.require("role")?.one_of(&["user", "assistant"])? == "user";
            if index == 0 && !user {
                return said("messages: first message must use the \"user\" role");
            }
            let content = message.require("content")?;
            let last = index + 1 == messages.len();
            let mut turn = Turn { user, path: place.path.clone(), blocks: Vec::new(), ends_with_text: None };
            if let Some(text) = content.value.as_str() {
                if text.is_empty() && (user || !last) {
                    return place
                        .wrong("all messages must have non-empty content except for the optional final assistant message");
                }
                if !text.is_empty() && text.trim().is_empty() {
                    return said("messages: text content blocks must contain non-whitespace text");
                }
                turn.ends_with_text = Some(text);
            } else {
                let blocks = content.array()?;
                if blocks.is_empty() && (user || !last) {
                    return place
                        .wrong("all messages must have non-empty content except for the optional final assistant message");
                }
                for block in blocks {
                    let kind = block_of(strict, place, &block, user)?;
                    markers.look_at(&block)?;
                    if kind == "tool_result" {
                        markers.look_at_list(block.open_object()?.get("content"))?;
                    }
                    turn.ends_with_text = block.value.get("text").and_then(Value::as_str).filter(|_| kind == "text");
                    turn.blocks.push((block, kind));
                }
            }
            match turns.last_mut().filter(|before| before.user == user) {
                Some(_) if strict.alternation => {
                    let role = if user { "user" } else { "assistant" };
                    return said(format!(
                        "messages: roles must alternate between \"user\" and \"assistant\", but found multiple \"{role}\" roles in a row"
                    ));
                }
                Some(before) => {
                    before.blocks.append(&mut turn.blocks);
                    before.ends_with_text = turn.ends_with_text;
                }
                None => turns.push(turn),
            }
        }
        Ok(Conversation { turns })
    }

    /// Each call is answered once, at the beginning of the next message; no answer is without its call.
    fn check_pairs(&self) -> Checked {
        let mut seen = HashSet::new();
        let mut open: Vec<&str> = Vec::new();
        let mut caller = String::new();
        for turn in &self.turns {
            let mut results: Vec<&str> = Vec::new();
            // Results after something else do not count as "immediately after".
            let mut in_front = true;
            for (place, kind) in &turn.blocks {
                if *kind != "tool_result" {
                    in_front = false;
                    continue;
                }
                let id = place.value.get("tool_use_id").and_then(Value::as_str).unwrap_or_default();
                if !open.contains(&id) {
                    return place.wrong(format!(
                        "unexpected `tool_use_id` found in `tool_result` blocks: {id}. Each `tool_result` block must have a \
                         corresponding `tool_use` block in the previous message."
                    ));
                }
                if results.contains(&id) {
                    return place.wrong(format!(
                        "each tool_use must have a single result. Found multiple `tool_result` blocks with id: {id}"
                    ));
                }
                if in_front {
                    results.push(id);
                }
            }
            unanswered(&caller, &open, &results)?;
            open = turn
                .blocks
                .iter()
                .filter(|(_, kind)| *kind == "tool_use")
                .filter_map(|(place, _)| place.value["id"].as_str())
                .collect();
            if open.iter().any(|id| !seen.insert(*id)) {
                return wrong_at(&turn.path, "`tool_use` ids must be unique");
            }
            caller.clone_from(&turn.path);
        }
        unanswered(&caller, &open, &[])
    }

    fn check_end(&self, thinking: &Thinking) -> Checked {
        let Some(last) = self.turns.last() else { return Ok(()) };
        if !last.user {
            if last.ends_with_text.is_some_and(|text| text.ends_with(char::is_whitespace)) {
                return said("messages: final assistant content cannot end with trailing whitespace");
            }
            let thought = last.blocks.iter().find(|(_, kind)| matches!(*kind, "thinking" | "redacted_thinking"));
            if let (false, Some((place, kind))) = (thinking.on, thought) {
                return place.wrong(format!(
                    "When thinking is disabled, an `assistant` message in the final position cannot contain `{kind}`. To use \
                     thinking blocks, enable `thinking` in your request."
                ));
            }
        }
        // In a tool loop with a thinking budget, the message that opened the loop must begin with its thinking.
        let mut opener = None;
        for (index, turn) in self.turns.iter().enumerate().rev().filter(|(_, turn)| turn.user) {
            let results = turn.blocks.iter().filter(|(_, kind)| *kind == "tool_result").count();
            let only_results = results > 0 && results == turn.blocks.len();
            if results == 0 || (opener.is_some() && !only_results) {
                break;
            }
            opener = index.checked_sub(1);
            if !only_results {
                break;
            }
        }
        let first = opener.and_then(|index| self.turns[index].blocks.first());
        match first {
            Some((place, kind)) if thinking.enabled && last.user && !matches!(*kind, "thinking" | "redacted_thinking") => {
                place.tagged("type").wrong(format!(
                    "Expected `thinking` or `redacted_thinking`, but found `{kind}`. When `thinking` is enabled, a final `assistant` \
                     message must start with a thinking block (preceeding the lastmost set of `tool_use` and `tool_result` blocks). \
                     We recommend you include thinking blocks from previous turns. To avoid this requirement, disable `thinking`."
                ))
            }
            _ => Ok(()),
        }
    }
}

fn unanswered(caller: &str, open: &[&str], results: &[&str]) -> Checked {
    let left: Vec<&str> = open.iter().filter(|id| !results.contains(id)).copied().collect();
    if left.is_empty() {
        return Ok(());
    }
    wrong_at(
        caller,
        format!(
            "`tool_use` ids were found without `tool_result` blocks immediately after: {}. Each `tool_use` block must have a \
         corresponding `tool_result` block in the next message.",
            left.join(", ")
        ),
    )
}

/// Blocks that only the server makes and a client gives back as they were.
const SERVERS_OWN: &[&str] =
    &["server_tool_use", "mcp_tool_use", "mcp_tool_result", "container_upload", "compaction", "fallback"];

/// Checks one block and says what it is.
fn block_of<'a>(strict: &Strict, message: &Place<'_>, block: &Place<'a>, user: bool) -> Checked<&'a str> {
    let kind = block.open_object()?.require("type")?.string()?;
    let of = |role: &str| message.wrong(format!("`{kind}` blocks can only be in `{role}` messages"));
    let tagged = block.tagged(kind);
    match kind {
        "text" => {
            let text = tagged.object(&["type", "text", "cache_control", "citations"])?.require("text")?.string()?;
            match text {
                "" => said("messages: text content blocks must be non-empty"),
                blank if blank.trim().is_empty() => said("messages: text content blocks must contain non-whitespace text"),
                _ => Ok(kind),
            }
        }
        "image" | "document" | "search_result" | "tool_result" if !user => of("user"),
        "thinking" | "redacted_thinking" | "tool_use" if user => of("assistant"),
        "image" => image(&tagged).map(|()| kind),
        "document" | "search_result" => Ok(kind),
        "tool_result" => tool_result(&tagged).map(|()| kind),
        "thinking" => {
            let thinking = tagged.object(&["type", "thinking", "signature"])?;
            thinking.require("thinking")?.string()?;
            if thinking.require("signature")?.string()?.is_empty() && !strict.empty_signatures {
                return block.wrong("Invalid `signature` in `thinking` block");
            }
            Ok(kind)
        }
        "redacted_thinking" => tagged.object(&["type", "data"])?.require("data")?.filled_string().map(|_| kind),
        "tool_use" => {
            let call = tagged.object(&["type", "id", "name", "input", "cache_control", "caller"])?;
            let id = call.require("id")?;
            if !id.short_string(64)?.chars().all(is_id_character) {
                return id.pattern(tools::NAME);
            }
            call.require("name")?.short_string(200)?;
            call.require("input")?.open_object().map(|_| kind)
        }
        own if SERVERS_OWN.contains(&own) || own.ends_with("_tool_result") => Ok(kind),
        _ => block.wrong(format!("Input tag '{kind}' found using 'type' does not match any of the expected tags")),
    }
}

fn tool_result(place: &Place<'_>) -> Checked {
    let result = place.object(&["type", "tool_use_id", "content", "is_error", "cache_control"])?;
    result.require("tool_use_id")?.filled_string()?;
    result.booleans(&["is_error"])?;
    let failed = result.get("is_error").is_some_and(|it| it.value == true);
    let content = result.get("content");
    let empty = |content: &Value| content.as_str().is_some_and(str::is_empty) || content.as_array().is_some_and(Vec::is_empty);
    if failed && content.as_ref().is_none_or(|it| empty(it.value)) {
        return place.wrong("content cannot be empty if `is_error` is true");
    }
    let Some(content) = content.filter(|it| !it.value.is_string()) else { return Ok(()) };
    for block in content.array()? {
        let kind = block.open_object()?.require("type")?.string()?;
        if failed && kind != "text" {
            return place.wrong("all content must be type `text` if `is_error` is true");
        }
        let tagged = block.tagged(kind);
        match kind {
            "text" => {
                if tagged.object(&["type", "text", "cache_control", "citations"])?.require("text")?.string()?.is_empty() {
                    return said("messages: text content blocks must be non-empty");
                }
            }
            "image" => image(&tagged)?,
            "document" | "search_result" | "tool_reference" => {}
            _ => return block.wrong(format!("Input tag '{kind}' found using 'type' does not match any of the expected tags")),
        }
    }
    Ok(())
}

fn image(place: &Place<'_>) -> Checked {
    let source = place.object(&["type", "source", "cache_control"])?.require("source")?;
    match source.open_object()?.require("type")?.one_of(&["base64", "url", "file"])? {
        "base64" => {
            let source = source.tagged("base64").object(&["type", "media_type", "data"])?;
            source.require("media_type")?.one_of(MEDIA_TYPES)?;
            let data = source.require("data")?;
            if is_base64(data.string()?) { Ok(()) } else { data.wrong("Invalid base64 data") }
        }
        "url" => source.tagged("url").object(&["type", "url"])?.require("url")?.filled_string().map(drop),
        _ => source.tagged("file").object(&["type", "file_id"])?.require("file_id")?.filled_string().map(drop),
    }
}

/// A string, or text blocks.
fn text_content(place: &Place<'_>, what: &str) -> Checked {
    if place.value.is_string() {
        return Ok(());
    }
    for block in place.array()? {
        let block = block.object(&["type", "text", "cache_control", "citations"])?;
        block.require("type")?.one_of(&["text"])?;
        if block.require("text")?.string()?.is_empty() {
            return said(format!("{what}: text content blocks must be non-empty"));
        }
    }
    Ok(())
}
