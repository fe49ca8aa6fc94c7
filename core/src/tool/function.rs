//! [`FnTool`]: a tool that is an async function.

use std::fmt;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use agent_loop_proto::tool::{Approval, ExecutionMode, OnInterrupted, ToolSpec};
use serde_json::{Map, Value};
use tracing::Instrument;

use super::call::{PendingCall, ToolContext};
use super::interface::{ApprovalReason, PreparedArguments, Tool};
use crate::error::{BoxError, Error, panic_message};
use crate::future::{BoxFuture, catch_panic};
use crate::gate::Subject;
use crate::hook::HookContext;

type Function = Arc<dyn Fn(Value, ToolContext) -> BoxFuture<'static, Result<Value, BoxError>> + Send + Sync>;
type Approving = Arc<dyn Fn(&Map<String, Value>) -> Option<String> + Send + Sync>;
type Preparing = Arc<dyn Fn(Map<String, Value>) -> Result<Map<String, Value>, String> + Send + Sync>;

/// A tool that is an async function: arguments and context in, a JSON value or an error text for the model out. Cheap to clone.
///
/// An error may be of any type that `?` turns into a [`BoxError`]: an error of any kind, or a text. Its text becomes the call's
/// result, which the model reads and events have (`tool_execution_end` with `is_error: true`). The error itself is the `source()`
/// of what middleware around the call gets, and ends there. The run goes on.
///
/// With the feature `schema`, `FnTool::typed` makes one whose arguments are a Rust type.
///
/// ```
/// use agent_loop::FnTool;
/// use serde_json::json;
///
/// let schema = json!({ "type": "object", "properties": { "n": { "type": "number" } }, "required": ["n"] });
/// let double = FnTool::new("double", "Doubles a number.", schema, |arguments, _context| async move {
///     let n = arguments["n"].as_f64().ok_or("n is not a number")?;
///     Ok::<_, &str>(json!(n * 2.0))
/// })?;
/// # Ok::<(), agent_loop::Error>(())
/// ```
#[derive(Clone)]
pub struct FnTool {
    spec: ToolSpec,
    function: Function,
    preparing: Option<Preparing>,
    approving: Option<Approving>,
}

impl FnTool {
    /// A tool from a function. `parameters` is the JSON Schema of its arguments, which are validated before it is called.
    ///
    /// # Errors
    /// As [`ToolSpec::new`].
    pub fn new<F, Fut, E>(name: &str, description: &str, parameters: Value, function: F) -> Result<FnTool, Error>
    where
        F: Fn(Value, ToolContext) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Value, E>> + Send + 'static,
        E: Into<BoxError> + Send + 'static,
    {
        Ok(FnTool::with_spec(ToolSpec::new(name, description, parameters)?, function))
    }

    /// A tool from a function and a description made before.
    pub fn with_spec<F, Fut, E>(spec: ToolSpec, function: F) -> FnTool
    where
        F: Fn(Value, ToolContext) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Value, E>> + Send + 'static,
        E: Into<BoxError> + Send + 'static,
    {
        let function: Function = Arc::new(move |arguments, context| {
            let answer = function(arguments, context);
            Box::pin(async move { answer.await.map_err(Into::into) })
        });
        FnTool { spec, function, preparing: None, approving: None }
    }

    /// Normalizes the model's arguments before they are checked; see [`Tool::prepare_arguments`].
    #[must_use]
    pub fn preparing(
        mut self,
        prepare: impl Fn(Map<String, Value>) -> Result<Map<String, Value>, String> + Send + Sync + 'static,
    ) -> FnTool {
        self.preparing = Some(Arc::new(prepare));
        self
    }

    /// Its calls wait for a decision before they run: the run ends with the outcome `suspended`, and
    /// [`PendingRun::decisions`](crate::PendingRun::decisions) goes on.
    #[must_use]
    pub fn with_approval(mut self) -> FnTool {
        self.spec = self.spec.with_needs_approval(Approval::Needed);
        self
    }

    /// Those of its calls wait for a decision for which the function gives a reason. It gets the validated arguments.
    #[must_use]
    pub fn with_approval_if(mut self, reason: impl Fn(&Map<String, Value>) -> Option<String> + Send + Sync + 'static) -> FnTool {
        self.spec = self.spec.with_needs_approval(Approval::Asked);
        self.approving = Some(Arc::new(reason));
        self
    }

    /// What becomes of a call of it without a result that a `resume` finds.
    #[must_use]
    pub fn on_interrupted(mut self, on_interrupted: OnInterrupted) -> FnTool {
        self.spec = self.spec.with_on_interrupted(on_interrupted);
        self
    }

    /// What of its calls the patterns of the option [`gate`](crate::AgentBuilder::gate) are compared with, in place of the JSON
    /// of all arguments.
    ///
    /// # Errors
    /// `invalid_argument`: the tool's parameters describe no such argument.
    pub fn with_subject(mut self, subject: Subject) -> Result<FnTool, Error> {
        self.spec = self.spec.with_subject(subject)?;
        Ok(self)
    }

    /// Whether its calls may run concurrently with others of their message, where the agent's `tool_execution` is not to decide.
    #[must_use]
    pub fn execution_mode(mut self, mode: ExecutionMode) -> FnTool {
        self.spec = self.spec.with_execution_mode(mode);
        self
    }

    /// The longest a call may run, in milliseconds, where that is less than the agent's `tool_timeout_ms`; 0 for no limit.
    #[must_use]
    pub fn timeout_ms(mut self, ms: u64) -> FnTool {
        self.spec = self.spec.with_timeout_ms(ms);
        self
    }
}

impl fmt::Debug for FnTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FnTool").field("name", &self.spec.name()).finish_non_exhaustive()
    }
}

impl Tool for FnTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn prepare_arguments(&self, arguments: &Map<String, Value>, _: &HookContext) -> Option<PreparedArguments> {
        let prepared = self.preparing.as_ref()?(arguments.clone());
        Some(Box::pin(std::future::ready(prepared.map_err(Into::into))))
    }

    fn approval_reason(&self, arguments: &Map<String, Value>, _: &HookContext) -> Option<ApprovalReason> {
        let reason = self.approving.as_ref()?(arguments);
        Some(Box::pin(std::future::ready(Ok(reason))))
    }

    fn start(&self, mut call: PendingCall) {
        let function = Arc::clone(&self.function);
        let arguments = Value::Object(call.take_arguments());
        let context = call.context().clone();
        let scope = call.scope();
        let answer = async move {
            let answer = std::panic::catch_unwind(AssertUnwindSafe(|| function(arguments, context)));
            let answer = match answer {
                Ok(future) => catch_panic(future).await,
                Err(payload) => Err(payload),
            };
            match answer {
                Ok(Ok(value)) => call.respond(value),
                Ok(Err(error)) => call.fail_with(error),
                Err(payload) => call.fail(format!("the tool panicked: {}", panic_message(&*payload))),
            }
        };
        // A task of its own: tools of a batch run concurrently, and one that ignores its cancel token can be left behind.
        tokio::spawn(scope.enter(answer).in_current_span());
    }
}
