use std::sync::Arc;

use serde_json::{Value, json};

use super::*;
use crate::error::{Error, ErrorKind};
use crate::event::{Event, EventData};
use crate::message::{AssistantMessage, ContentBlock, Message};
use crate::request::Request;
use crate::tool::ToolOutput;
use crate::usage::{Cost, Outcome, Usage};

fn event(data: EventData) -> Event {
    Event::new("run_1".into(), 0, 1, data, None)
}

fn begin(has_content: bool) -> Spans {
    let run = RunSpan {
        run_id: "run_1",
        conversation_id: "talk",
        agent_name: "Poet",
        provider: "google",
        model: "g-1",
        has_content,
        ..RunSpan::default()
    };
    Spans::begin(&run, 1_000)
}

fn answer(usage: Usage) -> AssistantMessage {
    AssistantMessage { usage, response_id: Some("r1".into()), ..AssistantMessage::new(vec![ContentBlock::text("Hello.")]) }
}

fn end(outcome: Outcome, error: Option<Error>) -> EventData {
    let (messages, usage, turns) = (Vec::new(), Box::new(Usage::new(3, 4)), 1);
    EventData::AgentEnd { messages, outcome, error, turns, usage, output: None, pending: None, queued: 0 }
}

/// What is recorded, with spans by their order and attributes as JSON.
fn shown(records: Vec<TraceRecord>) -> Vec<Value> {
    let mut ids: Vec<u64> = Vec::new();
    let named = |attributes: &Attributes| -> Value {
        attributes.iter().map(|(name, value)| ((*name).to_owned(), serde_json::to_value(value).unwrap())).collect()
    };
    records
        .into_iter()
        .map(|record| match record {
            TraceRecord::Start(start) => {
                ids.push(start.id);
                let parent = ids.iter().position(|id| *id == start.parent);
                json!(["start", &*start.name, parent, start.is_client, start.time_ns, named(&start.attributes)])
            }
            TraceRecord::End(end) => {
                let span = ids.iter().position(|id| *id == end.id);
                json!(["end", span, end.time_ns, named(&end.attributes), end.error.map(|(kind, text)| (kind.to_string(), text))])
            }
            TraceRecord::Measured(measured) => json!([measured.instrument.name(), measured.value, named(&measured.attributes)]),
        })
        .collect()
}

#[test]
fn a_model_call_is_a_span_with_its_request_its_answer_and_measurements() {
    let mut spans = begin(false);
    let mut request = Request { system_prompt: "Rhyme.".into(), ..Request::default() };
    (request.options.max_tokens, request.options.temperature) = (Some(100), Some(0.5));
    let server = ("api.example", 443);
    spans.model_called(&request, "google", "g-1", Some(server), 1_000_000_000);
    let usage = Usage { cache_read: 5, cost: Some(Cost { total: 0.25, ..Cost::default() }), ..Usage::new(3, 4) }.totalled();
    let answer = Arc::new(Message::Assistant(answer(usage)));
    spans.event(&event(EventData::MessageStart { message: Arc::clone(&answer) }), 1_500_000_000);
    spans.model_ended(None, 2_000_000_000);
    spans.event(&event(EventData::MessageEnd { message: answer }), 3_000_000_000);
    let what = json!({
        "gen_ai.operation.name": "chat", "gen_ai.provider.name": "gcp.gemini", "gen_ai.request.model": "g-1",
        "server.address": "api.example", "server.port": 443, "gen_ai.response.model": "g-1",
    });
    let with = |name: &str, value: &str| {
        let mut what = what.clone();
        what[name] = value.into();
        what
    };
    assert_eq!(
        shown(spans.take()),
        [
            json!(["start", "invoke_agent Poet", null, false, 1000, {
                "gen_ai.operation.name": "invoke_agent", "gen_ai.provider.name": "gcp.gemini", "gen_ai.request.model": "g-1",
                "gen_ai.conversation.id": "talk", "agent_loop.run.id": "run_1", "gen_ai.agent.name": "Poet",
            }]),
            json!(["start", "chat g-1", 0, true, 1_000_000_000, {
                "gen_ai.operation.name": "chat", "gen_ai.provider.name": "gcp.gemini", "gen_ai.request.model": "g-1",
                "server.address": "api.example", "server.port": 443,
                "gen_ai.conversation.id": "talk", "gen_ai.agent.name": "Poet",
                "gen_ai.request.temperature": 0.5, "gen_ai.request.max_tokens": 100,
            }]),
            json!(["end", 1, 2_000_000_000, {
                "gen_ai.response.model": "g-1", "gen_ai.response.id": "r1", "gen_ai.response.finish_reasons": ["stop"],
                "gen_ai.usage.input_tokens": 8, "gen_ai.usage.output_tokens": 4, "gen_ai.usage.cache_read.input_tokens": 5,
                "agent_loop.cost": 0.25, "gen_ai.response.time_to_first_chunk": 0.5,
            }, null]),
            json!(["gen_ai.client.operation.duration", 1.0, what]),
            json!(["gen_ai.client.operation.time_to_first_chunk", 0.5, what]),
            json!(["gen_ai.client.token.usage", 8.0, with("gen_ai.token.type", "input")]),
            json!(["gen_ai.client.token.usage", 4.0, with("gen_ai.token.type", "output")]),
        ]
    );
}

#[test]
fn each_attempt_is_a_span_and_a_tool_call_another() {
    let mut spans = begin(false);
    spans.model_called(&Request::default(), "p", "m", None, 10);
    let error = Error::new(ErrorKind::RateLimited, "slow down");
    spans.model_ended(Some(&error), 20);
    spans.event(&event(EventData::Retry { attempt: 1, delay_ms: 5, error }), 20);
    spans.model_called(&Request::default(), "p", "m", None, 30);
    spans.event(&event(EventData::MessageEnd { message: Arc::new(Message::Assistant(answer(Usage::default()))) }), 40);
    let (id, name, arguments) = (Arc::from("c1"), Arc::from("add"), Arc::default());
    assert_eq!(spans.tool("c1"), 0);
    let start = EventData::ToolExecutionStart { tool_call_id: Arc::clone(&id), tool_name: Arc::clone(&name), arguments };
    spans.event(&event(start), 50);
    assert_ne!(spans.tool("c1"), 0);
    let result = Box::new(ToolOutput::new(vec![ContentBlock::text("no")]));
    spans.event(
        &event(EventData::ToolExecutionEnd { tool_call_id: id, tool_name: name, result, is_error: true, duration_ms: 1 }),
        60,
    );
    spans.event(&event(end(Outcome::Completed, None)), 70);
    let ends: Vec<Value> = shown(spans.take()).into_iter().filter(|record| record[0] == "end").collect();
    let of = |at: usize| (ends[at][1].clone(), ends[at][2].clone(), ends[at][4].clone());
    assert_eq!(of(0), (json!(1), json!(20), json!(["rate_limited", "slow down"])));
    assert_eq!(ends[0][3], json!({ "error.type": "rate_limited" }));
    assert_eq!(of(1), (json!(2), json!(40), json!(null)));
    assert_eq!(of(2), (json!(3), json!(60), json!(["tool_error", ""])));
    assert_eq!(of(3), (json!(0), json!(70), json!(null)));
    assert_eq!(ends[3][3]["agent_loop.outcome"], "completed");
    assert_eq!(ends[3][3]["gen_ai.usage.input_tokens"], 3);
}

#[test]
fn what_a_run_leaves_open_ends_with_it() {
    let mut spans = begin(false);
    let start = EventData::ToolExecutionStart { tool_call_id: "c1".into(), tool_name: "add".into(), arguments: Arc::default() };
    spans.event(&event(start), 10);
    spans.model_called(&Request::default(), "p", "m", None, 10);
    let error = Error::new(ErrorKind::Aborted, "the run was aborted");
    spans.event(&event(end(Outcome::Aborted, Some(error))), 20);
    let ends: Vec<Value> = shown(spans.take()).into_iter().filter(|record| record[0] == "end").collect();
    let errors: Vec<&Value> = ends.iter().map(|end| &end[4][0]).collect();
    assert_eq!(errors, [&json!(null), &json!("aborted"), &json!("aborted")]);
}

#[test]
fn content_is_there_only_when_it_is_asked_for() {
    for has_content in [false, true] {
        let mut spans = begin(has_content);
        let mut request = Request { system_prompt: "secret system".into(), ..Request::default() };
        request.messages.push(Arc::new(Message::user("secret question", 0)));
        spans.model_called(&request, "p", "m", None, 10);
        let said = AssistantMessage::new(vec![ContentBlock::text("secret answer")]);
        spans.event(&event(EventData::MessageEnd { message: Arc::new(Message::Assistant(said)) }), 20);
        let arguments = Arc::new([("key".to_owned(), json!("secret argument"))].into_iter().collect());
        let (id, name) = (Arc::from("c1"), Arc::from("add"));
        let start = EventData::ToolExecutionStart { tool_call_id: Arc::clone(&id), tool_name: Arc::clone(&name), arguments };
        spans.event(&event(start), 30);
        let result = Box::new(ToolOutput::new(vec![ContentBlock::text("secret result")]));
        spans.event(
            &event(EventData::ToolExecutionEnd { tool_call_id: id, tool_name: name, result, is_error: false, duration_ms: 1 }),
            40,
        );
        let failure = Error::callback("secret failure");
        spans.event(&event(end(Outcome::Error, Some(failure))), 50);
        let text = Value::from(shown(spans.take())).to_string();
        for secret in ["system", "question", "answer", "argument", "result", "failure"] {
            assert_eq!(text.contains(&format!("secret {secret}")), has_content, "{secret}");
        }
    }
}
