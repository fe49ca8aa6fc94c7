//! Following a session delta by delta, in the process of its run.

use std::sync::{Arc, Mutex};

use agent_loop::session::{Info, JournalRecord, Store};
use agent_loop::{Agent, Error, ErrorKind, RunResult};
use proptest::prelude::*;
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use crate::client::{Client, answered_by_hand, push};
use crate::custom::Lines;
use crate::place::{Kind, Place, run};
use crate::support::{builder, call, end, says, tool};

/// A run without a reader.
fn prompted(agent: &Agent) -> JoinHandle<Result<RunResult, Error>> {
    let agent = agent.clone();
    tokio::spawn(async move { agent.prompt("Rain?").await })
}

#[test]
fn each_piece_comes_once_between_the_records() {
    run(async {
        let store = Store::open("memory:").unwrap();
        let session = store.session("s").unwrap().open().await.unwrap();
        let agent = builder(json!([says("Al"), [{ "delta": { "thinking": "Hm" } }, { "delta": "ways" }, end("stop")]]));
        let agent = agent.session(session).build().unwrap();
        agent.prompt("Rain?").await.unwrap();
        let mut client = Client::new(&store);
        client.read();
        assert_eq!(
            client.seen,
            ["record session", "record run_start", "record message user", "record message assistant", "record run_end"],
            "of a run that is over, there are the records"
        );
        client.seen.clear();
        agent.prompt("And then?").await.unwrap();
        client.read();
        let seen = [
            "record run_start",
            "record message user",
            "message_start",
            "thinking_start",
            "thinking_delta Hm",
            "thinking_end",
            "text_start",
            "text_delta ways",
            "text_end",
            "record message assistant",
            "record run_end",
        ];
        assert_eq!(client.seen, seen);
        assert_eq!(json!(agent.messages()), json!(client.messages));
    });
}

#[test]
fn who_joins_in_mid_answer_begins_with_the_message_so_far() {
    [Kind::Memory, Kind::Sqlite, Kind::Jsonl].into_iter().for_each(joins_in_mid_answer);
}

#[cfg(feature = "postgres")]
#[test]
#[ignore = "make test-servers starts the server"]
fn who_joins_in_mid_answer_begins_with_the_message_so_far_with_postgres() {
    joins_in_mid_answer(Kind::Postgres);
}

fn joins_in_mid_answer(kind: Kind) {
    let place = Place::new(kind);
    run(async {
        let store = place.store();
        let (builder, mut calls) = answered_by_hand();
        let agent = builder.session(store.session("s").unwrap().open().await.unwrap()).build().unwrap();
        let answered = prompted(&agent);
        let model = calls.recv().await.unwrap();
        push(&model, &["It ", "is "]);
        let mut first = Client::new(&store);
        first.until(|client| client.text() == "It is ").await;

        // A page that was loaded then, and one that had lost its connection.
        let mut second = Client::new(&store);
        second.until(|client| client.partial.is_some()).await;
        let records = ["record session", "record run_start", "record message user"];
        assert_eq!(second.seen, [&records[..], &["message_start It is"]].concat());
        first.seen.clear();
        first.reconnect(false);
        first.until(|client| client.partial.is_some()).await;
        assert_eq!(first.seen, ["message_start It is"]);

        // Both go on, also behind a record that comes in between.
        agent.steer("And in Bergen?").unwrap();
        agent.flush().await.unwrap();
        push(&model, &["rai", "ning."]);
        for client in [&mut first, &mut second] {
            client.seen.clear();
            client.until(|client| client.text() == "It is raining.").await;
            assert_eq!(client.seen, ["record queued user", "text_delta rai", "text_delta ning."]);
        }
        model.finish();
        let model = calls.recv().await.unwrap();
        model.fail(Error::new(ErrorKind::Provider, "no more"));
        assert!(answered.await.unwrap().is_err());
        for client in [&mut first, &mut second] {
            client.until_record("run_end").await;
            assert_eq!(json!(agent.messages()), json!(client.messages));
            assert_eq!(client.partial, None);
        }
    });
}

#[test]
fn an_event_that_is_emitted_later_than_its_text_is_there_comes_once() {
    run(async {
        let store = Store::open("memory:").unwrap();
        let session = store.session("s").unwrap().open().await.unwrap();
        let agent = builder(json!([[{ "delta": "Al" }, { "delta": "ways." }, end("stop")]])).session(session).build().unwrap();
        let joined = Arc::new(Mutex::new(None));
        let (join, from) = (Arc::clone(&joined), store.clone());
        let _subscribed = agent.subscribe(move |event| {
            // The block begins with its first piece: both are in the message by now.
            if event.kind() == "text_start" {
                let mut client = Client::new(&from);
                client.read();
                *join.lock().unwrap() = Some(client);
            }
        });
        agent.prompt("Rain?").await.unwrap();
        let mut client = joined.lock().unwrap().take().unwrap();
        client.until_record("run_end").await;
        let live: Vec<&String> = client.seen.iter().filter(|seen| !seen.starts_with("record")).collect();
        assert_eq!(live, ["message_start Al", "text_delta ways.", "text_end"]);
    });
}

#[test]
fn a_call_that_is_joined_has_the_text_of_its_arguments() {
    run(async {
        let store = Store::open("memory:").unwrap();
        let (builder, mut calls) = answered_by_hand();
        let go_on = Arc::new(Notify::new());
        let waits = Arc::clone(&go_on);
        let rain = tool("rain", move |_, context| {
            let waits = Arc::clone(&waits);
            async move {
                context.update(json!("half"));
                waits.notified().await;
                Ok(json!("yes"))
            }
        });
        let session = store.session("s").unwrap().open().await.unwrap();
        let agent = builder.tool(rain).session(session).build().unwrap();
        let answered = prompted(&agent);
        let model = calls.recv().await.unwrap();
        let step = |kind: &str, fields: Value| {
            let mut step = json!({ "type": kind, "content_index": 0 });
            step.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
            model.push(&step).unwrap();
        };
        step("tool_call_start", json!({ "id": "a", "name": "rain" }));
        step("tool_call_delta", json!({ "delta": "{\"city\":" }));
        let mut first = Client::new(&store);
        first.until(|client| client.seen.iter().any(|seen| seen.starts_with("tool_call_delta") || seen == "message_start")).await;
        first.reconnect(false);
        first.until(|client| client.partial.is_some()).await;
        first.read();
        let raw = |client: &Client| client.partial.as_ref().unwrap()["content"][0]["raw_arguments"].clone();
        first.until(|client| raw(client) == "{\"city\":").await;
        step("tool_call_delta", json!({ "delta": "\"Oslo\"}" }));
        first.until(|client| raw(client) == "{\"city\":\"Oslo\"}").await;
        model.finish();
        first.until(|client| client.seen.iter().any(|seen| seen == "tool_execution_update \"half\"")).await;
        go_on.notify_one();
        push(&calls.recv().await.unwrap(), &["Yes."]);
        // Dropped without an end.
        assert!(answered.await.unwrap().is_err());
        first.until_record("run_end").await;
        assert_eq!(json!(agent.messages()), json!(first.messages));
    });
}

#[test]
fn a_follower_that_is_too_slow_gets_the_message_so_far() {
    run(async {
        let store = Store::open("memory:").unwrap();
        let (builder, mut calls) = answered_by_hand();
        let agent = builder.session(store.session("s").unwrap().open().await.unwrap()).build().unwrap();
        let answered = prompted(&agent);
        let model = calls.recv().await.unwrap();
        let mut slow = Client::new(&store);
        slow.is_slow = true;
        slow.until_record("message user").await;
        slow.seen.clear();
        let mut quick = Client::new(&store);
        let mut counted = String::new();
        for n in 0..5_000 {
            push(&model, &[&format!("{n} ")]);
            counted += &format!("{n} ");
            if n % 100 == 0 {
                quick.until(|client| client.text() == counted).await;
            }
        }
        quick.until(|client| client.text() == counted).await;
        slow.read();
        assert_eq!(slow.seen, [format!("message_start {}", counted.trim_end())]);
        push(&model, &["5000"]);
        slow.until(|client| client.text() == format!("{counted}5000")).await;
        assert_eq!(slow.seen[1..], ["text_delta 5000"]);
        model.finish();
        answered.await.unwrap().unwrap();
        for client in [&mut slow, &mut quick] {
            client.until_record("run_end").await;
            assert_eq!(json!(agent.messages()), json!(client.messages));
        }
    });
}

#[test]
fn another_store_of_the_same_file_has_the_records() {
    let place = Place::new(Kind::Sqlite);
    run(async {
        let store = place.store();
        let session = store.session("s").unwrap().open().await.unwrap();
        let agent = builder(json!([[call("a", "none", json!({})), end("tool_use")], says("Yes.")])).session(session);
        let agent = agent.build().unwrap();
        let mut elsewhere = Client::new(&place.store());
        elsewhere.until_record("session").await;
        agent.prompt("Rain?").await.unwrap();
        elsewhere.until_record("run_end").await;
        assert!(elsewhere.seen.iter().all(|seen| seen.starts_with("record ")), "{:?}", elsewhere.seen);
        assert_eq!(json!(agent.messages()), json!(elsewhere.messages));
    });
}

#[test]
fn the_end_of_a_run_that_cannot_be_recorded_is_an_event() {
    run(async {
        let store = Store::custom(Lines::default()).open().unwrap();
        let (builder, mut calls) = answered_by_hand();
        let agent = builder.session(store.session("s").unwrap().open().await.unwrap()).build().unwrap();
        let answered = prompted(&agent);
        let model = calls.recv().await.unwrap();
        let mut client = Client::new(&store);
        // The store fails at this word.
        push(&model, &["fail"]);
        client.until(|client| client.text() == "fail").await;
        model.finish();
        assert_eq!(answered.await.unwrap().unwrap_err().kind(), ErrorKind::Io);
        client.until(|client| client.seen.last().is_some_and(|seen| seen == "agent_end")).await;
        client.read();
        assert!(!client.seen.iter().any(|seen| seen.contains("message assistant") || seen.contains("run_end")));
        assert_eq!(client.seen.iter().filter(|seen| *seen == "agent_end").count(), 1);
        // It is over for who comes later, too.
        client.reconnect(false);
        client.seen.clear();
        client.read();
        assert!(client.seen == ["agent_end"] && client.partial.is_none(), "{:?}", client.seen);
        client.reconnect(true);
        client.read();
        assert_eq!(client.seen, ["record session", "record run_start", "record message user", "agent_end"]);
        // When the session goes on, its records say what has become of it.
        drop(agent);
        let session = store.session("s").unwrap().open().await.unwrap();
        session.append(vec![JournalRecord::Info(Info::default().title("wet"))]).await.unwrap();
        client.reconnect(true);
        client.read();
        assert_eq!(client.seen, ["record session", "record run_start", "record message user", "record info"]);
    });
}

#[test]
fn found_a_follower_that_has_missed_events_gets_the_end_that_no_record_says_once() {
    run(async {
        let store = Store::custom(Lines::default()).open().unwrap();
        let (builder, mut calls) = answered_by_hand();
        let agent = builder.session(store.session("s").unwrap().open().await.unwrap()).build().unwrap();
        let answered = prompted(&agent);
        let model = calls.recv().await.unwrap();
        let (mut slow, mut silent, mut quick) = (Client::new(&store), Client::new(&store), Client::new(&store));
        slow.until_record("message user").await;
        slow.seen.clear();
        let mut counted = String::new();
        for n in 0..2_000 {
            push(&model, &[&format!("{n} ")]);
            counted += &format!("{n} ");
            if n % 100 == 0 {
                quick.until(|client| client.text() == counted).await;
            }
        }
        quick.until(|client| client.text() == counted).await;
        push(&model, &["fail"]);
        model.finish();
        assert_eq!(answered.await.unwrap().unwrap_err().kind(), ErrorKind::Io);
        slow.read();
        assert_eq!(slow.seen, ["agent_end"]);
        // One that has read nothing before.
        silent.read();
        assert_eq!(silent.seen, ["record session", "record run_start", "record message user", "agent_end"]);
        quick.until(|client| client.seen.last().is_some_and(|seen| seen == "agent_end")).await;
        for client in [&mut slow, &mut silent, &mut quick] {
            client.seen.clear();
            client.read();
            assert!(client.seen.is_empty(), "{:?}", client.seen);
        }
    });
}

#[test]
fn who_joins_while_the_answer_is_written_gets_it_as_a_record_only() {
    run(async {
        let store = Store::custom(Lines::default()).open().unwrap();
        let (builder, mut calls) = answered_by_hand();
        let session = store.session("s").unwrap().open().await.unwrap();
        let agent = builder.session(session.clone()).build().unwrap();
        drop(prompted(&agent));
        let model = calls.recv().await.unwrap();
        // The store does not answer at this word.
        push(&model, &["hang"]);
        model.finish();
        let mut first = Client::new(&store);
        first.until_record("message user").await;
        while session.last() == first.after {
            tokio::task::yield_now().await;
        }
        let mut client = Client::new(&store);
        client.read();
        assert_eq!(client.seen, ["record session", "record run_start", "record message user"]);
    });
}

#[derive(Debug, Clone)]
enum Step {
    /// More of the answer, of this kind; a prompt before, where no run is active.
    Piece(u8, String),
    /// The end of an answer: well, with a failure, or by an abort.
    End(u8),
    Steer,
    Note,
    Read(usize),
    /// Of a client; whether it knows nothing any more.
    Reconnect(usize, bool),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (0..4_u8, "[a-zé ]{0,3}").prop_map(|(kind, text)| Step::Piece(kind, text)),
        2 => (0..4_u8).prop_map(Step::End),
        1 => Just(Step::Steer),
        1 => Just(Step::Note),
        3 => (0..3_usize).prop_map(Step::Read),
        3 => (0..3_usize, any::<bool>()).prop_map(|(client, is_reloaded)| Step::Reconnect(client, is_reloaded)),
    ]
}

/// Plays the steps: whatever they are, each client ends with the transcript.
async fn play(place: Place, steps: Vec<Step>) {
    let store = place.store();
    let (builder, mut calls) = answered_by_hand();
    let rain = tool("rain", |_, context| async move {
        context.update(json!("half"));
        Ok(json!("yes"))
    });
    let session = store.session("s").unwrap().open().await.unwrap();
    let agent = builder.tool(rain).session(session.clone()).build().unwrap();
    let mut clients: Vec<Client> = (0..3).map(|_| Client::new(&store)).collect();
    let (mut active, mut model, mut called) = (None, None, 0);
    for step in steps.into_iter().chain([Step::End(0)]) {
        match step {
            Step::Piece(kind, text) => {
                if model.is_none() {
                    active = Some(active.unwrap_or_else(|| prompted(&agent)));
                    model = calls.recv().await;
                }
                let model = model.as_ref().unwrap();
                called += 1;
                let chunk = match kind {
                    0 => json!({ "thinking": text }),
                    1 => {
                        json!({ "tool_call": { "id": format!("call_{called}"), "name": "rain", "arguments": { "text": text } } })
                    }
                    _ => json!({ "text": text }),
                };
                model.push(&chunk).unwrap();
            }
            Step::End(how) => {
                let Some(model) = model.take() else { continue };
                match how {
                    0 => model.fail(Error::new(ErrorKind::Provider, "no more")),
                    1 => agent.abort(),
                    // Nothing but what is not shown would be tried again.
                    _ => push(&model, &["."]),
                }
                model.finish();
            }
            Step::Steer => drop(agent.steer("wait").unwrap()),
            // A record that is none of the run's.
            Step::Note => drop(session.append(vec![JournalRecord::Info(Info::default().title("wet"))])),
            Step::Read(client) => clients[client].read(),
            Step::Reconnect(client, is_reloaded) => clients[client].reconnect(is_reloaded),
        }
        if model.is_none()
            && let Some(run) = &mut active
        {
            // The run asks its model again, or ends.
            tokio::select! {
                next = calls.recv() => model = next,
                ended = run => {
                    drop(ended.unwrap());
                    active = None;
                }
            }
        }
    }
    assert!(active.is_none());
    session.flush().await.unwrap();
    let last = session.last();
    for client in &mut clients {
        client.until(|client| client.after == last).await;
        assert_eq!(json!(agent.messages()), json!(client.messages));
        assert_eq!(client.partial, None);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whoever_joins_and_reconnects_ends_with_the_transcript(
        steps in prop::collection::vec(step(), 1..60),
        kind in prop::sample::select(vec![Kind::Memory, Kind::Sqlite, Kind::Jsonl]),
    ) {
        run(play(Place::new(kind), steps));
    }
}
