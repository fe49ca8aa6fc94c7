//! Options that do not reach a model, because it or its wire format does not take them, or not as they were given.
//!
//! They are found by writing the request with and without them and comparing, so that the report cannot differ from what an
//! encoder does; the output limit is read from the encoded request. Only options that the caller set are compared, and only those
//! that must take effect: not `session_id` and `thinking_budgets`, which are for those servers that can use them.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use serde_json::Value;

use crate::message::{ContentBlock, Message, ToolResultMessage, UserMessage};
use crate::protocol::format::{Protocol, Target};
use crate::quirks::ThinkingStyle;
use crate::request::{CacheRetention, IgnoredOption, ModelOptions, Request, ThinkingLevel, ToolChoice, ToolDescription};

/// The options of a request that make no difference to what is sent, or are sent otherwise than they were given.
pub fn ignored(protocol: &dyn Protocol, request: &Request, target: Target<'_>) -> Vec<IgnoredOption> {
    let bare = bare(request);
    // Whether it thinks now may hang on how the turn began, and on that what goes beside thinking; the level was asked for all
    // turns.
    let asked = Request { messages: since_the_user_spoke(request), ..bare.clone() };
    let same = |a: &Request, b: &Request| protocol.encode(a, target) == protocol.encode(b, target);
    let mut found = Vec::new();
    if let Some(given) = asked.options.max_tokens {
        let sent = Value::Object(protocol.encode(&asked, target)).pointer(protocol.limit(target.quirks)).and_then(Value::as_u64);
        if sent != Some(given) {
            found.push(IgnoredOption { option: "max_tokens", why: why_limited(sent, protocol, target) });
        }
    }
    for (option, less) in without_each_option(&asked) {
        let makes_none = match option {
            "thinking_level" => same(&bare, &unthinking(&bare)),
            _ => same(&asked, &less),
        };
        if makes_none {
            let thinks = asked.thinking_level != ThinkingLevel::Off && !same(&unthinking(&asked), &unthinking(&less));
            found.push(IgnoredOption { option, why: why(option, thinks, &asked, protocol, target) });
        }
    }
    found
}

/// The request without what is long and says nothing of its options.
fn bare(request: &Request) -> Request {
    let tool =
        |tool: &ToolDescription| ToolDescription { name: tool.name.clone(), description: String::new(), parameters: Value::Null };
    Request {
        tools: Arc::new(request.tools.iter().map(tool).collect()),
        thinking_level: request.thinking_level,
        options: request.options.clone(),
        ..Request::default()
    }
}

/// The messages from the user's last on, without what is long in them.
fn since_the_user_spoke(request: &Request) -> Vec<Arc<Message>> {
    let from = request.messages.iter().rposition(|message| matches!(**message, Message::User(_))).unwrap_or_default();
    let short = |message: &Arc<Message>| match &**message {
        Message::User(user) => Arc::new(Message::User(UserMessage { content: vec![ContentBlock::text(".")], ..user.clone() })),
        Message::ToolResult(result) => Arc::new(Message::ToolResult(ToolResultMessage { content: Vec::new(), ..result.clone() })),
        Message::Assistant(_) | Message::Custom(_) => Arc::clone(message),
    };
    request.messages.iter().skip(from).map(short).collect()
}

fn unthinking(request: &Request) -> Request {
    Request { thinking_level: ThinkingLevel::Off, ..request.clone() }
}

/// For each option that asks for something, the request that does not ask for it.
fn without_each_option(asked: &Request) -> Vec<(&'static str, Request)> {
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

/// Why another limit goes out than was given, and what to do.
fn why_limited(sent: Option<u64>, protocol: &dyn Protocol, target: Target<'_>) -> String {
    match sent {
        Some(sent) if target.quirks.thinking == ThinkingStyle::Budget => format!(
            "it may write {sent} tokens, so that there is room for an answer beside the thinking, which counts as written; give as \
             many, or lower thinking_level or its thinking_budgets"
        ),
        Some(sent) => format!("it may write {sent} tokens, the fewest it accepts; give as many"),
        None => no_field(protocol),
    }
}

fn no_field(protocol: &dyn Protocol) -> String {
    let format = protocol.name();
    format!("the wire format {format} has no field for it; leave it out, or choose another format with the model's protocol")
}

/// Why an option is ignored, and what to do. `thinks`: only because the model is asked to think.
fn why(option: &str, thinks: bool, asked: &Request, protocol: &dyn Protocol, target: Target<'_>) -> String {
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
        _ => return no_field(protocol),
    };
    why.to_owned()
}
