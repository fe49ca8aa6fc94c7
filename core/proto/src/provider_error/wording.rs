//! What kind of failure the words of an error mean. Vendors agree on none of them; the sources are their error pages, recorded
//! answers and bug reports.

use crate::error::ErrorKind;

/// The kind that type words (lower case, several in one text) and message (lower case) say. With an HTTP status, only what says
/// more than the status: OpenAI types its 401 for a missing key `invalid_request_error`, Ollama `api_error`.
pub(super) fn classify(words: &str, said: &str, status: Option<u16>) -> Option<ErrorKind> {
    let specific = [
        (ErrorKind::Quota, is_quota(words, said)),
        // Before overflow: throttling is also worded as "too many tokens".
        (ErrorKind::RateLimited, has(words, RATE_WORDS) || has(said, RATE)),
        (ErrorKind::Overloaded, has(words, OVERLOADED_WORDS) || has(said, OVERLOADED)),
        (ErrorKind::ContextOverflow, has(words, OVERFLOW_WORDS) || is_overflow(said)),
        (ErrorKind::Authentication, has(words, AUTHENTICATION_WORDS) || has(said, AUTHENTICATION)),
        (ErrorKind::Permission, has(words, &["permission", "forbidden"])),
        (ErrorKind::NotFound, has(words, &["not_found", "notfound"]) || is_unknown_model(said)),
        (ErrorKind::Timeout, has(words, &["timeout", "deadline_exceeded"])),
    ];
    if let Some((kind, _)) = specific.into_iter().find(|(_, found)| *found) {
        return Some(kind);
    }
    let invalid = has(words, &["invalid", "bad_request", "validation", "unprocessable"]);
    match status {
        Some(_) => None,
        None if invalid => Some(ErrorKind::InvalidRequest),
        None if has(words, &["api_error", "server_error", "internal"]) => Some(ErrorKind::Server),
        // A router's status for the answer of the provider behind it.
        None => words
            .split(' ')
            .find_map(|word| word.parse().ok())
            .filter(|s| (400..600).contains(s))
            .map(ErrorKind::from_http_status),
    }
}

fn has(text: &str, needles: &[&str]) -> bool {
    needles.iter().any(|needle| text.contains(needle))
}

const RATE_WORDS: &[&str] = &["rate_limit", "ratelimit", "too_many_requests", "throttl", "resource_exhausted"];

const RATE: &[&str] = &["rate limit", "ratelimit", "too many requests", "throttl", "resource has been exhausted"];

const OVERLOADED_WORDS: &[&str] = &["overloaded", "unavailable", "capacity"];

const OVERLOADED: &[&str] = &[
    "overloaded",
    "service unavailable",
    "temporarily unavailable",
    "at capacity",
    "server is busy",
    "currently experiencing high",
];

const AUTHENTICATION_WORDS: &[&str] =
    &["authentication", "unauthenticated", "unauthorized", "invalid_api_key", "api_key_invalid"];

const AUTHENTICATION: &[&str] = &["incorrect api key", "invalid api key", "api key not valid", "api key is invalid"];

/// Money or allowance is used up. Google's limits by the minute are worded like OpenAI's used-up quota.
fn is_quota(words: &str, said: &str) -> bool {
    const WORDS: &[&str] =
        &["insufficient_quota", "exceeded_current_quota", "billing", "payment_required", "insufficient_balance"];
    const SAID: &[&str] = &[
        "credit balance is too low",
        "insufficient balance",
        "insufficient credit",
        "insufficient funds",
        "insufficient_quota",
        "requires more credits",
        "not enough credits",
        "out of credits",
        "spending limit",
        "billing hard limit",
    ];
    let by_the_minute = has(words, RATE_WORDS);
    has(words, WORDS) || has(said, SAID) || (!by_the_minute && said.contains("exceeded your current quota"))
}

const OVERFLOW_WORDS: &[&str] =
    &["context_length_exceeded", "context_window_exceeded", "exceed_context_size", "request_too_large", "context_overflow"];

/// How servers word that a conversation is too long.
fn is_overflow(said: &str) -> bool {
    const SAID: &[&str] = &[
        "prompt is too long",
        "prompt too long",
        "request_too_large",
        "request exceeds the maximum size",
        "input is too long for requested model",
        "exceeds the context window",
        "maximum context length",
        "max context length",
        "context length exceeded",
        "context_length_exceeded",
        "maximum prompt length",
        "reduce the length of the messages",
        "longer than the model's context",
        "exceeds the available context size",
        "greater than the context length",
        "context window exceeds limit",
        "exceeded model token limit",
        "too large for model with",
        "model context window exceeded",
        "model_context_window_exceeded",
        "configured context size",
        "maximum allowed input length",
    ];
    // Google puts the count between: "The input token count (1250074) exceeds the maximum number of tokens allowed".
    let counted = said.split_once("input token count").is_some_and(|(_, rest)| rest.contains("exceeds"));
    // "prompt token count of 130000 exceeds the limit of 128000"; not of images, nor of what may be written.
    let limited =
        said.split_once("exceeds the limit of ").is_some_and(|(_, rest)| rest.starts_with(|c: char| c.is_ascii_digit()))
            && !has(said, &["max_tokens", "max_completion_tokens", "max_output_tokens", "image"]);
    counted || limited || has(said, SAID)
}

/// "The model `x` does not exist", "x is not a valid model ID", "model 'x' not found".
fn is_unknown_model(said: &str) -> bool {
    said.contains("not a valid model")
        || (said.contains("model")
            && has(said, &["does not exist", "model not found", "' not found", "` not found", "\" not found"]))
}
