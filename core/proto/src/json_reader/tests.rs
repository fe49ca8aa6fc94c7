//! What this reader has in common with serde_json's, and where it is stricter.

use std::collections::BTreeMap;
use std::fmt::Debug;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::{from_text, from_value};

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
