//! Agents as programs: a [spec](AgentSpec) becomes a command with flags, a chat, sessions and exit codes.
//!
//! An author of an agent writes its prompt and its tools. [`agent_main`] does the rest, and is all that the program `agent` is.
//!
//! ```no_run
//! use std::process::ExitCode;
//!
//! use agent_loop::FnTool;
//! use agent_loop_program::{AgentSpec, agent_main};
//! use serde_json::json;
//!
//! fn main() -> ExitCode {
//!     let schema = json!({ "type": "object", "properties": { "city": { "type": "string" } }, "required": ["city"] });
//!     let weather = FnTool::new("weather", "The weather in a city.", schema, |arguments, _| async move {
//!         Ok::<_, String>(json!(format!("rain in {}", arguments["city"])))
//!     });
//!     let spec = AgentSpec::new("forecast").system_prompt("You forecast the weather.").tool(weather.unwrap());
//!     agent_main(spec)
//! }
//! ```
//!
//! - `spec`: what an agent is; `spec_file`: the same in a file, `agent.toml`
//! - `arguments`: the command line; `command_flags`: which command has which flag; `settings`: what they make of the spec;
//!   `models`: which model, and the list of them
//! - `chat`: a conversation in the terminal; `once`: one prompt; `show`: what is shown of a run; `interrupt`: Ctrl-C;
//!   `terminal`: how it is left; `approvals`: asking about calls; `exit`: what the program exits with, and `failure`: why;
//!   `ending`: what is reported of limits; `file`: files of the command line
//! - `places`, `history`: where conversations are kept; `verbose`: requests on standard error
//! - `acp`: the same for editors; `compaction`: summing up
//! - `auth`: keys and sign-ins; `sessions`, `transcript`, `replay`, `view`, `mcp`, `new`, `demo`: the commands of these names

#![deny(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing))]

/// Writes a line to standard error. Where it cannot be written, the work still goes on.
macro_rules! say {
    ($($text:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(std::io::stderr(), $($text)*);
    }};
}

mod acp;
mod advice;
mod approvals;
mod arguments;
mod auth;
mod chat;
mod command_flags;
mod compaction;
mod demo;
mod ending;
mod entry;
mod exit;
mod failure;
mod file;
mod history;
mod interrupt;
mod mcp;
mod models;
mod new;
mod once;
mod places;
mod replay;
mod sessions;
mod settings;
mod show;
mod spec;
mod spec_file;
mod terminal;
mod transcript;
mod verbose;
mod view;

pub use entry::{agent_main, agent_main_from, agent_main_on_thread};
pub use spec::AgentSpec;
