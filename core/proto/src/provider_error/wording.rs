//! What kind of failure the words of an error mean. Vendors agree on none; [`wordings`](super::wordings) has them as data.

use super::wordings::{limited, matches, missing, overflow, overloaded, quota};
use crate::error::ErrorKind;

/// The kind that type words (lower case, several in one text) and message (lower case) say. With an HTTP status, only what says
/// more than the status: OpenAI types its 401 for a missing key `invalid_request_error`, Ollama `api_error`.
pub(super) fn classify(words: &str, said: &str, status: Option<u16>) -> Option<ErrorKind> {
    let specific: [(ErrorKind, &dyn Fn() -> bool); 9] = [
        (ErrorKind::Quota, &|| is_quota(words, said)),
        (ErrorKind::Overloaded, &|| has(words, overloaded::EXHAUSTED)),
        // Before overflow: throttling is also worded as "too many tokens".
        (ErrorKind::RateLimited, &|| has(words, limited::WORDS) || matches(said, limited::PATTERNS)),
        (ErrorKind::Overloaded, &|| has(words, overloaded::WORDS) || matches(said, overloaded::PATTERNS)),
        (ErrorKind::ContextOverflow, &|| has(words, overflow::WORDS) || is_overflow(said)),
        (ErrorKind::Authentication, &|| has(words, AUTHENTICATION_WORDS) || has(said, AUTHENTICATION)),
        (ErrorKind::Permission, &|| has(words, &["permission", "forbidden"])),
        (ErrorKind::NotFound, &|| has(words, missing::WORDS) || matches(said, missing::PATTERNS)),
        (ErrorKind::Timeout, &|| has(words, &["timeout", "deadline_exceeded"])),
    ];
    if let Some((kind, _)) = specific.into_iter().find(|(_, found)| found()) {
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

/// Whether a message (lower case) that says a limit was passed says that no pause helps.
pub(super) fn never_fits(said: &str) -> bool {
    matches(said, limited::NEVER_FITS)
}

fn has(text: &str, needles: &[&str]) -> bool {
    needles.iter().any(|needle| text.contains(needle))
}

/// The last four are AWS's.
const AUTHENTICATION_WORDS: &[&str] = &[
    "authentication",
    "unauthenticated",
    "unauthorized",
    "invalid_api_key",
    "api_key_invalid",
    "unrecognizedclient",
    "expiredtoken",
    "invalidsignature",
    "incompletesignature",
];

const AUTHENTICATION: &[&str] = &[
    "incorrect api key",
    "invalid api key",
    "api key not valid",
    "api key is invalid",
    "make sure your api key is valid",
    "security token included in the request",
    "bearer token has expired",
    "request signature we calculated",
];

/// Google's limits by the minute are worded like OpenAI's used-up quota.
fn is_quota(words: &str, said: &str) -> bool {
    let by_the_minute = has(words, limited::WORDS);
    has(words, quota::WORDS) || matches(said, quota::PATTERNS) || (!by_the_minute && said.contains("exceeded your current quota"))
}

fn is_overflow(said: &str) -> bool {
    // "prompt token count of 130000 exceeds the limit of 128000"; not of images, nor of what may be written.
    let limited = matches(said, &["exceeds the limit of #"])
        && !has(said, &["max_tokens", "max_completion_tokens", "max_output_tokens", "output", "image", "document", "file"]);
    limited || matches(said, overflow::PATTERNS)
}
