//! Turns: what a run shows, in which order, and how it ends.

use agent_loop::{ExecutionMode, Outcome, StopReason};
use serde_json::{Value, json};

use super::*;

async fn echo(arguments: Value, _: ToolContext) -> Result<Value, String> {
    Ok(arguments)
}

#[tokio::test]
async fn a_plain_prompt() {
    let agent = scripted(json!([says("Hello")]));
    let (events, result) = play(&agent).await;
    check(&agent, &events);
    let expected = [
        "agent_start",
        "turn_start",
        "message_start user",
        "message_end user",
        "message_start assistant",
        "text_start",
        "text_delta Hello",
        "text_end",
        "message_end assistant stop",
        "turn_end",
        "agent_end completed",
    ];
    assert_eq!(briefs(&events), expected);
    assert_eq!((result.outcome, result.text.as_str(), result.turns), (Outcome::Completed, "Hello", 1));
    assert_eq!(events[0].turn, 0, "agent_start stands before the first turn");
    assert!(events[1..].iter().all(|event| event.turn == 1));
}

#[tokio::test]
async fn a_tool_call_is_a_turn_and_its_answer_the_next() {
    let agent = scripted(json!([[call("c1", "echo", json!({ "n": 1 })), end("tool_use")], says("done")]))
        .tool(tool("echo", echo))
        .unwrap();
    let (events, result) = play(&agent).await;
    check(&agent, &events);
    let expected = [
        "agent_start",
        "turn_start",
        "message_start user",
        "message_end user",
        "message_start assistant",
        "tool_call_start",
        "tool_call_delta {\"n\":1}",
        "tool_call_end",
        "message_end assistant tool_use",
        "tool_execution_start c1",
        "tool_execution_end c1 {\"n\":1}",
        "message_start result c1",
        "message_end result c1",
        "turn_end",
        "turn_start",
        "message_start assistant",
        "text_start",
        "text_delta done",
        "text_end",
        "message_end assistant stop",
        "turn_end",
        "agent_end completed",
    ];
    assert_eq!(briefs(&events), expected);
    assert_eq!(result.turns, 2);
    let roles: Vec<_> = result.messages.iter().map(|message| message.role()).collect();
    assert_eq!(roles, ["user", "assistant", "tool_result", "assistant"]);
}

#[tokio::test]
async fn calls_count_whatever_the_stop_reason_says() {
    let agent = scripted(json!([[call("c1", "echo", json!({})), end("stop")], says("done")])).tool(tool("echo", echo)).unwrap();
    assert_eq!(play(&agent).await.1.turns, 2);
}

#[tokio::test]
async fn a_message_cut_by_length_executes_nothing() {
    let agent = scripted(json!([
        [call("c1", "echo", json!({})), { "delta": { "type": "tool_call_start", "id": "c2", "name": "echo" } },
         { "delta": { "type": "tool_call_delta", "delta": "{\"n\": " } }, end("length")],
        says("done"),
    ]))
    .tool(tool("echo", |_, _| async { panic!("executed") }))
    .unwrap();
    let (events, result) = play(&agent).await;
    check(&agent, &events);
    let cut = "the message was cut off by the output limit, so this call was not executed; make the call again";
    assert_eq!(results(&result), [(cut.to_owned(), true), (cut.to_owned(), true)]);
    let of_tools = only(&events, &["tool_execution_start", "tool_execution_end", "tool_call_end"]);
    assert_eq!(of_tools.len(), 6, "each call has its block's end, its start and its end: {of_tools:?}");
    let second = result.messages[1].as_assistant().unwrap().tool_calls().nth(1).unwrap().clone();
    assert_eq!((second.arguments.len(), second.raw_arguments.as_deref()), (0, Some("{\"n\": ")));
}

#[tokio::test]
async fn max_turns_ends_a_run_with_work_left() {
    let turn = || json!([call("c", "echo", json!({})), end("tool_use")]);
    let agent = scripted(json!([turn(), turn(), says("later")])).tool(tool("echo", echo)).unwrap().max_turns(2);
    let (events, result) = play(&agent).await;
    check(&agent, &events);
    assert_eq!((result.outcome, result.turns), (Outcome::MaxTurns, 2));
    assert_eq!(results(&result).len(), 2, "the last call too has its result");
    assert!(result.error.is_none());
}

#[tokio::test]
async fn all_tools_asking_for_the_end_stop_the_run_and_some_do_not() {
    let stop = || tool("stop", |_, _| async { Ok(json!({ "content": [], "terminate": true })) });
    let both = json!([[call("a", "stop", json!({})), call("b", "stop", json!({})), end("tool_use")]]);
    assert_eq!(play(&scripted(both).tool(stop()).unwrap()).await.1.outcome, Outcome::Stopped);
    let one = json!([[call("a", "stop", json!({})), call("b", "echo", json!({})), end("tool_use")], says("on")]);
    let agent = scripted(one).tool(stop()).unwrap().tool(tool("echo", echo)).unwrap();
    assert_eq!(play(&agent).await.1.outcome, Outcome::Completed);
}

#[tokio::test]
async fn a_refusal_completes_the_run_without_its_calls() {
    let agent =
        scripted(json!([[{ "delta": "no" }, call("a", "echo", json!({})), end("refusal")]])).tool(tool("echo", echo)).unwrap();
    let (events, result) = play(&agent).await;
    check(&agent, &events);
    assert_eq!(result.outcome, Outcome::Completed);
    let message = result.message.unwrap();
    assert_eq!(message.as_assistant().unwrap().tool_calls().count(), 0);
    assert_eq!(message.as_assistant().unwrap().stop_reason, Some(StopReason::Refusal));
    assert!(only(&events, &["tool_execution_start"]).is_empty());
}

#[tokio::test]
async fn an_error_in_the_stream_keeps_the_text_and_takes_the_calls_out() {
    let agent = scripted(json!([
        [{ "delta": "half" }, call("a", "echo", json!({})), { "delta": "open" },
         { "error": { "kind": "overloaded", "message": "busy now", "http_status": 529, "retryable": true } }],
    ]));
    let (events, result) = play(&agent).await;
    check(&agent, &events);
    let expected = [
        "message_start assistant",
        "text_start",
        "text_delta half",
        "text_end",
        "tool_call_start",
        "tool_call_delta {}",
        "tool_call_end",
        "text_start",
        "text_delta open",
        "message_end assistant error",
        "turn_end",
        "agent_end error",
    ];
    assert_eq!(briefs(&events)[4..], expected, "the open block gets no end");
    let assistant = result.messages[1].as_assistant().unwrap();
    assert_eq!(assistant.text(), "halfopen");
    assert_eq!(assistant.tool_calls().count(), 0);
    let error = result.error.unwrap();
    assert_eq!(assistant.error.as_ref(), Some(&error));
    assert_eq!(error.message(), "busy now");
    assert_eq!((error.http_status(), error.provider()), (Some(529), Some("scripted")));
    assert_eq!(agent.error(), Some(error));
}

#[tokio::test]
async fn a_stream_without_its_closing_event_is_truncated_not_a_success() {
    let (_, result) = play(&scripted(json!([[{ "delta": "half" }]]))).await;
    assert_eq!(result.error.unwrap().kind(), agent_loop::ErrorKind::StreamTruncated);
}

#[tokio::test]
async fn prompt_raises_the_error_with_the_result_inside() {
    let agent = scripted(json!([[{ "delta": "half" }, { "error": { "kind": "server", "message": "broke" } }], says("now")]));
    let error = agent.prompt("go").await.unwrap_err();
    assert_eq!(error.to_string(), "server: broke");
    assert_eq!(error.result().unwrap().text, "half");
    assert_eq!(agent.prompt("again").await.unwrap().text, "now");
    assert_eq!(agent.error(), None, "the next run clears it");
}

#[tokio::test]
async fn sequential_calls_have_their_results_one_by_one() {
    let script = || json!([[call("a", "echo", json!({})), call("b", "echo", json!({})), end("tool_use")], says("done")]);
    let kinds = ["tool_execution_start", "tool_execution_end", "message_start", "message_end"];
    let agent = scripted(script()).tool(tool("echo", echo)).unwrap().tool_execution(ExecutionMode::Sequential);
    let (events, _) = play(&agent).await;
    let expected = [
        "tool_execution_start a",
        "tool_execution_end a {}",
        "message_start result a",
        "message_end result a",
        "tool_execution_start b",
        "tool_execution_end b {}",
        "message_start result b",
        "message_end result b",
    ];
    assert_eq!(only(&events, &kinds)[4..12], expected);
    let agent = scripted(script()).tool(tool("echo", echo)).unwrap();
    let (events, _) = play(&agent).await;
    let ends = only(&events, &["tool_execution_start", "message_end"]);
    assert_eq!(ends[2..6], ["tool_execution_start a", "tool_execution_start b", "message_end result a", "message_end result b"]);
}

#[tokio::test]
async fn the_message_so_far_is_there_when_asked_for() {
    let agent = scripted(json!([
        [{ "delta": { "thinking": "hm" } }, { "delta": "on" }, { "delta": "e" },
         { "delta": { "type": "tool_call_start", "id": "c", "name": "t" } },
         { "delta": { "type": "tool_call_delta", "delta": "{\"a\":" } }, { "delta": { "type": "tool_call_delta", "delta": "1}" } },
         end("length")],
    ]))
    .max_turns(1);
    let (events, _) = play(&agent).await;
    let stream: Vec<&Event> = events.iter().filter(|event| event.partial().is_some()).collect();
    let so_far: Vec<(usize, String)> =
        stream.iter().map(|event| event.partial().unwrap()).map(|m| (m.content.len(), m.text())).collect();
    let start = (0, String::new());
    assert_eq!(so_far.first(), Some(&start), "message_start");
    assert!(so_far.contains(&(2, "on".into())) && so_far.contains(&(2, "one".into())));
    let in_call = stream.iter().find(|e| brief(e) == "tool_call_delta {\"a\":").unwrap().partial().unwrap();
    assert_eq!(in_call.tool_calls().next().unwrap().raw_arguments.as_deref(), Some("{\"a\":"));
    let whole = stream.last().unwrap().partial().unwrap();
    assert_eq!(whole.tool_calls().next().unwrap().arguments["a"], 1);
    // By one handle for the whole message, as hosts that keep only one do it.
    let handle = stream[0].partial_handle().unwrap();
    let updates = stream.iter().filter(|event| matches!(event.data, EventData::MessageUpdate(_)));
    for (step, event) in updates.enumerate() {
        assert_eq!(handle.at(step + 1).message(), event.partial().unwrap(), "{}", brief(event));
    }
}
