//! OpenAI Chat Completions: chunks into the growing message.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::{Call, Message, Text};

#[derive(Deserialize)]
struct Chunk<'a> {
    #[serde(borrow)]
    choices: Vec<Choice<'a>>,
    usage: Option<Usage>,
}

#[derive(Deserialize)]
struct Choice<'a> {
    #[serde(borrow)]
    delta: Delta<'a>,
}

#[derive(Deserialize)]
struct Delta<'a> {
    #[serde(borrow)]
    content: Option<Text<'a>>,
    #[serde(borrow, default)]
    tool_calls: Vec<ToolCall<'a>>,
}

#[derive(Deserialize)]
struct ToolCall<'a> {
    index: usize,
    id: Option<&'a str>,
    #[serde(borrow)]
    function: Function<'a>,
}

#[derive(Deserialize)]
struct Function<'a> {
    name: Option<&'a str>,
    #[serde(borrow)]
    arguments: Option<Text<'a>>,
}

#[derive(Deserialize)]
struct Usage {
    completion_tokens: u64,
}

pub(crate) fn read(data: &[u8], message: &mut Message, user: &mut impl FnMut(&str)) -> Result<(), String> {
    if data == b"[DONE]" {
        message.finished = true;
        return Ok(());
    }
    let chunk: Chunk<'_> = serde_json::from_slice(data).map_err(|error| format!("a chunk's JSON: {error}"))?;
    if let Some(usage) = chunk.usage {
        message.output_tokens = usage.completion_tokens;
    }
    for Choice { delta } in chunk.choices {
        if let Some(Text(text)) = delta.content
            && !text.is_empty()
        {
            message.text.push_str(&text);
            user(&text);
        }
        for piece in delta.tool_calls {
            while message.calls.len() <= piece.index {
                message.calls.push(Call::default());
            }
            let call = &mut message.calls[piece.index];
            if let Some(id) = piece.id {
                id.clone_into(&mut call.id);
            }
            if let Some(name) = piece.function.name {
                name.clone_into(&mut call.name);
            }
            if let Some(Text(arguments)) = piece.function.arguments
                && !arguments.is_empty()
            {
                call.arguments.push_str(&arguments);
                user(&arguments);
            }
        }
    }
    Ok(())
}

/// The message as the next request repeats it.
pub(crate) fn said(message: &Message) -> Value {
    let calls: Vec<Value> = message
        .calls
        .iter()
        .map(|call| {
            json!({"id": call.id, "type": "function",
                "function": {"name": call.name, "arguments": call.arguments}})
        })
        .collect();
    json!({"role": "assistant", "content": message.text, "tool_calls": calls})
}
