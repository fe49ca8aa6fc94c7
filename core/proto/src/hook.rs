//! Hooks: what each is asked and what it may answer, in Rust and in JSON. When a hook is asked, and what its failure means, is
//! in the documentation of the loop.

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

/// The hooks, one row each: documentation, kind, name, input and output. Calls the given macro with all rows.
#[macro_export]
macro_rules! for_each_hook {
    ($callback:ident) => {
        $callback! {
            /// Before each model call: the messages that the model reads, for this call only. JSON: `{messages}` in; an array of
            /// messages out, null for no change.
            TransformContext transform_context: Vec<Arc<Message>> => Option<Vec<Arc<Message>>>,
            /// Before each model call, after `transform_context`: converts messages to the three standard roles. Without it,
            /// other roles are dropped. JSON: `{messages}` in; an array of messages out, null for the default.
            ConvertToLlm convert_to_llm: Vec<Arc<Message>> => Option<Vec<Arc<Message>>>,
            /// Before each model call: the API key for a provider; `None` for the configured one. JSON: `{provider}` in; a text
            /// or null out.
            GetApiKey get_api_key: String => Option<String>,
            /// Before a tool runs, with its validated arguments. JSON: `{tool_call_id, tool_name, arguments, message}` in; null,
            /// `{block: true, reason}` or `{arguments}` out.
            BeforeToolCall before_tool_call: BeforeToolCall => ToolDecision,
            /// After a tool ran, also if it failed. JSON: `{tool_call_id, tool_name, arguments, result {content, details,
            /// terminate}, is_error}` in; null or any of `{content, details, is_error, terminate}` out.
            AfterToolCall after_tool_call: AfterToolCall => ToolOverride,
            /// After each turn that another may follow. JSON: `{turn, message, tool_results}` in; null or any of `{context
            /// {system_prompt, messages, tools (names)}, model, thinking_level}` out.
            PrepareNextTurn prepare_next_turn: TurnSummary => TurnChange,
            /// After each turn: whether the run is to end here. JSON: `{turn, message, tool_results}` in; true, false or null
            /// out.
            ShouldStopAfterTurn should_stop_after_turn: TurnSummary => bool,
            /// With each poll of the steering queue: more such messages. JSON: `{}` in; null, a text, a message, or an array out.
            GetSteeringMessages get_steering_messages: () => Vec<Message>,
            /// With each poll of the follow-up queue: more such messages. JSON: `{}` in; null, a text, a message, or an array
            /// out.
            GetFollowUpMessages get_follow_up_messages: () => Vec<Message>,
            /// Before each model call: the request's body, to be inspected or replaced. JSON: `{provider, model, payload}` in;
            /// null or the new payload out.
            OnPayload on_payload: Payload => Option<Map<String, Value>>,
            /// When the head of an HTTP answer has come, with each try. JSON: `{provider, status, headers}` in.
            OnResponse on_response: ResponseHead => (),
            /// When a model call fails, and when anything else ends the run with an error. JSON: `{error, attempt, will_retry}`
            /// in.
            OnError on_error: Failure => (),
            /// Before a run. JSON: `{prompts}` in.
            BeforeRun before_run: RunTask => (),
            /// After a run's last event. JSON: the run's result in.
            AfterRun after_run: RunResult => (),
        }
    };
}

macro_rules! hook_kinds {
    ($($(#[$doc:meta])* $kind:ident $name:ident: $input:ty => $output:ty,)+) => {
        /// Which hook.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum HookKind { $($(#[$doc])* $kind,)+ }

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
        pub enum Question {
            $($(#[$doc])* $kind($input),)+
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

for_each_hook!(hook_kinds);

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

/// A call that is about to run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct BeforeToolCall {
    /// The call's id.
    pub tool_call_id: String,
    /// The tool's name.
    pub tool_name: String,
    /// The arguments, validated.
    pub arguments: Map<String, Value>,
    /// The assistant message that made the call.
    pub message: Arc<Message>,
}

/// Whether a call runs.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
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

/// A call that ran.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct AfterToolCall {
    /// The call's id.
    pub tool_call_id: String,
    /// The tool's name.
    pub tool_name: String,
    /// The arguments that the tool got.
    pub arguments: Map<String, Value>,
    /// Its answer.
    pub result: ToolOutput,
    /// Whether it failed.
    pub is_error: bool,
}

/// Changes to a tool's answer; `None` leaves a part unchanged.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
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

/// A turn that is over.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TurnSummary {
    /// Its number, from 1 on.
    pub turn: u32,
    /// Its assistant message.
    pub message: Arc<Message>,
    /// The results of its calls.
    pub tool_results: Vec<Arc<Message>>,
}

/// Changes for the rest of the run; `None` leaves a part unchanged. The agent's transcript and state stay.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
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

/// A request that is about to be sent.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Payload {
    /// Who serves the model.
    pub provider: String,
    /// The model's id there.
    pub model: String,
    /// The request's body.
    pub payload: Map<String, Value>,
}

/// The head of an HTTP answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ResponseHead {
    /// Who answered.
    pub provider: String,
    /// The HTTP status.
    pub status: u16,
    /// The headers by lower-case name; several of one name are joined with commas.
    pub headers: Map<String, Value>,
}

/// A failure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Failure {
    /// The error.
    pub error: Error,
    /// Which try of the model call failed, from 1 on; 0 when it was none.
    pub attempt: u32,
    /// Whether another try follows.
    pub will_retry: bool,
}

/// How a run begins.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RunTask {
    /// The messages it begins with; empty for `resume`.
    pub prompts: Vec<Arc<Message>>,
}
