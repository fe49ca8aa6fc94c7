//! Anthropic Messages.

use agent_mock::{Format, Strict};
use serde_json::{Value, json};

use crate::table::{PNG, Table, pop, push, remove};

fn table() -> Table {
    Table::new(Format::Anthropic, "/v1/messages")
}

/// A question, two parallel calls, their results with a picture, and one more question.
fn good() -> Value {
    json!({
        "model": "claude",
        "max_tokens": 4096,
        "stream": true,
        "system": [{"type": "text", "text": "Be brief."}],
        "tools": [{"name": "weather", "description": "", "input_schema": {"type": "object", "properties": {}}}],
        "tool_choice": {"type": "auto"},
        "messages": [
            {"role": "user", "content": "Rain?"},
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "", "signature": "c2ln"},
                {"type": "redacted_thinking", "data": "ZGF0YQ=="},
                {"type": "text", "text": "I look."},
                {"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {}},
                {"type": "tool_use", "id": "toolu_2", "name": "weather", "input": {"city": "Oslo"}},
            ]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "toolu_1", "content": "yes"},
                {"type": "tool_result", "tool_use_id": "toolu_2", "is_error": false, "content": [
                    {"type": "text", "text": "See:"},
                    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}},
                ]},
                {"type": "text", "text": "And tomorrow?"},
            ]},
        ],
    })
}

fn marker() -> Value {
    json!({"type": "ephemeral"})
}

#[test]
fn fields_of_the_request() {
    table().refuses(
        &good(),
        &[
            ("model: Field required", |b| remove(b, "model")),
            ("max_tokens: Field required", |b| remove(b, "max_tokens")),
            ("messages: Field required", |b| remove(b, "messages")),
            ("max_tokens: Input should be greater than or equal to 1", |b| b["max_tokens"] = json!(0)),
            ("max_tokens: Input should be a valid integer", |b| b["max_tokens"] = json!("1")),
            ("max_completion_tokens: Extra inputs are not permitted", |b| b["max_completion_tokens"] = json!(1)),
            ("stream: Input should be a valid boolean", |b| b["stream"] = json!("yes")),
            ("temperature: Input should be less than or equal to 1", |b| b["temperature"] = json!(1.5)),
            ("temperature: Input should be greater than or equal to 0", |b| b["temperature"] = json!(-0.5)),
            ("each stop sequence must contain non-whitespace", |b| b["stop_sequences"] = json!([" "])),
            ("output_config.effort: Input should be 'low', 'medium', 'high', 'xhigh' or 'max'", |b| {
                b["output_config"] = json!({"effort": "minimal"});
            }),
            ("system: text content blocks must be non-empty", |b| b["system"][0]["text"] = json!("")),
            ("system.0.type: Input should be 'text'", |b| b["system"][0]["type"] = json!("image")),
            ("metadata.session: Extra inputs are not permitted", |b| b["metadata"] = json!({"session": "1"})),
        ],
    );
    table().takes(&good(), &[|b| b["temperature"] = json!(0), |b| b["system"] = json!(""), |b| b["metadata"] = json!(null)]);
}

#[test]
fn tools() {
    table().refuses(
        &good(),
        &[
            ("tools.0.custom.name: Field required", |b| remove(&mut b["tools"][0], "name")),
            ("tools.0.custom.name: String should match pattern", |b| b["tools"][0]["name"] = json!("the weather")),
            ("tools.0.custom.name: String should have at most 64 characters", |b| b["tools"][0]["name"] = json!("a".repeat(65))),
            ("tools.0.custom.input_schema: Field required", |b| remove(&mut b["tools"][0], "input_schema")),
            ("tools.0.custom.input_schema.type: Field required", |b| b["tools"][0]["input_schema"] = json!({})),
            ("tools.0.custom.input_schema.type: Input should be 'object'", |b| {
                b["tools"][0]["input_schema"]["type"] = json!("array")
            }),
            ("tools.0.custom.parameters: Extra inputs are not permitted", |b| b["tools"][0]["parameters"] = json!({})),
            ("Tool names must be unique", |b| {
                let tool = b["tools"][0].clone();
                push(&mut b["tools"], tool);
            }),
            ("tool_choice.type: Input should be 'auto', 'any', 'tool' or 'none'", |b| {
                b["tool_choice"]["type"] = json!("required")
            }),
            ("tool_choice.name: Field required", |b| b["tool_choice"] = json!({"type": "tool"})),
            ("Tool 'x' not found", |b| b["tool_choice"] = json!({"type": "tool", "name": "x"})),
            ("tool_choice may only be specified while providing tools", |b| remove(b, "tools")),
        ],
    );
}

#[test]
fn messages_and_blocks() {
    table().refuses(
        &good(),
        &[
            ("at least one message is required", |b| b["messages"] = json!([])),
            ("messages.0.role: Input should be 'user' or 'assistant'", |b| b["messages"][0]["role"] = json!("system")),
            ("messages.0.id: Extra inputs are not permitted", |b| b["messages"][0]["id"] = json!("1")),
            ("first message must use the \"user\" role", |b| b["messages"][0]["role"] = json!("assistant")),
            ("messages.0: all messages must have non-empty content", |b| b["messages"][0]["content"] = json!("")),
            ("messages.0: all messages must have non-empty content", |b| b["messages"][0]["content"] = json!([])),
            ("messages.0.content: Input should be a valid value", |b| b["messages"][0]["content"] = json!(null)),
            ("text content blocks must contain non-whitespace text", |b| b["messages"][0]["content"] = json!(" \n")),
            ("text content blocks must be non-empty", |b| b["messages"][1]["content"][2]["text"] = json!("")),
            ("text content blocks must contain non-whitespace text", |b| b["messages"][1]["content"][2]["text"] = json!(" ")),
            ("messages.1.content.2.text.extra: Extra inputs are not permitted", |b| {
                b["messages"][1]["content"][2]["extra"] = json!(1);
            }),
            ("Input tag 'output_text' found", |b| b["messages"][1]["content"][2]["type"] = json!("output_text")),
            ("`tool_use` blocks can only be in `assistant` messages", |b| {
                let call = b["messages"][1]["content"][3].clone();
                push(&mut b["messages"][2]["content"], call);
            }),
            ("`tool_result` blocks can only be in `user` messages", |b| {
                let result = b["messages"][2]["content"][0].clone();
                push(&mut b["messages"][1]["content"], result);
            }),
            ("`image` blocks can only be in `user` messages", |b| {
                let image = b["messages"][2]["content"][1]["content"][1].clone();
                push(&mut b["messages"][1]["content"], image);
            }),
            ("messages.1.content.0.thinking.signature: Field required", |b| {
                remove(&mut b["messages"][1]["content"][0], "signature");
            }),
            ("Invalid `signature` in `thinking` block", |b| b["messages"][1]["content"][0]["signature"] = json!("")),
            ("redacted_thinking.data: Field required", |b| remove(&mut b["messages"][1]["content"][1], "data")),
            ("messages.1.content.3.tool_use.id: String should match pattern", |b| {
                b["messages"][1]["content"][3]["id"] = json!("call|1");
            }),
            ("tool_use.id: String should have at most 64 characters", |b| {
                b["messages"][1]["content"][3]["id"] = json!("a".repeat(65));
            }),
            ("messages.1.content.3.tool_use.input: Input should be a valid dictionary", |b| {
                b["messages"][1]["content"][3]["input"] = json!("{}");
            }),
            ("media_type: Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'", |b| {
                b["messages"][2]["content"][1]["content"][1]["source"]["media_type"] = json!("image/bmp");
            }),
            ("source.base64.data: Invalid base64 data", |b| {
                b["messages"][2]["content"][1]["content"][1]["source"]["data"] = json!("no base64");
            }),
            ("text content blocks must be non-empty", |b| b["messages"][2]["content"][1]["content"][0]["text"] = json!("")),
            ("all content must be type `text` if `is_error` is true", |b| {
                b["messages"][2]["content"][1]["is_error"] = json!(true)
            }),
            ("content cannot be empty if `is_error` is true", |b| {
                b["messages"][2]["content"][0] = json!({"type": "tool_result", "tool_use_id": "toolu_1", "is_error": true});
            }),
            ("cannot end with trailing whitespace", |b| {
                push(&mut b["messages"], json!({"role": "assistant", "content": "So: "}));
            }),
            ("an `assistant` message in the final position cannot contain `thinking`", |b| {
                let thinking = b["messages"][1]["content"][0].clone();
                push(&mut b["messages"], json!({"role": "assistant", "content": [thinking]}));
            }),
        ],
    );
    table().takes(
        &good(),
        &[
            |b| push(&mut b["messages"], json!({"role": "assistant", "content": "So:"})),
            |b| push(&mut b["messages"], json!({"role": "user", "content": "Two in a row are joined."})),
        ],
    );
    table()
        .strict(Strict::new().empty_signatures())
        .takes(&good(), &[|b| b["messages"][1]["content"][0]["signature"] = json!("")]);
}

#[test]
fn calls_and_results() {
    table().refuses(
        &good(),
        &[
            ("messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1, toolu_2", |b| {
                pop(&mut b["messages"]);
            }),
            ("immediately after: toolu_1.", |b| {
                b["messages"][2]["content"].as_array_mut().unwrap().remove(0);
            }),
            ("immediately after: toolu_1, toolu_2.", |b| {
                b["messages"][2]["content"].as_array_mut().unwrap().rotate_right(1);
            }),
            ("immediately after: toolu_1, toolu_2.", |b| {
                b["messages"]
                    .as_array_mut()
                    .unwrap()
                    .insert(2, json!({"role": "user", "content": [{"type": "text", "text": "Stop."}]}));
            }),
            ("messages.2.content.0: unexpected `tool_use_id` found in `tool_result` blocks: other", |b| {
                b["messages"][2]["content"][0]["tool_use_id"] = json!("other");
            }),
            ("messages.2.content.1: each tool_use must have a single result. Found multiple", |b| {
                b["messages"][2]["content"][1]["tool_use_id"] = json!("toolu_1");
            }),
            ("messages.1: `tool_use` ids must be unique", |b| {
                b["messages"][1]["content"][4]["id"] = json!("toolu_1");
                b["messages"][2]["content"].as_array_mut().unwrap().remove(1);
            }),
            ("messages.3: `tool_use` ids must be unique", |b| {
                let (calls, results) = (b["messages"][1].clone(), b["messages"][2].clone());
                push(&mut b["messages"], calls);
                push(&mut b["messages"], results);
            }),
        ],
    );
    let roles = table().strict(Strict::new().alternation());
    roles.refuses(
        &good(),
        &[("roles must alternate between \"user\" and \"assistant\", but found multiple \"user\" roles in a row", |b| {
            push(&mut b["messages"], json!({"role": "user", "content": "Again."}));
        })],
    );
}

#[test]
fn thinking() {
    let mut good = good();
    good["thinking"] = json!({"type": "enabled", "budget_tokens": 1024});
    pop(&mut good["messages"][2]["content"]);
    table().refuses(
        &good,
        &[
            ("thinking.enabled.budget_tokens: Input should be greater than or equal to 1024", |b| {
                b["thinking"]["budget_tokens"] = json!(1000);
            }),
            ("thinking.enabled.budget_tokens: Field required", |b| remove(&mut b["thinking"], "budget_tokens")),
            ("thinking.adaptive.budget_tokens: Extra inputs are not permitted", |b| b["thinking"]["type"] = json!("adaptive")),
            ("`max_tokens` must be greater than `thinking.budget_tokens`", |b| b["max_tokens"] = json!(1024)),
            ("`temperature` may only be set to 1", |b| b["temperature"] = json!(0)),
            ("`top_k` must be unset", |b| b["top_k"] = json!(3)),
            ("`top_p` must be greater", |b| b["top_p"] = json!(0.5)),
            ("Thinking may not be enabled when tool_choice forces tool use", |b| b["tool_choice"]["type"] = json!("any")),
            ("messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `text`", |b| {
                b["messages"][1]["content"].as_array_mut().unwrap().drain(..2);
            }),
        ],
    );
    table().takes(
        &good,
        &[
            |b| b["temperature"] = json!(1),
            |b| b["thinking"] = json!({"type": "adaptive"}),
            // What the model says further on in its tool loop need not begin with thinking.
            |b| {
                let call = json!({"type": "tool_use", "id": "toolu_3", "name": "weather", "input": {}});
                push(&mut b["messages"], json!({"role": "assistant", "content": [call]}));
                let result = json!({"type": "tool_result", "tool_use_id": "toolu_3", "content": "yes"});
                push(&mut b["messages"], json!({"role": "user", "content": [result]}));
            },
            // A turn that is over need not either.
            |b| {
                b["messages"][1]["content"].as_array_mut().unwrap().drain(..2);
                push(&mut b["messages"], json!({"role": "assistant", "content": "Yes."}));
                push(&mut b["messages"], json!({"role": "user", "content": "Thanks."}));
            },
        ],
    );
}

#[test]
fn cache_markers() {
    table().refuses(
        &good(),
        &[
            ("A maximum of 4 blocks with cache_control may be provided. Found 5.", |b| {
                b["tools"][0]["cache_control"] = marker();
                b["system"][0]["cache_control"] = marker();
                b["messages"][1]["content"][2]["cache_control"] = marker();
                b["messages"][2]["content"][0]["cache_control"] = marker();
                b["messages"][2]["content"][1]["content"][0]["cache_control"] = marker();
            }),
            ("thinking.cache_control: Extra inputs are not permitted", |b| {
                b["messages"][1]["content"][0]["cache_control"] = marker();
            }),
            ("cache_control.type: Input should be 'ephemeral'", |b| {
                b["system"][0]["cache_control"] = json!({"type": "persistent"});
            }),
            ("messages.2.content.2.cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m'", |b| {
                b["system"][0]["cache_control"] = marker();
                b["messages"][2]["content"][2]["cache_control"] = json!({"type": "ephemeral", "ttl": "1h"});
            }),
        ],
    );
    table().takes(
        &good(),
        &[|b| {
            b["tools"][0]["cache_control"] = json!({"type": "ephemeral", "ttl": "1h"});
            b["system"][0]["cache_control"] = marker();
            b["messages"][1]["content"][4]["cache_control"] = marker();
            b["messages"][2]["content"][1]["cache_control"] = marker();
        }],
    );
}

#[test]
fn vertex_has_the_model_in_the_path_and_the_version_in_the_body() {
    let mut good = good();
    remove(&mut good, "model");
    good["anthropic_version"] = json!("vertex-2023-10-16");
    Table::new(Format::Anthropic, "/v1/projects/p/locations/l/publishers/anthropic/models/claude:streamRawPredict").refuses(
        &good,
        &[
            ("model: Extra inputs are not permitted", |b| b["model"] = json!("claude")),
            ("anthropic_version: Field required", |b| remove(b, "anthropic_version")),
            ("anthropic_version: Input should be 'vertex-2023-10-16'", |b| b["anthropic_version"] = json!("2023-06-01")),
        ],
    );
}

#[test]
fn the_form_of_the_answer() {
    fn form(body: &mut Value, schema: Value) {
        body["output_config"] = json!({ "effort": "low", "format": { "type": "json_schema", "schema": schema } });
    }
    table().takes(
        &good(),
        &[|b| {
            let city = json!({ "type": "object", "properties": { "city": { "type": "string" } }, "additionalProperties": false });
            form(b, city);
        }],
    );
    table().refuses(
        &good(),
        &[
            ("output_config.format.type: Input should be 'json_schema'", |b| {
                b["output_config"] = json!({ "format": { "type": "json", "schema": {} } });
            }),
            ("output_config.format.schema: Field required", |b| {
                b["output_config"] = json!({ "format": { "type": "json_schema" } })
            }),
            ("'additionalProperties' must be explicitly set to false", |b| form(b, json!({ "type": "object" }))),
            ("For 'string' type, property 'minLength' is not supported", |b| {
                form(b, json!({ "type": "array", "items": { "type": "string", "minLength": 1 } }));
            }),
            ("Circular reference", |b| {
                form(b, json!({ "$ref": "#/$defs/A", "$defs": { "A": { "anyOf": [{ "$ref": "#/$defs/A" }] } } }));
            }),
        ],
    );
}

#[test]
fn documents() {
    table().takes(
        &good(),
        &[
            |b| {
                push(
                    &mut b["messages"][2]["content"],
                    document(&json!({"type": "text", "media_type": "text/plain", "data": "a"})),
                )
            },
            |b| push(&mut b["messages"][2]["content"], document(&json!({"type": "url", "url": "https://example.com/a.pdf"}))),
        ],
    );
    table().refuses(
        &good(),
        &[
            ("source.base64.media_type: Input should be 'application/pdf'", |b| {
                let source = json!({"type": "base64", "media_type": "text/plain", "data": "QQ=="});
                push(&mut b["messages"][2]["content"], document(&source));
            }),
            ("source.base64.data: Invalid base64 data", |b| {
                let source = json!({"type": "base64", "media_type": "application/pdf", "data": "?"});
                push(&mut b["messages"][2]["content"], document(&source));
            }),
            ("source.text.media_type: Input should be 'text/plain'", |b| {
                let source = json!({"type": "text", "media_type": "text/csv", "data": "a"});
                push(&mut b["messages"][2]["content"], document(&source));
            }),
        ],
    );
}

fn document(source: &Value) -> Value {
    json!({"type": "document", "source": source, "title": "a"})
}
