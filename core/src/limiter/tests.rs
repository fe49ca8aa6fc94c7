use serde_json::{Value, json};

use super::*;
use crate::agent::Agent;
use crate::event::{Event, EventData};
use crate::message::Message;
use crate::result::RunResult;
use crate::run::Run;
use crate::usage::Outcome;

fn limited(limiter: &Limiter, script: Value) -> Agent {
    let model = json!({ "provider": "scripted", "id": "s", "script": script }).to_string();
    Agent::builder(model).limiter(limiter.clone()).build().unwrap()
}

fn quick() -> Value {
    json!([[{ "delta": "Yes." }, { "end": "stop" }], [{ "delta": "Again." }, { "end": "stop" }]])
}

/// It takes ten seconds of virtual time.
fn slow() -> Value {
    json!([[{ "delta": "So " }, { "wait_ms": 10_000 }, { "delta": "late." }, { "end": "stop" }]])
}

async fn ended(mut run: Run) -> (Vec<Event>, RunResult) {
    let mut events = Vec::new();
    while let Some(event) = run.next().await {
        events.push(event);
    }
    (events, run.ended().await.unwrap())
}

/// What was reported of waiting: the reason, and how many calls were before it.
fn waits(events: &[Event]) -> Vec<(String, u64)> {
    let wait = |event: &Event| match &event.data {
        EventData::Diagnostic { code, data, .. } if code == "limiter_wait" => {
            Some((data["reason"].as_str().unwrap().to_owned(), data["ahead"].as_u64().unwrap()))
        }
        _ => None,
    };
    events.iter().filter_map(wait).collect()
}

/// When the request of the answer began.
fn began(result: &RunResult) -> u64 {
    match &**result.messages.last().unwrap() {
        Message::Assistant(answer) => answer.timestamp,
        other => panic!("an answer, not {}", other.role()),
    }
}

#[tokio::test]
async fn a_thousand_agents_begin_in_order_and_evenly() {
    let limiter = Limiter::new().requests_per_minute(600);
    let agents: Vec<Agent> = (0..1_000).map(|_| limited(&limiter, quick())).collect();
    let runs: Vec<Run> = agents.iter().map(|agent| agent.stream("Go.").unwrap()).collect();
    let mut times = Vec::new();
    for run in runs {
        let (_, result) = ended(run).await;
        assert_eq!(result.outcome, Outcome::Completed);
        times.push(began(&result));
    }
    assert!(times.is_sorted(), "{times:?}");
    // The ideal is one each 100 ms.
    let (ideal, last) = (99_900, times[999]);
    assert!(last * 100 >= ideal * 95 && last * 100 <= ideal * 105, "{last}");
}

#[tokio::test]
async fn a_call_that_waits_is_reported_and_no_limit_passes_meanwhile() {
    let limiter = Limiter::new().max_concurrent(1);
    let [first, second, third] = [slow(), slow(), quick()].map(|script| limited(&limiter, script));
    third.set_request_timeout_ms(5_000);
    third.set_first_byte_timeout_ms(1_000);
    let [first, second, third] = [first, second, third].map(|agent| agent.stream("Go.").unwrap());
    let (events, result) = ended(third).await;
    assert_eq!((result.outcome, began(&result)), (Outcome::Completed, 20_000));
    assert_eq!(waits(&events), [("max_concurrent".to_owned(), 1)]);
    assert_eq!(waits(&ended(second).await.0), [("max_concurrent".to_owned(), 0)]);
    assert_eq!(waits(&ended(first).await.0), []);
}

#[tokio::test]
async fn a_call_that_waits_is_aborted_at_once_and_lets_the_next_one_pass() {
    let limiter = Limiter::new().max_concurrent(1);
    let [first, second, third] = [slow(), quick(), quick()].map(|script| limited(&limiter, script));
    let _first = first.stream("Go.").unwrap();
    let waiting = second.clone();
    let _subscription = second.subscribe(move |event| {
        if matches!(&event.data, EventData::Diagnostic { code, .. } if code == "limiter_wait") {
            waiting.abort();
        }
    });
    let (second, third) = (second.stream("Go.").unwrap(), third.stream("Go.").unwrap());
    let (_, result) = ended(second).await;
    assert_eq!((result.outcome, result.messages.len()), (Outcome::Aborted, 2));
    assert_eq!(began(&ended(third).await.1), 10_000);
}

#[tokio::test]
async fn keys_and_providers_and_other_limiters_have_their_own() {
    let limiter = Limiter::new().max_concurrent(1);
    let first = limited(&limiter, slow());
    let _held = first.stream("Go.").unwrap();
    let waiting = limited(&limiter, quick()).stream("Go.").unwrap();
    let other_key = limited(&limiter, quick());
    other_key.set_api_key(Some("another"));
    let other_limiter = limited(&Limiter::new().max_concurrent(1), quick());
    let free = limited(&limiter.clone().for_provider("scripted", Limiter::new()), quick());
    for agent in [other_key, other_limiter, free] {
        assert_eq!(waits(&ended(agent.stream("Go.").unwrap()).await.0), []);
    }
    assert_eq!(waits(&ended(waiting).await.0).len(), 1);
}

#[tokio::test]
async fn agents_of_a_runtime_whose_limiters_are_described_alike_share_one() {
    use crate::did_you_mean::Spelling;

    let runtime = crate::Runtime::current().unwrap();
    let described = |of: Value, script: Value| {
        let model = json!({ "provider": "scripted", "id": "s", "script": script }).to_string();
        let agent = Agent::builder(model).runtime(&runtime).build().unwrap();
        agent.set_options(json!({ "limiter": of }).as_object().unwrap(), Spelling::Snake, &[]).unwrap();
        agent
    };
    let alike = || json!({ "max_concurrent": 1 });
    let held = described(alike(), slow());
    let _held = held.stream("Go.").unwrap();
    let same = described(alike(), quick()).stream("Go.").unwrap();
    let other = described(json!({ "max_concurrent": 1, "name": "other" }), quick());
    assert_eq!(waits(&ended(other.stream("Go.").unwrap()).await.0), []);
    assert_eq!(waits(&ended(same).await.0).len(), 1);
}

#[tokio::test]
async fn tokens_are_counted_as_the_provider_counts_them() {
    let limiter = Limiter::new().tokens_per_minute(6_000);
    let spends = json!([
        [{ "delta": "Yes." }, { "end": { "stop_reason": "stop", "usage": { "input": 5_900, "output": 600 } } }],
        [{ "delta": "Again." }, { "end": "stop" }],
    ]);
    let agent = limited(&limiter, spends);
    agent.prompt("Go.").await.unwrap();
    let (events, result) = ended(agent.stream("Go.").unwrap()).await;
    assert_eq!(waits(&events), [("tokens_per_minute".to_owned(), 0)]);
    // 500 too many, and 15 for the request, at 100 a second.
    assert!((5_000..5_300).contains(&began(&result)), "{}", began(&result));
}
