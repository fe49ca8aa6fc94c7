//! Reading types from JSON in one way. The code of a derived `Deserialize` is compiled once for each kind of deserializer that it
//! is given: serde_json's own are five, of which each would have a copy of the whole state of a loop. Here, text becomes a tree
//! first, and the types are read from that. What is read is borrowed, and the readers of numbers and text are no part of what
//! calls them: both keep that code short.
//!
//! A derived type reads its fields either by name, from a map, or in their order, from a sequence. The code of the second is a
//! fraction of the first's, which has to find out which field each name means and what is missing at the end. So this reader
//! looks up the fields of a struct and hands them out in order. Two things follow:
//!
//! - A type that refuses unknown fields says so by a name: `#[serde(rename = "strict", deny_unknown_fields)]`. Its derived code
//!   does not see them here; the reader does it.
//! - A type with a flattened field is read by name, as serde does it. A field may have no `alias`: serde lists aliases as fields,
//!   and the fields behind one would be taken for others.
//!
//! Unlike serde_json's, this reader takes a struct from an object alone, never from an array of its fields in some order.
//!
//! Not for what arrives thousands of times, such as the frames of a stream: there the tree would cost more than what it saves.

mod members;
mod name;
#[cfg(test)]
mod tests;
mod tree;
mod variants;

use std::cell::Cell;
use std::ptr;

use serde::de::{Deserialize, DeserializeOwned, Deserializer, Error as _, Visitor};
use serde_json::{Error, Value};

use members::{Fields, Items, Members};
use tree::{STRICT, Tree};
use variants::{Named, Tagged};

/// Reads a type from JSON text.
///
/// # Errors
/// The text is no JSON, with the place, or no such type, without one.
pub fn from_text<T: DeserializeOwned>(text: &[u8]) -> Result<T, Error> {
    // By `str::parse`, serde_json's own copy of the parser is used: `from_slice` would be compiled once more in this crate.
    let tree: Value = match std::str::from_utf8(text) {
        Ok(text) => text.parse()?,
        Err(error) => return Err(Error::custom(error)),
    };
    from_value(&tree)
}

/// Reads a type from a tree.
///
/// # Errors
/// The tree is no such type.
pub fn from_value<T: DeserializeOwned>(value: &Value) -> Result<T, Error> {
    read_at(value, |tree| T::deserialize(tree)).map_err(|(error, _)| error)
}

/// The same. The error comes with the innermost value in which it was found: the tree itself, or one within it.
pub(crate) fn from_value_at<T: DeserializeOwned>(value: &Value) -> Result<T, (Error, *const Value)> {
    read_at(value, |tree| T::deserialize(tree))
}

/// Reads a field that is there, of a type for which null is a value, too.
pub(crate) fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

fn read_at<T>(value: &Value, read: impl FnOnce(Tree<'_>) -> Result<T, Error>) -> Result<T, (Error, *const Value)> {
    let wrong = Cell::new(ptr::null());
    read(Tree { value, wrong: &wrong }).map_err(|error| (error, if wrong.get().is_null() { value } else { wrong.get() }))
}

/// Reads an enum whose variant a field names, `{"type": "abort"}`, and whose fields stand beside it. The enum is derived without
/// a `tag`, so that it is read without a copy.
///
/// # Errors
/// The value is no such enum.
pub fn from_tagged<T: DeserializeOwned>(value: &Value, tag: &'static str) -> Result<T, Error> {
    read_at(value, |tree| T::deserialize(Tagged::new(tree, tag))).map_err(|(error, _)| error)
}

/// What serde_json reads alike: no types are within it.
macro_rules! plain {
    ($($read:ident)*) => {$(
        #[inline(never)]
        fn $read<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            if self.is_missing() {
                return Err(self.wrong(&visitor));
            }
            self.value.$read(visitor)
        }
    )*};
}

impl<'de> Deserializer<'de> for Tree<'de> {
    type Error = Error;

    plain! {
        deserialize_bool deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128 deserialize_u8
        deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128 deserialize_f32 deserialize_f64 deserialize_char
        deserialize_str deserialize_string deserialize_identifier deserialize_unit
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.value {
            Value::Null if self.is_missing() => Err(self.wrong(&visitor)),
            Value::Null => visitor.visit_unit(),
            Value::Bool(value) => visitor.visit_bool(*value),
            Value::Number(number) => number.deserialize_any(visitor),
            Value::String(text) => visitor.visit_str(text),
            Value::Array(_) => self.deserialize_seq(visitor),
            Value::Object(_) => self.deserialize_map(visitor),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if self.value.is_null() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _name: &'static str, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let Value::Array(list) = self.value else { return Err(self.wrong(&visitor)) };
        let mut items = Items::new(self, list);
        let all = items.left();
        let read = visitor.visit_seq(&mut items)?;
        match items.left() {
            0 => Ok(read),
            _ => Err(Error::invalid_length(all, &"fewer elements in array")),
        }
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _length: usize, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(self, _name: &str, _length: usize, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let map = self.object(&visitor)?;
        visitor.visit_map(Fields::new(self, map))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        Members::new(self, self.object(&visitor)?, None, name == STRICT, fields)?.read(visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(self, name: &str, _variants: &[&str], visitor: V) -> Result<V::Value, Error> {
        visitor.visit_enum(Named::new(self, name == STRICT))
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_unit()
    }

    serde::forward_to_deserialize_any! { bytes byte_buf unit_struct }
}
