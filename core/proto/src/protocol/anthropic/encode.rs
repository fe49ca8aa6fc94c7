//! A request's body.

use serde_json::{Map, Value, json};

use super::thinking::Thinking;
use crate::hosting::Hosting;
use crate::message::{AssistantMessage, ContentBlock, Message, ToolResultMessage};
use crate::protocol::format::{GO_ON, Target};
use crate::protocol::{cache, schema};
use crate::request::{Request, ToolChoice, ToolDescription};

pub(super) fn body(request: &Request, target: Target<'_>) -> Map<String, Value> {
    let options = &request.options;
    let marker = cache::marker(options, target);
    let marker = marker.as_ref();
    let mut body = Map::new();
    // Vertex has the model in the address: https://docs.anthropic.com/en/api/claude-on-vertex-ai
    match target.hosting {
        Hosting::Vertex => body.insert("anthropic_version".into(), "vertex-2023-10-16".into()),
        Hosting::Plain | Hosting::Azure => body.insert("model".into(), target.spec.id.clone().into()),
    };
    let mut messages = messages(request, target);
    let mut thinking = Thinking::of(request, target);
    // What was begun without thinking, by another model or while it was off, is finished without.
    if thinking.must_have_begun() && goes_on_without_thinking(&messages) {
        thinking = Thinking::none(request, target);
    }
    end_well(&mut messages, thinking.is_on());
    if let (Some(beta), Hosting::Vertex) = (thinking.beta(request, target), target.hosting) {
        body.insert("anthropic_beta".into(), json!([beta]));
    }
    body.insert("max_tokens".into(), thinking.max_tokens.into());
    if !request.system_prompt.is_empty() {
        let mut block = json!({ "type": "text", "text": request.system_prompt });
        marker.into_iter().for_each(|marker| cache::mark(&mut block, marker));
        body.insert("system".into(), json!([block]));
    }
    marker.into_iter().for_each(|marker| mark(&mut messages, marker));
    body.insert("messages".into(), messages.into_iter().map(Turn::json).collect());
    // Forcing a tool is refused beside thinking: the model then chooses, of the one tool if it was to be that one.
    let free = thinking.is_on() || !target.quirks.forced_tools;
    let forced = options.tool_choice.as_ref().filter(|_| free);
    let offered = |tool: &&ToolDescription| !matches!(forced, Some(ToolChoice::Tool(name)) if *name != tool.name);
    let mut tools: Vec<Value> = request.tools.iter().filter(offered).map(tool).collect();
    if !tools.is_empty() {
        if let (Some(last), Some(marker), true) = (tools.last_mut(), marker, target.quirks.cache_tools) {
            cache::mark(last, marker);
        }
        body.insert("tools".into(), tools.into());
        if let Some(choice) = &options.tool_choice {
            body.insert("tool_choice".into(), tool_choice(choice, free));
        }
    }
    if !options.stop_sequences.is_empty() {
        body.insert("stop_sequences".into(), options.stop_sequences.clone().into());
    }
    // Refused beside thinking, and by the newest models.
    if let (Some(temperature), false, true) = (options.temperature, thinking.is_on(), target.quirks.temperature) {
        body.insert("temperature".into(), temperature.into());
    }
    thinking.write(&mut body);
    body.insert("stream".into(), true.into());
    body
}

fn tool_choice(choice: &ToolChoice, free: bool) -> Value {
    match choice {
        ToolChoice::None => json!({ "type": "none" }),
        ToolChoice::Required | ToolChoice::Tool(_) if free => json!({ "type": "auto" }),
        ToolChoice::Auto => json!({ "type": "auto" }),
        ToolChoice::Required => json!({ "type": "any" }),
        ToolChoice::Tool(name) => json!({ "type": "tool", "name": name }),
    }
}

fn tool(tool: &ToolDescription) -> Value {
    let mut schema = schema::object(&tool.parameters);
    if let Some(schema) = schema.as_object_mut() {
        schema.entry("required").or_insert_with(|| json!([]));
    }
    json!({ "name": tool.name, "description": tool.description, "input_schema": schema })
}

/// A message of the API: neighbours of one role are one.
struct Turn {
    role: &'static str,
    content: Vec<Value>,
}

impl Turn {
    fn json(self) -> Value {
        json!({ "role": self.role, "content": self.content })
    }

    fn begins_with_thinking(&self) -> bool {
        self.content.first().is_some_and(is_thinking)
    }

    /// How many results are in it.
    fn results(&self) -> usize {
        self.content.iter().filter(|block| is_kind(block, "tool_result")).count()
    }
}

/// Results are blocks of a user message, all of a turn in one, before anything else in it.
fn messages(request: &Request, target: Target<'_>) -> Vec<Turn> {
    let mut turns: Vec<Turn> = Vec::new();
    let mut add = |role, blocks: Vec<Value>| match turns.last_mut() {
        _ if blocks.is_empty() => {}
        Some(last) if last.role == role => last.content.extend(blocks),
        _ => turns.push(Turn { role, content: blocks }),
    };
    // Images that their results may not hold follow the results.
    let mut images = Vec::new();
    for message in &request.messages {
        if !matches!(&**message, Message::ToolResult(_)) {
            add("user", std::mem::take(&mut images));
        }
        match &**message {
            Message::User(user) => add("user", user.content.iter().filter_map(user_block).collect()),
            Message::Assistant(assistant) => add("assistant", assistant_blocks(assistant, target)),
            Message::ToolResult(result) => {
                let mut own = pictures(result);
                // The result of a call that failed may hold only text.
                if !target.quirks.result_images || result.is_error {
                    images.append(&mut own);
                }
                add("user", vec![result_block(result, own)]);
            }
            Message::Custom(_) => {}
        }
    }
    add("user", images);
    // The API demands that the user speaks at all, and first.
    if turns.first().is_none_or(|first| first.role != "user") {
        turns.insert(0, Turn { role: "user", content: vec![json!({ "type": "text", "text": GO_ON })] });
    }
    turns
}

fn is_kind(block: &Value, kind: &str) -> bool {
    block.get("type").is_some_and(|given| given == kind)
}

fn is_thinking(block: &Value) -> bool {
    is_kind(block, "thinking") || is_kind(block, "redacted_thinking")
}

/// Whether the model is to go on with something that it began without thinking: a tool loop, or its own message at the end. With
/// a budget of thinking that is refused. A loop goes back over messages of nothing but results; one that the user spoke into
/// began with the calls just answered. See
/// <https://docs.claude.com/en/docs/build-with-claude/extended-thinking#extended-thinking-with-tool-use>.
fn goes_on_without_thinking(turns: &[Turn]) -> bool {
    let mut began = turns.last().filter(|last| last.role == "assistant");
    let mut rest = turns;
    while let [before @ .., caller, answer] = rest {
        let results = answer.results();
        let only_results = results == answer.content.len();
        if results == 0 || (began.is_some() && !only_results) {
            break;
        }
        began = Some(caller);
        if !only_results {
            break;
        }
        rest = before;
    }
    began.is_some_and(|turn| !turn.begins_with_thinking())
}

/// An assistant's message at the end, which the model goes on with, may not end in white space, nor hold thinking while thinking
/// is off.
fn end_well(turns: &mut Vec<Turn>, thinks: bool) {
    let Some(last) = turns.last_mut().filter(|last| last.role == "assistant") else {
        return;
    };
    last.content.retain(|block| thinks || !is_thinking(block));
    while let Some(Value::String(text)) = last.content.last_mut().and_then(|block| block.get_mut("text")) {
        text.truncate(text.trim_end().len());
        if !text.is_empty() {
            break;
        }
        last.content.pop();
    }
    if last.content.is_empty() {
        turns.pop();
    }
}

/// Marks where this request's messages end, and where those of the one before ended: there it is found even if a turn in
/// between had more blocks than the server looks back over (20). With the system prompt and the tools that is four markers,
/// the most there may be. Thinking and empty texts take none; what users say has neither.
fn mark(turns: &mut [Turn], marker: &Value) {
    for turn in turns.iter_mut().rev().filter(|turn| turn.role == "user").take(2) {
        turn.content.last_mut().into_iter().for_each(|block| cache::mark(block, marker));
    }
}

fn user_block(block: &ContentBlock) -> Option<Value> {
    match block {
        // Refused.
        ContentBlock::Text { text, .. } if text.trim().is_empty() => None,
        ContentBlock::Text { text, .. } => Some(json!({ "type": "text", "text": text })),
        ContentBlock::Image { data, mime_type } => {
            Some(json!({ "type": "image", "source": { "type": "base64", "media_type": mime_type, "data": data } }))
        }
        ContentBlock::Thinking { .. } | ContentBlock::ToolCall(_) | ContentBlock::Opaque { .. } => None,
    }
}

/// Thinking stands where it stood, with its signature; thinking without one is text, without tags, which models imitate.
fn assistant_blocks(message: &AssistantMessage, target: Target<'_>) -> Vec<Value> {
    let block = |block: &ContentBlock| match block {
        ContentBlock::Thinking { signature: Some(data), redacted: true, .. } => {
            Some(json!({ "type": "redacted_thinking", "data": data }))
        }
        ContentBlock::Thinking { redacted: true, .. } => None,
        ContentBlock::Thinking { thinking, signature: Some(signature), .. } => {
            Some(json!({ "type": "thinking", "thinking": thinking, "signature": signature }))
        }
        ContentBlock::Thinking { thinking, .. } if thinking.trim().is_empty() => None,
        ContentBlock::Thinking { thinking, .. } if target.quirks.empty_signatures => {
            Some(json!({ "type": "thinking", "thinking": thinking, "signature": "" }))
        }
        ContentBlock::Thinking { thinking, .. } => Some(json!({ "type": "text", "text": thinking })),
        ContentBlock::ToolCall(call) => {
            Some(json!({ "type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments }))
        }
        ContentBlock::Opaque { data, .. } => Some(data.clone()),
        ContentBlock::Text { .. } => user_block(block),
        ContentBlock::Image { .. } => None,
    };
    message.content.iter().filter_map(block).collect()
}

fn pictures(result: &ToolResultMessage) -> Vec<Value> {
    result.content.iter().filter(|block| matches!(block, ContentBlock::Image { .. })).filter_map(user_block).collect()
}

fn result_block(result: &ToolResultMessage, images: Vec<Value>) -> Value {
    let text = result.model_text();
    // The API wants text beside images, and none that is white space.
    let text = match (text.trim().is_empty(), images.is_empty()) {
        (false, _) => text,
        (true, false) => "see the image".to_owned(),
        (true, true) if text.is_empty() => "the image follows".to_owned(),
        (true, true) => "no output".to_owned(),
    };
    let mut content = vec![json!({ "type": "text", "text": text })];
    content.extend(images);
    let mut block = json!({ "type": "tool_result", "tool_use_id": result.tool_call_id, "content": content });
    if let (true, Some(block)) = (result.is_error, block.as_object_mut()) {
        block.insert("is_error".into(), true.into());
    }
    block
}
