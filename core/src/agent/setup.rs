//! What an agent is made of and set to: chained setters for the making, plain ones for changes later on, which take effect at
//! a run's next turn, and options by name for hosts of other languages.

use std::future::Future;
use std::sync::{Arc, MutexGuard};

use serde_json::{Map, Value};

use super::state::{Source, State};
use super::{Agent, busy};
use crate::error::Error;
use crate::hook::{HookKind, Hooks, JsonHook};
use crate::message::Message;
use crate::model::{ModelCall, ProviderFn, ThinkingLevel};
use crate::names::Spelling;
use crate::provider::ModelSpec;
use crate::run::inbox::{QueueMode, SteeringPolicy};
use crate::runtime::Runtime;
use crate::settings;
use crate::tool::{ExecutionMode, Middleware, MiddlewareCall, Tool, ToolSet, Validation};

impl Agent {
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

    /// How much thinking to ask for. `off` by default.
    #[must_use]
    pub fn thinking_level(self, level: ThinkingLevel) -> Agent {
        self.set_thinking_level(level);
        self
    }

    /// How much of the steering queue one poll takes.
    #[must_use]
    pub fn steering_mode(self, mode: QueueMode) -> Agent {
        self.with(|state| state.settings.steering_mode = mode)
    }

    /// How much of the follow-up queue one poll takes.
    #[must_use]
    pub fn follow_up_mode(self, mode: QueueMode) -> Agent {
        self.with(|state| state.settings.follow_up_mode = mode)
    }

    /// What steering does to the calls of a batch that do not run yet.
    #[must_use]
    pub fn steering_policy(self, policy: SteeringPolicy) -> Agent {
        self.with(|state| state.settings.steering_policy = policy)
    }

    /// The longest a tool call may run, in milliseconds; 0, the default, for no limit.
    #[must_use]
    pub fn tool_timeout_ms(self, ms: u64) -> Agent {
        self.with(|state| state.settings.limits.tool_timeout_ms = ms)
    }

    /// The longest a run may take, in milliseconds; 0, the default, for no limit.
    #[must_use]
    pub fn run_timeout_ms(self, ms: u64) -> Agent {
        self.with(|state| state.settings.limits.run_timeout_ms = ms)
    }

    /// How often a failed model call is tried again. 2 by default.
    #[must_use]
    pub fn max_retries(self, most: u32) -> Agent {
        self.with(|state| state.settings.retry.max_retries = most)
    }

    /// Names the conversation to providers that keep caches or route by it.
    #[must_use]
    pub fn session_id(self, id: &str) -> Agent {
        self.with(|state| state.settings.model.session_id = Some(id.to_owned()))
    }

    /// A provider of one's own, which answers for any model's name.
    #[must_use]
    pub fn provider(self, provider: impl Fn(ModelCall) + Send + Sync + 'static) -> Agent {
        self.set_provider(Some(Arc::new(provider)));
        self
    }

    /// A link of the chain around tool execution, inside of those added before.
    #[must_use]
    pub fn middleware<F, Fut, E>(self, link: F) -> Agent
    where
        F: Fn(MiddlewareCall) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Value, E>> + Send + 'static,
        E: std::fmt::Display + Send + 'static,
    {
        self.add_middleware(Arc::new(move |call| {
            let answer = link(call);
            Box::pin(async move { answer.await.map_err(|error| error.to_string()) })
        }));
        self
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
        let removed = {
            let mut state = self.state();
            state.descriptions = None;
            state.tools.remove(name)
        };
        // Dropped only now: what a tool owns may call this agent when it goes.
        removed.is_some()
    }

    /// Replaces all tools.
    pub fn set_tools(&self, tools: ToolSet) {
        let before = {
            let mut state = self.state();
            state.descriptions = None;
            std::mem::replace(&mut state.tools, tools)
        };
        // Not under the lock: what a tool owns may call this agent when it goes.
        drop(before);
    }

    /// Adds a link to the chain around tool execution, inside of those added before.
    pub fn add_middleware(&self, link: Middleware) {
        Arc::make_mut(&mut self.state().middleware).push(link);
    }

    /// Sets or, with `None`, takes out a hook of a host of another language.
    pub fn set_json_hook(&self, kind: HookKind, hook: Option<JsonHook>) {
        self.change_hooks(|hooks| hooks.set_json(kind, hook));
    }

    pub(crate) fn change_hooks(&self, change: impl FnOnce(&mut Hooks)) {
        let before = {
            let mut state = self.state();
            let before = Arc::clone(&state.hooks);
            change(Arc::make_mut(&mut state.hooks));
            before
        };
        // Not under the lock: what a hook owns may call this agent when it goes.
        drop(before);
    }

    /// Sets or, with `None`, takes out a provider of one's own. It answers for any model's name.
    pub fn set_provider(&self, provider: Option<ProviderFn>) {
        let before = {
            let mut state = self.state();
            if matches!(state.model, Source::Spec(_)) {
                state.resolved = None;
            }
            std::mem::replace(&mut state.provider, provider)
        };
        drop(before);
    }

    /// Replaces how much thinking is asked for.
    pub fn set_thinking_level(&self, level: ThinkingLevel) {
        self.state().settings.thinking_level = level;
    }

    /// Appends a message to the transcript.
    ///
    /// # Errors
    /// `busy` during a run.
    pub fn append_message(&self, message: Message) -> Result<(), Error> {
        self.append_messages(vec![message])
    }

    /// Appends messages to the transcript.
    ///
    /// # Errors
    /// `busy` during a run.
    pub fn append_messages(&self, messages: Vec<Message>) -> Result<(), Error> {
        let mut state = self.idle_state("the transcript cannot be changed")?;
        Arc::make_mut(&mut state.messages).extend(messages.into_iter().map(Arc::new));
        Ok(())
    }

    /// Replaces the transcript.
    ///
    /// # Errors
    /// `busy` during a run.
    pub fn replace_messages(&self, messages: Vec<Message>) -> Result<(), Error> {
        let messages = Arc::new(messages.into_iter().map(Arc::new).collect());
        self.idle_state("the transcript cannot be replaced")?.messages = messages;
        Ok(())
    }

    /// Empties the transcript.
    ///
    /// # Errors
    /// `busy` during a run.
    pub fn clear_messages(&self) -> Result<(), Error> {
        self.replace_messages(Vec::new())
    }

    /// Empties the transcript and both queues, and forgets the last error.
    ///
    /// # Errors
    /// `busy` during a run.
    pub fn reset(&self) -> Result<(), Error> {
        let mut state = self.idle_state("it cannot be reset")?;
        let inbox = std::mem::take(&mut state.inbox);
        state.messages = Arc::default();
        state.error = None;
        drop(state);
        drop(inbox);
        Ok(())
    }

    fn idle_state(&self, what: &str) -> Result<MutexGuard<'_, State>, Error> {
        let state = self.state();
        if state.active.is_some() { Err(busy(what)) } else { Ok(state) }
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
        state.forget_address();
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
            state.forget_address();
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
