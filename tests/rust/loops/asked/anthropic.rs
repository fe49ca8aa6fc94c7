//! Anthropic Messages.

use serde_json::{Value, json};

use super::{Asked, Offer, Said, choice, list, texts, word};

pub(super) fn read(path: &str, body: &Value) -> Asked {
    // On Vertex the model stands in the address.
    let of_path = path.split_once("/models/").and_then(|(_, rest)| rest.split(':').next()).unwrap_or_default();
    let mut asked = Asked {
        model: body["model"].as_str().unwrap_or(of_path).to_owned(),
        system: texts(&body["system"]).concat(),
        ..Asked::default()
    };
    for message in list(body, "messages") {
        let user = message["role"] == "user";
        let text = |text: &str| if user { Said::User(text.to_owned()) } else { Said::Text(text.to_owned()) };
        if let Some(content) = message["content"].as_str() {
            asked.say(text(content));
        }
        for block in list(message, "content") {
            asked.say(match block["type"].as_str().unwrap() {
                "text" => text(block["text"].as_str().unwrap()),
                "image" => image(block),
                "thinking" => Said::Thinking { text: word(block, "thinking"), proof: block["signature"].clone() },
                "redacted_thinking" => Said::Thinking { text: String::new(), proof: block["data"].clone() },
                "tool_use" => Said::Call { id: word(block, "id"), name: word(block, "name"), arguments: block["input"].clone() },
                "tool_result" => Said::Result {
                    id: word(block, "tool_use_id"),
                    text: texts(&block["content"]).join("\n"),
                    images: list(block, "content").filter(|part| part["type"] == "image").map(image).collect(),
                    is_error: block["is_error"] == true,
                },
                _ => Said::Opaque(block.clone()),
            });
        }
    }
    for tool in list(body, "tools") {
        let plain = tool.get("input_schema").is_some() && tool.get("defer_loading").is_none();
        let mut own = tool.clone();
        own.as_object_mut().unwrap().remove("cache_control");
        let offer = match plain {
            true => Offer::Ours { description: word(tool, "description"), schema: schema(&tool["input_schema"]) },
            false => Offer::Theirs(own),
        };
        asked.tools.insert(word(tool, "name"), offer);
    }
    asked.set("temperature", &body["temperature"]);
    asked.set("max_tokens", &body["max_tokens"]);
    asked.set("tool_choice", &choice(&body["tool_choice"]["type"]));
    match body["thinking"]["type"].as_str() {
        Some("enabled") => asked.set("thinking", &body["thinking"]["budget_tokens"]),
        Some("adaptive") => asked.set("thinking", &json!(true)),
        _ => {}
    }
    asked
}

fn image(block: &Value) -> Said {
    Said::Image { mime_type: word(&block["source"], "media_type"), data: word(&block["source"], "data") }
}

/// An empty list of what is required says nothing.
fn schema(given: &Value) -> Value {
    let mut schema = given.clone();
    let empty = |value: &Value| value.as_array().is_some_and(|list| list.is_empty());
    schema.as_object_mut().unwrap().retain(|name, value| name != "required" || !empty(value));
    schema
}
