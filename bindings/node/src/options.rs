//! The names of options.

use agent_loop::host::Spelling;
use agent_loop::{Completion, Context};
use napi_derive::napi;

use crate::error::{Result, thrown};

/// The names of all options, for the test that gives each of them.
#[napi(catch_unwind)]
pub fn option_names() -> Vec<String> {
    agent_loop::host::table::options::names().map(|name| Spelling::Camel.spell(name)).collect()
}

/// Refuses options that one model call has no use for.
#[napi(catch_unwind)]
pub fn check_call_options(names: Vec<String>) -> Result<()> {
    Completion::check_options(names.iter().map(String::as_str), Spelling::Camel).map_err(|e| thrown(&e))
}

/// Refuses a field that the context of a stateless run does not have.
#[napi(catch_unwind)]
pub fn check_context_fields(names: Vec<String>) -> Result<()> {
    Context::check_fields(names.iter().map(String::as_str), Spelling::Camel).map_err(|e| thrown(&e))
}
