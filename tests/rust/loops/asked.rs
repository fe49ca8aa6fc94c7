//! What a request means, whatever its wire format: so that ours can be compared with another client's.

mod anthropic;
mod chat;
mod gemini;
mod responses;

use std::collections::{BTreeMap, HashMap};

use serde_json::Value;

/// A request. What it does not have is empty.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Asked {
    pub(super) model: String,
    pub(super) system: String,
    pub(super) said: Vec<Said>,
    /// By name; a server's built-in tool unchanged.
    pub(super) tools: BTreeMap<String, Offer>,
    /// `temperature`, `max_tokens`, `tool_choice`, `thinking`: how much, or in which word; true where that is not said.
    pub(super) options: BTreeMap<&'static str, Value>,
}

/// One piece of a conversation. Neighbouring texts of the model are one.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Said {
    User(String),
    Image {
        mime_type: String,
        data: String,
    },
    Text(String),
    /// With what proves it, and the field it stands in where servers differ in that.
    Thinking {
        text: String,
        proof: Value,
    },
    Call {
        id: String,
        name: String,
        arguments: Value,
    },
    /// What the vendor wants back with the piece before it.
    Seal(String),
    Result {
        id: String,
        text: String,
        images: Vec<Said>,
        is_error: bool,
    },
    /// A block of the vendor's own.
    Opaque(Value),
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Offer {
    Ours { description: String, schema: Value },
    Theirs(Value),
}

impl Asked {
    /// Reads a body of one of the APIs of the recordings.
    pub(super) fn read(api: &str, path: &str, body: &Value) -> Asked {
        match api {
            "anthropic-messages" => anthropic::read(path, body),
            "openai-chat" => chat::read(body),
            "openai-responses" => responses::read(body),
            "google-generative" => gemini::read(path, body),
            other => panic!("no reader for {other}"),
        }
    }

    fn say(&mut self, said: Said) {
        match (self.said.last_mut(), said) {
            (Some(Said::Text(text)), Said::Text(more)) => text.push_str(&more),
            (_, said) => self.said.push(said),
        }
    }

    fn set(&mut self, option: &'static str, value: &Value) {
        if !value.is_null() {
            self.options.insert(option, value.clone());
        }
    }

    /// Calls are named by the order in which they are made; a result without an id is the next call's.
    pub(super) fn number_ids(&mut self) {
        let mut known: HashMap<String, String> = HashMap::new();
        let (mut made, mut answered) = (0, 0);
        for said in &mut self.said {
            match said {
                Said::Call { id, .. } => {
                    made += 1;
                    known.insert(id.clone(), format!("#{made}"));
                    *id = format!("#{made}");
                }
                Said::Result { id, .. } => {
                    answered += 1;
                    *id = known.get(id).filter(|_| !id.is_empty()).cloned().unwrap_or_else(|| format!("#{answered}"));
                }
                _ => {}
            }
        }
    }
}

/// The texts of a string or of a list of parts.
fn texts(content: &Value) -> Vec<&str> {
    match content {
        Value::String(text) => vec![text],
        parts => parts.as_array().into_iter().flatten().filter_map(|part| part["text"].as_str()).collect(),
    }
}

fn list<'a>(value: &'a Value, name: &str) -> impl Iterator<Item = &'a Value> + use<'a> {
    value.get(name).and_then(Value::as_array).into_iter().flatten()
}

fn word(value: &Value, name: &str) -> String {
    value[name].as_str().unwrap_or_default().to_owned()
}

/// The arguments of a call, which some APIs have as text.
fn arguments(text: &Value) -> Value {
    match text.as_str() {
        Some("") => Value::Object(serde_json::Map::new()),
        Some(text) => serde_json::from_str(text).unwrap_or_else(|_| text.into()),
        None => text.clone(),
    }
}

/// An object without what says nothing.
fn without_empty(value: &Value) -> Value {
    let says = |value: &Value| !value.is_null() && value.as_array().is_none_or(|list| !list.is_empty());
    match value {
        Value::Object(map) => {
            map.iter().filter(|(_, value)| says(value)).map(|(name, value)| (name.clone(), without_empty(value))).collect()
        }
        Value::Array(list) => list.iter().map(without_empty).collect(),
        other => other.clone(),
    }
}

/// An image behind `data:…;base64,`.
fn data_url(url: &str) -> Said {
    let (mime_type, data) = url.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,")).unwrap_or_default();
    Said::Image { mime_type: mime_type.to_owned(), data: data.to_owned() }
}

/// A choice that says no more than leaving it out would.
fn choice(word: &Value) -> Value {
    if word == "auto" || word == "AUTO" { Value::Null } else { word.clone() }
}
