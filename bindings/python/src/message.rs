//! Messages: frozen, shared with the engine, converted when read.

use std::sync::Arc;

use agent_loop::{ContentBlock as CoreBlock, Message as CoreMessage};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyList, PyTuple};
use serde::Deserialize;

use crate::block::{block, blocks, match_args};
use crate::usage::Usage;
use crate::{error, json};

/// One message of a conversation: a `UserMessage`, `AssistantMessage`, `ToolResultMessage` or `CustomMessage`.
#[pyclass(frozen, subclass, module = "agent_loop")]
pub(crate) struct Message {
    pub(crate) core: Arc<CoreMessage>,
    /// Made when first read.
    content: PyOnceLock<Py<PyTuple>>,
}

#[pymethods]
impl Message {
    #[getter]
    fn role(&self) -> &str {
        self.core.role()
    }

    #[getter]
    fn text(&self) -> String {
        self.core.text()
    }

    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        json::to_dict(py, &self.core)
    }

    fn to_json(&self) -> PyResult<String> {
        json::to_text(&self.core)
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Message>().is_ok_and(|other| other.get().core == self.core)
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        json::repr(slf.py(), &slf.get_type().name()?.to_string(), &slf.get().core, &["role"])
    }
}

/// A message of the class of its role.
pub(crate) fn message<'py>(py: Python<'py>, core: &Arc<CoreMessage>) -> PyResult<Bound<'py, PyAny>> {
    let base = PyClassInitializer::from(Message { core: Arc::clone(core), content: PyOnceLock::new() });
    Ok(match &**core {
        CoreMessage::User(_) => Bound::new(py, base.add_subclass(UserMessage))?.into_any(),
        CoreMessage::Assistant(_) => Bound::new(py, base.add_subclass(AssistantMessage))?.into_any(),
        CoreMessage::ToolResult(_) => Bound::new(py, base.add_subclass(ToolResultMessage))?.into_any(),
        CoreMessage::Custom(_) => Bound::new(py, base.add_subclass(CustomMessage))?.into_any(),
    })
}

/// Several messages, as a tuple.
pub(crate) fn messages<'py>(py: Python<'py>, core: &[Arc<CoreMessage>]) -> PyResult<Bound<'py, PyTuple>> {
    let all = core.iter().map(|one| message(py, one)).collect::<PyResult<Vec<_>>>()?;
    PyTuple::new(py, all)
}

/// Messages from Python: our own as they are, shared, and others as JSON. `what` names the list in errors.
pub(crate) fn from_py(list: &Bound<'_, PyAny>, what: &str) -> PyResult<Vec<Arc<CoreMessage>>> {
    // Of a list a copy, which other code cannot change meanwhile.
    let Ok(items) = list.cast::<PyList>().map(PyListMethods::to_tuple).or_else(|_| list.cast::<PyTuple>().cloned()) else {
        let kind = list.get_type().name()?;
        return Err(PyTypeError::new_err(format!("{what}: expected a list of messages, got {kind}")));
    };
    let read = |(i, item): (usize, Bound<'_, PyAny>)| one_from_py(&item, &format!("{what}[{i}]"));
    items.iter().enumerate().map(read).collect()
}

/// A message from Python.
pub(crate) fn one_from_py(value: &Bound<'_, PyAny>, what: &str) -> PyResult<Arc<CoreMessage>> {
    if let Ok(message) = value.cast::<Message>() {
        return Ok(Arc::clone(&message.get().core));
    }
    let wrong = |why| error::raised(value.py(), agent_loop::Error::invalid_argument(format!("{what}: {why}")));
    CoreMessage::deserialize(&json::from_py(value, what)?).map(Arc::new).map_err(|e| wrong(e.to_string()))
}

/// A class of messages with a getter for each of its fields.
macro_rules! message_class {
    (
        $(#[$doc:meta])*
        $name:ident is $variant:ident [$($position:literal),*]
        { $($field:ident: |$py:ident, $core:ident| $value:expr,)* }
    ) => {
        $(#[$doc])*
        #[pyclass(frozen, extends = Message, module = "agent_loop")]
        pub(crate) struct $name;

        #[pymethods]
        impl $name {
            #[classattr]
            fn __match_args__(py: Python<'_>) -> PyResult<Py<PyTuple>> {
                match_args(py, &[$($position),*])
            }

            #[getter]
            fn content<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
                let base = slf.as_super().get();
                let content = base.content.get_or_try_init(slf.py(), || match &*base.core {
                    CoreMessage::$variant(core) => blocks(slf.py(), &core.content).map(Bound::unbind),
                    _ => blocks(slf.py(), &[]).map(Bound::unbind),
                })?;
                Ok(content.bind(slf.py()).clone())
            }

            #[getter]
            fn timestamp(slf: &Bound<'_, Self>) -> u64 {
                match &*slf.as_super().get().core {
                    CoreMessage::$variant(core) => core.timestamp,
                    _ => 0,
                }
            }

            $(
                #[getter]
                fn $field<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
                    let $py = slf.py();
                    match &*slf.as_super().get().core {
                        CoreMessage::$variant($core) => IntoPyObjectExt::into_bound_py_any($value, $py),
                        // An object of this class is made for this variant only.
                        _ => Ok($py.None().into_bound($py)),
                    }
                }
            )*
        }
    };
}

message_class! {
    /// The user's text and images.
    UserMessage is User ["content"] {}
}

message_class! {
    /// The model's text, thinking and tool calls.
    AssistantMessage is Assistant ["content"] {
        provider: |py, core| &core.provider,
        protocol: |py, core| &core.protocol,
        model: |py, core| &core.model,
        usage: |py, core| Usage(core.usage.clone()),
        stop_reason: |py, core| core.stop_reason.map(agent_loop::StopReason::as_str),
        raw_stop_reason: |py, core| core.raw_stop_reason.as_deref(),
        response_id: |py, core| core.response_id.as_deref(),
        response_model: |py, core| core.response_model.as_deref(),
        error: |py, core| core.error.as_ref().map(|error| error::object(py, error)).transpose()?,
        tool_calls: |py, core| tool_calls(py, core)?,
    }
}

message_class! {
    /// The result of a tool call.
    ToolResultMessage is ToolResult ["tool_name", "content", "is_error"] {
        tool_call_id: |py, core| &core.tool_call_id,
        tool_name: |py, core| &core.tool_name,
        details: |py, core| json::to_py(py, &core.details)?,
        is_error: |py, core| core.is_error,
    }
}

/// An application's own message: kept in the transcript, never sent to a model unless `convert_to_llm` converts it.
#[pyclass(frozen, extends = Message, module = "agent_loop")]
pub(crate) struct CustomMessage;

#[pymethods]
impl CustomMessage {
    #[getter]
    fn data<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        json::to_dict(slf.py(), &slf.as_super().get().core)
    }
}

fn tool_calls<'py>(py: Python<'py>, message: &agent_loop::AssistantMessage) -> PyResult<Bound<'py, PyTuple>> {
    let calls = message.content.iter().filter(|block| matches!(block, CoreBlock::ToolCall(_)));
    PyTuple::new(py, calls.map(|one| block(py, one)).collect::<PyResult<Vec<_>>>()?)
}
