//! Headers that users give: what HTTP allows.

use reqwest::header::{HeaderName, HeaderValue};

use crate::error::Error;

/// A header as it is sent. Its value is not shown in logs.
///
/// # Errors
/// `invalid_argument`: the name or the value has characters that HTTP does not allow. The value is not part of the message.
pub(crate) fn header(name: &str, value: &str) -> Result<(HeaderName, HeaderValue), Error> {
    let wrong =
        |what: &str| Error::invalid_argument(format!("header {name:?}: the {what} has characters that HTTP does not allow"));
    let read = HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong("name"))?;
    let mut value = HeaderValue::from_str(value).map_err(|_| wrong("value"))?;
    value.set_sensitive(true);
    Ok((read, value))
}

/// # Errors
/// As [`header`].
pub(crate) fn check_header(name: &str, value: &str) -> Result<(), Error> {
    header(name, value).map(drop)
}
