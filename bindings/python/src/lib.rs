//! The native half of the Python package `agent_loop`: the engine's objects as Python classes.
//!
//! A module per noun, as in the other surfaces; what Python code waits for crosses in [`mailbox`] and [`pending`].

mod agent;
mod block;
mod doctor;
mod error;
mod event;
mod hook;
mod host;
mod input;
mod json;
mod listener;
mod mailbox;
mod message;
mod middleware;
mod model;
mod pending;
mod run;
mod runtime;
mod testing;
mod tool;
mod usage;
mod watch;

/// The native half of `agent_loop`. Not to be imported by itself.
#[pyo3::pymodule]
mod _native {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::{
        agent::Agent,
        block::{ContentBlock, ImageBlock, OpaqueBlock, TextBlock, ThinkingBlock, ToolCall},
        doctor::{Repair, Repaired},
        event::{
            AgentEnd, AgentStart, Diagnostic, Event, MessageEnd, MessageStart, MessageUpdate, Raw, Retry, TextDelta, TextEnd,
            TextStart, ThinkingDelta, ThinkingEnd, ThinkingStart, ToolCallDelta, ToolCallEnd, ToolCallStart, ToolExecutionEnd,
            ToolExecutionStart, ToolExecutionUpdate, TurnEnd, TurnStart,
        },
        hook::Asking,
        host::Caller,
        input::{AfterToolCall, BeforeToolCall, Failure, Payload, ResponseHead, TurnSummary},
        listener::{Subscription, Telling},
        mailbox::Mailbox,
        message::{AssistantMessage, CustomMessage, Message, ToolResultMessage, UserMessage},
        middleware::Passing,
        model::{ModelCall, ModelRequest},
        pending::Pending,
        run::{Run, RunResult, Undelivered},
        tool::{Call, CallContext, PartialResult, ToolOutput, ToolSpec},
        usage::{Cost, Usage},
    };

    #[pymodule_export]
    use crate::{
        doctor::{check, repair},
        error::is_retryable,
        model::models,
        testing::check_events,
    };

    #[pymodule_export]
    const VERSION: &str = agent_loop::VERSION;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        let shutdown = pyo3::wrap_pyfunction!(crate::runtime::shutdown, module)?;
        let hooks = agent_loop::HookKind::ALL.iter().map(|kind| kind.as_str());
        module.add("HOOKS", pyo3::types::PyTuple::new(module.py(), hooks)?)?;
        module.py().import("atexit")?.call_method1("register", (shutdown,))?;
        Ok(())
    }
}
