//! The sessions that an editor has open.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agent_client_protocol::v1::ConnectionTo;
use agent_client_protocol::v1::schema::{
    CloseSessionResponse, DeleteSessionResponse, LoadSessionRequest, LoadSessionResponse, NewSessionRequest, NewSessionResponse,
    ResumeSessionRequest, ResumeSessionResponse, SessionId,
};
use agent_client_protocol::{Client, Error};
use agent_loop::session::Store;
use clap::ArgMatches;
use tokio::sync::RwLock;

use super::session::{Place, Session};
use super::{config, errors, replay};
use crate::failure::Failure;
use crate::places;
use crate::settings::Settings;

pub(super) struct Sessions {
    settings: Settings,
    /// The same with a model, or why there is none.
    ready: Result<Settings, Failure>,
    /// Opened when it is first needed, so that an editor reads what is wrong with it.
    store: Mutex<Option<Store>>,
    open: Mutex<HashMap<SessionId, Arc<Session>>>,
    /// Held while a session is opened; for writing, once the editor has gone.
    opening: RwLock<()>,
    has_ended: AtomicBool,
}

impl Sessions {
    pub(super) fn new(settings: Settings, matches: &ArgMatches) -> Sessions {
        let ready = settings.clone().with_model(matches);
        Sessions {
            settings,
            ready,
            store: Mutex::default(),
            open: Mutex::default(),
            opening: RwLock::default(),
            has_ended: AtomicBool::new(false),
        }
    }

    pub(super) fn settings(&self) -> &Settings {
        &self.settings
    }

    pub(super) fn store(&self) -> Result<Store, Error> {
        let mut store = self.store.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(store) = &*store {
            return Ok(store.clone());
        }
        let opened = self.settings.store().map_err(|failure| errors::failed(&failure))?;
        Ok(store.insert(opened).clone())
    }

    /// One that is open.
    pub(super) fn get(&self, id: &SessionId) -> Result<Arc<Session>, Error> {
        self.open().get(id).cloned().ok_or_else(|| errors::unknown_session(id))
    }

    fn open(&self) -> MutexGuard<'_, HashMap<SessionId, Arc<Session>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) async fn create(&self, request: NewSessionRequest) -> Result<NewSessionResponse, Error> {
        let place = Place { cwd: request.cwd, servers: request.mcp_servers };
        let session = self.opened(&places::new_id("acp"), place).await?;
        Ok(NewSessionResponse::new(session.id.clone()).config_options(config::options(&session)))
    }

    /// Opens a stored session, and shows its conversation.
    pub(super) async fn load(
        &self,
        request: LoadSessionRequest,
        connection: &ConnectionTo<Client>,
    ) -> Result<LoadSessionResponse, Error> {
        let place = Place { cwd: request.cwd, servers: request.mcp_servers };
        let session = self.reopened(&request.session_id, place).await?;
        replay::show(&session, connection).await;
        session.greet(connection);
        Ok(LoadSessionResponse::new().config_options(config::options(&session)))
    }

    /// Opens a stored session whose conversation the editor knows.
    pub(super) async fn resume(
        &self,
        request: ResumeSessionRequest,
        connection: &ConnectionTo<Client>,
    ) -> Result<ResumeSessionResponse, Error> {
        let place = Place { cwd: request.cwd, servers: request.mcp_servers };
        let session = self.reopened(&request.session_id, place).await?;
        session.greet(connection);
        Ok(ResumeSessionResponse::new().config_options(config::options(&session)))
    }

    async fn reopened(&self, id: &SessionId, place: Place) -> Result<Arc<Session>, Error> {
        let stored = self.store()?.session(&id.0).map_err(|error| errors::of(&error))?;
        if stored.info().await.map_err(|error| errors::of(&error))?.is_none() {
            return Err(errors::unknown_session(id));
        }
        // The editor may have it open, and have forgotten it: it has another folder now, and other servers.
        let before = self.open().remove(id);
        if let Some(before) = before {
            before.close().await?;
        }
        self.opened(&id.0, place).await
    }

    async fn opened(&self, id: &str, place: Place) -> Result<Arc<Session>, Error> {
        let _opening = self.opening.read().await;
        if self.has_ended.load(Ordering::Acquire) {
            return Err(errors::not_now("the connection is closed"));
        }
        let settings = self.ready.as_ref().map_err(errors::no_model)?;
        let session = Session::open(settings, &self.store()?, id, place).await?;
        self.open().insert(session.id.clone(), Arc::clone(&session));
        Ok(session)
    }

    pub(super) async fn close(&self, id: &SessionId) -> Result<CloseSessionResponse, Error> {
        let session = self.open().remove(id).ok_or_else(|| errors::unknown_session(id))?;
        self.left(&session).await?;
        Ok(CloseSessionResponse::new())
    }

    /// Deletes a stored session. One that there is not is deleted already.
    pub(super) async fn delete(&self, id: &SessionId) -> Result<DeleteSessionResponse, Error> {
        let open = self.open().remove(id);
        if let Some(session) = open {
            session.close().await?;
        }
        let stored = self.store()?.session(&id.0).map_err(|error| errors::of(&error))?;
        if stored.info().await.map_err(|error| errors::of(&error))?.is_some() {
            stored.delete().await.map_err(|error| errors::of(&error))?;
        }
        Ok(DeleteSessionResponse::new())
    }

    /// The editor has gone: closes all sessions.
    pub(super) async fn end(&self) {
        self.has_ended.store(true, Ordering::Release);
        // Those that are about to be opened are, and are closed with the others.
        drop(self.opening.write().await);
        let open: Vec<Arc<Session>> = self.open().drain().map(|(_, session)| session).collect();
        for session in &open {
            session.state().close();
        }
        for session in &open {
            if let Err(error) = self.left(session).await {
                say!("{}: session {}: {}", self.settings.spec.name(), session.id, error.message);
            }
        }
    }

    /// Closes a session, and deletes one in which nothing was said: editors begin one whenever they start.
    async fn left(&self, session: &Session) -> Result<(), Error> {
        if !session.close().await? {
            let stored = self.store()?.session(&session.id.0).map_err(|error| errors::of(&error))?;
            stored.delete().await.map_err(|error| errors::of(&error))?;
        }
        Ok(())
    }
}
