//! Limits and time while something holds a run up: a reader, a listener, a hook.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use agent_loop::event::Listener;
use agent_loop::host::Spelling;
use agent_loop::model::BoxFuture;
use agent_loop::{CancelToken, ErrorKind, Outcome};
use agent_mock::{Answer, Mock, Script};

use super::*;

/// A run that cannot be ended fails its test, in place of holding it up for ever.
async fn in_time<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(60), future).await.expect("the run goes on for ever")
}

fn limited(agent: Agent, options: Value) -> Agent {
    agent.set_options(options.as_object().unwrap(), Spelling::Snake, &[]).unwrap();
    agent
}

fn is_run_timeout(result: &RunResult) -> bool {
    let error = result.error.as_ref();
    result.outcome == Outcome::Error
        && error.is_some_and(|error| error.kind() == ErrorKind::Timeout && error.message().contains("run_timeout_ms"))
}

/// A tool that works until it is cancelled, and what then is cancelled in its turn.
fn until_cancelled() -> (impl Tool, CancelToken) {
    let noticed = CancelToken::new();
    let notice = noticed.clone();
    let tool = tool("t", move |_, context| {
        let notice = notice.clone();
        async move {
            context.update(json!("at work"));
            context.cancel_token().cancelled().await;
            notice.cancel();
            Ok(json!("stopped"))
        }
    });
    (tool, noticed)
}

#[tokio::test]
async fn a_model_is_not_silent_while_a_slow_reader_holds_the_run_up() {
    let mut answer = vec![json!({ "delta": "word " }); 3000];
    answer.push(end("stop"));
    let agent =
        limited(scripted(json!([answer])), json!({ "idle_timeout_ms": 1000, "first_byte_timeout_ms": 0, "max_retries": 0 }));
    let run = agent.stream("go").unwrap();
    // Longer than the limit: the engine goes by the machine's clock while nothing can happen.
    tokio::time::sleep(Duration::from_millis(1500)).await;
    let (_, result) = in_time(all(run)).await;
    assert_eq!((result.outcome, result.text.len()), (Outcome::Completed, 15_000), "{:?}", result.error);
}

#[tokio::test]
async fn the_run_s_limit_holds_while_a_listener_holds_it_up() {
    let (tool, noticed) = until_cancelled();
    let agent = builder(json!([[call("a", "t", json!({})), end("tool_use")]])).tool(tool).build().unwrap();
    let agent = limited(agent, json!({ "run_timeout_ms": 500 }));
    // It returns only when the tool was cancelled, and nothing but the limit cancels it.
    let listener = Listener::Future(Arc::new(move |event: Event| -> BoxFuture<'static, Result<(), String>> {
        let noticed = noticed.clone();
        Box::pin(async move {
            if event.kind() == "tool_execution_update" {
                noticed.cancelled().await;
            }
            Ok(())
        })
    }));
    let _subscription = agent.add_listener(listener);
    let result = in_time(agent.stream("go").unwrap().ended()).await.unwrap();
    assert!(is_run_timeout(&result), "{result:?}");
}

#[tokio::test]
async fn the_run_s_limit_holds_while_a_reader_holds_it_up() {
    let cancelled = CancelToken::new();
    let seen = cancelled.clone();
    let agent = Agent::builder("mine/model").provider(move |call| {
        let seen = seen.clone();
        tokio::spawn(async move {
            while call.push(&json!("word ")).is_ok() && call.ready().await {}
            seen.cancel();
        });
    });
    let agent = limited(agent.build().unwrap(), json!({ "run_timeout_ms": 100 }));
    let run = agent.stream("go").unwrap();
    // Read only when the model was cancelled, and nothing but the limit cancels it.
    in_time(cancelled.cancelled()).await;
    let (_, result) = in_time(all(run)).await;
    assert!(is_run_timeout(&result), "{result:?}");
}

#[tokio::test]
async fn the_limit_of_a_subagent_holds_while_a_reader_holds_the_run_around_it_up() {
    let cancelled = CancelToken::new();
    let seen = cancelled.clone();
    let endless = Agent::builder("mine/model").provider(move |call| {
        let seen = seen.clone();
        tokio::spawn(async move {
            while call.push(&json!("word ")).is_ok() && call.ready().await {}
            seen.cancel();
        });
    });
    let endless = limited(endless.build().unwrap(), json!({ "run_timeout_ms": 100 }));
    let answers =
        json!([[call("a", "endless", json!({ "prompt": "go" })), end("tool_use")], [json!({ "delta": "Done." }), end("stop")]]);
    let agent = builder(answers).tool(endless.as_tool("endless", "").unwrap()).build().unwrap();
    let run = agent.stream("go").unwrap();
    // Read only when the subagent's model was cancelled, and nothing but its limit cancels it.
    in_time(cancelled.cancelled()).await;
    let (_, result) = in_time(all(run)).await;
    assert_eq!((result.outcome, &*result.text), (Outcome::Completed, "Done."));
    assert!(result.messages[2].text().contains("run_timeout_ms"), "{}", result.messages[2].text());
}

#[tokio::test]
async fn a_hook_that_hangs_does_not_keep_a_run_from_its_end() {
    let answer = || Answer::text("hello");
    let mock = Mock::start(Script::new().answer(answer().times(2)));
    let asked = CancelToken::new();
    let ask = asked.clone();
    let agent = Agent::builder("openai/tiny").base_url(&mock.url()).on_response(move |_, _| {
        ask.cancel();
        std::future::pending::<Result<(), String>>()
    });
    let agent = agent.build().unwrap();
    let run = agent.stream("go").unwrap();
    in_time(asked.cancelled()).await;
    run.abort();
    assert_eq!(in_time(run.ended()).await.unwrap().outcome, Outcome::Aborted);
    let agent = limited(agent, json!({ "run_timeout_ms": 100 }));
    let result = in_time(agent.stream("go").unwrap().ended()).await.unwrap();
    assert!(is_run_timeout(&result), "{result:?}");
}

#[tokio::test]
async fn time_goes_on_in_after_run_also_of_an_aborted_run() {
    let slept = Arc::new(AtomicU64::new(0));
    let seen = Arc::clone(&slept);
    let agent = builder(json!([says("hello"), says("never")])).after_run(move |_, context| {
        let seen = Arc::clone(&seen);
        async move {
            // Less than the grace time of an abort.
            seen.fetch_add(u64::from(context.sleep(900).await), Ordering::SeqCst);
            Ok::<_, String>(())
        }
    });
    let agent = agent.build().unwrap();
    assert_eq!(in_time(agent.stream("go").unwrap().ended()).await.unwrap().outcome, Outcome::Completed);
    let aborted = agent.prompt("go").abort_on(std::future::ready(())).start().unwrap();
    assert_eq!(in_time(aborted.ended()).await.unwrap().outcome, Outcome::Aborted);
    assert_eq!(slept.load(Ordering::SeqCst), 2, "an abort does not end the sleep of this hook");
}

/// A tool that ignores its cancel token, never answers, and sends updates from a thread of its own until the flag is set. The
/// receiver hears when that thread has stopped.
fn flood() -> (impl Tool, Arc<AtomicBool>, mpsc::Receiver<()>) {
    let (stop, (over, is_over)) = (Arc::new(AtomicBool::new(false)), mpsc::channel());
    let stopped = Arc::clone(&stop);
    let tool = tool("t", move |_, context| {
        let (stopped, over) = (Arc::clone(&stopped), over.clone());
        async move {
            std::thread::spawn(move || {
                while !stopped.load(Ordering::SeqCst) {
                    context.update(json!("still here"));
                }
                over.send(()).unwrap();
            });
            std::future::pending().await
        }
    });
    (tool, stop, is_over)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn found_a1_a_tool_that_updates_without_end_can_be_aborted() {
    let (tool, stop, is_over) = flood();
    let agent = builder(json!([[call("a", "t", json!({})), end("tool_use")]])).tool(tool).build().unwrap();
    let agent = limited(agent, json!({ "abort_grace_ms": 0 }));
    let (aborting, after) = (agent.clone(), Arc::new(AtomicU64::new(0)));
    let counted = Arc::clone(&after);
    let _subscription = agent.subscribe(move |event| {
        if event.kind() == "tool_execution_update" {
            counted.fetch_add(1, Ordering::SeqCst);
            aborting.abort();
        }
    });
    let result = in_time(agent.stream("go").unwrap().ended()).await.unwrap();
    stop.store(true, Ordering::SeqCst);
    is_over.recv().unwrap();
    assert_eq!(result.outcome, Outcome::Aborted);
    assert_eq!(after.load(Ordering::SeqCst), 1, "after the abort no update is emitted");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn found_a1_a_tool_that_updates_without_end_has_its_limits() {
    for limit in ["tool_timeout_ms", "run_timeout_ms"] {
        let (tool, stop, is_over) = flood();
        let script = json!([[call("a", "t", json!({})), end("tool_use")], says("Done.")]);
        let agent = limited(builder(script).tool(tool).build().unwrap(), json!({ limit: 50, "abort_grace_ms": 0 }));
        // Slower than the updates come.
        let listener = Listener::Future(Arc::new(|_| -> BoxFuture<'static, Result<(), String>> {
            Box::pin(async {
                tokio::time::sleep(Duration::from_millis(2)).await;
                Ok(())
            })
        }));
        agent.add_listener(listener).detach();
        let result = in_time(agent.stream("go").unwrap().ended()).await.unwrap();
        stop.store(true, Ordering::SeqCst);
        is_over.recv().unwrap();
        match limit {
            "tool_timeout_ms" => assert!(results(&result)[0].0.contains("tool_timeout_ms (50)"), "{result:?}"),
            _ => assert!(is_run_timeout(&result), "{result:?}"),
        }
    }
}
