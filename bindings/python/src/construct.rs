//! Making messages, blocks, events and results from Python: their fields as JSON, and copies for other processes.

use agent_loop::host::{read_value, words};
use agent_loop::message::mime_type_of;
use agent_loop::{Error, EventData};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyTuple};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::block::block;
use crate::error::{self, raised};
use crate::event::event;
use crate::message::message;
use crate::run::{RunResult, Undelivered};
use crate::suspension::SuspendedCall;
use crate::tool::{PartialResult, ToolOutput};
use crate::usage::{Cost, Usage};
use crate::{argument, json};

/// The arguments of a constructor as JSON fields; the positional ones are those of patterns. None stands for the default.
pub(crate) fn fields(
    class: &str,
    positional: &[&str],
    arguments: &Bound<'_, PyTuple>,
    named: Option<&Bound<'_, PyDict>>,
) -> PyResult<Map<String, Value>> {
    if arguments.len() > positional.len() {
        let (most, got) = (positional.len(), arguments.len());
        let text = format!("{class}: {got} arguments without a name, at most {most} expected; give the others by name");
        return Err(PyTypeError::new_err(text));
    }
    let mut fields = Map::new();
    let mut add = |name: String, value: &Bound<'_, PyAny>| {
        if fields.contains_key(&name) {
            return Err(PyTypeError::new_err(format!("{class}: {name} is given twice")));
        }
        if !value.is_none() {
            fields.insert(name.clone(), read(class, &name, value)?);
        }
        Ok(())
    };
    for (name, value) in positional.iter().zip(arguments) {
        add((*name).to_owned(), &value)?;
    }
    for item in named.into_iter().flat_map(|named| named.items()) {
        let (json::Text(name), value) = item.extract::<(json::Text, Bound<'_, PyAny>)>()?;
        add(name, &value)?;
    }
    Ok(fields)
}

/// A field's value; an exception of ours as its fields.
fn read(class: &str, name: &str, value: &Bound<'_, PyAny>) -> PyResult<Value> {
    let what = format!("{class}: {name}");
    if name == "error" && value.is_instance(&error::base(value.py())?)? {
        return json::from_py(&value.call_method0("to_dict")?, &what);
    }
    json::from_py(value, &what)
}

/// Checks the names of fields: each is known, and those that are needed are there.
pub(crate) fn check(py: Python<'_>, class: &str, fields: &Map<String, Value>, known: &[(&str, bool)]) -> PyResult<()> {
    let wrong = |text: String| Err(raised(py, Error::invalid_argument(text)));
    for name in fields.keys() {
        if !known.iter().any(|(known, _)| known == name) {
            let names: Vec<&str> = known.iter().map(|(known, _)| *known).collect();
            let hint = match agent_loop::host::nearest(name, names.iter().copied()) {
                Some(right) => format!("did you mean {right:?}?"),
                None => format!("known are {}", names.join(", ")),
            };
            return wrong(format!("{class}: unknown field {name:?}; {hint}"));
        }
    }
    match known.iter().find(|(name, is_needed)| *is_needed && !fields.contains_key(*name)) {
        Some((missing, _)) => wrong(format!("{class}: {missing} is missing")),
        None => Ok(()),
    }
}

/// Fields as data of the engine.
pub(crate) fn data<T: DeserializeOwned>(py: Python<'_>, class: &str, fields: Value) -> PyResult<T> {
    read_value(&fields).map_err(|unread| raised(py, unread.at(class).invalid_argument()))
}

/// Text as a list of one block, as it is read everywhere.
pub(crate) fn blocks_of_text(fields: &mut Map<String, Value>) {
    if let Some(Value::String(text)) = fields.get("content") {
        let block = serde_json::json!([{ "type": "text", "text": text }]);
        fields.insert("content".to_owned(), block);
    }
}

/// Bytes in base64, in place of bytes.
pub(crate) fn base64<'py>(data: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let named = PyDict::new(data.py());
    named.set_item("newline", false)?;
    let encoded = data.py().import("binascii")?.call_method("b2a_base64", (data,), Some(&named))?;
    encoded.call_method1("decode", ("ascii",))
}

/// The type of a file for a block of this kind, from its first bytes or the end of its name.
pub(crate) fn mime_type(py: Python<'_>, class: &str, kind: &str, name: Option<&str>, bytes: &[u8]) -> PyResult<&'static str> {
    let what = name.map_or_else(|| "these bytes".to_owned(), |name| format!("the file {name:?}"));
    let wrong = |why: String| Err(raised(py, Error::invalid_argument(format!("{class}: {why}"))));
    let fits = |mime_type: &str| match mime_type.split_once('/') {
        Some((family @ ("image" | "audio"), _)) => family == kind,
        _ => kind == "document",
    };
    match mime_type_of(name, bytes) {
        _ if bytes.is_empty() => wrong("data is empty".to_owned()),
        Some(mime_type) if fits(mime_type) => Ok(mime_type),
        Some(other) => wrong(format!("the type of {what} is {other}, which is no {kind}; give its mime_type")),
        None => wrong(format!("the type of {what} is not recognised; give its mime_type")),
    }
}

/// The first bytes of a bytes-like object.
pub(crate) fn head(class: &str, data: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
    let view = data.py().import("builtins")?.getattr("memoryview")?.call1((data,));
    let view = view.map_err(|_| argument::wrong_type(data, &format!("{class}: data"), "bytes, or text in base64"))?;
    let bytes = view.call_method1("cast", ("B",))?.get_item(pyo3::types::PySlice::new(data.py(), 0, 16, 1))?;
    Ok(bytes.call_method0("tobytes")?.cast_into::<PyBytes>()?.as_bytes().to_vec())
}

/// What `pickle` calls to make an object again.
pub(crate) fn reduced<'py>(py: Python<'py>, kind: &str, data: &impl serde::Serialize) -> PyResult<Bound<'py, PyTuple>> {
    let restore = py.import("agent_loop._native")?.getattr("restore")?;
    PyTuple::new(py, [restore, PyTuple::new(py, [kind, &json::to_text(data)?])?.into_any()])
}

/// Makes an object again from what `__reduce__` gave. An event has no partial message then.
#[pyfunction]
pub(crate) fn restore<'py>(py: Python<'py>, kind: &str, text: &str) -> PyResult<Bound<'py, PyAny>> {
    fn from<T: DeserializeOwned>(text: &str) -> PyResult<T> {
        serde_json::from_str(text).map_err(|why| {
            PyValueError::new_err(format!("this object was saved by another version of agent_loop: {}", words(&why)))
        })
    }
    match kind {
        "message" => message(py, &from(text)?),
        "block" => block(py, &from(text)?),
        "event" => {
            let (run_id, seq, turn, data): (std::sync::Arc<str>, u64, u32, EventData) = from(text)?;
            Ok(event(py, agent_loop::Event::new(run_id, seq, turn, data, None))?.into_bound(py))
        }
        "result" => Ok(Bound::new(py, RunResult::new(from(text)?))?.into_any()),
        "suspended" => Ok(Bound::new(py, SuspendedCall(from(text)?))?.into_any()),
        "undelivered" => Ok(Bound::new(py, Undelivered(from(text)?))?.into_any()),
        "output" => Ok(Bound::new(py, ToolOutput(from(text)?))?.into_any()),
        "partial" => Ok(Bound::new(py, PartialResult(from(text)?))?.into_any()),
        "usage" => Ok(Bound::new(py, Usage(from(text)?))?.into_any()),
        "cost" => Ok(Bound::new(py, Cost(from(text)?))?.into_any()),
        _ => Err(PyValueError::new_err(format!("there is no kind {kind:?}"))),
    }
}
