//! What a run with a session asks to be written before it has an effect, and the end of a run whose session cannot be written.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::batch::Batch;
use super::emitter::Out;
use super::phase::Phase;
use super::run_loop::{FirstInput, Loop};
use super::run_state::RunState;
use super::tool_reports::ToolReports;
use crate::error::Error;
use crate::event::EventData;
use crate::gate::Rule;
use crate::hook::{HookAnswer, HookKind, InterruptedDecision, ToolDecision, ToolOverride};
use crate::message::Message;
use crate::queues::Queue;
use crate::result::RunResult;
use crate::session::{
    Decisions, HookDecision, JournalRecord, MessageRecord, QueueCleared, Queued, RunEnd, RunOf, RunStart, Suspended,
};
use crate::suspension::Decision;
use crate::usage::Outcome;

/// A disk that is busy is not given up at once.
const LEAST_GRACE_MS: u64 = 100;

impl RunState {
    /// Messages join a queue from outside.
    pub(super) fn queue_messages(&mut self, queue: Queue, messages: Vec<Message>) {
        let before = self.inbox.queues().last_number();
        self.inbox.push(queue, messages);
        if self.emitter.journal.is_on() {
            let changes = self.queued_since(queue, before);
            self.emitter.journal.add_changes(changes);
        }
    }

    /// A queue is cleared from outside.
    pub(super) fn clear_queue(&mut self, queue: Queue) {
        if self.emitter.journal.is_on() {
            let numbers = self.inbox.queues().clearable(queue);
            if !numbers.is_empty() {
                self.emitter.journal.add_changes([JournalRecord::QueueCleared(QueueCleared::new(queue, numbers))]);
            }
        }
        self.inbox.clear(queue);
    }

    /// A hook's messages come behind what the same poll found.
    pub(super) fn insert_marked(&mut self, queue: Queue, messages: Vec<Message>) {
        let before = self.inbox.queues().last_number();
        self.inbox.insert_marked(queue, messages);
        if self.emitter.journal.is_on() {
            for record in self.queued_since(queue, before) {
                self.emitter.record(|| record);
            }
        }
    }

    fn queued_since(&self, queue: Queue, before: u64) -> Vec<JournalRecord> {
        let new = self.inbox.queues().since(queue, before);
        new.map(|(number, message)| JournalRecord::Queued(Queued::new(queue, number, Arc::clone(message)))).collect()
    }

    /// Messages of a queue join the transcript. Each leaves its queue then.
    pub(super) fn emit_queued(&mut self, queued: Vec<(u64, Arc<Message>)>) {
        for (number, message) in queued {
            let message = message.dated(self.clock.now_ms());
            let (emitter, queues) = (&mut self.emitter, self.inbox.queues());
            emitter.record(|| match queues.queue_of(number) {
                Some(queue) => JournalRecord::Message(MessageRecord::of_queue(Arc::clone(&message), queue, number)),
                None => JournalRecord::message(Arc::clone(&message)),
            });
            emitter.emit(EventData::MessageStart { message: Arc::clone(&message) });
            emitter.push(Out::Queued(number, message));
        }
    }

    /// A run begins.
    pub(super) fn record_start(&mut self, input: Option<&FirstInput>) {
        if !self.emitter.journal.is_on() {
            return;
        }
        let decided = input.and_then(|input| input.decided.as_ref());
        let decisions = decided.map(|decided| decided.decisions()).unwrap_or_default();
        let of = match input {
            _ if !decisions.is_empty() => RunOf::Decisions,
            Some(input) if !input.queued.is_empty() => RunOf::Queued,
            Some(input) if !input.prompts.is_empty() => RunOf::Prompt,
            _ => RunOf::Resume,
        };
        let run_id = Arc::clone(self.emitter.run_id());
        self.emitter.record(|| JournalRecord::RunStart(RunStart::new(run_id, of)));
        if !decisions.is_empty() {
            self.emitter.record(|| JournalRecord::Decisions(Decisions::new(decisions)));
        }
        if decided.is_some_and(|decided| !decided.remembered().is_empty()) {
            self.record_remembered();
        }
    }

    /// The conversation remembers what was decided about a call with this rule, if that is for always.
    pub(super) fn remember(&mut self, rule: Rule, decision: &Decision) {
        if self.remembered.decide(rule, decision) {
            self.record_remembered();
        }
    }

    fn record_remembered(&mut self) {
        let remembered = &self.remembered;
        self.emitter.record(|| JournalRecord::Remembered(remembered.clone()));
    }

    /// The run is about to end so.
    pub(super) fn record_end(&mut self, result: &RunResult) {
        if result.outcome == Outcome::Suspended {
            let waiting = self.turn.suspended();
            self.emitter.record(|| JournalRecord::Suspended(Suspended::new(waiting.to_vec())));
        }
        let run_id = Arc::clone(self.emitter.run_id());
        let end = || {
            RunEnd::new(run_id, result.outcome, result.usage.clone(), result.turns)
                .with_error(result.error.clone())
                .with_output(result.output.clone())
        };
        self.emitter.record(|| JournalRecord::RunEnd(end()));
    }

    /// A hook has answered, perhaps about a call. Recorded is what changes something, and is not in the records that follow.
    pub(super) fn record_decision(&mut self, kind: HookKind, call: Option<&Arc<str>>, answer: &HookAnswer) {
        if self.emitter.journal.is_on()
            && let Some(answer) = decision_json(answer)
        {
            let decision = HookDecision::new(kind.as_str(), call.map(Arc::clone), answer);
            self.emitter.record(|| JournalRecord::HookDecision(decision));
        }
    }
}

/// What a hook has decided, in canonical JSON; `None` when that changes nothing. The messages of `prepare_next_turn` are left
/// out: they are for the rest of its run alone, and often as long as the transcript.
fn decision_json(answer: &HookAnswer) -> Option<Value> {
    // Those that are given.
    let fields = |fields: [(&str, Option<Value>); 4]| {
        let given = fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
        let map: Map<String, Value> = given.collect();
        (!map.is_empty()).then_some(Value::Object(map))
    };
    match answer {
        HookAnswer::BeforeToolCall(decision) => match decision {
            ToolDecision::Allow => None,
            ToolDecision::Block { reason, terminate } => Some(json!({ "block": true, "reason": reason, "terminate": terminate })),
            ToolDecision::Replace { arguments } => Some(json!({ "arguments": arguments })),
            ToolDecision::Suspend { reason } => Some(json!({ "suspend": reason })),
        },
        HookAnswer::AfterToolCall(ToolOverride { content, details, is_error, terminate }) => fields([
            ("content", content.as_ref().map(|content| json!(content))),
            ("details", details.clone()),
            ("is_error", is_error.map(Value::from)),
            ("terminate", terminate.map(Value::from)),
        ]),
        HookAnswer::OnApproval(decision) => decision.as_ref().map(Decision::to_json),
        HookAnswer::OnInterruptedCall(InterruptedDecision::Retry) => Some("retry".into()),
        HookAnswer::OnInterruptedCall(InterruptedDecision::Result { result }) => Some(json!({ "result": result })),
        HookAnswer::PrepareNextTurn(change) | HookAnswer::ChangeModel { change, .. } => {
            let model = if let HookAnswer::ChangeModel { model, .. } = answer { Some(model.name()) } else { None };
            fields([
                ("system_prompt", change.system_prompt.clone().map(Value::from)),
                ("tools", change.tools.clone().map(Value::from)),
                ("model", model.map(Value::from)),
                ("thinking_level", change.thinking_level.map(|level| json!(level))),
            ])
        }
        HookAnswer::ShouldStopAfterTurn(true) => Some(true.into()),
        _ => None,
    }
}

impl Loop {
    /// Changes of the queues that a run was not polled for any more, as it is over.
    pub(crate) fn take_changes(&mut self) -> Vec<JournalRecord> {
        self.run.emitter.journal.take_changes()
    }

    /// Whether something is to be written before the run goes on: changes of the queues, or what the last action asked for and
    /// the host has not [handed over](Loop::records_handed_over).
    pub fn is_recording(&self) -> bool {
        self.run.emitter.journal.is_waiting()
    }

    /// The host has handed the records of the last action to its store: [`Loop::is_recording`] does not count them any more.
    pub fn records_handed_over(&mut self) {
        self.run.emitter.journal.end_writing();
    }

    /// For how long, after an abort, a host waits for a journal that does not answer before it gives up with
    /// [`Input::RecordFailed`](super::Input::RecordFailed), in milliseconds.
    pub fn record_grace_ms(&self) -> u64 {
        self.run.settings().abort_grace_ms.max(LEAST_GRACE_MS)
    }

    /// What was asked for last cannot be written: the run ends with that error.
    pub(super) fn record_failed(&mut self, error: Error) {
        let run = &mut self.run;
        if !run.emitter.journal.is_on() {
            return;
        }
        run.emitter.journal.fail(error);
        if matches!(self.phase, Phase::AfterRun(..) | Phase::Over) && !run.emitter.has_end() {
            // The run has ended before, with what is written.
            return run.emitter.drop_records();
        }
        let not_begun = run.emitter.keep_only_cancels();
        run.questions.cancel(&mut run.emitter);
        self.model_calls.cancel(run);
        self.batch.take().iter().for_each(|batch: &Batch| batch.cancel(run));
        run.emitter.drop_cancels_of(&not_begun);
        self.tool_reports = ToolReports::default();
        self.first_input = None;
        run.turn.clear_suspended();
        if run.emitter.is_new() {
            run.emitter.emit(EventData::AgentStart);
        }
        run.clock.mark_timer_stale();
        self.phase = Phase::EndRun(Outcome::Error);
    }
}
