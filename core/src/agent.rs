//! The agent: model, system prompt, tools, limits and the conversation so far, with at most one active run.

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Map, Value, json};
use tokio::sync::Notify;

use crate::error::{Error, ErrorKind};
use crate::event::{Event, EventData};
use crate::listener::{Listener, Listeners, Subscription};
use crate::message::{Message, Prompt};
use crate::model::{Model, ModelRequest, ToolDescription};
use crate::names::Spelling;
use crate::partial::Partial;
use crate::protocol::prepare;
use crate::provider::{self, ModelSpec};
use crate::result::RunResult;
use crate::run::driver::Driver;
use crate::run::{AbortHandle, Run, RunShared};
use crate::runtime::Runtime;
use crate::scope::Scope;
use crate::settings::{self, Settings};
use crate::tool::{ExecutionMode, Tool, ToolSet, Validation};

/// A model, tools and a conversation. Cheap to clone: clones are the same agent. Every method may be called from any thread.
///
/// ```no_run
/// # async fn example() -> Result<(), agent_loop::Error> {
/// use agent_loop::Agent;
/// let agent = Agent::new("anthropic/claude-sonnet-4-5")?.system_prompt("Be brief.");
/// let result = agent.prompt("Rain in Oslo?").await?;
/// println!("{}", result.text);
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Agent(Arc<Inner>);

struct Inner {
    id: u64,
    state: Mutex<State>,
    listeners: Arc<Listeners>,
    idle: Notify,
}

struct State {
    runtime: Option<Runtime>,
    model: Source,
    base_url: Option<String>,
    api_key: Option<String>,
    /// The model behind `model` and `base_url`, made at the first run after either changed.
    resolved: Option<Arc<dyn Model>>,
    settings: Settings,
    tools: ToolSet,
    /// What models are told of `tools`, made when first needed after they changed.
    descriptions: Option<Arc<Vec<ToolDescription>>>,
    messages: Arc<Vec<Arc<Message>>>,
    active: Option<Arc<RunShared>>,
    streaming_message: Option<Partial>,
    pending_tool_calls: Vec<Arc<str>>,
    error: Option<Error>,
}

#[derive(Clone)]
enum Source {
    Spec(Box<ModelSpec>),
    Own(Arc<dyn Model>),
}

static NEXT_AGENT: AtomicU64 = AtomicU64::new(1);

impl Agent {
    /// An agent for a model named `provider/id`.
    ///
    /// # Errors
    /// `invalid_argument` when the name has no slash.
    pub fn new(model: &str) -> Result<Agent, Error> {
        Ok(Agent::with_source(Source::Spec(Box::new(ModelSpec::parse(model)?))))
    }

    /// An agent for a model given as a spec.
    pub fn with_spec(spec: ModelSpec) -> Agent {
        Agent::with_source(Source::Spec(Box::new(spec)))
    }

    /// An agent for a model of one's own.
    pub fn with_model(model: Arc<dyn Model>) -> Agent {
        Agent::with_source(Source::Own(model))
    }

    fn with_source(model: Source) -> Agent {
        Agent(Arc::new(Inner {
            id: NEXT_AGENT.fetch_add(1, Ordering::Relaxed),
            state: Mutex::new(State {
                runtime: None,
                model,
                base_url: None,
                api_key: None,
                resolved: None,
                settings: Settings::default(),
                tools: ToolSet::default(),
                descriptions: None,
                messages: Arc::default(),
                active: None,
                streaming_message: None,
                pending_tool_calls: Vec::new(),
                error: None,
            }),
            listeners: Arc::default(),
            idle: Notify::new(),
        }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Sections under the lock are short and cannot leave it half changed.
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with(self, change: impl FnOnce(&mut State)) -> Agent {
        change(&mut self.state());
        self
    }

    // ---- chained setters, for the making -------------------------------------------------------------------------------

    /// Where its runs live. Without one they live in the tokio runtime that `prompt` is called from.
    #[must_use]
    pub fn runtime(self, runtime: &Runtime) -> Agent {
        self.with(|state| {
            state.runtime = Some(runtime.clone());
            state.resolved = None;
        })
    }

    /// What the model is told first.
    #[must_use]
    pub fn system_prompt(self, text: &str) -> Agent {
        self.with(|state| text.clone_into(&mut state.settings.system_prompt))
    }

    /// The server's address, with or without `/v1`, instead of the provider's own. A key is then optional.
    #[must_use]
    pub fn base_url(self, url: &str) -> Agent {
        self.set_base_url(Some(url));
        self
    }

    /// The API key, instead of the provider's environment variable.
    #[must_use]
    pub fn api_key(self, key: &str) -> Agent {
        self.with(|state| state.api_key = Some(key.to_owned()))
    }

    /// A header for each request.
    #[must_use]
    pub fn header(self, name: &str, value: &str) -> Agent {
        self.with(|state| {
            state.settings.model.headers.insert(name.to_owned(), value.into());
        })
    }

    /// The sampling temperature; 0 is sent as 0.
    #[must_use]
    pub fn temperature(self, temperature: f64) -> Agent {
        self.with(|state| state.settings.model.temperature = Some(temperature))
    }

    /// The most tokens the model may write per message.
    #[must_use]
    pub fn max_tokens(self, tokens: u64) -> Agent {
        self.with(|state| state.settings.model.max_tokens = Some(tokens))
    }

    /// The most turns of one run; 0 for no limit. 10 by default.
    #[must_use]
    pub fn max_turns(self, turns: u32) -> Agent {
        self.with(|state| state.settings.max_turns = turns)
    }

    /// Whether the calls of a message run side by side (default) or one after the other.
    #[must_use]
    pub fn tool_execution(self, mode: ExecutionMode) -> Agent {
        self.with(|state| state.settings.tool_execution = mode)
    }

    /// The most tools that run at once; 8 by default, at least 1.
    #[must_use]
    pub fn max_parallel_tools(self, most: usize) -> Agent {
        self.with(|state| state.settings.max_parallel_tools = most.max(1))
    }

    /// How tool arguments are checked.
    #[must_use]
    pub fn validation(self, validation: Validation) -> Agent {
        self.with(|state| state.settings.validation = validation)
    }

    /// How long an aborted run waits for tools that do not react, in milliseconds. 1,000 by default.
    #[must_use]
    pub fn abort_grace_ms(self, ms: u64) -> Agent {
        self.with(|state| state.settings.abort_grace_ms = ms)
    }

    /// Whether each frame is told as the provider sent it (`raw` events).
    #[must_use]
    pub fn raw_events(self, on: bool) -> Agent {
        self.with(|state| state.settings.raw_events = on)
    }

    /// A tool.
    ///
    /// # Errors
    /// As [`Agent::add_tool`].
    pub fn tool(self, tool: impl Tool) -> Result<Agent, Error> {
        self.add_tool(Arc::new(tool))?;
        Ok(self)
    }

    /// The conversation so far, to go on from.
    #[must_use]
    pub fn messages_so_far(self, messages: Vec<Message>) -> Agent {
        self.with(|state| state.messages = Arc::new(messages.into_iter().map(Arc::new).collect()))
    }

    // ---- changes later on; during a run they take effect at its next turn ----------------------------------------------

    /// Adds a tool.
    ///
    /// # Errors
    /// `invalid_argument` when there is one of that name.
    pub fn add_tool(&self, tool: Arc<dyn Tool>) -> Result<(), Error> {
        let mut state = self.state();
        state.descriptions = None;
        state.tools.add(tool)
    }

    /// Takes a tool out; says whether there was one.
    pub fn remove_tool(&self, name: &str) -> bool {
        let mut state = self.state();
        state.descriptions = None;
        state.tools.remove(name)
    }

    /// Replaces all tools.
    pub fn set_tools(&self, tools: ToolSet) {
        let mut state = self.state();
        state.descriptions = None;
        state.tools = tools;
    }

    /// Replaces the system prompt.
    pub fn set_system_prompt(&self, text: &str) {
        text.clone_into(&mut self.state().settings.system_prompt);
    }

    /// Replaces the model.
    pub fn set_model(&self, spec: ModelSpec) {
        let mut state = self.state();
        state.model = Source::Spec(Box::new(spec));
        state.resolved = None;
    }

    /// Replaces the address; `None` for the provider's own.
    pub fn set_base_url(&self, url: Option<&str>) {
        let mut state = self.state();
        state.base_url = url.map(str::to_owned);
        state.resolved = None;
    }

    /// Replaces the key; `None` for the provider's environment variable.
    pub fn set_api_key(&self, key: Option<&str>) {
        self.state().api_key = key.map(str::to_owned);
    }

    /// Sets options by name, as hosts of other languages have them: all of them, or on an error none. `own` are names that
    /// the host handles itself; they appear in the hint for a name that is not known.
    ///
    /// # Errors
    /// `invalid_argument`: an unknown name (with the nearest right one) or a wrong value; `busy` for `messages` during a run.
    pub fn set_options(&self, options: &Map<String, Value>, spelling: Spelling, own: &[&'static str]) -> Result<(), Error> {
        let named = settings::named(options, spelling, own)?;
        let mut state = self.state();
        let mut new = state.settings.clone();
        let (mut model, mut base_url, mut api_key, mut messages) = (None, None, None, None);
        for (name, spelled, value) in named {
            let text = || settings::read(value, spelled, "text", None::<String>);
            match name {
                "model" => model = Some(ModelSpec::from_json_spelled(value.clone(), spelling)?),
                "base_url" => base_url = Some(text()?),
                // Not through the error of `read`: that would show the key.
                "api_key" if !value.is_string() && !value.is_null() => {
                    return Err(Error::invalid_argument(format!("option {spelled:?}: expected text")));
                }
                "api_key" => api_key = Some(value.as_str().map(str::to_owned)),
                "messages" => messages = Some(read_messages(value, spelled)?),
                _ => {
                    new.set(name, value, spelled)?;
                }
            }
        }
        if messages.is_some() && state.active.is_some() {
            return Err(busy("the transcript cannot be replaced"));
        }
        if let Some(spec) = model {
            state.model = Source::Spec(Box::new(spec));
            state.resolved = None;
        }
        if let Some(url) = base_url {
            state.base_url = url;
            state.resolved = None;
        }
        if let Some(key) = api_key {
            state.api_key = key;
        }
        if let Some(messages) = messages {
            state.messages = Arc::new(messages);
        }
        state.settings = new;
        Ok(())
    }

    /// Finds out now whether the model can be used: provider, protocol, address, script. Runs do this by themselves.
    ///
    /// # Errors
    /// `invalid_argument`: says what is wrong.
    pub fn check(&self) -> Result<(), Error> {
        let mut state = self.state();
        let client = state.runtime.as_ref().map(|runtime| Arc::clone(runtime.client())).unwrap_or_default();
        let resolved = state.resolve(&client)?;
        if state.runtime.is_some() {
            state.resolved = Some(resolved);
        }
        Ok(())
    }

    // ---- runs ----------------------------------------------------------------------------------------------------------

    /// Runs until the model is done and gives the result. Dropping the future aborts the run.
    ///
    /// # Errors
    /// `busy` while a run is active; `invalid_argument` for an unusable model; `invalid_state` inside a callback of this agent,
    /// without a runtime or after its shutdown; the run's own error (with the result inside) when its outcome is `error`.
    pub async fn prompt(&self, prompt: impl Into<Prompt>) -> Result<RunResult, Error> {
        self.start(prompt.into(), false)?.result().await
    }

    /// Starts a run and gives its events as they come.
    ///
    /// # Errors
    /// As [`Agent::prompt`], but for the run's own.
    pub fn stream(&self, prompt: impl Into<Prompt>) -> Result<Run, Error> {
        self.start(prompt.into(), true)
    }

    /// Starts a run without a queue of events, for listeners alone.
    ///
    /// # Errors
    /// As [`Agent::stream`].
    pub fn start_quiet(&self, prompt: impl Into<Prompt>) -> Result<Run, Error> {
        self.start(prompt.into(), false)
    }

    fn start(&self, prompt: Prompt, with_queue: bool) -> Result<Run, Error> {
        self.check_outside("starting a run")?;
        if prompt.0.is_empty() {
            return Err(Error::invalid_argument("prompt: the list is empty; give at least one message"));
        }
        let mut state = self.state();
        if state.active.is_some() {
            return Err(busy("another cannot be started"));
        }
        let runtime = match &state.runtime {
            Some(runtime) => runtime.clone(),
            None => state.runtime.insert(Runtime::current()?).clone(),
        };
        runtime.check()?;
        let model = state.resolve(runtime.client())?;
        let clock = model.clock();
        state.resolved = Some(model);
        let run = Arc::new(RunShared::new(run_id(), with_queue, runtime.token()));
        state.active = Some(Arc::clone(&run));
        state.error = None;
        let max_turns = state.settings.max_turns;
        drop(state);
        let prompts = prompt.into_messages(clock.now_ms());
        let driver = Driver::new(self.clone(), Arc::clone(&run), clock);
        runtime.spawn_run(driver.drive(prompts, max_turns));
        Ok(Run::new(run, self.clone()))
    }

    /// Aborts the active run, if there is one. From any thread and any callback; returns at once.
    pub fn abort(&self) {
        // Not under the lock: what an abort wakes may want it.
        let active = self.state().active.clone();
        if let Some(run) = active {
            run.abort();
        }
    }

    /// A handle that aborts the active run, if there is one now.
    pub fn abort_handle(&self) -> Option<AbortHandle> {
        self.state().active.clone().map(AbortHandle::new)
    }

    /// Waits until no run is active and all listeners have returned.
    ///
    /// # Errors
    /// `invalid_state` inside a callback of this agent, where it would wait for itself.
    pub async fn wait_for_idle(&self) -> Result<(), Error> {
        self.check_outside("wait_for_idle")?;
        loop {
            let idle = self.0.idle.notified();
            let mut idle = std::pin::pin!(idle);
            idle.as_mut().enable();
            if self.state().active.is_none() {
                return Ok(());
            }
            idle.await;
        }
    }

    // ---- listeners -----------------------------------------------------------------------------------------------------

    /// Calls a function with each event of this agent's runs, which wait for it. It should not block. Dropping what this gives
    /// unsubscribes.
    pub fn subscribe(&self, listener: impl Fn(&Event) + Send + Sync + 'static) -> Subscription {
        let function = Arc::new(move |event: &Event| {
            listener(event);
            Ok(())
        });
        self.add_listener(Listener::Function { function, blocking: false })
    }

    /// Adds a listener of any form.
    pub fn add_listener(&self, listener: Listener) -> Subscription {
        self.0.listeners.add(listener)
    }

    /// Removes a listener whose subscription was detached; says whether there was one.
    pub fn unsubscribe(&self, id: u64) -> bool {
        self.0.listeners.remove(id)
    }

    // ---- state, readable from any thread without waiting for the run ----------------------------------------------------

    /// What the model is told first.
    pub fn current_system_prompt(&self) -> String {
        self.state().settings.system_prompt.clone()
    }

    /// `provider/id` of the model.
    pub fn model_name(&self) -> String {
        self.state().model_name()
    }

    /// The conversation: exactly what `message_end` events have shown. Shared, not copied.
    pub fn messages(&self) -> Arc<Vec<Arc<Message>>> {
        Arc::clone(&self.state().messages)
    }

    /// The tools.
    pub fn tools(&self) -> ToolSet {
        self.state().tools.clone()
    }

    /// Whether a run is active: from its acceptance until the agent is idle.
    pub fn is_streaming(&self) -> bool {
        self.state().active.is_some()
    }

    /// The assistant's message that is being streamed, as it stands.
    pub fn streaming_message(&self) -> Option<Message> {
        let partial = self.state().streaming_message.clone()?;
        Some(Message::Assistant(partial.latest().message()))
    }

    /// The ids of the calls between their execution's start and end.
    pub fn pending_tool_calls(&self) -> Vec<Arc<str>> {
        self.state().pending_tool_calls.clone()
    }

    /// The error of the last run, if its outcome was `error` or `aborted`.
    pub fn error(&self) -> Option<Error> {
        self.state().error.clone()
    }

    /// How many times a listener failed.
    pub fn listener_errors(&self) -> u64 {
        self.0.listeners.errors()
    }

    /// The state in canonical JSON: `{system_prompt, model, thinking_level, tools, messages, is_streaming, streaming_message,
    /// pending_tool_calls, error, listener_errors}`; `tools` are names.
    pub fn state_json(&self) -> Value {
        let streaming_message = self.streaming_message();
        let state = self.state();
        json!({
            "system_prompt": state.settings.system_prompt,
            "model": state.model_name(),
            "thinking_level": "off",
            "tools": state.tools.iter().map(|tool| tool.spec().name.as_str()).collect::<Vec<_>>(),
            "messages": &*state.messages,
            "is_streaming": state.active.is_some(),
            "streaming_message": streaming_message,
            "pending_tool_calls": state.pending_tool_calls.iter().map(|id| &**id).collect::<Vec<_>>(),
            "error": state.error,
            "listener_errors": self.0.listeners.errors(),
        })
    }

    // ---- for the run ---------------------------------------------------------------------------------------------------

    pub(crate) fn listeners(&self) -> &Arc<Listeners> {
        &self.0.listeners
    }

    /// Marks code as inside a callback of this agent, where starting or awaiting a run of it is refused.
    pub fn scope(&self) -> Scope {
        Scope(self.0.id)
    }

    /// For hosts that block a thread until a run has got further.
    ///
    /// # Errors
    /// `invalid_state` inside a callback of this agent, where that would wait for itself. `what` begins the message.
    pub fn check_outside(&self, what: &str) -> Result<(), Error> {
        if self.scope().is_inside() {
            return Err(Error::new(
                ErrorKind::InvalidState,
                format!("{what} inside a listener, hook or tool of the same agent would wait for itself; do it after the run"),
            ));
        }
        Ok(())
    }

    pub(crate) fn tools_and_settings(&self) -> (ToolSet, Settings) {
        let state = self.state();
        (state.tools.clone(), state.settings.clone())
    }

    /// What the next turn asks, and whom.
    pub(crate) fn next_request(&self) -> Result<(Arc<dyn Model>, ModelRequest), Error> {
        let mut state = self.state();
        let model = match &state.resolved {
            Some(model) => Arc::clone(model),
            None => {
                let client = state.runtime.as_ref().map(|runtime| Arc::clone(runtime.client())).unwrap_or_default();
                let model = state.resolve(&client)?;
                Arc::clone(state.resolved.insert(model))
            }
        };
        if state.descriptions.is_none() {
            let describe = |tool: &Arc<dyn Tool>| {
                let spec = tool.spec();
                ToolDescription {
                    name: spec.name.clone(),
                    description: spec.description.clone(),
                    parameters: spec.parameters.clone(),
                }
            };
            state.descriptions = Some(Arc::new(state.tools.iter().map(describe).collect()));
        }
        let request = ModelRequest {
            model: state.model_name(),
            system_prompt: state.settings.system_prompt.clone(),
            messages: prepare(&state.messages, state.settings.max_result_bytes),
            tools: state.descriptions.clone().unwrap_or_default(),
            options: state.settings.model.clone(),
            api_key: state.api_key.clone(),
            raw_events: state.settings.raw_events,
        };
        Ok((model, request))
    }

    /// Takes an event into the state, before anybody else hears of it.
    pub(crate) fn note(&self, event: &Event) {
        match &event.data {
            EventData::MessageStart { message } if message.as_assistant().is_some() => {
                self.state().streaming_message.clone_from(&event.partial);
            }
            EventData::MessageEnd { message } => {
                let mut state = self.state();
                if message.as_assistant().is_some() {
                    state.streaming_message = None;
                }
                Arc::make_mut(&mut state.messages).push(Arc::clone(message));
            }
            EventData::ToolExecutionStart { tool_call_id, .. } => {
                self.state().pending_tool_calls.push(Arc::clone(tool_call_id));
            }
            EventData::ToolExecutionEnd { tool_call_id, .. } => {
                self.state().pending_tool_calls.retain(|id| id != tool_call_id);
            }
            EventData::AgentEnd { error, .. } => self.state().error.clone_from(error),
            EventData::AgentStart
            | EventData::TurnStart
            | EventData::MessageStart { .. }
            | EventData::MessageUpdate(_)
            | EventData::ToolExecutionUpdate { .. }
            | EventData::TurnEnd { .. }
            | EventData::Retry { .. }
            | EventData::Diagnostic { .. }
            | EventData::Raw { .. } => {}
        }
    }

    /// The last listener has returned: the agent is idle, then whoever waits for the run learns of its end.
    pub(crate) fn run_ended(&self, run: &Arc<RunShared>, result: RunResult, last: &mut Vec<Event>) {
        let mut state = self.state();
        state.active = None;
        state.streaming_message = None;
        state.pending_tool_calls.clear();
        drop(state);
        run.finish(result, last);
        self.0.idle.notify_waiters();
    }
}

impl State {
    fn model_name(&self) -> String {
        match &self.model {
            Source::Spec(spec) => spec.name(),
            Source::Own(model) => format!("{}/{}", model.info().provider, model.info().id),
        }
    }

    fn resolve(&self, client: &Arc<crate::transport::client::Client>) -> Result<Arc<dyn Model>, Error> {
        match (&self.resolved, &self.model) {
            (Some(model), _) | (None, Source::Own(model)) => Ok(Arc::clone(model)),
            (None, Source::Spec(spec)) => provider::resolve(spec, self.base_url.as_deref(), client),
        }
    }
}

impl std::fmt::Debug for Agent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let state = self.state();
        f.debug_struct("Agent")
            .field("model", &state.model_name())
            .field("tools", &state.tools)
            .field("messages", &state.messages.len())
            .field("is_streaming", &state.active.is_some())
            .finish_non_exhaustive()
    }
}

fn busy(what: &str) -> Error {
    Error::new(
        ErrorKind::Busy,
        format!(
            "a run is active on this agent, and {what}: use steer or follow_up to reach it, or wait_for_idle to wait for its end"
        ),
    )
}

fn read_messages(value: &Value, spelled: &str) -> Result<Vec<Arc<Message>>, Error> {
    if value.is_null() {
        return Ok(Vec::new());
    }
    let list = value.as_array().ok_or_else(|| settings::wrong(value, spelled, "a list of messages"))?;
    let read = |(i, message): (usize, &Value)| {
        serde_json::from_value(message.clone())
            .map(Arc::new)
            .map_err(|e| Error::invalid_argument(format!("option {spelled:?}: [{i}]: {e}")))
    };
    list.iter().enumerate().map(read).collect()
}

/// A name for a run that no other run has.
fn run_id() -> Arc<str> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    // The standard library seeds its hashers at random: enough for a name, and no dependency.
    let random = RandomState::new().hash_one((std::process::id(), number));
    format!("run_{random:016x}").into()
}
