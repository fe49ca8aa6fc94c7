//! Checks streams of events, and names the recordings of tests.

use napi_derive::napi;
use serde_json::Value;

use crate::error::{Result, invalid_argument, thrown};
use crate::message;

/// Fails if the events, a JSON array, are not a valid stream of a run.
#[napi(catch_unwind)]
pub fn check_events(events: String) -> Result<()> {
    match message::read("events", &events).map_err(|e| thrown(&e))? {
        Value::Array(events) => agent_loop::testing::check_events(&events).map_err(|e| thrown(&e)),
        other => Err(invalid_argument(format!("events: expected a list of events, got {}", agent_loop::host::shown(&other)))),
    }
}

/// The name of the file with the recording of a test.
#[napi(catch_unwind)]
pub fn test_file_name(module: String, test: String) -> String {
    agent_loop::host::test_file_name(&module, &test)
}
