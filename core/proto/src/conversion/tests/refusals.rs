//! What is no list of messages is refused, and the text says where it is wrong.

use serde_json::{Value, json};

use crate::conversion::{Format, import};
use crate::error::ErrorKind;

#[test]
fn the_place_is_a_json_pointer() {
    for (format, given, text) in [
        (
            Format::OpenaiChat,
            json!({ "messages": [] }),
            "messages: expected an array, got an object; give its \"messages\" alone",
        ),
        (Format::OpenaiChat, json!(5), "messages: expected an array of messages, got 5"),
        (Format::OpenaiChat, Value::Null, "messages: expected an array of messages, got null"),
        (
            Format::OpenaiChat,
            json!(["hi"]),
            "messages: /0: expected a message such as {\"role\": \"user\", \"content\": \"…\"}, got \"hi\"",
        ),
        (Format::OpenaiChat, json!([{ "content": "x" }]), "messages: /0: role is missing"),
        (Format::OpenaiChat, json!([{ "role": 1 }]), "messages: /0/role: expected text, got 1"),
        (
            Format::OpenaiChat,
            json!([{ "role": "owl" }]),
            "messages: /0/role: unknown role \"owl\"; known are system, developer, user, assistant, tool, function",
        ),
        (
            Format::OpenaiChat,
            json!([{ "role": "user", "content": 7 }]),
            "messages: /0/content: expected text or an array of parts, got 7",
        ),
        (
            Format::OpenaiChat,
            json!([{ "role": "user", "parts": [] }]),
            "messages: /0: it has parts and no content, as messages of the AI SDK (ai_sdk) and of Gemini (gemini) have",
        ),
        (Format::OpenaiResponses, json!([{ "role": "user" }]), "messages: /0: content is missing"),
        (Format::Anthropic, json!([{ "role": "assistant", "contents": "hi" }]), "messages: /0: content is missing"),
        (Format::OpenaiChat, json!([{ "role": "user", "content": [{}] }]), "messages: /0/content/0: type is missing"),
        (
            Format::OpenaiChat,
            json!([{ "role": "assistant", "tool_calls": [{ "id": "1", "function": {} }] }]),
            "messages: /0/tool_calls/0/function: name is missing",
        ),
        (Format::OpenaiResponses, json!([{ "type": "function_call", "name": "t" }]), "messages: /0: call_id is missing"),
        (
            Format::OpenaiResponses,
            json!({ "output": [] }),
            "messages: expected an array, got an object; give its \"output\" alone",
        ),
        (
            Format::Anthropic,
            json!([{ "role": "user", "content": [{ "type": "tool_result" }] }]),
            "messages: /0/content/0: tool_use_id is missing",
        ),
        (Format::Gemini, json!([{ "role": "user", "parts": "x" }]), "messages: /0/parts: expected an array of parts, got \"x\""),
        (
            Format::AiSdk,
            json!([{ "role": "user", "content": "x" }]),
            "messages: /0/parts: expected an array of parts, as the AI SDK has them from version 5 on, got null",
        ),
        (Format::Pi, json!("{\"type\": \"session\"}\n\n{oops"), "messages: line 3: "),
        (Format::Pi, json!([{ "role": "user", "text": "x" }]), "messages: /0: content is missing"),
        (Format::Pi, json!([{ "id": "x" }]), "messages: /0: type is missing"),
        (Format::OpenaiChat, json!("[{"), "messages: "),
    ] {
        let error = import(format, &given, None).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.message().starts_with(text), "{given}: {}", error.message());
    }
    let deep = (0..80).fold(json!(1), |inner, _| json!([inner]));
    let error = import(Format::Anthropic, &json!([{ "role": "assistant", "content": [{ "type": "x", "deep": deep }] }]), None)
        .unwrap_err();
    assert!(error.message().starts_with("messages: /0: the data of an opaque block nests deeper than 64"), "{}", error.message());
}

#[test]
fn a_format_has_a_word() {
    for format in Format::ALL {
        assert_eq!(Format::parse(format.as_str()).unwrap(), format);
    }
    let text = |word| Format::parse(word).unwrap_err().message().to_owned();
    assert_eq!(text("antropic"), "format: unknown format \"antropic\"; did you mean \"anthropic\"?");
    assert_eq!(text("x"), "format: unknown format \"x\"; known are openai_chat, openai_responses, anthropic, gemini, ai_sdk, pi");
}
