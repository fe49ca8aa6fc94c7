//! What a path asks for: the wire format, and at whose address.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The wire format of a request and of the stream that answers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// Anthropic Messages: `…/messages`; on Vertex `…/publishers/anthropic/models/MODEL:streamRawPredict`.
    Anthropic,
    /// OpenAI Chat Completions: `…/chat/completions`; on Azure `/openai/deployments/NAME/chat/completions?api-version=…`.
    Chat,
    /// OpenAI Responses: `…/responses`.
    Responses,
    /// Gemini: `…/models/MODEL:streamGenerateContent?alt=sse`; on Vertex after `…/publishers/google`.
    Gemini,
    /// Bedrock's Converse: `/model/MODEL/converse-stream`.
    Converse,
}

impl Format {
    /// All five.
    pub const ALL: [Format; 5] = [Format::Anthropic, Format::Chat, Format::Responses, Format::Gemini, Format::Converse];
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Format::Anthropic => "anthropic",
            Format::Chat => "chat",
            Format::Responses => "responses",
            Format::Gemini => "gemini",
            Format::Converse => "converse",
        })
    }
}

/// Whose address it is. Keys and error bodies depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Host {
    /// The service that made the format, or one that speaks it like that.
    Vendor,
    /// Google Vertex AI.
    Vertex,
    /// Azure OpenAI by deployment: there the model is in the path.
    Azure,
}

/// A path understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Route {
    pub(crate) format: Format,
    pub(crate) host: Host,
    /// The model, where the path has it.
    pub(crate) model: Option<String>,
    /// The path and the query, as they were asked.
    pub(crate) path: String,
    pub(crate) query: String,
}

impl Route {
    /// `None`: the path of no format.
    pub(crate) fn of(path: &str) -> Option<Route> {
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let last = path.rsplit('/').next().unwrap_or_default();
        let (model, method) = last.split_once(':').map_or((None, ""), |(model, method)| (Some(model.to_owned()), method));
        let vertex = if path.contains("/publishers/") { Host::Vertex } else { Host::Vendor };
        let deployment = path.split_once("/openai/deployments/").and_then(|(_, rest)| rest.split('/').next()).map(str::to_owned);
        let azure = if deployment.is_some() || path.ends_with("/openai/responses") { Host::Azure } else { Host::Vendor };
        if let "converse-stream" | "converse" = last {
            let model = path.split_once("/model/").and_then(|(_, rest)| rest.split('/').next()).map(decoded);
            return Some(Route {
                format: Format::Converse,
                host: Host::Vendor,
                model,
                path: path.to_owned(),
                query: query.to_owned(),
            });
        }
        let (format, host, model) = match method {
            "streamRawPredict" | "rawPredict" => (Format::Anthropic, vertex, model),
            "streamGenerateContent" | "generateContent" => (Format::Gemini, vertex, model),
            _ if last == "messages" => (Format::Anthropic, Host::Vendor, None),
            _ if path.ends_with("/chat/completions") => (Format::Chat, azure, deployment),
            _ if last == "responses" => (Format::Responses, azure, None),
            _ => return None,
        };
        Some(Route { format, host, model, path: path.to_owned(), query: query.to_owned() })
    }

    /// The format's own address.
    pub(crate) fn own(format: Format) -> Route {
        Route { format, host: Host::Vendor, model: None, path: String::new(), query: String::new() }
    }

    /// A parameter of the query, not decoded: what is looked for here has nothing to decode.
    pub(crate) fn parameter(&self, name: &str) -> Option<&str> {
        self.query.split('&').filter_map(|pair| pair.split_once('=')).find(|(key, _)| *key == name).map(|(_, value)| value)
    }

    /// Whether the answer is wanted as a stream of events.
    pub(crate) fn wants_stream(&self, body: &serde_json::Value) -> bool {
        match self.format {
            Format::Gemini => self.path.ends_with(":streamGenerateContent") && self.parameter("alt") == Some("sse"),
            Format::Converse => self.path.ends_with("/converse-stream"),
            Format::Anthropic if self.host == Host::Vertex && self.path.ends_with(":rawPredict") => false,
            _ => body.get("stream").and_then(serde_json::Value::as_bool) == Some(true),
        }
    }
}

/// A part of a path without its percent signs.
fn decoded(part: &str) -> String {
    let mut out = Vec::new();
    let mut rest = part.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let byte = after.get(..2).and_then(|two| u8::from_str_radix(str::from_utf8(two).ok()?, 16).ok());
        match byte.filter(|_| *first == b'%') {
            Some(byte) => {
                out.push(byte);
                rest = &after[2..];
            }
            None => {
                out.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_says_format_host_and_model() {
        for (path, expected) in [
            ("/v1/messages?beta=true", Some((Format::Anthropic, Host::Vendor, None))),
            ("/api/v1/chat/completions", Some((Format::Chat, Host::Vendor, None))),
            ("/openai/v1/responses", Some((Format::Responses, Host::Vendor, None))),
            ("/openai/deployments/d/chat/completions?api-version=1", Some((Format::Chat, Host::Azure, Some("d")))),
            (
                "/v1beta/models/gemini-3-pro:streamGenerateContent?alt=sse",
                Some((Format::Gemini, Host::Vendor, Some("gemini-3-pro"))),
            ),
            (
                "/v1/projects/p/locations/l/publishers/google/models/g:streamGenerateContent",
                Some((Format::Gemini, Host::Vertex, Some("g"))),
            ),
            (
                "/v1/projects/p/locations/l/publishers/anthropic/models/c@1:streamRawPredict",
                Some((Format::Anthropic, Host::Vertex, Some("c@1"))),
            ),
            (
                "/model/us.anthropic.claude-sonnet-4-5-20250929-v1%3A0/converse-stream",
                Some((Format::Converse, Host::Vendor, Some("us.anthropic.claude-sonnet-4-5-20250929-v1:0"))),
            ),
            ("/v1/messages/count_tokens", None),
            ("/v1/models", None),
            ("/health", None),
        ] {
            let route = Route::of(path);
            let found = route.as_ref().map(|it| (it.format, it.host, it.model.as_deref()));
            assert_eq!(found, expected, "{path}");
        }
    }
}
