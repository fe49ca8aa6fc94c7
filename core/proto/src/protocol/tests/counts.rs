//! Counts of tokens that are none: in all formats they saturate, and no answer is lost for them.

use serde_json::{Value, json};

use super::fixture::Fixture;
use crate::delta::Delta;
use crate::usage::Usage;

/// What a format reads of these counts of the prompt, its cached part and the output.
fn used(protocol: &str, read: &Value, cached: &Value, written: &Value) -> Usage {
    let frames = match protocol {
        "anthropic" => vec![json!({
            "type": "message_delta", "delta": {},
            "usage": { "input_tokens": read, "cache_read_input_tokens": cached, "output_tokens": written },
        })],
        "openai_chat" => vec![json!({ "choices": [], "usage": {
            "prompt_tokens": read, "completion_tokens": written, "prompt_tokens_details": { "cached_tokens": cached },
        } })],
        "openai_responses" => vec![json!({ "type": "response.completed", "response": { "status": "completed", "usage": {
            "input_tokens": read, "output_tokens": written, "input_tokens_details": { "cached_tokens": cached },
        } } })],
        _ => vec![json!({
            "candidates": [{ "content": { "parts": [{ "text": "Hi" }] } }],
            "usageMetadata": {
                "promptTokenCount": read, "cachedContentTokenCount": cached, "candidatesTokenCount": written,
                "thoughtsTokenCount": written,
            },
        })],
    };
    let (deltas, _) = Fixture::of_protocol(protocol).decode(&frames);
    let used = deltas.into_iter().find_map(|delta| if let Delta::Usage(usage) = delta { Some(*usage) } else { None });
    used.unwrap_or_else(|| panic!("{protocol}: no usage")).totalled()
}

#[test]
fn found_a9_counts_of_all_formats_saturate() {
    for protocol in ["anthropic", "openai_chat", "openai_responses", "gemini"] {
        let most = used(protocol, &json!(u64::MAX), &json!(1), &json!(u64::MAX));
        assert_eq!((most.output, most.total, most.cache_read), (u64::MAX, u64::MAX, 1), "{protocol}");
        let odd = used(protocol, &json!("12"), &json!(-3), &json!(4.0));
        let written = if protocol == "gemini" { 8 } else { 4 };
        assert_eq!((odd.input, odd.cache_read, odd.output), (12, 0, written), "{protocol}");
        let beyond = used(protocol, &json!(1e30), &json!(null), &json!("many"));
        assert_eq!((beyond.input, beyond.output), (u64::MAX, 0), "{protocol}");
    }
}
