//! An access key, as it is written and where it is found.

use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};

use crate::error::{Error, ErrorKind};
use crate::transport::network::Environment;

/// An access key, perhaps of a session.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct AccessKey {
    pub(super) id: String,
    pub(super) secret: String,
    pub(super) session_token: Option<String>,
}

impl AccessKey {
    /// One that is written as a key, `ID:SECRET` or `ID:SECRET:SESSION_TOKEN`. Bedrock's own keys have no colon.
    pub(crate) fn parse(key: &str) -> Option<AccessKey> {
        let mut parts = key.splitn(3, ':').map(str::trim);
        let (id, secret) = (parts.next()?, parts.next()?);
        let session_token = parts.next().filter(|token| !token.is_empty()).map(str::to_owned);
        let is_id = !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        (is_id && !secret.is_empty()).then(|| AccessKey { id: id.to_owned(), secret: secret.to_owned(), session_token })
    }

    /// Its parts that no message may show.
    pub(crate) fn secrets(&self) -> impl Iterator<Item = &str> {
        [Some(self.secret.as_str()), self.session_token.as_deref()].into_iter().flatten()
    }
}

impl fmt::Debug for AccessKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AccessKey").field("id", &self.id).finish_non_exhaustive()
    }
}

/// The access key of the environment, else of the profile `AWS_PROFILE` (or `default`) in AWS's file of credentials. Not of other
/// sources, such as a sign-in or the metadata server of a machine: for these, `get_api_key` may answer what AWS's SDK gets.
///
/// # Errors
/// `authentication` for a file, or a profile that is named, which cannot be used.
pub(crate) fn find(environment: Environment<'_>) -> Result<Option<AccessKey>, Error> {
    let variable = |name: &str| environment(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty());
    if let (Some(id), Some(secret)) = (variable("AWS_ACCESS_KEY_ID"), variable("AWS_SECRET_ACCESS_KEY")) {
        return Ok(Some(AccessKey { id, secret, session_token: variable("AWS_SESSION_TOKEN") }));
    }
    let home = || variable(if cfg!(windows) { "USERPROFILE" } else { "HOME" });
    let (path, is_named) = match variable("AWS_SHARED_CREDENTIALS_FILE") {
        Some(path) => (PathBuf::from(path), true),
        None => match home() {
            Some(home) => (Path::new(&home).join(".aws").join("credentials"), false),
            None => return Ok(None),
        },
    };
    let named = variable("AWS_PROFILE");
    let profile = named.as_deref().unwrap_or("default");
    let wrong = |why: String| {
        let text = format!("AWS credentials: {:?} {why}", path.display().to_string());
        Err(Error::new(ErrorKind::Authentication, text))
    };
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && !is_named && named.is_none() => return Ok(None),
        Err(error) => {
            return wrong(format!(
                "cannot be read: {error}; make it readable, or set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
            ));
        }
    };
    match of_profile(&text, profile) {
        Some(key) => Ok(Some(key)),
        None if named.is_none() => Ok(None),
        None => wrong(format!(
            "has no access key for the profile {profile:?}, of AWS_PROFILE; add one, or let get_api_key return one, such as that \
             of a role"
        )),
    }
}

/// The access key of a profile: <https://docs.aws.amazon.com/sdkref/latest/guide/file-format.html>.
fn of_profile(text: &str, profile: &str) -> Option<AccessKey> {
    let mut values = HashMap::new();
    let mut is_inside = false;
    for line in text.lines().map(str::trim).filter(|line| !line.starts_with(['#', ';'])) {
        if let Some(name) = line.strip_prefix('[') {
            is_inside = name.split(']').next().is_some_and(|name| name.trim() == profile);
        } else if let (true, Some((name, value))) = (is_inside, line.split_once('=')) {
            values.insert(name.trim().to_ascii_lowercase(), value.trim().to_owned());
        }
    }
    let mut value = |name: &str| values.remove(name).filter(|value| !value.is_empty());
    Some(AccessKey {
        id: value("aws_access_key_id")?,
        secret: value("aws_secret_access_key")?,
        session_token: value("aws_session_token"),
    })
}
