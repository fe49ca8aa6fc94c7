//! A recording: what went into the loop and came out, with the times at which it was polled.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::builder::Builder;
use super::events;
use super::run::{Run, only, text};

/// The runs of a recording, by its lines.
pub(super) fn runs(lines: &[Value]) -> Vec<Run> {
    let mut reader = Reader::default();
    for line in lines {
        reader.line(line);
    }
    reader.flush();
    reader.builder.finish()
}

#[derive(Default)]
struct Reader<'a> {
    builder: Builder,
    at: u64,
    /// What came in since the loop was polled: its time is that of the next poll.
    inputs: Vec<&'a Value>,
    /// The number of the model call that goes on.
    call: Option<u64>,
    /// Calls that were made, by their numbers in the recording: their ids.
    tools: HashMap<u64, &'a str>,
    /// Questions to hooks: since when, and which.
    questions: HashMap<u64, (u64, &'a str)>,
    /// The head of the run that is about to begin.
    start: Option<&'a Value>,
}

impl<'a> Reader<'a> {
    fn line(&mut self, line: &'a Value) {
        if line.get("agent_loop_recording").is_some() {
            self.flush();
            (self.call, self.start) = (None, line.get("start"));
            self.tools.clear();
            self.questions.clear();
            return;
        }
        match only(line) {
            Some(("poll" | "time", given)) => {
                self.at = given["at"].as_u64().unwrap_or(self.at);
                self.flush();
            }
            Some(("input", input)) => self.inputs.push(input),
            Some(("request", request)) => {
                self.call = request["call"].as_u64();
                self.builder.call(self.at, request["model"].as_str());
            }
            Some(("tool_call", call)) => {
                let id = text(call, "id");
                self.tools.insert(call["call"].as_u64().unwrap_or_default(), id);
                self.builder.tool_start(self.at, id, text(call, "name"), &call["arguments"]);
            }
            Some(("question", question)) => {
                let number = question["question_id"].as_u64().unwrap_or_default();
                self.questions.insert(number, (self.at, text(question, "hook")));
            }
            Some(("event", event)) => self.event(event),
            Some(("end", _)) => self.flush(),
            _ => {}
        }
    }

    fn event(&mut self, event: &'a Value) {
        // The tool itself was done before, where it was called at all.
        events::apply(&mut self.builder, self.at, event);
        let Some(start) = self.start.take_if(|_| event["type"] == "agent_start") else { return };
        // As the agent has matched them with its calls, or as a stateless run was given them.
        let given = start["decisions"].as_array().into_iter().flatten();
        let mut decisions: Map<String, Value> =
            given.filter_map(|pair| Some((pair[0].as_str()?.to_owned(), pair[1].clone()))).collect();
        decisions.extend(start.pointer("/decided/decisions").and_then(Value::as_object).cloned().unwrap_or_default());
        if !decisions.is_empty() {
            self.builder.decisions(self.at, &Value::Object(decisions));
        }
    }

    /// What came in came before this time.
    fn flush(&mut self) {
        for input in std::mem::take(&mut self.inputs) {
            self.input(input);
        }
    }

    fn input(&mut self, input: &'a Value) {
        let Some((kind, given)) = only(input) else { return };
        let is_current = given["call"].as_u64() == self.call;
        let at = self.at;
        match kind {
            "ModelDeltas" if is_current => self.builder.first(at, None),
            "ModelWaits" if is_current => self.builder.call_waits(at, false),
            "ModelBegins" if is_current => self.builder.call_waits(at, true),
            "ModelEnd" if is_current => self.builder.call_ends(at, given["result"].get("Err")),
            "ToolDone" => {
                if let Some(id) = given["call"].as_u64().and_then(|call| self.tools.get(&call)) {
                    self.builder.tool_end(at, id, given["result"].get("Err").is_some());
                }
            }
            "Steer" => self.queued("steering", given),
            "FollowUp" => self.queued("follow_up", given),
            "HookAnswer" => {
                let asked = given["question_id"].as_u64().and_then(|number| self.questions.remove(&number));
                if let Some((since, hook)) = asked {
                    // Those of a tool itself prepare its arguments.
                    let hook = if hook == "of_tool" { "prepare_arguments" } else { hook };
                    self.builder.hook(hook, since, at);
                }
            }
            "Abort" => self.builder.note(at, "abort", "The run was aborted."),
            _ => {}
        }
    }

    fn queued(&mut self, queue: &str, messages: &Value) {
        for message in messages.as_array().into_iter().flatten() {
            self.builder.queued(self.at, queue, message);
        }
    }
}
