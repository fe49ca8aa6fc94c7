//! The JSON Schema of a Rust type, by schemars, as models and their servers take it.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;

/// The schema of a type: without references where there is no recursion, and without what says nothing to a model.
pub(crate) fn schema_of<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = Value::from(settings.into_generator().into_root_schema_for::<T>());
    tidy(&mut schema);
    schema
}

/// Removes the names of Rust types, and formats that JSON Schema does not know.
fn tidy(schema: &mut Value) {
    const MAPS: &[&str] = &["properties", "patternProperties", "$defs", "dependentSchemas"];
    // What else may have a schema or a list of them. Not `default`, `const`, `enum` and `examples`: they are data.
    const SCHEMAS: &[&str] = &[
        "items",
        "prefixItems",
        "additionalProperties",
        "propertyNames",
        "contains",
        "anyOf",
        "oneOf",
        "allOf",
        "not",
        "if",
        "then",
        "else",
        "unevaluatedItems",
        "unevaluatedProperties",
    ];
    match schema {
        Value::Array(schemas) => schemas.iter_mut().for_each(tidy),
        Value::Object(object) => {
            object.remove("title");
            if object.get("format").and_then(Value::as_str).is_some_and(is_rust_number) {
                object.remove("format");
            }
            for (keyword, value) in object.iter_mut() {
                if SCHEMAS.contains(&keyword.as_str()) {
                    tidy(value);
                } else if MAPS.contains(&keyword.as_str()) {
                    value.as_object_mut().into_iter().flat_map(|schemas| schemas.values_mut()).for_each(tidy);
                }
            }
        }
        _ => {}
    }
}

fn is_rust_number(format: &str) -> bool {
    let digits = format.trim_start_matches("uint").trim_start_matches("int");
    matches!(format, "float" | "double") || (digits.len() < format.len() && digits.chars().all(|c| c.is_ascii_digit()))
}
