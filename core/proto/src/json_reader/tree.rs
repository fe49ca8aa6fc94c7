//! A value that is read, and what was wrong within it.

use std::cell::Cell;
use std::ptr;

use serde::de::{DeserializeSeed, Error as _, Expected, Unexpected};
use serde_json::{Error, Map, Value};

/// The name of types whose unknown fields are refused.
pub(super) const STRICT: &str = "strict";

/// What is read for a field that is not there: nothing, where a type may be nothing, else a failure.
pub(super) static MISSING: Value = Value::Null;

/// A value to be read.
#[derive(Clone, Copy)]
pub(super) struct Tree<'a> {
    pub(super) value: &'a Value,
    /// The innermost value that was wrong.
    pub(super) wrong: &'a Cell<*const Value>,
}

impl<'a> Tree<'a> {
    /// A value within it.
    pub(super) fn at(self, value: &'a Value) -> Tree<'a> {
        Tree { value, wrong: self.wrong }
    }

    /// Remembers the value if it is the innermost one that was wrong.
    pub(super) fn note(self) {
        if self.wrong.get().is_null() {
            self.wrong.set(self.value);
        }
    }

    /// What is read from it by the seed.
    pub(super) fn seeded<T: DeserializeSeed<'a>>(self, seed: T) -> Result<T::Value, Error> {
        let read = seed.deserialize(self);
        if read.is_err() {
            self.note();
        }
        read
    }

    pub(super) fn is_missing(self) -> bool {
        ptr::eq(self.value, &raw const MISSING)
    }

    /// The error for a value of another type than the visitor's.
    #[cold]
    pub(super) fn wrong(self, expected: &dyn Expected) -> Error {
        let found = match self.value {
            Value::Null => Unexpected::Unit,
            Value::Bool(value) => Unexpected::Bool(*value),
            Value::Number(number) => match (number.as_u64(), number.as_i64(), number.as_f64()) {
                (Some(number), ..) => Unexpected::Unsigned(number),
                (_, Some(number), _) => Unexpected::Signed(number),
                (.., number) => Unexpected::Float(number.unwrap_or(f64::NAN)),
            },
            Value::String(text) => Unexpected::Str(text),
            Value::Array(_) => Unexpected::Seq,
            Value::Object(_) => Unexpected::Map,
        };
        Error::invalid_type(found, expected)
    }

    pub(super) fn object(self, expected: &dyn Expected) -> Result<&'a Map<String, Value>, Error> {
        match self.value {
            Value::Object(map) => Ok(map),
            _ => Err(self.wrong(expected)),
        }
    }
}
