//! Tool results: finding the one of a call, and its text for the model.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use serde_json::Value;

use super::log::Log;
use crate::message::{AssistantMessage, ContentBlock, Message, ToolResultMessage};

/// A result with its place in the transcript.
type Placed<'a> = (usize, &'a Arc<Message>);

/// The results of a transcript by the message that made their calls. A result belongs to the nearest message before it that
/// called by its id, up to the message of the model that was given results; a result of a failed message's call belongs to that.
pub(super) struct Results<'a> {
    /// By the calling message's index and the call's id, in their order.
    waiting: HashMap<(usize, &'a str), VecDeque<Placed<'a>>>,
    /// Of no call that goes to the model.
    strays: Vec<(usize, &'a str)>,
}

impl<'a> Results<'a> {
    pub(super) fn of(transcript: &'a [Arc<Message>]) -> Results<'a> {
        let mut results = Results { waiting: HashMap::new(), strays: Vec::new() };
        // Who may be answered: the last message that was not a failure, and the failures after it.
        let mut callers: Vec<(usize, bool, Vec<&str>)> = Vec::new();
        for (at, message) in transcript.iter().enumerate() {
            match &**message {
                Message::Assistant(assistant) => {
                    let failure = failed(assistant);
                    if !failure {
                        callers.clear();
                    }
                    callers.push((at, failure, assistant.tool_calls().map(|call| call.id.as_str()).collect()));
                }
                Message::ToolResult(result) => {
                    let id = result.tool_call_id.as_str();
                    match callers.iter().rev().find(|(_, _, ids)| ids.contains(&id)) {
                        Some((caller, false, _)) => results.waiting.entry((*caller, id)).or_default().push_back((at, message)),
                        Some((_, true, _)) | None => results.strays.push((at, id)),
                    }
                }
                Message::User(_) | Message::Custom(_) => {}
            }
        }
        results
    }

    /// The result of a call; the first that is left, where an id is there twice.
    pub(super) fn take(&mut self, caller: usize, id: &'a str) -> Option<Placed<'a>> {
        self.waiting.get_mut(&(caller, id))?.pop_front()
    }

    /// Reports the results that no call took.
    pub(super) fn report_strays(self, log: &mut Log) {
        let repeated = self.waiting.into_iter().flat_map(|((_, id), left)| left.into_iter().map(move |(at, _)| (at, id)));
        for (at, id) in repeated.chain(self.strays) {
            log.note("stray_result", at, None, || {
                format!("the result answers no call {id:?} that is still open; it was left out")
            });
        }
    }
}

/// The result of a call that has none.
pub(super) fn missing(id: &str, name: &str, timestamp: u64) -> ToolResultMessage {
    ToolResultMessage {
        tool_call_id: id.to_owned(),
        tool_name: name.to_owned(),
        content: vec![ContentBlock::text("no result was recorded for this call")],
        details: Value::Null,
        is_error: true,
        timestamp,
    }
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

/// Whether the message failed or was aborted.
pub(super) fn failed(assistant: &AssistantMessage) -> bool {
    assistant.stop_reason.is_some_and(|reason| reason.is_failure())
}
