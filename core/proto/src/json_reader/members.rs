//! What arrays and objects have in them: the items of a list, the fields of a struct, the entries of a map.

use std::slice;

use serde::de::{DeserializeSeed, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Error, Map, Value, map};

use super::name::Name;
use super::tree::{MISSING, Tree};

/// What is left of an array.
pub(super) struct Items<'a> {
    left: slice::Iter<'a, Value>,
    tree: Tree<'a>,
}

impl<'a> Items<'a> {
    pub(super) fn new(tree: Tree<'a>, list: &'a [Value]) -> Items<'a> {
        Items { left: list.iter(), tree }
    }

    /// How many.
    pub(super) fn left(&self) -> usize {
        self.left.len()
    }
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
pub(super) struct Members<'a> {
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
    pub(super) fn new(
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

    pub(super) fn read<V: Visitor<'a>>(mut self, visitor: V) -> Result<V::Value, Error> {
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
pub(super) struct Fields<'a> {
    left: map::Iter<'a>,
    value: Tree<'a>,
}

impl<'a> Fields<'a> {
    pub(super) fn new(tree: Tree<'a>, map: &'a Map<String, Value>) -> Fields<'a> {
        Fields { left: map.iter(), value: tree }
    }
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
