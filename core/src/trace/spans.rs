//! Spans of `tracing`, for a subscriber of OpenTelemetry such as `tracing-opentelemetry`, and measurements for its
//! `MetricsLayer`.
//!
//! `tracing` has one list of fields for each place in a program that makes spans. Those of a kind of span are listed here; which
//! of them a span has is up to its records.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use agent_loop_proto::trace::{Attribute, Attributes, Instrument, Measured, SpanEnd, SpanStart, TraceRecord};
use tracing::Span;
use tracing::field::Empty;

use super::sink::TraceSink;

/// The spans of a run and of its subagents.
#[derive(Default)]
pub(crate) struct TracingSpans {
    open: Mutex<HashMap<u64, Span>>,
}

impl TracingSpans {
    fn lock(&self) -> MutexGuard<'_, HashMap<u64, Span>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn start(&self, start: SpanStart) {
        let around = self.span(start.parent).unwrap_or_else(Span::current);
        let span = around.in_scope(|| new_span(&start.attributes));
        span.record("otel.name", &*start.name);
        record(&span, &start.attributes);
        self.lock().insert(start.id, span);
    }

    fn end(&self, end: SpanEnd) {
        let Some(span) = self.lock().remove(&end.id) else {
            return;
        };
        record(&span, &end.attributes);
        if let Some((_, text)) = &end.error {
            span.record("otel.status_code", "ERROR");
            span.record("otel.status_description", text.as_str());
        }
        // Dropped outside of the lock: the last one that has it ends the span.
    }
}

impl TraceSink for TracingSpans {
    fn record(&self, records: Vec<TraceRecord>) {
        for record in records {
            match record {
                TraceRecord::Start(start) => self.start(*start),
                TraceRecord::End(end) => self.end(end),
                TraceRecord::Measured(measured) => measure(&measured),
                // Both crates have one version: there is no other record.
                #[cfg(not(feature = "__bindings"))]
                _ => {}
            }
        }
    }

    fn span(&self, id: u64) -> Option<Span> {
        self.lock().get(&id).cloned()
    }
}

/// A span with the fields of its operation.
fn new_span(attributes: &Attributes) -> Span {
    macro_rules! span {
        ($name:literal, $kind:literal: $($field:literal)+) => {
            tracing::info_span!(
                $name,
                "otel.kind" = $kind,
                "otel.name" = Empty,
                "otel.status_code" = Empty,
                "otel.status_description" = Empty,
                "error.type" = Empty,
                "gen_ai.operation.name" = Empty,
                "gen_ai.conversation.id" = Empty,
                "gen_ai.agent.name" = Empty,
                $($field = Empty,)+
            )
        };
    }
    match attributes.first() {
        Some((_, Attribute::Text(operation))) if &**operation == "chat" => span!(
            "chat", "client":
            "gen_ai.provider.name" "gen_ai.request.model" "server.address" "server.port" "gen_ai.request.temperature"
            "gen_ai.request.top_p" "gen_ai.request.top_k" "gen_ai.request.max_tokens" "gen_ai.request.seed" "gen_ai.output.type"
            "gen_ai.input.messages" "gen_ai.system_instructions" "gen_ai.output.messages" "gen_ai.response.model"
            "gen_ai.response.id" "gen_ai.response.finish_reasons" "gen_ai.response.time_to_first_chunk"
            "gen_ai.usage.input_tokens" "gen_ai.usage.output_tokens" "gen_ai.usage.cache_read.input_tokens"
            "gen_ai.usage.cache_creation.input_tokens" "gen_ai.usage.reasoning.output_tokens" "agent_loop.cost"
        ),
        Some((_, Attribute::Text(operation))) if &**operation == "execute_tool" => span!(
            "execute_tool", "internal":
            "gen_ai.tool.name" "gen_ai.tool.call.id" "gen_ai.tool.type" "gen_ai.tool.call.arguments" "gen_ai.tool.call.result"
            "agent_loop.outcome"
        ),
        _ => span!(
            "invoke_agent", "internal":
            "gen_ai.provider.name" "gen_ai.request.model" "gen_ai.usage.input_tokens" "gen_ai.usage.output_tokens"
            "gen_ai.usage.cache_read.input_tokens" "gen_ai.usage.cache_creation.input_tokens"
            "gen_ai.usage.reasoning.output_tokens" "agent_loop.cost" "agent_loop.run.id" "agent_loop.outcome" "agent_loop.turns"
            "outcome" "turns"
        ),
    }
}

fn record(span: &Span, attributes: &Attributes) {
    for (name, value) in attributes {
        match value {
            Attribute::Text(text) => span.record(*name, &**text),
            Attribute::Whole(number) => span.record(*name, *number),
            Attribute::Number(number) => span.record(*name, *number),
            // `tracing` has no lists.
            Attribute::Texts(texts) => span.record(*name, texts.join(",").as_str()),
            #[cfg(not(feature = "__bindings"))]
            _ => span,
        };
    }
}

/// An event that `MetricsLayer` counts.
fn measure(measured: &Measured) {
    let text = |name: &str| {
        measured.attributes.iter().find_map(|(other, value)| match value {
            Attribute::Text(text) if *other == name => Some(&**text),
            _ => None,
        })
    };
    let port = measured.attributes.iter().find_map(|(name, value)| match value {
        Attribute::Whole(port) if *name == "server.port" => Some(*port),
        _ => None,
    });
    macro_rules! event {
        ($name:literal) => {
            tracing::event!(target: "agent_loop::metrics", tracing::Level::TRACE, {
                $name = measured.value,
                "gen_ai.operation.name" = text("gen_ai.operation.name"),
                "gen_ai.provider.name" = text("gen_ai.provider.name"),
                "gen_ai.request.model" = text("gen_ai.request.model"),
                "gen_ai.response.model" = text("gen_ai.response.model"),
                "gen_ai.token.type" = text("gen_ai.token.type"),
                "gen_ai.agent.name" = text("gen_ai.agent.name"),
                "gen_ai.tool.name" = text("gen_ai.tool.name"),
                "server.address" = text("server.address"),
                "server.port" = port,
                "error.type" = text("error.type"),
            })
        };
    }
    match measured.instrument {
        Instrument::TokenUsage => event!("histogram.gen_ai.client.token.usage"),
        Instrument::OperationDuration => event!("histogram.gen_ai.client.operation.duration"),
        Instrument::TimeToFirstChunk => event!("histogram.gen_ai.client.operation.time_to_first_chunk"),
        Instrument::AgentDuration => event!("histogram.gen_ai.invoke_agent.duration"),
        Instrument::ToolDuration => event!("histogram.gen_ai.execute_tool.duration"),
        #[cfg(not(feature = "__bindings"))]
        _ => {}
    }
}
