//! Transcripts of other programs.

use std::ffi::c_char;

use agent_loop::transcript::{self, Format};
use agent_loop::{Error, ModelSpec};

use crate::error::{AGENT_OK, agent_error_t, agent_status_t};
use crate::guard::guard;
use crate::handle::{borrow, hand_out, output};
use crate::message::agent_messages_t;
use crate::text::{self, agent_text_t};

/// # Safety
/// As [`text::required`].
unsafe fn format_of(format: *const c_char, length: usize) -> Result<Format, Error> {
    // SAFETY: the caller's promise.
    Format::parse(unsafe { text::required(format, length, "format") }?)
}

fn report(losses: &[transcript::Loss]) -> agent_text_t {
    // Serializing a loss cannot fail.
    agent_text_t::new(serde_json::to_string(losses).unwrap_or_default())
}

/// Reads messages of another program.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_messages_import(
    format: *const c_char,
    format_length: usize,
    json: *const c_char,
    json_length: usize,
    model: *const c_char,
    model_length: usize,
    messages: *mut *mut agent_messages_t,
    system_prompt: *mut *mut agent_text_t,
    losses: *mut *mut agent_text_t,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: texts or NULL, and outputs to write or NULL.
    unsafe {
        guard(error, || {
            let out = output(messages, "messages")?;
            let format = format_of(format, format_length)?;
            let json = text::required(json, json_length, "json")?;
            let model = if model.is_null() { None } else { Some(ModelSpec::parse(text::model(model, model_length)?)?) };
            let read = transcript::import(format, json, model.as_ref())?;
            hand_out(out, agent_messages_t::new(read.messages));
            if !system_prompt.is_null() {
                hand_out(system_prompt, agent_text_t::new(read.system_prompt));
            }
            if !losses.is_null() {
                hand_out(losses, report(&read.losses));
            }
            Ok(AGENT_OK)
        })
    }
}

/// Writes messages for another program.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_messages_export(
    messages: *const agent_messages_t,
    format: *const c_char,
    format_length: usize,
    system_prompt: *const c_char,
    system_prompt_length: usize,
    json: *mut *mut agent_text_t,
    losses: *mut *mut agent_text_t,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: a list or NULL, texts or NULL, and outputs to write or NULL.
    unsafe {
        guard(error, || {
            let transcript = borrow(messages, "messages")?.shared();
            let format = format_of(format, format_length)?;
            let system = text::optional(system_prompt, system_prompt_length, "system_prompt")?.unwrap_or_default();
            let out = output(json, "json")?;
            let written = transcript::export(format, &transcript, system);
            hand_out(out, agent_text_t::new(written.text(format)));
            if !losses.is_null() {
                hand_out(losses, report(&written.losses));
            }
            Ok(AGENT_OK)
        })
    }
}
