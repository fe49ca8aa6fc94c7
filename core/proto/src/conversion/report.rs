//! What a conversion gives.

use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;

use crate::message::Message;

/// Something that was not carried over as it was. Canonical JSON: the fields in this order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub struct Loss {
    /// Which message, item or entry of those given, from 0.
    pub index: usize,
    /// A short word for programs, for example `image_url`.
    pub code: &'static str,
    /// A sentence for a person to read.
    pub message: String,
}

/// What was read.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub struct Imported {
    /// The messages.
    pub messages: Vec<Arc<Message>>,
    /// What `system` and `developer` messages said, in their order, joined with blank lines; empty without any.
    pub system_prompt: String,
    /// What was not carried over, in the order of the messages given.
    pub losses: Vec<Loss>,
}

/// What was written.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub struct Exported {
    /// A list of messages, items, contents or entries in the format's own JSON.
    pub messages: Value,
    /// What was not carried over, in the order of the messages given.
    pub losses: Vec<Loss>,
}

/// Who made what a model said, where the messages do not say it. Signatures go back only to whom they are from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Author {
    /// For example `anthropic`.
    pub provider: String,
    /// The wire format; that of the messages counts first.
    pub protocol: String,
    /// The model's id.
    pub model: String,
}
