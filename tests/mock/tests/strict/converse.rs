//! Bedrock's Converse, and the families of models behind it.

use agent_mock::Format;
use serde_json::{Value, json};

use crate::table::{PNG, Table, pop, push, remove};

fn claude() -> Table {
    Table::new(Format::Converse, "/model/us.anthropic.claude-sonnet-4-5-20250929-v1%3A0/converse-stream")
}

fn nova() -> Table {
    Table::new(Format::Converse, "/model/amazon.nova-pro-v1%3A0/converse-stream")
}

fn mistral() -> Table {
    Table::new(Format::Converse, "/model/mistral.mistral-large-3-675b-instruct/converse-stream")
}

fn good() -> Value {
    json!({
        "system": [{"text": "Be brief."}],
        "inferenceConfig": {"maxTokens": 100, "temperature": 0},
        "toolConfig": {
            "tools": [{"toolSpec": {"name": "weather", "description": "w", "inputSchema": {"json": {"type": "object"}}}}],
            "toolChoice": {"auto": {}},
        },
        "messages": [
            {"role": "user", "content": [
                {"text": "Rain?"},
                {"image": {"format": "png", "source": {"bytes": PNG}}},
                {"document": {"format": "pdf", "name": "a [1]", "source": {"bytes": "JVBERi0="}}},
            ]},
            {"role": "assistant", "content": [
                {"reasoningContent": {"reasoningText": {"text": "Hm.", "signature": "c2ln"}}},
                {"toolUse": {"toolUseId": "abcDEF123", "name": "weather", "input": {}}},
                {"toolUse": {"toolUseId": "abcDEF124", "name": "weather", "input": {"city": "Oslo"}}},
            ]},
            {"role": "user", "content": [
                {"toolResult": {"toolUseId": "abcDEF123", "content": [{"text": "yes"}]}},
                {"toolResult": {"toolUseId": "abcDEF124", "content": [{"text": "no"}], "status": "error"}},
            ]},
        ],
    })
}

#[test]
fn fields_of_the_request() {
    claude().refuses(
        &good(),
        &[
            ("extraneous key [max_tokens] is not permitted", |b| b["max_tokens"] = json!(1)),
            ("'inferenceConfig.temperature' failed to satisfy constraint", |b| b["inferenceConfig"]["temperature"] = json!(2)),
            ("'inferenceConfig.maxTokens'", |b| b["inferenceConfig"]["maxTokens"] = json!(0)),
            ("extraneous key [topK] is not permitted", |b| b["inferenceConfig"]["topK"] = json!(1)),
            ("must start with a user message", |b| b["messages"] = json!([])),
            ("'messages' failed to satisfy constraint: Member must not be null", |b| remove(b, "messages")),
            ("'system' failed to satisfy constraint", |b| b["system"] = json!([])),
            ("'system.0.text'", |b| b["system"][0]["text"] = json!("")),
        ],
    );
}

#[test]
fn tools() {
    claude().refuses(
        &good(),
        &[
            ("'toolConfig.tools' failed to satisfy constraint", |b| b["toolConfig"]["tools"] = json!([])),
            ("regular expression pattern", |b| b["toolConfig"]["tools"][0]["toolSpec"]["name"] = json!("a.b")),
            ("toolSpec.description'", |b| b["toolConfig"]["tools"][0]["toolSpec"]["description"] = json!("")),
            ("inputSchema.json.type'", |b| b["toolConfig"]["tools"][0]["toolSpec"]["inputSchema"]["json"] = json!({})),
            ("exactly one of auto, any and tool", |b| b["toolConfig"]["toolChoice"] = json!({})),
            ("is not defined at toolConfig.tools", |b| b["toolConfig"]["toolChoice"] = json!({"tool": {"name": "x"}})),
            ("The toolConfig field must be defined", |b| remove(b, "toolConfig")),
            ("Tool names must be unique", |b| {
                let tool = b["toolConfig"]["tools"][0].clone();
                push(&mut b["toolConfig"]["tools"], tool);
            }),
        ],
    );
}

#[test]
fn messages_and_blocks() {
    claude().refuses(
        &good(),
        &[
            ("alternate between user and assistant", |b| {
                push(&mut b["messages"], json!({"role": "user", "content": [{"text": "And?"}]}));
            }),
            ("start with a user message", |b| drop(b["messages"].as_array_mut().unwrap().remove(0))),
            ("messages.0.content.0 is blank", |b| b["messages"][0]["content"][0]["text"] = json!(" \n")),
            ("exactly one member", |b| b["messages"][0]["content"][0]["image"] = json!({})),
            ("image.format'", |b| b["messages"][0]["content"][1]["image"]["format"] = json!("bmp")),
            ("the bytes are not base64", |b| b["messages"][0]["content"][1]["image"]["source"]["bytes"] = json!("?")),
            ("The file name can only contain", |b| b["messages"][0]["content"][2]["document"]["name"] = json!("a.pdf")),
            ("more than one consecutive whitespace", |b| b["messages"][0]["content"][2]["document"]["name"] = json!("a  b")),
            ("a text block beside it", |b| drop(b["messages"][0]["content"].as_array_mut().unwrap().remove(0))),
            ("duplicate document names", |b| {
                let document = b["messages"][0]["content"][2].clone();
                push(&mut b["messages"][0]["content"], document);
            }),
            ("Invalid `signature`", |b| {
                b["messages"][1]["content"][0]["reasoningContent"]["reasoningText"]["signature"] = json!("");
            }),
            ("toolUse.input' failed to satisfy constraint: expected type: object", |b| {
                b["messages"][1]["content"][1]["toolUse"]["input"] = json!("{}");
            }),
            ("regular expression pattern", |b| b["messages"][1]["content"][1]["toolUse"]["toolUseId"] = json!("a b")),
            ("User messages cannot contain toolUse blocks", |b| {
                let call = b["messages"][1]["content"][1].clone();
                push(&mut b["messages"][0]["content"], call);
            }),
            ("toolResult.content' failed", |b| b["messages"][2]["content"][0]["toolResult"]["content"] = json!([])),
            ("toolResult.status' failed", |b| b["messages"][2]["content"][0]["toolResult"]["status"] = json!("bad")),
        ],
    );
}

#[test]
fn calls_and_results() {
    let expected = "Expected toolResult blocks at messages";
    claude().refuses(
        &good(),
        &[
            (expected, |b| pop(&mut b["messages"])),
            (expected, |b| pop(&mut b["messages"][2]["content"])),
            ("exceeds the number of toolUse blocks", |b| {
                push(&mut b["messages"][2]["content"], json!({"toolResult": {"toolUseId": "x", "content": [{"text": "?"}]}}));
            }),
            ("duplicate Ids", |b| {
                b["messages"][1]["content"][2]["toolUse"]["toolUseId"] = json!("abcDEF123");
                pop(&mut b["messages"][2]["content"]);
            }),
        ],
    );
}

#[test]
fn families_refuse_what_others_take() {
    let beside: fn(&mut Value) = |b| push(&mut b["messages"][2]["content"], json!({"text": "And?"}));
    let point = json!({"cachePoint": {"type": "default"}});
    claude().takes(&good(), &[beside, |b| push(&mut b["toolConfig"]["tools"], json!({"cachePoint": {"type": "default"}}))]);
    nova().takes(&good(), &[beside, |b| push(&mut b["system"], json!({"cachePoint": {"type": "default"}}))]);
    let mut bad = good();
    push(&mut bad["toolConfig"]["tools"], point);
    assert!(nova().check(&bad).unwrap_err().message.contains("did not allow prompt caching"));
    mistral().refuses(
        &good(),
        &[
            ("does not support mixing toolResult blocks", beside),
            ("did not allow prompt caching", |b| push(&mut b["system"], json!({"cachePoint": {"type": "default"}}))),
            ("with a length of 9", |b| b["messages"][1]["content"][1]["toolUse"]["toolUseId"] = json!("call_1")),
            ("extraneous key [thinking]", |b| {
                b["additionalModelRequestFields"] = json!({"thinking": {"type": "enabled", "budget_tokens": 1024}});
            }),
        ],
    );
    claude().refuses(
        &good(),
        &[("A maximum of 4 cache points", |b| {
            for _ in 0..5 {
                push(&mut b["messages"][0]["content"], json!({"cachePoint": {"type": "default"}}));
            }
        })],
    );
}

#[test]
fn thinking_of_claude() {
    let mut thinks = good();
    thinks["inferenceConfig"] = json!({"maxTokens": 3000});
    thinks["additionalModelRequestFields"] = json!({"thinking": {"type": "enabled", "budget_tokens": 1024}});
    claude().refuses(
        &thinks,
        &[
            ("budget_tokens' failed", |b| {
                b["additionalModelRequestFields"]["thinking"]["budget_tokens"] = json!(100);
            }),
            ("must be greater than `thinking.budget_tokens`", |b| b["inferenceConfig"]["maxTokens"] = json!(1024)),
            ("`temperature` may only be set to 1", |b| b["inferenceConfig"]["temperature"] = json!(0)),
            ("`top_k` must be unset", |b| b["additionalModelRequestFields"]["top_k"] = json!(5)),
            ("Thinking may not be enabled when tool_choice forces", |b| b["toolConfig"]["toolChoice"] = json!({"any": {}})),
            ("Expected `thinking` or `redacted_thinking`", |b| {
                drop(b["messages"][1]["content"].as_array_mut().unwrap().remove(0));
            }),
        ],
    );
}
