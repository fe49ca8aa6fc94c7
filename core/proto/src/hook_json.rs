//! What hooks are asked, to JSON, and what they answer, from JSON: for hosts of other languages.

use std::sync::Arc;

use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};

use crate::did_you_mean::{Spelling, check_names};
use crate::hook::{self, HookKind, HookOutput, IntoHookOutput, Question, ToolDecision, ToolOverride, TurnChange};
use crate::message::{ContentBlock, Message, Prompt};
use crate::model_spec::ModelSpec;
use crate::result::RunResult;
use crate::table::options::{THINKING_LEVELS, Type};

/// The input of any hook, for hosts of other languages. It serializes as [`crate::table::hooks`] declares.
#[derive(Debug, Clone)]
pub struct HookInput(pub Question);

macro_rules! input_of_each_hook {
    ($($(#[doc = $doc:literal])* $kind:ident $name:ident: $input:ty => $output:ty,)+) => {
        impl Serialize for HookInput {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match &self.0 {
                    $(Question::$kind(input) => input.serialize_input(serializer),)+
                    Question::PrepareArguments { tool, arguments } => {
                        ToolArguments { tool_name: tool, arguments }.serialize(serializer)
                    }
                }
            }
        }

        impl HookOutput {
            /// Reads a hook's answer in canonical JSON.
            ///
            /// # Errors
            /// A text that says what is wrong with it.
            pub fn from_json(kind: HookKind, value: Value) -> Result<HookOutput, String> {
                match kind { $(HookKind::$kind => <$output>::from_json(value).map(IntoHookOutput::into_output),)+ }
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

trait FromJson: Sized {
    fn from_json(value: Value) -> Result<Self, String>;
}

/// The object's fields, all of them known; null is an empty one.
fn fields(value: Value, known: &[&str]) -> Result<Map<String, Value>, String> {
    match value {
        Value::Null => Ok(Map::new()),
        Value::Object(map) => match check_names("field", &map, known) {
            Ok(()) => Ok(map),
            Err(error) => Err(error.message().to_owned()),
        },
        other => Err(format!("expected null or an object of {}, got {other}", known.join(", "))),
    }
}

fn field<T: for<'a> Deserialize<'a>>(map: &mut Map<String, Value>, name: &str, wanted: &str) -> Result<Option<T>, String> {
    match map.remove(name) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => T::deserialize(&value).map(Some).map_err(|_| format!("{name}: expected {wanted}, got {value}")),
    }
}

/// Of hooks that decide nothing: any answer.
impl FromJson for () {
    fn from_json(_value: Value) -> Result<(), String> {
        Ok(())
    }
}

impl FromJson for bool {
    fn from_json(value: Value) -> Result<bool, String> {
        match value {
            Value::Null => Ok(false),
            Value::Bool(answer) => Ok(answer),
            other => Err(format!("expected true or false, got {other}")),
        }
    }
}

impl FromJson for Option<String> {
    fn from_json(value: Value) -> Result<Option<String>, String> {
        match value {
            Value::Null => Ok(None),
            Value::String(text) => Ok(Some(text)),
            // Not shown: it may be a key in a wrapping.
            _ => Err("expected a text or null".to_owned()),
        }
    }
}

impl FromJson for Option<Map<String, Value>> {
    fn from_json(value: Value) -> Result<Self, String> {
        match value {
            Value::Null => Ok(None),
            Value::Object(map) => Ok(Some(map)),
            other => Err(format!("expected an object or null, got {other}")),
        }
    }
}

impl FromJson for Option<Vec<Arc<Message>>> {
    fn from_json(value: Value) -> Result<Self, String> {
        match value {
            Value::Null => Ok(None),
            Value::Array(list) => messages(list).map(Some),
            other => Err(format!("expected an array of messages or null, got {other}")),
        }
    }
}

impl FromJson for Vec<Message> {
    fn from_json(value: Value) -> Result<Vec<Message>, String> {
        match value {
            Value::Null => Ok(Vec::new()),
            Value::Array(list) if list.iter().all(|item| item.is_string() || item.get("role").is_some()) => {
                let read = |(i, item)| match item {
                    Value::String(text) => Ok(Message::user(text, 0)),
                    other => serde_json::from_value(other).map_err(|e| format!("[{i}]: {e}")),
                };
                list.into_iter().enumerate().map(read).collect()
            }
            other => Prompt::from_json(other).map(|prompt| prompt.0).map_err(|error| error.message().to_owned()),
        }
    }
}

impl FromJson for ToolDecision {
    fn from_json(value: Value) -> Result<ToolDecision, String> {
        let mut map = fields(value, &["block", "reason", "arguments"])?;
        let block = field(&mut map, "block", "true or false")?.unwrap_or(false);
        let reason: Option<String> = field(&mut map, "reason", "a text")?;
        let arguments = field(&mut map, "arguments", "an object")?;
        // What is half said must not let a call through.
        match (block, reason, arguments) {
            (true, reason, None) => {
                Ok(ToolDecision::Block { reason: reason.unwrap_or_else(|| "the call was blocked".to_owned()) })
            }
            (true, _, Some(_)) => Err("a call cannot be both blocked and given new arguments".to_owned()),
            (false, Some(_), _) => Err("there is a reason, but no \"block\": true".to_owned()),
            (false, None, Some(arguments)) => Ok(ToolDecision::Replace { arguments }),
            (false, None, None) => Ok(ToolDecision::Allow),
        }
    }
}

impl FromJson for ToolOverride {
    fn from_json(value: Value) -> Result<ToolOverride, String> {
        let mut map = fields(value, &["content", "details", "is_error", "terminate"])?;
        let content = match map.remove("content") {
            None | Some(Value::Null) => None,
            Some(Value::String(text)) => Some(vec![ContentBlock::text(text)]),
            Some(value) => {
                let blocks: Vec<ContentBlock> = serde_json::from_value(value).map_err(|e| format!("content: {e}"))?;
                let fits = |block: &ContentBlock| matches!(block, ContentBlock::Text { .. } | ContentBlock::Image { .. });
                if !blocks.iter().all(fits) {
                    return Err("content: a tool's result has text and image blocks only".to_owned());
                }
                Some(blocks)
            }
        };
        // Null is a value here.
        let details = map.remove("details");
        let is_error = field(&mut map, "is_error", "true or false")?;
        Ok(ToolOverride { content, details, is_error, terminate: field(&mut map, "terminate", "true or false")? })
    }
}

impl FromJson for TurnChange {
    fn from_json(value: Value) -> Result<TurnChange, String> {
        let mut map = fields(value, &["context", "model", "thinking_level"])?;
        let mut context = fields(map.remove("context").unwrap_or_default(), &["system_prompt", "messages", "tools"])?;
        let model = match map.remove("model") {
            None | Some(Value::Null) => None,
            Some(model) => {
                Some(ModelSpec::from_json_spelled(model, Spelling::Camel).map_err(|error| error.message().to_owned())?)
            }
        };
        let list = match context.remove("messages") {
            None | Some(Value::Null) => None,
            Some(Value::Array(list)) => Some(messages(list)?),
            Some(other) => return Err(format!("context: messages: expected an array, got {other}")),
        };
        Ok(TurnChange {
            system_prompt: field(&mut context, "system_prompt", "a text")?,
            messages: list,
            tools: field(&mut context, "tools", "an array of names")?,
            model,
            thinking_level: field(&mut map, "thinking_level", &Type::Words(THINKING_LEVELS).expected())?,
        })
    }
}

fn messages(list: Vec<Value>) -> Result<Vec<Arc<Message>>, String> {
    let read = |(i, value): (usize, Value)| serde_json::from_value(value).map(Arc::new).map_err(|e| format!("[{i}]: {e}"));
    list.into_iter().enumerate().map(read).collect()
}
