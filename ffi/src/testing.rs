//! For tests of one's own: whether a stream of events is one that the loop can give.

use std::ffi::c_char;

use agent_loop::{Error, testing};
use serde_json::Value;

use crate::error::{AGENT_OK, agent_error_t, agent_status_t};
use crate::guard::guard;
use crate::text;

/// Checks the events of one run.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agent_check_events(
    events: *const c_char,
    length: usize,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: text or NULL, and an error to write or NULL.
    unsafe {
        guard(error, || {
            let text = text::required(events, length, "events")?;
            let mut values = serde_json::Deserializer::from_str(text).into_iter().collect::<Result<Vec<Value>, _>>();
            if let Ok([Value::Array(list)]) = values.as_deref_mut() {
                values = Ok(std::mem::take(list));
            }
            let values = values.map_err(|e| Error::invalid_argument(format!("events is not JSON: {e}")))?;
            testing::check_events(&values)?;
            Ok(AGENT_OK)
        })
    }
}
