//! The ids of sessions, their names as files, and the errors that name them.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::error::{Error, ErrorKind};

/// The longest id, in bytes: it is part of the name of a file.
const LONGEST_ID: usize = 200;

/// Milliseconds since the epoch.
pub(super) fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Refuses what cannot be a session's id.
pub(super) fn check_id(id: &str) -> Result<(), Error> {
    let wrong = match () {
        () if id.is_empty() => "it is empty",
        () if id.len() > LONGEST_ID => "it is longer than 200 bytes",
        () if id.chars().any(char::is_control) => "it has a control character",
        () => return Ok(()),
    };
    Err(Error::invalid_argument(format!("session: the id {id:?} cannot be used: {wrong}")))
}

/// The name of a session's files, without their ends: its id, with all that some file system treats in its own way as `%` and two
/// digits.
pub(super) fn file_name(id: &str) -> String {
    let mut name = String::with_capacity(id.len());
    for (at, byte) in id.bytes().enumerate() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'-' => name.push(char::from(byte)),
            b'.' if at > 0 => name.push('.'),
            other => name.push_str(&format!("%{other:02x}")),
        }
    }
    name
}

/// The id of which this is the file name.
pub(super) fn id_of_file(name: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(name.len());
    let mut rest = name.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        rest = match first {
            b'%' => {
                let (digits, after) = after.split_at_checked(2)?;
                bytes.push(u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?);
                after
            }
            other => {
                bytes.push(*other);
                after
            }
        };
    }
    String::from_utf8(bytes).ok()
}

/// The session is open elsewhere.
pub(super) fn held(id: &str, holder: &str, left_ms: u64) -> Error {
    let text = format!(
        "the session {id:?} is open elsewhere, by {holder}, and has one writer at a time: close it there, or wait until its \
         lease ends, in {left_ms} ms unless it is renewed"
    );
    Error::new(ErrorKind::Busy, text)
}

/// The lease was lost to another holder.
pub(super) fn lost(id: &str, now: Option<&str>) -> Error {
    let text = match now {
        Some(holder) => format!(
            "the session {id:?} was opened by {holder} after the lease of this one had ended, and nothing more is written \
             here: open it again when it is closed there"
        ),
        None => format!("the lease on the session {id:?} has ended, and nothing more is written here: open the session again"),
    };
    Error::new(ErrorKind::Busy, text)
}

/// The process has forked: the store's files, connections and locks are those of the parent.
pub(super) fn forked(store: &str) -> Error {
    Error::new(ErrorKind::InvalidState, format!("{store} was opened before the process forked: open it again in the child"))
}

/// There is no such session.
pub(super) fn missing(id: &str, store: &str) -> Error {
    Error::new(ErrorKind::NotFound, format!("there is no session {id:?} in {store}; list gives those that there are"))
}

/// The system refused something.
pub(super) fn io(what: &str, error: std::io::Error) -> Error {
    Error::new(ErrorKind::Io, format!("{what}: {error}")).with_source(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_name_gives_its_id_back() {
        for id in ["a", "user-7", ".", "..", "a/b", "ä€", "a%b", "A.b_c", " ", "\\", "con:1"] {
            let name = file_name(id);
            assert!(!name.starts_with('.') && !name.contains(['/', '\\', ':', ' ']), "{name}");
            assert_eq!(id_of_file(&name).as_deref(), Some(id));
        }
        assert_eq!(id_of_file("%zz"), None);
    }

    #[test]
    fn an_id_says_why_it_cannot_be_used() {
        assert!(check_id("user-7").is_ok());
        for (id, why) in [("", "empty"), ("a\nb", "control"), (&"x".repeat(201), "200")] {
            let error = check_id(id).unwrap_err();
            assert!(error.kind() == ErrorKind::InvalidArgument && error.message().contains(why), "{error}");
        }
    }
}
