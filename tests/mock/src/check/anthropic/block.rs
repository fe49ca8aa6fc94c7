//! One content block.

use super::super::Strict;
use super::super::file;
use super::super::image::{MEDIA_TYPES, is_base64};
use super::super::place::{Checked, Place, said};
use super::super::tools::{self, is_id_character};

use serde_json::Value;

/// Blocks that only the server makes and a client gives back as they were.
const SERVERS_OWN: &[&str] =
    &["server_tool_use", "mcp_tool_use", "mcp_tool_result", "container_upload", "compaction", "fallback"];

/// Checks one block and says what it is.
pub(super) fn check<'a>(strict: &Strict, message: &Place<'_>, block: &Place<'a>, user: bool) -> Checked<&'a str> {
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
        "document" => file::anthropic_document(&tagged).map(|()| kind),
        "search_result" => Ok(kind),
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
            "document" => file::anthropic_document(&tagged)?,
            "search_result" | "tool_reference" => {}
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
