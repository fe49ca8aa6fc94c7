//! Drives a loop by hand: a script of answers, tools that return at once, and what was emitted.

use std::collections::VecDeque;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::chunk::{Chunk, ChunkReader};
use crate::delta::Delta;
use crate::error::{Error, ErrorKind};
use crate::event::EventData;
use crate::hook::{HookAnswer, HookKind};
use crate::machine::{Action, Config, Input, Loop, ModelEntry, Start, Tools};
use crate::message::Message;
use crate::result::RunResult;
use crate::session::JournalRecord;
use crate::settings::Settings;
use crate::tool::ToolSpec;
use crate::transcript::Constraints;

/// A run with what it needs.
pub(super) struct Drive {
    pub(super) run: Loop,
    pub(super) now_ms: u64,
    answers: VecDeque<Value>,
    /// Model calls, tools, hooks and the words of events, in order; deltas are left out.
    pub(super) seen: Vec<String>,
    /// Hooks that were asked: which, whether it was the next turn's, whether an abort cancels it.
    pub(super) asked: Vec<(HookKind, bool, bool)>,
    /// The timer that the loop has set.
    pub(super) timer_ms: Option<u64>,
    pub(super) result: Option<RunResult>,
    /// What a hook answers; nothing by default.
    pub(super) hook: fn(HookKind) -> Result<HookAnswer, String>,
    /// What is done when a step is seen.
    pub(super) on: Vec<(&'static str, Input)>,
    /// Whether tools and the model answer.
    pub(super) answers_tools: bool,
    /// What was written to the journal.
    pub(super) records: Vec<JournalRecord>,
    /// The kind of record that cannot be written.
    pub(super) unwritable: Option<&'static str>,
}

pub(super) fn call(name: &str) -> Value {
    json!([{ "tool_call": { "id": name, "name": name, "arguments": {} } }, { "end": {} }])
}

pub(super) fn says(text: &str) -> Value {
    json!([text, { "end": {} }])
}

pub(super) fn fails(kind: &str, retryable: bool) -> Value {
    json!([{ "error": { "kind": kind, "message": "no", "retryable": retryable } }])
}

pub(super) fn model(id: &str) -> ModelEntry {
    let constraints = Constraints::new("script", "script", id);
    let (provider, protocol) = ("script".to_owned(), "script".to_owned());
    ModelEntry { key: 0, provider, protocol, id: id.to_owned(), prices: None, constraints, encoder: None }
}

pub(super) fn config(hooks: &[HookKind], change: impl FnOnce(&mut Settings)) -> Config {
    let mut settings = Settings::default();
    change(&mut settings);
    let tool = |name| Arc::new(ToolSpec::new(name, "A tool.", json!({ "type": "object" })).unwrap());
    Config {
        settings,
        model_name: "script/own".to_owned(),
        model: Ok(model("own")),
        fallbacks: Vec::new(),
        summarizer: None,
        tools: Tools::from(vec![tool("a"), tool("b")]),
        hooks: hooks.iter().copied().collect(),
        is_stateless: false,
        journals: false,
        has_jitter: false,
    }
}

/// The same, with a session.
pub(super) fn journaled(hooks: &[HookKind]) -> Config {
    Config { journals: true, ..config(hooks, |_| {}) }
}

impl Drive {
    pub(super) fn new(config: Config, answers: &[Value]) -> Drive {
        let prompts = vec![Message::user("go", 0)];
        Drive::start(config, Start { run_id: "run".to_owned(), prompts: Some(prompts), ..Start::default() }, answers)
    }

    pub(super) fn start(config: Config, start: Start, answers: &[Value]) -> Drive {
        Drive {
            run: Loop::new(config, start),
            now_ms: 0,
            answers: answers.iter().cloned().collect(),
            seen: Vec::new(),
            asked: Vec::new(),
            timer_ms: None,
            result: None,
            hook: |_| Ok(HookAnswer::Nothing),
            on: Vec::new(),
            answers_tools: true,
            records: Vec::new(),
            unwritable: None,
        }
    }

    fn write(&mut self, records: Vec<JournalRecord>) {
        let kinds: Vec<String> = records.iter().map(|record| json!(record)["kind"].as_str().unwrap().to_owned()).collect();
        self.see(format!("write {}", kinds.join(", ")));
        if self.unwritable.is_some_and(|kind| kinds.iter().any(|written| written == kind)) {
            self.run.handle(Input::RecordFailed(Error::new(ErrorKind::Io, "the disk is full")));
        } else {
            self.records.extend(records);
        }
    }

    fn see(&mut self, step: String) {
        for (_, input) in self.on.extract_if(.., |(on, _)| *on == step).collect::<Vec<_>>() {
            self.run.handle(input);
        }
        self.seen.push(step);
    }

    /// Drives until nothing is left to do at this time.
    pub(super) fn rest(&mut self) {
        while let Some(action) = self.run.poll(self.now_ms) {
            match action {
                Action::Emit(event) if matches!(event.data, EventData::MessageUpdate(_)) => {}
                Action::Emit(event) => self.see(event.kind().to_owned()),
                Action::CallModel(model) => {
                    self.see("model".to_owned());
                    if model.wants_response {
                        let deltas = vec![Delta::Response { status: 200, headers: Box::default() }];
                        self.run.handle(Input::ModelDeltas { call: model.call, deltas });
                    }
                    self.answer(model.call);
                }
                Action::CallTool { call, name, .. } => {
                    self.see(format!("tool {name}"));
                    if self.answers_tools {
                        self.run.handle(Input::ToolDone { call, result: Ok("ran".into()) });
                    }
                }
                Action::AskHook { question_id, question, of_next_turn, is_cancellable } => {
                    let answer = question.kind().map_or(Ok(HookAnswer::Nothing), |kind| {
                        self.see(kind.to_string());
                        self.asked.push((kind, of_next_turn, is_cancellable));
                        (self.hook)(kind)
                    });
                    self.run.handle(Input::HookAnswer { question_id, answer: answer.map(Box::new).map_err(Error::callback) });
                }
                Action::SetTimer(timer) => self.timer_ms = timer.map(|timer| timer.at_ms),
                Action::CancelModel { .. } => self.see("cancel model".to_owned()),
                Action::CancelTool { abandoned, .. } => self.see(format!("cancel tool, abandoned: {abandoned}")),
                Action::CancelHook { .. } => self.see("cancel hook".to_owned()),
                Action::LeaveHook { .. } => self.see("leave hook".to_owned()),
                Action::Record(records) => self.write(records),
                Action::Done(result) => self.result = Some(*result),
            }
        }
    }

    /// Drives to the end; time jumps to each timer.
    pub(super) fn end(mut self) -> (RunResult, Vec<String>) {
        loop {
            self.rest();
            if let Some(result) = self.result.take() {
                return (result, self.seen);
            }
            self.now_ms = self.timer_ms.expect("something to wait for");
        }
    }

    /// The next answer of the script; without one the model is silent.
    pub(super) fn answer(&mut self, call: u32) {
        let mut chunks = ChunkReader::new("script");
        for chunk in self.answers.pop_front().iter().flat_map(|answer| answer.as_array().unwrap()) {
            match chunks.read(chunk).unwrap() {
                Chunk::Deltas(deltas) => self.run.handle(Input::ModelDeltas { call, deltas }),
                Chunk::Fail(error) => self.run.handle(Input::ModelEnd { call, result: Err(error) }),
                Chunk::End(deltas) => {
                    self.run.handle(Input::ModelDeltas { call, deltas });
                    self.run.handle(Input::ModelEnd { call, result: Ok(()) });
                }
            }
        }
    }
}

/// The records of a kind.
pub(super) fn written(drive: &Drive, kind: &str) -> Vec<Value> {
    drive.records.iter().map(|record| json!(record)).filter(|record| record["kind"] == kind).collect()
}

/// Drives to the end, and keeps what was written.
pub(super) fn ended(mut drive: Drive) -> Drive {
    loop {
        drive.rest();
        if drive.result.is_some() {
            return drive;
        }
        drive.now_ms = drive.timer_ms.expect("something to wait for");
    }
}
