//! OpenAI Responses.

use serde_json::{Value, json};

use super::{Asked, Offer, Said, arguments, choice, data_url, list, texts, without_empty, word};

pub(super) fn read(body: &Value) -> Asked {
    let mut asked = Asked { model: word(body, "model"), system: word(body, "instructions"), ..Asked::default() };
    for item in list(body, "input") {
        match item["type"].as_str().unwrap_or("message") {
            "message" => message(item, &mut asked),
            "function_call" => {
                let (id, name) = (word(item, "call_id"), word(item, "name"));
                asked.say(Said::Call { id, name, arguments: arguments(&item["arguments"]) });
                seal(item, &mut asked);
            }
            "function_call_output" => asked.say(Said::Result {
                id: word(item, "call_id"),
                text: texts(&item["output"]).join("\n"),
                images: list(item, "output").filter(|part| part["type"] == "input_image").map(image).collect(),
                is_error: false,
            }),
            "reasoning" => {
                let mut proof = without_empty(item);
                proof.as_object_mut().unwrap().retain(|name, _| !matches!(name.as_str(), "type" | "status"));
                let text = texts(&item["summary"]).join("\n\n");
                asked.say(Said::Thinking { text, proof });
            }
            _ => asked.say(Said::Opaque(without_empty(item))),
        }
    }
    for tool in list(body, "tools") {
        let plain = tool["type"] == "function" && tool.get("defer_loading").is_none();
        let name = tool["name"].as_str().or(tool["type"].as_str()).unwrap().to_owned();
        let offer = match plain {
            true => Offer::Ours { description: word(tool, "description"), schema: tool["parameters"].clone() },
            false => Offer::Theirs(tool.clone()),
        };
        asked.tools.insert(name, offer);
    }
    asked.set("temperature", &body["temperature"]);
    asked.set("max_tokens", &body["max_output_tokens"]);
    asked.set("tool_choice", &choice(&body["tool_choice"]));
    if body["reasoning"]["effort"] != "none" {
        asked.set("thinking", &body["reasoning"]["effort"]);
    }
    asked
}

fn message(item: &Value, asked: &mut Asked) {
    let text = texts(&item["content"]);
    match item["role"].as_str().unwrap() {
        "system" | "developer" => asked.system.push_str(&text.concat()),
        "assistant" => {
            asked.say(Said::Text(text.concat()));
            seal(item, asked);
        }
        _ => {
            text.into_iter().for_each(|text| asked.say(Said::User(text.to_owned())));
            list(item, "content").filter(|part| part["type"] == "input_image").for_each(|part| asked.say(image(part)));
        }
    }
}

/// The item's own id, and the phase of a message.
fn seal(item: &Value, asked: &mut Asked) {
    let seal = without_empty(&json!({ "id": item["id"], "phase": item["phase"] }));
    if seal != json!({}) {
        asked.say(Said::Seal(seal.to_string()));
    }
}

fn image(part: &Value) -> Said {
    data_url(part["image_url"].as_str().unwrap_or_default())
}
