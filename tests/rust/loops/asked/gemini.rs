//! Gemini, at Google and on Vertex.

use serde_json::{Value, json};

use super::{Asked, Offer, Said, choice, list, texts, word};

pub(super) fn read(path: &str, body: &Value) -> Asked {
    let model = path.split_once("/models/").and_then(|(_, rest)| rest.split(':').next()).unwrap_or_default();
    let system = texts(&body["systemInstruction"]["parts"]).concat();
    let mut asked = Asked { model: model.to_owned(), system, ..Asked::default() };
    for content in list(body, "contents") {
        for part in list(content, "parts") {
            self::part(part, content["role"] == "user", &mut asked);
        }
    }
    for function in list(body, "tools").flat_map(|tool| list(tool, "functionDeclarations")) {
        let given =
            ["parametersJsonSchema", "parameters_json_schema", "parameters"].into_iter().find_map(|field| function.get(field));
        let schema = given.map_or_else(|| json!({ "type": "object" }), json_schema);
        asked.tools.insert(word(function, "name"), Offer::Ours { description: word(function, "description"), schema });
    }
    let config = &body["generationConfig"];
    asked.set("temperature", &config["temperature"]);
    asked.set("max_tokens", &config["maxOutputTokens"]);
    asked.set("tool_choice", &choice(&body["toolConfig"]["functionCallingConfig"]["mode"]));
    let thinking = &config["thinkingConfig"];
    if thinking["includeThoughts"] == true {
        let level = thinking["thinkingLevel"].as_str().map(|level| json!(level.to_lowercase()));
        asked.set("thinking", &level.unwrap_or_else(|| thinking["thinkingBudget"].clone()));
    }
    asked
}

fn part(part: &Value, user: bool, asked: &mut Asked) {
    let (call, result) = (&part["functionCall"], &part["functionResponse"]);
    if call.is_object() {
        let arguments = call.get("args").cloned().unwrap_or_else(|| json!({}));
        asked.say(Said::Call { id: word(call, "id"), name: word(call, "name"), arguments });
    } else if result.is_object() {
        let response = &result["response"];
        asked.say(Said::Result {
            id: word(result, "id"),
            text: output(response),
            images: list(result, "parts").map(image).collect(),
            is_error: response.get("error").is_some(),
        });
    } else if part["inlineData"].is_object() {
        asked.say(image(part));
    } else if part["thought"] == true {
        asked.say(Said::Thinking { text: word(part, "text"), proof: Value::Null });
    } else if part["text"].is_string() {
        asked.say(if user { Said::User(word(part, "text")) } else { Said::Text(word(part, "text")) });
    } else {
        asked.say(Said::Opaque(part.clone()));
    }
    if let Some(seal) = part["thoughtSignature"].as_str() {
        // The same bytes in either alphabet of base64.
        asked.say(Said::Seal(seal.replace('-', "+").replace('_', "/")));
    }
}

/// A response is an object under whatever name the client likes.
fn output(response: &Value) -> String {
    let named = ["output", "error", "result", "return_value", "content"].into_iter().find_map(|name| response.get(name));
    match named.unwrap_or(response) {
        Value::String(text) => text.clone(),
        Value::Array(parts) if parts.iter().all(|part| part["text"].is_string()) => texts(&json!(parts)).join("\n"),
        other => other.to_string(),
    }
}

fn image(part: &Value) -> Said {
    Said::Image { mime_type: word(&part["inlineData"], "mimeType"), data: word(&part["inlineData"], "data") }
}

/// The older field writes types in capitals.
fn json_schema(schema: &Value) -> Value {
    match schema {
        Value::Object(map) => {
            let lowered = map.iter().map(|(name, value)| match value.as_str() {
                Some(word) if name == "type" => (name.clone(), word.to_lowercase().into()),
                _ => (name.clone(), json_schema(value)),
            });
            lowered.collect()
        }
        Value::Array(list) => list.iter().map(json_schema).collect(),
        other => other.clone(),
    }
}
