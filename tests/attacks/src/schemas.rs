//! JSON Schemas as tools have them, drawn at random, and arguments that nearly fit them.

use serde_json::{Map, Value, json};

use crate::random::Random;

const NAMES: &[&str] = &["a", "b", "n", "list", "name", "x-y", "", "$ref", "☃"];

const PATTERNS: &[&str] =
    &["^a+$", "(a+)+$", "^(?=x)y", "[", "\\p{L}", "(?i)^[a-z]{3,}$", "^(([a-z])+.)+[A-Z]([a-z])+$", "(.*)*\\1", ""];

/// The schema of a tool's arguments.
pub(crate) fn object(random: &mut Random) -> Value {
    let properties: Map<String, Value> =
        (0..random.below(5)).map(|_| ((*random.pick(NAMES)).to_owned(), schema(random, 3))).collect();
    let required: Vec<&String> = properties.keys().filter(|_| random.one_in(2)).collect();
    let mut object = json!({ "type": "object", "required": required, "properties": properties.clone() });
    if random.one_in(3) {
        object["$defs"] =
            json!({ "one": schema(random, 2), "loop": { "$ref": "#/$defs/loop" }, "two": { "$ref": "#/$defs/one" } });
    }
    if random.one_in(4) {
        object["additionalProperties"] = schema(random, 1);
    }
    object
}

fn schema(random: &mut Random, depth: u64) -> Value {
    let inner = |random: &mut Random| schema(random, depth - 1);
    match random.below(if depth == 0 { 9 } else { 16 }) {
        0 => json!(random.one_in(2)),
        1 => json!({ "type": "string", "minLength": random.below(3), "maxLength": random.below(9) }),
        2 => json!({ "type": "string", "pattern": random.pick(PATTERNS) }),
        3 => json!({ "type": "integer", "minimum": random.below(5), "multipleOf": random.below(3) }),
        4 => json!({ "type": ["number", "null"], "exclusiveMaximum": random.json(0) }),
        5 => json!({ "type": "boolean" }),
        6 => json!({ "enum": [1, "a", null, random.json(1)] }),
        7 => json!({ "$ref": random.pick(&["#/$defs/one", "#/$defs/loop", "#", "#/$defs/none", "http://h/x.json"]) }),
        8 => json!({ "const": random.json(1), "format": "date-time" }),
        9 => json!({ "type": "array", "items": inner(random), "uniqueItems": true, "maxItems": random.below(4) }),
        10 => json!({ "anyOf": [inner(random), inner(random)] }),
        11 => json!({ "oneOf": [inner(random), inner(random), inner(random)] }),
        12 => json!({ "allOf": [inner(random), { "not": inner(random) }] }),
        13 => json!({ "if": inner(random), "then": inner(random), "else": inner(random) }),
        14 => json!({ "type": "object", "patternProperties": { (*random.pick(PATTERNS)): inner(random) },
            "propertyNames": inner(random) }),
        _ => object(random),
    }
}

/// Arguments for it: of the right names, and of types that mostly fit.
pub(crate) fn arguments(schema: &Value, random: &mut Random) -> Value {
    let properties = schema["properties"].as_object().into_iter().flatten();
    let mut arguments: Map<String, Value> = properties.map(|(name, schema)| (name.clone(), value(schema, random))).collect();
    if random.one_in(3) {
        arguments.insert(random.text(), random.json(3));
    }
    Value::Object(arguments)
}

fn value(schema: &Value, random: &mut Random) -> Value {
    let first = |name: &str| schema[name].as_array().and_then(|options| options.first());
    match schema["type"].as_str() {
        _ if random.one_in(6) => random.json(3),
        Some("string") => json!(random.pick(&["a", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!", "", "xyz"])),
        Some("integer") => json!(random.pick(&["1", "2.0", "x"])),
        Some("boolean") => json!(random.pick(&["true", "no"])),
        Some("array") => json!([value(&schema["items"], random), value(&schema["items"], random)]),
        Some("object") => arguments(schema, random),
        _ => match ["anyOf", "oneOf", "allOf", "enum"].into_iter().find_map(first) {
            Some(option) => value(option, random),
            None => json!(random.pick(&["1", "[1]", "{\"a\": 1}"])),
        },
    }
}
