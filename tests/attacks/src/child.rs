//! The part of a child process with little of a resource: it is given a seed, and draws from it what it does.

use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use agent_loop::event::Listener;
use agent_loop::host::{HostAnswer, HostCall, HostTool, Spelling};
use agent_loop::{Agent, Error, ErrorKind, FnTool, ModelSpec, Runtime, ToolContext, ToolSpec};
use serde_json::{Value, json};

use crate::check::{self, SECRET};
use crate::limits::{self, Limit, Resource};
use crate::random::Random;
use crate::watch;

/// The first argument of such a process.
pub(crate) const NAME: &str = "--scarce";

/// Its exit status where the system does not limit it.
pub(crate) const NOT_LIMITED: i32 = 77;

/// What answers call: `limits` has the limit set, each `blocks` needs a thread.
pub(crate) const TOOLS: &[&str] = &["limits", "echo", "blocks", "blocks", "opens"];

/// How long a shutdown may take when nothing runs any more.
const SHUTDOWN: Duration = Duration::from_secs(20);

/// When there begins to be little.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum When {
    BeforeTheRuntime,
    BeforeTheRuns,
    InATool,
}

/// What such a process does.
struct Plan {
    limit: Limit,
    when: When,
    threads: usize,
    stack_bytes: usize,
    /// The agents' models: scripted, or behind one of the servers.
    models: Vec<Value>,
    ca_file: String,
    listens: bool,
}

impl Plan {
    /// From a seed, the ports of the servers, and the authority of the second one.
    fn read(arguments: &[String]) -> Option<Plan> {
        let [seed, plain, secure, ca_file] = arguments else { return None };
        let mut random = Random::of_case(seed.parse().ok()?, NAME, 0);
        // Small stacks could take all that a limit of memory leaves for the heap.
        let stack_bytes = *random.pick(&[16_usize, 128]) << 20;
        let at = |base_url: String| json!({ "provider": "p", "id": "m", "protocol": "openai_chat", "base_url": base_url });
        let model = |random: &mut Random| match random.below(4) {
            0 => scripted(),
            1 => at(format!("http://127.0.0.1:{plain}")),
            2 => at(format!("http://localhost:{plain}")),
            _ => at(format!("https://localhost:{secure}")),
        };
        Some(Plan {
            limit: Limit::draw(&mut random, stack_bytes as u64),
            when: *random.pick(&[When::BeforeTheRuntime, When::BeforeTheRuns, When::InATool]),
            threads: 1 + random.place(4),
            stack_bytes,
            models: (0..1 + random.below(5)).map(|_| model(&mut random)).collect(),
            ca_file: ca_file.clone(),
            listens: random.one_in(2),
        })
    }

    fn runtime(&self) -> Result<Runtime, Error> {
        Runtime::builder().threads(self.threads).stack_bytes(self.stack_bytes).build()
    }

    fn agent(&self, model: &Value, runtime: &Runtime, limit: &Shared) -> Result<Agent, Error> {
        let agent = Agent::builder(ModelSpec::from_json(model.clone())?).api_key(SECRET).runtime(runtime).build()?;
        let options = json!({
            "max_retries": 1, "retry_base_ms": 1, "max_turns": 3, "connect_timeout_ms": 10_000, "first_byte_timeout_ms": 10_000,
            "request_timeout_ms": 20_000, "run_timeout_ms": 40_000,
            "network": { "proxy": null, "no_proxy": ["*"], "ca_file": self.ca_file },
        });
        agent.set_options(options.as_object().expect("options"), Spelling::Snake, &[])?;
        let function = |name: &str, act: fn(&Shared) -> Result<Value, String>| {
            let limit = Arc::clone(limit);
            FnTool::new(name, "A tool.", json!({ "type": "object" }), move |_, _: ToolContext| {
                let answer = act(&limit);
                async { answer }
            })
        };
        agent.add_tool(function("limits", |limit| set(limit).map(|()| json!("limited")))?)?;
        agent.add_tool(function("echo", |_| Ok(json!("ran")))?)?;
        agent
            .add_tool(function("opens", |_| std::fs::read_dir("/").map(|_| json!("open")).map_err(|error| error.to_string()))?)?;
        let spec = json!({ "name": "blocks", "description": "A tool.", "parameters": { "type": "object" } });
        let execute = Arc::new(|call: HostCall| {
            std::thread::sleep(Duration::from_millis(5));
            drop(call.respond(HostAnswer::Json(json!("ran"))));
        });
        let spec = Arc::new(ToolSpec::from_json(spec)?);
        agent.add_tool(HostTool { spec, execute, prepare: None, prepared: "an object", approve: None, may_block: true })?;
        Ok(agent)
    }

    /// Runs all agents at the same time.
    async fn run(&self, runtime: &Runtime, limit: &Shared, fits: fn(Option<&Error>) -> Result<(), String>) -> Result<(), String> {
        let mut runs = tokio::task::JoinSet::new();
        for (number, model) in self.models.iter().enumerate() {
            let named = move |why: String| format!("agent {number}: {why}");
            let agent = self.agent(model, runtime, limit).map_err(|error| named(error.to_string()))?;
            let listens = self.listens;
            runs.spawn(async move {
                // On a thread of its own, while the run waits.
                let listener = Listener::Function { function: Arc::new(|_| Ok(())), blocking: true };
                let _subscription = listens.then(|| agent.add_listener(listener));
                let started = Instant::now();
                let error = match agent.stream("go") {
                    Ok(run) => check::run(&agent, run).await.map_err(named)?.error,
                    Err(error) => Some(error),
                };
                let took = |why: String| named(format!("after {} ms: {why}", started.elapsed().as_millis()));
                fits(error.as_ref()).map_err(took)?;
                if agent.is_streaming() { Err(named("the agent is busy after its run".to_owned())) } else { Ok(()) }
            });
        }
        while let Some(ended) = runs.join_next().await {
            ended.map_err(|error| format!("a task ends with {error}"))??;
        }
        Ok(())
    }

    fn play(&self) -> Result<(), String> {
        // It needs no descriptors, and has no further threads.
        let own = tokio::runtime::Builder::new_current_thread().enable_time().build().map_err(|error| error.to_string())?;
        // What the checks need is there before there is little.
        check::sendable(&[])?;
        let none = Shared::default();
        if self.when == When::BeforeTheRuntime {
            self.limit.set().map_err(|error| error.to_string())?;
        }
        let runtime = match self.runtime() {
            Ok(runtime) => Ok(runtime),
            Err(error) => {
                fits(Some(&error))?;
                self.limit.lift().map_err(|error| error.to_string())?;
                self.runtime()
            }
        };
        let runtime = runtime.map_err(|error| format!("no runtime when there is enough: {error}"))?;
        if self.when == When::BeforeTheRuns {
            self.limit.set().map_err(|error| error.to_string())?;
        }
        let in_tool: Shared = Arc::new(Mutex::new((self.when == When::InATool).then(|| self.limit.clone())));
        own.block_on(self.run(&runtime, &in_tool, fits))?;
        self.limit.lift().map_err(|error| error.to_string())?;
        // Nothing of it is left.
        let again = own.block_on(self.run(&runtime, &none, completed));
        again.map_err(|why| format!("when there is enough again: {why}"))?;
        if runtime.shutdown(SHUTDOWN) { Ok(()) } else { Err("the runtime does not end".to_owned()) }
    }
}

/// What a tool sets, the first time.
type Shared = Arc<Mutex<Option<Limit>>>;

fn set(limit: &Shared) -> Result<(), String> {
    let limit = limit.lock().unwrap_or_else(PoisonError::into_inner).take();
    limit.map_or(Ok(()), |limit| limit.set().map_err(|error| error.to_string()))
}

fn scripted() -> Value {
    let call = |(index, name): (usize, &&str)| {
        let call = json!({ "id": format!("call_{index}"), "name": name, "arguments": {} });
        json!({ "delta": { "tool_call": call } })
    };
    let mut tools: Vec<Value> = TOOLS.iter().enumerate().map(call).collect();
    tools.push(json!({ "end": {} }));
    json!({ "provider": "scripted", "id": "s", "script": [tools, [{ "delta": "It rains." }, { "end": {} }]] })
}

/// An error that a lack of something may end with.
fn fits(error: Option<&Error>) -> Result<(), String> {
    let Some(error) = error else { return Ok(()) };
    check::error_text(error.message())?;
    match error.kind() {
        ErrorKind::Io | ErrorKind::Connection | ErrorKind::Tls => Ok(()),
        kind => Err(format!("{kind:?}, where something is lacking: {error}")),
    }
}

/// No error.
fn completed(error: Option<&Error>) -> Result<(), String> {
    error.map_or(Ok(()), |error| Err(format!("{:?}: {error}", error.kind())))
}

/// Does what the arguments after the first say.
pub(crate) fn main(arguments: &[String]) -> ExitCode {
    let Some(plan) = Plan::read(arguments) else {
        println!("expected a seed, two ports and a file, got {arguments:?}");
        return ExitCode::FAILURE;
    };
    watch::start();
    if plan.limit.resource == Resource::Threads && !limits::may_limit_threads() {
        return ExitCode::from(NOT_LIMITED as u8);
    }
    let mut wrong: Vec<String> = plan.play().err().into_iter().collect();
    wrong.extend(watch::take_seen());
    if wrong.is_empty() {
        return ExitCode::SUCCESS;
    }
    let Plan { limit, when, threads, stack_bytes, models, .. } = &plan;
    println!("{limit:?} {when:?}, {threads} threads with stacks of {stack_bytes}, {} agents: {}", models.len(), wrong.join("\n"));
    ExitCode::FAILURE
}
