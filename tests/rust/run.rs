//! Runs, as only the Rust API has them: errors with the result, partial messages, dropped runs.

use agent_loop::event::Listener;
use agent_loop::testing::check_events;
use agent_loop::{Delivery, ErrorKind, Outcome};
use serde_json::{Value, json};

use super::*;

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
async fn partial_messages_are_there_on_demand() {
    let agent = builder(json!([
        [{ "delta": { "thinking": "hm" } }, { "delta": "on" }, { "delta": "e" },
         { "delta": { "type": "tool_call_start", "id": "c", "name": "t" } },
         { "delta": { "type": "tool_call_delta", "delta": "{\"a\":" } },
         { "delta": { "type": "tool_call_delta", "delta": "1}" } },
         end("length")],
    ]))
    .max_turns(1)
    .build()
    .unwrap();
    let (events, _) = play(&agent).await;
    let stream: Vec<&Event> = events.iter().filter(|event| event.partial().is_some()).collect();
    let partial: Vec<(usize, String)> =
        stream.iter().map(|event| event.partial().unwrap()).map(|m| (m.content.len(), m.text())).collect();
    let start = (0, String::new());
    assert_eq!(partial.first(), Some(&start), "message_start");
    assert!(partial.contains(&(2, "on".into())) && partial.contains(&(2, "one".into())));
    let in_call = stream.iter().find(|e| brief(e) == "tool_call_delta {\"a\":").unwrap().partial().unwrap();
    assert_eq!(in_call.tool_calls().next().unwrap().raw_arguments.as_deref(), Some("{\"a\":"));
    let whole = stream.last().unwrap().partial().unwrap();
    assert_eq!(whole.tool_calls().next().unwrap().arguments["a"], 1);
    // By one handle for the whole message, as bindings use it.
    let handle = stream[0].partial_handle().unwrap();
    let updates = stream.iter().filter(|event| matches!(event.data, EventData::MessageUpdate(_)));
    for (step, event) in updates.enumerate() {
        assert_eq!(handle.at(step + 1).message(), event.partial().unwrap(), "{}", brief(event));
    }
}

#[tokio::test]
async fn abort_from_another_thread_before_the_first_byte() {
    let mock = agent_mock::Mock::start(agent_mock::Script::new().answer(agent_mock::Answer::text("").stall()));
    let agent = Agent::builder("openai/tiny").base_url(&mock.url()).build().unwrap();
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

#[test]
fn a_shutdown_does_not_block_on_a_full_queue() {
    let runtime = agent_loop::Runtime::new().unwrap();
    let many: Vec<Value> = (0..3000).map(|i| json!({ "delta": format!("{i} ") })).collect();
    let agent = builder(json!([many])).runtime(&runtime).build().unwrap();
    let run = agent.stream("go").unwrap();
    assert!(runtime.shutdown(std::time::Duration::from_secs(60)), "the full queue did not keep the run");
    assert_eq!(run.finished().unwrap().outcome, Outcome::Aborted);
}

/// Dropped while a listener has an event, or `after_run` its task: the reader gets each event, and one end.
#[test]
fn a_runtime_that_goes_away_leaves_a_valid_run() {
    for (held, outcome) in [
        ("", Outcome::Aborted),
        ("turn_start", Outcome::Aborted),
        ("message_end", Outcome::Aborted),
        ("agent_end", Outcome::Completed),
        ("after_run", Outcome::Completed),
    ] {
        let tokio = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let reached = Arc::new(tokio::sync::Notify::new());
        let hold = move |at: &str, reached: Arc<tokio::sync::Notify>| {
            let holds = at == held;
            async move {
                if holds {
                    reached.notify_one();
                    std::future::pending::<()>().await;
                }
                Ok::<(), String>(())
            }
        };
        let of_hook = Arc::clone(&reached);
        let agent =
            builder(json!([says("Done.")])).after_run(move |_, _| hold("after_run", Arc::clone(&of_hook))).build().unwrap();
        let of_listener = Arc::clone(&reached);
        let listener = Listener::Future(Arc::new(move |event| Box::pin(hold(event.kind(), Arc::clone(&of_listener)))));
        agent.add_listener(listener).detach();
        let mut run = tokio.block_on(async {
            let run = agent.stream("go").unwrap();
            if !held.is_empty() {
                reached.notified().await;
            }
            run
        });
        drop(tokio);
        let result = run.finished().unwrap().clone();
        let tokio = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let events: Vec<Value> = tokio.block_on(async {
            let mut events = Vec::new();
            while let Some(event) = run.next().await {
                events.push(json!(event));
            }
            events
        });
        check_events(&events).unwrap_or_else(|error| panic!("at {held}: {error}"));
        assert_eq!((result.outcome, agent.is_streaming()), (outcome, false), "at {held}");
        assert_eq!(events.last().unwrap()["outcome"], outcome.as_str());
    }
}

#[tokio::test]
async fn found_e14_after_its_end_a_run_steers_the_agents_next() {
    let agent = scripted(json!([says("a"), says("b"), says("c")]));
    assert!(agent.resume_if_queued().is_none());
    let run = agent.stream("go").unwrap();
    run.ended().await.unwrap();
    assert_eq!((run.steer("late").unwrap(), run.follow_up("later").unwrap()), (Delivery::Queued, Delivery::Queued));
    let next = agent.resume_if_queued().unwrap();
    // Gone meanwhile: then it resumes, if there is anything to resume.
    agent.clear_all_queues();
    assert_eq!(next.await.unwrap_err().kind(), ErrorKind::InvalidState);
    agent.steer("now").unwrap();
    let run = agent.resume_if_queued().unwrap().stream().unwrap();
    assert_eq!(run.steer("joins").unwrap(), Delivery::Joined);
    assert_eq!(agent.resume_if_queued().unwrap().await.unwrap_err().kind(), ErrorKind::Busy);
    run.ended().await.unwrap();
    let texts: Vec<String> = agent.messages().iter().map(|message| message.text()).collect();
    assert_eq!(texts, ["go", "a", "now", "b", "joins", "c"]);
}
