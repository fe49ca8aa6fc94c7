//! The calls of a batch that run: launched as many as may run concurrently, with their limits, their reports, and the grace after
//! an abort.

use std::sync::Arc;

use super::super::emitter::Out;
use super::super::run_state::{Progress, RunState};
use super::super::tool_check::{ABORTED, RequestedCall, SKIPPED};
use super::super::tool_reports::{ToolReport, ToolReports};
use super::super::tool_timeout::ToolTimeout;
use super::{Batch, BatchCall, BatchStage, Results, Running, ToolResult};
use crate::hook::HookKind;
use crate::tool::ToolOutput;

use Progress::{Blocked, Made};

impl Batch {
    /// Launches checked calls, as many as may run concurrently, and handles reports. An abort gives those that run the grace
    /// time; steering skips those that do not run yet.
    pub(super) fn run_calls(&mut self, run: &mut RunState, reports: &mut ToolReports) -> Progress<Results> {
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
        let Some(BatchCall { requested: RequestedCall { id, name, arguments: own, .. }, arguments, sent_arguments, .. }) =
            self.calls.get_mut(index)
        else {
            return;
        };
        let Some(arguments) = arguments.take() else {
            return;
        };
        let number = reports.launch(id, name);
        if run.hooks().has(HookKind::AfterToolCall) || arguments != **own {
            *sent_arguments = Some(arguments.clone());
        }
        self.running.insert(number, Running { index, timeout: ToolTimeout::begin(run, name) });
        let (id, name) = (Arc::clone(id), Arc::clone(name));
        let idempotency_key = run.transcript.key_of_call(self.message_index, &id);
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
            ToolReport::Suspended(reason) => {
                self.running.remove(&number);
                reports.report_replaced(number, &mut run.emitter);
                if run.is_interrupted() {
                    self.end_call(run, index, ToolOutput::error(ABORTED), true);
                } else if let Some(BatchCall { requested, sent_arguments, .. }) = self.calls.get_mut(index) {
                    let own = Arc::clone(&requested.arguments);
                    let arguments = sent_arguments.take().map_or(own, Arc::new);
                    self.suspend_call(run, index, arguments, reason);
                }
            }
        }
        Made
    }
}
