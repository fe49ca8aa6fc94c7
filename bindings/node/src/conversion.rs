//! Transcripts of other programs: in and out.

use agent_loop::host::Spelling;
use agent_loop::transcript::{self, Format};
use agent_loop::{Error, ModelSpec};
use napi_derive::napi;

use crate::error::{Result, thrown};
use crate::{camel_case, message};

/// Reads messages of another program: JSON text, of pi also the lines of a session's file. `model` is JSON.
/// Returns `{messages, systemPrompt, losses}`.
#[napi(catch_unwind)]
pub fn import_messages(format: String, messages: String, model: Option<String>) -> Result<String> {
    let read = || -> std::result::Result<_, Error> {
        let spec = |model: String| ModelSpec::from_json_spelled(message::read("model", &model)?, Spelling::Camel);
        transcript::import(Format::parse(&format)?, messages, model.map(spec).transpose()?.as_ref())
    };
    Ok(camel_case::to_json(&read().map_err(|e| thrown(&e))?))
}

/// Writes messages, a JSON array, for another program. Returns `{messages, losses}`.
#[napi(catch_unwind)]
pub fn export_messages(format: String, messages: String, system_prompt: String) -> Result<String> {
    let write = || -> std::result::Result<_, Error> {
        let format = Format::parse(&format)?;
        Ok(transcript::export(format, &message::history("messages", &messages)?, &system_prompt))
    };
    Ok(camel_case::to_json(&write().map_err(|e| thrown(&e))?))
}
