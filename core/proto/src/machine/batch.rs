//! The tool calls of one message: prepared, run concurrently or sequentially, each answered exactly once.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::action::Timer;
use super::emitter::Out;
use super::prepare::{ABORTED, Call, Prepared, Preparing, SKIPPED, prepare};
use super::questions::{AbortWait, NoAnswer};
use super::replies::{Replies, Reply};
use super::run_state::{Progress, RunState};
use crate::event::{EventData, PartialResult};
use crate::hook::{AfterToolCall, HookAnswer, HookKind, Question, ToolOverride};
use crate::message::{AssistantMessage, Message, ToolCall, ToolResultMessage};
use crate::queues::{Queue, SteeringPolicy};
use crate::tool::{ExecutionMode, ToolOutput};

use Progress::{Blocked, Made};

/// The results of a batch, in the order of the calls; and whether all of them ask for the end of the run.
pub(super) type Results = (Vec<Arc<Message>>, bool);

/// The calls of a message, in the order that the model made them.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Batch {
    calls: Vec<Entry>,
    is_sequential: bool,
    /// Whether the message was cut off: no call of it is executed.
    is_cut: bool,
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
    is_of_tool: bool,
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
struct Entry {
    call: Call,
    started_ms: u64,
    /// What the tool gets, until it is launched.
    prepared: Option<Map<String, Value>>,
    /// What the tool got, where a hook is asked about its answer.
    given: Option<Map<String, Value>>,
    answer: Option<(ToolOutput, bool)>,
}

impl Batch {
    pub(super) fn new(run: &RunState, message: &AssistantMessage, is_cut: bool) -> Batch {
        let settings = run.settings();
        let mode = |call: &ToolCall| run.config().tools.get(&call.name).and_then(|tool| tool.execution_mode());
        let is_sequential = settings.tool_execution == ExecutionMode::Sequential
            || message.tool_calls().any(|call| mode(call) == Some(ExecutionMode::Sequential));
        let entry =
            |call: &ToolCall| Entry { call: call.clone().into(), started_ms: 0, prepared: None, given: None, answer: None };
        Batch {
            calls: message.tool_calls().map(entry).collect(),
            is_sequential,
            is_cut,
            // Nothing of a cut message runs, so there is nothing to skip.
            polls: !is_cut && settings.steering_policy == SteeringPolicy::SkipRemaining,
            stage: Stage::Start,
            next: 0,
            waiting: Vec::new(),
            running: BTreeMap::new(),
            grace_ms: None,
            results: Vec::new(),
        }
    }

    /// When the next limit passes.
    pub(super) fn timer(&self) -> Option<Timer> {
        let at_ms = match self.stage {
            // While a hook is asked, limits are checked after its answer.
            Stage::Run if self.grace_ms.is_some() => self.grace_ms,
            Stage::Run => self.running.values().filter_map(|running| running.limit.map(|limit| limit.at_ms)).min(),
            _ => None,
        };
        at_ms.map(Timer::limit)
    }

    pub(super) fn step(&mut self, run: &mut RunState, replies: &mut Replies) -> Progress<Results> {
        match std::mem::replace(&mut self.stage, Stage::Run) {
            Stage::Start => self.start_call(run),
            Stage::Prepare(preparing) => self.prepare(run, preparing),
            Stage::Run => self.run_calls(run, replies),
            Stage::After(answered) => self.after_call(run, answered),
            Stage::Result if self.next >= self.calls.len() => self.end(),
            Stage::Result => self.emit_result(run),
            Stage::Poll(next) => self.poll(run, next),
        }
    }

    fn end(&mut self) -> Progress<Results> {
        let terminates = |entry: &Entry| entry.answer.as_ref().is_some_and(|(output, _)| output.terminate);
        let terminates = self.calls.iter().all(terminates);
        Progress::Ended((std::mem::take(&mut self.results), terminates))
    }

    fn start_call(&mut self, run: &mut RunState) -> Progress<Results> {
        let Some(Entry { call, started_ms, .. }) = self.calls.get_mut(self.next) else {
            // All are prepared (parallel), or all have their results (sequential).
            if self.is_sequential {
                self.stage = Stage::Result;
            }
            return Made;
        };
        *started_ms = run.now_ms();
        run.emitter.emit(EventData::ToolExecutionStart {
            tool_call_id: Arc::clone(&call.id),
            tool_name: Arc::clone(&call.name),
            arguments: Arc::clone(&call.arguments),
        });
        self.stage = Stage::Prepare(Preparing::default());
        Made
    }

    fn prepare(&mut self, run: &mut RunState, preparing: Preparing) -> Progress<Results> {
        let place = self.next;
        let Some(entry) = self.calls.get_mut(place) else {
            return Made;
        };
        match prepare(run, &entry.call, self.is_cut, preparing) {
            Prepared::Asks(preparing) => {
                self.stage = Stage::Prepare(preparing);
                Blocked
            }
            Prepared::Ready(arguments) => {
                entry.prepared = Some(arguments);
                self.waiting.push(place);
                if self.is_sequential {
                    self.stage = Stage::Run;
                } else {
                    self.next += 1;
                    self.stage = Stage::Start;
                }
                Made
            }
            Prepared::Fails(why) => {
                self.end_call(run, place, ToolOutput::error(why), true);
                if self.is_sequential {
                    self.stage = Stage::Result;
                    return Made;
                }
                self.next += 1;
                let others = self.next < self.calls.len() || !self.waiting.is_empty();
                self.stage = if self.polls && others { Stage::Poll(Next::Start) } else { Stage::Start };
                Made
            }
        }
    }

    /// Launches prepared calls, as many as may run concurrently, and takes in replies. An abort gives those that run the grace
    /// time; steering skips those that do not run yet.
    fn run_calls(&mut self, run: &mut RunState, replies: &mut Replies) -> Progress<Results> {
        let (now_ms, is_interrupted) = (run.now_ms(), run.is_interrupted());
        if is_interrupted {
            replies.drop_updates();
        }
        if run.turn.is_steered() && !is_interrupted {
            for place in std::mem::take(&mut self.waiting) {
                self.end_call(run, place, ToolOutput::error(SKIPPED), true);
            }
        }
        if is_interrupted && self.grace_ms.is_none() {
            // Those that do not run yet get only their end.
            for place in std::mem::take(&mut self.waiting) {
                self.end_call(run, place, ToolOutput::error(ABORTED), true);
            }
            for call in self.running.keys() {
                run.emitter.push(Out::CancelTool { call: *call, abandoned: false });
            }
            self.grace_ms = Some(now_ms.saturating_add(run.settings().abort_grace_ms));
        }
        if !is_interrupted {
            let places = run.settings().max_parallel_tools.saturating_sub(self.running.len()).min(self.waiting.len());
            for place in self.waiting.drain(..places).collect::<Vec<_>>() {
                self.launch(run, replies, place);
            }
        }
        if self.running.is_empty() {
            self.grace_ms = None;
            if !self.is_sequential {
                self.next = 0;
            }
            self.stage = Stage::Result;
            run.limits.doubt_timer();
            return Made;
        }
        if !run.emitter.is_empty() {
            return Made;
        }
        if !replies.is_answer_next() && self.grace_ms.is_none() && self.time_out(run, replies) {
            return Made;
        }
        if let Some((number, reply)) = replies.next() {
            return self.take_reply(run, replies, number, reply);
        }
        match self.grace_ms {
            Some(grace_ms) if now_ms >= grace_ms => {
                for (number, running) in std::mem::take(&mut self.running) {
                    replies.report_replaced(number, &mut run.emitter);
                    run.emitter.push(Out::CancelTool { call: number, abandoned: true });
                    self.end_call(run, running.call, ToolOutput::error(ABORTED), true);
                }
                Made
            }
            _ => Blocked,
        }
    }

    /// Cancels a call whose time limit has passed, if there is one. Limits come before updates: a tool that never stops updating
    /// has a limit, too. An answer that waits behind the call's updates came in time.
    fn time_out(&mut self, run: &mut RunState, replies: &mut Replies) -> bool {
        let now_ms = run.now_ms();
        let passed = |(number, running): &(&u32, &Running)| {
            running.limit.is_some_and(|limit| now_ms >= limit.at_ms) && !replies.has_answer(**number)
        };
        let Some(number) = self.running.iter().find(passed).map(|(number, _)| *number) else {
            return false;
        };
        if let Some(Running { call, limit: Some(limit) }) = self.running.remove(&number) {
            let name = if limit.is_of_tool { "its timeout_ms" } else { "tool_timeout_ms" };
            let tool = self.calls.get(call).map(|entry| &*entry.call.name).unwrap_or_default();
            let text = format!("the tool {tool} did not answer within {name} ({}); the call was cancelled", limit.ms);
            replies.report_replaced(number, &mut run.emitter);
            run.emitter.push(Out::CancelTool { call: number, abandoned: true });
            self.stage = Stage::After(Answered { call, output: ToolOutput::error(text), is_error: true });
        }
        true
    }

    fn launch(&mut self, run: &mut RunState, replies: &mut Replies, place: usize) {
        let Some(Entry { call: Call { id, name, .. }, prepared, given, .. }) = self.calls.get_mut(place) else {
            return;
        };
        let Some(arguments) = prepared.take() else {
            return;
        };
        let number = replies.launch(id, name);
        let tool_ms = run.config().tools.get(name).map_or(0, |tool| tool.timeout_ms());
        let ms = [run.settings().limits.tool_timeout_ms, tool_ms].into_iter().filter(|ms| *ms > 0).min();
        let limit = ms.map(|ms| Limit { is_of_tool: ms == tool_ms, ms, at_ms: run.now_ms().saturating_add(ms) });
        if run.hooks().has(HookKind::AfterToolCall) {
            *given = Some(arguments.clone());
        }
        self.running.insert(number, Running { call: place, limit });
        let (id, name) = (Arc::clone(id), Arc::clone(name));
        run.emitter.push(Out::CallTool { call: number, id, name, arguments });
    }

    fn take_reply(&mut self, run: &mut RunState, replies: &mut Replies, number: u32, reply: Reply) -> Progress<Results> {
        let Some(running) = self.running.get(&number) else {
            replies.report_late(number, &reply, &mut run.emitter);
            return Made;
        };
        let place = running.call;
        match reply {
            Reply::Update(value) => {
                let (output, _) = ToolOutput::from_value(value);
                if let Some(Entry { call, .. }) = self.calls.get(place) {
                    run.emitter.emit(EventData::ToolExecutionUpdate {
                        tool_call_id: Arc::clone(&call.id),
                        tool_name: Arc::clone(&call.name),
                        arguments: Arc::clone(&call.arguments),
                        partial_result: Box::new(PartialResult { content: output.content, details: output.details }),
                    });
                }
            }
            Reply::Done(result) => {
                self.running.remove(&number);
                replies.report_replaced(number, &mut run.emitter);
                let (output, is_error) = match result {
                    Ok(value) => ToolOutput::from_value(value),
                    Err(_) if run.is_interrupted() => (ToolOutput::error(ABORTED), true),
                    Err(why) => (ToolOutput::error(why), true),
                };
                self.stage = Stage::After(Answered { call: place, output, is_error });
            }
        }
        Made
    }

    /// The end of a call that ran, as the hook changes it.
    fn after_call(&mut self, run: &mut RunState, answered: Answered) -> Progress<Results> {
        let Answered { call: place, mut output, mut is_error } = answered;
        if run.hooks().has(HookKind::AfterToolCall)
            && let Some(Entry { call, given, .. }) = self.calls.get_mut(place)
        {
            let asked = run.ask(AbortWait::None, || {
                Question::AfterToolCall(AfterToolCall {
                    tool_call_id: call.id.to_string(),
                    tool_name: call.name.to_string(),
                    arguments: given.take().unwrap_or_default(),
                    result: output.clone(),
                    is_error,
                })
            });
            match asked {
                None => {
                    self.stage = Stage::After(Answered { call: place, output, is_error });
                    return Blocked;
                }
                Some(Ok(HookAnswer::Override(ToolOverride { content, details, is_error: failed, terminate }))) => {
                    output.content = content.unwrap_or(output.content);
                    output.details = details.unwrap_or(output.details);
                    output.terminate = terminate.unwrap_or(output.terminate);
                    is_error = failed.unwrap_or(is_error);
                }
                // The tool's answer stands, also where the run was aborted.
                Some(Ok(_) | Err(NoAnswer::Aborted)) => {}
                Some(Err(failed)) => {
                    let error = failed.error(HookKind::AfterToolCall);
                    let why = error.as_ref().map(|error| error.message()).unwrap_or_default();
                    (output, is_error) = (ToolOutput::error(why), true);
                }
            }
        }
        self.end_call(run, place, output, is_error);
        self.stage = if self.polls && !self.waiting.is_empty() { Stage::Poll(Next::Run) } else { Stage::Run };
        Made
    }

    fn end_call(&mut self, run: &mut RunState, place: usize, output: ToolOutput, is_error: bool) {
        let Some(Entry { call, started_ms, answer, .. }) = self.calls.get_mut(place) else {
            return;
        };
        *answer = Some((output.clone(), is_error));
        run.emitter.emit(EventData::ToolExecutionEnd {
            tool_call_id: Arc::clone(&call.id),
            tool_name: Arc::clone(&call.name),
            result: Box::new(output),
            is_error,
            duration_ms: run.now_ms().saturating_sub(*started_ms),
        });
    }

    fn emit_result(&mut self, run: &mut RunState) -> Progress<Results> {
        let Some(Entry { call, answer, .. }) = self.calls.get(self.next) else {
            return Made;
        };
        // Each call has its answer by now; otherwise the model must still get one.
        let (output, is_error) = answer.clone().unwrap_or_else(|| (ToolOutput::error("no answer"), true));
        let message = Arc::new(Message::ToolResult(ToolResultMessage {
            tool_call_id: call.id.to_string(),
            tool_name: call.name.to_string(),
            content: output.content,
            details: output.details,
            is_error,
            timestamp: run.now_ms(),
        }));
        self.results.push(Arc::clone(&message));
        run.emitter.emit_message(message);
        self.next += 1;
        self.stage = match (self.is_sequential, self.polls) {
            (true, true) => Stage::Poll(Next::Start),
            (true, false) => Stage::Start,
            (false, _) => Stage::Result,
        };
        Made
    }

    /// Polls steering while tools are at work; a failure ends the run after the turn.
    fn poll(&mut self, run: &mut RunState, next: Next) -> Progress<Results> {
        if run.questions.is_asking() || !(run.is_interrupted() || run.turn.failure().is_some() || run.turn.is_steered()) {
            match run.poll_queue(Queue::Steering) {
                None => {
                    self.stage = Stage::Poll(next);
                    return Blocked;
                }
                Some(Ok(found)) => run.turn.steer(found),
                Some(Err(error)) => run.turn.fail(error),
            }
        }
        self.stage = match next {
            Next::Start => Stage::Start,
            Next::Run => Stage::Run,
        };
        Made
    }
}
