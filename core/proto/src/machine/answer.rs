//! The model's answer: its deltas become events as they come, and at last the turn's message.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::config::Config;
use super::context;
use super::emitter::{Emitter, Out};
use super::final_answer::Asked;
use super::run_transcript::RunTranscript;
use super::setup::Setup;
use super::turn::Turn;
use crate::delta::{BlockStart, Delta, MessageBuilder};
use crate::error::{Error, ErrorKind};
use crate::event::EventData;
use crate::message::{AssistantMessage, Message};
use crate::model_entry::ModelEntry;
use crate::output::PartialOutput;
use crate::partial::Partial;
use crate::protocol;
use crate::size;
use crate::table::codes;
use crate::usage::{Prices, StopReason, Usage};

/// An answer. Nothing of an attempt that failed before its first content is left when another one begins.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ModelAnswer {
    builder: MessageBuilder,
    /// The message without content.
    head: AssistantMessage,
    prices: Option<Prices>,
    max_bytes: usize,
    /// Where the final answer is read while it is written, if it has a type.
    #[serde(default)]
    partial_output: Option<PartialOutput>,
    /// Whether no event is made of it: it is no message of the conversation.
    #[serde(default)]
    is_quiet: bool,
    /// Whether `message_start` was emitted.
    is_started: bool,
    /// Raw frames that wait for it.
    held: Vec<EventData>,
}

impl ModelAnswer {
    pub(super) fn new(config: &Config, turn: u32, now_ms: u64) -> ModelAnswer {
        let head = head(config, now_ms);
        let prices = config.model.as_ref().ok().and_then(|model| model.prices.clone());
        let max_bytes = config.settings.max_message_bytes;
        let partial_output = Asked::of(config).map(Asked::partial_output);
        let builder = MessageBuilder::new(head.clone(), turn, prices.clone(), max_bytes).reading(partial_output.clone());
        let (is_quiet, is_started) = (false, false);
        ModelAnswer { builder, head, prices, max_bytes, partial_output, is_quiet, is_started, held: Vec::new() }
    }

    /// The answer of a model that helps the run, of which no event is made.
    pub(super) fn of_helper(model: &ModelEntry, config: &Config, turn: u32, now_ms: u64) -> ModelAnswer {
        let mut helped = config.clone();
        (helped.model_name, helped.model, helped.settings.output) = (model.name(), Ok(model.clone()), None);
        ModelAnswer { is_quiet: true, ..ModelAnswer::new(&helped, turn, now_ms) }
    }

    /// Another attempt begins.
    pub(super) fn begin_again(&mut self, turn: u32, now_ms: u64) {
        self.head.timestamp = now_ms;
        let builder = MessageBuilder::new(self.head.clone(), turn, self.prices.clone(), self.max_bytes);
        self.builder = builder.reading(self.partial_output.clone());
        self.held.clear();
    }

    pub(super) fn provider(&self) -> &str {
        &self.head.provider
    }

    pub(super) fn has_content(&self) -> bool {
        self.builder.has_blocks()
    }

    /// Whether the model has said why it stopped.
    pub(super) fn is_stopped(&self) -> bool {
        self.builder.is_stopped()
    }

    pub(super) fn is_started(&self) -> bool {
        self.is_started
    }

    /// The message at an event of its stream.
    pub(super) fn partial(&self, position: usize) -> Partial {
        self.builder.partial_at(position)
    }

    /// The held `message_start`, and the raw frames that waited for it.
    pub(super) fn start(&mut self, emitter: &mut Emitter) {
        if !std::mem::replace(&mut self.is_started, true) && !self.is_quiet {
            let message = Arc::new(Message::Assistant(self.head.clone()));
            // Before the first delta, which may be applied already.
            emitter.push(Out::Streamed(EventData::MessageStart { message }, 0));
            let position = self.builder.steps();
            for raw in std::mem::take(&mut self.held) {
                emitter.push(Out::Streamed(raw, position));
            }
        }
    }

    /// Takes in one delta. Nothing is cloned here.
    pub(super) fn apply(
        &mut self,
        mut delta: Delta,
        emitter: &mut Emitter,
        transcript: &mut RunTranscript,
        setup: &Setup,
    ) -> Result<(), Error> {
        if let Delta::Start { block: BlockStart::ToolCall { name, .. }, .. } = &mut delta
            && !self.is_quiet
        {
            self.correct(name, emitter, setup.current());
        }
        while let Some(start) = self.builder.start_waiting(&delta) {
            self.start(emitter);
            self.push(start, emitter);
        }
        let (diagnostic, update) = self.builder.apply_beside(delta, &mut |id| transcript.has_call(id))?;
        if let Some(diagnostic) = diagnostic {
            self.emit(diagnostic, emitter)?;
        }
        update.map_or(Ok(()), |update| self.emit(update, emitter))
    }

    /// A call is shown, kept and sent back with the name of its tool.
    fn correct(&self, name: &mut String, emitter: &mut Emitter, config: &Config) {
        let final_tool = self.partial_output.as_ref().and_then(PartialOutput::tool);
        let Some(meant) = config.tools.meant(name, final_tool) else { return };
        let event = EventData::Diagnostic {
            code: codes::TOOL_NAME_CORRECTED.into(),
            message: format!("the model called {name:?}, and there is no such tool; {meant:?} is meant"),
            data: Box::new(json!({ "given": name, "tool_name": meant })),
        };
        emitter.push(Out::Streamed(event, self.builder.steps()));
        meant.clone_into(name);
    }

    fn emit(&mut self, event: EventData, emitter: &mut Emitter) -> Result<(), Error> {
        match event {
            EventData::Raw { ref data } if !self.is_started => {
                // Frames that say nothing count, too, while they are held.
                self.builder.grow(size::in_memory(data))?;
                self.held.push(event);
                return Ok(());
            }
            EventData::MessageUpdate(_) => self.start(emitter),
            _ => {}
        }
        self.push(event, emitter);
        Ok(())
    }

    fn push(&self, event: EventData, emitter: &mut Emitter) {
        if !self.is_quiet {
            emitter.push(Out::Streamed(event, self.builder.steps()));
        }
    }

    /// An answer without content is none: proxies and overloaded services send such, and servers that fill the context window
    /// with the conversation (Xiaomi's MiMo) and then cut the answer before its first token.
    pub(super) fn check(&self) -> Result<(), Error> {
        let provider = self.provider();
        let used = self.builder.usage();
        let error = match self.builder.stop_reason().filter(|_| !self.builder.has_content()) {
            Some(StopReason::Stop) if self.may_be_empty() => return Ok(()),
            Some(StopReason::Stop | StopReason::ToolUse) => {
                let text = format!("{provider} answered without any content");
                Error::new(ErrorKind::Protocol, text).with_retryable(true)
            }
            Some(StopReason::Length) if used.output == 0 && used.total > 0 => {
                let text = format!(
                    "{provider} had no room left to answer: the conversation ({} tokens) fills the model's context window",
                    used.total
                );
                Error::new(ErrorKind::ContextOverflow, text)
            }
            _ => return Ok(()),
        };
        Err(error.with_provider(provider))
    }

    /// The tokens that the attempt has used, as far as they are known.
    pub(super) fn usage(&self) -> Usage {
        self.builder.priced_usage()
    }

    /// Whether the vendor's own word says that the model had nothing to add.
    fn may_be_empty(&self) -> bool {
        protocol::may_be_empty(&self.head.protocol, self.builder.raw_stop_reason().unwrap_or_default())
    }

    pub(super) fn treat_full_length_calls_as_truncated(&mut self, max_tokens: Option<u64>) {
        self.builder.treat_full_length_calls_as_truncated(max_tokens);
    }

    /// Ends the next open block; false when there is none.
    pub(super) fn end_next_block(&mut self, emitter: &mut Emitter) -> bool {
        let Some(event) = self.builder.end_next() else {
            return false;
        };
        if !self.is_quiet {
            emitter.push(Out::Streamed(event, self.builder.partial().steps()));
        }
        true
    }

    /// The turn's message; with a failure, one that ends in it.
    pub(super) fn finish(self, failure: Option<(StopReason, Error)>, turn: &Turn) -> Arc<Message> {
        let partial = self.builder.partial();
        let mut message = self.builder.finish(failure);
        context::note_limit(&mut message, turn);
        let message = Arc::new(Message::Assistant(message));
        partial.finish(&message);
        message
    }
}

/// The message without content.
fn head(config: &Config, now_ms: u64) -> AssistantMessage {
    // A model that cannot be used still has its name.
    let (provider, id) = config.model_name.split_once('/').unwrap_or_default();
    let (provider, protocol, model) = match &config.model {
        Ok(ModelEntry { provider, protocol, id, .. }) => (provider.as_str(), protocol.as_str(), id.as_str()),
        Err(_) => (provider, "", id),
    };
    AssistantMessage {
        provider: provider.to_owned(),
        protocol: protocol.to_owned(),
        model: model.to_owned(),
        stop_reason: None,
        timestamp: now_ms,
        ..AssistantMessage::new(Vec::new())
    }
}
