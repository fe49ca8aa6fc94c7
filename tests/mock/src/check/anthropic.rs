//! Anthropic Messages, and the same behind Vertex: <https://docs.claude.com/en/api/messages>.

mod block;
mod conversation;

use std::collections::BTreeMap;

use serde_json::Value;

use self::conversation::Conversation;
use super::place::{Checked, Object, Place, said};
use super::tools::{self, repeated};
use super::{Strict, output};
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
    if let Some(config) = body.get("output_config") {
        let config = config.object(&["effort", "format", "task_budget"])?;
        if let Some(effort) = config.get("effort") {
            effort.one_of(&["low", "medium", "high", "xhigh", "max"])?;
        }
        if let Some(format) = config.get("format") {
            output::anthropic(&format)?;
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
            // The server's own tools; each has its own fields.
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
                "a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block. Note that blocks are \
                 processed in the following order: `tools`, `system`, `messages`.",
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
