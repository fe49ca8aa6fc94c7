//! Reads an agent's state, from any thread and without waiting for its run.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::handle::Agent;
use crate::error::Error;
use crate::gate::Remembered;
use crate::message::Message;
use crate::suspension::SuspendedCall;
use crate::tool::ToolSet;

impl Agent {
    /// `provider/id` of the model.
    pub fn model(&self) -> String {
        self.state().models.name()
    }

    /// The server's address that was given for the agent's own model, if one was.
    pub fn base_url(&self) -> Option<String> {
        self.state().models.base_url.clone()
    }

    /// `provider/id` of each model to fall back on.
    pub fn fallbacks(&self) -> Vec<String> {
        self.state().models.fallbacks.iter().map(|fallback| fallback.source.name()).collect()
    }

    /// The headers of each request: an object of texts.
    pub fn headers(&self) -> Map<String, Value> {
        Map::clone(&self.state().models.connection.headers)
    }

    /// The conversation: the messages of the `message_end` events, and those that were appended or set between runs. Shared, not
    /// copied.
    pub fn messages(&self) -> Arc<Vec<Arc<Message>>> {
        Arc::clone(self.state().conversation.messages())
    }

    /// The conversation with its revision: how often it was replaced or emptied, and how many messages it has. Between two
    /// revisions with the same first number, messages were only appended. For hosts that keep what they made of the messages.
    #[doc(hidden)]
    pub fn transcript(&self) -> ((u64, usize), Arc<Vec<Arc<Message>>>) {
        let state = self.state();
        (state.conversation.revision(), Arc::clone(state.conversation.messages()))
    }

    /// The tools.
    pub fn tools(&self) -> ToolSet {
        let state = self.state();
        state.plugins.tools_with(&state.tools)
    }

    /// Whether a run is active: from its acceptance until the agent is idle.
    pub fn is_streaming(&self) -> bool {
        self.state().conversation.active().is_some()
    }

    /// The assistant message that is being streamed, with what has come so far.
    pub fn streaming_message(&self) -> Option<Message> {
        let partial = self.state().conversation.streaming_message().cloned()?;
        Some(Message::Assistant(partial.latest().message()))
    }

    /// The ids of the calls between their execution's start and end.
    pub fn pending_tool_calls(&self) -> Vec<Arc<str>> {
        self.state().conversation.pending_tool_calls().to_vec()
    }

    /// The calls that wait for a decision; none while a run is active.
    pub fn pending(&self) -> Vec<SuspendedCall> {
        self.state().conversation.suspended().iter().map(|suspended| suspended.call.clone()).collect()
    }

    /// What was decided for always. During a run, it is as it was at the end of the last turn.
    pub fn remembered(&self) -> Remembered {
        self.state().conversation.remembered().clone()
    }

    /// The error of the last run, if its outcome was `error` or `aborted`.
    pub fn error(&self) -> Option<Error> {
        self.state().conversation.error().cloned()
    }

    /// How many times a listener failed.
    pub fn listener_errors(&self) -> u64 {
        self.listeners().errors()
    }

    /// The state in canonical JSON: `{system_prompt, model, thinking_level, tools, messages, is_streaming, streaming_message,
    /// pending_tool_calls, pending?, remembered?, error, listener_errors}`; `tools` are names.
    pub fn state_json(&self) -> Value {
        let now = {
            let mut state = self.state();
            let tools = state.all_tools();
            let tools = tools.iter().map(|tool| tool.spec().name());
            state.conversation.state(&state.settings, state.models.name(), tools, self.listeners().errors())
        };
        // A long transcript takes a while to write: not under the lock, the run wants it. All of its keys are texts.
        serde_json::to_value(now).unwrap_or_default()
    }
}
