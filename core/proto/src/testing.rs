//! Checks whether a stream of events is one that the loop can emit: for tests of custom providers and of user interfaces.
//!
//! ```
//! use agent_loop_proto::testing::check_events;
//! use serde_json::json;
//! let events = [json!({ "type": "agent_start", "run_id": "r", "seq": 0, "turn": 0 })];
//! let error = check_events(&events).unwrap_err();
//! assert_eq!(error.message(), "events: the last event must be agent_end");
//! ```

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::error::{Error, SHUT_DOWN};
use crate::json_error::shown;
use crate::table::{codes, events};
use crate::usage;

/// Checks the events of one run, in canonical JSON and in order, against the grammar of the loop's contract: their order, their
/// numbers, their fields, and that what they say of messages fits together.
///
/// # Errors
/// `invalid_argument`: names the first event that does not fit, by its place, and says why.
pub fn check_events(events: &[Value]) -> Result<(), Error> {
    let mut checker = Checker::new();
    for event in events {
        checker.event(event)?;
    }
    checker.finish()
}

/// The same check, one event at a time.
#[derive(Debug, Default)]
pub struct Checker {
    at: u64,
    run_id: Value,
    turn: u64,
    place: Place,
    /// The messages that the run has emitted.
    messages: Vec<Value>,
    /// Of this turn.
    answer: Value,
    blocks: BTreeMap<u64, Block>,
    calls: Vec<Call>,
    /// A message between its start and its end.
    open: Option<Value>,
    /// Whether calls were left to the caller, as one model call does: nothing may follow its turn.
    leaves_calls: bool,
    /// Where in `messages` the answers and the summaries are.
    answers: Vec<usize>,
    /// Whether an attempt has failed whose tokens no message has.
    has_more_usage: bool,
    /// Whether the turn began with calls of an earlier run.
    is_decided: bool,
    /// The ids of the calls that wait for a decision.
    pending: Vec<Value>,
    /// Whether the turn had no answer, as nothing was left of the budget: the run must end.
    has_no_answer: bool,
}

#[derive(Debug, Default, Clone, Copy, PartialEq)]
enum Place {
    #[default]
    Nowhere,
    /// Before the first turn or after one.
    Between,
    /// In a turn, before its answer.
    Input,
    /// In the answer.
    Answer,
    /// After it.
    Batch,
    /// After `agent_end`.
    Over,
}

#[derive(Debug)]
struct Block {
    family: &'static str,
    text: String,
    whole: Option<Value>,
}

#[derive(Debug)]
struct Call {
    id: Value,
    name: Value,
    started: bool,
    /// It has its end, or waits for a decision.
    ended: bool,
    suspended: bool,
    result: Option<Value>,
}

impl Call {
    fn new(id: &Value, name: &Value) -> Call {
        Call { id: id.clone(), name: name.clone(), started: false, ended: false, suspended: false, result: None }
    }
}

impl Checker {
    /// Nothing was seen yet.
    pub fn new() -> Checker {
        Checker::default()
    }

    /// Takes the next event in.
    ///
    /// # Errors
    /// `invalid_argument`: says why it cannot stand here.
    pub fn event(&mut self, event: &Value) -> Result<(), Error> {
        let checked = self.check(event);
        let place = match event["type"].as_str() {
            Some(kind) => format!("events[{}] ({kind})", self.at),
            None => format!("events[{}]", self.at),
        };
        self.at += 1;
        checked.map_err(|why| Error::invalid_argument(format!("{place}: {why}")))
    }

    /// The stream is over.
    ///
    /// # Errors
    /// `invalid_argument` when `agent_end` is missing.
    pub fn finish(self) -> Result<(), Error> {
        if self.place == Place::Over {
            return Ok(());
        }
        Err(Error::invalid_argument("events: the last event must be agent_end"))
    }

    fn check(&mut self, event: &Value) -> Result<(), String> {
        let kind =
            event["type"].as_str().ok_or_else(|| format!("expected an event, an object with a type, got {}", shown(event)))?;
        let fields = events::find(kind).ok_or_else(|| format!("unknown type {kind:?}"))?.fields;
        let always = fields.iter().filter(|field| !field.is_optional).map(|field| field.name);
        if let Some(field) = ["run_id", "seq", "turn"].into_iter().chain(always).find(|field| event.get(field).is_none()) {
            return Err(format!("{field} is missing"));
        }
        is(&event["seq"], &json!(self.at), "seq")?;
        match (self.place, kind) {
            (Place::Over, _) => return Err("nothing may follow agent_end".to_owned()),
            (Place::Nowhere, "agent_start") => self.run_id = event["run_id"].clone(),
            (Place::Nowhere, _) => return Err("the first event must be agent_start".to_owned()),
            (_, "agent_start") => return Err("agent_start may come only once".to_owned()),
            (Place::Between, "turn_start") => self.turn += 1,
            _ => {}
        }
        is(&event["run_id"], &self.run_id, "run_id")?;
        is(&event["turn"], &json!(self.turn), "turn")?;
        match kind {
            "agent_start" => self.place = Place::Between,
            // Each comes after a model call of which there is no message.
            "diagnostic" => {
                let codes = [codes::FALLBACK, codes::SUMMARY_FAILED, codes::CONTEXT_TRIMMED];
                self.has_more_usage |= codes.iter().any(|code| event["code"] == *code);
            }
            "turn_start" => self.begin_turn()?,
            "retry" => {
                self.within(&[Place::Input], "a retry may come only before the answer")?;
                self.has_more_usage = true;
            }
            "raw" => self.within(&[Place::Answer], "a raw frame may come only within the assistant's message")?,
            "message_start" => self.start_message(&event["message"])?,
            "message_end" => self.end_message(&event["message"])?,
            "turn_end" => self.end_turn(event)?,
            "agent_end" => self.end_run(event)?,
            "tool_call_suspended" | "subagent_event" => self.execution(kind, event)?,
            _ if kind.starts_with("tool_execution_") => self.execution(kind, event)?,
            _ => self.update(kind, event)?,
        }
        Ok(())
    }

    fn within(&self, places: &[Place], otherwise: &str) -> Result<(), String> {
        if !places.contains(&self.place) {
            return Err(otherwise.to_owned());
        }
        match &self.open {
            Some(message) if message["role"] != "assistant" => Err("the message before has not ended".to_owned()),
            _ => Ok(()),
        }
    }

    fn begin_turn(&mut self) -> Result<(), String> {
        self.within(&[Place::Between], "the turn before has not ended")?;
        if let Some(id) = self.pending.first() {
            return Err(format!("the call {id} waits for a decision, and the run must end"));
        }
        if self.leaves_calls {
            return Err("the turn before has left its calls without results, as only one model call does".to_owned());
        }
        if self.has_no_answer {
            return Err("the turn before has no answer, as only the last one of a budget does".to_owned());
        }
        self.place = Place::Input;
        self.is_decided = false;
        self.answer = Value::Null;
        self.blocks.clear();
        self.calls.clear();
        Ok(())
    }

    fn start_message(&mut self, message: &Value) -> Result<(), String> {
        self.within(&[Place::Input, Place::Batch], "a message may begin only in a turn, after the end of the message before")?;
        match (self.place, message["role"].as_str().unwrap_or_default()) {
            (Place::Input, "assistant") => {
                is(&message["content"], &json!([]), "message: content")?;
                is(&message["stop_reason"], &Value::Null, "message: stop_reason")?;
                self.place = Place::Answer;
            }
            (Place::Input, _) => {}
            (_, "tool_result") => self.begin_result(message)?,
            (_, role) => return Err(format!("a message of role {role:?} may not come among tool results")),
        }
        self.open = Some(message.clone());
        Ok(())
    }

    /// A result follows its call's end, in the order of the calls; in a batch that goes on, one call after the other.
    fn begin_result(&self, message: &Value) -> Result<(), String> {
        // A call that waits for a decision has a result only if the run ends for another reason.
        let may_be_next = |call: &&Call| call.result.is_none() && (!call.suspended || call.id == message["tool_call_id"]);
        let next = self.calls.iter().find(may_be_next).ok_or("there are more results than calls")?;
        is(&message["tool_call_id"], &next.id, "message: tool_call_id")?;
        is(&message["tool_name"], &next.name, "message: tool_name")?;
        if !next.ended {
            return Err("the result's call has not ended".to_owned());
        }
        let unfinished = self.calls.iter().any(|call| !call.ended);
        let waiting = self.calls.iter().filter(|call| call.started && call.result.is_none()).count();
        if unfinished && waiting > 1 {
            return Err("results of calls that run concurrently may come only when all have ended".to_owned());
        }
        Ok(())
    }

    fn end_message(&mut self, message: &Value) -> Result<(), String> {
        let open = self.open.take().ok_or("no message was started")?;
        if self.place == Place::Answer {
            is(&message["role"], &json!("assistant"), "message: role")?;
            is(&message["timestamp"], open.get("timestamp").unwrap_or(&Value::Null), "message: timestamp")?;
            self.end_answer(message)?;
            self.answers.push(self.messages.len());
        } else {
            is(message, &open, "message")?;
            // A summary is what a model wrote, too.
            let role = message["role"].as_str().unwrap_or_default();
            if matches!(role, "context_summary" | "result_summary") {
                self.answers.push(self.messages.len());
            }
            if self.place == Place::Batch
                && let Some(call) = self.calls.iter_mut().find(|call| call.id == message["tool_call_id"])
            {
                call.result = Some(message.clone());
            }
        }
        self.messages.push(message.clone());
        Ok(())
    }

    fn end_answer(&mut self, message: &Value) -> Result<(), String> {
        let stop_reason = message["stop_reason"].as_str().ok_or("message: stop_reason is missing")?;
        let failed = matches!(stop_reason, "error" | "aborted");
        if failed != message.get("error").is_some() {
            return Err("message: error must be there if stop_reason is error or aborted, and only then".to_owned());
        }
        let content = message["content"].as_array().ok_or("message: content: expected an array")?;
        let is_call = |block: &&Value| block["type"] == "tool_call";
        if (failed || stop_reason == "refusal") && content.iter().any(|block| is_call(&block)) {
            return Err(format!("message: with the stop_reason {stop_reason} it may have no tool calls"));
        }
        if !failed {
            if let Some((index, _)) = self.blocks.iter().find(|(_, block)| block.whole.is_none()) {
                return Err(format!("block {index} has not ended"));
            }
            // Opaque blocks have no events, and calls of a refusal are taken out.
            let ended: Vec<&Value> = self.blocks.values().filter_map(|block| block.whole.as_ref()).collect();
            let ended: Vec<&Value> = ended.into_iter().filter(|block| stop_reason != "refusal" || !is_call(block)).collect();
            let whole: Vec<&Value> = content.iter().filter(|block| block["type"] != "opaque").collect();
            if ended != whole {
                return Err("message: its content must be that of its blocks' end events".to_owned());
            }
        }
        self.calls = content.iter().filter(is_call).map(|block| Call::new(&block["id"], &block["name"])).collect();
        if let Some(twice) = self.calls.iter().enumerate().find(|(i, call)| self.calls.iter().take(*i).any(|c| c.id == call.id)) {
            return Err(format!("message: two calls have the id {}", twice.1.id));
        }
        self.answer = message.clone();
        self.place = Place::Batch;
        Ok(())
    }

    fn update(&mut self, kind: &str, event: &Value) -> Result<(), String> {
        self.within(&[Place::Answer], "an update may come only within the assistant's message")?;
        let (family, step) = kind.rsplit_once('_').unwrap_or_default();
        let index = event["content_index"].as_u64().ok_or("content_index: expected a number")?;
        let family = ["text", "thinking", "tool_call"].into_iter().find(|known| *known == family).unwrap_or_default();
        if step == "start" {
            let last = self.blocks.last_key_value().map(|(last, _)| *last);
            if last.is_some_and(|last| index <= last) {
                return Err(format!("block {index} must come after block {}", last.unwrap_or_default()));
            }
            self.blocks.insert(index, Block { family, text: String::new(), whole: None });
            return Ok(());
        }
        let block = self.blocks.get_mut(&index).ok_or_else(|| format!("block {index} was not started"))?;
        if block.whole.is_some() || block.family != family {
            return Err(format!("block {index} has ended, or is of the type {}", block.family));
        }
        if step == "delta" {
            block.text.push_str(event["delta"].as_str().ok_or("delta: expected text")?);
            return Ok(());
        }
        let whole = &event["block"];
        is(&whole["type"], &json!(family), "block: type")?;
        if family != "tool_call" {
            is(&whole[family], &json!(block.text), &format!("block: {family}"))?;
        }
        block.whole = Some(whole.clone());
        Ok(())
    }

    fn execution(&mut self, kind: &str, event: &Value) -> Result<(), String> {
        // Only the first turn of a run may go on with calls of an earlier one.
        if self.place == Place::Input && self.turn == 1 && self.messages.is_empty() && kind == "tool_execution_start" {
            (self.place, self.is_decided) = (Place::Batch, true);
        }
        self.within(&[Place::Batch], "tools may run only after the assistant's message")?;
        if self.open.is_some() {
            return Err("the message before has not ended".to_owned());
        }
        let id = &event["tool_call_id"];
        let one_by_one = self.calls.iter().any(|call| call.result.is_some());
        let waiting = self.calls.iter().any(|call| call.started && call.result.is_none());
        if self.is_decided && kind == "tool_execution_start" && !self.calls.iter().any(|call| call.id == *id) {
            self.calls.push(Call::new(id, &event["tool_name"]));
        }
        let call = self.calls.iter_mut().find(|call| call.id == *id).ok_or_else(|| format!("there is no call {id}"))?;
        is(&event["tool_name"], &call.name, "tool_name")?;
        match kind {
            "tool_execution_start" if call.started => return Err(format!("the call {id} has started before")),
            "tool_execution_start" if one_by_one && waiting => {
                return Err("in a batch that runs one by one, the call before has no result yet".to_owned());
            }
            "tool_execution_start" => call.started = true,
            // What subagents use is part of the run's usage, and of no message.
            "subagent_event" => self.has_more_usage = true,
            "tool_execution_end" if event.pointer("/result/details/usage").is_some_and(Value::is_object) => {
                (call.ended, self.has_more_usage) = (true, true);
            }
            _ if !call.started || call.ended => return Err(format!("the call {id} has not started, or has ended")),
            "tool_execution_end" => call.ended = true,
            "tool_call_suspended" => (call.ended, call.suspended) = (true, true),
            _ => {}
        }
        Ok(())
    }

    fn end_turn(&mut self, event: &Value) -> Result<(), String> {
        self.has_no_answer = self.place == Place::Input;
        self.within(&[Place::Batch, Place::Input], "a turn may end only after the assistant's message")?;
        // One model call, which has no prompts, executes none of its calls.
        self.leaves_calls = self.messages.len() == 1 && !self.calls.is_empty() && self.calls.iter().all(|call| !call.started);
        // In a sequential batch, calls behind one that waits are not started.
        let mut waits = false;
        for call in self.calls.iter().filter(|call| call.result.is_none() && !self.leaves_calls) {
            waits |= call.suspended;
            if !(waits && (call.suspended || !call.started)) {
                return Err(format!("the call {} has no result", call.id));
            }
            self.pending.push(call.id.clone());
        }
        is(&event["message"], &self.answer, "message")?;
        let results: Vec<&Value> = self.calls.iter().filter_map(|call| call.result.as_ref()).collect();
        is(&event["tool_results"], &json!(results), "tool_results")?;
        self.place = Place::Between;
        Ok(())
    }

    fn end_run(&mut self, event: &Value) -> Result<(), String> {
        // A runtime that is shut down ends its runs wherever they are.
        let said = event.get("error").and_then(|error| error.get("message")).and_then(Value::as_str);
        let shut_down = event["outcome"] == "aborted" && said.is_some_and(|said| said == SHUT_DOWN);
        if !shut_down || self.place == Place::Between {
            self.within(&[Place::Between], "a run may end only after a turn")?;
        }
        if self.turn == 0 && !shut_down {
            return Err("a run must have at least one turn".to_owned());
        }
        let failed = matches!(event["outcome"].as_str(), Some("error" | "aborted"));
        if failed != event.get("error").is_some() {
            return Err("error must be there if the outcome is error or aborted, and only then".to_owned());
        }
        if self.has_no_answer && !failed && event["outcome"] != "budget" {
            return Err("a turn without the assistant's message may come only before the outcome budget".to_owned());
        }
        self.check_pending(event)?;
        is(&event["turns"], &json!(self.turn), "turns")?;
        is(&event["messages"], &json!(self.messages), "messages")?;
        for count in ["input", "output", "cache_read", "cache_write", "reasoning", "total"] {
            let used = |message: &Value| message.get("usage").and_then(|usage| usage::count(usage.get(count)?));
            let answers = self.answers.iter().filter_map(|at| used(self.messages.get(*at)?));
            let sum = answers.fold(0, u64::saturating_add);
            if used(event).is_none_or(|used| used < sum || (used > sum && !self.has_more_usage)) {
                return Err(format!("usage: {count} is {:?}, and must be {sum}, its messages' sum", used(event)));
            }
        }
        self.place = Place::Over;
        Ok(())
    }
}

impl Checker {
    /// The calls that the run leaves to be decided.
    fn check_pending(&self, event: &Value) -> Result<(), String> {
        let is_suspended = event["outcome"] == "suspended";
        if is_suspended != event.get("pending").is_some() {
            return Err("pending must be there if the outcome is suspended, and only then".to_owned());
        }
        if is_suspended == self.pending.is_empty() && event["outcome"] != "aborted" {
            return Err("the outcome must be suspended if calls wait for a decision, and only then".to_owned());
        }
        let listed = event["pending"].as_array().into_iter().flatten().map(|call| &call["tool_call_id"]);
        let listed: Vec<&Value> = listed.collect();
        // Of a batch that was decided, calls that were not started are seen only here.
        if is_suspended
            && !(listed.iter().zip(&self.pending).all(|(listed, waits)| *listed == waits)
                && (listed.len() == self.pending.len() || (self.is_decided && listed.len() > self.pending.len())))
        {
            return Err(format!("pending has the calls {}, and must have {}", json!(listed), json!(self.pending)));
        }
        Ok(())
    }
}

/// Whether a value is the one it must be.
fn is(value: &Value, must: &Value, what: &str) -> Result<(), String> {
    if value == must { Ok(()) } else { Err(format!("{what} is {value}, and must be {must}")) }
}

#[cfg(test)]
mod tests;
