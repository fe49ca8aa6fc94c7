//! One connection that is notified of changed sessions, for all who follow one.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tokio::sync::Notify;
use tokio_postgres::AsyncMessage;

use super::connect::{Server, failed};
use crate::error::Error;

/// Connects when a session is followed, and again when the connection was lost.
pub(super) struct Listener {
    server: Server,
    current: tokio::sync::Mutex<Weak<Listening>>,
}

/// A connection that listens. It ends when the last handle is dropped.
#[derive(Default)]
pub(super) struct Listening {
    sessions: Mutex<HashMap<i64, Followed>>,
    /// Closes the connection when it is dropped.
    client: Mutex<Option<tokio_postgres::Client>>,
}

impl Listener {
    pub(super) fn new(server: Server) -> Listener {
        Listener { server, current: tokio::sync::Mutex::default() }
    }

    /// The connection, which is made if there is none.
    pub(super) async fn listen(&self) -> Result<Arc<Listening>, Error> {
        let mut current = self.current.lock().await;
        if let Some(listening) = current.upgrade().filter(|listening| listening.is_open()) {
            return Ok(listening);
        }
        let name = &self.server.name;
        let connected = self.server.config.connect(self.server.tls.clone()).await;
        let (client, mut connection) = connected.map_err(|error| failed(name, "connecting", &error))?;
        let listening = Arc::new(Listening::default());
        let weak = Arc::downgrade(&listening);
        drop(tokio::spawn(async move {
            while let Some(Ok(message)) = std::future::poll_fn(|cx| connection.poll_message(cx)).await {
                if let (AsyncMessage::Notification(notification), Some(listening)) = (message, weak.upgrade())
                    && let Ok(number) = notification.payload().parse()
                {
                    listening.notify(number);
                }
            }
            // All followers read for themselves now, and connect again.
            if let Some(listening) = weak.upgrade() {
                listening.notify_all();
            }
        }));
        client.batch_execute("LISTEN agent_loop").await.map_err(|error| failed(name, "following", &error))?;
        *listening.client.lock().unwrap_or_else(PoisonError::into_inner) = Some(client);
        *current = Arc::downgrade(&listening);
        Ok(listening)
    }
}

impl Listening {
    fn sessions(&self) -> MutexGuard<'_, HashMap<i64, Followed>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_open(&self) -> bool {
        let client = self.client.lock().unwrap_or_else(PoisonError::into_inner);
        client.as_ref().is_some_and(|client| !client.is_closed())
    }

    /// Ends with the next change of a session after this call.
    pub(super) fn of(self: Arc<Listening>, number: i64) -> impl Future<Output = ()> + Send {
        let notified = {
            let mut sessions = self.sessions();
            let followed = sessions.entry(number).or_default();
            followed.followers += 1;
            Arc::clone(&followed.notify).notified_owned()
        };
        let follower = Follower { listening: self, number };
        async move {
            notified.await;
            drop(follower);
        }
    }

    fn notify(&self, number: i64) {
        if let Some(followed) = self.sessions().get(&number) {
            followed.notify.notify_waiters();
        }
    }

    fn notify_all(&self) {
        self.sessions().values().for_each(|followed| followed.notify.notify_waiters());
    }
}

/// A session that is followed.
#[derive(Default)]
struct Followed {
    notify: Arc<Notify>,
    followers: usize,
}

/// Counts a future that waits for a session, until it ends or is dropped.
struct Follower {
    listening: Arc<Listening>,
    number: i64,
}

impl Drop for Follower {
    fn drop(&mut self) {
        if let Entry::Occupied(mut followed) = self.listening.sessions().entry(self.number) {
            followed.get_mut().followers -= 1;
            if followed.get().followers == 0 {
                followed.remove();
            }
        }
    }
}
