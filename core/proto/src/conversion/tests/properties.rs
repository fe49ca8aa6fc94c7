//! Our messages come back from each format that can hold them.

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::canonical;
use crate::conversion::{Format, Imported, export, import};
use crate::message::Message;
use crate::message_reader::read_history;

/// A block of a message of the model, as this format holds it. `n` makes ids unique.
fn blocks(format: Format) -> impl Strategy<Value = Vec<Value>> {
    let text = "[a-z \"\\\\\n]{0,5}[a-zé🐈]";
    let (signed, redacted) = match format {
        Format::Anthropic => (Some("c2ln"), true),
        Format::AiSdk => (Some("c2ln"), false),
        Format::Pi => (Some("anything"), true),
        Format::Gemini => (Some("c2ln"), false),
        Format::OpenaiChat | Format::OpenaiResponses => (None, false),
    };
    let block = (0..4_u8, text, any::<bool>()).prop_map(move |(kind, text, flag)| match kind {
        0 => match signed {
            Some(signature) if redacted && flag => {
                json!({ "type": "thinking", "thinking": "", "signature": signature, "redacted": true })
            }
            Some(signature) => json!({ "type": "thinking", "thinking": text, "signature": signature }),
            None => json!({ "type": "text", "text": text }),
        },
        1 | 2 => json!({ "type": "text", "text": text }),
        _ if flag && matches!(format, Format::OpenaiChat | Format::OpenaiResponses | Format::AiSdk) => {
            json!({ "type": "tool_call", "id": "", "name": "t", "arguments": {}, "raw_arguments": format!("{{{text}") })
        }
        _ => json!({ "type": "tool_call", "id": "", "name": "t", "arguments": { "z": text, "a": [1, null] } }),
    });
    prop::collection::vec(block, 1..4).prop_map(move |mut blocks| {
        if format == Format::OpenaiChat {
            // Calls stand behind the text.
            blocks.sort_by_key(|block| block["type"] == "tool_call");
        }
        blocks
    })
}

/// Files beside images with their data, as the format holds them whole.
fn files(format: Format) -> Vec<Value> {
    let pdf = json!({ "type": "document", "data": "aGk=", "mime_type": "application/pdf" });
    let named = json!({ "type": "document", "data": "aGk=", "mime_type": "application/pdf", "name": "a b.pdf" });
    let text = json!({ "type": "document", "data": "aGk=", "mime_type": "text/plain", "name": "a.txt" });
    let audio = json!({ "type": "audio", "data": "aGk=", "mime_type": "audio/mpeg" });
    let image_at = json!({ "type": "image", "url": "https://h/a" });
    let typed_image_at = json!({ "type": "image", "url": "https://h/a", "mime_type": "image/png" });
    let pdf_at = json!({ "type": "document", "url": "https://h/a", "mime_type": "application/pdf" });
    let untyped_at = json!({ "type": "document", "url": "https://h/a" });
    let audio_at = json!({ "type": "audio", "url": "https://h/a", "mime_type": "audio/wav" });
    match format {
        Format::OpenaiChat => vec![image_at, named, text, audio],
        Format::OpenaiResponses => vec![image_at, named, text, untyped_at],
        Format::Anthropic => vec![image_at, pdf, named, text, pdf_at],
        Format::Gemini => vec![pdf, audio, typed_image_at, pdf_at, audio_at],
        Format::AiSdk => vec![named, text, audio, image_at, untyped_at, audio_at],
        Format::Pi => Vec::new(),
    }
}

fn transcripts(format: Format) -> impl Strategy<Value = Value> {
    let turn = (blocks(format), any::<bool>(), any::<bool>(), "[a-z]{1,4}");
    prop::collection::vec(turn, 1..5).prop_map(move |turns| {
        let mut messages = Vec::new();
        for (turn, (mut blocks, is_error, has_image, text)) in turns.into_iter().enumerate() {
            let image = json!({ "type": "image", "data": "aGk=", "mime_type": "image/png" });
            let mut said = vec![json!({ "type": "text", "text": text }), image.clone()];
            said.extend(files(format).get(turn).cloned());
            messages.push(json!({ "role": "user", "content": said }));
            let mut calls = Vec::new();
            for (place, block) in blocks.iter_mut().enumerate().filter(|(_, block)| block["type"] == "tool_call") {
                block["id"] = json!(format!("{turn}_{place}"));
                calls.push(block["id"].clone());
            }
            let reason = if calls.is_empty() { "stop" } else { "tool_use" };
            // The SDK's own packages say which protocol it was, but no field says which provider.
            let signed = blocks.iter().any(|block| block.get("signature").is_some());
            let protocol = match format {
                Format::AiSdk if signed => "anthropic",
                Format::AiSdk => "",
                Format::Pi => "custom",
                format => format.as_str(),
            };
            messages.push(json!({ "role": "assistant", "content": blocks, "protocol": protocol, "stop_reason": reason }));
            for id in calls {
                // Errors, and images, where the format has them.
                let holds_errors = !matches!(format, Format::OpenaiChat | Format::OpenaiResponses);
                let is_error = is_error && holds_errors;
                let holds_images = format != Format::OpenaiChat && !(format == Format::AiSdk && is_error);
                let mut content = vec![json!({ "type": "text", "text": text })];
                content.extend((has_image && holds_images).then(|| image.clone()));
                let mut result = json!({ "role": "tool_result", "tool_call_id": id, "tool_name": "t", "content": content });
                result["is_error"] = json!(is_error);
                messages.push(result);
            }
        }
        Value::Array(messages)
    })
}

/// The messages without the ids that some formats must have.
fn unnamed(read: &Imported) -> Value {
    let mut messages = canonical(read);
    for message in messages.as_array_mut().unwrap() {
        message.as_object_mut().unwrap().shift_remove("id");
    }
    messages
}

fn comes_back(format: Format, ours: &Value) -> Result<(), TestCaseError> {
    let messages: Vec<Arc<Message>> = read_history(ours.clone()).unwrap().into_iter().map(Arc::new).collect();
    let exported = export(format, &messages, "");
    prop_assert_eq!(&exported.losses, &[]);
    let text = Value::String(exported.text(format));
    let again = import(format, &text, None).unwrap();
    prop_assert_eq!(&again.losses, &[]);
    let before = Imported { messages, ..Imported::default() };
    prop_assert_eq!(unnamed(&again), unnamed(&before), "{:#}", exported.messages);
    Ok(())
}

macro_rules! each {
    ($($name:ident: $format:ident,)*) => {
        proptest! {
            #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]
            $(#[test]
            fn $name(ours in transcripts(Format::$format)) {
                comes_back(Format::$format, &ours)?;
            })*
        }
    };
}

each! {
    ours_come_back_from_openai_chat: OpenaiChat,
    ours_come_back_from_openai_responses: OpenaiResponses,
    ours_come_back_from_anthropic: Anthropic,
    ours_come_back_from_gemini: Gemini,
    ours_come_back_from_the_ai_sdk: AiSdk,
    ours_come_back_from_pi: Pi,
}
