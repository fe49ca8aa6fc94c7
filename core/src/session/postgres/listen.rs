//! One connection that is told which sessions have changed, for all who follow one.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tokio::sync::Notify;
use tokio_postgres::AsyncMessage;

use super::connect::{Server, failed};
use crate::error::Error;

/// Connects when somebody follows a session, and again when the connection was lost.
pub(super) struct Listener {
    server: Server,
    current: tokio::sync::Mutex<Weak<Listening>>,
}

/// A connection that listens. It ends when nobody has this.
#[derive(Default)]
pub(super) struct Listening {
    sessions: Mutex<HashMap<i64, Arc<Notify>>>,
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
        let told = Arc::downgrade(&listening);
        drop(tokio::spawn(async move {
            while let Some(Ok(message)) = std::future::poll_fn(|cx| connection.poll_message(cx)).await {
                if let (AsyncMessage::Notification(notification), Some(told)) = (message, told.upgrade())
                    && let Ok(number) = notification.payload().parse()
                {
                    told.notify(number);
                }
            }
            // All look for themselves now, and connect again.
            if let Some(told) = told.upgrade() {
                told.notify_all();
            }
        }));
        client.batch_execute("LISTEN agent_loop").await.map_err(|error| failed(name, "following", &error))?;
        *listening.client.lock().unwrap_or_else(PoisonError::into_inner) = Some(client);
        *current = Arc::downgrade(&listening);
        Ok(listening)
    }
}

impl Listening {
    fn sessions(&self) -> MutexGuard<'_, HashMap<i64, Arc<Notify>>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_open(&self) -> bool {
        let client = self.client.lock().unwrap_or_else(PoisonError::into_inner);
        client.as_ref().is_some_and(|client| !client.is_closed())
    }

    /// Ends with the next change of a session after this call.
    pub(super) fn of(self: Arc<Listening>, number: i64) -> impl Future<Output = ()> + Send {
        let notify = Arc::clone(self.sessions().entry(number).or_default());
        let notified = Arc::clone(&notify).notified_owned();
        async move {
            notified.await;
            let mut sessions = self.sessions();
            // The map's, and this one.
            if Arc::strong_count(&notify) <= 2 {
                sessions.remove(&number);
            }
        }
    }

    fn notify(&self, number: i64) {
        if let Some(notify) = self.sessions().get(&number) {
            notify.notify_waiters();
        }
    }

    fn notify_all(&self) {
        self.sessions().values().for_each(|notify| notify.notify_waiters());
    }
}
