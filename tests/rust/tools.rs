//! Tools, as only Rust makes them: panics, blocking, types. What holds in all languages is in `tests/scenarios`.

use std::time::Duration;

use agent_loop::suspension::Decision;
use agent_loop::{AgentBuilder, Context, ErrorKind, ToolSet, ToolSpec};
use serde_json::json;

use super::*;

fn picky() -> impl Tool {
    let schema = json!({ "type": "object", "properties": { "n": { "type": "number" } }, "required": ["n"] });
    FnTool::new("picky", "Takes numbers.", schema, |arguments: Value, _| async move { Ok::<_, String>(arguments) }).unwrap()
}

/// The text and error flag of one call's result.
async fn answer_to(agent: Agent) -> (String, bool) {
    let (events, result) = play(&agent).await;
    check(&agent, &events);
    results(&result).remove(0)
}

fn call_of(name: &str, arguments: Value) -> AgentBuilder {
    builder(json!([[call("c", name, arguments), end("tool_use")], says("done")]))
}

#[tokio::test]
async fn a_tool_that_fails_panics_or_forgets() {
    let fails = tool("t", |_, _| async { Err("no such city".to_owned()) });
    assert_eq!(answer_to(call_of("t", json!({})).tool(fails).build().unwrap()).await, ("no such city".into(), true));
    let panics = tool("t", |_, _| async { panic!("kaput {}", 7) });
    assert_eq!(
        answer_to(call_of("t", json!({})).tool(panics).build().unwrap()).await,
        ("the tool panicked: kaput 7".into(), true)
    );

    struct Forgets(ToolSpec, bool);
    impl Tool for Forgets {
        fn spec(&self) -> &ToolSpec {
            &self.0
        }
        fn start(&self, call: agent_loop::tool::PendingCall) {
            assert!(self.1, "a panic before the answer");
            drop(call);
        }
    }
    let spec = || ToolSpec::new("t", "", json!({ "type": "object" })).unwrap();
    let forgot = answer_to(call_of("t", json!({})).tool(Forgets(spec(), true)).build().unwrap()).await;
    assert_eq!(forgot, ("the tool t dropped the call without an answer".into(), true));
    let panicked = answer_to(call_of("t", json!({})).tool(Forgets(spec(), false)).build().unwrap()).await;
    assert_eq!(panicked, ("the tool panicked: a panic before the answer".into(), true));
}

#[tokio::test]
async fn a_blocking_tool_has_a_separate_thread() {
    struct Blocks(ToolSpec);
    impl Tool for Blocks {
        fn spec(&self) -> &ToolSpec {
            &self.0
        }
        fn may_block(&self) -> bool {
            true
        }
        fn start(&self, call: agent_loop::tool::PendingCall) {
            std::thread::sleep(Duration::from_millis(20));
            call.respond(json!("slept"));
        }
    }
    // On a runtime of one thread, two of them would otherwise stand in each other's way and in the run's.
    let agent = builder(json!([[call("a", "b", json!({})), call("b", "b", json!({})), end("tool_use")], says("done")]))
        .tool(Blocks(ToolSpec::new("b", "", json!({ "type": "object" })).unwrap()))
        .build()
        .unwrap();
    let (_, result) = play(&agent).await;
    assert_eq!(results(&result), [("slept".into(), false), ("slept".into(), false)]);
}

#[test]
fn an_error_in_a_tool_is_reported_when_it_is_made() {
    let error = |name: &str, parameters: Value| ToolSpec::new(name, "", parameters).unwrap_err();
    for (name, parameters, text) in [
        ("a b", json!({}), "tool name \"a b\": use 1 to 64 letters, digits, '_' or '-' (what every provider takes)"),
        (
            "t",
            json!("x"),
            "tool \"t\": parameters is not a JSON Schema: expected an object such as {\"type\": \"object\", \"properties\": \
             {…}}, got \"x\"",
        ),
        (
            "t",
            json!({ "type": "string" }),
            "tool \"t\": parameters is not a JSON Schema: at \"/type\": arguments are an object, so this must be \"object\", not \
             \"string\"",
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
    let twice = builder(json!([])).tool(picky()).tool(picky()).build().unwrap_err();
    assert_eq!(twice.message(), "there are two tools named \"picky\"; give each its own name");
}

#[tokio::test]
async fn one_tool_may_sleep_twice_at_once() {
    let agent = call_of("t", json!({}))
        .tool(tool("t", |_, call| async move {
            let (first, second) = tokio::join!(call.sleep(10), call.sleep(20));
            Ok(json!([first, second]))
        }))
        .build()
        .unwrap();
    assert_eq!(answer_to(agent).await, ("[true,true]".into(), false));
}

#[tokio::test]
async fn what_the_model_was_offered_is_what_it_can_call() {
    let agent = builder(json!([
        [call("a", "t", json!({})), call("b", "t", json!({})), end("tool_use")],
        [call("c", "t", json!({})), end("tool_use")],
        says("done"),
    ]))
    .tool(tool("t", |_, _| async { Ok(json!("ran")) }))
    .build()
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
        fn start(&self, call: agent_loop::tool::PendingCall) {
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

/// Once in some thousand runs, an answer that came while the driver took in another one was not noticed, and the run hung.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_that_come_at_the_same_moment_all_arrive() {
    struct Threaded(ToolSpec);
    impl Tool for Threaded {
        fn spec(&self) -> &ToolSpec {
            &self.0
        }
        fn start(&self, call: agent_loop::tool::PendingCall) {
            std::thread::spawn(move || call.respond(json!("done")));
        }
    }
    let calls: Vec<Value> = (0..8).map(|i| call(&format!("c{i}"), "t", json!({}))).chain([end("tool_use")]).collect();
    for _ in 0..500 {
        let tool = Threaded(ToolSpec::new("t", "", json!({ "type": "object" })).unwrap());
        let agent = builder(json!([calls, says("done")])).tool(tool).build().unwrap();
        let result = tokio::time::timeout(Duration::from_secs(60), agent.prompt("go")).await;
        assert_eq!(results(&result.expect("the run hangs").unwrap()).len(), 8);
    }
}

/// The keys of a call in the run that is suspended and in the one that goes on, without an agent.
async fn keys_of_stateless_runs(origin: &str) -> [String; 2] {
    let pay = tool("pay", |_, call: ToolContext| async move { Ok(call.idempotency_key().into()) });
    let mut tools = ToolSet::default();
    tools.add(Arc::new(pay.with_approval())).unwrap();
    let settings = |script| builder(script).origin(origin).build().unwrap();
    let context = Context::default().tools(tools.clone());
    let first = settings(json!([[call("a", "pay", json!({})), end("tool_use")]]));
    let suspended = agent_loop::run(&context, "Pay.", &first).await.unwrap();
    let context = Context::new(suspended.messages.clone()).tools(tools);
    let then = settings(json!([says("Done.")]));
    let resumed = agent_loop::resume(&context, &then).decisions([("a", Decision::Approve)]).await.unwrap();
    [suspended.pending[0].idempotency_key.to_string(), resumed.messages[0].text()]
}

#[tokio::test]
async fn stateless_runs_with_an_origin_have_the_same_keys() {
    assert_eq!(keys_of_stateless_runs("invoice 7").await, ["invoice 7/1/a", "invoice 7/1/a"]);
    let [before, after] = keys_of_stateless_runs("").await;
    assert_ne!(before, after);
}
