//! What hooks are asked, to JSON, and what they answer, from JSON: for hosts of other languages.

use std::sync::Arc;

use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use crate::hook::{self, *};
use crate::hook_answers::FromJson;
use crate::message::Message;
use crate::result::RunResult;
use crate::suspension::Decision;

/// The input of any hook, for hosts of other languages. It serializes as [`crate::table::hooks`] declares.
#[derive(Debug, Clone)]
pub struct HookInput(pub Question);

impl HookInput {
    /// The number of the message that made the call which `before_tool_call` is asked about: the same for all of its calls,
    /// another one for the next message of the run. 0 for other hooks. For hosts that keep something for each call.
    pub fn batch(&self) -> usize {
        match &self.0 {
            // Where it is: it stays there as long as the transcript has it.
            Question::BeforeToolCall(call) => Arc::as_ptr(&call.message).addr(),
            _ => 0,
        }
    }
}

macro_rules! input_of_each_hook {
    ($($(#[doc = $doc:literal])* $kind:ident $name:ident: $input:ty => $output:ty,)+) => {
        impl Serialize for HookInput {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match &self.0 {
                    $(Question::$kind(input) => input.serialize_input(serializer),)+
                    Question::PrepareArguments { tool, arguments } | Question::NeedsApproval { tool, arguments } => {
                        ToolArguments { tool_name: tool, arguments }.serialize(serializer)
                    }
                }
            }
        }

        impl HookAnswer {
            /// Reads a hook's answer in canonical JSON.
            ///
            /// # Errors
            /// A text that says what is wrong with it.
            pub fn from_json(kind: HookKind, value: Value) -> Result<HookAnswer, String> {
                match kind { $(HookKind::$kind => <$output>::from_json(value).map(HookAnswer::$kind),)+ }
            }
        }
    };
}

crate::for_each_hook!(input_of_each_hook);

/// An input as an object. Fields of structs, not keys of maps: a binding may spell them in its own way.
trait SerializeInput {
    fn serialize_input<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error>;
}

impl SerializeInput for Vec<Arc<Message>> {
    fn serialize_input<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Messages { messages: self }.serialize(serializer)
    }
}

impl SerializeInput for String {
    fn serialize_input<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Provider { provider: self }.serialize(serializer)
    }
}

impl SerializeInput for () {
    fn serialize_input<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Nothing {}.serialize(serializer)
    }
}

impl SerializeInput for RunResult {
    fn serialize_input<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.serialize(serializer)
    }
}

macro_rules! serialize_inputs {
    ($(
        $(#[doc = $doc:literal])* $name:ident $parameter:ident, $since:literal { $($fields:tt)* }
    )+) => {
        $(impl SerializeInput for hook::$name {
            fn serialize_input<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                self.serialize(serializer)
            }
        })+
    };
}

crate::hook_inputs_of!(object, serialize_inputs);
crate::hook_inputs_of!(value, serialize_inputs);

#[derive(Serialize)]
struct Messages<'a> {
    messages: &'a [Arc<Message>],
}

#[derive(Serialize)]
struct Provider<'a> {
    provider: &'a str,
}

#[derive(Serialize)]
struct Nothing {}

#[derive(Serialize)]
struct ToolArguments<'a> {
    tool_name: &'a str,
    arguments: &'a Map<String, Value>,
}

impl HookInput {
    /// The input in canonical JSON.
    pub fn to_json(&self) -> String {
        // Nothing in an input can fail to serialize: all map keys are strings.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// The input as a JSON value.
    pub fn to_value(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }
}
