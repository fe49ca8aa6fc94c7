//! A model server of our own: plays scripted answers over HTTP/1.1 and remembers what it was asked.
//!
//! It is for tests and for the demo on machines without the real server. It knows nothing about models: an answer is a status,
//! headers and bytes, with control over how those bytes arrive (chunk by chunk, late, cut in the middle, never ending). Whether a
//! request was *right* is for the test to say, from [`Mock::requests`].
//!
//! ```
//! use agent_mock::{Answer, Frame, Mock, Script};
//! use serde_json::json;
//!
//! let mock = Mock::start(
//!     Script::new()
//!         .answer(Answer::json(json!({"error": {"message": "slow down"}})).status(429).header("retry-after", "1"))
//!         .answer(Answer::frames([Frame::data(json!({"choices": []})), Frame::data("[DONE]")])),
//! );
//! println!("{}/v1/chat/completions", mock.url());
//! assert!(mock.requests().is_empty());
//! ```
//!
//! The same as a file, for the program `agent-mock` and [`Script::load`]:
//!
//! ```json
//! {
//!   "answers": [
//!     { "status": 429, "headers": { "retry-after": "1" }, "body": { "json": { "error": { "message": "slow down" } } } },
//!     { "when": { "path": "/v1/messages", "user_messages": 1, "last": "tool_result", "tools": true },
//!       "body": { "file": "answer.sse" }, "chunk": "frame", "cut_after": 120 }
//!   ]
//! }
//! ```
//!
//! A request gets the first answer, in script order, whose `when` fits it and which is not used up: without `when` an answer is
//! given once, with `when` any number of times, with `times` that often. A request that no answer fits gets a 500 that says why.
//!
//! | part of an answer | what it does |
//! |---|---|
//! | `name` | how messages call it |
//! | `when` | `method`, `path`, `user_messages`, `last`, `tools`: all that are given must fit ([`When`]) |
//! | `times` | how often it is given |
//! | `status`, `headers` | 200 and a fitting `content-type` unless given |
//! | `body` | a string, or one of `{"text"}`, `{"json"}`, `{"file"}` (relative to the script), `{"frames"}` ([`Body`]) |
//! | `chunk` | `"whole"` (default), `"frame"` (an HTTP chunk per SSE frame) or a number of bytes |
//! | `cut_after` | after so many bytes of the body the connection is dropped |
//! | `delay_ms`, `frame_delay_ms` | wait before the head; between two chunks |
//! | `stall` | after what was sent, send nothing more and keep the connection |
//!
//! While a script runs, `GET /__requests` lists the requests so far and `DELETE /__requests` forgets them.

mod answer;
mod check;
mod error;
mod failure;
mod playback;
mod refusal;
mod request;
mod route;
mod script;
mod server;
mod speak;
mod speech;
mod when;
mod wire;

pub use answer::{Answer, Body, Chunk, Encoding, Frame};
pub use check::{Flavour, Strict, check};
pub use error::Error;
pub use failure::Failure;
pub use refusal::Refusal;
pub use request::Request;
pub use route::Format;
pub use script::Script;
pub use server::Mock;
pub use speech::{Speech, Stop, Tokens};
pub use when::{Last, When};
