//! A request's body.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use serde::Serialize;
use serde_json::json;

use super::blocks::Turns;
use crate::message::{ContentBlock, Message};
use crate::protocol::cache::{self, CachePoint};
use crate::protocol::claude_thinking::Thinking;
use crate::protocol::format::{self, Encoded, Target};
use crate::protocol::ignored::{Ignored, NotForced};
use crate::protocol::incremental::{Messages, Style, Text, Tools};
use crate::protocol::json::{self, Object};
use crate::protocol::sampling::{Fields, Sampling};
use crate::protocol::schema;
use crate::quirks::{Quirks, ThinkingStyle};
use crate::request::{CacheRetention, ModelOptions, Request, ToolChoice, ToolDescription};

const SAMPLING: Fields = Fields { protocol: "bedrock_converse", top_k: true, seed: false, penalties: false };

#[derive(Debug, Default)]
pub(super) struct Encoder {
    system: Text,
    messages: Messages<Turns>,
    tools: Tools,
}

impl format::Encoder for Encoder {
    fn encode(&mut self, request: &Request, target: Target<'_>) -> Encoded {
        let mut ignored = Ignored::default();
        let (options, quirks) = (&request.options, target.quirks);
        let point = cache::point(options, target);
        self.messages.update(&request.messages, Style { quirks: *quirks, thinks: false });
        let written = self.messages.json.len();
        let mut turns: Cow<'_, Turns> = Cow::Borrowed(&self.messages.writer);
        if !turns.has_ended() {
            turns.to_mut().end(&mut self.messages.json);
        }
        let effort = match quirks.thinking {
            ThinkingStyle::Effort | ThinkingStyle::NestedEffort | ThinkingStyle::Level => {
                quirks.efforts.word(request.thinking_level)
            }
            _ => None,
        };
        // Of Claude, but for those with an effort.
        let thinking = match effort {
            Some(_) => None,
            None => Some(Thinking::beside(&turns, request, target, &mut ignored)),
        };
        let claude = thinking.filter(Thinking::is_on);
        let thinks = claude.is_some();
        let mut out = Vec::with_capacity(self.messages.json.len() + request.system_prompt.len() + 4096);
        let mut body = Object::begin(&mut out);
        turns.write(
            body.value_of("messages"),
            &self.messages.json,
            &request.messages,
            thinks || effort.is_some(),
            quirks,
            |out, json, ends| cache::write_points(out, json, ends, point),
        );
        self.messages.json.truncate(written);
        if !request.system_prompt.is_empty() {
            let out = body.value_of("system");
            out.push(b'[');
            let mut block = Object::begin(out);
            block.json("text", self.system.written(&request.system_prompt));
            block.end();
            point.into_iter().for_each(|point| json::item(out, point));
            out.push(b']');
        }
        // https://docs.aws.amazon.com/nova/latest/nova2-userguide/extended-thinking.html: none of these with a high effort.
        let only_thinks = quirks.thinking == ThinkingStyle::Level && effort == Some("high");
        let options = match only_thinks {
            true => Cow::Owned(without_limits(options, &mut ignored)),
            false => Cow::Borrowed(options),
        };
        let sampling = Sampling::of(&options, quirks, SAMPLING, thinks, &mut ignored);
        // A budget is a part of what may be written. Otherwise the service has a default of its own for each model.
        let max_tokens = claude.as_ref().filter(|thinking| thinking.must_have_begun()).map(|thinking| thinking.max_tokens);
        let config = InferenceConfig {
            max_tokens: max_tokens.or(options.max_tokens),
            temperature: sampling.temperature,
            top_p: sampling.top_p,
            stop_sequences: ignored.stop_sequences(&options, quirks),
        };
        if !config.is_empty() {
            body.field("inferenceConfig", config);
        }
        self.write_tools(&mut body, request, quirks, thinks, point, &mut ignored);
        if options.cache_retention == CacheRetention::Long && !(quirks.cache_markers && quirks.long_cache) {
            ignored.cache_retention();
        }
        let mut fields = Vec::new();
        let mut more = Object::begin(&mut fields);
        more.some("top_k", sampling.top_k);
        match (&claude, effort) {
            (Some(thinking), _) => write_thinking(&mut more, thinking, request, target),
            (None, Some(effort)) if quirks.thinking == ThinkingStyle::Level => {
                more.field("reasoningConfig", json!({ "type": "enabled", "maxReasoningEffort": effort }));
            }
            (None, Some(effort)) if quirks.thinking == ThinkingStyle::NestedEffort => {
                more.field("reasoning", json!({ "effort": effort }));
            }
            (None, Some(effort)) => more.field("reasoning_effort", effort),
            (None, None) if quirks.thinking_off && is_of_claude(quirks) => more.field("thinking", json!({ "type": "disabled" })),
            (None, None) => {}
        }
        more.end();
        if fields != b"{}" {
            body.json("additionalModelRequestFields", &fields);
        }
        body.end();
        Encoded { body: out, ignored: ignored.list() }
    }
}

/// Claude's own fields, which the service passes on:
/// <https://docs.aws.amazon.com/bedrock/latest/userguide/claude-messages-extended-thinking.html>.
fn write_thinking(fields: &mut Object<'_>, thinking: &Thinking, request: &Request, target: Target<'_>) {
    thinking.write(fields);
    if let Some(effort) = thinking.effort() {
        fields.field("output_config", json!({ "effort": effort }));
    }
    if let Some(beta) = thinking.beta(request, target) {
        fields.field("anthropic_beta", [beta]);
    }
}

/// The options without those that Nova does not take beside the most thinking.
fn without_limits(options: &ModelOptions, ignored: &mut Ignored) -> ModelOptions {
    let mut left = options.clone();
    if left.max_tokens.take().is_some() {
        ignored.max_tokens_beside_the_most_thinking();
    }
    if left.temperature.take().is_some() {
        ignored.sampling("temperature", true);
    }
    if left.top_p.take().is_some() {
        ignored.sampling("top_p", true);
    }
    left
}

fn is_of_claude(quirks: &Quirks) -> bool {
    matches!(quirks.thinking, ThinkingStyle::Budget | ThinkingStyle::Adaptive)
}

/// <https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_InferenceConfiguration.html>
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct InferenceConfig<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_p: Option<f64>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    stop_sequences: &'a [String],
}

impl InferenceConfig<'_> {
    fn is_empty(&self) -> bool {
        self.max_tokens.is_none() && self.temperature.is_none() && self.top_p.is_none() && self.stop_sequences.is_empty()
    }
}

impl Encoder {
    /// <https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ToolConfiguration.html>
    fn write_tools(
        &mut self,
        body: &mut Object<'_>,
        request: &Request,
        quirks: &Quirks,
        thinks: bool,
        point: Option<CachePoint>,
        ignored: &mut Ignored,
    ) {
        let choice = request.options.tool_choice.as_ref();
        // Claude cannot be forced while it thinks: the model then chooses, of the one tool if it was to be that one.
        let free = thinks || !quirks.forced_tools;
        let is_history = request.tools.is_empty() || choice == Some(&ToolChoice::None);
        let called = if is_history { called_tools(&request.messages) } else { BTreeSet::new() };
        if request.tools.is_empty() {
            ignored.tool_choice(choice, NotForced::NoTools);
        } else if choice == Some(&ToolChoice::None) && !called.is_empty() {
            ignored.no_choice_of_none();
        } else if free {
            ignored.tool_choice(choice, if quirks.forced_tools { NotForced::WhileThinking } else { NotForced::Never });
        }
        // There is no choice of none, and a conversation with calls must have tools.
        if is_history && called.is_empty() {
            return;
        }
        let written = self.tools.written(&request.tools, quirks, |tool, _, out| write_tool(tool, out));
        let offered = |tool: &ToolDescription| match choice.filter(|_| free) {
            Some(ToolChoice::Tool(name)) => *name == tool.name,
            _ => true,
        };
        let mut list = Vec::new();
        for (_, tool) in request.tools.iter().zip(written).filter(|(tool, _)| offered(tool)) {
            json::items(&mut list, tool);
        }
        if request.tools.is_empty() {
            for name in called {
                json::item(&mut list, tool_of_history(name));
            }
        }
        point.filter(|_| quirks.cache_tools).into_iter().for_each(|point| json::item(&mut list, point));
        let mut config = Object::begin(body.value_of("toolConfig"));
        json::list(config.value_of("tools"), [list.as_slice()]);
        match choice.filter(|_| !free && !request.tools.is_empty()) {
            Some(ToolChoice::Required) => config.field("toolChoice", json!({ "any": {} })),
            Some(ToolChoice::Tool(name)) => config.field("toolChoice", json!({ "tool": { "name": name } })),
            // What the service does by itself, and what all families take.
            Some(ToolChoice::Auto | ToolChoice::None) | None => {}
        }
        config.end();
    }
}

/// The tools that the messages have calls of.
fn called_tools(messages: &[Arc<Message>]) -> BTreeSet<&str> {
    let content = messages.iter().filter_map(|message| message.as_assistant()).flat_map(|message| &message.content);
    content.filter_map(|block| if let ContentBlock::ToolCall(call) = block { Some(call.name.as_str()) } else { None }).collect()
}

fn write_tool(tool: &ToolDescription, out: &mut Vec<u8>) {
    let mut object = Object::begin(out);
    let mut spec = Object::begin(object.value_of("toolSpec"));
    spec.field("name", &tool.name);
    // An empty one is refused.
    spec.field("description", if tool.description.trim().is_empty() { &tool.name } else { &tool.description });
    spec.field("inputSchema", json!({ "json": schema::object(&tool.parameters) }));
    spec.end();
    object.end();
}

/// A tool that is not there any more.
fn tool_of_history(name: &str) -> serde_json::Value {
    json!({ "toolSpec": {
        "name": name,
        "description": "Not available any more.",
        "inputSchema": { "json": { "type": "object", "properties": {} } },
    } })
}
