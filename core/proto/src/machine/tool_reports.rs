//! What tools report: their updates and results, until the batch handles them.

use std::collections::VecDeque;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::emitter::Emitter;
use crate::event::Event;
use crate::table::codes;
use crate::tool::ToolOutput;

/// How many updates of a call wait; then the newest takes the place of the one before it.
const MAX_UPDATES: usize = 64;

/// What a tool reports.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) enum ToolReport {
    Update(Value),
    /// A subagent that it runs has emitted an event. Its host waits until there is room: none is dropped.
    Subagent(Arc<Event>),
    Done(Result<Value, String>),
    /// It waits for a decision, for this reason.
    Suspended(String),
}

impl ToolReport {
    /// Whether the tool is done with the call.
    fn is_result(&self) -> bool {
        match self {
            ToolReport::Update(_) | ToolReport::Subagent(_) => false,
            ToolReport::Done(_) | ToolReport::Suspended(_) => true,
        }
    }
}

/// A call that was launched.
#[derive(Debug, Serialize, Deserialize)]
struct Launched {
    id: Arc<str>,
    name: Arc<str>,
    /// How many of its updates wait.
    waiting: usize,
    /// How many of its updates were replaced.
    replaced: u64,
    /// Whether a late update was reported.
    is_late: bool,
}

/// The calls that were launched in a run, and what they report.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct ToolReports {
    /// By the number of the call.
    launched: Vec<Launched>,
    waiting: VecDeque<(u32, ToolReport)>,
}

impl ToolReports {
    /// The number of a call that is launched.
    pub(super) fn launch(&mut self, id: &Arc<str>, name: &Arc<str>) -> u32 {
        let number = u32::try_from(self.launched.len()).unwrap_or(u32::MAX);
        let (id, name) = (Arc::clone(id), Arc::clone(name));
        self.launched.push(Launched { id, name, waiting: 0, replaced: 0, is_late: false });
        number
    }

    /// A tool that updates faster than its updates are emitted costs no more than a full queue.
    pub(super) fn update(&mut self, call: u32, value: Value) {
        let value = ToolOutput::check_depth(&value).map_or_else(Value::String, |()| value);
        let Some(launched) = self.launched.get_mut(call as usize) else {
            return;
        };
        if launched.waiting >= MAX_UPDATES {
            let is_its = |(number, report): &&mut (u32, ToolReport)| *number == call && matches!(report, ToolReport::Update(_));
            if let Some((_, last)) = self.waiting.iter_mut().rev().find(is_its) {
                *last = ToolReport::Update(value);
                launched.replaced = launched.replaced.saturating_add(1);
                return;
            }
        }
        launched.waiting = launched.waiting.saturating_add(1);
        self.waiting.push_back((call, ToolReport::Update(value)));
    }

    pub(super) fn done(&mut self, call: u32, result: Result<Value, String>) {
        let result = result.and_then(|value| ToolOutput::check_depth(&value).map(|()| value));
        self.waiting.push_back((call, ToolReport::Done(result)));
    }

    pub(super) fn subagent(&mut self, call: u32, event: Arc<Event>) {
        self.waiting.push_back((call, ToolReport::Subagent(event)));
    }

    pub(super) fn suspended(&mut self, call: u32, reason: String) {
        self.waiting.push_back((call, ToolReport::Suspended(reason)));
    }

    /// Whether the call's result waits.
    pub(super) fn has_result(&self, call: u32) -> bool {
        self.waiting.iter().any(|(number, report)| *number == call && report.is_result())
    }

    /// Whether a result is next.
    pub(super) fn is_result_next(&self) -> bool {
        self.waiting.front().is_some_and(|(_, report)| report.is_result())
    }

    pub(super) fn next(&mut self) -> Option<(u32, ToolReport)> {
        let (call, report) = self.waiting.pop_front()?;
        if let (ToolReport::Update(_), Some(launched)) = (&report, self.launched.get_mut(call as usize)) {
            launched.waiting = launched.waiting.saturating_sub(1);
        }
        Some((call, report))
    }

    /// The run is interrupted: no update counts any more.
    pub(super) fn drop_updates(&mut self) {
        self.waiting.retain(|(_, report)| report.is_result());
        self.launched.iter_mut().for_each(|launched| launched.waiting = 0);
    }

    /// The turn is over: what waits came too late.
    pub(super) fn drop_late(&mut self, emitter: &mut Emitter) {
        while let Some((call, report)) = self.next() {
            self.report_late_update(call, &report, emitter);
        }
    }

    /// What a tool reports after the end of its call is dropped. The first update among it is reported; a second result is not.
    pub(super) fn report_late_update(&mut self, call: u32, report: &ToolReport, emitter: &mut Emitter) {
        if let (ToolReport::Update(_), Some(Launched { id, name, is_late, .. })) = (report, self.launched.get_mut(call as usize))
            && !std::mem::replace(is_late, true)
        {
            let message = format!("the tool {name} sent an update after the end of its call {id}; it was dropped");
            emitter.diagnostic(codes::LATE_UPDATE, message, json!({ "tool_call_id": &**id, "tool_name": &**name }));
        }
    }

    /// The call ends: how many of its updates were replaced by newer ones.
    pub(super) fn report_replaced(&mut self, call: u32, emitter: &mut Emitter) {
        if let Some(Launched { id, name, replaced, .. }) = self.launched.get_mut(call as usize)
            && *replaced > 0
        {
            let count = std::mem::take(replaced);
            let updates = if count == 1 { "1 update was".to_owned() } else { format!("{count} updates were") };
            let message = format!(
                "the tool {name} sent updates of its call {id} faster than they were taken; {updates} replaced by newer ones"
            );
            let data = json!({ "tool_call_id": &**id, "tool_name": &**name, "count": count });
            emitter.diagnostic(codes::UPDATES_REPLACED, message, data);
        }
    }
}
