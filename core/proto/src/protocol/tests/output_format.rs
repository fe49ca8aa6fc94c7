//! The form that a request gives its answer: what stands in the body, and that the real service would take it.

use std::sync::Arc;

use serde_json::{Value, json};

use super::fixture::Fixture;
use super::service_rules::services;
use crate::message::Message;
use crate::output::OutputSpec;
use crate::request::{Request, ThinkingLevel};

fn request(schema: Value) -> Request {
    let spec = OutputSpec::new(schema).unwrap().with_description("Where it rains.");
    let messages = vec![Arc::new(Message::user("Rain?", 0))];
    Request { messages, output: Some(Arc::clone(spec.format())), ..Request::default() }
}

fn city() -> Value {
    json!({ "type": "object", "properties": { "city": { "type": "string" } }, "required": ["city"] })
}

fn closed() -> Value {
    let mut closed = city();
    closed["additionalProperties"] = json!(false);
    closed
}

/// The body's field of that path, in each of the four formats.
fn field(provider_and_id: &str, path: &str, request: &Request) -> Value {
    let body = Fixture::new(json!(provider_and_id)).encode(request);
    body.pointer(path).cloned().unwrap_or_default()
}

#[test]
fn each_format_has_its_own_field() {
    let chat = json!({ "type": "json_schema", "json_schema": {
        "name": "final_answer", "description": "Where it rains.", "strict": true, "schema": closed(),
    } });
    assert_eq!(field("mistral/mistral-large-latest", "/response_format", &request(city())), chat);
    let responses = json!({
        "type": "json_schema", "name": "final_answer", "description": "Where it rains.", "strict": true, "schema": closed(),
    });
    assert_eq!(field("openai/gpt-5", "/text/format", &request(city())), responses);
    let anthropic = json!({ "format": { "type": "json_schema", "schema": closed() } });
    assert_eq!(field("anthropic/claude-sonnet-4-5", "/output_config", &request(city())), anthropic);
    let gemini = field("google/gemini-3-pro-preview", "/generationConfig", &request(city()));
    assert_eq!((&gemini["responseMimeType"], &gemini["responseJsonSchema"]), (&json!("application/json"), &city()));
}

#[test]
fn a_schema_that_the_strict_form_does_not_take_is_sent_as_it_is() {
    let optional = json!({ "type": "object", "properties": { "city": { "type": "string", "minLength": 1 } } });
    let format = field("openai/gpt-5", "/text/format", &request(optional.clone()));
    assert_eq!((&format["strict"], &format["schema"]), (&json!(false), &optional));
}

#[test]
fn the_effort_of_thinking_stands_beside_it() {
    let thinks = Request { thinking_level: ThinkingLevel::High, ..request(city()) };
    let config = field("anthropic/claude-opus-4-7", "/output_config", &thinks);
    assert_eq!(config, json!({ "effort": "high", "format": { "type": "json_schema", "schema": closed() } }));
}

#[test]
fn every_service_takes_it() {
    let tree = json!({
        "$defs": { "Node": {
            "type": "object",
            "properties": { "left": { "anyOf": [{ "$ref": "#/$defs/Node" }, { "type": "null" }] } },
        } },
        "$ref": "#/$defs/Node",
    });
    let schemas = [
        city(),
        tree,
        json!({ "type": "array", "items": { "type": "string", "minLength": 1, "pattern": "^a" }, "maxItems": 3 }),
        json!({ "type": "array", "uniqueItems": true }),
        json!({ "oneOf": [city(), { "type": "object", "properties": { "why": { "const": "no" } }, "required": ["why"] }] }),
        json!({ "type": ["integer", "null"], "minimum": 1 }),
        json!({ "enum": ["a", "b"], "title": "Letter", "default": "a" }),
    ];
    let mut judged = 0;
    for service in services() {
        for schema in &schemas {
            let request = request(schema.clone());
            // Whatever mode is asked for: `native` is, of services that could not be held to this schema.
            if service.fixture.takes_schema(&request.output.as_ref().unwrap().schema) {
                let body = service.fixture.encode(&request);
                assert_eq!(service.judge(&body), Ok(()));
                judged += 1;
            }
        }
    }
    assert!(judged > 20, "{judged}");
}

#[test]
fn what_a_model_can_be_held_to() {
    let takes = |model: &str, has_tools: bool| {
        let fixture = Fixture::new(json!(model));
        fixture.takes(&closed(), has_tools)
    };
    for (model, alone, beside_tools) in [
        ("openai/gpt-5", true, true),
        ("openai/gpt-4o-mini", true, true),
        ("openai/gpt-4-turbo", false, false),
        ("openai/gpt-3.5-turbo", false, false),
        ("anthropic/claude-sonnet-4-5", true, true),
        ("anthropic/claude-opus-4-1", false, false),
        ("anthropic/claude-3-7-sonnet-latest", false, false),
        ("google/gemini-3-pro-preview", true, true),
        ("google/gemini-2.5-flash", true, false),
        ("google/gemini-1.5-pro", false, false),
        ("xai/grok-4", true, true),
        ("xai/grok-3", true, false),
        ("ollama/qwen3", true, false),
        ("deepseek/deepseek-chat", false, false),
        ("openrouter/openai/gpt-5", false, false),
    ] {
        assert_eq!((takes(model, false), takes(model, true)), (alone, beside_tools), "{model}");
    }
}
