//! A run's result.

use std::ffi::{CStr, c_char};
use std::sync::OnceLock;

use agent_loop::{Outcome, RunResult};

use super::agent_run_t;
use crate::error::agent_error_t;
use crate::guard;
use crate::message::agent_messages_t;
use crate::text::{Text, borrowed};
use crate::usage;

/// It has not ended.
pub const AGENT_OUTCOME_NONE: i32 = 0;
// <generated: constants>
/// The run was aborted: by a call of abort, by what else cancels it in the language, or by the end of its runtime.
pub const AGENT_OUTCOME_ABORTED: i32 = 4;
/// The model failed, a hook outside of tool calls failed, or `run_timeout_ms` elapsed.
pub const AGENT_OUTCOME_ERROR: i32 = 5;
/// Tool calls wait for a decision.
pub const AGENT_OUTCOME_SUSPENDED: i32 = 6;
/// `should_stop_after_turn`, `max_repeated_calls`, or results with `terminate` and no queued message ended it.
pub const AGENT_OUTCOME_STOPPED: i32 = 2;
/// A limit such as `max_cost` was used up, and tool results or queued messages were left.
pub const AGENT_OUTCOME_BUDGET: i32 = 7;
/// The last allowed turn left tool results or queued messages.
pub const AGENT_OUTCOME_MAX_TURNS: i32 = 3;
/// No work was left.
pub const AGENT_OUTCOME_COMPLETED: i32 = 1;
// </generated>

/// The number of an outcome.
pub(crate) fn outcome_of(outcome: Outcome) -> i32 {
    match outcome {
        // <generated: numbers>
        Outcome::Aborted => AGENT_OUTCOME_ABORTED,
        Outcome::Error => AGENT_OUTCOME_ERROR,
        Outcome::Suspended => AGENT_OUTCOME_SUSPENDED,
        Outcome::Stopped => AGENT_OUTCOME_STOPPED,
        Outcome::Budget => AGENT_OUTCOME_BUDGET,
        Outcome::MaxTurns => AGENT_OUTCOME_MAX_TURNS,
        Outcome::Completed => AGENT_OUTCOME_COMPLETED,
        // </generated>
    }
}

fn word(outcome: i32) -> Option<&'static CStr> {
    Some(match outcome {
        // <generated: words>
        AGENT_OUTCOME_ABORTED => c"aborted",
        AGENT_OUTCOME_ERROR => c"error",
        AGENT_OUTCOME_SUSPENDED => c"suspended",
        AGENT_OUTCOME_STOPPED => c"stopped",
        AGENT_OUTCOME_BUDGET => c"budget",
        AGENT_OUTCOME_MAX_TURNS => c"max_turns",
        AGENT_OUTCOME_COMPLETED => c"completed",
        // </generated>
        _ => return None,
    })
}

/// A run's result as C borrows it.
pub(crate) struct BorrowedResult {
    text: Text,
    stop_reason: Option<Text>,
    messages: agent_messages_t,
    error: Option<agent_error_t>,
    output: OnceLock<Option<Text>>,
    json: OnceLock<Text>,
}

impl BorrowedResult {
    pub(crate) fn new(result: &RunResult) -> BorrowedResult {
        BorrowedResult {
            text: Text::new(&*result.text),
            stop_reason: result.stop_reason.map(|reason| Text::new(reason.as_str())),
            messages: agent_messages_t::new(result.messages.iter().cloned()),
            error: result.error.clone().map(agent_error_t::new),
            output: OnceLock::new(),
            json: OnceLock::new(),
        }
    }
}

/// Why the run ended.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_run_outcome(run: *const agent_run_t) -> i32 {
    // SAFETY: a run or NULL.
    guard::read(AGENT_OUTCOME_NONE, || Some(outcome_of(unsafe { run.as_ref() }?.result()?.outcome)))
}

/// The outcome as a word.
#[cfg_attr(exports, unsafe(no_mangle))]
pub extern "C" fn agent_outcome_name(outcome: i32) -> *const c_char {
    word(outcome).map_or(std::ptr::null(), CStr::as_ptr)
}

/// The text of the last assistant message.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_run_text(run: *const agent_run_t, length: *mut usize) -> *const c_char {
    // SAFETY: a run or NULL, and a length to write or NULL.
    unsafe { borrowed(length, || Some(&run.as_ref()?.borrowed_result()?.text)) }
}

/// Why the model stopped.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_run_stop_reason(run: *const agent_run_t, length: *mut usize) -> *const c_char {
    // SAFETY: a run or NULL, and a length to write or NULL.
    unsafe { borrowed(length, || run.as_ref()?.borrowed_result()?.stop_reason.as_ref()) }
}

/// The typed final answer in JSON.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_run_output(run: *const agent_run_t, length: *mut usize) -> *const c_char {
    // SAFETY: a run or NULL, and a length to write or NULL.
    unsafe {
        borrowed(length, || {
            let run = run.as_ref()?;
            let (borrowed_result, result) = (run.borrowed_result()?, run.result()?);
            borrowed_result.output.get_or_init(|| result.output.as_ref().map(Text::json)).as_ref()
        })
    }
}

/// The tokens of all model calls.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_run_usage(run: *const agent_run_t, which: i32) -> u64 {
    // SAFETY: a run or NULL.
    guard::read(0, || usage::count(&unsafe { run.as_ref() }?.result()?.usage, which))
}

/// What they cost.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_run_cost(run: *const agent_run_t, which: i32, dollars: *mut f64) -> bool {
    // SAFETY: a run or NULL, and a number to write or NULL.
    unsafe { usage::write_cost(dollars, || usage::cost(&run.as_ref()?.result()?.usage, which)) }
}

/// How many turns began.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_run_turns(run: *const agent_run_t) -> u32 {
    // SAFETY: a run or NULL.
    guard::read(0, || Some(unsafe { run.as_ref() }?.result()?.turns))
}

/// The messages that the run appended.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_run_messages(run: *const agent_run_t) -> *const agent_messages_t {
    // SAFETY: a run or NULL.
    guard::read(std::ptr::null(), || Some(&raw const unsafe { run.as_ref() }?.borrowed_result()?.messages))
}

/// Why it failed.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_run_error(run: *const agent_run_t) -> *const agent_error_t {
    // SAFETY: a run or NULL.
    guard::read(std::ptr::null(), || Some(std::ptr::from_ref(unsafe { run.as_ref() }?.borrowed_result()?.error.as_ref()?)))
}

/// The whole result as JSON.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_run_json(run: *const agent_run_t, length: *mut usize) -> *const c_char {
    // SAFETY: a run or NULL, and a length to write or NULL.
    unsafe {
        borrowed(length, || {
            let run = run.as_ref()?;
            let (borrowed_result, result) = (run.borrowed_result()?, run.result()?);
            Some(borrowed_result.json.get_or_init(|| Text::json(result)))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_are_cores() {
        for &outcome in Outcome::ALL {
            assert_eq!(word(outcome_of(outcome)).and_then(|word| word.to_str().ok()), Some(outcome.as_str()));
        }
        assert_eq!(word(AGENT_OUTCOME_NONE), None);
    }
}
