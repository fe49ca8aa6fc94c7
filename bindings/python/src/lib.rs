//! The native half of the Python package `agent_loop`: the engine's objects as Python classes.
//!
//! A module per noun, as in the other bindings. The engine calls Python through a [`job_queue`]; Python awaits the engine through
//! a [`future`].

mod agent;
mod argument;
mod block;
mod call;
mod cause;
mod construct;
mod conversion;
mod error;
mod event;
mod exchange;
mod field;
mod future;
mod hook;
mod hook_input;
mod host;
mod job_queue;
mod json;
mod listener;
mod log;
mod message;
mod model;
mod path;
mod program;
mod run;
mod runtime;
mod session;
mod stepping;
mod store;
mod suspension;
mod testing;
mod tool;
mod traces;
mod transcript;
mod ui;
mod usage;

/// The native half of `agent_loop`; applications import `agent_loop` instead.
#[pyo3::pymodule]
mod _native {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::{
        agent::Agent,
        block::{AudioBlock, ContentBlock, DocumentBlock, ImageBlock, OpaqueBlock, TextBlock, ThinkingBlock, ToolCall},
        call::HostCall,
        conversion::{Exported, Imported, Loss},
        exchange::Exchange,
        future::NativeFuture,
        host::Caller,
        job_queue::JobQueue,
        listener::Subscription,
        log::LogRecord,
        message::{AssistantMessage, CustomMessage, Message, ToolResultMessage, UserMessage},
        model::ModelRequest,
        run::{Run, RunResult, Undelivered},
        session::{Follow, OpenSession, Session},
        stepping::Loop,
        store::Store,
        suspension::SuspendedCall,
        tool::{CallContext, PartialResult, ToolOutput, ToolSpec},
        traces::Traces,
        transcript::{Repair, Repaired},
        ui::{UiFrames, UiRequest},
        usage::{Cost, Usage},
    };

    #[pymodule_export]
    use crate::{
        construct::restore,
        conversion::{export_messages, import_messages},
        error::is_retryable,
        exchange::check_exchange,
        json::plain,
        json::plain_result,
        model::models,
        program::{run_agent, run_program},
        run::check_call_options,
        run::check_context_fields,
        stepping::workflow_step,
        testing::{check_events, test_file_name},
        transcript::{check, estimate_tokens, read_history, recent, repair},
        ui::ui_frames_after,
        ui::ui_messages,
    };

    #[pymodule_export]
    const VERSION: &str = agent_loop::VERSION;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        let shutdown = pyo3::wrap_pyfunction!(crate::runtime::shutdown, module)?;
        crate::event::add_classes(module)?;
        crate::hook_input::add_classes(module)?;
        let hooks = agent_loop::hook::HookKind::ALL.iter().map(|kind| kind.as_str());
        module.add("HOOKS", pyo3::types::PyTuple::new(module.py(), hooks)?)?;
        let options: Vec<&str> = agent_loop::host::table::options::names().collect();
        module.add("OPTIONS", pyo3::types::PyTuple::new(module.py(), options)?)?;
        let methods = agent_loop::session::hosting::STORE_METHODS.iter();
        module.add("STORE_METHODS", methods.copied().collect::<Vec<_>>())?;
        module.py().import("atexit")?.call_method1("register", (shutdown,))?;
        Ok(())
    }
}
