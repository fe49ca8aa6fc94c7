//! Runs that are recorded, and played again: whole, or with the recorded answers in place of the model's.

mod shared_file;

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use agent_loop::host::Spelling;
use agent_loop::{Context, ErrorKind, Outcome, Record, Replay, Runtime, complete, replay};
use tempfile::TempDir;

use super::support::*;

/// A folder, and a file in it that is not there yet.
fn file() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("runs.jsonl");
    (folder, file)
}

/// A tool that counts its calls.
fn counter() -> (FnTool, Arc<AtomicUsize>) {
    let calls = Arc::new(AtomicUsize::new(0));
    let of_tool = Arc::clone(&calls);
    let tool = tool("count", move |_, _| {
        let before = of_tool.fetch_add(1, Ordering::SeqCst);
        async move { Ok(json!(format!("{before} before"))) }
    });
    (tool, calls)
}

fn script() -> Value {
    json!([[call("a", "count", json!({})), end("tool_use")], says("Done."), says("Again.")])
}

/// The model in place of the scripted one, which would have no answer.
fn replaying(file: &Path) -> AgentBuilder {
    builder(json!([])).replay(file)
}

fn lines(events: &[Event]) -> Vec<String> {
    events.iter().map(Event::to_json).collect()
}

#[tokio::test]
async fn a_recorded_run_is_played_without_its_tools() {
    let (_folder, file) = file();
    let (tool, calls) = counter();
    let agent = builder(script()).tool(tool).record(&*file).build().unwrap();
    let (first, result) = play(&agent).await;
    let (second, _) = play(&agent).await;
    assert_eq!(calls.load(Ordering::SeqCst), 1);

    let (played, again) = all(replay(&*file).stream().unwrap()).await;
    assert_eq!((lines(&played), again.text), (lines(&first), result.text));
    assert_eq!(lines(&all(replay(Replay::of(&*file).run(2)).stream().unwrap()).await.0), lines(&second));
    assert_eq!(calls.load(Ordering::SeqCst), 1);
    let error = replay(Replay::of(&*file).run(3)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert!(error.message().ends_with("runs.jsonl has 2 runs, 1 to 2, and run 3 is asked for"), "{error}");
}

#[tokio::test]
async fn a_run_that_is_played_takes_no_messages_and_can_be_aborted() {
    let (_folder, file) = file();
    let (tool, _) = counter();
    builder(script()).tool(tool).record(&*file).build().unwrap().prompt("go").await.unwrap();
    let mut run = replay(&*file).stream().unwrap();
    assert_eq!(run.next().await.unwrap().kind(), "agent_start");
    let error = run.steer("no").unwrap_err();
    assert_eq!((error.kind(), error.message().contains("as it was recorded")), (ErrorKind::InvalidState, true));
    assert_eq!(run.ended().await.unwrap().outcome, Outcome::Completed);
    assert_eq!(run.agent().messages().len(), 4);

    let (events, result) = all(replay(&*file).abort_on(std::future::ready(())).stream().unwrap()).await;
    assert_eq!((result.outcome, events.last().unwrap().kind()), (Outcome::Aborted, "agent_end"));
}

#[tokio::test]
async fn tools_and_hooks_run_for_real_and_the_answers_are_recorded() {
    let (_folder, file) = file();
    let (tool, _) = counter();
    let agent = builder(script()).tool(tool).record(&*file).build().unwrap();
    let (recorded, _) = play(&agent).await;

    let (tool, calls) = counter();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let of_hook = Arc::clone(&seen);
    let hook = Hook::after_tool_call(move |after, _| {
        of_hook.lock().unwrap().push(after.tool_name.clone());
        async { Ok::<_, String>(agent_loop::hook::ToolOverride::default()) }
    });
    let agent = replaying(&file).tool(tool).hook(hook).build().unwrap();
    let (events, result) = play(&agent).await;
    check(&agent, &events);
    assert_eq!((result.text.as_str(), calls.load(Ordering::SeqCst), seen.lock().unwrap().len()), ("Done.", 1, 1));
    assert_eq!(lines(&events), lines(&recorded));
}

#[tokio::test]
async fn the_first_other_request_ends_the_run_and_shows_both() {
    let (_folder, file) = file();
    let (tool, _) = counter();
    builder(script()).tool(tool).record(&*file).build().unwrap().prompt("go").await.unwrap();

    // The tool answers something else.
    let changed = super::tool("count", |_, _| async { Ok(json!("1 before")) });
    let agent = replaying(&file).tool(changed).build().unwrap();
    let error = agent.prompt("go").await.unwrap_err();
    assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Replay, false));
    let expected = "request 2 of run 1 is not the recorded one: request.messages[2].content[0].text is \"1 before\", and was \
                    recorded as \"0 before\"";
    assert!(error.message().contains(expected), "{error}");
    assert!(error.message().starts_with(&format!("the recording {}: line ", file.display())), "{error}");

    // Other instructions, and another prompt.
    let (tool, _) = counter();
    let error = replaying(&file).tool(tool).system_prompt("Be brief.").build().unwrap().prompt("go").await.unwrap_err();
    assert!(error.message().contains("system_prompt is \"Be brief.\", and was recorded as \"\""), "{error}");
    let (tool, calls) = counter();
    let error = replaying(&file).tool(tool).build().unwrap().prompt("stay").await.unwrap_err();
    assert!(error.message().contains("is \"stay\", and was recorded as \"go\""), "{error}");
    assert_eq!(calls.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn requests_that_are_left_over_or_missing_are_differences() {
    let (_folder, file) = file();
    let (tool, _) = counter();
    builder(script()).tool(tool).record(&*file).build().unwrap().prompt("go").await.unwrap();

    let (tool, _) = counter();
    let (events, result) = play(&replaying(&file).tool(tool).max_turns(1).build().unwrap()).await;
    assert_eq!((result.outcome, result.error.unwrap().kind()), (Outcome::Error, ErrorKind::Replay));
    let EventData::AgentEnd { error: Some(error), .. } = &events.last().unwrap().data else { panic!("no error") };
    assert!(error.message().contains("the run has ended, and request 2 of run 1 was recorded and not made"), "{error}");

    // One more than was recorded: of a run, and a run.
    let (tool, _) = counter();
    let agent = replaying(&file).tool(tool).build().unwrap();
    agent.set_hook(Hook::get_follow_up_messages(|_, _| async { Ok::<_, String>(vec![Message::user("more", 0)]) }));
    let error = agent.prompt("go").await.unwrap_err();
    assert!(error.message().contains("request 3 (to scripted/s) was not recorded: run 1 has 2 of them"), "{error}");
    let error = agent.prompt("go").await.unwrap_err();
    assert!(error.message().contains("runs.jsonl: it has no further run"), "{error}");
}

#[tokio::test]
async fn a_run_that_does_not_begin_takes_no_run_of_the_recording() {
    let (_folder, file) = file();
    builder(json!([says("Hello.")])).record(&*file).build().unwrap().prompt("go").await.unwrap();
    let agent = replaying(&file).build().unwrap();
    assert_eq!(agent.prompt("").await.unwrap_err().kind(), ErrorKind::InvalidArgument);
    assert_eq!(agent.resume().await.unwrap_err().kind(), ErrorKind::InvalidState);
    assert_eq!(agent.prompt("go").await.unwrap().text, "Hello.");
}

#[tokio::test]
async fn runs_find_theirs_by_model_and_prompt() {
    let (_folder, file) = file();
    let settings = builder(json!([says("one"), says("two"), says("three")])).record(&*file).build().unwrap();
    let context = Context::new(Vec::<Message>::new());
    for prompt in ["1", "2"] {
        agent_loop::run(&context, prompt, &settings).await.unwrap();
    }
    complete(&settings, "3").await.unwrap();

    let settings = replaying(&file).build().unwrap();
    let (third, second, first) = tokio::join!(
        complete(&settings, "3"),
        agent_loop::run(&context, "2", &settings),
        agent_loop::run(&context, "1", &settings)
    );
    assert_eq!([third.unwrap().text(), second.unwrap().text, first.unwrap().text], ["three", "two", "one"]);
    // From a later run on.
    let agent = builder(json!([])).replay(Replay::of(&*file).run(2)).build().unwrap();
    assert_eq!(agent.prompt("2").await.unwrap().text, "two");
}

#[tokio::test]
async fn waits_are_skipped_and_have_the_recorded_length() {
    let (_folder, file) = file();
    let overloaded = json!([{ "error": { "kind": "overloaded", "message": "later", "retryable": true } }]);
    let script = json!([overloaded, [{ "wait_ms": 60_000 }, { "delta": "Slow." }, end("stop")]]);
    let (recorded, _) = play(&builder(script).retry_base_ms(50_000).record(&*file).build().unwrap()).await;
    let (events, result) = play(&replaying(&file).retry_base_ms(50_000).build().unwrap()).await;
    assert_eq!(result.text, "Slow.");
    assert_eq!(lines(&events), lines(&recorded));
}

#[tokio::test]
async fn a_message_that_came_during_an_answer_is_awaited_there() {
    let (_folder, file) = file();
    let script = json!([[{ "delta": "Let me see" }, { "wait_ms": 1000 }, { "delta": "." }, end("stop")], says("Celsius.")]);
    let steered = |agent: Agent| async move {
        let mut run = agent.stream("go").unwrap();
        while let Some(event) = run.next().await {
            if event.kind() == "text_delta" && !agent.has_queued_messages() && agent.messages().len() == 1 {
                // A reader that takes its time.
                tokio::time::sleep(Duration::from_millis(50)).await;
                run.steer("In Celsius.").unwrap();
            }
        }
        run.result().await
    };
    let agent = builder(script).build().unwrap();
    agent.set_record(&*file);
    // A listener, for which the model is sure to wait.
    let of_listener = agent.clone();
    let steering = agent.subscribe(move |event| {
        if event.kind() == "text_delta" && of_listener.messages().len() == 1 && !of_listener.has_queued_messages() {
            of_listener.steer("In Celsius.").unwrap();
        }
    });
    assert_eq!(agent.prompt("go").await.unwrap().text, "Celsius.");
    drop(steering);
    assert_eq!(steered(replaying(&file).build().unwrap()).await.unwrap().text, "Celsius.");
}

#[tokio::test]
async fn an_abort_is_recorded_and_awaited() {
    let (_folder, file) = file();
    let agent = builder(json!([[{ "delta": "Let me" }, { "wait_ms": 1000 }, { "delta": " see." }, end("stop")]]));
    let agent = agent.record(&*file).build().unwrap();
    let aborting = |agent: &Agent| {
        let of_listener = agent.clone();
        agent.subscribe(move |event| {
            if event.kind() == "text_delta" {
                of_listener.abort();
            }
        })
    };
    let listening = aborting(&agent);
    let (recorded, result) = play(&agent).await;
    assert_eq!(result.outcome, Outcome::Aborted);
    drop(listening);
    assert_eq!(lines(&all(replay(&*file).stream().unwrap()).await.0), lines(&recorded));
    let agent = replaying(&file).build().unwrap();
    let _listening = aborting(&agent);
    assert_eq!(lines(&play(&agent).await.0), lines(&recorded));
}

#[tokio::test]
async fn files_that_cannot_be_used_are_errors_at_the_start() {
    let (folder, file) = file();
    let refused = |record: Record| async { builder(json!([says("x")])).record(record).build().unwrap().prompt("go").await };
    let missing = folder.path().join("none").join("runs.jsonl");
    let error = refused(Record::to(&missing)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io);
    assert!(error.message().starts_with("record: the recording ") && error.message().contains("its folder does not exist"));
    let error = refused(Record::to(folder.path())).await.unwrap_err();
    assert!(error.message().contains("it is a folder: name a file in it"), "{error}");
    std::fs::write(&file, "Dear diary,\n").unwrap();
    let error = refused(Record::to(&*file)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert!(error.message().contains("there is something else in this file than a recording"), "{error}");
    std::fs::write(&file, "{\"agent_loop").unwrap();
    let error = refused(Record::to(&*file)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Damaged);
    assert!(error.message().contains("ends within a line, and no run can be added"), "{error}");

    let error = replaying(&missing).build().unwrap().prompt("go").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io);
    let (begin, advice) = ("option \"replay\": the recording ", "record it first, with the option record");
    assert!(error.message().starts_with(begin) && error.message().ends_with(advice), "{error}");
    let error = replay("").await.unwrap_err();
    assert_eq!(
        (error.kind(), error.message()),
        (ErrorKind::InvalidArgument, "replay: expected the path of a recording, got an empty one")
    );
    let error = replay(folder.path()).await.unwrap_err();
    assert!(error.message().ends_with("it is a folder: name a file in it"), "{error}");
    let error = replay(&*file).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Damaged);
    assert!(error.message().starts_with("replay: the recording ") && error.message().contains("runs.jsonl: line 1: "), "{error}");
    let both = replaying(&file).record(&*file).build().unwrap().prompt("go").await.unwrap_err();
    assert!(both.message().contains("the options record and replay exclude each other"), "{both}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_leaves_the_run_alone_and_fails_the_next_one() {
    use agent_loop::host::{LogLevel, LogRecord};

    let runtime = Runtime::new().unwrap();
    let logged = Arc::new(Mutex::new(Vec::new()));
    let of_log = Arc::clone(&logged);
    let keep = move |record: LogRecord| of_log.lock().unwrap().push(record.code());
    runtime.set_log(LogLevel::Error, Some(Arc::new(keep)));
    let agent = builder(json!([says("one"), says("two")])).record("/dev/full").runtime(&runtime).build().unwrap();
    assert_eq!(runtime.block_on(agent.prompt("go")).unwrap().text, "one");
    let error = runtime.block_on(agent.prompt("go")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io);
    let begin = "record: the run before this one is not recorded: the recording /dev/full cannot be written (";
    assert!(error.message().starts_with(begin), "{error}");
    assert_eq!(runtime.block_on(agent.prompt("go")).unwrap().text, "two");
    runtime.shutdown(Duration::from_secs(30));
    assert_eq!(logged.lock().unwrap().first(), Some(&"record_error"));
}

#[test]
fn options_in_json() {
    let agent = scripted(json!([]));
    let set = |options: Value, spelling| agent.set_options(options.as_object().unwrap(), spelling, &[]);
    set(json!({ "record": "a.jsonl", "replay": { "path": "b.jsonl", "run": 2 } }), Spelling::Snake).unwrap();
    assert_eq!((agent.record().path(), agent.replay().path()), (Some(Path::new("a.jsonl")), Some(Path::new("b.jsonl"))));
    set(json!({ "record": { "path": "c.jsonl", "frames": true }, "replay": null }), Spelling::Camel).unwrap();
    assert_eq!((agent.record().path(), agent.replay().path()), (Some(Path::new("c.jsonl")), None));
    for (wrong, expected) in [
        (json!({ "record": 5 }), "option \"record\": expected the path of a file"),
        (json!({ "record": "" }), "option \"record\": expected the path of a file"),
        (json!({ "record": { "path": "a", "frames": 1 } }), "option \"record\": expected the path of a file"),
        (json!({ "record": { "path": "a", "frame": true } }), "unknown field of record \"frame\""),
        (json!({ "replay": { "path": "a", "run": 0 } }), "option \"replay\": expected the path of a recording"),
        (json!({ "replay": { "run": 1 } }), "option \"replay\": expected the path of a recording"),
    ] {
        let error = set(wrong.clone(), Spelling::Snake).unwrap_err();
        assert!(error.message().starts_with(expected), "{wrong}: {error}");
    }
}
