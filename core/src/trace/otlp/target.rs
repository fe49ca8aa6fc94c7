//! Where a collector is: what the option says, and else the standard variables.

use std::time::Duration;

use agent_loop_proto::json_error::shown;
use reqwest::Url;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use serde_json::Value;

use crate::error::Error;
use crate::transport::header::header;

/// Where a collector is; what is not given is as the standard variables have it.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct Target {
    endpoint: Option<String>,
    headers: Vec<(String, String)>,
    service_name: Option<String>,
}

impl std::fmt::Debug for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Not the headers, nor user and password of the address: they may be keys.
        let url = self.endpoint.as_deref().and_then(|endpoint| Url::parse(endpoint).ok());
        f.debug_tuple("Target").field(&url.as_ref().and_then(Url::host_str)).finish()
    }
}

/// So that an exporter does not only look for what there is to send.
const SHORTEST_DELAY_MS: u64 = 100;

const FIELDS: &str = "expected a collector's address, or {\"endpoint\": …, \"headers\": …, \"service_name\": …}";

impl Target {
    pub(crate) fn at(endpoint: impl Into<String>) -> Target {
        Target { endpoint: Some(endpoint.into()), ..Target::default() }
    }

    /// # Errors
    /// `invalid_argument`: the value is none, or its address cannot be used.
    pub(crate) fn from_json(value: &Value) -> Result<Target, Error> {
        let mut target = Target::default();
        let text = |name: &str, value: &Value| match value {
            Value::Null => Ok(None),
            Value::String(text) => Ok(Some(text.clone())),
            other => Err(Error::invalid_argument(format!("{name:?}: expected text, got {}", shown(other)))),
        };
        match value {
            Value::String(endpoint) => target.endpoint = Some(endpoint.clone()),
            Value::Object(fields) => {
                for (name, value) in fields {
                    match name.as_str() {
                        "endpoint" => target.endpoint = text(name, value)?,
                        "service_name" => target.service_name = text(name, value)?,
                        "headers" => {
                            agent_loop_proto::model_spec::check_headers("\"headers\"", Some(value))?;
                            let given = value.as_object().into_iter().flatten();
                            target.headers = given
                                .map(|(name, value)| (name.clone(), value.as_str().unwrap_or_default().to_owned()))
                                .collect();
                        }
                        other => return Err(Error::invalid_argument(format!("unknown field {other:?}; {FIELDS}"))),
                    }
                }
            }
            other => return Err(Error::invalid_argument(format!("{FIELDS}, got {}", shown(other)))),
        }
        target.resolved(&|_| None)?;
        Ok(target)
    }

    /// With what the environment says.
    pub(super) fn resolved(&self, variable: &dyn Fn(&str) -> Option<String>) -> Result<Resolved, Error> {
        let variable = |name: &str| variable(name).filter(|value| !value.trim().is_empty());
        let base = self.endpoint.clone().or_else(|| variable("OTEL_EXPORTER_OTLP_ENDPOINT"));
        let base = base.unwrap_or_else(|| "http://localhost:4318".to_owned());
        let signal = |name: &str, path: &str| {
            // A variable for one signal has the whole address.
            let whole = variable(&format!("OTEL_EXPORTER_OTLP_{name}_ENDPOINT")).filter(|_| self.endpoint.is_none());
            let given = whole.as_ref().unwrap_or(&base);
            let address = whole.clone().unwrap_or_else(|| format!("{}/v1/{path}", base.trim_end_matches('/')));
            let url = Url::parse(&address).ok().filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
            url.ok_or_else(|| {
                let text = format!("{given:?} is no address of a collector; give one as http://localhost:4318");
                Error::invalid_argument(text)
            })
        };
        let mut headers = HeaderMap::new();
        let of_variable = variable("OTEL_EXPORTER_OTLP_HEADERS").unwrap_or_default();
        let of_variable = of_variable.split(',').filter_map(|pair| pair.split_once('='));
        let of_variable = of_variable.map(|(name, value)| (name.trim().to_owned(), decoded(value.trim())));
        for (name, value) in of_variable.chain(self.headers.iter().cloned()) {
            let (name, value) = header(&name, &value)?;
            headers.insert(name, value);
        }
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let attributes = variable("OTEL_RESOURCE_ATTRIBUTES").unwrap_or_default();
        let attributes = attributes.split(',').filter_map(|pair| pair.split_once('='));
        let mut resource: Vec<(String, String)> =
            attributes.map(|(name, value)| (name.trim().to_owned(), decoded(value.trim()))).collect();
        let service = self.service_name.clone().or_else(|| variable("OTEL_SERVICE_NAME"));
        if service.is_some() || !resource.iter().any(|(name, _)| name == "service.name") {
            resource.retain(|(name, _)| name != "service.name");
            resource.push(("service.name".to_owned(), service.unwrap_or_else(|| "unknown_service".to_owned())));
        }
        for (name, value) in [
            ("telemetry.sdk.name", "agent-loop"),
            ("telemetry.sdk.version", env!("CARGO_PKG_VERSION")),
            ("telemetry.sdk.language", "rust"),
        ] {
            resource.push((name.to_owned(), value.to_owned()));
        }
        let delay =
            variable("OTEL_BSP_SCHEDULE_DELAY").and_then(|ms| ms.trim().parse().ok()).unwrap_or(5000).max(SHORTEST_DELAY_MS);
        let (traces, metrics) = (signal("TRACES", "traces")?, signal("METRICS", "metrics")?);
        Ok(Resolved { traces, metrics, headers, resource, delay: Duration::from_millis(delay) })
    }
}

/// The value of a variable: characters that its own syntax uses are written in percent.
pub(super) fn decoded(value: &str) -> String {
    let mut bytes = Vec::with_capacity(value.len());
    let mut rest = value.as_bytes();
    while let [first, others @ ..] = rest {
        let digits = others.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.filter(|_| *first == b'%').and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = others.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(*first);
                rest = others;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Where a collector is.
#[derive(Debug)]
pub(super) struct Resolved {
    pub(super) traces: Url,
    pub(super) metrics: Url,
    pub(super) headers: HeaderMap,
    /// The attributes of what sends.
    pub(super) resource: Vec<(String, String)>,
    pub(super) delay: Duration,
}
