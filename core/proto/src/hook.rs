//! Hooks: their types, made from the table, and what they answer. When a hook is asked, and what its failure means, is in the
//! documentation of the loop.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error::Error;
use crate::message::{ContentBlock, Message};
use crate::model_entry::ModelEntry;
use crate::model_spec::ModelSpec;
use crate::request::ThinkingLevel;
use crate::result::RunResult;
use crate::tool::ToolOutput;

macro_rules! hook_kinds {
    ($($(#[doc = $doc:literal])* $kind:ident $name:ident: $input:ty => $output:ty,)+) => {
        /// Which hook. [`crate::table::hooks`] declares them, with the JSON of inputs and answers.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        #[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
        pub enum HookKind { $($(#[doc = $doc])* $kind,)+ }

        impl HookKind {
            /// All hooks.
            pub const ALL: &'static [HookKind] = &[$(HookKind::$kind,)+];

            /// The canonical word, for example `before_tool_call`.
            pub fn as_str(self) -> &'static str {
                match self { $(HookKind::$kind => stringify!($name),)+ }
            }
        }

        /// A hook with its input.
        #[derive(Debug, Clone, Serialize, Deserialize)]
        #[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
        pub enum Question {
            $($(#[doc = $doc])* $kind($input),)+
            /// A tool's own preparation of its arguments, before they are validated.
            PrepareArguments {
                /// The tool's name.
                tool: Arc<str>,
                /// The model's own arguments.
                arguments: Arc<Map<String, Value>>,
            },
        }

        impl Question {
            /// Which hook; `None` for a tool's `prepare_arguments`.
            pub fn kind(&self) -> Option<HookKind> {
                match self {
                    $(Question::$kind(..) => Some(HookKind::$kind),)+
                    Question::PrepareArguments { .. } => None,
                }
            }
        }
    };
}

crate::for_each_hook!(hook_kinds);

macro_rules! hook_inputs {
    ($(
        $(#[doc = $doc:literal])* $name:ident $parameter:ident, $since:literal
        { $($(#[doc = $field_doc:literal])* $field:ident: $type:ty $(as $exact:ident)? $(= $field_since:literal)?,)* }
    )+) => {
        $(
            $(#[doc = $doc])*
            #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
            #[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
            pub struct $name { $($(#[doc = $field_doc])* pub $field: $type,)* }
        )+
    };
}

crate::hook_inputs_of!(object, hook_inputs);
crate::hook_inputs_of!(value, hook_inputs);

impl std::fmt::Display for HookKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

impl HookKind {
    /// The hook of that canonical word.
    pub fn parse(word: &str) -> Option<HookKind> {
        HookKind::ALL.iter().copied().find(|kind| kind.as_str() == word)
    }
}

/// What a hook answers.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub enum HookAnswer {
    /// No change. Of `get_api_key` always: its answer is the host's alone, and no key enters the loop.
    Nothing,
    /// Of `transform_context` and `convert_to_llm`: the messages that replace the given ones.
    Messages(Vec<Arc<Message>>),
    /// Of `on_payload`: the body that replaces the given one.
    Payload(Map<String, Value>),
    /// Of `prepare_arguments`: the arguments that replace the given ones.
    Arguments(Map<String, Value>),
    /// Of `before_tool_call`.
    Decision(ToolDecision),
    /// Of `after_tool_call`.
    Override(ToolOverride),
    /// Of `prepare_next_turn`. The host resolves the model that the change names.
    Change {
        /// The change.
        change: Box<TurnChange>,
        /// The model that it names.
        model: Option<Box<ModelEntry>>,
    },
    /// Of `should_stop_after_turn`.
    Stop(bool),
    /// Of `get_steering_messages` and `get_follow_up_messages`.
    Queued(Vec<Message>),
}

/// What a hook of the host returns.
#[derive(Debug, Clone)]
pub enum HookOutput {
    /// Of hooks that decide nothing.
    Nothing,
    /// Of `transform_context` and `convert_to_llm`; `None` for no change.
    Messages(Option<Vec<Arc<Message>>>),
    /// Of `get_api_key`; `None` for the configured key.
    Key(Option<String>),
    /// Of a tool's `prepare_arguments`.
    Arguments(Map<String, Value>),
    /// Of `before_tool_call`.
    Decision(ToolDecision),
    /// Of `after_tool_call`.
    Override(ToolOverride),
    /// Of `prepare_next_turn`.
    Change(Box<TurnChange>),
    /// Of `should_stop_after_turn`.
    Stop(bool),
    /// Of `get_steering_messages` and `get_follow_up_messages`.
    Queued(Vec<Message>),
    /// Of `on_payload`; `None` for no change.
    Payload(Option<Map<String, Value>>),
}

impl HookOutput {
    /// The same as the loop takes it. `resolve` finds the model that a change names. A key is the host's alone.
    ///
    /// # Errors
    /// That of `resolve`.
    pub fn into_answer(self, resolve: impl FnOnce(&ModelSpec) -> Result<ModelEntry, Error>) -> Result<HookAnswer, Error> {
        Ok(match self {
            HookOutput::Nothing | HookOutput::Key(_) | HookOutput::Messages(None) | HookOutput::Payload(None) => {
                HookAnswer::Nothing
            }
            HookOutput::Messages(Some(messages)) => HookAnswer::Messages(messages),
            HookOutput::Payload(Some(payload)) => HookAnswer::Payload(payload),
            HookOutput::Arguments(arguments) => HookAnswer::Arguments(arguments),
            HookOutput::Decision(decision) => HookAnswer::Decision(decision),
            HookOutput::Override(changed) => HookAnswer::Override(changed),
            HookOutput::Stop(stop) => HookAnswer::Stop(stop),
            HookOutput::Queued(messages) => HookAnswer::Queued(messages),
            HookOutput::Change(change) => {
                let model = change.model.as_ref().map(resolve).transpose()?.map(Box::new);
                HookAnswer::Change { change, model }
            }
        })
    }
}

/// A value that a hook returns.
pub trait IntoHookOutput {
    /// The same for any hook.
    fn into_output(self) -> HookOutput;
}

macro_rules! into_hook_output {
    ($($value:ty => |$name:ident| $output:expr),+ $(,)?) => {
        $(impl IntoHookOutput for $value {
            fn into_output(self) -> HookOutput {
                let $name = self;
                $output
            }
        })+
    };
}

into_hook_output! {
    () => |_nothing| HookOutput::Nothing,
    Option<Vec<Arc<Message>>> => |messages| HookOutput::Messages(messages),
    Option<String> => |key| HookOutput::Key(key),
    ToolDecision => |decision| HookOutput::Decision(decision),
    ToolOverride => |changed| HookOutput::Override(changed),
    TurnChange => |change| HookOutput::Change(Box::new(change)),
    bool => |stop| HookOutput::Stop(stop),
    Vec<Message> => |messages| HookOutput::Queued(messages),
    Option<Map<String, Value>> => |payload| HookOutput::Payload(payload),
}

/// Whether a call runs.
///
/// ```
/// use agent_loop_proto::hook::ToolDecision;
///
/// fn decide(path: &str) -> ToolDecision {
///     match path.starts_with("/tmp/") {
///         true => ToolDecision::Allow,
///         false => ToolDecision::Block { reason: "only files in /tmp may be written".into() },
///     }
/// }
/// assert_eq!(decide("/tmp/a"), ToolDecision::Allow);
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
    },
    /// It runs with these arguments, which are validated again.
    Replace {
        /// The new arguments.
        arguments: Map<String, Value>,
    },
}

/// Changes to a tool's answer; `None` leaves a part unchanged.
///
/// ```
/// use agent_loop_proto::hook::ToolOverride;
/// use agent_loop_proto::message::ContentBlock;
///
/// let shorter = ToolOverride::default().content(vec![ContentBlock::text("200 lines, all passed")]);
/// # let _ = shorter;
/// ```
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
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
/// Changes for the rest of the run; `None` leaves a part unchanged. The agent's transcript and state stay.
///
/// ```
/// use agent_loop_proto::hook::TurnChange;
///
/// // No tools any more: the model has to answer.
/// let last = TurnChange::default().tools(Vec::<String>::new()).system_prompt("Answer now.");
/// # let _ = last;
/// ```
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
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
