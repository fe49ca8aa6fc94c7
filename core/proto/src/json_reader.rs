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

#[cfg(test)]
mod tests;

use std::cell::Cell;
use std::{ptr, slice};

use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, Error as _, Expected, IntoDeserializer, MapAccess, SeqAccess,
    Unexpected, VariantAccess, Visitor,
};
use serde_json::{Error, Map, Value, map};

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
    read_at(value, |tree| T::deserialize(Tagged { tree, tag })).map_err(|(error, _)| error)
}

/// The name of types whose unknown fields are refused.
const STRICT: &str = "strict";

/// What is read for a field that is not there: nothing, where a type may be nothing, else a failure.
static MISSING: Value = Value::Null;

/// A value to be read.
#[derive(Clone, Copy)]
struct Tree<'a> {
    value: &'a Value,
    /// The innermost value that was wrong.
    wrong: &'a Cell<*const Value>,
}

impl<'a> Tree<'a> {
    /// A value within it.
    fn at(self, value: &'a Value) -> Tree<'a> {
        Tree { value, wrong: self.wrong }
    }

    /// Remembers the value if it is the innermost one that was wrong.
    fn note(self) {
        if self.wrong.get().is_null() {
            self.wrong.set(self.value);
        }
    }

    /// What is read from it by the seed.
    fn seeded<T: DeserializeSeed<'a>>(self, seed: T) -> Result<T::Value, Error> {
        let read = seed.deserialize(self);
        if read.is_err() {
            self.note();
        }
        read
    }

    fn is_missing(self) -> bool {
        ptr::eq(self.value, &raw const MISSING)
    }

    /// The error for a value of another type than the visitor's.
    #[cold]
    fn wrong(self, expected: &dyn Expected) -> Error {
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

    fn object(self, expected: &dyn Expected) -> Result<&'a Map<String, Value>, Error> {
        match self.value {
            Value::Object(map) => Ok(map),
            _ => Err(self.wrong(expected)),
        }
    }

    fn array(self, expected: &dyn Expected) -> Result<Items<'a>, Error> {
        match self.value {
            Value::Array(list) => Ok(Items { left: list.iter(), tree: self }),
            _ => Err(self.wrong(expected)),
        }
    }
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
        let mut items = self.array(&visitor)?;
        let all = items.left.len();
        let read = visitor.visit_seq(&mut items)?;
        match items.left.len() {
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
        let left = self.object(&visitor)?.iter();
        visitor.visit_map(Fields { left, value: self })
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
        visitor.visit_enum(Named { tree: self, is_strict: name == STRICT })
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_unit()
    }

    serde::forward_to_deserialize_any! { bytes byte_buf unit_struct }
}

/// What is left of an array.
struct Items<'a> {
    left: slice::Iter<'a, Value>,
    tree: Tree<'a>,
}

impl<'de> SeqAccess<'de> for Items<'de> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Error> {
        self.left.next().map(|item| self.tree.at(item).seeded(seed)).transpose()
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.left.len())
    }
}

/// The fields of a struct, in its order.
struct Members<'a> {
    tree: Tree<'a>,
    map: &'a Map<String, Value>,
    /// What stands behind the field that was read last: mostly the next one, as types are written in the order of their fields.
    left: map::Iter<'a>,
    names: slice::Iter<'static, &'static str>,
    /// The field that was to be read last, if it is not there.
    missing: Option<&'static str>,
}

impl<'a> Members<'a> {
    /// Of an object that has a `tag` beside them.
    fn new(
        tree: Tree<'a>,
        map: &'a Map<String, Value>,
        tag: Option<&str>,
        is_strict: bool,
        names: &'static [&'static str],
    ) -> Result<Members<'a>, Error> {
        let is_unknown = |name: &&String| !names.contains(&name.as_str()) && tag != Some(name.as_str());
        match map.keys().find(is_unknown).filter(|_| is_strict) {
            Some(name) => Err(Error::unknown_field(name, names)),
            None => Ok(Members { tree, map, left: map.iter(), names: names.iter(), missing: None }),
        }
    }

    fn read<V: Visitor<'a>>(mut self, visitor: V) -> Result<V::Value, Error> {
        // What has no default is an error of its number.
        visitor.visit_seq(&mut self).map_err(|error| self.missing.map_or(error, Error::missing_field))
    }

    fn next(&mut self) -> Tree<'a> {
        let Some(&name) = self.names.next() else { return self.tree.at(&MISSING) };
        let mut behind = self.left.clone();
        let value = match behind.next() {
            Some((found, value)) if found == name => {
                self.left = behind;
                Some(value)
            }
            _ => self.map.get(name),
        };
        self.missing = if value.is_some() { None } else { Some(name) };
        self.tree.at(value.unwrap_or(&MISSING))
    }
}

impl<'de> SeqAccess<'de> for Members<'de> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Error> {
        let tree = self.next();
        match seed.deserialize(tree) {
            Ok(read) => Ok(Some(read)),
            // Its default, if it has one.
            Err(_) if tree.is_missing() => Ok(None),
            Err(error) => {
                tree.note();
                Err(error)
            }
        }
    }
}

/// What is left of an object, with the value whose name was read last.
struct Fields<'a> {
    left: map::Iter<'a>,
    value: Tree<'a>,
}

impl<'de> MapAccess<'de> for Fields<'de> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Error> {
        let Some((name, value)) = self.left.next() else { return Ok(None) };
        self.value = self.value.at(value);
        seed.deserialize(Name(name)).map(Some)
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, Error> {
        self.value.seeded(seed)
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.left.len())
    }
}

/// The name of a field, or the key of a map: JSON has keys that are numbers as text.
struct Name<'a>(&'a str);

macro_rules! numbers {
    ($($read:ident: $number:ty, $visit:ident;)*) => {$(
        fn $read<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            match self.0.parse::<$number>() {
                Ok(number) => visitor.$visit(number),
                Err(_) => visitor.visit_str(self.0),
            }
        }
    )*};
}

impl<'de> Deserializer<'de> for Name<'de> {
    type Error = Error;

    numbers! {
        deserialize_u32: u32, visit_u32;
        deserialize_u64: u64, visit_u64;
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_str(self.0)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _name: &'static str, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(self, _name: &str, _variants: &[&str], visitor: V) -> Result<V::Value, Error> {
        visitor.visit_enum(self.0.into_deserializer())
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u128 f32 f64 char str string bytes byte_buf option unit unit_struct seq tuple tuple_struct
        map struct identifier ignored_any
    }
}

/// An enum: a word, or an object whose only field has the name of the variant.
struct Named<'a> {
    tree: Tree<'a>,
    is_strict: bool,
}

impl<'de> EnumAccess<'de> for Named<'de> {
    type Error = Error;
    type Variant = Variant<'de>;

    fn variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<(T::Value, Variant<'de>), Error> {
        let (name, value) = match self.tree.value {
            Value::String(name) => (name.as_str(), None),
            Value::Object(map) if map.len() == 1 => match map.iter().next() {
                Some((name, value)) => (name.as_str(), Some(value)),
                None => ("", None),
            },
            Value::Object(_) => return Err(Error::invalid_value(Unexpected::Map, &"map with a single key")),
            _ => return Err(self.tree.wrong(&"string or map")),
        };
        Ok((seed.deserialize(Name(name))?, Variant { value, tag: None, is_strict: self.is_strict, tree: self.tree }))
    }
}

/// An enum whose variant is named by a field.
struct Tagged<'a> {
    tree: Tree<'a>,
    tag: &'static str,
}

impl<'de> Deserializer<'de> for Tagged<'de> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        Err(self.tree.wrong(&visitor))
    }

    fn deserialize_enum<V: Visitor<'de>>(self, name: &str, _variants: &[&str], visitor: V) -> Result<V::Value, Error> {
        let Tagged { tree, tag } = self;
        let word = tree.object(&visitor)?.get(tag).ok_or_else(|| Error::missing_field(tag))?;
        let word = word.as_str().ok_or_else(|| tree.at(word).wrong(&"a string"))?;
        let variant = Variant { value: Some(tree.value), tag: Some(tag), is_strict: name == STRICT, tree };
        visitor.visit_enum(TaggedVariant { word, variant })
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct newtype_struct
        seq tuple tuple_struct map struct identifier ignored_any
    }
}

struct TaggedVariant<'a> {
    word: &'a str,
    variant: Variant<'a>,
}

impl<'de> EnumAccess<'de> for TaggedVariant<'de> {
    type Error = Error;
    type Variant = Variant<'de>;

    fn variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<(T::Value, Variant<'de>), Error> {
        Ok((seed.deserialize(Name(self.word))?, self.variant))
    }
}

/// What a variant has.
struct Variant<'a> {
    /// What stands under its name, or, with a tag, in the same object; nothing behind a word.
    value: Option<&'a Value>,
    /// The field that names it.
    tag: Option<&'static str>,
    is_strict: bool,
    /// The whole.
    tree: Tree<'a>,
}

impl<'a> Variant<'a> {
    fn content(&self, expected: &dyn Expected) -> Result<Tree<'a>, Error> {
        self.value.map(|value| self.tree.at(value)).ok_or_else(|| Error::invalid_type(Unexpected::UnitVariant, expected))
    }
}

impl<'de> VariantAccess<'de> for Variant<'de> {
    type Error = Error;

    fn unit_variant(self) -> Result<(), Error> {
        match self.value {
            None | Some(Value::Null) => Ok(()),
            Some(Value::Object(map)) if self.tag.is_some() => {
                Members::new(self.tree, map, self.tag, self.is_strict, &[]).map(|_| ())
            }
            Some(value) => Err(self.tree.at(value).wrong(&"unit")),
        }
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Error> {
        self.content(&"newtype variant")?.seeded(seed)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _length: usize, visitor: V) -> Result<V::Value, Error> {
        self.content(&"tuple variant")?.deserialize_seq(visitor)
    }

    fn struct_variant<V: Visitor<'de>>(self, fields: &'static [&'static str], visitor: V) -> Result<V::Value, Error> {
        let tree = self.content(&"struct variant")?;
        Members::new(tree, tree.object(&visitor)?, self.tag, self.is_strict, fields)?.read(visitor)
    }
}
