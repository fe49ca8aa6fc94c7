//! Plays a scenario through [`Loop`] as a simulation of discrete events: when nothing can be done, time jumps to the next sleep,
//! silence of the model or timer. It stands in for the agent too: its transcript, its queues and its state.

use std::rc::Rc;
use std::sync::Arc;

use agent_loop_proto::error::{Error, ErrorKind};
use agent_loop_proto::event::{Event, EventData};
use agent_loop_proto::hook::{HookAnswer, HookKind, Question};
use agent_loop_proto::hook_json::HookInput;
use agent_loop_proto::machine::{Action, Config, Input, Loop, Start, Timer, Tools, resumable};
use agent_loop_proto::message::{Message, Prompt};
use agent_loop_proto::partial::Partial;
use agent_loop_proto::queues::Queues;
use agent_loop_proto::result::RunResult;
use agent_loop_proto::tool::ToolSpec;
use serde_json::{Value, json};

use crate::behaviour::{Blocked, Frame, Owner, Task};
use crate::host::{self, Models, Stream};
use crate::scenario::{Behaviours, Record, Scenario, changed, messages, only, text};

/// A run.
pub(crate) struct Active {
    pub(crate) run: Loop,
    pub(crate) is_stateless: bool,
    pub(crate) model: Option<Stream>,
    pub(crate) timer_ms: Option<u64>,
    pub(crate) has_seen_abort: bool,
    pub(crate) events: Vec<Value>,
    pub(crate) result: Option<Box<RunResult>>,
}

pub(crate) struct Player {
    pub(crate) scenario: Rc<Scenario>,
    pub(crate) saves: bool,
    pub(crate) now_ms: u64,
    pub(crate) config: Config,
    pub(crate) models: Models,
    /// The places of the listeners that are subscribed, in order.
    pub(crate) subscribed: Vec<usize>,
    pub(crate) active: Option<Active>,
    pub(crate) runs: usize,
    pub(crate) tasks: Vec<Task>,
    pub(crate) record: Record,
    pub(crate) messages: Vec<Arc<Message>>,
    pub(crate) queues: Queues,
    pub(crate) streaming: Option<Partial>,
    pub(crate) pending: Vec<Arc<str>>,
    pub(crate) error: Option<Error>,
    pub(crate) listener_errors: u32,
}

/// Plays a scenario; returns the result in the form of `expected.json`. With `saves` the loop is saved and loaded after each
/// action.
pub(crate) fn play(scenario: Scenario, saves: bool) -> Result<Value, Error> {
    let specs = scenario.tools.iter().map(|tool| ToolSpec::from_json(Value::Object(tool.spec.clone())).map(Arc::new));
    let (mut models, tools) = (Models::default(), Tools::from(specs.collect::<Result<Vec<_>, _>>()?));
    let mut config = host::config(&scenario.model()?, &mut models, tools);
    host::set_options(&mut config, &scenario.options, &mut models)?;
    // The requests are recorded by that hook.
    config.hooks = scenario.hooks.keys().copied().chain([HookKind::OnPayload]).collect();
    let listeners = scenario.listeners.iter().enumerate();
    let mut player = Player {
        saves,
        now_ms: 0,
        config,
        models,
        subscribed: listeners.filter(|(_, listener)| !listener.later).map(|(place, _)| place).collect(),
        scenario: Rc::new(scenario),
        active: None,
        runs: 0,
        tasks: Vec::new(),
        record: Record::default(),
        messages: Vec::new(),
        queues: Queues::default(),
        streaming: None,
        pending: Vec::new(),
        error: None,
        listener_errors: 0,
    };
    let mut steps = Vec::new();
    for step in &Rc::clone(&player.scenario).steps {
        let (name, given) = only(step);
        let record = player.step(name, given);
        steps.push(record.unwrap_or_else(|error| json!({ "error": error.kind().as_str() })));
    }
    let state = player.state();
    Ok(player.record.to_json(&steps, &state))
}

impl Player {
    fn step(&mut self, name: &str, given: &Value) -> Result<Value, Error> {
        match name {
            "prompt" | "start" => self.start(Some(Prompt::from_json(given.clone())?), None)?,
            "resume" => self.start(None, None)?,
            "run" | "resume_context" => {
                let prompt = given.get("prompt").cloned().map(Prompt::from_json).transpose()?;
                self.start(prompt, Some(given))?;
            }
            "finish" => {}
            "has_queued_messages" => return Ok(json!({ name: self.has_queued() })),
            "state" => return Ok(json!({ name: self.state() })),
            "wait_log" => {
                self.pump(|player| player.record.log.iter().any(|line| line == text(given)));
                return Ok(json!({ name: "ok" }));
            }
            "wait_for_idle" => {
                self.pump(|player| player.active.is_none());
                return Ok(json!({ name: "ok" }));
            }
            _ => return self.act(name, given).map(|()| json!({ name: "ok" })),
        }
        if name == "start" {
            return Ok(json!({ name: "ok" }));
        }
        self.pump(|player| player.active.is_none());
        Ok(json!({ "outcome": self.record.runs.last().expect("a run")["result"]["outcome"] }))
    }

    /// Starts a run of the agent, or one over this context.
    fn start(&mut self, prompt: Option<Prompt>, context: Option<&Value>) -> Result<(), Error> {
        self.check_idle()?;
        let (mut config, mut transcript, mut queues) = (self.config.clone(), self.messages.clone(), self.queues.clone());
        if let Some(context) = context {
            config.settings.system_prompt = context["system_prompt"].as_str().unwrap_or_default().to_owned();
            config.is_stateless = true;
            queues = Queues::default();
            transcript = messages(&context["messages"])?.into_iter().map(Arc::new).collect();
        }
        let queued = match &prompt {
            Some(_) => Vec::new(),
            None => resumable(&transcript, &mut queues, &config.settings, config.is_stateless)?,
        };
        let prompts = prompt.map(|prompt| prompt.into_messages(self.now_ms)).unwrap_or_default();
        let is_stateless = config.is_stateless;
        let start = Start { run_id: "run".to_owned(), seed: 0, transcript, queues, prompts, queued };
        let mut run = Loop::new(config, start);
        for (name, message) in context.and_then(|context| context["queue"].as_object()).into_iter().flatten() {
            let message = Prompt::from_json(message.clone())?.0;
            run.handle(if name == "steer" { Input::Steer(message) } else { Input::FollowUp(message) });
        }
        if !is_stateless {
            (self.queues, self.error) = (Queues::default(), None);
        }
        self.runs += 1;
        let (model, timer_ms, has_seen_abort, events, result) = (None, None, false, Vec::new(), None);
        self.active = Some(Active { run, is_stateless, model, timer_ms, has_seen_abort, events, result });
        Ok(())
    }

    /// The active run of the agent.
    pub(crate) fn run(&mut self) -> Option<&mut Loop> {
        self.active.as_mut().filter(|active| !active.is_stateless).map(|active| &mut active.run)
    }

    pub(crate) fn check_idle(&mut self) -> Result<(), Error> {
        if self.run().is_some() { Err(Error::new(ErrorKind::Busy, "a run is active")) } else { Ok(()) }
    }

    /// Lets the run go on until the condition holds, or only another step of the scenario can open a gate.
    fn pump(&mut self, until: impl Fn(&Player) -> bool) {
        while !until(self) {
            let Some(active) = &mut self.active else { return };
            if let Some(action) = active.run.poll(self.now_ms) {
                let timer = if let Action::SetTimer(timer) = &action { *timer } else { None };
                self.execute(action);
                if self.saves {
                    self.save_and_load(timer);
                }
            } else if let Some(result) = active.result.take() {
                self.finish(&result);
            } else if !self.see_abort() && !self.go_on() && !self.pass_time() {
                return;
            }
        }
    }

    /// The loop goes on under a driver that has no timer: the loop has to ask for it before anything else.
    fn save_and_load(&mut self, set_last: Option<Timer>) {
        let Some(active) = &mut self.active else { return };
        active.run = Loop::load(&active.run.save().expect("a state")).expect("a saved loop");
        active.timer_ms = None;
        if set_last.is_some() {
            let again = active.run.poll(self.now_ms);
            assert!(matches!(again, Some(Action::SetTimer(timer)) if timer == set_last), "{set_last:?}, then {again:?}");
            // Not loaded once more: it would ask for this timer for ever.
            active.timer_ms = set_last.map(|timer| timer.at_ms);
        }
    }

    /// Functions that an abort cancels notice it, and so does the model.
    fn see_abort(&mut self) -> bool {
        let Some(active) = &mut self.active else { return false };
        if !active.run.is_interrupted() || std::mem::replace(&mut active.has_seen_abort, true) {
            return false;
        }
        let cancelled = |task: &&mut Task| task.run == self.runs && task.is_cancellable;
        self.tasks.iter_mut().filter(cancelled).for_each(|task| task.is_cancelled = true);
        true
    }

    /// Something that can go on now does: the task that has waited longest, or the model.
    fn go_on(&mut self) -> bool {
        let since = |task: &Task| task.ready_since(self.now_ms, &self.record.gates);
        let ready = self.tasks.iter().enumerate().filter_map(|(i, task)| since(task).map(|since| (since, i)));
        if let Some((_, i)) = ready.min() {
            let mut task = self.tasks.remove(i);
            match self.work(&mut task) {
                None => self.tasks.insert(i.min(self.tasks.len()), task),
                Some(result) => self.ended(&task, result),
            }
            return true;
        }
        let (now_ms, active) = (self.now_ms, self.active.as_mut().expect("a run"));
        let Some(model) = active.model.as_mut().filter(|model| model.until_ms.is_none_or(|at_ms| at_ms <= now_ms)) else {
            return false;
        };
        let (inputs, is_over) = model.play(now_ms);
        if is_over {
            active.model = None;
        }
        inputs.into_iter().for_each(|input| active.run.handle(input));
        true
    }

    /// Time jumps to the next moment at which something happens. A function that blocks on a gate holds it up until a time limit.
    fn pass_time(&mut self) -> bool {
        let active = self.active.as_ref().expect("a run");
        let is_held = self.tasks.iter().any(|task| matches!(task.blocked, Blocked::Gate(_)));
        let sleeps = self.tasks.iter().filter_map(|task| match task.blocked {
            Blocked::Until(at_ms) => Some(at_ms),
            _ => None,
        });
        let sleeps = sleeps.chain(active.model.as_ref().and_then(|model| model.until_ms)).filter(|_| !is_held);
        let next = sleeps.chain(active.timer_ms).filter(|at_ms| *at_ms > self.now_ms).min();
        assert!(next.is_some() || is_held, "nothing can happen any more: {:?}", active.run);
        self.now_ms = next.unwrap_or(self.now_ms);
        next.is_some()
    }

    fn execute(&mut self, action: Action) {
        let active = self.active.as_mut().expect("a run");
        match action {
            Action::Emit(event) => self.emit(&event),
            Action::SetTimer(timer) => active.timer_ms = timer.map(|timer| timer.at_ms),
            Action::CallModel(call) => active.model = Some(self.models.stream(call.call, call.model)),
            Action::CancelModel { .. } => active.model = None,
            Action::CallTool { call, name, arguments, .. } => {
                let index = self.config.tools.descriptions().iter().position(|tool| *tool.name == *name).expect("a tool");
                let frame = self.frame(index, 0, Value::Object(arguments));
                self.spawn(Owner::Tool(call, index), frame, true);
            }
            Action::CancelTool { call, .. } => {
                let is_it = |task: &&mut Task| task.run == self.runs && matches!(task.owner, Owner::Tool(own, _) if own == call);
                self.tasks.iter_mut().filter(is_it).for_each(|task| task.is_cancelled = true);
            }
            Action::AskHook { hook, question, is_cancellable, .. } => self.ask(hook, question, is_cancellable),
            Action::CancelHook { hook } => {
                let run = self.runs;
                self.tasks.retain(|task| task.run != run || !matches!(task.owner, Owner::Hook(own, _) if own == hook));
            }
            Action::Done(result) => active.result = Some(result),
        }
    }

    fn emit(&mut self, event: &Event) {
        let active = self.active.as_mut().expect("a run");
        active.events.push(json!(event));
        if active.is_stateless {
            return;
        }
        match &event.data {
            EventData::MessageEnd { message } => {
                self.messages.push(Arc::clone(message));
                self.streaming = self.streaming.take().filter(|_| message.as_assistant().is_none());
            }
            EventData::ToolExecutionStart { tool_call_id, .. } => self.pending.push(Arc::clone(tool_call_id)),
            EventData::ToolExecutionEnd { tool_call_id, .. } => self.pending.retain(|id| id != tool_call_id),
            EventData::AgentEnd { error, .. } => self.error.clone_from(error),
            _ => self.streaming = event.partial_handle().cloned().or(self.streaming.take()),
        }
        let mut errors = Vec::new();
        let scenario = Rc::clone(&self.scenario);
        for place in self.subscribed.clone() {
            let listener = &scenario.listeners[place];
            if self.subscribed.contains(&place) && listener.receives(event) {
                errors.extend(self.listen(&listener.behaviour, event).err());
            }
        }
        self.listener_errors += u32::try_from(errors.len()).expect("few errors");
        if !errors.is_empty() {
            let input = Input::ListenersFailed { event: event.kind().to_owned(), errors };
            self.active.as_mut().expect("a run").run.handle(input);
        }
    }

    fn listen(&mut self, behaviour: &[Value], event: &Event) -> Result<(), String> {
        for action in behaviour {
            match only(action) {
                ("throw", given) => return Err(text(given).to_owned()),
                ("log", given) => self.record.log.push(text(given).replace("$type", event.kind())),
                (name, given) => self.act_inside(name, given),
            }
        }
        Ok(())
    }

    fn ask(&mut self, hook: u32, question: Question, is_cancellable: bool) {
        let kind = question.kind();
        let (behaviour, value) = match (kind, question) {
            (None, Question::PrepareArguments { tool, arguments }) => {
                let index = self.config.tools.descriptions().iter().position(|known| *known.name == *tool);
                let prepare = index.and_then(|index| self.scenario.tools[index].prepare.as_ref());
                (prepare.map(Behaviours::next), Value::Object((*arguments).clone()))
            }
            (kind, question) => {
                let kind = kind.expect("a hook");
                let behaviour = self.scenario.hooks.get(&kind).map(Behaviours::next);
                let value = self.record.hook(kind.as_str(), HookInput(question).to_value(), behaviour.is_some());
                (behaviour, value)
            }
        };
        match behaviour {
            Some(behaviour) => self.spawn(Owner::Hook(hook, kind), Frame::new(0, behaviour, value, Value::Null), is_cancellable),
            None => {
                let answer = Ok(HookAnswer::Nothing);
                self.active.as_mut().expect("a run").run.handle(Input::HookAnswer { hook, answer });
            }
        }
    }

    fn spawn(&mut self, owner: Owner, frame: Frame, is_cancellable: bool) {
        let is_aborted = self.active.as_ref().is_some_and(|active| active.has_seen_abort);
        let is_cancelled = is_aborted && is_cancellable;
        let (run, frames, blocked) = (self.runs, vec![frame], Blocked::No);
        self.tasks.push(Task { owner, run, frames, blocked, is_cancellable, is_cancelled });
    }

    /// The middleware function of this depth, or the tool inside of all of them.
    fn frame(&self, tool: usize, depth: usize, arguments: Value) -> Frame {
        let behaviours = self.scenario.middleware.get(depth).unwrap_or(&self.scenario.tools[tool].calls);
        Frame::new(depth, behaviours.next(), Value::Null, arguments)
    }

    /// A task goes on until it blocks or ends.
    fn work(&mut self, task: &mut Task) -> Option<Result<Value, String>> {
        task.blocked = Blocked::No;
        loop {
            let frame = task.frames.last_mut().expect("a frame");
            let Some(action) = frame.actions.next() else {
                let value = std::mem::take(&mut frame.value);
                match task.end(Ok(value)) {
                    None => continue,
                    result => return result,
                }
            };
            let (name, given) = only(&action);
            match (name, task.owner) {
                ("return", _) => {
                    if let Some(result) = task.end(Ok(given.clone())) {
                        return Some(result);
                    }
                }
                ("throw", _) => return task.end(Err(text(given).to_owned())),
                ("never", _) => task.blocked = Blocked::Never,
                ("sleep_ms", _) if task.is_cancelled => {}
                ("sleep_ms", _) => task.blocked = Blocked::Until(self.now_ms + given.as_u64().expect("a number")),
                ("gate", _) => task.blocked = Blocked::Gate(text(given).to_owned()),
                ("update", Owner::Tool(call, _)) => {
                    let active = self.active.as_mut().filter(|_| task.run == self.runs);
                    let input = Input::ToolUpdate { call, value: given.clone() };
                    active.into_iter().for_each(|active| active.run.handle(input.clone()));
                }
                ("next", Owner::Tool(_, tool)) => {
                    let arguments = given.get("arguments").unwrap_or(&frame.arguments).clone();
                    let inner = self.frame(tool, frame.depth + 1, arguments);
                    task.frames.push(inner);
                }
                ("keep_last" | "append" | "roles", Owner::Hook(..)) => {
                    frame.value = changed(std::mem::take(&mut frame.value), name, given);
                }
                ("log", _) => self.record.log.push(text(given).to_owned()),
                _ => {
                    self.act_inside(name, given);
                    task.is_cancelled |= self.see_abort();
                }
            }
            if task.blocked != Blocked::No {
                return None;
            }
        }
    }

    fn ended(&mut self, task: &Task, result: Result<Value, String>) {
        let input = match task.owner {
            Owner::Tool(call, _) => Input::ToolDone { call, result },
            Owner::Hook(hook, kind) => Input::HookAnswer { hook, answer: result.and_then(|value| self.answer(kind, value)) },
        };
        if let Some(active) = self.active.as_mut().filter(|_| task.run == self.runs) {
            active.run.handle(input);
        }
    }
}
