//! One session: an agent in a folder, whose conversation is stored.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agent_client_protocol::v1::ConnectionTo;
use agent_client_protocol::v1::schema::{
    AvailableCommand, AvailableCommandsUpdate, McpServer, SessionId, SessionNotification, SessionUpdate,
};
use agent_client_protocol::{Client, Error};
use agent_loop::Agent;
use agent_loop::session::{Info, OpenSession, Store};
use serde_json::{Map, Value, json};

use super::errors;
use super::state::State;
use crate::models;
use crate::settings::{Conversation, Settings};
use crate::spec_file::set_builtin;

/// The field of a stored session's metadata that has its folder.
pub(super) const CWD: &str = "cwd";

/// The options that a session keeps in its metadata once the editor has changed them.
pub(super) const MODEL: &str = "model";
pub(super) const LEVEL: &str = "thinking_level";

/// The command that has the conversation summed up.
pub(super) const COMPACT: &str = "compact";

/// What an editor says of a session that it opens.
pub(super) struct Place {
    pub(super) cwd: PathBuf,
    pub(super) servers: Vec<McpServer>,
}

pub(super) struct Session {
    pub(super) id: SessionId,
    pub(super) agent: Agent,
    pub(super) settings: Settings,
    stored: OpenSession,
    /// Whether the editor has begun it.
    is_new: bool,
    /// The metadata as they are stored.
    metadata: Mutex<Map<String, Value>>,
    state: Mutex<State>,
}

impl Session {
    /// Opens a stored session, or begins one of this id.
    pub(super) async fn open(settings: &Settings, store: &Store, id: &str, place: Place) -> Result<Arc<Session>, Error> {
        if !place.cwd.is_absolute() {
            return Err(errors::wrong(format!("cwd: {:?} is no absolute path", place.cwd.display().to_string())));
        }
        let handle = store.session(id).map_err(|error| errors::of(&error))?;
        let info = handle.info().await.map_err(|error| errors::of(&error))?;
        let is_new = info.is_none();
        let mut metadata = info.and_then(|info| info.metadata).unwrap_or_default();
        let settings = settings_of(settings, &place, &metadata)?;
        let stored = handle.open().await.map_err(|error| errors::of(&error))?;
        let opened = settings.agent(Conversation::Session(stored.clone()));
        let agent = match opened {
            Ok(agent) => agent,
            Err(failure) => {
                // Others may open it.
                let _ = stored.close().await;
                if is_new {
                    let _ = handle.delete().await;
                }
                return Err(errors::wrong(failure.text));
            }
        };
        let cwd = Value::from(place.cwd.to_string_lossy());
        if metadata.get(CWD) != Some(&cwd) {
            metadata.insert(CWD.to_owned(), cwd);
            let stored = stored.set_info(Info::default().metadata(metadata.clone())).await;
            stored.map_err(|error| errors::of(&error))?;
        }
        let (metadata, state) = (Mutex::new(metadata), Mutex::default());
        Ok(Arc::new(Session { id: SessionId::new(id), agent, settings, stored, is_new, metadata, state }))
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Shows something in the editor.
    pub(super) fn show(&self, connection: &ConnectionTo<Client>, update: SessionUpdate) {
        // The editor may have gone.
        let _ = connection.send_notification(SessionNotification::new(self.id.clone(), update));
    }

    /// What an editor has to know of a session that it has opened.
    pub(super) fn greet(&self, connection: &ConnectionTo<Client>) {
        let does = "Has the next prompt answered from a summary of the conversation";
        let commands = vec![AvailableCommand::new(COMPACT, does)];
        self.show(connection, SessionUpdate::AvailableCommandsUpdate(AvailableCommandsUpdate::new(commands)));
    }

    /// Keeps an option that the editor has changed.
    pub(super) async fn keep(&self, option: &str, value: Value) -> Result<(), Error> {
        let metadata = {
            let mut metadata = self.metadata.lock().unwrap_or_else(PoisonError::into_inner);
            metadata.insert(option.to_owned(), value);
            metadata.clone()
        };
        self.stored.set_info(Info::default().metadata(metadata)).await.map_err(|error| errors::of(&error))
    }

    /// What the session is called in lists.
    pub(super) async fn set_title(&self, title: &str) -> Result<(), Error> {
        self.stored.set_info(Info::default().title(title)).await.map_err(|error| errors::of(&error))
    }

    /// Aborts the run and lets others open the session. Gives whether it is to stay: one that the editor has begun and in which
    /// nothing was said is none.
    pub(super) async fn close(&self) -> Result<bool, Error> {
        self.state().close();
        self.agent.abort();
        self.agent.wait_for_idle().await.map_err(|error| errors::of(&error))?;
        // Servers that do not end are no reason to keep the session.
        let _ = self.agent.close_mcp().await;
        self.stored.close().await.map_err(|error| errors::of(&error))?;
        Ok(!self.is_new || !self.agent.messages().is_empty())
    }
}

/// The settings in this folder, with the editor's servers, and with what a session has kept.
fn settings_of(settings: &Settings, place: &Place, metadata: &Map<String, Value>) -> Result<Settings, Error> {
    let mut settings = settings.clone();
    if !settings.spec.names_root(&settings.options) {
        set_builtin(&mut settings.options, "root", place.cwd.to_string_lossy().into());
        // Its other fields may be those of the agent that the spec is like.
        if let Some(tools) = settings.spec.builtin_in(&settings.options) {
            settings.options.insert("builtin_tools".to_owned(), tools);
        }
    }
    if !place.servers.is_empty() {
        let mut all = settings.options.get("mcp").and_then(Value::as_array).cloned().unwrap_or_default();
        for server in &place.servers {
            all.push(server_of(server, &place.cwd)?);
        }
        settings.options.insert("mcp".to_owned(), all.into());
    }
    if let Some(level) = metadata.get(LEVEL) {
        settings.options.insert(LEVEL.to_owned(), level.clone());
    }
    if let Some(model) = metadata.get(MODEL) {
        settings.options = models::with_model(&settings.options, model.clone());
    }
    Ok(settings)
}

/// A server of the editor's, as the option `mcp` has it.
fn server_of(server: &McpServer, cwd: &Path) -> Result<Value, Error> {
    match server {
        McpServer::Stdio(server) => {
            let env: Map<String, Value> = server.env.iter().map(|set| (set.name.clone(), set.value.clone().into())).collect();
            Ok(json!({ "name": server.name, "command": server.command, "args": server.args, "env": env, "cwd": cwd }))
        }
        McpServer::Http(server) => {
            let headers: Map<String, Value> =
                server.headers.iter().map(|set| (set.name.clone(), set.value.clone().into())).collect();
            Ok(json!({ "name": server.name, "url": server.url, "headers": headers }))
        }
        _ => Err(errors::wrong("mcpServers: this agent takes servers of the types stdio and http")),
    }
}
