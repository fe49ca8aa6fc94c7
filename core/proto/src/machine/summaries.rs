//! Summaries that a model writes before the request of a turn, where the option `context` asks for them: of what the request has
//! no room for, and of results that are too long. A summary joins the transcript as a message; the transcript itself stays whole.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::config::Config;
use super::context::fit_to;
use super::model_calls::{CallOutcome, ModelCalls};
use super::run_state::{Progress, RunState};
use crate::context_policy::ContextPolicy;
use crate::error::Error;
use crate::hook::{HookKind, Question};
use crate::message::Message;
use crate::model_entry::ModelEntry;
use crate::protocol::EncodeCache;
use crate::request::{CacheRetention, ModelOptions, Request};
use crate::table::codes;
use crate::transcript::{Fitting, Summarized, as_text, summary_message};
use crate::usage::StopReason;

use Progress::{Blocked, Ended, Made};

/// What the model is asked for.
const OF_CONTEXT: &str = "You write the summary of a conversation between a user and an assistant with tools. The assistant will \
    go on from your summary alone: the conversation itself is no longer there. Write down, in the language of the \
    conversation: what the user wants, with all wishes and limits that still hold; what was decided, and why; what was done and \
    found out, with the exact names, paths, numbers and identifiers that may be needed again; what is open, and what comes \
    next. Do not answer the user, and do not call tools. At most 1,000 words.";
const OF_RESULT: &str = "You write the summary of what a tool has returned, for an assistant that will not see the whole. Keep \
    exact names, paths, numbers, identifiers and error messages, and say what kinds of things there are and how many. Add \
    nothing of your own. At most 500 words.";

/// How many bytes there are to a token, about: how much text a model is given.
const BYTES_PER_TOKEN: u64 = 3;

/// The most bytes of a tool's result, where it is one of many messages.
const MOST_OF_RESULT: usize = 4_000;

/// The summaries of a run.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Summaries {
    /// What the turn has asked for, successful or not.
    asked: Vec<Asked>,
    stage: Stage,
    #[serde(skip)]
    fitting: Option<Box<Fitting>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
enum Asked {
    /// What comes before so many messages.
    Before(usize),
    /// The result of a call.
    Result(String),
}

#[derive(Debug, Default, Clone, Copy, Serialize, Deserialize)]
enum Stage {
    /// Whether a summary is needed.
    #[default]
    Look,
    /// The key of the model that writes it.
    GetApiKey,
    Call,
    /// The model writes the last one that was asked for.
    Write,
}

impl Summaries {
    pub(super) fn begin_turn(&mut self) {
        (self.asked, self.stage) = (Vec::new(), Stage::Look);
    }

    /// Takes over what was looked at in an earlier run.
    pub(super) fn set_fitting(&mut self, fitting: Option<Box<Fitting>>) {
        self.fitting = fitting;
    }

    pub(super) fn into_fitting(self) -> Option<Box<Fitting>> {
        self.fitting
    }

    /// What the model reads before hooks have changed it: with summaries in place of what they stand for.
    pub(super) fn messages(&mut self, run: &RunState) -> Vec<Arc<Message>> {
        match self.look(run) {
            // What is over the limit and has no summary is left out later, of what the hooks have made of them.
            Some(fitting) => fitting.kept().to_vec(),
            None => run.transcript.context().to_vec(),
        }
    }

    fn look(&mut self, run: &RunState) -> Option<&Fitting> {
        let config = run.config();
        let policy = config.settings.context.clone()?.compact();
        let model = config.model.as_ref().ok()?;
        let fitting = self.fitting.get_or_insert_default();
        fitting.take_in(run.transcript.context(), fit_to(&policy, config, model, &run.turn));
        Some(fitting)
    }

    /// Ends when there is nothing left to write.
    pub(super) fn step(&mut self, run: &mut RunState, calls: &mut ModelCalls) -> Progress<()> {
        if run.is_interrupted() && !calls.is_under_way() {
            return Ended(());
        }
        match self.stage {
            // What is used up leaves nothing for a summary either.
            Stage::Look if run.turn.has_failed_before_call() || run.used_up(run.settings()).is_some() => Ended(()),
            Stage::Look => match self.next(run) {
                None => Ended(()),
                Some(asked) => {
                    self.asked.push(asked);
                    self.stage = Stage::GetApiKey;
                    Made
                }
            },
            Stage::GetApiKey => {
                let provider = match summarizer(run.config()) {
                    Some(Ok(model)) => model.provider.clone(),
                    Some(Err(_)) | None => String::new(),
                };
                // The request itself asks again, for its own model.
                if run.hooks().has(HookKind::GetApiKey) && run.ask(|| Question::GetApiKey(provider)).is_none() {
                    return Blocked;
                }
                self.stage = Stage::Call;
                Made
            }
            Stage::Call => {
                self.stage = match self.begin(run, calls) {
                    Ok(()) => Stage::Write,
                    Err(why) => {
                        self.failed(run, &why);
                        Stage::Look
                    }
                };
                Made
            }
            Stage::Write => match calls.step(run) {
                Made => Made,
                Blocked => Blocked,
                Ended(outcome) => {
                    self.written(run, outcome);
                    self.stage = Stage::Look;
                    Made
                }
            },
        }
    }

    /// The next summary that is needed.
    fn next(&mut self, run: &RunState) -> Option<Asked> {
        let asked = self.asked.clone();
        let policy = run.settings().context.clone()?;
        let fitting = self.look(run)?;
        if policy.summarize_results {
            let mut results = fitting.long_results().map(|result| Asked::Result(result.tool_call_id.clone()));
            if let Some(result) = results.find(|result| !asked.contains(result)) {
                return Some(result);
            }
        }
        let is_compacted = asked.iter().filter(|asked| matches!(asked, Asked::Before(_))).count();
        // Once in a turn; once more if the provider has refused the request.
        let most = 1 + usize::from(run.turn.refused_limit().is_some());
        if !policy.compact || is_compacted >= most {
            return None;
        }
        fitting.to_compact().map(|(keeps, _)| Asked::Before(keeps))
    }

    /// Places the call.
    fn begin(&mut self, run: &mut RunState, calls: &mut ModelCalls) -> Result<(), String> {
        let model = match summarizer(run.config()) {
            Some(Ok(model)) => model.clone(),
            Some(Err(why)) => return Err(why),
            None => return Err("there is no model".to_owned()),
        };
        let spec = model.encoder.as_ref().map(|encoder| &encoder.spec);
        // Half of what this model reads: its tokens are estimated.
        let all = ContextPolicy::new();
        let tokens = all.limit(spec.and_then(|spec| spec.context_window), spec.and_then(|spec| spec.max_output_tokens)) / 2;
        let most = usize::try_from(tokens.saturating_mul(BYTES_PER_TOKEN)).unwrap_or(usize::MAX);
        let asked = self.asked.last().cloned();
        let fitting = self.look(run).ok_or("there is no policy")?;
        let (system_prompt, text) = match asked {
            Some(Asked::Before(_)) => {
                let messages = fitting.to_compact().map(|(_, messages)| messages).unwrap_or_default();
                (OF_CONTEXT, as_text(messages.iter().map(Arc::as_ref), MOST_OF_RESULT, most))
            }
            Some(Asked::Result(id)) => {
                let result = fitting.long_results().find(|result| result.tool_call_id == id).cloned();
                let result = result.map(Message::ToolResult);
                (OF_RESULT, as_text(result.iter(), usize::MAX, most))
            }
            None => return Err("nothing was asked for".to_owned()),
        };
        let request = Request {
            model: model.name(),
            system_prompt: system_prompt.to_owned(),
            messages: vec![Arc::new(Message::user(text, run.now_ms()))],
            options: ModelOptions { cache_retention: CacheRetention::None, ..ModelOptions::default() },
            ..Request::default()
        };
        let body = model.encoder.as_ref().map(|encoder| encoder.encode(&mut EncodeCache::default(), &request).body.into());
        calls.begin_helper(run, model, (Arc::new(request), body));
        Ok(())
    }

    /// The model has written a summary, or failed to.
    fn written(&mut self, run: &mut RunState, outcome: CallOutcome) {
        let CallOutcome::Message(message) = outcome else {
            return self.failed(run, "the model was not asked");
        };
        let Some(answer) = message.as_assistant() else { return };
        let text = answer.text();
        let is_whole = !matches!(answer.stop_reason, Some(StopReason::Refusal | StopReason::Length));
        if answer.has_failed() || text.trim().is_empty() || !is_whole {
            let why = match &answer.error {
                Some(error) => error.message().to_owned(),
                None if is_whole => "the model wrote nothing".to_owned(),
                None => "the model refused, or its answer was cut off".to_owned(),
            };
            if !run.is_interrupted() {
                self.failed(run, &why);
            }
            return;
        }
        let of = match self.asked.last() {
            Some(Asked::Before(keeps)) => Summarized::Before { keeps: *keeps },
            Some(Asked::Result(id)) => Summarized::Result { tool_call_id: id.clone() },
            None => return,
        };
        let model = format!("{}/{}", answer.provider, answer.model);
        run.emitter.emit_message(Arc::new(summary_message(&of, text.trim(), &model, &answer.usage, run.now_ms())));
    }

    fn failed(&mut self, run: &mut RunState, why: &str) {
        let (what, instead) = match self.asked.last() {
            Some(Asked::Result(_)) => ("a result that is too long", "its middle is left out"),
            Some(Asked::Before(_)) | None => ("the earlier part of the conversation", "it is left out without one"),
        };
        let message = format!("there is no summary of {what}, so that {instead}: {why}");
        run.emitter.diagnostic(codes::SUMMARY_FAILED, message, json!({ "error": why }));
    }
}

/// The model that writes summaries, or why it cannot be used. None where the run has no model.
fn summarizer(config: &Config) -> Option<Result<&ModelEntry, String>> {
    let named = config.settings.context.as_ref().and_then(|policy| policy.summary_model.as_ref());
    match (named, &config.summarizer) {
        (None, _) => config.model.as_ref().ok().map(Ok),
        (Some(name), Some((known, model))) if name == known => Some(model.as_ref().map_err(|error| error.message().to_owned())),
        (Some(name), _) => Some(Err(format!("{name} has to be in the option context of the agent, not of a run alone"))),
    }
}

/// Refuses to start a run whose model for summaries cannot be used.
///
/// # Errors
/// `invalid_argument`: says why.
pub(super) fn check_summarizer(config: &Config) -> Result<(), Error> {
    match summarizer(config) {
        Some(Err(why)) => Err(Error::invalid_argument(format!("option \"context\": summary_model: {why}"))),
        Some(Ok(_)) | None => Ok(()),
    }
}
