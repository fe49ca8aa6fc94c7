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
use super::tool_timeout::ToolTimeout;
use crate::depth::{MAX_DEPTH, is_deeper};
use crate::event::EventData;
use crate::hook::{AfterToolCall, HookAnswer, HookKind, Question, ToolOverride};
use crate::message::{AssistantMessage, Message, ToolCall, ToolResultMessage};
use crate::queues::{Queue, SteeringPolicy};
use crate::size;
use crate::tool::{ExecutionMode, ToolOutput};

use Progress::{Blocked, Made};

/// The results of a batch, in the order of the calls; and whether all of them ask for the end of the run.
pub(super) type Results = (Vec<Arc<Message>>, bool);

/// The calls of a message, in the order that the model made them.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Batch {
    calls: Vec<BatchCall>,
    is_sequential: bool,
    /// Whether the message was truncated: no call of it is executed.
    is_truncated: bool,
    /// Whether steering is polled between calls.
    polls_steering: bool,
    stage: BatchStage,
    /// The next call to start, or whose result is next.
    next: usize,
    /// Checked calls that do not run yet, by their index.
    ready: Vec<usize>,
    /// By the number of their launch.
    running: BTreeMap<u32, Running>,
    /// When calls that do not react to an abort are abandoned.
    grace_deadline_ms: Option<u64>,
    results: Vec<Arc<Message>>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Running {
    index: usize,
    timeout: Option<ToolTimeout>,
}

#[derive(Debug, Serialize, Deserialize)]
enum BatchStage {
    /// `tool_execution_start` of the next call.
    Start,
    /// Everything that can keep it from running.
    Check(CheckStage),
    /// Launch calls and wait for their reports.
    Run,
    /// A call that ran has its result; a hook may change it.
    After(ToolResult),
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
struct ToolResult {
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
    /// The arguments that the tool got, where a hook is asked about its result.
    sent_arguments: Option<Map<String, Value>>,
    /// Its result, and whether that is an error.
    result: Option<(ToolOutput, bool)>,
}

impl Batch {
    pub(super) fn new(run: &RunState, message: &AssistantMessage, is_truncated: bool) -> Batch {
        let settings = run.settings();
        let mode = |call: &ToolCall| run.config().tools.get(&call.name).and_then(|tool| tool.execution_mode());
        let is_sequential = settings.tool_execution == ExecutionMode::Sequential
            || message.tool_calls().any(|call| mode(call) == Some(ExecutionMode::Sequential));
        let batch_call = |call: &ToolCall| BatchCall {
            requested: call.clone().into(),
            started_ms: 0,
            arguments: None,
            sent_arguments: None,
            result: None,
        };
        Batch {
            calls: message.tool_calls().map(batch_call).collect(),
            is_sequential,
            is_truncated,
            // Nothing of a truncated message runs, so there is nothing to skip.
            polls_steering: !is_truncated && settings.steering_policy == SteeringPolicy::SkipRemaining,
            stage: BatchStage::Start,
            next: 0,
            ready: Vec::new(),
            running: BTreeMap::new(),
            grace_deadline_ms: None,
            results: Vec::new(),
        }
    }

    /// When the next limit passes.
    pub(super) fn timer(&self) -> Option<Timer> {
        let at_ms = match self.stage {
            // While a hook is asked, limits are checked after its answer.
            BatchStage::Run if self.grace_deadline_ms.is_some() => self.grace_deadline_ms,
            BatchStage::Run => {
                self.running.values().filter_map(|running| running.timeout.map(|timeout| timeout.deadline_ms)).min()
            }
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
            BatchStage::After(ran) => self.after_call(run, ran),
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
        run.emitter.emit(requested.start_event());
        self.stage = BatchStage::Check(CheckStage::default());
        Made
    }

    fn check(&mut self, run: &mut RunState, stage: CheckStage) -> Progress<Results> {
        let index = self.next;
        let Some(call) = self.calls.get_mut(index) else {
            return Made;
        };
        match check(run, &call.requested, self.is_truncated, stage) {
            CheckResult::AsksHook(stage) => {
                self.stage = BatchStage::Check(stage);
                Blocked
            }
            CheckResult::Passed(arguments) => {
                call.arguments = Some(arguments);
                self.ready.push(index);
                if self.is_sequential {
                    self.stage = BatchStage::Run;
                } else {
                    self.next = self.next.saturating_add(1);
                    self.stage = BatchStage::Start;
                }
                Made
            }
            CheckResult::Failed(output) => {
                self.end_call(run, index, output, true);
                if self.is_sequential {
                    self.stage = BatchStage::Result;
                    return Made;
                }
                self.next = self.next.saturating_add(1);
                let others = self.next < self.calls.len() || !self.ready.is_empty();
                self.stage = if self.polls_steering && others { BatchStage::Poll(Next::Start) } else { BatchStage::Start };
                Made
            }
        }
    }

    /// Launches checked calls, as many as may run concurrently, and handles reports. An abort gives those that run the grace
    /// time; steering skips those that do not run yet.
    fn run_calls(&mut self, run: &mut RunState, reports: &mut ToolReports) -> Progress<Results> {
        if run.is_interrupted() {
            reports.drop_updates();
            self.begin_grace(run);
        } else {
            if run.turn.is_steered() {
                self.end_ready(run, SKIPPED);
            }
            self.launch_ready(run, reports);
        }
        if self.running.is_empty() {
            self.grace_deadline_ms = None;
            if !self.is_sequential {
                self.next = 0;
            }
            self.stage = BatchStage::Result;
            run.clock.mark_timer_stale();
            return Made;
        }
        if !run.emitter.is_empty() {
            return Made;
        }
        if !reports.is_result_next() && self.grace_deadline_ms.is_none() && self.time_out(run, reports) {
            return Made;
        }
        if let Some((number, report)) = reports.next() {
            return self.handle_report(run, reports, number, report);
        }
        if self.grace_deadline_ms.is_some_and(|deadline_ms| run.now_ms() >= deadline_ms) {
            self.abandon_running(run, reports);
            return Made;
        }
        Blocked
    }

    /// Calls that do not run yet get only their end.
    fn end_ready(&mut self, run: &mut RunState, why: &str) {
        for index in std::mem::take(&mut self.ready) {
            self.end_call(run, index, ToolOutput::error(why), true);
        }
    }

    /// After an abort, once: no further call is launched, and those that run are cancelled.
    fn begin_grace(&mut self, run: &mut RunState) {
        if self.grace_deadline_ms.is_some() {
            return;
        }
        self.end_ready(run, ABORTED);
        for call in self.running.keys() {
            run.emitter.push(Out::CancelTool { call: *call, abandoned: false });
        }
        self.grace_deadline_ms = Some(run.now_ms().saturating_add(run.settings().abort_grace_ms));
    }

    fn launch_ready(&mut self, run: &mut RunState, reports: &mut ToolReports) {
        let free = run.settings().max_parallel_tools.saturating_sub(self.running.len()).min(self.ready.len());
        for index in self.ready.drain(..free).collect::<Vec<_>>() {
            self.launch(run, reports, index);
        }
    }

    /// The grace time is over.
    fn abandon_running(&mut self, run: &mut RunState, reports: &mut ToolReports) {
        for (number, running) in std::mem::take(&mut self.running) {
            reports.report_replaced(number, &mut run.emitter);
            run.emitter.push(Out::CancelTool { call: number, abandoned: true });
            self.end_call(run, running.index, ToolOutput::error(ABORTED), true);
        }
    }

    /// Cancels a call whose time limit has passed, if there is one. Limits come before updates: a tool that never stops updating
    /// has a limit, too. A result that waits behind the call's updates came in time.
    fn time_out(&mut self, run: &mut RunState, reports: &mut ToolReports) -> bool {
        let now_ms = run.now_ms();
        let passed = |(number, running): &(&u32, &Running)| {
            running.timeout.is_some_and(|timeout| now_ms >= timeout.deadline_ms) && !reports.has_result(**number)
        };
        let Some(number) = self.running.iter().find(passed).map(|(number, _)| *number) else {
            return false;
        };
        if let Some(Running { index, timeout: Some(timeout) }) = self.running.remove(&number) {
            let tool = self.calls.get(index).map(|call| &*call.requested.name).unwrap_or_default();
            let text = timeout.error(tool);
            reports.report_replaced(number, &mut run.emitter);
            run.emitter.push(Out::CancelTool { call: number, abandoned: true });
            self.stage = BatchStage::After(ToolResult { index, output: ToolOutput::error(text), is_error: true });
        }
        true
    }

    fn launch(&mut self, run: &mut RunState, reports: &mut ToolReports, index: usize) {
        let Some(BatchCall { requested: RequestedCall { id, name, .. }, arguments, sent_arguments, .. }) =
            self.calls.get_mut(index)
        else {
            return;
        };
        let Some(arguments) = arguments.take() else {
            return;
        };
        let number = reports.launch(id, name);
        if run.hooks().has(HookKind::AfterToolCall) {
            *sent_arguments = Some(arguments.clone());
        }
        self.running.insert(number, Running { index, timeout: ToolTimeout::begin(run, name) });
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
                if let Some(BatchCall { requested, .. }) = self.calls.get(index) {
                    run.emitter.emit(requested.update_event(ToolOutput::from_value(value).0));
                }
            }
            ToolReport::Done(result) => {
                self.running.remove(&number);
                reports.report_replaced(number, &mut run.emitter);
                let result = match result {
                    Ok(value) => ToolOutput::from_value(value),
                    Err(_) if run.is_interrupted() => (ToolOutput::error(ABORTED), true),
                    Err(why) => (ToolOutput::error(why), true),
                };
                let (output, is_error) = self.bounded(run, index, result);
                self.stage = BatchStage::After(ToolResult { index, output, is_error });
            }
        }
        Made
    }

    /// The result, if it is small enough to be kept; otherwise an error that says so.
    fn bounded(&self, run: &RunState, index: usize, (output, is_error): (ToolOutput, bool)) -> (ToolOutput, bool) {
        let (bytes, most) = (size::of_result(&output), run.settings().max_result_bytes_kept);
        if bytes <= most {
            return (output, is_error);
        }
        let tool = self.calls.get(index).map(|call| &*call.requested.name).unwrap_or_default();
        let text =
            format!("the result of the tool {tool} has {bytes} bytes, more than max_result_bytes_kept ({most}); it is not kept");
        (ToolOutput::error(text), true)
    }

    /// The end of a call that ran, as the hook changes it.
    fn after_call(&mut self, run: &mut RunState, ran: ToolResult) -> Progress<Results> {
        let ToolResult { index, mut output, mut is_error } = ran;
        if run.hooks().has(HookKind::AfterToolCall)
            && let Some(BatchCall { requested, sent_arguments, .. }) = self.calls.get_mut(index)
        {
            let asked = run.ask(|| {
                Question::AfterToolCall(AfterToolCall {
                    tool_call_id: requested.id.to_string(),
                    tool_name: requested.name.to_string(),
                    arguments: sent_arguments.take().unwrap_or_default(),
                    result: output.clone(),
                    is_error,
                })
            });
            match asked {
                None => {
                    self.stage = BatchStage::After(ToolResult { index, output, is_error });
                    return Blocked;
                }
                Some(Ok(HookAnswer::AfterToolCall(ToolOverride { details: Some(details), .. })))
                    if is_deeper(&details, MAX_DEPTH) =>
                {
                    let why = format!("the hook after_tool_call failed: its details nest deeper than {MAX_DEPTH} levels");
                    (output, is_error) = (ToolOutput::error(why), true);
                }
                Some(Ok(HookAnswer::AfterToolCall(ToolOverride { content, details, is_error: failed, terminate }))) => {
                    let is_changed = content.is_some() || details.is_some();
                    output.content = content.unwrap_or(output.content);
                    output.details = details.unwrap_or(output.details);
                    output.terminate = terminate.unwrap_or(output.terminate);
                    is_error = failed.unwrap_or(is_error);
                    if is_changed {
                        (output, is_error) = self.bounded(run, index, (output, is_error));
                    }
                }
                // The tool's result stands, also where the run was aborted.
                Some(Ok(_) | Err(NoAnswer::Aborted)) => {}
                Some(Err(failed)) => {
                    let error = failed.error(HookKind::AfterToolCall);
                    let why = error.as_ref().map(|error| error.message()).unwrap_or_default();
                    (output, is_error) = (ToolOutput::error(why), true);
                }
            }
        }
        self.end_call(run, index, output, is_error);
        self.stage = if self.polls_steering && !self.ready.is_empty() { BatchStage::Poll(Next::Run) } else { BatchStage::Run };
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
            details: output.details,
            is_error,
            timestamp: run.now_ms(),
            ..ToolResultMessage::new(&*requested.id, &*requested.name, output.content)
        }));
        self.results.push(Arc::clone(&message));
        run.emitter.emit_message(message);
        self.next = self.next.saturating_add(1);
        self.stage = match (self.is_sequential, self.polls_steering) {
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
