//! Runs that have not begun: awaiting, streaming, cancelling, many at once.

use std::future::ready;

use agent_loop::{CancelToken, Context, ErrorKind, Outcome, Runtime};
use futures_util::StreamExt;
use serde_json::json;
use tokio::task::JoinSet;

use super::*;

/// An agent whose tool waits until it is cancelled, and says so to a token.
fn waiting(begun: &CancelToken) -> Agent {
    let begun = begun.clone();
    builder(json!([[call("c", "waits", json!({})), end("tool_use")], says("next")]))
        .tool(tool("waits", move |_, context| {
            let begun = begun.clone();
            async move {
                begun.cancel();
                context.cancel_token().cancelled().await;
                Ok(json!("cancelled"))
            }
        }))
        .build()
        .unwrap()
}

#[tokio::test]
async fn a_token_that_is_cancelled_before_the_start_aborts_a_run_that_calls_no_model() {
    let token = CancelToken::new();
    token.cancel();
    let agent = scripted(json!([says("next")]));
    let (events, result) = all(agent.prompt("go").abort_on(&token).stream().unwrap()).await;
    check(&agent, &events);
    assert_eq!(result.outcome, Outcome::Aborted);
    assert!(!events.iter().any(|event| event.kind() == "text_delta"));
    assert_eq!(agent.prompt("go").abort_on(token).await.unwrap().outcome, Outcome::Aborted);
    assert_eq!(agent.prompt("again").await.unwrap().text, "next", "the script is where it was");
}

#[tokio::test]
async fn a_token_that_is_cancelled_during_a_run_aborts_it() {
    for streams in [false, true] {
        let (token, begun) = (CancelToken::new(), CancelToken::new());
        let agent = waiting(&begun);
        let pending = agent.prompt("go").abort_on(&token);
        let run = tokio::spawn(async move {
            match streams {
                false => pending.await.unwrap(),
                true => all(pending.stream().unwrap()).await.1,
            }
        });
        begun.cancelled().await;
        token.cancel();
        assert_eq!(run.await.unwrap().outcome, Outcome::Aborted);
        assert_eq!(agent.prompt("again").abort_on(CancelToken::new()).await.unwrap().text, "next");
    }
}

#[tokio::test]
async fn a_token_that_is_cancelled_after_a_run_does_nothing() {
    let token = CancelToken::new();
    let agent = scripted(json!([says("done")]));
    assert_eq!(agent.prompt("go").abort_on(&token).await.unwrap().outcome, Outcome::Completed);
    token.cancel();
    assert_eq!(agent.error(), None);
}

#[tokio::test]
async fn any_future_can_abort_and_the_first_one_counts() {
    let begun = CancelToken::new();
    let agent = waiting(&begun);
    let (sender, receiver) = tokio::sync::oneshot::channel::<()>();
    let never = std::future::pending::<u8>();
    let others = tokio_util::sync::CancellationToken::new();
    let run = tokio::spawn(agent.prompt("go").abort_on(never).abort_on(receiver).abort_on(others.cancelled_owned()));
    begun.cancelled().await;
    sender.send(()).unwrap();
    assert_eq!(run.await.unwrap().unwrap().outcome, Outcome::Aborted);
    // One that panics has ended.
    let broken = async { panic!("broken") };
    let run = agent.prompt("go").abort_on(std::future::pending::<()>()).abort_on(broken);
    assert_eq!(run.await.unwrap().outcome, Outcome::Aborted);
}

#[tokio::test]
async fn a_stateless_run_that_is_cancelled_before_the_start_calls_no_model() {
    let settings = scripted(json!([says("next")]));
    let result = agent_loop::run(&Context::default(), "go", &settings).abort_on(ready(())).await.unwrap();
    assert_eq!((result.outcome, result.messages.len(), result.text.as_str()), (Outcome::Aborted, 2, ""), "no model was called");
    assert_eq!(agent_loop::run(&Context::default(), "go", &settings).await.unwrap().text, "next");
}

#[tokio::test]
async fn dropping_an_awaited_run_aborts_it() {
    let begun = CancelToken::new();
    let agent = waiting(&begun);
    let mut run = agent.prompt("go");
    tokio::select! {
        biased;
        () = begun.cancelled() => {}
        result = &mut run => panic!("it ended: {result:?}"),
    }
    let error = run.stream().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidState, "it has begun; and with this it is dropped");
    agent.wait_for_idle().await.unwrap();
    assert_eq!(agent.error().unwrap().kind(), ErrorKind::Aborted);
}

#[tokio::test]
async fn a_run_begins_when_it_is_asked_to() {
    let agent = scripted(json!([says("a"), says("b")]));
    let pending = agent.prompt("go");
    assert!(!agent.is_streaming() && agent.messages().is_empty());
    drop(pending);
    let run = agent.prompt("go").start().unwrap();
    assert!(agent.is_streaming());
    let (events, result) = all(run).await;
    assert_eq!((events.len(), result.text.as_str()), (0, "a"), "it has no queue");
    assert_eq!(agent.resume().await.unwrap_err().kind(), ErrorKind::InvalidState);
}

#[tokio::test]
async fn many_agents_run_in_a_join_set() {
    let mut runs = JoinSet::new();
    for number in 0..10 {
        runs.spawn(scripted(json!([says(&number.to_string())])).prompt("go"));
    }
    let mut texts: Vec<String> = runs.join_all().await.into_iter().map(|result| result.unwrap().text).collect();
    texts.sort();
    assert_eq!(texts, (0..10).map(|number| number.to_string()).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_run_is_a_stream_for_combinators() {
    let agent = scripted(json!([[{ "delta": "one " }, { "delta": "two" }, end("stop")]]));
    let run = agent.stream("go").unwrap();
    let deltas: Vec<String> = run
        .filter_map(|event| async move {
            match event.data {
                EventData::MessageUpdate(MessageUpdate::TextDelta { delta, .. }) => Some(delta.to_string()),
                _ => None,
            }
        })
        .collect()
        .await;
    assert_eq!(deltas, ["one ", "two"]);
}

#[test]
fn a_run_of_a_runtime_needs_no_tokio_around_it() {
    let runtime = Runtime::new().unwrap();
    let agent = builder(json!([says("a")])).runtime(&runtime).build().unwrap();
    let pending = agent.prompt("go").abort_on(CancelToken::new());
    assert_eq!(runtime.block_on(pending).unwrap().text, "a");
}
