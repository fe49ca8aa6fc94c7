//! A model server for tests: speaks the wire formats of Anthropic, OpenAI (Chat Completions and Responses) and Gemini, is as
//! strict about requests as their services are, and fails in every way that they do.
//!
//! It knows nothing about models. A script says which answer a request gets; an answer is what a model says, a failure of the
//! service, or plain bytes, with control over how it arrives: piece by piece, late, cut, garbled, compressed, never ending. What
//! was asked is remembered ([`Mock::requests`]).
//!
//! ```
//! use agent_mock::{Answer, Failure, Format, Mock, Script, Speech};
//! use serde_json::json;
//!
//! let mock = Mock::start(
//!     Script::new()
//!         .strict()
//!         .answer(Answer::error(Failure::RateLimited))
//!         .answer(Answer::message(Speech::call("weather", json!({"city": "Oslo"}))))
//!         .answer(Answer::message(Speech::text("It rains."))),
//! );
//! println!("{}/v1/chat/completions", mock.url());
//! assert!(mock.requests().is_empty());
//!
//! // A test that cuts the call at 50 points of its stream:
//! let call = || Answer::message(Speech::call("weather", json!({"city": "Oslo"})));
//! let length = call().body_bytes(Format::Anthropic).unwrap().len();
//! for point in 0..50 {
//!     let script = Script::new().answer(call().cut_after(length * point / 50));
//! #   drop(script);
//! }
//! ```
//!
//! The same as a file, for the program `agent-mock` and [`Script::load`]:
//!
//! ```json
//! {
//!   "strict": true,
//!   "answers": [
//!     { "body": { "error": "rate_limited" } },
//!     { "when": { "user_messages": 1, "last": "user", "tools": true },
//!       "body": { "message": { "tool_calls": [{ "name": "weather", "arguments": { "city": "Oslo" } }] } } },
//!     { "when": { "last": "tool_result" }, "body": { "message": { "text": "It rains." } } },
//!     { "when": { "path": "/v1/messages" }, "body": { "file": "answer.sse" }, "chunk": "frame", "cut_after": 120 }
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
//! | `strict` | `true`, `false` or an object, instead of the script's ([`Strict`]) |
//! | `status`, `headers` | 200, or the failure's, and a fitting `content-type` unless given |
//! | `body` | a string, or one of the following ([`Body`]) |
//! | `body: {"message"}` | a message of the model, streamed in the format of the request's path ([`Speech`]); see below |
//! | `body: {"error"}` | the service's own status, headers and body for a kind of [`Failure`]; see below |
//! | `body: {"text"}`, `{"json"}`, `{"file"}`, `{"frames"}` | the same bytes for each request; a file is relative to the script |
//! | `chunk` | `"whole"`, `"frame"` (an HTTP chunk per SSE frame) or a number of bytes; a message goes by frames, else whole |
//! | `encoding` | `"gzip"`: compressed; what follows counts the compressed bytes |
//! | `error_after` | after so many frames of a message the service's overload error, inside of the 200 stream |
//! | `failure` | another error for `error_after`, say `rate_limited` |
//! | `garble_after` | from so many bytes of the body on garbage in frames, neither JSON nor UTF-8 |
//! | `cut_after` | after so many bytes of the body the connection is dropped |
//! | `delay_ms`, `frame_delay_ms` | wait before the head; between two chunks |
//! | `stall` | after what was sent, send nothing more and keep the connection |
//!
//! - A message has `thinking`, `signature`, `text` and `tool_calls` (`id`, `name`, `arguments`), or `content`, a list of blocks
//!   (`thinking`, `redacted_thinking`, `text`, `tool_call`); `stop_reason` (`stop`, `length`, `tool_use`, `refusal`), `usage`
//!   (`input`, `output`, `cache_read`, `cache_write`, `reasoning`), `model`, and `piece` (the characters of a delta).
//! - An error is `rate_limited`, `overloaded`, `authentication`, `context_overflow`, `quota`, `server`, `invalid_request` or
//!   `not_found`.
//!
//! # Paths
//!
//! Messages, failures and strict checks go by the path of a POST: what ends in `/messages`, `/chat/completions` (Azure's
//! `/openai/deployments/NAME/…` too) or `/responses`, `…/models/MODEL:streamGenerateContent?alt=sse` and Bedrock's
//! `/model/MODEL/converse-stream`; on Vertex `…/publishers/google/models/MODEL:streamGenerateContent` and
//! `…/publishers/anthropic/models/MODEL:streamRawPredict`. Messages are only sent as streams.
//!
//! # Strict checks
//!
//! With [`Script::strict`] (in a file `"strict": true`, for the program `--strict`) a request in one of the five formats is
//! checked before it gets its answer: the key, required and unknown fields, kinds of blocks, pairing of calls and results, ids,
//! signatures, cache markers, options that exclude each other. A wrong one gets the status and the error body of the service, in
//! its words as far as they are known; the answer stays for the next request. [`Strict`] has the variants, in a file
//! `"strict": {"alternation": true, "empty_signatures": true, "no_call_ids": true, "flavour": "mistral", "key": "sk-1"}`, each of
//! them optional. The same checks without a server are [`check`].
//!
//! A path does not say whose server it is: Chat Completions and Responses are checked as **OpenAI's own** unless `flavour` says
//! `compatible`, `mistral` or `deepseek`, and then fields of other services are unknown ones. What was refused, and as which
//! flavour, stands in the log's `refused`, and the program says it on standard error.
//!
//! While a script runs, `GET /__requests` lists the requests so far and `DELETE /__requests` forgets them.

mod answer;
pub mod authorization;
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
