//! What the checker takes, and what it refuses.

use serde_json::{Value, json};

use super::check_events;

fn message(stop_reason: &str, content: Value) -> Value {
    let usage = json!({ "input": 1, "output": 2, "cache_read": 0, "cache_write": 0, "reasoning": 0, "total": 3, "cost": null });
    json!({ "role": "assistant", "content": content, "usage": usage, "stop_reason": stop_reason, "timestamp": 5 })
}

/// A run of one call and one answer.
fn run() -> Vec<Value> {
    let user = json!({ "role": "user", "content": [{ "type": "text", "text": "go" }], "timestamp": 1 });
    let call = json!({ "type": "tool_call", "id": "c", "name": "t", "arguments": {} });
    let text = json!({ "type": "text", "text": "done" });
    let empty = json!({ "role": "assistant", "content": [], "usage": {}, "stop_reason": null, "timestamp": 5 });
    let result = json!({ "role": "tool_result", "tool_call_id": "c", "tool_name": "t", "content": [], "is_error": false });
    let (first, second) = (message("tool_use", json!([call])), message("stop", json!([text])));
    let usage = json!({ "input": 2, "output": 4, "cache_read": 0, "cache_write": 0, "reasoning": 0, "total": 6, "cost": null });
    let mut events = vec![
        json!({ "type": "agent_start" }),
        json!({ "type": "turn_start" }),
        json!({ "type": "message_start", "message": user }),
        json!({ "type": "message_end", "message": user }),
        json!({ "type": "retry", "attempt": 1, "delay_ms": 5, "error": {} }),
        json!({ "type": "message_start", "message": empty }),
        json!({ "type": "tool_call_start", "content_index": 0, "id": "c", "name": "t" }),
        json!({ "type": "tool_call_end", "content_index": 0, "block": call }),
        json!({ "type": "message_end", "message": first }),
        json!({ "type": "tool_execution_start", "tool_call_id": "c", "tool_name": "t", "arguments": {} }),
        json!({ "type": "diagnostic", "code": "x", "message": "", "data": null }),
        json!({
            "type": "tool_execution_end", "tool_call_id": "c", "tool_name": "t", "result": {}, "is_error": false,
            "duration_ms": 0,
        }),
        json!({ "type": "message_start", "message": result }),
        json!({ "type": "message_end", "message": result }),
        json!({ "type": "turn_end", "message": first, "tool_results": [result] }),
        json!({ "type": "turn_start" }),
        json!({ "type": "message_start", "message": empty }),
        json!({ "type": "text_start", "content_index": 0 }),
        json!({ "type": "text_delta", "content_index": 0, "delta": "done" }),
        json!({ "type": "text_end", "content_index": 0, "block": text }),
        json!({ "type": "message_end", "message": second }),
        json!({ "type": "turn_end", "message": second, "tool_results": [] }),
        json!({
            "type": "agent_end", "messages": [user, first, result, second], "outcome": "completed", "turns": 2, "usage": usage,
            "queued": 0,
        }),
    ];
    number(&mut events);
    events
}

/// Gives events the numbers of their places.
fn number(events: &mut [Value]) {
    let mut turn = 0;
    for (seq, event) in events.iter_mut().enumerate() {
        turn += u32::from(event["type"] == "turn_start");
        event["run_id"] = json!("r");
        event["seq"] = json!(seq);
        event["turn"] = json!(turn);
    }
}

#[test]
fn a_good_stream_is_taken() {
    check_events(&run()).unwrap();
}

#[test]
fn no_event_can_be_left_out_but_the_additive_ones() {
    for at in 0..run().len() {
        let mut events = run();
        let left_out = events.remove(at);
        number(&mut events);
        let additive = ["retry", "diagnostic"].iter().any(|kind| left_out["type"] == *kind);
        assert_eq!(check_events(&events).is_ok(), additive, "without {left_out}");
    }
}

#[test]
fn no_event_can_come_twice_but_the_additive_ones() {
    for at in 0..run().len() {
        let mut events = run();
        let twice = events[at].clone();
        events.insert(at, twice.clone());
        number(&mut events);
        let additive = ["retry", "diagnostic"].iter().any(|kind| twice["type"] == *kind);
        assert_eq!(check_events(&events).is_ok(), additive, "twice {twice}");
    }
}

#[test]
fn what_is_wrong_is_named() {
    let wrong = |at: usize, field: &str, value: Value| {
        let mut events = run();
        events[at][field] = value;
        check_events(&events).unwrap_err().message().to_owned()
    };
    assert_eq!(wrong(3, "seq", json!(7)), "events[3] (message_end): seq is 7, and must be 3");
    assert_eq!(wrong(3, "turn", json!(7)), "events[3] (message_end): turn is 7, and must be 1");
    assert_eq!(wrong(3, "run_id", json!("x")), "events[3] (message_end): run_id is \"x\", and must be \"r\"");
    assert_eq!(wrong(18, "delta", json!("don")), "events[19] (text_end): block: text is \"done\", and must be \"don\"");
    assert_eq!(wrong(2, "type", json!("odd")), "events[2] (odd): unknown type \"odd\"");
    assert_eq!(
        wrong(22, "outcome", json!("error")),
        "events[22] (agent_end): error must be there if the outcome is error or aborted, and only then"
    );
    assert_eq!(wrong(14, "tool_results", json!([])).split(" is ").next(), Some("events[14] (turn_end): tool_results"));
}

#[test]
fn one_model_call_leaves_its_calls() {
    let (prompt, turn) = (2..4, 9..14);
    let mut events = run();
    let (user, answer) = (events[3]["message"].clone(), events[8]["message"].clone());
    let mut end = events.pop().unwrap();
    events.truncate(15);
    events.drain(turn);
    events.last_mut().unwrap()["tool_results"] = json!([]);
    (end["messages"], end["usage"]) = (json!([user, answer]), answer["usage"].clone());
    end["turns"] = json!(1);
    events.push(end);
    number(&mut events);
    let left = "events[9] (turn_end): the call \"c\" has no result";
    assert_eq!(check_events(&events).unwrap_err().message(), left, "a run with a prompt executes its calls");

    events.drain(prompt);
    events.last_mut().unwrap()["messages"] = json!([answer]);
    number(&mut events);
    check_events(&events).unwrap();

    events.insert(8, events[1].clone());
    number(&mut events);
    let another = "events[8] (turn_start): the turn before has left its calls without results, as only one model call does";
    assert_eq!(check_events(&events).unwrap_err().message(), another);
}

#[test]
fn only_a_budget_leaves_a_turn_without_an_answer() {
    let ended = |outcome: &str, more: &[Value]| {
        let mut events = run();
        events.truncate(15);
        events.extend([json!({ "type": "turn_start" }), json!({ "type": "turn_end", "message": null, "tool_results": [] })]);
        events.extend(more.iter().cloned());
        let messages: Vec<Value> = [3, 8, 13].iter().map(|at| events[*at]["message"].clone()).collect();
        let usage = messages[1]["usage"].clone();
        let turns = events.iter().filter(|event| event["type"] == "turn_start").count();
        events.push(json!({
            "type": "agent_end", "messages": messages, "outcome": outcome, "turns": turns, "usage": usage, "queued": 0,
        }));
        number(&mut events);
        check_events(&events).map_err(|error| error.message().to_owned())
    };
    assert_eq!(ended("budget", &[]), Ok(()));
    let text = "events[17] (agent_end): a turn without the assistant's message may come only before the outcome budget";
    assert_eq!(ended("completed", &[]), Err(text.to_owned()));
    let text = "events[17] (turn_start): the turn before has no answer, as only the last one of a budget does";
    assert_eq!(ended("budget", &[json!({ "type": "turn_start" })]), Err(text.to_owned()));
}
