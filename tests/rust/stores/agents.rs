//! Agents whose conversations are in a store.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use agent_loop::gate::Gate;
use agent_loop::session::{CallProgress, Info, JournalRecord, Reset, SessionStart, Store};
use agent_loop::suspension::Decision;
use agent_loop::tool::OnInterrupted;
use agent_loop::{Agent, AgentBuilder, ErrorKind, FnTool, Message, Outcome, ToolContext};
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::custom::Lines;
use crate::place::{Kind, Place, run};
use crate::support::{builder, call, end, says, tool};

/// An agent of the session `s`, as this process has it.
async fn agent(store: &Store, builder: AgentBuilder) -> Agent {
    agent_of(store, "s", builder).await
}

async fn agent_of(store: &Store, id: &str, builder: AgentBuilder) -> Agent {
    let session = store.session(id).unwrap().open().await.unwrap();
    builder.session(session).build().unwrap()
}

/// Closes the agent's session, as the end of a process does.
async fn closed(agent: Agent) {
    agent.session().unwrap().close().await.unwrap();
}

fn texts(agent: &Agent) -> Vec<String> {
    agent.messages().iter().map(|message| message.text()).collect()
}

/// A tool `a` that answers when the gate is opened.
fn gated(gate: &Arc<Notify>) -> FnTool {
    let gate = Arc::clone(gate);
    tool("a", move |_, _| {
        let gate = Arc::clone(&gate);
        async move {
            gate.notified().await;
            Ok(json!("ran"))
        }
    })
}

fn calls(names: &[&str]) -> Value {
    let calls = names.iter().map(|name| call(name, name, json!({})));
    calls.chain([end("tool_use")]).collect()
}

#[test]
fn a_conversation_goes_on_in_another_process() {
    [Kind::Memory, Kind::Sqlite, Kind::Jsonl].into_iter().for_each(goes_on);
}

#[cfg(feature = "postgres")]
#[test]
#[ignore = "make test-servers starts the server"]
fn a_conversation_goes_on_in_another_process_with_postgres() {
    goes_on(Kind::Postgres);
}

fn goes_on(kind: Kind) {
    let place = Place::new(kind);
    run(async {
        let script = json!([calls(&["a"]), says("Rain.")]);
        let keys = Arc::new(std::sync::Mutex::new(Vec::new()));
        let kept = Arc::clone(&keys);
        let a = tool("a", move |_, context| {
            kept.lock().unwrap().push(context.idempotency_key().to_owned());
            async { Ok(json!("ran")) }
        });
        let first = agent(&place.store(), builder(script).tool(a)).await;
        assert_eq!(first.prompt("Rain?").await.unwrap().text, "Rain.");
        first.append_message(Message::user("a note", 0)).unwrap();
        first.follow_up("later").unwrap();
        closed(first.clone()).await;
        assert_eq!(*keys.lock().unwrap(), ["s/1/a"]);

        let second = agent(&place.store(), builder(json!([says("Noted."), says("Fine.")]))).await;
        assert_eq!(second.messages(), first.messages());
        assert_eq!(second.interrupted(), None);
        assert!(second.has_queued_messages());
        assert_eq!(second.resume_if_queued().unwrap().await.unwrap().text, "Fine.");
        second.replace_messages(vec![Message::user("anew", 0)]).unwrap();
        second.clear_all_queues();
        closed(second).await;

        let third = agent(&place.store(), builder(json!([]))).await;
        assert_eq!((texts(&third), third.has_queued_messages()), (vec!["anew".to_owned()], false));
        third.reset().unwrap();
        closed(third).await;
        assert!(agent(&place.store(), builder(json!([]))).await.messages().is_empty());
    });
}

#[test]
fn what_was_decided_for_always_holds_in_another_process() {
    for kind in [Kind::Memory, Kind::Sqlite, Kind::Jsonl] {
        let place = Place::new(kind);
        run(async {
            let gated = |script: Value| {
                let gate = Gate::new().ask(["a", "b"]).unwrap();
                builder(script).tool(tool("a", ran)).tool(tool("b", ran)).gate(gate)
            };
            let approving = gated(json!([calls(&["a"]), says("Done."), calls(&["b"]), says("Done.")]));
            let approving = approving
                .on_approval(|call, _| async move { Ok::<_, String>((call.rule == "a({})").then_some(Decision::ApproveAlways)) });
            let first = agent(&place.store(), approving).await;
            assert_eq!(first.prompt("by the hook").await.unwrap().outcome, Outcome::Completed);
            assert_eq!(first.prompt("by a resume").await.unwrap().pending[0].rule, "b({})");
            first.resume().decisions([("b", Decision::deny_always("no"))]).await.unwrap();
            closed(first.clone()).await;

            let second = agent(&place.store(), gated(json!([calls(&["a", "b"]), says("Done.")]))).await;
            assert_eq!(second.remembered(), first.remembered());
            assert_eq!(second.prompt("again").await.unwrap().outcome, Outcome::Completed);
            assert!(
                texts(&second).iter().any(|text| text.starts_with("the rule b({}) denies this call")),
                "{:?}",
                texts(&second)
            );
            second.forget(Some("b({})")).unwrap();
            closed(second).await;

            let third = agent(&place.store(), gated(json!([calls(&["b"])]))).await;
            assert_eq!((third.remembered().allow[0].as_str(), third.remembered().deny.len()), ("a({})", 0));
            assert_eq!(third.prompt("once more").await.unwrap().outcome, Outcome::Suspended);
            third.reset().unwrap();
            closed(third).await;
            assert!(agent(&place.store(), gated(json!([]))).await.remembered().is_empty());
        });
    }
}

/// A tool that answers at once.
async fn ran(_: Value, _: ToolContext) -> Result<Value, String> {
    Ok(json!("ran"))
}

#[test]
fn a_session_has_one_agent() {
    run(async {
        let store = Store::open("memory:").unwrap();
        let session = store.session("s").unwrap().open().await.unwrap();
        let with_messages = builder(json!([])).messages(vec![Message::user("hi", 0)]);
        let error = with_messages.session(session.clone()).build().unwrap_err();
        assert!(error.kind() == ErrorKind::InvalidArgument && error.message().contains("append_messages"), "{error}");
        let first = builder(json!([])).session(session.clone()).build().unwrap();
        let error = builder(json!([])).session(session.clone()).build().unwrap_err();
        assert!(error.kind() == ErrorKind::InvalidState && error.message().contains("open it again"), "{error}");
        drop((first, session));
        // It is given back with its agent.
        agent(&store, builder(json!([]))).await;
    });
}

#[test]
fn records_do_not_pass_the_agent_by() {
    run(async {
        let store = Store::open("memory:").unwrap();
        let message = || vec![JournalRecord::message(Message::user("past it", 0))];
        let session = store.session("s").unwrap().open().await.unwrap();
        let agent = builder(json!([])).session(session.clone()).build().unwrap();
        for records in [message(), vec![JournalRecord::Reset(Reset {})]] {
            let error = session.append(records).await.unwrap_err();
            assert!(error.kind() == ErrorKind::InvalidState && error.message().contains("append_messages"), "{error}");
        }
        session.append(vec![JournalRecord::Info(Info::default().title("Weather"))]).await.unwrap();
        session.set_info(Info::default().title("Rain")).await.unwrap();
        agent.append_message(Message::user("through it", 0)).unwrap();
        closed(agent).await;

        // Nor does an agent begin beside them.
        let session = store.session("s").unwrap().open().await.unwrap();
        session.append(message()).await.unwrap();
        let error = builder(json!([])).session(session.clone()).build().unwrap_err();
        assert!(error.kind() == ErrorKind::InvalidState && error.message().contains("records were appended"), "{error}");
        session.close().await.unwrap();
        assert_eq!(texts(&agent_of(&store, "s", builder(json!([]))).await), ["through it", "past it"]);
    });
}

#[test]
fn an_export_begins_no_session_that_has_begun() {
    run(async {
        let store = Store::open("memory:").unwrap();
        let export = builder(json!([])).messages(vec![Message::user("exported", 0)]).build().unwrap().export(None).unwrap();
        for fits in [true, false] {
            let session = store.session("s").unwrap().open().await.unwrap();
            let begun = Agent::from_export(builder(json!([])).session(session.clone()), &export, None);
            match begun {
                Ok(agent) => assert_eq!((fits, texts(&agent)), (true, vec!["exported".to_owned()])),
                Err(error) => assert!(!fits && error.message().contains("give it a session that is new"), "{error}"),
            }
            session.close().await.unwrap();
        }
    });
}

#[test]
fn a_host_gives_an_agent_one_session_and_first_of_all() {
    run(async {
        let store = Store::open("memory:").unwrap();
        let open = async |id: &str| store.session(id).unwrap().open().await.unwrap();
        let gate = Arc::new(Notify::new());
        let agent = builder(json!([calls(&["a"]), says("Hello.")])).tool(gated(&gate)).build().unwrap();
        let (a, b) = (open("a").await, open("b").await);
        let refused = |agent: &Agent, part: &str| {
            let error = agent.set_session(b.clone()).unwrap_err();
            assert!(error.message().contains(part), "{error}");
            error.kind()
        };
        agent.steer("first").unwrap();
        assert_eq!(refused(&agent, "queued messages"), ErrorKind::InvalidState);
        let running = agent.stream("go").unwrap();
        assert_eq!(refused(&agent, "a run is active"), ErrorKind::Busy);
        gate.notify_one();
        running.result().await.unwrap();
        assert_eq!(refused(&agent, "append_messages"), ErrorKind::InvalidArgument);
        agent.reset().unwrap();
        agent.set_session(a).unwrap();
        assert_eq!(refused(&agent, "make another agent for \"b\""), ErrorKind::InvalidState);
        // It can be given to another one.
        builder(json!([])).build().unwrap().set_session(b.clone()).unwrap();
    });
}

#[test]
fn an_agent_whose_session_was_closed_says_so() {
    run(async {
        let agent = agent(&Store::open("memory:").unwrap(), builder(json!([says("Hello.")]))).await;
        closed(agent.clone()).await;
        for error in [
            agent.prompt("go").await.unwrap_err(),
            agent.append_message(Message::user("a", 0)).unwrap_err(),
            agent.steer("a").unwrap_err(),
            agent.reset().unwrap_err(),
        ] {
            assert!(error.kind() == ErrorKind::InvalidState && error.message().contains("was closed"), "{error}");
        }
        assert!(agent.messages().is_empty() && !agent.has_queued_messages(), "nothing has changed");
    });
}

/// The session's records, one per line.
async fn lines(store: &Store) -> Vec<String> {
    store.session("s").unwrap().export().await.unwrap().lines().map(str::to_owned).collect()
}

/// An agent of a session with the first records of another one.
async fn cut(store: &Store, lines: &[String], count: usize, builder: AgentBuilder) -> Agent {
    let (text, id) = (format!("{}\n", lines[..count].join("\n")), format!("cut-{count}"));
    store.import(&text, Some(&id)).await.unwrap();
    agent_of(store, &id, builder).await
}

#[test]
fn what_was_interrupted_goes_on() {
    run(async {
        let store = Store::open("memory:").unwrap();
        let ran = Arc::new(AtomicUsize::new(0));
        let tools = |builder: AgentBuilder| {
            let count = || {
                let ran = Arc::clone(&ran);
                move |_, _| {
                    ran.fetch_add(1, Ordering::SeqCst);
                    async { Ok(json!("ran")) }
                }
            };
            builder.tool(tool("once", count())).tool(tool("again", count()).on_interrupted(OnInterrupted::Retry))
        };
        let first = agent(&store, tools(builder(json!([calls(&["once", "again"]), says("Done.")])))).await;
        first.prompt("go").await.unwrap();
        closed(first).await;
        let lines = lines(&store).await;
        let place = |kind: &str, nth: usize| {
            let mut places = lines.iter().enumerate().filter(|(_, line)| line.contains(&format!("\"kind\":\"{kind}\"")));
            places.nth(nth).unwrap().0 + 1
        };
        let next = || tools(builder(json!([says("Fine.")])));
        let results = |agent: &Agent| -> Vec<String> {
            let messages = agent.messages();
            messages.iter().filter(|message| message.role() == "tool_result").map(|message| message.text()).collect()
        };

        // The model was asked.
        let agent = cut(&store, &lines, place("message", 0), next()).await;
        let interrupted = agent.interrupted().unwrap();
        assert_eq!((json!(interrupted)["phase"].clone(), interrupted.calls.len()), (json!("model"), 0));
        assert_eq!(agent.resume().await.unwrap().text, "Fine.");
        assert_eq!(agent.interrupted(), None);

        // Both tools had been called.
        ran.store(0, Ordering::SeqCst);
        let agent = cut(&store, &lines, place("tool_start", 1), next()).await;
        let calls = agent.interrupted().unwrap().calls;
        assert!(calls.iter().all(|call| call.progress == CallProgress::Started) && calls.len() == 2);
        agent.resume().await.unwrap();
        assert_eq!(ran.load(Ordering::SeqCst), 1, "the one that may run again");
        let texts = results(&agent);
        assert!(texts[0].contains("is not known") && texts[1] == "ran", "{texts:?}");

        // One of them had answered.
        ran.store(0, Ordering::SeqCst);
        let agent = cut(&store, &lines, place("tool_answer", 0), next()).await;
        agent.resume().await.unwrap();
        let done = ran.load(Ordering::SeqCst);
        let answered = results(&agent).iter().filter(|text| *text == "ran").count();
        assert!(done < 2 && answered >= 1, "{done}, {answered}");

        // A prompt in place of the resume takes that answer, too, and gives the other call up.
        ran.store(0, Ordering::SeqCst);
        store.import(&format!("{}\n", lines[..place("tool_answer", 0)].join("\n")), Some("prompted")).await.unwrap();
        let agent = agent_of(&store, "prompted", next()).await;
        agent.prompt("and now?").await.unwrap();
        assert_eq!((ran.load(Ordering::SeqCst), results(&agent)), (0, vec!["ran".to_owned()]));
        closed(agent).await;
        let kept = agent_of(&store, "prompted", next()).await;
        assert_eq!(results(&kept), ["ran"]);

        // Only the run's end is missing: there is nothing to go on with, and nothing stands in the way.
        let agent = cut(&store, &lines, lines.len() - 1, next()).await;
        assert_eq!(agent.interrupted(), None);
        assert_eq!(agent.resume().await.unwrap_err().kind(), ErrorKind::InvalidState);
        assert_eq!(agent.prompt("and now?").await.unwrap().text, "Fine.");
    });
}

#[test]
fn a_decision_is_accepted_once() {
    run(async {
        let store = Store::open("memory:").unwrap();
        let ask = || tool("a", |_, _| async { Ok(json!("ran")) }).with_approval();
        let first = agent(&store, builder(json!([calls(&["a"])])).tool(ask())).await;
        assert_eq!(first.prompt("go").await.unwrap().outcome, Outcome::Suspended);
        closed(first).await;

        let second = agent(&store, builder(json!([says("Done.")])).tool(ask())).await;
        assert_eq!(&*second.pending()[0].idempotency_key, "s/1/a");
        assert_eq!(second.prompt("go").await.unwrap_err().kind(), ErrorKind::InvalidState);
        assert_eq!(second.resume().decisions([("a", Decision::Approve)]).await.unwrap().text, "Done.");
        closed(second).await;

        // The process ends as soon as the decision is written.
        let lines = lines(&store).await;
        let decided = lines.iter().position(|line| line.contains("\"kind\":\"decisions\"")).unwrap() + 1;
        let agent = cut(&store, &lines, decided, builder(json!([says("Fine.")])).tool(ask())).await;
        assert!(agent.pending().is_empty());
        let error = agent.resume().decisions([("a", Decision::deny("no"))]).await.unwrap_err();
        assert!(error.kind() == ErrorKind::InvalidState && error.message().contains("decided before"), "{error}");
        agent.resume().await.unwrap();
        assert_eq!(texts(&agent)[2], "ran");
    });
}

#[test]
fn a_steered_message_is_kept_while_its_run_goes_on() {
    run(async {
        let store = Store::open("memory:").unwrap();
        let gate = Arc::new(Notify::new());
        let agent = agent(&store, builder(json!([calls(&["a"]), says("Done.")])).tool(gated(&gate))).await;
        let run = agent.stream("go").unwrap();
        while agent.pending_tool_calls().is_empty() {
            tokio::task::yield_now().await;
        }
        agent.steer("s").unwrap();
        agent.flush().await.unwrap();
        let records = store.session("s").unwrap().records(0, 100).await.unwrap();
        assert!(records.iter().any(|entry| matches!(entry.record, JournalRecord::Queued(_))));
        gate.notify_one();
        assert_eq!(run.result().await.unwrap().text, "Done.");
    });
}

#[test]
fn a_run_whose_session_cannot_be_written_ends_with_the_stores_error() {
    run(async {
        let store = Store::custom(Lines::default()).open().unwrap();
        let agent = agent(&store, builder(json!([says("fail")]))).await;
        let error = agent.prompt("go").await.unwrap_err();
        assert!(error.kind() == ErrorKind::Io && error.message() == "the list is full", "{error}");
        // What was not written was not emitted.
        assert_eq!(texts(&agent), ["go"]);
        assert_eq!(agent.prompt("go").await.unwrap_err().message(), "the list is full");
        assert_eq!(agent.append_message(Message::user("a", 0)).unwrap_err().message(), "the list is full");
    });
}

#[test]
fn an_abort_does_not_wait_for_a_store_that_does_not_answer() {
    run(async {
        let store = Store::custom(Lines::default()).open().unwrap();
        let agent = agent(&store, builder(json!([says("hang")])).abort_grace_ms(150)).await;
        let run = agent.stream("go").unwrap();
        // It has asked the store for the answer's record.
        while agent.streaming_message().is_none_or(|message| message.text() != "hang") {
            tokio::task::yield_now().await;
        }
        agent.abort();
        let result = run.ended().await.unwrap();
        let error = result.error.unwrap();
        assert_eq!((result.outcome, error.kind()), (Outcome::Error, ErrorKind::Io));
        let text = "the application's list has not answered within abort_grace_ms (150) after the run was aborted; the session \
                    \"s\" was given up: open it again when the store answers";
        assert_eq!(error.message(), text);
        assert_eq!(agent.prompt("go").await.unwrap_err().message(), text);
    });
}

#[test]
fn a_runs_time_limit_does_not_wait_for_a_store_that_does_not_answer() {
    run(async {
        let store = Store::custom(Lines::default()).open().unwrap();
        // In the system's time, not in that of a script.
        let builder = Agent::builder("mine/model").provider(|call| {
            call.push(&json!({ "text": "hang" })).unwrap();
            call.push(&json!({ "end": { "stop_reason": "stop" } })).unwrap();
            call.finish();
        });
        let agent = agent(&store, builder.run_timeout_ms(100).abort_grace_ms(100)).await;
        let error = agent.prompt("go").await.unwrap_err();
        assert!(error.kind() == ErrorKind::Io && error.message().contains("has not answered"), "{error}");
        assert_eq!(texts(&agent), ["go"]);
    });
}

#[test]
fn a_run_that_is_not_read_holds_up_no_other_session() {
    let place = Place::new(Kind::Sqlite);
    run(async {
        let store = place.store();
        // With so many, one of them writes for all.
        let mut open = Vec::new();
        for number in 0..10 {
            open.push(store.session(&format!("open {number}")).unwrap().open().await.unwrap());
        }
        // More than a queue holds.
        let answer: Vec<Value> = (0..3_000).map(|_| json!({ "delta": "x" })).chain([json!({ "end": "stop" })]).collect();
        let unread = agent_of(&store, "unread", builder(json!([answer]))).await;
        let stream = unread.stream("go").unwrap();
        let read = agent_of(&store, "read", builder(json!([says("Done."), says("Again.")]))).await;
        assert_eq!(read.prompt("go").await.unwrap().text, "Done.");
        assert_eq!(read.prompt("go").await.unwrap().text, "Again.");
        assert_eq!(stream.ended().await.unwrap().text.len(), 3_000);
    });
}

#[test]
fn found_records_that_are_refused_leave_the_session_to_its_agent() {
    run(async {
        let store = Store::open("memory:").unwrap();
        let session = store.session("s").unwrap().open().await.unwrap();
        let other = JournalRecord::Session(SessionStart::new("t", 0));
        assert_eq!(session.append(vec![other]).await.unwrap_err().kind(), ErrorKind::InvalidArgument);
        builder(json!([says("Yes.")])).session(session).build().unwrap();
    });
}
