//! Why a server cannot be reached, and what to do, from the errors of rmcp. Never with an address, whose query may have a key.

use std::error::Error as StdError;
use std::io;

use rmcp::service::{ClientInitializeError, ServiceError};
use rmcp::transport::streamable_http_client::StreamableHttpError;

use crate::error::{Error, ErrorKind};

fn no_access() -> Error {
    Error::new(ErrorKind::Authentication, "it refuses access: give headers with a valid authorization")
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
