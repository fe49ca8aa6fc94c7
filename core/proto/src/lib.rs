#![doc = include_str!("../README.md")]
//!
//! # Modules
//!
//! - Data: [`message`], [`media`] (files in messages), `files` (of blocks), [`message_reader`], [`prompt`], [`event`], [`usage`],
//!   [`error`], [`result`], [`request`], [`delta`], [`tool`], [`hook`], [`hook_answers`], [`mcp_answers`], [`api_key`],
//!   [`settings`], [`run_options`] (of one run), [`output`] (the type of a final answer), [`context_policy`] (what a model reads
//!   of a long conversation), [`limits`], [`limiter`] (of several agents), `size` (of data, for limits).
//! - Models and who serves them: [`model_spec`] (as described), [`model_entry`] (as the loop knows it), [`quirks`], [`hosting`],
//!   [`provider`], [`provider_error`].
//! - Translation: [`sse`] and [`event_stream`] (bytes to frames), [`framing`] (which of the two), [`protocol`] (requests to
//!   bytes, frames to deltas), [`answer_reader`] (both in turn), [`chunk`] (what custom providers push), [`partial`] (deltas to a
//!   message), [`hook_json`] (what hooks get and answer).
//! - Decisions: [`machine`] (a run), [`conversation`] (from run to run), [`message_ids`], [`queues`], [`transcript`] (repair,
//!   and what of it a request has),
//!   [`conversion`] (of other programs' transcripts), [`schema`] (arguments), [`gate`] (which calls run), [`suspension`] (calls
//!   that wait), [`retry`], [`retry_after`], [`budget`] (what a run may use).
//! - Browsers: `ui` (a run for one, and its requests), with the feature `ui`.
//! - Sessions: [`session`] (what a journal holds, and what comes of it), [`workflow`] (what a workflow engine keeps of one).
//!   Recorded runs: [`recording`]. Runs as they look from outside: [`trace`] (their spans).
//! - What all languages have in common: [`table`]; [`did_you_mean`] (misspelt names), [`surrogate`] (text that is no Unicode),
//!   [`depth`] (of JSON), [`json_reader`] (types from it), [`json_error`] (what is wrong with it), `lenient_json` (as models
//!   write it), `partial_json` (while they write it), `hash` (for names that are made of others), `base64`.
//! - For tests: [`testing`] (the grammar of events), [`script`] (answers of a scripted model).

#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing))]
#![deny(clippy::disallowed_types, clippy::disallowed_methods)]
// Tests read recorded streams from files.
#![cfg_attr(test, allow(clippy::disallowed_methods))]

pub mod answer_reader;
pub mod api_key;
pub(crate) mod base64;
pub mod budget;
pub mod chunk;
pub mod context_policy;
pub mod conversation;
pub mod conversion;
pub mod delta;
pub mod depth;
pub mod did_you_mean;
pub mod error;
pub mod event;
pub mod event_stream;
pub(crate) mod files;
pub mod framing;
pub mod gate;
pub(crate) mod hash;
pub mod hook;
pub mod hook_answers;
pub mod hook_json;
pub mod hosting;
pub mod json_error;
pub mod json_reader;
pub(crate) mod lenient_json;
pub mod limiter;
pub mod limits;
pub mod machine;
pub mod mcp_answers;
pub mod media;
pub mod message;
pub mod message_ids;
pub mod message_reader;
pub mod model_entry;
pub mod model_spec;
pub mod output;
pub mod partial;
pub(crate) mod partial_json;
pub mod prompt;
pub mod protocol;
pub mod provider;
pub mod provider_error;
pub mod queues;
pub mod quirks;
pub mod recording;
pub mod request;
pub mod result;
pub mod retry;
pub mod retry_after;
pub mod run_options;
pub mod schema;
pub mod script;
pub mod session;
pub mod settings;
pub(crate) mod size;
pub mod sse;
pub mod surrogate;
pub mod suspension;
pub mod table;
pub mod testing;
pub mod tool;
pub mod trace;
pub mod transcript;
#[cfg(feature = "ui")]
#[cfg_attr(docsrs, doc(cfg(feature = "ui")))]
pub mod ui;
pub mod usage;
pub mod workflow;
