//! Where what is recorded of a run goes.

use std::sync::Arc;

use agent_loop_proto::trace::TraceRecord;

/// Takes what is recorded of a run, where it happens: outside of all locks, and it must not block.
pub(crate) trait TraceSink: Send + Sync {
    /// In order.
    fn record(&self, records: Vec<TraceRecord>);

    /// The span of this number, for what runs inside of it.
    #[cfg(feature = "otel")]
    fn span(&self, _id: u64) -> Option<tracing::Span> {
        None
    }
}

/// A host's.
impl<F: Fn(Vec<TraceRecord>) + Send + Sync> TraceSink for F {
    fn record(&self, records: Vec<TraceRecord>) {
        self(records);
    }
}

/// A host's function for what is recorded of a run.
#[cfg(feature = "__bindings")]
pub type TraceFunction = Arc<dyn Fn(Vec<TraceRecord>) + Send + Sync>;

/// Where the records of a run go.
pub(crate) type Sink = Arc<dyn TraceSink>;
