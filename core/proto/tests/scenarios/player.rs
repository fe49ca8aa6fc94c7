//! Plays a scenario through [`Loop`] as a simulation of discrete events: when nothing can be done, time jumps to the next sleep,
//! silence of the model or timer. It stands in for the driver, and for the agent's configuration and listeners.

use std::rc::Rc;
use std::sync::Arc;

use agent_loop_proto::conversation::Conversation;
use agent_loop_proto::conversation::export::Export;
use agent_loop_proto::error::{Error, ErrorKind};
use agent_loop_proto::event::Event;
use agent_loop_proto::gate::Rule;
use agent_loop_proto::hook::{HookAnswer, HookKind, Question};
use agent_loop_proto::hook_json::HookInput;
use agent_loop_proto::machine::{
    Action, Config, Input, ListenerLimit, ListenerReport, Loop, ModelCall, ModelEntry, Start, Tools,
};
use agent_loop_proto::message::Message;
use agent_loop_proto::model_spec::ModelSpec;
use agent_loop_proto::prompt::Prompt;
use agent_loop_proto::queues::{Delivery, Queue};
use agent_loop_proto::script::Script;
use agent_loop_proto::session::Rebuilt;
use agent_loop_proto::transcript::Constraints;
use serde_json::{Map, Value, json};

use crate::scenario::{Behaviours, Record, Scenario, Tool, changed, decisions, messages, only, text};
use crate::session::{ID, Journal};
use crate::tape::{Answers, Tape};

pub(crate) struct Player {
    scenario: Rc<Scenario>,
    saves: bool,
    /// Of the agent, if it has a session.
    journal: Option<Journal>,
    meddling: Meddling,
    polls: usize,
    now_ms: u64,
    config: Config,
    /// The options as they were given.
    options: Map<String, Value>,
    /// By the keys that the loop has for the models.
    scripts: Vec<Script>,
    answers: Answers,
    tape: Tape,
    agent: Conversation<Loop>,
    /// Of the last run, if it is a stateless one.
    context: Option<Conversation<Loop>>,
    events: Vec<Value>,
    timer_ms: Option<u64>,
    /// What the model is about to report, and when; and as the tape has it.
    reports: Vec<(u64, Input, Option<Value>)>,
    tasks: Vec<Task>,
    /// The idempotency keys of the run's calls.
    keys: Vec<(u32, Arc<str>)>,
    /// The places of the listeners that are subscribed, in order.
    subscribed: Vec<usize>,
    /// The places of those that never return.
    left: Vec<usize>,
    listener_errors: u64,
    record: Record,
}

/// Called before each action is asked for, with its number: for what may happen at any moment.
pub(crate) type Meddling = Box<dyn FnMut(usize, &mut Conversation<Loop>)>;

/// A function of the host that is at work: it takes its actions until it sleeps, blocks on a gate or ends.
struct Task {
    of: Of,
    /// Middleware, each inside of the one before it, and the tool inside of all; else one function.
    functions: Vec<Behaviours>,
    /// The actions that are left: of the first function, and of those that it has called.
    frames: Vec<std::vec::IntoIter<Value>>,
    /// What it returns.
    value: Value,
    blocked: Blocked,
    /// Whether an abort wakes it.
    is_cancellable: bool,
    is_cancelled: bool,
    /// Whether the tool's answer comes from elsewhere.
    is_suspended: bool,
}

#[derive(Clone, Copy)]
enum Of {
    /// The number of the call.
    Tool(u32),
    /// The number of the question; `None` for a tool's `prepare_arguments`.
    Hook(u32, Option<HookKind>),
    /// The number of the question about a tool's `needs_approval`.
    Approval(u32),
    /// The type of its event.
    Listener(&'static str),
}

#[derive(PartialEq)]
enum Blocked {
    No,
    Until(u64),
    Gate(String),
    Never,
}

/// Plays a scenario; gives the form of `expected.json`, and the tape. With `saves` the loop is saved and loaded after each
/// action.
pub(crate) fn play(scenario: Scenario, saves: bool) -> Result<(Value, Tape), Error> {
    play_meddled(scenario, saves, Box::new(|_, _| {}))
}

/// The same with a session; also gives its journal.
pub(crate) fn play_journaled(scenario: Scenario, saves: bool) -> Result<(Value, Journal), Error> {
    let mut player = Player::new(scenario, saves, Box::new(|_, _| {}))?;
    player.journal = Some(Journal::new());
    player.agent = Conversation::of_session(ID, &Rebuilt::default());
    let played = player.play()?;
    Ok((played, player.journal.take().expect("a journal")))
}

/// The same while something else happens.
pub(crate) fn play_meddled(scenario: Scenario, saves: bool, meddling: Meddling) -> Result<(Value, Tape), Error> {
    let mut player = Player::new(scenario, saves, meddling)?;
    let played = player.play()?;
    Ok((played, player.tape))
}

/// The tools that the model may call.
pub(crate) fn tools(scenario: &Scenario) -> Result<Tools, Error> {
    Ok(scenario.tools.iter().map(|tool| tool.spec().map(Arc::new)).collect::<Result<Vec<_>, _>>()?.into())
}

/// The answer of a tool or a hook, as a host that steps the loop hands it in.
fn taped(kind: &str, id: &str, number: u32, name: &str, result: &Result<Value, String>) -> Value {
    match result {
        Ok(value) => json!({ "type": kind, id: number, name: value }),
        Err(text) => json!({ "type": kind, id: number, "error": text }),
    }
}

/// The script gets the key that the loop has for its model.
fn add_model(scripts: &mut Vec<Script>, spec: &ModelSpec) -> Result<ModelEntry, Error> {
    let key = u32::try_from(scripts.len()).expect("few models");
    scripts.push(Script::of(spec)?);
    let constraints = Constraints::of_spec(spec, &spec.provider);
    let entry = ModelEntry::new(key, &spec.provider, &spec.provider, &spec.id);
    Ok(ModelEntry { prices: spec.cost.clone(), constraints, ..entry })
}

impl Player {
    fn new(scenario: Scenario, saves: bool, meddling: Meddling) -> Result<Player, Error> {
        let (mut scripts, mut answers, spec) = (Vec::new(), Answers::default(), scenario.model()?);
        answers.add(spec.script.as_ref());
        let mut config = Config { has_jitter: false, ..Config::new(spec.name(), add_model(&mut scripts, &spec)) };
        config.tools = tools(&scenario)?;
        // The requests are recorded by that hook.
        config.hooks = scenario.hooks.keys().copied().chain([HookKind::OnPayload]).collect();
        let scenario = Rc::new(scenario);
        let listeners = scenario.listeners.iter().enumerate();
        Ok(Player {
            scenario: Rc::clone(&scenario),
            saves,
            journal: None,
            meddling,
            polls: 0,
            now_ms: 0,
            config,
            options: Map::new(),
            scripts,
            answers,
            tape: Tape::default(),
            agent: Conversation::default(),
            context: None,
            events: Vec::new(),
            timer_ms: None,
            reports: Vec::new(),
            tasks: Vec::new(),
            keys: Vec::new(),
            subscribed: listeners.filter(|(_, listener)| !listener.later).map(|(place, _)| place).collect(),
            left: Vec::new(),
            listener_errors: 0,
            record: Record::default(),
        })
    }

    /// Takes the steps.
    fn play(&mut self) -> Result<Value, Error> {
        let scenario = Rc::clone(&self.scenario);
        self.set_options(&scenario.options)?;
        let mut steps = Vec::new();
        for step in &scenario.steps {
            steps.push(self.step(step).unwrap_or_else(|error| json!({ "error": error.kind().as_str() })));
            self.write_changes();
        }
        Ok(self.record.to_json(&steps, &self.state()))
    }

    /// What was changed between runs.
    fn write_changes(&mut self) {
        if let Some(journal) = &mut self.journal {
            journal.write(self.agent.take_records(), self.agent.messages(), true);
            if self.agent.active().is_none() {
                journal.check(&mut self.agent).expect("the journal has the conversation");
            }
        }
    }

    /// Takes a step; returns its record.
    fn step(&mut self, step: &Value) -> Result<Value, Error> {
        let (name, given) = only(step);
        match name {
            "prompt" | "start" => self.begin(name, Some(given), None, None)?,
            "resume" => self.begin(name, None, None, Some(given))?,
            "resume_if_queued" if self.agent.active().is_none() && !self.agent.has_queued() => return Ok(json!({ name: null })),
            "resume_if_queued" => {
                let start = Start::resume_if_queued("run", 0);
                self.tape.skip("a run that begins if a message waits");
                self.agent.begin(self.config.clone(), start, |run| run)?;
            }
            "run" | "resume_context" | "complete" => self.begin(name, given.get("prompt"), Some(given), Some(given))?,
            "finish" => {}
            "has_queued_messages" => return Ok(json!({ name: self.agent.has_queued() })),
            "state" => return Ok(json!({ name: self.state() })),
            "export" => return Ok(json!({ name: self.agent.export()? })),
            "wait_log" => self.play_until(|player| player.record.log.iter().any(|line| line == text(given))),
            "wait_for_idle" => self.play_until(|_| false),
            _ => self.act(name, given)?,
        }
        if !matches!(name, "prompt" | "resume" | "resume_if_queued" | "run" | "resume_context" | "complete" | "finish") {
            return Ok(json!({ name: "ok" }));
        }
        self.play_until(|_| false);
        Ok(json!({ "outcome": self.record.runs.last().expect("a run")["result"]["outcome"] }))
    }

    /// Begins a run of the agent, or one over this context; the name is that of the step.
    fn begin(
        &mut self,
        name: &str,
        prompt: Option<&Value>,
        context: Option<&Value>,
        decided: Option<&Value>,
    ) -> Result<(), Error> {
        let taped = self.beginning(prompt, context, decided.and_then(|given| given.get("decisions")));
        let prompt = prompt.cloned().map(Prompt::from_json).transpose()?;
        let start = match prompt {
            Some(prompt) => Start::new("run", 0, prompt.into_messages(self.now_ms)),
            None if name == "complete" => Start::one_call("run", 0),
            None => Start::decided("run", 0, decided.map(decisions).transpose()?.unwrap_or_default()),
        };
        let mut config = self.config.clone();
        self.context = None;
        let Some(context) = context else {
            self.agent.begin(config, start, |run| run)?;
            self.tape.begin(self.now_ms, taped);
            return Ok(());
        };
        config.settings.system_prompt = context["system_prompt"].as_str().unwrap_or_default().to_owned();
        config.is_stateless = true;
        let conversation = self.context.insert(Conversation::default());
        conversation.replace(messages(&context["messages"])?)?;
        conversation.begin(config, start, |run| run)?;
        self.tape.begin(self.now_ms, taped);
        if name == "complete" {
            self.tape.skip("one model call");
        }
        for (name, message) in context["queue"].as_object().into_iter().flatten() {
            let queue = if name == "steer" { Queue::Steering } else { Queue::FollowUp };
            conversation.queue(queue, Prompt::from_json(message.clone())?.0)?;
            self.tape.input(self.now_ms, 0, json!({ "type": name, "message": message }));
        }
        if context["abort"] == true {
            conversation.handle(Input::Abort);
        }
        Ok(())
    }

    /// What a run begins with, as a host that steps it gives it.
    fn beginning(&self, prompt: Option<&Value>, context: Option<&Value>, decisions: Option<&Value>) -> Map<String, Value> {
        let tool = |tool: &Tool| {
            let mut spec = tool.spec.clone();
            spec.extend(tool.prepare.is_some().then(|| ("prepare_arguments".to_owned(), true.into())));
            spec.extend(tool.approve.is_some().then(|| ("needs_approval".to_owned(), "ask".into())));
            Value::Object(spec)
        };
        let scenario = &self.scenario;
        let mut hooks: Vec<HookKind> = scenario.hooks.keys().copied().chain([HookKind::OnPayload]).collect();
        hooks.sort_by_key(|kind| *kind as u32);
        hooks.dedup();
        let model = scenario.model().map(|spec| ModelSpec { script: None, ..spec });
        let mut options = self.options.clone();
        let own = json!({
            "model": model.expect("a model"), "providers": ["scripted"], "run_id": "run", "hooks": hooks,
            "tools": scenario.tools.iter().map(tool).collect::<Vec<_>>(),
        });
        options.extend(own.as_object().cloned().unwrap_or_default());
        match context {
            Some(context) => {
                let of_context = [("system_prompt", &context["system_prompt"]), ("messages", &context["messages"])];
                options.extend(of_context.map(|(name, value)| (name.to_owned(), value.clone())));
            }
            None => options.extend(self.agent.export().map(|export| ("export".to_owned(), json!(export)))),
        }
        let start = [("prompt", prompt), ("decisions", decisions)];
        options.extend(start.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?.clone()))));
        options
    }

    /// Hands something in, and has it on the tape.
    fn hand_in(&mut self, input: Input, taped: Value) {
        self.tape.input(self.now_ms, self.events.len(), taped);
        self.conversation().handle(input);
    }

    /// Whose the last run is.
    fn conversation(&mut self) -> &mut Conversation<Loop> {
        self.context.as_mut().unwrap_or(&mut self.agent)
    }

    /// Lets the run go on to its end, or until the condition holds, or only another step of the scenario can open a gate.
    fn play_until(&mut self, is_enough: impl Fn(&Player) -> bool) {
        let mut goes_on = true;
        while goes_on && !is_enough(self) && self.conversation().active().is_some() {
            goes_on = self.poll() || self.work() || self.pass_time();
        }
    }

    /// The loop goes on.
    fn poll(&mut self) -> bool {
        self.write_changes();
        let (now_ms, saves) = (self.now_ms, self.saves);
        let conversation = self.context.as_mut().unwrap_or(&mut self.agent);
        (self.meddling)(self.polls, conversation);
        self.polls += 1;
        let action = self.conversation().poll(now_ms);
        // What comes of an event comes at once.
        self.tape.is_polled = !matches!(action, Some(Action::Emit(_)));
        let Some(action) = action else { return false };
        let timer = if let Action::SetTimer(timer) = &action { *timer } else { None };
        self.execute(action);
        if let Some(run) = self.conversation().active_mut().filter(|_| saves) {
            *run = Loop::load(&run.save().expect("a state")).expect("a saved loop");
            // It has to ask for the timer before anything else. Not loaded once more then: it would ask for ever.
            let again = timer.and_then(|_| run.poll(now_ms));
            assert!(timer.is_none() || matches!(again, Some(Action::SetTimer(set)) if set == timer), "{timer:?}, then {again:?}");
            self.timer_ms = timer.map(|timer| timer.at_ms);
        }
        true
    }

    fn execute(&mut self, action: Action) {
        match action {
            Action::Emit(event) => self.emit(&event),
            Action::Record(records) => {
                let journal = self.journal.as_mut().expect("only a session has a journal");
                journal.write(records, self.agent.messages(), false);
            }
            Action::SetTimer(timer) => self.timer_ms = timer.map(|timer| timer.at_ms),
            Action::CallModel(ModelCall { call, model, .. }) => {
                let inputs = self.scripts[model as usize].next_inputs(call, self.now_ms);
                let error = match inputs.last() {
                    Some((_, Input::ModelEnd { result: Err(error), .. })) => json!(error),
                    _ => Value::Null,
                };
                let taped = self.answers.next(model as usize, call, error);
                assert_eq!(inputs.len(), taped.len(), "{taped:?}");
                self.reports = inputs.into_iter().zip(taped).map(|((at_ms, input), taped)| (at_ms, input, taped)).collect();
            }
            Action::CancelModel { .. } => self.reports.clear(),
            Action::CallTool { call, name, idempotency_key, .. } => {
                let tool = self.scenario.tools.iter().find(|tool| tool.spec["name"] == *name).expect("a tool");
                let functions = self.scenario.middleware.iter().chain([&tool.calls]).cloned().collect();
                self.keys.push((call, idempotency_key));
                self.tasks.push(self.task(Of::Tool(call), functions, Value::Null, true));
            }
            Action::CancelTool { call, .. } => {
                let is_it = |task: &&mut Task| matches!(task.of, Of::Tool(own) if own == call);
                self.tasks.iter_mut().filter(is_it).for_each(|task| task.is_cancelled = true);
            }
            Action::AskHook { question_id, question, is_cancellable, .. } => self.ask(question_id, question, is_cancellable),
            Action::CancelHook { question_id } | Action::LeaveHook { question_id } => {
                self.tasks.retain(|task| !matches!(task.of, Of::Hook(own, _) | Of::Approval(own) if own == question_id))
            }
            Action::Done(result) => {
                self.record.run(std::mem::take(&mut self.events), json!(result));
                // What an abandoned function still does is not part of a scenario.
                self.tasks.clear();
                self.keys.clear();
                self.timer_ms = None;
            }
        }
    }

    /// A function begins to work; without another end it returns this value.
    fn task(&self, of: Of, functions: Vec<Behaviours>, value: Value, is_cancellable: bool) -> Task {
        let frames = vec![functions[0].next().into_iter()];
        Task { of, functions, frames, value, blocked: Blocked::No, is_cancellable, is_cancelled: false, is_suspended: false }
    }

    fn ask(&mut self, question_id: u32, question: Question, is_cancellable: bool) {
        let kind = question.kind();
        let (behaviours, value) = match question {
            Question::PrepareArguments { tool, arguments } => {
                let tool = self.scenario.tools.iter().find(|known| known.spec["name"] == *tool);
                (tool.and_then(|tool| tool.prepare.as_ref()), Value::Object((*arguments).clone()))
            }
            Question::NeedsApproval { tool, .. } => {
                let tool = self.scenario.tools.iter().find(|known| known.spec["name"] == *tool);
                let approve = tool.and_then(|tool| tool.approve.clone()).expect("a function that is asked");
                return self.tasks.push(self.task(Of::Approval(question_id), vec![approve], Value::Null, is_cancellable));
            }
            question => {
                let (kind, input) = (kind.expect("a hook"), HookInput(question).to_value());
                let behaviours = self.scenario.hooks.get(&kind);
                (behaviours, self.record.hook(kind.as_str(), input, behaviours.is_some()))
            }
        };
        match behaviours.cloned() {
            Some(behaviours) => self.tasks.push(self.task(Of::Hook(question_id, kind), vec![behaviours], value, is_cancellable)),
            None => {
                let input = Input::HookAnswer { question_id, answer: Ok(Box::new(HookAnswer::Nothing)) };
                // Such hosts are asked for arguments only where a tool prepares them.
                match kind {
                    Some(_) => self.hand_in(input, json!({ "type": "hook_answer", "question_id": question_id })),
                    None => self.conversation().handle(input),
                }
            }
        }
    }

    /// The first function that can go on does, until it blocks or ends.
    fn work(&mut self) -> bool {
        let is_aborted = self.conversation().active().is_some_and(Loop::is_interrupted);
        let wakes = |task: &Task| task.is_cancelled || (is_aborted && task.is_cancellable);
        let can_go_on = |task: &Task| match &task.blocked {
            Blocked::No => true,
            Blocked::Until(at_ms) => *at_ms <= self.now_ms || wakes(task),
            Blocked::Gate(name) => self.record.gates.contains(name),
            Blocked::Never => false,
        };
        let Some(place) = self.tasks.iter().position(can_go_on) else { return false };
        let mut task = self.tasks.remove(place);
        match (self.behave(&mut task), task.of) {
            (None, _) => self.tasks.push(task),
            (Some(_), Of::Tool(_)) if task.is_suspended => {}
            (Some(result), Of::Tool(call)) => {
                let taped = taped("tool_done", "call", call, "result", &result);
                self.hand_in(Input::ToolDone { call, result }, taped);
            }
            (Some(result), Of::Hook(question_id, kind)) => {
                let taped = taped("hook_answer", "question_id", question_id, "answer", &result);
                let answer = result.and_then(|value| self.answer(kind, value));
                let answer = answer.map(Box::new).map_err(Error::callback);
                self.hand_in(Input::HookAnswer { question_id, answer }, taped);
            }
            (Some(result), Of::Approval(question_id)) => {
                let taped = taped("hook_answer", "question_id", question_id, "answer", &result);
                let reason = |value| match value {
                    Value::String(reason) => Some(reason),
                    value => (value == Value::Bool(true)).then(String::new),
                };
                let answer = result.map(|value| Box::new(HookAnswer::NeedsApproval(reason(value)))).map_err(Error::callback);
                self.hand_in(Input::HookAnswer { question_id, answer }, taped);
            }
            (Some(_), Of::Listener(_)) => unreachable!("it does not block"),
        }
        true
    }

    /// Takes the actions of a task; returns its result when it ends.
    fn behave(&mut self, task: &mut Task) -> Option<Result<Value, String>> {
        task.blocked = Blocked::No;
        while let Some(frame) = task.frames.last_mut() {
            let Some(action) = frame.next() else {
                task.frames.pop();
                continue;
            };
            match (only(&action), task.of) {
                (("return", given), _) => {
                    task.value = given.clone();
                    task.frames.pop();
                }
                // It is the failure of the middleware around it, too.
                (("throw", given), _) => return Some(Err(text(given).to_owned())),
                (("suspend", given), Of::Tool(call)) => {
                    task.is_suspended = true;
                    let taped = json!({ "type": "tool_suspended", "call": call, "reason": given });
                    self.hand_in(Input::ToolSuspended { call, reason: text(given).to_owned() }, taped);
                    return Some(Ok(Value::Null));
                }
                (("log_key", _), Of::Tool(call)) => {
                    let key = self.keys.iter().find(|(number, _)| *number == call).map(|(_, key)| key.to_string());
                    self.record.log.push(key.expect("a call"));
                }
                (("never", _), _) => task.blocked = Blocked::Never,
                (("sleep_ms", given), _) => task.blocked = Blocked::Until(self.now_ms + given.as_u64().expect("a number")),
                (("gate", given), _) => task.blocked = Blocked::Gate(text(given).to_owned()),
                (("update", given), Of::Tool(call)) => {
                    let taped = json!({ "type": "tool_update", "call": call, "partial_result": given });
                    self.hand_in(Input::ToolUpdate { call, value: given.clone() }, taped);
                }
                (("next", _), _) => {
                    task.value = Value::Null;
                    task.frames.push(task.functions[task.frames.len()].next().into_iter());
                }
                ((name @ ("keep_last" | "append" | "roles"), given), _) => task.value = changed(task.value.take(), name, given),
                (("log", given), Of::Listener(event)) => self.record.log.push(text(given).replace("$type", event)),
                ((name, given), _) => self.act_inside(name, given),
            }
            if task.blocked != Blocked::No {
                return None;
            }
        }
        Some(Ok(task.value.take()))
    }

    /// A hook's answer, as the loop takes it.
    fn answer(&mut self, kind: Option<HookKind>, value: Value) -> Result<HookAnswer, String> {
        let answer = match kind {
            Some(kind) => HookAnswer::from_json(kind, value).map_err(|why| format!("its answer cannot be used: {why}"))?,
            None => HookAnswer::PrepareArguments(value.as_object().ok_or("not an object")?.clone()),
        };
        let (scripts, answers) = (&mut self.scripts, &mut self.answers);
        let add = |spec: &ModelSpec| {
            answers.add(spec.script.as_ref());
            add_model(scripts, spec)
        };
        answer.resolved(add).map_err(|error| error.message().to_owned())
    }

    /// The model reports, or time jumps to the next moment at which something happens. A function at a gate holds it up until a
    /// time limit.
    fn pass_time(&mut self) -> bool {
        if self.reports.first().is_some_and(|(at_ms, ..)| *at_ms <= self.now_ms) {
            let (_, input, taped) = self.reports.remove(0);
            match taped {
                Some(taped) => self.hand_in(input, taped),
                None => self.conversation().handle(input),
            }
            return true;
        }
        let is_held = self.tasks.iter().any(|task| matches!(task.blocked, Blocked::Gate(_)));
        let sleeps = |task: &Task| if let Blocked::Until(at_ms) = task.blocked { Some(at_ms) } else { None };
        let report = self.reports.first().map(|(at_ms, ..)| *at_ms);
        let happens = self.tasks.iter().filter_map(sleeps).chain(report).filter(|_| !is_held);
        let next = happens.chain(self.timer_ms).filter(|at_ms| *at_ms > self.now_ms).min();
        assert!(next.is_some() || is_held, "nothing can happen any more: {:?}", self.conversation());
        self.now_ms = next.unwrap_or(self.now_ms);
        next.is_some()
    }

    fn emit(&mut self, event: &Event) {
        self.events.push(json!(event));
        let (scenario, mut reports) = (Rc::clone(&self.scenario), Vec::new());
        let is_agents = self.context.is_none();
        for place in self.subscribed.clone().into_iter().filter(|_| is_agents) {
            let listener = &scenario.listeners[place];
            if self.subscribed.contains(&place) && !self.left.contains(&place) && listener.receives(event) {
                let function = vec![vec![listener.behaviour.clone()].into()];
                match self.behave(&mut self.task(Of::Listener(event.kind()), function, Value::Null, true)) {
                    Some(result) => reports.extend(result.err().map(ListenerReport::Failed)),
                    None => {
                        self.tape.skip("a listener that does not return");
                        self.left.push(place);
                        let limit = self.wait_for_listener();
                        reports.push(ListenerReport::Left { listener: place as u64 + 1, limit });
                    }
                }
            }
        }
        self.listener_errors += reports.len() as u64;
        // Such a host hands them in one at a time, each in front of those before it.
        for report in reports.iter().rev() {
            if let ListenerReport::Failed(error) = report {
                self.tape.is_polled = false;
                let taped = json!({ "type": "listener_failed", "event": event.kind(), "error": error });
                self.tape.input(self.now_ms, self.events.len(), taped);
            }
        }
        self.agent.handle(Input::ListenerReports { event: event.kind().to_owned(), reports });
    }

    /// Lets time pass until the run leaves a listener that never returns.
    fn wait_for_listener(&mut self) -> ListenerLimit {
        let (called_ms, mut now_ms) = (self.now_ms, self.now_ms);
        let run = self.agent.active_mut().expect("a run that emits");
        loop {
            let limit = run.listener_limit(called_ms, now_ms);
            let run_ms = run.run_deadline_ms().filter(|_| !run.is_interrupted());
            now_ms = limit.map(|limit| limit.at_ms).into_iter().chain(run_ms).min().expect("a limit");
            if let Some(limit) = limit.filter(|limit| limit.at_ms <= now_ms) {
                self.now_ms = now_ms;
                return limit;
            }
            run.check_limits(now_ms);
        }
    }

    /// An action inside of a listener, tool or hook. A failure is logged.
    fn act_inside(&mut self, name: &str, given: &Value) {
        let result = match name {
            "prompt" | "resume" | "resume_if_queued" | "wait_for_idle" => {
                Err(Error::new(ErrorKind::InvalidState, "not inside of a callback"))
            }
            _ => self.act(name, given),
        };
        if let Err(error) = result {
            self.record.log.push(format!("{name}: {}", error.kind()));
        }
    }

    /// The actions that are allowed everywhere.
    fn act(&mut self, name: &str, given: &Value) -> Result<(), Error> {
        match name {
            "steer" | "follow_up" => drop(self.queue(name, given)?),
            "log_steer" | "log_follow_up" => {
                let method = name.trim_start_matches("log_");
                let delivery = self.queue(method, given)?;
                self.record.log.push(format!("{method}: {}", delivery.as_str()));
            }
            "abort" => {
                self.agent.handle(Input::Abort);
                self.tape_of_agent(json!({ "type": "abort" }));
            }
            "stop_after_turn" => {
                self.agent.handle(Input::StopAfterTurn);
                self.tape_of_agent(json!({ "type": "stop_after_turn" }));
            }
            "clear_steering_queue" | "clear_follow_up_queue" | "clear_all_queues" => {
                for (queue, clear) in [(Queue::Steering, "clear_steering_queue"), (Queue::FollowUp, "clear_follow_up_queue")] {
                    if name == clear || name == "clear_all_queues" {
                        self.agent.clear_queue(queue);
                        self.tape_of_agent(json!({ "type": clear }));
                    }
                }
            }
            "set" => {
                self.set_options(given.as_object().expect("options"))?;
                self.tape_of_agent(json!({ "type": "configure", "options": given }));
                self.agent.handle(Input::Configure(Arc::new(self.config.clone())));
            }
            "reset" => self.agent.reset()?,
            "forget" => self.agent.forget(given.as_str().map(Rule::new).transpose()?.as_ref())?,
            "from_export" => self.agent.import(Export::from_json(given.clone())?)?,
            "append_message" => self.agent.append([Message::from_json(given.clone())?])?,
            "replace_messages" | "clear_messages" => self.agent.replace(messages(given)?)?,
            "log" => self.record.log.push(text(given).to_owned()),
            "log_queued" => self.record.log.push(format!("queued: {}", self.agent.has_queued())),
            "log_state" => self.record.log_state(&self.state()),
            "open" => self.record.gates.push(text(given).to_owned()),
            "subscribe" | "unsubscribe" => {
                let place = self.scenario.listener(given);
                self.subscribed.retain(|subscribed| *subscribed != place);
                self.subscribed.extend((name == "subscribe").then_some(place));
            }
            _ => panic!("unknown action {name:?}"),
        }
        Ok(())
    }

    fn queue(&mut self, method: &str, given: &Value) -> Result<Delivery, Error> {
        let queue = if method == "steer" { Queue::Steering } else { Queue::FollowUp };
        let delivery = self.agent.queue(queue, Prompt::from_json(given.clone())?.0)?;
        if delivery == Delivery::Joined {
            self.tape_of_agent(json!({ "type": method, "message": given }));
        }
        Ok(delivery)
    }

    /// Has something on the tape that the agent's run takes in.
    fn tape_of_agent(&mut self, taped: Value) {
        if self.agent.active().is_some() {
            self.tape.input(self.now_ms, self.events.len(), taped);
        }
    }

    /// Sets options by their canonical names.
    fn set_options(&mut self, options: &Map<String, Value>) -> Result<(), Error> {
        for (name, value) in options {
            if name != "messages" {
                self.options.insert(name.clone(), value.clone());
            }
            if name == "fallbacks" {
                let specs = value.as_array().into_iter().flatten().cloned().map(ModelSpec::from_json);
                let add = |spec: ModelSpec| {
                    self.answers.add(spec.script.as_ref());
                    (spec.name(), add_model(&mut self.scripts, &spec))
                };
                self.config.fallbacks = specs.collect::<Result<Vec<_>, _>>()?.into_iter().map(add).collect();
            } else if name == "messages" {
                self.agent.replace(messages(value)?)?;
            } else {
                assert!(self.config.settings.set_option(name, value, name)?, "there is no option {name}");
            }
        }
        Ok(())
    }

    fn state(&self) -> Value {
        let tools = self.config.tools.descriptions().iter().map(|tool| tool.name.as_str());
        let model = self.config.model_name.clone();
        json!(self.agent.state(&self.config.settings, model, tools, self.listener_errors))
    }
}
