//! The end of a message: what it has used, why it stopped, and the message whole.

use super::{Kind, MessageBuilder};
use crate::error::Error;
use crate::message::{AssistantMessage, ContentBlock};
use crate::usage::{StopReason, Usage};

impl MessageBuilder {
    /// The tokens used, with their cost where it is known: of no tokens it is not, a server that reports none has counted none.
    pub fn priced_usage(&self) -> Usage {
        let mut usage = self.usage.clone();
        // What the stream itself says of the cost is nearer to the truth than the list.
        if !usage.is_known() {
            return usage;
        }
        usage.cost = usage.cost.take().or_else(|| self.prices.as_ref().map(|prices| prices.cost(&usage)));
        usage
    }

    /// Treats tool calls in an answer of exactly `max_tokens` tokens as cut off: some servers report `tool_calls` for them, too.
    pub fn treat_full_length_calls_as_truncated(&mut self, max_tokens: Option<u64>) {
        let calls = self.blocks.values().any(|open| open.kind == Kind::ToolCall);
        if let Some((reason @ (StopReason::Stop | StopReason::ToolUse), _)) = &mut self.stop
            && calls
            && max_tokens == Some(self.usage.output)
        {
            *reason = StopReason::Length;
        }
    }

    /// The message whole. With an error it ends `error` or `aborted`; calls are taken out of those and of refusals.
    pub fn finish(self, failure: Option<(StopReason, Error)>) -> AssistantMessage {
        let usage = self.priced_usage();
        let (stop_reason, raw_stop_reason, error) = match (failure, self.stop) {
            (Some((reason, error)), stop) => (reason, stop.and_then(|(_, raw)| raw), Some(error)),
            (None, Some((reason, raw))) => (reason, raw, None),
            (None, None) => (StopReason::Stop, None, None),
        };
        let mut content = self.log.content();
        if stop_reason.is_failure() || stop_reason == StopReason::Refusal {
            content.retain(|block| !matches!(block, ContentBlock::ToolCall(_)));
        }
        AssistantMessage {
            content,
            usage,
            stop_reason: Some(stop_reason),
            raw_stop_reason,
            response_id: self.response_id,
            response_model: self.response_model,
            error,
            ..self.log.head().clone()
        }
    }
}
