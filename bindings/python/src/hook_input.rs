//! The inputs of hooks, made from the table: objects with the fields of the engine's JSON, converted when read. An input of one
//! field is that field's value.

use std::sync::Arc;

use agent_loop::host::{HookInput, Question, for_each_hook, hook_inputs_of};
use agent_loop::{Message, RunResult as CoreResult};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use serde_json::Value;

use crate::field::Field;
use crate::json;
use crate::message::messages;
use crate::run::RunResult;

/// The input as the arguments of a call.
pub(crate) fn arguments<'py>(py: Python<'py>, input: HookInput) -> PyResult<Bound<'py, PyTuple>> {
    macro_rules! of_each {
        ($($(#[doc = $doc:literal])* $kind:ident $name:ident: $input:ty => $output:ty,)+) => {
            match input.0 {
                $(Question::$kind(input) => input.argument(py)?,)+
                // Its call has the arguments.
                Question::PrepareArguments { .. } | Question::NeedsApproval { .. } => None,
            }
        };
    }
    match for_each_hook!(of_each) {
        Some(one) => PyTuple::new(py, [one]),
        None => Ok(PyTuple::empty(py)),
    }
}

/// An input of hooks.
trait Input {
    /// The argument; `None` without input.
    fn argument<'py>(self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>>;
}

impl Input for () {
    fn argument<'py>(self, _py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        Ok(None)
    }
}

impl Input for String {
    fn argument<'py>(self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.to_python(py).map(Some)
    }
}

impl Input for Value {
    fn argument<'py>(self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        json::to_py(py, &self).map(Some)
    }
}

impl Input for Vec<Arc<Message>> {
    fn argument<'py>(self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        // A list, which a hook may change and return.
        Ok(Some(messages(py, &self)?.to_list().into_any()))
    }
}

impl Input for CoreResult {
    fn argument<'py>(self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        RunResult::new(self).into_bound_py_any(py).map(Some)
    }
}

/// Those of one field.
macro_rules! value_inputs {
    ($(
        $(#[doc = $doc:literal])* $name:ident $parameter:ident, $since:literal
        { $($(#[doc = $field_doc:literal])* $field:ident: $type:ty $(as $exact:ident)? $(= $field_since:literal)?,)* }
    )+) => {
        $(impl Input for agent_loop::hook::$name {
            fn argument<'py>(self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
                $(self.$field.argument(py))*
            }
        })+
    };
}

hook_inputs_of!(value, value_inputs);

/// Those of several fields: a class each.
macro_rules! object_inputs {
    ($(
        $(#[doc = $doc:literal])* $name:ident $parameter:ident, $since:literal
        { $($(#[doc = $field_doc:literal])* $field:ident: $type:ty $(as $exact:ident)? $(= $field_since:literal)?,)* }
    )+) => {
        $(
            $(#[doc = $doc])*
            #[pyclass(frozen, module = "agent_loop")]
            pub(crate) struct $name(agent_loop::hook::$name);

            #[pymethods]
            impl $name {
                $(
                    #[getter]
                    fn $field<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
                        self.0.$field.to_python(py)
                    }
                )*

                fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
                    json::to_dict(py, &self.0)
                }

                fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
                    json::repr(py, stringify!($name), &self.0, &["message", "payload"])
                }
            }

            impl Input for agent_loop::hook::$name {
                fn argument<'py>(self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
                    $name(self).into_bound_py_any(py).map(Some)
                }
            }
        )+

        /// Adds the classes to the module.
        pub(crate) fn add_classes(module: &Bound<'_, PyModule>) -> PyResult<()> {
            $(module.add_class::<$name>()?;)+
            Ok(())
        }
    };
}

hook_inputs_of!(object, object_inputs);
