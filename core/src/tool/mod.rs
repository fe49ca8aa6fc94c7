//! Tools: what the host offers, and what it answers.
//!
//! ```
//! use agent_loop::FnTool;
//! use serde_json::json;
//!
//! let double = FnTool::new("double", "Doubles a number.", json!({
//!     "type": "object", "properties": { "n": { "type": "number" } }, "required": ["n"],
//! }), |arguments, _call| async move {
//!     let n = arguments["n"].as_f64().ok_or("n is not a number")?;
//!     Ok::<_, &str>(json!(n * 2.0))
//! })?;
//! # Ok::<(), agent_loop::Error>(())
//! ```

pub(crate) mod call;
pub(crate) mod middleware;
mod schema;

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use call::{PendingCall, ToolContext};
pub(crate) use call::{Replies, Reply};
pub use middleware::{Middleware, MiddlewareCall};
use schema::Schema;
pub use schema::Validation;

use crate::error::{Error, panic_message};
use crate::hook::HookContext;
use crate::message::{ContentBlock, joined_text};
use crate::model::BoxFuture;
use crate::names::{Spelling, canonical_names};

/// Whether a tool may run beside others of its batch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExecutionMode {
    /// Beside the others.
    #[default]
    Parallel,
    /// One after the other, in the order of the calls.
    Sequential,
}

/// What a model is told about a tool, checked when it is made.
#[derive(Debug)]
pub struct ToolSpec {
    /// Letters, digits, `_`, `-`; at most 64 characters; unique in an agent.
    pub name: String,
    /// For people; the name where none is given.
    pub label: String,
    /// For the model.
    pub description: String,
    /// A JSON Schema of an object.
    pub parameters: Value,
    /// `None`: as the agent says.
    pub execution_mode: Option<ExecutionMode>,
    /// The longest a call may run, in milliseconds, where that is less than the agent's `tool_timeout_ms`; 0 for no limit.
    pub timeout_ms: u64,
    schema: Schema,
}

impl ToolSpec {
    /// Checks and compiles a tool's description.
    ///
    /// # Errors
    /// `invalid_argument`: a name that no provider takes, or parameters that are not a JSON Schema (says where).
    pub fn new(name: &str, description: &str, parameters: Value) -> Result<ToolSpec, Error> {
        let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if name.is_empty() || name.len() > 64 || !name.chars().all(fits) {
            return Err(Error::invalid_argument(format!(
                "tool name {name:?}: use 1 to 64 letters, digits, '_' or '-' (what every provider takes)"
            )));
        }
        let schema = Schema::compile(&parameters)
            .map_err(|why| Error::invalid_argument(format!("tool {name:?}: parameters is not a JSON Schema: {why}")))?;
        Ok(ToolSpec {
            name: name.to_owned(),
            label: name.to_owned(),
            description: description.to_owned(),
            parameters,
            execution_mode: None,
            timeout_ms: 0,
            schema,
        })
    }

    /// Reads a description in JSON: `{name, description, parameters, label?, execution_mode?,
    /// timeout_ms?}`.
    ///
    /// # Errors
    /// `invalid_argument`: an unknown, missing or wrong field (names it).
    pub fn from_json(value: Value) -> Result<ToolSpec, Error> {
        ToolSpec::from_json_spelled(value, Spelling::Snake, &[])
    }

    /// As [`ToolSpec::from_json`], with field names as the host's language spells them. `own` are names that the host handles
    /// itself; they appear in the hint for a name that is not known.
    ///
    /// # Errors
    /// As [`ToolSpec::from_json`].
    pub fn from_json_spelled(value: Value, spelling: Spelling, own: &[&'static str]) -> Result<ToolSpec, Error> {
        const FIELDS: &[&str] = &["name", "description", "parameters", "label", "execution_mode", "timeout_ms"];
        let wrong = |field: &str, wanted: &str, got: &Value| {
            Error::invalid_argument(format!("tool: {}: expected {wanted}, got {got}", spelling.spell(field)))
        };
        let Value::Object(map) = value else {
            return Err(Error::invalid_argument(format!("tool: expected an object, got {value}")));
        };
        let map = canonical_names("tool field", map, &[FIELDS, own].concat(), spelling)?;
        let given = |field: &str| map.get(field).filter(|value| !value.is_null());
        let text = |field: &str| given(field).map(|value| value.as_str().ok_or_else(|| wrong(field, "text", value))).transpose();
        let name = text("name")?.ok_or_else(|| Error::invalid_argument("tool: name is missing"))?;
        let parameters = given("parameters").cloned().unwrap_or_else(no_parameters);
        let mut spec = ToolSpec::new(name, text("description")?.unwrap_or_default(), parameters)?;
        if let Some(label) = text("label")? {
            label.clone_into(&mut spec.label);
        }
        if let Some(mode) = given("execution_mode") {
            let read = ExecutionMode::deserialize(mode);
            spec.execution_mode = Some(read.map_err(|_| wrong("execution_mode", "\"parallel\" or \"sequential\"", mode))?);
        }
        if let Some(ms) = given("timeout_ms") {
            spec.timeout_ms = ms.as_u64().ok_or_else(|| wrong("timeout_ms", "milliseconds (0 for no limit)", ms))?;
        }
        Ok(spec)
    }

    /// The arguments as the tool will get them, or every violation with its JSON pointer.
    pub(crate) fn check(&self, arguments: &Map<String, Value>, how: Validation) -> Result<Map<String, Value>, String> {
        self.schema.check(arguments, how)
    }
}

fn no_parameters() -> Value {
    serde_json::json!({ "type": "object", "properties": {} })
}

/// What [`Tool::prepare_arguments`] gives: the arguments as they shall be, or an error text.
pub type PreparedArguments = BoxFuture<'static, Result<Map<String, Value>, String>>;

/// Something a model can call.
pub trait Tool: Send + Sync + 'static {
    /// What the model is told.
    fn spec(&self) -> &ToolSpec;

    /// Puts the model's arguments right before they are checked: for models that get a shape wrong. `None`: as they are.
    /// An error, like a panic, is the call's answer.
    fn prepare_arguments(&self, arguments: &Map<String, Value>, context: &HookContext) -> Option<PreparedArguments> {
        let _ = (arguments, context);
        None
    }

    /// Takes up a call. It is answered through [`PendingCall`], now or later, from any thread.
    fn start(&self, call: PendingCall);

    /// Whether `start` may block its thread. It then gets one that nobody else needs.
    fn may_block(&self) -> bool {
        false
    }
}

/// A tool that is an async function: arguments and context in, a JSON value or an error text out.
pub struct FnTool<F> {
    spec: ToolSpec,
    function: Arc<F>,
    preparing: Option<Preparing>,
}

type Preparing = Arc<dyn Fn(Map<String, Value>) -> Result<Map<String, Value>, String> + Send + Sync>;

impl<F, Fut, E> FnTool<F>
where
    F: Fn(Value, ToolContext) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<Value, E>> + Send + 'static,
    E: std::fmt::Display + Send + 'static,
{
    /// A tool from a function. `parameters` is the JSON Schema of its arguments.
    ///
    /// # Errors
    /// As [`ToolSpec::new`].
    pub fn new(name: &str, description: &str, parameters: Value, function: F) -> Result<FnTool<F>, Error> {
        Ok(FnTool::with_spec(ToolSpec::new(name, description, parameters)?, function))
    }

    /// A tool from a function and a description made before.
    pub fn with_spec(spec: ToolSpec, function: F) -> FnTool<F> {
        FnTool { spec, function: Arc::new(function), preparing: None }
    }

    /// Puts the model's arguments right before they are checked; see [`Tool::prepare_arguments`].
    #[must_use]
    pub fn preparing(
        mut self,
        prepare: impl Fn(Map<String, Value>) -> Result<Map<String, Value>, String> + Send + Sync + 'static,
    ) -> FnTool<F> {
        self.preparing = Some(Arc::new(prepare));
        self
    }
}

impl<F> std::fmt::Debug for FnTool<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FnTool").field("name", &self.spec.name).finish_non_exhaustive()
    }
}

impl<F, Fut, E> Tool for FnTool<F>
where
    F: Fn(Value, ToolContext) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<Value, E>> + Send + 'static,
    E: std::fmt::Display + Send + 'static,
{
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn prepare_arguments(&self, arguments: &Map<String, Value>, _: &HookContext) -> Option<PreparedArguments> {
        let prepared = self.preparing.as_ref()?(arguments.clone());
        Some(Box::pin(std::future::ready(prepared)))
    }

    fn start(&self, call: PendingCall) {
        let function = Arc::clone(&self.function);
        let arguments = Value::Object(call.arguments().clone());
        let context = call.context().clone();
        let scope = call.scope();
        // A task of its own: tools of a batch run beside one another, and one that ignores its cancel token can be left behind.
        tokio::spawn(scope.enter(async move {
            let answer = std::panic::catch_unwind(AssertUnwindSafe(|| function(arguments, context)));
            let answer = match answer {
                Ok(future) => catch_panic(future).await,
                Err(payload) => Err(payload),
            };
            match answer {
                Ok(Ok(value)) => call.respond(value),
                Ok(Err(error)) => call.fail(error.to_string()),
                Err(payload) => call.fail(format!("the tool panicked: {}", panic_message(&*payload))),
            }
        }));
    }
}

/// Awaits a future; a panic in it becomes its payload.
pub(crate) async fn catch_panic<T>(future: impl Future<Output = T>) -> Result<T, Box<dyn std::any::Any + Send>> {
    let mut future = std::pin::pin!(future);
    std::future::poll_fn(move |cx| match std::panic::catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(cx))) {
        Ok(poll) => poll.map(Ok),
        Err(payload) => std::task::Poll::Ready(Err(payload)),
    })
    .await
}

/// A tool's answer as events show it: `{content, details, terminate}`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ToolOutput {
    /// `text` and `image` blocks for the model.
    pub content: Vec<ContentBlock>,
    /// Anything for the application.
    pub details: Value,
    /// Whether the run may end here.
    pub terminate: bool,
}

impl ToolOutput {
    /// All text, joined with nothing between the blocks.
    pub fn text(&self) -> String {
        joined_text(&self.content)
    }

    /// The answer of a failed call.
    pub(crate) fn error(text: impl Into<String>) -> ToolOutput {
        ToolOutput { content: vec![ContentBlock::text(text)], details: Value::Null, terminate: false }
    }

    /// A tool's value, and whether the tool itself called it an error. An object whose `content` is an array of blocks is a
    /// full result; null is empty; a string is text; anything else is compact JSON text.
    pub(crate) fn from_value(value: Value) -> (ToolOutput, bool) {
        let plain = |content| (ToolOutput { content, details: Value::Null, terminate: false }, false);
        match value {
            Value::Null => plain(Vec::new()),
            Value::String(text) => plain(vec![ContentBlock::text(text)]),
            Value::Object(map) => match full_content(&map) {
                Some(content) => {
                    let flag = |name| map.get(name).and_then(Value::as_bool).unwrap_or(false);
                    let details = map.get("details").cloned().unwrap_or(Value::Null);
                    (ToolOutput { content, details, terminate: flag("terminate") }, flag("is_error"))
                }
                None => plain(vec![ContentBlock::text(Value::Object(map).to_string())]),
            },
            other => plain(vec![ContentBlock::text(other.to_string())]),
        }
    }
}

fn full_content(map: &Map<String, Value>) -> Option<Vec<ContentBlock>> {
    let blocks = map.get("content")?.as_array()?;
    let read = |block: &Value| match ContentBlock::deserialize(block) {
        Ok(block @ (ContentBlock::Text { .. } | ContentBlock::Image { .. })) => Some(block),
        _ => None,
    };
    blocks.iter().map(read).collect()
}

/// The tools of an agent, in the order they were added.
#[derive(Clone, Default)]
pub struct ToolSet(Vec<Arc<dyn Tool>>);

impl ToolSet {
    /// Adds a tool.
    ///
    /// # Errors
    /// `invalid_argument` when there is one of that name.
    pub fn add(&mut self, tool: Arc<dyn Tool>) -> Result<(), Error> {
        let name = &tool.spec().name;
        if self.get(name).is_some() {
            return Err(Error::invalid_argument(format!("there are two tools named {name:?}; give each its own name")));
        }
        self.0.push(tool);
        Ok(())
    }

    /// Takes a tool out and gives it, if there was one.
    pub fn remove(&mut self, name: &str) -> Option<Arc<dyn Tool>> {
        let at = self.0.iter().position(|tool| tool.spec().name == name)?;
        Some(self.0.remove(at))
    }

    /// Keeps the tools of these names only.
    pub(crate) fn keep(&mut self, names: &[String]) {
        self.0.retain(|tool| names.contains(&tool.spec().name));
    }

    /// The tool of that name.
    pub fn get(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.0.iter().find(|tool| tool.spec().name == name)
    }

    /// All tools, in the order they were added.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<dyn Tool>> {
        self.0.iter()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Their names, for a message to the model.
    pub(crate) fn names(&self) -> String {
        let names: Vec<&str> = self.0.iter().map(|tool| tool.spec().name.as_str()).collect();
        if names.is_empty() { "none".to_owned() } else { names.join(", ") }
    }
}

impl std::fmt::Debug for ToolSet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.0.iter().map(|tool| &tool.spec().name)).finish()
    }
}
