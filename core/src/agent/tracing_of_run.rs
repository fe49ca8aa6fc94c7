//! Whether a run has spans, and how its own begins.

use std::sync::Arc;

use agent_loop_proto::trace::{RunSpan, TraceParent};

use crate::clock::Clock;
use crate::connection::Connection;
use crate::error::Error;
use crate::model::Model;
use crate::run::parent::Parent;
use crate::runtime::Runtime;
use crate::trace::option::{Traces, TracesTo};
use crate::trace::run_trace::{RunTrace, Suspended, wants_content};
use crate::trace::sink::Sink;

/// What an agent's options say of the spans of a run.
pub(super) struct Tracing<'a> {
    pub(super) options: &'a Connection,
    pub(super) suspended: &'a Suspended,
    /// The run's own.
    pub(super) traceparent: Option<TraceParent>,
    pub(super) link: u64,
}

impl Tracing<'_> {
    /// What makes the run's span, of its id and the conversation's; `None` for a run without spans. A subagent's go where those
    /// of the call go that it works for. `own` takes them in place of `tracing`.
    ///
    /// # Errors
    /// `invalid_argument`: a wrong `traceparent`, or nothing here takes spans.
    pub(super) fn begin<'b>(
        self,
        own: Option<Sink>,
        parent: Option<&Parent>,
        runtime: &Runtime,
        clock: &'b Clock,
        model: &'b dyn Model,
    ) -> Result<Option<impl FnOnce(&str, &str) -> RunTrace + use<'b>>, Error> {
        let around = parent.and_then(Parent::trace);
        if around.is_none() && !self.options.traces.is_on() {
            return Ok(None);
        }
        let remote = match self.options.traceparent.as_str() {
            _ if self.traceparent.is_some() => self.traceparent,
            "" => None,
            text => Some(TraceParent::parse(text, "option \"traceparent\"")?),
        };
        let (sink, span, tool) = match around {
            Some((sink, span, tool)) => (Some(sink), span, tool.to_owned()),
            None => (sink(&self.options.traces, own, runtime)?, 0, String::new()),
        };
        let has_content = self.options.trace_content.unwrap_or_else(wants_content);
        let (name, suspended, link) = (Arc::clone(&self.options.agent_name), Arc::clone(self.suspended), self.link);
        Ok(sink.map(|sink| {
            move |run_id: &str, conversation_id: &str| {
                let info = model.info();
                let run = RunSpan {
                    run_id,
                    conversation_id,
                    agent_name: if name.is_empty() { &tool } else { &name },
                    provider: info.provider,
                    model: info.id,
                    parent: span,
                    link,
                    remote,
                    has_content,
                };
                RunTrace::begin(&run, sink, clock, suspended)
            }
        }))
    }
}

/// Where the records of a run go; a host's own sink takes them in place of `tracing`.
#[cfg_attr(not(feature = "otlp"), allow(unused_variables))]
fn sink(traces: &Traces, own: Option<Sink>, runtime: &Runtime) -> Result<Option<Sink>, Error> {
    match (traces.target(), own) {
        (TracesTo::Off, _) => Ok(None),
        #[cfg(feature = "otlp")]
        (TracesTo::Otlp(target), _) => runtime.exporter(target).map(Some),
        (TracesTo::On, Some(own)) => Ok(Some(own)),
        #[cfg(feature = "otel")]
        (TracesTo::On, None) => Ok(Some(Arc::new(crate::trace::spans::TracingSpans::default()))),
        #[cfg(all(feature = "otlp", not(feature = "otel")))]
        (TracesTo::On, None) => runtime.exporter(&crate::trace::otlp::target::Target::default()).map(Some),
        #[cfg(not(any(feature = "otlp", feature = "otel")))]
        (TracesTo::On, None) => {
            let text = "option \"traces\": nothing takes spans here; build agent-loop with its feature otel, or otlp";
            Err(Error::invalid_argument(text))
        }
    }
}
