//! Transcript repair: makes any transcript fit any model. It runs before every request; here it is public, for transcripts from
//! elsewhere, and to check one before it is used. [`read_history`] reads a stored one, [`import`] and [`export`] convert those
//! of other programs.
//!
//! ```
//! use agent_loop::{Message, ModelSpec, transcript};
//! let messages: Vec<Message> = serde_json::from_str(r#"[{"role": "user", "content": "hi"},
//!     {"role": "assistant", "content": [{"type": "tool_call", "id": "a b", "name": "t"}]}]"#).unwrap();
//! let messages: Vec<_> = messages.into_iter().map(std::sync::Arc::new).collect();
//! let constraints = transcript::constraints(&ModelSpec::parse("anthropic/claude-sonnet-4-5").unwrap()).unwrap();
//! let repaired = transcript::repair(&messages, &constraints);
//! assert_eq!(repaired.messages.len(), 3);
//! assert_eq!(repaired.repairs[0].text, "the call id \"a b\" became \"a_b\"");
//! ```

pub use agent_loop_proto::conversion::{Exported, Format, Imported, Loss, export};
pub use agent_loop_proto::message_reader::read_history;
pub use agent_loop_proto::quirks::{CallIds, ThinkingReplay};
#[cfg(feature = "__bindings")]
pub use agent_loop_proto::transcript::recent_start;
pub use agent_loop_proto::transcript::{Constraints, Repair, Repaired, check, estimate_tokens, recent, repair};

use agent_loop_proto::conversion::{self, Author};
use serde_json::Value;

use crate::error::Error;
use crate::provider::{self, ModelSpec};

/// Reads messages of another program: a list, or its text (of pi's sessions, the lines of the file). `model` is who wrote what
/// the model said, where the messages do not say it: its signatures are sent back only to that model.
///
/// ```
/// use agent_loop::transcript::{self, Format};
/// use serde_json::json;
///
/// let theirs = json!([{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hello"}]);
/// let read = transcript::import(Format::OpenaiChat, theirs.clone(), None)?;
/// assert_eq!((read.system_prompt.as_str(), read.messages[0].text().as_str()), ("Be brief.", "Hello"));
/// assert!(read.losses.is_empty());
///
/// let written = transcript::export(Format::OpenaiChat, &read.messages, &read.system_prompt);
/// assert_eq!(written.messages, theirs);
/// # Ok::<(), agent_loop::Error>(())
/// ```
///
/// # Errors
/// `invalid_argument`: what is no list of messages of this format, with the JSON pointer of what is wrong; a model that cannot be
/// used.
pub fn import(format: Format, messages: impl Into<Value>, model: Option<&ModelSpec>) -> Result<Imported, Error> {
    let author = model.map(constraints).transpose()?;
    let author = author.map(|made| Author { provider: made.provider, protocol: made.protocol, model: made.model });
    conversion::import(format, &messages.into(), author.as_ref())
}

/// What this model takes of a transcript.
///
/// # Errors
/// As setting the model would: an unknown provider without an address, an unknown protocol or quirk.
pub fn constraints(spec: &ModelSpec) -> Result<Constraints, Error> {
    if spec.provider == "scripted" {
        return Ok(Constraints::of_spec(spec, "scripted"));
    }
    let (spec, served) = provider::served(spec, None)?;
    Ok(served.constraints(&spec))
}
