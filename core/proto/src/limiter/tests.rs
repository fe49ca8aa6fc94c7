//! What a limiter is made of.

use serde_json::json;

use super::bucket::{Begun, Bucket, WaitReason};
use super::headers::{Left, ServiceLimits};
use super::*;

fn bucket(limits: Value) -> Bucket {
    Bucket::new(LimiterSpec::from_json(&limits).unwrap().limits, 0)
}

/// Asks for calls of so many tokens, by one model.
fn ask(bucket: &mut Bucket, ids: std::ops::Range<u64>, tokens: u64) {
    ids.for_each(|id| bucket.ask(id, &"m".into(), tokens));
}

/// All that begin by this time, as the time goes on to each moment that is named: when, and which.
fn run(bucket: &mut Bucket, until_ms: u64) -> Vec<(u64, Begun)> {
    let (mut now_ms, mut begun) = (0, Vec::new());
    loop {
        match bucket.next(now_ms) {
            Ok(call) => begun.push((now_ms, call)),
            Err(Some((_, Some(at_ms)))) if at_ms <= until_ms => {
                assert!(at_ms > now_ms, "time goes on");
                now_ms = at_ms;
            }
            Err(_) => return begun,
        }
    }
}

fn times(begun: &[(u64, Begun)]) -> Vec<u64> {
    begun.iter().map(|(at_ms, _)| *at_ms).collect()
}

#[test]
fn requests_begin_evenly_and_in_order() {
    let mut calls = bucket(json!({ "requests_per_minute": 600 }));
    ask(&mut calls, 0..1_000, 1);
    let begun = run(&mut calls, 1_000_000);
    assert!(begun.iter().map(|(_, call)| call.id).eq(0..1_000));
    // Those of the first second at once, and then one each 100 ms.
    let times = times(&begun);
    assert_eq!((times[9], times[10], times[11]), (0, 100, 200));
    assert_eq!(times[999], 99_000);
}

#[test]
fn tokens_of_a_minute_may_be_used_at_once_and_what_was_really_used_counts() {
    let mut calls = bucket(json!({ "tokens_per_minute": 60_000 }));
    ask(&mut calls, 0..4, 30_000);
    let begun = run(&mut calls, 1_000_000);
    assert_eq!(times(&begun), [0, 0, 30_000, 60_000]);

    let mut calls = bucket(json!({ "tokens_per_minute": 60_000 }));
    ask(&mut calls, 0..3, 30_000);
    let first = calls.next(0).unwrap();
    calls.next(0).unwrap();
    assert_eq!(calls.next(0), Err(Some((WaitReason::Tokens, Some(30_000)))));
    // It took a third of that.
    calls.end(&first, Some(10_000));
    assert_eq!(calls.next(0), Err(Some((WaitReason::Tokens, Some(10_000)))));
    // One that is larger than a minute's waits for all of a minute's.
    let mut calls = bucket(json!({ "tokens_per_minute": 60_000 }));
    ask(&mut calls, 0..2, 90_000);
    assert_eq!(times(&run(&mut calls, 1_000_000)), [0, 90_000]);
}

#[test]
fn so_many_calls_are_under_way() {
    let mut calls = bucket(json!({ "max_concurrent": 2 }));
    ask(&mut calls, 0..4, 1);
    let first = calls.next(0).unwrap();
    calls.next(0).unwrap();
    assert_eq!(calls.next(0), Err(Some((WaitReason::Concurrent, None))));
    assert_eq!((calls.first(), calls.ahead_of(3)), (Some(2), 1));
    calls.forget(2);
    calls.end(&first, None);
    assert_eq!(calls.next(0).unwrap().id, 3);
    assert_eq!(calls.next(0), Err(None));
}

#[test]
fn what_the_service_has_left_is_not_passed() {
    let mut calls = bucket(json!(true));
    ask(&mut calls, 0..6, 100);
    let [first, ..] = [calls.next(0).unwrap(), calls.next(0).unwrap()];
    // One of the three that are left is for the second call, which the answer to the first did not know of.
    let limits = ServiceLimits { requests: Some(Left { remaining: 3, reset_ms: 5_000 }), ..ServiceLimits::default() };
    calls.answered(&first, &limits, 1_000);
    calls.next(1_000).unwrap();
    calls.next(1_000).unwrap();
    assert_eq!(calls.next(1_000), Err(Some((WaitReason::Service, Some(6_000)))));
    // Another model has limits of its own.
    calls.ask(9, &"other".into(), 100);
    assert_eq!(calls.next(1_000).unwrap().id, 9);
    let begun = calls.next(6_000).unwrap();
    assert_eq!(begun.id, 4);
    // A refusal stops the rest for as long as it says, and for ten minutes at most.
    calls.answered(&begun, &ServiceLimits { pause_ms: Some(3_600_000), ..ServiceLimits::default() }, 7_000);
    assert_eq!(calls.next(7_000), Err(Some((WaitReason::Service, Some(607_000)))));
    assert_eq!(calls.next(607_000).unwrap().id, 5);
}

#[test]
fn tokens_that_the_service_has_left_are_not_passed() {
    let mut calls = bucket(json!(true));
    ask(&mut calls, 0..3, 100);
    let first = calls.next(0).unwrap();
    let limits = ServiceLimits { tokens: Some(Left { remaining: 150, reset_ms: 5_000 }), ..ServiceLimits::default() };
    calls.answered(&first, &limits, 0);
    calls.next(0).unwrap();
    assert_eq!(calls.next(0), Err(Some((WaitReason::Service, Some(5_000)))));
}

#[test]
fn a_bucket_is_unused_once_all_is_there_again() {
    let mut calls = bucket(json!({ "requests_per_minute": 60, "tokens_per_minute": 6_000 }));
    assert!(calls.is_unused(0));
    ask(&mut calls, 0..1, 100);
    assert!(!calls.is_unused(0), "a call waits");
    let call = calls.next(0).unwrap();
    assert!(!calls.is_unused(60_000), "a call is under way");
    let limits = ServiceLimits { requests: Some(Left { remaining: 5, reset_ms: 5_000 }), ..ServiceLimits::default() };
    calls.answered(&call, &limits, 0);
    calls.end(&call, Some(200));
    assert!(!calls.is_unused(1_000), "its tokens are not there again");
    assert!(!calls.is_unused(4_999), "what the service has said holds");
    assert!(calls.is_unused(5_000));
}

#[test]
fn headers_of_services_are_read() {
    let read = |headers: &[(&str, &str)], status| {
        let header = |name: &str| headers.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
        ServiceLimits::read(&header, status, 1_000)
    };
    let anthropic = [
        ("anthropic-ratelimit-requests-remaining", "49"),
        ("anthropic-ratelimit-requests-reset", "1970-01-01T00:00:03Z"),
        ("anthropic-ratelimit-input-tokens-remaining", "30000"),
        ("anthropic-ratelimit-input-tokens-reset", "1970-01-01T00:01:01Z"),
        ("anthropic-ratelimit-output-tokens-remaining", "8000"),
        ("anthropic-ratelimit-output-tokens-reset", "1970-01-01T00:00:31Z"),
    ];
    let left = read(&anthropic, 200);
    assert_eq!(left.requests, Some(Left { remaining: 49, reset_ms: 2_000 }));
    assert_eq!(left.tokens, Some(Left { remaining: 8_000, reset_ms: 30_000 }));
    let openai = [("x-ratelimit-remaining-requests", "0"), ("x-ratelimit-reset-requests", "6m0s"), ("retry-after", "20")];
    let left = read(&openai, 429);
    assert_eq!((left.requests, left.pause_ms), (Some(Left { remaining: 0, reset_ms: 360_000 }), Some(20_000)));
    assert_eq!(read(&openai, 200).pause_ms, None);
    assert_eq!(read(&[], 200), ServiceLimits::default());
}

#[test]
fn a_limiter_is_read_in_both_spellings() {
    let snake = json!({
        "name": "team", "requests_per_minute": 600,
        "providers": { "openai": { "tokens_per_minute": 2_000, "max_concurrent": 3 } },
    });
    let camel = json!({
        "name": "team", "requestsPerMinute": 600, "providers": { "openai": { "tokensPerMinute": 2_000, "maxConcurrent": 3 } },
    });
    let read = LimiterSpec::from_json(&snake).unwrap();
    assert_eq!(read, LimiterSpec::from_json(&camel).unwrap());
    let mut mixed = camel;
    mixed.as_object_mut().unwrap().shift_remove("requestsPerMinute");
    mixed["requests_per_minute"] = json!(600);
    assert_eq!(read, LimiterSpec::from_json(&mixed).unwrap(), "as Node has it, which respells the outer names");
    assert_eq!(json!(read), snake);
    let of_openai = CallLimits { tokens_per_minute: Some(2_000), max_concurrent: Some(3), ..CallLimits::default() };
    assert_eq!(read.limits_of("openai"), of_openai);
    assert_eq!(read.limits_of("anthropic").requests_per_minute, Some(600));
    assert_eq!(LimiterSpec::from_json(&json!(true)).unwrap(), LimiterSpec::default());
}

#[test]
fn what_is_wrong_in_a_limiter_is_named() {
    let wrong = |value: Value| LimiterSpec::from_json(&value).unwrap_err().message().to_owned();
    assert_eq!(
        wrong(json!(5)),
        "expected true or an object with name, requests_per_minute, tokens_per_minute, max_concurrent, providers, got 5"
    );
    assert_eq!(wrong(json!({ "max_concurrent": 0 })), "max_concurrent: expected a whole number of at least 1, got 0");
    assert!(wrong(json!({ "requestsPerMinut": 1 })).contains("requestsPerMinute"));
    assert!(wrong(json!({ "providers": { "openai": 5 } })).starts_with("providers: openai: expected an object of limits"));
    let misspelt = wrong(json!({ "providers": { "openai": { "max_concurent": 1 } } }));
    assert!(misspelt.starts_with("providers: openai: unknown field \"max_concurent\""), "{misspelt}");
    let nested = wrong(json!({ "providers": { "openai": { "max_concurrent": "all" } } }));
    assert_eq!(nested, "providers: openai: max_concurrent: expected a whole number of at least 1, got \"all\"");
}
