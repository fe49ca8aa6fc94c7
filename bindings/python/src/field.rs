//! The fields of events and of the inputs of hooks as Python objects, by the type that the table gives them.

use std::borrow::Cow;
use std::sync::Arc;

use agent_loop::suspension::SuspendedCall;
use agent_loop::{ContentBlock, Error, Message, Outcome};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use serde_json::{Map, Value};

use crate::block::block;
use crate::event::event;
use crate::message::{message, messages};
use crate::suspension::suspended_calls;
use crate::tool::{PartialResult, ToolOutput};
use crate::usage::Usage;
use crate::{error, json};

/// A value of a type that fields have.
pub(crate) trait Field {
    /// A new object; containers are copies.
    fn to_python<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>>;
}

macro_rules! fields {
    ($($type:ty => |$value:ident, $py:ident| $object:expr;)+) => {
        $(impl Field for $type {
            fn to_python<'py>(&self, $py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
                let $value = self;
                $object
            }
        })+
    };
}

fields! {
    bool => |value, py| (*value).into_bound_py_any(py);
    u16 => |value, py| (*value).into_bound_py_any(py);
    u32 => |value, py| (*value).into_bound_py_any(py);
    u64 => |value, py| (*value).into_bound_py_any(py);
    String => |value, py| value.as_str().into_bound_py_any(py);
    Arc<str> => |value, py| (&**value).into_bound_py_any(py);
    Vec<String> => |value, py| value.as_slice().into_bound_py_any(py);
    agent_loop::ThinkingLevel => |value, py| value.as_str().into_bound_py_any(py);
    Cow<'static, str> => |value, py| (&**value).into_bound_py_any(py);
    Value => |value, py| json::to_py(py, value);
    Map<String, Value> => |value, py| Ok(json::map_to_py(py, value)?.into_any());
    Arc<Map<String, Value>> => |value, py| (**value).to_python(py);
    Arc<agent_loop::Event> => |value, py| Ok(event(py, (**value).clone())?.into_bound(py));
    Arc<Message> => |value, py| message(py, value);
    Vec<Arc<Message>> => |value, py| Ok(messages(py, value)?.into_any());
    ContentBlock => |value, py| block(py, value);
    agent_loop::event::PartialResult => |value, py| PartialResult(value.clone()).into_bound_py_any(py);
    agent_loop::ToolOutput => |value, py| ToolOutput(value.clone()).into_bound_py_any(py);
    agent_loop::Usage => |value, py| Usage(value.clone()).into_bound_py_any(py);
    Outcome => |value, py| value.as_str().into_bound_py_any(py);
    Error => |value, py| error::object(py, value);
    [SuspendedCall] => |value, py| Ok(suspended_calls(py, value)?.into_any());
}

impl<T: Field + ?Sized> Field for Box<T> {
    fn to_python<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        (**self).to_python(py)
    }
}

impl<T: Field> Field for Option<T> {
    fn to_python<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match self {
            Some(value) => value.to_python(py),
            None => Ok(py.None().into_bound(py)),
        }
    }
}
