//! Which options are reported as ignored, and that it is what the encoders do.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::message::Message;
use crate::protocol::tests::fixture::Fixture;
use crate::request::{Request, ThinkingLevel, ToolDescription};

fn tool(name: &str) -> ToolDescription {
    ToolDescription { name: name.into(), description: "A tool.".into(), parameters: json!({ "type": "object" }).into() }
}

/// A request with a prompt and two tools, unless `options` has its `tools`; of `options`, `thinking_level` is its own.
fn request(mut options: Value) -> Request {
    let fields = options.as_object_mut().unwrap();
    let level = fields.remove("thinking_level").unwrap_or(json!("off"));
    let tools = match fields.remove("tools") {
        Some(tools) => tools.as_array().unwrap().iter().map(|name| tool(name.as_str().unwrap())).collect(),
        None => vec![tool("t"), tool("u")],
    };
    Request {
        system_prompt: "Be brief.".into(),
        messages: vec![Arc::new(Message::user("go", 0))],
        tools: Arc::new(tools),
        thinking_level: serde_json::from_value(level).unwrap(),
        options: serde_json::from_value(options).unwrap(),
        ..Request::default()
    }
}

fn reported(spec: Value, options: Value) -> Vec<(&'static str, String)> {
    let ignored = Fixture::new(spec).ignored(&request(options));
    ignored.into_iter().map(|ignored| (ignored.option, ignored.why)).collect()
}

/// A model in a format, at an address of one's own.
fn own(protocol: &str, quirks: Value) -> Value {
    json!({ "provider": "p", "id": "m", "protocol": protocol, "base_url": "http://h", "quirks": quirks })
}

#[test]
fn an_option_that_a_model_does_not_take_is_reported_with_the_reason_and_what_to_do() {
    let all = json!({
        "temperature": 0, "stop_sequences": ["END"], "tool_choice": { "tool": "t" }, "cache_retention": "long",
        "thinking_level": "high", "top_p": 0.5, "top_k": 5, "seed": 1, "frequency_penalty": 1, "presence_penalty": 1,
    });
    let no_field = |format: &str| {
        format!("the wire format {format} has no field for it; leave it out, or choose another format with the model's protocol")
    };
    let (of_anthropic, of_responses) = (no_field("anthropic"), no_field("openai_responses"));
    let unknown = "as far as is known its server takes none; leave it out, or set the model's quirk top_k";
    let none = "it takes none; leave it out";
    let kept = "it cannot be asked to keep for longer what it has read; leave it \"short\"";
    let expected = [
        (
            json!("anthropic/claude-haiku-4-5"),
            vec![
                ("temperature", "it takes none while it thinks; leave it out, or set thinking_level to \"off\""),
                (
                    "top_p",
                    "it takes only 0.95 to 1 while it thinks; give as much, leave it out, or set thinking_level to \"off\"",
                ),
                ("top_k", "it takes none while it thinks; leave it out, or set thinking_level to \"off\""),
                ("seed", &of_anthropic),
                ("frequency_penalty", &of_anthropic),
                ("presence_penalty", &of_anthropic),
                (
                    "tool_choice",
                    "no tool can be forced while it thinks, so it decides itself; leave it out, or set thinking_level to \"off\"",
                ),
            ],
        ),
        (
            json!("anthropic/claude-opus-5-5"),
            vec![
                ("temperature", none),
                ("top_p", none),
                ("top_k", none),
                ("seed", &of_anthropic),
                ("frequency_penalty", &of_anthropic),
                ("presence_penalty", &of_anthropic),
                ("tool_choice", "no tool can be forced, so it decides itself; leave it out"),
            ],
        ),
        (
            json!({ "provider": "anthropic", "id": "claude-haiku-4-5", "max_output_tokens": 1500 }),
            vec![
                ("top_p", "it takes none beside a temperature; leave one of them out"),
                ("seed", &of_anthropic),
                ("frequency_penalty", &of_anthropic),
                ("presence_penalty", &of_anthropic),
                (
                    "thinking_level",
                    "the tokens it may write leave no room for thinking; raise the model's max_output_tokens, or leave it \
                 \"off\"",
                ),
            ],
        ),
        (
            json!("openai/gpt-5"),
            vec![
                ("temperature", none),
                ("top_p", none),
                ("top_k", &of_responses),
                ("seed", &of_responses),
                ("frequency_penalty", &of_responses),
                ("presence_penalty", &of_responses),
                ("stop_sequences", &of_responses),
            ],
        ),
        (
            json!({ "provider": "openai", "id": "gpt-4.1", "protocol": "openai_chat", "thinking": "effort" }),
            vec![("top_k", unknown)],
        ),
        (
            json!("google/gemma-4"),
            vec![
                ("frequency_penalty", none),
                ("presence_penalty", none),
                ("cache_retention", kept),
                (
                    "thinking_level",
                    "as far as is known it does not think, or not on demand; leave it \"off\", or say in the model's thinking \
                     how to ask",
                ),
            ],
        ),
        (json!("groq/openai/gpt-oss-20b"), vec![("top_k", unknown), ("cache_retention", kept)]),
        (json!({ "provider": "relay", "id": "anthropic/claude-opus-5-5", "base_url": "http://h" }), vec![]),
    ];
    for (spec, expected) in expected {
        let expected: Vec<_> = expected.into_iter().map(|(option, why)| (option, why.to_owned())).collect();
        assert_eq!(reported(spec.clone(), all.clone()), expected, "{spec}");
    }
    let no_tools = reported(json!("groq/openai/gpt-oss-20b"), json!({ "tool_choice": "required", "tools": [] }));
    assert_eq!(no_tools, [("tool_choice", "there are no tools; leave it out".to_owned())]);
}

#[test]
fn a_changed_token_limit_is_reported_with_the_number_that_is_sent() {
    let limit = |spec: &Value, level: &str, limit: u64| {
        let ignored = Fixture::new(spec.clone()).ignored(&request(json!({ "thinking_level": level, "max_tokens": limit })));
        let reported: Vec<_> =
            ignored.into_iter().filter(|ignored| ignored.option == "max_tokens").map(|ignored| ignored.why).collect();
        assert!(reported.len() <= 1, "{spec}: {reported:?}");
        reported.into_iter().next()
    };
    let raised = "it may write 17408 tokens, so that there is room for an answer beside the thinking, which counts as written; \
                  give as many, or lower thinking_level or its thinking_budgets";
    for spec in ["anthropic/claude-haiku-4-5", "google/gemini-2.5-flash", "google-vertex/gemini-2.5-pro"].map(Value::from) {
        assert_eq!(limit(&spec, "high", 100).as_deref(), Some(raised), "{spec}");
        assert_eq!(limit(&spec, "high", 16_384).as_deref(), Some(raised), "{spec}: as many as the budget");
        assert_eq!(limit(&spec, "high", 17_408), None, "{spec}");
    }
    assert_eq!(limit(&json!("openai/gpt-5"), "off", 5).unwrap(), "it may write 16 tokens, the fewest it accepts; give as many");
    // No other format changes it, and each has a field for it.
    let protocols = ["anthropic", "openai_chat", "openai_responses", "gemini", "bedrock_converse", "relay"];
    let quirks = [json!({}), json!({ "thinking": "none", "max_tokens_field": "max_completion_tokens" })];
    for (protocol, quirks) in protocols.iter().flat_map(|protocol| quirks.iter().map(move |quirks| (protocol, quirks))) {
        assert_eq!(limit(&own(protocol, quirks.clone()), "off", 100), None, "{protocol} {quirks}");
        assert_eq!(limit(&own(protocol, quirks.clone()), "low", 3072), None, "{protocol} {quirks}");
    }
    for spec in ["anthropic/claude-opus-5", "google/gemini-3.5-flash", "openai/gpt-5", "groq/openai/gpt-oss-20b"].map(Value::from)
    {
        assert_eq!(limit(&spec, "high", 100), None, "{spec} does not get a number of tokens to think");
    }
}

#[test]
fn defaults_and_soft_requests_are_not_reported() {
    for spec in [json!("google/gemma-4"), json!("openai/gpt-4o"), json!("anthropic/claude-opus-5-5")] {
        let soft = json!({
            "thinking_level": "off", "cache_retention": "short", "session_id": "s", "max_tokens": 16, "tool_choice": "auto",
            "thinking_budgets": { "low": 5000 }, "tools": [],
        });
        assert_eq!(reported(spec.clone(), soft), [], "{spec}");
        assert_eq!(reported(spec.clone(), json!({ "cache_retention": "none", "tool_choice": "none" })), [], "{spec}");
    }
    // A level that the model has no word for is asked for with the nearest one.
    assert_eq!(reported(json!("groq/qwen/qwen3.6-27b"), json!({ "thinking_level": "xhigh" })), []);
}

/// The request as it would be without asking for this.
fn without(option: &str, mut options: Value) -> Request {
    let only = options.pointer("/tool_choice/tool").cloned();
    let fields = options.as_object_mut().unwrap();
    if option == "tool_choice" {
        fields.insert("tool_choice".into(), json!("auto"));
        fields.extend(only.map(|name| ("tools".to_owned(), json!([name]))));
    } else {
        fields.remove(option);
    }
    request(options)
}

#[test]
fn exactly_those_options_are_reported_that_change_nothing_in_the_request() {
    let named = [
        "anthropic/claude-3-5-haiku",
        "anthropic/claude-haiku-4-5",
        "anthropic/claude-opus-4-7",
        "anthropic/claude-opus-5",
        "anthropic/claude-fable-5-1",
        "openai/gpt-4o",
        "openai/gpt-4.1",
        "openai/gpt-5",
        "openai/gpt-5.6-sol",
        "google/gemini-2.0-flash",
        "google/gemini-2.5-pro",
        "google/gemini-3.5-flash",
        "openrouter/anthropic/claude-opus-5",
        "openrouter/z-ai/glm-5",
        "deepseek/deepseek-v4-pro",
        "mistral/mistral-small-latest",
        "mistral/magistral-small",
        "xai/grok-4-fast",
        "together/moonshotai/Kimi-K3",
        "moonshot/kimi-k2.6",
        "groq/qwen/qwen3.6-27b",
        "ollama/qwen3",
        "vllm/m",
        "minimax/MiniMax-M3",
        "amazon-bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0",
        "amazon-bedrock/anthropic.claude-opus-4-7",
        "amazon-bedrock/us.amazon.nova-2-lite-v1:0",
        "amazon-bedrock/mistral.pixtral-large-2502-v1:0",
    ]
    .map(Value::from);
    let protocols = ["anthropic", "openai_chat", "openai_responses", "gemini", "bedrock_converse", "relay"];
    let quirks = [
        json!({}),
        json!({ "temperature": false, "thinking": "none", "forced_tools": false }),
        json!({ "cache_markers": true, "long_cache": true, "thinking_off": true }),
        json!({ "cache_key": true, "long_cache": true, "efforts": [] }),
        json!({ "temperature_and_top_p": false, "top_k": true, "penalties": false, "seed_field": null }),
        json!({ "top_k": false, "seed_field": "random_seed" }),
    ];
    let own = protocols.iter().flat_map(|protocol| quirks.iter().map(|quirks| own(protocol, quirks.clone())));
    let (mut ignored, mut sent) = (0, 0);
    for spec in named.into_iter().chain(own) {
        let fixture = Fixture::new(spec.clone());
        for level in ["off", "low", "xhigh"] {
            for choice in [json!("required"), json!({ "tool": "u" })] {
                let options = json!({
                    "temperature": 0.5, "stop_sequences": ["END"], "tool_choice": choice, "cache_retention": "long",
                    "thinking_level": level, "top_p": 0.5, "top_k": 5, "seed": 1, "frequency_penalty": 1, "presence_penalty": 1,
                });
                let reported = fixture.ignored(&request(options.clone()));
                for option in options.as_object().unwrap().keys() {
                    let same = fixture.encode(&request(options.clone())) == fixture.encode(&without(option, options.clone()));
                    // What was not requested is not reported.
                    let expected = same && (option != "thinking_level" || level != "off");
                    assert_eq!(
                        reported.iter().any(|reported| reported.option == option),
                        expected,
                        "{spec}: {option} with {options}"
                    );
                    *(if expected { &mut ignored } else { &mut sent }) += 1;
                }
            }
        }
    }
    assert!(ignored > 100 && sent > 400, "{ignored} ignored, {sent} sent");
}

/// Of the styles that a format is said to take, each makes a difference.
#[test]
fn every_way_of_thinking_that_a_format_takes_is_one_in_which_it_asks() {
    let styles = [
        "budget",
        "adaptive",
        "level",
        "effort",
        "nested_effort",
        "nested_switch",
        "type",
        "enable_thinking",
        "template",
        "prompt_mode",
    ];
    let mut taken = Vec::new();
    for protocol in ["anthropic", "openai_chat", "openai_responses", "gemini", "bedrock_converse", "relay"] {
        for style in styles {
            let spec = own(protocol, json!({ "thinking": style }));
            if let Some(fixture) = Fixture::try_new(spec) {
                assert_eq!(fixture.ignored(&request(json!({ "thinking_level": "high" }))), [], "{style} in {protocol}");
                taken.push((protocol, style));
            }
        }
    }
    let of = |protocol: &str| taken.iter().filter(|(name, _)| *name == protocol).count();
    assert_eq!(
        ["anthropic", "openai_chat", "openai_responses", "gemini", "bedrock_converse", "relay"].map(of),
        [2, 7, 2, 2, 5, 0],
        "{taken:?}"
    );
}

#[test]
fn a_turn_that_goes_on_without_thinking_is_not_a_model_that_does_not_think() {
    let mut request = request(json!({ "thinking_level": "high", "temperature": 0.5, "max_tokens": 100 }));
    let begun = json!([
        { "role": "user", "content": "go" },
        { "role": "assistant", "content": [{ "type": "tool_call", "id": "c", "name": "t", "arguments": {} }] },
        { "role": "tool_result", "tool_call_id": "c", "tool_name": "t", "content": "1" },
    ]);
    request.messages = serde_json::from_value(begun).unwrap();
    let fixture = Fixture::new(json!("anthropic/claude-haiku-4-5"));
    let body = fixture.encode(&request);
    assert_eq!((body.get("thinking"), &body["temperature"], &body["max_tokens"]), (None, &json!(0.5), &json!(100)));
    assert_eq!(fixture.ignored(&request), []);
    assert_eq!(request.thinking_level, ThinkingLevel::High);
}
