//! Deltas, the parts of a model's answer.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::depth::{MAX_DEPTH, MAX_EMITTED_DEPTH, is_deeper};
use crate::usage::{StopReason, Usage};

/// A part of a model's answer. `key` names the block within the answer: any number, as long as a block keeps its own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub enum Delta {
    /// The vendor's id of the response.
    ResponseId(String),
    /// The model that answers, as the server calls it.
    ResponseModel(String),
    /// A block begins.
    Start {
        /// The block's key.
        key: u32,
        /// What it is.
        block: BlockStart,
    },
    /// More of a block: text, thinking, or a piece of a call's arguments.
    Append {
        /// The block's key.
        key: u32,
        /// The piece.
        text: String,
    },
    /// More of a block's signature.
    Signature {
        /// The block's key.
        key: u32,
        /// The piece.
        signature: String,
    },
    /// A block is complete.
    End {
        /// The block's key.
        key: u32,
    },
    /// The tokens used so far; replaces what was known.
    Usage(Box<Usage>),
    /// Why the answer ends. Usage and open blocks may still follow; without this one it counts as truncated.
    Stop {
        /// Why it ended.
        reason: StopReason,
        /// The vendor's own word.
        raw: Option<String>,
    },
    /// Something odd that the application should know.
    Diagnostic {
        /// A short word for programs.
        code: Cow<'static, str>,
        /// A sentence for a person to read.
        message: String,
        /// More, by code.
        data: Box<Value>,
    },
    /// The head of an HTTP answer; only when asked for.
    Response {
        /// The HTTP status.
        status: u16,
        /// The headers by lower-case name.
        headers: Box<Map<String, Value>>,
    },
    /// One frame as the provider sent it; only when asked for.
    Raw(Box<Value>),
}

/// What block begins.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub enum BlockStart {
    /// Text.
    Text,
    /// Thinking; redacted thinking has its opaque data as signature.
    Thinking {
        /// Whether the vendor hid the text.
        redacted: bool,
    },
    /// A tool call.
    ToolCall {
        /// The vendor's id; a missing or repeated one is replaced.
        id: String,
        /// The tool's name.
        name: String,
    },
    /// A block that is only kept and sent back. It has no events.
    Opaque {
        /// The protocol it came through.
        protocol: String,
        /// As it came.
        data: Box<Value>,
    },
}

impl Delta {
    /// The delta as it can be saved, and read again: with the same effect, however deep its data is.
    pub(crate) fn storable(&self) -> Cow<'_, Delta> {
        match self {
            Delta::Raw(data) if is_deeper(data, MAX_EMITTED_DEPTH) => Cow::Owned(Delta::Raw(readable(data.clone()))),
            Delta::Diagnostic { code, message, data } if is_deeper(data, MAX_EMITTED_DEPTH) => {
                Cow::Owned(Delta::Diagnostic { code: code.clone(), message: message.clone(), data: readable(data.clone()) })
            }
            Delta::Start { key, block: BlockStart::Opaque { protocol, data } } if is_deeper(data, MAX_DEPTH) => {
                // Too deep to be kept, too.
                let data = Box::new((0..=MAX_DEPTH).fold(Value::Null, |inner, _| Value::Array(vec![inner])));
                Cow::Owned(Delta::Start { key: *key, block: BlockStart::Opaque { protocol: protocol.clone(), data } })
            }
            _ => Cow::Borrowed(self),
        }
    }
}

/// Data that can be read where it stands in an event: what is too deep becomes a text.
pub(super) fn readable(data: Box<Value>) -> Box<Value> {
    if is_deeper(&data, MAX_EMITTED_DEPTH) { Box::new(Value::String(data.to_string())) } else { data }
}
