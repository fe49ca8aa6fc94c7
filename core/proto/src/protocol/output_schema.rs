//! The JSON Schema of an answer as services take it: each holds a model to a part of JSON Schema, and refuses what is not in it.

use serde_json::{Map, Value};

use super::json::Object;
use crate::output::OutputFormat;

/// How much of JSON Schema a service takes.
struct Dialect {
    /// The keywords that it takes beside [`TAKEN`].
    keywords: &'static [&'static str],
    /// Those that may be left out beside [`ANNOTATIONS`]: what they ask for is checked when the answer is there.
    dropped: &'static [&'static str],
    /// The values of `format` that it takes.
    formats: &'static [&'static str],
    /// Whether each property has to be required.
    all_required: bool,
    /// Whether a schema may refer to itself.
    recursive: bool,
    /// The most that `minItems` may be.
    most_min_items: u64,
}

/// The keywords that each service takes.
const TAKEN: &[&str] = &[
    "type",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "enum",
    "const",
    "anyOf",
    "$ref",
    "$defs",
    "definitions",
    "title",
    "description",
    "format",
    "minItems",
];

/// Annotations, which say nothing about a value.
const ANNOTATIONS: &[&str] =
    &["$schema", "$id", "$comment", "default", "examples", "deprecated", "readOnly", "writeOnly", "discriminator"];

/// <https://developers.openai.com/api/docs/guides/structured-outputs#supported-schemas>
const OPENAI: Dialect = Dialect {
    keywords: &["pattern", "multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "maxItems"],
    dropped: &[],
    formats: &["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"],
    all_required: true,
    recursive: true,
    most_min_items: u64::MAX,
};

/// <https://platform.claude.com/docs/en/build-with-claude/structured-outputs#json-schema-limitations>
const ANTHROPIC: Dialect = Dialect {
    keywords: &["allOf", "default"],
    dropped: &[
        "pattern",
        "multipleOf",
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "minLength",
        "maxLength",
        "maxItems",
        "uniqueItems",
    ],
    formats: &["date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"],
    all_required: false,
    recursive: false,
    most_min_items: 1,
};

/// The schema for OpenAI's strict form; `None` where it has what that does not take.
pub(super) fn openai_strict(schema: &Value) -> Option<Value> {
    OPENAI.translated(schema)
}

/// The schema for Anthropic; `None` where it has what that does not take.
pub(super) fn anthropic(schema: &Value) -> Option<Value> {
    ANTHROPIC.translated(schema)
}

/// The fields of a form in OpenAI's formats. `strict`: the schema for the strict form, if there is one.
pub(super) fn write_format(form: &mut Object<'_>, format: &OutputFormat, strict: Option<Value>) {
    form.field("name", &format.name);
    if !format.description.is_empty() {
        form.field("description", &format.description);
    }
    form.field("strict", strict.is_some());
    write_schema(form, format, strict);
}

/// The schema as a service takes it, else as it is: the service says what it does not take.
pub(super) fn write_schema(form: &mut Object<'_>, format: &OutputFormat, taken: Option<Value>) {
    match taken {
        Some(schema) => form.field("schema", schema),
        None => form.field("schema", &*format.schema),
    }
}

impl Dialect {
    fn translated(&self, schema: &Value) -> Option<Value> {
        if !self.recursive && refers_to_itself(schema) {
            return None;
        }
        self.part(schema)
    }

    /// A schema within it. It asks for less where a keyword is dropped, and for `anyOf` in place of `oneOf`; else an answer that
    /// fits it fits the given one.
    fn part(&self, schema: &Value) -> Option<Value> {
        let Value::Object(map) = schema else { return None };
        let mut out = Map::new();
        for (keyword, value) in map {
            let keyword = if keyword == "oneOf" { "anyOf" } else { keyword.as_str() };
            let is_in = |lists: [&[&str]; 2]| lists.iter().any(|list| list.contains(&keyword));
            match keyword {
                _ if !is_in([TAKEN, self.keywords]) => {
                    if is_in([ANNOTATIONS, self.dropped]) {
                        continue;
                    }
                    return None;
                }
                "format" if !value.as_str().is_some_and(|format| self.formats.contains(&format)) => continue,
                "minItems" if value.as_u64().is_some_and(|least| least > self.most_min_items) => continue,
                "additionalProperties" if *value != Value::Bool(false) => return None,
                "properties" | "$defs" | "definitions" => {
                    let part = |(name, part): (&String, &Value)| Some((name.clone(), self.part(part)?));
                    let parts: Option<Map<_, _>> = value.as_object()?.iter().map(part).collect();
                    out.insert(keyword.to_owned(), parts?.into());
                }
                "items" => {
                    out.insert(keyword.to_owned(), self.part(value)?);
                }
                "anyOf" | "allOf" => {
                    let parts: Option<Vec<_>> = value.as_array()?.iter().map(|part| self.part(part)).collect();
                    out.insert(keyword.to_owned(), parts?.into());
                }
                _ => {
                    out.insert(keyword.to_owned(), value.clone());
                }
            }
        }
        let is_object = match map.get("type") {
            Some(Value::String(kind)) => kind == "object",
            Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "object"),
            _ => map.contains_key("properties"),
        };
        if is_object {
            // One without properties of its own may have any, of which nothing could be said.
            let properties = map.get("properties").and_then(Value::as_object);
            if properties.is_none_or(Map::is_empty) && map.get("additionalProperties") != Some(&Value::Bool(false)) {
                return None;
            }
            if self.all_required {
                let required = map.get("required").and_then(Value::as_array);
                let is_required = |name: &String| required.is_some_and(|required| required.iter().any(|other| other == name));
                if !properties.into_iter().flat_map(Map::keys).all(is_required) {
                    return None;
                }
            }
            out.insert("additionalProperties".to_owned(), Value::Bool(false));
        }
        Some(out.into())
    }
}

/// Whether following the references of a schema may come back to where they stand.
fn refers_to_itself(schema: &Value) -> bool {
    /// `path`: the references that are being followed; `done`: those that come to an end.
    fn comes_back<'a>(root: &'a Value, part: &'a Value, path: &mut Vec<&'a str>, done: &mut Vec<&'a str>) -> bool {
        match part {
            Value::Object(map) => {
                if let Some(Value::String(reference)) = map.get("$ref") {
                    // The whole is where each path begins.
                    if reference == "#" || path.contains(&reference.as_str()) {
                        return true;
                    }
                    let target = reference.strip_prefix('#').and_then(|pointer| root.pointer(pointer));
                    if let Some(target) = target.filter(|_| !done.contains(&reference.as_str())) {
                        path.push(reference);
                        if comes_back(root, target, path, done) {
                            return true;
                        }
                        path.pop();
                        done.push(reference);
                    }
                }
                map.values().any(|part| comes_back(root, part, path, done))
            }
            Value::Array(items) => items.iter().any(|part| comes_back(root, part, path, done)),
            _ => false,
        }
    }
    comes_back(schema, schema, &mut Vec::new(), &mut Vec::new())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn city(required: Value) -> Value {
        json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "properties": { "city": { "type": "string", "description": "Its name." }, "rain": { "type": "number" } },
            "required": required,
        })
    }

    #[test]
    fn objects_are_closed() {
        let closed = json!({
            "type": "object",
            "properties": { "city": { "type": "string", "description": "Its name." }, "rain": { "type": "number" } },
            "required": ["city", "rain"],
            "additionalProperties": false,
        });
        assert_eq!(openai_strict(&city(json!(["city", "rain"]))), Some(closed.clone()));
        assert_eq!(anthropic(&city(json!(["city", "rain"]))), Some(closed));
    }

    #[test]
    fn optional_properties_are_for_one_of_them() {
        assert_eq!(openai_strict(&city(json!(["city"]))), None);
        assert!(anthropic(&city(json!(["city"]))).is_some());
    }

    #[test]
    fn what_cannot_be_said_is_checked_later_or_not_sent_at_all() {
        let of =
            |a: Value| json!({ "type": "object", "properties": { "a": a }, "required": ["a"], "additionalProperties": false });
        let number = json!({ "type": "integer", "minimum": 1 });
        assert_eq!(openai_strict(&of(number.clone())), Some(of(number.clone())));
        assert_eq!(anthropic(&of(number)), Some(of(json!({ "type": "integer" }))));
        let text = json!({ "type": "string", "minLength": 1 });
        assert_eq!(openai_strict(&of(text.clone())), None);
        assert_eq!(anthropic(&of(text)), Some(of(json!({ "type": "string" }))));
        for open in [
            json!({ "type": "object" }),
            json!({ "type": "object", "additionalProperties": { "type": "number" } }),
            json!({ "type": ["object", "null"], "additionalProperties": true, "properties": { "b": {} } }),
            json!({ "type": "array", "prefixItems": [{ "type": "string" }] }),
            json!({ "not": { "type": "string" } }),
            json!(true),
        ] {
            assert_eq!(openai_strict(&of(open.clone())), None, "{open}");
            assert_eq!(anthropic(&of(open.clone())), None, "{open}");
        }
    }

    #[test]
    fn a_schema_that_refers_to_itself_is_for_one_of_them() {
        let tree = json!({
            "type": "object",
            "properties": { "result": { "$ref": "#/$defs/Node" } },
            "required": ["result"],
            "additionalProperties": false,
            "$defs": {
                "Node": {
                    "type": "object",
                    "properties": { "left": { "anyOf": [{ "$ref": "#/$defs/Node" }, { "type": "null" }] } },
                    "required": ["left"],
                },
            },
        });
        assert!(openai_strict(&tree).is_some());
        assert_eq!(anthropic(&tree), None);
        let as_property = json!({
            "type": "object",
            "properties": { "definitions": { "$ref": "#/properties/definitions/items" } },
        });
        assert_eq!(
            anthropic(&as_property),
            Some(json!({
                "type": "object",
                "properties": { "definitions": { "$ref": "#/properties/definitions/items" } },
                "additionalProperties": false,
            }))
        );
        let within = json!({
            "type": "object",
            "properties": { "definitions": { "type": "array", "items": { "$ref": "#/properties/definitions" } } },
        });
        assert_eq!(anthropic(&within), None);
        let twice = json!({
            "type": "object",
            "properties": { "a": { "$ref": "#/$defs/P" }, "b": { "$ref": "#/$defs/P" } },
            "$defs": { "P": { "type": "string" } },
        });
        assert!(anthropic(&twice).is_some());
        // Each reference is followed once: 2^64 ways lead to the last one.
        let next =
            |i: u32| json!({ "anyOf": [{ "$ref": format!("#/$defs/{}", i + 1) }, { "$ref": format!("#/$defs/{}", i + 1) }] });
        let mut definitions: Map<String, Value> = (0..64).map(|i| (i.to_string(), next(i))).collect();
        definitions.insert("64".to_owned(), json!({ "type": "string" }));
        let deep = json!({ "type": "object", "properties": { "a": { "$ref": "#/$defs/0" } }, "$defs": definitions });
        assert!(anthropic(&deep).is_some());
    }
}
