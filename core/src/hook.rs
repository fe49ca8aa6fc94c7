//! Hooks: functions of the host that a run asks, and that may answer later. What each is asked and may answer is in the table of
//! [`HookKind`]; when it is asked and what its failure means, in the documentation of the loop.
//!
//! ```
//! use agent_loop::Agent;
//! use agent_loop::hook::ToolDecision;
//! # fn example(agent: Agent) -> Agent {
//! agent.before_tool_call(|call, _| async move {
//!     if call.tool_name == "delete" {
//!         return Ok::<_, String>(ToolDecision::Block { reason: "not here".into() });
//!     }
//!     Ok(ToolDecision::Allow)
//! })
//! # }
//! ```

use std::sync::Arc;

use agent_loop_proto::hook::HookOutput;
pub use agent_loop_proto::hook::{HookKind, Question, ToolDecision, ToolOverride, TurnChange};
pub use agent_loop_proto::hook_json::HookInput;
use agent_loop_proto::machine::HookSet;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::future::BoxFuture;
use crate::host::work::HostWork;

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
/// use agent_loop::hook::ToolDecision;
///
/// # fn example(agent: agent_loop::Agent) -> agent_loop::Agent {
/// agent.before_tool_call(|call, context| async move {
///     println!("{} runs in three seconds", call.tool_name);
///     Ok::<_, String>(match context.sleep(3000).await {
///         true => ToolDecision::Allow,
///         false => ToolDecision::Block { reason: "the run was aborted".into() },
///     })
/// })
/// # }
/// ```
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

    /// Waits in the engine's time; ends early when the hook is cancelled. True when the whole time passed.
    pub async fn sleep(&self, ms: u64) -> bool {
        self.0.sleep(ms).await
    }

    /// The same for a thread that may block: not one that runs async code.
    pub fn sleep_blocking(&self, ms: u64) -> bool {
        self.0.sleep_blocking(ms)
    }
}

/// A hook: its input in, its answer or an error text out.
pub(crate) type Hook = Arc<dyn Fn(Question, HookContext) -> BoxFuture<'static, Result<HookOutput, String>> + Send + Sync>;

/// A hook of a host of another language: its input to be serialized, its answer in JSON, as [`HookKind`] documents both.
pub type JsonHook = Arc<dyn Fn(HookInput, HookContext) -> BoxFuture<'static, Result<Value, String>> + Send + Sync>;

/// The hooks of an agent.
#[derive(Clone, Default)]
pub(crate) struct Hooks([Option<Hook>; HookKind::ALL.len()]);

impl Hooks {
    pub(crate) fn get(&self, kind: HookKind) -> Option<&Hook> {
        self.0.get(kind as usize)?.as_ref()
    }

    /// Sets a hook, or removes it with `None`.
    pub(crate) fn set(&mut self, kind: HookKind, hook: Option<Hook>) {
        if let Some(place) = self.0.get_mut(kind as usize) {
            *place = hook;
        }
    }

    /// Sets a hook of a host of another language, or removes it with `None`.
    pub(crate) fn set_json(&mut self, kind: HookKind, hook: Option<JsonHook>) {
        let hook = hook.map(|hook| -> Hook {
            Arc::new(move |question, context| {
                let answer = hook(HookInput(question), context);
                Box::pin(async move {
                    HookOutput::from_json(kind, answer.await?).map_err(|why| format!("its answer cannot be used: {why}"))
                })
            })
        });
        self.set(kind, hook);
    }

    /// Which hooks are set.
    pub(crate) fn kinds(&self) -> HookSet {
        HookKind::ALL.iter().copied().filter(|kind| self.get(*kind).is_some()).collect()
    }
}
