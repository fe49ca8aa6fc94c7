//! What is recorded of runs for OpenTelemetry, on its way to `lib/traces.ts`: JSON, of which JavaScript makes objects in less
//! time than of what crosses one by one.

use std::sync::Arc;

use agent_loop::host::{Attributes, Instrument, SCHEMA_URL, SCOPE, TraceFunction, TraceRecord};
use napi_derive::napi;
use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};

use crate::bridge::Link;

/// Takes what is recorded of a run, which has this number in JavaScript.
pub(crate) fn of_run(link: &Arc<Link>, run: u32) -> TraceFunction {
    let link = Arc::downgrade(link);
    Arc::new(move |records| {
        if let Some(link) = link.upgrade() {
            let records: Vec<Record<'_>> = records.iter().map(Record).collect();
            // A record has nothing that cannot be written.
            link.trace(run, serde_json::to_string(&records).unwrap_or_default());
        }
    })
}

/// The name of the scope of all spans and measurements, and the semantic conventions that they follow.
#[napi(catch_unwind)]
pub fn trace_scope() -> Vec<&'static str> {
    vec![SCOPE, SCHEMA_URL]
}

/// The instruments, in JSON: `[name, unit, description, bounds]` each.
#[napi(catch_unwind)]
pub fn instruments() -> String {
    let row = |one: &Instrument| (one.name(), one.unit(), one.description(), one.bounds());
    serde_json::to_string(&Instrument::ALL.iter().map(row).collect::<Vec<_>>()).unwrap_or_default()
}

/// A record as a list, as `lib/traces.ts` reads it.
struct Record<'a>(&'a TraceRecord);

impl Serialize for Record<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(None)?;
        match self.0 {
            TraceRecord::Start(start) => {
                list.serialize_element(&0)?;
                list.serialize_element(&start.id)?;
                list.serialize_element(&start.parent)?;
                list.serialize_element(&start.is_client)?;
                list.serialize_element(&*start.name)?;
                list.serialize_element(&time(start.time_ns))?;
                list.serialize_element(&Named(&start.attributes))?;
                list.serialize_element(&start.link)?;
                let remote = start
                    .remote
                    .map(|remote| (format!("{:032x}", remote.trace_id), format!("{:016x}", remote.span_id), remote.flags));
                list.serialize_element(&remote)?;
            }
            TraceRecord::End(end) => {
                list.serialize_element(&1)?;
                list.serialize_element(&end.id)?;
                list.serialize_element(&time(end.time_ns))?;
                list.serialize_element(&Named(&end.attributes))?;
                list.serialize_element(&end.error.as_ref().map(|(_, text)| text))?;
                list.serialize_element(&end.is_suspended)?;
            }
            TraceRecord::Measured(measured) => {
                list.serialize_element(&2)?;
                list.serialize_element(measured.instrument.name())?;
                list.serialize_element(&measured.value)?;
                list.serialize_element(&Named(&measured.attributes))?;
            }
        }
        list.end()
    }
}

/// Seconds and nanoseconds, as OpenTelemetry has times in JavaScript.
fn time(ns: u64) -> (u64, u64) {
    (ns / 1_000_000_000, ns % 1_000_000_000)
}

struct Named<'a>(&'a Attributes);

impl Serialize for Named<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, value) in self.0 {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}
