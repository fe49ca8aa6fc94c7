//! The reqwest client of the floor and of the hand-written program, and the requests both send.

use std::sync::Arc;

use reqwest::{Client, Response, header::CONTENT_TYPE};
use rustls::{ClientConfig, RootCertStore, crypto::ring};
use serde_json::{Value, json};

use crate::answers::{CALCULATOR, ECHO, Format};

/// A client for plain HTTP; for TLS it trusts no authority, which avoids loading the system's certificates.
///
/// # Errors
/// When rustls or reqwest refuse the configuration.
pub fn client() -> Result<Client, String> {
    let tls = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| format!("the TLS configuration: {error}"))?
        .with_root_certificates(RootCertStore::empty())
        .with_no_client_auth();
    Client::builder().tls_backend_preconfigured(tls).no_proxy().build().map_err(|error| format!("the HTTP client: {error}"))
}

/// Posts `body` and returns the response, if its status is a success.
///
/// # Errors
/// With the status and the server's text, if it is not.
pub async fn post(client: &Client, url: &str, body: String) -> Result<Response, String> {
    let response = client
        .post(url)
        .header(CONTENT_TYPE, "application/json")
        .body(body)
        .send()
        .await
        .map_err(|error| format!("POST {url}: {}", root(&error)))?;
    let status = response.status();
    if status.is_success() {
        return Ok(response);
    }
    let text = response.text().await.unwrap_or_else(|error| error.to_string());
    Err(format!("POST {url}: {status}: {text}"))
}

/// The innermost cause: the system's error.
fn root(error: &reqwest::Error) -> &dyn std::error::Error {
    let mut cause: &dyn std::error::Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause
}

/// A request for `model` with both tools offered and these messages.
#[must_use]
pub fn request(format: Format, model: &str, messages: &[Value]) -> String {
    let tools = [
        (
            CALCULATOR,
            "Perform basic arithmetic operations.",
            json!({"type": "object", "properties": {
                "operation": {"type": "string", "enum": ["add", "subtract", "multiply", "divide"]},
                "a": {"type": "number"}, "b": {"type": "number"}}, "required": ["operation", "a", "b"]}),
        ),
        (
            ECHO,
            "Say how long a text is.",
            json!({"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}),
        ),
    ];
    let tools = tools.map(|(name, description, schema)| match format {
        Format::Anthropic => json!({"name": name, "description": description, "input_schema": schema}),
        Format::Chat => {
            json!({"type": "function", "function": {"name": name, "description": description, "parameters": schema}})
        }
        Format::Responses => json!({"type": "function", "name": name, "description": description, "parameters": schema}),
        Format::Gemini => json!({"name": name, "description": description, "parametersJsonSchema": schema}),
    });
    let body = match format {
        Format::Anthropic => {
            json!({"model": model, "max_tokens": 4096, "stream": true, "messages": messages, "tools": tools})
        }
        Format::Chat => json!({"model": model, "max_tokens": 4096, "stream": true, "messages": messages, "tools": tools,
            "stream_options": {"include_usage": true}}),
        Format::Responses => {
            json!({"model": model, "max_output_tokens": 4096, "stream": true, "store": false, "input": messages, "tools": tools})
        }
        Format::Gemini => json!({"contents": messages, "tools": [{"functionDeclarations": tools}],
            "generationConfig": {"maxOutputTokens": 4096}}),
    };
    body.to_string()
}

/// The prompt, as the first message.
#[must_use]
pub fn prompt(format: Format) -> Value {
    let text = "What is 15 multiplied by 23?";
    match format {
        Format::Gemini => json!({"role": "user", "parts": [{"text": text}]}),
        _ => json!({"role": "user", "content": text}),
    }
}

/// A call of the tool `name` as a message.
#[must_use]
pub fn tool_call(format: Format, id: &str, name: &str, arguments: String) -> Value {
    let input: Value = serde_json::from_str(&arguments).unwrap_or_default();
    match format {
        Format::Anthropic => json!({"role": "assistant", "content": [
            {"type": "tool_use", "id": id, "name": name, "input": input}]}),
        Format::Chat => json!({"role": "assistant", "content": "", "tool_calls": [
            {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}]}),
        Format::Responses => json!({"type": "function_call", "call_id": id, "name": name, "arguments": arguments}),
        Format::Gemini => json!({"role": "model", "parts": [{"functionCall": {"name": name, "args": input}}]}),
    }
}

/// The result of the tool `name` as a message.
#[must_use]
pub fn tool_result(format: Format, id: &str, name: &str, text: &str) -> Value {
    match format {
        Format::Anthropic => json!({"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": id, "content": text}]}),
        Format::Chat => json!({"role": "tool", "tool_call_id": id, "content": text}),
        Format::Responses => json!({"type": "function_call_output", "call_id": id, "output": text}),
        Format::Gemini => json!({"role": "user", "parts": [{"functionResponse": {"name": name, "response": {"output": text}}}]}),
    }
}
