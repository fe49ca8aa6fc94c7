//! A store of an application in another language: what it is called with, and what it may answer.

use std::sync::{Arc, Mutex};

use agent_loop::host::{HostAnswer, HostCall, HostKind, Spelling};
use agent_loop::session::hosting::{HostStore, STORE_METHODS, open_store, query_of, records_of};
use agent_loop::session::{ListQuery, Store};
use agent_loop::{Error, ErrorKind};
use serde_json::{Map, Value, json};

use crate::place::{opened, run, said};

type Calls = Arc<Mutex<Vec<(&'static str, Vec<Value>)>>>;

/// A store whose methods all answer so, and the calls that it gets.
fn store(answer: impl Fn(&'static str, HostCall) + Send + Sync + 'static) -> (Store, Calls) {
    let calls = Calls::default();
    let seen = Arc::clone(&calls);
    let function = Arc::new(move |call: HostCall| {
        let HostKind::Store(method) = call.kind() else { panic!("{:?}", call.kind()) };
        assert!(STORE_METHODS.iter().any(|(name, _)| *name == method));
        seen.lock().unwrap().push((method, call.take_store_arguments().unwrap()));
        answer(method, call);
    });
    let backend = HostStore {
        name: "the host's store".to_owned(),
        function,
        blocking: vec!["info".to_owned()],
        has_changed: true,
        pid: std::process::id(),
    };
    (open_store(Store::custom(backend), Map::new(), Spelling::Snake).unwrap(), calls)
}

fn respond(call: &HostCall, answer: Value) {
    call.respond(HostAnswer::Json(answer)).unwrap();
}

#[test]
fn a_host_s_store_is_called_with_json() {
    run(async {
        let (store, calls) = store(|method, call| {
            respond(
                &call,
                match method {
                    "acquire" => json!({ "token": 7 }),
                    "read" => json!([]),
                    "list" => json!({ "sessions": [{ "id": "s", "created_ms": 1, "updated_ms": 2 }] }),
                    "info" => json!({ "id": "s", "title": "t", "created_ms": 1, "updated_ms": 2, "holder": "other" }),
                    _ => Value::Null,
                },
            );
        });
        let (session, _) = opened(&store, "s").await;
        session.append(vec![said("a")]).await.unwrap();
        session.close().await.unwrap();
        let info = store.session("s").unwrap().info().await.unwrap().unwrap();
        assert_eq!((info.title.as_deref(), info.holder.as_deref(), info.updated_ms), (Some("t"), Some("other"), 2));
        let page = store.list(ListQuery::default().updated_from(5).with("user", 7)).await.unwrap();
        assert_eq!((page.sessions.len(), page.next), (1, None));

        let calls = calls.lock().unwrap();
        let methods: Vec<&str> = calls.iter().map(|(method, _)| *method).collect();
        assert_eq!(methods, ["acquire", "read", "append", "append", "release", "info", "list"]);
        assert_eq!(calls[0].1[0]["id"], "s");
        assert_eq!(calls[0].1[0]["lease_ms"], 30_000);
        assert_eq!(calls[1].1[..2], [json!("s"), json!(0)]);
        let lease = json!({ "id": "s", "token": 7 });
        assert_eq!(calls[3].1[..2], [lease.clone(), json!(2)]);
        assert!(calls[3].1[2][0].as_str().unwrap().starts_with(r#"{"seq":2,"#));
        assert_eq!(calls[4].1, [lease]);
        let query = json!({ "updated_from": 5, "updated_before": null, "metadata": { "user": 7 }, "limit": 100, "cursor": null });
        assert_eq!(calls[6].1, [query]);
    });
}

#[test]
fn an_error_of_a_host_s_store_keeps_its_kind_and_any_other_failure_is_io() {
    let error_of = |answer: fn(&HostCall)| {
        run(async {
            let (store, _) = store(move |_, call| answer(&call));
            store.session("s").unwrap().open().await.unwrap_err()
        })
    };
    let busy = error_of(|call| call.fail_with(Error::new(ErrorKind::Busy, "Ann has it")).unwrap());
    assert_eq!((busy.kind(), busy.message()), (ErrorKind::Busy, "Ann has it"));
    let failed = error_of(|call| call.fail("no connection").unwrap());
    assert_eq!((failed.kind(), failed.message()), (ErrorKind::Io, "the host's store: acquire: no connection"));
    let dropped = error_of(|_| ());
    assert_eq!(dropped.kind(), ErrorKind::Io);
    assert_eq!(dropped.message(), "the host's store: acquire: its call was freed without an answer");
}

#[test]
fn a_wrong_answer_of_a_host_s_store_is_named() {
    let of_acquire = |answer: Value| {
        run(async {
            let (store, _) = store(move |_, call| respond(&call, answer.clone()));
            store.session("s").unwrap().open().await.unwrap_err()
        })
    };
    for (answer, why) in [
        (json!({ "token": "x" }), "token: expected a whole number of at least 0, got \"x\" (in {\"token\":\"x\"})"),
        (json!({ "token": -1 }), "token: expected a whole number of at least 0, got -1 (in {\"token\":-1})"),
        (json!({ "tokn": 1 }), "token is missing (in {\"tokn\":1})"),
        (json!({}), "token is missing (in {})"),
        (json!([7]), "expected an object, got an array (in [7])"),
        (json!([]), "expected an object, got an array (in [])"),
        (json!(7), "expected an object, got 7 (in 7)"),
        (json!("7"), "expected an object, got \"7\" (in \"7\")"),
        (Value::Null, "expected an object, got null (in null)"),
    ] {
        let error = of_acquire(answer);
        let text = format!("the host's store: acquire: its answer cannot be used: {why}");
        assert_eq!((error.kind(), error.message()), (ErrorKind::Io, &*text));
    }

    let of = |wrong: &'static str, answer: Value| {
        let (store, _) = store(move |_, call| respond(&call, answer.clone()));
        let session = store.session("s").unwrap();
        let error = run(async {
            match wrong {
                "read" => session.records(0, 1).await.map(drop),
                "info" => session.info().await.map(drop),
                _ => store.list(ListQuery::default()).await.map(drop),
            }
        });
        let error = error.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Io);
        error.message().strip_prefix(&format!("the host's store: {wrong}: its answer cannot be used: ")).unwrap().to_owned()
    };
    assert_eq!(of("read", json!({})), "lines is missing (in {})");
    let last = json!({ "lines": [], "last": "x" });
    assert_eq!(of("read", last), "last: expected a whole number of at least 0, got \"x\" (in {\"lines\":[],\"last\":\"x\"})");
    assert_eq!(of("read", Value::Null), "expected an array, got null (in null)");
    assert_eq!(of("read", json!([[1, "a"]])), "[0]: expected an object, got an array (in [[1,\"a\"]])");
    assert_eq!(of("read", json!([{ "seq": 1 }])), "[0]: text is missing (in [{\"seq\":1}])");
    assert_eq!(of("info", json!(["s"])), "expected an object, got an array (in [\"s\"])");
    assert_eq!(of("list", json!([])), "expected an object, got an array (in [])");
    assert_eq!(
        of("list", json!({ "sessions": [["s"]] })),
        "sessions[0]: expected an object, got an array (in {\"sessions\":[[\"s\"]]})"
    );
}

#[test]
fn found_a_host_s_store_may_say_how_many_lines_there_were() {
    let of = |answer: Value| {
        let (store, _) = store(move |_, call| respond(&call, answer.clone()));
        run(async { store.session("s").unwrap().records(0, 10).await })
    };
    assert!(of(json!({ "lines": [] })).unwrap().is_empty());
    assert!(of(json!({ "lines": [], "last": null })).unwrap().is_empty());
    let error = of(json!({ "lines": [], "last": 3 })).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Damaged);
    assert!(error.message().contains("its records from 1 on are missing, of 3 that it had"), "{error}");
}

#[test]
fn what_a_host_gives_is_refused_in_its_words() {
    let given = |value: Value| value.as_object().unwrap().clone();
    let open = |options| open_store(Store::builder("memory:"), given(options), Spelling::Camel).unwrap_err();
    assert_eq!(open(json!({ "leaseMs": 1 })).message(), "store: leaseMs: at least 100 ms, got 1");
    assert_eq!(open(json!({ "lease": 1 })).message(), "unknown store option \"lease\"; did you mean \"leaseMs\"?");
    assert_eq!(open(json!({ "sync": "ful" })).message(), "store: sync: unknown value \"ful\"; did you mean \"full\"?");
    let query = query_of(given(json!({ "updatedFrom": -1 })), Spelling::Camel).unwrap_err();
    assert_eq!(query.message(), "list: updatedFrom: expected a whole number of at least 0, got -1");
    let records = records_of(json!([{ "kind": "reset" }, { "kind": "rest" }])).unwrap_err();
    assert_eq!(records.message(), "records[1]: unknown kind \"rest\"; did you mean \"reset\"?");
    assert_eq!(records_of(json!({})).unwrap_err().message(), "records: expected an array of records, got {}");
}

#[test]
fn found_the_first_record_of_another_session_is_not_appended() {
    run(async {
        let store = Store::open("memory:").unwrap();
        let (session, _) = opened(&store, "s").await;
        let first = store.session("s").unwrap().records(0, 1).await.unwrap().remove(0).record;
        let refused = session.append(vec![said("a"), first]).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::InvalidArgument);
        // Nothing of that call is there, and others go on.
        assert_eq!(session.append(vec![said("b")]).await.unwrap(), 2);
        session.close().await.unwrap();
        assert_eq!(opened(&store, "s").await.1, ["b"]);
    });
}
