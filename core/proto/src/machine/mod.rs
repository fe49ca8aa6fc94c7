//! The loop as a value: every decision of a run, without IO, clock, threads or async.
//!
//! [`Loop::handle`] takes in what happened, [`Loop::poll`] gives the next thing to do. The host executes the actions: it sends
//! requests, runs tools, asks hooks, hands on events. [`Loop`] owns the run's transcript, queues, turn, tool batch, retries,
//! fallbacks and limits, and emits every event. The same inputs give the same actions, byte for byte. It can be saved after any
//! action and loaded again (`serde`); [`Loop::load`] says what the host then has to do.
//!
//! - `run_loop`: the value; `start`: what it begins with; `phase_steps`: what each `phase` of a run does; `resume`, `decided`:
//!   how a resumed one begins
//! - `action`: its inputs and actions; `config`: what a turn runs with
//! - `request`: preparing a model call; `context`: how large it may be; `read_result`: the tool for results that were cut;
//!   `summaries`: what a model writes in place of what is left out;
//!   `model_calls`: placing it, and its retries; `attempt`: one of them; `answer`: from
//!   deltas to events and a message; `fallback`: another model; `random`: the jitter of the backoff
//! - `batch`: the tool calls of a message, `batch/running` those that run, `batch/suspended` those that wait for a decision;
//!   `requested_call`: one of them, and how far its check is; `tool_check`: what can keep it from running; `approval`: whether it
//!   is allowed, asked for or denied; `tool_reports`: updates and results; `tool_timeout`: the limit of a call; `tool_demand`:
//!   what `tool_choice` still asks for; `tool_names`: names that are almost right; `repetition`: the same call again
//! - `final_answer`: how a typed final answer is asked for, and what counts as one; `run_answer`: what a run has of it
//! - `observer`: what sees all that goes in and comes out, for recordings
//! - `run_state`: what these parts share. `emitter`: events and actions, in order; `run_transcript`: the messages; `inbox`: the
//!   queues; `turn`: what the turn leaves; `setup`: the configuration of each turn; `questions`: hooks; `run_clock`: the time and
//!   its limit; `interruption`: aborts; `forced_end`: the end of a run whose host cannot go on
//! - `subagents`: what a run and the subagents in it have in common; `checks`: what a run may be configured with
//! - `journal`, `recording`: what is written before it has an effect
//!
//! ```
//! use agent_loop_proto::machine::{Action, Input, Loop};
//! # use agent_loop_proto::machine::{Config, Start};
//! # use agent_loop_proto::delta::{BlockStart, Delta};
//! # use agent_loop_proto::usage::StopReason;
//! # fn example(config: Config, start: Start) {
//! let mut run = Loop::new(config, start);
//! let mut now_ms = 0;
//! while let Some(action) = run.poll(now_ms) {
//!     match action {
//!         Action::Emit(event) => println!("{}", event.to_json()),
//!         Action::CallModel(request) => {
//!             let deltas = vec![
//!                 Delta::Start { key: 0, block: BlockStart::Text },
//!                 Delta::Append { key: 0, text: "Hello.".into() },
//!                 Delta::Stop { reason: StopReason::Stop, raw: None },
//!             ];
//!             run.handle(Input::ModelDeltas { call: request.call, deltas });
//!             run.handle(Input::ModelEnd { call: request.call, result: Ok(()) });
//!         }
//!         Action::CallTool { call, .. } => run.handle(Input::ToolDone { call, result: Ok("rain".into()) }),
//!         Action::Done(result) => println!("{}", result.text),
//!         _ => {}
//!     }
//!     now_ms += 1;
//! }
//! # }
//! ```

mod action;
mod answer;
mod approval;
mod attempt;
mod batch;
mod checks;
mod config;
mod context;
mod decided;
mod emitter;
mod fallback;
mod final_answer;
mod forced_end;
mod inbox;
mod interruption;
mod journal;
mod model_calls;
mod observer;
mod phase;
mod phase_steps;
mod questions;
mod random;
mod read_result;
mod recording;
mod repetition;
mod request;
mod requested_call;
mod resume;
mod run_answer;
mod run_clock;
mod run_loop;
mod run_state;
mod run_transcript;
mod setup;
mod start;
mod subagents;
mod summaries;
#[cfg(test)]
mod tests;
mod tool_check;
mod tool_demand;
mod tool_names;
mod tool_reports;
mod tool_timeout;
mod turn;

pub use action::{Action, EndCause, Input, ListenerLimit, ListenerReport, ModelCall, ModelWait, Timer};
pub(crate) use checks::check_config;
pub use config::{Config, HookSet, Tools};
pub(crate) use decided::has_call_without_result;
pub use decided::{DecidedCalls, decide, interrupted, recorded};
pub use observer::{Observer, TimeCheck};
pub use request::RequestCaches;
pub use resume::resumable;
pub(crate) use resume::{check_answerable, is_resumable, resumable_if_queued};
pub use run_loop::{Loop, STATE_VERSION};
pub use start::{Observed, Start};

pub use crate::budget::{BudgetLeft, Used};
pub use crate::model_entry::{Encoder, ModelEntry};
