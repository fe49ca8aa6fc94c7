//! Hooks that are C functions: each receives a call, which it answers now or later, from any thread.

use std::ffi::{c_char, c_void};

use agent_loop::hook::HookKind;
use agent_loop::host::{HostAnswer, HostCall};
use agent_loop::{Error, ErrorKind};

use crate::agent::agent_t;
use crate::error::{AGENT_OK, agent_error_t, agent_status_t};
use crate::guard::{self, guard};
use crate::handle::{Callback, agent_destroy_fn_t, borrow, host_function, take_back};
use crate::text::{self, Text, borrowed};

// <generated: constants>
/// Before each model call: may replace the messages that the model reads, for this call only.
pub const AGENT_HOOK_TRANSFORM_CONTEXT: i32 = 1;
/// Before each model call, after `transform_context`: converts all messages to the three standard roles. Without this hook,
/// messages of other roles are left out.
pub const AGENT_HOOK_CONVERT_TO_LLM: i32 = 2;
/// Before each model call: the API key for a provider, instead of the configured one, or a token, or headers.
pub const AGENT_HOOK_GET_API_KEY: i32 = 3;
/// Before a tool runs: may block the call, with a reason for the model, replace its arguments, which are validated again, or
/// suspend it until somebody decides.
pub const AGENT_HOOK_BEFORE_TOOL_CALL: i32 = 4;
/// After a tool ran, successfully or not: may replace parts of its result.
pub const AGENT_HOOK_AFTER_TOOL_CALL: i32 = 5;
/// After each turn that another may follow: may change context, model and thinking level for the rest of the run.
pub const AGENT_HOOK_PREPARE_NEXT_TURN: i32 = 6;
/// After each turn: whether the run ends here, with the outcome `stopped`.
pub const AGENT_HOOK_SHOULD_STOP_AFTER_TURN: i32 = 7;
/// With each poll of the steering queue: further steering messages.
pub const AGENT_HOOK_GET_STEERING_MESSAGES: i32 = 8;
/// With each poll of the follow-up queue: further follow-up messages.
pub const AGENT_HOOK_GET_FOLLOW_UP_MESSAGES: i32 = 9;
/// Before each model call: may replace the body of the request.
pub const AGENT_HOOK_ON_PAYLOAD: i32 = 10;
/// When the head of a response has arrived, for each attempt.
pub const AGENT_HOOK_ON_RESPONSE: i32 = 11;
/// When a model call fails, and when anything else ends the run with an error.
pub const AGENT_HOOK_ON_ERROR: i32 = 12;
/// Before a run, also before its `agent_start`.
pub const AGENT_HOOK_BEFORE_RUN: i32 = 13;
/// After a run's last event, before the agent is idle.
pub const AGENT_HOOK_AFTER_RUN: i32 = 14;
/// When `resume` finds a call without a result, of a tool whose `on_interrupted` is `ask`: whether the model reads that its
/// outcome is not known, it runs again, or it has a result. Without this hook: `report`.
pub const AGENT_HOOK_ON_INTERRUPTED_CALL: i32 = 15;
/// When a final answer fits the option `output`: may refuse it, with a text for the model, which may correct it.
pub const AGENT_HOOK_CHECK_OUTPUT: i32 = 16;
/// Before the request of each turn, the first one included: may change context, model and thinking level for this request. A
/// retry and a fallback keep what it has changed, but for the model.
pub const AGENT_HOOK_PREPARE_REQUEST: i32 = 17;
/// When a server of MCP asks, during one of its calls, for an answer of a model (sampling): may give one. Without this hook, the
/// capability is not announced to servers.
pub const AGENT_HOOK_ON_MCP_SAMPLING: i32 = 18;
/// When a server of MCP asks, during one of its calls, for what the user knows (elicitation): may give it. Without this hook, the
/// capability is not announced to servers.
pub const AGENT_HOOK_ON_MCP_ELICITATION: i32 = 19;
/// When a server of MCP with the field `oauth` wants a sign-in: shows the user the address, in a browser for example.
pub const AGENT_HOOK_ON_MCP_SIGN_IN: i32 = 20;
/// When a call needs approval, as its tool or the option `gate` says, before it waits: may decide at once. Without an answer, the
/// call waits.
pub const AGENT_HOOK_ON_APPROVAL: i32 = 21;
// </generated>

/// The number of a hook.
fn number_of(kind: HookKind) -> i32 {
    match kind {
        // <generated: numbers>
        HookKind::TransformContext => AGENT_HOOK_TRANSFORM_CONTEXT,
        HookKind::ConvertToLlm => AGENT_HOOK_CONVERT_TO_LLM,
        HookKind::GetApiKey => AGENT_HOOK_GET_API_KEY,
        HookKind::BeforeToolCall => AGENT_HOOK_BEFORE_TOOL_CALL,
        HookKind::AfterToolCall => AGENT_HOOK_AFTER_TOOL_CALL,
        HookKind::PrepareNextTurn => AGENT_HOOK_PREPARE_NEXT_TURN,
        HookKind::ShouldStopAfterTurn => AGENT_HOOK_SHOULD_STOP_AFTER_TURN,
        HookKind::GetSteeringMessages => AGENT_HOOK_GET_STEERING_MESSAGES,
        HookKind::GetFollowUpMessages => AGENT_HOOK_GET_FOLLOW_UP_MESSAGES,
        HookKind::OnPayload => AGENT_HOOK_ON_PAYLOAD,
        HookKind::OnResponse => AGENT_HOOK_ON_RESPONSE,
        HookKind::OnError => AGENT_HOOK_ON_ERROR,
        HookKind::BeforeRun => AGENT_HOOK_BEFORE_RUN,
        HookKind::AfterRun => AGENT_HOOK_AFTER_RUN,
        HookKind::OnInterruptedCall => AGENT_HOOK_ON_INTERRUPTED_CALL,
        HookKind::CheckOutput => AGENT_HOOK_CHECK_OUTPUT,
        HookKind::PrepareRequest => AGENT_HOOK_PREPARE_REQUEST,
        HookKind::OnMcpSampling => AGENT_HOOK_ON_MCP_SAMPLING,
        HookKind::OnMcpElicitation => AGENT_HOOK_ON_MCP_ELICITATION,
        HookKind::OnMcpSignIn => AGENT_HOOK_ON_MCP_SIGN_IN,
        HookKind::OnApproval => AGENT_HOOK_ON_APPROVAL,
        // </generated>
    }
}

/// A hook as a word.
#[cfg_attr(exports, unsafe(no_mangle))]
pub extern "C" fn agent_hook_name(hook: i32) -> *const c_char {
    let word = match hook {
        // <generated: words>
        AGENT_HOOK_TRANSFORM_CONTEXT => c"transform_context",
        AGENT_HOOK_CONVERT_TO_LLM => c"convert_to_llm",
        AGENT_HOOK_GET_API_KEY => c"get_api_key",
        AGENT_HOOK_BEFORE_TOOL_CALL => c"before_tool_call",
        AGENT_HOOK_AFTER_TOOL_CALL => c"after_tool_call",
        AGENT_HOOK_PREPARE_NEXT_TURN => c"prepare_next_turn",
        AGENT_HOOK_SHOULD_STOP_AFTER_TURN => c"should_stop_after_turn",
        AGENT_HOOK_GET_STEERING_MESSAGES => c"get_steering_messages",
        AGENT_HOOK_GET_FOLLOW_UP_MESSAGES => c"get_follow_up_messages",
        AGENT_HOOK_ON_PAYLOAD => c"on_payload",
        AGENT_HOOK_ON_RESPONSE => c"on_response",
        AGENT_HOOK_ON_ERROR => c"on_error",
        AGENT_HOOK_BEFORE_RUN => c"before_run",
        AGENT_HOOK_AFTER_RUN => c"after_run",
        AGENT_HOOK_ON_INTERRUPTED_CALL => c"on_interrupted_call",
        AGENT_HOOK_CHECK_OUTPUT => c"check_output",
        AGENT_HOOK_PREPARE_REQUEST => c"prepare_request",
        AGENT_HOOK_ON_MCP_SAMPLING => c"on_mcp_sampling",
        AGENT_HOOK_ON_MCP_ELICITATION => c"on_mcp_elicitation",
        AGENT_HOOK_ON_MCP_SIGN_IN => c"on_mcp_sign_in",
        AGENT_HOOK_ON_APPROVAL => c"on_approval",
        // </generated>
        _ => return std::ptr::null(),
    };
    word.as_ptr()
}

fn kind_of(number: i32) -> Result<HookKind, Error> {
    let found = HookKind::ALL.iter().copied().find(|kind| number_of(*kind) == number);
    found.ok_or_else(|| Error::invalid_argument(format!("hook: there is no hook {number}; use a constant AGENT_HOOK_...")))
}

/// A hook's function. It owns the call.
pub type agent_hook_fn_t = Option<unsafe extern "C" fn(userdata: *mut c_void, call: *mut agent_hook_call_t)>;

/// One call of a hook.
pub struct agent_hook_call_t {
    input: Text,
    call: HostCall,
}

impl agent_hook_call_t {
    /// A call of a hook, or of a tool's `prepare_arguments`.
    pub(crate) fn new(call: HostCall) -> agent_hook_call_t {
        let input = call.take_input().map_or_else(|| Text::json(&call.arguments()), |input| Text::new(input.to_json()));
        agent_hook_call_t { input, call }
    }
}

/// Sets or removes a hook.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_set_hook(
    agent: *mut agent_t,
    hook: i32,
    function: agent_hook_fn_t,
    userdata: *mut c_void,
    destroy: agent_destroy_fn_t,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    let callback = Callback::new(function, userdata, destroy);
    // SAFETY: an agent or NULL, and an error to write or NULL.
    unsafe {
        guard(error, || {
            let agent = &borrow(agent, "agent")?.agent;
            let kind = kind_of(hook)?;
            let function = callback.optional().map(|callback| host_function(callback, agent_hook_call_t::new));
            agent.set_host_hook(kind, function);
            Ok(AGENT_OK)
        })
    }
}

/// The input of the hook.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_hook_call_input(call: *const agent_hook_call_t, length: *mut usize) -> *const c_char {
    // SAFETY: a call or NULL, and a length to write or NULL.
    unsafe { borrowed(length, || Some(&call.as_ref()?.input)) }
}

/// Whether the call is cancelled.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_hook_call_is_cancelled(call: *const agent_hook_call_t) -> bool {
    // SAFETY: a call or NULL.
    guard::read(false, || Some(unsafe { call.as_ref() }?.call.is_cancelled()))
}

/// Blocks for a time of the run's clock.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_hook_call_sleep(
    call: *const agent_hook_call_t,
    ms: u64,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: a call or NULL, and an error to write or NULL.
    unsafe {
        guard(error, || {
            if borrow(call, "call")?.call.sleep_blocking(ms) {
                return Ok(AGENT_OK);
            }
            Err(Error::new(ErrorKind::Aborted, "the hook call was cancelled: its run was aborted"))
        })
    }
}

/// Answers with JSON.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_hook_call_respond_json(
    call: *mut agent_hook_call_t,
    json: *const c_char,
    length: usize,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: a call or NULL, text or NULL, and an error to write or NULL.
    unsafe {
        guard(error, || {
            let call = borrow(call, "call")?;
            call.call.respond(HostAnswer::Json(text::json(json, length, "json")?))?;
            Ok(AGENT_OK)
        })
    }
}

/// Answers with a failure.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_hook_call_fail(
    call: *mut agent_hook_call_t,
    message: *const c_char,
    length: usize,
    error: *mut *mut agent_error_t,
) -> agent_status_t {
    // SAFETY: a call or NULL, text or NULL, and an error to write or NULL.
    unsafe {
        guard(error, || {
            let call = borrow(call, "call")?;
            call.call.fail(text::required(message, length, "message")?)?;
            Ok(AGENT_OK)
        })
    }
}

/// Releases a call; an unanswered one fails.
#[cfg_attr(exports, unsafe(no_mangle))]
pub unsafe extern "C" fn agent_hook_call_free(call: *mut agent_hook_call_t) {
    // SAFETY: ours, and not used again.
    guard::release(|| drop(unsafe { take_back(call) }));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_hook_has_a_distinct_number() {
        let numbers: Vec<i32> = HookKind::ALL.iter().map(|kind| number_of(*kind)).collect();
        assert_eq!(numbers, (1..=HookKind::ALL.len() as i32).collect::<Vec<_>>());
        for kind in HookKind::ALL {
            assert_eq!(kind_of(number_of(*kind)).ok(), Some(*kind));
            // SAFETY: a static text.
            let word = unsafe { std::ffi::CStr::from_ptr(agent_hook_name(number_of(*kind))) };
            assert_eq!(word.to_str(), Ok(kind.as_str()));
        }
        assert!(kind_of(0).is_err() && agent_hook_name(0).is_null());
    }
}
