//! For tests of programs that use the library: whether a stream of events is one that the loop can emit.

use std::ffi::c_char;

use agent_loop::host::words;
use agent_loop::{Error, testing};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::error::{AGENT_OK, agent_error_t, agent_status_t};
use crate::guard::guard;
use crate::text;

/// Events in an array, or as a sequence of objects.
fn read(text: &str) -> Result<Vec<Value>, Error> {
    let wrong = |e: serde_json::Error| {
        text::nul_in_json(text, "events").unwrap_or_else(|| Error::invalid_argument(format!("events is not JSON: {}", words(&e))))
    };
    let mut values = Vec::new();
    for raw in serde_json::Deserializer::from_str(text).into_iter::<&RawValue>() {
        values.push(text::parse(raw.map_err(wrong)?.get(), "events")?);
    }
    Ok(match values.as_mut_slice() {
        [Value::Array(list)] => std::mem::take(list),
        _ => values,
    })
}

/// Checks the events of one run.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_check_events(
    events: *const c_char,
    length: usize,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: text or NULL, and an error to write or NULL.
    unsafe {
        guard(error, || {
            let text = text::required(events, length, "events")?;
            testing::check_events(&read(text)?)?;
            Ok(AGENT_OK)
        })
    }
}
