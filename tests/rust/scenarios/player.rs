//! Plays a scenario: makes the agent, takes the steps, and behaves as the tools, hooks, middleware and listeners, which are
//! called as those of a host of another language are. `docs/scenarios.md` describes each part.

use std::collections::HashMap;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{self, Poll, ready};

use agent_loop::handoff::Handoff;
use agent_loop::hook::HookKind;
use agent_loop::host::{HostAnswer, HostCall, HostFunction, HostTool, Spelling};
use agent_loop::subagent::Subagent as AgentTool;
use agent_loop::{Agent, Context, Error, Message, ModelSpec, PendingRun, Prompt, Run, Subscription};
use serde_json::{Value, json};

use crate::scenario::{Behaviours, Record, Scenario, Subagent, Tool, changed, decisions, messages, only, renamed_key, text};

/// The application of one scenario. The agent holds its callbacks: they do not hold the application.
pub(crate) struct Player {
    scenario: Scenario,
    pub(crate) agent: Agent,
    subscriptions: Mutex<HashMap<usize, Subscription>>,
    record: Mutex<Record>,
    pub(crate) started: Mutex<Option<Run>>,
    /// The run whose events are read, and those that were.
    pub(crate) reading: Mutex<(Option<Run>, Vec<Value>)>,
    /// Each task of a callback has one.
    pub(crate) tasks: Arc<()>,
}

/// Plays a scenario; returns the result in the form of `expected.json`.
/// `first` is done with the agent before its callbacks are set.
pub(crate) async fn play(scenario: Scenario, first: impl FnOnce(&Agent)) -> Result<Value, Error> {
    let player = Player::new(scenario, first)?;
    player.play().await
}

impl Player {
    /// An agent with its callbacks, which are set after `first`.
    pub(crate) fn new(scenario: Scenario, first: impl FnOnce(&Agent)) -> Result<Arc<Player>, Error> {
        Player::with(scenario, |model| {
            let agent = Agent::new(model)?;
            first(&agent);
            Ok(agent)
        })
    }

    /// The agent that this makes for the model, with its callbacks.
    pub(crate) fn with(scenario: Scenario, agent: impl FnOnce(ModelSpec) -> Result<Agent, Error>) -> Result<Arc<Player>, Error> {
        let agent = agent(scenario.model()?)?;
        agent.set_options(&scenario.options, Spelling::Snake, &[])?;
        let player = Player {
            scenario,
            agent,
            subscriptions: Mutex::default(),
            record: Mutex::default(),
            started: Mutex::default(),
            reading: Mutex::default(),
            tasks: Arc::default(),
        };
        let player = Arc::new(player);
        player.add_functions()?;
        Ok(player)
    }

    /// Takes the steps.
    pub(crate) async fn play(self: &Arc<Self>) -> Result<Value, Error> {
        let mut steps = Vec::new();
        for step in &self.scenario.steps {
            let (name, given) = only(step);
            let record = self.step(name, given).await;
            steps.push(record.unwrap_or_else(|error| json!({ "error": error.kind().as_str() })));
        }
        Ok(self.record().to_json(&steps, &self.agent.state_json()))
    }

    fn add_tools(self: &Arc<Self>, agent: &Agent, tools: &[Tool], subagents: &[Subagent]) -> Result<(), Error> {
        for tool in tools {
            agent.add_tool(HostTool {
                spec: Arc::new(tool.spec()?),
                execute: self.function(&tool.calls, |_, _| Some(Value::Null)),
                prepare: tool.prepare.as_ref().map(|prepare| self.function(prepare, |_, call| Some(json!(call.arguments())))),
                prepared: "an object",
                approve: tool.approve.as_ref().map(|approve| self.function(approve, |_, _| Some(Value::Null))),
                may_block: false,
            })?;
        }
        for subagent in subagents {
            let made = Agent::new(subagent.model()?)?;
            made.set_options(&subagent.options, Spelling::Snake, &[])?;
            self.add_tools(&made, &subagent.tools, &subagent.subagents)?;
            match subagent.handoff {
                true => agent.add_tool(Handoff::from_json(&made, subagent.fields.clone())?)?,
                false => agent.add_tool(AgentTool::from_json(&made, subagent.fields.clone())?)?,
            }
        }
        Ok(())
    }

    fn add_functions(self: &Arc<Self>) -> Result<(), Error> {
        self.add_tools(&self.agent, &self.scenario.tools, &self.scenario.subagents)?;
        for behaviours in &self.scenario.middleware {
            self.agent.add_host_middleware(self.function(behaviours, |_, _| Some(Value::Null)));
        }
        for kind in HookKind::ALL {
            // The requests are recorded by `on_payload`.
            let behaviours = self.scenario.hooks.get(kind);
            let is_in_scenario = behaviours.is_some();
            if is_in_scenario || *kind == HookKind::OnPayload {
                let function = self.function(behaviours.unwrap_or(&Behaviours::default()), move |player, call| {
                    let input = call.take_input().expect("taken once").to_value();
                    Some(player.record().hook(kind.as_str(), input, is_in_scenario))
                });
                self.agent.set_host_hook(*kind, Some(function));
            }
        }
        let listeners = self.scenario.listeners.iter().enumerate();
        listeners.filter(|(_, listener)| !listener.later).for_each(|(place, _)| self.subscribe(place));
        Ok(())
    }

    /// A function that behaves so when it is called. `first` is its first value; without one it ignores the call.
    fn function(
        self: &Arc<Self>,
        behaviours: &Behaviours,
        first: impl Fn(&Player, &HostCall) -> Option<Value> + Send + Sync + 'static,
    ) -> HostFunction {
        let (player, behaviours) = (Arc::downgrade(self), behaviours.clone());
        Arc::new(move |call| {
            let Some(player) = player.upgrade() else { return };
            let Some(value) = first(&player, &call) else { return drop(call.respond(HostAnswer::Nothing)) };
            let (behaviour, task) = (behaviours.next(), Arc::clone(&player.tasks));
            tokio::spawn(player.agent.scope().enter(async move {
                let _task = task;
                match player.behave(&behaviour, value, &call).await {
                    Ok(_) if call.is_answered() => {}
                    Ok(value) => drop(call.respond(HostAnswer::Json(value))),
                    Err(text) => drop(call.fail(text)),
                }
            }));
        })
    }

    fn subscribe(self: &Arc<Self>, place: usize) {
        let behaviours = vec![self.scenario.listeners[place].behaviour.clone()].into();
        let function = self.function(&behaviours, move |player, call| {
            let event = call.take_event().expect("taken once");
            player.scenario.listeners[place].receives(&event).then(|| event.kind().into())
        });
        self.subscriptions.lock().unwrap().insert(place, self.agent.add_host_listener(function));
    }

    /// Takes a step; returns what is recorded of it.
    async fn step(self: &Arc<Self>, name: &str, given: &Value) -> Result<Value, Error> {
        let run = match name {
            "prompt" | "start" => self.agent.stream(Prompt::from_json(given.clone())?)?,
            "resume" => self.agent.resume().decisions(decisions(given)?).stream()?,
            "resume_if_queued" => {
                let Some(pending) = self.agent.resume_if_queued() else { return Ok(json!({ name: null })) };
                pending.stream()?
            }
            "run" | "resume_context" => self.stateless_run(given)?,
            "complete" => self.model_call(given)?,
            "finish" => self.started.lock().unwrap().take().expect("a run that was started"),
            "has_queued_messages" => return Ok(json!({ name: self.agent.has_queued_messages() })),
            "state" => return Ok(json!({ name: self.agent.state_json() })),
            "export" => {
                let export: Value = serde_json::from_str(&self.agent.export(None)?).expect("JSON");
                return Ok(json!({ name: export }));
            }
            _ => return self.act(name, given).await.map(|()| json!({ name: "ok" })),
        };
        if name == "start" {
            *self.started.lock().unwrap() = Some(run);
            return Ok(json!({ name: "ok" }));
        }
        *self.reading.lock().unwrap() = (Some(run), Vec::new());
        let (run, events) = poll_fn(|cx| self.read(cx)).await;
        let result = json!(run.ended().await?);
        Ok(json!({ "outcome": self.record().run(events, result) }))
    }

    /// Reads the run to its end; gives it with its events.
    fn read(&self, cx: &mut task::Context<'_>) -> Poll<(Run, Vec<Value>)> {
        let mut reading = self.reading.lock().unwrap();
        let (run, events) = &mut *reading;
        while let Some(event) = ready!(pin!(run.as_mut().expect("a run").next()).poll(cx)) {
            let mut event = json!(event);
            event["run_id"] = "run".into();
            if event["type"] == "subagent_event" {
                event["event"]["run_id"] = "run".into();
            }
            events.push(event);
        }
        Poll::Ready((run.take().expect("a run"), std::mem::take(events)))
    }

    /// Starts a run over the given context, with messages queued before its first turn.
    fn stateless_run(self: &Arc<Self>, given: &Value) -> Result<Run, Error> {
        let system_prompt = given["system_prompt"].as_str().unwrap_or_default().to_owned();
        let context = Context::new(messages(&given["messages"])?).system_prompt(system_prompt).tools(self.agent.tools());
        let Some(prompt) = given.get("prompt") else {
            return agent_loop::resume(&context, &self.agent).decisions(decisions(given)?).stream();
        };
        let queue = given["queue"].as_object();
        if queue.is_some() {
            self.hold();
        }
        let run = agent_loop::run(&context, Prompt::from_json(prompt.clone())?, &self.agent).stream()?;
        for (name, message) in queue.into_iter().flatten() {
            let message = Prompt::from_json(message.clone())?;
            if name == "steer" {
                run.steer(message)?
            } else {
                run.follow_up(message)?
            };
        }
        self.record().gates.push("held".to_owned());
        Ok(run)
    }

    /// One model call over this context.
    fn model_call(self: &Arc<Self>, given: &Value) -> Result<Run, Error> {
        let is_aborted = given["abort"] == true;
        if is_aborted {
            self.hold();
        }
        let call = agent_loop::complete(&self.agent, Vec::<Message>::new()).history(messages(&given["messages"])?);
        let run = call.system_prompt(given["system_prompt"].as_str().unwrap_or_default()).stream()?;
        if is_aborted {
            run.abort();
        }
        self.record().gates.push("held".to_owned());
        Ok(run)
    }

    /// Holds the next run with a hook until its gate is open.
    fn hold(self: &Arc<Self>) {
        let function = self.function(&vec![vec![json!({ "gate": "held" })]].into(), |_, _| Some(Value::Null));
        self.agent.set_host_hook(HookKind::BeforeRun, Some(function));
    }

    /// Takes the actions in order. Without another end it returns `value`; a listener's is the type of its event.
    async fn behave(self: &Arc<Self>, behaviour: &[Value], mut value: Value, call: &HostCall) -> Result<Value, String> {
        for action in behaviour {
            let (name, given) = only(action);
            match name {
                "return" => return Ok(given.clone()),
                "throw" => return Err(text(given).to_owned()),
                "never" => std::future::pending().await,
                "sleep_ms" => drop(call.sleep(given.as_u64().expect("a number")).await),
                "update" => drop(call.update(given.clone())),
                "suspend" => {
                    call.suspend(text(given)).expect("a tool's call");
                    return Ok(value);
                }
                "log_key" => {
                    let key = call.tool_context().expect("a tool's call").idempotency_key().to_owned();
                    self.record().log.push(renamed_key(&key));
                }
                "next" => {
                    let call = call.middleware_call().expect("a middleware");
                    let arguments = given.get("arguments").and_then(Value::as_object).unwrap_or(call.arguments());
                    value = call.next(arguments.clone()).await.map_err(|error| error.message().to_owned())?;
                }
                "keep_last" | "append" | "roles" => value = changed(value, name, given),
                "log" => self.record().log.push(text(given).replace("$type", value.as_str().unwrap_or_default())),
                _ => {
                    if let Err(error) = self.act(name, given).await {
                        self.record().log.push(format!("{name}: {}", error.kind()));
                    }
                }
            }
        }
        Ok(value)
    }

    /// The actions that are allowed everywhere.
    async fn act(self: &Arc<Self>, name: &str, given: &Value) -> Result<(), Error> {
        let agent = &self.agent;
        match name {
            "steer" => drop(agent.steer(Prompt::from_json(given.clone())?)?),
            "follow_up" => drop(agent.follow_up(Prompt::from_json(given.clone())?)?),
            "log_steer" | "log_follow_up" => {
                let (method, message) = (&name["log_".len()..], Prompt::from_json(given.clone())?);
                let delivery = if method == "steer" { agent.steer(message)? } else { agent.follow_up(message)? };
                self.record().log.push(format!("{method}: {}", delivery.as_str()));
            }
            "abort" => agent.abort(),
            "stop_after_turn" => agent.stop_after_turn(),
            "clear_steering_queue" => agent.clear_steering_queue(),
            "clear_follow_up_queue" => agent.clear_follow_up_queue(),
            "clear_all_queues" => agent.clear_all_queues(),
            "set" => agent.set_options(given.as_object().expect("options"), Spelling::Snake, &[])?,
            "reset" => agent.reset()?,
            "forget" => agent.forget(given.as_str())?,
            "append_message" => agent.append_message(Message::from_json(given.clone())?)?,
            "replace_messages" => agent.replace_messages(messages(given)?)?,
            "clear_messages" => agent.clear_messages()?,
            "wait_for_idle" => agent.wait_for_idle().await?,
            "from_export" => agent.load_export(&given.to_string(), None)?,
            // In callbacks, where they are refused.
            "prompt" => drop(agent.stream(Prompt::from_json(given.clone())?)?),
            "resume" => drop(agent.stream_resume()?),
            "resume_if_queued" => drop(agent.resume_if_queued().map(PendingRun::stream).transpose()?),
            "subscribe" => self.subscribe(self.scenario.listener(given)),
            "unsubscribe" => drop(self.subscriptions.lock().unwrap().remove(&self.scenario.listener(given))),
            "log" => self.record().log.push(text(given).to_owned()),
            "log_queued" => self.record().log.push(format!("queued: {}", agent.has_queued_messages())),
            "log_state" => self.record().log_state(&agent.state_json()),
            "open" => self.record().gates.push(text(given).to_owned()),
            "gate" => self.until(|record| &record.gates, text(given)).await,
            "wait_log" => self.until(|record| &record.log, text(given)).await,
            _ => panic!("unknown action {name:?}"),
        }
        Ok(())
    }

    /// Waits, in real time, until another function has added this text to a list of the record.
    async fn until(&self, list: impl Fn(&Record) -> &[String], text: &str) {
        while !list(&self.record()).iter().any(|added| added == text) {
            tokio::time::sleep(std::time::Duration::from_millis(1)).await;
        }
    }

    fn record(&self) -> MutexGuard<'_, Record> {
        self.record.lock().unwrap()
    }
}
