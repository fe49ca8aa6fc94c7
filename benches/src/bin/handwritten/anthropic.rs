//! Anthropic Messages: events into the growing message.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::{Call, Message, Text};

/// Every event in one flat struct: an enum tagged by `type` would copy each event before it reads it.
#[derive(Deserialize)]
struct Event<'a> {
    r#type: &'a str,
    #[serde(borrow)]
    delta: Option<Delta<'a>>,
    #[serde(borrow)]
    content_block: Option<Block<'a>>,
    usage: Option<Usage>,
}

#[derive(Deserialize)]
struct Delta<'a> {
    #[serde(borrow)]
    text: Option<Text<'a>>,
    #[serde(borrow)]
    partial_json: Option<Text<'a>>,
}

#[derive(Deserialize)]
struct Block<'a> {
    id: Option<&'a str>,
    name: Option<&'a str>,
}

#[derive(Deserialize)]
struct Usage {
    output_tokens: u64,
}

pub(crate) fn read(data: &[u8], message: &mut Message, user: &mut impl FnMut(&str)) -> Result<(), String> {
    let event: Event<'_> = serde_json::from_slice(data).map_err(|error| format!("an event's JSON: {error}"))?;
    match event.r#type {
        "content_block_delta" => match event.delta {
            Some(Delta { text: Some(Text(text)), .. }) => {
                message.text.push_str(&text);
                user(&text);
            }
            Some(Delta { partial_json: Some(Text(piece)), .. }) if !piece.is_empty() => {
                let call = message.calls.last_mut().ok_or("arguments without a call")?;
                call.arguments.push_str(&piece);
                user(&piece);
            }
            _ => {}
        },
        "content_block_start" => {
            if let Some(Block { id: Some(id), name: Some(name) }) = event.content_block {
                message.calls.push(Call { id: id.to_owned(), name: name.to_owned(), arguments: String::new() });
            }
        }
        "message_delta" => message.output_tokens = event.usage.map_or(0, |usage| usage.output_tokens),
        "message_stop" => message.finished = true,
        _ => {}
    }
    Ok(())
}

/// The message as the next request repeats it.
pub(crate) fn said(message: &Message) -> Result<Value, String> {
    let mut content = Vec::new();
    if !message.text.is_empty() {
        content.push(json!({"type": "text", "text": message.text}));
    }
    for call in &message.calls {
        let input: Value =
            serde_json::from_str(&call.arguments).map_err(|error| format!("arguments of {}: {error}", call.name))?;
        content.push(json!({"type": "tool_use", "id": call.id, "name": call.name, "input": input}));
    }
    Ok(json!({"role": "assistant", "content": content}))
}
