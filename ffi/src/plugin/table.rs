//! The functions that a plugin gets: `agent_plugin_host_t` of `include/agent_plugin.h`, in its order. A test compares both.

use std::ffi::{c_char, c_void};

use agent_loop::{Error, ErrorKind};

use crate::AGENT_ABI_VERSION;
use crate::agent::agent_add_tool;
use crate::agent_version;
use crate::error::{agent_error_free, agent_error_json, agent_error_message, agent_error_status, agent_status_name};
use crate::error::{agent_error_t, agent_status_t};
use crate::guard::guard;
use crate::hook::{
    agent_hook_call_fail, agent_hook_call_free, agent_hook_call_input, agent_hook_call_is_cancelled,
    agent_hook_call_respond_json, agent_hook_call_sleep, agent_hook_name, agent_set_hook,
};
use crate::json::get::{
    agent_json_at, agent_json_count, agent_json_get, agent_json_get_bool, agent_json_get_integer, agent_json_get_number,
    agent_json_get_string, agent_json_key, agent_json_member, agent_json_type,
};
use crate::json::set::{
    agent_json_remove, agent_json_set, agent_json_set_bool, agent_json_set_integer, agent_json_set_json, agent_json_set_number,
    agent_json_set_string,
};
use crate::json::{agent_json_equals, agent_json_free, agent_json_parse, agent_json_text};
use crate::model::{
    agent_model_call_fail, agent_model_call_finish, agent_model_call_free, agent_model_call_is_cancelled, agent_model_call_push,
    agent_model_call_push_text, agent_model_call_request, agent_set_provider,
};
use crate::text;
use crate::text::{agent_text_data, agent_text_free};
use crate::tool::call::{
    agent_tool_call_arguments, agent_tool_call_fail, agent_tool_call_free, agent_tool_call_get_bool, agent_tool_call_get_number,
    agent_tool_call_get_string, agent_tool_call_id, agent_tool_call_idempotency_key, agent_tool_call_is_cancelled,
    agent_tool_call_name, agent_tool_call_respond, agent_tool_call_respond_json, agent_tool_call_sleep, agent_tool_call_suspend,
    agent_tool_call_update, agent_tool_call_update_json,
};
use crate::tool::middleware::{agent_add_middleware, agent_tool_call_next};
use crate::tool::{
    agent_tool_free, agent_tool_new, agent_tool_set_json, agent_tool_set_needs_approval, agent_tool_set_prepare_arguments,
};

/// The table. Its functions are called by plugins alone, with the types that the header has, so that here they have none.
#[repr(C)]
pub(super) struct Host {
    abi_version: u32,
    size: u32,
    functions: Functions,
}

// SAFETY: it is never changed, and its functions may be called on any thread.
unsafe impl Sync for Host {}

impl Host {
    /// As a plugin has it.
    pub(super) const SIZE: u32 = size_of::<Host>() as u32;
}

macro_rules! functions {
    ($($function:ident)+) => {
        type Functions = [*const c_void; [$(stringify!($function)),+].len()];

        /// What all plugins get.
        pub(super) static HOST: Host = Host {
            abi_version: AGENT_ABI_VERSION,
            size: Host::SIZE,
            functions: [$($function as *const c_void),+],
        };
    };
}

// New functions come at the end.
functions! {
    plugin_fail
    agent_version
    agent_status_name
    agent_hook_name
    agent_error_status
    agent_error_message
    agent_error_json
    agent_error_free
    agent_text_data
    agent_text_free
    agent_json_parse
    agent_json_type
    agent_json_get
    agent_json_get_string
    agent_json_get_number
    agent_json_get_integer
    agent_json_get_bool
    agent_json_count
    agent_json_at
    agent_json_key
    agent_json_member
    agent_json_equals
    agent_json_text
    agent_json_set
    agent_json_set_json
    agent_json_set_string
    agent_json_set_number
    agent_json_set_integer
    agent_json_set_bool
    agent_json_remove
    agent_json_free
    agent_tool_new
    agent_tool_set_json
    agent_tool_set_prepare_arguments
    agent_tool_set_needs_approval
    agent_tool_free
    agent_add_tool
    agent_add_middleware
    agent_set_hook
    agent_set_provider
    agent_tool_call_id
    agent_tool_call_name
    agent_tool_call_idempotency_key
    agent_tool_call_arguments
    agent_tool_call_get_string
    agent_tool_call_get_number
    agent_tool_call_get_bool
    agent_tool_call_is_cancelled
    agent_tool_call_sleep
    agent_tool_call_update
    agent_tool_call_update_json
    agent_tool_call_respond
    agent_tool_call_respond_json
    agent_tool_call_suspend
    agent_tool_call_fail
    agent_tool_call_next
    agent_tool_call_free
    agent_hook_call_input
    agent_hook_call_is_cancelled
    agent_hook_call_sleep
    agent_hook_call_respond_json
    agent_hook_call_fail
    agent_hook_call_free
    agent_model_call_request
    agent_model_call_is_cancelled
    agent_model_call_push
    agent_model_call_push_text
    agent_model_call_finish
    agent_model_call_fail
    agent_model_call_free
}

/// Makes an error that `agent_plugin_register` fails with.
unsafe extern "C" fn plugin_fail(message: *const c_char, length: usize, error: *mut *mut agent_error_t) -> agent_status_t {
    // SAFETY: text or NULL, and an error to write or NULL.
    unsafe { guard(error, || Err(Error::new(ErrorKind::Callback, text::required(message, length, "message")?))) }
}
