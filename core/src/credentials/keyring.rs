//! The system's keyring, by the crate of that name.

use std::sync::mpsc;
use std::time::Duration;

use keyring::{Entry, Error as KeyringError};

use super::no_answer::NoAnswer;

/// The name of our entries, beside the provider's.
const SERVICE: &str = "agent-loop";

/// How long an answer may take: a keyring that is locked asks the user first.
const LIMIT: Duration = Duration::from_secs(60);

pub(super) fn read(provider: &str) -> Result<Option<String>, NoAnswer> {
    ask(provider, |entry| match entry.get_password() {
        Ok(text) => Ok(Some(text)),
        Err(KeyringError::NoEntry) => Ok(None),
        Err(error) => Err(error),
    })
}

pub(super) fn write(provider: &str, text: &str) -> Result<(), NoAnswer> {
    let text = text.to_owned();
    ask(provider, move |entry| entry.set_password(&text))
}

/// Whether there was one.
pub(super) fn remove(provider: &str) -> Result<bool, NoAnswer> {
    ask(provider, |entry| match entry.delete_credential() {
        Ok(()) => Ok(true),
        Err(KeyringError::NoEntry) => Ok(false),
        Err(error) => Err(error),
    })
}

/// Asks on a thread of its own, which goes on waiting when we do not.
fn ask<T: Send + 'static>(
    provider: &str,
    question: impl FnOnce(&Entry) -> Result<T, KeyringError> + Send + 'static,
) -> Result<T, NoAnswer> {
    let (sender, receiver) = mpsc::channel();
    let provider = provider.to_owned();
    let work = move || {
        let answer = Entry::new(SERVICE, &provider).and_then(|entry| question(&entry));
        // Nobody may be left to take it.
        let _ = sender.send(answer);
    };
    let started = std::thread::Builder::new().name("keyring".to_owned()).spawn(work);
    started.map_err(|error| NoAnswer { why: format!("no thread to ask it on: {error}"), is_late: false })?;
    match receiver.recv_timeout(LIMIT) {
        Ok(answer) => answer.map_err(|error| NoAnswer { why: why(&error), is_late: false }),
        Err(mpsc::RecvTimeoutError::Timeout) => {
            let why = format!("no answer within {} s; is it locked, and does it ask for its password?", LIMIT.as_secs());
            Err(NoAnswer { why, is_late: true })
        }
        Err(mpsc::RecvTimeoutError::Disconnected) => Err(NoAnswer { why: "it could not be asked".to_owned(), is_late: false }),
    }
}

/// What is wrong, without anything of the entry: its `Debug` output has the bytes of one that is no text.
fn why(error: &KeyringError) -> String {
    match error {
        KeyringError::PlatformFailure(error) | KeyringError::NoStorageAccess(error) => error.to_string(),
        KeyringError::BadEncoding(_) => "the entry is no text".to_owned(),
        other => other.to_string(),
    }
}
