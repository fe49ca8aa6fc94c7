//! Reading types from JSON in one way. The code of a derived `Deserialize` is compiled once for each kind of deserializer that it
//! is given: serde_json's own are five, of which each would have a copy of the whole state of a loop. Here, text becomes a tree
//! first, and the types are read from that. What is read is borrowed, and the readers of numbers and text are no part of what
//! calls them: both keep that code short.
//!
//! Unlike serde_json's, this reader takes a struct from an object alone, never from an array of its fields in some order.
//!
//! Not for what arrives thousands of times, such as the frames of a stream: there the tree would cost more than what it saves.

#[cfg(test)]
mod tests;

use std::slice;

use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, Error as _, Expected, IntoDeserializer, MapAccess, SeqAccess,
    Unexpected, VariantAccess, Visitor,
};
use serde_json::{Error, Value, map};

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
    T::deserialize(Tree(value))
}

/// A value to be read.
#[derive(Clone, Copy)]
struct Tree<'a>(&'a Value);

impl<'a> Tree<'a> {
    /// The error for a value of another type than the visitor's.
    #[cold]
    fn wrong(self, expected: &dyn Expected) -> Error {
        let found = match self.0 {
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

    fn object(self, expected: &dyn Expected) -> Result<Fields<'a>, Error> {
        match self.0 {
            Value::Object(map) => Ok(Fields { left: map.iter(), value: self }),
            _ => Err(self.wrong(expected)),
        }
    }

    fn array(self, expected: &dyn Expected) -> Result<Items<'a>, Error> {
        match self.0 {
            Value::Array(list) => Ok(Items(list.iter())),
            _ => Err(self.wrong(expected)),
        }
    }
}

/// What serde_json reads alike: no types are within it.
macro_rules! plain {
    ($($read:ident)*) => {$(
        #[inline(never)]
        fn $read<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            self.0.$read(visitor)
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
        match self.0 {
            Value::Null => visitor.visit_unit(),
            Value::Bool(value) => visitor.visit_bool(*value),
            Value::Number(number) => number.deserialize_any(visitor),
            Value::String(text) => visitor.visit_str(text),
            Value::Array(_) => self.deserialize_seq(visitor),
            Value::Object(_) => self.deserialize_map(visitor),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if self.0.is_null() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _name: &'static str, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let mut items = self.array(&visitor)?;
        let all = items.0.len();
        let read = visitor.visit_seq(&mut items)?;
        match items.0.len() {
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
        let fields = self.object(&visitor)?;
        visitor.visit_map(fields)
    }

    fn deserialize_struct<V: Visitor<'de>>(self, _name: &str, _fields: &[&str], visitor: V) -> Result<V::Value, Error> {
        self.deserialize_map(visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(self, _name: &str, _variants: &[&str], visitor: V) -> Result<V::Value, Error> {
        visitor.visit_enum(self)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_unit()
    }

    serde::forward_to_deserialize_any! { bytes byte_buf unit_struct }
}

/// What is left of an array.
struct Items<'a>(slice::Iter<'a, Value>);

impl<'de> SeqAccess<'de> for Items<'de> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Error> {
        self.0.next().map(|item| seed.deserialize(Tree(item))).transpose()
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.0.len())
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
        self.value = Tree(value);
        seed.deserialize(Name(name)).map(Some)
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, Error> {
        seed.deserialize(self.value)
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

/// A word, or an object whose only field has the name of the variant.
impl<'de> EnumAccess<'de> for Tree<'de> {
    type Error = Error;
    type Variant = Variant<'de>;

    fn variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<(T::Value, Variant<'de>), Error> {
        let (name, value) = match self.0 {
            Value::String(name) => (name.as_str(), None),
            Value::Object(map) if map.len() == 1 => match map.iter().next() {
                Some((name, value)) => (name.as_str(), Some(value)),
                None => ("", None),
            },
            Value::Object(_) => return Err(Error::invalid_value(Unexpected::Map, &"map with a single key")),
            _ => return Err(self.wrong(&"string or map")),
        };
        Ok((seed.deserialize(Name(name))?, Variant(value)))
    }
}

/// What an object has under the name of a variant; nothing behind a word.
struct Variant<'a>(Option<&'a Value>);

impl<'a> Variant<'a> {
    fn content(self, expected: &dyn Expected) -> Result<Tree<'a>, Error> {
        self.0.map(Tree).ok_or_else(|| Error::invalid_type(Unexpected::UnitVariant, expected))
    }
}

impl<'de> VariantAccess<'de> for Variant<'de> {
    type Error = Error;

    fn unit_variant(self) -> Result<(), Error> {
        match self.0 {
            None | Some(Value::Null) => Ok(()),
            Some(value) => Err(Tree(value).wrong(&"unit")),
        }
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Error> {
        seed.deserialize(self.content(&"newtype variant")?)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _length: usize, visitor: V) -> Result<V::Value, Error> {
        self.content(&"tuple variant")?.deserialize_seq(visitor)
    }

    fn struct_variant<V: Visitor<'de>>(self, _fields: &[&str], visitor: V) -> Result<V::Value, Error> {
        self.content(&"struct variant")?.deserialize_map(visitor)
    }
}
