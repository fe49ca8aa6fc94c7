//! Drives one run: executes the actions of its [`Loop`] (HTTP, timers, host functions) and reports what comes of them. It
//! decides nothing.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::task::{Context, Poll};

use crate::cancel::{CancelToken, Cancelled};
use agent_loop_proto::hook::{HookAnswer, Question};
use agent_loop_proto::machine::{Action, BudgetLeft, Config, Input, ModelCall, Timer};
use agent_loop_proto::recording::Player;
use serde_json::{Map, Value};

use super::hook_call::HookCall;
use super::model_call::Streaming;
use super::parent::Parent;
use super::payload_headers::PayloadHeaders;
use super::queue::BATCH;
use super::shared::RunShared;
use crate::agent::handle::Agent;
use crate::agent::host_side::HostSide;
use crate::agent::session::AgentSession;
use crate::clock::Clock;
use crate::error::{Error, ErrorKind, panic_message};
use crate::event::{Event, EventData};
use crate::future::{BoxFuture, OnWake, catch_panic, has_ended};
use crate::hook::ApiKey;
use crate::limiter::SharedLimiter;
use crate::listener::ListenerKind;
use crate::model::table::{ResolvedModel, add_model};
use crate::recording::{ReplayedRun, answering};
use crate::result::RunResult;
use crate::scope::Scope;
use crate::tool::call::{Reports, ToolContext};
use crate::tool::run_of_call::HandOff;
use crate::tool::{execute, middleware};

/// Wakes the run when the limit of a listener may have passed.
pub(super) struct ListenerTimer {
    pub(super) at_ms: u64,
    pub(super) sleep: BoxFuture<'static, ()>,
}

/// One run.
pub(crate) struct Driver {
    pub(super) agent: Agent,
    /// The agent that the run is configured by: another one after a handoff.
    pub(super) acting: Agent,
    /// Whether its MCP servers were not connected to yet.
    #[cfg(feature = "mcp")]
    is_new_to_servers: bool,
    /// What the host keeps for it.
    handed_off: Vec<HandOff>,
    pub(super) run: Arc<RunShared>,
    pub(super) session: AgentSession,
    pub(super) clock: Clock,
    pub(super) scope: Scope,
    /// Whether the engine and the tools were made to notice an abort.
    has_noticed_abort: bool,
    pub(super) aborted: OnWake<Cancelled>,
    /// The host's side of the agent's configuration: of this turn, and of the next.
    turn: Arc<HostSide>,
    pub(super) next: Arc<HostSide>,
    /// The models that the loop knows by their keys.
    pub(super) models: Vec<ResolvedModel>,
    /// Says when a model call may begin.
    limiter: Option<Arc<SharedLimiter>>,
    /// Headers of this run, beside those of its own agent.
    pub(crate) headers: Map<String, Value>,
    /// What `get_api_key` has answered for the next model call.
    key: Option<ApiKey>,
    /// What the hook `on_payload` has answered to the headers of the next model call.
    payload_headers: PayloadHeaders,
    pub(super) tools: BTreeMap<u32, ToolContext>,
    hook: Option<HookCall>,
    pub(super) model: Option<Streaming>,
    pub(super) timer: Option<(Timer, OnWake<BoxFuture<'static, ()>>)>,
    pub(super) listener_timer: Option<ListenerTimer>,
    /// What the runs around a subagent's leave to it, as its loop knows it.
    budget_left: BudgetLeft,
    /// Events on their way to the queue.
    pub(super) outbox: Vec<Event>,
    /// The event that listeners are awaited for: if the run is ended from outside meanwhile, its reader gets it all the same.
    pub(super) emitting: Option<Event>,
    /// When the last model call began, and when the run did.
    pub(super) call_began_ms: Option<u64>,
    pub(super) began_ms: u64,
    /// Whether the journal says that the run has ended.
    pub(super) is_end_recorded: bool,
    pub(super) has_ended: bool,
}

impl Driver {
    /// Boxed: the task that runs it would hold it more than once.
    pub(crate) fn new(
        agent: Agent,
        run: Arc<RunShared>,
        clock: Clock,
        host: HostSide,
        models: Vec<ResolvedModel>,
        limiter: Option<Arc<SharedLimiter>>,
    ) -> Box<Driver> {
        let (scope, host) = (agent.scope(), Arc::new(host));
        let began_ms = clock.now_ms();
        let (session, aborted) = (agent.own_session(), OnWake::new(run.abort.cancelled()));
        Box::new(Driver {
            acting: agent.clone(),
            #[cfg(feature = "mcp")]
            is_new_to_servers: true,
            handed_off: Vec::new(),
            agent,
            run,
            session,
            clock,
            scope,
            has_noticed_abort: false,
            aborted,
            turn: Arc::clone(&host),
            next: host,
            models,
            limiter,
            headers: Map::new(),
            key: None,
            payload_headers: PayloadHeaders::default(),
            tools: BTreeMap::new(),
            hook: None,
            model: None,
            timer: None,
            listener_timer: None,
            budget_left: BudgetLeft::default(),
            outbox: Vec::new(),
            emitting: None,
            call_began_ms: None,
            began_ms,
            is_end_recorded: false,
            has_ended: false,
        })
    }

    /// The run from `agent_start` to its result. A panic in here is a bug of ours, or of what watches `tracing`; the run still
    /// ends.
    /// It is aborted when one of the futures ends.
    /// A recorded run is played by its player.
    pub(crate) async fn drive(mut self: Box<Self>, cancels: Vec<BoxFuture<'static, ()>>, player: Option<Box<Player>>) {
        let (clock, run) = (self.clock.clone(), Arc::clone(&self.run));
        // Boxed, as what wraps it holds it more than once.
        let execution: BoxFuture<'_, RunResult> = match player {
            None => Box::pin(self.execute()),
            Some(player) => Box::pin(self.play(player)),
        };
        let execution = abort_on(cancels, run, execution);
        let result = match catch_panic(clock.working(execution)).await {
            Ok(result) => result,
            Err(payload) => self.end_after_panic(&panic_message(&*payload)).await,
        };
        if let Some(recording) = self.run.recording.clone() {
            Box::pin(self.write_recording(recording)).await;
        }
        let ending = self.session.ending();
        self.finish(result);
        // Whoever has the result may have dropped the agent: this was the last that had its session.
        drop(self);
        drop(ending);
    }

    async fn execute(&mut self) -> RunResult {
        let run = Arc::clone(&self.run);
        let _delegated = run.parent.as_ref().and_then(|parent| parent.delegate(&self.clock));
        loop {
            #[cfg(feature = "mcp")]
            if std::mem::take(&mut self.is_new_to_servers) {
                self.connect_servers().await;
            }
            self.update();
            match self.poll() {
                Some(Action::Emit(event)) => self.emit(event).await,
                Some(Action::Record(records)) => self.record(records).await,
                Some(Action::SetTimer(timer)) => self.timer = timer.map(|timer| self.sleep_until(timer)),
                Some(Action::Done(result)) => return *result,
                Some(action) => {
                    // A reader is to have seen what led here.
                    self.flush().await;
                    if let Some(trace) = &self.run.trace {
                        trace.flush();
                    }
                    self.act(action);
                }
                None => {
                    if self.outbox.is_empty() {
                        self.wait().await;
                    } else {
                        self.flush().await;
                    }
                }
            }
        }
    }

    pub(super) fn sleep_until(&self, timer: Timer) -> (Timer, OnWake<BoxFuture<'static, ()>>) {
        let ms = timer.at_ms.saturating_sub(self.clock.now_ms());
        let sleep = match timer.is_limit {
            true => Box::pin(self.clock.limit(ms)) as BoxFuture<'static, ()>,
            false => Box::pin(self.clock.sleep(ms)),
        };
        (timer, OnWake::new(sleep))
    }

    /// Brings the loop up to date: the agent's configuration, aborts from outside; lets go of tools that have answered.
    fn update(&mut self) {
        if self.next.revision != self.acting.revision() {
            let config = self.configuration();
            self.run.machine().handle(Input::Configure(config));
        }
        if !self.has_noticed_abort && self.run.abort.is_cancelled() {
            self.notice_abort();
        }
        self.tools.retain(|_, context| !context.is_over());
        if let Some(parent) = &self.run.parent {
            parent.share_budget(&*self.run, &mut self.budget_left);
        }
    }

    /// The latest configuration, and the host's side of it.
    fn configuration(&mut self) -> Arc<Config> {
        let (mut config, mut host) = self.acting.configuration(&self.clock, &mut self.models);
        host.connection.add_headers(&self.headers);
        config.has_jitter = self.run.replayed.as_ref().map_or(config.has_jitter, ReplayedRun::has_jitter);
        self.next = Arc::new(host);
        Arc::new(config)
    }

    /// From the next turn on the run is configured by another agent.
    fn hand_off(&mut self) {
        let Some(to) = self.run.take_handoff() else { return };
        let Some(agent) = to.agent.downcast_ref::<Agent>() else { return };
        self.acting = agent.clone();
        self.headers = Map::new();
        #[cfg(feature = "mcp")]
        {
            self.is_new_to_servers = true;
        }
        let config = self.configuration();
        let (tool_call_id, tool_name) = (Arc::clone(&to.tool_call_id), Arc::clone(&to.tool_name));
        self.handed_off.push(to);
        self.run.machine().handle(Input::HandOff { tool_call_id, tool_name, config });
    }

    /// Notices an abort from outside, or waits for one.
    pub(super) fn poll_abort(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if self.has_noticed_abort || self.aborted.poll(cx).is_pending() {
            return Poll::Pending;
        }
        self.notice_abort();
        Poll::Ready(())
    }

    fn notice_abort(&mut self) {
        self.has_noticed_abort = true;
        // Before time can go on: a sleeping hook is to be woken by the abort, not passed by the grace time.
        if let Some(hook) = &self.hook {
            hook.mark_working();
        }
        self.run.machine().handle(Input::Abort);
    }

    /// The next action. Events that no listener and no follower waits for are gathered here: no lock and no await per delta.
    fn poll(&mut self) -> Option<Action> {
        let now_ms = self.clock.now_ms();
        let mut machine = self.run.machine();
        // What a tool has asked for before it has answered is known before its answer is.
        while self.run.has_handoff() {
            drop(machine);
            self.hand_off();
            machine = self.run.machine();
        }
        let is_forwarded = self.run.parent.as_ref().is_some_and(Parent::wants_deltas);
        let gathers = self.agent.listeners().kind() == ListenerKind::None && !is_forwarded;
        let action = loop {
            match machine.poll(now_ms) {
                Some(Action::Emit(event))
                    if gathers
                        && self.outbox.len() < BATCH
                        && matches!(event.data, EventData::MessageUpdate(_))
                        && !self.session.is_followed() =>
                {
                    if self.run.queue.is_some() {
                        self.outbox.push(event);
                    }
                }
                action => break action,
            }
        };
        let is_interrupted = machine.is_interrupted();
        drop(machine);
        if is_interrupted && !self.run.abort.is_cancelled() {
            // The run's time limit has passed.
            self.run.abort();
        }
        action
    }

    fn act(&mut self, action: Action) {
        match action {
            Action::AskHook { question_id, question, of_next_turn, is_cancellable } => {
                let host = Arc::clone(if of_next_turn { &self.next } else { &self.turn });
                let cancel = if is_cancellable { self.run.abort.child() } else { CancelToken::new() };
                self.ask_hook(question_id, question, &host, cancel);
            }
            Action::CancelHook { question_id } => {
                if let Some(cancelled) = self.hook.take_if(|asked| asked.question_id == question_id) {
                    cancelled.finish();
                }
            }
            Action::LeaveHook { question_id } => {
                if let Some(left) = self.hook.take_if(|asked| asked.question_id == question_id) {
                    left.leave(self.run.log.clone());
                }
            }
            Action::CallModel(call) => self.call_model(call),
            Action::CancelModel { .. } => self.model = None,
            Action::CallTool { call, id, name, arguments, idempotency_key } => {
                self.call_tool(call, (id, name, idempotency_key), arguments);
            }
            Action::CancelTool { call, abandoned } => {
                if let Some(context) = self.tools.get(&call) {
                    context.cancel();
                    context.mark_working();
                }
                if abandoned && let Some(context) = self.tools.remove(&call) {
                    context.close();
                }
            }
            // Handled where they come.
            Action::Emit(_) | Action::Record(_) | Action::SetTimer(_) | Action::Done(_) => {}
            // Both crates have one version: there is no other action.
            #[cfg(not(feature = "__bindings"))]
            _ => {}
        }
    }

    fn call_model(&mut self, mut call: ModelCall) {
        let Some(mut resolved) = self.models.get(call.model as usize).cloned() else {
            let error = Error::new(ErrorKind::InvalidState, "the run asks for a model that the agent does not have");
            return self.run.machine().handle(Input::ModelEnd { call: call.call, result: Err(error) });
        };
        if let Some(replayed) = &self.run.replayed {
            resolved.model = answering(resolved.model, replayed, &call);
        }
        call.body = call.body.map(|body| self.payload_headers.restore(body));
        self.call_began_ms = Some(self.clock.now_ms());
        if let Some(trace) = &self.run.trace {
            trace.model_called(&call.request, &*resolved.model);
        }
        // The same for each attempt of a call.
        let key = self.key.clone();
        let frames = self.run.recording.as_ref().is_some_and(|recording| recording.recorder.has_frames());
        let (scope, limiter) = (self.scope.clone(), self.limiter.as_deref());
        let streaming = Streaming::new(&call, resolved, &self.turn, key, &self.clock, scope, frames, limiter);
        if self.run.parent.is_some() || self.limiter.is_some() {
            streaming.share_time(&self.clock);
        }
        self.model = Some(streaming);
    }

    fn call_tool(&mut self, call: u32, names: (Arc<str>, Arc<str>, Arc<str>), arguments: Map<String, Value>) {
        let Some(tool) = self.turn.tools.get(&names.1).cloned() else {
            let why = format!("the tool {} was removed", names.1);
            return self.run.machine().handle(Input::ToolDone { call, result: Err(why) });
        };
        let cancel = self.run.abort.child();
        let context = ToolContext::new(call, names, cancel, self.reports(), self.run.log.clone(), self.clock.clone());
        let run = Arc::downgrade(&self.run);
        let number = self.run.trace.as_ref().map_or(0, |trace| trace.tool(context.id()));
        let context = context.of_run(run, number);
        #[cfg(feature = "mcp")]
        let context = context.with_hooks(&self.turn.hooks);
        #[cfg(feature = "tools")]
        let context = context.with_network(&self.turn.connection.network);
        self.tools.insert(call, context.clone());
        let (links, scope) = (Arc::clone(&self.turn.middleware), self.scope.clone());
        // The tasks of the call keep it.
        let tool_call = || tracing::debug_span!("tool_call", tool_call_id = context.id(), tool_name = context.name());
        #[cfg(feature = "otel")]
        let span = self.run.trace.as_ref().and_then(|trace| trace.span(number)).unwrap_or_else(tool_call);
        #[cfg(not(feature = "otel"))]
        let span = tool_call();
        let _inside = span.enter();
        if links.is_empty() {
            execute::start(tool, context, arguments, scope);
        } else {
            middleware::start(links, tool, context, arguments, scope);
        }
    }

    /// Where tools report to: the loop itself, which bounds what waits. A tool may outlive its run.
    fn reports(&self) -> Reports {
        let run = Arc::downgrade(&self.run);
        Arc::new(move |input| {
            if let Some(run) = run.upgrade() {
                run.report(input);
            }
        })
    }

    fn ask_hook(&mut self, question_id: u32, mut question: Question, host: &HostSide, cancel: CancelToken) {
        if let Question::OnPayload(payload) = &mut question {
            self.payload_headers = PayloadHeaders::add(payload, &host.connection.headers, &self.models);
        }
        self.hook = HookCall::ask(question_id, question, host, cancel, &self.clock, &self.scope);
        if self.hook.is_none() {
            self.run.machine().handle(Input::HookAnswer { question_id, answer: Ok(Box::new(HookAnswer::Nothing)) });
        }
    }

    /// A hook's answer as the loop takes it.
    fn hook_answered(&mut self, mut answer: HookAnswer) -> Result<HookAnswer, Error> {
        match &mut answer {
            HookAnswer::GetApiKey(key) => self.key = key.take().and_then(ApiKey::trimmed),
            HookAnswer::OnPayload(Some(payload)) => self.payload_headers.extract(payload),
            _ => {}
        }
        let (agent, models) = (&self.acting, &mut self.models);
        answer.resolved(|spec| Ok(add_model(models, agent.resolve_other(spec)?)))
    }

    /// Waits for something that the loop is to know.
    async fn wait(&mut self) {
        std::future::poll_fn(|cx| self.poll_inputs(cx)).await;
    }

    fn poll_inputs(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if self.poll_abort(cx).is_ready() {
            return Poll::Ready(());
        }
        // Also without tools: a call counts as answered before its report is there.
        if self.run.poll_reports(cx).is_ready() {
            return Poll::Ready(());
        }
        if let Some(asked) = &mut self.hook
            && let Poll::Ready(answer) = asked.poll(cx)
        {
            let Some(asked) = self.hook.take() else {
                return Poll::Ready(());
            };
            let answer = answer.and_then(|answer| self.hook_answered(answer));
            if let Err(why) = &answer {
                asked.log_failure(&self.run.log, why);
            }
            let question_id = asked.question_id;
            self.run.machine().handle(Input::HookAnswer { question_id, answer: answer.map(Box::new) });
            return Poll::Ready(());
        }
        if let Some(model) = &mut self.model
            && let Poll::Ready(has_ended) = model.poll(cx, &self.run)
        {
            if has_ended {
                self.model = None;
            }
            return Poll::Ready(());
        }
        self.poll_timer(cx)
    }

    pub(super) fn poll_timer(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        while let Some((timer, sleep)) = &mut self.timer {
            if sleep.poll(cx).is_pending() {
                break;
            }
            let timer = *timer;
            self.timer = None;
            if self.clock.now_ms() >= timer.at_ms {
                return Poll::Ready(());
            }
            // The system's timers are not those of its clock.
            self.timer = Some(self.sleep_until(timer));
        }
        Poll::Pending
    }

    /// From this turn on the host's side is the latest.
    pub(super) fn begin_turn(&mut self) {
        self.turn = Arc::clone(&self.next);
        self.key = None;
        self.payload_headers = PayloadHeaders::default();
    }
}

/// Executes a run and aborts it when one of the futures ends. Here, and not in a task of their own: a virtual clock cannot go on
/// between a future's end and the abort.
async fn abort_on(
    mut cancels: Vec<BoxFuture<'static, ()>>,
    run: Arc<RunShared>,
    mut execution: BoxFuture<'_, RunResult>,
) -> RunResult {
    std::future::poll_fn(|cx| {
        if cancels.iter_mut().any(|cancel| has_ended(cancel, cx)) {
            cancels.clear();
            run.abort();
        }
        execution.as_mut().poll(cx)
    })
    .await
}
