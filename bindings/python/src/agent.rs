//! The native half of `agent_loop.Agent`: the engine's agent, its Python callbacks, and the start of runs.

use std::sync::{Arc, Mutex, PoisonError};

use agent_loop::handoff::Handoff;
use agent_loop::hook::HookKind;
use agent_loop::host::{Scope, Spelling};
use agent_loop::mcp::McpServing;
use agent_loop::session::OpenSession as CoreOpenSession;
use agent_loop::session::hosting::on_runtime;
use agent_loop::subagent::SubagentEvents;
use agent_loop::{Agent as CoreAgent, Context, Delivery, PendingRun, Replay, Runtime, ToolSet};
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use serde_json::{Map, Value};

use crate::call::{Target, fail_without_agent};
use crate::error::raised;
use crate::future::{NativeFuture, Output};
use crate::host::{Caller, Host, Shared};
use crate::job_queue::JobQueue;
use crate::listener::Subscription;
use crate::message::{Transcript, from_py, message, one_from_py};
use crate::model::Provider;
use crate::run::{Run, prompt};
use crate::session::OpenSession;
use crate::suspension::{decisions, suspended_calls};
use crate::tool::CallContext;
use crate::{argument, error, hook, json, log, model, path, runtime, tool, traces};

/// The engine's agent with its Python callbacks.
#[pyclass(frozen, weakref, module = "agent_loop._native")]
pub(crate) struct Agent {
    pub(crate) core: CoreAgent,
    host: Arc<Host>,
    /// The runtime of its runs; another one after a fork.
    runtime: Mutex<Option<Runtime>>,
    transcript: Transcript,
}

impl Agent {
    /// The agent's scope, if code inside the runs of these numbers is inside a callback of the active run.
    fn inside(&self, markers: &[u64]) -> Option<Scope> {
        (self.host.is_inside(markers) && self.core.is_streaming()).then(|| self.core.scope())
    }

    /// Starts a run for a caller; a quiet one has no queue of events.
    fn begin(&self, py: Python<'_>, caller: &Caller, quiet: bool, pending: impl FnOnce() -> PendingRun) -> PyResult<Run> {
        self.set_runtime().map_err(|error| raised(py, error))?;
        let scope = self.inside(&caller.inside);
        let start = || {
            let log = log::of_run(Arc::downgrade(&self.host), Arc::clone(&caller.has_logged));
            let pending = pending().log_to(log::level(caller.is_debugged), log);
            let pending = match &caller.traces {
                Some(traces) => pending.trace_to(traces.function(&caller.jobs, &caller.has_logged)),
                None => pending,
            };
            if quiet { pending.start() } else { pending.stream() }
        };
        // Under the lock: the run's first tool may be called before we are through here.
        let mut host = self.host.lock();
        let started = match &scope {
            Some(scope) => scope.run(start),
            None => start(),
        };
        let before = if started.is_ok() { host.caller.replace(caller.clone()) } else { None };
        drop(host);
        drop(before);
        let core = started.map_err(|error| raised(py, error))?;
        Ok(Run::new(core, &self.host, caller))
    }

    fn share_middleware(&self, function: Shared) {
        // The engine keeps its middleware as long as the agent. Only the host holds the function, so that the garbage collector
        // can free it.
        let (weak, host) = (Arc::downgrade(&function), Arc::downgrade(&self.host));
        self.host.lock().middleware.push(function);
        self.core.add_host_middleware(Arc::new(move |call| match (host.upgrade(), weak.upgrade()) {
            (Some(host), Some(function)) => Target::new(function).call(&host, call),
            _ => fail_without_agent(&call),
        }));
    }

    /// Gives the agent this process's runtime, before its first run and after a fork.
    fn set_runtime(&self) -> Result<(), agent_loop::Error> {
        let runtime = runtime::runtime()?;
        let mut current = self.runtime.lock().unwrap_or_else(PoisonError::into_inner);
        if current.as_ref().is_none_or(Runtime::is_forked) {
            // Only then: a new runtime makes the agent connect to its model again.
            self.core.set_runtime(current.insert(runtime));
        }
        Ok(())
    }
}

/// Options of a run by name.
fn named(options: &Bound<'_, PyDict>) -> PyResult<Map<String, Value>> {
    let read = |(name, value): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
        let json::Text(name) = name.extract()?;
        let value = json::from_py(&value, &format!("option {name:?}"))?;
        Ok((name, value))
    };
    options.iter().map(read).collect()
}

/// An agent that is served, or whose servers are connected, for a caller with this marker, until this is dropped.
pub(crate) struct Serves(Arc<Host>, u64);

impl Drop for Serves {
    fn drop(&mut self) {
        let mut host = self.0.lock();
        let at = host.servers.iter().position(|caller| caller.marker == self.1);
        let caller = at.map(|at| host.servers.remove(at));
        // Not under the lock: it has objects of Python.
        drop(host);
        drop(caller);
    }
}

/// A tool call, and which events of a run come there.
type Within = (agent_loop::ToolContext, SubagentEvents);

impl Agent {
    /// Before anything that its callbacks may be called for outside of a run.
    pub(crate) fn serves(&self, caller: &Bound<'_, Caller>) -> PyResult<Serves> {
        self.set_runtime().map_err(|error| raised(caller.py(), error))?;
        let caller = caller.get().clone();
        let marker = caller.marker;
        self.host.lock().servers.push(caller);
        Ok(Serves(Arc::clone(&self.host), marker))
    }
}

fn subagent_of(py: Python<'_>, within: Option<(Bound<'_, CallContext>, String)>) -> PyResult<Option<Within>> {
    let read = |(context, events): (Bound<'_, CallContext>, String)| Ok((context.get().0.clone(), events.parse()?));
    within.map(read).transpose().map_err(|error: agent_loop::Error| raised(py, error))
}

/// A run with options of its own, perhaps within a tool call.
fn with_options(pending: PendingRun, options: &Map<String, Value>, within: Option<&Within>) -> PendingRun {
    let pending = pending.options(options, Spelling::Snake, &["decisions", "deps", "within"]);
    match within {
        Some((context, events)) => pending.within_showing(context, *events),
        None => pending,
    }
}

#[pymethods]
impl Agent {
    /// `providers` are names, None for any model, with a function that answers model calls and whether it is called on a thread
    /// of its own.
    #[new]
    #[pyo3(signature = (model, options, providers=Vec::new(), plugins=Vec::new()))]
    fn new(
        py: Python<'_>,
        model: &Bound<'_, PyAny>,
        options: &Bound<'_, PyDict>,
        providers: Vec<(Option<String>, Provider)>,
        plugins: Vec<std::path::PathBuf>,
    ) -> PyResult<Agent> {
        let spec = model::spec(model)?;
        // Checked below, with its options.
        let core = CoreAgent::builder(spec).build_unchecked().map_err(|error| raised(py, error))?;
        let agent = Agent { core, host: Arc::default(), runtime: Mutex::default(), transcript: Transcript::default() };
        for (name, function) in providers {
            model::set_provider(&agent.core, &agent.host, name.as_deref(), Some(function)).map_err(|error| raised(py, error))?;
        }
        // Before the model is checked, which may be of a plugin.
        plugins.into_iter().try_for_each(|path| agent.add_plugin(py, path))?;
        agent.set_options(py, options)?;
        agent.core.check().map_err(|error| raised(py, error))?;
        Ok(agent)
    }

    /// Sets options by name: all, or on an error none.
    fn set_options(&self, py: Python<'_>, options: &Bound<'_, PyDict>) -> PyResult<()> {
        let (mut named, mut provider) = (Map::new(), None);
        for option in options.items() {
            let (json::Text(name), value) = option.extract::<(json::Text, Bound<'_, PyAny>)>()?;
            let value = match name.as_str() {
                "traces" => {
                    let (is_on, given) = traces::option(value)?;
                    provider = Some(given.map(Arc::new));
                    is_on
                }
                _ => path::plain_in_option(&name, value)?,
            };
            match json::from_py(&value, &format!("option {name:?}")) {
                Ok(value) => drop(named.insert(name, value)),
                // An unknown name is the likelier mistake and is reported first. A scratch agent checks it.
                Err(wrong) => {
                    let names = Map::from_iter([(name, Value::Null)]);
                    let checked = CoreAgent::builder("scripted/scratch")
                        .build_unchecked()
                        .and_then(|scratch| scratch.set_options(&names, Spelling::Snake, &binding_options()));
                    return Err(checked.map_or_else(|error| raised(py, error), |()| wrong));
                }
            }
        }
        self.core.set_options(&named, Spelling::Snake, &binding_options()).map_err(|error| raised(py, error))?;
        if let Some(provider) = provider {
            let before = std::mem::replace(&mut self.host.lock().tracer_provider, provider);
            drop(before);
        }
        Ok(())
    }

    /// None if runs have no spans; else who makes them: a tracer provider, or True for the global one.
    #[getter]
    fn tracer_provider(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        let given = || self.host.lock().tracer_provider.as_ref().map(|provider| provider.clone_ref(py));
        let global = || pyo3::types::PyBool::new(py, true).to_owned().into_any().unbind();
        self.core.traces().is_on().then(|| given().unwrap_or_else(global))
    }

    /// Goes on with the conversation of a session.
    fn set_session(&self, py: Python<'_>, session: &Bound<'_, OpenSession>) -> PyResult<()> {
        let session = CoreOpenSession::clone(&session.get().core);
        self.core.set_session(session).map_err(|error| raised(py, error))
    }

    /// The run that the process before has left, as a dict, or None.
    #[getter]
    fn interrupted<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.core.interrupted().map(|run| json::to_dict(py, &run)).transpose()
    }

    /// Waits until the session has all changes.
    fn flush(&self, queue: &Bound<'_, JobQueue>) -> PyResult<NativeFuture> {
        let core = self.core.clone();
        let runtime = runtime::runtime().map_err(|error| raised(queue.py(), error))?;
        let flushed = on_runtime(&runtime, async move { core.flush().await.map(|()| Output::Nothing) });
        Ok(NativeFuture::new(None, flushed))
    }

    /// Sets a hook, a function that is called with a `HostCall`; None removes it.
    fn set_hook(&self, py: Python<'_>, name: &Bound<'_, PyAny>, function: Option<Py<PyAny>>) -> PyResult<()> {
        let kind = hook::kind(py, &argument::text(name, "name")?)?;
        hook::set(&self.core, &self.host, kind, function);
        Ok(())
    }

    /// Adds what the plugin at this path has.
    fn add_plugin(&self, py: Python<'_>, path: std::path::PathBuf) -> PyResult<()> {
        py.detach(|| agent_loop_plugins::add(&self.core, &path)).map_err(|error| raised(py, error))
    }

    /// Adds a middleware: a function that is called with a `HostCall`.
    fn add_middleware(&self, function: Py<PyAny>) {
        self.share_middleware(Arc::new(function));
    }

    /// Another agent of the same configuration, as it is now, with these messages.
    fn fork(&self, messages: &Bound<'_, PyAny>) -> PyResult<Agent> {
        let py = messages.py();
        let messages = from_py(messages, "messages")?;
        self.set_runtime().map_err(|error| raised(py, error))?;
        let core = self.core.fork_for_host(Arc::new(messages)).map_err(|error| raised(py, error))?;
        let runtime = self.runtime.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let agent = Agent { core, host: Arc::default(), runtime: Mutex::new(runtime), transcript: Transcript::default() };
        let host = self.host.lock();
        let (tools, hooks) = (host.tools.clone(), host.hooks.clone());
        let (middleware, providers) = (host.middleware.clone(), host.providers.clone());
        let tracer_provider = host.tracer_provider.clone();
        drop(host);
        agent.host.lock().tracer_provider = tracer_provider;
        for (name, provider) in providers {
            let name = Some(&*name).filter(|name| !name.is_empty());
            model::share_provider(&agent.core, &agent.host, name, Some(provider)).map_err(|error| raised(py, error))?;
        }
        let mut set = ToolSet::default();
        for tool in &tools {
            set.add(Arc::new(tool::of_agent(tool.bind(py), tool, &agent.host)?)).map_err(|error| raised(py, error))?;
        }
        agent.core.set_tools(set);
        agent.host.lock().tools = tools;
        for (name, function) in hooks {
            hook::share(&agent.core, &agent.host, hook::kind(py, name)?, Some(function));
        }
        middleware.into_iter().for_each(|function| agent.share_middleware(function));
        Ok(agent)
    }

    /// Sets the provider of this name, or without a name that of any model; None removes it. The function comes with whether it
    /// is called on a thread of its own.
    fn set_provider(&self, py: Python<'_>, name: Option<&Bound<'_, PyAny>>, function: Option<Provider>) -> PyResult<()> {
        let name = name.map(|name| argument::text(name, "name")).transpose()?;
        model::set_provider(&self.core, &self.host, name.as_deref(), function).map_err(|error| raised(py, error))
    }

    /// Replaces the model. One that the agent cannot use is refused and changes nothing.
    fn set_model(&self, py: Python<'_>, model: &Bound<'_, PyAny>) -> PyResult<()> {
        let spec = model::spec(model)?;
        self.core.set_model(spec).map_err(|error| raised(py, error))
    }

    /// Replaces all tools; each is an `agent_loop.Tool`.
    fn set_tools(&self, py: Python<'_>, tools: &Bound<'_, PyList>) -> PyResult<()> {
        let mut set = ToolSet::default();
        let mut held: Vec<Shared> = Vec::with_capacity(tools.len());
        for tool in tools {
            let shared: Shared = Arc::new(tool.clone().unbind());
            let core = tool::of_agent(&tool, &shared, &self.host)?;
            set.add(Arc::new(core)).map_err(|error| raised(py, error))?;
            held.push(shared);
        }
        self.core.set_tools(set);
        let before = std::mem::replace(&mut self.host.lock().tools, held);
        drop(before);
        Ok(())
    }

    /// Goes on with the run of this call, for a caller; returns the result of the call.
    fn take_over(&self, py: Python<'_>, context: &Bound<'_, CallContext>, caller: &Bound<'_, Caller>) -> PyResult<&'static str> {
        let before = self.host.lock().caller.replace(caller.get().clone());
        drop(before);
        let taken = self.core.take_over_keeping(&context.get().0, Arc::new(Arc::clone(&self.host)));
        taken.map(|()| Handoff::taken()).map_err(|error| raised(py, error))
    }

    /// Before and after a call waits for its turn to go on with this agent's conversation.
    fn check_turn_of(&self, py: Python<'_>, context: &Bound<'_, CallContext>) -> PyResult<()> {
        self.core.check_turn_of(&context.get().0).map_err(|error| raised(py, error))
    }

    /// Starts a run, perhaps within a tool call, as whose subagent, and with which of its events there.
    #[pyo3(signature = (prompt, options, quiet, caller, within=None))]
    fn start(
        &self,
        prompt: &Bound<'_, PyAny>,
        options: &Bound<'_, PyDict>,
        quiet: bool,
        caller: &Bound<'_, Caller>,
        within: Option<(Bound<'_, CallContext>, String)>,
    ) -> PyResult<Run> {
        let within = subagent_of(prompt.py(), within)?;
        let (py, prompt) = (prompt.py(), crate::run::prompt(prompt, "prompt")?);
        let options = named(options)?;
        self.begin(py, caller.get(), quiet, || with_options(self.core.prompt(prompt), &options, within.as_ref()))
    }

    /// Resumes from the current transcript, with decisions or None; with `if_queued` for the messages that wait.
    #[allow(clippy::too_many_arguments)] // Python gives them one by one.
    #[pyo3(signature = (quiet, if_queued, given, options, caller, within=None))]
    fn resume(
        &self,
        py: Python<'_>,
        quiet: bool,
        if_queued: bool,
        given: Option<&Bound<'_, PyAny>>,
        options: &Bound<'_, PyDict>,
        caller: &Bound<'_, Caller>,
        within: Option<(Bound<'_, CallContext>, String)>,
    ) -> PyResult<Run> {
        let (decided, within, options) = (decisions(given)?, subagent_of(py, within)?, named(options)?);
        self.begin(py, caller.get(), quiet, || {
            let queued = self.core.resume_if_queued().filter(|_| if_queued);
            let pending = queued.unwrap_or_else(|| self.core.resume().decisions(decided));
            with_options(pending, &options, within.as_ref())
        })
    }

    /// Whether `resume` with `if_queued` has something to do, or is refused.
    fn may_resume_queued(&self) -> bool {
        self.core.resume_if_queued().is_some()
    }

    /// Starts a stateless run with this agent's tools and options; with None as the prompt, it resumes from the messages.
    fn start_stateless(
        &self,
        py: Python<'_>,
        system_prompt: json::Text,
        messages: &Bound<'_, PyAny>,
        prompt: Option<&Bound<'_, PyAny>>,
        given: Option<&Bound<'_, PyAny>>,
        caller: &Bound<'_, Caller>,
    ) -> PyResult<Run> {
        let decided = decisions(given)?;
        let messages = from_py(messages, "context: messages")?;
        let prompt = prompt.map(|prompt| crate::run::prompt(prompt, "prompts")).transpose()?;
        let context = Context::new(messages).system_prompt(system_prompt.0).tools(self.core.tools());
        self.begin(py, caller.get(), false, || match prompt {
            Some(prompt) => agent_loop::run(&context, prompt, &self.core),
            None => agent_loop::resume(&context, &self.core).decisions(decided),
        })
    }

    /// Starts one model call over these messages, with this agent's system prompt, tools and options.
    fn start_call(&self, messages: &Bound<'_, PyAny>, quiet: bool, caller: &Bound<'_, Caller>) -> PyResult<Run> {
        let py = messages.py();
        let messages = crate::run::prompt(messages, "messages")?;
        let pending = agent_loop::complete(&self.core, messages).pending().map_err(|error| raised(py, error))?;
        self.begin(py, caller.get(), quiet, || pending)
    }

    /// Starts a recorded run, which needs nothing of this agent.
    fn start_replay(&self, recording: &Bound<'_, PyAny>, run: &Bound<'_, PyAny>, caller: &Bound<'_, Caller>) -> PyResult<Run> {
        let (py, number) = (run.py(), argument::count(run, "run")?);
        let recording = Replay::of(path::argument(recording, "recording")?).run(number);
        let runtime = runtime::runtime().map_err(|error| raised(py, error))?;
        self.begin(py, caller.get(), false, || agent_loop::replay_in(&runtime, recording))
    }

    fn steer(&self, message: &Bound<'_, PyAny>) -> PyResult<&'static str> {
        let delivery = self.core.steer(prompt(message, "message")?);
        delivery.map(Delivery::as_str).map_err(|error| raised(message.py(), error))
    }

    fn follow_up(&self, message: &Bound<'_, PyAny>) -> PyResult<&'static str> {
        let delivery = self.core.follow_up(prompt(message, "message")?);
        delivery.map(Delivery::as_str).map_err(|error| raised(message.py(), error))
    }

    fn clear_steering_queue(&self) {
        self.core.clear_steering_queue();
    }

    fn clear_follow_up_queue(&self) {
        self.core.clear_follow_up_queue();
    }

    fn stop_after_turn(&self) {
        self.core.stop_after_turn();
    }

    fn clear_all_queues(&self) {
        self.core.clear_all_queues();
    }

    fn has_queued_messages(&self) -> bool {
        self.core.has_queued_messages()
    }

    fn append_message(&self, py: Python<'_>, message: &Bound<'_, PyAny>) -> PyResult<()> {
        self.core.append_messages([one_from_py(message, "message")?]).map_err(|error| raised(py, error))
    }

    fn append_messages(&self, py: Python<'_>, messages: &Bound<'_, PyAny>) -> PyResult<()> {
        self.core.append_messages(from_py(messages, "messages")?).map_err(|error| raised(py, error))
    }

    fn replace_messages(&self, py: Python<'_>, messages: &Bound<'_, PyAny>) -> PyResult<()> {
        self.core.replace_messages(from_py(messages, "messages")?).map_err(|error| raised(py, error))
    }

    fn clear_messages(&self, py: Python<'_>) -> PyResult<()> {
        self.core.clear_messages().map_err(|error| raised(py, error))
    }

    fn undo_writes<'py>(&self, py: Python<'py>, count: i64) -> PyResult<Bound<'py, PyAny>> {
        let undo = || {
            let wrong = |_| agent_loop::Error::invalid_argument(format!("count: expected a whole number from 0 on, got {count}"));
            self.core.undo_writes(usize::try_from(count).map_err(wrong)?)
        };
        let undone = py.detach(undo).map_err(|error| raised(py, error))?;
        json::to_dict(py, &undone)
    }

    fn export(&self, py: Python<'_>, key: Option<Vec<u8>>) -> PyResult<String> {
        py.detach(|| self.core.export(key.as_deref())).map_err(|error| raised(py, error))
    }

    /// On an error its session is closed, without waiting for it: the exception refers to the agent, which would keep it open.
    fn begin_with_export(&self, py: Python<'_>, text: json::Text, key: Option<Vec<u8>>) -> PyResult<()> {
        let begin = || {
            let begun = self.core.begin_with_export(&text.0, key.as_deref());
            if begun.is_err() {
                drop(self.core.session().map(|session| session.close()));
            }
            begun
        };
        py.detach(begin).map_err(|error| raised(py, error))
    }

    fn reset(&self, py: Python<'_>) -> PyResult<()> {
        self.core.reset().map_err(|error| raised(py, error))
    }

    fn forget(&self, py: Python<'_>, rule: Option<&str>) -> PyResult<()> {
        self.core.forget(rule).map_err(|error| raised(py, error))
    }

    fn abort(&self) {
        self.core.abort();
    }

    fn connect_mcp(&self, caller: &Bound<'_, Caller>) -> PyResult<NativeFuture> {
        let (core, serves) = (self.core.clone(), self.serves(caller)?);
        Ok(NativeFuture::new(None, async move {
            let connected = core.connect_mcp().await;
            drop(serves);
            connected.map(|()| Output::Nothing)
        }))
    }

    fn mcp_tools(&self, caller: &Bound<'_, Caller>) -> PyResult<NativeFuture> {
        let (core, serves) = (self.core.clone(), self.serves(caller)?);
        Ok(NativeFuture::new(None, async move {
            let tools = core.mcp_tools().await;
            drop(serves);
            tools.map(|tools| Output::json(&tools))
        }))
    }

    /// Serves the agent over standard input and output; its callbacks are called for this caller.
    fn serve_mcp(&self, options: &Bound<'_, PyDict>, caller: &Bound<'_, Caller>) -> PyResult<NativeFuture> {
        let py = options.py();
        let serving = McpServing::from_json(named(options)?, Spelling::Snake).map_err(|error| raised(py, error))?;
        let (core, serves) = (self.core.clone(), self.serves(caller)?);
        Ok(NativeFuture::new(None, async move {
            let served = core.serve_mcp(serving).await;
            drop(serves);
            served.map(|()| Output::Nothing)
        }))
    }

    fn close_mcp(&self) -> NativeFuture {
        let core = self.core.clone();
        NativeFuture::new(None, async move { core.close_mcp().await.map(|()| Output::Nothing) })
    }

    fn wait_for_idle(&self, inside: Vec<u64>) -> NativeFuture {
        let core = self.core.clone();
        NativeFuture::new(self.inside(&inside), async move { core.wait_for_idle().await.map(|()| Output::Nothing) })
    }

    fn subscribe(&self, function: Py<PyAny>) -> Subscription {
        let function: Shared = Arc::new(function);
        let subscription = self.core.add_host_listener(Target::new(Arc::clone(&function)).function(&self.host));
        let mut host = self.host.lock();
        host.next_listener += 1;
        let number = host.next_listener;
        host.listeners.insert(number, (subscription, function));
        Subscription::new(&self.host, number)
    }

    #[getter]
    fn system_prompt(&self) -> String {
        self.core.system_prompt()
    }

    #[getter]
    fn model(&self) -> String {
        self.core.model()
    }

    #[getter]
    fn thinking_level(&self) -> &'static str {
        self.core.thinking_level().as_str()
    }

    #[getter]
    fn abort_grace_ms(&self) -> u64 {
        self.core.abort_grace_ms()
    }

    #[getter]
    fn tools<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let tools: Vec<Shared> = self.host.lock().tools.clone();
        PyTuple::new(py, tools.iter().map(|tool| tool.bind(py)))
    }

    #[getter]
    fn messages<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        self.transcript.of(py, &self.core)
    }

    #[getter]
    fn is_streaming(&self) -> bool {
        self.core.is_streaming()
    }

    #[getter]
    fn streaming_message<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.core.streaming_message().map(|core| message(py, &Arc::new(core))).transpose()
    }

    #[getter]
    fn pending<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        suspended_calls(py, &self.core.pending())
    }

    #[getter]
    fn remembered<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        json::to_dict(py, &self.core.remembered())
    }

    #[getter]
    fn pending_tool_calls<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.core.pending_tool_calls().iter().map(|id| &**id))
    }

    #[getter]
    fn error<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.core.error().map(|core| error::object(py, &core)).transpose()
    }

    #[getter]
    fn listener_errors(&self) -> u64 {
        self.core.listener_errors()
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.host.traverse(visit)
    }

    fn __clear__(&self) {
        self.core.release_host();
        self.host.clear();
    }
}

/// The options that the binding handles itself; the hint for an unknown option lists them.
fn binding_options() -> Vec<&'static str> {
    let hooks = HookKind::ALL.iter().map(|kind| kind.as_str());
    ["tools", "session", "middleware", "provider", "providers", "plugins"].into_iter().chain(hooks).collect()
}
