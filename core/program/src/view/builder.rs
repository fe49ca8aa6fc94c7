//! Makes runs of what is reported: the readers of the sources say what they find, in its order.

use std::collections::HashMap;

use serde_json::Value;

use super::run::{Entry, ModelCall, Run, ToolCall, Wait, text};

/// What is asked before a tool is called.
const BEFORE_A_CALL: &[&str] = &["prepare_arguments", "needs_approval", "before_tool_call", "on_approval", "on_interrupted_call"];

/// The least time before a request that is shown, in milliseconds.
const WORTH_SAYING: u64 = 5;

/// Makes runs of what is reported.
#[derive(Debug, Default)]
pub(super) struct Builder {
    done: Vec<Run>,
    /// The run that goes on.
    run: Run,
    turn: u64,
    /// The time of the last report: what follows began then, where nothing else says when.
    last: u64,
    /// The model call that goes on, by its place in the run.
    model: Option<usize>,
    /// The calls that wait for a decision, since when.
    waiting: HashMap<String, u64>,
}

impl Builder {
    /// A run begins.
    pub(super) fn begin(&mut self, at: u64, id: &str, of: &str) {
        self.tools().for_each(|tool| tool.waits.retain(|wait| wait.end != Some(wait.start)));
        let run = Run { id: id.to_owned(), of: of.to_owned(), start: at, ..Run::default() };
        let before = std::mem::replace(&mut self.run, run);
        self.done.extend(Some(before).filter(Run::is_known));
        (self.turn, self.last, self.model) = (0, at, None);
    }

    /// A turn begins.
    pub(super) fn turn(&mut self, at: u64, turn: u64) {
        self.turn = turn;
        self.run.turns = turn;
        self.last = at;
    }

    /// A request is made.
    pub(super) fn call(&mut self, at: u64, model: Option<&str>) {
        self.leave_model(at);
        let call = ModelCall { turn: self.turn, model: model.map(str::to_owned), start: at, ..ModelCall::default() };
        self.model = Some(self.push(Entry::Model(call)));
        self.last = at;
    }

    /// The first piece of an answer is there. `since`: when its call began.
    pub(super) fn first(&mut self, at: u64, since: Option<u64>) {
        if let Some(model) = self.model_since(at, since) {
            model.first.get_or_insert(at);
        }
        self.last = at;
    }

    /// The call waits for its turn, or not any more.
    pub(super) fn call_waits(&mut self, at: u64, is_over: bool) {
        let Some(model) = self.open_model() else { return };
        match model.waits.last_mut().filter(|wait| wait.end.is_none()) {
            Some(wait) if is_over => wait.end = Some(at),
            None if !is_over => model.waits.push(Wait { reason: "limiter".to_owned(), start: at, end: None }),
            _ => {}
        }
    }

    /// An answer has ended, perhaps with an error.
    pub(super) fn call_ends(&mut self, at: u64, error: Option<&Value>) {
        if let Some(model) = self.open_model() {
            (model.end, model.error) = (Some(at), error.cloned());
        }
    }

    /// A message joins the transcript.
    pub(super) fn message(&mut self, at: u64, message: &Value, queue: Option<&str>) {
        match text(message, "role") {
            "assistant" => self.answer(at, message),
            "tool_result" => {
                if let Some(tool) = self.tool(text(message, "tool_call_id")).filter(|tool| tool.end.is_none()) {
                    (tool.end, tool.is_error) = (Some(at), message["is_error"].as_bool());
                }
            }
            _ => {}
        }
        // A prompt or a queued message begins the next turn, which is counted with its answer.
        let is_of_turn = matches!(text(message, "role"), "assistant" | "tool_result");
        let turn = if is_of_turn || self.turn > 0 && !self.is_used() { self.turn } else { self.turn.saturating_add(1) };
        self.push(Entry::Message { at, turn, message: message.clone(), queue: queue.map(str::to_owned) });
        self.last = at;
    }

    /// An answer follows. Where turns are not reported, each has one of its own.
    fn turn_of_answer(&mut self) {
        if self.turn == 0 || self.is_used() {
            self.turn = self.turn.saturating_add(1);
            self.run.turns = self.turn;
        }
    }

    fn answer(&mut self, at: u64, message: &Value) {
        self.turn_of_answer();
        let (turn, name) = (self.turn, format!("{}/{}", text(message, "provider"), text(message, "model")));
        let Some(model) = self.model_since(at, message["timestamp"].as_u64()) else { return };
        (model.turn, model.end, model.usage) = (turn, Some(at), Some(message["usage"].clone()));
        model.stop_reason = message["stop_reason"].as_str().map(str::to_owned);
        model.model.get_or_insert(name);
        if let Some(error) = message.get("error") {
            model.error = Some(error.clone());
        }
        let runs_tools = model.error.is_none();
        self.model = None;
        for block in
            message["content"].as_array().into_iter().flatten().filter(|block| runs_tools && block["type"] == "tool_call")
        {
            self.push(Entry::Tool(ToolCall {
                turn,
                id: text(block, "id").to_owned(),
                name: text(block, "name").to_owned(),
                arguments: block["arguments"].clone(),
                start: at,
                ..ToolCall::default()
            }));
        }
    }

    /// Attempts that failed before the answer that follows, as a journal has them.
    pub(super) fn failed_before<'a>(&mut self, retries: impl Iterator<Item = &'a Value>) {
        for retried in retries {
            self.turn_of_answer();
            let at = retried["at"].as_u64().unwrap_or(self.last);
            self.retry(at, &retried["attempt"], retried["delay_ms"].as_u64().unwrap_or_default(), &retried["error"]);
        }
    }

    /// A failed attempt is made again after a pause.
    pub(super) fn retry(&mut self, at: u64, attempt: &Value, delay_ms: u64, error: &Value) {
        if let Some(model) = self.model_since(at, None) {
            (model.end, model.error) = (Some(model.end.unwrap_or(at)), Some(error.clone()));
        }
        self.model = None;
        let turn = self.turn;
        self.push(Entry::Retry { at, turn, attempt: attempt.clone(), delay_ms, error: error.clone() });
        self.last = at.saturating_add(delay_ms);
    }

    /// A hook was asked, and has answered. Which call it was asked about is not reported: calls are checked in their order.
    pub(super) fn hook(&mut self, hook: &str, start: u64, end: u64) {
        let is_next = |tool: &&mut ToolCall| tool.called.is_none() && tool.waits.iter().all(|wait| wait.reason != hook);
        let wait = Wait { reason: hook.to_owned(), start, end: Some(end) };
        if BEFORE_A_CALL.contains(&hook)
            && let Some(tool) = self.tools().find(is_next)
        {
            tool.waits.push(wait);
        } else if end > start {
            self.note(start, "hook", &format!("The hook {hook} took {} ms.", end - start));
        }
    }

    /// A tool is called.
    pub(super) fn tool_start(&mut self, at: u64, id: &str, name: &str, arguments: &Value) {
        self.turn = self.turn.max(1);
        let (turn, run_start) = (self.turn, self.run.start);
        let waited = self.waiting.remove(id);
        if self.tool(id).is_none_or(|tool| tool.called.is_some()) {
            let (id, name) = (id.to_owned(), name.to_owned());
            self.push(Entry::Tool(ToolCall { turn, id, name, start: run_start, ..ToolCall::default() }));
        }
        let others: Vec<u64> =
            self.tools().filter(|other| other.turn == turn && other.id != id).filter_map(|other| other.end).collect();
        let Some(tool) = self.tool(id) else { return };
        (tool.called, tool.arguments) = (Some(at), arguments.clone());
        if let Some(start) = waited {
            tool.waits.push(Wait { reason: "approval".to_owned(), start, end: Some(run_start) });
        }
        // Between what else it waited for: it began when another one had ended, which had its place before.
        let mut free_from = tool.start;
        for (start, end) in
            tool.waits.iter().filter_map(|wait| Some((wait.start, wait.end?))).chain([(at, at)]).collect::<Vec<_>>()
        {
            if others.iter().any(|other| *other > free_from && *other <= start) {
                tool.waits.push(Wait { reason: "slot".to_owned(), start: free_from, end: Some(start) });
            }
            free_from = free_from.max(end);
        }
        tool.waits.sort_by_key(|wait| wait.start);
        self.last = at;
    }

    /// A tool has answered.
    pub(super) fn tool_end(&mut self, at: u64, id: &str, is_error: bool) {
        if let Some(tool) = self.tool(id) {
            // A recording says it twice: when the tool was done, and when its turn came to be reported.
            tool.end.get_or_insert(at);
            tool.is_error = Some(is_error);
        }
        self.last = at;
    }

    /// A message is queued.
    pub(super) fn queued(&mut self, at: u64, queue: &str, message: &Value) {
        let turn = self.turn;
        self.push(Entry::Queued { at, turn, queue: queue.to_owned(), message: message.clone() });
    }

    /// Calls wait for decisions: a list of objects with `tool_call_id`, `tool_name`, `arguments` and `reason`.
    pub(super) fn suspended(&mut self, at: u64, calls: &Value) {
        for id in calls.as_array().into_iter().flatten().map(|call| text(call, "tool_call_id").to_owned()) {
            if let Some(tool) = self.tool(&id) {
                // Events say that it began before they say that it waits.
                tool.called = None;
                tool.waits.retain(|wait| wait.reason != "slot");
                tool.waits.push(Wait { reason: "approval".to_owned(), start: at, end: None });
            }
            self.waiting.insert(id, at);
        }
        let turn = self.turn;
        let is_same = |entry: &&mut Entry| matches!(entry, Entry::Approval { at: before, .. } if *before == at);
        match self.run.entries.last_mut().filter(is_same) {
            // Events report them one by one.
            Some(Entry::Approval { calls: before, .. }) => {
                let more = calls.as_array().cloned().unwrap_or_default();
                before.as_array_mut().into_iter().for_each(|list| list.extend(more.clone()));
            }
            _ => drop(self.push(Entry::Approval { at, turn, calls: calls.clone() })),
        }
    }

    /// It was decided about calls: an object of decisions by the calls' ids.
    pub(super) fn decisions(&mut self, at: u64, decisions: &Value) {
        let turn = self.turn;
        self.push(Entry::Decisions { at, turn, decisions: decisions.clone() });
    }

    /// Something unusual.
    pub(super) fn note(&mut self, at: u64, code: &str, what: &str) {
        let turn = self.turn;
        self.push(Entry::Note { at, turn, code: code.to_owned(), text: what.to_owned() });
    }

    /// The run is over. `end` has its `outcome`, and perhaps `error`, `usage` and `turns`.
    pub(super) fn end(&mut self, at: u64, end: &Value) {
        self.leave_model(at);
        let run = &mut self.run;
        (run.end, run.outcome) = (Some(at), end["outcome"].as_str().map(str::to_owned));
        (run.error, run.usage) = (end.get("error").cloned(), end.get("usage").cloned());
        run.turns = end["turns"].as_u64().unwrap_or(run.turns);
        self.last = at;
    }

    /// What was reported. A run without an end waits for its model where nothing else goes on.
    pub(super) fn finish(mut self) -> Vec<Run> {
        self.tools().for_each(|tool| tool.waits.retain(|wait| wait.end != Some(wait.start)));
        let has_tool = self.tools().any(|tool| tool.end.is_none());
        if self.run.end.is_none() && !self.run.id.is_empty() && !has_tool && self.model.is_none() {
            let (turn, start) = (self.turn.saturating_add(1), self.last);
            self.push(Entry::Model(ModelCall { turn, start, ..ModelCall::default() }));
        }
        self.done.extend(Some(self.run).filter(Run::is_known));
        self.done
    }

    fn push(&mut self, entry: Entry) -> usize {
        self.run.entries.push(entry);
        self.run.entries.len() - 1
    }

    fn tools(&mut self) -> impl Iterator<Item = &mut ToolCall> {
        self.run.entries.iter_mut().filter_map(|entry| if let Entry::Tool(tool) = entry { Some(tool) } else { None })
    }

    /// The last call with this id.
    fn tool(&mut self, id: &str) -> Option<&mut ToolCall> {
        self.tools().filter(|tool| tool.id == id).last()
    }

    fn open_model(&mut self) -> Option<&mut ModelCall> {
        let place = self.model?;
        match self.run.entries.get_mut(place) {
            Some(Entry::Model(model)) => Some(model),
            _ => None,
        }
    }

    /// The call that goes on; one since then, or since the last report, where none was reported.
    fn model_since(&mut self, at: u64, since: Option<u64>) -> Option<&mut ModelCall> {
        if self.open_model().is_none() {
            let start = self.last.min(at);
            // What is not reported of the time before: a hook, a summary, a wait for the limiter.
            let begun = since.filter(|since| (start.saturating_add(WORTH_SAYING)..=at).contains(since));
            let waits = begun.map(|begun| Wait { reason: "before".to_owned(), start, end: Some(begun) }).into_iter().collect();
            let call = ModelCall { turn: self.turn, start, waits, ..ModelCall::default() };
            self.model = Some(self.push(Entry::Model(call)));
        }
        self.open_model()
    }

    /// The call that went on led to no message.
    fn leave_model(&mut self, at: u64) {
        if let Some(model) = self.open_model() {
            model.is_helper = model.error.is_none() && model.end.is_some();
            model.end.get_or_insert(at);
        }
        self.model = None;
    }

    /// Whether this turn has its answer, or the calls with which a run goes on.
    fn is_used(&self) -> bool {
        let turn = self.turn;
        let is_part = |entry: &Entry| match entry {
            Entry::Message { turn: of, message, .. } => *of == turn && text(message, "role") == "assistant",
            Entry::Tool(tool) => tool.turn == turn,
            _ => false,
        };
        self.run.entries.iter().any(is_part)
    }
}
