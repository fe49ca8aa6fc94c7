//! Bedrock's `ConverseStream`, and what the families of models behind it refuse:
//! <https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html>.

mod block;
mod conversation;

use serde_json::Value;

use self::conversation::Conversation;
use super::place::{Checked, Object, Place, said};
use super::tools::{self, repeated};
use crate::route::Route;

const FIELDS: &[&str] = &[
    "messages",
    "system",
    "inferenceConfig",
    "toolConfig",
    "guardrailConfig",
    "additionalModelRequestFields",
    "additionalModelResponseFieldPaths",
    "promptVariables",
    "requestMetadata",
    "performanceConfig",
    "serviceTier",
    "outputConfig",
];

/// Whose models they are: each family refuses other things.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Family {
    Claude,
    Nova,
    Mistral,
    Other,
}

impl Family {
    /// The id is percent-encoded, and may be an ARN.
    fn of(model: &str) -> Family {
        match model {
            id if id.contains("anthropic.") => Family::Claude,
            id if id.contains("amazon.nova") => Family::Nova,
            id if id.contains("mistral.") => Family::Mistral,
            _ => Family::Other,
        }
    }
}

pub(super) fn check(route: &Route, body: &Value) -> Checked {
    let family = Family::of(route.model.as_deref().unwrap_or("anthropic.claude-sonnet-4-5"));
    let body = Place::body(body).object(FIELDS)?;
    let max_tokens = inference_config(&body)?;
    let tools = tool_config(&body)?;
    let mut points = Points { family, count: 0, short: false };
    if let Some(config) = body.get("toolConfig") {
        let tools = config.open_object()?.require("tools")?.array()?;
        tools.iter().try_for_each(|tool| points.look_at(tool, true))?;
    }
    for block in body.get("system").map(|system| system.filled_array()).transpose()?.unwrap_or_default() {
        let fields = block.object(&["text", "cachePoint", "guardContent"])?;
        if let Some(text) = fields.get("text") {
            text.filled_string()?;
        }
        points.look_at(&block, false)?;
    }
    let conversation = Conversation::read(family, &body.require("messages")?.array()?, &mut points)?;
    conversation.check_pairs(tools.is_some())?;
    let thinking = Thinking::read(family, &body, max_tokens)?;
    conversation.check_end(family, &thinking)?;
    points.check()
}

/// Returns `maxTokens`.
fn inference_config(body: &Object<'_>) -> Checked<Option<i64>> {
    let Some(config) = body.get("inferenceConfig") else { return Ok(None) };
    let config = config.object(&["maxTokens", "temperature", "topP", "stopSequences"])?;
    for name in ["temperature", "topP"] {
        if let Some(number) = config.get(name) {
            number.number(0.0, 1.0)?;
        }
    }
    for stop in config.get("stopSequences").map(|stops| stops.array()).transpose()?.unwrap_or_default() {
        stop.filled_string()?;
    }
    config.get("maxTokens").map(|tokens| tokens.integer(1)).transpose()
}

/// The tools' names, if there are tools.
fn tool_config<'a>(body: &Object<'a>) -> Checked<Option<Vec<&'a str>>> {
    let Some(config) = body.get("toolConfig") else { return Ok(None) };
    let config = config.object(&["tools", "toolChoice"])?;
    let mut names = Vec::new();
    for tool in config.require("tools")?.filled_array()? {
        let fields = tool.object(&["toolSpec", "cachePoint", "systemTool"])?;
        let Some(spec) = fields.get("toolSpec") else { continue };
        let spec = spec.object(&["name", "description", "inputSchema", "strict"])?;
        names.push(tools::name(&spec.require("name")?)?);
        if let Some(description) = spec.get("description") {
            description.filled_string()?;
        }
        let schema = spec.require("inputSchema")?.object(&["json"])?.require("json")?.open_object()?;
        // <https://github.com/vercel/ai/issues/3490>: the models' own rule.
        schema.require("type")?.one_of(&["object"])?;
    }
    if let Some(name) = repeated(&names) {
        return said(format!("The tool {name} is already defined at toolConfig.tools. Tool names must be unique."));
    }
    if let Some(choice) = config.get("toolChoice") {
        let fields = choice.object(&["auto", "any", "tool"])?;
        if fields.map.len() != 1 {
            return choice.wrong("must have exactly one of auto, any and tool");
        }
        if let Some(tool) = fields.get("tool") {
            let name = tool.object(&["name"])?.require("name")?.string()?;
            if !names.contains(&name) {
                return said(format!("The tool {name} of toolConfig.toolChoice is not defined at toolConfig.tools."));
            }
        }
    }
    Ok(Some(names))
}

/// What was asked of Claude about thinking.
struct Thinking {
    /// With a budget.
    enabled: bool,
    on: bool,
}

impl Thinking {
    /// <https://docs.aws.amazon.com/bedrock/latest/userguide/claude-messages-extended-thinking.html>
    fn read(family: Family, body: &Object<'_>, max_tokens: Option<i64>) -> Checked<Thinking> {
        let none = Thinking { enabled: false, on: false };
        let Some(fields) = body.get("additionalModelRequestFields") else { return Ok(none) };
        let fields = fields.open_object()?;
        let Some(thinking) = fields.get("thinking") else { return Ok(none) };
        if family != Family::Claude {
            return said(
                "The model returned the following errors: Malformed input request: extraneous key [thinking] is not \
                 permitted, please reformat your input and try again.",
            );
        }
        let kind = thinking.open_object()?.require("type")?.one_of(&["enabled", "disabled", "adaptive"])?;
        if kind == "disabled" {
            return Ok(none);
        }
        if kind == "enabled" {
            let budget = thinking.open_object()?.require("budget_tokens")?.integer(1024)?;
            let is_interleaved = fields.has("anthropic_beta");
            if max_tokens.is_some_and(|most| budget >= most) && !is_interleaved {
                return said(
                    "The model returned the following errors: `max_tokens` must be greater than `thinking.budget_tokens`.",
                );
            }
        }
        let config = body.get("inferenceConfig").map(|config| config.open_object()).transpose()?;
        if config.as_ref().and_then(|config| config.get("temperature")).is_some_and(|it| it.value.as_f64() != Some(1.0)) {
            return said("The model returned the following errors: `temperature` may only be set to 1 when thinking is enabled.");
        }
        if fields.has("top_k") {
            return said("The model returned the following errors: `top_k` must be unset when thinking is enabled.");
        }
        let choice = body.get("toolConfig").map(|config| config.open_object()).transpose()?;
        let choice =
            choice.as_ref().and_then(|config| config.get("toolChoice")).map(|choice| choice.open_object()).transpose()?;
        if choice.is_some_and(|choice| choice.has("any") || choice.has("tool")) {
            return said(
                "The model returned the following errors: Thinking may not be enabled when tool_choice forces tool use.",
            );
        }
        Ok(Thinking { enabled: kind == "enabled", on: true })
    }
}

/// Cache points in the order in which the service goes through them.
struct Points {
    family: Family,
    count: usize,
    short: bool,
}

impl Points {
    fn look_at(&mut self, holder: &Place<'_>, is_tool: bool) -> Checked {
        let Some(point) = holder.open_object()?.get("cachePoint") else { return Ok(()) };
        let fields = point.object(&["type", "ttl"])?;
        fields.require("type")?.one_of(&["default"])?;
        let ttl = fields.get("ttl").map(|ttl| ttl.one_of(&["5m", "1h"])).transpose()?.unwrap_or("5m");
        let is_taken = match self.family {
            Family::Claude => true,
            Family::Nova => !is_tool,
            Family::Mistral | Family::Other => false,
        };
        if !is_taken {
            return said(
                "You invoked an unsupported model or your request did not allow prompt caching. See the documentation for more \
                 information.",
            );
        }
        if ttl == "1h" && self.short {
            return point.wrong("a ttl='1h' cachePoint must not come after a ttl='5m' cachePoint");
        }
        self.short |= ttl == "5m";
        self.count += 1;
        Ok(())
    }

    fn check(&self) -> Checked {
        match self.count {
            ..=4 => Ok(()),
            count => said(format!("A maximum of 4 cache points may be provided. Found {count}.")),
        }
    }
}
