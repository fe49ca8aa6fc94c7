//! A call on its way: what a tool gets, and how it answers.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use agent_loop_proto::machine::Input;
use agent_loop_proto::table::logs;
use serde_json::{Map, Value};
use tokio::sync::Semaphore;

use super::run_of_call::RunOfCall;
use super::suspension::Suspension;
use crate::cancel::CancelToken;
use crate::clock::Clock;
use crate::error::{BoxError, Error};
#[cfg(feature = "mcp")]
use crate::hook::Hooks;
use crate::host::answer::{Answer, HostAnswer};
use crate::host::work::HostWork;
use crate::log::{LogRecord, RunLog};
use crate::scope::Scope;
#[cfg(feature = "tools")]
use crate::transport::network::Network;

/// Takes in what calls report: their updates and answers.
pub(crate) type Reports = Arc<dyn Fn(Input) + Send + Sync>;

/// What a host's middleware hands to the functions inside of it: the context that they run in.
pub(crate) type Carried = Arc<dyn Any + Send + Sync>;

struct Inner {
    number: u32,
    id: Arc<str>,
    name: Arc<str>,
    idempotency_key: Arc<str>,
    work: HostWork,
    /// Cancelled when the run no longer waits for the call.
    over: CancelToken,
    has_answered: AtomicBool,
    /// Why the tool waits for a decision: of its last execution.
    suspension: Mutex<Option<Suspension>>,
    reports: Reports,
    /// The run that it is a call of.
    run: Option<Weak<dyn RunOfCall>>,
    /// For how many more events of its subagents the run has room.
    room: OnceLock<Semaphore>,
    log: RunLog,
    /// Those of the agent whose call it is: a server of MCP may ask them.
    #[cfg(feature = "mcp")]
    hooks: Arc<Hooks>,
    /// That of the agent: a tool may make requests.
    #[cfg(feature = "tools")]
    network: Arc<Network>,
    /// The number of its span; 0 for none.
    span: u64,
}

/// How many events of a call's subagents wait to be emitted; then its subagents wait.
const MAX_SUBAGENT_EVENTS: usize = 256;

/// What a running tool may use beside its arguments: the call's id, the cancel token, `update`, `sleep`. Cheap to clone.
///
/// ```
/// use agent_loop::ToolContext;
/// use serde_json::{Value, json};
///
/// async fn wait_for_rain(_arguments: Value, context: ToolContext) -> Result<Value, &'static str> {
///     for hour in 1..=24 {
///         context.update(json!(format!("hour {hour}")));
///         if !context.sleep(1000).await {
///             return Err("it was cancelled");
///         }
///     }
///     Ok(json!("it rains"))
/// }
/// ```
#[derive(Clone)]
pub struct ToolContext(Arc<Inner>);

impl ToolContext {
    /// A call that begins to run now. `number` is its place among the run's calls.
    pub(crate) fn new(
        number: u32,
        (id, name, idempotency_key): (Arc<str>, Arc<str>, Arc<str>),
        cancel: CancelToken,
        reports: Reports,
        log: RunLog,
        clock: Clock,
    ) -> ToolContext {
        let (work, over) = (HostWork::new(cancel, clock), CancelToken::new());
        let (has_answered, suspension) = (AtomicBool::new(false), Mutex::default());
        let (run, room) = (None, OnceLock::new());
        let inner = Inner {
            number,
            id,
            name,
            idempotency_key,
            work,
            over,
            has_answered,
            suspension,
            reports,
            run,
            room,
            log,
            span: 0,
            #[cfg(feature = "mcp")]
            hooks: Arc::default(),
            #[cfg(feature = "tools")]
            network: Arc::default(),
        };
        ToolContext(Arc::new(inner))
    }

    /// The same, of a run that may have subagents.
    pub(crate) fn of_run(mut self, run: Weak<dyn RunOfCall>, span: u64) -> ToolContext {
        if let Some(inner) = Arc::get_mut(&mut self.0) {
            (inner.run, inner.span) = (Some(run), span);
        }
        self
    }

    /// The same, of an agent with these hooks.
    #[cfg(feature = "mcp")]
    pub(crate) fn with_hooks(mut self, hooks: &Arc<Hooks>) -> ToolContext {
        if let Some(inner) = Arc::get_mut(&mut self.0) {
            inner.hooks = Arc::clone(hooks);
        }
        self
    }

    /// The same, of an agent with this network.
    #[cfg(feature = "tools")]
    pub(crate) fn with_network(mut self, network: &Arc<Network>) -> ToolContext {
        if let Some(inner) = Arc::get_mut(&mut self.0) {
            inner.network = Arc::clone(network);
        }
        self
    }

    /// The network of the agent.
    #[cfg(feature = "tools")]
    pub(crate) fn network(&self) -> &Arc<Network> {
        &self.0.network
    }

    /// The hooks of the agent.
    #[cfg(feature = "mcp")]
    pub(crate) fn hooks(&self) -> &Hooks {
        &self.0.hooks
    }

    /// Where the records of its run go.
    #[cfg(feature = "mcp")]
    pub(crate) fn log(&self) -> &RunLog {
        &self.0.log
    }

    /// The number of its span, for hosts; 0 for none.
    #[doc(hidden)]
    pub fn span(&self) -> u64 {
        self.0.span
    }

    /// The run that it is a call of, while that is there.
    pub(crate) fn run(&self) -> Option<Arc<dyn RunOfCall>> {
        self.0.run.as_ref()?.upgrade()
    }

    /// The run, while it waits for the call.
    pub(crate) fn run_waiting(&self) -> Option<Arc<dyn RunOfCall>> {
        let is_over = self.0.has_answered.load(Ordering::Acquire) || self.0.over.is_cancelled();
        self.run().filter(|_| !is_over)
    }

    /// Its id, and the tool's name.
    pub(crate) fn names(&self) -> (Arc<str>, Arc<str>) {
        (Arc::clone(&self.0.id), Arc::clone(&self.0.name))
    }

    /// Its place among the run's calls.
    pub(crate) fn number(&self) -> u32 {
        self.0.number
    }

    /// The room for events of its subagents: a permit for each.
    pub(crate) fn room(&self) -> &Semaphore {
        self.0.room.get_or_init(|| Semaphore::new(MAX_SUBAGENT_EVENTS))
    }

    /// An event of a subagent was emitted.
    pub(crate) fn make_room(&self) {
        if let Some(room) = self.0.room.get() {
            room.add_permits(1);
        }
    }

    /// The call's id.
    pub fn id(&self) -> &str {
        &self.0.id
    }

    /// The tool's name.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// The same text however often this call is executed, in this run or in one that goes on with it elsewhere, and another one
    /// for each other call: for a service that does the same thing once.
    pub fn idempotency_key(&self) -> &str {
        &self.0.idempotency_key
    }

    /// What to fail with where the call's answer comes from elsewhere, later: the call waits for a decision, and the run ends
    /// with the outcome `suspended`. The reason is for the person who decides. An approved call is executed again, from its
    /// start.
    ///
    /// ```
    /// use agent_loop::{BoxError, ToolContext};
    /// use serde_json::Value;
    ///
    /// async fn sign(contract: Value, context: ToolContext) -> Result<Value, BoxError> {
    ///     // A service that calls back when it was signed.
    ///     println!("please sign {contract} ({})", context.id());
    ///     Err(context.suspend("waits for the signature"))?
    /// }
    /// ```
    pub fn suspend(&self, reason: impl Into<String>) -> Suspension {
        Suspension::new(reason)
    }

    /// Cancelled when the run is aborted or the call's time limit passes.
    pub fn cancel_token(&self) -> &CancelToken {
        self.0.work.cancel_token()
    }

    /// Cancelled when the run no longer waits for the call: it has its answer, or it was given up after the grace time of an
    /// abort. For hosts that then stop what the tool still does.
    #[doc(hidden)]
    pub fn over_token(&self) -> &CancelToken {
        &self.0.over
    }

    /// Whether the answer is no longer wanted.
    pub fn is_cancelled(&self) -> bool {
        self.cancel_token().is_cancelled()
    }

    /// Reports progress in a `tool_execution_update` event; read like a result. Does not wait: at most 64 updates of a call wait
    /// to be emitted. Then the newest takes the place of the one before it, which a `diagnostic` (`updates_replaced`) counts at
    /// the end of the call. An update after the answer is dropped with a `diagnostic` (`late_update`), one after an abort
    /// without.
    pub fn update(&self, partial: Value) {
        (self.0.reports)(Input::ToolUpdate { call: self.0.number, value: partial });
    }

    /// Waits in the engine's time; ends at once when the call is cancelled. True when the whole time passed.
    pub async fn sleep(&self, ms: u64) -> bool {
        self.0.work.sleep(ms).await
    }

    /// The same for a thread that may block: one of the tool's own, not one that runs async code.
    pub fn sleep_blocking(&self, ms: u64) -> bool {
        self.0.work.sleep_blocking(ms)
    }

    pub(crate) fn work(&self) -> &HostWork {
        &self.0.work
    }

    /// The whole call's answer, middleware included.
    pub(super) fn done(&self, answer: Result<Value, Error>) {
        let suspension = answer.as_ref().err().and_then(|error| self.suspension_behind(error));
        if let (Err(error), None, false) = (&answer, &suspension, self.is_cancelled()) {
            self.log_failure(error);
        }
        // Before the report, which wakes whoever looks at this.
        self.0.has_answered.store(true, Ordering::Release);
        let call = self.0.number;
        (self.0.reports)(match suspension {
            Some(suspension) => Input::ToolSuspended { call, reason: suspension.reason().to_owned() },
            None => Input::ToolDone { call, result: answer.map_err(|error| error.message().to_owned()) },
        });
        self.0.work.finish();
    }

    /// The tool was executed once, perhaps by one of several middleware calls, with this result.
    pub(super) fn executed(&self, result: &Result<Value, Error>) {
        let suspension = result.as_ref().err().and_then(Suspension::of).cloned();
        *self.0.suspension.lock().unwrap_or_else(PoisonError::into_inner) = suspension;
    }

    /// A suspension, also behind middleware that fails with another error because of it.
    fn suspension_behind(&self, error: &Error) -> Option<Suspension> {
        let of_tool = || self.0.suspension.lock().unwrap_or_else(PoisonError::into_inner).take();
        Suspension::of(error).cloned().or_else(of_tool)
    }

    fn log_failure(&self, error: &Error) {
        let write = || {
            self.0.log.write(logs::TOOL_ERROR, |code| {
                let record = LogRecord::new(code, format!("the tool {} failed", self.name())).with("tool_call_id", self.id());
                record.with("tool_name", self.name()).because(error.clone())
            });
        };
        // What watches `tracing` is the application's: if it panics, the call still ends.
        let _ = catch_unwind(AssertUnwindSafe(write));
    }

    /// Whether the call has its answer, and nothing is wanted of it any more. It is at work until it has reported that.
    pub(crate) fn is_over(&self) -> bool {
        let has_answered = self.0.has_answered.load(Ordering::Acquire);
        if has_answered {
            // Not `finish` of its work: the loop may not have the report yet, and a virtual clock would go on without it.
            self.0.over.cancel();
        }
        has_answered
    }

    /// The run no longer waits for the call.
    pub(crate) fn close(&self) {
        self.0.work.finish();
        self.0.over.cancel();
    }

    /// After an abort the call's sleeps end, but it may not have noticed yet: it counts as working again.
    pub(crate) fn mark_working(&self) {
        self.0.work.mark_working();
    }

    /// The call has taken too long: it is cancelled.
    pub(crate) fn cancel(&self) {
        self.cancel_token().cancel();
    }
}

impl std::fmt::Debug for ToolContext {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ToolContext").field("id", &self.id()).field("name", &self.name()).finish_non_exhaustive()
    }
}

/// A call that waits for its answer. Dropping it unanswered fails the call.
///
/// ```
/// use agent_loop::tool::PendingCall;
///
/// fn answer(call: PendingCall) {
///     match call.arguments()["n"].as_f64() {
///         Some(n) => call.respond((n * 2.0).into()),
///         None => call.fail("n is not a number"),
///     }
/// }
/// ```
#[derive(Debug)]
pub struct PendingCall {
    context: ToolContext,
    arguments: Map<String, Value>,
    scope: Scope,
    answer: Arc<Answer>,
    #[cfg_attr(not(feature = "__bindings"), allow(dead_code))] // For hosts of other languages.
    carried: Option<Carried>,
}

impl PendingCall {
    pub(super) fn new(context: ToolContext, arguments: Map<String, Value>, scope: Scope, answer: Arc<Answer>) -> PendingCall {
        PendingCall { context, arguments, scope, answer, carried: None }
    }

    pub(super) fn carrying(mut self, carried: Option<Carried>) -> PendingCall {
        self.carried = carried;
        self
    }

    #[cfg(feature = "__bindings")]
    pub(crate) fn carried(&self) -> Option<&Carried> {
        self.carried.as_ref()
    }

    pub(crate) fn answer(&self) -> Arc<Answer> {
        Arc::clone(&self.answer)
    }

    /// The call's id.
    pub fn id(&self) -> &str {
        self.context.id()
    }

    /// The tool's name.
    pub fn name(&self) -> &str {
        self.context.name()
    }

    /// The arguments, checked.
    pub fn arguments(&self) -> &Map<String, Value> {
        &self.arguments
    }

    /// The arguments, moved out: nothing reads them here any more.
    pub(super) fn take_arguments(&mut self) -> Map<String, Value> {
        std::mem::take(&mut self.arguments)
    }

    /// Id, cancel token, `update` and `sleep`, to be handed around.
    pub fn context(&self) -> &ToolContext {
        &self.context
    }

    /// Marks work done for this call as inside its agent's callback.
    pub fn scope(&self) -> Scope {
        self.scope.clone()
    }

    /// Answers with a JSON value: a full result, or anything plain (see `ToolOutput`).
    pub fn respond(self, value: Value) {
        self.answer.deliver(Ok(HostAnswer::Json(value)));
    }

    /// Answers that the result comes from elsewhere, later: see [`ToolContext::suspend`].
    pub fn suspend(self, reason: impl Into<String>) {
        let suspension = self.context.suspend(reason);
        self.fail_with(suspension);
    }

    /// Answers that the call failed; the text goes to the model.
    pub fn fail(self, message: impl Into<String>) {
        self.answer.fail(message);
    }

    /// The same with an error, whose text goes to the model. Middleware around the call gets it as the `source()` of its own.
    pub fn fail_with(self, error: impl Into<BoxError>) {
        self.answer.deliver(Err(Error::callback(error)));
    }
}

impl Drop for PendingCall {
    fn drop(&mut self) {
        // A panic on the thread that took up the call is reported by its catcher, with its message.
        let is_reported = std::thread::panicking() && self.scope.is_inside();
        if !is_reported {
            // Only if it was not answered.
            self.answer.fail(format!("the tool {} dropped the call without an answer", self.name()));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::pin::Pin;
    use std::sync::{Mutex, OnceLock};
    use std::task::{Context, Waker};

    use super::*;
    use crate::log::Log;

    #[tokio::test]
    async fn virtual_time_waits_for_the_report_of_an_answer() {
        let clock = Clock::simulated();
        let at_work = clock.busy();
        let mut limit = Box::pin(clock.limit(40_000));
        assert!(Pin::new(&mut limit).poll(&mut Context::from_waker(Waker::noop())).is_pending());

        // The run's driver looks after its calls on another thread, also between an answer and its report.
        let (call, reported_at) = (Arc::new(OnceLock::<ToolContext>::new()), Arc::new(Mutex::new(Vec::new())));
        let (of_driver, noted, time) = (Arc::clone(&call), Arc::clone(&reported_at), clock.clone());
        let reports: Reports = Arc::new(move |_| {
            assert!(of_driver.get().expect("the call").is_over());
            noted.lock().expect("times").push(time.now_ms());
        });
        let names = (Arc::from("call_1"), Arc::from("rain"), Arc::from("run_1/0/call_1"));
        let log = Log::default();
        let (run_id, conversation_id) = (Arc::from("run_1"), Arc::from("run_1"));
        let log = RunLog { run_id, conversation_id, turn: Arc::default(), runtime: log, own: None };
        let context = ToolContext::new(0, names, CancelToken::new(), reports, log, clock.clone());
        call.set(context.clone()).expect("one call");
        drop(at_work);

        context.done(Ok(Value::Null));
        assert_eq!(*reported_at.lock().expect("times"), [0]);
        assert!(context.over_token().is_cancelled());
        assert_eq!(clock.now_ms(), 40_000, "nothing works any more");
    }
}
