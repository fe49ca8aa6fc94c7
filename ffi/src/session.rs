//! Sessions by their ids: read, changed as a whole, opened, followed.

pub mod follow;
pub mod of_agent;
pub mod open;

use std::ffi::c_char;

use agent_loop::host::Spelling;
use agent_loop::session::Session;
use agent_loop::session::hosting::{info_of, salvaged_json};
use agent_loop::{Error, ErrorKind};

use crate::error::{AGENT_OK, agent_error_t, agent_status_t};
use crate::guard::{self, guard};
use crate::handle::{borrow, hand_out, output, take_back};
use crate::store::owner::Owner;
use crate::text::{self, Text, agent_text_t, borrowed};
use follow::agent_follow_t;
use open::agent_open_session_t;

/// A session, which need not exist.
pub struct agent_session_t {
    session: Session,
    id: Text,
    owner: Owner,
}

impl agent_session_t {
    pub(crate) fn new(session: Session, owner: &Owner) -> agent_session_t {
        let id = Text::new(session.id());
        agent_session_t { session, id, owner: owner.clone() }
    }

    /// Does something with the session on the runtime's threads, and blocks this one meanwhile.
    fn wait<T: Send + 'static, F: Future<Output = Result<T, Error>> + Send + 'static>(
        &self,
        function: &str,
        work: impl FnOnce(Session) -> F,
    ) -> Result<T, Error> {
        self.owner.wait(function, work(self.session.clone()))
    }
}

/// The session's id.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_session_id(session: *const agent_session_t, length: *mut usize) -> *const c_char {
    // SAFETY: a session or NULL, and a length to write or NULL.
    unsafe { borrowed(length, || Some(&session.as_ref()?.id)) }
}

/// Opens the session to write.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_session_open(
    session: *mut agent_session_t,
    opened: *mut *mut agent_open_session_t,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: a session or NULL, and outputs to write or NULL.
    unsafe {
        guard(error, || {
            let (session, out) = (borrow(session, "session")?, output(opened, "opened")?);
            let open = session.wait("agent_session_open", async |session| session.open().await)?;
            hand_out(out, agent_open_session_t::new(open, &session.owner));
            Ok(AGENT_OK)
        })
    }
}

/// What the store knows of the session.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_session_info(
    session: *const agent_session_t,
    info: *mut *mut agent_text_t,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: a session or NULL, and outputs to write or NULL.
    unsafe {
        guard(error, || {
            let (session, out) = (borrow(session, "session")?, output(info, "info")?);
            let info = session.wait("agent_session_info", async |session| session.info().await)?;
            let missing =
                || format!("there is no session {:?} in this store; agent_session_open() creates it", session.id.as_str());
            let info = info.ok_or_else(|| Error::new(ErrorKind::NotFound, missing()))?;
            hand_out(out, agent_text_t::json(&info));
            Ok(AGENT_OK)
        })
    }
}

/// The records behind a number.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_session_records(
    session: *const agent_session_t,
    after: u64,
    limit: usize,
    records: *mut *mut agent_text_t,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: a session or NULL, and outputs to write or NULL.
    unsafe {
        guard(error, || {
            let (session, out) = (borrow(session, "session")?, output(records, "records")?);
            let read = async move |session: Session| session.records(after, limit).await;
            hand_out(out, agent_text_t::json(&session.wait("agent_session_records", read)?));
            Ok(AGENT_OK)
        })
    }
}

/// Sets title, metadata or both.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_session_set_info(
    session: *mut agent_session_t,
    info: *const c_char,
    length: usize,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: a session or NULL, text or NULL, and an error to write or NULL.
    unsafe {
        guard(error, || {
            let session = borrow(session, "session")?;
            let info = info_of(text::object(info, length, "info")?, Spelling::Snake)?;
            session.wait("agent_session_set_info", async move |session: Session| session.set_info(info).await)?;
            Ok(AGENT_OK)
        })
    }
}

/// Makes another session of the first records.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_session_fork(
    session: *const agent_session_t,
    at: u64,
    id: *const c_char,
    length: usize,
    forked: *mut *mut agent_session_t,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: a session or NULL, text or NULL, and outputs to write or NULL.
    unsafe {
        guard(error, || {
            let session = borrow(session, "session")?;
            let (id, out) = (text::identifier(id, length, "id")?.to_owned(), output(forked, "forked")?);
            let at = Some(at).filter(|at| *at > 0);
            let fork = async move |session: Session| session.fork(at, &id).await;
            hand_out(out, agent_session_t::new(session.wait("agent_session_fork", fork)?, &session.owner));
            Ok(AGENT_OK)
        })
    }
}

/// Deletes the session.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_session_delete(session: *mut agent_session_t, error: *mut *mut agent_error_t) -> agent_status_t {
    // SAFETY: a session or NULL, and an error to write or NULL.
    unsafe {
        guard(error, || {
            borrow(session, "session")?.wait("agent_session_delete", async |session| session.delete().await)?;
            Ok(AGENT_OK)
        })
    }
}

/// The session as JSON lines.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_session_export(
    session: *const agent_session_t,
    text: *mut *mut agent_text_t,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: a session or NULL, and outputs to write or NULL.
    unsafe {
        guard(error, || {
            let (session, out) = (borrow(session, "session")?, output(text, "text")?);
            let lines = session.wait("agent_session_export", async |session| session.export().await)?;
            hand_out(out, agent_text_t::new(lines));
            Ok(AGENT_OK)
        })
    }
}

/// What can be read of a damaged session.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_session_salvage(
    session: *const agent_session_t,
    salvaged: *mut *mut agent_text_t,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: a session or NULL, and outputs to write or NULL.
    unsafe {
        guard(error, || {
            let (session, out) = (borrow(session, "session")?, output(salvaged, "salvaged")?);
            let read = session.wait("agent_session_salvage", async |session| session.salvage().await)?;
            hand_out(out, agent_text_t::json(&salvaged_json(&read)));
            Ok(AGENT_OK)
        })
    }
}

/// Follows the session's records.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_session_follow(
    session: *const agent_session_t,
    after: u64,
    follow: *mut *mut agent_follow_t,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: a session or NULL, and outputs to write or NULL.
    unsafe { begin_to_follow("agent_session_follow", session, after, false, follow, error) }
}

/// Follows the session's records, and the events of the run that goes on.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_session_follow_live(
    session: *const agent_session_t,
    after: u64,
    follow: *mut *mut agent_follow_t,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: a session or NULL, and outputs to write or NULL.
    unsafe { begin_to_follow("agent_session_follow_live", session, after, true, follow, error) }
}

/// # Safety
/// `session` is a session or NULL; `follow` and `error` can be written, or are NULL.
unsafe fn begin_to_follow(
    function: &'static str,
    session: *const agent_session_t,
    after: u64,
    live: bool,
    follow: *mut *mut agent_follow_t,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: as of this function.
    unsafe {
        guard(error, || {
            let (session, out) = (borrow(session, "session")?, output(follow, "follow")?);
            session.owner.check(function)?;
            hand_out(out, agent_follow_t::new(&session.session, after, live, &session.owner));
            Ok(AGENT_OK)
        })
    }
}

/// Releases a session.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_session_free(session: *mut agent_session_t) {
    guard::release(|| {
        // SAFETY: ours, and not used again.
        if let Some(session) = unsafe { take_back(session) } {
            let agent_session_t { session, id: _, owner } = *session;
            owner.release(session);
        }
    });
}
