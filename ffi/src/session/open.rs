//! A session that is open: the one that may append to it.

use std::ffi::c_char;

use agent_loop::host::Spelling;
use agent_loop::session::OpenSession;
use agent_loop::session::hosting::{ending, info_of, records_of};

use crate::error::{AGENT_OK, agent_error_t, agent_status_t};
use crate::guard::{self, guard};
use crate::handle::{borrow, hand_out, output, take_back};
use crate::message::agent_messages_t;
use crate::store::owner::Owner;
use crate::text::{self, Text, agent_text_t, borrowed};

/// A session with the right to append to it.
pub struct agent_open_session_t {
    pub(super) open: OpenSession,
    id: Text,
    diagnostics: Text,
    pub(super) owner: Owner,
}

impl agent_open_session_t {
    pub(super) fn new(open: OpenSession, owner: &Owner) -> agent_open_session_t {
        let (id, diagnostics) = (Text::new(open.id()), Text::json(&open.diagnostics()));
        agent_open_session_t { open, id, diagnostics, owner: owner.clone() }
    }
}

/// The session's id.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_open_session_id(opened: *const agent_open_session_t, length: *mut usize) -> *const c_char {
    // SAFETY: an open session or NULL, and a length to write or NULL.
    unsafe { borrowed(length, || Some(&opened.as_ref()?.id)) }
}

/// The transcript as it was when the session was opened.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_open_session_messages(
    opened: *const agent_open_session_t,
    messages: *mut *mut agent_messages_t,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: an open session or NULL, and outputs to write or NULL.
    unsafe {
        guard(error, || {
            let (opened, out) = (borrow(opened, "opened")?, output(messages, "messages")?);
            hand_out(out, agent_messages_t::new(opened.open.rebuilt().messages.iter().cloned()));
            Ok(AGENT_OK)
        })
    }
}

/// All that the session was when it was opened.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_open_session_rebuilt(
    opened: *const agent_open_session_t,
    rebuilt: *mut *mut agent_text_t,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: an open session or NULL, and outputs to write or NULL.
    unsafe {
        guard(error, || {
            let (opened, out) = (borrow(opened, "opened")?, output(rebuilt, "rebuilt")?);
            hand_out(out, agent_text_t::json(&*opened.open.rebuilt()));
            Ok(AGENT_OK)
        })
    }
}

/// What was unusual when the session was opened.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_open_session_diagnostics(
    opened: *const agent_open_session_t,
    length: *mut usize,
) -> *const c_char {
    // SAFETY: an open session or NULL, and a length to write or NULL.
    unsafe { borrowed(length, || Some(&opened.as_ref()?.diagnostics)) }
}

/// The number of the last record that was appended.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_open_session_last(opened: *const agent_open_session_t) -> u64 {
    // SAFETY: an open session or NULL.
    guard::read(0, || Some(unsafe { opened.as_ref() }?.open.last()))
}

/// Appends records.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_open_session_append(
    opened: *mut agent_open_session_t,
    records: *const c_char,
    length: usize,
    last: *mut u64,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: an open session or NULL, text or NULL, and outputs to write or NULL.
    unsafe {
        guard(error, || {
            let opened = borrow(opened, "opened")?;
            let records = records_of(text::json(records, length, "records")?)?;
            let number = opened.owner.wait_here("agent_open_session_append", || opened.open.append(records))?;
            if !last.is_null() {
                last.write(number);
            }
            Ok(AGENT_OK)
        })
    }
}

/// Sets title, metadata or both.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_open_session_set_info(
    opened: *mut agent_open_session_t,
    info: *const c_char,
    length: usize,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: an open session or NULL, text or NULL, and an error to write or NULL.
    unsafe {
        guard(error, || {
            let opened = borrow(opened, "opened")?;
            let info = info_of(text::object(info, length, "info")?, Spelling::Snake)?;
            let session = opened.open.clone();
            opened.owner.wait("agent_open_session_set_info", async move { session.set_info(info).await })?;
            Ok(AGENT_OK)
        })
    }
}

/// Blocks until the store has all records.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_open_session_flush(
    opened: *mut agent_open_session_t,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: an open session or NULL, and an error to write or NULL.
    unsafe {
        guard(error, || {
            let opened = borrow(opened, "opened")?;
            opened.owner.wait_here("agent_open_session_flush", || opened.open.flush())?;
            Ok(AGENT_OK)
        })
    }
}

/// Closes the session.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_open_session_close(
    opened: *mut agent_open_session_t,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: an open session or NULL, and an error to write or NULL.
    unsafe {
        guard(error, || {
            let opened = borrow(opened, "opened")?;
            let session = opened.open.clone();
            opened.owner.wait("agent_open_session_close", async move { session.close().await })?;
            Ok(AGENT_OK)
        })
    }
}

/// Releases an open session; one that was not closed is closed later.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_open_session_free(opened: *mut agent_open_session_t) {
    guard::release(|| {
        // SAFETY: ours, and not used again.
        if let Some(opened) = unsafe { take_back(opened) } {
            let agent_open_session_t { open, id: _, diagnostics: _, owner } = *opened;
            // Last: who opens it on another thread waits for that.
            let ending = ending(&open);
            owner.release((open, ending));
        }
    });
}
