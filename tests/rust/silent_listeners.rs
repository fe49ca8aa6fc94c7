//! Listeners and `after_run` that do not return: the run goes on without them.

use std::sync::Mutex;
use std::sync::mpsc;
use std::time::Duration;

use agent_loop::event::Listener;
use agent_loop::host::Spelling;
use agent_loop::model::BoxFuture;
use agent_loop::{CancelToken, Outcome, Runtime};

use super::*;

fn limited(agent: Agent, options: Value) -> Agent {
    agent.set_options(options.as_object().unwrap(), Spelling::Snake, &[]).unwrap();
    agent
}

/// The diagnostics of this code.
fn reports(events: &[Event], wanted: &str) -> Vec<Value> {
    let data = |event: &Event| match &event.data {
        EventData::Diagnostic { code, data, .. } if code == wanted => Some((**data).clone()),
        _ => None,
    };
    events.iter().filter_map(data).collect()
}

#[tokio::test]
async fn found_e4_a_listener_that_returns_late_gets_events_again() {
    let agent = limited(scripted(Value::Array(vec![says("Done."); 1000])), json!({ "listener_timeout_ms": 50 }));
    let (release, heard) = (CancelToken::new(), Arc::new(Mutex::new(Vec::new())));
    let (released, hears) = (release.clone(), Arc::clone(&heard));
    let listener = Listener::Future(Arc::new(move |event: Event| -> BoxFuture<'static, Result<(), String>> {
        hears.lock().unwrap().push(event.kind());
        let released = released.clone();
        Box::pin(async move {
            if event.kind() == "turn_start" {
                released.cancelled().await;
            }
            Ok(())
        })
    }));
    let subscription = agent.add_listener(listener);
    let (events, _) = play(&agent).await;
    let left =
        json!({ "listener": subscription.number(), "event": "turn_start", "limit": "listener_timeout_ms", "limit_ms": 50 });
    assert_eq!(reports(&events, "listener_left"), [left]);
    assert_eq!(*heard.lock().unwrap(), ["agent_start", "turn_start"]);
    assert_eq!(agent.listener_errors(), 1);

    release.cancel();
    let mut emitted = events.len();
    let missed = loop {
        let (events, _) = play(&agent).await;
        check(&agent, &events);
        emitted += events.len();
        if let [back] = &reports(&events, "listener_back")[..] {
            assert_eq!(back["listener"], subscription.number());
            break back["missed"].as_u64().unwrap();
        }
    };
    assert_eq!(heard.lock().unwrap().len() as u64 + missed, emitted as u64, "each event was heard, or counted");
    assert_eq!(heard.lock().unwrap().last(), Some(&"agent_end"));
}

/// The model's silence ends before the listener's limit, and nobody polls it meanwhile.
#[tokio::test]
async fn found_e4_a_silent_listener_is_left_while_a_scripted_model_waits() {
    let script = json!([[{ "delta": "Half." }, { "wait_ms": 60 }, { "delta": "Done." }, { "end": {} }]]);
    let agent = limited(scripted(script), json!({ "listener_timeout_ms": 300 }));
    let listener = Listener::Future(Arc::new(move |event: Event| -> BoxFuture<'static, Result<(), String>> {
        Box::pin(async move {
            if event.kind() == "text_delta" {
                std::future::pending::<()>().await;
            }
            Ok(())
        })
    }));
    let _subscription = agent.add_listener(listener);
    let (events, result) = tokio::time::timeout(Duration::from_secs(60), play(&agent)).await.expect("time goes on");
    check(&agent, &events);
    assert_eq!((result.outcome, result.text.as_str()), (Outcome::Completed, "Half.Done."));
    assert_eq!(reports(&events, "listener_left").len(), 1);
}

/// Each kind of runtime: its thread's work may be done by others, or not.
#[test]
fn found_e4_a_listener_that_blocks_its_thread_is_left() {
    let one = json!({ "threads": 1 });
    let borrowable = Runtime::with_options(one.as_object().unwrap(), Spelling::Snake).unwrap();
    for runtime in [Runtime::new().unwrap(), borrowable] {
        let (release, blocked) = mpsc::channel::<()>();
        let blocked = Mutex::new(blocked);
        let agent = builder(json!([says("Done."), says("Again.")])).runtime(&runtime).build().unwrap();
        let agent = limited(agent, json!({ "listener_timeout_ms": 50 }));
        let function = Arc::new(move |event: &Event| match event.kind() {
            "turn_start" => blocked.lock().unwrap().recv().map_err(|error| error.to_string()),
            _ => Ok(()),
        });
        agent.add_listener(Listener::Function { function, blocking: true }).detach();
        let run = |text: &str| runtime.block_on(async { all(agent.stream(text).unwrap()).await }).0;
        assert_eq!(reports(&run("go"), "listener_left").len(), 1);
        assert_eq!(reports(&run("again"), "listener_left").len(), 0, "it gets no event while it is blocked");
        assert!(runtime.shutdown(Duration::from_secs(30)), "no run is active");
        drop(release);
    }
}

#[test]
fn found_e4_a_shutdown_does_not_wait_for_a_listener() {
    let runtime = Runtime::new().unwrap();
    let agent = builder(json!([says("Done.")])).runtime(&runtime).build().unwrap();
    let agent = limited(agent, json!({ "listener_timeout_ms": 0, "abort_grace_ms": 50 }));
    let (called, is_called) = mpsc::channel();
    let listener = Listener::Future(Arc::new(move |_| {
        // Sent once: it is left after the first event.
        called.send(()).unwrap();
        Box::pin(std::future::pending())
    }));
    agent.add_listener(listener).detach();
    let run = runtime.block_on(async { agent.stream("go").unwrap() });
    is_called.recv().unwrap();
    assert!(runtime.shutdown(Duration::from_secs(30)), "the run has ended");
    assert_eq!(run.finished().unwrap().outcome, Outcome::Aborted);
}

#[test]
fn found_a3_after_run_that_never_answers_holds_nothing_up() {
    let runtime = Runtime::new().unwrap();
    let agent = builder(json!([says("Done."), says("Again.")])).runtime(&runtime);
    let agent = agent.after_run(|_, _| std::future::pending::<Result<(), String>>()).build().unwrap();
    let agent = limited(agent, json!({ "listener_timeout_ms": 50 }));
    for _ in 0..2 {
        assert_eq!(runtime.block_on(agent.prompt("go")).unwrap().outcome, Outcome::Completed);
        runtime.block_on(agent.wait_for_idle()).unwrap();
    }
    assert!(runtime.shutdown(Duration::from_secs(30)), "no run is active");
}
