//! A tool for files: its work blocks, so it has a thread of its own, and its path is put into one spelling first.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use agent_loop_proto::gate::{Subject, SubjectKind};

use super::root::Root;
use super::shared::{MadeTool, Shared};
use crate::cancel::CancelToken;
use crate::error::Error;
use crate::hook::HookContext;
use crate::threads;
use crate::tool::{Approval, ExecutionMode, PendingCall, PreparedArguments, Tool, ToolContext, ToolSpec};

/// How many bytes of text a result has at most. An agent's `max_result_bytes` is 50,000 unless it is changed.
pub(super) const MAX_TEXT: usize = 40_000;

type Arguments = Map<String, Value>;

/// A tool for files.
pub(super) struct FileTool {
    spec: ToolSpec,
    shared: Arc<Shared>,
    run: fn(&FileCall<'_>) -> Result<Value, String>,
    reshape: fn(&mut Arguments),
}

/// What a tool for files works with.
pub(super) struct FileCall<'a> {
    pub(super) root: &'a Root,
    pub(super) context: &'a ToolContext,
    arguments: &'a Arguments,
}

impl FileTool {
    /// A tool that reads.
    ///
    /// # Errors
    /// As [`ToolSpec::new`].
    pub(super) fn reading(
        name: &str,
        description: &str,
        parameters: Value,
        shared: &Arc<Shared>,
        run: fn(&FileCall<'_>) -> Result<Value, String>,
    ) -> Result<FileTool, Error> {
        let spec = ToolSpec::new(name, description, parameters)?.with_subject(Subject::new("path", SubjectKind::Path))?;
        Ok(FileTool { spec, shared: Arc::clone(shared), run, reshape: |_| {} })
    }

    /// It writes: a call waits for approval, and for the calls before it.
    pub(super) fn that_writes(mut self) -> FileTool {
        self.spec = self.spec.with_needs_approval(Approval::Needed).with_execution_mode(ExecutionMode::Sequential);
        self
    }

    /// It takes arguments in another shape, too.
    pub(super) fn reshaping(mut self, reshape: fn(&mut Arguments)) -> FileTool {
        self.reshape = reshape;
        self
    }

    pub(super) fn made(self) -> MadeTool {
        Ok(Arc::new(self))
    }
}

impl Tool for FileTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn prepare_arguments(&self, arguments: &Arguments, _: &HookContext) -> Option<PreparedArguments> {
        let (mut arguments, shared, reshape) = (arguments.clone(), Arc::clone(&self.shared), self.reshape);
        Some(Box::pin(async move {
            let prepared = threads::blocking(move || {
                shared.root.check_there().map_err(Error::invalid_argument)?;
                reshape(&mut arguments);
                if let Some(Value::String(path)) = arguments.get_mut("path") {
                    *path = shared.root.resolve(path).map_err(Error::invalid_argument)?;
                }
                Ok(arguments)
            });
            // The text alone: a model reads it.
            prepared.await.map_err(|error| error.message().to_owned().into())
        }))
    }

    fn start(&self, call: PendingCall) {
        let of_call = FileCall { root: &self.shared.root, context: call.context(), arguments: call.arguments() };
        match (self.run)(&of_call) {
            Ok(result) => call.respond(result),
            Err(text) => call.fail(text),
        }
    }

    fn may_block(&self) -> bool {
        true
    }
}

impl FileCall<'_> {
    /// The argument `path` in its one spelling; the root where there is none.
    ///
    /// # Errors
    /// As [`Root::normal`].
    pub(super) fn path(&self) -> Result<String, String> {
        // It was resolved before, unless a middleware or a decision has put another one in its place.
        self.root.normal(self.text("path").unwrap_or(super::path::ROOT))
    }

    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.arguments.get(name)?.as_str()
    }

    /// A number from 1 on.
    pub(super) fn number(&self, name: &str) -> Option<usize> {
        self.arguments.get(name)?.as_u64().map(|number| usize::try_from(number).unwrap_or(usize::MAX))
    }

    pub(super) fn flag(&self, name: &str) -> bool {
        self.arguments.get(name).and_then(Value::as_bool).unwrap_or_default()
    }

    pub(super) fn list(&self, name: &str) -> &[Value] {
        self.arguments.get(name).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
    }

    pub(super) fn cancel_token(&self) -> &CancelToken {
        self.context.cancel_token()
    }

    /// # Errors
    /// The call is no longer wanted.
    pub(super) fn check_wanted(&self) -> Result<(), String> {
        if self.context.is_cancelled() { Err("the call was cancelled before it was done".to_owned()) } else { Ok(()) }
    }
}

/// A schema of these properties.
pub(super) fn schema(properties: &Value, required: &[&str]) -> Value {
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}

/// A result of one text.
pub(super) fn text_result(text: impl Into<String>) -> Value {
    json!({ "content": [{ "type": "text", "text": text.into() }] })
}
