//! Tool results: which call each answers, and their text for the model.

use crate::table::codes;
use std::sync::Arc;

use super::constraints::Constraints;
use super::log::{Log, Repair};
use crate::message::{AssistantMessage, ContentBlock, Message, ToolCall, ToolResultMessage};

/// The calls that a result may answer: those of the last message that was not a failure, and of the failures after it. A result
/// belongs to the nearest message before it that called by its id; a result of a failed message's call goes with that.
#[derive(Debug, Clone, Default)]
pub(super) struct Calls {
    /// In the order of the calls.
    calls: Vec<Call>,
    /// The ids of calls of failures.
    of_failures: Vec<String>,
}

/// A call that goes to the model.
#[derive(Debug, Clone)]
struct Call {
    /// The indices of the message and the block.
    place: (usize, usize),
    /// The id by which a result names it.
    given_id: String,
    given_name: String,
    /// The id and the name under which it goes to the model.
    id: String,
    name: String,
    /// When the call was made.
    timestamp: u64,
    result: Option<Arc<Message>>,
    /// The error result that stands for a missing one: always the same, so that what is made from it can be kept.
    missing: Option<Arc<Message>>,
}

impl Calls {
    /// The calls of a message: `given` as it is in the transcript, `fitted` as it goes to the model.
    pub(super) fn new(at: usize, given: &AssistantMessage, fitted: Option<&AssistantMessage>) -> Calls {
        let fitted = fitted.into_iter().flat_map(AssistantMessage::tool_calls);
        let given_calls = given.content.iter().enumerate().filter_map(|(block, content)| match content {
            ContentBlock::ToolCall(call) => Some((block, call)),
            _ => None,
        });
        let calls = given_calls.zip(fitted).map(|((block, call), ToolCall { id, name, .. })| Call {
            place: (at, block),
            given_id: call.id.clone(),
            given_name: call.name.clone(),
            id: id.clone(),
            name: name.clone(),
            timestamp: given.timestamp,
            result: None,
            missing: None,
        });
        Calls { calls: calls.collect(), of_failures: Vec::new() }
    }

    pub(super) fn add_failed(&mut self, message: &AssistantMessage) {
        self.of_failures.extend(message.tool_calls().map(|call| call.id.clone()));
    }

    pub(super) fn len(&self) -> usize {
        self.calls.len()
    }

    /// Gives a result to its call, to the first without one where an id is there twice. `fit` makes it fit the call's id and
    /// name. Returns whether there is such a call.
    pub(super) fn take(&mut self, id: &str, fit: impl FnOnce(&str, &str) -> Arc<Message>) -> bool {
        if self.of_failures.iter().any(|failed| failed == id) {
            return false;
        }
        match self.calls.iter_mut().find(|call| call.given_id == id && call.result.is_none()) {
            Some(call) => {
                call.result = Some(fit(&call.id, &call.name));
                true
            }
            None => false,
        }
    }

    /// Adds the results in the order of the calls, an error result where there is none.
    pub(super) fn write(&mut self, fit: &Constraints, log: &mut Log, out: &mut Vec<Arc<Message>>) {
        let mut repairs = Vec::new();
        for call in &mut self.calls {
            let Call { place: (at, block), given_id, given_name, id, name, timestamp, result, missing } = call;
            if let Some(result) = result {
                out.push(Arc::clone(result));
                continue;
            }
            let text = format!("the call {given_id:?} of {given_name} has no result; an error result says so");
            repairs.push(Repair { code: codes::MISSING_RESULT, message_index: *at, content_index: Some(*block), text });
            let result = missing.get_or_insert_with(|| {
                let missing = Arc::new(Message::ToolResult(missing_result(id, name, *timestamp)));
                shortened(missing, fit.max_result_bytes)
            });
            out.push(Arc::clone(result));
        }
        log.insert(repairs);
    }
}

/// The result of a call that has none.
fn missing_result(id: &str, name: &str, timestamp: u64) -> ToolResultMessage {
    let text = ContentBlock::text("no result was recorded for this call");
    ToolResultMessage { is_error: true, timestamp, ..ToolResultMessage::new(id, name, vec![text]) }
}

/// The result with at most this many bytes of text, from its beginning and its end.
pub(super) fn shortened(message: Arc<Message>, most: usize) -> Arc<Message> {
    let Message::ToolResult(result) = &*message else {
        return message;
    };
    let text = result.model_text();
    if text.len() <= most {
        return message;
    }
    let half = most / 2;
    let boundaries = || (0..4).filter(|by| *by <= half);
    let head = boundaries().map(|by| half - by).find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let tail = boundaries().map(|by| text.len() - half + by).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
    let (first, last) = (text.get(..head).unwrap_or_default(), text.get(tail..).unwrap_or_default());
    let left_out = tail - head;
    let mut content = vec![ContentBlock::text(format!("{first}\n[… {left_out} bytes left out …]\n{last}"))];
    content.extend(result.content.iter().filter(|block| matches!(block, ContentBlock::Image { .. })).cloned());
    Arc::new(Message::ToolResult(ToolResultMessage { content, ..result.clone() }))
}
