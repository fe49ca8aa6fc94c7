//! A connection to a server: made when it is first needed, and again when the server has died.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use agent_loop_proto::table::logs;
use rmcp::RoleClient;
use rmcp::model::{CallToolRequest, CallToolRequestParams, CallToolResult, ClientRequest, GetExtensions, ServerResult};
use rmcp::service::{Peer, PeerRequestOptions, RunningService, ServiceError};
use serde_json::{Map, Value};

use super::asked::Client;
use super::description::Description;
use super::failures;
use super::offer::{self, Offered};
use super::start::{self, Reach};
use super::stderr::LastLines;
use super::wire::{CallOf, ListChanged};
use crate::error::{Error, ErrorKind};
use crate::log::{Log, LogRecord};
use crate::scope::Scope;
use crate::tool::ToolContext;

/// How long it takes at most until a server that could not be reached is tried again.
const LONGEST_BACKOFF: Duration = Duration::from_secs(60);

/// The time limit for listing a server's tools again.
const LIST_LIMIT: Duration = Duration::from_secs(10);

/// A server's connection, with what it offers.
pub(super) struct Connection {
    description: Description,
    /// Locked while it is being made.
    link: tokio::sync::Mutex<Link>,
    offered: Mutex<Arc<Offered>>,
    /// Counts changes of what is offered.
    version: AtomicU64,
    /// The counters of the agents that are to notice a change.
    watchers: Mutex<Vec<Weak<AtomicU64>>>,
    /// How often the server has said that its list of tools is another one, and of how many of these we know the list.
    list_changes: AtomicU64,
    listed_changes: AtomicU64,
}

#[derive(Default)]
struct Link {
    open: Option<Open>,
    /// With what it is made again.
    reach: Option<Reach>,
    /// How many were made.
    made: u64,
    failures: u32,
    /// Why the last attempt failed, and when the next one may be made.
    failed: Option<(Error, Instant)>,
}

/// A connection that was made.
struct Open {
    /// Which one it is.
    number: u64,
    /// Closes it when it is dropped.
    running: RunningService<RoleClient, Client>,
    /// What the process wrote to its standard error.
    stderr: LastLines,
}

impl Connection {
    pub(super) fn new(description: Description) -> Connection {
        Connection {
            description,
            link: tokio::sync::Mutex::default(),
            offered: Mutex::default(),
            version: AtomicU64::new(0),
            watchers: Mutex::default(),
            list_changes: AtomicU64::new(0),
            listed_changes: AtomicU64::new(0),
        }
    }

    pub(super) fn description(&self) -> &Description {
        &self.description
    }

    /// What the server offers: nothing before the first connection.
    pub(super) fn offered(&self) -> Arc<Offered> {
        Arc::clone(&lock(&self.offered))
    }

    pub(super) fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// A change of what is offered is counted in this counter, too.
    pub(super) fn watch(&self, revision: &Arc<AtomicU64>) {
        let mut watchers = lock(&self.watchers);
        watchers.retain(|known| known.strong_count() > 0 && !std::ptr::eq(known.as_ptr(), Arc::as_ptr(revision)));
        watchers.push(Arc::downgrade(revision));
    }

    fn set_offered(&self, offered: Offered, log: &Log) {
        for (tool, why) in &offered.left_out {
            log.write(logs::MCP_TOOL_LEFT_OUT, |code| {
                let server = self.description.shown();
                let what = format!("the tool {tool} of the MCP server {server} is left out: it cannot be offered to models");
                LogRecord::new(code, what).with("server", server).with("tool_name", &**tool).because(why.clone())
            });
        }
        *lock(&self.offered) = Arc::new(offered);
        self.version.fetch_add(1, Ordering::Release);
        for revision in lock(&self.watchers).iter().filter_map(Weak::upgrade) {
            revision.fetch_add(1, Ordering::Release);
        }
    }

    /// Connects for a run, unless it is connected. Also after attempts that failed.
    ///
    /// # Errors
    /// Why it cannot be reached.
    pub(super) async fn connect(self: &Arc<Self>, reach: Reach) -> Result<(), Error> {
        let mut link = self.link.lock().await;
        link.reach = Some(reach);
        link.failed = None;
        self.open(&mut link).await.map(drop)
    }

    /// Closes it. The next run connects again.
    pub(super) async fn close(&self) {
        let open = self.link.lock().await.open.take();
        if let Some(mut open) = open {
            // A server that does not end is killed after a while, as rmcp does it.
            let _ = open.running.close().await;
        }
    }

    /// The connection for a request: made again if it was lost, unless that has just failed.
    async fn peer(self: &Arc<Self>) -> Result<(Peer<RoleClient>, u64), Error> {
        let mut link = self.link.lock().await;
        if let Some((error, next)) = &link.failed
            && *next > Instant::now()
        {
            return Err(error.clone());
        }
        self.open(&mut link).await
    }

    /// The connection, and its number.
    async fn open(self: &Arc<Self>, link: &mut Link) -> Result<(Peer<RoleClient>, u64), Error> {
        if let Some(open) = &link.open
            && !open.running.peer().is_transport_closed()
        {
            return Ok((open.running.peer().clone(), open.number));
        }
        link.open = None;
        let Some(reach) = link.reach.clone() else {
            return Err(self.error(ErrorKind::InvalidState, "it was not connected to; a run does that"));
        };
        let (stderr, is_first) = (LastLines::default(), link.made == 0);
        let made = async {
            let running = start::start(&self.description, &reach, &stderr, self.on_list_change()).await?;
            let offered = offer::of(running.peer(), &self.description).await.map_err(|error| failures::of_request(&error))?;
            // Later, its list may be another one.
            match offered.unknown.clone().filter(|_| is_first) {
                Some(unknown) => Err(Error::invalid_argument(unknown)),
                None => Ok((running, offered)),
            }
        };
        let limit_ms = self.description.connect_timeout_ms;
        let limit = if limit_ms == 0 { Duration::MAX } else { Duration::from_millis(limit_ms) };
        let made = tokio::time::timeout(limit, made).await.unwrap_or_else(|_| {
            Err(Error::new(ErrorKind::Timeout, format!("it was not ready within connect_timeout_ms ({limit_ms})")))
        });
        match made {
            Ok((running, offered)) => {
                (link.failures, link.failed) = (0, None);
                self.set_offered(offered, &reach.log);
                link.made += 1;
                let (peer, number) = (running.peer().clone(), link.made);
                link.open = Some(Open { number, running, stderr });
                Ok((peer, number))
            }
            Err(error) => {
                let last = stderr.of_ended().await;
                let last = match error.message() == failures::ENDED && last.is_empty() {
                    true => ", and has written no message of MCP: is it an MCP server, and are its args right?",
                    false => &last,
                };
                let error = self.error(error.kind(), &format!("{}{last}", error.message()));
                let backoff = Duration::from_secs(1 << link.failures.min(6)).min(LONGEST_BACKOFF);
                link.failures += 1;
                link.failed = Some((error.clone(), Instant::now() + backoff));
                Err(error)
            }
        }
    }

    fn error(&self, kind: ErrorKind, why: &str) -> Error {
        Error::new(kind, format!("the MCP server {}: {why}", self.description.shown())).with_retryable(false)
    }

    /// For when the server says that its tools are others now. They are listed at once; a call that is under way waits for it.
    fn on_list_change(self: &Arc<Self>) -> ListChanged {
        let connection = Arc::downgrade(self);
        Box::new(move || {
            let Some(connection) = connection.upgrade() else { return };
            connection.list_changes.fetch_add(1, Ordering::AcqRel);
            tokio::spawn(async move { connection.update_list().await });
        })
    }

    /// Lists the tools again if the server has said so.
    async fn update_list(&self) {
        let is_known = || self.list_changes.load(Ordering::Acquire) == self.listed_changes.load(Ordering::Acquire);
        if is_known() {
            return;
        }
        // Another task may be at it.
        let link = self.link.lock().await;
        let Some(open) = link.open.as_ref().filter(|_| !is_known()) else {
            return;
        };
        let changes = self.list_changes.load(Ordering::Acquire);
        let listed = tokio::time::timeout(LIST_LIMIT, offer::of(open.running.peer(), &self.description)).await;
        self.listed_changes.store(changes, Ordering::Release);
        match listed {
            Ok(Ok(offered)) => {
                if let Some(reach) = &link.reach {
                    self.set_offered(offered, &reach.log);
                }
            }
            // The tools stay as they were; the next call finds out what is wrong.
            _ => tracing::warn!(server = self.description.shown(), "the changed list of an MCP server's tools could not be had"),
        }
    }

    /// Calls a tool.
    ///
    /// # Errors
    /// A text for the model: the server cannot be reached, has refused the call, or has died in it.
    pub(super) async fn call(
        self: &Arc<Self>,
        name: &str,
        arguments: Map<String, Value>,
        context: &ToolContext,
    ) -> Result<CallToolResult, String> {
        let params = CallToolRequestParams::new(name.to_owned()).with_arguments(arguments);
        let mut request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        request.extensions_mut().insert(CallOf { context: context.clone(), scope: Scope::current() });
        let (peer, number) = self.peer().await.map_err(|error| error.message().to_owned())?;
        let options = PeerRequestOptions::no_options();
        let mut handle = match peer.send_cancellable_request(request, options).await {
            Ok(handle) => handle,
            Err(error) => return Err(self.request_failed(error, number).await),
        };
        let answer = tokio::select! {
            answer = &mut handle.rx => answer.unwrap_or(Err(ServiceError::TransportClosed)),
            () = context.cancel_token().cancelled() => {
                let _ = handle.cancel(Some("the call is no longer wanted".to_owned())).await;
                return Err(format!("the call of {name} was cancelled"));
            }
        };
        // Before the answer is known: what a call changes counts in the next turn.
        self.update_list().await;
        match answer {
            Ok(ServerResult::CallToolResult(result)) => Ok(result),
            Ok(ServerResult::EmptyResult(_)) => Ok(CallToolResult::default()),
            Ok(_) => Err(self.said("it answered with something that is no result of a tool")),
            Err(error) => Err(self.request_failed(error, number).await),
        }
    }

    /// Makes another request, unless the call that it is for is cancelled.
    ///
    /// # Errors
    /// A text for the model, as of [`Connection::call`].
    pub(super) async fn request<T>(
        self: &Arc<Self>,
        context: &ToolContext,
        request: impl AsyncFnOnce(&Peer<RoleClient>) -> Result<T, ServiceError>,
    ) -> Result<T, String> {
        let (peer, number) = self.peer().await.map_err(|error| error.message().to_owned())?;
        let answer = tokio::select! {
            answer = request(&peer) => answer,
            () = context.cancel_token().cancelled() => return Err("the call was cancelled".to_owned()),
        };
        match answer {
            Ok(answer) => Ok(answer),
            Err(error) => Err(self.request_failed(error, number).await),
        }
    }

    /// The failure of a request as a text. After one of the connection with this number, the next request makes another.
    async fn request_failed(&self, error: ServiceError, number: u64) -> String {
        let why = match error {
            ServiceError::McpError(error) => return self.said(&format!("{} ({})", error.message, error.code.0)),
            ServiceError::UnexpectedResponse => return self.said("its answer is none to what was asked"),
            error => failures::of_request(&error).message().to_owned(),
        };
        let open = self.link.lock().await.open.take_if(|open| open.number == number);
        let last = match open {
            Some(open) => open.stderr.of_ended().await,
            None => String::new(),
        };
        self.said(&format!("{why}{last}; whether it has done what was asked is not known"))
    }

    fn said(&self, what: &str) -> String {
        format!("the MCP server {}: {what}", self.description.shown())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
