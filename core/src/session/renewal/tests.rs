use tokio::runtime::Builder;

use super::*;
use crate::session::feed::Feeds;
use crate::session::memory::Memory;

#[test]
fn found_a_session_that_is_opened_while_its_runtime_s_task_ends_is_renewed() {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let (renewals, feeds) = (Arc::<Renewals>::default(), Arc::<Feeds>::default());
    let backend: Arc<dyn StoreBackend> = Arc::new(Memory::default());
    let lease = HeldLease { id: "s".to_owned(), token: 1 };
    let writer = Writer::new(Arc::clone(&backend), lease, feeds.of("s"), runtime.handle().clone(), 0);

    let id = runtime.handle().id();
    let (of_task, store) = (Arc::downgrade(&renewals), Arc::downgrade(&backend));
    let mut ending = Task { runtime: id, renewals: of_task, backend: store, is_over: false };
    assert!(ending.open(&renewals).is_empty());
    // It has found none, and is about to end. The next session has a task of its own.
    renewals.add(&writer, 30_000);
    drop(ending);
    assert_eq!(renewals.renewed().writers.get(&id).map(Vec::len), Some(1));
    assert_eq!(renewals.open(id).len(), 1);
}
