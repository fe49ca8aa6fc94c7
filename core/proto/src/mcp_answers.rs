//! What the hooks answer that servers of the Model Context Protocol ask.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::hook_answers::{FromJson, field, fields};
use crate::json_error::shown;

/// An answer to what a server of MCP asks a model.
///
/// ```
/// # use agent_loop_proto as agent_loop;
/// use agent_loop::hook::McpSampled;
///
/// assert_eq!(McpSampled::text("Oslo"), McpSampled::Text { text: "Oslo".into() });
/// ```
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub enum McpSampled {
    /// It gets none: an error that says so.
    #[default]
    Refuse,
    /// A text, as the whole answer.
    Text {
        /// The text.
        text: String,
    },
    /// The result as MCP has it: `content`, and `role`, `model` and `stopReason` where they are known.
    Result {
        /// The result.
        result: Map<String, Value>,
    },
}

impl McpSampled {
    /// A text, as the whole answer.
    pub fn text(text: impl Into<String>) -> McpSampled {
        McpSampled::Text { text: text.into() }
    }
}

impl FromJson for McpSampled {
    fn from_json(value: Value) -> Result<McpSampled, String> {
        match value {
            Value::Null => Ok(McpSampled::Refuse),
            Value::String(text) => Ok(McpSampled::Text { text }),
            Value::Object(result) if result.contains_key("content") => Ok(McpSampled::Result { result }),
            Value::Object(_) => Err("content: missing; a result as MCP has it is {\"content\": …, \"model\": …}".to_owned()),
            other => Err(format!("expected a text, or an object with content, got {}", shown(&other))),
        }
    }
}

/// An answer to what a server of MCP asks the user.
///
/// ```
/// # use agent_loop_proto as agent_loop;
/// use agent_loop::hook::McpElicited;
/// use serde_json::json;
///
/// let content = json!({ "city": "Oslo" }).as_object().cloned().unwrap_or_default();
/// assert_ne!(McpElicited::Accept { content }, McpElicited::default());
/// ```
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub enum McpElicited {
    /// The user has not wanted to give it.
    #[default]
    Decline,
    /// The user has given it.
    Accept {
        /// What was given, as the schema has it.
        content: Map<String, Value>,
    },
    /// The user has left without a decision.
    Cancel,
}

impl FromJson for McpElicited {
    fn from_json(value: Value) -> Result<McpElicited, String> {
        if value.is_null() {
            return Ok(McpElicited::Decline);
        }
        let mut map = fields(value, &["action", "content"])?;
        let action: Option<String> = field(&mut map, "action", "\"accept\", \"decline\" or \"cancel\"")?;
        let content = field(&mut map, "content", "an object")?;
        match (action.as_deref(), content) {
            (Some("accept"), Some(content)) => Ok(McpElicited::Accept { content }),
            (Some("accept"), None) => Err("content: missing; what is accepted has it, an object".to_owned()),
            (Some("decline" | "cancel"), Some(_)) => Err("content: only what is accepted has it".to_owned()),
            (Some("decline"), None) => Ok(McpElicited::Decline),
            (Some("cancel"), None) => Ok(McpElicited::Cancel),
            (Some(other), _) => Err(format!("action: expected \"accept\", \"decline\" or \"cancel\", got {other:?}")),
            (None, _) => Err("action: missing; it is \"accept\", \"decline\" or \"cancel\"".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn answers_to_servers_are_read() {
        assert_eq!(McpSampled::from_json(Value::Null), Ok(McpSampled::Refuse));
        assert_eq!(McpSampled::from_json(json!("a")), Ok(McpSampled::text("a")));
        assert!(McpSampled::from_json(json!({ "content": { "type": "text", "text": "a" } })).is_ok());
        assert_eq!(McpElicited::from_json(Value::Null), Ok(McpElicited::Decline));
        assert_eq!(McpElicited::from_json(json!({ "action": "cancel" })), Ok(McpElicited::Cancel));
        let content = json!({ "a": 1 });
        let accepted = McpElicited::Accept { content: content.as_object().unwrap().clone() };
        assert_eq!(McpElicited::from_json(json!({ "action": "accept", "content": content })), Ok(accepted));
    }

    #[test]
    fn wrong_answers_to_servers_say_what_is_wrong() {
        for (given, text) in [
            (json!(1), "expected a text, or an object with content, got 1"),
            (json!({}), "content: missing; a result as MCP has it is {\"content\": …, \"model\": …}"),
        ] {
            assert_eq!(McpSampled::from_json(given), Err(text.to_owned()));
        }
        for (given, text) in [
            (json!({}), "action: missing; it is \"accept\", \"decline\" or \"cancel\""),
            (json!({ "action": "yes" }), "action: expected \"accept\", \"decline\" or \"cancel\", got \"yes\""),
            (json!({ "action": "accept" }), "content: missing; what is accepted has it, an object"),
            (json!({ "action": "decline", "content": {} }), "content: only what is accepted has it"),
        ] {
            assert_eq!(McpElicited::from_json(given), Err(text.to_owned()));
        }
    }
}
