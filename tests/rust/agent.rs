//! The agent: one run at a time, its state, its listeners.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use agent_loop::event::Listener;
use agent_loop::testing::check_events;
use agent_loop::{ErrorKind, Runtime};
use serde_json::json;

use super::*;

#[tokio::test]
async fn a_second_run_is_busy_and_says_what_to_do() {
    let agent = scripted(json!([says("a"), says("b")]));
    let run = agent.stream("go").unwrap();
    let error = agent.prompt("more").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Busy);
    assert!(error.message().contains("use steer or follow_up"), "{error}");
    all(run).await;
    assert_eq!(agent.prompt("more").await.unwrap().text, "b", "free as soon as the iterator has ended");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_a_hundred_threads_one_wins() {
    let agent = scripted(json!([[{ "delta": "x" }, call("c", "gate", json!({})), end("tool_use")], says("done")]));
    let gate = Arc::new(tokio::sync::Semaphore::new(0));
    let opened = Arc::clone(&gate);
    agent
        .add_tool(Arc::new(tool("gate", move |_, _| {
            let gate = Arc::clone(&gate);
            async move { gate.acquire().await.map(|_| json!(1)).map_err(|e| e.to_string()) }
        })))
        .unwrap();
    let handle = tokio::runtime::Handle::current();
    let won = Arc::new(Mutex::new(Vec::new()));
    let threads: Vec<_> = (0..100)
        .map(|_| {
            let (agent, handle, won) = (agent.clone(), handle.clone(), Arc::clone(&won));
            std::thread::spawn(move || {
                let _inside = handle.enter();
                match agent.stream("go") {
                    Ok(run) => won.lock().unwrap().push(run),
                    Err(error) => assert_eq!(error.kind(), ErrorKind::Busy),
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    let mut won = std::mem::take(&mut *won.lock().unwrap());
    assert_eq!(won.len(), 1);
    opened.add_permits(1);
    let (events, _) = all(won.remove(0)).await;
    check(&agent, &events);
    assert_eq!(agent.messages().len(), 4);
}

#[tokio::test]
async fn state_is_updated_before_listeners_hear_of_it() {
    let agent =
        builder(json!([[{ "delta": "Hel" }, { "delta": "lo" }, call("c", "t", json!({})), end("tool_use")], says("done")]))
            .tool(tool("t", |_, _| async { Ok(json!(1)) }))
            .build()
            .unwrap();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let (state, notes) = (agent.clone(), Arc::clone(&seen));
    let _subscription = agent.subscribe(move |event| {
        let streaming = state.streaming_message().map_or("-".to_owned(), |message| message.text());
        let pending = state.pending_tool_calls().len();
        notes.lock().unwrap().push((brief(event), state.messages().len(), streaming, pending, state.is_streaming()));
    });
    play(&agent).await;
    let at = |what: &str| seen.lock().unwrap().iter().find(|note| note.0 == what).cloned().unwrap();
    assert_eq!(at("message_end user").1, 1);
    assert_eq!(at("text_delta Hel").2, "Hel");
    assert_eq!(at("text_delta lo").2, "Hello");
    assert_eq!(at("message_end assistant tool_use"), ("message_end assistant tool_use".into(), 2, "-".into(), 0, true));
    assert_eq!(at("tool_execution_start c").3, 1);
    assert_eq!(at("tool_execution_end c 1").3, 0);
    assert_eq!(at("agent_end completed").1, 4);
    assert!(!agent.is_streaming());
}

#[tokio::test]
async fn listeners_are_called_in_order_and_can_go() {
    let agent = scripted(json!([says("a"), says("b")]));
    let heard = Arc::new(Mutex::new(Vec::new()));
    let listener = |name: &'static str| {
        let heard = Arc::clone(&heard);
        move |event: &Event| heard.lock().unwrap().push(format!("{name} {}", event.seq))
    };
    let first = agent.subscribe(listener("first"));
    let _second = agent.subscribe(listener("second"));
    let (events, _) = play(&agent).await;
    let order: Vec<String> = (0..events.len()).flat_map(|i| [format!("first {i}"), format!("second {i}")]).collect();
    assert_eq!(std::mem::take(&mut *heard.lock().unwrap()), order);
    drop(first);
    play(&agent).await;
    assert!(heard.lock().unwrap().iter().all(|note| note.starts_with("second")));
}

#[tokio::test]
async fn a_listener_can_remove_and_add_listeners() {
    let agent = scripted(json!([says("a")]));
    let heard = Arc::new(AtomicUsize::new(0));
    let slot: Arc<Mutex<Vec<agent_loop::Subscription>>> = Arc::default();
    let (own, count, target) = (Arc::clone(&slot), Arc::clone(&heard), agent.clone());
    let counts = move |_: &Event| {
        count.fetch_add(1, Ordering::SeqCst);
    };
    let once = agent.subscribe(move |event| {
        if event.kind() == "turn_start" {
            let counts = counts.clone();
            own.lock().unwrap().push(target.subscribe(counts));
        } else if event.kind() == "turn_end" {
            own.lock().unwrap().clear();
        }
    });
    let (events, _) = play(&agent).await;
    let (from, to) = (1, events.iter().position(|event| event.kind() == "turn_end").unwrap());
    assert_eq!(heard.load(Ordering::SeqCst), to - from - 1, "from the event after it came to the one before it went");
    drop(once);
}

#[tokio::test]
async fn a_listener_that_fails_never_breaks_the_run() {
    let agent = scripted(json!([says("a")]));
    let _panics = agent.subscribe(|event| assert_ne!(event.kind(), "turn_start", "I do not like turns"));
    let failing = Listener::Future(Arc::new(|event: Event| {
        Box::pin(async move { if event.kind() == "turn_end" { Err("nor their ends".to_owned()) } else { Ok(()) } })
    }));
    let _fails = agent.add_listener(failing);
    let (events, result) = play(&agent).await;
    check(&agent, &events);
    assert_eq!(result.text, "a");
    assert_eq!(agent.listener_errors(), 2);
    let messages: Vec<String> = events
        .iter()
        .filter_map(|event| match &event.data {
            EventData::Diagnostic { code, message, .. } => Some(format!("{code}: {message}")),
            _ => None,
        })
        .collect();
    assert!(messages[0].starts_with("listener_error: a listener failed on turn_start: it panicked: "), "{messages:?}");
    assert_eq!(messages[1], "listener_error: a listener failed on turn_end: nor their ends");
    assert_eq!(events[2].kind(), "diagnostic", "right after the event it failed on");
}

#[tokio::test]
async fn a_listener_that_fails_on_everything_is_only_counted_on_diagnostics() {
    let agent = scripted(json!([says("a")]));
    let always = Listener::Function { function: Arc::new(|_| Err("no".into())), blocking: false };
    let _subscription = agent.add_listener(always);
    let (events, _) = play(&agent).await;
    check(&agent, &events);
    assert_eq!(agent.listener_errors(), events.len() as u64);
    let diagnostics = events.iter().filter(|event| event.kind() == "diagnostic").count();
    assert_eq!(diagnostics, events.len() / 2, "one for each event but diagnostics and the end");
}

#[tokio::test]
async fn awaiting_ones_own_run_from_inside_is_refused_not_a_deadlock() {
    let agent = scripted(json!([[call("c", "t", json!({})), end("tool_use")], says("done")]));
    let inner = agent.clone();
    agent
        .add_tool(Arc::new(tool("t", move |_, _| {
            let agent = inner.clone();
            async move {
                let kinds = [agent.prompt("x").await.unwrap_err().kind(), agent.wait_for_idle().await.unwrap_err().kind()];
                Ok(json!(kinds.map(|kind| kind.as_str())))
            }
        })))
        .unwrap();
    let refused = Arc::new(Mutex::new(None));
    let (slot, target) = (Arc::clone(&refused), agent.clone());
    let _subscription = agent.subscribe(move |event| {
        if event.kind() == "turn_start" {
            *slot.lock().unwrap() = target.stream("x").err();
        }
    });
    let result = agent.prompt("go").await.unwrap();
    assert_eq!(results(&result)[0].0, "[\"invalid_state\",\"invalid_state\"]");
    let error = refused.lock().unwrap().take().unwrap();
    assert_eq!(error.kind(), ErrorKind::InvalidState);
    assert!(error.message().starts_with("starting a run inside a listener, hook or tool of the same agent"), "{error}");
}

#[test]
fn without_tokio_the_error_says_what_to_do() {
    let error = scripted(json!([says("a")])).stream("go").unwrap_err();
    let text = "there is no tokio runtime here; call from async code, or give the agent a Runtime::new()";
    assert_eq!((error.kind(), error.message()), (ErrorKind::InvalidState, text));
}

/// What each way to a run says in a runtime without what runs need.
#[test]
fn a_tokio_runtime_without_timers_or_io_is_refused_before_a_run() {
    type Configure = fn(&mut tokio::runtime::Builder) -> &mut tokio::runtime::Builder;
    let runtimes: [(Configure, &str); 3] = [
        (|builder| builder, "timers and no IO"),
        (tokio::runtime::Builder::enable_io, "timers"),
        (tokio::runtime::Builder::enable_time, "IO"),
    ];
    for (configure, lacking) in runtimes {
        let text = format!("this tokio runtime has no {lacking}; build it with enable_all(), or give the agent a Runtime::new()");
        let refused = |error: Option<agent_loop::Error>| {
            let error = error.expect("an error");
            assert_eq!((error.kind(), error.message()), (ErrorKind::InvalidState, &*text));
        };
        let runtime = configure(&mut tokio::runtime::Builder::new_current_thread()).build().unwrap();
        runtime.block_on(async {
            let agent = builder(json!([says("a")])).messages([agent_loop::Message::user("Hi", 0)]).build().unwrap();
            let context = agent_loop::Context::new(agent.messages().to_vec());
            refused(agent.prompt("go").await.err());
            refused(agent.stream("go").err());
            refused(agent.resume().start().err());
            refused(agent_loop::run(&context, "go", &agent).await.err());
            refused(agent_loop::resume(&context, &agent).stream().err());
            refused(Runtime::current().err());
            let own = Runtime::with_threads(1).unwrap();
            let agent = builder(json!([says("a")])).runtime(&own).build().unwrap();
            assert_eq!(agent.prompt("go").await.unwrap().text, "a", "it lives elsewhere");
        });
    }
}

/// Of another runtime, in a task of its own, and in a tool that is a plain function.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_runtime_can_be_shut_down_in_async_code() {
    let minute = std::time::Duration::from_secs(60);
    for threads in [1, 2] {
        let runtime = Runtime::with_threads(threads).unwrap();
        let agent = builder(json!([says("a")])).runtime(&runtime).build().unwrap();
        assert_eq!(agent.prompt("go").await.unwrap().text, "a");
        assert!(runtime.shutdown(minute), "no run is active");
        assert_eq!(agent.prompt("go").await.unwrap_err().kind(), ErrorKind::InvalidState);
    }
    let (sender, receiver) = tokio::sync::oneshot::channel();
    let runtime = Runtime::with_threads(1).unwrap();
    let same = runtime.clone();
    runtime.spawn(async move { sender.send(same.shutdown(minute)).unwrap() });
    assert!(receiver.await.unwrap(), "no run is active");

    let runtime = Runtime::with_threads(1).unwrap();
    let same = runtime.clone();
    let shuts_down = tool("t", move |_, _| {
        let ended = same.shutdown(std::time::Duration::ZERO);
        async move { Ok(json!(ended)) }
    });
    let script = json!([[call("a", "t", json!({})), end("tool_use")]]);
    let agent = builder(script).tool(shuts_down).runtime(&runtime).build().unwrap();
    let (events, result) = all(agent.stream("go").unwrap()).await;
    assert_eq!(result.outcome, agent_loop::Outcome::Aborted);
    check_events(&events.iter().map(|event| json!(event)).collect::<Vec<_>>()).unwrap();
}

#[test]
fn a_runtime_of_its_own_serves_plain_threads_and_shuts_down() {
    let runtime = Runtime::with_threads(1).unwrap();
    let agent = builder(json!([says("a"), [call("c", "t", json!({})), end("tool_use")]]))
        .runtime(&runtime)
        .tool(tool("t", |_, call| async move {
            call.cancel_token().cancelled().await;
            Ok(json!(1))
        }))
        .build()
        .unwrap();
    assert_eq!(runtime.block_on(agent.prompt("go")).unwrap().text, "a");
    let run = agent.stream("again").unwrap();
    assert!(runtime.shutdown(std::time::Duration::from_secs(60)), "the run was aborted and ended");
    assert_eq!(run.finished().unwrap().outcome, agent_loop::Outcome::Aborted);
    let error = agent.stream("more").unwrap_err();
    assert_eq!(
        (error.kind(), error.message()),
        (
            ErrorKind::InvalidState,
            "the runtime was shut down and starts no more runs; make a new one with new agents, or shut it down later"
        )
    );
}

#[tokio::test]
async fn changes_during_a_run_take_effect_at_its_next_turn() {
    let agent = builder(json!([
        [call("c", "t", json!({})), end("tool_use")],
        [call("d", "t", json!({})), end("tool_use")],
        says("done")
    ]))
    .tool(tool("t", |_, _| async { Ok(json!("old")) }))
    .build()
    .unwrap();
    let target = agent.clone();
    let _subscription = agent.subscribe(move |event| {
        if brief(event) == "message_end result c" {
            assert!(target.remove_tool("t"));
            target.add_tool(Arc::new(tool("t", |_, _| async { Ok(json!("new")) }))).unwrap();
            target.set_system_prompt("changed");
        }
    });
    let result = agent.prompt("go").await.unwrap();
    assert_eq!(results(&result), [("old".into(), false), ("new".into(), false)]);
    assert_eq!(agent.state_json()["system_prompt"], "changed");
}

#[tokio::test]
async fn a_conversation_can_be_given_and_goes_on() {
    let agent = builder(json!([says("b")])).messages(vec![Message::user("before", 1)]).build().unwrap();
    let result = agent.prompt("now").await.unwrap();
    assert_eq!(result.messages.len(), 2, "a result has only what its run added");
    assert_eq!(agent.messages().len(), 3);
}

#[tokio::test]
async fn prompts_come_in_several_forms() {
    use agent_loop::Prompt;
    let roles = |prompt: Value| async move {
        let agent = scripted(json!([says("ok")]));
        agent.prompt(Prompt::from_json(prompt).unwrap()).await.unwrap();
        let kept: Vec<_> = agent.messages().iter().map(|m| (m.role().to_owned(), m.text())).collect();
        kept[..kept.len() - 1].to_vec()
    };
    assert_eq!(roles(json!("hi")).await, [("user".into(), "hi".into())]);
    assert_eq!(roles(json!({ "role": "user", "content": "hi" })).await, [("user".into(), "hi".into())]);
    let image = json!({ "type": "image", "data": "QQ==", "mime_type": "image/png" });
    assert_eq!(roles(json!([{ "type": "text", "text": "see" }, image])).await, [("user".into(), "see".into())]);
    let two = json!([{ "role": "user", "content": "a" }, { "role": "note", "x": 1 }]);
    assert_eq!(roles(two).await, [("user".into(), "a".into()), ("note".into(), String::new())]);
    for (prompt, text) in [
        (json!(7), "prompt: expected text, a message or a list of messages, got 7"),
        (json!([]), "prompt: the list is empty; give at least one message"),
        (json!([{ "role": "user" }]), "prompt[0]: user message: content is missing"),
        (json!([{ "type": "txt" }]), "prompt: content[0]: unknown type \"txt\"; did you mean \"text\"?"),
    ] {
        assert_eq!(Prompt::from_json(prompt).unwrap_err().message(), text);
    }
}
