//! The fields of events and of the inputs of hooks.

/// A field of a row.
#[derive(Debug, Clone, Copy)]
pub struct FieldRow {
    /// The canonical name.
    pub name: &'static str,
    /// What it is; the lines of its comment.
    pub doc: &'static [&'static str],
    /// Its type in Rust.
    pub rust: &'static str,
    /// The exact type in Python and Node, where the type in Rust is a wider one; else empty.
    pub exact: &'static str,
    /// Whether it may be missing.
    pub is_optional: bool,
    /// The version in which it appeared.
    pub since: &'static str,
}

/// Whether two texts are the same type in Rust: `stringify!` may write spaces.
pub fn is_same_type(one: &str, other: &str) -> bool {
    one.chars().filter(|c| *c != ' ').eq(other.chars().filter(|c| *c != ' '))
}

/// A [`FieldRow`] of the parts of its declaration; of several versions the first one counts.
macro_rules! field_row {
    (
        [$($optional:ident)?] $($doc:literal)* ; $name:ident, $type:ty, [$($exact:ident)?],
        [$since:literal $(, $rest:literal)*]
    ) => {
        $crate::table::fields::FieldRow {
            name: stringify!($name),
            doc: &[$($doc),*],
            rust: stringify!($type),
            exact: concat!($(stringify!($exact))?),
            is_optional: field_row!(@optional $($optional)?),
            since: $since,
        }
    };
    (@optional) => {
        false
    };
    (@optional optional) => {
        true
    };
}

pub(crate) use field_row;
