//! Why a server cannot be reached, and what to do, from the errors of rmcp. Never with an address, whose query may have a key.

use std::error::Error as StdError;
use std::io;

use rmcp::service::{ClientInitializeError, ServiceError};
use rmcp::transport::auth::AuthError;
use rmcp::transport::streamable_http_client::StreamableHttpError;

use crate::error::{Error, ErrorKind};
use crate::transport::client::sources;

pub(super) fn no_access() -> Error {
    Error::new(ErrorKind::Authentication, "it refuses access: give headers with a valid authorization, or oauth for a sign-in")
}

/// What a server demands that refuses access.
#[derive(Debug, Clone)]
pub(super) struct Challenge {
    /// The header `WWW-Authenticate`; empty without one.
    pub(super) header: String,
    /// What is asked for in addition, if that is all that is missing.
    pub(super) scope: Option<String>,
}

/// A failure, and what the server demands if it has refused access.
#[derive(Debug)]
pub(super) struct Failed {
    pub(super) error: Error,
    pub(super) challenge: Option<Challenge>,
}

impl From<Error> for Failed {
    fn from(error: Error) -> Failed {
        Failed { error, challenge: None }
    }
}

impl Failed {
    /// With the error of rmcp that it comes from.
    pub(super) fn with(error: Error, cause: &(dyn StdError + 'static)) -> Failed {
        Failed { error, challenge: challenge(cause) }
    }
}

/// What the server demands, if this is the error of a server that has refused access.
pub(super) fn challenge(error: &(dyn StdError + 'static)) -> Option<Challenge> {
    match http_error(error)? {
        StreamableHttpError::AuthRequired(refused) => {
            Some(Challenge { header: refused.www_authenticate_header.clone(), scope: None })
        }
        // Other answers with the status 403 are made into this, too.
        StreamableHttpError::InsufficientScope(refused) if refused.www_authenticate_header.contains("insufficient_scope") => {
            let scope = refused.required_scope.clone();
            Some(Challenge { header: refused.www_authenticate_header.clone(), scope })
        }
        StreamableHttpError::UnexpectedServerResponse(text) if text.starts_with("HTTP 401") => {
            Some(Challenge { header: String::new(), scope: None })
        }
        StreamableHttpError::Auth(error) if is_over(error) => Some(Challenge { header: String::new(), scope: None }),
        _ => None,
    }
}

/// Whether the tokens cannot be renewed, and only a sign-in helps.
fn is_over(error: &AuthError) -> bool {
    match error {
        AuthError::AuthorizationRequired | AuthError::TokenRefreshRejected(_) => true,
        // The authorization server has answered, and refuses this client.
        AuthError::TokenRefreshFailed(why) => why.starts_with("Server returned error response"),
        // Another process has got the tokens.
        AuthError::InternalError(why) => why == "OAuth client not configured",
        _ => false,
    }
}

/// The longest text of a service in an error, in characters.
const LONGEST: usize = 300;

/// A sign-in that fails.
pub(super) fn of_authorization(error: &AuthError) -> Error {
    let kind = match error {
        AuthError::CredentialStoreError(text) => return Error::new(ErrorKind::Io, text.clone()),
        AuthError::HttpError(_) | AuthError::DiscoveryRequestFailed { .. } | AuthError::TokenRefreshFailed(_) => {
            ErrorKind::Connection
        }
        _ => ErrorKind::Authentication,
    };
    let mut texts: Vec<String> = sources(error).map(ToString::to_string).collect();
    // Some errors repeat that of their cause.
    texts.dedup_by(|cause, outer| outer.ends_with(&**cause));
    Error::new(kind, format!("oauth: {}", shortened(&texts.join(": "))))
}

/// A text of a service, for an error: a model may read it, and it may be a whole page.
pub(super) fn shortened(text: &str) -> String {
    let shown: String = text.chars().take(LONGEST).flat_map(char::escape_debug).collect();
    let rest = if text.chars().nth(LONGEST).is_some() { "…" } else { "" };
    format!("{shown}{rest}")
}

fn http_error<'a>(error: &'a (dyn StdError + 'static)) -> Option<&'a StreamableHttpError<reqwest::Error>> {
    // Its own error is no source of it.
    let mut error = match error.downcast_ref::<ClientInitializeError>() {
        Some(ClientInitializeError::TransportError { error, .. }) => &*error.error as &(dyn StdError + 'static),
        _ => error,
    };
    loop {
        if let Some(http) = error.downcast_ref() {
            return Some(http);
        }
        error = error.source()?;
    }
}

/// With what it answers.
fn no_server(answer: &str) -> Error {
    let text = "it does not answer as an MCP server does; is it one, and is the path of its url right?";
    Error::new(ErrorKind::Connection, format!("{text}{answer}"))
}

fn connection(text: impl Into<String>) -> Error {
    Error::new(ErrorKind::Connection, text)
}

/// A process that has ended before it has answered.
pub(super) const ENDED: &str = "it ended before it was ready";

/// A program that cannot be started.
pub(super) fn of_program(command: &str, has_folder: bool, error: io::Error) -> Error {
    let why = match error.kind() {
        io::ErrorKind::NotFound if has_folder => "it, or the folder cwd, does not exist".to_owned(),
        io::ErrorKind::NotFound if command.contains(' ') => {
            "there is none of that name; give its arguments in args, each as a text of its own".to_owned()
        }
        io::ErrorKind::NotFound => "there is none of that name; install it, or give its path".to_owned(),
        _ => error.to_string(),
    };
    Error::new(ErrorKind::Io, format!("the program {command:?} cannot be started: {why}")).with_source(error)
}

/// A handshake that fails.
pub(super) fn of_handshake(error: &ClientInitializeError) -> Error {
    if error.is_authorization_required() {
        return no_access();
    }
    match error {
        ClientInitializeError::ConnectionClosed(_) => connection(ENDED),
        ClientInitializeError::TransportError { error, .. } if is_closed(&*error.error) => connection(ENDED),
        ClientInitializeError::TransportError { error, .. } => of(&*error.error),
        ClientInitializeError::JsonRpcError(refused) => {
            connection(format!("it refuses the connection: {} ({})", refused.message, refused.code.0))
        }
        ClientInitializeError::ExpectedInitResponse(_) | ClientInitializeError::ExpectedInitResult(_) => no_server(""),
        error => of(error),
    }
}

/// A request that fails.
pub(super) fn of_request(error: &ServiceError) -> Error {
    match error {
        error if error.is_authorization_required() => no_access(),
        ServiceError::TransportClosed => connection("it has closed the connection"),
        error => of(error),
    }
}

/// Whether a process has closed its standard input.
fn is_closed(error: &(dyn StdError + 'static)) -> bool {
    let io = error.source().and_then(|cause| cause.downcast_ref::<io::Error>());
    io.is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

/// From the innermost cause, which says most.
fn of(error: &(dyn StdError + 'static)) -> Error {
    let mut error = error;
    loop {
        if let Some(http) = error.downcast_ref::<StreamableHttpError<reqwest::Error>>() {
            return of_http(http);
        }
        match error.source() {
            Some(cause) => error = cause,
            None => return connection(error.to_string()),
        }
    }
}

fn of_http(error: &StreamableHttpError<reqwest::Error>) -> Error {
    match error {
        StreamableHttpError::Client(error) => of_client(error),
        StreamableHttpError::Auth(error) => of_authorization(error),
        StreamableHttpError::AuthRequired(_) | StreamableHttpError::InsufficientScope(_) => no_access(),
        StreamableHttpError::UnexpectedServerResponse(text) if text.starts_with("HTTP 401") || text.starts_with("HTTP 403") => {
            no_access()
        }
        StreamableHttpError::UnexpectedServerResponse(text) => no_server(&format!(" It answered: {text}")),
        StreamableHttpError::UnexpectedContentType(_) | StreamableHttpError::Deserialize(_) => no_server(""),
        error => connection(error.to_string()),
    }
}

/// Of reqwest: the innermost cause, without the address.
fn of_client(error: &reqwest::Error) -> Error {
    let mut cause: &(dyn StdError + 'static) = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    let why = match cause.is::<reqwest::Error>() {
        true => "a request failed".to_owned(),
        false => cause.to_string(),
    };
    let what = if error.is_connect() { "no connection to its url: " } else { "" };
    connection(format!("{what}{why}"))
}
