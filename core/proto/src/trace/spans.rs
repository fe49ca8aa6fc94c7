//! A run's events and model calls to records.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::attributes::{Attribute, Attributes, Text, input_tokens, of_answer, of_call, of_request, of_usage};
use super::content;
use super::parent::TraceParent;
use super::record::{Instrument, Measured, SpanEnd, SpanStart, TraceRecord};
use crate::error::{Error, ErrorKind};
use crate::event::{Event, EventData};
use crate::message::{AssistantMessage, Message};
use crate::request::Request;
use crate::usage::Outcome;

/// The spans of one run.
#[derive(Debug)]
pub struct Spans {
    run: Open,
    /// What all spans of the run have.
    conversation_id: Arc<str>,
    agent_name: Option<Arc<str>>,
    has_content: bool,
    /// What was called last: a run mostly calls the same model again.
    called: Option<Arc<Called>>,
    call: Option<Call>,
    tools: Vec<(Arc<str>, Arc<str>, Open)>,
    records: Vec<TraceRecord>,
}

/// A span that has begun.
#[derive(Debug, Clone)]
struct Open {
    id: u64,
    start_ns: u64,
}

/// A model, as it is called.
#[derive(Debug)]
struct Called {
    provider: String,
    model: Text,
    server: Option<(String, u16)>,
    /// The name of the spans.
    name: Arc<str>,
    /// What a call is, also in what is measured of it.
    what: Attributes,
}

impl Called {
    fn is(&self, provider: &str, model: &str, server: Option<(&str, u16)>) -> bool {
        let own = self.server.as_ref().map(|(address, port)| (address.as_str(), *port));
        self.provider == provider && *self.model == *model && own == server
    }
}

/// A model call.
#[derive(Debug)]
struct Call {
    span: Open,
    of: Arc<Called>,
    first_ns: Option<u64>,
    /// When the model had ended, and the error.
    ended: Option<(u64, Option<Error>)>,
}

/// How a run begins.
#[derive(Debug, Clone, Default)]
pub struct RunSpan<'a> {
    /// Its id.
    pub run_id: &'a str,
    /// The conversation that it goes on with.
    pub conversation_id: &'a str,
    /// The agent's name; empty for none.
    pub agent_name: &'a str,
    /// The provider of its model.
    pub provider: &'a str,
    /// The id of its model there.
    pub model: &'a str,
    /// The number of the span around it; 0 for the host's own.
    pub parent: u64,
    /// The number of the span of the run that it goes on with; 0 for none.
    pub link: u64,
    /// The trace that it belongs to, in place of the host's own.
    pub remote: Option<TraceParent>,
    /// Whether spans have the texts of messages, arguments and results.
    pub has_content: bool,
}

/// A number that no other span of the process has.
fn new_id() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    LAST.fetch_add(1, Ordering::Relaxed) + 1
}

#[allow(clippy::cast_precision_loss)] // Of times that no run takes.
fn seconds(from_ns: u64, to_ns: u64) -> f64 {
    to_ns.saturating_sub(from_ns) as f64 / 1e9
}

impl Spans {
    /// A run begins.
    pub fn begin(run: &RunSpan<'_>, now_ns: u64) -> Spans {
        let mut attributes = of_call("invoke_agent", run.provider, run.model, None);
        attributes.push(("gen_ai.conversation.id", run.conversation_id.to_owned().into()));
        attributes.push(("agent_loop.run.id", run.run_id.to_owned().into()));
        let name: Arc<str> = match run.agent_name {
            "" => "invoke_agent".into(),
            name => {
                attributes.push(("gen_ai.agent.name", name.to_owned().into()));
                format!("invoke_agent {name}").into()
            }
        };
        let open = Open { id: new_id(), start_ns: now_ns };
        let start = SpanStart {
            id: open.id,
            parent: run.parent,
            is_client: false,
            name,
            time_ns: now_ns,
            attributes,
            link: run.link,
            remote: run.remote,
        };
        Spans {
            run: open,
            conversation_id: run.conversation_id.into(),
            agent_name: (!run.agent_name.is_empty()).then(|| run.agent_name.into()),
            has_content: run.has_content,
            called: None,
            call: None,
            tools: Vec::new(),
            records: vec![TraceRecord::Start(Box::new(start))],
        }
    }

    /// The number of the run's span.
    pub fn run(&self) -> u64 {
        self.run.id
    }

    /// The number of the span of a tool call, by the call's id; 0 for one that does not run.
    pub fn tool(&self, call_id: &str) -> u64 {
        self.tools.iter().rev().find(|(id, ..)| &**id == call_id).map_or(0, |(.., span)| span.id)
    }

    /// The records since this was last asked.
    pub fn take(&mut self) -> Vec<TraceRecord> {
        std::mem::take(&mut self.records)
    }

    /// A model is called.
    pub fn model_called(&mut self, request: &Request, provider: &str, model: &str, server: Option<(&str, u16)>, now_ns: u64) {
        self.close_call(None, now_ns);
        let of = self.called(provider, model, server);
        let mut attributes = Attributes::with_capacity(12);
        attributes.extend_from_slice(&of.what);
        self.add_conversation(&mut attributes);
        of_request(&mut attributes, request);
        if self.has_content {
            attributes.push(("gen_ai.input.messages", content::input(&request.messages).into()));
            if !request.system_prompt.is_empty() {
                let instructions = content::instructions(&request.system_prompt);
                attributes.push(("gen_ai.system_instructions", instructions.into()));
            }
        }
        let span = self.start(true, Arc::clone(&of.name), attributes, now_ns);
        self.call = Some(Call { span, of, first_ns: None, ended: None });
    }

    fn called(&mut self, provider: &str, model: &str, server: Option<(&str, u16)>) -> Arc<Called> {
        if let Some(called) = self.called.as_ref().filter(|called| called.is(provider, model, server)) {
            return Arc::clone(called);
        }
        let called = Arc::new(Called {
            provider: provider.to_owned(),
            model: model.to_owned().into(),
            server: server.map(|(address, port)| (address.to_owned(), port)),
            name: format!("chat {model}").into(),
            what: of_call("chat", provider, model, server),
        });
        self.called = Some(Arc::clone(&called));
        called
    }

    /// The stream of the model has ended, or the call failed. Its span ends with the message, or the retry.
    pub fn model_ended(&mut self, error: Option<&Error>, now_ns: u64) {
        if let Some(call) = &mut self.call {
            call.ended.get_or_insert_with(|| (now_ns, error.cloned()));
        }
    }

    /// An event of the run.
    pub fn event(&mut self, event: &Event, now_ns: u64) {
        match &event.data {
            EventData::MessageStart { message } if message.as_assistant().is_some() => {
                if let Some(call) = &mut self.call {
                    call.first_ns.get_or_insert(now_ns);
                }
            }
            EventData::MessageEnd { message } => {
                if let Message::Assistant(answer) = &**message {
                    self.close_call(Some(answer), now_ns);
                }
            }
            EventData::Retry { error, .. } => {
                if let Some(call) = &mut self.call {
                    call.ended.get_or_insert_with(|| (now_ns, None)).1.get_or_insert_with(|| error.clone());
                }
                self.close_call(None, now_ns);
            }
            EventData::ToolExecutionStart { tool_call_id, tool_name, arguments } => {
                let mut attributes: Attributes = vec![
                    ("gen_ai.operation.name", "execute_tool".into()),
                    ("gen_ai.tool.name", tool_name.into()),
                    ("gen_ai.tool.call.id", tool_call_id.into()),
                    ("gen_ai.tool.type", "function".into()),
                ];
                self.add_conversation(&mut attributes);
                if self.has_content {
                    let text = serde_json::to_string(arguments).unwrap_or_default();
                    attributes.push(("gen_ai.tool.call.arguments", text.into()));
                }
                let span = self.start(false, format!("execute_tool {tool_name}").into(), attributes, now_ns);
                self.tools.push((Arc::clone(tool_call_id), Arc::clone(tool_name), span));
            }
            EventData::ToolExecutionEnd { tool_call_id, result, is_error, .. } => {
                let mut attributes = Attributes::new();
                if self.has_content {
                    let response = match content::response(&result.content) {
                        serde_json::Value::String(text) => text,
                        other => other.to_string(),
                    };
                    attributes.push(("gen_ai.tool.call.result", response.into()));
                }
                self.close_tool(tool_call_id, attributes, is_error.then_some("tool_error"), now_ns);
            }
            EventData::ToolCallSuspended { tool_call_id, .. } => {
                self.close_tool(tool_call_id, vec![("agent_loop.outcome", "suspended".into())], None, now_ns);
            }
            EventData::AgentEnd { outcome, error, turns, usage, .. } => {
                // An aborted run emits no ends of these.
                self.close_call(None, now_ns);
                while let Some((id, ..)) = self.tools.last().cloned() {
                    self.close_tool(&id, Attributes::new(), Some("aborted"), now_ns);
                }
                let mut attributes =
                    vec![("agent_loop.outcome", outcome.as_str().into()), ("agent_loop.turns", u64::from(*turns).into())];
                of_usage(&mut attributes, usage);
                let failure = error.as_ref().filter(|_| matches!(outcome, Outcome::Error | Outcome::Aborted));
                let error = failure.map(|error| self.failure(error));
                let is_suspended = *outcome == Outcome::Suspended;
                let mut measured: Attributes = vec![("gen_ai.operation.name", "invoke_agent".into())];
                if let Some(name) = &self.agent_name {
                    measured.push(("gen_ai.agent.name", name.into()));
                }
                let Open { id, start_ns } = self.run;
                self.end(id, attributes, error, is_suspended, now_ns);
                self.measure_time(Instrument::AgentDuration, start_ns, now_ns, measured);
            }
            _ => {}
        }
    }

    fn add_conversation(&self, attributes: &mut Attributes) {
        attributes.push(("gen_ai.conversation.id", (&self.conversation_id).into()));
        if let Some(name) = &self.agent_name {
            attributes.push(("gen_ai.agent.name", name.into()));
        }
    }

    fn start(&mut self, is_client: bool, name: Arc<str>, attributes: Attributes, now_ns: u64) -> Open {
        let (id, parent) = (new_id(), self.run.id);
        let start = SpanStart { id, parent, is_client, name, time_ns: now_ns, attributes, link: 0, remote: None };
        self.records.push(TraceRecord::Start(Box::new(start)));
        Open { id, start_ns: now_ns }
    }

    /// Ends a span; an error is one of its attributes.
    fn end(&mut self, id: u64, mut attributes: Attributes, error: Option<(Text, String)>, is_suspended: bool, time_ns: u64) {
        if let Some((kind, _)) = &error {
            attributes.push(("error.type", kind.clone().into()));
        }
        self.records.push(TraceRecord::End(SpanEnd { id, time_ns, attributes, error, is_suspended }));
    }

    fn measure_time(&mut self, instrument: Instrument, from_ns: u64, to_ns: u64, mut attributes: Attributes) {
        // The last record is the end of the span that is measured.
        if let Some(TraceRecord::End(SpanEnd { error: Some((kind, _)), .. })) = self.records.last() {
            attributes.push(("error.type", kind.clone().into()));
        }
        let value = seconds(from_ns, to_ns);
        self.records.push(TraceRecord::Measured(Measured { instrument, value, attributes }));
    }

    /// The kind of an error, and what it says: of a provider or a host that may be content.
    fn failure(&self, error: &Error) -> (Text, String) {
        let kind = error.kind();
        let is_shown = self.has_content || kind != ErrorKind::Callback;
        (kind.as_str().into(), if is_shown { error.message().to_owned() } else { String::new() })
    }

    /// Ends the model call that is open, as the model has ended it.
    fn close_call(&mut self, answer: Option<&AssistantMessage>, now_ns: u64) {
        let Some(Call { span, of, first_ns, ended }) = self.call.take() else {
            return;
        };
        let (end_ns, error) = ended.unwrap_or((now_ns, None));
        let answered = answer.map(|answer| match answer.response_model.as_deref() {
            Some(other) if *other != *of.model => other.to_owned().into(),
            _ => of.model.clone(),
        });
        let mut attributes = Attributes::new();
        if let (Some(answer), Some(answered)) = (answer, &answered) {
            attributes.reserve(8);
            of_answer(&mut attributes, answer, answered);
            if self.has_content {
                attributes.push(("gen_ai.output.messages", content::output(answer).into()));
            }
        }
        let first_s = first_ns.map(|first_ns| seconds(span.start_ns, first_ns));
        if let Some(first_s) = first_s {
            attributes.push(("gen_ai.response.time_to_first_chunk", Attribute::Number(first_s)));
        }
        // What the loop says of an answer counts: one that the model has ended may be cut.
        let error = answer.map_or(error.as_ref(), |answer| answer.error.as_ref()).map(|error| self.failure(error));
        self.end(span.id, attributes, error, false, end_ns);
        let what = || {
            let mut what = Attributes::with_capacity(of.what.len() + 2);
            what.extend_from_slice(&of.what);
            what.extend(answered.clone().map(|answered| ("gen_ai.response.model", answered.into())));
            what
        };
        self.measure_time(Instrument::OperationDuration, span.start_ns, end_ns, what());
        let mut measure = |instrument, value, attributes| {
            self.records.push(TraceRecord::Measured(Measured { instrument, value, attributes }));
        };
        if let Some(first_s) = first_s {
            measure(Instrument::TimeToFirstChunk, first_s, what());
        }
        let usage = answer.map(|answer| &answer.usage).filter(|usage| usage.total > 0);
        for (word, tokens) in usage.into_iter().flat_map(|usage| [("input", input_tokens(usage)), ("output", usage.output)]) {
            let mut attributes = what();
            attributes.push(("gen_ai.token.type", word.into()));
            #[allow(clippy::cast_precision_loss)] // Histograms have doubles.
            measure(Instrument::TokenUsage, tokens as f64, attributes);
        }
    }

    fn close_tool(&mut self, call_id: &str, attributes: Attributes, error: Option<&'static str>, now_ns: u64) {
        let Some(at) = self.tools.iter().rposition(|(id, ..)| &**id == call_id) else {
            return;
        };
        let (_, name, span) = self.tools.remove(at);
        let error = error.map(|kind| (kind.into(), String::new()));
        self.end(span.id, attributes, error, false, now_ns);
        let what = vec![("gen_ai.operation.name", "execute_tool".into()), ("gen_ai.tool.name", (&name).into())];
        self.measure_time(Instrument::ToolDuration, span.start_ns, now_ns, what);
    }
}
