//! What hooks answer: the types that exist only for this, each with its reader, and the readers of the others.

use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::did_you_mean::{Spelling, check_names};
use crate::json_error::shown;
use crate::json_reader::from_value;
use crate::message::{ContentBlock, Message};
use crate::message_reader::given_messages;
use crate::model_spec::ModelSpec;
use crate::prompt::Prompt;
use crate::request::ThinkingLevel;
use crate::suspension::Decision;
use crate::table::options::{THINKING_LEVELS, Type};

/// Whether a call runs.
///
/// ```
/// # use agent_loop_proto as agent_loop;
/// use agent_loop::hook::ToolDecision;
///
/// fn decide(recipient: &str) -> ToolDecision {
///     match ["ann@example.com", "bob@example.com"].contains(&recipient) {
///         true => ToolDecision::Allow,
///         false => ToolDecision::block(format!("{recipient} is not in the address book")),
///     }
/// }
/// assert_eq!(decide("ann@example.com"), ToolDecision::Allow);
/// assert_ne!(decide("ann@example.com, eve@example.org"), ToolDecision::Allow);
/// ```
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub enum ToolDecision {
    /// It runs.
    #[default]
    Allow,
    /// It does not run; its result is an error.
    Block {
        /// For the model.
        reason: String,
        /// Whether the run may end here, as [`ToolOutput::terminate`](crate::tool::ToolOutput::terminate).
        terminate: bool,
    },
    /// It runs with these arguments, which are validated again.
    Replace {
        /// The new arguments.
        arguments: Map<String, Value>,
    },
    /// It waits until somebody decides: the run ends with the outcome `suspended`, and a `resume` with decisions goes on.
    Suspend {
        /// For the person who decides.
        reason: String,
    },
}

impl ToolDecision {
    /// The call does not run, for this reason; the run goes on.
    pub fn block(reason: impl Into<String>) -> ToolDecision {
        ToolDecision::Block { reason: reason.into(), terminate: false }
    }

    /// The call waits until somebody decides; the reason is for that person.
    pub fn suspend(reason: impl Into<String>) -> ToolDecision {
        ToolDecision::Suspend { reason: reason.into() }
    }
}

impl FromJson for ToolDecision {
    fn from_json(value: Value) -> Result<ToolDecision, String> {
        let mut map = fields(value, &["block", "reason", "terminate", "arguments", "suspend"])?;
        let block = field(&mut map, "block", "true or false")?.unwrap_or(false);
        let reason: Option<String> = field(&mut map, "reason", "text")?;
        let terminate: Option<bool> = field(&mut map, "terminate", "true or false")?;
        let arguments = field(&mut map, "arguments", "an object")?;
        if let Some(why) = field(&mut map, "suspend", "the reason, a text")? {
            if block || arguments.is_some() || terminate == Some(true) || reason.is_some() {
                return Err("suspend: a suspended call is neither blocked nor given new arguments; give suspend alone".to_owned());
            }
            return Ok(ToolDecision::Suspend { reason: why });
        }
        // An incomplete decision must not allow a call.
        match (block, reason, arguments) {
            (true, reason, None) => {
                let reason = reason.unwrap_or_else(|| "the call was blocked".to_owned());
                Ok(ToolDecision::Block { reason, terminate: terminate.unwrap_or(false) })
            }
            (false, ..) if terminate == Some(true) => {
                Err("terminate: only a blocked call can end the run; give \"block\": true as well".to_owned())
            }
            (true, _, Some(_)) => Err("a call cannot be both blocked and given new arguments".to_owned()),
            (false, Some(_), _) => Err("reason: only a blocked call has one; give \"block\": true as well".to_owned()),
            (false, None, Some(arguments)) => Ok(ToolDecision::Replace { arguments }),
            (false, None, None) => Ok(ToolDecision::Allow),
        }
    }
}

/// What becomes of a call without a result.
///
/// ```
/// # use agent_loop_proto as agent_loop;
/// use agent_loop::hook::InterruptedDecision;
///
/// fn decide(is_done: bool) -> InterruptedDecision {
///     match is_done {
///         true => InterruptedDecision::Result { result: "it was sent".into() },
///         false => InterruptedDecision::Retry,
///     }
/// }
/// assert_eq!(decide(false), InterruptedDecision::Retry);
/// ```
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub enum InterruptedDecision {
    /// The model reads that its outcome is not known.
    #[default]
    Report,
    /// It runs again, as if it were new: it is validated, and may wait for a decision.
    Retry,
    /// It does not run: this is its result.
    Result {
        /// As a tool returns it.
        result: Value,
    },
}

impl FromJson for InterruptedDecision {
    fn from_json(value: Value) -> Result<InterruptedDecision, String> {
        match value {
            Value::Null => Ok(InterruptedDecision::Report),
            Value::String(word) if word == "report" => Ok(InterruptedDecision::Report),
            Value::String(word) if word == "retry" => Ok(InterruptedDecision::Retry),
            Value::Object(mut map) if map.len() == 1 && map.contains_key("result") => {
                Ok(InterruptedDecision::Result { result: map.remove("result").unwrap_or_default() })
            }
            other => Err(format!("expected \"report\", \"retry\" or {{\"result\": …}}, got {}", shown(&other))),
        }
    }
}

/// Changes to a tool's answer; `None` leaves a part unchanged.
///
/// ```
/// # use agent_loop_proto as agent_loop;
/// use agent_loop::hook::ToolOverride;
/// use agent_loop::message::ContentBlock;
///
/// let shorter = ToolOverride::default().content(vec![ContentBlock::text("200 lines, all passed")]);
/// # let _ = shorter;
/// ```
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename = "strict", deny_unknown_fields)]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub struct ToolOverride {
    /// The blocks for the model.
    pub content: Option<Vec<ContentBlock>>,
    /// The part for the application.
    pub details: Option<Value>,
    /// Whether the call failed.
    pub is_error: Option<bool>,
    /// Whether the run may end here.
    pub terminate: Option<bool>,
}

impl ToolOverride {
    /// Other blocks for the model.
    #[must_use]
    pub fn content(mut self, content: Vec<ContentBlock>) -> ToolOverride {
        self.content = Some(content);
        self
    }

    /// Another part for the application.
    #[must_use]
    pub fn details(mut self, details: Value) -> ToolOverride {
        self.details = Some(details);
        self
    }

    /// Whether the call failed.
    #[must_use]
    pub fn is_error(mut self, is_error: bool) -> ToolOverride {
        self.is_error = Some(is_error);
        self
    }

    /// Whether the run may end here.
    #[must_use]
    pub fn terminate(mut self, terminate: bool) -> ToolOverride {
        self.terminate = Some(terminate);
        self
    }
}

impl FromJson for ToolOverride {
    fn from_json(value: Value) -> Result<ToolOverride, String> {
        let mut map = fields(value, &["content", "details", "is_error", "terminate"])?;
        let content = match map.remove("content") {
            None | Some(Value::Null) => None,
            Some(Value::String(text)) => Some(vec![ContentBlock::text(text)]),
            Some(Value::Array(list)) => {
                let read = |(i, block): (usize, &Value)| {
                    ContentBlock::stored(block).map_err(|unread| unread.at(format_args!("content[{i}]")))
                };
                let blocks: Vec<ContentBlock> = list.iter().enumerate().map(read).collect::<Result<_, _>>()?;
                let fits = |block: &ContentBlock| matches!(block, ContentBlock::Text { .. }) || block.as_media().is_some();
                if !blocks.iter().all(fits) {
                    return Err("content: a tool's result has text, image, document and audio blocks only".to_owned());
                }
                Some(blocks)
            }
            Some(other) => return Err(format!("content: expected an array of blocks or text, got {}", shown(&other))),
        };
        // Null is a value here.
        let details = map.remove("details");
        let is_error = field(&mut map, "is_error", "true or false")?;
        Ok(ToolOverride { content, details, is_error, terminate: field(&mut map, "terminate", "true or false")? })
    }
}

/// Changes for one request (`prepare_request`) or for the rest of the run (`prepare_next_turn`); `None` leaves a part unchanged.
/// The agent's transcript and state stay.
///
/// ```
/// # use agent_loop_proto as agent_loop;
/// use agent_loop::hook::TurnChange;
///
/// // No tools any more: the model has to answer.
/// let last = TurnChange::default().tools(Vec::<String>::new()).system_prompt("Answer now.");
/// # let _ = last;
/// ```
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename = "strict", deny_unknown_fields)]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub struct TurnChange {
    /// The text that comes before the messages.
    pub system_prompt: Option<String>,
    /// The messages that the model reads from now on; those that the run adds come after them.
    pub messages: Option<Vec<Arc<Message>>>,
    /// The names of those of the agent's tools that the model may call.
    pub tools: Option<Vec<String>>,
    /// The model.
    pub model: Option<ModelSpec>,
    /// How much thinking to ask for.
    pub thinking_level: Option<ThinkingLevel>,
}

impl TurnChange {
    /// Another text before the messages.
    #[must_use]
    pub fn system_prompt(mut self, text: impl Into<String>) -> TurnChange {
        self.system_prompt = Some(text.into());
        self
    }

    /// Other messages for the model.
    #[must_use]
    pub fn messages(mut self, messages: Vec<Arc<Message>>) -> TurnChange {
        self.messages = Some(messages);
        self
    }

    /// Only those of the agent's tools that have these names.
    #[must_use]
    pub fn tools(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> TurnChange {
        self.tools = Some(names.into_iter().map(Into::into).collect());
        self
    }

    /// Another model.
    #[must_use]
    pub fn model(mut self, model: ModelSpec) -> TurnChange {
        self.model = Some(model);
        self
    }

    /// More or less thinking.
    #[must_use]
    pub fn thinking_level(mut self, level: ThinkingLevel) -> TurnChange {
        self.thinking_level = Some(level);
        self
    }
}

impl FromJson for TurnChange {
    fn from_json(value: Value) -> Result<TurnChange, String> {
        let mut map = fields(value, &["context", "model", "thinking_level"])?;
        let mut context = fields(map.remove("context").unwrap_or_default(), &["system_prompt", "messages", "tools"])?;
        let model = match map.remove("model") {
            None | Some(Value::Null) => None,
            Some(model) => {
                // Errors are in the spelling that the host uses; the canonical names are known in each.
                let is_camel = |map: &Map<String, Value>| map.keys().any(|name| name.contains(char::is_uppercase));
                let spelling = if model.as_object().is_some_and(is_camel) { Spelling::Camel } else { Spelling::Snake };
                Some(ModelSpec::from_json_spelled(model, spelling).map_err(|error| error.message().to_owned())?)
            }
        };
        let list = match context.remove("messages") {
            None | Some(Value::Null) => None,
            Some(list) => Some(given_messages(list).map_err(|unread| unread.at("context: messages"))?),
        };
        Ok(TurnChange {
            system_prompt: field(&mut context, "system_prompt", "text")?,
            messages: list,
            tools: field(&mut context, "tools", "an array of names")?,
            model,
            thinking_level: field(&mut map, "thinking_level", &Type::Words(THINKING_LEVELS).expected())?,
        })
    }
}

/// What a hook can answer, read from canonical JSON.
pub(crate) trait FromJson: Sized {
    /// The error says what is wrong, for the host.
    fn from_json(value: Value) -> Result<Self, String>;
}

/// The object's fields, all of them known; null is an empty one.
pub(crate) fn fields(value: Value, known: &[&str]) -> Result<Map<String, Value>, String> {
    match value {
        Value::Null => Ok(Map::new()),
        Value::Object(map) => match check_names("field", &map, known) {
            Ok(()) => Ok(map),
            Err(error) => Err(error.message().to_owned()),
        },
        other => Err(format!("expected null or an object of {}, got {}", known.join(", "), shown(&other))),
    }
}

/// A field, unless it is left out or null.
pub(crate) fn field<T: DeserializeOwned>(map: &mut Map<String, Value>, name: &str, wanted: &str) -> Result<Option<T>, String> {
    match map.remove(name) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => from_value(&value).map(Some).map_err(|_| format!("{name}: expected {wanted}, got {}", shown(&value))),
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
            other => Err(format!("expected true or false, got {}", shown(&other))),
        }
    }
}

impl FromJson for Option<String> {
    fn from_json(value: Value) -> Result<Self, String> {
        match value {
            Value::Null => Ok(None),
            Value::String(text) => Ok(Some(text)),
            other => Err(format!("expected text or null, got {}", shown(&other))),
        }
    }
}

impl FromJson for Option<Decision> {
    fn from_json(value: Value) -> Result<Self, String> {
        if value.is_null() { Ok(None) } else { Decision::from_json(value).map(Some) }
    }
}

impl FromJson for Option<Map<String, Value>> {
    fn from_json(value: Value) -> Result<Self, String> {
        match value {
            Value::Null => Ok(None),
            Value::Object(map) => Ok(Some(map)),
            other => Err(format!("expected an object or null, got {}", shown(&other))),
        }
    }
}

impl FromJson for Option<Vec<Arc<Message>>> {
    fn from_json(value: Value) -> Result<Self, String> {
        match value {
            Value::Null => Ok(None),
            Value::Array(_) => Ok(Some(given_messages(value)?)),
            other => Err(format!("expected an array of messages or null, got {}", shown(&other))),
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
                    other => Message::given(other).map_err(|e| format!("[{i}]: {e}")),
                };
                list.into_iter().enumerate().map(read).collect()
            }
            other => Ok(Prompt::given(other)?.0),
        }
    }
}
