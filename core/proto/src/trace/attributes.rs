//! What stands in spans and measurements.

use std::ops::Deref;
use std::sync::Arc;

use serde::{Serialize, Serializer};

use crate::message::AssistantMessage;
use crate::request::Request;
use crate::usage::Usage;

/// A text: one of ours, or one that spans and measurements share. A clone copies neither.
#[derive(Debug, Clone)]
pub enum Text {
    /// Of the conventions, or of this library.
    Fixed(&'static str),
    /// Another.
    Shared(Arc<str>),
}

impl Deref for Text {
    type Target = str;

    fn deref(&self) -> &str {
        match self {
            Text::Fixed(text) => text,
            Text::Shared(text) => text,
        }
    }
}

impl PartialEq for Text {
    fn eq(&self, other: &Text) -> bool {
        **self == **other
    }
}

impl From<&'static str> for Text {
    fn from(text: &'static str) -> Text {
        Text::Fixed(text)
    }
}

impl From<&Arc<str>> for Text {
    fn from(text: &Arc<str>) -> Text {
        Text::Shared(Arc::clone(text))
    }
}

impl From<String> for Text {
    fn from(text: String) -> Text {
        Text::Shared(text.into())
    }
}

/// The value of an attribute.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub enum Attribute {
    /// Text.
    Text(Text),
    /// A whole number.
    Whole(i64),
    /// Another number.
    Number(f64),
    /// Texts.
    Texts(Vec<String>),
}

/// The attributes of a span or a measurement, by their names.
pub type Attributes = Vec<(&'static str, Attribute)>;

impl<T: Into<Text>> From<T> for Attribute {
    fn from(text: T) -> Attribute {
        Attribute::Text(text.into())
    }
}

impl From<u64> for Attribute {
    fn from(number: u64) -> Attribute {
        Attribute::Whole(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

impl Serialize for Attribute {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Attribute::Text(text) => serializer.serialize_str(text),
            Attribute::Whole(number) => serializer.serialize_i64(*number),
            Attribute::Number(number) => serializer.serialize_f64(*number),
            Attribute::Texts(texts) => texts.serialize(serializer),
        }
    }
}

/// A provider as the conventions name it.
pub fn provider_name(provider: &str) -> &str {
    match provider {
        "amazon-bedrock" => "aws.bedrock",
        "azure-openai" => "azure.ai.openai",
        "google" => "gcp.gemini",
        "google-vertex" => "gcp.vertex_ai",
        "mistral" => "mistral_ai",
        "moonshot" => "moonshot_ai",
        "xai" => "x_ai",
        other => other,
    }
}

/// What a model call is, in its span and in what is measured of it.
pub(super) fn of_call(operation: &'static str, provider: &str, model: &str, server: Option<(&str, u16)>) -> Attributes {
    let mut attributes = Vec::with_capacity(12);
    attributes.push(("gen_ai.operation.name", operation.into()));
    attributes.push(("gen_ai.provider.name", provider_name(provider).to_owned().into()));
    attributes.push(("gen_ai.request.model", model.to_owned().into()));
    if let Some((address, port)) = server {
        attributes.push(("server.address", address.to_owned().into()));
        attributes.push(("server.port", u64::from(port).into()));
    }
    attributes
}

/// What is asked of the model, beside the messages.
pub(super) fn of_request(attributes: &mut Attributes, request: &Request) {
    let options = &request.options;
    let mut number = |name, value: Option<f64>| {
        if let Some(value) = value {
            attributes.push((name, Attribute::Number(value)));
        }
    };
    number("gen_ai.request.temperature", options.temperature);
    number("gen_ai.request.top_p", options.top_p);
    #[allow(clippy::cast_precision_loss)] // The conventions have a double.
    number("gen_ai.request.top_k", options.top_k.map(|top_k| top_k as f64));
    number("gen_ai.request.frequency_penalty", options.frequency_penalty);
    number("gen_ai.request.presence_penalty", options.presence_penalty);
    if let Some(most) = options.max_tokens {
        attributes.push(("gen_ai.request.max_tokens", most.into()));
    }
    if let Some(seed) = options.seed {
        attributes.push(("gen_ai.request.seed", Attribute::Whole(seed)));
    }
    if !options.stop_sequences.is_empty() {
        attributes.push(("gen_ai.request.stop_sequences", Attribute::Texts(options.stop_sequences.clone())));
    }
    if request.output.is_some() {
        attributes.push(("gen_ai.output.type", "json".into()));
    }
}

/// What an answer is, beside its content.
pub(super) fn of_answer(attributes: &mut Attributes, answer: &AssistantMessage, answered: &Text) {
    attributes.push(("gen_ai.response.model", answered.clone().into()));
    if let Some(id) = &answer.response_id {
        attributes.push(("gen_ai.response.id", id.clone().into()));
    }
    if let Some(reason) = finish_reason(answer) {
        attributes.push(("gen_ai.response.finish_reasons", Attribute::Texts(vec![reason.to_owned()])));
    }
    of_usage(attributes, &answer.usage);
}

/// Why an answer ended: the vendor's word, or ours.
pub(super) fn finish_reason(answer: &AssistantMessage) -> Option<&str> {
    answer.raw_stop_reason.as_deref().or_else(|| answer.stop_reason.map(|reason| reason.as_str()))
}

/// The tokens of a prompt: the conventions count cached ones, too.
pub(super) fn input_tokens(usage: &Usage) -> u64 {
    usage.input.saturating_add(usage.cache_read).saturating_add(usage.cache_write)
}

/// Tokens and price, where they are known.
pub(super) fn of_usage(attributes: &mut Attributes, usage: &Usage) {
    if usage.total > 0 {
        attributes.push(("gen_ai.usage.input_tokens", input_tokens(usage).into()));
        attributes.push(("gen_ai.usage.output_tokens", usage.output.into()));
        for (name, tokens) in [
            ("gen_ai.usage.cache_read.input_tokens", usage.cache_read),
            ("gen_ai.usage.cache_creation.input_tokens", usage.cache_write),
            ("gen_ai.usage.reasoning.output_tokens", usage.reasoning),
        ] {
            if tokens > 0 {
                attributes.push((name, tokens.into()));
            }
        }
    }
    if let Some(cost) = &usage.cost {
        attributes.push(("agent_loop.cost", Attribute::Number(cost.total)));
    }
}
