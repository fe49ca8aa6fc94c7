//! Transcript repair.

use std::ffi::c_char;
use std::sync::Arc;

use agent_loop::transcript::{self, Constraints, Repair};
use agent_loop::{Error, Message, ModelSpec};

use crate::error::{AGENT_OK, agent_error_t, agent_status_t};
use crate::guard;
use crate::handle::{borrow, hand_out, output};
use crate::message::agent_messages_t;
use crate::text::{self, agent_text_t};

/// The transcript, and the model that it must be valid for.
///
/// # Safety
/// `messages` is a list or null; `model` and `length` as in [`text::required`].
unsafe fn read(
    messages: *const agent_messages_t,
    model: *const c_char,
    length: usize,
) -> Result<(Vec<Arc<Message>>, Constraints), Error> {
    // SAFETY: the caller's promise.
    unsafe {
        let transcript = borrow(messages, "messages")?.shared();
        Ok((transcript, transcript::constraints(&ModelSpec::parse(text::model(model, length)?)?)?))
    }
}

fn report(repairs: &[Repair]) -> agent_text_t {
    // Serializing a repair cannot fail.
    agent_text_t::new(serde_json::to_string(repairs).unwrap_or_default())
}

/// How many tokens the messages have for a model, about.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_messages_estimate_tokens(messages: *const agent_messages_t) -> u64 {
    // SAFETY: a list or NULL.
    guard::read(0, || Some(transcript::estimate_tokens(&unsafe { messages.as_ref() }?.shared())))
}

/// The last messages, without cutting a result from its call.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_messages_recent(
    messages: *const agent_messages_t,
    count: usize,
    recent: *mut *mut agent_messages_t,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: a list or NULL, and outputs to write or NULL.
    unsafe {
        guard::guard(error, || {
            let transcript = borrow(messages, "messages")?.shared();
            hand_out(output(recent, "recent")?, agent_messages_t::new(transcript::recent(&transcript, count).to_vec()));
            Ok(AGENT_OK)
        })
    }
}

/// Repairs a transcript for a model.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_messages_repair(
    messages: *const agent_messages_t,
    model: *const c_char,
    length: usize,
    repaired: *mut *mut agent_messages_t,
    repairs: *mut *mut agent_text_t,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: a list or NULL, text or NULL, and outputs to write or NULL.
    unsafe {
        guard::guard(error, || {
            let (transcript, fit) = read(messages, model, length)?;
            let out = output(repaired, "repaired")?;
            let done = transcript::repair(&transcript, &fit);
            hand_out(out, agent_messages_t::new(done.messages));
            if !repairs.is_null() {
                hand_out(repairs, report(&done.repairs));
            }
            Ok(AGENT_OK)
        })
    }
}

/// Reports what a repair would do.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_messages_check(
    messages: *const agent_messages_t,
    model: *const c_char,
    length: usize,
    repairs: *mut *mut agent_text_t,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: a list or NULL, text or NULL, and outputs to write or NULL.
    unsafe {
        guard::guard(error, || {
            let (transcript, fit) = read(messages, model, length)?;
            hand_out(output(repairs, "repairs")?, report(&transcript::check(&transcript, &fit)));
            Ok(AGENT_OK)
        })
    }
}
