//! Transcript repair: checks a transcript against a model, and makes it fit.

use std::sync::Arc;

use agent_loop::host::Spelling;
use agent_loop::transcript::{self, Constraints, Repair};
use agent_loop::{Message, ModelSpec};
use napi_derive::napi;
use serde::Serialize;

use crate::error::{Result, thrown};
use crate::{camel_case, message};

/// Repairs messages, a JSON array, for a model in JSON. Returns `{messages, repairs}`.
#[napi(catch_unwind)]
pub fn repair(messages: String, model: String) -> Result<String> {
    #[derive(Serialize)]
    struct Repaired {
        messages: Vec<Arc<Message>>,
        repairs: Vec<Repair>,
    }
    let (messages, constraints) = read(&messages, &model).map_err(|e| thrown(&e))?;
    let transcript::Repaired { messages, repairs, .. } = transcript::repair(&messages, &constraints);
    Ok(camel_case::to_json(&Repaired { messages, repairs }))
}

/// Returns the repairs that messages, a JSON array, need for a model in JSON.
#[napi(catch_unwind)]
pub fn check(messages: String, model: String) -> Result<String> {
    let (messages, constraints) = read(&messages, &model).map_err(|e| thrown(&e))?;
    Ok(camel_case::to_json(&transcript::check(&messages, &constraints)))
}

/// Returns how many tokens messages, a JSON array, have for a model, about.
#[napi(catch_unwind)]
pub fn estimate_tokens(messages: String) -> Result<f64> {
    let messages = message::history("messages", &messages).map_err(|e| thrown(&e))?;
    Ok(transcript::estimate_tokens(&messages) as f64)
}

/// Returns the index at which the last `count` messages begin, from all roles.
#[napi(catch_unwind)]
pub fn recent_start(roles: Vec<String>, count: u32) -> u32 {
    let roles: Vec<_> = roles.iter().map(String::as_str).collect();
    // No array of JavaScript is longer.
    transcript::recent_start(&roles, count as usize) as u32
}

/// Reads a stored history, a JSON array. Returns its messages.
#[napi(catch_unwind)]
pub fn read_history(history: String) -> Result<String> {
    let messages = message::history("history", &history).map_err(|e| thrown(&e))?;
    Ok(camel_case::to_json(&messages))
}

fn read(messages: &str, model: &str) -> std::result::Result<(Vec<Arc<Message>>, Constraints), agent_loop::Error> {
    let messages = message::history("messages", messages)?;
    let spec = ModelSpec::from_json_spelled(message::read("model", model)?, Spelling::Camel)?;
    Ok((messages, transcript::constraints(&spec)?))
}
