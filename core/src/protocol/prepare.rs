//! What of a transcript goes to a model: messages that failed are left out, each call's result stands once, right behind the
//! message that made the call and in the order of the calls, and empty blocks and messages are dropped.

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;

use crate::message::{AssistantMessage, ContentBlock, Message, ToolResultMessage, UserMessage};

/// The messages a model sees. Application roles are left out; of a tool result's text longer than `max_result_bytes`, head and
/// tail are kept.
pub(crate) fn prepare(transcript: &[Arc<Message>], max_result_bytes: usize) -> Vec<Arc<Message>> {
    let mut out: Vec<Arc<Message>> = Vec::with_capacity(transcript.len());
    for (at, message) in transcript.iter().enumerate() {
        match &**message {
            Message::User(user) => out.extend(without_empty_user(message, user)),
            Message::Assistant(assistant) => {
                if assistant.stop_reason.is_some_and(|reason| reason.is_failure()) {
                    continue;
                }
                out.extend(without_empty_assistant(message, assistant));
                let results = results(assistant, transcript.get(at + 1..).unwrap_or_default());
                out.extend(results.map(|result| shortened(result, max_result_bytes)));
            }
            // Taken up by the message that made the call.
            Message::ToolResult(_) => {}
            Message::Custom(_) => {}
        }
    }
    out
}

/// A result for each call of the message: the one that follows it, up to the next assistant message, or an error.
fn results<'a>(assistant: &'a AssistantMessage, after: &'a [Arc<Message>]) -> impl Iterator<Item = Arc<Message>> + 'a {
    let mut found: HashMap<&str, &Arc<Message>> = HashMap::new();
    for message in after.iter().take_while(|message| message.as_assistant().is_none()) {
        if let Message::ToolResult(result) = &**message {
            found.entry(&result.tool_call_id).or_insert(message);
        }
    }
    assistant.tool_calls().map(move |call| match found.get(call.id.as_str()) {
        Some(result) => Arc::clone(result),
        None => Arc::new(Message::ToolResult(ToolResultMessage {
            tool_call_id: call.id.clone(),
            tool_name: call.name.clone(),
            content: vec![ContentBlock::text("no result was recorded for this call")],
            details: Value::Null,
            is_error: true,
            timestamp: assistant.timestamp,
        })),
    })
}

/// The result with at most this many bytes of text, from its beginning and its end.
fn shortened(message: Arc<Message>, most: usize) -> Arc<Message> {
    let Message::ToolResult(result) = &*message else {
        return message;
    };
    let text = result_text(result);
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

fn is_empty(block: &ContentBlock) -> bool {
    match block {
        ContentBlock::Text { text, signature } => text.trim().is_empty() && signature.is_none(),
        ContentBlock::Thinking { thinking, signature, .. } => thinking.trim().is_empty() && signature.is_none(),
        ContentBlock::Image { .. } | ContentBlock::ToolCall(_) | ContentBlock::Opaque { .. } => false,
    }
}

fn without_empty_user(message: &Arc<Message>, user: &UserMessage) -> Option<Arc<Message>> {
    if !user.content.iter().any(is_empty) {
        return (!user.content.is_empty()).then(|| Arc::clone(message));
    }
    let content: Vec<_> = user.content.iter().filter(|block| !is_empty(block)).cloned().collect();
    (!content.is_empty()).then(|| Arc::new(Message::User(UserMessage { content, ..user.clone() })))
}

fn without_empty_assistant(message: &Arc<Message>, assistant: &AssistantMessage) -> Option<Arc<Message>> {
    if !assistant.content.iter().any(is_empty) {
        return (!assistant.content.is_empty()).then(|| Arc::clone(message));
    }
    let content: Vec<_> = assistant.content.iter().filter(|block| !is_empty(block)).cloned().collect();
    (!content.is_empty()).then(|| Arc::new(Message::Assistant(AssistantMessage { content, ..assistant.clone() })))
}

/// A tool result's text for the model: all text, or a word where there is nothing (a model imagines an image otherwise).
pub(crate) fn result_text(result: &ToolResultMessage) -> String {
    let texts: Vec<&str> = result
        .content
        .iter()
        .filter_map(|block| match block {
            ContentBlock::Text { text, .. } if !text.is_empty() => Some(text.as_str()),
            _ => None,
        })
        .collect();
    if texts.is_empty() && !result.content.iter().any(|block| matches!(block, ContentBlock::Image { .. })) {
        return "no output".to_owned();
    }
    texts.join("\n")
}
