//! JSON for JavaScript: canonical JSON with the contract's names in camel case.
//!
//! A field of a struct is the contract's, so its name changes. A key of a map (arguments, details, parameters, the fields of a
//! custom message) is the user's and stays as it is, and so does every value. The way back is `lib/canonical.ts`.

use serde::ser::{
    Error, Impossible, Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeTuple, SerializeTupleStruct,
    SerializeTupleVariant, Serializer,
};

/// The value as JSON text, its fields named in camel case.
pub(crate) fn to_json<T: Serialize + ?Sized>(value: &T) -> String {
    // Nothing in the contract can fail to serialize: all map keys are strings.
    serde_json::to_string(&Nested(value)).unwrap_or_default()
}

/// A serializer, or what one gives for a list or a map, that names fields in camel case and leaves the rest to the one inside.
struct CamelCase<S>(S);

/// A value that is serialized through [`CamelCase`].
struct Nested<'a, T: ?Sized>(&'a T);

impl<T: Serialize + ?Sized> Serialize for Nested<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(CamelCase(serializer))
    }
}

macro_rules! unchanged {
    ($($name:ident($($argument:ident: $type:ty),*)),+ $(,)?) => { $(
        fn $name(self, $($argument: $type),*) -> Result<S::Ok, S::Error> {
            self.0.$name($($argument),*)
        }
    )+ };
}

impl<S: Serializer> Serializer for CamelCase<S> {
    type Ok = S::Ok;
    type Error = S::Error;
    type SerializeSeq = CamelCase<S::SerializeSeq>;
    type SerializeTuple = CamelCase<S::SerializeTuple>;
    type SerializeTupleStruct = CamelCase<S::SerializeTupleStruct>;
    type SerializeTupleVariant = CamelCase<S::SerializeTupleVariant>;
    type SerializeMap = CamelCase<S::SerializeMap>;
    type SerializeStruct = Fields<S>;
    type SerializeStructVariant = Impossible<S::Ok, S::Error>;

    unchanged!(
        serialize_bool(value: bool),
        serialize_i8(value: i8),
        serialize_i16(value: i16),
        serialize_i32(value: i32),
        serialize_i64(value: i64),
        serialize_u8(value: u8),
        serialize_u16(value: u16),
        serialize_u32(value: u32),
        serialize_u64(value: u64),
        serialize_f32(value: f32),
        serialize_f64(value: f64),
        serialize_char(value: char),
        serialize_str(value: &str),
        serialize_bytes(value: &[u8]),
        serialize_none(),
        serialize_unit(),
        serialize_unit_struct(name: &'static str),
        serialize_unit_variant(name: &'static str, index: u32, variant: &'static str),
    );

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<S::Ok, S::Error> {
        self.0.serialize_some(&Nested(value))
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, name: &'static str, value: &T) -> Result<S::Ok, S::Error> {
        self.0.serialize_newtype_struct(name, &Nested(value))
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        index: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<S::Ok, S::Error> {
        self.0.serialize_newtype_variant(name, index, variant, &Nested(value))
    }

    fn serialize_seq(self, length: Option<usize>) -> Result<Self::SerializeSeq, S::Error> {
        self.0.serialize_seq(length).map(CamelCase)
    }

    fn serialize_tuple(self, length: usize) -> Result<Self::SerializeTuple, S::Error> {
        self.0.serialize_tuple(length).map(CamelCase)
    }

    fn serialize_tuple_struct(self, name: &'static str, length: usize) -> Result<Self::SerializeTupleStruct, S::Error> {
        self.0.serialize_tuple_struct(name, length).map(CamelCase)
    }

    fn serialize_tuple_variant(
        self,
        name: &'static str,
        index: u32,
        variant: &'static str,
        length: usize,
    ) -> Result<Self::SerializeTupleVariant, S::Error> {
        self.0.serialize_tuple_variant(name, index, variant, length).map(CamelCase)
    }

    fn serialize_map(self, length: Option<usize>) -> Result<Self::SerializeMap, S::Error> {
        self.0.serialize_map(length).map(CamelCase)
    }

    fn serialize_struct(self, name: &'static str, length: usize) -> Result<Self::SerializeStruct, S::Error> {
        // serde_json's own (a number or JSON as it was written) are known by their names.
        if name.starts_with("$serde_json::") {
            self.0.serialize_struct(name, length).map(Fields::Marker)
        } else {
            self.0.serialize_map(Some(length)).map(Fields::Named)
        }
    }

    fn serialize_struct_variant(
        self,
        name: &'static str,
        _index: u32,
        variant: &'static str,
        _length: usize,
    ) -> Result<Self::SerializeStructVariant, S::Error> {
        Err(S::Error::custom(format!("{name}::{variant} has named fields and no tag; the contract has no such value")))
    }
}

/// The fields of a struct.
enum Fields<S: Serializer> {
    /// Written as a map, whose keys may be computed.
    Named(S::SerializeMap),
    /// Of a struct of serde_json's.
    Marker(S::SerializeStruct),
}

impl<S: Serializer> SerializeStruct for Fields<S> {
    type Ok = S::Ok;
    type Error = S::Error;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), S::Error> {
        match self {
            Fields::Named(map) if name.contains('_') => map.serialize_entry(&camel_case(name), &Nested(value)),
            Fields::Named(map) => map.serialize_entry(name, &Nested(value)),
            Fields::Marker(fields) => fields.serialize_field(name, value),
        }
    }

    fn end(self) -> Result<S::Ok, S::Error> {
        match self {
            Fields::Named(map) => map.end(),
            Fields::Marker(fields) => fields.end(),
        }
    }
}

impl<M: SerializeMap> SerializeMap for CamelCase<M> {
    type Ok = M::Ok;
    type Error = M::Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), M::Error> {
        self.0.serialize_key(key)
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), M::Error> {
        self.0.serialize_value(&Nested(value))
    }

    fn end(self) -> Result<M::Ok, M::Error> {
        self.0.end()
    }
}

macro_rules! lists {
    ($($kind:ident $element:ident),+) => { $(
        impl<L: $kind> $kind for CamelCase<L> {
            type Ok = L::Ok;
            type Error = L::Error;

            fn $element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), L::Error> {
                self.0.$element(&Nested(value))
            }

            fn end(self) -> Result<L::Ok, L::Error> {
                self.0.end()
            }
        }
    )+ };
}

lists!(
    SerializeSeq serialize_element,
    SerializeTuple serialize_element,
    SerializeTupleStruct serialize_field,
    SerializeTupleVariant serialize_field
);

/// `tool_call_id` as `toolCallId`.
fn camel_case(name: &str) -> String {
    let mut camel = String::with_capacity(name.len());
    let mut upper = false;
    for letter in name.chars() {
        match letter {
            '_' => upper = true,
            letter if upper => {
                camel.push(letter.to_ascii_uppercase());
                upper = false;
            }
            letter => camel.push(letter),
        }
    }
    camel
}
