//! What is particular to sessions in files: their names, and what people and programs do to files.

use std::collections::{BTreeSet, HashSet};
use std::path::Path;

use agent_loop::session::{Info, ListQuery, Store};

use crate::damage::{journal, written};
use crate::place::{Kind, Place, opened, run, said};

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
