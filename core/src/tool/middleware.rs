//! What stands around a tool's execution: a chain in the order of its setup, of which each link may look at the call, change
//! its arguments, run the rest of the chain (once, not at all, or again), change the result, and time it.

use std::future::Future;
use std::sync::Arc;

use serde_json::{Map, Value, json};
use tracing::Instrument;

use super::call::{Carried, ToolContext};
use super::execute::execute;
use super::interface::{Tool, ToolOutput};
use crate::error::{BoxError, Error, ErrorKind, panic_message};
use crate::future::{BoxFuture, catch_panic};
use crate::scope::Scope;
use crate::threads;

/// One link: a call in, a result (as a tool answers, but for null) or an error out, of whose message the model reads.
///
/// ```
/// use std::sync::Arc;
///
/// use agent_loop::tool::Middleware;
///
/// let dry: Middleware = Arc::new(|call| Box::pin(async move { Ok(format!("{} was not called", call.name()).into()) }));
/// # let _ = dry;
/// ```
pub type Middleware = Arc<dyn Fn(MiddlewareCall) -> BoxFuture<'static, Result<Value, Error>> + Send + Sync>;

/// A link from an async function.
pub(crate) fn middleware<F, Fut, E>(link: F) -> Middleware
where
    F: Fn(MiddlewareCall) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<Value, E>> + Send + 'static,
    E: Into<BoxError> + Send + 'static,
{
    Arc::new(move |call| {
        let answer = link(call);
        Box::pin(async move { answer.await.map_err(Error::callback) })
    })
}

struct Chain {
    links: Arc<Vec<Middleware>>,
    tool: Arc<dyn Tool>,
    context: ToolContext,
    scope: Scope,
}

/// A call on its way through the chain.
///
/// ```
/// use agent_loop::Agent;
///
/// let agent = Agent::builder("anthropic/claude-sonnet-4-5").middleware(|call| async move {
///     let result = call.next(call.arguments().clone()).await;
///     println!("{} gave {result:?}", call.name());
///     result
/// });
/// # let _ = agent;
/// ```
#[derive(Clone)]
pub struct MiddlewareCall {
    chain: Arc<Chain>,
    place: usize,
    arguments: Map<String, Value>,
    #[cfg_attr(not(feature = "__bindings"), allow(dead_code))] // For hosts of other languages.
    carried: Option<Carried>,
}

impl MiddlewareCall {
    /// The call's id.
    pub fn id(&self) -> &str {
        self.chain.context.id()
    }

    /// The tool's name.
    pub fn name(&self) -> &str {
        self.chain.context.name()
    }

    /// The arguments, checked.
    pub fn arguments(&self) -> &Map<String, Value> {
        &self.arguments
    }

    /// The call's cancel token, `update` and `sleep`.
    pub fn context(&self) -> &ToolContext {
        &self.chain.context
    }

    /// Marks work done for this call as inside its agent's callback.
    pub fn scope(&self) -> Scope {
        self.chain.scope.clone()
    }

    /// Runs the rest of the chain with these arguments, which are not checked again. Gives a full result, `{content, details,
    /// is_error, terminate}`.
    ///
    /// # Errors
    /// One of the kind `callback` with the text that the tool, or a link after this one, failed with. Its `source()` is what they
    /// failed with, if that was an error. A link that returns it leaves both as they are.
    pub fn next(&self, arguments: Map<String, Value>) -> BoxFuture<'static, Result<Value, Error>> {
        run_in_full(Arc::clone(&self.chain), self.place + 1, arguments, None)
    }

    /// The same, with what the next function's call carries.
    #[cfg(feature = "__bindings")]
    #[doc(hidden)]
    pub fn next_carrying(&self, arguments: Map<String, Value>, carried: Carried) -> BoxFuture<'static, Result<Value, Error>> {
        run_in_full(Arc::clone(&self.chain), self.place + 1, arguments, Some(carried))
    }

    #[cfg(feature = "__bindings")]
    pub(crate) fn carried(&self) -> Option<&Carried> {
        self.carried.as_ref()
    }
}

impl std::fmt::Debug for MiddlewareCall {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MiddlewareCall").field("id", &self.id()).field("name", &self.name()).finish_non_exhaustive()
    }
}

/// Hands a call to the first link; the chain's answer is the call's.
pub(crate) fn start(
    links: Arc<Vec<Middleware>>,
    tool: Arc<dyn Tool>,
    context: ToolContext,
    arguments: Map<String, Value>,
    scope: Scope,
) {
    let chain = Arc::new(Chain { links, tool, context: context.clone(), scope });
    tokio::spawn(threads::inherit(async move { context.done(run(chain, 0, arguments, None).await) }).in_current_span());
}

fn run(
    chain: Arc<Chain>,
    place: usize,
    arguments: Map<String, Value>,
    carried: Option<Carried>,
) -> BoxFuture<'static, Result<Value, Error>> {
    Box::pin(async move {
        match chain.links.get(place).cloned() {
            Some(link) => {
                let scope = chain.scope.clone();
                let (number, name) = (chain.links.len(), chain.context.name().to_owned());
                let call = MiddlewareCall { chain, place, arguments, carried };
                let answer = catch_panic(scope.enter(async move { link(call).await })).await;
                let answer = answer.unwrap_or_else(|payload| {
                    Err(Error::new(ErrorKind::Callback, format!("a middleware panicked: {}", panic_message(&*payload))))
                });
                match answer? {
                    // The result of `next` was forgotten: an empty success in its place would hide what the tool did.
                    Value::Null => Err(Error::callback(returned_nothing(place, number, &name))),
                    result => Ok(result),
                }
            }
            None => {
                let (tool, context) = (Arc::clone(&chain.tool), chain.context.clone());
                let result = execute(tool, context, arguments, chain.scope.clone(), carried).await;
                chain.context.executed(&result);
                result
            }
        }
    })
}

/// As [`run`], with the result in full.
fn run_in_full(
    chain: Arc<Chain>,
    place: usize,
    arguments: Map<String, Value>,
    carried: Option<Carried>,
) -> BoxFuture<'static, Result<Value, Error>> {
    Box::pin(async move {
        let (output, is_error) = ToolOutput::from_value(run(chain, place, arguments, carried).await?);
        let ToolOutput { content, details, terminate, .. } = output;
        Ok(json!({ "content": content, "details": details, "is_error": is_error, "terminate": terminate }))
    })
}

fn returned_nothing(place: usize, number: usize, tool: &str) -> String {
    let which = if number == 1 { "the middleware".to_owned() } else { format!("middleware {} of {number}", place + 1) };
    format!(
        "{which} returned nothing for a call of {tool}; it has to return what next gives, or a result of its own \
         (an empty text if there is none)"
    )
}
