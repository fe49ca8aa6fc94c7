//! Enums, whose variant is a word, the only field of an object, or named by a field.

use serde::de::{DeserializeSeed, Deserializer, EnumAccess, Error as _, Expected, Unexpected, VariantAccess, Visitor};
use serde_json::{Error, Value};

use super::members::Members;
use super::name::Name;
use super::tree::{STRICT, Tree};

/// An enum: a word, or an object whose only field has the name of the variant.
pub(super) struct Named<'a> {
    tree: Tree<'a>,
    is_strict: bool,
}

impl<'a> Named<'a> {
    pub(super) fn new(tree: Tree<'a>, is_strict: bool) -> Named<'a> {
        Named { tree, is_strict }
    }
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
pub(super) struct Tagged<'a> {
    tree: Tree<'a>,
    tag: &'static str,
}

impl<'a> Tagged<'a> {
    pub(super) fn new(tree: Tree<'a>, tag: &'static str) -> Tagged<'a> {
        Tagged { tree, tag }
    }
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

pub(super) struct TaggedVariant<'a> {
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
pub(super) struct Variant<'a> {
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
