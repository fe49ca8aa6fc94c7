//! Odd callbacks: hooks, tools, middleware, listeners and models that panic, fail, answer nonsense, twice, late, from other
//! threads or never, and that call back into their agent: prompt, abort, steer, settings, reset, the last handle and listeners
//! dropped, its runtime shut down.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use agent_loop::event::Listener;
use agent_loop::hook::HookKind;
use agent_loop::host::{HostAnswer, HostCall, HostFunction, HostKind, HostTool, Spelling};
use agent_loop::{AbortHandle, Agent, ErrorKind, ModelSpec, Runtime, Subscription, ToolSpec};
use serde_json::{Value, json};
use tokio::runtime::Handle;

use crate::check;
use crate::hosts;
use crate::left;
use crate::random::Random;
use crate::watch::ON_PURPOSE;

/// How many agents a case has, at the same time.
const AT_ONCE: usize = 24;

/// The application of one agent.
struct Application {
    random: Mutex<Random>,
    /// Gone when a callback has dropped it.
    agent: Mutex<Option<Agent>>,
    /// Calls that are never answered, until the end.
    held: Mutex<Vec<Arc<HostCall>>>,
    subscriptions: Mutex<Vec<Subscription>>,
    /// One in so many calls is odd.
    odd: u64,
    /// Where it may be shut down: the agent's alone.
    runtime: Option<Runtime>,
    was_shut_down: AtomicBool,
    wrong: Mutex<Vec<String>>,
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Application {
    fn draw<T>(&self, draw: impl FnOnce(&mut Random) -> T) -> T {
        draw(&mut locked(&self.random))
    }

    /// The agent holds its callbacks: they do not hold the application.
    fn function(self: &Arc<Self>) -> HostFunction {
        let application: Weak<Application> = Arc::downgrade(self);
        Arc::new(move |call| {
            if let Some(application) = application.upgrade() {
                application.behave(Arc::new(call));
            }
        })
    }

    fn behave(self: &Arc<Self>, call: Arc<HostCall>) {
        let (odd, ms) = self.draw(|random| (if random.one_in(self.odd) { random.below(17) } else { 99 }, random.below(200)));
        match odd {
            0 => panic!("{ON_PURPOSE}, in {:?}", call.kind()),
            1 => drop(call),
            2 => locked(&self.held).push(call),
            3 => drop(call.fail(self.draw(Random::text))),
            4 => drop(call.respond(HostAnswer::Json(self.draw(|random| random.json(4))))),
            5 => drop(call.respond(HostAnswer::Messages(None))),
            6 => drop(call.respond(HostAnswer::Nothing)),
            7 => {
                self.answer(&call);
                if call.kind() != HostKind::Middleware && call.respond(HostAnswer::Nothing).is_ok() {
                    locked(&self.wrong).push(format!("{:?} was answered twice", call.kind()));
                }
            }
            8 => {
                let application = Arc::clone(self);
                std::thread::spawn(move || application.answer(&call));
            }
            9 => {
                let (application, sleep) = (Arc::clone(self), call.sleep(ms * 10));
                tokio::spawn(async move {
                    sleep.await;
                    application.answer(&call);
                });
            }
            10 => {
                for at in 0..100 + ms {
                    drop(call.update(json!(at)));
                }
                self.answer(&call);
            }
            11 | 12 => self.call_back(call),
            // On the thread of the callback.
            13 => {
                self.shut_down(ms / 10);
                self.answer(&call);
            }
            14 => {
                let handle = locked(&self.agent).as_ref().and_then(Agent::abort_handle);
                handle.iter().for_each(AbortHandle::abort);
                self.answer(&call);
            }
            15 => {
                drop(locked(&self.agent).take());
                std::mem::take(&mut *locked(&self.subscriptions));
                drop(call);
            }
            _ => self.answer(&call),
        }
    }

    /// Blocks the thread, which may be the run's, for that time at most, or does nothing where others have the runtime, too.
    fn shut_down(&self, ms: u64) {
        if let Some(runtime) = &self.runtime {
            self.was_shut_down.store(true, Ordering::SeqCst);
            runtime.shutdown(Duration::from_millis(ms));
        }
    }

    /// The answer of an ordinary application.
    fn answer(self: &Arc<Self>, call: &Arc<HostCall>) {
        let value = match call.kind() {
            HostKind::Tool => json!("ran"),
            HostKind::PrepareArguments => json!(call.arguments()),
            HostKind::NeedsApproval => json!(false),
            HostKind::Middleware => match self.draw(|random| random.below(3)) {
                0 => json!("in place of the tool"),
                _ => return self.go_on(call),
            },
            HostKind::Model => {
                let Some(model) = call.model_call() else { return };
                let chunks = self.draw(model_chunks);
                for chunk in &chunks {
                    drop(model.push(chunk));
                }
                return drop(call.respond(HostAnswer::Nothing));
            }
            HostKind::Listener | HostKind::Store(_) => return drop(call.respond(HostAnswer::Nothing)),
            HostKind::Hook(kind) => self.draw(|random| hook_answer(kind, random)),
        };
        drop(call.respond(HostAnswer::Json(value)));
    }

    /// Middleware that calls the tool.
    fn go_on(self: &Arc<Self>, call: &Arc<HostCall>) {
        let (Some(middleware), Ok(runtime)) = (call.middleware_call(), Handle::try_current()) else { return };
        let (call, value) = (Arc::clone(call), middleware.next(middleware.arguments().clone()));
        runtime.spawn(async move {
            match value.await {
                Ok(value) => drop(call.respond(HostAnswer::Json(value))),
                Err(error) => drop(call.fail_with(error)),
            }
        });
    }

    /// Calls what an application may call from inside, and what it may not.
    fn call_back(self: &Arc<Self>, call: Arc<HostCall>) {
        let Some(agent) = locked(&self.agent).clone() else { return self.answer(&call) };
        let (what, text) = self.draw(|random| (random.below(17), random.text()));
        let scope = agent.scope();
        let application = Arc::clone(self);
        tokio::spawn(scope.enter(async move {
            match what {
                0 => agent.abort(),
                1 => drop(agent.steer("from inside")),
                2 => drop(agent.follow_up(text.as_str())),
                3 => agent.clear_all_queues(),
                4 => {
                    let asked = agent.prompt("from inside").await.map_err(|error| error.kind());
                    if !matches!(asked, Err(ErrorKind::InvalidState | ErrorKind::Busy)) {
                        locked(&application.wrong).push(format!("a prompt from inside gives {asked:?}"));
                    }
                }
                5 => {
                    if agent.wait_for_idle().await.is_ok() {
                        locked(&application.wrong).push("wait_for_idle from inside".to_owned());
                    }
                }
                6 => {
                    if agent.reset().is_ok() || agent.clear_messages().is_ok() {
                        locked(&application.wrong).push("a reset in the middle of a run".to_owned());
                    }
                }
                7 => drop(agent.add_tool(hosts::echo("new"))),
                8 => drop(agent.remove_tool("a")),
                9 => drop(agent.set_model("scripted/none")),
                10 => locked(&application.subscriptions).clear(),
                11 => drop(agent.set_options(json!({ "max_turns": 1 }).as_object().expect("options"), Spelling::Snake, &[])),
                12 => drop((agent.state_json(), agent.streaming_message(), agent.pending_tool_calls(), format!("{agent:?}"))),
                13 => application.listen(&agent),
                // The last handle of the application: the run goes on.
                14 => drop(locked(&application.agent).take()),
                15 => application.shut_down(10),
                _ => drop(agent.remove_hook(HookKind::AfterRun)),
            }
            drop(agent);
            application.answer(&call);
        }));
    }

    fn listen(self: &Arc<Self>, agent: &Agent) {
        let mut subscriptions = locked(&self.subscriptions);
        if subscriptions.len() < 6 {
            subscriptions.push(agent.add_host_listener(self.function()));
        }
    }

    fn set_up(self: &Arc<Self>, agent: &Agent) -> Result<(), agent_loop::Error> {
        for (name, may_block) in [("a", false), ("b", true), ("c", false)] {
            let spec = json!({ "name": name, "description": "A tool.", "parameters": { "type": "object" } });
            let spec = Arc::new(ToolSpec::from_json(spec)?);
            let prepare = self.draw(|random| random.one_in(3)).then(|| self.function());
            agent.add_tool(HostTool {
                spec,
                execute: self.function(),
                prepare,
                prepared: "an object",
                approve: None,
                may_block,
            })?;
        }
        for kind in HookKind::ALL {
            if self.draw(|random| random.one_in(3)) {
                agent.set_host_hook(*kind, Some(self.function()));
            }
        }
        for _ in 0..self.draw(|random| random.below(3)) {
            agent.add_host_middleware(self.function());
        }
        self.listen(agent);
        if self.draw(|random| random.one_in(3)) {
            let panics = self.draw(|random| 1 + random.below(40));
            let listener = move |event: &agent_loop::Event| {
                assert_ne!(event.seq, panics, "{ON_PURPOSE}");
                if event.seq % 7 == panics % 7 { Err("no".to_owned()) } else { Ok(()) }
            };
            let listener = Listener::Function { function: Arc::new(listener), blocking: self.draw(|random| random.one_in(2)) };
            locked(&self.subscriptions).push(agent.add_listener(listener));
        }
        Ok(())
    }
}

/// What a hook may sensibly answer.
fn hook_answer(kind: HookKind, random: &mut Random) -> Value {
    match kind {
        HookKind::BeforeToolCall if random.one_in(4) => json!({ "block": "not now", "terminate": random.one_in(2) }),
        HookKind::AfterToolCall if random.one_in(4) => json!({ "is_error": true, "details": random.json(3) }),
        HookKind::GetSteeringMessages | HookKind::GetFollowUpMessages if random.one_in(6) => json!(["more"]),
        HookKind::GetSteeringMessages | HookKind::GetFollowUpMessages => json!([]),
        HookKind::ShouldStopAfterTurn => json!(random.one_in(8)),
        HookKind::GetApiKey if random.one_in(2) => json!({ "bearer": check::SECRET }),
        _ => Value::Null,
    }
}

/// An answer of a custom model.
fn model_chunks(random: &mut Random) -> Vec<Value> {
    let mut chunks = Vec::new();
    for at in 0..random.below(4) {
        chunks.push(match random.below(5) {
            0 => random.json(2),
            1 => json!({ "text": "It rains." }),
            2 => json!({ "thinking": "" }),
            _ => json!({ "tool_call": { "id": format!("c{at}"), "name": random.pick(&["a", "b", "c", "d"]), "arguments": {} } }),
        });
    }
    chunks
}

fn script(random: &mut Random) -> Value {
    let answer = |random: &mut Random| {
        let mut steps: Vec<Value> = model_chunks(random).into_iter().skip(1).map(|chunk| json!({ "delta": chunk })).collect();
        // A chunk that no script may have is refused when the agent is made.
        steps.retain(|step| step["delta"].is_object() && step["delta"].as_object().is_some_and(|chunk| chunk.len() == 1));
        steps.retain(|step| {
            let delta = &step["delta"];
            delta["text"].is_string() || delta["thinking"].is_string() || delta["tool_call"]["id"].is_string()
        });
        steps.push(json!({ "wait_ms": random.below(100) }));
        steps.push(json!({ "end": {} }));
        json!(steps)
    };
    (0..8).map(|_| answer(random)).collect()
}

/// Some agents with odd callbacks, at the same time.
pub(crate) fn play(random: &mut Random) -> Result<u64, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let local = runtime.block_on(async {
        let own = Runtime::current().map_err(|error| error.to_string())?;
        let mut runs = tokio::task::JoinSet::new();
        for number in 0..AT_ONCE {
            let mut random = Random::of_case(random.next(), "agent", number as u64);
            let own = own.clone();
            runs.spawn(async move { agent(&mut random, &own).await.map_err(|why| format!("agent {number}: {why}")) });
        }
        while let Some(ended) = runs.join_next().await {
            ended.map_err(|error| format!("a task ends with {error}"))??;
        }
        Ok::<(), String>(())
    });
    local?;
    left::no_task(&runtime)?;
    Ok(AT_ONCE as u64)
}

async fn agent(random: &mut Random, shared: &Runtime) -> Result<(), String> {
    let is_custom = random.one_in(3);
    // Some have a runtime of their own, on the thread of the others or with one of its own.
    let own = match random.below(6) {
        0 => Some(Runtime::current()),
        1 => Some(Runtime::with_threads(1)),
        _ => None,
    };
    let may_shut_down = own.is_some();
    let runtime = own.unwrap_or_else(|| Ok(shared.clone())).map_err(|error| error.to_string())?;
    let spec = match is_custom {
        true => ModelSpec::from_json(json!({ "provider": "mine", "id": "m" })),
        false => ModelSpec::from_json(json!({ "provider": "scripted", "id": "s", "script": script(random) })),
    };
    let application = Arc::new(Application {
        random: Mutex::new(random.clone()),
        agent: Mutex::default(),
        held: Mutex::default(),
        subscriptions: Mutex::default(),
        odd: 1 + random.below(40),
        runtime: may_shut_down.then(|| runtime.clone()),
        was_shut_down: AtomicBool::default(),
        wrong: Mutex::default(),
    });
    let agent = Agent::builder(spec.map_err(|error| error.to_string())?).runtime(&runtime);
    let agent = match is_custom {
        // Set below, as a host of another language sets it.
        true => agent.provider(|_| {}).build(),
        false => agent.build(),
    };
    let agent = agent.map_err(|error| error.to_string())?;
    let options = json!({
        "max_turns": 4, "run_timeout_ms": 4000, "tool_timeout_ms": 500, "listener_timeout_ms": 300, "abort_grace_ms": 50,
        "first_byte_timeout_ms": 500, "idle_timeout_ms": 500, "max_retries": 1, "retry_base_ms": 1,
        "tool_execution": random.pick(&["parallel", "sequential"]),
    });
    agent.set_options(options.as_object().expect("options"), Spelling::Snake, &[]).map_err(|error| error.to_string())?;
    application.set_up(&agent).map_err(|error| error.to_string())?;
    if is_custom {
        agent.set_host_provider(None, Some(application.function())).map_err(|error| error.to_string())?;
    }
    *locked(&application.agent) = Some(agent.clone());
    for _ in 0..2 {
        let run = match agent.stream("go") {
            Err(error) if error.kind() == ErrorKind::InvalidState && application.was_shut_down.load(Ordering::SeqCst) => break,
            run => run.map_err(|error| format!("the next prompt is refused: {error}"))?,
        };
        check::run(&agent, run).await?;
        agent.wait_for_idle().await.map_err(|error| error.to_string())?;
        if agent.is_streaming() {
            return Err("the agent is busy after its run".to_owned());
        }
    }
    drop(locked(&application.agent).take());
    locked(&application.held).clear();
    if may_shut_down {
        // Once more, or for the first time.
        runtime.shutdown(Duration::ZERO);
    }
    let wrong = std::mem::take(&mut *locked(&application.wrong));
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join(", ")) }
}
