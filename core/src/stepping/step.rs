//! Actions and inputs of a loop that its host steps, as types: made from the table, `agent_loop_proto::table::steps`.

use std::sync::Arc;

use agent_loop_proto::hook_json::HookInput;
use agent_loop_proto::json_error::{read_value, shown};
use agent_loop_proto::json_reader::from_tagged;
use agent_loop_proto::steps_of;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use crate::error::Error;
use crate::event::Event;
use crate::model::ModelRequest;
use crate::result::RunResult;

macro_rules! host_actions {
    ($(
        $(#[doc = $doc:literal])* $variant:ident = $word:literal, $since:literal {
            $($(#[doc = $field_doc:literal])* $field:ident: $type:ty $(as $exact:ident)? $(= $field_since:literal)?,)*
        }
    )+) => {
        /// What the host is to do. It serializes to its JSON.
        #[derive(Debug, Clone, Serialize)]
        #[serde(tag = "type", rename_all = "snake_case")]
        pub enum HostAction {
            $($(#[doc = $doc])* $variant { $($(#[doc = $field_doc])* $field: $type,)* },)+
        }
    };
}

steps_of!(action, host_actions);

macro_rules! host_inputs {
    ($(
        $(#[doc = $doc:literal])* $variant:ident = $word:literal, $since:literal {
            $($(#[doc = $field_doc:literal])* $(@$optional:ident)? $field:ident: $type:ty $(as $exact:ident)?
            $(= $field_since:literal)?,)*
        }
    )+) => {
        /// What the host reports.
        #[derive(Debug, Clone, Deserialize)]
        #[serde(remote = "Self", rename = "strict", rename_all = "snake_case", deny_unknown_fields)]
        pub enum HostInput {
            $($(#[doc = $doc])* $variant { $($(#[doc = $field_doc])* $field: $type,)* },)+
        }
    };
}

steps_of!(input, host_inputs);

impl<'de> Deserialize<'de> for HostInput {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<HostInput, D::Error> {
        /// By the derived code.
        #[derive(Deserialize)]
        #[serde(transparent)]
        struct Derived(#[serde(with = "HostInput")] HostInput);
        let value = Value::deserialize(deserializer)?;
        from_tagged(&value, "type").map(|Derived(input)| input).map_err(D::Error::custom)
    }
}

/// What a host adds to a request to authenticate it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Auth {
    /// The header that has the key.
    pub header: String,
    /// What stands before the key in it: `Bearer ` or nothing.
    pub prefix: String,
    /// The environment variables in which an agent would look for the key.
    pub variables: Vec<String>,
    /// Whether the server may answer without a key.
    pub optional: bool,
}

impl HostInput {
    /// Reads an input in canonical JSON.
    ///
    /// # Errors
    /// `invalid_argument`: which input, which field of it is wrong, and how.
    pub fn from_json(value: &Value) -> Result<HostInput, Error> {
        if !value.is_object() {
            return Err(Error::invalid_argument(format!("input: expected an object with a type, got {}", shown(value))));
        }
        let kind = value.get("type").and_then(Value::as_str);
        let known = agent_loop_proto::table::steps::inputs().iter().any(|row| Some(row.word) == kind);
        let place = kind.filter(|_| known).unwrap_or("input");
        let input = read_value(value).map_err(|unread| unread.at(place).invalid_argument())?;
        // A result may be null, but it must be meant.
        if matches!(input, HostInput::ToolDone { result: None, error: None, .. }) && value.get("result").is_none() {
            let text = "tool_done: give result, what the tool has returned (null for nothing), or error, the text of its failure";
            return Err(Error::invalid_argument(text));
        }
        Ok(input)
    }
}
