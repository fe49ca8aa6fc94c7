//! Options that do not reach a model, because it or its wire format does not take them.
//!
//! They are found by writing the request with and without them and comparing, so that what is told cannot differ from what an
//! encoder does. Only what somebody asked for is looked at, and only what is meant to be done: not `session_id` and
//! `thinking_budgets`, which are for those servers that can use them.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use super::{Protocol, Target};
use crate::model::{CacheRetention, IgnoredOption, ModelOptions, ModelRequest, ThinkingLevel, ToolChoice, ToolDescription};
use crate::provider::quirks::ThinkingStyle;

/// The options of a request that make no difference to what is sent.
pub(crate) fn ignored(protocol: &dyn Protocol, request: &ModelRequest, target: Target<'_>) -> Vec<IgnoredOption> {
    let asked = bare(request);
    let same = |a: &ModelRequest, b: &ModelRequest| protocol.encode(a, target) == protocol.encode(b, target);
    let mut found = Vec::new();
    for (option, less) in weakened(&asked) {
        if same(&asked, &less) {
            let thinks = asked.thinking_level != ThinkingLevel::Off && !same(&unthinking(&asked), &unthinking(&less));
            found.push(IgnoredOption { option, why: why(option, thinks, &asked, protocol, target) });
        }
    }
    found
}

/// The request without what is long and says nothing of its options.
fn bare(request: &ModelRequest) -> ModelRequest {
    let tool = |tool: &ToolDescription| ToolDescription {
        name: tool.name.clone(),
        description: String::new(),
        parameters: serde_json::Value::Null,
    };
    ModelRequest {
        tools: Arc::new(request.tools.iter().map(tool).collect()),
        thinking_level: request.thinking_level,
        options: ModelOptions { headers: serde_json::Map::new(), ..request.options.clone() },
        ..ModelRequest::default()
    }
}

fn unthinking(request: &ModelRequest) -> ModelRequest {
    ModelRequest { thinking_level: ThinkingLevel::Off, ..request.clone() }
}

/// For each option that asks for something, the request that does not ask for it.
fn weakened(asked: &ModelRequest) -> Vec<(&'static str, ModelRequest)> {
    let mut all = Vec::new();
    let with = |change: &dyn Fn(&mut ModelOptions)| {
        let mut less = asked.clone();
        change(&mut less.options);
        less
    };
    if asked.options.temperature.is_some() {
        all.push(("temperature", with(&|options| options.temperature = None)));
    }
    if !asked.options.stop_sequences.is_empty() {
        all.push(("stop_sequences", with(&|options| options.stop_sequences.clear())));
    }
    if let Some(ToolChoice::Required | ToolChoice::Tool(_)) = &asked.options.tool_choice {
        let mut less = with(&|options| options.tool_choice = Some(ToolChoice::Auto));
        // To offer only the one tool is not yet to force it.
        if let Some(ToolChoice::Tool(name)) = &asked.options.tool_choice {
            Arc::make_mut(&mut less.tools).retain(|tool| tool.name == *name);
        }
        all.push(("tool_choice", less));
    }
    if asked.options.cache_retention == CacheRetention::Long {
        all.push(("cache_retention", with(&|options| options.cache_retention = CacheRetention::Short)));
    }
    if asked.thinking_level != ThinkingLevel::Off {
        all.push(("thinking_level", unthinking(asked)));
    }
    all
}

/// Why an option is ignored, and what to do. `thinks`: only because the model is asked to think.
fn why(option: &str, thinks: bool, asked: &ModelRequest, protocol: &dyn Protocol, target: Target<'_>) -> String {
    let why = match option {
        "temperature" if thinks => "it takes none while it thinks; leave it out, or set thinking_level to \"off\"",
        "temperature" => "it takes none; leave it out",
        "tool_choice" if asked.tools.is_empty() => "there are no tools; leave it out",
        "tool_choice" if thinks => {
            "no tool can be forced while it thinks, so it decides itself; leave it out, or set thinking_level to \"off\""
        }
        "tool_choice" => "no tool can be forced, so it decides itself; leave it out",
        "cache_retention" => "it cannot be asked to keep for longer what it has read; leave it \"short\"",
        "thinking_level" if target.quirks.thinking == ThinkingStyle::Budget => {
            "the tokens it may write leave no room for thinking; raise the model's max_output_tokens, or leave it \"off\""
        }
        "thinking_level" => {
            "as far as is known it does not think, or not on demand; leave it \"off\", or say in the model's thinking how to ask"
        }
        _ => {
            let format = protocol.name();
            return format!(
                "the wire format {format} has no field for it; leave it out, or choose another format with the model's protocol"
            );
        }
    };
    why.to_owned()
}
