use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::*;
use crate::error::ErrorKind;
use crate::event::{Event, EventData};
use crate::testing::check_events;
use crate::tool::FnTool;
use crate::usage::Outcome;

fn scripted(script: Value) -> String {
    let cost = json!({ "input": 1_000_000.0, "output": 1_000_000.0 });
    json!({ "provider": "scripted", "id": "s", "cost": cost, "script": script }).to_string()
}

fn calls(name: &str, ids: &[&str]) -> Value {
    let call = |id: &&str| json!({ "delta": { "tool_call": { "id": id, "name": name, "arguments": { "prompt": id } } } });
    let mut answer: Vec<Value> = ids.iter().map(call).collect();
    answer.push(json!({ "end": { "stop_reason": "tool_use", "usage": { "input": 1, "output": 1 } } }));
    json!(answer)
}

fn says(text: &str) -> Value {
    json!([{ "delta": text }, { "end": { "stop_reason": "stop", "usage": { "input": 2, "output": 3 } } }])
}

fn child(script: Value) -> Agent {
    Agent::new(scripted(script)).unwrap()
}

fn parent(script: Value, tools: Vec<Subagent>) -> Agent {
    let builder = tools.into_iter().fold(Agent::builder(scripted(script)), crate::AgentBuilder::tool);
    builder.build().unwrap()
}

/// The run's events, checked, and its result.
async fn run(agent: &Agent) -> (Vec<Event>, crate::RunResult) {
    let mut run = agent.stream("Go.").unwrap();
    let mut events = Vec::new();
    while let Some(event) = run.next().await {
        events.push(event);
    }
    let all: Vec<Value> = events.iter().map(|event| json!(event)).collect();
    check_events(&all).unwrap();
    (events, run.ended().await.unwrap())
}

/// Path and kind of the events of subagents.
fn nested(events: &[Event]) -> Vec<String> {
    let shown = |event: &Event| match &event.data {
        EventData::SubagentEvent { path, event, .. } => Some(format!("{} {}", path.join("/"), event.kind())),
        _ => None,
    };
    events.iter().filter_map(shown).collect()
}

#[tokio::test]
async fn a_call_runs_the_agent_and_its_events_are_nested() {
    let research = child(json!([says("It rains.")])).as_tool("research", "Finds out.").unwrap();
    let agent = parent(json!([calls("research", &["c1"]), says("Rain.")]), vec![research]);
    let (events, result) = run(&agent).await;
    assert_eq!((result.outcome, &*result.text), (Outcome::Completed, "Rain."));
    assert_eq!(result.messages[2].text(), "It rains.");
    let kinds = nested(&events);
    assert_eq!(kinds.first().map(String::as_str), Some("c1 agent_start"));
    assert!(kinds.contains(&"c1 text_delta".to_owned()), "{kinds:?}");
    assert_eq!(kinds.last().map(String::as_str), Some("c1 agent_end"));
    // 2 for the call, 5 for the subagent, 5 for the answer.
    assert_eq!(result.usage.total, 12);
    let Message::ToolResult(answered) = &*result.messages[2] else { panic!("a result") };
    assert_eq!(answered.details["usage"]["total"], 5);
    let saved: Event = serde_json::from_str(&events[6].to_json()).unwrap();
    assert_eq!(saved.to_json(), events[6].to_json());
}

#[tokio::test]
async fn several_run_at_once_and_none_knows_of_another() {
    let research = child(json!([says("one"), says("two")])).as_tool("research", "").unwrap();
    let agent = parent(json!([calls("research", &["a", "b"]), says("Done.")]), vec![research.events(SubagentEvents::Messages)]);
    let (events, result) = run(&agent).await;
    let mut texts = [result.messages[2].text(), result.messages[3].text()];
    texts.sort();
    assert_eq!(texts, ["one", "two"]);
    let kinds = nested(&events);
    assert!(kinds.contains(&"a agent_end".to_owned()) && kinds.contains(&"b agent_end".to_owned()), "{kinds:?}");
    assert!(!kinds.iter().any(|kind| kind.contains("delta")), "{kinds:?}");
    for event in &events {
        if let EventData::SubagentEvent { event, .. } = &event.data
            && let EventData::AgentEnd { messages, .. } = &event.data
        {
            assert_eq!(messages.len(), 2);
        }
    }
}

#[tokio::test]
async fn a_subagent_of_a_subagent_has_a_longer_path_and_depth_is_bounded() {
    let deep = child(json!([says("deep")])).as_tool("deep", "").unwrap();
    let middle = parent(json!([calls("deep", &["d"]), says("middle")]), vec![deep]);
    let agent = parent(json!([calls("middle", &["m"]), says("top")]), vec![middle.as_tool("middle", "").unwrap()]);
    let (events, result) = run(&agent).await;
    let kinds = nested(&events);
    assert!(kinds.contains(&"m/d text_delta".to_owned()), "{kinds:?}");
    assert!(!kinds.iter().any(|kind| kind.ends_with("subagent_event")), "{kinds:?}");
    assert_eq!(result.usage.total, 2 + 2 + 5 + 5 + 5);

    // An agent that calls itself.
    let looping = child(json!([calls("again", &["1"]), calls("again", &["2"]), calls("again", &["3"]), says("no"), says("end")]));
    looping.add_tool(looping.as_tool("again", "").unwrap()).unwrap();
    looping.set_max_subagent_depth(2);
    let (events, _) = run(&looping).await;
    let refused = |event: &&Event| {
        event.to_json().contains("as many levels of them as there may be")
            && matches!(event.data, EventData::SubagentEvent { .. })
    };
    let Some(EventData::SubagentEvent { path, .. }) = events.iter().find(refused).map(|event| &event.data) else {
        panic!("the third level is refused");
    };
    assert_eq!(path, &["1", "2"]);
}

#[tokio::test]
async fn an_abort_ends_subagents_at_once() {
    let slow = child(json!([[{ "delta": "So " }, { "wait_ms": 60_000 }, { "delta": "late" }, { "end": "stop" }]]));
    let agent = parent(json!([calls("slow", &["c"]), says("never")]), vec![slow.as_tool("slow", "").unwrap()]);
    let aborted = agent.clone();
    let _subscription = agent.subscribe(move |event| {
        if matches!(&event.data, EventData::SubagentEvent { event, .. } if event.kind() == "text_delta") {
            aborted.abort();
        }
    });
    let (_, result) = run(&agent).await;
    assert_eq!(result.outcome, Outcome::Aborted);
    let text = result.messages[2].text();
    assert!(text.contains("So ") && text.starts_with("the subagent has no whole answer"), "{text}");
}

#[tokio::test]
async fn a_limit_of_the_run_ends_its_subagents() {
    let slow = child(json!([[{ "delta": "So " }, { "wait_ms": 60_000 }, { "end": "stop" }]]));
    let agent = parent(json!([calls("slow", &["c"]), says("never")]), vec![slow.as_tool("slow", "").unwrap()]);
    agent.set_run_timeout_ms(1_000);
    let (_, result) = run(&agent).await;
    assert_eq!(result.outcome, Outcome::Error);
    assert!(result.error.unwrap().message().contains("run_timeout_ms"));
}

#[tokio::test]
async fn what_a_subagent_uses_is_of_the_budget_around_it() {
    let lookup = FnTool::new("lookup", "", json!({ "type": "object" }), |_, _| async { Ok::<_, String>(json!("x")) }).unwrap();
    let greedy = child(json!([calls("lookup", &["1"]), calls("lookup", &["2"]), calls("lookup", &["3"]), says("never")]));
    greedy.add_tool(lookup).unwrap();
    let tool = greedy.as_tool("greedy", "").unwrap();
    let agent = parent(json!([calls("greedy", &["g"]), says("never")]), vec![tool.clone()]);
    agent.set_max_total_tokens(Some(6));
    let (_, result) = run(&agent).await;
    assert_eq!((result.outcome, result.usage.total), (Outcome::Budget, 6));
    assert!(result.messages[2].text().contains("nothing is left of its budget"), "{}", result.messages[2].text());

    let greedy = child(json!([calls("lookup", &["1", "2", "3"]), says("never")]));
    let counted = Arc::new(Mutex::new(0));
    let counts = Arc::clone(&counted);
    let lookup = FnTool::new("lookup", "", json!({ "type": "object" }), move |_, _| {
        *counts.lock().unwrap() += 1;
        async { Ok::<_, String>(json!("x")) }
    });
    greedy.add_tool(lookup.unwrap()).unwrap();
    let agent = parent(json!([calls("greedy", &["g"]), says("never")]), vec![greedy.as_tool("greedy", "").unwrap()]);
    agent.set_max_tool_calls(Some(3));
    let (_, result) = run(&agent).await;
    assert_eq!((result.outcome, *counted.lock().unwrap()), (Outcome::Budget, 2));
}

#[tokio::test]
async fn a_kept_conversation_goes_on_and_calls_take_turns() {
    let keeper = child(json!([says("first"), says("second")]));
    let tool = keeper.as_tool("keeper", "").unwrap().keep_conversation();
    let agent = parent(json!([calls("keeper", &["a", "b"]), says("Done.")]), vec![tool]);
    let (_, result) = run(&agent).await;
    assert_eq!((result.messages[2].text(), result.messages[3].text()), ("first".to_owned(), "second".to_owned()));
    assert_eq!(keeper.messages().len(), 4);
}

#[tokio::test]
async fn own_parameters_make_the_prompt() {
    let echo = child(json!([says("yes")]));
    let schema = json!({ "type": "object", "properties": { "city": { "type": "string" } }, "required": ["city"] });
    let prompt = |arguments: &Map<String, Value>| Ok(format!("Rain in {}?", arguments["city"].as_str().unwrap_or_default()));
    let tool = echo.as_tool("echo", "").unwrap().keep_conversation().parameters(schema, prompt).unwrap();
    let call = json!({ "tool_call": { "id": "c", "name": "echo", "arguments": { "city": "Oslo" } } });
    let call = json!([{ "delta": call }, { "end": "tool_use" }]);
    run(&parent(json!([call, says("Done.")]), vec![tool])).await;
    assert_eq!(echo.messages()[0].text(), "Rain in Oslo?");
}

#[tokio::test]
async fn keys_of_a_subagents_calls_begin_with_that_of_its_own() {
    let keys = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&keys);
    let lookup = FnTool::new("lookup", "", json!({ "type": "object" }), move |_, context| {
        kept.lock().unwrap().push(context.idempotency_key().to_owned());
        async { Ok::<_, String>(json!("x")) }
    });
    let inner = child(json!([calls("lookup", &["b"]), says("Done.")]));
    inner.add_tool(lookup.unwrap()).unwrap();
    let agent = parent(json!([calls("inner", &["a"]), says("Done.")]), vec![inner.as_tool("inner", "").unwrap()]);
    agent.set_origin("order-7");
    run(&agent).await;
    let keys = keys.lock().unwrap();
    assert!(keys[0].starts_with("order-7/") && keys[0].contains("/a/") && keys[0].ends_with("/b"), "{keys:?}");
}

#[tokio::test]
async fn another_agent_goes_on_after_a_handoff() {
    let lookup = FnTool::new("lookup", "", json!({ "type": "object" }), |_, _| async { Ok::<_, String>(json!("x")) }).unwrap();
    let other = Agent::builder(scripted(json!([calls("lookup", &["b"]), says("I am the other.")])));
    let other = other.tool(lookup).max_turns(1).build().unwrap();
    let agent = Agent::builder(scripted(json!([calls("other", &["a"]), says("Mine again.")])));
    let agent = agent.tool(other.as_handoff("other", "").unwrap()).build().unwrap();
    let (events, result) = run(&agent).await;
    assert_eq!((result.outcome, &*result.text), (Outcome::Completed, "I am the other."));
    let is_handoff = |event: &&Event| matches!(&event.data, EventData::Diagnostic { code, .. } if code == "handoff");
    assert_eq!(events.iter().filter(is_handoff).count(), 1);
    assert_eq!((agent.messages().len(), other.messages().len()), (6, 0));
    assert_eq!(run(&agent).await.1.text, "Mine again.");
}

#[tokio::test]
async fn a_handoff_to_a_model_that_cannot_be_used_is_an_error_result() {
    let other = Agent::builder("mine/any").build_unchecked().unwrap();
    let agent = Agent::builder(scripted(json!([calls("other", &["a"]), says("I go on.")])));
    let agent = agent.tool(other.as_handoff("other", "").unwrap()).build().unwrap();
    let (_, result) = run(&agent).await;
    assert_eq!(&*result.text, "I go on.");
    assert!(result.messages[2].text().contains("mine"), "{}", result.messages[2].text());
}

#[tokio::test]
async fn a_handoff_within_a_cost_needs_prices() {
    let unpriced = json!({ "provider": "scripted", "id": "s", "script": [says("I am the other.")] }).to_string();
    let other = Agent::new(unpriced).unwrap();
    let agent = Agent::builder(scripted(json!([calls("other", &["a"]), says("I go on.")])));
    let agent = agent.tool(other.as_handoff("other", "").unwrap()).max_cost(100.0).build().unwrap();
    let (_, result) = run(&agent).await;
    assert_eq!(&*result.text, "I go on.");
    assert!(result.messages[2].text().contains("max_cost"), "{}", result.messages[2].text());
}

#[tokio::test]
async fn an_option_of_the_prompt_is_not_for_who_takes_over() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let hearing = |script: Value| {
        let seen = Arc::clone(&seen);
        Agent::builder(scripted(script)).on_payload(move |asked, _| {
            seen.lock().unwrap().push(asked.payload["system_prompt"].clone());
            async { Ok::<_, String>(None) }
        })
    };
    let other = hearing(json!([says("I am the other.")])).system_prompt("The other's.").build().unwrap();
    let agent = hearing(json!([calls("other", &["a"]), says("never")]));
    let agent = agent.tool(other.as_handoff("other", "").unwrap()).build().unwrap();
    let options = json!({ "system_prompt": "The prompt's." });
    let result = agent.prompt("Go.").options(options.as_object().unwrap(), Spelling::Snake, &[]).await.unwrap();
    assert_eq!(&*result.text, "I am the other.");
    assert_eq!(*seen.lock().unwrap(), ["The prompt's.", "The other's."]);
}

#[tokio::test]
async fn a_call_that_has_its_answer_hands_nothing_over_and_has_no_subagent() {
    let kept = Arc::new(Mutex::new(None));
    let keep = Arc::clone(&kept);
    let tool = FnTool::new("keep", "", json!({ "type": "object" }), move |_, context| {
        *keep.lock().unwrap() = Some(context);
        async { Ok::<_, String>(json!("kept")) }
    });
    let agent = Agent::builder(scripted(json!([calls("keep", &["a"]), says("Done.")]))).tool(tool.unwrap()).build().unwrap();
    let other = child(json!([says("never")]));
    let run = agent.prompt("Go.").start().unwrap();
    run.ended().await.unwrap();
    let context = kept.lock().unwrap().take().unwrap();
    for refused in [other.take_over(&context).unwrap_err(), other.prompt("Go.").within(&context).await.unwrap_err()] {
        assert!(refused.kind() == ErrorKind::InvalidState && refused.message().contains("has its answer already"), "{refused}");
    }
}

#[tokio::test]
async fn a_subagent_that_outlives_its_call_is_not_held_up() {
    let mut answer: Vec<Value> = vec![json!({ "delta": "word " }); 1_000];
    answer.push(json!({ "end": "stop" }));
    let long = child(json!([answer]));
    let started = Arc::new(Mutex::new(None));
    let start = Arc::clone(&started);
    let tool = FnTool::new("start", "", json!({ "type": "object" }), move |_, context| {
        *start.lock().unwrap() = Some(long.prompt("Go.").within(&context).start().unwrap());
        async { Ok::<_, String>(json!("it goes on by itself")) }
    });
    let agent = Agent::builder(scripted(json!([calls("start", &["a"]), says("Done.")]))).tool(tool.unwrap()).build().unwrap();
    let (_, result) = run(&agent).await;
    assert_eq!(result.messages[2].text(), "it goes on by itself");
    let outlives = started.lock().unwrap().take().unwrap();
    assert_eq!(outlives.ended().await.unwrap().text.len(), 5_000);
}

#[tokio::test]
async fn a_kept_conversation_does_not_wait_for_itself() {
    let again = child(json!([calls("again", &["b"]), says("Then not.")]));
    let tool = again.as_tool("again", "").unwrap().keep_conversation();
    again.add_tool(tool.clone()).unwrap();
    let agent = parent(json!([calls("again", &["a"]), says("Done.")]), vec![tool]);
    let (_, result) = run(&agent).await;
    assert_eq!((&*result.text, result.messages[2].text()), ("Done.", "Then not.".to_owned()));
    assert!(again.messages()[2].text().contains("already at work on this"), "{}", again.messages()[2].text());
}

#[test]
fn a_subagent_may_live_in_another_runtime() {
    let (one, other) = (crate::Runtime::new().unwrap(), crate::Runtime::new().unwrap());
    let inner = Agent::builder(scripted(json!([says("there")]))).runtime(&other).build().unwrap();
    let agent = Agent::builder(scripted(json!([calls("inner", &["a"]), says("Done.")]))).runtime(&one);
    let agent = agent.tool(inner.as_tool("inner", "").unwrap()).build().unwrap();
    let (events, result) = tokio::runtime::Runtime::new().unwrap().block_on(run(&agent));
    assert_eq!(result.messages[2].text(), "there");
    assert!(nested(&events).contains(&"a agent_end".to_owned()));
}
