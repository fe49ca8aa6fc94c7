//! Errors as each service writes them: the status, and the body around a message.

use std::fmt;

use serde_json::{Value, json};

use crate::check::Flavour;
use crate::route::{Format, Host, Route};

/// A request that the real service would not take, with what it answers instead.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Refusal {
    /// The HTTP status.
    pub status: u16,
    /// What is wrong, in the service's words as far as they are known.
    pub message: String,
    /// The body of the answer, in the service's form.
    pub body: Value,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.status, self.message)
    }
}

impl std::error::Error for Refusal {}

/// An error before it has a form.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Complaint {
    pub(crate) status: u16,
    pub(crate) message: String,
    /// OpenAI's `type`, if it does not follow from the status.
    pub(crate) kind: Option<&'static str>,
    pub(crate) code: Option<&'static str>,
    /// The field it is about; only OpenAI has a place for it.
    pub(crate) param: Option<String>,
}

impl Complaint {
    pub(crate) fn new(status: u16, message: impl Into<String>) -> Complaint {
        Complaint { status, message: message.into(), kind: None, code: None, param: None }
    }

    pub(crate) fn code(mut self, code: &'static str) -> Complaint {
        self.code = Some(code);
        self
    }

    pub(crate) fn kind(mut self, kind: &'static str) -> Complaint {
        self.kind = Some(kind);
        self
    }

    pub(crate) fn param(mut self, param: impl Into<String>) -> Complaint {
        self.param = Some(param.into());
        self
    }

    pub(crate) fn refusal(self, route: &Route, flavour: Flavour) -> Refusal {
        Refusal { status: self.status, body: self.body(route, flavour), message: self.message }
    }

    pub(crate) fn body(&self, route: &Route, flavour: Flavour) -> Value {
        match (route.format, route.host) {
            (Format::Gemini, _) => self.google(),
            (Format::Converse, _) => json!({"message": self.message}),
            // The gate in front of all of Vertex is Google's; behind it Anthropic answers.
            (Format::Anthropic, Host::Vertex) if matches!(self.status, 401 | 403 | 404 | 429) => self.google(),
            (Format::Anthropic, _) => self.anthropic(),
            (Format::Chat, _) if flavour == Flavour::Mistral => self.mistral(),
            (Format::Chat | Format::Responses, Host::Azure) if matches!(self.status, 401 | 404 | 429) => self.azure(),
            (Format::Chat | Format::Responses, _) => self.openai(),
        }
    }

    /// Anthropic's word for the status.
    pub(crate) fn anthropic_kind(&self) -> &'static str {
        match self.status {
            401 => "authentication_error",
            402 => "billing_error",
            403 => "permission_error",
            404 => "not_found_error",
            413 => "request_too_large",
            429 => "rate_limit_error",
            529 => "overloaded_error",
            400..=499 => "invalid_request_error",
            _ => "api_error",
        }
    }

    /// The header `x-amzn-errortype` of AWS.
    pub(crate) fn aws_kind(&self) -> &'static str {
        match self.status {
            403 => "AccessDeniedException",
            404 => "ResourceNotFoundException",
            408 => "ModelTimeoutException",
            424 => "ModelErrorException",
            429 => "ThrottlingException",
            503 => "ServiceUnavailableException",
            400..=499 => "ValidationException",
            _ => "InternalServerException",
        }
    }

    fn anthropic(&self) -> Value {
        json!({
            "type": "error",
            "error": {"type": self.anthropic_kind(), "message": self.message},
            "request_id": "req_mock",
        })
    }

    pub(crate) fn openai_kind(&self) -> &'static str {
        self.kind.unwrap_or(match self.status {
            500.. => "server_error",
            429 => "requests",
            _ => "invalid_request_error",
        })
    }

    fn openai(&self) -> Value {
        json!({"error": {"message": self.message, "type": self.openai_kind(), "param": self.param, "code": self.code}})
    }

    fn azure(&self) -> Value {
        json!({"error": {"code": self.status.to_string(), "message": self.message}})
    }

    /// Message and code stand at the top.
    fn mistral(&self) -> Value {
        json!({
            "object": "error",
            "message": self.message,
            "type": self.kind.unwrap_or("invalid_request_error"),
            "param": self.param,
            "code": self.code,
        })
    }

    pub(crate) fn google(&self) -> Value {
        let word = match self.status {
            401 => "UNAUTHENTICATED",
            403 => "PERMISSION_DENIED",
            404 => "NOT_FOUND",
            429 => "RESOURCE_EXHAUSTED",
            400..=499 => "INVALID_ARGUMENT",
            503 => "UNAVAILABLE",
            _ => "INTERNAL",
        };
        let mut body = json!({"error": {"code": self.status, "message": self.message, "status": word}});
        if let Some(reason) = self.code {
            body["error"]["details"] = json!([{
                "@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": reason, "domain": "googleapis.com",
            }]);
        }
        body
    }
}
