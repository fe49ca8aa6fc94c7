//! What a run asks of a tool, and the set of an agent's tools.

use std::sync::Arc;

use serde_json::{Map, Value};

pub use agent_loop_proto::schema::Validation;
pub use agent_loop_proto::tool::{Approval, ExecutionMode, OnInterrupted, ToolOutput, ToolSpec};

use super::call::PendingCall;
use crate::error::{BoxError, Error};
use crate::future::BoxFuture;
use crate::hook::HookContext;

/// What [`Tool::prepare_arguments`] gives: the arguments as they shall be, or an error: any, or a text.
pub type PreparedArguments = BoxFuture<'static, Result<Map<String, Value>, BoxError>>;

/// What [`Tool::approval_reason`] gives: why a call needs approval, `None` if it needs none, or an error: any, or a text.
pub type ApprovalReason = BoxFuture<'static, Result<Option<String>, BoxError>>;

/// Something a model can call.
///
/// ```
/// use agent_loop::tool::{PendingCall, Tool, ToolSpec};
///
/// struct Lookup {
///     spec: ToolSpec,
///     jobs: std::sync::mpsc::Sender<PendingCall>,
/// }
///
/// impl Tool for Lookup {
///     fn spec(&self) -> &ToolSpec {
///         &self.spec
///     }
///
///     fn start(&self, call: PendingCall) {
///         // Another thread answers. Without one, the call is dropped, and so it fails.
///         let _ = self.jobs.send(call);
///     }
/// }
/// ```
pub trait Tool: Send + Sync + 'static {
    /// The description for the model.
    fn spec(&self) -> &ToolSpec;

    /// Puts the model's arguments right before they are checked: for models that get a shape wrong. `None`: as they are.
    /// An error, like a panic, is the call's answer.
    fn prepare_arguments(&self, arguments: &Map<String, Value>, context: &HookContext) -> Option<PreparedArguments> {
        let _ = (arguments, context);
        None
    }

    /// Whether a call with these arguments, which were checked, waits for a decision, and why. Asked where the description says
    /// [`Approval::Asked`]. `None` lets the call wait. An error, like a panic, is the call's answer.
    fn approval_reason(&self, arguments: &Map<String, Value>, context: &HookContext) -> Option<ApprovalReason> {
        let _ = (arguments, context);
        None
    }

    /// Receives a call. It is answered through [`PendingCall`], now or later, from any thread.
    fn start(&self, call: PendingCall);

    /// Whether `start` may block its thread. It then gets a thread of its own.
    fn may_block(&self) -> bool {
        false
    }
}

impl<T: Tool + ?Sized> Tool for Arc<T> {
    fn spec(&self) -> &ToolSpec {
        (**self).spec()
    }

    fn prepare_arguments(&self, arguments: &Map<String, Value>, context: &HookContext) -> Option<PreparedArguments> {
        (**self).prepare_arguments(arguments, context)
    }

    fn approval_reason(&self, arguments: &Map<String, Value>, context: &HookContext) -> Option<ApprovalReason> {
        (**self).approval_reason(arguments, context)
    }

    fn start(&self, call: PendingCall) {
        (**self).start(call);
    }

    fn may_block(&self) -> bool {
        (**self).may_block()
    }
}

/// The tools of an agent, in the order they were added.
///
/// ```
/// use std::sync::Arc;
///
/// use agent_loop::{FnTool, ToolSet};
/// use serde_json::json;
///
/// let now = FnTool::new("now", "The time.", json!({ "type": "object" }), |_, _| async { Ok::<_, String>(json!("noon")) })?;
/// let mut tools = ToolSet::default();
/// tools.add(Arc::new(now))?;
/// assert!(tools.get("now").is_some());
/// # Ok::<(), agent_loop::Error>(())
/// ```
#[derive(Clone, Default)]
pub struct ToolSet(Vec<Arc<dyn Tool>>);

impl ToolSet {
    /// Adds a tool.
    ///
    /// # Errors
    /// `invalid_argument` when there is one of that name.
    pub fn add(&mut self, tool: Arc<dyn Tool>) -> Result<(), Error> {
        let name = tool.spec().name();
        if self.get(name).is_some() {
            return Err(Error::invalid_argument(format!("there are two tools named {name:?}; give each its own name")));
        }
        self.0.push(tool);
        Ok(())
    }

    /// Takes a tool out and gives it, if there was one.
    pub fn remove(&mut self, name: &str) -> Option<Arc<dyn Tool>> {
        let at = self.0.iter().position(|tool| tool.spec().name() == name)?;
        Some(self.0.remove(at))
    }

    /// Their descriptions, in the order they were added.
    pub fn specs(&self) -> Vec<Arc<ToolSpec>> {
        self.0.iter().map(|tool| Arc::new(tool.spec().clone())).collect()
    }

    /// The tool of that name.
    pub fn get(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.0.iter().find(|tool| tool.spec().name() == name)
    }

    /// All tools, in the order they were added.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<dyn Tool>> {
        self.0.iter()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl std::fmt::Debug for ToolSet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.0.iter().map(|tool| tool.spec().name())).finish()
    }
}
