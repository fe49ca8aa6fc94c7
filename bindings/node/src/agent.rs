//! The agent: options in, runs out, state by name.

use std::collections::HashMap;
use std::future::ready;
use std::sync::Arc;

use agent_loop::handoff::Handoff;
use agent_loop::hook::HookKind;
use agent_loop::host::Spelling;
use agent_loop::mcp::McpServing;
use agent_loop::subagent::SubagentEvents;
use agent_loop::suspension::Decision;
use agent_loop::{Context, Delivery, ModelSpec, PendingRun, Prompt, Replay};
use napi::bindgen_prelude::{Buffer, ClassInstance};
use napi_derive::napi;
use serde_json::{Map, Value, json};

use crate::bridge::{Bridge, Callback, Link};
use crate::call::Call;
use crate::error::{Result, invalid_argument, thrown};
use crate::run::{AbortHandle, Run, check_outside, settle_with_answer, settle_with_outcome};
use crate::session::{NOTHING, OpenSession};
use crate::store::settle;
use crate::tool::{self, Tool};
use crate::{camel_case, hook, log, message, pieces, runtime, traces};

/// An agent.
#[napi]
pub struct Agent {
    pub(crate) agent: agent_loop::Agent,
    link: Arc<Link>,
    number: u32,
    /// The core's subscription ids by listener. Dropping this agent ends no subscription: a run may still use the core's agent.
    subscriptions: HashMap<u32, u64>,
}

/// A run about to start with options of its own, a JSON object.
fn with_options(pending: PendingRun, options: Option<String>) -> Result<PendingRun> {
    let Some(options) = options else { return Ok(pending) };
    let options = message::object("options", &options)?;
    Ok(pending.options(&options, Spelling::Camel, &["signal", "deps", "within"]))
}

/// A run that is a subagent's, if it is to work for a tool call.
fn within(pending: PendingRun, call: Option<&Call>, events: SubagentEvents) -> PendingRun {
    match call.and_then(Call::tool_context) {
        Some(context) => pending.within_showing(context, events),
        None => pending,
    }
}

#[napi]
impl Agent {
    /// Creates an agent from options in JSON, and checks that its model can be used. `number` identifies the agent in jobs;
    /// `providers` are the numbers of its custom providers' callbacks by name, the one of no name under "". Tools, hooks and
    /// middleware are set afterwards. With `stateless`, errors also know the options of a stateless run.
    #[napi(constructor, catch_unwind)]
    pub fn new(
        bridge: &Bridge,
        number: u32,
        options: String,
        providers: HashMap<String, u32>,
        plugins: Vec<String>,
        stateless: bool,
    ) -> Result<Agent> {
        let options = message::object("options", &options)?;
        // Until the options are read: errors in them are reported first.
        let placeholder = json!({ "provider": "scripted", "id": "none", "script": [] });
        let placeholder = ModelSpec::from_json(placeholder).map_err(|e| thrown(&e))?;
        let runtime = runtime::runtime().map_err(|e| thrown(&e))?;
        let agent = agent_loop::Agent::builder(placeholder).runtime(&runtime).build().map_err(|e| thrown(&e))?;
        let agent = Agent { agent, link: Arc::clone(&bridge.link), number, subscriptions: HashMap::new() };
        // Callbacks first: what is not used is then reported as gone.
        let providers: Vec<_> = providers.into_iter().map(|(name, number)| (name, agent.callback(number))).collect();
        for (name, callback) in providers {
            let name = Some(&*name).filter(|name| !name.is_empty());
            agent.agent.set_host_provider(name, Some(callback.function())).map_err(|e| thrown(&e))?;
        }
        plugins.into_iter().try_for_each(|path| agent.add_plugin(path))?;
        agent.set(&options, if stateless { &["signal", "raise_errors"] } else { &[] })?;
        if options.get("model").is_none_or(Value::is_null) {
            return Err(invalid_argument(
                "option \"model\" is missing; give \"provider/id\", for example \"anthropic/claude-sonnet-4-5\", or an object",
            ));
        }
        agent.agent.check().map_err(|e| thrown(&e))?;
        Ok(agent)
    }

    /// `more` are the names of options that JavaScript handles, besides those of all agents.
    fn set(&self, options: &Map<String, Value>, more: &[&'static str]) -> Result<()> {
        let hooks = HookKind::ALL.iter().map(|kind| kind.as_str());
        let own = ["tools", "session", "middleware", "provider", "providers", "plugins"].into_iter().chain(more.iter().copied());
        let elsewhere: Vec<&str> = own.chain(hooks).collect();
        self.agent.set_options(options, Spelling::Camel, &elsewhere).map_err(|e| thrown(&e))
    }

    /// Reads the prompt of a run, and checks that a run may start here.
    fn start_with(&self, prompt: Option<String>, inside: bool) -> Result<Option<Prompt>> {
        let prompt = prompt.map(|text| message::prompt("prompt", &text)).transpose().map_err(|e| thrown(&e))?;
        check_outside(&self.agent, inside, "starting a run")?;
        Ok(prompt)
    }

    fn pending_run(
        &self,
        prompt: Option<Prompt>,
        if_queued: bool,
        decisions: Option<String>,
        aborted: bool,
        ticket: u32,
    ) -> Result<PendingRun> {
        let pending = match prompt {
            Some(prompt) => self.agent.prompt(prompt),
            None => match self.agent.resume_if_queued().filter(|_| if_queued) {
                Some(pending) => pending,
                None => self.agent.resume().decisions(read_decisions(decisions)?),
            },
        };
        Ok(self.started(pending, aborted, ticket))
    }

    /// A run about to start: its log records go to this environment, and its spans, if it has any.
    fn started(&self, pending: PendingRun, aborted: bool, ticket: u32) -> PendingRun {
        let pending = match self.link.log_level() {
            Some(level) => pending.log_to(level, log::of_run(&self.link, self.number)),
            None => pending,
        };
        let pending = match self.agent.traces().is_on() {
            true => pending.trace_to(traces::of_run(&self.link, ticket)),
            false => pending,
        };
        if aborted { pending.abort_on(ready(())) } else { pending }
    }

    fn callback(&self, number: u32) -> Callback {
        Callback::new(&self.link, self.number, number)
    }

    /// Sets options given in JSON. On an error nothing changes.
    #[napi(catch_unwind)]
    pub fn set_options(&self, options: String) -> Result<()> {
        self.set(&message::object("options", &options)?, &[])
    }

    /// Replaces the tools. `execute`, `prepare` and `approve` are the numbers of their callbacks. A `Gone` job reports each when
    /// it is no
    /// longer needed, also on an error.
    #[napi(catch_unwind)]
    pub fn set_tools(
        &self,
        tools: Vec<ClassInstance<'_, Tool>>,
        execute: Vec<u32>,
        prepare: Vec<Option<u32>>,
        approve: Vec<Option<u32>>,
    ) -> Result<()> {
        let tools: Vec<&Tool> = tools.iter().map(|tool| &**tool).collect();
        let set = tool::of_agent(&tools, &execute, [&prepare, &approve], self.number, &self.link).map_err(|e| thrown(&e))?;
        self.agent.set_tools(set);
        Ok(())
    }

    /// Sets the provider of this name, or without a name that of any model, to the callback with this number, or removes it.
    #[napi(catch_unwind)]
    pub fn set_provider(&self, name: Option<String>, number: Option<u32>) -> Result<()> {
        let function = number.map(|number| self.callback(number).function());
        self.agent.set_host_provider(name.as_deref(), function).map_err(|e| thrown(&e))
    }

    /// Sets the hook with this canonical name to the callback with this number, or removes it.
    #[napi(catch_unwind)]
    pub fn set_hook(&self, name: String, number: Option<u32>) -> Result<()> {
        let function = number.map(|number| self.callback(number).function());
        self.agent.set_host_hook(hook::kind(&name)?, function);
        Ok(())
    }

    /// Adds what the plugin at this path has.
    #[napi(catch_unwind)]
    pub fn add_plugin(&self, path: String) -> Result<()> {
        agent_loop_plugins::add(&self.agent, path.as_ref()).map_err(|e| thrown(&e))
    }

    /// Adds the callback with this number as the innermost middleware.
    #[napi(catch_unwind)]
    pub fn add_middleware(&self, number: u32) {
        self.agent.add_host_middleware(self.callback(number).function());
    }

    /// Whether a run that resumes `if_queued` has something to do, or is refused.
    #[napi(catch_unwind)]
    pub fn may_resume_queued(&self) -> bool {
        self.agent.resume_if_queued().is_some()
    }

    /// Starts a run without events; without a prompt it resumes, with `if_queued` for the messages that wait. Its result settles
    /// the ticket. `aborted`: the run starts aborted.
    #[napi(catch_unwind)]
    #[allow(clippy::too_many_arguments)] // JavaScript gives them one by one.
    pub fn prompt(
        &self,
        prompt: Option<String>,
        if_queued: bool,
        ticket: u32,
        inside: bool,
        aborted: bool,
        decisions: Option<String>,
        options: Option<String>,
        call: Option<ClassInstance<'_, Call>>,
    ) -> Result<()> {
        let prompt = self.start_with(prompt, inside)?;
        let pending = with_options(self.pending_run(prompt, if_queued, decisions, aborted, ticket)?, options)?;
        let run = within(pending, call.as_deref(), SubagentEvents::All).start();
        settle_with_outcome(Arc::new(run.map_err(|e| thrown(&e))?), Arc::clone(&self.link), ticket)
    }

    /// Another agent of the same configuration, with these messages, a JSON array; the callbacks are given to it afterwards.
    #[napi(catch_unwind)]
    pub fn fork(&self, number: u32, messages: String) -> Result<Agent> {
        let messages = message::list("messages", &messages).map_err(|e| thrown(&e))?;
        let agent = self.agent.fork_for_host(Arc::new(messages)).map_err(|e| thrown(&e))?;
        Ok(Agent { agent, link: Arc::clone(&self.link), number, subscriptions: HashMap::new() })
    }

    /// Starts a run without events that answers a tool's call, as whose subagent it runs if there is one. The call's result
    /// settles the ticket.
    #[napi(catch_unwind)]
    pub fn answer_call(
        &self,
        prompt: String,
        ticket: u32,
        inside: bool,
        events: String,
        call: Option<ClassInstance<'_, Call>>,
    ) -> Result<()> {
        let events = events.parse::<SubagentEvents>().map_err(|e| thrown(&e))?;
        let prompt = self.start_with(Some(prompt), inside)?;
        let run = within(self.pending_run(prompt, false, None, false, ticket)?, call.as_deref(), events).start();
        settle_with_answer(Arc::new(run.map_err(|e| thrown(&e))?), Arc::clone(&self.link), ticket)
    }

    /// Goes on with the run of this call. Returns the result of the call.
    #[napi(catch_unwind)]
    pub fn take_over(&self, call: &Call) -> Result<&'static str> {
        let Some(context) = call.tool_context() else {
            return Err(invalid_argument("a conversation is handed over in the call of a tool"));
        };
        self.agent.take_over(context).map(|()| Handoff::taken()).map_err(|e| thrown(&e))
    }

    /// Before and after a call waits for its turn to go on with this agent's conversation.
    #[napi(catch_unwind)]
    pub fn check_turn_of(&self, call: &Call) -> Result<()> {
        call.tool_context().map_or(Ok(()), |context| self.agent.check_turn_of(context)).map_err(|e| thrown(&e))
    }

    /// Starts a run as `prompt` does, with events. The ticket is settled each time the run becomes readable.
    #[napi(catch_unwind)]
    #[allow(clippy::too_many_arguments)] // JavaScript gives them one by one.
    pub fn stream(
        &self,
        prompt: Option<String>,
        if_queued: bool,
        ticket: u32,
        inside: bool,
        aborted: bool,
        decisions: Option<String>,
        options: Option<String>,
        call: Option<ClassInstance<'_, Call>>,
    ) -> Result<Run> {
        let prompt = self.start_with(prompt, inside)?;
        let pending = with_options(self.pending_run(prompt, if_queued, decisions, aborted, ticket)?, options)?;
        let run = within(pending, call.as_deref(), SubagentEvents::All).stream();
        Ok(Run::new(run.map_err(|e| thrown(&e))?, Arc::clone(&self.link), ticket))
    }

    /// Starts a stateless run with this agent's tools and options; the agent's conversation does not change. `messages` is a JSON
    /// array. Without a prompt the run continues the context.
    #[napi(catch_unwind)]
    pub fn run_loop(
        &self,
        system_prompt: String,
        messages: String,
        prompt: Option<String>,
        ticket: u32,
        aborted: bool,
        decisions: Option<String>,
    ) -> Result<Run> {
        let prompt = self.start_with(prompt, false)?;
        let messages = message::list("context: messages", &messages).map_err(|e| thrown(&e))?;
        let context = Context::new(messages).system_prompt(system_prompt).tools(self.agent.tools());
        let pending = match prompt {
            Some(prompt) => agent_loop::run(&context, prompt, &self.agent),
            None => agent_loop::resume(&context, &self.agent).decisions(read_decisions(decisions)?),
        };
        let run = self.started(pending, aborted, ticket).stream();
        Ok(Run::new(run.map_err(|e| thrown(&e))?, Arc::clone(&self.link), ticket))
    }

    /// Starts one model call over these messages, with this agent's system prompt, tools and options.
    #[napi(catch_unwind)]
    pub fn run_call(&self, messages: String, ticket: u32, aborted: bool) -> Result<Run> {
        let messages = message::prompt("messages", &messages).map_err(|e| thrown(&e))?;
        let pending = agent_loop::complete(&self.agent, messages).pending();
        let run = pending.and_then(|pending| self.started(pending, aborted, ticket).stream());
        Ok(Run::new(run.map_err(|e| thrown(&e))?, Arc::clone(&self.link), ticket))
    }

    /// Starts a recorded run, which needs nothing of this agent.
    #[napi(catch_unwind)]
    pub fn run_replay(&self, recording: String, number: u32, ticket: u32, aborted: bool) -> Result<Run> {
        let runtime = runtime::runtime().map_err(|e| thrown(&e))?;
        let pending = agent_loop::replay_in(&runtime, Replay::of(recording).run(number as usize));
        let run = self.started(pending, aborted, ticket).stream();
        Ok(Run::new(run.map_err(|e| thrown(&e))?, Arc::clone(&self.link), ticket))
    }

    /// Queues steering messages.
    #[napi(catch_unwind)]
    pub fn steer(&self, message: String) -> Result<&'static str> {
        let message = message::prompt("message", &message).map_err(|e| thrown(&e))?;
        self.agent.steer(message).map(Delivery::as_str).map_err(|e| thrown(&e))
    }

    /// Queues follow-up messages.
    #[napi(catch_unwind)]
    pub fn follow_up(&self, message: String) -> Result<&'static str> {
        let message = message::prompt("message", &message).map_err(|e| thrown(&e))?;
        self.agent.follow_up(message).map(Delivery::as_str).map_err(|e| thrown(&e))
    }

    /// Empties the steering queue.
    #[napi(catch_unwind)]
    pub fn clear_steering_queue(&self) {
        self.agent.clear_steering_queue();
    }

    /// Empties the follow-up queue.
    #[napi(catch_unwind)]
    pub fn clear_follow_up_queue(&self) {
        self.agent.clear_follow_up_queue();
    }

    /// Empties both queues.
    #[napi(catch_unwind)]
    pub fn clear_all_queues(&self) {
        self.agent.clear_all_queues();
    }

    /// Whether a message is in either queue.
    #[napi(catch_unwind)]
    pub fn has_queued_messages(&self) -> bool {
        self.agent.has_queued_messages()
    }

    /// Appends messages, a JSON array, to the transcript.
    #[napi(catch_unwind)]
    pub fn append_messages(&self, messages: String) -> Result<()> {
        let messages = message::list("messages", &messages).map_err(|e| thrown(&e))?;
        self.agent.append_messages(messages).map_err(|e| thrown(&e))
    }

    /// Takes back the newest writes of built-in tools; what was done, as JSON.
    #[napi(catch_unwind)]
    pub fn undo_writes(&self, count: i64) -> Result<String> {
        let wrong = |_| agent_loop::Error::invalid_argument(format!("count: expected a whole number from 0 on, got {count}"));
        let count = usize::try_from(count).map_err(wrong);
        let undone = count.and_then(|count| self.agent.undo_writes(count)).map_err(|e| thrown(&e))?;
        Ok(camel_case::to_json(&undone))
    }

    /// Replaces the transcript by messages, a JSON array.
    #[napi(catch_unwind)]
    pub fn replace_messages(&self, messages: String) -> Result<()> {
        let messages = message::list("messages", &messages).map_err(|e| thrown(&e))?;
        self.agent.replace_messages(messages).map_err(|e| thrown(&e))
    }

    /// Clears the transcript, both queues and the last error.
    #[napi(catch_unwind)]
    pub fn reset(&self) -> Result<()> {
        self.agent.reset().map_err(|e| thrown(&e))
    }

    /// Forgets what was decided for always, about a rule or all of it.
    #[napi(catch_unwind)]
    pub fn forget(&self, rule: Option<String>) -> Result<()> {
        self.agent.forget(rule.as_deref()).map_err(|e| thrown(&e))
    }

    /// The conversation as one JSON text, signed with a key if there is one.
    #[napi(catch_unwind)]
    pub fn export_text(&self, key: Option<Buffer>) -> Result<String> {
        self.agent.export(key.as_deref()).map_err(|e| thrown(&e))
    }

    /// Replaces the conversation by an exported one.
    #[napi(catch_unwind)]
    pub fn begin_with_export(&self, text: String, key: Option<Buffer>) -> Result<()> {
        self.agent.begin_with_export(&text, key.as_deref()).map_err(|e| thrown(&e))
    }

    /// Goes on with the conversation of a session.
    #[napi(catch_unwind)]
    pub fn set_session(&self, session: &OpenSession) -> Result<()> {
        self.agent.set_session(agent_loop::session::OpenSession::clone(&session.session)).map_err(|e| thrown(&e))
    }

    /// The run that the process before has left, as JSON.
    #[napi(getter, catch_unwind)]
    pub fn interrupted(&self) -> Option<String> {
        self.agent.interrupted().as_ref().map(camel_case::to_json)
    }

    /// Settles the ticket when the session has all changes.
    #[napi(catch_unwind)]
    pub fn flush(&self, ticket: u32, inside: bool) -> Result<()> {
        check_outside(&self.agent, inside, "flush")?;
        let agent = self.agent.clone();
        settle(&self.link, ticket, async move { agent.flush().await.map(|()| NOTHING.to_owned()) })
    }

    /// The abort handle of the active run, if there is one.
    #[napi(catch_unwind)]
    pub fn abort_handle(&self) -> Option<AbortHandle> {
        self.agent.abort_handle().map(AbortHandle::new)
    }

    /// Ends the active run after its current turn.
    #[napi(catch_unwind)]
    pub fn stop_after_turn(&self) {
        self.agent.stop_after_turn();
    }

    /// Aborts the active run, if there is one.
    #[napi(catch_unwind)]
    pub fn abort(&self) {
        self.agent.abort();
    }

    /// Connects to the MCP servers, then settles the ticket.
    #[napi(catch_unwind)]
    pub fn connect_mcp(&self, ticket: u32) -> Result<()> {
        let agent = self.agent.clone();
        settle(&self.link, ticket, async move { agent.connect_mcp().await.map(|()| NOTHING.to_owned()) })
    }

    /// Connects to the MCP servers, then settles the ticket with their tools.
    #[napi(catch_unwind)]
    pub fn mcp_tools(&self, ticket: u32) -> Result<()> {
        let agent = self.agent.clone();
        settle(&self.link, ticket, async move { agent.mcp_tools().await.map(|tools| camel_case::to_json(&tools)) })
    }

    /// Serves the agent over standard input and output, with options as JSON, then settles the ticket.
    #[napi(catch_unwind)]
    pub fn serve_mcp(&self, options: String, ticket: u32) -> Result<()> {
        let options = message::read("options", &options).map_err(|e| thrown(&e))?;
        let options = options.as_object().cloned().unwrap_or_default();
        let serving = McpServing::from_json(options, Spelling::Camel).map_err(|e| thrown(&e))?;
        let agent = self.agent.clone();
        settle(&self.link, ticket, async move { agent.serve_mcp(serving).await.map(|()| NOTHING.to_owned()) })
    }

    /// Closes the connections to the MCP servers, then settles the ticket.
    #[napi(catch_unwind)]
    pub fn close_mcp(&self, ticket: u32) -> Result<()> {
        let agent = self.agent.clone();
        settle(&self.link, ticket, async move { agent.close_mcp().await.map(|()| NOTHING.to_owned()) })
    }

    /// Settles the ticket when no run is active and all listeners have returned.
    #[napi(catch_unwind)]
    pub fn wait_for_idle(&self, ticket: u32, inside: bool) -> Result<()> {
        check_outside(&self.agent, inside, "waitForIdle")?;
        let (agent, link) = (self.agent.clone(), Arc::clone(&self.link));
        let wait = async move {
            tokio::select! {
                // The only error, a call inside a callback, was checked above.
                _ = agent.wait_for_idle() => link.settle(ticket, None),
                () = link.closing().cancelled() => {}
            }
        };
        runtime::runtime().map_err(|e| thrown(&e))?.spawn(wait);
        Ok(())
    }

    /// Subscribes a listener: an `Event` job with its number for each event. The run waits for each.
    #[napi(catch_unwind)]
    pub fn subscribe(&mut self, listener: u32) {
        let subscription = self.agent.add_host_listener(Arc::clone(&self.link).listener(self.number, listener));
        self.subscriptions.insert(listener, subscription.detach());
    }

    /// Ends a subscription.
    #[napi(catch_unwind)]
    pub fn unsubscribe(&mut self, listener: u32) {
        if let Some(id) = self.subscriptions.remove(&listener) {
            self.agent.unsubscribe(id);
        }
    }

    /// The system prompt.
    #[napi(getter, catch_unwind)]
    pub fn system_prompt(&self) -> String {
        self.agent.system_prompt()
    }

    /// `provider/id` of the model.
    #[napi(getter, catch_unwind)]
    pub fn model(&self) -> String {
        self.agent.model()
    }

    /// How much thinking is requested.
    #[napi(getter, catch_unwind)]
    pub fn thinking_level(&self) -> &'static str {
        self.agent.thinking_level().as_str()
    }

    /// How often the conversation was replaced or emptied: as long as it was not, messages are only appended.
    #[napi(getter, catch_unwind)]
    pub fn replacements(&self) -> f64 {
        self.agent.transcript().0.0 as f64
    }

    /// The number of messages in the conversation.
    #[napi(getter, catch_unwind)]
    pub fn message_count(&self) -> u32 {
        u32::try_from(self.agent.messages().len()).unwrap_or(u32::MAX)
    }

    /// The messages from this index on, as a JSON array: all, or so many that their text is not too long.
    #[napi(catch_unwind)]
    pub fn messages(&self, from: u32) -> String {
        pieces::messages(self.agent.messages().get(from as usize..).unwrap_or_default())
    }

    /// Whether a run is active.
    #[napi(getter, catch_unwind)]
    pub fn is_streaming(&self) -> bool {
        self.agent.is_streaming()
    }

    /// The assistant message that is being streamed, as JSON.
    #[napi(getter, catch_unwind)]
    pub fn streaming_message(&self) -> Option<String> {
        self.agent.streaming_message().as_ref().map(message::message)
    }

    /// The calls that wait for a decision, as JSON.
    #[napi(getter, catch_unwind)]
    pub fn pending(&self) -> String {
        camel_case::to_json(&self.agent.pending())
    }

    /// What was decided for always, as JSON.
    #[napi(getter, catch_unwind)]
    pub fn remembered(&self) -> String {
        camel_case::to_json(&self.agent.remembered())
    }

    /// The ids of the tool calls that are running.
    #[napi(getter, catch_unwind)]
    pub fn pending_tool_calls(&self) -> Vec<String> {
        self.agent.pending_tool_calls().iter().map(ToString::to_string).collect()
    }

    /// The error of the last run, as JSON.
    #[napi(getter, catch_unwind)]
    pub fn error(&self) -> Option<String> {
        self.agent.error().as_ref().map(camel_case::to_json)
    }

    /// The number of times a listener failed.
    #[napi(getter, catch_unwind)]
    pub fn listener_errors(&self) -> f64 {
        #[allow(clippy::cast_precision_loss)] // far below 2^53
        let errors = self.agent.listener_errors() as f64;
        errors
    }
}

/// What is decided about calls, from JSON.
fn read_decisions(decisions: Option<String>) -> Result<Vec<(String, Decision)>> {
    let Some(text) = decisions else { return Ok(Vec::new()) };
    let value = message::read("decisions", &text).map_err(|e| thrown(&e))?;
    Decision::all_from_json(value).map_err(|e| thrown(&e))
}
