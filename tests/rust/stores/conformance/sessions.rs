//! The sessions of a store: their ids, lists, forks, exports, and their end.

use std::collections::BTreeSet;

use agent_loop::ErrorKind;
use agent_loop::session::{Info, ListQuery};
use serde_json::json;

use crate::place::{Kind, Place, opened, run, said};

pub(super) fn many_sessions_are_written_at_the_same_time(place: Place) {
    run(async {
        let store = place.store();
        let write = |id: usize| {
            let store = store.clone();
            tokio::spawn(async move {
                let (session, _) = opened(&store, &format!("s{id}")).await;
                for n in 0..20 {
                    session.append(vec![said(format!("{id}.{n}"))]).await.unwrap();
                }
                session.close().await.unwrap();
            })
        };
        let tasks: Vec<_> = (0..50).map(write).collect();
        for task in tasks {
            task.await.unwrap();
        }
        for id in 0..50 {
            let (session, texts) = opened(&store, &format!("s{id}")).await;
            assert!(texts.into_iter().eq((0..20).map(|n| format!("{id}.{n}"))));
            session.close().await.unwrap();
        }
    });
}

pub(super) fn a_list_has_pages_times_and_metadata(place: Place) {
    run(async {
        let store = place.store();
        for n in 0..7 {
            let (session, _) = opened(&store, &format!("s{n}")).await;
            let metadata = json!({ "user": n % 2, "tags": ["a"] });
            let info = Info::default().title(format!("Title {n}")).metadata(metadata.as_object().unwrap().clone());
            session.set_info(info).await.unwrap();
            session.close().await.unwrap();
        }
        let (mut found, mut query, mut pages) = (Vec::new(), ListQuery::default().limit(3), 0);
        loop {
            let page = store.list(query.clone()).await.unwrap();
            assert!(page.sessions.len() <= 3);
            found.extend(page.sessions);
            pages += 1;
            match page.next {
                Some(next) => query = query.after(next),
                None => break,
            }
        }
        assert_eq!((pages, found.len()), (3, 7));
        assert!(found.windows(2).all(|pair| pair[0].updated_ms >= pair[1].updated_ms));
        assert_eq!(found.iter().map(|info| &*info.id).collect::<BTreeSet<_>>().len(), 7);
        let one = found.iter().find(|info| info.id == "s3").unwrap();
        assert_eq!((one.title.as_deref(), one.metadata.as_ref().unwrap()["user"].clone()), (Some("Title 3"), json!(1)));
        assert!(one.created_ms <= one.updated_ms && one.holder.is_none());

        let of = async |query: ListQuery| {
            let sessions = store.list(query).await.unwrap().sessions;
            sessions.into_iter().map(|info| info.id).collect::<BTreeSet<_>>()
        };
        assert_eq!(of(ListQuery::default().with("user", 1)).await, ["s1", "s3", "s5"].map(str::to_owned).into());
        assert_eq!(of(ListQuery::default().with("user", 1).with("tags", json!(["b"]))).await, BTreeSet::new());
        let newest = found[0].updated_ms;
        assert_eq!(of(ListQuery::default().updated_from(newest + 1)).await, BTreeSet::new());
        assert_eq!(of(ListQuery::default().updated_before(newest + 1).limit(50)).await.len(), 7);
        let error = store.list(ListQuery::default().after("nonsense")).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    });
}

pub(super) fn a_fork_has_its_own_future(place: Place) {
    run(async {
        let store = place.store();
        let (session, _) = opened(&store, "s").await;
        session.append(vec![said("a"), said("b"), said("c")]).await.unwrap();
        session.set_info(Info::default().title("S")).await.unwrap();
        // Also while it is open.
        let fork = store.session("s").unwrap().fork(Some(3), "f").await.unwrap();
        let all = store.session("s").unwrap().fork(None, "g").await.unwrap();
        let (open, texts) = opened(&store, "f").await;
        assert_eq!(texts, ["a", "b"]);
        let from = open.rebuilt().start.clone().unwrap().forked_from.unwrap();
        assert_eq!((&*from.id, from.seq), ("s", 3));
        open.append(vec![said("z")]).await.unwrap();
        session.append(vec![said("d")]).await.unwrap();
        open.close().await.unwrap();
        let (open, texts) = opened(&store, "f").await;
        assert_eq!((texts, open.rebuilt().info.title.as_deref()), (vec!["a".into(), "b".into(), "z".to_owned()], Some("S")));
        assert_eq!(opened(&store, "g").await.1, ["a", "b", "c"]);
        assert_eq!(
            (fork.info().await.unwrap().unwrap().title, all.info().await.unwrap().unwrap().title),
            (Some("S".into()), Some("S".into()))
        );

        let session = store.session("s").unwrap();
        for (at, id) in [(Some(3), "g"), (Some(0), "h"), (Some(99), "h")] {
            assert_eq!(session.fork(at, id).await.unwrap_err().kind(), ErrorKind::InvalidArgument);
        }
        assert!(store.session("h").unwrap().info().await.unwrap().is_none());
        assert_eq!(store.session("none").unwrap().fork(None, "h").await.unwrap_err().kind(), ErrorKind::NotFound);
    });
}

pub(super) fn an_export_is_imported_elsewhere(place: Place) {
    run(async {
        let store = place.store();
        let (session, _) = opened(&store, "s").await;
        session.append((0..3_000).map(|n| said(n.to_string())).collect()).await.unwrap();
        session.set_info(Info::default().title("S")).await.unwrap();
        session.close().await.unwrap();
        let text = store.session("s").unwrap().export().await.unwrap();
        assert_eq!(text.lines().count(), 3_002);
        for kind in [Kind::Memory, Kind::Sqlite, Kind::Jsonl] {
            let elsewhere = Place::new(kind);
            let imported = elsewhere.store().import(&text, None).await.unwrap();
            assert_eq!((imported.id(), imported.info().await.unwrap().unwrap().title.as_deref()), ("s", Some("S")));
            let other = elsewhere.store().import(&text, Some("t")).await.unwrap();
            let again = other.export().await.unwrap();
            assert!(again.lines().skip(1).eq(text.lines().skip(1)));
            let error = elsewhere.store().import(&text, None).await.unwrap_err();
            assert!(error.kind() == ErrorKind::InvalidArgument && error.message().contains("already"), "{error}");
        }
        for (wrong, said) in
            [("", "empty"), (&text[..text.len() - 9], "half a record"), (&text.replacen("500", "501", 1), "line")]
        {
            let error = store.import(wrong, Some("new")).await.unwrap_err();
            assert!(error.kind() == ErrorKind::InvalidArgument && error.message().contains(said), "{error}");
        }
        assert!(store.session("new").unwrap().info().await.unwrap().is_none());
    });
}

pub(super) fn a_deleted_session_is_gone(place: Place) {
    run(async {
        let store = place.store();
        let session = store.session("s").unwrap();
        assert_eq!(session.delete().await.unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(session.records(0, 1).await.unwrap_err().kind(), ErrorKind::NotFound);
        assert!(session.info().await.unwrap().is_none());
        let (open, _) = opened(&store, "s").await;
        open.append(vec![said("a"), said("b")]).await.unwrap();
        open.close().await.unwrap();
        session.delete().await.unwrap();
        assert!(session.info().await.unwrap().is_none() && store.list(ListQuery::default()).await.unwrap().sessions.is_empty());
        // One of the same id begins anew.
        let (open, texts) = opened(&store, "s").await;
        assert!(texts.is_empty() && open.last() == 1);
        open.append(vec![said("c")]).await.unwrap();
        assert_eq!(session.records(0, 10).await.unwrap().len(), 2);
    });
}

pub(super) fn a_wrong_id_is_refused(place: Place) {
    for wrong in ["", "a\nb", &"x".repeat(201)] {
        assert_eq!(place.store().session(wrong).unwrap_err().kind(), ErrorKind::InvalidArgument);
    }
}

pub(super) fn odd_ids_are_kept_apart(place: Place) {
    run(async {
        let store = place.store();
        let ids = [".", "..", "../s", "a/b", "a%2fb", "ä", "a b", "%", "x.jsonl", "' OR 1=1 --"];
        for id in ids {
            let (session, texts) = opened(&store, id).await;
            assert!(texts.is_empty(), "{id}");
            session.append(vec![said(id)]).await.unwrap();
            session.close().await.unwrap();
        }
        for id in ids {
            assert_eq!(opened(&store, id).await.1, [id]);
        }
        assert_eq!(store.list(ListQuery::default()).await.unwrap().sessions.len(), ids.len());
    });
}
