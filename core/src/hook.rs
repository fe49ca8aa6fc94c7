//! Hooks: functions that a run asks, and their inputs and answers.
//!
//! They are set on an [`AgentBuilder`](crate::AgentBuilder), by the methods of their names, and later with
//! [`Agent::set_hook`](crate::Agent::set_hook). One that fails is reported as a diagnostic, or fails the call that it was to
//! approve. An error may be of any type that `?` turns into a [`BoxError`]: an error of any kind, or a text. Its text is what the
//! loop, the events and the model get. Where it ends the run, it is the `source()` of the run's error.
//!
//! ```
//! use agent_loop::Agent;
//! use agent_loop::hook::{ToolDecision, TurnChange};
//!
//! let agent = Agent::builder("anthropic/claude-sonnet-4-5")
//!     .before_tool_call(|call, _context| async move {
//!         Ok::<_, String>(match call.tool_name.as_str() {
//!             "delete" => ToolDecision::block("ask first"),
//!             _ => ToolDecision::Allow,
//!         })
//!     })
//!     .prepare_next_turn(|turn, _context| async move {
//!         let change = TurnChange::default();
//!         Ok::<_, String>(if turn.turn == 3 { change.system_prompt("Come to an end.") } else { change })
//!     })
//!     .build()?;
//! # Ok::<(), agent_loop::Error>(())
//! ```

use std::future::Future;
use std::sync::Arc;

pub use agent_loop_proto::api_key::ApiKey;
pub use agent_loop_proto::hook::HookKind;
use agent_loop_proto::hook::{HookAnswer, Question};
pub use agent_loop_proto::hook_answers::*;
#[cfg(feature = "__bindings")]
pub(crate) use agent_loop_proto::hook_json::HookInput;
use agent_loop_proto::machine::HookSet;
pub use agent_loop_proto::mcp_answers::{McpElicited, McpSampled};
use serde_json::{Map, Value};

pub use self::inputs::*;
use crate::cancel::CancelToken;
use crate::error::{BoxError, Error};
use crate::future::BoxFuture;
use crate::host::work::HostWork;
use crate::message::Message;
use crate::result::RunResult;
use crate::suspension::Decision;

/// The inputs that the table declares.
pub(crate) mod inputs {
    macro_rules! re_export {
        ($($(#[doc = $doc:literal])* $name:ident $parameter:ident, $since:literal { $($fields:tt)* })+) => {
            pub use agent_loop_proto::hook::{$($name),+};
        };
    }

    agent_loop_proto::hook_inputs_of!(object, re_export);
    agent_loop_proto::hook_inputs_of!(value, re_export);
}

/// What a hook may use while it works: a cancel token and the engine's time. Cheap to clone.
///
/// ```
/// use agent_loop::Agent;
/// use agent_loop::hook::ToolDecision;
///
/// let agent = Agent::builder("anthropic/claude-sonnet-4-5").before_tool_call(|call, context| async move {
///     println!("{} runs in three seconds", call.tool_name);
///     Ok::<_, String>(match context.sleep(3000).await {
///         true => ToolDecision::Allow,
///         false => ToolDecision::block("the run was aborted"),
///     })
/// });
/// # let _ = agent;
/// ```
#[derive(Debug, Clone)]
pub struct HookContext(pub(crate) HostWork);

impl HookContext {
    /// Cancelled when the answer is no longer wanted: the run was aborted or its time limit passed.
    pub fn cancel_token(&self) -> &CancelToken {
        self.0.cancel_token()
    }

    /// Whether the answer is no longer wanted.
    pub fn is_cancelled(&self) -> bool {
        self.cancel_token().is_cancelled()
    }

    /// Waits in the engine's time; ends early when the hook is cancelled. True when the whole time passed.
    pub async fn sleep(&self, ms: u64) -> bool {
        self.0.sleep(ms).await
    }

    /// The same for a thread that may block: not one that runs async code.
    pub fn sleep_blocking(&self, ms: u64) -> bool {
        self.0.sleep_blocking(ms)
    }
}

/// What a hook does: its input in, its answer or an error of the kind `callback` out.
pub(crate) type HookFunction = Arc<dyn Fn(Question, HookContext) -> BoxFuture<'static, Result<HookAnswer, Error>> + Send + Sync>;

/// A hook: a kind and a function. Cheap to clone.
///
/// ```
/// use agent_loop::Agent;
/// use agent_loop::hook::{Hook, HookKind, ToolDecision};
///
/// let agent = Agent::new("anthropic/claude-sonnet-4-5")?;
/// agent.set_hook(Hook::before_tool_call(|call, _context| async move {
///     if call.tool_name == "delete" {
///         return Ok::<_, String>(ToolDecision::block("not here"));
///     }
///     Ok(ToolDecision::Allow)
/// }));
/// assert!(agent.remove_hook(HookKind::BeforeToolCall));
/// # Ok::<(), agent_loop::Error>(())
/// ```
#[derive(Clone)]
pub struct Hook {
    kind: HookKind,
    function: HookFunction,
}

impl Hook {
    pub(crate) fn new(kind: HookKind, function: HookFunction) -> Hook {
        Hook { kind, function }
    }

    /// Which hook it is.
    pub fn kind(&self) -> HookKind {
        self.kind
    }
}

impl std::fmt::Debug for Hook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Hook").field(&self.kind).finish()
    }
}

macro_rules! hooks {
    ($($(#[$doc:meta])* $kind:ident $name:ident: $input:ty => $output:ty,)+) => {
        /// A function for each kind, which is asynchronous and gets the hook's input.
        impl Hook {
            $(
                $(#[$doc])*
                pub fn $name<F, Fut, E>(hook: F) -> Hook
                where
                    F: Fn($input, HookContext) -> Fut + Send + Sync + 'static,
                    Fut: Future<Output = Result<$output, E>> + Send + 'static,
                    E: Into<BoxError> + Send + 'static,
                {
                    let function: HookFunction = Arc::new(move |question, context| match question {
                        Question::$kind(input) => {
                            let answer = hook(input, context);
                            Box::pin(async move {
                                answer.await.map(HookAnswer::$kind).map_err(Error::callback)
                            })
                        }
                        // The loop asks each hook its own question.
                        _ => Box::pin(std::future::ready(Ok(HookAnswer::Nothing))),
                    });
                    Hook::new(HookKind::$kind, function)
                }
            )+
        }
    };
}

agent_loop_proto::for_each_hook!(hooks);

/// The hooks of an agent.
#[derive(Clone, Default)]
pub(crate) struct Hooks([Option<HookFunction>; HookKind::ALL.len()]);

impl Hooks {
    pub(crate) fn get(&self, kind: HookKind) -> Option<&HookFunction> {
        self.0.get(kind as usize)?.as_ref()
    }

    /// The hook of this kind, for another set of hooks.
    pub(crate) fn of(&self, kind: HookKind) -> Option<Hook> {
        self.get(kind).map(|function| Hook::new(kind, Arc::clone(function)))
    }

    /// Sets a hook, in place of one of the same kind.
    pub(crate) fn set(&mut self, hook: Hook) {
        if let Some(place) = self.0.get_mut(hook.kind as usize) {
            *place = Some(hook.function);
        }
    }

    /// Removes a hook; says whether there was one.
    pub(crate) fn remove(&mut self, kind: HookKind) -> bool {
        self.0.get_mut(kind as usize).and_then(Option::take).is_some()
    }

    /// Which hooks are set.
    pub(crate) fn kinds(&self) -> HookSet {
        HookKind::ALL.iter().copied().filter(|kind| self.get(*kind).is_some()).collect()
    }
}
