//! Arguments that are one plain value, with errors that name the argument: PyO3's own do not, and they name its types.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyString};

use crate::error;
use crate::json;

/// The error for a value of another type than the one that is expected.
pub(crate) fn wrong_type(value: &Bound<'_, PyAny>, what: &str, expected: &str) -> PyErr {
    match value.get_type().name() {
        Ok(kind) => PyTypeError::new_err(format!("{what}: expected {expected}, got {kind}")),
        Err(error) => error,
    }
}

/// A text.
pub(crate) fn text(value: &Bound<'_, PyAny>, what: &str) -> PyResult<String> {
    if !value.is_instance_of::<PyString>() {
        return Err(wrong_type(value, what, "text"));
    }
    value.extract::<json::Text>().map(|text| text.0)
}

/// A number; whatever its conversion to a float raises, if it has one.
pub(crate) fn number(value: &Bound<'_, PyAny>, what: &str) -> PyResult<f64> {
    value.extract().map_err(|error: PyErr| {
        let has_none = error.is_instance_of::<PyTypeError>(value.py());
        if has_none { wrong_type(value, what, "a number") } else { error }
    })
}

/// A number of things.
pub(crate) fn count<T: TryFrom<u64>>(value: &Bound<'_, PyAny>, what: &str) -> PyResult<T> {
    const EXPECTED: &str = "a whole number of at least 0";
    let Ok(whole) = value.cast::<PyInt>() else {
        return Err(wrong_type(value, what, EXPECTED));
    };
    let wrong = |text| error::raised(value.py(), agent_loop::Error::invalid_argument(text));
    let read = whole.extract::<u64>().ok().and_then(|whole| T::try_from(whole).ok());
    read.ok_or_else(|| match whole.lt(0) {
        Ok(true) => wrong(format!("{what}: expected {EXPECTED}, got {whole}")),
        _ => wrong(format!("{what}: the number is too large")),
    })
}
