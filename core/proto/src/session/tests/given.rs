//! Records that an application gives as JSON.

use super::super::kinds::KINDS;
use super::*;

#[test]
fn a_record_of_each_kind_is_read_as_it_was_written() {
    for (seq, record) in (1..).zip(all_kinds()) {
        let entry = Entry { seq, at: 7, record };
        let written = serde_json::to_value(&entry).unwrap();
        assert_eq!((&written["seq"], &written["at"]), (&json!(seq), &json!(7)));
        assert_eq!(JournalRecord::given(written).unwrap(), entry.record);
    }
}

#[test]
fn the_fields_of_each_kind_are_known() {
    let mut written: Vec<(String, Vec<String>)> = Vec::new();
    for record in all_kinds() {
        let mut fields = object(serde_json::to_value(record).unwrap());
        let kind = fields.remove("kind").unwrap().as_str().unwrap().to_owned();
        let known = KINDS.iter().find(|(word, _)| *word == kind).unwrap().1;
        assert!(fields.keys().all(|name| known.contains(&&**name)), "{kind}: {fields:?}");
        written.push((kind, fields.keys().cloned().collect()));
    }
    for (word, known) in KINDS {
        let fields: Vec<&String> = written.iter().filter(|(kind, _)| kind == word).flat_map(|(_, fields)| fields).collect();
        assert!(written.iter().any(|(kind, _)| kind == word), "{word}");
        assert!(known.iter().all(|name| fields.iter().any(|field| field == name)), "{word}: {fields:?}");
    }
}

#[test]
fn a_wrong_record_is_refused_with_its_place() {
    let wrong = |value| JournalRecord::given(value).unwrap_err().to_string();
    assert_eq!(wrong(json!(1)), r#"expected a record such as {"kind": "message", "message": {…}}, got 1"#);
    assert_eq!(wrong(json!({})), r#"kind is missing; a record is {"kind": "message", "message": {…}}, for example"#);
    assert_eq!(wrong(json!({ "kind": 1 })), "kind: expected text, got 1");
    assert_eq!(wrong(json!({ "kind": "mesage" })), r#"unknown kind "mesage"; did you mean "message"?"#);
    assert_eq!(wrong(json!({ "kind": "info", "tilte": "a" })), r#"info: unknown field "tilte"; did you mean "title"?"#);
    assert_eq!(wrong(json!({ "kind": "message" })), "message: message is missing");
    let queued = json!({ "kind": "queued", "queue": "steer", "number": 1, "message": { "role": "user", "content": "a" } });
    assert_eq!(wrong(queued), r#"queued: queue: unknown value "steer"; known are steering, follow_up"#);
    assert_eq!(wrong(json!({ "kind": "info", "title": 1 })), "info: title: expected text, got 1");
}
