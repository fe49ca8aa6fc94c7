//! A request's body.

use serde::Serialize;

use super::items::{Items, role_of_system};
use crate::protocol::cache;
use crate::protocol::format::{self, Encoded, Target};
use crate::protocol::ignored::{Ignored, NotForced};
use crate::protocol::incremental::{Messages, Style, Text, Tools};
use crate::protocol::json::{self, Object};
use crate::protocol::output_schema::{self, write_format};
use crate::protocol::sampling::{Fields, Sampling};
use crate::protocol::schema;
use crate::quirks::{Quirks, ThinkingStyle};
use crate::request::{CacheRetention, Request, ThinkingLevel, ToolChoice, ToolDescription};

/// The smallest output limit that is taken, in tokens.
const LEAST_OUTPUT: u64 = 16;

const SAMPLING: Fields = Fields { protocol: "openai_responses", top_k: false, seed: false, penalties: false };

#[derive(Debug, Default)]
pub(super) struct Encoder {
    system: Text,
    messages: Messages<Items>,
    tools: Tools,
}

impl format::Encoder for Encoder {
    fn encode(&mut self, request: &Request, target: Target<'_>) -> Encoded {
        let (options, quirks) = (&request.options, target.quirks);
        let mut ignored = Ignored::default();
        self.messages.update(&request.messages, Style { quirks: *quirks, thinks: false });
        let mut out = Vec::with_capacity(self.messages.json.len() + request.system_prompt.len() + 4096);
        let mut body = Object::begin(&mut out);
        body.field("model", &target.spec.id);
        self.write_input(body.value_of("input"), request, quirks);
        if request.tools.is_empty() {
            ignored.tool_choice(options.tool_choice.as_ref(), NotForced::NoTools);
        } else {
            let tools = self.tools.written(&request.tools, quirks, write_tool);
            json::list(body.value_of("tools"), tools.iter().map(Vec::as_slice));
            body.some("tool_choice", options.tool_choice.as_ref().map(chosen));
        }
        if let Some(given) = options.max_tokens {
            let sent = given.max(LEAST_OUTPUT);
            if sent != given {
                ignored.max_tokens_too_few(sent);
            }
            body.field("max_output_tokens", sent);
        }
        let sampling = Sampling::of(options, quirks, SAMPLING, false, &mut ignored);
        body.some("temperature", sampling.temperature);
        body.some("top_p", sampling.top_p);
        if !options.stop_sequences.is_empty() {
            ignored.no_field("stop_sequences", SAMPLING.protocol);
        }
        let (asked, unasked) = (reasoning(request.thinking_level, quirks), reasoning(ThinkingLevel::Off, quirks));
        if request.thinking_level != ThinkingLevel::Off && asked == unasked {
            ignored.thinking_level(quirks.thinking);
        }
        body.some("reasoning", asked);
        if let Some(format) = &request.output {
            let mut text = Object::begin(body.value_of("text"));
            let mut form = Object::begin(text.value_of("format"));
            form.field("type", "json_schema");
            write_format(&mut form, format, output_schema::openai_strict(&format.schema));
            form.end();
            text.end();
        }
        // Also where no thinking is asked for: many of these models think all the same.
        if quirks.encrypted_reasoning {
            body.field("include", ["reasoning.encrypted_content"]);
        }
        if quirks.store {
            body.field("store", false);
        }
        cache::write_key(&mut body, options, quirks);
        if options.cache_retention == CacheRetention::Long && !(quirks.cache_key && quirks.long_cache) {
            ignored.cache_retention();
        }
        body.field("stream", true);
        body.end();
        Encoded { body: out, ignored: ignored.list() }
    }
}

impl Encoder {
    fn write_input(&mut self, out: &mut Vec<u8>, request: &Request, quirks: &Quirks) {
        out.push(b'[');
        if !request.system_prompt.is_empty() {
            let mut item = Object::begin(out);
            item.field("type", "message");
            item.field("role", role_of_system(quirks));
            item.json("content", self.system.written(&request.system_prompt));
            item.end();
        }
        json::items(out, &self.messages.json);
        self.messages.writer.write_end(out, self.messages.json.is_empty());
        out.push(b']');
    }
}

/// A choice as it is written.
#[derive(Serialize)]
#[serde(untagged)]
enum Choice<'a> {
    Word(&'static str),
    Tool {
        #[serde(rename = "type")]
        kind: &'static str,
        name: &'a str,
    },
}

fn chosen(choice: &ToolChoice) -> Choice<'_> {
    match choice {
        ToolChoice::Auto => Choice::Word("auto"),
        ToolChoice::None => Choice::Word("none"),
        ToolChoice::Required => Choice::Word("required"),
        ToolChoice::Tool(name) => Choice::Tool { kind: "function", name },
    }
}

fn write_tool(tool: &ToolDescription, quirks: &Quirks, out: &mut Vec<u8>) {
    let mut object = Object::begin(out);
    object.field("type", "function");
    object.field("name", &tool.name);
    object.field("description", &tool.description);
    object.field("parameters", schema::object(&tool.parameters));
    object.some("strict", quirks.strict);
    object.end();
}

#[derive(Serialize, PartialEq)]
struct Reasoning {
    effort: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<&'static str>,
}

/// `reasoning.effort` is this API's only way; a quirk may name it in Chat's words.
fn reasoning(level: ThinkingLevel, quirks: &Quirks) -> Option<Reasoning> {
    match (quirks.thinking, level) {
        (ThinkingStyle::Effort | ThinkingStyle::NestedEffort, ThinkingLevel::Off) => {
            quirks.thinking_off.then_some(Reasoning { effort: "none", summary: None })
        }
        (ThinkingStyle::Effort | ThinkingStyle::NestedEffort, level) => {
            Some(Reasoning { effort: quirks.efforts.word(level)?, summary: Some("auto") })
        }
        _ => None,
    }
}
