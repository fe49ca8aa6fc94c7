//! What the sources say, as runs.

use serde_json::{Value, json};

use super::run::Run;
use super::{events, journal, page, recording};

/// The entries of a run of one kind, as the page gets them.
fn of_kind(run: &Run, kind: &str) -> Vec<Value> {
    run.entries.iter().map(|entry| json!(entry)).filter(|entry| entry["kind"] == kind).collect()
}

fn answer(at: u64, calls: &[&str]) -> Value {
    let calls = calls.iter().map(|id| json!({ "type": "tool_call", "id": id, "name": "weather", "arguments": {} }));
    let content: Vec<Value> = calls.collect();
    json!({ "role": "assistant", "content": content, "provider": "own", "model": "m", "usage": { "output": 7 },
        "stop_reason": "tool_use", "timestamp": at })
}

fn result(id: &str) -> Value {
    json!({ "role": "tool_result", "tool_call_id": id, "tool_name": "weather", "content": [], "is_error": false })
}

fn user(text: &str) -> Value {
    json!({ "role": "user", "content": [{ "type": "text", "text": text }], "timestamp": 0 })
}

#[test]
fn a_journal_has_turns_calls_and_what_they_waited_for() {
    let message = |at: u64, message: Value| json!({ "at": at, "kind": "message", "message": message });
    let start = |at: u64, id: &str| json!({ "at": at, "kind": "tool_start", "tool_call_id": id, "tool_name": "weather" });
    let end =
        |at: u64, id: &str| json!({ "at": at, "kind": "tool_answer", "tool_call_id": id, "result": {}, "is_error": id == "b" });
    let (id, title, runs) = journal::read(&[
        json!({ "at": 1, "kind": "session", "id": "s" }),
        json!({ "at": 2, "kind": "info", "title": "Weather" }),
        json!({ "at": 100, "kind": "run_start", "run_id": "r", "of": "prompt" }),
        message(100, user("Rain?")),
        message(900, answer(300, &["a", "b", "c"])),
        start(900, "a"),
        json!({ "at": 950, "kind": "queued", "queue": "steering", "number": 1, "message": user("Be quick.") }),
        end(1_000, "a"),
        start(1_000, "b"),
        end(1_200, "b"),
        message(1_200, result("a")),
        message(1_200, result("b")),
        message(1_200, result("c")),
        json!({ "at": 1_201, "kind": "message", "message": user("Be quick."), "queue": { "queue": "steering", "number": 1 } }),
        message(1_500, answer(1_201, &[])),
        json!({ "at": 1_501, "kind": "run_end", "run_id": "r", "outcome": "completed", "usage": { "output": 14 }, "turns": 2 }),
    ]);
    assert_eq!((id.as_str(), title.as_deref(), runs.len()), ("s", Some("Weather"), 1));
    let run = &runs[0];
    assert_eq!(
        (run.of.as_str(), run.start, run.end, run.turns, run.outcome.as_deref()),
        ("prompt", 100, Some(1_501), 2, Some("completed"))
    );
    let models = of_kind(run, "model");
    assert_eq!(models.len(), 2);
    assert_eq!(models[0]["waits"], json!([{ "reason": "before", "start": 100, "end": 300 }]), "its request was made at 300");
    assert_eq!((&models[0]["end"], &models[0]["model"], &models[1]["turn"]), (&json!(900), &json!("own/m"), &json!(2)));
    let tools = of_kind(run, "tool");
    assert_eq!(tools[0]["waits"], json!([]));
    assert_eq!(
        tools[1]["waits"],
        json!([{ "reason": "slot", "start": 900, "end": 1_000 }]),
        "it began when another one had ended"
    );
    assert_eq!((&tools[1]["called"], &tools[1]["end"], &tools[1]["is_error"]), (&json!(1_000), &json!(1_200), &json!(true)));
    assert_eq!((&tools[2]["called"], &tools[2]["end"]), (&Value::Null, &json!(1_200)), "it was skipped");
    let messages = of_kind(run, "message");
    let turns: Vec<u64> = messages.iter().filter_map(|entry| entry["turn"].as_u64()).collect();
    assert_eq!(turns, [1, 1, 1, 1, 1, 2, 2]);
    assert_eq!((&messages[5]["queue"], &of_kind(run, "queued")[0]["at"]), (&json!("steering"), &json!(950)));
}

#[test]
fn a_journal_has_the_first_token_and_what_failed_before_an_answer() {
    let error = json!({ "kind": "overloaded", "message": "later" });
    let retried = |at: u64, attempt: u32| json!({ "at": at, "attempt": attempt, "delay_ms": 400, "error": error });
    let (_, _, runs) = journal::read(&[
        json!({ "at": 100, "kind": "run_start", "run_id": "r", "of": "prompt" }),
        json!({ "at": 100, "kind": "message", "message": user("Rain?") }),
        json!({ "at": 1_900, "kind": "message", "message": answer(1_500, &[]), "first_token_at": 1_700,
            "retries": [retried(300, 1), retried(1_000, 2)] }),
        json!({ "at": 1_901, "kind": "run_end", "run_id": "r", "outcome": "completed", "usage": { "output": 7 }, "turns": 1 }),
    ]);
    let models = of_kind(&runs[0], "model");
    let times: Vec<_> = models.iter().map(|model| json!([model["start"], model["first"], model["end"]])).collect();
    assert_eq!(times, [json!([100, null, 300]), json!([700, null, 1_000]), json!([1_400, 1_700, 1_900])]);
    assert_eq!((&models[1]["error"]["kind"], &models[2]["error"]), (&json!("overloaded"), &Value::Null));
    assert_eq!(models[2]["waits"], json!([{ "reason": "before", "start": 1_400, "end": 1_500 }]));
    let retries: Vec<_> = of_kind(&runs[0], "retry").iter().map(|retry| json!([retry["at"], retry["attempt"]])).collect();
    assert_eq!(retries, [json!([300, 1]), json!([1_000, 2])]);
    let turns = runs[0].entries.iter().map(|entry| json!(entry)["turn"].clone());
    assert!(turns.clone().all(|turn| turn == 1), "{:?}", turns.collect::<Vec<_>>());
}

#[test]
fn a_call_that_waits_for_approval_goes_on_in_the_next_run() {
    let call = json!({ "tool_call_id": "a", "tool_name": "weather", "arguments": {}, "reason": "it costs" });
    let (_, _, runs) = journal::read(&[
        json!({ "at": 10, "kind": "run_start", "run_id": "r1", "of": "prompt" }),
        json!({ "at": 20, "kind": "message", "message": answer(10, &["a"]) }),
        json!({ "at": 21, "kind": "suspended", "calls": [call] }),
        json!({ "at": 22, "kind": "run_end", "run_id": "r1", "outcome": "suspended", "turns": 1 }),
        json!({ "at": 500, "kind": "run_start", "run_id": "r2", "of": "decisions" }),
        json!({ "at": 500, "kind": "decisions", "decisions": { "a": "approve" } }),
        json!({ "at": 501, "kind": "tool_start", "tool_call_id": "a", "tool_name": "weather", "arguments": { "city": "Oslo" } }),
        json!({ "at": 510, "kind": "tool_answer", "tool_call_id": "a", "is_error": false }),
        json!({ "at": 600, "kind": "message", "message": answer(510, &[]) }),
    ]);
    assert_eq!(of_kind(&runs[0], "tool")[0]["waits"], json!([{ "reason": "approval", "start": 21, "end": null }]));
    assert_eq!(of_kind(&runs[0], "approval")[0]["calls"][0]["reason"], "it costs");
    let tool = &of_kind(&runs[1], "tool")[0];
    assert_eq!(tool["waits"], json!([{ "reason": "approval", "start": 21, "end": 500 }]));
    assert_eq!((&tool["name"], &tool["turn"], &tool["arguments"]["city"]), (&json!("weather"), &json!(1), &json!("Oslo")));
    assert_eq!(of_kind(&runs[1], "model")[0]["turn"], 2, "the calls with which a run goes on are its first turn");
}

#[test]
fn a_call_that_waits_for_approval_was_not_called_and_needed_no_slot() {
    let start = |id: &str| json!({ "type": "tool_execution_start", "tool_call_id": id, "tool_name": "weather", "arguments": {} });
    let at = |time: u64, mut event: Value| {
        event["time"] = time.into();
        event
    };
    let runs = events::runs(&[
        at(1, json!({ "type": "agent_start", "run_id": "r" })),
        at(2, json!({ "type": "turn_start", "turn": 1 })),
        at(10, json!({ "type": "message_end", "message": answer(2, &["a", "b"]) })),
        at(11, start("a")),
        at(20, json!({ "type": "tool_execution_end", "tool_call_id": "a", "is_error": false })),
        at(21, start("b")),
        at(22, json!({ "type": "tool_call_suspended", "tool_call_id": "b", "tool_name": "weather", "arguments": {} })),
    ]);
    let waits = &of_kind(&runs[0], "tool")[1];
    assert_eq!((&waits["called"], &waits["waits"]), (&Value::Null, &json!([{ "reason": "approval", "start": 22, "end": null }])));
}

#[test]
fn a_run_that_goes_on_waits_for_its_model_or_a_tool() {
    let start = json!({ "at": 10, "kind": "run_start", "run_id": "r", "of": "prompt" });
    let (_, _, runs) = journal::read(&[start.clone(), json!({ "at": 11, "kind": "message", "message": user("Rain?") })]);
    let models = of_kind(&runs[0], "model");
    assert_eq!((&models[0]["start"], &models[0]["end"], runs[0].end), (&json!(11), &Value::Null, None));
    let (_, _, runs) = journal::read(&[start, json!({ "at": 20, "kind": "message", "message": answer(10, &["a"]) })]);
    assert_eq!(of_kind(&runs[0], "model").len(), 1, "only the one that has asked for the tool");
    assert_eq!(of_kind(&runs[0], "tool")[0]["end"], Value::Null);
}

#[test]
fn a_recording_has_the_first_token_the_limiter_retries_and_hooks() {
    let poll = |at: u64| json!({ "poll": { "at": at, "times": 1 } });
    let event = |event: Value| json!({ "event": event });
    let input = |kind: &str, given: Value| json!({ "input": { kind: given } });
    let error = json!({ "kind": "overloaded", "message": "later" });
    let runs = recording::runs(&[
        json!({ "agent_loop_recording": 1, "start": { "decisions": [["x", { "deny": { "reason": "no" } }]] } }),
        poll(1_000),
        event(json!({ "type": "agent_start", "run_id": "r", "turn": 0 })),
        event(json!({ "type": "turn_start", "turn": 1 })),
        json!({ "request": { "call": 0, "model": "own/m" } }),
        input("ModelEnd", json!({ "call": 0, "result": { "Err": error } })),
        poll(1_100),
        event(json!({ "type": "retry", "attempt": 1, "delay_ms": 400, "error": error })),
        poll(1_500),
        json!({ "request": { "call": 1, "model": "own/m" } }),
        input("ModelWaits", json!({ "call": 1, "wait": {} })),
        poll(1_500),
        input("ModelBegins", json!({ "call": 1 })),
        poll(1_700),
        input("ModelDeltas", json!({ "call": 1, "deltas": [] })),
        poll(2_000),
        input("ModelDeltas", json!({ "call": 1, "deltas": [] })),
        input("Steer", json!([user("Be quick.")])),
        poll(2_100),
        event(json!({ "type": "message_end", "turn": 1, "message": answer(1_500, &["a"]) })),
        json!({ "question": { "question_id": 0, "hook": "before_tool_call" } }),
        input("HookAnswer", json!({ "question_id": 0, "answer": {} })),
        poll(2_300),
        json!({ "tool_call": { "call": 0, "id": "a", "name": "weather", "arguments": {} } }),
        input("ToolDone", json!({ "call": 0, "result": { "Ok": {} } })),
        poll(2_600),
        event(json!({ "type": "tool_execution_end", "tool_call_id": "a", "is_error": true })),
        event(json!({ "type": "agent_end", "outcome": "error", "error": error, "turns": 1 })),
        json!({ "end": { "lines": 27 } }),
    ]);
    let run = &runs[0];
    let models = of_kind(run, "model");
    assert_eq!((&models[0]["end"], &models[0]["error"]["kind"]), (&json!(1_100), &json!("overloaded")));
    assert_eq!(of_kind(run, "retry")[0]["delay_ms"], 400);
    assert_eq!(models[1]["waits"], json!([{ "reason": "limiter", "start": 1_500, "end": 1_700 }]));
    assert_eq!((&models[1]["first"], &models[1]["end"]), (&json!(2_000), &json!(2_100)));
    let tool = &of_kind(run, "tool")[0];
    assert_eq!(tool["waits"], json!([{ "reason": "before_tool_call", "start": 2_100, "end": 2_300 }]));
    assert_eq!((&tool["called"], &tool["end"], &tool["is_error"]), (&json!(2_300), &json!(2_600), &json!(true)));
    assert_eq!(
        (&of_kind(run, "queued")[0]["at"], &of_kind(run, "decisions")[0]["decisions"]["x"]["deny"]["reason"]),
        (&json!(2_100), &json!("no"))
    );
    assert_eq!((run.outcome.as_deref(), run.end), (Some("error"), Some(2_600)));
}

#[test]
fn a_request_without_a_message_is_a_helper_s() {
    let poll = |at: u64| json!({ "poll": { "at": at, "times": 1 } });
    let request = |call: u64| json!({ "request": { "call": call, "model": "own/m" } });
    let runs = recording::runs(&[
        json!({ "agent_loop_recording": 1 }),
        poll(10),
        json!({ "event": { "type": "agent_start", "run_id": "r" } }),
        request(0),
        json!({ "input": { "ModelEnd": { "call": 0, "result": { "Ok": null } } } }),
        poll(20),
        request(1),
        poll(30),
        json!({ "event": { "type": "message_end", "message": answer(20, &[]) } }),
    ]);
    let models = of_kind(&runs[0], "model");
    assert_eq!((&models[0]["is_helper"], &models[0]["end"], &models[1]["is_helper"]), (&json!(true), &json!(20), &json!(false)));
}

#[test]
fn events_have_their_times_or_those_of_their_messages() {
    let event = |kind: &str, time: u64, more: Value| {
        let mut event = json!({ "type": kind, "run_id": "r", "turn": 1, "time": time });
        event.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        event
    };
    let runs = events::runs(&[
        event("agent_start", 100, json!({})),
        event("turn_start", 100, json!({})),
        event("message_start", 400, json!({ "message": answer(100, &[]) })),
        event("message_end", 700, json!({ "message": answer(100, &["a"]) })),
        event("tool_execution_start", 700, json!({ "tool_call_id": "a", "tool_name": "weather", "arguments": {} })),
        event("tool_execution_end", 800, json!({ "tool_call_id": "a", "is_error": false })),
        event("diagnostic", 810, json!({ "code": "odd", "message": "It is odd." })),
    ]);
    let model = &of_kind(&runs[0], "model")[0];
    assert_eq!((&model["start"], &model["first"], &model["end"]), (&json!(100), &json!(400), &json!(700)));
    assert_eq!((&of_kind(&runs[0], "tool")[0]["end"], &of_kind(&runs[0], "note")[0]["code"]), (&json!(800), &json!("odd")));
    let played = [
        json!({ "type": "message_end", "turn": 1, "message": answer(1_234, &["a"]) }),
        json!({ "type": "tool_execution_start", "tool_call_id": "a", "tool_name": "weather", "arguments": {} }),
        json!({ "type": "tool_execution_end", "tool_call_id": "a", "is_error": false, "duration_ms": 66 }),
    ];
    let runs = events::runs(&played);
    assert_eq!(of_kind(&runs[0], "message")[0]["at"], 1_234);
    assert_eq!(of_kind(&runs[0], "tool")[0]["end"], 1_300);
}

#[test]
fn a_page_has_its_data_as_text_and_gives_it_back() {
    let hostile = "</script><script>alert(1)</script><!-- {{nonce}} {{data}}";
    let documents = vec![json!({ "name": hostile, "runs": [] })];
    let text = page::page(&documents, None).unwrap();
    assert_eq!(text.matches("</script>").count(), 2, "that of the data and that of the script");
    assert_eq!(page::data_of(&text), Some(documents.clone()));
    assert!(text.contains("default-src 'none'") && !text.contains("connect-src"));
    assert!(page::page(&documents, Some(1)).unwrap().contains("connect-src 'self'"));
    assert_ne!(page::random().unwrap(), page::random().unwrap());
    assert!(text.len() < 60_000, "{} bytes", text.len());
    assert_eq!(page::data_of("<!doctype html><p>Hello"), None);
}
