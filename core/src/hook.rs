//! Hooks: functions of the host's that a run asks on its way, and that may answer later. What each gets and gives, in Rust and
//! as JSON, stands with it here; when it is asked and what its failure means, in the documentation of the loop.
//!
//! ```
//! use agent_loop::{Agent, ToolDecision};
//! # fn example(agent: Agent) -> Agent {
//! agent.before_tool_call(|call, _| async move {
//!     if call.tool_name == "delete" {
//!         return Ok::<_, String>(ToolDecision::Block { reason: "not here".into() });
//!     }
//!     Ok(ToolDecision::Allow)
//! })
//! # }
//! ```

mod json;

use std::future::Future;
use std::sync::Arc;

use serde::Serialize;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use crate::agent::Agent;
use crate::error::Error;
use crate::host::HostWork;
use crate::message::{ContentBlock, Message};
use crate::model::{BoxFuture, ThinkingLevel};
use crate::provider::ModelSpec;
use crate::result::RunResult;
use crate::tool::ToolOutput;
use json::through_json;

/// What a hook may use while it works: a cancel token and the engine's time. Cheap to clone.
#[derive(Debug, Clone)]
pub struct HookContext(pub(crate) HostWork);

impl HookContext {
    /// Cancelled when the answer is no longer wanted: the run was aborted or its time limit passed.
    pub fn cancel_token(&self) -> &CancellationToken {
        self.0.cancel_token()
    }

    /// Whether the answer is no longer wanted.
    pub fn is_cancelled(&self) -> bool {
        self.cancel_token().is_cancelled()
    }

    /// Waits in the engine's time; ends at once when the hook is cancelled. True when the whole time passed.
    pub async fn sleep(&self, ms: u64) -> bool {
        self.0.sleep(ms).await
    }

    /// The same for a thread that may block: not one that runs async code.
    pub fn sleep_blocking(&self, ms: u64) -> bool {
        self.0.sleep_blocking(ms)
    }
}

/// A hook: what it gets, in; what it decides, or an error text, out.
pub type Hook<I, O> = Arc<dyn Fn(I, HookContext) -> BoxFuture<'static, Result<O, String>> + Send + Sync>;

/// A hook of a host of another language: its input to be serialized, its answer in JSON, as [`HookKind`] documents both.
pub type JsonHook = Arc<dyn Fn(HookInput, HookContext) -> BoxFuture<'static, Result<Value, String>> + Send + Sync>;

/// The input of any hook, for hosts of other languages. It serializes as [`HookKind`] documents for each hook.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
pub enum HookInput {
    /// Of the hooks that ask for more messages.
    Nothing {},
    /// Of [`HookKind::TransformContext`] and [`HookKind::ConvertToLlm`].
    Messages {
        /// The messages for the model.
        messages: Vec<Arc<Message>>,
    },
    /// Of [`HookKind::GetApiKey`].
    Provider {
        /// The provider's name.
        provider: String,
    },
    /// Of [`HookKind::BeforeToolCall`].
    BeforeToolCall(BeforeToolCall),
    /// Of [`HookKind::AfterToolCall`].
    AfterToolCall(AfterToolCall),
    /// Of the hooks after a turn.
    Turn(TurnSummary),
    /// Of [`HookKind::OnPayload`].
    Payload(Payload),
    /// Of [`HookKind::OnResponse`].
    Response(ResponseHead),
    /// Of [`HookKind::OnError`].
    Failure(Failure),
    /// Of [`HookKind::BeforeRun`].
    Task(RunTask),
    /// Of [`HookKind::AfterRun`].
    Result(RunResult),
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

macro_rules! hooks {
    ($($(#[$doc:meta])* $kind:ident $name:ident: $input:ty => $output:ty,)+) => {
        /// Which hook.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum HookKind { $($(#[$doc])* $kind,)+ }

        impl HookKind {
            /// All hooks.
            pub const ALL: &'static [HookKind] = &[$(HookKind::$kind,)+];

            /// The canonical word, for example `before_tool_call`.
            pub fn as_str(self) -> &'static str {
                match self { $(HookKind::$kind => stringify!($name),)+ }
            }
        }

        /// The hooks of an agent.
        #[derive(Clone, Default)]
        pub(crate) struct Hooks { $(pub(crate) $name: Option<Hook<$input, $output>>,)+ }

        impl Hooks {
            /// Sets or takes out a hook of a host of another language.
            pub(crate) fn set_json(&mut self, kind: HookKind, hook: Option<JsonHook>) {
                match kind { $(HookKind::$kind => self.$name = hook.map(through_json),)+ }
            }
        }

        /// Hooks. Each replaces the one before; [`Agent::set_json_hook`] takes one out.
        impl Agent {
            $(
                $(#[$doc])*
                #[must_use]
                pub fn $name<F, Fut, E>(self, hook: F) -> Agent
                where
                    F: Fn($input, HookContext) -> Fut + Send + Sync + 'static,
                    Fut: Future<Output = Result<$output, E>> + Send + 'static,
                    E: std::fmt::Display + Send + 'static,
                {
                    let hook: Hook<$input, $output> = Arc::new(move |input, context| {
                        let answer = hook(input, context);
                        Box::pin(async move { answer.await.map_err(|error| error.to_string()) })
                    });
                    self.change_hooks(|hooks| hooks.$name = Some(hook));
                    self
                }
            )+
        }
    };
}

hooks! {
    /// Before each model call: the messages the model is to see, for this call only. JSON: `{messages}` in; an array of messages
    /// out, null for no change.
    TransformContext transform_context: Vec<Arc<Message>> => Option<Vec<Arc<Message>>>,
    /// Before each model call, after `transform_context`: messages of the three standard roles, made of what there is. Without
    /// it, other roles are dropped. JSON: `{messages}` in; an array of messages out, null for what is done without it.
    ConvertToLlm convert_to_llm: Vec<Arc<Message>> => Option<Vec<Arc<Message>>>,
    /// Before each model call: the API key for a provider; `None` for the configured one. JSON: `{provider}` in; a text or null out.
    GetApiKey get_api_key: String => Option<String>,
    /// Before a tool runs, with its checked arguments. JSON: `{tool_call_id, tool_name, arguments, message}` in; null, `{block:
    /// true, reason}` or `{arguments}` out.
    BeforeToolCall before_tool_call: BeforeToolCall => ToolDecision,
    /// After a tool ran, well or not. JSON: `{tool_call_id, tool_name, arguments, result {content, details, terminate},
    /// is_error}` in; null or any of `{content, details, is_error, terminate}` out.
    AfterToolCall after_tool_call: AfterToolCall => ToolOverride,
    /// After each turn that may be followed by another. JSON: `{turn, message, tool_results}` in; null or any of `{context
    /// {system_prompt, messages, tools (names)}, model, thinking_level}` out.
    PrepareNextTurn prepare_next_turn: TurnSummary => TurnChange,
    /// After each turn, whether the run shall end here. JSON: `{turn, message, tool_results}` in; true, false or null out.
    ShouldStopAfterTurn should_stop_after_turn: TurnSummary => bool,
    /// With each poll of the steering queue: more of such messages. JSON: `{}` in; null, a text, a message, or an array out.
    GetSteeringMessages get_steering_messages: () => Vec<Message>,
    /// With each poll of the follow-up queue: more of such messages. JSON: `{}` in; null, a text, a message, or an array out.
    GetFollowUpMessages get_follow_up_messages: () => Vec<Message>,
    /// Before each model call: the request's body, to be seen or replaced. JSON: `{provider, model, payload}` in; null or the
    /// new payload out.
    OnPayload on_payload: Payload => Option<Map<String, Value>>,
    /// When an answer's head has come, of each try. JSON: `{provider, status, headers}` in.
    OnResponse on_response: ResponseHead => (),
    /// When a model call fails, and when anything else ends the run in an error. JSON: `{error, attempt, will_retry}` in.
    OnError on_error: Failure => (),
    /// Before a run. JSON: `{prompts}` in.
    BeforeRun before_run: RunTask => (),
    /// After a run's last event. JSON: the run's result in.
    AfterRun after_run: RunResult => (),
}

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

/// A call that is about to run.
#[derive(Debug, Clone, Serialize)]
pub struct BeforeToolCall {
    /// The call's id.
    pub tool_call_id: String,
    /// The tool's name.
    pub tool_name: String,
    /// The arguments, checked.
    pub arguments: Map<String, Value>,
    /// The assistant message that made the call.
    pub message: Arc<Message>,
}

/// What becomes of a call.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum ToolDecision {
    /// It runs.
    #[default]
    Allow,
    /// It does not run; the model is told why.
    Block {
        /// For the model.
        reason: String,
    },
    /// It runs with these arguments, which are checked again.
    Replace {
        /// The new arguments.
        arguments: Map<String, Value>,
    },
}

/// A call that ran.
#[derive(Debug, Clone, Serialize)]
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

/// What is to be different in a tool's answer; `None` leaves a part as it is.
#[derive(Debug, Clone, PartialEq, Default)]
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
#[derive(Debug, Clone, Serialize)]
pub struct TurnSummary {
    /// Which, from 1 on.
    pub turn: u32,
    /// Its assistant message.
    pub message: Arc<Message>,
    /// The results of its calls.
    pub tool_results: Vec<Arc<Message>>,
}

/// What is to be different for the rest of the run; `None` leaves a part as it is. The agent's transcript and state stay.
#[derive(Debug, Clone, Default)]
pub struct TurnChange {
    /// What the model is told first.
    pub system_prompt: Option<String>,
    /// The messages the model sees from now on; what the run adds comes after them.
    pub messages: Option<Vec<Arc<Message>>>,
    /// The names of those of the agent's tools that are offered.
    pub tools: Option<Vec<String>>,
    /// Whom to ask.
    pub model: Option<ModelSpec>,
    /// How much thinking to ask for.
    pub thinking_level: Option<ThinkingLevel>,
}

/// A request about to be sent.
#[derive(Debug, Clone, Serialize)]
pub struct Payload {
    /// Who serves the model.
    pub provider: String,
    /// The model's id there.
    pub model: String,
    /// The request's body.
    pub payload: Map<String, Value>,
}

/// The head of an HTTP answer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ResponseHead {
    /// Who answered.
    pub provider: String,
    /// The HTTP status.
    pub status: u16,
    /// The headers by lower-case name; several of one name are joined with commas.
    pub headers: Map<String, Value>,
}

/// Something failed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Failure {
    /// What.
    pub error: Error,
    /// Which try of the model call this was, from 1 on; 0 when it was none.
    pub attempt: u32,
    /// Whether another try follows.
    pub will_retry: bool,
}

/// What a run is to do.
#[derive(Debug, Clone, Serialize)]
pub struct RunTask {
    /// The messages it begins with; empty for `resume`.
    pub prompts: Vec<Arc<Message>>,
}
