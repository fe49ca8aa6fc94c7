//! Functions of a host that are called with a [`HostCall`], as tools, hooks, middleware, listeners and models.

use std::sync::Arc;

use agent_loop_proto::hook::HookAnswer;
use agent_loop_proto::json_error::shown;
use serde_json::{Map, Value};

use super::answer::{self, HostAnswer};
use super::call::HostCall;
use crate::agent::Agent;
use crate::error::Error;
use crate::hook::{Hook, HookContext, HookFunction, HookInput, HookKind};
use crate::listener::{Listener, Subscription};
use crate::stepping::read_approval;
use crate::tool::{ApprovalReason, PendingCall, PreparedArguments, Tool, ToolSpec};

/// A function of the host. It answers its call now or later; it should not block.
pub type HostFunction = Arc<dyn Fn(HostCall) + Send + Sync>;

/// A tool that is a function of the host.
pub struct HostTool {
    /// The description for the model.
    pub spec: Arc<ToolSpec>,
    /// The tool.
    pub execute: HostFunction,
    /// Its `prepare_arguments`, answered with an object, or with null for no change.
    pub prepare: Option<HostFunction>,
    /// What `prepare` has to answer, in the words of the host's language, for the error.
    pub prepared: &'static str,
    /// Its `needs_approval`, answered with true or false, or with the reason; asked where the description says so.
    pub approve: Option<HostFunction>,
    /// Whether `execute` may block its thread.
    pub may_block: bool,
}

impl std::fmt::Debug for HostTool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HostTool").field("name", &self.spec.name()).finish_non_exhaustive()
    }
}

impl Tool for HostTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn prepare_arguments(&self, arguments: &Map<String, Value>, context: &HookContext) -> Option<PreparedArguments> {
        let answer = HostCall::prepare(arguments.clone(), context.clone(), &**self.prepare.as_ref()?);
        let (arguments, expected) = (arguments.clone(), self.prepared);
        Some(Box::pin(async move {
            match answer::json(answer.await)? {
                Value::Object(prepared) => Ok(prepared),
                Value::Null => Ok(arguments),
                other => Err(format!("expected {expected}, got {}", shown(&other)).into()),
            }
        }))
    }

    fn approval_reason(&self, arguments: &Map<String, Value>, context: &HookContext) -> Option<ApprovalReason> {
        let answer = HostCall::approve(arguments.clone(), context.clone(), &**self.approve.as_ref()?);
        Some(Box::pin(async move {
            let answer = answer::json(answer.await)?;
            Ok(read_approval(answer)?)
        }))
    }

    fn start(&self, call: PendingCall) {
        (self.execute)(HostCall::tool(call));
    }

    fn may_block(&self) -> bool {
        self.may_block
    }
}

/// Callbacks of hosts of other languages.
impl Agent {
    /// Sets a hook, or removes it with `None`. It answers with JSON, as [`HookKind`] documents it, or with messages.
    pub fn set_host_hook(&self, kind: HookKind, function: Option<HostFunction>) {
        let Some(function) = function else {
            self.remove_hook(kind);
            return;
        };
        let hook: HookFunction = Arc::new(move |question, context| {
            let answer = HostCall::hook(kind, HookInput(question), context, &*function);
            Box::pin(async move {
                let value = match answer.await {
                    Ok(HostAnswer::Messages(messages)) if kind == HookKind::ConvertToLlm => {
                        return Ok(HookAnswer::ConvertToLlm(messages));
                    }
                    Ok(HostAnswer::Messages(messages)) => return Ok(HookAnswer::TransformContext(messages)),
                    other => answer::json(other)?,
                };
                HookAnswer::from_json(kind, value).map_err(|why| Error::callback(format!("its answer cannot be used: {why}")))
            })
        });
        self.set_hook(Hook::new(kind, hook));
    }

    /// Adds a middleware, inside of those added before.
    pub fn add_host_middleware(&self, function: HostFunction) {
        self.add_link(Arc::new(move |call| {
            let answer = HostCall::middleware(call, &*function);
            Box::pin(async move { answer::json(answer.await) })
        }));
    }

    /// Adds a listener, for which the run waits.
    pub fn add_host_listener(&self, function: HostFunction) -> Subscription {
        self.add_listener(Listener::Host(Arc::new(move |event| {
            let answer = HostCall::listener(event, &*function);
            Box::pin(async move { answer::json(answer.await).map(drop) })
        })))
    }

    /// Sets or, with `None`, removes a custom provider: that of this name, or the one without a name.
    ///
    /// # Errors
    /// As [`Agent::set_provider`] and [`Agent::set_custom_provider`].
    pub fn set_host_provider(&self, name: Option<&str>, function: Option<HostFunction>) -> Result<(), Error> {
        let function = function
            .map(|function| -> crate::model::custom::ProviderFn { Arc::new(move |call| function(HostCall::model(call))) });
        match name {
            Some(name) => self.set_custom_provider(name, function),
            None => self.set_provider(function),
        }
    }
}
