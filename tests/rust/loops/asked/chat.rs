//! Chat Completions.

use serde_json::{Value, json};

use super::{Asked, Offer, Said, arguments, choice, data_url, list, texts, without_empty, word};

pub(super) fn read(body: &Value) -> Asked {
    let mut asked = Asked { model: word(body, "model"), ..Asked::default() };
    for message in list(body, "messages") {
        let content = &message["content"];
        match message["role"].as_str().unwrap() {
            "system" | "developer" => asked.system.push_str(&texts(content).concat()),
            "user" => user(content, &mut asked),
            "tool" => asked.say(Said::Result {
                id: word(message, "tool_call_id"),
                text: texts(content).join("\n"),
                images: list(message, "content").filter(|part| part["type"] == "image_url").map(image).collect(),
                is_error: false,
            }),
            _ => assistant(message, &mut asked),
        }
    }
    for tool in list(body, "tools") {
        let function = &tool["function"];
        let schema = function.get("parameters").cloned().unwrap_or_else(|| json!({ "type": "object" }));
        let offer = Offer::Ours { description: word(function, "description"), schema };
        asked.tools.insert(word(function, "name"), offer);
    }
    asked.set("temperature", &body["temperature"]);
    asked.set("max_tokens", body.get("max_completion_tokens").unwrap_or(&body["max_tokens"]));
    asked.set("tool_choice", &choice(&body["tool_choice"]));
    let effort = body.get("reasoning_effort").or(body["reasoning"].get("effort")).filter(|word| **word != "none");
    let switched = body["thinking"]["type"] == "enabled" || body["reasoning"]["enabled"] == true;
    match effort {
        Some(effort) => asked.set("thinking", effort),
        None if switched => asked.set("thinking", &json!(true)),
        None => {}
    }
    asked
}

fn user(content: &Value, asked: &mut Asked) {
    if let Some(text) = content.as_str() {
        asked.say(Said::User(text.to_owned()));
    }
    for part in content.as_array().into_iter().flatten() {
        asked.say(match part["text"].as_str() {
            Some(text) => Said::User(text.to_owned()),
            None => image(part),
        });
    }
}

fn image(part: &Value) -> Said {
    data_url(part["image_url"]["url"].as_str().or(part["image_url"].as_str()).unwrap_or_default())
}

fn assistant(message: &Value, asked: &mut Asked) {
    let fields = ["reasoning_content", "reasoning", "reasoning_text"];
    let given = fields.into_iter().filter(|field| message[*field].as_str().is_some_and(|text| !text.is_empty()));
    let given: Vec<&str> = given.collect();
    let details = without_empty(&message["reasoning_details"]);
    let of_details: String =
        list(message, "reasoning_details").filter_map(|detail| detail["text"].as_str().or(detail["summary"].as_str())).collect();
    // The details say all that the plain field beside them says.
    let proof = if details.is_null() { json!(given) } else { details.clone() };
    if !given.is_empty() || !details.is_null() {
        let text = given.first().map_or(of_details, |field| word(message, field));
        asked.say(Said::Thinking { text, proof });
    }
    let text = texts(&message["content"]).concat();
    if !text.is_empty() {
        asked.say(Said::Text(text));
    }
    for call in list(message, "tool_calls") {
        let function = &call["function"];
        let (id, name) = (word(call, "id"), word(function, "name"));
        asked.say(Said::Call { id, name, arguments: arguments(&function["arguments"]) });
    }
}
