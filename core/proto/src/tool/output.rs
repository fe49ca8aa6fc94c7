//! What a tool returned: read from its JSON, and as events have it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::result_shape::FullResult;
use crate::depth;
use crate::message::{ContentBlock, joined_text};

const WHAT: &str = "the tool's result";
/// What to do with JSON that only looks like a full result.
const PLAIN: &str = "(return JSON that is no full result as text)";

/// A tool's output as events have it: `{content, details, terminate}`.
///
/// ```
/// # use agent_loop_proto as agent_loop;
/// use agent_loop::message::ContentBlock;
/// use agent_loop::tool::ToolOutput;
/// use serde_json::json;
///
/// let mut output = ToolOutput::new(vec![ContentBlock::text("2 files")]);
/// output.details = json!(["a.txt", "b.txt"]);
/// // A tool returns it as JSON, or a plain value, which is its content.
/// let returned = serde_json::to_value(&output)?;
/// # let _ = returned;
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub struct ToolOutput {
    /// `text`, `image`, `document` and `audio` blocks for the model.
    pub content: Vec<ContentBlock>,
    /// Anything for the application.
    pub details: Value,
    /// Whether the run may end here.
    pub terminate: bool,
}

impl ToolOutput {
    /// These blocks for the model, and nothing for the application.
    pub fn new(content: Vec<ContentBlock>) -> ToolOutput {
        ToolOutput { content, details: Value::Null, terminate: false }
    }

    /// All text, joined with nothing between the blocks.
    pub fn text(&self) -> String {
        joined_text(&self.content)
    }

    /// The answer of a failed call.
    pub fn error(text: impl Into<String>) -> ToolOutput {
        ToolOutput { content: vec![ContentBlock::text(text)], details: Value::Null, terminate: false }
    }

    /// A tool's value, and whether the tool itself marked it as an error. An object whose `content` is an array of blocks is a
    /// full result; null is empty; a string is text; anything else is compact JSON text.
    ///
    /// A full result with a field that is wrong, and a value that is too deep to be kept, is an error, which says so.
    pub fn from_value(value: Value) -> (ToolOutput, bool) {
        ToolOutput::read(value).unwrap_or_else(|why| (ToolOutput::error(why), true))
    }

    fn read(value: Value) -> Result<(ToolOutput, bool), String> {
        ToolOutput::check_depth(&value)?;
        let plain = |content| (ToolOutput { content, details: Value::Null, terminate: false }, false);
        Ok(match value {
            Value::Null => plain(Vec::new()),
            Value::String(text) => plain(vec![ContentBlock::text(text)]),
            Value::Object(mut map) => match FullResult::of(&map).map_err(|why| format!("{WHAT}: {why} {PLAIN}"))? {
                Some(FullResult { content, is_error, terminate }) => {
                    (ToolOutput { content, details: map.remove("details").unwrap_or(Value::Null), terminate }, is_error)
                }
                None => plain(vec![ContentBlock::text(Value::Object(map).to_string())]),
            },
            other => plain(vec![ContentBlock::text(other.to_string())]),
        })
    }

    /// Refuses a value that is meant as a full result and is none, for a host that reports it to who answers.
    ///
    /// # Errors
    /// Which field is wrong.
    #[doc(hidden)]
    pub fn check(value: &Value) -> Result<(), String> {
        match value {
            Value::Object(map) => FullResult::of(map).map(drop).map_err(|why| format!("{why} {PLAIN}")),
            _ => Ok(()),
        }
    }

    /// Refuses a tool's value that is too deep to be kept; the parts of a full result are values by themselves.
    pub(crate) fn check_depth(value: &Value) -> Result<(), String> {
        match value {
            Value::Object(map) if map.get("content").is_some_and(Value::is_array) => {
                map.iter().try_for_each(|(name, part)| depth::check(&format!("{WHAT}: {name}"), part))
            }
            plain => depth::check(WHAT, plain),
        }
    }
}
