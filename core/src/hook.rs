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

use std::future::Future;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use crate::agent::Agent;
use crate::error::Error;
use crate::host::HostWork;
use crate::message::{ContentBlock, Message, Prompt};
use crate::model::{BoxFuture, ThinkingLevel};
use crate::names::{Spelling, check_names};
use crate::provider::ModelSpec;
use crate::result::RunResult;
use crate::tool::ToolOutput;

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

/// A hook of a host of another language: JSON in and out, as the table of [`HookKind`] has it.
pub type JsonHook = Arc<dyn Fn(Value, HookContext) -> BoxFuture<'static, Result<Value, String>> + Send + Sync>;

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

fn through_json<I: ToJson + 'static, O: FromJson + 'static>(hook: JsonHook) -> Hook<I, O> {
    Arc::new(move |input, context| {
        let answer = hook(input.to_json(), context);
        Box::pin(async move { O::from_json(answer.await?).map_err(|why| format!("its answer cannot be used: {why}")) })
    })
}

trait ToJson {
    fn to_json(self) -> Value;
}

macro_rules! objects {
    ($($input:ty),+) => { $(impl ToJson for $input {
        fn to_json(self) -> Value { json!(self) }
    })+ };
}

objects!(BeforeToolCall, AfterToolCall, TurnSummary, Payload, ResponseHead, Failure, RunTask, RunResult);

impl ToJson for () {
    fn to_json(self) -> Value {
        json!({})
    }
}

impl ToJson for Vec<Arc<Message>> {
    fn to_json(self) -> Value {
        json!({ "messages": self })
    }
}

impl ToJson for String {
    fn to_json(self) -> Value {
        json!({ "provider": self })
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

impl FromJson for () {
    fn from_json(_: Value) -> Result<(), String> {
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
            Value::Array(list) if list.is_empty() => Ok(Vec::new()),
            // Several texts are several messages, which a prompt has no form for.
            Value::Array(list) if list.iter().all(Value::is_string) => {
                Ok(list.iter().filter_map(Value::as_str).map(|text| Message::user(text, 0)).collect())
            }
            other => Prompt::from_json(other).map(|prompt| prompt.0).map_err(|error| error.message().to_owned()),
        }
    }
}

impl FromJson for ToolDecision {
    fn from_json(value: Value) -> Result<ToolDecision, String> {
        let mut map = fields(value, &["block", "reason", "arguments"])?;
        if field(&mut map, "block", "true or false")?.unwrap_or(false) {
            let reason: Option<String> = field(&mut map, "reason", "a text")?;
            return Ok(ToolDecision::Block { reason: reason.unwrap_or_else(|| "the call was blocked".to_owned()) });
        }
        Ok(match field(&mut map, "arguments", "an object")? {
            Some(arguments) => ToolDecision::Replace { arguments },
            None => ToolDecision::Allow,
        })
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
            thinking_level: field(&mut map, "thinking_level", ThinkingLevel::WANTED)?,
        })
    }
}

fn messages(list: Vec<Value>) -> Result<Vec<Arc<Message>>, String> {
    let read = |(i, value): (usize, Value)| serde_json::from_value(value).map(Arc::new).map_err(|e| format!("[{i}]: {e}"));
    list.into_iter().enumerate().map(read).collect()
}
