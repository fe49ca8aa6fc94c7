//! The words of JSON Schema: its keywords, of all drafts and of OpenAPI, and the names of types.

use serde_json::Value;

pub(super) const TYPES: [&str; 7] = ["array", "boolean", "integer", "null", "number", "object", "string"];

/// What a name in a schema is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keyword {
    /// One that describes an object, or refers to what does.
    OfObjects,
    /// Another keyword.
    Other,
    /// A vendor's own, which begins with `x-`.
    Vendor,
    /// None, or one with a value that it cannot have.
    Unknown,
}

/// What a name in a schema is, with this value.
pub(super) fn keyword(name: &str, value: &Value) -> Keyword {
    let is_schema = || value.is_object() || value.is_boolean();
    // A text that names a type is the type of a property.
    let is_text = || value.as_str().is_some_and(|text| !TYPES.contains(&text));
    let (kind, is_right) = match name {
        "properties" | "patternProperties" | "dependentSchemas" | "dependencies" => (Keyword::OfObjects, value.is_object()),
        "additionalProperties" | "unevaluatedProperties" | "propertyNames" | "not" | "if" => (Keyword::OfObjects, is_schema()),
        "allOf" | "anyOf" | "oneOf" | "enum" => (Keyword::OfObjects, value.is_array()),
        "$ref" | "$dynamicRef" | "$recursiveRef" => (Keyword::OfObjects, value.is_string()),
        "const" => (Keyword::OfObjects, true),
        "type" => (Keyword::Other, value.is_string() || value.is_array()),
        "title" | "description" | "$comment" | "format" | "pattern" | "contentEncoding" | "contentMediaType" | "id" => {
            (Keyword::Other, is_text())
        }
        "$schema" | "$id" | "$anchor" | "$dynamicAnchor" => (Keyword::Other, value.is_string()),
        "$recursiveAnchor" | "deprecated" | "readOnly" | "writeOnly" | "nullable" | "uniqueItems" => {
            (Keyword::Other, value.is_boolean())
        }
        "$defs" | "definitions" | "$vocabulary" | "dependentRequired" | "discriminator" | "xml" | "externalDocs" => {
            (Keyword::Other, value.is_object())
        }
        "items" | "prefixItems" | "additionalItems" | "unevaluatedItems" | "contains" | "contentSchema" | "then" | "else" => {
            (Keyword::Other, is_schema() || value.is_array())
        }
        "required" | "examples" => (Keyword::Other, value.is_array()),
        "minimum" | "maximum" | "multipleOf" | "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties"
        | "maxProperties" | "minContains" | "maxContains" | "divisibleBy" => (Keyword::Other, value.is_number()),
        "exclusiveMinimum" | "exclusiveMaximum" => (Keyword::Other, value.is_number() || value.is_boolean()),
        "default" | "example" => (Keyword::Other, true),
        _ if name.starts_with("x-") => (Keyword::Vendor, true),
        _ => (Keyword::Unknown, true),
    };
    if is_right { kind } else { Keyword::Unknown }
}

/// The type that a name is, or means in another language.
pub(super) fn type_for(name: &str) -> Option<&'static str> {
    let name = name.to_ascii_lowercase();
    let meant = match name.as_str() {
        "int" | "long" => "integer",
        "float" | "double" | "decimal" => "number",
        "str" | "text" => "string",
        "bool" => "boolean",
        "list" | "tuple" | "set" => "array",
        "dict" | "map" | "record" | "struct" => "object",
        "none" | "nil" | "undefined" => "null",
        name => return TYPES.into_iter().find(|known| *known == name),
    };
    Some(meant)
}
