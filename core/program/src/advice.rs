//! What the user of a program can do about the error of a run, where that is known.

use agent_loop::{Error, ErrorKind};

/// An error with what to do about it.
pub(crate) fn with_advice(error: &Error) -> String {
    match error.kind() {
        ErrorKind::Authentication if error.message().contains("no key was sent") => format!(
            "{}\n  for a server of your own: agent auth login openai-compatible, and --model openai-compatible/ID; or api_key in \
             an agent.toml",
            error.message()
        ),
        ErrorKind::Authentication if error.message().starts_with("no API key for ") => {
            let stored = error.provider().map(|provider| format!("\n  or store one: agent auth login {provider}"));
            format!("{}{}", error.message(), stored.unwrap_or_default())
        }
        // One that says what to do needs no advice.
        ErrorKind::Authentication if !error.message().contains("agent auth login") => {
            format!("{}\n  is the key right? the command auth status says where it is from", error.message())
        }
        _ => error.message().to_owned(),
    }
}
