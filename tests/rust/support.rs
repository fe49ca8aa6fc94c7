//! Fixtures: agents with a scripted model, and events in a few words.

// Both test programs use a part of it.
#![allow(dead_code, unused_imports)]

use std::net::SocketAddr;
pub(crate) use std::sync::Arc;

pub(crate) use agent_loop::hook::Hook;
pub(crate) use agent_loop::{
    Agent, AgentBuilder, Event, EventData, FnTool, Message, MessageUpdate, ModelSpec, Run, RunResult, Tool, ToolContext,
};
pub(crate) use serde_json::{Value, json};
use tokio::net::TcpSocket;

/// An agent with a scripted model.
pub(crate) fn scripted(script: Value) -> Agent {
    builder(script).build().unwrap()
}

/// The description of an agent with a scripted model.
pub(crate) fn builder(script: Value) -> AgentBuilder {
    Agent::builder(ModelSpec::from_json(json!({ "provider": "scripted", "id": "s", "script": script })).unwrap())
}

/// The step of a tool call.
pub(crate) fn call(id: &str, name: &str, arguments: Value) -> Value {
    json!({ "delta": { "tool_call": { "id": id, "name": name, "arguments": arguments } } })
}

/// The end of an answer.
pub(crate) fn end(stop_reason: &str) -> Value {
    json!({ "end": { "stop_reason": stop_reason } })
}

/// An answer of one text.
pub(crate) fn says(text: &str) -> Value {
    json!([{ "delta": text }, end("stop")])
}

/// A tool that takes anything and is an async function.
pub(crate) fn tool<F, Fut>(name: &str, function: F) -> FnTool
where
    F: Fn(Value, ToolContext) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<Value, String>> + Send + 'static,
{
    FnTool::new(name, "A tool.", json!({ "type": "object" }), function).unwrap()
}

/// An address on which no server listens, reserved as long as the socket is kept.
pub(crate) fn closed_port() -> (TcpSocket, SocketAddr) {
    let taken = TcpSocket::new_v4().unwrap();
    taken.bind(([127, 0, 0, 1], 0).into()).unwrap();
    let address = taken.local_addr().unwrap();
    (taken, address)
}

/// All events of a run, and its result.
pub(crate) async fn all(mut run: Run) -> (Vec<Event>, RunResult) {
    let mut events = Vec::new();
    while let Some(event) = run.next().await {
        events.push(event);
    }
    (events, run.ended().await.unwrap())
}

/// Plays one prompt.
pub(crate) async fn play(agent: &Agent) -> (Vec<Event>, RunResult) {
    all(agent.stream("go").unwrap()).await
}

/// An event in a few words.
pub(crate) fn brief(event: &Event) -> String {
    let message = |message: &Message| match message {
        Message::ToolResult(result) => format!("result {}", result.tool_call_id),
        other => other.role().to_owned(),
    };
    let kind = event.kind();
    match &event.data {
        EventData::MessageStart { message: m } => format!("{kind} {}", message(m)),
        EventData::MessageEnd { message: m } => match m.as_assistant() {
            Some(assistant) => format!("{kind} assistant {}", assistant.stop_reason.unwrap().as_str()),
            None => format!("{kind} {}", message(m)),
        },
        EventData::MessageUpdate(
            MessageUpdate::TextDelta { delta, .. }
            | MessageUpdate::ThinkingDelta { delta, .. }
            | MessageUpdate::ToolCallDelta { delta, .. },
        ) => format!("{kind} {delta}"),
        EventData::ToolExecutionStart { tool_call_id, .. } => format!("{kind} {tool_call_id}"),
        EventData::ToolExecutionUpdate { tool_call_id, partial_result, .. } => {
            format!("{kind} {tool_call_id} {}", text(&partial_result.content))
        }
        EventData::ToolExecutionEnd { tool_call_id, result, is_error, .. } => {
            format!("{kind} {tool_call_id}{} {}", if *is_error { " error" } else { "" }, text(&result.content))
        }
        EventData::AgentEnd { outcome, .. } => format!("{kind} {}", outcome.as_str()),
        EventData::Diagnostic { code, .. } => format!("{kind} {code}"),
        _ => kind.to_owned(),
    }
}

pub(crate) fn text(content: &[agent_loop::ContentBlock]) -> String {
    content
        .iter()
        .map(|block| match block {
            agent_loop::ContentBlock::Text { text, .. } => text.as_str(),
            _ => "?",
        })
        .collect()
}

pub(crate) fn briefs(events: &[Event]) -> Vec<String> {
    events.iter().map(brief).collect()
}

/// The events of these types, in a few words.
pub(crate) fn only(events: &[Event], kinds: &[&str]) -> Vec<String> {
    events.iter().filter(|event| kinds.contains(&event.kind())).map(brief).collect()
}

/// The tool results a run added: text, and whether it is an error.
pub(crate) fn results(result: &RunResult) -> Vec<(String, bool)> {
    let results = result.messages.iter().filter_map(|message| match &**message {
        Message::ToolResult(result) => Some((message.text(), result.is_error)),
        _ => None,
    });
    results.collect()
}

/// What holds for every stream of events: numbers without gaps, one start, one end, and a transcript of the messages emitted.
pub(crate) fn check(agent: &Agent, events: &[Event]) {
    for (i, event) in events.iter().enumerate() {
        assert_eq!(event.seq, i as u64);
        assert_eq!(event.run_id, events[0].run_id);
    }
    let written: Vec<Value> = events.iter().map(|event| json!(event)).collect();
    agent_loop::testing::check_events(&written).unwrap();
    assert_eq!(events[0].kind(), "agent_start");
    assert_eq!(events.iter().filter(|event| event.kind() == "agent_end").count(), 1);
    assert_eq!(events.last().unwrap().kind(), "agent_end");
    let emitted: Vec<&Arc<Message>> = events
        .iter()
        .filter_map(|event| match &event.data {
            EventData::MessageEnd { message } => Some(message),
            _ => None,
        })
        .collect();
    let messages = agent.messages();
    let added = &messages[messages.len() - emitted.len()..];
    assert!(added.iter().zip(emitted).all(|(a, b)| Arc::ptr_eq(a, b)), "the transcript has the messages that were emitted");
}
