//! What is no schema, though by the letter much of it is one; and schemas that are right.

use serde_json::{Value, json};

use super::check;
use crate::tool::ToolSpec;

fn refused(parameters: &Value) -> String {
    let error = ToolSpec::new("t", "T.", parameters.clone()).expect_err(&parameters.to_string());
    error.message().strip_prefix("tool \"t\": parameters ").expect("its name").to_owned()
}

#[test]
fn found_r2_properties_in_place_of_a_schema_are_refused() {
    let meant =
        |names: &str| format!("has no JSON Schema keyword; did you mean {{\"type\": \"object\", \"properties\": {{{names}}}}}?");
    for (parameters, names) in [
        (json!({"city": {"type": "string"}}), "\"city\": …"),
        (json!({"city": "string"}), "\"city\": …"),
        (json!({"city": "The name of a city."}), "\"city\": …"),
        (json!({"a": "int", "b": "str?", "c": ["string"], "d": 1}), "\"a\": …, \"b\": …, \"c\": …, …"),
        (json!({"title": {"type": "string"}, "format": {"enum": ["a"]}}), "\"title\": …, \"format\": …"),
        (json!({"type": {"type": "string"}}), "\"type\": …"),
        (json!({"title": "string", "x-note": 1}), "\"title\": …"),
        (json!({"address": {"street": {"type": "string"}}}), "\"address\": …"),
    ] {
        assert_eq!(refused(&parameters), meant(names), "{parameters}");
    }
    let not_keyword = |at: &str, name: &str| {
        format!(
            "is not a JSON Schema: {at}{name:?} is no JSON Schema keyword; did you mean {{\"type\": \"object\", \"properties\": \
             {{{name:?}: …}}}}?"
        )
    };
    for (parameters, at, name) in [
        (json!({"type": "object", "city": {"type": "string"}}), "", "city"),
        (json!({"type": "object", "required": ["city"], "city": {"enum": ["Oslo"]}}), "", "city"),
        (json!({"description": "Weather.", "city": "string"}), "", "city"),
        (json!({"type": "object", "place": {"city": {"type": "string"}}}), "", "place"),
        (
            json!({"type": "object", "properties": {"place": {"type": "object", "city": {"type": "string"}}}}),
            "at \"/properties/place\": ",
            "city",
        ),
    ] {
        assert_eq!(refused(&parameters), not_keyword(at, name), "{parameters}");
    }
    for (parameters, why) in [
        (
            json!({"type": "object", "properties": {"place": {"city": {"type": "string"}}}}),
            "is not a JSON Schema: at \"/properties/place\": it has no JSON Schema keyword; did you mean {\"type\": \"object\", \
             \"properties\": {\"city\": …}}?",
        ),
        (
            json!({"type": "object", "propertys": {"city": {"type": "string"}}}),
            "is not a JSON Schema: unknown keyword \"propertys\"; did you mean \"properties\"?",
        ),
        (
            json!({"name": "weather", "description": "W.", "parameters": {"type": "object", "properties": {}}}),
            "has its JSON Schema in \"parameters\"; give that alone",
        ),
        (json!({"input_schema": {"type": "object"}}), "has its JSON Schema in \"input_schema\"; give that alone"),
        (
            json!({"type": "object", "properties": {"a/b": "float"}}),
            "is not a JSON Schema: at \"/properties/a~1b\": expected a schema such as {\"type\": \"number\"}, got \"float\"",
        ),
    ] {
        assert_eq!(refused(&parameters), why, "{parameters}");
    }
}

#[test]
fn found_r2_a_required_property_that_is_not_described_is_refused() {
    let of = |names: Value| json!({"type": "object", "properties": {"city": {}, "days": {}}, "required": names});
    let wrong = |at: &str, why: &str| format!("is not a JSON Schema: at \"{at}/required\": {why}");
    for (parameters, why) in [
        (of(json!(["citty"])), wrong("", "\"citty\" is not in \"properties\"; did you mean \"city\"?")),
        (
            of(json!(["city", "temperature"])),
            wrong("", "\"temperature\" is not in \"properties\"; describe it there, or take it out"),
        ),
        (
            json!({"type": "object", "properties": {"of": {"type": "array", "items": of(json!(["day"]))}}}),
            wrong("/properties/of/items", "\"day\" is not in \"properties\"; did you mean \"days\"?"),
        ),
        (
            json!({"type": "object", "properties": {"a": {}}, "required": ["b"], "additionalProperties": false}),
            wrong("", "\"b\" is not in \"properties\"; describe it there, or take it out"),
        ),
        (
            json!({"type": "object", "properties": {"a": {"type": "string", "required": true}}}),
            wrong("/properties/a", "expected a list of the names that are required, beside \"properties\", got true"),
        ),
        (of(json!("city")), wrong("", "expected a list of names, got \"city\"; write [\"city\"]")),
        (of(json!("city, days")), wrong("", "expected a list of names, got \"city, days\"; write [\"city\",\"days\"]")),
        (
            json!({"type": "object", "properties": {"a": {"type": "object", "required": "b"}}}),
            wrong("/properties/a", "expected a list of names, got \"b\"; write [\"b\"]"),
        ),
    ] {
        assert_eq!(refused(&parameters), why, "{parameters}");
    }
}

#[test]
fn found_r2_the_type_that_is_meant_is_suggested() {
    let mut cases: Vec<(&str, String)> = [
        ("int", "integer"),
        ("float", "number"),
        ("double", "number"),
        ("str", "string"),
        ("String", "string"),
        ("STRING", "string"),
        ("sting", "string"),
        ("bool", "boolean"),
        ("list", "array"),
        ("dict", "object"),
        ("none", "null"),
    ]
    .map(|(name, meant)| (name, format!("did you mean {meant:?}?")))
    .into();
    cases.push(("any", "leave it out to take any value".to_owned()));
    cases.push(("date", "write {\"type\": \"string\", \"format\": \"date-time\"}".to_owned()));
    cases.push(("coordinates", "known are array, boolean, integer, null, number, object, string".to_owned()));
    for (name, hint) in cases {
        for (kind, at) in [(json!({"type": name}), ""), (json!({"anyOf": [{}, {"type": [name, "null"]}]}), "/anyOf/1")] {
            let parameters = json!({"type": "object", "properties": {"x": kind}});
            let expected = format!("is not a JSON Schema: at \"/properties/x{at}/type\": unknown type {name:?}; {hint}");
            assert_eq!(refused(&parameters), expected);
        }
    }
}

/// What is legal and in use.
#[test]
fn right_schemas_are_not_refused() {
    let open = |beside: Value| {
        let mut schema = json!({"type": "object", "properties": {"a": {}}, "required": ["a", "b"]});
        schema.as_object_mut().unwrap().extend(beside.as_object().unwrap().clone());
        schema
    };
    for parameters in [
        json!({}),
        json!({"type": "object"}),
        json!({"description": "Nothing."}),
        json!({"$schema": "http://json-schema.org/draft-07/schema#"}),
        json!({"x-vendor": {"type": "string"}}),
        json!({"type": "object", "x-order": ["a"], "strict": true, "annotations": {"title": "A"}}),
        json!({"type": "object", "required": ["a"]}),
        json!({"type": "object", "properties": {}, "propertyOrder": {"a": {"type": "string"}}}),
        json!({"$ref": "#/$defs/a", "$defs": {"a": {"type": "object"}}}),
        json!({"anyOf": [{"required": ["a"]}, {"required": ["b"]}], "properties": {"a": {}, "b": {}}}),
        json!({"type": "object", "properties": {"type": {"type": "string"}, "properties": {"type": "object"}, "title": {}}}),
        json!({"type": "object", "properties": {"x": {"default": {"a": {"type": "string"}}}, "y": {"const": {"type": "int"}}}}),
        json!({"type": "object", "properties": {"x": {"enum": [{"type": "int"}]}, "y": {"datatype": "string"}, "z": true}}),
        json!({"type": "object", "properties": {"x": {"description": "Any.", "ui": {"widget": "text"}}}}),
        open(json!({"additionalProperties": true})),
        open(json!({"additionalProperties": {"type": "string"}})),
        open(json!({"patternProperties": {"^b": {}}})),
        open(json!({"allOf": [{"properties": {"b": {}}}]})),
        open(json!({"$ref": "#/$defs/b", "$defs": {"b": {"properties": {"b": {}}}}})),
        json!({"allOf": [open(json!({})), {"properties": {"b": {}}}]}),
        json!({"type": "object", "$defs": {"part": open(json!({}))}}),
    ] {
        assert_eq!(check(&parameters), Ok(()), "{parameters}");
        assert!(ToolSpec::new("t", "T.", parameters.clone()).is_ok(), "{parameters}");
    }
}
