//! Abort: at any moment, from anywhere, and the run still ends as it should.

use agent_loop::{ErrorKind, Outcome, Subscription};
use serde_json::json;

use super::*;

/// Aborts when an event of this kind is shown (and, of deltas, says this).
fn abort_at(agent: &Agent, at: &'static str) -> Subscription {
    let weak = agent.clone();
    agent.subscribe(move |event| {
        if brief(event) == at {
            weak.abort();
            weak.abort();
        }
    })
}

async fn aborted_at(agent: &Agent, at: &'static str) -> (Vec<String>, RunResult) {
    let _subscription = abort_at(agent, at);
    let (events, result) = play(agent).await;
    check(agent, &events);
    assert_eq!(result.outcome, Outcome::Aborted, "at {at}");
    assert_eq!(result.error.as_ref().unwrap().kind(), ErrorKind::Aborted);
    (briefs(&events), result)
}

fn script() -> Value {
    json!([
        [{ "delta": "on" }, { "delta": "e" }, call("c", "t", json!({})), { "delta": { "thinking": "hm" } }, end("tool_use")],
        [{ "delta": "done" }, end("stop")],
    ])
}

fn agent() -> Agent {
    scripted(script()).tool(tool("t", |_, _| async { Ok(json!("ran")) })).unwrap()
}

const END_OF_ABORTED_TURN: [&str; 3] = ["message_end assistant aborted", "turn_end", "agent_end aborted"];

#[tokio::test]
async fn at_the_very_start_the_prompt_is_still_shown() {
    let (events, result) = aborted_at(&agent(), "agent_start").await;
    let shown = ["agent_start", "turn_start", "message_start user", "message_end user", "message_start assistant"];
    assert_eq!(events, [&shown[..], &END_OF_ABORTED_TURN].concat());
    assert_eq!(result.messages.len(), 2);
    assert!(result.message.unwrap().as_assistant().unwrap().content.is_empty());
}

#[tokio::test]
async fn in_text_the_deltas_not_shown_are_dropped() {
    let (events, result) = aborted_at(&agent(), "text_delta on").await;
    assert_eq!(events[4..], [&["message_start assistant", "text_start", "text_delta on"][..], &END_OF_ABORTED_TURN].concat());
    assert_eq!(result.text, "on");
}

#[tokio::test]
async fn in_a_calls_arguments_the_call_is_taken_out() {
    let (events, result) = aborted_at(&agent(), "tool_call_delta {}").await;
    assert!(!events.iter().any(|event| event.starts_with("tool_execution")));
    assert_eq!(result.message.unwrap().as_assistant().unwrap().content.len(), 1, "the text stays");
}

#[tokio::test]
async fn after_the_message_each_call_gets_its_end_and_result() {
    for at in ["message_end assistant tool_use", "tool_execution_start c"] {
        let (events, result) = aborted_at(&agent(), at).await;
        let rest = [
            "message_end assistant tool_use",
            "tool_execution_start c",
            "tool_execution_end c error aborted",
            "message_start result c",
            "message_end result c",
            "turn_end",
            "agent_end aborted",
        ];
        let from = events.iter().position(|event| event == rest[0]).unwrap();
        assert_eq!(events[from..], rest, "at {at}");
        assert_eq!(results(&result), [("aborted".into(), true)]);
    }
}

#[tokio::test]
async fn after_the_last_turn_nothing_follows_but_the_end() {
    let (events, _) = aborted_at(&agent(), "turn_end").await;
    assert_eq!(events.iter().filter(|event| *event == "turn_start").count(), 1);
    assert_eq!(events[events.len() - 2..], ["turn_end", "agent_end aborted"]);
}

#[tokio::test]
async fn tools_that_answer_in_the_grace_time_keep_their_answer() {
    let agent = scripted(json!([[
        call("a", "waits", json!({})),
        call("b", "throws", json!({})),
        call("c", "waits", json!({})),
        end("tool_use")
    ],]))
    .tool(tool("waits", |_, call| async move {
        let whole = call.sleep(60_000).await;
        Ok(json!(format!("whole: {whole}, cancelled: {}", call.is_cancelled())))
    }))
    .unwrap()
    .tool(tool("throws", |_, call| async move {
        call.cancel_token().cancelled().await;
        Err("interrupted".to_owned())
    }))
    .unwrap()
    .max_parallel_tools(2);
    let (_, result) = aborted_at(&agent, "tool_execution_start c").await;
    assert_eq!(results(&result).len(), 3, "aborted while taking them up: none of them ran");
    assert!(results(&result).iter().all(|answer| *answer == ("aborted".into(), true)));

    let agent = scripted(json!([[
        call("a", "waits", json!({})),
        call("b", "throws", json!({})),
        call("c", "waits", json!({})),
        end("tool_use")
    ],]))
    .tool(tool("waits", |_, call| async move {
        call.update(json!("here"));
        let whole = call.sleep(60_000).await;
        Ok(json!(format!("whole: {whole}, cancelled: {}", call.is_cancelled())))
    }))
    .unwrap()
    .tool(tool("throws", |_, call| async move {
        call.cancel_token().cancelled().await;
        Err("interrupted".to_owned())
    }))
    .unwrap()
    .max_parallel_tools(2);
    let (_, result) = aborted_at(&agent, "tool_execution_update a here").await;
    let kept = ("whole: false, cancelled: true".to_owned(), false);
    assert_eq!(results(&result), [kept, ("aborted".into(), true), ("aborted".into(), true)]);
}

#[tokio::test]
async fn a_tool_that_does_not_react_is_left_behind_after_the_grace_time() {
    let agent = scripted(json!([[call("a", "deaf", json!({})), end("tool_use")]]))
        .tool(tool("deaf", |_, call| async move {
            call.update(json!("here"));
            // Twice: the first ends at the abort, and while it sleeps again time may pass.
            call.sleep(1).await;
            std::future::pending::<()>().await;
            Ok(json!("never"))
        }))
        .unwrap()
        .abort_grace_ms(0);
    let (_, result) = aborted_at(&agent, "tool_execution_update a here").await;
    assert_eq!(results(&result), [("aborted".into(), true)]);
}

#[tokio::test]
async fn before_the_first_byte_from_another_thread() {
    let mock = agent_mock::Mock::start(agent_mock::Script::new().answer(agent_mock::Answer::text("").stall()));
    let agent = Agent::new("openai/tiny").unwrap().base_url(&mock.url());
    let other = agent.clone();
    let mut run = agent.stream("go").unwrap();
    while let Some(event) = run.next().await {
        if event.kind() == "message_end" {
            let agent = other.clone();
            std::thread::spawn(move || agent.abort()).join().unwrap();
        }
    }
    assert_eq!(run.result().await.unwrap().outcome, Outcome::Aborted);
}

#[tokio::test]
async fn dropping_a_run_aborts_it_and_the_agent_is_free_again() {
    let agent = scripted(json!([says("next")]));
    drop(agent.stream("go").unwrap());
    agent.wait_for_idle().await.unwrap();
    assert_eq!(agent.error().unwrap().kind(), ErrorKind::Aborted);
    assert_eq!(agent.prompt("again").await.unwrap().text, "next", "the aborted run never reached the model");
}

#[tokio::test]
async fn aborted_messages_are_not_sent_again() {
    let agent = scripted(json!([[{ "delta": "half" }, { "delta": "more" }, end("stop")], says("fresh")]));
    aborted_at(&agent, "text_delta half").await;
    assert_eq!(agent.prompt("again").await.unwrap().text, "fresh");
    let roles: Vec<_> = agent.messages().iter().map(|message| message.role().to_owned()).collect();
    assert_eq!(roles, ["user", "assistant", "user", "assistant"], "but they stay in the transcript");
}

#[tokio::test]
async fn a_tool_that_never_answers_holds_virtual_time_up_but_not_the_abort() {
    let agent = scripted(json!([[call("a", "deaf", json!({})), end("tool_use")]]))
        .tool(tool("deaf", |_, call| async move {
            call.update(json!("here"));
            std::future::pending::<()>().await;
            Ok(json!("never"))
        }))
        .unwrap()
        .abort_grace_ms(20);
    let (_, result) = aborted_at(&agent, "tool_execution_update a here").await;
    assert_eq!(results(&result), [("aborted".into(), true)]);
}

#[test]
fn a_shutdown_gets_past_a_reader_that_reads_no_more() {
    let runtime = agent_loop::Runtime::new().unwrap();
    let many: Vec<Value> = (0..3000).map(|i| json!({ "delta": format!("{i} ") })).collect();
    let agent = scripted(json!([many])).runtime(&runtime);
    let run = agent.stream("go").unwrap();
    assert!(runtime.shutdown(std::time::Duration::from_secs(60)), "the full queue did not keep the run");
    assert_eq!(run.finished().unwrap().outcome, Outcome::Aborted);
}
