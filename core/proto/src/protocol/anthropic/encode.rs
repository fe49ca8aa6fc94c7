//! A request's body.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::json;

use super::messages::Turns;
use crate::hosting::Hosting;
use crate::output::OutputFormat;
use crate::protocol::cache::{self, Marker};
use crate::protocol::claude_thinking::Thinking;
use crate::protocol::format::{self, Encoded, Target};
use crate::protocol::ignored::{Ignored, NotForced};
use crate::protocol::incremental::{Messages, Style, Text, Tools};
use crate::protocol::json::{self, Object};
use crate::protocol::output_schema::{self, write_schema};
use crate::protocol::sampling::{Fields, Sampling};
use crate::protocol::schema;
use crate::quirks::Quirks;
use crate::request::{CacheRetention, Request, ToolChoice, ToolDescription};

const SAMPLING: Fields = Fields { protocol: "anthropic", top_k: true, seed: false, penalties: false };

#[derive(Debug, Default)]
pub(super) struct Encoder {
    system: Text,
    messages: Messages<Turns>,
    tools: Tools,
}

impl format::Encoder for Encoder {
    fn encode(&mut self, request: &Request, target: Target<'_>) -> Encoded {
        let mut ignored = Ignored::default();
        let marker = cache::marker(&request.options, target);
        self.messages.update(&request.messages, Style { quirks: *target.quirks, thinks: false });
        let written = self.messages.json.len();
        let mut turns: Cow<'_, Turns> = Cow::Borrowed(&self.messages.writer);
        if !turns.has_ended() {
            turns.to_mut().end(&mut self.messages.json);
        }
        let thinking = Thinking::beside(&turns, request, target, &mut ignored);
        let mut out = Vec::with_capacity(self.messages.json.len() + request.system_prompt.len() + 4096);
        let mut body = Object::begin(&mut out);
        // Vertex has the model in the address: https://docs.anthropic.com/en/api/claude-on-vertex-ai
        match target.hosting {
            Hosting::Vertex => body.field("anthropic_version", "vertex-2023-10-16"),
            Hosting::Plain | Hosting::Azure | Hosting::Bedrock => body.field("model", &target.spec.id),
        }
        if let (Some(beta), Hosting::Vertex) = (thinking.beta(request, target), target.hosting) {
            body.field("anthropic_beta", [beta]);
        }
        body.field("max_tokens", thinking.max_tokens);
        if !request.system_prompt.is_empty() {
            let out = body.value_of("system");
            out.push(b'[');
            let mut block = Object::begin(out);
            block.field("type", "text");
            block.json("text", self.system.written(&request.system_prompt));
            block.some(cache::FIELD, marker);
            block.end();
            out.push(b']');
        }
        let (list, thinks) = (body.value_of("messages"), thinking.is_on());
        turns.write(list, &self.messages.json, &request.messages, thinks, target.quirks, |out, json, ends| {
            cache::write_marked(out, json, ends, marker);
        });
        self.messages.json.truncate(written);
        self.write_tools(&mut body, request, target.quirks, &thinking, marker, &mut ignored);
        let options = &request.options;
        if !options.stop_sequences.is_empty() {
            body.field("stop_sequences", &options.stop_sequences);
        }
        let sampling = Sampling::of(options, target.quirks, SAMPLING, thinking.is_on(), &mut ignored);
        body.some("temperature", sampling.temperature);
        body.some("top_p", sampling.top_p);
        body.some("top_k", sampling.top_k);
        if options.cache_retention == CacheRetention::Long && !(target.quirks.cache_markers && target.quirks.long_cache) {
            ignored.cache_retention();
        }
        thinking.write(&mut body);
        write_output_config(&mut body, thinking.effort(), request.output.as_deref());
        body.field("stream", true);
        body.end();
        Encoded { body: out, ignored: ignored.list() }
    }
}

/// The field `output_config`: how hard the model tries, and the format of its answer.
fn write_output_config(body: &mut Object<'_>, effort: Option<&str>, format: Option<&OutputFormat>) {
    if effort.is_none() && format.is_none() {
        return;
    }
    let mut config = Object::begin(body.value_of("output_config"));
    config.some("effort", effort);
    if let Some(format) = format {
        let mut form = Object::begin(config.value_of("format"));
        form.field("type", "json_schema");
        write_schema(&mut form, format, output_schema::anthropic(&format.schema));
        form.end();
    }
    config.end();
}

impl Encoder {
    fn write_tools(
        &mut self,
        body: &mut Object<'_>,
        request: &Request,
        quirks: &Quirks,
        thinking: &Thinking,
        marker: Option<Marker>,
        ignored: &mut Ignored,
    ) {
        let choice = request.options.tool_choice.as_ref();
        // Forcing a tool is refused beside thinking: the model then chooses, of the one tool if it was to be that one.
        let free = thinking.is_on() || !quirks.forced_tools;
        if request.tools.is_empty() {
            ignored.tool_choice(choice, NotForced::NoTools);
        } else if free {
            ignored.tool_choice(choice, if quirks.forced_tools { NotForced::WhileThinking } else { NotForced::Never });
        }
        let written = self.tools.written(&request.tools, quirks, |tool, _, out| write_tool(tool, out));
        let offered = |tool: &ToolDescription| match choice.filter(|_| free) {
            Some(ToolChoice::Tool(name)) => *name == tool.name,
            _ => true,
        };
        let mut offered: Vec<&[u8]> =
            request.tools.iter().zip(written).filter(|(tool, _)| offered(tool)).map(|(_, json)| json.as_slice()).collect();
        let Some(last) = offered.pop() else {
            return;
        };
        let mut marked = Vec::new();
        cache::write_marked(&mut marked, last, [last.len()], marker.filter(|_| quirks.cache_tools));
        offered.push(&marked);
        json::list(body.value_of("tools"), offered);
        if let Some(choice) = choice {
            body.field("tool_choice", chosen(choice, free));
        }
    }
}

/// A choice as it is written.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Choice<'a> {
    None,
    Auto,
    Any,
    Tool { name: &'a str },
}

fn chosen(choice: &ToolChoice, free: bool) -> Choice<'_> {
    match choice {
        ToolChoice::None => Choice::None,
        ToolChoice::Required | ToolChoice::Tool(_) if free => Choice::Auto,
        ToolChoice::Auto => Choice::Auto,
        ToolChoice::Required => Choice::Any,
        ToolChoice::Tool(name) => Choice::Tool { name },
    }
}

fn write_tool(tool: &ToolDescription, out: &mut Vec<u8>) {
    let mut schema = schema::object(&tool.parameters);
    if let Some(schema) = schema.as_object_mut() {
        schema.entry("required").or_insert_with(|| json!([]));
    }
    let mut object = Object::begin(out);
    object.field("name", &tool.name);
    object.field("description", &tool.description);
    object.field("input_schema", schema);
    object.end();
}
