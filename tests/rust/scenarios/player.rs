//! Plays a scenario: makes the agent, takes the steps and records what happens. `docs/scenarios.md` describes each part.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use agent_loop::{
    Agent, Context, Error, Event, HookContext, HookInput, HookKind, Message, MiddlewareCall, ModelSpec, PendingCall,
    PreparedArguments, Prompt, Run, Spelling, Subscription, Tool, ToolContext, ToolSet, ToolSpec,
};
use futures_util::FutureExt;
use libtest_mimic::Failed;
use serde_json::{Map, Value, json};

use crate::scenario::{Behaviour, Behaviours, Listener, Record, Scenario, changed, contains, number, only, place_of, text};

/// Who acts. The standard actions are open to all of them.
enum Actor<'a> {
    Listener(&'a Event),
    Tool(&'a ToolContext),
    Hook(&'a HookContext),
    Middleware(&'a MiddlewareCall),
}

/// How a behaviour ends.
enum End {
    Return(Value),
    Throw(String),
    Never,
}

impl End {
    async fn result(self) -> Result<Value, String> {
        match self {
            End::Return(value) => Ok(value),
            End::Throw(text) => Err(text),
            End::Never => std::future::pending().await,
        }
    }
}

/// The application of one scenario.
struct Player {
    agent: Agent,
    tools: Mutex<ToolSet>,
    listeners: Vec<Listener>,
    subscriptions: Mutex<HashMap<usize, Subscription>>,
    record: Mutex<Record>,
    unanswered: Mutex<Vec<PendingCall>>,
}

/// Plays a scenario; returns the result in the form of `expected.json`.
pub(crate) async fn play(scenario: Scenario) -> Result<Value, Failed> {
    let mut model = json!({ "provider": "scripted", "id": "scenario", "script": scenario.model });
    model.as_object_mut().expect("an object").extend(scenario.spec.clone());
    let player = Arc::new(Player {
        agent: Agent::builder(ModelSpec::from_json(model)?).build()?,
        listeners: scenario.listeners.clone(),
        tools: Mutex::default(),
        subscriptions: Mutex::default(),
        record: Mutex::default(),
        unanswered: Mutex::default(),
    });
    let agent = &player.agent;
    let mut tools = ToolSet::default();
    for tool in &scenario.tools {
        tools.add(Arc::new(ScenarioTool {
            spec: ToolSpec::from_json(Value::Object(tool.spec.clone()))?,
            calls: Behaviours::new(tool.calls.clone()),
            prepare: tool.prepare.clone().map(Behaviours::new),
            player: Arc::clone(&player),
        }))?;
    }
    agent.set_tools(tools.clone());
    *player.tools.lock().unwrap() = tools;
    agent.set_options(&scenario.options, Spelling::Snake, &[])?;
    if let Some(unknown) = scenario.hooks.keys().find(|name| HookKind::parse(name).is_none()) {
        return Err(format!("there is no hook {unknown:?}").into());
    }
    for kind in HookKind::ALL {
        player.set_hook(*kind, scenario.hooks.get(kind.as_str()));
    }
    for behaviours in scenario.middleware {
        player.add_middleware(Behaviours::new(behaviours));
    }
    for index in (0..player.listeners.len()).filter(|index| !player.listeners[*index].later) {
        player.subscribe(index);
    }
    let (mut steps, mut background) = (Vec::new(), None);
    for step in &scenario.steps {
        let (name, given) = only(step);
        let record = player.step(name, given, &mut background).await;
        steps.push(record.unwrap_or_else(|error| json!({ "error": error.kind().as_str() })));
    }
    Ok(player.record().to_json(&steps, &agent.state_json()))
}

struct ScenarioTool {
    spec: ToolSpec,
    calls: Behaviours,
    prepare: Option<Behaviours>,
    player: Arc<Player>,
}

impl Tool for ScenarioTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn prepare_arguments(&self, arguments: &Map<String, Value>, context: &HookContext) -> Option<PreparedArguments> {
        let behaviour = self.prepare.as_ref()?.next();
        let (player, context, arguments) = (Arc::clone(&self.player), context.clone(), Value::Object(arguments.clone()));
        Some(Box::pin(async move {
            match player.behave(&behaviour, arguments, &Actor::Hook(&context)).await.result().await? {
                Value::Object(arguments) => Ok(arguments),
                other => Err(format!("not an object: {other}")),
            }
        }))
    }

    fn start(&self, call: PendingCall) {
        let (behaviour, player) = (self.calls.next(), Arc::clone(&self.player));
        tokio::spawn(call.scope().enter(async move {
            match player.behave(&behaviour, Value::Null, &Actor::Tool(call.context())).await {
                End::Return(value) => call.respond(value),
                End::Throw(text) => call.fail(text),
                End::Never => player.unanswered.lock().unwrap().push(call),
            }
        }));
    }
}

impl Player {
    async fn step(self: &Arc<Self>, name: &str, given: &Value, background: &mut Option<Run>) -> Result<Value, Error> {
        let run = match name {
            "prompt" => self.agent.stream(Prompt::from_json(given.clone())?)?,
            "resume" => self.agent.stream_resume()?,
            "run" | "resume_context" => self.stateless_run(given)?,
            "finish" => background.take().expect("a run that was started"),
            "start" => {
                *background = Some(self.agent.stream(Prompt::from_json(given.clone())?)?);
                return Ok(json!({ name: "ok" }));
            }
            "has_queued_messages" => return Ok(json!({ name: self.agent.has_queued_messages() })),
            "state" => return Ok(json!({ name: self.agent.state_json() })),
            _ => return self.act(name, given).await.map(|()| json!({ name: "ok" })),
        };
        Ok(json!({ "outcome": self.finish(run).await }))
    }

    /// Starts a run over the given context, with messages queued before its first turn.
    fn stateless_run(self: &Arc<Self>, given: &Value) -> Result<Run, Error> {
        let system_prompt = given["system_prompt"].as_str().unwrap_or_default().to_owned();
        let context =
            Context { system_prompt, messages: messages(&given["messages"])?, tools: self.tools.lock().unwrap().clone() };
        let Some(prompt) = given.get("prompt") else { return agent_loop::resume(&context, &self.agent).stream() };
        let queue = given["queue"].as_object();
        if queue.is_some() {
            let player = Arc::clone(self);
            self.agent.set_json_hook(
                HookKind::BeforeRun,
                Some(Arc::new(move |_, _| {
                    let player = Arc::clone(&player);
                    Box::pin(async move {
                        player.until(|record| &record.gates, "the queue is filled").await;
                        Ok(Value::Null)
                    })
                })),
            );
        }
        let run = agent_loop::run(&context, Prompt::from_json(prompt.clone())?, &self.agent).stream()?;
        for (name, message) in queue.into_iter().flatten() {
            let message = Prompt::from_json(message.clone())?;
            if name == "steer" { run.steer(message)? } else { run.follow_up(message)? }
        }
        self.record().gates.push("the queue is filled".to_owned());
        Ok(run)
    }

    /// Reads a run to its end; returns its outcome.
    async fn finish(&self, mut run: Run) -> Value {
        let mut events = Vec::new();
        while let Some(event) = run.next().await {
            let mut event = json!(event);
            event["run_id"] = "run".into();
            events.push(event);
        }
        let result = json!(run.outcome().await.expect("outside of callbacks"));
        self.record().run(events, result)
    }

    /// Sets a hook of the scenario; `on_payload` always, to record the requests.
    fn set_hook(self: &Arc<Self>, kind: HookKind, behaviours: Option<&Vec<Behaviour>>) {
        if behaviours.is_none() && kind != HookKind::OnPayload {
            return;
        }
        let (player, behaviours) = (Arc::clone(self), behaviours.cloned().map(Behaviours::new));
        let hook = move |input: HookInput, context: HookContext| {
            let messages = player.record().hook(kind.as_str(), input.to_value(), behaviours.is_some());
            let behaviour = behaviours.as_ref().map(Behaviours::next);
            let player = Arc::clone(&player);
            async move { player.behave(&behaviour.unwrap_or_default(), messages, &Actor::Hook(&context)).await.result().await }
                .boxed()
        };
        self.agent.set_json_hook(kind, Some(Arc::new(hook)));
    }

    fn add_middleware(self: &Arc<Self>, behaviours: Behaviours) {
        let player = Arc::clone(self);
        self.agent.add_middleware(move |call: agent_loop::MiddlewareCall| {
            let (behaviour, player) = (behaviours.next(), Arc::clone(&player));
            async move { player.behave(&behaviour, Value::Null, &Actor::Middleware(&call)).await.result().await }.boxed()
        });
    }

    fn subscribe(self: &Arc<Self>, index: usize) {
        let (player, seen) = (Arc::downgrade(self), AtomicUsize::new(0));
        let listen = move |event: &Event| {
            let Some(player) = player.upgrade() else { return Ok(()) };
            let listener = &player.listeners[index];
            if !contains(&json!(event), &listener.on)
                || listener.nth.is_some_and(|nth| nth != seen.fetch_add(1, Ordering::SeqCst) + 1)
            {
                return Ok(());
            }
            let end = player.behave(&listener.behaviour, Value::Null, &Actor::Listener(event)).now_or_never();
            end.expect("a listener does not block").result().now_or_never().expect("a listener ends").map(drop)
        };
        let listener = agent_loop::Listener::Function { function: Arc::new(listen), blocking: false };
        self.subscriptions.lock().unwrap().insert(index, self.agent.add_listener(listener));
    }

    /// Takes the actions in order. Without another end it returns `value`.
    async fn behave(self: &Arc<Self>, behaviour: &[Value], mut value: Value, actor: &Actor<'_>) -> End {
        for action in behaviour {
            let (name, given) = only(action);
            match (name, actor) {
                ("return", _) => return End::Return(given.clone()),
                ("throw", _) => return End::Throw(text(given)),
                ("never", _) => return End::Never,
                ("sleep_ms", Actor::Tool(context)) => drop(context.sleep(number(given)).await),
                ("sleep_ms", Actor::Hook(context)) => drop(context.sleep(number(given)).await),
                ("sleep_ms", Actor::Middleware(call)) => drop(call.context().sleep(number(given)).await),
                ("update", Actor::Tool(context)) => context.update(given.clone()),
                ("next", Actor::Middleware(call)) => {
                    let arguments = given.get("arguments").and_then(Value::as_object).unwrap_or(call.arguments());
                    match call.next(arguments.clone()).await {
                        Ok(result) => value = result,
                        Err(text) => return End::Throw(text),
                    }
                }
                ("keep_last" | "append" | "roles", Actor::Hook(_)) => value = changed(value, name, given),
                ("log", Actor::Listener(event)) => self.record().log.push(text(given).replace("$type", event.kind())),
                ("log", _) => self.record().log.push(text(given)),
                ("gate", _) => self.until(|record| &record.gates, &text(given)).await,
                ("subscribe", _) => self.subscribe(place_of(&self.listeners, given)),
                _ => {
                    if let Err(error) = self.act(name, given).await {
                        self.record().log.push(format!("{name}: {}", error.kind()));
                    }
                }
            }
        }
        End::Return(value)
    }

    /// The standard actions.
    async fn act(&self, name: &str, given: &Value) -> Result<(), Error> {
        let agent = &self.agent;
        match name {
            "steer" => agent.steer(Prompt::from_json(given.clone())?),
            "follow_up" => agent.follow_up(Prompt::from_json(given.clone())?),
            "abort" => agent.abort(),
            "clear_steering_queue" => agent.clear_steering_queue(),
            "clear_follow_up_queue" => agent.clear_follow_up_queue(),
            "clear_all_queues" => agent.clear_all_queues(),
            "set" => agent.set_options(given.as_object().expect("options"), Spelling::Snake, &[])?,
            "reset" => agent.reset()?,
            "append_message" => agent.append_message(Message::from_json(given.clone())?)?,
            "replace_messages" => agent.replace_messages(messages(given)?)?,
            "clear_messages" => agent.clear_messages()?,
            "wait_for_idle" => agent.wait_for_idle().await?,
            "unsubscribe" => {
                let subscription = self.subscriptions.lock().unwrap().remove(&place_of(&self.listeners, given));
                drop(subscription);
            }
            "log_queued" => self.record().log.push(format!("queued: {}", agent.has_queued_messages())),
            "log_state" => {
                let state = agent.state_json();
                self.record().log_state(&state);
            }
            "open" => self.record().gates.push(text(given)),
            "wait_log" => self.until(|record| &record.log, &text(given)).await,
            // In callbacks, where they are refused.
            "prompt" => drop(agent.stream(Prompt::from_json(given.clone())?)?),
            "resume" => drop(agent.stream_resume()?),
            _ => panic!("unknown action {name:?}"),
        }
        Ok(())
    }

    fn record(&self) -> MutexGuard<'_, Record> {
        self.record.lock().unwrap()
    }

    /// Waits, in real time, until another actor has added this text to a list of the record.
    async fn until(&self, list: impl Fn(&Record) -> &[String], text: &str) {
        while !list(&self.record()).iter().any(|added| added == text) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
}

fn messages(list: &Value) -> Result<Vec<Message>, Error> {
    list.as_array().into_iter().flatten().cloned().map(Message::from_json).collect()
}
