//! libagent: the agent loop for C. `include/agent.h` documents what each function promises; this crate implements it.
//!
//! A function is short: guard, borrow, call core, hand out. [`guard`] turns errors and panics into a status and an error
//! handle, [`handle`] contains all pointer work with handles and callbacks, [`text`] all pointer work with text. Each noun of
//! the header has a module. Types and constants have their C names, so that one search finds both sides.

#![allow(non_camel_case_types)] // the names of agent.h
#![allow(clippy::missing_safety_doc)] // one contract for all pointers: agent.h, under OWNERSHIP, THREADS and TEXT

pub mod agent;
mod block_on;
#[cfg(feature = "transcripts")]
pub mod conversion;
pub mod error;
pub mod event;
mod guard;
pub mod handle;
pub mod hook;
pub mod host_loop;
pub mod json;
pub mod log;
pub mod message;
pub mod model;
#[cfg(feature = "plugins")]
pub mod plugin;
mod readable_fd;
pub mod repair;
pub mod run;
pub mod runtime;
#[cfg(feature = "store")]
pub mod session;
mod stack;
pub mod stateless_run;
#[cfg(feature = "store")]
pub mod store;
#[cfg(feature = "testing")]
pub mod testing;
pub mod text;
pub mod tool;
#[cfg(feature = "ui")]
pub mod ui;
pub mod usage;

#[cfg(feature = "plugins")]
pub use plugin::add;

use std::ffi::c_char;

/// The ABI that a program and the library it loads must share.
pub const AGENT_ABI_VERSION: u32 = 0;

/// The library's version.
#[cfg_attr(exports, unsafe(no_mangle))]
pub extern "C" fn agent_version() -> *const c_char {
    const { text::with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0")) }.as_ptr()
}

/// The library's ABI.
#[cfg_attr(exports, unsafe(no_mangle))]
pub extern "C" fn agent_abi_version() -> u32 {
    AGENT_ABI_VERSION
}

/// The header's statements about threads hold for every handle.
const _: () = {
    const fn any_thread<T: Send + Sync>() {}
    any_thread::<error::agent_error_t>();
    any_thread::<text::agent_text_t>();
    any_thread::<json::agent_json_t>();
    any_thread::<runtime::agent_runtime_t>();
    any_thread::<tool::agent_tool_t>();
    any_thread::<tool::call::agent_tool_call_t>();
    any_thread::<agent::agent_t>();
    any_thread::<message::agent_messages_t>();
    any_thread::<run::agent_run_t>();
    any_thread::<event::agent_event_t>();
    any_thread::<hook::agent_hook_call_t>();
    any_thread::<model::agent_model_call_t>();
    any_thread::<host_loop::agent_loop_t>();
};

/// The same of what browsers get.
#[cfg(feature = "ui")]
const _: () = {
    const fn any_thread<T: Send + Sync>() {}
    any_thread::<ui::agent_ui_stream_t>();
    any_thread::<ui::agent_ui_request_t>();
};

/// The same of sessions.
#[cfg(feature = "store")]
const _: () = {
    const fn any_thread<T: Send + Sync>() {}
    any_thread::<store::agent_store_t>();
    any_thread::<store::call::agent_store_call_t>();
    any_thread::<session::agent_session_t>();
    any_thread::<session::open::agent_open_session_t>();
    any_thread::<session::follow::agent_follow_t>();
};
