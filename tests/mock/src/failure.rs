//! The failures of each service, with their status, headers and text.

use serde::Deserialize;

use crate::check::{Flavour, refused_key};
use crate::refusal::Complaint;
use crate::route::{Format, Host, Route};

/// A failure that does not depend on what was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Failure {
    /// Too many requests: 429, with the time to wait where the service sends it.
    RateLimited,
    /// No capacity: 529 or 503.
    Overloaded,
    /// The key is wrong: 401, Gemini 400.
    Authentication,
    /// The conversation is too long for the model: 400.
    ContextOverflow,
    /// Nothing left to spend: 429, Anthropic 400.
    Quota,
    /// The service broke: 500.
    Server,
    /// Something in the request is wrong: 400.
    InvalidRequest,
    /// No such model: 404.
    NotFound,
}

impl Failure {
    pub(crate) fn complaint(self, route: &Route, model: &str) -> Complaint {
        let said = |status, message: &str| Complaint::new(status, message);
        let openai = matches!(route.format, Format::Chat | Format::Responses);
        match (self, route.format) {
            (Failure::Authentication, _) => refused_key(route),

            (Failure::RateLimited, Format::Anthropic) => {
                said(429, "This request would exceed your organization's rate limit of 50 requests per minute.")
            }
            (Failure::RateLimited, Format::Gemini) => said(429, "Resource has been exhausted (e.g. check quota)."),
            // Worded like a conversation that is too long.
            (Failure::RateLimited, Format::Converse) => said(429, "Too many tokens, please wait before trying again."),
            (Failure::RateLimited, _) => said(
                429,
                &format!(
                    "Rate limit reached for {model} on requests per min (RPM): Limit 3, Used 3, Requested 1. Please try \
                          again in 1s."
                ),
            )
            .code("rate_limit_exceeded"),

            (Failure::Overloaded, Format::Anthropic) => said(529, "Overloaded"),
            (Failure::Overloaded, Format::Gemini) => said(503, "The model is overloaded. Please try again later."),
            (Failure::Overloaded, Format::Converse) => said(503, "Bedrock is unable to process your request."),
            (Failure::Overloaded, _) => {
                said(503, "The server is currently overloaded with other requests. Sorry about that! Please try again later.")
                    .code("server_is_overloaded")
            }

            (Failure::ContextOverflow, Format::Anthropic) => said(400, "prompt is too long: 208310 tokens > 200000 maximum"),
            (Failure::ContextOverflow, Format::Converse) => {
                said(400, "The model returned the following errors: Input is too long for requested model.")
            }
            (Failure::ContextOverflow, Format::Gemini) => {
                said(400, "The input token count (1250074) exceeds the maximum number of tokens allowed (1048576).")
            }
            (Failure::ContextOverflow, Format::Chat) => said(
                400,
                "This model's maximum context length is 128000 tokens. However, your messages resulted in 208310 tokens. Please \
                 reduce the length of the messages.",
            )
            .code("context_length_exceeded")
            .param("messages"),
            (Failure::ContextOverflow, Format::Responses) => {
                said(400, "Your input exceeds the context window of this model. Please adjust your input and try again.")
                    .code("context_length_exceeded")
                    .param("input")
            }

            (Failure::Quota, Format::Anthropic) => said(
                400,
                "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase \
                 credits.",
            ),
            (Failure::Quota, Format::Converse) => said(429, "Too many tokens per day, please wait before trying again."),
            (Failure::Quota, _) => {
                let error = said(429, "You exceeded your current quota, please check your plan and billing details.");
                if openai { error.kind("insufficient_quota").code("insufficient_quota") } else { error }
            }

            (Failure::Server, Format::Anthropic) => said(500, "Internal server error"),
            (Failure::Server, Format::Gemini) => said(500, "An internal error has occurred. Please retry or report it."),
            (Failure::Server, Format::Converse) => {
                said(500, "The system encountered an unexpected error during processing. Try your request again.")
            }
            (Failure::Server, _) => said(500, "The server had an error while processing your request. Sorry about that!"),

            (Failure::InvalidRequest, Format::Anthropic) => said(400, "messages.0.content.0.type: Field required"),
            (Failure::InvalidRequest, Format::Gemini) => said(400, "Request contains an invalid argument."),
            (Failure::InvalidRequest, Format::Converse) => said(400, "Malformed input request, please reformat your input."),
            (Failure::InvalidRequest, _) => {
                said(400, "Invalid type for 'messages': expected an array of objects.").code("invalid_type")
            }

            (Failure::NotFound, Format::Anthropic) if route.host == Host::Vendor => said(404, &format!("model: {model}")),
            // <https://repost.aws/questions/QUtMbMSdpTSOuARo3_fCXHvA>
            (Failure::NotFound, Format::Converse) => said(404, &format!("Could not resolve the foundation model from {model}.")),
            (Failure::NotFound, _) if route.host == Host::Vertex => said(404, &format!("Publisher Model `{model}` not found.")),
            (Failure::NotFound, Format::Gemini) => said(
                404,
                &format!("models/{model} is not found for API version v1beta, or is not supported for generateContent."),
            ),
            (Failure::NotFound, _) => {
                said(404, &format!("The model `{model}` does not exist or you do not have access to it.")).code("model_not_found")
            }
        }
    }

    /// Beside the content type.
    pub(crate) fn headers(self, format: Format, flavour: Flavour) -> &'static [(&'static str, &'static str)] {
        match (self, format) {
            (Failure::RateLimited | Failure::Quota, Format::Converse) => &[("x-amzn-errortype", "ThrottlingException")],
            (Failure::Overloaded, Format::Converse) => &[("x-amzn-errortype", "ServiceUnavailableException")],
            (Failure::Server, Format::Converse) => &[("x-amzn-errortype", "InternalServerException")],
            (Failure::Authentication, Format::Converse) => &[("x-amzn-errortype", "UnrecognizedClientException")],
            (Failure::NotFound, Format::Converse) => &[("x-amzn-errortype", "ResourceNotFoundException")],
            (_, Format::Converse) => &[("x-amzn-errortype", "ValidationException:http://internal.amazon.com/coral/")],
            (Failure::RateLimited, Format::Gemini) => &[],
            (Failure::RateLimited, _) if flavour == Flavour::Mistral => &[],
            (Failure::RateLimited, _) => &[("retry-after", "1")],
            (Failure::Overloaded, Format::Anthropic) => &[("x-should-retry", "true")],
            _ => &[],
        }
    }
}
