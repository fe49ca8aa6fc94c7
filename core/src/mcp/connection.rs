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
use super::description::{Description, Place};
use super::failures::{self, Challenge, Failed};
use super::oauth::Access;
use super::offer::{self, Offered};
use super::reach::Reach;
use super::start;
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

/// The most sign-ins for one request. The server may demand more scopes each time.
const MOST_SIGN_INS: u32 = 3;

/// A server's connection, with what it offers.
pub(super) struct Connection {
    description: Description,
    access: Access,
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
    /// The number of sign-ins.
    sign_ins: u64,
    failures: u32,
    /// Why the last attempt failed, and when the next one may be made.
    failed: Option<(Error, Instant)>,
}

/// The connection that a request uses, and how often the user had signed in before.
#[derive(Clone, Copy)]
struct At {
    number: u64,
    sign_ins: u64,
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
        let access = match &description.place {
            Place::Address { url, oauth, .. } => Access::new(description.shown(), url, oauth.clone()),
            Place::Process { .. } => Access::new(description.shown(), "", None),
        };
        Connection {
            description,
            access,
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
        let attempt = async || {
            let running = start::start(&self.description, &reach, &self.access, &stderr, self.on_list_change()).await?;
            let offered = offer::of(running.peer(), &self.description).await;
            let offered = offered.map_err(|error| Failed::with(failures::of_request(&error), &error))?;
            // Later, its list may be another one.
            match offered.unknown.clone().filter(|_| is_first) {
                Some(unknown) => Err(Failed::from(Error::invalid_argument(unknown))),
                None => Ok((running, offered)),
            }
        };
        let limit_ms = self.description.connect_timeout_ms;
        let limit = if limit_ms == 0 { Duration::MAX } else { Duration::from_millis(limit_ms) };
        let mut sign_ins = 0;
        let made = loop {
            let made = tokio::time::timeout(limit, attempt()).await.unwrap_or_else(|_| {
                let text = format!("it was not ready within connect_timeout_ms ({limit_ms})");
                Err(Error::new(ErrorKind::Timeout, text).into())
            });
            match made {
                Err(Failed { challenge: Some(challenge), .. }) if self.access.can_sign_in() && sign_ins < MOST_SIGN_INS => {
                    sign_ins += 1;
                    // The user's time is not the server's.
                    if let Err(error) = self.access.sign_in(&reach, &challenge).await {
                        break Err(error);
                    }
                    link.sign_ins += 1;
                }
                made => break made.map_err(|failed| failed.error),
            }
        };
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
        let mut sign_ins = 0;
        let answer = loop {
            let (peer, at) = self.begin(context).await?;
            let made = async {
                let mut handle = peer.send_cancellable_request(request.clone(), PeerRequestOptions::no_options()).await?;
                let answer = tokio::select! {
                    answer = &mut handle.rx => answer.unwrap_or(Err(ServiceError::TransportClosed)),
                    () = context.cancel_token().cancelled() => {
                        let _ = handle.cancel(Some("the call is no longer wanted".to_owned())).await;
                        return Ok(None);
                    }
                };
                // Before the answer is known: what a call changes counts in the next turn.
                self.update_list().await;
                answer.map(Some)
            };
            match made.await {
                Ok(Some(answer)) => break answer,
                Ok(None) => return Err(format!("the call of {name} was cancelled")),
                Err(error) => self.failed(error, at, context, &mut sign_ins).await?,
            }
        };
        match answer {
            ServerResult::CallToolResult(result) => Ok(result),
            ServerResult::EmptyResult(_) => Ok(CallToolResult::default()),
            _ => Err(self.said("it answered with something that is no result of a tool")),
        }
    }

    /// Makes another request, unless the call that it is for is cancelled.
    ///
    /// # Errors
    /// A text for the model, as of [`Connection::call`].
    pub(super) async fn request<T, F: Future<Output = Result<T, ServiceError>>>(
        self: &Arc<Self>,
        context: &ToolContext,
        request: impl Fn(Peer<RoleClient>) -> F,
    ) -> Result<T, String> {
        let mut sign_ins = 0;
        loop {
            let (peer, at) = self.begin(context).await?;
            let answer = tokio::select! {
                answer = request(peer) => answer,
                () = context.cancel_token().cancelled() => return Err("the call was cancelled".to_owned()),
            };
            match answer {
                Ok(answer) => return Ok(answer),
                Err(error) => self.failed(error, at, context, &mut sign_ins).await?,
            }
        }
    }

    /// The connection for a request of a call, unless the call is cancelled while it is made.
    async fn begin(self: &Arc<Self>, context: &ToolContext) -> Result<(Peer<RoleClient>, At), String> {
        let connected = async {
            let (peer, number) = self.peer().await.map_err(|error| error.message().to_owned())?;
            let sign_ins = self.link.lock().await.sign_ins;
            Ok((peer, At { number, sign_ins }))
        };
        tokio::select! {
            connected = connected => connected,
            () = context.cancel_token().cancelled() => Err("the call was cancelled".to_owned()),
        }
    }

    /// A request has failed. It is repeated after a sign-in where the server demands one: for more scopes, or as a token has
    /// expired and cannot be refreshed.
    async fn failed(&self, error: ServiceError, at: At, context: &ToolContext, sign_ins: &mut u32) -> Result<(), String> {
        let challenge = failures::challenge(&error).filter(|_| self.access.can_sign_in() && *sign_ins < MOST_SIGN_INS);
        let challenge = match challenge {
            Some(challenge) if self.access.lacks(&challenge).await => challenge,
            _ => return Err(self.request_failed(error, at.number).await),
        };
        *sign_ins += 1;
        tokio::select! {
            signed_in = self.sign_in(&challenge, at.sign_ins) => signed_in.map_err(|error| error.message().to_owned()),
            () = context.cancel_token().cancelled() => Err("the call was cancelled".to_owned()),
        }
    }

    /// Signs in, unless another request has done so meanwhile.
    async fn sign_in(&self, challenge: &Challenge, before: u64) -> Result<(), Error> {
        let mut link = self.link.lock().await;
        if link.sign_ins != before {
            return Ok(());
        }
        let Some(reach) = link.reach.clone() else { return Ok(()) };
        self.access.sign_in(&reach, challenge).await.map_err(|error| self.error(error.kind(), error.message()))?;
        link.sign_ins += 1;
        Ok(())
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
