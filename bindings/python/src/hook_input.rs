//! The inputs of hooks: objects with the fields of the engine's JSON, converted when read. An input of one field is that field's
//! value.

use std::sync::Arc;

use agent_loop::{HookKind, Message as CoreMessage, Question, RunResult as CoreResult};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::message::{message, messages};
use crate::run::RunResult;
use crate::tool::ToolOutput;
use crate::{error, json};

/// The input of a hook.
pub(crate) enum HookInput {
    Nothing,
    /// One value.
    Value(Value),
    Messages(Vec<Arc<CoreMessage>>),
    Result(Box<CoreResult>),
    /// Several fields, as an object of this hook's class.
    Fields(HookKind, Map<String, Value>),
}

impl HookInput {
    /// From the engine's; an input of one field is that field's value.
    pub(crate) fn of(input: agent_loop::HookInput) -> HookInput {
        let Some(kind) = input.0.kind() else {
            return HookInput::Nothing;
        };
        match input.0 {
            // Transcripts may be long, so messages are passed without a conversion to JSON. So are results.
            Question::TransformContext(messages) | Question::ConvertToLlm(messages) => HookInput::Messages(messages),
            Question::BeforeRun(task) => HookInput::Messages(task.prompts),
            Question::AfterRun(result) => HookInput::Result(Box::new(result)),
            Question::GetApiKey(provider) => HookInput::Value(Value::String(provider)),
            question => match agent_loop::HookInput(question).to_value() {
                Value::Object(fields) if fields.is_empty() => HookInput::Nothing,
                Value::Object(fields) => HookInput::Fields(kind, fields),
                other => HookInput::Value(other),
            },
        }
    }

    /// As the arguments of a call.
    pub(crate) fn into_args(self, py: Python<'_>) -> PyResult<Bound<'_, PyTuple>> {
        let one = match self {
            HookInput::Nothing => return Ok(PyTuple::empty(py)),
            HookInput::Value(value) => json::to_py(py, &value)?,
            // A list, which a hook may change and return.
            HookInput::Messages(list) => messages(py, &list)?.to_list().into_any(),
            HookInput::Result(result) => RunResult::new(*result).into_bound_py_any(py)?,
            HookInput::Fields(kind, fields) => match kind {
                HookKind::BeforeToolCall => BeforeToolCall(fields).into_bound_py_any(py)?,
                HookKind::AfterToolCall => AfterToolCall(fields).into_bound_py_any(py)?,
                HookKind::PrepareNextTurn | HookKind::ShouldStopAfterTurn => TurnSummary(fields).into_bound_py_any(py)?,
                HookKind::OnPayload => Payload(fields).into_bound_py_any(py)?,
                HookKind::OnResponse => ResponseHead(fields).into_bound_py_any(py)?,
                HookKind::OnError => Failure(fields).into_bound_py_any(py)?,
                HookKind::TransformContext
                | HookKind::ConvertToLlm
                | HookKind::GetApiKey
                | HookKind::GetSteeringMessages
                | HookKind::GetFollowUpMessages
                | HookKind::BeforeRun
                | HookKind::AfterRun => json::map_to_py(py, &fields)?.into_any(),
            },
        };
        PyTuple::new(py, [one])
    }
}

fn read_messages(list: &Value) -> Result<Vec<Arc<CoreMessage>>, String> {
    Vec::<CoreMessage>::deserialize(list).map(|list| list.into_iter().map(Arc::new).collect()).map_err(|e| e.to_string())
}

/// A field of a hook's input, by its canonical name.
fn field<'py>(py: Python<'py>, fields: &Map<String, Value>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    let Some(value) = fields.get(name) else {
        return Ok(py.None().into_bound(py));
    };
    let wrong = |e: serde_json::Error| PyValueError::new_err(format!("{name}: {e}"));
    match name {
        "message" => message(py, &Arc::new(CoreMessage::deserialize(value).map_err(wrong)?)),
        "tool_results" => Ok(messages(py, &read_messages(value).map_err(PyValueError::new_err)?)?.into_any()),
        "error" => error::object(py, &agent_loop::Error::deserialize(value).map_err(wrong)?),
        "result" => {
            #[derive(Deserialize)]
            struct Output {
                content: Vec<agent_loop::ContentBlock>,
                details: Value,
                terminate: bool,
            }
            let Output { content, details, terminate } = Output::deserialize(value).map_err(wrong)?;
            ToolOutput(agent_loop::ToolOutput { content, details, terminate }).into_bound_py_any(py)
        }
        _ => json::to_py(py, value),
    }
}

macro_rules! input_class {
    ($(#[$doc:meta])* $name:ident { $($field:ident),+ }) => {
        $(#[$doc])*
        #[pyclass(frozen, module = "agent_loop")]
        pub(crate) struct $name(Map<String, Value>);

        #[pymethods]
        impl $name {
            $(
                #[getter]
                fn $field<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
                    field(py, &self.0, stringify!($field))
                }
            )+

            fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
                json::to_dict(py, &self.0)
            }

            fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
                json::repr(py, stringify!($name), &self.0, &["message", "payload"])
            }
        }
    };
}

input_class! {
    /// A call that is about to run.
    BeforeToolCall { tool_call_id, tool_name, arguments, message }
}

input_class! {
    /// A call that ran.
    AfterToolCall { tool_call_id, tool_name, arguments, result, is_error }
}

input_class! {
    /// A turn that is over.
    TurnSummary { turn, message, tool_results }
}

input_class! {
    /// A request about to be sent.
    Payload { provider, model, payload }
}

input_class! {
    /// The head of an HTTP answer.
    ResponseHead { provider, status, headers }
}

input_class! {
    /// Something failed.
    Failure { error, attempt, will_retry }
}
