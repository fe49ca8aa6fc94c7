//! A loop that JavaScript steps.

use agent_loop::host::{HostLoop, Spelling, workflow_step as core_step};
use napi::bindgen_prelude::Uint8Array;
use napi_derive::napi;
use serde_json::Value;

use crate::bridge::Bridge;
use crate::error::{Result, invalid_argument, thrown};
use crate::exchange::Exchange;
use crate::{camel_case, message};

/// A loop that JavaScript steps.
#[napi]
pub struct Loop(HostLoop);

#[napi]
impl Loop {
    /// Makes a loop of its options in JSON.
    #[napi(constructor, catch_unwind)]
    pub fn new(options: String) -> Result<Loop> {
        match message::read("options", &options).map_err(|e| thrown(&e))? {
            Value::Object(options) => HostLoop::new(options, Spelling::Camel).map(Loop).map_err(|e| thrown(&e)),
            _ => Err(invalid_argument("options: expected an object")),
        }
    }

    /// Loads a loop that was saved.
    #[napi(factory, catch_unwind)]
    pub fn load(text: String) -> Result<Loop> {
        HostLoop::load(&text).map(Loop).map_err(|e| thrown(&e))
    }

    /// Returns the next action as JSON, if there is one.
    #[napi(catch_unwind)]
    pub fn poll(&mut self, now_ms: f64) -> Option<String> {
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        // JavaScript has checked it; a value that is too large becomes the maximum.
        let now_ms = now_ms.ceil() as u64;
        self.0.poll(now_ms).map(|action| camel_case::to_json(&action))
    }

    /// Takes in an input in canonical JSON.
    #[napi(catch_unwind)]
    pub fn handle(&mut self, input: String) -> Result<()> {
        let input = message::read("input", &input).map_err(|e| thrown(&e))?;
        self.0.handle(&input, Spelling::Camel).map_err(|e| thrown(&e))
    }

    /// Takes in bytes of a response.
    #[napi(catch_unwind)]
    pub fn model_bytes(&mut self, call: u32, data: Uint8Array) -> Result<()> {
        self.0.model_bytes(call, &data).map_err(|e| thrown(&e))
    }

    /// The hook that a question is for, if it is open.
    #[napi(catch_unwind)]
    pub fn hook_of(&self, question_id: u32) -> Option<&'static str> {
        self.0.hook_of(question_id)
    }

    /// Returns what is under way, a JSON array.
    #[napi(catch_unwind)]
    pub fn open_actions(&self) -> String {
        camel_case::to_json(&self.0.open_actions())
    }

    /// Returns the HTTP of a model call over the engine's connections.
    #[napi(catch_unwind)]
    pub fn exchange(&self, bridge: &Bridge, call: u32, options: String) -> Result<Exchange> {
        Exchange::of(bridge, &self.0, call, &options)
    }

    /// Returns the state, for `load`.
    #[napi(catch_unwind)]
    pub fn save(&self) -> Result<String> {
        self.0.save().map_err(|e| thrown(&e))
    }

    /// Returns the conversation that the run has left.
    #[napi(catch_unwind)]
    pub fn export(&self) -> Result<String> {
        self.0.export().map_err(|e| thrown(&e))
    }
}

/// An operation on what a session has on a workflow engine; all in JSON.
#[napi(catch_unwind)]
pub fn workflow_step(operation: String, given: String, state: String) -> Result<String> {
    let read = |name, text: &str| message::read(name, text).map_err(|e| thrown(&e));
    let step = core_step(&operation, read("the argument", &given)?, &read("state", &state)?).map_err(|e| thrown(&e))?;
    Ok(serde_json::to_string(&step).unwrap_or_default())
}
