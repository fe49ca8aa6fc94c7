//! Events: one class for each type, all of them [`Event`]s, with getters that convert when read.

use agent_loop::{Event as CoreEvent, EventData, MessageUpdate as Update};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::sync::Arc;

use crate::block::{block, match_args};
use crate::message::{message, messages};
use crate::tool::{PartialResult, ToolOutput};
use crate::usage::Usage;
use crate::{error, json};

/// One event of a run.
#[pyclass(frozen, subclass, module = "agent_loop")]
pub(crate) struct Event(CoreEvent);

impl Event {
    pub(crate) fn core(&self) -> &CoreEvent {
        &self.0
    }
}

#[pymethods]
impl Event {
    #[getter(r#type)]
    fn kind(&self) -> &'static str {
        self.0.kind()
    }

    #[getter]
    fn run_id(&self) -> &str {
        &self.0.run_id
    }

    #[getter]
    fn seq(&self) -> u64 {
        self.0.seq
    }

    #[getter]
    fn turn(&self) -> u32 {
        self.0.turn
    }

    fn partial<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let partial = self.0.partial().map(|partial| Arc::new(agent_loop::Message::Assistant(partial)));
        partial.map(|partial| message(py, &partial)).transpose()
    }

    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        json::to_dict(py, &self.0)
    }

    fn to_json(&self) -> String {
        self.0.to_json()
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        json::repr(slf.py(), &slf.get_type().name()?.to_string(), &slf.get().0, &["type", "run_id"])
    }
}

/// A part of the assistant's message as it streams. `content_index` counts the blocks in the order they started.
#[pyclass(frozen, subclass, extends = Event, module = "agent_loop")]
pub(crate) struct MessageUpdate;

#[pymethods]
impl MessageUpdate {
    #[getter]
    fn content_index(slf: &Bound<'_, Self>) -> Option<u32> {
        match &slf.as_super().get().0.data {
            EventData::MessageUpdate(update) => Some(update.content_index()),
            // An object of this class is made for this variant only.
            _ => None,
        }
    }
}

/// The event as an object of the class of its type.
pub(crate) fn event(py: Python<'_>, core: CoreEvent) -> PyResult<Py<PyAny>> {
    macro_rules! made {
        ($class:ident) => {
            Py::new(py, PyClassInitializer::from(Event(core)).add_subclass($class))?.into_any()
        };
        ($class:ident of MessageUpdate) => {
            Py::new(py, PyClassInitializer::from(Event(core)).add_subclass(MessageUpdate).add_subclass($class))?.into_any()
        };
    }
    Ok(match &core.data {
        EventData::MessageUpdate(update) => match update {
            Update::TextStart { .. } => made!(TextStart of MessageUpdate),
            Update::TextDelta { .. } => made!(TextDelta of MessageUpdate),
            Update::TextEnd { .. } => made!(TextEnd of MessageUpdate),
            Update::ThinkingStart { .. } => made!(ThinkingStart of MessageUpdate),
            Update::ThinkingDelta { .. } => made!(ThinkingDelta of MessageUpdate),
            Update::ThinkingEnd { .. } => made!(ThinkingEnd of MessageUpdate),
            Update::ToolCallStart { .. } => made!(ToolCallStart of MessageUpdate),
            Update::ToolCallDelta { .. } => made!(ToolCallDelta of MessageUpdate),
            Update::ToolCallEnd { .. } => made!(ToolCallEnd of MessageUpdate),
        },
        EventData::AgentStart => made!(AgentStart),
        EventData::TurnStart => made!(TurnStart),
        EventData::MessageStart { .. } => made!(MessageStart),
        EventData::MessageEnd { .. } => made!(MessageEnd),
        EventData::ToolExecutionStart { .. } => made!(ToolExecutionStart),
        EventData::ToolExecutionUpdate { .. } => made!(ToolExecutionUpdate),
        EventData::ToolExecutionEnd { .. } => made!(ToolExecutionEnd),
        EventData::TurnEnd { .. } => made!(TurnEnd),
        EventData::AgentEnd { .. } => made!(AgentEnd),
        EventData::Retry { .. } => made!(Retry),
        EventData::Diagnostic { .. } => made!(Diagnostic),
        EventData::Raw { .. } => made!(Raw),
    })
}

/// A class of events with a getter for each field of its variant: `Name of Base [positional patterns] { fields }`.
macro_rules! event_class {
    (
        $(#[$doc:meta])*
        $name:ident of $base:ident [$($position:literal),*]
        { $($field:ident: |$py:ident, $data:pat_param| $value:expr,)* }
    ) => {
        $(#[$doc])*
        #[pyclass(frozen, extends = $base, module = "agent_loop")]
        pub(crate) struct $name;

        #[pymethods]
        impl $name {
            #[classattr]
            fn __match_args__(py: Python<'_>) -> PyResult<Py<PyTuple>> {
                match_args(py, &[$($position),*])
            }

            $(
                #[getter]
                fn $field<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
                    let $py = slf.py();
                    match &slf.cast::<Event>()?.get().0.data {
                        $data => IntoPyObjectExt::into_bound_py_any($value, $py),
                        // An object of this class is made for this variant only.
                        _ => Ok($py.None().into_bound($py)),
                    }
                }
            )*
        }
    };
}

event_class! {
    /// The run begins.
    AgentStart of Event [] {}
}

event_class! {
    /// A turn begins.
    TurnStart of Event [] {}
}

event_class! {
    /// A message begins. An assistant's is empty, with `stop_reason` None.
    MessageStart of Event ["message"] {
        message: |py, EventData::MessageStart { message: core }| message(py, core)?,
    }
}

event_class! {
    /// A text block begins.
    TextStart of MessageUpdate ["content_index"] {}
}

event_class! {
    /// More text.
    TextDelta of MessageUpdate ["delta"] {
        delta: |py, EventData::MessageUpdate(Update::TextDelta { delta, .. })| delta,
    }
}

event_class! {
    /// A text block is complete.
    TextEnd of MessageUpdate ["block"] {
        block: |py, EventData::MessageUpdate(Update::TextEnd { block: core, .. })| block(py, core)?,
    }
}

event_class! {
    /// A thinking block begins.
    ThinkingStart of MessageUpdate ["content_index"] {}
}

event_class! {
    /// More thinking.
    ThinkingDelta of MessageUpdate ["delta"] {
        delta: |py, EventData::MessageUpdate(Update::ThinkingDelta { delta, .. })| delta,
    }
}

event_class! {
    /// A thinking block is complete.
    ThinkingEnd of MessageUpdate ["block"] {
        block: |py, EventData::MessageUpdate(Update::ThinkingEnd { block: core, .. })| block(py, core)?,
    }
}

event_class! {
    /// A tool call begins.
    ToolCallStart of MessageUpdate ["id", "name"] {
        id: |py, EventData::MessageUpdate(Update::ToolCallStart { id, .. })| id,
        name: |py, EventData::MessageUpdate(Update::ToolCallStart { name, .. })| name,
    }
}

event_class! {
    /// More of the JSON text of a call's arguments.
    ToolCallDelta of MessageUpdate ["delta"] {
        delta: |py, EventData::MessageUpdate(Update::ToolCallDelta { delta, .. })| delta,
    }
}

event_class! {
    /// A tool call is complete.
    ToolCallEnd of MessageUpdate ["block"] {
        block: |py, EventData::MessageUpdate(Update::ToolCallEnd { block: core, .. })| block(py, core)?,
    }
}

event_class! {
    /// A message is complete and in the transcript.
    MessageEnd of Event ["message"] {
        message: |py, EventData::MessageEnd { message: core }| message(py, core)?,
    }
}

event_class! {
    /// A tool call is prepared. `arguments` are the model's, before validation.
    ToolExecutionStart of Event ["tool_name", "arguments"] {
        tool_call_id: |py, EventData::ToolExecutionStart { tool_call_id, .. }| &**tool_call_id,
        tool_name: |py, EventData::ToolExecutionStart { tool_name, .. }| &**tool_name,
        arguments: |py, EventData::ToolExecutionStart { arguments, .. }| json::map_to_py(py, arguments)?,
    }
}

event_class! {
    /// A tool reports progress.
    ToolExecutionUpdate of Event ["tool_name", "partial_result"] {
        tool_call_id: |py, EventData::ToolExecutionUpdate { tool_call_id, .. }| &**tool_call_id,
        tool_name: |py, EventData::ToolExecutionUpdate { tool_name, .. }| &**tool_name,
        arguments: |py, EventData::ToolExecutionUpdate { arguments, .. }| json::map_to_py(py, arguments)?,
        partial_result: |py, EventData::ToolExecutionUpdate { partial_result: core, .. }|
            PartialResult(agent_loop::PartialResult::clone(core)),
    }
}

event_class! {
    /// A tool call has its result.
    ToolExecutionEnd of Event ["tool_name", "result", "is_error"] {
        tool_call_id: |py, EventData::ToolExecutionEnd { tool_call_id, .. }| &**tool_call_id,
        tool_name: |py, EventData::ToolExecutionEnd { tool_name, .. }| &**tool_name,
        result: |py, EventData::ToolExecutionEnd { result, .. }| ToolOutput(agent_loop::ToolOutput::clone(result)),
        is_error: |py, EventData::ToolExecutionEnd { is_error, .. }| *is_error,
        duration_ms: |py, EventData::ToolExecutionEnd { duration_ms, .. }| *duration_ms,
    }
}

event_class! {
    /// A turn is over.
    TurnEnd of Event ["message", "tool_results"] {
        message: |py, EventData::TurnEnd { message: core, .. }| message(py, core)?,
        tool_results: |py, EventData::TurnEnd { tool_results, .. }| messages(py, tool_results)?,
    }
}

event_class! {
    /// The run is over; no event follows.
    AgentEnd of Event ["outcome"] {
        messages: |py, EventData::AgentEnd { messages: core, .. }| messages(py, core)?,
        outcome: |py, EventData::AgentEnd { outcome, .. }| outcome.as_str(),
        error: |py, EventData::AgentEnd { error: core, .. }| core.as_ref().map(|core| error::object(py, core)).transpose()?,
        turns: |py, EventData::AgentEnd { turns, .. }| *turns,
        usage: |py, EventData::AgentEnd { usage, .. }| Usage(agent_loop::Usage::clone(usage)),
    }
}

event_class! {
    /// The model call is retried after a backoff.
    Retry of Event ["attempt", "delay_ms", "error"] {
        attempt: |py, EventData::Retry { attempt, .. }| *attempt,
        delay_ms: |py, EventData::Retry { delay_ms, .. }| *delay_ms,
        error: |py, EventData::Retry { error: core, .. }| error::object(py, core)?,
    }
}

event_class! {
    /// Something was repaired, dropped, late or unusual.
    Diagnostic of Event ["code", "message"] {
        code: |py, EventData::Diagnostic { code, .. }| &**code,
        message: |py, EventData::Diagnostic { message, .. }| message,
        data: |py, EventData::Diagnostic { data, .. }| json::to_py(py, data)?,
    }
}

event_class! {
    /// One frame as the provider sent it (`raw_events=True`).
    Raw of Event ["data"] {
        data: |py, EventData::Raw { data }| json::to_py(py, data)?,
    }
}
