//! The option `traces`.

use agent_loop_proto::json_error::shown;
use serde_json::Value;

#[cfg(feature = "otlp")]
use super::otlp::target::Target;
use crate::error::Error;

/// Where the spans of runs go.
///
/// ```
/// use agent_loop::trace::Traces;
///
/// assert!(Traces::from(true).is_on());
/// assert!(!Traces::default().is_on());
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Traces(TracesTo);

/// Where they go.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum TracesTo {
    #[default]
    Off,
    /// To the OpenTelemetry of the host.
    On,
    /// To a collector.
    #[cfg(feature = "otlp")]
    Otlp(Target),
}

impl From<bool> for Traces {
    fn from(is_on: bool) -> Traces {
        Traces(if is_on { TracesTo::On } else { TracesTo::Off })
    }
}

impl Traces {
    /// To the collector at this address, by OTLP over HTTP: `http://localhost:4318`. What `OTEL_EXPORTER_OTLP_HEADERS` and
    /// `OTEL_SERVICE_NAME` say holds, too.
    #[cfg(feature = "otlp")]
    pub fn otlp(endpoint: impl Into<String>) -> Traces {
        Traces(TracesTo::Otlp(Target::at(endpoint)))
    }

    /// Whether there are spans.
    pub fn is_on(&self) -> bool {
        self.0 != TracesTo::Off
    }

    pub(crate) fn target(&self) -> &TracesTo {
        &self.0
    }

    /// As a host gives it.
    ///
    /// # Errors
    /// `invalid_argument`: the value is none.
    pub(crate) fn from_json(value: &Value, spelled: &str) -> Result<Traces, Error> {
        match value {
            Value::Null | Value::Bool(false) => Ok(Traces(TracesTo::Off)),
            Value::Bool(true) => Ok(Traces(TracesTo::On)),
            #[cfg(feature = "otlp")]
            Value::String(_) | Value::Object(_) => {
                let target = Target::from_json(value);
                let target = target.map_err(|error| error.reworded(|why| format!("option {spelled:?}: {why}")))?;
                Ok(Traces(TracesTo::Otlp(target)))
            }
            other => {
                let expected = if cfg!(feature = "otlp") { "true, false or a collector's address" } else { "true or false" };
                Err(Error::invalid_argument(format!("option {spelled:?}: expected {expected}, got {}", shown(other))))
            }
        }
    }
}
