//! What this reader has in common with serde_json's, and where it is stricter.

use std::collections::BTreeMap;
use std::fmt::Debug;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::{from_tagged, from_text, from_value};

#[derive(Debug, PartialEq, Deserialize)]
struct Named {
    count: u32,
    #[serde(default)]
    ratio: Option<f64>,
    #[serde(rename = "small")]
    below_zero: i8,
    pair: (bool, char),
    #[serde(default)]
    any: Value,
    #[serde(default)]
    map: Map<String, Value>,
    #[serde(default)]
    by_number: BTreeMap<u32, Vec<String>>,
    #[serde(default)]
    by_word: BTreeMap<Word, u64>,
    nothing: (),
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Word {
    Here,
    There,
}

#[derive(Debug, PartialEq, Deserialize)]
struct Wrapped(Box<u16>);

#[derive(Debug, PartialEq, Deserialize)]
struct Two(i64, String);

#[derive(Debug, PartialEq, Deserialize)]
enum Shape {
    Empty,
    One(Two),
    Both(i64, String),
    Named { word: Word },
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Tagged {
    Text { text: String },
    Number(Inner),
}

#[derive(Debug, PartialEq, Deserialize)]
struct Inner {
    #[serde(flatten)]
    wrapped: BTreeMap<String, Wrapped>,
}

/// Both readers give the same value, or the same error.
fn same<T: DeserializeOwned + Debug + PartialEq>(value: Value) -> Result<T, String> {
    let theirs = serde_json::from_value::<T>(value.clone()).map_err(|error| error.to_string());
    let ours = from_value::<T>(&value).map_err(|error| error.to_string());
    assert_eq!(ours, theirs, "{value}");
    ours
}

/// Both readers give the same value, or refuse it: of an enum's variants the texts differ.
fn alike<T: DeserializeOwned + Debug + PartialEq>(value: Value) {
    assert_eq!(from_value::<T>(&value).ok(), serde_json::from_value::<T>(value.clone()).ok(), "{value}");
}

fn whole() -> Value {
    json!({
        "count": 7, "ratio": 0.5, "small": -3, "pair": [true, "x"], "any": {"a": [1, null, "t", 1.5, -2, {}]},
        "map": {"b": {"c": false}}, "by_number": {"3": ["a"], "12": []}, "by_word": {"here": 1, "there": 2}, "nothing": null,
        "unknown": [{"is": "left out"}],
    })
}

#[test]
fn reads_as_serde_json_reads() {
    let read = same::<Named>(whole()).unwrap();
    assert_eq!(read.by_number[&12], Vec::<String>::new());
    assert_eq!(read.by_word[&Word::There], 2);
    assert_eq!(read.any, whole()["any"]);
    assert_eq!(same::<Wrapped>(json!(5)).unwrap(), Wrapped(Box::new(5)));
    assert_eq!(same::<Two>(json!([-1, "b"])).unwrap(), Two(-1, "b".to_owned()));
    assert_eq!(same::<Shape>(json!("Empty")).unwrap(), Shape::Empty);
    assert_eq!(same::<Shape>(json!({"Empty": null})).unwrap(), Shape::Empty);
    assert_eq!(same::<Shape>(json!({"One": [1, "c"]})).unwrap(), Shape::One(Two(1, "c".to_owned())));
    assert_eq!(same::<Shape>(json!({"Both": [1, "c"]})).unwrap(), Shape::Both(1, "c".to_owned()));
    assert_eq!(same::<Shape>(json!({"Named": {"word": "here"}})).unwrap(), Shape::Named { word: Word::Here });
    assert_eq!(same::<Tagged>(json!({"type": "text", "text": "d"})).unwrap(), Tagged::Text { text: "d".to_owned() });
    let inner = Inner { wrapped: BTreeMap::from([("one".to_owned(), Wrapped(Box::new(1)))]) };
    assert_eq!(same::<Tagged>(json!({"one": 1, "type": "number"})).unwrap(), Tagged::Number(inner));
}

#[test]
fn refuses_in_the_words_of_serde_json() {
    let wrong = [json!(null), json!(true), json!(-1), json!(u64::MAX), json!(1.5), json!("x"), json!({"x": 1}), json!([[]])];
    for name in ["count", "ratio", "small", "pair", "map", "by_number", "by_word", "nothing"] {
        // serde_json has words of its own for a key that is no number.
        for value in wrong.iter().filter(|value| name != "by_number" || !value.is_object()) {
            let mut given = whole();
            given[name] = value.clone();
            let _ = same::<Named>(given);
        }
        let mut given = whole();
        given.as_object_mut().unwrap().shift_remove(name);
        let _ = same::<Named>(given);
    }
    for value in wrong {
        for given in
            [value.clone(), json!({"One": value}), json!({"Both": value}), json!({"Named": value}), json!({"Empty": value})]
        {
            if !given["Named"].is_array() {
                alike::<Shape>(given);
            }
        }
        let _ = same::<Tagged>(json!({"type": "text", "text": value}));
    }
    for given in [json!("One"), json!("Named"), json!("Both"), json!("Other"), json!({"Empty": null, "One": [1, ""]}), json!({})]
    {
        assert!(from_value::<Shape>(&given).is_err(), "{given}");
    }
    assert!(same::<(u8, u8)>(json!([1, 2, 3])).is_err());
    assert!(same::<(u8, u8)>(json!([1])).is_err());
    assert!(same::<Tagged>(json!({"text": "no type"})).is_err());
}

#[test]
fn takes_no_struct_from_an_array() {
    #[derive(Debug, Deserialize)]
    struct Point {
        #[allow(dead_code, reason = "only whether it is read matters")]
        x: u8,
    }
    assert!(serde_json::from_value::<Point>(json!([1])).is_ok());
    let error = from_value::<Point>(&json!([1])).unwrap_err();
    assert_eq!(error.to_string(), "invalid type: sequence, expected struct Point");
    assert_eq!(from_value::<Point>(&json!({"x": 1})).unwrap().x, 1);
}

#[test]
fn names_the_place_in_a_text_that_is_no_json() {
    let error = from_text::<Value>(b"{\"a\":\n 1,}").unwrap_err();
    assert_eq!((error.line(), error.column()), (2, 4), "{error}");
    let error = from_text::<Value>(b"\"\xff\"").unwrap_err();
    assert_eq!(error.to_string(), "invalid utf-8 sequence of 1 bytes from index 1");
    assert_eq!(from_text::<Vec<u8>>(b"[1, 2]").unwrap(), [1, 2]);
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(rename = "strict", deny_unknown_fields)]
struct Strict {
    one: u8,
    #[serde(default)]
    two: Option<u8>,
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(rename = "strict", rename_all = "snake_case", deny_unknown_fields)]
enum Input {
    Abort {},
    Stop,
    Steer {
        text: String,
        #[serde(default)]
        times: u8,
    },
}

#[test]
fn refuses_unknown_fields_of_types_that_do() {
    assert_eq!(same::<Strict>(json!({"two": 2, "one": 1})).unwrap(), Strict { one: 1, two: Some(2) });
    assert_eq!(same::<Strict>(json!({"one": 1})).unwrap(), Strict { one: 1, two: None });
    assert!(same::<Strict>(json!({"one": 1, "three": 3})).is_err());
    assert!(same::<Input>(json!({"steer": {"text": "x", "three": 3}})).is_err());
    assert!(same::<Input>(json!({"abort": {"three": 3}})).is_err());
}

#[test]
fn a_field_that_is_missing_is_nothing_or_its_default_or_an_error() {
    fn seven() -> u8 {
        7
    }
    #[derive(Debug, PartialEq, Default, Deserialize)]
    struct Inner {
        any: Option<Value>,
        #[serde(default = "seven")]
        seven: u8,
        #[serde(skip)]
        left_out: u8,
        #[serde(default)]
        unit: (),
        #[serde(default)]
        value: Value,
    }
    #[derive(Debug, PartialEq, Deserialize)]
    struct Outer {
        first: Option<Inner>,
        #[serde(default)]
        second: Inner,
        last: Value,
    }
    same::<Outer>(json!({"last": null})).unwrap();
    same::<Outer>(json!({"last": 1, "second": {"seven": 1}, "first": {}})).unwrap();
    assert_eq!(same::<Outer>(json!({"first": {}})).unwrap_err(), "missing field `last`");
    assert_eq!(
        same::<Outer>(json!({"first": {"seven": "x"}, "last": 1})).unwrap_err(),
        "invalid type: string \"x\", expected u8"
    );
    assert_eq!(same::<Vec<Outer>>(json!([{"last": null}, {}])).unwrap_err(), "missing field `last`");
}

#[test]
fn reads_an_enum_whose_variant_a_field_names() {
    let read = |value: Value| from_tagged::<Input>(&value, "type").map_err(|error| error.to_string());
    assert_eq!(read(json!({"text": "x", "type": "steer"})), Ok(Input::Steer { text: "x".to_owned(), times: 0 }));
    assert_eq!(read(json!({"type": "abort"})), Ok(Input::Abort {}));
    assert_eq!(read(json!({"type": "stop"})), Ok(Input::Stop));
    for (value, why) in [
        (json!({"type": "steer"}), "missing field `text`"),
        (json!({"text": "x"}), "missing field `type`"),
        (json!({"type": 1}), "invalid type: integer `1`, expected a string"),
        (json!({"type": "walk"}), "unknown variant `walk`, expected one of `abort`, `stop`, `steer`"),
        (json!({"type": "steer", "text": "x", "to": 1}), "unknown field `to`, expected `text` or `times`"),
        (json!({"type": "abort", "to": 1}), "unknown field `to`, there are no fields"),
        (json!({"type": "stop", "to": 1}), "unknown field `to`, there are no fields"),
        (json!("stop"), "invalid type: string \"stop\", expected enum Input"),
    ] {
        assert_eq!(read(value).unwrap_err(), why);
    }
}

#[test]
fn each_type_that_refuses_unknown_fields_says_so_by_its_name() {
    fn check(folder: &std::path::Path, seen: &mut usize) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                check(&path, seen);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                let text = std::fs::read_to_string(&path).unwrap();
                for line in text.lines().filter(|line| line.trim_start().starts_with("#[serde(")) {
                    if line.contains("deny_unknown_fields") {
                        assert!(line.contains("rename = \"strict\""), "{}: {line}", path.display());
                        *seen += 1;
                    }
                }
            }
        }
    }
    let mut seen = 0;
    check(std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/..")), &mut seen);
    assert!(seen > 15, "{seen}");
}
