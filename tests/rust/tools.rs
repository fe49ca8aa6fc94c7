//! Tools: what they get, what may go wrong, and what the model hears of it.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use agent_loop::{ErrorKind, ToolSpec, Validation};
use serde_json::json;

use super::*;

fn number_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "n": { "type": "number" }, "yes": { "type": "boolean" }, "word": { "type": "string" },
            "maybe": { "anyOf": [{ "type": "integer" }, { "type": "null" }] },
        },
        "required": ["n"], "additionalProperties": false,
    })
}

fn picky() -> impl Tool {
    let echo = |arguments: Value, _: ToolContext| async move { Ok::<_, String>(arguments) };
    FnTool::new("picky", "Takes numbers.", number_schema(), echo).unwrap()
}

/// What the model hears of one call.
async fn answer_to(agent: Agent) -> (String, bool) {
    let (events, result) = play(&agent).await;
    check(&agent, &events);
    results(&result).remove(0)
}

fn one_call(name: &str, arguments: Value) -> Agent {
    scripted(json!([[call("c", name, arguments), end("tool_use")], says("done")]))
}

#[tokio::test]
async fn an_unknown_tool_is_answered_with_the_names_there_are() {
    let agent = one_call("pick", json!({})).tool(picky()).unwrap().tool(tool("other", |_, _| async { Ok(json!(1)) })).unwrap();
    assert_eq!(answer_to(agent).await, ("there is no tool named \"pick\"; the tools are: picky, other".into(), true));
}

#[tokio::test]
async fn arguments_that_are_not_an_object_are_shown_back() {
    let answer = answer_to(one_call("picky", json!("{\"n\": 1")).tool(picky()).unwrap()).await;
    assert_eq!(answer, ("the arguments of picky are not a JSON object: {\"n\": 1".into(), true));
}

#[tokio::test]
async fn raw_control_characters_and_bad_escapes_are_repaired() {
    let echo = || tool("echo", |arguments, _| async { Ok(arguments) });
    let answer = answer_to(one_call("echo", json!("{\"a\":\"x\ny\\d\\ud800!\"}")).tool(echo()).unwrap()).await;
    assert_eq!(answer, ("{\"a\":\"x\\ny\\\\d\u{FFFD}!\"}".into(), false));
    let answer = answer_to(one_call("echo", json!("  ")).tool(echo()).unwrap()).await;
    assert_eq!(answer, ("{}".into(), false), "no text at all is an empty object");
}

#[tokio::test]
async fn each_violation_is_told_with_its_pointer() {
    let answer = answer_to(one_call("picky", json!({ "yes": "maybe", "extra": 1 })).tool(picky()).unwrap()).await;
    let expected = "the arguments of picky do not fit its schema:\n/n: is required\n/yes: \"maybe\" is not of type \"boolean\"\n\
        /extra: is not a parameter";
    let mut lines: Vec<&str> = answer.0.lines().collect();
    let mut wanted: Vec<&str> = expected.lines().collect();
    lines.sort_unstable();
    wanted.sort_unstable();
    assert_eq!((lines, answer.1), (wanted, true));
}

#[tokio::test]
async fn strings_become_numbers_and_booleans_where_the_schema_asks() {
    let given = json!({ "n": "1.50", "yes": "true", "word": "7", "maybe": "3" });
    let answer = answer_to(one_call("picky", given.clone()).tool(picky()).unwrap()).await;
    assert_eq!(answer, ("{\"n\":1.5,\"yes\":true,\"word\":\"7\",\"maybe\":3}".into(), false));
    let strict = one_call("picky", given.clone()).tool(picky()).unwrap().validation(Validation::Strict);
    assert!(answer_to(strict).await.1, "strict takes them as they are");
    let off = one_call("picky", given.clone()).tool(picky()).unwrap().validation(Validation::Off);
    assert_eq!(answer_to(off).await, (given.to_string(), false));
}

#[tokio::test]
async fn events_show_the_models_own_arguments() {
    let agent = one_call("picky", json!({ "n": "2" })).tool(picky()).unwrap();
    let (events, _) = play(&agent).await;
    let start = events.iter().find(|event| event.kind() == "tool_execution_start").unwrap();
    assert!(start.to_json().contains("\"arguments\":{\"n\":\"2\"}"));
}

#[tokio::test]
async fn a_tool_that_fails_panics_or_forgets() {
    let fails = tool("t", |_, _| async { Err("no such city".to_owned()) });
    assert_eq!(answer_to(one_call("t", json!({})).tool(fails).unwrap()).await, ("no such city".into(), true));
    let panics = tool("t", |_, _| async { panic!("kaput {}", 7) });
    assert_eq!(answer_to(one_call("t", json!({})).tool(panics).unwrap()).await, ("the tool panicked: kaput 7".into(), true));

    struct Forgets(ToolSpec, bool);
    impl Tool for Forgets {
        fn spec(&self) -> &ToolSpec {
            &self.0
        }
        fn start(&self, call: agent_loop::PendingCall) {
            assert!(self.1, "a panic before the answer");
            drop(call);
        }
    }
    let spec = || ToolSpec::new("t", "", json!({ "type": "object" })).unwrap();
    let forgot = answer_to(one_call("t", json!({})).tool(Forgets(spec(), true)).unwrap()).await;
    assert_eq!(forgot, ("the tool t dropped the call without an answer".into(), true));
    let panicked = answer_to(one_call("t", json!({})).tool(Forgets(spec(), false)).unwrap()).await;
    assert_eq!(panicked, ("the tool panicked: a panic before the answer".into(), true));
}

#[tokio::test]
async fn plain_values_and_full_results() {
    for (value, text, is_error) in [
        (json!("as it is"), "as it is", false),
        (json!(null), "", false),
        (json!({ "b": 1.5, "a": "é" }), "{\"b\":1.5,\"a\":\"é\"}", false),
        (json!([1, 2]), "[1,2]", false),
        (json!({ "content": [{ "type": "text", "text": "full" }], "details": { "x": 1 }, "is_error": true }), "full", true),
        (json!({ "content": "not an array" }), "{\"content\":\"not an array\"}", false),
        (json!({ "content": [1] }), "{\"content\":[1]}", false),
    ] {
        let given = value.clone();
        let agent = one_call("t", json!({}))
            .tool(tool("t", move |_, _| {
                let v = given.clone();
                async { Ok(v) }
            }))
            .unwrap();
        assert_eq!(answer_to(agent).await, (text.to_owned(), is_error), "{value}");
    }
}

#[tokio::test]
async fn parallel_calls_finish_as_they_like_and_answer_in_order() {
    let slow = tool("t", |arguments, call| async move {
        call.sleep(arguments["ms"].as_u64().unwrap()).await;
        Ok(arguments["ms"].clone())
    });
    let agent = scripted(json!([
        [
            call("a", "t", json!({ "ms": 30 })),
            call("b", "t", json!({ "ms": 10 })),
            call("c", "t", json!({ "ms": 20 })),
            end("tool_use")
        ],
        says("done"),
    ]))
    .tool(slow)
    .unwrap();
    let (events, result) = play(&agent).await;
    check(&agent, &events);
    let ends = only(&events, &["tool_execution_end"]);
    assert_eq!(ends, ["tool_execution_end b 10", "tool_execution_end c 20", "tool_execution_end a 30"]);
    let answers: Vec<String> = results(&result).into_iter().map(|(text, _)| text).collect();
    assert_eq!(answers, ["30", "10", "20"]);
    let durations: Vec<u64> = events
        .iter()
        .filter_map(|event| match &event.data {
            EventData::ToolExecutionEnd { duration_ms, .. } => Some(*duration_ms),
            _ => None,
        })
        .collect();
    assert_eq!(durations, [10, 20, 30], "in virtual time, exactly");
}

#[tokio::test]
async fn no_more_run_at_once_than_allowed() {
    let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let seen = Arc::clone(&most);
    let counts = tool("t", move |_, call| {
        let (now, most) = (Arc::clone(&now), Arc::clone(&most));
        async move {
            most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            call.sleep(10).await;
            now.fetch_sub(1, Ordering::SeqCst);
            Ok(json!(null))
        }
    });
    let mut answer: Vec<Value> = (0..9).map(|i| call(&format!("c{i}"), "t", json!({}))).collect();
    answer.push(end("tool_use"));
    let agent = scripted(json!([answer, says("done")])).tool(counts).unwrap().max_parallel_tools(3);
    let (events, result) = play(&agent).await;
    check(&agent, &events);
    assert_eq!(results(&result).len(), 9);
    assert_eq!(seen.load(Ordering::SeqCst), 3);
}

#[tokio::test]
async fn updates_come_in_order_before_the_end_and_late_ones_are_told() {
    let agent = one_call("t", json!({}))
        .tool(tool("t", |_, call| async move {
            call.update(json!("one"));
            call.update(json!({ "content": [{ "type": "text", "text": "two" }], "details": 2 }));
            let late = call.clone();
            tokio::spawn(async move {
                // The run waits for the second call below, so this one is late but not too late to be told.
                late.sleep(1).await;
                late.update(json!("late"));
            });
            Ok(json!("end"))
        }))
        .unwrap();
    let (events, _) = play(&agent).await;
    check(&agent, &events);
    let said = only(&events, &["tool_execution_update", "tool_execution_end"]);
    assert_eq!(said, ["tool_execution_update c one", "tool_execution_update c two", "tool_execution_end c end"]);

    // While the batch goes on, a late update is a diagnostic.
    let (sender, receiver) = tokio::sync::oneshot::channel::<ToolContext>();
    let (sender, receiver) = (std::sync::Mutex::new(Some(sender)), std::sync::Mutex::new(Some(receiver)));
    let agent = scripted(json!([[call("a", "first", json!({})), call("b", "second", json!({})), end("tool_use")], says("done")]))
        .tool(tool("first", move |_, call| {
            sender.lock().unwrap().take().unwrap().send(call).ok();
            async { Ok(json!(1)) }
        }))
        .unwrap()
        .tool(tool("second", move |_, call| {
            let receiver = receiver.lock().unwrap().take().unwrap();
            async move {
                let first = receiver.await.unwrap();
                call.sleep(5).await;
                first.update(json!("late"));
                call.sleep(5).await;
                Ok(json!(2))
            }
        }))
        .unwrap();
    let (events, _) = play(&agent).await;
    check(&agent, &events);
    assert_eq!(only(&events, &["diagnostic", "tool_execution_update"]), ["diagnostic late_update"]);
}

#[tokio::test]
async fn a_blocking_tool_has_a_thread_of_its_own() {
    struct Blocks(ToolSpec);
    impl Tool for Blocks {
        fn spec(&self) -> &ToolSpec {
            &self.0
        }
        fn may_block(&self) -> bool {
            true
        }
        fn start(&self, call: agent_loop::PendingCall) {
            std::thread::sleep(Duration::from_millis(20));
            call.respond(json!("slept"));
        }
    }
    // On a runtime of one thread, two of them would otherwise stand in each other's way and in the run's.
    let agent = scripted(json!([[call("a", "b", json!({})), call("b", "b", json!({})), end("tool_use")], says("done")]))
        .tool(Blocks(ToolSpec::new("b", "", json!({ "type": "object" })).unwrap()))
        .unwrap();
    let (_, result) = play(&agent).await;
    assert_eq!(results(&result), [("slept".into(), false), ("slept".into(), false)]);
}

#[tokio::test]
async fn calls_without_an_id_or_with_a_repeated_one_get_their_own() {
    let agent = scripted(json!([
        [call("x", "t", json!({})), call("x", "t", json!({})), call("", "t", json!({})), end("tool_use")],
        says("done"),
    ]))
    .tool(tool("t", |_, call| async move { Ok(json!(call.id())) }))
    .unwrap();
    let (events, result) = play(&agent).await;
    check(&agent, &events);
    let ids: Vec<String> = results(&result).into_iter().map(|(id, _)| id).collect();
    assert_eq!(ids, ["x", "call_1_1", "call_1_2"]);
    assert_eq!(only(&events, &["diagnostic"]).len(), 2);
}

#[test]
fn what_is_wrong_with_a_tool_is_said_when_it_is_made() {
    let error = |name: &str, parameters: Value| ToolSpec::new(name, "", parameters).unwrap_err();
    for (name, parameters, text) in [
        ("a b", json!({}), "tool name \"a b\": use 1 to 64 letters, digits, '_' or '-' (what every provider takes)"),
        (
            "t",
            json!("x"),
            "tool \"t\": parameters is not a JSON Schema: expected an object such as {\"type\": \"object\", \"properties\": {…}}, got \"x\"",
        ),
        (
            "t",
            json!({ "type": "string" }),
            "tool \"t\": parameters is not a JSON Schema: at \"/type\": arguments are an object, so this must be \"object\", not \"string\"",
        ),
    ] {
        let error = error(name, parameters);
        assert_eq!((error.kind(), error.message()), (ErrorKind::InvalidArgument, text));
    }
    let nonsense = error("t", json!({ "type": "object", "properties": { "a": { "type": "numbr" } } }));
    assert!(
        nonsense.message().starts_with("tool \"t\": parameters is not a JSON Schema: at \"/properties/a/type\": "),
        "{nonsense}"
    );
    let unknown = ToolSpec::from_json(json!({ "name": "t", "paramters": {} })).unwrap_err();
    assert!(unknown.message().contains("paramters"), "{unknown}");
    let twice = scripted(json!([])).tool(picky()).unwrap().tool(picky()).unwrap_err();
    assert_eq!(twice.message(), "there are two tools named \"picky\"; give each its own name");
}

#[tokio::test]
async fn one_tool_may_sleep_twice_at_once() {
    let agent = one_call("t", json!({}))
        .tool(tool("t", |_, call| async move {
            let (first, second) = tokio::join!(call.sleep(10), call.sleep(20));
            Ok(json!([first, second]))
        }))
        .unwrap();
    assert_eq!(answer_to(agent).await, ("[true,true]".into(), false));
}

#[tokio::test]
async fn what_the_model_was_offered_is_what_it_can_call() {
    let agent = scripted(json!([
        [call("a", "t", json!({})), call("b", "t", json!({})), end("tool_use")],
        [call("c", "t", json!({})), end("tool_use")],
        says("done"),
    ]))
    .tool(tool("t", |_, _| async { Ok(json!("ran")) }))
    .unwrap();
    let target = agent.clone();
    let _subscription = agent.subscribe(move |event| {
        if brief(event) == "tool_execution_start a" {
            target.remove_tool("t");
        }
    });
    let (_, result) = play(&agent).await;
    let gone = "there is no tool named \"t\"; the tools are: none".to_owned();
    assert_eq!(results(&result), [("ran".into(), false), ("ran".into(), false), (gone, true)]);
}

#[tokio::test]
async fn what_a_tool_owns_may_call_its_agent_when_it_goes() {
    struct Owner(ToolSpec, Agent);
    impl Tool for Owner {
        fn spec(&self) -> &ToolSpec {
            &self.0
        }
        fn start(&self, call: agent_loop::PendingCall) {
            call.respond(json!(null));
        }
    }
    impl Drop for Owner {
        fn drop(&mut self) {
            assert!(self.1.tools().is_empty());
        }
    }
    let agent = scripted(json!([]));
    let spec = ToolSpec::new("t", "", json!({ "type": "object" })).unwrap();
    agent.add_tool(Arc::new(Owner(spec, agent.clone()))).unwrap();
    assert!(agent.remove_tool("t"));
}
