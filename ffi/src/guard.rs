//! The boundary of every function: panics stop here, and errors become a status and, if requested, a handle.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use agent_loop::{Error, ErrorKind};

use crate::error::{agent_error_t, agent_status_t, status_of};

/// Runs a function that can fail.
///
/// # Safety
/// `error` is null or may be written.
pub(crate) unsafe fn guard(
    error: *mut *mut agent_error_t,
    body: impl FnOnce() -> Result<agent_status_t, Error>,
) -> agent_status_t {
    let failure = match catch(body) {
        Ok(Ok(status)) => return status,
        Ok(Err(failure)) => failure,
        Err(panic) => panic,
    };
    let status = status_of(failure.kind());
    if !error.is_null() {
        // SAFETY: not null, so it may be written, by the caller's promise.
        unsafe { error.write(Box::into_raw(Box::new(agent_error_t::new(failure)))) };
    }
    status
}

/// Runs a function that only reads, and returns `default` if there is nothing to return.
pub(crate) fn read<T>(default: T, body: impl FnOnce() -> Option<T>) -> T {
    catch(body).ok().flatten().unwrap_or(default)
}

/// Runs a function that releases something.
pub(crate) fn release(body: impl FnOnce()) {
    // There is no error to return; the panic's message went to standard error.
    let _ = catch(body);
}

/// State that a panic left inconsistent is not read again: poison of locks is ignored, handles are written last.
fn catch<T>(body: impl FnOnce() -> T) -> Result<T, Error> {
    catch_unwind(AssertUnwindSafe(body)).map_err(|payload| {
        let text = format!("a panic in libagent was caught: {}; please report this", panic_text(&*payload));
        Error::new(ErrorKind::Panic, text)
    })
}

fn panic_text(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::{AGENT_OK, AGENT_PANIC, agent_error_free, agent_error_message};
    use std::ffi::CStr;

    #[test]
    fn a_panic_becomes_a_status_and_an_error() {
        let mut error = std::ptr::null_mut();
        // SAFETY: `error` may be written, and is read and freed as agent.h has it.
        unsafe {
            assert_eq!(guard(&raw mut error, || panic!("at the {}", "disco")), AGENT_PANIC);
            let message = CStr::from_ptr(agent_error_message(error, std::ptr::null_mut()));
            assert_eq!(message, c"a panic in libagent was caught: at the disco; please report this");
            agent_error_free(error);
            assert_eq!(guard(std::ptr::null_mut(), || panic!("unseen")), AGENT_PANIC);
        }
        assert_eq!(read(7, || panic!("while reading")), 7);
        release(|| panic!("while releasing"));
    }

    #[test]
    fn without_a_failure_the_error_is_not_touched() {
        let mut error = std::ptr::null_mut();
        // SAFETY: `error` may be written.
        assert_eq!(unsafe { guard(&raw mut error, || Ok(AGENT_OK)) }, AGENT_OK);
        assert!(error.is_null());
    }
}
