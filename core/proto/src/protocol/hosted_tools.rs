//! The option `hosted_tools`: tools that the provider runs itself, such as a search of the web, each as the provider describes
//! it. They stand behind the agent's tools in a request. What they did comes back as opaque blocks, and what an answer cites as
//! a `diagnostic` with the code `citations`.

#[cfg(test)]
mod tests;

use serde_json::{Map, Value, json};

use super::json::{self, Object};
use super::written_fields::fields;
use crate::error::Error;
use crate::json_error;
use crate::request::IgnoredOption;

/// Refuses what is no tool that a provider runs.
///
/// # Errors
/// `invalid_argument`: says which, why, and what to do.
pub(super) fn check(tools: &[Value], spelled: &str) -> Result<(), Error> {
    for (index, tool) in tools.iter().enumerate() {
        let why = match tool {
            Value::Object(tool) => refused(tool),
            _ => Some(format!("expected an object as the provider describes the tool, got {}", json_error::shown(tool))),
        };
        if let Some(why) = why {
            return Err(Error::invalid_argument(format!("option {spelled:?}: [{index}]: {why}")));
        }
    }
    Ok(())
}

/// Why it is no tool that a provider runs, if it is none.
fn refused(tool: &Map<String, Value>) -> Option<String> {
    let example = "give it as the provider describes it, such as {\"type\": \"web_search\"} or {\"google_search\": {}}";
    let kind = tool.get("type");
    if tool.is_empty() {
        Some(format!("the object is empty; {example}"))
    } else if kind.is_some_and(|kind| !kind.is_string()) {
        Some(format!("its \"type\" is no text; {example}"))
    } else if kind.is_some_and(|kind| kind == "function" || kind == "custom")
        || ["functionDeclarations", "function_declarations", "input_schema"].iter().any(|name| tool.contains_key(*name))
    {
        Some("it would be called here, not by the provider; give it as a tool of the agent".to_owned())
    } else {
        None
    }
}

/// The body with these tools. One in the words of another wire format is left out, and recorded: the next model of
/// `fallbacks` may have it.
pub(super) fn added(body: &[u8], tools: &[Value], protocol: &'static str, ignored: &mut Vec<IgnoredOption>) -> Vec<u8> {
    let (of_format, others): (Vec<&Value>, Vec<&Value>) = tools.iter().partition(|tool| is_for(tool, protocol));
    if !others.is_empty() {
        let names: Vec<String> = others.into_iter().map(name).collect();
        let why = format!("in the wire format {protocol} there is no tool {}; leave it out for this model", names.join(", "));
        ignored.push(IgnoredOption { option: "hosted_tools", why });
    }
    if of_format.is_empty() {
        return body.to_vec();
    }
    let mut list = Vec::new();
    of_format.into_iter().for_each(|tool| json::item(&mut list, tool));
    let mut out = Vec::with_capacity(body.len() + list.len() + 128);
    let mut object = Object::begin(&mut out);
    let (mut is_written, mut config) = (false, Map::new());
    for (name, json) in fields(body) {
        match name {
            b"tools" => {
                is_written = json != b"[]";
                let all = object.value_of("tools");
                all.extend_from_slice(json.strip_suffix(b"]").unwrap_or(json));
                json::items(all, &list);
                all.push(b']');
                list.clear();
            }
            b"toolConfig" => config = serde_json::from_slice(json).unwrap_or_default(),
            _ => object.json(&String::from_utf8_lossy(name), json),
        }
    }
    if !list.is_empty() {
        json::list(object.value_of("tools"), [list.as_slice()]);
    }
    // Both kinds in one request: https://ai.google.dev/gemini-api/docs/tool-combination
    if protocol == "gemini" && is_written {
        config.insert("includeServerSideToolInvocations".to_owned(), json!(true));
    }
    if !config.is_empty() {
        object.field("toolConfig", config);
    }
    object.end();
    out
}

/// Whether a tool is described as in this wire format: Gemini's have no type, and Anthropic's types end in a date.
fn is_for(tool: &Value, protocol: &str) -> bool {
    let Some(kind) = tool.get("type").and_then(Value::as_str) else {
        return protocol == "gemini" && tool.is_object();
    };
    let is_anthropic = kind == "mcp_toolset"
        || kind.rsplit_once('_').is_some_and(|(_, date)| date.len() == 8 && date.bytes().all(|byte| byte.is_ascii_digit()));
    match protocol {
        "gemini" | "bedrock_converse" => false,
        "anthropic" => is_anthropic,
        _ => !is_anthropic,
    }
}

/// What a tool is called in an error.
fn name(tool: &Value) -> String {
    let kind = tool.get("type").and_then(Value::as_str).or_else(|| Some(tool.as_object()?.keys().next()?.as_str()));
    format!("{:?}", kind.unwrap_or_default())
}
