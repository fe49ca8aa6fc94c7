//! Runs a scenario: creates the agent, executes the steps, and records the results.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use agent_loop::{
    Agent, Context, HookContext, HookInput, HookKind, Message, ModelSpec, PendingCall, PreparedArguments, Prompt, Run, Spelling,
    Tool, ToolSet, ToolSpec,
};
use serde_json::{Map, Value, json};
use tokio::sync::Notify;

use crate::act::{Actor, End, Stage, object, only};
use crate::scenario::{self, Behaviours, Scenario};

/// The stage is made after the agent, whose tools and hooks act on it.
type Curtain = Arc<OnceLock<Arc<Stage>>>;

/// The recorded inputs of hooks.
type Record = Arc<Mutex<Vec<Value>>>;

pub(crate) async fn play(scenario: Scenario) -> Result<Value, String> {
    let mut model = json!({ "provider": "scripted", "id": "story", "script": scenario.model });
    model.as_object_mut().expect("an object").extend(scenario.spec.clone());
    let agent = Agent::with_spec(ModelSpec::from_json(model).map_err(|error| error.to_string())?);
    let curtain = Curtain::default();
    let tools = tools(&scenario, &curtain)?;
    agent.set_tools(tools.clone());
    agent.set_options(&scenario.options, Spelling::Snake, &[]).map_err(|error| error.to_string())?;
    let (requests, told) = (Record::default(), Record::default());
    hooks(&agent, &scenario, &curtain, &requests, &told)?;
    for link in &scenario.middleware {
        middleware(&agent, link.clone(), &curtain);
    }
    let stage = Stage::new(agent.clone(), scenario.listeners.clone());
    let _ = curtain.set(Arc::clone(&stage));
    let (mut runs, mut steps) = (Vec::new(), Vec::new());
    let mut background: Option<Run> = None;
    for step in &scenario.steps {
        let (name, given) = only(step);
        let record = match name {
            "prompt" => match Prompt::from_json(given.clone()).and_then(|prompt| agent.stream(prompt)) {
                Ok(run) => done(finish(run, &mut runs).await),
                Err(error) => failed(&error),
            },
            "resume" => match agent.stream_resume() {
                Ok(run) => done(finish(run, &mut runs).await),
                Err(error) => failed(&error),
            },
            "run" | "resume_context" => {
                let context = context(given, &tools)?;
                let queue = object(&given["queue"]);
                let filled = Arc::new(Notify::new());
                if !queue.is_empty() {
                    hold(&agent, &filled);
                }
                let run = match given.get("prompt") {
                    Some(prompt) => {
                        Prompt::from_json(prompt.clone()).and_then(|prompt| agent_loop::run(&context, prompt, &agent))
                    }
                    None => agent_loop::resume(&context, &agent),
                };
                match run {
                    Ok(run) => {
                        for (name, message) in queue {
                            let message = Prompt::from_json(message).map_err(|error| error.to_string())?;
                            let queued = if name == "steer" { run.steer(message) } else { run.follow_up(message) };
                            queued.map_err(|error| error.to_string())?;
                        }
                        filled.notify_one();
                        let outcome = done(finish(run, &mut runs).await);
                        agent.set_json_hook(HookKind::BeforeRun, None);
                        outcome
                    }
                    Err(error) => failed(&error),
                }
            }
            "start" => match Prompt::from_json(given.clone()).and_then(|prompt| agent.stream(prompt)) {
                Ok(run) => {
                    background = Some(run);
                    json!({ "start": "ok" })
                }
                Err(error) => failed(&error),
            },
            "finish" => match background.take() {
                Some(run) => done(finish(run, &mut runs).await),
                None => return Err("finish: no run was started".to_owned()),
            },
            "has_queued_messages" => json!({ "has_queued_messages": agent.has_queued_messages() }),
            "state" => json!({ "state": agent.state_json() }),
            _ => match stage.act(name, given).await {
                Ok(()) => json!({ name: "ok" }),
                Err(error) => failed(&error),
            },
        };
        steps.push(record);
    }
    Ok(json!({
        "steps": steps,
        "runs": runs,
        "requests": *requests.lock().unwrap(),
        "hooks": *told.lock().unwrap(),
        "log": stage.log(),
        "state": agent.state_json(),
    }))
}

/// Keeps runs from beginning until their queue is filled.
fn hold(agent: &Agent, filled: &Arc<Notify>) {
    let filled = Arc::clone(filled);
    agent.set_json_hook(
        HookKind::BeforeRun,
        Some(Arc::new(move |_, _| {
            let filled = Arc::clone(&filled);
            Box::pin(async move {
                filled.notified().await;
                Ok(Value::Null)
            })
        })),
    );
}

fn failed(error: &agent_loop::Error) -> Value {
    json!({ "error": error.kind().as_str() })
}

fn done(outcome: Value) -> Value {
    json!({ "outcome": outcome })
}

/// Reads a run to its end; gives its outcome.
async fn finish(mut run: Run, runs: &mut Vec<Value>) -> Value {
    let mut events = Vec::new();
    while let Some(event) = run.next().await {
        let mut event = json!(event);
        event["run_id"] = "run".into();
        events.push(event);
    }
    let result = run.outcome().await.expect("outside of callbacks");
    let outcome = json!(result.outcome);
    let mut result = json!(result);
    // `agent_end` has them.
    result.as_object_mut().expect("an object").remove("messages");
    runs.push(json!({ "events": events, "result": result }));
    outcome
}

fn context(given: &Value, tools: &ToolSet) -> Result<Context, String> {
    let list = given["messages"].as_array().cloned().unwrap_or_default();
    let messages = list.into_iter().map(Message::from_json).collect::<Result<_, _>>().map_err(|error| error.to_string())?;
    let system_prompt = given["system_prompt"].as_str().unwrap_or_default().to_owned();
    Ok(Context { system_prompt, messages, tools: tools.clone() })
}

/// A tool with the scenario's behaviours.
struct StoryTool {
    spec: ToolSpec,
    calls: Behaviours,
    prepare: Option<Behaviours>,
    called: AtomicUsize,
    prepared: AtomicUsize,
    curtain: Curtain,
}

fn tools(scenario: &Scenario, curtain: &Curtain) -> Result<ToolSet, String> {
    let mut set = ToolSet::default();
    for tool in &scenario.tools {
        let spec = ToolSpec::from_json(Value::Object(tool.spec.clone())).map_err(|error| error.to_string())?;
        let tool = StoryTool {
            spec,
            calls: tool.calls.clone(),
            prepare: tool.prepare.clone(),
            called: AtomicUsize::new(0),
            prepared: AtomicUsize::new(0),
            curtain: Arc::clone(curtain),
        };
        set.add(Arc::new(tool)).map_err(|error| error.to_string())?;
    }
    Ok(set)
}

impl Tool for StoryTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn prepare_arguments(&self, arguments: &Map<String, Value>, context: &HookContext) -> Option<PreparedArguments> {
        let behaviours = self.prepare.as_ref()?;
        let behaviour = scenario::nth(behaviours, self.prepared.fetch_add(1, Ordering::SeqCst));
        let (stage, context, arguments) = (stage(&self.curtain), context.clone(), Value::Object(arguments.clone()));
        Some(Box::pin(async move {
            match stage.behave(&behaviour, arguments, &Actor::Hook(&context)).await {
                End::Return(Value::Object(arguments)) => Ok(arguments),
                End::Return(other) => Err(format!("not an object: {other}")),
                End::Throw(text) => Err(text),
                End::Never => std::future::pending().await,
            }
        }))
    }

    fn start(&self, call: PendingCall) {
        let behaviour = scenario::nth(&self.calls, self.called.fetch_add(1, Ordering::SeqCst));
        let stage = stage(&self.curtain);
        tokio::spawn(call.scope().enter(async move {
            match stage.behave(&behaviour, Value::Null, &Actor::Tool(call.context())).await {
                End::Return(value) => call.respond(value),
                End::Throw(text) => call.fail(text),
                End::Never => stage.kept.lock().unwrap().push(call),
            }
        }));
    }
}

fn hooks(agent: &Agent, scenario: &Scenario, curtain: &Curtain, requests: &Record, told: &Record) -> Result<(), String> {
    for kind in HookKind::ALL.iter().copied() {
        let behaviours: Option<Behaviours> = match scenario.hooks.get(kind.as_str()) {
            Some(behaviours) => Some(serde_json::from_value(behaviours.clone()).map_err(|error| error.to_string())?),
            // The requests are recorded in every scenario.
            None if kind == HookKind::OnPayload => None,
            None => continue,
        };
        let (called, curtain) = (AtomicUsize::new(0), Arc::clone(curtain));
        let (requests, told) = (Arc::clone(requests), Arc::clone(told));
        agent.set_json_hook(
            kind,
            Some(Arc::new(move |input: HookInput, context: HookContext| {
                let input = input.to_value();
                if kind == HookKind::OnPayload {
                    requests.lock().unwrap().push(input["payload"].clone());
                }
                let behaviour =
                    behaviours.as_ref().map(|behaviours| scenario::nth(behaviours, called.fetch_add(1, Ordering::SeqCst)));
                if behaviour.is_some() {
                    told.lock().unwrap().push(json!({ "hook": kind.as_str(), "input": anonymous(input.clone()) }));
                }
                let stage = stage(&curtain);
                Box::pin(async move {
                    let begin = match kind {
                        HookKind::TransformContext | HookKind::ConvertToLlm => input["messages"].clone(),
                        _ => Value::Null,
                    };
                    match stage.behave(&behaviour.unwrap_or_default(), begin, &Actor::Hook(&context)).await {
                        End::Return(value) => Ok(value),
                        End::Throw(text) => Err(text),
                        End::Never => std::future::pending().await,
                    }
                })
            })),
        );
    }
    if let Some(unknown) = scenario.hooks.keys().find(|name| HookKind::parse(name).is_none()) {
        return Err(format!("there is no hook {unknown:?}"));
    }
    Ok(())
}

/// What a hook was told, without what `agent_end` and the requests have anyway.
fn anonymous(mut input: Value) -> Value {
    if let Some(map) = input.as_object_mut() {
        map.remove("payload");
        if map.contains_key("outcome") {
            map.remove("messages");
        }
    }
    input
}

fn middleware(agent: &Agent, behaviours: Behaviours, curtain: &Curtain) {
    let (called, curtain) = (AtomicUsize::new(0), Arc::clone(curtain));
    agent.add_middleware(Arc::new(move |call| {
        let behaviour = scenario::nth(&behaviours, called.fetch_add(1, Ordering::SeqCst));
        let stage = stage(&curtain);
        Box::pin(async move {
            match stage.behave(&behaviour, Value::Null, &Actor::Middleware(&call)).await {
                End::Return(value) => Ok(value),
                End::Throw(text) => Err(text),
                End::Never => std::future::pending().await,
            }
        })
    }));
}

fn stage(curtain: &Curtain) -> Arc<Stage> {
    Arc::clone(curtain.get().expect("the stage is made before the first step"))
}
