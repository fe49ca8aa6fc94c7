//! Paths of files: texts, or objects that have one, such as those of `pathlib`.

use std::path::PathBuf;

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use crate::argument;

/// The options that are a path, or a dict with one as its `path`.
const OPTIONS: [&str; 2] = ["record", "replay"];

/// An argument.
pub(crate) fn argument(value: &Bound<'_, PyAny>, what: &str) -> PyResult<PathBuf> {
    value.extract().map_err(|_| argument::wrong_type(value, what, "a str or an os.PathLike"))
}

/// The value of an option with its path as text; that of another option as it is.
pub(crate) fn plain_in_option<'py>(name: &str, value: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    if !OPTIONS.contains(&name) {
        return Ok(value);
    }
    let Ok(fields) = value.cast::<PyDict>() else {
        return plain(value);
    };
    let key = intern!(value.py(), "path");
    let Some(path) = fields.get_item(key)? else {
        return Ok(value);
    };
    let copy = fields.copy()?;
    copy.set_item(key, plain(path)?)?;
    Ok(copy.into_any())
}

fn plain(value: Bound<'_, PyAny>) -> PyResult<Bound<'_, PyAny>> {
    let py = value.py();
    match value.is_instance_of::<PyString>() || !value.hasattr(intern!(py, "__fspath__"))? {
        true => Ok(value),
        false => py.import("os")?.call_method1("fspath", (value,)),
    }
}
