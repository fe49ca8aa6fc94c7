//! Transcript repair: makes any transcript fit any model. It runs before every request; here it is public, for transcripts from
//! elsewhere, and to check one before it is used. [`read_history`] reads a stored one.
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

pub use agent_loop_proto::message_reader::read_history;
pub use agent_loop_proto::quirks::{CallIds, ThinkingReplay};
#[cfg(feature = "__bindings")]
pub use agent_loop_proto::transcript::recent_start;
pub use agent_loop_proto::transcript::{Constraints, Repair, Repaired, check, recent, repair};

use crate::error::Error;
use crate::provider::{self, ModelSpec};

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
