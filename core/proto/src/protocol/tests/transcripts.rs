//! Transcripts of all kinds, and requests for them.

use std::sync::Arc;

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Value, json};

use crate::message::Message;
use crate::protocol::tests::fixture::Fixture;
use crate::request::{ModelOptions, Request, ThinkingLevel, ToolDescription};

/// What is in a transcript, before it is known for which model.
#[derive(Debug, Clone)]
pub(super) enum Entry {
    User(Vec<Said>),
    Assistant {
        maker: Maker,
        blocks: Vec<Block>,
        stop: Option<&'static str>,
    },
    /// Of all calls of the last message of the model, perhaps in another order, perhaps some only.
    Results {
        content: Vec<Said>,
        is_error: bool,
        backwards: bool,
        most: usize,
    },
    /// Of any call so far, or of one that was never made.
    Result {
        of: Option<Index>,
        content: Vec<Said>,
        is_error: bool,
    },
    Custom,
}

#[derive(Debug, Clone)]
pub(super) enum Said {
    Text(&'static str),
    Image(&'static str, &'static str),
    /// One of `FILES`.
    File(&'static str),
    /// What cannot stand there.
    Misplaced,
}

#[derive(Debug, Clone)]
pub(super) enum Maker {
    /// The model that is asked.
    Target,
    /// This one, which may be the one that is asked.
    Another([&'static str; 3]),
}

#[derive(Debug, Clone)]
pub(super) enum Block {
    Text {
        text: &'static str,
        signature: Signature,
    },
    Thinking {
        text: &'static str,
        signature: Signature,
        redacted: bool,
    },
    Call {
        id: &'static str,
        name: &'static str,
        raw: bool,
        signature: Signature,
    },
    Image,
    /// Which of those that the maker's format has.
    Opaque(Index),
    /// Of a format that need not be the maker's.
    Strange,
}

/// Of the form that the maker's format has, unless there is none.
#[derive(Debug, Clone)]
pub(super) enum Signature {
    None,
    Empty,
    Valid(u8),
}

const TEXTS: &[&str] = &["", " ", "\n\t", "hello", "so ", "é 🙂\u{0}", "\u{a0}", "{\"a\": [1]}", ".", " indented"];

const IMAGES: &[(&str, &str)] = &[
    ("image/png", "iVBORw0KGgo="),
    ("image/jpeg", "QQ=="),
    ("image/webp", "QUJD"),
    ("image/gif", "R0lG"),
    ("image/bmp", "Qk0="),
];

/// Other files, and images at an address: those that a service reads, and those that it does not.
const FILES: &[&str] = &[
    r#"{"type":"image","url":"https://h/a.png"}"#,
    r#"{"type":"image","url":"https://h/a"}"#,
    r#"{"type":"image","url":"gs://b/a","mime_type":"image/bmp"}"#,
    r#"{"type":"image","url":"gs://b/a.png"}"#,
    r#"{"type":"document","data":"JVBERi0=","mime_type":"application/pdf","name":"a.pdf"}"#,
    r#"{"type":"document","data":"JVBERi0=","mime_type":"application/x-pdf"}"#,
    r#"{"type":"document","data":"UEs=","mime_type":"application/msword","name":""}"#,
    r#"{"type":"document","data":"aGVsbG8=","mime_type":"text/plain","name":"a.txt"}"#,
    r#"{"type":"document","data":"IA==","mime_type":"text/csv; charset=utf-8"}"#,
    r#"{"type":"document","data":"e30=","mime_type":"application/json"}"#,
    r#"{"type":"document","data":"/w==","mime_type":"text/plain"}"#,
    r#"{"type":"document","data":"=","mime_type":"text/plain"}"#,
    r#"{"type":"document","url":"https://h/a.pdf","name":"a.pdf"}"#,
    r#"{"type":"document","url":"https://h/a.txt"}"#,
    r#"{"type":"document","url":"https://h/a"}"#,
    r#"{"type":"audio","data":"QQ==","mime_type":"audio/x-wav"}"#,
    r#"{"type":"audio","data":"QQ==","mime_type":"audio/mp3"}"#,
    r#"{"type":"audio","data":"QQ==","mime_type":"audio/ogg"}"#,
    r#"{"type":"audio","data":"QQ==","mime_type":"odd"}"#,
    r#"{"type":"audio","url":"https://h/a.mp3"}"#,
];

/// `provider`, `protocol` and `model`.
const MAKERS: &[[&str; 3]] = &[
    ["anthropic", "anthropic", "claude-sonnet-4-5"],
    ["google-vertex", "anthropic", "claude-sonnet-4-5@20250929"],
    ["openai", "openai_responses", "gpt-5.1"],
    ["openai", "openai_responses", "gpt-5-mini"],
    ["openai", "openai_chat", "gpt-5.1"],
    ["mistral", "openai_chat", "mistral-large-latest"],
    ["openrouter", "openai_chat", "openai/gpt-5"],
    ["amazon-bedrock", "bedrock_converse", "us.anthropic.claude-sonnet-4-5-20250929-v1:0"],
    ["amazon-bedrock", "bedrock_converse", "us.amazon.nova-2-lite-v1:0"],
    ["google", "gemini", "gemini-3-pro-preview"],
    ["google", "gemini", "gemini-2.5-flash"],
    ["scripted", "scripted", "m"],
    ["", "", ""],
];

const IDS: &[&str] = &[
    "toolu_01A",
    "toolu_01B",
    "call_0",
    "call_1",
    "functions.t:0",
    "abcDEF123",
    "call_5|fc_0",
    "a b",
    "a_b",
    "ü",
    "",
    "null",
    // Of 450 characters, as Responses gives them.
    LONG_ID,
];

const LONG_ID: &str = "call_9|fc_67ccf0aa+/=67ccf0aa+/=67ccf0aa+/=67ccf0aa+/=67ccf0aa+/=67ccf0aa+/=67ccf0aa+/=67ccf0aa+/=67\
ccf0aa+/=67ccf0aa+/=67ccf0aa+/=67ccf0aa+/=67ccf0aa+/=67ccf0aa+/=67ccf0aa+/=67ccf0aa+/=67ccf0aa+/=67ccf0aa+/=67ccf0aa+/=6\
7ccf0aa+/=67ccf0aa+/=67ccf0aa+/=67ccf0aa+/=67ccf0aa+/=67ccf0aa+/=67ccf0aa+/=67ccf0aa+/=67ccf0aa+/=67ccf0aa+/=67ccf0aa+/=\
67ccf0aa+/=67ccf0aa+/=67ccf0aa+/=67ccf0aa+/=67ccf0aa+/=67ccf0aa+/=67ccf0aa+/=67ccf0aa+/=67ccf0aa+/=67ccf0aa+/=67ccf0aa+/\
=67ccf0aa+/=";

/// Models call tools by names that are not in the list of tools.
const NAMES: &[&str] = &["t", "t", "t", "u", "functions.t", "multi_tool_use.parallel", "0 of 2", "", "größe"];

fn said() -> impl Strategy<Value = Vec<Said>> {
    let one = prop_oneof![
        5 => select(TEXTS).prop_map(Said::Text),
        2 => select(IMAGES).prop_map(|(kind, data)| Said::Image(kind, data)),
        2 => select(FILES).prop_map(Said::File),
        1 => Just(Said::Misplaced),
    ];
    prop_oneof![6 => Just(vec![Said::Text("hello")]), 4 => vec(one, 0..4)]
}

fn signature() -> impl Strategy<Value = Signature> {
    prop_oneof![3 => (0..9_u8).prop_map(Signature::Valid), 2 => Just(Signature::None), 1 => Just(Signature::Empty)]
}

fn block() -> impl Strategy<Value = Block> {
    prop_oneof![
        6 => (select(TEXTS), signature()).prop_map(|(text, signature)| Block::Text { text, signature }),
        6 => (select(TEXTS), signature(), prop::bool::weighted(0.2))
            .prop_map(|(text, signature, redacted)| Block::Thinking { text, signature, redacted }),
        8 => (select(IDS), select(NAMES), prop::bool::weighted(0.1), signature())
            .prop_map(|(id, name, raw, signature)| Block::Call { id, name, raw, signature }),
        1 => Just(Block::Image),
        2 => any::<Index>().prop_map(Block::Opaque),
        1 => Just(Block::Strange),
    ]
}

fn maker() -> impl Strategy<Value = Maker> {
    prop_oneof![3 => Just(Maker::Target), 2 => select(MAKERS).prop_map(Maker::Another)]
}

fn stop() -> impl Strategy<Value = Option<&'static str>> {
    prop_oneof![
        8 => select(&[Some("tool_use"), Some("stop"), None][..]),
        2 => select(&[Some("length"), Some("refusal")][..]),
        2 => select(&[Some("error"), Some("aborted")][..]),
    ]
}

fn entry() -> impl Strategy<Value = Entry> {
    prop_oneof![
        4 => said().prop_map(Entry::User),
        8 => (maker(), vec(block(), 0..6), stop()).prop_map(|(maker, blocks, stop)| Entry::Assistant { maker, blocks, stop }),
        6 => (said(), prop::bool::weighted(0.3), prop::bool::weighted(0.3), prop_oneof![5 => Just(9_usize), 1 => 0..3_usize])
            .prop_map(|(content, is_error, backwards, most)| Entry::Results { content, is_error, backwards, most }),
        2 => (option::weighted(0.8, any::<Index>()), said(), any::<bool>())
            .prop_map(|(of, content, is_error)| Entry::Result { of, content, is_error }),
        1 => Just(Entry::Custom),
    ]
}

pub(super) fn transcript() -> impl Strategy<Value = Vec<Entry>> {
    vec(entry(), 0..12)
}

/// The transcript for this model.
pub(super) fn messages(entries: &[Entry], own: &Fixture) -> Vec<Arc<Message>> {
    let own = [own.spec().provider.as_str(), own.protocol(), own.spec().id.as_str()];
    let mut messages: Vec<Value> = Vec::new();
    let mut calls: Vec<Vec<(&str, &str)>> = Vec::new();
    let result = |(id, name): (&str, &str), content: &[Said], is_error: bool| {
        let content: Vec<Value> = content.iter().map(said_json).collect();
        json!({ "role": "tool_result", "tool_call_id": id, "tool_name": name, "content": content, "is_error": is_error })
    };
    for entry in entries {
        match entry {
            Entry::User(content) => {
                messages.push(json!({ "role": "user", "content": content.iter().map(said_json).collect::<Vec<_>>() }));
            }
            Entry::Assistant { maker, blocks, stop } => {
                let [provider, protocol, model] = match maker {
                    Maker::Target => own,
                    Maker::Another(names) => *names,
                };
                let content: Vec<Value> = blocks.iter().map(|block| block_json(block, protocol)).collect();
                messages.push(json!({
                    "role": "assistant", "provider": provider, "protocol": protocol, "model": model, "content": content,
                    "stop_reason": stop,
                }));
                let called = blocks.iter().filter_map(|block| match block {
                    Block::Call { id, name, .. } => Some((*id, *name)),
                    _ => None,
                });
                calls.push(called.collect());
            }
            Entry::Results { content, is_error, backwards, most } => {
                let mut of: Vec<_> = calls.last().cloned().unwrap_or_default();
                if *backwards {
                    of.reverse();
                }
                messages.extend(of.into_iter().take(*most).map(|call| result(call, content, *is_error)));
            }
            Entry::Result { of, content, is_error } => {
                let all: Vec<_> = calls.iter().flatten().copied().collect();
                let of = of.filter(|_| !all.is_empty()).map_or(("unknown", "t"), |of| *of.get(&all));
                messages.push(result(of, content, *is_error));
            }
            Entry::Custom => messages.push(json!({ "role": "note", "anything": [1] })),
        }
    }
    serde_json::from_value(messages.into()).unwrap()
}

fn said_json(said: &Said) -> Value {
    match said {
        Said::Text(text) => json!({ "type": "text", "text": text }),
        Said::Image(kind, data) => json!({ "type": "image", "mime_type": kind, "data": data }),
        Said::File(file) => file.parse().unwrap(),
        Said::Misplaced => json!({ "type": "thinking", "thinking": "hm" }),
    }
}

fn block_json(block: &Block, protocol: &str) -> Value {
    let mut json = match block {
        Block::Text { text, .. } => json!({ "type": "text", "text": text }),
        Block::Thinking { text, redacted: false, .. } => json!({ "type": "thinking", "thinking": text }),
        Block::Thinking { text, redacted: true, .. } => json!({ "type": "thinking", "thinking": text, "redacted": true }),
        Block::Call { id, name, raw: false, .. } => {
            json!({ "type": "tool_call", "id": id, "name": name, "arguments": { "x": [1, { "y": "é" }], "a": null } })
        }
        Block::Call { id, name, raw: true, .. } => {
            json!({ "type": "tool_call", "id": id, "name": name, "arguments": {}, "raw_arguments": "{\"x\": " })
        }
        Block::Image => json!({ "type": "image", "mime_type": "image/png", "data": "QQ==" }),
        Block::Opaque(which) => json!({ "type": "opaque", "protocol": protocol, "data": which.get(&kept(protocol)) }),
        Block::Strange => json!({ "type": "opaque", "protocol": "telegraph", "data": { "type": "stop" } }),
    };
    let signed = match block {
        Block::Text { signature, .. } => signed(signature, || of_text(protocol, signature)),
        Block::Thinking { signature, .. } => signed(signature, || of_thinking(protocol, signature)),
        Block::Call { signature, .. } => signed(signature, || of_call(protocol, signature)),
        Block::Image | Block::Opaque(_) | Block::Strange => None,
    };
    if let Some(signature) = signed {
        json["signature"] = signature.into();
    }
    json
}

fn signed(signature: &Signature, own: impl Fn() -> Option<String>) -> Option<String> {
    match signature {
        Signature::None => None,
        Signature::Empty => Some(String::new()),
        Signature::Valid(_) => own(),
    }
}

/// Few, so that one comes twice, as in a transcript of which a part was repeated.
fn number(signature: &Signature) -> u8 {
    if let Signature::Valid(number) = signature { *number } else { 0 }
}

fn of_text(protocol: &str, signature: &Signature) -> Option<String> {
    let n = number(signature);
    match protocol {
        "openai_responses" if n.is_multiple_of(3) => Some(format!("{{\"id\":\"msg_{n}\",\"phase\":\"final_answer\"}}")),
        "openai_responses" => Some(format!("{{\"id\":\"msg_{n}\"}}")),
        "gemini" => Some("c2lnbmVk".to_owned()),
        _ => None,
    }
}

fn of_thinking(protocol: &str, signature: &Signature) -> Option<String> {
    let n = number(signature);
    match protocol {
        "anthropic" => Some(format!("EqoB{n}+/==")),
        "bedrock_converse" => Some("EqoB".to_owned()),
        "openai_responses" => {
            let mut item = json!({ "id": format!("rs_{n}"), "type": "reasoning", "summary": [], "encrypted_content": "gAAA" });
            match n % 4 {
                0 => item["encrypted_content"] = Value::Null,
                1 => item["summary"] = json!([{ "type": "summary_text", "text": "hm" }]),
                _ => {}
            }
            Some(item.to_string())
        }
        "gemini" => Some("aGlkZGVu_w==".to_owned()),
        "openai_chat" => Some(match n % 4 {
            0 => "reasoning_content".to_owned(),
            1 => "reasoning".to_owned(),
            2 => "reasoning_text".to_owned(),
            _ => json!([{ "type": "reasoning.text", "text": "hm", "signature": "s", "index": 0 }]).to_string(),
        }),
        _ => Some("?".to_owned()),
    }
}

fn of_call(protocol: &str, signature: &Signature) -> Option<String> {
    let n = number(signature);
    match protocol {
        "openai_responses" => Some(format!("fc_{n}")),
        "gemini" => Some("Y2FsbA==".to_owned()),
        "openai_chat" => Some(json!([{ "type": "reasoning.encrypted", "data": "d", "id": "call_0" }]).to_string()),
        _ => None,
    }
}

/// What a server of the format makes that is only kept and sent back.
fn kept(protocol: &str) -> Vec<Value> {
    match protocol {
        "anthropic" => vec![
            json!({ "type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": { "query": "q" } }),
            json!({ "type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [] }),
        ],
        "openai_responses" => vec![
            json!({
                "type": "web_search_call", "id": "ws_1", "status": "completed", "action": { "type": "search", "query": "q" },
            }),
            json!({
                "type": "code_interpreter_call", "id": "ci_1", "status": "completed", "code": "1", "container_id": "c",
                "outputs": null,
            }),
            json!({ "type": "custom_tool_call", "id": "ctc_1", "call_id": "call_7", "name": "patch", "input": "x" }),
            json!({ "type": "compaction", "id": "cmp_1", "encrypted_content": "gAAA" }),
        ],
        "bedrock_converse" => vec![
            json!({ "toolUse": { "toolUseId": "s", "name": "nova_grounding", "input": {}, "type": "server_tool_use" } }),
            json!({ "toolResult": { "toolUseId": "s", "content": [], "type": "nova_grounding_result" } }),
        ],
        "gemini" => vec![
            json!({ "executableCode": { "language": "PYTHON", "code": "1" }, "thoughtSignature": "Y29kZQ==" }),
            json!({ "codeExecutionResult": { "outcome": "OUTCOME_OK", "output": "1" } }),
            json!({ "inlineData": { "mimeType": "image/png", "data": "QQ==" } }),
        ],
        _ => vec![json!({ "type": "output_audio", "data": "QQ==" })],
    }
}

/// A request but for its messages.
#[derive(Debug, Clone, Default)]
pub(super) struct Asked {
    system_prompt: String,
    tools: Vec<ToolDescription>,
    level: ThinkingLevel,
    options: ModelOptions,
}

impl Asked {
    /// One that asks for thinking and offers tools.
    pub(super) fn thinking() -> Asked {
        let tool = |name: &str| ToolDescription {
            name: name.into(),
            description: "d".into(),
            parameters: json!({ "type": "object" }).into(),
        };
        Asked {
            system_prompt: "Be brief.".into(),
            tools: vec![tool("look"), tool("t")],
            level: ThinkingLevel::Medium,
            options: ModelOptions { session_id: Some("s".into()), ..ModelOptions::default() },
        }
    }

    pub(super) fn request(&self, messages: Vec<Arc<Message>>) -> Request {
        Request {
            system_prompt: self.system_prompt.clone(),
            messages,
            tools: Arc::new(self.tools.clone()),
            thinking_level: self.level,
            options: self.options.clone(),
            ..Request::default()
        }
    }
}

pub(super) fn asked() -> impl Strategy<Value = Asked> {
    let schemas = [
        json!({
            "type": "object", "properties": { "x": { "type": "string" } }, "required": ["x"], "additionalProperties": false,
        }),
        json!({ "$defs": { "y": { "type": "number" } }, "properties": { "x": { "$ref": "#/$defs/y" } } }),
        json!({}),
        Value::Null,
    ];
    let levels = [
        ThinkingLevel::Off,
        ThinkingLevel::Minimal,
        ThinkingLevel::Low,
        ThinkingLevel::Medium,
        ThinkingLevel::High,
        ThinkingLevel::Xhigh,
    ];
    let choices = [json!("auto"), json!("none"), json!("required"), json!({ "tool": "t" })];
    let options = (
        option::of(select(&[0.0, 0.5, 1.0][..])),
        option::of(select(&[1_u64, 100, 1500, 100_000][..])),
        option::of(select(choices.to_vec())),
        any::<[bool; 5]>(),
    );
    (
        prop::bool::ANY,
        vec(select(schemas.to_vec()), 0..3),
        prop_oneof![Just(ThinkingLevel::Off), select(levels.to_vec())],
        options,
    )
        .prop_map(
            |(system, schemas, level, (temperature, max_tokens, tool_choice, [stops, session, long, little, sampling]))| {
                let tools = ["t", "u"].into_iter().zip(schemas);
                let tools = tools.map(|(name, parameters)| ToolDescription {
                    name: name.into(),
                    description: String::new(),
                    parameters: parameters.into(),
                });
                let mut options = json!({ "temperature": temperature, "max_tokens": max_tokens, "tool_choice": tool_choice });
                if stops {
                    options["stop_sequences"] = json!(["END", "\n\nUser:"]);
                }
                if sampling {
                    for (name, value) in [("top_p", 0.5), ("frequency_penalty", 1.5), ("presence_penalty", -1.5)] {
                        options[name] = value.into();
                    }
                    (options["top_k"], options["seed"]) = (5.into(), 7.into());
                }
                if session {
                    options["session_id"] = "s".repeat(100).into();
                }
                if long {
                    options["cache_retention"] = "long".into();
                }
                if little {
                    options["thinking_budgets"] = json!({ "low": 1, "high": 200_000 });
                }
                let system_prompt = if system { "Be brief.".to_owned() } else { String::new() };
                Asked { system_prompt, tools: tools.collect(), level, options: serde_json::from_value(options).unwrap() }
            },
        )
}
