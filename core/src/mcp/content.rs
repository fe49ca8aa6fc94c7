//! What servers answer, as results of tools.

use rmcp::model::{CallToolResult, ContentBlock, GetPromptResult, ReadResourceResult, ResourceContents, Role};
use serde_json::{Map, Value, json};

/// The result of a tool: its blocks; what is structured, and `_meta`, in `details`.
pub(super) fn of_call(result: CallToolResult) -> Value {
    let mut blocks: Vec<Value> = result.content.into_iter().map(of_block).collect();
    let structured = result.structured_content.filter(|value| !value.is_null());
    if let Some(structured) = structured.as_ref().filter(|_| blocks.is_empty()) {
        // Servers should say it in text, too.
        blocks.push(text(structured.to_string()));
    }
    let mut details = Map::new();
    if let Some(structured) = structured {
        details.insert("structured_content".to_owned(), structured);
    }
    if let Some(meta) = result.meta.and_then(|meta| serde_json::to_value(meta).ok()) {
        details.insert("meta".to_owned(), meta);
    }
    let details = if details.is_empty() { Value::Null } else { Value::Object(details) };
    json!({ "content": blocks, "details": details, "is_error": result.is_error == Some(true) })
}

/// What a resource has.
pub(super) fn of_resource(result: ReadResourceResult) -> Value {
    json!({ "content": result.contents.into_iter().map(of_contents).collect::<Vec<_>>() })
}

/// The messages of a prompt in order, each after its role.
pub(super) fn of_prompt(result: GetPromptResult) -> Value {
    let description = result.description.map(text);
    let messages = result.messages.into_iter().flat_map(|message| {
        let role = if message.role == Role::User { "user" } else { "assistant" };
        [text(format!("[{role}]")), of_block(message.content)]
    });
    json!({ "content": description.into_iter().chain(messages).collect::<Vec<_>>() })
}

/// Progress of a call: a text for people, and the numbers in `details`.
pub(super) fn of_progress(progress: f64, total: Option<f64>, message: Option<String>) -> Value {
    let numbers = total.map_or_else(|| progress.to_string(), |total| format!("{progress} of {total}"));
    let details = json!({ "progress": progress, "total": total, "message": message });
    json!({ "content": [text(message.unwrap_or(numbers))], "details": details })
}

fn text(text: impl Into<String>) -> Value {
    json!({ "type": "text", "text": text.into() })
}

fn of_block(block: ContentBlock) -> Value {
    match block {
        ContentBlock::Text(block) => text(block.text),
        ContentBlock::Image(block) => file("image", block.data, block.mime_type),
        ContentBlock::Audio(block) => file("audio", block.data, block.mime_type),
        ContentBlock::Resource(block) => of_contents(block.resource),
        ContentBlock::ResourceLink(link) => {
            let kind = link.mime_type.map(|kind| format!(" ({kind})")).unwrap_or_default();
            let about = link.description.map(|about| format!(": {about}")).unwrap_or_default();
            text(format!("[resource {}{kind}, {}{about}]", link.uri, link.title.unwrap_or(link.name)))
        }
        // rmcp's enum may grow.
        other => text(serde_json::to_string(&other).unwrap_or_default()),
    }
}

fn of_contents(contents: ResourceContents) -> Value {
    match contents {
        ResourceContents::TextResourceContents { uri, text: content, .. } => text(format!("[resource {uri}]\n{content}")),
        ResourceContents::BlobResourceContents { uri, mime_type, blob, .. } => match mime_type {
            Some(kind) if kind.starts_with("image/") => file("image", blob, kind),
            Some(kind) if kind.starts_with("audio/") => file("audio", blob, kind),
            Some(kind) if kind == "application/pdf" => {
                json!({ "type": "document", "data": blob, "mime_type": kind, "name": uri })
            }
            kind => {
                let kind = kind.unwrap_or_else(|| "application/octet-stream".to_owned());
                text(left_out(&format!("resource {uri}"), &kind, &blob))
            }
        },
        other => text(serde_json::to_string(&other).unwrap_or_default()),
    }
}

fn file(kind: &str, data: String, mime_type: String) -> Value {
    json!({ "type": kind, "data": data, "mime_type": mime_type })
}

/// In place of what no model takes in a result.
fn left_out(what: &str, mime_type: &str, base64: &str) -> String {
    let bytes = base64.trim_end_matches('=').len() * 3 / 4;
    format!("[{what}: {mime_type}, {bytes} bytes, which cannot be shown here]")
}
