//! Gemini: chunks into the growing message. Arguments in chunks are read as what they are here: the text `$.text`.

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::{Call, Message, Text};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Chunk<'a> {
    #[serde(borrow)]
    candidates: Vec<Candidate<'a>>,
    usage_metadata: Option<Usage>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Candidate<'a> {
    #[serde(borrow)]
    content: Content<'a>,
    finish_reason: Option<&'a str>,
}

#[derive(Deserialize)]
struct Content<'a> {
    #[serde(borrow)]
    parts: Vec<Part<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Part<'a> {
    #[serde(borrow)]
    text: Option<Text<'a>>,
    #[serde(borrow)]
    function_call: Option<FunctionCall<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct FunctionCall<'a> {
    name: Option<&'a str>,
    #[serde(borrow)]
    args: Option<&'a RawValue>,
    #[serde(borrow, default)]
    partial_args: Vec<PartialArg<'a>>,
    #[serde(default)]
    will_continue: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PartialArg<'a> {
    #[serde(borrow)]
    string_value: Text<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Usage {
    candidates_token_count: u64,
}

pub(crate) fn read(data: &[u8], message: &mut Message, user: &mut impl FnMut(&str)) -> Result<(), String> {
    let chunk: Chunk<'_> = serde_json::from_slice(data).map_err(|error| format!("a chunk's JSON: {error}"))?;
    if let Some(usage) = chunk.usage_metadata {
        message.output_tokens = usage.candidates_token_count;
    }
    for candidate in chunk.candidates {
        for part in candidate.content.parts {
            if let Some(Text(text)) = part.text
                && !text.is_empty()
            {
                message.text.push_str(&text);
                user(&text);
            }
            if let Some(piece) = part.function_call {
                call(piece, message, user)?;
            }
        }
        message.finished |= candidate.finish_reason.is_some();
    }
    Ok(())
}

fn call(piece: FunctionCall<'_>, message: &mut Message, user: &mut impl FnMut(&str)) -> Result<(), String> {
    if let Some(name) = piece.name {
        let arguments = piece.args.map(|args| args.get().to_owned()).unwrap_or_default();
        message.calls.push(Call { id: String::new(), name: name.to_owned(), arguments });
    }
    let call = message.calls.last_mut().ok_or("arguments without a call")?;
    for PartialArg { string_value: Text(text) } in piece.partial_args {
        call.arguments.push_str(&text);
    }
    if !piece.will_continue {
        if piece.name.is_none() {
            call.arguments = json!({ "text": call.arguments }).to_string();
        }
        user(&call.arguments);
    }
    Ok(())
}

/// The message as the next request repeats it.
pub(crate) fn said(message: &Message) -> Result<Value, String> {
    let mut parts = Vec::new();
    if !message.text.is_empty() {
        parts.push(json!({"text": message.text}));
    }
    for call in &message.calls {
        let args: Value =
            serde_json::from_str(&call.arguments).map_err(|error| format!("arguments of {}: {error}", call.name))?;
        parts.push(json!({"functionCall": {"name": call.name, "args": args}}));
    }
    Ok(json!({"role": "model", "parts": parts}))
}
