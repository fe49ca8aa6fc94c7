//! One content block: <https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ContentBlock.html>.

use super::super::image::is_base64;
use super::super::place::{Checked, Place, said};
use super::super::tools::{self, is_id_character};
use super::Family;

const KINDS: &[&str] = &[
    "text",
    "image",
    "document",
    "video",
    "audio",
    "toolUse",
    "toolResult",
    "guardContent",
    "cachePoint",
    "reasoningContent",
    "citationsContent",
    "searchResult",
];

const IMAGES: &[&str] = &["png", "jpeg", "gif", "webp"];
const DOCUMENTS: &[&str] = &["pdf", "csv", "doc", "docx", "xls", "xlsx", "html", "txt", "md"];

/// Checks one block and says what it is.
pub(super) fn check<'a>(family: Family, block: &Place<'a>, user: bool) -> Checked<&'a str> {
    let fields = block.object(KINDS)?;
    let [(kind, _)] = fields.map.iter().collect::<Vec<_>>()[..] else {
        return block.wrong("exactly one member of the union ContentBlock must be set");
    };
    let value = fields.require(kind)?;
    let path = block.path.replace('[', ".").replace(']', "");
    match kind.as_str() {
        "text" if value.string()?.trim().is_empty() => {
            return said(format!(
                "The text field in the ContentBlock object at {path} is blank. Add text to the text field, and try again."
            ));
        }
        // The service's own tools.
        "toolUse" | "toolResult" if value.value.get("type").is_some_and(|kind| kind != "tool_use") => {}
        "toolUse" | "reasoningContent" if user => return said(format!("User messages cannot contain {kind} blocks, at {path}.")),
        "toolResult" | "image" | "document" if !user => {
            return said(format!("Assistant messages cannot contain {kind} blocks, at {path}."));
        }
        "image" => image(&value)?,
        "document" => document(&value).map(drop)?,
        "toolUse" => {
            let call = value.object(&["toolUseId", "name", "input", "type"])?;
            id(family, &call.require("toolUseId")?)?;
            tools::name(&call.require("name")?)?;
            call.require("input")?.open_object()?;
        }
        "toolResult" => result(family, &value)?,
        "reasoningContent" => reasoning(family, &value)?,
        _ => {}
    }
    Ok(kind)
}

fn id(family: Family, place: &Place<'_>) -> Checked {
    let id = place.short_string(64)?;
    if !id.chars().all(is_id_character) {
        return place.pattern("[a-zA-Z0-9_-]+");
    }
    if family == Family::Mistral && (id.len() != 9 || !id.bytes().all(|byte| byte.is_ascii_alphanumeric())) {
        return place.wrong(format!("Tool call id was {id} but must be a-z, A-Z, 0-9, with a length of 9."));
    }
    Ok(())
}

fn bytes(place: &Place<'_>) -> Checked {
    let source = place.object(&["bytes", "s3Location", "text", "content"])?;
    let bytes = source.require("bytes")?;
    if is_base64(bytes.string()?) { Ok(()) } else { bytes.wrong("the bytes are not base64") }
}

fn image(place: &Place<'_>) -> Checked {
    let image = place.object(&["format", "source"])?;
    image.require("format")?.one_of(IMAGES)?;
    bytes(&image.require("source")?)
}

/// Returns its name.
pub(super) fn document<'a>(place: &Place<'a>) -> Checked<&'a str> {
    let document = place.object(&["format", "name", "source", "context", "citations"])?;
    document.require("format")?.one_of(DOCUMENTS)?;
    bytes(&document.require("source")?)?;
    let name = document.require("name")?;
    let text = name.short_string(200)?;
    let is_sign = |c: char| c.is_ascii_alphanumeric() || matches!(c, ' ' | '-' | '(' | ')' | '[' | ']');
    if !text.chars().all(is_sign) || text.contains("  ") {
        return said(
            "The value at the document name is not valid. The file name can only contain alphanumeric characters, whitespace \
             characters, hyphens, parentheses, and square brackets. The name can't contain more than one consecutive whitespace \
             character.",
        );
    }
    Ok(text)
}

fn result(family: Family, place: &Place<'_>) -> Checked {
    let result = place.object(&["toolUseId", "content", "status", "type"])?;
    id(family, &result.require("toolUseId")?)?;
    if let Some(status) = result.get("status") {
        status.one_of(&["success", "error"])?;
    }
    for block in result.require("content")?.filled_array()? {
        let fields = block.object(&["json", "text", "image", "document", "video", "searchResult"])?;
        if let Some(text) = fields.get("text") {
            text.filled_string()?;
        }
        if let Some(picture) = fields.get("image") {
            if !matches!(family, Family::Claude | Family::Nova) {
                return said("This model doesn't support the image content block in tool results.");
            }
            image(&picture)?;
        }
        if let Some(file) = fields.get("document") {
            document(&file)?;
        }
    }
    Ok(())
}

fn reasoning(family: Family, place: &Place<'_>) -> Checked {
    let fields = place.object(&["reasoningText", "redactedContent"])?;
    if let Some(hidden) = fields.get("redactedContent") {
        return if is_base64(hidden.string()?) { Ok(()) } else { hidden.wrong("the bytes are not base64") };
    }
    let text = fields.require("reasoningText")?.object(&["text", "signature"])?;
    text.require("text")?.string()?;
    let signature = text.get("signature").map(|signature| signature.string()).transpose()?;
    if family == Family::Claude && signature.unwrap_or_default().is_empty() {
        return said("The model returned the following errors: Invalid `signature` in `thinking` block");
    }
    Ok(())
}
