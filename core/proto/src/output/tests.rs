use serde_json::json;

use super::*;

fn spec(schema: Value) -> OutputSpec {
    OutputSpec::new(schema).unwrap()
}

fn city() -> Value {
    let properties = json!({ "city": { "type": "string" }, "rain": { "type": "number" } });
    json!({ "type": "object", "properties": properties, "required": ["city"] })
}

#[test]
fn a_schema_alone_and_an_object_with_one_are_read() {
    let alone = OutputSpec::from_json(city()).unwrap();
    assert_eq!((alone.name(), alone.mode(), alone.is_or_text()), ("final_answer", OutputMode::Auto, false));
    assert_eq!(*alone.schema(), city());
    let given = json!({ "schema": city(), "name": "place", "description": "Where.", "mode": "tool", "or_text": true });
    let whole = OutputSpec::from_json(given.clone()).unwrap();
    assert_eq!((whole.name(), whole.mode(), whole.is_or_text()), ("place", OutputMode::Tool, true));
    assert_eq!(whole.format().description, "Where.");
    assert_eq!(serde_json::to_value(&whole).unwrap(), given);
    assert_eq!(serde_json::from_value::<OutputSpec>(given).unwrap(), whole);
    assert_ne!(alone, whole);
    let camel = json!({ "schema": city(), "orText": true });
    assert!(serde_json::from_value::<OutputSpec>(camel).unwrap().is_or_text());
}

#[test]
fn what_is_no_type_is_refused() {
    for (given, wrong) in [
        (json!("text"), "output: expected a JSON Schema, got \"text\""),
        (json!({ "type": "strin" }), "output: schema is not a JSON Schema: "),
        (json!({ "schema": {}, "nam": "x" }), "output: unknown field \"nam\"; did you mean \"name\"?"),
        (json!({ "schema": {}, "mode": "json" }), "output: mode: expected \"auto\", \"native\" or \"tool\", got \"json\""),
        (json!({ "schema": {}, "or_text": 1 }), "output: or_text: expected true or false, got 1"),
        (json!({ "schema": {}, "name": "a b" }), "output: name \"a b\": use 1 to 64 letters"),
        (json!({ "schema": {}, "mode": "native", "or_text": true }), "output: a model that is held to a form cannot answer"),
        (json!({ "schema": 1 }), "output: schema is not a JSON Schema"),
    ] {
        let error = OutputSpec::from_json(given).unwrap_err();
        assert!(error.message().starts_with(wrong), "{}", error.message());
    }
}

#[test]
fn what_is_no_object_stands_in_one() {
    let list = spec(json!({ "type": "array", "items": { "type": "integer" } }));
    let sent = json!({
        "type": "object",
        "properties": { "result": { "type": "array", "items": { "type": "integer" } } },
        "required": ["result"],
        "additionalProperties": false,
    });
    assert_eq!(*list.format().schema, sent);
    let arguments = |value: Value| value.as_object().unwrap().clone();
    let of = |given| list.of_arguments(&arguments(given), Validation::Coerce);
    assert_eq!(of(json!({ "result": [1, "2"] })), Ok(json!([1, 2])));
    assert!(of(json!({ "result": "x" })).unwrap_err().starts_with("/result: "));
    assert_eq!(of(json!({})), Err("/result: is required".to_owned()));
    assert_eq!(list.of_arguments(&arguments(json!({})), Validation::Off), Err("/result: is required".to_owned()));
}

#[test]
fn references_stay_what_they_were() {
    let node = json!({
        "$defs": { "Node": {
            "type": "object",
            "properties": { "next": { "anyOf": [{ "$ref": "#/$defs/Node" }, { "type": "null" }] } },
            "required": ["next"],
        } },
        "$ref": "#/$defs/Node",
    });
    let node = spec(node);
    assert_eq!(
        node.of_text(r#"{"result": {"next": {"next": null}}}"#, Validation::Strict),
        Ok(json!({ "next": { "next": null } }))
    );
    assert!(node.of_text(r#"{"result": {"next": {"next": 1}}}"#, Validation::Strict).is_err());
    let list = spec(json!({ "type": ["array", "null"], "items": { "$ref": "#" } }));
    assert_eq!(list.of_text("[[], null, [[]]]", Validation::Strict), Ok(json!([[], null, [[]]])));
    assert!(list.of_text("[[1]]", Validation::Strict).unwrap_err().contains("/result/0/0"));
}

#[test]
fn text_is_read_as_json_with_or_without_a_fence() {
    let city = spec(city());
    let of = |text: &str| city.of_text(text, Validation::Coerce);
    let oslo = Ok(json!({ "city": "Oslo" }));
    assert_eq!(of("{\"city\": \"Oslo\"}"), oslo);
    assert_eq!(of("\n```json\n{\"city\": \"Oslo\"}\n```\n"), oslo);
    assert_eq!(of("Here it is: {\"city\": \"Oslo\"}"), Err("the answer is not JSON, or not JSON alone".to_owned()));
    assert_eq!(of(" "), Err("the answer is empty".to_owned()));
    assert_eq!(of("[1]"), Err("the answer is not a JSON object, but [1]".to_owned()));
    assert_eq!(of("{\"rain\": 1}"), Err("the answer does not fit its JSON Schema:\n/city: is required".to_owned()));
    // Without the object around it, too.
    let number = spec(json!({ "type": "integer" }));
    assert_eq!(number.of_text("7", Validation::Coerce), Ok(json!(7)));
    assert_eq!(number.of_text("{\"result\": 7}", Validation::Coerce), Ok(json!(7)));
}

#[test]
fn an_answer_is_read_while_it_is_written() {
    let city = PartialOutput::new(&spec(city()), false);
    assert_eq!(city.read(""), None);
    assert_eq!(city.read("```json\n{\"city\": \"Os"), Some(json!({ "city": "Os" })));
    let list = PartialOutput::new(&spec(json!({ "type": "array" })), true);
    assert_eq!(list.tool(), Some("final_answer"));
    assert_eq!(list.read("{\"res"), None);
    assert_eq!(list.read("{\"result\": [1, 2, 3"), Some(json!([1, 2])));
}
