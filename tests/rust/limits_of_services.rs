//! The option `limiter` and what services say of their own limits.

use agent_loop::Outcome;
use agent_loop::event::{Event, EventData};
use agent_loop::limiter::Limiter;
use agent_mock::{Answer, Failure, Mock, Script, Speech};

use super::*;

fn waits(events: &[Event]) -> Vec<&str> {
    let reason = |event: &Event| match &event.data {
        EventData::Diagnostic { code, data, .. } if code == "limiter_wait" => Some(data["reason"].as_str().unwrap().to_owned()),
        _ => None,
    };
    let known = |reason: String| if reason == "service" { "service" } else { "another" };
    events.iter().filter_map(reason).map(known).collect()
}

#[tokio::test]
async fn a_call_waits_until_the_service_has_requests_left() {
    let used_up = Answer::message(Speech::text("hello")).header("x-ratelimit-remaining-requests", "0");
    let used_up = used_up.header("x-ratelimit-reset-requests", "50ms");
    let mock = Mock::start(Script::new().answer(used_up).answer(Answer::message(Speech::text("and again"))));
    let limiter = Limiter::new();
    let agent = || {
        let builder = Agent::builder("openai/tiny").base_url(&mock.url()).api_key("k").limiter(limiter.clone());
        builder.build().unwrap()
    };
    let (events, first) = all(agent().stream("go").unwrap()).await;
    assert_eq!((waits(&events), &*first.text), (vec![], "hello"));
    // Another agent with the same key.
    let (events, second) = all(agent().stream("go").unwrap()).await;
    assert_eq!((waits(&events), &*second.text), (vec!["service"], "and again"));
}

#[tokio::test]
async fn a_refusal_of_one_run_stops_the_others_for_as_long_as_it_says() {
    let refused = Answer::error(Failure::RateLimited).header("retry-after-ms", "60");
    let mock = Mock::start(Script::new().answer(refused).answer(Answer::message(Speech::text("hello")).times(2)));
    let limiter = Limiter::new();
    let agent = || {
        let builder = Agent::builder("openai/tiny").base_url(&mock.url()).api_key("k").limiter(limiter.clone());
        builder.max_retries(0).build().unwrap()
    };
    agent().prompt("go").await.unwrap_err();
    let (events, second) = all(agent().stream("go").unwrap()).await;
    assert_eq!((waits(&events), second.outcome), (vec!["service"], Outcome::Completed));
}
