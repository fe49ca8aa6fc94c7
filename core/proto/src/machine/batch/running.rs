//! The calls of a batch that run: launched as many as may run concurrently, with their limits, their reports, and the grace after
//! an abort.

use std::sync::Arc;

use super::super::emitter::Out;
use super::super::requested_call::{ABORTED, RequestedCall};
use super::super::run_state::{Progress, RunState};
use super::super::tool_check::SKIPPED;
use super::super::tool_reports::{ToolReport, ToolReports};
use super::super::tool_timeout::ToolTimeout;
use super::{Batch, BatchCall, BatchStage, Results, Running, ToolResult, Waiting};
use crate::hook::HookKind;
use crate::session::{JournalRecord, ToolAnswer, ToolStart};
use crate::tool::ToolOutput;

use Progress::{Blocked, Made};

impl Batch {
    /// Launches checked calls, as many as may run concurrently, and handles reports. An abort gives those that run the grace
    /// time; steering skips those that do not run yet.
    pub(super) fn run_calls(&mut self, run: &mut RunState, reports: &mut ToolReports) -> Progress<Results> {
        if let Some(answered) = self.next_answered() {
            self.stage = BatchStage::After(answered);
            return Made;
        }
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
            self.begin_results(run);
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

    /// No call runs any more.
    fn begin_results(&mut self, run: &mut RunState) {
        self.grace_deadline_ms = None;
        if !self.is_sequential {
            self.next = 0;
        }
        self.stage = BatchStage::Result;
        run.clock.mark_timer_stale();
    }

    /// A tool has answered. If no hook is asked about that and it was the last one, the first result follows at once: its message
    /// is written together with the answer.
    fn answered(&mut self, run: &mut RunState, ran: ToolResult) -> Progress<Results> {
        self.record_answer(run, ran.index, &ran.output, ran.is_error);
        if run.hooks().has(HookKind::AfterToolCall) {
            self.stage = BatchStage::After(ran);
            return Made;
        }
        let ended = self.after_call(run, ran);
        if self.running.is_empty() && self.ready.is_empty() {
            self.begin_results(run);
            return self.emit_result(run);
        }
        ended
    }

    /// The next call that does not run, as its tool has answered in an earlier run.
    fn next_answered(&mut self) -> Option<ToolResult> {
        let place = self.ready.iter().position(|index| self.calls.get(*index).is_some_and(|call| call.answered.is_some()))?;
        let index = self.ready.remove(place);
        let call = self.calls.get_mut(index)?;
        // What a hook is asked about.
        call.sent_arguments = Some((*call.requested.arguments).clone());
        let (output, is_error) = call.answered.take()?;
        Some(ToolResult { index, output, is_error })
    }

    /// The calls that run are no longer wanted.
    pub(in super::super) fn cancel(&self, run: &mut RunState) {
        for call in self.running.keys() {
            run.emitter.push(Out::CancelTool { call: *call, abandoned: true });
        }
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
        let next: Vec<usize> = self.ready.drain(..free).collect();
        // In one write.
        next.iter().for_each(|index| self.record_start(run, *index));
        for index in next {
            self.launch(run, reports, index);
        }
    }

    fn record_start(&self, run: &mut RunState, index: usize) {
        if let Some(BatchCall { requested, arguments: Some(arguments), .. }) = self.calls.get(index)
            && run.emitter.journal.is_on()
        {
            let key = requested.idempotency_key(run, self.message_index);
            run.emitter.record(|| {
                let is_own = *arguments == *requested.arguments;
                let arguments = if is_own { Arc::clone(&requested.arguments) } else { Arc::new(arguments.clone()) };
                JournalRecord::ToolStart(ToolStart::new(&*requested.id, &*requested.name, arguments, key))
            });
        }
    }

    /// What a tool that was called has answered, or what stands for its answer.
    fn record_answer(&self, run: &mut RunState, index: usize, output: &ToolOutput, is_error: bool) {
        if let Some(BatchCall { requested, .. }) = self.calls.get(index) {
            run.emitter.record(|| JournalRecord::ToolAnswer(ToolAnswer::new(&*requested.id, output.clone(), is_error)));
        }
    }

    /// The grace time is over.
    fn abandon_running(&mut self, run: &mut RunState, reports: &mut ToolReports) {
        for (number, running) in std::mem::take(&mut self.running) {
            reports.report_replaced(number, &mut run.emitter);
            run.emitter.push(Out::CancelTool { call: number, abandoned: true });
            let output = ToolOutput::error(ABORTED);
            self.record_answer(run, running.index, &output, true);
            self.end_call(run, running.index, output, true);
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
            let output = ToolOutput::error(text);
            self.record_answer(run, index, &output, true);
            self.stage = BatchStage::After(ToolResult { index, output, is_error: true });
        }
        true
    }

    fn launch(&mut self, run: &mut RunState, reports: &mut ToolReports, index: usize) {
        let Some(BatchCall { requested, arguments, sent_arguments, .. }) = self.calls.get_mut(index) else {
            return;
        };
        let idempotency_key = requested.idempotency_key(run, self.message_index);
        let RequestedCall { id, name, arguments: own, .. } = &*requested;
        let Some(arguments) = arguments.take() else {
            return;
        };
        let number = reports.launch(id, name);
        if run.hooks().has(HookKind::AfterToolCall) || arguments != **own {
            *sent_arguments = Some(arguments.clone());
        }
        self.running.insert(number, Running { index, timeout: ToolTimeout::begin(run, name) });
        let (id, name) = (Arc::clone(id), Arc::clone(name));
        run.emitter.push(Out::CallTool { call: number, id, name, arguments, idempotency_key });
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
            ToolReport::Subagent(event) => {
                if let Some(BatchCall { requested, .. }) = self.calls.get(index) {
                    run.emitter.emit(requested.subagent_event(event));
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
                return self.answered(run, ToolResult { index, output, is_error });
            }
            ToolReport::Suspended(reason) => {
                self.running.remove(&number);
                reports.report_replaced(number, &mut run.emitter);
                if run.is_interrupted() {
                    self.end_call(run, index, ToolOutput::error(ABORTED), true);
                } else if let Some(BatchCall { requested, sent_arguments, .. }) = self.calls.get_mut(index) {
                    let own = Arc::clone(&requested.arguments);
                    let arguments = sent_arguments.take().map_or(own, Arc::new);
                    self.suspend_call(run, index, Waiting { reason, arguments, is_checked: true });
                }
            }
        }
        Made
    }
}
