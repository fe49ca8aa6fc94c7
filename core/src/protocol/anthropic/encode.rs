//! A request's body.

use serde_json::{Map, Value, json};

use super::super::Target;
use crate::doctor::result_text;
use crate::message::{AssistantMessage, ContentBlock, Message, ToolResultMessage};
use crate::model::{ModelRequest, ThinkingLevel, ToolChoice};

/// Sent when neither the caller nor the model says how much may be written: the API demands a number.
const DEFAULT_MAX_TOKENS: u64 = 8192;

pub(super) fn body(request: &ModelRequest, target: Target<'_>) -> Map<String, Value> {
    let mut body = Map::new();
    body.insert("model".into(), target.spec.id.clone().into());
    let thinking = Thinking::of(request, target);
    body.insert("max_tokens".into(), thinking.max_tokens.into());
    if !request.system_prompt.is_empty() {
        body.insert("system".into(), request.system_prompt.clone().into());
    }
    body.insert("messages".into(), messages(request, target).into());
    if !request.tools.is_empty() {
        let tools = request.tools.iter().map(
            |tool| json!({ "name": tool.name, "description": tool.description, "input_schema": object_schema(&tool.parameters) }),
        );
        body.insert("tools".into(), tools.collect::<Vec<_>>().into());
    }
    if let Some(choice) = &request.options.tool_choice
        && !request.tools.is_empty()
    {
        body.insert("tool_choice".into(), tool_choice(choice, thinking.is_on()));
    }
    if !request.options.stop_sequences.is_empty() {
        body.insert("stop_sequences".into(), request.options.stop_sequences.clone().into());
    }
    // Refused beside thinking.
    if let (Some(temperature), false) = (request.options.temperature, thinking.is_on()) {
        body.insert("temperature".into(), temperature.into());
    }
    thinking.write(&mut body);
    body.insert("stream".into(), true.into());
    body
}

/// How much thinking is asked for, and the tokens that thinking and answer may have together.
struct Thinking {
    level: ThinkingLevel,
    /// Newer models take an effort and choose the amount; older ones a number of tokens.
    adaptive: bool,
    budget: u64,
    max_tokens: u64,
}

/// What is left for the answer at least, in tokens.
const ANSWER_TOKENS: u64 = 1024;

/// The smallest budget that is taken, in tokens.
const LEAST_BUDGET: u64 = 1024;

impl Thinking {
    fn of(request: &ModelRequest, target: Target<'_>) -> Thinking {
        let most = target.spec.max_output_tokens;
        let asked = request.options.max_tokens.or(most).unwrap_or(DEFAULT_MAX_TOKENS);
        let kind = target.spec.thinking.as_ref().map(|thinking| thinking.get("type").unwrap_or(thinking));
        let adaptive = kind.is_some_and(|kind| kind == "adaptive");
        let (level, mut budget, mut max_tokens) = (request.thinking_level, 0, asked);
        if level != ThinkingLevel::Off && !adaptive {
            // The budget is part of max_tokens, which is raised as far as the model goes; then the budget gives way.
            budget = request.options.thinking_budgets.tokens(level).max(LEAST_BUDGET);
            max_tokens = asked.max(budget + ANSWER_TOKENS).min(most.unwrap_or(u64::MAX));
            budget = budget.min(max_tokens.saturating_sub(ANSWER_TOKENS)).max(LEAST_BUDGET);
        }
        Thinking { level, adaptive, budget, max_tokens }
    }

    fn is_on(&self) -> bool {
        self.level != ThinkingLevel::Off
    }

    fn write(&self, body: &mut Map<String, Value>) {
        if !self.is_on() {
            return;
        }
        if self.adaptive {
            let effort = match self.level {
                ThinkingLevel::Off | ThinkingLevel::Minimal | ThinkingLevel::Low => "low",
                ThinkingLevel::Medium => "medium",
                ThinkingLevel::High => "high",
                ThinkingLevel::Xhigh => "max",
            };
            body.insert("thinking".into(), json!({ "type": "adaptive" }));
            body.insert("output_config".into(), json!({ "effort": effort }));
        } else {
            body.insert("thinking".into(), json!({ "type": "enabled", "budget_tokens": self.budget }));
        }
    }
}

/// Forcing a tool is refused beside thinking: the model then chooses.
fn tool_choice(choice: &ToolChoice, thinking: bool) -> Value {
    match choice {
        ToolChoice::None => json!({ "type": "none" }),
        ToolChoice::Auto | ToolChoice::Required | ToolChoice::Tool(_) if thinking => json!({ "type": "auto" }),
        ToolChoice::Auto => json!({ "type": "auto" }),
        ToolChoice::Required => json!({ "type": "any" }),
        ToolChoice::Tool(name) => json!({ "type": "tool", "name": name }),
    }
}

/// The API takes only schemas that say `"type": "object"`.
fn object_schema(parameters: &Value) -> Value {
    let mut schema = json!({ "type": "object" });
    if let (Some(schema), Some(given)) = (schema.as_object_mut(), parameters.as_object()) {
        schema.extend(given.iter().map(|(name, value)| (name.clone(), value.clone())));
    }
    schema
}

/// Results are blocks of a user message, all of a turn in one; neighbours of one role are one message.
fn messages(request: &ModelRequest, target: Target<'_>) -> Vec<Value> {
    let mut out: Vec<(&str, Vec<Value>)> = Vec::new();
    for message in &request.messages {
        let (role, blocks) = match &**message {
            Message::User(user) => ("user", user.content.iter().filter_map(user_block).collect()),
            Message::Assistant(assistant) => ("assistant", assistant_blocks(assistant, target)),
            Message::ToolResult(result) => ("user", vec![result_block(result)]),
            Message::Custom(_) => continue,
        };
        match out.last_mut() {
            _ if blocks.is_empty() => {}
            Some((last, content)) if *last == role => content.extend(blocks),
            _ => out.push((role, blocks)),
        }
    }
    out.into_iter().map(|(role, content)| json!({ "role": role, "content": content })).collect()
}

fn user_block(block: &ContentBlock) -> Option<Value> {
    match block {
        ContentBlock::Text { text, .. } => Some(json!({ "type": "text", "text": text })),
        ContentBlock::Image { data, mime_type } => {
            Some(json!({ "type": "image", "source": { "type": "base64", "media_type": mime_type, "data": data } }))
        }
        ContentBlock::Thinking { .. } | ContentBlock::ToolCall(_) | ContentBlock::Opaque { .. } => None,
    }
}

/// Signed and opaque blocks go back only to the model that made them; to another, thinking is text.
fn assistant_blocks(message: &AssistantMessage, target: Target<'_>) -> Vec<Value> {
    let own = message.protocol == "anthropic" && message.provider == target.spec.provider && message.model == target.spec.id;
    let block = |block: &ContentBlock| match block {
        ContentBlock::Text { text, .. } if text.trim().is_empty() => None,
        ContentBlock::Text { text, .. } => Some(json!({ "type": "text", "text": text })),
        ContentBlock::Thinking { signature: Some(data), redacted: true, .. } if own => {
            Some(json!({ "type": "redacted_thinking", "data": data }))
        }
        ContentBlock::Thinking { redacted: true, .. } => None,
        ContentBlock::Thinking { thinking, signature: Some(signature), .. } if own => {
            Some(json!({ "type": "thinking", "thinking": thinking, "signature": signature }))
        }
        ContentBlock::Thinking { thinking, .. } if thinking.trim().is_empty() => None,
        ContentBlock::Thinking { thinking, .. } => Some(json!({ "type": "text", "text": thinking })),
        ContentBlock::ToolCall(call) => {
            Some(json!({ "type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments }))
        }
        ContentBlock::Opaque { protocol, data } if own && protocol == "anthropic" => Some(data.clone()),
        ContentBlock::Opaque { .. } | ContentBlock::Image { .. } => None,
    };
    message.content.iter().filter_map(block).collect()
}

fn result_block(result: &ToolResultMessage) -> Value {
    let images = || result.content.iter().filter(|block| matches!(block, ContentBlock::Image { .. })).filter_map(user_block);
    let text = result_text(result);
    // The API wants text beside images.
    let text = if text.is_empty() { "see the image".to_owned() } else { text };
    let mut content = vec![json!({ "type": "text", "text": text })];
    content.extend(images());
    let mut block = json!({ "type": "tool_result", "tool_use_id": result.tool_call_id, "content": content });
    if let (true, Some(block)) = (result.is_error, block.as_object_mut()) {
        block.insert("is_error".into(), true.into());
    }
    block
}
