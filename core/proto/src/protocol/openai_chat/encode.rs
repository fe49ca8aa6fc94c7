//! A request's body.

use serde::Serialize;

use super::messages::{Writer, role_of_system};
use crate::protocol::cache::{self, Marker};
use crate::protocol::format::{self, Encoded, Target};
use crate::protocol::ignored::{Ignored, NotForced};
use crate::protocol::incremental::{Messages, Style, Text, Tools};
use crate::protocol::json::{self, Object};
use crate::protocol::output_schema::{self, write_format};
use crate::protocol::sampling::{Fields, Sampling};
use crate::protocol::schema;
use crate::quirks::{MaxTokensField, Quirks, ThinkingStyle};
use crate::request::{CacheRetention, Request, ThinkingLevel, ToolChoice, ToolDescription};

const SAMPLING: Fields = Fields { protocol: "openai_chat", top_k: true, seed: true, penalties: true };

#[derive(Debug, Default)]
pub(super) struct Encoder {
    system: Text,
    messages: Messages<Writer>,
    tools: Tools,
}

impl format::Encoder for Encoder {
    fn encode(&mut self, request: &Request, target: Target<'_>) -> Encoded {
        let (options, quirks) = (&request.options, target.quirks);
        let mut ignored = Ignored::default();
        let thinks = request.thinking_level != ThinkingLevel::Off && quirks.thinking != ThinkingStyle::None;
        self.messages.update(&request.messages, Style { quirks: *quirks, thinks: thinks && quirks.reasoning_required });
        let mut out = Vec::with_capacity(self.messages.json.len() + request.system_prompt.len() + 4096);
        let mut body = Object::begin(&mut out);
        body.field("model", &target.spec.id);
        self.write_messages(body.value_of("messages"), request, quirks, cache::marker(options, target));
        // Left out when empty: some servers refuse an empty list. Proxies of Anthropic want it if the history has calls.
        if !request.tools.is_empty() || (quirks.empty_tools && has_calls(request)) {
            let tools = self.tools.written(&request.tools, quirks, write_tool);
            json::list(body.value_of("tools"), tools.iter().map(Vec::as_slice));
        }
        if let Some(max_tokens) = options.max_tokens {
            // OpenAI's newer models take only the new name, compatible servers often only the old one.
            let field = match quirks.max_tokens_field {
                MaxTokensField::MaxTokens => "max_tokens",
                MaxTokensField::MaxCompletionTokens => "max_completion_tokens",
            };
            body.field(field, max_tokens);
        }
        if request.tools.is_empty() {
            ignored.tool_choice(options.tool_choice.as_ref(), NotForced::NoTools);
        } else {
            body.some("tool_choice", options.tool_choice.as_ref().map(chosen));
            if quirks.tool_stream {
                body.field("tool_stream", true);
            }
        }
        let stop_sequences = ignored.stop_sequences(options, quirks);
        if !stop_sequences.is_empty() {
            body.field("stop", stop_sequences);
        }
        let (asked, unasked) = (thinking(request.thinking_level, quirks), thinking(ThinkingLevel::Off, quirks));
        if request.thinking_level != ThinkingLevel::Off && asked == unasked {
            ignored.thinking_level(quirks.thinking);
        }
        if let Some((field, value)) = asked {
            body.field(field, value);
        }
        if quirks.reasoning_format {
            body.field("reasoning_format", "parsed");
        }
        cache::write_key(&mut body, options, quirks);
        if options.cache_retention == CacheRetention::Long && !(quirks.long_cache && (quirks.cache_markers || quirks.cache_key)) {
            ignored.cache_retention();
        }
        let sampling = Sampling::of(options, quirks, SAMPLING, false, &mut ignored);
        body.some("temperature", sampling.temperature);
        body.some("top_p", sampling.top_p);
        body.some("top_k", sampling.top_k);
        if let (Some(field), Some(seed)) = (quirks.seed_field, sampling.seed) {
            body.field(field.name(), seed);
        }
        body.some("frequency_penalty", sampling.frequency_penalty);
        body.some("presence_penalty", sampling.presence_penalty);
        if let Some(format) = &request.output {
            let schema = output_schema::openai_strict(&format.schema);
            let out = body.value_of("response_format");
            let mut form = Object::begin(out);
            form.field("type", "json_schema");
            let mut named = Object::begin(form.value_of("json_schema"));
            write_format(&mut named, format, schema);
            named.end();
            form.end();
        }
        if quirks.store {
            body.field("store", false);
        }
        body.field("stream", true);
        if quirks.stream_usage {
            body.field("stream_options", StreamOptions { include_usage: true });
        }
        body.end();
        Encoded { body: out, ignored: ignored.list() }
    }
}

impl Encoder {
    fn write_messages(&mut self, out: &mut Vec<u8>, request: &Request, quirks: &Quirks, marker: Option<Marker>) {
        out.push(b'[');
        if !request.system_prompt.is_empty() {
            let text = self.system.written(&request.system_prompt);
            let mut message = Object::begin(out);
            message.field("role", role_of_system(quirks));
            // In parts only where a marker needs them.
            if quirks.cache_markers {
                let out = message.value_of("content");
                out.push(b'[');
                let mut part = Object::begin(out);
                part.field("type", "text");
                part.json("text", text);
                part.some(cache::FIELD, marker);
                part.end();
                out.push(b']');
            } else {
                message.json("content", text);
            }
            message.end();
        }
        let written = self.messages.json.len();
        let mut writer = self.messages.writer.clone();
        writer.end(quirks, &mut self.messages.json);
        json::separate(out);
        cache::write_marked(out, &self.messages.json, writer.marked(), marker);
        self.messages.json.truncate(written);
        out.push(b']');
    }
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

/// The value of the field that asks for thinking.
#[derive(Serialize, PartialEq)]
#[serde(untagged)]
enum Asked {
    Word(&'static str),
    Switch(bool),
    Effort {
        effort: &'static str,
    },
    Enabled {
        enabled: bool,
    },
    Type {
        #[serde(rename = "type")]
        kind: &'static str,
    },
    Template {
        enable_thinking: bool,
        preserve_thinking: bool,
    },
}

/// What asks for thinking, or for none: one field, as two are refused. A server that thinks only on request gets no "off".
fn thinking(level: ThinkingLevel, quirks: &Quirks) -> Option<(&'static str, Asked)> {
    let on = level != ThinkingLevel::Off;
    if !on && !quirks.thinking_off {
        return None;
    }
    let effort = || if on { quirks.efforts.word(level) } else { Some("none") };
    Some(match quirks.thinking {
        ThinkingStyle::None | ThinkingStyle::Budget | ThinkingStyle::Adaptive | ThinkingStyle::Level => return None,
        ThinkingStyle::Effort => ("reasoning_effort", Asked::Word(effort()?)),
        ThinkingStyle::NestedEffort => ("reasoning", Asked::Effort { effort: effort()? }),
        ThinkingStyle::NestedSwitch => ("reasoning", Asked::Enabled { enabled: on }),
        ThinkingStyle::Type => ("thinking", Asked::Type { kind: if on { "enabled" } else { "disabled" } }),
        ThinkingStyle::EnableThinking => ("enable_thinking", Asked::Switch(on)),
        // Without the second, Qwen's templates drop the arguments of earlier calls.
        ThinkingStyle::Template => ("chat_template_kwargs", Asked::Template { enable_thinking: on, preserve_thinking: true }),
        ThinkingStyle::PromptMode if on => ("prompt_mode", Asked::Word("reasoning")),
        ThinkingStyle::PromptMode => return None,
    })
}

/// A choice as it is written.
#[derive(Serialize)]
#[serde(untagged)]
enum Choice<'a> {
    Word(&'static str),
    Tool {
        #[serde(rename = "type")]
        kind: &'static str,
        function: Named<'a>,
    },
}

#[derive(Serialize)]
struct Named<'a> {
    name: &'a str,
}

fn chosen(choice: &ToolChoice) -> Choice<'_> {
    match choice {
        ToolChoice::Auto => Choice::Word("auto"),
        ToolChoice::None => Choice::Word("none"),
        ToolChoice::Required => Choice::Word("required"),
        ToolChoice::Tool(name) => Choice::Tool { kind: "function", function: Named { name } },
    }
}

fn write_tool(tool: &ToolDescription, quirks: &Quirks, out: &mut Vec<u8>) {
    let mut object = Object::begin(out);
    object.field("type", "function");
    let mut function = Object::begin(object.value_of("function"));
    function.field("name", &tool.name);
    function.field("description", &tool.description);
    function.field("parameters", schema::object(&tool.parameters));
    function.some("strict", quirks.strict);
    function.end();
    object.end();
}

fn has_calls(request: &Request) -> bool {
    request.messages.iter().filter_map(|message| message.as_assistant()).any(|message| message.tool_calls().next().is_some())
}
