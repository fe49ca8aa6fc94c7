//! Tool results: which call each answers, and their text for the model.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

use super::constraints::Constraints;
use super::log::Repair;
use crate::message::{AssistantMessage, ContentBlock, Message, ToolCall, ToolResultMessage};
use crate::table::codes;

/// The bytes of what is written behind a part of a result, at most.
const READ_ON: usize = 128;

/// The tool with which a model reads on in a result that was cut.
pub(crate) const READ_RESULT: &str = "read_tool_result";

/// The calls that a result may answer, wherever it stands behind them: those without a result, and those of failed messages,
/// whose results are left out with them. A result belongs to the nearest message before it that called by its id, of these to
/// one that called the tool it names, and of the calls of that message to the first. Which calls have no result is known only
/// at the end.
#[derive(Debug, Clone, Default)]
pub(super) struct Calls {
    /// In the order of the calls.
    open: BTreeMap<u64, Call>,
    /// How many calls there were.
    count: u64,
    by_id: HashMap<String, Vec<CallsOfMessage>>,
    by_id_and_tool: HashMap<(String, String), Vec<CallsOfMessage>>,
}

/// The calls of one message that have the same id. Those that are not open any more are removed when they are found.
#[derive(Debug, Clone)]
struct CallsOfMessage {
    message_index: usize,
    calls: VecDeque<u64>,
}

/// A call without a result.
#[derive(Debug, Clone)]
struct Call {
    /// The indices of the message and the block.
    place: (usize, usize),
    /// Where its result stands among the repaired messages; `None` for a call of a failed message.
    slot: Option<usize>,
    /// The id and the tool's name by which a result names it.
    given_id: String,
    given_name: String,
    /// The id and the name under which it goes to the model.
    id: String,
    name: String,
    /// When the call was made.
    timestamp: u64,
    /// The error result that stands for a missing one: always the same, so that what is made from it can be kept.
    missing: Option<Arc<Message>>,
}

impl Calls {
    /// Adds the calls of a message: `given` as it is in the transcript, `fitted` as it goes to the model. Their results stand at
    /// `first_slot` and behind it. Returns how many there are.
    pub(super) fn add(&mut self, at: usize, given: &AssistantMessage, fitted: &AssistantMessage, first_slot: usize) -> usize {
        let calls = calls_of(given).zip(fitted.tool_calls()).zip(first_slot..);
        let mut count = 0;
        for (((block, call), ToolCall { id, name, .. }), slot) in calls {
            count += 1;
            self.insert(Call {
                place: (at, block),
                slot: Some(slot),
                given_id: call.id.clone(),
                given_name: call.name.clone(),
                id: id.clone(),
                name: name.clone(),
                timestamp: given.timestamp,
                missing: None,
            });
        }
        count
    }

    pub(super) fn add_failed(&mut self, at: usize, message: &AssistantMessage) {
        for (block, call) in calls_of(message) {
            self.insert(Call {
                place: (at, block),
                slot: None,
                given_id: call.id.clone(),
                given_name: call.name.clone(),
                id: String::new(),
                name: String::new(),
                timestamp: message.timestamp,
                missing: None,
            });
        }
    }

    fn insert(&mut self, call: Call) {
        let (number, message_index) = (self.count, call.place.0);
        self.count += 1;
        add_to(self.by_id.entry(call.given_id.clone()).or_default(), message_index, number);
        let id_and_tool = (call.given_id.clone(), call.given_name.clone());
        add_to(self.by_id_and_tool.entry(id_and_tool).or_default(), message_index, number);
        self.open.insert(number, call);
    }

    /// Gives a result to its call. `fit` makes it fit the call's id and name. Returns it with its slot, or `None` when there is
    /// no such call.
    pub(super) fn take(
        &mut self,
        id: &str,
        tool: &str,
        fit: impl FnOnce(&str, &str) -> Arc<Message>,
    ) -> Option<(usize, Arc<Message>)> {
        let Calls { open, by_id, by_id_and_tool, .. } = self;
        let id_and_tool = (id.to_owned(), tool.to_owned());
        let number = by_id_and_tool.get_mut(&id_and_tool).and_then(|calls| nearest(calls, open));
        let number = number.or_else(|| by_id.get_mut(id).and_then(|calls| nearest(calls, open)))?;
        let call = open.remove(&number)?;
        // What is left of it in the other index goes, too.
        if by_id.get_mut(id).is_some_and(|calls| nearest(calls, open).is_none()) {
            by_id.remove(id);
        }
        let id_and_tool = (call.given_id, call.given_name);
        if by_id_and_tool.get_mut(&id_and_tool).is_some_and(|calls| nearest(calls, open).is_none()) {
            by_id_and_tool.remove(&id_and_tool);
        }
        Some((call.slot?, fit(&call.id, &call.name)))
    }

    /// Puts an error result into the slot of each call that has no result yet, and reports it.
    pub(super) fn fill_slots(&mut self, fit: &Constraints, messages: &mut [Arc<Message>], repairs: &mut Vec<Repair>) {
        for call in self.open.values_mut() {
            let Call { place: (at, block), slot, given_id, given_name, id, name, timestamp, missing } = call;
            let Some(slot) = slot.and_then(|slot| messages.get_mut(slot)) else {
                continue;
            };
            let text = format!("the call {given_id:?} of {given_name} has no result; an error result says so");
            repairs.push(Repair { code: codes::MISSING_RESULT, message_index: *at, content_index: Some(*block), text });
            let result = missing.get_or_insert_with(|| {
                let missing = Arc::new(Message::ToolResult(missing_result(id, name, *timestamp)));
                shortened(missing, fit, given_id)
            });
            *slot = Arc::clone(result);
        }
        // Those of one message come behind its other repairs.
        repairs.sort_by_key(|repair| repair.message_index);
    }
}

fn calls_of(message: &AssistantMessage) -> impl Iterator<Item = (usize, &ToolCall)> {
    message.content.iter().enumerate().filter_map(|(block, content)| match content {
        ContentBlock::ToolCall(call) => Some((block, call)),
        _ => None,
    })
}

fn add_to(messages: &mut Vec<CallsOfMessage>, message_index: usize, number: u64) {
    match messages.last_mut().filter(|last| last.message_index == message_index) {
        Some(last) => last.calls.push_back(number),
        None => messages.push(CallsOfMessage { message_index, calls: VecDeque::from([number]) }),
    }
}

/// The first open call of the last message that has one.
fn nearest(messages: &mut Vec<CallsOfMessage>, open: &BTreeMap<u64, Call>) -> Option<u64> {
    while let Some(last) = messages.last_mut() {
        while let Some(number) = last.calls.front() {
            if open.contains_key(number) {
                return Some(*number);
            }
            last.calls.pop_front();
        }
        messages.pop();
    }
    None
}

/// The result of a call that has none.
fn missing_result(id: &str, name: &str, timestamp: u64) -> ToolResultMessage {
    let text = ContentBlock::text("no result was recorded for this call");
    ToolResultMessage { is_error: true, timestamp, ..ToolResultMessage::new(id, name, vec![text]) }
}

/// The result with at most as many bytes of text as the model gets at once, from its beginning and its end. `given_id` is the id
/// of its call in the transcript.
pub(super) fn shortened(message: Arc<Message>, fit: &Constraints, given_id: &str) -> Arc<Message> {
    let Message::ToolResult(result) = &*message else {
        return message;
    };
    let text = result.model_text();
    let most = fit.max_bytes_of(&text);
    if text.len() <= most {
        return message;
    }
    let text = without_middle(&text, most, |head| match fit.reads_on {
        true => format!("; call {READ_RESULT} with tool_call_id {given_id:?} and offset {head} to read on"),
        false => String::new(),
    });
    let mut content = vec![ContentBlock::text(text)];
    content.extend(result.content.iter().filter(|block| block.is_file()).cloned());
    Arc::new(Message::ToolResult(ToolResultMessage { content, ..result.clone() }))
}

/// A text that is longer, with at most so many bytes, from its beginning and its end. `more`: what the mark between them says, of
/// the byte at which it stands.
pub(super) fn without_middle(text: &str, most: usize, more: impl FnOnce(usize) -> String) -> String {
    let half = most / 2;
    let (head, tail) = (boundary_before(text, half), boundary_after(text, text.len() - half));
    let (first, last) = (text.get(..head).unwrap_or_default(), text.get(tail..).unwrap_or_default());
    format!("{first}\n[… {} bytes left out{} …]\n{last}", tail - head, more(head))
}

/// The part of a result's text that begins with this byte, somewhat less than the model gets at once, and from which byte to
/// which it is. A place within a character is that of the character.
pub(crate) fn part_of_result<'a>(text: &'a str, offset: usize, fit: &Constraints) -> (&'a str, usize, usize) {
    let from = boundary_before(text, offset.min(text.len()));
    let rest = text.get(from..).unwrap_or_default();
    // With what is written behind it, it must not be cut once more.
    let most = fit.max_bytes_of(rest);
    let most = most - READ_ON.min(most / 2);
    let to = from + boundary_before(rest, most.min(rest.len()));
    (text.get(from..to).unwrap_or_default(), from, to)
}

fn boundary_before(text: &str, at: usize) -> usize {
    (0..4).filter_map(|by| at.checked_sub(by)).find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

fn boundary_after(text: &str, at: usize) -> usize {
    (0..4).map(|by| at + by).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len())
}
