//! A request's body.

use serde::Serialize;
use serde_json::Value;

use super::contents::Contents;
use super::thinking::Thinking;
use crate::protocol::format::{self, Encoded, Target};
use crate::protocol::ignored::{Ignored, NotForced};
use crate::protocol::incremental::{Messages, Style, Text, Tools};
use crate::protocol::json::{self, Object};
use crate::protocol::sampling::{Fields, Sampling};
use crate::protocol::schema;
use crate::request::{CacheRetention, Request, ThinkingLevel, ToolChoice, ToolDescription};

const SAMPLING: Fields = Fields { protocol: "gemini", top_k: true, seed: true, penalties: true };

#[derive(Debug, Default)]
pub(super) struct Encoder {
    system: Text,
    messages: Messages<Contents>,
    tools: Tools,
}

impl format::Encoder for Encoder {
    fn encode(&mut self, request: &Request, target: Target<'_>) -> Encoded {
        let (options, quirks) = (&request.options, target.quirks);
        let mut ignored = Ignored::default();
        self.messages.update(&request.messages, Style { quirks: *quirks, thinks: false });
        let mut out = Vec::with_capacity(self.messages.json.len() + request.system_prompt.len() + 4096);
        let mut body = Object::begin(&mut out);
        let contents = body.value_of("contents");
        contents.push(b'[');
        contents.extend_from_slice(&self.messages.json);
        self.messages.writer.write_end(contents);
        contents.push(b']');
        if !request.system_prompt.is_empty() {
            let text = self.system.written(&request.system_prompt);
            let out = body.value_of("systemInstruction");
            out.extend_from_slice(b"{\"parts\":[{\"text\":");
            out.extend_from_slice(text);
            out.extend_from_slice(b"}]}");
        }
        if request.tools.is_empty() {
            ignored.tool_choice(options.tool_choice.as_ref(), NotForced::NoTools);
        } else {
            let tools = self.tools.written(&request.tools, quirks, |tool, _, out| write_tool(tool, out));
            let out = body.value_of("tools");
            out.extend_from_slice(b"[{\"functionDeclarations\":");
            json::list(out, tools.iter().map(Vec::as_slice));
            out.extend_from_slice(b"}]");
            let chosen = options.tool_choice.as_ref().map(|choice| ToolConfig { function_calling_config: chosen(choice) });
            body.some("toolConfig", chosen);
        }
        if options.cache_retention == CacheRetention::Long {
            ignored.cache_retention();
        }
        let config = generation_config(request, target, &mut ignored);
        if config != GenerationConfig::default() {
            body.field("generationConfig", config);
        }
        body.end();
        Encoded { body: out, ignored: ignored.list() }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ToolConfig<'a> {
    function_calling_config: Choice<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Choice<'a> {
    mode: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    allowed_function_names: Option<[&'a str; 1]>,
}

fn chosen(choice: &ToolChoice) -> Choice<'_> {
    let (mode, only) = match choice {
        ToolChoice::Auto => ("AUTO", None),
        ToolChoice::None => ("NONE", None),
        ToolChoice::Required => ("ANY", None),
        ToolChoice::Tool(name) => ("ANY", Some([name.as_str()])),
    };
    Choice { mode, allowed_function_names: only }
}

fn write_tool(tool: &ToolDescription, out: &mut Vec<u8>) {
    let mut object = Object::begin(out);
    object.field("name", &tool.name);
    object.field("description", &tool.description);
    // The older field, `parameters`, knows only a part of JSON Schema.
    object.field("parametersJsonSchema", schema::object(&tool.parameters));
    object.end();
}

#[derive(Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct GenerationConfig<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_p: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_k: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    frequency_penalty: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    presence_penalty: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_output_tokens: Option<u64>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    stop_sequences: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_config: Option<super::thinking::Config>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_mime_type: Option<&'static str>,
    /// The older field, `responseSchema`, knows only a part of JSON Schema.
    #[serde(skip_serializing_if = "Option::is_none")]
    response_json_schema: Option<&'a Value>,
}

fn generation_config<'a>(request: &'a Request, target: Target<'_>, ignored: &mut Ignored) -> GenerationConfig<'a> {
    let options = &request.options;
    let thinking = Thinking::of(request.thinking_level, request, target);
    if request.thinking_level != ThinkingLevel::Off && thinking == Thinking::of(ThinkingLevel::Off, request, target) {
        ignored.thinking_level(target.quirks.thinking);
    }
    if let (Some(given), Some(sent)) = (options.max_tokens, thinking.max_tokens)
        && given != sent
    {
        ignored.max_tokens_beside_thinking(sent);
    }
    let Sampling { temperature, top_p, top_k, seed, frequency_penalty, presence_penalty } =
        Sampling::of(options, target.quirks, SAMPLING, false, ignored);
    GenerationConfig {
        temperature,
        top_p,
        top_k,
        seed,
        frequency_penalty,
        presence_penalty,
        max_output_tokens: thinking.max_tokens,
        stop_sequences: &options.stop_sequences,
        thinking_config: thinking.config,
        response_mime_type: request.output.is_some().then_some("application/json"),
        response_json_schema: request.output.as_ref().map(|format| &*format.schema),
    }
}
