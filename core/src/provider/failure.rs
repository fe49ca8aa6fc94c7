//! A provider's own words for what went wrong, as an [`Error`].
//!
//! Bodies differ by vendor: `error` is an object, a string, or missing with `message` or `detail` at the top. The provider's
//! message is kept whole.

use serde_json::Value;

use crate::error::{Error, ErrorKind};

/// The error of an HTTP answer that is not 200.
pub(crate) fn from_http(provider: &str, status: u16, body: &str) -> Error {
    let value: Option<Value> = serde_json::from_str(body).ok();
    let said = value.as_ref().and_then(message).unwrap_or_else(|| {
        let text = body.trim();
        if text.is_empty() { "no message".to_owned() } else { shortened(text) }
    });
    let word = value.as_ref().map(type_words).unwrap_or_default();
    // OpenAI types its 401 for a missing key `invalid_request_error` too: that word says less than the status.
    let worded = classify(&word, &said).filter(|kind| *kind != ErrorKind::InvalidRequest);
    let kind = worded.unwrap_or(ErrorKind::from_http_status(status));
    // Some overflow answers are a bare 413 or 400 without a body.
    let kind = if status == 413 { ErrorKind::ContextOverflow } else { kind };
    let error = Error::new(kind, format!("{provider} answered {status}: {said}"))
        .with_provider(provider)
        .with_http_status(status)
        .with_retryable(match kind {
            ErrorKind::Quota | ErrorKind::ContextOverflow => false,
            _ => matches!(status, 408 | 409 | 429 | 500..=599),
        });
    match value.as_ref().and_then(|v| v.get("request_id")).and_then(Value::as_str) {
        Some(id) => error.with_request_id(id),
        None => error,
    }
}

/// The error of an error frame inside a 200 stream.
pub(crate) fn from_stream(provider: &str, value: &Value) -> Error {
    let said = message(value).unwrap_or_else(|| shortened(&value.to_string()));
    // A number in the error is the HTTP status that came too late (Google, OpenRouter).
    let code = value.pointer("/error/code").and_then(Value::as_u64).and_then(|code| u16::try_from(code).ok());
    let status = code.filter(|code| (400..=599).contains(code)).map(ErrorKind::from_http_status);
    let kind = classify(&type_words(value), &said).or(status).unwrap_or(ErrorKind::Server);
    Error::new(kind, format!("{provider} sent an error in its stream: {said}")).with_provider(provider)
}

/// The text without the keys.
pub(crate) fn redacted(text: &str, secrets: &[&str]) -> String {
    // Shorter than this is no key, and taking it out would garble the text.
    let secrets = secrets.iter().filter(|secret| secret.len() >= 4);
    secrets.fold(text.to_owned(), |text, secret| text.replace(secret, "[key]"))
}

fn message(value: &Value) -> Option<String> {
    let text = |value: &Value| match value {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        _ => None,
    };
    let error = value.get("error");
    error
        .and_then(|error| error.get("message").or(Some(error)).and_then(text))
        .or_else(|| value.get("message").and_then(text))
        .or_else(|| value.get("detail").and_then(text))
}

/// `type`, `code` and `status` of the error, in one text.
fn type_words(value: &Value) -> String {
    let error = value.get("error").filter(|error| error.is_object()).unwrap_or(value);
    let words = ["type", "code", "status"].map(|name| match error.get(name) {
        Some(Value::String(word)) => word.to_ascii_lowercase(),
        Some(Value::Number(number)) => number.to_string(),
        _ => String::new(),
    });
    words.join(" ")
}

/// The kind that the body's own type or wording says, where it says one.
fn classify(word: &str, said: &str) -> Option<ErrorKind> {
    let said = said.to_ascii_lowercase();
    let has = |needles: &[&str]| needles.iter().any(|needle| said.contains(needle));
    // These first: throttling is also worded as "too many tokens".
    let throttled = has(&["rate limit", "too many requests", "throttl", "service unavailable"]);
    if !throttled && has(OVERFLOW) {
        return Some(ErrorKind::ContextOverflow);
    }
    const WORDS: &[(&str, ErrorKind)] = &[
        ("insufficient_quota", ErrorKind::Quota),
        ("billing", ErrorKind::Quota),
        ("context_length_exceeded", ErrorKind::ContextOverflow),
        ("request_too_large", ErrorKind::ContextOverflow),
        ("authentication_error", ErrorKind::Authentication),
        ("invalid_api_key", ErrorKind::Authentication),
        ("permission", ErrorKind::Permission),
        ("not_found", ErrorKind::NotFound),
        ("rate_limit", ErrorKind::RateLimited),
        ("overloaded", ErrorKind::Overloaded),
        ("timeout", ErrorKind::Timeout),
        ("invalid_request", ErrorKind::InvalidRequest),
        ("api_error", ErrorKind::Server),
        ("server_error", ErrorKind::Server),
        ("internal", ErrorKind::Server),
    ];
    WORDS.iter().find(|(needle, _)| word.contains(needle)).map(|(_, kind)| *kind)
}

/// How servers word that a conversation is too long.
const OVERFLOW: &[&str] = &[
    "prompt is too long",
    "prompt too long",
    "input is too long for requested model",
    "exceeds the context window",
    "maximum context length",
    "input token count exceeds",
    "maximum prompt length",
    "reduce the length of the messages",
    "longer than the model's context",
    "exceeds the available context size",
    "greater than the context length",
    "context window exceeds limit",
    "exceeded model token limit",
    "model context window exceeded",
    "maximum allowed input length",
];

fn shortened(text: &str) -> String {
    match text.char_indices().nth(500) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}
