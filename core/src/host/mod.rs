//! The bridge between a run and the callbacks of its host, the same for every language.
//!
//! A run calls its host with a [`HostCall`]: a kind, an input and a context, to be answered exactly once, now or later, from any
//! thread. A host with an event loop passes calls on through a [`JobQueue`], which wakes the loop once per batch and fails what
//! is unanswered when the loop ends. What remains in a language is the conversion of inputs and answers.
//!
//! Inside this crate, tools and models depend on [`answer`] and [`work`] alone; [`call`] is above them.

#[cfg_attr(not(feature = "__bindings"), allow(dead_code, unreachable_pub))] // Messages are for bindings.
pub(crate) mod answer;
#[cfg(feature = "__bindings")]
mod call;
#[cfg(feature = "__bindings")]
mod function;
#[cfg(feature = "__bindings")]
mod queue;
#[cfg(all(test, feature = "__bindings"))]
mod tests;
pub(crate) mod work;

#[cfg(feature = "__bindings")]
pub use self::names::*;

/// What hosts use, of here and of elsewhere.
#[cfg(feature = "__bindings")]
mod names {
    pub use super::answer::HostAnswer;
    pub use super::call::{HostCall, HostKind};
    pub use super::function::{HostFunction, HostTool};
    pub use super::queue::{JobQueue, Wakeup};
    pub use crate::clock::Busy;
    pub use crate::did_you_mean::{Spelling, nearest};
    pub use crate::log::{LogFunction, LogLevel, LogRecord, RunLogFunction};
    pub use crate::partial::Partial;
    pub use crate::run::queue::ReadyCallback;
    pub use crate::runtime::RuntimeGuard;
    pub use crate::scope::Scope;
    pub use crate::stepping::{
        Auth, Exchange, ExchangeOptions, Exchanged, HostAction, HostInput, HostLoop, WorkflowStep, workflow_step,
    };
    pub use crate::threads::{Blocking, hand_over, spawn_blocking, with_host_signals};
    pub use crate::trace::sink::TraceFunction;
    pub use agent_loop_proto::hook::Question;
    pub use agent_loop_proto::hook_json::HookInput;
    pub use agent_loop_proto::json_error::{Unread, read_value, shown, words};
    pub use agent_loop_proto::message_reader::{field_names as message_fields, given_messages, read_history_of};
    pub use agent_loop_proto::model_spec::{check_plain, field_names as model_fields};
    pub use agent_loop_proto::recording::test_file_name;
    pub use agent_loop_proto::surrogate::read_json;
    pub use agent_loop_proto::trace::{
        Attribute, Attributes, Instrument, Measured, SCHEMA_URL, SCOPE, SpanEnd, SpanStart, TraceRecord,
    };
    pub use agent_loop_proto::{events_of, for_each_hook, hook_inputs_of, steps_of, table};
}
