use serde_json::{Value, json};

use super::*;
use crate::message::Message;

const MAX_MESSAGE_BYTES: usize = 1 << 20;

fn builder() -> MessageBuilder {
    let head = json!({ "role": "assistant", "content": [], "provider": "p", "protocol": "p", "model": "m", "timestamp": 0 });
    let Message::Assistant(head) = serde_json::from_value(head).unwrap() else { panic!("an assistant's") };
    MessageBuilder::new(head, 0, None, MAX_MESSAGE_BYTES)
}

#[test]
fn a_message_grows_so_far_by_text_signatures_and_opaque_blocks() {
    let big = "x".repeat(MAX_MESSAGE_BYTES / 2 - BYTES_PER_DELTA);
    let thinking = || Delta::Start { key: 0, block: BlockStart::Thinking { redacted: false } };
    let opaque = BlockStart::Opaque { protocol: "p".into(), data: Box::new(Value::from(format!("{big}and more than fits"))) };
    for second in [
        vec![Delta::Append { key: 0, text: big.clone() }, Delta::Append { key: 0, text: "x".into() }],
        vec![Delta::Signature { key: 0, signature: big.clone() }, Delta::Signature { key: 0, signature: "x".repeat(64) }],
        vec![Delta::Start { key: 1, block: opaque }],
    ] {
        let mut builder = builder();
        let deltas = [thinking(), Delta::Append { key: 0, text: big.clone() }].into_iter().chain(second);
        let results: Vec<_> = deltas.map(|delta| builder.apply(delta).map(drop)).collect();
        let (last, before) = results.split_last().unwrap();
        assert!(before.iter().all(Result::is_ok));
        let error = last.as_ref().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Limit);
        assert_eq!(error.message(), "the model's message grew over max_message_bytes (1048576); it was cut off");
    }
}

/// As a saved loop may have it that somebody has changed.
#[test]
fn open_blocks_that_are_not_there_are_passed_over() {
    let mut builder = builder();
    for key in 0..3 {
        builder.apply(Delta::Start { key, block: BlockStart::Thinking { redacted: false } }).unwrap();
    }
    let mut saved = json!(builder);
    assert_eq!(saved["order"], json!({ "0": 0, "1": 1, "2": 2 }));
    saved["order"] = json!({ "0": 7, "1": 2, "5": 1, "9": u32::MAX });
    let mut builder: MessageBuilder = serde_json::from_value(saved).unwrap();
    let ends = std::iter::from_fn(|| builder.end_next()).take(9).map(|end| match end {
        EventData::MessageUpdate(MessageUpdate::ThinkingEnd { content_index, .. }) => content_index,
        other => panic!("{other:?}"),
    });
    assert_eq!(ends.collect::<Vec<_>>(), [2, 1]);
}

#[test]
fn found_a8_blocks_and_calls_of_a_message_are_counted() {
    let call = |n: u32| BlockStart::ToolCall { id: format!("call_{n}"), name: "t".into() };
    for (most, block, text) in [
        (10_000, (|_| BlockStart::Text) as fn(u32) -> BlockStart, "has more than 10000 blocks"),
        (10_000, |_| BlockStart::Thinking { redacted: false }, "has more than 10000 blocks"),
        (1_000, call, "has more than 1000 tool calls"),
    ] {
        let mut builder = builder();
        for key in 0..most {
            builder.apply(Delta::Start { key, block: block(key) }).unwrap();
        }
        let error = builder.apply(Delta::Start { key: most, block: block(most) }).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Limit);
        assert_eq!(error.message(), format!("the model's message {text}; it was cut off"));
    }
}

fn text(key: u32) -> Delta {
    Delta::Start { key, block: BlockStart::Text }
}

fn append(key: u32, text: &str) -> Delta {
    Delta::Append { key, text: text.to_owned() }
}

/// The types of the events of these deltas, each with the number of its block.
fn events(builder: &mut MessageBuilder, deltas: Vec<Delta>) -> Vec<String> {
    let mut events = Vec::new();
    for delta in deltas {
        while let Some(start) = builder.start_waiting(&delta) {
            events.push(start);
        }
        events.extend(builder.apply(delta).unwrap().1);
    }
    let brief = |event: EventData| {
        let EventData::MessageUpdate(update) = event else { panic!("{event:?}") };
        match update {
            MessageUpdate::TextStart { content_index } => format!("text_start {content_index}"),
            MessageUpdate::TextDelta { content_index, delta } => format!("text_delta {content_index} {delta}"),
            MessageUpdate::TextEnd { content_index, .. } => format!("text_end {content_index}"),
            MessageUpdate::ThinkingStart { content_index } => format!("thinking_start {content_index}"),
            MessageUpdate::ToolCallStart { content_index, .. } => format!("tool_call_start {content_index}"),
            other => panic!("{other:?}"),
        }
    };
    events.into_iter().map(brief).collect()
}

#[test]
fn found_e11_empty_deltas_are_nothing() {
    let signature = |key: u32, signature: &str| Delta::Signature { key, signature: signature.to_owned() };
    let thinking = |key: u32| Delta::Start { key, block: BlockStart::Thinking { redacted: false } };
    let stop = || Delta::Stop { reason: StopReason::Stop, raw: None };
    for deltas in [
        vec![text(0), append(0, ""), Delta::End { key: 0 }, stop()],
        vec![text(0), append(0, ""), signature(0, ""), stop()],
        vec![text(0), text(1), stop()],
    ] {
        let mut builder = builder();
        assert_eq!(events(&mut builder, deltas), [""; 0]);
        assert!(!builder.has_blocks() && !builder.has_content() && builder.end_next().is_none());
        assert_eq!(builder.finish(None).content, []);
    }
    let mut builder = builder();
    assert_eq!(events(&mut builder, vec![thinking(0), append(0, ""), signature(0, "")]), ["thinking_start 0"]);
    assert!(!builder.has_content(), "a block that shows, and says nothing");
}

#[test]
fn found_e11_blocks_stand_in_the_order_in_which_they_were_announced() {
    let call = |key: u32| Delta::Start { key, block: BlockStart::ToolCall { id: "a".into(), name: "t".into() } };
    let mut found = builder();
    let deltas = vec![text(4), text(2), append(2, "b"), append(4, "a"), append(4, ""), Delta::End { key: 2 }];
    assert_eq!(events(&mut found, deltas), ["text_start 0", "text_start 1", "text_delta 1 b", "text_delta 0 a", "text_end 1"]);
    assert!(found.has_content());
    let mut found = builder();
    let deltas = vec![text(0), Delta::End { key: 0 }, text(1), call(2), append(2, ""), append(1, "x")];
    assert_eq!(events(&mut found, deltas), ["text_start 0", "tool_call_start 1", "text_delta 0 x"]);
    let mut found = builder();
    let signature = Delta::Signature { key: 0, signature: "s".into() };
    assert_eq!(events(&mut found, vec![text(0), signature, Delta::End { key: 0 }]), ["text_start 0", "text_end 0"]);
    assert!(found.apply(append(0, "x")).is_err() && found.apply(text(0)).is_err(), "it has ended");
    let mut found = builder();
    found.apply(text(0)).unwrap();
    assert!(found.apply(text(0)).is_err(), "announced twice");
    found.apply(Delta::End { key: 0 }).unwrap();
    assert!(found.apply(append(0, "x")).is_err());
}

#[test]
fn found_a6_data_of_a_vendor_nests_at_most_64_levels() {
    let nested = |levels| (0..levels).fold(json!("x"), |inner, _| json!([inner]));
    let mut builder = MessageBuilder::new(AssistantMessage::new(Vec::new()), 1, None, usize::MAX);
    let block = |levels| BlockStart::Opaque { protocol: "p".into(), data: Box::new(nested(levels)) };
    builder.apply(Delta::Start { key: 0, block: block(64) }).unwrap();
    let error = builder.apply(Delta::Start { key: 1, block: block(65) }).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit);
    assert!(error.message().starts_with("a block of the model's answer nests deeper than 64 levels"), "{error}");
    for (levels, kept) in [(112, true), (113, false)] {
        let (_, raw) = builder.apply(Delta::Raw(Box::new(nested(levels)))).unwrap();
        let Some(EventData::Raw { data }) = raw else { panic!("a raw event") };
        assert_eq!((data.is_array(), data.is_string()), (kept, !kept));
    }
}

#[test]
fn found_a13_a_made_id_is_no_other_call_s() {
    let mut found = builder();
    let mut started = |key: u32, given: &str, taken: &[&str]| {
        let block = BlockStart::ToolCall { id: given.into(), name: "t".into() };
        let (_, event) = found.apply_beside(Delta::Start { key, block }, &mut |id| taken.contains(&id)).unwrap();
        let Some(EventData::MessageUpdate(MessageUpdate::ToolCallStart { id, .. })) = event else { panic!("{event:?}") };
        id
    };
    assert_eq!(started(0, "call_0_1", &[]), "call_0_1", "the model's own");
    assert_eq!(started(1, "", &[]), "call_0_1_2", "call_0_1 is the model's");
    assert_eq!(started(2, "call_0_1_2", &[]), "call_0_2", "a given one comes too late");
    assert_eq!(started(3, "", &["call_0_3", "call_0_3_2"]), "call_0_3_3", "other messages have the first two");
    assert_eq!(started(4, "call_0_4", &["call_0_4"]), "call_0_4", "a given one is unique in its message only");
}
