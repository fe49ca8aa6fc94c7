//! The tape of a scenario: with what its runs begin, and what is handed in when, in the JSON of hosts that step a loop. Such
//! hosts play `tests/scenarios/steps.jsonl`, and get the events that the scenario expects.

use serde_json::{Map, Value, json};

/// The tape of a scenario that is being played.
#[derive(Default)]
pub(crate) struct Tape {
    runs: Vec<Value>,
    /// Why such hosts cannot play it.
    skipped: Option<&'static str>,
    /// Whether the loop was polled since the last input and the last event.
    pub(crate) is_polled: bool,
}

impl Tape {
    /// The scenario has something that such a host has no part in.
    pub(crate) fn skip(&mut self, why: &'static str) {
        self.skipped.get_or_insert(why);
    }

    /// A run begins.
    pub(crate) fn begin(&mut self, at_ms: u64, options: Map<String, Value>) {
        self.is_polled = false;
        self.runs.push(json!({ "at_ms": at_ms, "options": options, "inputs": [] }));
    }

    /// Something is handed in, after so many events of the run: when the loop has nothing to do until then, or at once, before it
    /// is polled again.
    pub(crate) fn input(&mut self, at_ms: u64, events: usize, input: Value) {
        if self.skipped.is_some() {
            return;
        }
        let inputs = self.runs.last_mut().and_then(|run| run["inputs"].as_array_mut());
        let mut entry = json!({ "at_ms": at_ms, "events": events, "input": input });
        if !std::mem::take(&mut self.is_polled) {
            entry["at_once"] = true.into();
        }
        inputs.expect("a run").push(entry);
    }

    /// Its line.
    pub(crate) fn line(&self, name: &str) -> Value {
        match self.skipped {
            Some(why) => json!({ "scenario": name, "skipped": why }),
            None => json!({ "scenario": name, "runs": self.runs }),
        }
    }
}

/// The scripts as they stand in the specs, with how many answers of each were given.
#[derive(Default)]
pub(crate) struct Answers(Vec<(Vec<Value>, usize)>);

impl Answers {
    /// The script of the next model.
    pub(crate) fn add(&mut self, script: Option<&Value>) {
        self.0.push((script.and_then(Value::as_array).cloned().unwrap_or_default(), 0));
    }

    /// What a host hands in for each of the inputs with which a script answers; `None` for what the input before has said.
    pub(crate) fn next(&mut self, model: usize, call: u32, error: Value) -> Vec<Option<Value>> {
        let (answers, given) = &mut self.0[model];
        let steps = answers.get(*given).and_then(Value::as_array).cloned().unwrap_or_default();
        *given += 1;
        let chunk = |chunk: &Value| Some(json!({ "type": "model_chunk", "call": call, "chunk": chunk }));
        let mut inputs = Vec::new();
        for step in steps.iter().filter(|step| step.get("wait_ms").is_none()) {
            inputs.push(chunk(step.get("delta").unwrap_or(step)));
            if step.get("end").is_some() {
                inputs.push(None);
            }
            if step.get("end").or(step.get("error")).is_some() {
                return inputs;
            }
        }
        inputs.push(Some(json!({ "type": "model_end", "call": call, "error": error })));
        inputs
    }
}
