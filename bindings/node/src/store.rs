//! Stores of sessions, also those that are objects of JavaScript.

use std::future::Future;
use std::sync::Arc;

use agent_loop::host::Spelling;
use agent_loop::session::hosting::{HostStore, STORE_METHODS, open_store, query_of};
use agent_loop::session::{Store as CoreStore, StoreBuilder};
use agent_loop::{Error, ErrorKind};
use napi_derive::napi;

use crate::bridge::{Bridge, Callback, Link};
use crate::error::{self, Result, thrown};
use crate::pieces::Pieces;
use crate::session::Session;
use crate::{camel_case, message, pieces, runtime};

/// A store of sessions.
#[napi]
pub struct Store {
    store: CoreStore,
    link: Arc<Link>,
}

impl Store {
    fn open(bridge: &Bridge, builder: StoreBuilder, options: &str) -> Result<Store> {
        let options = message::object("store: options", options)?;
        let store = open_store(builder, options, Spelling::Camel).map_err(|e| thrown(&e))?;
        Ok(Store { store, link: Arc::clone(&bridge.link) })
    }
}

/// The text, unless JavaScript cannot hold it.
///
/// # Errors
/// `limit`.
pub(crate) fn fitting(text: String) -> std::result::Result<String, Error> {
    pieces::fitting(text).ok_or_else(|| {
        let text = "the result has more characters than a JavaScript string can: read the session in parts, with records";
        Error::new(ErrorKind::Limit, text)
    })
}

/// Does work of a store beside JavaScript, then settles the ticket with `{value}` or `{error}`. Work that waits when the
/// environment ends is dropped.
pub(crate) fn settle(
    link: &Arc<Link>,
    ticket: u32,
    work: impl Future<Output = std::result::Result<String, Error>> + Send + 'static,
) -> Result<()> {
    let link = Arc::clone(link);
    let settled = async move {
        let done = tokio::select! {
            done = work => done,
            () = link.closing().cancelled() => return,
        };
        match done.and_then(|value| fitting(format!("{{\"value\":{value}}}"))) {
            Ok(text) => link.settle(ticket, Some(text)),
            Err(error) => link.settle_with(ticket, Pieces::of(format!("{{\"error\":{}}}", error::json(&error))), Some(&error)),
        }
    };
    runtime::runtime().map_err(|e| thrown(&e))?.spawn(settled);
    Ok(())
}

#[napi]
impl Store {
    /// Opens the store at an address, with options in JSON.
    #[napi(factory, catch_unwind)]
    pub fn at(bridge: &Bridge, address: String, options: String) -> Result<Store> {
        Store::open(bridge, CoreStore::builder(address), &options)
    }

    /// A store that is an object: the callback of the host of this number is called for each of its methods.
    #[napi(factory, catch_unwind)]
    pub fn custom(bridge: &Bridge, host: u32, callback: u32, name: String, has_changed: bool, options: String) -> Result<Store> {
        let function = Callback::new(&bridge.link, host, callback).function();
        let pid = std::process::id();
        let backend = HostStore { name, function, blocking: Vec::new(), has_changed, pid };
        Store::open(bridge, CoreStore::custom(backend), &options)
    }

    /// What it is called in errors.
    #[napi(getter, catch_unwind)]
    pub fn name(&self) -> String {
        self.store.name()
    }

    /// The session of this id.
    #[napi(catch_unwind)]
    pub fn session(&self, id: String) -> Result<Session> {
        let session = self.store.session(&id).map_err(|e| thrown(&e))?;
        Ok(Session::new(session, &self.link))
    }

    /// Settles the ticket with a page; the query is JSON.
    #[napi(catch_unwind)]
    pub fn list(&self, query: String, ticket: u32) -> Result<()> {
        let query = query_of(message::object("list", &query)?, Spelling::Camel).map_err(|e| thrown(&e))?;
        let store = self.store.clone();
        settle(&self.link, ticket, async move { Ok(camel_case::to_json(&store.list(query).await?)) })
    }

    /// Settles the ticket with the id of the session that was made of a text.
    #[napi(catch_unwind)]
    pub fn import_text(&self, text: String, id: Option<String>, ticket: u32) -> Result<()> {
        let store = self.store.clone();
        settle(&self.link, ticket, async move {
            let session = store.import(&text, id.as_deref()).await?;
            Ok(camel_case::to_json(session.id()))
        })
    }
}

/// The methods of a custom store, in canonical spelling.
#[napi(catch_unwind)]
pub fn store_methods() -> Vec<&'static str> {
    STORE_METHODS.iter().map(|(name, _)| *name).collect()
}
