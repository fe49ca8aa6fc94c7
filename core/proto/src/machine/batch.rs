//! The tool calls of one message: checked, run concurrently or sequentially, each answered exactly once.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::action::Timer;
use super::emitter::Out;
use super::questions::NoAnswer;
use super::run_state::{Progress, RunState};
use super::tool_check::{ABORTED, CheckResult, CheckStage, RequestedCall, SKIPPED, check};
use super::tool_reports::{ToolReport, ToolReports};
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
    calls: Vec<BatchCall>,
    is_sequential: bool,
    /// Whether the message was cut off: no call of it is executed.
    is_cut: bool,
    /// Whether steering is polled between calls.
    polls: bool,
    stage: BatchStage,
    /// The next call to start, or whose result is next.
    next: usize,
    /// Checked calls that do not run yet, by their index.
    waiting: Vec<usize>,
    /// By the number of their launch.
    running: BTreeMap<u32, Running>,
    /// When calls that do not react to an abort are abandoned.
    grace_ms: Option<u64>,
    results: Vec<Arc<Message>>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Running {
    index: usize,
    limit: Option<Limit>,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Limit {
    /// Whether it is the tool's own `timeout_ms`, and not `tool_timeout_ms`.
    is_of_tool: bool,
    ms: u64,
    at_ms: u64,
}

#[derive(Debug, Serialize, Deserialize)]
enum BatchStage {
    /// `tool_execution_start` of the next call.
    Start,
    /// Everything that can keep it from running.
    Check(CheckStage),
    /// Launch calls and wait for their reports.
    Run,
    /// A call that ran has its answer; a hook may change it.
    After(ToolAnswer),
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
struct ToolAnswer {
    index: usize,
    output: ToolOutput,
    is_error: bool,
}

#[derive(Debug, Serialize, Deserialize)]
struct BatchCall {
    requested: RequestedCall,
    started_ms: u64,
    /// The checked arguments, until the call is launched.
    arguments: Option<Map<String, Value>>,
    /// The arguments that the tool got, where a hook is asked about its answer.
    sent: Option<Map<String, Value>>,
    /// Its result, and whether that is an error.
    result: Option<(ToolOutput, bool)>,
}

impl Batch {
    pub(super) fn new(run: &RunState, message: &AssistantMessage, is_cut: bool) -> Batch {
        let settings = run.settings();
        let mode = |call: &ToolCall| run.config().tools.get(&call.name).and_then(|tool| tool.execution_mode());
        let is_sequential = settings.tool_execution == ExecutionMode::Sequential
            || message.tool_calls().any(|call| mode(call) == Some(ExecutionMode::Sequential));
        let batch_call = |call: &ToolCall| BatchCall {
            requested: call.clone().into(),
            started_ms: 0,
            arguments: None,
            sent: None,
            result: None,
        };
        Batch {
            calls: message.tool_calls().map(batch_call).collect(),
            is_sequential,
            is_cut,
            // Nothing of a cut message runs, so there is nothing to skip.
            polls: !is_cut && settings.steering_policy == SteeringPolicy::SkipRemaining,
            stage: BatchStage::Start,
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
            BatchStage::Run if self.grace_ms.is_some() => self.grace_ms,
            BatchStage::Run => self.running.values().filter_map(|running| running.limit.map(|limit| limit.at_ms)).min(),
            _ => None,
        };
        at_ms.map(Timer::limit)
    }

    pub(super) fn step(&mut self, run: &mut RunState, reports: &mut ToolReports) -> Progress<Results> {
        // Taken out, as a stage owns what its step goes on from. Each step sets the stage that follows, unless that is `Run`.
        let stage = std::mem::replace(&mut self.stage, BatchStage::Run);
        let is_run = matches!(stage, BatchStage::Run | BatchStage::After(_) | BatchStage::Poll(Next::Run));
        debug_assert!(is_run || self.running.is_empty(), "calls run, and the batch is at {stage:?}");
        match stage {
            BatchStage::Start => self.start_call(run),
            BatchStage::Check(stage) => self.check(run, stage),
            BatchStage::Run => self.run_calls(run, reports),
            BatchStage::After(answer) => self.after_call(run, answer),
            BatchStage::Result if self.next >= self.calls.len() => self.end(),
            BatchStage::Result => self.emit_result(run),
            BatchStage::Poll(next) => self.poll(run, next),
        }
    }

    fn end(&mut self) -> Progress<Results> {
        let terminates = self.calls.iter().all(|call| call.result.as_ref().is_some_and(|(output, _)| output.terminate));
        Progress::Ended((std::mem::take(&mut self.results), terminates))
    }

    fn start_call(&mut self, run: &mut RunState) -> Progress<Results> {
        let Some(BatchCall { requested, started_ms, .. }) = self.calls.get_mut(self.next) else {
            // All are checked (parallel), or all have their results (sequential).
            if self.is_sequential {
                self.stage = BatchStage::Result;
            }
            return Made;
        };
        *started_ms = run.now_ms();
        run.emitter.emit(EventData::ToolExecutionStart {
            tool_call_id: Arc::clone(&requested.id),
            tool_name: Arc::clone(&requested.name),
            arguments: Arc::clone(&requested.arguments),
        });
        self.stage = BatchStage::Check(CheckStage::default());
        Made
    }

    fn check(&mut self, run: &mut RunState, stage: CheckStage) -> Progress<Results> {
        let index = self.next;
        let Some(call) = self.calls.get_mut(index) else {
            return Made;
        };
        match check(run, &call.requested, self.is_cut, stage) {
            CheckResult::AsksHook(stage) => {
                self.stage = BatchStage::Check(stage);
                Blocked
            }
            CheckResult::Passed(arguments) => {
                call.arguments = Some(arguments);
                self.waiting.push(index);
                if self.is_sequential {
                    self.stage = BatchStage::Run;
                } else {
                    self.next += 1;
                    self.stage = BatchStage::Start;
                }
                Made
            }
            CheckResult::Failed(why) => {
                self.end_call(run, index, ToolOutput::error(why), true);
                if self.is_sequential {
                    self.stage = BatchStage::Result;
                    return Made;
                }
                self.next += 1;
                let others = self.next < self.calls.len() || !self.waiting.is_empty();
                self.stage = if self.polls && others { BatchStage::Poll(Next::Start) } else { BatchStage::Start };
                Made
            }
        }
    }

    /// Launches checked calls, as many as may run concurrently, and handles reports. An abort gives those that run the grace
    /// time; steering skips those that do not run yet.
    fn run_calls(&mut self, run: &mut RunState, reports: &mut ToolReports) -> Progress<Results> {
        let (now_ms, is_interrupted) = (run.now_ms(), run.is_interrupted());
        if is_interrupted {
            reports.drop_updates();
        }
        if run.turn.is_steered() && !is_interrupted {
            for index in std::mem::take(&mut self.waiting) {
                self.end_call(run, index, ToolOutput::error(SKIPPED), true);
            }
        }
        if is_interrupted && self.grace_ms.is_none() {
            // Those that do not run yet get only their end.
            for index in std::mem::take(&mut self.waiting) {
                self.end_call(run, index, ToolOutput::error(ABORTED), true);
            }
            for call in self.running.keys() {
                run.emitter.push(Out::CancelTool { call: *call, abandoned: false });
            }
            self.grace_ms = Some(now_ms.saturating_add(run.settings().abort_grace_ms));
        }
        if !is_interrupted {
            let free = run.settings().max_parallel_tools.saturating_sub(self.running.len()).min(self.waiting.len());
            for index in self.waiting.drain(..free).collect::<Vec<_>>() {
                self.launch(run, reports, index);
            }
        }
        if self.running.is_empty() {
            self.grace_ms = None;
            if !self.is_sequential {
                self.next = 0;
            }
            self.stage = BatchStage::Result;
            run.limits.mark_timer_stale();
            return Made;
        }
        if !run.emitter.is_empty() {
            return Made;
        }
        if !reports.is_answer_next() && self.grace_ms.is_none() && self.time_out(run, reports) {
            return Made;
        }
        if let Some((number, report)) = reports.next() {
            return self.handle_report(run, reports, number, report);
        }
        match self.grace_ms {
            Some(grace_ms) if now_ms >= grace_ms => {
                for (number, running) in std::mem::take(&mut self.running) {
                    reports.report_replaced(number, &mut run.emitter);
                    run.emitter.push(Out::CancelTool { call: number, abandoned: true });
                    self.end_call(run, running.index, ToolOutput::error(ABORTED), true);
                }
                Made
            }
            _ => Blocked,
        }
    }

    /// Cancels a call whose time limit has passed, if there is one. Limits come before updates: a tool that never stops updating
    /// has a limit, too. An answer that waits behind the call's updates came in time.
    fn time_out(&mut self, run: &mut RunState, reports: &mut ToolReports) -> bool {
        let now_ms = run.now_ms();
        let passed = |(number, running): &(&u32, &Running)| {
            running.limit.is_some_and(|limit| now_ms >= limit.at_ms) && !reports.has_answer(**number)
        };
        let Some(number) = self.running.iter().find(passed).map(|(number, _)| *number) else {
            return false;
        };
        if let Some(Running { index, limit: Some(limit) }) = self.running.remove(&number) {
            let name = if limit.is_of_tool { "its timeout_ms" } else { "tool_timeout_ms" };
            let tool = self.calls.get(index).map(|call| &*call.requested.name).unwrap_or_default();
            let text = format!("the tool {tool} did not answer within {name} ({}); the call was cancelled", limit.ms);
            reports.report_replaced(number, &mut run.emitter);
            run.emitter.push(Out::CancelTool { call: number, abandoned: true });
            self.stage = BatchStage::After(ToolAnswer { index, output: ToolOutput::error(text), is_error: true });
        }
        true
    }

    fn launch(&mut self, run: &mut RunState, reports: &mut ToolReports, index: usize) {
        let Some(BatchCall { requested: RequestedCall { id, name, .. }, arguments, sent, .. }) = self.calls.get_mut(index) else {
            return;
        };
        let Some(arguments) = arguments.take() else {
            return;
        };
        let number = reports.launch(id, name);
        let tool_ms = run.config().tools.get(name).map_or(0, |tool| tool.timeout_ms());
        let ms = [run.settings().limits.tool_timeout_ms, tool_ms].into_iter().filter(|ms| *ms > 0).min();
        let limit = ms.map(|ms| Limit { is_of_tool: ms == tool_ms, ms, at_ms: run.now_ms().saturating_add(ms) });
        if run.hooks().has(HookKind::AfterToolCall) {
            *sent = Some(arguments.clone());
        }
        self.running.insert(number, Running { index, limit });
        let (id, name) = (Arc::clone(id), Arc::clone(name));
        run.emitter.push(Out::CallTool { call: number, id, name, arguments });
    }

    fn handle_report(
        &mut self,
        run: &mut RunState,
        reports: &mut ToolReports,
        number: u32,
        report: ToolReport,
    ) -> Progress<Results> {
        let Some(running) = self.running.get(&number) else {
            reports.report_late_update(number, &report, &mut run.emitter);
            return Made;
        };
        let index = running.index;
        match report {
            ToolReport::Update(value) => {
                let (output, _) = ToolOutput::from_value(value);
                if let Some(BatchCall { requested, .. }) = self.calls.get(index) {
                    run.emitter.emit(EventData::ToolExecutionUpdate {
                        tool_call_id: Arc::clone(&requested.id),
                        tool_name: Arc::clone(&requested.name),
                        arguments: Arc::clone(&requested.arguments),
                        partial_result: Box::new(PartialResult { content: output.content, details: output.details }),
                    });
                }
            }
            ToolReport::Done(result) => {
                self.running.remove(&number);
                reports.report_replaced(number, &mut run.emitter);
                let (output, is_error) = match result {
                    Ok(value) => ToolOutput::from_value(value),
                    Err(_) if run.is_interrupted() => (ToolOutput::error(ABORTED), true),
                    Err(why) => (ToolOutput::error(why), true),
                };
                self.stage = BatchStage::After(ToolAnswer { index, output, is_error });
            }
        }
        Made
    }

    /// The end of a call that ran, as the hook changes it.
    fn after_call(&mut self, run: &mut RunState, answer: ToolAnswer) -> Progress<Results> {
        let ToolAnswer { index, mut output, mut is_error } = answer;
        if run.hooks().has(HookKind::AfterToolCall)
            && let Some(BatchCall { requested, sent, .. }) = self.calls.get_mut(index)
        {
            let asked = run.ask(|| {
                Question::AfterToolCall(AfterToolCall {
                    tool_call_id: requested.id.to_string(),
                    tool_name: requested.name.to_string(),
                    arguments: sent.take().unwrap_or_default(),
                    result: output.clone(),
                    is_error,
                })
            });
            match asked {
                None => {
                    self.stage = BatchStage::After(ToolAnswer { index, output, is_error });
                    return Blocked;
                }
                Some(Ok(HookAnswer::AfterToolCall(ToolOverride { content, details, is_error: failed, terminate }))) => {
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
        self.end_call(run, index, output, is_error);
        self.stage = if self.polls && !self.waiting.is_empty() { BatchStage::Poll(Next::Run) } else { BatchStage::Run };
        Made
    }

    fn end_call(&mut self, run: &mut RunState, index: usize, output: ToolOutput, is_error: bool) {
        let Some(BatchCall { requested, started_ms, result, .. }) = self.calls.get_mut(index) else {
            return;
        };
        *result = Some((output.clone(), is_error));
        run.emitter.emit(EventData::ToolExecutionEnd {
            tool_call_id: Arc::clone(&requested.id),
            tool_name: Arc::clone(&requested.name),
            result: Box::new(output),
            is_error,
            duration_ms: run.now_ms().saturating_sub(*started_ms),
        });
    }

    fn emit_result(&mut self, run: &mut RunState) -> Progress<Results> {
        let Some(BatchCall { requested, result, .. }) = self.calls.get(self.next) else {
            return Made;
        };
        // Each call has its result by now; otherwise the model must still get one.
        let (output, is_error) = result.clone().unwrap_or_else(|| (ToolOutput::error("no answer"), true));
        let message = Arc::new(Message::ToolResult(ToolResultMessage {
            tool_call_id: requested.id.to_string(),
            tool_name: requested.name.to_string(),
            content: output.content,
            details: output.details,
            is_error,
            timestamp: run.now_ms(),
        }));
        self.results.push(Arc::clone(&message));
        run.emitter.emit_message(message);
        self.next += 1;
        self.stage = match (self.is_sequential, self.polls) {
            (true, true) => BatchStage::Poll(Next::Start),
            (true, false) => BatchStage::Start,
            (false, _) => BatchStage::Result,
        };
        Made
    }

    /// Polls steering while tools are at work; a failure ends the run after the turn.
    fn poll(&mut self, run: &mut RunState, next: Next) -> Progress<Results> {
        if run.questions.is_asking() || !(run.is_interrupted() || run.turn.failure().is_some() || run.turn.is_steered()) {
            match run.poll_queue(Queue::Steering) {
                None => {
                    self.stage = BatchStage::Poll(next);
                    return Blocked;
                }
                Some(found) => run.turn.set_steered(found),
            }
        }
        self.stage = match next {
            Next::Start => BatchStage::Start,
            Next::Run => BatchStage::Run,
        };
        Made
    }
}
