//! The tool calls of one message: prepared, run concurrently or sequentially, each answered exactly once.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::ask::{Patience, Unanswered};
use super::prepare::{Prepared, Preparing};
use super::turn::Phase;
use super::{Action, HookAnswer, HookKind, Loop, Out, Progress, Question};
use crate::event::{EventData, PartialResult};
use crate::hook::{AfterToolCall, ToolOverride};
use crate::message::{Message, ToolCall, ToolResultMessage};
use crate::queues::{Queue, SteeringPolicy};
use crate::tool::{ExecutionMode, ToolOutput};

use Progress::{Blocked, Made};

pub(super) const CUT: &str = "the message was cut off by the output limit, so this call was not executed; make the call again";
pub(super) const SKIPPED: &str = "skipped because of a queued user message, which comes next";
pub(super) const ABORTED: &str = "aborted";

/// What a tool reports.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) enum Reply {
    Update(Value),
    Done(Result<Value, String>),
}

/// The calls of a message, in the order that the model made them.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Batch {
    pub(super) calls: Vec<Call>,
    is_sequential: bool,
    /// Whether calls are executed; not those of a cut message.
    pub(super) executes: bool,
    /// Whether steering is polled between calls.
    polls: bool,
    stage: Stage,
    /// The next call to start, or whose result is next.
    next: usize,
    /// Prepared calls that do not run yet.
    waiting: Vec<usize>,
    /// By the number of the launch: the call, and its time limit if it has one.
    running: BTreeMap<u32, Running>,
    /// When calls that do not react to an abort are abandoned.
    grace_ms: Option<u64>,
    results: Vec<Arc<Message>>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Running {
    call: usize,
    limit: Option<Limit>,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Limit {
    /// Whether it is the tool's own.
    is_own: bool,
    ms: u64,
    at_ms: u64,
}

#[derive(Debug, Serialize, Deserialize)]
enum Stage {
    /// `tool_execution_start` of the next call.
    Start,
    /// Everything that can keep it from running.
    Prepare(Preparing),
    /// Launch calls and wait for their replies.
    Run,
    /// A call has its answer; a hook may change it.
    After(Answered),
    /// The next result joins the transcript.
    Result,
    /// Steering is polled; then the batch goes on.
    Poll(Next),
}

/// What follows a poll.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
enum Next {
    Start,
    Run,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Answered {
    call: usize,
    output: ToolOutput,
    is_error: bool,
}

/// One call.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Call {
    pub(super) id: Arc<str>,
    pub(super) name: Arc<str>,
    /// The model's own.
    pub(super) arguments: Arc<Map<String, Value>>,
    pub(super) raw_arguments: Option<String>,
    started_ms: u64,
    /// What the tool gets, once that is known.
    prepared: Option<Map<String, Value>>,
    /// What the tool got, where a hook is asked about its answer.
    given: Option<Map<String, Value>>,
    number: Option<u32>,
    answer: Option<(ToolOutput, bool)>,
}

impl Batch {
    /// When the next limit passes.
    pub(super) fn deadline_ms(&self) -> Option<u64> {
        match self.stage {
            // While a hook is asked, limits are looked at after its answer.
            Stage::Run if self.grace_ms.is_some() => self.grace_ms,
            Stage::Run => self.running.values().filter_map(|running| running.limit.map(|limit| limit.at_ms)).min(),
            _ => None,
        }
    }
}

impl Loop {
    pub(super) fn begin_batch(&mut self, executes: bool) -> Progress {
        let Some(summary) = &self.summary else {
            return self.go(Phase::EndTurn);
        };
        let made: Vec<ToolCall> = summary.message.as_assistant().into_iter().flat_map(|m| m.tool_calls().cloned()).collect();
        let settings = &self.config.settings;
        let mode = |call: &ToolCall| self.config.tools.get(&call.name).and_then(|tool| tool.execution_mode);
        let is_sequential = settings.tool_execution == ExecutionMode::Sequential
            || made.iter().any(|call| mode(call) == Some(ExecutionMode::Sequential));
        // Nothing of a cut message runs, so there is nothing to skip.
        let polls = executes && settings.steering_policy == SteeringPolicy::SkipRemaining;
        let calls = made.into_iter().map(|call| Call {
            id: call.id.into(),
            name: call.name.into(),
            arguments: call.arguments,
            raw_arguments: call.raw_arguments,
            started_ms: 0,
            prepared: None,
            given: None,
            number: None,
            answer: None,
        });
        self.batch = Some(Batch {
            calls: calls.collect(),
            is_sequential,
            executes,
            polls,
            stage: Stage::Start,
            next: 0,
            waiting: Vec::new(),
            running: BTreeMap::new(),
            grace_ms: None,
            results: Vec::new(),
        });
        self.go(Phase::Tools)
    }

    pub(super) fn step_batch(&mut self) -> Progress {
        // Taken out while a step works on it.
        let Some(mut batch) = self.batch.take() else {
            return self.go(Phase::EndTurn);
        };
        let progress = match std::mem::replace(&mut batch.stage, Stage::Run) {
            Stage::Start => self.start_call(&mut batch),
            Stage::Prepare(preparing) => self.prepare(&mut batch, preparing),
            Stage::Run => self.run_calls(&mut batch),
            Stage::After(answered) => self.after_call(&mut batch, answered),
            Stage::Result => {
                if batch.next >= batch.calls.len() {
                    return self.end_batch(batch);
                }
                self.emit_result(&mut batch)
            }
            Stage::Poll(next) => self.poll_in_batch(&mut batch, next),
        };
        self.batch = Some(batch);
        progress
    }

    fn end_batch(&mut self, batch: Batch) -> Progress {
        let terminates = batch.calls.iter().all(|call| call.answer.as_ref().is_some_and(|(output, _)| output.terminate));
        self.batch_ended(batch.results, terminates)
    }

    fn start_call(&mut self, batch: &mut Batch) -> Progress {
        let Some(call) = batch.calls.get_mut(batch.next) else {
            // All are prepared (parallel), or all have their results (sequential).
            if batch.is_sequential {
                batch.stage = Stage::Result;
            }
            return Made;
        };
        call.started_ms = self.now_ms;
        self.out.push_back(Out::Event(EventData::ToolExecutionStart {
            tool_call_id: Arc::clone(&call.id),
            tool_name: Arc::clone(&call.name),
            arguments: Arc::clone(&call.arguments),
        }));
        batch.stage = Stage::Prepare(Preparing::default());
        Made
    }

    fn prepare(&mut self, batch: &mut Batch, preparing: Preparing) -> Progress {
        let place = batch.next;
        match self.prepare_call(batch, place, preparing) {
            Prepared::Asks(preparing) => {
                batch.stage = Stage::Prepare(preparing);
                Blocked
            }
            Prepared::Ready(arguments) => {
                if let Some(call) = batch.calls.get_mut(place) {
                    call.prepared = Some(arguments);
                }
                batch.waiting.push(place);
                if batch.is_sequential {
                    batch.stage = Stage::Run;
                } else {
                    batch.next += 1;
                    batch.stage = Stage::Start;
                }
                Made
            }
            Prepared::Fails(why) => {
                self.end_call(batch, place, ToolOutput::error(why), true);
                if batch.is_sequential {
                    batch.stage = Stage::Result;
                    return Made;
                }
                batch.next += 1;
                let others = batch.next < batch.calls.len() || !batch.waiting.is_empty();
                batch.stage = if batch.polls && others { Stage::Poll(Next::Start) } else { Stage::Start };
                Made
            }
        }
    }

    /// Launches prepared calls, as many as may run concurrently, and takes in replies. An abort gives those that run the grace
    /// time; steering skips those that do not run yet.
    fn run_calls(&mut self, batch: &mut Batch) -> Progress {
        let (now_ms, is_interrupted) = (self.now_ms, self.is_interrupted());
        if self.is_steered && !is_interrupted {
            for place in std::mem::take(&mut batch.waiting) {
                self.end_call(batch, place, ToolOutput::error(SKIPPED), true);
            }
        }
        if is_interrupted && batch.grace_ms.is_none() {
            // Those that do not run yet get only their end.
            for place in std::mem::take(&mut batch.waiting) {
                self.end_call(batch, place, ToolOutput::error(ABORTED), true);
            }
            self.out.extend(batch.running.keys().map(|number| Out::CancelTool(*number, false)));
            batch.grace_ms = Some(now_ms.saturating_add(self.config.settings.abort_grace_ms));
        }
        if !is_interrupted {
            let places = self.config.settings.max_parallel_tools.saturating_sub(batch.running.len()).min(batch.waiting.len());
            for place in batch.waiting.drain(..places).collect::<Vec<_>>() {
                self.launch(batch, place);
            }
        }
        if batch.running.is_empty() {
            batch.grace_ms = None;
            if !batch.is_sequential {
                batch.next = 0;
            }
            batch.stage = Stage::Result;
            self.is_timer_stale = true;
            return Made;
        }
        if !self.out.is_empty() {
            return Made;
        }
        if let Some((number, reply)) = self.replies.pop_front() {
            return self.take_reply(batch, number, reply);
        }
        if let Some(grace_ms) = batch.grace_ms {
            if now_ms < grace_ms {
                return Blocked;
            }
            for (number, running) in std::mem::take(&mut batch.running) {
                self.out.push_back(Out::CancelTool(number, true));
                self.end_call(batch, running.call, ToolOutput::error(ABORTED), true);
            }
            return Made;
        }
        let passed = |running: &Running| running.limit.is_some_and(|limit| now_ms >= limit.at_ms);
        let Some(number) = batch.running.iter().find(|(_, running)| passed(running)).map(|(number, _)| *number) else {
            return Blocked;
        };
        if let Some(Running { call, limit: Some(limit) }) = batch.running.remove(&number) {
            let name = if limit.is_own { "its timeout_ms" } else { "tool_timeout_ms" };
            let tool = batch.calls.get(call).map(|call| &*call.name).unwrap_or_default();
            let text = format!("the tool {tool} did not answer within {name} ({}); the call was cancelled", limit.ms);
            self.out.push_back(Out::CancelTool(number, true));
            batch.stage = Stage::After(Answered { call, output: ToolOutput::error(text), is_error: true });
        }
        Made
    }

    fn launch(&mut self, batch: &mut Batch, place: usize) {
        let Some(call) = batch.calls.get_mut(place) else {
            return;
        };
        let number = u32::try_from(self.launched.len()).unwrap_or(u32::MAX);
        self.launched.push((Arc::clone(&call.id), Arc::clone(&call.name)));
        let own_ms = self.config.tools.get(&call.name).map_or(0, |tool| tool.timeout_ms);
        let ms = [self.config.settings.limits.tool_timeout_ms, own_ms].into_iter().filter(|ms| *ms > 0).min();
        let limit = ms.map(|ms| Limit { is_own: ms == own_ms, ms, at_ms: self.now_ms.saturating_add(ms) });
        if self.config.hooks.has(HookKind::AfterToolCall) {
            call.given.clone_from(&call.prepared);
        }
        call.number = Some(number);
        batch.running.insert(number, Running { call: place, limit });
        self.out.push_back(Out::CallTool(number));
    }

    /// The action that runs a call.
    pub(super) fn call_tool(&mut self, number: u32) -> Option<Action> {
        let calls = &mut self.batch.as_mut()?.calls;
        let call = calls.iter_mut().find(|call| call.number == Some(number))?;
        let (id, name) = (Arc::clone(&call.id), Arc::clone(&call.name));
        Some(Action::CallTool { call: number, id, name, arguments: call.prepared.take()? })
    }

    fn take_reply(&mut self, batch: &mut Batch, number: u32, reply: Reply) -> Progress {
        let Some(running) = batch.running.get(&number) else {
            self.late_reply(number, &reply);
            return Made;
        };
        let place = running.call;
        match reply {
            Reply::Update(value) => {
                let (output, _) = ToolOutput::from_value(value);
                if let Some(call) = batch.calls.get(place) {
                    self.emit(EventData::ToolExecutionUpdate {
                        tool_call_id: Arc::clone(&call.id),
                        tool_name: Arc::clone(&call.name),
                        arguments: Arc::clone(&call.arguments),
                        partial_result: Box::new(PartialResult { content: output.content, details: output.details }),
                    });
                }
            }
            Reply::Done(result) => {
                batch.running.remove(&number);
                let (output, is_error) = match result {
                    Ok(value) => ToolOutput::from_value(value),
                    Err(_) if self.is_interrupted() => (ToolOutput::error(ABORTED), true),
                    Err(why) => (ToolOutput::error(why), true),
                };
                batch.stage = Stage::After(Answered { call: place, output, is_error });
            }
        }
        Made
    }

    /// The end of a call that ran, as the hook changes it.
    fn after_call(&mut self, batch: &mut Batch, answered: Answered) -> Progress {
        let Answered { call: place, mut output, mut is_error } = answered;
        if self.config.hooks.has(HookKind::AfterToolCall)
            && let Some(call) = batch.calls.get_mut(place)
        {
            let asked = self.ask(Patience::None, |_| {
                Question::AfterToolCall(AfterToolCall {
                    tool_call_id: call.id.to_string(),
                    tool_name: call.name.to_string(),
                    arguments: call.given.take().unwrap_or_default(),
                    result: output.clone(),
                    is_error,
                })
            });
            match asked {
                None => {
                    batch.stage = Stage::After(Answered { call: place, output, is_error });
                    return Blocked;
                }
                Some(Ok(HookAnswer::Override(ToolOverride { content, details, is_error: failed, terminate }))) => {
                    output.content = content.unwrap_or(output.content);
                    output.details = details.unwrap_or(output.details);
                    output.terminate = terminate.unwrap_or(output.terminate);
                    is_error = failed.unwrap_or(is_error);
                }
                // The tool's answer stands, also where the run was aborted.
                Some(Ok(_) | Err(Unanswered::Aborted)) => {}
                Some(Err(failed)) => {
                    let error = failed.error(HookKind::AfterToolCall);
                    let why = error.as_ref().map(|error| error.message()).unwrap_or_default();
                    (output, is_error) = (ToolOutput::error(why), true);
                }
            }
        }
        self.end_call(batch, place, output, is_error);
        batch.stage = if batch.polls && !batch.waiting.is_empty() { Stage::Poll(Next::Run) } else { Stage::Run };
        Made
    }

    fn end_call(&mut self, batch: &mut Batch, place: usize, output: ToolOutput, is_error: bool) {
        let Some(call) = batch.calls.get_mut(place) else {
            return;
        };
        call.answer = Some((output.clone(), is_error));
        self.out.push_back(Out::Event(EventData::ToolExecutionEnd {
            tool_call_id: Arc::clone(&call.id),
            tool_name: Arc::clone(&call.name),
            result: Box::new(output),
            is_error,
            duration_ms: self.now_ms.saturating_sub(call.started_ms),
        }));
    }

    fn emit_result(&mut self, batch: &mut Batch) -> Progress {
        let Some(call) = batch.calls.get(batch.next) else {
            return Made;
        };
        // Each call has its answer by now; otherwise the model must still get one.
        let (output, is_error) = call.answer.clone().unwrap_or_else(|| (ToolOutput::error("no answer"), true));
        let message = Arc::new(Message::ToolResult(ToolResultMessage {
            tool_call_id: call.id.to_string(),
            tool_name: call.name.to_string(),
            content: output.content,
            details: output.details,
            is_error,
            timestamp: self.now_ms,
        }));
        batch.results.push(Arc::clone(&message));
        self.emit_message(message);
        batch.next += 1;
        batch.stage = match (batch.is_sequential, batch.polls) {
            (true, true) => Stage::Poll(Next::Start),
            (true, false) => Stage::Start,
            (false, _) => Stage::Result,
        };
        Made
    }

    /// Polls steering while tools are at work; a failure ends the run after the turn.
    fn poll_in_batch(&mut self, batch: &mut Batch, next: Next) -> Progress {
        let is_asking = self.asked.is_some();
        if is_asking || !(self.is_interrupted() || self.failure.is_some() || self.is_steered) {
            match self.poll_queue(Queue::Steering) {
                None => {
                    batch.stage = Stage::Poll(next);
                    return Blocked;
                }
                Some(Ok(found)) => self.is_steered = found,
                Some(Err(error)) => self.failure = error.or(self.failure.take()),
            }
        }
        batch.stage = match next {
            Next::Start => Stage::Start,
            Next::Run => Stage::Run,
        };
        Made
    }
}
