//! What is particular to sessions in files: their names, their lock, and what people and programs do to files.

use std::collections::{BTreeSet, HashSet};
use std::fs::OpenOptions;
use std::path::Path;
use std::task::{Context, Waker};

use agent_loop::session::{Info, ListQuery, Store};
use agent_loop::{Agent, ErrorKind, Message, Outcome};
use serde_json::json;

use crate::damage::{journal, written};
use crate::place::{Kind, Place, opened, run, said};
use crate::support::{builder, says};

/// The names in a folder that end so.
fn names(folder: &Path, end: &str) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    entries.filter(|name| name.ends_with(end)).collect()
}

async fn listed(store: &Store) -> BTreeSet<String> {
    store.list(ListQuery::default().limit(1_000)).await.unwrap().sessions.into_iter().map(|info| info.id).collect()
}

#[test]
fn each_id_that_can_be_used_has_files_of_its_own() {
    let place = Place::new(Kind::Jsonl);
    let long = ["日".repeat(40), "日".repeat(66), "日".repeat(65) + "本", "x".repeat(200), "X".repeat(200), "%".repeat(200)];
    let ids: BTreeSet<String> = ["user", "User", "USER", "a/b", "A/b"].map(str::to_owned).into_iter().chain(long).collect();
    run(async {
        let store = place.store();
        for id in &ids {
            let (session, texts) = opened(&store, id).await;
            assert!(texts.is_empty(), "{id}");
            session.append(vec![said(id)]).await.unwrap();
            session.set_info(Info::default().title(id)).await.unwrap();
            session.close().await.unwrap();
        }
        assert_eq!(listed(&store).await, ids);
        for id in &ids {
            assert_eq!(opened(&place.store(), id).await.1, [id.as_str()]);
            assert_eq!(store.session(id).unwrap().info().await.unwrap().unwrap().title.as_ref(), Some(id));
        }
    });
    // Also where upper and lower case are the same.
    for end in [".jsonl", ".lease", ".info"] {
        let names: HashSet<String> = names(&place.path(), end).iter().map(|name| name.to_lowercase()).collect();
        assert_eq!(names.len(), ids.len(), "{names:?}");
    }
}

#[test]
fn files_that_an_earlier_version_has_named_are_found() {
    let place = Place::new(Kind::Jsonl);
    let ids = ["User-7".to_owned(), "日".repeat(20)];
    run(async {
        let store = place.store();
        for id in &ids {
            let (session, _) = opened(&store, id).await;
            session.append(vec![said("a")]).await.unwrap();
            session.set_info(Info::default().title("T")).await.unwrap();
            session.close().await.unwrap();
        }
        let earlier = ["User-7".to_owned(), "%e6%97%a5".repeat(20)];
        for (id, earlier) in ids.iter().zip(&earlier) {
            let mut now = names(&place.path(), ".jsonl");
            now.retain(|name| name.contains('~') && name.starts_with(&earlier[..6]));
            let [now] = now.as_slice() else { panic!("{id}: {now:?}") };
            for end in ["jsonl", "lease", "info"] {
                let now = place.path().join(now).with_extension(end);
                std::fs::rename(now, place.path().join(format!("{earlier}.{end}"))).unwrap();
            }
        }
        for id in &ids {
            let (session, texts) = opened(&store, id).await;
            assert_eq!((texts, session.last()), (vec!["a".to_owned()], 3));
            session.append(vec![said("b")]).await.unwrap();
            session.close().await.unwrap();
            let handle = store.session(id).unwrap();
            assert_eq!(handle.records(0, 10).await.unwrap().len(), 4);
            assert_eq!(handle.info().await.unwrap().unwrap().title.as_deref(), Some("T"));
        }
        assert_eq!(listed(&store).await, ids.iter().cloned().collect());
        assert_eq!(names(&place.path(), ".jsonl").iter().filter(|name| name.contains('~')).count(), 0);
        // The file of another session is not taken for its own: where upper and lower case are the same, it has both names.
        std::fs::copy(place.path().join("User-7.jsonl"), place.path().join("USER-7.jsonl")).unwrap();
        assert!(store.session("USER-7").unwrap().info().await.unwrap().is_none());
        // One that is deleted begins anew.
        store.session("User-7").unwrap().delete().await.unwrap();
        assert!(opened(&store, "User-7").await.1.is_empty());
    });
}

#[test]
fn a_runtime_goes_on_while_another_process_has_the_lock() {
    let place = Place::new(Kind::Jsonl);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (session, _) = opened(&place.store(), "s").await;
        let lease = OpenOptions::new().read(true).write(true).open(place.path().join("s.lease")).unwrap();
        fs4::FileExt::lock(&lease).unwrap();
        let mut append = std::pin::pin!(session.append(vec![said("a")]));
        // The only thread of the runtime comes back, though the record cannot be written now.
        assert!(append.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        assert_eq!(session.last(), 2);
        fs4::FileExt::unlock(&lease).unwrap();
        assert_eq!(append.await.unwrap(), 2);
        session.close().await.unwrap();
        assert_eq!(opened(&place.store(), "s").await.1, ["a"]);
    });
}

#[test]
fn a_session_whose_file_was_removed_says_so() {
    let place = Place::new(Kind::Jsonl);
    run(async {
        written(&place, &["a", "b"]).await;
        let text = std::fs::read(journal(&place)).unwrap();
        std::fs::remove_file(journal(&place)).unwrap();
        let store = place.store();
        let session = store.session("s").unwrap();
        let errors = [
            session.open().await.map(drop).unwrap_err(),
            session.records(0, 10).await.map(drop).unwrap_err(),
            session.export().await.map(drop).unwrap_err(),
            session.salvage().await.map(drop).unwrap_err(),
            session.fork(None, "f").await.map(drop).unwrap_err(),
            session.follow(0).next().await.map(drop).unwrap_err(),
            session.open().await.map(drop).unwrap_err(),
        ];
        let path = journal(&place).display().to_string();
        for error in errors {
            let says = |words: &str| error.message().contains(words);
            assert!(error.kind() == ErrorKind::Damaged && says("\"s\"") && says(&path) && says("was removed"), "{error}");
            assert!(says("it had 3 records") && says("Put it back") && says("s.lease"), "{error}");
        }
        // What the error says helps.
        std::fs::write(journal(&place), text).unwrap();
        assert_eq!(opened(&store, "s").await.1, ["a", "b"]);
        std::fs::remove_file(journal(&place)).unwrap();
        std::fs::remove_file(place.path().join("s.lease")).unwrap();
        assert!(opened(&place.store(), "s").await.1.is_empty());
    });
}

async fn agent(store: &Store) -> Agent {
    let session = store.session("s").unwrap().open().await.unwrap();
    builder(json!([says("Yes."), says("No.")])).session(session).build().unwrap()
}

#[test]
fn a_run_whose_file_was_removed_meanwhile_ends_with_an_error() {
    type Remove = fn(&Place);
    let removals: [(&str, Remove); 4] = [
        ("the folder", |place| std::fs::remove_dir_all(place.path()).unwrap()),
        ("the file", |place| std::fs::remove_file(journal(place)).unwrap()),
        ("the file, by another one", |place| {
            let copy = journal(place).with_extension("copy");
            std::fs::copy(journal(place), &copy).unwrap();
            std::fs::rename(copy, journal(place)).unwrap();
        }),
        ("the folder, to elsewhere", |place| std::fs::rename(place.path(), place.path().with_extension("old")).unwrap()),
    ];
    for (what, remove) in removals {
        let place = Place::new(Kind::Jsonl);
        run(async {
            let store = place.store();
            let agent = agent(&store).await;
            agent.prompt("Rain?").await.unwrap();
            remove(&place);
            let result = agent.stream("And tomorrow?").unwrap().ended().await.unwrap();
            let error = result.error.unwrap();
            assert_eq!((result.outcome, error.kind()), (Outcome::Error, ErrorKind::Io), "{what}: {error}");
            let path = journal(&place).display().to_string();
            for words in ["\"s\"", &path, "was removed or replaced"] {
                assert!(error.message().contains(words), "{what}: {error}");
            }
            // The same session is not written behind a gap, and the store goes on.
            assert_eq!(agent.append_message(Message::user("c", 0)).unwrap_err().message(), error.message(), "{what}");
            let closed = agent.session().unwrap().close().await.unwrap_err();
            assert_eq!(closed.message(), error.message(), "{what}");
            std::fs::create_dir_all(place.path()).unwrap();
            opened(&store, "t").await.0.close().await.unwrap();
        });
    }
}

#[test]
fn the_close_of_a_session_whose_file_was_removed_says_so() {
    let place = Place::new(Kind::Jsonl);
    run(async {
        let store = place.store();
        let (session, _) = opened(&store, "s").await;
        session.append(vec![said("a")]).await.unwrap();
        std::fs::remove_file(journal(&place)).unwrap();
        let error = session.close().await.unwrap_err();
        assert!(error.kind() == ErrorKind::Io && error.message().contains("was removed"), "{error}");
        // Its lease was given back, with what it had.
        let error = store.session("s").unwrap().open().await.unwrap_err();
        assert!(error.kind() == ErrorKind::Damaged && error.message().contains("it had 2 records"), "{error}");
    });
}

#[test]
fn line_ends_of_other_systems_and_empty_lines_change_no_record() {
    type Edit = fn(&str) -> String;
    let edits: [(&str, Edit); 5] = [
        ("line ends of Windows", |text| text.replace('\n', "\r\n")),
        ("the same, but for the last", |text| text.replace('\n', "\r\n").trim_end_matches('\n').to_owned()),
        ("an empty last line", |text| format!("{text}\n")),
        ("an empty last line of Windows", |text| format!("{}\r\n", text.replace('\n', "\r\n"))),
        ("no last line end", |text| text.trim_end().to_owned()),
    ];
    for (what, edit) in edits {
        let place = Place::new(Kind::Jsonl);
        run(async {
            written(&place, &["a", "b"]).await;
            let text = std::fs::read_to_string(journal(&place)).unwrap();
            std::fs::write(journal(&place), edit(&text)).unwrap();
            let store = place.store();
            let imported = store.import(&edit(&text), Some("t")).await.unwrap();
            assert_eq!(imported.export().await.unwrap().lines().count(), 3, "{what}");
            assert_eq!(opened(&store, "t").await.1, ["a", "b"], "{what}");

            let (session, texts) = opened(&store, "s").await;
            assert_eq!((texts, session.diagnostics().len()), (vec!["a".to_owned(), "b".to_owned()], 0), "{what}");
            assert_eq!(store.session("s").unwrap().records(0, 2).await.unwrap().len(), 2, "{what}");
            session.append(vec![said("c")]).await.unwrap();
            session.close().await.unwrap();
            // A reader goes on behind the place where another one has stopped.
            assert_eq!(store.session("s").unwrap().records(2, 10).await.unwrap().len(), 2, "{what}");
            assert_eq!(store.session("s").unwrap().salvage().await.unwrap().damage, None, "{what}");
            assert_eq!(opened(&place.store(), "s").await.1, ["a", "b", "c"], "{what}");
            let export = store.session("s").unwrap().export().await.unwrap();
            assert!(export.starts_with(&text) && !export.contains('\r'), "{what}: {export}");
        });
    }
}
