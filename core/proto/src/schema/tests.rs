//! Schemas and arguments of our own, and the official suite of JSON Schema where it is at hand.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jsonschema::error::ValidationErrorKind;
use serde_json::{Map, Value, json};

use super::{Schema, Validation, validator};

fn checked(schema: &Value, arguments: Value, how: Validation) -> Result<Value, String> {
    let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
    Schema::new(schema.clone().into()).unwrap_or_else(|why| panic!("{schema}: {why}")).check(&arguments, how).map(Value::Object)
}

fn of(property: Value) -> Value {
    json!({"type": "object", "properties": {"x": property}})
}

/// Where, what was wrong, and what was expected.
#[test]
fn a_violation_says_what_was_expected() {
    for (property, x, line) in [
        (json!({"type": "integer"}), json!("two"), r#"/x: "two" is not of type "integer""#),
        (json!({"type": ["integer", "null"]}), json!("two"), r#"/x: "two" is not of types "null", "integer""#),
        (json!({"enum": ["celsius", "kelvin"]}), json!("C"), r#"/x: "C" is not one of "celsius" or "kelvin""#),
        (json!({"const": 1}), json!(2), "/x: 1 was expected"),
        (json!({"minimum": 3}), json!(2), "/x: 2 is less than the minimum of 3"),
        (json!({"multipleOf": 0.1}), json!(0.25), "/x: 0.25 is not a multiple of 0.1"),
        (json!({"maxLength": 2}), json!("abc"), r#"/x: "abc" is longer than 2 characters"#),
        (json!({"minItems": 1}), json!([]), "/x: [] has less than 1 item"),
        (json!({"items": {"type": "string"}}), json!(["a", 1]), r#"/x/1: 1 is not of type "string""#),
        (json!({"pattern": "^[a-z]+$"}), json!("A"), r#"/x: "A" does not match "^[a-z]+$""#),
        (json!({"required": ["y"]}), json!({}), "/x/y: is required"),
        (json!({"properties": {"y": {}}, "additionalProperties": false}), json!({"z": 1}), "/x/z: is not a parameter"),
    ] {
        assert_eq!(checked(&of(property.clone()), json!({ "x": x }), Validation::Strict), Err(line.to_owned()), "{property}");
    }
}

/// The model has to know which name was wrong, whatever keyword forbids it.
#[test]
fn a_property_that_is_not_allowed_is_named() {
    let closed = |properties: Value| json!({"type": "object", "properties": properties, "additionalProperties": false});
    let without_any = json!({"type": "object", "additionalProperties": false});
    let patterns = json!({"type": "object", "patternProperties": {"^x-": {}}, "additionalProperties": false});
    let unevaluated = json!({"type": "object", "properties": {"a": {}}, "unevaluatedProperties": false});
    let (b, both) = ("/b: is not a parameter", "/a: is not a parameter\n/b: is not a parameter");
    for (schema, arguments, lines) in [
        (closed(json!({"a": {}})), json!({"a": 1, "b": 2}), b),
        (closed(json!({})), json!({"a": 1, "b": 2}), both),
        (without_any.clone(), json!({"a": 1, "b": 2}), both),
        (patterns, json!({"x-a": 1, "b": 2}), b),
        (unevaluated, json!({"a": 1, "b": 2}), b),
        (of(without_any), json!({"x": {"y": 1}}), "/x/y: is not a parameter"),
        (of(json!(false)), json!({"x": 1}), "/x: is not a parameter"),
    ] {
        assert_eq!(checked(&schema, arguments, Validation::Coerce), Err(lines.to_owned()), "{schema}");
    }
}

#[test]
fn a_schema_may_refer_to_its_own_parts_in_the_way_of_its_draft() {
    let later = json!({"type": "object", "$defs": {"n": {"type": "integer"}}, "properties": {"x": {"$ref": "#/$defs/n"}}});
    let draft_7 = json!({
        "$schema": "http://json-schema.org/draft-07/schema#", "type": "object",
        "definitions": {"n": {"type": "integer"}}, "properties": {"x": {"$ref": "#/definitions/n"}},
    });
    for schema in [later, draft_7] {
        assert_eq!(checked(&schema, json!({"x": "5"}), Validation::Coerce), Ok(json!({"x": 5})), "{schema}");
        assert!(checked(&schema, json!({"x": "5"}), Validation::Strict).is_err(), "{schema}");
    }
    let tree = json!({"type": "object", "properties": {"child": {"$ref": "#"}}, "additionalProperties": false});
    let wrong = checked(&tree, json!({"child": {"child": {"kid": 1}}}), Validation::Strict);
    assert_eq!(wrong, Err("/child/child/kid: is not a parameter".to_owned()));
}

/// An array of a fixed form was `items` before draft 2020-12, and is `prefixItems` since.
#[test]
fn the_draft_that_a_schema_names_decides() {
    let pair = json!([{"type": "integer"}, {"type": "string"}]);
    let mut draft_7 = of(json!({"items": pair}));
    draft_7["$schema"] = json!("http://json-schema.org/draft-07/schema#");
    for schema in [of(json!({"prefixItems": pair})), draft_7] {
        assert_eq!(checked(&schema, json!({"x": [1, "a"]}), Validation::Strict), Ok(json!({"x": [1, "a"]})), "{schema}");
        assert!(checked(&schema, json!({"x": ["a", 1]}), Validation::Strict).is_err(), "{schema}");
    }
    assert!(Schema::new(of(json!({"items": pair})).into()).is_err());
}

/// What generators of schemas write for an email address looks ahead, which most fast engines cannot.
#[test]
fn a_pattern_may_look_ahead_and_ends_in_time() {
    let email = of(json!({"type": "string", "pattern": r"^(?!\.)(?!.*\.\.)[A-Za-z0-9_'+\-.]*[A-Za-z0-9_+-]@[a-z]+\.[a-z]{2,}$"}));
    assert!(checked(&email, json!({"x": "a.b@example.com"}), Validation::Strict).is_ok());
    assert!(checked(&email, json!({"x": "a..b@example.com"}), Validation::Strict).is_err());

    let costly = of(json!({"pattern": r"^(a+)+$"}));
    assert!(checked(&costly, json!({"x": format!("{}!", "a".repeat(10_000))}), Validation::Strict).is_err());
    let endless = of(json!({"pattern": r"^(a|a)*\1b$"}));
    assert!(checked(&endless, json!({"x": "a".repeat(40)}), Validation::Strict).is_err(), "given up");
}

#[test]
fn nothing_is_fetched() {
    for address in ["https://example.com/n.json", "file:///etc/hostname"] {
        let why = Schema::new(of(json!({"$ref": address})).into()).unwrap_err();
        assert!(why.contains(address), "{why}");
    }
}

/// Required and optional cases of both drafts must come out as the suite says, but for schemas that refer to documents at other
/// addresses, which are refused. Formats are counted only: not all are checked.
#[test]
fn the_official_suite() {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../JSON-Schema-Test-Suite/tests");
    if !beside.is_dir() {
        println!("skipped: https://github.com/json-schema-org/JSON-Schema-Test-Suite is not beside this repository");
        return;
    }
    for (draft, address) in
        [("draft2020-12", "https://json-schema.org/draft/2020-12/schema"), ("draft7", "http://json-schema.org/draft-07/schema#")]
    {
        let mut wrong = Vec::new();
        for part in ["", "optional", "optional/format"] {
            let mut count = Count::default();
            let mut files: Vec<PathBuf> =
                fs::read_dir(beside.join(draft).join(part)).unwrap().map(|f| f.unwrap().path()).collect();
            files.sort();
            for file in files.iter().filter(|file| file.extension().is_some_and(|kind| kind == "json")) {
                let groups: Vec<Map<String, Value>> = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
                groups.iter().for_each(|group| count.group(group, address, file, &mut wrong));
            }
            if part == "optional/format" {
                wrong.clear();
            }
            println!("{draft}/{part}: {count:?}");
            assert!(wrong.is_empty() && count.passed > 0, "{wrong:#?}");
        }
    }
}

#[derive(Debug, Default)]
struct Count {
    cases: usize,
    passed: usize,
    refused: usize,
}

impl Count {
    fn group(&mut self, group: &Map<String, Value>, draft: &str, file: &Path, wrong: &mut Vec<String>) {
        let mut schema = group["schema"].clone();
        if let Value::Object(schema) = &mut schema {
            schema.entry("$schema").or_insert_with(|| draft.into());
        }
        let validator = validator(&schema);
        for case in group["tests"].as_array().unwrap() {
            self.cases += 1;
            match &validator {
                Ok(validator) if validator.is_valid(&case["data"]) == (case["valid"] == true) => self.passed += 1,
                Err(error) if matches!(error.kind(), ValidationErrorKind::Referencing(_)) => self.refused += 1,
                result => wrong.push(format!(
                    "{}: {}: {}: {:?}",
                    file.display(),
                    group["description"],
                    case["description"],
                    result.as_ref().map(|_| "wrong")
                )),
            }
        }
    }
}

#[test]
fn found_a18_what_a_schema_refuses_altogether_is_said_in_words() {
    let said = |schema: Value, arguments: Value| {
        let schema = Schema::new(Arc::new(schema)).unwrap();
        schema.check(arguments.as_object().unwrap(), Validation::Coerce).unwrap_err()
    };
    let of_type = |properties: Value| json!({ "type": "object", "properties": properties });
    assert_eq!(said(of_type(json!({ "a": false })), json!({ "a": 1 })), "/a: is not a parameter");
    assert_eq!(said(of_type(json!({ "a": { "items": false } })), json!({ "a": [1] })), "/a/0: no item is allowed here");
    let pairs = json!({ "a": { "prefixItems": [true], "items": false } });
    assert_eq!(said(of_type(pairs), json!({ "a": [1, 2] })), "/a/1: no item is allowed here");
    let none = json!({ "type": "object", "allOf": [false] });
    assert_eq!(said(none, json!({ "a": 1 })), "(the arguments): the schema of the tool allows none");
}

/// What is reported is what the conversions leave.
#[test]
fn found_e12_what_is_left_after_coercion_is_reported() {
    let schema = |properties: Value| json!({"type": "object", "properties": properties});
    let coerced = |properties: Value, arguments: Value| checked(&schema(properties), arguments, Validation::Coerce);
    let number = json!({"type": "number", "minimum": 1});
    let both = json!({"n": number, "f": {"type": "number"}});
    assert_eq!(coerced(both, json!({"n": "7", "f": "x"})).unwrap_err(), r#"/f: "x" is not of type "number""#);
    assert_eq!(coerced(json!({"n": number}), json!({"n": "0"})).unwrap_err(), "/n: 0 is less than the minimum of 1");
    assert_eq!(
        coerced(json!({"n": {"type": "integer"}}), json!({"n": "7.5"})).unwrap_err(),
        r#"/n: "7.5" is not of type "integer""#
    );
    // Strictly, nothing is converted.
    let strict = checked(&schema(json!({"n": number})), json!({"n": "7"}), Validation::Strict);
    assert_eq!(strict.unwrap_err(), r#"/n: "7" is not of type "number""#);
    // In the schema that can be meant, of several.
    let inner = json!({"type": "object", "properties": {"n": {"type": "integer"}, "f": {"type": "number"}}});
    for keyword in ["anyOf", "oneOf"] {
        let optional = json!({"m": {keyword: [{"type": "null"}, inner]}});
        assert_eq!(coerced(optional.clone(), json!({"m": {"n": "7"}})), Ok(json!({"m": {"n": 7}})));
        let wrong = coerced(optional, json!({"m": {"n": "7", "f": "x"}}));
        assert_eq!(wrong.unwrap_err(), r#"/m/f: "x" is not of type "number""#);
        let kinds = json!({"m": {keyword: [
            {"type": "object", "properties": {"kind": {"const": "a"}, "v": {"type": "integer"}}},
            {"type": "object", "properties": {"kind": {"enum": ["b"]}, "v": {"type": "string", "maxLength": 1}}},
        ]}});
        assert_eq!(coerced(kinds.clone(), json!({"m": {"kind": "a", "v": "7"}})), Ok(json!({"m": {"kind": "a", "v": 7}})));
        assert_eq!(coerced(kinds.clone(), json!({"m": {"kind": "b", "v": "7"}})), Ok(json!({"m": {"kind": "b", "v": "7"}})));
        assert_eq!(
            coerced(kinds, json!({"m": {"kind": "b", "v": "77"}})).unwrap_err(),
            r#"/m/v: "77" is longer than 1 character"#
        );
    }
}

#[test]
fn the_field_that_says_which_schema_is_meant_is_named() {
    let part = |kind: Value, field: &str| {
        let fields = json!({"kind": kind, field: {"type": "integer"}});
        json!({"type": "object", "properties": fields, "required": ["kind", field], "additionalProperties": false})
    };
    let (train, flight) = (part(json!({"const": "train"}), "number"), part(json!({"enum": ["flight"]}), "code"));
    let kinds = json!({"anyOf": [train, flight, {"type": "null"}]});
    let wrong = |by: Value| checked(&of(kinds.clone()), json!({ "x": by }), Validation::Coerce).unwrap_err();
    assert_eq!(wrong(json!({"kind": "bus", "number": 1})), r#"/x/kind: "bus" is not one of "train", "flight""#);
    assert_eq!(wrong(json!({"number": 1})), "/x/kind: is required");
    let with_id = |kind: &str| json!({"type": "object", "properties": {"kind": {"const": kind}}, "required": ["id", "kind"]});
    let all_need_an_id = json!({"anyOf": [with_id("train"), with_id("flight")]});
    let no_id = checked(&of(all_need_an_id), json!({"x": {"kind": "bus"}}), Validation::Coerce).unwrap_err();
    assert_eq!(no_id, r#"/x/kind: "bus" is not one of "train", "flight""#);
    assert_eq!(wrong(json!({"kind": "train"})), "/x/number: is required");
    // No field is wrong in both.
    let either = json!({"anyOf": [part(json!(true), "number"), part(json!(true), "code")]});
    let wrong = checked(&of(either), json!({"x": {"kind": 1}}), Validation::Coerce).unwrap_err();
    assert!(wrong.contains("not valid under any"), "{wrong}");
}

#[test]
fn found_e12_json_in_a_text_becomes_the_object_or_array_it_holds() {
    let inner = json!({"type": "object", "properties": {"n": {"type": "integer"}, "f": {"type": "string"}}, "required": ["n"]});
    let list = json!({"type": "array", "items": inner});
    let coerced = |property: &Value, x: &str| checked(&of(property.clone()), json!({ "x": x }), Validation::Coerce);
    let done = json!({"x": [{"n": 7, "f": "7"}]});
    for text in [r#"[{"n": 7, "f": "7"}]"#, r#" [{"n": "7", "f": "7"}] "#, r#"["{\"n\": \"7\", \"f\": \"7\"}"]"#] {
        for property in [&list, &json!({"anyOf": [list, {"type": "null"}]}), &json!({"type": ["array", "null"], "items": inner})]
        {
            assert_eq!(coerced(property, text), Ok(done.clone()), "{property}: {text}");
        }
        assert!(checked(&of(list.clone()), json!({ "x": text }), Validation::Strict).is_err());
    }
    assert_eq!(coerced(&inner, "{\"n\": 7, \"f\": \"two\nlines\"}"), Ok(json!({"x": {"n": 7, "f": "two\nlines"}})));
    // A text stays one where it may be one, or is not what is asked for.
    let text = json!({"type": ["string", "array"]});
    assert_eq!(coerced(&text, "[1]"), Ok(json!({"x": "[1]"})));
    for (property, x, line) in [
        (&list, "{}", r#"/x: "{}" is not of type "array""#),
        (&inner, "[", r#"/x: "[" is not of type "object""#),
        (&list, r#"[{"n": "x"}]"#, r#"/x/0/n: "x" is not of type "integer""#),
        (&inner, "{}", "/x/n: is required"),
        (&json!({"type": "null"}), "null", r#"/x: "null" is not of type "null""#),
    ] {
        assert_eq!(coerced(property, x).unwrap_err(), line);
    }
}

/// A schema whose `anyOf` doubles at each of these levels, all at one place of the value.
fn doubling(levels: usize) -> Value {
    let mut parts = serde_json::Map::new();
    for level in 1..=levels {
        let next = json!({"$ref": format!("#/$defs/d{}", level - 1)});
        parts.insert(format!("d{level}"), json!({"anyOf": [next, next]}));
    }
    parts.insert("d0".to_owned(), json!({"type": "integer"}));
    json!({"type": "object", "$defs": parts, "properties": {"x": {"$ref": format!("#/$defs/d{levels}")}}})
}

#[test]
fn found_a15_a_check_with_too_many_steps_is_not_begun() {
    for levels in [3, 10] {
        let wrong = checked(&doubling(levels), json!({"x": "a"}), Validation::Coerce).unwrap_err();
        assert!(wrong.starts_with("/x: \"a\" is not"), "{wrong}");
        assert_eq!(checked(&doubling(levels), json!({"x": "7"}), Validation::Coerce), Ok(json!({"x": 7})));
    }
    let wrong = checked(&doubling(18), json!({"x": "a"}), Validation::Coerce);
    assert_eq!(wrong, Err("something in them does not fit; they are too large to say what".to_owned()));
    assert_eq!(checked(&doubling(18), json!({"x": 7}), Validation::Coerce), Ok(json!({"x": 7})));
    for levels in [24, 60, 2000] {
        let why = Schema::new(doubling(levels).into()).unwrap_err();
        assert!(why.contains("too many steps"), "{why}");
    }
    // Going into the value, each level asks for two checks of the next.
    let node = json!({"$ref": "#/$defs/node"});
    let kind = |name: &str| json!({"kind": {"const": name}, "in": node});
    let part = |name: &str| json!({"type": "object", "properties": kind(name), "required": ["kind"]});
    let node = json!({"anyOf": [part("a"), part("b"), {"type": "integer"}]});
    let tree = json!({"type": "object", "$defs": {"node": node}, "properties": {"x": {"$ref": "#/$defs/node"}}});
    let nested = |levels| (0..levels).fold(json!("wrong"), |inner, _| json!({"kind": "a", "in": inner}));
    assert!(checked(&tree, json!({"x": nested(5)}), Validation::Coerce).unwrap_err().contains("/x"));
    for levels in [20, 60] {
        let wrong = checked(&tree, json!({"x": nested(levels)}), Validation::Coerce).unwrap_err();
        assert!(wrong.contains("too many steps") || wrong.contains("too large to say"), "{wrong}");
    }
}

#[test]
fn found_a15_a_schema_is_bounded_when_it_is_given() {
    let refused = |schema: Value| Schema::new(schema.into()).unwrap_err();
    for endless in [
        json!({"type": "object", "$ref": "#"}),
        json!({"type": "object", "$ref": "#/%61llOf/0", "allOf": [{"$ref": "#"}]}),
        json!({"type": "object", "$defs": {"a": {"$anchor": "a", "not": {"$ref": "#a"}}}}),
        json!({"type": "object", "$defs": {"a": {"$id": "http://h/a.json", "if": {"$ref": "a.json"}}}}),
    ] {
        let why = refused(endless.clone());
        assert!(why.contains("it refers to itself"), "{endless}: {why}");
    }
    let chain: serde_json::Map<String, Value> = (0..1000)
        .map(|i| (format!("c{i}"), json!({"$ref": format!("#/$defs/c{}", i + 1)})))
        .chain([("c1000".into(), json!({}))])
        .collect();
    assert!(refused(json!({"type": "object", "$defs": chain})).contains("too many steps"));
    let deep = (0..70).fold(json!({}), |inner, _| json!({"items": inner}));
    assert!(refused(json!({"type": "object", "properties": {"x": deep}})).contains(": it nests deeper than 64 levels"));
    let large: Vec<String> = (0..30_000).map(|i| format!("word {i}")).collect();
    assert!(refused(json!({"type": "object", "properties": {"x": {"enum": large}}})).ends_with("at most 256 KiB are taken"));
    let patterns: Vec<Value> = (0..40).map(|i| json!({"pattern": format!(r"^(\w{{100}}){{{}}}$", i + 1)})).collect();
    assert!(refused(json!({"type": "object", "anyOf": patterns})).contains("patterns are too large"));
}

/// What is allowed to be checked needs little stack: a thread of the host may have no more.
#[test]
#[expect(clippy::disallowed_types, reason = "the stack of a thread is what is tested")]
fn found_a15_a_check_needs_little_stack() {
    let branch = |op: &str| {
        let side = json!({"$ref": "#/$defs/expression"});
        json!({"type": "object", "properties": {"op": {"const": op}, "left": side, "right": side}, "required": ["op", "left"]})
    };
    let expression = json!({"oneOf": [branch("and"), {"type": "string"}]});
    let schema =
        json!({"type": "object", "$defs": {"expression": expression}, "properties": {"x": {"$ref": "#/$defs/expression"}}});
    let check = move || {
        let nested = |inner: Value| (0..60).fold(inner, |inner, _| json!({"op": "and", "left": inner}));
        assert!(checked(&schema, json!({"x": nested(json!("a"))}), Validation::Coerce).is_ok());
        assert!(checked(&schema, json!({"x": nested(json!(1))}), Validation::Coerce).is_err());
    };
    std::thread::Builder::new().stack_size(1 << 20).spawn(check).unwrap().join().unwrap();
}

#[test]
fn found_a15_a_pattern_that_steps_back_without_end_is_given_up() {
    let endless = of(json!({"items": {"pattern": r"^(a|a)*\1b$"}}));
    let list = vec!["a".repeat(60); 1000];
    let why = checked(&endless, json!({ "x": list }), Validation::Coerce).unwrap_err();
    assert!(why.contains("too many steps"), "{why}");
}

/// What real tools have stays possible.
#[test]
fn found_a15_large_arguments_are_checked() {
    let item = json!({"type": "object", "properties": {"id": {"type": "integer"}, "tags": {"type": "array", "items": {"anyOf": [
        {"type": "string", "pattern": "^[a-z]+$"}, {"type": "null"},
    ]}}}, "required": ["id"], "additionalProperties": false});
    let rows: Vec<Value> = (0..5_000).map(|i| json!({"id": i, "tags": ["a", null, "b"]})).collect();
    let schema = of(json!({"type": "array", "items": item}));
    assert_eq!(checked(&schema, json!({ "x": rows }), Validation::Coerce), Ok(json!({ "x": rows })));
}
