//! JSON in Python's own types: dict, list, str, int, float, bool, None.

use agent_loop::ToolOutput as CoreOutput;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyList, PyMapping, PyNone, PyString, PyTuple};
use pyo3::{IntoPyObjectExt, types::PyMappingMethods};
use serde::Serialize;
use serde_json::{Map, Number, Value};

use crate::block::ContentBlock;
use crate::message::Message;
use crate::tool::{PartialResult, ToolOutput};
use crate::usage::{Cost, Usage};

/// How deep lists and dicts may nest; as deep as serde_json reads.
const DEPTH: usize = 127;

/// About how much memory a value may take, in bytes. A list that holds another one twice, and so on sixty times, is no larger in
/// Python than its sixty lists, and would never be read to its end.
const SIZE: usize = 1 << 29;

/// What a value takes beside its text.
const ITEM_SIZE: usize = 100;

/// A text argument; see [`utf8`].
pub(crate) struct Text(pub(crate) String);

impl<'py> FromPyObject<'_, 'py> for Text {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Text> {
        Ok(Text(utf8(&value.to_owned().cast_into::<PyString>()?)?))
    }
}

/// A text. An unpaired surrogate has no UTF-8 form and becomes U+FFFD, as everywhere on the way to a model; a surrogate pair
/// becomes its character.
fn utf8(text: &Bound<'_, PyString>) -> PyResult<String> {
    if let Ok(text) = text.to_str() {
        return Ok(text.to_owned());
    }
    // Not the method of a subclass.
    let encode = text.py().get_type::<PyString>().getattr("encode")?;
    let units = encode.call1((text, "utf-16-le", "surrogatepass"))?.cast_into::<PyBytes>()?;
    let units: Vec<u16> = units.as_bytes().as_chunks().0.iter().map(|unit| u16::from_le_bytes(*unit)).collect();
    Ok(String::from_utf16_lossy(&units))
}

/// A Python value as JSON. Our own messages and content blocks count as JSON too, and a tuple as a list. `what` names the value
/// in errors.
///
/// # Errors
/// `TypeError` for a value that has no JSON form, `ValueError` for NaN, infinities and integers beyond 64 bits; both name the
/// place. Whatever the code of the value raises while it is read.
pub(crate) fn from_py(value: &Bound<'_, PyAny>, what: &str) -> PyResult<Value> {
    let mut reader = Reader { what, renders: false, path: Vec::new(), size: 0 };
    reader.read(value)
}

/// The same of a tool's result or update, which may also have dataclasses, enums, times and others that `agent_loop.rendering`
/// knows, at any depth.
pub(crate) fn result_from_py(value: &Bound<'_, PyAny>, what: &str) -> PyResult<Value> {
    let mut reader = Reader { what, renders: true, path: Vec::new(), size: 0 };
    reader.read(value)
}

struct Reader<'a> {
    what: &'a str,
    /// Whether values of other types are rendered.
    renders: bool,
    path: Vec<String>,
    size: usize,
}

impl Reader<'_> {
    fn read(&mut self, value: &Bound<'_, PyAny>) -> PyResult<Value> {
        self.take(ITEM_SIZE)?;
        if let Ok(text) = value.cast::<PyString>() {
            let text = utf8(text)?;
            self.take(text.len())?;
            return Ok(Value::String(text));
        }
        if value.is_instance_of::<PyNone>() {
            return Ok(Value::Null);
        }
        if let Ok(flag) = value.cast::<PyBool>() {
            return Ok(Value::Bool(flag.is_true()));
        }
        if value.is_instance_of::<PyInt>() {
            return self.whole_number(value);
        }
        if let Ok(number) = value.cast::<PyFloat>() {
            let number = number.value();
            return Number::from_f64(number)
                .map(Value::Number)
                .ok_or_else(|| PyValueError::new_err(self.wrong(&format!("{number} is not JSON"))));
        }
        if self.path.len() >= DEPTH {
            let why = format!("nested deeper than {DEPTH} levels, or a value that contains itself");
            return Err(PyValueError::new_err(self.wrong(&why)));
        }
        if let Ok(dict) = value.cast::<PyDict>() {
            return self.entries(&dict.items());
        }
        if let Ok(list) = value.cast::<PyList>() {
            return self.items(list.to_tuple().iter());
        }
        if let Ok(tuple) = value.cast::<PyTuple>() {
            if self.renders
                && value.hasattr("_asdict")?
                && let Some(named) = self.rendered(value)?
            {
                return Ok(named);
            }
            return self.items(tuple.iter());
        }
        if let Ok(message) = value.cast::<Message>() {
            return to_value(&message.get().core);
        }
        if let Ok(block) = value.cast::<ContentBlock>() {
            return to_value(&block.get().core);
        }
        if let Ok(usage) = value.cast::<Usage>() {
            return to_value(&usage.get().0);
        }
        if let Ok(cost) = value.cast::<Cost>() {
            return to_value(&cost.get().0);
        }
        if let Ok(output) = value.cast::<ToolOutput>() {
            return to_value(&output.get().0);
        }
        if let Ok(partial) = value.cast::<PartialResult>() {
            return to_value(&partial.get().0);
        }
        // `cast` would print what a property `__class__` raises.
        if value.is_instance(&value.py().get_type::<PyMapping>())?
            && let Ok(mapping) = value.cast::<PyMapping>()
        {
            return self.entries(&mapping.items()?);
        }
        if self.renders
            && let Some(rendered) = self.rendered(value)?
        {
            return Ok(rendered);
        }
        let kind = value.get_type().name()?;
        let why = format!("a value of type {kind} is not JSON (str, int, float, bool, None, list, dict)");
        Err(PyTypeError::new_err(self.wrong(&why)))
    }

    /// The JSON of a value of another type, if it has one.
    fn rendered(&mut self, value: &Bound<'_, PyAny>) -> PyResult<Option<Value>> {
        let py = value.py();
        let rendered = py.import("agent_loop.rendering")?.getattr("rendered")?.call1((value,))?;
        if rendered.is(py.NotImplemented()) { Ok(None) } else { self.read(&rendered).map(Some) }
    }

    fn take(&mut self, bytes: usize) -> PyResult<()> {
        self.size += bytes;
        if self.size <= SIZE { Ok(()) } else { Err(PyValueError::new_err(format!("{}: it is too large", self.what))) }
    }

    /// The entries of a dict, in a list that no other code knows: a dict may change while Python code runs, here for a `Mapping`
    /// inside of it.
    fn entries(&mut self, entries: &Bound<'_, PyList>) -> PyResult<Value> {
        let mut map = Map::with_capacity(entries.len());
        for entry in entries {
            let (key, item): (Bound<'_, PyAny>, Bound<'_, PyAny>) = entry.extract()?;
            self.entry(&mut map, &key, &item)?;
        }
        Ok(Value::Object(map))
    }

    fn whole_number(&self, value: &Bound<'_, PyAny>) -> PyResult<Value> {
        if let Ok(number) = value.extract::<i64>() {
            return Ok(Value::from(number));
        }
        value
            .extract::<u64>()
            .map(Value::from)
            .map_err(|_| PyValueError::new_err(self.wrong("an integer beyond 64 bits; pass it as text")))
    }

    fn entry(&mut self, map: &mut Map<String, Value>, key: &Bound<'_, PyAny>, item: &Bound<'_, PyAny>) -> PyResult<()> {
        let Ok(key) = key.cast::<PyString>() else {
            let kind = key.get_type().name()?;
            let key = key.repr().map_or_else(|_| format!("of type {kind}"), |repr| repr.to_string_lossy().into_owned());
            let why = format!("the key {key} is not a str");
            return Err(PyTypeError::new_err(self.wrong(&why)));
        };
        let key = utf8(key)?;
        self.take(key.len())?;
        self.path.push(key.clone());
        let item = self.read(item)?;
        self.path.pop();
        map.insert(key, item);
        Ok(())
    }

    fn items<'py>(&mut self, items: impl Iterator<Item = Bound<'py, PyAny>>) -> PyResult<Value> {
        let mut list = Vec::new();
        for (index, item) in items.enumerate() {
            self.path.push(index.to_string());
            list.push(self.read(&item)?);
            self.path.pop();
        }
        Ok(Value::Array(list))
    }

    fn wrong(&self, why: &str) -> String {
        // The path of a value that contains itself is long.
        let path: String = self.path.iter().take(8).flat_map(|part| ["/", part]).collect();
        let more = if self.path.len() > 8 { "/…" } else { "" };
        if path.is_empty() { format!("{}: {why}", self.what) } else { format!("{}: at {path}{more}: {why}", self.what) }
    }
}

/// Our own data as JSON.
pub(crate) fn to_value(data: &impl Serialize) -> PyResult<Value> {
    serde_json::to_value(data).map_err(|e| PyValueError::new_err(e.to_string()))
}

/// Our own data as one line of canonical JSON.
pub(crate) fn to_text(data: &impl Serialize) -> PyResult<String> {
    serde_json::to_string(data).map_err(|e| PyValueError::new_err(e.to_string()))
}

/// Our own data as dicts and lists.
pub(crate) fn to_dict<'py>(py: Python<'py>, data: &impl Serialize) -> PyResult<Bound<'py, PyAny>> {
    to_py(py, &to_value(data)?)
}

/// JSON as Python values.
pub(crate) fn to_py<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    match value {
        Value::Null => Ok(py.None().into_bound(py)),
        Value::Bool(flag) => flag.into_bound_py_any(py),
        Value::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(whole), _) => whole.into_bound_py_any(py),
            (None, Some(whole)) => whole.into_bound_py_any(py),
            (None, None) => number.as_f64().into_bound_py_any(py),
        },
        Value::String(text) => text.into_bound_py_any(py),
        Value::Array(items) => {
            let items = items.iter().map(|item| to_py(py, item)).collect::<PyResult<Vec<_>>>()?;
            Ok(PyList::new(py, items)?.into_any())
        }
        Value::Object(map) => Ok(map_to_py(py, map)?.into_any()),
    }
}

/// A JSON object as a dict.
pub(crate) fn map_to_py<'py>(py: Python<'py>, map: &Map<String, Value>) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (key, value) in map {
        dict.set_item(key, to_py(py, value)?)?;
    }
    Ok(dict)
}

/// `Class(name=value, …)` of our own data, without the fields in `hidden`.
pub(crate) fn repr(py: Python<'_>, class: &str, data: &impl Serialize, hidden: &[&str]) -> PyResult<String> {
    let value = to_value(data)?;
    let mut fields = Vec::new();
    for (name, value) in value.as_object().into_iter().flatten().filter(|(name, _)| !hidden.contains(&name.as_str())) {
        fields.push(format!("{name}={}", to_py(py, value)?.repr()?));
    }
    Ok(format!("{class}({})", fields.join(", ")))
}

/// A value as JSON in Python's own types; `what` names it in errors.
#[pyfunction]
pub(crate) fn plain<'py>(value: &Bound<'py, PyAny>, what: &str) -> PyResult<Bound<'py, PyAny>> {
    to_py(value.py(), &from_py(value, what)?)
}

/// A tool's result or update as JSON in Python's own types, checked; `what` names it in errors.
#[pyfunction]
pub(crate) fn plain_result<'py>(value: &Bound<'py, PyAny>, what: &str) -> PyResult<Bound<'py, PyAny>> {
    let result = result_from_py(value, what)?;
    CoreOutput::check(&result).map_err(|why| PyTypeError::new_err(format!("{what}: {why}")))?;
    to_py(value.py(), &result)
}
