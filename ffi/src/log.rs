//! Log records of a runtime, handed to a function of the program.

use std::ffi::{c_char, c_void};
use std::sync::{Arc, OnceLock};

use agent_loop::Error;
use agent_loop::host::{LogLevel, LogRecord};

use crate::error::{AGENT_OK, agent_error_t, agent_status_t};
use crate::guard::{self, guard};
use crate::handle::{Callback, agent_destroy_fn_t, borrow};
use crate::runtime::agent_runtime_t;
use crate::text::{Text, borrowed};

// <generated: constants>
/// A run failed.
pub const AGENT_LOG_ERROR: i32 = 1;
/// A function of the application failed, or a model call is retried.
pub const AGENT_LOG_WARN: i32 = 2;
/// Something unusual that is no failure.
pub const AGENT_LOG_INFO: i32 = 3;
/// What happens in any case.
pub const AGENT_LOG_DEBUG: i32 = 4;
// </generated>

fn number_of(level: LogLevel) -> i32 {
    match level {
        // <generated: numbers>
        LogLevel::Error => AGENT_LOG_ERROR,
        LogLevel::Warn => AGENT_LOG_WARN,
        LogLevel::Info => AGENT_LOG_INFO,
        LogLevel::Debug => AGENT_LOG_DEBUG,
        // </generated>
    }
}

/// A level as a word.
#[cfg_attr(exports, unsafe(no_mangle))]
pub extern "C" fn agent_log_level_name(level: i32) -> *const c_char {
    let word = match level {
        // <generated: words>
        AGENT_LOG_ERROR => c"error",
        AGENT_LOG_WARN => c"warn",
        AGENT_LOG_INFO => c"info",
        AGENT_LOG_DEBUG => c"debug",
        // </generated>
        _ => return std::ptr::null(),
    };
    word.as_ptr()
}

fn level_of(number: i32) -> Result<LogLevel, Error> {
    let found = LogLevel::ALL.iter().copied().find(|level| number_of(*level) == number);
    found.ok_or_else(|| Error::invalid_argument(format!("level: there is no level {number}; use a constant AGENT_LOG_...")))
}

/// A record, and what C has borrowed from it.
pub struct agent_log_record_t {
    record: LogRecord,
    code: OnceLock<Text>,
    message: OnceLock<Text>,
    json: OnceLock<Text>,
}

/// Receives records. A record is borrowed until it returns.
pub type agent_log_fn_t = Option<unsafe extern "C" fn(userdata: *mut c_void, record: *const agent_log_record_t)>;

/// Sets or removes the function that receives a runtime's log records.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_runtime_set_log(
    runtime: *mut agent_runtime_t,
    level: i32,
    function: agent_log_fn_t,
    userdata: *mut c_void,
    destroy: agent_destroy_fn_t,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    let callback = Callback::new(function, userdata, destroy);
    // SAFETY: a runtime or NULL, and an error to write or NULL.
    unsafe {
        guard(error, || {
            let runtime = &borrow(runtime, "runtime")?.runtime;
            let Some(callback) = callback.optional() else {
                runtime.set_log(LogLevel::Debug, None);
                return Ok(AGENT_OK);
            };
            let level = level_of(level)?;
            let log = move |record: LogRecord| {
                let (code, message, json) = (OnceLock::new(), OnceLock::new(), OnceLock::new());
                let record = agent_log_record_t { record, code, message, json };
                // Function and userdata were given together, and the record outlives the call.
                (callback.function)(callback.userdata(), &raw const record);
            };
            runtime.set_log(level, Some(Arc::new(log)));
            Ok(AGENT_OK)
        })
    }
}

/// The record's level.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_log_record_level(record: *const agent_log_record_t) -> i32 {
    // SAFETY: a record or NULL.
    guard::read(0, || Some(number_of(unsafe { record.as_ref() }?.record.level())))
}

/// The word for what it is about.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_log_record_code(record: *const agent_log_record_t, length: *mut usize) -> *const c_char {
    // SAFETY: a record or NULL, and a length to write or NULL.
    unsafe {
        borrowed(length, || {
            let record = record.as_ref()?;
            Some(record.code.get_or_init(|| Text::new(record.record.code())))
        })
    }
}

/// What has happened, in one line.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_log_record_message(record: *const agent_log_record_t, length: *mut usize) -> *const c_char {
    // SAFETY: a record or NULL, and a length to write or NULL.
    unsafe {
        borrowed(length, || {
            let record = record.as_ref()?;
            Some(record.message.get_or_init(|| Text::new(record.record.message())))
        })
    }
}

/// The record as JSON.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_log_record_json(record: *const agent_log_record_t, length: *mut usize) -> *const c_char {
    // SAFETY: a record or NULL, and a length to write or NULL.
    unsafe {
        borrowed(length, || {
            let record = record.as_ref()?;
            Some(record.json.get_or_init(|| Text::json(&record.record)))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn found_c7_each_level_has_its_number_and_word() {
        for level in LogLevel::ALL {
            let number = number_of(*level);
            assert_eq!(level_of(number).ok(), Some(*level));
            // SAFETY: a static text.
            let word = unsafe { std::ffi::CStr::from_ptr(agent_log_level_name(number)) };
            assert_eq!(word.to_str(), Ok(level.as_str()));
        }
        assert!(level_of(0).is_err() && level_of(5).is_err() && agent_log_level_name(0).is_null());
    }
}
