//! One model call, without a loop.

use std::future::ready;

use agent_loop::{AssistantMessage, CallSettings, CancelToken, ErrorKind, Outcome, StopReason, ToolSet, ToolSpec, complete};

use super::support::*;

fn spec(name: &str) -> ToolSpec {
    ToolSpec::new(name, "A tool.", json!({ "type": "object" })).unwrap()
}

/// What `on_payload` got of the calls of this agent: the system prompt, the texts and the names of the tools.
fn recording(script: Value) -> (AgentBuilder, Arc<std::sync::Mutex<Vec<String>>>) {
    let seen = Arc::<std::sync::Mutex<Vec<String>>>::default();
    let record = Arc::clone(&seen);
    let builder = builder(script).on_payload(move |request, _| {
        let payload = &request.payload;
        let texts = payload["messages"].as_array().unwrap().iter().map(|message| message["content"][0]["text"].clone());
        let tools = payload["tools"].as_array().into_iter().flatten().map(|tool| tool["name"].clone());
        let line = json!([payload["system_prompt"], texts.collect::<Vec<_>>(), tools.collect::<Vec<_>>()]);
        record.lock().unwrap().push(line.to_string());
        ready(Ok::<_, String>(None))
    });
    (builder, seen)
}

#[tokio::test]
async fn a_model_and_a_text_are_enough() {
    let model = json!({ "provider": "scripted", "id": "s", "script": [says("Hello.")] }).to_string();
    let answer: AssistantMessage = complete(model.as_str(), "Hi.").await.unwrap();
    assert_eq!((answer.text().as_str(), answer.stop_reason), ("Hello.", Some(StopReason::Stop)));
}

#[tokio::test]
async fn an_agent_gives_its_options_and_is_not_used() {
    let (builder, seen) = recording(json!([says("one"), says("two"), says("three")]));
    let builder = builder.system_prompt("Be brief.").tool(tool("t", |_, _| async { Ok(json!("ran")) })).max_turns(1);
    let agent = builder.build().unwrap();
    agent.steer("for the agent").unwrap();
    assert_eq!(complete(&agent, "Hi.").await.unwrap().text(), "one");

    let history = vec![Arc::new(Message::user("before", 0))];
    let own = || complete(&agent, "after").history(history.clone()).system_prompt("Be long.").tools([spec("own")]);
    assert_eq!(own().await.unwrap().text(), "two");
    assert_eq!(complete(agent.clone(), "Hi.").tools(ToolSet::default().specs()).await.unwrap().text(), "three");
    let expected =
        [r#"["Be brief.",["Hi."],["t"]]"#, r#"["Be long.",["before","after"],["own"]]"#, r#"["Be brief.",["Hi."],[]]"#];
    assert_eq!(*seen.lock().unwrap(), expected);
    assert!(agent.messages().is_empty() && agent.has_queued_messages());
}

#[tokio::test]
async fn its_events_are_those_of_a_run_of_one_turn() {
    let script = json!([[call("a", "t", json!({ "n": 1 })), end("tool_use")]]);
    let ran = |_, _| async { Err("it must not run".to_owned()) };
    let agent = builder(script).tool(tool("t", ran)).build().unwrap();
    let (events, result) = all(complete(&agent, "go").stream().unwrap()).await;
    let kinds: Vec<_> = events.iter().map(brief).collect();
    assert_eq!(kinds.first().map(String::as_str), Some("agent_start"));
    assert_eq!(kinds.iter().filter(|kind| kind.starts_with("message_end")).count(), 1, "{kinds:?}");
    assert!(!kinds.iter().any(|kind| kind.starts_with("tool_execution")), "{kinds:?}");
    assert_eq!((result.outcome, result.stop_reason, result.turns), (Outcome::Completed, Some(StopReason::ToolUse), 1));
    let events: Vec<Value> = events.iter().map(|event| serde_json::from_str(&event.to_json()).unwrap()).collect();
    agent_loop::testing::check_events(&events).unwrap();
}

#[tokio::test]
async fn a_failed_call_is_an_error_with_its_message() {
    let script = json!([[{ "delta": "Well," }, { "error": { "kind": "server", "message": "broken" } }]]);
    let error = complete(scripted(script), "go").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Server);
    assert_eq!(error.result().unwrap().text, "Well,");
}

#[tokio::test]
async fn an_aborted_call_is_its_message() {
    let agent = scripted(json!([says("next")]));
    let answer = complete(&agent, "go").abort_on(ready(())).await.unwrap();
    assert_eq!((answer.stop_reason, answer.text().as_str()), (Some(StopReason::Aborted), ""));
    let run = complete(&agent, "go").abort_on(CancelToken::new()).stream().unwrap();
    assert_eq!(all(run).await.1.text, "next", "the model was not called before");
}

#[tokio::test]
async fn it_takes_no_further_messages() {
    let run = complete(scripted(json!([says("Done.")])), "go").stream().unwrap();
    for (name, queued) in [("steer", run.steer("More.")), ("follow_up", run.follow_up("More."))] {
        let error = queued.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidState);
        assert_eq!(error.message(), format!("{name}: one model call takes no further messages; make another call with them"));
    }
    let (_, result) = all(run).await;
    assert_eq!((result.text.as_str(), result.turns), ("Done.", 1));
}

#[tokio::test]
async fn what_is_wrong_is_said_when_it_begins() {
    let refused = |settings: CallSettings, messages: Vec<Message>| async {
        complete(settings, messages).await.unwrap_err().message().to_owned()
    };
    let agent = scripted(json!([]));
    assert!(refused("nonsense".into(), vec![]).await.contains("\"nonsense\""));
    let nothing = "messages: there is nothing to answer; give at least one message of a user";
    assert_eq!(refused((&agent).into(), vec![]).await, nothing);
    let twice = Message::from_json(json!({ "role": "user", "content": "a", "id": "x" })).unwrap();
    let error = refused(agent.clone().into(), vec![twice.clone(), twice]).await;
    assert!(error.starts_with("messages: ") && error.contains("\"x\""), "{error}");
    let tools = [spec("a"), spec("b"), spec("a")];
    let error = complete(&agent, "go").tools(tools).await.unwrap_err();
    assert_eq!(error.message(), "there are two tools named \"a\"; give each its own name");
}

#[tokio::test]
async fn it_is_sent_to_another_task_and_begun_once() {
    let mut call = complete(scripted(json!([says("Done.")])), "go");
    assert_eq!(format!("{call:?}"), "Completion { has_begun: false, .. }");
    assert_eq!((&mut call).await.unwrap().text(), "Done.");
    assert_eq!(format!("{call:?}"), "Completion { has_begun: true, .. }");
    assert_eq!(call.stream().unwrap_err().kind(), ErrorKind::InvalidState);
    let call = complete(scripted(json!([says("There.")])), "go");
    assert_eq!(tokio::spawn(call).await.unwrap().unwrap().text(), "There.");
}
