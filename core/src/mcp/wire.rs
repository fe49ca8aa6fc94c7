//! What passes between us and a server, in its order: rmcp handles each notification in a task of its own, in which the progress
//! of a call could come after its result. So progress and changed lists are noticed here, where messages come in.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::RoleClient;
use rmcp::model::{
    ClientJsonRpcMessage, GetExtensions, GetMeta, JsonRpcMessage, ProgressToken, RequestId, ServerJsonRpcMessage,
    ServerNotification,
};
use rmcp::transport::auth::AuthClient;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransport;
use rmcp::transport::{TokioChildProcess, Transport};

use super::content;
use crate::future::BoxFuture;
use crate::scope::Scope;
use crate::tool::ToolContext;

/// The call that a request is of; goes along as an extension of it, which is not sent.
#[derive(Clone)]
pub(super) struct CallOf {
    pub(super) context: ToolContext,
    /// The callbacks of the agent whose call it is.
    pub(super) scope: Option<Scope>,
}

/// What is called when the server's list of tools has changed.
pub(super) type ListChanged = Box<dyn Fn() + Send + Sync>;

/// The calls under way, the oldest first.
#[derive(Clone, Default)]
pub(super) struct Calls(Arc<Mutex<Vec<UnderWay>>>);

struct UnderWay {
    request: RequestId,
    /// That of its progress.
    token: Option<ProgressToken>,
    call: CallOf,
}

impl Calls {
    fn lock(&self) -> MutexGuard<'_, Vec<UnderWay>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn remove(&self, request: &RequestId) {
        self.lock().retain(|known| known.request != *request);
    }

    /// The first one for which the function gives something.
    pub(super) fn find<T>(&self, function: impl FnMut(&CallOf) -> Option<T>) -> Option<T> {
        let calls = self.lock();
        calls.iter().map(|known| &known.call).filter(|call| !call.context.over_token().is_cancelled()).find_map(function)
    }
}

/// A way to a server, which is watched. Not a type for each way: rmcp's loop would be compiled once for each.
pub(super) struct Watched {
    way: Way,
    calls: Calls,
    list_changed: ListChanged,
}

pub(super) enum Way {
    Process(TokioChildProcess),
    Address(StreamableHttpClientTransport<AuthClient<reqwest::Client>>),
}

impl Watched {
    pub(super) fn new(way: Way, calls: Calls, list_changed: ListChanged) -> Watched {
        Watched { way, calls, list_changed }
    }

    fn notice(&self, message: &ServerJsonRpcMessage) {
        match message {
            JsonRpcMessage::Response(response) => self.calls.remove(&response.id),
            JsonRpcMessage::Error(error) => error.id.iter().for_each(|id| self.calls.remove(id)),
            JsonRpcMessage::Notification(notification) => match &notification.notification {
                ServerNotification::ProgressNotification(progress) => {
                    let params = &progress.params;
                    let calls = self.calls.lock();
                    let of = calls.iter().find(|known| known.token.as_ref() == Some(&params.progress_token));
                    if let Some(UnderWay { call, .. }) = of {
                        call.context.update(content::of_progress(params.progress, params.total, params.message.clone()));
                    }
                }
                ServerNotification::ToolListChangedNotification(_) => (self.list_changed)(),
                _ => {}
            },
            JsonRpcMessage::Request(_) => {}
        }
    }
}

impl Transport<RoleClient> for Watched {
    type Error = BoxedError;

    fn send(&mut self, item: ClientJsonRpcMessage) -> impl Future<Output = Result<(), BoxedError>> + Send + 'static {
        if let JsonRpcMessage::Request(request) = &item
            && let Some(call) = request.request.extensions().get::<CallOf>()
        {
            let token = request.request.get_meta().get_progress_token();
            let mut calls = self.calls.lock();
            // Those that were cancelled get no response.
            calls.retain(|known| !known.call.context.over_token().is_cancelled());
            calls.push(UnderWay { request: request.id.clone(), token, call: call.clone() });
        }
        let sent: BoxFuture<'static, _> = match &mut self.way {
            Way::Process(process) => {
                let sent = process.send(item);
                Box::pin(async move { sent.await.map_err(BoxedError::new) })
            }
            Way::Address(address) => {
                let sent = address.send(item);
                Box::pin(async move { sent.await.map_err(BoxedError::new) })
            }
        };
        sent
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        let message = match &mut self.way {
            Way::Process(process) => process.receive().await,
            Way::Address(address) => address.receive().await,
        };
        message.as_ref().inspect(|message| self.notice(message));
        message
    }

    async fn close(&mut self) -> Result<(), BoxedError> {
        match &mut self.way {
            Way::Process(process) => process.close().await.map_err(BoxedError::new),
            Way::Address(address) => address.close().await.map_err(BoxedError::new),
        }
    }
}

/// The error of either way.
#[derive(Debug)]
pub(super) struct BoxedError(Box<dyn std::error::Error + Send + Sync>);

impl BoxedError {
    fn new(error: impl std::error::Error + Send + Sync + 'static) -> BoxedError {
        BoxedError(Box::new(error))
    }
}

impl std::fmt::Display for BoxedError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for BoxedError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&*self.0)
    }
}
