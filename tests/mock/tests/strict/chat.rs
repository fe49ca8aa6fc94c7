//! OpenAI Chat Completions, with what Mistral and DeepSeek want otherwise.

use agent_mock::{Flavour, Format, Strict};
use serde_json::{Value, json};

use crate::table::{PNG, Table, pop, push, remove};

fn table() -> Table {
    Table::new(Format::Chat, "/v1/chat/completions")
}

fn flavoured(flavour: Flavour) -> Table {
    table().strict(Strict::new().flavour(flavour))
}

fn call(id: &str) -> Value {
    json!({"id": id, "type": "function", "function": {"name": "weather", "arguments": "{\"city\":\"Oslo\"}"}})
}

fn good() -> Value {
    json!({
        "model": "gpt",
        "stream": true,
        "stream_options": {"include_usage": true},
        "max_completion_tokens": 100,
        "tools": [{"type": "function", "function": {"name": "weather", "description": "", "parameters": {"type": "object"}}}],
        "tool_choice": "auto",
        "messages": [
            {"role": "developer", "content": "Be brief."},
            {"role": "user", "content": [
                {"type": "text", "text": "Rain?"},
                {"type": "image_url", "image_url": {"url": format!("data:image/png;base64,{PNG}")}},
            ]},
            {"role": "assistant", "content": null, "tool_calls": [call("call00001"), call("call00002")]},
            {"role": "tool", "tool_call_id": "call00001", "content": "yes"},
            {"role": "tool", "tool_call_id": "call00002", "content": "no"},
            {"role": "assistant", "content": "Yes and no."},
            {"role": "user", "content": "Thanks."},
        ],
    })
}

#[test]
fn fields_of_the_request() {
    table().refuses(
        &good(),
        &[
            ("Missing required parameter: 'model'.", |b| remove(b, "model")),
            ("Missing required parameter: 'messages'.", |b| remove(b, "messages")),
            ("Unknown parameter: 'enable_thinking'.", |b| b["enable_thinking"] = json!(true)),
            ("Invalid type for 'stream': expected a boolean, but got a string instead.", |b| b["stream"] = json!("true")),
            ("Invalid 'temperature': decimal above maximum value. Expected a value <= 2, but got 99 instead.", |b| {
                b["temperature"] = json!(99.0);
            }),
            ("Setting 'max_tokens' and 'max_completion_tokens' at the same time", |b| b["max_tokens"] = json!(100)),
            ("'max_tokens' is not supported with this model", |b| {
                b["model"] = json!("gpt-5-mini");
                remove(b, "max_completion_tokens");
                b["max_tokens"] = json!(100);
            }),
            ("Invalid 'max_completion_tokens': integer below minimum value", |b| b["max_completion_tokens"] = json!(0)),
            ("Invalid 'stop[0]': empty string", |b| b["stop"] = json!([""])),
            ("Invalid 'stop': array too long", |b| b["stop"] = json!(["1", "2", "3", "4", "5"])),
            ("Invalid 'prompt_cache_key': string too long. Expected a string with maximum length 64", |b| {
                b["prompt_cache_key"] = json!("k".repeat(65));
            }),
            ("Invalid value: 'much'. Supported values are: 'none'", |b| b["reasoning_effort"] = json!("much")),
            ("'stream_options' parameter is only allowed when 'stream' is enabled", |b| remove(b, "stream")),
        ],
    );
    flavoured(Flavour::Compatible).takes(&good(), &[|b| b["enable_thinking"] = json!(true)]);
}

#[test]
fn tools() {
    table().refuses(
        &good(),
        &[
            ("Invalid 'tools': empty array", |b| b["tools"] = json!([])),
            ("Missing required parameter: 'tools[0].function'.", |b| remove(&mut b["tools"][0], "function")),
            ("Unknown parameter: 'tools[0].name'.", |b| b["tools"][0]["name"] = json!("weather")),
            ("Invalid 'tools[0].function.name': string does not match pattern", |b| {
                b["tools"][0]["function"]["name"] = json!("the weather");
            }),
            ("Invalid 'tools[0].function.name': string too long", |b| b["tools"][0]["function"]["name"] = json!("a".repeat(65))),
            ("'weather' is used more than once", |b| {
                let tool = b["tools"][0].clone();
                push(&mut b["tools"], tool);
            }),
            (
                "Invalid schema for function 'weather': schema must be a JSON Schema of 'type: \"object\"', got 'type: \
              \"string\"'.",
                |b| {
                    b["tools"][0]["function"]["parameters"] = json!({"type": "string"});
                },
            ),
            ("'additionalProperties' is required to be supplied and to be false", |b| {
                b["tools"][0]["function"]["strict"] = json!(true);
                b["tools"][0]["function"]["parameters"] = json!({"type": "object", "properties": {}});
            }),
            ("In context=('properties', 'a'), 'required' is required to be supplied", |b| {
                b["tools"][0]["function"]["strict"] = json!(true);
                b["tools"][0]["function"]["parameters"] = json!({
                    "type": "object", "additionalProperties": false, "required": ["a"], "properties": {
                        "a": {"type": "object", "additionalProperties": false, "properties": {"b": {"type": "string"}}},
                    },
                });
            }),
            ("'tool_choice' is only allowed when 'tools' are specified", |b| remove(b, "tools")),
            ("Invalid value: 'any'. Supported values are: 'none', 'auto', 'required'.", |b| b["tool_choice"] = json!("any")),
            ("Tool choice 'x' not found", |b| b["tool_choice"] = json!({"type": "function", "function": {"name": "x"}})),
        ],
    );
}

#[test]
fn messages() {
    table().refuses(
        &good(),
        &[
            ("Invalid 'messages': empty array", |b| b["messages"] = json!([])),
            ("Invalid value: 'human'. Supported values are: 'system', 'developer', 'user', 'assistant', 'tool'.", |b| {
                b["messages"][6]["role"] = json!("human");
            }),
            ("Unknown parameter: 'messages[5].reasoning'.", |b| b["messages"][5]["reasoning"] = json!("")),
            ("Invalid type for 'messages[6].content': expected a value, but got a null instead.", |b| {
                b["messages"][6]["content"] = json!(null);
            }),
            ("Invalid 'messages[6].content': empty array", |b| b["messages"][6]["content"] = json!([])),
            ("Invalid value: 'image'. Supported values are: 'text', 'image_url'", |b| {
                b["messages"][1]["content"][1]["type"] = json!("image");
            }),
            ("Invalid 'messages[1].content[1].image_url.url': expected a valid URL", |b| {
                b["messages"][1]["content"][1]["image_url"]["url"] = json!("data:image/bmp;base64,AAAA");
            }),
            ("Invalid value: 'image_url'. Supported values are: 'text'.", |b| {
                let image = b["messages"][1]["content"][1].clone();
                b["messages"][3]["content"] = json!([image]);
            }),
            ("Invalid value for 'content': expected a string, got null.", |b| b["messages"][5]["content"] = json!(null)),
            ("Invalid 'messages[5].tool_calls': empty array", |b| b["messages"][5]["tool_calls"] = json!([])),
            ("Invalid 'messages[2].tool_calls[0].id': string too long. Expected a string with maximum length 40", |b| {
                b["messages"][2]["tool_calls"][0]["id"] = json!("c".repeat(41));
            }),
            ("Invalid 'messages[2].tool_calls[0].id': empty string", |b| b["messages"][2]["tool_calls"][0]["id"] = json!("")),
            ("Invalid type for 'messages[2].tool_calls[0].function.arguments': expected a string", |b| {
                b["messages"][2]["tool_calls"][0]["function"]["arguments"] = json!({});
            }),
            ("Invalid 'messages[2].tool_calls[0].function.arguments': expected the JSON text of an object.", |b| {
                b["messages"][2]["tool_calls"][0]["function"]["arguments"] = json!("{\"a\"");
            }),
        ],
    );
}

#[test]
fn calls_and_results() {
    table().refuses(
        &good(),
        &[
            ("The following tool_call_ids did not have response messages: call00002", |b| {
                b["messages"].as_array_mut().unwrap().remove(4);
            }),
            ("The following tool_call_ids did not have response messages: call00001, call00002", |b| {
                b["messages"].as_array_mut().unwrap().truncate(3);
            }),
            ("The following tool_call_ids did not have response messages: call00002", |b| {
                b["messages"].as_array_mut().unwrap().insert(4, json!({"role": "user", "content": "Stop."}));
            }),
            ("messages with role 'tool' must be a response to a preceeding message with 'tool_calls'", |b| {
                push(&mut b["messages"], json!({"role": "tool", "tool_call_id": "call00001", "content": "yes"}));
            }),
            ("Duplicate value for 'tool_call_id' of 'call00001'", |b| b["messages"][4]["tool_call_id"] = json!("call00001")),
            ("'call00001' is used more than once in one message", |b| {
                b["messages"][2]["tool_calls"][1]["id"] = json!("call00001");
            }),
        ],
    );
}

#[test]
fn on_azure_the_deployment_is_the_model() {
    let mut good = good();
    remove(&mut good, "model");
    Table::new(Format::Chat, "/openai/deployments/d/chat/completions?api-version=2024-10-21").takes(&good, &[]);
}

fn for_mistral() -> Value {
    let mut body = good();
    remove(&mut body, "stream_options");
    remove(&mut body, "max_completion_tokens");
    body["messages"][0]["role"] = json!("system");
    body
}

#[test]
fn mistral_is_stricter() {
    let table = flavoured(Flavour::Mistral);
    table.refuses(
        &for_mistral(),
        &[
            ("Tool call id was call_00001 but must be a-z, A-Z, 0-9, with a length of 9.", |b| {
                b["messages"][2]["tool_calls"][0]["id"] = json!("call_00001");
            }),
            ("Unexpected role 'user' after role 'tool'", |b| {
                b["messages"].as_array_mut().unwrap().remove(5);
            }),
            ("Unexpected role 'system' after role 'user'", |b| {
                push(&mut b["messages"], json!({"role": "system", "content": "Be brief."}));
            }),
            ("Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant", |b| {
                pop(&mut b["messages"]);
            }),
            ("Not the same number of function calls and responses", |b| {
                b["messages"].as_array_mut().unwrap().remove(4);
            }),
            ("Assistant message must have either content or tool_calls, but not none.", |b| {
                b["messages"][5]["content"] = json!("");
            }),
        ],
    );
    let mut unknown = for_mistral();
    unknown["stream_options"] = json!({"include_usage": true});
    let refusal = table.check(&unknown).unwrap_err();
    assert_eq!((refusal.status, refusal.message.as_str()), (422, "Extra inputs are not permitted: stream_options"));
    assert_eq!(refusal.body["object"], "error", "the message stands at the top of the body");
}

#[test]
fn deepseek_wants_its_reasoning_back() {
    let mut good = good();
    good["messages"][0]["role"] = json!("system");
    good["messages"][2]["reasoning_content"] = json!("");
    good["thinking"] = json!({"type": "enabled"});
    let table = flavoured(Flavour::DeepSeek);
    table.refuses(
        &good,
        &[("Missing `reasoning_content` field in the assistant message at message index 2.", |b| {
            remove(&mut b["messages"][2], "reasoning_content");
        })],
    );
    table.takes(
        &good,
        &[|b| {
            b["thinking"]["type"] = json!("disabled");
            remove(&mut b["messages"][2], "reasoning_content");
        }],
    );
}

#[test]
fn the_form_of_the_answer() {
    fn form(body: &mut Value, strict: bool, schema: Value) {
        let form = json!({ "name": "place", "strict": strict, "schema": schema });
        body["response_format"] = json!({ "type": "json_schema", "json_schema": form });
    }
    let city = || json!({ "type": "object", "properties": { "city": {} }, "required": ["city"], "additionalProperties": false });
    table().takes(&good(), &[|b| form(b, false, json!({ "type": "object", "minProperties": 1 }))]);
    let mut closed = good();
    form(&mut closed, true, city());
    table().takes(&closed, &[]);
    table().refuses(
        &good(),
        &[
            ("response_format.json_schema", |b| b["response_format"] = json!({ "type": "json_schema" })),
            ("schema must be a JSON Schema of 'type: \"object\"'", |b| form(b, false, json!({ "type": "array" }))),
            ("'additionalProperties' is required", |b| form(b, true, json!({ "type": "object", "properties": { "a": {} } }))),
            ("'minLength' is not permitted", |b| {
                form(b, true, json!({ "type": "object", "$defs": { "A": { "anyOf": [{ "minLength": 1 }] } } }));
            }),
        ],
    );
}

#[test]
fn files() {
    table().takes(
        &good(),
        &[
            |b| b["messages"][1]["content"] = file("data:application/pdf;base64,QQ=="),
            |b| b["messages"][1]["content"] = audio("wav"),
        ],
    );
    flavoured(Flavour::Compatible).takes(&good(), &[|b| b["messages"][1]["content"] = file("https://example.com/a.pdf")]);
    table().refuses(
        &good(),
        &[
            ("Expected a base64-encoded data URL with an application/pdf", |b| {
                b["messages"][1]["content"] = file("data:text/plain;base64,QQ==");
            }),
            ("Expected a base64-encoded data URL with an application/pdf", |b| {
                b["messages"][1]["content"] = file("https://example.com/a.pdf");
            }),
            ("Missing required parameter: 'messages[1].content[0].file.filename'", |b| {
                b["messages"][1]["content"] = file("data:application/pdf;base64,QQ==");
                remove(&mut b["messages"][1]["content"][0]["file"], "filename");
            }),
            ("Invalid value: 'ogg'. Supported values are: 'wav'", |b| b["messages"][1]["content"] = audio("ogg")),
        ],
    );
}

fn file(data: &str) -> Value {
    json!([{"type": "file", "file": {"filename": "a.pdf", "file_data": data}}])
}

fn audio(format: &str) -> Value {
    json!([{"type": "input_audio", "input_audio": {"data": "QQ==", "format": format}}])
}
