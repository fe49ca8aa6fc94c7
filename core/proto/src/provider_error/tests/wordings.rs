//! Each wording of the table in each wire format's error body and in each form an error has inside a stream, and what looks like
//! one of them and is none.

use serde_json::{Value, json};

use super::super::wordings::{Seen, limited, missing, overflow, overloaded, quota};
use super::super::{from_http, from_stream};
use crate::answer_reader::AnswerReader;
use crate::error::{Error, ErrorKind};
use crate::protocol::tests::fixture::Fixture;
use crate::sse::Splitter;

/// The kinds with their rows.
fn tables() -> [(ErrorKind, &'static [Seen], &'static [Seen]); 5] {
    [
        (ErrorKind::ContextOverflow, overflow::SEEN, overflow::SEEN_WORDS),
        (ErrorKind::Quota, quota::SEEN, quota::SEEN_WORDS),
        (ErrorKind::NotFound, missing::SEEN, missing::SEEN_WORDS),
        (ErrorKind::Overloaded, overloaded::SEEN, overloaded::SEEN_WORDS),
        (ErrorKind::RateLimited, limited::SEEN, limited::SEEN_WORDS),
    ]
}

/// Bodies of errors as servers of the formats and gateways send them. The code stands where the form has a place for one.
fn bodies(code: &str, message: &str) -> Vec<Value> {
    let code = if code.is_empty() { Value::Null } else { json!(code) };
    let mut all = vec![
        json!({ "error": { "message": message, "type": "invalid_request_error", "param": null, "code": code } }),
        json!({ "type": "error", "error": { "type": code, "message": message }, "request_id": "r" }),
        json!({ "error": { "code": 400, "message": message, "status": code } }),
        json!([{ "error": { "code": 400, "message": message, "status": code } }]),
        json!({ "object": "error", "message": message, "type": code, "param": null, "code": null }),
        json!({ "code": code, "message": message, "request_id": "r" }),
        json!({ "errors": [{ "code": code, "message": message }], "trace": "t" }),
    ];
    if code.is_null() {
        all.push(json!({ "error": message }));
        all.push(json!({ "error": message, "error_type": "validation" }));
        all.push(json!({ "detail": message }));
        all.push(json!({ "error": { "message": "Provider returned error", "code": 400,
            "metadata": { "raw": json!({ "error": { "message": message } }).to_string() } } }));
    }
    all
}

/// The frames of a stream that fails, for each format.
fn frames(code: &str, message: &str) -> Vec<(&'static str, Value)> {
    let code = if code.is_empty() { Value::Null } else { json!(code) };
    let error = json!({ "type": code, "message": message });
    vec![
        ("openai_chat", json!({ "error": { "message": message, "type": code, "code": null } })),
        ("openai_chat", json!({ "error": { "message": message, "code": code }, "choices": [] })),
        ("openai_responses", json!({ "type": "error", "code": code, "message": message, "param": null })),
        ("openai_responses", json!({ "type": "error", "error": error })),
        (
            "openai_responses",
            json!({ "type": "response.failed",
            "response": { "status": "failed", "error": { "code": code, "message": message } } }),
        ),
        ("openai_responses", json!({ "error": error })),
        ("anthropic", json!({ "type": "error", "error": error })),
        ("anthropic", json!({ "error": error })),
        ("gemini", json!({ "error": { "code": 400, "message": message, "status": code } })),
        ("relay", json!({ "type": "error", "error": error })),
        ("relay", json!({ "type": "error", "error": { "code": code, "message": message } })),
    ]
}

const FORMATS: [&str; 4] = ["openai_chat", "openai_responses", "anthropic", "gemini"];

/// What a stream of this format with only this frame fails with.
fn streamed(protocol: &str, data: &Value) -> Error {
    let event = data["type"].as_str().unwrap_or_default();
    read(protocol, &format!("event: {event}\ndata: {data}\n\n"))
}

/// What an answer with status 200 fails with that has this body, read as a run reads it.
fn read(protocol: &str, body: &str) -> Error {
    let fixture = Fixture::of_protocol(protocol);
    let (mut reader, mut splitter) = (AnswerReader::new(fixture.decoder(), "p", false), Splitter::default());
    let fed = splitter.feed(body.as_bytes(), |frame| reader.frame(&frame, &mut Vec::new()));
    let end = fed.and_then(|_| splitter.finish(|frame| reader.frame(&frame, &mut Vec::new())));
    match end {
        Ok(true) => reader.end(&mut Vec::new()).expect_err(body),
        Ok(false) => panic!("no error: {body}"),
        Err(error) => error,
    }
}

/// The message with other numbers.
fn renumbered(message: &str, number: &str) -> String {
    let mut out = String::new();
    let mut rest = message;
    while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
        let (before, from) = rest.split_at(at);
        let after = from.trim_start_matches(|c: char| c.is_ascii_digit());
        // A digit inside of a name is none.
        let in_name = before.ends_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '-' | '.' | '_' | '/' | ','));
        let is_name = after.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '-' | '.' | '_' | ','));
        out.push_str(before);
        out.push_str(if in_name || is_name { &from[..from.len() - after.len()] } else { number });
        rest = after;
    }
    out + rest
}

#[test]
fn found_w2_each_wording_in_each_format() {
    let mut played = 0;
    for (kind, wordings, words) in tables() {
        for seen in wordings.iter().chain(words) {
            let Seen { vendor, code, message, .. } = *seen;
            // With a word it is the word that says it: also of a message that says nothing.
            let others: Vec<String> = match code {
                "" => ["7", "1048576", "4,194,304"].iter().map(|number| renumbered(message, number)).collect(),
                _ => vec!["The request failed.".to_owned()],
            };
            for body in bodies(code, message) {
                for status in [400, 422, 500] {
                    let error = from_http("p", "p", status, &body.to_string());
                    assert_eq!(error.kind(), kind, "{vendor}: {status} {body}");
                    played += 1;
                }
                // Where a stream was promised: the body as it is, in a frame, called an error, and in a field of that name.
                let forms = [
                    body.to_string(),
                    format!("data: {body}\n\n"),
                    format!("event: error\ndata: {body}\n\n"),
                    format!("error: {body}\n\n"),
                ];
                for (place, protocol) in FORMATS.iter().enumerate() {
                    let form = &forms[(place + played) % forms.len()];
                    assert_eq!(read(protocol, form).kind(), kind, "{vendor}: {protocol} {form}");
                }
            }
            for message in others.iter().map(String::as_str).chain([message, &message.to_uppercase()]) {
                for body in bodies(code, message) {
                    let error = from_stream("p", &body);
                    assert_eq!(error.kind(), kind, "{vendor}: in a stream {body}");
                }
                for (protocol, frame) in frames(code, message) {
                    assert_eq!(streamed(protocol, &frame).kind(), kind, "{vendor}: {protocol} {frame}");
                    played += 1;
                }
            }
        }
    }
    assert!(played > 10_000, "only {played}");
}

#[test]
fn found_w2_each_row_says_what_its_pattern_says_and_where_it_was_seen() {
    for (_, wordings, words) in tables() {
        for seen in wordings.iter().chain(words) {
            assert!(!seen.vendor.is_empty() && !seen.message.is_empty(), "{seen:?}");
            assert!(
                ["https://", "a recorded answer", "docs/", "not recorded"].iter().any(|start| seen.source.starts_with(start)),
                "{seen:?}"
            );
            assert_eq!(seen.pattern, seen.pattern.to_lowercase(), "{seen:?}");
        }
        for seen in wordings {
            assert!(super::super::wordings::matches(&seen.message.to_ascii_lowercase(), &[seen.pattern]), "{seen:?}");
        }
        for seen in words {
            assert!(seen.code.to_ascii_lowercase().contains(seen.pattern), "{seen:?}");
        }
    }
}

/// Status, code, message, what it is, and whether it may be retried.
type NearMiss = (u16, &'static str, &'static str, ErrorKind, bool);

/// What has the words of another kind.
const NEAR_MISSES: &[NearMiss] = &[
    // No pause helps a request that is larger than what a minute allows: https://github.com/continuedev/continue/issues/10218
    (
        413,
        "rate_limit_exceeded",
        "Request too large for model `l` in organization `o` service tier `on_demand` on tokens per minute \
         (TPM): Limit 12000, Requested 14137, please reduce your message size and try again. Need more tokens? Upgrade to Dev \
         Tier today at https://console.groq.com/settings/billing",
        ErrorKind::RateLimited,
        false,
    ),
    // https://github.com/vanna-ai/vanna-flask/issues/11
    (
        429,
        "rate_limit_exceeded",
        "Request too large for gpt-4o in organization o on tokens per min (TPM): Limit 30000, Requested \
         342389. The input or output tokens must be reduced in order to run successfully.",
        ErrorKind::RateLimited,
        false,
    ),
    (
        429,
        "rate_limit_error",
        "This request would exceed your organization's rate limit of 40,000 input tokens per minute",
        ErrorKind::RateLimited,
        true,
    ),
    (429, "", "Too many tokens, please wait before trying again.", ErrorKind::RateLimited, true),
    (
        429,
        "429",
        "Requests to the ChatCompletions_Create Operation under Azure OpenAI API version 2024-10-21 have exceeded token rate \
         limit of your current OpenAI S0 pricing tier. Please retry after 5 seconds.",
        ErrorKind::RateLimited,
        true,
    ),
    (
        429,
        "",
        "No deployments available for selected model, Try again in 60 seconds. Passed model=gpt-4o",
        ErrorKind::RateLimited,
        true,
    ),
    // What may be written, not what was: https://github.com/databricks/databricks-sdk-go/issues/1183
    (
        400,
        "",
        "rpc error: code = InvalidArgument desc = max_tokens (10000) cannot exceed 8192. Please reduce the length of max output \
         tokens generated.",
        ErrorKind::InvalidRequest,
        false,
    ),
    // https://github.com/charmbracelet/crush/issues/946
    (400, "", "The maximum tokens you requested exceeds the model limit of 32768", ErrorKind::InvalidRequest, false),
    // https://github.com/anomalyco/models.dev/pull/4422
    (
        400,
        "",
        "max_completion_tokens is too large: 262144. This model supports at most 256000 completion tokens.",
        ErrorKind::InvalidRequest,
        false,
    ),
    (
        400,
        "",
        "max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens for claude-sonnet-4-5",
        ErrorKind::InvalidRequest,
        false,
    ),
    (400, "", "Range of max_tokens should be [1, 8192]", ErrorKind::InvalidRequest, false),
    // https://github.com/huggingface/transformers/issues/28523
    (422, "", "Input validation error: `max_new_tokens` must be <= 192. Given: 200", ErrorKind::InvalidRequest, false),
    // https://github.com/anomalyco/opencode (Cohere)
    (
        400,
        "",
        "too many tokens: max tokens must be less than or equal to 4096, the maximum output for this model - received 8192.",
        ErrorKind::InvalidRequest,
        false,
    ),
    (400, "", "max_tokens must be at least 16 for sonar", ErrorKind::InvalidRequest, false),
    (400, "", "the output exceeds the limit of 8192 tokens", ErrorKind::InvalidRequest, false),
    // https://github.com/AnswerDotAI/fastllm/issues/45
    (
        400,
        "string_above_max_length",
        "Invalid 'input[95].call_id': string too long. Expected a string with maximum length 64, but got \
         a string with length 116 instead.",
        ErrorKind::InvalidRequest,
        false,
    ),
    (400, "", "tools.0.custom.name: String should have at most 64 characters", ErrorKind::InvalidRequest, false),
    (
        400,
        "",
        "messages.0.content.0.image.source.base64: image exceeds 5 MB maximum: 6291456 bytes > 5242880 bytes",
        ErrorKind::InvalidRequest,
        false,
    ),
    // Of a model that is there.
    (400, "", "This model does not support tools", ErrorKind::InvalidRequest, false),
    (400, "", "Unsupported parameter: 'temperature' is not supported with this model.", ErrorKind::InvalidRequest, false),
    (400, "", "model does not support image input", ErrorKind::InvalidRequest, false),
    (400, "", "Unknown parameter: 'model_kwargs'.", ErrorKind::InvalidRequest, false),
    (400, "", "Invalid value: 'model'. Supported values are: 'user', 'assistant'.", ErrorKind::InvalidRequest, false),
    (400, "", "No tool output found for function call call_1.", ErrorKind::InvalidRequest, false),
    (400, "", "Invalid model parameters: temperature", ErrorKind::InvalidRequest, false),
    // Not of money.
    (400, "", "'max_credits' is not a parameter", ErrorKind::InvalidRequest, false),
    (400, "", "The balance of the parentheses is off", ErrorKind::InvalidRequest, false),
    (403, "", "Your key may not use this feature", ErrorKind::Permission, false),
    // Cerebras: a limit of a minute, though its code speaks of a quota.
    (429, "request_quota_exceeded", "Requests per minute limit exceeded - too many requests sent.", ErrorKind::RateLimited, true),
    (429, "", "You have reached your rate limit. See the page of usage limits.", ErrorKind::RateLimited, true),
    (403, "", "insufficient account permissions", ErrorKind::Permission, false),
    (400, "", "The balance of the audio channels is wrong", ErrorKind::InvalidRequest, false),
    // Not of the model.
    (400, "", "Project `p` is not allowed to use the parameter `labels`", ErrorKind::InvalidRequest, false),
    (400, "", "field 'functions' was removed; use 'tools'", ErrorKind::InvalidRequest, false),
    // Not of the conversation's length.
    (400, "", "max_tokens exceeds the model's max of 4096", ErrorKind::InvalidRequest, false),
    (400, "", "The image is too large to process", ErrorKind::InvalidRequest, false),
    (400, "", "tool name: sequence length is longer than 64", ErrorKind::InvalidRequest, false),
    // Not of room.
    (400, "", "the tool queue has a capacity of 3", ErrorKind::InvalidRequest, false),
];

#[test]
fn found_w2_near_misses_are_none() {
    for (status, code, message, kind, retryable) in NEAR_MISSES {
        let body = json!({ "error": { "code": code, "type": "invalid_request_error", "message": message } });
        let error = from_http("p", "p", *status, &body.to_string());
        assert_eq!((error.kind(), error.is_retryable()), (*kind, *retryable), "{error}");
        let streamed = from_stream("p", &body);
        // A stream has no status: the type says that the request was wrong.
        let kind = if *kind == ErrorKind::Permission { ErrorKind::InvalidRequest } else { *kind };
        assert_eq!((streamed.kind(), streamed.is_retryable()), (kind, *retryable), "{streamed}");
    }
}

#[test]
fn found_w3_unknown_models_in_whatever_status_they_come() {
    let mistral = json!({ "object": "error", "message": "Invalid model: mistral-9", "type": "invalid_model", "code": "1500" });
    let deepseek =
        json!({ "error": { "message": "Model Not Exist", "type": "invalid_request_error", "code": "invalid_request_error" } });
    for body in [mistral, deepseek] {
        for status in [400, 404, 422] {
            let error = from_http("p", "p", status, &body.to_string());
            assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::NotFound, false), "{status} {body}");
        }
    }
}
