//! Documents and sounds in a request.

use super::image::is_base64;
use super::place::{Checked, Object, Place};

/// A `file` part of Chat: OpenAI takes a PDF with its data, routers take addresses, too.
pub(super) fn chat_file(part: &Object<'_>, own: bool) -> Checked {
    let file = part.require("file")?.object(&["file_data", "file_id", "filename"])?;
    if file.has("file_id") {
        return Ok(());
    }
    let data = file.require("file_data")?;
    let url = data.string()?;
    let is_pdf = url.strip_prefix("data:application/pdf;base64,").is_some_and(is_base64);
    if !(is_pdf || (!own && is_address(url))) {
        return data.wrong("Expected a base64-encoded data URL with an application/pdf MIME type.");
    }
    file.require("filename")?.filled_string().map(drop)
}

/// A sound in Chat: <https://platform.openai.com/docs/guides/audio>.
pub(super) fn chat_audio(part: &Object<'_>) -> Checked {
    let audio = part.require("input_audio")?.object(&["data", "format"])?;
    audio.require("format")?.one_of(&["wav", "mp3"])?;
    let data = audio.require("data")?;
    if is_base64(data.string()?) { Ok(()) } else { data.wrong("expected base64-encoded audio.") }
}

/// A file of Responses, given in one of three ways: <https://developers.openai.com/api/docs/guides/file-inputs>.
pub(super) fn responses_file(part: &Place<'_>) -> Checked {
    let file = part.object(&["type", "file_data", "file_id", "file_url", "filename", "detail"])?;
    let ways = ["file_data", "file_id", "file_url"].into_iter().filter(|way| file.has(way)).count();
    if ways != 1 {
        return part.wrong("expected exactly one of 'file_data', 'file_id' and 'file_url'.");
    }
    if let Some(url) = file.get("file_url")
        && !is_address(url.string()?)
    {
        return url.wrong("expected a valid URL.");
    }
    let Some(data) = file.get("file_data") else { return Ok(()) };
    let is_data =
        |url: &str| url.strip_prefix("data:")?.split_once(";base64,").map(|(kind, data)| kind.contains('/') && is_base64(data));
    if is_data(data.string()?) != Some(true) {
        return data.wrong("expected a base64 encoded data URL with a MIME type.");
    }
    file.require("filename")?.filled_string().map(drop)
}

/// A document of Anthropic: <https://platform.claude.com/docs/en/build-with-claude/pdf-support>.
pub(super) fn anthropic_document(place: &Place<'_>) -> Checked {
    let document = place.object(&["type", "source", "title", "context", "citations", "cache_control"])?;
    document.strings(&["title", "context"])?;
    let source = document.require("source")?;
    match source.open_object()?.require("type")?.one_of(&["base64", "text", "url", "content", "file"])? {
        "base64" => {
            let source = source.tagged("base64").object(&["type", "media_type", "data"])?;
            source.require("media_type")?.one_of(&["application/pdf"])?;
            let data = source.require("data")?;
            if is_base64(data.string()?) { Ok(()) } else { data.wrong("Invalid base64 data") }
        }
        "text" => {
            let source = source.tagged("text").object(&["type", "media_type", "data"])?;
            source.require("media_type")?.one_of(&["text/plain"])?;
            source.require("data")?.filled_string().map(drop)
        }
        "url" => source.tagged("url").object(&["type", "url"])?.require("url")?.filled_string().map(drop),
        _ => Ok(()),
    }
}

fn is_address(url: &str) -> bool {
    url.starts_with("https://") || url.starts_with("http://")
}
