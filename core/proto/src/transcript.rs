//! Transcript repair: makes any transcript fit any model, at the level of canonical messages. It runs before every request; it is
//! public for transcripts from elsewhere, and to check one before it is used.
//!
//! Messages that failed are left out, with the results of their calls. Each call has one result, right behind the message that
//! made it and in the order of the calls; a missing one is replaced by an error result, and results without a call are left out.
//! Thinking goes only to the model that wrote it (else it becomes text, or is dropped when hidden or empty), and so do signatures
//! and opaque blocks. Ids of calls are made valid for the model, the same way in calls and results, and depending only on what
//! stands before them, so that what a provider has cached stays valid; names of tools that no server takes are made valid, too.
//! Images become a line of text for a model that reads none, or none of their kind. Empty blocks and messages are dropped.
//!
//! Not done here, as it needs the wire format: merging neighbours of one role, and images in results where only text is taken.
//!
//! ```
//! use agent_loop_proto::message::Message;
//! use agent_loop_proto::model_spec::ModelSpec;
//! use agent_loop_proto::provider::Served;
//! use agent_loop_proto::transcript;
//! let transcript: Vec<Message> = serde_json::from_str(r#"[{"role": "user", "content": "hi"},
//!     {"role": "assistant", "content": [{"type": "tool_call", "id": "a b", "name": "t"}]}]"#).unwrap();
//! let transcript: Vec<_> = transcript.into_iter().map(std::sync::Arc::new).collect();
//! let model = ModelSpec::parse("anthropic/claude-sonnet-4-5").unwrap();
//! let constraints = Served::of(&model, None, &|_| None).unwrap().constraints(&model);
//! let repaired = transcript::repair(&transcript, &constraints);
//! assert_eq!(repaired.messages.len(), 3);
//! assert_eq!(repaired.repairs[0].text, "the call id \"a b\" became \"a_b\"");
//! ```

mod blocks;
mod cache;
mod constraints;
mod fitting;
mod ids;
mod log;
mod recent;
mod repairer;
mod results;
mod summary;
#[cfg(test)]
mod tests;
mod tokens;

use std::sync::Arc;

pub use self::cache::RepairCache;
pub use self::constraints::Constraints;
pub(crate) use self::fitting::CONTEXT_LIMIT;
#[doc(hidden)]
pub use self::fitting::{FitTo, Fitted, Fitting};
pub use self::log::Repair;
pub use self::recent::recent;
#[doc(hidden)]
pub use self::recent::recent_start;
pub use self::repairer::Repaired;
use self::repairer::Repairer;
pub(crate) use self::results::{READ_RESULT, part_of_result};
pub(crate) use self::summary::{Summarized, as_text, summary_message};
pub use self::tokens::estimate_tokens;
pub(crate) use self::tokens::{of_bytes as tokens_of_bytes, of_text as tokens_of_text};
use crate::message::Message;

/// The repairs that the transcript needs to fit; none when it fits.
pub fn check(transcript: &[Arc<Message>], fit: &Constraints) -> Vec<Repair> {
    repair(transcript, fit).repairs
}

/// The transcript made to fit. Messages of custom roles are left out without a report, as a model never sees them; the
/// roles `system`, `developer`, `tool`, `function` and `model`, which come from another format, are reported.
pub fn repair(transcript: &[Arc<Message>], fit: &Constraints) -> Repaired {
    let mut repairer = Repairer::new(fit.clone());
    for message in transcript {
        repairer.add(message);
    }
    repairer.repaired()
}

/// The same as [`repair`], at the cost of the messages that came since the last call with this cache. A message that is the same
/// `Arc` as then is taken as unchanged, and what became of it is the same `Arc` again.
pub fn repair_with(cache: &mut RepairCache, transcript: &[Arc<Message>], fit: &Constraints) -> Repaired {
    let (repairer, rest) = cache.repairer_for(transcript, fit);
    for message in rest {
        repairer.add(message);
    }
    repairer.repaired()
}
