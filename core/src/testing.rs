//! For tests: models that play a script, and a check of events.
//!
//! # Scripts
//!
//! The provider `scripted` answers from a script, without a server and without a key, in virtual time: waits, backoffs and
//! the `sleep` of tools and hooks ([`ToolContext::sleep`](crate::tool::ToolContext::sleep)) take no real time. While a tool waits
//! in another way, this time stands still, so that no limit ends it. A timer given to
//! [`abort_on`](crate::PendingRun::abort_on) counts real time.
//!
//! ```
//! use agent_loop::{Agent, FnTool, ModelSpec};
//! use serde_json::json;
//!
//! #[tokio::main(flavor = "current_thread")]
//! async fn main() -> Result<(), agent_loop::Error> {
//!     let model = ModelSpec::from_json(json!({ "provider": "scripted", "id": "weather", "script": [
//!         // The first model call.
//!         [
//!             { "delta": "Let me " }, { "wait_ms": 500 }, { "delta": "see." },
//!             { "delta": { "tool_call": { "id": "call_1", "name": "weather", "arguments": { "city": "Oslo" } } } },
//!             { "end": "tool_use" },
//!         ],
//!         // The second one fails, and is retried.
//!         [{ "error": { "kind": "overloaded", "message": "try again later", "retryable": true } }],
//!         [{ "delta": "It rains." }, { "end": { "stop_reason": "stop", "usage": { "input": 20, "output": 3, "total": 23 } } }],
//!     ] }))?;
//!     let parameters = json!({ "type": "object", "properties": { "city": { "type": "string" } } });
//!     let weather = FnTool::new("weather", "The weather in a city.", parameters, |_, _| async {
//!         Ok::<_, String>(json!("rain"))
//!     })?;
//!     let result = Agent::builder(model).tool(weather).build()?.prompt("Rain in Oslo?").await?;
//!     assert_eq!((result.text.as_str(), result.turns, result.usage.total), ("It rains.", 2, 23));
//!     Ok(())
//! }
//! ```
//!
//! [`ModelSpec::script`](crate::ModelSpec::script) is a list of answers, one for each model call (a retry is another call); an
//! answer is a list of steps. A call without an answer left fails with an error of kind `provider`.
//!
//! | step | what it does |
//! | --- | --- |
//! | `{"delta": chunk}` | a part of the answer, see below |
//! | `{"wait_ms": 500}` | the model is silent, in virtual time |
//! | `{"usage": {"input", "output", "cache_read", …}}` | the tokens used so far; what is left out is 0 |
//! | `{"diagnostic": {"code", "message", "data"}}` | a `diagnostic` event; `message` and `data` may be left out |
//! | `{"error": {"kind", "message", "retryable", …}}` | the call fails; only `kind` and `message` are needed |
//! | `{"end": …}` | the answer is complete; without it the stream counts as cut off (`stream_truncated`) |
//!
//! The forms of `end`, of which `stop_reason` is one of `stop`, `length`, `tool_use` and `refusal`:
//!
//! - `{"end": {}}`: as the answer is, `tool_use` if it has a tool call, else `stop`;
//! - `{"end": "length"}`: this stop reason;
//! - `{"end": {"stop_reason": "stop", "usage": {…}, "raw_stop_reason": "end_turn", "response_id": "r1"}}`: all may be left out,
//!   and `response_model`, too.
//!
//! A chunk is a text, `{"text": "…"}`, `{"thinking": "…"}` or `{"tool_call": {"id", "name", "arguments"}}` (`arguments` as an
//! object, or as text that may be broken on purpose). Blocks in parts are written as in events: `{"type": "tool_call_start",
//! "id", "name"}`, then `{"type": "tool_call_delta", "delta": "…"}`, then `{"type": "tool_call_end"}`; the same with `text_…` and
//! `thinking_…`, and with `content_index` where blocks interleave. Custom providers push the same chunks
//! ([`ModelCall::push`](crate::model::ModelCall::push)).
//!
//! A script that cannot be read is an error of [`AgentBuilder::build`](crate::AgentBuilder::build), which says which step of
//! which answer is wrong.
//!
//! # Events
//!
//! [`check_events`] says whether events are such as a run can emit: for tests of custom providers and of user interfaces.
//!
//! ```
//! use agent_loop::testing::check_events;
//! use serde_json::json;
//!
//! let events = [json!({ "type": "agent_start", "run_id": "r", "seq": 0, "turn": 0 })];
//! let error = check_events(&events).unwrap_err();
//! assert_eq!(error.message(), "events: the last event must be agent_end");
//! ```

pub use agent_loop_proto::script::{Script, Step};
pub use agent_loop_proto::testing::check_events;
