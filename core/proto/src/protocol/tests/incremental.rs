//! Caches change nothing: a transcript that grows step by step is repaired and encoded as if it were new each time, for every
//! service.

use std::sync::Arc;

use proptest::prelude::*;

use super::fixture::Fixture;
use super::service_rules::services;
use super::transcripts::{Asked, Entry, asked, messages, transcript};
use crate::message::Message;
use crate::protocol::{EncodeCache, Encoded};
use crate::transcript::{RepairCache, Repaired, repair, repair_with};

/// The caches of one run.
#[derive(Default)]
struct Caches {
    repair: RepairCache,
    encode: EncodeCache,
}

/// The request for these messages with the caches, and without.
fn both(caches: &mut Caches, fixture: &Fixture, messages: &[Arc<Message>], asked: &Asked) -> [(Repaired, Encoded); 2] {
    let constraints = fixture.constraints();
    let repaired = repair_with(&mut caches.repair, messages, &constraints);
    let encoded = fixture.encode_with(&mut caches.encode, &asked.request(repaired.messages.clone()));
    let fresh = repair(messages, &constraints);
    let encoded_fresh = fixture.encode_with(&mut EncodeCache::default(), &asked.request(fresh.messages.clone()));
    [(repaired, encoded), (fresh, encoded_fresh)]
}

fn grown_as_new(entries: &[Entry], asked: &Asked) -> Result<(), TestCaseError> {
    for service in services() {
        let all = messages(entries, &service.fixture);
        let mut caches = Caches::default();
        for end in 0..=all.len() {
            let [cached, fresh] = both(&mut caches, &service.fixture, &all[..end], asked);
            prop_assert_eq!(&cached.0, &fresh.0, "{}: repair of {} messages", service.name, end);
            let body = |encoded: &Encoded| String::from_utf8(encoded.body.clone()).unwrap();
            prop_assert_eq!(body(&cached.1), body(&fresh.1), "{}: body of {} messages", service.name, end);
            prop_assert_eq!(&cached.1.ignored, &fresh.1.ignored, "{}: ignored of {} messages", service.name, end);
        }
    }
    Ok(())
}

/// To another transcript, and back, with other options and tools each time.
fn changed_as_new(entries: [&[Entry]; 2], asked: [&Asked; 2]) -> Result<(), TestCaseError> {
    for service in services() {
        let transcripts = entries.map(|entries| messages(entries, &service.fixture));
        let mut caches = Caches::default();
        for step in 0..4 {
            let (messages, asked) = (&transcripts[step % 2], asked[step / 2]);
            let [cached, fresh] = both(&mut caches, &service.fixture, messages, asked);
            prop_assert_eq!(&cached, &fresh, "{}: step {}", service.name, step);
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn a_transcript_that_grows_is_repaired_and_encoded_as_if_it_were_new(entries in transcript(), asked in asked()) {
        grown_as_new(&entries, &asked)?;
    }

    #[test]
    fn what_is_cached_of_another_transcript_or_other_tools_is_not_used(
        a in transcript(), b in transcript(), first in asked(), second in asked(),
    ) {
        changed_as_new([&a, &b], [&first, &second])?;
    }
}

#[test]
fn found_e1_messages_that_were_repaired_before_are_the_same_ones_again() {
    let content = serde_json::json!([
        { "role": "user", "content": "go" },
        { "role": "assistant", "provider": "other", "content": [
            { "type": "thinking", "thinking": "hm" }, { "type": "tool_call", "id": "a b", "name": "t" },
        ] },
        { "role": "user", "content": "meanwhile" },
        { "role": "assistant", "content": "done" },
        { "role": "tool_result", "tool_call_id": "c", "content": "of no call" },
    ]);
    let all: Vec<Arc<Message>> = serde_json::from_value(content).unwrap();
    let constraints = Fixture::of_protocol("anthropic").constraints();
    let mut cache = RepairCache::default();
    let mut before: Vec<Arc<Message>> = Vec::new();
    for end in 0..=all.len() {
        let repaired = repair_with(&mut cache, &all[..end], &constraints).messages;
        assert!(before.iter().zip(&repaired).all(|(a, b)| Arc::ptr_eq(a, b)), "{end}: {before:?}\n{repaired:?}");
        before = repaired;
    }
    assert_eq!(before.len(), 5, "the error result of the call that has none is kept, too");
}
