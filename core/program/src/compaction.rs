//! Summing up a conversation at the user's wish.

use agent_loop::{Agent, Event, EventData};
use serde_json::{Map, Value, json};

use crate::failure::Failure;

/// Has the next request begin with a summary of what is there. Gives the option as these options have it, to be set again.
pub(crate) fn begin(agent: &Agent, options: &Map<String, Value>) -> Result<Value, Failure> {
    let context = options.get("context").cloned().unwrap_or_default();
    // Less than what is there, so that there is something to sum up.
    let tokens = agent_loop::transcript::estimate_tokens(&agent.messages()) / 2;
    agent.set_json(&json!({ "context": { "max_tokens": tokens.max(200), "keep_last": 1, "compact": true } }))?;
    Ok(json!({ "context": context }))
}

/// Whether the model has answered from the summary: the option is to be set again, so that what the prompt's own calls bring
/// stays.
pub(crate) fn is_over(event: &Event) -> bool {
    matches!(&event.data, EventData::MessageEnd { message } if message.role() == "assistant")
}
