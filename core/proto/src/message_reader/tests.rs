//! Messages that a call is given, and those of a stored history.

use serde_json::{Value, json};

use super::read_history;
use crate::conversion::Format;
use crate::did_you_mean::Spelling;
use crate::message::Message;

fn refused(value: Value) -> String {
    Message::from_json(value).unwrap_err().message().to_owned()
}

#[test]
fn found_e13_id_and_metadata_are_kept() {
    for message in [
        json!({ "role": "user", "content": [], "timestamp": 1, "id": "m1", "metadata": { "tool_calls": [1, null] } }),
        json!({ "role": "tool_result", "tool_call_id": "c", "tool_name": "t", "content": [], "details": null, "is_error": false,
            "timestamp": 1, "id": "m2", "metadata": [1] }),
    ] {
        let read = Message::from_json(message.clone()).unwrap();
        assert_eq!((read.id(), read.metadata()), (message["id"].as_str(), Some(&message["metadata"])));
        assert_eq!(serde_json::to_value(&read).unwrap(), message);
    }
    let assistant = Message::from_json(json!({ "role": "assistant", "content": "Hi.", "id": "m3", "metadata": "x" })).unwrap();
    let written = serde_json::to_value(&assistant).unwrap();
    assert_eq!((&written["id"], &written["metadata"]), (&json!("m3"), &json!("x")));
    // Of a custom message these are fields like any other.
    let custom = json!({ "role": "note", "id": 7, "tool_calls": [] });
    let read = Message::from_json(custom.clone()).unwrap();
    assert_eq!((read.id(), read.metadata(), serde_json::to_value(&read).unwrap()), (None, None, custom));
}

#[test]
fn found_e13_a_given_message_names_its_unknown_field() {
    let assistant = |name: &str| {
        let mut message = json!({ "role": "assistant", "content": "Hi." });
        message[name] = json!([]);
        refused(message)
    };
    let calls = assistant("tool_calls");
    assert!(calls.starts_with("message: assistant message: unknown field \"tool_calls\"; a model's calls are blocks"), "{calls}");
    assert!(assistant("function_call").contains("\"tool_call\""));
    assert!(assistant("reasoning_content").contains("{\"type\": \"thinking\", \"thinking\"}"));
    assert!(assistant("name").contains("keep it in \"metadata\""));
    assert!(assistant("stopreason").ends_with("did you mean \"stop_reason\"?"));
    assert!(assistant("weight").ends_with("the application's own data goes into \"metadata\""));
    let result = refused(json!({ "role": "tool_result", "tool_use_id": "c", "content": "x" }));
    let converter = "the id of the call is \"tool_call_id\"; transcript import reads such messages (format \"anthropic\")";
    assert!(result.ends_with(converter), "{result}");
    for (block, what) in [
        (
            json!({ "type": "tool_call", "id": "c", "name": "t", "input": {} }),
            "content[1]: tool_call block: unknown field \"input\"",
        ),
        (json!({ "type": "text", "text": "x", "cache_control": {} }), "content[1]: text block: unknown field \"cache_control\""),
        (json!({ "type": "image", "data": "", "mime_type": "", "detail": 1 }), "a block's fields are data, url, mime_type"),
    ] {
        let text = refused(json!({ "role": "assistant", "content": [{ "type": "text", "text": "" }, block] }));
        assert!(text.contains(what), "{text}");
    }
    for id in [json!(7), json!("")] {
        let text = refused(json!({ "role": "user", "content": "x", "id": id }));
        assert_eq!(text, format!("message: user message: id: expected text that is not empty, got {id}"));
    }
}

#[test]
fn what_is_of_another_format_names_its_converter() {
    let field = |name: &str| json!({ "role": "assistant", "content": "x", name: 1 });
    let block = |kind: &str| json!({ "role": "user", "content": [{ "type": kind }] });
    let role = |role: &str| json!({ "role": role, "content": "x" });
    for (message, format) in [
        (field("tool_calls"), "openai_chat"),
        (field("call_id"), "openai_responses"),
        (field("parts"), "ai_sdk"),
        (field("functionCall"), "gemini"),
        (block("image_url"), "openai_chat"),
        (block("input_text"), "openai_responses"),
        (block("tool_use"), "anthropic"),
        (role("system"), "openai_chat"),
        (role("tool"), "openai_chat"),
        (role("model"), "gemini"),
    ] {
        let text = refused(message);
        let converter = format!("; transcript import reads such messages (format {format:?})");
        assert!(text.ends_with(&converter), "{text}");
        assert!(Format::parse(format).is_ok());
    }
    // More than one format has these.
    assert!(!refused(field("name")).contains("transcript import"));
}

#[test]
fn found_e13_a_role_of_another_format_is_refused() {
    for (role, advice) in [
        ("tool", "tool_result"),
        ("function", "tool_result"),
        ("system", "system prompt"),
        ("developer", "system prompt"),
        ("model", "assistant"),
    ] {
        let text = refused(json!({ "role": role, "content": "x" }));
        assert!(
            text.starts_with(&format!("message: the role {role:?} is of another format; ")) && text.contains(advice),
            "{text}"
        );
    }
    assert!(Message::from_json(json!({ "role": "usr", "content": "x" })).is_ok(), "reported when it is sent");
}

#[test]
fn found_e13_a_stored_history_keeps_what_is_unknown() {
    let stored = json!([
        { "role": "user", "content": [{ "type": "text", "text": "Hi.", "cache_control": 1 }], "id": 5, "name": "Ann" },
        { "role": "assistant", "content": "", "tool_calls": [{}], "metadata": { "k": 1 } },
        { "role": "user", "content": "", "id": "a", "metadata": 3, "x": null },
        { "role": "user", "content": "", "id": "a" },
        { "role": "tool", "content": "x" },
    ]);
    let messages = read_history(stored).unwrap();
    let metadata: Vec<Value> = messages.iter().map(|message| message.metadata().cloned().unwrap_or_default()).collect();
    assert_eq!(
        metadata,
        [
            json!({ "unknown": { "name": "Ann", "id": 5, "content[0]": { "cache_control": 1 } } }),
            json!({ "k": 1, "unknown": { "tool_calls": [{}] } }),
            json!({ "value": 3, "unknown": { "x": null } }),
            json!({ "unknown": { "id": "a" } }),
            Value::Null,
        ]
    );
    let ids: Vec<_> = messages.iter().map(Message::id).collect();
    assert_eq!(ids, [None, None, Some("a"), None, None]);
    // Written and read again it is the same, also by a call.
    for message in &messages[..4] {
        let written = serde_json::to_value(message).unwrap();
        assert_eq!(Message::from_json(written).unwrap(), *message);
    }
    let error = read_history(json!([{ "role": "user", "content": "x" }, { "content": "x" }])).unwrap_err();
    assert!(error.message().starts_with("history: [1]: role is missing"), "{error}");
    for (value, text) in [
        (json!({}), "history: expected an array of messages, got {}"),
        (json!({ "messages": [] }), "history: expected an array of messages, got {\"messages\":[]}; give its \"messages\" alone"),
        (
            json!({ "role": "user" }),
            "history: expected an array of messages, got {\"role\":\"user\"}; put a single message into an array",
        ),
    ] {
        assert_eq!(read_history(value).unwrap_err().message(), text);
    }
}

#[test]
fn found_hints_on_fields_are_in_the_host_s_spelling() {
    let content = |block: Value| json!({ "role": "user", "content": [block] });
    let with = |name: &str| json!({ "role": "tool_result", "tool_call_id": "c", "tool_name": "t", "content": [], name: 1 });
    let names = ["mime_type", "tool_call_id", "tool_name", "stop_reason", "cache_retention"];
    let kinds = ["image_url", "tool_use", "function_call_output", "tool_result"].map(|kind| content(json!({ "type": kind })));
    let image = |name: &str| content(json!({ "type": "image", "data": "", "mime_type": "image/png", name: "" }));
    let messages = ["name", "tool_use_id", "tool_calls", "cache_control", "finish_reason", "tool_nme"].map(with);
    let roles = [json!({ "role": "tool", "content": "" })];
    for message in kinds.into_iter().chain(messages).chain(roles).chain(["source", "media_type"].map(image)) {
        let text = refused(message);
        let spelled = Spelling::Camel.respell(&text, &names);
        let left: Vec<&str> = names.into_iter().filter(|name| spelled.contains(name)).collect();
        assert!(left.is_empty(), "{spelled}");
    }
}
