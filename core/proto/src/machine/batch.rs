//! The tool calls of one message: checked, run concurrently or sequentially, each answered exactly once.

mod running;
mod suspended;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::action::Timer;
use super::decided::LeftCall;
use super::questions::NoAnswer;
use super::requested_call::{CheckResult, CheckStage, OUTCOME_UNKNOWN, RequestedCall};
use super::run_state::{Progress, RunState};
use super::tool_check::{CheckedBatch, check};
use super::tool_reports::ToolReports;
use super::tool_timeout::ToolTimeout;
use crate::depth::{MAX_DEPTH, is_deeper};
use crate::event::EventData;
use crate::hook::{AfterToolCall, HookAnswer, HookKind, Question, ToolOverride};
use crate::message::{AssistantMessage, Message, ToolCall, ToolResultMessage};
use crate::queues::{Queue, SteeringPolicy};
use crate::size;
use crate::suspension::StoredCall;
use crate::tool::{ExecutionMode, ToolOutput};
use crate::usage::StopReason;

use Progress::{Blocked, Made};

/// What a batch comes to.
#[derive(Debug)]
pub(super) struct Results {
    /// In the order of the calls.
    pub(super) messages: Vec<Arc<Message>>,
    /// Whether all of them ask for the end of the run.
    pub(super) terminates: bool,
    /// The calls that wait for a decision: the run ends with them.
    pub(super) suspended: Vec<StoredCall>,
}

/// The calls of a message, in the order that the model made them.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Batch {
    calls: Vec<BatchCall>,
    /// Where the message stands in the transcript.
    #[serde(default)]
    message_index: usize,
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
    /// What its tool has answered in an earlier run, and whether that is an error.
    #[serde(default)]
    answered: Option<(ToolOutput, bool)>,
    /// The checked arguments, until the call is launched.
    arguments: Option<Map<String, Value>>,
    /// The arguments that the tool got, where they are not the model's own or a hook is asked about its result.
    sent_arguments: Option<Map<String, Value>>,
    /// Its result, and whether that is an error.
    result: Option<(ToolOutput, bool)>,
    #[serde(default)]
    suspended: Option<Waiting>,
    /// Whether its result is in the transcript.
    #[serde(default)]
    has_message: bool,
}

/// What a call waits with for a decision.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Waiting {
    reason: String,
    /// What is decided about.
    arguments: Arc<Map<String, Value>>,
    /// Whether they have passed validation and `before_tool_call`.
    is_checked: bool,
}

impl BatchCall {
    fn new(requested: RequestedCall) -> BatchCall {
        BatchCall {
            requested,
            started_ms: 0,
            answered: None,
            arguments: None,
            sent_arguments: None,
            result: None,
            suspended: None,
            has_message: false,
        }
    }
}

impl Batch {
    /// The calls of a message that is about to join the transcript.
    pub(super) fn new(run: &RunState, message: &AssistantMessage, is_truncated: bool) -> Batch {
        let calls = message.tool_calls().map(|call| BatchCall::new(RequestedCall::new(call))).collect();
        // Nothing of a truncated message runs, so there is nothing to skip.
        let polls_steering = !is_truncated && run.settings().steering_policy == SteeringPolicy::SkipRemaining;
        let message_index = run.transcript.all().len();
        Batch { is_truncated, polls_steering, ..Batch::of(run, calls, message_index) }
    }

    /// Calls of an earlier run that were decided, or that it has left without a result. Steering does not skip them.
    pub(super) fn resumed(run: &RunState, message: &Message, message_index: usize, calls: Vec<(&ToolCall, LeftCall)>) -> Batch {
        let left = |(call, left): (&ToolCall, LeftCall)| {
            let (requested, answered) = RequestedCall::left(call, left);
            BatchCall { answered, ..BatchCall::new(requested) }
        };
        let is_truncated = message.as_assistant().is_some_and(|message| message.stop_reason == Some(StopReason::Length));
        let calls = calls.into_iter().map(left).collect();
        Batch { is_truncated, ..Batch::of(run, calls, message_index) }
    }

    fn of(run: &RunState, calls: Vec<BatchCall>, message_index: usize) -> Batch {
        let mode = |call: &BatchCall| run.config().tools.get(&call.requested.name).and_then(|tool| tool.execution_mode());
        let is_sequential = run.settings().tool_execution == ExecutionMode::Sequential
            || calls.iter().any(|call| mode(call) == Some(ExecutionMode::Sequential));
        Batch {
            calls,
            message_index,
            is_sequential,
            is_truncated: false,
            polls_steering: false,
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
            BatchStage::Result if self.next >= self.calls.len() => self.end(run),
            BatchStage::Result => self.emit_result(run),
            BatchStage::Poll(next) => self.poll(run, next),
        }
    }

    fn end(&mut self, run: &RunState) -> Progress<Results> {
        if let Some(next) = self.next_without_result(run) {
            (self.next, self.stage) = (next, BatchStage::Result);
            return Made;
        }
        let terminates = self.calls.iter().all(|call| call.result.as_ref().is_some_and(|(output, _)| output.terminate));
        let suspended = self.suspended_calls(run);
        Progress::Ended(Results { messages: std::mem::take(&mut self.results), terminates, suspended })
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
        let of = CheckedBatch { message_index: self.message_index, is_truncated: self.is_truncated };
        let checked = match call.answered {
            Some(_) => CheckResult::Passed(Map::new()),
            None => check(run, &call.requested, of, stage),
        };
        match checked {
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
            CheckResult::Suspended { arguments, reason, is_checked } => {
                self.suspend_call(run, index, Waiting { reason, arguments: Arc::new(arguments), is_checked });
                if self.is_sequential {
                    self.stage = BatchStage::Result;
                } else {
                    self.next = self.next.saturating_add(1);
                    self.stage = BatchStage::Start;
                }
                Made
            }
            CheckResult::Ended(output, is_error) => {
                let (output, is_error) = self.bounded(run, index, (output, is_error));
                self.end_call(run, index, output, is_error);
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

    /// The result, if it is small enough to be kept; otherwise an error that says so.
    fn bounded(&self, run: &RunState, index: usize, (output, is_error): (ToolOutput, bool)) -> (ToolOutput, bool) {
        let (bytes, most) = (size::of_result(&output), run.settings().max_result_bytes_kept);
        if bytes <= most {
            return (output, is_error);
        }
        let tool = self.calls.get(index).map(|call| &*call.requested.name).unwrap_or_default();
        let text = format!(
            "the result of the tool {tool} has {bytes} bytes, more than max_result_bytes_kept ({most}), and is not kept; \
             ask for less"
        );
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
            if let Some(Ok(answer)) = &asked {
                run.record_decision(HookKind::AfterToolCall, Some(&requested.id), answer);
            }
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
        let Some(BatchCall { requested, result, suspended, has_message, .. }) = self.calls.get_mut(self.next) else {
            return Made;
        };
        if *has_message {
            self.next = self.next.saturating_add(1);
            self.stage = BatchStage::Result;
            return Made;
        }
        let is_suspended = suspended.is_some() && result.is_none();
        let unanswered = match Batch::why_not_suspended(run) {
            None if is_suspended && self.is_sequential => return self.end(run),
            None if is_suspended => {
                self.next = self.next.saturating_add(1);
                self.stage = BatchStage::Result;
                return Made;
            }
            // It may have run before.
            Some(_) if is_suspended && requested.is_interrupted => OUTCOME_UNKNOWN,
            Some(why) if is_suspended => why,
            // Each call has its result by now; otherwise the model must still get one.
            _ => "the tool gave no answer",
        };
        *has_message = true;
        let (output, is_error) = result.get_or_insert_with(|| (ToolOutput::error(unanswered), true)).clone();
        let message = Arc::new(Message::ToolResult(ToolResultMessage {
            details: output.details,
            is_error,
            timestamp: run.now_ms(),
            ..ToolResultMessage::new(&*requested.id, &*requested.name, output.content)
        }));
        // One that waited until the run was aborted may come behind results of later calls.
        let place =
            if is_suspended { self.calls.iter().take(self.next).filter(|call| call.has_message).count() } else { usize::MAX };
        self.results.insert(place.min(self.results.len()), Arc::clone(&message));
        run.emitter.emit_result(message);
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
