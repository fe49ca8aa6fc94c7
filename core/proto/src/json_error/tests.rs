//! Each of the parser's texts that a user can meet, in plain words and with its place.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::words;
use crate::message::UserMessage;
use crate::usage::Usage;

/// What is wrong, as a text.
fn read_value<T: DeserializeOwned>(value: &Value) -> Result<T, String> {
    super::read_value(value).map_err(String::from)
}

#[derive(Debug, Deserialize)]
#[serde(rename = "strict", deny_unknown_fields)]
#[allow(dead_code)] // only read
struct Sample {
    name: String,
    #[serde(default)]
    count: u32,
    #[serde(default)]
    signed: i64,
    #[serde(default)]
    share: f64,
    #[serde(default)]
    is_on: bool,
    #[serde(default)]
    level: Option<Level>,
    #[serde(default)]
    parts: Vec<Part>,
    #[serde(default)]
    any: Value,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Level {
    Low,
    High,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[allow(dead_code)] // only read
enum Part {
    Text { text: String },
}

#[test]
fn found_p6_a_wrong_value_is_named_with_its_place() {
    for (value, text) in [
        (json!(7), "expected an object, got 7"),
        (json!({}), "name is missing"),
        (json!({ "name": 7 }), "name: expected text, got 7"),
        (json!({ "name": null }), "name: expected text, got null"),
        (json!({ "name": "x", "count": -1 }), "count: expected a whole number of at least 0, got -1"),
        (json!({ "count": "a, expected b", "name": "x" }), "count: expected a whole number of at least 0, got \"a, expected b\""),
        (json!({ "name": "x", "signed": 1.5 }), "signed: expected a whole number, got 1.5"),
        (json!({ "name": "x", "share": {} }), "share: expected a number, got an object"),
        (json!({ "any": [{}], "name": "x", "is_on": [] }), "is_on: expected true or false, got an array"),
        (json!({ "name": "x", "level": "lo" }), "level: unknown value \"lo\"; did you mean \"low\"?"),
        (json!({ "name": "x", "level": "medium" }), "level: unknown value \"medium\"; known are low, high"),
        (json!({ "name": "x", "parts": {} }), "parts: expected an array, got an object"),
        (json!({ "name": "x", "parts": ["hi"] }), "parts[0]: expected an object, got \"hi\""),
        (json!({ "name": "x", "parts": [{ "type": "text", "text": "" }, { "type": "text" }] }), "parts[1]: text is missing"),
        (json!({ "nam": "x" }), "unknown field \"nam\"; did you mean \"name\"?"),
    ] {
        assert_eq!(read_value::<Sample>(&value).unwrap_err(), text, "{value}");
    }
    // Two that are wrong: the first one of the type's fields.
    assert!(read_value::<Sample>(&json!({ "name": "x", "is_on": 1, "share": "" })).unwrap_err().starts_with("share: "));
    assert_eq!(
        read_value::<Usage>(&json!({ "input": 1, "output": "many" })).unwrap_err(),
        "output: expected a number of tokens, got \"many\""
    );
    // A text that names its place itself.
    assert_eq!(
        read_value::<UserMessage>(&json!({ "content": [{ "type": "text" }] })).unwrap_err(),
        "content[0]: text block: text is missing"
    );
    // In a variant that a field names, it is not looked for where that would copy much.
    let large = |size: usize| json!({ "any": "y".repeat(size), "name": "x", "parts": [{ "type": "text", "text": 1 }] });
    assert!(read_value::<Sample>(&large(4_000_000)).unwrap_err().starts_with("parts[0]: text: expected text, got 1"));
    assert!(read_value::<Sample>(&large(4_200_000)).unwrap_err().starts_with("parts[0]: expected text, got 1"));
    let long = read_value::<Sample>(&json!({ "name": "x", "count": "y".repeat(100_000) })).unwrap_err();
    assert!(long.len() < 300 && long.ends_with('…'), "{} bytes", long.len());
}

#[test]
fn found_p6_broken_json_is_described_without_the_parser_s_words() {
    for (text, wanted) in [
        ("", "it is empty"),
        ("{", "it ends in the middle of an object (line 1, column 1)"),
        ("[1,", "it ends where a value is expected (line 1, column 3)"),
        ("[1", "it ends in the middle of an array (line 1, column 2)"),
        ("\"a", "it ends in the middle of a text (line 1, column 2)"),
        ("{\"a\" 1}", "expected a colon between a name and its value (line 1, column 6)"),
        ("{\"a\": 1 2}", "expected a comma or the end of the object (line 1, column 9)"),
        ("[1 2]", "expected a comma or the end of the array (line 1, column 4)"),
        ("[1,]", "there is a comma after the last value; leave it out (line 1, column 4)"),
        ("{a: 1}", "expected a name in double quotes (line 1, column 2)"),
        ("[nil]", "expected true, false or null (line 1, column 3)"),
        ("1\n2", "there is more after the end of the JSON; give one value (line 2, column 1)"),
        ("[01]", "this is not a number as JSON writes it (line 1, column 3)"),
        ("[1e999]", "the number is too large (line 1, column 6)"),
    ] {
        let error = serde_json::from_str::<Value>(text).unwrap_err();
        assert_eq!(words(&error), wanted, "{text}: {error}");
    }
    for text in ["{a", "[,", "\"\\q\"", "\"\n\"", "\"\\ud83d\"", &"[".repeat(1000), "[1.]", "tru"] {
        let said = words(&serde_json::from_str::<Value>(text).unwrap_err());
        for jargon in ["EOF", "parsing", "key must", "ident", "recursion", "surrogate", "`", "invalid"] {
            assert!(!said.contains(jargon), "{text:.20}: {said}");
        }
    }
}
