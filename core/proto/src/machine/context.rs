//! The option `context` in a run: how many tokens a request may have, what is reported, and what follows when a provider refuses
//! a request as too large all the same.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::config::Config;
use super::emitter::Emitter;
use super::read_result;
use super::run_state::RunState;
use super::turn::Turn;
use crate::context_policy::ContextPolicy;
use crate::error::Error;
use crate::message::{AssistantMessage, Message};
use crate::model_entry::ModelEntry;
use crate::size;
use crate::table::codes;
use crate::transcript::{CONTEXT_LIMIT, FitTo, Fitted, Fitting, tokens_of_bytes, tokens_of_text};

/// What is kept of a refused request's tokens.
const KEPT_WHEN_REFUSED: (u64, u64) = (3, 4);

/// In how many parts of the limit the tokens before the messages are counted.
const FIXED_STEPS: u64 = 64;

/// What a run knows about the size of its requests.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct RequestSize {
    /// How many messages were left out when that was reported.
    left_out: usize,
    /// The tokens of the last request.
    tokens: u64,
    /// Whether that was over its limit.
    #[serde(default)]
    is_over: bool,
}

impl RequestSize {
    /// Fits a request, and reports what is left out of it, and when that is not enough.
    pub(super) fn fit(&mut self, fitting: &mut Fitting, context: &[Arc<Message>], to: FitTo, emitter: &mut Emitter) -> Fitted {
        let fitted = fitting.fit(context, to);
        self.tokens = fitted.of_request;
        if fitted.left_out > self.left_out {
            let messages = if fitted.left_out == 1 { "1 message is" } else { &format!("{} messages are", fitted.left_out) };
            let text = format!(
                "{messages} left out of the requests: with all, they would have some {} tokens, of at most {}; now they have \
                 some {}",
                fitted.of_all, fitted.limit, fitted.of_request
            );
            let data = json!({
                "left_out": fitted.left_out, "of_all": fitted.of_all, "of_request": fitted.of_request, "limit": fitted.limit,
            });
            emitter.diagnostic(codes::CONTEXT_TRIMMED, text, data);
        }
        self.left_out = fitted.left_out;
        let is_over = fitted.of_request > fitted.limit;
        if is_over && !self.is_over {
            let text = format!(
                "the request has some {} tokens, of at most {}, and the option context may leave out nothing more; it is sent as \
                 it is",
                fitted.of_request, fitted.limit
            );
            emitter.diagnostic(codes::CONTEXT_EXCEEDED, text, json!({ "of_request": fitted.of_request, "limit": fitted.limit }));
        }
        self.is_over = is_over;
        fitted
    }

    /// The limit of the next request, as the provider has refused the last one.
    pub(super) fn limit_when_refused(&self) -> u64 {
        let (kept, of) = KEPT_WHEN_REFUSED;
        (self.tokens / of).saturating_mul(kept)
    }
}

/// What the requests of a turn are made for.
pub(super) fn fit_to(policy: &ContextPolicy, config: &Config, model: &ModelEntry, turn: &Turn) -> FitTo {
    let settings = &config.settings;
    let spec = model.encoder.as_ref().map(|encoder| &encoder.spec);
    let answer = settings.model.max_tokens.or(spec.and_then(|spec| spec.max_output_tokens));
    let limit = policy.limit(spec.and_then(|spec| spec.context_window), answer);
    let tools = config.tools.descriptions();
    let of_tools = if tools.is_empty() { 0 } else { tokens_of_bytes(size::of_json(&**tools)) };
    // What earlier requests have left out is decided anew where this changes: a prompt with the time in it shall not do that.
    let step = (limit / FIXED_STEPS).max(1);
    FitTo {
        policy: policy.clone(),
        provider: model.provider.clone(),
        model: model.id.clone(),
        limit,
        fixed: (tokens_of_text(&settings.system_prompt) + of_tools).next_multiple_of(step),
        reads_on: read_result::is_offered(config),
        refused: turn.refused_limit(),
    }
}

/// A message says with which limit its request was taken: those that follow have the same, in other runs, too.
pub(super) fn note_limit(message: &mut AssistantMessage, turn: &Turn) {
    let Some(limit) = turn.refused_limit() else { return };
    let metadata = message.metadata.get_or_insert_with(|| json!({}));
    if let Some(metadata) = metadata.as_object_mut() {
        metadata.insert(CONTEXT_LIMIT.to_owned(), limit.into());
    }
}

/// The error of a request that is too large, and from which nothing more can be left out.
pub(super) fn too_large(error: Error, run: &RunState) -> Error {
    if run.settings().context.is_none() {
        return error;
    }
    error.and(match run.turn.refused_limit().is_some() {
        true => "it was refused again after messages were left out of it (option context)",
        false => "there is nothing in the request that the option context may leave out",
    })
}
