//! The agent: options in, runs out, state by name.

use std::collections::HashMap;
use std::sync::Arc;

use agent_loop::{Listener, ModelSpec, Spelling, Subscription};
use napi::bindgen_prelude::ClassInstance;
use napi_derive::napi;
use serde_json::{Map, Value};

use crate::bridge::{Bridge, Link};
use crate::error::{Result, invalid_argument, thrown};
use crate::run::{Run, check_outside, settle_with_outcome};
use crate::tool::{self, Tool};
use crate::{message, runtime};

/// An agent.
#[napi]
pub struct Agent {
    agent: agent_loop::Agent,
    link: Arc<Link>,
    number: u32,
    subscriptions: HashMap<u32, Subscription>,
}

#[napi]
impl Agent {
    /// Makes an agent from options in JSON and tools, and finds out whether its model can be used. `number` is how jobs name
    /// the agent.
    #[napi(constructor, catch_unwind)]
    pub fn new(bridge: &Bridge, number: u32, options: String, tools: Vec<ClassInstance<'_, Tool>>) -> Result<Agent> {
        let options = options_of(&options)?;
        // Only until the options are read: their own mistakes come first.
        let placeholder = ModelSpec::parse("scripted/none").map_err(|e| thrown(&e))?;
        let runtime = runtime::runtime().map_err(|e| thrown(&e))?;
        let agent = agent_loop::Agent::with_spec(placeholder).runtime(&runtime);
        let agent = Agent { agent, link: Arc::clone(&bridge.link), number, subscriptions: HashMap::new() };
        agent.set(&options)?;
        if options.get("model").is_none_or(Value::is_null) {
            return Err(invalid_argument(
                "option \"model\" is missing; give \"provider/id\", for example \"anthropic/claude-sonnet-4-5\", or an object",
            ));
        }
        agent.set_tools(tools)?;
        agent.agent.check().map_err(|e| thrown(&e))?;
        Ok(agent)
    }

    fn set(&self, options: &Map<String, Value>) -> Result<()> {
        self.agent.set_options(options, Spelling::Camel, &["tools"]).map_err(|e| thrown(&e))
    }

    /// Sets options given in JSON: all of them, or on an error none.
    #[napi(catch_unwind)]
    pub fn set_options(&self, options: String) -> Result<()> {
        self.set(&options_of(&options)?)
    }

    /// Replaces the tools.
    #[napi(catch_unwind)]
    pub fn set_tools(&self, tools: Vec<ClassInstance<'_, Tool>>) -> Result<()> {
        let tools: Vec<&Tool> = tools.iter().map(|tool| &**tool).collect();
        let set = tool::of_agent(&tools, self.number, &self.link).map_err(|e| thrown(&e))?;
        self.agent.set_tools(set);
        Ok(())
    }

    /// Starts a run without events; its result settles the ticket.
    #[napi(catch_unwind)]
    pub fn prompt(&self, prompt: String, ticket: u32, inside: bool) -> Result<()> {
        let prompt = message::prompt(&prompt).map_err(|e| thrown(&e))?;
        check_outside(&self.agent, inside, "starting a run")?;
        let run = self.agent.start_quiet(prompt).map_err(|e| thrown(&e))?;
        settle_with_outcome(Arc::new(run), Arc::clone(&self.link), ticket)
    }

    /// Starts a run. The ticket is settled each time that there are events again after there were none.
    #[napi(catch_unwind)]
    pub fn stream(&self, prompt: String, ticket: u32, inside: bool) -> Result<Run> {
        let prompt = message::prompt(&prompt).map_err(|e| thrown(&e))?;
        check_outside(&self.agent, inside, "starting a run")?;
        let run = self.agent.stream(prompt).map_err(|e| thrown(&e))?;
        Ok(Run::new(run, self.agent.clone(), Arc::clone(&self.link), ticket))
    }

    /// Aborts the active run, if there is one.
    #[napi(catch_unwind)]
    pub fn abort(&self) {
        self.agent.abort();
    }

    /// Settles the ticket when no run is active and all listeners have returned.
    #[napi(catch_unwind)]
    pub fn wait_for_idle(&self, ticket: u32, inside: bool) -> Result<()> {
        check_outside(&self.agent, inside, "waitForIdle")?;
        let (agent, link) = (self.agent.clone(), Arc::clone(&self.link));
        let wait = async move {
            tokio::select! {
                // The check for callbacks was made before; nothing else can fail.
                _ = agent.wait_for_idle() => link.settle(ticket, None),
                () = link.closing().cancelled() => {}
            }
        };
        runtime::runtime().map_err(|e| thrown(&e))?.spawn(wait);
        Ok(())
    }

    /// Has a listener told each event, in jobs with its number, while the run waits.
    #[napi(catch_unwind)]
    pub fn subscribe(&mut self, listener: u32) {
        let (link, number) = (Arc::clone(&self.link), self.number);
        let tell = move |event: agent_loop::Event| -> agent_loop::BoxFuture<'static, std::result::Result<(), String>> {
            let link = Arc::clone(&link);
            Box::pin(async move { link.tell(number, listener, event.to_json()).await })
        };
        self.subscriptions.insert(listener, self.agent.add_listener(Listener::Future(Arc::new(tell))));
    }

    /// Ends a subscription.
    #[napi(catch_unwind)]
    pub fn unsubscribe(&mut self, listener: u32) {
        self.subscriptions.remove(&listener);
    }

    /// What the model is told first.
    #[napi(getter, catch_unwind)]
    pub fn system_prompt(&self) -> String {
        self.agent.current_system_prompt()
    }

    /// `provider/id` of the model.
    #[napi(getter, catch_unwind)]
    pub fn model(&self) -> String {
        self.agent.model_name()
    }

    /// How many messages the conversation has.
    #[napi(getter, catch_unwind)]
    pub fn message_count(&self) -> u32 {
        u32::try_from(self.agent.messages().len()).unwrap_or(u32::MAX)
    }

    /// The messages from this place on, as a JSON array.
    #[napi(catch_unwind)]
    pub fn messages(&self, from: u32) -> String {
        message::messages(self.agent.messages().get(from as usize..).unwrap_or_default())
    }

    /// Whether a run is active.
    #[napi(getter, catch_unwind)]
    pub fn is_streaming(&self) -> bool {
        self.agent.is_streaming()
    }

    /// The assistant's message that is being streamed, as it stands, as JSON.
    #[napi(getter, catch_unwind)]
    pub fn streaming_message(&self) -> Option<String> {
        self.agent.streaming_message().as_ref().map(message::message)
    }

    /// The ids of the calls between their execution's start and end.
    #[napi(getter, catch_unwind)]
    pub fn pending_tool_calls(&self) -> Vec<String> {
        self.agent.pending_tool_calls().iter().map(ToString::to_string).collect()
    }

    /// The error of the last run, as JSON.
    #[napi(getter, catch_unwind)]
    pub fn error(&self) -> Option<String> {
        // Nothing in an error can fail to serialise.
        self.agent.error().map(|error| serde_json::to_string(&error).unwrap_or_default())
    }

    /// How many times a listener failed.
    #[napi(getter, catch_unwind)]
    pub fn listener_errors(&self) -> f64 {
        #[allow(clippy::cast_precision_loss)] // far below 2^53
        let errors = self.agent.listener_errors() as f64;
        errors
    }
}

fn options_of(text: &str) -> Result<Map<String, Value>> {
    match message::read("options", text).map_err(|e| thrown(&e))? {
        Value::Object(options) => Ok(options),
        other => Err(invalid_argument(format!("options: expected an object, got {other}"))),
    }
}
