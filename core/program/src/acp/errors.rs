//! What an editor reads of a failure: the text itself, as editors show the message and not its data.

use agent_client_protocol::v1::schema::SessionId;
use agent_client_protocol::{Error, ErrorCode};
use agent_loop::ErrorKind;
use serde_json::json;

use crate::failure::Failure;

/// An error of the agent.
pub(super) fn of(error: &agent_loop::Error) -> Error {
    let code = match error.kind() {
        ErrorKind::InvalidArgument => ErrorCode::INVALID_PARAMS,
        ErrorKind::Authentication => ErrorCode::AUTH_REQUIRED,
        _ => ErrorCode::INTERNAL_ERROR,
    };
    Error::new(code, error.message()).data(json!({ "kind": error.kind().as_str() }))
}

/// A failure of the program.
pub(super) fn failed(failure: &Failure) -> Error {
    Error::new(ErrorCode::INTERNAL_ERROR, &*failure.text)
}

/// There is no model, mostly as there is no key.
pub(super) fn no_model(failure: &Failure) -> Error {
    Error::new(ErrorCode::AUTH_REQUIRED, &*failure.text)
}

/// What was asked cannot be.
pub(super) fn wrong(text: impl Into<String>) -> Error {
    Error::new(ErrorCode::INVALID_PARAMS, text)
}

/// It cannot be now.
pub(super) fn not_now(text: &str) -> Error {
    Error::new(ErrorCode::INVALID_REQUEST, text)
}

pub(super) fn unknown_session(id: &SessionId) -> Error {
    let text = format!("there is no session {:?} here; session/new begins one, session/load opens a stored one", &*id.0);
    Error::new(ErrorCode::RESOURCE_NOT_FOUND, text).data(json!({ "sessionId": id }))
}
