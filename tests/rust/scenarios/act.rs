//! Actions: what the application does in steps, tools, hooks, middleware and listeners.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agent_loop::{Agent, Error, Event, HookContext, Message, MiddlewareCall, Prompt, Spelling, Subscription, ToolContext};
use serde_json::{Map, Value, json};

use crate::scenario::{self, Listener};

/// The application of one scenario.
pub(crate) struct Stage {
    pub(crate) agent: Agent,
    log: Mutex<Vec<String>>,
    gates: Mutex<Vec<String>>,
    listeners: Vec<Listener>,
    subscribed: Mutex<HashMap<usize, Subscription>>,
    /// Calls that are never answered.
    pub(crate) kept: Mutex<Vec<agent_loop::PendingCall>>,
}

/// Who acts: what is possible beside the actions that everybody has.
pub(crate) enum Actor<'a> {
    Listener(&'a Event),
    Tool(&'a ToolContext),
    Hook(&'a HookContext),
    Middleware(&'a MiddlewareCall),
}

/// How a behaviour ends.
pub(crate) enum End {
    Return(Value),
    Throw(String),
    /// No answer, ever.
    Never,
}

impl Stage {
    pub(crate) fn new(agent: Agent, listeners: Vec<Listener>) -> Arc<Stage> {
        let stage = Arc::new(Stage {
            agent,
            log: Mutex::default(),
            gates: Mutex::default(),
            listeners,
            subscribed: Mutex::default(),
            kept: Mutex::default(),
        });
        for (place, listener) in stage.listeners.iter().enumerate() {
            if !listener.later {
                stage.subscribe(place);
            }
        }
        stage
    }

    pub(crate) fn log(&self) -> Vec<String> {
        self.log.lock().unwrap().clone()
    }

    fn subscribe(self: &Arc<Self>, place: usize) {
        let stage = Arc::downgrade(self);
        let seen = Mutex::new(0);
        let listen = move |event: &Event| {
            let Some(stage) = stage.upgrade() else { return Ok(()) };
            let listener = &stage.listeners[place];
            if !scenario::contains(&json!(event), &listener.on) {
                return Ok(());
            }
            *seen.lock().unwrap() += 1;
            if listener.nth.is_some_and(|nth| nth != *seen.lock().unwrap()) {
                return Ok(());
            }
            // A listener's actions are all over at once.
            let acted = futures_util::FutureExt::now_or_never(stage.behave(&listener.act, Value::Null, &Actor::Listener(event)));
            match acted.expect("a listener cannot wait") {
                End::Throw(text) => Err(text),
                End::Return(_) | End::Never => Ok(()),
            }
        };
        let listener = agent_loop::Listener::Function { function: Arc::new(listen), blocking: false };
        let subscription = self.agent.add_listener(listener);
        self.subscribed.lock().unwrap().insert(place, subscription);
    }

    /// Does one thing after the other. `value` is what is returned when nothing else is.
    pub(crate) async fn behave(self: &Arc<Self>, behaviour: &[Value], value: Value, actor: &Actor<'_>) -> End {
        let mut value = value;
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
                    let arguments = given.get("arguments").and_then(Value::as_object);
                    match call.next(arguments.unwrap_or(call.arguments()).clone()).await {
                        Ok(result) => value = result,
                        Err(text) => return End::Throw(text),
                    }
                }
                ("keep_last" | "append" | "roles", Actor::Hook(_)) => value = changed(value, name, given),
                ("log", Actor::Listener(event)) => self.say(text(given).replace("$type", event.kind())),
                ("log", _) => self.say(text(given)),
                ("gate", _) => self.until(|stage| stage.gates.lock().unwrap().contains(&text(given))).await,
                ("subscribe" | "unsubscribe", _) => {
                    let place = self.listeners.iter().position(|listener| listener.name.as_deref() == given.as_str());
                    let place = place.unwrap_or_else(|| panic!("there is no listener {given}"));
                    if name == "subscribe" {
                        self.subscribe(place);
                    } else {
                        drop(self.subscribed.lock().unwrap().remove(&place));
                    }
                }
                _ => {
                    if let Err(error) = self.act(name, given).await {
                        self.say(format!("{name}: {}", error.kind()));
                    }
                }
            }
        }
        End::Return(value)
    }

    /// What every actor can do.
    pub(crate) async fn act(&self, name: &str, given: &Value) -> Result<(), Error> {
        let agent = &self.agent;
        match name {
            "steer" => agent.steer(Prompt::from_json(given.clone())?),
            "follow_up" => agent.follow_up(Prompt::from_json(given.clone())?),
            "abort" => agent.abort(),
            "clear_steering_queue" => agent.clear_steering_queue(),
            "clear_follow_up_queue" => agent.clear_follow_up_queue(),
            "clear_all_queues" => agent.clear_all_queues(),
            "set" => agent.set_options(given.as_object().unwrap(), Spelling::Snake, &[])?,
            "reset" => agent.reset()?,
            "append_message" => agent.append_message(Message::from_json(given.clone())?)?,
            "replace_messages" => {
                let list = given.as_array().unwrap().iter().cloned().map(Message::from_json);
                agent.replace_messages(list.collect::<Result<_, _>>()?)?;
            }
            "clear_messages" => agent.clear_messages()?,
            "wait_for_idle" => agent.wait_for_idle().await?,
            "log_queued" => self.say(format!("queued: {}", agent.has_queued_messages())),
            "log_state" => {
                let state = agent.state_json();
                let words = ["is_streaming", "streaming_message", "pending_tool_calls", "error"];
                let said = words.map(|word| match (word, &state[word]) {
                    ("streaming_message", Value::Object(message)) => message["content"].to_string(),
                    ("error", Value::Object(error)) => error["kind"].to_string(),
                    (_, value) => value.to_string(),
                });
                self.say(format!("{} messages, {}", state["messages"].as_array().map_or(0, Vec::len), said.join(", ")));
            }
            "open" => self.gates.lock().unwrap().push(text(given)),
            "wait_log" => self.until(|stage| stage.log.lock().unwrap().contains(&text(given))).await,
            // In callbacks, where they are refused.
            "prompt" => drop(agent.stream(Prompt::from_json(given.clone())?)?),
            "resume" => drop(agent.stream_resume()?),
            _ => panic!("unknown action {name:?}"),
        }
        Ok(())
    }

    fn say(&self, text: String) {
        self.log.lock().unwrap().push(text);
    }

    /// Waits in real time for another actor: nobody's limit depends on it.
    async fn until(&self, done: impl Fn(&Stage) -> bool) {
        while !done(self) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
}

/// The one name of an action, and what it is given.
pub(crate) fn only(action: &Value) -> (&str, &Value) {
    let map = action.as_object().filter(|map| map.len() == 1).unwrap_or_else(|| panic!("not an action: {action}"));
    let (name, given) = map.iter().next().unwrap();
    (name, given)
}

/// What a hook that changes messages makes of them.
fn changed(messages: Value, how: &str, given: &Value) -> Value {
    let mut list = messages.as_array().cloned().unwrap_or_default();
    match how {
        "keep_last" => drop(list.drain(..list.len().saturating_sub(usize::try_from(number(given)).unwrap()))),
        "append" => list.extend(given.as_array().unwrap().iter().cloned()),
        // Messages of an application's roles become messages of a standard one, with their `text`.
        _ => {
            let role = |message: &Value| given.get(message["role"].as_str().unwrap_or_default()).cloned();
            for message in &mut list {
                if let Some(role) = role(message) {
                    *message = json!({ "role": role, "content": [{ "type": "text", "text": message["text"] }], "timestamp": 0 });
                }
            }
        }
    }
    Value::Array(list)
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("expected a text, got {value}")).to_owned()
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("expected a number, got {value}"))
}

pub(crate) fn object(value: &Value) -> Map<String, Value> {
    value.as_object().cloned().unwrap_or_default()
}
