//! OpenAI Responses.

use agent_mock::{Flavour, Format, Strict};
use serde_json::{Value, json};

use crate::table::{PNG, Table, pop, push, remove};

fn table() -> Table {
    Table::new(Format::Responses, "/v1/responses")
}

fn good() -> Value {
    json!({
        "model": "gpt",
        "stream": true,
        "store": false,
        "instructions": "Be brief.",
        "max_output_tokens": 100,
        "include": ["reasoning.encrypted_content"],
        "reasoning": {"effort": "low", "summary": "auto"},
        "tools": [{"type": "function", "name": "weather", "description": "", "parameters": {"type": "object"}, "strict": false}],
        "tool_choice": "auto",
        "input": [
            {"role": "user", "content": [
                {"type": "input_text", "text": "Rain?"},
                {"type": "input_image", "image_url": format!("data:image/png;base64,{PNG}")},
            ]},
            {
                "type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Hm."}],
                "encrypted_content": "ZQ==",
            },
            {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [
                {"type": "output_text", "text": "I look.", "annotations": []},
            ]},
            {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "weather", "arguments": "{}"},
            {"type": "function_call", "call_id": "call_2", "name": "weather", "arguments": "{\"city\":\"Oslo\"}"},
            {"type": "function_call_output", "call_id": "call_1", "output": "yes"},
            {"type": "function_call_output", "call_id": "call_2", "output": [{"type": "input_text", "text": "no"}]},
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
            ("Missing required parameter: 'input'.", |b| remove(b, "input")),
            ("Unknown parameter: 'max_tokens'.", |b| b["max_tokens"] = json!(100)),
            ("Unknown parameter: 'messages'.", |b| b["messages"] = json!([])),
            ("Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but got 1 instead.", |b| {
                b["max_output_tokens"] = json!(1);
            }),
            ("Invalid 'temperature': decimal above maximum value", |b| b["temperature"] = json!(3)),
            ("Invalid 'prompt_cache_key': string too long", |b| b["prompt_cache_key"] = json!("k".repeat(65))),
            ("Invalid value: 'reasoning'. Supported values are:", |b| b["include"] = json!(["reasoning"])),
            ("Invalid value: 'much'. Supported values are:", |b| b["reasoning"]["effort"] = json!("much")),
            ("Unknown parameter: 'reasoning.budget'.", |b| b["reasoning"]["budget"] = json!(1)),
            ("Missing required parameter: 'tools[0].name'.", |b| remove(&mut b["tools"][0], "name")),
            ("Unknown parameter: 'tools[0].function'.", |b| b["tools"][0]["function"] = json!({})),
            ("Invalid type for 'tools[0].strict': expected a boolean", |b| b["tools"][0]["strict"] = json!("no")),
            ("'weather' is used more than once", |b| {
                let tool = b["tools"][0].clone();
                push(&mut b["tools"], tool);
            }),
            ("Invalid schema for function 'weather'", |b| b["tools"][0]["parameters"] = json!({"type": "array"})),
            ("Tool choice 'x' not found", |b| b["tool_choice"] = json!({"type": "function", "name": "x"})),
        ],
    );
    table().takes(&good(), &[|b| b["input"] = json!("Rain?"), |b| b["tools"] = json!([])]);
}

#[test]
fn items() {
    table().refuses(
        &good(),
        &[
            ("Invalid 'input': empty array", |b| b["input"] = json!([])),
            ("Invalid value: 'tool_use'. Supported values are: 'message', 'function_call'", |b| {
                b["input"][3]["type"] = json!("tool_use");
            }),
            ("Invalid value: 'tool'. Supported values are: 'user'", |b| b["input"][7]["role"] = json!("tool")),
            ("Invalid 'input[3].id': 'call_1'. Expected an ID that begins with 'fc'.", |b| b["input"][3]["id"] = json!("call_1")),
            ("Expected an ID that contains letters, numbers, underscores, or dashes", |b| {
                b["input"][3]["id"] = json!("fc_a+b/c=")
            }),
            ("Invalid 'input[3].id': string too long. Expected a string with maximum length 64", |b| {
                b["input"][3]["id"] = json!(format!("fc_{}", "a".repeat(62)));
            }),
            ("Expected an ID that begins with 'msg'.", |b| b["input"][2]["id"] = json!("m_1")),
            ("Expected an ID that begins with 'rs'.", |b| b["input"][1]["id"] = json!("fc_2")),
            ("Invalid 'input[3].call_id': string too long", |b| b["input"][3]["call_id"] = json!("c".repeat(65))),
            ("Invalid 'input[3].call_id': empty string", |b| b["input"][3]["call_id"] = json!("")),
            ("Duplicate item found with id fc_1", |b| b["input"][4]["id"] = json!("fc_1")),
            ("Invalid 'input[3].arguments': expected the JSON text of an object.", |b| b["input"][3]["arguments"] = json!("")),
            ("Unknown parameter: 'input[3].input'.", |b| b["input"][3]["input"] = json!({})),
            ("Invalid value: 'input_text'. Supported values are: 'output_text', 'refusal'.", |b| {
                b["input"][2]["content"][0]["type"] = json!("input_text");
            }),
            ("Invalid value: 'output_text'. Supported values are: 'input_text'", |b| {
                b["input"][0]["content"][0]["type"] = json!("output_text");
            }),
            ("Invalid 'input[0].content[1].image_url': expected a valid URL", |b| {
                b["input"][0]["content"][1]["image_url"] = json!(PNG);
            }),
            ("Missing required parameter: 'input[1].summary'.", |b| remove(&mut b["input"][1], "summary")),
        ],
    );
    // Other servers have other kinds of ids.
    let compatible = table().strict(Strict::new().flavour(Flavour::Compatible));
    compatible.takes(&good(), &[|b| b["input"][1]["id"] = json!("fa6f3a83"), |b| b["input"][3]["id"] = json!("call_1")]);
}

#[test]
fn calls_and_results() {
    table().refuses(
        &good(),
        &[
            ("No tool output found for function call call_2.", |b| {
                b["input"].as_array_mut().unwrap().remove(6);
            }),
            ("No tool call found for function call output with call_id call_1.", |b| {
                b["input"].as_array_mut().unwrap().remove(3);
            }),
            ("No tool call found for function call output with call_id call_1.", |b| {
                b["input"].as_array_mut().unwrap().swap(3, 5)
            }),
            ("No tool call found for function call output with call_id call_1.", |b| b["input"][6]["call_id"] = json!("call_1")),
            ("the call_id 'call_1' is used twice", |b| b["input"][4]["call_id"] = json!("call_1")),
        ],
    );
    table().takes(
        &good(),
        &[|b| {
            b["previous_response_id"] = json!("resp_1");
            b["input"] = json!([{"type": "function_call_output", "call_id": "call_1", "output": "yes"}]);
        }],
    );
}

#[test]
fn reasoning_goes_with_what_it_led_to() {
    table().refuses(
        &good(),
        &[
            ("Item 'rs_1' of type 'reasoning' was provided without its required following item.", |b| {
                let items = b["input"].as_array_mut().unwrap();
                let reasoning = items.remove(1);
                items.push(reasoning);
            }),
            ("Item 'rs_1' of type 'reasoning' was provided without its required following item.", |b| {
                let items = b["input"].as_array_mut().unwrap();
                let reasoning = items.remove(1);
                items.insert(0, reasoning);
            }),
        ],
    );
    let mut bare = good();
    remove(&mut bare["input"][1], "encrypted_content");
    let refusal = table().check(&bare).unwrap_err();
    assert_eq!(refusal.status, 404);
    assert!(refusal.message.contains("Item with id 'rs_1' not found. Items are not persisted"), "{refusal}");
    table().takes(
        &good(),
        &[|b| {
            b["store"] = json!(true);
            remove(&mut b["input"][1], "encrypted_content");
        }],
    );
    let mut only_a_question = good();
    while only_a_question["input"].as_array().unwrap().len() > 1 {
        pop(&mut only_a_question["input"]);
    }
    table().takes(&only_a_question, &[]);
}

#[test]
fn the_form_of_the_answer() {
    fn form(body: &mut Value, schema: Value) {
        let format = json!({ "type": "json_schema", "name": "place", "strict": true, "schema": schema });
        body["text"] = json!({ "format": format });
    }
    table().takes(&good(), &[|b| form(b, json!({ "type": "object", "properties": {}, "additionalProperties": false }))]);
    table().refuses(
        &good(),
        &[
            ("text.format.name", |b| b["text"] = json!({ "format": { "type": "json_schema", "schema": {} } })),
            ("'oneOf' is not permitted", |b| form(b, json!({ "type": "object", "oneOf": [] }))),
        ],
    );
}

#[test]
fn files() {
    table().takes(
        &good(),
        &[
            |b| {
                b["input"][0]["content"][1] = file(&json!({"filename": "a.pdf", "file_data": "data:application/pdf;base64,QQ=="}))
            },
            |b| b["input"][0]["content"][1] = file(&json!({"file_url": "https://example.com/a.pdf"})),
        ],
    );
    table().refuses(
        &good(),
        &[
            ("expected exactly one of 'file_data', 'file_id' and 'file_url'", |b| {
                b["input"][0]["content"][1] = file(&json!({"filename": "a.pdf"}));
            }),
            ("expected a base64 encoded data URL", |b| {
                b["input"][0]["content"][1] = file(&json!({"filename": "a.pdf", "file_data": "QQ=="}));
            }),
            ("expected a valid URL", |b| b["input"][0]["content"][1] = file(&json!({"file_url": "a.pdf"}))),
            ("Missing required parameter: 'input[0].content[1].filename'", |b| {
                b["input"][0]["content"][1] = file(&json!({"file_data": "data:application/pdf;base64,QQ=="}));
            }),
        ],
    );
}

fn file(fields: &Value) -> Value {
    let mut part = fields.clone();
    part["type"] = json!("input_file");
    part
}
