//! OpenAI Responses: events into the growing message.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::{Call, Message, Text};

/// Every event in one flat struct. Text and arguments are taken from the deltas; what repeats them is skipped.
#[derive(Deserialize)]
struct Event<'a> {
    r#type: &'a str,
    #[serde(borrow)]
    delta: Option<Text<'a>>,
    #[serde(borrow)]
    item: Option<Item<'a>>,
    response: Option<Response>,
}

#[derive(Deserialize)]
struct Item<'a> {
    call_id: Option<&'a str>,
    name: Option<&'a str>,
}

#[derive(Deserialize)]
struct Response {
    usage: Option<Usage>,
}

#[derive(Deserialize)]
struct Usage {
    output_tokens: u64,
}

pub(crate) fn read(data: &[u8], message: &mut Message, user: &mut impl FnMut(&str)) -> Result<(), String> {
    let event: Event<'_> = serde_json::from_slice(data).map_err(|error| format!("an event's JSON: {error}"))?;
    match (event.r#type, event.delta) {
        ("response.output_text.delta", Some(Text(text))) => {
            message.text.push_str(&text);
            user(&text);
        }
        ("response.function_call_arguments.delta", Some(Text(piece))) => {
            let call = message.calls.last_mut().ok_or("arguments without a call")?;
            call.arguments.push_str(&piece);
            user(&piece);
        }
        ("response.output_item.added", _) => {
            if let Some(Item { call_id: Some(id), name: Some(name) }) = event.item {
                message.calls.push(Call { id: id.to_owned(), name: name.to_owned(), arguments: String::new() });
            }
        }
        ("response.completed", _) => {
            message.output_tokens = event.response.and_then(|response| response.usage).map_or(0, |usage| usage.output_tokens);
            message.finished = true;
        }
        _ => {}
    }
    Ok(())
}

/// The message's items as the next request repeats them.
pub(crate) fn said(message: &Message) -> Vec<Value> {
    let mut items = Vec::new();
    if !message.text.is_empty() {
        items.push(json!({"role": "assistant", "content": message.text}));
    }
    items.extend(
        message
            .calls
            .iter()
            .map(|call| json!({"type": "function_call", "call_id": call.id, "name": call.name, "arguments": call.arguments})),
    );
    items
}
