//! What a call runs: the agent itself, or one of its tools; and the progress that its events are.

use serde_json::{Map, Value, json};

use super::message;
use crate::agent::Agent;
use crate::cancel::CancelToken;
use crate::error::Error;
use crate::event::{Event, EventData};
use crate::run::Run;

/// Where the progress of a call goes, with the number of its steps.
pub(super) struct Progress<F> {
    pub(super) send: F,
    pub(super) step: u64,
}

impl<F: Fn(u64, &str)> Progress<F> {
    fn notice(&mut self, event: &Event) {
        let text = match &event.data {
            EventData::TurnStart => format!("turn {}", event.turn),
            EventData::ToolExecutionStart { tool_name, .. } => format!("{tool_name} runs"),
            EventData::ToolExecutionUpdate { tool_name, partial_result, .. } => {
                let partial = json!(partial_result);
                let text = partial.pointer("/content/0/text").and_then(Value::as_str).unwrap_or_default().to_owned();
                if text.is_empty() { format!("{tool_name} goes on") } else { text }
            }
            EventData::ToolExecutionEnd { tool_name, is_error: true, .. } => format!("{tool_name} has failed"),
            EventData::ToolExecutionEnd { tool_name, .. } => format!("{tool_name} is done"),
            _ => return,
        };
        self.step += 1;
        (self.send)(self.step, &text);
    }
}

/// A run of the agent with this prompt.
///
/// # Errors
/// That of a run that cannot begin.
pub(super) async fn ask<F: Fn(u64, &str)>(
    agent: Agent,
    prompt: &str,
    cancel: &CancelToken,
    mut progress: Progress<F>,
) -> Result<Value, Error> {
    let mut run = agent.prompt(prompt).abort_on(cancel.clone()).stream()?;
    while let Some(event) = run.next().await {
        progress.notice(&event);
    }
    let ended = run.ended().await?;
    let answer = ended.to_tool_result();
    let is_error = answer.get("is_error").and_then(Value::as_bool).unwrap_or_default();
    let structured = ended.output.filter(Value::is_object);
    Ok(message::result(answer.get("content").unwrap_or(&Value::Null), is_error, structured))
}

/// A call of one of the agent's tools, with all that stands around its calls.
///
/// # Errors
/// As of [`ask`].
pub(super) async fn call<F: Fn(u64, &str)>(
    agent: &Agent,
    name: &str,
    arguments: Map<String, Value>,
    cancel: &CancelToken,
    mut progress: Progress<F>,
) -> Result<Value, Error> {
    let agent = agent.for_one_call(name, arguments)?;
    let mut run: Run = agent.prompt(format!("Call the tool {name}.")).abort_on(cancel.clone()).stream()?;
    let mut result = None;
    while let Some(event) = run.next().await {
        match &event.data {
            EventData::ToolExecutionEnd { result: output, is_error, .. } => {
                result = Some(message::result(&json!(output.content), *is_error, None));
            }
            EventData::ToolExecutionUpdate { .. } => progress.notice(&event),
            _ => {}
        }
    }
    if let Some(result) = result {
        return Ok(result);
    }
    let ended = run.ended().await?;
    Ok(match ended.pending.first() {
        Some(_) => {
            message::failed("the tool needs an approval, which a client of MCP cannot give; serve the agent without this tool")
        }
        None => message::failed(ended.error.as_ref().map_or("it was not called", Error::message)),
    })
}
