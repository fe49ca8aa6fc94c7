//! What a store takes on the disk while it is written to without a pause.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use agent_loop::session::SyncMode;

use crate::place::{Kind, Place, opened, run, said};

/// Sessions that write at the same time.
const SESSIONS: usize = 8;
/// Some 160 MB in all.
const RECORDS: usize = 1_000;
const TEXT: usize = 20_000;

#[test]
fn the_log_of_a_database_that_is_written_to_without_a_pause_stays_small() {
    let place = Place::new(Kind::Sqlite);
    let store = place.synced(SyncMode::Off);
    let log = place.path().with_extension("db-wal");
    let largest = Arc::new(AtomicU64::new(0));
    run(async {
        let mut tasks = Vec::new();
        for number in 0..SESSIONS {
            let (session, _) = opened(&store, &format!("s{number}")).await;
            let (log, largest, text) = (log.clone(), Arc::clone(&largest), "x".repeat(TEXT));
            tasks.push(tokio::spawn(async move {
                for _ in 0..RECORDS {
                    session.append(vec![said(text.as_str())]).await.unwrap();
                    largest.fetch_max(std::fs::metadata(&log).unwrap().len(), Ordering::Relaxed);
                }
                session.close().await.unwrap();
            }));
        }
        for task in tasks {
            task.await.unwrap();
        }
    });
    let (largest, written) = (largest.load(Ordering::Relaxed), (SESSIONS * RECORDS * TEXT) as u64);
    assert!(largest > 0 && largest < written / 2, "{largest} bytes for {written}");
}
