//! What a run begins with.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::config::Config;
use super::decided::DecidedCalls;
use super::observer::Observer;
use crate::gate::Remembered;
use crate::message::Message;
use crate::queues::Queues;
use crate::run_options::RunOptions;
use crate::suspension::Decision;

/// What a run starts with.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename = "strict", deny_unknown_fields)]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub struct Start {
    /// The id that all its events have.
    pub run_id: String,
    /// Where the jitter of the backoff comes from.
    pub seed: u64,
    /// The conversation so far.
    pub transcript: Vec<Arc<Message>>,
    /// Messages that wait for a run.
    pub queues: Queues,
    /// The messages of `prompt`, dated by the first poll where they have no timestamp; `None` for `resume`.
    pub prompts: Option<Vec<Message>>,
    /// Whether a run without prompts is there for what is queued, which then may also begin a conversation.
    #[serde(default)]
    pub if_queued: bool,
    /// Whether this is one model call over the conversation: its tool calls stay in the message, and nothing follows its turn.
    #[serde(default)]
    pub one_call: bool,
    /// For a `resume` that begins with queued messages: those, by their numbers in the queue; see
    /// [`resumable`](super::resumable).
    pub queued: Vec<(u64, Arc<Message>)>,
    /// For a `resume` with decisions: what is decided about each call that waits, by its id.
    #[serde(default)]
    pub decisions: Vec<(String, Decision)>,
    /// The calls that the run begins with: those of a `resume` with decisions, see [`decide`](super::decide), those that were
    /// [`interrupted`](super::interrupted), and those whose results are [`recorded`](super::recorded), before prompts.
    #[serde(default)]
    pub decided: Option<DecidedCalls>,
    /// What idempotency keys begin with: the same in all runs of a conversation. Where it is empty, the setting `origin`, or the
    /// run's id.
    #[serde(default)]
    pub origin: String,
    /// How many messages the conversation had before its transcript was replaced or emptied: keys count them, too.
    #[serde(default)]
    pub replaced: usize,
    /// What the conversation remembers of decisions.
    #[serde(default, skip_serializing_if = "Remembered::is_empty")]
    pub remembered: Remembered,
    /// Options of this run alone, in place of those of the configuration.
    #[serde(default, skip_serializing_if = "RunOptions::is_empty")]
    pub options: RunOptions,
    /// Of the run of a subagent: how many levels of subagents may be below it, where the settings do not say less.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subagent_depth: Option<u32>,
    /// What observes the loop. Not part of what is saved.
    #[serde(skip)]
    pub observed: Option<Observed>,
}

impl Start {
    /// A run with these messages and no conversation before them.
    pub fn new(run_id: impl Into<String>, seed: u64, prompts: Vec<Message>) -> Start {
        Start { run_id: run_id.into(), seed, prompts: Some(prompts), ..Start::default() }
    }

    /// A run that goes on from the conversation, or from queued messages.
    pub fn resume(run_id: impl Into<String>, seed: u64) -> Start {
        Start { run_id: run_id.into(), seed, ..Start::default() }
    }

    /// A run that goes on with the calls that wait, as it is decided about each.
    pub fn decided(run_id: impl Into<String>, seed: u64, decisions: Vec<(String, Decision)>) -> Start {
        Start { decisions, ..Start::resume(run_id, seed) }
    }

    /// One model call over the conversation, without queues and without executing tools.
    pub fn one_call(run_id: impl Into<String>, seed: u64) -> Start {
        Start { one_call: true, ..Start::resume(run_id, seed) }
    }

    /// A run for queued messages, which may also begin a conversation.
    pub fn resume_if_queued(run_id: impl Into<String>, seed: u64) -> Start {
        Start { if_queued: true, ..Start::resume(run_id, seed) }
    }
}

/// Makes the observer of a loop from what it begins with.
#[derive(Clone)]
pub struct Observed(Arc<MakeObserver>);

type MakeObserver = dyn Fn(&Config, &Start) -> Box<dyn Observer> + Send + Sync;

impl Observed {
    /// The function is called once for each loop, when it is made.
    pub fn by(observer: impl Fn(&Config, &Start) -> Box<dyn Observer> + Send + Sync + 'static) -> Observed {
        Observed(Arc::new(observer))
    }

    pub(super) fn begin(&self, config: &Config, start: &Start) -> Box<dyn Observer> {
        (self.0)(config, start)
    }
}

impl fmt::Debug for Observed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Observed")
    }
}
