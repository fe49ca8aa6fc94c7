//! What is to be done, in order, and the numbers of the events.

use crate::table::codes;
use std::collections::VecDeque;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::action::{ListenerLimit, ListenerReport, ModelCall};
use super::journal::Journal;
use crate::event::{Event, EventData};
use crate::hook::Question;
use crate::message::Message;
use crate::partial::Partial;
use crate::result::RunResult;
use crate::session::JournalRecord;

/// One thing to do.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) enum Out {
    Event(EventData),
    /// What follows is the effect of these.
    Record(Vec<JournalRecord>),
    /// An event of the assistant's stream, with the message's position after it.
    Streamed(EventData, usize),
    /// A queued message joins the transcript and leaves its queue.
    Queued(u64, Arc<Message>),
    CallModel(ModelCall),
    CancelModel(u32),
    CallTool {
        call: u32,
        id: Arc<str>,
        name: Arc<str>,
        arguments: Map<String, Value>,
        idempotency_key: Arc<str>,
    },
    CancelTool {
        call: u32,
        abandoned: bool,
    },
    AskHook {
        question_id: u32,
        question: Question,
        of_next_turn: bool,
        is_cancellable: bool,
    },
    CancelHook(u32),
    LeaveHook(u32),
    Done(Box<RunResult>),
}

/// What is to be done before the run goes on.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Emitter {
    run_id: Arc<str>,
    seq: u64,
    turn: u32,
    out: VecDeque<Out>,
    #[serde(default)]
    pub(super) journal: Journal,
}

impl Emitter {
    pub(super) fn new(run_id: Arc<str>, journal: Journal) -> Emitter {
        Emitter { run_id, seq: 0, turn: 0, out: VecDeque::new(), journal }
    }

    pub(super) fn run_id(&self) -> &Arc<str> {
        &self.run_id
    }

    /// What comes next is written before, if the run has a session.
    pub(super) fn record(&mut self, record: impl FnOnce() -> JournalRecord) {
        if self.journal.is_on() {
            match self.out.back_mut() {
                Some(Out::Record(records)) => records.push(record()),
                _ => self.push(Out::Record(vec![record()])),
            }
        }
    }

    /// The number of the turn; 0 before the first one.
    pub(super) fn turn(&self) -> u32 {
        self.turn
    }

    pub(super) fn begin_turn(&mut self) {
        self.turn = self.turn.saturating_add(1);
        self.emit(EventData::TurnStart);
    }

    pub(super) fn push(&mut self, out: Out) {
        self.out.push_back(out);
    }

    pub(super) fn emit(&mut self, data: EventData) {
        self.push(Out::Event(data));
    }

    /// A message that is whole from the start joins the transcript.
    pub(super) fn emit_message(&mut self, message: Arc<Message>) {
        self.record(|| JournalRecord::message(Arc::clone(&message)));
        self.emit_recorded(message);
    }

    /// The same for the result of a call. If only events stand between, it is written with the tool's answer: a write costs more
    /// than its length.
    pub(super) fn emit_result(&mut self, message: Arc<Message>) {
        let before = self.out.iter_mut().rev().find(|out| !matches!(out, Out::Event(_)));
        match before {
            Some(Out::Record(records)) => records.push(JournalRecord::message(Arc::clone(&message))),
            _ => self.record(|| JournalRecord::message(Arc::clone(&message))),
        }
        self.emit_recorded(message);
    }

    fn emit_recorded(&mut self, message: Arc<Message>) {
        self.emit(EventData::MessageStart { message: Arc::clone(&message) });
        self.emit(EventData::MessageEnd { message });
    }

    pub(super) fn diagnostic(&mut self, code: &'static str, message: String, data: Value) {
        self.emit(EventData::Diagnostic { code: code.into(), message, data: Box::new(data) });
    }

    /// Reports about listeners, directly after the event that they got or missed. Nothing follows the last event, and a failure
    /// on a report is none to report: such are only counted by the host.
    pub(super) fn listener_reports(&mut self, event: &str, reports: Vec<ListenerReport>) {
        for report in reports.into_iter().rev() {
            let (code, message, data) = match report {
                _ if event == "agent_end" => continue,
                ListenerReport::Failed(_) if event == "diagnostic" => continue,
                ListenerReport::Failed(error) => {
                    let message = format!("a listener failed on {event}: {error}");
                    (codes::LISTENER_ERROR, message, json!({ "event": event, "error": error }))
                }
                ListenerReport::Left { listener, limit: ListenerLimit { ms, is_grace, .. } } => {
                    let limit = if is_grace { "abort_grace_ms" } else { "listener_timeout_ms" };
                    let message = format!(
                        "listener {listener} has not returned from {event} within {limit} ({ms}); the run goes on, and the \
                         listener gets no event until it returns"
                    );
                    let data = json!({ "listener": listener, "event": event, "limit": limit, "limit_ms": ms });
                    (codes::LISTENER_LEFT, message, data)
                }
                ListenerReport::Back { listener, missed } => {
                    let events = if missed == 1 { "1 event".to_owned() } else { format!("{missed} events") };
                    let message = format!("listener {listener} has returned; it has missed {events}");
                    (codes::LISTENER_BACK, message, json!({ "listener": listener, "missed": missed }))
                }
            };
            self.out.push_front(Out::Event(EventData::Diagnostic { code: code.into(), message, data: Box::new(data) }));
        }
    }

    pub(super) fn pop(&mut self) -> Option<Out> {
        self.out.pop_front()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.out.is_empty()
    }

    /// The run was aborted: no update of a tool is emitted any more.
    pub(super) fn drop_updates(&mut self) {
        let is_update =
            |out: &Out| matches!(out, Out::Event(EventData::ToolExecutionUpdate { .. } | EventData::SubagentEvent { .. }));
        self.out.retain(|out| !is_update(out));
    }

    /// Whether no event was emitted.
    pub(super) fn is_new(&self) -> bool {
        self.seq == 0
    }

    /// Whether `agent_end` is still to be emitted.
    pub(super) fn has_end(&self) -> bool {
        self.out.iter().any(|out| matches!(out, Out::Event(EventData::AgentEnd { .. })))
    }

    /// The result that is still to be given.
    pub(super) fn result(&self) -> Option<&RunResult> {
        self.out.iter().find_map(|out| if let Out::Done(result) = out { Some(&**result) } else { None })
    }

    pub(super) fn clear(&mut self) {
        self.out.clear();
    }

    /// What was not written has no effect; what is no longer wanted is still cancelled. Returns what was left out.
    pub(super) fn keep_only_cancels(&mut self) -> VecDeque<Out> {
        let is_cancel =
            |out: &Out| matches!(out, Out::CancelModel(_) | Out::CancelTool { .. } | Out::CancelHook(_) | Out::LeaveHook(_));
        let (cancels, others) = std::mem::take(&mut self.out).into_iter().partition(is_cancel);
        self.out = cancels;
        others
    }

    /// What was not begun need not be cancelled.
    pub(super) fn drop_cancels_of(&mut self, not_begun: &VecDeque<Out>) {
        let is_of = |begin: &Out, cancel: &Out| match (begin, cancel) {
            (Out::CallModel(model), Out::CancelModel(call)) => model.call == *call,
            (Out::CallTool { call: begun, .. }, Out::CancelTool { call, .. }) => begun == call,
            (Out::AskHook { question_id, .. }, Out::CancelHook(id)) => question_id == id,
            _ => false,
        };
        self.out.retain(|out| !not_begun.iter().any(|begin| is_of(begin, out)));
    }

    /// Nothing more is written.
    pub(super) fn drop_records(&mut self) {
        self.out.retain(|out| !matches!(out, Out::Record(_)));
    }

    /// Gives an event its number.
    pub(super) fn number(&mut self, data: EventData, partial: Option<Partial>) -> Event {
        let event = Event { run_id: Arc::clone(&self.run_id), seq: self.seq, turn: self.turn, data, partial };
        self.seq = self.seq.saturating_add(1);
        event
    }
}
