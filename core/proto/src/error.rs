//! What can go wrong, in one type: a kind from a closed list, a message to read, and what a program needs to decide.
//!
//! Runtime failures (a refused key, a cut stream) end a message and a run and are reported there; usage errors
//! (a bad argument, a second run while one is active) are returned by the call. Both are an [`Error`].

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub use crate::table::errors::ErrorKind;

/// The message of a run that the shutdown of its runtime ended.
pub const SHUT_DOWN: &str = "the runtime was shut down before the run had ended";

impl ErrorKind {
    /// The kind an HTTP status stands for where the body says nothing better.
    /// 2xx and 3xx have no kind of their own and give `protocol`.
    pub fn from_http_status(status: u16) -> ErrorKind {
        match status {
            401 => ErrorKind::Authentication,
            402 => ErrorKind::Quota,
            403 => ErrorKind::Permission,
            404 => ErrorKind::NotFound,
            408 | 504 | 524 => ErrorKind::Timeout,
            413 => ErrorKind::ContextOverflow,
            429 => ErrorKind::RateLimited,
            503 | 529 => ErrorKind::Overloaded,
            500..=599 => ErrorKind::Server,
            400..=499 => ErrorKind::InvalidRequest,
            _ => ErrorKind::Protocol,
        }
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Any error, or a text: what functions of the host may fail with.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// What went wrong. Canonical JSON: `{kind, message, provider?, http_status?, request_id?, retryable, retry_after_ms?}`.
///
/// Cheap to clone. API keys are never part of it. `Debug` is one line, too: what `main` prints of an error that it returns.
///
/// ```
/// # mod agent_loop { pub use agent_loop_proto::error::*; }
/// use agent_loop::{Error, ErrorKind};
///
/// fn advice(error: &Error) -> &'static str {
///     match error.kind() {
///         ErrorKind::Authentication => "check the key",
///         ErrorKind::ContextOverflow => "shorten the conversation",
///         _ => "see the message",
///     }
/// }
/// assert_eq!(advice(&Error::invalid_argument("no model")), "see the message");
/// ```
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Error(Box<Fields>);

/// Behind a pointer: errors are rare, and what may fail should not be larger for it.
#[derive(Clone, Serialize, Deserialize)]
#[serde(from = "Given")]
struct Fields {
    kind: ErrorKind,
    message: Arc<str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    provider: Option<Arc<str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    http_status: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    request_id: Option<Arc<str>>,
    retryable: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after_ms: Option<u64>,
    /// What a layer above attached. Not part of the error's value.
    #[serde(skip)]
    attachment: Option<Arc<dyn Any + Send + Sync>>,
    /// What it comes from. Not part of the error's value, and lost where the error is saved.
    #[serde(skip)]
    source: Option<Arc<dyn std::error::Error + Send + Sync>>,
}

/// An error as JSON gives it.
#[derive(Deserialize)]
struct Given {
    kind: ErrorKind,
    message: Arc<str>,
    provider: Option<Arc<str>>,
    http_status: Option<u16>,
    request_id: Option<Arc<str>>,
    /// Where it is not said, the kind says it.
    retryable: Option<bool>,
    retry_after_ms: Option<u64>,
}

impl PartialEq for Fields {
    fn eq(&self, other: &Fields) -> bool {
        let value = |fields: &Fields| (fields.kind, fields.http_status, fields.retryable, fields.retry_after_ms);
        let texts = |fields: &Fields| (fields.message.clone(), fields.provider.clone(), fields.request_id.clone());
        value(self) == value(other) && texts(self) == texts(other)
    }
}

impl From<Given> for Fields {
    fn from(given: Given) -> Fields {
        let Given { kind, message, provider, http_status, request_id, retryable, retry_after_ms } = given;
        let retryable = retryable.unwrap_or_else(|| kind.may_be_retried());
        Fields { kind, message, provider, http_status, request_id, retryable, retry_after_ms, attachment: None, source: None }
    }
}

impl Error {
    /// An error of this kind. `message` says what was wrong, where, and what to do. It may be retried as its kind says
    /// ([`ErrorKind::may_be_retried`]), unless [`with_retryable`](Error::with_retryable) says otherwise.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Error {
        Error(Box::new(Fields {
            kind,
            message: message.into().into(),
            provider: None,
            http_status: None,
            request_id: None,
            retryable: kind.may_be_retried(),
            retry_after_ms: None,
            attachment: None,
            source: None,
        }))
    }

    /// A mistake in an argument; `message` names it.
    pub fn invalid_argument(message: impl Into<String>) -> Error {
        Error::new(ErrorKind::InvalidArgument, message)
    }

    /// The kind.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// What was wrong, where, and what to do.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The provider that answered, when one did.
    pub fn provider(&self) -> Option<&str> {
        self.0.provider.as_deref()
    }

    /// The HTTP status, when an HTTP answer was the reason.
    pub fn http_status(&self) -> Option<u16> {
        self.0.http_status
    }

    /// The provider's name for the failed request, to be given to its support.
    pub fn request_id(&self) -> Option<&str> {
        self.0.request_id.as_deref()
    }

    /// Whether the same request may work when it is sent again.
    pub fn is_retryable(&self) -> bool {
        self.0.retryable
    }

    /// How long the provider asks to wait before that, in milliseconds.
    pub fn retry_after_ms(&self) -> Option<u64> {
        self.0.retry_after_ms
    }

    /// What a layer above attached, if it is of this type.
    pub(crate) fn attachment<T: Any>(&self) -> Option<&T> {
        self.0.attachment.as_deref()?.downcast_ref()
    }

    /// Names the provider.
    #[must_use]
    pub fn with_provider(mut self, provider: &str) -> Error {
        self.0.provider = Some(provider.into());
        self
    }

    /// Adds the HTTP status.
    #[must_use]
    pub fn with_http_status(mut self, status: u16) -> Error {
        self.0.http_status = Some(status);
        self
    }

    /// Adds the provider's request id.
    #[must_use]
    pub fn with_request_id(mut self, id: &str) -> Error {
        self.0.request_id = Some(id.into());
        self
    }

    /// Adds how long to wait, in milliseconds.
    #[must_use]
    pub fn with_retry_after_ms(mut self, ms: u64) -> Error {
        self.0.retry_after_ms = Some(ms);
        self
    }

    /// Adds the error that it comes from, which [`source`](std::error::Error::source) gives. The message is to say what matters
    /// of it.
    #[must_use]
    pub fn with_source(mut self, source: impl std::error::Error + Send + Sync + 'static) -> Error {
        self.0.source = Some(Arc::new(source));
        self
    }

    /// Adds the source of another error, which this one is made of.
    #[doc(hidden)]
    #[must_use]
    pub fn with_source_of(mut self, other: &Error) -> Error {
        self.0.source.clone_from(&other.0.source);
        self
    }

    /// What a function of the host failed with: an error of the kind `callback` as it is, of any other its text, with the error
    /// as the source.
    #[doc(hidden)]
    pub fn callback(failure: impl Into<BoxError>) -> Error {
        let failure = match failure.into().downcast::<Error>() {
            Ok(error) if error.kind() == ErrorKind::Callback => return *error,
            Ok(error) => error as BoxError,
            Err(other) => other,
        };
        let mut error = Error::new(ErrorKind::Callback, failure.to_string());
        error.0.source = Some(Arc::from(failure));
        error
    }

    /// Says whether the same request may work when it is sent again.
    #[must_use]
    pub fn with_retryable(mut self, retryable: bool) -> Error {
        self.0.retryable = retryable;
        self
    }

    /// The error with another message. If that differs, the source goes: it may say what the message is not to say any more, a
    /// key for example.
    #[doc(hidden)]
    #[must_use]
    pub fn with_message(mut self, message: &str) -> Error {
        if *self.0.message != *message {
            self.0.message = message.into();
            self.0.source = None;
        }
        self
    }

    /// The error with a message made from its own, which the new one contains.
    #[doc(hidden)]
    #[must_use]
    pub fn reworded(mut self, message: impl FnOnce(&str) -> String) -> Error {
        self.0.message = message(&self.0.message).into();
        self
    }

    /// The error with more text: part of the same sentence, or a sentence by itself where the message ends with a sentence's end.
    #[doc(hidden)]
    #[must_use]
    pub fn and(self, more: &str) -> Error {
        self.reworded(|message| {
            let message = message.trim_end();
            let mut rest = more.chars();
            match rest.next() {
                Some(first) if message.ends_with(['.', '?', '!']) => {
                    format!("{message} {}{}", first.to_uppercase(), rest.as_str())
                }
                _ => format!("{message}; {more}"),
            }
        })
    }

    /// Attaches a value that the error carries along.
    #[must_use]
    pub(crate) fn with_attachment(mut self, attachment: impl Any + Send + Sync) -> Error {
        self.0.attachment = Some(Arc::new(attachment));
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.0.kind)?;
        // One line, for logs: bodies of servers and the violations of a schema have several.
        let mut lines = self.0.message.lines().map(str::trim).filter(|line| !line.is_empty());
        f.write_str(lines.next().unwrap_or_default())?;
        lines.try_for_each(|line| write!(f, " {line}"))
    }
}

impl fmt::Debug for Error {
    /// As `Display`, with what the message does not say itself. Not the run's result, which is a whole conversation.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")?;
        let status = self.http_status().map(|status| status.to_string());
        let fields = [("provider", self.provider()), ("http_status", status.as_deref()), ("request_id", self.request_id())];
        let mentioned = |value: &str| self.message().contains(value);
        let more: Vec<String> = fields
            .into_iter()
            .filter_map(|(name, value)| value.filter(|value| !mentioned(value)).map(|value| format!("{name} {value}")))
            .collect();
        if more.is_empty() { Ok(()) } else { write!(f, " ({})", more.join(", ")) }
    }
}

impl std::error::Error for Error {
    /// The error of the network, the system, a parser or the host that this one comes from, where there is one. Clones share
    /// it; an error that was saved and loaded has none.
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_deref().map(|source| source as &(dyn std::error::Error + 'static))
    }
}

/// The text, or its beginning of so many characters.
pub fn shortened(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// The text of a caught panic.
pub fn panic_message(payload: &(dyn std::any::Any + Send)) -> String {
    if let Some(text) = payload.downcast_ref::<&str>() {
        (*text).to_owned()
    } else if let Some(text) = payload.downcast_ref::<String>() {
        text.clone()
    } else {
        "a panic without a message".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_is_one_short_line_of_what_is_known() {
        let error = Error::new(ErrorKind::Authentication, "acme answered 401: who are you?")
            .with_provider("acme")
            .with_http_status(401)
            .with_request_id("req_7");
        assert_eq!(format!("{error:?}"), "authentication: acme answered 401: who are you? (request_id req_7)");
        assert_eq!(format!("{:?}", Error::invalid_argument("n: wrong")), "invalid_argument: n: wrong");
        let error = Error::new(ErrorKind::Quota, "pay first").with_provider("scripted").with_http_status(402);
        assert_eq!(format!("{error:#?}"), "quota: pay first (provider scripted, http_status 402)");
    }

    #[test]
    fn display_is_one_line_and_the_source_is_kept_by_clones() {
        use std::error::Error as _;
        let why = std::io::Error::new(std::io::ErrorKind::NotFound, "no such file");
        let error = Error::new(ErrorKind::Io, "roots.pem: cannot be read:\n  no such file\n").with_source(why);
        assert_eq!(error.to_string(), "io: roots.pem: cannot be read: no such file");
        let source = error.clone();
        let source = source.source().and_then(|source| source.downcast_ref::<std::io::Error>());
        assert_eq!(source.map(std::io::Error::kind), Some(std::io::ErrorKind::NotFound));
        assert_eq!(error, Error::new(ErrorKind::Io, error.message()), "not part of its value");
    }

    #[test]
    fn more_is_a_part_of_the_sentence_or_another_sentence() {
        let and = |message: &str| Error::invalid_argument(message).and("ask again").message().to_owned();
        assert_eq!(and("not here"), "not here; ask again");
        assert_eq!(and("Not here. "), "Not here. Ask again");
        assert_eq!(and("did you mean \"x\"?"), "did you mean \"x\"? Ask again");
    }
}
