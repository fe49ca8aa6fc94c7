//! The native half of the Python package `agent_loop`: the engine's objects as Python classes.
//!
//! A module per noun, as in the other surfaces; what Python code waits for crosses in [`mailbox`] and [`pending`].

mod agent;
mod block;
mod error;
mod event;
mod host;
mod json;
mod listener;
mod mailbox;
mod message;
mod pending;
mod run;
mod runtime;
mod tool;
mod usage;

/// The native half of `agent_loop`. Not to be imported by itself.
#[pyo3::pymodule]
mod _native {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::{
        agent::Agent,
        block::{ContentBlock, ImageBlock, OpaqueBlock, TextBlock, ThinkingBlock, ToolCall},
        event::{
            AgentEnd, AgentStart, Diagnostic, Event, MessageEnd, MessageStart, MessageUpdate, Raw, Retry, TextDelta, TextEnd,
            TextStart, ThinkingDelta, ThinkingEnd, ThinkingStart, ToolCallDelta, ToolCallEnd, ToolCallStart, ToolExecutionEnd,
            ToolExecutionStart, ToolExecutionUpdate, TurnEnd, TurnStart,
        },
        listener::{Subscription, Telling},
        mailbox::Mailbox,
        message::{AssistantMessage, CustomMessage, Message, ToolResultMessage, UserMessage},
        pending::Pending,
        run::{Run, RunResult},
        tool::{Call, PartialResult, ToolOutput, ToolSpec},
        usage::{Cost, Usage},
    };

    #[pymodule_export]
    const VERSION: &str = agent_loop::VERSION;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        let shutdown = pyo3::wrap_pyfunction!(crate::runtime::shutdown, module)?;
        module.py().import("atexit")?.call_method1("register", (shutdown,))?;
        Ok(())
    }
}
