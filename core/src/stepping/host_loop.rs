//! A loop that its host steps: [`HostLoop`].

use std::sync::Arc;

use agent_loop_proto::conversation::Conversation;
use agent_loop_proto::hook::{HookAnswer, HookKind, Question};
use agent_loop_proto::hook_json::HookInput;
use agent_loop_proto::json_error::shown;
use agent_loop_proto::machine::{Action, Input, ListenerReport, Loop, ModelCall, Start};
use serde_json::{Map, Value};

use super::models::{Models, http_request};
use super::open_call::{Asked, OpenCall, Progress};
use super::options::{Beginning, Options, Side};
use super::step::{HostAction, HostInput};
use crate::agent::run_id;
use crate::did_you_mean::Spelling;
use crate::error::{Error, ErrorKind};
use crate::event::EventData;
use crate::message::Prompt;
use crate::queues::Queue;

/// One run that its host steps: it polls for actions, carries them out, and hands in what came of them.
pub struct HostLoop {
    pub(super) options: Options,
    pub(super) models: Models,
    pub(super) conversation: Conversation<Loop>,
    /// What requests and questions are made with: in this turn, and from the next one on.
    pub(super) turn: Side,
    pub(super) next: Side,
    /// What is under way, in the order in which it began.
    pub(super) open: Vec<Open>,
    /// The timer that the loop wants, and the one that the host has.
    pub(super) wanted_ms: Option<u64>,
    pub(super) given_ms: Option<u64>,
    pub(super) now_ms: u64,
    pub(super) is_over: bool,
}

/// Something that the host does.
pub(super) enum Open {
    Model(OpenCall),
    /// A tool call or a question.
    Other(Action),
}

impl HostLoop {
    /// A run at its start, of the options of an agent and of `prompt` (without one the run resumes), `decisions`, `export`,
    /// `tools`, `hooks`, `providers`, `run_id` and `run_seed`.
    ///
    /// # Errors
    /// `invalid_argument`: an unknown option, a wrong value, a model that cannot be used, or something that authenticates, which
    /// a loop is not given; `invalid_state` when there is nothing to resume.
    pub fn new(given: Map<String, Value>, spelling: Spelling) -> Result<HostLoop, Error> {
        let (options, beginning) = Options::read(given, spelling)?;
        let Beginning { prompt, decisions, export, run_id: given_id, seed: given_seed } = beginning;
        let mut models = Models::default();
        let (config, side) = options.configuration(&mut models)?;
        let (random_id, seed) = run_id();
        let id = given_id.unwrap_or_else(|| random_id.to_string());
        let seed = given_seed.unwrap_or(seed);
        let mut conversation = Conversation::new(options.messages())?;
        if let Some(export) = export {
            conversation.import(export)?;
        }
        let start = match prompt {
            Some(prompt) => Start::new(id, seed, prompt.0),
            None => Start::decided(id, seed, decisions),
        };
        conversation.begin(config, start, |run| run)?;
        let (turn, next) = (side.clone(), side);
        let (wanted_ms, given_ms, now_ms, is_over) = (None, None, 0, false);
        Ok(HostLoop { options, models, conversation, turn, next, open: Vec::new(), wanted_ms, given_ms, now_ms, is_over })
    }

    /// The next thing to do, or `None` until there is a further input or the timer's time has come. `now_ms` is milliseconds
    /// since the epoch; it must not go back.
    pub fn poll(&mut self, now_ms: u64) -> Option<HostAction> {
        self.now_ms = now_ms;
        while let Some(action) = self.conversation.poll(now_ms) {
            if let Some(action) = self.take(action) {
                return Some(action);
            }
        }
        // Last, so that it comes at the same place in a loaded loop, which asks for its timer anew.
        if self.wanted_ms == self.given_ms || self.is_over {
            return None;
        }
        self.given_ms = self.wanted_ms;
        Some(HostAction::SetTimer { at_ms: self.wanted_ms })
    }

    /// Whether nothing follows.
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// What the host is doing: the model calls, tools and hooks that have no end yet, and the timer. For a host that loads.
    pub fn open_actions(&self) -> Vec<HostAction> {
        let open = self.open.iter().filter_map(|open| match open {
            Open::Model(call) => Some(call.action(&self.models)),
            Open::Other(action) => of_tool_or_hook(action.clone()),
        });
        open.chain(self.given_ms.map(|at_ms| HostAction::SetTimer { at_ms: Some(at_ms) })).collect()
    }

    /// The conversation that the run has left, for a next one in this or another language: messages, queues, and calls that wait
    /// for a decision.
    ///
    /// # Errors
    /// `busy` before the end of the run.
    pub fn export(&self) -> Result<String, Error> {
        if !self.is_over {
            let text = "the loop has not ended, and its conversation cannot be exported before: poll it until its action done, \
                        or keep the loop itself with save";
            return Err(Error::new(ErrorKind::Busy, text));
        }
        // All of its keys are texts.
        Ok(serde_json::to_string(&self.conversation.export()?).unwrap_or_default())
    }

    /// The hook that a question is for; `None` for one that is over.
    pub fn hook_of(&self, question_id: u32) -> Option<&'static str> {
        self.question(question_id).map(hook_name)
    }

    fn question(&self, question_id: u32) -> Option<&Question> {
        self.open.iter().find_map(|open| match open {
            Open::Other(Action::AskHook { question_id: own, question, .. }) if *own == question_id => Some(question),
            _ => None,
        })
    }

    /// The host's action for one of the loop's; `None` for what is done here.
    fn take(&mut self, action: Action) -> Option<HostAction> {
        match action {
            Action::Emit(event) => {
                if matches!(event.data, EventData::TurnStart) {
                    self.turn = self.next.clone();
                }
                Some(HostAction::Event { event })
            }
            Action::CallModel(call) => Some(self.call_model(call)),
            Action::CancelModel { call } => {
                self.close_model(call);
                Some(HostAction::CancelModel { call })
            }
            Action::CancelTool { call, abandoned } => {
                if abandoned {
                    self.close_tool(call);
                }
                Some(HostAction::CancelTool { call, abandoned })
            }
            Action::AskHook { question_id, question: Question::PrepareArguments { tool, .. }, of_next_turn, .. }
                if !self.prepares(&tool, of_next_turn) =>
            {
                self.conversation.handle(Input::HookAnswer { question_id, answer: Ok(Box::new(HookAnswer::Nothing)) });
                None
            }
            action @ (Action::CallTool { .. } | Action::AskHook { .. }) => {
                self.open.push(Open::Other(action.clone()));
                of_tool_or_hook(action)
            }
            Action::CancelHook { question_id } => {
                self.close_question(question_id);
                Some(HostAction::CancelHook { question_id })
            }
            Action::LeaveHook { question_id } => {
                self.close_question(question_id);
                Some(HostAction::LeaveHook { question_id })
            }
            // Only of a run that has a session, which a stepped one does not have.
            Action::Record(_) => None,
            Action::SetTimer(timer) => {
                self.wanted_ms = timer.map(|timer| timer.at_ms);
                None
            }
            Action::Done(result) => {
                self.is_over = true;
                self.open.clear();
                self.given_ms = None;
                Some(HostAction::Done { result })
            }
        }
    }

    fn prepares(&self, tool: &str, of_next_turn: bool) -> bool {
        let side = if of_next_turn { &self.next } else { &self.turn };
        side.preparing.iter().any(|name| name == tool)
    }

    fn call_model(&mut self, call: ModelCall) -> HostAction {
        let Side { headers, connect_timeout_ms, .. } = &self.turn;
        let asked = match self.models.endpoint(call.model) {
            Some(endpoint) => Asked::Http(Box::new(http_request(endpoint, &call, headers, *connect_timeout_ms))),
            None => Asked::Custom(Box::new(call.clone()), headers.clone()),
        };
        let open = OpenCall::new(&call, asked);
        let action = open.action(&self.models);
        self.open.push(Open::Model(open));
        action
    }

    fn close_model(&mut self, call: u32) {
        self.open.retain(|open| !matches!(open, Open::Model(own) if own.call == call));
    }

    fn close_tool(&mut self, call: u32) {
        self.open.retain(|open| !matches!(open, Open::Other(Action::CallTool { call: own, .. }) if *own == call));
    }

    fn close_question(&mut self, question_id: u32) {
        self.open.retain(|open| !matches!(open, Open::Other(Action::AskHook { question_id: own, .. }) if *own == question_id));
    }

    /// Hands in what happened, in canonical JSON. What belongs to a call that is over is ignored.
    ///
    /// # Errors
    /// `invalid_argument`: an unknown input, or a field that is wrong (names it); `invalid_state` for what comes too early.
    pub fn handle(&mut self, input: &Value, spelling: Spelling) -> Result<(), Error> {
        match HostInput::from_json(input)? {
            HostInput::ModelResponse { call, status, headers } => {
                let now_ms = self.now_ms;
                self.on_call(call, |open, models| open.respond(models, status, headers, now_ms))?;
            }
            HostInput::ModelChunk { call, chunk } => self.on_call(call, |open, models| open.push(models, chunk))?,
            HostInput::ModelEnd { call, error } => self.on_call(call, |open, models| open.end(models, error))?,
            HostInput::ToolUpdate { call, partial_result } => {
                self.conversation.handle(Input::ToolUpdate { call, value: partial_result });
            }
            HostInput::ToolDone { call, result, error } => {
                let result = match (result, error) {
                    (Some(_), Some(_)) => return Err(both("tool_done", "result")),
                    (_, Some(text)) => Err(text),
                    (result, None) => Ok(result.unwrap_or_default()),
                };
                self.close_tool(call);
                self.conversation.handle(Input::ToolDone { call, result });
            }
            HostInput::ToolSuspended { call, reason } => {
                self.close_tool(call);
                self.conversation.handle(Input::ToolSuspended { call, reason });
            }
            HostInput::HookAnswer { answer: Some(_), error: Some(_), .. } => return Err(both("hook_answer", "answer")),
            HostInput::HookAnswer { question_id, answer, error } => self.answer(question_id, answer.unwrap_or_default(), error),
            HostInput::ListenerFailed { event, error } => {
                self.conversation.handle(Input::ListenerReports { event, reports: vec![ListenerReport::Failed(error)] });
            }
            HostInput::Steer { message } => self.queue(Queue::Steering, "steer", message)?,
            HostInput::FollowUp { message } => self.queue(Queue::FollowUp, "follow_up", message)?,
            HostInput::ClearSteeringQueue {} => self.conversation.clear_queue(Queue::Steering),
            HostInput::StopAfterTurn {} => self.conversation.handle(Input::StopAfterTurn),
            HostInput::ClearFollowUpQueue {} => self.conversation.clear_queue(Queue::FollowUp),
            HostInput::Abort {} => self.conversation.handle(Input::Abort),
            HostInput::Configure { options } => {
                let (config, side) = self.options.change(options, spelling, &mut self.models)?;
                self.next = side;
                self.conversation.handle(Input::Configure(Arc::new(config)));
            }
        }
        Ok(())
    }

    /// Hands in bytes of the response to a `call_model`, as they come, cut anywhere. Bytes for a call that is over are ignored.
    ///
    /// # Errors
    /// `invalid_state` before the call's `model_response`.
    pub fn model_bytes(&mut self, call: u32, bytes: &[u8]) -> Result<(), Error> {
        self.on_call(call, |open, models| open.feed(models, bytes))
    }

    /// Lets a model call take something in, and the loop what came of it.
    fn on_call(&mut self, call: u32, take: impl FnOnce(&mut OpenCall, &Models) -> Result<Progress, Error>) -> Result<(), Error> {
        let is_it = |open: &&mut Open| matches!(open, Open::Model(own) if own.call == call);
        let Some(Open::Model(open)) = self.open.iter_mut().find(is_it) else {
            return Ok(());
        };
        let Progress { deltas, end } = take(open, &self.models)?;
        self.conversation.handle(match deltas.is_empty() {
            true => Input::ModelActivity { call },
            false => Input::ModelDeltas { call, deltas },
        });
        if let Some(result) = end {
            self.close_model(call);
            self.conversation.handle(Input::ModelEnd { call, result });
        }
        Ok(())
    }

    fn queue(&mut self, queue: Queue, argument: &str, message: Value) -> Result<(), Error> {
        let messages = Prompt::from_json_of(&format!("{argument}: message"), message)?.0;
        self.conversation.queue(queue, messages).map(drop)
    }

    fn answer(&mut self, question_id: u32, answer: Value, error: Option<String>) {
        let Some(question) = self.question(question_id) else {
            return;
        };
        let read = match error {
            Some(text) => Err(Error::callback(text)),
            None => read_answer(question, answer).map_err(Error::callback),
        };
        let (options, models) = (&self.options, &mut self.models);
        let answer = read.and_then(|answer| answer.resolved(|spec| models.add(options.other_model(spec)?)));
        self.close_question(question_id);
        self.conversation.handle(Input::HookAnswer { question_id, answer: answer.map(Box::new) });
    }
}

impl std::fmt::Debug for HostLoop {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HostLoop").field("open", &self.open.len()).field("is_over", &self.is_over).finish_non_exhaustive()
    }
}

/// The action of a tool call or of a question.
fn of_tool_or_hook(action: Action) -> Option<HostAction> {
    match action {
        Action::CallTool { call, id, name, arguments, idempotency_key } => {
            Some(HostAction::CallTool { call, tool_call_id: id, tool_name: name, arguments, idempotency_key })
        }
        Action::AskHook { question_id, question, .. } => {
            let hook = hook_name(&question).to_owned();
            Some(HostAction::AskHook { question_id, hook, input: HookInput(question) })
        }
        _ => None,
    }
}

fn hook_name(question: &Question) -> &'static str {
    match question {
        Question::PrepareArguments { .. } => "prepare_arguments",
        Question::NeedsApproval { .. } => "needs_approval",
        question => question.kind().map_or("", HookKind::as_str),
    }
}

/// Reads a hook's answer.
///
/// # Errors
/// A text that says what is wrong with it.
fn read_answer(question: &Question, answer: Value) -> Result<HookAnswer, String> {
    let unusable = |why: String| format!("its answer cannot be used: {why}");
    match (question, answer) {
        (Question::PrepareArguments { .. }, Value::Null) => Ok(HookAnswer::Nothing),
        (Question::PrepareArguments { .. }, Value::Object(arguments)) => Ok(HookAnswer::PrepareArguments(arguments)),
        (Question::PrepareArguments { .. }, other) => Err(format!("expected an object of arguments, got {}", shown(&other))),
        (Question::NeedsApproval { .. }, answer) => read_approval(answer).map(HookAnswer::NeedsApproval),
        (question, answer) => match question.kind() {
            Some(kind) => HookAnswer::from_json(kind, answer).map_err(unusable),
            None => Ok(HookAnswer::Nothing),
        },
    }
}

/// Reads the answer of a tool's `needs_approval`: the reason, if the call waits.
///
/// # Errors
/// A text that says what is wrong with it.
pub(crate) fn read_approval(answer: Value) -> Result<Option<String>, String> {
    match answer {
        Value::Null | Value::Bool(false) => Ok(None),
        Value::Bool(true) => Ok(Some(String::new())),
        Value::String(reason) => Ok(Some(reason)),
        other => Err(format!("expected true or false, or the reason, got {}", shown(&other))),
    }
}

fn both(input: &str, name: &str) -> Error {
    Error::invalid_argument(format!("{input}: give {name} or error, not both"))
}
