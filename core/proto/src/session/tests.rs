//! Records to lines and back, damage, and what comes of a journal.

mod damage;
mod folded;
mod given;

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::*;
use crate::error::{Error, ErrorKind};
use crate::gate::{Remembered, Rule};
use crate::message::{AssistantMessage, ContentBlock, Message, ToolCall, ToolResultMessage};
use crate::queues::Queue;
use crate::suspension::{StoredCall, SuspendedCall};
use crate::tool::ToolOutput;
use crate::usage::{Outcome, StopReason, Usage};

/// An object of these fields.
fn object(value: Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

/// An answer with these calls.
fn answer(text: &str, calls: &[&str]) -> Message {
    let call = |id: &&str| ContentBlock::ToolCall(ToolCall::new(*id, "add", object(json!({ "a": 1 }))));
    let content = std::iter::once(ContentBlock::text(text)).chain(calls.iter().map(call)).collect();
    let mut message = AssistantMessage::new(content);
    message.stop_reason = Some(if calls.is_empty() { StopReason::Stop } else { StopReason::ToolUse });
    Message::Assistant(message)
}

fn result(id: &str, text: &str) -> Message {
    Message::ToolResult(ToolResultMessage::new(id, "add", vec![ContentBlock::text(text)]))
}

fn start(id: &str) -> ToolStart {
    ToolStart::new(id, "add", Arc::new(object(json!({ "a": 2 }))), format!("s/1/{id}"))
}

/// What is remembered after one decision for always.
fn remembered(rule: &str) -> Remembered {
    let mut remembered = Remembered::default();
    remembered.allow(Rule::new(rule).unwrap());
    remembered
}

/// A call that waits for this reason.
fn waiting(id: &str, reason: &str) -> StoredCall {
    let ToolStart { tool_call_id, tool_name, arguments, idempotency_key } = start(id);
    let call =
        SuspendedCall { tool_call_id, tool_name, arguments, reason: reason.to_owned(), rule: String::new(), idempotency_key };
    StoredCall { call, is_checked: true }
}

/// One record of each kind, with all of its fields.
fn all_kinds() -> Vec<JournalRecord> {
    let mut first = SessionStart::new("s1", 5);
    first.forked_from = Some(ForkedFrom::new("s0", 7));
    let failed = RunEnd::new("run_1", Outcome::Error, Usage::new(3, 4), 2);
    vec![
        JournalRecord::Session(first),
        JournalRecord::RunStart(RunStart::new("run_1", RunOf::Decisions)),
        JournalRecord::message(answer("I add.\n\u{0}\u{2028}\"", &["call_1", "call_2"])),
        JournalRecord::Message(MessageRecord::answer(
            answer("Again.", &[]),
            Some(7),
            vec![Retried::new(6, 1, 500, Error::new(ErrorKind::Overloaded, "later"))],
        )),
        JournalRecord::Queued(Queued::new(Queue::Steering, 1, Message::user("stop", 9))),
        JournalRecord::Message(MessageRecord::of_queue(Message::user("stop", 9), Queue::Steering, 1)),
        JournalRecord::QueueCleared(QueueCleared::new(Queue::FollowUp, vec![3])),
        JournalRecord::ToolStart(start("call_1")),
        JournalRecord::ToolAnswer(ToolAnswer::new("call_1", ToolOutput::error("no"), true)),
        JournalRecord::HookDecision(HookDecision::new("before_tool_call", Some("call_2".into()), json!({ "block": true }))),
        JournalRecord::Suspended(Suspended::new(vec![waiting("call_2", "ask")])),
        JournalRecord::Decisions(Decisions::new(object(json!({ "call_2": "approve" })))),
        JournalRecord::Remembered(remembered("add({\"a\":2})")),
        JournalRecord::RunEnd(
            failed.with_error(Some(Error::new(ErrorKind::Timeout, "too long"))).with_output(Some(json!({ "city": "Oslo" }))),
        ),
        JournalRecord::Appended(Appended::new(vec![Arc::new(Message::user("a", 1))])),
        JournalRecord::Replaced(Replaced::new(Vec::new())),
        JournalRecord::Reset(Reset {}),
        JournalRecord::Info(Info::default().title("A title").metadata(object(json!({ "user": 7 })))),
    ]
}

#[test]
fn each_kind_is_read_as_it_was_written() {
    let mut kinds = std::collections::BTreeSet::new();
    for (seq, record) in (1..).zip(all_kinds()) {
        let line = encode(seq, 1_000 + seq, &record).unwrap();
        assert!(!line.contains('\n'), "{line}");
        let read = decode(line.as_bytes()).unwrap();
        assert_eq!(read, Entry { seq, at: 1_000 + seq, record: record.clone() });
        let json: Value = serde_json::from_str(&line).expect("a line is JSON");
        kinds.insert(json["kind"].as_str().unwrap().to_owned());
        // A variant that is added is a kind that this list has to have.
        match record {
            JournalRecord::Session(_)
            | JournalRecord::RunStart(_)
            | JournalRecord::Message(_)
            | JournalRecord::Queued(_)
            | JournalRecord::QueueCleared(_) => {}
            JournalRecord::ToolStart(_)
            | JournalRecord::ToolAnswer(_)
            | JournalRecord::HookDecision(_)
            | JournalRecord::Suspended(_) => {}
            JournalRecord::Decisions(_)
            | JournalRecord::Remembered(_)
            | JournalRecord::RunEnd(_)
            | JournalRecord::Appended(_)
            | JournalRecord::Replaced(_)
            | JournalRecord::Reset(_) => {}
            JournalRecord::Info(_) => {}
        }
    }
    assert_eq!(kinds.len(), 16);
}

#[test]
fn the_documentation_has_each_kind_with_its_fields() {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/journal.md")).unwrap();
    for record in all_kinds() {
        let json = serde_json::to_value(&record).unwrap();
        let kind = json["kind"].as_str().unwrap();
        let row = page.lines().find(|line| line.starts_with(&format!("| `{kind}` |"))).unwrap_or_else(|| panic!("{kind}"));
        for field in json.as_object().unwrap().keys().filter(|field| *field != "kind") {
            let given = [format!("`{field}`"), format!("`{field}?`")];
            assert!(given.iter().any(|given| row.contains(given)), "{kind}: {field}");
        }
    }
    assert!(page.contains(&format!("The version is {JOURNAL_VERSION}.")));
}

#[test]
fn a_line_has_this_form() {
    let record = JournalRecord::Queued(Queued::new(Queue::FollowUp, 2, Message::user("Später", 9)));
    let body = concat!(
        r#"{"seq":7,"at":1767225600000,"kind":"queued","queue":"follow_up","number":2,"#,
        r#""message":{"role":"user","content":[{"type":"text","text":"Später"}],"timestamp":9}"#
    );
    let crc = crc32fast::hash(body.as_bytes());
    assert_eq!(encode(7, 1_767_225_600_000, &record).unwrap(), format!("{body},\"crc\":\"{crc:08x}\"}}"));
}

/// A line with a right checksum.
fn sealed(body: &str) -> Vec<u8> {
    format!("{body},\"crc\":\"{:08x}\"}}", crc32fast::hash(body.as_bytes())).into_bytes()
}

#[test]
fn a_newer_version_is_refused_and_says_what_to_do() {
    // Nothing but the version is known of it.
    let line = sealed(r#"{"seq":1,"at":5,"kind":"session","version":2,"id":{"of":"tomorrow"}"#);
    let refused = decode(&line).unwrap_err();
    assert_eq!(refused, Unreadable::Newer("as a journal of version 2".to_owned()));
    let text = refused.to_string();
    assert!(text.contains("version 2") && text.contains("up to 1") && text.contains("update agent-loop"), "{text}");
    // A newer version may have gone on with an older journal.
    for (body, what) in [
        (r#"{"seq":2,"at":5,"kind":"mood","is":"good""#, "the kind \"mood\" is not known"),
        (r#"{"seq":2,"at":5,"kind":"run_start","run_id":"r","of":"dream""#, "the kind \"run_start\" has other fields"),
    ] {
        let refused = decode(&sealed(body)).unwrap_err();
        assert!(matches!(&refused, Unreadable::Newer(said) if said.starts_with(what)), "{refused:?}");
        assert!(refused.to_string().contains("update agent-loop"), "{refused}");
    }
}

#[test]
fn a_field_of_a_later_version_is_left_out() {
    let line = sealed(r#"{"seq":1,"at":5,"kind":"run_start","run_id":"r","of":"prompt","by":"someone""#);
    assert_eq!(decode(&line).unwrap().record, JournalRecord::RunStart(RunStart::new("r", RunOf::Prompt)));
}

#[test]
fn a_record_that_nests_too_deep_to_be_read_again_is_refused() {
    let nested = |levels: usize| (0..levels).fold(json!(1), |inner, _| json!({ "a": inner }));
    let records = |levels: usize| {
        let mut custom = object(nested(levels));
        custom.insert("role".to_owned(), json!("note"));
        let custom = Arc::new(Message::Custom(custom));
        let arguments = Arc::new(object(nested(levels)));
        let start = ToolStart::new("c", "t", Arc::clone(&arguments), "k");
        let call = SuspendedCall { arguments, ..waiting("c", "ask").call };
        let mut answer = ToolOutput::new(Vec::new());
        answer.details = nested(levels);
        [
            JournalRecord::message(Arc::clone(&custom)),
            JournalRecord::Queued(Queued::new(Queue::Steering, 1, Arc::clone(&custom))),
            JournalRecord::Appended(Appended::new(vec![Arc::clone(&custom)])),
            JournalRecord::Replaced(Replaced::new(vec![custom])),
            JournalRecord::ToolStart(start.clone()),
            JournalRecord::ToolAnswer(ToolAnswer::new("c", answer, false)),
            JournalRecord::Suspended(Suspended::new(vec![StoredCall { call, is_checked: true }])),
            JournalRecord::Info(Info::default().metadata(object(nested(levels)))),
            JournalRecord::HookDecision(HookDecision::new("after_tool_call", None, nested(levels + 48))),
            JournalRecord::Decisions(Decisions::new(object(json!({ "c": nested(levels + 48) })))),
        ]
    };
    for record in records(64) {
        assert_eq!(decode(encode(2, 0, &record).unwrap().as_bytes()).unwrap().record, record);
    }
    for record in records(65) {
        let error = encode(2, 0, &record).unwrap_err();
        assert!(error.kind() == ErrorKind::InvalidArgument && error.message().contains("nests deeper"), "{error}");
    }
}

fn texts() -> impl Strategy<Value = String> {
    prop::collection::vec(any::<char>(), 0..40).prop_map(|chars| chars.into_iter().collect())
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_filter("JSON has none", |number| number.is_finite()).prop_map(Value::from),
        texts().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 20, 4, |inner| {
        let list = prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from);
        let map = prop::collection::vec((texts(), inner), 0..4);
        prop_oneof![list, map.prop_map(|fields| Value::Object(fields.into_iter().collect()))]
    })
}

proptest! {
    #[test]
    fn whatever_is_written_is_read(seq: u64, at: u64, texts in prop::collection::vec(texts(), 4), value in values()) {
        let mut message = AssistantMessage::new(vec![ContentBlock::text(&texts[0])]);
        message.metadata = Some(value.clone()).filter(|value| !value.is_null());
        message.raw_stop_reason = Some(texts[1].clone());
        let arguments = object(json!({ texts[2].as_str(): value }));
        let records = [
            JournalRecord::message(Message::Assistant(message)),
            JournalRecord::message(Message::Custom(object(json!({ "role": "note", texts[3].as_str(): value })))),
            JournalRecord::ToolStart(ToolStart::new("c", "t", Arc::new(arguments), texts[1].as_str())),
            JournalRecord::HookDecision(HookDecision::new(texts[0].as_str(), None, value)),
        ];
        for record in records {
            let line = encode(seq, at, &record).unwrap();
            prop_assert!(!line.contains('\n'));
            let again = decode(line.as_bytes()).unwrap();
            prop_assert_eq!((again.seq, again.at, &again.record), (seq, at, &record));
            prop_assert_eq!(encode(seq, at, &again.record).unwrap(), line);
        }
    }
}
