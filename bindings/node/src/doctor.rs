//! Transcripts made to fit a model.

use std::sync::Arc;

use agent_loop::transcript::{self, Constraints};
use agent_loop::{Message, ModelSpec, Spelling};
use napi_derive::napi;
use serde_json::json;

use crate::error::{Result, thrown};
use crate::message;

/// Messages, a JSON array, made to fit a model in JSON: `{messages, repairs}`.
#[napi(catch_unwind)]
pub fn repair(messages: String, model: String) -> Result<String> {
    let (transcript, fit) = read(&messages, &model).map_err(|e| thrown(&e))?;
    let repaired = transcript::repair(&transcript, &fit);
    Ok(json!({ "messages": repaired.messages, "repairs": repaired.repairs }).to_string())
}

/// What would have to be done to the messages, a JSON array.
#[napi(catch_unwind)]
pub fn check(messages: String, model: String) -> Result<String> {
    let (transcript, fit) = read(&messages, &model).map_err(|e| thrown(&e))?;
    Ok(json!(transcript::check(&transcript, &fit)).to_string())
}

fn read(messages: &str, model: &str) -> std::result::Result<(Vec<Arc<Message>>, Constraints), agent_loop::Error> {
    let transcript = message::list("messages", messages)?.into_iter().map(Arc::new).collect();
    let spec = ModelSpec::from_json_spelled(message::read("model", model)?, Spelling::Camel)?;
    Ok((transcript, transcript::constraints(&spec)?))
}
