//! What a writer refuses.

use agent_loop_proto::message::Message;

use super::*;
use crate::session::feed::Feeds;
use crate::session::memory::Memory;

#[tokio::test]
async fn the_child_of_a_fork_writes_nothing() {
    let backend: Arc<dyn StoreBackend> = Arc::new(Memory::default());
    let lease = HeldLease { id: "s".to_owned(), token: 1 };
    let mut writer = Writer::new(backend, lease, Arc::<Feeds>::default().of("s"), Handle::current(), 1);
    Arc::get_mut(&mut writer).unwrap().pid = 0;
    let records = [JournalRecord::message(Message::user("a", 0))];
    for error in [writer.append(&records).await.unwrap_err(), writer.check().unwrap_err(), writer.flush().await.unwrap_err()] {
        assert!(error.kind() == ErrorKind::InvalidState && error.message().contains("forked from"), "{error}");
    }
    assert_eq!(writer.last(), 1);
}
