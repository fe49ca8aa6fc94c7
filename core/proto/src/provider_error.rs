//! A provider's error response as an [`Error`].
//!
//! Bodies differ by vendor: `error` is an object, a string, or missing with `message` or `detail` at the top. The provider's
//! message is kept whole.

#[cfg(test)]
mod tests;
mod wording;
mod wordings;

use serde_json::{Value, json};

use crate::error::{Error, ErrorKind, shortened};
use crate::retry_after;
use crate::surrogate;

/// The most characters that are quoted of what is not a provider's message.
const MOST_QUOTED: usize = 500;

/// The error of an HTTP answer that is not 200. `server` is what the message calls who answered.
pub fn from_http(provider: &str, server: &str, status: u16, body: &str) -> Error {
    let value: Option<Value> = surrogate::value(body).ok();
    let value = value.as_ref().map(first);
    let said = value.and_then(message).unwrap_or_else(|| page(body));
    let kind = match (status, kind(value, &said, Some(status))) {
        // Groq's limit of a minute is the one thing that also comes with this status.
        (413, Some(kind @ (ErrorKind::RateLimited | ErrorKind::Quota))) => kind,
        (413, _) => ErrorKind::ContextOverflow,
        // A server that cuts a body it finds too large off does not come to say why.
        (400, _) if body.trim().is_empty() => ErrorKind::ContextOverflow,
        (_, kind) => kind.unwrap_or(ErrorKind::from_http_status(status)),
    };
    let error = Error::new(kind, format!("{server} answered {status}: {said}"))
        .with_provider(provider)
        .with_http_status(status)
        .with_retryable(may_be_retried(kind, status) && !wording::never_fits(&said.to_ascii_lowercase()));
    let error = demanding(error, value, &said);
    match value.and_then(|value| value.get("request_id")).and_then(Value::as_str) {
        Some(id) => error.with_request_id(id),
        None => error,
    }
}

/// The error of an error frame inside a 200 stream.
pub fn from_stream(provider: &str, value: &Value) -> Error {
    let value = first(value);
    let said = message(value).unwrap_or_else(|| match value.get("error").unwrap_or(value) {
        Value::Null => "it has no message".to_owned(),
        error if error == &json!({}) || error == "" => "it has no message".to_owned(),
        _ => shortened(&value.to_string(), MOST_QUOTED),
    });
    // A number in the error is the HTTP status that came too late (Google, OpenRouter).
    let code = value
        .pointer("/error/code")
        .or_else(|| value.get("code"))
        .and_then(Value::as_u64)
        .and_then(|code| u16::try_from(code).ok());
    let status = code.filter(|code| (400..=599).contains(code));
    let kind = kind(Some(value), &said, status).or(status.map(ErrorKind::from_http_status)).unwrap_or(ErrorKind::Server);
    let error = Error::new(kind, format!("{provider} sent an error in its stream: {said}")).with_provider(provider);
    let error = match status {
        Some(status) => error.with_retryable(may_be_retried(kind, status)),
        None => error,
    };
    let error = if wording::never_fits(&said.to_ascii_lowercase()) { error.with_retryable(false) } else { error };
    demanding(error, Some(value), &said)
}

/// Whether the same request may work later. Of the statuses that blame the request only these are tried again, whatever the body
/// says: what a server refuses so, it refuses each time, and some invite to "try again" all the same.
fn may_be_retried(kind: ErrorKind, status: u16) -> bool {
    match kind {
        ErrorKind::RateLimited | ErrorKind::Overloaded | ErrorKind::Server | ErrorKind::Timeout => {
            matches!(status, 408 | 409 | 429 | 500..=599)
        }
        ErrorKind::InvalidRequest => status == 409,
        _ => false,
    }
}

/// Whether a JSON value that stands where an answer was expected is an error.
pub fn is_error(value: &Value) -> bool {
    let value = first(value);
    // Some servers send the field with each chunk.
    let nothing = |value: &Value| match value {
        Value::Null | Value::Bool(false) => true,
        Value::String(text) => text.is_empty(),
        Value::Array(list) => list.is_empty(),
        Value::Object(map) => map.is_empty(),
        Value::Bool(true) | Value::Number(_) => false,
    };
    let there = |name: &str| value.get(name).is_some_and(|value| !nothing(value));
    let is_word = ["type", "object"].iter().any(|name| value.get(*name).is_some_and(|word| word == "error"));
    there("error") || there("errors") || is_word || is_flat(value)
}

/// Whether the fields of an error stand at the top: a message, and its kind or its status (llama.cpp), or nothing that is not of
/// an error (FastAPI's `detail`, DashScope's and SiliconFlow's `code` and `message`).
fn is_flat(value: &Value) -> bool {
    let Some(fields) = value.as_object().filter(|fields| SAYING.iter().any(|name| fields.get(*name).and_then(text).is_some()))
    else {
        return false;
    };
    let word = |name: &str| fields.get(name).and_then(Value::as_str).map(str::to_ascii_lowercase);
    let mut statuses = ["code", "status", "statusCode"].iter().filter_map(|name| fields.get(*name)?.as_u64());
    if word("type").is_some_and(|kind| kind.contains("error")) || statuses.any(|status| (400..=599).contains(&status)) {
        return true;
    }
    // Progress is reported in such fields, too.
    let is_fine = word("type").is_some()
        || word("status").is_some_and(|status| !["error", "fail"].iter().any(|bad| status.contains(bad)))
        || fields.get("success").is_some_and(|success| success == true)
        || fields.get("code").is_some_and(|code| matches!(code.as_u64(), Some(0 | 200)));
    !is_fine && fields.keys().all(|name| SAYING.contains(&name.as_str()) || BESIDE.contains(&name.as_str()))
}

/// The fields that have an error's message.
const SAYING: &[&str] = &["message", "detail", "error_description", "msg", "title", "error_msg", "error_message", "Message"];

/// What else an error has at the top.
const BESIDE: &[&str] = &[
    "code",
    "data",
    "error_code",
    "error_type",
    "instance",
    "param",
    "request_id",
    "requestId",
    "status",
    "statusCode",
    "status_code",
    "success",
    "timestamp",
    "trace",
    "type",
];

/// The text without the keys, nor the beginning of one where a long text was cut.
pub fn redacted(text: &str, secrets: &[&str]) -> String {
    // Shorter than this is no key, and taking it out would garble the text.
    let secrets = secrets.iter().filter(|secret| secret.len() >= 4);
    // Most texts have none, nor the beginning of one.
    let may_be_there = |secret: &&&str| text.contains(secret.get(..6).unwrap_or(secret));
    secrets.filter(may_be_there).fold(text.to_owned(), |text, secret| {
        let begun = |text: &str| {
            let beginnings = (6..secret.len()).rev().filter_map(|length| secret.get(..length));
            beginnings.filter_map(|begun| text.strip_suffix(begun)).next().map(|text| format!("{text}[key]"))
        };
        let text = text.replace(secret, "[key]");
        let cut = text.split('…').map(|text| begun(text).unwrap_or_else(|| text.to_owned()));
        cut.collect::<Vec<_>>().join("…")
    })
}

/// The kind that the body's own type or wording says, where it says one.
fn kind(value: Option<&Value>, said: &str, status: Option<u16>) -> Option<ErrorKind> {
    if value.is_some_and(|value| details(value).any(is_daily_quota)) {
        return Some(ErrorKind::Quota);
    }
    wording::classify(&value.map(type_words).unwrap_or_default(), &said.to_ascii_lowercase(), status)
}

/// The error with the pause its body asks for, if the same request may work after one.
fn demanding(error: Error, value: Option<&Value>, said: &str) -> Error {
    // Google: https://cloud.google.com/apis/design/errors#error_details
    let info = value.and_then(|value| details(value).find_map(|detail| detail.get("retryDelay")?.as_str()));
    match info.and_then(retry_after::duration_ms).or_else(|| retry_after::of_sentence(said)) {
        Some(ms) if error.is_retryable() => error.with_retry_after_ms(ms),
        _ => error,
    }
}

/// Google answers with a list of one error where no event stream was asked for.
fn first(value: &Value) -> &Value {
    value.as_array().and_then(|list| list.first()).unwrap_or(value)
}

/// The vendor's message, with that of the provider behind it where a router hides it (OpenRouter: `metadata.raw`).
fn message(value: &Value) -> Option<String> {
    let error = value.get("error");
    let said =
        error.and_then(text).or_else(|| ["message", "errors"].iter().chain(SAYING).find_map(|name| text(value.get(*name)?)))?;
    let said = match value.get("error_description").and_then(text) {
        Some(more) if more != said => format!("{said}: {more}"),
        _ => said,
    };
    let hidden = error.and_then(|error| error.pointer("/metadata/raw")).and_then(|raw| match raw {
        Value::String(raw) => Some(raw.parse().ok().as_ref().and_then(message).unwrap_or_else(|| shortened(raw, MOST_QUOTED))),
        other => message(other),
    });
    Some(match hidden {
        Some(hidden) if !hidden.is_empty() && !said.contains(&hidden) => format!("{said} ({hidden})"),
        _ => said,
    })
}

/// A message that is a text, or a list of faults, each with its place (`loc`) and text (`msg`).
fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()).filter(|text| !text.is_empty()),
        Value::Array(faults) => {
            let faults: Vec<String> = faults.iter().filter_map(text).collect();
            Some(faults.join("; ")).filter(|text| !text.is_empty())
        }
        Value::Object(fault) => {
            let said = SAYING.iter().chain(&["error"]).find_map(|name| text(fault.get(*name)?))?;
            let place = fault.get("loc").and_then(Value::as_array).into_iter().flatten();
            let place: Vec<String> = place.map(|part| part.as_str().map_or_else(|| part.to_string(), str::to_owned)).collect();
            Some(if place.is_empty() { said } else { format!("{}: {said}", place.join(".")) })
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

/// `type`, `code`, `status` and Google's `reason` of the error, in one text.
fn type_words(value: &Value) -> String {
    let listed = value.pointer("/errors/0").filter(|error| error.is_object());
    let error = value.get("error").filter(|error| error.is_object()).or(listed).unwrap_or(value);
    let mut words = String::new();
    let given = ["type", "code", "status", "error_type"].map(|name| error.get(name).or_else(|| value.get(name)));
    for word in given.into_iter().flatten().chain(details(value).filter_map(|detail| detail.get("reason"))) {
        match word {
            Value::String(word) => words.push_str(&word.to_ascii_lowercase()),
            Value::Number(number) => words.push_str(&number.to_string()),
            _ => {}
        }
        words.push(' ');
    }
    words
}

fn details(value: &Value) -> impl Iterator<Item = &Value> {
    value.pointer("/error/details").and_then(Value::as_array).into_iter().flatten()
}

/// Whether a detail names a limit of a day: Google gives a short `retryDelay` beside it all the same.
fn is_daily_quota(detail: &Value) -> bool {
    let violations = detail.get("violations").and_then(Value::as_array).into_iter().flatten();
    violations.filter_map(|violation| violation.get("quotaId")?.as_str()).any(|id| id.contains("PerDay"))
}

/// What can be said of a body that is not the JSON of an error.
pub fn page(body: &str) -> String {
    let text = body.trim();
    if text.is_empty() {
        return "an empty body".to_owned();
    }
    if text.starts_with('<') {
        let lower = text.to_ascii_lowercase();
        let title = lower.find("<title>").zip(lower.find("</title>")).and_then(|(from, to)| text.get(from + 7..to));
        if let Some(title) = title.map(str::trim).filter(|title| !title.is_empty()) {
            return format!("a page titled {:?}", shortened(title, MOST_QUOTED));
        }
    }
    shortened(text, MOST_QUOTED)
}
